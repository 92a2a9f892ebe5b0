//! LOCK TABLES that are not taken, because the session said so: `weir_lock_tables = 'ignore'`.
//!
//! What must always hold: only who asked for it goes without locks, and is told of each lock that was not taken. The statement commits
//! what is open, as it does on one server.

use weir_sql::Pins;
use weir_sql::ast::StatementKind;
use weir_wire::error::codes;
use weir_wire::packets::OkPacket;

use super::super::Session;
use super::super::condition::Condition;
use super::super::latest::Diagnostics;
use super::super::statement::Statement;
use super::super::stopped::Stopped;

impl Session {
    /// Answers LOCK TABLES of tables of sharded databases without taking locks.
    pub(in crate::session) async fn ignore_locks(&mut self) -> Result<(), Stopped> {
        self.commit_for_definition().await?;
        let condition = Condition {
            level: b"Warning".to_vec(),
            code: codes::ER_NOT_SUPPORTED_YET.to_string().into_bytes(),
            message: b"No lock was taken: LOCK TABLES of a sharded database is ignored (weir_lock_tables)".to_vec(),
            sqlstate: None,
        };
        self.endpoint.metrics.answered_here.inc();
        self.state.answered_here();
        self.state.latest.warnings = 1;
        self.state.latest.diagnostics = Diagnostics::Learnt(vec![condition]);
        let status = self.state.own_status();
        self.client.put_ok(&OkPacket { warnings: 1, ..OkPacket::plain(status) });
        Ok(())
    }

    /// Whether a statement is LOCK TABLES of tables of sharded databases.
    pub(in crate::session) fn locks_sharded_tables(&self, statement: &Statement<'_>) -> bool {
        if !statement.class.pins.contains(Pins::LOCK_TABLES) {
            return false;
        }
        let Some(sharding) = self.sharding() else { return false };
        let catalog = sharding.catalog();
        let Some(StatementKind::LockTables(lock)) = statement.only().map(|statement| statement.kind) else {
            return false;
        };
        lock.tables.iter().any(|locked| {
            let database = locked.table.database.map(|database| database.name);
            let database = database.or(self.state.profile.database.as_deref());
            let known = database.and_then(|database| catalog.database(database));
            known.is_some_and(|(_, database)| database.shards.len() > 1)
        })
    }
}
