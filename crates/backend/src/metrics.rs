//! Counters of the server side, for Prometheus and `WEIR SHOW POOLS`.

use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::{Registry, Unit};

/// Counters shared by all workers.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    /// Connections made to servers.
    pub connects: Counter,
    /// Connections that could not be made.
    pub connect_errors: Counter,
    /// Statements that had to wait for a connection.
    pub queued: Counter,
    /// Statements that waited longer than the bound.
    pub queue_timeouts: Counter,
    /// Statements refused because the queue was full.
    pub queue_refusals: Counter,
    /// Connections that were brought into another session's profile.
    pub profile_changes: Counter,
    /// Insert ids that said what `LAST_INSERT_ID()` is.
    pub insert_ids_told: Counter,
    /// Questions for `LAST_INSERT_ID()`, asked before a connection changed hands.
    pub insert_ids_asked: Counter,
    /// Connections reset between sessions.
    pub resets: Counter,
    /// Statements prepared on a connection because it did not have them.
    pub prepares: Counter,
    /// Connections closed because a reply was left unread, or broke off.
    pub broken: Counter,
    /// Lanes opened.
    pub lanes_opened: Counter,
    /// Lanes closed.
    pub lanes_closed: Counter,
    /// Statements put on lanes.
    pub lane_rides: Counter,
    /// Writes to lanes.
    pub lane_writes: Counter,
    /// Statements in flight on the lane, summed over the writes.
    pub lane_depths: Counter,
    /// Statements that left their lane because one before them held it up.
    pub lane_stalls: Counter,
    /// Statements that left their lane because of what they did: a large reply, an error, warnings.
    pub lane_unfit: Counter,
    /// Statements that left their lane because its connection broke.
    pub lane_losses: Counter,
    /// Statements left on lanes that were killed on the server because nobody waited for them any more.
    pub lane_kills: Counter,
    /// Seconds that statements waited for a connection.
    pub queue_seconds: Counter<f64, AtomicU64>,
}

impl Metrics {
    /// Registers all of them.
    pub fn register(&self, registry: &mut Registry) {
        let help = "Time that statements waited for a server connection";
        registry.register_with_unit("weir_backend_queue", help, Unit::Seconds, self.queue_seconds.clone());
        let mut counter = |name: &str, help: &str, counter: &Counter| {
            registry.register(format!("weir_backend_{name}"), help, counter.clone());
        };
        counter("connects", "Connections made to servers", &self.connects);
        counter("connect_errors", "Connections to servers that could not be made", &self.connect_errors);
        counter("queued", "Statements that waited for a server connection", &self.queued);
        counter(
            "queue_timeouts",
            "Statements that waited for a server connection longer than the bound",
            &self.queue_timeouts,
        );
        counter("queue_refusals", "Statements refused because the queue was full", &self.queue_refusals);
        counter("profile_changes", "Server connections brought into another session's profile", &self.profile_changes);
        counter(
            "insert_ids_told",
            "Insert ids that told LAST_INSERT_ID(), while connections were short",
            &self.insert_ids_told,
        );
        let help = "Questions for LAST_INSERT_ID() before a server connection changed hands";
        counter("insert_ids_asked", help, &self.insert_ids_asked);
        counter("resets", "Server connections reset between sessions", &self.resets);
        counter("prepares", "Statements prepared on a connection that did not have them", &self.prepares);
        counter("lanes_opened", "Lanes opened", &self.lanes_opened);
        counter("lanes_closed", "Lanes closed", &self.lanes_closed);
        counter("lane_rides", "Statements put on lanes", &self.lane_rides);
        counter("lane_writes", "Writes to lanes, each with all statements of one turn", &self.lane_writes);
        counter("lane_depths", "Statements in flight on a lane, summed over the writes to it", &self.lane_depths);
        counter("lane_stalls", "Statements that left a lane because one before them held it up", &self.lane_stalls);
        counter("lane_unfit", "Statements that left a lane for a large reply, an error or warnings", &self.lane_unfit);
        counter("lane_losses", "Statements that left a lane because its connection broke", &self.lane_losses);
        counter("lane_kills", "Statements killed on lanes because nobody waited for them any more", &self.lane_kills);
        counter("broken", "Server connections closed in mid-reply", &self.broken);
    }
}
