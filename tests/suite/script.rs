//! What sessions may do: tables of steps (in the language of [`crate::step`]) from which random scripts are drawn.
//!
//! Must always hold, because two runs are compared step by step: a statement's answer depends only on what was done
//! before it in this schedule (no clocks, ids or other databases), and no statement waits for another session for long
//! (rows and tables written are those of the session, named by `{s}`; waits for locks end after a second).

use weir_local::Flavor;

/// A small generator of random numbers (splitmix64): a seed means the same schedule for ever, whatever crates do.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }

    pub(crate) fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// The databases' content at the start: `{db}` and `{db}2`. `{s}` in a line makes one line per session.
pub(crate) const CONTENT: &[&str] = &[
    "DROP DATABASE IF EXISTS {db}",
    "DROP DATABASE IF EXISTS {db}2",
    "CREATE DATABASE {db} CHARACTER SET utf8mb4",
    "CREATE DATABASE {db}2 CHARACTER SET latin1",
    "USE {db}",
    "CREATE TABLE {db}2.shared (id INT PRIMARY KEY, v INT, other VARCHAR(10))",
    "INSERT INTO {db}2.shared VALUES (1, 1, 'elsewhere')",
    "CREATE TABLE shared (id INT PRIMARY KEY, v INT NOT NULL)",
    "INSERT INTO shared VALUES (0,0),(1,1),(2,2),(3,3),(4,4),(5,5),(6,6),(7,7),(8,8),(9,9),(10,10),(11,11)",
    // Which rows a statement locks depends on its plan, and the plan on statistics.
    "ANALYZE TABLE shared",
    "CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY, who INT, what VARCHAR(30))",
    "CREATE TABLE words (id INT PRIMARY KEY, w VARCHAR(20) CHARACTER SET latin1, u VARCHAR(20) CHARACTER SET utf8mb4)",
    "INSERT INTO words VALUES (1, 'caf\u{e9}', 'caf\u{e9}'), (2, 'plain', 'pl\u{e4}in')",
    "CREATE TABLE trig (id INT AUTO_INCREMENT PRIMARY KEY, v INT)",
    "CREATE TRIGGER trig_before BEFORE INSERT ON trig FOR EACH ROW SET @trig = NEW.v",
    "CREATE TABLE p{s} (id INT AUTO_INCREMENT PRIMARY KEY, v INT UNIQUE, t VARCHAR(10))",
    "INSERT INTO p{s} (v, t) VALUES (10,'ten'),(20,'twenty'),(30,'thirty'),(40,NULL)",
    "CREATE VIEW sums AS SELECT COUNT(*) AS n, SUM(v) AS total FROM shared",
    "CREATE PROCEDURE two_sets() BEGIN SELECT 1 AS a, 'x' AS b; SELECT id FROM shared WHERE id < 3 ORDER BY id; END",
    "CREATE PROCEDURE out_params(IN a INT, OUT b INT, INOUT c VARCHAR(20)) BEGIN SET b = a * 2; SET c = CONCAT(c, '!'); END",
    "CREATE PROCEDURE set_variables() SET SESSION group_concat_max_len = 99, time_zone = '+05:00', @a = 11, @b = 'proc'",
    "CREATE PROCEDURE make_temp() CREATE TEMPORARY TABLE IF NOT EXISTS proc_temp AS SELECT 5 AS five",
    "CREATE PROCEDURE careful() BEGIN SIGNAL SQLSTATE '01000' SET MESSAGE_TEXT = 'careful'; END",
    "CREATE PROCEDURE fail() BEGIN SELECT 'before'; SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no', MYSQL_ERRNO = 31001; END",
    "CREATE PROCEDURE begins() BEGIN START TRANSACTION; INSERT INTO log (who, what) VALUES (99, 'begun'); END",
    "CREATE PROCEDURE prepares() BEGIN SET @t = 'SELECT 7 AS seven'; PREPARE from_proc FROM @t; END",
    "CREATE FUNCTION side(n INT) RETURNS INT DETERMINISTIC BEGIN SET @side = n; RETURN n + 1; END",
    "CREATE FUNCTION takes(name VARCHAR(64)) RETURNS INT DETERMINISTIC RETURN GET_LOCK(name, 0)",
    "CREATE FUNCTION logs(n INT) RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN INSERT INTO log (who, what) VALUES (n, 'function'); RETURN LAST_INSERT_ID(); END",
];

/// Steps that read session state or set one piece of it. `mysql|` or `mariadb|` before a step: that flavor only.
const SINGLES: &[&str] = &[
    // User variables.
    "SELECT @a, @b, @c, @d, @side, @trig",
    "SELECT @a, @b, @c, @d, @side, @trig",
    "SET @a = {n}",
    "SET @a = {n}, @b = 'text {n}'",
    "SET @b = NULL",
    "SET @c = 1.50, @d = x'c3a9'",
    "SET @c = _latin1'caf\u{e9}' COLLATE latin1_german1_ci",
    "SET @a = @a + 1",
    "SET @b = (SELECT MAX(v) FROM shared)",
    "SET @d = NOW() IS NULL",
    "SELECT @a := {n}, @a + 1",
    "SELECT id, v FROM shared WHERE id = {n} INTO @a, @c",
    "SELECT COUNT(*), MIN(id) FROM p{s} INTO @a, @b",
    "SELECT id FROM shared INTO @a",
    "SELECT CHARSET(@b), COLLATION(@b), CHARSET(@c), COERCIBILITY(@c)",
    "SELECT id FROM shared WHERE id <= @a ORDER BY id",
    "SET @`odd name` = {n}",
    "SELECT @`odd name`, @'odd name', @A",
    // Session variables.
    "SELECT @@sql_mode, @@time_zone, @@autocommit, @@group_concat_max_len, @@max_error_count, @@div_precision_increment",
    "SELECT @@character_set_client, @@character_set_connection, @@character_set_results, @@collation_connection, @@character_set_database, @@collation_database",
    "SELECT @@lc_time_names, @@foreign_key_checks, @@unique_checks, @@innodb_lock_wait_timeout, @@sql_select_limit, @@sql_safe_updates, @@sql_auto_is_null",
    "mysql|SELECT @@transaction_isolation, @@transaction_read_only, @@completion_type",
    "mariadb|SELECT @@tx_isolation, @@tx_read_only, @@completion_type",
    "SHOW VARIABLES LIKE 'character_set_c%'",
    "SHOW SESSION VARIABLES WHERE Variable_name IN ('sql_mode', 'time_zone', 'wait_timeout')",
    "SET sql_mode = ''",
    "SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'",
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES,ONLY_FULL_GROUP_BY'",
    "SET @@session.sql_mode = CONCAT(@@sql_mode, ',PIPES_AS_CONCAT')",
    "SET sql_mode = DEFAULT",
    "SELECT \"id\" FROM shared WHERE id = 1",
    "SELECT 'a' || 'b', 'back\\\\slash', 'q\\'q'",
    "SET time_zone = '+0{n}:00'",
    "SET time_zone = 'SYSTEM'",
    "SELECT FROM_UNIXTIME(1000000000), UNIX_TIMESTAMP('2001-09-09 01:46:40')",
    "SET NAMES utf8mb4",
    "SET NAMES latin1",
    "SET NAMES 'utf8mb4' COLLATE 'utf8mb4_bin'",
    "SET NAMES binary",
    "SET NAMES DEFAULT",
    "SET CHARACTER SET latin1",
    "SET character_set_results = NULL",
    "SET character_set_results = utf8mb4",
    "SET collation_connection = utf8mb4_swedish_ci",
    "SELECT w, u, HEX(w), HEX(u), 'caf\u{e9}' = u, COLLATION('x') FROM words ORDER BY id",
    "SET lc_time_names = 'de_DE'",
    "SELECT DATE_FORMAT('2020-03-01', '%M %W')",
    "SET group_concat_max_len = 4{n}",
    "SELECT GROUP_CONCAT(id, '-', v ORDER BY id) FROM shared",
    "SET max_error_count = {n}",
    "SET sql_select_limit = {n}",
    "SET sql_select_limit = DEFAULT",
    "SELECT id FROM shared ORDER BY id",
    "SET div_precision_increment = {n}",
    "SELECT 1/7",
    "SET foreign_key_checks = 0, unique_checks = OFF",
    "SET foreign_key_checks = DEFAULT, unique_checks = 1",
    "SET innodb_lock_wait_timeout = 1",
    "SET @a = {n}, time_zone = '+01:00', @b = @@time_zone, SESSION sql_safe_updates = 0",
    "SET time_zone = '+02:00', no_such_variable = 1",
    "SET @a = 55, sql_mode = 'NO_SUCH_MODE'",
    "SET autocommit = 2",
    "SET GLOBAL no_such_variable = 1",
    "SET wait_timeout = 30{n}",
    "SET sql_safe_updates = 1",
    "SET sql_auto_is_null = 1",
    "SET timestamp = 100000000{n}",
    "SET timestamp = DEFAULT",
    "SELECT UNIX_TIMESTAMP() BETWEEN 1000000000 AND 1000000009, @@timestamp < 1000000010",
    "SET rand_seed1 = {n}, rand_seed2 = 7",
    "SET insert_id = 7{n}{n}",
    "SET last_insert_id = {n}",
    "SET identity = {n}",
    "SELECT @@identity, @@last_insert_id, @@insert_id",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE",
    "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
    "SET TRANSACTION READ ONLY",
    "SET SESSION TRANSACTION READ ONLY",
    "SET SESSION TRANSACTION READ WRITE",
    "mysql|SET @@transaction_isolation = 'READ-COMMITTED'",
    "mysql|SET SESSION transaction_isolation = DEFAULT",
    "mariadb|SET SESSION tx_isolation = 'READ-COMMITTED'",
    "mariadb|SET SESSION tx_isolation = DEFAULT",
    "mysql|SET SESSION max_execution_time = 5000",
    "mysql|SET SESSION session_track_schema = OFF",
    "mysql|SET session_track_state_change = ON",
    "mysql|SET session_track_transaction_info = 'STATE'",
    "mysql|SET session_track_transaction_info = 'OFF'",
    "mysql|SET session_track_system_variables = 'sql_mode,time_zone,autocommit'",
    "mysql|SET session_track_system_variables = DEFAULT",
    "mysql|SET resultset_metadata = 'FULL'",
    "mariadb|SET SESSION max_statement_time = 50",
    "mariadb|SET STATEMENT sql_mode = 'ANSI', max_statement_time = 20 FOR SELECT @@sql_mode, @@max_statement_time",
    "mariadb|SET SESSION session_track_system_variables = 'sql_mode,time_zone'",
    "mariadb|SET session_track_schema = OFF",
    "mysql|SELECT /*+ SET_VAR(sql_mode='ANSI') */ @@sql_mode",
    // Databases and names.
    "USE {db}",
    "USE {db}2",
    "USE no_such_database",
    "!init {db}",
    "!init {db}2",
    "!init no_such_database",
    "SELECT DATABASE(), SCHEMA()",
    "SELECT * FROM shared ORDER BY id LIMIT 2",
    "SELECT * FROM {db}2.shared",
    "SHOW TABLES LIKE 'sh%'",
    "SELECT CURRENT_ROLE()",
    "SELECT CONNECTION_ID() = {cid} AS mine",
    "SELECT CONNECTION_ID() = {cid} AS mine, @@pseudo_thread_id = {cid} AS too",
    "SELECT USER() = CURRENT_USER(), CURRENT_USER()",
    // Insert ids, counts.
    "SELECT LAST_INSERT_ID()",
    "SELECT LAST_INSERT_ID(), ROW_COUNT(), FOUND_ROWS()",
    "SELECT ROW_COUNT()",
    "SELECT FOUND_ROWS()",
    "SELECT LAST_INSERT_ID({n}00)",
    "INSERT INTO {db}.log (who, what) VALUES ({s}, 'one')",
    "INSERT INTO {db}.log (who, what) VALUES ({s}, 'two'), ({s}, 'three')",
    "INSERT INTO {db}.p{s} (v, t) VALUES ({n}, 'new')",
    "INSERT IGNORE INTO {db}.p{s} (v, t) VALUES ({n}, 'ignored'), ({n}1, 'new')",
    "INSERT INTO {db}.p{s} (id, v) VALUES ({n}000, {n}000)",
    "INSERT INTO {db}.p{s} (v, t) VALUES ({n}, 'dup') ON DUPLICATE KEY UPDATE t = 'dup', id = LAST_INSERT_ID(id)",
    "INSERT INTO {db}.p{s} (v, t) VALUES (10, 'duplicate')",
    "INSERT IGNORE INTO {db}.p{s} (v, t) VALUES (10{n}, 'far too long for it')",
    "INSERT INTO {db}.p{s} (v, t) VALUES (11{n}, 'far too long for it')",
    "REPLACE INTO {db}.p{s} (v, t) VALUES (20, 'replaced')",
    "UPDATE {db}.p{s} SET t = 'up' WHERE v <= 2{n}",
    "UPDATE {db}.p{s} SET v = LAST_INSERT_ID(v + 1) WHERE id = {n}",
    "DELETE FROM {db}.p{s} WHERE v = {n}",
    "UPDATE {db}.shared SET v = v + 1 WHERE id = {s}",
    "SELECT COUNT(*), SUM(v) FROM {db}.p{s}",
    "SELECT id, v FROM {db}.shared WHERE id = {s}",
    "SELECT * FROM {db}.sums",
    "mariadb|INSERT INTO {db}.log (who, what) VALUES ({s}, 'returning') RETURNING id > 0, who",
    "INSERT INTO {db}.trig (v) VALUES ({n})",
    "INSERT INTO {db}.log (who, what) SELECT {s}, 'select' FROM {db}.shared FORCE INDEX (PRIMARY) WHERE id < 3",
    "SELECT * FROM {db}.p{s} WHERE id IS NULL",
    // Found rows.
    "SELECT SQL_CALC_FOUND_ROWS id FROM {db}.shared ORDER BY id LIMIT 2",
    "SELECT id FROM {db}.shared ORDER BY id LIMIT 3",
    "SELECT FOUND_ROWS(), FOUND_ROWS()",
    // Warnings and errors.
    "SHOW WARNINGS",
    "SHOW WARNINGS LIMIT 1",
    "SHOW ERRORS",
    "SHOW COUNT(*) WARNINGS",
    "SHOW COUNT(*) ERRORS",
    "SELECT @@warning_count, @@error_count",
    "SELECT CAST('12abc' AS SIGNED), 1/0, CAST('x' AS DECIMAL(4,2))",
    "SELECT 1",
    "SELECT no_such_column FROM {db}.shared",
    "SELECT * FROM {db}.no_such_table",
    "SELEC 1",
    "DROP TABLE IF EXISTS {db}.no_such_table",
    "DO 1/0",
    "DO (SELECT 1 FROM {db}.no_such_table)",
    "GET DIAGNOSTICS @a = NUMBER, @b = ROW_COUNT",
    "GET DIAGNOSTICS CONDITION 1 @b = MESSAGE_TEXT, @a = MYSQL_ERRNO, @c = RETURNED_SQLSTATE",
    "SIGNAL SQLSTATE '01234' SET MESSAGE_TEXT = 'by hand'",
    "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'error by hand'",
    "RESIGNAL",
    "EXPLAIN SELECT * FROM {db}.p{s} WHERE id = 1",
    "CALL {db}.careful()",
    // Locks.
    "SELECT GET_LOCK('{db}.{n}', 0)",
    "SELECT GET_LOCK('{db}.{n}', 0), GET_LOCK('{db}.x{s}', 0)",
    "SELECT RELEASE_LOCK('{db}.{n}')",
    "SELECT IS_FREE_LOCK('{db}.{n}'), IS_USED_LOCK('{db}.{n}') IS NULL",
    "SELECT IS_USED_LOCK('{db}.{n}') = CONNECTION_ID()",
    "DO RELEASE_ALL_LOCKS()",
    "SELECT RELEASE_ALL_LOCKS()",
    // Transactions.
    "BEGIN",
    "START TRANSACTION",
    "START TRANSACTION WITH CONSISTENT SNAPSHOT",
    "COMMIT",
    "COMMIT",
    "ROLLBACK",
    "ROLLBACK",
    "COMMIT AND CHAIN",
    "ROLLBACK AND CHAIN",
    "SAVEPOINT sp{n}",
    "ROLLBACK TO sp{n}",
    "ROLLBACK TO SAVEPOINT sp{n}",
    "RELEASE SAVEPOINT sp{n}",
    "SET autocommit = 0",
    "SET autocommit = 1",
    "SET autocommit = ON",
    "SET @@session.autocommit = DEFAULT",
    "SET completion_type = 1",
    "SET completion_type = DEFAULT",
    "SELECT * FROM {db}.shared WHERE id = {s} FOR UPDATE",
    "SELECT COUNT(*) FROM {db}.log WHERE who = {s}",
    "SELECT SUM(v) FROM {db}.shared",
    "XA START '{db}{s}'",
    "XA END '{db}{s}'",
    "XA COMMIT '{db}{s}' ONE PHASE",
    "XA ROLLBACK '{db}{s}'",
    // Temporary tables, DDL.
    "CREATE TEMPORARY TABLE {db}.tmp{s} (id INT AUTO_INCREMENT PRIMARY KEY, v INT)",
    "INSERT INTO {db}.tmp{s} (v) VALUES ({n})",
    "SELECT * FROM {db}.tmp{s} ORDER BY id",
    "DROP TEMPORARY TABLE {db}.tmp{s}",
    "CREATE TABLE {db}.made{s} (id INT PRIMARY KEY) SELECT {n} AS id",
    "DROP TABLE {db}.made{s}",
    "TRUNCATE TABLE {db}.p{s}",
    "ALTER TABLE {db}.p{s} COMMENT = 'n{n}'",
    "ANALYZE TABLE {db}.p{s}",
    // Functions and procedures.
    "SELECT {db}.side({n})",
    "SELECT {db}.takes('{db}.{n}')",
    "SELECT {db}.logs({s}) > 0",
    "CALL {db}.two_sets()",
    "CALL {db}.out_params({n}, @a, @b)",
    "CALL {db}.set_variables()",
    "CALL {db}.make_temp()",
    "SELECT * FROM {db}.proc_temp",
    "CALL {db}.fail()",
    "CALL {db}.begins()",
    "CALL {db}.prepares()",
    "EXECUTE from_proc",
    "CALL {db}.no_such_procedure()",
    // Several statements in one.
    "SELECT 1; SELECT 2; SET @a = 3",
    "SET @a = {n}; SELECT @a; SELECT id FROM {db}.shared WHERE id < 2",
    "SELECT 1; SELECT * FROM {db}.no_such_table; SELECT 3",
    "BEGIN; UPDATE {db}.shared SET v = v + 100 WHERE id = {s}; SELECT v FROM {db}.shared WHERE id = {s}; ROLLBACK",
    "INSERT INTO {db}.log (who, what) VALUES ({s}, 'multi'); SELECT LAST_INSERT_ID() > 0; SELECT CAST('1x' AS SIGNED)",
    "USE {db}2; SELECT DATABASE(); CREATE TEMPORARY TABLE IF NOT EXISTS multi (id INT)",
    ";",
    "",
    "/* only a comment */",
    "SELECT 1;",
    // Text PREPARE.
    "PREPARE ps{n} FROM 'SELECT ? + 1, @@sql_mode'",
    "SET @t = 'SELECT id FROM {db}.shared WHERE id < ? ORDER BY id'",
    "PREPARE ps{n} FROM @t",
    "EXECUTE ps{n} USING @a",
    "EXECUTE ps{n}",
    "DEALLOCATE PREPARE ps{n}",
    "mariadb|EXECUTE IMMEDIATE 'SELECT ?' USING {n}",
    // Roles.
    "SET ROLE NONE",
    "SET ROLE reader",
    "mysql|SET ROLE ALL",
    // Commands that are no statements.
    "!ping",
    "!option 1",
    "!option 0",
    "!reset",
    "!user {db}",
    "!user {db}2",
    "!reconnect",
    "!reconnect",
    "!infile {s}\\tloaded\\n{s}\\tagain\\n",
    "LOAD DATA LOCAL INFILE 'any' INTO TABLE {db}.log (who, what)",
];

/// Sequences that belong together; other sessions' steps, and some of the session's own, come in between.
const GROUPS: &[&[&str]] = &[
    &["BEGIN", "UPDATE {db}.shared SET v = v + 10 WHERE id = {s}", "SELECT v FROM {db}.shared ORDER BY id", "ROLLBACK"],
    &["BEGIN", "UPDATE {db}.shared SET v = v + 1 WHERE id = {s}", "SAVEPOINT a", "DELETE FROM {db}.p{s}", "ROLLBACK TO a", "COMMIT"],
    &["START TRANSACTION READ ONLY", "SELECT SUM(v) FROM {db}.shared", "UPDATE {db}.shared SET v = 0 WHERE id = {s}", "SELECT 2", "COMMIT"],
    &["START TRANSACTION WITH CONSISTENT SNAPSHOT", "SELECT SUM(v) FROM {db}.shared", "SELECT SUM(v) FROM {db}.shared", "COMMIT"],
    &["BEGIN", "BEGIN", "INSERT INTO {db}.log (who, what) VALUES ({s}, 'twice')", "BEGIN", "ROLLBACK"],
    &["BEGIN", "COMMIT"],
    &["BEGIN", "SELECT 1", "CREATE TABLE IF NOT EXISTS {db}.ddl{s} (id INT)", "ROLLBACK", "DROP TABLE {db}.ddl{s}"],
    &["SET autocommit = 0", "INSERT INTO {db}.p{s} (v) VALUES (77)", "ROLLBACK", "SELECT COUNT(*) FROM {db}.p{s}", "INSERT INTO {db}.p{s} (v) VALUES (78)", "SET autocommit = 1", "SELECT COUNT(*) FROM {db}.p{s}"],
    &["SET autocommit = 0", "UPDATE {db}.p{s} SET t = 'lost' WHERE id = 1", "!reconnect", "SELECT t FROM {db}.p{s} WHERE id = 1"],
    &["BEGIN", "INSERT INTO {db}.log (who, what) VALUES ({s}, 'lost')", "!reconnect", "SELECT @@autocommit", "SELECT COUNT(*) FROM {db}.log WHERE who = {s}"],
    &["BEGIN", "INSERT INTO {db}.log (who, what) VALUES ({s}, 'reset')", "!reset", "SELECT COUNT(*) FROM {db}.log WHERE who = {s}"],
    &["SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "BEGIN", "SELECT SUM(v) FROM {db}.shared", "SELECT SUM(v) FROM {db}.shared", "COMMIT", "BEGIN", "SELECT SUM(v) FROM {db}.shared", "SELECT SUM(v) FROM {db}.shared", "COMMIT"],
    &["SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED", "SELECT SUM(v) FROM {db}.shared", "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"],
    &["BEGIN", "SELECT COUNT(*) FROM {db}.shared FOR UPDATE NOWAIT", "SELECT 1", "COMMIT"],
    &["CREATE TEMPORARY TABLE {db}.shared (id INT, v INT, note VARCHAR(9))", "INSERT INTO {db}.shared VALUES (1, {s}, 'shadow')", "SELECT * FROM {db}.shared", "DROP TEMPORARY TABLE {db}.shared", "SELECT * FROM {db}.shared ORDER BY id LIMIT 1"],
    &["CREATE TEMPORARY TABLE gone{s} (id INT)", "INSERT INTO gone{s} VALUES (1)", "!reset", "SELECT * FROM gone{s}"],
    &["CREATE TEMPORARY TABLE gone{s} (id INT)", "!user {db}", "SELECT * FROM gone{s}"],
    &["LOCK TABLES {db}.p{s} WRITE", "SELECT COUNT(*) FROM {db}.p{s}", "SELECT COUNT(*) FROM {db}.words", "INSERT INTO {db}.p{s} (v) VALUES ({n}99)", "UNLOCK TABLES", "SELECT COUNT(*) FROM {db}.words"],
    &["LOCK TABLES {db}.words READ", "INSERT INTO {db}.words VALUES (9, 'a', 'b')", "SELECT COUNT(*) FROM {db}.words", "!reset", "SELECT COUNT(*) FROM {db}.log WHERE who = {s}"],
    &["LOCK TABLES {db}.p{s} READ", "BEGIN", "INSERT INTO {db}.p{s} (v) VALUES ({n}98)", "COMMIT", "UNLOCK TABLES"],
    &["HANDLER {db}.p{s} OPEN AS h", "HANDLER h READ FIRST", "HANDLER h READ NEXT LIMIT 2", "HANDLER h READ `PRIMARY` = (1)", "HANDLER h CLOSE", "HANDLER h READ NEXT"],
    &["SELECT GET_LOCK('{db}.mine{s}', 0)", "SELECT IS_USED_LOCK('{db}.mine{s}') = CONNECTION_ID()", "!reset", "SELECT IS_FREE_LOCK('{db}.mine{s}')"],
    &["SELECT GET_LOCK('{db}.common', 0)", "SELECT IS_FREE_LOCK('{db}.common')", "SELECT RELEASE_LOCK('{db}.common')"],
    &["SELECT SQL_CALC_FOUND_ROWS * FROM {db}.shared LIMIT 1", "SELECT FOUND_ROWS()"],
    &["INSERT INTO {db}.log (who, what) VALUES ({s}, 'id')", "SELECT LAST_INSERT_ID()", "INSERT INTO {db}.log (id, who) VALUES (NULL, {s})", "SELECT LAST_INSERT_ID(), ROW_COUNT()", "SELECT ROW_COUNT()"],
    &["SELECT CAST('7x' AS SIGNED)", "SHOW WARNINGS", "SHOW WARNINGS", "SELECT 1", "SHOW WARNINGS"],
    &["INSERT IGNORE INTO {db}.p{s} (v) VALUES ('{n}y'), (10)", "SHOW COUNT(*) WARNINGS", "SHOW WARNINGS", "SELECT @@warning_count"],
    &["SELECT * FROM {db}.nowhere{s}", "SHOW ERRORS", "SELECT @@error_count", "SHOW WARNINGS"],
    &["SELECT 1/0", "GET DIAGNOSTICS CONDITION 1 @b = MESSAGE_TEXT", "SELECT @b"],
    &["SELECT CAST('a' AS SIGNED), CAST('b' AS SIGNED), CAST('c' AS SIGNED)", "SHOW WARNINGS LIMIT 1, 1", "SHOW COUNT(*) ERRORS"],
    &["SET @x = 'SELECT ?'", "PREPARE st FROM @x", "SET @y = {n}", "EXECUTE st USING @y", "DEALLOCATE PREPARE st", "EXECUTE st USING @y"],
    &["PREPARE st FROM 'INSERT INTO {db}.log (who, what) VALUES (?, ?)'", "SET @w = {s}", "EXECUTE st USING @w, @t", "!reset", "EXECUTE st USING @w, @t"],
    &["XA START 'x{db}{s}'", "INSERT INTO {db}.log (who) VALUES ({s})", "XA END 'x{db}{s}'", "XA COMMIT 'x{db}{s}' ONE PHASE"],
    &["SET time_zone = '+03:00', sql_mode = 'ANSI'", "!reset", "SELECT @@time_zone, @@sql_mode", "SELECT DATABASE()"],
    &["SET NAMES latin1", "SET @c = 'caf\u{e9}'", "!user {db}2", "SELECT @@character_set_client, @c, DATABASE()"],
    &["SET rand_seed1 = 5, rand_seed2 = {n}", "SELECT RAND(), RAND()"],
    &["SET insert_id = 900{n}", "INSERT INTO {db}.p{s} (v) VALUES (900{n})", "SELECT LAST_INSERT_ID()"],
    // Server-prepared statements.
    &["!prepare q SELECT id, v FROM {db}.shared WHERE id < ? ORDER BY id LIMIT ?", "!exec q 5, 2", "!exec q 9, 3", "!exec q 'a', 1", "!exec q NULL, 1", "!close q", "!exec q 1, 1"],
    &["!prepare q SELECT id, v FROM shared WHERE id = ?", "!exec q 1", "USE {db}2", "!exec q 1", "USE {db}", "!exec q 1"],
    &["!prepare q SELECT 'a' || ?, \"b\"", "!exec q 'z'", "SET sql_mode = 'ANSI'", "!exec q 'z'", "SET sql_mode = DEFAULT", "!close q"],
    &["!prepare q SELECT @a, @a := ?, @b", "!exec q {n}", "SET @a = 'str'", "!exec q 'str'", "!close q"],
    &["!prepare ins INSERT INTO {db}.log (who, what) VALUES (?, ?)", "!exec ins {s}, 'prepared'", "SELECT LAST_INSERT_ID()", "!exec ins {s}, NULL", "!exec ins {s}, 'far too long to be kept in this column'", "SHOW WARNINGS"],
    &["!prepare d SELECT * FROM {db}.p{s} WHERE id = ?", "!exec d 1", "ALTER TABLE {db}.p{s} ADD COLUMN x{n} INT DEFAULT 3", "!exec d 1", "ALTER TABLE {db}.p{s} DROP COLUMN x{n}", "!exec d 1"],
    &["!prepare bad SELECT * FROM {db}.no_such_table", "SHOW WARNINGS", "!exec bad", "!prepare bad SELEC"],
    &["!prepare c CALL {db}.out_params(?, ?, ?)", "!exec c 4, NULL, 'in'", "!exec c {n}, 1, 'more'", "!close c"],
    &["!prepare c CALL {db}.two_sets()", "!exec c", "!exec c", "!close c"],
    &["!prepare cur SELECT id, v FROM {db}.shared ORDER BY id", "!cursor cur", "!fetch cur 3", "!fetch cur 4", "!fetch cur 100", "!fetch cur 1", "!close cur"],
    &["!prepare cur SELECT id FROM {db}.shared WHERE id > ? ORDER BY id", "!cursor cur {n}", "!fetch cur 1", "!unlong cur", "!fetch cur 1", "!cursor cur 1", "!fetch cur 2", "!close cur"],
    &["!prepare l INSERT INTO {db}.p{s} (v, t) VALUES (?, ?)", "!long l 1 lo", "!long l 1 ng", "!exec l 50{n}, 'x'", "SELECT t FROM {db}.p{s} WHERE v = 50{n}", "!long l 1 zzz", "!unlong l", "!exec l 51{n}, 'short'"],
    &["!prepare one SELECT 1", "!prepare two SELECT 2, ?", "!exec two 'b'", "!exec one", "!exec two {n}", "!close one", "!exec two NULL", "!exec one"],
    &["!prepare r SELECT ?, @@time_zone", "!exec r 1", "!reset", "!exec r 1"],
    &["!prepare w SELECT CAST(? AS SIGNED)", "!exec w '5x'", "SHOW WARNINGS", "!exec w '5'", "SHOW WARNINGS"],
    &["!prepare s SET @a = ?, time_zone = '+04:00'", "!exec s 'bound'", "SELECT @a, @@time_zone", "!exec s {n}", "SELECT @a"],
    &["!prepare b BEGIN", "!exec b", "INSERT INTO {db}.log (who) VALUES ({s})", "!prepare rb ROLLBACK", "!exec rb", "SELECT COUNT(*) FROM {db}.log WHERE who = {s}"],
    &["!prepare t CREATE TEMPORARY TABLE IF NOT EXISTS ptemp{s} (id INT)", "!exec t", "!prepare i INSERT INTO ptemp{s} VALUES (?)", "!exec i {n}", "SELECT * FROM ptemp{s}", "DROP TEMPORARY TABLE ptemp{s}", "!exec i 1"],
    &["!prepare bl SELECT HEX(?), LENGTH(?), ? + 0.5", "!exec bl x'00ff27', 'caf\u{e9}', 2.25", "SET NAMES latin1", "!exec bl x'00ff27', 'caf\u{e9}', 2", "!close bl"],
];

/// The step for this server, or none.
pub(crate) fn for_flavor(step: &str, flavor: Flavor) -> Option<&str> {
    let (only, other) = match flavor {
        Flavor::MariaDb => ("mariadb|", "mysql|"),
        Flavor::MySql => ("mysql|", "mariadb|"),
    };
    (!step.starts_with(other)).then(|| step.strip_prefix(only).unwrap_or(step))
}

/// A random script of about `length` steps for the session number `session`.
pub(crate) fn draw(dice: &mut Dice, flavor: Flavor, session: usize, length: usize) -> Vec<String> {
    let mut steps = vec![FIRST.to_owned()];
    while steps.len() < length {
        if dice.percent(60) {
            steps.extend(draw_single(dice, flavor, session));
            continue;
        }
        let number = 1 + dice.below(9);
        for step in *dice.pick(GROUPS) {
            if dice.percent(15) {
                steps.extend(draw_single(dice, flavor, session));
            }
            steps.push(fill(step, session, || number));
        }
    }
    if flavor == Flavor::MariaDb {
        steps = steps.into_iter().flat_map(settled).collect();
    }
    steps
}

/// MariaDB keeps the objects of ended sessions for new ones, and FOUND_ROWS() in them (10.11): until its first SELECT
/// a session sees the number of another. So the first SELECT comes at once.
const FIRST: &str = "SELECT 'first'";

fn settled(step: String) -> Vec<String> {
    let anew = ["!reset", "!reconnect", "!user"].iter().any(|word| step.starts_with(word));
    if anew { vec![step, FIRST.to_owned()] } else { vec![step] }
}

fn draw_single(dice: &mut Dice, flavor: Flavor, session: usize) -> Option<String> {
    let step: &str = dice.pick::<&str>(SINGLES);
    let step = for_flavor(step, flavor)?;
    Some(fill(step, session, || 1 + dice.below(9)))
}

fn fill(step: &str, session: usize, mut number: impl FnMut() -> usize) -> String {
    let mut text = step.replace("{s}", &session.to_string());
    while let Some(at) = text.find("{n}") {
        text.replace_range(at..at + 3, &number().to_string());
    }
    text
}
