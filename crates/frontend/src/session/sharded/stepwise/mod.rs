//! Procedures that Weir runs statement by statement: what drives [`weir_program::Machine`].
//!
//! What must always hold: each statement of the body takes the way of a client's, in the session's transaction and the body's settings
//! (`settings`); what only variables need is computed beside it (`variables`), and leaves nothing with the session. All that can be refused
//! is refused before the first statement runs.

mod captured;
mod depth;
mod diagnostics;
mod dynamic;
mod settings;
mod statements;
mod variables;

use weir_plan::Stepwise;
use weir_program::{Action, Answer, Level, Machine, Raised};
use weir_wire::error::not_supported;
use weir_wire::packets::OkPacket;
use weir_wire::{Capabilities, Failure, Fault};

use super::super::Session;
use super::super::condition::Condition;
use super::super::latest::Diagnostics;
use super::super::relay::ends_statement;
use super::super::statement::Statement;
use super::super::stopped::Stopped;
use super::waiting::failure_told;
use crate::backends::place;
use variables::Variables;

/// MariaDB's note of where in a body an error was.
const PLACE: &[u8] = b"4094";

/// What a CALL keeps while it runs.
#[derive(Default)]
pub(super) struct Kept {
    /// The rows that its statements have changed, as MariaDB counts them.
    pub(super) sum: u64,
    /// The diagnostics of what a handler was begun for, if the body asks for them.
    pub(super) handled: Vec<Raised>,
}

impl Session {
    /// Runs the statements of a procedure, and answers the client.
    pub(super) async fn run_stepwise(&mut self, statement: &Statement<'_>, call: &Stepwise) -> Result<(), Stopped> {
        self.may_run_stepwise(statement)?;
        self.may_run_again(call).await?;
        check_arguments(call)?;
        self.have_multi_shard_permit().await?;
        self.running.push(depth::running(call));
        let ran = self.run_in_body(statement, call).await;
        self.running.pop();
        ran
    }

    async fn run_in_body(&mut self, statement: &Statement<'_>, call: &Stepwise) -> Result<(), Stopped> {
        let before = self.enter_body(call);
        let made = self.make_variables(call).await;
        self.leave_body(&before).await;
        let mut variables = made?;
        let begins = self.client.begin_results();
        let ran = self.run_body(statement, call, &mut variables).await;
        if begins {
            self.client.end_replies();
        }
        variables.drop(self).await;
        ran
    }

    async fn make_variables<'p>(&mut self, call: &'p Stepwise) -> Result<Variables<'p>, Stopped> {
        let bench = self.additional_lease(place(call.home)).await?;
        let mut variables = Variables::new(call, bench);
        variables.check_rights(self).await?;
        variables.make(self).await?;
        Ok(variables)
    }

    /// What the statements of a body could not have as in a procedure.
    fn may_run_stepwise(&self, statement: &Statement<'_>) -> Result<(), Failure> {
        let profile = &self.state.profile;
        let set =
            |name: &str| profile.variable(name).is_some_and(|value| !matches!(value, "0" | "0.000000" | "DEFAULT"));
        let limits = ["max_execution_time", "max_statement_time", "sql_select_limit"];
        let long =
            statement.execution().is_some_and(|execution| execution.long_data || execution.execute.opens_cursor());
        let why = if long {
            "with a cursor, or with values in pieces: send it as text".to_owned()
        } else if !self.client.capabilities.contains(Capabilities::MULTI_RESULTS) {
            "for a client that takes one result only".to_owned()
        } else if self.has_table_locks() {
            "under LOCK TABLES".to_owned()
        } else if let Some(name) = limits.iter().find(|name| set(name)) {
            format!("with {name}, which servers do not apply to statements of procedures")
        } else {
            return Ok(());
        };
        Err(not_supported(format!("CALL of a procedure that Weir runs statement by statement, {why}")))
    }

    async fn run_body(
        &mut self,
        asked: &Statement<'_>,
        call: &Stepwise,
        variables: &mut Variables<'_>,
    ) -> Result<(), Stopped> {
        let mut kept = Kept::default();
        self.take_arguments(call, variables).await?;
        let before = self.enter_body(call);
        let ended = self.run_program(asked, call, variables, &mut kept).await;
        self.leave_body(&before).await;
        if let Err((raised, line)) = ended? {
            return self.body_failed(call, &raised, line);
        }
        self.give_results(call, variables).await?;
        let affected = match self.identity.mariadb {
            true => kept.sum,
            false => u64::try_from(self.state.latest.row_count).unwrap_or(0),
        };
        self.ran.error = None;
        self.state.latest.row_count = i64::try_from(affected).unwrap_or(i64::MAX);
        let warnings = self.state.latest.warnings;
        let ok = OkPacket { affected_rows: affected, warnings, ..OkPacket::plain(self.state.own_status()) };
        self.client.put_ok(&ok);
        Ok(())
    }

    /// Runs the statements to their end. Returns what no handler took, and in which line.
    async fn run_program(
        &mut self,
        asked: &Statement<'_>,
        call: &Stepwise,
        variables: &mut Variables<'_>,
        kept: &mut Kept,
    ) -> Result<Result<(), (Raised, usize)>, Stopped> {
        let mut machine = Machine::new(&call.program);
        loop {
            if ends_statement(&self.handle) {
                return Err(failure_told(&self.handle, Session::interrupted_failure()).into());
            }
            let Some(action) = machine.go_on() else {
                tokio::task::yield_now().await;
                continue;
            };
            if let Some(level) = machine.take_handled() {
                if call.program.gets_diagnostics() {
                    kept.handled = self.all_conditions_left().await?;
                }
                (self.state.latest.diagnostics, self.state.latest.warnings) = (Diagnostics::Empty, 0);
                if level == Level::Error && !self.identity.mariadb {
                    self.state.latest.row_count = -1;
                }
            }
            if let Action::End(ended) = action {
                return Ok(ended.map_err(|raised| (raised, machine.line())));
            }
            let answer = self.act(asked, action, &machine, variables, kept).await?;
            if let Answer::Failed(raised) = &answer {
                self.state.latest.error = Some((raised.code, raised.state));
            }
            machine.answer(answer);
        }
    }

    /// Gives the parameters the values of the arguments.
    async fn take_arguments(&mut self, call: &Stepwise, variables: &mut Variables<'_>) -> Result<(), Stopped> {
        for (place, (parameter, argument)) in call.program.parameters.iter().zip(&call.arguments).enumerate() {
            if !parameter.takes {
                continue;
            }
            let rows = match self.quietly(&[b"SELECT (", &argument[..], b")"].concat()).await? {
                Ok(rows) => rows,
                Err(failure) => return Err(failure.into()),
            };
            let value = rows.rows.front().and_then(|row| row.first()).cloned().unwrap_or_else(|| b"NULL".to_vec());
            if let Err(raised) = variables.set(self, &[place], &value).await? {
                return Err(failure_of(&raised).into());
            }
        }
        Ok(())
    }

    /// Gives user variables the values of parameters that go out.
    async fn give_results(&mut self, call: &Stepwise, variables: &mut Variables<'_>) -> Result<(), Stopped> {
        for (place, (parameter, argument)) in call.program.parameters.iter().zip(&call.arguments).enumerate() {
            if parameter.gives {
                let value = variables.value(self, place).await?;
                let text = [b"SET ", &argument[..], b" = ", &value].concat();
                if let Err(failure) = self.quietly(&text).await? {
                    return Err(failure.into());
                }
            }
        }
        Ok(())
    }

    /// Tells the client how the body has failed. MariaDB notes where.
    fn body_failed(&mut self, call: &Stepwise, raised: &Raised, line: usize) -> Result<(), Stopped> {
        let within = self.notes_beside(raised);
        self.refuse(&failure_of(raised));
        if self.identity.mariadb
            && let Diagnostics::Learnt(conditions) = &mut self.state.latest.diagnostics
        {
            let note = Condition::note(&format!("At line {line} in {}.{}", call.database, call.name));
            conditions.extend(within);
            conditions.push(Condition { code: PLACE.to_vec(), ..note });
            self.state.latest.warnings = u16::try_from(conditions.len()).unwrap_or(u16::MAX);
        }
        if !self.identity.mariadb {
            self.note_not_run_again(call, raised);
        }
        Ok(())
    }

    /// Where a procedure that the body has called has failed, if the body fails with the same error.
    fn notes_beside(&self, raised: &Raised) -> Vec<Condition> {
        let Diagnostics::Learnt(conditions) = &self.state.latest.diagnostics else { return Vec::new() };
        let code = raised.code.to_string();
        match &conditions[..] {
            [first, notes @ ..] if first.code == code.as_bytes() && first.message == raised.message.as_bytes() => {
                notes.iter().filter(|note| note.code == PLACE).cloned().collect()
            }
            _ => Vec::new(),
        }
    }

    /// Does what the machine wants.
    async fn act(
        &mut self,
        asked: &Statement<'_>,
        action: Action<'_>,
        machine: &Machine<'_>,
        variables: &mut Variables<'_>,
        kept: &mut Kept,
    ) -> Result<Answer, Stopped> {
        let heeds = machine.heeds_warnings();
        if let Some(raised) = action.text().and_then(|text| variables.without_field(text)) {
            return Ok(Answer::Failed(raised));
        }
        Ok(match action {
            Action::Set(to, None) => {
                let set = variables.set(self, to, b"NULL").await?;
                self.stored(set)
            }
            Action::Set(to, Some(value)) if value.beside => {
                let text = [b"(", &variables.over_columns(value)[..], b")"].concat();
                let set = variables.set(self, to, &text).await?;
                self.stored(set)
            }
            Action::Set(to, Some(value)) => match self.computed(variables, value, b"").await? {
                Ok((value, mut warned)) => {
                    if let Some(raised) = variables.error_of_strict_mode(&warned) {
                        return Ok(Answer::Failed(raised));
                    }
                    let values = vec![value; to.len()];
                    let set = variables.store(self, to, &values).await?;
                    match self.stored(set) {
                        Answer::Done(conditions) => {
                            warned.extend(conditions);
                            Answer::Done(warned)
                        }
                        failed => failed,
                    }
                }
                Err(raised) => Answer::Failed(raised),
            },
            Action::Store(to, values) => {
                let set = variables.store(self, to, &values).await?;
                self.stored(set)
            }
            Action::Test(condition) if condition.beside => {
                let text = variables.over_columns(condition);
                match variables.test(self, &text).await? {
                    Ok((truth, conditions)) => {
                        if self.identity.mariadb {
                            self.note_warned(&conditions);
                        }
                        Answer::Truth(truth, conditions)
                    }
                    Err(raised) => Answer::Failed(raised),
                }
            }
            Action::Test(condition) => match self.computed(variables, condition, b"IF").await? {
                Ok((value, conditions)) => {
                    self.note_warned(&conditions);
                    Answer::Truth(value == b"1", conditions)
                }
                Err(raised) => Answer::Failed(raised),
            },
            Action::Message(value) if value.beside => {
                let text = variables.over_columns(value);
                match variables.message(self, &text).await? {
                    Ok(message) => Answer::Message(message),
                    Err(raised) => Answer::Failed(raised),
                }
            }
            Action::Message(value) => match self.computed(variables, value, b"").await? {
                Ok((value, _)) => match variables.message(self, &value).await? {
                    Ok(message) => Answer::Message(message),
                    Err(raised) => Answer::Failed(raised),
                },
                Err(raised) => Answer::Failed(raised),
            },
            Action::Read { query, into, by_row } => {
                let text = variables.rendered(self, query).await?;
                let fields = by_row.then_some(&*variables);
                let sum = kept.sum;
                let answer = self.read_rows(&text, (into, fields), heeds || into, kept).await?;
                let failed = match &answer {
                    Answer::Rows(_, warned) if into => variables.error_of_strict_mode(warned),
                    _ => None,
                };
                if failed.is_some() {
                    kept.sum = sum;
                }
                failed.map_or(answer, Answer::Failed)
            }
            Action::StoreRow(fields, names, values) => {
                variables.store_row(fields, &names, values);
                Answer::Done(Vec::new())
            }
            Action::Run(statement) if statement.beside => self.select_beside(asked, variables, statement).await?,
            Action::Run(statement) => {
                let text = variables.rendered(self, statement).await?;
                let answer = self.run_one_of_body(asked, &text, heeds, kept).await?;
                variables.row = u64::try_from(self.state.latest.row_count).unwrap_or(0) + 1;
                answer
            }
            Action::Diagnostics(get, raised) => self.give_diagnostics(get, raised, variables, kept).await?,
            Action::End(_) => Answer::Done(Vec::new()),
        })
    }

    /// Conditions that an expression has left, if any.
    fn note_warned(&mut self, conditions: &[Raised]) {
        if conditions.is_empty() {
            return;
        }
        let latest = &mut self.state.latest;
        latest.warnings = u16::try_from(conditions.len()).unwrap_or(u16::MAX);
        latest.diagnostics = Diagnostics::Learnt(conditions.iter().map(condition_of).collect());
    }

    /// What came of giving variables values: servers keep what they warn of as they do for statements.
    fn stored(&mut self, asked: Result<((), Vec<Raised>), Raised>) -> Answer {
        match asked {
            Err(raised) => Answer::Failed(raised),
            Ok(((), conditions)) => {
                if !conditions.is_empty() || !self.identity.mariadb {
                    let latest = &mut self.state.latest;
                    latest.warnings = u16::try_from(conditions.len()).unwrap_or(u16::MAX);
                    latest.diagnostics = match conditions.is_empty() {
                        true => Diagnostics::Empty,
                        false => Diagnostics::Learnt(conditions.iter().map(condition_of).collect()),
                    };
                }
                Answer::Done(conditions)
            }
        }
    }
}

/// The numbers and kinds of arguments, as servers check them.
fn check_arguments(call: &Stepwise) -> Result<(), Failure> {
    let (expected, got) = (call.program.parameters.len(), call.arguments.len());
    let name = format!("{}.{}", call.database, call.name);
    if expected != got {
        let message = format!("Incorrect number of arguments for PROCEDURE {name}; expected {expected}, got {got}");
        return Err(Failure::new(Fault::Client, 1318, b"42000", message));
    }
    for (place, (parameter, argument)) in call.program.parameters.iter().zip(&call.arguments).enumerate() {
        let user_variable = argument.starts_with(b"@") && !argument.starts_with(b"@@");
        if parameter.gives && !user_variable {
            let message = format!(
                "OUT or INOUT argument {} for routine {name} is not a variable or NEW pseudo-variable in BEFORE trigger",
                place + 1
            );
            return Err(Failure::new(Fault::Client, 1414, b"42000", message));
        }
    }
    Ok(())
}

fn failure_of(raised: &Raised) -> Failure {
    Failure::new(Fault::Server, raised.code, &raised.state, raised.message.clone()).maybe_done()
}

pub(super) fn raised_of(failure: &Failure) -> Raised {
    Raised::error(failure.code, &failure.sqlstate, failure.message.clone())
}

fn condition_of(raised: &Raised) -> Condition {
    let level = match raised.level {
        weir_program::Level::Error => "Error",
        weir_program::Level::Warning => "Warning",
        weir_program::Level::Note => "Note",
    };
    Condition {
        level: level.into(),
        code: raised.code.to_string().into_bytes(),
        message: raised.message.clone().into_bytes(),
        sqlstate: None,
    }
}
