//! A picture of a bake: the shape of what is jointed or touches, paths from the side that shows most, values over time, effort. SVG, the same bytes for
//! the same motion.
//!
//! Bodies lie over each other in one figure, as in Lamouret 1995: to compare settings, put several bodies on the
//! same keys. In the order that data flows: `track`, `marks`, `skeleton` and `silhouette` take what is drawn out of a
//! motion, `ticks`,
//! `panel` and `moments` map it to the page, `svg` writes it, and this file arranges the page. `playblast` shows it in motion.

mod marks;
mod moments;
mod panel;
mod playblast;
mod section;
mod silhouette;
mod skeleton;
mod svg;
mod ticks;
mod track;

pub use playblast::draw_playblast;
pub use section::{Outline, draw_sections};

use marks::Marks;
use panel::Panel;
use silhouette::Silhouette;
use sinew_core::motion::Motion;
use sinew_core::rig::{Carrier, Rig};
use sinew_core::scene::Placement;
use svg::Svg;
use track::{Axis, Track};

/// Width of the page, px: what fits beside text without being scaled.
const WIDTH: f64 = 900.0;
/// Room for the labels of vertical axes, px.
const LEFT: f64 = 64.0;
/// Room to the right, so that the last label of a horizontal axis fits, px.
const RIGHT: f64 = 20.0;
/// Height of a panel over time, px.
const TIME_HEIGHT: f64 = 150.0;
/// Height of the panel of values where no path is drawn above it, px.
const LONE_HEIGHT: f64 = 240.0;
/// The path panel keeps both axes at one scale and is this high at least and at most, px.
const PATH_HEIGHT: (f64, f64) = (130.0, 380.0);
/// Between panels, px: a heading below, numbers above.
const GAP: f64 = 48.0;
/// Distinct to most eyes, colour-blind ones too (Okabe and Ito 2008), darkest first.
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#b0569a", "#e69f00", "#3aa0d8", "#7a4b2a", "#555555"];

/// What stands in the way.
const OBSTACLE: &str = "#e0ddd6";

/// Draws `motion` of `rig` as an SVG document. `also` is another motion of the same scene, such as one with other
/// steps, drawn as dots and called `also.0`.
pub fn draw(title: &str, rig: &Rig, motion: &Motion, also: Option<(&str, &Motion)>) -> String {
    let (tracks, left_out) = track::tracks(rig, motion, also.map(|a| a.1), COLOURS.len());
    let mut svg = Svg::default();
    svg.text("title", LEFT, 26.0, title);
    let jointed = !rig.joints.is_empty();
    if left_out > 0 && (jointed || !rig.colliders.all.is_empty()) {
        // A few of many bodies that hold or push each other tell less than their shape.
        let bottom = moments::draw(&mut svg, rig, motion, 62.0);
        return svg.finish(WIDTH, bottom + 20.0);
    }
    let telling = track::telling_axis(&tracks);
    // Bones only turn: where they are is their parents' doing.
    let view = telling.and_then(|_| track::view(&tracks));
    let over_time = |t: &Track| t.timed && telling.is_some();
    let keys = tracks.iter().any(|t| !t.key_dots.is_empty() && (over_time(t) || view.is_some()));
    let marks = Marks::new(motion, &tracks);
    let mut entries = legend_entries(&tracks, keys, left_out, also.map(|a| a.0));
    if marks.has_strikes() && telling.is_some() {
        let mark = "<path class=\"thin struck\" stroke=\"#222\" d=\"M13 5V-1\"/><circle cx=\"13\" cy=\"-2\" r=\"2.6\" fill=\"#222\"/>";
        entries.push((mark.into(), "strike".into()));
    }
    if marks.has_touches() && view.is_some() {
        entries
            .push(("<path class=\"thin struck\" stroke=\"#222\" d=\"M13 5V-4\"/>".into(), "touched".into()));
    }
    let mut top = legend(&mut svg, entries) + 30.0;

    if jointed {
        top = moments::draw(&mut svg, rig, motion, top) + GAP;
    }
    let mut height = LONE_HEIGHT;
    if let Some(axes) = view {
        top = path_panel(&mut svg, rig, &tracks, &marks, axes, top) + GAP;
        height = TIME_HEIGHT;
    }
    let ends = (motion.times().first(), motion.times().last());
    let (start, end) = (ends.0.copied().unwrap_or(0.0), ends.1.copied().unwrap_or(0.0));
    // A single frame has no length; a second around it shows where it is.
    let span = if end > start { (start, end) } else { (start - 0.5, start + 0.5) };
    let on_time = |top: f64, height: f64, values: (f64, f64)| Panel {
        left: LEFT,
        top,
        width: WIDTH - LEFT - RIGHT,
        height,
        x: span,
        y: values,
        downward: false,
    };
    let has_effort = tracks.iter().any(|t| t.effort.iter().any(|e| *e > 0.0));
    let values =
        value_panel(&mut svg, &tracks, &marks, telling, |range| on_time(top, height, range), !has_effort);
    top = values + if has_effort { GAP } else { 0.0 };
    if has_effort {
        top = effort_panel(&mut svg, &tracks, |range| on_time(top, TIME_HEIGHT, range));
    }
    svg.finish(WIDTH, top + 46.0)
}

/// Draws what [`assemble_file`](crate::job::assemble_file) did to the bodies of `rig` as an SVG document.
pub fn draw_assembly(title: &str, rig: &Rig, motion: &Motion) -> String {
    let mut svg = Svg::default();
    svg.text("title", LEFT, 26.0, title);
    let bottom = moments::draw_assembly(&mut svg, rig, motion, 62.0);
    svg.finish(WIDTH, bottom + 20.0)
}

/// Marks around the origin, and what they stand for.
fn legend_entries(
    tracks: &[Track],
    keys: bool,
    left_out: usize,
    also: Option<&str>,
) -> Vec<(String, String)> {
    let mut entries: Vec<(String, String)> = Vec::new();
    let line =
        |class: &str, colour: &str| format!("<path class=\"{class}\" stroke=\"{colour}\" d=\"M0 0h26\"/>");
    if keys {
        entries.push((
            line("keys", "#666") + "<circle cx=\"13\" cy=\"0\" r=\"3\" fill=\"#666\"/>",
            "keys".into(),
        ));
    }
    for (t, colour) in tracks.iter().zip(COLOURS) {
        entries.push((line("curve", colour), short(&t.name)));
    }
    if let Some(name) = also {
        let dots: String = [3.0, 13.0, 23.0]
            .map(|x| format!("<circle cx=\"{x}\" cy=\"0\" r=\"2.2\" fill=\"#222\"/>"))
            .concat();
        entries.push((dots, name.into()));
    }
    if tracks.iter().any(|t| t.saturated.contains(&true)) {
        entries.push((
            "<circle class=\"limit\" cx=\"13\" cy=\"0\" r=\"3.4\" fill=\"#fff\" stroke=\"#222\"/>".into(),
            "at its limit".into(),
        ));
    }
    if left_out > 0 {
        entries.push((String::new(), format!("and {left_out} more")));
    }
    entries
}

/// Names and their lines, in rows; where it ends.
fn legend(svg: &mut Svg, entries: Vec<(String, String)>) -> f64 {
    let (mut x, mut y) = (LEFT, 50.0);
    for (mark, name) in entries {
        // Letters of this size are seven pixels wide on the average.
        let width = 34.0 + 7.0 * name.chars().count() as f64 + 18.0;
        if x + width > WIDTH && x > LEFT {
            (x, y) = (LEFT, y + 20.0);
        }
        svg.group(x, y - 4.0, &mark);
        svg.text("label", x + 34.0, y, &name);
        x += width;
    }
    y
}

/// Where bodies went, both axes at one scale.
fn path_panel(
    svg: &mut Svg,
    rig: &Rig,
    tracks: &[Track],
    marks: &Marks,
    (across, up): (Axis, Axis),
    top: f64,
) -> f64 {
    let all =
        |axis: Axis| tracks.iter().flat_map(Track::places).chain(marks.places()).map(move |p| axis.of(p));
    let (x, y) = (ticks::padded(all(across), 0.04), ticks::padded(all(up), 0.08));
    let (width, (low, high)) = (WIDTH - LEFT - RIGHT, PATH_HEIGHT);
    let unit = ((x.1 - x.0) / width).max((y.1 - y.0) / high);
    let height = ((y.1 - y.0) / unit).max(low);
    let widen = |(a, b): (f64, f64), to: f64| ((a + b - to) / 2.0, (a + b + to) / 2.0);
    let panel = Panel {
        left: LEFT,
        top,
        width,
        height,
        x: widen(x, unit * width),
        y: widen(y, unit * height),
        downward: up == Axis::Z,
    };
    let heading =
        format!("path seen {}: {} and {}, scene units", across.seen_with(up), across.name(), up.name());
    for obstacle in rig.colliders.all.iter().filter(|c| c.carrier == Carrier::World) {
        let seen = Silhouette::new(obstacle, &Placement::IDENTITY, [across.unit(), up.unit()]);
        seen.inspect(|o| o.fill(svg, &panel, OBSTACLE));
    }
    panel.frame(svg, &heading, true);
    let at = |p: &glam::DVec3| (across.of(*p), up.of(*p));
    let mut drawn: Vec<String> = Vec::new();
    for t in tracks {
        // Bodies on the same keys share one dashed line.
        let line = panel.path(t.keys.iter().map(|k| at(&k.1)));
        if t.key_dots.is_empty() || drawn.contains(&line) {
            continue;
        }
        svg.curve("keys", "#666", &line);
        for dot in &t.key_dots {
            svg.circle("", panel.at(at(&dot.1)), 3.0, "#666");
        }
        drawn.push(line);
    }
    if let [only] = tracks {
        for target in &only.targets {
            svg.circle("faint", panel.at(at(target)), 1.6, COLOURS[0]);
        }
    }
    marks.on_paths(svg, &panel, at);
    for (t, colour) in tracks.iter().zip(COLOURS) {
        svg.curve("curve", colour, &panel.smooth_path(t.points.iter().map(|p| at(&p.1)), &t.corners));
    }
    for (t, colour) in tracks.iter().zip(COLOURS) {
        for p in &t.also {
            svg.circle("", panel.at(at(&p.1)), 2.2, colour);
        }
        // Where it begins and where it ends.
        if let (Some(first), Some(last)) = (t.points.first(), t.points.last()) {
            svg.ring(panel.at(at(&first.1)), 3.6, colour);
            svg.circle("", panel.at(at(&last.1)), 3.6, colour);
        }
    }
    top + height
}

/// The value that departs most from its keys, over time; angles off the keys when nothing moves but turns.
fn value_panel(
    svg: &mut Svg,
    tracks: &[Track],
    marks: &Marks,
    axis: Option<Axis>,
    panel: impl Fn((f64, f64)) -> Panel,
    last: bool,
) -> f64 {
    let Some(axis) = axis else {
        let panel = panel(ticks::padded(tracks.iter().flat_map(|t| t.angle.iter().map(|a| a.1)), 0.08));
        panel.frame(svg, "angle off the keys over time, degrees and seconds", last);
        for (t, colour) in tracks.iter().zip(COLOURS) {
            svg.curve("curve", colour, &panel.smooth_path(t.angle.iter().copied(), &t.corners));
        }
        return panel.top + panel.height;
    };
    let timed = || tracks.iter().filter(|t| t.timed);
    // The keys may go on where nothing was simulated; times in files are rounded, so a hair past the edge is in.
    let span = panel((0.0, 1.0)).x;
    let hair = 1e-4 * (span.1 - span.0);
    let inside = |k: &&(f64, glam::DVec3)| k.0 >= span.0 - hair && k.0 <= span.1 + hair;
    let keys = timed().flat_map(|t| t.keys.iter().filter(inside).map(|k| k.1));
    let values = tracks.iter().flat_map(|t| t.points.iter().map(|p| p.1)).chain(keys);
    let panel = panel(ticks::padded(values.map(|p| axis.of(p)), 0.08));
    panel.frame(svg, &format!("{} over time, scene units and seconds", axis.name()), last);
    let mut drawn: Vec<String> = Vec::new();
    for t in timed() {
        let line = panel.path(t.keys.iter().filter(inside).map(|k| (k.0, axis.of(k.1))));
        if t.key_dots.is_empty() || drawn.contains(&line) {
            continue;
        }
        svg.curve("keys", "#666", &line);
        for dot in t.key_dots.iter().filter(inside) {
            svg.circle("", panel.at((dot.0, axis.of(dot.1))), 3.0, "#666");
        }
        drawn.push(line);
    }
    for (t, colour) in tracks.iter().zip(COLOURS) {
        let points = t.points.iter().map(|p| (p.0, axis.of(p.1)));
        svg.curve("curve", colour, &panel.smooth_path(points, &t.corners));
    }
    marks.on_time(svg, &panel);
    for (t, colour) in tracks.iter().zip(COLOURS) {
        for p in &t.also {
            svg.circle("", panel.at((p.0, axis.of(p.1))), 2.2, colour);
        }
    }
    panel.top + panel.height
}

/// How hard actuators pull: as a share of their limits where all have one, else in newtons.
fn effort_panel(svg: &mut Svg, tracks: &[Track], panel: impl Fn((f64, f64)) -> Panel) -> f64 {
    let pulls = |t: &&Track| t.effort.iter().any(|e| *e > 0.0);
    let limited = tracks.iter().filter(pulls).all(|t| t.limit.iter().all(|l| l.is_finite() && *l > 0.0));
    let turning = tracks.iter().filter(pulls).all(|t| t.turns_only);
    let value = |t: &Track, i: usize| if limited { 100.0 * t.effort[i] / t.limit[i] } else { t.effort[i] };
    let all = tracks.iter().filter(pulls).flat_map(|t| (0..t.effort.len()).map(move |i| value(t, i)));
    let top = ticks::padded(all.chain([0.0]), 0.08).1;
    // The limit is shown where anything comes near it.
    let panel = panel((0.0, if limited && top > 50.0 { top.max(108.0) } else { top }));
    let unit = match (limited, turning) {
        (true, true) => "turn of the actuator, % of its limit",
        (true, false) => "pull of the actuator, % of its limit",
        (false, true) => "turn of the actuator, newton metres",
        (false, false) => "pull of the actuator, newtons",
    };
    panel.frame(svg, &format!("{unit} over seconds"), true);
    for (t, colour) in tracks.iter().zip(COLOURS).filter(|(t, _)| pulls(t)) {
        // Before the first step nothing has pulled yet.
        let points = || t.points.iter().enumerate().skip(1).map(|(i, p)| (p.0, value(t, i)));
        svg.curve("curve thin", colour, &panel.path(points()));
        for (_, point) in points().enumerate().filter(|(i, _)| t.saturated[i + 1]) {
            svg.ring(panel.at(point), 2.6, colour);
        }
    }
    panel.top + panel.height
}

/// A name that fits a legend.
fn short(name: &str) -> String {
    match name.char_indices().nth(30) {
        Some((at, _)) => format!("{}...", &name[..at]),
        None => name.to_owned(),
    }
}
