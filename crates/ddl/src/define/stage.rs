//! How far a definition is, for whoever has to stop it meanwhile.
//!
//! What must always hold: what is killed while it is [`At::Running`] is the definition's own text, and dropping it while it is
//! [`At::Waiting`] leaves no trace of it.

use std::cell::Cell;

/// What a definition does.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// Nobody has recorded it yet: it waits for other definitions, or reads what is there.
    #[default]
    Waiting,
    /// It has to come to its end: the catalog changes, or shards are asked what they have.
    Settling,
    /// Shards run its text.
    Running,
    /// Shards take it back, as another one has refused it.
    Undoing,
}

/// How far a definition is. It changes only while the definition is polled.
#[derive(Debug, Default)]
pub struct Stage(Cell<At>);

impl Stage {
    /// What it does now.
    pub fn at(&self) -> At {
        self.0.get()
    }

    /// From now on.
    pub(super) fn set(&self, at: At) {
        self.0.set(at);
    }

    /// While this runs.
    pub(super) async fn during<T>(&self, at: At, what: impl Future<Output = T>) -> T {
        let before = self.0.replace(at);
        let done = what.await;
        self.0.set(before);
        done
    }
}
