/// Value type representing a list-edit operation.
///
/// `ListOp` is a value type representing an operation that edits a list.
/// It may add or remove items, reorder them, or replace the list entirely.
#[derive(Default, Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ListOp<T: Default + Clone + PartialEq> {
    #[cfg_attr(feature = "serde", serde(skip))]
    pub explicit: bool,
    #[cfg_attr(feature = "serde", serde(rename = "explicit", skip_serializing_if = "Vec::is_empty"))]
    pub explicit_items: Vec<T>,
    #[cfg_attr(feature = "serde", serde(rename = "add", skip_serializing_if = "Vec::is_empty"))]
    pub added_items: Vec<T>,
    #[cfg_attr(feature = "serde", serde(rename = "prepend", skip_serializing_if = "Vec::is_empty"))]
    pub prepended_items: Vec<T>,
    #[cfg_attr(feature = "serde", serde(rename = "append", skip_serializing_if = "Vec::is_empty"))]
    pub appended_items: Vec<T>,
    #[cfg_attr(feature = "serde", serde(rename = "delete", skip_serializing_if = "Vec::is_empty"))]
    pub deleted_items: Vec<T>,
    #[cfg_attr(feature = "serde", serde(rename = "order", skip_serializing_if = "Vec::is_empty"))]
    pub ordered_items: Vec<T>,
}

impl<T: Default + Clone + PartialEq> ListOp<T> {
    /// Creates an explicit list op that replaces weaker list opinions.
    pub fn explicit<I>(items: I) -> Self
    where
        I: IntoIterator<Item = T>,
    {
        Self {
            explicit: true,
            explicit_items: items.into_iter().collect(),
            ..Default::default()
        }
    }

    /// Creates a `prepend` list op.
    pub fn prepended<I>(items: I) -> Self
    where
        I: IntoIterator<Item = T>,
    {
        Self {
            prepended_items: items.into_iter().collect(),
            ..Default::default()
        }
    }

    /// Creates an `append` list op.
    pub fn appended<I>(items: I) -> Self
    where
        I: IntoIterator<Item = T>,
    {
        Self {
            appended_items: items.into_iter().collect(),
            ..Default::default()
        }
    }

    /// Creates an `add` list op.
    pub fn added<I>(items: I) -> Self
    where
        I: IntoIterator<Item = T>,
    {
        Self {
            added_items: items.into_iter().collect(),
            ..Default::default()
        }
    }

    /// Creates a `delete` list op.
    pub fn deleted<I>(items: I) -> Self
    where
        I: IntoIterator<Item = T>,
    {
        Self {
            deleted_items: items.into_iter().collect(),
            ..Default::default()
        }
    }

    /// Creates an `order` list op.
    pub fn ordered<I>(items: I) -> Self
    where
        I: IntoIterator<Item = T>,
    {
        Self {
            ordered_items: items.into_iter().collect(),
            ..Default::default()
        }
    }

    /// Converts every item to `U`, preserving the list-op structure. Used to
    /// reconcile encodings that differ only in element type, e.g. a `token`
    /// list op decoded for a field whose canonical type is `string`.
    pub fn map<U: Default + Clone + PartialEq>(self, f: impl Fn(T) -> U) -> ListOp<U> {
        ListOp {
            explicit: self.explicit,
            explicit_items: self.explicit_items.into_iter().map(&f).collect(),
            added_items: self.added_items.into_iter().map(&f).collect(),
            prepended_items: self.prepended_items.into_iter().map(&f).collect(),
            appended_items: self.appended_items.into_iter().map(&f).collect(),
            deleted_items: self.deleted_items.into_iter().map(&f).collect(),
            ordered_items: self.ordered_items.into_iter().map(&f).collect(),
        }
    }

    /// Maps every item, dropping those for which `f` returns `None`, while
    /// preserving the list-op structure. The retaining counterpart of
    /// [`map`](Self::map) — namespace-edit deletion fixup uses it to drop the
    /// items that point at a removed object.
    pub fn filter_map(self, f: impl Fn(T) -> Option<T>) -> ListOp<T> {
        ListOp {
            explicit: self.explicit,
            explicit_items: self.explicit_items.into_iter().filter_map(&f).collect(),
            added_items: self.added_items.into_iter().filter_map(&f).collect(),
            prepended_items: self.prepended_items.into_iter().filter_map(&f).collect(),
            appended_items: self.appended_items.into_iter().filter_map(&f).collect(),
            deleted_items: self.deleted_items.into_iter().filter_map(&f).collect(),
            ordered_items: self.ordered_items.into_iter().filter_map(&f).collect(),
        }
    }

    /// Returns an iterator over all items that contribute opinions:
    /// explicit, prepended, appended, and added.
    ///
    /// This excludes `deleted_items` and `ordered_items` which control
    /// removal and ordering rather than contributing values.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.explicit_items
            .iter()
            .chain(&self.prepended_items)
            .chain(&self.appended_items)
            .chain(&self.added_items)
    }

    /// Every bucket, with whether its items contribute opinions: `true` for
    /// the explicit, added, prepended and appended items, `false` for the
    /// deleted and ordered ones, which only remove or reorder. Keeps the full
    /// set of buckets defined in one place.
    pub fn buckets_mut(&mut self) -> [(&mut Vec<T>, bool); 6] {
        [
            (&mut self.explicit_items, true),
            (&mut self.added_items, true),
            (&mut self.prepended_items, true),
            (&mut self.appended_items, true),
            (&mut self.deleted_items, false),
            (&mut self.ordered_items, false),
        ]
    }

    /// Returns a mutable iterator over the items in **every** bucket so callers
    /// can rewrite each item in place (e.g. retiming a reference's layer
    /// offset). Unlike [`iter`](Self::iter), this includes `deleted_items` and
    /// `ordered_items` — a rewrite must touch every item or a delete/reorder
    /// would no longer match its retimed counterpart.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.buckets_mut().into_iter().flat_map(|(items, _)| items.iter_mut())
    }

    /// Returns true if this list op has no effect (all fields empty, not explicit).
    pub fn is_empty(&self) -> bool {
        !self.explicit
            && self.explicit_items.is_empty()
            && self.added_items.is_empty()
            && self.prepended_items.is_empty()
            && self.appended_items.is_empty()
            && self.deleted_items.is_empty()
            && self.ordered_items.is_empty()
    }

    /// Remove `item` so it is absent from the composed result, mirroring C++
    /// `SdfListEditorProxy::Remove`.
    ///
    /// In explicit mode the explicit list is the whole value, so the entry is
    /// simply dropped. Otherwise any local opinion that would add `item` is
    /// dropped and `item` is recorded in `deleted_items` (unless already
    /// present), which [`combined_with`](Self::combined_with) honors to
    /// suppress the same item authored in a weaker layer. Returns whether
    /// anything changed.
    pub fn remove(&mut self, item: &T) -> bool {
        if self.explicit {
            return remove_one(&mut self.explicit_items, item);
        }
        let mut changed = remove_one(&mut self.explicit_items, item);
        changed |= remove_one(&mut self.added_items, item);
        changed |= remove_one(&mut self.prepended_items, item);
        changed |= remove_one(&mut self.appended_items, item);
        if !self.deleted_items.iter().any(|i| i == item) {
            self.deleted_items.push(item.clone());
            changed = true;
        }
        changed
    }

    /// Compose this (stronger) list op with a weaker one, producing a single
    /// equivalent list op.
    ///
    /// This is the Rust equivalent of `SdfListOp::ComposeAndReduce`.
    pub fn combined_with(&self, weaker: &Self) -> Self {
        if self.is_empty() {
            return weaker.clone();
        }
        // Stronger is explicit → weaker is irrelevant.
        if self.explicit {
            return Self {
                explicit: true,
                explicit_items: self.explicit_items.clone(),
                ordered_items: self.ordered_items.clone(),
                ..Default::default()
            };
        }
        // Weaker is inert → copy stronger.
        if weaker.is_empty() {
            return self.clone();
        }
        // Stronger composable over weaker explicit.
        if weaker.explicit {
            let explicit_items = self
                .prepended_items
                .iter()
                .filter(|e| !self.appended_items.contains(e))
                .chain(weaker.explicit_items.iter().filter(|e| {
                    !self.deleted_items.contains(e)
                        && !self.prepended_items.contains(e)
                        && !self.appended_items.contains(e)
                }))
                .chain(self.appended_items.iter())
                .chain(self.added_items.iter().filter(|e| {
                    !self.prepended_items.contains(e)
                        && !self.appended_items.contains(e)
                        && !weaker.explicit_items.contains(e)
                }))
                .cloned()
                .collect();
            return Self {
                explicit: true,
                explicit_items,
                ordered_items: merge_ordered(&self.ordered_items, &weaker.ordered_items),
                ..Default::default()
            };
        }
        // Both composable.
        let prepended_items: Vec<T> = self
            .prepended_items
            .iter()
            .filter(|e| !self.appended_items.contains(e))
            .chain(weaker.prepended_items.iter().filter(|e| {
                !self.deleted_items.contains(e) && !self.prepended_items.contains(e) && !self.appended_items.contains(e)
            }))
            .cloned()
            .collect();

        let appended_items: Vec<T> = weaker
            .appended_items
            .iter()
            .filter(|e| {
                !self.deleted_items.contains(e) && !self.prepended_items.contains(e) && !self.appended_items.contains(e)
            })
            .chain(self.appended_items.iter())
            .cloned()
            .collect();

        // Keep the composed op canonical (one bucket per item), mirroring
        // `SdfListOp::ComposeAndReduce`: an item already composed into
        // `prepended` or `appended` must not also appear as an `add`, so every
        // consumer (`iter`, `flatten`) sees it once. Filter both the weaker and
        // the stronger adds against the composed prepend/append sets.
        let in_prepend_or_append = |e: &T| prepended_items.contains(e) || appended_items.contains(e);
        let added_items = weaker
            .added_items
            .iter()
            .filter(|e| !self.deleted_items.contains(e) && !self.added_items.contains(e) && !in_prepend_or_append(e))
            .chain(self.added_items.iter().filter(|e| !in_prepend_or_append(e)))
            .cloned()
            .collect();

        let deleted_items = weaker
            .deleted_items
            .iter()
            .filter(|e| {
                !self.prepended_items.contains(e) && !self.appended_items.contains(e) && !self.added_items.contains(e)
            })
            .chain(self.deleted_items.iter().filter(|e| {
                !weaker.deleted_items.contains(e)
                    && !self.prepended_items.contains(e)
                    && !self.appended_items.contains(e)
                    && !self.added_items.contains(e)
            }))
            .cloned()
            .collect();

        Self {
            prepended_items,
            appended_items,
            added_items,
            deleted_items,
            ordered_items: merge_ordered(&self.ordered_items, &weaker.ordered_items),
            ..Default::default()
        }
    }

    /// Remove spurious duplicates within this list op.
    ///
    /// Items that appear in `appended_items` are removed from `prepended_items`.
    /// Items that appear in `appended_items` or `prepended_items` are removed
    /// from `deleted_items`.
    pub fn reduced(&self) -> Self {
        if self.explicit {
            return Self {
                explicit: true,
                explicit_items: self.explicit_items.clone(),
                ordered_items: self.ordered_items.clone(),
                ..Default::default()
            };
        }
        Self {
            prepended_items: self
                .prepended_items
                .iter()
                .filter(|e| !self.appended_items.contains(e))
                .cloned()
                .collect(),
            appended_items: self
                .appended_items
                .iter()
                .chain(
                    self.added_items
                        .iter()
                        .filter(|e| !self.prepended_items.contains(e) && !self.appended_items.contains(e)),
                )
                .cloned()
                .collect(),
            deleted_items: self
                .deleted_items
                .iter()
                .filter(|e| {
                    !self.appended_items.contains(e)
                        && !self.prepended_items.contains(e)
                        && !self.added_items.contains(e)
                })
                .cloned()
                .collect(),
            ordered_items: self.ordered_items.clone(),
            ..Default::default()
        }
    }

    /// Folds `incoming` — a freshly parsed single-operator opinion — into this
    /// list op so successive `prepend`/`append`/`add`/`delete`/`reorder`
    /// statements for one field on the same spec accumulate instead of
    /// overwriting (C++ Sdf builds a single `SdfListOp` per field).
    ///
    /// Explicit and composed (operator) forms are mutually exclusive. An
    /// explicit `incoming` (`field = [...]` or `field = None`) replaces this op
    /// outright; an operator `incoming` puts the field in composed mode,
    /// discarding any prior explicit opinion, then sets each operator sublist it
    /// populates (leaving the other operator sublists intact).
    pub fn merge_op(&mut self, incoming: ListOp<T>) {
        if incoming.explicit {
            *self = incoming;
            return;
        }
        if self.explicit {
            self.explicit = false;
            self.explicit_items.clear();
        }
        for (slot, items) in [
            (&mut self.prepended_items, incoming.prepended_items),
            (&mut self.appended_items, incoming.appended_items),
            (&mut self.added_items, incoming.added_items),
            (&mut self.deleted_items, incoming.deleted_items),
            (&mut self.ordered_items, incoming.ordered_items),
        ] {
            if !items.is_empty() {
                *slot = items;
            }
        }
    }

    /// Flatten this list op into its final item list.
    pub fn flatten(&self) -> Vec<T> {
        let mut result = if self.explicit {
            self.explicit_items.clone()
        } else {
            // Emit each item once, keeping the position sequential `compose_over`
            // would give it. A prepended item keeps its front position unless it
            // is also appended (an append moves it to the back); an item is
            // dropped from `added` only when it already appears as a prepend or
            // append. An item present in two buckets is therefore kept once,
            // not dropped, even when the op is not canonical.
            self.prepended_items
                .iter()
                .filter(|e| !self.appended_items.contains(e))
                .chain(self.appended_items.iter())
                .chain(
                    self.added_items
                        .iter()
                        .filter(|e| !self.prepended_items.contains(e) && !self.appended_items.contains(e)),
                )
                .cloned()
                .collect()
        };

        if !self.ordered_items.is_empty() {
            super::apply_ordering(&mut result, &self.ordered_items);
        }

        result
    }

    /// Applies this list operation on top of a weaker list, producing the composed result.
    ///
    /// Implements AOUSD Core Specification §12.2.6 list-op application:
    /// - If `self.explicit` is true, the result is `self.explicit_items` (replacing everything).
    /// - Otherwise, starts with `weaker` and applies prepend, append, add, and delete edits.
    /// - Finally, applies order edits to the matching items in the result.
    pub fn compose_over(&self, weaker: &[T]) -> Vec<T> {
        let mut result = if self.explicit {
            self.explicit_items.clone()
        } else {
            let mut result: Vec<T> = weaker.to_vec();

            // Prepend: insert at front, removing duplicates from the existing list.
            for item in self.prepended_items.iter().rev() {
                result.retain(|x| x != item);
                result.insert(0, item.clone());
            }

            // Append: push to back, removing duplicates from the existing list.
            for item in &self.appended_items {
                result.retain(|x| x != item);
                result.push(item.clone());
            }

            // Add: push to back only if not already present.
            for item in &self.added_items {
                if !result.contains(item) {
                    result.push(item.clone());
                }
            }

            // Delete: remove matching items.
            for item in &self.deleted_items {
                result.retain(|x| x != item);
            }

            result
        };

        if !self.ordered_items.is_empty() {
            super::apply_ordering(&mut result, &self.ordered_items);
        }

        result
    }
}

/// Remove the first occurrence of `item` from `items`, returning whether it
/// was present.
fn remove_one<T: PartialEq>(items: &mut Vec<T>, item: &T) -> bool {
    let Some(idx) = items.iter().position(|i| i == item) else {
        return false;
    };
    items.remove(idx);
    true
}

/// Merge two `reorder` lists with the stronger taking precedence on
/// duplicates. Mirrors how `prepended_items` are combined: stronger items keep
/// their order, then weaker items not present in the stronger are appended.
fn merge_ordered<T: Clone + PartialEq>(stronger: &[T], weaker: &[T]) -> Vec<T> {
    if weaker.is_empty() {
        return stronger.to_vec();
    }
    if stronger.is_empty() {
        return weaker.to_vec();
    }
    stronger
        .iter()
        .chain(weaker.iter().filter(|e| !stronger.contains(e)))
        .cloned()
        .collect()
}
