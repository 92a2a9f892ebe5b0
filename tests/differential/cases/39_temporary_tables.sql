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
CREATE TEMPORARY TABLE alike LIKE t;
BEGIN;
UPDATE t SET v = v + 1;
UPDATE t SET v = v + 1 WHERE id = 1;
DESCRIBE tmp;
SHOW CREATE TABLE tmp;
UPDATE t SET v = v + 1 WHERE id = 2;
INSERT INTO alike VALUES (1, 1);
SELECT * FROM alike;
COMMIT;
START TRANSACTION READ ONLY;
SELECT COUNT(*) FROM t;
INSERT INTO tmp VALUES (7, 7);
INSERT INTO tmp SELECT id + 50, v FROM t WHERE id < 4;
UPDATE t SET v = 0 WHERE id = 1;
SELECT * FROM tmp ORDER BY id;
COMMIT;
SELECT * FROM tmp ORDER BY id;
TRUNCATE TABLE tmp;
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
-- session: 1
SELECT * FROM t ORDER BY id;
UPDATE t SET v = v + 1 WHERE id > 2;
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

## queries over temporary and sharded tables
CREATE TABLE t (id INT PRIMARY KEY, v INT, s VARCHAR(10)) /*weir: shard by hash(id) */;
CREATE TABLE g (id INT PRIMARY KEY, w INT) /*weir: global */;
CREATE TABLE one (id INT PRIMARY KEY, w INT) /*weir: single on shard '{s2}' */;
INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c'), (4, 40, NULL), (5, 50, 'e'), (6, 60, 'f');
INSERT INTO g VALUES (1, 100), (2, 200), (3, 300);
INSERT INTO one VALUES (1, 1000), (5, 5000);
CREATE TEMPORARY TABLE tmp (id INT PRIMARY KEY, w INT, s VARCHAR(10));
INSERT INTO tmp VALUES (1, 1, 'A'), (3, 3, 'x'), (6, 6, NULL), (9, 9, 'y');
SELECT * FROM t JOIN tmp USING (id) ORDER BY id;
SELECT t.id, t.v, tmp.w FROM t LEFT JOIN tmp ON tmp.id = t.id ORDER BY t.id;
SELECT tmp.id, t.v FROM tmp LEFT JOIN t ON t.id = tmp.id ORDER BY tmp.id;
SELECT t.id FROM t WHERE id IN (SELECT id FROM tmp) ORDER BY id;
SELECT t.id FROM t WHERE NOT EXISTS (SELECT 1 FROM tmp WHERE tmp.s = t.s) ORDER BY id;
SELECT COUNT(*), SUM(t.v), SUM(tmp.w) FROM t, tmp WHERE t.id > tmp.id;
SELECT id FROM t UNION SELECT id FROM tmp ORDER BY id;
SELECT id, w FROM tmp UNION ALL SELECT id, v FROM t ORDER BY 1, 2;
SELECT (SELECT MAX(w) FROM tmp) AS most, COUNT(*) FROM t;
-- text
SELECT t.id, one.w, tmp.w FROM t JOIN one ON one.id = t.id LEFT JOIN tmp ON tmp.id = t.id ORDER BY t.id;
-- text
SELECT one.id FROM one JOIN tmp USING (id);
-- binary
-- refused: prepared on one shard
SELECT one.id FROM one JOIN tmp USING (id);
SELECT g.w, tmp.w, t.v FROM g JOIN tmp ON tmp.id = g.id JOIN t ON t.id = g.id ORDER BY t.id;
# MySQL tells the database of a common table or leaves it out, as it happens to have prepared the statement.
-- other columns
WITH c AS (SELECT id, w FROM tmp WHERE w > 1) SELECT t.id, c.w FROM t JOIN c ON c.id = t.id ORDER BY t.id;
SELECT t.id FROM t JOIN tmp USING (id) ORDER BY id LIMIT 1 OFFSET 1;
SELECT t.v, COUNT(*) FROM t JOIN tmp ON tmp.id <= t.id GROUP BY t.v ORDER BY t.v;
-- params: 1, 50
SELECT t.id, tmp.w FROM t JOIN tmp USING (id) WHERE tmp.w > ? AND t.v > ? ORDER BY id;
SELECT t.id FROM t JOIN tmp USING (id) ORDER BY id FOR UPDATE;
SELECT nothere FROM t JOIN tmp USING (id);
SELECT * FROM tmp ORDER BY id;
-- session: 1
SELECT * FROM t JOIN tmp USING (id);

## writes from and to temporary tables
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
CREATE TABLE g (id INT PRIMARY KEY, v INT) /*weir: global */;
CREATE TABLE one (id INT PRIMARY KEY, v INT) /*weir: single on shard '{s2}' */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40), (5, 50), (6, 60);
CREATE TEMPORARY TABLE tmp (id INT PRIMARY KEY, w INT);
INSERT INTO tmp SELECT id, v FROM t WHERE id < 5;
SELECT * FROM tmp ORDER BY id;
INSERT INTO t SELECT id + 100, w FROM tmp;
SELECT * FROM t ORDER BY id;
INSERT INTO t (id, v) SELECT id + 200, w FROM tmp WHERE id = 2;
INSERT INTO tmp SELECT id, v FROM t WHERE id = 101;
INSERT INTO tmp SELECT id, v FROM t WHERE id IN (4, 104);
SELECT ROW_COUNT();
INSERT IGNORE INTO tmp SELECT id, v FROM t WHERE id < 7;
SELECT * FROM tmp ORDER BY id;
# MySQL warns of it when it is prepared, and Weir sends it as a text.
-- no warnings
INSERT INTO tmp SELECT id, v + 1 FROM t WHERE id < 3 ON DUPLICATE KEY UPDATE w = VALUES(w);
REPLACE INTO tmp SELECT id, v + 2 FROM t WHERE id = 3;
INSERT INTO g SELECT id, w FROM tmp;
-- text
INSERT INTO one SELECT id, w FROM tmp;
SELECT * FROM g ORDER BY id;
-- text
SELECT * FROM one ORDER BY id;
UPDATE t JOIN tmp USING (id) SET v = w + 1000;
SELECT * FROM t ORDER BY id;
UPDATE tmp JOIN t USING (id) SET w = v WHERE id > 2;
SELECT * FROM tmp ORDER BY id;
UPDATE t SET v = 0 WHERE id IN (SELECT id FROM tmp WHERE id < 3);
DELETE FROM t WHERE id IN (SELECT id + 100 FROM tmp);
DELETE t FROM t JOIN tmp USING (id) WHERE tmp.id = 4;
DELETE tmp FROM tmp JOIN t USING (id) WHERE t.v = 0;
SELECT * FROM t ORDER BY id;
SELECT * FROM tmp ORDER BY id;
-- params: 7, 3
INSERT INTO t SELECT id + 300, ? FROM tmp WHERE id = ?;
SELECT * FROM t ORDER BY id;
INSERT INTO t SELECT id, w FROM tmp;
SELECT * FROM t ORDER BY id;

## a transaction with temporary and sharded tables in one statement
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40), (5, 50), (6, 60);
CREATE TEMPORARY TABLE tmp (id INT PRIMARY KEY, w INT);
BEGIN;
UPDATE t SET v = v + 1;
INSERT INTO tmp SELECT id, v FROM t;
SELECT t.id, v, w FROM t JOIN tmp USING (id) ORDER BY id;
UPDATE t JOIN tmp USING (id) SET v = w + 1;
DELETE FROM tmp WHERE id > 3;
INSERT INTO t SELECT id + 10, w FROM tmp;
SELECT t.id, v, w FROM t LEFT JOIN tmp USING (id) ORDER BY id;
ROLLBACK;
SELECT COUNT(*) FROM tmp;
SELECT * FROM t ORDER BY id;
START TRANSACTION READ ONLY;
SELECT t.id, v, w FROM t LEFT JOIN tmp USING (id) ORDER BY id;
COMMIT;
DELETE FROM tmp;
SET autocommit = 0;
INSERT INTO tmp SELECT id, v FROM t;
ROLLBACK;
SELECT COUNT(*) FROM tmp JOIN t USING (id);
INSERT INTO tmp SELECT id, v FROM t;
COMMIT;
SET autocommit = 1;
SELECT COUNT(*) FROM tmp JOIN t USING (id);

## temporary tables that hide sharded ones, with others
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
CREATE TABLE u (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40);
INSERT INTO u VALUES (1, 11), (2, 22), (3, 33), (4, 44);
CREATE TEMPORARY TABLE u (id INT, x VARCHAR(5));
INSERT INTO u VALUES (1, 'one'), (1, 'uno'), (4, 'four');
SELECT t.id, x FROM t JOIN u USING (id) ORDER BY id, x;
INSERT INTO u SELECT id, v FROM t;
SELECT * FROM u ORDER BY id, x;
UPDATE t JOIN u USING (id) SET v = 0 WHERE x = 'four';
SELECT * FROM t ORDER BY id;
-- session: 1
SELECT t.id, u.v FROM t JOIN u USING (id) ORDER BY id;
DROP TEMPORARY TABLE u;
SELECT t.id, u.v FROM t JOIN u USING (id) ORDER BY id;

## types of temporary tables
CREATE TABLE t (id INT PRIMARY KEY) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1), (2), (3), (4);
CREATE TEMPORARY TABLE tmp (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, a DECIMAL(12,3), b CHAR(3), c DATETIME(2) DEFAULT '2020-01-01', d ENUM('x','y') NOT NULL DEFAULT 'y', e BLOB, f DOUBLE, h BIT(4), i VARCHAR(20) CHARACTER SET latin1, j BIGINT UNSIGNED, k TIME, m YEAR, n SET('p','q'), UNIQUE (a), KEY (i(3)));
INSERT INTO tmp (a, b, e, f, h, i, j, k, m, n) VALUES (1.5, 'ab', x'00ff', 0.1, b'101', 'é', 18446744073709551615, '-10:00:00', 2001, 'p,q'), (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
SELECT t.id, a, b, c, d, e, f, h, i, j, k, m, n FROM t LEFT JOIN tmp ON tmp.id = t.id ORDER BY t.id;
INSERT INTO tmp (a, b) SELECT id, 'new' FROM t;
SELECT LAST_INSERT_ID();
SELECT t.id, a, b, c, d FROM t, tmp WHERE tmp.a = t.id ORDER BY t.id;

## CREATE TEMPORARY TABLE … SELECT of rows of several shards
CREATE TABLE t (id INT PRIMARY KEY, v DECIMAL(10,2) NOT NULL, s VARCHAR(10)) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c'), (4, 40, NULL), (5, 50, 'e'), (6, 60, 'f');
CREATE TEMPORARY TABLE c1 AS SELECT * FROM t;
SELECT * FROM c1 ORDER BY id;
CREATE TEMPORARY TABLE c2 (n INT AUTO_INCREMENT PRIMARY KEY, id BIGINT, KEY (id)) SELECT id, v * 2 AS twice, UPPER(s) AS upper FROM t WHERE id > 2 ORDER BY id;
SELECT * FROM c2 ORDER BY n;
CREATE TEMPORARY TABLE c3 SELECT s, COUNT(*) AS n, SUM(v) AS total FROM t GROUP BY s;
-- other columns
SELECT * FROM c3 ORDER BY s;
CREATE TEMPORARY TABLE c4 AS SELECT c1.id, t.v FROM c1 JOIN t ON t.id = c1.id + 1;
SELECT * FROM c4 ORDER BY id;
CREATE TEMPORARY TABLE c5 (id INT PRIMARY KEY) AS SELECT v > 0 AS id FROM t;
SELECT * FROM c5;
CREATE TEMPORARY TABLE c1 AS SELECT * FROM t;
CREATE TEMPORARY TABLE IF NOT EXISTS c1 AS SELECT * FROM t;
SELECT COUNT(*) FROM c1;
CREATE TEMPORARY TABLE c6 AS SELECT * FROM t WHERE id = 2;
SELECT * FROM c6;
BEGIN;
UPDATE t SET v = v + 1;
CREATE TEMPORARY TABLE c7 AS SELECT * FROM t WHERE id > 1;
UPDATE t JOIN c7 USING (id) SET t.v = 0 WHERE id > 4;
SELECT * FROM c7 ORDER BY id;
COMMIT;
SELECT * FROM c7 ORDER BY id;
SELECT * FROM t ORDER BY id;
CREATE TEMPORARY TABLE c8 AS SELECT nothere FROM t;
SELECT * FROM c8;

## a temporary table that is made first in a transaction of several shards
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40);
START TRANSACTION;
UPDATE t SET v = v + 1 WHERE id = 2;
UPDATE t SET v = v + 1 WHERE id = 1;
CREATE TEMPORARY TABLE c AS SELECT * FROM t WHERE id = 1;
INSERT INTO c SELECT * FROM t WHERE id > 1;
SELECT * FROM c ORDER BY id;
COMMIT;
SELECT * FROM c ORDER BY id;

## DROP TABLE of temporary tables and others
CREATE TABLE t (id INT PRIMARY KEY) /*weir: shard by hash(id) */;
CREATE TABLE u (id INT PRIMARY KEY) /*weir: shard by hash(id) */;
CREATE TEMPORARY TABLE tmp (id INT);
CREATE TEMPORARY TABLE u (id INT, x INT);
DROP TABLE t, nothere, tmp;
SELECT * FROM t;
SELECT * FROM tmp;
DROP TABLE IF EXISTS t, tmp, nothere;
SELECT * FROM t;
SELECT * FROM tmp;
CREATE TABLE t (id INT PRIMARY KEY) /*weir: shard by hash(id) */;
DROP TABLE u, t;
SELECT * FROM u;
SELECT * FROM t;
CREATE TABLE t (id INT PRIMARY KEY) /*weir: shard by hash(id) */;
CREATE TEMPORARY TABLE tmp (id INT);
DROP TABLE tmp, tmp, t;
BEGIN;
INSERT INTO t VALUES (1), (2), (3);
DROP TABLE u, tmp;
ROLLBACK;
SELECT COUNT(*) FROM t;

## making and dropping temporary tables commits nothing
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40);
SET autocommit = 0;
UPDATE t SET v = v + 1;
CREATE TEMPORARY TABLE a (id INT);
CREATE TEMPORARY TABLE b AS SELECT * FROM t;
DROP TEMPORARY TABLE a;
SELECT * FROM b ORDER BY id;
# Temporary tables can not be rolled back (1751, 1752): Weir does not warn of it.
-- no warnings
ROLLBACK;
SELECT * FROM t ORDER BY id;

## a session with a temporary table and a setting that only its connection has, without autocommit
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
CREATE TEMPORARY TABLE tmp (id INT PRIMARY KEY);
INSERT INTO tmp VALUES (1), (2);
SET insert_id = 60;
SET autocommit = 0;
-- refused: bound to a connection
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4);
COMMIT;
SELECT * FROM tmp ORDER BY id;
COMMIT;
SET autocommit = 1;
SELECT COUNT(*) FROM t;

## transactions of several shards beside a sequence's latest value
-- mariadb
CREATE SEQUENCE seq START WITH 10;
-- mariadb
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
-- mariadb
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40), (5, 50), (6, 60);
-- mariadb
SELECT NEXTVAL(seq), LASTVAL(seq);
-- mariadb
BEGIN;
-- mariadb
DELETE FROM t WHERE id = 1;
-- mariadb
DELETE FROM t WHERE id = 2;
-- mariadb
DELETE FROM t WHERE id = 3;
-- mariadb
SELECT NEXT VALUE FOR seq;
-- mariadb
UPDATE t SET v = v + 1;
-- mariadb
SELECT LASTVAL(seq), PREVIOUS VALUE FOR seq;
-- mariadb
COMMIT;
-- mariadb
SELECT LASTVAL(seq);
-- mariadb
BEGIN;
-- mariadb
DELETE FROM t;
-- mariadb
SELECT NEXTVAL(seq);
-- mariadb
ROLLBACK;
-- mariadb
SELECT LASTVAL(seq);
-- mariadb
SELECT * FROM t ORDER BY id;
-- mariadb
CREATE TEMPORARY TABLE tmp (id INT PRIMARY KEY);
-- mariadb
INSERT INTO tmp SELECT id FROM t;
-- mariadb
BEGIN;
-- mariadb
UPDATE t SET v = LAST_INSERT_ID() + v;
-- mariadb
SELECT NEXTVAL(seq);
-- mariadb
SELECT COUNT(*) FROM tmp JOIN t USING (id);
-- mariadb
COMMIT;
-- mariadb
SELECT LASTVAL(seq);
-- mariadb
SET autocommit = 0;
-- mariadb
INSERT INTO t VALUES (11, 1), (12, 2), (13, 3), (14, 4);
-- mariadb
SELECT LASTVAL(seq);
-- mariadb
UPDATE t SET v = 0 WHERE id = 12;
-- mariadb
UPDATE t SET v = 0 WHERE id = 13;
-- mariadb
COMMIT;
-- mariadb
SELECT * FROM t ORDER BY id;
-- mariadb
DROP SEQUENCE seq;
-- mariadb
DELETE FROM t WHERE id = 11;
-- mariadb
DELETE FROM t WHERE id = 12;
-- mariadb
COMMIT;
-- mariadb
SELECT COUNT(*) FROM t;

## a sequence's value in a transaction that other shards have a part in already
-- mariadb
CREATE SEQUENCE seq START WITH 10;
-- mariadb
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
-- mariadb
BEGIN;
-- mariadb
INSERT INTO t VALUES (4, 0);
-- mariadb
INSERT INTO t VALUES (3, 0);
-- mariadb
INSERT INTO t VALUES (2, 0);
-- mariadb
INSERT INTO t VALUES (1, 0);
-- mariadb
SELECT NEXTVAL(seq);
-- mariadb
UPDATE t SET v = v + 1;
-- mariadb
SELECT LASTVAL(seq);
-- mariadb
COMMIT;
-- mariadb
SELECT LASTVAL(seq);
-- mariadb
SELECT GET_LOCK('beside a sequence', 0);
-- mariadb
BEGIN;
-- mariadb
UPDATE t SET v = v + 1;
-- mariadb
DELETE FROM t WHERE id = 2;
-- mariadb
SELECT RELEASE_LOCK('beside a sequence'), LASTVAL(seq);
-- mariadb
ROLLBACK;
-- mariadb
SELECT LASTVAL(seq);
-- mariadb
SELECT * FROM t ORDER BY id;

## procedures and functions beside temporary tables
CREATE TABLE acc (id INT PRIMARY KEY, v INT) /*weir: single */;
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO acc VALUES (1, 10), (2, 20), (3, 30);
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4);
CREATE PROCEDURE pay(IN i INT, IN n INT) BEGIN UPDATE acc SET v = v + n WHERE id = i; SELECT * FROM acc WHERE id = i; END;
CREATE PROCEDURE one(IN i INT) BEGIN UPDATE t SET v = v + 1 WHERE id = i; SELECT * FROM t WHERE id = i; END;
CREATE PROCEDURE every() BEGIN UPDATE t SET v = v + 1; SELECT SUM(v) FROM t; END;
CREATE FUNCTION plus(n INT) RETURNS INT DETERMINISTIC NO SQL RETURN n + 1;
CREATE FUNCTION acc_of(i INT) RETURNS INT READS SQL DATA RETURN (SELECT v FROM acc WHERE id = i);
CREATE TEMPORARY TABLE tmp (id INT PRIMARY KEY, w INT);
INSERT INTO tmp VALUES (1, 5), (3, 7);
CALL pay(1, 1);
CALL one(1);
CALL one(2);
CALL one(3);
CALL every();
SELECT plus(w) FROM tmp ORDER BY id;
SELECT id, plus(v) FROM t ORDER BY id;
SELECT acc_of(2);
UPDATE t SET v = plus(v) WHERE id < 3;
BEGIN;
CALL pay(2, 1);
CALL one(4);
INSERT INTO tmp VALUES (4, 4);
CALL every();
SELECT COUNT(*) FROM tmp;
ROLLBACK;
SELECT * FROM tmp ORDER BY id;
SELECT * FROM t ORDER BY id;
SELECT * FROM acc ORDER BY id;

## a procedure whose trigger assigns a variable, beside a temporary table
CREATE TABLE acc (id INT PRIMARY KEY, v INT) /*weir: single */;
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO acc VALUES (1, 10), (2, 20);
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4);
CREATE TRIGGER noted BEFORE UPDATE ON acc FOR EACH ROW SET @noted = OLD.v;
CREATE PROCEDURE pay(IN i INT, IN n INT) UPDATE acc SET v = v + n WHERE id = i;
CREATE TEMPORARY TABLE tmp (id INT PRIMARY KEY);
CALL pay(1, 5);
SELECT @noted;
CALL pay(2, 5);
SELECT @noted, COUNT(*) FROM acc;

## procedures that use the session's temporary tables
CREATE TABLE acc (id INT PRIMARY KEY, v INT) /*weir: single */;
CREATE TABLE kept (id INT PRIMARY KEY, v INT) /*weir: single */;
INSERT INTO acc VALUES (1, 10), (2, 20), (3, 30);
CREATE PROCEDURE find(IN least INT) BEGIN DELETE FROM found; INSERT INTO found SELECT id, v FROM acc WHERE v > least ORDER BY id FOR UPDATE; SELECT COUNT(*) FROM found; END;
CREATE PROCEDURE move() BEGIN IF EXISTS (SELECT 1 FROM found) THEN DELETE k FROM kept k INNER JOIN found f ON k.id = f.id; INSERT INTO kept SELECT id, v FROM found ON DUPLICATE KEY UPDATE v = VALUES(v); END IF; SELECT a.id, a.v, f.w FROM acc a INNER JOIN found f USING (id) ORDER BY a.id; END;
CREATE PROCEDURE both_of(IN least INT) BEGIN DECLARE n INT; CALL find(least); CALL move(); SELECT COUNT(*) INTO n FROM found; SELECT n; END;
CREATE PROCEDURE clean(IN all_of BOOLEAN) BEGIN IF all_of THEN TRUNCATE found; ELSE DELETE FROM found; END IF; END;
CALL clean(FALSE);
SELECT * FROM acc ORDER BY id;
CREATE TEMPORARY TABLE found (id INT PRIMARY KEY, w INT);
CALL find(15);
SELECT * FROM found ORDER BY id;
CALL move();
SELECT * FROM kept ORDER BY id;
BEGIN;
CALL both_of(0);
ROLLBACK;
SELECT * FROM kept ORDER BY id;
SELECT * FROM found ORDER BY id;
CALL both_of(25);
CALL clean(FALSE);
SELECT * FROM found;
CALL find(5);
CALL clean(TRUE);
SELECT * FROM found;
SELECT * FROM acc ORDER BY id;
DROP TEMPORARY TABLE found;
CALL clean(FALSE);
SELECT * FROM kept ORDER BY id;

## a procedure that sets what stays with the session's connection, beside temporary tables
CREATE TABLE acc (id INT PRIMARY KEY, v INT) /*weir: single */;
INSERT INTO acc VALUES (1, 10), (2, 20), (3, 30);
CREATE PROCEDURE locks() BEGIN DECLARE before INT; SET before = @@innodb_lock_wait_timeout; SET SESSION innodb_lock_wait_timeout = 7; SELECT id FROM acc WHERE id = 1 FOR UPDATE; SET SESSION innodb_lock_wait_timeout = before; END;
CREATE PROCEDURE leaves() BEGIN DECLARE n INT DEFAULT 9; SET SESSION innodb_lock_wait_timeout = n; INSERT INTO found SELECT id FROM acc; END;
SET SESSION innodb_lock_wait_timeout = 33;
CREATE TEMPORARY TABLE found (id INT PRIMARY KEY);
CALL locks();
SELECT @@innodb_lock_wait_timeout;
BEGIN;
CALL leaves();
SELECT @@innodb_lock_wait_timeout, COUNT(*) FROM found;
COMMIT;
SELECT @@innodb_lock_wait_timeout;
DROP TEMPORARY TABLE found;
SELECT @@innodb_lock_wait_timeout;
