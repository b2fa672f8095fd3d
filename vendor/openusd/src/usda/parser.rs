use super::error::{Ctx, RawError, bail, ensure};
use std::collections::HashMap;

use crate::sdf::{
    self,
    schema::{ChildrenKey, FieldKey},
};
use crate::tf;

use super::cursor::Cursor;
use super::error::ParseError;
use super::token::Token;
use super::types;

/// Parser translates a list of tokens into structured data.
pub struct Parser<'a> {
    cursor: Cursor<'a>,
}

/// The names a prim or variant body declares: child prims, properties, and
/// variant sets, in authored order.
type PrimBodyNames = (Vec<String>, Vec<String>, Vec<String>);

impl<'a> Parser<'a> {
    pub fn new(data: &'a str) -> Self {
        Self {
            cursor: Cursor::new(data),
        }
    }

    /// Consumes and returns an identifier or keyword-as-name token.
    ///
    /// Keyword tokens (e.g. `rel`, `kind`) are accepted through
    /// `keyword_lexeme`, so they may be used as property or relationship names.
    fn expect_name(&mut self) -> Result<&'a str, RawError> {
        let token = self.cursor.bump()?;
        match token {
            Token::Identifier(s) | Token::NamespacedIdentifier(s) => Ok(s),
            other => other
                .keyword_lexeme()
                .ok_or_else(|| RawError::new(format!("expected name, got {other:?}"))),
        }
    }

    /// Tries to consume a list-op keyword (`add`, `append`, `prepend`, `delete`, `reorder`).
    fn try_list_op(&mut self) -> Result<Option<Token<'a>>, RawError> {
        if matches!(
            self.cursor.peek()?,
            Some(Token::Add | Token::Append | Token::Prepend | Token::Delete | Token::Reorder)
        ) {
            return Ok(Some(self.cursor.bump()?));
        }
        Ok(None)
    }

    /// Parses a single item or a bracketed array of items.
    fn parse_one_or_list<T>(
        &mut self,
        mut parse: impl FnMut(&mut Cursor<'a>) -> Result<T, RawError>,
    ) -> Result<Vec<T>, RawError> {
        if self.cursor.eat(&Token::None)? {
            return Ok(Vec::new());
        }
        if self.cursor.at_punctuation('[')? {
            return types::parse_array_with(&mut self.cursor, parse);
        }
        Ok(vec![parse(&mut self.cursor)?])
    }

    /// Runs `entry` over each item of a delimited block, tolerating `,` and `;`
    /// separators between items.
    fn parse_block(
        &mut self,
        open: char,
        close: char,
        mut entry: impl FnMut(&mut Self) -> Result<(), RawError>,
    ) -> Result<(), RawError> {
        self.cursor.expect_punctuation(open)?;
        loop {
            if self.cursor.eat_punctuation(close)? {
                break;
            }
            entry(self)?;
            while self.cursor.eat_punctuation(',')? || self.cursor.eat_punctuation(';')? {}
        }
        Ok(())
    }

    /// Parse tokens to specs, locating any failure in the source text.
    pub fn parse(mut self) -> Result<HashMap<sdf::Path, sdf::SpecData>, ParseError> {
        self.parse_impl()
            .map_err(|cause| ParseError::new(cause, self.cursor.source(), self.cursor.diagnostic_span()))
    }

    /// Walks the entire token stream, seeding the pseudo root and recursing through every prim.
    fn parse_impl(&mut self) -> Result<HashMap<sdf::Path, sdf::SpecData>, RawError> {
        let mut data = HashMap::new();
        let current_path = sdf::Path::abs_root();

        // Read pseudo root.
        let mut pseudo_root_spec = self.read_pseudo_root().context("Unable to parse pseudo root")?;
        let mut root_children = Vec::new();

        // Read root defs and any layer-level `reorder rootPrims` statements.
        while let Some(token) = self.cursor.peek()? {
            if matches!(token, Token::Reorder) {
                self.read_reorder(&mut pseudo_root_spec)?;
            } else {
                self.read_prim(&current_path, &mut root_children, &mut data)?;
            }
        }

        if !root_children.is_empty() {
            pseudo_root_spec.add(ChildrenKey::PrimChildren, sdf::Value::token_vec(root_children));
        }
        data.insert(current_path.clone(), pseudo_root_spec);
        Ok(data)
    }

    /// Parse the file header/pseudo-root to populate layer-level metadata before prim traversal.
    fn read_pseudo_root(&mut self) -> Result<sdf::SpecData, RawError> {
        // Make sure text file starts with #usda...
        let version = match self.cursor.bump()? {
            Token::Magic(version) => version,
            other => bail!("Text file must start with magic token, got {other:?}"),
        };
        ensure!(version.starts_with("1.0"), "Unsupported USDA version: {version:?}");

        let mut root = sdf::SpecData::new(sdf::SpecType::PseudoRoot);

        if !self.cursor.at_punctuation('(')? {
            return Ok(root);
        }

        const KNOWN_PROPS: &[(&str, sdf::ValueTypeName)] = &[
            (FieldKey::DefaultPrim.as_str(), sdf::ValueTypeName::TOKEN),
            (FieldKey::StartTimeCode.as_str(), sdf::ValueTypeName::DOUBLE),
            (FieldKey::HasOwnedSubLayers.as_str(), sdf::ValueTypeName::BOOL),
            ("doc", sdf::ValueTypeName::STRING),
            ("endTimeCode", sdf::ValueTypeName::DOUBLE),
            ("framePrecision", sdf::ValueTypeName::INT),
            ("framesPerSecond", sdf::ValueTypeName::DOUBLE),
            ("metersPerUnit", sdf::ValueTypeName::DOUBLE),
            ("timeCodesPerSecond", sdf::ValueTypeName::DOUBLE),
            ("upAxis", sdf::ValueTypeName::TOKEN),
        ];

        self.parse_block('(', ')', |this| {
            let next = this
                .cursor
                .bump()
                .context("Unable to fetch next pseudo root property")?;

            match next {
                Token::String(str) => {
                    root.add(FieldKey::Comment, sdf::Value::String(str.into_owned()));
                }
                Token::Doc => {
                    this.cursor.expect_punctuation('=')?;
                    let value = this.cursor.expect_string()?;
                    root.add(FieldKey::Documentation, sdf::Value::String(value.into_owned()));
                }
                Token::SubLayers => {
                    this.cursor.expect_punctuation('=')?;
                    let (sublayers, offsets) =
                        types::parse_sublayers(&mut this.cursor).context("Unable to parse subLayers")?;
                    root.add(FieldKey::SubLayers, sdf::Value::StringVec(sublayers));
                    root.add(FieldKey::SubLayerOffsets, sdf::Value::LayerOffsetVec(offsets));
                }
                Token::Relocates => {
                    this.cursor.expect_punctuation('=')?;
                    let pairs = types::parse_relocates(&mut this.cursor).context("Unable to parse relocates")?;
                    root.add(FieldKey::LayerRelocates, sdf::Value::Relocates(pairs));
                }
                Token::Identifier(name) => {
                    this.cursor.expect_punctuation('=')?;
                    if let Some((known_name, ty)) = KNOWN_PROPS.iter().find(|(n, _)| *n == name) {
                        let value = types::parse_value(&mut this.cursor, ty)
                            .with_context(|| format!("Unable to parse value for {known_name}"))?;
                        root.add(known_name, value);
                    } else if sdf::is_registered_field(name) {
                        let value = parse_registered_metadata(&mut this.cursor, name)
                            .with_context(|| format!("Unable to parse pseudo root metadata value for {name}"))?;
                        root.add(name, value);
                    } else {
                        record_unregistered_metadata(&mut this.cursor, &mut root, name, None)
                            .with_context(|| format!("Unable to record pseudo root metadata value for {name}"))?;
                    }
                }
                _ => bail!("Unexpected token {next:?}"),
            }
            Ok(())
        })?;

        Ok(root)
    }

    /// Parse a prim declaration, capture its metadata, and recursively traverse nested prims/props.
    fn read_prim(
        &mut self,
        current_path: &sdf::Path,
        parent_children: &mut Vec<String>,
        data: &mut HashMap<sdf::Path, sdf::SpecData>,
    ) -> Result<(), RawError> {
        let mut spec = sdf::SpecData::new(sdf::SpecType::Prim);

        let specifier = {
            let specifier_token = self.cursor.bump().context("Unable to read prim specifier")?;
            match specifier_token {
                Token::Def => sdf::Specifier::Def,
                Token::Over => sdf::Specifier::Over,
                Token::Class => sdf::Specifier::Class,
                _ => bail!("Unexpected prim specifier: {specifier_token:?}"),
            }
        };

        let mut name_token = self.cursor.bump()?;
        if let Token::Identifier(prim_type) = name_token {
            spec.add(FieldKey::TypeName, sdf::Value::token(prim_type));
            name_token = self.cursor.bump()?;
        }

        let Token::String(name) = name_token else {
            bail!("Expected prim name string, got {name_token:?}");
        };
        parent_children.push(name.to_string());
        let prim_path = current_path.append_path(name.as_ref())?;

        let mut properties = Vec::new();

        // Optional metadata block.
        if self.cursor.at_punctuation('(')? {
            self.parse_block('(', ')', |this| {
                this.read_prim_metadata_entry(&mut spec)
                    .context("Unable to parse prim metadata entry")
            })?;
        }

        let (children, props, variant_sets) = self.read_prim_body(&prim_path, &mut spec, data)?;
        if !children.is_empty() {
            spec.add(ChildrenKey::PrimChildren, sdf::Value::token_vec(children));
        }
        properties.extend(props);

        spec.add(FieldKey::Specifier, sdf::Value::Specifier(specifier));
        if !properties.is_empty() {
            spec.add(ChildrenKey::PropertyChildren, sdf::Value::token_vec(properties));
        }
        if !variant_sets.is_empty() {
            spec.add(ChildrenKey::VariantSetChildren, sdf::Value::token_vec(variant_sets));
        }
        data.insert(prim_path, spec);

        Ok(())
    }

    /// Parse the body of a prim or variant (`{ ... }`).
    ///
    /// Returns the child prim names, property names, and variant-set names
    /// found in the body ([`PrimBodyNames`]). `owner_spec` is the in-progress
    /// prim/variant spec that owns this body; `reorder` statements write
    /// `primOrder`/`propertyOrder` directly into it.
    fn read_prim_body(
        &mut self,
        path: &sdf::Path,
        owner_spec: &mut sdf::SpecData,
        data: &mut HashMap<sdf::Path, sdf::SpecData>,
    ) -> Result<PrimBodyNames, RawError> {
        let mut children = Vec::new();
        let mut properties = Vec::new();
        let mut suffixed_properties = Vec::<String>::new();
        let mut variant_sets = Vec::new();

        self.parse_block('{', '}', |this| {
            match this.cursor.peek()?.context("Unexpected end of prim body")? {
                Token::Def | Token::Over | Token::Class => {
                    this.read_prim(path, &mut children, data)?;
                }
                Token::VariantSet => {
                    let name = this.read_variant_set(path, data)?;
                    variant_sets.push(name);
                }
                Token::Rel => {
                    this.cursor.bump()?;
                    this.read_relationship(path, false, sdf::Variability::Uniform, &mut properties, data, None)?;
                }
                Token::Reorder => {
                    this.read_reorder(owner_spec)?;
                }
                _ => {
                    this.read_attribute(path, &mut properties, &mut suffixed_properties, data)?;
                }
            }
            Ok(())
        })?;

        // Append properties that were only declared via suffixed forms
        // (e.g. `.connect`, `.timeSamples`) and never had a bare declaration.
        for name in suffixed_properties {
            push_unique(&mut properties, &name);
        }

        Ok((children, properties, variant_sets))
    }

    /// Parse `reorder nameChildren = [...]`, `reorder properties = [...]`, or
    /// the layer-level `reorder rootPrims = [...]`.
    ///
    /// These statements set the `primOrder` or `propertyOrder` fields on the
    /// owning prim/variant spec, controlling child/property display order;
    /// `rootPrims` sets `primOrder` on the pseudo-root.
    fn read_reorder(&mut self, owner_spec: &mut sdf::SpecData) -> Result<(), RawError> {
        self.cursor.bump()?; // consume `reorder`

        let token = self
            .cursor
            .bump()
            .context("Expected 'nameChildren' or 'properties' after 'reorder'")?;
        let field_key = match token {
            Token::NameChildren | Token::RootPrims => FieldKey::PrimOrder,
            Token::Properties => FieldKey::PropertyOrder,
            other => bail!("Unsupported reorder target: {other:?}"),
        };

        self.cursor.expect_punctuation('=')?;

        let names = self.parse_one_or_list(|c| Ok(c.expect_string()?.into_owned()))?;
        owner_spec.add(field_key, sdf::Value::token_vec(names));

        Ok(())
    }

    /// Parse a `variantSet "name" = { "variant1" (...) { ... } ... }` block.
    ///
    /// Each variant inside the set is represented as a child prim under a variant set
    /// spec in the scene hierarchy: `/{prim}{vset=name}{variant}`.
    fn read_variant_set(
        &mut self,
        prim_path: &sdf::Path,
        data: &mut HashMap<sdf::Path, sdf::SpecData>,
    ) -> Result<String, RawError> {
        self.cursor.bump()?; // consume `variantSet`

        let name = self
            .cursor
            .expect_string()
            .context("Expected variant set name")?
            .to_string();
        self.cursor.expect_punctuation('=')?;

        // Create the variant set spec.
        let vset_path = prim_path.append_variant_selection(&name, "")?;
        let mut vset_spec = sdf::SpecData::new(sdf::SpecType::VariantSet);
        let mut variant_children = Vec::new();

        // Parse each variant: "VariantName" (...) { ... }
        self.parse_block('{', '}', |this| {
            let variant_name = this
                .cursor
                .expect_string()
                .context("Expected variant name")?
                .to_string();

            variant_children.push(variant_name.clone());

            let variant_path = prim_path.append_variant_selection(&name, &variant_name)?;
            let mut variant_spec = sdf::SpecData::new(sdf::SpecType::Variant);

            // Optional metadata block.
            if this.cursor.at_punctuation('(')? {
                this.parse_block('(', ')', |this| {
                    this.read_prim_metadata_entry(&mut variant_spec)
                        .context("Unable to parse variant metadata entry")
                })?;
            }

            // Variant body.
            let (children, properties, variant_sets) = this.read_prim_body(&variant_path, &mut variant_spec, data)?;
            if !children.is_empty() {
                variant_spec.add(ChildrenKey::PrimChildren, sdf::Value::token_vec(children));
            }
            if !properties.is_empty() {
                variant_spec.add(ChildrenKey::PropertyChildren, sdf::Value::token_vec(properties));
            }
            if !variant_sets.is_empty() {
                variant_spec.add(ChildrenKey::VariantSetChildren, sdf::Value::token_vec(variant_sets));
            }
            data.insert(variant_path, variant_spec);
            Ok(())
        })?;

        vset_spec.add(ChildrenKey::VariantChildren, sdf::Value::token_vec(variant_children));
        data.insert(vset_path, vset_spec);

        Ok(name)
    }

    /// Merge a spec's fields into an existing spec at the given path, or insert it.
    fn merge_spec(data: &mut HashMap<sdf::Path, sdf::SpecData>, path: sdf::Path, spec: sdf::SpecData) {
        use std::collections::hash_map::Entry;
        match data.entry(path) {
            Entry::Occupied(mut e) => e.get_mut().extend_from(spec),
            Entry::Vacant(e) => {
                e.insert(spec);
            }
        }
    }

    /// Create an attribute spec with the standard type/custom/variability
    /// fields. The `typeName` keeps the declared spelling (`Color`,
    /// `double3d[]`), as C++ stores it.
    fn make_attribute_spec(
        type_name: &sdf::ValueTypeName,
        custom: bool,
        variability: sdf::Variability,
    ) -> sdf::SpecData {
        let mut spec = sdf::SpecData::new(sdf::SpecType::Attribute);
        spec.add(FieldKey::TypeName, sdf::Value::Token(type_name.as_token()));
        if custom {
            spec.add(FieldKey::Custom, sdf::Value::Bool(true));
        }
        if variability != sdf::Variability::default() {
            spec.add(FieldKey::Variability, sdf::Value::Variability(variability));
        }
        spec
    }

    /// Statements of one attribute agree on its variability; upstream refuses
    /// others.
    fn ensure_variability(spec: &sdf::SpecData, variability: sdf::Variability, name: &str) -> Result<(), RawError> {
        let before = match spec.get(FieldKey::Variability.as_str()) {
            Some(sdf::Value::Variability(before)) => *before,
            _ => sdf::Variability::default(),
        };
        ensure!(before == variability, "The attribute {name} is uniform in one place and not in another");
        Ok(())
    }

    /// Parse an attribute/property declaration, including variability, metadata, and default value.
    fn read_attribute(
        &mut self,
        current_path: &sdf::Path,
        properties: &mut Vec<String>,
        suffixed_properties: &mut Vec<String>,
        data: &mut HashMap<sdf::Path, sdf::SpecData>,
    ) -> Result<(), RawError> {
        let mut custom = false;
        let list_op = self.try_list_op()?;

        if self.cursor.eat(&Token::Custom)? {
            custom = true;
        }

        // `varying` precedes `rel` for a varying relationship, and precedes the
        // type name for an attribute, so it is consumed before either.
        let varying = self.cursor.eat(&Token::Varying)?;
        if self.cursor.eat(&Token::Rel)? {
            let variability = match varying {
                true => sdf::Variability::Varying,
                false => sdf::Variability::Uniform,
            };
            return self.read_relationship(current_path, custom, variability, properties, data, list_op);
        }

        let mut spec = sdf::SpecData::new(sdf::SpecType::Attribute);
        let mut variability = sdf::Variability::Varying;
        if !varying && self.cursor.eat(&Token::Uniform)? {
            variability = sdf::Variability::Uniform;
        }

        let type_name = types::parse_type(&mut self.cursor)?.context("attribute type expected")?;

        let name = self.expect_name().context("attribute name expected")?;

        // Read optional `.suffix` (e.g. `.connect`, `.timeSamples`, `.spline`).
        let suffix = if self.cursor.eat_punctuation('.')? {
            Some(self.cursor.bump()?)
        } else {
            None
        };

        // Check for metadata before checking for assignment
        if self.cursor.at_punctuation('(')? {
            self.parse_property_metadata(&mut spec)
                .context("Unable to parse attribute metadata")?;
        }

        if matches!(suffix, Some(Token::Connect)) {
            push_unique(suffixed_properties, name);
            if self.cursor.eat_punctuation('=')? {
                let list_op = match list_op {
                    Some(op) => Some(op),
                    None => self.try_list_op()?,
                };
                // Connection targets are anchored to the owning prim, like
                // relationship targets, so a relative path (`<../sibling>`) is
                // stored absolute.
                let targets: Vec<sdf::Path> = self
                    .parse_one_or_list(|c| types::parse_path_reference(c).context("Connection path expected"))
                    .context("Unable to parse connection targets")?
                    .into_iter()
                    .map(|p| current_path.make_absolute(&p))
                    .collect();
                let path = current_path.append_property(name)?;

                let spec = data
                    .entry(path)
                    .or_insert_with(|| Self::make_attribute_spec(&type_name, custom, variability));
                Self::ensure_variability(spec, variability, name)?;

                let list_op = apply_list_op(list_op, targets).context("Unable to build connection listOp")?;
                spec.add_list_op(FieldKey::ConnectionPaths, sdf::Value::PathListOp(list_op));
            }
            return Ok(());
        }

        if matches!(suffix, Some(Token::TimeSamples)) {
            push_unique(suffixed_properties, name);
            self.cursor.expect_punctuation('=')?;
            let samples = types::parse_time_samples(&mut self.cursor, &type_name)?;
            let path = current_path.append_property(name)?;

            let spec = data
                .entry(path)
                .or_insert_with(|| Self::make_attribute_spec(&type_name, custom, variability));
            Self::ensure_variability(spec, variability, name)?;
            spec.add(FieldKey::TimeSamples, sdf::Value::TimeSamples(samples));
            return Ok(());
        }

        if matches!(suffix, Some(Token::Spline)) {
            push_unique(suffixed_properties, name);
            self.cursor.expect_punctuation('=')?;
            let spline = types::parse_spline(&mut self.cursor)?;
            let path = current_path.append_property(name)?;

            let spec = data
                .entry(path)
                .or_insert_with(|| Self::make_attribute_spec(&type_name, custom, variability));
            Self::ensure_variability(spec, variability, name)?;
            spec.add("spline", spline);
            return Ok(());
        }

        if let Some(tok) = suffix {
            bail!("Unsupported attribute suffix: {tok:?}");
        }

        // Check if there's an assignment
        if !self.cursor.at_punctuation('=')? {
            let path = current_path.append_property(name)?;
            push_unique(properties, name);

            let mut base = Self::make_attribute_spec(&type_name, custom, variability);
            base.extend_from(spec);
            Self::merge_spec(data, path, base);
            return Ok(());
        }

        self.cursor.expect_punctuation('=')?;
        let value = types::parse_value(&mut self.cursor, &type_name)?;
        let path = current_path.append_property(name)?;

        if self.cursor.at_punctuation('(')? {
            self.parse_property_metadata(&mut spec)
                .context("Unable to parse attribute metadata")?;
        }

        push_unique(properties, name);

        let mut base = Self::make_attribute_spec(&type_name, custom, variability);
        base.extend_from(spec);
        base.add(FieldKey::Default, value);
        Self::merge_spec(data, path, base);

        Ok(())
    }

    /// Parse the metadata block attached to a property and stash entries on the spec.
    fn parse_property_metadata(&mut self, spec: &mut sdf::SpecData) -> Result<(), RawError> {
        self.parse_block('(', ')', |this| {
            let list_op = this.try_list_op()?;

            let name_token = this.cursor.bump()?;
            let name = match name_token {
                // Bare string in property metadata is a comment.
                Token::String(s) => {
                    spec.add(FieldKey::Comment, sdf::Value::String(s.into_owned()));
                    return Ok(());
                }
                Token::Identifier(s) | Token::NamespacedIdentifier(s) => s.to_owned(),
                Token::CustomData => "customData".to_owned(),
                Token::Doc => FieldKey::Documentation.as_str().to_owned(),
                other => other
                    .keyword_lexeme()
                    .map(str::to_owned)
                    .ok_or_else(|| RawError::new(format!("Unexpected attribute metadata name token: {other:?}")))?,
            };

            this.cursor.expect_punctuation('=')?;

            if !sdf::is_registered_field(&name) {
                return record_unregistered_metadata(&mut this.cursor, spec, &name, list_op.as_ref())
                    .with_context(|| format!("Unable to record attribute metadata value for {name}"));
            }

            ensure!(list_op.is_none(), "{name} metadata does not support list ops");
            let value = parse_registered_metadata(&mut this.cursor, &name)
                .with_context(|| format!("Unable to parse attribute metadata value for {name}"))?;

            // A display unit is one of the names a unit category uses. C++
            // rejects any other rather than carrying it, so a typo is caught
            // where it was written instead of silently measuring in metres.
            if name == FieldKey::DisplayUnit.as_str() {
                let Some(spelling) = value.try_as_token_ref() else {
                    bail!("A display unit is spelled by name, as `displayUnit = mm`");
                };
                ensure!(
                    sdf::Unit::from_name(spelling.as_str()).is_some(),
                    "`{spelling}` is not a valid display unit"
                );
            }

            spec.add(name, value);
            Ok(())
        })?;

        Ok(())
    }

    fn read_relationship(
        &mut self,
        current_path: &sdf::Path,
        custom: bool,
        variability: sdf::Variability,
        properties: &mut Vec<String>,
        data: &mut HashMap<sdf::Path, sdf::SpecData>,
        outer_list_op: Option<Token<'a>>,
    ) -> Result<(), RawError> {
        let name = self.expect_name().context("relationship name expected")?;

        let mut spec = sdf::SpecData::new(sdf::SpecType::Relationship);
        if custom {
            spec.add(FieldKey::Custom, sdf::Value::Bool(true));
        }
        // `variability` falls back to varying, so only a uniform relationship —
        // the plain `rel` spelling — carries the field.
        if variability == sdf::Variability::Uniform {
            spec.add(FieldKey::Variability, sdf::Value::Variability(variability));
        }

        // Check for metadata before or instead of assignment
        if self.cursor.at_punctuation('(')? {
            self.parse_property_metadata(&mut spec)
                .context("Unable to parse relationship metadata")?;
        }

        let path = current_path.append_property(name)?;
        push_unique(properties, name);

        // Check if there's an assignment
        if !self.cursor.at_punctuation('=')? {
            Self::merge_spec(data, path, spec);
            return Ok(());
        }

        self.cursor.expect_punctuation('=')?;
        let list_op = match outer_list_op {
            Some(op) => Some(op),
            None => self.try_list_op()?,
        };
        let targets: Vec<sdf::Path> = self
            .parse_one_or_list(types::parse_path_reference)
            .context("Unable to parse relationship targets")?
            .into_iter()
            .filter(|p| !p.is_empty())
            .map(|p| path.make_absolute(&p))
            .collect();

        let list_op = apply_list_op(list_op, targets).context("Unable to build relationship targets listOp")?;
        // Each statement of a relationship is one operation of its list: those that
        // were read before stay.
        if let Some(before) = data.get(&path).and_then(|s| s.get(FieldKey::TargetPaths.as_str())) {
            spec.add(FieldKey::TargetPaths, before.clone());
        }
        spec.add_list_op(FieldKey::TargetPaths, sdf::Value::PathListOp(list_op));

        if self.cursor.at_punctuation('(')? {
            self.parse_property_metadata(&mut spec)
                .context("Unable to parse relationship metadata")?;
        }

        Self::merge_spec(data, path, spec);
        Ok(())
    }

    /// Parse prim metadata contained either within parentheses or directly after the prim
    /// declaration (until `{` is encountered).
    /// Parse a single prim metadata assignment, honoring list ops for supported fields.
    fn read_prim_metadata_entry(&mut self, spec: &mut sdf::SpecData) -> Result<(), RawError> {
        let list_op = self.try_list_op()?;
        let name_token = self.cursor.bump()?;

        let name = match name_token {
            // Bare string in metadata is a comment.
            Token::String(s) => {
                spec.add(FieldKey::Comment, sdf::Value::String(s.into_owned()));
                return Ok(());
            }
            // Names of fields that text has other words for; upstream refuses them.
            Token::Identifier(s @ ("inheritPaths" | "variantSetNames" | "variantSelection")) => {
                bail!("{s} is no metadata of a prim in text")
            }
            Token::Identifier(s) | Token::NamespacedIdentifier(s) => s,
            Token::Kind => FieldKey::Kind.as_str(),
            Token::References => FieldKey::References.as_str(),
            Token::Payload => FieldKey::Payload.as_str(),
            Token::Inherits => FieldKey::InheritPaths.as_str(),
            Token::Specializes => FieldKey::Specializes.as_str(),
            Token::Variants => FieldKey::VariantSelection.as_str(),
            Token::VariantSets => FieldKey::VariantSetNames.as_str(),
            Token::Relocates => FieldKey::Relocates.as_str(),
            Token::CustomData => "customData",
            Token::Doc => FieldKey::Documentation.as_str(),
            Token::Permission => FieldKey::Permission.as_str(),
            other => bail!("Unexpected metadata name token: {other:?}"),
        };

        self.cursor.expect_punctuation('=')?;

        match name {
            n if n == FieldKey::Active.as_str() => {
                let value = types::parse_token::<bool>(&mut self.cursor).context("Unable to parse active flag")?;
                spec.add(FieldKey::Active, sdf::Value::Bool(value));
            }
            "apiSchemas" => {
                let values = self
                    .parse_one_or_list(types::parse_token::<tf::Token>)
                    .context("Unable to parse apiSchemas list")?;
                let list_op = apply_list_op(list_op, values).context("Unable to build apiSchemas listOp")?;
                spec.add_list_op("apiSchemas", sdf::Value::TokenListOp(list_op));
            }
            n if n == FieldKey::References.as_str() => {
                let references = self
                    .parse_one_or_list(types::parse_reference)
                    .context("Unable to parse references")?;
                let list_op = apply_list_op(list_op, references).context("Unable to build references listOp")?;
                spec.add_list_op(FieldKey::References, sdf::Value::ReferenceListOp(list_op));
            }
            n if n == FieldKey::Payload.as_str() => {
                let payloads = self
                    .parse_one_or_list(types::parse_payload)
                    .context("Unable to parse payloads")?;
                let list_op = apply_list_op(list_op, payloads).context("Unable to build payload listOp")?;
                spec.add_list_op(FieldKey::Payload, sdf::Value::PayloadListOp(list_op));
            }
            n if n == FieldKey::InheritPaths.as_str() => {
                let paths = self.parse_one_or_list(types::parse_path_reference)?;
                // Arc targets address prims. Relationship-target and connection
                // paths share this production and do allow a variant selection,
                // so the restriction is applied here rather than in the parse.
                for p in &paths {
                    types::reject_variant_selection_in_path(p, "Inherit")?;
                }
                let list_op = apply_list_op(list_op, paths).context("Unable to build inherits listOp")?;
                spec.add_list_op(FieldKey::InheritPaths, sdf::Value::PathListOp(list_op));
            }
            n if n == FieldKey::Kind.as_str() => {
                ensure!(list_op.is_none(), "kind metadata does not support list ops");
                let value = types::parse_token::<String>(&mut self.cursor).context("Unable to parse kind metadata")?;
                spec.add(FieldKey::Kind, sdf::Value::token(value));
            }
            "customData" => {
                ensure!(list_op.is_none(), "customData metadata does not support list ops");
                let value =
                    types::parse_untyped_value(&mut self.cursor).context("Unable to parse customData dictionary")?;
                spec.add("customData", value);
            }
            n if n == FieldKey::Documentation.as_str() => {
                ensure!(list_op.is_none(), "doc metadata does not support list ops");
                let value = types::parse_token::<String>(&mut self.cursor).context("Unable to parse doc metadata")?;
                spec.add(FieldKey::Documentation, sdf::Value::String(value));
            }
            n if n == FieldKey::AssetInfo.as_str() => {
                ensure!(list_op.is_none(), "assetInfo does not support list ops");
                let value = types::parse_dictionary(&mut self.cursor).context("Unable to parse assetInfo")?;
                spec.add(FieldKey::AssetInfo, sdf::Value::Dictionary(value));
            }
            n if n == FieldKey::VariantSelection.as_str() => {
                ensure!(list_op.is_none(), "variants does not support list ops");
                let map = types::parse_dictionary(&mut self.cursor).context("Unable to parse variants")?;
                let selections: HashMap<String, String> = map
                    .into_iter()
                    .filter_map(|(k, v)| v.try_as_string().map(|s| (k, s)))
                    .collect();
                spec.add(FieldKey::VariantSelection, sdf::Value::VariantSelectionMap(selections));
            }
            n if n == FieldKey::VariantSetNames.as_str() => {
                // Names, not tokens: C++ registers the field as an
                // `SdfStringListOp`, which is also what the crate format
                // carries it as.
                let values = self
                    .parse_one_or_list(types::parse_token::<String>)
                    .context("Unable to parse variantSets")?;
                let list_op = apply_list_op(list_op, values).context("Unable to build variantSets listOp")?;
                spec.add_list_op(FieldKey::VariantSetNames, sdf::Value::StringListOp(list_op));
            }
            n if n == FieldKey::Specializes.as_str() => {
                let paths = self.parse_one_or_list(types::parse_path_reference)?;
                for p in &paths {
                    types::reject_variant_selection_in_path(p, "Specializes")?;
                }
                let list_op = apply_list_op(list_op, paths).context("Unable to build specializes listOp")?;
                spec.add_list_op(FieldKey::Specializes, sdf::Value::PathListOp(list_op));
            }
            n if n == FieldKey::Instanceable.as_str() => {
                ensure!(list_op.is_none(), "instanceable metadata does not support list ops");
                let value = types::parse_bool(&mut self.cursor).context("Unable to parse instanceable flag")?;
                spec.add(FieldKey::Instanceable, sdf::Value::Bool(value));
            }
            n if n == FieldKey::Relocates.as_str() => {
                ensure!(list_op.is_none(), "relocates does not support list ops");
                let pairs = types::parse_relocates(&mut self.cursor).context("Unable to parse relocates")?;
                spec.add(FieldKey::Relocates, sdf::Value::Relocates(pairs));
            }
            "displayName" => {
                ensure!(list_op.is_none(), "displayName does not support list ops");
                let value = self.cursor.expect_string().context("Unable to parse displayName")?;
                spec.add("displayName", sdf::Value::String(value.into_owned()));
            }
            n if n == FieldKey::Permission.as_str() => {
                ensure!(list_op.is_none(), "permission does not support list ops");
                let value = self.cursor.expect_identifier().context("Unable to parse permission")?;
                let perm = match value {
                    "public" => sdf::Permission::Public,
                    "private" => sdf::Permission::Private,
                    other => bail!("Invalid permission value: {other}"),
                };
                spec.add(FieldKey::Permission, sdf::Value::Permission(perm));
            }
            n if n == FieldKey::Prefix.as_str() => {
                ensure!(list_op.is_none(), "prefix does not support list ops");
                let value = self.cursor.expect_string().context("Unable to parse prefix")?;
                spec.add(FieldKey::Prefix, sdf::Value::String(value.into_owned()));
            }
            n if n == FieldKey::Clips.as_str() => {
                ensure!(list_op.is_none(), "clips metadata does not support list ops");
                let value = types::parse_dictionary(&mut self.cursor).context("Unable to parse clips dictionary")?;
                spec.add(FieldKey::Clips, sdf::Value::Dictionary(value));
            }
            n if n == FieldKey::ClipSets.as_str() => {
                let values = self
                    .parse_one_or_list(|c| Ok(c.expect_string()?.into_owned()))
                    .context("Unable to parse clipSets list")?;
                let list_op = apply_list_op(list_op, values).context("Unable to build clipSets listOp")?;
                spec.add_list_op(FieldKey::ClipSets, sdf::Value::StringListOp(list_op));
            }
            // A field no schema declares - DCC hints like
            // `hide_in_stage_window` or `no_delete`. The Sdf grammar accepts
            // any identifier in a metadata block, so the layer still loads and
            // the field passes through to whatever it is saved as.
            other if !sdf::is_registered_field(other) => {
                record_unregistered_metadata(&mut self.cursor, spec, other, list_op.as_ref())
                    .with_context(|| format!("Unable to record prim metadata value for {other}"))?;
            }
            // A registered field none of the productions above claims.
            other => {
                ensure!(list_op.is_none(), "{other} metadata does not support list ops");
                let value = parse_registered_metadata(&mut self.cursor, other)
                    .with_context(|| format!("Unable to parse prim metadata value for {other}"))?;
                spec.add(other, value);
            }
        }

        Ok(())
    }
}

/// Parse the value of the registered metadata field `name`.
///
/// A field some schema declares with a value type is read as that type, as
/// an attribute's value is: `elementSize` as an `int`, `irIsInvertible` as a
/// `bool`, `payloadAssetDependencies` as an `asset[]`, empty or not. Every
/// other registered field is read by the shape of its literal.
fn parse_registered_metadata(cursor: &mut Cursor<'_>, name: &str) -> Result<sdf::Value, RawError> {
    match sdf::schema_field_type(name).filter(|ty| ty.kind().is_some()) {
        Some(ty) => types::parse_value(cursor, &ty),
        None => types::parse_untyped_value(cursor),
    }
}

/// Wrap `items` in the list op the `op` keyword names, or an explicit list when
/// no keyword was authored.
fn apply_list_op<T: Default + Clone + PartialEq>(
    op: Option<Token<'_>>,
    items: Vec<T>,
) -> Result<sdf::ListOp<T>, RawError> {
    let Some(op) = op else {
        return Ok(sdf::ListOp::explicit(items));
    };
    let mut list_op = sdf::ListOp::default();
    set_list_op_items(&mut list_op, &op, items)?;
    Ok(list_op)
}

/// Store a metadata field no schema declares as the text it was authored
/// with, so it passes through loading and saving unchanged.
///
/// Nothing gives the literal a type, so nothing can parse it into a value.
/// A dictionary is the exception: it spells the type of every entry, so it
/// survives as one, and only the field around it is unregistered.
///
/// The rules are C++'s (`Sdf_TextParserHelpers`' generic-metadata path). An
/// assignment with no operation keyword replaces whatever was stored, since
/// its list-op status is unknown. An operation stores the whole body as one
/// recorded item and replaces that operation's items rather than adding to
/// them, so a repeated `prepend` keeps the last. An operation arriving after
/// a value that is not a list op is dropped, leaving the earlier value: only
/// a hand edit produces that, and the first value is as good an answer as any.
fn record_unregistered_metadata(
    cursor: &mut Cursor<'_>,
    spec: &mut sdf::SpecData,
    name: &str,
    list_op: Option<&Token<'_>>,
) -> Result<(), RawError> {
    if cursor.at_punctuation('{')? {
        let entries = types::parse_dictionary(cursor)?;
        spec.add(name, sdf::Value::UnregisteredDictionary(entries));
        return Ok(());
    }

    let literal = types::record_literal(cursor)?;

    let Some(op) = list_op else {
        spec.add(name, sdf::Value::UnregisteredValue(literal.to_owned()));
        return Ok(());
    };

    // The enclosing brackets come off so the writer does not emit a second
    // pair around the body; `None` records no items at all.
    let items = match literal {
        "None" => Vec::new(),
        body => {
            let body = body.strip_prefix('[').unwrap_or(body);
            vec![body.strip_suffix(']').unwrap_or(body).to_owned()]
        }
    };

    match spec.get_mut(name) {
        Some(sdf::Value::UnregisteredValueListOp(stored)) => set_list_op_items(stored, op, items)?,
        Some(_) => {}
        None => {
            let mut stored = sdf::ListOp::default();
            set_list_op_items(&mut stored, op, items)?;
            spec.add(name, sdf::Value::UnregisteredValueListOp(stored));
        }
    }
    Ok(())
}

/// Replace the items of the one operation `op` names (C++
/// `SdfListOp::SetItems`), leaving every other operation as it stands.
fn set_list_op_items<T: Default + Clone + PartialEq>(
    list_op: &mut sdf::ListOp<T>,
    op: &Token<'_>,
    items: Vec<T>,
) -> Result<(), RawError> {
    match op {
        Token::Prepend => list_op.prepended_items = items,
        Token::Append => list_op.appended_items = items,
        Token::Add => list_op.added_items = items,
        Token::Delete => list_op.deleted_items = items,
        Token::Reorder => list_op.ordered_items = items,
        other => bail!("Unsupported list op: {other:?}"),
    }
    Ok(())
}

/// Push a string into a Vec if it's not already present.
fn push_unique(vec: &mut Vec<String>, name: &str) {
    if !vec.iter().any(|s| s == name) {
        vec.push(name.to_owned());
    }
}
