# Definitions, and what is told of tables.

## CREATE, ALTER, DROP
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(10)) /*weir: shard by hash(id) */;
CREATE TABLE t (id INT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY);
INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c');
ALTER TABLE t ADD COLUMN n INT DEFAULT 5;
SELECT * FROM t ORDER BY id;
ALTER TABLE t ADD INDEX (v), MODIFY n BIGINT;
CREATE INDEX i ON t (n);
DROP INDEX i ON t;
SHOW INDEX FROM t WHERE Key_name = 'none';
DESCRIBE t;
SHOW COLUMNS FROM t;
SHOW TABLES;
SHOW FULL TABLES;
SHOW TABLES LIKE 't%';
RENAME TABLE t TO u;
SELECT * FROM u ORDER BY id;
SELECT * FROM t;
ALTER TABLE u RENAME TO t;
TRUNCATE TABLE t;
SELECT COUNT(*) FROM t;
CREATE TABLE k LIKE t;
INSERT INTO k VALUES (1, 'x', 1), (2, 'y', 2);
SELECT * FROM k ORDER BY id;
DROP TABLE t, k;
DROP TABLE t;
DROP TABLE IF EXISTS t;
SHOW TABLES;
CREATE TABLE bad (id INT PRIMARY KEY, id INT);
CREATE TABLE bad (id NONSENSE);
ALTER TABLE nowhere ADD COLUMN x INT;

## IF NOT EXISTS with warnings about something else
CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY, v VARCHAR(10), KEY a (v), KEY b (v)) /*weir: shard by hash(id) */;
SHOW WARNINGS;
INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd');
ALTER TABLE t ADD COLUMN n INT DEFAULT 5;
SELECT * FROM t ORDER BY id;
CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY, v VARCHAR(10), KEY a (v), KEY b (v)) /*weir: shard by hash(id) */;
SHOW WARNINGS;
CREATE TABLE IF NOT EXISTS g (id INT PRIMARY KEY, v VARCHAR(10), KEY a (v), KEY b (v)) /*weir: global */;
INSERT INTO g VALUES (1, 'a');
ALTER TABLE g ADD COLUMN n INT DEFAULT 5;
SELECT g.n, t.v FROM t JOIN g ORDER BY t.id;
CREATE TABLE IF NOT EXISTS s (id INT PRIMARY KEY, v VARCHAR(10), KEY a (v), KEY b (v)) /*weir: single on shard '{s2}' */;
ALTER TABLE s ADD COLUMN n INT DEFAULT 5;
DROP TABLE t, g, s;
-- text
CREATE DATABASE IF NOT EXISTS d2 CHARACTER SET utf8mb3;
CREATE DATABASE IF NOT EXISTS d2;
CREATE TABLE d2.t (id INT PRIMARY KEY) /*weir: shard by hash(id) */;
INSERT INTO d2.t VALUES (1), (2), (3);
ALTER TABLE d2.t ADD COLUMN n INT DEFAULT 5;
SELECT * FROM d2.t ORDER BY id;
DROP DATABASE d2;

## information_schema joined with tables that one shard has whole
CREATE TABLE a (name VARCHAR(20), kind VARCHAR(10)) /*weir: single on shard '{s2}' */;
CREATE TABLE g (name VARCHAR(20) PRIMARY KEY) /*weir: global */;
CREATE TABLE h (k INT PRIMARY KEY) /*weir: shard by hash(k) */;
CREATE TABLE b (x INT) /*weir: single on shard '{s1}' */;
CREATE VIEW v AS SELECT * FROM a;
CREATE VIEW w AS SELECT k FROM h;
INSERT INTO a VALUES ('a', 'table'), ('b', 'table'), ('h', 'table'), ('v', 'view'), ('x', 'view');
INSERT INTO g VALUES ('a'), ('b'), ('v');
INSERT INTO h VALUES (1), (2), (3), (4), (5), (6), (7), (8);
-- other types
SELECT a.name, t.table_name AS n FROM a LEFT JOIN information_schema.tables t ON t.table_schema = 'd' AND t.table_name = a.name ORDER BY 1;
-- other types
SELECT a.name, v.check_option AS c FROM a JOIN information_schema.views v ON v.table_schema = 'd' AND v.table_name = a.name ORDER BY 1;
-- other types
SELECT g.name, t.table_name AS n FROM g JOIN information_schema.tables t ON t.table_schema = 'd' AND t.table_name = g.name ORDER BY 1;
-- other types
SELECT g.name, a.kind, c.column_name AS c FROM g JOIN a USING (name) JOIN information_schema.columns c ON c.table_schema = 'd' AND c.table_name = g.name ORDER BY 1, 3;
-- other types
SELECT v.name, t.table_name AS n FROM v JOIN information_schema.tables t ON t.table_schema = 'd' AND t.table_name = v.name ORDER BY 1;
START TRANSACTION;
INSERT INTO a VALUES ('g', 'table');
-- other types
SELECT a.name FROM a JOIN information_schema.tables t ON t.table_schema = 'd' AND t.table_name = a.name ORDER BY 1;
ROLLBACK;
-- refused: beside tables that one shard has whole
SELECT COUNT(*) FROM w JOIN information_schema.tables t ON t.table_schema = 'd' AND t.table_name = 'b';
-- refused: beside tables that one shard has whole
SELECT COUNT(*) FROM h JOIN information_schema.tables t ON t.table_schema = 'd' AND t.table_name = 'b';
DROP VIEW v, w;
DROP TABLE a, g, h, b;

## views
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30);
CREATE VIEW v AS SELECT id, a FROM t WHERE a > 10;
SELECT * FROM v ORDER BY id;
SELECT * FROM v WHERE id = 2;
DROP VIEW v;
SELECT * FROM v;

## keys that can't be checked
-- refused: UNIQUE UNCHECKED
CREATE TABLE bad (id INT PRIMARY KEY, e VARCHAR(20) UNIQUE) /*weir: shard by hash(id) */;
-- refused:
CREATE TABLE bad (id DOUBLE PRIMARY KEY) /*weir: shard by hash(id) */;

## partitions by the hash of an expression are within each shard
CREATE TABLE e (c VARCHAR(10), d DATETIME) PARTITION BY HASH(MONTH(d)) PARTITIONS 6;
CREATE TABLE h (a INT, b INT, PRIMARY KEY (a, b)) PARTITION BY HASH(a + b) PARTITIONS 3;
CREATE TABLE l (a INT PRIMARY KEY, b INT) PARTITION BY LINEAR HASH(a) PARTITIONS 3;
INSERT INTO e VALUES ('x', '2024-01-05'), ('y', '2024-06-05');
INSERT INTO h VALUES (1, 1), (2, 1), (3, 9), (4, 4);
INSERT INTO l VALUES (1, 1), (2, 1), (3, 9), (4, 4);
SELECT * FROM e WHERE d < '2024-02-01';
SELECT * FROM h ORDER BY a;
SELECT h.a, l.b FROM h JOIN l USING (a) WHERE h.a > 1 ORDER BY h.a;
SELECT table_name, COUNT(*) FROM information_schema.partitions WHERE table_schema = 'd' AND table_name IN ('e', 'h') AND partition_name IS NOT NULL GROUP BY table_name ORDER BY 1;

## The rows that ALTER TABLE has copied are those of all shards
CREATE TABLE t (id INT PRIMARY KEY, n INT, v VARCHAR(20)) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c'), (4, 4, 'd'), (5, 5, 'e');
ALTER TABLE t MODIFY n DECIMAL(12,2);
ALTER TABLE t ADD KEY (n);
ALTER TABLE t MODIFY v CHAR(30), DROP KEY n;
CREATE TABLE g (id INT PRIMARY KEY, n INT) /*weir: global */;
INSERT INTO g VALUES (1, 1), (2, 2);
ALTER TABLE g MODIFY n DECIMAL(12,2);
SELECT SUM(n) FROM t;

## CREATE OR REPLACE TABLE on other shards
-- mariadb
CREATE TABLE a (id INT PRIMARY KEY, k INT) /*weir: shard by hash(id) */;
-- mariadb
CREATE TABLE b (id INT, k INT) /*weir: single on shard '{s2}' */;
-- mariadb
INSERT INTO a VALUES (1, 1), (2, 2), (3, 3), (4, 4);
-- mariadb
INSERT INTO b VALUES (7, 7);
-- mariadb
CREATE OR REPLACE TABLE b (id INT PRIMARY KEY, t VARCHAR(10)) /*weir: shard by hash(id) */;
-- mariadb
INSERT INTO b VALUES (1, 'a'), (2, 'b'), (3, 'c');
-- mariadb
SELECT * FROM b ORDER BY id;
-- mariadb
CREATE OR REPLACE TABLE b AS SELECT id + 10 AS id, k FROM a;
-- other columns
-- mariadb
SELECT * FROM b ORDER BY id;
-- mariadb
CREATE OR REPLACE TABLE b (n INT) /*weir: single on shard '{s1}' */;
-- mariadb
SELECT * FROM b;
-- mariadb
CREATE OR REPLACE TABLE b (PRIMARY KEY (id)) /*weir: global */ AS SELECT id, k FROM a WHERE id < 3;
-- other columns
-- mariadb
SELECT * FROM b ORDER BY id;
-- mariadb
-- refused: is not SINGLE
CREATE OR REPLACE TABLE a (id INT) /*weir: global */ AS SELECT id FROM a;
-- mariadb
SELECT COUNT(*) FROM a;
-- mariadb
CREATE TABLE x (id INT PRIMARY KEY) /*weir: shard by hash(id) */;
-- mariadb
CREATE OR REPLACE TABLE x (n INT, n INT) /*weir: single on shard '{s2}' */;
-- mariadb
SELECT * FROM x;
-- mariadb
CREATE OR REPLACE TABLE x (id INT PRIMARY KEY) /*weir: shard by hash(id) */;
-- mariadb
CREATE OR REPLACE TABLE x (n INT, KEY (nothing)) /*weir: single on shard '{s2}' */;
-- mariadb
SELECT * FROM x;
-- mariadb
CREATE OR REPLACE TABLE x (id INT PRIMARY KEY) /*weir: shard by hash(id) */;
-- mariadb
CREATE OR REPLACE TABLE x (n INT DEFAULT 'abc') /*weir: single on shard '{s2}' */;
-- mariadb
SELECT * FROM x;
-- mariadb
CREATE OR REPLACE TABLE x (id INT PRIMARY KEY) /*weir: shard by hash(id) */;
-- mariadb
-- refused: OR REPLACE
CREATE OR REPLACE TABLE x (n VARCHAR(99999) CHARACTER SET latin1 NOT NULL, KEY (n), v INT GENERATED ALWAYS AS (q + 1)) /*weir: single on shard '{s2}' */;
-- mariadb
SELECT * FROM x;
-- mariadb
CREATE OR REPLACE TABLE x (id INT PRIMARY KEY) /*weir: shard by hash(id) */;
-- mariadb
-- refused: OR REPLACE
CREATE OR REPLACE TABLE x (n INT) ENGINE = nothing /*weir: single on shard '{s2}' */;
-- mariadb
SELECT * FROM x;
-- mariadb
CREATE OR REPLACE TABLE x (id INT PRIMARY KEY) /*weir: shard by hash(id) */;
-- mariadb
CREATE OR REPLACE TABLE x AS SELECT nothing FROM b;
-- mariadb
SELECT * FROM x;
-- mariadb
CREATE OR REPLACE TABLE x (id INT PRIMARY KEY) /*weir: shard by hash(id) */;
-- mariadb
CREATE OR REPLACE TABLE x (id INT) /*weir: single on shard '{s2}' */ AS SELECT 1 AS id UNION SELECT JSON_VALUE('[', 1, 2);
-- mariadb
SELECT * FROM x;
-- mariadb
SHOW TABLES;
