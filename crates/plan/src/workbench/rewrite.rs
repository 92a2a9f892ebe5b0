//! From the client's text to the one that runs over temporary tables.
//!
//! What must always hold: every reference to a table of a sharded database is replaced, wherever it stands: in subqueries, common table
//! expressions and the views behind it. What a name means is unchanged: a table keeps the name that it goes by. MySQL opens a temporary
//! table only once in a statement (error 1137), so there each reference has a table of its own, those of a common table expression that is
//! used again included.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use weir_catalog::Catalog;
use weir_sql::ast::{
    CommonTable, ExplicitTable, Expr, ExprKind, Ident, NamedTable, Query, QueryBody, SelectItemKind, Span, Statement,
    TableRef, TableRefKind,
};
use weir_sql::resolve::{Columns, Context, Resolved, SourceKind, Table, resolve};
use weir_sql::visit::{Flow, Node, walk};
use weir_wire::Failure;
use weir_wire::error::codes;

use super::asked::Asked;
use super::filters::Uses;
use super::tables::{Reference, Tables};
use crate::analysis::has_query;
use crate::planner::Planner;
use crate::text::Pieces;
use crate::write::literal::quoted_name;
use crate::{Need, Refusal};

/// Views within views.
const DEEPEST: usize = 32;

/// A text, and what its names mean.
pub(super) struct Place<'a> {
    pub(super) text: &'a [u8],
    /// The client's own.
    client: &'a [u8],
    pub(super) names: Resolved<'a>,
    /// It is the client's: its parts stay parts of that, with its parameters.
    of_client: bool,
    pub(super) mariadb: bool,
    /// See [`crate::SessionFacts::for_write`].
    pub(super) for_write: bool,
    /// Sources by where they begin.
    sources: HashMap<u32, usize>,
    pub(super) asked: Asked<'a>,
}

impl<'a> Place<'a> {
    /// The client's own text.
    pub(super) fn of_client(planner: &Planner<'a>) -> Place<'a> {
        Place::new(planner, planner.text, planner.statement, planner.session.database, true)
    }

    fn new(
        planner: &Planner<'a>,
        text: &'a [u8],
        statement: &'a Statement<'a>,
        database: Option<&'a [u8]>,
        of_client: bool,
    ) -> Place<'a> {
        let dialect = planner.session.mode.dialect;
        let columns = &*planner.arena.alloc(Known { catalog: planner.catalog });
        let context = Context { database, dialect, fold_case: planner.catalog.fold_case, columns };
        let names = resolve(statement, &context);
        let sources = names.sources.iter().enumerate().map(|(at, source)| (source.span.start, at)).collect();
        let asked = Asked::of(statement, &Uses::of(&names));
        let (mariadb, for_write) = (planner.session.mariadb, planner.session.for_write);
        Place { text, client: planner.text, names, of_client, mariadb, for_write, sources, asked }
    }

    /// A part of it.
    pub(super) fn own(&self, range: Range<usize>) -> Pieces {
        if self.of_client { Pieces::own(range) } else { Pieces::new(&self.text[range]) }
    }

    /// Pieces that were made of any text of the statement, as text.
    pub(super) fn shown(&self, pieces: &Pieces) -> Vec<u8> {
        pieces.shown(self.client)
    }
}

/// What the catalog knows of columns.
struct Known<'a> {
    catalog: &'a Catalog,
}

impl Columns for Known<'_> {
    fn has(&self, database: Option<&[u8]>, table: &[u8], column: &[u8]) -> Option<bool> {
        let (_, table) = self.catalog.table(database?, table)?;
        Some(table.column(column).is_some())
    }
}

/// Changes of a text.
type Edits = Vec<(Range<usize>, Pieces)>;

/// See the module.
pub(super) struct Rewriter<'p, 'a> {
    planner: &'p Planner<'a>,
    /// What is gathered.
    pub(super) tables: Tables<'a>,
    /// Common table expressions that a reference has used already.
    used: HashSet<*const CommonTable<'a>>,
    /// Those that are being written again.
    open: Vec<*const CommonTable<'a>>,
    /// How many views are open.
    depth: usize,
}

impl<'p, 'a> Rewriter<'p, 'a> {
    pub(super) fn new(planner: &'p Planner<'a>) -> Self {
        let tables = Tables::new(planner.session.mariadb);
        Rewriter { planner, tables, used: HashSet::new(), open: Vec::new(), depth: 0 }
    }

    /// A part of a text, which a node covers, with all references replaced.
    pub(super) fn rewrite(
        &mut self,
        place: &Place<'a>,
        node: Node<'a>,
        range: Range<usize>,
    ) -> Result<Pieces, Refusal> {
        let mut edits = Edits::new();
        let matched = || place.asked.found.conditions.iter().filter(|one| one.is_match);
        edits.extend(
            matched().filter(|one| range.contains(&one.range.start)).map(|one| (one.range.clone(), Pieces::new("1"))),
        );
        for reference in references(node) {
            match reference {
                Found::Match(span) if matched().any(|one| one.range == span.range()) => {}
                Found::Match(_) => {
                    return Err(Need::Nothing.refused(
                        "Full-text relevance depends on all rows of a table, which are on several shards: use MATCH alone, as a condition of WHERE, \
                         or name the shard key",
                    ));
                }
                Found::Named(named) => self.named(place, named, &mut edits)?,
                Found::Explicit(table) => self.explicit(place, table, &mut edits)?,
                Found::Odd(what) => return Err(Refusal::NeedsWorkbench(what.to_owned())),
            }
        }
        self.view_names(place, node, &mut edits);
        names(place, node, &mut edits);
        edits.sort_by_key(|(range, _)| (range.start, range.end));
        let (mut pieces, mut done) = (Pieces::default(), range.start);
        for (changed, new) in edits {
            pieces = pieces.and(&place.own(done..changed.start)).and(&new);
            done = changed.end;
        }
        Ok(pieces.and(&place.own(done..range.end)))
    }

    /// `TABLE t`.
    fn explicit(&mut self, place: &Place<'a>, table: &ExplicitTable<'a>, edits: &mut Edits) -> Result<(), Refusal> {
        let mut own = Edits::new();
        let named =
            NamedTable { name: table.name, partitions: &[], period: None, alias: None, index_hints: &[], sample: None };
        self.named(place, &named, &mut own)?;
        if let Some((_, pieces)) = own.into_iter().next() {
            edits.push((table.span.range(), Pieces::new("SELECT * FROM ").and(&pieces)));
        }
        Ok(())
    }

    fn named(&mut self, place: &Place<'a>, named: &NamedTable<'a>, edits: &mut Edits) -> Result<(), Refusal> {
        let source = place.sources.get(&named.name.span.start).map(|at| &place.names.sources[*at]);
        match source.map(|source| source.kind) {
            Some(SourceKind::Common(table)) => self.common(place, named, table, edits),
            Some(SourceKind::Table(table)) => self.table(place, named, &table, edits),
            _ => Err(unknown(named.name.name.name)),
        }
    }

    fn table(
        &mut self,
        place: &Place<'a>,
        named: &NamedTable<'a>,
        table: &Table<'a>,
        edits: &mut Edits,
    ) -> Result<(), Refusal> {
        let catalog = self.planner.catalog;
        let database = table.database.and_then(|database| catalog.database(database));
        let Some((database_name, database)) = database else { return Err(unknown(table.name)) };
        if let Some((name, known)) = catalog.table(database_name.as_bytes(), table.name) {
            let reference = Reference { database_name, database, name, table: known, roles: table.roles, named };
            let fragment = self.tables.fragment(place, &reference)?;
            let mut pieces =
                Pieces::new([quoted_name(database_name.as_bytes()), quoted_name(fragment.as_bytes())].join(&b'.'));
            if named.alias.is_none() {
                pieces = pieces.then(" AS ").then(quoted_name(table.name));
            }
            edits.push((named.name.span.start as usize..behind_partitions(place.text, named), pieces));
            edits.extend(named.period.map(|period| (period.span.range(), Pieces::default())));
            edits.extend(named.index_hints.iter().map(|hint| (hint.span.range(), Pieces::default())));
            return Ok(());
        }
        let (view, query) = self.view(database_name, table.name)?;
        let mut pieces = Pieces::new("(").and(&query).then(")");
        if named.alias.is_none() {
            pieces = pieces.then(" AS ").then(quoted_name(view.as_bytes()));
        }
        edits.push((named.name.span.range(), pieces));
        edits.extend(named.index_hints.iter().map(|hint| (hint.span.range(), Pieces::default())));
        Ok(())
    }

    /// The query of a view, which the server would read over the tables themselves. Its fragments are read as the session's user: one who
    /// may read the view only is refused by the servers.
    fn view(&mut self, database: &str, name: &[u8]) -> Result<(&'a str, Pieces), Refusal> {
        let known = self.planner.catalog.view(database.as_bytes(), name);
        let (view, text) = known.ok_or_else(|| match self.planner.session.temporary.is_empty() {
            true => missing(database, name),
            false => unknown(name),
        })?;
        if self.depth >= DEEPEST {
            return Err(Refusal::NeedsWorkbench("views upon views".to_owned()));
        }
        let session = self.planner.session;
        // It becomes part of a text that is read in the session's `sql_mode` and character set.
        let apart = !text.is_ascii() && !session.charset.starts_with("utf8")
            || session.mode.no_backslash_escapes && text.contains('\\')
            || session.mode.ansi_quotes && text.contains('"');
        if apart {
            let why = "is read differently in this session's sql_mode or character_set_client";
            return Err(Refusal::NeedsWorkbench(format!("the text of the view {view} {why}")));
        }
        let mode = weir_sql::LexMode { dialect: session.mode.dialect, ..Default::default() };
        let unread = || Refusal::NeedsWorkbench(format!("the text of the view {view} can't be read"));
        let parsed = weir_sql::parse(self.planner.arena, text.as_bytes(), mode).map_err(|_| unread())?;
        let [statement] = parsed.statements else { return Err(unread()) };
        let place = Place::new(self.planner, text.as_bytes(), statement, None, false);
        self.depth += 1;
        let pieces = self.rewrite(&place, Node::Statement(statement), 0..text.len());
        self.depth -= 1;
        Ok((view, pieces?))
    }

    /// A view that is spelt out is a derived table, which is in no database: its columns are not called by one. Servers' own texts of views
    /// have the database before an alias, too.
    fn view_names(&self, place: &Place<'a>, node: Node<'a>, edits: &mut Edits) {
        let catalog = self.planner.catalog;
        let is_known_view = |database: &[u8], view: &[u8]| {
            catalog.table(database, view).is_none() && catalog.view(database, view).is_some()
        };
        let is_aliased_view = |database: &[u8], called: &[u8]| {
            place.names.sources.iter().any(|source| match (&source.kind, source.alias) {
                (SourceKind::Table(table), Some(alias)) => {
                    alias.name.eq_ignore_ascii_case(called)
                        && table.database.is_some_and(|own| own == database && is_known_view(own, table.name))
                }
                _ => false,
            })
        };
        let is_view = |database: &[u8], name: &[u8]| is_known_view(database, name) || is_aliased_view(database, name);
        let mut found: Vec<Range<usize>> = Vec::new();
        walk(node, &mut |node: Node<'a>| {
            let mut look = |database: Option<Ident<'a>>, table: Ident<'a>| {
                if let Some(database) = database.filter(|database| is_view(database.name, table.name)) {
                    found.push(database.span.start as usize..table.span.start as usize);
                }
            };
            match node {
                Node::Expr(Expr { kind: ExprKind::Column(name), .. }) => {
                    if let Some(table) = name.table {
                        look(name.database, table);
                    }
                }
                Node::Select(select) => {
                    for item in select.items {
                        if let SelectItemKind::TableStar(name) = item.kind {
                            look(name.database, name.name);
                        }
                    }
                }
                _ => {}
            }
            Flow::Descend
        });
        edits.sort_by_key(|(range, _)| (range.start, range.end));
        let stays = |range: &Range<usize>| {
            let before = edits.partition_point(|(changed, _)| changed.start <= range.start);
            edits[..before].last().is_none_or(|(changed, _)| !changed.contains(&range.start))
        };
        found.retain(stays);
        edits.extend(found.into_iter().map(|range| (range, Pieces::default())));
    }

    /// A common table expression: the first reference has the one of the text, each further one on MySQL a copy.
    fn common(
        &mut self,
        place: &Place<'a>,
        named: &NamedTable<'a>,
        table: &'a CommonTable<'a>,
        edits: &mut Edits,
    ) -> Result<(), Refusal> {
        let within = table.span.start <= named.name.span.start && named.name.span.end <= table.span.end;
        let id = std::ptr::from_ref(table);
        if self.planner.session.mariadb || within || self.open.contains(&id) || self.used.insert(id) {
            return Ok(());
        }
        if self.depth >= DEEPEST {
            return Err(Refusal::NeedsWorkbench("common table expressions within each other".to_owned()));
        }
        self.open.push(id);
        self.depth += 1;
        let copy = self.rewrite(place, Node::Query(table.query), table.query.span.range());
        self.depth -= 1;
        self.open.pop();
        let columns = match table.columns {
            [] => Vec::new(),
            columns => {
                let names: Vec<Vec<u8>> = columns.iter().map(|column| quoted_name(column.name)).collect();
                [b" (", &names.join(&b", "[..])[..], b")"].concat()
            }
        };
        let name = quoted_name(table.name.name);
        let copy = match is_recursive(place, table) {
            false => Pieces::new("(").and(&copy?).then(")"),
            true => Pieces::new([b"(WITH RECURSIVE ", &name[..], &columns, b" AS ("].concat())
                .and(&copy?)
                .then([b") SELECT * FROM ", &name[..], b")"].concat()),
        };
        match named.alias {
            None => edits.push((named.name.span.range(), copy.then([b" AS ", &name[..], &columns].concat()))),
            Some(Ident { span, .. }) => {
                edits.push((named.name.span.range(), copy));
                let end = span.end as usize;
                edits.push((end..end, Pieces::new(columns)));
            }
        }
        Ok(())
    }
}

/// The longest name of a column.
const LONGEST_NAME: usize = 256;

/// A column is called by its expression's text, if it has no other name: it stays the client's where that is changed.
fn names<'a>(place: &Place<'a>, node: Node<'a>, edits: &mut Edits) {
    let mut changed: Vec<usize> = edits.iter().map(|(range, _)| range.start).collect();
    changed.sort_unstable();
    walk(node, &mut |node: Node<'a>| {
        let items = if let Node::Select(select) = node { select.items } else { &[] };
        for item in items {
            // A column keeps its name.
            let SelectItemKind::Expr(expr, None) = item.kind else { continue };
            if matches!(expr.kind, ExprKind::Column(_)) {
                continue;
            }
            let range = item.span.range();
            let first = changed.partition_point(|at| *at < range.start);
            if changed.get(first).is_some_and(|at| *at < range.end) {
                let name = String::from_utf8_lossy(&place.text[range.clone()]);
                let name: String = name.chars().take(LONGEST_NAME).collect();
                let called = [b" AS ", &quoted_name(name.trim_end().as_bytes())[..]].concat();
                edits.push((range.end..range.end, Pieces::new(called)));
            }
        }
        Flow::Descend
    });
}

/// Whether a common table expression refers to itself.
fn is_recursive(place: &Place<'_>, table: &CommonTable<'_>) -> bool {
    place.names.sources.iter().any(|source| match source.kind {
        SourceKind::Common(known) => {
            std::ptr::eq(known, table)
                && table.query.span.start <= source.span.start
                && source.span.end <= table.query.span.end
        }
        _ => false,
    })
}

/// What refers to a table.
enum Found<'a> {
    Named(&'a NamedTable<'a>),
    Explicit(&'a ExplicitTable<'a>),
    Match(Span),
    /// What can't be rewritten.
    Odd(&'static str),
}

/// All references to tables below a node.
fn references<'a>(node: Node<'a>) -> Vec<Found<'a>> {
    let mut found = Vec::new();
    walk(node, &mut |node: Node<'a>| {
        match node {
            Node::TableRef(TableRef { kind: TableRefKind::Table(named), .. }, _) => {
                found.push(match (named.sample, named.period) {
                    (Some(_), _) => Found::Odd("TABLESAMPLE of rows that are on several shards"),
                    (_, Some(period)) if period.bounds.iter().any(has_query) => {
                        Found::Odd("a query in FOR SYSTEM_TIME")
                    }
                    _ => Found::Named(named),
                });
                return Flow::Skip;
            }
            Node::TableRef(TableRef { kind: TableRefKind::Derived(derived), .. }, _) if derived.period.is_some() => {
                found.push(Found::Odd("FOR SYSTEM_TIME of a query in place of a table"));
            }
            Node::Expr(Expr { kind: ExprKind::Match(_), span }) => {
                found.push(Found::Match(*span));
                return Flow::Skip;
            }
            Node::Query(Query { body: QueryBody::Table(table), .. }) => found.push(Found::Explicit(table)),
            Node::Compound(compound) => {
                let bodies = std::iter::once(&compound.first).chain(compound.rest.iter().map(|term| &term.body));
                found.extend(bodies.filter_map(|body| match body {
                    QueryBody::Table(table) => Some(Found::Explicit(table)),
                    _ => None,
                }));
            }
            _ => {}
        }
        Flow::Descend
    });
    found
}

/// Where a table's name ends, its partitions included.
pub(super) fn behind_partitions(text: &[u8], named: &NamedTable<'_>) -> usize {
    let Some(last) = named.partitions.last() else { return named.name.span.end as usize };
    let end = last.span.end as usize;
    text[end..].iter().position(|byte| *byte == b')').map_or(end, |at| end + at + 1)
}

/// What a server says of a table that is not there: the catalog has all that there are.
pub(crate) fn missing(database: &str, name: &[u8]) -> Refusal {
    let message = format!("Table '{database}.{}' doesn't exist", String::from_utf8_lossy(name));
    Refusal::Failure(Failure::client(codes::ER_NO_SUCH_TABLE, message))
}

fn unknown(name: &[u8]) -> Refusal {
    Refusal::NeedsWorkbench(format!("{} is no table that Weir knows as sharded", String::from_utf8_lossy(name)))
}
