//! Killing what runs on a connection, from another one of the same account.
//!
//! What must always hold: a thread that has ended meanwhile is no error.

use weir_wire::Failure;
use weir_wire::error::codes;

use crate::Server;
use crate::connect::{Login, connect};
use crate::monitor::Probe;
use crate::patience::within;

/// What of a server thread is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kill {
    /// The statement that runs when the server gets to it: one that is still on its way is not hit.
    Query,
    /// The connection, with whatever it runs or would run next.
    Connection,
}

/// Kills a server thread or its statement, on a connection made for this.
///
/// # Errors
/// As [`connect`], or the server's.
pub async fn kill(server: &Server, login: &Login, thread_id: u32, what: Kill) -> Result<(), Failure> {
    bounded(server, async { kill_on(&mut Probe::new(connect(server, login).await?), thread_id, what).await }).await
}

/// Kills the statement of a server thread if it waits for a lock on a table or another object (not on rows).
///
/// # Errors
/// As [`kill`].
pub async fn end_lock_wait(server: &Server, login: &Login, thread_id: u32) -> Result<(), Failure> {
    bounded(server, async {
        let mut probe = Probe::new(connect(server, login).await?);
        // Its own threads are shown to every account.
        let threads = probe.query("SHOW PROCESSLIST").await?;
        let cell = |row: &[Option<Vec<u8>>], at: usize| row.get(at).cloned().flatten().unwrap_or_default();
        let id = thread_id.to_string().into_bytes();
        let state = threads.iter().find(|row| cell(row, 0) == id).map(|row| cell(row, STATE));
        match state.is_some_and(|state| state.starts_with(b"Waiting for") && state.ends_with(b"lock")) {
            true => kill_on(&mut probe, thread_id, Kill::Query).await,
            false => Ok(()),
        }
    })
    .await
}

/// The column of SHOW PROCESSLIST.
const STATE: usize = 6;

async fn kill_on(probe: &mut Probe, thread_id: u32, what: Kill) -> Result<(), Failure> {
    let statement = match what {
        Kill::Query => format!("KILL QUERY {thread_id}"),
        Kill::Connection => format!("KILL CONNECTION {thread_id}"),
    };
    match probe.query(&statement).await {
        Err(failure) if failure.code != codes::ER_NO_SUCH_THREAD => Err(failure),
        _ => Ok(()),
    }
}

async fn bounded(server: &Server, what: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    // Connecting has its own bound of this length.
    let answer = within(server.reach().connect_timeout * 2, what).await;
    answer.ok_or_else(|| server.unreachable("KILL got no answer"))?
}
