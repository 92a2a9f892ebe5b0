//! Comparing both sides of a move.

use std::time::Duration;

/// How both sides are compared.
#[derive(Debug, Clone)]
pub struct VerifySettings {
    /// The most differences that are told.
    pub most_differences: usize,
    /// The longest wait for the engine to follow, when a difference is looked at again.
    pub patience: Duration,
}

impl Default for VerifySettings {
    fn default() -> VerifySettings {
        VerifySettings { most_differences: 20, patience: Duration::from_secs(30) }
    }
}

/// What came of a comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verification {
    /// Rows of the sources that were compared.
    pub rows: u64,
    /// Chunks of them.
    pub chunks: u64,
    /// What differs lastingly, up to the bound.
    pub differences: Vec<Difference>,
    /// There are more differences than these.
    pub more: bool,
}

/// A row that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The table.
    pub table: String,
    /// The row's key, as SQL: `id = 5`.
    pub key: String,
    /// How it differs.
    pub kind: DifferenceKind,
}

/// How a row differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DifferenceKind {
    /// The sources have it, the targets don't (or fewer of them than should).
    Missing,
    /// The targets have it, the sources don't.
    Extra,
    /// Both have it, with other values or in another place.
    Changed,
}

pub(crate) async fn verify(
    handle: &crate::Handle,
    shared: &crate::shared::Shared,
    settings: VerifySettings,
) -> Result<Verification, crate::MoveError> {
    let _ = (handle, shared, settings);
    Err(crate::MoveError::internal("not yet"))
}
