//! One prim of a random stage: its type, arcs, variants, operations, and children.

use super::{Arcs, CHILDREN, Plan, RANGE, Root};
use std::fmt::Write;

/// Operations, with the types that they may have.
const OPERATIONS: [(&str, &[&str]); 13] = [
    ("translate", &["double3", "float3"]),
    ("translateX", &["double", "float"]),
    ("translateZ", &["double", "float"]),
    ("scale", &["double3", "float3"]),
    ("scaleY", &["double", "float"]),
    ("rotateX", &["double", "float"]),
    ("rotateZ", &["double", "float"]),
    ("rotateXYZ", &["double3", "float3"]),
    ("rotateYZX", &["double3", "float3"]),
    ("rotateZXY", &["double3", "float3"]),
    ("rotateZYX", &["double3", "float3"]),
    ("orient", &["quatd", "quatf"]),
    ("transform", &["matrix4d"]),
];

impl Plan {
    /// Writes a prim of root `from` and all below it.
    pub(super) fn prim(
        &mut self,
        text: &mut String,
        kind: &str,
        name: &str,
        path: &str,
        from: Root,
        deep: usize,
    ) {
        let pad = "    ".repeat(deep);
        let kind = if kind == "def" && self.dice.happens(0.15) { "over" } else { kind };
        let types = ["Xform", "Xform", "Xform", "Scope", "Cube", "Sphere", "Mesh", "Camera", "", "SkelRoot"];
        let of = if kind == "over" { "" } else { self.dice.one_of(&types) };
        let spaced = if of.is_empty() { String::new() } else { format!("{of} ") };
        let (metadata, variants) = self.metadata(path, from, deep);
        write!(text, "{pad}{kind} {spaced}\"{name}\"").expect("text");
        if !metadata.is_empty() {
            let inner: String = metadata.iter().map(|m| format!("{pad}    {m}\n")).collect();
            write!(text, " (\n{inner}{pad})").expect("text");
        }
        writeln!(text, "\n{pad}{{").expect("text");
        let clipped = metadata.iter().any(|m| m.starts_with("clips"));
        self.operations(text, &format!("{pad}    "), of, clipped);
        match of {
            "Mesh" => self.points(text, &format!("{pad}    ")),
            "SkelRoot" => self.skeleton(text, &format!("{pad}    "), path),
            _ => {}
        }
        for set in &variants {
            self.variants(text, set, path, from, deep + 1);
        }
        self.children(text, path, from, deep + 1);
        writeln!(text, "{pad}}}").expect("text");
    }

    fn children(&mut self, text: &mut String, path: &str, from: Root, deep: usize) {
        if deep > 3 {
            return;
        }
        for child in CHILDREN {
            if self.dice.happens([0.55, 0.25, 0.1][deep - 1]) {
                let kind = self.dice.one_of(&["def", "def", "over"]);
                self.prim(text, kind, child, &format!("{path}/{child}"), from, deep);
            }
        }
    }

    /// Arcs and the like; and the names of variant sets that are to be written.
    fn metadata(&mut self, path: &str, from: Root, deep: usize) -> (Vec<String>, Vec<&'static str>) {
        let mut lines = Vec::new();
        let often = if deep == 0 { 0.2 } else { 0.07 } * if self.arcs == Arcs::Anywhere { 0.6 } else { 1.0 };
        for (field, list, share) in [("inherits", "prepend ", 1.0), ("specializes", "append ", 0.3)] {
            if (field == "inherits" || deep == 0)
                && self.dice.happens(share * often)
                && let Some((_, target)) = self.target(from, true)
            {
                let list = if self.dice.happens(0.7) { list } else { "" };
                if !self.is_agreed() {
                    lines.push(format!("{list}{field} = <{target}>"));
                }
            }
        }
        let mut refers = false;
        for (field, often) in [("references", often), ("payload", 0.5 * often)] {
            if !self.dice.happens(often) {
                continue;
            }
            let inside = self.dice.happens(0.3);
            let Some((file, target)) = self.target(from, inside) else { continue };
            let offset = self.offset();
            let bare = target.matches('/').count() == 1 && target == "/M0" && self.dice.happens(0.5);
            let prim = if bare { String::new() } else { format!("<{target}>") };
            let asset = if inside { String::new() } else { format!("@./{}@", super::name(file)) };
            if asset.is_empty() && prim.is_empty() {
                continue;
            }
            lines.push(format!("prepend {field} = {asset}{prim}{offset}"));
            refers = true;
        }
        let alone = refers && deep == 0 && lines.iter().all(|l| l.contains("references"));
        if alone && self.dice.happens(0.4) && !self.is_agreed() {
            lines.push("instanceable = true".into());
        }
        if self.dice.happens(0.03) {
            lines.push("active = false".into());
        }
        if deep == 0 && from.file == 0 && self.dice.happens(0.15) {
            lines.push(self.clip(path));
        }
        let mut sets = Vec::new();
        if self.dice.happens(0.12) {
            sets.push("look");
            if self.dice.happens(0.7) {
                let chosen = self.dice.one_of(&["red", "blue", "other"]);
                lines.push(format!("variants = {{ string look = \"{chosen}\" }}"));
            }
            lines.push("prepend variantSets = \"look\"".into());
        }
        (lines, sets)
    }

    /// A variant set; inside of a variant now and then another.
    fn variants(&mut self, text: &mut String, set: &str, path: &str, from: Root, deep: usize) {
        let pad = "    ".repeat(deep);
        writeln!(text, "{pad}variantSet \"{set}\" = {{").expect("text");
        for variant in ["red", "blue"] {
            let nested = set == "look" && self.dice.happens(0.25) && !self.is_agreed();
            let head = if nested {
                " (\n            variants = { string size = \"red\" }\n            prepend variantSets = \"size\"\n        )"
            } else {
                ""
            };
            writeln!(text, "{pad}    \"{variant}\"{head} {{").expect("text");
            self.operations(text, &format!("{pad}        "), "", false);
            if deep < 3 {
                self.children(text, path, from, deep + 1);
            }
            if nested {
                self.variants(text, "size", path, from, deep + 2);
            }
            writeln!(text, "{pad}    }}").expect("text");
        }
        writeln!(text, "{pad}}}").expect("text");
    }

    /// Operations of any kind and in any order, some of them with samples, some inverted.
    fn operations(&mut self, text: &mut String, pad: &str, of: &str, clipped: bool) {
        if of == "Scope" || !(clipped || self.dice.happens(if of.is_empty() { 0.4 } else { 0.8 })) {
            return;
        }
        let mut order: Vec<String> = Vec::new();
        if self.dice.happens(0.08) {
            order.push("\"!resetXformStack!\"".into());
        }
        for number in 0..self.dice.whole(1, 3) {
            let (kind, types) = self.dice.one_of(&OPERATIONS);
            // Opinions of several files on one attribute agree on its type.
            let precision = match types[self.precision % types.len()] {
                "quatf" if self.is_agreed() => "quatd",
                other => other,
            };
            let name =
                format!("xformOp:{kind}{}", if number > 0 { format!(":n{number}") } else { String::new() });
            if order.iter().any(|o| o.contains(&name)) {
                continue;
            }
            if self.dice.happens(0.5) {
                let mut samples: Vec<i32> = (0..self.dice.whole(2, 4))
                    .map(|_| self.dice.whole(0, RANGE[1] as usize) as i32)
                    .collect();
                samples.sort_unstable();
                samples.dedup();
                let all: Vec<String> = samples.iter().map(|t| format!("{t}: {}", self.value(kind))).collect();
                writeln!(text, "{pad}{precision} {name}.timeSamples = {{ {} }}", all.join(", "))
                    .expect("text");
            } else {
                writeln!(text, "{pad}{precision} {name} = {}", self.value(kind)).expect("text");
            }
            order.push(format!("\"{name}\""));
            // A scale's inverse is one over it here, and something else in some versions of OpenUSD.
            if self.dice.happens(0.1) && !kind.starts_with("scale") {
                order.push(format!("\"!invert!{name}\""));
            }
        }
        if clipped {
            writeln!(text, "{pad}double3 xformOp:translate:clip").expect("text");
            order.push("\"xformOp:translate:clip\"".into());
        }
        if clipped || !of.is_empty() || self.dice.happens(0.5) {
            writeln!(text, "{pad}uniform token[] xformOpOrder = [{}]", order.join(", ")).expect("text");
        }
    }

    fn value(&mut self, kind: &str) -> String {
        let mut some = |low: f64, high: f64| format!("{:.3}", self.dice.between(low, high));
        let mut three =
            |low: f64, high: f64| format!("({}, {}, {})", some(low, high), some(low, high), some(low, high));
        match kind {
            "translate" => three(-40.0, 40.0),
            "scale" => three(0.5, 2.0),
            "orient" => {
                let turns = ["(1, 0, 0, 0)", "(0.6, 0.8, 0, 0)", "(0.6, 0, 0.8, 0)", "(0.8, 0, 0, 0.6)"];
                self.dice.one_of(&turns).into()
            }
            "transform" => {
                let place = three(-9.0, 9.0);
                let place = place.trim_matches(['(', ')']);
                format!("( (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), ({place}, 1) )")
            }
            _ if kind.starts_with("translate") => some(-40.0, 40.0),
            _ if kind.starts_with("scale") => some(0.5, 2.0),
            _ if kind.len() == 7 => some(-170.0, 170.0),
            _ => three(-170.0, 170.0),
        }
    }

    /// A tetrahedron, whose points move now and then.
    fn points(&mut self, text: &mut String, pad: &str) {
        writeln!(text, "{pad}int[] faceVertexCounts = [3, 3, 3, 3]\n{pad}int[] faceVertexIndices = [0, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2]").expect("text");
        let points = "[(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]";
        if self.dice.happens(0.4) {
            writeln!(text, "{pad}point3f[] points.timeSamples = {{ 0: {points}, 9: [(0, 0, 0), (2, 0, 0), (0, 1, 0), (0, 0, 1)] }}")
        } else {
            writeln!(text, "{pad}point3f[] points = {points}")
        }
        .expect("text");
    }

    /// Two joints that turn.
    fn skeleton(&mut self, text: &mut String, pad: &str, path: &str) {
        let turn = self.dice.one_of(&["(0.6, 0.8, 0, 0)", "(0.8, 0, 0, 0.6)"]);
        let matrix = |y: i32| format!("( (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, {y}, 0, 1) )");
        write!(
            text,
            r#"{pad}def Skeleton "Skel" (
{pad}    prepend apiSchemas = ["SkelBindingAPI"]
{pad})
{pad}{{
{pad}    uniform token[] joints = ["hip", "hip/knee"]
{pad}    uniform matrix4d[] bindTransforms = [{}, {}]
{pad}    uniform matrix4d[] restTransforms = [{}, {}]
{pad}    rel skel:animationSource = <{path}/Skel/Walk>
{pad}    def SkelAnimation "Walk"
{pad}    {{
{pad}        uniform token[] joints = ["hip", "hip/knee"]
{pad}        float3[] translations = [(0, 0, 0), (0, 5, 0)]
{pad}        quatf[] rotations.timeSamples = {{ 0: [(1, 0, 0, 0), (1, 0, 0, 0)], 12: [{turn}, (1, 0, 0, 0)] }}
{pad}        half3[] scales = [(1, 1, 1), (1, 1, 1)]
{pad}    }}
{pad}}}
"#,
            matrix(0),
            matrix(5),
            matrix(0),
            matrix(5)
        )
        .expect("text");
    }

    /// Value clips: the translation of a prim from two other files, the second from the middle on.
    fn clip(&mut self, path: &str) -> String {
        let prim = path.trim_start_matches('/');
        let names: Vec<String> = (0..2).map(|i| format!("clip_{prim}_{i}.usda")).collect();
        // Where one ends the next begins: a jump is more than samples can say.
        let places: Vec<String> = (0..3).map(|_| self.value("translate")).collect();
        for (i, name) in names.iter().enumerate() {
            let values = (&places[i], &places[i + 1]);
            let text = format!(
                "#usda 1.0\nover \"{prim}\"\n{{\n    double3 xformOp:translate:clip.timeSamples = {{ {}: {}, {}: {} }}\n}}\n",
                12 * i,
                values.0,
                12 * i + 12,
                values.1
            );
            self.clips.push((name.clone(), text));
        }
        let manifest = format!("clip_{prim}_manifest.usda");
        let text = format!("#usda 1.0\nover \"{prim}\"\n{{\n    double3 xformOp:translate:clip\n}}\n");
        self.clips.push((manifest.clone(), text));
        format!(
            "clips = {{ dictionary default = {{ double2[] active = [(0, 0), (12, 1)]; asset[] assetPaths = [@./{}@, @./{}@]; asset manifestAssetPath = @./{manifest}@; string primPath = \"{path}\"; double2[] times = [(0, 0), (24, 24)] }} }}",
            names[0], names[1]
        )
    }
}
