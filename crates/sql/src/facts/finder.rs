//! The walk over a statement's tree that finds what it reads and does: calls, variables, locks, sequences.
//!
//! What must hold: a call counts as one of an unknown function unless the server is certain not to look for a stored
//! function; what the tree keeps as a span only, and may hold expressions, is searched by its words.

use super::programs::Programs;
use super::uses::Uses;
use super::varies::Varies;
use crate::ast::{
    Call, ColumnName, Delete, Expr, ExprKind, Into, IntoTarget, ObjectName, Query, SequenceCall, SequenceKind, Span,
    Statement, StatementKind, SystemVariable, Update, VariableScope,
};
use crate::flags::{Effects, Pins};
use crate::keyword::Keyword;
use crate::kw;
use crate::mode::{Dialect, LexMode};
use crate::names::is_servers_schema;
use crate::visit::{Flow, NameRole, Node, Visitor, walk};

/// See the module.
pub(crate) struct Finder<'a, 'p> {
    pub(crate) sql: &'a [u8],
    pub(crate) mode: LexMode,
    pub(crate) uses: Uses,
    /// Who knows stored programs.
    pub(crate) programs: &'p dyn Programs,
}

impl<'a, 'p> Finder<'a, 'p> {
    pub(crate) fn new(sql: &'a [u8], mode: LexMode, programs: &'p dyn Programs) -> Self {
        Self { sql, mode, uses: Uses::default(), programs }
    }

    /// Looks through the tree below a node.
    pub(crate) fn look(&mut self, node: Node<'a>) {
        walk(node, self);
    }

    /// Looks through expressions.
    pub(crate) fn exprs(&mut self, exprs: impl IntoIterator<Item = &'a Expr<'a>>) {
        exprs.into_iter().for_each(|expr| self.look(Node::Expr(expr)));
    }

    pub(crate) fn effect(&mut self, effects: Effects) {
        self.uses.effects |= effects;
    }

    pub(crate) fn pin(&mut self, pins: Pins) {
        self.uses.pins |= pins;
    }

    fn varies(&mut self, varies: Varies) {
        self.uses.varies |= varies;
    }

    pub(crate) fn computed_user_variable(&mut self) {
        self.effect(Effects::SETS_USER_VARIABLES);
        self.pin(Pins::COMPUTED_USER_VARIABLE);
    }

    fn expr(&mut self, expr: &'a Expr<'a>) {
        match &expr.kind {
            ExprKind::Call(call) => self.call(call, expr.span),
            ExprKind::UserVariable(_) => {
                self.effect(Effects::USES_USER_VARIABLES);
                self.varies(Varies::USER_VARIABLES);
            }
            ExprKind::Assign(_) => {
                self.computed_user_variable();
                self.varies(Varies::USER_VARIABLES);
            }
            ExprKind::SystemVariable(variable) => self.system_variable(variable),
            ExprKind::Column(name) => self.column(name),
            ExprKind::Sequence(call) => self.sequence_call(call, expr.span),
            _ => {}
        }
    }

    fn call(&mut self, call: &'a Call<'a>, span: Span) {
        if let Some(database) = call.name.database {
            if is_servers_schema(database.name) {
                self.effect(Effects::SERVER_STATE);
            }
            return self.stored_function(call);
        }
        let word = Keyword::of(call.name.name.name);
        self.varies(Varies::of_function(word, call.arguments.is_empty()));
        self.uses.known_function(word, call.arguments.is_empty());
        if may_be_stored(call, span, self.sql, self.mode) {
            self.stored_function(call);
        }
    }

    fn stored_function(&mut self, call: &'a Call<'a>) {
        match self.programs.function(call) {
            Some(varies) => {
                self.varies(varies);
                if varies.contains(Varies::TABLES) {
                    self.effect(Effects::READS);
                }
                // Its LAST_INSERT_ID() may be the session's.
                if varies.contains(Varies::CHANGES) {
                    self.effect(Effects::WRITES | Effects::USES_LAST_INSERT_ID);
                }
            }
            None => self.uses.unknown_function(),
        }
    }

    fn sequence_call(&mut self, call: &SequenceCall<'a>, span: Span) {
        self.uses.sequence(match call.kind {
            SequenceKind::Next | SequenceKind::Set => Effects::WRITES,
            SequenceKind::Previous => Effects::empty(),
        });
        // NEXTVAL(s) calls a stored function on MySQL.
        if self.mode.dialect != Dialect::MariaDb && span.end > call.sequence.span.end {
            self.uses.unknown_function();
        }
    }

    fn system_variable(&mut self, variable: &SystemVariable<'a>) {
        let global =
            matches!(variable.scope, Some(VariableScope::Global | VariableScope::Persist | VariableScope::PersistOnly));
        self.uses.system_variable(variable.name.name, global);
    }

    /// `sequence.nextval` looks like a column; and tables are named by columns.
    fn column(&mut self, name: &ColumnName<'a>) {
        if name.table.is_none() {
            return;
        }
        match seven_letters(name.name.name) {
            kw::NEXTVAL => self.uses.sequence(Effects::WRITES),
            kw::CURRVAL | kw::LASTVAL => self.uses.sequence(Effects::empty()),
            _ => {}
        }
        if name.database.is_some_and(|database| is_servers_schema(database.name)) {
            self.effect(Effects::SERVER_STATE);
        }
    }

    fn name(&mut self, name: &ObjectName<'a>, role: NameRole) {
        match role {
            NameRole::Read | NameRole::Changed => self.effect(Effects::READS),
            NameRole::Written | NameRole::Deleted | NameRole::Sequence | NameRole::Shown(_) => {}
            _ => return,
        }
        self.uses.telling_name(name.name.name);
        if name.database.is_some_and(|database| is_servers_schema(database.name)) {
            self.effect(Effects::SERVER_STATE);
            self.varies(Varies::SERVER);
        }
    }

    fn query(&mut self, query: &'a Query<'a>) {
        if !query.locks.is_empty() {
            self.effect(Effects::LOCKING_READ | Effects::WRITES);
        }
        if query.procedure.is_some() {
            self.uses.unknown_function();
        }
        if query.limit.is_some() && query.order_by.is_empty() {
            self.varies(Varies::UNORDERED);
        }
    }

    fn statement(&mut self, statement: &'a Statement<'a>) {
        if let StatementKind::Update(Update { limit: Some(_), order_by: [], .. })
        | StatementKind::Delete(Delete { limit: Some(_), order_by: [], .. }) = statement.kind
        {
            self.varies(Varies::UNORDERED);
        }
    }

    fn into(&mut self, into: &Into<'a>) {
        match into.target {
            IntoTarget::Variables(_) => self.computed_user_variable(),
            IntoTarget::Outfile(_) | IntoTarget::Dumpfile(_) => self.effect(Effects::WRITES),
        }
    }
}

/// Whether a server may look for a stored function of a call's name.
pub(super) fn may_be_stored(call: &Call<'_>, span: Span, sql: &[u8], mode: LexMode) -> bool {
    let name = call.name.span;
    // CURRENT_DATE and its like without parentheses are words of the grammar.
    if call.name.database.is_none() && name == span {
        return false;
    }
    let quoted = matches!(sql.get(name.start as usize), Some(b'`' | b'"'));
    let adjacent = sql.get(name.end as usize) == Some(&b'(');
    call.name.database.is_some() || !Keyword::of(call.name.name.name).is_known_call(mode, quoted, adjacent)
}

/// A word of seven letters, as the names of a sequence's values are: most names need not be looked up.
fn seven_letters(name: &[u8]) -> Keyword {
    if name.len() == 7 { Keyword::of(name) } else { Keyword::NONE }
}

impl<'a> Visitor<'a> for Finder<'a, '_> {
    const LEAVES: bool = false;

    fn enter(&mut self, node: Node<'a>) -> Flow {
        match node {
            Node::Expr(expr) => self.expr(expr),
            Node::Statement(statement) => self.statement(statement),
            Node::Name(name, role) => self.name(name, role),
            Node::Query(query) => self.query(query),
            Node::Select(select) if select.options.calc_found_rows => {
                self.effect(Effects::CALC_FOUND_ROWS);
                self.pin(Pins::FOUND_ROWS);
            }
            Node::Into(into) => {
                self.into(into);
                return Flow::Skip;
            }
            _ => {}
        }
        Flow::Descend
    }
}
