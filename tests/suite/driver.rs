//! A real driver (the `mysql` crate) for tests that are about errors and connections, not about every byte.

use std::time::Duration;

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};

/// No answer may take longer; a hang becomes an error of the driver, which fails the test.
const READ_BOUND: Duration = Duration::from_secs(60);

/// Connects over TCP.
pub(crate) fn connect(port: u16, account: (&str, &str), database: Option<&str>) -> mysql::Result<Conn> {
    connect_for(READ_BOUND, port, account, database)
}

/// The same, for commands that may take so long.
pub(crate) fn connect_for(
    bound: Duration,
    port: u16,
    account: (&str, &str),
    database: Option<&str>,
) -> mysql::Result<Conn> {
    let options = OptsBuilder::new()
        .ip_or_hostname(Some("127.0.0.1"))
        .tcp_port(port)
        .user(Some(account.0))
        .pass(Some(account.1))
        .db_name(database)
        .prefer_socket(false)
        // Else the driver asks for it in a statement of its own.
        .max_allowed_packet(Some(16 << 20))
        .read_timeout(Some(bound))
        .write_timeout(Some(bound));
    Conn::new(options)
}

/// The server's error in a result: code and SQLSTATE. None for success and for errors of the driver's own.
pub(crate) fn server_error<T>(result: &mysql::Result<T>) -> Option<(u16, String)> {
    match result {
        Err(mysql::Error::MySqlError(error)) => Some((error.code, error.state.clone())),
        _ => None,
    }
}

/// Passes if the result is this error of the server.
pub(crate) fn expect_error<T: std::fmt::Debug>(
    what: &str,
    result: &mysql::Result<T>,
    code: u16,
    state: &str,
) -> Result<(), Failed> {
    match server_error(result) {
        Some((got, got_state)) if (got, got_state.as_str()) == (code, state) => Ok(()),
        _ => Err(format!("{what}: {code} ({state}) expected, got {result:?}").into()),
    }
}

/// Passes if the two are equal.
pub(crate) fn expect_equal<T: PartialEq + std::fmt::Debug>(what: &str, got: T, expected: T) -> Result<(), Failed> {
    if got == expected { Ok(()) } else { Err(format!("{what}: {expected:?} expected, got {got:?}").into()) }
}

/// Runs a statement and reads all of its answer. (`query_drop` would lose an error that comes in place of a row.)
pub(crate) fn run(connection: &mut Conn, statement: &str) -> mysql::Result<()> {
    let rows: mysql::Result<Vec<mysql::Row>> = connection.query(statement);
    rows.map(drop)
}

/// The only value of a query.
pub(crate) fn value(connection: &mut Conn, query: &str) -> Result<String, Failed> {
    let found: Option<mysql::Value> = connection.query_first(query)?;
    match found {
        Some(mysql::Value::Bytes(bytes)) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Some(other) => Ok(other.as_sql(false)),
        None => Err(format!("no row: {query}").into()),
    }
}

/// Whether a new client is served.
pub(crate) fn serves(port: u16, account: (&str, &str)) -> bool {
    connect(port, account, None).and_then(|mut connection| run(&mut connection, "SELECT @@port")).is_ok()
}

/// Resident memory of a process, in bytes.
pub(crate) fn resident(pid: i32) -> Result<u64, Failed> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kilobytes * 1024)
}

/// Whether a session of Weir runs a statement, as SHOW PROCESSLIST has it.
pub(crate) fn is_running(admin: &mut Conn, id: u32) -> bool {
    let rows: Vec<mysql::Row> = admin.query("SHOW PROCESSLIST").unwrap_or_default();
    let row = rows.iter().find(|row| row.get::<u32, _>("Id") == Some(id));
    row.and_then(|row| row.get::<Option<String>, _>("Info").flatten()).is_some()
}
