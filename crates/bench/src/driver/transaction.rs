//! Clients that run one transaction again and again, and count what it has changed.
//!
//! Must always hold: a row counts as changed only when all commands of its transaction were answered without an error. An
//! answer that is lost makes the count and the table differ: that is for the one who compares them to say.

use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;

use super::{DriverOptions, Start, Tally, connect, micros};

/// One client, from its connection to the end of its time.
pub(super) fn client(options: &DriverOptions, start: &Start<'_>) -> Tally {
    let mut tally = Tally::default();
    let connected = connect(options, &mut tally);
    let begun = start.wait();
    tally.begun = Some(begun);
    let end = begun + Duration::from_secs(u64::from(options.seconds));
    match connected {
        Ok(connection) => transactions(connection, options, end, &mut tally),
        Err(error) => tally.fail(&error),
    }
    tally
}

fn transactions(mut connection: Conn, options: &DriverOptions, end: Instant, tally: &mut Tally) {
    let commands: Vec<&str> = options.query.lines().collect();
    while Instant::now() < end {
        let begun = Instant::now();
        match transaction(&mut connection, &commands) {
            Ok(changed) => {
                tally.latencies_us.push(micros(begun));
                tally.changed += changed;
            }
            Err(error) => {
                let is_of_server = matches!(error, mysql::Error::MySqlError(_));
                tally.fail(&error);
                // What the server has refused may have left a transaction open.
                if !is_of_server || connection.query_drop("ROLLBACK").is_err() {
                    return;
                }
            }
        }
    }
    tally.served += 1;
}

/// The rows that it has changed.
fn transaction(connection: &mut Conn, commands: &[&str]) -> Result<u64, mysql::Error> {
    let mut changed = 0;
    for command in commands {
        let mut results = connection.query_iter(*command)?;
        while let Some(result) = results.iter() {
            changed += result.affected_rows();
        }
    }
    Ok(changed)
}
