//! What is measured of a pose: places, orientations, coordinates; each with its first and second derivatives by the freedoms.

use crate::articulation::{Articulation, Motion, Posed, inverse_left, inverse_left_slope};
use crate::rotation;
use glam::{DMat3, DQuat, DVec3};

/// Something that a pose has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measure {
    /// How far a point of a link is from a place, along three axes.
    Point {
        /// The link.
        link: usize,
        /// The point, in the link's frame.
        at: DVec3,
        /// Where it should be.
        to: DVec3,
    },
    /// How far a point of a link is beyond a plane.
    Height {
        /// The link.
        link: usize,
        /// The point, in the link's frame.
        at: DVec3,
        /// The plane's normal, of length 1.
        normal: DVec3,
        /// Where the plane is along it.
        level: f64,
    },
    /// By what a link is turned away from an orientation (rad, three axes).
    Turn {
        /// The link.
        link: usize,
        /// How it should be turned.
        to: DQuat,
    },
    /// By what a direction of a link is off another, across that: two sines.
    Aim {
        /// The link.
        link: usize,
        /// The direction, in the link's frame.
        axis: DVec3,
        /// Two directions that it should be square to, in the world.
        across: [DVec3; 2],
    },
    /// How far the centre of mass of the whole is from a place.
    Centre {
        /// Where it should be.
        to: DVec3,
    },
    /// How far a coordinate of a hinge, slider or translation is above a value, `sign` times.
    Coordinate {
        /// Which, among all coordinates.
        coordinate: usize,
        /// The freedom that changes it.
        freedom: usize,
        /// 1, or -1 for how far it is below.
        sign: f64,
        /// The value.
        to: f64,
    },
}

/// A measure, scaled so that 1 is as much as 1 of any other row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// What is measured.
    pub measure: Measure,
    /// Times this.
    pub scale: f64,
}

/// A tree in a configuration.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub tree: &'a Articulation,
    pub q: &'a [f64],
    pub posed: &'a Posed,
}

impl At<'_> {
    fn point(&self, link: usize, at: DVec3) -> DVec3 {
        self.posed.links[link].position + self.posed.links[link].rotation * at
    }

    /// Mass and mass times place of what hangs on every link.
    fn hanging(&self) -> Vec<[f64; 4]> {
        let one = |(i, link): (usize, &crate::articulation::Link)| {
            let m = link.mass.map_or(0.0, |m| m.mass);
            let x = self.posed.centres[i].position * m;
            [m, x.x, x.y, x.z]
        };
        let mut sums: Vec<[f64; 4]> = self.tree.links().iter().enumerate().map(one).collect();
        for i in (0..sums.len()).rev() {
            if let Some(p) = self.tree.links()[i].parent {
                let of = sums[i];
                sums[p].iter_mut().zip(of).for_each(|(s, o)| *s += o);
            }
        }
        sums
    }
}

impl Row {
    /// How many numbers it is.
    pub fn count(&self) -> usize {
        match self.measure {
            Measure::Point { .. } | Measure::Turn { .. } | Measure::Centre { .. } => 3,
            Measure::Aim { .. } => 2,
            Measure::Height { .. } | Measure::Coordinate { .. } => 1,
        }
    }

    /// Its values.
    pub(super) fn value(&self, at: At<'_>) -> DVec3 {
        let value = match self.measure {
            Measure::Point { link, at: p, to } => at.point(link, p) - to,
            Measure::Height { link, at: p, normal, level } => {
                DVec3::X * (normal.dot(at.point(link, p)) - level)
            }
            Measure::Turn { link, to } => rotation::log(at.posed.links[link].rotation * to.conjugate()),
            Measure::Aim { link, axis, across } => {
                let u = at.posed.links[link].rotation * axis;
                DVec3::new(across[0].dot(u), across[1].dot(u), 0.0)
            }
            Measure::Centre { to } => at.posed.centre_of_mass(at.tree) - to,
            Measure::Coordinate { coordinate, sign, to, .. } => DVec3::X * (sign * (at.q[coordinate] - to)),
        };
        value * self.scale
    }

    /// Its derivatives, freedom by freedom.
    pub(super) fn slope(&self, at: At<'_>, mut to: impl FnMut(usize, DVec3)) {
        let axes = &at.posed.axes;
        let mut of_link = |link: usize, f: &dyn Fn(&Motion) -> DVec3| {
            at.tree.movers(link).iter().for_each(|&k| to(k, f(&axes[k]) * self.scale));
        };
        match self.measure {
            Measure::Point { link, at: p, .. } => {
                let p = at.point(link, p);
                of_link(link, &|s| s.at(p));
            }
            Measure::Height { link, at: p, normal, .. } => {
                let p = at.point(link, p);
                of_link(link, &|s| DVec3::X * normal.dot(s.at(p)));
            }
            Measure::Turn { link, to } => {
                let inverse = inverse_left(rotation::log(at.posed.links[link].rotation * to.conjugate()));
                of_link(link, &|s| inverse * s.angular);
            }
            Measure::Aim { link, axis, across } => {
                let u = at.posed.links[link].rotation * axis;
                of_link(link, &|s| {
                    let moved = s.angular.cross(u);
                    DVec3::new(across[0].dot(moved), across[1].dot(moved), 0.0)
                });
            }
            Measure::Centre { .. } => {
                let hanging = at.hanging();
                let per = self.scale / at.tree.total_mass();
                for (k, s) in axes.iter().enumerate() {
                    let [m, x, y, z] = hanging[at.tree.link_of(k)];
                    to(k, (s.linear * m + s.angular.cross(DVec3::new(x, y, z))) * per);
                }
            }
            Measure::Coordinate { freedom, sign, .. } => to(freedom, DVec3::X * (sign * self.scale)),
        }
    }

    /// Second derivatives of its values along `along`, for all pairs of freedoms `l <= k`; of two of one joint the mean of both orders.
    pub(super) fn curvature(&self, at: At<'_>, along: DVec3, mut to: impl FnMut(usize, usize, f64)) {
        let (tree, axes) = (at.tree, &at.posed.axes);
        let along = along * self.scale;
        let mut pairs = |movers: &[usize], second: &dyn Fn(usize, usize) -> f64| {
            for (i, &k) in movers.iter().enumerate() {
                for &l in &movers[..=i] {
                    let same = tree.link_of(l) == tree.link_of(k);
                    to(l, k, if same { 0.5 * (second(l, k) + second(k, l)) } else { second(l, k) });
                }
            }
        };
        let of_point = |p: DVec3, along: DVec3, l: usize, k: usize| {
            let (sl, sk) = (&axes[l], &axes[k]);
            along.dot(sl.cross(sk).at(p) + sk.angular.cross(sl.at(p)))
        };
        match self.measure {
            Measure::Point { link, at: p, .. } => {
                let p = at.point(link, p);
                pairs(tree.movers(link), &|l, k| of_point(p, along, l, k));
            }
            Measure::Height { link, at: p, normal, .. } => {
                let p = at.point(link, p);
                pairs(tree.movers(link), &|l, k| of_point(p, normal * along.x, l, k));
            }
            Measure::Turn { link, to } => {
                let r = rotation::log(at.posed.links[link].rotation * to.conjugate());
                let inverse = inverse_left(r);
                pairs(tree.movers(link), &|l, k| {
                    let (wl, wk) = (axes[l].angular, axes[k].angular);
                    along.dot(inverse_left_slope(r, inverse * wl, wk) + inverse * wl.cross(wk))
                });
            }
            Measure::Aim { link, axis, across } => {
                let u = at.posed.links[link].rotation * axis;
                let along = across[0] * along.x + across[1] * along.y;
                pairs(tree.movers(link), &|l, k| {
                    let (wl, wk) = (axes[l].angular, axes[k].angular);
                    along.dot(wl.cross(wk).cross(u) + wk.cross(wl.cross(u)))
                });
            }
            Measure::Centre { .. } => {
                let hanging = at.hanging();
                let along = along / tree.total_mass();
                for k in 0..tree.freedoms() {
                    let link = tree.link_of(k);
                    let [m, x, y, z] = hanging[link];
                    let mx = DVec3::new(x, y, z);
                    let second = |l: usize, k: usize| {
                        let (sl, sk) = (&axes[l], &axes[k]);
                        let c = sl.cross(sk);
                        let carried = c.linear * m + c.angular.cross(mx);
                        along.dot(carried + sk.angular.cross(sl.linear * m + sl.angular.cross(mx)))
                    };
                    for &l in tree.movers(link).iter().take_while(|l| **l <= k) {
                        let same = tree.link_of(l) == link;
                        to(l, k, if same { 0.5 * (second(l, k) + second(k, l)) } else { second(l, k) });
                    }
                }
            }
            Measure::Coordinate { .. } => {}
        }
    }
}

/// `r^T r` of `r = log(R R_t^T)` has this gradient and Hessian by turns in the axes of `r`, halved.
pub(super) fn turn_distance(r: DVec3) -> (DVec3, DMat3) {
    let inverse = inverse_left(r);
    let mut hessian = inverse.transpose() * inverse;
    for l in 0..3 {
        for k in 0..3 {
            let one = |l: usize, k: usize| r.dot(inverse_left_slope(r, inverse.col(l), DVec3::AXES[k]));
            hessian.col_mut(k)[l] += 0.5 * (one(l, k) + one(k, l));
        }
    }
    (inverse.transpose() * r, hessian)
}
