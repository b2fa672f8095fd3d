//! Marks of contact: strikes on the panel over time, and on the paths where bodies were touched.

use super::panel::Panel;
use super::svg::Svg;
use super::track::Track;
use super::{COLOURS, track};
use glam::DVec3;
use sinew_core::motion::Motion;
use std::collections::HashSet;

/// Strikes with less than this share of the hardest impulse are not seen.
const LEAST: f64 = 0.01;
/// Of more strikes than this, the hardest.
const MOST: usize = 300;
/// Radii of dots: of the softest and of the hardest strike, px.
const RADII: (f64, f64) = (1.2, 3.6);
/// Height of a tick on the panel over time, px.
const TICK: f64 = 6.0;
/// Length of a normal, px.
const NORMAL: f64 = 9.0;
/// Normals nearer to each other than this are one, px.
const NEAR: f64 = 7.0;
/// Where both bodies are drawn, neither's colour.
const BOTH: &str = "#222";

/// What is marked of the contacts of a motion.
#[derive(Default)]
pub struct Marks {
    /// In the order of time.
    strikes: Vec<Strike>,
    touches: Vec<Touch>,
}

struct Strike {
    time: f64,
    touch: Touch,
    /// px.
    radius: f64,
}

#[derive(Clone, Copy)]
struct Touch {
    point: DVec3,
    /// Towards the body that is drawn.
    normal: DVec3,
    colour: &'static str,
}

impl Marks {
    /// The marks of the bodies that are drawn.
    pub fn new(motion: &Motion, tracks: &[Track]) -> Marks {
        let colour = |node: usize| tracks.iter().position(|t| t.node == node).map(|i| COLOURS[i]);
        let touch = |[a, b]: [usize; 2], point: DVec3, normal: DVec3| {
            let (normal, colour) = match (colour(a), colour(b)) {
                (Some(_), Some(_)) => (normal, BOTH),
                (None, Some(colour)) => (normal, colour),
                (Some(colour), None) => (-normal, colour),
                (None, None) => return None,
            };
            (point.is_finite() && normal.is_finite()).then_some(Touch { point, normal, colour })
        };
        let mut struck: Vec<(f64, f64, Touch)> = motion
            .strikes()
            .iter()
            .filter_map(|s| Some((s.time, s.impulse.length(), touch(s.nodes, s.point, s.normal)?)))
            .filter(|s| s.1.is_finite())
            .collect();
        struck.sort_by(|a, b| b.1.total_cmp(&a.1));
        struck.truncate(MOST);
        let hardest = struck.first().map_or(0.0, |s| s.1);
        struck.retain(|s| s.1 >= LEAST * hardest && s.1 > 0.0);
        struck.sort_by(|a, b| a.0.total_cmp(&b.0));
        // Areas go with impulses.
        let radius = |impulse: f64| RADII.0 + (RADII.1 - RADII.0) * (impulse / hardest).sqrt();
        let strikes = struck.into_iter().map(|(time, impulse, touch)| Strike {
            time,
            touch,
            radius: (radius(impulse) * 10.0).round() / 10.0,
        });
        let frames = (0..motion.frames()).step_by(track::stride(motion));
        let touches =
            frames.flat_map(|f| motion.contacts(f)).filter_map(|c| touch(c.nodes, c.point, c.normal));
        Marks { strikes: strikes.collect(), touches: touches.collect() }
    }

    /// Whether anything struck.
    pub fn has_strikes(&self) -> bool {
        !self.strikes.is_empty()
    }

    /// Whether anything touched at a frame.
    pub fn has_touches(&self) -> bool {
        !self.touches.is_empty()
    }

    /// Everywhere that something is marked.
    pub fn places(&self) -> impl Iterator<Item = DVec3> {
        self.touches.iter().chain(self.strikes.iter().map(|s| &s.touch)).map(|t| t.point)
    }

    /// Ticks on the lower edge of a panel over time.
    pub fn on_time(&self, svg: &mut Svg, panel: &Panel) {
        let bottom = panel.top + panel.height;
        for s in self.strikes.iter().filter(|s| s.time >= panel.x.0 && s.time <= panel.x.1) {
            let x = panel.at((s.time, panel.y.0)).0;
            svg.stroke("thin struck", s.touch.colour, (x, bottom), (x, bottom - TICK));
            svg.circle("", (x, bottom - TICK - 1.0), s.radius, s.touch.colour);
        }
    }

    /// Normals where bodies were touched, and dots where they were struck, on a panel of paths. `at`: where a point is
    /// on the panel's axes.
    pub fn on_paths(&self, svg: &mut Svg, panel: &Panel, at: impl Fn(&DVec3) -> (f64, f64)) {
        let origin = panel.at(at(&DVec3::ZERO));
        let along = |v: DVec3, size: f64| {
            // Both axes have one scale; a normal towards the eye is a point.
            let tip = panel.at(at(&v));
            let unit = panel.width / (panel.x.1 - panel.x.0);
            (size * (tip.0 - origin.0) / unit, size * (tip.1 - origin.1) / unit)
        };
        let mut drawn: HashSet<(i64, i64, &str)> = HashSet::new();
        let mut normal = |svg: &mut Svg, t: &Touch, always: bool| {
            let (x, y) = panel.at(at(&t.point));
            let cell = ((x / NEAR).round() as i64, (y / NEAR).round() as i64, t.colour);
            if drawn.insert(cell) || always {
                let (dx, dy) = along(t.normal, NORMAL);
                svg.stroke("thin struck", t.colour, (x, y), (x + dx, y + dy));
            }
        };
        for s in &self.strikes {
            normal(svg, &s.touch, true);
            svg.circle("", panel.at(at(&s.touch.point)), s.radius, s.touch.colour);
        }
        for t in &self.touches {
            normal(svg, t, false);
        }
    }
}
