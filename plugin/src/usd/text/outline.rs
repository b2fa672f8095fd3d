//! Where things are in the text of a layer: prims, their metadata and their properties, by byte.
//!
//! No more of the grammar than that takes: values are skipped by their brackets and quotes.

use std::ops::Range;

/// A piece of text that says one thing: a field of metadata, or a property or a part of one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Statement {
    /// The field, or the property without `.timeSamples` and the like.
    pub name: String,
    /// From its first word to its last character.
    pub range: Range<usize>,
}

/// A prim, or the layer itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Prim {
    /// Empty for the layer.
    pub path: String,
    /// Where metadata would begin if there were any: behind the name, or behind the first line.
    pub head: usize,
    /// Brackets of the metadata, both included.
    pub brackets: Option<Range<usize>>,
    pub metadata: Vec<Statement>,
    /// Between the braces; for the layer behind its metadata.
    pub body: Range<usize>,
    pub properties: Vec<Statement>,
}

/// All prims of a layer's text, itself first; those inside of variants are left out. `None` for what is no text of USD.
pub(super) fn outline(text: &str) -> Option<Vec<Prim>> {
    let mut reader = Reader { text: text.as_bytes(), at: 0 };
    reader.at = text.find('\n').map_or(text.len(), |end| end + 1);
    let mut layer = Prim { head: reader.at, ..Prim::default() };
    reader.space();
    if reader.peek() == Some(b'(') {
        (layer.brackets, layer.metadata) = reader.metadata()?;
    }
    layer.body = reader.at..text.len();
    let mut prims = vec![layer];
    reader.body(0, &mut prims)?;
    (reader.at == text.len()).then_some(prims)
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Skips blanks, ends of lines, comments, and what separates statements.
    fn space(&mut self) {
        while let Some(c) = self.peek() {
            match c {
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b',' => self.at += 1,
                b'#' => self.line(),
                _ => break,
            }
        }
    }

    /// Skips blanks of this line.
    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }

    fn line(&mut self) {
        while self.peek().is_some_and(|c| c != b'\n') {
            self.at += 1;
        }
    }

    /// A word: a keyword, a type, a name with its namespaces.
    fn word(&mut self) -> Option<String> {
        let start = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b':') || c >= 0x80)
        {
            self.at += 1;
        }
        let word = std::str::from_utf8(&self.text[start..self.at]).ok()?;
        (!word.is_empty()).then(|| word.to_owned())
    }

    /// Skips something in quotes of any kind, in `@` or in `<>`.
    fn quoted(&mut self) -> Option<()> {
        let rest = &self.text[self.at..];
        let open = *rest.first()?;
        let close = if open == b'<' { b'>' } else { open };
        let long = open != b'<' && rest.starts_with(&[open; 3]);
        self.at += if long { 3 } else { 1 };
        loop {
            let rest = &self.text[self.at..];
            match *rest.first()? {
                b'\\' if open == b'"' || open == b'\'' => self.at += 2,
                // Inside of three, a backslash keeps three from ending it.
                b'\\' if long && rest[1..].starts_with(&[close; 3]) => self.at += 4,
                c if c == close && !long => break self.at += 1,
                _ if long && rest.starts_with(&[close; 3]) => break self.at += 3,
                _ => self.at += 1,
            }
        }
        // Of four or more at the end, the last three close it.
        while long && self.peek() == Some(close) {
            self.at += 1;
        }
        Some(())
    }

    /// Skips what is between brackets, and the brackets.
    fn group(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth -= 1,
                b'"' | b'\'' | b'@' | b'<' => {
                    self.quoted()?;
                    continue;
                }
                b'#' => {
                    self.line();
                    continue;
                }
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Some(());
            }
        }
    }

    /// Skips a value: a group, something quoted, or a word or number; an asset may have a path behind it.
    fn value(&mut self) -> Option<()> {
        match self.peek()? {
            b'(' | b'[' | b'{' => self.group(),
            b'@' => {
                self.quoted()?;
                if self.peek() == Some(b'<') { self.quoted() } else { Some(()) }
            }
            b'"' | b'\'' | b'<' => self.quoted(),
            _ => {
                let start = self.at;
                while self.peek().is_some_and(|c| {
                    !matches!(c, b' ' | b'\t' | b'\r' | b'\n' | b';' | b',' | b'(' | b')' | b'}' | b'#')
                }) {
                    self.at += 1;
                }
                (self.at > start).then_some(())
            }
        }
    }

    /// Skips a group that may follow in brackets: of an asset, a property.
    fn behind(&mut self) -> Option<()> {
        let end = self.at;
        self.space_only();
        match self.peek() {
            Some(b'(') => self.group(),
            _ => {
                self.at = end;
                Some(())
            }
        }
    }

    fn space_only(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// Metadata in brackets, from the first of them.
    fn metadata(&mut self) -> Option<(Option<Range<usize>>, Vec<Statement>)> {
        let open = self.at;
        self.at += 1;
        let mut found = Vec::new();
        loop {
            self.space();
            let start = self.at;
            match self.peek()? {
                b')' => {
                    self.at += 1;
                    return Some((Some(open..self.at), found));
                }
                // A comment that counts.
                b'"' | b'\'' => self.quoted()?,
                _ => {
                    let mut name = self.word()?;
                    self.blanks();
                    if self.peek()? != b'=' {
                        name = self.word()?;
                        self.blanks();
                    }
                    if self.peek()? != b'=' {
                        return None;
                    }
                    self.at += 1;
                    self.space_only();
                    self.value()?;
                    self.behind()?;
                    found.push(Statement { name, range: start..self.at });
                }
            }
        }
    }

    /// The inside of prim number `owner`, up to its closing brace or the end of the text.
    fn body(&mut self, owner: usize, prims: &mut Vec<Prim>) -> Option<()> {
        loop {
            self.space();
            let start = self.at;
            let Some(c) = self.peek() else { return (owner == 0).then_some(()) };
            if c == b'}' {
                return (owner != 0).then_some(());
            }
            match self.word()?.as_str() {
                "def" | "over" | "class" => self.prim(owner, prims)?,
                "variantSet" => {
                    self.blanks();
                    self.quoted()?;
                    self.space_only();
                    (self.peek()? == b'=').then(|| self.at += 1)?;
                    self.space_only();
                    self.group()?;
                }
                _ => {
                    self.at = start;
                    if let Some(name) = self.property()? {
                        prims[owner].properties.push(Statement { name, range: start..self.at });
                    }
                }
            }
        }
    }

    /// A prim, from behind its first word.
    fn prim(&mut self, owner: usize, prims: &mut Vec<Prim>) -> Option<()> {
        self.blanks();
        if self.peek()? != b'"' && self.peek()? != b'\'' {
            self.word()?;
            self.blanks();
        }
        let quote = self.at;
        self.quoted()?;
        let name = std::str::from_utf8(&self.text[quote + 1..self.at - 1]).ok()?;
        let path = format!("{}/{name}", prims[owner].path);
        let mut prim = Prim { path, head: self.at, ..Prim::default() };
        self.space();
        if self.peek()? == b'(' {
            (prim.brackets, prim.metadata) = self.metadata()?;
            self.space();
        }
        (self.peek()? == b'{').then_some(())?;
        self.at += 1;
        prim.body = self.at..self.at;
        let number = prims.len();
        prims.push(prim);
        self.body(number, prims)?;
        prims[number].body.end = self.at;
        self.at += 1;
        Some(())
    }

    /// Skips a property; its name, or `None` for an order of others.
    fn property(&mut self) -> Option<Option<String>> {
        let mut words = Vec::new();
        loop {
            self.blanks();
            match self.peek() {
                Some(b'[') => self.group()?,
                Some(c) if c.is_ascii_alphanumeric() || c == b'_' || c >= 0x80 => words.push(self.word()?),
                _ => break,
            }
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.word()?;
        }
        let name = words.pop()?;
        let end = self.at;
        self.behind()?;
        let behind = self.at;
        self.space_only();
        if self.peek() == Some(b'=') {
            self.at += 1;
            self.space_only();
            self.value()?;
            self.behind()?;
        } else {
            self.at = behind.max(end);
        }
        let orders = words.first().is_some_and(|w| w == "reorder") && words.len() == 1;
        Some((!orders).then_some(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"#usda 1.0
(
    "a comment } that counts"
    endTimeCode = 9 # } no bracket
    customLayerData = {
        string "rtx:a" = "}"
    }
)
class "C" {}
def Xform "A" ( prepend inherits = </C>; kind = "component" )
{
    # double no = 1
    double3 xformOp:translate = (1, 2, 3) (
        doc = """ ) """
    )
    double3 xformOp:translate.timeSamples = { 0: (0, 0, 0), }
    custom uniform token[] words = ["a)", 'b'] ; float x
    rel to = [<../C>, </A/B>]
    asset file = @@@a@b}@@@ (
        doc = "x"
    )
    delete rel to = </C>
    reorder properties = ["x"]
    variantSet "v" = {
        "one" { def "InVariant" { } }
    }
    over "B" {
        float y.connect = </A.x>
    }
}
"#;

    #[test]
    fn prims_and_what_they_say_are_found() {
        let prims = outline(TEXT).expect("is text of USD");
        let paths: Vec<&str> = prims.iter().map(|p| p.path.as_str()).collect();
        assert_eq!(paths, ["", "/C", "/A", "/A/B"]);
        let names = |all: &[Statement]| all.iter().map(|s| s.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&prims[0].metadata), ["endTimeCode", "customLayerData"]);
        assert_eq!(names(&prims[2].metadata), ["inherits", "kind"]);
        assert_eq!(
            names(&prims[2].properties),
            ["xformOp:translate", "xformOp:translate", "words", "x", "to", "file", "to"]
        );
        let part = |s: &Statement| &TEXT[s.range.clone()];
        assert_eq!(part(&prims[0].metadata[0]), "endTimeCode = 9");
        assert_eq!(part(&prims[2].properties[2]), "custom uniform token[] words = [\"a)\", 'b']");
        assert_eq!(part(&prims[2].properties[3]), "float x");
        assert!(
            part(&prims[2].properties[0]).ends_with("\"\"\"\n    )"),
            "{}",
            part(&prims[2].properties[0])
        );
        assert_eq!(names(&prims[3].properties), ["y"]);
    }

    #[test]
    fn what_is_cut_short_is_no_layer() {
        for end in (12..TEXT.len()).filter(|e| TEXT.is_char_boundary(*e)) {
            // Never a panic; a prefix that is whole is fine.
            let _ = outline(&TEXT[..end]);
        }
        assert!(outline("#usda 1.0\ndef \"A\" {").is_none());
    }
}
