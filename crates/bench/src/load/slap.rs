//! mariadb-slap and mysqlslap, for connection churn (connect, one query, quit), and for the published flash-sale test.

use std::path::Path;

use super::Counted;
use crate::target::Upstream;

/// The file with the password.
pub(super) const OPTION_FILE: &str = "slap.cnf";
/// Queries of each client in the run that tells how fast it goes.
pub(super) const TRIAL_QUERIES: u64 = 50;

/// Without TLS: each new connection of these clients would load the system's certificates, which takes twenty times as
/// long as all else; what is measured would be the client.
pub(super) fn option_file(upstream: &Upstream) -> String {
    let password = upstream.account.password.replace('\\', "\\\\").replace('"', "\\\"");
    format!("[client]\npassword=\"{password}\"\nskip-ssl\n")
}

/// What the clients send.
#[derive(Debug)]
pub(super) struct Queries {
    text: String,
    /// Each on a connection of its own.
    churns: bool,
}

impl Queries {
    pub(super) fn churning(text: String) -> Self {
        Self { text, churns: true }
    }

    /// On connections that stay.
    pub(super) fn kept(text: &str) -> Self {
        Self { text: text.to_owned(), churns: false }
    }
}

/// `number` queries in all, of `clients` at the same time.
pub(super) fn options(
    dir: &Path,
    (host, port): (&str, u16),
    upstream: &Upstream,
    (clients, number): (u32, u64),
    queries: &Queries,
) -> Vec<String> {
    let detach = queries.churns.then(|| "--detach=1".to_owned());
    let mut options = vec![
        format!("--defaults-file={}", dir.join(OPTION_FILE).display()),
        format!("--host={host}"),
        format!("--port={port}"),
        "--protocol=tcp".to_owned(),
        format!("--user={}", upstream.account.name),
        format!("--create-schema={}", upstream.database),
        "--no-drop".to_owned(),
        format!("--concurrency={clients}"),
        format!("--number-of-queries={number}"),
        format!("--query={}", queries.text),
    ];
    options.extend(detach);
    options
}

/// How many queries take about `seconds`, at the rate of `trial`.
pub(super) fn queries_for(seconds: u32, clients: u32, trial: &Counted) -> u64 {
    let rate = trial.queries as f64 / trial.seconds.max(0.001);
    let clients = u64::from(clients);
    // A whole number for each client.
    ((rate * f64::from(seconds)) as u64 / clients).max(1) * clients
}

/// Reads what a run prints. It stops at the first error, and tells no latencies.
pub(super) fn parse(output: &str) -> Result<Counted, String> {
    let value = |name: &str| -> Result<&str, String> {
        let found = output.lines().find_map(|line| line.trim().strip_prefix(name));
        let word = found.and_then(|rest| rest.split_whitespace().next());
        word.ok_or_else(|| output.lines().last().unwrap_or("mariadb-slap printed nothing").trim().to_owned())
    };
    let number = |name: &str| value(name)?.parse::<f64>().map_err(|error| format!("mariadb-slap's {name:?}: {error}"));
    let seconds = number("Average number of seconds to run all queries:")?;
    let queries = number("Number of clients running queries:")? * number("Average number of queries per client:")?;
    let queries = queries as u64;
    // It stops at the first error: each query was answered.
    Ok(Counted { seconds, queries, events: queries, changed: Some(queries), ..Counted::default() })
}
