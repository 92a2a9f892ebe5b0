//! Where the catalog is kept: a versioned document behind a small trait, in an embedded file.
//!
//! What must always hold: a change is a compare-and-swap on the version; once a store reports success, the change is on disk.
//!
//! * [`document`]: the catalog as text, with its version, and back.
//! * [`writer`]: the documents of successive versions.
//! * [`delta`]: versions as changes of the version before.
//! * [`store`]: what a store does, and how it fails.
//! * [`embedded`]: a store in one file.
#![forbid(unsafe_code)]

pub mod delta;
pub mod document;
pub mod embedded;
pub mod store;
pub mod writer;

pub use delta::Chain;
pub use document::{Document, DocumentError};
pub use embedded::{Embedded, Follower};
pub use store::{Store, StoreError};
pub use writer::Writer;
