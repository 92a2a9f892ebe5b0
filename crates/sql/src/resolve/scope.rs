//! A scope: the tables of one query block or statement, the select list whose aliases it knows, and what of it can be
//! seen from where the walk is.

use std::collections::HashMap;

use super::{Columns, Context, Source, SourceKind};
use crate::ast::{
    ColumnName, Expr, ExprKind, Ident, JsonColumnKind, JsonTable, OrderItem, Query, QueryBody, Select, SelectItem,
    SelectItemKind, Span,
};

/// More tables than this no server joins; columns of such a query are not resolved.
const MOST_TABLES: usize = 64;

/// The columns of a query with more of them are not looked at.
const MOST_ITEMS: usize = 256;

/// See the module.
#[derive(Default)]
pub(super) struct Scope<'a> {
    /// Indexes of its sources.
    pub(super) sources: Vec<usize>,
    /// The query block that it belongs to.
    pub(super) select: Option<&'a Select<'a>>,
    /// The select list whose aliases its clauses know.
    pub(super) items: &'a [SelectItem<'a>],
    /// ORDER BY of the query around.
    pub(super) order_by: &'a [OrderItem<'a>],
    /// It is that of a SELECT among others, which no query has for itself.
    pub(super) without_query: bool,
    /// From where the walk is, the innermost restriction last.
    pub(super) views: Vec<View>,
    /// The items that have aliases; made when it is first asked for.
    pub(super) aliases: Option<HashMap<Vec<u8>, usize>>,
}

/// What of a scope's sources can be seen.
#[derive(Clone, Copy)]
pub(super) enum View {
    /// None: a derived table that is not LATERAL.
    Nothing,
    /// Those before this place: LATERAL.
    Before(u32),
    /// Those within this part: a join's condition.
    Within(Span),
}

/// Where aliases of the select list are known, and whether they come before columns.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AliasPlace {
    Nowhere,
    First,
    Second,
}

impl<'a> Scope<'a> {
    /// The sources in sight.
    pub(super) fn visible<'s>(&'s self, all: &'s [Source<'a>]) -> impl Iterator<Item = usize> + 's {
        let view = self.views.last().copied();
        let most = if self.sources.len() > MOST_TABLES { 0 } else { MOST_TABLES };
        self.sources.iter().copied().take(most).filter(move |source| {
            let span = all[*source].span;
            match view {
                None => true,
                Some(View::Nothing) => false,
                Some(View::Before(place)) => span.start < place,
                Some(View::Within(part)) => part.start <= span.start && span.end <= part.end,
            }
        })
    }

    /// The item of the select list that a column's name may stand for as an alias, and whether it does for certain.
    pub(super) fn aliased(&mut self, name: &ColumnName<'a>) -> Option<(&'a SelectItem<'a>, bool)> {
        if name.table.is_some() || matches!(self.views.last(), Some(View::Nothing)) {
            return None;
        }
        let place = self.alias_place(name.span());
        if place == AliasPlace::Nowhere {
            return None;
        }
        let items = self.items;
        let aliases = self.aliases.get_or_insert_with(|| aliases_of(items));
        let item = &items[*aliases.get(&name.name.name.to_ascii_lowercase())?];
        (!names_itself(item, name)).then_some((item, place == AliasPlace::First))
    }

    fn alias_place(&self, at: Span) -> AliasPlace {
        if let Some(item) = item_at(self.order_by, at) {
            return if item.expr.bare().span == at { AliasPlace::First } else { AliasPlace::Second };
        }
        let Some(select) = self.select else { return AliasPlace::Nowhere };
        let holds = |expr: &Option<Expr<'a>>| expr.is_some_and(|expr| covers(expr.span, at));
        let second = item_at(select.group_by, at).is_some() || holds(&select.having) || holds(&select.qualify);
        if second { AliasPlace::Second } else { AliasPlace::Nowhere }
    }
}

fn covers(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// The item that covers a place.
fn item_at<'a>(items: &'a [OrderItem<'a>], at: Span) -> Option<&'a OrderItem<'a>> {
    let after = items.partition_point(|item| item.span.start <= at.start);
    items.get(after.checked_sub(1)?).filter(|item| covers(item.span, at))
}

fn aliases_of(items: &[SelectItem<'_>]) -> HashMap<Vec<u8>, usize> {
    let mut aliases = HashMap::new();
    for (place, item) in items.iter().enumerate() {
        if let SelectItemKind::Expr(_, Some(alias)) = item.kind {
            aliases.entry(alias.name.to_ascii_lowercase()).or_insert(place);
        }
    }
    aliases
}

/// `c AS c`: the alias and the column are the same.
fn names_itself(item: &SelectItem<'_>, name: &ColumnName<'_>) -> bool {
    match item.kind {
        SelectItemKind::Expr(Expr { kind: ExprKind::Column(column), .. }, _) => {
            column.name.name.eq_ignore_ascii_case(name.name.name)
        }
        _ => false,
    }
}

/// Whether a source has a column, as far as that is known.
pub(super) fn has(source: &Source<'_>, column: &[u8], columns: &dyn Columns) -> Option<bool> {
    match &source.kind {
        SourceKind::Table(table) => columns.has(table.database, table.name, column),
        SourceKind::Common(table) => query_has(table.columns, table.query, column),
        SourceKind::Derived(derived) => query_has(derived.columns, derived.query, column),
        SourceKind::JsonTable(table) => Some(json_table_has(table, column)),
        // Columns under the new row's own names must be qualified only where they are ambiguous.
        SourceKind::NewRow(row) if row.columns.is_empty() => Some(false),
        SourceKind::NewRow(row) => Some(row.columns.iter().any(|name| name.name.eq_ignore_ascii_case(column))),
    }
}

/// Whether a source has a column that is named with the source's name.
pub(super) fn has_qualified(source: &Source<'_>, column: &[u8], columns: &dyn Columns) -> Option<bool> {
    match &source.kind {
        // It has the columns of the INSERT's table.
        SourceKind::NewRow(row) if row.columns.is_empty() => None,
        _ => has(source, column, columns),
    }
}

fn json_table_has(table: &JsonTable<'_>, column: &[u8]) -> bool {
    let mut lists = vec![table.columns];
    while let Some(list) = lists.pop() {
        for one in list {
            let name = match &one.kind {
                JsonColumnKind::Ordinality(name) => name,
                JsonColumnKind::Value(value) => &value.name,
                JsonColumnKind::Nested(_, columns) => {
                    lists.push(columns);
                    continue;
                }
            };
            if name.name.eq_ignore_ascii_case(column) {
                return true;
            }
        }
    }
    false
}

fn query_has(names: &[Ident<'_>], query: &Query<'_>, column: &[u8]) -> Option<bool> {
    if !names.is_empty() {
        let found = || names.iter().any(|name| name.name.eq_ignore_ascii_case(column));
        return (names.len() <= MOST_ITEMS).then(found);
    }
    let items = select_items(query)?;
    if items.len() > MOST_ITEMS {
        return None;
    }
    let mut found = false;
    for item in items {
        match &item.kind {
            SelectItemKind::Star | SelectItemKind::TableStar(_) => return None,
            SelectItemKind::Expr(_, Some(alias)) => found |= alias.name.eq_ignore_ascii_case(column),
            SelectItemKind::Expr(Expr { kind: ExprKind::Column(name), .. }, None) => {
                found |= name.name.name.eq_ignore_ascii_case(column);
            }
            // Named after its text.
            SelectItemKind::Expr(_, None) => {}
        }
    }
    Some(found)
}

/// The select list that names a query's columns: the first one.
pub(super) fn select_items<'a>(query: &Query<'a>) -> Option<&'a [SelectItem<'a>]> {
    let mut body = query.body;
    loop {
        body = match body {
            QueryBody::Select(select) => return Some(select.items),
            QueryBody::Compound(compound) => compound.first,
            QueryBody::Nested(query) => query.body,
            QueryBody::Values(_) | QueryBody::Table(_) => return None,
        };
    }
}

/// Whether a source goes by this name, with this database before it if there is one.
pub(super) fn goes_by(source: &Source<'_>, database: Option<&[u8]>, name: &[u8], context: &Context<'_>) -> bool {
    let (own, own_database) = match &source.kind {
        SourceKind::Table(table) => (table.name, table.database),
        SourceKind::Common(table) => (table.name.name, None),
        SourceKind::Derived(_) => (&b""[..], None),
        SourceKind::JsonTable(table) => (table.alias.map_or(&b""[..], |alias| alias.name), None),
        SourceKind::NewRow(row) => (row.name.name, None),
    };
    let called = source.alias.map_or(own, |alias| alias.name);
    let right_database = match (database, own_database) {
        (None, _) => true,
        (Some(asked), Some(own)) => context.same(asked, own),
        (Some(_), None) => false,
    };
    right_database && context.same(called, name)
}
