//! What the bench asks a running Weir about the replicas behind it: whether they take reads, and how many they took.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use mysql::prelude::Queryable;
use weir_local::{LocalError, wait_until};

use super::{Launcher, Target};
use crate::counters::Counters;
use crate::error::BenchError;
use crate::sql;

/// How long Weir may take to send reads to all replicas, once they have what the writer has.
const READY_BOUND: Duration = Duration::from_secs(60);
/// How long an answer of the metrics endpoint may take.
const ANSWER_BOUND: Duration = Duration::from_secs(10);
/// Before the names of Weir's counters in the record.
const PREFIX: &str = "weir.";
/// The counters that are kept, as the metrics endpoint names them.
const KEPT: [(&str, &str); 3] = [
    ("reads_on_readers", "weir_client_reads_on_readers_total "),
    ("reads_late", "weir_client_reads_late_total "),
    ("reads_rerouted", "weir_client_reads_rerouted_total "),
];

impl Launcher {
    /// Waits until Weir sends reads to all the replicas that it has.
    pub(crate) fn wait_for_readers(&self, target: &Target) -> Result<(), BenchError> {
        let replicas = target.variation.map_or(0, crate::plan::Variation::replicas);
        if replicas == 0 {
            return Ok(());
        }
        let of_weir = |source: mysql::Error| BenchError::Sql {
            server: format!("{}:{}", target.host, target.port),
            source: Box::new(source),
        };
        let mut connection = sql::connect(&target.host, target.port, &self.upstream).map_err(of_weir)?;
        let mut taking = || -> Result<u32, mysql::Error> {
            let rows: Vec<mysql::Row> = connection.query("WEIR SHOW SERVERS")?;
            let text = |row: &mysql::Row, column| row.get::<String, _>(column).unwrap_or_default();
            let takes_reads = |row: &&mysql::Row| text(row, "name") != "writer" && text(row, "reads") == "yes";
            Ok(rows.iter().filter(takes_reads).count().try_into().unwrap_or(u32::MAX))
        };
        let mut failure = None;
        let ready = wait_until(READY_BOUND, &self.cancel, || -> Result<Option<()>, LocalError> {
            match taking() {
                Ok(number) => Ok((number == replicas).then_some(())),
                Err(error) => {
                    failure = Some(error);
                    Ok(Some(()))
                }
            }
        })?;
        match (ready, failure) {
            (_, Some(error)) => Err(of_weir(error)),
            (Some(()), None) => Ok(()),
            (None, None) => Err(BenchError::Tool {
                tool: target.kind.label().to_owned(),
                reason: format!("not all of its {replicas} replicas take reads after {} s", READY_BOUND.as_secs()),
            }),
        }
    }
}

impl Target {
    /// Weir's own counters of reads on replicas, if it was started with replicas to split reads over.
    pub(crate) fn counters(&self) -> Result<Counters, BenchError> {
        let Some(address) = self.metrics else { return Ok(Counters::new()) };
        let failed = |reason: String| BenchError::Tool { tool: format!("{}'s metrics", self.kind.label()), reason };
        let text = get_metrics(address).map_err(|error| failed(error.to_string()))?;
        let read = |(name, line): &(&str, &str)| {
            let value = text.lines().find_map(|text| text.strip_prefix(line)?.trim().parse().ok());
            value.map(|value| (format!("{PREFIX}{name}"), value)).ok_or_else(|| failed(format!("there is no {line}")))
        };
        KEPT.iter().map(read).collect()
    }
}

fn get_metrics(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, ANSWER_BOUND)?;
    stream.set_read_timeout(Some(ANSWER_BOUND))?;
    stream.set_write_timeout(Some(ANSWER_BOUND))?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}
