//! Going through the steps of a procedure.
//!
//! What must always hold: each action but the last is answered once, before the next one is asked for.

use std::collections::VecDeque;

use crate::condition::{Level, Raised};
use crate::model::{GetDiagnostics, Program, Signal, What};
use crate::template::Template;

/// What has to be done next.
#[derive(Debug, PartialEq)]
pub enum Action<'p> {
    /// Gives variables a value, one after the other; `None`: NULL.
    Set(&'p [usize], Option<&'p Template>),
    /// Finds out whether an expression is true: [`Answer::Truth`].
    Test(&'p Template),
    /// Runs a statement; its rows are the client's.
    Run(&'p Template),
    /// Reads the rows of a query, for a cursor or INTO (`into`): [`Answer::Rows`].
    Read {
        /// The query.
        query: &'p Template,
        /// It is a SELECT … INTO.
        into: bool,
        /// Its rows are those of a FOR loop.
        by_row: bool,
    },
    /// Gives the fields of a FOR loop's row the values of the columns of these names.
    StoreRow(&'p [(String, usize)], Vec<String>, Vec<Vec<u8>>),
    /// Gives variables the values of a row, one after the other.
    Store(&'p [usize], Vec<Vec<u8>>),
    /// Computes a message: [`Answer::Message`].
    Message(&'p Template),
    /// Gives what is asked of the condition that is being handled.
    Diagnostics(&'p GetDiagnostics, Raised),
    /// The procedure has ended.
    End(Result<(), Raised>),
}

impl<'p> Action<'p> {
    /// The text of the body that it is about.
    pub fn text(&self) -> Option<&'p Template> {
        match self {
            Action::Set(_, value) => *value,
            Action::Test(text) | Action::Run(text) | Action::Message(text) | Action::Read { query: text, .. } => {
                Some(text)
            }
            Action::Store(..) | Action::StoreRow(..) | Action::Diagnostics(..) | Action::End(_) => None,
        }
    }
}

/// What has come of an action.
#[derive(Debug)]
pub enum Answer {
    /// It is done, and has left these conditions.
    Done(Vec<Raised>),
    /// It is true or not.
    Truth(bool, Vec<Raised>),
    /// The rows.
    Rows(Rows, Vec<Raised>),
    /// The message.
    Message(String),
    /// It has failed.
    Failed(Raised),
}

/// Rows that were read, each value as a literal.
#[derive(Debug, Default, PartialEq)]
pub struct Rows {
    /// How many columns they have.
    pub columns: usize,
    /// The names of the columns, if somebody wants them.
    pub names: Vec<String>,
    /// The rows.
    pub rows: VecDeque<Vec<Vec<u8>>>,
}

/// A handler's statement that runs.
#[derive(Debug)]
struct Handling {
    raised: Raised,
    /// Where it goes on behind it.
    behind: usize,
    /// So many handlers' statements go on then.
    keeps: usize,
}

/// What a step still has to do when its action is done.
#[derive(Debug, Default)]
enum Then {
    /// Nothing.
    #[default]
    Next,
    /// This is raised.
    Raise(Raised),
}

/// See the module.
#[derive(Debug)]
pub struct Machine<'p> {
    program: &'p Program,
    at: usize,
    handling: Vec<Handling>,
    /// How many handlers' statements ran when each block began.
    entered: Vec<usize>,
    cursors: Vec<Option<Rows>>,
    /// Whether the cursor's last row was the last one, for FOR loops.
    no_more: Vec<bool>,
    /// The rows of a SELECT … INTO have come.
    found: Option<Rows>,
    then: Then,
    ended: Option<Result<(), Raised>>,
    /// What a handler has begun for since somebody asked.
    handled: Option<Level>,
}

impl<'p> Machine<'p> {
    /// At the first step.
    pub fn new(program: &'p Program) -> Machine<'p> {
        let cursors = program.cursors.iter().map(|_| None).collect();
        let no_more = vec![false; program.cursors.len()];
        Machine {
            program,
            at: 0,
            handling: Vec::new(),
            entered: vec![0; program.blocks.len()],
            cursors,
            no_more,
            found: None,
            then: Then::Next,
            ended: None,
            handled: None,
        }
    }

    /// What comes next. `None`: many steps were taken and none of them needs anybody: ask again.
    pub fn go_on(&mut self) -> Option<Action<'p>> {
        /// Steps at once, so that an endless loop can be ended.
        const AT_ONCE: usize = 1000;
        for _ in 0..AT_ONCE {
            if let Some(ended) = &self.ended {
                return Some(Action::End(ended.clone()));
            }
            if let Some(action) = self.step() {
                return Some(action);
            }
        }
        None
    }

    fn step(&mut self) -> Option<Action<'p>> {
        let program = self.program;
        let step = &program.steps[self.at];
        match &step.what {
            What::Enter => {
                program.blocks[step.block].cursors.iter().for_each(|cursor| self.cursors[*cursor] = None);
                self.entered[step.block] = self.handling.len();
                self.at += 1;
            }
            What::Set(variables, value) => return Some(Action::Set(variables, value.as_ref())),
            What::Run(statement) => return Some(Action::Run(statement)),
            What::Test(condition, _) => return Some(Action::Test(condition)),
            What::Into(query, variables) => return self.into(query, variables),
            What::Open(cursor) if self.cursors[*cursor].is_some() => {
                self.raise(Raised::error(1325, b"24000", "Cursor is already open"));
            }
            What::Open(cursor) => {
                let (query, by_row) = (&program.cursors[*cursor], program.is_by_row(*cursor));
                return Some(Action::Read { query, into: false, by_row });
            }
            What::FetchRow(cursor, row) => return self.fetch_row(*cursor, *row),
            What::Found(cursor, otherwise) => match (&self.cursors[*cursor], self.no_more[*cursor]) {
                (None, _) => self.raise(not_open()),
                (Some(_), true) => self.at = *otherwise,
                (Some(_), false) => self.at += 1,
            },
            What::Fetch(cursor, variables) => return self.fetch(*cursor, variables),
            What::Close(cursor) => match self.cursors[*cursor].take() {
                Some(_) => self.at += 1,
                None => self.raise(not_open()),
            },
            What::Signal(Signal { message: Some(message), .. }) => return Some(Action::Message(message)),
            What::Signal(signal) => self.signal(signal, unhandled_message(&signal.state)),
            What::Resignal => match self.handling.last().map(|handling| handling.raised.clone()) {
                Some(raised) => self.raise(raised),
                None => self.raise(Raised::error(1645, b"0K000", "RESIGNAL when handler not active")),
            },
            What::Diagnostics(get) => match self.handling.last() {
                Some(handling) => return Some(Action::Diagnostics(get, handling.raised.clone())),
                // The compiler lets it stand in handlers only.
                None => self.at += 1,
            },
            What::Jump(to) => self.at = *to,
            What::HandlerEnd => {
                if let Some(handling) = self.handling.pop() {
                    self.at = handling.behind;
                    self.handling.truncate(handling.keeps);
                }
            }
            What::NoCase => self.raise(Raised::error(1339, b"20000", "Case not found for CASE statement")),
            What::End => self.ended = Some(Ok(())),
        }
        None
    }

    /// A SELECT … INTO: asks for its rows, then stores the first one.
    fn into(&mut self, query: &'p Template, variables: &'p [usize]) -> Option<Action<'p>> {
        let Some(mut found) = self.found.take() else { return Some(Action::Read { query, into: true, by_row: false }) };
        if found.columns != variables.len() {
            self.raise(Raised::error(1222, b"21000", "The used SELECT statements have a different number of columns"));
            return None;
        }
        match found.rows.pop_front() {
            None => {
                self.warned(&[Raised::no_data(Level::Warning)]);
                None
            }
            Some(row) => {
                if !found.rows.is_empty() {
                    self.then = Then::Raise(Raised::error(1172, b"42000", "Result consisted of more than one row"));
                }
                Some(Action::Store(variables, row))
            }
        }
    }

    fn fetch(&mut self, cursor: usize, variables: &'p [usize]) -> Option<Action<'p>> {
        let failed = match &mut self.cursors[cursor] {
            None => not_open(),
            Some(rows) if rows.columns != variables.len() => {
                Raised::error(1328, b"HY000", "Incorrect number of FETCH variables")
            }
            Some(rows) => match rows.rows.pop_front() {
                Some(row) => return Some(Action::Store(variables, row)),
                None => Raised::no_data(Level::Error),
            },
        };
        self.raise(failed);
        None
    }

    /// The end of the rows is nothing that handlers are for.
    fn fetch_row(&mut self, cursor: usize, row: usize) -> Option<Action<'p>> {
        let Some(rows) = &mut self.cursors[cursor] else {
            self.raise(not_open());
            return None;
        };
        let next = rows.rows.pop_front();
        self.no_more[cursor] = next.is_none();
        match next {
            Some(values) => Some(Action::StoreRow(&self.program.rows[row], rows.names.clone(), values)),
            None => {
                self.at += 1;
                None
            }
        }
    }

    fn signal(&mut self, signal: &Signal, message: String) {
        let warning = signal.state.starts_with(b"01");
        let (level, code) = match &signal.state {
            [b'0', b'1', ..] => (Level::Warning, 1642),
            [b'0', b'2', ..] => (Level::Error, 1643),
            _ => (Level::Error, 1644),
        };
        let raised = Raised { level, code: signal.code.unwrap_or(code), state: signal.state, message };
        if warning {
            self.warned(&[raised]);
        } else {
            self.raise(raised);
        }
    }

    /// What has come of the latest action.
    pub fn answer(&mut self, answer: Answer) {
        let step = &self.program.steps[self.at];
        match (answer, &step.what) {
            (Answer::Failed(raised), _) => {
                self.then = Then::Next;
                self.raise(raised);
            }
            (Answer::Truth(false, conditions), What::Test(_, otherwise)) => {
                let otherwise = *otherwise;
                if !self.warned(&conditions) {
                    self.at = otherwise;
                }
            }
            (Answer::Rows(rows, _), What::Into(..)) => self.found = Some(rows),
            (Answer::Rows(rows, conditions), What::Open(cursor)) => {
                self.cursors[*cursor] = Some(rows);
                self.warned(&conditions);
            }
            (Answer::Message(message), What::Signal(signal)) => self.signal(signal, message),
            (Answer::Done(conditions) | Answer::Truth(_, conditions) | Answer::Rows(_, conditions), _) => {
                match std::mem::take(&mut self.then) {
                    Then::Next => {
                        self.warned(&conditions);
                    }
                    Then::Raise(raised) => self.raise(raised),
                }
            }
            (Answer::Message(_), _) => self.at += 1,
        }
    }

    /// A step has been taken: the handler of the last condition that has one runs, else the next step. Returns whether a handler runs.
    fn warned(&mut self, conditions: &[Raised]) -> bool {
        let handled = conditions.iter().rev().find_map(|raised| Some((self.handler(raised)?, raised)));
        match handled {
            Some((handler, raised)) => self.handle(handler, raised.clone(), self.program.steps[self.at].behind),
            None => self.at += 1,
        }
        handled.is_some()
    }

    /// A step has failed.
    fn raise(&mut self, raised: Raised) {
        match self.handler(&raised) {
            Some(handler) => self.handle(handler, raised, self.program.steps[self.at].behind),
            None => self.ended = Some(Err(raised)),
        }
    }

    fn handle(&mut self, handler: usize, raised: Raised, behind: usize) {
        let handler = &self.program.handlers[handler];
        let (behind, keeps) = match handler.exit {
            true => (handler.behind_block, self.entered[handler.block]),
            false => (behind, self.handling.len()),
        };
        self.handled = Some(raised.level);
        self.handling.push(Handling { raised, behind, keeps });
        self.at = handler.at;
    }

    /// The handler of a condition that the step at hand raises.
    fn handler(&self, raised: &Raised) -> Option<usize> {
        let mut block = Some(self.program.steps[self.at].block);
        while let Some(at) = block {
            let here = &self.program.blocks[at];
            let fits = |handler: &usize| {
                let classes = &self.program.handlers[*handler].classes;
                classes.iter().filter_map(|class| class.fits(raised)).max().map(|close| (close, *handler))
            };
            // Of several that are as close, the first one counts.
            let found =
                here.handlers.iter().filter_map(fits).reduce(|best, next| if next.0 > best.0 { next } else { best });
            if let Some((_, handler)) = found {
                // Servers look no further for a handler than where it is declared, though it is not in force.
                let step = &self.program.steps[self.at];
                return Some(handler).filter(|_| !(step.early && step.block == at));
            }
            let around = if here.of_handler {
                here.parent.and_then(|declared| self.program.blocks[declared].parent)
            } else {
                here.parent
            };
            block = around;
        }
        None
    }

    /// What a handler has begun for since this was last asked: it is no longer among the diagnostics.
    pub fn take_handled(&mut self) -> Option<Level> {
        self.handled.take()
    }

    /// The line of the procedure's text that has raised what it has ended with.
    pub fn line(&self) -> usize {
        self.program.steps[self.at].line
    }

    /// Whether something of the procedure handles conditions, so that it has to be told of those that are no errors.
    pub fn heeds_warnings(&self) -> bool {
        !self.program.handlers.is_empty()
    }
}

fn not_open() -> Raised {
    Raised::error(1326, b"24000", "Cursor is not open")
}

fn unhandled_message(state: &[u8; 5]) -> String {
    let kind = match state {
        [b'0', b'1', ..] => "warning",
        [b'0', b'2', ..] => "not found",
        _ => "exception",
    };
    format!("Unhandled user-defined {kind} condition")
}
