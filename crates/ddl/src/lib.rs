//! Definitions on several shards, and SHOW and `information_schema` of logical objects.
//!
//! What must always hold: it knows no client sockets; a shard and the catalog disagree over an object only while a definition's record says
//! so.
//!
//! * [`define`]: CREATE, ALTER, DROP and the like; [`routine`], [`view`]: what servers say of stored procedures and functions, and of views.
//! * [`show`]: SHOW, ANALYZE, `information_schema`.
//! * [`hot_tables`]: how changes of a table's hot rows are made.
//! * [`check`], [`attach`], [`rebuild`]: the catalog and what the servers have.
#![forbid(unsafe_code)]

pub mod attach;
pub mod check;
pub mod define;
pub mod hot_tables;
pub mod rebuild;
pub mod routine;
pub mod show;
pub mod view;
