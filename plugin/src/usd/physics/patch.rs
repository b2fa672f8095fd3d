//! What a set-up says and UsdPhysics cannot, in attributes of the namespace `sinew:`.
//!
//! Each holds a JSON object of two parts: `was`, what UsdPhysics said where the set-up says something else, and `is`, what
//! the set-up says there (`null`: nothing). Reading takes `is` in place of what is still as it `was`; where somebody
//! has changed the physics since, their value stays. On a body's prim it is `sinew:body`, on a joint's `sinew:joint`, on the
//! physics scene `sinew:setup` for everything else. The scene also has `sinew:bodies` and `sinew:joints`, which list paths
//! in the order of the set-up; what no prim stands for is there as JSON.

use super::Facts;
use crate::usd::Document;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use sinew_core::setup::{Body, Joint, Setup, SetupError};
use std::collections::HashMap;

/// What makes `to` of `from`, as text; `None` when they are the same.
pub(super) fn difference(from: &impl Serialize, to: &impl Serialize) -> Option<String> {
    let value = |of: Result<Value, serde_json::Error>| of.unwrap_or(Value::Null);
    let (from, to) = (value(serde_json::to_value(from)), value(serde_json::to_value(to)));
    let (was, is) = differ(&from, &to)?;
    Some(json!({ "was": was, "is": is }).to_string())
}

/// The parts in which two values differ: of the first, of the second.
fn differ(from: &Value, to: &Value) -> Option<(Value, Value)> {
    let (Value::Object(a), Value::Object(b)) = (from, to) else {
        return (from != to).then(|| (from.clone(), to.clone()));
    };
    let (mut was, mut is) = (Map::new(), Map::new());
    let mut keys: Vec<&String> = a.keys().chain(b.keys().filter(|k| !a.contains_key(*k))).collect();
    keys.dedup();
    for key in keys {
        let null = Value::Null;
        if let Some((x, y)) = differ(a.get(key).unwrap_or(&null), b.get(key).unwrap_or(&null)) {
            was.insert(key.clone(), x);
            is.insert(key.clone(), y);
        }
    }
    (!was.is_empty()).then(|| (Value::Object(was), Value::Object(is)))
}

/// Puts `is` where `value` is still as it `was`.
fn restore(value: &mut Value, was: &Value, is: &Value) {
    match (value.is_object(), was, is) {
        (true, Value::Object(was), Value::Object(is)) => {
            let Value::Object(map) = value else { return };
            for (key, is) in is {
                let was = was.get(key).unwrap_or(&Value::Null);
                let mut inner = map.get(key).cloned().unwrap_or(Value::Null);
                restore(&mut inner, was, is);
                match inner {
                    Value::Null => {
                        map.shift_remove(key);
                    }
                    inner => {
                        map.insert(key.clone(), inner);
                    }
                }
            }
        }
        _ if value == was => *value = is.clone(),
        _ => {}
    }
}

/// A value with a difference taken back.
fn patched<T: Serialize + DeserializeOwned>(of: &T, text: &str, place: &str) -> Result<T, SetupError> {
    let bad = |e: serde_json::Error| {
        SetupError::new(place, format!("is no such JSON ({e}); remove it or write it anew"))
    };
    let patch: Value = serde_json::from_str(text).map_err(bad)?;
    let mut value = serde_json::to_value(of).map_err(bad)?;
    restore(&mut value, &patch["was"], &patch["is"]);
    serde_json::from_value(value).map_err(bad)
}

/// Things in the order of a list of paths and JSON; what the list does not have comes last.
fn ordered<T: DeserializeOwned>(
    things: Vec<(String, T)>,
    list: &[String],
    place: &str,
) -> Result<Vec<T>, SetupError> {
    let mut things: Vec<Option<(String, T)>> = things.into_iter().map(Some).collect();
    let index: HashMap<String, usize> =
        things.iter().enumerate().filter_map(|(i, t)| Some((t.as_ref()?.0.clone(), i))).collect();
    let mut out = Vec::new();
    for entry in list {
        if entry.starts_with('{') {
            let bad =
                |e| SetupError::new(place, format!("is no such JSON ({e}); remove it or write it anew"));
            out.push(serde_json::from_str(entry).map_err(bad)?);
        } else if let Some((_, thing)) = index.get(entry).and_then(|&i| things[i].take()) {
            out.push(thing);
        }
    }
    out.extend(things.into_iter().flatten().map(|t| t.1));
    Ok(out)
}

/// What a set-up calls the joint of a prim: as the namespace says, or by the prim's own name.
pub(super) fn joint_name(path: &str, patch: Option<&String>) -> String {
    let said = patch.and_then(|text| serde_json::from_str::<Value>(text).ok());
    let said = said.and_then(|p| p["is"]["name"].as_str().map(str::to_owned));
    said.unwrap_or_else(|| path.rsplit('/').next().unwrap_or(path).to_owned())
}

/// A set-up with all that the namespace adds to it.
pub(super) fn apply(document: &Document, facts: &Facts, mut setup: Setup) -> Result<Setup, SetupError> {
    let names = document.scene.by_name();
    let reference = |node: usize| document.scene.reference(&names, node);
    let own: HashMap<String, (&str, Option<&String>)> = facts
        .colliders
        .iter()
        .map(|c| (reference(c.node), (c.path.as_str(), c.patch.as_ref())))
        .chain(facts.bodies.iter().map(|b| (reference(b.node), (b.path.as_str(), b.patch.as_ref()))))
        .collect();
    let mut bodies: Vec<(String, Body)> = Vec::new();
    for body in std::mem::take(&mut setup.bodies) {
        let (path, patch) = own.get(&body.node).copied().unwrap_or(("", None));
        let body = match patch {
            Some(text) => patched(&body, text, &format!("<{path}.sinew:body>"))?,
            None => body,
        };
        bodies.push((path.to_owned(), body));
    }
    let mut joints: Vec<(String, Joint)> = Vec::new();
    for joint in std::mem::take(&mut setup.joints) {
        let name = joint.name.as_deref().unwrap_or_default();
        let fact = facts.joints.iter().find(|j| j.path == name || j.path.ends_with(&format!("/{name}")));
        let path = fact.map_or("", |f| f.path.as_str());
        let joint = match fact.and_then(|f| f.patch.as_ref()) {
            Some(text) => patched(&joint, text, &format!("<{path}.sinew:joint>"))?,
            None => joint,
        };
        joints.push((path.to_owned(), joint));
    }
    let Some(scene) = &facts.scene else {
        setup.bodies = bodies.into_iter().map(|b| b.1).collect();
        setup.joints = joints.into_iter().map(|j| j.1).collect();
        return Ok(setup);
    };
    if let Some(text) = &scene.setup {
        setup = patched(&setup, text, &format!("<{}.sinew:setup>", scene.path))?;
    }
    setup.bodies = ordered(bodies, &scene.bodies, &format!("<{}.sinew:bodies>", scene.path))?;
    setup.joints = ordered(joints, &scene.joints, &format!("<{}.sinew:joints>", scene.path))?;
    Ok(setup)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_changed_since_stays_and_the_rest_is_restored() {
        let said = json!({ "mass": 1.5, "shape": { "kind": "box", "size": [1, 1, 1] }, "name": "a" });
        let meant =
            json!({ "mass": 1.4, "shape": { "kind": "box" }, "guide": { "timing": "path" }, "name": "a" });
        let text = difference(&said, &meant).unwrap();
        assert_eq!(patched(&said, &text, "here").unwrap(), meant);
        let mut edited = said.clone();
        edited["mass"] = json!(7.0);
        let found = patched(&edited, &text, "here").unwrap();
        assert_eq!(found["mass"], json!(7.0));
        assert_eq!(found["guide"], meant["guide"]);
        assert!(difference(&said, &said).is_none());
    }
}
