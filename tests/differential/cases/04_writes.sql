# Writes.

## INSERT of many rows
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20) DEFAULT 'dflt', n INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3), (4, 'd', 4);
INSERT INTO t (n, id) VALUES (5, 5), (6, 6), (7, 7);
INSERT INTO t (id) VALUES (8), (9);
INSERT INTO t VALUES (10, DEFAULT, 10), (11, DEFAULT(v), 11);
INSERT INTO t VALUES (12, CONCAT('x', 'y'), 3 * 4), (6 + 7, 'expr', 13);
SELECT * FROM t ORDER BY id;
INSERT INTO t VALUES (20, 'new', 1), (1, 'dup', 1), (21, 'new', 1);
SELECT COUNT(*) FROM t;
INSERT IGNORE INTO t VALUES (22, 'new', 1), (1, 'dup', 1), (23, 'new', 1);
-- no warnings
INSERT INTO t VALUES (1, 'up', 1), (24, 'in', 1) ON DUPLICATE KEY UPDATE v = VALUES(v), n = n + 100;
INSERT INTO t VALUES (2, 'up', 2) ON DUPLICATE KEY UPDATE n = n + 1;
REPLACE INTO t VALUES (3, 'rep', 3), (25, 'rep', 25);
REPLACE INTO t SET id = 3, v = 'again';
SELECT * FROM t ORDER BY id;
INSERT INTO t VALUES (30, 'x', 'no number'), (31, 'y', 1);
INSERT INTO t VALUES (32, 'x');
INSERT INTO t (id, nothing) VALUES (33, 1), (34, 2);
SELECT COUNT(*) FROM t;
-- params: 40, 'p', 41, 'q'
INSERT INTO t (id, v) VALUES (?, ?), (?, ?);
SELECT * FROM t WHERE id >= 40 ORDER BY id;
INSERT INTO t VALUES (50, 'a', 1), (51, 'b', 2), (52, REPEAT('x', 30), 3);
SELECT COUNT(*) FROM t WHERE id >= 50;

## AUTO_INCREMENT
CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t (v) VALUES (10);
SELECT LAST_INSERT_ID();
INSERT INTO t (v) VALUES (20), (30), (40);
SELECT LAST_INSERT_ID();
INSERT INTO t VALUES (NULL, 50), (0, 60);
SELECT LAST_INSERT_ID();
INSERT INTO t VALUES (100, 70);
SELECT LAST_INSERT_ID();
INSERT INTO t (v) VALUES (80);
SELECT LAST_INSERT_ID();
SELECT * FROM t ORDER BY id;
INSERT INTO t SET v = 90;
SELECT v FROM t WHERE id = LAST_INSERT_ID();
DELETE FROM t;
SELECT COUNT(*) FROM t;

## UPDATE and DELETE
CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1, 0), (2, 2, 0), (3, 3, 0), (4, 4, 0), (5, 5, 0), (6, 6, 0), (7, 7, 0), (8, 8, 0);
UPDATE t SET b = a;
UPDATE t SET b = a;
UPDATE t SET b = b + 1 WHERE a > 4;
UPDATE t SET b = 0 WHERE id IN (1, 2, 3);
UPDATE t SET b = 1 WHERE id = 100;
SELECT * FROM t ORDER BY id;
UPDATE t SET b = -1 ORDER BY id LIMIT 3;
UPDATE t SET b = -2 ORDER BY id DESC LIMIT 2;
SELECT * FROM t ORDER BY id;
DELETE FROM t ORDER BY id LIMIT 2;
DELETE FROM t WHERE a > 6;
DELETE FROM t WHERE id IN (3, 4);
SELECT * FROM t ORDER BY id;
UPDATE t SET id = id + 1000 WHERE id = 5;
UPDATE t SET id = 5000 WHERE a = 6;
SELECT * FROM t ORDER BY id;
UPDATE t SET nothing = 1;
DELETE FROM t WHERE nothing = 1;
DELETE FROM t;
SELECT COUNT(*) FROM t;

## INSERT … SELECT
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
CREATE TABLE u (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
CREATE TABLE w (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40);
INSERT INTO u SELECT * FROM t;
INSERT INTO u SELECT id + 100, a FROM t WHERE a > 15;
INSERT INTO w (a, id) SELECT id, a FROM t;
INSERT INTO w SELECT id, COUNT(*) FROM u GROUP BY id;
REPLACE INTO w SELECT id, 7 FROM t;
SELECT * FROM u ORDER BY id;
SELECT * FROM w ORDER BY id;

## several tables
CREATE TABLE o (id INT PRIMARY KEY, total INT) /*weir: shard by hash(id) */;
CREATE TABLE l (oid INT, n INT, price INT, PRIMARY KEY (oid, n)) /*weir: shard by hash(oid) */;
INSERT INTO o VALUES (1, 0), (2, 0), (3, 0);
INSERT INTO l VALUES (1, 1, 10), (1, 2, 20), (2, 1, 30);
UPDATE o JOIN l ON o.id = l.oid SET o.total = o.total + l.price WHERE l.n = 1;
SELECT * FROM o ORDER BY id;
DELETE o, l FROM o JOIN l ON o.id = l.oid WHERE o.id = 1;
DELETE l FROM l JOIN o ON o.id = l.oid;
SELECT * FROM o ORDER BY id;
SELECT * FROM l ORDER BY oid, n;

## A key that the INSERT leaves to its default
CREATE TABLE t (lang CHAR(3) NOT NULL DEFAULT 'ger', n INT NOT NULL DEFAULT -3, v INT, PRIMARY KEY (lang, n)) /*weir: shard by hash(lang) */;
INSERT INTO t (v) VALUES (1);
INSERT INTO t (n, v) VALUES (1, 2), (2, 3);
INSERT INTO t () VALUES ();
INSERT INTO t VALUES (DEFAULT, 4, 5), ('eng', DEFAULT, 6), (DEFAULT(lang), 7, 7);
INSERT INTO t SET n = 5;
REPLACE INTO t (n, v) VALUES (5, 9);
INSERT INTO t (n) SELECT 20 UNION SELECT 21;
SELECT * FROM t ORDER BY lang, n;
DROP TABLE t;
CREATE TABLE t (n INT NOT NULL DEFAULT -3 PRIMARY KEY, v INT) /*weir: shard by hash(n) */;
INSERT INTO t (v) VALUES (1);
SELECT * FROM t WHERE n = -3;
DROP TABLE t;
CREATE TABLE t (id CHAR(36) NOT NULL DEFAULT (UUID()) PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t (v) VALUES (1), (2), (3);
INSERT INTO t (v) VALUES (4);
SELECT COUNT(*), COUNT(DISTINCT id), SUM(v), MIN(LENGTH(id)) FROM t;
DROP TABLE t;
CREATE TABLE t (a INT DEFAULT 5, b INT NOT NULL DEFAULT (3 + 4), v INT) /*weir: shard by hash(b) */;
INSERT INTO t (v) VALUES (1), (2);
SELECT * FROM t WHERE b = 7 ORDER BY v;
DROP TABLE t;
CREATE TABLE t (d DATE NOT NULL DEFAULT '2020-02-03', v INT) /*weir: shard by hash(d) */;
INSERT INTO t (v) VALUES (1), (2);
SELECT * FROM t WHERE d = '2020-02-03' ORDER BY v;

## A key that is invisible
-- mariadb
CREATE TABLE t (id INT PRIMARY KEY INVISIBLE AUTO_INCREMENT, v INT) /*weir: shard by hash(id) */;
-- mariadb
INSERT INTO t VALUES (1), (2), (3);
-- mariadb
INSERT INTO t () VALUES ();
-- mariadb
INSERT INTO t VALUES (DEFAULT);
-- mariadb
SELECT COUNT(*), COUNT(v), SUM(v) FROM t;
-- mariadb
SELECT v FROM t ORDER BY id;
-- mariadb
DROP TABLE t;
-- mariadb
CREATE TABLE t (k CHAR(3) NOT NULL DEFAULT 'x' INVISIBLE, v INT, PRIMARY KEY (k, v)) /*weir: shard by hash(k) */;
-- mariadb
INSERT INTO t VALUES (1), (2);
-- mariadb
INSERT INTO t (v, k) VALUES (3, 'y');
-- mariadb
SELECT k, v FROM t ORDER BY k, v;

## Writes through views
CREATE TABLE t (id INT, tenant INT, v INT, name VARCHAR(20), PRIMARY KEY (tenant, id)) /*weir: shard by hash(tenant) */;
CREATE TABLE g (id INT PRIMARY KEY, v INT) /*weir: global */;
CREATE TABLE s (id INT AUTO_INCREMENT PRIMARY KEY, v INT) /*weir: single */;
INSERT INTO t VALUES (1, 1, 10, 'a'), (2, 1, 20, 'b'), (1, 2, 30, 'c'), (1, 3, 40, 'd'), (2, 3, 50, 'e');
CREATE VIEW low AS SELECT tenant, id, v FROM t WHERE v < 45;
CREATE VIEW named (company, number, label) AS SELECT tenant, id, name FROM t;
CREATE VIEW checked AS SELECT tenant AS company, id, v FROM t WHERE v < 100 WITH CHECK OPTION;
CREATE VIEW upon AS SELECT company AS c, number AS n, label AS l FROM named WHERE number < 10;
CREATE VIEW everything AS SELECT * FROM t;
CREATE VIEW gv AS SELECT id AS k, v FROM g;
CREATE VIEW sv AS SELECT v, id FROM s WHERE v > 0;
UPDATE low SET v = v + 1;
SELECT * FROM t ORDER BY tenant, id;
UPDATE low SET v = v + 1 WHERE tenant = 1 AND id = 2;
UPDATE named SET label = CONCAT(label, company) WHERE number = 1;
DELETE FROM low WHERE v > 40;
SELECT * FROM t ORDER BY tenant, id;
INSERT INTO named VALUES (4, 1, 'x'), (5, 1, 'y'), (6, 1, 'z');
INSERT INTO named (label, number, company) SELECT 'copy', number + 5, company FROM named WHERE company > 3;
SELECT * FROM t ORDER BY tenant, id;
INSERT INTO checked VALUES (7, 1, 50), (8, 1, 60);
INSERT INTO checked VALUES (9, 1, 500);
UPDATE checked SET v = 200 WHERE company = 7;
UPDATE checked SET v = v + 1 ORDER BY company, id LIMIT 2;
UPDATE upon SET l = 'deep' WHERE c = 8;
INSERT INTO upon VALUES (10, 2, 'ten'), (11, 2, 'eleven');
DELETE FROM upon WHERE l = 'eleven';
UPDATE everything SET v = 0 WHERE v IS NULL;
INSERT INTO everything (id, tenant, name) VALUES (3, 20, 'q'), (3, 21, 'r');
SELECT * FROM t ORDER BY tenant, id;
INSERT INTO gv VALUES (1, 1), (2, 2);
UPDATE gv SET v = v + 1;
DELETE FROM gv WHERE k = 2;
SELECT * FROM g;
INSERT INTO sv (v) VALUES (5), (6);
UPDATE sv SET v = 9 WHERE id = 2;
SELECT * FROM s ORDER BY id;
UPDATE low JOIN gv ON gv.k = low.tenant SET low.v = gv.v;
INSERT INTO everything VALUES (4, 22, 1, 'no list');
SELECT * FROM t ORDER BY tenant, id;
-- refused: DELETE and INSERT
UPDATE named SET company = company + 20 WHERE company = 10;

## FLOAT columns of INSERT … SELECT whose rows change their shard
# MySQL warns of it when it is prepared, and Weir sends it as a text.
-- no warnings
CREATE TABLE t (id INT PRIMARY KEY, a FLOAT, b FLOAT(7,2), c INT) /*weir: shard by hash(id) */;
-- no warnings
CREATE TABLE s (id INT PRIMARY KEY, a FLOAT, b FLOAT(7,2), c INT, UNIQUE (c)) /*weir: single */;
CREATE TABLE k (id INT, a DOUBLE, b BIGINT, c INT, PRIMARY KEY (c)) /*weir: shard by hash(c) */;
INSERT INTO t VALUES (1, 46.55, 1.005, 3), (2, 1e10, -2.345, 5), (3, 0.1, 99999.99, 7), (4, NULL, 16777, 8), (5, 3.4028234e38, -0.0, 9), (6, 16777217, 0.5, 10);
INSERT INTO s SELECT * FROM t;
SELECT id, a + 0e0, b + 0e0, c FROM s ORDER BY id;
INSERT INTO k (a, id, b, c) SELECT a, id, b, c + 1 FROM t WHERE id <> 2;
SELECT * FROM k ORDER BY id;
# MySQL warns of it when it is prepared, and Weir sends it as a text.
-- no warnings
INSERT INTO k SELECT x.id + 10, x.a, y.b, x.c + 20 FROM t x JOIN t y ON x.id = y.id + 1 WHERE x.a < 1e9 ON DUPLICATE KEY UPDATE a = VALUES(a) * 2;
SELECT * FROM k ORDER BY id;
INSERT INTO s (id, a, c) SELECT id + 100, a, MAX(c) + 100 FROM t GROUP BY id, a HAVING a < 1e9 ORDER BY a LIMIT 3;
SELECT id, a + 0e0, b, c FROM s WHERE id > 100 ORDER BY id;

## INSERT … SELECT of a common table expression with a table's name
CREATE TABLE t (id INT PRIMARY KEY, a FLOAT, c INT) /*weir: shard by hash(id) */;
CREATE TABLE k (c INT PRIMARY KEY, a FLOAT) /*weir: shard by hash(c) */;
INSERT INTO t VALUES (1, 46.55, 3), (2, 0.1, 5);
INSERT INTO k WITH t AS (SELECT 7 AS c, 2 AS a UNION ALL SELECT 8, 3) SELECT * FROM t;
SELECT * FROM k ORDER BY c;

## rows that stay where they are with their new keys
CREATE TABLE t (id INT PRIMARY KEY, c INT, at TIMESTAMP NULL DEFAULT NULL ON UPDATE CURRENT_TIMESTAMP) /*weir: shard by hash(id) */;
CREATE TABLE child (id INT, n INT, PRIMARY KEY (id, n), FOREIGN KEY (id) REFERENCES t (id)) /*weir: shard by hash(id) */;
CREATE TABLE log (id INT PRIMARY KEY, old INT, new INT) /*weir: shard by hash(id) */;
CREATE TABLE s (name VARCHAR(20) COLLATE utf8mb4_general_ci PRIMARY KEY, c INT) /*weir: shard by hash(name) */;
CREATE TABLE two (a INT, b INT, c INT, PRIMARY KEY (a, b)) /*weir: shard by hash(a, b) */;
CREATE TRIGGER log_counts BEFORE UPDATE ON log FOR EACH ROW SET NEW.old = OLD.new;
INSERT INTO t (id, c) VALUES (1, 1), (2, 2), (3, 3);
INSERT INTO child VALUES (1, 1), (2, 1), (3, 1);
INSERT INTO log VALUES (1, 0, 1), (2, 0, 1), (3, 0, 1);
INSERT INTO s VALUES ('abc', 1), ('d', 2);
INSERT INTO two VALUES (1, 1, 1), (1, 2, 2), (2, 1, 3);
UPDATE t SET id = 1, c = 5 WHERE id = 1;
UPDATE t SET id = 2, c = c + 1 WHERE id = 2 AND c = 2;
UPDATE t SET id = 9, c = 9, id = 3 WHERE id = 3;
-- params: 3, 30, 3
UPDATE t SET id = ?, c = ? WHERE id = ?;
SELECT id, c, at IS NULL FROM t ORDER BY id;
UPDATE log SET id = 1, new = 7 WHERE id = 1;
UPDATE IGNORE log SET id = 2, new = 8 WHERE id = 2;
SELECT * FROM log ORDER BY id;
UPDATE s SET name = 'ABC', c = 3 WHERE name = 'abc';
SELECT * FROM s ORDER BY name;
UPDATE two SET a = 1, b = 2, c = 20 WHERE a = 1 AND b = 2;
SELECT * FROM two ORDER BY a, b;
-- refused: foreign keys refer to it
UPDATE t SET id = id + 0 WHERE id = 1;
INSERT INTO log VALUES (1, 5, 9) ON DUPLICATE KEY UPDATE id = 1, new = 10;
INSERT INTO log VALUES (4, 5, 9) ON DUPLICATE KEY UPDATE id = 4, new = 10;
SELECT * FROM log ORDER BY id;
-- refused: ON DUPLICATE KEY UPDATE of 'id'
INSERT INTO log VALUES (1, 5, 9), (2, 5, 9), (3, 5, 9), (4, 5, 9) ON DUPLICATE KEY UPDATE id = 1;

## defaults of keys that are expressions
-- mysql
CREATE TABLE t (id VARCHAR(40) DEFAULT (REPLACE(UUID(), '-', '')) PRIMARY KEY, c INT);
-- mysql
CREATE TABLE u (id VARCHAR(40) DEFAULT (CONCAT('a', "b''c", _latin1'd')) PRIMARY KEY, c INT);
-- mysql
INSERT INTO t (c) VALUES (1), (2), (3);
-- mysql
INSERT INTO t VALUES (DEFAULT, 4);
-- mysql
INSERT INTO t SET c = 5;
-- mysql
SELECT LENGTH(id), COUNT(DISTINCT id), SUM(c) FROM t GROUP BY 1;
-- mysql
INSERT INTO u (c) VALUES (1);
-- mysql
INSERT INTO u SET c = 2, id = DEFAULT ON DUPLICATE KEY UPDATE c = 3;
-- mysql
SELECT * FROM u;

## on duplicate key update by columns of the query
CREATE TABLE a (id INT PRIMARY KEY, j INT, k BIGINT, s VARCHAR(10)) /*weir: shard by hash(id) */;
CREATE TABLE b (id INT PRIMARY KEY, j INT, s VARCHAR(10), n INT) /*weir: shard by hash(id) */;
INSERT INTO a VALUES (1, 1, 1, 'a'), (2, 2, 2, 'b'), (3, 3, 3, 'c');
INSERT INTO b VALUES (1, 10, 'x', 2), (2, 20, 'y', 3), (4, 40, 'z', 9), (5, NULL, NULL, 8);
INSERT INTO a (id, j) SELECT id, j FROM b ON DUPLICATE KEY UPDATE a.j = b.j, a.k = b.n;
SELECT * FROM a ORDER BY id;
INSERT INTO a (id, j, s) SELECT b.n, b.j, b.s FROM b ON DUPLICATE KEY UPDATE a.j = b.j + a.j, a.s = CONCAT(b.s, '!');
SELECT * FROM a ORDER BY id;
INSERT INTO a (id, j) SELECT q.n, q.j FROM b AS q WHERE q.id < 5 ON DUPLICATE KEY UPDATE k = q.n, a.j = q.j;
SELECT * FROM a ORDER BY id;
INSERT INTO a (j, id) SELECT q.j, q.n FROM b AS q WHERE q.id < 5 ORDER BY q.id LIMIT 2 ON DUPLICATE KEY UPDATE a.j = q.j;
SELECT * FROM a ORDER BY id;
-- refused: by columns that may be the query's
INSERT INTO a (id, j) SELECT q.n, q.j + 1 FROM b AS q ON DUPLICATE KEY UPDATE a.j = q.j;
-- refused: by columns that may be the query's
INSERT INTO a (id, k) SELECT q.n, q.j FROM b AS q ON DUPLICATE KEY UPDATE a.k = q.j;

## HIGH_PRIORITY in what is inserted
CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3);
INSERT INTO t SELECT HIGH_PRIORITY id + 10, a, b FROM t;
INSERT INTO t (id, a) SELECT HIGH_PRIORITY a + 20, COUNT(*) FROM t GROUP BY a;
INSERT INTO t (id, a) SELECT HIGH_PRIORITY STRAIGHT_JOIN t.id + 40, o.a FROM t JOIN t AS o ON o.id = t.b;
SELECT * FROM t ORDER BY id;
