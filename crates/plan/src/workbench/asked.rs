//! What a statement asks of the tables of its fragments.
//!
//! What must always hold: a column that the statement can name is among what is asked for, whatever the rules of letters' case are.

use std::collections::HashSet;
use std::ops::Range;

use weir_sql::ast::{
    BinaryOp, Expr, ExprKind, Lock, LockWait, NamedTable, QueryBody, Select, SelectItemKind, Statement, TableRef,
    TableRefKind,
};
use weir_sql::resolve::ColumnRole;
use weir_sql::visit::{Flow, Node, walk};

use super::filters::{self, Found, Uses};

/// What a text asks of its tables.
pub(super) struct Asked<'a> {
    /// Columns that are named: a table that may have them, by where its name begins, and the name in lower case.
    pub(super) names: HashSet<(u32, Vec<u8>)>,
    /// Names of columns that nothing in sight is known to have, in lower case.
    pub(super) unknown: HashSet<Vec<u8>>,
    /// Tables all of whose columns are asked for, by where their names begin.
    pub(super) whole: HashSet<u32>,
    /// Queries that only have rows or none, by where they begin: servers ask for no column for their `*`.
    only_exist: HashSet<u32>,
    /// Columns that are compared with others: the table by where its name begins, and the name in lower case.
    pub(super) compared: Vec<(u32, Vec<u8>)>,
    /// Conditions of tables, and what narrows them.
    pub(super) found: Found<'a>,
    /// What locking clauses say of rows that are locked.
    pub(super) wait: Option<Range<usize>>,
    pub(super) skips_locked: Option<&'static str>,
    /// It calls functions that make JSON, in which a JSON value stands otherwise than the same text.
    pub(super) makes_json: bool,
}

/// MariaDB's functions to which it matters whether a value is JSON.
const MAKE_JSON: [&str; 9] = [
    "json_array",
    "json_object",
    "json_arrayagg",
    "json_objectagg",
    "json_set",
    "json_insert",
    "json_replace",
    "json_array_append",
    "json_array_insert",
];

impl<'a> Asked<'a> {
    pub(super) fn of(statement: &'a Statement<'a>, uses: &Uses<'_, 'a>) -> Asked<'a> {
        let mut asked = Asked {
            names: HashSet::new(),
            unknown: HashSet::new(),
            whole: HashSet::new(),
            only_exist: HashSet::new(),
            compared: Vec::new(),
            found: Found::default(),
            wait: None,
            skips_locked: None,
            makes_json: false,
        };
        for column in uses.all() {
            let name = column.name.name.name.to_ascii_lowercase();
            if column.role == ColumnRole::Joined {
                asked.compared.extend(column.sources.iter().map(|source| (uses.start(*source), name.clone())));
            }
            if column.sources.is_empty() && column.item.is_none() {
                asked.unknown.insert(name.clone());
            }
            asked.names.extend(column.sources.iter().map(|source| (uses.start(*source), name.clone())));
        }
        walk(Node::Statement(statement), &mut |node: Node<'a>| {
            match node {
                Node::Select(select) => asked.select(select, uses),
                Node::Query(query) => asked.table(&query.body),
                Node::Compound(compound) => {
                    asked.table(&compound.first);
                    compound.rest.iter().for_each(|term| asked.table(&term.body));
                }
                Node::TableRef(TableRef { kind: TableRefKind::Join(join), .. }, _) if join.natural => {
                    let tables = leaves(&join.left).into_iter().chain(leaves(&join.right));
                    asked.whole.extend(tables.map(|table| table.name.span.start));
                }
                Node::Expr(Expr {
                    kind: ExprKind::Binary(BinaryOp::Eq | BinaryOp::NullSafeEq, left, right), ..
                }) => {
                    asked.equal(left, right, uses);
                }
                Node::Expr(Expr { kind: ExprKind::Exists(query), .. }) => {
                    if let QueryBody::Select(select) = query.body {
                        asked.only_exist.insert(select.span.start);
                    }
                }
                Node::Expr(Expr { kind: ExprKind::In(list), .. }) => asked.equal(&list.expr, &list.expr, uses),
                Node::Expr(Expr { kind: ExprKind::Call(call), .. }) => {
                    asked.makes_json |= MAKE_JSON.iter().any(|name| call.name.name.is(name));
                }
                Node::Lock(lock) => asked.lock(lock),
                _ => {}
            }
            Flow::Descend
        });
        asked
    }

    /// `TABLE t` has all columns.
    fn table(&mut self, body: &QueryBody<'_>) {
        if let QueryBody::Table(table) = body {
            self.whole.insert(table.name.span.start);
        }
    }

    fn select(&mut self, select: &'a Select<'a>, uses: &Uses<'_, 'a>) {
        filters::of_select(select, uses, &mut self.found);
        if self.only_exist.contains(&select.span.start) {
            return;
        }
        let tables: Vec<&NamedTable<'_>> = select.from.iter().flat_map(leaves).collect();
        for item in select.items {
            let called = match item.kind {
                SelectItemKind::Star => None,
                SelectItemKind::TableStar(name) => Some(name.name.name),
                SelectItemKind::Expr(..) => continue,
            };
            let own = |table: &&&NamedTable<'_>| called.is_some_and(|called| goes_by(table, called));
            // What goes by no such name may do so under other rules of letters.
            let all = called.is_none() || !tables.iter().any(|table| own(&table));
            self.whole.extend(tables.iter().filter(|table| all || own(table)).map(|table| table.name.span.start));
        }
    }

    /// Columns that are compared with what is not constant get keys.
    fn equal(&mut self, left: &Expr<'_>, right: &Expr<'_>, uses: &Uses<'_, '_>) {
        for side in [left, right] {
            if let ExprKind::Column(name) = side.bare().kind
                && let Some(source) = uses.source_of(side)
            {
                self.compared.push((uses.start(source), name.name.name.to_ascii_lowercase()));
            }
        }
    }

    fn lock(&mut self, lock: &Lock<'_>) {
        match lock.wait {
            LockWait::Default => {}
            LockWait::NoWait => self.skips_locked = Some(" NOWAIT"),
            LockWait::SkipLocked => self.skips_locked = Some(" SKIP LOCKED"),
            LockWait::Seconds(span) => self.wait = Some(span.range()),
        }
    }
}

/// Whether a table goes by a name, whatever its letters' case is.
fn goes_by(table: &NamedTable<'_>, name: &[u8]) -> bool {
    table.alias.map_or(table.name.name.name, |alias| alias.name).eq_ignore_ascii_case(name)
}

/// The tables by their names in a table of FROM.
fn leaves<'t, 'a>(table: &'t TableRef<'a>) -> Vec<&'t NamedTable<'a>> {
    match &table.kind {
        TableRefKind::Table(named) => vec![named],
        TableRefKind::Join(join) => [leaves(&join.left), leaves(&join.right)].concat(),
        TableRefKind::Nested(tables) => tables.iter().flat_map(leaves).collect(),
        TableRefKind::Odbc(table) => leaves(table),
        TableRefKind::Derived(_) | TableRefKind::JsonTable(_) => Vec::new(),
    }
}
