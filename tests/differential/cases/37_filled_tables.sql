# CREATE TABLE … SELECT of rows of several shards.

## definitions and rows
-- each place
-- = 
-- = /*weir: shard by hash(id) */
-- = /*weir: global */
-- = /*weir: single on shard '{s2}' */
CREATE TABLE a (id INT NOT NULL, x DECIMAL(10,2), y VARCHAR(10) COLLATE utf8mb4_bin, z DATETIME(3) DEFAULT '2020-01-01', e ENUM('p','q'), u BIGINT UNSIGNED NOT NULL DEFAULT 7, PRIMARY KEY (id)) /*weir: shard by hash(id) */;
CREATE TABLE b (id INT PRIMARY KEY, a_id INT, w TEXT) /*weir: shard by hash(id) */;
INSERT INTO a VALUES (1, 1.5, 'one', '2024-01-01 10:00:00.5', 'p', 1), (2, NULL, 'two', NULL, 'q', 2), (3, 3, NULL, '2024-03-01', NULL, 18446744073709551615), (4, 4, 'four', '2024-04-01', 'q', 4);
INSERT INTO b VALUES (1, 3, 'x'), (2, 1, 'y'), (3, 1, NULL), (4, 9, 'z');
CREATE TABLE c {place} SELECT * FROM a;
SHOW COLUMNS FROM c;
SELECT * FROM c ORDER BY id;
CREATE TABLE c {place} SELECT * FROM a;
CREATE TABLE IF NOT EXISTS c {place} SELECT * FROM b;
SELECT COUNT(*) FROM c;
CREATE TABLE d (n INT NOT NULL, id BIGINT NOT NULL, PRIMARY KEY (id), KEY (n)) {place} AS SELECT COUNT(*) AS n, a_id AS id, MAX(w) AS m, 1.5 AS k, 'text' AS t FROM b WHERE a_id IS NOT NULL GROUP BY a_id;
SHOW COLUMNS FROM d;
SELECT * FROM d ORDER BY id;
CREATE TABLE f {place} AS SELECT a.id, a.y, b.w FROM a LEFT JOIN b ON b.a_id = a.id ORDER BY a.id DESC LIMIT 3;
SHOW COLUMNS FROM f;
SELECT COUNT(*) FROM f;
CREATE TABLE g {place} (SELECT id, x FROM a WHERE id < 3) UNION (SELECT id, id * 1.25 FROM b);
SHOW COLUMNS FROM g;
SELECT * FROM g ORDER BY id, x;
CREATE TABLE h (id INT PRIMARY KEY, y VARCHAR(20)) {place} IGNORE SELECT a_id AS id, w AS y FROM b WHERE a_id IS NOT NULL AND (a_id > 1 OR w > '');
SELECT id FROM h ORDER BY id;
CREATE TABLE i {place} SELECT id, nothing FROM a;
CREATE TABLE i {place} SELECT id, 1 AS id FROM a;
SELECT * FROM i;
-- no warnings
CREATE TABLE j (id INT PRIMARY KEY) {place} SELECT 1 AS id, y FROM a;
SELECT * FROM j;
CREATE TABLE j {place} SELECT id FROM a WHERE id > 2;
SELECT * FROM j ORDER BY id;
DROP TABLE c, d, f, g;
SHOW TABLES;
CREATE TABLE k (PRIMARY KEY (id)) {place} AS SELECT 1 AS id, 'x' AS t;
SHOW COLUMNS FROM k;
-- other columns
SELECT * FROM k;
CREATE TABLE l (KEY (x), PRIMARY KEY (id)) {place} SELECT id + 10 AS id, x FROM a;
-- other columns
SELECT * FROM l ORDER BY id;
CREATE TABLE m (PRIMARY KEY (nothing)) {place} SELECT 1 AS id;

## in transactions
CREATE TABLE a (id INT PRIMARY KEY, x INT) /*weir: shard by hash(id) */;
INSERT INTO a VALUES (1, 1), (2, 2), (3, 3);
BEGIN;
INSERT INTO a VALUES (4, 4);
CREATE TABLE c AS SELECT id + 10 AS id, x FROM a;
ROLLBACK;
SELECT * FROM a ORDER BY id;
-- other columns
SELECT * FROM c ORDER BY id;
SELECT SUM(x), COUNT(*) FROM c;

## refused
CREATE TABLE a (id INT PRIMARY KEY, x INT) /*weir: shard by hash(id) */;
CREATE TABLE s (id INT PRIMARY KEY, x INT) /*weir: single on shard '{s1}' */;
CREATE TABLE t (id INT PRIMARY KEY, x INT) /*weir: single on shard '{s2}' */;
INSERT INTO a VALUES (1, 1), (2, 2);
SET @v = 5;
-- refused: values of the session
CREATE TABLE c AS SELECT id, @v AS v FROM a;
-- refused: parameters
-- binary
-- params: 1
CREATE TABLE c AS SELECT id FROM a WHERE id > ?;
-- refused: one shard
CREATE TABLE c AS SELECT s.id FROM s JOIN t ON s.id = t.id JOIN a ON a.id = s.id;
SHOW TABLES;

## without autocommit
CREATE TABLE a (id INT PRIMARY KEY, x INT) /*weir: shard by hash(id) */;
INSERT INTO a VALUES (1, 1), (2, 2), (3, 3), (4, 4);
SET autocommit = 0;
INSERT INTO a VALUES (5, 5);
# What is open is committed first, and the rows behind it.
CREATE TABLE c (PRIMARY KEY (id)) AS SELECT id, x FROM a;
SELECT ROW_COUNT();
ROLLBACK;
SELECT * FROM a ORDER BY id;
SELECT * FROM c ORDER BY id;
# It fails when it is filled: no table, and no transaction. MariaDB warns of it twice.
-- no warnings
CREATE TABLE d (x INT PRIMARY KEY) AS SELECT id, 1 AS x FROM a;
SHOW TABLES;
-- session: 1
SELECT COUNT(*) FROM c;
INSERT INTO c VALUES (6, 6);
SAVEPOINT s;
CREATE TABLE d AS SELECT c.id, a.x FROM a JOIN c ON a.id = c.id + 1;
ROLLBACK TO s;
ROLLBACK;
SELECT COUNT(*) FROM c;
SELECT * FROM d ORDER BY id;
DELETE FROM a;
ROLLBACK;
SELECT COUNT(*) FROM a;
BEGIN;
DELETE FROM d;
CREATE TABLE IF NOT EXISTS c AS SELECT id FROM a;
ROLLBACK;
SELECT COUNT(*) FROM d;
SET autocommit = 1;
