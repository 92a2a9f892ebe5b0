//! What the statements about transactions and locks mean.

use crate::ast::*;
use crate::parse::testing::{MARIADB, MYSQL, name, stops, with};

fn shown(sql: &str, mode: crate::LexMode) -> String {
    with(sql, mode, |kind, text| {
        let xid = |xid: Xid| {
            let parts = [Some(xid.gtrid), xid.bqual, xid.format];
            parts.iter().flatten().map(|part| text(*part)).collect::<Vec<_>>().join(" ")
        };
        match kind {
            StatementKind::Transaction(Transaction::Begin) => "begin".to_owned(),
            StatementKind::Transaction(Transaction::Start(start)) => {
                format!("start {} {:?}", start.consistent_snapshot, start.read_only)
            }
            StatementKind::Transaction(Transaction::Commit(end)) => format!("commit {:?} {:?}", end.chain, end.release),
            StatementKind::Transaction(Transaction::Rollback(end)) => {
                format!("rollback {:?} {:?}", end.chain, end.release)
            }
            StatementKind::Transaction(Transaction::Savepoint(of)) => format!("savepoint {}", name(*of)),
            StatementKind::Transaction(Transaction::RollbackTo(of)) => format!("back to {}", name(*of)),
            StatementKind::Transaction(Transaction::ReleaseSavepoint(of)) => format!("release {}", name(*of)),
            StatementKind::Xa(Xa::Start(of, join)) => format!("xa start {} {join:?}", xid(*of)),
            StatementKind::Xa(Xa::End(of, suspend)) => format!("xa end {} {suspend:?}", xid(*of)),
            StatementKind::Xa(Xa::Prepare(of)) => format!("xa prepare {}", xid(*of)),
            StatementKind::Xa(Xa::Commit(of, one)) => format!("xa commit {} {one}", xid(*of)),
            StatementKind::Xa(Xa::Rollback(of)) => format!("xa rollback {}", xid(*of)),
            StatementKind::Xa(Xa::Recover(format)) => format!("xa recover {:?}", format.map(text)),
            StatementKind::LockTables(lock) => {
                let table = |table: &LockedTable<'_>| {
                    let alias = table.alias.map_or(String::new(), |alias| format!(" {}", name(alias)));
                    format!("{}{alias} {:?}", text(table.table.span), table.lock)
                };
                let tables: Vec<_> = lock.tables.iter().map(table).collect();
                format!("{} {:?}", tables.join(", "), lock.wait.map(text))
            }
            StatementKind::Backup(Backup::Stage(stage)) => format!("stage {}", name(*stage)),
            StatementKind::Backup(Backup::Lock(table)) => format!("lock {}", text(table.span)),
            other => format!("{other:?}"),
        }
    })
}

#[test]
fn transactions_begin_and_end() {
    for mode in [MYSQL, MARIADB] {
        for (sql, expected) in [
            ("BEGIN", "begin"),
            ("BEGIN WORK", "begin"),
            ("START TRANSACTION", "start false None"),
            ("START TRANSACTION READ ONLY, WITH CONSISTENT SNAPSHOT", "start true Some(true)"),
            ("START TRANSACTION READ WRITE", "start false Some(false)"),
            ("COMMIT", "commit None None"),
            ("COMMIT WORK AND CHAIN NO RELEASE", "commit Some(true) Some(false)"),
            ("ROLLBACK AND NO CHAIN RELEASE", "rollback Some(false) Some(true)"),
            ("ROLLBACK WORK TO SAVEPOINT a", "back to a"),
            ("ROLLBACK TO `a b`", "back to a b"),
            ("ROLLBACK TO savepoint", "back to savepoint"),
            ("SAVEPOINT a", "savepoint a"),
            ("RELEASE SAVEPOINT a", "release a"),
        ] {
            assert_eq!(shown(sql, mode), expected, "{sql}");
        }
    }
}

#[test]
fn distributed_transactions_have_names_of_up_to_three_parts() {
    for (sql, mode, expected) in [
        ("XA START 'a'", MYSQL, "xa start 'a' New"),
        ("XA BEGIN 'a', x'0F', 0x3 JOIN", MYSQL, "xa start 'a' x'0F' 0x3 Join"),
        ("XA START b'1' RESUME", MARIADB, "xa start b'1' Resume"),
        ("XA END 'a'", MARIADB, "xa end 'a' No"),
        ("XA END 'a' SUSPEND FOR MIGRATE", MYSQL, "xa end 'a' ForMigrate"),
        ("XA PREPARE 'a','b',7", MYSQL, "xa prepare 'a' 'b' 7"),
        ("XA COMMIT 'a' ONE PHASE", MYSQL, "xa commit 'a' true"),
        ("XA ROLLBACK ''", MYSQL, "xa rollback ''"),
        ("XA RECOVER", MYSQL, "xa recover None"),
        ("XA RECOVER CONVERT XID", MYSQL, "xa recover Some(\"CONVERT XID\")"),
        ("XA RECOVER FORMAT = 'SQL'", MARIADB, "xa recover Some(\"FORMAT = 'SQL'\")"),
    ] {
        assert_eq!(shown(sql, mode), expected, "{sql}");
    }
}

#[test]
fn tables_are_locked_under_their_aliases() {
    for (sql, mode, expected) in [
        ("LOCK TABLES t READ", MYSQL, "t Read None"),
        ("LOCK TABLE d.t AS a READ LOCAL, u b WRITE", MYSQL, "d.t a ReadLocal, u b Write None"),
        ("LOCK TABLES t LOW_PRIORITY WRITE WAIT 3", MARIADB, "t LowPriorityWrite Some(\"WAIT 3\")"),
        ("LOCK TABLES t WRITE CONCURRENT NOWAIT", MARIADB, "t WriteConcurrent Some(\"NOWAIT\")"),
        ("UNLOCK TABLES", MYSQL, "UnlockTables"),
        ("LOCK INSTANCE FOR BACKUP", MYSQL, "Server(LockInstance)"),
        ("UNLOCK INSTANCE", MYSQL, "Server(UnlockInstance)"),
        ("BACKUP STAGE BLOCK_DDL", MARIADB, "stage BLOCK_DDL"),
        ("BACKUP LOCK d.t", MARIADB, "lock d.t"),
        ("BACKUP UNLOCK", MARIADB, "Backup(Unlock)"),
    ] {
        assert_eq!(shown(sql, mode), expected, "{sql}");
    }
}

#[test]
fn what_no_server_reads_is_refused() {
    for (sql, near) in [
        ("COMMIT AND CHAIN RELEASE", "RELEASE"),
        ("COMMIT CHAIN", "CHAIN"),
        ("START TRANSACTION READ", ""),
        ("START TRANSACTION ISOLATION LEVEL SERIALIZABLE", "ISOLATION LEVEL SERIALIZABLE"),
        ("ROLLBACK TO 'a'", "'a'"),
        ("XA START a", "a"),
        ("XA START 'a' 'b'", "'b'"),
        ("LOCK TABLES t", ""),
        ("LOCK TABLES t 'a' READ", "'a' READ"),
        ("UNLOCK", ""),
    ] {
        stops(sql, MYSQL, near);
        stops(sql, MARIADB, near);
    }
}
