//! What a column's name refers to.
//!
//! What must always hold: a name is resolved to a column only if the server resolves it so; a name that may be another column's is not
//! resolved.

use weir_sql::ast::{ColumnName, Expr, ExprKind, Ident, Literal};

use super::query_graph::Gatherer;
use super::{Analysis, ColumnRef, InstanceKind, OutColumn};
use weir_catalog::Table;

/// The name of a column that servers name after the expression's text, with differences that don't matter here: certainly no plain word.
pub(crate) const AFTER_TEXT: &[u8] = b"";

/// The name of a column of a select list.
pub(super) fn name_of<'a>(expr: &'a Expr<'a>, alias: Option<Ident<'a>>) -> &'a [u8] {
    match (alias, &expr.bare().kind) {
        (Some(alias), _) => alias.name,
        (None, ExprKind::Column(name)) => name.name.name,
        (None, _) => AFTER_TEXT,
    }
}

/// The names of a derived table's columns, and whether one of those that have none may be any word: servers name a string after its value.
pub(super) fn own_names<'a>(columns: &[OutColumn<'a>]) -> (Vec<&'a [u8]>, bool) {
    let open = |column: &OutColumn<'_>| column.name == AFTER_TEXT && column.expr.is_some_and(may_be_a_word);
    (columns.iter().map(|column| column.name).collect(), columns.iter().any(open))
}

fn may_be_a_word(expr: &Expr<'_>) -> bool {
    let bare = expr.bare();
    match &bare.kind {
        ExprKind::Literal(Literal::Integer | Literal::Decimal | Literal::Float) => false,
        ExprKind::Literal(_) | ExprKind::Word(_) => true,
        // `CURRENT_DATE`, without parentheses.
        ExprKind::Call(call) => call.name.name.span.range().len() == bare.span.range().len(),
        _ => false,
    }
}

/// Whether a name is a word that no expression's text is, other than one [`own_names`] knows.
fn is_plain_word(name: &[u8]) -> bool {
    name.first().is_some_and(|first| first.is_ascii_alphabetic() || *first == b'_')
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

/// What is known of an instance's having a column.
enum Has {
    Column(usize),
    No,
    Unknown,
}

impl<'a> Gatherer<'a> {
    /// The column that an expression is, if it is just one.
    pub(super) fn column_of(&self, block: usize, within: Option<&[usize]>, expr: &Expr<'a>) -> Option<ColumnRef> {
        match expr.bare().kind {
            ExprKind::Column(name) => self.found.lookup(block, within, name, self.around.catalog.fold_case),
            _ => None,
        }
    }
}

impl<'a> Analysis<'a> {
    /// The column that a name means in a block; in a join's condition, `within` has the tables that it can see.
    pub(crate) fn lookup(
        &self,
        block: usize,
        within: Option<&[usize]>,
        name: &ColumnName<'_>,
        fold_case: bool,
    ) -> Option<ColumnRef> {
        let (mut at, mut within) = (Some(block), within);
        while let Some(block) = at {
            let sources = within.take().unwrap_or(&self.blocks[block].sources);
            if !self.spend(1 + sources.len() + self.blocks[block].merged.len()) {
                return None;
            }
            let found = match name.table {
                Some(table) => {
                    let database = name.database.map(|database| database.name);
                    self.qualified(sources, database, table.name, name.name.name, fold_case)
                }
                None => self.unqualified(block, sources, name.name.name),
            };
            match found {
                Found::Column(column) => return Some(column),
                Found::Unclear => return None,
                Found::Nothing => at = self.blocks[block].parent,
            }
        }
        None
    }

    fn qualified(
        &self,
        sources: &[usize],
        database: Option<&[u8]>,
        table: &[u8],
        column: &[u8],
        fold_case: bool,
    ) -> Found {
        let same = |one: &[u8], other: &[u8]| one == other || fold_case && one.eq_ignore_ascii_case(other);
        let named = |instance: &usize| {
            let instance = &self.instances[*instance];
            let right_database = match (database, instance.database) {
                (None, _) => true,
                (Some(asked), Some(own)) => same(asked, own),
                (Some(_), None) => false,
            };
            right_database && same(instance.name, table)
        };
        for instance in sources.iter().copied().filter(named) {
            match self.has(instance, column) {
                Has::Column(column) => return Found::Column(ColumnRef { instance, column }),
                // Another table that goes by the same name may have it, here or around.
                Has::No => {}
                Has::Unknown => return Found::Unclear,
            }
        }
        Found::Nothing
    }

    fn unqualified(&self, block: usize, sources: &[usize], column: &[u8]) -> Found {
        let merged = self.blocks[block].merged.iter().rev();
        if let Some((_, at)) = merged.clone().find(|(name, _)| name.eq_ignore_ascii_case(column)) {
            return Found::Column(*at);
        }
        let mut found = None;
        for instance in sources.iter().copied() {
            match self.has(instance, column) {
                Has::Column(_) if found.is_some() => return Found::Unclear,
                Has::Column(column) => found = Some(ColumnRef { instance, column }),
                Has::No => {}
                Has::Unknown => return Found::Unclear,
            }
        }
        found.map_or(Found::Nothing, Found::Column)
    }

    fn has(&self, instance: usize, column: &[u8]) -> Has {
        match &self.instances[instance].kind {
            InstanceKind::Base(base) => base.table.column(column).map_or(Has::No, Has::Column),
            InstanceKind::Derived(derived) => match &derived.names {
                None => Has::Unknown,
                Some(names) if !self.spend(names.len()) => Has::Unknown,
                Some(names) => match names.iter().position(|name| name.eq_ignore_ascii_case(column)) {
                    // Servers refuse a derived table that has a name twice.
                    Some(place) => Has::Column(place),
                    None if derived.open => Has::Unknown,
                    None if names.contains(&AFTER_TEXT) && !is_plain_word(column) => Has::Unknown,
                    None => Has::No,
                },
            },
            InstanceKind::System | InstanceKind::Elsewhere(_) | InstanceKind::Computed => Has::Unknown,
        }
    }

    /// The place of a column of an instance.
    pub(super) fn column_named(&self, instance: usize, column: &[u8]) -> Option<ColumnRef> {
        match self.has(instance, column) {
            Has::Column(column) => Some(ColumnRef { instance, column }),
            _ => None,
        }
    }

    /// The names of an instance's columns that `*` gives, with their places.
    pub(crate) fn star(&self, instance: usize) -> Option<Vec<(&'a [u8], ColumnRef)>> {
        let at = |column| ColumnRef { instance, column };
        match &self.instances[instance].kind {
            InstanceKind::Base(base) => {
                let table: &'a Table = base.table;
                let shown = table.columns.iter().enumerate().filter(|(_, column)| !column.invisible);
                Some(shown.map(|(place, column)| (column.name.as_bytes(), at(place))).collect())
            }
            InstanceKind::Derived(derived) => {
                let names = derived.names.as_ref().filter(|_| !derived.open)?;
                Some(names.iter().enumerate().map(|(place, name)| (*name, at(place))).collect())
            }
            _ => None,
        }
    }
}

enum Found {
    Column(ColumnRef),
    Unclear,
    Nothing,
}
