//! Counters of the server side, for Prometheus and `WEIR SHOW POOLS`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;

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
    /// Connections reset between sessions.
    pub resets: Counter,
    /// Statements prepared on a connection because it did not have them.
    pub prepares: Counter,
    /// Connections closed because a reply was left unread, or broke off.
    pub broken: Counter,
    /// Microseconds that statements waited for a connection.
    pub queue_micros: Arc<AtomicU64>,
}

impl Metrics {
    /// Registers all of them.
    pub fn register(&self, registry: &mut Registry) {
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
        counter("resets", "Server connections reset between sessions", &self.resets);
        counter("prepares", "Statements prepared on a connection that did not have them", &self.prepares);
        counter("broken", "Server connections closed in mid-reply", &self.broken);
    }

    /// Adds to the time that statements have waited.
    pub fn add_queue_time(&self, waited: std::time::Duration) {
        self.queue_micros.fetch_add(waited.as_micros() as u64, Ordering::Relaxed);
    }
}
