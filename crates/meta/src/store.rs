//! What a store does, and how it fails.
//!
//! What must always hold: versions have no gaps for writers; [`Store::put`] succeeds only when the version will survive a crash. Calls may wait for
//! a disk or a network: make them on a thread that may block.

use std::fmt;
use std::path::PathBuf;

use tokio::sync::watch;

use crate::document::{Document, DocumentError};

/// How many versions a store keeps.
pub const KEPT: u64 = 100;

/// A place for the versions of a document.
pub trait Store: fmt::Debug + Send + Sync {
    /// The newest version; `None` in a store that nothing was put into.
    ///
    /// # Errors
    /// When it can't be read.
    fn newest(&self) -> Result<Option<Document>, StoreError>;

    /// An older version, if it is still kept.
    ///
    /// # Errors
    /// When it can't be read.
    fn version(&self, version: u64) -> Result<Option<Document>, StoreError>;

    /// Makes this the newest version, if the newest one is `expected` (0: there is none).
    ///
    /// # Errors
    /// [`StoreError::Changed`] when another version is the newest one; nothing was changed then. Any other error leaves open whether
    /// it was stored: [`Store::newest`] tells.
    fn put(&self, expected: u64, document: &Document) -> Result<(), StoreError>;

    /// Sees to it that what was stored is still where it belongs, as far as that can be seen without reading it.
    ///
    /// # Errors
    /// When it is not, and can't be put back.
    fn keep(&self) -> Result<(), StoreError>;

    /// Tells the newest version whenever it changes.
    fn watch(&self) -> watch::Receiver<u64>;
}

/// How a store fails.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Somebody else was faster.
    #[error("the catalog has changed: its version is {found}, not {expected}")]
    Changed {
        /// What was expected.
        expected: u64,
        /// What was found.
        found: u64,
    },
    /// A version that does not grow.
    #[error("version {new} can't follow version {newest}")]
    NotNewer {
        /// The version that was to be put.
        new: u64,
        /// The newest one.
        newest: u64,
    },
    /// Another process has the file.
    #[error(
        "the catalog {} is in use by another process: one Weir at a time writes it. End that one first; \
         an upgrade without an end is `weir serve --takeover`", path.display()
    )]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// There is no file to read.
    #[error("there is no catalog at {}", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// Another file bears its name.
    #[error(
        "the catalog {} was replaced by another file while Weir runs: nothing is changed any more. Move the other one away, and Weir \
         writes its own again; or end Weir, and start it with the other one", path.display()
    )]
    Replaced {
        /// The file.
        path: PathBuf,
    },
    /// The file is not what was written to it.
    #[error(
        "the catalog {} is damaged ({why}): move it away, and make it anew from the copies in the shards with \
         `weir catalog rebuild --config FILE`", path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// In which way.
        why: String,
    },
    /// A document in it can't be read by this program.
    #[error("the catalog {}: {source}", path.display())]
    Document {
        /// The file.
        path: PathBuf,
        /// Why.
        source: DocumentError,
    },
    /// The system refuses.
    #[error("the catalog {}: {source}{}", path.display(), hint(source))]
    Io {
        /// The file.
        path: PathBuf,
        /// What it said.
        source: std::io::Error,
    },
}

/// What helps against an error of the system.
fn hint(source: &std::io::Error) -> &'static str {
    match source.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded | std::io::ErrorKind::FileTooLarge => {
            ". Nothing is lost, and statements run on: make room, and definitions work again"
        }
        _ => "",
    }
}
