//! WITH and views: queries that stand for tables by a name.
//!
//! What must always hold: a common table expression sees those before it, and itself only under RECURSIVE. It is analysed anew for each
//! reference, because other conditions hold for it there.

use weir_sql::Dialect;
use weir_sql::ast::{Ident, With};

use super::locks::Locks;
use super::query_graph::{DEEPEST, Frame, Gatherer};
use super::{InstanceKind, QueryBranches};

impl<'a> Gatherer<'a> {
    pub(super) fn open_with(&mut self, with: Option<&'a With<'a>>, parent: Option<usize>) {
        if let Some(with) = with {
            self.common.push(Frame { with, visible: with.tables.len(), parent });
        }
    }

    pub(super) fn common_table(&self, name: &[u8]) -> Option<(usize, usize)> {
        self.common.iter().enumerate().rev().find_map(|(at, frame)| {
            let named = |table: &weir_sql::ast::CommonTable<'_>| table.name.name.eq_ignore_ascii_case(name);
            frame.with.tables[..frame.visible].iter().position(named).map(|place| (at, place))
        })
    }

    /// A common table expression in place of a table: looked through anew each time that it is named.
    pub(super) fn expanded(&mut self, block: usize, frame: usize, place: usize, alias: Option<Ident<'a>>) -> usize {
        let Frame { with, parent, .. } = self.common[frame];
        let table = &with.tables[place];
        let called = alias.unwrap_or(table.name).name;
        let id = std::ptr::from_ref(table).addr();
        if !self.open.insert(id) {
            self.found.recursive = true;
            return self.instance(block, InstanceKind::Computed, called, None);
        }
        let visible = match with.recursive {
            true if self.around.session.mode.dialect == Dialect::MariaDb => with.tables.len(),
            true => place + 1,
            false => place,
        };
        let mut frames = self.common[..=frame].to_vec();
        frames[frame].visible = visible;
        let outside = std::mem::replace(&mut self.common, frames);
        let recursive = std::mem::take(&mut self.found.recursive);
        let outcome = self.query(table.query, parent);
        let kind = match self.found.recursive {
            // Rows of later rounds come from earlier ones, whatever their values.
            true => InstanceKind::Computed,
            false => self.derived(outcome, table.columns),
        };
        self.found.recursive |= recursive;
        self.common = outside;
        self.open.remove(&id);
        self.instance(block, kind, called, None)
    }

    /// What a view's query gives.
    pub(super) fn view(&mut self, database: &'a str, name: &[u8], locked: bool) -> Option<QueryBranches<'a>> {
        let (view, text) = self.around.catalog.view(database.as_bytes(), name)?;
        if self.views.contains(&view) || self.views.len() > DEEPEST {
            self.found.too_large = true;
            return None;
        }
        let mode = weir_sql::LexMode { dialect: self.around.session.mode.dialect, ..Default::default() };
        let query = weir_sql::parse_query(self.around.arena, text.as_bytes(), mode).ok()?;
        let query = &*self.around.arena.alloc(query);
        let outside = std::mem::replace(&mut self.around.folder.text, text.as_bytes());
        let frames = std::mem::take(&mut self.common);
        self.views.push(view);
        let outcome = if locked { self.locked_query(query, None, Locks::All) } else { self.query(query, None) };
        self.views.pop();
        self.common = frames;
        self.around.folder.text = outside;
        Some(outcome)
    }
}
