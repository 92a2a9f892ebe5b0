//! From a statement's tree to its blocks and instances.
//!
//! What must always hold: every table that the statement reads has an instance, wherever the text names it. A part of the statement that is
//! not understood gives no limits, but its tables count.

use std::collections::HashSet;

use weir_catalog::{Catalog, ShardId};
use weir_sql::ast::{
    Call, Delete, Expr, ExprKind, Grouping, Ident, Insert, InsertSource, ObjectName, OrderItem, Over, Query, QueryBody,
    Select, SelectItemKind, Statement, StatementKind, Update, With,
};
use weir_sql::visit::{Flow, Node, walk};
use weir_sql::{Bump, is_servers_schema};

use super::locks::Locks;
use super::names::{name_of, own_names};
use super::{
    Analysis, Base, Block, Branch, ColumnRef, Derived, Edge, Instance, InstanceKind, OutColumn, QueryBranches,
};
use crate::SessionFacts;
use crate::constant::Folder;
use crate::effort::Effort;

/// A WITH around a place.
#[derive(Clone, Copy)]
pub(super) struct Frame<'a> {
    pub(super) with: &'a With<'a>,
    /// How many of its tables are in sight.
    pub(super) visible: usize,
    /// The block around the WITH.
    pub(super) parent: Option<usize>,
}

/// Statements that name more tables are not analysed.
const MOST_INSTANCES: usize = 512;
/// Queries within queries.
pub(super) const DEEPEST: usize = 64;

/// Where databases are that aren't sharded.
const HOME: ShardId = ShardId(0);

/// What a statement is looked at with.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) session: &'a SessionFacts<'a>,
    pub(crate) folder: Folder<'a>,
    /// Leaving out rows changes nothing but rows: the statement assigns no user variables, and calls nothing that may be an aggregate
    /// unknown to Weir.
    pub(crate) pushes: bool,
    /// Where views' texts are parsed.
    pub(crate) arena: &'a Bump,
    pub(crate) effort: &'a Effort,
}

/// See the module.
pub(super) struct Gatherer<'a> {
    pub(super) around: Surroundings<'a>,
    pub(super) found: Analysis<'a>,
    pub(super) common: Vec<Frame<'a>>,
    /// Common tables and views that are being looked through.
    pub(super) open: HashSet<usize>,
    pub(super) views: Vec<&'a str>,
    /// What locks the tables of the query that is being looked through.
    pub(super) locks: Locks<'a>,
    depth: usize,
}

/// Looks through a statement.
pub(crate) fn gather<'a>(statement: &'a Statement<'a>, around: Surroundings<'a>) -> Analysis<'a> {
    let mut gatherer = Gatherer {
        around,
        found: Analysis { effort: Some(around.effort), ..Analysis::default() },
        common: Vec::new(),
        open: HashSet::new(),
        views: Vec::new(),
        locks: Locks::Of(&[]),
        depth: 0,
    };
    match statement.kind {
        StatementKind::Query(query) => {
            let outcome = gatherer.query(query, None);
            gatherer.found.outcome = Some(outcome);
        }
        StatementKind::Update(update) => gatherer.update(update),
        StatementKind::Delete(delete) => gatherer.delete(delete),
        StatementKind::Insert(insert) => gatherer.insert(insert),
        _ => {
            let block = gatherer.block(None, None);
            gatherer.queries_within(Node::Statement(statement), block);
        }
    }
    gatherer.found
}

impl<'a> Gatherer<'a> {
    // --- Statements ---

    fn update(&mut self, update: &'a Update<'a>) {
        self.open_with(update.with, None);
        let block = self.block(None, None);
        let tree = self.from(block, update.tables);
        self.conditions(block, &tree, update.condition.as_ref());
        for assignment in update.assignments {
            self.queries_within(Node::Expr(&assignment.value), block);
        }
        self.order(block, update.order_by);
    }

    fn delete(&mut self, delete: &'a Delete<'a>) {
        self.open_with(delete.with, None);
        let block = self.block(None, None);
        let tree = self.from(block, delete.tables);
        self.conditions(block, &tree, delete.condition.as_ref());
        self.order(block, delete.order_by);
    }

    fn insert(&mut self, insert: &'a Insert<'a>) {
        let block = self.block(None, None);
        self.table(block, &insert.table, None);
        match insert.source {
            InsertSource::Query(query) => {
                let outcome = self.query(query, None);
                self.found.outcome = Some(outcome);
            }
            InsertSource::Values(rows) => {
                rows.iter().for_each(|row| self.queries_within(Node::ValuesRow(row), block));
            }
            InsertSource::Set(assignments) => {
                assignments.iter().for_each(|one| self.queries_within(Node::Assignment(one), block));
            }
        }
        insert.on_duplicate.iter().for_each(|one| self.queries_within(Node::Assignment(one), block));
        insert.returning.iter().for_each(|item| self.queries_within(Node::SelectItem(item), block));
    }

    fn order(&mut self, block: usize, items: &'a [OrderItem<'a>]) {
        items.iter().for_each(|item| self.queries_within(Node::OrderItem(item), block));
    }

    // --- Queries ---

    /// A query in a block's sight.
    pub(super) fn query(&mut self, query: &'a Query<'a>, parent: Option<usize>) -> QueryBranches<'a> {
        self.locked_query(query, parent, Locks::Of(query.locks))
    }

    /// A query whose tables are locked.
    pub(super) fn locked_query(
        &mut self,
        query: &'a Query<'a>,
        parent: Option<usize>,
        locks: Locks<'a>,
    ) -> QueryBranches<'a> {
        let outside = std::mem::replace(&mut self.locks, locks);
        self.depth += 1;
        let frames = self.common.len();
        self.open_with(query.with, parent);
        let outcome = if self.depth > DEEPEST || self.is_done() {
            self.found.too_large = true;
            QueryBranches { branches: Vec::new() }
        } else {
            self.body(query, parent)
        };
        self.common.truncate(frames);
        self.depth -= 1;
        self.locks = outside;
        outcome
    }

    fn body(&mut self, query: &'a Query<'a>, parent: Option<usize>) -> QueryBranches<'a> {
        let cut = query.limit.is_some();
        let mut outcome = match query.body {
            QueryBody::Select(select) => QueryBranches { branches: vec![self.select(select, Some(query), parent)] },
            QueryBody::Table(table) => {
                QueryBranches { branches: vec![self.explicit_table(&table.name, query, parent)] }
            }
            QueryBody::Nested(inner) if inner.locks.is_empty() => self.locked_query(inner, parent, self.locks),
            QueryBody::Nested(inner) => self.query(inner, parent),
            QueryBody::Values(values) => {
                let block = self.block(parent, None);
                values.rows.iter().for_each(|row| self.queries_within(Node::ValuesRow(row), block));
                QueryBranches { branches: vec![Branch { block, columns: None, cut: false }] }
            }
            QueryBody::Compound(compound) => {
                let mut branches = Vec::new();
                for body in std::iter::once(&compound.first).chain(compound.rest.iter().map(|term| &term.body)) {
                    branches.extend(self.operand(body, parent));
                }
                // What EXCEPT and INTERSECT take away depends on rows that were left out.
                QueryBranches { branches }
            }
        };
        if let Some(first) = outcome.branches.first().map(|branch| branch.block) {
            // For ORDER BY of a whole UNION, whose columns only its select list has; subqueries may be there.
            if !matches!(query.body, QueryBody::Select(_)) {
                self.order(first, query.order_by);
            }
        }
        outcome.branches.iter_mut().for_each(|branch| branch.cut |= cut);
        outcome
    }

    /// One of the queries of a UNION.
    fn operand(&mut self, body: &'a QueryBody<'a>, parent: Option<usize>) -> Vec<Branch<'a>> {
        match body {
            QueryBody::Select(select) => vec![self.select(select, None, parent)],
            QueryBody::Nested(query) => self.query(query, parent).branches,
            QueryBody::Table(table) => {
                let block = self.block(parent, None);
                vec![self.whole_table(&table.name, block)]
            }
            QueryBody::Values(values) => {
                let block = self.block(parent, None);
                values.rows.iter().for_each(|row| self.queries_within(Node::ValuesRow(row), block));
                vec![Branch { block, columns: None, cut: false }]
            }
            QueryBody::Compound(compound) => std::iter::once(&compound.first)
                .chain(compound.rest.iter().map(|term| &term.body))
                .flat_map(|body| self.operand(body, parent))
                .collect(),
        }
    }

    fn explicit_table(&mut self, name: &'a ObjectName<'a>, query: &'a Query<'a>, parent: Option<usize>) -> Branch<'a> {
        let block = self.block(parent, None);
        let branch = self.whole_table(name, block);
        self.order(block, query.order_by);
        branch
    }

    fn whole_table(&mut self, name: &'a ObjectName<'a>, block: usize) -> Branch<'a> {
        let instance = self.table(block, name, None);
        let columns = self.found.star(instance).map(|columns| columns.into_iter().map(of_star).collect());
        Branch { block, columns, cut: false }
    }

    fn select(&mut self, select: &'a Select<'a>, query: Option<&'a Query<'a>>, parent: Option<usize>) -> Branch<'a> {
        let block = self.block(parent, Some(select));
        let tree = self.from(block, select.from);
        self.conditions(block, &tree, select.condition.as_ref());
        select.items.iter().for_each(|item| self.queries_within(Node::SelectItem(item), block));
        self.order(block, select.group_by);
        for expr in select.having.iter().chain(&select.qualify) {
            self.queries_within(Node::Expr(expr), block);
        }
        select.windows.iter().for_each(|window| self.queries_within(Node::NamedWindow(window), block));
        if let Some(query) = query {
            self.order(block, query.order_by);
        }
        self.note_outer_aggregates(block, select);
        Branch { block, columns: self.columns(block, select), cut: false }
    }

    /// The columns that a select list gives.
    fn columns(&self, block: usize, select: &'a Select<'a>) -> Option<Vec<OutColumn<'a>>> {
        let mut columns = Vec::new();
        for item in select.items {
            match &item.kind {
                SelectItemKind::Star if !self.found.blocks[block].merged.is_empty() => return None,
                SelectItemKind::Star => {
                    for instance in &self.found.blocks[block].sources {
                        columns.extend(self.found.star(*instance)?.into_iter().map(of_star));
                    }
                }
                SelectItemKind::TableStar(name) => {
                    let instance = self.named(block, name)?;
                    columns.extend(self.found.star(instance)?.into_iter().map(of_star));
                }
                SelectItemKind::Expr(expr, alias) => {
                    let column = self.column_of(block, None, expr);
                    columns.push(OutColumn { name: name_of(expr, *alias), column, expr: Some(expr) });
                }
            }
        }
        Some(columns)
    }

    fn named(&self, block: usize, name: &ObjectName<'_>) -> Option<usize> {
        self.found.blocks[block].sources.iter().copied().find(|instance| {
            let instance = &self.found.instances[*instance];
            let database =
                name.database.is_none_or(|asked| instance.database.is_some_and(|own| self.same(own, asked.name)));
            database && self.same(instance.name, name.name.name)
        })
    }

    /// Whether two names of tables or databases are one.
    pub(super) fn same(&self, one: &[u8], other: &[u8]) -> bool {
        one == other || self.around.catalog.fold_case && one.eq_ignore_ascii_case(other)
    }

    // --- Blocks and instances ---

    /// Whether nothing that is still found can matter, as the statement is refused.
    pub(super) fn is_done(&self) -> bool {
        self.found.too_large || self.found.too_many_joined || self.around.effort.is_spent()
    }

    pub(super) fn block(&mut self, parent: Option<usize>, select: Option<&'a Select<'a>>) -> usize {
        self.found.blocks.push(Block { parent, sources: Vec::new(), merged: Vec::new(), select });
        self.found.blocks.len() - 1
    }

    /// All queries below a node are in a block's sight, and nothing more is known of them.
    pub(super) fn queries_within(&mut self, node: Node<'a>, block: usize) {
        let mut queries = Vec::new();
        walk(node, &mut |node: Node<'a>| match node {
            Node::Query(query) => {
                queries.push(query);
                Flow::Skip
            }
            _ => Flow::Descend,
        });
        for query in queries {
            self.query(query, Some(block));
        }
    }

    /// A table, by its name.
    pub(super) fn table(&mut self, block: usize, name: &'a ObjectName<'a>, alias: Option<Ident<'a>>) -> usize {
        if name.database.is_none()
            && let Some((frame, place)) = self.common_table(name.name.name)
        {
            return self.expanded(block, frame, place, alias);
        }
        let database = name.database.map(|database| database.name).or(self.around.session.database);
        let called = alias.map_or(name.name.name, |alias| alias.name);
        let known = database.and_then(|database| self.around.catalog.database(database));
        let locked = self.is_locked(database, called);
        let kind = match known {
            None if database.is_some_and(is_servers_schema) => InstanceKind::System,
            None => InstanceKind::Elsewhere(HOME),
            Some((database_name, database)) => {
                match self.around.catalog.table(database_name.as_bytes(), name.name.name) {
                    Some((name, table)) => InstanceKind::Base(Base { database_name, database, name, table, locked }),
                    None => match self.view(database_name, name.name.name, locked) {
                        Some(outcome) => self.derived(outcome, &[]),
                        // A temporary table, perhaps, on the session's own connection.
                        None => InstanceKind::Elsewhere(self.around.folder.home()),
                    },
                }
            }
        };
        self.instance(block, kind, called, database.filter(|_| alias.is_none()))
    }

    pub(super) fn instance(
        &mut self,
        block: usize,
        kind: InstanceKind<'a>,
        name: &'a [u8],
        database: Option<&'a [u8]>,
    ) -> usize {
        self.found.too_large |= self.found.instances.len() >= MOST_INSTANCES;
        let instance = self.unnamed(block, kind);
        self.found.instances[instance].name = name;
        self.found.instances[instance].database = database;
        self.found.blocks[block].sources.push(instance);
        instance
    }

    /// An instance that no name means: the right side of IN.
    pub(super) fn unnamed(&mut self, block: usize, kind: InstanceKind<'a>) -> usize {
        self.found.too_large |= self.found.instances.len() >= MOST_INSTANCES;
        self.found.instances.push(Instance { kind, database: None, name: b"", block, nullable: false });
        let instance = self.found.instances.len() - 1;
        self.link(instance);
        instance
    }

    /// The outcome of a query as a table.
    pub(super) fn derived(&mut self, outcome: QueryBranches<'a>, names: &'a [Ident<'a>]) -> InstanceKind<'a> {
        let first = outcome.branches.first().and_then(|branch| branch.columns.as_ref());
        let (mut types, mut filled) = (Vec::new(), Vec::new());
        for (place, column) in first.into_iter().flatten().enumerate() {
            let single = outcome.branches.len() == 1;
            let kind = column.column.and_then(|column| self.found.kind(column));
            let same = outcome.branches.iter().all(|branch| {
                let other = branch.columns.as_ref().and_then(|columns| columns.get(place)?.column);
                other.and_then(|other| self.found.kind(other)) == kind
            });
            types.push(kind.filter(|_| same));
            filled.push(single && column.column.is_some_and(|column| self.found.is_filled(column)));
        }
        let explicit = || (names.iter().map(|name| name.name).collect(), false);
        let named = if names.is_empty() { first.map(|columns| own_names(columns)) } else { Some(explicit()) };
        let open = named.as_ref().is_some_and(|(_, open)| *open);
        InstanceKind::Derived(Derived { names: named.map(|(names, _)| names), open, types, filled, outcome })
    }

    /// Notes that the columns of a derived table are those of its query.
    fn link(&mut self, instance: usize) {
        let InstanceKind::Derived(derived) = &self.found.instances[instance].kind else { return };
        let outcome = derived.outcome.clone();
        let single = outcome.branches.len() == 1;
        for branch in &outcome.branches {
            for (place, column) in branch.columns.iter().flatten().enumerate() {
                let Some(inner) = column.column else { continue };
                let edge = Edge {
                    left: inner,
                    right: ColumnRef { instance, column: place },
                    left_follows: self.can_push(branch, inner),
                    right_follows: single,
                };
                self.found.edges.push(edge);
            }
        }
    }

    /// Whether leaving out the rows of a SELECT in which a column has other values leaves its other rows as they are.
    fn can_push(&self, branch: &Branch<'a>, column: ColumnRef) -> bool {
        let Some(select) = self.found.blocks[branch.block].select else { return !branch.cut };
        if branch.cut || !self.around.pushes || has_windows(select) || select.grouping != Grouping::Plain {
            return false;
        }
        match select.group_by {
            [] => select.having.is_none() && !has_aggregates(select),
            keys => keys.iter().any(|key| self.grouped_by(branch, &key.expr) == Some(column)),
        }
    }

    /// The column that an item of GROUP BY is, which may be an alias or a position in the select list.
    fn grouped_by(&self, branch: &Branch<'a>, key: &'a Expr<'a>) -> Option<ColumnRef> {
        if let Some(column) = self.column_of(branch.block, None, key) {
            return Some(column);
        }
        let columns = branch.columns.as_ref()?;
        match &key.bare().kind {
            ExprKind::Column(name) if name.table.is_none() => {
                columns.iter().find(|column| column.name.eq_ignore_ascii_case(name.name.name))?.column
            }
            ExprKind::Literal(_) => {
                let place = usize::try_from(self.around.folder.count(key)?).ok()?.checked_sub(1)?;
                columns.get(place)?.column
            }
            _ => None,
        }
    }
}

fn of_star<'a>((name, column): (&'a [u8], ColumnRef)) -> OutColumn<'a> {
    OutColumn { name, column: Some(column), expr: None }
}

/// The calls of a SELECT, those of queries within it left out.
pub(crate) fn calls<'a>(select: &'a Select<'a>, mut each: impl FnMut(&'a Call<'a>)) {
    let mut nodes: Vec<Node<'a>> = select.items.iter().map(Node::SelectItem).collect();
    nodes.extend(select.having.iter().map(Node::Expr));
    for node in nodes {
        walk(node, &mut |node: Node<'a>| {
            if let Node::Expr(Expr { kind: ExprKind::Call(call), .. }) = node {
                each(call);
            }
            if matches!(node, Node::Query(_)) { Flow::Skip } else { Flow::Descend }
        });
    }
}

fn has_windows(select: &Select<'_>) -> bool {
    let mut found = !select.windows.is_empty() || select.qualify.is_some();
    calls(select, |call| found |= matches!(call.over, Some(Over::Name(_) | Over::Window(_))));
    found
}

/// Whether an expression has a query in it.
pub(crate) fn has_query(expr: &Expr<'_>) -> bool {
    let mut found = false;
    walk(Node::Expr(expr), &mut |node: Node<'_>| {
        found |= matches!(node, Node::Query(_));
        if found { Flow::Stop } else { Flow::Descend }
    });
    found
}

/// Whether a SELECT gives one row for each that it reads.
pub(crate) fn is_mergeable(select: &Select<'_>) -> bool {
    let makes_others = select.options.distinct || !select.group_by.is_empty() || select.having.is_some();
    !makes_others && !has_aggregates(select) && !has_windows(select)
}

/// Whether a SELECT has aggregates of its own.
pub(crate) fn has_aggregates(select: &Select<'_>) -> bool {
    let mut found = false;
    calls(select, |call| found |= call.over.is_none() && crate::aggregate::is_aggregate(call));
    found
}
