//! Running a statement's course.
//!
//! What must always hold: a statement takes one course, and the client is answered once, by whatever runs it.

use std::rc::Rc;

use weir_backend::prepared::StatementKey;
use weir_exec::hot_rows::heat::InFlight;
use weir_plan::Plan;
use weir_sql::{Pins, TextKind};
use weir_wire::error::{codes, not_supported};
use weir_wire::{Capabilities, Failure, StatusFlags};

use super::super::Session;
use super::super::stopped::Stopped;
use super::super::transaction::anchor::ANCHORING;
use super::super::transaction::kind::HARMLESS;
use super::decide::{self, Answer, Course, Facts, First, Names, OneServer};
use super::own_transactions;
use super::{Form, Statement};

impl Session {
    /// The way of a statement that may run: decides its course, and runs it.
    pub(in crate::session) async fn run_statement(&mut self, statement: &Statement<'_>) -> Result<(), Stopped> {
        // In a text of several, the one before has ended.
        self.admitted = None;
        let row = self.hot_row(statement);
        if row.is_some_and(|row| self.is_hot(row)) && Box::pin(self.run_in_batch(statement, None)).await? {
            return Ok(());
        }
        // Those that hold nothing yet: a transaction that does must not wait here for one that waits for it on the server.
        if let Some(row) = row
            && self.state.begin.is_some()
            && self.is_hot(row)
        {
            self.admitted = Some(Box::pin(self.admit_to_row(row)).await?);
        }
        let _in_flight = row.map(|row| InFlight::begin(&self.shared.hot_rows, row));
        // Shards plan a text that has the session's values in it.
        match self.endpoint.sharding.is_some().then(|| self.splice_state(statement)).flatten() {
            None => self.run_as_planned(statement, statement).await,
            Some(text) => {
                let planned = statement.with(&text, statement.form);
                Box::pin(self.run_as_planned(statement, &planned)).await
            }
        }
    }

    /// `planned`: the statement with the text that shards plan.
    async fn run_as_planned(&mut self, statement: &Statement<'_>, planned: &Statement<'_>) -> Result<(), Stopped> {
        if self.may_have_one_too_many(statement) {
            match Box::pin(self.wrong(statement)).await {
                // What else it says, it says of one statement that looks like several.
                Some(Stopped::Refused(failure))
                    if !matches!(failure.code, codes::ER_PARSE_ERROR | codes::CR_SERVER_LOST) => {}
                Some(wrong) => return Err(wrong),
                None => {}
            }
        }
        let course = match self.course_at_once(statement) {
            Some(course) => course,
            None => match self.course(statement, planned).await {
                Err(Stopped::Refused(failure)) => return Err(Box::pin(self.refuse_unread(statement, failure)).await),
                course => course?,
            },
        };
        self.transaction.ended_by_hint = false;
        match course {
            Course::OneServer(place) => self.run_on_server(statement, place).await,
            Course::MultiShard(plan) => {
                self.is_not_kept("it runs on several shards");
                Box::pin(self.run_plan(planned, *plan)).await
            }
            Course::Transaction(act) => {
                self.is_not_kept("it runs on several shards");
                Box::pin(self.transact(act, statement)).await
            }
            Course::Answer(answer) => self.answer(statement, answer).await,
            Course::SqlPrepare(request) => Box::pin(self.run_sql_prepare(statement, request)).await,
            Course::Refuse(failure) => Err(self.refuse_unless_wrong(statement, failure).await),
        }
    }

    /// Whether a text seems to have several statements while its client sends one at a time: to servers the second is an error of syntax. Shards
    /// ask before they do anything for it: they would end the transaction for a definition that is never run.
    fn may_have_one_too_many(&self, statement: &Statement<'_>) -> bool {
        statement.class.kind == TextKind::Multiple
            && self.endpoint.sharding.is_some()
            && matches!(statement.form, Form::Text(_))
            && !self.client_has(Capabilities::MULTI_STATEMENTS)
    }

    /// What stops a statement that is refused. Of one that Weir can't read its server says first whether it is wrong.
    async fn refuse_unless_wrong(&mut self, statement: &Statement<'_>, refusal: Failure) -> Stopped {
        let unread = statement.class.pins.contains(Pins::UNKNOWN_STATEMENT) && matches!(statement.form, Form::Text(_));
        // The first of several would be run before the next one is read.
        let text = statement.text.trim_ascii_end();
        let several = text.strip_suffix(b";").unwrap_or(text).contains(&b';');
        if !unread || several && self.client_has(Capabilities::MULTI_STATEMENTS) {
            return refusal.into();
        }
        self.wrong(statement).await.unwrap_or_else(|| refusal.into())
    }

    /// What stops a statement that has failed before it ran. Of one that Weir can't read its server says first whether it is wrong, and where:
    /// it knows more than Weir's grammar.
    async fn refuse_unread(&mut self, statement: &Statement<'_>, failure: Failure) -> Stopped {
        let unread = failure.code == codes::ER_PARSE_ERROR
            && statement.parsed().is_err_and(|error| error.form().is_none())
            && !has_own_words(statement);
        if !unread {
            return failure.into();
        }
        let wrong = match statement.form {
            Form::Text(_) => self.wrong(statement).await,
            // A server has accepted it.
            _ => None,
        };
        // Servers prepare no text of several statements. One with a body may only look like that.
        let several = statement.class.kind == TextKind::Multiple;
        let wrong = wrong
            .map(|wrong| if several && matches!(wrong, Stopped::Refused(_)) { failure.clone().into() } else { wrong });
        wrong.unwrap_or_else(|| {
            let message = failure.message;
            not_supported(format!("Weir can't read this statement, which its server can ({message}): write it in another way, or SET weir_shard to a shard that it is for")).into()
        })
    }

    /// What the server says against a statement, if it says something: it is prepared there, and not run.
    async fn wrong(&mut self, statement: &Statement<'_>) -> Option<Stopped> {
        let key = Rc::new(StatementKey::new(statement.text.into(), Rc::new(self.state.profile.parsing())));
        match Box::pin(self.have_statement(&key)).await {
            Ok(_) => {
                self.connection().close_statement(&key);
                None
            }
            Err(Stopped::Refused(failure)) if failure.code == codes::ER_UNSUPPORTED_PS => None,
            Err(wrong) => Some(wrong),
        }
    }

    /// The course of a statement where there is nothing to wait for, as for most of them on one shard: each step that may wait costs every
    /// statement, whether it waits or not.
    fn course_at_once(&self, statement: &Statement<'_>) -> Option<Course> {
        if self.endpoint.sharding.is_some() || self.ignores_locks {
            return None;
        }
        match self.without_plan(statement) {
            (First::NOTHING, None) => Some(Course::OneServer(OneServer::default())),
            (First::NOTHING, course) => course,
            _ => None,
        }
    }

    fn without_plan(&self, statement: &Statement<'_>) -> (First, Option<Course>) {
        let prepared = |name: &str| self.state.sql_prepared.contains_key(name);
        let savepoint = |name: &[u8]| self.transaction.has_savepoint(name);
        let names = Names { prepared: &prepared, savepoint: &savepoint };
        decide::without_plan(statement, &self.facts(statement), &names)
    }

    /// The course of a statement. `planned`: the same with the text that shards plan.
    async fn course(&mut self, statement: &Statement<'_>, planned: &Statement<'_>) -> Result<Course, Stopped> {
        self.heed_table_locks(statement).await?;
        let (first, course) = self.without_plan(statement);
        if first != First::NOTHING {
            Box::pin(self.begin_course(first, statement)).await?;
        }
        if let Some(course) = course {
            return Ok(course);
        }
        if self.ignores_locks && self.locks_sharded_tables(statement) {
            return Ok(Course::Answer(Answer::IgnoreLocks));
        }
        let plan = match self.endpoint.sharding.is_some() {
            true => self.plan_statement(planned).await?,
            false => Plan::Home,
        };
        if !matches!(plan, Plan::Lock(_)) {
            self.prepare_locks(statement).await;
        }
        let facts = self.facts(statement);
        let literal = match decide::needs_literals(statement, &facts, &plan) {
            true => self.text_with_values(statement)?,
            false => None,
        };
        Ok(decide::by_plan(statement, &facts, plan, literal))
    }

    /// What decides of the session.
    fn facts(&self, statement: &Statement<'_>) -> Facts {
        let bound = self.current.lease.is_some() && self.state.is_bound();
        Facts {
            mariadb: self.identity.mariadb,
            sharded: self.has_sharded_databases(),
            confined_to: (bound && !self.may_change_shard()).then_some(self.current.server.shard),
            in_transaction: self.state.in_transaction(),
            begun_here: self.state.begin.is_some(),
            ended_by_hint: self.transaction.ended_by_hint,
            on_replica: self.current.reader_life.is_some(),
            autocommit: self.state.status.contains(StatusFlags::AUTOCOMMIT),
            keeps_connection: self.current.lease.is_some() && !self.held,
            begin_is_a_block: matches!(statement.class.kind, TextKind::Begin { .. }) && self.begin_is_a_block(),
            prepared_on_connection: self.state.pins.contains(Pins::TEXT_PREPARE),
            many_shards: self.shared.shards.len() > 1,
            multi_shard: self.transaction.is_multi_shard(),
            open: self.has_open_transaction(),
            has_connection: self.current.lease.is_some(),
            pinned: !self.state.pins.is_empty() || self.state.has_busy_statements(),
            movable: (self.state.pins - HARMLESS - ANCHORING).is_empty(),
            locks_tables: self.state.pins.contains(Pins::LOCK_TABLES),
            in_own_schema: own_transactions::is_own_schema(self.state.profile.database.as_deref()),
        }
    }

    /// In MariaDB's sql_mode ORACLE, BEGIN starts a block and not a transaction: the server judges it.
    fn begin_is_a_block(&self) -> bool {
        self.state.profile.variable("sql_mode").unwrap_or(&self.identity.sql_mode).contains("ORACLE")
    }
}

/// Whether a text has words that only Weir knows. A server would find fault with these first.
fn has_own_words(statement: &Statement<'_>) -> bool {
    const OWN: [&[u8]; 6] = [b"shard", b"single", b"global", b"unchecked", b"batch", b"weir"];
    let words = statement.text.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
    words.into_iter().any(|word| OWN.iter().any(|own| word.eq_ignore_ascii_case(own)))
}
