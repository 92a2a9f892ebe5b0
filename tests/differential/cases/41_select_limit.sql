# sql_select_limit, as drivers set it (setMaxRows of JDBC): it cuts the client's result, and nothing that is read for it.

## queries under a limit
CREATE TABLE t (id INT PRIMARY KEY, v INT, w VARCHAR(10)) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'a'), (4, 40, 'b'), (5, 50, 'c'), (6, 60, 'd'), (7, 70, 'a');
SET sql_select_limit = 2;
SELECT id FROM t ORDER BY id;
SELECT id FROM t ORDER BY id LIMIT 4;
SELECT w, COUNT(*), SUM(v) FROM t GROUP BY w ORDER BY w;
SELECT w, COUNT(*), SUM(v) FROM t GROUP BY w ORDER BY w LIMIT 3;
SELECT w, SUM(v) / COUNT(*) + 1 FROM t GROUP BY w ORDER BY w;
SELECT COUNT(*) FROM t;
SELECT DISTINCT w FROM t ORDER BY w;
SELECT id FROM t WHERE id < 3 UNION ALL SELECT v FROM t WHERE v > 50 ORDER BY 1;
(SELECT id FROM t ORDER BY id LIMIT 3) UNION ALL (SELECT v FROM t ORDER BY v LIMIT 3) ORDER BY 1 LIMIT 5;
SELECT id FROM t WHERE id = 3;
SELECT @@sql_select_limit;
SELECT MAX(v), MIN(v), AVG(v) FROM t HAVING MAX(v) > 1;
-- params: 2
SELECT w, COUNT(*) FROM t WHERE id > ? GROUP BY w ORDER BY w;
SET sql_select_limit = DEFAULT;
SELECT w, COUNT(*) FROM t GROUP BY w ORDER BY w;

## no row at all
CREATE TABLE t (id INT PRIMARY KEY, v INT, w VARCHAR(10)) /*weir: shard by hash(id) */;
CREATE TABLE auto (id INT AUTO_INCREMENT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
SET sql_select_limit = 0;
SET @a = 5;
INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'a'), (4, 40, 'b');
INSERT INTO t VALUES (ABS(-5), 50, UPPER('c')), (2 + 4, 60, 'd');
INSERT INTO t (id, v) VALUES (@a + 2, 70);
INSERT INTO auto (v) VALUES (1), (2), (3);
SELECT id FROM t ORDER BY id;
SELECT COUNT(*) FROM t;
SELECT w, COUNT(*) FROM t GROUP BY w;
UPDATE t SET v = v + 1 WHERE id = ABS(-5);
UPDATE t SET id = id + 100 WHERE id < 3;
DELETE FROM t WHERE id = (SELECT 3);
SET @b = (SELECT 7);
SET sql_select_limit = DEFAULT;
SELECT @b;
SELECT id, v, w FROM t ORDER BY id;
SELECT v FROM auto ORDER BY v;
SELECT @a;

## writes read all that they need
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
CREATE TABLE u (id INT PRIMARY KEY, t_id INT) /*weir: shard by hash(id) */;
CREATE TABLE g (id INT PRIMARY KEY, v INT) /*weir: global */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40), (5, 50);
INSERT INTO u VALUES (1, 3), (2, 1), (3, 1), (4, 5);
SET sql_select_limit = 1;
INSERT INTO g SELECT id, v FROM t;
INSERT INTO u SELECT id + 10, id FROM t;
UPDATE t JOIN u ON u.t_id = t.id SET t.v = 0 WHERE u.id > 2;
DELETE FROM u WHERE t_id IN (SELECT id FROM t WHERE v = 0);
UPDATE t SET id = id + 100 WHERE v > 10;
CREATE TABLE made (id INT PRIMARY KEY, n INT) SELECT id, v AS n FROM t;
SET sql_select_limit = DEFAULT;
SELECT * FROM g ORDER BY id;
SELECT * FROM u ORDER BY id;
SELECT * FROM t ORDER BY id;
SELECT COUNT(*) FROM made;

## the session keeps it
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40), (5, 50);
SET sql_select_limit = 3;
SELECT v, COUNT(*) FROM t GROUP BY v ORDER BY v;
SELECT id FROM t WHERE no_such_column > 1 GROUP BY id;
SELECT @@sql_select_limit;
BEGIN;
SELECT v, COUNT(*) FROM t GROUP BY v ORDER BY v;
UPDATE t SET v = v + 1;
SELECT v, COUNT(*) FROM t GROUP BY v ORDER BY v;
SELECT id FROM t ORDER BY id;
COMMIT;
SELECT @@sql_select_limit;

## what Weir asks itself
CREATE TABLE t (id INT PRIMARY KEY, v INT, w VARCHAR(10) COLLATE utf8mb4_general_ci, at DATETIME(6) NULL) /*weir: shard by hash(id) */;
INSERT INTO t (id, v, w) VALUES (1, 10, 'a'), (2, 20, 'A '), (3, 30, 'b');
SET sql_select_limit = 0;
SET @x = 2, @s = 'UPDATE t SET v = v + 1';
UPDATE t SET v = @x * v WHERE id = @x;
PREPARE s FROM @s;
EXECUTE s;
DEALLOCATE PREPARE s;
SELECT w, COUNT(*) FROM t GROUP BY w ORDER BY w;
UPDATE t SET at = NOW(6);
ALTER TABLE t ADD COLUMN n INT NOT NULL DEFAULT 4;
CREATE TABLE other (id INT PRIMARY KEY, w VARCHAR(20)) /*weir: shard by hash(id) */;
INSERT INTO other SELECT id, w FROM t;
DROP TABLE other;
SET sql_select_limit = DEFAULT;
SELECT id, v, w, n, COUNT(DISTINCT at) FROM t GROUP BY id, v, w, n ORDER BY id;
SELECT COUNT(DISTINCT at) FROM t;

## SET STATEMENT and the limit
CREATE TABLE t (id INT PRIMARY KEY, v INT, w VARCHAR(10)) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'a'), (4, 40, 'b'), (5, 50, 'c'), (6, 60, 'd'), (7, 70, 'a');
-- mariadb
SET STATEMENT sql_select_limit = 3 FOR SELECT id FROM t ORDER BY id;
-- mariadb
SET STATEMENT SQL_SELECT_LIMIT=4 FOR SELECT id FROM t ORDER BY id;
-- mariadb
SET STATEMENT sql_select_limit = 0 FOR SELECT id FROM t ORDER BY id;
-- mariadb
SET STATEMENT sql_select_limit = 2, max_statement_time = 100 FOR SELECT id, v FROM t WHERE v > 10 ORDER BY v DESC;
-- mariadb
SET STATEMENT sql_select_limit = 2 FOR SELECT id FROM t ORDER BY id LIMIT 5;
-- mariadb
-- refused: SET STATEMENT
SET STATEMENT sql_select_limit = 2 FOR SELECT DISTINCT w FROM t ORDER BY w;
-- mariadb
SET STATEMENT sql_select_limit = 2 FOR SELECT id FROM t WHERE id = 3;
-- mariadb
-- refused: SET STATEMENT
SET STATEMENT sql_select_limit = 2 FOR SELECT w, COUNT(*) FROM t GROUP BY w ORDER BY w;
SET sql_select_limit = 2;
-- mariadb
SET STATEMENT max_statement_time = 100 FOR SELECT id FROM t ORDER BY id;
-- mariadb
SET STATEMENT max_statement_time = 100 FOR SELECT w, COUNT(*) FROM t GROUP BY w ORDER BY w;
-- mariadb
SET STATEMENT max_statement_time = 100 FOR SELECT id FROM t ORDER BY id LIMIT 4;
-- mariadb
SET STATEMENT sql_select_limit = 4 FOR SELECT id FROM t ORDER BY id;
SELECT id FROM t ORDER BY id;

## the limit is not about what is done to tables
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
CREATE TABLE g (id INT PRIMARY KEY, v INT) /*weir: global */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30);
INSERT INTO g VALUES (1, 10), (2, 20), (3, 30);
SET sql_select_limit = 1;
-- no warnings
ANALYZE TABLE t, g;
CHECK TABLE g, t;
CHECKSUM TABLE t, g;
FLUSH TABLES t, g;
-- weir
SHOW CREATE TABLE t;
-- weir
SHOW CREATE DATABASE d;
-- mysql
SHOW GRANTS;
SELECT id FROM t ORDER BY id;
