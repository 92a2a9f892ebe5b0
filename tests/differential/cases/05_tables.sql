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
