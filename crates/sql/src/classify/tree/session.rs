//! Statements that Weir may answer or act on by itself, SHOW and EXPLAIN, transactions and locks, and what runs other
//! statements.
//!
//! What must hold: a [`TextKind`] with a meaning of its own is given only when nothing but that form stands up to the
//! statement's end; any other form is [`TextKind::Other`].

use super::{ADMINISTRATION, DEFINITION, TreeReader};
use crate::ast::{
    Backup, CallProcedure, Completion, Do, Execute, ExecuteSource, Explain, ExplainTarget, Expr, ExprKind, Flush,
    FlushLock, FlushWhat, GetDiagnostics, Kill, KillWhom, Limit, Literal, Replication, ReplicationVerb, ServerControl,
    Show, ShowKind, Span, StartTransaction, Statement, StatementKind, Transaction, VariableScope, Xa,
};
use crate::classify::{Diagnostics, Effects, KillTarget, Pins, TextKind};
use crate::facts::words;
use crate::lexer::Lexer;
use crate::visit::Node;

impl<'a> TreeReader<'a, '_> {
    pub(super) fn transaction(&mut self, transaction: &Transaction<'a>, span: Span) -> TextKind {
        // Several characteristics may contradict each other, which is for the server to say.
        let several = span.text(self.finder.sql).contains(&b',');
        match transaction {
            Transaction::Begin => TextKind::Begin { read_only: None },
            Transaction::Start(StartTransaction { consistent_snapshot: false, read_only }) if !several => {
                TextKind::Begin { read_only: *read_only }
            }
            Transaction::Start(_) => {
                self.finder.effect(Effects::STARTS_TRANSACTION_OTHER);
                TextKind::Other
            }
            Transaction::Commit(completion) => self.completion(*completion, TextKind::Commit),
            Transaction::Rollback(completion) => self.completion(*completion, TextKind::Rollback),
            Transaction::Savepoint(_) | Transaction::RollbackTo(_) | Transaction::ReleaseSavepoint(_) => {
                TextKind::Other
            }
        }
    }

    fn completion(&mut self, completion: Completion, kind: TextKind) -> TextKind {
        if completion.release == Some(true) {
            // The server ends the connection.
            self.finder.uses.unknown_statement();
        }
        if completion.chain == Some(true) {
            self.finder.effect(Effects::STARTS_TRANSACTION_OTHER);
        }
        let plain = completion.release != Some(true) && completion.chain != Some(true);
        if plain { kind } else { TextKind::Other }
    }

    pub(super) fn xa(&mut self, xa: &Xa) {
        self.finder.effect(Effects::WRITES);
        match xa {
            Xa::Start(..) => {
                self.finder.pin(Pins::XA);
                self.finder.effect(Effects::STARTS_TRANSACTION_OTHER);
            }
            Xa::Commit(..) | Xa::Rollback(_) => self.class.releases |= Pins::XA,
            Xa::End(..) | Xa::Prepare(_) | Xa::Recover(_) => {}
        }
    }

    /// BACKUP UNLOCK gives back the lock only, so it is not counted.
    pub(super) fn backup(&mut self, backup: &Backup<'a>) {
        self.finder.effect(DEFINITION);
        match backup {
            Backup::Stage(stage) if stage.is("END") => self.class.releases |= Pins::BACKUP_LOCK,
            Backup::Stage(_) | Backup::Lock(_) => self.finder.pin(Pins::BACKUP_LOCK),
            Backup::Unlock => {}
        }
    }

    pub(super) fn kill(&mut self, node: Node<'a>, kill: &Kill<'a>) -> TextKind {
        self.finder.effect(Effects::WRITES);
        self.finder.look(node);
        let KillWhom::Connection(id) = kill.target else { return TextKind::Kill(KillTarget::Other) };
        TextKind::Kill(match self.integer(&id) {
            Some(number) if kill.query => KillTarget::Query(number),
            Some(number) => KillTarget::Connection(number),
            None => KillTarget::Other,
        })
    }

    /// An integer literal that fits.
    fn integer(&self, expr: &Expr<'a>) -> Option<u64> {
        match expr.kind {
            ExprKind::Literal(Literal::Integer) => {
                std::str::from_utf8(expr.span.text(self.finder.sql)).ok()?.parse().ok()
            }
            _ => None,
        }
    }

    pub(super) fn show(&mut self, node: Node<'a>, show: &Show<'a>) -> TextKind {
        self.finder.effect(Effects::READS);
        self.finder.look(node);
        let plain = show.filter.is_none() && !show.extended;
        match show.kind {
            ShowKind::ProcessList if plain && show.limit.is_none() => {
                return TextKind::ShowProcesslist { full: show.full };
            }
            ShowKind::Warnings | ShowKind::Errors | ShowKind::CountWarnings | ShowKind::CountErrors => {
                self.finder.effect(Effects::USES_WARNINGS);
                if let Some(diagnostics) = self.shown_diagnostics(show).filter(|_| plain && !show.full) {
                    return TextKind::ShowWarnings(diagnostics);
                }
            }
            ShowKind::Variables(None | Some(VariableScope::Session)) => {
                self.finder.effect(Effects::SHOWS_SESSION_VARIABLES);
            }
            // Tables of plugins: MariaDB's USER_VARIABLES.
            ShowKind::Other(_) => self.finder.effect(Effects::SHOWS_SESSION_VARIABLES),
            _ => {}
        }
        TextKind::Other
    }

    fn shown_diagnostics(&self, show: &Show<'a>) -> Option<Diagnostics> {
        let (offset, limit) = match show.limit {
            None => (0, None),
            Some(Limit { count: Some(count), offset, with_ties: false, rows_examined: None, .. }) => {
                let offset = offset.map_or(Some(0), |offset| self.integer(&offset))?;
                (offset, Some(self.integer(count)?))
            }
            Some(_) => return None,
        };
        match show.kind {
            ShowKind::Warnings => Some(Diagnostics::Warnings { offset, limit }),
            ShowKind::Errors => Some(Diagnostics::Errors { offset, limit }),
            ShowKind::CountWarnings => limit.is_none().then_some(Diagnostics::CountWarnings),
            ShowKind::CountErrors => limit.is_none().then_some(Diagnostics::CountErrors),
            _ => None,
        }
    }

    /// EXPLAIN, DESCRIBE, MariaDB's ANALYZE: what is explained is executed after ANALYZE, and parts of it may be
    /// evaluated even without.
    pub(super) fn explain(&mut self, explain: &'a Explain<'a>) -> Option<TextKind> {
        self.finder.effect(Effects::READS);
        if explain.into.is_some() {
            self.finder.computed_user_variable();
        }
        match &explain.target {
            ExplainTarget::Connection(id) => self.finder.look(Node::Expr(id)),
            ExplainTarget::Statement(statement) => {
                let (before, releases) = (self.finder.uses.effects, self.class.releases);
                self.statement(statement)?;
                self.class.releases = releases;
                let uses = &mut self.finder.uses;
                if !explain.analyze && !uses.pins.intersects(Pins::UNKNOWN_FUNCTION | Pins::UNKNOWN_STATEMENT) {
                    let generates = Effects::GENERATES_INSERT_ID | Effects::INSERT_ID_UNTOLD;
                    let only_if_run = Effects::WRITES | generates | Effects::LOCKING_READ;
                    uses.effects = before | (uses.effects - only_if_run);
                }
            }
        }
        Some(TextKind::Other)
    }

    pub(super) fn execute(&mut self, node: Node<'a>, execute: &Execute<'a>) {
        if let ExecuteSource::Immediate(text) = &execute.source {
            self.text_to_run(text);
        }
        self.finder.uses.unknown_statement();
        self.finder.effect(Effects::RUNS_OTHERS);
        self.finder.pin(Pins::TEXT_PREPARE);
        self.finder.look(node);
    }

    /// A text that is prepared: it may be one that changes accounts, if it says so. What a variable holds is not known.
    pub(super) fn text_to_run(&mut self, text: &Expr<'a>) {
        if changes_accounts(text.span.text(self.finder.sql)) {
            self.finder.effect(Effects::CHANGES_ACCOUNTS);
        }
    }

    pub(super) fn call_procedure(&mut self, call: &'a CallProcedure<'a>) {
        match self.finder.programs.procedure(call) {
            Some(effects) => {
                self.finder.effect(effects);
                if effects.contains(Effects::SETS_USER_VARIABLES) {
                    self.finder.computed_user_variable();
                }
            }
            None => self.finder.pin(Pins::CALL),
        }
        let effects = Effects::READS | Effects::WRITES | Effects::GENERATES_INSERT_ID | Effects::RUNS_OTHERS;
        self.finder.effect(effects);
        self.finder.exprs(call.arguments);
        if call.arguments.iter().any(|argument| matches!(argument.bare().kind, ExprKind::UserVariable(_))) {
            // It may be an OUT parameter.
            self.finder.computed_user_variable();
        }
    }

    pub(super) fn do_expressions(&mut self, node: Node<'a>, statement: &Statement<'a>, expressions: &'a Do<'a>) {
        self.finder.effect(Effects::WRITES);
        if let [item] = expressions.items
            && item.span.end == statement.span.end
        {
            self.releases_all_locks(item);
        }
        self.finder.look(node);
    }

    pub(super) fn get_diagnostics(&mut self, get: &'a GetDiagnostics<'a>) {
        self.finder.effect(Effects::USES_WARNINGS);
        self.finder.exprs(&get.condition);
        if get.items.iter().any(|item| matches!(item.target.kind, ExprKind::UserVariable(_))) {
            self.finder.computed_user_variable();
        }
    }

    pub(super) fn flush(&mut self, node: Node<'a>, flush: &Flush<'a>) {
        self.finder.effect(DEFINITION);
        self.finder.look(node);
        if let FlushWhat::Options(options) = flush.what
            && options.iter().any(|option| changes_accounts(option.name.text(self.finder.sql)))
        {
            self.finder.effect(Effects::CHANGES_ACCOUNTS);
        }
        if let FlushWhat::Tables(tables) = flush.what
            && tables.lock != FlushLock::None
        {
            self.finder.pin(Pins::GLOBAL_READ_LOCK);
        }
    }

    pub(super) fn replication(&mut self, replication: &Replication<'a>) {
        self.finder.effect(match replication.verb {
            ReplicationVerb::Start | ReplicationVerb::StartGroup => DEFINITION,
            _ => ADMINISTRATION,
        });
    }

    pub(super) fn server(&mut self, node: Node<'a>, control: &ServerControl<'a>) {
        match control {
            ServerControl::LockInstance => {
                self.finder.pin(Pins::BACKUP_LOCK);
                self.finder.effect(DEFINITION);
            }
            ServerControl::UnlockInstance => {
                self.class.releases |= Pins::BACKUP_LOCK;
                self.finder.effect(DEFINITION);
            }
            ServerControl::Binlog(_) => self.finder.uses.unknown_statement(),
            ServerControl::Shutdown
            | ServerControl::Restart
            | ServerControl::Purge(_)
            | ServerControl::Clone(_)
            | ServerControl::ImportTable(_) => self.finder.effect(ADMINISTRATION),
        }
        self.finder.look(node);
    }

    /// A block outside of a routine: of what it holds only the words are known.
    pub(super) fn compound(&mut self, statement: &Statement<'a>) -> TextKind {
        debug_assert!(matches!(statement.kind, StatementKind::Compound(_)));
        let mode = self.finder.mode;
        self.finder.uses |= words::uses_of_text(Lexer::new(statement.span.text(self.finder.sql), mode), mode).0;
        self.finder.effect(Effects::RUNS_OTHERS);
        TextKind::Multiple
    }
}

/// Whether a statement that changes accounts could be in what this says.
fn changes_accounts(text: &[u8]) -> bool {
    const WORDS: [&[u8]; 6] = [b"grant", b"revoke", b"user", b"role", b"password", b"privileges"];
    let lower = text.to_ascii_lowercase();
    WORDS.iter().any(|word| lower.windows(word.len()).any(|window| window == *word))
}
