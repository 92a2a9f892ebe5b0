# Variables of the session beside what is gathered from several shards.

## system variables
CREATE TABLE t (id INT PRIMARY KEY, v INT, w VARCHAR(10)) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'a'), (4, 4, 'b'), (5, 5, 'c');
SELECT @@sql_mode, COUNT(*) FROM t;
SELECT COUNT(*) + @@auto_increment_increment FROM t;
SELECT @@time_zone, id FROM t ORDER BY id;
SELECT SUM(v) * @@div_precision_increment AS s FROM t;
SET div_precision_increment = 6, sql_mode = 'ANSI_QUOTES', group_concat_max_len = 100;
SELECT @@div_precision_increment, AVG(v) FROM t;
SELECT @@session.sql_mode, COUNT(*), MAX(v) FROM t;
SELECT w, COUNT(*) + @@div_precision_increment FROM t GROUP BY w ORDER BY w;
SELECT w, COUNT(*) FROM t GROUP BY w HAVING COUNT(*) + @@auto_increment_increment > 2 ORDER BY w;
SELECT w, COUNT(*) FROM t GROUP BY w ORDER BY COUNT(*) * @@auto_increment_increment DESC, w;
SELECT id FROM t WHERE v > @@div_precision_increment - 3 ORDER BY id;
SELECT id, v * @@div_precision_increment FROM t ORDER BY v * @@div_precision_increment DESC;
SELECT @@group_concat_max_len, w FROM t GROUP BY w ORDER BY w;
SELECT DISTINCT @@sql_mode, w FROM t ORDER BY w;
SELECT a.id, @@div_precision_increment FROM t a JOIN t b ON a.id = b.v + 1 ORDER BY a.id;
SELECT @@sql_mode FROM t WHERE id = 1 UNION ALL SELECT w FROM t WHERE id = 2;
SELECT COUNT(*) FROM t WHERE @@sql_mode = 'ANSI_QUOTES';
SELECT (SELECT COUNT(*) FROM t) + @@div_precision_increment;
INSERT INTO t SELECT id + 10, @@div_precision_increment, w FROM t;
SELECT * FROM t ORDER BY id;

## user variables
CREATE TABLE t (id INT PRIMARY KEY, v INT, w VARCHAR(10)) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'a'), (4, 4, 'b'), (5, 5, 'c');
SET @x = 2, @s = 'text', @d = 1.5, @n = NULL;
SELECT @x, COUNT(*) FROM t;
SELECT @s, @d, @n, SUM(v) FROM t;
SELECT COUNT(*) + @x, MAX(v) * @d FROM t;
SELECT w, COUNT(*) + @x FROM t GROUP BY w ORDER BY w;
SELECT w, COUNT(*) FROM t GROUP BY w HAVING COUNT(*) >= @x ORDER BY w;
SELECT w, COUNT(*) FROM t GROUP BY w HAVING COUNT(*) + @d > @x ORDER BY COUNT(*) * @x DESC, w;
SELECT id, v FROM t ORDER BY v * @x DESC;
SELECT id, v FROM t ORDER BY v MOD @x, id;
SELECT w, @s FROM t GROUP BY w, @s ORDER BY w;
SELECT CONCAT(@s, COUNT(*)) FROM t;
SELECT id FROM t WHERE v > @x ORDER BY id LIMIT 2;
SELECT @unset, COUNT(*) FROM t;

## sql_safe_updates
CREATE TABLE a (id INT PRIMARY KEY, k INT, s VARCHAR(20)) /*weir: shard by hash(id) */;
CREATE TABLE b (id INT PRIMARY KEY, k INT, s VARCHAR(20)) /*weir: shard by hash(id) */;
INSERT INTO a VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z'), (4, 4, 'w');
INSERT INTO b VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z'), (7, 4, 'w');
SET sql_safe_updates = 1;
DELETE FROM a;
UPDATE a SET s = 'n';
UPDATE a SET s = 'n' WHERE s = 'x';
-- refused: sql_safe_updates
UPDATE a JOIN b ON a.s = b.s SET a.s = 'r';
-- refused: sql_safe_updates
UPDATE a SET id = id + 10;
UPDATE a SET s = 'one' ORDER BY id LIMIT 1;
DELETE FROM a WHERE s > 'a' ORDER BY id LIMIT 1;
-- refused: sql_safe_updates
DELETE FROM a ORDER BY id LIMIT 1;
SELECT * FROM a ORDER BY id;
SET sql_safe_updates = 0;
UPDATE a JOIN b ON a.k = b.k SET a.s = 'r';
SELECT * FROM a ORDER BY id;
