# Reads of all shards that are put together.

## concatenation, ORDER BY, LIMIT
CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(20), c DECIMAL(8,3), d DATETIME(3), e DOUBLE, f ENUM('z','y','x'), g SET('r','q','p'), h TIME(2), i BIGINT UNSIGNED, j YEAR, k BINARY(3), l BIT(9), m CHAR(5)) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 5, 'b', 1.5, '2024-01-01 00:00:00.001', 1.5, 'z', 'p', '-01:00:00.5', 18446744073709551615, 1999, 'abc', 3, 'x'), (2, -5, 'B', -1.5, '2024-01-01', -1e300, 'y', 'q,r', '838:59:59', 0, 2024, 'ab', 256, 'X '), (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (4, 2147483647, 'ä', 99999.999, '1000-01-01', 0, 'x', '', '00:00:00', 9223372036854775808, 1901, x'00ff00', 0, 'a'), (5, 0, '', 0, '9999-12-31 23:59:59.999', -0.0, 'x', 'p,q,r', '-00:00:00.01', 7, 2155, '', 511, ''), (6, 5, 'a', 1.499, '2023-12-31 23:59:59.999', 1e-300, 'z', 'r', '10:00:00', 10, 2000, 'ABC', 1, 'b'), (7, -5, 'A ', -1.501, '2024-01-01 00:00:00.002', 1e300, 'y', 'q', '9:00:00', 9, 2001, 'b', 2, 'B');
SELECT * FROM t;
SELECT * FROM t ORDER BY id;
SELECT * FROM t ORDER BY id DESC;
SELECT id, a FROM t ORDER BY a, id;
SELECT id, a FROM t ORDER BY a DESC, id;
SELECT id FROM t ORDER BY b, id;
SELECT id FROM t ORDER BY b DESC, id DESC;
SELECT id FROM t ORDER BY c, id;
SELECT id FROM t ORDER BY d, id;
SELECT id FROM t ORDER BY e, id;
SELECT id FROM t ORDER BY f, id;
SELECT id FROM t ORDER BY g, id;
SELECT id FROM t ORDER BY h, id;
SELECT id FROM t ORDER BY i, id;
SELECT id FROM t ORDER BY j, id;
SELECT id FROM t ORDER BY k, id;
SELECT id FROM t ORDER BY l, id;
SELECT id FROM t ORDER BY m, id;
SELECT id, a AS x FROM t ORDER BY x, id;
SELECT id, a + 1 FROM t ORDER BY 2, 1;
SELECT id FROM t ORDER BY a * 2, id;
SELECT id FROM t ORDER BY LENGTH(b), id;
SELECT id FROM t ORDER BY UPPER(b), id;
SELECT id FROM t ORDER BY CONCAT(b, 'x'), id;
SELECT id FROM t ORDER BY b COLLATE utf8mb4_bin, id;
SELECT id FROM t ORDER BY IF(a > 0, b, m), id;
SELECT id FROM t ORDER BY -id;
SELECT id FROM t ORDER BY d + INTERVAL 1 DAY, id;
SELECT id FROM t ORDER BY id LIMIT 3;
SELECT id FROM t ORDER BY id LIMIT 2, 3;
SELECT id FROM t ORDER BY id LIMIT 3 OFFSET 5;
SELECT id FROM t ORDER BY id LIMIT 0;
SELECT id FROM t ORDER BY id LIMIT 100;
SELECT id FROM t ORDER BY id LIMIT 10, 10;
-- params: 2
SELECT id FROM t ORDER BY id LIMIT ?;
-- params: 1, 2
SELECT id FROM t ORDER BY id LIMIT ?, ?;
SELECT b FROM t WHERE a > 0 ORDER BY id;
SELECT id FROM t WHERE b IS NULL;
SELECT COUNT(*) FROM t WHERE a IS NOT NULL;
SELECT t.* FROM t ORDER BY t.id;
SELECT *, id + 1 AS n FROM t ORDER BY n;
SELECT id FROM t AS x ORDER BY x.id;
SELECT d.t.id FROM d.t ORDER BY d.t.id;
SELECT DISTINCT a FROM t ORDER BY a;
SELECT DISTINCT b FROM t WHERE b IS NOT NULL AND b <> 'b' AND TRIM(b) <> 'A' ORDER BY b;
SELECT DISTINCT a, f FROM t ORDER BY a, f;
SELECT DISTINCT a FROM t;
SELECT DISTINCT a FROM t ORDER BY a LIMIT 2;
SELECT id FROM t WHERE id > 100;
SELECT id FROM t WHERE nothing = 1;
SELECT id FROM t ORDER BY nothing;
SELECT id + a FROM t ORDER BY id;
SELECT 1 FROM t;
SELECT 'x' AS y FROM t LIMIT 2;

## UNION
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
CREATE TABLE u (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3);
INSERT INTO u VALUES (1, 2), (2, 3), (3, 4);
SELECT a FROM t UNION ALL SELECT a FROM u;
SELECT a FROM t UNION ALL SELECT a FROM u ORDER BY a;
SELECT a FROM t UNION SELECT a FROM u ORDER BY a;
SELECT a FROM t UNION SELECT a FROM u ORDER BY a DESC LIMIT 2;
SELECT a FROM t WHERE id = 1 UNION ALL SELECT a FROM u WHERE id = 3 ORDER BY a;

## co-located joins
CREATE TABLE o (id INT PRIMARY KEY, c INT, note VARCHAR(10)) /*weir: shard by hash(id) */;
CREATE TABLE l (oid INT, n INT, price DECIMAL(8,2), PRIMARY KEY (oid, n)) /*weir: shard by hash(oid) */;
CREATE TABLE g (c INT PRIMARY KEY, name VARCHAR(10)) /*weir: global */;
INSERT INTO g VALUES (7, 'seven'), (8, 'eight'), (9, 'nine');
INSERT INTO o VALUES (1, 7, 'a'), (2, 8, 'b'), (3, 7, 'c'), (4, 9, NULL), (5, NULL, 'e');
INSERT INTO l VALUES (1, 1, 10.50), (1, 2, 20), (2, 1, 5), (3, 1, 1), (3, 2, 2), (3, 3, 3), (9, 1, 99);
SELECT o.id, l.n, l.price FROM o JOIN l ON o.id = l.oid ORDER BY o.id, l.n;
SELECT o.id, l.n FROM o LEFT JOIN l ON o.id = l.oid ORDER BY o.id, l.n;
SELECT o.id, l.oid, l.n FROM o RIGHT JOIN l ON o.id = l.oid ORDER BY l.oid, l.n;
SELECT o.id, l.n, g.name FROM o JOIN l ON o.id = l.oid JOIN g ON g.c = o.c ORDER BY o.id, l.n;
SELECT o.id, g.name FROM o LEFT JOIN g ON g.c = o.c ORDER BY o.id;
SELECT id FROM o WHERE EXISTS (SELECT 1 FROM l WHERE l.oid = o.id) ORDER BY id;
SELECT id FROM o WHERE NOT EXISTS (SELECT 1 FROM l WHERE l.oid = o.id) ORDER BY id;
SELECT id FROM o WHERE id IN (SELECT oid FROM l) ORDER BY id;
SELECT id, (SELECT SUM(price) FROM l WHERE l.oid = o.id) AS s FROM o ORDER BY id;
SELECT o.id, COUNT(*), SUM(l.price) FROM o JOIN l ON o.id = l.oid GROUP BY o.id ORDER BY o.id;
SELECT g.name, COUNT(*), SUM(l.price) FROM o JOIN l ON o.id = l.oid JOIN g ON g.c = o.c GROUP BY g.name ORDER BY g.name;
SELECT o.id, d.s FROM o JOIN (SELECT oid, SUM(price) AS s FROM l GROUP BY oid) AS d ON d.oid = o.id ORDER BY o.id;
SELECT a.id, b.id FROM o AS a JOIN o AS b ON a.id = b.id ORDER BY a.id;
SELECT id FROM o WHERE c IN (SELECT c FROM g WHERE name LIKE '%e%') ORDER BY id;
-- gathered
SELECT a.id, b.id FROM o AS a JOIN o AS b ON a.c = b.c ORDER BY a.id, b.id;
-- gathered
SELECT o.id FROM o JOIN l ON o.id = l.n;
-- gathered
SELECT id FROM o WHERE c > (SELECT AVG(price) FROM l);
-- gathered
-- any order
SELECT id, RANK() OVER (ORDER BY c) FROM o;

## locks
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4);
SELECT * FROM t WHERE id = 1 FOR UPDATE;
SELECT * FROM t ORDER BY id FOR UPDATE;
SELECT * FROM t ORDER BY id LOCK IN SHARE MODE;
BEGIN;
SELECT * FROM t ORDER BY id FOR UPDATE;
-- session: 1
-- no warnings
SELECT * FROM t ORDER BY id FOR UPDATE NOWAIT;
-- session: 1
SELECT * FROM t ORDER BY id FOR UPDATE SKIP LOCKED;
-- session: 1
SELECT * FROM t WHERE id = 2 FOR UPDATE NOWAIT;
COMMIT;
-- session: 1
SELECT * FROM t ORDER BY id FOR UPDATE NOWAIT;

## DISTINCT of BIT columns
CREATE TABLE t (id INT PRIMARY KEY, b BIT(10), c BIT(1), n INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 0, 1, 1), (2, 5, 1, 1), (3, 5, 0, 1), (4, NULL, NULL, NULL), (5, 5, 1, 1);
SELECT DISTINCT b FROM t;
SELECT DISTINCT c, b AS x, b AS y FROM t;
SELECT DISTINCT b, n FROM t ORDER BY n, b;
-- any order
SELECT DISTINCT c, n FROM t ORDER BY n;
SELECT DISTINCT b + 0, c FROM t WHERE n = 1 LIMIT 100;
SELECT DISTINCT b FROM t ORDER BY b;
SELECT DISTINCT b FROM t WHERE id = 2;
