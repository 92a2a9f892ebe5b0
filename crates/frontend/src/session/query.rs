//! COM_QUERY: what Weir answers itself, what it must change in the text, and the rest, which the server gets as it is.

use std::rc::Rc;

use weir_admin::Caller;
use weir_backend::profile::charset_of;
use weir_exec::variables;
use weir_sql::facts::nothing_ran;
use weir_sql::{Class, Effects, Kind, Pins, RoutingHint, StateValues, TokenKind};
use weir_wire::error::codes;
use weir_wire::packets::{OkPacket, SessionChange, put_session_change};
use weir_wire::reply::ReplyKind;
use weir_wire::resultset::ResultSet;
use weir_wire::stmt::query_text_at;
use weir_wire::{Failure, Fault};

use super::kills::not_understood;
use super::relay::Outcome;
use super::ride::Rode;
use super::server::Stopped;
use super::sharded::{Asked, Dispatched};
use super::state::{Begin, Left};
use super::{End, Session};
use crate::texts::ReadText;

impl Session {
    /// A text.
    pub(super) async fn query(&mut self, payload: &[u8]) -> Result<(), End> {
        let at = match query_text_at(payload, self.client.capabilities) {
            Ok(at) => at,
            Err(error) => {
                self.refuse(&Failure::new(Fault::Client, codes::ER_MALFORMED_PACKET, b"HY000", error.to_string()));
                return Ok(());
            }
        };
        self.learn_reading(&payload[at..]).await?;
        let read = self.shared.read(&payload[at..], self.state.lex);
        if self.is_read_apart(&read) {
            return Box::pin(self.run_one_by_one(payload, at)).await;
        }
        let begun = self.statement_begins();
        if let Kind::Weir(range) = &read.class.kind {
            let statement = String::from_utf8_lossy(&payload[at..][range.clone()]).into_owned();
            return Box::pin(self.weir_statement(&statement)).await;
        }
        let ended = self.run_if_allowed(payload, at, &read).await;
        self.note_accounts(&read.class);
        self.statement_ends(begun, &read.digested, &payload[at..], &ended);
        ended
    }

    /// The text that begins at `at` in a command, as far as the rules let it run.
    pub(super) async fn run_if_allowed(&mut self, payload: &[u8], at: usize, read: &ReadText) -> Result<(), End> {
        let held = self.hold_status(&read.class, &payload[at..]);
        let ended = match self.may_run(&read.digested) {
            Ok(()) => match self.rule_for(&read.digested) {
                None => self.run_text(payload, at, read, None).await,
                Some(rule) => Box::pin(self.run_ruled(payload, at, read, rule)).await,
            },
            Err(failure) => {
                self.refuse(&failure);
                Ok(())
            }
        };
        self.tell_own_tls(held, false);
        ended
    }

    /// The text that begins at `at` in a command. `to`: where a rule wants it to run.
    pub(super) async fn run_text(
        &mut self,
        payload: &[u8],
        at: usize,
        read: &ReadText,
        to: Option<RoutingHint>,
    ) -> Result<(), End> {
        let known = self.class_by_programs(&read.class, &payload[at..]);
        let class = known.as_ref().unwrap_or(&read.class);
        let blanked = read.hint.and_then(|_| weir_sql::without_routing_hint(&payload[at..], self.state.lex));
        let blanked = blanked.map(|text| [&payload[..at], &text].concat());
        let payload = blanked.as_deref().unwrap_or(payload);
        if self.runs_apart(class, &payload[at..]) {
            return Box::pin(self.run_one_by_one(payload, at)).await;
        }
        if self.run_named(class, payload, at).await? {
            return Ok(());
        }
        match self.across_shards(class, &payload[at..]).await {
            Ok(false) => {}
            Ok(true) => return Ok(()),
            Err(stopped) => return self.stopped(stopped),
        }
        let shards_text = match self.dispatch_text(class, &payload[at..]).await {
            Ok(Dispatched::Done) => return Ok(()),
            Ok(Dispatched::Here(text)) => text.map(|text| [&payload[..at], &text].concat()),
            Err(stopped) => return self.stopped(stopped),
        };
        let payload = shards_text.as_deref().unwrap_or(payload);
        let text = &payload[at..];
        if let Err(stopped) = self.route(class, to.or(read.hint)).await {
            return self.stopped(stopped);
        }
        // What rides is a plain read, with which there is nothing to do before it runs.
        let lanes = self.lanes_for_text(read);
        let mut lost = None;
        if let Some((group, learnt)) = &lanes
            && learnt.get().rides()
        {
            match self.ride_text(group, learnt, payload).await {
                Ok(Rode::Done(outcome)) => {
                    self.note_ride(class, &outcome);
                    return Ok(());
                }
                Ok(Rode::NotYet(failure)) => lost = failure,
                Err(stopped) => return self.stopped(stopped),
            }
        }
        if self.answer_here(class, text).await? || self.before_diagnostics_of_text(class, text).await? {
            return Ok(());
        }
        let spliced = self.splice_state(class, text);
        let changed;
        let payload = match &spliced {
            Some(text) => {
                changed = [&payload[..at], text].concat();
                &changed[..]
            }
            None => payload,
        };
        let bound = self.state.pins;
        let outcome = self.run_command(class, payload, ReplyKind::Results, lost).await?;
        match &outcome {
            Some(outcome @ Outcome { error: Some((code, _)), .. }) => {
                let nothing = nothing_ran(&payload[at..], self.state.lex, class, *code, &outcome.message);
                self.state.pins &= if nothing { bound } else { Pins::all() };
            }
            Some(outcome) => self.learn_unreported(class, outcome, bound).await,
            None => {}
        }
        if let Some((_, learnt)) = lanes {
            self.note_run(&learnt, outcome.as_ref());
        }
        if let Kind::SetUserVariables(variables) = &class.kind {
            self.note_user_variables(text, variables);
        }
        self.note_assigned(class, text);
        self.note_clock(class, text);
        if outcome.is_some_and(|outcome| outcome.error.is_none()) {
            self.note_temporary(class, text);
        }
        Ok(())
    }

    /// Plans a text if there are several shards, and runs it if it is about more than one of them.
    async fn dispatch_text(&mut self, class: &Class, text: &[u8]) -> Result<Dispatched, Stopped> {
        if self.endpoint.sharding.is_none() {
            return Ok(Dispatched::Here(None));
        }
        let spliced = self.splice_state(class, text);
        let text = spliced.as_deref().unwrap_or(text);
        self.dispatch(Asked { class, text, execution: None, values: None }).await
    }

    /// Answers what needs no server. Returns whether it did.
    async fn answer_here(&mut self, class: &Class, text: &[u8]) -> Result<bool, End> {
        if self.answer_transaction_here(&class.kind, text) || self.answer_own_variable(class, text) {
            return Ok(true);
        }
        match &class.kind {
            Kind::Kill(target) => match Box::pin(self.kill_by_text(*target, text, None)).await {
                Ok(()) => {}
                Err(stopped) => self.stopped(stopped)?,
            },
            Kind::ShowProcesslist { full } => {
                let result = self.endpoint.commands.process_list(*full, self.caller());
                self.result_here(&result);
            }
            Kind::Multiple if has_kill(text, self.state.lex) => self.refuse(&not_understood()),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Runs a WEIR statement.
    pub(super) async fn weir_statement(&mut self, statement: &str) -> Result<(), End> {
        if let Some(explained) = self.to_explain(statement) {
            return match self.explain(explained).await {
                Ok(()) => Ok(()),
                Err(stopped) => self.stopped(stopped),
            };
        }
        let answered = self.endpoint.commands.run_text(statement, self.caller()).await;
        let error = answered.as_ref().err().map(|failure| failure.code);
        self.endpoint.commands.note_admin(self.who(), format!("WEIR {statement}"), error);
        match answered.map(|answer| answer.to_result_set()) {
            Ok(Some(result)) => self.result_here(&result),
            Ok(None) => {
                self.state.answered_here();
                self.ok_here();
            }
            Err(failure) => self.refuse(&failure),
        }
        Ok(())
    }

    /// Answers the start of a transaction, and the end of one that no server has heard of. Returns whether it did.
    pub(super) fn answer_transaction_here(&mut self, kind: &Kind, text: &[u8]) -> bool {
        // MySQL warns of such comments.
        let comment = || !self.identity.mariadb && text.windows(3).any(|three| three == b"/*!");
        match kind {
            Kind::Begin { .. } | Kind::Commit | Kind::Rollback if comment() => return false,
            Kind::Begin { read_only } if (self.lease.is_none() || self.held) && !self.begin_is_a_block() => {
                self.begin_lazily(*read_only);
            }
            Kind::Commit | Kind::Rollback if self.state.begin.is_some() => {
                self.state.begin = None;
                self.transaction_ok_here(b"________");
            }
            _ => return false,
        }
        true
    }

    pub(super) fn caller(&self) -> Caller<'_> {
        Caller { user: &self.user, admin: self.endpoint.accounts.is_admin(&self.user) }
    }

    pub(super) fn result_here(&mut self, result: &ResultSet) {
        self.endpoint.metrics.answered_here.inc();
        self.client.put_result(result, self.state.own_status());
        self.state.answered_here();
        self.state.row_count = -1;
        self.state.found_rows = Left::Known(result.rows.len() as u64);
    }

    /// A transaction begins: the server hears of it with the first statement.
    fn begin_lazily(&mut self, read_only: Option<bool>) {
        let begin = Begin::plain(read_only);
        let read_only = read_only.unwrap_or_else(|| self.state.transactions_are_read_only());
        self.state.begin = Some(Begin { read_only, ..begin });
        self.transaction_ok_here(b"T_______");
    }

    /// OK to a transaction's start or end that no server has heard of. MySQL tells clients that track their session of
    /// the transaction's state (type 5), in eight characters.
    pub(super) fn transaction_ok_here(&mut self, transaction: &[u8; 8]) {
        self.state.answered_here();
        self.endpoint.metrics.answered_here.inc();
        let mut changes = Vec::new();
        if !self.identity.mariadb {
            let data = [&[8][..], transaction].concat();
            put_session_change(&mut changes, &SessionChange::Other { kind: 5, data: &data });
        }
        self.client.put_ok(&OkPacket { changes: &changes, ..OkPacket::plain(self.state.own_status()) });
    }

    /// In MariaDB's sql_mode ORACLE, BEGIN starts a block and not a transaction: the server judges it.
    fn begin_is_a_block(&self) -> bool {
        self.state.profile.variable("sql_mode").unwrap_or(&self.identity.sql_mode).contains("ORACLE")
    }

    /// The text with the values of functions whose answer is the session's, not the connection's.
    pub(super) fn splice_state(&self, class: &Class, text: &[u8]) -> Option<Vec<u8>> {
        let functions = Effects::USES_CONNECTION_ID | Effects::USES_ROW_COUNT | Effects::USES_FOUND_ROWS;
        if !class.effects.intersects(functions) {
            // MariaDB does not tell of variables that are set as `@@name`.
            let untold = self.identity.mariadb && class.kind == Kind::Set;
            return if untold { weir_sql::with_session_scopes(text, self.state.lex) } else { None };
        }
        // Where server threads are named by their own ids, the session's id must be of the same kind.
        let connection_id = (!names_server_threads(text)).then_some(u64::from(self.handle.id));
        // On the connection that read the rows the server's own answer is right.
        let stays = self.at == self.target.place() || self.state.is_bound();
        let there = stays && self.lease.as_ref().is_some_and(|lease| lease.has_found_rows);
        let found_rows = match self.state.found_rows {
            Left::Known(rows) if !there => Some(rows),
            _ => None,
        };
        let pseudo_thread_id = self.pseudo_thread_id().filter(|_| connection_id.is_some());
        let row_count = Some(self.state.row_count);
        let values = StateValues { connection_id, pseudo_thread_id, row_count, found_rows };
        if class.kind != Kind::Multiple {
            return weir_sql::replace_state_functions(text, self.state.lex, &values);
        }
        // In a later statement of the text, counts are those of the statement before it; the id is always the same.
        let (first, rest) = text.split_at(first_statement_end(text, self.state.lex));
        let id_only = StateValues { row_count: None, found_rows: None, ..values };
        let replaced = weir_sql::replace_state_functions(first, self.state.lex, &values);
        let replaced_rest = weir_sql::replace_state_functions(rest, self.state.lex, &id_only);
        if replaced.is_none() && replaced_rest.is_none() {
            return None;
        }
        Some([replaced.as_deref().unwrap_or(first), replaced_rest.as_deref().unwrap_or(rest)].concat())
    }

    /// `@@pseudo_thread_id`, unless only the session's connection knows it.
    pub(super) fn pseudo_thread_id(&self) -> Option<u64> {
        self.state.pseudo_thread_id.unwrap_or(Some(u64::from(self.handle.id)))
    }

    /// A SET of user variables to literals was run: the profile takes them, in a form whose meaning no later SET
    /// changes. Where there is no such form the session is pinned.
    fn note_user_variables(&mut self, text: &[u8], assigned: &[weir_sql::UserVariable]) {
        if self.state.row_count < 0 {
            return;
        }
        let form =
            |v: &weir_sql::UserVariable| Some((v.name.to_string(), self.lasting_literal(&text[v.literal.clone()])?));
        let Some(literals) = assigned.iter().map(form).collect::<Option<Vec<_>>>() else {
            self.state.pins |= Pins::COMPUTED_USER_VARIABLE;
            self.note_assigned_in(text);
            return;
        };
        let lengths = literals.iter().map(|(_, literal)| literal.len());
        let all = self.state.profile.user_variable_bytes() + lengths.clone().sum::<usize>();
        if all > variables::MOST_LITERALS || lengths.max() > Some(variables::MOST_LITERAL) {
            // Too much to be sent with a statement.
            self.state.pins |= Pins::COMPUTED_USER_VARIABLE;
            self.note_assigned_in(text);
            return;
        }
        literals.iter().for_each(|(name, _)| {
            self.state.kept.remove(name);
        });
        let literals = literals.iter().map(|(name, literal)| (name.as_str(), literal.as_str()));
        let profile = Rc::new(self.state.profile.with_user_variables(literals));
        self.state.profile = profile.clone();
        if let Some(lease) = &mut self.lease {
            lease.set_profile(profile);
        }
    }

    /// A literal with the character set and the collation that it has now, if it is a string.
    fn lasting_literal(&self, literal: &[u8]) -> Option<String> {
        let literal = std::str::from_utf8(literal).ok()?;
        let quote = literal.chars().next().filter(|c| matches!(c, '\'' | '"'));
        let Some(quote) = quote else { return Some(literal.to_owned()) };
        let value = literal.strip_prefix(quote)?.strip_suffix(quote)?;
        if value.contains('\'') || self.state.collation_unknown {
            return None;
        }
        let charset = charset_of(self.state.profile.variable("character_set_connection")?);
        let collation = self.state.profile.variable("collation_connection")?;
        Some(format!("_{charset}'{value}' COLLATE {collation}"))
    }

    /// An OK of Weir's own, after which the session's latest statement is one that changed nothing.
    pub(super) fn done_here(&mut self) {
        self.state.answered_here();
        let ok = OkPacket::plain(self.state.own_status());
        self.client.put_ok(&ok);
    }
}

/// Whether a text looks at the server's own list of threads, in which a session has its connection's id.
pub(super) fn names_server_threads(text: &[u8]) -> bool {
    const LISTS: [&[u8]; 5] = [b"is_used_lock", b"processlist", b"performance_schema", b"innodb_trx", b"innodb_lock"];
    let lower = text.to_ascii_lowercase();
    LISTS.iter().any(|list| lower.windows(list.len()).any(|window| window == *list))
}

/// Whether one of a text's statements is a KILL, within a block too: the word is reserved, and no name but after a point.
fn has_kill(text: &[u8], lex: weir_sql::LexMode) -> bool {
    let mut after_point = false;
    weir_sql::Lexer::new(text, lex).any(|token| {
        let kill = !after_point && token.kind == TokenKind::Word && token.text(text).eq_ignore_ascii_case(b"KILL");
        after_point = token.kind == TokenKind::Punct(b'.');
        kill
    })
}

/// Where the first statement of a text of several ends, its semicolon included: no statement begins with one.
fn first_statement_end(text: &[u8], lex: weir_sql::LexMode) -> usize {
    let mut tokens = weir_sql::Lexer::new(text, lex);
    tokens.find(|token| token.kind == TokenKind::Semicolon).map_or(text.len(), |token| token.end as usize)
}
