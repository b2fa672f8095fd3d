//! Places in a set-up, as `bodies/Ball/actuator/alpha`.
//!
//! A set-up is changed as the JSON of its file and read again as if from that file: so every place of the format
//! can be reached, the checks are the same, and a misspelt place is answered with the one that was meant.

use crate::result::{Fault, SINEW_BAD_SETUP};
use serde_json::{Map, Value};
use sinew_core::setup::{self, Setup, nearest};

/// What to do at a place.
pub(crate) enum Step {
    Set(Value),
    Remove,
}

/// The set-up with one place changed.
pub(crate) fn changed(setup: &Setup, place: &str, step: Step) -> Result<Setup, Fault> {
    let mut whole = value(setup)?;
    let mut parts = parts(place);
    let last = parts.pop().unwrap_or_default();
    let mut at = &mut whole;
    for part in &parts {
        at = match at {
            Value::Object(map) => map.entry(part.as_str()).or_insert_with(|| Value::Object(Map::new())),
            Value::Array(items) => {
                let index = index(items, part, place)?;
                &mut items[index]
            }
            _ => return Err(nothing(place, part, "what stands before it has no parts")),
        };
    }
    match (at, step) {
        (Value::Object(map), Step::Set(value)) => {
            map.insert(last, value);
        }
        (Value::Object(map), Step::Remove) => {
            map.shift_remove(&last).ok_or_else(|| nothing(place, &last, "there is nothing to remove"))?;
        }
        (Value::Array(items), Step::Set(value)) => {
            let index = index(items, &last, place)?;
            items[index] = value;
        }
        (Value::Array(items), Step::Remove) => {
            let index = index(items, &last, place)?;
            items.remove(index);
        }
        _ => return Err(nothing(place, &last, "what stands before it has no parts")),
    }
    setup::from_json(&whole.to_string()).map_err(|e| Fault::new(SINEW_BAD_SETUP, format!("{place}: {e}")))
}

/// What is at a place.
pub(crate) fn found(setup: &Setup, place: &str) -> Result<Value, Fault> {
    let mut at = value(setup)?;
    for part in parts(place) {
        at = match at {
            Value::Object(mut map) => map
                .shift_remove(&part)
                .ok_or_else(|| nothing(place, &part, "it is not set, so its default holds"))?,
            Value::Array(mut items) => {
                let index = index(&items, &part, place)?;
                items.swap_remove(index)
            }
            _ => return Err(nothing(place, &part, "what stands before it has no parts")),
        };
    }
    Ok(at)
}

fn value(setup: &Setup) -> Result<Value, Fault> {
    serde_json::from_str(&setup::to_json(setup)).map_err(|e| Fault::new(SINEW_BAD_SETUP, e.to_string()))
}

/// Between slashes; as in JSON pointers `~1` is a slash inside a name and `~0` a tilde.
fn parts(place: &str) -> Vec<String> {
    place.split('/').map(|part| part.replace("~1", "/").replace("~0", "~")).collect()
}

/// An item of a list: a body by its node, a group by its name, anything by its number.
fn index(items: &[Value], part: &str, place: &str) -> Result<usize, Fault> {
    let name = |item: &Value| item["node"].as_str().or(item["name"].as_str()).map(str::to_owned);
    let by_number = || part.parse::<usize>().ok().filter(|&i| i < items.len());
    items.iter().position(|item| name(item).is_some_and(|n| n == part)).or_else(by_number).ok_or_else(|| {
        let names: Vec<String> = items.iter().filter_map(name).collect();
        let hint = match nearest(part, names.iter().map(String::as_str)) {
            Some(name) => format!("did you mean \"{name}\"?"),
            None => format!("the list has {} entries", items.len()),
        };
        nothing(place, part, &hint)
    })
}

fn nothing(place: &str, part: &str, why: &str) -> Fault {
    Fault::new(SINEW_BAD_SETUP, format!("{place}: there is no \"{part}\"; {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use sinew_core::setup::{Body, Keyable, Limit, Preset};

    fn ball() -> Setup {
        Setup { bodies: vec![Body::new("Arm/Left"), Body::new("Ball")], ..Default::default() }
    }

    fn set(place: &str, value: Value) -> Result<Setup, String> {
        changed(&ball(), place, Step::Set(value)).map_err(|f| f.text)
    }

    #[test]
    fn bodies_are_found_by_name_and_by_number_and_missing_parts_are_made() {
        for place in ["bodies/Ball/actuator/alpha", "bodies/1/actuator/alpha"] {
            let setup = set(place, json!(0.25)).unwrap();
            assert_eq!(setup.bodies[1].actuator.alpha, Some(Keyable::Constant(0.25)));
            assert_eq!(setup.bodies[0], ball().bodies[0]);
        }
        let setup = set("bodies/Arm~1Left/actuator/max_force/absolute", json!(5)).unwrap();
        assert_eq!(setup.bodies[0].actuator.max_force, Some(Limit::Absolute(5.0.into())));
        assert_eq!(
            set("bodies/Ball/actuator/preset", json!("limp")).unwrap().bodies[1].actuator.preset,
            Preset::Limp
        );
        assert_eq!(set("world/substeps", json!(8)).unwrap().world.substeps, 8);
    }

    #[test]
    fn what_is_misspelt_is_named_with_what_was_meant() {
        let e = set("bodies/Bal/actuator/alpha", json!(1)).unwrap_err();
        assert!(e.contains("\"Bal\"") && e.contains("did you mean \"Ball\"?"), "{e}");
        let e = set("bodies/Ball/actuator/alhpa", json!(1)).unwrap_err();
        assert!(e.contains("did you mean \"alpha\"?"), "{e}");
        let e = set("bodies/Ball/actuator/alpha/x/y", json!(1)).unwrap_err();
        assert!(e.contains("bodies[1].actuator.alpha"), "{e}");
        assert!(set("bodies/Ball/node/x", json!(1)).is_err());
        assert!(set("", json!(1)).is_err());
    }

    #[test]
    fn removing_gives_the_default_back() {
        let setup = set("bodies/Ball/mass", json!(2.5)).unwrap();
        assert_eq!(found(&setup, "bodies/Ball/mass").unwrap(), json!(2.5));
        assert_eq!(changed(&setup, "bodies/Ball/mass", Step::Remove).unwrap(), ball());
        assert_eq!(changed(&setup, "bodies/Ball", Step::Remove).unwrap().bodies.len(), 1);
        assert!(found(&ball(), "bodies/Ball/mass").is_err());
        assert!(changed(&ball(), "bodies/Ball/mass", Step::Remove).is_err());
    }
}
