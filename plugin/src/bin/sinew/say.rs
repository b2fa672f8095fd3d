//! Results for people and as JSON.

use serde::Serialize;
use sinew_core::cycle::Gap;
use sinew_core::motion::Touching;
use sinew_plugin::job::{AssemblyReport, Inspection, JobError, PhysicsReport, Report};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write as _;

/// What readers that drop tangents are off by is said from here on, degrees.
const SEEN_DEG: f64 = 0.5;

/// Bodies listed before the rest is only counted.
const MOST_ROWS: usize = 12;
/// Pairs that struck each other, likewise.
const MOST_PAIRS: usize = 5;

/// Prints a report. Fails where it is lost; a person who has seen enough (`sinew … | head`) loses nothing.
pub fn print(text: &str) -> Result<(), JobError> {
    match out(text) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(lost(error)),
        _ => Ok(()),
    }
}

/// Prints what another program reads. Fails where any of it is lost.
pub fn print_data(text: &str) -> Result<(), JobError> {
    out(text).map_err(lost)
}

fn out(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(harmless(text).as_bytes()).and_then(|()| out.flush())
}

fn lost(error: std::io::Error) -> JobError {
    JobError::Io { file: "standard output".into(), error }
}

/// Says something on standard error, where somebody may listen or not.
pub fn tell(text: &str) {
    let mut out = std::io::stderr().lock();
    let _ = writeln!(out, "{}", harmless(text));
}

/// A text without what moves a terminal's cursor, paints it, or turns the direction of writing: names come from files.
/// Written as in JSON, so that JSON stays the same.
fn harmless(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}');
        match (c.is_control() && c != '\n') || turns {
            true => _ = write!(out, "\\u{:04x}", u32::from(c)),
            false => out.push(c),
        }
    }
    out
}

/// Prints a report for people, or as JSON.
pub fn report<T: Serialize>(of: &T, as_json: bool, text: impl FnOnce(&T) -> String) -> Result<(), JobError> {
    if as_json { print_data(&json(of)) } else { print(&text(of)) }
}

/// `value` as JSON.
pub fn json(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

/// A number of things: `1 body`, `2 bodies`.
pub fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// A few lines on a bake.
pub fn bake(r: &Report) -> String {
    let mut text = String::new();
    let shot = (r.frames.saturating_sub(1)) as f64 / r.frames_per_second;
    _ = writeln!(
        text,
        "{}: {}, {} at {} fps ({shot:.2} s)",
        r.scene,
        led(r),
        count(r.frames, "frame", "frames"),
        r.frames_per_second,
    );
    let width = r.bodies.iter().take(MOST_ROWS).map(|b| b.node.len()).max().unwrap_or(0);
    for b in r.bodies.iter().take(MOST_ROWS) {
        let pulled = match b.saturated_frames {
            0 => String::new(),
            n => format!(", at its limit in {}", count(n, "frame", "frames")),
        };
        _ = writeln!(
            text,
            "  {:width$}  at most {:>9} units off the keys (frame {}) and {:.1} deg, peak {}{pulled}",
            b.node,
            number(b.max_distance),
            r.first_frame + b.max_distance_frame as f64,
            b.max_angle_deg,
            // Bones are only turned.
            match b.peak_force_n {
                0.0 => format!("torque {} N m", number(b.peak_torque_nm)),
                force => format!("force {} N", number(force)),
            },
        );
    }
    if r.bodies.len() > MOST_ROWS {
        _ = writeln!(text, "  and {} more (--json lists them all)", r.bodies.len() - MOST_ROWS);
    }
    struck(&mut text, &r.contacts);
    if let Some(h) = r.halvings.iter().max_by_key(|h| h.times) {
        let all: usize = r.halvings.iter().map(|h| h.times).sum();
        _ = writeln!(
            text,
            "  {} too long and had to be halved,{} for {} ({}), frames {:.1} to {:.1}",
            count(all, "step was", "steps were"),
            if h.times == all { String::new() } else { format!(" {} of them", h.times) },
            h.node,
            h.because,
            h.frames[0],
            h.frames[1]
        );
    }
    _ = writeln!(
        text,
        "  {} for {} samples, within {} units and {:.3} deg",
        count(r.keys, "key", "keys"),
        r.samples,
        number(r.max_fit_error),
        r.max_fit_error_deg
    );
    if r.straight_error_deg > SEEN_DEG {
        _ = writeln!(
            text,
            "  a reader that drops tangents, such as Blender's importer of glTF, is off by up to {:.1} deg; --keys blender is not",
            r.straight_error_deg
        );
    }
    if let Some(turn) = &r.looped {
        let gap = |g: &Gap| {
            let velocity = g.velocity_percent.map_or(String::new(), |v| format!(", velocity {v:.2} %"));
            format!("{:.3} deg, {}{velocity}", g.angle_deg, number(g.distance))
        };
        _ = writeln!(
            text,
            "  loop: its ends were {} apart, after {} {}, now {}",
            gap(&turn.first),
            count(turn.turns, "cycle", "cycles"),
            gap(&turn.before),
            gap(&turn.after)
        );
    }
    if let Some(apart) = r.steps_apart {
        _ = writeln!(text, "  with uneven substeps at most {} units different", number(apart));
    }
    warnings(&mut text, &r.warnings);
    r.hints.iter().for_each(|h| _ = writeln!(text, "  hint: {h}"));
    let t = &r.timings;
    _ = writeln!(
        text,
        "  took {:.0} ms, {:.0} of them simulating; {}",
        t.total_s() * 1e3,
        t.simulate_s * 1e3,
        set_up(&r.setup)
    );
    let also =
        r.additive.as_ref().filter(|a| **a != r.name).map_or(String::new(), |a| format!(" and \"{a}\""));
    _ = writeln!(text, "wrote clip \"{}\"{also} to {}", r.name, r.output.as_deref().unwrap_or("memory"));
    if let Some(plot) = &r.plot {
        _ = writeln!(text, "wrote a picture to {plot}");
    }
    if let Some(file) = &r.playblast {
        _ = writeln!(text, "wrote a playblast to {file}; open it in a browser");
    }
    if let Some(file) = &r.contacts_file {
        _ = writeln!(text, "wrote the contacts to {file}");
    }
    text
}

/// Where the set-up came from.
fn set_up(from: &str) -> String {
    match from {
        "automatic set-up" => "set up automatically from the keys".into(),
        "physics of the scene" => "set up by the physics in the scene".into(),
        file => format!("set-up: {file}"),
    }
}

/// What leads the bodies.
fn led(r: &Report) -> String {
    let guided = r.bodies.iter().filter(|b| b.guided).count();
    let bodies = count(r.bodies.len(), "body", "bodies");
    match (r.clip.is_empty(), guided) {
        (true, 0) => format!("no clip to follow, {bodies} simulated"),
        (true, n) => format!("no clip, {n} of {bodies} guided"),
        (false, n) => format!("clip \"{}\" guides {n} of {bodies}", r.clip),
    }
}

/// Who hit whom, the hardest first.
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
            1 => writeln!(text, "  {who} hit {whom} once, {impulse} N s at frame {frame:.1}"),
            n => writeln!(text, "  {who} hit {whom} {n} times, hardest {impulse} N s at frame {frame:.1}"),
        };
    }
    if pairs.len() > MOST_PAIRS {
        _ = writeln!(
            text,
            "  and {} hit each other (--json lists them all)",
            count(pairs.len() - MOST_PAIRS, "more pair", "more pairs")
        );
    }
}

/// A few lines on an assembly.
pub fn assembly(r: &AssemblyReport) -> String {
    let mut text = String::new();
    let what = match &r.clip {
        Some(clip) => format!("clip \"{clip}\", {}", count(r.frames, "frame", "frames")),
        None => "pose".into(),
    };
    let (bodies, joints) =
        (count(r.bodies.len(), "body", "bodies"), count(r.joints.len(), "joint", "joints"));
    _ = writeln!(text, "{}: {what}, {bodies} on {joints}", r.scene);
    let width = r.bodies.iter().take(MOST_ROWS).map(|b| b.node.len()).max().unwrap_or(0);
    for b in r.bodies.iter().take(MOST_ROWS) {
        let (moved, turned) = (number(b.max_moved), b.max_turned_deg);
        _ = writeln!(text, "  {:width$}  moved at most {moved:>9} units, turned {turned:.1} deg", b.node);
    }
    if r.bodies.len() > MOST_ROWS {
        _ = writeln!(text, "  and {} more (--json lists them all)", r.bodies.len() - MOST_ROWS);
    }
    let worst = |of: fn(&sinew_plugin::job::JointClosed) -> f64| r.joints.iter().map(of).fold(0.0, f64::max);
    _ = writeln!(
        text,
        "  joints were open by {} units at most, and are by {} now",
        number(worst(|j| j.opening_before)),
        number(worst(|j| j.max_opening))
    );
    warnings(&mut text, &r.warnings);
    _ = match &r.name {
        Some(name) => writeln!(text, "wrote clip \"{name}\" to {}", r.output),
        None => writeln!(text, "wrote the pose to {}", r.output),
    };
    if let Some(plot) = &r.plot {
        _ = writeln!(text, "wrote a picture to {plot}");
    }
    text
}

/// A few lines on a set-up that was written into a scene.
pub fn physics(r: &PhysicsReport) -> String {
    let mut text = String::new();
    let (bodies, joints) = (count(r.bodies, "body", "bodies"), count(r.joints, "joint", "joints"));
    _ = writeln!(text, "{}: {bodies}, {joints}; {}", r.scene, set_up(&r.setup));
    warnings(&mut text, &r.warnings);
    _ = writeln!(text, "wrote them as {} to {}", r.physics, r.output);
    text
}

/// What is in a scene.
pub fn inspection(i: &Inspection) -> String {
    let mut text = String::new();
    let [nodes, meshes, skins] =
        [(i.nodes, "node"), (i.meshes, "mesh"), (i.skins, "skin")].map(|(n, one)| {
            let many = if one == "mesh" { "meshes".to_owned() } else { format!("{one}s") };
            count(n, one, &many)
        });
    _ = writeln!(text, "{}: {nodes}, {meshes}, {skins}", i.scene);
    for (k, c) in i.clips.iter().enumerate() {
        let [t, r, s, w] = c.curves;
        _ = writeln!(
            text,
            "  clip #{k} \"{}\": {:.3} to {:.3} s, {}; curves: {t} translation, {r} rotation, {s} scale, {w} weights",
            c.name,
            c.start_s,
            c.end_s,
            count(c.keys, "key", "keys")
        );
    }
    if let (Some(fps), Some([first, last])) = (i.frames_per_second, i.frames) {
        _ = writeln!(
            text,
            "would bake frames {first} to {last} at {fps} fps; a unit is {} m; {}",
            i.metres_per_unit,
            set_up(&i.setup)
        );
    }
    for b in &i.bodies {
        _ = writeln!(
            text,
            "  {} {} kg ({}), responds at {:.0} rad/s, damping {:.2}, base distance {}{}",
            b.node,
            number(b.mass_kg),
            b.mass_from,
            b.answers_at_rad_per_s,
            b.damping,
            number(b.base_distance),
            b.because.as_ref().map_or(String::new(), |w| format!(": {w}")),
        );
        if let Some(collider) = &b.collider {
            _ = writeln!(text, "    collides as {collider}");
        }
    }
    for o in &i.obstacles {
        let moved = o.moved_by.as_ref().map_or("stands still".into(), |by| format!("moves with {by}"));
        _ = writeln!(text, "  {} is an obstacle that {moved}; collides as {}", o.node, o.collider);
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
