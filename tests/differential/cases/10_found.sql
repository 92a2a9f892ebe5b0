# Differences that the generator has found.

## a prepared statement for another shard than that of its transaction
CREATE TABLE c (k INT PRIMARY KEY, v INT) /*weir: shard by hash(k) */;
CREATE TABLE s (k INT PRIMARY KEY, v INT) /*weir: single on shard '{s2}' */;
CREATE TABLE r (k INT PRIMARY KEY, v INT) /*weir: single on shard '{s1}' */;
BEGIN;
-- params: 1, 5
INSERT INTO c VALUES (?, ?);
-- params: 1, 5
INSERT INTO s VALUES (?, ?);
-- params: 2, 6
INSERT INTO r VALUES (?, ?);
-- params: 1
SELECT * FROM s WHERE k = ?;
-- params: 2
SELECT * FROM r WHERE k = ?;
COMMIT;
SELECT * FROM s ORDER BY k;
SELECT * FROM r ORDER BY k;

## INSERT … SELECT into one shard that fails
CREATE TABLE a (k INT PRIMARY KEY, n INT) /*weir: shard by hash(k) */;
CREATE TABLE s (k INT PRIMARY KEY, v INT) /*weir: single */;
INSERT INTO a VALUES (1, 1), (2, 1), (3, 1), (4, 1), (5, 1);
INSERT INTO s SELECT n, k FROM a ORDER BY k;
SELECT COUNT(*) FROM s;
INSERT INTO s SELECT k, n FROM a ORDER BY k;
SELECT * FROM s ORDER BY k;
INSERT INTO s SELECT k, n FROM a ORDER BY k;
BEGIN;
INSERT INTO s SELECT k, n FROM a ORDER BY k;
INSERT INTO s SELECT k + 10, n FROM a;
COMMIT;
SELECT * FROM s ORDER BY k;

## groups and windows by the key of a table that may have no row
CREATE TABLE a (k INT PRIMARY KEY, v INT) /*weir: shard by hash(k) */;
CREATE TABLE b (k INT PRIMARY KEY, w INT) /*weir: shard by hash(k) */;
INSERT INTO a VALUES (1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (6, 3), (7, 4), (8, 4);
INSERT INTO b VALUES (1, 10), (4, 40), (9, 90);
SELECT b.k, COUNT(*) FROM a LEFT JOIN b ON a.k = b.k GROUP BY b.k;
SELECT b.k, COUNT(*), SUM(a.v) FROM b RIGHT JOIN a ON a.k = b.k GROUP BY b.k ORDER BY b.k;
SELECT DISTINCT b.k FROM a LEFT JOIN b ON a.k = b.k ORDER BY b.k;
SELECT a.k, COUNT(*) FROM a LEFT JOIN b ON a.k = b.k GROUP BY a.k ORDER BY a.k;
SELECT k, COUNT(*) FROM a LEFT JOIN b USING (k) GROUP BY k ORDER BY k;
SELECT k, COUNT(*) FROM b RIGHT JOIN a USING (k) GROUP BY k ORDER BY k;
SELECT k, COUNT(*) FROM b LEFT JOIN a USING (k) GROUP BY k ORDER BY k;
SELECT DISTINCT k FROM b RIGHT JOIN a USING (k) ORDER BY k;
SELECT COUNT(DISTINCT b.k) FROM a LEFT JOIN b ON a.k = b.k;
SELECT b.k, COUNT(DISTINCT a.v) FROM a LEFT JOIN b ON a.k = b.k GROUP BY b.k ORDER BY b.k;
-- gathered
SELECT a.k, ROW_NUMBER() OVER (PARTITION BY b.k ORDER BY a.k) FROM a LEFT JOIN b ON a.k = b.k ORDER BY a.k;
SELECT a.k, ROW_NUMBER() OVER (PARTITION BY a.k ORDER BY b.k) AS n FROM a LEFT JOIN b ON a.k = b.k ORDER BY a.k;
-- gathered
SELECT q.k, q.n FROM (SELECT b.k, COUNT(*) AS n FROM a LEFT JOIN b ON a.k = b.k GROUP BY b.k) AS q ORDER BY q.k;
-- gathered
SELECT q.k FROM (SELECT DISTINCT b.k FROM a LEFT JOIN b ON a.k = b.k) AS q ORDER BY q.k;

## INSERT … SELECT without rows
CREATE TABLE a (k INT PRIMARY KEY, n INT) /*weir: shard by hash(k) */;
CREATE TABLE g (k INT PRIMARY KEY, n INT) /*weir: global */;
CREATE TABLE s (k INT PRIMARY KEY, n INT) /*weir: single */;
INSERT INTO s SELECT * FROM a;
INSERT INTO g SELECT n, k FROM a;
REPLACE INTO a SELECT n, k FROM s;
REPLACE INTO a SELECT n, k FROM a WHERE n > 7;
SELECT COUNT(*) FROM s;

## UNLOCK TABLES without locks ends no transaction
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3);
START TRANSACTION WITH CONSISTENT SNAPSHOT;
UNLOCK TABLES;
SAVEPOINT sp;
UPDATE t SET v = v + 1;
SELECT * FROM t ORDER BY id;
ROLLBACK TO SAVEPOINT sp;
SELECT * FROM t ORDER BY id;
UNLOCK TABLES;
UPDATE t SET v = v + 10;
ROLLBACK;
SELECT * FROM t ORDER BY id;

## a statement is prepared for another shard than the session is bound to
CREATE TABLE here (id INT PRIMARY KEY, v INT) /*weir: single on shard '{s1}' */;
CREATE TABLE there (id INT PRIMARY KEY, v INT) /*weir: single on shard '{s2}' */;
INSERT INTO here VALUES (1, 10);
INSERT INTO there VALUES (1, 20);
# MariaDB says of it, prepared, that the session's state has changed.
ANALYZE TABLE nowhere;
SELECT * FROM there;
SELECT @v := MAX(v) FROM here;
SELECT id, v FROM there WHERE v > @v;
INSERT INTO there VALUES (2, @v);
SELECT * FROM there ORDER BY id;

## a write that reads a view of another shard's table is prepared there
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
CREATE TABLE s (id INT PRIMARY KEY, v INT) /*weir: single on shard '{s2}' */;
INSERT INTO s VALUES (1, 10), (2, 20), (3, 1);
CREATE VIEW vs AS SELECT id, v FROM s WHERE v > 3;
-- params: 10
INSERT INTO t SELECT id, v FROM vs WHERE v >= ? ORDER BY id;
SELECT * FROM t ORDER BY id;
SELECT * FROM vs ORDER BY id;

## DISTINCT with the shard key, sorted by what is not selected
CREATE TABLE t (id INT, n INT, a INT, b VARCHAR(9), PRIMARY KEY (id, n)) /*weir: shard by hash(id) */;
CREATE TABLE u (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1, 9, 'a'), (1, 2, 8, 'A'), (2, 3, 7, 'b'), (2, 4, 7, 'B'), (3, 9, 7, 'c'), (4, 0, 6, 'd');
INSERT INTO u VALUES (1, 1), (2, 2), (3, 3);
# MySQL refuses it (3065), MariaDB gives each id once.
SELECT DISTINCT id FROM t ORDER BY n;
SELECT DISTINCT id, a FROM t ORDER BY -n;
SELECT DISTINCT t.id FROM t JOIN u ON u.id = t.id ORDER BY t.n;
SELECT DISTINCT id, b FROM t ORDER BY BINARY b, id;
SELECT DISTINCT id, b FROM t ORDER BY id + 1;
SELECT DISTINCT id FROM t ORDER BY id DESC LIMIT 2;
SELECT DISTINCT id, n FROM t ORDER BY n, id LIMIT 2, 2;
SET sql_mode = '';
SELECT DISTINCT id FROM t WHERE id > 2 ORDER BY n;

## ANY_VALUE is a function of each row
CREATE TABLE t (id INT PRIMARY KEY, g INT, a INT, d VARCHAR(9)) /*weir: shard by hash(id) */;
CREATE TABLE u (id INT PRIMARY KEY, g INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1, 10, 'x'), (2, 1, 10, 'x'), (3, 2, 20, 'y'), (4, 2, 20, 'y'), (5, NULL, NULL, NULL);
INSERT INTO u VALUES (1, 2), (2, 1), (3, 1);
-- mysql
SELECT g, ANY_VALUE(d) FROM t GROUP BY g ORDER BY g;
-- mysql
SELECT g, ANY_VALUE(a), COUNT(*), ANY_VALUE(a) + COUNT(*), CONCAT(ANY_VALUE(d), '!') FROM t GROUP BY g ORDER BY g;
-- mysql
SELECT ANY_VALUE(d), ANY_VALUE(a) + 1 FROM t ORDER BY id;
-- mysql
SELECT id FROM t WHERE ANY_VALUE(a) > 10 ORDER BY ANY_VALUE(d), id;
-- mysql
SELECT ANY_VALUE(t.d) AS d, u.id FROM t JOIN u ON u.g = t.g ORDER BY t.id, u.id;
-- mysql
SELECT u.g, ANY_VALUE(t.d), COUNT(*) FROM t JOIN u ON u.g = t.g GROUP BY u.g ORDER BY ANY_VALUE(t.d) DESC;
-- mysql
SELECT ANY_VALUE(a), COUNT(*) FROM t WHERE g = 2;
-- mysql
SELECT ANY_VALUE(a), COUNT(*) FROM t WHERE id = 3 OR id = 30;
-- mysql
SELECT ANY_VALUE(a), COUNT(*) FROM t WHERE id > 100;
-- mysql
SELECT g, ANY_VALUE(a) AS a FROM t GROUP BY g HAVING ANY_VALUE(a) > 10 OR a IS NULL ORDER BY a;
-- mysql
SELECT g, ANY_VALUE(g), SUM(a) FROM t GROUP BY g WITH ROLLUP;
-- mysql
SELECT DISTINCT ANY_VALUE(d) FROM t ORDER BY 1;
-- mysql
SELECT MAX(ANY_VALUE(a)), ANY_VALUE(MAX(a)) FROM t;
-- mysql
SELECT g, (SELECT MAX(x.id) FROM u x WHERE x.g = ANY_VALUE(t.g)) AS m FROM t GROUP BY g ORDER BY g;
-- mysql
SELECT n FROM (SELECT ANY_VALUE(a) AS n, id FROM t) AS q ORDER BY id;
-- mysql
UPDATE t SET a = ANY_VALUE(a) + 1 WHERE ANY_VALUE(g) = 1;
-- mysql
INSERT INTO u SELECT ANY_VALUE(id) + 10, g FROM t WHERE g IS NOT NULL;
SELECT * FROM u ORDER BY id;
-- mariadb
SELECT ANY_VALUE(d) FROM t WHERE id = 1;

## writes that read a JSON_TABLE
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
CREATE TABLE u (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
CREATE VIEW w AS SELECT id AS n, v FROM u;
INSERT INTO t SELECT x, x + 1 FROM JSON_TABLE('[{"x":1},{"x":2},{"x":3},{"x":4}]', '$[*]' COLUMNS (x INT PATH '$.x')) AS j;
INSERT INTO u (v, id) SELECT j.x, t.id FROM t JOIN JSON_TABLE('[{"x":1},{"x":2},{"x":3}]', '$[*]' COLUMNS (x INT PATH '$.x')) AS j ON j.x = t.id;
INSERT INTO t SELECT q.id + 10, j.x FROM (SELECT id FROM u) AS q JOIN JSON_TABLE('[{"x":1},{"x":2}]', '$[*]' COLUMNS (x INT PATH '$.x')) AS j ON j.x = q.id;
INSERT INTO t SELECT w.n + 20, j.x FROM (u AS `a b` JOIN w ON w.n = `a b`.id), JSON_TABLE('[{"x":1},{"x":2}]', '$[*]' COLUMNS (x INT PATH '$.x')) AS j WHERE j.x = w.v;
INSERT INTO t WITH c AS (SELECT id FROM u) SELECT c.id + 30, j.x FROM c JOIN JSON_TABLE('[{"x":3}]', '$[*]' COLUMNS (x INT PATH '$.x')) AS j ON j.x = c.id;
SELECT * FROM t ORDER BY id;
UPDATE t JOIN u ON u.v = t.id JOIN JSON_TABLE('[{"x":1},{"x":2}]', '$[*]' COLUMNS (x INT PATH '$.x')) AS j ON j.x = u.v SET t.v = t.v + 100;
DELETE u FROM t JOIN u ON u.v = t.id JOIN JSON_TABLE('[{"x":1},{"x":3}]', '$[*]' COLUMNS (x INT PATH '$.x')) AS j ON j.x = t.id;
UPDATE t, JSON_TABLE('[{"x":3}]', '$[*]' COLUMNS (x INT PATH '$.x')) AS j SET t.v = 5 WHERE t.id = j.x;
SELECT * FROM t ORDER BY id;
SELECT * FROM u ORDER BY id;
CREATE TABLE made (PRIMARY KEY (id)) SELECT t.id, j.x FROM t JOIN JSON_TABLE('[{"x":1},{"x":2}]', '$[*]' COLUMNS (x INT PATH '$.x')) AS j ON j.x = t.id;
SELECT * FROM made ORDER BY id;

## numbers with minus signs in ORDER BY and GROUP BY, in which MariaDB sees places
CREATE TABLE t (id INT PRIMARY KEY, g INT, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1, 60), (2, 1, 40), (3, 2, 50), (4, 2, 20), (5, 3, 30), (6, 3, 10);
-- mariadb
SELECT g, COUNT(*) FROM t GROUP BY g, -1;
-- mariadb
SELECT g, COUNT(*) FROM t GROUP BY g, -TRUE;
-- mariadb
SELECT g, COUNT(*) FROM t GROUP BY g ORDER BY -(1);
-- mariadb
SELECT g, COUNT(*) FROM t GROUP BY g, - -99;
-- mariadb
SELECT g FROM t GROUP BY g ORDER BY +-1 DESC;
-- mariadb
SELECT id FROM t ORDER BY -1;
-- mariadb
SELECT id, v FROM t ORDER BY - -2;
-- mariadb
SELECT v, id FROM t ORDER BY -(-TRUE) DESC LIMIT 4;
-- mariadb
SELECT g, SUM(v) FROM t GROUP BY - -1;
-- mariadb
SELECT g, COUNT(*) FROM t GROUP BY g, -'1', -1.0;
-- mariadb
SELECT g, COUNT(*) FROM t GROUP BY g, -99999999999999999999;
-- mysql
SELECT g, COUNT(*) FROM t GROUP BY g, -1, - -99 ORDER BY -1, g;

## an empty grouping set
CREATE TABLE t (id INT PRIMARY KEY, g INT, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1, 60), (2, 1, 40), (3, 2, 50);
-- mysql
SELECT 1 AS x GROUP BY GROUPING SETS (());
-- mysql
SELECT SUM(v), COUNT(*) FROM (SELECT 1 AS g, 2 AS v UNION ALL SELECT 3, 4) AS q GROUP BY GROUPING SETS (());
-- mysql
SELECT g, SUM(v) FROM (SELECT 1 AS g, 2 AS v UNION ALL SELECT 3, 4) AS q GROUP BY GROUPING SETS ((g), ());
-- mysql
SELECT g, SUM(v) FROM t GROUP BY GROUPING SETS ((g), (), ());
-- mysql
SELECT SUM(v), COUNT(*) FROM t GROUP BY GROUPING SETS (());
-- mysql
SELECT SUM(v), COUNT(*) FROM t WHERE id > 7 GROUP BY GROUPING SETS (());
-- mysql
SELECT v FROM t GROUP BY GROUPING SETS (());

## common tables that are written again more than 128 times
CREATE TABLE t (id INT PRIMARY KEY, v INT, w INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1, 4), (2, 2, 3), (3, 3, 2), (4, 4, 1), (5, 4, 4);
WITH a AS (SELECT x.v FROM t x JOIN t y ON x.v = y.w JOIN t z ON z.v = y.v AND z.w > 1), b AS (SELECT v FROM a UNION ALL SELECT v + 1 FROM a UNION ALL SELECT v + 2 FROM a UNION ALL SELECT MAX(v) FROM a), c AS (SELECT COUNT(*) AS n, SUM(v) AS s FROM b UNION ALL SELECT MAX(v), MIN(v) FROM b UNION ALL SELECT v, v FROM b WHERE v > 3) SELECT n, s FROM c UNION ALL SELECT n + 1, s FROM c UNION ALL SELECT n, s + 1 FROM c UNION ALL SELECT SUM(n), SUM(s) FROM c ORDER BY n, s;
