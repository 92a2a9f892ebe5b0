# RETURNING (MariaDB): rows that were written come back as one server gives them, or the statement is refused.

## rows that are put
CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v INT) /*weir: shard by hash(id) */;
CREATE TABLE g (id INT PRIMARY KEY, v INT) /*weir: global */;
CREATE TABLE s (id INT PRIMARY KEY AUTO_INCREMENT, v INT) /*weir: single on shard '{s2}' */;
-- mariadb
INSERT INTO t (id, v) VALUES (10, 1) RETURNING id, v + 1;
-- mariadb
-- session: 1
INSERT INTO s (v) VALUES (5), (6) RETURNING id, v;
-- mariadb
-- session: 1
SELECT LAST_INSERT_ID();
-- mariadb
INSERT INTO g VALUES (1, 1) RETURNING id;
-- mariadb
DELETE FROM t WHERE id = 10 RETURNING v;

## values that Weir gives
CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v INT, c VARCHAR(20) DEFAULT 'none', at TIME(3)) /*weir: shard by hash(id) */;
-- mariadb
INSERT INTO t (v) VALUES (7) RETURNING id, v, c;
-- mariadb
SELECT LAST_INSERT_ID(), ROW_COUNT();
-- mariadb
SELECT 1 UNION SELECT 2 UNION SELECT 3;
-- mariadb
INSERT INTO t (v, at) VALUES (8, '-12:34:56.789') RETURNING id, at, t.*;
-- mariadb
SELECT FOUND_ROWS(), LAST_INSERT_ID();
-- mariadb
INSERT INTO t SET v = 9, id = NULL RETURNING id AS number, UPPER(c) name;
-- mariadb
INSERT INTO t (id, v) VALUES (0, 10) RETURNING *;
-- mariadb
REPLACE INTO t (v, c) VALUES (11, 'x') RETURNING id, (SELECT 5), c;
-- mariadb
-- params: 12, 'p'
INSERT INTO t (v, c) VALUES (?, ?) RETURNING id, v, c;
-- mariadb
-- binary
-- refused: A parameter in RETURNING
-- params: 13, 1
INSERT INTO t (v) VALUES (?) RETURNING id, v + ? AS more;
-- mariadb
INSERT INTO t (v) VALUES (14) RETURNING id, LAST_INSERT_ID();
-- mariadb
SELECT LAST_INSERT_ID();
-- mariadb
BEGIN;
-- mariadb
INSERT INTO t (v) VALUES (16) RETURNING id > 0, v;
-- mariadb
INSERT INTO t (id, v) VALUES (101, 17), (DEFAULT, 18) RETURNING id > 100, v;
-- mariadb
INSERT INTO t (v) VALUES (19) RETURNING id > 0;
-- mariadb
SELECT LAST_INSERT_ID() > 0;
-- mariadb
ROLLBACK;
-- mariadb
SELECT COUNT(*) FROM t WHERE v BETWEEN 7 AND 11;
-- mariadb
INSERT INTO t (v) VALUES (15) RETURNING nothing;
-- mariadb
SHOW TABLES;

## rows of several shards, in their order
# MySQL warns of it when it is prepared, and Weir sends it as a text.
-- no warnings
CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v INT, f FLOAT, d DOUBLE, n DECIMAL(10,3), z INT(5) ZEROFILL, day DATE, at DATETIME(2), t TIME, y YEAR, b BLOB, j JSON, bits BIT(9), e ENUM('a', 'b')) /*weir: shard by hash(id) */;
-- mariadb
INSERT INTO t VALUES (1, 1, 1.1, 2.2, 3.3, 42, '2020-01-02', '2020-01-02 03:04:05.67', '-838:59:59', 2020, 'b', '[1]', b'101', 'a'), (2, 2, 0.1234567, 1e300, -0.001, 1, '0001-01-01', '2020-01-02', '00:00:00', 1999, x'00ff', '{}', b'1', 'b'), (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (4, 4, 4, 4, 4, 4, '2024-02-29', '2024-02-29 00:00:00', '100:00:00', 2155, '', '""', b'0', 'a'), (5, -5, -5.5, -5.5, -5.5, 5, '2020-01-02', '2020-01-02 03:04:05', '0:0:1', 0, 'e', '5', b'111111111', 2) RETURNING *;
-- mariadb
SELECT ROW_COUNT(), LAST_INSERT_ID();
-- mariadb
INSERT INTO t (v) VALUES (10), (20), (30), (40), (50), (60), (70), (80) RETURNING v, id > 5 AS later;
-- mariadb
INSERT INTO t (v) VALUES (11), (21), (31), (41), (51), (61), (71), (81) RETURNING v, id;
-- mariadb
SELECT LAST_INSERT_ID();
-- mariadb
-- params: 100, 200, 300
INSERT INTO t (v, f) VALUES (?, 1.5), (?, 2.25), (?, 0.1) RETURNING id, v, f, d;
-- mariadb
-- params: 100, 200, 300
INSERT INTO t (v) VALUES (?), (?), (?) RETURNING id, v + 1;
-- mariadb
REPLACE INTO t (id, v) VALUES (5, 55), (4, 44), (99, 99), (3, 33) RETURNING id, v;
-- mariadb
INSERT INTO t (id, v) VALUES (98, 1), (4, 2), (97, 3), (3, 4), (98, 5) ON DUPLICATE KEY UPDATE v = v + VALUES(v) RETURNING id, v;
-- mariadb
INSERT INTO t (id, v) VALUES (98, 0), (4, 0), (96, 3), (3, 0) ON DUPLICATE KEY UPDATE v = v + VALUES(v) RETURNING id, v;
-- mariadb
INSERT INTO t (id, v) VALUES (201, 0), (202, 0), (203, 3), (4, 0), (204, 5) RETURNING id, v;
-- mariadb
SELECT COUNT(*) FROM t WHERE id BETWEEN 201 AND 204;
-- mariadb
INSERT INTO t (id, v) VALUES (201, 0), (202, 0), (203, 3), (204, 5) RETURNING id, nothing;
-- mariadb
INSERT IGNORE INTO t (id, v) VALUES (301, 0), (302, 0), (303, 3), (4, 5) RETURNING id, v;
-- mariadb
-- refused: RETURNING of a value that differs
INSERT INTO t (id, v) VALUES (401, 0), (402, 0), (403, 3), (404, 5) RETURNING id, CONNECTION_ID();
-- mariadb
INSERT INTO t (id, v) VALUES (401, 0), (402, 0), (403, 3), (404, 5) RETURNING id, NOW() = CURRENT_TIMESTAMP;

## in a transaction
CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v INT) /*weir: shard by hash(id) */;
-- mariadb
BEGIN;
-- mariadb
INSERT INTO t (id, v) VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6) RETURNING id, v;
-- mariadb
INSERT INTO t (id, v) VALUES (11, 1), (12, 2), (13, 3), (4, 4), (15, 5), (16, 6) RETURNING id, v;
-- mariadb
SELECT COUNT(*) FROM t;
-- mariadb
-- any order
DELETE FROM t WHERE v < 5 RETURNING id, v * 2;
-- mariadb
SELECT COUNT(*) FROM t;
-- mariadb
ROLLBACK;
-- mariadb
SELECT COUNT(*) FROM t;

## rows that are deleted
CREATE TABLE t (id INT PRIMARY KEY, v INT, f FLOAT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1, 0.1), (2, 2, 0.2), (3, 3, 0.3), (4, 4, 4), (5, 5, 5), (6, 6, 6), (7, 7, 7), (8, 8, 8);
-- mariadb
-- any order
DELETE FROM t WHERE v < 3 RETURNING id, v, f;
-- mariadb
SELECT ROW_COUNT();
-- mariadb
-- any order
-- params: 5
DELETE FROM t WHERE v < ? RETURNING id, f;
-- mariadb
-- any order
DELETE FROM t WHERE v = 99 RETURNING id, f;
-- mariadb
-- any order
DELETE FROM t WHERE id = 98 AND id = 99 RETURNING *;
-- mariadb
DELETE FROM t ORDER BY id LIMIT 2 RETURNING id;
-- mariadb
-- any order
DELETE FROM t RETURNING id, v;

## copies
CREATE TABLE g (id INT PRIMARY KEY AUTO_INCREMENT, v INT, at TIMESTAMP DEFAULT CURRENT_TIMESTAMP) /*weir: global */;
-- mariadb
INSERT INTO g (v) VALUES (1), (2), (3) RETURNING id, v;
-- mariadb
SELECT LAST_INSERT_ID(), ROW_COUNT();
-- mariadb
INSERT INTO g (id, v) VALUES (1, 10), (7, 70) ON DUPLICATE KEY UPDATE v = VALUES(v) RETURNING id, v;
-- mariadb
INSERT IGNORE INTO g (id, v) VALUES (1, 10), (8, 80) RETURNING id, v;
-- mariadb
SHOW WARNINGS;
-- mariadb
REPLACE INTO g (id, v) VALUES (1, 11), (9, 90) RETURNING id, v, at IS NULL;
-- mariadb
DELETE FROM g WHERE id > 3 ORDER BY id RETURNING id, v;
-- mariadb
SELECT id, v FROM g ORDER BY id;

## rows of a query
CREATE TABLE t (k INT PRIMARY KEY, v INT) /*weir: shard by hash(k) */;
CREATE TABLE a (k INT PRIMARY KEY AUTO_INCREMENT, v INT) /*weir: shard by hash(k) */;
CREATE TABLE u (k INT PRIMARY KEY, w INT) /*weir: shard by hash(k) */;
INSERT INTO u VALUES (1, 6), (2, 5), (3, 4), (4, 3), (5, 2), (6, 1);
-- mariadb
INSERT INTO t SELECT w, k FROM u ORDER BY k RETURNING k, v;
-- mariadb
INSERT INTO t SELECT k + 10, w FROM u ORDER BY k RETURNING k, v + 1 AS more;
-- mariadb
INSERT INTO t SELECT k, w FROM u ORDER BY k DESC ON DUPLICATE KEY UPDATE v = VALUES(v) + 100 RETURNING k, v;
-- mariadb
INSERT INTO a (v) SELECT w FROM u ORDER BY k RETURNING *;
-- mariadb
SELECT LAST_INSERT_ID(), ROW_COUNT();
-- mariadb
INSERT IGNORE INTO t SELECT k + 4, w FROM u ORDER BY k RETURNING k, v;
-- mariadb
INSERT INTO t SELECT k, w FROM u WHERE w > 99 RETURNING k, UPPER(v) AS v;
-- mariadb
INSERT INTO t (v, k) SELECT k, w FROM u WHERE w > 99 RETURNING *;
-- mariadb
REPLACE INTO t SELECT w, k FROM u ORDER BY k RETURNING k, v;
-- mariadb
REPLACE INTO t VALUES (1, 1), (2, 4), (15, 6) RETURNING k, v;
-- mariadb
INSERT IGNORE INTO t VALUES (1, 1), (42, 4), (15, 6), (43, 5) RETURNING k, v;
-- mariadb
SELECT * FROM t ORDER BY k;

## rows that are found first
CREATE TABLE t (k INT PRIMARY KEY, v INT, c VARCHAR(5)) /*weir: shard by hash(k) */;
CREATE TABLE u (k INT PRIMARY KEY, w INT) /*weir: shard by hash(k) */;
INSERT INTO t VALUES (1, 9, 'a'), (2, 8, 'b'), (3, 7, 'c'), (4, 6, 'd'), (5, 5, 'e'), (6, 4, 'f'), (7, 3, 'g'), (8, 2, 'h');
INSERT INTO u VALUES (1, 2), (2, 4), (3, 99);
-- mariadb
-- any order
DELETE FROM t WHERE k IN (SELECT w FROM u) RETURNING k, c;
-- mariadb
DELETE FROM t ORDER BY v LIMIT 1 RETURNING *;
-- mariadb
DELETE FROM t WHERE k > 1 ORDER BY v LIMIT 2 RETURNING v, k;
-- mariadb
SELECT ROW_COUNT();
-- mariadb
DELETE FROM t WHERE v = NULL RETURNING k;
-- mariadb
DELETE FROM t WHERE v > 99 RETURNING k, v;
-- mariadb
DELETE FROM t WHERE v > 99 ORDER BY k RETURNING k, v + 1 AS w;
-- mariadb
-- params: 1
DELETE FROM t WHERE k >= ? ORDER BY c DESC RETURNING k, CONCAT(c, v);
-- mariadb
DELETE FROM t ORDER BY v LIMIT 1 RETURNING *;
-- mariadb
BEGIN;
-- mariadb
INSERT INTO t VALUES (11, 1, 'x'), (12, 1, 'y'), (13, 0, 'z');
-- mariadb
DELETE FROM t ORDER BY v, k LIMIT 2 RETURNING k;
-- mariadb
ROLLBACK;
-- mariadb
SELECT COUNT(*) FROM t;
