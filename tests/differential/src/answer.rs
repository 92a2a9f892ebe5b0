//! What a server, or Weir, answers to a statement.

use std::fmt;

use mysql::consts::ColumnFlags;
use mysql::prelude::Queryable;
use mysql::{Conn, Params, Value};

use crate::case::Step;

/// An answer, in a form that can be compared and shown.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Answer {
    /// One for each result.
    pub(crate) results: Vec<Reply>,
    /// Code, SQLSTATE, message.
    pub(crate) error: Option<(u16, String, String)>,
    /// What SHOW WARNINGS says then.
    pub(crate) warnings: Vec<String>,
}

/// One result.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Reply {
    /// Names, types, flags, charsets, lengths and decimals.
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<String>,
    pub(crate) affected: u64,
    pub(crate) insert_id: u64,
    pub(crate) info: String,
    pub(crate) warnings: u16,
}

/// Asks in the text protocol, or in the binary one.
pub(crate) fn ask(session: &mut Conn, text: &str, binary: bool, params: &[String]) -> Answer {
    let mut answer = Answer::default();
    match if binary { execute(session, text, params) } else { query(session, text) } {
        Ok(results) => answer.results = results,
        Err(mysql::Error::MySqlError(error)) => answer.error = Some((error.code, error.state, told(&error.message))),
        Err(error) => answer.error = Some((0, String::new(), error.to_string())),
    }
    let warned = answer.error.is_some() || answer.results.iter().any(|reply| reply.warnings > 0);
    if warned {
        let rows: Vec<(String, u32, String)> = session.query("SHOW WARNINGS").unwrap_or_default();
        answer.warnings =
            rows.into_iter().map(|(level, code, message)| format!("{level} {code} {}", told(&message))).collect();
    }
    answer
}

fn query(session: &mut Conn, text: &str) -> mysql::Result<Vec<Reply>> {
    let mut result = session.query_iter(text)?;
    collect(&mut result)
}

fn execute(session: &mut Conn, text: &str, params: &[String]) -> mysql::Result<Vec<Reply>> {
    let statement = session.prep(text)?;
    let params = match params {
        [] => Params::Empty,
        some => Params::Positional(some.iter().map(|literal| value(literal)).collect()),
    };
    let mut result = session.exec_iter(&statement, params)?;
    let replies = collect(&mut result);
    drop(result);
    session.close(statement)?;
    replies
}

/// The value of a literal.
fn value(literal: &str) -> Value {
    match literal {
        "NULL" => Value::NULL,
        _ => match literal.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
            Some(text) => Value::Bytes(text.replace("''", "'").into_bytes()),
            None => match (literal.parse::<i64>(), literal.parse::<u64>(), literal.parse::<f64>()) {
                (Ok(number), ..) => Value::Int(number),
                (_, Ok(number), _) => Value::UInt(number),
                (_, _, Ok(number)) => Value::Double(number),
                _ => Value::Bytes(literal.as_bytes().to_vec()),
            },
        },
    }
}

fn collect<P: mysql::prelude::Protocol>(result: &mut mysql::QueryResult<'_, '_, '_, P>) -> mysql::Result<Vec<Reply>> {
    let mut replies = Vec::new();
    while let Some(mut set) = result.iter() {
        let columns = set.columns().as_ref().iter().map(column).collect();
        // An OK's counts are forgotten once the set is asked for its rows, which it has none of.
        let (affected, insert_id) = (set.affected_rows(), set.last_insert_id().unwrap_or(0));
        let (info, warned) = (set.info_str().into_owned(), set.warnings());
        let mut rows = Vec::new();
        for row in set.by_ref() {
            rows.push(row?.unwrap().iter().map(|value| value.as_sql(true)).collect::<Vec<_>>().join(", "));
        }
        replies.push(Reply { columns, rows, affected, insert_id, info, warnings: warned });
    }
    Ok(replies)
}

/// The flags of a column, but for those that say whether the server made a temporary table on the way, which is its optimizer's choice.
fn flags(column: &mysql::Column) -> ColumnFlags {
    let keys = ColumnFlags::PRI_KEY_FLAG
        | ColumnFlags::UNIQUE_KEY_FLAG
        | ColumnFlags::MULTIPLE_KEY_FLAG
        | ColumnFlags::PART_KEY_FLAG;
    let numbers = ColumnFlags::BINARY_FLAG | ColumnFlags::NUM_FLAG;
    let flags = column.flags() - keys;
    if column.character_set() == 63 { flags - numbers } else { flags }
}

/// What separates the name and the type of a column that is shown from all else.
const ELSE: &str = ", of ";

/// The name of a column as it is shown, and its type if that is wanted. How large a text may become in a temporary table is none of it.
fn name_and_type(column: &str, with_type: bool) -> String {
    let shown = column.rsplit_once(ELSE).map_or(column, |(shown, _)| shown).replace("LONG_BLOB", "BLOB");
    match shown.split_once(" MYSQL_TYPE") {
        Some((name, _)) if !with_type => name.to_owned(),
        _ => shown,
    }
}

/// A column as it is shown, without the flags that tell where its values come from.
fn without_defaults(column: &str) -> String {
    let Some((before, rest)) = column.split_once("ColumnFlags(") else { return column.to_owned() };
    let Some((flags, after)) = rest.split_once(')') else { return column.to_owned() };
    let kept = |flag: &&str| !["0x0", "AUTO_INCREMENT_FLAG", "NO_DEFAULT_VALUE_FLAG"].contains(flag);
    let flags: Vec<&str> = flags.split(" | ").filter(kept).collect();
    format!("{before}ColumnFlags({}){after}", flags.join(" | "))
}

/// An error's text without what depends on where rows and expressions are: a shard counts its own rows, and finds an unknown column of
/// ORDER BY among those that the merge needs of it (docs/sql.md).
fn told(message: &str) -> String {
    let message = match message.split_once(" at row ") {
        Some((before, after)) => format!("{before} at row …{}", after.trim_start_matches(|c: char| c.is_ascii_digit())),
        None => message.to_owned(),
    };
    match message.split_once("' in '") {
        Some((before, _)) if message.starts_with("Unknown column") => before.to_owned(),
        _ => message,
    }
}

/// The column that an expression comes from is one of a temporary table, if the server made one.
fn column(column: &mysql::Column) -> String {
    let origin = match &*column.org_table_str() {
        "" => String::new(),
        table => format!("({table}.{})", column.org_name_str()),
    };
    format!(
        "{} {:?}{ELSE}{}.{} {origin} {:?} charset {} length {} decimals {}",
        column.name_str(),
        column.column_type(),
        column.schema_str(),
        column.table_str(),
        flags(column),
        column.character_set(),
        column.column_length(),
        column.decimals()
    )
}

impl Answer {
    /// Whether the two are alike, as far as the step says.
    pub(crate) fn is_like(&self, other: &Answer, step: &Step) -> bool {
        let (ordered, warnings) = (step.is_ordered(), !step.no_warnings);
        let normal = |answer: &Answer| {
            let mut answer = answer.clone();
            if step.other_columns {
                let columns = answer.results.iter_mut().flat_map(|reply| &mut reply.columns);
                columns.for_each(|column| *column = name_and_type(column, !step.other_types));
            }
            if step.gathered {
                let columns = answer.results.iter_mut().flat_map(|reply| &mut reply.columns);
                columns.for_each(|column| *column = without_defaults(column));
            }
            if !ordered {
                answer.results.iter_mut().for_each(|reply| reply.rows.sort());
            }
            if warnings {
                answer.warnings.sort();
            } else {
                answer.warnings.clear();
                for reply in &mut answer.results {
                    reply.warnings = 0;
                    reply.info.truncate(reply.info.find("  Warnings: ").unwrap_or(reply.info.len()));
                }
            }
            answer
        };
        normal(self) == normal(other)
    }

    /// Whether there is none: the connection broke, or nothing came in time.
    pub(crate) fn is_broken(&self) -> bool {
        self.error.as_ref().is_some_and(|(code, ..)| *code == 0)
    }

    /// Whether it is Weir's refusal, with these words.
    pub(crate) fn is_refusal(&self, words: &str) -> bool {
        self.error.as_ref().is_some_and(|(code, _, message)| *code == 1235 && message.contains(words))
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const ROWS: usize = 20;
        if let Some((code, state, message)) = &self.error {
            writeln!(f, "    ERROR {code} ({state}): {message}")?;
        }
        for reply in &self.results {
            for column in &reply.columns {
                writeln!(f, "    | {column}")?;
            }
            for row in reply.rows.iter().take(ROWS) {
                writeln!(f, "    ({row})")?;
            }
            if reply.rows.len() > ROWS {
                writeln!(f, "    … {} rows", reply.rows.len())?;
            }
            let Reply { affected, insert_id, info, warnings, .. } = reply;
            writeln!(f, "    affected {affected}, insert id {insert_id}, {warnings} warnings, info '{info}'")?;
        }
        self.warnings.iter().try_for_each(|warning| writeln!(f, "    {warning}"))
    }
}
