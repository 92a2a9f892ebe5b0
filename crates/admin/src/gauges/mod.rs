//! Numbers that nobody counts: they are read from the registry and the servers whenever metrics are asked for.

mod statements;

use std::sync::Arc;
use std::time::Instant;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;
use weir_backend::Server;
use weir_topology::{Group, View};

use crate::sessions::Registry;
pub(crate) use statements::Statements;

/// Reads the gauges.
#[derive(Debug)]
pub(crate) struct Gauges {
    registry: Arc<Registry>,
    group: Arc<Group>,
}

impl Gauges {
    /// Gauges of these sessions and servers.
    pub(crate) fn new(registry: Arc<Registry>, group: Arc<Group>) -> Gauges {
        Gauges { registry, group }
    }

    /// What only the group knows of its servers.
    fn encode_roles(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let view = self.group.view();
        for (name, help, read) in ROLES {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for (index, server) in self.group.servers.iter().enumerate() {
                let labels = [("server", server.settings.name.as_str())];
                ConstGauge::new(i64::from(read(&view, index))).encode(family.encode_family(&labels)?)?;
            }
        }
        let help = "How long ago at most the replica had everything that was committed";
        let mut family = encoder.encode_descriptor("weir_server_lag", help, Some(&Unit::Seconds), MetricType::Gauge)?;
        for (index, (server, member)) in self.group.servers.iter().zip(&view.members).enumerate() {
            if let Some(as_of) = member.as_of.filter(|_| index != view.writer) {
                let lag = Instant::now().saturating_duration_since(as_of).as_secs_f64();
                let labels = [("server", server.settings.name.as_str())];
                ConstGauge::new(lag).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }

    fn encode_traffic(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        for (name, help, read) in DIRECTIONS {
            let mut family = encoder.encode_descriptor(name, help, Some(&Unit::Bytes), MetricType::Counter)?;
            for server in &self.group.servers {
                let labels = [("server", server.settings.name.as_str())];
                ConstCounter::new(read(server.traffic())).encode(family.encode_family(&labels)?)?;
            }
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
    ("weir_pool_generation", "Times that global variables were changed through Weir", |s| s.generation().cast_signed()),
];

fn count(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

impl Collector for Gauges {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let no_unit: Option<&Unit> = None;
        for (name, help, read) in READINGS {
            let gauge = ConstGauge::new(0_i64);
            let mut family = encoder.encode_descriptor(name, help, no_unit, gauge.metric_type())?;
            for server in &self.group.servers {
                let labels = [("server", server.settings.name.as_str())];
                ConstGauge::new(read(server)).encode(family.encode_family(&labels)?)?;
            }
        }
        self.encode_roles(&mut encoder)?;
        self.encode_traffic(&mut encoder)?;
        let sessions = ConstGauge::new(count(self.registry.len()));
        let family = encoder.encode_descriptor("weir_sessions", "Client sessions", no_unit, sessions.metric_type())?;
        sessions.encode(family)
    }
}
