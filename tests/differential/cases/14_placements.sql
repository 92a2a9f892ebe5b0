# What is asked of tables of each placement.

## statements of upkeep
-- each place
-- = shard by hash(k)
-- = shard by range(k) ({s1} values less than (3), {s2} values less than (6), {s3} values less than (9), {s4} values less than maxvalue)
-- = shard by list(k) ({s1} values in (1, 2), {s2} values in (3, 4), {s3} values in (5), {s4} default)
-- = global
-- = single
-- = single on shard '{s2}'
CREATE TABLE t (k INT PRIMARY KEY, v VARCHAR(20), n DECIMAL(10,2), KEY by_v (v), KEY by_both (n, v)) /*weir: {place} */;
INSERT INTO t VALUES (1, 'a', 1.5), (2, 'b', 2.5), (3, 'c', NULL), (4, NULL, 4), (5, 'e', 5), (7, 'g', 7), (11, 'k', 11);
ANALYZE TABLE t;
CHECK TABLE t;
CHECK TABLE t EXTENDED;
OPTIMIZE TABLE t;
CHECKSUM TABLE t;
CHECKSUM TABLE t EXTENDED;
ANALYZE TABLE nowhere;
CHECKSUM TABLE nowhere;
CHECK TABLE t, nowhere;
SHOW COLUMNS FROM t LIKE 'v';
SHOW FULL COLUMNS FROM t;
SHOW COLUMNS FROM t WHERE `Null` = 'NO';
SHOW COLUMNS FROM nowhere;
DESC t n;
DESCRIBE t 'k%';
EXPLAIN t;
SHOW TABLES WHERE Tables_in_d = 't';
SHOW TABLE STATUS LIKE 'none';
-- other types
SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'd';
-- any order
-- other types
SELECT index_name, seq_in_index, column_name, non_unique FROM information_schema.statistics WHERE table_schema = 'd' AND table_name = 't';
TRUNCATE t;
CHECKSUM TABLE t;
SELECT COUNT(*) FROM t;
DROP TABLE t;

## what is done to partitions as to tables
-- each place
-- = shard by hash(k)
-- = global
-- = single on shard '{s2}'
CREATE TABLE t (k INT PRIMARY KEY, v INT) /*!50100 PARTITION BY RANGE (k) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN MAXVALUE) */ /*weir: {place} */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4), (11, 1), (12, 2), (13, 3), (14, 4);
ALTER TABLE t ANALYZE PARTITION p0;
ALTER TABLE d.t CHECK PARTITION p0, p1;
ALTER TABLE t CHECK PARTITION ALL EXTENDED;
ALTER TABLE t OPTIMIZE PARTITION p0;
ALTER TABLE t REPAIR PARTITION p1;
ALTER TABLE t REBUILD PARTITION p1;
ALTER TABLE t ANALYZE PARTITION none;
ALTER TABLE t OPTIMIZE PARTITION none;
ALTER TABLE t REBUILD PARTITION none;
ALTER TABLE nowhere CHECK PARTITION p0;
SELECT COUNT(*) FROM t;
BEGIN;
INSERT INTO t VALUES (5, 5);
ALTER TABLE t ANALYZE PARTITION p0;
ROLLBACK;
SELECT COUNT(*) FROM t;
CREATE TABLE u (k INT PRIMARY KEY) /*weir: {place} */;
ALTER TABLE u ANALYZE PARTITION p0;
ALTER TABLE u REPAIR PARTITION ALL;

## CREATE TABLE … LIKE and … SELECT
-- each place; other
-- = shard by hash(k); shard by hash(k)
-- = shard by range(k) ({s1} values less than (3), {s2} values less than maxvalue); global
-- = shard by list(k) ({s1} values in (1, 2), {s2} default); single
-- = global; shard by hash(k)
-- = single on shard '{s2}'; shard by hash(k)
CREATE TABLE t (k INT PRIMARY KEY, v VARCHAR(20) NOT NULL DEFAULT 'x', KEY (v)) /*weir: {place} */;
INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd');
CREATE TABLE u LIKE t;
CREATE TABLE u LIKE t;
CREATE TABLE IF NOT EXISTS u LIKE t;
CREATE TABLE w LIKE nowhere;
INSERT INTO u SELECT k, UPPER(v) FROM t;
SELECT t.k, t.v, u.v FROM t JOIN u ON t.k = u.k ORDER BY t.k;
SHOW COLUMNS FROM u;
INSERT INTO u VALUES (1, 'dup');
CREATE TABLE x (k INT PRIMARY KEY, v VARCHAR(20)) /*weir: {other} */;
INSERT INTO x SELECT k + 10, v FROM t WHERE k > 1;
REPLACE INTO x SELECT k + 10, CONCAT(v, v) FROM u;
INSERT IGNORE INTO x SELECT k + 12, v FROM u;
INSERT INTO x SELECT k + 11, v FROM t ON DUPLICATE KEY UPDATE v = 'twice';
SELECT * FROM x ORDER BY k;
DELETE FROM t WHERE k IN (SELECT k FROM u WHERE k > 2);
SELECT * FROM t ORDER BY k;
DROP TABLE t, u;
DROP TABLE x;

## DROP of tables on different shards
CREATE TABLE t (k INT PRIMARY KEY) /*weir: shard by hash(k) */;
CREATE TABLE x (k INT PRIMARY KEY) /*weir: single */;
FLUSH TABLES t;
FLUSH LOCAL TABLES t, x;
FLUSH TABLES nowhere;
-- text
-- refused: a server's own
FLUSH TABLES t WITH READ LOCK;
-- text
-- refused: would lock the tables of one shard
FLUSH TABLES WITH READ LOCK;
DROP TABLE t, x;
SHOW TABLES;

## CREATE TABLE … SELECT on one shard
CREATE TABLE s (k INT PRIMARY KEY, v VARCHAR(20)) /*weir: single on shard '{s2}' */;
INSERT INTO s VALUES (1, 'a'), (2, 'b');
CREATE TABLE c /*weir: single on shard '{s2}' */ SELECT * FROM s;
SELECT * FROM c ORDER BY k;
SHOW COLUMNS FROM c;
INSERT INTO c VALUES (3, 'c');
SELECT COUNT(*) FROM c;

## RANGE, LIST and dates: rows by INSERT and by LOAD DATA LOCAL
-- each type; place; a; b; c; e
-- = INT; range(k) ({s1} values less than (10), {s2} values less than (20), {s3} values less than (30), {s4} values less than maxvalue); 5; 15; 25; 99
-- = BIGINT; list(k) ({s1} values in (1, 2), {s2} values in (3, 4), {s3} values in (5, 6), {s4} default); 1; 3; 5; 77
-- = VARCHAR(10) COLLATE utf8mb4_general_ci; list(k) ({s1} values in ('eu'), {s2} values in ('us'), {s3} values in ('as'), {s4} default); eu; US; as; other
-- = VARCHAR(10) COLLATE utf8mb4_bin; hash(k); eu; US; as; other
-- = DATE; year(k); 2021-05-05; 2022-05-05; 2023-12-31; 2024-01-01
-- = DATE; month(k); 2021-05-31; 2021-06-01; 2022-06-01; 2024-12-31
-- = DATETIME; day(k); 2021-05-31 23:59:59; 2021-06-01 00:00:00; 2021-06-02 12:00:00; 2024-02-29 01:02:03
-- = DATE; range(k) ({s1} values less than ('2022-01-01'), {s2} values less than ('2023-01-01'), {s3} values less than maxvalue); 2021-05-05; 2022-05-05; 2023-12-31; 2024-01-01
CREATE TABLE t (k {type} NOT NULL, n INT NOT NULL, v VARCHAR(10), PRIMARY KEY (k, n)) /*weir: shard by {place} */;
-- text
LOAD DATA LOCAL INFILE '{a}\t1\tone\n{b}\t2\ttwo\n{c}\t3\t\\N\n{e}\t4\tfour\n' INTO TABLE t;
-- binary
INSERT INTO t VALUES ('{a}', 1, 'one'), ('{b}', 2, 'two'), ('{c}', 3, NULL), ('{e}', 4, 'four');
SELECT * FROM t ORDER BY n;
-- params: '{b}'
SELECT n, v FROM t WHERE k = ?;
-- params: '{a}', '{e}'
SELECT n FROM t WHERE k IN (?, ?) ORDER BY n;
-- params: '{a}', '{c}'
SELECT n FROM t WHERE k BETWEEN ? AND ? ORDER BY n;
-- params: '{b}'
SELECT n FROM t WHERE k >= ? ORDER BY n;
-- params: '{b}'
SELECT n FROM t WHERE k < ? ORDER BY n;
SELECT COUNT(*), MIN(n), MAX(n) FROM t;
SELECT k, COUNT(*) FROM t GROUP BY k ORDER BY k;
-- text
-- no warnings
LOAD DATA LOCAL INFILE '{a},1,again\n{c},9,new\n' IGNORE INTO TABLE t FIELDS TERMINATED BY ',';
-- text
LOAD DATA LOCAL INFILE '{a},1,again\n{c},9,new\n' REPLACE INTO TABLE t FIELDS TERMINATED BY ',';
-- binary
REPLACE INTO t VALUES ('{a}', 1, 'again'), ('{c}', 9, 'new');
SELECT * FROM t ORDER BY n;
UPDATE t SET v = 'all';
UPDATE t SET v = 'one' WHERE k = '{a}';
DELETE FROM t WHERE k = '{e}' AND n = 4;
DELETE FROM t WHERE k > '{a}' ORDER BY n LIMIT 1;
SELECT * FROM t ORDER BY n;
UPDATE t SET k = '{e}' WHERE k = '{a}';
SELECT * FROM t ORDER BY n;
CHECKSUM TABLE t;
TRUNCATE TABLE t;
SELECT COUNT(*) FROM t;

## values that no part has
CREATE TABLE t (k INT PRIMARY KEY, v INT) /*weir: shard by range(k) ({s1} values less than (10), {s2} values less than (20)) */;
INSERT INTO t VALUES (1, 1), (15, 2);
-- weir
SELECT * FROM t WHERE k = 25;
SELECT * FROM t WHERE k > 12 ORDER BY k;
SELECT COUNT(*) FROM t;

## unique keys that nobody checks
CREATE TABLE t (id INT PRIMARY KEY, email VARCHAR(40), n INT, UNIQUE KEY by_both (id, n)) /*weir: shard by hash(id) */;
CREATE TABLE u (id INT PRIMARY KEY, email VARCHAR(40), UNIQUE KEY e (email)) /*weir: shard by hash(id) unique unchecked (e) */;
INSERT INTO u VALUES (1, 'a@x'), (2, 'b@x'), (3, NULL), (4, NULL);
INSERT INTO u VALUES (1, 'c@x');
SELECT * FROM u WHERE email = 'b@x';
UPDATE u SET email = 'c@x' WHERE email = 'a@x';
SELECT * FROM u ORDER BY id;
DELETE FROM u WHERE email IS NULL;
SHOW COLUMNS FROM u;
SELECT COUNT(*) FROM u;
INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 1);
INSERT INTO t VALUES (1, 'a', 1);
SELECT * FROM t ORDER BY id;

## foreign keys
CREATE TABLE kinds (id INT PRIMARY KEY, name VARCHAR(10)) /*weir: global */;
CREATE TABLE o (id INT PRIMARY KEY, kind INT, FOREIGN KEY (kind) REFERENCES kinds (id)) /*weir: shard by hash(id) */;
CREATE TABLE l (oid INT, n INT, v INT, PRIMARY KEY (oid, n), CONSTRAINT of_o FOREIGN KEY (oid) REFERENCES o (id) ON DELETE CASCADE) /*weir: shard by hash(oid) */;
INSERT INTO kinds VALUES (1, 'one'), (2, 'two');
INSERT INTO o VALUES (1, 1), (2, 2), (3, NULL), (4, 1);
INSERT INTO l VALUES (1, 1, 10), (1, 2, 20), (2, 1, 30), (4, 1, 40);
DELETE FROM o WHERE id = 1;
SELECT * FROM l ORDER BY oid, n;
INSERT INTO l VALUES (3, 1, 50);
DELETE FROM o WHERE id IN (2, 3);
SELECT * FROM l ORDER BY oid, n;
SELECT o.id, kinds.name, COUNT(l.n) FROM o LEFT JOIN kinds ON kinds.id = o.kind LEFT JOIN l ON l.oid = o.id GROUP BY o.id, kinds.name ORDER BY o.id;
DROP TABLE l;
DROP TABLE o;
DROP TABLE kinds;

## errors of foreign keys
CREATE TABLE o (id INT PRIMARY KEY) /*weir: single */;
CREATE TABLE l (id INT PRIMARY KEY, oid INT, FOREIGN KEY (oid) REFERENCES o (id)) /*weir: single */;
INSERT INTO o VALUES (1);
INSERT INTO l VALUES (1, 1);
INSERT INTO l VALUES (2, 2);
DELETE FROM o;
UPDATE o SET id = 5;
DROP TABLE o;
SELECT * FROM l ORDER BY id;

## foreign keys that would lead to another shard
CREATE TABLE o (id INT PRIMARY KEY, a INT, KEY (a)) /*weir: shard by hash(id) */;
-- refused: foreign key
CREATE TABLE l (id INT PRIMARY KEY, oid INT, FOREIGN KEY (oid) REFERENCES o (id)) /*weir: shard by hash(id) */;
-- refused: foreign key
CREATE TABLE l (id INT PRIMARY KEY, oid INT, FOREIGN KEY (oid) REFERENCES o (id)) /*weir: global */;

## LOCK TABLES on one shard
CREATE TABLE s (id INT PRIMARY KEY, v INT) /*weir: single on shard '{s2}' */;
CREATE TABLE r (id INT PRIMARY KEY, v INT) /*weir: single on shard '{s2}' */;
CREATE TABLE g (id INT PRIMARY KEY, v INT) /*weir: global */;
CREATE TABLE h (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO g VALUES (1, 1);
LOCK TABLES s WRITE, r READ, g READ;
INSERT INTO s VALUES (1, 1), (2, 2);
SELECT s.id, g.v FROM s LEFT JOIN g ON g.id = s.id ORDER BY s.id;
INSERT INTO r VALUES (1, 1);
UNLOCK TABLES;
INSERT INTO r VALUES (1, 1);
LOCK TABLES g READ;
SELECT * FROM g;
UNLOCK TABLES;
LOCK TABLES h READ;
SELECT * FROM h;
LOCK TABLES g WRITE;
SELECT * FROM g;
