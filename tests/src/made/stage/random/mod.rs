//! Stages nobody thought of: files that refer to each other by every arc that USD has. Another one for every seed, the same
//! one for the same.

mod prim;

use crate::scatter::Dice;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Where the arcs of a stage may lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arcs {
    /// Only to prims that are written later: nothing leads back.
    Onward,
    /// To any prim of any file: in circles, too.
    Anywhere,
    /// Onward, and only what composes as in OpenUSD however it meets: sublayers, references and payloads with offsets,
    /// variants, clips. Left out, because stages of them are known to differ: inherits, specializes, instances, relocates,
    /// variant sets inside of variants, offsets of sublayers; and orientations in single precision, which OpenUSD turns coarsely.
    Agreed,
}

/// A root prim: its file and which of it. Those of layers of one stage have the same names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Root {
    file: usize,
    index: usize,
}

/// Names of children, the same everywhere: opinions of several files meet.
const CHILDREN: [&str; 3] = ["a", "b", "R"];

/// First and last frame.
const RANGE: [i32; 2] = [0, 24];

/// What is known of all files before the first is written.
struct Plan {
    dice: Dice,
    arcs: Arcs,
    /// Root prims of each file: models first, then as many classes.
    roots: Vec<usize>,
    /// Files that are sublayers of the first.
    sublayers: usize,
    /// Which of its types an operation has.
    precision: usize,
    /// Values that are in clips, by file name.
    clips: Vec<(String, String)>,
}

/// Writes the stage of that seed into `folder`; its root layer.
pub fn random(folder: &Path, seed: u64, arcs: Arcs) -> PathBuf {
    let mut dice = Dice::new(seed.wrapping_mul(2) + u64::from(arcs == Arcs::Anywhere));
    let sublayers = dice.whole(0, 2);
    let files = 1 + sublayers + dice.whole(1, 3);
    let roots = (0..files).map(|_| dice.whole(2, 4)).collect();
    let precision = dice.whole(0, 5);
    let mut plan = Plan { dice, arcs, roots, sublayers, precision, clips: Vec::new() };
    for file in 0..files {
        let text = plan.layer(file);
        std::fs::write(folder.join(name(file)), text).expect("the scratch folder can be written");
    }
    for (name, text) in &plan.clips {
        std::fs::write(folder.join(name), text).expect("the scratch folder can be written");
    }
    folder.join(name(0))
}

fn name(file: usize) -> String {
    if file == 0 { "stage.usda".into() } else { format!("layer{file}.usda") }
}

impl Root {
    /// Models are `M`, classes `_C`: by turns, so that models may inherit classes that come after.
    fn name(self) -> String {
        if self.index % 2 == 1 { format!("_C{}", self.index) } else { format!("M{}", self.index) }
    }

    fn is_class(self) -> bool {
        self.index % 2 == 1
    }
}

impl Plan {
    fn is_agreed(&self) -> bool {
        self.arcs == Arcs::Agreed
    }

    /// Whether a file is a layer of the stage's own layer stack.
    fn is_own(&self, file: usize) -> bool {
        file <= self.sublayers
    }

    fn layer(&mut self, file: usize) -> String {
        let mut text = "#usda 1.0\n(\n    defaultPrim = \"M0\"\n".to_owned();
        if file == 0 {
            let up = self.dice.one_of(&["Y", "Z"]);
            let metres = self.dice.one_of(&["0.01", "1"]);
            let [first, last] = RANGE;
            write!(text, "    metersPerUnit = {metres}\n    upAxis = \"{up}\"\n    startTimeCode = {first}\n    endTimeCode = {last}\n    timeCodesPerSecond = 24\n").expect("text");
            let below: Vec<String> = (1..=self.sublayers)
                .map(|f| {
                    let offset = self.offset();
                    let offset = if self.is_agreed() { String::new() } else { offset };
                    format!("@./{}@{offset}", name(f))
                })
                .collect();
            if !below.is_empty() {
                writeln!(text, "    subLayers = [{}]", below.join(", ")).expect("text");
            }
        }
        let moved = self.relocates(file);
        text += &moved;
        text += ")\n\n";
        for index in 0..self.roots[file] {
            let root = Root { file, index };
            let kind = if root.is_class() { "class" } else { "def" };
            let path = format!("/{}", root.name());
            self.prim(&mut text, kind, &root.name(), &path, root, 0);
        }
        text
    }

    /// A child of a model called otherwise, now and then, in files that are referred to.
    fn relocates(&mut self, file: usize) -> String {
        if self.is_own(file) || self.arcs == Arcs::Anywhere || !self.dice.happens(0.25) || self.is_agreed() {
            return String::new();
        }
        format!("    relocates = {{\n        </M0/{}>: </M0/moved>\n    }}\n", CHILDREN[0])
    }

    /// Of a sublayer, a reference or a payload.
    fn offset(&mut self) -> String {
        if !self.dice.happens(0.4) {
            return String::new();
        }
        let (offset, scale) = (self.dice.one_of(&[-4.0, 2.0, 7.5]), self.dice.one_of(&[0.5, 1.0, 2.0]));
        format!(" (offset = {offset}; scale = {scale})")
    }

    /// A prim that an arc of a prim below `from` may lead to: its file and path. `inside` stays in the same layer stack.
    fn target(&mut self, from: Root, inside: bool) -> Option<(usize, String)> {
        let all: Vec<Root> = (0..self.roots.len())
            .flat_map(|file| (0..self.roots[file]).map(move |index| Root { file, index }))
            .filter(|r| !inside || r.file == from.file || (self.is_own(r.file) && self.is_own(from.file)))
            .filter(|r| match self.arcs {
                Arcs::Anywhere => true,
                // In one layer stack by their names, which several files may share.
                _ if self.is_own(r.file) && self.is_own(from.file) => r.index > from.index,
                _ => *r > from,
            })
            .collect();
        let root = *all.get(self.dice.whole(0, all.len().checked_sub(1)?))?;
        let mut path = format!("/{}", root.name());
        while self.dice.happens(0.35) && path.matches('/').count() < 3 {
            path = format!("{path}/{}", self.dice.one_of(&CHILDREN));
        }
        Some((root.file, path))
    }
}
