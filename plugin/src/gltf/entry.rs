//! An object of the JSON document together with what messages call it.
//!
//! The document stays a [`Value`], so that whatever we do not understand is written back as it was; this is the
//! typed look at the few parts we need. Every look fails with the object's own name in the text.

use crate::error::Error;
use serde_json::{Map, Value};

/// Longest part of a name shown in a message. Names are the file's, so they may be of any length, and a clip's
/// name stands in front of each of its channels.
const NAME_SHOWN: usize = 60;

/// Largest magnitude of a number we take: glTF is single precision, and beyond it products overflow.
const LARGEST: f64 = f32::MAX as f64;

/// One object and its place, such as `node 4 "Tail"`.
#[derive(Clone)]
pub(super) struct Entry<'a> {
    map: &'a Map<String, Value>,
    place: String,
}

/// A name as messages show it: quoted, control characters escaped, not too long.
pub(super) fn quote(name: &str) -> String {
    let mut shown: String = name.chars().take(NAME_SHOWN).flat_map(char::escape_debug).collect();
    if name.chars().nth(NAME_SHOWN).is_some() {
        shown.push('…');
    }
    format!("\"{shown}\"")
}

impl<'a> Entry<'a> {
    /// The whole document.
    pub fn root(json: &'a Value) -> Result<Entry<'a>, Error> {
        match json.as_object() {
            Some(map) => Ok(Entry { map, place: String::new() }),
            None => Err(Error::input("the JSON is not an object; is this a glTF file?")),
        }
    }

    /// What messages call this object.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// A refusal that names this object.
    pub fn fault(&self, what: impl std::fmt::Display) -> Error {
        if self.place.is_empty() {
            Error::input(what.to_string())
        } else {
            Error::input(format!("{}: {what}", self.place))
        }
    }

    fn inside(&self, what: &str) -> String {
        if self.place.is_empty() { what.to_owned() } else { format!("{}, {what}", self.place) }
    }

    /// The raw value of a key.
    pub fn get(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key)
    }

    /// The object under a key.
    pub fn object(&self, key: &str) -> Result<Option<Entry<'a>>, Error> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Object(map)) => Ok(Some(Entry { map, place: self.inside(key) })),
            Some(_) => Err(self.fault(format!("`{key}` must be an object"))),
        }
    }

    /// The objects of an array, empty when the key is absent. `noun` is what one of them is called.
    pub fn list(&self, key: &str, noun: &str) -> Result<Vec<Entry<'a>>, Error> {
        let items = match self.get(key) {
            None => return Ok(Vec::new()),
            Some(Value::Array(items)) => items,
            Some(_) => return Err(self.fault(format!("`{key}` must be an array"))),
        };
        let entry = |(i, item): (usize, &'a Value)| {
            let mut place = self.inside(&format!("{noun} {i}"));
            let Some(map) = item.as_object() else {
                return Err(Error::input(format!("{place}: must be an object")));
            };
            if let Some(name) = map.get("name").and_then(Value::as_str).filter(|n| !n.is_empty()) {
                place.push(' ');
                place.push_str(&quote(name));
            }
            Ok(Entry { map, place })
        };
        items.iter().enumerate().map(entry).collect()
    }

    /// The text under a key.
    pub fn text(&self, key: &str) -> Result<Option<&'a str>, Error> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(s)) => Ok(Some(s)),
            Some(_) => Err(self.fault(format!("`{key}` must be a string"))),
        }
    }

    /// The name, empty when there is none.
    pub fn name(&self) -> &'a str {
        self.get("name").and_then(Value::as_str).unwrap_or("")
    }

    /// The truth value under a key, false when absent.
    pub fn flag(&self, key: &str) -> Result<bool, Error> {
        match self.get(key) {
            None => Ok(false),
            Some(Value::Bool(b)) => Ok(*b),
            Some(_) => Err(self.fault(format!("`{key}` must be true or false"))),
        }
    }

    /// The whole number under a key.
    pub fn size(&self, key: &str) -> Result<Option<u64>, Error> {
        match self.get(key) {
            None => Ok(None),
            Some(value) => match whole(value) {
                Some(n) => Ok(Some(n)),
                None => Err(self.fault(format!("`{key}` is {value}, not a whole number of zero or more"))),
            },
        }
    }

    /// A whole number that must be there.
    pub fn need_size(&self, key: &str) -> Result<u64, Error> {
        self.size(key)?.ok_or_else(|| self.fault(format!("`{key}` is missing")))
    }

    /// An index into a list of `count` things called `noun`.
    pub fn index(&self, key: &str, noun: &str, count: usize) -> Result<Option<usize>, Error> {
        match self.size(key)? {
            None => Ok(None),
            Some(i) => self.within(key, i, noun, count).map(Some),
        }
    }

    /// An index that must be there.
    pub fn need_index(&self, key: &str, noun: &str, count: usize) -> Result<usize, Error> {
        let i = self.need_size(key)?;
        self.within(key, i, noun, count)
    }

    /// The indices of an array, empty when the key is absent.
    pub fn indices(&self, key: &str, noun: &str, count: usize) -> Result<Vec<usize>, Error> {
        let items = match self.get(key) {
            None => return Ok(Vec::new()),
            Some(Value::Array(items)) => items,
            Some(_) => return Err(self.fault(format!("`{key}` must be an array"))),
        };
        let index = |item: &Value| match whole(item) {
            Some(i) => self.within(key, i, noun, count),
            None => Err(self.fault(format!("`{key}` holds {item}, which is no index"))),
        };
        items.iter().map(index).collect()
    }

    fn within(&self, key: &str, i: u64, noun: &str, count: usize) -> Result<usize, Error> {
        match usize::try_from(i).ok().filter(|&i| i < count) {
            Some(i) => Ok(i),
            None => {
                Err(self.fault(format!("`{key}` refers to {noun} {i}, but the file has {count} of them")))
            }
        }
    }

    /// `N` numbers under a key.
    pub fn numbers<const N: usize>(&self, key: &str) -> Result<Option<[f64; N]>, Error> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let fault = || self.fault(format!("`{key}` must hold {N} numbers within single precision"));
        let items = value.as_array().filter(|a| a.len() == N).ok_or_else(fault)?;
        let mut out = [0.0; N];
        for (o, item) in out.iter_mut().zip(items) {
            *o = item.as_f64().filter(|v| v.abs() <= LARGEST).ok_or_else(fault)?;
        }
        Ok(Some(out))
    }
}

/// A number as an index or size; `3.0` counts, as JSON makes no difference.
fn whole(value: &Value) -> Option<u64> {
    /// Above this a double no longer tells neighbouring whole numbers apart.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    value.as_u64().or_else(|| {
        value.as_f64().filter(|v| v.fract() == 0.0 && (0.0..=EXACT).contains(v)).map(|v| v as u64)
    })
}
