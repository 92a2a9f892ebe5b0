//! Definitions while tables are locked: what servers allow then, and what becomes of the locks.
//!
//! What must always hold: a definition runs on the connections that have the locks, or not at all; after it, the names that count as locked
//! are those that are locked there.

use weir_sql::Dialect;
use weir_sql::ast::{self, AlterActionKind, DropKind, ObjectName, ProgramKind, StatementKind};
use weir_wire::Failure;
use weir_wire::error::codes;

use super::super::super::Session;
use super::super::super::sharded::definitions::under_locks;
use super::super::super::state::TableName;
use super::{Locked, folded, locked_to_read, not_locked};

impl Session {
    /// What servers refuse of a definition under table locks, in their words; and what would take connections without these locks.
    pub(in crate::session) fn may_define_locked(
        &self,
        statement: &ast::Statement<'_>,
        shards: &[usize],
    ) -> Result<(), Failure> {
        if never_under_locks(&statement.kind, self.identity.mariadb) {
            let message =
                "Can't execute the given command because you have active locked tables or an active transaction";
            return Err(Failure::client(codes::ER_LOCK_OR_ACTIVE_TRANSACTION, message));
        }
        if !self.table_locks.has_views {
            for name in changed_tables(&statement.kind) {
                let shown = String::from_utf8_lossy(name.name.name);
                match self.full_table_name(name).map(|full| self.locked_as(&full)) {
                    Some(None) => return Err(not_locked(&shown)),
                    Some(Some(false)) => return Err(locked_to_read(&shown)),
                    _ => {}
                }
            }
        }
        match is_of_tables(&statement.kind) && self.has_locks_on(shards) {
            true => Ok(()),
            false => Err(under_locks()),
        }
    }

    /// Whether a table is locked, by whichever name, and then whether to be written.
    fn locked_as(&self, table: &TableName) -> Option<bool> {
        let locks = self.table_locks.names.values().filter(|locked| locked.table == *table);
        locks.map(|locked| locked.writes).max()
    }

    fn full_table_name(&self, name: &ObjectName<'_>) -> Option<TableName> {
        let catalog = self.sharding()?.catalog();
        let database = name.database.map(|database| database.name).or(self.state.profile.database.as_deref())?;
        let (database, _) = catalog.database(database)?;
        Some((database.as_bytes().to_vec(), folded(name.name.name, catalog.fold_case)))
    }

    /// What is locked after a definition has been done. Servers end the locks with the last table that is dropped. MySQL goes on with a
    /// table's lock under its new name; on MariaDB no name has it then.
    pub(in crate::session) async fn follow_locked_names(&mut self, statement: &ast::Statement<'_>) {
        if !self.has_table_locks() {
            return;
        }
        match statement.kind {
            StatementKind::DropTables(drop) => {
                for name in drop.names {
                    self.forget_locked(name);
                }
                let locks = &self.table_locks;
                if locks.names.is_empty() && !locks.has_views && !locks.has_others {
                    self.unlock_tables().await;
                }
            }
            StatementKind::RenameTables(renamed) => {
                for rename in renamed.renames {
                    self.rename_locked(&rename.from, &rename.to);
                }
            }
            StatementKind::AlterTable(alter) => {
                for action in alter.actions {
                    if let AlterActionKind::RenameTable(to) = &action.kind {
                        self.rename_locked(&alter.table, to);
                    }
                }
            }
            _ => {}
        }
    }

    fn forget_locked(&mut self, name: &ObjectName<'_>) {
        if let Some(full) = self.full_table_name(name) {
            self.table_locks.names.retain(|_, locked| locked.table != full);
        }
    }

    fn rename_locked(&mut self, from: &ObjectName<'_>, to: &ObjectName<'_>) {
        let (Some(old), Some(new)) = (self.full_table_name(from), self.full_table_name(to)) else { return };
        let continues = self.state.lex.dialect == Dialect::MySql;
        let names = std::mem::take(&mut self.table_locks.names);
        let of_new = |shown: TableName, locked: Locked| match (locked.table == old, shown == old) {
            (false, _) => (shown, locked),
            (true, true) => (new.clone(), Locked { table: new.clone(), ..locked }),
            (true, false) => (shown, Locked { table: new.clone(), ..locked }),
        };
        let kept = names.into_iter().filter(|(_, locked)| continues || locked.table != old);
        self.table_locks.names = kept.map(|(shown, locked)| of_new(shown, locked)).collect();
    }
}

/// What servers refuse whatever is locked (1192).
fn never_under_locks(kind: &StatementKind<'_>, mariadb: bool) -> bool {
    match kind {
        StatementKind::CreateView(_)
        | StatementKind::CreateDatabase(_)
        | StatementKind::AlterDatabase(_)
        | StatementKind::DropDatabase(_)
        | StatementKind::CreateRoutine(_)
        | StatementKind::AlterRoutine(_)
        | StatementKind::CreateEvent(_)
        | StatementKind::AlterEvent(_) => true,
        StatementKind::DropTables(drop) => drop.kind == DropKind::View,
        StatementKind::RenameTables(_) => mariadb,
        StatementKind::DropProgram(drop) => drop.kind != ProgramKind::Trigger,
        _ => false,
    }
}

/// Whether a definition is of tables, with their keys and triggers.
fn is_of_tables(kind: &StatementKind<'_>) -> bool {
    !changed_tables(kind).is_empty() || matches!(kind, StatementKind::DropProgram(_))
}

/// The tables that a definition changes or makes, which have to be locked.
fn changed_tables<'a>(kind: &StatementKind<'a>) -> Vec<&'a ObjectName<'a>> {
    match kind {
        StatementKind::AlterTable(alter) => vec![&alter.table],
        StatementKind::CreateIndex(create) => vec![&create.table],
        StatementKind::DropIndex(drop) => vec![&drop.table],
        StatementKind::Truncate(truncate) => vec![&truncate.table],
        StatementKind::CreateTable(create) => vec![&create.name],
        StatementKind::CreateTrigger(create) => vec![&create.table],
        StatementKind::DropTables(drop) if drop.kind == DropKind::Table => drop.names.iter().collect(),
        StatementKind::RenameTables(rename) => {
            // Steps may go on from names that earlier ones have given.
            let is_given =
                |at: usize, name: &ObjectName<'_>| rename.renames[..at].iter().any(|earlier| same(&earlier.to, name));
            let steps = rename.renames.iter().enumerate();
            steps.filter(|(at, step)| !is_given(*at, &step.from)).map(|(_, step)| &step.from).collect()
        }
        _ => Vec::new(),
    }
}

fn same(one: &ObjectName<'_>, other: &ObjectName<'_>) -> bool {
    let database = |name: &ObjectName<'_>| name.database.map(|database| database.name.to_ascii_lowercase());
    database(one) == database(other) && one.name.name.eq_ignore_ascii_case(other.name.name)
}
