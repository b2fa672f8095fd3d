//! Primitives around a set of vertices: sizes, and the mass properties of the filled primitive in closed form.

use super::MassProperties;
use glam::{DMat3, DVec3};
use std::f64::consts::PI;

/// A primitive solid at a place in the frame of the vertices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Primitive {
    /// Centre, m.
    pub center: DVec3,
    /// What it is.
    pub kind: Kind,
}

/// Sizes of a primitive, m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Edge lengths along the axes.
    Box(DVec3),
    /// Radius.
    Sphere(f64),
    /// Round-ended cylinder along an axis (0 x, 1 y, 2 z): radius, length between the centres of its ends.
    Capsule(usize, f64, f64),
    /// Cylinder along an axis: radius, length.
    Cylinder(usize, f64, f64),
    /// Cone along an axis: radius of the base, length; negative where the tip points against the axis.
    Cone(usize, f64, f64),
}

impl Primitive {
    /// m^3.
    pub fn volume(&self) -> f64 {
        match self.kind {
            Kind::Box(s) => s.x * s.y * s.z,
            Kind::Sphere(r) => 4.0 / 3.0 * PI * r * r * r,
            Kind::Capsule(_, r, l) => PI * r * r * (l + 4.0 / 3.0 * r),
            Kind::Cylinder(_, r, l) => PI * r * r * l,
            Kind::Cone(_, r, l) => PI * r * r * l.abs() / 3.0,
        }
    }

    /// The smallest extent, m.
    pub fn thinnest(&self) -> f64 {
        match self.kind {
            Kind::Box(s) => s.min_element(),
            Kind::Sphere(r) | Kind::Capsule(_, r, _) => 2.0 * r,
            Kind::Cylinder(_, r, l) => l.min(2.0 * r),
            Kind::Cone(_, r, l) => l.abs().min(2.0 * r),
        }
    }

    /// How far a point is from the surface, m: for balls, capsules and cylinders, whose meshes lie within them but have
    /// their vertices on them.
    pub fn off_surface(&self, point: DVec3) -> f64 {
        let d = point - self.center;
        let across = |axis: usize| {
            let mut out = d;
            out[axis] = 0.0;
            out.length()
        };
        match self.kind {
            Kind::Sphere(r) => (d.length() - r).abs(),
            Kind::Capsule(axis, r, l) => {
                let beyond = (d[axis].abs() - l / 2.0).max(0.0);
                (libm::hypot(across(axis), beyond) - r).abs()
            }
            Kind::Cylinder(axis, r, l) => (across(axis) - r).abs().min((d[axis].abs() - l / 2.0).abs()),
            Kind::Box(s) => (d.abs() - s / 2.0).abs().min_element(),
            Kind::Cone(axis, r, l) => {
                let up = d[axis] * l.signum() + l.abs() / 2.0;
                let slope = libm::hypot(r, l);
                ((across(axis) - r * (1.0 - up / l.abs())) * l.abs() / slope).abs().min(up.abs())
            }
        }
    }

    /// Mass properties when filled with `density`.
    pub fn mass_properties(&self, density: f64) -> MassProperties {
        let mass = self.volume() * density;
        let about_axis = |axis: usize, along: f64, across: f64| {
            let mut moments = DVec3::splat(across);
            moments[axis] = along;
            moments
        };
        let mut center = self.center;
        let moments = match self.kind {
            Kind::Box(s) => {
                let s = s * s;
                DVec3::new(s.y + s.z, s.z + s.x, s.x + s.y) * (mass / 12.0)
            }
            Kind::Sphere(r) => DVec3::splat(0.4 * mass * r * r),
            Kind::Cylinder(axis, r, l) => {
                about_axis(axis, 0.5 * mass * r * r, mass * (3.0 * r * r + l * l) / 12.0)
            }
            Kind::Cone(axis, r, l) => {
                // The centre of mass is a quarter of the way up, the middle half of it.
                center[axis] -= l / 4.0;
                about_axis(axis, 0.3 * mass * r * r, mass * (0.15 * r * r + 0.0375 * l * l))
            }
            Kind::Capsule(axis, r, l) => {
                let tube = PI * r * r * l * density;
                let ends = 4.0 / 3.0 * PI * r * r * r * density;
                let along = 0.5 * tube * r * r + 0.4 * ends * r * r;
                // The two half balls: 83/320 m r^2 each about its own centre, 3/8 r beyond the tube's end.
                let reach = l / 2.0 + 3.0 / 8.0 * r;
                let across =
                    tube * (3.0 * r * r + l * l) / 12.0 + ends * (83.0 / 320.0 * r * r + reach * reach);
                about_axis(axis, along, across)
            }
        };
        MassProperties {
            mass,
            center,
            inertia: DMat3::from_diagonal(moments),
            radius: libm::cbrt(self.volume() * 3.0 / (4.0 * PI)),
        }
    }
}

fn bounds(points: &[DVec3]) -> (DVec3, DVec3) {
    let lo = points.iter().fold(DVec3::splat(f64::INFINITY), |m, p| m.min(*p));
    let hi = points.iter().fold(DVec3::splat(f64::NEG_INFINITY), |m, p| m.max(*p));
    ((lo + hi) * 0.5, hi - lo)
}

/// Edges of a flat thing are thickened to this share of its longest edge, so that a card has a volume.
pub(super) const THINNEST: f64 = 0.01;

/// The bounding box along the axes; flat ones get a little thickness.
pub fn fit_box(points: &[DVec3]) -> Primitive {
    let (center, size) = bounds(points);
    Primitive { center, kind: Kind::Box(size.max(DVec3::splat(size.max_element() * THINNEST))) }
}

/// The ball about the bounding box's centre that holds all points.
pub fn fit_sphere(points: &[DVec3]) -> Primitive {
    let (center, _) = bounds(points);
    let r = points.iter().fold(0.0_f64, |m, p| m.max((*p - center).length()));
    Primitive { center, kind: Kind::Sphere(r) }
}

/// Axis of the longest edge, the radius about it, and the length along it.
fn along_longest(points: &[DVec3]) -> (DVec3, usize, f64, f64) {
    let (center, size) = bounds(points);
    let axis = (0..3).fold(0, |m, i| if size[i] > size[m] { i } else { m });
    let radius = points.iter().fold(0.0_f64, |m, p| {
        let mut d = *p - center;
        d[axis] = 0.0;
        m.max(d.length())
    });
    (center, axis, radius.max(size[axis] * THINNEST), size[axis])
}

/// The cylinder about the longest axis that holds all points.
pub fn fit_cylinder(points: &[DVec3]) -> Primitive {
    let (center, axis, radius, length) = along_longest(points);
    Primitive { center, kind: Kind::Cylinder(axis, radius, length) }
}

/// The capsule about the longest axis that holds all points.
pub fn fit_capsule(points: &[DVec3]) -> Primitive {
    let (center, axis, radius, _) = along_longest(points);
    // Each point must be inside the round end: it pushes the end's centre outwards as far as that takes.
    let half = points.iter().fold(0.0_f64, |m, p| {
        let mut d = *p - center;
        let along = d[axis].abs();
        d[axis] = 0.0;
        let slack = (radius * radius - d.length_squared()).max(0.0).sqrt();
        m.max(along - slack)
    });
    Primitive { center, kind: Kind::Capsule(axis, radius, 2.0 * half) }
}

/// The smallest cone along an axis that holds all points, its tip at the end of the bounding box; `None` when they have
/// no tip.
pub fn fit_cone(points: &[DVec3]) -> Option<Primitive> {
    let (center, size) = bounds(points);
    let nothing = size.max_element() * 1e-6;
    let along = |axis: usize, sign: f64| {
        let length = size[axis];
        let radius = points.iter().fold(nothing, |m, p| {
            let mut d = *p - center;
            let left = 0.5 - sign * d[axis] / length; // 0 at the tip
            d[axis] = 0.0;
            if d.length() <= nothing { m } else { m.max(d.length() / left.max(0.0)) }
        });
        Primitive { center, kind: Kind::Cone(axis, radius, sign * length) }
    };
    (0..3)
        .filter(|&axis| size[axis] > nothing)
        .flat_map(|axis| [along(axis, 1.0), along(axis, -1.0)])
        .filter(|p| p.volume().is_finite())
        .reduce(|best, p| if p.volume() < best.volume() { p } else { best })
}

/// The one of the four with the least volume.
pub fn tightest(points: &[DVec3]) -> Primitive {
    [fit_cylinder(points), fit_capsule(points), fit_sphere(points)]
        .into_iter()
        .fold(fit_box(points), |best, p| if p.volume() < best.volume() { p } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points all over a surface given by latitude and longitude.
    fn cloud(at: impl Fn(f64, f64) -> DVec3) -> Vec<DVec3> {
        let mut points = Vec::new();
        for i in 0..=40 {
            for j in 0..80 {
                points.push(at(PI * f64::from(i) / 40.0, 2.0 * PI * f64::from(j) / 80.0));
            }
        }
        points
    }

    #[test]
    fn each_primitive_finds_itself() {
        let at = DVec3::new(3.0, 1.0, -2.0);
        let ball = cloud(|a, b| at + 2.0 * DVec3::new(a.sin() * b.cos(), a.cos(), a.sin() * b.sin()));
        let Kind::Sphere(r) = tightest(&ball).kind else { panic!("{:?}", tightest(&ball)) };
        assert!((r - 2.0).abs() < 1e-9);
        let capsule = cloud(|a, b| {
            let p = DVec3::new(a.sin() * b.cos(), a.cos(), a.sin() * b.sin());
            at + p + DVec3::Y * 3.0 * p.y.signum()
        });
        let Kind::Capsule(1, r, l) = tightest(&capsule).kind else { panic!("{:?}", tightest(&capsule)) };
        assert!((r - 1.0).abs() < 1e-9 && (l - 6.0).abs() < 1e-9, "{r} {l}");
        let tube = cloud(|a, b| DVec3::new((a - PI / 2.0) * 3.0, b.cos(), b.sin()));
        assert!(matches!(tightest(&tube).kind, Kind::Cylinder(0, ..)));
        let corners: Vec<DVec3> =
            (0..8).map(|i| DVec3::new(f64::from(i & 1), f64::from(i >> 1 & 1), f64::from(i >> 2))).collect();
        assert_eq!(tightest(&corners).kind, Kind::Box(DVec3::ONE));
        assert_eq!(tightest(&corners).center, DVec3::splat(0.5));
    }

    #[test]
    fn a_capsule_without_length_is_a_ball() {
        let ball = Primitive { center: DVec3::ZERO, kind: Kind::Sphere(1.3) }.mass_properties(7.0);
        let capsule =
            Primitive { center: DVec3::ZERO, kind: Kind::Capsule(2, 1.3, 0.0) }.mass_properties(7.0);
        assert!((ball.mass - capsule.mass).abs() < 1e-12);
        for i in 0..3 {
            assert!((ball.inertia.col(i)[i] - capsule.inertia.col(i)[i]).abs() < 1e-12);
        }
    }

    #[test]
    fn a_card_has_a_volume() {
        let card = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::X + DVec3::Y];
        assert!(fit_box(&card).volume() > 0.0);
        assert!(fit_box(&card).mass_properties(1.0).inertia.determinant() > 0.0);
    }
}
