//! A playblast: the bake in motion in front of its keys, from the side that shows most of it. SVG that plays by itself
//! (SMIL) and loops; where nothing plays, it shows the moment at which the two are farthest apart.
//!
//! Round shapes keep their form from every side, so that a ball is a circle and a capsule a thick line; other convex
//! shapes are drawn through the points that are farthest in a fixed number of directions, which a viewer can blend from
//! frame to frame.

use super::panel::Panel;
use super::silhouette::{self, Silhouette};
use super::skeleton::Skeleton;
use super::svg::{Svg, number};
use super::{OBSTACLE, WIDTH, moments};
use glam::{DVec2, DVec3};
use sinew_core::joint::End;
use sinew_core::motion::{Motion, Sample};
use sinew_core::rig::{Carrier, Collider, Rig};
use sinew_core::scene::Placement;
use sinew_core::shape::Geometry;

/// Of longer shots, every second frame or fewer.
const MOST_FRAMES: usize = 120;
/// How long the last frame stays before the shot begins again, s.
const PAUSE_S: f64 = 0.8;
/// Around the picture, px.
const EDGE: f64 = 20.0;
/// The picture's height, px: at least and at most.
const HEIGHT: (f64, f64) = (140.0, 300.0);
/// Around what moves, px.
const MARGIN: f64 = 14.0;
/// Ground below the feet, px.
const GROUND: f64 = 26.0;
/// Corners of boxes, and of other shapes that are neither balls nor capsules.
const CORNERS: (usize, usize) = (12, 20);
/// An axis of the scene that is as near as this to the best view (cosine) is taken instead.
const NEARLY: f64 = 0.9;
/// Simulated bodies by depth, farthest and nearest.
const DEPTH: [[f64; 3]; 2] = [[13.0, 60.0, 97.0], [74.0, 158.0, 214.0]];
const FREE: &str = "#d55e00";
const KEYED: &str = "#888";
const GHOST: &str = "#8a8f98";
/// Hits weaker than this share of the hardest are not marked.
const HARD: f64 = 0.1;

/// Draws `motion` of `rig` as an SVG that plays.
pub fn draw_playblast(title: &str, rig: &Rig, motion: &Motion) -> String {
    let shot = Shot::new(rig, motion);
    let mut svg = Svg::default();
    svg.text("title", EDGE, 26.0, title);
    let swatch = |x: f64, colour: &str, class: &str| {
        format!("<path class=\"{class}\" stroke=\"{colour}\" stroke-width=\"9\" d=\"M{x} 0h14\"/>")
    };
    svg.group(WIDTH - 190.0, 21.0, &(swatch(0.0, GHOST, "ghost") + &swatch(94.0, &shade(1.0), "")));
    if !motion.strikes().is_empty() {
        svg.stroke("thin", FREE, (WIDTH - 266.0, 16.0), (WIDTH - 266.0, 26.0));
        svg.text("label", WIDTH - 258.0, 26.0, "hit");
    }
    svg.text("label", WIDTH - 168.0, 26.0, "keys");
    svg.text("label", WIDTH - 74.0, 26.0, "baked");
    let panel = shot.panel(rig, 44.0);
    svg.marks(&format!(
        "<clipPath id=\"shot\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>\n",
        number(panel.left),
        number(panel.top),
        number(panel.width),
        number(panel.height)
    ));
    shot.obstacles(&mut svg, rig, &panel);
    svg.marks("<g clip-path=\"url(#shot)\">\n<g class=\"ghost\">\n");
    shot.cast(&mut svg, rig, &panel, Of::Keys);
    svg.marks("</g>\n");
    shot.cast(&mut svg, rig, &panel, Of::Bake);
    svg.marks("</g>\n");
    svg.frame(panel.left, panel.top, panel.width, panel.height);
    let bottom = panel.top + panel.height + 18.0;
    shot.timeline(&mut svg, motion, bottom);
    svg.finish(WIDTH, bottom + 24.0)
}

#[derive(Clone, Copy, PartialEq)]
enum Of {
    Keys,
    Bake,
}

/// What is shown of a motion.
struct Shot {
    /// Of the frames that are shown, as baked and as keyed.
    baked: Vec<Skeleton>,
    keyed: Vec<Skeleton>,
    /// Bodies that have neither a shape nor a joint.
    bare: Vec<Bare>,
    /// Which of them a viewer shows that plays nothing.
    poster: usize,
    right: DVec3,
    /// s.
    times: (f64, f64),
    /// Values of an animation after the last frame.
    pause: usize,
    /// Of the whole loop, s.
    length_s: f64,
}

/// A body that is only a place.
struct Bare {
    radius: f64,
    guided: bool,
    /// Its middle at every frame that is shown, as keyed and as baked.
    at: [Vec<DVec3>; 2],
}

impl Shot {
    fn new(rig: &Rig, motion: &Motion) -> Shot {
        let stride = motion.frames().div_ceil(MOST_FRAMES).max(1);
        let frames: Vec<usize> = (0..motion.frames()).step_by(stride).collect();
        let look = |node: fn(&Sample) -> Placement| -> Vec<Skeleton> {
            frames.iter().map(|&f| Skeleton::new(rig, motion.frame(f), motion.times()[f], node)).collect()
        };
        let at = |f: Option<&usize>| f.map_or(0.0, |&f| motion.times()[f]);
        let times = (at(frames.first()), at(frames.last()));
        let spacing = (times.1 - times.0) / (frames.len().max(2) - 1) as f64;
        let pause = if spacing > 0.0 { (PAUSE_S / spacing).round() as usize } else { 0 };
        let departs = |f: usize| -> f64 {
            let all = motion.frame(f).iter().zip(&rig.solids);
            let guided = all.filter(|(_, s)| is_guided(s));
            guided.map(|(s, _)| (s.node.position - s.keys.position).length()).sum()
        };
        let poster = (0..frames.len())
            .fold(0, |best, i| if departs(frames[i]) > departs(frames[best]) { i } else { best });
        let baked = look(moments::as_simulated);
        let is_bare = |i: usize| {
            let shaped = rig.colliders.all.iter().any(|c| c.carrier == Carrier::Solid(i));
            !shaped && !rig.joints.iter().any(|j| j.ends.contains(&End::Solid(i)))
        };
        let bare = (0..rig.solids.len()).filter(|i| is_bare(*i)).map(|i| {
            let solid = &rig.solids[i];
            let middle = |node: fn(&Sample) -> Placement| -> Vec<DVec3> {
                frames.iter().map(|&f| node(&motion.frame(f)[i]).then(&solid.offset).position).collect()
            };
            let at = [middle(moments::as_keyed), middle(moments::as_simulated)];
            Bare { radius: solid.radius, guided: is_guided(solid), at }
        });
        Shot {
            bare: bare.collect(),
            baked,
            keyed: look(moments::as_keyed),
            poster,
            right: right(rig, motion),
            times,
            pause,
            length_s: times.1 - times.0 + spacing * pause as f64,
        }
    }

    fn at(&self, p: DVec3) -> (f64, f64) {
        (p.dot(self.right), p.y)
    }

    fn skeletons(&self, of: Of) -> &[Skeleton] {
        match of {
            Of::Keys => &self.keyed,
            Of::Bake => &self.baked,
        }
    }

    /// The part of the scene that what is guided needs, or everything where nothing is.
    fn panel(&self, rig: &Rig, top: f64) -> Panel {
        let guided = rig.solids.iter().any(is_guided);
        let shown = |c: usize| !guided || carried_by_guided(rig, &rig.colliders.all[c]);
        let mut low = DVec2::INFINITY;
        let mut high = DVec2::NEG_INFINITY;
        let mut reach = |p: (f64, f64)| {
            let p = DVec2::new(p.0, p.1);
            if p.is_finite() {
                (low, high) = (low.min(p), high.max(p));
            }
        };
        for skeleton in self.baked.iter().chain(&self.keyed) {
            for (c, place) in skeleton.shapes.iter().filter(|s| shown(s.0)) {
                let seen = Silhouette::new(&rig.colliders.all[*c], place, [self.right, DVec3::Y]);
                seen.into_iter().flat_map(|s| s.points()).for_each(&mut reach);
            }
            skeleton.bodies.iter().flatten().for_each(|p| reach(self.at(*p)));
        }
        for bare in self.bare.iter().filter(|b| !guided || b.guided) {
            for (x, y) in bare.at.iter().flatten().map(|p| self.at(*p)) {
                reach((x - bare.radius, y - bare.radius));
                reach((x + bare.radius, y + bare.radius));
            }
        }
        if low.x > high.x {
            (low, high) = (DVec2::ZERO, DVec2::ONE);
        }
        let width = WIDTH - 2.0 * EDGE;
        let size = (high - low).max(DVec2::splat(1e-9));
        let unit = (size.x / (width - 2.0 * MARGIN)).max(size.y / (HEIGHT.1 - MARGIN - GROUND));
        let height = (size.y / unit + MARGIN + GROUND).max(HEIGHT.0);
        let across = 0.5 * (low.x + high.x);
        Panel {
            left: EDGE,
            top,
            width,
            height,
            x: (across - 0.5 * unit * width, across + 0.5 * unit * width),
            y: (low.y - unit * GROUND, low.y + unit * (height - GROUND)),
            downward: false,
        }
    }

    /// What stands in the way, and grounds without end.
    fn obstacles(&self, svg: &mut Svg, rig: &Rig, panel: &Panel) {
        for collider in rig.colliders.all.iter().filter(|c| c.carrier == Carrier::World) {
            let level = (collider.place.rotation * DVec3::Y).y > 0.999;
            if matches!(collider.geometry, Geometry::HalfSpace(_)) && level {
                let top = collider.place.position.y.clamp(panel.y.0, panel.y.1);
                let corners =
                    [(panel.x.0, panel.y.0), (panel.x.0, top), (panel.x.1, top), (panel.x.1, panel.y.0)];
                svg.area(OBSTACLE, &panel.path(corners.into_iter()));
            } else if let Some(seen) = Silhouette::new(collider, &Placement::IDENTITY, [self.right, DVec3::Y])
            {
                seen.fill(svg, panel, OBSTACLE);
            }
        }
    }

    /// Everything that moves, farthest first.
    fn cast(&self, svg: &mut Svg, rig: &Rig, panel: &Panel, of: Of) {
        let skeletons = self.skeletons(of);
        let toward = self.right.cross(DVec3::Y);
        let Some(first) = skeletons.first() else { return };
        for bare in self.bare.iter().filter(|b| of == Of::Bake || b.guided) {
            let colour = match (of, bare.guided) {
                (Of::Keys, _) => GHOST.into(),
                (Of::Bake, true) => shade(1.0),
                (Of::Bake, false) => FREE.into(),
            };
            let middles = bare.at[usize::from(of == Of::Bake)].iter().copied();
            self.ball(svg, panel, &colour, bare.radius, middles);
        }
        let depth = |k: usize, of: fn(&Skeleton) -> &Vec<(usize, Placement)>| {
            let all = skeletons.iter().map(|s| of(s)[k].1.position.dot(toward));
            all.sum::<f64>() / skeletons.len() as f64
        };
        let mut parts: Vec<(f64, usize, bool)> =
            (0..first.shapes.len()).map(|k| (depth(k, |s| &s.shapes), k, true)).collect();
        if of == Of::Bake {
            parts.extend((0..first.hands.len()).map(|k| (depth(k, |s| &s.hands), k, false)));
        }
        parts.sort_by(|a, b| a.0.total_cmp(&b.0));
        let guided = |k: usize| carried_by_guided(rig, &rig.colliders.all[first.shapes[k].0]);
        let limbs: Vec<usize> = parts.iter().filter(|p| p.2 && guided(p.1)).map(|p| p.1).collect();
        for (_, k, simulated) in parts {
            let rank = limbs.iter().position(|l| *l == k).filter(|_| simulated);
            let colour = match (of, simulated, rank) {
                (Of::Keys, _, None) => continue,
                (Of::Keys, _, Some(_)) => GHOST.into(),
                (Of::Bake, true, Some(rank)) => shade(rank as f64 / (limbs.len().max(2) - 1) as f64),
                (Of::Bake, true, None) => FREE.into(),
                (Of::Bake, false, _) => KEYED.into(),
            };
            let of_frame = |s: &'_ Skeleton| if simulated { s.shapes[k] } else { s.hands[k] };
            self.part(svg, rig, panel, &colour, &mut skeletons.iter().map(of_frame));
        }
        let lines = |s: &Skeleton| {
            let ends = s.ties.iter().chain(&s.bodies).map(|l| l.map(|p| panel.at(self.at(p))));
            ends.map(|[a, b]| format!("M{}L{}", place(a), place(b))).collect::<String>()
        };
        let paths: Vec<String> = skeletons.iter().map(lines).collect();
        // A viewer blends only what is written alike.
        if paths.iter().all(|p| p.matches('M').count() == paths[0].matches('M').count())
            && !paths[0].is_empty()
        {
            let colour = if of == Of::Keys { GHOST.into() } else { shade(1.0) };
            let head = format!("path stroke=\"{colour}\" stroke-width=\"3\"");
            self.element(svg, &head, &[("d", paths)]);
        }
    }

    /// One shape at all frames.
    fn part(
        &self,
        svg: &mut Svg,
        rig: &Rig,
        panel: &Panel,
        colour: &str,
        places: &mut dyn Iterator<Item = (usize, Placement)>,
    ) {
        let scale = panel.width / (panel.x.1 - panel.x.0);
        let places: Vec<(&Collider, Placement)> =
            places.map(|(c, carrier)| (&rig.colliders.all[c], carrier)).collect();
        let Some((collider, _)) = places.first() else { return };
        let middles = || places.iter().map(|(c, carrier)| carrier.then(&c.place));
        match &collider.geometry {
            Geometry::Ball(ball) => self.ball(svg, panel, colour, ball.radius, middles().map(|m| m.position)),
            Geometry::Capsule(capsule) => {
                let ends = |m: Placement| {
                    [capsule.segment.a, capsule.segment.b]
                        .map(|e| panel.at(self.at(m.position + m.rotation * DVec3::new(e.x, e.y, e.z))))
                };
                // A line without length has no ends to be round.
                let line = |[a, b]: [(f64, f64); 2]| format!("M{}L{}", place(a), place((b.0 + 0.1, b.1)));
                let width = number(2.0 * capsule.radius * scale);
                let head = format!("path stroke=\"{colour}\" stroke-width=\"{width}\"");
                self.element(svg, &head, &[("d", middles().map(|m| line(ends(m))).collect())]);
            }
            _ => {
                let is_box = matches!(collider.geometry, Geometry::Box(_));
                let count = if is_box { CORNERS.0 } else { CORNERS.1 };
                let path = |(c, carrier): &(&Collider, Placement)| {
                    let corners = silhouette::corners(c, carrier, [self.right, DVec3::Y], count)?;
                    let corners: Vec<String> = corners.iter().map(|p| place(panel.at(*p))).collect();
                    Some(format!("M{}Z", corners.join("L")))
                };
                if let Some(paths) = places.iter().map(path).collect() {
                    self.element(svg, &format!("path style=\"fill:{colour}\""), &[("d", paths)]);
                }
            }
        }
    }

    fn ball(
        &self,
        svg: &mut Svg,
        panel: &Panel,
        colour: &str,
        radius: f64,
        middles: impl Iterator<Item = DVec3>,
    ) {
        let scale = panel.width / (panel.x.1 - panel.x.0);
        let at: Vec<(f64, f64)> = middles.map(|m| panel.at(self.at(m))).collect();
        let head = format!("circle r=\"{}\" fill=\"{colour}\"", number(radius * scale));
        let along = |of: fn(&(f64, f64)) -> f64| at.iter().map(|p| number(of(p))).collect::<Vec<_>>();
        self.element(svg, &head, &[("cx", along(|p| p.0)), ("cy", along(|p| p.1))]);
    }

    /// An element, some attributes of which have a value at every frame.
    fn element(&self, svg: &mut Svg, head: &str, attributes: &[(&str, Vec<String>)]) {
        let mut text = format!("<{head}");
        for (name, values) in attributes {
            text += &format!(" {name}=\"{}\"", values[self.poster.min(values.len() - 1)]);
        }
        let mut inside = String::new();
        for (name, values) in attributes {
            let (Some(first), Some(last)) = (values.first(), values.last()) else { continue };
            if values.iter().all(|v| v == first) {
                continue;
            }
            let all: Vec<&str> =
                values.iter().chain(std::iter::repeat_n(last, self.pause)).map(String::as_str).collect();
            inside += &format!(
                "<animate attributeName=\"{name}\" dur=\"{}s\" repeatCount=\"indefinite\" values=\"{}\"/>",
                seconds(self.length_s),
                all.join(";")
            );
        }
        let name = head.split(' ').next().unwrap_or_default();
        text += &if inside.is_empty() { "/>\n".into() } else { format!(">{inside}</{name}>\n") };
        svg.marks(&text);
    }

    /// Where in the shot it is, and when something hit something.
    fn timeline(&self, svg: &mut Svg, motion: &Motion, y: f64) {
        let (left, right) = (EDGE + 40.0, WIDTH - EDGE - 40.0);
        let at =
            |t: f64| left + (right - left) * (t - self.times.0) / (self.times.1 - self.times.0).max(1e-9);
        svg.line("grid zero", (left, y), (right, y));
        let hardest = motion.strikes().iter().map(|s| s.impulse.length()).fold(0.0, f64::max);
        let mut marked = f64::NEG_INFINITY;
        for strike in motion.strikes().iter().filter(|s| s.impulse.length() > HARD * hardest) {
            let x = at(strike.time);
            if x > marked + 3.0 {
                svg.stroke("thin", FREE, (x, y - 5.0), (x, y + 5.0));
                marked = x;
            }
        }
        let frames = self.baked.len().max(2) - 1;
        let places = (0..self.baked.len()).map(|i| number(left + (right - left) * i as f64 / frames as f64));
        let y_text = number(y);
        self.element(
            svg,
            &format!("circle cy=\"{y_text}\" r=\"4\" fill=\"#222\""),
            &[("cx", places.collect())],
        );
        svg.text("tick up", left - 10.0, y + 4.0, &format!("{} s", seconds(self.times.0)));
        svg.text("tick", right + 10.0, y + 4.0, &format!("{} s", seconds(self.times.1)));
    }
}

fn is_guided(solid: &sinew_core::rig::Solid) -> bool {
    solid.position_target.is_some() || solid.rotation_target.is_some()
}

fn carried_by_guided(rig: &Rig, collider: &Collider) -> bool {
    matches!(collider.carrier, Carrier::Solid(i) if is_guided(&rig.solids[i]))
}

/// The level direction along which the motion goes and departs from its keys most; the way it goes is to the right.
fn right(rig: &Rig, motion: &Motion) -> DVec3 {
    let last = motion.frames().saturating_sub(1);
    // Sums of squares and products of level moves: xx, xz, zz.
    let mut sums = [0.0; 3];
    let mut travel = DVec3::ZERO;
    for (i, solid) in rig.solids.iter().enumerate().filter(|(_, s)| is_guided(s)) {
        let from = motion.frame(0)[i].keys.position;
        for f in 0..motion.frames() {
            let sample = &motion.frame(f)[i];
            for v in [sample.node.position - sample.keys.position, sample.node.position - from] {
                let v = v * solid.mass.sqrt();
                if v.is_finite() {
                    sums = [sums[0] + v.x * v.x, sums[1] + v.x * v.z, sums[2] + v.z * v.z];
                }
            }
        }
        travel += (motion.frame(last)[i].keys.position - from) * solid.mass;
    }
    let [a, b, c] = sums;
    // The longer axis of that ellipse.
    let longest = 0.5 * (a + c) + (0.25 * (a - c) * (a - c) + b * b).sqrt();
    let axis = if b.abs() > 1e-9 * longest {
        DVec3::new(b, 0.0, longest - a)
    } else if c > a {
        DVec3::NEG_Z
    } else {
        DVec3::X
    };
    let axis = axis.normalize_or(DVec3::X);
    let axis = match axis {
        v if v.x.abs() > NEARLY => DVec3::X,
        v if v.z.abs() > NEARLY => DVec3::NEG_Z,
        v => v,
    };
    if travel.dot(axis) < 0.0 { -axis } else { axis }
}

fn shade(near: f64) -> String {
    let [far, front] = DEPTH;
    let mix = |i: usize| (far[i] + (front[i] - far[i]) * near).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2))
}

fn place(p: (f64, f64)) -> String {
    format!("{} {}", number(p.0), number(p.1))
}

/// To a hundredth.
fn seconds(time: f64) -> String {
    let text = format!("{time:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
