//! Definitions of tables, indexes, views, databases, sequences and what stores them.
//!
//! What must hold: as in [`ast`](super). A clause that only its server has to understand is a span.

mod alter;
mod column;
mod database;
mod drop;
mod index;
mod key;
mod options;
mod partition;
mod placement;
mod sequence;
mod table;
mod view;

pub use alter::*;
pub use column::*;
pub use database::*;
pub use drop::*;
pub use index::*;
pub use key::*;
pub use options::*;
pub use partition::*;
pub use placement::*;
pub use sequence::*;
pub use table::*;
pub use view::*;
