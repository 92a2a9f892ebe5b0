//! The MySQL client/server protocol, sans-IO, both directions.
