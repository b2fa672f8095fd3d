//! Where the links are, along which axes they move, and how configurations are added and compared.

use super::{Articulation, JointKind, Motion, Spatial};
use crate::rotation;
use crate::scene::Placement;
use glam::{DMat3, DQuat, DVec3};

/// A tree in one configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Posed {
    /// Every link's frame.
    pub links: Vec<Placement>,
    /// Every link's centre of mass and principal axes; of one without mass its frame.
    pub centres: Vec<Placement>,
    /// How a link moves per rate, for every freedom.
    pub axes: Vec<Motion>,
}

impl Articulation {
    /// The configuration in which every link's frame is its joint's.
    pub fn neutral(&self) -> Vec<f64> {
        let mut q = vec![0.0; self.coordinates()];
        for (i, link) in self.links.iter().enumerate() {
            let own = &mut q[self.at[i]..self.at[i + 1]];
            match link.kind {
                JointKind::Ball => own[3] = 1.0,
                JointKind::CarriedBall => {
                    own[3] = 1.0;
                    link.place.position.write_to_slice(&mut own[4..]);
                }
                _ => {}
            }
        }
        q
    }

    /// The joint's frame in its parent's link, and the turn and shift that it makes.
    fn joint(&self, link: usize, q: &[f64]) -> (DVec3, DQuat, Placement) {
        let l = &self.links[link];
        let own = &q[self.at[link]..self.at[link + 1]];
        let mut anchor = l.place.position;
        let moved = match l.kind {
            JointKind::Fixed => Placement::IDENTITY,
            JointKind::Hinge => {
                Placement { rotation: rotation::exp(DVec3::X * own[0]), ..Placement::IDENTITY }
            }
            JointKind::Slider => Placement { position: DVec3::X * own[0], ..Placement::IDENTITY },
            JointKind::Ball => Placement { rotation: DQuat::from_slice(own), ..Placement::IDENTITY },
            JointKind::CarriedBall => {
                anchor = DVec3::from_slice(&own[4..]);
                Placement { rotation: DQuat::from_slice(own), ..Placement::IDENTITY }
            }
            JointKind::Translation => Placement { position: DVec3::from_slice(own), ..Placement::IDENTITY },
        };
        (anchor, l.place.rotation, moved)
    }

    /// Puts the tree into a configuration.
    pub fn place(&self, q: &[f64], posed: &mut Posed) {
        posed.links.clear();
        posed.centres.clear();
        posed.axes.clear();
        for (i, link) in self.links.iter().enumerate() {
            let (position, turned, moved) = self.joint(i, q);
            let parent = link.parent.map_or(Placement::IDENTITY, |p| posed.links[p]);
            let frame = parent.then(&Placement { position, rotation: turned });
            let axes = DMat3::from_quat(frame.rotation);
            let mut turn = |axis| posed.axes.push(Motion::turn(axis, frame.position));
            match link.kind {
                JointKind::Fixed => {}
                JointKind::Hinge => turn(axes.x_axis),
                JointKind::Ball | JointKind::CarriedBall => {
                    [axes.x_axis, axes.y_axis, axes.z_axis].into_iter().for_each(turn);
                }
                JointKind::Slider => {
                    posed.axes.push(Motion { angular: DVec3::ZERO, linear: axes.x_axis });
                }
                JointKind::Translation => {
                    let along = |linear| Motion { angular: DVec3::ZERO, linear };
                    posed.axes.extend([axes.x_axis, axes.y_axis, axes.z_axis].map(along));
                }
            }
            let placed = frame.then(&moved);
            posed.links.push(placed);
            posed.centres.push(link.mass.map_or(placed, |m| placed.then(&m.centre)));
        }
    }

    /// The configuration `by` (rates times time) further on from `q`: every joint by its left increment.
    pub fn integrate(&self, q: &[f64], by: &[f64], to: &mut [f64]) {
        to.copy_from_slice(q);
        for (i, link) in self.links.iter().enumerate() {
            let by = &by[self.first[i]..self.first[i + 1]];
            let own = &mut to[self.at[i]..self.at[i + 1]];
            match link.kind {
                JointKind::Fixed => {}
                JointKind::Hinge | JointKind::Slider | JointKind::Translation => {
                    own.iter_mut().zip(by).for_each(|(o, b)| *o += b);
                }
                JointKind::Ball | JointKind::CarriedBall => {
                    let turned = rotation::exp(DVec3::from_slice(by)) * DQuat::from_slice(own);
                    turned.normalize().write_to_slice(&mut own[..4]);
                }
            }
        }
    }

    /// What leads from configuration `from` to `to`: `integrate(from, difference) = to`.
    pub fn difference(&self, from: &[f64], to: &[f64], by: &mut [f64]) {
        for (i, link) in self.links.iter().enumerate() {
            let (a, b) = (&from[self.at[i]..self.at[i + 1]], &to[self.at[i]..self.at[i + 1]]);
            let by = &mut by[self.first[i]..self.first[i + 1]];
            match link.kind {
                JointKind::Fixed => {}
                JointKind::Hinge | JointKind::Slider | JointKind::Translation => {
                    by.iter_mut().zip(a.iter().zip(b)).for_each(|(d, (a, b))| *d = b - a);
                }
                JointKind::Ball | JointKind::CarriedBall => {
                    let turned = DQuat::from_slice(b) * DQuat::from_slice(a).conjugate();
                    rotation::log(turned).write_to_slice(by);
                }
            }
        }
    }
}

impl Posed {
    /// How fast each freedom moves a point of a link that is now at `point`.
    pub fn point_jacobian<'a>(
        &'a self,
        tree: &'a Articulation,
        link: usize,
        point: DVec3,
    ) -> impl Iterator<Item = (usize, DVec3)> + 'a {
        tree.movers(link).iter().map(move |&k| (k, self.axes[k].at(point)))
    }

    /// How every link moves at these rates.
    pub fn motions(&self, tree: &Articulation, rates: &[f64], motions: &mut Vec<Motion>) {
        motions.clear();
        for (i, link) in tree.links.iter().enumerate() {
            let carried = link.parent.map_or(Motion::default(), |p| motions[p]);
            let own = tree.freedoms_of(i).fold(carried, |m, k| m + self.axes[k] * rates[k]);
            motions.push(own);
        }
    }

    /// Centre of mass of the whole.
    pub fn centre_of_mass(&self, tree: &Articulation) -> DVec3 {
        let weighed = tree.links.iter().zip(&self.centres).filter_map(|(l, c)| l.mass.map(|m| (m.mass, c)));
        weighed.map(|(m, c)| c.position * m).sum::<DVec3>() / tree.total_mass()
    }
}

/// `left_j . B right_k` for all freedoms `j` and `k` that move something in common, `B` that of the one further out: given with what
/// hangs on each link summed up. Row by row into `to`, added.
pub(crate) fn related(
    tree: &Articulation,
    composite: &[Spatial],
    left: &[Motion],
    right: &[Motion],
    mut to: impl FnMut(usize, usize, f64),
) {
    for k in 0..tree.freedoms() {
        let link = tree.link_of[k];
        let of_right = composite[link].force(&right[k]);
        let of_left = composite[link].transpose().force(&left[k]);
        for &j in tree.movers[link].iter().take_while(|j| **j <= k) {
            to(j, k, left[j].dot(&of_right));
            if j != k {
                to(k, j, right[j].dot(&of_left));
            }
        }
    }
}
