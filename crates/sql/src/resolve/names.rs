//! The walk that finds tables and columns, with the scopes around each place.
//!
//! What must hold: a scope's tables are known before anything that can name their columns is reached, since the select list
//! stands before FROM; a table that is met twice is one source.

use std::collections::HashMap;

use super::common::CommonTables;
use super::scope::{Scope, View, goes_by, has, has_qualified, select_items};
use super::{ColumnRole, ColumnUse, Context, Resolved, Roles, Source, SourceKind, Table};
use crate::ast::{
    Call, ColumnName, Delete, Expr, ExprKind, Ident, Insert, InsertSource, Join, Lock, ObjectName, Query, QueryBody,
    Select, Statement, StatementKind, TableRef, TableRefKind, Update, With,
};
use crate::visit::{Flow, NameRole, Node, Visitor};

/// See the module.
pub(super) struct Resolver<'a> {
    pub(super) resolved: Resolved<'a>,
    context: Context<'a>,
    scopes: Vec<Scope<'a>>,
    common: CommonTables<'a>,
    /// Sources by where they begin in the text.
    places: HashMap<u32, usize>,
    /// The query of an INSERT, which does not see the INSERT's table.
    inserted: Option<&'a Query<'a>>,
    /// An INSERT's table.
    inserts_into: Option<usize>,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(context: Context<'a>) -> Self {
        Self {
            resolved: Resolved::default(),
            context,
            scopes: Vec::new(),
            common: CommonTables::default(),
            places: HashMap::new(),
            inserted: None,
            inserts_into: None,
        }
    }

    // --- Sources ---

    /// The source that begins at a place, made if it is new.
    fn source(&mut self, source: Source<'a>) -> usize {
        let sources = &mut self.resolved.sources;
        *self.places.entry(source.span.start).or_insert_with(|| {
            sources.push(source);
            sources.len() - 1
        })
    }

    fn give_roles(&mut self, source: usize, roles: Roles) {
        if let SourceKind::Table(table) = &mut self.resolved.sources[source].kind {
            table.roles |= roles;
        }
    }

    /// A table for certain: a name that no common table expression can stand for.
    fn base_table(&mut self, name: &ObjectName<'a>, alias: Option<Ident<'a>>, roles: Roles) -> usize {
        let database = name.database.map(|database| database.name).or(self.context.database);
        let kind = SourceKind::Table(Table { database, name: name.name.name, roles: Roles::empty() });
        let source = self.source(Source { kind, alias, span: name.span });
        self.give_roles(source, roles);
        source
    }

    fn table(&mut self, name: &ObjectName<'a>, alias: Option<Ident<'a>>) -> usize {
        match self.common.find(name, &self.context) {
            Some(table) => self.source(Source { kind: SourceKind::Common(table), alias, span: name.span }),
            None => self.base_table(name, alias, Roles::READ),
        }
    }

    /// All that a list of tables brings into scope, in the order of the text.
    fn tables(&mut self, tables: &'a [TableRef<'a>]) -> Vec<usize> {
        let mut found = Vec::new();
        let mut stack: Vec<&TableRef<'a>> = tables.iter().rev().collect();
        while let Some(table) = stack.pop() {
            match &table.kind {
                TableRefKind::Table(named) => found.push(self.table(&named.name, named.alias)),
                TableRefKind::Derived(derived) => {
                    let kind = SourceKind::Derived(derived);
                    found.push(self.source(Source { kind, alias: derived.alias, span: table.span }));
                }
                TableRefKind::JsonTable(json) => {
                    let kind = SourceKind::JsonTable(json);
                    found.push(self.source(Source { kind, alias: None, span: table.span }));
                }
                TableRefKind::Join(join) => stack.extend([&join.right, &join.left]),
                TableRefKind::Nested(tables) => stack.extend(tables.iter().rev()),
                TableRefKind::Odbc(table) => stack.push(table),
            }
        }
        found
    }

    // --- Scopes ---

    fn scope_of_select(&mut self, select: &'a Select<'a>) -> Scope<'a> {
        let sources = self.tables(select.from);
        Scope { sources, select: Some(select), items: select.items, ..Scope::default() }
    }

    fn enter_query(&mut self, query: &'a Query<'a>) {
        if self.is_inserted(query) {
            self.restrict(View::Nothing);
        }
        self.common.open(query.with);
        let mut scope = match own_body(query) {
            QueryBody::Select(select) => self.scope_of_select(select),
            QueryBody::Table(table) => Scope { sources: vec![self.table(&table.name, None)], ..Scope::default() },
            QueryBody::Compound(_) | QueryBody::Values(_) | QueryBody::Nested(_) => {
                Scope { items: select_items(query).unwrap_or_default(), ..Scope::default() }
            }
        };
        scope.order_by = query.order_by;
        for lock in query.locks {
            self.lock(query, lock, &scope);
        }
        self.scopes.push(scope);
    }

    fn leave_query(&mut self, query: &'a Query<'a>) {
        self.scopes.pop();
        self.common.close(query.with);
        if self.is_inserted(query) {
            self.restrict_no_more();
        }
    }

    fn is_inserted(&self, query: &Query<'a>) -> bool {
        self.inserted.is_some_and(|inserted| std::ptr::eq(inserted, query))
    }

    /// Whether a SELECT brings a scope of its own: one whose query has brought it already does not.
    fn has_own_scope(&self, select: &'a Select<'a>) -> bool {
        let known = self.scopes.last().and_then(|scope| scope.select);
        !known.is_some_and(|known| std::ptr::eq(known, select))
    }

    fn restrict(&mut self, view: View) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.views.push(view);
        }
    }

    fn restrict_no_more(&mut self) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.views.pop();
        }
    }

    fn enter_table(&mut self, table: &'a TableRef<'a>) {
        let view = match &table.kind {
            TableRefKind::Derived(derived) if !derived.lateral => View::Nothing,
            TableRefKind::Derived(_) | TableRefKind::JsonTable(_) => View::Before(table.span.start),
            _ => View::Within(table.span),
        };
        self.restrict(view);
        if let TableRefKind::Join(join) = &table.kind {
            self.join(join);
        }
    }

    fn join(&mut self, join: &'a Join<'a>) {
        for name in join.using {
            let name = ColumnName { database: None, table: None, name: *name };
            self.column(name, ColumnRole::Joined);
        }
    }

    // --- Locks ---

    fn lock(&mut self, query: &'a Query<'a>, lock: &'a Lock<'a>, scope: &Scope<'a>) {
        let role = if lock.update { Roles::LOCKED_UPDATE } else { Roles::LOCKED_SHARE };
        let mut sources = scope.sources.clone();
        if let QueryBody::Compound(compound) = own_body(query) {
            for body in std::iter::once(&compound.first).chain(compound.rest.iter().map(|term| &term.body)) {
                if let QueryBody::Select(select) = body {
                    sources.extend(self.tables(select.from));
                }
            }
        }
        for source in sources {
            let named = |name: &ObjectName<'a>| self.names_source(source, name);
            if lock.tables.is_empty() || lock.tables.iter().any(named) {
                self.give_roles(source, role);
            }
        }
    }

    fn names_source(&self, source: usize, name: &ObjectName<'a>) -> bool {
        let database = name.database.map(|database| database.name);
        goes_by(&self.resolved.sources[source], database, name.name.name, &self.context)
    }

    // --- Statements ---

    fn enter_statement(&mut self, statement: &'a Statement<'a>) {
        self.common.open(with_of(statement));
        let sources = match statement.kind {
            StatementKind::Insert(insert) => self.insert(insert),
            StatementKind::Update(Update { tables, .. }) => self.tables(tables),
            StatementKind::Delete(delete) => self.delete(delete),
            StatementKind::Load(load) => {
                let table = self.base_table(&load.table, None, Roles::WRITTEN);
                self.inserts_into = Some(table);
                vec![table]
            }
            _ => Vec::new(),
        };
        self.scopes.push(Scope { sources, ..Scope::default() });
    }

    fn leave_statement(&mut self, statement: &'a Statement<'a>) {
        self.scopes.pop();
        self.common.close(with_of(statement));
    }

    fn insert(&mut self, insert: &'a Insert<'a>) -> Vec<usize> {
        let table = self.base_table(&insert.table, None, Roles::WRITTEN);
        self.inserts_into = Some(table);
        let mut sources = vec![table];
        if let InsertSource::Query(query) = insert.source {
            self.inserted = Some(query);
            // ON DUPLICATE KEY UPDATE sees the query's tables.
            if let QueryBody::Select(select) = own_body(query) {
                self.common.open(query.with);
                sources.extend(self.tables(select.from));
                self.common.close(query.with);
            }
        }
        if let Some(row) = &insert.row_alias {
            sources.push(self.source(Source { kind: SourceKind::NewRow(row), alias: None, span: row.span }));
        }
        sources
    }

    fn delete(&mut self, delete: &'a Delete<'a>) -> Vec<usize> {
        let sources = self.tables(delete.tables);
        if delete.targets.is_empty() {
            sources.iter().take(1).for_each(|source| self.give_roles(*source, Roles::WRITTEN));
        }
        let mut deleted = Vec::new();
        for target in delete.targets {
            let mut found = sources.iter().copied().filter(|source| self.deletes_from(*source, target));
            match (found.next(), found.next()) {
                (Some(source), None) if !deleted.contains(&source) => deleted.push(source),
                // A server takes no name that two tables have, and no table twice.
                _ => drop(self.base_table(target, None, Roles::WRITTEN)),
            }
        }
        deleted.into_iter().for_each(|source| self.give_roles(source, Roles::WRITTEN));
        sources
    }

    /// Whether a name in the list of what DELETE deletes from is a table's. A name with a database is not that of an alias, and one without is of
    /// the default database, which there has to be.
    fn deletes_from(&self, source: usize, name: &ObjectName<'a>) -> bool {
        let source = &self.resolved.sources[source];
        let database = name.database.map(|database| database.name);
        if database.or(self.context.database).is_none_or(<[u8]>::is_empty) {
            return false;
        }
        match source.alias {
            Some(alias) => database.is_none() && self.context.same(alias.name, name.name.name),
            None => goes_by(source, self.own_database(source, database), name.name.name, &self.context),
        }
    }

    /// The database that a name in the list of DELETE is of: only tables have one.
    fn own_database<'d>(&self, source: &Source<'_>, database: Option<&'d [u8]>) -> Option<&'d [u8]>
    where
        'a: 'd,
    {
        match source.kind {
            SourceKind::Table(_) => database.or(self.context.database),
            _ => database,
        }
    }

    // --- Columns ---

    fn column(&mut self, name: ColumnName<'a>, role: ColumnRole) {
        let mut item = None;
        if role == ColumnRole::Read {
            for scope in self.scopes.iter_mut().rev() {
                item = scope.aliased(&name);
                if item.is_some() {
                    break;
                }
            }
        }
        let sources = if matches!(item, Some((_, true))) { Vec::new() } else { self.candidates(&name, role) };
        self.note_roles(&sources, role);
        self.resolved.columns.push(ColumnUse { name, role, item: item.map(|(item, _)| item), sources });
    }

    fn candidates(&self, name: &ColumnName<'a>, role: ColumnRole) -> Vec<usize> {
        let all = &self.resolved.sources;
        let mut possible = Vec::new();
        for scope in self.scopes.iter().rev() {
            if let Some(table) = name.table {
                let database = name.database.map(|database| database.name);
                let named = |source: &usize| goes_by(&all[*source], database, table.name, &self.context);
                // One that lacks the column does not hide one around that goes by the same name.
                let mut found = false;
                for source in scope.visible(all).filter(named) {
                    let has = has_qualified(&all[source], name.name.name, self.context.columns);
                    found |= has == Some(true);
                    if has != Some(false) && !possible.contains(&source) {
                        possible.push(source);
                    }
                }
                if found {
                    return possible;
                }
                continue;
            }
            let mut known = Vec::new();
            for source in scope.visible(all) {
                match has(&all[source], name.name.name, self.context.columns) {
                    Some(true) => known.push(source),
                    Some(false) => {}
                    None if possible.contains(&source) => {}
                    None => possible.push(source),
                }
            }
            // A column that one table has for certain could only be ambiguous if another had it too, unless all are meant.
            if !known.is_empty() && role != ColumnRole::Joined {
                possible.retain(|source| !scope.sources.contains(source));
            }
            let found = !known.is_empty();
            possible.extend(known);
            if found || role == ColumnRole::Joined {
                return possible;
            }
        }
        possible
    }

    fn note_roles(&mut self, sources: &[usize], role: ColumnRole) {
        let certain = sources.len() == 1;
        for source in sources {
            self.give_roles(
                *source,
                match role {
                    ColumnRole::Written if certain => Roles::WRITTEN,
                    ColumnRole::Written => Roles::MAYBE_WRITTEN,
                    ColumnRole::Read | ColumnRole::Joined if certain => Roles::READ,
                    ColumnRole::Read | ColumnRole::Joined => Roles::empty(),
                },
            );
        }
    }

    /// A column that is written: of an INSERT it is the table's, whatever else is in sight.
    fn written_column(&mut self, name: ColumnName<'a>) {
        match self.inserts_into {
            Some(table) => self.column_of(table, name, ColumnRole::Written),
            None => self.column(name, ColumnRole::Written),
        }
    }

    fn column_of(&mut self, source: usize, name: ColumnName<'a>, role: ColumnRole) {
        self.resolved.columns.push(ColumnUse { name, role, item: None, sources: vec![source] });
    }

    /// `VALUES(c)` of an INSERT: the new value of a column of its table.
    fn new_value(&self, call: &Call<'a>) -> Option<(usize, ColumnName<'a>)> {
        let table = self.inserts_into?;
        let named = call.name.database.is_none() && (call.name.name.is("VALUES") || call.name.name.is("VALUE"));
        match call.arguments {
            [Expr { kind: ExprKind::Column(name), .. }] if named && self.scopes.len() == 1 => Some((table, **name)),
            _ => None,
        }
    }

    fn name(&mut self, name: &'a ObjectName<'a>, role: NameRole) {
        use crate::visit::Object;
        let is_table = |object| matches!(object, Object::Table | Object::View | Object::Sequence);
        let roles = match role {
            NameRole::Read | NameRole::Changed => {
                self.table(name, None);
                return;
            }
            NameRole::Created(object) | NameRole::Altered(object) | NameRole::Dropped(object) if is_table(object) => {
                Roles::DEFINED
            }
            NameRole::Shown(object) | NameRole::Referred(object) if is_table(object) => Roles::NAMED,
            // LOCK TABLES; in a query it is the name of a source.
            NameRole::Locked if self.scopes.len() == 1 => Roles::LOCKED_UPDATE,
            NameRole::Written => Roles::WRITTEN,
            NameRole::Sequence => Roles::READ | Roles::WRITTEN,
            NameRole::Unknown => Roles::UNKNOWN,
            _ => return,
        };
        self.base_table(name, None, roles);
    }
}

/// The body whose tables the clauses of a query see: parentheses around a plain query mean nothing.
fn own_body<'a>(query: &Query<'a>) -> QueryBody<'a> {
    let mut body = query.body;
    while let QueryBody::Nested(inner) = body {
        if inner.with.is_some() || inner.limit.is_some() || !inner.order_by.is_empty() {
            break;
        }
        body = inner.body;
    }
    body
}

/// WITH before a statement that is no query.
fn with_of<'a>(statement: &Statement<'a>) -> Option<&'a With<'a>> {
    match statement.kind {
        StatementKind::Update(Update { with, .. }) | StatementKind::Delete(Delete { with, .. }) => *with,
        _ => None,
    }
}

impl<'a> Visitor<'a> for Resolver<'a> {
    fn enter(&mut self, node: Node<'a>) -> Flow {
        match node {
            Node::Statement(statement) => self.enter_statement(statement),
            Node::Query(query) => self.enter_query(query),
            Node::Select(select) if self.has_own_scope(select) => {
                let scope = self.scope_of_select(select);
                self.scopes.push(Scope { without_query: true, ..scope });
            }
            Node::With(_) => self.restrict(View::Nothing),
            Node::CommonTable(table) => self.common.enter(table, self.context.dialect),
            Node::TableRef(table, _) => self.enter_table(table),
            Node::Expr(Expr { kind: ExprKind::Column(name), .. }) => self.column(**name, ColumnRole::Read),
            Node::Expr(Expr { kind: ExprKind::Call(call), .. }) => {
                if let Some((table, name)) = self.new_value(call) {
                    self.column_of(table, name, ColumnRole::Read);
                    return Flow::Skip;
                }
            }
            Node::WrittenColumn(name) => self.written_column(*name),
            Node::Name(name, role) => self.name(name, role),
            _ => {}
        }
        Flow::Descend
    }

    fn leave(&mut self, node: Node<'a>) {
        match node {
            Node::Statement(statement) => self.leave_statement(statement),
            Node::Query(query) => self.leave_query(query),
            Node::Select(_) => {
                self.scopes.pop_if(|scope| scope.without_query);
            }
            Node::With(_) => {
                self.restrict_no_more();
                self.common.leave_with();
            }
            Node::TableRef(..) => self.restrict_no_more(),
            _ => {}
        }
    }
}
