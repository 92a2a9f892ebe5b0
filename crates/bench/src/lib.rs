//! `weir bench`: measures Weir beside what else clients could connect to, with real load tools, and reports it.
//!
//! The way of a run: [`options`] (what the user asks for) to [`plan`] (what will be run, in which order), a look at the
//! machine, a server and [`target`]s in a private directory, one load after the other, a [`record`], and its [`report`].
//!
//! Must always hold: real tools make the load; the targets take turns; what could not be measured is in the record with its
//! reason; a run that ends early leaves its record, and no process or directory of its own.
#![forbid(unsafe_code)]

mod catalogue;
mod console;
mod counters;
mod disk;
pub mod driver;
mod error;
mod files;
mod listing;
mod load;
mod machine;
mod options;
pub mod plan;
mod preflight;
mod procfs;
pub mod record;
pub mod report;
mod runner;
mod selection;
mod site;
mod sql;
mod stock;
mod store;
pub mod target;
mod tools;
mod tpcc;
mod trouble;
mod turn;

pub use catalogue::Bench;
pub use error::BenchError;
pub use listing::list;
pub use options::{DRIVER_ARGUMENTS, DRIVER_PASSWORD, DRIVER_STARTED, GivenServer, Options};
pub use runner::{Finished, run};
pub use selection::{Length, Prepared, Selection};
pub use store::{read, report_again};
