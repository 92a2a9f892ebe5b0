# More ways to say which shard, and statements all of whose tables meet in one.

## IN, OR, BETWEEN and row constructors
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1), (2, 4), (3, 9), (4, 16), (5, 25), (6, 36), (7, 49), (8, 64), (9, 81), (10, 100);
SELECT * FROM t WHERE id IN (1, 5, 9);
SELECT * FROM t WHERE id IN (1, 5, 9) ORDER BY id DESC;
SELECT * FROM t WHERE id = 1 OR id = 7;
SELECT * FROM t WHERE (id = 1 OR id = 7) AND v > 10;
SELECT * FROM t WHERE id = 1 OR v = 49;
SELECT * FROM t WHERE id BETWEEN 3 AND 5 ORDER BY id;
SELECT * FROM t WHERE (id, v) = (3, 9);
SELECT * FROM t WHERE (id, v) IN ((3, 9), (4, 15), (5, 25));
SELECT * FROM t WHERE id <=> 4;
SELECT * FROM t WHERE id IS NULL;
SELECT * FROM t WHERE NOT id = 4 ORDER BY id;
SELECT * FROM t WHERE id = 1 AND id = 2;
SELECT * FROM t WHERE id = -(-3);
SELECT * FROM t WHERE id = 2 * 4;
SELECT * FROM t WHERE id = 7 DIV 2;
SELECT * FROM t WHERE id = TRUE;
SELECT * FROM t WHERE id = '4abc';
SELECT * FROM t WHERE id = 'x';
SELECT * FROM t WHERE id = 4.5;
SELECT * FROM t WHERE id = 4e0;
SELECT * FROM t WHERE id = 0x04;
SELECT * FROM t WHERE id = b'100';
SELECT * FROM t WHERE id + 0 = 4;
SELECT * FROM t WHERE id IN (NULL, 3);
SELECT * FROM t WHERE id NOT IN (1, 2, 3) ORDER BY id;
SELECT * FROM t WHERE id = ALL (SELECT 3);
SELECT * FROM t WHERE id = (SELECT 3);
SELECT * FROM t WHERE id = 9223372036854775807;
SELECT * FROM t WHERE id = 18446744073709551616;
SELECT COUNT(*) FROM t WHERE id IN (1, 2, 3, 4, 5);
-- params: 1, 6, 9
SELECT * FROM t WHERE id IN (?, ?, ?) ORDER BY id;
-- params: 2, 4
SELECT * FROM t WHERE id = ? AND v = ?;
-- params: '6'
SELECT * FROM t WHERE id = ?;
-- params: NULL
SELECT * FROM t WHERE id = ?;
-- params: 2.0
SELECT * FROM t WHERE id = ?;

## user variables as keys
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30);
SET @a = 2;
SELECT * FROM t WHERE id = @a;
SET @a = 1 + 2;
SELECT * FROM t WHERE id = @a;
UPDATE t SET v = v + 1 WHERE id = @a;
SELECT * FROM t ORDER BY id;

## unsigned and big keys
CREATE TABLE t (id BIGINT UNSIGNED PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (0, 0), (18446744073709551615, 1), (9223372036854775808, 2), (9223372036854775807, 3);
SELECT * FROM t WHERE id = 18446744073709551615;
SELECT * FROM t WHERE id = '18446744073709551615';
SELECT * FROM t WHERE id = 9223372036854775808;
SELECT * FROM t WHERE id = 9223372036854775807;
SELECT * FROM t WHERE id = -1;
SELECT * FROM t WHERE id = 1.8446744073709551615e19;
SELECT * FROM t ORDER BY id;
SELECT * FROM t ORDER BY id DESC LIMIT 2;
-- refused: shard key
INSERT INTO t VALUES (-1, 5);
-- refused: shard key
INSERT INTO t VALUES (18446744073709551616, 5);

## the smallest keys, and smaller values
CREATE TABLE t (id BIGINT AUTO_INCREMENT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (-9223372036854775808, 1), (-9223372036854775807, 2), (-(9223372036854775806), 3);
SELECT * FROM t WHERE id = -9223372036854775808;
SELECT * FROM t WHERE id >= -9223372036854775808 ORDER BY id;
SELECT * FROM t WHERE id = -9223372036854775809;
SELECT * FROM t WHERE id IN (-18446744073709551615, -9223372036854775807);
-- params: -9223372036854775808
SELECT * FROM t WHERE id = ?;
UPDATE t SET v = 4 WHERE id = -9223372036854775808;
INSERT INTO t VALUES (-9223372036854775808, 5);
-- refused: shard key
INSERT INTO t VALUES (-9223372036854775809, 5);
DELETE FROM t WHERE id = -9223372036854775808;
SELECT * FROM t ORDER BY id;

## text keys
CREATE TABLE t (k VARCHAR(30) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci PRIMARY KEY, v INT) /*weir: shard by hash(k) */;
INSERT INTO t VALUES ('abc', 1), ('Def', 2), ('ghi ', 3), ('Ä', 4), ('', 5), ('5', 6), ('日本', 7);
SELECT * FROM t WHERE k = 'ABC';
SELECT * FROM t WHERE k = 'abc   ';
SELECT * FROM t WHERE k = 'def';
SELECT * FROM t WHERE k = 'ghi';
SELECT * FROM t WHERE k = 'a';
SELECT * FROM t WHERE k = 'ä';
SELECT * FROM t WHERE k = '';
SELECT * FROM t WHERE k = '  ';
SELECT * FROM t WHERE k = 5;
SELECT * FROM t WHERE k = '日本';
SELECT * FROM t WHERE k = BINARY 'abc';
SELECT * FROM t WHERE k LIKE 'a%' ORDER BY v;
SELECT * FROM t WHERE k IN ('abc', 'DEF') ORDER BY v;
INSERT INTO t VALUES ('ABC', 9);
SELECT v FROM t ORDER BY k;
SELECT v FROM t ORDER BY k DESC;
UPDATE t SET v = 100 WHERE k = 'DEF';
DELETE FROM t WHERE k = 'GHI';
SELECT v FROM t ORDER BY v;

## decimal, date and binary keys
CREATE TABLE a (k DECIMAL(10,2) PRIMARY KEY, v INT) /*weir: shard by hash(k) */;
INSERT INTO a VALUES (1.5, 1), (2.25, 2), (-3, 3), (0, 4);
SELECT * FROM a WHERE k = 1.50;
SELECT * FROM a WHERE k = '1.5';
SELECT * FROM a WHERE k = -3;
SELECT * FROM a WHERE k = 2.250001;
SELECT * FROM a WHERE k = -0.0;
CREATE TABLE b (k DATE PRIMARY KEY, v INT) /*weir: shard by hash(k) */;
INSERT INTO b VALUES ('2024-01-02', 1), ('2024-12-31', 2), ('2025-01-01', 3);
-- refused: shard key
INSERT INTO b VALUES (20250102, 4);
SELECT * FROM b WHERE k = '2024-01-02';
SELECT * FROM b WHERE k = '2024-1-2';
SELECT * FROM b WHERE k = DATE'2024-12-31';
SELECT * FROM b WHERE k = 20250101;
SELECT * FROM b WHERE k = '2024-01-02 00:00:00';
SELECT * FROM b ORDER BY k;
CREATE TABLE c (k VARBINARY(20) PRIMARY KEY, v INT) /*weir: shard by hash(k) */;
INSERT INTO c VALUES ('abc', 1), ('ABC', 2), (x'00ff', 3), ('', 4);
SELECT v FROM c WHERE k = 'abc';
SELECT v FROM c WHERE k = 'ABC';
SELECT v FROM c WHERE k = x'00ff';
SELECT v FROM c WHERE k = '';
SELECT v FROM c ORDER BY k;

## composite keys
CREATE TABLE t (a INT, b VARCHAR(10), v INT, PRIMARY KEY (a, b)) /*weir: shard by hash(a, b) */;
INSERT INTO t VALUES (1, 'x', 1), (1, 'y', 2), (2, 'x', 3), (2, 'y', 4);
SELECT * FROM t WHERE a = 1 AND b = 'x';
SELECT * FROM t WHERE (a, b) = (2, 'y');
SELECT * FROM t WHERE a = 1 ORDER BY b;
SELECT * FROM t WHERE b = 'x' ORDER BY a;
UPDATE t SET v = 10 WHERE a = 1 AND b = 'y';
DELETE FROM t WHERE (a = 2 AND b = 'x');
SELECT * FROM t ORDER BY a, b;

## range tables
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1, 1), (100, 2), (101, 3), (5000, 4);
SELECT * FROM t WHERE id BETWEEN 1 AND 100 ORDER BY id;
SELECT * FROM t WHERE id < 101 ORDER BY id;
SELECT * FROM t WHERE id >= 101 ORDER BY id;
SELECT * FROM t WHERE id > 100 AND id < 200;

## global and single tables
CREATE TABLE t (id INT PRIMARY KEY, c INT) /*weir: shard by hash(id) */;
CREATE TABLE g (id INT PRIMARY KEY, name VARCHAR(20)) /*weir: global */;
CREATE TABLE s (id INT PRIMARY KEY, name VARCHAR(20)) /*weir: single */;
INSERT INTO g VALUES (1, 'eins'), (2, 'zwei');
INSERT INTO s VALUES (1, 'uno'), (2, 'dos');
INSERT INTO t VALUES (1, 1), (2, 2), (3, 1), (4, 2);
SELECT * FROM g ORDER BY id;
SELECT * FROM s ORDER BY id;
SELECT t.id, g.name FROM t JOIN g ON t.c = g.id WHERE t.id = 3;
SELECT t.id, g.name FROM t JOIN g ON t.c = g.id ORDER BY t.id;
SELECT t.id, g.name FROM t LEFT JOIN g ON t.c = g.id AND g.id = 1 ORDER BY t.id;
SELECT g.id, s.name FROM g JOIN s USING (id) ORDER BY g.id;
UPDATE g SET name = 'one' WHERE id = 1;
DELETE FROM g WHERE id = 2;
SELECT * FROM g;
SELECT COUNT(*) FROM g;
UPDATE s SET name = 'tres' WHERE id = 2;
SELECT * FROM s ORDER BY id;

## joins, subqueries and CTEs in one shard
CREATE TABLE o (id INT PRIMARY KEY, c INT) /*weir: shard by hash(id) */;
CREATE TABLE l (oid INT, n INT, price DECIMAL(8,2), PRIMARY KEY (oid, n)) /*weir: shard by hash(oid) */;
INSERT INTO o VALUES (1, 7), (2, 8), (3, 7);
INSERT INTO l VALUES (1, 1, 10.50), (1, 2, 20), (2, 1, 5), (3, 1, 1), (3, 2, 2), (3, 3, 3);
SELECT o.id, l.n, l.price FROM o JOIN l ON o.id = l.oid WHERE o.id = 1 ORDER BY l.n;
SELECT o.id, l.n FROM o, l WHERE o.id = l.oid AND l.oid = 3 ORDER BY l.n;
SELECT o.id, SUM(l.price) FROM o JOIN l ON o.id = l.oid WHERE o.id = 3 GROUP BY o.id;
SELECT * FROM o WHERE id = 2 AND EXISTS (SELECT 1 FROM l WHERE l.oid = o.id);
SELECT * FROM (SELECT * FROM l WHERE oid = 3) AS d WHERE n > 1 ORDER BY n;
WITH x AS (SELECT * FROM l WHERE oid = 1) SELECT SUM(price) FROM x;
SELECT id, (SELECT MAX(price) FROM l WHERE l.oid = o.id) AS m FROM o WHERE id = 3;
SELECT id FROM o WHERE id = 1 UNION SELECT oid FROM l WHERE oid = 1;
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT r.n, l.price FROM r JOIN l ON l.n = r.n WHERE l.oid = 3 ORDER BY r.n;

## statements without tables
SELECT 1;
SELECT 1 + 1 AS two, 'x' AS x;
SELECT @@autocommit;
SELECT DATABASE();
DO 1;
SET @x = 5;
SELECT @x;
SELECT NULL;
SELECT VERSION() = VERSION();
SHOW VARIABLES LIKE 'autocommit';
