//! The statements of a body on their way: as a client's, with their replies for the client or for the procedure.
//!
//! What must always hold: what a statement leaves with the session is what it would leave in a procedure; what is asked only for a value
//! leaves nothing.

use std::rc::Rc;

use weir_backend::prepared::StatementKey;
use weir_exec::read::{self, ReadContext};
use weir_plan::Read;
use weir_program::{Answer, Raised, Rows, Template, tells};
use weir_sql::ast::StatementKind;
use weir_sql::{Bump, Class, LexMode, classify};
use weir_wire::error::not_supported;
use weir_wire::packets::OkPacket;
use weir_wire::stmt::Execute;
use weir_wire::{Capabilities, Failure, StatusFlags};

use super::super::super::Session;
use super::super::super::condition::Condition;
use super::super::super::latest::{Diagnostics, Left};
use super::super::super::relay::ends_statement;
use super::super::super::statement::{Form, Statement, sql_prepare};
use super::super::super::stopped::{Stopped, malformed};
use super::super::sink::ClientSink;
use super::super::waiting::{failure_told, running};
use super::captured::{self, Reply};
use super::dynamic;
use super::variables::{Variables, is_fatal, raised_by};
use super::{Kept, raised_of};
use crate::client::Excess;

/// The most bytes of rows that one query of a body may have for a cursor or for INTO.
const MOST_CAPTURED: usize = 64 * 1024 * 1024;

/// What MySQL warns of when it reads a statement, which for a body is once, in CREATE PROCEDURE: deprecated syntax.
const IN_PARSING: [&[u8]; 2] = [b"1287", b"1681"];

/// What a statement of Weir's own has given.
pub(in crate::session) struct Apart {
    /// Its rows.
    pub(in crate::session) rows: Vec<Vec<Option<Vec<u8>>>>,
    /// The rows that it has changed.
    pub(in crate::session) changed: u64,
}

impl Session {
    /// The value of an expression that needs rows, or something of the session, as a literal.
    pub(super) async fn computed(
        &mut self,
        variables: &mut Variables<'_>,
        value: &Template,
        function: &[u8],
    ) -> Result<Result<(Vec<u8>, Vec<Raised>), Raised>, Stopped> {
        let value = variables.rendered(self, value).await?;
        let text = match function {
            b"" => [b"SELECT (", &value[..], b")"].concat(),
            function => [b"SELECT ", function, b"((", &value[..], b"), 1, 0)"].concat(),
        };
        Ok(match self.quietly_with_conditions(&text).await? {
            Ok((rows, conditions)) => {
                let value = rows.rows.front().and_then(|row| row.first()).cloned();
                Ok((value.unwrap_or_else(|| b"NULL".to_vec()), conditions))
            }
            Err(failure) => Err(raised_of(&failure)),
        })
    }

    /// Runs a statement that is none of the client's, and leaves what the latest one has left.
    pub(super) async fn quietly(&mut self, text: &[u8]) -> Result<Result<Rows, Failure>, Stopped> {
        Ok(self.quietly_with_conditions(text).await?.map(|(rows, _)| rows))
    }

    /// The same, with what it has warned of.
    async fn quietly_with_conditions(&mut self, text: &[u8]) -> Result<Result<(Rows, Vec<Raised>), Failure>, Stopped> {
        if self.state.latest.is_on_connection() {
            self.learn_what_was_left(true).await?;
        }
        let latest = self.state.latest.clone();
        let reply = self.captured(text).await?;
        let conditions = match &reply {
            Reply::Failed(_) => Vec::new(),
            _ => self.conditions_left(true).await?,
        };
        self.state.latest = latest;
        match reply {
            Reply::Done => Ok(Ok((Rows::default(), conditions))),
            Reply::Rows(table) => Ok(Ok((table.literals(self.client.capabilities)?, conditions))),
            Reply::Failed(failure) if is_fatal(failure.code) => Err(failure.into()),
            Reply::Failed(failure) => Ok(Err(failure)),
        }
    }

    /// Runs a statement of Weir's own on the way of the session's, and leaves what the latest one has left.
    ///
    /// # Errors
    /// Its own; or that a KILL came before it: the one that it was sent with has hit the statement before.
    pub(in crate::session) async fn run_apart(&mut self, text: &[u8]) -> Result<Apart, Stopped> {
        self.stops_waiting()?;
        if ends_statement(&self.handle) {
            return Err(failure_told(&self.handle, Session::interrupted_failure()).into());
        }
        if self.state.latest.is_on_connection() {
            self.learn_what_was_left(true).await?;
        }
        let latest = self.state.latest.clone();
        let reply = self.captured(text).await;
        let changed = u64::try_from(self.state.latest.row_count).unwrap_or(0);
        self.state.latest = latest;
        match reply? {
            Reply::Done => Ok(Apart { rows: Vec::new(), changed }),
            Reply::Rows(table) => Ok(Apart { rows: table.cells()?, changed: 0 }),
            Reply::Failed(failure) => Err(failure.into()),
        }
    }

    /// Runs a statement as the client's, and takes its reply.
    async fn captured(&mut self, text: &[u8]) -> Result<Reply, Stopped> {
        const RESULTS: &str = "character_set_results";
        // Literals are written of characters of utf8mb4.
        let results = self.state.profile.variable(RESULTS).filter(|charset| *charset != "utf8mb4").map(str::to_owned);
        if results.is_some() {
            self.state.profile = Rc::new(self.state.profile.with_variables([(RESULTS, "utf8mb4")]));
        }
        self.client.begin_capture(MOST_CAPTURED, Excess::Lost);
        let ran = self.run_text_of_body(text, None).await;
        let kept = self.client.end_capture();
        if let Some(results) = results {
            self.state.profile = Rc::new(self.state.profile.with_variables([(RESULTS, results.as_str())]));
        }
        match ran {
            Ok(()) => {}
            Err(Stopped::Refused(failure)) if !is_fatal(failure.code) => return Ok(Reply::Failed(failure)),
            Err(stopped) => return Err(stopped),
        }
        let kept = kept.ok_or_else(too_long)?;
        Ok(captured::read(&kept.packets, self.client.capabilities)?)
    }

    /// `asked`: the CALL, if its client gets the rows.
    pub(super) async fn run_text_of_body(&mut self, text: &[u8], asked: Option<&Statement<'_>>) -> Result<(), Stopped> {
        // The statement before may have read on a replica.
        self.target_writer();
        let (arena, class) = (Bump::new(), self.class_of_body(text, self.state.lex));
        let statement = Statement::new(&arena, text, &class, self.state.lex, Form::Resolved);
        let kind = statement.only().map(|only| only.kind);
        if let Some(request) = sql_prepare::request(&statement, self.identity.mariadb) {
            return Box::pin(self.run_dynamic(&statement, request, asked)).await;
        }
        let has_rows = matches!(kind, Some(StatementKind::Query(_) | StatementKind::Call(_)))
            || statement.only().is_some_and(tells);
        let asked = asked.filter(|_| has_rows);
        let Some(asked) = asked.filter(|asked| asked.execution().is_some()) else {
            return Box::pin(self.run_statement(&statement)).await;
        };
        let key = Rc::new(StatementKey::new(text.into(), Rc::new(self.state.profile.parsing())));
        let execute = bare_execution()?;
        let statement = Statement::new(&arena, text, &class, self.state.lex, asked.form_of(&key, &execute));
        let ran = Box::pin(self.run_statement(&statement)).await;
        // Nobody executes a text with these values again.
        if let Some(lease) = &mut self.current.lease {
            lease.close_statement(&key);
        }
        ran
    }

    pub(super) fn class_of_body(&self, text: &[u8], lex: LexMode) -> Class {
        let class = classify(text, lex);
        self.class_by_programs(&class, text).unwrap_or(class)
    }

    /// Reads the rows of a cursor, or of a SELECT … INTO.
    pub(super) async fn read_rows(
        &mut self,
        text: &[u8],
        (into, fields): (bool, Option<&Variables<'_>>),
        heeds: bool,
        kept: &mut Kept,
    ) -> Result<Answer, Stopped> {
        let row_count = self.state.latest.row_count;
        let rows = match self.captured(text).await? {
            Reply::Failed(failure) if is_fatal(failure.code) => return Err(failure.into()),
            Reply::Failed(failure) => return Ok(Answer::Failed(raised_of(&failure))),
            Reply::Done => Rows::default(),
            Reply::Rows(table) => match fields {
                Some(variables) => variables.fields(self, &table)?,
                None => table.literals(self.client.capabilities)?,
            },
        };
        let count = rows.rows.len();
        let latest = &mut self.state.latest;
        latest.row_count = row_count;
        if into {
            latest.row_count = i64::try_from(count).unwrap_or(i64::MAX);
            kept.sum += u64::from(count == 1);
        }
        let mut conditions = self.conditions_left(heeds).await?;
        if into && count == 0 {
            let none = Condition {
                level: b"Warning".to_vec(),
                code: b"1329".to_vec(),
                message: b"No data - zero rows fetched, selected, or processed".to_vec(),
                sqlstate: None,
            };
            self.state.latest.warnings += 1;
            self.state.latest.diagnostics = Diagnostics::Learnt(vec![none]);
            conditions.clear();
        }
        Ok(Answer::Rows(rows, conditions))
    }

    /// What the latest statement has warned of, if anybody heeds it.
    async fn conditions_left(&mut self, heeds: bool) -> Result<Vec<Raised>, Stopped> {
        if self.state.latest.warnings == 0 || !heeds && self.identity.mariadb {
            return Ok(Vec::new());
        }
        if self.state.latest.diagnostics == Diagnostics::OnConnection {
            self.learn_what_was_left(true).await?;
        }
        if let Diagnostics::Learnt(conditions) = &mut self.state.latest.diagnostics {
            conditions.retain(|condition| !IN_PARSING.contains(&&condition.code[..]));
            self.state.latest.warnings = u16::try_from(conditions.len()).unwrap_or(u16::MAX);
        }
        match &self.state.latest.diagnostics {
            Diagnostics::Learnt(conditions) if conditions.is_empty() => {
                self.state.latest.diagnostics = Diagnostics::Empty;
                Ok(Vec::new())
            }
            Diagnostics::Learnt(conditions) => Ok(conditions.iter().map(raised_by).collect()),
            _ => Ok(Vec::new()),
        }
    }

    /// Runs a statement whose rows are the client's.
    pub(super) async fn run_one_of_body(
        &mut self,
        asked: &Statement<'_>,
        text: &[u8],
        heeds: bool,
        kept: &mut Kept,
    ) -> Result<Answer, Stopped> {
        // What is still to be sent of replies before would count as this statement's if it were sent meanwhile.
        self.client.flush().await.map_err(|error| Stopped::Ended(error.into()))?;
        self.client.begin_reply(true);
        let (mark, sent) = (self.client.mark(), self.client.sent());
        let failure = match self.run_text_of_body(text, Some(asked)).await {
            Ok(()) => match self.client.take_back_last() {
                Some(packet) if packet.first() == Some(&0xff) => Some(captured::failure(&packet)?),
                Some(_) => {
                    kept.sum += u64::try_from(self.state.latest.row_count).unwrap_or(0);
                    None
                }
                None => {
                    self.client.end_reply(true);
                    None
                }
            },
            Err(Stopped::Refused(failure)) => Some(failure),
            Err(stopped) => return Err(stopped),
        };
        match failure {
            // What is found in reading a text is found when it is prepared.
            None if dynamic::is_prepare(text) => Ok(Answer::Done(self.all_conditions_left().await?)),
            None => Ok(Answer::Done(self.conditions_left(heeds).await?)),
            // A handler could not take back the rows that the client has.
            Some(failure) if is_fatal(failure.code) || self.client.has_put_since(mark, sent) => Err(failure.into()),
            Some(failure) => Ok(Answer::Failed(raised_of(&failure))),
        }
    }

    /// Computes a SELECT of variables, and gives the client its row.
    pub(super) async fn select_beside(
        &mut self,
        asked: &Statement<'_>,
        variables: &mut Variables<'_>,
        statement: &Template,
    ) -> Result<Answer, Stopped> {
        let (text, home) = (variables.select(statement), variables.home());
        let bench = variables.bench();
        let all = running(&bench.parts);
        let parts = &mut bench.parts[..];
        let (execute, parsing) = (bare_execution()?, Rc::new(self.state.profile.parsing()));
        let request = match asked.execution() {
            Some(_) => weir_exec::Request::Execute {
                parsing: &parsing,
                execute: &execute,
                types: None,
                session: self.handle.id,
            },
            None => weir_exec::Request::Text,
        };
        let plan = Read::of_one(home, text, Vec::new(), String::new());
        self.client.begin_capture(MOST_CAPTURED, Excess::Lost);
        let transaction = Some(self.state.own_status());
        let reading = async |session: &ReadContext<'_>, sink: &mut ClientSink<'_>| {
            let session = ReadContext { transaction, ..*session };
            read::run(parts, &plan, &request, &session, sink).await
        };
        let ran = self.run_reading(all, false, reading).await;
        let kept = self.client.end_capture();
        let outcome = ran?;
        let kept = kept.ok_or_else(too_long)?;
        let table = match captured::read(&kept.packets, self.client.capabilities)? {
            Reply::Rows(table) => table,
            Reply::Failed(failure) if is_fatal(failure.code) => return Err(failure.into()),
            Reply::Failed(failure) => return Ok(Answer::Failed(raised_of(&failure))),
            Reply::Done => return Ok(Answer::Done(Vec::new())),
        };
        self.client.begin_reply(true);
        self.put_table(&table)?;
        self.client.end_reply(true);
        let latest = &mut self.state.latest;
        (latest.row_count, latest.found_rows) = (-1, Left::Known(outcome.sent));
        if !self.identity.mariadb {
            (latest.warnings, latest.diagnostics) = (0, Diagnostics::Empty);
        }
        Ok(Answer::Done(Vec::new()))
    }

    /// Puts a result whose columns are those of no table.
    fn put_table(&mut self, table: &captured::Table) -> Result<(), Failure> {
        let (capabilities, status) = (self.client.capabilities, self.state.own_status());
        let count = u8::try_from(table.definitions.len()).ok().filter(|count| *count < 0xfb);
        match count {
            Some(count) => self.client.put(&[count]),
            None => {
                let count = u16::try_from(table.definitions.len()).unwrap_or(u16::MAX);
                self.client.put(&[&[0xfc][..], &count.to_le_bytes()].concat());
            }
        }
        table.without_table()?.iter().for_each(|definition| self.client.put(definition));
        let eof = |status: StatusFlags| [&[0xfe, 0, 0][..], &status.bits().to_le_bytes()].concat();
        let deprecates = capabilities.contains(Capabilities::DEPRECATE_EOF);
        if !deprecates {
            self.client.put(&eof(status));
        }
        table.rows.iter().for_each(|row| self.client.put(row));
        match deprecates {
            true => self.client.put_ok(&OkPacket { header: 0xfe, ..OkPacket::plain(status) }),
            false => self.client.put(&eof(status)),
        }
        Ok(())
    }
}

fn too_long() -> Failure {
    not_supported(format!(
        "A query of a procedure that Weir runs statement by statement has more than {MOST_CAPTURED} bytes of rows"
    ))
}

/// The execution of a statement without parameters.
fn bare_execution() -> Result<Execute<'static>, Failure> {
    // The command, an id, no flags, and one iteration.
    const PACKET: [u8; 10] = [0x17, 0, 0, 0, 0, 0, 1, 0, 0, 0];
    Execute::parse(&PACKET, 0, Capabilities::empty()).map_err(malformed)
}
