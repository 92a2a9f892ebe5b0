# Queries whose rows are gathered on one server: joins on any columns, subqueries, windows, common table expressions, views.

## joins, subqueries, windows [gathered]
CREATE TABLE c (id INT PRIMARY KEY, name VARCHAR(30) NOT NULL, city VARCHAR(20) COLLATE utf8mb4_bin, vip ENUM('no','yes') NOT NULL DEFAULT 'no', UNIQUE KEY (id, name)) /*weir: shard by hash(id) */;
CREATE TABLE o (id INT PRIMARY KEY AUTO_INCREMENT, c_id INT NOT NULL, total DECIMAL(10,2), at DATETIME(3), note TEXT, KEY (c_id)) /*weir: shard by hash(id) */;
CREATE TABLE i (o_id INT, n INT, p_id INT, qty INT UNSIGNED, price DOUBLE, PRIMARY KEY (o_id, n)) /*weir: shard by hash(o_id) */;
CREATE TABLE p (id INT PRIMARY KEY, name VARCHAR(20) CHARACTER SET latin1, weight FLOAT, tags SET('a','b','c'), made YEAR, bits BIT(7)) /*weir: global */;
CREATE TABLE s (k VARCHAR(10) PRIMARY KEY, v VARCHAR(10)) /*weir: single */;
INSERT INTO c VALUES (1, 'Ann', 'Wien', 'yes'), (2, 'Bob', 'wien', 'no'), (3, 'Cid', NULL, 'no'), (4, 'Dörte', 'Köln', 'yes'), (5, 'Eve', 'Wien', 'no');
INSERT INTO o VALUES (1, 1, 10.5, '2024-01-01 10:00:00.001', 'x'), (2, 1, 20, '2024-01-02', NULL), (3, 2, NULL, '2024-02-01', 'it''s \\ "q" \n'), (4, 4, 99.99, NULL, 'ä€😀'), (5, 9, 1, '2023-12-31 23:59:59.999', ''), (6, 5, 10.5, '2024-01-01 10:00:00.001', 'y'), (7, 4, 0, '2024-03-01', 'z');
INSERT INTO i VALUES (1, 1, 1, 2, 1.5), (1, 2, 2, 1, 0.1), (2, 1, 2, 4294967295, 1e300), (3, 1, 3, 0, -0.0), (4, 1, 1, 7, 5e-324), (6, 1, 9, NULL, NULL), (7, 1, 3, 5, 123456789.123456789);
INSERT INTO p VALUES (1, 'Äpfel', 0.1, 'a,c', 1999, b'101'), (2, 'nuts', 1.17549e-38, '', 2024, 127), (3, NULL, NULL, NULL, NULL, NULL), (4, 'rare', 3.4e38, 'b', 1901, 0);
INSERT INTO s VALUES ('a', 'Wien'), ('b', 'Köln'), ('c', NULL);
SELECT c.name, o.id, o.total FROM c JOIN o ON o.c_id = c.id ORDER BY c.name, o.id;
SELECT c.name, o.id FROM c LEFT JOIN o ON o.c_id = c.id ORDER BY c.name, o.id;
SELECT c.name, o.id FROM c RIGHT JOIN o ON o.c_id = c.id ORDER BY o.id;
SELECT c.name, o.id FROM c LEFT JOIN o ON o.c_id = c.id AND o.total > 15 ORDER BY c.id, o.id;
SELECT c.name FROM c LEFT JOIN o ON o.c_id = c.id WHERE o.id IS NULL ORDER BY c.name;
SELECT c.name FROM c LEFT JOIN o ON o.c_id = c.id AND o.total IS NULL WHERE o.id IS NULL ORDER BY c.name;
SELECT * FROM c JOIN o ON o.c_id = c.id ORDER BY o.id;
SELECT c.*, o.id FROM c, o WHERE c.id = o.c_id AND c.vip = 'yes' AND o.total BETWEEN 1 AND 50 ORDER BY o.id;
SELECT * FROM o JOIN i ON i.o_id = o.id JOIN c ON c.id = o.c_id JOIN p ON p.id = i.p_id ORDER BY o.id, i.n;
SELECT c.name, SUM(i.qty), COUNT(DISTINCT p.id), AVG(i.price) FROM c JOIN o ON o.c_id = c.id JOIN i ON i.o_id = o.id LEFT JOIN p ON p.id = i.p_id GROUP BY c.id ORDER BY c.id;
SELECT c.id, c.name, COUNT(*) FROM c JOIN o ON o.c_id = c.id GROUP BY c.id ORDER BY 3 DESC, 1;
SELECT c.city, COUNT(*) FROM c JOIN o ON o.c_id = c.id GROUP BY c.city WITH ROLLUP;
SELECT name FROM c WHERE id IN (SELECT c_id FROM o WHERE total > 5) ORDER BY name;
SELECT name FROM c WHERE id NOT IN (SELECT c_id FROM o) ORDER BY name;
SELECT name FROM c WHERE EXISTS (SELECT 1 FROM o WHERE o.c_id = c.id AND o.note IS NOT NULL) ORDER BY name;
SELECT name FROM c WHERE NOT EXISTS (SELECT * FROM o WHERE o.c_id = c.id) ORDER BY name;
SELECT name, (SELECT COUNT(*) FROM o WHERE o.c_id = c.id) AS n, (SELECT MAX(total) FROM o WHERE c_id = c.id) FROM c ORDER BY id;
SELECT id FROM o WHERE total > (SELECT AVG(total) FROM o) ORDER BY id;
SELECT id FROM o WHERE total >= ALL (SELECT total FROM o WHERE total IS NOT NULL) ORDER BY id;
SELECT id FROM o WHERE total = ANY (SELECT total FROM o AS x WHERE x.id <> o.id) ORDER BY id;
SELECT a.id, b.id FROM o AS a JOIN o AS b ON a.total = b.total AND a.id < b.id ORDER BY 1, 2;
SELECT COUNT(*), SUM(a.id), MIN(b.name) FROM c AS a JOIN c AS b ON a.city = b.city;
SELECT id, RANK() OVER (ORDER BY total DESC) FROM o ORDER BY id;
SELECT id, SUM(total) OVER (ORDER BY id ROWS 1 PRECEDING), LAG(total) OVER w, ROW_NUMBER() OVER w FROM o WINDOW w AS (ORDER BY id) ORDER BY id;
SELECT c_id, total, SUM(total) OVER (PARTITION BY c_id ORDER BY id) FROM o ORDER BY id;
SELECT DISTINCT c.city FROM c JOIN o ON o.c_id = c.id ORDER BY 1;
SELECT DISTINCT name FROM c ORDER BY id;
SELECT id FROM o ORDER BY (SELECT name FROM c WHERE c.id = o.c_id), id;
WITH big AS (SELECT * FROM o WHERE total > 5) SELECT c.name, big.id FROM c JOIN big ON big.c_id = c.id ORDER BY big.id;
WITH big AS (SELECT c_id, SUM(total) AS t FROM o GROUP BY c_id) SELECT a.c_id, b.c_id FROM big a JOIN big b ON a.t < b.t ORDER BY 1, 2;
-- other columns
WITH x (a, b) AS (SELECT id, c_id FROM o), y AS (SELECT a FROM x WHERE b = 1) SELECT x.a, y.a FROM x LEFT JOIN y ON x.a = y.a + 1 JOIN x AS z ON z.a = x.a ORDER BY 1;
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 4) SELECT r.n, o.id, c.name FROM r JOIN o ON o.id = r.n LEFT JOIN c ON c.id = o.c_id ORDER BY r.n;
WITH RECURSIVE chain AS (SELECT id, c_id FROM o WHERE id = 1 UNION SELECT o.id, o.c_id FROM o JOIN chain ON o.id = chain.id + 1) SELECT * FROM chain ORDER BY id;
-- other columns
WITH RECURSIVE chain AS (SELECT id FROM o WHERE id = 1 UNION SELECT o.id FROM o JOIN chain ON o.id = chain.id + 1) SELECT a.id FROM chain a JOIN chain b ON a.id = b.id + 1 ORDER BY 1;
SELECT d.name, d.n FROM (SELECT c.name, COUNT(o.id) AS n FROM c LEFT JOIN o ON o.c_id = c.id GROUP BY c.id, c.name) d WHERE d.n > 0 ORDER BY d.name;
SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM o GROUP BY c_id) d;
SELECT * FROM (SELECT id, total FROM o ORDER BY id LIMIT 3) d ORDER BY id;
SELECT id FROM c UNION SELECT note FROM o ORDER BY 1;
SELECT id FROM c UNION ALL (SELECT id FROM o INTERSECT SELECT o_id FROM i) ORDER BY 1;
SELECT id FROM c EXCEPT SELECT c_id FROM o ORDER BY 1;
(SELECT id FROM c ORDER BY id DESC LIMIT 2) UNION ALL (SELECT id FROM o ORDER BY id LIMIT 1) ORDER BY id;
SELECT s.k, c.name, p.name FROM s JOIN c ON c.city = s.v JOIN p ON p.id = c.id ORDER BY 1, 2;
SELECT s.k, COUNT(c.id) FROM s LEFT JOIN c ON c.city = s.v GROUP BY s.k ORDER BY s.k;
SELECT * FROM s LEFT JOIN c ON c.city = s.v ORDER BY s.k, c.id;
SELECT p.*, i.* FROM p LEFT JOIN i ON i.p_id = p.id ORDER BY p.id, i.o_id;
SELECT p.id, p.weight, p.tags, p.made, p.bits FROM p LEFT JOIN o ON o.c_id = p.id ORDER BY p.id, o.id;
SELECT c.name, o.id FROM c JOIN o USING (id) ORDER BY c.id;
SELECT * FROM c JOIN o USING (id) ORDER BY id;
SELECT * FROM c NATURAL JOIN o ORDER BY id;
SELECT c.id FROM c JOIN o ON o.c_id = c.id ORDER BY c.id LIMIT 2, 2;
SELECT STRAIGHT_JOIN c.id, o.id FROM c JOIN o ON o.c_id = c.id AND o.total < 50 ORDER BY 2;
SELECT c.id FROM c JOIN o FORCE INDEX (c_id) ON o.c_id = c.id ORDER BY o.id;
SELECT c.id FROM c USE INDEX () JOIN o ON o.c_id = c.id ORDER BY o.id;
SELECT JSON_ARRAYAGG(id) FROM (SELECT o.id FROM o JOIN c ON c.id = o.c_id ORDER BY o.id) d;
SELECT GROUP_CONCAT(c.name ORDER BY o.id SEPARATOR '|'), GROUP_CONCAT(DISTINCT c.city ORDER BY 1) FROM c JOIN o ON o.c_id = c.id;
SELECT AVG(total) / 3, STDDEV(total), (SELECT COUNT(*) FROM c) FROM o;
SELECT COUNT(*) FROM o HAVING COUNT(*) > (SELECT COUNT(*) FROM c);
SELECT IF((SELECT COUNT(*) FROM o) > 5, 'many', 'few');
SELECT o.id FROM d.o JOIN d.c ON d.c.id = d.o.c_id WHERE d.c.name = 'Ann' ORDER BY d.o.id;
SELECT x.id FROM o AS x WHERE x.id = (SELECT MAX(y.id) FROM o AS y WHERE y.c_id = x.c_id) ORDER BY 1;
SELECT c.nothing FROM c JOIN o ON o.c_id = c.id;
SELECT id FROM c JOIN o ON o.c_id = c.id;
SELECT c.id, COUNT(*) FROM c JOIN nothing ON nothing.id = c.id;
SELECT c.id FROM c JOIN o ON o.c_id = c.id WHERE c.id = (SELECT id FROM o);
-- params: 5, 'Wien'
SELECT c.name, o.id FROM c JOIN o ON o.c_id = c.id WHERE o.total > ? AND c.city = ? ORDER BY o.id;
-- params: 1, 2, 100
SELECT ? AS a, c.name FROM c JOIN o ON o.c_id = c.id WHERE o.id > ? AND o.total < ? ORDER BY o.id;
-- params: 2
SELECT c.name FROM c JOIN o ON o.c_id = c.id ORDER BY o.id LIMIT ?;
-- params: 1, 9
SELECT id FROM o WHERE c_id IN (SELECT id FROM c WHERE id >= ?) OR c_id = ? ORDER BY id;
SET @m = 10;
SELECT c.name FROM c JOIN o ON o.c_id = c.id WHERE o.total > @m ORDER BY o.id;
SELECT @n := COUNT(*) + 1 FROM o JOIN c ON c.id = o.c_id;
SELECT @n;
# MariaDB warns of it when it is prepared, and Weir sends it as a text.
-- no warnings
SELECT COUNT(*), MAX(o.total) FROM o JOIN c ON c.id = o.c_id INTO @a, @b;
SELECT @a, @b;
SET @k = (SELECT COUNT(*) FROM o), @l = (SELECT name FROM c ORDER BY id DESC LIMIT 1);
SELECT @k, @l;
DO (SELECT COUNT(*) FROM o JOIN c ON c.id = o.c_id);
SELECT c.name INTO @x FROM c JOIN o ON o.c_id = c.id WHERE o.id = 100;
SHOW WARNINGS;
SELECT c.name INTO @x FROM c JOIN o ON o.c_id = c.id;
-- refused: too long to be sent to others
SELECT REPEAT(CONCAT(c.name, o.id), 3000000) INTO @long FROM c JOIN o ON o.c_id = c.id WHERE o.id = 1;
SELECT COUNT(*) FROM c JOIN o ON o.c_id = c.id;
SELECT @x;
SELECT SQL_CALC_FOUND_ROWS c.id FROM c JOIN o ON o.c_id = c.id ORDER BY o.id LIMIT 2;
SELECT FOUND_ROWS();
SELECT o.id, 1 / (o.id - 1) FROM o JOIN c ON c.id = o.c_id ORDER BY o.id;
SHOW WARNINGS;
SELECT CAST(c.name AS SIGNED) FROM c JOIN o ON o.c_id = c.id ORDER BY o.id;
SHOW WARNINGS;
PREPARE q FROM 'SELECT c.name FROM c JOIN o ON o.c_id = c.id WHERE o.id > ? ORDER BY o.id';
SET @p = 2;
EXECUTE q USING @p;
DEALLOCATE PREPARE q;

## in transactions [gathered]
CREATE TABLE a (id INT PRIMARY KEY, x INT) /*weir: shard by hash(id) */;
CREATE TABLE b (id INT PRIMARY KEY, a_id INT) /*weir: shard by hash(id) */;
INSERT INTO a VALUES (1, 10), (2, 20), (3, 30);
INSERT INTO b VALUES (1, 3), (2, 1), (3, 1);
BEGIN;
INSERT INTO b VALUES (4, 2);
SELECT a.x, b.id FROM a JOIN b ON b.a_id = a.id ORDER BY b.id;
UPDATE a SET x = x + 1;
SELECT a.x, b.id FROM a JOIN b ON b.a_id = a.id ORDER BY b.id;
SELECT a.x, b.id FROM a JOIN b ON b.a_id = a.id ORDER BY b.id FOR UPDATE;
SELECT a.x, b.id FROM a JOIN b ON b.a_id = a.id ORDER BY b.id LOCK IN SHARE MODE;
ROLLBACK;
SELECT a.x, b.id FROM a JOIN b ON b.a_id = a.id ORDER BY b.id;
SET autocommit = 0;
SELECT a.x, b.id FROM a JOIN b ON b.a_id = a.id ORDER BY b.id;
INSERT INTO b VALUES (5, 2);
SELECT a.x, b.id FROM a JOIN b ON b.a_id = a.id ORDER BY b.id;
COMMIT;
SET autocommit = 1;
START TRANSACTION READ ONLY;
SELECT a.x, b.id FROM a JOIN b ON b.a_id = a.id ORDER BY b.id;
COMMIT;
SELECT a.x, b.id FROM a JOIN b ON b.a_id = a.id ORDER BY b.id FOR UPDATE;
BEGIN;
SELECT a.x FROM a JOIN b ON b.a_id = a.id WHERE a.id = 1 FOR UPDATE;
-- session: 1
-- no warnings
SET innodb_lock_wait_timeout = 1;
-- session: 1
UPDATE a SET x = 0 WHERE id = 1;
COMMIT;

## views [gathered]
CREATE TABLE a (id INT PRIMARY KEY, x INT, y VARCHAR(10)) /*weir: shard by hash(id) */;
CREATE TABLE b (id INT PRIMARY KEY, a_id INT) /*weir: shard by hash(id) */;
INSERT INTO a VALUES (1, 10, 'p'), (2, 20, 'q'), (3, 30, 'r');
INSERT INTO b VALUES (1, 3), (2, 1), (3, 1), (4, NULL);
CREATE VIEW joined AS SELECT a.id AS aid, a.x, b.id AS bid FROM a JOIN b ON b.a_id = a.id;
CREATE VIEW summed AS SELECT aid, SUM(x) AS s, COUNT(*) AS n FROM joined GROUP BY aid;
CREATE VIEW plain (k, v) AS SELECT id, y FROM a WHERE x > 10;
-- other columns
SELECT * FROM joined ORDER BY bid;
-- other columns
SELECT * FROM summed ORDER BY aid;
-- other columns
SELECT j.bid, s.s FROM joined j JOIN summed s ON s.aid = j.aid ORDER BY 1;
-- other columns
SELECT p.v, b.id FROM plain p LEFT JOIN b ON b.a_id = p.k ORDER BY p.k, b.id;
SELECT COUNT(*) FROM joined;
SELECT COUNT(*), SUM(a.x) FROM b JOIN a ON a.id = b.a_id JOIN plain p ON p.k = a.id WHERE a.x IN (20, 30) AND b.id BETWEEN 1 AND 9 AND a.y > 'a';
-- other columns
SELECT x FROM joined WHERE bid IN (SELECT aid FROM summed) ORDER BY 1;
SELECT nothing FROM joined;

## writes that read their table through a view [gathered]
CREATE TABLE t (id INT PRIMARY KEY, x INT) /*weir: shard by hash(id) */;
CREATE TABLE u (id INT PRIMARY KEY, x INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1), (2, 2);
INSERT INTO u VALUES (1, 1), (2, 2);
CREATE VIEW v AS SELECT id, x FROM t;
CREATE VIEW grouped AS SELECT id, MAX(x) AS x FROM t GROUP BY id;
CREATE VIEW computed AS SELECT id, (SELECT MAX(x) FROM t) AS x FROM u;
CREATE VIEW filtered AS SELECT id, x FROM u WHERE x IN (SELECT x FROM t);
CREATE VIEW above AS SELECT id, x FROM v;
CREATE VIEW above_grouped AS SELECT id, x FROM grouped;
CREATE VIEW apart AS SELECT id, x FROM u;
CREATE VIEW both_of AS SELECT id, x FROM t UNION SELECT id, x FROM u;
DELETE FROM t WHERE x = (SELECT MAX(y.x) + 100 FROM v y);
DELETE FROM t WHERE x IN (SELECT x + 1000 FROM (SELECT * FROM v) d);
DELETE FROM t WHERE x = (SELECT MAX(y.x) + 100 FROM grouped y);
DELETE FROM t WHERE x = (SELECT MAX(y.x) + 100 FROM apart y);
DELETE FROM t WHERE x = (SELECT MAX(y.x) + 100 FROM both_of y);
UPDATE t AS tt SET x = x + 1 WHERE x IN (SELECT x FROM computed);
UPDATE t SET x = x + 1 WHERE x IN (SELECT x FROM filtered);
UPDATE t SET x = x + 1 WHERE x IN (SELECT x FROM above);
UPDATE t SET x = x + 1 WHERE x IN (SELECT x FROM above_grouped);
UPDATE t SET x = x + 1 WHERE x IN (SELECT x FROM apart);
INSERT INTO t VALUES ((SELECT MAX(id) + 1 FROM v), 7);
INSERT INTO t VALUES ((SELECT MAX(id) + 2 FROM grouped), 8);
INSERT INTO t SELECT 9, MAX(x) FROM v;
SELECT * FROM t ORDER BY id;

## all types pass [gathered]
# As above, on MySQL.
-- no warnings
CREATE TABLE t (id INT PRIMARY KEY, a TINYINT, b SMALLINT UNSIGNED, c MEDIUMINT, d BIGINT UNSIGNED, e DECIMAL(65,30), f FLOAT, g DOUBLE, h BIT(64), i DATE, j DATETIME(6), k TIMESTAMP(6) NULL, l TIME(6), m YEAR, n CHAR(5), o VARCHAR(10) CHARACTER SET latin1, p BINARY(4), q VARBINARY(10), r TINYBLOB, s MEDIUMTEXT, u ENUM('x','y''z'), v SET('a','b'), w INT ZEROFILL) /*weir: shard by hash(id) */;
CREATE TABLE z (id INT PRIMARY KEY, t_id INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, -128, 65535, -8388608, 18446744073709551615, 12345678901234567890123456789012345.123456789012345678901234567890, 0.1, 0.1, b'1111', '2024-02-29', '9999-12-31 23:59:59.999999', '2024-10-27 00:30:00.5', '-838:59:59', 2155, 'a  ', 'äöü', 'ab', x'0001ff275c', x'00', 'ä€😀\'\\', 'y''z', 'a,b', 5), (2, 127, 0, 8388607, 0, -0.000000000000000000000000000001, -1.5e-45, -1.7976931348623157e308, 0, '1000-01-01', '1000-01-01', '1970-01-01 00:00:01', '838:59:59', 1901, '', '', '', '', '', '', 'x', '', 0), (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO z VALUES (1, 3), (2, 2), (3, 1);
SELECT t.*, z.id FROM t JOIN z ON z.t_id = t.id ORDER BY z.id;
-- other columns
SELECT HEX(h), HEX(n), HEX(o), HEX(p), HEX(q), HEX(r), HEX(s), e + 0, f * 1, g FROM t JOIN z ON z.t_id = t.id ORDER BY z.id;
SET time_zone = '+05:30';
SELECT t.k, z.id FROM t JOIN z ON z.t_id = t.id ORDER BY z.id;
SET NAMES latin1;
SELECT t.n, HEX(t.s), z.id FROM t JOIN z ON z.t_id = t.id AND t.id <> 1 ORDER BY z.id;

## writes by joins and subqueries [gathered]
CREATE TABLE a (id INT PRIMARY KEY, x INT, y VARCHAR(20), n DECIMAL(10,3) DEFAULT 1.5) /*weir: shard by hash(id) */;
CREATE TABLE b (id INT, a_id INT, v VARCHAR(20), PRIMARY KEY (id)) /*weir: shard by hash(id) */;
CREATE TABLE w (k VARCHAR(5), a_id INT, c INT, PRIMARY KEY (k)) /*weir: shard by hash(k) */;
CREATE TABLE g (id INT PRIMARY KEY, n INT) /*weir: global */;
CREATE TABLE s (id INT PRIMARY KEY AUTO_INCREMENT, n INT) /*weir: single */;
INSERT INTO a VALUES (1, 10, 'p', 1), (2, 20, 'q', 2), (3, 30, NULL, 3), (4, NULL, 'it''s', 4), (5, 50, 'ä', 5);
INSERT INTO b VALUES (1, 3, 'one'), (2, 1, 'two'), (3, 1, NULL), (4, NULL, 'four'), (5, 9, 'five');
INSERT INTO w VALUES ('a', 1, 0), ('b', 3, 0), ('c', 9, 0);
INSERT INTO g VALUES (1, 1), (2, 2), (3, 3);
INSERT INTO s VALUES (1, 1), (2, 2);
DELETE FROM b WHERE a_id NOT IN (SELECT id FROM a);
SELECT * FROM b ORDER BY id;
DELETE b FROM b JOIN a ON a.id = b.a_id WHERE a.x = 30;
SELECT * FROM b ORDER BY id;
DELETE FROM b WHERE EXISTS (SELECT 1 FROM a WHERE a.id = b.a_id AND a.x > 100);
DELETE FROM b USING b JOIN a ON a.id = b.a_id AND a.y = 'p' WHERE b.v IS NULL;
SELECT * FROM b ORDER BY id;
UPDATE a SET x = x + 1 WHERE id IN (SELECT a_id FROM b);
SELECT * FROM a ORDER BY id;
UPDATE a JOIN b ON b.a_id = a.id SET a.x = a.x * 2;
SELECT * FROM a ORDER BY id;
UPDATE a JOIN b ON b.a_id = a.id SET a.y = b.v, a.n = b.id / 3;
SELECT * FROM a ORDER BY id;
UPDATE a SET x = (SELECT COUNT(*) FROM b WHERE b.a_id = a.id);
SELECT * FROM a ORDER BY id;
UPDATE a SET x = (SELECT MAX(id) FROM b), n = DEFAULT WHERE id > 3;
SELECT * FROM a ORDER BY id;
UPDATE a SET y = (SELECT v FROM b WHERE b.a_id = a.id) WHERE id = 1;
SELECT * FROM a ORDER BY id;
UPDATE w SET c = (SELECT COALESCE(SUM(x), -1) FROM a WHERE a.id = w.a_id) ORDER BY k;
SELECT * FROM w ORDER BY k;
UPDATE w SET c = c + 1 WHERE a_id IN (SELECT id FROM a) ORDER BY k LIMIT 1;
SELECT * FROM w ORDER BY k;
UPDATE g SET n = (SELECT COUNT(*) FROM a WHERE a.id <= g.id);
SELECT * FROM g ORDER BY id;
DELETE FROM g WHERE id IN (SELECT a_id FROM w);
SELECT * FROM g ORDER BY id;
UPDATE s SET n = (SELECT MAX(id) FROM b);
SELECT * FROM s ORDER BY id;
DELETE FROM s WHERE n NOT IN (SELECT id FROM a);
SELECT * FROM s ORDER BY id;
UPDATE a SET x = (SELECT id FROM b);
UPDATE a SET x = (SELECT nothing FROM b);
UPDATE a JOIN b ON b.a_id = a.id SET a.x = a.x + 1, b.v = CONCAT(b.v, 'x');
SELECT * FROM a ORDER BY id;
INSERT INTO a (id, x) SELECT b.id + 10, a.x FROM a JOIN b ON b.a_id = a.id;
INSERT INTO w SELECT CONCAT('n', COUNT(*)), MAX(a_id), SUM(id) FROM b;
INSERT INTO w (k, a_id) SELECT DISTINCT LEFT(v, 3), a_id FROM b WHERE v IS NOT NULL AND a_id IN (SELECT id FROM a);
SELECT * FROM w ORDER BY k;
INSERT INTO w (k, a_id) (SELECT CONCAT('p', MAX(id)), COUNT(*) FROM a);
INSERT INTO w (k, a_id) ((SELECT CONCAT('q', id), x FROM a WHERE id = 1));
INSERT INTO w (k, a_id) (SELECT CONCAT('r', id), x FROM a) ORDER BY 1 DESC LIMIT 1;
INSERT INTO w (k, a_id) (SELECT 'u1', id FROM a WHERE id = 1) UNION ALL (SELECT 'u2', id FROM b WHERE id = 2);
INSERT INTO w (SELECT CONCAT('s', a.id), b.id, 1 FROM a JOIN b ON b.a_id = a.id) ON DUPLICATE KEY UPDATE c = 5;
SELECT * FROM w ORDER BY k;
DELETE FROM w WHERE LENGTH(k) = 2;
REPLACE INTO b SELECT id, id, y FROM a WHERE id IN (SELECT a_id FROM w WHERE a_id IS NOT NULL);
SELECT * FROM b ORDER BY id;
INSERT INTO g SELECT id, (SELECT COUNT(*) FROM b WHERE b.a_id = a.id) FROM a WHERE id > 3;
SELECT * FROM g ORDER BY id;
INSERT INTO s (n) SELECT MAX(a.id) FROM a JOIN b ON b.a_id = a.id;
SELECT * FROM s ORDER BY id;
INSERT INTO a (id, x, y) VALUES (100, (SELECT COUNT(*) FROM b), (SELECT MAX(v) FROM b)), (101, 5, 'z');
SELECT * FROM a WHERE id >= 100 ORDER BY id;
INSERT INTO a (id, x) VALUES ((SELECT MAX(id) + 1 FROM a), 7);
SELECT * FROM a WHERE id >= 100 ORDER BY id;
INSERT INTO a SET id = 200, x = (SELECT MIN(id) FROM b);
SELECT * FROM a WHERE id >= 200;
INSERT INTO a (id, x) VALUES (300, (SELECT id FROM b));
INSERT INTO s (n) VALUES ((SELECT COUNT(*) FROM a));
SELECT n FROM s ORDER BY id;
BEGIN;
DELETE FROM a WHERE id IN (SELECT id FROM b);
UPDATE a JOIN w ON w.a_id = a.id - 199 AND w.k = 'a' SET a.x = w.c;
SELECT * FROM a ORDER BY id;
ROLLBACK;
SELECT COUNT(*) FROM a;
-- params: 2, 'new'
UPDATE a SET y = (SELECT MAX(v) FROM b WHERE id > ?) WHERE y <> ?;
SELECT * FROM a ORDER BY id;
-- params: 1
DELETE FROM a WHERE id IN (SELECT a_id FROM b WHERE b.id > ?);
SELECT * FROM a ORDER BY id;

## strict modes and sql_select_limit [gathered]
CREATE TABLE a (id INT PRIMARY KEY, x INT, y VARCHAR(20)) /*weir: shard by hash(id) */;
CREATE TABLE b (id INT PRIMARY KEY, a_id INT, v VARCHAR(20)) /*weir: shard by hash(id) */;
INSERT INTO a VALUES (1, 10, '1a'), (2, 20, '2'), (3, 30, 'x');
INSERT INTO b VALUES (1, 3, 'one'), (2, 1, '2'), (3, 1, '3');
UPDATE a JOIN b ON b.a_id = a.id SET a.x = 1 WHERE a.x > b.v;
UPDATE a JOIN b ON b.a_id = a.id SET a.x = 1 WHERE a.x / (a.id - 1) IS NULL;
# What the rows that are found before warn of is not told.
-- no warnings
UPDATE IGNORE a JOIN b ON b.a_id = a.id SET a.x = 1 WHERE a.x > b.v;
-- no warnings
DELETE FROM a WHERE id IN (SELECT a_id FROM b WHERE v + 0 > 1);
SET sql_mode = '';
-- no warnings
DELETE FROM a WHERE id IN (SELECT a_id FROM b WHERE v + 0 > 2);
SELECT * FROM a ORDER BY id;
SET sql_select_limit = 2;
SELECT id FROM b ORDER BY id;
SELECT id FROM b ORDER BY id LIMIT 3;
-- refused: sql_select_limit
SELECT COUNT(*) FROM (SELECT id FROM b LIMIT 3) d;

## fragments narrowed by others [gathered]
CREATE TABLE a (id INT PRIMARY KEY, x INT, y VARCHAR(20) COLLATE utf8mb4_general_ci, z VARCHAR(20) CHARACTER SET latin1) /*weir: shard by hash(id) */;
CREATE TABLE b (id BIGINT PRIMARY KEY, x SMALLINT UNSIGNED, y CHAR(20) COLLATE utf8mb4_general_ci, z VARCHAR(30) CHARACTER SET latin1) /*weir: shard by hash(id) */;
INSERT INTO a VALUES (1, 10, 'Ann', 'ä'), (2, 20, 'bob ', 'x'), (3, NULL, NULL, NULL), (4, -1, 'ANN', 'Ä'), (5, 10, 'it''s \\', '');
INSERT INTO b VALUES (10, 1, 'ann', 'Ä'), (20, 2, 'Bob', 'X'), (30, NULL, NULL, NULL), (40, 65535, 'it''s \\', ''), (50, 10, 'zed', 'ä ');
SELECT a.id, b.id FROM a JOIN b ON b.id = a.x WHERE a.id = 1;
SELECT a.id, b.id FROM a JOIN b ON b.id = a.x WHERE a.id = 3;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.id = a.x WHERE a.y = 'ann' ORDER BY 1, 2;
SELECT a.id, b.id FROM a RIGHT JOIN b ON b.id = a.x WHERE b.y < 'c' ORDER BY 1, 2;
SELECT a.id, b.id FROM a JOIN b ON b.y = a.y WHERE a.id IN (1, 2, 5) ORDER BY 1, 2;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.z = a.z AND b.id > 10 WHERE a.id > 0 ORDER BY 1, 2;
SELECT id FROM a WHERE x IN (SELECT id FROM b WHERE y = 'ann') ORDER BY id;
SELECT id FROM a WHERE id < 4 AND x NOT IN (SELECT id FROM b WHERE x > 0) ORDER BY id;
SELECT id FROM a WHERE id < 4 AND NOT EXISTS (SELECT 1 FROM b WHERE b.y = a.y AND b.id < 30) ORDER BY id;
SELECT id, (SELECT COUNT(*) FROM b WHERE b.id = a.x) FROM a WHERE id <> 2 ORDER BY id;
SELECT a.id, b.id, c.id FROM a JOIN b ON b.id = a.x JOIN a AS c ON c.id = b.x WHERE a.id < 3 ORDER BY 1, 2, 3;
SELECT id FROM a JOIN b USING (id) WHERE a.x > 5;
SELECT y, a.id, b.id FROM a JOIN b USING (y) WHERE a.x > 5 ORDER BY 1, 2, 3;
SELECT a.id FROM a, b WHERE a.x = b.id AND (a.id = 1 OR b.x = 2) ORDER BY 1;
WITH w AS (SELECT id, x FROM a WHERE x > 5) SELECT b.id FROM w JOIN b ON b.id = w.x JOIN w AS v ON v.x = b.id ORDER BY 1;
-- params: 1
SELECT a.id, b.id FROM a JOIN b ON b.id = a.x WHERE a.id >= ? ORDER BY 1, 2;
UPDATE b SET y = 'new' WHERE id IN (SELECT x FROM a WHERE id = 2);
SELECT * FROM b ORDER BY id;
DELETE b FROM b JOIN a ON a.x = b.id WHERE a.id = 1;
SELECT * FROM b ORDER BY id;
UPDATE a AS p JOIN a AS q ON p.x = q.x AND p.id < q.id SET p.z = 'twice';
SELECT * FROM a ORDER BY id;
DELETE p FROM a AS p JOIN a AS q ON p.x = q.x AND p.id < q.id;
SELECT * FROM a ORDER BY id;

## JSON values among what makes JSON
CREATE TABLE t (id INT PRIMARY KEY, g INT, j JSON) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1, '{"a": 1}'), (2, 1, '[2, "b"]'), (3, 2, '"c"'), (4, 2, NULL);
-- mariadb
-- refused: may be JSON
SELECT g, JSON_ARRAYAGG(j) FROM (SELECT * FROM t ORDER BY id) s GROUP BY g ORDER BY g;
-- mariadb
-- refused: may be JSON
SELECT JSON_OBJECT('x', a.j) FROM t a JOIN t b ON a.id = b.id + 1 ORDER BY a.id;
-- mysql
SELECT JSON_OBJECT('x', a.j) FROM t a JOIN t b ON a.id = b.id + 1 ORDER BY a.id;
SELECT JSON_EXTRACT(a.j, '$[1]') FROM t a JOIN t b ON a.id = b.id + 1 ORDER BY a.id;
SELECT JSON_OBJECT('x', j) FROM t ORDER BY id;

## messages name the tables
CREATE TABLE a (id INT PRIMARY KEY, k INT, s VARCHAR(20)) /*weir: shard by hash(id) */;
CREATE TABLE b (id INT PRIMARY KEY, k INT, s VARCHAR(20)) /*weir: shard by hash(id) */;
INSERT INTO a VALUES (1, 1, 'x');
INSERT INTO b VALUES (1, 1, 'x');
-- mariadb
SELECT * FROM (SELECT k INTO @x FROM a) t;
-- mariadb
SELECT k INTO @x FROM a UNION SELECT k FROM b;
-- mariadb
SELECT k FROM a WHERE k IN (SELECT k INTO @x FROM b);
UPDATE a JOIN b ON a.k = b.k SET a.s = CAST(b.s AS DATE);
SELECT CAST(b.s AS DATE) FROM a JOIN b ON a.k = b.k;
SHOW WARNINGS;

## a view of a view that has another name there
CREATE TABLE t (id INT PRIMARY KEY, k INT) /*weir: shard by hash(id) */;
CREATE TABLE u (id INT PRIMARY KEY, k INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 3), (2, 4), (3, 1), (4, NULL);
INSERT INTO u VALUES (1, 10), (2, 20), (3, 30);
CREATE VIEW v AS SELECT t.id, u.k FROM t JOIN u ON u.id = t.k;
CREATE VIEW v_of_one AS SELECT x.k FROM v x;
CREATE VIEW v_of_two AS SELECT DISTINCT t.id, x.k FROM t LEFT JOIN v x ON x.id = t.k AND x.k < 30;
CREATE VIEW v_of_three AS SELECT y.id, x.k FROM v_of_two y JOIN v x ON x.id = y.id;
-- other types
SELECT * FROM v_of_one ORDER BY k;
SELECT * FROM v_of_two ORDER BY id;
-- other types
SELECT * FROM v_of_three ORDER BY id;
-- other types
SELECT d.x.k, x.id FROM d.v AS x ORDER BY d.x.k;
-- other types
SELECT d.x.* FROM d.v AS x JOIN t ON t.k = x.k - 9 ORDER BY x.id;
SELECT x.id, (SELECT d.y.k FROM v y WHERE d.y.id = d.x.id) FROM t x ORDER BY d.x.id;

## columns that * does not show
-- mariadb
CREATE TABLE h (id INT PRIMARY KEY, x INT NOT NULL INVISIBLE DEFAULT 7, a INT, s VARCHAR(20) INVISIBLE) /*weir: shard by hash(id) */;
-- mysql
CREATE TABLE h (id INT PRIMARY KEY, x INT NOT NULL DEFAULT 7 INVISIBLE, a INT, s VARCHAR(20) INVISIBLE) /*weir: shard by hash(id) */;
INSERT INTO h VALUES (1, 2), (2, 3), (3, 4);
INSERT INTO h (id, x, a, s) VALUES (4, 2, 40, 'four'), (5, 3, 50, NULL);
SELECT * FROM h p JOIN h q ON p.x = q.x AND p.id < q.id ORDER BY 1, 3;
SELECT p.*, q.x FROM h p LEFT JOIN h q ON p.a = q.x ORDER BY p.id, q.x, q.id LIMIT 3;
SELECT * FROM h p JOIN h q ON p.x = q.id ORDER BY 1, 3;
SELECT DISTINCT p.* FROM h p RIGHT JOIN h q ON p.x = q.id WHERE q.s IS NULL ORDER BY 1;
SELECT * FROM h WHERE x IN (SELECT a FROM h WHERE s IS NULL) ORDER BY id;
SELECT p.id, p.x FROM h p NATURAL JOIN (SELECT a FROM h WHERE x > 2) AS q ORDER BY 1;
SELECT COUNT(*) FROM h p NATURAL JOIN h q;
CREATE TABLE copied (PRIMARY KEY (id)) /*weir: shard by hash(id) */ SELECT p.*, q.x AS y FROM h p JOIN h q ON p.x = q.id;
SELECT * FROM copied ORDER BY id;

## a table lacks what a table around of the same name has
CREATE TABLE t (k INT PRIMARY KEY, a INT, only_t INT) /*weir: shard by hash(k) */;
CREATE TABLE u (k INT PRIMARY KEY, b INT) /*weir: shard by hash(k) */;
CREATE TABLE w (k INT PRIMARY KEY, b INT, c INT) /*weir: shard by hash(k) */;
INSERT INTO t VALUES (1, 1, 10), (2, 2, 20), (3, 3, 30);
INSERT INTO u VALUES (1, 10), (2, 25), (3, 30);
INSERT INTO w VALUES (1, 1, 1), (2, 2, 2), (3, 9, 9);
-- gathered
SELECT k FROM t WHERE EXISTS (SELECT 1 FROM u AS t WHERE t.b = t.only_t) ORDER BY k;
-- gathered
SELECT x.k FROM t AS x WHERE EXISTS (SELECT 1 FROM u AS x WHERE x.b = x.a * 10) ORDER BY k;
-- gathered
SELECT k, (SELECT COUNT(*) FROM u AS t WHERE t.b > t.only_t) FROM t ORDER BY k;
-- gathered
SELECT k FROM t WHERE EXISTS (SELECT 1 FROM (SELECT b FROM u) AS t WHERE t.b = t.only_t) ORDER BY k;
-- gathered
SELECT k FROM t WHERE EXISTS (SELECT 1 FROM (SELECT b FROM u) AS t WHERE t.b = t.k * 10) ORDER BY k;
-- gathered
SELECT k FROM t WHERE EXISTS (SELECT 1 FROM (SELECT * FROM u) AS t WHERE t.b = t.only_t) ORDER BY k;
-- gathered
WITH t2 AS (SELECT * FROM u) SELECT k FROM t WHERE EXISTS (SELECT 1 FROM t2 AS t WHERE t.b = t.only_t) ORDER BY k;
-- gathered
SELECT x.k FROM t AS x WHERE EXISTS (SELECT 1 FROM w AS y WHERE y.b = x.k AND EXISTS (SELECT 1 FROM u AS x WHERE x.b = x.only_t AND x.k = y.k)) ORDER BY x.k;
-- gathered
SELECT x.k FROM t AS x WHERE x.k IN (SELECT y.k FROM w AS x JOIN u AS y ON x.only_t = y.b) ORDER BY x.k;
SELECT x.k FROM t AS x WHERE EXISTS (SELECT 1 FROM u AS x WHERE x.k = x.only_t) ORDER BY x.k;
SELECT x.k FROM t AS x WHERE EXISTS (SELECT 1 FROM u AS x WHERE x.nothing = x.only_t) ORDER BY x.k;
SELECT x.k FROM t AS x JOIN u AS z ON x.k = z.k WHERE EXISTS (SELECT 1 FROM w AS x WHERE x.a = z.k AND x.k = 1) ORDER BY x.k;
UPDATE t SET a = a + 1 WHERE EXISTS (SELECT 1 FROM u AS t WHERE t.b = t.only_t);
SELECT * FROM t ORDER BY k;
DELETE FROM t WHERE EXISTS (SELECT 1 FROM u AS t WHERE t.b = t.only_t AND t.k = 1);
SELECT * FROM t ORDER BY k;
INSERT INTO w SELECT k + 10, a, only_t FROM t WHERE EXISTS (SELECT 1 FROM u AS t WHERE t.b = t.only_t AND t.k = 3);
SELECT * FROM w ORDER BY k;

## bare names where a table hides another
CREATE TABLE t (k INT PRIMARY KEY, a INT, only_t INT) /*weir: shard by hash(k) */;
CREATE TABLE u (k INT PRIMARY KEY, b INT) /*weir: shard by hash(k) */;
INSERT INTO t VALUES (1, 1, 10), (2, 2, 20), (3, 3, 30);
INSERT INTO u VALUES (1, 10), (2, 25), (3, 30);
-- gathered
SELECT k FROM t WHERE EXISTS (SELECT 1 FROM u AS t WHERE b = only_t) ORDER BY k;
-- gathered
SELECT x.k FROM t AS x WHERE EXISTS (SELECT 1 FROM u AS x WHERE x.b = a * 10) ORDER BY k;
-- gathered
SELECT k, (SELECT COUNT(*) FROM u AS t WHERE b > only_t) FROM t ORDER BY k;
-- gathered
SELECT k FROM t WHERE EXISTS (SELECT 1 FROM (SELECT b FROM u) AS t WHERE b = only_t) ORDER BY k;
-- gathered
SELECT k FROM t WHERE EXISTS (SELECT 1 FROM (SELECT * FROM u) AS t WHERE b = only_t) ORDER BY k;

## states that a row has had [gathered]
-- mariadb
CREATE TABLE h (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING /*weir: shard by hash(id) */;
-- mariadb
CREATE VIEW hv AS SELECT id, v FROM h FOR SYSTEM_TIME ALL;
-- mariadb
INSERT INTO h VALUES (1, 1), (2, 2), (3, 3);
-- mariadb
UPDATE h SET v = v + 1;
-- mariadb
UPDATE h SET v = v + 1 WHERE id < 3;
-- mariadb
SELECT a.id AS x, b.id AS y, a.v FROM h FOR SYSTEM_TIME ALL AS a JOIN h AS b ON b.v = a.v ORDER BY 1, 2, 3;
-- mariadb
WITH c AS (SELECT id, v FROM h FOR SYSTEM_TIME ALL) SELECT c.id AS x, c.v, h.id AS y FROM c LEFT JOIN h ON h.v = c.v ORDER BY 1, 2, 3;
-- mariadb
SELECT hv.id AS x, hv.v, h.id AS y FROM hv LEFT JOIN h ON h.v = hv.v ORDER BY 1, 2, 3;
