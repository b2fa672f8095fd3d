//! Inverse dynamics by the recursive Newton-Euler algorithm, the mass matrix by composite rigid bodies, forward dynamics by
//! articulated bodies (Featherstone 2008, tables 5.1, 6.2 and 7.1), about the world's origin.

use super::{Articulation, Force, Motion, Posed, Spatial, kinematics::related};
use glam::{DMat3, DVec3};

/// Every link's inertia in the world; zero without mass.
fn inertias(tree: &Articulation, posed: &Posed) -> Vec<Spatial> {
    let one = |(link, centre): (&super::Link, &crate::scene::Placement)| {
        link.mass.map_or(Spatial::ZERO, |m| {
            let axes = DMat3::from_quat(centre.rotation);
            let about = axes * DMat3::from_diagonal(m.inertia) * axes.transpose();
            Spatial::inertia(m.mass, centre.position, about)
        })
    };
    tree.links.iter().zip(&posed.centres).map(one).collect()
}

/// The forces at the joints that accelerate the tree so, moving at `rates`, under gravity and `pulls` on its links.
pub fn inverse_dynamics(
    tree: &Articulation,
    posed: &Posed,
    rates: &[f64],
    accelerations: &[f64],
    gravity: DVec3,
    pulls: &[Force],
) -> Vec<f64> {
    let inertias = inertias(tree, posed);
    let mut motions = Vec::new();
    posed.motions(tree, rates, &mut motions);
    let falls = Motion { angular: DVec3::ZERO, linear: -gravity };
    let (mut changes, mut forces) = (Vec::new(), Vec::new());
    for (i, link) in tree.links.iter().enumerate() {
        let parent = link.parent.map_or(falls, |p| changes[p]);
        let own = tree.freedoms_of(i).fold(parent, |a, k| {
            a + posed.axes[k] * accelerations[k] + motions[i].cross(&posed.axes[k]) * rates[k]
        });
        changes.push(own);
        let momentum = inertias[i].force(&motions[i]);
        let pull = pulls.get(i).copied().unwrap_or_default();
        forces.push(inertias[i].force(&own) + motions[i].cross_force(&momentum) - pull);
    }
    tree.sum_up(&mut forces);
    (0..tree.freedoms()).map(|k| posed.axes[k].dot(&forces[tree.link_of[k]])).collect()
}

/// The mass matrix, row by row.
pub fn mass_matrix(tree: &Articulation, posed: &Posed) -> Vec<f64> {
    let mut composite = inertias(tree, posed);
    tree.sum_up(&mut composite);
    let n = tree.freedoms();
    let mut matrix = vec![0.0; n * n];
    related(tree, &composite, &posed.axes, &posed.axes, |j, k, m| matrix[j * n + k] += m);
    matrix
}

/// How the tree accelerates under forces at its joints, gravity and `pulls` on its links, moving at `rates`. `None` where a joint
/// moves nothing that has a mass.
pub fn forward_dynamics(
    tree: &Articulation,
    posed: &Posed,
    rates: &[f64],
    forces: &[f64],
    gravity: DVec3,
    pulls: &[Force],
) -> Option<Vec<f64>> {
    let mut inertias = inertias(tree, posed);
    let mut motions = Vec::new();
    posed.motions(tree, rates, &mut motions);
    let count = tree.links.len();
    let mut bias: Vec<Force> = (0..count)
        .map(|i| {
            let momentum = inertias[i].force(&motions[i]);
            motions[i].cross_force(&momentum) - pulls.get(i).copied().unwrap_or_default()
        })
        .collect();
    // What a link's own rates add to its acceleration for being carried along.
    let carried: Vec<Motion> = (0..count)
        .map(|i| {
            let own = |m: Motion, k: usize| m + motions[i].cross(&posed.axes[k]) * rates[k];
            tree.freedoms_of(i).fold(Motion::default(), own)
        })
        .collect();
    let mut per = vec![DMat3::ZERO; count];
    let mut left = vec![DVec3::ZERO; count];
    for i in (0..count).rev() {
        let own = tree.freedoms_of(i);
        let axes = &posed.axes[own.clone()];
        let whole = inertias[i];
        // A joint of fewer than three freedoms is padded with ones that do nothing.
        let mut d = DMat3::IDENTITY;
        let mut short = DVec3::ZERO;
        for (a, k) in own.clone().enumerate() {
            short[a] = forces[k] - axes[a].dot(&bias[i]);
            let moved = whole.force(&axes[a]);
            for (b, other) in axes.iter().enumerate() {
                d.col_mut(a)[b] = other.dot(&moved);
            }
        }
        per[i] = d.inverse();
        if !per[i].is_finite() {
            return None;
        }
        left[i] = short;
        let Some(p) = tree.links[i].parent else { continue };
        let moved: Vec<Force> = axes.iter().map(|a| whole.force(a)).collect();
        let (mut passed, mut force) = (whole, bias[i]);
        for (a, ua) in moved.iter().enumerate() {
            for (b, ub) in moved.iter().enumerate() {
                let share = per[i].col(b)[a];
                passed -= Spatial::outer(ua, ub, share);
                force += *ua * (share * short[b]);
            }
        }
        force += passed.force(&carried[i]);
        inertias[p] += passed;
        bias[p] += force;
    }
    let mut accelerations = vec![0.0; tree.freedoms()];
    let mut changes: Vec<Motion> = Vec::with_capacity(count);
    let falls = Motion { angular: DVec3::ZERO, linear: -gravity };
    for i in 0..count {
        let mut change = tree.links[i].parent.map_or(falls, |p| changes[p]) + carried[i];
        let held = inertias[i].force(&change);
        let own = tree.freedoms_of(i);
        let mut short = left[i];
        for (a, k) in own.clone().enumerate() {
            short[a] -= posed.axes[k].dot(&held);
        }
        let found = per[i] * short;
        for (a, k) in own.enumerate() {
            accelerations[k] = found[a];
            change += posed.axes[k] * found[a];
        }
        changes.push(change);
    }
    Some(accelerations)
}
