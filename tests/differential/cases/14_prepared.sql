# PREPARE, EXECUTE and DEALLOCATE PREPARE as texts.

## by name, without parameters
-- each place
-- = shard by hash(id)
-- = global
-- = single
-- = single on shard '{s2}'
CREATE TABLE t (id INT PRIMARY KEY, v INT, s VARCHAR(20)) /*weir: {place} */;
INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c'), (4, 40, 'd'), (5, 50, 'e'), (6, 60, 'f');
-- text
PREPARE q FROM 'SELECT id, v FROM t WHERE v > 15 ORDER BY id';
-- text
EXECUTE q;
-- text
EXECUTE Q;
-- text
PREPARE w FROM 'UPDATE t SET v = v + 1';
-- text
EXECUTE w;
-- text
EXECUTE q;
BEGIN;
-- text
EXECUTE w;
-- text
EXECUTE w;
-- text
EXECUTE q;
ROLLBACK;
-- text
EXECUTE q;
-- text
DEALLOCATE PREPARE w;
-- text
EXECUTE w;
-- text
DROP PREPARE w;
# The new text is wrong: the name stands for nothing.
-- text
PREPARE q FROM 'SELEC 1';
-- text
EXECUTE q;
-- text
PREPARE q FROM 'SELECT nothing FROM t';
-- text
PREPARE q FROM 'SELECT 1 FROM nowhere';
-- text
PREPARE q FROM 'SELECT 1; SELECT 2';
-- text
PREPARE q FROM 'PREPARE r FROM ''SELECT 1''';
-- text
PREPARE q FROM '';
SET @text = 'SELECT COUNT(*) FROM t';
-- text
PREPARE q FROM @text;
-- text
EXECUTE q;
SET @text = CONCAT('SELECT ''it''''s'', MAX(s)', ' FROM t');
-- text
PREPARE q FROM @text;
-- text
EXECUTE q;
-- text
PREPARE q FROM @nobody;
-- text
EXECUTE q;
-- text
EXECUTE nobody;
-- text
DEALLOCATE PREPARE nobody;
-- text
PREPARE `a b` FROM "SELECT 'x\\\\y', '\"', COUNT(*) FROM t";
-- text
EXECUTE `A b`;
UPDATE t SET v = 1 WHERE id = 1;
UPDATE t SET v = 2 WHERE id = 2;
UPDATE t SET v = 3 WHERE id = 3;
SELECT * FROM t ORDER BY id;
-- session: 1
-- text
EXECUTE `a b`;

## by name, with parameters
-- each place
-- = shard by hash(id)
-- = global
-- = single
-- = single on shard '{s2}'
CREATE TABLE t (id INT PRIMARY KEY, v INT, d DECIMAL(10,2), s VARCHAR(20), f DOUBLE) /*weir: {place} */;
INSERT INTO t VALUES (1, 10, 1.5, 'a', 0.5), (2, 20, 2.5, 'b', 1.5), (3, 30, 3.5, 'c', 2.5), (4, 40, 4.5, 'D', NULL), (5, 50, 5, 'é', 1e10);
SET @id = 3, @s = 'd', @d = 2.5, @f = 1.5e0, @n = NULL;
-- text
PREPARE one FROM 'SELECT * FROM t WHERE id = ?';
-- text
EXECUTE one USING @id;
SET @id = 2;
-- text
EXECUTE one USING @id;
-- text
EXECUTE one USING @n;
-- text
EXECUTE one USING @unknown;
-- text
EXECUTE one;
-- text
EXECUTE one USING @id, @s;
SET @id = '4';
-- text
EXECUTE one USING @id;
SET @id = 1 + 2;
-- text
EXECUTE one USING @id;
-- text
PREPARE many FROM 'SELECT id, s, d + ? FROM t WHERE s >= ? AND f < ? ORDER BY id';
-- text
EXECUTE many USING @d, @s, @f;
SET @s = 'a', @f = 100;
-- text
EXECUTE many USING @d, @s, @f;
-- text
EXECUTE many USING @f, @s, @f;
-- text
PREPARE ends FROM 'SELECT id FROM t WHERE id > ? ORDER BY id LIMIT ?';
SET @from = 1, @most = 2;
-- text
EXECUTE ends USING @from, @most;
-- text
PREPARE sums FROM 'SELECT v > ?, COUNT(*), SUM(d), MAX(s) FROM t WHERE v <> ? GROUP BY 1 ORDER BY 1';
SET @v = 20, @not = 40;
-- text
EXECUTE sums USING @v, @not;
-- text
PREPARE writes FROM 'UPDATE t SET v = v + ?, s = ? WHERE v > ?';
SET @more = 5, @it = 'it''s', @least = 25;
-- text
EXECUTE writes USING @more, @it, @least;
SELECT * FROM t ORDER BY id;
BEGIN;
-- text
EXECUTE writes USING @more, @it, @least;
-- text
EXECUTE one USING @id;
ROLLBACK;
-- text
PREPARE puts FROM 'INSERT INTO t VALUES (?, ?, ?, ?, ?), (?, 1, 1, ?, 1)';
SET @a = 10, @b = 11, @d = 7.12;
-- text
EXECUTE puts USING @a, @v, @d, @s, @f, @b, @it;
SET @b = 12;
-- text
EXECUTE puts USING @a, @v, @d, @s, @f, @b, @it;
SHOW WARNINGS;
SELECT * FROM t ORDER BY id;
-- text
PREPARE gone FROM 'DELETE FROM t WHERE id IN (?, ?)';
-- text
EXECUTE gone USING @a, @id;
SELECT COUNT(*) FROM t;
-- text
PREPARE sets FROM 'SET @x = ?';
-- text
EXECUTE sets USING @it;
SELECT @x;
SELECT id, @x FROM t WHERE id = 1;
SELECT id, @x FROM t WHERE id = 2;
SELECT id, @x FROM t WHERE id = 4;
-- text
PREPARE nothing FROM 'SELECT ?, ? + 1, CONCAT(?, ''x'')';
-- text
EXECUTE nothing USING @it, @a, @d;
# The server would remember the type of the value before.
-- other types
-- text
EXECUTE nothing USING @n, @n, @n;

## what is executed at once
-- each place
-- = shard by hash(id)
-- = single on shard '{s2}'
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: {place} */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40);
SET @least = 15, @text = 'SELECT id FROM t WHERE v > ? ORDER BY id';
-- mariadb
-- text
EXECUTE IMMEDIATE 'SELECT COUNT(*) FROM t';
-- mariadb
-- text
EXECUTE IMMEDIATE @text USING @least;
-- mariadb
-- text
EXECUTE IMMEDIATE CONCAT('UPDATE t', ' SET v = v + 1');
-- mariadb
-- text
EXECUTE IMMEDIATE 'SELEC 1';
SELECT * FROM t ORDER BY id;

## no row can match
-- each place
-- = shard by hash(id)
-- = global
-- = single
-- = single on shard '{s2}'
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: {place} */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40);
SELECT * FROM t WHERE id = NULL;
SELECT COUNT(*) FROM t WHERE id = NULL;
SELECT * FROM t AS a JOIN t AS b ON a.id = b.id WHERE a.id = NULL;
UPDATE t SET v = 0 WHERE id = NULL;
DELETE FROM t WHERE id = NULL;
SELECT * FROM t ORDER BY id;

## places of columns, in parentheses, behind signs, and in parameters
CREATE TABLE t (id INT PRIMARY KEY, b INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 50), (2, 40), (3, 30), (4, 20), (5, 10);
SELECT b, id FROM t ORDER BY (2) DESC, b;
SELECT b, id FROM t ORDER BY ((1)), id;
SELECT b, id FROM t ORDER BY +2 DESC, b;
SELECT b, id FROM t ORDER BY -2, id;
SELECT b, id FROM t ORDER BY 2 + 0, id;
SELECT b, id FROM t ORDER BY TRUE, id;
SELECT b, id FROM t ORDER BY '1', id;
SELECT b, id FROM t ORDER BY 18446744073709551616, id;
SELECT DISTINCT b, id FROM t ORDER BY (1) LIMIT 3;
(SELECT b, id FROM t WHERE id < 3) UNION (SELECT b, id FROM t WHERE id > 2) ORDER BY (2) DESC;
SELECT b, COUNT(*) FROM t GROUP BY (1) ORDER BY (1);
SET @two = 2;
PREPARE s FROM 'SELECT b, id FROM t ORDER BY ?, id';
-- mysql
EXECUTE s USING @two;
-- mariadb
-- text
-- gathered
EXECUTE s USING @two;
-- mysql
-- binary
-- params: 2
SELECT b, id FROM t ORDER BY ?, id;
-- mariadb
-- binary
-- params: 2
-- gathered
SELECT b, id FROM t ORDER BY ?, id;
PREPARE s FROM 'SELECT GROUP_CONCAT(b ORDER BY ?) FROM t WHERE id = 1';
EXECUTE s USING @two;
DEALLOCATE PREPARE s;
-- mysql
PREPARE s FROM 'SELECT _utf8mb3''a''';
-- mysql
SHOW WARNINGS;
-- mysql
PREPARE s FROM 'SELECT _utf8mb3''a''';
-- mysql
SELECT @@warning_count;
-- mysql
PREPARE s FROM 'SELECT COUNT(*), SUM(b) FROM t GROUP BY b > 2, ? ORDER BY 1, 2';
SET @two = 2, @x = 'x';
-- mysql
EXECUTE s USING @two;
-- mysql
EXECUTE s USING @x;
-- mysql
-- params: 2
SELECT COUNT(*), SUM(b) FROM t GROUP BY ?, b > 2 ORDER BY 1, 2;
-- mysql
-- params: 'x'
SELECT b > 2, COUNT(*) FROM t GROUP BY b > 2, (?) ORDER BY 1;
-- params: 1, 'a', 2
SELECT COUNT(*), b > ? FROM t GROUP BY b > 2, CONCAT(?, 'b'), 2 + ? ORDER BY 1, 2;

## EXECUTE … USING values
CREATE TABLE t (id INT PRIMARY KEY, v INT, d DECIMAL(8,2), name VARCHAR(20)) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10, 1.50, 'a'), (2, 20, 2.50, 'b'), (3, 30, 3.50, 'c');
SET @two = 2;
PREPARE one FROM 'SELECT * FROM t WHERE id = ?';
-- mariadb
EXECUTE one USING 1;
-- mariadb
EXECUTE one USING 1 + @two;
-- mariadb
EXECUTE one USING NULL;
-- mariadb
EXECUTE one USING '2';
PREPARE more FROM 'INSERT INTO t VALUES (?, ?, ?, ?)';
-- mariadb
EXECUTE more USING 4, -40, 4.25, 'd';
-- mariadb
EXECUTE more USING @two + 3, 5 * 10, 1 / 4, 'e f';
-- mariadb
EXECUTE IMMEDIATE 'UPDATE t SET v = v + ? WHERE id > ?' USING 1, 2;
-- mariadb
-- other types
EXECUTE IMMEDIATE 'SELECT ? AS a, ? AS b, ? AS c' USING 1, 2.5, 'x';
-- mariadb
-- text
-- refused: in a definition
EXECUTE IMMEDIATE 'CREATE TABLE u AS SELECT ? AS a' USING 1;
-- mariadb
EXECUTE one USING 1, 2;
-- mariadb
-- text
-- refused: no number
EXECUTE one USING CONCAT('1', '');
SELECT * FROM t ORDER BY id;

# More columns than COM_STMT_PREPARE can count.
SET @wide = CONCAT('SELECT ', REPEAT('1,', 69999), '1');
-- text
PREPARE wide FROM @wide;
-- text
EXECUTE wide;
DEALLOCATE PREPARE wide;
SELECT 1;

## SHOW with parameters
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20), n INT) /*weir: shard by hash(id) */;
CREATE TABLE u (id INT PRIMARY KEY, k INT NOT NULL) /*weir: single on shard '{s2}' */;
-- params: 't'
SHOW TABLES WHERE Tables_in_d = ?;
-- params: 'u', 'BASE TABLE'
SHOW FULL TABLES FROM d WHERE `Tables_in_d` = ? AND Table_type = ?;
-- params: NULL
SHOW TABLES WHERE Tables_in_d = ?;
-- params: 1
SHOW TABLES WHERE 1 = ?;
-- params: 'it''s ü'
SHOW TABLES WHERE Tables_in_d <> ?;
-- params: 2
SHOW TABLES WHERE Tables_in_d = ? + 1;
-- params: 1.5
SHOW TABLES WHERE Tables_in_d > ?;
-- params: 3
SHOW TABLES WHERE nothing = ?;
-- params: 'v', NULL
SHOW FULL COLUMNS FROM t WHERE Field = ? OR Field = ?;
-- params: 'PRIMARY'
SHOW INDEX FROM u WHERE Key_name = ?;
-- params: 'none'
SHOW TABLE STATUS WHERE Name = ?;
-- params: 't'
SHOW TRIGGERS WHERE `Table` = ?;
-- params: 't'
SHOW TABLES LIKE ?;
PREPARE q FROM 'SHOW TABLES WHERE Tables_in_d = ?';
SET @t = 't';
EXECUTE q USING @t;
SET @t = _latin1'u' COLLATE latin1_bin;
EXECUTE q USING @t;
SET @t = NULL;
EXECUTE q USING @t;
PREPARE q FROM 'SHOW COLUMNS FROM t WHERE Field = ?';
SET @t = 'v';
EXECUTE q USING @t;

## LIMIT of a parameter in changes of several shards
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5);
-- binary
-- params: '2'
UPDATE t SET a = a + 1 ORDER BY id LIMIT ?;
-- binary
-- params: '2'
UPDATE t SET id = id + 10 ORDER BY id LIMIT ?;
-- binary
-- params: NULL
DELETE FROM t ORDER BY id LIMIT ?;
-- binary
-- params: '2'
DELETE FROM t ORDER BY id LIMIT ?;
-- binary
-- params: '1'
INSERT INTO t SELECT id + 100, a FROM t ORDER BY id LIMIT ?;
-- binary
-- params: NULL
INSERT INTO t SELECT id + 300, a FROM t ORDER BY id LIMIT ?;
SELECT * FROM t ORDER BY id;
