//! What Weir answers itself, without a server.

use weir_admin::Caller;
use weir_sql::Pins;
use weir_wire::packets::{OkPacket, SessionChange, put_session_change};
use weir_wire::resultset::ResultSet;

use super::super::Session;
use super::super::latest::Left;
use super::super::state::Begin;
use super::super::stopped::{SessionEnd, Stopped};
use super::Statement;
use super::decide::Answer;

impl Session {
    /// Answers a statement.
    pub(super) async fn answer(&mut self, statement: &Statement<'_>, answer: Answer) -> Result<(), Stopped> {
        match answer {
            Answer::Begin(read_only) => self.begin_lazily(read_only),
            Answer::End => {
                if self.state.begin.take().is_some() {
                    // With what was said of it.
                    self.state.pins -= Pins::SET_TRANSACTION;
                    self.forget_transaction();
                }
                self.transaction_ok_here(b"________");
            }
            Answer::OwnVariable(asked) => self.answer_own_variable(asked)?,
            Answer::ProcessList { full } => {
                let result = self.endpoint.commands.process_list(full, self.caller());
                self.result_here(&result);
            }
            Answer::IgnoreLocks => Box::pin(self.ignore_locks()).await?,
            Answer::Kill(target) => {
                let parameter = self.first_parameter(statement)?;
                Box::pin(self.kill_by_text(target, statement.text, parameter)).await?;
            }
        }
        Ok(())
    }

    /// Runs a WEIR statement.
    pub(in crate::session) async fn weir_statement(&mut self, statement: &str) -> Result<(), SessionEnd> {
        if let Some(explained) = self.to_explain(statement) {
            return match self.explain(explained).await {
                Ok(()) => Ok(()),
                Err(stopped) => self.stopped(stopped),
            };
        }
        if let Some(id) = self.to_resume(statement) {
            let resumed = Box::pin(self.resume_batch(id)).await;
            let error = resumed.as_ref().err().and_then(Stopped::failure).map(|failure| failure.code);
            self.endpoint.commands.note_admin(self.who(), format!("WEIR {statement}"), error);
            return match resumed {
                Ok(()) => Ok(()),
                Err(stopped) => self.stopped(stopped),
            };
        }
        let statement = &self.with_database(statement);
        let zone = match Box::pin(self.zone_for(statement)).await {
            Ok(zone) => zone,
            Err(stopped) => return self.stopped(stopped),
        };
        let caller = Caller { zone: zone.as_deref(), ..self.caller() };
        let answered = self.endpoint.commands.run_text(statement, caller).await;
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

    /// A `WEIR ALTER TABLE table …` with the default database, if it names none.
    fn with_database(&self, statement: &str) -> String {
        let words: Vec<&str> = statement.split_whitespace().collect();
        match (&words[..], self.state.profile.database.as_deref()) {
            ([moves, tables, _, ..], Some(database))
                if moves.eq_ignore_ascii_case("MOVE") && tables.eq_ignore_ascii_case("TABLES") =>
            {
                let (_, list) = statement.trim_start().split_at("MOVE".len());
                let (_, list) = list.trim_start().split_at("TABLES".len());
                match weir_moves::read_tables(list, Some(&String::from_utf8_lossy(database))) {
                    Ok(tables) => format!("MOVE TABLES {}", weir_moves::written(&tables)),
                    // It is said by who runs it.
                    Err(_) => statement.to_owned(),
                }
            }
            ([alter, table, name, rest @ ..], Some(database))
                if alter.eq_ignore_ascii_case("ALTER")
                    && table.eq_ignore_ascii_case("TABLE")
                    && !name.contains('.') =>
            {
                format!("ALTER TABLE {}.{name} {}", String::from_utf8_lossy(database), rest.join(" "))
            }
            _ => statement.to_owned(),
        }
    }

    pub(in crate::session) fn caller(&self) -> Caller<'_> {
        Caller { user: &self.user, admin: self.endpoint.accounts.is_admin(&self.user), zone: None }
    }

    /// The session's time zone, for a command that has a time.
    async fn zone_for(&mut self, statement: &str) -> Result<Option<String>, Stopped> {
        let mut words = statement.split_whitespace();
        let is = |word: Option<&str>, keyword: &str| word.is_some_and(|word| word.eq_ignore_ascii_case(keyword));
        let has_time = is(words.next(), "MOVE") && is(words.next(), "CUTOVER") && is(words.nth(1), "AT");
        if !has_time || !self.caller().admin {
            return Ok(None);
        }
        let row = self.run_apart(b"SELECT @@SESSION.time_zone LIMIT 1").await?.rows.into_iter().next();
        let zone = row.and_then(|row| row.into_iter().next().flatten());
        Ok(zone.map(|zone| String::from_utf8_lossy(&zone).into_owned()))
    }

    pub(in crate::session) fn result_here(&mut self, result: &ResultSet) {
        self.endpoint.metrics.answered_here.inc();
        self.client.put_result(result, self.state.own_status());
        self.state.answered_here();
        self.state.latest.row_count = -1;
        self.state.latest.found_rows = Left::Known(result.rows.len() as u64);
    }

    /// A transaction begins: the server hears of it with the first statement.
    fn begin_lazily(&mut self, read_only: Option<bool>) {
        let begin = Begin::plain(read_only);
        let read_only = read_only.unwrap_or_else(|| self.state.next_is_read_only());
        self.state.begin = Some(Begin { read_only, ..begin });
        self.transaction_ok_here(b"T_______");
    }

    /// OK to a transaction's start or end that no server has heard of. MySQL tells clients that track their session of
    /// the transaction's state (type 5), in eight characters.
    pub(in crate::session) fn transaction_ok_here(&mut self, transaction: &[u8; 8]) {
        self.state.answered_here();
        self.endpoint.metrics.answered_here.inc();
        let mut changes = Vec::new();
        if !self.identity.mariadb {
            let data = [&[8][..], transaction].concat();
            put_session_change(&mut changes, &SessionChange::Other { kind: 5, data: &data });
        }
        self.client.put_ok(&OkPacket { changes: &changes, ..OkPacket::plain(self.state.own_status()) });
    }

    /// An OK of Weir's own, after which the session's latest statement is one that changed nothing.
    pub(in crate::session) fn done_here(&mut self) {
        self.state.answered_here();
        let ok = OkPacket::plain(self.state.own_status());
        self.client.put_ok(&ok);
    }
}
