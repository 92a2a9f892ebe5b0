//! What a server is asked about a statement that Weir does not run.
//!
//! What must always hold: no question changes anything, reads rows, waits for a lock of another session or leaves something on the connection,
//! whatever rights the user has.

use weir_exec::SQL_PREPARED;
use weir_sql::ast::{FlushLock, FlushWhat, Handler, KeyCache, Load, ObjectName, StatementKind, TableBody};
use weir_wire::Failure;
use weir_wire::error::codes;

use super::super::statement::Statement;
use super::mistakes::is_about_statement;

/// No key cache and no table have this name.
const NOTHING: &[u8] = b"`weir: no such name`";

/// No procedure has so many parameters: their definition is a text of 64 KiB at the most on MariaDB, and nobody writes as many on MySQL.
const MORE_THAN_ANY: usize = 16 * 1024;

/// A question, and when its answer is that of the statement.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Question {
    /// What is sent.
    pub(super) text: Vec<u8>,
    /// Only an error with one of these codes is the statement's; if there are none, any that is about a statement.
    only: &'static [u16],
    /// The next question stands for this one's error: it is asked only then, and is the last.
    opens_next: bool,
}

impl Question {
    fn new(text: Vec<u8>, only: &'static [u16]) -> Question {
        Question { text, only, opens_next: false }
    }

    /// What an error of the server says of the statement.
    pub(super) fn verdict(&self, failure: &Failure) -> Verdict {
        let told = match self.only {
            [] => is_about_statement(failure),
            only => only.contains(&failure.code),
        };
        match told {
            true if self.opens_next => Verdict::AskNext,
            true => Verdict::Told,
            false => Verdict::Nothing,
        }
    }
}

/// See [`Question::verdict`].
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is the statement's.
    Told,
    /// The next question's will be.
    AskNext,
    /// It says nothing.
    Nothing,
}

/// The questions about a statement, in their order. `apart`: no transaction is open that a question could end.
pub(super) fn questions(asked: &Statement<'_>, apart: bool) -> Vec<Question> {
    let prepare = |text: &[u8]| SQL_PREPARED.prepare(text, !asked.mode().no_backslash_escapes);
    let Some(only) = asked.only() else { return Vec::new() };
    match only.kind {
        StatementKind::Query(_)
        | StatementKind::Insert(_)
        | StatementKind::Update(_)
        | StatementKind::Delete(_)
        | StatementKind::Set(_)
        | StatementKind::Do(_)
        | StatementKind::Explain(_) => vec![Question::new(prepare(asked.text), &[])],
        StatementKind::CreateTable(create) if matches!(create.body, TableBody::Definition(_)) => {
            vec![Question::new(prepare(asked.text), &DENIED)]
        }
        // Any column will do, as for HANDLER.
        StatementKind::Handler(Handler::Open(table, _)) => {
            vec![Question::new(prepare(&[b"SELECT 1 FROM ", written(asked, table)].concat()), &DENIED)]
        }
        StatementKind::Call(call) if call.package_database.is_none() => {
            vec![Question::new(with_too_many(written(asked, &call.name)), &[codes::ER_PROCACCESS_DENIED_ERROR])]
        }
        StatementKind::KeyCache(cache) if apart => vec![Question::new(in_no_cache(asked, cache), &DENIED)],
        StatementKind::Flush(flush) if apart => match flush.what {
            FlushWhat::Tables(tables) if tables.lock != FlushLock::None => {
                let text = [b"FLUSH TABLES ", NOTHING, b".", NOTHING, b" WITH READ LOCK"].concat();
                vec![Question::new(text, &[codes::ER_SPECIFIC_ACCESS_DENIED_ERROR])]
            }
            _ => Vec::new(),
        },
        StatementKind::Load(load) if !load.local => of_file(asked, load, &prepare),
        _ => Vec::new(),
    }
}

/// Errors of rights to databases and tables.
const DENIED: [u16; 3] =
    [codes::ER_DBACCESS_DENIED_ERROR, codes::ER_TABLEACCESS_DENIED_ERROR, codes::ER_COLUMNACCESS_DENIED_ERROR];

/// A name as the client wrote it.
fn written<'a>(asked: &Statement<'a>, name: &ObjectName<'_>) -> &'a [u8] {
    name.span.text(asked.text)
}

/// Rights to indexes are looked at before the cache. LOAD INDEX has an error of its own on MariaDB, and leaves nothing but what is in a cache.
fn in_no_cache(asked: &Statement<'_>, cache: &KeyCache<'_>) -> Vec<u8> {
    if cache.cache.is_none() {
        return asked.text.to_vec();
    }
    let tables: Vec<&[u8]> = cache.tables.iter().map(|table| written(asked, &table.name)).collect();
    [b"CACHE INDEX ", &tables.join(&b", "[..])[..], b" IN ", NOTHING].concat()
}

/// The right to a routine is looked at before its arguments are counted, and MariaDB looks at neither when it prepares a CALL.
fn with_too_many(procedure: &[u8]) -> Vec<u8> {
    [b"CALL ", procedure, b"(NULL", &b",NULL".repeat(MORE_THAN_ANY), b")"].concat()
}

/// A file on the server: the right to files comes first. Who has none hears so from a LOAD of any file, which is not opened.
fn of_file(asked: &Statement<'_>, load: &Load<'_>, prepare: &dyn Fn(&[u8]) -> Vec<u8>) -> Vec<Question> {
    let table = written(asked, &load.table);
    let right = Question {
        opens_next: true,
        ..Question::new(prepare(b"SELECT 1 INTO OUTFILE 'weir'"), &[codes::ER_SPECIFIC_ACCESS_DENIED_ERROR])
    };
    let text = [b"LOAD DATA INFILE 'weir' INTO TABLE ", table].concat();
    vec![right, Question::new(text, &[codes::ER_ACCESS_DENIED_ERROR])]
}
