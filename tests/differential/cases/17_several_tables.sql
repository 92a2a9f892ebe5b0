# Definitions of several tables and views, and names that are taken on other shards.

## tables on different shards are dropped in one statement
CREATE TABLE h (k INT PRIMARY KEY) /*weir: shard by hash(k) */;
CREATE TABLE a (id INT PRIMARY KEY) /*weir: single on shard '{s1}' */;
CREATE TABLE b (id INT PRIMARY KEY) /*weir: single on shard '{s2}' */;
CREATE TABLE g (id INT PRIMARY KEY) /*weir: global */;
INSERT INTO h VALUES (1), (2), (3);
DROP TABLE h, a, d.b;
SHOW TABLES;
SELECT * FROM b;
CREATE TABLE b (id INT PRIMARY KEY) /*weir: single on shard '{s1}' */;
CREATE TABLE a (id INT PRIMARY KEY) /*weir: single on shard '{s2}' */;
INSERT INTO b VALUES (7);
SELECT * FROM b;
DROP TABLES IF EXISTS b, nowhere, a, elsewhere CASCADE;
-- text
-- other types
SHOW WARNINGS;
SHOW TABLES;
DROP TABLE g;

## tables of which some are not there
CREATE TABLE h (k INT PRIMARY KEY) /*weir: shard by hash(k) */;
CREATE TABLE i (k INT PRIMARY KEY) /*weir: shard by hash(k) */;
CREATE TABLE a (id INT PRIMARY KEY) /*weir: single on shard '{s1}' */;
CREATE TABLE b (id INT PRIMARY KEY) /*weir: single on shard '{s2}' */;
DROP TABLE h, nowhere;
SHOW TABLES;
SELECT * FROM h;
DROP TABLE nowhere, i;
SHOW TABLES;
SELECT * FROM i;
DROP TABLE a, nowhere, b;
SHOW TABLES;
DROP TABLE IF EXISTS a, b, h, i;
SHOW TABLES;
CREATE TABLE h (k INT PRIMARY KEY) /*weir: shard by hash(k) */;
INSERT INTO h VALUES (1), (2), (3);
SELECT * FROM h ORDER BY k;

## tables of which one is referred to
CREATE TABLE p (k INT PRIMARY KEY) /*weir: shard by hash(k) */;
CREATE TABLE c (k INT PRIMARY KEY, FOREIGN KEY (k) REFERENCES p (k)) /*weir: shard by hash(k) */;
CREATE TABLE o (k INT PRIMARY KEY) /*weir: shard by hash(k) */;
DROP TABLE o, p;
SHOW TABLES;
SELECT * FROM p;
DROP TABLE c, p;
SHOW TABLES;

## views of which some are not there
CREATE TABLE h (k INT PRIMARY KEY) /*weir: shard by hash(k) */;
CREATE TABLE a (id INT PRIMARY KEY) /*weir: single on shard '{s2}' */;
CREATE VIEW v AS SELECT k FROM h;
CREATE VIEW w AS SELECT id FROM a;
CREATE VIEW x AS SELECT k + 1 AS k FROM h;
DROP VIEW v, nowhere;
SHOW TABLES;
DROP VIEW IF EXISTS v, w, nowhere;
SHOW TABLES;
SELECT * FROM x;
DROP VIEW x;
DROP TABLE h, a;
SHOW TABLES;

## tables on different shards get other names
CREATE TABLE h (k INT PRIMARY KEY) /*weir: shard by hash(k) */;
CREATE TABLE a (id INT PRIMARY KEY) /*weir: single on shard '{s1}' */;
CREATE TABLE b (id INT PRIMARY KEY) /*weir: single on shard '{s2}' */;
INSERT INTO h VALUES (1), (2), (3);
INSERT INTO a VALUES (10);
INSERT INTO b VALUES (20);
RENAME TABLE a TO tmp, b TO a, tmp TO b;
SELECT * FROM a;
SELECT * FROM b;
RENAME TABLE h TO i, b TO d.c, i TO j;
SELECT * FROM j ORDER BY k;
SELECT * FROM c;
SHOW TABLES;
RENAME TABLE nowhere TO x, a TO y, j TO z;
SHOW TABLES;
SELECT * FROM a;

## names that are taken on another shard
CREATE TABLE h (k INT PRIMARY KEY) /*weir: shard by hash(k) */;
CREATE TABLE a (id INT PRIMARY KEY) /*weir: single on shard '{s1}' */;
CREATE TABLE b (id INT PRIMARY KEY) /*weir: single on shard '{s2}' */;
CREATE VIEW v AS SELECT id FROM b;
INSERT INTO a VALUES (1);
INSERT INTO b VALUES (2);
INSERT INTO h VALUES (3), (4);
RENAME TABLE a TO b;
RENAME TABLE h TO b;
RENAME TABLE h TO v;
RENAME TABLE a TO x, h TO x;
RENAME TABLE a TO a;
ALTER TABLE a RENAME TO b;
ALTER TABLE h RENAME TO b, ADD COLUMN c INT;
ALTER TABLE a RENAME TO v;
CREATE TABLE b (id INT) /*weir: single on shard '{s1}' */;
CREATE TABLE IF NOT EXISTS b (id INT) /*weir: single on shard '{s1}' */;
CREATE TABLE v (k INT PRIMARY KEY) /*weir: shard by hash(k) */;
CREATE TABLE IF NOT EXISTS v (k INT PRIMARY KEY) /*weir: shard by hash(k) */;
CREATE VIEW b AS SELECT k FROM h;
CREATE VIEW v AS SELECT k FROM h;
CREATE OR REPLACE VIEW b AS SELECT k FROM h;
SHOW TABLES;
SELECT * FROM a;
SELECT * FROM b;
SELECT * FROM v;
SELECT * FROM h ORDER BY k;
DROP VIEW v;
CREATE VIEW v AS SELECT k FROM h;
SELECT * FROM v ORDER BY k;
