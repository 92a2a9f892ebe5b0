//! The temporary tables: the statements that make and drop them, and the settings under which they are made and filled.
//!
//! What must always hold: a value that a shard has can be stored here, whatever the session's settings are.

use weir_backend::Profile;
use weir_backend::profile::charset_of;
use weir_plan::write::literal::put_name;
use weir_plan::{Fragment, Narrowing, Passed, Workbench};
use weir_wire::charset::is_wide;

/// Strings have backslash escapes; all dates that a table may have are stored as they are, and a zero as well; what a server would not
/// store exactly, it stores with a warning.
const SQL_MODE: &str = "ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO";

/// In a profile: one of both names, by the kind of server.
const READ_ONLY: [&str; 2] = ["transaction_read_only", "tx_read_only"];

/// The settings under which the tables of a session with this profile are made and filled.
pub(super) fn filling(own: &Profile, plan: &Workbench) -> Profile {
    let mut changes = vec![("sql_mode", SQL_MODE)];
    let utf8 = |name| own.variable(name).is_some_and(|value| charset_of(value) == "utf8mb4");
    if !utf8("character_set_client") || !utf8("character_set_connection") {
        changes.push(("character_set_client", "utf8mb4"));
        changes.push(("character_set_connection", "utf8mb4"));
        changes.push(("collation_connection", "utf8mb4_general_ci"));
    }
    let timestamps = |fragment: &Fragment| fragment.columns.iter().any(|column| column.passed == Passed::Epoch);
    if plan.fragments.iter().any(timestamps) {
        changes.push(("time_zone", "+00:00"));
    }
    changes.extend(READ_ONLY.into_iter().filter(|name| own.variable(name).is_some()).map(|name| (name, "OFF")));
    if own.variable("autocommit").is_some() {
        changes.push(("autocommit", "ON"));
    }
    own.with_variables(changes)
}

/// Whether the tables can be dropped under a session's own settings.
pub(super) fn can_drop_under(own: &Profile, plan: &Workbench) -> bool {
    let plain = |fragment: &Fragment| fragment.name.is_ascii() && fragment.table.database.is_ascii();
    plan.fragments.iter().all(plain) && READ_ONLY.iter().all(|name| own.variable(name).is_none())
}

/// The character set of results, if a text row's numbers come in it as something else than ASCII.
pub(super) fn wide_results(own: &Profile) -> Option<&str> {
    let charset = own.variable("character_set_results").map(charset_of)?;
    is_wide(charset).then_some(charset)
}

/// The statement that makes a fragment's table. InnoDB holds every type, and its rows are not bounded by memory.
pub(super) fn create(fragment: &Fragment) -> Vec<u8> {
    let mut text = b"CREATE TEMPORARY TABLE ".to_vec();
    put_table(&mut text, fragment);
    let mut first = true;
    let mut begin = |text: &mut Vec<u8>| text.push(if std::mem::take(&mut first) { b'(' } else { b',' });
    for column in &fragment.columns {
        begin(&mut text);
        put_name(&mut text, column.name.as_bytes());
        text.push(b' ');
        text.extend_from_slice(column.definition.as_bytes());
        if column.invisible {
            text.extend_from_slice(b" INVISIBLE");
        }
    }
    for (kind, key) in keys(fragment) {
        begin(&mut text);
        text.extend_from_slice(kind.as_bytes());
        put_columns(&mut text, key.iter().filter_map(|place| fragment.columns.get(*place)).map(|column| &*column.name));
    }
    text.extend_from_slice(b") ENGINE=InnoDB");
    text
}

/// All keys of a fragment's table, each with what CREATE TABLE calls it.
pub(super) fn keys(fragment: &Fragment) -> impl Iterator<Item = (&'static str, &[usize])> {
    let primary = Some(&*fragment.primary_key).filter(|key| !key.is_empty()).map(|key| ("PRIMARY KEY", key));
    let unique = fragment.unique_keys.iter().map(|key| ("UNIQUE KEY", &**key));
    let plain = fragment.keys.iter().map(|key| ("KEY", &**key));
    primary.into_iter().chain(unique).chain(plain)
}

/// The beginning of a statement that fills it.
pub(super) fn insert(fragment: &Fragment) -> Vec<u8> {
    let mut text = b"INSERT INTO ".to_vec();
    put_table(&mut text, fragment);
    if fragment.columns.iter().any(|column| column.invisible) {
        // Without a list, rows have values of visible columns only.
        put_columns(&mut text, fragment.columns.iter().map(|column| &*column.name));
    }
    text.extend_from_slice(b"VALUES");
    text
}

/// The query for the values of a column of a fragment that is filled, so many at most.
pub(super) fn values(by: &Fragment, narrowing: &Narrowing, most: usize) -> Vec<u8> {
    let mut name = Vec::new();
    if let Some(column) = by.columns.get(narrowing.column) {
        put_name(&mut name, column.name.as_bytes());
    }
    let mut text = b"SELECT DISTINCT ".to_vec();
    match narrowing.charset {
        Some(_) => text.extend([b"HEX(", &name[..], b")"].concat()),
        None => text.extend_from_slice(&name),
    }
    text.extend_from_slice(b" FROM ");
    put_table(&mut text, by);
    text.extend([b" WHERE ", &name[..], b" IS NOT NULL LIMIT ", most.to_string().as_bytes()].concat());
    text
}

/// The condition that a fragment's column has one of these values.
pub(super) fn is_one_of(narrowing: &Narrowing, values: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut text = [&narrowing.compared[..], b" IN (NULL"].concat();
    for value in values {
        text.push(b',');
        match &narrowing.charset {
            Some(charset) => text.extend([b"_", charset.as_bytes(), b" x'", &value[..], b"'"].concat()),
            None => text.extend_from_slice(&value),
        }
    }
    text.push(b')');
    text
}

/// The statement that drops all of them.
pub(super) fn drop(plan: &Workbench) -> Vec<u8> {
    let mut text = b"DROP TEMPORARY TABLE IF EXISTS ".to_vec();
    for (nth, fragment) in plan.fragments.iter().enumerate() {
        if nth > 0 {
            text.push(b',');
        }
        put_table(&mut text, fragment);
    }
    text
}

/// A query without rows over the columns of the table that a fragment stands for.
pub(super) fn head(fragment: &Fragment) -> Vec<u8> {
    let mut text = b"SELECT ".to_vec();
    for (nth, column) in fragment.columns.iter().enumerate() {
        if nth > 0 {
            text.push(b',');
        }
        put_name(&mut text, column.name.as_bytes());
    }
    text.extend_from_slice(b" FROM ");
    put_name(&mut text, fragment.table.database.as_bytes());
    text.push(b'.');
    put_name(&mut text, fragment.table.table.as_bytes());
    text.extend_from_slice(b" LIMIT 0");
    text
}

/// Whether the names in [`head`] are the same in this session's character set.
pub(super) fn can_ask_head(own: &Profile, fragment: &Fragment) -> bool {
    let names = [&fragment.table.database, &fragment.table.table];
    let plain = names.into_iter().chain(fragment.columns.iter().map(|column| &column.name)).all(|name| name.is_ascii());
    let charset = own.variable("character_set_client").map(charset_of);
    plain || matches!(charset, Some("utf8mb4" | "utf8mb3" | "utf8"))
}

fn put_table(text: &mut Vec<u8>, fragment: &Fragment) {
    put_name(text, fragment.table.database.as_bytes());
    text.push(b'.');
    put_name(text, fragment.name.as_bytes());
}

fn put_columns<'n>(text: &mut Vec<u8>, names: impl Iterator<Item = &'n str>) {
    let mut before = b'(';
    for name in names {
        text.push(before);
        put_name(text, name.as_bytes());
        before = b',';
    }
    text.push(b')');
}
