//! Reading what is to be known of tables that sessions insert into.
//!
//! On a connection of its own, as a table that is being defined can hold it up, which says nothing of the server.
//!
//! What must always hold: a column is told only if the server has shown all that could give it values. A trigger is shown to those only who
//! may make triggers, so without that right nothing is told.

use std::sync::Arc;
use std::time::Instant;

use weir_wire::Failure;
use weir_wire::error::codes;

use super::{MonitorSettings, Probe, text};
use crate::Replaceable;
use crate::patience::within;
use crate::server::Server;
use crate::tables::Name;

/// Who sees all triggers. MySQL can take a right away again for one database.
const RIGHT: &str = "SELECT COUNT(*) FROM information_schema.USER_PRIVILEGES WHERE PRIVILEGE_TYPE = 'TRIGGER' \
    AND GRANTEE = CONCAT('''', REPLACE(CURRENT_USER(), '@', '''@'''), '''')";
const PARTIAL: &str = "SELECT @@GLOBAL.partial_revokes";

/// The types of columns in which no value but 0 becomes 0 unnoticed.
const INTEGERS: [&str; 5] = ["tinyint", "smallint", "mediumint", "int", "bigint"];

/// The longest wait for a definition that is being made.
const PATIENCE: &str = "SET SESSION lock_wait_timeout = 1";

/// Reads the tables that are asked for, again and again for as long as they are, until the future is dropped.
pub(super) async fn watch(server: &Server, settings: &Replaceable<MonitorSettings>) {
    let mut reader = None;
    let mut settings_then = settings.load_full();
    loop {
        let settings = settings.load_full();
        if !Arc::ptr_eq(&settings, &settings_then) {
            // It may be another account.
            reader = None;
            settings_then = settings.clone();
        }
        let (wanted, defined) = server.tables.wanted();
        if wanted.is_empty() {
            reader = None;
            server.tables.asked().await;
            continue;
        }
        let read = within(settings.timeout, read(server, &settings, &mut reader, &wanted, defined)).await;
        if !matches!(read, Some(Ok(()))) {
            reader = None;
        }
        tokio::time::sleep(settings.interval).await;
    }
}

/// A connection that reads tables, and whether it is shown all triggers.
struct Reader {
    probe: Probe,
    sees_triggers: bool,
}

async fn read(
    server: &Server,
    settings: &MonitorSettings,
    reader: &mut Option<Reader>,
    wanted: &[Name],
    defined: u64,
) -> Result<(), Failure> {
    let reader = match reader {
        Some(reader) => reader,
        None => reader.insert(open(server, settings).await?),
    };
    // What is read counts until two more times are due.
    let valid = 2 * settings.interval;
    for name in wanted.iter().filter(|_| reader.sees_triggers) {
        let begun = Instant::now();
        let column = match generated_column(&mut reader.probe, name).await {
            Err(failure) if failure.code == codes::CR_SERVER_LOST => return Err(failure),
            column => column.unwrap_or_default(),
        };
        server.tables.learn(name, column.map(|column| column.into_bytes().into()), begun, defined, valid);
    }
    Ok(())
}

async fn open(server: &Server, settings: &MonitorSettings) -> Result<Reader, Failure> {
    let mut probe = Probe::open(server, settings).await?;
    probe.run(PATIENCE).await?;
    let has = one(&mut probe, RIGHT).await?.is_some_and(|count| count != "0");
    let whole = probe.is_mariadb() || matches!(one(&mut probe, PARTIAL).await?.as_deref(), Some("0" | "OFF"));
    Ok(Reader { probe, sees_triggers: has && whole })
}

async fn one(probe: &mut Probe, sql: &str) -> Result<Option<String>, Failure> {
    match probe.query(sql).await {
        Ok(rows) => Ok(rows.into_iter().flatten().next().map(text)),
        Err(failure) if failure.code == codes::CR_SERVER_LOST => Err(failure),
        Err(_) => Ok(None),
    }
}

/// The AUTO_INCREMENT column of a table of InnoDB's, of integers, that no trigger can give values. Names are compared as
/// `information_schema` does; where that finds several tables, nothing is told.
async fn generated_column(probe: &mut Probe, (database, table): &Name) -> Result<Option<String>, Failure> {
    let (Ok(database), Ok(table)) = (std::str::from_utf8(database), std::str::from_utf8(table)) else {
        return Ok(None);
    };
    if database.contains(['\'', '\\']) || table.contains(['\'', '\\']) {
        return Ok(None);
    }
    let tables = format!(
        "SELECT ENGINE, TABLE_TYPE FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{database}' AND TABLE_NAME = '{table}'"
    );
    let kinds = probe.query(&tables).await?;
    let [kind] = &kinds[..] else { return Ok(None) };
    let kind: Vec<String> = kind.iter().cloned().map(text).collect();
    if kind != ["InnoDB", "BASE TABLE"] {
        return Ok(None);
    }
    let triggers = format!(
        "SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = '{database}' \
         AND EVENT_OBJECT_TABLE = '{table}' AND ACTION_TIMING = 'BEFORE' AND EVENT_MANIPULATION = 'INSERT'"
    );
    if probe.query(&triggers).await?.into_iter().flatten().next().map(text).as_deref() != Some("0") {
        return Ok(None);
    }
    let columns = format!(
        "SELECT COLUMN_NAME, DATA_TYPE FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = '{database}' \
         AND TABLE_NAME = '{table}' AND EXTRA LIKE '%auto_increment%'"
    );
    let found = probe.query(&columns).await?;
    let [column] = &found[..] else { return Ok(None) };
    let mut cells = column.iter().cloned().map(text);
    let (name, kind) = (cells.next().unwrap_or_default(), cells.next().unwrap_or_default());
    Ok(Some(name).filter(|_| INTEGERS.contains(&kind.to_ascii_lowercase().as_str())))
}
