//! Server connections, per-worker pools and session-state replay.
