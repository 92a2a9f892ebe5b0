# What columns of derived tables are called, and what a name then means.

## a column of a derived table that has no alias, shown by a star where rows are compared
CREATE TABLE t (k INT PRIMARY KEY, v INT) /*weir: shard by hash(k) */;
CREATE TABLE s (k INT PRIMARY KEY, v INT) /*weir: shard by hash(k) */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 2), (5, NULL);
INSERT INTO s VALUES (1, 2), (2, 3), (6, 3);
SELECT DISTINCT * FROM (SELECT COUNT(*) FROM t GROUP BY k) AS d;
SELECT DISTINCT d.* FROM (SELECT v + 1 FROM t) AS d ORDER BY 1;
SELECT * FROM (SELECT v + 1 FROM t) AS d ORDER BY 1 LIMIT 2;
SELECT * FROM (SELECT v + 1, v FROM t) AS d GROUP BY 1, 2 ORDER BY 2;
SELECT *, COUNT(*) FROM (SELECT v + 1 FROM t) AS d GROUP BY 1 WITH ROLLUP;
SELECT DISTINCT * FROM (SELECT 'k' FROM t) AS d;
SELECT DISTINCT * FROM (SELECT * FROM (SELECT UPPER(v) FROM t) AS c) AS d ORDER BY 1;
SELECT * FROM (SELECT v + 1 FROM t) AS d UNION SELECT * FROM (SELECT v + 2 FROM s) AS e ORDER BY 1;
SELECT COUNT(*) FROM (SELECT k, v + 1 FROM t) AS d NATURAL JOIN (SELECT k, v + 2 FROM s) AS e;
SELECT `v + 1` FROM (SELECT v + 1 FROM t) AS d ORDER BY `v + 1`;
WITH d AS (SELECT MAX(v) FROM t GROUP BY k) SELECT DISTINCT * FROM d ORDER BY 1;

## a column that is called after a string, and has the name of a column around
CREATE TABLE t (k VARCHAR(10) PRIMARY KEY, v INT) /*weir: shard by hash(k) */;
CREATE TABLE s (a VARCHAR(10) PRIMARY KEY, v INT) /*weir: shard by hash(a) */;
INSERT INTO t VALUES ('k', 1), ('l', 2), ('m', 3), ('n', 4), ('o', 5), ('p', 6), ('q', 7), ('r', 8);
INSERT INTO s SELECT * FROM t;
SELECT k FROM t WHERE EXISTS (SELECT 1 FROM s JOIN (SELECT 'k') AS d WHERE s.a = k) ORDER BY k;
SELECT k FROM t WHERE EXISTS (SELECT 1 FROM s JOIN (SELECT "k") AS d WHERE s.a = k AND s.v < 3) ORDER BY k;
SELECT k FROM t WHERE EXISTS (SELECT 1 FROM s LEFT JOIN (SELECT 'k' UNION SELECT 'l') AS d ON TRUE WHERE s.a = k AND s.v = 1) ORDER BY k;
SELECT v FROM t WHERE t.k IN (SELECT k FROM (SELECT 'k') AS d) ORDER BY v;

## a name that is a column's and another column's alias, in aggregates with DISTINCT or an order
SET sql_mode = '';
CREATE TABLE t (k INT PRIMARY KEY, c INT, d INT) /*weir: shard by hash(k) */;
INSERT INTO t VALUES (1, NULL, 1), (2, 1, 1), (3, 1, 2), (4, 1, 3), (5, 1, 1), (6, 3, 2), (7, 4, 3), (8, 3, 2), (9, 3, 9), (10, 4, 0), (11, 4, 3), (12, 1, 3);
SELECT MAX(c) AS d, COUNT(DISTINCT d) FROM t;
SELECT COUNT(DISTINCT c) AS c, SUM(DISTINCT c) FROM t;
SELECT MIN(c) AS c, MAX(d) AS d, COUNT(DISTINCT c, d), COUNT(DISTINCT c + d) FROM t;
SELECT c, MIN(k) AS d, GROUP_CONCAT(d ORDER BY d DESC, k) FROM t GROUP BY c ORDER BY c;
SELECT c AS d, COUNT(DISTINCT d) FROM t GROUP BY c ORDER BY c;
SELECT c AS k, GROUP_CONCAT(d ORDER BY t.k) FROM t GROUP BY c ORDER BY c;
SELECT -c AS d, COUNT(DISTINCT d), SUM(DISTINCT d) FROM t GROUP BY c ORDER BY 1;
SELECT d % 2 AS c, COUNT(DISTINCT c) FROM t GROUP BY 1 ORDER BY 1;

## an alias in an aggregate of HAVING and ORDER BY
SET sql_mode = '';
CREATE TABLE t (k INT PRIMARY KEY, c INT, d INT) /*weir: shard by hash(k) */;
INSERT INTO t VALUES (1, NULL, 1), (2, 1, 1), (3, 1, 2), (4, 1, 3), (5, 1, 1), (6, 3, 2), (7, 4, 3);
SELECT d AS a FROM t GROUP BY d HAVING MAX(a) > 1 ORDER BY a;
SELECT d AS a FROM t GROUP BY d HAVING SUM(a) + a > 2 ORDER BY a;
SELECT d AS a, COUNT(*) FROM t GROUP BY d HAVING AVG(a) > 1 ORDER BY MAX(a) DESC;
SELECT d + 1 AS a, SUM(c) FROM t GROUP BY d HAVING SUM(a) = 5;
SELECT d AS a, SUM(a) FROM t GROUP BY d;
# MariaDB has no rows for it where it is prepared.
-- mysql
SELECT SUM(c) AS a FROM t GROUP BY d HAVING SUM(a) > 1;

## names in subqueries that are also aliases around them
-- text
SET sql_mode = '';
CREATE TABLE y (k INT PRIMARY KEY, v INT, w INT) /*weir: shard by hash(k) */;
INSERT INTO y VALUES (1, 1, 5), (2, 2, 4), (3, 3, 3), (4, 4, 2), (5, 5, 1);
CREATE TABLE g (id INT PRIMARY KEY, v INT, n INT) /*weir: global */;
INSERT INTO g VALUES (1, 3, 3), (2, 1, 1), (3, 2, 2), (4, 9, 9), (5, 0, 0);
SELECT w AS v FROM y ORDER BY v + (SELECT COUNT(v) FROM (SELECT 7 AS v) AS z), 1;
SELECT w AS v, k FROM y ORDER BY (SELECT v FROM g WHERE g.id = y.k), k;
SELECT w AS n, k FROM y ORDER BY (SELECT n FROM g WHERE g.id = y.k), k;
SELECT w AS v, k FROM y ORDER BY (SELECT MAX(v) FROM g WHERE g.id = y.k), k;
SELECT w AS v, SUM(DISTINCT (SELECT v FROM g WHERE g.id = y.k)) FROM y GROUP BY w ORDER BY 1;
SELECT w % 2 AS v, SUM(DISTINCT (SELECT v FROM g WHERE g.id = y.k)) FROM y GROUP BY 1 ORDER BY 1;
SELECT w % 2 AS v, SUM((SELECT v FROM g WHERE g.id = y.k)) FROM y GROUP BY 1 ORDER BY 1;
SELECT w % 2 AS v, AVG((SELECT v FROM g WHERE g.id = y.k)) FROM y GROUP BY 1 ORDER BY 1;
SELECT w % 2 AS v, COUNT(*) FROM y GROUP BY 1 HAVING SUM((SELECT v FROM g WHERE g.id = y.k)) > 5 ORDER BY 1;
SELECT w % 2 AS n, SUM(DISTINCT (SELECT n FROM g WHERE g.id = y.k)) FROM y GROUP BY 1 ORDER BY 1;
SELECT k FROM y GROUP BY k HAVING SUM(v) > 1 ORDER BY SUM(v) DESC LIMIT 2;
SELECT d.k FROM (SELECT k, 'lit', v FROM y) AS d WHERE d.k = 3;
SELECT d.k, g.n FROM (SELECT k, 'lit', v FROM y) AS d JOIN g ON g.id = d.k ORDER BY d.k;
SELECT * FROM (SELECT k, 'lit', v FROM y) AS d NATURAL JOIN (SELECT k, 'lit' FROM y) AS e ORDER BY 1, 2;
-- refused: An aggregate of the changed table's own columns
UPDATE y SET v = (SELECT MAX(y.v)) + 1 WHERE w > 1;
-- refused: An aggregate of the changed table's own columns
UPDATE y SET v = 100 ORDER BY (SELECT MAX(y.w)) LIMIT 2;
UPDATE y SET v = (SELECT MAX(g.v) FROM g) + 1 WHERE w > 3;
SELECT * FROM y ORDER BY k;
