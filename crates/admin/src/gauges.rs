//! Numbers that nobody counts: they are read from the registry and the servers whenever metrics are asked for.

use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;
use weir_backend::Server;

use crate::sessions::Registry;

/// Reads the gauges.
#[derive(Debug)]
pub(crate) struct Gauges {
    registry: Arc<Registry>,
    servers: Vec<Arc<Server>>,
}

impl Gauges {
    /// Gauges of these sessions and servers.
    pub(crate) fn new(registry: Arc<Registry>, servers: Vec<Arc<Server>>) -> Gauges {
        Gauges { registry, servers }
    }
}

/// What is read of a server.
type Reading = (&'static str, &'static str, fn(&Server) -> i64);

const READINGS: [Reading; 9] = [
    ("weir_server_up", "Whether the server answers", |s| i64::from(s.facts().health.name() == "up")),
    ("weir_pool_open", "Connections open to the server", |s| count(s.limits.open())),
    ("weir_pool_limit", "The most connections that may be open to the server", |s| count(s.limits.max)),
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
            for server in &self.servers {
                let labels = [("server", server.settings.name.as_str())];
                ConstGauge::new(read(server)).encode(family.encode_family(&labels)?)?;
            }
        }
        let sessions = ConstGauge::new(count(self.registry.len()));
        let family = encoder.encode_descriptor("weir_sessions", "Client sessions", no_unit, sessions.metric_type())?;
        sessions.encode(family)
    }
}
