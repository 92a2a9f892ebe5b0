# Sessions with temporary tables and user locks: transactions over several shards, and statements that name sharded tables too.

## transactions beside a temporary table
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40), (5, 50), (6, 60);
CREATE TEMPORARY TABLE tmp (id INT PRIMARY KEY, w INT);
INSERT INTO tmp VALUES (1, 1), (2, 2);
BEGIN;
INSERT INTO t VALUES (11, 1), (12, 2), (13, 3), (14, 4);
SELECT * FROM tmp ORDER BY id;
UPDATE t SET v = v + 1 WHERE id = 1;
UPDATE t SET v = v + 1 WHERE id = 2;
INSERT INTO tmp VALUES (3, 3);
UPDATE t SET v = v + 1 WHERE id = 3;
UPDATE t SET v = v + 1 WHERE id = 4;
SELECT SUM(w) FROM tmp;
SELECT COUNT(*), SUM(v) FROM t;
COMMIT;
SELECT * FROM tmp ORDER BY id;
SELECT * FROM t ORDER BY id;
BEGIN;
UPDATE t SET v = 0;
DELETE FROM tmp;
SELECT COUNT(*) FROM tmp;
ROLLBACK;
SELECT * FROM tmp ORDER BY id;
SELECT * FROM t ORDER BY id;
-- session: 1
SELECT COUNT(*) FROM t;
-- session: 1
SELECT * FROM tmp;

## savepoints beside a temporary table
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40);
CREATE TEMPORARY TABLE tmp (id INT PRIMARY KEY, w INT);
START TRANSACTION;
INSERT INTO tmp VALUES (1, 1);
SAVEPOINT a;
UPDATE t SET v = 1;
INSERT INTO tmp VALUES (2, 2);
SAVEPOINT b;
DELETE FROM t WHERE id < 3;
DELETE FROM tmp;
ROLLBACK TO b;
SELECT * FROM tmp ORDER BY id;
SELECT * FROM t ORDER BY id;
ROLLBACK TO a;
SELECT * FROM tmp ORDER BY id;
UPDATE t SET v = v + 5 WHERE id > 1;
RELEASE SAVEPOINT a;
COMMIT AND CHAIN;
UPDATE t SET v = v + 1 WHERE id = 1;
UPDATE t SET v = v + 1 WHERE id = 2;
UPDATE t SET v = v + 1 WHERE id = 3;
INSERT INTO tmp VALUES (3, 3);
ROLLBACK;
SELECT * FROM tmp ORDER BY id;
SELECT * FROM t ORDER BY id;

## a temporary table that is made in a transaction of several shards
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40);
BEGIN;
UPDATE t SET v = v + 1;
CREATE TEMPORARY TABLE tmp (id INT PRIMARY KEY, w INT);
INSERT INTO tmp VALUES (1, 1), (2, 2);
UPDATE t SET v = v + 1 WHERE id = 4;
UPDATE t SET v = v + 1 WHERE id = 3;
UPDATE t SET v = v + 1 WHERE id = 2;
UPDATE t SET v = v + 1 WHERE id = 1;
SELECT * FROM tmp ORDER BY id;
COMMIT;
SELECT * FROM tmp ORDER BY id;
BEGIN;
UPDATE t SET v = v + 1;
DROP TEMPORARY TABLE tmp;
SELECT * FROM tmp;
COMMIT;
SELECT * FROM t ORDER BY id;

## autocommit = 0 beside a temporary table
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40);
CREATE TEMPORARY TABLE tmp (id INT PRIMARY KEY, w INT);
SET autocommit = 0;
UPDATE t SET v = v + 1 WHERE id = 1;
INSERT INTO tmp VALUES (1, 1);
ROLLBACK;
UPDATE t SET v = v + 1 WHERE id = 2;
UPDATE t SET v = v + 1 WHERE id = 3;
ROLLBACK;
UPDATE t SET v = v + 1 WHERE id = 4;
INSERT INTO tmp VALUES (2, 2);
COMMIT;
UPDATE t SET v = v + 1;
COMMIT;
SELECT * FROM t ORDER BY id;
SELECT * FROM tmp ORDER BY id;
SET autocommit = 1;
SELECT * FROM tmp ORDER BY id;

## implicit commits beside a temporary table
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40);
CREATE TEMPORARY TABLE tmp (id INT PRIMARY KEY, w INT);
INSERT INTO tmp VALUES (1, 1);
BEGIN;
UPDATE t SET v = 1;
BEGIN;
SELECT * FROM tmp;
UPDATE t SET v = 2;
CREATE TABLE u (id INT PRIMARY KEY) /*weir: shard by hash(id) */;
SELECT * FROM tmp;
ROLLBACK;
SELECT * FROM t ORDER BY id;
BEGIN;
UPDATE t SET v = 3;
DROP TABLE tmp;
ROLLBACK;
SELECT * FROM t ORDER BY id;

## errors in transactions beside a temporary table
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40);
CREATE TEMPORARY TABLE tmp (id INT PRIMARY KEY, w INT);
INSERT INTO tmp VALUES (1, 1);
BEGIN;
INSERT INTO t VALUES (5, 50), (6, 60), (7, 70);
INSERT INTO t VALUES (8, 80), (9, 90), (10, 100), (3, 30);
INSERT INTO tmp VALUES (1, 1);
SHOW WARNINGS;
INSERT INTO tmp VALUES (2, 2);
SELECT nothere FROM t;
SELECT * FROM tmp ORDER BY id;
COMMIT;
SELECT * FROM t ORDER BY id;
SELECT * FROM tmp ORDER BY id;

## user variables, counts and warnings beside a temporary table
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40);
CREATE TEMPORARY TABLE tmp (id INT AUTO_INCREMENT PRIMARY KEY, w INT);
SET autocommit = 0;
UPDATE t SET v = v + 1;
-- no warnings
SELECT v INTO @a FROM t WHERE id = 1;
SELECT @a;
-- no warnings
SELECT v INTO @b FROM t WHERE id = 2;
-- no warnings
SELECT v INTO @c FROM t WHERE id = 3;
SELECT @a, @b, @c;
INSERT INTO tmp (w) VALUES (@a), (@b), (@c);
SELECT LAST_INSERT_ID();
UPDATE t SET v = @b WHERE id = 1;
SELECT ROW_COUNT();
UPDATE t SET v = @a WHERE id = 2;
SELECT LAST_INSERT_ID(), ROW_COUNT();
SELECT * FROM t WHERE id = 4;
SELECT FOUND_ROWS();
SET @d = 5;
UPDATE t SET v = @d WHERE id = 3;
UPDATE t SET v = @d WHERE id = 4;
SELECT 'x' + 1, @d;
SHOW WARNINGS;
COMMIT;
SELECT LAST_INSERT_ID(), @a, @b, @c, @d;
SELECT * FROM tmp ORDER BY id;
SELECT * FROM t ORDER BY id;

## prepared statements beside a temporary table
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40);
CREATE TEMPORARY TABLE tmp (id INT PRIMARY KEY, w INT);
SET autocommit = 0;
-- params: 1, 1
INSERT INTO tmp VALUES (?, ?);
-- params: 7, 1
UPDATE t SET v = ? WHERE id = ?;
-- params: 7, 2
UPDATE t SET v = ? WHERE id = ?;
-- params: 7, 3
UPDATE t SET v = ? WHERE id = ?;
-- params: 1
SELECT * FROM tmp WHERE id = ?;
-- params: 2, 2
INSERT INTO tmp VALUES (?, ?);
COMMIT;
-- params: 0
SELECT * FROM tmp WHERE id > ? ORDER BY id;
SELECT * FROM t ORDER BY id;

## user locks and transactions of several shards
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40);
SELECT GET_LOCK('weir_39', 1);
BEGIN;
UPDATE t SET v = v + 1;
SELECT IS_USED_LOCK('weir_39') = CONNECTION_ID();
UPDATE t SET v = v + 1 WHERE id = 1;
UPDATE t SET v = v + 1 WHERE id = 2;
UPDATE t SET v = v + 1 WHERE id = 3;
SELECT GET_LOCK('weir_39', 0), RELEASE_LOCK('weir_39');
COMMIT;
-- session: 1
SELECT GET_LOCK('weir_39', 0);
SELECT RELEASE_LOCK('weir_39');
-- session: 1
SELECT GET_LOCK('weir_39', 1);
-- session: 1
SELECT RELEASE_LOCK('weir_39');
BEGIN;
UPDATE t SET v = v + 1;
SELECT GET_LOCK('weir_39', 1);
UPDATE t SET v = v + 1 WHERE id = 4;
UPDATE t SET v = v + 1 WHERE id = 1;
ROLLBACK;
-- session: 1
SELECT GET_LOCK('weir_39', 0);
SELECT RELEASE_ALL_LOCKS();
-- session: 1
SELECT GET_LOCK('weir_39', 1);
-- session: 1
SELECT RELEASE_ALL_LOCKS();
SELECT * FROM t ORDER BY id;

## a snapshot of all shards beside a temporary table
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40);
CREATE TEMPORARY TABLE tmp (id INT PRIMARY KEY, w INT);
INSERT INTO tmp VALUES (1, 1);
START TRANSACTION WITH CONSISTENT SNAPSHOT;
-- session: 1
UPDATE t SET v = 0;
SELECT * FROM t ORDER BY id;
SELECT * FROM tmp;
SELECT * FROM t WHERE id = 2;
COMMIT;
SELECT * FROM t ORDER BY id;
SELECT * FROM tmp;
