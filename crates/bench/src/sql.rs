//! Connections of the bench itself, over TCP as the load's account.

use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use weir_local::{Cancel, wait_until};

use crate::error::BenchError;
use crate::target::Upstream;

/// How long a connection attempt, a read or a write may take.
const BOUND: Duration = Duration::from_secs(20);
/// Said here so that the driver need not ask the server on each connection.
const MAX_ALLOWED_PACKET: usize = 1 << 20;

/// How to connect, with the fewest round trips.
pub(crate) fn options(host: &str, port: u16, user: &str, password: &str, database: &str) -> OptsBuilder {
    OptsBuilder::new()
        .ip_or_hostname(Some(host.to_owned()))
        .tcp_port(port)
        .user(Some(user.to_owned()))
        .pass(Some(password.to_owned()))
        .db_name(Some(database.to_owned()))
        .prefer_socket(false)
        .stmt_cache_size(0)
        .tcp_connect_timeout(Some(BOUND))
        .read_timeout(Some(BOUND))
        .write_timeout(Some(BOUND))
        .max_allowed_packet(Some(MAX_ALLOWED_PACKET))
}

/// A connection to the server at `host` and `port`, or to a proxy in front of it.
pub(crate) fn connect(host: &str, port: u16, upstream: &Upstream) -> Result<Conn, mysql::Error> {
    let account = &upstream.account;
    Conn::new(options(host, port, &account.name, &account.password, &upstream.database))
}

/// Waits until a query comes through at `host` and `port`.
pub(crate) fn check(
    host: &str,
    port: u16,
    upstream: &Upstream,
    bound: Duration,
    cancel: &Cancel,
) -> Result<(), BenchError> {
    let mut last = None;
    let answered = wait_until(bound, cancel, || {
        match connect(host, port, upstream).and_then(|mut connection| connection.query_drop("DO 1")) {
            Ok(()) => Ok(Some(())),
            Err(error) => {
                last = Some(error);
                Ok(None)
            }
        }
    })?;
    match (answered, last) {
        (None, Some(error)) => Err(BenchError::Sql { server: format!("{host}:{port}"), source: Box::new(error) }),
        _ => Ok(()),
    }
}
