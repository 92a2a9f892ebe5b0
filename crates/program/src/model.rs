//! What a compiled procedure consists of.
//!
//! What must always hold: all places that steps name are there.

use crate::condition::Class;
use crate::template::{Role, Template};

/// A compiled procedure.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// Its variables; the parameters come first.
    pub variables: Vec<Variable>,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// Whose rights it runs with.
    pub security: Security,
    /// The rows of FOR loops: the fields that the body names, in lower case, each with its variable.
    pub rows: Vec<Vec<(String, usize)>>,
    pub(crate) steps: Vec<Step>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) handlers: Vec<Handler>,
    pub(crate) cursors: Vec<Template>,
}

/// GET DIAGNOSTICS about what a handler is handling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetDiagnostics {
    /// What is asked, in order.
    pub items: Vec<DiagnosticsItem>,
    /// Where the values go, in the same order.
    pub to: Targets,
}

/// What GET DIAGNOSTICS may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiagnosticsItem {
    /// `NUMBER`: how many conditions there are.
    Number,
    /// `ROW_COUNT`.
    RowCount,
    /// `RETURNED_SQLSTATE` of the first condition.
    State,
    /// `MYSQL_ERRNO` of it.
    Code,
    /// `MESSAGE_TEXT` of it.
    Message,
}

/// Where values go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Targets {
    /// To these variables of the procedure.
    Variables(Vec<usize>),
    /// To user variables, as they are written.
    User(Vec<Vec<u8>>),
}

impl Program {
    /// Whether it asks what a handler is handling.
    pub fn gets_diagnostics(&self) -> bool {
        self.steps.iter().any(|step| matches!(step.what, What::Diagnostics(_)))
    }

    /// Whether the rows of a cursor are those of a FOR loop.
    pub(crate) fn is_by_row(&self, cursor: usize) -> bool {
        self.steps.iter().any(|step| matches!(step.what, What::FetchRow(of, _) if of == cursor))
    }

    /// All texts of the body.
    pub fn texts_mut(&mut self) -> impl Iterator<Item = (Role, &mut Template)> {
        let queries = self.cursors.iter_mut().map(|query| (Role::Query, query));
        self.steps.iter_mut().filter_map(Step::text_mut).chain(queries)
    }
}

/// Whose rights a procedure runs with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Security {
    /// The caller's.
    Invoker,
    /// Those of this account, as `user@host`.
    Definer(Vec<u8>),
}

/// A variable or a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name, as it is declared.
    pub name: String,
    /// The name of the column that keeps its value: its own, but for a variable that hides another one or is hidden.
    pub column: String,
    /// Its type, as it is declared.
    pub data_type: String,
    /// What its values are.
    pub kind: Kind,
    /// It is never NULL.
    pub required: bool,
}

/// What the values of a type are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Integers.
    Integer,
    /// Exact numbers.
    Decimal,
    /// Approximate numbers.
    Double,
    /// Characters, of the database's character set.
    Text,
    /// Bytes.
    Binary,
    /// Bits.
    Bits,
    /// JSON of a type of its own.
    Json,
    /// Days.
    Date,
    /// Days with a time.
    DateTime,
    /// Times.
    Time,
    /// Of the type that a query gives them: a field of a FOR loop's row, which no column keeps.
    Field,
}

/// Which way a parameter goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// It has the argument's value.
    pub takes: bool,
    /// The argument gets its value.
    pub gives: bool,
}

/// A step, with the block that it is in and where a CONTINUE handler goes on after it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Step {
    pub(crate) what: What,
    pub(crate) block: usize,
    pub(crate) behind: usize,
    /// The line of the procedure's text where it ends.
    pub(crate) line: usize,
    /// The handlers of its block are not there yet.
    pub(crate) early: bool,
}

impl Step {
    fn text_mut(&mut self) -> Option<(Role, &mut Template)> {
        match &mut self.what {
            What::Set(_, Some(value)) => Some((Role::Expression, value)),
            What::Test(condition, _) => Some((Role::Expression, condition)),
            What::Signal(Signal { message: Some(message), .. }) => Some((Role::Expression, message)),
            What::Run(statement) => Some((Role::Statement, statement)),
            What::Into(query, _) => Some((Role::Query, query)),
            _ => None,
        }
    }
}

/// What a step does.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum What {
    /// A block begins: its cursors are closed.
    Enter,
    /// Variables get a value; `None`: NULL.
    Set(Vec<usize>, Option<Template>),
    /// Statements that a client could send.
    Run(Template),
    /// SELECT … INTO variables.
    Into(Template, Vec<usize>),
    /// If it is not true, the steps go on elsewhere.
    Test(Template, usize),
    Jump(usize),
    Open(usize),
    Fetch(usize, Vec<usize>),
    Close(usize),
    /// The next row of a cursor becomes a FOR loop's.
    FetchRow(usize, usize),
    /// If the cursor had no more rows, the steps go on elsewhere.
    Found(usize, usize),
    /// An error or a warning is raised, with a message that is computed.
    Signal(Signal),
    /// The condition at hand is raised again.
    Resignal,
    /// The condition at hand is asked for.
    Diagnostics(GetDiagnostics),
    /// The end of a handler's statement.
    HandlerEnd,
    /// No WHEN of a CASE was true.
    NoCase,
    End,
}

/// What SIGNAL raises.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Signal {
    pub(crate) state: [u8; 5],
    pub(crate) code: Option<u16>,
    pub(crate) message: Option<Template>,
}

/// BEGIN … END, or the surroundings of a handler's statement.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Block {
    pub(crate) parent: Option<usize>,
    /// It is around a handler's statement: the handlers of its parent are not for what it raises.
    pub(crate) of_handler: bool,
    pub(crate) handlers: Vec<usize>,
    pub(crate) cursors: Vec<usize>,
}

/// A handler.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Handler {
    pub(crate) exit: bool,
    pub(crate) classes: Vec<Class>,
    /// The block that declares it.
    pub(crate) block: usize,
    /// Its first step.
    pub(crate) at: usize,
    /// The first step behind its block.
    pub(crate) behind_block: usize,
}
