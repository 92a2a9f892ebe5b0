//! `weir status`.

use weir_local::{Cluster, ClusterStatus, FrontStatus, Phase, ReplicationStatus, ServerStatus};

use super::show::say;
use super::{ClusterError, StatusArgs};

/// Runs `weir status`.
pub(crate) fn status(args: StatusArgs) -> Result<(), ClusterError> {
    let status = Cluster::status(&args.dir)?;
    if args.json {
        let json = serde_json::to_string_pretty(&status)
            .map_err(|error| ClusterError::Io("write the status as JSON", error.into()))?;
        say(&format!("{json}\n"));
    } else {
        say(&describe(&status));
    }
    Ok(())
}

fn describe(status: &ClusterStatus) -> String {
    let (dir, kind) = (status.dir.display(), status.kind.name());
    let mut text = format!("Cluster   {dir} ({}, {kind}, database {})\n", status.flavor, status.database);
    if status.phase == Phase::Creating {
        text.push_str("          not complete: `weir up` starts it over\n");
    }
    text.push_str(&format!("Weir      {}\n\n", status.weir.as_ref().map_or("never started".to_owned(), front)));
    let heading = ["NAME", "ROLE", "PID", "PORT", "STATE", "VERSION", "UPTIME", "REPLICATION"].map(str::to_owned);
    let mut rows = vec![heading];
    rows.extend(status.servers.iter().map(server_row));
    text.push_str(&table(&rows));
    text
}

fn front(front: &FrontStatus) -> String {
    let state = state(front.pid, front.answers);
    let pid = front.pid.map_or(String::new(), |pid| format!(", pid {pid}"));
    let uptime = front.uptime_seconds.map_or(String::new(), |seconds| format!(", for {}", duration(seconds)));
    format!("{}  {state}{pid}{uptime}", front.address)
}

fn state(pid: Option<i32>, answers: bool) -> &'static str {
    match (pid, answers) {
        (None, _) => "down",
        (Some(_), false) => "silent",
        (Some(_), true) => "up",
    }
}

fn server_row(server: &ServerStatus) -> [String; 8] {
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    [
        server.name.clone(),
        server.role.clone(),
        or_dash(server.pid.map(|pid| pid.to_string())),
        server.port.to_string(),
        state(server.pid, server.answers).to_owned(),
        or_dash(server.version.clone()),
        or_dash(server.uptime_seconds.map(duration)),
        or_dash(server.replication.as_ref().map(replication)),
    ]
}

fn replication(status: &ReplicationStatus) -> String {
    match (status.is_running(), status.lag_seconds) {
        (true, Some(lag)) => format!("running, {lag} s behind"),
        (true, None) => "running".to_owned(),
        (false, _) if status.last_error.is_empty() => {
            format!("receiver {}, applier {}", status.receiver, status.applier)
        }
        (false, _) => format!("stopped: {}", status.last_error.lines().next().unwrap_or_default()),
    }
}

fn duration(seconds: u64) -> String {
    match (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0, seconds) => format!("{seconds}s"),
        (0, 0, minutes, seconds) => format!("{minutes}m {seconds}s"),
        (0, hours, minutes, _) => format!("{hours}h {minutes}m"),
        (days, hours, ..) => format!("{days}d {hours}h"),
    }
}

/// Left-aligned columns, two spaces apart.
fn table<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let widths: [usize; COLUMNS] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0));
    let line = |row: &[String; COLUMNS]| {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short_and_true() {
        let cases = [(0, "0s"), (59, "59s"), (61, "1m 1s"), (3_600, "1h 0m"), (90_061, "1d 1h")];
        for (seconds, text) in cases {
            assert_eq!(duration(seconds), text);
        }
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["a", "bb"], ["ccc", "d"]].map(|row| row.map(str::to_owned));
        assert_eq!(table(&rows), "a    bb\nccc  d\n");
    }
}
