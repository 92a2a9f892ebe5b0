# A default database that some shards do not have, or that another session has dropped.

## dropped by another session
CREATE DATABASE e;
CREATE TABLE e.t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO e.t VALUES (1, 1), (2, 2), (3, 3), (4, 4);
CREATE TABLE t (id INT PRIMARY KEY) /*weir: shard by hash(id) */;
SELECT COUNT(*) FROM t;
-- session: 1
DROP DATABASE d;
SELECT 1;
SELECT COUNT(*) FROM e.t;
SELECT * FROM e.t WHERE id = 2;
SELECT * FROM e.t WHERE id = 3;
SELECT DATABASE();
INSERT INTO e.t VALUES (5, 5), (6, 6), (7, 7);
UPDATE e.t SET v = v + 1 WHERE id = 1;
SELECT a.id FROM e.t a JOIN e.t b ON a.id = b.v + 1 ORDER BY a.id;
BEGIN;
INSERT INTO e.t VALUES (11, 5), (12, 6), (13, 7);
UPDATE e.t SET v = 10 WHERE id IN (2, 3);
COMMIT;
SELECT * FROM e.t ORDER BY id;
SET @x = 1, sql_mode = 'ANSI';
SELECT @x, @@sql_mode, COUNT(*) FROM e.t;
# The server's own diagnostics have the error that it gave to Weir.
-- mysql
-- no warnings
SELECT * FROM t;
-- mysql
-- no warnings
INSERT INTO t VALUES (1);
-- no warnings
CREATE TABLE u (id INT PRIMARY KEY);
CREATE TABLE e.u (id INT PRIMARY KEY) /*weir: shard by hash(id) */;
INSERT INTO e.u SELECT id FROM e.t;
SELECT COUNT(*) FROM e.u;
CREATE DATABASE d;
CREATE TABLE t (id INT PRIMARY KEY) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1), (2), (3), (4);
SELECT COUNT(*) FROM t;
-- session: 1
SELECT COUNT(*) FROM t;
SELECT * FROM t WHERE id = 1;
DROP DATABASE e;

## dropped and made again by the session itself
CREATE TABLE t (id INT PRIMARY KEY) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1), (2), (3), (4);
DROP DATABASE d;
SELECT * FROM t;
SELECT DATABASE();
CREATE DATABASE d;
INSERT INTO t VALUES (1);
CREATE TABLE d.t (id INT PRIMARY KEY) /*weir: shard by hash(id) */;
INSERT INTO d.t VALUES (1), (2), (3);
SELECT COUNT(*) FROM d.t;
USE d;
SELECT COUNT(*) FROM t;

## on one shard only
CREATE DATABASE r /*weir: shards ({s2}) default single */;
CREATE TABLE r.t (id INT PRIMARY KEY);
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4);
USE r;
SELECT * FROM t;
SELECT COUNT(*) FROM d.t;
SELECT * FROM d.t WHERE id = 1;
SELECT * FROM d.t WHERE id = 2;
SELECT * FROM d.t WHERE id = 3;
INSERT INTO d.t VALUES (10, 1), (11, 1), (12, 1);
SHOW TABLES;
BEGIN;
INSERT INTO t VALUES (5);
INSERT INTO d.t VALUES (20, 1), (21, 1), (22, 1);
COMMIT;
SET @a = 1;
SELECT @a;
SELECT COUNT(*) FROM t;
CREATE TABLE d.u (id INT PRIMARY KEY);
SELECT a.id FROM d.t a JOIN d.t b ON a.id = b.v + 1 ORDER BY 1;
SELECT t.id FROM t JOIN d.t b ON t.id = b.v;
BEGIN;
SELECT COUNT(*) FROM d.t;
USE d;
INSERT INTO t VALUES (30, 1), (31, 1), (32, 1);
USE r;
INSERT INTO d.t VALUES (33, 1), (34, 1), (35, 1);
ROLLBACK;
SELECT COUNT(*) FROM d.t;
DROP DATABASE r;
SELECT COUNT(*) FROM d.t;
