//! Texts of several statements: read and run statement by statement, each with the session's state that the one before has left.
//!
//! What must always hold: to the client it is what one server does with such a text: the replies in their order, up to the first error;
//! what ran before that stays done. Each statement is judged on its own, by rules and read-only mode too. A text goes to a server as a
//! whole only if none of its statements but the last may change how the rest is read, and nobody judges them one by one.

use std::rc::Rc;

use weir_sql::{
    Bump, Class, Effects, First, Pins, TextKind, decides_reading, first_statement, parse, trimmed, trimmed_start,
};
use weir_wire::error::{codes, not_supported};
use weir_wire::reply::ReplyKind;
use weir_wire::{Capabilities, Failure, StatusFlags};

use super::super::Session;
use super::super::latest::Diagnostics;
use super::super::outcome::ReplyOutcome;
use super::super::stopped::SessionEnd;
use crate::texts::{ReadText, Several};

/// Flags by which servers tell how they read texts.
const TOLD: StatusFlags = StatusFlags::NO_BACKSLASH_ESCAPES.union(StatusFlags::ANSI_QUOTES);

/// The last statement of a text.
#[derive(Clone, Copy)]
struct Last {
    /// It is known to be one statement, as the ones before it.
    certain: bool,
}

impl Session {
    /// Whether a text has several statements that have to run one by one because that is how they are read or judged.
    pub(super) fn is_read_apart(&self, read: &ReadText) -> bool {
        let judged = || {
            let oversight = &self.endpoint.oversight;
            oversight.is_read_only() || oversight.rules.has_some()
        };
        let apart = match read.several {
            Several::No => false,
            // What MariaDB keeps of the diagnostics depends on each statement.
            Several::Alike => {
                judged() || self.identity.mariadb && matches!(self.state.latest.diagnostics, Diagnostics::Learnt(_))
            }
            Several::Apart => true,
        };
        apart && self.client.capabilities.contains(Capabilities::MULTI_STATEMENTS)
    }

    /// Runs the statements of a text one by one. `at`: where the text begins in the command.
    pub(super) async fn run_one_by_one(&mut self, payload: &[u8], at: usize) -> Result<(), SessionEnd> {
        self.client.begin_replies();
        let ended = self.run_each(&payload[..at], &payload[at..]).await;
        self.client.end_replies();
        ended
    }

    async fn run_each(&mut self, head: &[u8], text: &[u8]) -> Result<(), SessionEnd> {
        let mut rest = trimmed(text, self.state.lex);
        loop {
            let (statement, behind, certain) = match first_statement(rest, self.state.lex) {
                // No statement begins with a semicolon: the server says so, of all that follows.
                First::Ends(0) | First::Unknown => (rest, None, false),
                First::Ends(end) => (&rest[..end], rest.get(end + 1..), true),
            };
            let follows = behind.is_some_and(|behind| !trimmed_start(behind, self.state.lex).is_empty());
            self.client.begin_reply(follows);
            let command = [head, statement].concat();
            let last = behind.is_none().then_some(Last { certain });
            let syntax_error = Box::pin(self.run_one(&command, head.len(), last)).await?;
            if syntax_error && behind.is_some_and(|behind| !behind.is_empty()) && self.client.take_back_error() {
                self.tell_syntax_error(&[head, rest].concat()).await?;
            }
            let behind = behind.unwrap_or_default();
            self.learn_reading(behind).await?;
            rest = trimmed_start(behind, self.state.lex);
            let more = !rest.is_empty();
            if !self.client.end_reply(more) || !more {
                return Ok(());
            }
            self.finish_command().await?;
            self.target_writer();
        }
    }

    /// Runs one statement of several. `last`: nothing follows; if more than one is in it after all, none runs. Returns whether the server
    /// could not read it.
    async fn run_one(&mut self, payload: &[u8], at: usize, last: Option<Last>) -> Result<bool, SessionEnd> {
        let text = &payload[at..];
        let begun = self.statement_begins();
        let read = self.shared.read(text, self.state.lex);
        if let TextKind::Weir(range) = &read.class.kind {
            let statement = String::from_utf8_lossy(&text[range.clone()]).into_owned();
            self.weir_statement(&statement).await?;
            return Ok(false);
        }
        let ended = match last.filter(|_| text.contains(&b';')) {
            Some(last) if !last.certain || !self.is_judged_here(&read.class, text) => {
                self.run_alone(payload, at, &read).await
            }
            _ => self.run_text(payload, at, &read).await,
        };
        self.statement_ends(begun, &read.digested, text, &ended);
        // Or what it has run could not be read.
        let Class { effects, pins, .. } = &read.class;
        let own = !effects.contains(Effects::RUNS_OTHERS) || pins.contains(Pins::UNKNOWN_STATEMENT);
        ended.map(|()| own && self.ran.error == Some(codes::ER_PARSE_ERROR))
    }

    /// Has the server tell of a syntax error as in a text that goes on, which its message shows. With a statement behind it, a
    /// connection that takes one statement runs none.
    async fn tell_syntax_error(&mut self, payload: &[u8]) -> Result<(), SessionEnd> {
        if let Err(failure) = self.take_multi_statements(false).await {
            return self.stopped(failure.into());
        }
        let class = Class { pins: self.state.pins, ..Class::default() };
        self.run_command(&class, payload, ReplyKind::Results, None).await?;
        if self.take_multi_statements(true).await.is_err() {
            self.lose_lease();
        }
        Ok(())
    }

    /// Runs what must be one statement, on a connection that takes no more than one: the server judges whether it is.
    async fn run_alone(&mut self, payload: &[u8], at: usize, read: &Rc<ReadText>) -> Result<(), SessionEnd> {
        if self.is_judged_here(&read.class, &payload[at..]) {
            let message = "Where this statement of several ends can't be told: send it in a text of its own, without comments that only \
                           some versions of servers run";
            self.refuse(&not_supported(message));
            return Ok(());
        }
        if let Err(failure) = self.take_multi_statements(false).await {
            return self.stopped(failure.into());
        }
        let ended = self.run_text(payload, at, read).await;
        if self.take_multi_statements(true).await.is_err() {
            self.lose_lease();
        }
        ended
    }

    /// Whether Weir would have to know what the statement is before a server has judged it: to find its shards, or to put the session's
    /// values in.
    fn is_judged_here(&self, class: &Class, text: &[u8]) -> bool {
        let values = Effects::USES_CONNECTION_ID | Effects::USES_ROW_COUNT | Effects::USES_FOUND_ROWS;
        let arena = Bump::new();
        class.effects.intersects(values)
            || self.endpoint.sharding.is_some() && parse(&arena, text, self.state.lex).is_ok()
    }

    /// Whether the session's connections take several statements in a text.
    async fn take_multi_statements(&mut self, on: bool) -> Result<(), Failure> {
        self.key.capabilities.set(Capabilities::MULTI_STATEMENTS, on);
        self.riding.forget_lanes();
        let key = self.key.clone();
        let Some(lease) = &mut self.current.lease else { return Ok(()) };
        lease.take_several(on).await?;
        lease.key = key;
        Ok(())
    }

    /// Takes down whether a statement may have changed how texts are read without telling of it.
    pub(in crate::session) fn note_reading(&mut self, class: &Class, outcome: &ReplyOutcome) {
        let told = |name: &str| outcome.variables.iter().any(|(told, _)| told == name);
        let others = class.effects.contains(Effects::RUNS_OTHERS) && !class.pins.contains(Pins::CALL);
        let flags = outcome.status.map_or(self.state.told_reading, |status| status & TOLD);
        let changed = std::mem::replace(&mut self.state.told_reading, flags) != flags;
        let reading = &self.state.lex;
        let as_known = flags.contains(StatusFlags::NO_BACKSLASH_ESCAPES) == reading.no_backslash_escapes
            && (!self.identity.mariadb || flags.contains(StatusFlags::ANSI_QUOTES) == reading.ansi_quotes);
        self.state.reading_unsure |= others
            || changed && !as_known
            || class.effects.contains(Effects::SETS_FOR_STATEMENT)
            || class.pins.intersects(Pins::UNKNOWN_STATEMENT | Pins::TEXT_PREPARE)
            || class.assigned.iter().any(|name| decides_reading(name) && !told(name));
    }

    /// Before a text is read: asks the server how it reads texts, if that is not known and matters.
    pub(in crate::session) async fn learn_reading(&mut self, text: &[u8]) -> Result<(), SessionEnd> {
        if !self.state.reading_unsure || !self.depends_on_reading(text) {
            return Ok(());
        }
        match self.ask_reading().await {
            Ok(()) => {
                self.state.reading_unsure = false;
                Ok(())
            }
            Err(failure) => {
                self.lose_lease();
                self.state.reading_unsure = false;
                if self.state.is_bound() { Err(SessionEnd::Told(failure)) } else { Ok(()) }
            }
        }
    }

    /// Whether a text may be read in two ways.
    fn depends_on_reading(&self, text: &[u8]) -> bool {
        let begin = text.trim_ascii_start().get(..5).is_some_and(|word| word.eq_ignore_ascii_case(b"BEGIN"));
        let depends = |byte: &u8| matches!(byte, b'"' | b'\\' | b'|' | 0x80..);
        begin || self.endpoint.sharding.is_some() && !text.is_empty() || text.iter().any(depends)
    }

    async fn ask_reading(&mut self) -> Result<(), Failure> {
        if self.current.lease.is_none() {
            // Whatever connection it gets is brought into its profile.
            self.state.learn_lex_mode(&self.identity);
            return Ok(());
        }
        match self.identity.mariadb {
            // What reads no table leaves the diagnostics there, for statements that ask for them without showing it.
            true => self.learn_found_rows().await?,
            false if self.state.left_something() => self.learn_what_was_left(true).await?,
            false => {}
        }
        let lease = self.connection();
        lease.has_found_rows = false;
        // Names as they are, whatever character set the session's results have.
        let ask = "SELECT CAST(@@SESSION.sql_mode AS BINARY),CAST(@@SESSION.character_set_client AS BINARY) LIMIT 1";
        let reply = lease.query(ask).await?;
        let cells: Vec<String> =
            reply.rows.into_iter().flatten().flatten().filter_map(|cell| String::from_utf8(cell).ok()).collect();
        let [sql_mode, charset] = &cells[..] else { return Err(lease.server.lost("it does not tell its sql_mode")) };
        let known = &self.state.profile;
        let same = known.variable("sql_mode").unwrap_or(&self.identity.sql_mode) == sql_mode
            && known.variable("character_set_client") == Some(charset);
        if !same {
            let variables = [("sql_mode", sql_mode.as_str()), ("character_set_client", charset.as_str())];
            let profile = Rc::new(known.with_variables(variables));
            self.state.profile = profile.clone();
            self.connection().set_profile(profile);
        }
        self.state.learn_lex_mode(&self.identity);
        Ok(())
    }
}
