use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::gf::f16;
use strum::{Display, EnumDiscriminants, EnumIs, EnumIter, EnumTryAs, IntoStaticStr};

use crate::gf;
use crate::tf::Token;

use super::*;

/// A type-erased container for scene description data loaded from a USD file.
///
/// This is the Rust equivalent of USD's [`VtValue`](https://openusd.org/dev/api/class_vt_value.html),
/// representing any value that can appear in a scene description layer. Each variant corresponds
/// to a USD data type.
///
/// Vector and matrix variant suffixes indicate the element type:
/// - `d` — `f64` (double)
/// - `f` — `f32` (float)
/// - `h` — `f16` (half)
/// - `i` — `i32` (int)
///
/// Type-safe extraction is supported via [`TryFrom<Value>`] implementations for common Rust
/// types (e.g. `f32`, `String`, `gf::Vec3f`).
#[derive(Debug, Clone, PartialEq, EnumIs, EnumTryAs, IntoStaticStr, EnumDiscriminants, derive_more::From)]
#[strum_discriminants(
    name(ValueKind),
    vis(pub),
    derive(Hash, Display, IntoStaticStr, EnumIter),
    doc = "The variant a [`Value`] holds, without its payload — the Rust analog of the C++ type a `VtValue` \
           carries. One kind per variant, so a scene-description value type (`float3`, `float3[]`) maps to \
           exactly one kind, which [`ValueTypeName::kind`](super::ValueTypeName::kind) names. Generated from \
           [`Value`] by strum, so the two can never disagree; `ValueKind::from(&value)` reads a value's kind."
)]
pub enum Value {
    /// None value, only produced by expressions (not directly assignable).
    #[from(skip)]
    None,

    Bool(bool),
    BoolVec(Vec<bool>),

    Uchar(u8),
    UcharVec(Vec<u8>),

    Int(i32),
    IntVec(Vec<i32>),

    Uint(u32),
    UintVec(Vec<u32>),

    Int64(i64),
    Int64Vec(Vec<i64>),

    Uint64(u64),
    Uint64Vec(Vec<u64>),

    Half(f16),
    HalfVec(Vec<f16>),

    Float(f32),
    FloatVec(Vec<f32>),

    Double(f64),
    DoubleVec(Vec<f64>),

    String(String),
    StringVec(Vec<String>),

    Token(Token),
    TokenVec(Vec<Token>),

    AssetPath(AssetPath),
    AssetPathVec(Vec<AssetPath>),

    /// The value of an `opaque` or `group` attribute (C++ `SdfOpaqueValue`).
    /// Such an attribute never authors a value: this variant exists so the
    /// type has a kind and a default, and every authoring tier rejects it.
    /// It is never serialized; each writer reports an error for it.
    #[from(skip)]
    Opaque,

    Quath(gf::Quath),
    Quatf(gf::Quatf),
    Quatd(gf::Quatd),
    QuathVec(Vec<gf::Quath>),
    QuatfVec(Vec<gf::Quatf>),
    QuatdVec(Vec<gf::Quatd>),

    Vec2h(gf::Vec2h),
    Vec2f(gf::Vec2f),
    Vec2d(gf::Vec2d),
    Vec2i(gf::Vec2i),
    Vec2hVec(Vec<gf::Vec2h>),
    Vec2fVec(Vec<gf::Vec2f>),
    Vec2dVec(Vec<gf::Vec2d>),
    Vec2iVec(Vec<gf::Vec2i>),

    Vec3h(gf::Vec3h),
    Vec3f(gf::Vec3f),
    Vec3d(gf::Vec3d),
    Vec3i(gf::Vec3i),
    Vec3hVec(Vec<gf::Vec3h>),
    Vec3fVec(Vec<gf::Vec3f>),
    Vec3dVec(Vec<gf::Vec3d>),
    Vec3iVec(Vec<gf::Vec3i>),

    Vec4h(gf::Vec4h),
    Vec4f(gf::Vec4f),
    Vec4d(gf::Vec4d),
    Vec4i(gf::Vec4i),
    Vec4hVec(Vec<gf::Vec4h>),
    Vec4fVec(Vec<gf::Vec4f>),
    Vec4dVec(Vec<gf::Vec4d>),
    Vec4iVec(Vec<gf::Vec4i>),

    Matrix2d(gf::Mat2d),
    Matrix3d(gf::Mat3d),
    Matrix4d(gf::Matrix4d),
    Matrix2dVec(Vec<gf::Mat2d>),
    Matrix3dVec(Vec<gf::Mat3d>),
    Matrix4dVec(Vec<gf::Matrix4d>),

    Specifier(Specifier),
    Permission(Permission),
    Variability(Variability),

    Dictionary(HashMap<String, Value>),

    TokenListOp(TokenListOp),
    StringListOp(StringListOp),
    PathListOp(PathListOp),
    ReferenceListOp(ReferenceListOp),
    IntListOp(IntListOp),
    Int64ListOp(Int64ListOp),
    UIntListOp(UintListOp),
    UInt64ListOp(Uint64ListOp),
    PayloadListOp(PayloadListOp),

    Payload(Payload),
    PathVec(Vec<Path>),
    /// Layer-level relocates: `(source, target)` path pairs for namespace remapping.
    Relocates(RelocateList),
    VariantSelectionMap(HashMap<String, String>),
    /// A sample map, ordered as a
    /// [`TimeSampleMap`](super::TimeSampleMap) is.
    TimeSamples(TimeSampleMap),

    LayerOffsetVec(Vec<LayerOffset>),

    #[from(skip)]
    ValueBlock,
    #[from(skip)]
    Value,

    /// Heterogeneous array (e.g. spline knots). Each element is a `Value`.
    ValueVec(Vec<Value>),

    #[from(skip)]
    UnregisteredValue(String),
    #[from(skip)]
    UnregisteredValueListOp(StringListOp),
    /// A dictionary authored under a field nothing declares.
    ///
    /// Apart from [`Dictionary`](Self::Dictionary) because the field is what
    /// is unregistered, not the value: a dictionary spells its own types, so
    /// it survives as one, and this is what remembers that no schema asked
    /// for it (C++ wraps the same thing in `SdfUnregisteredValue`).
    #[from(skip)]
    UnregisteredDictionary(HashMap<String, Value>),

    TimeCode(TimeCode),
    TimeCodeVec(Vec<TimeCode>),
    PathExpression(super::PathExpression),
    PathExpressionVec(Vec<super::PathExpression>),
}

#[cfg(feature = "serde")]
impl serde::Serialize for Value {
    // One arm per variant, grouped and ordered to mirror the `Value` declaration
    // so a new variant has an obvious home. Folding the textually identical arms
    // together would scatter that correspondence.
    #[allow(clippy::match_same_arms)]
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::{Error, SerializeMap};

        match self {
            Value::None | Value::ValueBlock | Value::Value => serializer.serialize_none(),
            Value::Opaque => Err(S::Error::custom("an opaque value is never serialized")),

            Value::Bool(v) => v.serialize(serializer),
            Value::BoolVec(v) => v.serialize(serializer),
            Value::Uchar(v) => v.serialize(serializer),
            Value::UcharVec(v) => v.serialize(serializer),
            Value::Int(v) => v.serialize(serializer),
            Value::IntVec(v) => v.serialize(serializer),
            Value::Uint(v) => v.serialize(serializer),
            Value::UintVec(v) => v.serialize(serializer),
            Value::Int64(v) => v.serialize(serializer),
            Value::Int64Vec(v) => v.serialize(serializer),
            Value::Uint64(v) => v.serialize(serializer),
            Value::Uint64Vec(v) => v.serialize(serializer),
            Value::Half(v) => v.serialize(serializer),
            Value::HalfVec(v) => v.serialize(serializer),
            Value::Float(v) => v.serialize(serializer),
            Value::FloatVec(v) => v.serialize(serializer),
            Value::Double(v) => v.serialize(serializer),
            Value::DoubleVec(v) => v.serialize(serializer),
            Value::TimeCode(v) => v.serialize(serializer),
            Value::TimeCodeVec(v) => v.serialize(serializer),

            Value::String(v) => v.serialize(serializer),
            Value::PathExpression(v) => v.to_string().serialize(serializer),
            Value::PathExpressionVec(v) => {
                let texts: Vec<String> = v.iter().map(|e| e.to_string()).collect();
                texts.serialize(serializer)
            }
            Value::Token(v) => v.serialize(serializer),
            Value::AssetPath(v) => v.serialize(serializer),
            Value::StringVec(v) => v.serialize(serializer),
            Value::TokenVec(v) => v.serialize(serializer),
            Value::AssetPathVec(v) => v.serialize(serializer),

            Value::Vec2h(v) => v.serialize(serializer),
            Value::Vec3h(v) => v.serialize(serializer),
            Value::Vec4h(v) => v.serialize(serializer),
            Value::Quath(v) => v.serialize(serializer),
            Value::Vec2f(v) => v.serialize(serializer),
            Value::Vec3f(v) => v.serialize(serializer),
            Value::Vec4f(v) => v.serialize(serializer),
            Value::Quatf(v) => v.serialize(serializer),
            Value::Vec2d(v) => v.serialize(serializer),
            Value::Vec3d(v) => v.serialize(serializer),
            Value::Vec4d(v) => v.serialize(serializer),
            Value::Quatd(v) => v.serialize(serializer),
            Value::Vec2i(v) => v.serialize(serializer),
            Value::Vec3i(v) => v.serialize(serializer),
            Value::Vec4i(v) => v.serialize(serializer),

            Value::Vec2hVec(v) => v.serialize(serializer),
            Value::Vec3hVec(v) => v.serialize(serializer),
            Value::Vec4hVec(v) => v.serialize(serializer),
            Value::QuathVec(v) => v.serialize(serializer),
            Value::Vec2fVec(v) => v.serialize(serializer),
            Value::Vec3fVec(v) => v.serialize(serializer),
            Value::Vec4fVec(v) => v.serialize(serializer),
            Value::QuatfVec(v) => v.serialize(serializer),
            Value::Vec2dVec(v) => v.serialize(serializer),
            Value::Vec3dVec(v) => v.serialize(serializer),
            Value::Vec4dVec(v) => v.serialize(serializer),
            Value::QuatdVec(v) => v.serialize(serializer),
            Value::Vec2iVec(v) => v.serialize(serializer),
            Value::Vec3iVec(v) => v.serialize(serializer),
            Value::Vec4iVec(v) => v.serialize(serializer),

            Value::Matrix2d(m) => m.0.chunks(2).collect::<Vec<_>>().serialize(serializer),
            Value::Matrix3d(m) => m.0.chunks(3).collect::<Vec<_>>().serialize(serializer),
            Value::Matrix4d(m) => m.0.chunks(4).collect::<Vec<_>>().serialize(serializer),
            Value::Matrix2dVec(v) => v
                .iter()
                .map(|m| m.0.chunks(2).collect::<Vec<_>>())
                .collect::<Vec<_>>()
                .serialize(serializer),
            Value::Matrix3dVec(v) => v
                .iter()
                .map(|m| m.0.chunks(3).collect::<Vec<_>>())
                .collect::<Vec<_>>()
                .serialize(serializer),
            Value::Matrix4dVec(v) => v
                .iter()
                .map(|m| m.0.chunks(4).collect::<Vec<_>>())
                .collect::<Vec<_>>()
                .serialize(serializer),

            Value::Specifier(v) => v.serialize(serializer),
            Value::Permission(v) => v.serialize(serializer),
            Value::Variability(v) => v.serialize(serializer),
            Value::Dictionary(v) => v.serialize(serializer),

            Value::TokenListOp(v) => v.serialize(serializer),
            Value::StringListOp(v) => v.serialize(serializer),
            Value::PathListOp(v) => v.serialize(serializer),
            Value::ReferenceListOp(v) => v.serialize(serializer),
            Value::IntListOp(v) => v.serialize(serializer),
            Value::Int64ListOp(v) => v.serialize(serializer),
            Value::UIntListOp(v) => v.serialize(serializer),
            Value::UInt64ListOp(v) => v.serialize(serializer),
            Value::PayloadListOp(v) => v.serialize(serializer),

            Value::Payload(v) => v.serialize(serializer),
            Value::PathVec(v) => v.serialize(serializer),
            Value::Relocates(v) => {
                let mut map = serializer.serialize_map(Some(v.len()))?;
                for (src, tgt) in v {
                    map.serialize_entry(src.as_str(), tgt.as_str())?;
                }
                map.end()
            }
            Value::VariantSelectionMap(v) => v.serialize(serializer),
            Value::LayerOffsetVec(v) => v.serialize(serializer),

            Value::ValueVec(v) => v.serialize(serializer),

            Value::UnregisteredValue(v) => v.serialize(serializer),
            Value::UnregisteredValueListOp(v) => v.serialize(serializer),
            Value::UnregisteredDictionary(v) => v.serialize(serializer),

            // Time samples serialize as a map with string keys.
            Value::TimeSamples(v) => {
                let mut map = serializer.serialize_map(Some(v.len()))?;
                for (time, value) in v {
                    let key = if time.fract() == 0.0 && time.is_finite() {
                        format!("{}", *time as i64)
                    } else {
                        format!("{time}")
                    };
                    map.serialize_entry(&key, value)?;
                }
                map.end()
            }
        }
    }
}

impl Value {
    /// Extracts the payload as `T` if this holds the matching variant, else
    /// `None`. A typed view over the `try_as_*` accessors and the
    /// [`TryFrom<Value>`] impls — e.g. `value.get::<tf::Token>()`. `T = Value`
    /// returns the value unchanged.
    pub fn get<T: TryFrom<Value>>(self) -> Option<T> {
        T::try_from(self).ok()
    }

    /// How many elements this holds, where it holds an array, and `None`
    /// where it holds a single value (C++ `VtValue::GetArraySize`, which
    /// answers zero for both).
    ///
    /// A dictionary answers `None` too: what it holds is named rather than
    /// counted.
    pub fn array_len(&self) -> Option<usize> {
        match self {
            // The arrays no attribute holds, which the scalar/array table has
            // no row for: these carry metadata rather than a value's elements.
            Value::PathVec(items) => Some(items.len()),
            Value::LayerOffsetVec(items) => Some(items.len()),
            Value::ValueVec(items) => Some(items.len()),
            value => value.attribute_array_len(),
        }
    }

    /// Whether this value carries `asset` paths, and so needs anchoring and
    /// expression evaluation before it is handed to a reader.
    ///
    /// The single source of truth for the asset-bearing variants, so a value
    /// resolver and its callers cannot disagree about which values to resolve.
    /// Asset paths nested inside a dictionary are not counted: resolution does
    /// not recurse into one. The one dictionary whose asset paths are reached is
    /// `clips`, which `pcp` walks field by field with the schema in hand rather
    /// than by recursion — see `PrimIndex::resolve_clip_sets`.
    pub fn is_asset_valued(&self) -> bool {
        matches!(self, Value::AssetPath(_) | Value::AssetPathVec(_))
    }

    /// This value read as a path expression, or `None` for a kind that is not
    /// one. Borrowed where the value already is one, parsed where it spells
    /// one.
    ///
    /// A `string` or `token` parses leniently into the expression it spells,
    /// which is what lets a collection be read from a layer no schema declared
    /// the property in — and what value resolution composes such an opinion
    /// as. The single source of truth for that reading, so a read and a
    /// composition cannot disagree about which opinions are expressions.
    pub fn as_path_expression(&self) -> Option<Cow<'_, PathExpression>> {
        match self {
            Value::PathExpression(expr) => Some(Cow::Borrowed(expr)),
            Value::String(text) => Some(Cow::Owned(PathExpression::parse(text))),
            Value::Token(text) => Some(Cow::Owned(PathExpression::parse(text.as_str()))),
            _ => None,
        }
    }

    /// [`as_path_expression`](Self::as_path_expression) taking ownership, which
    /// the expression a value already holds is handed over for.
    pub fn into_path_expression(self) -> Option<PathExpression> {
        match self {
            Value::PathExpression(expr) => Some(expr),
            other => other.as_path_expression().map(Cow::into_owned),
        }
    }

    /// Whether this value holds a time coordinate that
    /// [`LayerOffset::apply_to_value`](super::LayerOffset::apply_to_value)
    /// retimes: a `timecode` at any depth — including inside a dictionary or a
    /// heterogeneous array — or a sample map, whose keys are times whatever the
    /// samples themselves hold.
    ///
    /// The single source of truth for the time-bearing variants, so the
    /// retiming and the callers that decide whether to pay for it cannot
    /// disagree. Checking it lets a borrowed value skip the clone a retiming
    /// would need.
    pub fn holds_time_codes(&self) -> bool {
        match self {
            Value::TimeCode(_) | Value::TimeCodeVec(_) | Value::TimeSamples(_) => true,
            Value::Dictionary(entries) => entries.values().any(Value::holds_time_codes),
            Value::ValueVec(values) => values.iter().any(Value::holds_time_codes),
            _ => false,
        }
    }

    /// Whether this value embeds a path expression that authoring anchors and
    /// maps through [`map_path_expressions`](Self::map_path_expressions): a
    /// `PathExpression` or `PathExpressionVec` at any depth that traversal
    /// reaches. Checking it lets the common write skip the anchor path and
    /// the walk.
    pub fn holds_path_expressions(&self) -> bool {
        match self {
            Value::PathExpression(_) | Value::PathExpressionVec(_) => true,
            Value::Dictionary(entries) => entries.values().any(Value::holds_path_expressions),
            Value::ValueVec(values) => values.iter().any(Value::holds_path_expressions),
            Value::TimeSamples(samples) => samples.iter().any(|(_, value)| value.holds_path_expressions()),
            _ => false,
        }
    }

    /// Whether this value embeds namespace paths that [`remap_paths`](Self::remap_paths)
    /// rewrites — `PathVec`, `PathListOp` (relationship targets, attribute
    /// connections, `inheritPaths`, `specializes`), `Relocates`,
    /// `ReferenceListOp` / `PayloadListOp` (whose internal entries target this
    /// layer's own namespace), and `PathExpression` / `PathExpressionVec`
    /// (pattern prefixes and expression-reference paths). The single source of
    /// truth a copy value policy checks before remapping, so the set of
    /// path-bearing variants lives only here.
    pub fn has_embedded_paths(&self) -> bool {
        matches!(
            self,
            Value::PathVec(_)
                | Value::PathListOp(_)
                | Value::Relocates(_)
                | Value::ReferenceListOp(_)
                | Value::PayloadListOp(_)
                | Value::PathExpression(_)
                | Value::PathExpressionVec(_)
        )
    }

    /// Returns this value with every path expression it holds rewritten
    /// through `f`: a `PathExpression` or `PathExpressionVec` itself, and any
    /// nested inside a dictionary, a heterogeneous array, or a time-sample map
    /// (the reach of C++ `VtValueTryTransform`). List ops, references,
    /// payloads and relocates are left alone: authoring never transforms them,
    /// only [`remap_paths`](Self::remap_paths) does, for copies.
    pub fn map_path_expressions(self, f: &mut impl FnMut(super::PathExpression) -> super::PathExpression) -> Value {
        match self {
            Value::PathExpression(expr) => Value::PathExpression(f(expr)),
            Value::PathExpressionVec(exprs) => Value::PathExpressionVec(exprs.into_iter().map(f).collect()),
            Value::Dictionary(entries) => Value::Dictionary(
                entries
                    .into_iter()
                    .map(|(key, value)| (key, value.map_path_expressions(f)))
                    .collect(),
            ),
            Value::ValueVec(values) => {
                Value::ValueVec(values.into_iter().map(|value| value.map_path_expressions(f)).collect())
            }
            Value::TimeSamples(samples) => Value::TimeSamples(
                samples
                    .into_iter()
                    .map(|(time, value)| (time, value.map_path_expressions(f)))
                    .collect(),
            ),
            other => other,
        }
    }

    /// Returns this value with every `asset` path it holds rewritten through
    /// `f`: an `AssetPath` or `AssetPathVec` itself, and any nested inside a
    /// dictionary, a heterogeneous array, or a time-sample map — the same
    /// reach as [`map_path_expressions`](Self::map_path_expressions).
    ///
    /// That reach is wider than [`is_asset_valued`](Self::is_asset_valued)
    /// admits, which counts only the two top-level forms because resolution
    /// does not recurse. A caller rewriting paths rather than resolving them
    /// wants the nested ones too, which is what flattening a stage needs.
    pub fn map_asset_paths(self, f: &mut impl FnMut(super::AssetPath) -> super::AssetPath) -> Value {
        match self {
            Value::AssetPath(asset) => Value::AssetPath(f(asset)),
            Value::AssetPathVec(assets) => Value::AssetPathVec(assets.into_iter().map(&mut *f).collect()),
            Value::Dictionary(entries) => Value::Dictionary(
                entries
                    .into_iter()
                    .map(|(key, value)| (key, value.map_asset_paths(f)))
                    .collect(),
            ),
            Value::ValueVec(values) => {
                Value::ValueVec(values.into_iter().map(|value| value.map_asset_paths(f)).collect())
            }
            Value::TimeSamples(samples) => Value::TimeSamples(
                samples
                    .into_iter()
                    .map(|(time, value)| (time, value.map_asset_paths(f)))
                    .collect(),
            ),
            other => other,
        }
    }

    /// Returns a copy of this value with every embedded namespace path rewritten
    /// through `remap`. Paths live in `PathVec`, `PathListOp` (relationship
    /// targets, attribute connections, `inheritPaths`, `specializes`),
    /// `Relocates` (source/target pairs), and the prim paths of internal
    /// (same-layer) `ReferenceListOp` / `PayloadListOp` entries. An external
    /// reference or payload carries its prim path in the referenced layer's
    /// namespace, and an empty prim path is the defaultPrim selector — both
    /// are left untouched; every other value kind is cloned unchanged.
    ///
    /// The path-rewriting core behind [`copy_spec`](crate::sdf::copy_spec),
    /// exposed so callers building a custom copy value policy (flatten, namespace
    /// editing, rename) can remap paths with their own mapping rather than the
    /// default root-to-root prefix swap.
    pub fn remap_paths(&self, remap: impl Fn(&Path) -> Path) -> Value {
        self.filter_map_paths(|path| Some(remap(path)))
    }

    /// Returns a copy of this value with every embedded namespace path mapped
    /// through `remap`, dropping any path it maps to `None`. The dropping form
    /// of [`remap_paths`](Self::remap_paths): namespace-edit deletion fixup maps
    /// the targets/connections/internal references that point at a removed object
    /// to `None` so the entries vanish, while moves map to `Some(new_path)`.
    ///
    /// A `PathVec` element or list-op item that maps to `None` is removed. An
    /// external reference or payload (whose prim path lives in the referenced
    /// layer's namespace) is never offered to `remap` and is always kept; a
    /// relocate pair is dropped when its source maps to `None`; a
    /// `PathExpression` atom whose path maps to `None` collapses to the empty
    /// expression.
    pub fn filter_map_paths(&self, remap: impl Fn(&Path) -> Option<Path>) -> Value {
        let remap = &remap;
        match self {
            Value::PathVec(paths) => Value::PathVec(paths.iter().filter_map(remap).collect()),
            Value::PathListOp(op) => Value::PathListOp(op.clone().filter_map(|p| remap(&p))),
            Value::Relocates(relocates) => Value::Relocates(
                relocates
                    .iter()
                    // Drop a pair whose source maps away; a target that maps away
                    // keeps its original (a relocate must keep both endpoints).
                    .filter_map(|(s, t)| remap(s).map(|s| (s, remap(t).unwrap_or_else(|| t.clone()))))
                    .collect(),
            ),
            Value::ReferenceListOp(op) => Value::ReferenceListOp(op.clone().filter_map(|mut reference| {
                if reference.asset_path.is_empty() && !reference.prim_path.is_empty() {
                    reference.prim_path = remap(&reference.prim_path)?;
                }
                Some(reference)
            })),
            Value::PayloadListOp(op) => Value::PayloadListOp(op.clone().filter_map(|mut payload| {
                if payload.asset_path.is_empty() && !payload.prim_path.is_empty() {
                    payload.prim_path = remap(&payload.prim_path)?;
                }
                Some(payload)
            })),
            Value::PathExpression(expr) => Value::PathExpression(expr.clone().map_paths(remap)),
            Value::PathExpressionVec(exprs) => {
                Value::PathExpressionVec(exprs.iter().map(|e| e.clone().map_paths(remap)).collect())
            }
            other => other.clone(),
        }
    }
}

// Exact extraction: owned conversions that move data out of `Value` without
// cloning, each requiring the exact held variant, which is also the one kind
// the type's `FromValue` accepts. Cross-type coercion (`token` → `string`,
// numeric and vector precision) is the separate, opt-in `Value::cast` tier.

macro_rules! impl_try_from_value {
    // Exact: unwrap the matching variant.
    ($target:ty, $kind:ident, $label:literal) => {
        impl_try_from_value!($target, $kind, $label, |v| v);
    };
    // Unwrap the matching variant, then convert each element via `Into` — used
    // by the `gf`-vector-array conversions (`Vec<Vec3f>` → `Vec<[f32; 3]>`).
    ($target:ty, $kind:ident, $label:literal, map_into) => {
        impl_try_from_value!($target, $kind, $label, |v: Vec<_>| v
            .into_iter()
            .map(Into::into)
            .collect());
    };
    // Unwrap the matching variant, then map it through `$transform` — used by
    // the `gf`-vector-to-fixed-array conversions (`Vec3f` → `[f32; 3]`).
    ($target:ty, $kind:ident, $label:literal, $transform:expr) => {
        impl TryFrom<Value> for $target {
            type Error = CastError;

            fn try_from(value: Value) -> Result<Self, Self::Error> {
                match value {
                    Value::$kind(v) => Ok(($transform)(v)),
                    other => Err(CastError::TypeMismatch {
                        target: $label,
                        actual: (&other).into(),
                    }),
                }
            }
        }

        impl FromValue for $target {
            fn accepts_kind(kind: ValueKind) -> bool {
                kind == ValueKind::$kind
            }
        }
    };
}

impl_try_from_value!(bool, Bool, "Bool");
impl_try_from_value!(i32, Int, "Int");
impl_try_from_value!(u32, Uint, "Uint");
impl_try_from_value!(i64, Int64, "Int64");
impl_try_from_value!(u64, Uint64, "Uint64");
impl_try_from_value!(f32, Float, "Float");
impl_try_from_value!(f64, Double, "Double");
impl_try_from_value!(u8, Uchar, "Uchar");
impl_try_from_value!(f16, Half, "Half");
impl_try_from_value!(TimeCode, TimeCode, "TimeCode");
impl_try_from_value!(super::PathExpression, PathExpression, "PathExpression");
impl_try_from_value!(Specifier, Specifier, "Specifier");
impl_try_from_value!(Variability, Variability, "Variability");
impl_try_from_value!(ReferenceListOp, ReferenceListOp, "ReferenceListOp");
impl_try_from_value!(PayloadListOp, PayloadListOp, "PayloadListOp");
impl_try_from_value!(PathListOp, PathListOp, "PathListOp");

// gf scalar types — trivially unwrap the matching variant.
impl_try_from_value!(gf::Vec2f, Vec2f, "gf::Vec2f");
impl_try_from_value!(gf::Vec2d, Vec2d, "gf::Vec2d");
impl_try_from_value!(gf::Vec2i, Vec2i, "gf::Vec2i");
impl_try_from_value!(gf::Vec2h, Vec2h, "gf::Vec2h");
impl_try_from_value!(gf::Vec3f, Vec3f, "gf::Vec3f");
impl_try_from_value!(gf::Vec3d, Vec3d, "gf::Vec3d");
impl_try_from_value!(gf::Vec3i, Vec3i, "gf::Vec3i");
impl_try_from_value!(gf::Vec3h, Vec3h, "gf::Vec3h");
impl_try_from_value!(gf::Vec4f, Vec4f, "gf::Vec4f");
impl_try_from_value!(gf::Vec4d, Vec4d, "gf::Vec4d");
impl_try_from_value!(gf::Vec4i, Vec4i, "gf::Vec4i");
impl_try_from_value!(gf::Vec4h, Vec4h, "gf::Vec4h");
impl_try_from_value!(gf::Quatf, Quatf, "gf::Quatf");
impl_try_from_value!(gf::Quatd, Quatd, "gf::Quatd");
impl_try_from_value!(gf::Quath, Quath, "gf::Quath");
impl_try_from_value!(gf::Mat2d, Matrix2d, "gf::Mat2d");
impl_try_from_value!(gf::Mat3d, Matrix3d, "gf::Mat3d");
impl_try_from_value!(gf::Matrix4d, Matrix4d, "gf::Matrix4d");

// gf array types.
impl_try_from_value!(Vec<gf::Vec2f>, Vec2fVec, "Vec2fVec");
impl_try_from_value!(Vec<gf::Vec2d>, Vec2dVec, "Vec2dVec");
impl_try_from_value!(Vec<gf::Vec2i>, Vec2iVec, "Vec2iVec");
impl_try_from_value!(Vec<gf::Vec2h>, Vec2hVec, "Vec2hVec");
impl_try_from_value!(Vec<gf::Vec3f>, Vec3fVec, "Vec3fVec");
impl_try_from_value!(Vec<gf::Vec3d>, Vec3dVec, "Vec3dVec");
impl_try_from_value!(Vec<gf::Vec3i>, Vec3iVec, "Vec3iVec");
impl_try_from_value!(Vec<gf::Vec3h>, Vec3hVec, "Vec3hVec");
impl_try_from_value!(Vec<gf::Vec4f>, Vec4fVec, "Vec4fVec");
impl_try_from_value!(Vec<gf::Vec4d>, Vec4dVec, "Vec4dVec");
impl_try_from_value!(Vec<gf::Vec4i>, Vec4iVec, "Vec4iVec");
impl_try_from_value!(Vec<gf::Vec4h>, Vec4hVec, "Vec4hVec");
impl_try_from_value!(Vec<gf::Quatf>, QuatfVec, "QuatfVec");
impl_try_from_value!(Vec<gf::Quatd>, QuatdVec, "QuatdVec");
impl_try_from_value!(Vec<gf::Quath>, QuathVec, "QuathVec");
impl_try_from_value!(Vec<gf::Mat2d>, Matrix2dVec, "Matrix2dVec");
impl_try_from_value!(Vec<gf::Mat3d>, Matrix3dVec, "Matrix3dVec");
impl_try_from_value!(Vec<gf::Matrix4d>, Matrix4dVec, "Matrix4dVec");

// Single-variant string and asset extraction. Coercing `token` → `string`
// is [`Value::cast`]'s job.
impl_try_from_value!(String, String, "String");
impl_try_from_value!(Token, Token, "Token");
impl_try_from_value!(Vec<Token>, TokenVec, "TokenVec");
impl_try_from_value!(Vec<String>, StringVec, "StringVec");
impl_try_from_value!(AssetPath, AssetPath, "AssetPath");
impl_try_from_value!(Vec<AssetPath>, AssetPathVec, "AssetPathVec");

// List ops, relocations, time samples, and layer offsets — composite payloads
// read through the typed spec accessors.
impl_try_from_value!(TokenListOp, TokenListOp, "TokenListOp");
impl_try_from_value!(RelocateList, Relocates, "Relocates");
impl_try_from_value!(TimeSampleMap, TimeSamples, "TimeSamples");
impl_try_from_value!(Vec<LayerOffset>, LayerOffsetVec, "LayerOffsetVec");

// Exact scalar arrays (`float[]`, `int[]`, …). Flattening a single vector
// into a scalar array is a coercion, so it lives in [`Value::cast`].
impl_try_from_value!(Vec<bool>, BoolVec, "BoolVec");
impl_try_from_value!(Vec<u8>, UcharVec, "UcharVec");
impl_try_from_value!(Vec<i32>, IntVec, "IntVec");
impl_try_from_value!(Vec<u32>, UintVec, "UintVec");
impl_try_from_value!(Vec<i64>, Int64Vec, "Int64Vec");
impl_try_from_value!(Vec<u64>, Uint64Vec, "Uint64Vec");
impl_try_from_value!(Vec<f16>, HalfVec, "HalfVec");
impl_try_from_value!(Vec<f32>, FloatVec, "FloatVec");
impl_try_from_value!(Vec<f64>, DoubleVec, "DoubleVec");
impl_try_from_value!(Vec<TimeCode>, TimeCodeVec, "TimeCodeVec");
impl_try_from_value!(Vec<super::PathExpression>, PathExpressionVec, "PathExpressionVec");

// `gf` vector/quaternion variants as fixed-size arrays, via the type's `Into`.
// Coercing across element precisions is [`Value::cast`]'s job.
impl_try_from_value!([f32; 2], Vec2f, "gf::Vec2f", Into::into);
impl_try_from_value!([f32; 3], Vec3f, "gf::Vec3f", Into::into);
impl_try_from_value!([f32; 4], Vec4f, "gf::Vec4f", Into::into);
impl_try_from_value!([f64; 2], Vec2d, "gf::Vec2d", Into::into);
impl_try_from_value!([f64; 3], Vec3d, "gf::Vec3d", Into::into);
impl_try_from_value!([f64; 4], Vec4d, "gf::Vec4d", Into::into);

// `gf` vector arrays as arrays of fixed-size arrays.
impl_try_from_value!(Vec<[f32; 2]>, Vec2fVec, "Vec2fVec", map_into);
impl_try_from_value!(Vec<[f32; 3]>, Vec3fVec, "Vec3fVec", map_into);
impl_try_from_value!(Vec<[f32; 4]>, Vec4fVec, "Vec4fVec", map_into);

/// Convert from `&str` to `Value`.
///
/// Used a lot in text parser since all tokens are basically strings.
impl<'a> From<&'a str> for Value {
    fn from(value: &'a str) -> Self {
        Value::String(value.to_string())
    }
}

impl From<[f32; 2]> for Value {
    fn from(v: [f32; 2]) -> Self {
        Value::Vec2f(v.into())
    }
}
impl From<[f32; 3]> for Value {
    fn from(v: [f32; 3]) -> Self {
        Value::Vec3f(v.into())
    }
}
impl From<[f64; 2]> for Value {
    fn from(v: [f64; 2]) -> Self {
        Value::Vec2d(v.into())
    }
}
impl From<[f64; 3]> for Value {
    fn from(v: [f64; 3]) -> Self {
        Value::Vec3d(v.into())
    }
}
impl From<[i32; 2]> for Value {
    fn from(v: [i32; 2]) -> Self {
        Value::Vec2i(v.into())
    }
}
impl From<[i32; 3]> for Value {
    fn from(v: [i32; 3]) -> Self {
        Value::Vec3i(v.into())
    }
}
impl From<[i32; 4]> for Value {
    fn from(v: [i32; 4]) -> Self {
        Value::Vec4i(v.into())
    }
}
impl From<[f64; 16]> for Value {
    fn from(v: [f64; 16]) -> Self {
        Value::Matrix4d(gf::Matrix4d(v))
    }
}

// Shorthand constructors for the gf vector and quaternion variants,
// mirroring the `gf::vec3f(x, y, z)` free-function convention.
impl Value {
    pub fn vec2f(x: f32, y: f32) -> Self {
        Self::Vec2f(gf::vec2f(x, y))
    }
    pub fn vec3f(x: f32, y: f32, z: f32) -> Self {
        Self::Vec3f(gf::vec3f(x, y, z))
    }
    pub fn vec4f(x: f32, y: f32, z: f32, w: f32) -> Self {
        Self::Vec4f(gf::vec4f(x, y, z, w))
    }
    pub fn vec2d(x: f64, y: f64) -> Self {
        Self::Vec2d(gf::vec2d(x, y))
    }
    pub fn vec3d(x: f64, y: f64, z: f64) -> Self {
        Self::Vec3d(gf::vec3d(x, y, z))
    }
    pub fn vec4d(x: f64, y: f64, z: f64, w: f64) -> Self {
        Self::Vec4d(gf::vec4d(x, y, z, w))
    }
    pub fn vec2i(x: i32, y: i32) -> Self {
        Self::Vec2i(gf::vec2i(x, y))
    }
    pub fn vec3i(x: i32, y: i32, z: i32) -> Self {
        Self::Vec3i(gf::vec3i(x, y, z))
    }
    pub fn vec4i(x: i32, y: i32, z: i32, w: i32) -> Self {
        Self::Vec4i(gf::vec4i(x, y, z, w))
    }
    pub fn vec2h(x: f16, y: f16) -> Self {
        Self::Vec2h(gf::vec2h(x, y))
    }
    pub fn vec3h(x: f16, y: f16, z: f16) -> Self {
        Self::Vec3h(gf::vec3h(x, y, z))
    }
    pub fn vec4h(x: f16, y: f16, z: f16, w: f16) -> Self {
        Self::Vec4h(gf::vec4h(x, y, z, w))
    }
    pub fn quatf(w: f32, x: f32, y: f32, z: f32) -> Self {
        Self::Quatf(gf::quatf(w, x, y, z))
    }
    pub fn quatd(w: f64, x: f64, y: f64, z: f64) -> Self {
        Self::Quatd(gf::quatd(w, x, y, z))
    }
    pub fn quath(w: f16, x: f16, y: f16, z: f16) -> Self {
        Self::Quath(gf::quath(w, x, y, z))
    }

    /// Builds a [`Value::Token`] from any string-like value, so callers need not
    /// name [`Token`] at the construction site (`Value::token("Mesh")`).
    pub fn token(name: impl Into<Token>) -> Self {
        Self::Token(name.into())
    }

    /// Builds a [`Value::TokenVec`] from any iterator of string-like items —
    /// the counterpart of [`Value::token`] for name lists such as
    /// `primChildren` and `allowedTokens`.
    pub fn token_vec(items: impl IntoIterator<Item = impl Into<Token>>) -> Self {
        Self::TokenVec(items.into_iter().map(Into::into).collect())
    }

    /// Borrows the inner string of a string-like scalar — `asset`, `string`,
    /// or `token` — and `None` for any other variant.
    ///
    /// An asset path may be authored as a plain string or token, so reading
    /// one coerces across all three (the borrowing counterpart to the owned
    /// [`TryFrom<Value>`] for [`String`]).
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(s) => Some(s),
            Value::Token(s) => Some(s.as_str()),
            Value::AssetPath(s) => Some(s.as_str()),
            _ => None,
        }
    }

    /// Coerces this value to `T` through the registered casts, mirroring C++
    /// `VtValue::Cast`: numeric scalars cross-convert (range-checked), `string`
    /// ↔ `token`, and same-dimension vectors/quaternions change precision.
    ///
    /// Unlike `T::try_from` / [`Attribute::get`](crate::usd::Attribute::get),
    /// which require the exact held variant, `cast` is the coercing tier — read
    /// the raw value and cast when the authored type may differ from the wanted
    /// one: `attr.get::<Value>()?.map(|v| v.cast::<f32>()).transpose()?`.
    pub fn cast<T: FromValueCast>(self) -> Result<T, CastError> {
        T::cast_from(self)
    }
}

/// A type that [`Value::cast`] can coerce a [`Value`] into — the Rust side of
/// C++ `VtValue`'s registered cast set. Takes the value by move so a
/// same-variant cast (e.g. `StringVec` to `Vec<String>`) reuses its buffer
/// rather than cloning, matching the owned [`TryFrom<Value>`] it complements.
///
/// The implemented targets are demand-driven — the scalar, string/token, and
/// the specific array/vector shapes current callers read. The set is not the
/// full precision×dimension matrix: a missing target (e.g. `cast::<gf::Vec2f>`)
/// is a compile error, signalling "add the impl when a caller needs it" rather
/// than a silent gap. Add new targets here as the need arises.
pub trait FromValueCast: Sized {
    /// Coerces `value` to `Self`, or reports why it cannot.
    fn cast_from(value: Value) -> Result<Self, CastError>;
}

/// A type an attribute value decodes into exactly, the counterpart of
/// [`FromValueCast`]'s coercions.
///
/// A typed attribute read ([`Attribute::get_at`](crate::usd::Attribute::get_at))
/// asks [`accepts_kind`](Self::accepts_kind) to choose among opinions before
/// converting anything. At the default time an opinion of a kind the type
/// does not accept is passed over, as C++ `UsdAttribute::Get<T>` passes over
/// a value it does not hold, and a winning value of such a kind reads as no
/// value. Conversion, with any validation `try_from` does, runs only on the
/// value that won.
///
/// The crate's own decode types implement it, as do token enums through
/// [`impl_token_value!`](crate::sdf::impl_token_value). A downstream type
/// implements it next to its `TryFrom<Value>`.
pub trait FromValue: TryFrom<Value> {
    /// Whether this type accepts a value stored as `kind`.
    ///
    /// Conversion may still reject the value's contents.
    fn accepts_kind(kind: ValueKind) -> bool;
}

/// A raw value accepts every kind.
impl FromValue for Value {
    fn accepts_kind(_kind: ValueKind) -> bool {
        true
    }
}

/// Error returned by [`Value::cast`] and the exact-variant `TryFrom<Value>`
/// conversions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CastError {
    /// The held variant has no registered cast to the target type.
    #[error("cannot cast {actual} to {target}")]
    TypeMismatch {
        /// The requested target type.
        target: &'static str,
        /// The actual held variant.
        actual: &'static str,
    },
    /// The numeric value is outside the target type's representable range
    /// (faithful to C++ `numeric_cast`).
    #[error("{actual} value is out of range for {target}")]
    OutOfRange {
        /// The requested target type.
        target: &'static str,
        /// The actual held variant.
        actual: &'static str,
    },
}

impl CastError {
    fn mismatch<T>(actual: &'static str) -> Self {
        Self::TypeMismatch {
            target: std::any::type_name::<T>(),
            actual,
        }
    }

    pub(super) fn out_of_range<T>(actual: &'static str) -> Self {
        Self::OutOfRange {
            target: std::any::type_name::<T>(),
            actual,
        }
    }
}

/// Range-checked numeric coercion shared by every scalar `FromValueCast` target.
/// `num_traits::NumCast` is `boost::numeric_cast`: it returns `None` when an
/// integer target overflows, which maps to [`CastError::OutOfRange`].
///
/// Narrowing float conversions (`f64` → `f32`/`f16`) are not range-checked by
/// `NumCast` — they saturate to infinity instead of returning `None` — so a
/// finite source that produces a non-finite result is reported as out of range
/// too. An already-infinite source legitimately stays infinite.
pub(super) fn cast_numeric<T: num_traits::NumCast>(value: Value) -> Result<T, CastError> {
    use num_traits::NumCast;
    let actual: &'static str = (&value).into();
    let src_finite = match &value {
        Value::Half(v) => v.is_finite(),
        Value::Float(v) => v.is_finite(),
        Value::Double(v) => v.is_finite(),
        _ => true,
    };
    let out: Option<T> = match value {
        Value::Uchar(v) => NumCast::from(v),
        Value::Int(v) => NumCast::from(v),
        Value::Uint(v) => NumCast::from(v),
        Value::Int64(v) => NumCast::from(v),
        Value::Uint64(v) => NumCast::from(v),
        Value::Half(v) => NumCast::from(v),
        Value::Float(v) => NumCast::from(v),
        Value::Double(v) => NumCast::from(v),
        Value::Bool(v) => NumCast::from(v as u8),
        _ => return Err(CastError::mismatch::<T>(actual)),
    };
    finite_checked(out, src_finite, actual)
}

/// The tail of every range-checked numeric cast: a `None` from `NumCast` is
/// out of range, and so is a finite source that came out non-finite, since a
/// narrowing float conversion saturates to infinity instead of failing.
pub(super) fn finite_checked<T: num_traits::ToPrimitive>(
    out: Option<T>,
    src_finite: bool,
    actual: &'static str,
) -> Result<T, CastError> {
    let out = out.ok_or_else(|| CastError::out_of_range::<T>(actual))?;
    if src_finite && out.to_f64().is_some_and(|f| !f.is_finite()) {
        return Err(CastError::out_of_range::<T>(actual));
    }
    Ok(out)
}

macro_rules! impl_cast_numeric {
    ($($t:ty),+ $(,)?) => {$(
        impl FromValueCast for $t {
            fn cast_from(value: Value) -> Result<Self, CastError> {
                cast_numeric(value)
            }
        }
    )+};
}

impl_cast_numeric!(u8, i32, u32, i64, u64, f16, f32, f64);

impl FromValueCast for bool {
    fn cast_from(value: Value) -> Result<Self, CastError> {
        match value {
            Value::Bool(b) => Ok(b),
            other => Err(CastError::mismatch::<bool>((&other).into())),
        }
    }
}

impl FromValueCast for String {
    fn cast_from(value: Value) -> Result<Self, CastError> {
        match value {
            Value::String(s) => Ok(s),
            Value::Token(t) => Ok(t.into()),
            Value::AssetPath(a) => Ok(a.authored_path),
            other => Err(CastError::mismatch::<String>((&other).into())),
        }
    }
}

impl FromValueCast for Token {
    fn cast_from(value: Value) -> Result<Self, CastError> {
        match value {
            Value::Token(t) => Ok(t),
            Value::String(s) => Ok(Token::from(s)),
            other => Err(CastError::mismatch::<Token>((&other).into())),
        }
    }
}

impl FromValueCast for Vec<String> {
    fn cast_from(value: Value) -> Result<Self, CastError> {
        match value {
            Value::StringVec(v) => Ok(v),
            Value::TokenVec(v) => Ok(v.into_iter().map(String::from).collect()),
            Value::AssetPathVec(v) => Ok(v.into_iter().map(|a| a.authored_path).collect()),
            other => Err(CastError::mismatch::<Vec<String>>((&other).into())),
        }
    }
}

/// Lifts a `Value`-inspecting helper's `Option` into a cast result, reporting a
/// type mismatch against `R` (the cast's target type) when no conversion applied.
fn require<R, U>(value: &Value, converted: Option<U>) -> Result<U, CastError> {
    converted.ok_or_else(|| CastError::mismatch::<R>(value.into()))
}

/// Widens a vector's components to `f64`, lossless for every element type.
pub(super) fn widen<S: Into<f64>, const N: usize>(components: [S; N]) -> [f64; N] {
    components.map(Into::into)
}

/// Widens a 2-component vector (`i`/`h`/`f`/`d`) to `[f64; 2]`.
pub(super) fn vec2_as_f64(value: &Value) -> Option<[f64; 2]> {
    Some(match value {
        Value::Vec2i(v) => widen(<[i32; 2]>::from(*v)),
        Value::Vec2h(v) => widen(<[f16; 2]>::from(*v)),
        Value::Vec2f(v) => widen(<[f32; 2]>::from(*v)),
        Value::Vec2d(v) => (*v).into(),
        _ => return None,
    })
}

/// Widens a 3-component vector (`i`/`h`/`f`/`d`) to `[f64; 3]`.
pub(super) fn vec3_as_f64(value: &Value) -> Option<[f64; 3]> {
    Some(match value {
        Value::Vec3i(v) => widen(<[i32; 3]>::from(*v)),
        Value::Vec3h(v) => widen(<[f16; 3]>::from(*v)),
        Value::Vec3f(v) => widen(<[f32; 3]>::from(*v)),
        Value::Vec3d(v) => (*v).into(),
        _ => return None,
    })
}

/// Widens a 4-component vector or quaternion to `[f64; 4]`. Quaternions extract
/// in `(w, x, y, z)` order, which gf's `Into<[f64; 4]>` encodes for `Quatf` /
/// `Quatd`; `Quath` widens component by component in that same order.
pub(super) fn vec4_as_f64(value: &Value) -> Option<[f64; 4]> {
    Some(match value {
        Value::Vec4i(v) => widen(<[i32; 4]>::from(*v)),
        Value::Vec4h(v) => widen(<[f16; 4]>::from(*v)),
        Value::Vec4f(v) => widen(<[f32; 4]>::from(*v)),
        Value::Vec4d(v) => (*v).into(),
        Value::Quatf(q) => (*q).into(),
        Value::Quatd(q) => (*q).into(),
        Value::Quath(q) => widen([q.w, q.x, q.y, q.z]),
        _ => return None,
    })
}

impl FromValueCast for [f64; 3] {
    fn cast_from(value: Value) -> Result<Self, CastError> {
        require::<Self, _>(&value, vec3_as_f64(&value))
    }
}

impl FromValueCast for [f64; 4] {
    fn cast_from(value: Value) -> Result<Self, CastError> {
        require::<Self, _>(&value, vec4_as_f64(&value))
    }
}

impl FromValueCast for [f32; 4] {
    fn cast_from(value: Value) -> Result<Self, CastError> {
        let a = require::<Self, _>(&value, vec4_as_f64(&value))?;
        Ok([a[0] as f32, a[1] as f32, a[2] as f32, a[3] as f32])
    }
}

impl FromValueCast for gf::Vec3f {
    fn cast_from(value: Value) -> Result<Self, CastError> {
        let [x, y, z] = require::<Self, _>(&value, vec3_as_f64(&value))?;
        Ok(gf::vec3f(x as f32, y as f32, z as f32))
    }
}

impl FromValueCast for Vec<f32> {
    fn cast_from(value: Value) -> Result<Self, CastError> {
        match value {
            Value::FloatVec(v) => Ok(v),
            Value::DoubleVec(v) => Ok(v.into_iter().map(|d| d as f32).collect()),
            Value::HalfVec(v) => Ok(v.into_iter().map(f32::from).collect()),
            Value::Vec2f(v) => Ok(vec![v.x, v.y]),
            Value::Vec3f(v) => Ok(vec![v.x, v.y, v.z]),
            Value::Vec4f(v) => Ok(vec![v.x, v.y, v.z, v.w]),
            other => Err(CastError::mismatch::<Vec<f32>>((&other).into())),
        }
    }
}

impl FromValueCast for Vec<gf::Vec3f> {
    fn cast_from(value: Value) -> Result<Self, CastError> {
        match value {
            Value::Vec3fVec(v) => Ok(v),
            Value::Vec3dVec(v) => Ok(v
                .into_iter()
                .map(|d| gf::vec3f(d.x as f32, d.y as f32, d.z as f32))
                .collect()),
            Value::Vec3hVec(v) => Ok(v
                .into_iter()
                .map(|h| gf::vec3f(f32::from(h.x), f32::from(h.y), f32::from(h.z)))
                .collect()),
            other => Err(CastError::mismatch::<Vec<gf::Vec3f>>((&other).into())),
        }
    }
}

impl FromValueCast for Vec<gf::Quatf> {
    fn cast_from(value: Value) -> Result<Self, CastError> {
        match value {
            Value::QuatfVec(v) => Ok(v),
            Value::QuatdVec(v) => Ok(v
                .into_iter()
                .map(|d| gf::quatf(d.w as f32, d.x as f32, d.y as f32, d.z as f32))
                .collect()),
            Value::QuathVec(v) => Ok(v
                .into_iter()
                .map(|h| gf::quatf(f32::from(h.w), f32::from(h.x), f32::from(h.y), f32::from(h.z)))
                .collect()),
            other => Err(CastError::mismatch::<Vec<gf::Quatf>>((&other).into())),
        }
    }
}

/// Applies `stronger over weaker` dictionary composition in place
/// (C++ `VtDictionaryOverRecursive`).
///
/// Keys authored in the stronger dictionary win. If both dictionaries hold a
/// dictionary at the same key, those nested dictionaries are composed
/// recursively; otherwise the stronger value is kept. This is the dictionary
/// combining rule of core spec §12.2.5, shared by value resolution and by
/// schema prim-definition composition.
pub fn dictionary_over(stronger: &mut super::Dictionary, weaker: super::Dictionary) {
    for (key, weaker_value) in weaker {
        match stronger.entry(key) {
            Entry::Occupied(mut entry) => {
                if let (Value::Dictionary(strong_dict), Value::Dictionary(weak_dict)) = (entry.get_mut(), weaker_value)
                {
                    dictionary_over(strong_dict, weak_dict);
                }
            }
            Entry::Vacant(entry) => {
                entry.insert(weaker_value);
            }
        }
    }
}
