//! An object of the JSON document together with what messages call it.
//!
//! The document stays a [`Value`], so that whatever we do not understand is written back as it was; this is the
//! typed look at the few parts we need. Every look fails with the object's own name in the text, which is only put
//! together then: a character has thousands of objects, and hardly ever a fault.

use crate::error::{Error, quote};
use serde_json::{Map, Value};
use std::rc::Rc;

/// Largest magnitude of a number we take: glTF is single precision, and beyond it products overflow.
const LARGEST: f64 = f32::MAX as f64;

/// One object and its place, such as `node 4 "Tail"`.
#[derive(Clone)]
pub(super) struct Entry<'a> {
    map: &'a Map<String, Value>,
    step: Step<'a>,
    /// The object it is inside of, unless that is the document.
    outer: Option<Rc<Entry<'a>>>,
}

/// How an object is reached from the one it is inside of.
#[derive(Clone, Copy)]
enum Step<'a> {
    /// It is the whole document.
    Document,
    /// Under a key.
    Key(&'a str),
    /// In a list: what one of it is called, and which it is.
    Item(&'a str, usize),
}

impl<'a> Entry<'a> {
    /// The whole document.
    pub fn root(json: &'a Value) -> Result<Entry<'a>, Error> {
        match json.as_object() {
            Some(map) => Ok(Entry { map, step: Step::Document, outer: None }),
            None => Err(Error::input("the JSON is not an object; is this a glTF file?")),
        }
    }

    /// What messages call this object.
    pub fn place(&self) -> String {
        let own = match self.step {
            Step::Document => String::new(),
            Step::Key(key) => key.to_owned(),
            Step::Item(noun, i) if self.name().is_empty() => format!("{noun} {i}"),
            Step::Item(noun, i) => format!("{noun} {i} {}", quote(self.name())),
        };
        self.outer.as_ref().map_or_else(|| own.clone(), |outer| format!("{}, {own}", outer.place()))
    }

    /// A refusal that names this object.
    pub fn fault(&self, what: impl std::fmt::Display) -> Error {
        match self.step {
            Step::Document => Error::input(what.to_string()),
            _ => Error::input(format!("{}: {what}", self.place())),
        }
    }

    /// What the objects inside this one keep of it.
    fn as_outer(&self) -> Option<Rc<Entry<'a>>> {
        match self.step {
            Step::Document => None,
            _ => Some(Rc::new(self.clone())),
        }
    }

    /// The raw value of a key.
    pub fn get(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key)
    }

    /// The object under a key.
    pub fn object(&self, key: &'a str) -> Result<Option<Entry<'a>>, Error> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Object(map)) => Ok(Some(Entry { map, step: Step::Key(key), outer: self.as_outer() })),
            Some(_) => Err(self.fault(format!("`{key}` must be an object"))),
        }
    }

    /// The objects of an array, empty when the key is absent. `noun` is what one of them is called.
    pub fn list(&self, key: &str, noun: &'a str) -> Result<Vec<Entry<'a>>, Error> {
        let items = match self.get(key) {
            None => return Ok(Vec::new()),
            Some(Value::Array(items)) => items,
            Some(_) => return Err(self.fault(format!("`{key}` must be an array"))),
        };
        let outer = self.as_outer();
        let entry = |(i, item): (usize, &'a Value)| match item.as_object() {
            Some(map) => Ok(Entry { map, step: Step::Item(noun, i), outer: outer.clone() }),
            None => {
                let within = outer.as_ref().map_or_else(String::new, |o| format!("{}, ", o.place()));
                Err(Error::input(format!("{within}{noun} {i}: must be an object")))
            }
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
