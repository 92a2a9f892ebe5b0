//! Clients that know the names of Weir's transactions, which MariaDB's XA RECOVER shows to everybody: they can neither end them nor take names.

use libtest_mimic::Failed;
use mysql::Conn;
use mysql::prelude::Queryable;
use weir_local::Flavor;

use super::{Shards, app, choose};
use crate::Collector;
use crate::driver::{expect_equal, expect_error, run};
use crate::lab::Lab;

/// A branch that looks like one of Weir's, but is none, so that no recovery ends it.
const NAME: &str = "weir1-nobody";

pub(super) fn collect(tests: &mut Collector) {
    tests.add_for_weir("transactions::clients_end_no_transactions_of_weir", |lab: &Lab, flavor: Flavor| {
        let shards = Shards::start(lab, flavor, 2, &["CREATE TABLE t (id INT PRIMARY KEY)"])?;
        let weir = shards.weir(lab)?;
        let mut branch = shards.sites[1].server.admin()?;
        for text in ["XA START '{}'", "INSERT INTO t_transactions.t VALUES (1)", "XA END '{}'", "XA PREPARE '{}'"] {
            branch.query_drop(text.replace("{}", NAME))?;
        }
        // MariaDB keeps it for the connection that has prepared it.
        drop(branch);
        let mut session = app(weir.port)?;
        refused(&mut session)?;
        // With sharded databases, what PREPARE names is Weir's to read. MySQL prepares no XA.
        app(weir.port)?.query_drop("CREATE DATABASE t_names")?;
        refused(&mut session)?;
        session.query_drop(format!("SET @xa = \"XA COMMIT '{NAME}'\""))?;
        let by_variable = run(&mut session, "PREPARE s FROM @xa").and_then(|()| run(&mut session, "EXECUTE s"));
        let code = if flavor == Flavor::MySql { (1295, "HY000") } else { (1235, "42000") };
        expect_error("by a variable", &by_variable, code.0, code.1)?;
        expect_equal("prepared branches", shards.prepared()?, 1)?;
        // Other names are the client's.
        choose(&mut session, 1)?;
        for text in ["XA START 'weir1'", "INSERT INTO t_transactions.t VALUES (2)", "XA END 'weir1'"] {
            session.query_drop(text)?;
        }
        session.query_drop("XA COMMIT 'weir1' ONE PHASE")?;
        expect_equal("its row", shards.value(1, "SELECT COUNT(*) FROM t WHERE id = 2")?, "1".to_owned())?;
        shards.sites[1].server.execute(&format!("XA ROLLBACK '{NAME}'"))?;
        Ok(())
    });
}

/// On the branch's shard, all ways to write it are refused.
fn refused(session: &mut Conn) -> Result<(), Failed> {
    choose(session, 1)?;
    let digits: String = NAME.bytes().map(|byte| format!("{byte:02x}")).collect();
    let bits: String = NAME.bytes().map(|byte| format!("{byte:08b}")).collect();
    let escaped = NAME.replace("no", "n\\o");
    for text in [
        format!("XA COMMIT '{NAME}'"),
        format!("XA ROLLBACK \"{NAME}\", '', 1"),
        format!("XA START '{NAME}', 'other'"),
        format!("XA PREPARE '{NAME}'"),
        format!("xa /* */ commit x'{digits}'"),
        format!("XA COMMIT 0x{digits}"),
        format!("XA COMMIT b'{bits}'"),
        format!("XA COMMIT '{escaped}'"),
        format!("/*! XA COMMIT */ '{NAME}'"),
        format!("XA COMMIT /*!99998 'x' */ '{NAME}'"),
        format!("XA /*!99998 RECOVER */ ROLLBACK '{NAME}'"),
        format!("XA COMMIT /*!99998 'x' */ /*!99997 'y' */ '{NAME}'"),
        format!("PREPARE s FROM \"XA COMMIT '{NAME}'\""),
        format!("PREPARE s FROM 'XA COMMIT X''{digits}'''"),
        format!("CREATE PROCEDURE p() XA COMMIT '{NAME}'"),
        format!("SELECT 1; XA COMMIT '{NAME}'"),
        format!("XA COMMIT '{NAME}'; SELECT 1"),
        "CALL weir.decide('weir1-0-0000000000000000-0-0')".to_owned(),
        "CALL `weir` . `DECIDE`('weir1-0-0000000000000000-0-0')".to_owned(),
        "PREPARE s FROM \"CALL weir.decide('weir1-0-0000000000000000-0-0')\"".to_owned(),
    ] {
        expect_error(&text, &all(session, &text), 1235, "42000")?;
    }
    match session.prep(format!("XA COMMIT '{NAME}'")) {
        Ok(statement) => expect_error("an execution", &session.exec_drop(statement, ()), 1235, "42000"),
        // MySQL prepares no XA.
        failed => expect_error("COM_STMT_PREPARE", &failed, 1295, "HY000"),
    }
}

fn all(session: &mut Conn, text: &str) -> mysql::Result<()> {
    let mut result = session.query_iter(text)?;
    while let Some(set) = result.iter() {
        for row in set {
            row?;
        }
    }
    Ok(())
}
