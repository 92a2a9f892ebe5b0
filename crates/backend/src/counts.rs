//! The numbers that workers publish of their pools and lanes: plain data, for display and metrics.

/// Numbers of a pool, for `WEIR SHOW POOLS`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PoolCounts {
    /// Open connections of this worker.
    pub open: usize,
    /// Those that nobody uses.
    pub idle: usize,
    /// Statements that wait.
    pub waiting: usize,
    /// Connections kept for what a statement left.
    pub held: usize,
    /// Lanes.
    pub lanes: LaneCounts,
}

/// Numbers of a worker's lanes, for `WEIR SHOW POOLS` and metrics.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LaneCounts {
    /// Lanes.
    pub lanes: usize,
    /// Statements in flight on them.
    pub in_flight: usize,
    /// Statements in flight on a lane when it was written to, on average over the last second.
    pub depth: f64,
    /// Statements sent with one write, on average over the last second.
    pub batch: f64,
    /// Statements that left a lane because one before them held it up, since the start.
    pub stalls: usize,
}
