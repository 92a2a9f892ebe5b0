//! SET in all its forms.
//!
//! What must hold: every session variable that the statement assigns is in `assigned`, or a pin says why that is not
//! enough; a user variable's value is given as a literal only if it is one on every server and in every character set.

use std::ops::Range;

use super::TreeReader;
use crate::ast::{
    Expr, ExprKind, Ident, Literal, Set, SetItem, SetItemKind, SetStatement, SetTransaction, SetValue, SetVariable,
    Span, StatementKind, SystemVariable, UnaryOp, VariableScope,
};
use crate::classify::{Effects, KillTarget, Pins, TextKind, UserVariable};
use crate::keyword::Keyword;
use crate::kw;
use crate::names::plain_name;
use crate::visit::Node;

/// What the assignments of one SET amount to.
#[derive(Default)]
struct Assignments {
    literals: Vec<UserVariable>,
    /// A user variable got a value that is not a plain literal.
    computed: bool,
    /// Something other than user variables is assigned.
    variables: bool,
    /// A role, a password or the like is set.
    others: bool,
    /// A scope's keyword holds for the variables after it too; the servers agree on that.
    global: bool,
}

/// Variables that have effect once, that SET … = DEFAULT does not undo, that session tracking may not report, or that
/// change what COMMIT or `IS NULL` mean.
const SPECIAL: &[&str] = &[
    "completion_type",
    "default_master_connection",
    "gtid_domain_id",
    "gtid_next",
    "gtid_seq_no",
    "immediate_server_version",
    "insert_id",
    "original_commit_timestamp",
    "original_server_version",
    "rand_seed1",
    "rand_seed2",
    "rbr_exec_mode",
    "require_row_format",
    "resultset_metadata",
    "server_id",
    "skip_replication",
    "sql_auto_is_null",
    "sql_log_bin",
    "timestamp",
    "wsrep_on",
];

/// Of [`SPECIAL`], variables with a value that changes nothing of what COMMIT and `IS NULL` mean, and the ways to write that value. Ruby's
/// libraries set `sql_auto_is_null` on each connection.
const HARMLESS: &[(&str, &[&str])] =
    &[("completion_type", &["0", "NO_CHAIN"]), ("sql_auto_is_null", &["0", "OFF", "FALSE"])];

/// See [`SPECIAL`].
const SPECIAL_PREFIXES: &[&str] = &["binlog_", "debug", "profiling", "pseudo_"];

/// More variables than this in one text are not told apart; no server has as many.
const MOST_NAMES: usize = 1024;

const CHARSET_VARIABLES: &[&str] =
    &["character_set_client", "character_set_connection", "character_set_results", "collation_connection"];

impl<'a> TreeReader<'a, '_> {
    pub(super) fn set(&mut self, set: &'a Set<'a>) -> TextKind {
        let mut done = Assignments::default();
        for item in set.items {
            self.set_item(item, &mut done);
        }
        // Passwords, roles and transactions stand alone on one kind of server, and what follows them is the other's.
        let alone = |item: &SetItem<'_>| {
            matches!(item.kind, SetItemKind::Password(_) | SetItemKind::Transaction(_) | SetItemKind::ResourceGroup(..))
        };
        if set.items.len() > 1 && set.items.iter().any(alone) {
            self.finder.uses.unknown_statement();
        }
        if !done.computed && !done.variables && !done.others {
            return TextKind::SetUserVariables(done.literals);
        }
        if done.computed || !done.literals.is_empty() {
            self.finder.computed_user_variable();
        }
        if done.variables && !done.others { TextKind::Set } else { TextKind::Other }
    }

    fn set_item(&mut self, item: &'a SetItem<'a>, done: &mut Assignments) {
        match &item.kind {
            SetItemKind::UserVariable(name, value) => self.set_user_variable(name, value, done),
            SetItemKind::Variable(variable) => {
                done.variables = true;
                self.set_variable(variable, done);
            }
            SetItemKind::Names(_) | SetItemKind::CharacterSet(_) => {
                done.variables = true;
                CHARSET_VARIABLES.iter().for_each(|name| self.assign(name));
            }
            SetItemKind::Transaction(transaction) => {
                done.variables = true;
                self.set_transaction(transaction);
            }
            SetItemKind::Password(_) => {
                done.others = true;
                self.finder.effect(Effects::WRITES | Effects::IMPLICIT_COMMIT | Effects::CHANGES_ACCOUNTS);
            }
            SetItemKind::Role(_) => {
                done.others = true;
                self.finder.pin(Pins::ROLE);
            }
            SetItemKind::DefaultRole(_) => {
                done.others = true;
                self.finder.effect(Effects::WRITES | Effects::IMPLICIT_COMMIT | Effects::CHANGES_ACCOUNTS);
            }
            SetItemKind::ResourceGroup(_, threads) => {
                done.others = true;
                self.finder.uses.unknown_statement();
                self.finder.exprs(*threads);
            }
        }
    }

    /// MariaDB: SET STATEMENT variable = value, … FOR statement. The values hold for that statement only.
    pub(super) fn set_statement(&mut self, set: &'a SetStatement<'a>) -> Option<TextKind> {
        self.finder.effect(Effects::SETS_FOR_STATEMENT);
        for item in set.items {
            let SetItemKind::Variable(SetVariable { value, variable, .. }) = &item.kind else { continue };
            if let SetValue::Expr(value) = value {
                self.finder.look(Node::Expr(value));
            }
            // Its connection keeps the trace.
            if variable.name.is("optimizer_trace") {
                self.finder.pin(Pins::SPECIAL_VARIABLE);
            }
        }
        if matches!(set.statement.kind, StatementKind::Set(_) | StatementKind::SetStatement(_)) {
            self.finder.uses.unknown_statement();
            return Some(TextKind::Other);
        }
        let kind = self.statement(set.statement)?;
        Some(match kind {
            TextKind::Select | TextKind::Multiple => kind,
            // Its id is one that Weir has given.
            TextKind::Kill(_) => TextKind::Kill(KillTarget::Other),
            TextKind::Begin { .. } => {
                self.finder.effect(Effects::STARTS_TRANSACTION_OTHER);
                TextKind::Other
            }
            _ => TextKind::Other,
        })
    }

    fn set_transaction(&mut self, transaction: &SetTransaction) {
        match transaction.scope {
            None => self.set_transaction_once(),
            Some(VariableScope::Session) => {
                if transaction.isolation.is_some() {
                    self.assign("transaction_isolation");
                }
                if transaction.read_only.is_some() {
                    self.assign("transaction_read_only");
                }
            }
            Some(_) => self.changes_globals(),
        }
    }

    fn set_transaction_once(&mut self) {
        self.finder.effect(Effects::SET_TRANSACTION_ONCE);
        self.finder.pin(Pins::SET_TRANSACTION);
    }

    fn changes_globals(&mut self) {
        self.finder.effect(Effects::CHANGES_GLOBALS | Effects::WRITES);
    }

    fn assign(&mut self, name: &str) {
        if self.class.assigned.iter().any(|known| **known == *name) {
            return;
        }
        if self.class.assigned.len() == MOST_NAMES {
            return self.finder.uses.unknown_statement();
        }
        self.class.assigned.push(name.into());
    }

    fn set_variable(&mut self, assignment: &'a SetVariable<'a>, done: &mut Assignments) {
        let SystemVariable { scope, base, name } = assignment.variable;
        if let SetValue::Expr(value) = &assignment.value {
            self.finder.look(Node::Expr(value));
        }
        let plain = std::str::from_utf8(name.name).ok().filter(|name| name.is_ascii() && !name.is_empty());
        let global = scope.is_some_and(|scope| scope != VariableScope::Session);
        // A key cache, a component, a column of a trigger's row.
        let Some(plain) = plain.filter(|_| base.is_none()) else {
            self.changes_globals();
            return self.finder.uses.unknown_statement();
        };
        if assignment.at_signs {
            let next_only = matches!(
                Keyword::of(name.name),
                kw::TRANSACTION_ISOLATION | kw::TX_ISOLATION | kw::TRANSACTION_READ_ONLY | kw::TX_READ_ONLY
            );
            if scope.is_none() && next_only {
                return self.set_transaction_once();
            }
            return self.assign_variable(plain, global, &assignment.value);
        }
        if scope.is_some() {
            done.global = global;
        }
        self.assign_variable(plain, done.global, &assignment.value);
    }

    fn assign_variable(&mut self, name: &str, global: bool, value: &SetValue<'a>) {
        if global {
            return self.changes_globals();
        }
        let name = match name.to_ascii_lowercase() {
            name if name == "tx_isolation" => "transaction_isolation".to_owned(),
            name if name == "tx_read_only" => "transaction_read_only".to_owned(),
            name => name,
        };
        if matches!(name.as_str(), "last_insert_id" | "identity") {
            // As `DO LAST_INSERT_ID(value)` does.
            self.finder.effect(Effects::SETS_LAST_INSERT_ID);
            return;
        }
        if name.starts_with("session_track") {
            self.finder.pin(Pins::SESSION_TRACKING);
        }
        let special =
            SPECIAL.contains(&name.as_str()) || SPECIAL_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        if special && !self.is_harmless(&name, value) {
            self.finder.pin(Pins::SPECIAL_VARIABLE);
        }
        self.assign(&name);
    }

    /// Goes by the text of the value: what is not known binds.
    fn is_harmless(&self, name: &str, value: &SetValue<'a>) -> bool {
        let SetValue::Expr(value) = value else { return false };
        let text = value.span.text(self.finder.sql);
        let word = match text {
            [quote @ (b'\'' | b'"'), inner @ .., end] if quote == end => inner,
            text => text,
        };
        let is_one_of = |values: &[&str]| values.iter().any(|value| word.eq_ignore_ascii_case(value.as_bytes()));
        HARMLESS.iter().any(|(known, values)| *known == name && is_one_of(values))
    }

    fn set_user_variable(&mut self, name: &Ident<'a>, value: &'a Expr<'a>, done: &mut Assignments) {
        self.finder.look(Node::Expr(value));
        let name = plain_name(name.span.text(self.finder.sql));
        let literal = self.plain_literal(value);
        match (name, literal) {
            (Some(name), Some(literal)) if done.literals.len() < MOST_NAMES => {
                done.literals.push(UserVariable { name, literal });
            }
            _ => done.computed = true,
        }
    }

    /// The range of a value that is a plain literal and nothing else.
    fn plain_literal(&self, value: &Expr<'a>) -> Option<Range<usize>> {
        let is_number = |literal| matches!(literal, Literal::Integer | Literal::Decimal | Literal::Float);
        let plain = match value.kind {
            ExprKind::Unary(UnaryOp::Minus, Expr { kind: ExprKind::Literal(literal), .. }) => is_number(*literal),
            ExprKind::Literal(literal) => match literal {
                Literal::Hex | Literal::True | Literal::False => true,
                Literal::Null => value.span.text(self.finder.sql).eq_ignore_ascii_case(b"NULL"),
                Literal::String => is_plain_string(value.span.text(self.finder.sql)),
                literal => is_number(literal),
            },
            _ => false,
        };
        plain.then(|| Span::range(value.span))
    }
}

/// One pair of quotes around printable ASCII, no backslash, no doubled quote, no introducer.
fn is_plain_string(text: &[u8]) -> bool {
    let [quote @ (b'\'' | b'"'), inner @ .., _] = text else { return false };
    inner.iter().all(|byte| matches!(byte, b' '..=b'~') && *byte != b'\\' && byte != quote)
}
