//! Changes put into the text of a layer: the lines of what changed are written anew, everything else stays byte for byte,
//! with its comments and the form of its numbers.

mod outline;

use openusd::sdf::{self, AbstractData, ChildrenKey, SpecType, Value};
use openusd::usda::TextWriter;
use outline::{Prim, Statement, outline};
use std::collections::BTreeMap;
use std::ops::Range;

/// Text with changes to be put into it, by place.
struct Splice<'a> {
    text: &'a str,
    prims: BTreeMap<String, Prim>,
    edits: Vec<(Range<usize>, String)>,
}

/// The text of a layer with `new` in it instead of `old`, which it says. `None` where that takes more than new values,
/// metadata of layer and prims, and new prims.
pub(super) fn splice(text: &str, old: &dyn AbstractData, new: &dyn AbstractData) -> Option<String> {
    let prims = outline(text)?.into_iter().map(|p| (p.path.clone(), p)).collect();
    let mut splice = Splice { text, prims, edits: Vec::new() };
    let kept = |p: &sdf::Path| new.has_spec(p);
    if !old.spec_paths().iter().all(kept) {
        return None;
    }
    for path in new.spec_paths() {
        if !old.has_spec(&path) {
            splice.add(&path, old, new)?;
        } else if path.is_property_path() {
            let fields = changed(&path, old, new);
            if !fields.is_empty() {
                splice.property(&path, new)?;
            }
        } else {
            for field in changed(&path, old, new) {
                splice.field(&path, &field, new)?;
            }
        }
    }
    Some(splice.finish())
}

/// Fields that differ, without those that only list what is below.
fn changed(path: &sdf::Path, old: &dyn AbstractData, new: &dyn AbstractData) -> Vec<String> {
    let mut fields = new.list_fields(path).unwrap_or_default();
    fields.extend(old.list_fields(path).unwrap_or_default());
    fields.sort();
    fields.dedup();
    let get = |data: &dyn AbstractData, field: &str| {
        data.try_field(path, field).ok().flatten().map(|v| v.into_owned())
    };
    fields.retain(|f| {
        !super::verify::is_list_of_children(f) && !super::verify::same(&get(old, f), &get(new, f))
    });
    fields
}

impl Splice<'_> {
    /// A spec that is new.
    fn add(&mut self, path: &sdf::Path, old: &dyn AbstractData, new: &dyn AbstractData) -> Option<()> {
        let parent = if path.is_property_path() { path.prim_path() } else { path.parent()? };
        if !old.has_spec(&parent) {
            // Comes with what is above it.
            return Some(());
        }
        if path.is_property_path() {
            return self.property(path, new);
        }
        (new.spec_type(path) == Some(SpecType::Prim)).then_some(())?;
        let owner = self.prims.get(key(&parent))?;
        let (close, indent) = (owner.body.end, self.inside(owner));
        let lines = prim_text(path, new)?;
        let text: String = lines.iter().map(|l| format!("{indent}{l}\n")).collect();
        let line = self.text[..close].rfind('\n').map_or(0, |n| n + 1);
        if owner.path.is_empty() {
            let gap = if self.text.ends_with('\n') { "\n" } else { "\n\n" };
            self.edits.push((close..close, format!("{gap}{text}")));
        } else if self.text[line..close].trim().is_empty() && line > owner.body.start {
            self.edits.push((line..line, text));
        } else {
            let outside = indent.strip_suffix("    ").unwrap_or_default();
            self.edits.push((close..close, format!("\n{text}{outside}")));
        }
        Some(())
    }

    /// A property, whether it is there already or not.
    fn property(&mut self, path: &sdf::Path, new: &dyn AbstractData) -> Option<()> {
        let lines = property_text(path, new)?;
        let prim = self.prims.get(key(&path.prim_path()))?;
        let name = path.as_str().rsplit_once('.')?.1;
        let own: Vec<Statement> = prim.properties.iter().filter(|s| s.name == name).cloned().collect();
        let indent = self.inside(prim);
        match own.first() {
            Some(_) => self.replace(&own, &lines),
            None => {
                let at = prim.properties.iter().map(|s| s.range.end).max().unwrap_or(prim.body.start);
                let is_first = prim.properties.is_empty();
                self.insert(at, &indent, &lines, is_first);
            }
        }
        Some(())
    }

    /// Metadata of a prim or of the layer.
    fn field(&mut self, path: &sdf::Path, field: &str, new: &dyn AbstractData) -> Option<()> {
        let lines = field_text(path, field, new)?;
        let prim = self.prims.get(key(path))?;
        let own: Vec<Statement> = prim.metadata.iter().filter(|s| s.name == field).cloned().collect();
        if !own.is_empty() {
            self.replace(&own, &lines);
            return Some(());
        }
        let inside = self.inside(prim);
        // The layer's body is not indented, its metadata is.
        let indent = if prim.path.is_empty() { "    ".to_owned() } else { inside.clone() };
        let outside = if prim.path.is_empty() { "" } else { inside.strip_suffix("    ").unwrap_or_default() };
        let (head, brackets) = (prim.head, prim.brackets.clone());
        match brackets {
            Some(brackets) => self.insert(brackets.start + 1, &indent, &lines, true),
            None => {
                let text: String = lines.iter().map(|l| format!("{indent}{l}\n")).collect();
                // Several fields go into one pair of brackets.
                let at = self.edits.iter_mut().find(|(r, t)| *r == (head..head) && t.ends_with(')'));
                match at {
                    Some((_, before)) => {
                        before.truncate(before.len() - outside.len() - 1);
                        before.push_str(&format!("{text}{outside})"));
                    }
                    None if path.is_abs_root() => self.edits.push((head..head, format!("(\n{text})"))),
                    None => self.edits.push((head..head, format!(" (\n{text}{outside})"))),
                }
            }
        }
        Some(())
    }

    /// How far what is inside of a prim is indented: as its first property, else a step more than itself.
    fn inside(&self, prim: &Prim) -> String {
        if prim.path.is_empty() {
            return String::new();
        }
        let start = self.text[..prim.head].rfind('\n').map_or(0, |n| n + 1);
        let line = &self.text[start..];
        let own = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
        format!("{own}    ")
    }

    /// Puts lines in place of statements: of the first of them, the others go.
    fn replace(&mut self, statements: &[Statement], lines: &[String]) {
        for (i, statement) in statements.iter().enumerate() {
            let Range { start, end } = statement.range;
            let line = self.text[..start].rfind('\n').map_or(0, |n| n + 1);
            let before = &self.text[line..start];
            let indent = if before.trim().is_empty() { before } else { "" };
            if i == 0 {
                self.edits.push((start..end, lines.join(&format!("\n{indent}"))));
                continue;
            }
            let rest = &self.text[end..];
            let whole = rest.find('\n').filter(|n| rest[..*n].trim().is_empty() && before.trim().is_empty());
            match whole {
                Some(n) => self.edits.push((line..end + n + 1, String::new())),
                None => self.edits.push((start..end, String::new())),
            }
        }
    }

    /// Puts lines behind a place: behind the rest of its line where that is empty or a comment.
    fn insert(&mut self, at: usize, indent: &str, lines: &[String], is_first: bool) {
        let rest = &self.text[at..];
        let end = rest.find('\n').unwrap_or(rest.len());
        let left = rest[..end].trim_start_matches([' ', '\t', ';', ',', '\r']);
        let is_free = end < rest.len() && (left.is_empty() || left.starts_with('#'));
        let text: String = lines.iter().map(|l| format!("{indent}{l}\n")).collect();
        if is_free {
            self.edits.push((at + end + 1..at + end + 1, text));
        } else {
            let gap = if is_first { "" } else { ";" };
            let outside = indent.strip_suffix("    ").unwrap_or_default();
            self.edits.push((at..at, format!("{gap}\n{text}{outside}")));
        }
    }

    fn finish(mut self) -> String {
        // From the end, so that places stay what they are; those at one place in their order.
        self.edits.sort_by_key(|(range, _)| (range.start, range.end));
        let mut text = self.text.to_owned();
        for (range, new) in self.edits.into_iter().rev() {
            text.replace_range(range, &new);
        }
        text
    }
}

/// What a prim is called in the outline.
fn key(path: &sdf::Path) -> &str {
    if path.is_abs_root() { "" } else { path.as_str() }
}

/// A layer of one prim that is there elsewhere.
fn layer_of_one() -> Option<sdf::Data> {
    let mut data = sdf::Data::new();
    sdf::Data::create_spec(&mut data, sdf::Path::abs_root(), SpecType::PseudoRoot);
    sdf::PrimSpecMut::over(&mut data, "/P").ok()?;
    Some(data)
}

/// The lines of a layer's text between two lines, less what they are indented by.
fn between(data: &sdf::Data, open: &str, close: &str) -> Option<Vec<String>> {
    let text = TextWriter::write_to_string(data).ok()?;
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.iter().position(|l| *l == open)? + 1;
    let last = lines.iter().rposition(|l| *l == close)?;
    Some(lines.get(first..last)?.iter().map(|l| l.strip_prefix("    ").unwrap_or(l).to_owned()).collect())
}

fn copy_fields(
    from: &dyn AbstractData,
    path: &sdf::Path,
    to: &mut sdf::Data,
    other: &sdf::Path,
) -> Option<()> {
    for field in from.list_fields(path)? {
        let value = from.try_field(path, &field).ok()??.into_owned();
        to.set_field(other, &field, value);
    }
    Some(())
}

/// A property as lines of text.
fn property_text(path: &sdf::Path, new: &dyn AbstractData) -> Option<Vec<String>> {
    let name = path.as_str().rsplit_once('.')?.1;
    let mut data = layer_of_one()?;
    let own = sdf::Path::new(&format!("/P.{name}")).ok()?;
    let prim = sdf::Path::new("/P").ok()?;
    sdf::Data::create_spec(&mut data, own.clone(), new.spec_type(path)?);
    copy_fields(new, path, &mut data, &own)?;
    data.set_field(&prim, ChildrenKey::PropertyChildren.as_str(), Value::TokenVec(vec![name.into()]));
    between(&data, "{", "}")
}

/// A field as lines of metadata.
fn field_text(path: &sdf::Path, field: &str, new: &dyn AbstractData) -> Option<Vec<String>> {
    // What is no metadata in text, and what is called otherwise there.
    let other = ["specifier", "typeName", "primOrder", "propertyOrder", "subLayers", "subLayerOffsets"];
    let renamed =
        ["inheritPaths", "variantSetNames", "variantSelection", "layerRelocates", "documentation", "comment"];
    if other.contains(&field) || renamed.contains(&field) {
        return None;
    }
    let mut data = layer_of_one()?;
    let value = new.try_field(path, field).ok()??.into_owned();
    data.set_field(&sdf::Path::new("/P").ok()?, field, value);
    between(&data, "over \"P\" (", ")")
}

/// A prim with all below it as lines of text.
fn prim_text(path: &sdf::Path, new: &dyn AbstractData) -> Option<Vec<String>> {
    let mut data = sdf::Data::new();
    let root = sdf::Path::abs_root();
    sdf::Data::create_spec(&mut data, root.clone(), SpecType::PseudoRoot);
    let name = path.name()?;
    let own = sdf::Path::new(&format!("/{name}")).ok()?;
    data.set_field(&root, ChildrenKey::PrimChildren.as_str(), Value::TokenVec(vec![name.into()]));
    for spec in new.spec_paths().iter().filter(|p| p.has_prefix(path)) {
        let moved = spec.replace_prefix(path, &own)?;
        sdf::Data::create_spec(&mut data, moved.clone(), new.spec_type(spec)?);
        copy_fields(new, spec, &mut data, &moved)?;
    }
    let text = TextWriter::write_to_string(&data).ok()?;
    Some(text.lines().skip_while(|l| l.starts_with('#') || l.is_empty()).map(str::to_owned).collect())
}
