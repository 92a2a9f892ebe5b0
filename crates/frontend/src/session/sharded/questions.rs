//! What a server is asked about a statement that Weir does not run.
//!
//! What must always hold: no question changes anything, reads rows, waits for a lock of another session or leaves something on the connection,
//! whatever rights the user has.

use weir_exec::SQL_PREPARED;
use weir_plan::write::literal::quoted_name;
use weir_shards::ask::{Reply, ServerAnswer};
use weir_sql::ast::{
    self, AlterActionKind, FlushLock, FlushWhat, Handler, KeyCache, Load, ObjectName, StatementKind, TableBody,
};
use weir_wire::Failure;
use weir_wire::error::{codes, not_supported};

use super::super::statement::Statement;
use super::mistakes::{OF_RIGHTS, is_about_statement};

/// No key cache and no table have this name.
const NOTHING: &[u8] = b"`weir: no such name`";

/// No procedure has so many parameters: their definition is a text of 64 KiB at the most on MariaDB, and nobody writes as many on MySQL.
const MORE_THAN_ANY: usize = 16 * 1024;

/// A question, and what its answer means.
#[derive(Debug)]
pub(super) struct Question {
    /// What is sent.
    pub(super) text: Vec<u8>,
    means: Means,
}

/// What a server's answer means for the statement.
#[derive(Debug)]
enum Means {
    /// An error that is about a statement is the statement's.
    Mistake,
    /// Any error is the statement's, and so is the loss of the connection.
    All,
    /// An error with one of these codes is the statement's.
    Error(&'static [u16]),
    /// The next question is asked only after an error with one of these codes.
    Opens(&'static [u16]),
    /// Who may not SHOW a table has none of these rights to it.
    Lacks(&'static str),
    /// The third column is NULL for who may not see a definition, and then must not hear of it.
    Definition,
    /// The same, and any error is the statement's.
    Body,
}

/// What comes of an answer.
#[derive(Debug)]
pub(super) enum Judged {
    /// This is the statement's error.
    Told(Failure),
    /// The next question is asked.
    Next,
    /// Nothing is known, and nothing more asked.
    Stop,
}

impl Question {
    fn new(text: Vec<u8>, means: Means) -> Question {
        Question { text, means }
    }

    /// What an answer says of the statement.
    pub(super) fn judge(&self, answer: ServerAnswer) -> Judged {
        match (&self.means, answer) {
            (Means::All | Means::Body, ServerAnswer::Lost(failure) | ServerAnswer::Refused(failure)) => {
                Judged::Told(failure)
            }
            (_, ServerAnswer::Lost(_)) => Judged::Stop,
            (Means::Mistake, ServerAnswer::Refused(failure)) if is_about_statement(&failure) => Judged::Told(failure),
            (Means::Error(codes), ServerAnswer::Refused(failure)) if codes.contains(&failure.code) => {
                Judged::Told(failure)
            }
            (Means::Opens(codes), ServerAnswer::Refused(failure)) if codes.contains(&failure.code) => Judged::Next,
            (Means::Opens(_), _) => Judged::Stop,
            (Means::Lacks(rights), ServerAnswer::Refused(failure))
                if failure.code == codes::ER_TABLEACCESS_DENIED_ERROR =>
            {
                let message = failure.message.replacen("SHOW command", &format!("{rights} command"), 1);
                Judged::Told(Failure { message, ..failure })
            }
            (Means::Body, ServerAnswer::Reply(reply)) if hides_body(&reply) => Judged::Told(Failure::client(
                codes::ER_SPECIFIC_ACCESS_DENIED_ERROR,
                "Access denied; WEIR EXPLAIN of CALL shows statements of the procedure, whose definition you may not see",
            )),
            (Means::Definition, ServerAnswer::Reply(reply)) if hides_body(&reply) => Judged::Told(not_supported(
                "CALL in a database of several shards: no shard can run the procedure as a whole, and Weir can't run it statement by \
                     statement. Who may see its definition is told why; if it is another account's, SQL SECURITY INVOKER may help",
            )),
            _ => Judged::Next,
        }
    }
}

/// What SHOW CREATE PROCEDURE has for who may run it and no more.
fn hides_body(reply: &Reply) -> bool {
    reply.rows.first().and_then(|row| row.get(2)).is_some_and(Option::is_none)
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
        | StatementKind::Explain(_) => vec![Question::new(prepare(asked.text), Means::Mistake)],
        StatementKind::CreateTable(create) if matches!(create.body, TableBody::Definition(_)) => {
            vec![Question::new(prepare(asked.text), Means::Error(&OF_RIGHTS))]
        }
        // Any column will do, as for HANDLER.
        StatementKind::Handler(Handler::Open(table, _)) => {
            let text = prepare(&[b"SELECT 1 FROM ", written(asked, table)].concat());
            vec![Question::new(text, Means::Error(&OF_RIGHTS))]
        }
        StatementKind::Call(call) if call.package_database.is_none() => {
            let name = written(asked, &call.name);
            vec![
                Question::new(with_too_many(name), Means::Error(&[codes::ER_PROCACCESS_DENIED_ERROR])),
                Question::new([b"SHOW CREATE PROCEDURE ", name].concat(), Means::Definition),
            ]
        }
        StatementKind::RenameTables(rename) => match rename.renames {
            [one] => {
                vec![shown(asked, &one.from, "DROP, ALTER"), shown(asked, &one.to, "INSERT, CREATE")]
            }
            _ => Vec::new(),
        },
        StatementKind::AlterTable(alter) => {
            let renames = alter.actions.iter().any(|action| matches!(action.kind, AlterActionKind::RenameTable(_)));
            vec![shown(asked, &alter.table, if renames { "DROP, ALTER" } else { "ALTER" })]
        }
        StatementKind::CreateRoutine(create) => in_database(asked, &create.name),
        StatementKind::CreateEvent(create) if apart => of_event(asked, &create.name),
        StatementKind::CreateEvent(create) => in_database(asked, &create.name),
        StatementKind::CreateTrigger(create) => vec![shown(asked, &create.table, "TRIGGER")],
        StatementKind::CreateIndex(create) => vec![shown(asked, &create.table, "INDEX")],
        StatementKind::DropIndex(drop) => vec![shown(asked, &drop.table, "INDEX")],
        StatementKind::KeyCache(cache) if apart => {
            vec![Question::new(in_no_cache(asked, cache), Means::Error(&OF_RIGHTS))]
        }
        StatementKind::Flush(flush) if apart => match flush.what {
            FlushWhat::Tables(tables) if tables.lock != FlushLock::None => {
                let text = [b"FLUSH TABLES ", NOTHING, b".", NOTHING, b" WITH READ LOCK"].concat();
                vec![Question::new(text, Means::Error(&[codes::ER_SPECIFIC_ACCESS_DENIED_ERROR]))]
            }
            _ => Vec::new(),
        },
        StatementKind::Load(load) if !load.local => of_file(asked, load, &prepare),
        _ => Vec::new(),
    }
}

/// Whether the user may run a statement as it is, with the views that it names.
pub(super) fn with_its_views(asked: &Statement<'_>) -> Question {
    Question::new(SQL_PREPARED.prepare(asked.text, !asked.mode().no_backslash_escapes), Means::All)
}

/// Whether the user may read a view. Any column will do, as for HANDLER.
pub(super) fn of_view(asked: &Statement<'_>, database: &str, view: &str) -> Question {
    let name = [quoted_name(database.as_bytes()), quoted_name(view.as_bytes())].join(&b'.');
    let text = [b"SELECT 1 FROM ", &name[..]].concat();
    Question::new(SQL_PREPARED.prepare(&text, !asked.mode().no_backslash_escapes), Means::All)
}

/// Whether the user may make a table. One without a query is wrong if a server finds it so: it needs no other tables to say that.
pub(super) fn of_new_table(asked: &Statement<'_>, statement: &ast::Statement<'_>) -> Vec<Question> {
    let StatementKind::CreateTable(create) = statement.kind else { return Vec::new() };
    let text = weir_catalog::define::server_text(asked.text, create);
    let text = SQL_PREPARED.prepare(&text, !asked.mode().no_backslash_escapes);
    let queries = create.definition().is_none_or(|definition| definition.query.is_some());
    vec![Question::new(text, if queries { Means::Error(&OF_RIGHTS) } else { Means::All })]
}

/// Whether the user may see the body of a procedure.
pub(super) fn of_body(database: &[u8], procedure: &[u8]) -> Question {
    let name = [quoted_name(database), quoted_name(procedure)].join(&b'.');
    Question::new([b"SHOW CREATE PROCEDURE ", &name[..]].concat(), Means::Body)
}

/// A name as the client wrote it.
fn written<'a>(asked: &Statement<'a>, name: &ObjectName<'_>) -> &'a [u8] {
    name.span.text(asked.text)
}

/// Whoever has any right in a database may see its tables, and who has none gets the same error for what is made there.
fn in_database(asked: &Statement<'_>, name: &ObjectName<'_>) -> Vec<Question> {
    // What has no database of its own is made in the default one, which the session has entered.
    let Some(database) = name.database else { return Vec::new() };
    let text = [b"SHOW TABLES FROM ", database.span.text(asked.text), b" LIKE ''"].concat();
    vec![Question::new(text, Means::Error(&[codes::ER_DBACCESS_DENIED_ERROR]))]
}

/// The right to make events is that to drop them, and is looked at before the event is.
fn of_event(asked: &Statement<'_>, name: &ObjectName<'_>) -> Vec<Question> {
    let database = name.database.map(|database| [database.span.text(asked.text), b"."].concat()).unwrap_or_default();
    let text = [b"DROP EVENT ", &database[..], NOTHING].concat();
    vec![Question::new(text, Means::Error(&[codes::ER_DBACCESS_DENIED_ERROR]))]
}

/// Whoever has any right to a table may see it.
fn shown(asked: &Statement<'_>, table: &ObjectName<'_>, lacks: &'static str) -> Question {
    Question::new([b"SHOW CREATE TABLE ", written(asked, table)].concat(), Means::Lacks(lacks))
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
    let has_right = prepare(b"SELECT 1 INTO OUTFILE 'weir'");
    let text = [b"LOAD DATA INFILE 'weir' INTO TABLE ", table].concat();
    vec![
        Question::new(has_right, Means::Opens(&[codes::ER_SPECIFIC_ACCESS_DENIED_ERROR])),
        Question::new(text, Means::Error(&[codes::ER_ACCESS_DENIED_ERROR])),
    ]
}
