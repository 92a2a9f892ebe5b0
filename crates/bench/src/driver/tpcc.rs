//! Terminals of TPC-C: each runs one transaction after another, and what became of each type is counted apart.

use std::time::{Duration, Instant};

use super::{DriverOptions, Start, Tally, connect, micros};
use crate::tpcc::{Problem, Scale, Terminal};

/// One terminal, from its connection to the end of its time.
pub(super) fn client(options: &DriverOptions, number: usize, start: &Start<'_>) -> Tally {
    let mut tally = Tally::default();
    let number = u32::try_from(number).expect("numbers of clients have 32 bits");
    let connected = connect(options, &mut tally);
    let begun = start.wait();
    tally.begun = Some(begun);
    let end = begun + Duration::from_secs(u64::from(options.seconds));
    let terminal =
        connected.map(|connection| Terminal::new(connection, number, Scale { items: options.items }, options.prepared));
    match terminal {
        Ok(terminal) => transactions(terminal, end, &mut tally),
        Err(error) => tally.fail(&error),
    }
    tally
}

fn transactions(mut terminal: Terminal, end: Instant, tally: &mut Tally) {
    let mut goes_on = true;
    while goes_on && Instant::now() < end {
        let begun = Instant::now();
        let tried = terminal.run();
        goes_on = tried.goes_on;
        match tried.outcome {
            Ok(()) => {
                let took = micros(begun);
                tally.latencies_us.push(took);
                tally.kinds.entry(tried.kind.key()).or_default().push(took);
            }
            Err(Problem::Sql(error)) => tally.fail(&error),
            Err(problem) => tally.count_error("data", problem.to_string()),
        }
    }
    tally.served += u64::from(goes_on);
    *tally.statements.get_or_insert_default() += terminal.statements();
}
