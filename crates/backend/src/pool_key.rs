//! Which connections of a server are interchangeable.

use std::sync::Arc;

use weir_wire::Capabilities;

/// Which connections are interchangeable.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PoolKey {
    /// The user that they are logged in as.
    pub user: Arc<[u8]>,
    /// What was asked of the server beyond Weir's own needs.
    pub capabilities: Capabilities,
}
