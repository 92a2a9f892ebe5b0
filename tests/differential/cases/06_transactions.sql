# Transactions over several shards.

## commit and rollback
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 100), (2, 100), (3, 100), (4, 100);
BEGIN;
UPDATE t SET a = a - 10 WHERE id = 1;
UPDATE t SET a = a + 10 WHERE id = 2;
SELECT * FROM t ORDER BY id;
-- session: 1
SELECT * FROM t ORDER BY id;
COMMIT;
-- session: 1
SELECT * FROM t ORDER BY id;
START TRANSACTION;
UPDATE t SET a = 0;
SELECT SUM(a) FROM t;
ROLLBACK;
SELECT SUM(a) FROM t;
SET autocommit = 0;
UPDATE t SET a = a + 1 WHERE id = 3;
DELETE FROM t WHERE id = 4;
-- session: 1
SELECT * FROM t ORDER BY id;
ROLLBACK;
SELECT * FROM t ORDER BY id;
UPDATE t SET a = a + 1;
SET autocommit = 1;
-- session: 1
SELECT * FROM t ORDER BY id;

## savepoints
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4);
BEGIN;
UPDATE t SET a = 10 WHERE id = 1;
SAVEPOINT x;
UPDATE t SET a = 20 WHERE id = 2;
SAVEPOINT y;
UPDATE t SET a = 30;
ROLLBACK TO y;
SELECT * FROM t ORDER BY id;
ROLLBACK TO SAVEPOINT x;
SELECT * FROM t ORDER BY id;
ROLLBACK TO y;
RELEASE SAVEPOINT x;
ROLLBACK TO x;
COMMIT;
SELECT * FROM t ORDER BY id;

## a statement that fails undoes itself alone
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
BEGIN;
INSERT INTO t VALUES (1, 1), (2, 2);
INSERT INTO t VALUES (3, 3), (4, 4), (1, 5), (5, 5), (6, 6);
SELECT * FROM t ORDER BY id;
COMMIT;
SELECT * FROM t ORDER BY id;

## read only
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3);
START TRANSACTION READ ONLY;
SELECT * FROM t ORDER BY id;
SELECT * FROM t WHERE id = 2;
UPDATE t SET a = 0 WHERE id = 1;
COMMIT;
START TRANSACTION WITH CONSISTENT SNAPSHOT;
SELECT * FROM t ORDER BY id;
COMMIT;

## implicit commits
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
BEGIN;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3);
CREATE TABLE other (id INT PRIMARY KEY);
ROLLBACK;
SELECT * FROM t ORDER BY id;
BEGIN;
DELETE FROM t;
BEGIN;
ROLLBACK;
SELECT * FROM t ORDER BY id;

## metadata locks of statements that begin no transaction
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
CREATE TABLE m (id INT PRIMARY KEY, a INT) ENGINE = MyISAM /*weir: single */;
CREATE PROCEDURE p(x INT) SELECT x * 2;
INSERT INTO m VALUES (1, 2);
SET autocommit = 0;
SET @a = 1 + 1;
CALL p(@a);
DROP PROCEDURE p;
SELECT * FROM m;
ALTER TABLE m ADD b INT;
SELECT * FROM m;
COMMIT;
-- session: 1
ALTER TABLE m ADD c INT;
SELECT * FROM t LIMIT 0;
SELECT nothing FROM t WHERE id = 1;
COMMIT;
-- session: 1
ALTER TABLE t ADD b INT;
SELECT @a;
SET autocommit = 1;

## what statements leave that begin no transaction
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
CREATE TABLE m (id INT AUTO_INCREMENT PRIMARY KEY, a INT) ENGINE = MyISAM /*weir: single */;
SET autocommit = 0;
INSERT INTO m VALUES (NULL, 2), (NULL, 3), (NULL, 4);
SELECT LAST_INSERT_ID(), ROW_COUNT();
INSERT IGNORE INTO m VALUES (2, 'x'), (7, 'y');
SHOW WARNINGS;
SELECT SQL_CALC_FOUND_ROWS * FROM m LIMIT 1;
SELECT FOUND_ROWS();
SELECT a / 0 FROM m;
SHOW WARNINGS;
SELECT nothing FROM m;
SHOW ERRORS;
SAVEPOINT s;
SELECT * FROM m WHERE id = 1;
# Without a transaction, Weir has committed what MyISAM keeps (1196).
-- no warnings
ROLLBACK TO s;
INSERT INTO t VALUES (1, 1), (2, 2);
SAVEPOINT s2;
SELECT * FROM m WHERE id = 1;
-- no warnings
ROLLBACK TO s2;
-- no warnings
ROLLBACK;
SELECT * FROM t;
SET @@session.transaction_read_only = 1;
SELECT * FROM m WHERE id = 1;
SET @@session.transaction_read_only = 0;
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM m WHERE id = 1;
SELECT * FROM t;
COMMIT;
HANDLER m OPEN;
-- any order
HANDLER m READ FIRST;
SELECT * FROM m WHERE id = 1;
HANDLER m READ NEXT;
HANDLER m CLOSE;
SET autocommit = 1;

## savepoints before what begins no transaction
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3);
SET autocommit = 0;
SAVEPOINT s;
SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 't';
ROLLBACK TO s;
SHOW VARIABLES LIKE 'autocommit';
ROLLBACK TO s;
INSERT INTO t VALUES (4, 4), (5, 5), (6, 6);
ROLLBACK TO s;
SELECT * FROM t ORDER BY id;
SAVEPOINT s2;
SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 't';
UPDATE t SET a = a + 10;
ROLLBACK TO s2;
UPDATE t SET a = a + 20 WHERE id = 2;
COMMIT;
ROLLBACK TO s;
SELECT * FROM t ORDER BY id;
COMMIT;
SAVEPOINT s;
SHOW CHARACTER SET LIKE 'ascii';
COMMIT;
ROLLBACK TO s;
SAVEPOINT s;
SHOW VARIABLES LIKE 'autocommit';
RELEASE SAVEPOINT s;
ROLLBACK TO s;
SAVEPOINT s;
SHOW VARIABLES LIKE 'autocommit';
BEGIN;
ROLLBACK TO s;
COMMIT;
SET TRANSACTION READ ONLY;
SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 't';
UPDATE t SET a = 0;
COMMIT;
UPDATE t SET a = a + 1;
SELECT * FROM t ORDER BY id;
SET autocommit = 1;

## a characteristic of the next transaction stays for what begins it
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3);
SET autocommit = 0;
SHOW VARIABLES LIKE 'autocommit';
COMMIT;
SET TRANSACTION READ ONLY;
SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 't';
UPDATE t SET a = 0;
COMMIT;
UPDATE t SET a = a + 1;
COMMIT;
SELECT * FROM t ORDER BY id;
SET autocommit = 1;

## a READ ONLY transaction that begins with what has no status of its own
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5);
START TRANSACTION READ ONLY;
SELECT nope FROM t WHERE id = 1;
UPDATE t SET a = 10 WHERE id = 1;
UPDATE t SET a = 10 WHERE id = 2;
UPDATE t SET a = 10 WHERE id = 3;
UPDATE t SET a = 10 WHERE id = 4;
UPDATE t SET a = 10;
ROLLBACK;
START TRANSACTION READ ONLY;
-- params: 1
UPDATE t SET a = 11 WHERE id = ?;
UPDATE t SET a = 11 WHERE id = 1;
UPDATE t SET a = 11 WHERE id = 2;
UPDATE t SET a = 11 WHERE id = 3;
UPDATE t SET a = 11 WHERE id = 4;
UPDATE t SET a = 11;
SELECT * FROM t ORDER BY id;
COMMIT AND CHAIN;
UPDATE t SET a = 12;
COMMIT;
SET SESSION TRANSACTION READ ONLY;
BEGIN;
SELECT nope FROM t WHERE id = 1;
UPDATE t SET a = 13 WHERE id = 2;
UPDATE t SET a = 13;
ROLLBACK;
SET SESSION TRANSACTION READ WRITE;
SELECT * FROM t ORDER BY id;

## a READ WRITE transaction of a session whose transactions are READ ONLY
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5);
SET SESSION TRANSACTION READ ONLY;
START TRANSACTION READ WRITE;
UPDATE t SET a = 10;
COMMIT AND CHAIN;
UPDATE t SET a = a + 1 WHERE id = 1;
UPDATE t SET a = a + 1;
COMMIT;
START TRANSACTION READ WRITE;
SELECT nope FROM t WHERE id = 1;
UPDATE t SET a = a + 1 WHERE id = 1;
UPDATE t SET a = a + 1 WHERE id = 2;
UPDATE t SET a = a + 1 WHERE id = 3;
UPDATE t SET a = a + 1 WHERE id = 4;
UPDATE t SET a = a + 1;
COMMIT;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
START TRANSACTION READ WRITE;
UPDATE t SET a = a + 1;
COMMIT;
UPDATE t SET a = 0;
BEGIN;
UPDATE t SET a = 0;
ROLLBACK;
SET SESSION TRANSACTION READ WRITE;
SET TRANSACTION READ ONLY;
BEGIN;
SELECT nope FROM t WHERE id = 1;
UPDATE t SET a = 0;
ROLLBACK;
SELECT * FROM t ORDER BY id;

## writes of a READ ONLY transaction that meet no rows
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
CREATE TABLE u (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
CREATE TABLE g (id INT PRIMARY KEY, a INT) /*weir: global */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3);
START TRANSACTION READ ONLY;
INSERT INTO t SELECT id + 1, a FROM u;
INSERT INTO g SELECT id + 1, a FROM u;
REPLACE INTO t SELECT id + 1, a FROM u;
UPDATE t SET a = 1 WHERE id > 100;
UPDATE t SET a = 1 WHERE a IN (SELECT a FROM u);
UPDATE t JOIN u ON t.a = u.a SET t.a = 5;
DELETE FROM t WHERE id > 100;
DELETE FROM t WHERE a IN (SELECT a FROM u);
DELETE t FROM t JOIN u ON t.a = u.a;
DELETE FROM t WHERE a > 100 ORDER BY a LIMIT 1;
UPDATE t SET a = 1 WHERE a > 100 ORDER BY a LIMIT 1;
UPDATE t SET a = 1 WHERE FALSE;
DELETE FROM t WHERE id IN (1, 2) AND FALSE;
UPDATE t SET id = 9 WHERE id > 100;
SELECT * FROM t WHERE a = 100 FOR UPDATE;
COMMIT;
SET SESSION TRANSACTION READ ONLY;
INSERT INTO t SELECT id + 1, a FROM u;
-- text
SET TRANSACTION READ WRITE;
-- text
INSERT INTO t SELECT id + 1, a FROM u;
START TRANSACTION READ WRITE;
INSERT INTO t SELECT id + 1, a FROM u;
COMMIT;
SET SESSION TRANSACTION READ WRITE;
INSERT INTO t SELECT id + 1, a FROM u;
