//! One time for a statement on all shards.
//!
//! What must always hold: the time is a server's own; a connection that was given one has its own clock again before anybody else uses
//! it, or is closed.

use weir_backend::Connection;
use weir_wire::Failure;
use weir_wire::error::codes;

use crate::everywhere;

/// The time on a server, as `timestamp` takes it. The session's state must have been confirmed there.
///
/// # Errors
/// The server's, or its loss.
pub async fn now(connection: &mut Connection) -> Result<String, Failure> {
    let reply = connection.query("SELECT UNIX_TIMESTAMP(NOW(6)) LIMIT 1").await?;
    let time = reply.rows.into_iter().flatten().next().flatten();
    let time = time.and_then(|time| String::from_utf8(time).ok());
    time.ok_or_else(|| Failure::weir(codes::ER_UNKNOWN_ERROR, "the server did not report its time"))
}

/// Stops the clocks of several connections at the time of the first.
///
/// # Errors
/// As [`now`].
pub async fn stop(connections: Vec<&mut Connection>) -> Result<(), Failure> {
    let mut connections = connections;
    let Some(first) = connections.first_mut() else { return Ok(()) };
    let time = now(first).await?;
    everywhere(connections, &format!("SET timestamp={time}")).await
}

/// Lets them go on. What the latest statement left there (warnings) has been read before.
pub async fn go_on(connections: Vec<&mut Connection>) {
    let mut connections = connections;
    let all = connections.iter_mut().map(|connection| &mut **connection);
    if everywhere(all, "SET timestamp=DEFAULT").await.is_err() {
        connections.into_iter().for_each(|connection| connection.retired = true);
    }
}
