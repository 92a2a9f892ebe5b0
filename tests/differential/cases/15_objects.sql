# ALTER of each kind, views, and programs.

## ALTER of each kind
-- each place
-- = shard by hash(id)
-- = shard by range(id) ({s1} values less than (3), {s2} values less than (5), {s3} values less than maxvalue)
-- = global
-- = single on shard '{s2}'
CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(10)) /*weir: {place} */;
INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c'), (4, 40, 'd'), (5, 50, 'e');
ALTER TABLE t ADD COLUMN c INT NOT NULL DEFAULT 3 AFTER a, ADD COLUMN d DATE;
SELECT * FROM t ORDER BY id;
ALTER TABLE t DROP COLUMN d;
ALTER TABLE t CHANGE COLUMN c cc BIGINT NOT NULL DEFAULT 4;
ALTER TABLE t RENAME COLUMN cc TO c;
ALTER TABLE t MODIFY b VARCHAR(40) NOT NULL DEFAULT 'none';
ALTER TABLE t ALTER COLUMN a SET DEFAULT 9;
INSERT INTO t (id) VALUES (6);
ALTER TABLE t ALTER COLUMN a DROP DEFAULT;
SELECT * FROM t ORDER BY id;
ALTER TABLE t ADD INDEX by_a (a), ADD UNIQUE INDEX by_key (id, a);
ALTER TABLE t RENAME INDEX by_a TO on_a;
ALTER TABLE t DROP INDEX on_a;
ALTER TABLE t DROP INDEX on_a;
ALTER TABLE t ADD COLUMN a INT;
ALTER TABLE t ADD CONSTRAINT positive CHECK (a > 0);
ALTER TABLE t DROP CONSTRAINT positive;
ALTER TABLE t COMMENT = 'a table', ROW_FORMAT = DYNAMIC;
ALTER TABLE t ENGINE = InnoDB;
ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
ALTER TABLE t ADD COLUMN g INT GENERATED ALWAYS AS (a + 1) VIRTUAL;
SELECT id, g FROM t ORDER BY id;
# Each shard warns of it.
-- no warnings
ALTER TABLE t ORDER BY a;
ALTER TABLE t MODIFY id BIGINT;
SELECT * FROM t WHERE id = 4;
INSERT INTO t (id, a) VALUES (7, 70);
ALTER TABLE t ADD COLUMN first_one INT FIRST;
SELECT * FROM t ORDER BY id;
SELECT id FROM t WHERE id IN (1, 4, 7) ORDER BY id;
SHOW COLUMNS FROM t;
UPDATE t SET b = 'no number';
ALTER TABLE t MODIFY b INT;
ALTER TABLE t DROP COLUMN nothing;
ALTER TABLE t RENAME TO u;
ALTER TABLE u DROP COLUMN first_one, RENAME TO t;
SELECT * FROM t ORDER BY id;
CREATE UNIQUE INDEX more ON t (id, b);
DROP INDEX more ON t;
DROP INDEX more ON t;

## views over tables of each placement
CREATE TABLE h (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
CREATE TABLE i (id INT PRIMARY KEY, b INT) /*weir: shard by hash(id) */;
CREATE TABLE g (id INT PRIMARY KEY, name VARCHAR(10)) /*weir: global */;
CREATE TABLE s (id INT PRIMARY KEY, v INT) /*weir: single on shard '{s2}' */;
INSERT INTO h VALUES (1, 1), (2, 2), (3, 1), (4, 2);
INSERT INTO i VALUES (1, 10), (2, 20), (3, 30), (5, 50);
INSERT INTO g VALUES (1, 'one'), (2, 'two');
INSERT INTO s VALUES (1, 100), (2, 200);
CREATE VIEW vh AS SELECT id, a FROM h WHERE a = 1;
CREATE VIEW vj AS SELECT h.id, h.a, i.b FROM h JOIN i ON i.id = h.id;
CREATE VIEW vg AS SELECT h.id, g.name FROM h JOIN g ON g.id = h.a;
CREATE VIEW vs AS SELECT v FROM s;
CREATE VIEW va AS SELECT a, COUNT(*) AS n, SUM(id) AS total FROM h GROUP BY a;
CREATE VIEW vv AS SELECT id FROM vh;
CREATE VIEW named (x, y) AS SELECT id, a FROM h;
SELECT * FROM vh ORDER BY id;
# A server names the view's columns or the tables' as its protocol goes.
-- other columns
SELECT * FROM vj ORDER BY id;
SELECT * FROM vj WHERE id = 2;
-- other columns
SELECT * FROM vg ORDER BY id;
SELECT * FROM vs ORDER BY v;
SELECT * FROM vv ORDER BY id;
SELECT x FROM named WHERE y = 2 ORDER BY x;
SELECT * FROM named WHERE x = 3;
SELECT COUNT(*) FROM vj;
SHOW FULL TABLES WHERE Table_type = 'VIEW';
SHOW COLUMNS FROM vj;
CREATE VIEW vh AS SELECT 1;
CREATE OR REPLACE VIEW vh AS SELECT id, a FROM h WHERE a = 2;
SELECT * FROM vh ORDER BY id;
ALTER VIEW vh AS SELECT id, a FROM h WHERE a > 0;
SELECT * FROM vh ORDER BY id;
DROP VIEW vh, vj;
DROP VIEW vh;
DROP VIEW IF EXISTS vh;
SELECT * FROM vh;
DROP TABLE vs;

## procedures, functions and triggers of one shard
CREATE TABLE s (id INT PRIMARY KEY, v INT) /*weir: single */;
CREATE TABLE log (id INT PRIMARY KEY AUTO_INCREMENT, what VARCHAR(40)) /*weir: single */;
CREATE FUNCTION twice(a INT) RETURNS INT DETERMINISTIC RETURN a * 2;
SELECT twice(4);
CREATE TRIGGER noted AFTER INSERT ON s FOR EACH ROW INSERT INTO log (what) VALUES (CONCAT('insert ', NEW.id));
INSERT INTO s VALUES (1, 1), (2, 2);
SELECT * FROM log ORDER BY id;
CREATE PROCEDURE put(IN p INT) INSERT INTO s VALUES (p, twice(p));
CALL put(5);
/*s1*/ CALL put(6);
SELECT * FROM s ORDER BY id;
SELECT COUNT(*) FROM log;
CREATE PROCEDURE both_of() SELECT COUNT(*) FROM s;
/*s1*/ CALL both_of();
/*s1*/ CALL nowhere();
DROP TRIGGER noted;
DROP TRIGGER noted;
INSERT INTO s VALUES (9, 9);
SELECT COUNT(*) FROM log;
DROP PROCEDURE put;
DROP PROCEDURE IF EXISTS put;
DROP FUNCTION twice;
SELECT twice(4);

## triggers and functions of sharded tables
CREATE TABLE t (id INT PRIMARY KEY, v INT, upd INT DEFAULT 0) /*weir: shard by hash(id) */;
CREATE TRIGGER bi BEFORE INSERT ON t FOR EACH ROW SET NEW.v = NEW.v + 1;
CREATE TRIGGER bu BEFORE UPDATE ON t FOR EACH ROW SET NEW.upd = OLD.upd + 1;
CREATE FUNCTION plus(a INT, b INT) RETURNS INT DETERMINISTIC RETURN a + b;
INSERT INTO t (id, v) VALUES (1, 1), (2, 2), (3, 3), (4, 4);
UPDATE t SET v = v WHERE id > 2;
UPDATE t SET v = plus(v, 100) WHERE id = 1;
SELECT id, v, upd, plus(v, id) FROM t WHERE id = 1;
SELECT id, v, upd, plus(v, id) FROM t ORDER BY id;
SELECT SUM(plus(v, 1)) FROM t;
# A function that is not built in may have left something on its connection: the session is bound to the shard.
-- session: 1
DROP TRIGGER bi;
-- session: 1
INSERT INTO t (id, v) VALUES (5, 5);
-- session: 1
SELECT * FROM t ORDER BY id;

## definitions that stand behind something else go through the catalog too
CREATE TABLE p (id INT PRIMARY KEY) /*weir: shard by hash(id) */;
-- mariadb
SET STATEMENT max_statement_time = 100 FOR CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
-- mysql
/*!50000 CREATE TABLE t (id INT PRIMARY KEY, v INT) */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4);
-- mariadb
SET STATEMENT max_statement_time = 100 FOR ALTER TABLE t ADD COLUMN w INT DEFAULT 5;
-- mysql
/*!50000 ALTER TABLE t ADD COLUMN w INT DEFAULT 5 */;
SELECT * FROM t ORDER BY id;
-- mariadb
SET STATEMENT max_statement_time = 100 FOR CREATE OR REPLACE VIEW vt AS SELECT id, w FROM t;
-- mariadb
SELECT * FROM vt ORDER BY id;
-- mariadb
SET STATEMENT max_statement_time = 100 FOR DROP VIEW vt;
-- mariadb
SET STATEMENT max_statement_time = 100 FOR CREATE TEMPORARY TABLE tmp (id INT);
-- mariadb
DROP TEMPORARY TABLE tmp;
-- mariadb
-- refused: leave SET STATEMENT out
SET STATEMENT max_statement_time = 100 FOR SHOW TABLES;
-- mariadb
-- refused: CREATE within a block
BEGIN NOT ATOMIC CREATE TABLE inner_one (id INT PRIMARY KEY); END;
-- mariadb
-- refused: EXECUTE within a block
IF 1 THEN EXECUTE IMMEDIATE 'CREATE TABLE inner_one (id INT PRIMARY KEY)'; END IF;
DROP TABLE t;
SHOW TABLES;

## libraries are on all shards
-- mysql
CREATE LIBRARY counting LANGUAGE JAVASCRIPT AS 'export function next(n) { return n + 1 }';
-- mysql
ALTER LIBRARY counting COMMENT 'it counts';
-- mysql
SHOW CREATE LIBRARY counting;
-- mysql
CREATE LIBRARY IF NOT EXISTS counting LANGUAGE JAVASCRIPT AS 'x';
-- mysql
CREATE LIBRARY raw LANGUAGE WASM AS _binary X'0061736D';
-- mysql
DROP LIBRARY raw;
-- mysql
DROP LIBRARY counting;
-- mysql
DROP LIBRARY counting;
-- mysql
DROP LIBRARY IF EXISTS counting;
SELECT 1;

## triggers that call functions named like statements
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20)) /*weir: shard by hash(id) */;
CREATE TRIGGER b BEFORE INSERT ON t FOR EACH ROW BEGIN DECLARE CONTINUE HANDLER FOR SQLWARNING SET NEW.v = 'w'; SET NEW.v = INSERT(REPLACE(NEW.v, 'a', 'b'), 1, TRUNCATE(1.5, 0), 'x'); END;
INSERT INTO t VALUES (1, 'aba'), (2, 'car'), (3, NULL);
SELECT * FROM t ORDER BY id;

## Columns that become AUTO_INCREMENT go on behind their rows
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (70, 7), (-5, 5);
ALTER TABLE t MODIFY id INT AUTO_INCREMENT;
INSERT INTO t (v) VALUES (8);
SELECT * FROM t ORDER BY id;
ALTER TABLE t MODIFY id INT;
INSERT INTO t VALUES (90, 9);
ALTER TABLE t CHANGE id id INT NOT NULL AUTO_INCREMENT, AUTO_INCREMENT = 80;
INSERT INTO t (v) VALUES (10);
SELECT * FROM t ORDER BY id;
ALTER TABLE t MODIFY id INT, AUTO_INCREMENT = 200;
ALTER TABLE t MODIFY id INT AUTO_INCREMENT, AUTO_INCREMENT = 300;
INSERT INTO t (v) VALUES (11);
SELECT * FROM t ORDER BY id;

## A unique key that comes with a column's definition
CREATE TABLE t (id INT PRIMARY KEY, v INT, w INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3);
ALTER TABLE t MODIFY id INT UNIQUE;
-- refused: does not hold the shard key
ALTER TABLE t MODIFY v INT UNIQUE;
-- refused: does not hold the shard key
ALTER TABLE t CHANGE v vv INT UNIQUE KEY;
-- refused: does not hold the shard key
ALTER TABLE t MODIFY v BIGINT UNSIGNED SERIAL DEFAULT VALUE;
SHOW COLUMNS FROM t;

## blocks of statements run where their tables are, or not at all
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
CREATE TABLE g (id INT PRIMARY KEY, a INT) /*weir: global */;
CREATE TABLE s (id INT PRIMARY KEY, a INT) /*weir: single */;
CREATE VIEW vt AS SELECT a FROM t;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5);
INSERT INTO g VALUES (1, 1), (2, 2);
CREATE PROCEDURE fills() INSERT INTO t VALUES (20, 1), (21, 1), (22, 1), (23, 1);
-- mariadb
-- refused: rows are on several shards
BEGIN NOT ATOMIC SELECT COUNT(*) FROM t; END;
-- mariadb
-- refused: rows are on several shards
IF (SELECT COUNT(*) FROM t) = 5 THEN SELECT 'five'; END IF;
-- mariadb
-- refused: rows are on several shards
BEGIN NOT ATOMIC INSERT INTO t VALUES (10, 1), (11, 1), (12, 1), (13, 1); END;
-- mariadb
-- refused: rows are on several shards
BEGIN NOT ATOMIC SELECT COUNT(*) FROM vt; END;
-- mariadb
-- refused: rows are on several shards
BEGIN NOT ATOMIC CALL fills(); END;
-- mariadb
-- refused: rows are on several shards
BEGIN NOT ATOMIC UPDATE g SET a = a + 1; END;
-- mariadb
BEGIN NOT ATOMIC DECLARE n INT; SELECT SUM(a) INTO n FROM g; SELECT n; END;
-- mariadb
BEGIN NOT ATOMIC INSERT INTO s VALUES (1, 1), (2, 2); SELECT COUNT(*) FROM s; END;
SELECT * FROM t ORDER BY id;
SELECT * FROM g ORDER BY id;
SELECT * FROM s ORDER BY id;

## views keep the columns that they were made with, and mean the same in every sql_mode
CREATE TABLE a (id INT PRIMARY KEY, k INT, s VARCHAR(20)) /*weir: shard by hash(id) */;
CREATE TABLE b (id INT PRIMARY KEY, k INT, t VARCHAR(20)) /*weir: shard by hash(id) */;
INSERT INTO a VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z'), (4, 4, 'w');
INSERT INTO b VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z'), (7, 4, 'a\\b');
CREATE VIEW v AS SELECT * FROM a;
CREATE VIEW j AS SELECT a.*, b.t FROM a JOIN b USING (id);
CREATE VIEW w AS SELECT * FROM v WHERE id < 3;
CREATE VIEW n (x, y, z) AS SELECT * FROM a WHERE k > 1;
CREATE VIEW m AS SELECT * FROM (SELECT * FROM b) d WHERE t = 'a\\b';
SET sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES');
CREATE VIEW q AS SELECT "k", 'it''s' AS "c" FROM "a";
SET sql_mode = DEFAULT;
ALTER TABLE a ADD COLUMN added INT DEFAULT 7 AFTER id;
ALTER TABLE b ADD COLUMN added INT DEFAULT 8;
SELECT * FROM v ORDER BY id;
-- other columns
SELECT * FROM j ORDER BY id;
SELECT * FROM w ORDER BY id;
SELECT * FROM n ORDER BY x;
SELECT * FROM m;
SELECT * FROM q ORDER BY k;
-- other columns
SELECT v.* FROM v JOIN b ON v.k = b.k ORDER BY v.id;
-- other columns
SELECT d.v.id, d.v.k + 1, d.v.* FROM d.v JOIN b ON d.v.k = b.k WHERE d.v.id > 1 ORDER BY d.v.id;
-- other columns
SELECT n.*, b.t FROM n JOIN b ON n.y = b.k ORDER BY 1;
-- other columns
SELECT m.* FROM m JOIN a ON m.k = a.k;
-- other columns
SELECT q.*, b.t FROM q JOIN b ON q.k = b.k ORDER BY q.k;
INSERT INTO v (id, k) VALUES (8, 8);
INSERT INTO v VALUES (9, 9, 'all'), (10, 10, 'of it');
UPDATE v SET s = 'v' WHERE id = 8;
SELECT * FROM a ORDER BY id;
ALTER VIEW v AS SELECT * FROM a;
SELECT * FROM v ORDER BY id;
ALTER TABLE a RENAME COLUMN s TO s2;
-- no warnings
SELECT * FROM v;
SET sql_mode = CONCAT(@@sql_mode, ',NO_BACKSLASH_ESCAPES');
SELECT t, k FROM m;
-- refused: is read differently
SELECT m.* FROM m JOIN a ON m.k = a.k;
SET sql_mode = DEFAULT;

## DROP of another kind than what has the name leaves that alone
CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL AUTO_INCREMENT UNIQUE) /*weir: shard by hash(id) unique unchecked (n) */;
INSERT INTO t (id) VALUES (1), (2), (3), (4), (5);
CREATE TABLE s (id INT) /*weir: single on shard '{s2}' */;
INSERT INTO s VALUES (1);
CREATE VIEW v AS SELECT id FROM t;
-- no warnings
DROP VIEW IF EXISTS t;
-- no warnings
DROP VIEW t;
-- mariadb
DROP SEQUENCE IF EXISTS t;
-- mariadb
SHOW WARNINGS;
-- mariadb
DROP SEQUENCE t;
-- mariadb
-- no warnings
DROP SEQUENCE IF EXISTS s, v, nx;
DROP TABLE IF EXISTS v;
SELECT COUNT(*), SUM(id) FROM t;
SELECT * FROM s;
SELECT COUNT(*) FROM v;
INSERT INTO t (id) VALUES (6);
SELECT n FROM t WHERE id = 6;
-- mariadb
CREATE SEQUENCE q;
-- mariadb
DROP SEQUENCE q;
CREATE TABLE q (id INT PRIMARY KEY) /*weir: shard by hash(id) */;
INSERT INTO q VALUES (1), (2), (3);
DROP VIEW v;
DROP TABLE t, s, q;

## OR REPLACE leaves no part of a table behind
CREATE TABLE t (id INT PRIMARY KEY) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1), (2), (3), (4);
-- mariadb
-- refused: OR REPLACE can't move a table to other shards
CREATE OR REPLACE SEQUENCE t;
CREATE TABLE s (id INT) /*weir: single on shard '{s2}' */;
-- mariadb
CREATE OR REPLACE SEQUENCE s;
-- mariadb
SELECT NEXT VALUE FOR s;
-- mariadb
DROP SEQUENCE s;
-- mysql
DROP TABLE s;
CREATE TABLE s (id INT PRIMARY KEY) /*weir: shard by hash(id) */;
INSERT INTO s SELECT id FROM t;
SELECT COUNT(*), SUM(id) FROM s;

## a table gets a history where one shard has all of it
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40);
-- mariadb
-- no warnings
ALTER TABLE t ADD SYSTEM VERSIONING;
-- mariadb
UPDATE t SET v = v + 1 WHERE id < 3;
-- mariadb
DELETE FROM t WHERE id = 3;
-- mariadb
SELECT id, v FROM t FOR SYSTEM_TIME ALL ORDER BY id, v;
-- mariadb
ALTER TABLE t DROP SYSTEM VERSIONING;
SELECT COUNT(*) FROM t;
CREATE TABLE s (id INT PRIMARY KEY) /*weir: single on shard '{s2}' */;
-- mariadb
ALTER TABLE s ADD SYSTEM VERSIONING;
-- mariadb
INSERT INTO s VALUES (1);
-- mariadb
DELETE FROM s;
-- mariadb
SELECT id FROM s FOR SYSTEM_TIME ALL;
CREATE TABLE h (id INT PRIMARY KEY) /*weir: shard by hash(id) */;
-- mariadb
-- refused: System-versioned tables can't be sharded
ALTER TABLE h ADD SYSTEM VERSIONING;

## the order of a view's query
-- each place
-- = shard by hash(id)
-- = single on shard '{s2}'
CREATE TABLE t (id INT PRIMARY KEY, b INT, c VARCHAR(5)) /*weir: {place} */;
CREATE TABLE u (id INT PRIMARY KEY, d INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 5, 'x'), (2, 9, 'x'), (3, 1, 'y'), (4, 7, 'y'), (5, 3, 'x'), (6, 8, 'z');
INSERT INTO u VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6);
CREATE VIEW v AS SELECT id, b, c FROM t WHERE b > 1 ORDER BY b DESC;
CREATE VIEW named (x, y) AS SELECT id, b + 1 FROM t ORDER BY 2 DESC;
CREATE VIEW joined AS SELECT t.id, t.b, u.d FROM t JOIN u ON t.id = u.id ORDER BY t.b DESC;
SELECT /* in the view's ORDER BY */ * FROM v;
SELECT /* in the view's ORDER BY */ id FROM v LIMIT 2;
SELECT /* in the view's ORDER BY */ c FROM v WHERE id <> 2 LIMIT 3;
SELECT /* in the view's ORDER BY */ w.id + 1 FROM v w;
# MySQL keeps the name that the column had in the query.
-- mariadb
SELECT /* in the view's ORDER BY */ * FROM named;
-- other columns
SELECT /* in the view's ORDER BY */ id, d FROM joined;
SELECT /* in the view's ORDER BY */ id FROM v FOR UPDATE;
-- params: 2
SELECT /* in the view's ORDER BY */ id FROM v WHERE id > ?;
SELECT id FROM v ORDER BY c, id;
SELECT DISTINCT c FROM v ORDER BY c;
SELECT COUNT(*) FROM v;
-- other columns
SELECT v.id, u.d FROM v JOIN u ON v.id = u.id ORDER BY v.id;
# MariaDB leaves this order out.
-- mysql
SELECT id FROM (SELECT id, b FROM t ORDER BY b DESC) d;
