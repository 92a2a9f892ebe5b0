//! Kinds, verbs and the splitting of texts.

use super::*;

#[test]
fn kinds_are_given_to_exact_forms_only() {
    let begin = |read_only| TextKind::Begin { read_only };
    let warnings = |offset, limit| TextKind::ShowWarnings(Diagnostics::Warnings { offset, limit });
    for (sql, kind) in [
        ("", TextKind::Empty),
        (" /* x */ -- y", TextKind::Empty),
        ("/*! */", TextKind::Empty),
        (";", TextKind::Empty),
        (";;", TextKind::Multiple),
        ("SELECT 1;", TextKind::Select),
        ("SELECT 1;;", TextKind::Multiple),
        ("SELECT 1; SET @a=2", TextKind::Multiple),
        ("SELECT ';'", TextKind::Select),
        ("BEGIN", begin(None)),
        ("begin work;", begin(None)),
        ("START TRANSACTION", begin(None)),
        ("START TRANSACTION READ ONLY", begin(Some(true))),
        ("start transaction read write -- x", begin(Some(false))),
        ("START TRANSACTION WITH CONSISTENT SNAPSHOT", TextKind::Other),
        ("START TRANSACTION READ ONLY, WITH CONSISTENT SNAPSHOT", TextKind::Other),
        ("BEGIN NOT ATOMIC SELECT 1; END", TextKind::Multiple),
        ("COMMIT", TextKind::Commit),
        ("COMMIT WORK AND NO CHAIN NO RELEASE", TextKind::Commit),
        ("COMMIT AND CHAIN", TextKind::Other),
        ("COMMIT RELEASE", TextKind::Other),
        ("ROLLBACK", TextKind::Rollback),
        ("ROLLBACK NO RELEASE", TextKind::Rollback),
        ("ROLLBACK TO SAVEPOINT a", TextKind::Other),
        ("ROLLBACK WORK TO a", TextKind::Other),
        ("USE db", TextKind::Use),
        ("USE `d``b`", TextKind::Use),
        ("USE a b", TextKind::Other),
        ("KILL 5", TextKind::Kill(KillTarget::Connection(5))),
        ("KILL CONNECTION 5", TextKind::Kill(KillTarget::Connection(5))),
        ("KILL HARD QUERY 5;", TextKind::Kill(KillTarget::Query(5))),
        ("KILL SOFT 5", TextKind::Kill(KillTarget::Connection(5))),
        ("KILL QUERY ID 5", TextKind::Kill(KillTarget::Other)),
        ("KILL USER u@h", TextKind::Kill(KillTarget::Other)),
        ("KILL 5 + 1", TextKind::Kill(KillTarget::Other)),
        ("KILL 0x5", TextKind::Kill(KillTarget::Other)),
        ("KILL 99999999999999999999", TextKind::Kill(KillTarget::Other)),
        ("SHOW PROCESSLIST", TextKind::ShowProcesslist { full: false }),
        ("SHOW FULL PROCESSLIST;", TextKind::ShowProcesslist { full: true }),
        ("SHOW WARNINGS", warnings(0, None)),
        ("SHOW WARNINGS LIMIT 5", warnings(0, Some(5))),
        ("SHOW WARNINGS LIMIT 2, 5", warnings(2, Some(5))),
        ("SHOW WARNINGS LIMIT 5 OFFSET 2", warnings(2, Some(5))),
        ("SHOW ERRORS LIMIT 1", TextKind::ShowWarnings(Diagnostics::Errors { offset: 0, limit: Some(1) })),
        ("SHOW COUNT(*) WARNINGS", TextKind::ShowWarnings(Diagnostics::CountWarnings)),
        ("SHOW COUNT(*) ERRORS", TextKind::ShowWarnings(Diagnostics::CountErrors)),
        ("SELECT @@warning_count", TextKind::ShowWarnings(Diagnostics::CountWarnings)),
        ("SELECT @@SESSION.error_count;", TextKind::ShowWarnings(Diagnostics::CountErrors)),
        ("SELECT @@warning_count AS n", TextKind::Select),
        ("SELECT @@global.warning_count", TextKind::Select),
        ("SHOW WARNINGS LIMIT x", TextKind::Other),
        ("SHOW TABLES", TextKind::Other),
        ("WEIR SHOW SESSIONS;", TextKind::Weir(5..18)),
        ("/* x */ weir", TextKind::Weir(12..12)),
        ("BATCH ON id LIMIT 100 DELETE FROM t", TextKind::Batch),
        ("SELECT batch FROM run AS dry", TextKind::Select),
        ("INSERT INTO t VALUES (1)", TextKind::Other),
        ("SELECT 'open", TextKind::Other),
        ("COMMIT 'open", TextKind::Other),
    ] {
        assert_eq!(class(sql).kind, kind, "{sql}");
    }
}

const WRITE: Effects = Effects::READS.union(Effects::WRITES);
const ADMIN: Effects = WRITE.union(Effects::IMPLICIT_COMMIT);
const DDL: Effects = Effects::WRITES.union(Effects::IMPLICIT_COMMIT);
const INSERTS: Effects = Effects::WRITES.union(Effects::GENERATES_INSERT_ID);
const UNTOLD: Effects = INSERTS.union(Effects::INSERT_ID_UNTOLD);

#[test]
fn known_verbs_do_not_pin() {
    for (sql, effects) in [
        ("INSERT INTO t VALUES (1)", INSERTS),
        ("INSERT INTO t SELECT * FROM u", INSERTS | Effects::READS),
        ("REPLACE INTO t SET a = 1", INSERTS),
        ("UPDATE t SET a = 1", WRITE),
        ("DELETE FROM t", WRITE),
        ("DELETE FROM t RETURNING a", WRITE | Effects::RETURNING),
        ("INSERT INTO t VALUES (1) RETURNING a, b", UNTOLD | Effects::RETURNING),
        ("REPLACE INTO t SET a = 1 RETURNING *", UNTOLD | Effects::RETURNING),
        ("WITH x AS (SELECT 1) DELETE FROM t", WRITE),
        ("LOAD DATA INFILE 'x' INTO TABLE t", UNTOLD | Effects::READS),
        ("LOAD DATA LOCAL INFILE 'x' INTO TABLE t", UNTOLD | Effects::READS | Effects::LOCAL_INFILE),
        ("LOAD XML LOCAL INFILE 'x' INTO TABLE t", UNTOLD | Effects::READS | Effects::LOCAL_INFILE),
        ("CREATE TABLE t (a INT)", DDL),
        ("CREATE TABLE t SELECT 1", DDL | Effects::READS | Effects::GENERATES_INSERT_ID),
        ("CREATE UNIQUE INDEX i ON t (a)", DDL),
        ("CREATE OR REPLACE ALGORITHM=MERGE DEFINER=`a`@`b` SQL SECURITY INVOKER VIEW v AS SELECT 1", DDL),
        ("CREATE USER u IDENTIFIED BY 'x'", DDL | Effects::CHANGES_ACCOUNTS),
        ("ALTER USER CURRENT_USER() IDENTIFIED BY 'x'", DDL | Effects::CHANGES_ACCOUNTS),
        ("ALTER TABLE t ADD COLUMN b INT", DDL),
        ("DROP TABLE t", DDL),
        ("DROP TEMPORARY TABLE t", DDL),
        ("DROP DATABASE d", DDL | Effects::CHANGES_DATABASE),
        ("TRUNCATE t", ADMIN),
        ("RENAME TABLE a TO b", ADMIN),
        ("ANALYZE LOCAL TABLE t", ADMIN),
        ("CHECK TABLE t", ADMIN),
        ("OPTIMIZE TABLE t", ADMIN),
        ("GRANT ALL ON d.* TO u", ADMIN | Effects::CHANGES_ACCOUNTS),
        ("REVOKE ALL ON d.* FROM u", ADMIN | Effects::CHANGES_ACCOUNTS),
        ("FLUSH STATUS", DDL),
        ("FLUSH STATUS, PRIVILEGES", DDL | Effects::CHANGES_ACCOUNTS),
        ("FLUSH TABLES", DDL),
        ("RESET MASTER", ADMIN),
        ("PURGE BINARY LOGS TO 'x'", ADMIN),
        ("CHANGE REPLICATION SOURCE TO SOURCE_HOST='h'", ADMIN),
        ("START REPLICA", DDL),
        ("STOP GROUP_REPLICATION", ADMIN),
        ("SHUTDOWN", ADMIN),
        ("SAVEPOINT a", Effects::empty()),
        ("RELEASE SAVEPOINT a", Effects::empty()),
        ("ROLLBACK TO a", Effects::empty()),
        ("DEALLOCATE PREPARE s", Effects::empty()),
        ("DROP PREPARE s", Effects::empty()),
        ("DO SLEEP(1)", Effects::WRITES),
        ("SHOW TABLES", Effects::READS),
        ("SHOW SESSION VARIABLES LIKE 'x'", Effects::READS | Effects::SHOWS_SESSION_VARIABLES),
        ("SHOW VARIABLES", Effects::READS | Effects::SHOWS_SESSION_VARIABLES),
        ("SHOW GLOBAL VARIABLES", Effects::READS),
        ("SHOW WARNINGS", Effects::READS | Effects::USES_WARNINGS),
        ("DESC t", Effects::READS),
        ("EXPLAIN SELECT * FROM t", Effects::READS),
        ("EXPLAIN UPDATE t SET a = 1", Effects::READS),
        ("EXPLAIN FORMAT=JSON DELETE FROM t", Effects::READS),
        ("EXPLAIN FOR CONNECTION 5", Effects::READS),
        ("EXPLAIN ANALYZE SELECT * FROM t", Effects::READS),
        ("ANALYZE UPDATE t SET a = 1", WRITE),
        ("ANALYZE FORMAT=JSON SELECT 1", Effects::READS),
        ("USE d", Effects::CHANGES_DATABASE),
        ("BACKUP UNLOCK", DDL),
        ("XA PREPARE 'x'", Effects::WRITES),
        ("START TRANSACTION WITH CONSISTENT SNAPSHOT", Effects::STARTS_TRANSACTION_OTHER),
        ("COMMIT AND CHAIN NO RELEASE", Effects::STARTS_TRANSACTION_OTHER),
        ("HELP 'x'", Effects::READS),
    ] {
        let class = class(sql);
        assert_eq!((class.effects, class.pins), (effects, Pins::empty()), "{sql}");
    }
}

#[test]
fn texts_that_may_change_accounts_are_known() {
    for sql in [
        "CREATE ROLE r",
        "DROP ROLE r",
        "DROP USER u",
        "RENAME USER a TO b",
        "GRANT r TO u",
        "REVOKE r FROM u",
        "SELECT 1; DROP USER u",
        "PREPARE s FROM 'GRANT ALL ON d.* TO u'",
        "EXECUTE IMMEDIATE 'DROP USER u'",
        "BEGIN NOT ATOMIC REVOKE r FROM u; END",
        "SET STATEMENT max_statement_time = 1 FOR DROP USER u",
        "ALTER USER u SOMETHING NEW 5",
        "/*!50000 DROP USER u */",
    ] {
        assert!(class(sql).effects.contains(Effects::CHANGES_ACCOUNTS), "{sql}");
    }
    for sql in
        ["SELECT user FROM t", "PREPARE s FROM 'SELECT 1'", "EXECUTE s", "CALL p()", "SET ROLE r", "FLUSH TABLES"]
    {
        assert!(!class(sql).effects.contains(Effects::CHANGES_ACCOUNTS), "{sql}");
    }
}

#[test]
fn what_stays_on_a_connection_pins() {
    for (sql, pins) in [
        ("CREATE TEMPORARY TABLE t (a INT)", Pins::TEMPORARY_TABLE),
        ("CREATE OR REPLACE TEMPORARY TABLE t (a INT)", Pins::TEMPORARY_TABLE),
        ("CREATE /*!32302 TEMPORARY */ TABLE t (a INT)", Pins::TEMPORARY_TABLE),
        ("LOCK TABLES t READ", Pins::LOCK_TABLES),
        ("LOCK TABLE t WRITE", Pins::LOCK_TABLES),
        ("FLUSH TABLES WITH READ LOCK", Pins::GLOBAL_READ_LOCK),
        ("FLUSH LOCAL TABLES t, u FOR EXPORT", Pins::GLOBAL_READ_LOCK),
        ("LOCK INSTANCE FOR BACKUP", Pins::BACKUP_LOCK),
        ("BACKUP STAGE START", Pins::BACKUP_LOCK),
        ("BACKUP LOCK t", Pins::BACKUP_LOCK),
        ("HANDLER t OPEN", Pins::HANDLER),
        ("PREPARE s FROM 'SELECT 1'", Pins::TEXT_PREPARE),
        ("EXECUTE s", Pins::TEXT_PREPARE | Pins::UNKNOWN_STATEMENT),
        ("EXECUTE IMMEDIATE 'SELECT 1'", Pins::TEXT_PREPARE | Pins::UNKNOWN_STATEMENT),
        ("CALL p(1)", Pins::CALL),
        ("CALL db.p", Pins::CALL),
        ("CALL p(@a)", Pins::CALL | Pins::COMPUTED_USER_VARIABLE),
        ("XA START 'x'", Pins::XA),
        ("XA BEGIN 'x'", Pins::XA),
        ("BINLOG 'x'", Pins::UNKNOWN_STATEMENT),
        ("BEGIN NOT ATOMIC SELECT 1; END", Pins::UNKNOWN_STATEMENT),
        ("IF 1 THEN SELECT 1; END IF", Pins::UNKNOWN_STATEMENT),
        ("FROBNICATE t", Pins::UNKNOWN_STATEMENT),
        ("CREATE PACKAGE p AS PROCEDURE q; END", Pins::UNKNOWN_STATEMENT),
        ("`SELECT` 1", Pins::UNKNOWN_STATEMENT),
        ("5", Pins::UNKNOWN_STATEMENT),
        ("(DELETE FROM t)", Pins::UNKNOWN_STATEMENT),
        ("COMMIT RELEASE", Pins::UNKNOWN_STATEMENT),
        ("SELECT $$ x $$", Pins::UNKNOWN_STATEMENT),
        ("SELECT 1; FROBNICATE", Pins::UNKNOWN_STATEMENT),
        ("EXPLAIN SELECT f(1)", Pins::UNKNOWN_FUNCTION),
        ("EXPLAIN ANALYZE SELECT GET_LOCK('a', 1)", Pins::USER_LOCK),
    ] {
        let class = class(sql);
        assert_eq!(class.pins, pins, "{sql}");
        if pins.contains(Pins::UNKNOWN_STATEMENT) {
            assert!(class.effects.contains(Effects::WRITES), "{sql}");
        }
    }
}

#[test]
fn releases_are_certain() {
    for (sql, releases) in [
        ("UNLOCK TABLES", Pins::LOCK_TABLES | Pins::GLOBAL_READ_LOCK),
        ("UNLOCK INSTANCE", Pins::BACKUP_LOCK),
        ("BACKUP STAGE END", Pins::BACKUP_LOCK),
        ("SELECT RELEASE_ALL_LOCKS()", Pins::USER_LOCK),
        ("DO RELEASE_ALL_LOCKS();", Pins::USER_LOCK),
        ("SELECT RELEASE_ALL_LOCKS() AS n", Pins::USER_LOCK),
        ("XA COMMIT 'x' ONE PHASE", Pins::XA),
        ("XA ROLLBACK 'x'", Pins::XA),
        ("SELECT RELEASE_ALL_LOCKS() WHERE 0", Pins::empty()),
        ("SELECT IF(0, RELEASE_ALL_LOCKS(), 1)", Pins::empty()),
        ("EXPLAIN SELECT RELEASE_ALL_LOCKS()", Pins::empty()),
        ("SELECT RELEASE_LOCK('a')", Pins::empty()),
        ("BEGIN", Pins::empty()),
        ("/*!80000 UNLOCK TABLES */", Pins::empty()),
    ] {
        assert_eq!(class(sql).releases, releases, "{sql}");
    }
}

#[test]
fn bodies_of_routines_are_not_executed() {
    for sql in [
        "CREATE PROCEDURE p() BEGIN SELECT GET_LOCK('a', 1); SET @a = f(1); END",
        "CREATE PROCEDURE p() lbl: BEGIN IF a THEN SELECT 1; END IF; WHILE 1 DO SET x = 1; END WHILE; END lbl;",
        "CREATE DEFINER=`a`@`b` FUNCTION f(a INT) RETURNS INT DETERMINISTIC BEGIN RETURN CASE a WHEN 1 THEN 2 END; END",
        "CREATE PROCEDURE p() BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; END; CASE 1 WHEN 1 THEN BEGIN END; END CASE; END",
        "CREATE TRIGGER t BEFORE INSERT ON u FOR EACH ROW SET NEW.a = GET_LOCK('a', 1)",
        "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO BEGIN DELETE FROM t; END",
        "CREATE PROCEDURE p() SELECT CASE WHEN a THEN GET_LOCK('a', 1) END FROM t",
        "CREATE FUNCTION f RETURNS STRING SONAME 'x.so'",
        "DROP PROCEDURE p",
    ] {
        let class = class(sql);
        assert_eq!((class.kind, class.effects, class.pins), (TextKind::Other, DDL, Pins::empty()), "{sql}");
    }
}

#[test]
fn what_follows_a_routine_is_executed() {
    for sql in [
        "CREATE PROCEDURE p() SELECT 1; SELECT GET_LOCK('a', 1)",
        "CREATE PROCEDURE p() BEGIN SELECT 1; END; SELECT GET_LOCK('a', 1)",
        "CREATE PROCEDURE p() SELECT begin FROM t; SELECT GET_LOCK('a', 1)",
        "CREATE PROCEDURE begin() SELECT 1; SELECT GET_LOCK('a', 1)",
        "CREATE PROCEDURE p() SELECT (1; SELECT GET_LOCK('a', 1)",
        "CREATE VIEW v AS SELECT 1; SELECT GET_LOCK('a', 1)",
    ] {
        assert!(class(sql).pins.contains(Pins::USER_LOCK), "{sql}");
    }
}

#[test]
fn what_belongs_to_one_server_is_told_from_data() {
    let own = [
        "SELECT @@port",
        "SELECT @@GLOBAL.max_connections",
        "SELECT * FROM information_schema.tables",
        "SELECT * FROM `mysql`.user",
        "SELECT a FROM t JOIN Performance_Schema.threads p",
        "SELECT IS_FREE_LOCK('a')",
        "SELECT RELEASE_LOCK('a')",
    ];
    for text in own {
        assert!(classify(text.as_bytes(), LexMode::default()).effects.contains(Effects::SERVER_STATE), "{text}");
    }
    for text in ["SELECT a FROM t", "SELECT mysql FROM shop.t", "SELECT 'mysql.user'", "SELECT 1"] {
        assert!(!classify(text.as_bytes(), LexMode::default()).effects.contains(Effects::SERVER_STATE), "{text}");
    }
}

#[test]
fn errors_of_hidden_statements_are_told_from_syntax_errors() {
    let runs_others = |sql: &str| class(sql).effects.contains(Effects::RUNS_OTHERS);
    for sql in ["CALL p()", "EXECUTE s", "EXECUTE IMMEDIATE 'x'", "SELEC 1", "FROB x", "SET STATEMENT a = 1 FOR"] {
        assert!(runs_others(sql), "{sql}");
    }
    for sql in [
        "SELECT FROM",
        "SELECT COUNT (*) FROM t",
        "(SELECT",
        "INSERT t VALUES",
        "CREATE TABEL t",
        "SET a b",
        "SELECT 1",
    ] {
        assert!(!runs_others(sql), "{sql}");
    }
}

#[test]
fn words_that_no_server_takes_there_make_no_kind() {
    for sql in [
        "SHOW FULL WARNINGS",
        "SHOW EXTENDED WARNINGS",
        "SHOW FULL COUNT(*) ERRORS",
        "SHOW EXTENDED PROCESSLIST",
        "SHOW EXTENDED FULL PROCESSLIST",
    ] {
        assert_eq!(class(sql).kind, TextKind::Other, "{sql}");
    }
}

#[test]
fn a_kill_for_which_variables_are_set_is_a_kill() {
    for sql in ["SET STATEMENT max_statement_time=1 FOR KILL 5", "SET STATEMENT a=1 FOR KILL QUERY 5"] {
        assert_eq!(class_on(Dialect::MariaDb, sql).kind, TextKind::Kill(KillTarget::Other), "{sql}");
    }
}

#[test]
fn a_begin_that_is_not_the_whole_text_starts_a_transaction() {
    for sql in ["BEGIN; SELECT 1", "COMMIT; START TRANSACTION", "BEGIN;;", "SET STATEMENT a=1 FOR START TRANSACTION"] {
        assert!(class(sql).effects.contains(Effects::STARTS_TRANSACTION_OTHER), "{sql}");
    }
    assert_eq!(class("BEGIN;").effects, Effects::empty());
}

#[test]
fn what_a_change_of_a_table_evaluates_counts() {
    let alter = |default: &str| class(&format!("ALTER TABLE t ADD COLUMN c INT DEFAULT {default}"));
    assert!(alter("NEXTVAL(s)").pins.contains(Pins::SEQUENCE));
    assert!(alter("(LAST_INSERT_ID())").effects.contains(Effects::USES_LAST_INSERT_ID));
    assert!(alter("(CONNECTION_ID())").effects.contains(Effects::USES_CONNECTION_ID));
    assert_eq!(alter("5").pins, Pins::empty());
}

#[test]
fn numbers_of_types_are_looked_through() {
    assert!(class("SELECT CAST(a AS DECIMAL(GET_LOCK('a', 1))) FROM t").pins.contains(Pins::USER_LOCK));
    assert!(class("SELECT CAST(a AS CHAR(@n))").effects.contains(Effects::USES_USER_VARIABLES));
    assert_eq!(class("SELECT CAST(a AS DECIMAL(10, 2))").effects, Effects::empty());
}
