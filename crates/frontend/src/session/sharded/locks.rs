//! LOCK TABLES that are not taken, because the session said so: `weir_lock_tables = 'ignore'`.
//!
//! What must always hold: only who asked for it goes without locks, and is told of each lock that was not taken. The statement commits
//! what is open, as it does on one server.

use weir_catalog::Catalog;
use weir_sql::ast::StatementKind;
use weir_sql::{Bump, Pins};
use weir_wire::error::codes;
use weir_wire::packets::OkPacket;

use super::super::Session;
use super::super::diagnostics::Condition;
use super::super::server::Stopped;
use super::super::state::Diagnostics;
use super::Asked;

impl Session {
    /// Answers LOCK TABLES of tables of sharded databases without taking locks, if the session wants that. Returns whether it did.
    pub(super) async fn ignore_locks(&mut self, catalog: &Catalog, asked: Asked<'_>) -> Result<bool, Stopped> {
        if !asked.class.pins.contains(Pins::LOCK_TABLES) || !self.locks_sharded(catalog, asked) {
            return Ok(false);
        }
        self.commit_for_definition().await?;
        let condition = Condition {
            level: b"Warning".to_vec(),
            code: codes::ER_NOT_SUPPORTED_YET.to_string().into_bytes(),
            message: b"No lock was taken: LOCK TABLES of a sharded database is ignored (weir_lock_tables)".to_vec(),
            sqlstate: None,
        };
        self.endpoint.metrics.answered_here.inc();
        self.state.answered_here();
        self.state.warnings = 1;
        self.state.diagnostics = Diagnostics::Learnt(vec![condition]);
        let status = self.state.own_status();
        self.client.put_ok(&OkPacket { warnings: 1, ..OkPacket::plain(status) });
        Ok(true)
    }

    fn locks_sharded(&self, catalog: &Catalog, asked: Asked<'_>) -> bool {
        let arena = Bump::new();
        let Ok(parsed) = weir_sql::parse(&arena, asked.text, self.state.lex) else { return false };
        let [statement] = parsed.statements else { return false };
        let StatementKind::LockTables(lock) = statement.kind else { return false };
        lock.tables.iter().any(|locked| {
            let database = locked.table.database.map(|database| database.name);
            let database = database.or(self.state.profile.database.as_deref());
            let known = database.and_then(|database| catalog.database(database));
            known.is_some_and(|(_, database)| database.shards.len() > 1)
        })
    }
}
