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
