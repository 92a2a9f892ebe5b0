//! Where the columns of a SELECT are found: by name, by text, by the column of a table that they are.
//!
//! What must always hold: what is found is the first of its kind, as a search from the left would find it. Lists are as long as a client
//! wants them, and each item of one may name an item of another.

use std::collections::HashMap;

use weir_sql::ast::{SelectItem, SelectItemKind};

use crate::analysis::{ColumnRef, OutColumn};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Index {
    names: HashMap<Vec<u8>, usize>,
    texts: HashMap<Vec<u8>, usize>,
    columns: HashMap<ColumnRef, usize>,
    aliases: HashMap<Vec<u8>, usize>,
}

impl Index {
    pub(super) fn of(columns: &[OutColumn<'_>], items: &[SelectItem<'_>], text: &[u8]) -> Self {
        let mut index = Index::default();
        for (place, column) in columns.iter().enumerate() {
            index.names.entry(column.name.to_ascii_lowercase()).or_insert(place);
            if let Some(at) = column.column {
                index.columns.entry(at).or_insert(place);
            }
            if let Some(expr) = column.expr {
                index.texts.entry(meaning(expr.bare().span.text(text))).or_insert(place);
            }
        }
        for (place, item) in items.iter().enumerate() {
            if let SelectItemKind::Expr(_, Some(alias)) = &item.kind {
                index.aliases.entry(alias.name.to_ascii_lowercase()).or_insert(place);
            }
        }
        index
    }

    /// The place of a column that goes by this name.
    pub(super) fn named(&self, name: &[u8]) -> Option<usize> {
        self.names.get(&name.to_ascii_lowercase()).copied()
    }

    /// The place of a column whose text is the same expression.
    pub(super) fn written(&self, text: &[u8]) -> Option<usize> {
        self.texts.get(&meaning(text)).copied()
    }

    /// The place of a table's column.
    pub(super) fn shows(&self, column: ColumnRef) -> Option<usize> {
        self.columns.get(&column).copied()
    }

    /// The place among the items of that with this alias.
    pub(super) fn aliased(&self, alias: &[u8]) -> Option<usize> {
        self.aliases.get(&alias.to_ascii_lowercase()).copied()
    }
}

/// What texts of the same expression have in common: case matters in strings and quoted names.
pub(super) fn meaning(text: &[u8]) -> Vec<u8> {
    let quotes = text.iter().any(|byte| matches!(byte, b'\'' | b'"' | b'`'));
    if quotes { text.to_vec() } else { text.to_ascii_lowercase() }
}
