//! The set-up file as text: JSON in and out, errors that say where and what was probably meant, the schema.

use super::{Setup, VERSION};

/// Why a set-up cannot be used: what, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct SetupError {
    /// Where: a path into the set-up such as `bodies[2].actuator.alpha`, or a line and column.
    pub place: String,
    /// What is wrong and what to do about it.
    pub problem: String,
}

impl SetupError {
    /// An error at a place.
    pub fn new(place: impl Into<String>, problem: impl Into<String>) -> Self {
        SetupError { place: place.into(), problem: problem.into() }
    }
}

/// Reads a set-up. Unknown fields are refused by name, with the nearest known one.
pub fn from_json(text: &str) -> Result<Setup, SetupError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut json = serde_json::Deserializer::from_str(text);
    let setup: Setup = serde_path_to_error::deserialize(&mut json).map_err(|e| {
        let inner = e.inner();
        let at = format!("line {}, column {}", inner.line(), inner.column());
        let path = e.path().to_string();
        let place = if path == "." { at } else { format!("{path} ({at})") };
        let said = say(&path, &inner.to_string());
        SetupError::new(place, said)
    })?;
    json.end().map_err(|e| {
        SetupError::new(
            format!("line {}, column {}", e.line(), e.column()),
            "something follows the set-up; remove it",
        )
    })?;
    if setup.sinew != VERSION {
        return Err(SetupError::new(
            "sinew",
            format!(
                "this is set-up version {}, and this program reads version {VERSION}; update one of them",
                setup.sinew
            ),
        ));
    }
    Ok(setup)
}

/// Writes a set-up, readable and complete enough to edit.
pub fn to_json(setup: &Setup) -> String {
    let mut text = serde_json::to_string_pretty(setup).unwrap_or_default();
    text.push('\n');
    text
}

/// The JSON Schema of the set-up file.
pub fn schema() -> String {
    let mut schema = schemars::schema_for!(Setup);
    schema.insert("title".into(), "Sinew set-up".into());
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

/// Serde's message in words for people: the position is in the place already, and a misspelt name gets a proposal.
fn say(place: &str, message: &str) -> String {
    let message = message.rsplit_once(" at line ").map_or(message, |(m, _)| m);
    let mut quoted = message.split('`').skip(1).step_by(2);
    for what in ["unknown field", "unknown variant"] {
        if message.starts_with(what) {
            let wrong = quoted.next().unwrap_or_default();
            let known: Vec<&str> = quoted.collect();
            let noun = what.trim_start_matches("unknown ").replace("variant", "value");
            let proposal = match nearest(wrong, known.iter().copied()) {
                Some(name) => format!("did you mean \"{name}\"?"),
                None => format!("{}.", if noun == "field" { "remove it" } else { "take another" }),
            };
            return format!("unknown {noun} \"{wrong}\"; {proposal} Known here: {}", known.join(", "));
        }
    }
    // What serde calls things means nothing to an animator.
    for (technical, said) in [
        (
            "expected internally tagged enum",
            "expected an object with a \"kind\", such as {\"kind\": \"sphere\"} or {\"kind\": \"tcb\"}",
        ),
        (
            "expected value",
            "expected \"unlimited\", {\"absolute\": newtons} or {\"weights\": multiples of its weight}",
        ),
        ("missing field `sinew`", "the version is missing; write \"sinew\": 1 first"),
    ] {
        if message.contains(technical) && (technical != "expected value" || place.contains("max_")) {
            return said.to_string();
        }
    }
    message.to_string()
}

/// The known name nearest to a misspelt one, if one is near enough to be meant.
pub fn nearest<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let lower = wrong.to_lowercase();
    known
        .map(|name| (strsim::jaro_winkler(&lower, &name.to_lowercase()), name))
        .filter(|(score, _)| *score > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::{Body, Field, Keyable};

    #[test]
    fn a_misspelt_field_is_named_with_the_one_that_was_meant() {
        let e = from_json(r#"{"sinew":1,"bodies":[{"node":"A","actuator":{"alhpa":0.1}}]}"#).unwrap_err();
        let text = e.to_string();
        assert!(text.contains("bodies[0].actuator"), "{text}");
        assert!(text.contains("\"alhpa\"") && text.contains("did you mean \"alpha\"?"), "{text}");
    }

    #[test]
    fn a_misspelt_value_is_named_too() {
        let e = from_json(r#"{"sinew":1,"bodies":[{"node":"A","behaviour":"guded"}]}"#).unwrap_err();
        assert!(e.to_string().contains("did you mean \"guided\"?"), "{e}");
    }

    #[test]
    fn a_wrong_type_says_what_is_expected_and_where() {
        let e = from_json(r#"{"sinew":1,"bodies":[{"node":"A","actuator":{"alpha":"high"}}]}"#).unwrap_err();
        assert!(e.to_string().contains("bodies[0].actuator.alpha"), "{e}");
        assert!(e.to_string().contains("a number, or {\"keys\""), "{e}");
    }

    #[test]
    fn likely_slips_are_answered_with_the_right_form() {
        let body = |inside: &str| from_json(&format!(r#"{{"sinew":1,"bodies":[{{"node":"A",{inside}}}]}}"#));
        let force = body(r#""actuator":{"max_force":100}"#).unwrap_err().to_string();
        assert!(
            force.contains("bodies[0].actuator.max_force") && force.contains("\"absolute\": newtons"),
            "{force}"
        );
        let shape = body(r#""shape":"sphere""#).unwrap_err().to_string();
        assert!(shape.contains("{\"kind\": \"sphere\"}"), "{shape}");
        assert!(body(r#""shape":{"kind":"auto","radius":1}"#).is_err(), "no field is ignored");
        assert!(from_json("{}").unwrap_err().to_string().contains("\"sinew\": 1"));
        assert!(from_json("\u{feff}{\"sinew\":1,\"$schema\":\"x\"}").is_ok());
    }

    #[test]
    fn another_version_is_refused() {
        assert!(from_json(r#"{"sinew":2}"#).unwrap_err().to_string().contains("version 2"));
    }

    #[test]
    fn a_setup_survives_writing_and_reading() {
        let mut setup = Setup::default();
        let mut body = Body::new("Ball");
        body.actuator.alpha = Some(Keyable::Constant(0.25));
        setup.bodies.push(body);
        setup.world.fields.push(Field::Drag { rate: 0.5.into(), spin_rate: None, region: None });
        assert_eq!(from_json(&to_json(&setup)).unwrap(), setup);
    }
}
