//! Counters of the client side.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Counters shared by all workers.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    /// Client connections accepted.
    pub accepted: Counter,
    /// Client connections refused because of a limit on their number.
    pub refused: Counter,
    /// Logins refused.
    pub denied: Counter,
    /// Client connections open.
    pub sessions: Gauge,
    /// Commands received.
    pub commands: Counter,
    /// Commands answered without a server.
    pub answered_here: Counter,
    /// Errors that Weir itself sent.
    pub errors: Counter,
    /// Connections closed because the client did not read for the bound.
    pub stalled: Counter,
    /// Connections closed because the client broke the protocol, or was idle or unauthenticated for too long.
    pub dropped: Counter,
    /// Statements killed.
    pub kills: Counter,
    /// Reads that ran on readers.
    pub reads_on_readers: Counter,
    /// Reads that found their reader too far behind and ran elsewhere.
    pub reads_late: Counter,
    /// Reads that ran on another server than the one chosen first.
    pub reads_rerouted: Counter,
    /// Statements that waited for a writer to be there.
    pub writer_waits: Counter,
    /// Transactions that were run again when their server was lost.
    pub transactions_replayed: Counter,
    /// Lost transactions that were to be run again, and could not be.
    pub replays_given_up: Counter,
    /// Sessions that keep a server connection between two statements.
    pub pinned: Gauge,
    /// Statements that took a workbench.
    pub workbench_statements: Counter,
    /// Rows gathered on workbenches.
    pub workbench_rows: Counter,
    /// Bytes of these rows.
    pub workbench_bytes: Counter,
}

impl Metrics {
    /// Registers all of them.
    pub fn register(&self, registry: &mut Registry) {
        let counters = [
            ("accepted", "Client connections accepted", &self.accepted),
            ("refused", "Client connections refused because of a limit on their number", &self.refused),
            ("denied", "Logins refused", &self.denied),
            ("commands", "Commands received from clients", &self.commands),
            ("answered_here", "Commands answered without a server", &self.answered_here),
            ("errors", "Errors that Weir itself sent to clients", &self.errors),
            ("stalled", "Clients cut off because they did not read", &self.stalled),
            ("dropped", "Clients cut off because of protocol errors or timeouts", &self.dropped),
            ("kills", "Statements and sessions killed", &self.kills),
            ("reads_on_readers", "Reads that ran on readers", &self.reads_on_readers),
            ("reads_late", "Reads whose reader did not reach the session's position in time", &self.reads_late),
            ("reads_rerouted", "Reads that ran on another server than the one chosen first", &self.reads_rerouted),
            ("writer_waits", "Statements that waited for a writer to be there", &self.writer_waits),
            (
                "transactions_replayed",
                "Transactions that were run again when their server was lost",
                &self.transactions_replayed,
            ),
            (
                "replays_given_up",
                "Lost transactions with transaction_replay that could not be run again",
                &self.replays_given_up,
            ),
        ];
        for (name, help, counter) in counters {
            registry.register(format!("weir_client_{name}"), help, counter.clone());
        }
        let gathered = [
            ("statements", "Statements that gathered rows of several shards on one server", &self.workbench_statements),
            ("rows", "Rows that statements gathered on one server", &self.workbench_rows),
            ("bytes", "Bytes of rows that statements gathered on one server", &self.workbench_bytes),
        ];
        for (name, help, counter) in gathered {
            registry.register(format!("weir_workbench_{name}"), help, counter.clone());
        }
        registry.register("weir_client_sessions", "Client connections open", self.sessions.clone());
        registry.register("weir_client_pinned", "Sessions bound to a server connection", self.pinned.clone());
    }
}
