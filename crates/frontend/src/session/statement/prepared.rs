//! Prepared statements: the client's ids, and the connections that have each statement prepared.
//!
//! A statement stays prepared: the client's COM_STMT_EXECUTE is forwarded with another id, and its binary rows come
//! back as they are. A connection that lacks the statement prepares it first, under the profile that the text was
//! prepared with. Parameter types that the client sent once are sent again to a connection that has not seen them.

use std::collections::BTreeMap;
use std::rc::{Rc, Weak};
use std::time::Instant;

use weir_admin::digests::Digested;
use weir_backend::Profile;
use weir_backend::lanes::MAX_COMMAND;
use weir_backend::prepared::{Prepared, StatementKey};
use weir_sql::hot_row::{HotText, TransactionHints};
use weir_sql::{Bump, Class, Effects, Pins, RoutingHint, StateValues, TextKind, classify};
use weir_wire::error::codes;
use weir_wire::params::Parameter;
use weir_wire::stmt::{Execute, statement_id};
use weir_wire::{Capabilities, Command, Failure};

use super::super::Session;
use super::super::outcome::ReplyOutcome;
use super::super::prepared_statement::{LAST_PREPARED, PreparedStatement};
use super::super::stopped::{SessionEnd, Stopped, malformed};
use super::super::unless_lost::unless_lost;
use super::hinted::{malformed_hint, may_be_hinted, not_hinted};
use super::{Execution, Form, Statement, names_server_threads};
use crate::texts::may_ride;

mod cursor;
mod held;

fn unknown_statement(id: u32, command: &str, mariadb: bool) -> Failure {
    let command = if mariadb { command } else { "mysql_stmt_precheck" };
    let message = format!("Unknown prepared statement handler ({id}) given to {command}");
    Failure::client(codes::ER_UNKNOWN_STMT_HANDLER, message)
}

/// What COM_STMT_PREPARE asks for.
struct Preparation {
    /// Of the client, but for what a rule, a hint or the session's id changes.
    text: Box<[u8]>,
    class: Class,
    hint: Option<RoutingHint>,
    digested: Rc<Digested>,
    hints: Option<TransactionHints>,
}

impl Session {
    /// COM_STMT_PREPARE.
    pub(in crate::session) async fn prepare(&mut self, payload: &[u8]) -> Result<(), SessionEnd> {
        let text = &payload[1..];
        if let Err(failure) = self.state.may_prepare(text.len(), self.endpoint.settings.load().max_allowed_packet) {
            self.refuse(&failure);
            return Ok(());
        }
        self.learn_reading(text).await?;
        let Preparation { text, class, hint, digested, hints } = match self.preparation(text) {
            Ok(preparation) => preparation,
            Err(failure) => {
                self.refuse(&failure);
                return Ok(());
            }
        };
        let parsing = Rc::new(self.parsing_of(&text, &class));
        let key = self.shared.statement_keys.share(StatementKey::new(text, parsing));
        let since = Instant::now();
        let id = self.next_statement_id();
        let key = self.key_beside_busy(id, &key).unwrap_or(key);
        let arena = Bump::new();
        let statement = Statement::new(&arena, &key.text, &class, self.state.lex, Form::Resolved);
        let aimed = match self.aim_preparation(&statement).await {
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
                let hot = HotText::of(&key.text, self.state.lex, &class).ok();
                let hot = hot.and_then(|hot| Some((hot.row(&key.text, self.state.lex)?, Rc::new(hot))));
                let statement = PreparedStatement {
                    hot: hot.map(|(row, hot)| (hot, row)),
                    hint,
                    hints,
                    digest,
                    digested,
                    key,
                    since,
                    class: Rc::new(class),
                    params,
                    types: None,
                    retyped: false,
                    known_types: vec![None; usize::from(params)],
                    cursor: false,
                    waiting: None,
                    long_data: false,
                    pieces: BTreeMap::new(),
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

    /// What a server is to prepare for a text, and what is known of it.
    ///
    /// # Errors
    /// A rule's, or that the statement can't be prepared.
    fn preparation(&self, asked: &[u8]) -> Result<Preparation, Failure> {
        let lex = self.state.lex;
        let digested = self.shared.statistics.table.entry(asked, lex, &classify(asked, lex));
        let rewritten = self.text_to_prepare(&digested, asked)?;
        let asked = rewritten.as_deref().unwrap_or(asked);
        let hint = weir_sql::routing_hint(asked, lex);
        let blanked = hint.and_then(|_| weir_sql::without_routing_hint(asked, lex));
        let asked = blanked.as_deref().unwrap_or(asked);
        let hinted = weir_sql::hot_row::transaction_hints(asked, lex).transpose().map_err(|_| malformed_hint())?;
        let hints = hinted.as_ref().map(|(hints, _)| *hints);
        let asked = hinted.as_ref().map_or(asked, |(_, plain)| plain);
        let mut class = classify(asked, lex);
        if hints.is_some() && !may_be_hinted(&class) {
            return Err(not_hinted());
        }
        match class.kind {
            TextKind::Weir(_) | TextKind::Batch => {
                let message = "This command is not supported in the prepared statement protocol yet";
                return Err(Failure::client(codes::ER_UNSUPPORTED_PS, message));
            }
            TextKind::SetUserVariables(_) => class.pins |= Pins::COMPUTED_USER_VARIABLE,
            _ => {}
        }
        let connection_id = Some(u64::from(self.handle.id));
        let pseudo_thread_id = self.pseudo_thread_id();
        let settings = self.endpoint.settings.load();
        let socket = Some(&*settings.socket);
        let id_only = StateValues { connection_id, pseudo_thread_id, socket, ..StateValues::default() };
        let own_id = class.effects.contains(Effects::USES_CONNECTION_ID) && !names_server_threads(asked);
        let spliced = match own_id {
            true => weir_sql::replace_state_functions(asked, lex, &id_only),
            false => None,
        };
        let text = spliced.map_or_else(|| asked.into(), Vec::into_boxed_slice);
        Ok(Preparation { text, class, hint, digested, hints })
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

    /// What decides how a server reads a text that it prepares. MySQL takes a user variable for what it is then, and warns by that of what it
    /// holds later: a connection of another session's may have it as something else.
    fn parsing_of(&self, text: &[u8], class: &Class) -> Profile {
        let profile = &self.state.profile;
        match class.effects.contains(Effects::USES_USER_VARIABLES) && !self.identity.mariadb {
            true => profile.parsing_of(weir_sql::user_variables(text, self.state.lex)),
            false => profile.parsing(),
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
        let unsent = self.state.begin.is_none() && self.transaction.unsent();
        let said = unsent.then(|| self.said_of_transaction());
        let prepared = self.prepare_on_connection(key, &class, id).await;
        let (outcome, defined) = match prepared {
            Ok(prepared) => prepared,
            Err(stopped) => {
                self.say_again(said.unwrap_or_default());
                return Err(stopped);
            }
        };
        let prepared = outcome.prepared;
        self.note(&class, &outcome);
        if let Some(ok) = prepared {
            self.connection().remember(key.clone(), Prepared::new(ok.id, defined));
        }
        if let Some(said) = said {
            self.take_back_said(said).await;
        }
        Ok(prepared.map(|ok| ok.params))
    }

    /// The reply to a PREPARE, which was forwarded, and what was defined on the server before it.
    async fn prepare_on_connection(
        &mut self,
        key: &Rc<StatementKey>,
        class: &Class,
        id: u32,
    ) -> Result<(ReplyOutcome, u64), Stopped> {
        let payload = [&[Command::StmtPrepare as u8], &key.text[..]].concat();
        let mut retries = self.retries(class);
        let mut room_made = false;
        let mut defined = 0;
        let before = self.client.mark();
        self.record_preparation().await;
        loop {
            let prepared = async {
                self.have_connection().await?;
                defined = self.connection().server.tables.defined();
                self.send(class, &payload).await?;
                let kind = self.connection().prepare_kind();
                self.forward_reply(kind, class, Some(id)).await
            };
            match prepared.await {
                Ok(outcome)
                    if outcome.error.is_some_and(|(code, _)| code == codes::ER_MAX_PREPARED_STMT_COUNT_REACHED)
                        && !room_made =>
                {
                    self.client.take_back(before);
                    room_made = true;
                    self.make_room_for_statements().await;
                }
                Ok(outcome) => return Ok((outcome, defined)),
                Err(stopped) => {
                    // As with a read, what is lost is the transaction before it.
                    let read = Class { kind: TextKind::Select, ..class.clone() };
                    let stopped = self.lost_with(stopped, &read);
                    self.again(stopped, &mut retries).await?;
                }
            }
        }
    }

    /// The server's id of a statement on the session's connection; prepares it there if need be.
    pub(in crate::session) async fn have_statement(&mut self, key: &Rc<StatementKey>) -> Result<u32, Stopped> {
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
        let here = self.profile_here(&Class::default());
        let as_prepared = match here.database == current.database || key.parsing.database != current.database {
            true => Rc::new(current.parsed_as(&key.parsing)),
            false => Rc::new(current.parsed_as(&key.parsing).with_database(here.database.as_deref())),
        };
        let tracking = !self.state.pins.contains(Pins::SESSION_TRACKING);
        self.queue_wait();
        let connection = self.connection();
        connection.queue_state(&as_prepared, tracking)?;
        connection.flush().await?;
        self.confirm_state().await?;
        let handle = self.handle.clone();
        let prepared = match unless_lost(&handle, self.connection().prepare(&key.text)).await {
            Some(prepared) => prepared,
            None => {
                let connection = self.connection();
                connection.retired = true;
                Err(connection.server.lost("it has stopped answering"))
            }
        };
        let prepared = match prepared {
            Err(failure) if failure.code == codes::ER_MAX_PREPARED_STMT_COUNT_REACHED => {
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
            self.shared.at(self.current.server).pool.close_old_statements().await;
        }
    }

    /// The statement that an id of the client's stands for: MariaDB has one for the latest that was prepared. No statement has the id 0.
    pub(in crate::session) fn own_statement_id(&self, id: u32) -> u32 {
        if id == LAST_PREPARED && self.identity.mariadb { self.last_prepared } else { id }
    }

    pub(super) fn prepared_statement(&mut self, id: u32, command: &str) -> Result<&mut PreparedStatement, Failure> {
        let mariadb = self.identity.mariadb;
        let own = self.own_statement_id(id);
        self.state.statements.get_mut(&own).ok_or_else(|| unknown_statement(id, command, mariadb))
    }

    /// COM_STMT_EXECUTE.
    pub(in crate::session) async fn execute(&mut self, payload: &[u8]) -> Result<(), SessionEnd> {
        let begun = self.statement_begins();
        let statement =
            statement_id(payload).ok().and_then(|id| self.prepared_statement(id, "mysqld_stmt_execute").ok());
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

    /// The execution becomes a statement, as far as the rules let it run.
    async fn execute_statement(&mut self, payload: &[u8]) -> Result<(), Stopped> {
        let capabilities = self.client.capabilities;
        let id = statement_id(payload).map_err(malformed)?;
        self.set_apart(id);
        let mariadb = self.identity.mariadb;
        self.close_cursor_before(id)?;
        let prepared = self.prepared_statement(id, "mysqld_stmt_execute")?;
        if let Some(failure) = prepared.failed.take() {
            return Err(failure.into());
        }
        let named = capabilities.contains(Capabilities::QUERY_ATTRIBUTES);
        let came = Execute::parse(payload, prepared.params, capabilities).map_err(malformed)?;
        let joined = prepared.take_pieces(&came, named).map_err(malformed)?;
        let payload = joined.as_deref().unwrap_or(payload);
        let execute = Execute::parse(payload, prepared.params, capabilities).map_err(malformed)?;
        let untyped = prepared.take_types(&execute, named, mariadb)?;
        let PreparedStatement { params, long_data, hints, since, .. } = *prepared;
        // MySQL keeps something of the types of earlier executions: on a lane those would be other sessions'.
        let fits = !long_data && !prepared.cursor && (!prepared.retyped || mariadb);
        let rides = prepared.digest.filter(|_| fits && !untyped && payload.len() <= MAX_COMMAND);
        // Values in pieces are on the connection that has them.
        let hint = prepared.hint.filter(|_| !long_data);
        let (key, class, types) = (prepared.key.clone(), prepared.class.clone(), prepared.types.clone());
        let digested = prepared.digested.clone();
        let hot = prepared.hot.clone().filter(|_| !long_data && !untyped && !execute.opens_cursor());
        let class = self.class_by_programs(&class, &key.text).map_or(class, Rc::new);
        let admitted = self.admit(&digested).await?;
        let execution = Execution {
            id,
            key: &key,
            execute: &execute,
            uncursored: &execute.without_cursor(),
            types: types.as_ref(),
            untyped,
            params,
            session: self.handle.id,
            since,
            long_data,
            rides: rides.filter(|_| !execute.opens_cursor()),
            hot: hot.as_ref().map(|(hot, row)| (&**hot, *row)),
            packet: payload,
        };
        let arena = Bump::new();
        let statement = Statement::new(&arena, &key.text, &class, self.state.lex, Form::Prepared(execution));
        if let Some(hints) = hints {
            return Box::pin(self.run_hinted(&statement, hints)).await;
        }
        let statement = statement.hinted(admitted.hint.filter(|_| !long_data).or(hint));
        match execute.opens_cursor() {
            // Rare: not in line, so that every session's task needn't have room for it.
            true => Box::pin(self.run_for_cursor(id, &statement)).await,
            false => self.run_statement(&statement).await,
        }
    }

    /// The first value of an execution.
    pub(super) fn first_parameter<'a>(&self, statement: &Statement<'a>) -> Result<Option<Parameter<'a>>, Stopped> {
        let Some(execution) = statement.execution() else { return Ok(None) };
        let first = self.parameters(execution).next().transpose().map_err(malformed)?;
        Ok(first)
    }

    /// Shows the statement's text as what the session runs.
    pub(super) fn handle_statement(&self, key: &StatementKey) {
        self.handle.begin(Command::StmtExecute.process_name(), &key.text, self.shared.idle.now());
    }
}
