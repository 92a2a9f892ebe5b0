//! Names that mean something by themselves.

/// Whether a database is one that each server has for itself.
pub fn is_servers_schema(name: &[u8]) -> bool {
    const OWN: [&str; 4] = ["information_schema", "performance_schema", "mysql", "sys"];
    OWN.iter().any(|own| name.eq_ignore_ascii_case(own.as_bytes()))
}
