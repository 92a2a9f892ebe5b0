//! Transactions that are open when their writer dies.

use libtest_mimic::Failed;
use mysql::Conn;
use mysql::prelude::Queryable;

use crate::driver::{connect, expect_equal, expect_error, run, value};
use crate::lab::{APP, Endpoint};
use crate::reads::DATABASE;

/// Sessions with an open transaction.
pub(super) struct Open {
    /// It has nothing else.
    plain: Conn,
    /// It has a temporary table.
    with_table: Conn,
}

impl Open {
    /// Opens them, on the present writer.
    pub(super) fn begin(endpoint: &Endpoint) -> Result<Open, Failed> {
        let mut plain = connect(endpoint.port, APP, Some(DATABASE))?;
        plain.query_drop("SET @mine = 'kept'")?;
        let mut with_table = connect(endpoint.port, APP, Some(DATABASE))?;
        with_table.query_drop("CREATE TEMPORARY TABLE scratch (id INT)")?;
        for (client, id) in [(&mut plain, 50), (&mut with_table, 51)] {
            client.query_drop("BEGIN")?;
            client.query_drop(format!("REPLACE INTO counters VALUES ({id}, -1)"))?;
        }
        Ok(Open { plain, with_table })
    }

    /// The writer has died: a transaction that can simply be run again is told so, and the session goes on.
    pub(super) fn expect_lost(mut self) -> Result<(), Failed> {
        let told = run(&mut self.plain, "REPLACE INTO counters VALUES (50, 0)");
        expect_error("the transaction", &told, 1213, "40001")?;
        expect_equal("a variable", value(&mut self.plain, "SELECT @mine")?, "kept".into())?;
        for statement in ["BEGIN", "REPLACE INTO counters VALUES (50, 1)", "COMMIT"] {
            run(&mut self.plain, statement).map_err(|error| format!("again: {statement}: {error}"))?;
        }
        expect_equal("the transaction", value(&mut self.plain, "SELECT v FROM counters WHERE id = 50")?, "1".into())?;
        // It may have been told while it was idle, which is no answer to a statement.
        let told = run(&mut self.with_table, "REPLACE INTO counters VALUES (51, 1)");
        expect_equal("a temporary table is lost", told.is_err(), true)?;
        expect_equal("its session has ended", run(&mut self.with_table, "SELECT 1").is_err(), true)?;
        Ok(())
    }
}
