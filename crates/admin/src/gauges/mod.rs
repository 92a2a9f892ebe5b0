//! Numbers that nobody counts: they are read from the registry and the servers whenever metrics are asked for.

mod hot_rows;
mod statements;

use std::sync::Arc;
use std::time::Instant;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;
use weir_backend::Server;
use weir_topology::{Group, View};

use crate::sessions::Registry;
pub(crate) use hot_rows::HotRowNumbers;
pub(crate) use statements::Statements;

/// Reads the gauges.
#[derive(Debug)]
pub(crate) struct Gauges {
    registry: Arc<Registry>,
    groups: Vec<Arc<Group>>,
}

/// A server, and what its group knows of it.
struct Of<'a> {
    view: &'a View,
    /// The server's index in the group.
    index: usize,
    server: &'a Server,
    group_name: &'a str,
}

impl Of<'_> {
    fn labels(&self) -> [(&str, &str); 2] {
        [("server", self.server.settings.name.as_str()), ("group", self.group_name)]
    }
}

impl Gauges {
    /// Gauges of these sessions and servers.
    pub(crate) fn new(registry: Arc<Registry>, groups: Vec<Arc<Group>>) -> Gauges {
        Gauges { registry, groups }
    }

    /// Writes a number of each server that has it.
    fn encode_each<N: EncodeMetric>(
        &self,
        mut family: MetricEncoder<'_>,
        number: impl Fn(&Of<'_>) -> Option<N>,
    ) -> Result<(), std::fmt::Error> {
        for group in &self.groups {
            let (view, settings) = (group.view(), group.settings());
            for (index, server) in group.servers.iter().enumerate() {
                let of = Of { view: &view, index, server, group_name: &settings.name };
                if let Some(number) = number(&of) {
                    number.encode(family.encode_family(&of.labels())?)?;
                }
            }
        }
        Ok(())
    }

    /// What only the groups know of their servers.
    fn encode_roles(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        for (name, help, read) in ROLES {
            let family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            self.encode_each(family, |of| Some(ConstGauge::new(i64::from(read(of.view, of.index)))))?;
        }
        let help = "Upper bound of the replica's lag";
        let family = encoder.encode_descriptor("weir_server_lag", help, Some(&Unit::Seconds), MetricType::Gauge)?;
        self.encode_each(family, |of| {
            let as_of = of.view.members[of.index].as_of.filter(|_| of.index != of.view.writer)?;
            Some(ConstGauge::new(Instant::now().saturating_duration_since(as_of).as_secs_f64()))
        })
    }

    fn encode_traffic(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        for (name, help, read) in DIRECTIONS {
            let family = encoder.encode_descriptor(name, help, Some(&Unit::Bytes), MetricType::Counter)?;
            self.encode_each(family, |of| Some(ConstCounter::new(read(of.server.traffic()))))?;
        }
        Ok(())
    }
}

/// What is read of a group's view of a server.
type RoleReading = (&'static str, &'static str, fn(&View, usize) -> bool);

const ROLES: [RoleReading; 2] = [
    ("weir_server_writer", "Whether the server is the writer", |view, index| index == view.writer),
    (
        "weir_server_usable",
        "Whether the server does its part: the writer can write, a replica takes reads",
        |view, index| {
            if index == view.writer { view.writer_unusable.is_none() } else { view.takes_reads(index) }
        },
    ),
];

/// What is read of a server's traffic: received, sent.
type TrafficReading = (&'static str, &'static str, fn((u64, u64)) -> u64);

const DIRECTIONS: [TrafficReading; 2] = [
    ("weir_server_received", "Bytes from the server", |(received, _)| received),
    ("weir_server_sent", "Bytes to the server", |(_, sent)| sent),
];

/// What is read of a server.
type Reading = (&'static str, &'static str, fn(&Server) -> i64);

const READINGS: [Reading; 9] = [
    ("weir_server_up", "Whether the server answers", |s| i64::from(s.facts().health.name() == "up")),
    ("weir_pool_open", "Connections open to the server", |s| count(s.limits.open())),
    ("weir_pool_limit", "The most connections that may be open to the server", |s| count(s.limits.max())),
    ("weir_pool_waiting", "Statements that wait for a connection", |s| count(s.limits.waiting())),
    ("weir_pool_idle", "Connections that nobody uses", |s| count(s.pool_counts().iter().map(|c| c.idle).sum())),
    ("weir_pool_held", "Connections kept for what a statement left", |s| {
        count(s.pool_counts().iter().map(|c| c.held).sum())
    }),
    ("weir_lanes", "Connections that are lanes", |s| count(s.pool_counts().iter().map(|c| c.lanes.lanes).sum())),
    ("weir_lanes_riding", "Statements in flight on lanes", |s| {
        count(s.pool_counts().iter().map(|c| c.lanes.in_flight).sum())
    }),
    (
        "weir_pool_generation",
        "Times that connections from before were retired: global variables were changed, or it answered on a new one only",
        |s| s.generation().cast_signed(),
    ),
];

fn count(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

impl Collector for Gauges {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let no_unit: Option<&Unit> = None;
        for (name, help, read) in READINGS {
            let gauge = ConstGauge::new(0_i64);
            let family = encoder.encode_descriptor(name, help, no_unit, gauge.metric_type())?;
            self.encode_each(family, |of| Some(ConstGauge::new(read(of.server))))?;
        }
        self.encode_roles(&mut encoder)?;
        self.encode_traffic(&mut encoder)?;
        let sessions = ConstGauge::new(count(self.registry.len()));
        let family = encoder.encode_descriptor("weir_sessions", "Client sessions", no_unit, sessions.metric_type())?;
        sessions.encode(family)
    }
}
