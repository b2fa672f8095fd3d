//! A panel that shows the shape of bodies that are jointed or touch at several moments: over each other where they travel, side by side
//! where they stay.

use super::panel::Panel;
use super::silhouette::Silhouette;
use super::skeleton::Skeleton;
use super::svg::Svg;
use super::{COLOURS, LEFT, OBSTACLE, RIGHT, WIDTH};
use glam::DVec3;
use sinew_core::motion::{Motion, Sample};
use sinew_core::rig::{Carrier, Rig};
use sinew_core::scene::Placement;

/// Moments side by side, and at least and most over each other.
const BESIDE: usize = 6;
const OVER: (usize, usize) = (5, 12);
/// The highest panel, px.
const HIGHEST: f64 = 480.0;
/// Around a shape in its panel, px.
const MARGIN: f64 = 12.0;
/// Room for the time below a shape, px.
const LABEL: f64 = 18.0;
/// What is less deep than this share of its size is flat, and seen straight.
const FLAT: f64 = 0.1;
/// A line shorter than this is drawn with the next, px.
const SHORT: f64 = 1.0;
/// Shades over time, first and last.
const SHADES: [[f64; 3]; 2] = [[158.0, 205.0, 232.0], [8.0, 48.0, 84.0]];

/// The two directions of the page, right and up, in the scene.
struct View {
    right: DVec3,
    up: DVec3,
    name: &'static str,
}

impl View {
    /// Straight on what is flat, else from the right, above and before.
    fn of(skeletons: &[Skeleton]) -> View {
        let size = size(skeletons.iter().flat_map(Skeleton::points).map(|p| p.to_array()));
        let flat = |i: usize| size[i] < FLAT * size.iter().fold(0.0, |m: f64, s| m.max(*s));
        let (right, up, name) = match () {
            () if flat(2) => (DVec3::X, DVec3::Y, "the front"),
            () if flat(1) => (DVec3::X, DVec3::NEG_Z, "above"),
            () if flat(0) => (DVec3::NEG_Z, DVec3::Y, "the side"),
            () => {
                let eye = DVec3::new(0.45, 0.4, 0.8).normalize();
                let right = DVec3::Y.cross(eye).normalize();
                (right, eye.cross(right), "above and in front")
            }
        };
        View { right, up, name }
    }

    fn at(&self, p: DVec3) -> (f64, f64) {
        (p.dot(self.right), p.dot(self.up))
    }

    /// What shapes look like.
    fn outlines<'a>(
        &'a self,
        rig: &'a Rig,
        shapes: &'a [(usize, Placement)],
    ) -> impl Iterator<Item = Silhouette> + 'a {
        let toward = self.right.cross(self.up);
        let near = |(c, at): &(usize, Placement)| at.then(&rig.colliders.all[*c].place).position.dot(toward);
        let mut farthest_first: Vec<&(usize, Placement)> = shapes.iter().collect();
        farthest_first.sort_by(|a, b| near(a).total_cmp(&near(b)));
        let seen =
            |(c, at): &(usize, Placement)| Silhouette::new(&rig.colliders.all[*c], at, [self.right, self.up]);
        farthest_first.into_iter().filter_map(seen)
    }

    /// How far everything reaches that is simulated.
    fn reach<'a>(&'a self, rig: &'a Rig, s: &'a Skeleton) -> impl Iterator<Item = [f64; 2]> + 'a {
        let shapes = self.outlines(rig, &s.shapes).flat_map(|o| o.points());
        s.points().map(|p| self.at(p)).chain(shapes).map(Into::into)
    }
}

/// How far points reach along each axis.
fn size<const N: usize>(points: impl Iterator<Item = [f64; N]>) -> [f64; N] {
    let bounds = bounds(points);
    std::array::from_fn(|i| bounds[i].1 - bounds[i].0)
}

fn bounds<const N: usize>(points: impl Iterator<Item = [f64; N]>) -> [(f64, f64); N] {
    let mut bounds = [(f64::INFINITY, f64::NEG_INFINITY); N];
    for p in points.filter(|p| p.iter().all(|c| c.is_finite())) {
        for (b, c) in bounds.iter_mut().zip(p) {
            *b = (b.0.min(c), b.1.max(c));
        }
    }
    bounds.map(|b| if b.0 <= b.1 { b } else { (0.0, 1.0) })
}

/// Where a node ended up.
pub fn as_simulated(s: &Sample) -> Placement {
    s.node
}

/// Where its keys have it.
pub fn as_keyed(s: &Sample) -> Placement {
    s.keys
}

/// Draws the shapes of a simulation below `top`; where that ends.
pub fn draw(svg: &mut Svg, rig: &Rig, motion: &Motion, top: f64) -> f64 {
    let frames = |count: usize| -> Vec<usize> {
        let last = motion.frames().saturating_sub(1);
        let mut frames: Vec<usize> = (0..count).map(|i| i * last / (count - 1).max(1)).collect();
        frames.dedup();
        frames
    };
    let shape = |&f: &usize| Skeleton::new(rig, motion.frame(f), motion.times()[f], as_simulated);
    let some: Vec<Skeleton> = frames(OVER.1).iter().map(shape).collect();
    let view = View::of(&some);
    let on_page = |s: &Skeleton| size(view.reach(rig, s));
    let all = size(some.iter().flat_map(|s| view.reach(rig, s)));
    // The larger side of each shape, and of all of them together.
    let largest = |s: [f64; 2]| s[0].max(s[1]);
    let one = some.iter().map(|s| largest(on_page(s))).fold(1e-12, f64::max);
    let label = |f: usize| format!("{} s", number(motion.times()[f]));
    if largest(all) > 1.35 * one {
        let count = ((2.5 * largest(all) / one).round() as usize).clamp(OVER.0, OVER.1);
        let frames = frames(count);
        let shapes: Vec<Skeleton> = frames.iter().map(shape).collect();
        let ends = [frames.first(), frames.last()].map(|f| label(f.copied().unwrap_or(0)));
        let heading = format!(
            "shape seen from {}, {} moments from {} (light) to {} (dark)",
            view.name,
            shapes.len(),
            ends[0],
            ends[1]
        );
        let ways = ways(rig, motion);
        let cells = [Cell { label: String::new(), behind: None, shapes: shapes.iter().collect(), ways }];
        return cells_panel(svg, rig, &view, &cells, &heading, top);
    }
    let frames = frames(BESIDE);
    let shapes: Vec<Skeleton> = frames.iter().map(shape).collect();
    let cells: Vec<Cell> = frames
        .iter()
        .zip(&shapes)
        .map(|(&f, s)| Cell { label: label(f), behind: None, shapes: vec![s], ways: Vec::new() })
        .collect();
    cells_panel(svg, rig, &view, &cells, &format!("shape seen from {}", view.name), top)
}

/// Where the bodies went whose positions are guided.
fn ways(rig: &Rig, motion: &Motion) -> Vec<Vec<DVec3>> {
    let guided = (0..rig.solids.len()).filter(|i| rig.solids[*i].position_target.is_some());
    guided.map(|i| motion.solid(i).map(|s| s.node.position).collect()).collect()
}

/// Draws a pose before and after it was put together, or a clip that was, over how it was, below `top`; where that
/// ends.
pub fn draw_assembly(svg: &mut Svg, rig: &Rig, motion: &Motion, top: f64) -> f64 {
    let last = motion.frames().saturating_sub(1);
    let mut frames: Vec<usize> = (0..BESIDE).map(|i| i * last / (BESIDE - 1)).collect();
    frames.dedup();
    let shapes = |node: fn(&Sample) -> Placement| -> Vec<Skeleton> {
        frames.iter().map(|&f| Skeleton::new(rig, motion.frame(f), motion.times()[f], node)).collect()
    };
    let (before, after) = (shapes(as_keyed), shapes(as_simulated));
    let view = View::of(&after);
    let seen = format!("shape seen from {}", view.name);
    if let ([before], [after]) = (before.as_slice(), after.as_slice()) {
        let cells = [("before", before), ("after", after)].map(|(label, shape)| Cell {
            label: label.into(),
            behind: None,
            shapes: vec![shape],
            ways: Vec::new(),
        });
        return cells_panel(svg, rig, &view, &cells, &seen, top);
    }
    let cells: Vec<Cell> = (0..frames.len())
        .map(|i| Cell {
            label: format!("{} s", number(motion.times()[frames[i]])),
            behind: Some(&before[i]),
            shapes: vec![&after[i]],
            ways: Vec::new(),
        })
        .collect();
    cells_panel(svg, rig, &view, &cells, &format!("{seen}, over how it was (grey)"), top)
}

/// One drawing of a panel.
struct Cell<'a> {
    label: String,
    behind: Option<&'a Skeleton>,
    shapes: Vec<&'a Skeleton>,
    ways: Vec<Vec<DVec3>>,
}

/// Cells in rows, all at one scale, as large as fits, each around the same place.
fn cells_panel(svg: &mut Svg, rig: &Rig, view: &View, cells: &[Cell], heading: &str, top: f64) -> f64 {
    let shapes =
        cells.iter().flat_map(|c| c.shapes.iter().copied().chain(c.behind)).flat_map(|s| view.reach(rig, s));
    let ways = cells.iter().flat_map(|c| c.ways.iter().flatten().copied());
    let [x, y] = bounds(shapes.chain(ways.map(|p| view.at(p).into())));
    let room = WIDTH - LEFT - RIGHT;
    let labelled = if cells.iter().any(|c| !c.label.is_empty()) { LABEL } else { 0.0 };
    // Scene units per pixel with so many columns.
    let unit = |columns: usize| {
        let rows = cells.len().div_ceil(columns) as f64;
        let width = room / columns as f64 - 2.0 * MARGIN;
        let height = HIGHEST / rows - labelled - 2.0 * MARGIN;
        ((x.1 - x.0) / width).max((y.1 - y.0) / height).max(1e-12)
    };
    let columns = (1..=cells.len()).min_by(|a, b| unit(*a).total_cmp(&unit(*b))).unwrap_or(1);
    let (unit, rows, width) = (unit(columns), cells.len().div_ceil(columns), room / columns as f64);
    let height = (y.1 - y.0) / unit + 2.0 * MARGIN;
    let across = 0.5 * (x.0 + x.1 - unit * width);
    for (i, cell) in cells.iter().enumerate() {
        let (column, row) = (i % columns, i / columns);
        let panel = Panel {
            left: LEFT + width * column as f64,
            top: top + (height + labelled) * row as f64,
            width,
            height,
            x: (across, across + unit * width),
            y: (y.0 - unit * MARGIN, y.1 + unit * MARGIN),
            downward: false,
        };
        let colliders = rig.colliders.all.iter().enumerate();
        let fixed = colliders.filter(|(_, c)| c.carrier == Carrier::World);
        let fixed: Vec<_> = fixed.map(|(i, _)| (i, Placement::IDENTITY)).collect();
        for obstacle in view.outlines(rig, &fixed) {
            obstacle.fill(svg, &panel, OBSTACLE);
        }
        for way in &cell.ways {
            svg.curve("keys", "#888", &panel.path(way.iter().map(|p| view.at(*p))));
        }
        if let Some(behind) = cell.behind {
            shape(svg, rig, &panel, view, behind, "#bbb");
        }
        for (k, skeleton) in cell.shapes.iter().enumerate() {
            let colour = match cell.shapes.len() {
                1 => COLOURS[0].into(),
                many => shade(k as f64 / (many - 1) as f64),
            };
            shape(svg, rig, &panel, view, skeleton, &colour);
        }
        if !cell.label.is_empty() {
            svg.text("tick", panel.left + MARGIN, panel.top + panel.height + 8.0, &cell.label);
        }
    }
    let whole = (height + labelled) * rows as f64;
    svg.frame(LEFT, top, room, whole);
    svg.text("head", LEFT, top - 8.0, heading);
    top + whole
}

fn shape(svg: &mut Svg, rig: &Rig, panel: &Panel, view: &View, skeleton: &Skeleton, colour: &str) {
    let path = |lines: &[[DVec3; 2]]| {
        let ends = |l: &[DVec3; 2]| l.map(|p| panel.at(view.at(p)));
        joined_path(lines.iter().map(ends))
    };
    svg.curve("", "#999", &path(&skeleton.ties));
    svg.curve("curve thin", "#888", &path(&skeleton.keyed));
    svg.curve("curve", colour, &path(&skeleton.bodies));
    for (shapes, colour) in [(&skeleton.hands, "#888"), (&skeleton.shapes, colour)] {
        for outline in view.outlines(rig, shapes) {
            outline.stroke(svg, panel, colour);
        }
    }
}

/// Path data of lines on the page, those that go on where the last ended without lifting the pen.
fn joined_path(lines: impl Iterator<Item = [(f64, f64); 2]>) -> String {
    let far = |a: (f64, f64), b: (f64, f64)| (a.0 - b.0).hypot(a.1 - b.1);
    let place = |p: (f64, f64)| format!("{} {}", super::svg::number(p.0), super::svg::number(p.1));
    let mut d = String::new();
    // What was written last, and where the pen is by now.
    let mut pen: Option<((f64, f64), (f64, f64))> = None;
    for [from, to] in lines.filter(|l| l.iter().all(|p| p.0.is_finite() && p.1.is_finite())) {
        let written = match pen {
            Some((written, at)) if far(at, from) < 0.05 => written,
            lifted => {
                if let Some((_, at)) = lifted.filter(|(w, a)| far(*w, *a) > 0.05) {
                    d += &format!("L{}", place(at));
                }
                d += &format!("M{}", place(from));
                from
            }
        };
        pen = Some(if far(written, to) < SHORT {
            (written, to)
        } else {
            d += &format!("L{}", place(to));
            (to, to)
        });
    }
    if let Some((_, at)) = pen.filter(|(w, a)| far(*w, *a) > 0.05) {
        d += &format!("L{}", place(at));
    }
    d
}

fn shade(share: f64) -> String {
    let [from, to] = SHADES;
    let mix = |i: usize| (from[i] + (to[i] - from[i]) * share).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2))
}

/// Hundredths of a second are fine enough.
fn number(time: f64) -> String {
    let text = format!("{time:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_go_on_are_one_stroke() {
        let chain = [[(0.0, 0.0), (0.0, 5.0)], [(0.0, 5.0), (3.0, 5.0)], [(9.0, 9.0), (9.0, 1.0)]];
        assert_eq!(joined_path(chain.into_iter()), "M0 0L0 5L3 5M9 9L9 1");
    }

    #[test]
    fn lines_too_short_to_see_are_drawn_together_up_to_the_last() {
        let links = (0..11).map(|i| [f64::from(i) * 0.3, f64::from(i + 1) * 0.3].map(|x| (x, 0.0)));
        assert_eq!(joined_path(links), "M0 0L1.2 0L2.4 0L3.3 0");
    }
}
