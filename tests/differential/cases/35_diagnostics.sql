# What statements leave to be asked for, and how it is named.

## a definition's notes
DROP TABLE IF EXISTS nx;
SHOW WARNINGS;
DROP TABLE IF EXISTS nx;
SHOW COUNT(*) WARNINGS;
DROP TABLE IF EXISTS nx;
SELECT @@warning_count;
DROP TABLE IF EXISTS nx;
SELECT @@SESSION.warning_count;
DROP TABLE IF EXISTS nx;
SELECT @@error_count;
DROP TABLE IF EXISTS nx, ny;
-- text
SHOW WARNINGS;
DROP TABLE IF EXISTS nx, ny;
-- text
SELECT @@warning_count;
DROP TABLE IF EXISTS nx, ny;
-- text
SELECT @@local.warning_count;
CREATE TABLE t (id INT PRIMARY KEY, a INT, KEY a (a), KEY b (a)) /*weir: shard by hash(id) */;
SHOW WARNINGS;
CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
SHOW WARNINGS;
# The info counts what each shard warns of.
-- no warnings
CREATE INDEX c ON t (a);
SHOW WARNINGS;
-- no warnings
ALTER TABLE t ADD KEY e (a), ADD KEY f (a);
-- text
SHOW WARNINGS;
CREATE TABLE g (id INT PRIMARY KEY, a INT, KEY a (a), KEY b (a)) /*weir: global */;
SHOW WARNINGS;
CREATE TABLE s (id INT PRIMARY KEY, a INT, KEY a (a), KEY b (a)) /*weir: single */;
SHOW WARNINGS;
DROP TABLE IF EXISTS nx, t, ny;
-- text
SHOW WARNINGS;

## what is told beside a definition's error
CREATE TABLE p (id INT PRIMARY KEY, a INT) /*weir: single */;
CREATE TABLE c (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES p (a)) /*weir: single */;
-- text
SHOW WARNINGS;
CREATE TABLE c (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES p (a)) /*weir: single */;
SELECT @@warning_count;
CREATE TABLE d (id INT PRIMARY KEY, a INT DEFAULT 'x', KEY (a), KEY (a)) /*weir: shard by hash(id) */;
SHOW WARNINGS;
CREATE TABLE d (id INT PRIMARY KEY, a INT, KEY (nx)) /*weir: shard by hash(id) */;
SHOW WARNINGS;

## a write's warnings on copies
CREATE TABLE g (id INT PRIMARY KEY, a TINYINT) /*weir: global */;
SET sql_mode = '';
INSERT INTO g VALUES (1, 1000), (2, 1000);
-- text
SHOW WARNINGS;
INSERT INTO g VALUES (3, 1000);
SELECT @@warning_count;

## names of keys
CREATE TABLE t (id INT, a INT, CONSTRAINT pk PRIMARY KEY named (id)) /*weir: shard by hash(id) */;
SHOW WARNINGS;

## warnings of PREPARE
-- text
PREPARE p FROM "SELECT 1 AS ' a'";
-- text
SHOW WARNINGS;
-- text
PREPARE p FROM "SELECT 1 AS ' a', 2 AS ' b'";
-- text
SHOW COUNT(*) WARNINGS;
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
-- text
PREPARE q FROM "SELECT id AS ' a' FROM t";
-- text
SHOW WARNINGS;
-- text
EXECUTE q;

## where an unknown column is told
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
CREATE TABLE g (id INT PRIMARY KEY, a INT) /*weir: global */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3);
UPDATE t SET nx = 1;
UPDATE t SET a = nx;
UPDATE t SET a = t.nx WHERE id = 1;
UPDATE t SET a = 1 WHERE nx = 1;
UPDATE t SET a = 1 ORDER BY nx LIMIT 1;
UPDATE t SET a = nx ORDER BY id LIMIT 1;
UPDATE t SET a = 1 WHERE nx = 1 LIMIT 1;
UPDATE t SET a = RAND() * nx;
UPDATE t SET id = nx WHERE id = 1;
UPDATE t SET id = id + 1 WHERE nx = 1;
UPDATE t SET id = id + 1, nx = 2;
DELETE FROM t WHERE nx = 1;
DELETE FROM t ORDER BY nx LIMIT 1;
DELETE FROM t WHERE nx = 1 LIMIT 1;
INSERT INTO t (id, nx) VALUES (1, 1);
INSERT INTO t (id, a) VALUES (4, nx);
INSERT INTO t (id, a) VALUES (4, 4) ON DUPLICATE KEY UPDATE nx = 1;
INSERT INTO t (id, a) VALUES (4, 4) ON DUPLICATE KEY UPDATE a = nx;
INSERT INTO t (id, a) SELECT id + 9, nx FROM t;
INSERT INTO t (id, a) SELECT id + 9, a FROM t WHERE nx = 1;
INSERT INTO g (id, a) SELECT id + 9, nx FROM g;
UPDATE g SET a = nx;
UPDATE g SET a = 1 WHERE nx = 1;
DELETE FROM g WHERE nx = 1;
SELECT nx FROM t;
SELECT a + nx FROM t;
SELECT SUM(nx) FROM t;
SELECT id FROM t WHERE nx = 1;
SELECT COUNT(*) FROM t GROUP BY nx;
SELECT COUNT(*) FROM t GROUP BY a HAVING nx > 1;
SELECT id FROM t ORDER BY nx;
SELECT t.id FROM t JOIN g ON t.id = g.nx;
SELECT t.id FROM t JOIN g USING (nx);
SELECT t.nx FROM t;
SELECT other.a FROM t;

## warnings of writes whose shards take one time
CREATE TABLE g (k INT PRIMARY KEY, d DATETIME(3)) /*weir: global */;
CREATE TABLE t (k INT PRIMARY KEY, d DATETIME(3), n TINYINT) /*weir: shard by hash(k) */;
INSERT INTO g VALUES (-1, NULL), (-2, NULL);
# Each server numbers the rows of its own.
-- any order
INSERT IGNORE INTO g VALUES (-2, NULL), (24, '2023-11-21 18:30:00'), (-1, NULL);
SHOW WARNINGS;
INSERT INTO t (k) VALUES (1), (2), (3), (4), (5);
UPDATE IGNORE t SET n = k * 100, d = NOW() - INTERVAL 1 DAY;
SHOW COUNT(*) WARNINGS;
UPDATE IGNORE t SET d = NOW(), n = 200 WHERE k IN (1, 5);
SHOW COUNT(*) WARNINGS;
SET sql_mode = '';
BEGIN;
UPDATE t SET k = k + 10, d = NOW(), n = 300 WHERE n = 127;
SHOW COUNT(*) WARNINGS;
ROLLBACK;
SELECT k, n, d IS NULL FROM t ORDER BY k;

## how texts are read is not known, and a block or a prepared text asks for warnings
CREATE TABLE t (id INT PRIMARY KEY) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (2);
EXECUTE IMMEDIATE 'DO 1';
-- text
INSERT IGNORE INTO t VALUES (2), (2);
-- text
PREPARE p FROM "GET DIAGNOSTICS CONDITION 2 @n = ROW_NUMBER";
EXECUTE p;
SELECT @n;
EXECUTE IMMEDIATE 'DO 1';
-- text
INSERT IGNORE INTO t VALUES (2), (2);
-- text
-- mariadb
BEGIN NOT ATOMIC DECLARE m TEXT; GET DIAGNOSTICS CONDITION 2 m = MESSAGE_TEXT; SELECT m; END;

## how many rows the latest statement has changed
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: single on shard '{s2}' */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3);
-- text
BEGIN;
-- text
UPDATE t SET v = v + 1;
-- text
GET DIAGNOSTICS @n = ROW_COUNT;
-- text
SELECT @n;
-- text
ROLLBACK;
-- text
BEGIN;
-- text
DELETE FROM t WHERE id > 1;
-- text
GET DIAGNOSTICS @m = NUMBER, @n = ROW_COUNT;
-- text
SELECT @m, @n;
-- text
ROLLBACK;

## what a connection keeps for later
SET optimizer_trace = 'enabled=on';
SELECT 1;
SELECT COUNT(*) > 0 FROM information_schema.optimizer_trace;
SET optimizer_trace = 'enabled=off';
