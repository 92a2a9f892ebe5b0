# What random queries and writes over tables of many types and placements have found.

## a SINGLE table that has no row which matters, beside one of another shard
CREATE TABLE g (k INT PRIMARY KEY, v INT) /*weir: global */;
CREATE TABLE a (k INT PRIMARY KEY, v INT) /*weir: single on shard '{s1}' */;
CREATE TABLE b (k INT PRIMARY KEY, v INT) /*weir: single on shard '{s2}' */;
CREATE TABLE h (k INT PRIMARY KEY, v INT) /*weir: shard by hash(k) */;
INSERT INTO g VALUES (1, 1), (2, 2);
INSERT INTO a VALUES (1, 1), (2, 2);
INSERT INTO b VALUES (1, 10), (2, 20);
INSERT INTO h VALUES (1, 1), (2, 2), (3, 3);
-- text
SELECT b.v FROM a JOIN b ON a.k = b.k AND b.v = NULL ORDER BY 1;
-- text
SELECT a.v FROM a JOIN b ON a.k = b.k AND b.v = NULL ORDER BY 1;
-- text
SELECT a.k, b.v FROM a LEFT JOIN b ON a.k = b.k AND b.v = NULL ORDER BY 1;
-- text
SELECT b.k, a.v FROM b LEFT JOIN a ON a.k = b.k AND a.v = NULL ORDER BY 1;
-- text
SELECT COUNT(*) FROM a LEFT JOIN b ON a.k = b.k WHERE NULL = b.v;
-- text
SELECT g.k FROM g JOIN a ON a.k = g.k JOIN b ON b.k = g.k WHERE a.v = NULL AND EXISTS (SELECT 1 FROM b AS x WHERE x.k = g.k);
SELECT a.k, h.v FROM a LEFT JOIN h ON h.k = a.k AND h.k = NULL ORDER BY 1;
SELECT h.k, a.v FROM h LEFT JOIN a ON h.k = a.k AND a.k = NULL WHERE h.k = 1;
SELECT h.k, b.v FROM h LEFT JOIN b ON h.k = b.k AND b.k = NULL WHERE h.k = 1;
-- text
SELECT h.k FROM h JOIN a ON a.k = h.k AND a.v = NULL JOIN b ON b.k = h.k WHERE h.k = 1;
-- text
SELECT v FROM a WHERE k = 1 UNION SELECT b.v FROM b JOIN a ON a.k = b.k AND a.v = NULL ORDER BY 1;
-- text
DELETE b FROM a JOIN b ON a.k = b.k WHERE a.v = NULL;
-- text
DELETE a FROM a JOIN b ON a.k = b.k WHERE a.v = NULL;
-- text
UPDATE a JOIN b ON a.k = b.k SET b.v = 0 WHERE a.v = NULL;
-- text
INSERT INTO a SELECT b.k + 10, b.v FROM b WHERE b.v = NULL;
SELECT * FROM a ORDER BY k;
SELECT * FROM b ORDER BY k;

## NULL for a column that can't be NULL, in rows of several shards
CREATE TABLE a (k INT PRIMARY KEY, v INT) /*weir: shard by hash(k) */;
CREATE TABLE c (k INT PRIMARY KEY, n INT NOT NULL, s VARCHAR(5)) /*weir: shard by hash(k) */;
CREATE TABLE i (k INT PRIMARY KEY AUTO_INCREMENT, n INT NOT NULL) /*weir: shard by hash(k) */;
INSERT INTO a VALUES (1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (6, 1), (7, 1), (8, 1);
INSERT INTO c VALUES (1, NULL, 'a'), (2, 1, 'b');
SET sql_mode = '';
INSERT INTO c VALUES (1, NULL, 'a'), (2, 1, 'b');
INSERT INTO c VALUES (3, NULL, 'a'), (4, 1, 'b');
INSERT INTO c (k, n) VALUE (5, NULL), (6, 1);
INSERT INTO c (k, n, s) VALUES (7, NULLIF(1, 1), CONCAT('a', 'b')), (8, 1, 'b');
REPLACE INTO c VALUES (1, NULL, 'c'), (2, 2, 'c');
INSERT INTO c VALUES (3, NULL, 'd'), (4, 2, 'd') ON DUPLICATE KEY UPDATE n = VALUES(n) + 5, s = 'e';
INSERT INTO c VALUES (11, NULL, 'd');
-- params: 12, NULL, 13, 1
INSERT INTO c (k, n) VALUES (?, ?), (?, ?);
INSERT INTO i (n) VALUES (NULL), (1);
INSERT INTO i (n) VALUES (NULL), (1);
INSERT INTO i (n) VALUES (NULL), (1);
INSERT INTO c (k, n) SELECT k + 20, IF(k = 4, NULL, k) FROM a;
SELECT * FROM c ORDER BY k;
SELECT n, COUNT(*) FROM i GROUP BY n ORDER BY n;

## numbers in hexadecimal and bits through INSERT … SELECT
CREATE TABLE a (k INT PRIMARY KEY, v INT) /*weir: shard by hash(k) */;
CREATE TABLE n (k INT, i INT, d DECIMAL(10, 2), f DOUBLE, s VARCHAR(10), b BIT(8), PRIMARY KEY (k)) /*weir: single on shard '{s2}' */;
INSERT INTO a VALUES (1, 1), (2, 2), (3, 3), (4, 4);
INSERT INTO n (k, i, d, f, s, b) SELECT v, 0x05, 0x06, 0x07, 0x41, 0x08 FROM a;
INSERT INTO n (k, i, d, f, s, b) SELECT v + 10, b'101', b'110', b'111', b'1000001', b'1000' FROM a ORDER BY k LIMIT 3;
INSERT INTO n (k, i) SELECT v + 20, 0xFFFFFFFF FROM a;
INSERT INTO n (k, i) SELECT DISTINCT v + 30, 5 FROM a;
CREATE TABLE b (k INT PRIMARY KEY, b BIT(8), c BIT(1)) /*weir: shard by hash(k) */;
CREATE TABLE m (k INT PRIMARY KEY, t TINYINT, f FLOAT) /*weir: shard by hash(k) */;
INSERT INTO b VALUES (41, b'101', b'1'), (42, 48, b'0'), (43, 255, NULL), (44, 0, 1);
INSERT INTO n (k, i, d, f, b) SELECT k, b, b.c, b, b FROM b ORDER BY k;
INSERT INTO n (k, i) SELECT k + 10, b FROM b;
INSERT INTO n (k, b, i) SELECT * FROM (SELECT k + 20, b, k FROM b) AS q;
INSERT INTO m (k, f, t) SELECT * FROM b;
INSERT INTO m (k, t) SELECT k + 10, c FROM b WHERE b > 4;
SELECT k, i, d, f, s, HEX(b) FROM n ORDER BY k;
SELECT * FROM m ORDER BY k;

## expressions over the least and greatest texts, and over deviations, of groups
CREATE TABLE a (k INT PRIMARY KEY, v INT, s VARCHAR(10), d DECIMAL(8, 2), f DOUBLE) /*weir: shard by hash(k) */;
INSERT INTO a VALUES (1, 1, 'a', 1.5, 1), (2, 1, 'b', 2.5, 2), (3, 2, NULL, 3, 4), (4, 2, 'd', 4, 8), (5, 2, 'e', NULL, 16);
-- gathered
SELECT v, CONCAT(MAX(UPPER(s)), '-') FROM a GROUP BY v ORDER BY v;
-- gathered
SELECT v, MAX(COALESCE(s, 'x')) FROM a GROUP BY v HAVING MAX(COALESCE(s, 'x')) > 'c' ORDER BY v;
-- gathered
SELECT CONCAT(MIN(CASE WHEN v = 1 THEN s ELSE 'z' END), '!') FROM a;
-- gathered
SELECT v, UPPER(MAX(CAST(k AS CHAR))) FROM a GROUP BY v ORDER BY v;
SELECT v, MAX(CASE WHEN s = 'a' THEN 1 ELSE 0 END) + 1 FROM a GROUP BY v ORDER BY v;
SELECT v, MAX(COALESCE(d, 0)) * 2 FROM a GROUP BY v ORDER BY v;
SELECT v, MAX(LENGTH(CONCAT(s, 'x'))) + 1 FROM a GROUP BY v ORDER BY v;
SELECT v, ROUND(STDDEV(k), 3) FROM a GROUP BY v ORDER BY v;
SELECT ROUND(VARIANCE(d), 2), ROUND(STDDEV_SAMP(f), 2) FROM a;
SELECT v, COUNT(*) FROM a GROUP BY v HAVING STD(k) > 0.6;

## BIT and texts
CREATE TABLE a (k INT PRIMARY KEY, c VARCHAR(20)) /*weir: shard by hash(k) */;
CREATE TABLE b (k INT PRIMARY KEY, c BIT(8), d BIT(3)) /*weir: shard by hash(k) */;
INSERT INTO a VALUES (1, '5'), (2, 'a'), (3, ''), (4, '53'), (5, '2');
INSERT INTO b VALUES (1, b'0', b'1'), (2, 5, 5), (3, 53, 0);
-- gathered
-- no warnings
SELECT a.k, b.k FROM a LEFT JOIN b USING (c) ORDER BY 1, 2;
-- gathered
-- no warnings
SELECT a.k, b.k FROM a JOIN b ON a.c = b.c ORDER BY 1, 2;
-- gathered
-- no warnings
SELECT a.k, b.k FROM a LEFT JOIN b ON a.k = b.d ORDER BY 1, 2;
-- gathered
-- no warnings
SELECT k FROM b WHERE c IN (SELECT c FROM a) ORDER BY 1;
