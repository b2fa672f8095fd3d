//! Kind queries on the model view (C++ `UsdModelAPI`).
//!
//! [`ModelAPI`] reads and writes a prim's `kind`, and asks whether the prim is
//! a model or a group, through the [`Prim`](super::Prim) it derefs to. What
//! this module adds is [`ModelAPI::is_kind`], the one query that takes the
//! kind to compare against.

use crate::Result;

use super::ModelAPI;

/// Whether [`ModelAPI::is_kind`] holds a model kind to the model hierarchy
/// (C++ `UsdModelAPI::KindValidation`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KindValidation {
    /// Compare the prim's kind with the kind asked about, wherever the prim
    /// sits (C++ `KindValidationNone`).
    None,
    /// A prim is of a model kind only when it is a model, so one whose
    /// ancestors break the model hierarchy is of none (C++
    /// `KindValidationModelHierarchy`).
    #[default]
    ModelHierarchy,
}

impl ModelAPI {
    /// Whether the prim's `kind` is `base` or derives from it, by the stage's
    /// [`kind::Registry`](crate::kind::Registry) (C++ `UsdModelAPI::IsKind`).
    ///
    /// Under [`KindValidation::ModelHierarchy`] a `base` that is a model kind
    /// is answered `false` for a prim that is not a model. A `base` outside
    /// the model kinds, such as `subcomponent`, is compared the same way
    /// under either validation.
    ///
    /// ```
    /// use openusd::usd::{KindValidation, ModelAPI, Stage};
    ///
    /// let stage = Stage::builder().in_memory("root.usda")?;
    /// stage.define_prim("/Set")?.set_kind("assembly")?;
    /// let set = ModelAPI::from_prim_unchecked(stage.prim("/Set")?);
    /// assert!(set.is_kind("group", KindValidation::ModelHierarchy)?);
    /// # Ok::<(), openusd::Error>(())
    /// ```
    pub fn is_kind(&self, base: &str, validation: KindValidation) -> Result<bool> {
        let kinds = self.stage().schema_registry().kinds();
        if !self.kind()?.is_some_and(|kind| kinds.is_a(&kind, base)) {
            return Ok(false);
        }
        // Asked last: whether the prim is a model takes a walk up its
        // ancestors, and most prims are not of the kind asked about.
        Ok(validation == KindValidation::None || !kinds.is_model(base) || self.is_model()?)
    }
}
