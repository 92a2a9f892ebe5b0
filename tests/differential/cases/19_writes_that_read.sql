# Writes that need rows of other shards first, or whose rows follow one another.

## subqueries of ON DUPLICATE KEY UPDATE
CREATE TABLE t (k INT PRIMARY KEY, v INT, d DATE) /*weir: shard by hash(k) */;
CREATE TABLE u (k INT PRIMARY KEY, w INT, d DATE) /*weir: shard by hash(k) */;
CREATE TABLE s (k INT PRIMARY KEY, v INT) /*weir: single on shard '{s2}' */;
INSERT INTO u VALUES (1, 1, '2020-01-01'), (2, 2, '2020-01-02'), (3, 3, NULL), (4, 4, NULL), (5, 5, NULL), (6, 6, '2020-01-06');
INSERT INTO t (k, v) VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6);
INSERT INTO t (k, v) VALUES (1, 1), (2, 2), (13, 3) ON DUPLICATE KEY UPDATE v = (SELECT MAX(w) FROM u);
INSERT INTO t (k, v) VALUES (1, 1) ON DUPLICATE KEY UPDATE v = (SELECT MIN(w) FROM u) + 5 + v;
INSERT INTO t (k, v) VALUES (1, 1), (2, 5) ON DUPLICATE KEY UPDATE v = v + (SELECT w FROM u WHERE k = 3), d = (SELECT MAX(d) FROM u);
-- params: 2, 9, 4
INSERT INTO t (k, v) VALUES (?, ?), (3, 3) ON DUPLICATE KEY UPDATE v = (SELECT w FROM u WHERE k = ?) * 100;
INSERT INTO t (k, v) VALUES (1, 1), (8, 5) ON DUPLICATE KEY UPDATE v = EXISTS (SELECT 1 FROM u WHERE w = 6) + 100;
INSERT INTO t (k, v) VALUES (1, (SELECT COUNT(*) FROM u)), (9, 5) ON DUPLICATE KEY UPDATE v = v + (SELECT SUM(w) FROM u);
SELECT * FROM t ORDER BY k;
INSERT INTO s VALUES (1, 1), (2, 2);
INSERT INTO s VALUES (1, 1), (3, 2) ON DUPLICATE KEY UPDATE v = (SELECT SUM(w) FROM u);
SELECT * FROM s ORDER BY k;
-- refused: no shard has all of its rows
INSERT INTO t (k, v) VALUES (1, 1), (3, 5) ON DUPLICATE KEY UPDATE v = (SELECT COUNT(*) FROM u WHERE u.k <= t.k);

## subqueries of ON DUPLICATE KEY UPDATE that no row needs
CREATE TABLE t (k INT PRIMARY KEY, v INT) /*weir: shard by hash(k) */;
CREATE TABLE u (k INT PRIMARY KEY, w INT) /*weir: shard by hash(k) */;
INSERT INTO u VALUES (1, 1), (2, 2), (3, 3), (4, 4);
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3);
INSERT INTO t VALUES (7, 1), (8, 5), (9, 6) ON DUPLICATE KEY UPDATE v = (SELECT w FROM u);
INSERT INTO t VALUES (1, 1), (10, 5), (11, 5) ON DUPLICATE KEY UPDATE v = (SELECT w FROM u);
INSERT IGNORE INTO t VALUES (1, 1), (10, 5), (11, 5) ON DUPLICATE KEY UPDATE v = (SELECT w FROM u);
SELECT * FROM t ORDER BY k;

## INSERT … SELECT whose rows stay, with a subquery in ON DUPLICATE KEY UPDATE
CREATE TABLE t (k INT PRIMARY KEY, v INT) /*weir: shard by hash(k) */;
CREATE TABLE u (k INT PRIMARY KEY, w INT) /*weir: shard by hash(k) */;
INSERT INTO u VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6);
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4);
INSERT INTO t SELECT k, w FROM u ON DUPLICATE KEY UPDATE v = (SELECT MAX(w) FROM u AS q) + 50;
SELECT * FROM t ORDER BY k;
INSERT INTO t SELECT k, w FROM u WHERE k = 1 ON DUPLICATE KEY UPDATE v = (SELECT SUM(w) FROM u AS q);
INSERT INTO t SELECT k, w FROM u ON DUPLICATE KEY UPDATE v = w + (SELECT COUNT(*) FROM u AS q);
SELECT * FROM t ORDER BY k;

## a value of several rows that IGNORE makes NULL on MariaDB
CREATE TABLE t (k INT PRIMARY KEY, v INT) /*weir: shard by hash(k) */;
CREATE TABLE u (k INT PRIMARY KEY, w INT) /*weir: shard by hash(k) */;
INSERT INTO u VALUES (1, 1), (2, 2), (3, 3), (4, 4);
INSERT IGNORE INTO t VALUES (10, (SELECT w FROM u));
INSERT IGNORE INTO t SET k = 11, v = (SELECT w FROM u);
INSERT IGNORE INTO t VALUES (12, 1), (13, (SELECT w FROM u)), (14, 2), (15, 3);
INSERT INTO t VALUES (20, (SELECT w FROM u));
SELECT * FROM t ORDER BY k;

## a shard key that another row has
CREATE TABLE t (k INT PRIMARY KEY, v INT) /*weir: shard by hash(k) */;
CREATE TABLE c (a VARCHAR(10), b INT, v INT, PRIMARY KEY (a, b)) /*weir: shard by hash(a) */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6);
UPDATE t SET k = k + 1 ORDER BY k;
UPDATE t SET k = k + 1;
SELECT * FROM t ORDER BY k;
UPDATE t SET k = k + 1 ORDER BY k DESC;
UPDATE t SET k = k - 1 ORDER BY k;
UPDATE t SET k = k - 1;
UPDATE t SET k = k + 1 WHERE v > 100;
SELECT * FROM t ORDER BY k;
UPDATE t SET k = 5 - k ORDER BY k;
UPDATE t SET k = k - 1 ORDER BY k DESC LIMIT 3;
UPDATE t SET k = k + 1 ORDER BY v DESC LIMIT 2;
UPDATE t SET k = k + 10 WHERE v > 2;
SELECT * FROM t ORDER BY k;
BEGIN;
INSERT INTO t VALUES (50, 50), (51, 51), (52, 52);
UPDATE t SET k = k + 1 WHERE k >= 50 ORDER BY k;
UPDATE t SET k = k + 1, v = v + 1000 WHERE k >= 50 ORDER BY k DESC;
COMMIT;
SELECT * FROM t ORDER BY k;
INSERT INTO c VALUES ('a', 1, 1), ('b', 1, 2), ('c', 1, 3), ('d', 2, 4);
UPDATE c SET a = CHAR(ASCII(a) + 1 USING utf8mb4) ORDER BY a, b;
UPDATE c SET a = CHAR(ASCII(a) + 1 USING utf8mb4) ORDER BY a DESC;
UPDATE c SET a = UPPER(a);
SELECT * FROM c ORDER BY a, b;

## a shard key with a default that is not of ASCII
CREATE TABLE n (k VARCHAR(10) NOT NULL DEFAULT 'ä''x', v INT, PRIMARY KEY (k, v)) /*weir: shard by hash(k) */;
CREATE TABLE u (k INT PRIMARY KEY, w INT) /*weir: shard by hash(k) */;
INSERT INTO u VALUES (1, 1), (2, 2), (3, 3);
INSERT INTO n (v) VALUES (9);
INSERT INTO n VALUES (DEFAULT, 10), ('o', 11), (DEFAULT(k), 12);
INSERT INTO n (v) SELECT w FROM u;
SELECT * FROM n ORDER BY k, v;
SELECT v FROM n WHERE k = 'ä''x' ORDER BY v;

## a shard key that several rows leave out
CREATE TABLE s (k VARCHAR(10) NOT NULL, v INT, PRIMARY KEY (k, v)) /*weir: shard by hash(k) */;
CREATE TABLE i (k INT NOT NULL, v INT, PRIMARY KEY (k, v)) /*weir: shard by hash(k) */;
CREATE TABLE u (k INT PRIMARY KEY, w INT) /*weir: shard by hash(k) */;
INSERT INTO u VALUES (1, 1), (2, 2), (3, 3);
SET sql_mode = '';
INSERT INTO s (v) SELECT w FROM u;
INSERT INTO i (v) SELECT w FROM u;
INSERT INTO s (v) VALUES (11), (12);
INSERT IGNORE INTO i (v) VALUES (1), (12), (13);
SELECT * FROM s ORDER BY k, v;
SELECT * FROM i ORDER BY k, v;

## values that are stored in columns of other types
CREATE TABLE t (id INT PRIMARY KEY, vb VARBINARY(40), bl BLOB, n INT, v VARCHAR(40), tx TEXT) /*weir: shard by hash(id) */;
-- no warnings
CREATE TABLE u (id INT PRIMARY KEY, l VARCHAR(10) CHARACTER SET latin1, w VARCHAR(10) CHARACTER SET ucs2, e ENUM('ä', 'b', '7') CHARACTER SET latin1, s SET('ä', 'b') CHARACTER SET latin1, b BIT(9), y YEAR, z INT(5) ZEROFILL, q VARCHAR(10)) /*weir: single on shard '{s2}' */;
INSERT INTO u VALUES (1, 'ä', 'ä', 'ä', 'ä,b', b'101', 2000, 7, 'ä'), (2, 'a', 'a', '7', 'b', b'100000111', 2001, 77777, 'b'), (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO t SELECT id, l, w, e, b, b FROM u;
SELECT id, HEX(vb), HEX(bl), n, v, HEX(tx) FROM t ORDER BY id;
REPLACE INTO t SELECT id, e, CONCAT(l, w), s, s, z FROM u;
SELECT id, HEX(vb), HEX(bl), n, v, HEX(tx) FROM t ORDER BY id;
REPLACE INTO t SELECT id, UPPER(l), IFNULL(w, 'é'), b, e, e FROM u;
SELECT id, HEX(vb), HEX(bl), n, v, HEX(tx) FROM t ORDER BY id;
REPLACE INTO t SELECT id, b, b, y, z, b FROM u;
SELECT id, HEX(vb), HEX(bl), n, v, HEX(tx) FROM t ORDER BY id;
REPLACE INTO t SELECT id, z, z, z, _latin1 x'E4', w FROM u ORDER BY l;
SELECT id, HEX(vb), HEX(bl), n, v, HEX(tx) FROM t ORDER BY id;
REPLACE INTO t (id, vb, bl) SELECT id, _latin1 x'E4', CASE id WHEN 1 THEN l WHEN 2 THEN 'é' ELSE q END FROM u;
SELECT id, HEX(vb), HEX(bl), n, v, HEX(tx) FROM t ORDER BY id;
UPDATE t JOIN u ON u.id = t.id SET t.vb = u.l, t.bl = u.w, t.n = u.e, t.v = u.b, t.tx = u.b;
SELECT id, HEX(vb), HEX(bl), n, v, HEX(tx) FROM t ORDER BY id;
UPDATE t JOIN u ON u.id = t.id SET t.vb = u.s, t.bl = u.b, t.n = u.s, t.v = u.e, t.tx = u.z;
SELECT id, HEX(vb), HEX(bl), n, v, HEX(tx) FROM t ORDER BY id;
UPDATE t JOIN u ON u.id = t.id SET t.vb = LOWER(u.w), t.bl = u.z, t.n = u.b, t.v = u.z, t.tx = u.l;
SELECT id, HEX(vb), HEX(bl), n, v, HEX(tx) FROM t ORDER BY id;
INSERT INTO t (id, vb, bl, v) VALUES (10, (SELECT l FROM u WHERE id = 1), (SELECT w FROM u WHERE id = 1), (SELECT b FROM u WHERE id = 2)), (11, CONCAT((SELECT l FROM u WHERE id = 1), 'x'), (SELECT MAX(e) FROM u), (SELECT e FROM u WHERE id = 2));
INSERT INTO t (id, n, vb) VALUES (12, (SELECT e FROM u WHERE id = 2), (SELECT b FROM u WHERE id = 1)), (13, (SELECT b FROM u WHERE id = 2), (SELECT q FROM u WHERE id = 1));
SELECT id, HEX(vb), HEX(bl), n, v, HEX(tx) FROM t ORDER BY id;
UPDATE t SET vb = (SELECT l FROM u WHERE u.id = 1), bl = (SELECT w FROM u WHERE u.id = t.id), v = (SELECT MAX(l) FROM u) WHERE id < 12;
SELECT id, HEX(vb), HEX(bl), n, v, HEX(tx) FROM t ORDER BY id;
INSERT INTO u (id, l) VALUES (4, 'A');
INSERT INTO t (id, vb) SELECT MIN(id) + 20, l FROM u WHERE id IN (2, 4) GROUP BY 2;
-- mysql
INSERT INTO t (id) VALUES ((SELECT b FROM u WHERE id = 2));
INSERT INTO t (id, n) VALUES (12, 1) ON DUPLICATE KEY UPDATE n = (SELECT b FROM u WHERE id = 2);
INSERT INTO t (id, n) SELECT DISTINCT id + 40, (SELECT b FROM u AS x WHERE x.id = 2) FROM u WHERE id = 1;
INSERT INTO t (id, bl) SELECT DISTINCT id + 50, b FROM u WHERE id = 1;
SELECT id, HEX(vb), HEX(bl), n, v, HEX(tx) FROM t WHERE id > 11 ORDER BY id;
DELETE FROM u WHERE id = 4;
SET collation_connection = utf16_general_ci;
REPLACE INTO t (id, vb, v) SELECT id, 'aé', 'aé' FROM u;
SELECT id, HEX(vb), HEX(bl), n, v, HEX(tx) FROM t ORDER BY id;
SET NAMES utf8mb4;

