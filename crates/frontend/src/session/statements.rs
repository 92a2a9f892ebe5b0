//! Prepared statements: the client's ids, and the connections that have each statement prepared.
//!
//! A statement stays prepared: the client's COM_STMT_EXECUTE is forwarded with another id, and its binary rows come
//! back as they are. A connection that lacks the statement prepares it first, under the profile that the text was
//! prepared with. Parameter types that the client sent once are sent again to a connection that has not seen them.

use std::rc::{Rc, Weak};

use weir_backend::lanes::{Group, Lane, MAX_COMMAND, Ride, SharedLearnt};
use weir_backend::statement::{self, Prepared, StatementKey};
use weir_sql::{Class, Effects, Kind, Pins, RoutingHint, StateValues, classify};
use weir_wire::error::codes;
use weir_wire::params::parameters;
use weir_wire::reply::ReplyKind;
use weir_wire::stmt::{Execute, settle_null_types, statement_id};
use weir_wire::{Capabilities, Command, Failure, Fault, Malformed, StatusFlags};

use held::in_pieces;

use super::diagnostics::AskedBy;
use super::query::names_server_threads;
use super::relay::Outcome;
use super::ride::Rode;
use super::ruled::Allowed;
use super::server::Stopped;
use super::sharded::{self, Asked, Dispatched};
use super::state::Statement;
use super::{End, SMALL_COMMAND, Session};
use crate::texts::may_ride;

mod held;

/// The most statements that one client may have prepared: `max_prepared_stmt_count` of a stock server.
pub(super) const MOST_STATEMENTS: usize = 16_382;
/// `max_prepared_stmt_count` is reached.
const TOO_MANY_STATEMENTS: u16 = 1461;
/// MariaDB: "the statement prepared last".
const LAST_PREPARED: u32 = u32::MAX;

fn unknown_statement(id: u32, command: &str, mariadb: bool) -> Failure {
    let command = if mariadb { command } else { "mysql_stmt_precheck" };
    let message = format!("Unknown prepared statement handler ({id}) given to {command}");
    Failure::new(Fault::Client, codes::ER_UNKNOWN_STMT_HANDLER, b"HY000", message)
}

pub(super) fn too_many_statements() -> Failure {
    let message =
        format!("Can't create more than max_prepared_stmt_count statements (current value: {MOST_STATEMENTS})");
    Failure::new(Fault::Client, TOO_MANY_STATEMENTS, b"42000", message)
}

pub(super) fn malformed(error: Malformed) -> Failure {
    Failure::new(Fault::Client, codes::ER_MALFORMED_PACKET, b"HY000", error.to_string())
}

/// One execution of a prepared statement.
#[derive(Clone, Copy)]
struct Execution<'a> {
    key: &'a Rc<StatementKey>,
    class: &'a Class,
    execute: &'a Execute<'a>,
    types: &'a Option<Rc<[u8]>>,
    /// The types of some parameters are not known.
    untyped: bool,
}

impl Session {
    /// COM_STMT_PREPARE.
    pub(super) async fn prepare(&mut self, payload: &[u8]) -> Result<(), End> {
        if self.state.statements.len() >= MOST_STATEMENTS {
            self.refuse(&too_many_statements());
            return Ok(());
        }
        let text = &payload[1..];
        self.learn_reading(text).await?;
        let class = classify(text, self.state.lex);
        let digested = self.shared.statistics.table.entry(text, self.state.lex, &class);
        let rewritten = match self.text_to_prepare(&digested, text) {
            Ok(text) => text.map(|text| [&payload[..1], &text].concat()),
            Err(failure) => {
                self.refuse(&failure);
                return Ok(());
            }
        };
        let payload = rewritten.as_deref().unwrap_or(payload);
        let hint = weir_sql::routing_hint(&payload[1..], self.state.lex);
        let blanked = hint.and_then(|_| weir_sql::without_routing_hint(&payload[1..], self.state.lex));
        let blanked = blanked.map(|text| [&payload[..1], &text].concat());
        let payload = blanked.as_deref().unwrap_or(payload);
        let mut class = classify(&payload[1..], self.state.lex);
        if matches!(class.kind, Kind::Weir(_)) {
            let message = "This command is not supported in the prepared statement protocol yet";
            self.refuse(&Failure::new(Fault::Client, 1295, b"HY000", message));
            return Ok(());
        }
        if matches!(class.kind, Kind::SetUserVariables(_)) {
            class.pins |= Pins::COMPUTED_USER_VARIABLE;
        }
        let connection_id = Some(u64::from(self.handle.id));
        let pseudo_thread_id = self.pseudo_thread_id();
        let id_only = StateValues { connection_id, pseudo_thread_id, row_count: None, found_rows: None };
        let own_id = class.effects.contains(Effects::USES_CONNECTION_ID) && !names_server_threads(&payload[1..]);
        let spliced = match own_id {
            true => weir_sql::replace_state_functions(&payload[1..], self.state.lex, &id_only),
            false => None,
        };
        let text: Box<[u8]> = spliced.map_or_else(|| payload[1..].into(), Vec::into_boxed_slice);
        let parsing = Rc::new(self.state.profile.parsing());
        let key = self.shared.statement_keys.share(StatementKey::new(text, parsing));
        let id = self.next_statement_id();
        let key = self.key_beside_busy(id, &key).unwrap_or(key);
        let aimed = match self.aim_preparation(&class, &key.text).await {
            Ok(()) => self.route(&class, hint).await,
            Err(stopped) => Err(stopped),
        };
        if let Err(stopped) = aimed {
            return self.stopped(stopped);
        }
        match self.prepare_for_client(&key, &class, id).await {
            Ok(Some(params)) => {
                self.last_prepared = id;
                let digest = may_ride(&class).then(|| weir_sql::digest(&key.text, self.state.lex).0);
                let statement = Statement {
                    hint,
                    digest,
                    digested,
                    key,
                    class: Rc::new(class),
                    params,
                    types: None,
                    retyped: false,
                    known_types: vec![None; usize::from(params)],
                    cursor: false,
                    long_data: false,
                    failed: None,
                    lanes: Weak::new(),
                };
                self.state.statements.insert(id, statement);
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(stopped) => self.stopped(stopped),
        }
    }

    fn next_statement_id(&mut self) -> u32 {
        loop {
            self.state.next_statement = self.state.next_statement.wrapping_add(1);
            let id = self.state.next_statement;
            if id != 0 && id != LAST_PREPARED && !self.state.statements.contains_key(&id) {
                return id;
            }
        }
    }

    /// Prepares on a server and forwards its answer. Returns the number of parameters, or `None` after an error.
    async fn prepare_for_client(
        &mut self,
        key: &Rc<StatementKey>,
        prepared: &Class,
        id: u32,
    ) -> Result<Option<u16>, Stopped> {
        let asks = prepared.effects & Effects::USES_WARNINGS;
        let class = Class { effects: Effects::READS | asks, ..Class::default() };
        let payload = [&[Command::StmtPrepare as u8], &key.text[..]].concat();
        let mut retries = self.retries(&class);
        let mut room_made = false;
        let before = self.client.mark();
        let outcome = loop {
            let prepared = async {
                self.send(&class, &payload).await?;
                let kind = self.connection().prepare_kind();
                self.forward_reply(kind, &class, Some(id)).await
            };
            match prepared.await {
                Ok(outcome) if outcome.error.is_some_and(|(code, _)| code == TOO_MANY_STATEMENTS) && !room_made => {
                    self.client.take_back(before);
                    room_made = true;
                    self.make_room_for_statements().await;
                }
                Ok(outcome) => break outcome,
                Err(stopped) => self.again(stopped, &mut retries).await?,
            }
        };
        let prepared = outcome.prepared;
        self.note(&class, &outcome);
        let Some(ok) = prepared else { return Ok(None) };
        self.connection().remember(key.clone(), Prepared::new(ok.id));
        Ok(Some(ok.params))
    }

    /// The server's id of a statement on the session's connection; prepares it there if need be.
    pub(super) async fn have_statement(&mut self, key: &Rc<StatementKey>) -> Result<u32, Stopped> {
        self.have_connection().await?;
        let current = self.state.profile.clone();
        let connection = self.connection();
        if connection.profile().has_others_user_variables(&current) {
            // Now, and not with the command: the reset takes all statements away.
            connection.reset().await?;
        }
        if let Some(prepared) = connection.statements.get(key) {
            return Ok(prepared.id);
        }
        self.endpoint.backend_metrics.prepares.inc();
        let as_prepared = Rc::new(current.parsed_as(&key.parsing));
        let tracking = !self.state.pins.contains(Pins::SESSION_TRACKING);
        self.queue_wait();
        let connection = self.connection();
        connection.queue_state(&as_prepared, tracking)?;
        connection.flush().await?;
        self.confirm_state().await?;
        let prepared = match self.connection().prepare(&key.text).await {
            Err(failure) if failure.code == TOO_MANY_STATEMENTS => {
                self.make_room_for_statements().await;
                self.connection().prepare(&key.text).await?
            }
            prepared => prepared?,
        };
        let id = prepared.id;
        self.connection().remember(key.clone(), prepared);
        Ok(id)
    }

    /// The server has as many prepared statements as it takes, most of which connections keep for nobody in particular: the session's
    /// closes those that were used longest ago, or idle ones do.
    async fn make_room_for_statements(&mut self) {
        let busy = self.state.statements.values().filter(|statement| statement.cursor || statement.long_data);
        let busy: Vec<_> = busy.map(|statement| statement.key.clone()).collect();
        let in_use = |key: &StatementKey| busy.iter().any(|busy| **busy == *key);
        if self.connection().close_old_statements(&in_use) == 0 {
            self.shared.at(self.at).pool.close_old_statements().await;
        }
    }

    fn statement(&mut self, id: u32, command: &str) -> Result<&mut Statement, Failure> {
        let id = if id == LAST_PREPARED { self.last_prepared } else { id };
        let mariadb = self.identity.mariadb;
        self.state.statements.get_mut(&id).ok_or_else(|| unknown_statement(id, command, mariadb))
    }

    /// COM_STMT_EXECUTE.
    pub(super) async fn execute(&mut self, payload: &[u8]) -> Result<(), End> {
        let begun = self.statement_begins();
        let statement = statement_id(payload).ok().and_then(|id| self.statement(id, "mysqld_stmt_execute").ok());
        let known = statement.map(|s| (s.digested.clone(), s.key.clone(), s.class.clone()));
        let held = known.as_ref().and_then(|(_, key, class)| self.hold_status(class, &key.text));
        let ended = match self.execute_statement(payload).await {
            Ok(()) => Ok(()),
            Err(stopped) => self.stopped(stopped),
        };
        if let Ok(id) = statement_id(payload) {
            self.forget_pieces(id);
        }
        self.tell_own_tls(held, true);
        if let Some((digested, key, class)) = known {
            self.note_accounts(&class);
            self.statement_ends(begun, &digested, &key.text, &ended);
        }
        ended
    }

    async fn execute_statement(&mut self, payload: &[u8]) -> Result<(), Stopped> {
        let capabilities = self.client.capabilities;
        let id = statement_id(payload).map_err(malformed)?;
        let mariadb = self.identity.mariadb;
        self.set_apart(id);
        let statement = self.statement(id, "mysqld_stmt_execute")?;
        if let Some(failure) = statement.failed.take() {
            return Err(failure.into());
        }
        let execute = Execute::parse(payload, statement.params, capabilities).map_err(malformed)?;
        let mut untyped = false;
        let named = capabilities.contains(Capabilities::QUERY_ATTRIBUTES);
        let first = statement.types.is_none();
        let own_types = execute.types.map(<[u8]>::to_vec);
        if let Some(mut types) = own_types.or_else(|| if first { execute.types_of_nulls(named) } else { None }) {
            if !mariadb {
                untyped = settle_null_types(&mut types, &mut statement.known_types, named).map_err(malformed)?;
            }
            statement.retyped |= statement.types.as_ref().is_some_and(|before| before[..] != types[..]);
            statement.types = Some(types.into());
        } else if execute.params > 0 && first {
            let message = "Incorrect arguments to mysqld_stmt_execute";
            return Err(Failure::new(Fault::Client, codes::ER_WRONG_ARGUMENTS, b"HY000", message).into());
        }
        // MySQL keeps something of the types of earlier executions: on a lane those would be other sessions'.
        let retyped = statement.retyped && !mariadb;
        let digest = statement.digest.filter(|_| !statement.long_data && !statement.cursor && !retyped);
        // Values in pieces are on the connection that has them.
        let hint = statement.hint.filter(|_| !statement.long_data);
        let long_data = statement.long_data;
        let (key, class, types) = (statement.key.clone(), statement.class.clone(), statement.types.clone());
        let digested = statement.digested.clone();
        let class = self.class_by_programs(&class, &key.text).map_or(class, Rc::new);
        self.may_run(&digested)?;
        let allowed = match self.rule_for(&digested) {
            None => Allowed::default(),
            Some(rule) => Box::pin(self.allow(&rule)).await?,
        };
        let hint = allowed.hint.filter(|_| !long_data).or(hint);
        if let Kind::Kill(target) = class.kind {
            let named = self.client_has(Capabilities::QUERY_ATTRIBUTES);
            let own = usize::from(execute.params > 0);
            let mut values = parameters(&execute, types.as_deref().unwrap_or_default(), named, own);
            let parameter = values.next().transpose().map_err(malformed)?;
            return Box::pin(self.kill_by_text(target, &key.text, parameter)).await;
        }
        let cursor = execute.opens_cursor();
        // A cursor binds the session to its server, which has to be the writer.
        if cursor && self.on_reader.is_some() {
            return Err(Self::not_on_reader().into());
        }
        if self.across_shards(&class, &key.text).await? {
            return Ok(());
        }
        let params = self.statement(id, "mysqld_stmt_execute")?.params;
        let mut execute = execute;
        let key = match self.dispatch_execution(&class, &key, &execute, types.as_ref(), params, long_data).await? {
            Dispatched::Done => return Ok(()),
            Dispatched::Here(None) => key,
            Dispatched::Here(Some(_)) if long_data => return Err(in_pieces().into()),
            Dispatched::Here(Some(text)) => {
                execute = execute.without_cursor();
                self.shared.statement_keys.share(StatementKey::new(text.into(), key.parsing.clone()))
            }
        };
        self.route(&class, if cursor { Some(RoutingHint::Primary) } else { hint }).await?;
        let by = if cursor { AskedBy::Cursor } else { AskedBy::Execution };
        if self.answer_transaction_here(&class.kind, &key.text)
            || self.before_diagnostics(&class, &key.text, by).await?
        {
            return Ok(());
        }
        let rides = digest.filter(|_| !cursor && !untyped && payload.len() <= MAX_COMMAND);
        let lanes = rides.and_then(|digest| Some((self.lanes_for_statement(id, &key)?, digest)));
        let learnt = lanes.as_ref().map(|(group, digest)| group.learnt(*digest));
        if let (Some((group, _)), Some(learnt)) = (&lanes, &learnt) {
            self.handle_statement(&key);
            let put = |lane: &Lane, ride: &Rc<Ride>, learnt: &SharedLearnt| {
                lane.execute(ride, learnt, &key, &execute, types.as_ref(), !mariadb)
            };
            if let Rode::Done(outcome) = self.ride_execution(group, learnt, put).await? {
                self.note_ride(&class, &outcome);
                return Ok(());
            }
        }
        // Each execution of a text with the counts of the statement before is one of a text with other values.
        let counts = Effects::USES_ROW_COUNT | Effects::USES_FOUND_ROWS;
        let spliced = if class.effects.intersects(counts) { self.splice_state(&class, &key.text) } else { None };
        let once = spliced.is_some();
        if once && long_data {
            return Err(in_pieces().into());
        }
        if once {
            // Such a text is closed at once, and a cursor with it: the rows come with the reply, as servers send those of SHOW.
            execute = execute.without_cursor();
        }
        let key = match spliced {
            Some(text) => Rc::new(StatementKey::new(text.into(), key.parsing.clone())),
            None => key,
        };
        let mut retries = self.retries(&class);
        let run = Execution { key: &key, class: &class, execute: &execute, types: &types, untyped };
        let outcome = loop {
            match self.execute_once(&run).await {
                Ok(outcome) => break outcome,
                Err(stopped) => self.again(stopped, &mut retries).await?,
            }
        };
        if let Some(learnt) = &learnt {
            self.note_run(learnt, Some(&outcome));
        }
        let bound = self.state.pins;
        self.note(&class, &outcome);
        if outcome.error.is_none() {
            self.learn_unreported(&class, &outcome, bound).await;
        }
        self.see_whether_closed(&outcome).await.map_err(Stopped::Ended)?;
        self.note_assigned(&class, &key.text);
        self.note_clock(&class, &key.text);
        if outcome.error.is_none() {
            self.note_temporary(&class, &key.text);
        }
        if once && let Some(lease) = &mut self.lease {
            lease.close_statement(&key);
        }
        let says = |flag| outcome.status.is_some_and(|status| status.contains(flag));
        // What ends in an OK of its own, as CALL does, has sent all rows; a routine's own cursor raises the flag there too.
        let rows_last = outcome.error.is_none() && outcome.found_rows.is_some();
        let open = cursor && rows_last && says(StatusFlags::CURSOR_EXISTS);
        let statement = self.statement(id, "mysqld_stmt_execute")?;
        if statement.long_data || statement.cursor || open {
            statement.cursor = open;
            statement.long_data = false;
            self.state.learn_busy_statements();
            self.hold_statement(&key, open);
        }
        Ok(())
    }

    /// Plans an execution if there are several shards, and runs it if it is about more than one of them.
    async fn dispatch_execution(
        &mut self,
        class: &Class,
        key: &Rc<StatementKey>,
        execute: &Execute<'_>,
        types: Option<&Rc<[u8]>>,
        params: u16,
        long_data: bool,
    ) -> Result<Dispatched, Stopped> {
        if self.endpoint.sharding.is_none() {
            return Ok(Dispatched::Here(None));
        }
        let counts = Effects::USES_ROW_COUNT | Effects::USES_FOUND_ROWS;
        let spliced = if class.effects.intersects(counts) { self.splice_state(class, &key.text) } else { None };
        let text = spliced.as_deref().unwrap_or(&key.text);
        // Rows come at once: there is no cursor over several shards, and a client that asked for one is told that there is none.
        let execute = execute.without_cursor();
        let (parsing, session) = (&key.parsing, self.handle.id);
        let execution = sharded::Execution { execute: &execute, types, parsing, params, session, long_data };
        self.dispatch(Asked { class, text, execution: Some(execution), values: None }).await
    }

    /// Executes a statement on a connection of the session's own.
    async fn execute_once(&mut self, run: &Execution<'_>) -> Result<Outcome, Stopped> {
        let Execution { key, class, execute, types, untyped } = *run;
        let (mariadb, session) = (self.identity.mariadb, self.handle.id);
        let retypes = mariadb && class.effects.contains(Effects::RUNS_OTHERS);
        let execution = statement::Execution { key, execute, types: types.as_ref(), untyped, session, retypes };
        self.have_connection().await?;
        self.connection().close_if_unfit(&execution, mariadb);
        let server_id = self.have_statement(key).await?;
        let mut forwarded = std::mem::take(&mut self.scratch);
        forwarded.clear();
        self.connection().encode_execution(&execution, server_id, &mut forwarded);
        self.handle_statement(key);
        let sent = self.send(class, &forwarded).await;
        if forwarded.capacity() <= SMALL_COMMAND {
            self.scratch = forwarded;
        }
        sent?;
        let kind = if execute.opens_cursor() { ReplyKind::Cursor } else { ReplyKind::Results };
        self.forward_reply(kind, class, None).await
    }

    /// The lanes that the session's statements may ride now, if their settings read the text as it was prepared.
    fn lanes_for_statement(&mut self, id: u32, key: &StatementKey) -> Option<Rc<Group>> {
        let group = self.lanes()?;
        let statement = self.statement(id, "mysqld_stmt_execute").ok()?;
        if statement.lanes.as_ptr() != Rc::as_ptr(&group) {
            if group.parsing != key.parsing {
                return None;
            }
            statement.lanes = Rc::downgrade(&group);
        }
        Some(group)
    }

    /// Shows the statement's text as what the session runs.
    fn handle_statement(&self, key: &StatementKey) {
        self.handle.begin(Command::StmtExecute.process_name(), &key.text, self.shared.idle.now());
    }
}
