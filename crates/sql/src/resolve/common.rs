//! Which common table expressions are in sight.
//!
//! What must hold: an inner WITH hides an outer one's names; a common table sees those before it, and itself only under
//! RECURSIVE. On MariaDB all of a recursive WITH see each other.

use std::collections::HashMap;

use super::Context;
use crate::ast::{CommonTable, ObjectName, With};
use crate::mode::Dialect;

/// The WITHs around a place, the innermost last.
#[derive(Default)]
pub(super) struct CommonTables<'a> {
    frames: Vec<Frame<'a>>,
}

struct Frame<'a> {
    with: &'a With<'a>,
    places: HashMap<Vec<u8>, usize>,
    /// How many of the tables are in sight.
    visible: usize,
}

impl<'a> CommonTables<'a> {
    pub(super) fn open(&mut self, with: Option<&'a With<'a>>) {
        let Some(with) = with else { return };
        let mut places = HashMap::with_capacity(with.tables.len());
        for (place, table) in with.tables.iter().enumerate() {
            places.entry(table.name.name.to_ascii_lowercase()).or_insert(place);
        }
        self.frames.push(Frame { with, places, visible: with.tables.len() });
    }

    pub(super) fn close(&mut self, with: Option<&'a With<'a>>) {
        if with.is_some() {
            self.frames.pop();
        }
    }

    /// At one of the tables of the innermost WITH: what its query sees.
    pub(super) fn enter(&mut self, table: &'a CommonTable<'a>, dialect: Dialect) {
        let Some(frame) = self.frames.last_mut() else { return };
        let place = frame.with.tables.partition_point(|other| other.span.start < table.span.start);
        frame.visible = match frame.with.recursive {
            true if dialect == Dialect::MariaDb => frame.with.tables.len(),
            true => place + 1,
            false => place,
        };
    }

    /// After the tables of the innermost WITH: all of them are in sight.
    pub(super) fn leave_with(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.visible = frame.with.tables.len();
        }
    }

    /// The common table that a name means, if it means one.
    pub(super) fn find(&self, name: &ObjectName<'a>, context: &Context<'_>) -> Option<&'a CommonTable<'a>> {
        if name.database.is_some() || self.frames.is_empty() {
            return None;
        }
        let key = name.name.name.to_ascii_lowercase();
        let found = |frame: &Frame<'a>| {
            let place = *frame.places.get(&key)?;
            let table = frame.with.tables.get(place).filter(|_| place < frame.visible)?;
            let same = context.dialect == Dialect::MariaDb || context.same(table.name.name, name.name.name);
            same.then_some(table)
        };
        self.frames.iter().rev().find_map(found)
    }
}
