# What binds a session to its connection, and what does not.

## what failed has left nothing
-- each bad
-- = SELECT nothere(1)
-- = SELECT nothere(1), nothere(2) FROM t WHERE id = 1
-- = SELEC 1
-- = FROBNICATE t
-- = FROBNICATE
-- = SELECT 1 FROM WHERE
-- = SELECT (1
-- = DO nothere()
-- = SET @a = nothere(1)
-- = SET SESSION sort_buffer_size = nothere(1)
-- = SET nothere = 1
-- = INSERT INTO t VALUES (nothere(1), 1)
-- = EXECUTE nothere
-- = DEALLOCATE PREPARE nothere
-- = PREPARE p FROM 'SELEC 1'
-- = LOCK TABLES nothere READ
-- = HANDLER nothere OPEN
-- = HANDLER nothere READ FIRST
-- = SET ROLE nothere
-- = SELECT GET_LOCK()
-- = SELECT GET_LOCK('a', 1, 2, 3)
-- = CREATE TEMPORARY TABLE t_own (id NOTHING)
-- = SELECT 1 INTO @a, @b
-- = XA COMMIT 'nothere'
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40), (5, 50), (6, 60);
{bad};
INSERT INTO t VALUES (11, 1), (12, 2), (13, 3), (14, 4);
UPDATE t SET v = v + 1 WHERE id = 11;
UPDATE t SET v = v + 1 WHERE id = 12;
UPDATE t SET v = v + 1 WHERE id = 13;
UPDATE t SET v = v + 1 WHERE id = 14;
{bad};
BEGIN;
UPDATE t SET v = v + 1;
UPDATE t SET v = v + 1 WHERE id = 11;
UPDATE t SET v = v + 1 WHERE id = 12;
UPDATE t SET v = v + 1 WHERE id = 13;
COMMIT;
SELECT * FROM t ORDER BY id;

## settings that the server does not report
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40), (5, 50), (6, 60);
SET innodb_lock_wait_timeout = 7;
SELECT @@innodb_lock_wait_timeout;
UPDATE t SET v = v + 1;
UPDATE t SET v = v + 1 WHERE id = 1;
UPDATE t SET v = v + 1 WHERE id = 2;
UPDATE t SET v = v + 1 WHERE id = 3;
UPDATE t SET v = v + 1 WHERE id = 4;
SELECT id, @@innodb_lock_wait_timeout FROM t WHERE id = 1;
SELECT id, @@innodb_lock_wait_timeout FROM t WHERE id = 2;
SELECT id, @@innodb_lock_wait_timeout FROM t WHERE id = 3;
SELECT id, @@innodb_lock_wait_timeout FROM t WHERE id = 4;
SET SESSION innodb_lock_wait_timeout = 8, innodb_strict_mode = OFF, sort_buffer_size = 262144;
SELECT id, @@innodb_lock_wait_timeout, @@innodb_strict_mode, @@sort_buffer_size FROM t WHERE id = 1;
SELECT id, @@innodb_lock_wait_timeout, @@innodb_strict_mode, @@sort_buffer_size FROM t WHERE id = 2;
SELECT id, @@innodb_lock_wait_timeout, @@innodb_strict_mode, @@sort_buffer_size FROM t WHERE id = 3;
SET innodb_lock_wait_timeout = DEFAULT, innodb_strict_mode = DEFAULT;
SELECT id, @@innodb_lock_wait_timeout, @@innodb_strict_mode FROM t WHERE id = 2;
SELECT id, @@innodb_lock_wait_timeout, @@innodb_strict_mode FROM t WHERE id = 3;
SET innodb_lock_wait_timeout = 'x';
UPDATE t SET v = v + 1 WHERE id = 4;
-- session: 1
SELECT id, @@innodb_lock_wait_timeout FROM t WHERE id = 3;

## what binds a session leaves other shards to it
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40), (5, 50), (6, 60);
CREATE TEMPORARY TABLE own (v INT);
UPDATE t SET v = v + 1 WHERE id = 1;
UPDATE t SET v = v + 1 WHERE id = 2;
UPDATE t SET v = v + 1 WHERE id = 3;
UPDATE t SET v = v + 1 WHERE id = 4;
DELETE FROM t WHERE id = 5;
DELETE FROM t WHERE id = 6;
INSERT INTO t VALUES (7, 70);
INSERT INTO t VALUES (8, 80);
INSERT INTO t VALUES (9, 90);
INSERT INTO t VALUES (8, 80);
INSERT INTO t VALUES (9, 90);
ALTER TABLE t ADD COLUMN name VARCHAR(20);
-- params: 1, 1
UPDATE t SET v = v + ? WHERE id = ?;
-- params: 2, 2
UPDATE t SET v = v + ? WHERE id = ?;
-- params: 3, 3
UPDATE t SET v = v + ? WHERE id = ?;
-- params: 4, 4
UPDATE t SET v = v + ? WHERE id = ?;
-- params: 10, 'it''s'
INSERT INTO t (id, name) VALUES (?, ?);
-- params: 11, 'it''s'
INSERT INTO t (id, name) VALUES (?, ?);
-- params: 12, 'it''s'
INSERT INTO t (id, name) VALUES (?, ?);
-- params: 13, 'it''s'
INSERT INTO t (id, name) VALUES (?, ?);
-- params: 10
DELETE FROM t WHERE id = ?;
-- params: 11
DELETE FROM t WHERE id = ?;
SELECT * FROM t ORDER BY id;
SELECT COUNT(*) FROM own;

## a moved row whose key has characters that are new
CREATE TABLE t (k VARCHAR(20) NOT NULL, n INT NOT NULL, PRIMARY KEY (k, n)) /*weir: shard by hash(k) */;
INSERT INTO t VALUES ('abc', 1), ('abd', 2), ('abe', 3);
UPDATE t SET k = CONCAT(k, '%#q', CHAR(119 USING utf8mb4)) WHERE n = 1;
UPDATE t SET k = CONCAT(k, 'üßж');
SELECT * FROM t ORDER BY n;
SELECT * FROM t WHERE k = 'ABDüßж';

## prepared: tables of different shards
CREATE TABLE a (id INT PRIMARY KEY) /*weir: single on shard '{s1}' */;
CREATE TABLE b (id INT PRIMARY KEY) /*weir: single on shard '{s2}' */;
INSERT INTO a VALUES (1);
INSERT INTO b VALUES (2);
-- text
INSERT INTO b SELECT id FROM a;
-- binary
-- refused: none has all of its SINGLE tables
INSERT INTO b SELECT id + 10 FROM a;
