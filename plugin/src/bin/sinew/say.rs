//! Results for people, and as JSON.

use serde::Serialize;
use sinew_core::cycle::Gap;
use sinew_core::motion::Touching;
use sinew_plugin::job::{AssemblyReport, Inspection, PhysicsReport, Report};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write as _;

/// Bodies listed before the rest is only counted.
const MOST_ROWS: usize = 12;
/// Pairs that struck each other, likewise.
const MOST_PAIRS: usize = 5;

/// Prints on standard output. A reader who has left (`sinew … | head`) is no failure of the job.
pub fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// `value` as JSON.
pub fn json(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

/// A few lines on a bake.
pub fn bake(r: &Report) -> String {
    let mut text = String::new();
    let shot = (r.frames.saturating_sub(1)) as f64 / r.frames_per_second;
    _ = writeln!(
        text,
        "{}: {} guided {} of {} bodies, {} frames at {} fps ({shot:.2} s)",
        r.scene,
        if r.clip.is_empty() { "no clip".to_string() } else { format!("clip \"{}\"", r.clip) },
        r.bodies.iter().filter(|b| b.guided).count(),
        r.bodies.len(),
        r.frames,
        r.frames_per_second,
    );
    let width = r.bodies.iter().take(MOST_ROWS).map(|b| b.node.len()).max().unwrap_or(0);
    for b in r.bodies.iter().take(MOST_ROWS) {
        let pulled = match b.saturated_frames {
            0 => String::new(),
            n => format!(", at its limit in {n} frames"),
        };
        _ = writeln!(
            text,
            "  {:width$}  {:>9} off the keys at most (frame {}), {:.1} deg, pulled {} N{pulled}",
            b.node,
            number(b.max_distance),
            r.first_frame + b.max_distance_frame as f64,
            b.max_angle_deg,
            number(b.peak_force_n),
        );
    }
    if r.bodies.len() > MOST_ROWS {
        _ = writeln!(text, "  and {} more (--json lists all)", r.bodies.len() - MOST_ROWS);
    }
    struck(&mut text, &r.contacts);
    if let Some(h) = r.halvings.iter().max_by_key(|h| h.times) {
        let all: usize = r.halvings.iter().map(|h| h.times).sum();
        _ = writeln!(
            text,
            "  {all} steps were too long and taken in halves; most of them, {}, for {} ({}), frames {:.1} to {:.1}",
            h.times, h.node, h.because, h.frames[0], h.frames[1]
        );
    }
    _ = writeln!(
        text,
        "  {} keys for {} samples, within {} and {:.3} deg",
        r.keys,
        r.samples,
        number(r.max_fit_error),
        r.max_fit_error_deg
    );
    if let Some(turn) = &r.looped {
        let gap = |g: &Gap| {
            let velocity = g.velocity_percent.map_or(String::new(), |v| format!(", velocity {v:.2} %"));
            format!("{:.3} deg, {}{velocity}", g.angle_deg, number(g.distance))
        };
        _ = writeln!(
            text,
            "  loop: its ends were apart by {}; after {} turns by {}; now by {}",
            gap(&turn.first),
            turn.turns,
            gap(&turn.before),
            gap(&turn.after)
        );
    }
    if let Some(apart) = r.steps_apart {
        _ = writeln!(text, "  with other substeps {} apart at most", number(apart));
    }
    warnings(&mut text, &r.warnings);
    r.hints.iter().for_each(|h| _ = writeln!(text, "  hint: {h}"));
    let t = &r.timings;
    _ = writeln!(
        text,
        "  {:.0} ms, of which {:.0} simulating; set-up: {}",
        t.total_s() * 1e3,
        t.simulate_s * 1e3,
        r.setup
    );
    let also =
        r.additive.as_ref().filter(|a| **a != r.name).map_or(String::new(), |a| format!(" and \"{a}\""));
    _ = writeln!(text, "wrote clip \"{}\"{also} to {}", r.name, r.output.as_deref().unwrap_or("memory"));
    if let Some(plot) = &r.plot {
        _ = writeln!(text, "drew it in {plot}");
    }
    if let Some(file) = &r.contacts_file {
        _ = writeln!(text, "wrote its contacts to {file}");
    }
    text
}

/// Who struck whom, the hardest first.
fn struck(text: &mut String, contacts: &Touching) {
    struct Pair<'a> {
        of: [&'a str; 2],
        count: usize,
        hardest: (f64, f64),
    }
    let mut pairs: Vec<Pair> = Vec::new();
    let mut known: HashMap<[&str; 2], usize> = HashMap::new();
    for s in &contacts.strikes {
        let of = [s.a.as_str(), s.b.as_str()];
        let i = *known.entry(of).or_insert_with(|| {
            pairs.push(Pair { of, count: 0, hardest: (f64::NEG_INFINITY, 0.0) });
            pairs.len() - 1
        });
        let pair = &mut pairs[i];
        pair.count += 1;
        if s.impulse_ns > pair.hardest.0 {
            pair.hardest = (s.impulse_ns, s.frame);
        }
    }
    pairs.sort_by(|a, b| b.hardest.0.total_cmp(&a.hardest.0));
    for Pair { of: [a, b], count, hardest: (impulse, frame) } in pairs.iter().take(MOST_PAIRS) {
        // Floors strike nobody.
        let moves = contacts.bodies.iter().any(|body| body.node == *a);
        let (who, whom) = if moves { (a, b) } else { (b, a) };
        let impulse = number(*impulse);
        _ = match count {
            1 => writeln!(text, "  {who} struck {whom} once, {impulse} N s at frame {frame:.1}"),
            n => writeln!(text, "  {who} struck {whom} {n} times, hardest {impulse} N s at frame {frame:.1}"),
        };
    }
    if pairs.len() > MOST_PAIRS {
        _ = writeln!(
            text,
            "  and {} more pairs struck each other (--json lists all)",
            pairs.len() - MOST_PAIRS
        );
    }
}

/// A few lines on an assembly.
pub fn assembly(r: &AssemblyReport) -> String {
    let mut text = String::new();
    let what = match &r.clip {
        Some(clip) => format!("clip \"{clip}\", {} frames", r.frames),
        None => "pose".into(),
    };
    _ = writeln!(text, "{}: {what}, {} bodies on {} joints", r.scene, r.bodies.len(), r.joints.len());
    let width = r.bodies.iter().take(MOST_ROWS).map(|b| b.node.len()).max().unwrap_or(0);
    for b in r.bodies.iter().take(MOST_ROWS) {
        let (moved, turned) = (number(b.max_moved), b.max_turned_deg);
        _ = writeln!(text, "  {:width$}  moved {moved:>9} at most, turned {turned:.1} deg", b.node);
    }
    if r.bodies.len() > MOST_ROWS {
        _ = writeln!(text, "  and {} more (--json lists all)", r.bodies.len() - MOST_ROWS);
    }
    let worst = |of: fn(&sinew_plugin::job::JointClosed) -> f64| r.joints.iter().map(of).fold(0.0, f64::max);
    _ = writeln!(
        text,
        "  joints open by {} before, {} after",
        number(worst(|j| j.opening_before)),
        number(worst(|j| j.max_opening))
    );
    warnings(&mut text, &r.warnings);
    _ = match &r.name {
        Some(name) => writeln!(text, "wrote clip \"{name}\" to {}", r.output),
        None => writeln!(text, "wrote the pose to {}", r.output),
    };
    if let Some(plot) = &r.plot {
        _ = writeln!(text, "drew it in {plot}");
    }
    text
}

/// A few lines on a set-up that was written into a scene.
pub fn physics(r: &PhysicsReport) -> String {
    let mut text = String::new();
    _ = writeln!(text, "{}: {} bodies, {} joints; set-up: {}", r.scene, r.bodies, r.joints, r.setup);
    warnings(&mut text, &r.warnings);
    _ = writeln!(text, "wrote them as {} to {}", r.physics, r.output);
    text
}

/// What is in a scene.
pub fn inspection(i: &Inspection) -> String {
    let mut text = String::new();
    _ = writeln!(text, "{}: {} nodes, {} meshes, {} skins", i.scene, i.nodes, i.meshes, i.skins);
    for (k, c) in i.clips.iter().enumerate() {
        let [t, r, s, w] = c.curves;
        _ = writeln!(
            text,
            "  clip #{k} \"{}\": {:.3} to {:.3} s, {} keys on {t} translations, {r} rotations, {s} scales, {w} weights",
            c.name, c.start_s, c.end_s, c.keys
        );
    }
    if let (Some(fps), Some([first, last])) = (i.frames_per_second, i.frames) {
        _ = writeln!(
            text,
            "would bake frames {first} to {last} at {fps} fps, {} m per unit; set-up: {}",
            i.metres_per_unit, i.setup
        );
    }
    for b in &i.bodies {
        _ = writeln!(
            text,
            "  {} {} kg ({}), answers at {:.0} rad/s, B {:.2}, base distance {}{}",
            b.node,
            number(b.mass_kg),
            b.mass_from,
            b.answers_at_rad_per_s,
            b.damping,
            number(b.base_distance),
            b.because.as_ref().map_or(String::new(), |w| format!(": {w}")),
        );
        if let Some(collider) = &b.collider {
            _ = writeln!(text, "    touches as {collider}");
        }
    }
    for o in &i.obstacles {
        let moved = o.moved_by.as_ref().map_or("stands".into(), |by| format!("moves with {by}"));
        _ = writeln!(text, "  {} is in the way and {moved}; touches as {}", o.node, o.collider);
    }
    for n in &i.left_alone {
        _ = writeln!(text, "  {} {}", n.node, n.because);
    }
    for remark in &i.remarks {
        _ = writeln!(text, "  {remark}");
    }
    warnings(&mut text, &i.warnings);
    text
}

fn warnings(text: &mut String, all: &[String]) {
    for w in all {
        _ = writeln!(text, "  warning: {w}");
    }
}

/// Four figures, whatever the size.
fn number(v: f64) -> String {
    match v.abs() {
        0.0 => "0".into(),
        a if !(1e-4..1e6).contains(&a) => format!("{v:.3e}"),
        a => format!("{v:.*}", (3 - a.log10().floor() as i32).max(0) as usize),
    }
}
