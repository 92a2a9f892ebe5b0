# LOCK TABLES over several shards.

## reads under read locks
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
CREATE TABLE u (id INT PRIMARY KEY, tid INT) /*weir: shard by hash(id) */;
CREATE TABLE g (id INT PRIMARY KEY, name VARCHAR(10)) /*weir: global */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40), (5, 50);
INSERT INTO u VALUES (1, 5), (2, 4), (3, 3), (7, 1);
INSERT INTO g VALUES (1, 'one'), (2, 'two');
LOCK TABLES t READ, u READ LOCAL, g READ;
SELECT * FROM t ORDER BY id;
SELECT COUNT(*), SUM(v) FROM t;
SELECT * FROM t WHERE id = 3;
SELECT * FROM t WHERE id = 4;
-- gathered
SELECT t.id, u.id FROM t JOIN u ON u.tid = t.id ORDER BY t.id;
SELECT t.id, g.name FROM t JOIN g ON g.id = t.id ORDER BY t.id;
SELECT id FROM t UNION ALL SELECT id FROM u ORDER BY 1;
SELECT id FROM t WHERE id = 2 UNION ALL SELECT id FROM u WHERE id = 2;
SELECT name FROM g ORDER BY id;
SELECT 1;
INSERT INTO t VALUES (6, 60);
UPDATE t SET v = v + 1;
DELETE FROM u WHERE id = 1;
SELECT COUNT(*) FROM t;
UNLOCK TABLES;
UPDATE t SET v = v + 1;
SELECT SUM(v) FROM t;

## what is not locked
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
CREATE TABLE u (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
CREATE TABLE s (id INT PRIMARY KEY, v INT) /*weir: single on shard '{s2}' */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3);
INSERT INTO u VALUES (1, 1), (2, 2);
INSERT INTO s VALUES (1, 1);
LOCK TABLES t READ;
SELECT * FROM u ORDER BY id;
SELECT * FROM u WHERE id = 2;
SELECT * FROM s;
SELECT t.id FROM t JOIN u ON u.id = t.id;
SELECT * FROM t AS a ORDER BY id;
INSERT INTO u VALUES (5, 5);
INSERT INTO s VALUES (5, 5);
UPDATE u SET v = 0;
SELECT * FROM t ORDER BY id;
LOCK TABLES u READ;
SELECT * FROM u ORDER BY id;
SELECT * FROM t ORDER BY id;
LOCK TABLES s READ;
SELECT * FROM s;
SELECT * FROM t ORDER BY id;
SELECT * FROM u WHERE id = 1;
LOCK TABLES nothere READ, t READ;
SELECT * FROM t ORDER BY id;
SELECT * FROM u ORDER BY id;

## aliases
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 3), (2, 1), (3, 2);
LOCK TABLES t AS a READ, t AS b READ;
SELECT * FROM t AS a ORDER BY id;
SELECT * FROM t ORDER BY id;
-- gathered
SELECT a.id, b.id FROM t AS a JOIN t AS b ON b.id = a.v ORDER BY a.id;
SELECT * FROM t b WHERE id = 2;
UNLOCK TABLES;
LOCK TABLES t WRITE, t AS a READ;
DELETE FROM t WHERE id = 1;
SELECT * FROM t AS a ORDER BY id;
UPDATE t AS a SET v = 1 WHERE id = 2;
UNLOCK TABLES;
LOCK TABLES t AS a WRITE;
DELETE a FROM t AS a WHERE a.id = 2;
SELECT * FROM t AS a ORDER BY id;
UNLOCK TABLES;

## writes of one shard
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
CREATE TABLE n (id INT PRIMARY KEY AUTO_INCREMENT, v INT) /*weir: shard by hash(id) */;
CREATE TABLE g (id INT PRIMARY KEY, v INT) /*weir: global */;
INSERT INTO g VALUES (1, 1);
LOCK TABLES t WRITE, n WRITE, g WRITE;
INSERT INTO t VALUES (1, 1);
INSERT INTO t VALUES (2, 2);
INSERT INTO t VALUES (1 + 2, 3);
INSERT INTO t VALUES (2, 2);
-- no warnings
INSERT INTO t VALUES (2, 2) ON DUPLICATE KEY UPDATE v = v + 40;
UPDATE t SET v = v * 2 WHERE id = 3;
DELETE FROM t WHERE id = 1;
INSERT INTO n (v) VALUES (7);
SELECT LAST_INSERT_ID();
INSERT INTO n (v) VALUES (8);
SELECT LAST_INSERT_ID();
SELECT * FROM t ORDER BY id;
SELECT * FROM n ORDER BY id;
-- text
-- refused: servers refuse under table locks
UPDATE t SET v = 0;
-- text
-- refused: weir_lock_tables
INSERT INTO g VALUES (2, 2);
SELECT * FROM g ORDER BY id;
UNLOCK TABLES;
SELECT * FROM t ORDER BY id;
INSERT INTO t VALUES (8, 8), (9, 9), (10, 10), (11, 11);
SELECT COUNT(*) FROM t;

## what ends them
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
CREATE TABLE u (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3);
INSERT INTO u VALUES (1, 1), (2, 2), (3, 3);
LOCK TABLES t READ;
START TRANSACTION;
UPDATE t SET v = v + 1;
SELECT SUM(v) FROM u;
ROLLBACK;
SELECT SUM(v) FROM t;
LOCK TABLES t READ;
BEGIN;
UPDATE u SET v = v + 1;
COMMIT;
SELECT SUM(v) FROM u;
BEGIN;
UPDATE t SET v = v + 1;
LOCK TABLES t READ;
ROLLBACK;
SELECT SUM(v) FROM t;
COMMIT;
SELECT SUM(v) FROM u;
SELECT SUM(v) FROM t;
UNLOCK TABLES;
SELECT SUM(v) FROM u;
-- session: 1
UPDATE t SET v = 0;
SELECT SUM(v) FROM t;

## others wait
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
CREATE TABLE g (id INT PRIMARY KEY, v INT) /*weir: global */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3);
INSERT INTO g VALUES (1, 1);
LOCK TABLES t WRITE, g READ;
-- session: 1
SET lock_wait_timeout = 1;
-- session: 1
SELECT * FROM t ORDER BY id;
-- session: 1
SELECT * FROM t WHERE id = 2;
-- session: 1
SELECT * FROM g;
-- session: 1
INSERT INTO g VALUES (2, 2);
-- session: 1
LOCK TABLES t READ;
-- session: 1
LOCK TABLES g READ;
-- session: 1
SELECT * FROM g;
-- session: 1
UNLOCK TABLES;
UPDATE t SET v = 10 WHERE id = 1;
UNLOCK TABLES;
-- session: 1
SELECT * FROM t ORDER BY id;
-- session: 1
INSERT INTO g VALUES (2, 2);
SELECT * FROM g ORDER BY id;

## views
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3);
CREATE VIEW w AS SELECT id, v * 2 AS d FROM t;
LOCK TABLES w READ;
SELECT * FROM w ORDER BY id;
SELECT * FROM w WHERE id = 2;
UNLOCK TABLES;
SELECT SUM(d) FROM w;

## the session goes on under locks
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3);
SET @a = 2;
LOCK TABLES t WRITE;
SELECT * FROM t WHERE id = @a;
SELECT v FROM t WHERE id = 3 INTO @b;
SELECT @b, @a;
UPDATE t SET v = @b + 1 WHERE id = 1;
SET SESSION sql_mode = 'ANSI_QUOTES';
SELECT "id" FROM t WHERE id = 2;
SELECT "id", "v" FROM t ORDER BY id;
SET SESSION sql_mode = DEFAULT;
-- params: 2
SELECT * FROM t WHERE id = ?;
-- params: 3
SELECT * FROM t WHERE id = ?;
-- params: 1
SELECT * FROM t WHERE id > ? ORDER BY id;
SELECT id, 1 / 0 FROM t ORDER BY id;
SHOW COUNT(*) WARNINGS;
SELECT SQL_CALC_FOUND_ROWS id FROM t WHERE id = 1;
SHOW TABLES;
UNLOCK TABLES;
SELECT * FROM t ORDER BY id;

## where they are refused
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
CREATE TABLE u (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
SET autocommit = 0;
-- text
-- refused: autocommit = 1
LOCK TABLES t READ;
SET autocommit = 1;
LOCK TABLES t WRITE;
-- text
-- refused: UNLOCK TABLES first
ALTER TABLE t /*weir: shard by hash(v) */;
UNLOCK TABLES;
ALTER TABLE t ADD COLUMN w INT;
INSERT INTO t VALUES (1, 1, 1);
SELECT * FROM t;

## definitions under locks
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
CREATE TABLE o (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
CREATE TABLE g (id INT PRIMARY KEY, v INT) /*weir: global */;
INSERT INTO t VALUES (1, 3), (2, 1), (3, 2);
INSERT INTO g VALUES (1, 3);
LOCK TABLES t WRITE, g READ;
ALTER TABLE t ADD COLUMN w INT NOT NULL DEFAULT 7;
ALTER TABLE t DISABLE KEYS;
ALTER TABLE t ENABLE KEYS;
INSERT INTO t VALUES (4, 4, 4);
SELECT * FROM t ORDER BY id;
ALTER TABLE o ADD COLUMN w INT;
ALTER TABLE g ADD COLUMN w INT;
ALTER TABLE nothere ADD COLUMN w INT;
CREATE INDEX v ON t (v);
CREATE INDEX v ON o (v);
ALTER TABLE t ADD COLUMN w INT;
DROP INDEX v ON t;
CREATE TRIGGER before_t BEFORE INSERT ON t FOR EACH ROW SET NEW.w = NEW.w + 1;
INSERT INTO t VALUES (5, 5, 5);
SELECT w FROM t WHERE id = 5;
DROP TRIGGER before_t;
CREATE TABLE n (id INT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS n (id INT PRIMARY KEY);
CREATE VIEW w AS SELECT * FROM t;
DROP VIEW IF EXISTS w;
-- no warnings
CREATE PROCEDURE p() SELECT 1;
CREATE DATABASE other_d;
DROP DATABASE IF EXISTS other_d;
TRUNCATE TABLE o;
TRUNCATE TABLE t;
INSERT INTO t VALUES (6, 6, 6);
SELECT * FROM t ORDER BY id;
SELECT * FROM g;
DROP TABLE o;
DROP TABLE IF EXISTS nothere;
DROP TABLE t, g;
DROP TABLE t;
SELECT * FROM t;
SELECT * FROM g;
SELECT * FROM o;
UNLOCK TABLES;
SELECT * FROM t;
SELECT * FROM o;
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 3), (2, 1), (3, 2);
LOCK TABLES t WRITE;
DROP TABLE t;
# The last locked table is gone, and the locks are.
SELECT * FROM o;
CREATE TABLE n (id INT PRIMARY KEY) /*weir: shard by hash(id) */;
INSERT INTO n VALUES (1), (2), (3);
SELECT COUNT(*) FROM n;

## definitions under locks of one shard
CREATE DATABASE s /*weir: default single */;
CREATE TABLE s.t (id INT PRIMARY KEY, v INT);
CREATE TABLE s.o (id INT PRIMARY KEY, v INT);
LOCK TABLES s.t WRITE;
ALTER TABLE s.t DISABLE KEYS;
INSERT INTO s.t VALUES (1, 3), (2, 1), (3, 2);
ALTER TABLE s.t ENABLE KEYS;
ALTER TABLE s.t ADD COLUMN w INT, ADD UNIQUE (v);
INSERT INTO s.t VALUES (4, 4, 4);
INSERT INTO s.t VALUES (5, 4, 4);
SELECT * FROM s.t ORDER BY id;
ALTER TABLE s.o ADD COLUMN w INT;
CREATE TABLE s.n (id INT PRIMARY KEY);
CREATE VIEW s.w AS SELECT * FROM s.t;
SET autocommit = 0;
UPDATE s.t SET w = 5;
ALTER TABLE s.t ADD COLUMN x INT;
ROLLBACK;
SELECT * FROM s.t ORDER BY id;
SET autocommit = 1;
CREATE TEMPORARY TABLE s.kept (a INT);
INSERT INTO s.kept SELECT v FROM s.t;
SELECT * FROM s.kept ORDER BY a;
ALTER TABLE s.t RENAME TO s.r;
SELECT id FROM s.t ORDER BY id;
SELECT id FROM s.r ORDER BY id;
SELECT * FROM s.o;
UNLOCK TABLES;
SELECT * FROM s.r ORDER BY id;
LOCK TABLES s.r WRITE, s.o WRITE;
RENAME TABLE s.r TO s.q;
SELECT id FROM s.q ORDER BY id;
SELECT id FROM s.r ORDER BY id;
SELECT id FROM s.o ORDER BY id;
DROP TABLE s.o;
CREATE TABLE s.o (id INT PRIMARY KEY);
TRUNCATE s.q;
TRUNCATE s.r;
DROP TABLE s.q;
DROP TABLE s.r;
CREATE TABLE s.o (id INT PRIMARY KEY);
SELECT * FROM s.o;
UNLOCK TABLES;
DROP DATABASE s;

## what is refused under locks ends the transaction
CREATE DATABASE s /*weir: default single */;
CREATE TABLE s.t (id INT PRIMARY KEY, v INT);
CREATE TABLE s.o (id INT PRIMARY KEY, v INT);
INSERT INTO s.t VALUES (1, 1);
SET autocommit = 0;
LOCK TABLES s.t WRITE;
UPDATE s.t SET v = 2;
CREATE VIEW s.w AS SELECT * FROM s.t;
ROLLBACK;
SELECT * FROM s.t;
UPDATE s.t SET v = 3;
ALTER TABLE s.o ADD COLUMN w INT;
ROLLBACK;
SELECT * FROM s.t;
UNLOCK TABLES;
SET autocommit = 1;
LOCK TABLES s.t WRITE, s.o WRITE;
RENAME TABLE s.t TO s.x, s.o TO s.t, s.x TO s.o;
SELECT * FROM s.t;
SELECT * FROM s.o;
UNLOCK TABLES;
DROP DATABASE s;

## tables that are made from locked ones
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 3), (2, 1), (3, 2);
LOCK TABLES t WRITE;
CREATE TABLE n (id INT PRIMARY KEY) SELECT id FROM t;
CREATE TABLE n LIKE t;
SELECT * FROM t ORDER BY id;
UNLOCK TABLES;
CREATE TABLE n (id INT PRIMARY KEY) SELECT id FROM t;
SELECT * FROM n ORDER BY id;
