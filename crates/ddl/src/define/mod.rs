//! Definitions of logical objects: CREATE, ALTER, DROP and the like, on all shards that have the object.
//!
//! What must always hold: no shard hears of a definition before its record is in the catalog; what not all shards have is shown
//! ([`weir_catalog::Definition`]) and refused to other definitions until it is resumed or cancelled; the catalog changes in one go
//! with the record's end.
//!
//! * [`intend`]: from a statement ([`asked`]) to what is to be done ([`intent`]), a pure function. By kind of statement: `tables`, `alter`,
//!   `views`, `programs` (routines, triggers), `events` (`body_use`: what bodies use); `place`: where a new table's rows are.
//! * [`run`]: one shard first, then the others at once; `conclude`: what their answers mean; `undo`, `restore`: how a definition is taken
//!   back; [`resume`]: finishes a definition that was left.
//! * `obstacles`: what stands in a definition's way. `held`: locks on what is dropped or emptied, on all shards before one does so.
//! * `progress`: the record of a definition; `reread`: what servers report of the objects that it changed (`read_table`: of one table);
//!   `collations`: what servers report of collations before a table is placed.
//! * [`records`]: the catalog and Weir's own connections, as a trait; `sharding`: those of a running Weir; [`reach`]: connections of one that is resumed.
//! * [`stage`]: how far a definition is, for who has to stop it.
//! * [`already`]: how a shard that has it already is recognised.
//! * [`multi_object`]: statements about several tables, and what each shard gets.
//! * [`filled`]: CREATE TABLE … SELECT of rows of several shards.
//! * [`replacing`]: CREATE OR REPLACE TABLE that needs other shards.
//! * [`placing`]: where a table that is there would be by another clause.
//! * [`single`]: tables that were sharded only by default, and become SINGLE.
//! * [`weir_shards::locks`]: who may define what, within this process.

pub mod already;
mod alter;
pub mod asked;
mod body_use;
mod collations;
mod conclude;
mod events;
pub mod filled;
mod held;
pub mod intend;
pub mod intent;
mod multi_object;
pub(crate) mod names;
mod obstacles;
mod place;
pub mod placing;
mod programs;
mod progress;
pub mod reach;
mod read_table;
pub mod records;
pub mod replacing;
mod reread;
mod restore;
pub mod resume;
pub mod run;
mod sharding;
pub(crate) mod shards;
mod single;
mod stage;
mod tables;
#[cfg(test)]
mod tests;
mod undo;
mod views;

pub use asked::Asked;
pub use intend::intend;
pub use intent::Intent;

pub use programs::may_have_trigger;
pub use reach::{Reach, WithOwnAccount};
pub use records::Records;
pub use resume::{Cancelled, cancel, resume};
pub use run::define;
pub use single::NotDefined;
pub use stage::{At, Stage};

use weir_sql::ast::{DropTables, StatementKind};

/// Whether a statement is a definition. Those of objects of unsharded databases are none of ours all the same: [`intend`] says so.
pub fn is_definition(kind: &StatementKind<'_>) -> bool {
    match kind {
        StatementKind::CreateTable(create) => !create.temporary,
        StatementKind::DropTables(DropTables { temporary, .. }) => !temporary,
        StatementKind::DefineSequence(sequence) => !sequence.temporary,
        StatementKind::Set(set) => set.items.iter().any(|item| item.kind.is_of_account()),
        StatementKind::AlterTable(_)
        | StatementKind::Truncate(_)
        | StatementKind::RenameTables(_)
        | StatementKind::CreateIndex(_)
        | StatementKind::DropIndex(_)
        | StatementKind::CreateView(_)
        | StatementKind::CreateDatabase(_)
        | StatementKind::AlterDatabase(_)
        | StatementKind::DropDatabase(_)
        | StatementKind::ServerObject(_)
        | StatementKind::CreateRoutine(_)
        | StatementKind::CreateLoadableFunction(_)
        | StatementKind::CreateLibrary(_)
        | StatementKind::CreateTrigger(_)
        | StatementKind::CreateEvent(_)
        | StatementKind::AlterRoutine(_)
        | StatementKind::AlterEvent(_)
        | StatementKind::DropProgram(_)
        | StatementKind::CreateUser(_)
        | StatementKind::AlterUser(_)
        | StatementKind::RenameUser(_)
        | StatementKind::CreateRole(_)
        | StatementKind::DropAccounts(_)
        | StatementKind::Grant(_)
        | StatementKind::Revoke(_) => true,
        _ => false,
    }
}
