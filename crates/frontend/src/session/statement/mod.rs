//! The way of a statement, the same for a text (COM_QUERY), an execution (COM_STMT_EXECUTE) and an EXECUTE … USING by SQL:
//!
//! 1. [`admit`]: rules and read-only mode let it run, wait, run elsewhere or with another text;
//! 2. [`Statement`]: it is read and classified once, and carried by reference to its end;
//! 3. [`decide`]: a pure function says its [`Course`](decide::Course): answered here, run by one server, or by several shards;
//! 4. [`run`]: the course is run: by Weir itself ([`answer`]), on a lane or the session's connection ([`server`]), or by
//!    [`super::sharded`] on several shards;
//! 5. [`residue`]: what the statement has left becomes the session's.
//!
//! A text of several statements is either one statement on this way or, from the beginning ([`multi_statement`]), several.
//!
//! What must always hold: no stage is entered twice for one statement, and a stage that fails ends the way: what the client is told is
//! put out in one place, where the command began. What is planned again (a write whose values have become literals, a statement that has
//! left the batch of its row) has not run before.

pub(in crate::session) mod admit;
mod answer;
pub(in crate::session) mod decide;
mod globals;
mod hinted;
mod hot_row;
mod insert_id;
pub(in crate::session) mod lane;
mod multi_statement;
mod own_transactions;
pub(in crate::session) mod place;
pub(in crate::session) mod prepared;
mod residue;
mod run;
mod server;
pub(in crate::session) mod sql_prepare;
mod state_functions;
mod text;

use std::cell::OnceCell;
use std::rc::Rc;
use std::time::Instant;

use weir_backend::prepared::{Execution as ExecutionThere, StatementKey};
use weir_catalog::Constant;
use weir_exec::Request;
use weir_sql::hot_row::HotText;
use weir_sql::{Bump, Class, Digest, LexMode, Parsed, RoutingHint, SyntaxError};
use weir_wire::stmt::Execute;

/// A statement on its way.
pub(in crate::session) struct Statement<'a> {
    /// Its text.
    pub(in crate::session) text: &'a [u8],
    /// What it reads, changes and leaves.
    pub(in crate::session) class: &'a Class,
    /// Where it wants to run: its own hint, or a rule's.
    pub(in crate::session) hint: Option<RoutingHint>,
    /// How the client has sent it.
    pub(in crate::session) form: Form<'a>,
    mode: LexMode,
    arena: &'a Bump,
    parsed: OnceCell<Result<Parsed<'a>, SyntaxError>>,
}

/// How a statement was sent.
#[derive(Clone, Copy)]
pub(in crate::session) enum Form<'a> {
    /// As a text.
    Text(Text<'a>),
    /// As the execution of a prepared statement.
    Prepared(Execution<'a>),
    /// As EXECUTE … USING of a text that the session keeps: the values of its parameters are user variables.
    SqlPrepared(&'a Values),
    /// Its values have been resolved, and stand in its text, which no client has sent.
    Resolved,
}

/// A text, in its command.
#[derive(Clone, Copy)]
pub(in crate::session) struct Text<'a> {
    /// What stands before the text in the command's payload.
    pub(in crate::session) head: &'a [u8],
    /// The payload, if the text is still the client's.
    pub(in crate::session) command: Option<&'a [u8]>,
    /// By what its runs are counted, if it may ride lanes.
    rides: Option<Digest>,
    /// The same text as one that may ride in a batch, if it is one.
    hot: Option<&'a HotText>,
}

/// A text that takes the place of a statement's own, with the key under which it is prepared if the statement is.
struct NewText {
    text: Vec<u8>,
    key: Option<Rc<StatementKey>>,
}

/// An execution of a prepared statement.
#[derive(Clone, Copy)]
pub(in crate::session) struct Execution<'a> {
    /// The client's id of the statement.
    pub(in crate::session) id: u32,
    pub(in crate::session) key: &'a Rc<StatementKey>,
    /// As the client has sent it.
    pub(in crate::session) execute: &'a Execute<'a>,
    /// The same without a cursor: over several shards, and with a text of Weir's own, Weir keeps the rows.
    pub(in crate::session) uncursored: &'a Execute<'a>,
    /// The types of its parameters.
    pub(in crate::session) types: Option<&'a Rc<[u8]>>,
    /// The types of some parameters are not known.
    pub(in crate::session) untyped: bool,
    pub(in crate::session) params: u16,
    /// The session.
    pub(in crate::session) session: u32,
    /// When the client has prepared it.
    pub(in crate::session) since: Instant,
    /// Values of parameters have been sent in pieces: they are not in the execution.
    pub(in crate::session) long_data: bool,
    /// The digest of the text, if the execution may ride lanes.
    pub(in crate::session) rides: Option<u128>,
    /// The text, if it may ride in a batch, and the hash of what it says of its row.
    hot: Option<(&'a HotText, u64)>,
    /// The client's packet.
    pub(in crate::session) packet: &'a [u8],
}

impl<'a> Execution<'a> {
    /// As a connection to a server takes it.
    pub(in crate::session) fn on_server(&self, retypes: bool) -> ExecutionThere<'a> {
        let Execution { key, execute, types, untyped, session, since, .. } = *self;
        ExecutionThere { key, execute, types, untyped, session, since, retypes }
    }
}

impl<'a> Statement<'a> {
    /// A statement of this class. Its text is parsed when something first asks for that, into `arena`.
    pub(in crate::session) fn new(
        arena: &'a Bump,
        text: &'a [u8],
        class: &'a Class,
        mode: LexMode,
        form: Form<'a>,
    ) -> Statement<'a> {
        Statement { text, class, hint: None, form, mode, arena, parsed: OnceCell::new() }
    }

    /// The same, to run where `hint` says.
    pub(in crate::session) fn hinted(self, hint: Option<RoutingHint>) -> Statement<'a> {
        Statement { hint, ..self }
    }

    /// The same statement with another text, in which the values that the client has not written stand.
    pub(in crate::session) fn resolved<'b>(&self, text: &'b [u8]) -> Statement<'b>
    where
        'a: 'b,
    {
        self.with(text, Form::Resolved)
    }

    /// The same statement with a text of Weir's own.
    fn changed<'b>(&self, new: &'b NewText) -> Statement<'b>
    where
        'a: 'b,
    {
        let form = match (self.form, &new.key) {
            (Form::Text(text), _) => Form::Text(Text { command: None, ..text }),
            (Form::Prepared(execution), Some(key)) => {
                Form::Prepared(Execution { key, execute: execution.uncursored, ..execution })
            }
            (form, _) => form,
        };
        self.with(&new.text, form)
    }

    /// The same statement with another text, in this form.
    fn with<'b>(&self, text: &'b [u8], form: Form<'b>) -> Statement<'b>
    where
        'a: 'b,
    {
        let Statement { class, hint, mode, arena, .. } = *self;
        Statement { text, class, hint, form, mode, arena, parsed: OnceCell::new() }
    }

    /// Its statements, as the servers that it is for read them.
    ///
    /// # Errors
    /// It can't be read.
    pub(in crate::session) fn parsed(&self) -> Result<&Parsed<'a>, &SyntaxError> {
        self.parsed.get_or_init(|| weir_sql::parse(self.arena, self.text, self.mode)).as_ref()
    }

    /// The only statement of its text, if it has one.
    pub(in crate::session) fn only(&self) -> Option<&'a weir_sql::ast::Statement<'a>> {
        match self.parsed().ok()?.statements {
            [statement] => Some(statement),
            _ => None,
        }
    }

    /// How it is read.
    pub(in crate::session) fn mode(&self) -> LexMode {
        self.mode
    }

    /// Its execution, if it is prepared.
    pub(in crate::session) fn execution(&self) -> Option<&Execution<'a>> {
        match &self.form {
            Form::Prepared(execution) => Some(execution),
            _ => None,
        }
    }

    /// The values of its parameters, if it was prepared by SQL.
    pub(in crate::session) fn values(&self) -> Option<&'a Values> {
        match self.form {
            Form::SqlPrepared(values) => Some(values),
            _ => None,
        }
    }

    /// How many parameters it has.
    pub(in crate::session) fn parameters(&self) -> u16 {
        match self.form {
            Form::Prepared(execution) => execution.params,
            Form::SqlPrepared(values) => u16::try_from(values.names.len()).unwrap_or(u16::MAX),
            Form::Text(_) | Form::Resolved => 0,
        }
    }

    /// Whether its rows are to wait until they are fetched.
    pub(in crate::session) fn opens_cursor(&self) -> bool {
        self.execution().is_some_and(|execution| execution.execute.opens_cursor())
    }

    /// The form of another text without parameters, whose rows are to come as those of this statement.
    pub(in crate::session) fn form_of<'b>(&self, key: &'b Rc<StatementKey>, execute: &'b Execute<'b>) -> Form<'b> {
        match self.form {
            Form::Prepared(Execution { id, session, since, .. }) => Form::Prepared(Execution {
                id,
                key,
                execute,
                uncursored: execute,
                types: None,
                untyped: false,
                params: 0,
                session,
                since,
                long_data: false,
                rides: None,
                hot: None,
                packet: &[],
            }),
            _ => Form::Resolved,
        }
    }

    /// As shards are asked it.
    pub(in crate::session) fn request(&self) -> Request<'a> {
        match self.form {
            Form::Text(_) | Form::Resolved => Request::Text,
            Form::SqlPrepared(values) => {
                Request::SqlPrepared { variables: &values.names, backslashes: !self.mode.no_backslash_escapes }
            }
            Form::Prepared(Execution { key, uncursored, types, session, .. }) => {
                Request::Execute { parsing: &key.parsing, execute: uncursored, types, session }
            }
        }
    }

    /// How its client has asked, for a statement that Weir answers.
    pub(in crate::session) fn asked_by(&self) -> AskedBy {
        match self.form {
            Form::Prepared(_) => AskedBy::Execution,
            _ => AskedBy::Text,
        }
    }
}

/// How the statement that asks for diagnostics came, and what its answer has to be like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::session) enum AskedBy {
    /// COM_QUERY.
    Text,
    /// COM_STMT_EXECUTE.
    Execution,
}

/// The values of an execution's parameters: the client's user variables.
#[derive(Debug)]
pub(in crate::session) struct Values {
    /// Their names, in lower case.
    pub(in crate::session) names: Vec<String>,
    pub(in crate::session) constants: Vec<Constant>,
}

/// Whether a text looks at the server's own list of threads, in which a session has its connection's id.
pub(in crate::session) fn names_server_threads(text: &[u8]) -> bool {
    const LISTS: [&[u8]; 5] = [b"is_used_lock", b"processlist", b"performance_schema", b"innodb_trx", b"innodb_lock"];
    let lower = text.to_ascii_lowercase();
    LISTS.iter().any(|list| lower.windows(list.len()).any(|window| window == *list))
}
