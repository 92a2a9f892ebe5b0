# What a session is to statements of several shards: its transaction, its definitions, its variables.

## INSERT … SELECT without a transaction
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
CREATE TABLE u (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
CREATE TABLE s (id INT PRIMARY KEY, a INT) /*weir: single */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40), (5, 50);
INSERT INTO u SELECT id + 100, a FROM t WHERE a > 15;
SELECT * FROM u ORDER BY id;
# No rows.
INSERT INTO u SELECT id + 200, a FROM t WHERE a > 1000;
INSERT IGNORE INTO u SELECT id + 200, a FROM t WHERE a > 1000;
REPLACE INTO u SELECT id + 200, a FROM t WHERE a > 1000;
# One row is there already: nothing is left of the others.
INSERT INTO u VALUES (303, 1);
INSERT INTO u SELECT id + 300, a FROM t;
SELECT * FROM u ORDER BY id;
# From its own rows.
INSERT INTO t SELECT id + 10, a + 1 FROM t;
SELECT * FROM t ORDER BY id;
# From one shard to several and back.
INSERT INTO s SELECT id, a FROM t;
SELECT * FROM s ORDER BY id;
INSERT INTO u SELECT id + 400, a FROM s;
SELECT COUNT(*), SUM(a) FROM u;
# The session is in no transaction afterwards.
ROLLBACK;
SELECT COUNT(*) FROM s;
SET autocommit = 0;
INSERT INTO u SELECT id + 500, a FROM t;
SELECT COUNT(*) FROM u;
ROLLBACK;
SELECT COUNT(*) FROM u;
SET autocommit = 1;

## definitions without autocommit
SET autocommit = 0;
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4);
-- session: 1
SELECT * FROM t ORDER BY id;
ALTER TABLE t ADD COLUMN b INT DEFAULT 7;
ROLLBACK;
SELECT * FROM t ORDER BY id;
-- session: 1
SELECT * FROM t ORDER BY id;
UPDATE t SET b = id;
CREATE INDEX by_b ON t (b);
ROLLBACK;
SELECT id, b FROM t ORDER BY id;
DELETE FROM t WHERE id < 3;
RENAME TABLE t TO v;
ROLLBACK;
SELECT id FROM v ORDER BY id;
INSERT INTO v VALUES (10, 10, 10), (11, 11, 11);
TRUNCATE TABLE v;
ROLLBACK;
SELECT COUNT(*) FROM v;
INSERT INTO v VALUES (20, 20, 20), (21, 21, 21);
CREATE TABLE w (id INT PRIMARY KEY) /*weir: shard by hash(id) */;
ROLLBACK;
SELECT * FROM v ORDER BY id;
INSERT INTO w VALUES (1), (2), (3);
DROP TABLE v;
ROLLBACK;
SELECT * FROM w ORDER BY id;
-- session: 1
SELECT * FROM w ORDER BY id;
DROP TABLE w;
SET autocommit = 1;

## definitions within a transaction
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
BEGIN;
INSERT INTO t VALUES (1, 1);
ALTER TABLE t ADD COLUMN b INT DEFAULT 5;
ROLLBACK;
SELECT * FROM t ORDER BY id;
BEGIN;
INSERT INTO t VALUES (2, 2, 2), (3, 3, 3), (4, 4, 4), (5, 5, 5);
TRUNCATE TABLE t;
ROLLBACK;
SELECT * FROM t ORDER BY id;
BEGIN;
INSERT INTO t VALUES (2, 2, 2), (3, 3, 3), (4, 4, 4), (5, 5, 5);
CREATE TABLE u (id INT PRIMARY KEY) /*weir: shard by hash(id) */;
INSERT INTO u VALUES (1), (2), (3);
ROLLBACK;
SELECT * FROM u ORDER BY id;
SELECT * FROM t ORDER BY id;
START TRANSACTION;
DELETE FROM t;
DROP TABLE u;
ROLLBACK;
SELECT COUNT(*) FROM t;
# What only tells leaves the transaction open, and sees it where it reads rows.
BEGIN;
INSERT INTO t VALUES (2, 2, 2), (3, 3, 3), (4, 4, 4), (5, 5, 5);
SHOW TABLES;
CHECKSUM TABLE t;
SHOW COLUMNS FROM t;
ROLLBACK;
SELECT COUNT(*) FROM t;
SET autocommit = 0;
SHOW TABLES;
INSERT INTO t VALUES (2, 2, 2), (3, 3, 3);
SHOW COLUMNS FROM t;
ROLLBACK;
SELECT COUNT(*) FROM t;
SET autocommit = 1;

## user variables
CREATE TABLE t (id INT PRIMARY KEY, v INT, c VARCHAR(30)) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'B'), (3, 30, 'c'), (4, 40, 'd''e'), (5, 50, NULL), (6, 60, 'f');
SET @a = 1;
SET @a = @a + 1, @b = @a * 2;
SELECT * FROM t WHERE id = @a;
SELECT * FROM t WHERE id >= @a AND id <= @b ORDER BY id;
SELECT id, v + @a, @b FROM t ORDER BY id;
UPDATE t SET v = v + @a;
SELECT SUM(v), SUM(v * @a) FROM t;
# One that nobody has set.
SELECT id, @never FROM t ORDER BY id;
SELECT COUNT(*) FROM t WHERE v > @never;
SELECT @x := v FROM t WHERE id = 2;
SELECT @x := v, @y := c FROM t WHERE id = 3;
SELECT id FROM t WHERE v < @x ORDER BY id;
SELECT id FROM t WHERE c = @y ORDER BY id;
INSERT INTO t VALUES (@a + 10, @x, @y), (@a + 11, @x, @y), (@a + 12, @x, @y);
SELECT * FROM t ORDER BY id;
SELECT v, c INTO @v, @c FROM t WHERE id = 4;
SELECT id, @v, @c FROM t ORDER BY id;
DELETE FROM t WHERE c = @c;
SELECT COUNT(*) FROM t;
# Their types and collations.
SET @i = -5, @u = CAST(18446744073709551615 AS UNSIGNED), @d = 1.50 + 1, @f = 1e0 / 3, @n = NULL, @s = CONCAT('a', 'b'), @z = CONCAT(x'00', x'ff'), @e = '';
SELECT id, @i, @u, @d, @f, @n, @s, @e FROM t WHERE id IN (1, 2, 3) ORDER BY id;
SELECT id, HEX(@z), @i / 2, @u - 1, @d * 2, @f * 3 FROM t WHERE id IN (1, 2, 3) ORDER BY id;
SELECT COLLATION(@s), CHARSET(@z), COLLATION(@n), COERCIBILITY(@s), COUNT(*) FROM t;
SELECT @s = 'AB', COUNT(*) FROM t;
SET @l = _latin1 x'e4' COLLATE latin1_german1_ci;
SET @l = CONCAT(@l, @l);
SELECT HEX(@l), COLLATION(@l), COUNT(*) FROM t;
# Within a transaction of several shards.
BEGIN;
UPDATE t SET v = 0;
SET @t = 1 + 1;
SELECT * FROM t WHERE id = @t;
UPDATE t SET v = v + @t;
UPDATE t SET v = v + 10 WHERE id = @t + 1;
SET @t = @t + 1;
UPDATE t SET v = v + @t WHERE id = 1;
SELECT id, v, @t FROM t ORDER BY id;
SET @w = 7;
UPDATE t SET v = v + @w;
SELECT id, v FROM t ORDER BY id;
COMMIT;
SELECT id, v FROM t ORDER BY id;
-- gathered
SELECT @r := @r + 1, id FROM t;

## the last insert id
CREATE TABLE t (id INT PRIMARY KEY, v BIGINT) /*weir: shard by hash(id) */;
CREATE TABLE a (id INT AUTO_INCREMENT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
CREATE TABLE s (id INT AUTO_INCREMENT PRIMARY KEY, v INT) /*weir: single */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4);
INSERT INTO a (v) VALUES (1);
SELECT id, LAST_INSERT_ID() FROM t ORDER BY id;
INSERT INTO s (v) VALUES (1), (2), (3);
INSERT INTO s (v) VALUES (4);
SELECT id, LAST_INSERT_ID() FROM t ORDER BY id;
SELECT id FROM t WHERE id = LAST_INSERT_ID();
UPDATE t SET v = LAST_INSERT_ID() + id;
SELECT * FROM t ORDER BY id;
INSERT INTO t VALUES (LAST_INSERT_ID() + 10, LAST_INSERT_ID()), (LAST_INSERT_ID() + 11, 0);
SELECT * FROM t ORDER BY id;
DELETE FROM t WHERE id > LAST_INSERT_ID();
SELECT * FROM t ORDER BY id;
BEGIN;
INSERT INTO s (v) VALUES (5);
UPDATE t SET v = LAST_INSERT_ID();
SELECT id, v, LAST_INSERT_ID() FROM t ORDER BY id;
COMMIT;

## temporary tables
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
CREATE TABLE g (id INT PRIMARY KEY, v INT) /*weir: global */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40);
INSERT INTO g VALUES (1, 100), (2, 200), (3, 300);
CREATE TEMPORARY TABLE mine (id INT PRIMARY KEY, w INT);
INSERT INTO mine VALUES (1, 1), (2, 2), (3, 3);
SELECT * FROM mine ORDER BY id;
SELECT mine.id, g.v FROM mine JOIN g ON g.id = mine.id ORDER BY mine.id;
UPDATE mine SET w = w + 1;
SELECT SUM(w) FROM mine;
# The others' rows are found as ever, and the table outlives what several shards write.
SELECT * FROM t ORDER BY id;
UPDATE t SET v = v + 1;
SELECT COUNT(*) FROM mine;
INSERT INTO t VALUES (5, 50), (6, 60), (7, 70), (8, 80), (1, 10);
SELECT COUNT(*) FROM mine;
INSERT INTO t SELECT id + 20, v FROM t;
SELECT COUNT(*) FROM mine;
SELECT * FROM t ORDER BY id;
SELECT * FROM t WHERE id = 3;
SELECT * FROM t JOIN mine ON mine.id = t.id ORDER BY t.id;
# One that hides a sharded table.
CREATE TEMPORARY TABLE t (id INT PRIMARY KEY, v INT, x INT);
INSERT INTO t VALUES (7, 70, 700), (8, 80, 800), (9, 90, 900);
SELECT * FROM t ORDER BY id;
SELECT * FROM t WHERE id = 8;
UPDATE t SET x = 0 WHERE id < 9;
DELETE FROM t WHERE id = 9;
SELECT * FROM t ORDER BY id;
-- session: 1
SELECT * FROM t ORDER BY id;
-- params: 7
SELECT * FROM t WHERE id = ?;
DROP TEMPORARY TABLE t;
SELECT * FROM t ORDER BY id;
CREATE TEMPORARY TABLE t (id INT);
DROP TABLE t;
SELECT * FROM t ORDER BY id;
DROP TABLE mine;
SELECT COUNT(*) FROM t;

## a snapshot of all shards
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40), (5, 50), (6, 60);
START TRANSACTION WITH CONSISTENT SNAPSHOT;
-- session: 1
UPDATE t SET v = v + 1;
SELECT * FROM t ORDER BY id;
SELECT * FROM t WHERE id = 2;
COMMIT;
SELECT * FROM t ORDER BY id;
START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY;
-- session: 1
DELETE FROM t WHERE id > 3;
SELECT * FROM t ORDER BY id;
UPDATE t SET v = 0 WHERE id = 1;
COMMIT;
SELECT * FROM t ORDER BY id;
BEGIN;
UPDATE t SET v = 5;
START TRANSACTION WITH CONSISTENT SNAPSHOT;
UPDATE t SET v = 6;
ROLLBACK;
SELECT * FROM t ORDER BY id;

## one time on all shards
CREATE TABLE t (id INT PRIMARY KEY, at DATETIME(6)) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, NULL), (2, NULL), (3, NULL), (4, NULL), (5, NULL), (6, NULL);
SELECT COUNT(DISTINCT NOW(6)) FROM t;
SELECT COUNT(DISTINCT moment) FROM (SELECT NOW(6) AS moment FROM t) AS x;
UPDATE t SET at = NOW(6);
SELECT COUNT(DISTINCT at) FROM t;
CREATE TABLE u (id INT PRIMARY KEY, at DATETIME(6)) /*weir: shard by hash(id) */;
INSERT INTO u SELECT id + 10, NOW(6) FROM t;
SELECT COUNT(DISTINCT at) FROM u;
BEGIN;
SELECT COUNT(DISTINCT NOW(6)) FROM t;
SELECT COUNT(*) FROM t WHERE at < NOW(6);
COMMIT;
SET timestamp = 1700000000;
SELECT id, NOW(6) FROM t ORDER BY id;
SET timestamp = DEFAULT;
SELECT COUNT(*) FROM t WHERE at > NOW() - INTERVAL 1 HOUR AND at <= NOW(6);

## the default database is dropped by a session that something binds
SELECT GET_LOCK('weir_dropped', 0);
DROP DATABASE d;
SELECT DATABASE();
SELECT 1 + 1;
CREATE DATABASE d;
USE d;
SELECT DATABASE(), IS_USED_LOCK('weir_dropped') IS NOT NULL;
CREATE TABLE t (id INT PRIMARY KEY);
INSERT INTO t VALUES (1), (2), (3);
SELECT COUNT(*) FROM t;
SELECT RELEASE_LOCK('weir_dropped');

## results in a collation that is named
CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(10)) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 'é'), (2, 'E'), (3, 'x');
SET NAMES utf8mb4 COLLATE utf8mb4_unicode_ci;
SELECT * FROM t ORDER BY s, id;
SELECT s FROM t WHERE id = 2;
SELECT s FROM t WHERE id = 3;
SELECT 'é' = 'E', COLLATION('a'), COUNT(*) FROM t;
BEGIN;
UPDATE t SET s = 'y' WHERE id = 3;
SET NAMES latin1 COLLATE latin1_bin;
SELECT s FROM t WHERE id = 1;
SELECT s FROM t WHERE id = 2;
SELECT * FROM t ORDER BY id;
COMMIT;
SET NAMES utf8mb4;
SELECT * FROM t ORDER BY id;
SET character_set_results = latin1, collation_connection = utf8mb4_bin;
SELECT * FROM t ORDER BY id;

## modes on a connection whose literals were no ASCII
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40);
SET collation_connection = utf16_general_ci;
SELECT * FROM t ORDER BY id;
SET sql_mode = CONVERT('ANSI_QUOTES,NO_ENGINE_SUBSTITUTION' USING latin1);
SELECT "id", a FROM t ORDER BY id;
SET NAMES utf8mb4;
SELECT "id", a FROM t ORDER BY id;
SET sql_mode = DEFAULT;
-- session: 1
SET sql_mode = 'ANSI_QUOTES,NO_ENGINE_SUBSTITUTION';
-- session: 1
SELECT "id", a FROM t ORDER BY id;
