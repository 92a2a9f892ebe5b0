//! Many sessions whose every reply says for whom it is.
//!
//! Must always hold: a reply is right, or it is an error that the test allows; anything else, and no answer within the
//! driver's bound, ends the test.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use libtest_mimic::Failed;
use mysql::Conn;
use mysql::prelude::Queryable;

use super::app;
use crate::lab::Endpoint;

/// A session that got an error asks again after this pause, so as not to take the processor from those that heal.
const AFTER_AN_ERROR: Duration = Duration::from_millis(5);

/// What has happened so far, for the test that watches.
#[derive(Default)]
pub(super) struct Tally {
    right: AtomicU64,
    failed: AtomicU64,
    wrong: AtomicBool,
    stop: AtomicBool,
}

impl Tally {
    /// Right replies; very many once there has been a wrong one, so that nobody waits for more.
    pub(super) fn right(&self) -> u64 {
        if self.wrong.load(Ordering::Relaxed) { u64::MAX } else { self.right.load(Ordering::Relaxed) }
    }

    /// Allowed errors.
    pub(super) fn failed(&self) -> u64 {
        if self.wrong.load(Ordering::Relaxed) { u64::MAX } else { self.failed.load(Ordering::Relaxed) }
    }
}

/// Lets sessions ask, without a pause, while `during` runs. `allowed`: codes of errors that they may get; if there are
/// any, they may lose their connections too.
pub(super) fn under_load(
    endpoint: &Endpoint,
    database: &str,
    sessions: usize,
    allowed: &[u16],
    during: impl FnOnce(&Tally) -> Result<(), Failed>,
) -> Result<Tally, Failed> {
    let tally = Tally::default();
    let ask = |number| {
        let asked = ask_until_stopped(endpoint, database, number, &tally, allowed);
        tally.wrong.fetch_or(asked.is_err(), Ordering::Relaxed);
        asked
    };
    std::thread::scope(|scope| {
        let ask = &ask;
        let threads: Vec<_> = (0..sessions).map(|number| scope.spawn(move || ask(number))).collect();
        let done = during(&tally);
        tally.stop.store(true, Ordering::Relaxed);
        let mut asked = Ok(());
        for thread in threads {
            let ended = thread.join().unwrap_or_else(|_| Err("a session panicked".into()));
            asked = asked.and(ended);
        }
        // A wrong reply says more than what was waited for in vain.
        asked.and(done)
    })?;
    Ok(tally)
}

fn ask_until_stopped(
    endpoint: &Endpoint,
    database: &str,
    number: usize,
    tally: &Tally,
    allowed: &[u16],
) -> Result<(), Failed> {
    let mut client: Option<Conn> = None;
    let mut sequence = 0;
    while !tally.stop.load(Ordering::Relaxed) {
        let answered = match &mut client {
            Some(client) => {
                sequence += 1;
                ask(client, number, sequence)
            }
            None => app(endpoint, database).map(|connected| {
                client = Some(connected);
                Ok(())
            }),
        };
        match answered {
            Ok(Ok(())) => {
                tally.right.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            Ok(Err(wrong)) => return Err(wrong),
            Err(mysql::Error::MySqlError(error)) if allowed.contains(&error.code) => {}
            Err(error) if !allowed.is_empty() && connection_ended(&error) => client = None,
            Err(error) => return Err(format!("session {number}, statement {sequence}: {error:?}").into()),
        }
        tally.failed.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(AFTER_AN_ERROR);
    }
    Ok(())
}

/// The connection to Weir has ended: closed or reset, not silent.
fn connection_ended(error: &mysql::Error) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    match error {
        mysql::Error::IoError(error) => {
            matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
        }
        mysql::Error::CodecError(error) => error.to_string().contains("onnection"),
        _ => false,
    }
}

/// One statement. The inner error: a reply that is not its own.
fn ask(client: &mut Conn, number: usize, sequence: usize) -> mysql::Result<Result<(), Failed>> {
    let own = format!("session {number}, statement {sequence}");
    let id = (number * 131 + sequence * 17) % 900;
    let row = |id: usize| (id, 7 * id + 1, own.clone());
    let (got, expected): (Vec<(usize, usize, String)>, _) = match (sequence + number) % 5 {
        0 => (client.query(format!("SELECT id, v, '{own}' FROM numbers WHERE id = {id}"))?, vec![row(id)]),
        1 => (client.exec("SELECT id, v, ? FROM numbers WHERE id = ?", (&own, id))?, vec![row(id)]),
        2 => {
            let text = format!("SELECT id, v, '{own}' FROM numbers WHERE id BETWEEN {id} AND {} ORDER BY id", id + 4);
            (client.query(text)?, (id..=id + 4).map(row).collect())
        }
        3 => {
            let text = "SELECT id, v, CONCAT(?, REPEAT('.', ?)) FROM numbers WHERE id IN (?, ?) ORDER BY id";
            let rows = client.exec(text, (&own, sequence % 300, id, id + 7))?;
            let padded = |id| (id, 7 * id + 1, own.clone() + &".".repeat(sequence % 300));
            (rows, vec![padded(id), padded(id + 7)])
        }
        _ => {
            let text = format!("SELECT {id}, SUM(v), '{own}' FROM numbers WHERE id < 0 OR id = {id}");
            (client.query(text)?, vec![row(id)])
        }
    };
    if got == expected {
        return Ok(Ok(()));
    }
    Ok(Err(format!("the reply to {own} should be {expected:?}, and is {got:?}").into()))
}
