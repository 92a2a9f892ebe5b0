# Statements that are wrong: the error is the server's.

## NULL for a shard key
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20), n INT) /*weir: shard by hash(id) */;
CREATE TABLE u (id INT, v VARCHAR(20) NOT NULL, PRIMARY KEY (id, v)) /*weir: shard by hash(v) */;
CREATE TABLE b (id INT, v BINARY(3) NOT NULL, PRIMARY KEY (id, v)) /*weir: shard by hash(v) */;
CREATE TABLE r (id INT NOT NULL, x INT) /*weir: shard by range(id) ({s1} values less than (1), {s2} values less than maxvalue) */;
CREATE TABLE src (id INT PRIMARY KEY, x INT) /*weir: shard by hash(id) */;
INSERT INTO src VALUES (1, NULL), (2, 2), (3, NULL);
INSERT INTO t VALUES (NULL, 'a', 1);
INSERT INTO t VALUES (5, 'a', 1), (NULL, 'a', 1), (6, 'b', 2);
-- params: NULL
INSERT INTO t VALUES (?, 'a', 1);
-- params: NULL, 5
INSERT INTO t VALUES (?, 'a', 1), (?, 'b', 2);
# MariaDB has an "Unknown error" among the warnings.
-- no warnings
INSERT INTO t SET id = NULL;
INSERT INTO t SELECT x, 'a', 1 FROM src;
INSERT INTO t SELECT x, 'a', 1 FROM src WHERE id = 1;
INSERT INTO r SELECT x, id FROM src;
INSERT INTO r VALUES (NULL, 2), (3, 3);
INSERT INTO t VALUES (NULL, 'a', 1) ON DUPLICATE KEY UPDATE v = 'z';
INSERT INTO t (id, nothing) VALUES (NULL, 1);
REPLACE INTO t VALUES (NULL, 'a', 1), (9, 'a', 1);
SELECT COUNT(*) FROM t;
INSERT IGNORE INTO t VALUES (NULL, 'a', 1);
INSERT IGNORE INTO t VALUES (50, 'a', 1), (NULL, 'b', 1), (60, 'b', 2);
INSERT IGNORE INTO t SELECT x, 'a', 1 FROM src;
INSERT IGNORE INTO u VALUES (1, NULL), (2, 'x');
INSERT IGNORE INTO b VALUES (1, NULL), (2, 'x');
INSERT IGNORE INTO r VALUES (NULL, 2), (3, 3);
UPDATE t SET id = NULL;
UPDATE t SET id = NULL WHERE id = 50;
UPDATE t SET id = NULL WHERE v = 'none';
UPDATE u SET v = NULL, id = 7;
SELECT * FROM t ORDER BY id;
SELECT * FROM t WHERE id = 0;
SELECT * FROM u WHERE v = '';
SELECT * FROM b WHERE v = X'000000';
SELECT * FROM r WHERE id = 0;
SET sql_mode = '';
INSERT INTO t VALUES (NULL, 'a', 1);
# The row would have the type's own default, with a warning.
-- refused: cannot tell
INSERT INTO t VALUES (500, 'a', 1), (NULL, 'a', 1);

## what is unknown
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20), n INT) /*weir: shard by hash(id) */;
CREATE TABLE s (id INT PRIMARY KEY, k INT NOT NULL) /*weir: shard by hash(id) */;
CREATE TABLE one (id INT PRIMARY KEY, a INT) /*weir: single on shard '{s2}' */;
CREATE TABLE g (id INT PRIMARY KEY, a INT) /*weir: global */;
INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3);
SELECT nofunc(id) FROM t;
SELECT nofunc(id) FROM t WHERE id = 1;
SELECT nodb.nofunc(id) FROM t;
SELECT COUNT(*) FROM t GROUP BY nofunc(v);
SELECT nofunc(SUM(n)) FROM t;
UPDATE t SET v = nofunc(v);
DELETE FROM t WHERE nofunc(id) = 1;
INSERT INTO t VALUES (nofunc(1), 'a', 2);
INSERT INTO t VALUES (11, nofunc('a'), 2), (12, 'b', 3);
INSERT INTO t SELECT k, nofunc(id), 1 FROM s;
UPDATE g SET a = nofunc(1);
INSERT INTO g VALUES (1, nofunc(1));
SELECT * FROM t JOIN nodb.t AS x ON x.id = t.id;
SELECT * FROM t WHERE id IN (SELECT id FROM nodb.x);
UPDATE t JOIN nodb.x ON x.id = t.id SET v = 'q';
DELETE t FROM t JOIN nodb.x ON x.id = t.id;
INSERT INTO t SELECT * FROM nodb.t;
INSERT INTO nodb.t SELECT * FROM t;
INSERT INTO unknown SELECT * FROM t;
UPDATE unknown SET a = (SELECT id FROM t LIMIT 1);
UPDATE unknown JOIN t ON t.id = unknown.id SET a = 1;
DELETE FROM unknown WHERE n IN (SELECT id FROM t);
UPDATE one SET a = (SELECT a FROM unknown);
UPDATE one SET a = (SELECT nothing FROM s);
UPDATE g SET a = (SELECT nothing FROM t);
INSERT INTO one VALUES (1, (SELECT a FROM unknown));
INSERT INTO t VALUES (1, 'a', 1) ON DUPLICATE KEY UPDATE s.k = 2;
INSERT INTO t VALUES (1, 'a', 1) ON DUPLICATE KEY UPDATE v = VALUES(nothing);
SELECT * FROM t ORDER BY id;

## what can't be changed, and what is ambiguous
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20), n INT) /*weir: shard by hash(id) */;
CREATE TABLE s (id INT PRIMARY KEY, k INT NOT NULL) /*weir: shard by hash(id) */;
WITH x AS (SELECT * FROM t) UPDATE x SET v = 1;
WITH x AS (SELECT * FROM t) DELETE FROM x;
UPDATE (SELECT * FROM t) AS x SET v = 1;
UPDATE t, s SET id = 1 WHERE t.id = s.id;
UPDATE t, s SET t.v = 1 WHERE id = 1;
UPDATE t SET v = (SELECT id FROM t, s WHERE id = 1);
DELETE FROM t WHERE id = (SELECT id FROM t, s);
DELETE A FROM t AS a JOIN s AS b ON a.id = b.id WHERE b.k = 22;
INSERT INTO t (one, two) VALUES (1);
INSERT INTO t (id, two) VALUES (1);
INSERT INTO t (id, n) VALUES (1, 2), (3);
INSERT INTO t (one) SELECT 1, 2;
INSERT INTO t (id, nothing) SELECT id FROM s;
INSERT INTO nothing (id, n) VALUES (1);
INSERT INTO t SELECT id, k FROM s;
INSERT INTO t SELECT id, k, 1 FROM s ON DUPLICATE KEY UPDATE nothing = 1;
INSERT INTO t SELECT id, k, 1 FROM s;
SELECT @@nothing FROM t;

## what is wrong in a transaction
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20), n INT) /*weir: shard by hash(id) */;
CREATE TABLE one (id INT PRIMARY KEY, a INT) /*weir: single on shard '{s2}' */;
INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3);
BEGIN;
SELECT nofunc(id) FROM t;
UPDATE t SET v = nofunc(v);
UPDATE one SET a = (SELECT a FROM unknown);
INSERT INTO one VALUES (1, 1);
UPDATE t SET v = nofunc(v);
UPDATE t SET n = 5 WHERE id = 1;
SELECT * FROM t JOIN nodb.t AS x ON x.id = t.id;
INSERT INTO t (id, nothing) VALUES (1);
INSERT INTO t (id, n) VALUES (NULL, 1), (9, 9);
INSERT INTO t SELECT id FROM one WHERE a = 7;
UPDATE t SET v = (SELECT a FROM unknown);
UPDATE t SET n = 6;
UPDATE t SET v = nofunc(v);
SELECT * FROM t ORDER BY id;
COMMIT;
SELECT * FROM t ORDER BY id;
SELECT * FROM one;
SET autocommit = 0;
SELECT nofunc(id) FROM t;
UPDATE t SET n = 7;
SELECT nofunc(id) FROM t;
ROLLBACK;
SELECT * FROM t ORDER BY id;

## in a transaction of several shards
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4);
BEGIN;
UPDATE t SET v = v + 1;
SELEC 1;
SELECT FROM t WHERE;
SELECT v FROM t WHERE id = 1 LIMT 2;
`SELECT` 1;
SET SESSION sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES');
SELEC "v" FROM t;
SELECT "v" FRM t WHERE v = 'a\'b;
(DELETE FROM t);
SELECT * FROM t ORDER BY id;
COMMIT;
SELECT * FROM t ORDER BY id;

## what Weir can't read its server has judged
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
ALTER TABLE t ADD foo bar baz;
CREATE TABLE u (id INT PRIMARY KEY, b INT blah);
ALTER TABLE t ADD COLUMN;
SELECT v FROM t WHERE id = = 1;
-- mariadb
-- refused: Weir can't read this statement
SELECT oracle_schema.SUBSTR('abc' FROM 1 FOR 2);
INSERT INTO t VALUES (1, 1), (2, 2);
SELECT * FROM t ORDER BY id;

## a query without rows, and a value that can't be stored
CREATE TABLE t (id INT PRIMARY KEY, v INT, g INT AS (v + 1) STORED) /*weir: shard by hash(id) */;
INSERT INTO t SELECT * FROM t;
INSERT INTO t SELECT id, v, g FROM t WHERE id = 1;
INSERT INTO t (id, v) SELECT id, v FROM t;
REPLACE INTO t SELECT * FROM t;
SELECT * FROM t;

## no value for a shard key that has no default
CREATE TABLE t (id INT NOT NULL PRIMARY KEY, n INT) /*weir: shard by hash(id) */;
CREATE TABLE u (k VARCHAR(10) NOT NULL PRIMARY KEY, n INT) /*weir: shard by hash(k) */;
CREATE TABLE two (a INT NOT NULL, b VARCHAR(10) NOT NULL, n INT, PRIMARY KEY (a, b)) /*weir: shard by hash(a, b) */;
INSERT INTO t (n) VALUES (1);
INSERT INTO t VALUES (DEFAULT, 1);
# Each shard warns of it.
-- no warnings
INSERT IGNORE INTO t (n) VALUES (1);
-- no warnings
INSERT IGNORE INTO u (n) VALUES (1), (2);
SELECT * FROM t WHERE id = 0;
SELECT * FROM u WHERE k = '';
DELETE FROM t;
DELETE FROM u;
SET sql_mode = '';
INSERT INTO t (n) VALUES (1);
SHOW WARNINGS;
# What comes behind the error is not passed on.
-- no warnings
INSERT INTO t (n) VALUES (2);
-- no warnings
INSERT INTO t SET n = 3;
INSERT INTO t VALUES (DEFAULT, 4);
INSERT INTO t VALUES (DEFAULT(id), 4);
INSERT INTO t (n) VALUES (5) ON DUPLICATE KEY UPDATE n = 50;
REPLACE INTO t VALUES (7, 7), (DEFAULT, 6);
-- params: 8
REPLACE INTO t (n) VALUES (?);
INSERT INTO u (n) VALUES (1);
INSERT INTO two (a, n) VALUES (5, 1);
INSERT INTO two (b, n) VALUES ('x', 1);
SELECT * FROM t ORDER BY id;
SELECT * FROM t WHERE id = 0;
SELECT * FROM u WHERE k = '';
SELECT * FROM two WHERE a = 5 AND b = '';
SELECT * FROM two WHERE a = 0 AND b = 'x';

## ORDER BY of groups by what the groups do not determine
CREATE TABLE person (id INT PRIMARY KEY, col INT, email VARCHAR(9), born DATE);
INSERT INTO person VALUES (1, 1, 'a', '2001-01-01'), (2, 1, 'a', '2001-01-01'), (3, 5, 'b', '2001-01-02'), (4, 5, 'b', '2001-01-02'), (5, 3, 'c', NULL);
SELECT email, MAX(col) FROM person GROUP BY email ORDER BY col + 1;
SET sql_mode = 'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES';
SELECT email, MAX(col) FROM person GROUP BY email ORDER BY col;
SELECT email, MAX(col) FROM person GROUP BY email ORDER BY col + 1;
SELECT email, MAX(col) FROM person GROUP BY email ORDER BY email, col;
SELECT email, MAX(col) FROM person GROUP BY email ORDER BY email, ABS(col);
SELECT email, MAX(col) AS x FROM person GROUP BY email ORDER BY email, MAX(x);
SELECT email, MAX(col) AS col FROM person GROUP BY email ORDER BY email, col + 1;
SELECT email, MAX(col) AS col FROM person GROUP BY email ORDER BY col;
SELECT email, MAX(col) AS x FROM person GROUP BY email ORDER BY LENGTH(email), email, x;
SELECT UPPER(email), MAX(col) FROM person GROUP BY UPPER(email) ORDER BY UPPER(email), email;
SELECT UPPER(email), MAX(col) FROM person GROUP BY UPPER(email) ORDER BY UPPER(email) DESC;
SELECT email, col, COUNT(*) FROM person GROUP BY email, col ORDER BY email, -col;
SELECT email, col, COUNT(*) FROM person GROUP BY 1, 2 ORDER BY 1 DESC, col + 0;
SELECT email, COUNT(*) FROM person WHERE col = 5 GROUP BY email ORDER BY email, col + 1;
SELECT id, email, COUNT(*) FROM person GROUP BY id ORDER BY id, email;
SELECT id, COUNT(*) FROM person GROUP BY id ORDER BY CONCAT(email, col), id;
SELECT p.id, COUNT(*) FROM person p JOIN person q ON p.col = q.col GROUP BY p.id ORDER BY p.id, p.email, q.email;
SELECT email, COUNT(*) FROM person GROUP BY email HAVING col > 1;
SELECT email, COUNT(*) AS n FROM person GROUP BY email ORDER BY email, MAX(born), n + 1;

## names that are not of ASCII, in a session that is not of UTF-8
CREATE TABLE k (id INT, `sö` INT, PRIMARY KEY (id, `sö`)) /*weir: shard by hash(`sö`) */;
CREATE TABLE t (id INT PRIMARY KEY, `wä` INT, v VARCHAR(10)) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b');
SET NAMES latin1;
-- refused: must be UTF-8
UPDATE k SET id = 5 WHERE id = 7 AND 'ä' <> 'ö';
SELECT id, v AS `ä` FROM t WHERE v <> 'ä' ORDER BY id;
INSERT INTO t (id, v) VALUES (3, 'ü');
SELECT COUNT(*) AS `zä`, MAX(v) FROM t;
SET NAMES binary;
SELECT `wä`, id FROM t ORDER BY id;
INSERT INTO k (`sö`, id) VALUES (4, 8);
SET NAMES utf8mb4;
SELECT * FROM t ORDER BY id;
INSERT INTO k (`sö`, id) VALUES (1, 7);
SELECT * FROM k;

## what a server can't read is shown in the client's text
CREATE TABLE u (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
-- mariadb
TABLE u UNION ALL TABLE u;
-- mariadb
SELECT * FROM u UNION ALL TABLE u;
-- mysql
VALUES (1, 2) UNION ALL SELECT * FROM u;

## aggregates and window functions where a write can have none
CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT);
INSERT INTO t VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3);
INSERT INTO t VALUES (COUNT(*), 1, 1);
INSERT INTO t VALUES (4 + COUNT(*), 1, 1), (8, 8, 8);
INSERT INTO t VALUES (7, (SELECT MAX(a) FROM t AS x) + SUM(1), 1);
INSERT INTO t SET id = ROW_NUMBER() OVER (ORDER BY 1 + 1), a = 1;
REPLACE INTO t VALUES (MIN(3), 1, 1);
UPDATE t SET id = MAX(id) + 10 WHERE id = 1;
UPDATE t SET a = MAX(a) WHERE b > 1;
UPDATE t SET a = 1 WHERE b > MAX(b);
UPDATE t SET a = ROW_NUMBER() OVER () WHERE b > 1;
UPDATE t SET a = 1 ORDER BY COUNT(*) LIMIT 1;
DELETE FROM t WHERE a = SUM(b);
UPDATE t SET a = (SELECT MAX(x.a) + COUNT(*) FROM t AS x WHERE x.id > 1) WHERE id = 77;
SELECT * FROM t ORDER BY id;

## HAVING names what is neither selected nor grouped by, and ORDER BY does
CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT);
INSERT INTO t VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3);
SELECT a FROM t HAVING b IN (1, 3) ORDER BY b;
SELECT a + 1 FROM t HAVING id > 1 ORDER BY id;
SELECT a, 1 AS b FROM t HAVING b IN (1, 3) ORDER BY t.b;
SELECT a, b AS x FROM t HAVING b IN (1, 3) ORDER BY x, id;
SELECT a FROM t GROUP BY id, a, b HAVING b > 1 ORDER BY id;
SELECT a FROM t HAVING a > (SELECT MIN(o.b) FROM t AS o) ORDER BY b;
