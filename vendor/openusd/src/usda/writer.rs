//! Text format (`usda`) writer.
//!
//! Walks an [`AbstractData`] layer and emits a `usda` representation. The
//! output aims for semantic round-trip: parsing the emitted text with
//! [`usda::parse`](super::parse) must reproduce the original specs
//! opinion-for-opinion.

use std::path::Path as FsPath;
use std::{
    collections::HashMap,
    fmt::Write as FmtWrite,
    fs,
    io::{self, Write},
};

use crate::sdf::{
    self, AbstractData, AssetPath, ChildrenKey, FieldKey, FormatError, LayerOffset, ListOp, Path, Payload, Reference,
    SpecType, Specifier, Value, Variability,
};
use crate::tf::Token;

/// Emits `usda` text from an [`AbstractData`].
pub struct TextWriter;

impl TextWriter {
    /// Write the layer to a newly allocated `String`.
    pub fn write_to_string(data: &dyn AbstractData) -> Result<String, FormatError> {
        let mut buf = Vec::new();
        Self::write(data, &mut buf)?;
        Ok(String::from_utf8(buf).expect("the usda writer emits UTF-8 text"))
    }

    /// Write the layer to a file on disk.
    pub fn write_to_file(data: &dyn AbstractData, path: impl AsRef<FsPath>) -> Result<(), FormatError> {
        let text = Self::write_to_string(data)?;
        fs::write(path, text)?;
        Ok(())
    }

    /// One value as `usda` writes it, e.g. `(1.0, 1.0, 1.0)` for a `double3`.
    ///
    /// The same rendering a layer's own text uses, for a caller that has a value
    /// rather than a layer — showing a schema's fallback in documentation, say.
    pub fn value_to_string(value: &sdf::Value) -> Result<String, FormatError> {
        let mut text = String::new();
        format_value(&mut text, value)?;
        Ok(text)
    }

    /// Write the layer to any `io::Write` sink.
    pub fn write<W: Write>(data: &dyn AbstractData, out: &mut W) -> Result<(), FormatError> {
        let mut emitter = Emitter { out, indent: 0 };
        emitter.emit_layer(data)
    }
}

struct Emitter<'w, W: Write> {
    out: &'w mut W,
    indent: usize,
}

impl<W: Write> Emitter<'_, W> {
    // ---------- layout helpers ----------

    fn write_indent(&mut self) -> io::Result<()> {
        for _ in 0..self.indent {
            self.out.write_all(b"    ")?;
        }
        Ok(())
    }

    // ---------- top-level walk ----------

    fn emit_layer(&mut self, data: &dyn AbstractData) -> Result<(), FormatError> {
        writeln!(self.out, "#usda 1.0")?;

        let root = Path::abs_root();
        let has_root = data.has_spec(&root);

        // Layer metadata: every field except primChildren is metadata.
        // subLayerOffsets is merged into subLayers at emit time.
        let meta_fields: Vec<String> = if has_root {
            data.list_fields(&root)
                .unwrap_or_default()
                .into_iter()
                .filter(|n| !is_prim_structural_field(n) && n != FieldKey::SubLayerOffsets.as_str())
                .collect()
        } else {
            Vec::new()
        };

        if !meta_fields.is_empty() {
            writeln!(self.out, "(")?;
            self.indent += 1;
            for name in &meta_fields {
                if name == FieldKey::SubLayers.as_str() {
                    self.emit_sub_layers(data, &root)?;
                    continue;
                }
                let value = data.get_field(&root, name)?;
                self.emit_metadata_entry(name, &value)?;
            }
            self.indent -= 1;
            writeln!(self.out, ")")?;
        }

        // Layer-level `reorder rootPrims`, stored as `primOrder` on the
        // pseudo-root. Emitted between the metadata block and the root prims.
        if has_root && let Some(Value::TokenVec(v)) = get_value(data, &root, FieldKey::PrimOrder.as_str()) {
            writeln!(self.out)?;
            self.emit_reorder("rootPrims", &v)?;
        }

        // Root prims
        let children = if has_root {
            children(data, &root, ChildrenKey::PrimChildren)
        } else {
            Vec::new()
        };
        for name in &children {
            writeln!(self.out)?;
            let child_path = root.append_path(name.as_str())?;
            self.emit_prim(data, &child_path, name)?;
        }

        Ok(())
    }

    // ---------- prim ----------

    fn emit_prim(&mut self, data: &dyn AbstractData, path: &Path, name: &str) -> Result<(), FormatError> {
        // Header: [specifier] [typeName] "name"
        self.write_indent()?;
        let specifier = get_value(data, path, FieldKey::Specifier.as_str())
            .and_then(|v| match v {
                Value::Specifier(s) => Some(s),
                _ => None,
            })
            .unwrap_or(Specifier::Def);
        self.out.write_all(specifier_keyword(specifier).as_bytes())?;

        if let Some(Value::Token(type_name)) = get_value(data, path, FieldKey::TypeName.as_str())
            && !type_name.is_empty()
        {
            write!(self.out, " {type_name}")?;
        }

        let mut quoted = String::new();
        write_quoted(&mut quoted, name)?;
        write!(self.out, " {quoted}")?;

        let meta_fields: Vec<String> = data
            .list_fields(path)
            .unwrap_or_default()
            .into_iter()
            .filter(|n| !is_prim_structural_field(n))
            .collect();

        if !meta_fields.is_empty() {
            writeln!(self.out, " (")?;
            self.indent += 1;
            for name in &meta_fields {
                let value = data.get_field(path, name)?;
                self.emit_metadata_entry(name, &value)?;
            }
            self.indent -= 1;
            self.write_indent()?;
            self.out.write_all(b")")?;
        }

        writeln!(self.out)?;
        self.write_indent()?;
        writeln!(self.out, "{{")?;
        self.indent += 1;

        self.emit_body_reorders(data, path)?;

        // Properties
        let props = children(data, path, ChildrenKey::PropertyChildren);
        for name in &props {
            let prop_path = path.append_property(name)?;
            self.emit_property(data, &prop_path, name)?;
        }

        // Variant sets
        if let Some(Value::TokenVec(vset_names)) = get_value(data, path, ChildrenKey::VariantSetChildren.as_str()) {
            for vset in &vset_names {
                let vset_path = path.append_variant_selection(vset, "")?;
                self.emit_variant_set(data, &vset_path, vset.as_str())?;
            }
        }

        // Child prims
        let children = children(data, path, ChildrenKey::PrimChildren);
        for name in &children {
            let child_path = path.append_path(name.as_str())?;
            self.emit_prim(data, &child_path, name)?;
        }

        self.indent -= 1;
        self.write_indent()?;
        writeln!(self.out, "}}")?;

        Ok(())
    }

    /// Emit `reorder nameChildren / properties` statements (if authored) at
    /// the top of a prim or variant body. The grammar only accepts these
    /// inside `{...}`, not in the metadata block.
    fn emit_body_reorders(&mut self, data: &dyn AbstractData, path: &Path) -> Result<(), FormatError> {
        if let Some(Value::TokenVec(v)) = get_value(data, path, FieldKey::PrimOrder.as_str()) {
            self.emit_reorder("nameChildren", &v)?;
        }
        if let Some(Value::TokenVec(v)) = get_value(data, path, FieldKey::PropertyOrder.as_str()) {
            self.emit_reorder("properties", &v)?;
        }
        Ok(())
    }

    // ---------- property (attribute or relationship) ----------

    fn emit_property(&mut self, data: &dyn AbstractData, path: &Path, name: &str) -> Result<(), FormatError> {
        match data.spec_type(path) {
            Some(SpecType::Attribute) => self.emit_attribute(data, path, name),
            Some(SpecType::Relationship) => self.emit_relationship(data, path, name),
            Some(other) => Err(FormatError::Encode {
                reason: format!("unsupported property spec type {other:?} at {path}").into(),
            }),
            None => Err(FormatError::Encode {
                reason: format!("property path {path} has no spec").into(),
            }),
        }
    }

    fn emit_attribute(&mut self, data: &dyn AbstractData, path: &Path, name: &str) -> Result<(), FormatError> {
        self.write_indent()?;

        if matches!(
            get_value(data, path, FieldKey::Custom.as_str()),
            Some(Value::Bool(true))
        ) {
            self.out.write_all(b"custom ")?;
        }
        // Said by every statement of the attribute: one without it declares the
        // attribute varying, which contradicts the others.
        let uniform = match get_value(data, path, FieldKey::Variability.as_str()) {
            Some(Value::Variability(Variability::Uniform)) => "uniform ",
            _ => "",
        };
        self.out.write_all(uniform.as_bytes())?;

        // The declared spelling is written back as its standard spelling (C++
        // `GetSerializationName`): `Color` in, `color3d` out; an unregistered
        // spelling stays as authored.
        let type_name = match get_value(data, path, FieldKey::TypeName.as_str()) {
            Some(Value::Token(t)) => sdf::ValueTypeName::from(t).serialization_name(),
            _ => {
                return Err(FormatError::Encode {
                    reason: format!("attribute {path} missing typeName").into(),
                });
            }
        };
        write!(self.out, "{type_name} {name}")?;

        let default = get_value(data, path, FieldKey::Default.as_str());
        let time_samples = get_value(data, path, FieldKey::TimeSamples.as_str());
        let spline = get_value(data, path, SPLINE_FIELD);

        if let Some(v) = default {
            self.out.write_all(b" = ")?;
            self.write_value(&v)?;
        }

        let meta_fields: Vec<String> = data
            .list_fields(path)
            .unwrap_or_default()
            .into_iter()
            .filter(|n| !is_attribute_structural_field(n))
            .collect();

        if !meta_fields.is_empty() {
            self.out.write_all(b" (")?;
            writeln!(self.out)?;
            self.indent += 1;
            for name in &meta_fields {
                let value = data.get_field(path, name)?;
                self.emit_metadata_entry(name, &value)?;
            }
            self.indent -= 1;
            self.write_indent()?;
            self.out.write_all(b")")?;
        }

        writeln!(self.out)?;

        // Time samples (separate statement if present)
        if let Some(Value::TimeSamples(samples)) = time_samples {
            self.write_indent()?;
            write!(self.out, "{uniform}{type_name} {name}.timeSamples = ")?;
            self.write_time_samples(&samples)?;
            writeln!(self.out)?;
        }

        // Connections (separate statement if present)
        if let Some(Value::PathListOp(op)) = get_value(data, path, FieldKey::ConnectionPaths.as_str()) {
            self.emit_connection(name, &op, &format!("{uniform}{type_name}"))?;
        }

        // Splines (separate statement if present)
        if let Some(Value::Dictionary(dict)) = spline {
            self.write_indent()?;
            write!(self.out, "{uniform}{type_name} {name}.spline = ")?;
            self.write_spline(&dict)?;
            writeln!(self.out)?;
        }

        Ok(())
    }

    /// Emit a spline dictionary in the native spline grammar. Inverse of
    /// `parser::parse_spline`. The input `dict` has the keys produced there:
    /// `curveType`, `pre/postExtrapolation`, `loopParameters`, `knots`,
    /// `knotCustomData`.
    fn write_spline(&mut self, dict: &HashMap<String, Value>) -> Result<(), FormatError> {
        self.out.write_all(b"{")?;
        writeln!(self.out)?;
        self.indent += 1;

        let curve_type = match dict.get("curveType") {
            Some(Value::Token(t)) => t.as_str(),
            _ => "bezier",
        };
        self.write_indent()?;
        writeln!(self.out, "{curve_type},")?;

        // Extrapolation
        if let Some(value) = dict.get("preExtrapolation") {
            self.write_extrapolation("pre", value)?;
        }
        if let Some(value) = dict.get("postExtrapolation") {
            self.write_extrapolation("post", value)?;
        }

        // Loop parameters
        if let Some(Value::Dictionary(loop_dict)) = dict.get("loopParameters") {
            self.write_loop(loop_dict)?;
        }

        // Knots
        let knot_custom = match dict.get("knotCustomData") {
            Some(Value::Dictionary(m)) => Some(m),
            _ => None,
        };
        if let Some(Value::ValueVec(knots)) = dict.get("knots") {
            for knot in knots {
                if let Value::Dictionary(knot) = knot {
                    self.write_knot(knot, knot_custom)?;
                }
            }
        }

        self.indent -= 1;
        self.write_indent()?;
        self.out.write_all(b"}")?;
        Ok(())
    }

    fn write_extrapolation(&mut self, dir: &str, value: &Value) -> Result<(), FormatError> {
        self.write_indent()?;
        match value {
            Value::ValueBlock | Value::None => {
                writeln!(self.out, "{dir}: none,")?;
            }
            Value::Dictionary(d) => {
                let mode = match d.get("mode") {
                    Some(Value::Token(t)) => t.as_str(),
                    _ => "none",
                };
                let slope = match d.get("slope") {
                    Some(Value::Double(s)) => *s,
                    _ => 0.0,
                };
                if slope != 0.0 {
                    let mut buf = String::new();
                    format_double(&mut buf, slope);
                    writeln!(self.out, "{dir}: {mode} ({buf}),")?;
                } else {
                    writeln!(self.out, "{dir}: {mode},")?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn write_loop(&mut self, d: &HashMap<String, Value>) -> Result<(), FormatError> {
        let a = get_double(d, "protoStart");
        let b = get_double(d, "protoEnd");
        let c = get_double(d, "numPreLoops");
        let e = get_double(d, "numPostLoops");
        let g = get_double(d, "valueOffset");
        self.write_indent()?;
        let mut buf = String::new();
        buf.push_str("loop: (");
        format_double(&mut buf, a);
        buf.push_str(", ");
        format_double(&mut buf, b);
        buf.push_str(", ");
        format_double(&mut buf, c);
        buf.push_str(", ");
        format_double(&mut buf, e);
        buf.push_str(", ");
        format_double(&mut buf, g);
        buf.push(')');
        writeln!(self.out, "{buf},")?;
        Ok(())
    }

    fn write_knot(
        &mut self,
        knot: &HashMap<String, Value>,
        knot_custom: Option<&HashMap<String, Value>>,
    ) -> Result<(), FormatError> {
        let time = get_double(knot, "time");
        let value = get_double(knot, "value");
        let pre_value = get_double(knot, "preValue");
        let pre_slope = get_double(knot, "preTangentSlope");
        let pre_width = get_double(knot, "preTangentWidth");
        let post_slope = get_double(knot, "postTangentSlope");
        let post_width = get_double(knot, "postTangentWidth");
        let interp = match knot.get("nextInterpolationMode") {
            Some(Value::Token(t)) => t.as_str(),
            _ => "held",
        };

        self.write_indent()?;
        let mut buf = String::new();
        format_double(&mut buf, time);
        buf.push_str(": ");
        if pre_value != 0.0 {
            let mut pv = String::new();
            format_double(&mut pv, pre_value);
            buf.push_str(&pv);
            buf.push_str(" & ");
        }
        format_double(&mut buf, value);

        if pre_slope != 0.0 || pre_width != 0.0 {
            buf.push_str("; pre (");
            format_double(&mut buf, pre_slope);
            buf.push_str(", ");
            format_double(&mut buf, pre_width);
            buf.push(')');
        }

        if interp != "held" || post_slope != 0.0 || post_width != 0.0 {
            buf.push_str("; post ");
            buf.push_str(interp);
            if post_slope != 0.0 || post_width != 0.0 {
                buf.push_str(" (");
                format_double(&mut buf, post_slope);
                buf.push_str(", ");
                format_double(&mut buf, post_width);
                buf.push(')');
            }
        }

        let time_key = if time.fract() == 0.0 && time.is_finite() {
            format!("{}", time as i64)
        } else {
            format!("{time}")
        };
        if let Some(Value::Dictionary(custom)) = knot_custom.and_then(|m| m.get(&time_key)) {
            buf.push_str("; ");
            let mut dict_str = String::new();
            format_dictionary(&mut dict_str, custom)?;
            buf.push_str(&dict_str);
        }

        buf.push(',');
        writeln!(self.out, "{buf}")?;
        Ok(())
    }

    fn emit_connection(&mut self, attr_name: &str, op: &ListOp<Path>, type_name: &str) -> Result<(), FormatError> {
        // Emit as `typeName attr.connect = paths` or list-op form.
        self.emit_listop_statement(&format!("{type_name} {attr_name}.connect"), op, |s, p| {
            write!(s, "<{}>", p.as_str())?;
            Ok(())
        })
    }

    fn emit_relationship(&mut self, data: &dyn AbstractData, path: &Path, name: &str) -> Result<(), FormatError> {
        self.write_indent()?;

        if matches!(
            get_value(data, path, FieldKey::Custom.as_str()),
            Some(Value::Bool(true))
        ) {
            self.out.write_all(b"custom ")?;
        }
        // A relationship is uniform unless it says otherwise, the reverse of an
        // attribute, so `varying` is the keyword the text form spells out.
        if !matches!(
            get_value(data, path, FieldKey::Variability.as_str()),
            Some(Value::Variability(Variability::Uniform))
        ) {
            self.out.write_all(b"varying ")?;
        }

        write!(self.out, "rel {name}")?;

        let targets = get_value(data, path, FieldKey::TargetPaths.as_str());
        let meta_fields: Vec<String> = data
            .list_fields(path)
            .unwrap_or_default()
            .into_iter()
            .filter(|n| !is_relationship_structural_field(n))
            .collect();

        // Non-explicit list ops for rel targets: emit on a separate line below.
        if let Some(Value::PathListOp(op)) = &targets
            && op.explicit
        {
            match op.explicit_items.len() {
                0 => {
                    self.out.write_all(b" = None")?;
                }
                1 => {
                    write!(self.out, " = <{}>", op.explicit_items[0].as_str())?;
                }
                _ => {
                    self.out.write_all(b" = [")?;
                    for (i, p) in op.explicit_items.iter().enumerate() {
                        if i > 0 {
                            self.out.write_all(b", ")?;
                        }
                        write!(self.out, "<{}>", p.as_str())?;
                    }
                    self.out.write_all(b"]")?;
                }
            }
        }

        if !meta_fields.is_empty() {
            writeln!(self.out, " (")?;
            self.indent += 1;
            for name in &meta_fields {
                let value = data.get_field(path, name)?;
                self.emit_metadata_entry(name, &value)?;
            }
            self.indent -= 1;
            self.write_indent()?;
            self.out.write_all(b")")?;
        }

        writeln!(self.out)?;

        // Non-explicit list op target paths
        if let Some(Value::PathListOp(op)) = &targets
            && !op.explicit
        {
            self.emit_listop_statement(&format!("rel {name}"), op, |s, p| {
                write!(s, "<{}>", p.as_str())?;
                Ok(())
            })?;
        }

        Ok(())
    }

    // ---------- variant set / variant ----------

    fn emit_variant_set(&mut self, data: &dyn AbstractData, vset_path: &Path, name: &str) -> Result<(), FormatError> {
        self.write_indent()?;
        let mut quoted = String::new();
        write_quoted(&mut quoted, name)?;
        writeln!(self.out, "variantSet {quoted} = {{")?;
        self.indent += 1;

        if let Some(Value::TokenVec(variant_names)) = get_value(data, vset_path, ChildrenKey::VariantChildren.as_str())
        {
            let prim = vset_path.prim_path();
            for v_name in &variant_names {
                let v_path = prim.append_variant_selection(name, v_name)?;
                self.emit_variant(data, &v_path, v_name.as_str())?;
            }
        }

        self.indent -= 1;
        self.write_indent()?;
        writeln!(self.out, "}}")?;
        Ok(())
    }

    fn emit_variant(&mut self, data: &dyn AbstractData, path: &Path, name: &str) -> Result<(), FormatError> {
        self.write_indent()?;
        let mut quoted = String::new();
        write_quoted(&mut quoted, name)?;
        self.out.write_all(quoted.as_bytes())?;

        let meta_fields: Vec<String> = data
            .list_fields(path)
            .unwrap_or_default()
            .into_iter()
            .filter(|n| !is_prim_structural_field(n))
            .collect();

        if !meta_fields.is_empty() {
            writeln!(self.out, " (")?;
            self.indent += 1;
            for name in &meta_fields {
                let value = data.get_field(path, name)?;
                self.emit_metadata_entry(name, &value)?;
            }
            self.indent -= 1;
            self.write_indent()?;
            self.out.write_all(b")")?;
        }

        writeln!(self.out, " {{")?;
        self.indent += 1;

        self.emit_body_reorders(data, path)?;

        let props = children(data, path, ChildrenKey::PropertyChildren);
        for prop in &props {
            let prop_path = path.append_property(prop)?;
            self.emit_property(data, &prop_path, prop)?;
        }

        // Variant sets inside the variant
        if let Some(Value::TokenVec(vset_names)) = get_value(data, path, ChildrenKey::VariantSetChildren.as_str()) {
            for vset in &vset_names {
                let vset_path = path.append_variant_selection(vset, "")?;
                self.emit_variant_set(data, &vset_path, vset.as_str())?;
            }
        }

        let children = children(data, path, ChildrenKey::PrimChildren);
        for child in &children {
            let child_path = path.append_path(child.as_str())?;
            self.emit_prim(data, &child_path, child)?;
        }

        self.indent -= 1;
        self.write_indent()?;
        writeln!(self.out, "}}")?;
        Ok(())
    }

    /// Combine `subLayers` (asset paths) with `subLayerOffsets` at emit time —
    /// the text grammar wants them fused into `subLayers = [@path@ (offset=X; scale=Y), ...]`.
    fn emit_sub_layers(&mut self, data: &dyn AbstractData, root: &Path) -> Result<(), FormatError> {
        let sublayers = match get_value(data, root, FieldKey::SubLayers.as_str()) {
            Some(Value::StringVec(v)) => v,
            _ => return Ok(()),
        };
        let offsets = match get_value(data, root, FieldKey::SubLayerOffsets.as_str()) {
            Some(Value::LayerOffsetVec(v)) => v,
            _ => Vec::new(),
        };

        self.write_indent()?;
        self.out.write_all(b"subLayers = [")?;
        for (i, path) in sublayers.iter().enumerate() {
            if i > 0 {
                self.out.write_all(b", ")?;
            }
            let mut buf = String::new();
            write_asset_path(&mut buf, path)?;
            self.out.write_all(buf.as_bytes())?;

            if let Some(offset) = offsets.get(i) {
                let mut buf = String::new();
                write_arc_metadata(&mut buf, offset, &HashMap::new())?;
                self.out.write_all(buf.as_bytes())?;
            }
        }
        self.out.write_all(b"]")?;
        writeln!(self.out)?;
        Ok(())
    }

    // ---------- metadata entry ----------

    fn emit_metadata_entry(&mut self, name: &str, value: &Value) -> Result<(), FormatError> {
        // "comment" is authored as a bare string in the metadata block, with
        // no keyword. Parser recognises a lone string as the Sdf comment field.
        if name == FieldKey::Comment.as_str()
            && let Value::String(text) = value
        {
            self.write_indent()?;
            let mut buf = String::new();
            write_quoted(&mut buf, text)?;
            self.out.write_all(buf.as_bytes())?;
            writeln!(self.out)?;
            return Ok(());
        }

        // Several fields are stored under internal names that differ from the
        // USD text grammar keywords. Map them back before emitting.
        let keyword = if name == FieldKey::LayerRelocates.as_str() {
            "relocates"
        } else if name == FieldKey::VariantSetNames.as_str() {
            "variantSets"
        } else if name == FieldKey::VariantSelection.as_str() {
            "variants"
        } else if name == FieldKey::InheritPaths.as_str() {
            "inherits"
        } else if name == FieldKey::Documentation.as_str() {
            "doc"
        } else {
            name
        };

        // Variant-set names write as a name vector, which brackets only a list
        // of more than one. C++ gives the field its own emitter for this
        // rather than sending it through the generic list-op path.
        if keyword == "variantSets"
            && let Value::StringListOp(op) = value
        {
            let names = op.clone().map(Name);
            self.emit_listop_statement(keyword, &names, |s, name| write_quoted(s, &name.0))?;
            return Ok(());
        }

        // ListOps in metadata blocks render as multi-line prepend/append/... entries.
        if let Some(emitted) = self.try_emit_listop_metadata(keyword, value)?
            && emitted
        {
            return Ok(());
        }

        self.write_indent()?;
        write!(self.out, "{keyword} = ")?;

        // A display unit is written as the bare name of the unit, which is
        // what the grammar accepts back. Storing it as a token rather than as
        // C++'s enum is what makes this the field's business and not the
        // value's: nothing about the token says it is a unit.
        //
        // `%` and `default` are not identifiers, so a layer authoring either
        // cannot be read back — by us or by USD, which emits the same text and
        // rejects it on import (verified against usd-core 26.8). Emitting what
        // upstream emits keeps a layer exactly as portable as one it wrote.
        if keyword == FieldKey::DisplayUnit.as_str()
            && let Value::Token(unit) = value
        {
            write!(self.out, "{}", unit.as_str())?;
            writeln!(self.out)?;
            return Ok(());
        }

        self.write_value(value)?;
        writeln!(self.out)?;
        Ok(())
    }

    fn emit_reorder(&mut self, target: &str, names: &[Token]) -> Result<(), FormatError> {
        self.write_indent()?;
        write!(self.out, "reorder {target} = [")?;
        for (i, n) in names.iter().enumerate() {
            if i > 0 {
                self.out.write_all(b", ")?;
            }
            let mut buf = String::new();
            write_quoted(&mut buf, n.as_str())?;
            self.out.write_all(buf.as_bytes())?;
        }
        writeln!(self.out, "]")?;
        Ok(())
    }

    /// Returns `Ok(Some(true))` if this value was a `ListOp` and was fully emitted;
    /// `Ok(Some(false))` / `Ok(None)` if caller should emit as a normal field.
    fn try_emit_listop_metadata(&mut self, name: &str, value: &Value) -> Result<Option<bool>, FormatError> {
        match value {
            Value::TokenListOp(op) => {
                self.emit_listop_statement(name, op, |s, t| write_quoted(s, t.as_str()))?;
                Ok(Some(true))
            }
            Value::StringListOp(op) => {
                self.emit_listop_statement(name, op, |s, t| write_quoted(s, t))?;
                Ok(Some(true))
            }
            Value::PathListOp(op) => {
                self.emit_listop_statement(name, op, |s, p| {
                    write!(s, "<{}>", p.as_str())?;
                    Ok(())
                })?;
                Ok(Some(true))
            }
            Value::ReferenceListOp(op) => {
                self.emit_listop_statement(name, op, write_reference)?;
                Ok(Some(true))
            }
            Value::PayloadListOp(op) => {
                self.emit_listop_statement(name, op, write_payload)?;
                Ok(Some(true))
            }
            Value::IntListOp(op) => {
                self.emit_listop_statement(name, op, |s, v| write!(s, "{v}").map_err(Into::into))?;
                Ok(Some(true))
            }
            Value::Int64ListOp(op) => {
                self.emit_listop_statement(name, op, |s, v| write!(s, "{v}").map_err(Into::into))?;
                Ok(Some(true))
            }
            Value::UIntListOp(op) => {
                self.emit_listop_statement(name, op, |s, v| write!(s, "{v}").map_err(Into::into))?;
                Ok(Some(true))
            }
            Value::UInt64ListOp(op) => {
                self.emit_listop_statement(name, op, |s, v| write!(s, "{v}").map_err(Into::into))?;
                Ok(Some(true))
            }
            Value::UnregisteredValueListOp(op) => {
                self.emit_listop_statement(name, op, |s, body: &String| {
                    s.push_str(body);
                    Ok(())
                })?;
                Ok(Some(true))
            }
            _ => Ok(None),
        }
    }

    fn emit_listop_statement<T, F>(&mut self, prefix: &str, op: &ListOp<T>, mut fmt_item: F) -> Result<(), FormatError>
    where
        T: ListOpItem,
        F: FnMut(&mut String, &T) -> Result<(), FormatError>,
    {
        if op.explicit {
            self.write_indent()?;
            write!(self.out, "{prefix} = ")?;
            self.write_listop_items(&op.explicit_items, &mut fmt_item)?;
            writeln!(self.out)?;
            return Ok(());
        }

        for (kw, items) in [
            ("delete", &op.deleted_items),
            ("add", &op.added_items),
            ("prepend", &op.prepended_items),
            ("append", &op.appended_items),
            ("reorder", &op.ordered_items),
        ] {
            if !items.is_empty() {
                self.write_indent()?;
                write!(self.out, "{kw} {prefix} = ")?;
                self.write_listop_items(items, &mut fmt_item)?;
                writeln!(self.out)?;
            }
        }
        Ok(())
    }

    /// The body of one list-op statement: the items bracketed, `None` for an
    /// empty list, and a lone item bare where its type allows it
    /// (C++ `_WriteListOpList`).
    fn write_listop_items<T, F>(&mut self, items: &[T], fmt_item: &mut F) -> Result<(), FormatError>
    where
        T: ListOpItem,
        F: FnMut(&mut String, &T) -> Result<(), FormatError>,
    {
        if items.is_empty() {
            self.out.write_all(b"None")?;
        } else if items.len() == 1 && !items[0].needs_brackets() {
            let mut buf = String::new();
            fmt_item(&mut buf, &items[0])?;
            self.out.write_all(buf.as_bytes())?;
        } else {
            self.out.write_all(b"[")?;
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    self.out.write_all(b", ")?;
                }
                let mut buf = String::new();
                fmt_item(&mut buf, item)?;
                self.out.write_all(buf.as_bytes())?;
            }
            self.out.write_all(b"]")?;
        }
        Ok(())
    }

    // ---------- value formatting ----------

    fn write_value(&mut self, value: &Value) -> Result<(), FormatError> {
        let mut buf = String::new();
        format_value(&mut buf, value)?;
        self.out.write_all(buf.as_bytes())?;
        Ok(())
    }

    fn write_time_samples(&mut self, samples: &[(f64, Value)]) -> Result<(), FormatError> {
        self.out.write_all(b"{")?;
        writeln!(self.out)?;
        self.indent += 1;
        for (time, value) in samples {
            self.write_indent()?;
            let mut t = String::new();
            format_double(&mut t, *time);
            write!(self.out, "{t}: ")?;
            self.write_value(value)?;
            writeln!(self.out, ",")?;
        }
        self.indent -= 1;
        self.write_indent()?;
        self.out.write_all(b"}")?;
        Ok(())
    }
}

// ---------- value formatter (string-producing) ----------

// One arm per variant, grouped by value type family so a new variant has an
// obvious home. Folding together the distinct variants that happen to share
// a formatter would scatter that grouping.
#[allow(clippy::match_same_arms)]
fn format_value(s: &mut String, v: &Value) -> Result<(), FormatError> {
    match v {
        // The USDA parser reads the `None` token as `Value::ValueBlock`. Emitting
        // either `Value::None` (absent-opinion marker) or `Value::Value` (expression
        // placeholder) as `None` would silently re-parse as `Value::ValueBlock` and
        // drop the original variant.
        Value::None => {
            return Err(FormatError::Encode {
                reason: "Value::None cannot be serialized to USDA".into(),
            });
        }
        Value::Value => {
            return Err(FormatError::Encode {
                reason: "Value::Value cannot be serialized to USDA".into(),
            });
        }
        Value::ValueBlock => s.push_str("None"),

        Value::Bool(b) => s.push_str(if *b { "true" } else { "false" }),
        Value::BoolVec(v) => format_vec(s, v, |s, b| {
            s.push_str(if *b { "true" } else { "false" });
            Ok(())
        })?,

        Value::Uchar(n) => write!(s, "{n}")?,
        Value::UcharVec(v) => format_vec(s, v, |s, n| write!(s, "{n}").map_err(Into::into))?,
        Value::Int(n) => write!(s, "{n}")?,
        Value::IntVec(v) => format_vec(s, v, |s, n| write!(s, "{n}").map_err(Into::into))?,
        Value::Uint(n) => write!(s, "{n}")?,
        Value::UintVec(v) => format_vec(s, v, |s, n| write!(s, "{n}").map_err(Into::into))?,
        Value::Int64(n) => write!(s, "{n}")?,
        Value::Int64Vec(v) => format_vec(s, v, |s, n| write!(s, "{n}").map_err(Into::into))?,
        Value::Uint64(n) => write!(s, "{n}")?,
        Value::Uint64Vec(v) => format_vec(s, v, |s, n| write!(s, "{n}").map_err(Into::into))?,

        Value::Half(h) => format_double(s, h.to_f64()),
        Value::HalfVec(v) => format_vec(s, v, |s, h| {
            format_double(s, h.to_f64());
            Ok(())
        })?,
        Value::Float(f) => format_double(s, f64::from(*f)),
        Value::FloatVec(v) => format_vec(s, v, |s, f| {
            format_double(s, f64::from(*f));
            Ok(())
        })?,
        Value::Double(d) => format_double(s, *d),
        Value::DoubleVec(v) => format_vec(s, v, |s, d| {
            format_double(s, *d);
            Ok(())
        })?,

        Value::String(v) => write_quoted(s, v)?,
        Value::StringVec(v) => format_vec(s, v, |s, t: &String| write_quoted(s, t))?,
        Value::Token(v) => write_quoted(s, v)?,
        Value::TokenVec(v) => format_vec(s, v, |s, t: &Token| write_quoted(s, t))?,

        Value::AssetPath(v) => write_asset_path(s, v)?,
        Value::AssetPathVec(v) => format_vec(s, v, |s, p: &AssetPath| write_asset_path(s, p))?,

        Value::Vec2h(a) => format_tuple_half(s, &[a.x, a.y])?,
        Value::Vec3h(a) => format_tuple_half(s, &[a.x, a.y, a.z])?,
        Value::Vec4h(a) => format_tuple_half(s, &[a.x, a.y, a.z, a.w])?,
        Value::Quath(a) => format_tuple_half(s, &[a.w, a.x, a.y, a.z])?,
        Value::Vec2hVec(v) => format_vec(s, v, |s, a| format_tuple_half(s, &[a.x, a.y]))?,
        Value::Vec3hVec(v) => format_vec(s, v, |s, a| format_tuple_half(s, &[a.x, a.y, a.z]))?,
        Value::Vec4hVec(v) => format_vec(s, v, |s, a| format_tuple_half(s, &[a.x, a.y, a.z, a.w]))?,
        Value::QuathVec(v) => format_vec(s, v, |s, a| format_tuple_half(s, &[a.w, a.x, a.y, a.z]))?,

        Value::Vec2f(a) => format_tuple_f32(s, &[a.x, a.y])?,
        Value::Vec3f(a) => format_tuple_f32(s, &[a.x, a.y, a.z])?,
        Value::Vec4f(a) => format_tuple_f32(s, &[a.x, a.y, a.z, a.w])?,
        Value::Quatf(a) => format_tuple_f32(s, &[a.w, a.x, a.y, a.z])?,
        Value::Vec2fVec(v) => format_vec(s, v, |s, a| format_tuple_f32(s, &[a.x, a.y]))?,
        Value::Vec3fVec(v) => format_vec(s, v, |s, a| format_tuple_f32(s, &[a.x, a.y, a.z]))?,
        Value::Vec4fVec(v) => format_vec(s, v, |s, a| format_tuple_f32(s, &[a.x, a.y, a.z, a.w]))?,
        Value::QuatfVec(v) => format_vec(s, v, |s, a| format_tuple_f32(s, &[a.w, a.x, a.y, a.z]))?,

        Value::Vec2d(a) => format_tuple_f64(s, &[a.x, a.y])?,
        Value::Vec3d(a) => format_tuple_f64(s, &[a.x, a.y, a.z])?,
        Value::Vec4d(a) => format_tuple_f64(s, &[a.x, a.y, a.z, a.w])?,
        Value::Quatd(a) => format_tuple_f64(s, &[a.w, a.x, a.y, a.z])?,
        Value::Vec2dVec(v) => format_vec(s, v, |s, a| format_tuple_f64(s, &[a.x, a.y]))?,
        Value::Vec3dVec(v) => format_vec(s, v, |s, a| format_tuple_f64(s, &[a.x, a.y, a.z]))?,
        Value::Vec4dVec(v) => format_vec(s, v, |s, a| format_tuple_f64(s, &[a.x, a.y, a.z, a.w]))?,
        Value::QuatdVec(v) => format_vec(s, v, |s, a| format_tuple_f64(s, &[a.w, a.x, a.y, a.z]))?,

        Value::Vec2i(a) => format_tuple_int(s, &[a.x, a.y])?,
        Value::Vec3i(a) => format_tuple_int(s, &[a.x, a.y, a.z])?,
        Value::Vec4i(a) => format_tuple_int(s, &[a.x, a.y, a.z, a.w])?,
        Value::Vec2iVec(v) => format_vec(s, v, |s, a| format_tuple_int(s, &[a.x, a.y]))?,
        Value::Vec3iVec(v) => format_vec(s, v, |s, a| format_tuple_int(s, &[a.x, a.y, a.z]))?,
        Value::Vec4iVec(v) => format_vec(s, v, |s, a| format_tuple_int(s, &[a.x, a.y, a.z, a.w]))?,

        Value::Matrix2d(m) => format_matrix(s, &m.0, 2)?,
        Value::Matrix3d(m) => format_matrix(s, &m.0, 3)?,
        Value::Matrix4d(m) => format_matrix(s, &m.0, 4)?,
        Value::Matrix2dVec(v) => format_vec(s, v, |s, m| format_matrix(s, &m.0, 2))?,
        Value::Matrix3dVec(v) => format_vec(s, v, |s, m| format_matrix(s, &m.0, 3))?,
        Value::Matrix4dVec(v) => format_vec(s, v, |s, m| format_matrix(s, &m.0, 4))?,

        Value::Specifier(sp) => s.push_str(specifier_keyword(*sp)),
        Value::Permission(p) => s.push_str(match p {
            sdf::Permission::Public => "public",
            sdf::Permission::Private => "private",
        }),
        Value::Variability(vr) => s.push_str(match vr {
            Variability::Varying => "varying",
            Variability::Uniform => "uniform",
        }),

        Value::Dictionary(dict) => format_dictionary(s, dict)?,

        Value::TokenListOp(op) => format_inline_listop(s, op, |s, t: &Token| write_quoted(s, t.as_str()))?,
        Value::StringListOp(op) => format_inline_listop(s, op, |s, t: &String| write_quoted(s, t))?,
        Value::PathListOp(op) => format_inline_listop(s, op, |s, p| {
            write!(s, "<{}>", p.as_str())?;
            Ok(())
        })?,
        Value::ReferenceListOp(op) => format_inline_listop(s, op, write_reference)?,
        Value::PayloadListOp(op) => format_inline_listop(s, op, write_payload)?,
        Value::IntListOp(op) => format_inline_listop(s, op, |s, v| write!(s, "{v}").map_err(Into::into))?,
        Value::Int64ListOp(op) => format_inline_listop(s, op, |s, v| write!(s, "{v}").map_err(Into::into))?,
        Value::UIntListOp(op) => format_inline_listop(s, op, |s, v| write!(s, "{v}").map_err(Into::into))?,
        Value::UInt64ListOp(op) => format_inline_listop(s, op, |s, v| write!(s, "{v}").map_err(Into::into))?,

        Value::Payload(p) => write_payload(s, p)?,
        Value::PathVec(v) => format_vec(s, v, |s, p| {
            write!(s, "<{}>", p.as_str())?;
            Ok(())
        })?,
        Value::Relocates(v) => {
            s.push_str("{ ");
            for (i, (src, tgt)) in v.iter().enumerate() {
                if i > 0 {
                    s.push_str(", ");
                }
                write!(s, "<{}>: <{}>", src.as_str(), tgt.as_str())?;
            }
            s.push_str(" }");
        }
        Value::VariantSelectionMap(m) => {
            let mut keys: Vec<&String> = m.keys().collect();
            keys.sort();
            s.push_str("{ ");
            for (i, k) in keys.iter().enumerate() {
                if i > 0 {
                    s.push_str("; ");
                }
                s.push_str("string ");
                write_quoted(s, k)?;
                s.push_str(" = ");
                write_quoted(s, &m[*k])?;
            }
            s.push_str(" }");
        }

        Value::TimeSamples(_) => {
            return Err(FormatError::Encode {
                reason: "Value::TimeSamples must be handled by caller".into(),
            });
        }

        Value::Opaque => {
            return Err(FormatError::Encode {
                reason: "an opaque value is never serialized".into(),
            });
        }

        Value::LayerOffsetVec(offsets) => {
            format_vec(s, offsets, |s, o| {
                format_layer_offset(s, o);
                Ok(())
            })?;
        }

        Value::ValueVec(v) => format_vec(s, v, format_value)?,
        // An unregistered value is the literal a layer was written with,
        // recorded because nothing could type it. Quoting it would make it a
        // string; it is copied out as it came in.
        Value::UnregisteredValue(v) => s.push_str(v),
        Value::UnregisteredValueListOp(op) => format_inline_listop(s, op, |s, body: &String| {
            s.push_str(body);
            Ok(())
        })?,
        Value::UnregisteredDictionary(dict) => format_dictionary(s, dict)?,

        Value::TimeCode(t) => format_double(s, t.0),
        Value::TimeCodeVec(v) => format_vec(s, v, |s, t| {
            format_double(s, t.0);
            Ok(())
        })?,

        Value::PathExpression(expr) => write_quoted(s, &expr.to_string())?,
        Value::PathExpressionVec(v) => format_vec(s, v, |s, expr| {
            write_quoted(s, &expr.to_string())?;
            Ok(())
        })?,
    }
    Ok(())
}

fn format_vec<T, F>(s: &mut String, items: &[T], mut fmt: F) -> Result<(), FormatError>
where
    F: FnMut(&mut String, &T) -> Result<(), FormatError>,
{
    s.push('[');
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            s.push_str(", ");
        }
        fmt(s, item)?;
    }
    s.push(']');
    Ok(())
}

/// An item of a list op, which knows whether it can be written without the
/// brackets around it when it is the only one.
///
/// C++ answers this per element type too
/// (`_ListOpWriter<T>::SingleItemRequiresBrackets`), and for the same reason:
/// `prepend apiSchemas = "X"` does not read as a list, while
/// `prepend references = @a.usd@` does.
trait ListOpItem: Default + Clone + PartialEq {
    fn needs_brackets(&self) -> bool;
}

/// A lone name or number keeps its brackets: nothing else marks it as a list.
macro_rules! bracketed_items {
    ($($ty:ty),* $(,)?) => {
        $(impl ListOpItem for $ty {
            fn needs_brackets(&self) -> bool {
                true
            }
        })*
    };
}

bracketed_items!(Token, String, i32, u32, i64, u64);

/// A name, which writes bare even when alone: the grammar takes a single
/// name without brackets (C++ `Sdf_FileIOUtility::WriteNameVector`).
#[derive(Default, Clone, PartialEq)]
struct Name(String);

impl ListOpItem for Name {
    fn needs_brackets(&self) -> bool {
        false
    }
}

/// A lone path is already delimited by its angle brackets.
impl ListOpItem for sdf::Path {
    fn needs_brackets(&self) -> bool {
        false
    }
}

/// A lone payload is already delimited by its asset path.
impl ListOpItem for sdf::Payload {
    fn needs_brackets(&self) -> bool {
        false
    }
}

/// A reference writes bare like a payload, until custom data gives it a
/// parenthesised block that would swallow a following item.
impl ListOpItem for sdf::Reference {
    fn needs_brackets(&self) -> bool {
        !self.custom_data.is_empty()
    }
}

fn format_inline_listop<T, F>(s: &mut String, op: &ListOp<T>, fmt_item: F) -> Result<(), FormatError>
where
    T: Default + Clone + PartialEq,
    F: FnMut(&mut String, &T) -> Result<(), FormatError>,
{
    // Only explicit list ops render inline; non-explicit must be broken out by caller.
    if !op.explicit {
        // Best-effort: flatten for inline contexts.
        let items = op.flatten();
        return format_vec(s, &items, fmt_item);
    }
    format_vec(s, &op.explicit_items, fmt_item)
}

fn format_tuple_half<const N: usize>(s: &mut String, a: &[crate::gf::f16; N]) -> Result<(), FormatError> {
    s.push('(');
    for (i, v) in a.iter().enumerate() {
        if i > 0 {
            s.push_str(", ");
        }
        format_double(s, v.to_f64());
    }
    s.push(')');
    Ok(())
}

fn format_tuple_f32<const N: usize>(s: &mut String, a: &[f32; N]) -> Result<(), FormatError> {
    s.push('(');
    for (i, v) in a.iter().enumerate() {
        if i > 0 {
            s.push_str(", ");
        }
        format_double(s, f64::from(*v));
    }
    s.push(')');
    Ok(())
}

fn format_tuple_f64<const N: usize>(s: &mut String, a: &[f64; N]) -> Result<(), FormatError> {
    s.push('(');
    for (i, v) in a.iter().enumerate() {
        if i > 0 {
            s.push_str(", ");
        }
        format_double(s, *v);
    }
    s.push(')');
    Ok(())
}

fn format_tuple_int<const N: usize>(s: &mut String, a: &[i32; N]) -> Result<(), FormatError> {
    s.push('(');
    for (i, v) in a.iter().enumerate() {
        if i > 0 {
            s.push_str(", ");
        }
        write!(s, "{v}")?;
    }
    s.push(')');
    Ok(())
}

fn format_matrix(s: &mut String, m: &[f64], dim: usize) -> Result<(), FormatError> {
    s.push('(');
    for row in 0..dim {
        if row > 0 {
            s.push_str(", ");
        }
        s.push('(');
        for col in 0..dim {
            if col > 0 {
                s.push_str(", ");
            }
            format_double(s, m[row * dim + col]);
        }
        s.push(')');
    }
    s.push(')');
    Ok(())
}

/// Looks up `key` in `dict` and returns its `Double` value, defaulting to `0.0`
/// when the key is missing or holds a non-double.
fn get_double(dict: &HashMap<String, Value>, key: &str) -> f64 {
    match dict.get(key) {
        Some(Value::Double(v)) => *v,
        _ => 0.0,
    }
}

fn format_double(s: &mut String, v: f64) {
    if v.is_nan() {
        s.push_str("nan");
    } else if v.is_infinite() {
        s.push_str(if v > 0.0 { "inf" } else { "-inf" });
    } else if v.fract() == 0.0 && v.is_finite() && v.abs() < 1e16 {
        // Integer-valued floats need an explicit `.0` to re-parse as a float
        // rather than an int in type-free contexts (time samples, dict entries).
        let as_int = v as i64;
        write!(s, "{as_int}.0").unwrap();
    } else {
        // Ryu-backed shortest round-trip.
        write!(s, "{v}").unwrap();
    }
}

fn format_dictionary(s: &mut String, dict: &HashMap<String, Value>) -> Result<(), FormatError> {
    let mut keys: Vec<&String> = dict.keys().collect();
    keys.sort();
    s.push('{');
    s.push('\n');
    for k in &keys {
        let value = &dict[k.as_str()];
        // A nested dictionary is introduced by the `dictionary` keyword; any
        // other entry carries the role-blind name of its value's kind, as C++
        // emits it.
        let type_name = match value {
            // A dictionary under an unregistered field is still spelled as
            // one; only the field around it was unregistered.
            Value::Dictionary(_) | Value::UnregisteredDictionary(_) => Some(Token::new("dictionary")),
            other => sdf::ValueKind::from(other).type_name().map(|ty| ty.as_token()),
        };
        s.push_str("    ");
        if let Some(ty) = type_name {
            s.push_str(ty.as_str());
            s.push(' ');
        }
        if is_bare_dict_key(k) {
            s.push_str(k);
        } else {
            write_quoted(s, k)?;
        }
        s.push_str(" = ");
        format_value(s, value)?;
        s.push('\n');
    }
    s.push('}');
    Ok(())
}

/// A dictionary key can be emitted unquoted only when it is an identifier:
/// starts with a letter/underscore and continues with alphanumerics and
/// underscores. A namespaced one is not (C++ `_WriteDictionary` quotes it).
fn is_bare_dict_key(k: &str) -> bool {
    let mut chars = k.chars();
    match chars.next() {
        Some(c) if c.is_ascii_alphabetic() || c == '_' => {}
        _ => return false,
    }
    chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn format_layer_offset(s: &mut String, o: &LayerOffset) {
    s.push('(');
    format_double(s, o.offset);
    s.push_str(", ");
    format_double(s, o.scale);
    s.push(')');
}

/// Writes `text` as a double-quoted USDA string, escaping what the delimiter and
/// the line-oriented grammar cannot carry.
///
/// The reader expands escapes (C++ `TfEscapeStringReplaceChar`), so a backslash
/// must be doubled or it would read back as whatever it precedes — a Windows
/// path would return with `\t` as a tab. Escaping also means one delimiter
/// always suffices, so no string is unquotable.
fn write_quoted(s: &mut String, text: &str) -> Result<(), FormatError> {
    s.push('"');
    for c in text.chars() {
        match c {
            '"' => s.push_str("\\\""),
            '\\' => s.push_str("\\\\"),
            '\n' => s.push_str("\\n"),
            '\r' => s.push_str("\\r"),
            '\t' => s.push_str("\\t"),
            other => s.push(other),
        }
    }
    s.push('"');
    Ok(())
}

fn write_asset_path(s: &mut String, path: &str) -> Result<(), FormatError> {
    if path.contains('@') {
        s.push_str("@@@");
        s.push_str(path);
        s.push_str("@@@");
    } else {
        s.push('@');
        s.push_str(path);
        s.push('@');
    }
    Ok(())
}

fn write_reference(s: &mut String, r: &Reference) -> Result<(), FormatError> {
    if !r.asset_path.is_empty() {
        write_asset_path(s, &r.asset_path)?;
    }
    if !r.prim_path.is_empty() {
        write!(s, "<{}>", r.prim_path.as_str())?;
    }
    write_arc_metadata(s, &r.layer_offset, &r.custom_data)
}

fn write_payload(s: &mut String, p: &Payload) -> Result<(), FormatError> {
    if !p.asset_path.is_empty() {
        write_asset_path(s, &p.asset_path)?;
    }
    if !p.prim_path.is_empty() {
        write!(s, "<{}>", p.prim_path.as_str())?;
    }
    write_arc_metadata(s, &p.layer_offset, &HashMap::new())
}

/// Writes the parenthesized metadata after a sublayer, reference, or payload
/// asset: the layer offset unless it is the identity, then any custom data.
/// Writes nothing when neither is present.
fn write_arc_metadata(
    s: &mut String,
    offset: &LayerOffset,
    custom_data: &HashMap<String, Value>,
) -> Result<(), FormatError> {
    let mut parts = Vec::new();
    if !offset.is_identity() {
        let mut part = String::from("offset = ");
        format_double(&mut part, offset.offset);
        part.push_str("; scale = ");
        format_double(&mut part, offset.scale);
        parts.push(part);
    }
    if !custom_data.is_empty() {
        let mut part = String::from("customData = ");
        format_dictionary(&mut part, custom_data)?;
        parts.push(part);
    }
    if !parts.is_empty() {
        write!(s, " ({})", parts.join("; "))?;
    }
    Ok(())
}

fn specifier_keyword(s: Specifier) -> &'static str {
    match s {
        Specifier::Def => "def",
        Specifier::Over => "over",
        Specifier::Class => "class",
    }
}

fn get_value(data: &dyn AbstractData, path: &Path, field: &str) -> Option<Value> {
    data.get_field(path, field).ok().map(|v| v.into_owned())
}

/// Composed `primChildren` / `propertyChildren` name list (`key` selects which),
/// empty when unset.
fn children(data: &dyn AbstractData, path: &Path, key: ChildrenKey) -> Vec<Token> {
    match get_value(data, path, key.as_str()) {
        Some(Value::TokenVec(v)) => v,
        _ => Vec::new(),
    }
}

// Field classifiers. Match C++ `Sdf_Is{Prim,Attribute,Relationship}MetadataField`.

/// `spline` names the in-memory spline dictionary slot but isn't yet defined
/// in [`FieldKey`]. Keep it local until promoted into the schema.
const SPLINE_FIELD: &str = "spline";

const PRIM_STRUCTURAL_FIELDS: &[&str] = &[
    FieldKey::Specifier.as_str(),
    FieldKey::TypeName.as_str(),
    FieldKey::PrimOrder.as_str(),
    FieldKey::PropertyOrder.as_str(),
    ChildrenKey::PrimChildren.as_str(),
    ChildrenKey::PropertyChildren.as_str(),
    ChildrenKey::VariantChildren.as_str(),
    ChildrenKey::VariantSetChildren.as_str(),
];

const ATTRIBUTE_STRUCTURAL_FIELDS: &[&str] = &[
    FieldKey::TypeName.as_str(),
    FieldKey::Default.as_str(),
    FieldKey::Custom.as_str(),
    FieldKey::Variability.as_str(),
    FieldKey::TimeSamples.as_str(),
    FieldKey::ConnectionPaths.as_str(),
    ChildrenKey::ConnectionChildren.as_str(),
    SPLINE_FIELD,
];

const RELATIONSHIP_STRUCTURAL_FIELDS: &[&str] = &[
    FieldKey::Custom.as_str(),
    FieldKey::Variability.as_str(),
    FieldKey::TargetPaths.as_str(),
    ChildrenKey::RelationshipTargetChildren.as_str(),
];

fn is_prim_structural_field(name: &str) -> bool {
    PRIM_STRUCTURAL_FIELDS.contains(&name)
}

fn is_attribute_structural_field(name: &str) -> bool {
    ATTRIBUTE_STRUCTURAL_FIELDS.contains(&name)
}

fn is_relationship_structural_field(name: &str) -> bool {
    RELATIONSHIP_STRUCTURAL_FIELDS.contains(&name)
}
