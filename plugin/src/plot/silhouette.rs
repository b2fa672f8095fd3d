//! What shapes look like from one side: convex ones, as all that move are.

use super::panel::Panel;
use super::svg::Svg;
use glam::DVec3;
use sinew_core::contact::pose;
use sinew_core::rig::Collider;
use sinew_core::scene::Placement;
use sinew_core::shape::Geometry;

/// Directions in which the farthest point is asked for: rounder than the eye sees.
const DIRECTIONS: usize = 48;

/// A shape on the page's two directions, scene units.
pub enum Silhouette {
    /// Middle and radius.
    Circle((f64, f64), f64),
    /// Corners, in order.
    Polygon(Vec<(f64, f64)>),
}

impl Silhouette {
    /// The outline of a shape whose carrier is at `carrier`, seen with these two directions to the right and up; `None`
    /// for grounds without end and for surfaces.
    pub fn new(collider: &Collider, carrier: &Placement, [right, up]: [DVec3; 2]) -> Option<Silhouette> {
        let place = carrier.then(&collider.place);
        let on_page = |p: DVec3| (p.dot(right), p.dot(up));
        if let Geometry::Ball(ball) = &collider.geometry {
            return Some(Silhouette::Circle(on_page(place.position), ball.radius));
        }
        if matches!(collider.geometry, Geometry::HalfSpace(_)) {
            return None;
        }
        let mut corners: Vec<(f64, f64)> = Vec::new();
        for (i, corner) in self::corners(collider, carrier, [right, up], DIRECTIONS)?.into_iter().enumerate()
        {
            let far = |c: &(f64, f64)| (c.0 - corner.0).hypot(c.1 - corner.1) > 1e-3 * collider.size;
            if corners.last().is_none_or(far) && (i + 1 < DIRECTIONS || corners.first().is_none_or(far)) {
                corners.push(corner);
            }
        }
        Some(Silhouette::Polygon(corners))
    }

    /// Points that reach as far as it does.
    pub fn points(&self) -> Vec<(f64, f64)> {
        match self {
            Silhouette::Circle((x, y), r) => vec![(x - r, y - r), (x + r, y + r)],
            Silhouette::Polygon(corners) => corners.clone(),
        }
    }

    /// Draws it filled, cut off at the edges of a panel.
    pub fn fill(&self, svg: &mut Svg, panel: &Panel, colour: &str) {
        let mut corners = match self {
            Silhouette::Circle((x, y), r) => (0..DIRECTIONS)
                .map(|i| (std::f64::consts::TAU * i as f64 / DIRECTIONS as f64).sin_cos())
                .map(|(sine, cosine)| (x + r * cosine, y + r * sine))
                .collect(),
            Silhouette::Polygon(corners) => corners.clone(),
        };
        // The corners within each edge, and where lines cross it (Sutherland and Hodgman 1974).
        let edges = [(0, panel.x.0, 1.0), (0, panel.x.1, -1.0), (1, panel.y.0, 1.0), (1, panel.y.1, -1.0)];
        for (axis, edge, sign) in edges {
            let within = |p: (f64, f64)| ([p.0, p.1][axis] - edge) * sign;
            let all = std::mem::take(&mut corners);
            for (i, &p) in all.iter().enumerate() {
                let q = all[(i + 1) % all.len()];
                if within(p) >= 0.0 {
                    corners.push(p);
                }
                if (within(p) >= 0.0) != (within(q) >= 0.0) {
                    let share = within(p) / (within(p) - within(q));
                    corners.push((p.0 + share * (q.0 - p.0), p.1 + share * (q.1 - p.1)));
                }
            }
        }
        svg.area(colour, &panel.path(corners.into_iter()));
    }

    /// Draws its line; what is behind shines through.
    pub fn stroke(&self, svg: &mut Svg, panel: &Panel, colour: &str) {
        match self {
            Silhouette::Circle(at, r) => {
                let scale = panel.width / (panel.x.1 - panel.x.0);
                svg.round(panel.at(*at), r * scale, colour);
            }
            Silhouette::Polygon(corners) => {
                let d = panel.path(corners.iter().copied());
                svg.curve("body", colour, &format!("{d}Z"));
            }
        }
    }
}

/// The farthest points of a convex shape in so many directions of the page; `None` for a surface.
pub fn corners(
    collider: &Collider,
    carrier: &Placement,
    [right, up]: [DVec3; 2],
    directions: usize,
) -> Option<Vec<(f64, f64)>> {
    let place = pose(&carrier.then(&collider.place));
    let shape = collider.geometry.shape().as_support_map()?;
    let corner = |i: usize| {
        // Half a step on, so that no direction is square to a face that is straight on the page.
        let (sine, cosine) = (std::f64::consts::TAU * (i as f64 + 0.5) / directions as f64).sin_cos();
        let farthest = shape.support_point(&place, right * cosine + up * sine);
        (farthest.dot(right), farthest.dot(up))
    };
    Some((0..directions).map(corner).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew_core::rig::{Carrier, Material};

    fn of(geometry: Geometry) -> Silhouette {
        let collider = Collider {
            node: 0,
            name: String::new(),
            carrier: Carrier::World,
            place: Placement::IDENTITY,
            geometry,
            material: Material { friction: 0.5, grip: 0.5, bounce: 0.0, rolling: 0.0 },
            size: 1.0,
            member: 1,
            touches: 1,
            coating: None,
        };
        Silhouette::new(&collider, &Placement::IDENTITY, [DVec3::X, DVec3::Y]).expect("it is convex")
    }

    #[test]
    fn a_box_has_four_corners_and_a_ball_none() {
        let Silhouette::Polygon(corners) = of(Geometry::cuboid(DVec3::new(2.0, 1.0, 0.5))) else {
            panic!("a box is no circle")
        };
        assert_eq!(corners, [(2.0, 1.0), (-2.0, 1.0), (-2.0, -1.0), (2.0, -1.0)]);
        assert!(matches!(of(Geometry::ball(1.0)), Silhouette::Circle((0.0, 0.0), 1.0)));
    }

    #[test]
    fn what_lies_across_an_edge_is_cut_there() {
        let panel = Panel {
            left: 0.0,
            top: 0.0,
            width: 10.0,
            height: 10.0,
            x: (0.0, 1.0),
            y: (0.0, 1.0),
            downward: false,
        };
        let mut svg = Svg::default();
        of(Geometry::cuboid(DVec3::new(0.5, 3.0, 1.0))).fill(&mut svg, &panel, "#eee");
        let drawn = svg.finish(10.0, 10.0);
        assert!(drawn.contains("d=\"M0 0L0 10L5 10L5 0Z\""), "{drawn}");
    }
}
