//! Where a statement's course is decided.
//!
//! What must always hold: the decision is a pure function of the statement, of facts about the session, and of its plan. What has to be
//! waited for (a value, a weight, a commit) has been waited for before.

use weir_plan::{Plan, Raise, Read, Returns, Route, SharedValues, Write, WriteKind};
use weir_sql::ast::StatementKind;
use weir_sql::{Class, Effects, KillTarget, LexMode, Lexer, Pins, TextKind, TokenKind};
use weir_wire::Failure;
use weir_wire::error::not_supported;

use super::super::own_variables::{self, OwnVariable};
use super::super::transaction::kind::{Ends, TransactionStatement};
use super::own_transactions;
use super::sql_prepare::{self, SqlPrepare};
use super::{Form, Statement};
use crate::session::kill_statement::not_understood;

/// What is done with a statement.
#[derive(Debug)]
pub(in crate::session) enum Course {
    /// The session keeps, runs or forgets a text that a client has prepared by SQL.
    SqlPrepare(SqlPrepare),
    /// It concerns the transaction as a whole, on all of its participants.
    Transaction(TransactionAct),
    /// Weir answers it.
    Answer(Answer),
    /// One server runs it.
    OneServer(OneServer),
    /// Several shards run it, or shards are asked before it runs: as planned. Courses are moved about for each statement, and plans are large.
    MultiShard(Box<Plan>),
    /// Nobody runs it.
    Refuse(Failure),
}

/// A course on one server.
#[derive(Debug, Default, PartialEq)]
pub(in crate::session) struct OneServer {
    /// The shard, if something says which.
    pub(in crate::session) shard: Option<usize>,
    /// What the server gets in place of the client's text.
    pub(in crate::session) text: Option<Vec<u8>>,
    /// An explicit value of the table's AUTO_INCREMENT column: its sequence goes on behind it.
    pub(in crate::session) raise: Option<Box<Raise>>,
}

/// What is done for the transaction before a statement takes its course.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(in crate::session) struct First {
    /// What is known of a transaction of one participant ends.
    pub(in crate::session) begins_anew: bool,
    /// What is open on several participants is committed.
    pub(in crate::session) commits: bool,
    /// The transaction that a replica serves is ended.
    pub(in crate::session) ends_on_replica: bool,
    /// What the statement says of the next transaction is kept for shards that join it; READ ONLY or not, if it says so.
    pub(in crate::session) keeps_characteristics: Option<Option<bool>>,
}

impl First {
    /// Nothing comes first.
    pub(in crate::session) const NOTHING: First =
        First { begins_anew: false, commits: false, ends_on_replica: false, keeps_characteristics: None };
}

/// What concerns the transaction as a whole.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::session) enum TransactionAct {
    /// It begins on all shards, READ ONLY or not, if it says so.
    Snapshot(Option<bool>),
    /// It ends.
    End(Ends),
    /// SET TRANSACTION for the next one; READ ONLY or not, if it says so.
    Characteristics(Option<bool>),
    /// SAVEPOINT and what belongs to it. `unheard`: no server knows of the transaction yet.
    Savepoint { kind: TransactionStatement, unheard: bool },
}

/// What Weir answers itself.
#[derive(Debug)]
pub(in crate::session) enum Answer {
    /// A transaction begins: a server hears of it with the next statement. READ ONLY or not, if it says so.
    Begin(Option<bool>),
    /// A transaction ends that no server has heard of.
    End,
    /// A variable of Weir's own is set or read.
    OwnVariable(OwnVariable),
    /// Sessions are killed.
    Kill(KillTarget),
    /// SHOW PROCESSLIST.
    ProcessList { full: bool },
    /// LOCK TABLES that takes none, as the session wants it.
    IgnoreLocks,
}

/// What decides besides the statement and its plan.
#[derive(Debug, Clone, Copy)]
pub(in crate::session) struct Facts {
    pub(in crate::session) mariadb: bool,
    /// There are sharded databases.
    pub(in crate::session) sharded: bool,
    /// The shard to which the session's connection leads, if the session can't run anything elsewhere: not as a new participant of its
    /// transaction either.
    pub(in crate::session) confined_to: Option<usize>,
    /// A transaction is open, or begun without a server's knowing.
    pub(in crate::session) in_transaction: bool,
    /// One is begun that no server knows of.
    pub(in crate::session) begun_here: bool,
    /// A statement's hint has ended the transaction, and nothing has been run since.
    pub(in crate::session) ended_by_hint: bool,
    /// A replica serves the transaction.
    pub(in crate::session) on_replica: bool,
    pub(in crate::session) autocommit: bool,
    /// The session has a connection that it can't let go.
    pub(in crate::session) keeps_connection: bool,
    /// BEGIN starts a block.
    pub(in crate::session) begin_is_a_block: bool,
    /// The session's connection may have texts that were prepared by SQL.
    pub(in crate::session) prepared_on_connection: bool,
    /// There are several shards.
    pub(in crate::session) many_shards: bool,
    /// The transaction has several participants.
    pub(in crate::session) multi_shard: bool,
    /// A transaction is open that a server knows of.
    pub(in crate::session) open: bool,
    /// The session has a connection.
    pub(in crate::session) has_connection: bool,
    /// Something else than a transaction keeps the session on its connection.
    pub(in crate::session) pinned: bool,
    /// Nothing but a transaction and what makes an anchor would miss something if the session ran on other connections.
    pub(in crate::session) movable: bool,
    /// The session has locked tables.
    pub(in crate::session) locks_tables: bool,
    /// The session's default database is Weir's own.
    pub(in crate::session) in_own_schema: bool,
}

impl Facts {
    /// The facts once what comes first has been done.
    fn after(self, first: First) -> Facts {
        if first.commits || first.ends_on_replica {
            let (in_transaction, begun_here, multi_shard, open, on_replica) = Default::default();
            let keeps_connection = self.keeps_connection && self.pinned;
            return Facts { in_transaction, begun_here, multi_shard, open, on_replica, keeps_connection, ..self };
        }
        self
    }
}

/// What the session knows by name.
pub(in crate::session) struct Names<'a> {
    /// Whether a text is prepared by this name, in lower case.
    pub(in crate::session) prepared: &'a dyn Fn(&str) -> bool,
    /// Whether there is a savepoint of this name, in lower case.
    pub(in crate::session) savepoint: &'a dyn Fn(&[u8]) -> bool,
}

/// What comes first, and the course of a statement that needs no plan, if it is one.
pub(in crate::session) fn without_plan(
    statement: &Statement<'_>,
    facts: &Facts,
    names: &Names<'_>,
) -> (First, Option<Course>) {
    if let Some(failure) = own_transactions::refused(statement, facts.in_own_schema) {
        return (First::default(), Some(Course::Refuse(failure)));
    }
    if let Some(course) = sql_prepare(statement, facts, names.prepared) {
        return (First::default(), Some(course));
    }
    let (first, course) = transaction(statement, facts, names);
    (first, course.or_else(|| answer(statement, &facts.after(first))))
}

/// What a statement is for the transaction beyond one shard.
fn transaction(statement: &Statement<'_>, facts: &Facts, names: &Names<'_>) -> (First, Option<Course>) {
    let class = statement.class;
    let begins =
        matches!(class.kind, TextKind::Begin { .. }) || class.effects.contains(Effects::STARTS_TRANSACTION_OTHER);
    let ends_on_replica = facts.on_replica && !facts.multi_shard && begins;
    let mut first = First { ends_on_replica, ..First::default() };
    if !facts.many_shards {
        return before_one_server(statement, facts, names, first);
    }
    let act = |act| Some(Course::Transaction(act));
    match TransactionStatement::of(statement) {
        TransactionStatement::Other => {}
        TransactionStatement::Begin => {
            return (First { begins_anew: true, commits: facts.multi_shard, ..first }, None);
        }
        TransactionStatement::Snapshot(read_only) => {
            let everywhere = facts.sharded && facts.movable;
            first = First { begins_anew: true, commits: facts.multi_shard, ..first };
            return (first, act(TransactionAct::Snapshot(read_only)).filter(|_| everywhere));
        }
        TransactionStatement::Autocommit(on) => first.commits = on && !facts.autocommit && facts.multi_shard,
        TransactionStatement::End(ends) if facts.multi_shard => {
            return (first, act(TransactionAct::End(ends)));
        }
        TransactionStatement::End(_) => return (First { begins_anew: true, ..first }, None),
        // The server says that it is too late.
        TransactionStatement::SetTransaction(_) if facts.open || facts.begun_here => return (first, None),
        TransactionStatement::SetTransaction(read_only) if facts.keeps_connection => {
            return (First { keeps_characteristics: Some(read_only), ..first }, None);
        }
        TransactionStatement::SetTransaction(read_only) => {
            return (first, act(TransactionAct::Characteristics(read_only)));
        }
        kind => return (first, savepoint(kind, facts, names).and_then(act)),
    }
    let locks = class.pins.intersects(Pins::LOCK_TABLES);
    // UNLOCK TABLES commits only what began under table locks: mysqldump sends it within its snapshot.
    let unlocks_nothing = class.releases.contains(Pins::LOCK_TABLES) && !facts.locks_tables;
    let commits = |class: &Class| class.effects.contains(Effects::IMPLICIT_COMMIT) && !is_of_temporary(statement);
    first.commits |= facts.multi_shard && (commits(class) && !unlocks_nothing || locks);
    let refusal = if facts.multi_shard && !first.commits { refused_in_multi_shard(class) } else { None };
    (first, refusal.map(|message| Course::Refuse(not_supported(message))))
}

/// Whether a statement is CREATE or DROP TEMPORARY TABLE, the only ones of their kind that commit nothing.
fn is_of_temporary(statement: &Statement<'_>) -> bool {
    statement.only().is_some_and(|only| match only.kind {
        StatementKind::CreateTable(create) => create.temporary,
        StatementKind::DropTables(drop) => drop.temporary,
        _ => false,
    })
}

/// Why a transaction with several participants can't run a statement, if it can't.
fn refused_in_multi_shard(class: &Class) -> Option<&'static str> {
    if class.pins.contains(Pins::CALL) {
        return Some(
            "CALL in a transaction with several shards: a routine that commits or rolls back would do so on one of them alone. COMMIT \
             first, or CALL it before other shards take part",
        );
    }
    class.pins.contains(Pins::UNKNOWN_STATEMENT).then_some(
        "Weir does not know this statement: in a transaction with several shards it could end the transaction on one of them alone. \
         COMMIT first",
    )
}

/// The same of a session with one shard. Without autocommit, no connection is the session's before its transaction begins, so savepoints
/// that are set first are kept until then.
fn before_one_server(
    statement: &Statement<'_>,
    facts: &Facts,
    names: &Names<'_>,
    first: First,
) -> (First, Option<Course>) {
    if facts.autocommit {
        return (first, None);
    }
    match TransactionStatement::of(statement) {
        TransactionStatement::Begin
        | TransactionStatement::Snapshot(_)
        | TransactionStatement::End(_)
        | TransactionStatement::Autocommit(true) => (First { begins_anew: true, ..first }, None),
        kind if !facts.open => (first, savepoint(kind, facts, names).map(Course::Transaction)),
        _ => (first, None),
    }
}

/// A savepoint of a transaction that no server knows of is kept; that of an open one is run by all participants.
fn savepoint(kind: TransactionStatement, facts: &Facts, names: &Names<'_>) -> Option<TransactionAct> {
    let waits = facts.begun_here || !facts.open && !facts.autocommit;
    let unheard = match &kind {
        TransactionStatement::Savepoint(..) => waits,
        TransactionStatement::RollbackTo(name) | TransactionStatement::Release(name) => {
            waits && (names.savepoint)(name)
        }
        _ => false,
    };
    (unheard || facts.open && facts.has_connection).then_some(TransactionAct::Savepoint { kind, unheard })
}

/// The course of a statement that is planned. `literal`: its text with literals for its parameters, if [`needs_literals`] says so.
pub(in crate::session) fn by_plan(
    statement: &Statement<'_>,
    facts: &Facts,
    plan: Plan,
    literal: Option<Vec<u8>>,
) -> Course {
    match plan {
        Plan::Home => Course::OneServer(OneServer::default()),
        Plan::Route(route) => routed(statement, facts, route, literal),
        plan => Course::MultiShard(Box::new(plan)),
    }
}

/// Whether a change with parameters can only run beside the connection to which the session is bound: there it is sent as a text.
pub(in crate::session) fn needs_literals(statement: &Statement<'_>, facts: &Facts, plan: &Plan) -> bool {
    let Plan::Route(Route { shard, text: None, .. }) = plan else { return false };
    facts.confined_to.is_some_and(|bound| bound != usize::from(shard.0))
        && statement.parameters() > 0
        && statement.class.effects.contains(Effects::WRITES)
        && may_write_beside(statement, facts) == Some(false)
}

/// A statement of one shard: there, or beside the connection to which the session is bound.
fn routed(statement: &Statement<'_>, facts: &Facts, route: Route, literal: Option<Vec<u8>>) -> Course {
    let shard = usize::from(route.shard.0);
    if facts.confined_to.is_none_or(|bound| bound == shard) {
        return Course::OneServer(OneServer { shard: Some(shard), text: route.text, raise: route.raise.map(Box::new) });
    }
    let class = statement.class;
    let leaves = !class.pins.is_empty() || class.effects.contains(Effects::USES_WARNINGS);
    // Where the session would have to be to run it, it is refused.
    let refused = OneServer { shard: Some(shard), ..OneServer::default() };
    if leaves || facts.in_transaction {
        return Course::OneServer(refused);
    }
    let text = |text: Option<Vec<u8>>| text.unwrap_or_else(|| statement.text.to_vec());
    if !class.effects.contains(Effects::WRITES) {
        let parameters = (0..u32::from(statement.parameters())).collect();
        let read = Read::of_one(route.shard, text(route.text), parameters, route.reason);
        return Course::MultiShard(Box::new(Plan::Read(read)));
    }
    let as_text = statement.parameters() == 0 || literal.is_some();
    let Some(returns) = may_write_beside(statement, facts).filter(|_| as_text) else {
        return Course::OneServer(refused);
    };
    let kind = WriteKind::Everywhere(vec![route.shard], text(literal.or(route.text)));
    let returns = returns.then_some(Returns::All);
    let write = Write { kind, alike: SharedValues::default(), raise: route.raise, returns, reason: route.reason };
    Course::MultiShard(Box::new(Plan::Write(write)))
}

/// Whether a change of one shard can run on another connection than that to which the session is bound: it is a transaction of its
/// own there. And whether it returns rows then.
fn may_write_beside(statement: &Statement<'_>, facts: &Facts) -> Option<bool> {
    let returning = match statement.only()?.kind {
        StatementKind::Insert(insert) => insert.returning,
        StatementKind::Update(update) => update.returning,
        StatementKind::Delete(delete) => delete.returning,
        _ => return None,
    };
    facts.autocommit.then_some(!returning.is_empty())
}

/// The course of a statement that prepares, runs or forgets a text by its name.
fn sql_prepare(statement: &Statement<'_>, facts: &Facts, is_prepared: impl Fn(&str) -> bool) -> Option<Course> {
    let class = statement.class;
    let about_names = class.pins.contains(Pins::TEXT_PREPARE) || class.effects.is_empty();
    if !facts.sharded || class.kind != TextKind::Other || !about_names || !matches!(statement.form, Form::Text(_)) {
        return None;
    }
    let request = sql_prepare::request(statement, facts.mariadb)?;
    match request.unknown_name(is_prepared) {
        None => Some(Course::SqlPrepare(request)),
        // Prepared before there were sharded databases, on the connection that the session is bound to.
        Some(_) if facts.prepared_on_connection => None,
        Some(failure) => Some(Course::Refuse(failure)),
    }
}

/// The course of a statement that no server runs.
fn answer(statement: &Statement<'_>, facts: &Facts) -> Option<Course> {
    if statement.opens_cursor() && facts.on_replica {
        // A cursor binds the session to its server, which has to be the writer.
        return Some(Course::Refuse(not_on_replica()));
    }
    let (class, text) = (statement.class, statement.text);
    // MySQL warns of such comments.
    let comment = || !facts.mariadb && text.windows(3).any(|three| three == b"/*!");
    let as_text = matches!(statement.form, Form::Text(_));
    let answer = match class.kind {
        TextKind::Begin { read_only } if !facts.keeps_connection && !facts.begin_is_a_block && !comment() => {
            Answer::Begin(read_only)
        }
        TextKind::Commit | TextKind::Rollback if (facts.begun_here || facts.ended_by_hint) && !comment() => Answer::End,
        TextKind::Kill(target) => Answer::Kill(target),
        TextKind::ShowProcesslist { full } if as_text => Answer::ProcessList { full },
        TextKind::Multiple if as_text && has_kill(text, statement.mode()) => {
            return Some(Course::Refuse(not_understood()));
        }
        TextKind::Set | TextKind::Select if as_text => {
            Answer::OwnVariable(own_variables::read(class, text, statement.mode())?)
        }
        _ => return None,
    };
    Some(Course::Answer(answer))
}

/// Whether one of a text's statements is a KILL, within a block too: the word is reserved, and no name but after a point.
fn has_kill(text: &[u8], lex: LexMode) -> bool {
    let mut after_point = false;
    Lexer::new(text, lex).any(|token| {
        let kill = !after_point && token.kind == TokenKind::Word && token.text(text).eq_ignore_ascii_case(b"KILL");
        after_point = token.kind == TokenKind::Punct(b'.');
        kill
    })
}

/// What can't be done in a transaction that a replica serves.
pub(in crate::session) fn not_on_replica() -> Failure {
    let message = "This statement belongs to the writer, and a replica serves this READ ONLY transaction. COMMIT first, or \
                   begin the transaction without READ ONLY or with weir_consistency = 'primary'";
    not_supported(message)
}

#[cfg(test)]
mod tests;
