# Definitions of several tables and views, and names that are taken on other shards.

## tables on different shards are dropped in one statement
CREATE TABLE h (k INT PRIMARY KEY) /*weir: shard by hash(k) */;
CREATE TABLE a (id INT PRIMARY KEY) /*weir: single on shard '{s1}' */;
CREATE TABLE b (id INT PRIMARY KEY) /*weir: single on shard '{s2}' */;
CREATE TABLE g (id INT PRIMARY KEY) /*weir: global */;
INSERT INTO h VALUES (1), (2), (3);
DROP TABLE h, a, d.b;
SHOW TABLES;
SELECT * FROM b;
CREATE TABLE b (id INT PRIMARY KEY) /*weir: single on shard '{s1}' */;
CREATE TABLE a (id INT PRIMARY KEY) /*weir: single on shard '{s2}' */;
INSERT INTO b VALUES (7);
SELECT * FROM b;
DROP TABLES IF EXISTS b, nowhere, a, elsewhere CASCADE;
-- text
-- other types
SHOW WARNINGS;
SHOW TABLES;
DROP TABLE g;

## tables of which some are not there
CREATE TABLE h (k INT PRIMARY KEY) /*weir: shard by hash(k) */;
CREATE TABLE i (k INT PRIMARY KEY) /*weir: shard by hash(k) */;
CREATE TABLE a (id INT PRIMARY KEY) /*weir: single on shard '{s1}' */;
CREATE TABLE b (id INT PRIMARY KEY) /*weir: single on shard '{s2}' */;
DROP TABLE h, nowhere;
SHOW TABLES;
SELECT * FROM h;
DROP TABLE nowhere, i;
SHOW TABLES;
SELECT * FROM i;
DROP TABLE a, nowhere, b;
SHOW TABLES;
DROP TABLE IF EXISTS a, b, h, i;
SHOW TABLES;
CREATE TABLE h (k INT PRIMARY KEY) /*weir: shard by hash(k) */;
INSERT INTO h VALUES (1), (2), (3);
SELECT * FROM h ORDER BY k;

## tables of which one is referred to
CREATE TABLE p (k INT PRIMARY KEY) /*weir: shard by hash(k) */;
CREATE TABLE c (k INT PRIMARY KEY, FOREIGN KEY (k) REFERENCES p (k)) /*weir: shard by hash(k) */;
CREATE TABLE o (k INT PRIMARY KEY) /*weir: shard by hash(k) */;
DROP TABLE o, p;
SHOW TABLES;
SELECT * FROM p;
DROP TABLE c, p;
SHOW TABLES;

## views of which some are not there
CREATE TABLE h (k INT PRIMARY KEY) /*weir: shard by hash(k) */;
CREATE TABLE a (id INT PRIMARY KEY) /*weir: single on shard '{s2}' */;
CREATE VIEW v AS SELECT k FROM h;
CREATE VIEW w AS SELECT id FROM a;
CREATE VIEW x AS SELECT k + 1 AS k FROM h;
DROP VIEW v, nowhere;
SHOW TABLES;
# A view of some shards is missing on the others.
-- no warnings
DROP VIEW IF EXISTS v, w, nowhere;
SHOW TABLES;
SELECT * FROM x;
DROP VIEW x;
DROP TABLE h, a;
SHOW TABLES;

## tables on different shards get other names
CREATE TABLE h (k INT PRIMARY KEY) /*weir: shard by hash(k) */;
CREATE TABLE a (id INT PRIMARY KEY) /*weir: single on shard '{s1}' */;
CREATE TABLE b (id INT PRIMARY KEY) /*weir: single on shard '{s2}' */;
INSERT INTO h VALUES (1), (2), (3);
INSERT INTO a VALUES (10);
INSERT INTO b VALUES (20);
RENAME TABLE a TO tmp, b TO a, tmp TO b;
SELECT * FROM a;
SELECT * FROM b;
RENAME TABLE h TO i, b TO d.c, i TO j;
SELECT * FROM j ORDER BY k;
SELECT * FROM c;
SHOW TABLES;
RENAME TABLE nowhere TO x, a TO y, j TO z;
SHOW TABLES;
SELECT * FROM a;

## names that are taken on another shard
CREATE TABLE h (k INT PRIMARY KEY) /*weir: shard by hash(k) */;
CREATE TABLE a (id INT PRIMARY KEY) /*weir: single on shard '{s1}' */;
CREATE TABLE b (id INT PRIMARY KEY) /*weir: single on shard '{s2}' */;
CREATE VIEW v AS SELECT id FROM b;
INSERT INTO a VALUES (1);
INSERT INTO b VALUES (2);
INSERT INTO h VALUES (3), (4);
RENAME TABLE a TO b;
RENAME TABLE h TO b;
RENAME TABLE h TO v;
RENAME TABLE a TO x, h TO x;
RENAME TABLE a TO a;
ALTER TABLE a RENAME TO b;
ALTER TABLE h RENAME TO b, ADD COLUMN c INT;
ALTER TABLE a RENAME TO v;
CREATE TABLE b (id INT) /*weir: single on shard '{s1}' */;
CREATE TABLE IF NOT EXISTS b (id INT) /*weir: single on shard '{s1}' */;
CREATE TABLE v (k INT PRIMARY KEY) /*weir: shard by hash(k) */;
CREATE TABLE IF NOT EXISTS v (k INT PRIMARY KEY) /*weir: shard by hash(k) */;
CREATE VIEW b AS SELECT k FROM h;
CREATE VIEW v AS SELECT k FROM h;
CREATE OR REPLACE VIEW b AS SELECT k FROM h;
SHOW TABLES;
SELECT * FROM a;
SELECT * FROM b;
SELECT * FROM v;
SELECT * FROM h ORDER BY k;
DROP VIEW v;
CREATE VIEW v AS SELECT k FROM h;
SELECT * FROM v ORDER BY k;

## changes of several tables [gathered]
CREATE TABLE a (id INT PRIMARY KEY, x INT, y VARCHAR(10), b_id INT) /*weir: shard by hash(id) */;
CREATE TABLE b (id INT, n INT, x INT, PRIMARY KEY (id, n)) /*weir: shard by hash(id) */;
CREATE TABLE s (id INT PRIMARY KEY, v INT) /*weir: single on shard '{s1}' */;
CREATE TABLE r (id INT PRIMARY KEY, v INT) /*weir: single on shard '{s2}' */;
CREATE TABLE g (id INT PRIMARY KEY, v INT) /*weir: global */;
INSERT INTO a VALUES (1, 10, 'one', 3), (2, 20, 'two', 1), (3, 30, NULL, 1), (4, 40, 'four', NULL), (5, 50, 'five', 9), (6, 60, 'six', 4), (7, 70, 'seven', 5), (8, 80, 'eight', 5);
INSERT INTO b VALUES (1, 1, 100), (1, 2, 200), (3, 1, 300), (4, 1, 400), (5, 1, NULL), (6, 1, 600);
INSERT INTO s VALUES (1, 1), (2, 2), (3, 3), (60, 6);
INSERT INTO r VALUES (1, 1), (2, 2), (3, 3), (60, 6);
INSERT INTO g VALUES (1, 1), (2, 2), (3, 3);
UPDATE a JOIN b ON b.id = a.b_id SET a.x = a.x + 1, b.x = b.x + 1 WHERE a.id < 4;
SELECT * FROM a ORDER BY id;
SELECT * FROM b ORDER BY id, n;
UPDATE a, b SET a.y = CONCAT(a.y, b.id), b.n = b.n + 10 WHERE b.id = a.b_id AND a.id = 6;
SELECT * FROM b ORDER BY id, n;
UPDATE a LEFT JOIN b ON b.id = a.b_id SET a.y = IFNULL(b.x, 'none'), b.n = 5 WHERE a.id IN (5, 7);
SELECT id, y FROM a ORDER BY id;
SELECT * FROM b ORDER BY id, n;
UPDATE a JOIN b ON b.id = a.b_id SET a.x = b.x, b.n = 7 WHERE a.id = 1000;
-- text
UPDATE a JOIN s ON s.id = a.x JOIN r ON r.v = s.v SET s.v = s.v + 100, a.y = 'single', r.id = r.id + 1000;
SELECT * FROM s ORDER BY id;
SELECT * FROM r ORDER BY id;
SELECT id, y FROM a ORDER BY id;
BEGIN;
UPDATE a SET x = 0 WHERE id = 2;
-- no warnings
UPDATE a JOIN b ON b.id = a.b_id SET a.y = 'changed', b.n = 3 WHERE a.id < 4;
SELECT * FROM a ORDER BY id;
SELECT * FROM b ORDER BY id, n;
DELETE a, b FROM a JOIN b ON b.id = a.b_id WHERE a.id = 8;
SELECT COUNT(*) FROM a;
ROLLBACK;
SELECT COUNT(*) FROM a;
DELETE a, b FROM a JOIN b ON b.id = a.b_id WHERE a.id = 8;
SELECT * FROM a ORDER BY id;
SELECT * FROM b ORDER BY id, n;
DELETE FROM x, z USING a AS x JOIN a AS z ON z.b_id = x.id WHERE x.id < 4;
SELECT * FROM a ORDER BY id;
DELETE a, b FROM a LEFT JOIN b ON b.id = a.b_id WHERE b.id IS NULL;
SELECT * FROM a ORDER BY id;
-- text
DELETE a, s, r FROM a, s, r WHERE s.id = a.x AND r.id = s.id;
SELECT COUNT(*) FROM s;
SELECT COUNT(*) FROM r;
-- refused: an assignment reads a column that another one changes
UPDATE a JOIN b ON b.id = a.b_id SET a.x = b.x, b.x = 1;

## changes of copies together with other rows [gathered]
CREATE TABLE a (id INT PRIMARY KEY, x INT, y VARCHAR(10)) /*weir: shard by hash(id) */;
CREATE TABLE s (id INT PRIMARY KEY, v INT) /*weir: single on shard '{s2}' */;
CREATE TABLE g (id INT PRIMARY KEY, v INT, t VARCHAR(40)) /*weir: global */;
CREATE TABLE h (k INT, l INT, w INT, PRIMARY KEY (k, l)) /*weir: global */;
CREATE TABLE w (k INT, v INT) /*weir: global */;
INSERT INTO a VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c'), (4, 4, 'd'), (5, 1, 'e'), (6, 9, 'f'), (7, NULL, 'g');
INSERT INTO s VALUES (1, 1), (2, 2), (3, 3), (60, 6);
INSERT INTO g VALUES (1, 10, 'one'), (2, 20, 'two'), (3, 30, 'three'), (4, 40, 'four'), (5, 50, 'five');
INSERT INTO h VALUES (1, 1, 100), (1, 2, 200), (2, 1, 300), (5, 5, 500);
INSERT INTO w VALUES (1, 1), (2, 2);
UPDATE a JOIN g ON g.id = a.x SET a.y = 'both', g.v = g.v + 1 WHERE a.id < 4;
SELECT * FROM a ORDER BY id;
SELECT * FROM g ORDER BY id;
UPDATE a JOIN g ON g.id = a.x SET a.y = CONCAT(g.t, '!'), g.v = a.id * 100 WHERE a.id = 4;
SELECT * FROM a ORDER BY id;
SELECT * FROM g ORDER BY id;
-- params: 2, 77
UPDATE a LEFT JOIN g ON g.id = a.x SET g.v = ?, a.y = 'left' WHERE a.id > ?;
-- params: 5, 77
UPDATE a LEFT JOIN g ON g.id = a.x SET g.v = ?, a.y = 'left' WHERE a.id IN (2, 6, 7, ?);
SELECT * FROM a ORDER BY id;
SELECT * FROM g ORDER BY id;
-- no warnings
UPDATE g JOIN h ON h.k = g.id JOIN a ON a.x = g.id SET g.v = 0, h.w = a.x + h.l WHERE a.id < 4;
SELECT * FROM g ORDER BY id;
SELECT * FROM h ORDER BY k, l;
-- text
UPDATE s JOIN g ON g.id = s.v JOIN a ON a.x = s.id SET s.v = s.v + 1, g.t = 'single', a.y = DEFAULT WHERE a.id IN (1, 2);
SELECT * FROM s ORDER BY id;
SELECT * FROM g ORDER BY id;
SELECT * FROM a ORDER BY id;
BEGIN;
DELETE a, g FROM a JOIN g ON g.id = a.x;
SELECT COUNT(*) FROM g;
ROLLBACK;
UPDATE a JOIN g ON g.id = a.x SET a.y = 'none', g.t = NULL WHERE a.id = 1000;
-- no warnings
UPDATE a JOIN g ON g.id = a.x SET a.y = 'same', g.id = 5 WHERE a.id = 2;
SELECT * FROM a ORDER BY id;
SELECT * FROM g ORDER BY id;
UPDATE g SET t = UUID() WHERE id IN (SELECT x FROM a);
SELECT COUNT(DISTINCT t), MIN(LENGTH(t)) FROM g;
UPDATE a JOIN g ON g.id = a.x SET a.y = 'uuid', g.t = UUID() WHERE a.id IN (1, 2, 3);
SELECT COUNT(DISTINCT t), MAX(LENGTH(t)) FROM g;
DELETE a, g FROM a JOIN g ON g.id = a.x WHERE a.id < 3;
SELECT id, x FROM a ORDER BY id;
SELECT id, v FROM g ORDER BY id;
DELETE a, g, h FROM a LEFT JOIN g ON g.id = a.x LEFT JOIN h ON h.k = g.id WHERE a.id IN (3, 6);
SELECT id, x FROM a ORDER BY id;
SELECT id, v FROM g ORDER BY id;
-- text
DELETE s, g FROM s JOIN g ON g.id = s.id;
SELECT * FROM s ORDER BY id;
SELECT id, v FROM g ORDER BY id;
-- refused: no primary key
DELETE a, w FROM a JOIN w ON w.k = a.x;
-- refused: A change of a shard key, of several tables
UPDATE a JOIN g ON g.id = a.x SET a.id = 100, g.v = 1;

## ORDER BY and LIMIT of an UPDATE of several tables
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
CREATE TABLE u (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4);
INSERT INTO u VALUES (1, 10), (2, 20), (3, 30), (4, 40);
-- mysql
UPDATE t JOIN u USING (id) SET t.v = u.v LIMIT 1;
-- mysql
UPDATE t, u SET t.v = u.v WHERE t.id = u.id ORDER BY t.id;
-- mysql
UPDATE t JOIN (SELECT 1 FROM u) AS one SET t.v = 5 ORDER BY t.id LIMIT 1;
SELECT * FROM t ORDER BY id;

## DELETE of a table that goes by another name
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
CREATE TABLE u (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4);
INSERT INTO u VALUES (1, 1), (2, 2);
DELETE t FROM t AS x, u AS y;
DELETE t FROM t AS x, u AS y WHERE x.id = y.id;
DELETE t, y FROM t AS x, u AS y WHERE x.a = y.a;
DELETE FROM t USING t AS x, u AS y WHERE x.a = y.a;
DELETE t FROM u AS y;
SELECT * FROM t ORDER BY id;
DELETE x FROM t AS x, u AS y WHERE x.a = y.a;
SELECT * FROM t ORDER BY id;
SELECT * FROM u ORDER BY id;

## DELETE from tables of several databases
CREATE DATABASE of_delete;
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
CREATE TABLE u (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
CREATE TABLE of_delete.t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
CREATE TABLE of_delete.v (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4);
INSERT INTO u SELECT * FROM t;
INSERT INTO of_delete.t SELECT * FROM t;
INSERT INTO of_delete.v SELECT * FROM t;
DELETE FROM of_delete.x USING t, of_delete.t x WHERE t.a = x.a;
DELETE FROM d.x USING t, of_delete.t x WHERE t.a = x.a;
DELETE FROM d.x USING t x, u WHERE x.a = u.a;
DELETE of_delete.v FROM of_delete.v AS v, t WHERE v.a = t.a;
DELETE v FROM of_delete.v, t WHERE v.a = t.a;
DELETE x FROM t AS x, u AS x WHERE x.a = 1;
DELETE t, t FROM t, u WHERE t.a = u.a;
DELETE t, d.t FROM t, u WHERE t.a = u.a;
DELETE t FROM of_delete.t, t WHERE t.id = of_delete.t.a + 3;
DELETE of_delete.t FROM of_delete.t, t WHERE of_delete.t.a = d.t.a AND d.t.a = 3;
DELETE t, of_delete.t FROM of_delete.t, t WHERE of_delete.t.a = d.t.a AND d.t.a = 2;
DELETE x FROM of_delete.v AS x, t WHERE x.a = t.a;
SELECT id FROM t ORDER BY id;
SELECT id FROM u ORDER BY id;
SELECT id FROM of_delete.t ORDER BY id;
SELECT id FROM of_delete.v ORDER BY id;
USE of_delete;
DELETE t FROM d.t, d.u AS x WHERE x.a = t.a;
DELETE v FROM v, d.t WHERE v.a = t.a + 1;
SELECT id FROM v ORDER BY id;
DROP DATABASE of_delete;
DELETE t FROM d.t, d.u AS x WHERE x.a = t.a;
DELETE x FROM d.t AS x, d.u WHERE x.a = u.a;
DELETE d.x FROM d.t AS x, d.u WHERE x.a = u.a;
DELETE d.t FROM d.t, d.u WHERE t.a = u.a;
SELECT id FROM d.t ORDER BY id;
