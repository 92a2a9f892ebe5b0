# Expressions over aggregates of groups that have rows on several shards.

## expressions over one row of all
CREATE TABLE t (id INT PRIMARY KEY, g INT, a INT, b DECIMAL(10,4), c DOUBLE, d VARCHAR(20), e DATE, f BIGINT UNSIGNED, k DATETIME(6), m TIME(3)) /*weir: shard by hash(id) */;
SELECT COALESCE(SUM(a), 0), IFNULL(SUM(b), 0), SUM(a) / COUNT(*), ROUND(AVG(b), 2), MAX(a) - MIN(a) FROM t;
INSERT INTO t VALUES (1, 1, 10, 1.2345, 1.5, 'x', '2024-01-01', 1, '2024-01-01 00:00:00.000001', '01:02:03.456'), (2, 1, 20, 2.3456, 2.5, 'Xz', '2024-02-01', 2, NULL, '-01:02:03.456'), (3, 2, NULL, NULL, NULL, NULL, NULL, NULL, '2000-01-01', NULL), (4, 2, -5, 99999.9999, -1e10, 'ä', '1999-12-31', 18446744073709551615, '2024-01-01', '101:00:00'), (5, NULL, 7, 0.0001, 0, 'b ', '2024-01-01', 7, '2024-06-01 12:00:00', '00:00:00'), (6, 3, 2147483647, -1.0, 3.25, 'b', '2030-01-01', 4, NULL, '12:00:00'), (7, 1, 10, 1.2345, 1.5, 'x', '2024-01-01', 1, '2024-01-01 00:00:00.000001', '01:02:03.456');
SELECT COALESCE(SUM(a), 0), IFNULL(SUM(b), 0), SUM(a) / COUNT(*), ROUND(AVG(b), 2), MAX(a) - MIN(a) FROM t;
SELECT COALESCE(SUM(a), 0) FROM t WHERE id > 100;
SELECT COALESCE(SUM(c), 0), COALESCE(SUM(b), 0.0), COALESCE(MAX(d), 'none'), COALESCE(MAX(e), '1970-01-01') FROM t WHERE id > 100;
SELECT SUM(a) / SUM(f) FROM t WHERE id < 3;
SELECT AVG(a) * 3, AVG(a) + AVG(b), SUM(b) / AVG(a), -AVG(a), AVG(a) * AVG(b) FROM t;
SELECT ROUND(AVG(a), 6), AVG(b) > 16667.3024333, COALESCE(AVG(a), 0), IFNULL(AVG(b), 1), FLOOR(AVG(a)), ABS(AVG(b) - 20000) FROM t;
SELECT AVG(DISTINCT b) * 3, ROUND(AVG(DISTINCT b)) FROM t;
SELECT CASE WHEN AVG(a) > 1 THEN AVG(b) ELSE 0 END, AVG(a) BETWEEN 1 AND 2 FROM t;
-- mariadb
SELECT AVG(b) / AVG(a), CONCAT('avg ', AVG(b)) FROM t;
-- mysql
-- gathered
SELECT AVG(b) / AVG(a) FROM t;
-- mysql
-- gathered
SELECT CONCAT('avg ', AVG(b)) FROM t;
SELECT AVG(DISTINCT a) * 2, COUNT(DISTINCT a) + 1, SUM(DISTINCT a) / 7 FROM t;
SELECT CAST(SUM(b) AS SIGNED), CAST(AVG(a) AS DECIMAL(10,2)), CAST(COUNT(*) AS CHAR), CAST(MAX(e) AS CHAR) FROM t;
SELECT CONCAT(COUNT(*), ' of ', SUM(a)), CONCAT(MIN(d), '-', MAX(d)) FROM t;
SELECT IF(COUNT(*) > 3, 'many', 'few'), CASE WHEN SUM(a) > 10 THEN SUM(a) ELSE 0 END, CASE COUNT(*) WHEN 7 THEN 'seven' END FROM t;
SELECT 100 * SUM(CASE WHEN g = 1 THEN b ELSE 0 END) / SUM(b), 100.00 * SUM(IF(g = 1, 1, 0)) / COUNT(*) FROM t;
SELECT DATEDIFF(MAX(e), MIN(e)), MAX(e) + INTERVAL 1 DAY, DATE_FORMAT(MAX(k), '%Y-%m-%d %H:%i:%s.%f'), TIMESTAMPDIFF(MICROSECOND, MIN(k), MAX(k)) FROM t;
SELECT YEAR(MAX(e)), DATE(MAX(k)), MAX(e) > '2024-06-01', MAX(k) IS NULL, TIME_TO_SEC(MAX(m)), SUBTIME(MAX(m), MIN(m)) FROM t;
SELECT MAX(f) DIV 3, MAX(f) % 1000, SUM(f) + 1, MIN(f) - 1, MAX(f) / 2 FROM t;
SELECT SUM(c) + 0, MAX(c) * 2, MIN(c) / 3, AVG(c) + 1, ROUND(MAX(c), 1), FLOOR(MIN(c)) FROM t WHERE id <> 4;
SELECT BIT_OR(f) & 255, BIT_AND(a) | 1, BIT_XOR(a) ^ 3 FROM t WHERE id <> 4 AND f IS NOT NULL;
SELECT LENGTH(GROUP_CONCAT(a ORDER BY id)), CONCAT('[', GROUP_CONCAT(d ORDER BY id SEPARATOR '|'), ']'), UPPER(GROUP_CONCAT(d ORDER BY id)) FROM t WHERE id < 7;
SELECT MAX(d) = 'x', MAX(d) LIKE 'X%', UPPER(MAX(d)), MAX(d) IN ('X', 'y'), STRCMP(MIN(d), MAX(d)), LENGTH(MIN(d)) FROM t;
SELECT COUNT(*) AS n, COUNT(*) * 2 AS twice, SUM(a) AS s, SUM(a) + COUNT(*) FROM t;
SELECT (COUNT(*)), ((SUM(a)) + (1)), - COUNT(*), NOT COUNT(*), COUNT(*) IS NULL, COUNT(*) BETWEEN 1 AND 9 FROM t;
SELECT ROUND(SUM(b) / NULLIF(COUNT(a), 0), 3), NULLIF(COUNT(*), 7), GREATEST(MAX(a), COUNT(*)), LEAST(SUM(b), 3) FROM t;
SELECT SUM(a) / 0, SUM(a) % 0 FROM t;
SELECT COUNT(*) + 1 FROM t HAVING COUNT(*) > 3;
SELECT COUNT(*) + 1 FROM t HAVING COUNT(*) > 300;
SELECT COUNT(*) + 1 FROM t LIMIT 0;
SELECT COUNT(*) + 1 AS x FROM t ORDER BY x LIMIT 1;
SELECT 1 + 1, COUNT(*) * 2, 'x' FROM t;
SELECT FORMAT(SUM(a), 2), HEX(MAX(a)), LPAD(COUNT(*), 5, '0'), CHAR_LENGTH(SUM(b)) FROM t;
SELECT JSON_OBJECT('n', COUNT(*), 's', SUM(a)), JSON_ARRAY(MAX(d), MIN(a)) FROM t;
SELECT SQRT(SUM(a) + 0), POW(COUNT(*), 2), LOG(MAX(a)), TRUNCATE(AVG(b), 3), CEIL(AVG(b)) FROM t;
SELECT MAX(a) + INTERVAL 1 DAY IS NULL, SUM(a) << 2, ~COUNT(*) FROM t;
SELECT COUNT(*) FROM t HAVING SUM(a) / COUNT(*) > 1;
SELECT SUM(a) > 1 AND COUNT(*) < 100, SUM(a) IS NOT NULL OR 1 = 0, COUNT(*) = 7 XOR 0 FROM t;

## expressions over groups
CREATE TABLE t (id INT PRIMARY KEY, g INT, s VARCHAR(10), a INT, b DECIMAL(10,4), c DOUBLE, w ENUM('p', 'q'), y YEAR, d DATE) /*weir: shard by hash(id) */;
SELECT g, COALESCE(SUM(a), 0) + 1 FROM t GROUP BY g ORDER BY g;
INSERT INTO t VALUES (1, 1, 'x', 10, 1.5, 0.1, 'p', 2024, '2024-01-05'), (2, 1, 'y', 20, 2.5, 0.2, 'q', 2023, '2024-02-05'), (3, 2, 'x', 30, 3.5, 0.3, 'p', 2024, '2024-01-06'), (4, 2, 'y', 40, NULL, 1e20, 'q', 2023, NULL), (5, 1, 'x', 50, -1, NULL, 'p', 2024, '2024-01-05'), (6, NULL, 'x', 60, 0.0001, -2.5, NULL, NULL, '2024-03-01'), (7, NULL, NULL, NULL, 7, 7, 'q', 2023, '2024-03-01'), (8, 3, 'Y', 80, 8, 8, 'p', 2024, '2024-02-01');
SELECT g, SUM(a) / COUNT(*) FROM t GROUP BY g ORDER BY g;
SELECT g, SUM(a) / COUNT(*) FROM t GROUP BY g;
SELECT g, COALESCE(SUM(a), 0), ROUND(AVG(b), 2) FROM t GROUP BY g ORDER BY g DESC;
SELECT g, COALESCE(SUM(a), 0) AS total FROM t GROUP BY g ORDER BY total DESC, g;
-- any order
SELECT g, COUNT(*) / 2 AS h FROM t GROUP BY g ORDER BY h DESC;
SELECT g, COUNT(*) / 2 AS h FROM t GROUP BY g ORDER BY 2 DESC, 1 LIMIT 2;
SELECT g, COUNT(*) / 2 AS h FROM t GROUP BY g ORDER BY h DESC, g LIMIT 1, 2;
SELECT g, COUNT(*) / 2 FROM t GROUP BY g ORDER BY g LIMIT 2;
SELECT g, COUNT(*) / 2 FROM t GROUP BY g ORDER BY g LIMIT 1 OFFSET 2;
SELECT g, CONCAT(g, ':', COUNT(*)) FROM t GROUP BY g ORDER BY g;
SELECT s, CONCAT(s, ':', COUNT(*)) FROM t WHERE id < 8 GROUP BY s ORDER BY s;
SELECT s, CONCAT(UPPER(s), '/', COUNT(*)), COUNT(*) FROM t WHERE id < 8 GROUP BY s ORDER BY s;
SELECT CONCAT(g, '-', s) AS k, SUM(a) * 2 FROM t WHERE id < 8 GROUP BY g, s ORDER BY g, s;
SELECT g + 1 AS k, COUNT(*) * 2 FROM t GROUP BY k ORDER BY k;
SELECT g + 1 AS k, (g + 1) * COUNT(*) FROM t GROUP BY g + 1 ORDER BY g + 1;
SELECT g * COUNT(*), g + SUM(a) FROM t GROUP BY g ORDER BY g;
SELECT DATE_FORMAT(d, '%Y-%m') AS m, COALESCE(SUM(a), 0) AS s, COUNT(*) * 1.5 FROM t GROUP BY m ORDER BY m;
SELECT YEAR(d), MONTH(d), SUM(a) / 3 FROM t GROUP BY YEAR(d), MONTH(d) ORDER BY 1, 2;
SELECT w, COUNT(*) + 0 FROM t GROUP BY w ORDER BY w;
SELECT y, SUM(a) + 0 FROM t GROUP BY y ORDER BY y;
SELECT g FROM t GROUP BY g HAVING SUM(a) > 2 * COUNT(*) ORDER BY g;
SELECT g, COUNT(*) FROM t GROUP BY g HAVING COUNT(*) BETWEEN 2 AND 3 ORDER BY g;
SELECT g, COUNT(*) FROM t GROUP BY g HAVING COUNT(*) NOT BETWEEN 2 AND 3 ORDER BY g;
SELECT g, COUNT(*) FROM t GROUP BY g HAVING COUNT(*) IN (1, 3) ORDER BY g;
SELECT g, SUM(a) FROM t GROUP BY g HAVING AVG(a) > 25.5 ORDER BY g;
SELECT g, SUM(a) FROM t GROUP BY g HAVING AVG(a) * 2 > 51 AND g IS NOT NULL ORDER BY g;
SELECT g, SUM(a) AS s FROM t GROUP BY g HAVING s + 1 > 60 ORDER BY g;
SELECT g, SUM(a) + 1 AS s FROM t GROUP BY g HAVING s > 60 ORDER BY g;
SELECT g, SUM(a) + 1 AS s FROM t GROUP BY g HAVING s > 60 ORDER BY s DESC, g LIMIT 1;
SELECT g FROM t GROUP BY g HAVING MAX(s) = 'X' ORDER BY g;
SELECT g FROM t GROUP BY g HAVING MAX(s) LIKE 'y%' OR MIN(s) IS NULL ORDER BY g;
SELECT g, COUNT(*) FROM t GROUP BY g HAVING g + COUNT(*) > 3 ORDER BY g;
SELECT g FROM t GROUP BY g HAVING NOT COUNT(*) > 1 ORDER BY g;
SELECT g FROM t GROUP BY g HAVING COUNT(DISTINCT s) = 1 ORDER BY g;
SELECT g FROM t GROUP BY g HAVING MIN(d) < '2024-02-01' ORDER BY g;
SELECT g FROM t GROUP BY g ORDER BY SUM(a) / COUNT(*), g;
SELECT g FROM t GROUP BY g ORDER BY -COUNT(*), g;
SELECT g FROM t GROUP BY g ORDER BY COALESCE(SUM(b), 0) DESC, g LIMIT 3;
SELECT g, MAX(s) FROM t GROUP BY g ORDER BY MAX(s) DESC, g;
SELECT g, COUNT(*) n FROM t GROUP BY g ORDER BY n * 2 DESC, g;
SELECT g, AVG(a) x FROM t GROUP BY g ORDER BY ROUND(x) DESC, g DESC;
SELECT g, IF(COUNT(*) > 1, MAX(s), 'one') FROM t GROUP BY g ORDER BY g;
SELECT g, COUNT(DISTINCT s) / COUNT(*) FROM t GROUP BY g ORDER BY g;
SELECT g, SUM(c) * 2, AVG(c) / 3 FROM t WHERE id IN (1, 3, 6, 8) GROUP BY g ORDER BY g;
SELECT g, CONCAT(GROUP_CONCAT(a ORDER BY a DESC), '!') FROM t GROUP BY g ORDER BY g;
SELECT t1.g, SUM(t1.a) / SUM(t2.a) FROM t t1 JOIN t t2 ON t1.id = t2.id GROUP BY t1.g ORDER BY t1.g;
SELECT *, 1 FROM t GROUP BY id HAVING COUNT(*) + 1 > 1 ORDER BY id;
SELECT id, COUNT(*) + 1 FROM t GROUP BY id ORDER BY id;
SELECT g, COUNT(*) + 1 FROM t GROUP BY g LIMIT 0;
SELECT g, MIN(a) + 1 FROM t WHERE a > (SELECT 15) GROUP BY g ORDER BY g;
SELECT COUNT(*) + 1 FROM t GROUP BY g ORDER BY g;
SELECT g, g, SUM(a), SUM(a), SUM(a) + SUM(a) FROM t GROUP BY g ORDER BY g;
SELECT COUNT(*) + 1 AS `a b`, SUM(a) - 1 AS 'c d' FROM t GROUP BY g ORDER BY g;
SELECT g, SUM(a) / COUNT(*) FROM t GROUP BY 1 ORDER BY 1;
-- gathered
SELECT g, COUNT(*) + FLOOR(RAND()) FROM t GROUP BY g;
-- gathered
SELECT g, COUNT(*) + (SELECT 1) FROM t GROUP BY g;
-- gathered
SELECT g, UNIX_TIMESTAMP(MAX(d)) FROM t GROUP BY g;
-- refused: has a type
SELECT g, MAX(y) + 1 FROM t GROUP BY g;
-- gathered
SELECT g, @x := COUNT(*) + 1 FROM t GROUP BY g;

## expressions with parameters
CREATE TABLE t (id INT PRIMARY KEY, g INT, s VARCHAR(10), a INT, b DECIMAL(10,4)) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1, 'x', 10, 1.5), (2, 1, 'y', 20, 2.5), (3, 2, 'x', 30, 3.5), (4, 2, 'y', 40, NULL), (5, 1, 'x', 50, -1), (6, NULL, 'x', 60, 0.0001), (7, NULL, NULL, NULL, 7), (8, 3, 'Y', 80, 8);
-- params: 2
SELECT g, SUM(a) * ? FROM t GROUP BY g ORDER BY g;
-- params: 0
SELECT COALESCE(SUM(b), ?) FROM t WHERE id > 100;
-- params: 1, 0, 100
SELECT g, SUM(a) + ?, COALESCE(SUM(b), ?) FROM t WHERE id < ? GROUP BY g ORDER BY g;
-- params: 'k', 5, 1.5
SELECT g, CONCAT(?, COUNT(*)) FROM t WHERE id > ? GROUP BY g HAVING AVG(a) > ? ORDER BY g;
-- params: 2, 3, 1
SELECT g, COUNT(*) FROM t GROUP BY g HAVING COUNT(*) BETWEEN ? AND ? + COUNT(*) ORDER BY COUNT(*) * ?, g;
-- params: 1, NULL
SELECT IF(COUNT(*) > ?, SUM(a), ?) FROM t;
-- params: 'many', 'few'
SELECT g, IF(COUNT(*) > 1, ?, ?) FROM t GROUP BY g ORDER BY g;
-- params: 1, 1, 2
SELECT g, COUNT(*) / 2 AS h FROM t GROUP BY g ORDER BY h * ? DESC, g LIMIT ?, ?;

## expressions over rolled up groups
CREATE TABLE t (id INT PRIMARY KEY, g INT, s VARCHAR(10), a INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1, 'x', 10), (2, 1, 'y', 20), (3, 2, 'x', 30), (4, 2, 'y', 40), (5, 1, 'x', 50), (6, 3, 'x', 60);
-- other columns
SELECT g, SUM(a) / COUNT(*) FROM t GROUP BY g WITH ROLLUP;
-- other columns
SELECT g, s, COALESCE(SUM(a), 0) + 1 FROM t GROUP BY g, s WITH ROLLUP;
-- other columns
SELECT g, COUNT(*) FROM t GROUP BY g WITH ROLLUP HAVING COUNT(*) * 2 > 4;

## expressions in transactions and of chosen rows
CREATE TABLE t (id INT PRIMARY KEY, g INT, a INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1, 1), (2, 1, 2), (3, 2, 3), (4, 2, 4);
BEGIN;
INSERT INTO t VALUES (5, 3, 5), (6, 1, 6);
SELECT g, SUM(a) / COUNT(*) FROM t GROUP BY g ORDER BY g;
SELECT g, COALESCE(SUM(a), 0) + 0 FROM t GROUP BY g ORDER BY g FOR UPDATE;
UPDATE t SET a = a * 10 WHERE g = 1;
SELECT g, SUM(a) - MIN(a) FROM t GROUP BY g ORDER BY g;
ROLLBACK;
SELECT g, SUM(a) - MIN(a) FROM t GROUP BY g ORDER BY g;
SELECT g, SUM(a) - MIN(a) FROM t WHERE id IN (1, 2, 3) GROUP BY g ORDER BY g;
SELECT SUM(a) + 1 FROM t WHERE id = 3;
SET @f = 3;
SELECT g, SUM(a) * @f FROM t GROUP BY g ORDER BY g;
SELECT COUNT(*) > 3 AND NOW() > '2020-01-01', YEAR(NOW()) >= 2020 AND SUM(a) > 3 FROM t;
SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES';
SELECT "g", SUM(a) + 1, CONCAT('\', COUNT(*)) FROM t GROUP BY "g" ORDER BY "g";
SET sql_mode = '';
SELECT g, a + COUNT(*) FROM t WHERE id IN (1, 3) GROUP BY g ORDER BY g;
SELECT SUM(a) / 0 FROM t;
SHOW WARNINGS;

## texts in expressions over groups
CREATE TABLE t (id INT PRIMARY KEY, k VARCHAR(20), l VARCHAR(20) CHARACTER SET latin1, b VARCHAR(20) COLLATE utf8mb4_bin, a INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 'a', 'ä', 'A', 1), (2, 'b', 'ö', 'a', 2), (3, 'c"\\', 'ß', 'B', 3), (4, '😀', 'x', '😀', 4), (5, 'a', 'ä', 'b', 5);
SELECT k, CONCAT(k, '=', SUM(a)) FROM t GROUP BY k ORDER BY k;
SELECT l, CONCAT(l, '=', SUM(a)), HEX(CONCAT(l, '')) FROM t GROUP BY l ORDER BY l;
SELECT b, CONCAT(b, '=', SUM(a)), IF(b > 'a', COUNT(*), 0) FROM t GROUP BY b ORDER BY b;
SELECT MAX(k) > 'B', MAX(b) > 'B', MIN(l) = 'A', HEX(MAX(l)), LENGTH(MAX(l)), CHAR_LENGTH(MAX(k)) FROM t;
SELECT CONCAT(MIN(k), MAX(b)) FROM t;
SELECT b, COUNT(*) + 0 AS n FROM t GROUP BY b ORDER BY n, b DESC;
SET NAMES latin1;
-- refused: SET NAMES utf8mb4
SELECT CONCAT(l, COUNT(*)) FROM t GROUP BY l ORDER BY l;
SELECT l, COUNT(*) + 1 FROM t GROUP BY l ORDER BY l;
