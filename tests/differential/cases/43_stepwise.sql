# Procedures whose statements need several shards: run statement by statement.

## a cursor over all shards, and rows written to them
CREATE TABLE acc (id INT PRIMARY KEY, balance INT NOT NULL) /*weir: shard by hash(id) */;
CREATE TABLE log (acc INT, n INT, what VARCHAR(20), PRIMARY KEY (acc, n)) /*weir: shard by hash(acc) */;
INSERT INTO acc VALUES (1, 10), (2, 20), (3, 30), (4, 40), (5, 50), (6, 60);
CREATE PROCEDURE note_all(IN least INT, IN what VARCHAR(20)) BEGIN DECLARE done INT DEFAULT 0; DECLARE i, b INT; DECLARE c CURSOR FOR SELECT id, balance FROM acc WHERE balance >= least ORDER BY id; DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = 1; OPEN c; all_rows: LOOP FETCH c INTO i, b; IF done THEN LEAVE all_rows; END IF; INSERT INTO log VALUES (i, 1, CONCAT(what, ' ', b)); UPDATE acc SET balance = balance + 1 WHERE id = i; END LOOP; CLOSE c; END;
CALL note_all(30, 'it''s');
SELECT * FROM log ORDER BY acc;
SELECT * FROM acc ORDER BY id;
BEGIN;
CALL note_all(61, 'x');
ROLLBACK;
SELECT * FROM acc ORDER BY id;
CALL note_all(1, 'again');
SELECT * FROM log ORDER BY acc;

## errors after rows that are still to be sent
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30);
CREATE PROCEDURE twice() BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SELECT 'handled'; INSERT INTO t VALUES (3, 1), (4, 1); INSERT INTO t VALUES (1, 1), (5, 1); SELECT 'shown'; INSERT INTO t VALUES (2, 1), (6, 1); SELECT COUNT(*) FROM t; END;
CALL twice();

## results, counts and OUT parameters
CREATE TABLE t (id INT PRIMARY KEY, a INT, s VARCHAR(10)) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c'), (4, NULL, NULL);
CREATE PROCEDURE p(IN k INT, OUT total INT, INOUT who VARCHAR(30)) BEGIN SELECT SUM(a) INTO total FROM t WHERE id <= k; SELECT * FROM t WHERE id <= k ORDER BY id; SELECT total, k + 1, who AS n, CONCAT(who, 'x'); UPDATE t SET a = a + 1 WHERE id <= k; SET who = CONCAT(who, ROW_COUNT()); END;
SET @n = 'z';
CALL p(2, @t, @n);
SELECT @t, @n;
CALL p(4, @t, @n);
SELECT @t, @n;
SELECT ROW_COUNT();
CALL p(1, 2, @n);
CALL p(1);
CALL p('x', @t, @n);
SELECT * FROM t ORDER BY id;
CREATE PROCEDURE q(k INT) BEGIN DECLARE v TINYINT DEFAULT 100; WHILE k > 0 DO INSERT INTO t VALUES (100 + k, k, 'w'); SET k = k - 1, v = v + 10; END WHILE; SELECT COUNT(*) FROM t; END;
CALL q(2);
CALL q(0);
DELETE FROM t WHERE id > 100;
CALL q(3);
SELECT id FROM t ORDER BY id;

## handlers
CREATE TABLE t (id INT PRIMARY KEY, a INT, s VARCHAR(5)) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c'), (4, NULL, NULL);
CREATE PROCEDURE dup() BEGIN DECLARE EXIT HANDLER FOR 1062 BEGIN SELECT 'code' AS h; END; DECLARE EXIT HANDLER FOR SQLSTATE '23000' SELECT 'state' AS h; DECLARE EXIT HANDLER FOR SQLEXCEPTION SELECT 'any' AS h; UPDATE t SET a = a + 1; INSERT INTO t VALUES (1, 1, 'x'); SELECT 'not here'; END;
CALL dup();
SELECT * FROM t ORDER BY id;
CREATE PROCEDURE dup2() BEGIN DECLARE v INT DEFAULT 0; DECLARE CONTINUE HANDLER FOR SQLSTATE '23000' SET v = v + 1; INSERT INTO t VALUES (1, 1, 'x'), (20, 1, 'y'); INSERT INTO t VALUES (2, 1, 'x'); BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION SET v = v + 10; INSERT INTO t VALUES (3, 1, 'x'); SET v = v + 100; END; SELECT v, (SELECT COUNT(*) FROM t) INTO @v, @n; END;
CALL dup2();
SELECT @v, @n;
CREATE PROCEDURE inner_state() BEGIN DECLARE CONTINUE HANDLER FOR 1062 SET @h = 'outer code'; BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET @h = 'inner any'; INSERT INTO t SELECT id, a, s FROM t; END; END;
CALL inner_state();
SELECT @h;
CREATE PROCEDURE found_none(k INT) BEGIN DECLARE v, n INT DEFAULT 7; DECLARE CONTINUE HANDLER FOR NOT FOUND SET n = 1; SELECT a INTO v FROM t WHERE a > k; SELECT v, n; END;
CALL found_none(1000);
CALL found_none(25);
CALL found_none(5);
CREATE PROCEDURE no_handler() BEGIN DECLARE v INT DEFAULT 7; SELECT a INTO v FROM t WHERE a > 1000; SELECT v; UPDATE t SET s = 'z' WHERE a > 25; END;
CALL no_handler();
CREATE PROCEDURE many() BEGIN DECLARE v INT; DECLARE CONTINUE HANDLER FOR 1172 SET @m = v; SELECT a INTO v FROM t WHERE a IS NOT NULL ORDER BY a; SELECT v; END;
CALL many();
SELECT @m;
CREATE PROCEDURE raise_it(k INT) BEGIN DECLARE bad CONDITION FOR SQLSTATE '45001'; DECLARE EXIT HANDLER FOR bad BEGIN UPDATE t SET s = 'bad' WHERE a > 15; RESIGNAL; END; IF k = 1 THEN SIGNAL bad SET MESSAGE_TEXT = 'no good'; ELSEIF k = 2 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'other', MYSQL_ERRNO = 5555; ELSEIF k = 3 THEN SIGNAL SQLSTATE '01000'; ELSE SIGNAL SQLSTATE '02000'; END IF; UPDATE t SET s = 'end' WHERE a > 15; END;
CALL raise_it(1);
SELECT s FROM t ORDER BY id;
CALL raise_it(2);
CALL raise_it(3);
CALL raise_it(4);
SELECT s FROM t ORDER BY id;
CREATE PROCEDURE in_handler() BEGIN DECLARE v VARCHAR(50) DEFAULT ''; DECLARE EXIT HANDLER FOR SQLEXCEPTION SELECT CONCAT(v, ' outer') AS v; BEGIN DECLARE CONTINUE HANDLER FOR 1062 BEGIN SET v = CONCAT(v, ' inner'); INSERT INTO t VALUES (2, 2, 'x'); END; INSERT INTO t VALUES (1, 1, 'x'); UPDATE t SET a = 0; END; SELECT 'not here'; END;
CALL in_handler();
SELECT SUM(a) FROM t;
CREATE PROCEDURE no_case(k INT) BEGIN DECLARE CONTINUE HANDLER FOR 1339 UPDATE t SET s = 'c39' WHERE a > 15; CASE k WHEN 1 THEN UPDATE t SET s = 'one'; WHEN 2 THEN UPDATE t SET s = 'two' WHERE a > 15; END CASE; SELECT s FROM t ORDER BY id; END;
CALL no_case(2);
CALL no_case(9);
CREATE PROCEDURE no_case2(k INT) CASE WHEN k > 5 THEN SELECT COUNT(*) FROM t; WHEN k > 3 THEN SELECT SUM(a) FROM t; END CASE;
CALL no_case2(6);
CALL no_case2(4);
CALL no_case2(1);

## scopes and loops
CREATE TABLE t (id INT PRIMARY KEY, a INT, s VARCHAR(20)) /*weir: shard by hash(id) */;
CREATE PROCEDURE scopes(v INT) BEGIN DECLARE w INT DEFAULT v * 2; DECLARE x, y INT DEFAULT w + 1; INSERT INTO t VALUES (1, v, 'outer'), (2, w, 'w'), (3, x + y, 'xy'); BEGIN DECLARE v VARCHAR(10) DEFAULT CONCAT('in', v); INSERT INTO t VALUES (4, w, v); SET v = 'changed'; BEGIN DECLARE v DECIMAL(5, 2); SELECT v; SET v = 1.005; SELECT v, v + 1, v AS u; END; SELECT v; END; SELECT v; END;
CALL scopes(5);
SELECT * FROM t ORDER BY id;
CREATE PROCEDURE loops(n INT) BEGIN DECLARE i, j INT DEFAULT 0; a: WHILE i < n DO SET i = i + 1, j = 0; b: LOOP SET j = j + 1; IF j = 2 THEN ITERATE b; END IF; IF i = 3 THEN ITERATE a; END IF; IF i = 5 THEN LEAVE a; END IF; INSERT INTO t VALUES (100 * i + j, j, 'l'); IF j > 3 THEN LEAVE b; END IF; END LOOP; END WHILE; REPEAT SET i = i - 1; INSERT INTO t VALUES (1000 + i, i, NULL); UNTIL i <= 2 END REPEAT; SELECT COUNT(*) FROM t; BEGIN DECLARE k INT DEFAULT 3; END; out_of: BEGIN INSERT INTO t VALUES (5000, 0, 'in'); LEAVE out_of; INSERT INTO t VALUES (5001, 0, 'no'); END; END;
CALL loops(9);
SELECT * FROM t ORDER BY id;
CREATE PROCEDURE twice() BEGIN DECLARE n INT DEFAULT 0; WHILE n < 2 DO BEGIN DECLARE v INT; SET n = n + 1; UPDATE t SET a = COALESCE(v, -1) WHERE s = 'l'; SET v = n; END; END WHILE; SELECT a FROM t WHERE s = 'l' LIMIT 1; END;
CALL twice();
CREATE PROCEDURE limited(n INT) BEGIN SELECT id FROM t ORDER BY id LIMIT n; SELECT id FROM t WHERE a <> n ORDER BY id DESC LIMIT 1, n; END;
CALL limited(2);

## types
CREATE TABLE t (id INT PRIMARY KEY, a INT, s VARCHAR(20), d DATE, dt DATETIME(3), ti TIME, dc DECIMAL(10,3), db DOUBLE, b BIGINT UNSIGNED) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, -5, 'it''s \\ ü', '2024-02-29', '2024-02-29 10:11:12.345', '-10:11:12', -1.125, 0.1, 18446744073709551615), (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (3, 7, '', '1999-01-01', '1999-01-01', '838:59:59', 123.4, 1e300, 0);
CREATE PROCEDURE copy_all() BEGIN DECLARE done INT DEFAULT 0; DECLARE i, a INT; DECLARE s VARCHAR(20); DECLARE d DATE; DECLARE dt DATETIME(3); DECLARE ti TIME; DECLARE dc DECIMAL(10,3); DECLARE db DOUBLE; DECLARE b BIGINT UNSIGNED; DECLARE c CURSOR FOR SELECT * FROM t WHERE id < 10 ORDER BY id; DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = 1; OPEN c; REPEAT FETCH c INTO i, a, s, d, dt, ti, dc, db, b; IF NOT done THEN INSERT INTO t VALUES (i + 10, a, s, d, dt, ti, dc, db, b); SELECT i, a, s, d, dt, ti, dc, db, b; SELECT COUNT(*) FROM t WHERE t.s = s AND t.d = d AND t.dt = dt AND t.ti = ti AND t.dc = dc AND t.db = db AND t.b = b; END IF; UNTIL done END REPEAT; CLOSE c; END;
CALL copy_all();
SELECT * FROM t ORDER BY id;
# MariaDB warns of it when it is prepared, and Weir sends it as a text.
-- no warnings
CREATE PROCEDURE fits(k INT) BEGIN DECLARE ty TINYINT; DECLARE s VARCHAR(3); DECLARE d DECIMAL(4,1); DECLARE dt DATE; DECLARE un INT UNSIGNED; DECLARE CONTINUE HANDLER FOR SQLEXCEPTION UPDATE t SET a = a + 1 WHERE id > 10; CASE k WHEN 1 THEN SET ty = 128; WHEN 2 THEN SET s = 'abcd'; WHEN 3 THEN SET d = 1234.56; WHEN 4 THEN SET dt = '2023-02-30'; WHEN 5 THEN SET un = -1; WHEN 6 THEN SET ty = 'x'; WHEN 7 THEN SET d = 12.36; WHEN 8 THEN SET s = 123; WHEN 9 THEN SELECT s FROM t WHERE id = 1 INTO ty; WHEN 10 THEN SELECT a, a FROM t WHERE id = 1 INTO un; ELSE SET ty = (SELECT COUNT(*) FROM t) * 100; END CASE; SELECT ty, s, d, dt, un; SELECT SUM(a) FROM t; END;
CALL fits(1);
CALL fits(2);
CALL fits(3);
CALL fits(4);
CALL fits(5);
CALL fits(6);
CALL fits(7);
CALL fits(8);
CALL fits(9);
CALL fits(11);
CREATE PROCEDURE raw(k INT) BEGIN DECLARE ty TINYINT DEFAULT 1; DECLARE s VARCHAR(3); UPDATE t SET a = 1 WHERE id > 1; CASE k WHEN 1 THEN SET ty = 128; WHEN 2 THEN SET s = 'abcd'; WHEN 3 THEN SET ty = 1 / 0; ELSE SET ty = 'y'; END CASE; SELECT ty; END;
CALL raw(1);
CALL raw(2);
CALL raw(3);
CALL raw(4);

## cursors
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30);
CREATE PROCEDURE c1() BEGIN DECLARE a, b INT; DECLARE c CURSOR FOR SELECT id FROM t; FETCH c INTO a; END;
CALL c1();
CREATE PROCEDURE c2() BEGIN DECLARE a, b INT; DECLARE c CURSOR FOR SELECT id FROM t; OPEN c; FETCH c INTO a, b; END;
CALL c2();
CREATE PROCEDURE c3() BEGIN DECLARE a, b INT; DECLARE c CURSOR FOR SELECT id FROM t WHERE a > 100; OPEN c; FETCH c INTO a; END;
CALL c3();
CREATE PROCEDURE c4() BEGIN DECLARE c CURSOR FOR SELECT id FROM t; OPEN c; OPEN c; END;
CALL c4();
CREATE PROCEDURE c5() BEGIN DECLARE c CURSOR FOR SELECT id FROM t; CLOSE c; END;
CALL c5();
CREATE PROCEDURE c6() BEGIN DECLARE x, y, n INT DEFAULT 0; DECLARE c CURSOR FOR SELECT id FROM t ORDER BY id; DECLARE EXIT HANDLER FOR NOT FOUND SELECT n; OPEN c; LOOP FETCH c INTO x; BEGIN DECLARE done INT DEFAULT 0; DECLARE d CURSOR FOR SELECT a FROM t WHERE id >= x ORDER BY id; DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = 1; OPEN d; UPDATE t SET a = a + 1; inner_loop: LOOP FETCH d INTO y; IF done THEN LEAVE inner_loop; END IF; SET n = n + y; END LOOP; END; END LOOP; END;
CALL c6();
SELECT * FROM t ORDER BY id;
CREATE PROCEDURE c7() BEGIN DECLARE x INT; DECLARE c CURSOR FOR SELECT id FROM t ORDER BY id DESC; OPEN c; FETCH c INTO x; CLOSE c; OPEN c; FETCH NEXT FROM c INTO x; FETCH FROM c INTO x; SELECT x; END;
CALL c7();
CREATE PROCEDURE c8() BEGIN DECLARE x, f, r INT; DECLARE c CURSOR FOR SELECT id FROM t; UPDATE t SET a = 0 WHERE id < 3; OPEN c; SET f = FOUND_ROWS(), r = ROW_COUNT(); SELECT f, r; SELECT id INTO x FROM t WHERE a > 5; SET r = ROW_COUNT(); SELECT r; END;
CALL c8();

## transactions, state of the session
CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
CREATE TABLE g (id INT PRIMARY KEY, a INT) /*weir: global */;
CREATE PROCEDURE tr(k INT) BEGIN DECLARE l INT; START TRANSACTION; INSERT INTO t (a) VALUES (1), (2), (3); SET l = LAST_INSERT_ID(); INSERT INTO g VALUES (k, l); SAVEPOINT s; UPDATE t SET a = a + 10; ROLLBACK TO s; IF k = 1 THEN COMMIT; ELSE ROLLBACK; END IF; SELECT COUNT(*) FROM t; END;
CALL tr(1);
CALL tr(2);
SELECT COUNT(*), SUM(a) FROM t;
SELECT id FROM g;
CREATE PROCEDURE atomic(k INT) BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END; START TRANSACTION; UPDATE t SET a = a + k; INSERT INTO g VALUES (1, k); COMMIT; END;
CALL atomic(5);
SELECT COUNT(*), SUM(a) FROM t;
CREATE PROCEDURE vars() BEGIN DECLARE v DECIMAL(6,2) DEFAULT 1.5; SET @a = v, @b = 'x'; SET @c = (SELECT COUNT(*) FROM t); SELECT @a, @b, @c; UPDATE t SET a = a + @c; SET @d := @c + v; DO @e := 5; END;
CALL vars();
SELECT @a, @b, @c, @d, @e;
CREATE PROCEDURE sub(k INT) BEGIN UPDATE t SET a = a + k; SELECT k, 'sub' AS n; END;
CREATE PROCEDURE outside(k INT) BEGIN CALL sub(k + 1); INSERT INTO g VALUES (k * 10, 0); CALL sub((SELECT MAX(id) FROM g)); SELECT COUNT(*) FROM g; END;
CALL outside(5);
SELECT SUM(a) FROM t;
CALL outside(5);
-- params: 7
CALL outside(?);
BEGIN;
UPDATE t SET a = 0 WHERE id = 1;
CALL sub(3);
SELECT SUM(a) FROM t;
ROLLBACK;
SELECT SUM(a) FROM t;
SET autocommit = 0;
CALL sub(3);
ROLLBACK;
SET autocommit = 1;
SELECT SUM(a) FROM t;

## prepared by SQL, and what is left of warnings
CREATE TABLE t (id INT PRIMARY KEY, a TINYINT, s VARCHAR(3)) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c');
CREATE PROCEDURE add_to(k INT, w VARCHAR(5)) BEGIN UPDATE t SET a = a + k; SELECT w, k + 1; SELECT id, a FROM t WHERE s <> w ORDER BY id; END;
PREPARE c FROM 'CALL add_to(?, ?)';
SET @k = 2, @w = 'b';
EXECUTE c USING @k, @w;
DEALLOCATE PREPARE c;
-- params: 3, 'ü'
CALL add_to(?, ?);
-- params: NULL, NULL
CALL add_to(?, ?);
SELECT * FROM t ORDER BY id;
SET sql_mode = '';
CREATE PROCEDURE lax(k INT) BEGIN DECLARE v TINYINT; DECLARE s VARCHAR(2); SET v = k; UPDATE t SET a = 5 WHERE id < 3; SET s = 'abc'; SELECT v, s; END;
CALL lax(1000);
CREATE PROCEDURE heeds(k INT) BEGIN DECLARE v TINYINT; DECLARE n INT DEFAULT 0; DECLARE CONTINUE HANDLER FOR SQLWARNING SET n = n + 1; SET v = k; UPDATE t SET a = k; INSERT INTO t VALUES (k, k, 'long text'); SELECT v, n; SELECT COUNT(*) FROM t; END;
CALL heeds(1000);
CALL heeds(7);
SELECT * FROM t ORDER BY id;

## variables beside rows are refused: their types would be told as literals'
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
CREATE TABLE g (id INT PRIMARY KEY) /*weir: global */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30);
-- text
CREATE PROCEDURE named(v INT) BEGIN INSERT INTO g VALUES (v); SELECT v AS x, id FROM t ORDER BY id; END;
-- text
-- refused: selects a variable beside rows
CALL named(1);
-- text
CREATE PROCEDURE derived(v INT) BEGIN INSERT INTO g VALUES (v); SELECT * FROM (SELECT v AS x, id FROM t) d ORDER BY id; END;
-- text
-- refused: selects a variable beside rows
CALL derived(1);
-- text
CREATE PROCEDURE united(v INT) BEGIN INSERT INTO g VALUES (v); SELECT id FROM t UNION SELECT v; END;
-- text
-- refused: selects a variable beside rows
CALL united(1);
-- text
CREATE PROCEDURE sorted(v INT) BEGIN INSERT INTO g VALUES (v); SELECT id, a FROM t ORDER BY v; END;
-- text
-- refused: sorts or groups by a variable
CALL sorted(2);
SELECT COUNT(*) FROM g;
-- text
CREATE PROCEDURE filtered(v INT) BEGIN INSERT INTO g VALUES (v); SELECT id, a FROM t WHERE a > v ORDER BY id LIMIT v; END;
-- text
CALL filtered(2);
SELECT COUNT(*) FROM g;

## in other settings than those of its definition
CREATE TABLE t (id INT PRIMARY KEY, a INT, s VARCHAR(10)) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'É'), (3, 30, 'é'), (4, NULL, NULL);
CREATE PROCEDURE settings() BEGIN UPDATE t SET a = a + 1; SELECT @@collation_connection, @@character_set_client, @@sql_mode, DATABASE(); SELECT COUNT(*) FROM t; SELECT 'é' = 'É', COLLATION('é'), CHARSET('é'), HEX('é'); SELECT id, s FROM t WHERE s = 'é' ORDER BY id; END;
CREATE PROCEDURE texts(IN w VARCHAR(10), INOUT o VARCHAR(10)) BEGIN DECLARE v VARCHAR(10) DEFAULT 'ü'; UPDATE t SET s = CONCAT(v, w) WHERE id <> 3; SELECT v, w, o, HEX(w); SELECT id, s FROM t ORDER BY id; SET o = CONCAT(o, v, w); IF w = 'x' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not x'; END IF; END;
SET sql_mode = 'PIPES_AS_CONCAT,ANSI_QUOTES,NO_ENGINE_SUBSTITUTION';
CREATE PROCEDURE piped(k INT) BEGIN DECLARE v TINYINT; SET v = k; UPDATE t SET "a" = k, s = 'b' || id; SELECT v, 'x' || v AS "y"; SELECT id, s FROM t ORDER BY id; INSERT INTO t (id, s) VALUES (k, 'a long text' || k); END;
SET sql_mode = DEFAULT;
-- no warnings
CALL piped(1000);
SELECT @@sql_mode, 'a' || 'b';
SELECT * FROM t ORDER BY id;
DELETE FROM t WHERE id > 4;
SET NAMES latin1;
CALL settings();
SELECT @@collation_connection, @@character_set_client, @@character_set_results, COLLATION('a');
SET @o = 'ä';
CALL texts('ö', @o);
SELECT @o, HEX(@o);
CALL texts('x', @o);
SELECT @o, HEX(@o);
SET NAMES utf8mb4 COLLATE utf8mb4_bin;
CALL settings();
SELECT 'é' = 'É', COLLATION('é');
CALL texts('ö', @o);
BEGIN;
UPDATE t SET a = 0;
CALL settings();
SELECT COLLATION('é'), SUM(a) FROM t;
-- no warnings
CALL piped(100);
SELECT @@sql_mode, COLLATION('é');
SELECT COUNT(*) FROM t;
SET NAMES latin1;
CALL texts('ö', @o);
ROLLBACK;
SELECT @o, HEX(@o);
SELECT * FROM t ORDER BY id;
-- binary
-- params: 'ö', 1
SELECT ?, ?;
-- params: 'ö'
CALL texts(?, @o);
SELECT @o, HEX(@o);
SET sql_mode = 'NO_BACKSLASH_ESCAPES';
CALL texts('a\b', @o);
SELECT @o, HEX(@o);
SET NAMES utf8mb4;
SET sql_mode = 'NO_BACKSLASH_ESCAPES';
-- text
CREATE PROCEDURE slashes() BEGIN UPDATE t SET s = 'a\b'; END;
-- text
-- refused: was made with sql_mode NO_BACKSLASH_ESCAPES
CALL slashes();
SET sql_mode = DEFAULT;

## from another database
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30);
CREATE PROCEDURE p(INOUT k INT) BEGIN UPDATE t SET a = a + k; SELECT DATABASE(); SELECT * FROM t ORDER BY id; SELECT SUM(a) INTO k FROM t; END;
CREATE DATABASE e;
USE e;
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 100), (5, 500);
CREATE PROCEDURE outside(INOUT k INT) BEGIN CALL d.p(@k); UPDATE t SET a = a - 1; SELECT k; SELECT DATABASE(), @k; CALL d.p(@k); SET k = @k; END;
SET @k = (SELECT SUM(a) FROM t);
CALL d.p(@k);
SELECT DATABASE(), @k;
SELECT * FROM t ORDER BY id;
CALL outside(@k);
SELECT DATABASE(), @k;
BEGIN;
UPDATE t SET a = 7;
CALL d.p(@k);
SELECT * FROM t ORDER BY id;
SELECT * FROM d.t ORDER BY id;
COMMIT;
USE d;
SELECT DATABASE();
SET @k = 1;
CALL e.outside(@k);
SELECT @k, DATABASE();
SELECT * FROM e.t ORDER BY id;
SELECT * FROM t ORDER BY id;
DROP DATABASE e;

## made in other character sets
CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(20)) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 'é'), (2, 'Ã©'), (3, 'e'), (4, NULL);
-- no warnings
SET NAMES utf8mb3;
CREATE PROCEDURE three(w VARCHAR(10)) BEGIN UPDATE t SET s = CONCAT(s, 'é', w) WHERE s = 'é' OR s LIKE 'ä%'; SELECT id, s FROM t ORDER BY s, id; SELECT CHARSET('é'), HEX(w); END;
SHOW CREATE PROCEDURE three;
CALL three('ü');
SET NAMES utf8mb4;
CALL three('ü');
SELECT id, s, HEX(s) FROM t ORDER BY id;
SHOW CREATE PROCEDURE three;
SET collation_connection = utf16_general_ci;
-- text
CREATE PROCEDURE wide() BEGIN UPDATE t SET s = 'a'; END;
SET NAMES utf8mb4;
-- text
-- refused: was made with collation_connection utf16_general_ci
CALL wide();

## diagnostics of what is handled
CREATE TABLE t (id INT PRIMARY KEY, a INT, s VARCHAR(5)) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c'), (4, NULL, NULL);
CREATE PROCEDURE told(k INT) BEGIN DECLARE c INT; DECLARE st CHAR(5); DECLARE m TEXT; DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN GET DIAGNOSTICS CONDITION 1 st = RETURNED_SQLSTATE, c = MYSQL_ERRNO, m = MESSAGE_TEXT; SELECT c, st, m; ROLLBACK; END; START TRANSACTION; UPDATE t SET a = a + 1; CASE k WHEN 1 THEN INSERT INTO t VALUES (3, 0, 'dup'); WHEN 2 THEN UPDATE t SET s = 'too long a text' WHERE id = 2; WHEN 3 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'it''s über', MYSQL_ERRNO = 7777; WHEN 5 THEN SET c = 'x'; WHEN 6 THEN INSERT INTO t VALUES (20, 1, 'x'), (1, 1, 'x'); END CASE; COMMIT; END;
CALL told(1);
CALL told(2);
CALL told(3);
CALL told(6);
CALL told(7);
SELECT * FROM t ORDER BY id;
CREATE PROCEDURE user_told(k INT) BEGIN DECLARE v TINYINT; DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN GET DIAGNOSTICS CONDITION 1 @st = RETURNED_SQLSTATE, @c = MYSQL_ERRNO, @m = MESSAGE_TEXT; GET DIAGNOSTICS @n = NUMBER, @r = ROW_COUNT; SET @after = CONCAT(@m, '!'); END; DECLARE CONTINUE HANDLER FOR NOT FOUND GET DIAGNOSTICS CONDITION 1 @none = MYSQL_ERRNO, @noneState = RETURNED_SQLSTATE; UPDATE t SET a = a + 1; SET v = k; INSERT INTO t VALUES (1, 1, 'x'); SELECT a INTO v FROM t WHERE a > 1000; END;
CALL user_told(5);
SELECT @st, @c, @m, @n, @r, @after, @none, @noneState;
SHOW WARNINGS;
CALL user_told(500);
SELECT @st, @c, @m, @n, @r, @after, @none, @noneState;
CREATE PROCEDURE warned() BEGIN DECLARE n INT; DECLARE CONTINUE HANDLER FOR SQLWARNING BEGIN GET DIAGNOSTICS n = NUMBER; GET DIAGNOSTICS CONDITION 1 @c = MYSQL_ERRNO, @m = MESSAGE_TEXT, @st = RETURNED_SQLSTATE; SET @n = n; END; INSERT IGNORE INTO t VALUES (1, 1, 'x'), (30, 1, 'a long text'), (2, 2, 'y'); END;
-- no warnings
CALL warned();
SELECT @n, @c, @st;
CREATE PROCEDURE walked() BEGIN DECLARE i, c INT; DECLARE m VARCHAR(100); DECLARE s CURSOR FOR SELECT id FROM t ORDER BY id; DECLARE EXIT HANDLER FOR NOT FOUND BEGIN GET DIAGNOSTICS CONDITION 1 c = MYSQL_ERRNO, m = MESSAGE_TEXT; SELECT c, m, i; END; OPEN s; LOOP FETCH s INTO i; UPDATE t SET a = i WHERE id = i; END LOOP; END;
CALL walked();
SELECT * FROM t ORDER BY id;
CREATE PROCEDURE counted(k INT) BEGIN DECLARE n INT; UPDATE t SET s = 'z' WHERE id <= k; GET DIAGNOSTICS n = ROW_COUNT; SELECT n; END;
CALL counted(2);
CALL counted(0);
-- mysql
-- text
CREATE PROCEDURE stacked() BEGIN DECLARE m TEXT; DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; GET STACKED DIAGNOSTICS CONDITION 1 m = MESSAGE_TEXT; GET STACKED DIAGNOSTICS CONDITION 1 @c = MYSQL_ERRNO; SELECT m; SELECT @c; END; START TRANSACTION; UPDATE t SET a = a + 1; INSERT INTO t VALUES (1, 1, 'x'); END;
-- mysql
-- text
CALL stacked();
-- text
CREATE PROCEDURE late() BEGIN DECLARE m TEXT; DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; GET DIAGNOSTICS CONDITION 1 m = MESSAGE_TEXT; END; UPDATE t SET a = a + 1; END;
-- text
-- refused: it can stand at the beginning of a handler
CALL late();
SELECT * FROM t ORDER BY id;

## texts that are prepared in a body
CREATE TABLE t (id INT PRIMARY KEY, a INT, s VARCHAR(10)) /*weir: shard by hash(id) */;
CREATE TABLE g (id INT PRIMARY KEY, a INT) /*weir: global */;
INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c'), (4, NULL, NULL);
CREATE PROCEDURE run_it(IN what VARCHAR(200)) BEGIN SET @q = CONCAT('UPDATE t SET a = a + 1 WHERE ', what); PREPARE stmt FROM @q; SELECT ROW_COUNT(); EXECUTE stmt; SELECT ROW_COUNT(); DEALLOCATE PREPARE stmt; SELECT ROW_COUNT(); END;
CALL run_it('id > 1');
CALL run_it('a > 15');
CALL run_it('nothing');
CALL run_it('');
SELECT * FROM t ORDER BY id;
CREATE PROCEDURE counted() BEGIN PREPARE c FROM 'UPDATE t SET a = a + 1'; EXECUTE c; EXECUTE c; END;
CALL counted();
SELECT ROW_COUNT();
EXECUTE c;
DEALLOCATE PREPARE c;
SELECT * FROM t ORDER BY id;
CREATE PROCEDURE of_table(IN name VARCHAR(64), IN cond VARCHAR(100), OUT n INT) BEGIN SET @q = CONCAT('SELECT COUNT(*) INTO @n FROM `', name, '` WHERE ', cond); PREPARE stmt FROM @q; EXECUTE stmt; DEALLOCATE PREPARE stmt; SET n = @n; SET @q = CONCAT('SELECT * FROM `', name, '` WHERE ', cond, ' ORDER BY id'); PREPARE stmt FROM @q; EXECUTE stmt; SELECT ROW_COUNT(), FOUND_ROWS(); DEALLOCATE PREPARE stmt; SELECT n; END;
CALL of_table('t', 'a > 15', @x);
SELECT @x, @n;
CALL of_table('g', '1', @x);
CALL of_table('none', '1', @x);
SELECT @x, @n;
CREATE PROCEDURE write_both(k INT) BEGIN SET @id = k, @a = k * 10; PREPARE into_t FROM 'INSERT INTO t (id, a) VALUES (?, ?), (100, 1)'; EXECUTE into_t USING @id, @a; PREPARE into_g FROM 'INSERT INTO g VALUES (?, ?)'; EXECUTE into_g USING @id, @a; PREPARE gone FROM 'DELETE FROM t WHERE id >= ? OR a = ?'; SET @id = 100; EXECUTE gone USING @id, @a; SELECT ROW_COUNT(); DEALLOCATE PREPARE into_t; DEALLOCATE PREPARE into_g; END;
CALL write_both(7);
SELECT * FROM t ORDER BY id;
SELECT * FROM g ORDER BY id;
CALL write_both(1);
SELECT * FROM g ORDER BY id;
CREATE PROCEDURE few(k INT) BEGIN SET @k = k; UPDATE t SET a = 5 WHERE id > 2; PREPARE few FROM 'SELECT id, a, ? AS v FROM t WHERE id <= ? ORDER BY id'; EXECUTE few USING @k, @k; EXECUTE few USING @k, @k; END;
-- text
CALL few(2);
EXECUTE few USING @k, @k;
SELECT @k, @id;
DEALLOCATE PREPARE few;
CREATE PROCEDURE tr(k INT) BEGIN PREPARE up FROM 'UPDATE t SET a = a + 100'; PREPARE ends FROM 'ROLLBACK'; START TRANSACTION; EXECUTE up; IF k = 1 THEN EXECUTE ends; END IF; PREPARE ends FROM 'COMMIT'; EXECUTE ends; SELECT SUM(a) FROM t; END;
CALL tr(1);
CALL tr(2);
BEGIN;
CALL run_it('id > 0');
ROLLBACK;
SELECT * FROM t ORDER BY id;
-- binary
-- params: 'id = 2 OR id = 3'
CALL run_it(?);
CREATE PROCEDURE outside(k INT) BEGIN CALL run_it(CONCAT('id <= ', k)); SET @q = 'CALL plain(3)'; PREPARE s FROM @q; EXECUTE s; END;
CREATE PROCEDURE plain(k INT) BEGIN UPDATE t SET s = k; SELECT s FROM t ORDER BY id LIMIT 1; INSERT INTO g VALUES (k, k); END;
CALL outside(2);
SELECT * FROM g ORDER BY id;
SELECT * FROM t ORDER BY id;

## texts in a body: errors, warnings and what a handler gets
CREATE TABLE t (id INT PRIMARY KEY, a TINYINT, s VARCHAR(5)) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c');
CREATE PROCEDURE fails() BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN GET DIAGNOSTICS CONDITION 1 @c = MYSQL_ERRNO, @m = MESSAGE_TEXT, @st = RETURNED_SQLSTATE; SELECT @c, @st, @m; END; UPDATE t SET a = a + 1; PREPARE s FROM 'SELEC 1'; EXECUTE s; DEALLOCATE PREPARE nope; PREPARE s2 FROM 'SELECT * FROM missing'; PREPARE s FROM 'SELECT id, ? FROM t'; EXECUTE s; PREPARE s FROM 'INSERT INTO t VALUES (3, 1, ''x''), (4, 1, ''y'')'; EXECUTE s; SET @n = NULL; PREPARE z FROM @n; PREPARE e FROM ''; PREPARE m FROM 'SELECT 1; SELECT 2'; PREPARE l FROM 'SELECT nothing'; SELECT COUNT(*) FROM t; END;
CALL fails();
SHOW WARNINGS;
CREATE PROCEDURE raises(k INT) BEGIN UPDATE t SET a = a + 1; CASE k WHEN 1 THEN PREPARE s FROM 'SELEC 1'; WHEN 2 THEN EXECUTE missing; WHEN 3 THEN PREPARE s FROM 'SELECT k'; WHEN 4 THEN PREPARE s FROM 'INSERT INTO t VALUES (1, 1, ''x''), (9, 2, ''y'')'; EXECUTE s; ELSE DEALLOCATE PREPARE missing; END CASE; END;
CALL raises(1);
SHOW WARNINGS;
CALL raises(2);
CALL raises(3);
CALL raises(4);
CALL raises(5);
SHOW WARNINGS;
SELECT * FROM t ORDER BY id;
CREATE PROCEDURE warned() BEGIN DECLARE n INT DEFAULT 0; DECLARE CONTINUE HANDLER FOR SQLWARNING SET n = n + 1; PREPARE s FROM 'INSERT IGNORE INTO t VALUES (1, 1, ''x''), (20, 1, ''a long text'')'; SELECT n; EXECUTE s; SELECT n; DEALLOCATE PREPARE s; UPDATE t SET a = n; SELECT n; END;
CALL warned();
SHOW WARNINGS;
CREATE PROCEDURE leaves() BEGIN UPDATE t SET a = 7; PREPARE s FROM 'INSERT IGNORE INTO t VALUES (1, 1, ''x'')'; EXECUTE s; END;
CALL leaves();
SHOW WARNINGS;
CREATE PROCEDURE leaves_none() BEGIN UPDATE t SET a = 8; PREPARE s FROM 'INSERT IGNORE INTO t VALUES (1, 1, ''x'')'; EXECUTE s; DEALLOCATE PREPARE s; END;
# What an EXECUTE before DEALLOCATE has warned of is not told.
-- no warnings
CALL leaves_none();
SHOW WARNINGS;
CREATE PROCEDURE refused() BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SELECT @c; UPDATE t SET a = a + 1; PREPARE s FROM 'SELEC 1'; END;
CALL refused();
SHOW WARNINGS;
SELECT * FROM t ORDER BY id;

## texts in a body: what can't be run so ends the CALL
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
CREATE TABLE g (id INT PRIMARY KEY) /*weir: global */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30);
CREATE PROCEDURE dyn(q TEXT) BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SELECT 'handled'; SET @q = q; PREPARE s FROM @q; EXECUTE s; DEALLOCATE PREPARE s; END;
CALL dyn('UPDATE t SET a = a + 1');
-- text
-- refused: only queries, changes of rows
CALL dyn('SET sql_mode = ''NO_BACKSLASH_ESCAPES''');
-- text
-- refused: only queries, changes of rows
CALL dyn('CREATE TEMPORARY TABLE z (id INT)');
-- text
-- refused: it uses GET_LOCK
CALL dyn('SELECT GET_LOCK(''x'', 0)');
-- text
CREATE PROCEDURE shown(k INT) BEGIN SET @k = k; PREPARE s FROM 'SELECT id FROM t WHERE id = ?'; EXECUTE s USING @k; END;
SELECT @@sql_mode = '';
SELECT * FROM t ORDER BY id;

## texts in a body, MariaDB's
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30);
-- mariadb
CREATE PROCEDURE at_once(k INT, w VARCHAR(20)) BEGIN DECLARE q VARCHAR(100) DEFAULT CONCAT('UPDATE t SET a = a + ', k); EXECUTE IMMEDIATE q; EXECUTE IMMEDIATE CONCAT('SELECT * FROM t WHERE ', w, ' ORDER BY id'); PREPARE s FROM CONCAT(q, ' WHERE ', w); EXECUTE s; SET @v = k; EXECUTE IMMEDIATE 'DELETE FROM t WHERE id = ?' USING @v; SELECT ROW_COUNT(); EXECUTE IMMEDIATE 'SELEC'; END;
-- mariadb
CALL at_once(2, 'id > 1');
-- mariadb
EXECUTE s;
SELECT * FROM t ORDER BY id;

## texts in a body, in other settings than its own
CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(10)) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 'a'), (2, 'é'), (3, 'c');
CREATE PROCEDURE quoted(w VARCHAR(10)) BEGIN UPDATE t SET s = w WHERE id = 3; SET @q = CONCAT('SELECT id, "', w, '" AS w, s FROM t WHERE s = "', w, '" ORDER BY id'); PREPARE s FROM @q; EXECUTE s; END;
CALL quoted('é');
EXECUTE s;
SET sql_mode = 'ANSI_QUOTES';
CALL quoted('é');
-- text
-- refused: have changed since this statement was prepared
EXECUTE s;
SET sql_mode = DEFAULT;
EXECUTE s;
SET NAMES latin1;
CALL quoted('é');
SELECT @q, HEX(@q);
SET NAMES utf8mb4;
PREPARE s FROM 'SELECT ''x'', s FROM t ORDER BY id';
CREATE PROCEDURE takes() BEGIN UPDATE t SET s = 'z'; EXECUTE s; END;
-- text
CALL takes();

## texts in a body, in transactions of several shards
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
CREATE TABLE g (id INT PRIMARY KEY) /*weir: global */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40);
CREATE PROCEDURE adds(k INT) BEGIN SET @q = CONCAT('UPDATE t SET a = a + ', k); PREPARE s FROM @q; EXECUTE s; DEALLOCATE PREPARE s; END;
CREATE PROCEDURE around(k INT) BEGIN CALL adds(k); SELECT SUM(a) FROM t; INSERT INTO g VALUES (k); END;
CALL around(1);
BEGIN;
CALL adds(5);
SELECT SUM(a) FROM t;
ROLLBACK;
SELECT SUM(a) FROM t;
-- text
BEGIN;
-- text
UPDATE t SET a = 0;
-- text
-- refused: in a transaction with several shards
CALL adds(7);
-- text
ROLLBACK;
SELECT * FROM t ORDER BY id;
SELECT * FROM g;

## variables of the session
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40);
CREATE PROCEDURE sets(k INT) BEGIN UPDATE t SET a = a + 1; SET SESSION lock_wait_timeout = k, foreign_key_checks = 0; SELECT ROW_COUNT(); SELECT @@lock_wait_timeout, @@foreign_key_checks; SET @@session.unique_checks = OFF; SET group_concat_max_len = 5; SELECT GROUP_CONCAT(a ORDER BY id) FROM t; SELECT SUM(a) FROM t; END;
-- no warnings
CALL sets(77);
SELECT @@lock_wait_timeout, @@foreign_key_checks, @@unique_checks, @@group_concat_max_len;
-- no warnings
SELECT GROUP_CONCAT(a ORDER BY id) FROM t;
SET lock_wait_timeout = DEFAULT, foreign_key_checks = 1, unique_checks = 1, group_concat_max_len = DEFAULT;
CREATE PROCEDURE wrong(k INT) BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SELECT 'handled'; UPDATE t SET a = a + 1; SET foreign_key_checks = k; SET lock_wait_timeout = 'x'; SET lock_wait_timeout = NULL; SELECT @@foreign_key_checks; END;
CALL wrong(0);
CALL wrong(5);
SELECT @@foreign_key_checks;
SET foreign_key_checks = 1;
CREATE PROCEDURE waits(k INT) BEGIN DECLARE n INT DEFAULT 3; UPDATE t SET a = a + n; SET innodb_lock_wait_timeout = k + n, sql_safe_updates = DEFAULT; SELECT @@innodb_lock_wait_timeout, @@sql_safe_updates; UPDATE t SET a = a + 1 WHERE id < 3; END;
CALL waits(20);
SELECT @@innodb_lock_wait_timeout;
BEGIN;
CALL waits(30);
SELECT @@innodb_lock_wait_timeout;
ROLLBACK;
SELECT @@innodb_lock_wait_timeout, @@sql_safe_updates;
-- text
CREATE PROCEDURE concats(w VARCHAR(20)) BEGIN UPDATE t SET a = 2; SET group_concat_max_len = 4; SELECT GROUP_CONCAT(w); END;
-- text
-- refused: selects a variable beside rows
CALL concats('a long text');
-- text
CREATE PROCEDURE other() BEGIN UPDATE t SET a = 1; SET time_zone = '+05:00'; END;
-- text
-- refused: does not run by itself (SET time_zone
CALL other();
-- text
CREATE PROCEDURE commits() BEGIN UPDATE t SET a = 1; SET autocommit = 0; END;
-- text
-- refused: does not run by itself (SET autocommit
CALL commits();
SELECT * FROM t ORDER BY id;

## procedures that call others, as deep as Weir runs them
CREATE TABLE t (id INT PRIMARY KEY, a INT, s VARCHAR(20)) /*weir: shard by hash(id) */;
CREATE PROCEDURE p1(k INT, w VARCHAR(20)) INSERT INTO t VALUES (k, 1, CONCAT(w, '1')), (k + 1, 2, w), (k + 2, 3, w), (k + 3, 4, w);
CREATE PROCEDURE p2(k INT, w VARCHAR(20)) BEGIN UPDATE t SET a = a + 1; CALL p1(k, CONCAT(w, '2')); END;
CREATE PROCEDURE p3(k INT, w VARCHAR(20)) BEGIN UPDATE t SET a = a + 1; CALL p2(k, CONCAT(w, '3')); END;
CREATE PROCEDURE p4(k INT, w VARCHAR(20)) BEGIN UPDATE t SET a = a + 1; CALL p3(k, CONCAT(w, '4')); END;
CREATE PROCEDURE p5(k INT, w VARCHAR(20)) BEGIN UPDATE t SET a = a + 1; CALL p4(k, CONCAT(w, '5')); END;
CREATE PROCEDURE p6(k INT, w VARCHAR(20)) BEGIN UPDATE t SET a = a + 1; CALL p5(k, CONCAT(w, '6')); END;
CREATE PROCEDURE p7(k INT, w VARCHAR(20)) BEGIN UPDATE t SET a = a + 1; CALL p6(k, CONCAT(w, '7')); END;
CREATE PROCEDURE p8(k INT, w VARCHAR(20)) BEGIN UPDATE t SET a = a + 1; CALL p7(k, CONCAT(w, '8')); END;
CALL p8(10, 'x');
SELECT * FROM t ORDER BY id;
CALL p8(40, 'x');
SELECT * FROM t ORDER BY id;
BEGIN;
CALL p7(20, 'y');
ROLLBACK;
SELECT * FROM t ORDER BY id;

## definitions in a body
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4);
CREATE PROCEDURE migrate() BEGIN IF NOT EXISTS (SELECT * FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 't' AND column_name = 'w') THEN ALTER TABLE t ADD COLUMN w INT NOT NULL DEFAULT 7; END IF; CREATE TABLE IF NOT EXISTS u (id INT PRIMARY KEY, x INT) /*weir: shard by hash(id) */; INSERT INTO u SELECT id, v FROM t; SELECT COUNT(*), SUM(x) FROM u; CREATE INDEX i ON u (x); TRUNCATE TABLE u; SELECT COUNT(*) FROM u; END;
CALL migrate();
SELECT * FROM t ORDER BY id;
SHOW COLUMNS FROM u;
CALL migrate();
SELECT * FROM u ORDER BY id;
SELECT index_name FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'u' ORDER BY 1;
CREATE PROCEDURE undo() BEGIN DROP INDEX i ON u; ALTER TABLE t DROP COLUMN w; RENAME TABLE u TO u2; SELECT COUNT(*) FROM u2; DROP TABLE u2; END;
CALL undo();
SHOW COLUMNS FROM t;
SHOW TABLES;
CALL undo();
CREATE PROCEDURE nothing_to_do() BEGIN CREATE TABLE IF NOT EXISTS t (id INT) /*weir: shard by hash(id) */; DROP TABLE IF EXISTS nope, nope2; END;
CALL nothing_to_do();
SHOW WARNINGS;
CREATE PROCEDURE a_view() BEGIN CREATE OR REPLACE VIEW w AS SELECT id, v * 10 AS ten FROM t; SELECT * FROM w ORDER BY id; DROP VIEW w; END;
CALL a_view();
CALL a_view();

## definitions in a body end the transaction
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4);
CREATE PROCEDURE within() BEGIN START TRANSACTION; UPDATE t SET v = v + 1; CREATE TABLE made (id INT PRIMARY KEY) /*weir: shard by hash(id) */; UPDATE t SET v = v + 10; ROLLBACK; SELECT SUM(v) FROM t; DROP TABLE made; END;
CALL within();
SELECT * FROM t ORDER BY id;
CREATE PROCEDURE open_after() BEGIN CREATE TABLE made (id INT PRIMARY KEY) /*weir: shard by hash(id) */; START TRANSACTION; INSERT INTO made VALUES (1), (2), (3); END;
CALL open_after();
-- session: 1
SELECT COUNT(*) FROM made;
SELECT COUNT(*) FROM made;
ROLLBACK;
SELECT COUNT(*) FROM made;
DROP TABLE made;
SET autocommit = 0;
CALL open_after();
ROLLBACK;
SET autocommit = 1;
SELECT COUNT(*) FROM made;

## definitions in a body that fail
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1), (2, 1), (3, 3), (4, 4);
CREATE PROCEDURE goes_on() BEGIN DECLARE n INT DEFAULT 0; DECLARE CONTINUE HANDLER FOR 1060, 1091, 1050, 1051, 1146 SET n = n + 1; ALTER TABLE t ADD COLUMN v INT; ALTER TABLE t DROP COLUMN nope; CREATE TABLE t (id INT PRIMARY KEY); DROP TABLE nope; TRUNCATE nope; UPDATE nope SET a = 1; INSERT INTO t VALUES (5, 5); SELECT n; ALTER TABLE t ADD UNIQUE KEY (id); END;
CALL goes_on();
SHOW COLUMNS FROM t;
CREATE PROCEDURE stops() BEGIN INSERT INTO t VALUES (6, 6); ALTER TABLE t ADD COLUMN v INT; INSERT INTO t VALUES (7, 7); END;
CALL stops();
SHOW WARNINGS;
CREATE PROCEDURE told() BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN GET DIAGNOSTICS CONDITION 1 @c = MYSQL_ERRNO, @s = RETURNED_SQLSTATE, @m = MESSAGE_TEXT; SELECT @c, @s, @m; END; DROP TABLE nope; END;
CALL told();
SELECT * FROM t ORDER BY id;

## definitions in a body: loops, calls and texts
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3);
CREATE PROCEDURE fill(k INT) BEGIN DECLARE i INT DEFAULT 0; DROP TABLE IF EXISTS made; CREATE TABLE made (id INT PRIMARY KEY, s VARCHAR(10)) /*weir: shard by hash(id) */; WHILE i < k DO INSERT INTO made VALUES (i, CONCAT('s', i)); SET i = i + 1; END WHILE; END;
CREATE PROCEDURE calls(k INT) BEGIN UPDATE t SET v = v + k; CALL fill(k); SELECT * FROM made ORDER BY id; CALL fill(1); SELECT COUNT(*) FROM made; END;
-- no warnings
CALL calls(3);
-- no warnings
CALL calls(4);
CREATE PROCEDURE dyn(q TEXT) BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SELECT 'handled'; UPDATE t SET v = v + 1; SET @q = q; PREPARE s FROM @q; EXECUTE s; DEALLOCATE PREPARE s; SELECT SUM(v) FROM t; END;
CALL dyn('ALTER TABLE t ADD COLUMN x INT');
CALL dyn('ALTER TABLE t ADD COLUMN x INT');
CALL dyn('CREATE TABLE z (id INT PRIMARY KEY) /*weir: shard by hash(id) */');
CALL dyn('INSERT INTO z SELECT id FROM t');
CALL dyn('SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ''z''');
CALL dyn('DROP TABLE z, nope');
CALL dyn('TRUNCATE t');
SELECT * FROM t ORDER BY id;
-- params: 2
CALL fill(?);
SELECT * FROM made ORDER BY id;

## definitions in functions
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
-- text
CREATE FUNCTION f() RETURNS INT BEGIN CREATE TABLE x (id INT); RETURN 1; END;

## definitions in a body, as deep as Weir runs procedures
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3);
CREATE PROCEDURE d1(k INT) BEGIN CREATE TABLE deep (id INT PRIMARY KEY) /*weir: shard by hash(id) */; INSERT INTO deep SELECT id + k FROM t; SELECT COUNT(*) FROM deep; DROP TABLE deep; ALTER TABLE t COMMENT = 'x'; END;
CREATE PROCEDURE d2(k INT) BEGIN UPDATE t SET a = a + 1; CALL d1(k); END;
CREATE PROCEDURE d3(k INT) BEGIN UPDATE t SET a = a + 1; CALL d2(k); END;
CREATE PROCEDURE d4(k INT) BEGIN UPDATE t SET a = a + 1; CALL d3(k); END;
CREATE PROCEDURE d5(k INT) BEGIN UPDATE t SET a = a + 1; CALL d4(k); END;
CREATE PROCEDURE d6(k INT) BEGIN UPDATE t SET a = a + 1; CALL d5(k); END;
CREATE PROCEDURE d7(k INT) BEGIN UPDATE t SET a = a + 1; CALL d6(k); END;
CREATE PROCEDURE d8(k INT) BEGIN UPDATE t SET a = a + 1; CALL d7(k); END;
CALL d8(10);
CALL d8(20);
SELECT * FROM t ORDER BY id;

## text variables against columns of other collations
CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(10) COLLATE utf8mb4_bin, l VARCHAR(10) CHARACTER SET latin1 COLLATE latin1_bin, b VARBINARY(10), k VARCHAR(10)) /*weir: shard by hash(id) */;
CREATE TABLE w (s VARCHAR(10) COLLATE utf8mb4_bin PRIMARY KEY, n INT) /*weir: shard by hash(s) */;
INSERT INTO t VALUES (1, 'a', 'a', 'a', 'a'), (2, 'B', 'B', 'B', 'B'), (3, 'b', 'b', 'b', 'b'), (4, 'A', 'A', 'A', 'A');
INSERT INTO w VALUES ('a', 1), ('A', 2), ('b', 3), ('B', 4);
CREATE PROCEDURE q(c VARCHAR(10)) BEGIN UPDATE t SET id = id; SELECT id, s FROM t WHERE s = c ORDER BY id; SELECT COUNT(*) INTO @n FROM t WHERE s IN (c, 'zz'); SELECT id FROM t WHERE s LIKE c ORDER BY id; SELECT id FROM t WHERE k = c ORDER BY id; SELECT id FROM t WHERE b = c ORDER BY id; SELECT id FROM t WHERE l = c ORDER BY id; SELECT * FROM w WHERE s = c; UPDATE w SET n = n + 1 WHERE s = c; INSERT INTO w VALUES (CONCAT(c, c), 9), (c, 10) ON DUPLICATE KEY UPDATE n = n + 100; END;
CALL q('b');
SELECT @n;
SELECT * FROM w ORDER BY n;
CREATE PROCEDURE del(c VARCHAR(10)) BEGIN DELETE FROM t WHERE s = c; END;
CALL del('A');
SELECT * FROM t ORDER BY id;
CREATE PROCEDURE upd(c VARCHAR(10), OUT o VARCHAR(10)) BEGIN UPDATE t SET s = 'changed', k = c WHERE s = c; SELECT MAX(k) INTO o FROM t WHERE k = c; END;
CALL upd('b', @o);
SELECT @o, COLLATION(@o), @o = 'B';
SELECT * FROM t ORDER BY id;
CREATE PROCEDURE add_column(tab VARCHAR(64), col VARCHAR(64)) BEGIN IF NOT EXISTS (SELECT * FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = tab AND column_name = col) THEN SET @q = CONCAT('ALTER TABLE ', tab, ' ADD COLUMN ', col, ' INT'); PREPARE s FROM @q; EXECUTE s; DEALLOCATE PREPARE s; END IF; UPDATE t SET id = id; END;
CALL add_column('t', 'z');
CALL add_column('t', 'z');
SHOW COLUMNS FROM t;

## SHOW, DESCRIBE and upkeep of tables in a body
CREATE TABLE t (id INT PRIMARY KEY, a INT, KEY (a)) /*weir: shard by hash(id) */;
CREATE TABLE g (id INT PRIMARY KEY) /*weir: global */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40);
CREATE PROCEDURE told() BEGIN UPDATE t SET a = a + 1; SHOW TABLES; SHOW COLUMNS FROM t LIKE 'a'; SHOW FULL COLUMNS FROM g; DESCRIBE t id; SELECT COUNT(*) FROM t; END;
CALL told();
SELECT ROW_COUNT();
CREATE PROCEDURE alone() SHOW COLUMNS FROM t WHERE `Null` = 'NO';
CALL alone();
CREATE PROCEDURE kept() BEGIN ANALYZE TABLE t, g; OPTIMIZE TABLE g; CHECKSUM TABLE t; INSERT INTO t VALUES (5, 50), (6, 60), (7, 70), (8, 80); END;
CALL kept();
BEGIN;
CALL kept();
ROLLBACK;
SELECT * FROM t ORDER BY id;
CREATE PROCEDURE nowhere() BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SELECT 'handled' AS h; UPDATE t SET a = a + 1; SHOW COLUMNS FROM nowhere; ANALYZE TABLE nowhere; SELECT SUM(a) FROM t; END;
CALL nowhere();
CREATE PROCEDURE dyn(q TEXT) BEGIN SET @q = q; PREPARE s FROM @q; EXECUTE s; DEALLOCATE PREPARE s; END;
CALL dyn('SHOW TABLES');
CALL dyn('DESCRIBE t');
CALL dyn('ANALYZE TABLE t');
CREATE PROCEDURE calls() BEGIN CALL alone(); CALL told(); END;
CALL calls();
BEGIN;
DELETE FROM t WHERE id IN (1, 2, 3);
CALL told();
ROLLBACK;
SELECT * FROM t ORDER BY id;

## a table that is not there
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40);
CREATE PROCEDURE p1() SELECT * FROM nowhere;
CALL p1();
CREATE PROCEDURE p2() BEGIN UPDATE t SET a = a + 1; INSERT INTO nowhere VALUES (1); SELECT 'not here'; END;
CALL p2();
SELECT * FROM t ORDER BY id;
CREATE PROCEDURE p3() BEGIN DECLARE CONTINUE HANDLER FOR 1146 SELECT 'handled' AS h; UPDATE t SET a = a + 1; UPDATE nowhere SET a = 1; DELETE FROM nowhere; SELECT (SELECT MAX(a) FROM nowhere); SELECT COUNT(*) FROM t JOIN nowhere USING (id); END;
CALL p3();
SELECT * FROM t ORDER BY id;
CREATE PROCEDURE p4(k INT) BEGIN IF k > 1 THEN INSERT INTO nowhere SELECT id FROM t; END IF; SELECT COUNT(*) FROM t; END;
CALL p4(1);
CALL p4(2);
CREATE PROCEDURE p5() BEGIN DECLARE c CURSOR FOR SELECT id FROM nowhere; OPEN c; END;
CALL p5();
CREATE PROCEDURE p6() CALL p2();
CALL p6();
CREATE PROCEDURE p7(OUT v INT) SET v = (SELECT MAX(id) FROM nowhere);
CALL p7(@v);
CREATE TABLE nowhere (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
CALL p1();
CALL p4(2);

## procedures that call themselves
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40);
CREATE PROCEDURE down(n INT) BEGIN UPDATE t SET a = a + 1; IF n > 0 THEN CALL down(n - 1); END IF; END;
CALL down(0);
CALL down(1);
SELECT SUM(a) FROM t;
SET max_sp_recursion_depth = 3;
CALL down(3);
CALL down(4);
SELECT SUM(a) FROM t;
CREATE PROCEDURE handled(n INT) BEGIN DECLARE EXIT HANDLER FOR 1456 SELECT n, 'too deep' AS h; UPDATE t SET a = a + n; CALL HANDLED(n + 1); END;
CALL handled(1);
SELECT SUM(a) FROM t;
CREATE PROCEDURE even(n INT, INOUT o VARCHAR(20)) BEGIN SET @o = CONCAT(o, 'e'); UPDATE t SET a = n WHERE id = n; IF n > 0 THEN CALL odd(n - 1, @o); END IF; SET o = @o; END;
CREATE PROCEDURE odd(n INT, INOUT o VARCHAR(20)) BEGIN SET @o = CONCAT(o, 'o'); UPDATE t SET a = -n WHERE id = n; IF n > 0 THEN CALL even(n - 1, @o); END IF; SET o = @o; END;
SET @x = '';
CALL even(4, @x);
SELECT @x;
SELECT * FROM t ORDER BY id;
CREATE PROCEDURE sets_it(n INT) BEGIN SET max_sp_recursion_depth = 20; UPDATE t SET a = a + 1; IF n > 0 THEN CALL sets_it(n - 1); END IF; END;
CALL sets_it(12);
SELECT @@max_sp_recursion_depth;
SELECT SUM(a) FROM t;
CREATE PROCEDURE keyed(k INT) BEGIN UPDATE t SET a = a + 1 WHERE id = k; IF k > 1 THEN CALL keyed(k - 1); END IF; END;
CALL keyed(1);
CALL keyed(4);
SELECT * FROM t ORDER BY id;
SET max_sp_recursion_depth = DEFAULT;
CALL keyed(2);

## a procedure of a database that is not the session's
CREATE DATABASE IF NOT EXISTS other_of_stepwise;
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40);
CREATE PROCEDURE all_of_it(OUT n INT) BEGIN UPDATE t SET a = a + 1; SELECT SUM(a) INTO n FROM t; SELECT DATABASE() = 'other_of_stepwise', COUNT(*) FROM t; END;
USE other_of_stepwise;
CALL d.all_of_it(@n);
SELECT @n, DATABASE();
DROP DATABASE other_of_stepwise;
SELECT DATABASE();
CALL d.all_of_it(@n);
SELECT DATABASE(), @n;
CALL all_of_it(@n);
CALL d.all_of_it(@n);
SELECT @n, DATABASE();
CALL d.nowhere();
UPDATE d.t SET a = 0;
CALL d.all_of_it(@n);
SELECT @n, DATABASE();
SELECT * FROM d.t ORDER BY id;

## FOR loops of MariaDB
CREATE TABLE t (id INT PRIMARY KEY, a INT, s VARCHAR(5)) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c'), (4, NULL, 'd');
-- mariadb
CREATE PROCEDURE counts() BEGIN FOR i IN 1..3 DO INSERT INTO t VALUES (10 + i, i, 'x'); END FOR; SELECT COUNT(*) FROM t; END;
-- mariadb
CALL counts();
-- mariadb
CREATE PROCEDURE back(a INT, b INT) BEGIN DECLARE n INT DEFAULT 0; lab: FOR i IN REVERSE a..b DO IF i = 3 THEN ITERATE lab; END IF; IF i < 2 THEN LEAVE lab; END IF; SET n = n * 10 + i; UPDATE t SET a = a + 1; END FOR lab; SELECT n, a, b; END;
-- mariadb
CALL back(1, 5);
-- mariadb
CALL back(5, 1);
-- mariadb
CALL back(NULL, 4);
-- mariadb
CALL back(1, NULL);
-- mariadb
CREATE PROCEDURE in_body() BEGIN DECLARE n INT DEFAULT 3; DECLARE c VARCHAR(100) DEFAULT ''; FOR i IN 1..n DO SET n = 9, c = CONCAT(c, i, ','), i = i + 1; UPDATE t SET a = a + 1; END FOR; SELECT c, n; END;
-- mariadb
CALL in_body();
-- mariadb
CREATE PROCEDURE bounds(k VARCHAR(10)) BEGIN DECLARE c VARCHAR(100) DEFAULT ''; FOR i IN k..2.6 DO SET c = CONCAT(c, i, ','); UPDATE t SET a = a + 1; END FOR; SELECT c; END;
-- mariadb
CALL bounds('1.4');
-- mariadb
CALL bounds('x');
-- mariadb
CREATE PROCEDURE by_query() BEGIN DECLARE c VARCHAR(100) DEFAULT ''; FOR rec IN (SELECT id, s FROM t ORDER BY id) DO SET c = CONCAT(c, rec.id, rec.s, ','); UPDATE t SET a = rec.id WHERE id = rec.id; END FOR; SELECT c; END;
-- mariadb
CALL by_query();
-- mariadb
CREATE PROCEDURE by_cursor(k INT) BEGIN DECLARE o VARCHAR(100) DEFAULT ''; DECLARE v INT; DECLARE cur CURSOR FOR SELECT id, a AS x FROM t WHERE id > k ORDER BY id; DECLARE CONTINUE HANDLER FOR NOT FOUND SET o = CONCAT(o, '!'); out_of: FOR rec IN cur DO SET o = CONCAT(o, rec.id, ':', IFNULL(rec.x, 'N'), ','); UPDATE t SET a = a + 1; IF rec.id = 12 THEN LEAVE out_of; END IF; END FOR; SELECT o; SELECT a INTO k FROM t WHERE id = 999; OPEN cur; FETCH cur INTO v, k; SELECT o, v, k; END;
-- mariadb
CALL by_cursor(2);
-- mariadb
CREATE PROCEDURE with_values() BEGIN DECLARE o VARCHAR(100) DEFAULT ''; DECLARE v INT; DECLARE cur CURSOR(lo TINYINT, hi INT) FOR SELECT id FROM t WHERE id BETWEEN lo AND hi ORDER BY id; OPEN cur(1, 2); FETCH cur INTO v; SELECT v; CLOSE cur; FOR rec IN cur(2, 1 + 2) DO SET o = CONCAT(o, rec.id, ','); UPDATE t SET a = a + 1; END FOR; SELECT o; OPEN cur(1000, 1); END;
-- mariadb
CALL with_values();
-- mariadb
CREATE PROCEDURE no_field() BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END; FOR rec IN (SELECT id FROM t ORDER BY id LIMIT 1) DO UPDATE t SET a = 7 WHERE id = rec.id; SET @f = rec.nowhere; UPDATE t SET a = a + rec.nowhere; END FOR; SELECT COUNT(*) FROM t WHERE a = 7; END;
-- mariadb
CALL no_field();
SELECT * FROM t ORDER BY id;

## variables of bytes, bits, years and JSON
CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARBINARY(10), bi BIT(8), y YEAR, ts TIMESTAMP NULL, j JSON, s VARCHAR(20)) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10, x'00ff', b'101', 2001, '2020-01-01 10:00:00', '{"a": 1}', 'x'), (2, 20, 'b', b'1', 1999, NULL, '[1]', 'y'), (3, 30, 'c', b'0', 2020, NULL, NULL, 'z');
CREATE PROCEDURE years(k YEAR) BEGIN UPDATE t SET a = a + 1; SELECT k, k + 1; INSERT INTO t (id, y, s) VALUES (k + 3000, k, k); SELECT COUNT(*) FROM t WHERE y = k; END;
CALL years(99);
CALL years('70');
CALL years(3000);
CREATE PROCEDURE bytes(v VARBINARY(3), w BINARY(4)) BEGIN UPDATE t SET a = a + 1; SELECT HEX(v), HEX(w), v = 'B'; INSERT INTO t (id, b, s) VALUES (100, v, HEX(w)); SELECT id, HEX(b) FROM t WHERE b = v ORDER BY id; SELECT b INTO v FROM t WHERE id = 1; UPDATE t SET s = HEX(v) WHERE id IN (1, 2); END;
CALL bytes('b', 'ab');
CALL bytes('bbbbb', 'ab');
CREATE PROCEDURE bits(v BIT(8)) BEGIN DECLARE n INT; UPDATE t SET a = a + 1; SELECT v + 0; INSERT INTO t (id, bi, a) VALUES (200 + v, v, v); UPDATE t SET a = 77 WHERE bi = v; SELECT COUNT(*) FROM t WHERE bi > v; SET n = v; SELECT n; END;
CALL bits(5);
CALL bits(256);
CALL bits(b'11');
CREATE PROCEDURE moments(v TIMESTAMP, OUT o TIMESTAMP(3)) BEGIN UPDATE t SET a = a + 1; SELECT v + INTERVAL 1 DAY; UPDATE t SET ts = v WHERE id < 3; SELECT COUNT(*) FROM t WHERE ts = v; SET o = v; END;
CALL moments('2024-02-29 12:13:14', @o);
SELECT @o;
CALL moments('1960-02-29 12:13:14', @o);
-- mysql
CREATE PROCEDURE documents(v JSON) BEGIN UPDATE t SET a = a + 1; SELECT JSON_EXTRACT(v, '$.a'); UPDATE t SET j = v WHERE id < 3; SELECT id FROM t WHERE JSON_EXTRACT(j, '$.a') = JSON_EXTRACT(v, '$.a') ORDER BY id; INSERT INTO t (id, j) VALUES (300, v); END;
-- mysql
CALL documents('{"a": "é"}');
-- mysql
CALL documents('nojson');
SELECT id, a, HEX(b), bi + 0, y, ts, j, s FROM t ORDER BY id;

## settings that a body shows
CREATE TABLE t (id INT PRIMARY KEY, a TINYINT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30);
CREATE PROCEDURE settings() BEGIN UPDATE t SET a = a + 1; SHOW VARIABLES LIKE 'sql_safe_updates'; SHOW DATABASES LIKE 'x%'; SELECT SUM(a) FROM t; END;
CALL settings();

## errors of defaults, and warnings of expressions over rows
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30);
CREATE PROCEDURE defaults() BEGIN DECLARE v TINYINT DEFAULT 1000; DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SELECT 'own' AS h; UPDATE t SET a = a + 1; END;
CALL defaults();
SELECT SUM(a) FROM t;
CREATE PROCEDURE around() BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SELECT 'around' AS h; UPDATE t SET a = a + 1; BEGIN DECLARE v TINYINT DEFAULT 1000; DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SELECT 'own' AS h; SELECT v; END; SELECT SUM(a) FROM t; END;
CALL around();
CREATE PROCEDURE warns() BEGIN DECLARE n INT DEFAULT 0; DECLARE CONTINUE HANDLER FOR SQLWARNING SET n = n + 1; UPDATE t SET a = a + 1; IF (SELECT COUNT(*) FROM t WHERE '3x' = a - a + 3) = 3 THEN SELECT 'then' AS x; END IF; SELECT n > 0; END;
CALL warns();
CREATE PROCEDURE strict(v VARCHAR(5)) BEGIN DECLARE x INT; DECLARE CONTINUE HANDLER FOR 1292 SELECT 'cut' AS h; UPDATE t SET a = a + 1; SET x = (SELECT MAX(a) + v FROM t); SELECT x; SELECT v + a INTO x FROM t WHERE id = 1; SELECT x; END;
CALL strict('x');
CALL strict('1');
