//! From a statement to a plan: which shards, which texts, and how replies become one.
//!
//! What must always hold: planning is a pure function of the statement, a catalog snapshot and the session's facts: no pool, no clock,
//! no randomness, no I/O. What can't be done exactly is a [`Refusal`] with the reason, never an approximation. Texts that shards get
//! are the client's own, changed at spans at most.
//!
//! * [`model`]: what plans are made of.
//! * [`session`]: what a plan depends on, apart from the statement and the catalog.
//! * `planner`: what everything about one statement is planned with; `known`: values that are known; `piece`: parts of texts that are made.
//! * `text`: changes of the client's text; `again`: plans of texts that were made so.
//! * `statement`: what is done with which kind of statement; `route`: everything on one shard.
//! * [`routines`]: what stored procedures and functions do, and where.
//! * `scatter`: reads of several shards; `locks`: LOCK TABLES and FLUSH TABLES.
//! * `hinted`: statements whose hint names the shard.
//! * `workbench`: queries that need rows of several shards in one place; `gates`: what neither can ask.
//! * [`explain`]: plans for people.
//! * `refusal`: why a statement is not planned, by what it would take.
//! * `information`: queries over `information_schema`; [`views`]: where views are.
//! * `analysis`: tables, and what conditions say of their columns; `constant`: values; `place`: where values are; `effort`: how much work
//!   there may be.
//! * [`batch`]: a large write as parts.
//! * [`write`]: INSERT, REPLACE, UPDATE, DELETE and LOAD of several shards.
#![forbid(unsafe_code)]

mod again;
mod aggregate;
mod analysis;
pub mod batch;
mod block;
mod constant;
mod effort;
pub mod explain;
mod gates;
mod hinted;
mod information;
mod known;
mod locks;
pub mod model;
mod piece;
mod place;
mod planner;
mod refusal;
mod route;
pub mod routines;
mod scatter;
pub mod session;
mod set_statement;
mod statement;
mod template;
mod text;
mod trace;
pub mod views;
mod workbench;
pub mod write;

pub use effort::Effort;
pub use model::*;
pub use refusal::{Need, Refusal};
pub use session::{Running, SessionFacts, TemporaryNames};
pub use set_statement::sets_select_limit;
pub use statement::{plan, plan_within};
pub use template::{Given, Scratch, Template, Templates, plan_traced};
pub use workbench::passed;
