//! The set-up file as people read it: what is as by default is left out, and what fits on a line is on one.

use super::{Behaviour, Body, Group, Setup, World};
use serde_json::{Map, Value, to_value};

/// Lines are at most this long where they can be broken.
const WIDTH: usize = 110;

/// What an animator turns first, of the world, of groups and of guided bodies: written out to be edited, although it is
/// as by default.
const SLIDERS: [&str; 9] = [
    "gravity_scale",
    "time_scale",
    "strength",
    "damping",
    "compensation",
    "blend",
    "behaviour",
    "timing",
    "preset",
];

/// A set-up as short as it reads the same.
pub fn to_text(setup: &Setup) -> String {
    text(setup, &[])
}

/// The same set-up with its sliders there to be edited. Where there are no groups, what is guided gets one, so that a single
/// number changes all of it.
pub fn to_text_with_sliders(setup: &Setup) -> String {
    let mut setup = setup.clone();
    if setup.groups.is_empty() {
        let mut guided = setup.bodies.iter_mut().filter(|b| b.behaviour == Behaviour::Guided).peekable();
        if guided.peek().is_some() {
            guided.for_each(|b| b.groups.push(EVERYTHING.into()));
            setup.groups.push(Group::new(EVERYTHING, 1.0));
        }
    }
    text(&setup, &SLIDERS)
}

/// The group of all that is guided, where nothing else is grouped.
const EVERYTHING: &str = "all";

/// A set-up without what is as by default, but for `keep`.
fn text(setup: &Setup, keep: &[&str]) -> String {
    let mut value = to_value(setup).unwrap_or_default();
    let default = to_value(Setup::default()).unwrap_or_default();
    if let Some(world) = value.get_mut("world") {
        strip(world, &to_value(World::default()).unwrap_or_default(), keep);
    }
    let each = |list: Option<&mut Value>, plain: Value| {
        for item in list.and_then(Value::as_array_mut).into_iter().flatten() {
            // What is not guided has no muscles to set.
            let idle = item.get("behaviour").is_some_and(|b| b != "guided");
            strip(item, &plain, if idle { &[] } else { keep });
        }
    };
    each(value.get_mut("bodies"), to_value(Body::new("")).unwrap_or_default());
    each(value.get_mut("groups"), to_value(Group::new("", 1.0)).unwrap_or_default());
    if let Some(bake) = value.get_mut("bake") {
        strip(bake, &default["bake"], &[]);
    }
    if let Value::Object(map) = &mut value {
        map.retain(|_, v| {
            !matches!(v, Value::Object(m) if m.is_empty()) && !matches!(v, Value::Array(a) if a.is_empty())
        });
    }
    let mut text = String::new();
    write(&value, 0, 0, &mut text);
    text.push('\n');
    text
}

/// Removes what is as in `plain` and not in `keep`. Objects with a `kind` are one value, and so are names.
fn strip(value: &mut Value, plain: &Value, keep: &[&str]) {
    let (Value::Object(map), Value::Object(plain)) = (value, plain) else { return };
    let mut kept = Map::new();
    for (key, mut inner) in std::mem::take(map) {
        match plain.get(&key) {
            _ if keep.contains(&key.as_str()) => {}
            Some(same) if *same == inner && !has(&inner, keep) => continue,
            Some(same) if inner.get("kind").is_none() => strip(&mut inner, same, keep),
            _ => {}
        }
        kept.insert(key, inner);
    }
    *map = kept;
}

/// Whether an object has one of these fields.
fn has(value: &Value, fields: &[&str]) -> bool {
    fields.iter().any(|f| value.get(f).is_some())
}

/// Writes a value at an indent, the first line of which has `used` characters already.
fn write(value: &Value, indent: usize, used: usize, text: &mut String) {
    let line = one_line(value);
    let long = indent + used + line.len() > WIDTH;
    let inner = indent + 2;
    let mut items = |items: Vec<(String, &Value)>, open: char, close: char| {
        text.push(open);
        for (i, (key, item)) in items.into_iter().enumerate() {
            text.push_str(if i > 0 { ",\n" } else { "\n" });
            text.extend(std::iter::repeat_n(' ', inner));
            text.push_str(&key);
            write(item, inner, key.len() + 1, text);
        }
        text.push('\n');
        text.extend(std::iter::repeat_n(' ', indent));
        text.push(close);
    };
    match value {
        // The whole and its lists are never on one line, however short.
        Value::Object(map) if long || indent == 0 => {
            items(map.iter().map(|(k, v)| (format!("{}: ", Value::from(k.as_str())), v)).collect(), '{', '}');
        }
        Value::Array(list) if (long || indent <= 2) && list.iter().any(Value::is_object) => {
            items(list.iter().map(|v| (String::new(), v)).collect(), '[', ']');
        }
        _ => text.push_str(&line),
    }
}

fn one_line(value: &Value) -> String {
    let join = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::Object(map) if map.is_empty() => "{}".into(),
        Value::Object(map) => {
            let entry = |(k, v): (&String, &Value)| format!("{}: {}", Value::from(k.as_str()), one_line(v));
            format!("{{ {} }}", join(map.iter().map(entry).collect()))
        }
        Value::Array(list) => format!("[{}]", join(list.iter().map(one_line).collect())),
        // 1.0 and 1 are the same number.
        Value::Number(n) => n
            .as_f64()
            .filter(|v| v.fract() == 0.0 && v.abs() < 1e15)
            .map_or(n.to_string(), |v| format!("{v}")),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::{Keyable, Shape, from_json};

    #[test]
    fn the_short_form_reads_as_the_same() {
        let mut setup = Setup::default();
        assert_eq!(to_text(&setup), "{\n  \"sinew\": 1\n}\n");
        let mut body = Body::new("Ball \"1\"");
        body.shape = Shape::Sphere { radius: Some(2.0) };
        body.actuator.alpha = Some(Keyable::Constant(0.25));
        body.guide.space = crate::setup::Space::Parent;
        setup.bodies = vec![body.clone(), Body::new("B")];
        setup.groups.push(Group::new("g", 2.5));
        setup.world.metres_per_unit = 0.01;
        setup.bake.frames = Some([0.0, 5.0]);
        let text = to_text(&setup);
        assert_eq!(from_json(&text).unwrap(), setup, "{text}");
        assert!(text.contains("{ \"node\": \"B\" }") && !text.contains("gravity"), "{text}");
        assert!(text.contains("\"kind\": \"sphere\", \"radius\": 2"), "{text}");
    }

    #[test]
    fn sliders_are_there_to_be_edited() {
        let wall = Body { behaviour: Behaviour::Static, ..Body::new("Wall") };
        let mut setup = Setup { bodies: vec![Body::new("Ball"), wall], ..Setup::default() };
        let text = to_text_with_sliders(&setup);
        for slider in SLIDERS {
            assert_eq!(
                text.matches(&format!("\"{slider}\"")).count(),
                if slider == "behaviour" { 2 } else { 1 },
                "{text}"
            );
        }
        let mut read = from_json(&text).unwrap();
        assert_eq!(read.groups.remove(0), Group::new("all", 1.0));
        assert_eq!(read.bodies[0].groups.pop().as_deref(), Some("all"));
        assert_eq!(read, setup);
        // Groups that are there already are the sliders.
        setup.groups.push(Group::new("legs", 0.6));
        assert_eq!(from_json(&to_text_with_sliders(&setup)).unwrap(), setup);
    }
}
