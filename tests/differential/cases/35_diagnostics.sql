# What statements leave to be asked for, and how it is named.

## a definition's notes
DROP TABLE IF EXISTS nx;
SHOW WARNINGS;
DROP TABLE IF EXISTS nx;
SHOW COUNT(*) WARNINGS;
DROP TABLE IF EXISTS nx;
SELECT @@warning_count;
DROP TABLE IF EXISTS nx;
SELECT @@SESSION.warning_count;
DROP TABLE IF EXISTS nx;
SELECT @@error_count;
DROP TABLE IF EXISTS nx, ny;
-- text
SHOW WARNINGS;
DROP TABLE IF EXISTS nx, ny;
-- text
SELECT @@warning_count;
DROP TABLE IF EXISTS nx, ny;
-- text
SELECT @@local.warning_count;
CREATE TABLE t (id INT PRIMARY KEY, a INT, KEY a (a), KEY b (a)) /*weir: shard by hash(id) */;
SHOW WARNINGS;
CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
SHOW WARNINGS;
CREATE INDEX c ON t (a);
SHOW WARNINGS;
ALTER TABLE t ADD KEY e (a), ADD KEY f (a);
-- text
SHOW WARNINGS;
CREATE TABLE g (id INT PRIMARY KEY, a INT, KEY a (a), KEY b (a)) /*weir: global */;
SHOW WARNINGS;
CREATE TABLE s (id INT PRIMARY KEY, a INT, KEY a (a), KEY b (a)) /*weir: single */;
SHOW WARNINGS;
DROP TABLE IF EXISTS nx, t, ny;
-- text
SHOW WARNINGS;

## a write's warnings on copies
CREATE TABLE g (id INT PRIMARY KEY, a TINYINT) /*weir: global */;
SET sql_mode = '';
INSERT INTO g VALUES (1, 1000), (2, 1000);
-- text
SHOW WARNINGS;
INSERT INTO g VALUES (3, 1000);
SELECT @@warning_count;
