# Procedures whose statements need several shards: run statement by statement.

## a cursor over all shards, and rows written to them
CREATE TABLE acc (id INT PRIMARY KEY, balance INT NOT NULL) /*weir: shard by hash(id) */;
CREATE TABLE log (acc INT, n INT, what VARCHAR(20), PRIMARY KEY (acc, n)) /*weir: shard by hash(acc) */;
INSERT INTO acc VALUES (1, 10), (2, 20), (3, 30), (4, 40), (5, 50), (6, 60);
CREATE PROCEDURE note_all(IN least INT, IN what VARCHAR(20)) BEGIN DECLARE done INT DEFAULT 0; DECLARE i, b INT; DECLARE c CURSOR FOR SELECT id, balance FROM acc WHERE balance >= least ORDER BY id; DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = 1; OPEN c; all_rows: LOOP FETCH c INTO i, b; IF done THEN LEAVE all_rows; END IF; INSERT INTO log VALUES (i, 1, CONCAT(what, ' ', b)); UPDATE acc SET balance = balance + 1 WHERE id = i; END LOOP; CLOSE c; END;
CALL note_all(30, 'it''s');
SELECT * FROM log ORDER BY acc;
SELECT * FROM acc ORDER BY id;
BEGIN;
CALL note_all(61, 'x');
ROLLBACK;
SELECT * FROM acc ORDER BY id;
CALL note_all(1, 'again');
SELECT * FROM log ORDER BY acc;

## results, counts and OUT parameters
CREATE TABLE t (id INT PRIMARY KEY, a INT, s VARCHAR(10)) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c'), (4, NULL, NULL);
CREATE PROCEDURE p(IN k INT, OUT total INT, INOUT who VARCHAR(30)) BEGIN SELECT SUM(a) INTO total FROM t WHERE id <= k; SELECT * FROM t WHERE id <= k ORDER BY id; SELECT total, k + 1, who AS n, CONCAT(who, 'x'); UPDATE t SET a = a + 1 WHERE id <= k; SET who = CONCAT(who, ROW_COUNT()); END;
SET @n = 'z';
-- text
CALL p(2, @t, @n);
SELECT @t, @n;
-- text
CALL p(4, @t, @n);
SELECT @t, @n;
-- text
SELECT ROW_COUNT();
-- text
CALL p(1, 2, @n);
-- text
CALL p(1);
-- text
CALL p('x', @t, @n);
SELECT * FROM t ORDER BY id;
CREATE PROCEDURE q(k INT) BEGIN DECLARE v TINYINT DEFAULT 100; WHILE k > 0 DO INSERT INTO t VALUES (100 + k, k, 'w'); SET k = k - 1, v = v + 10; END WHILE; SELECT COUNT(*) FROM t; END;
-- text
CALL q(2);
-- text
CALL q(0);
DELETE FROM t WHERE id > 100;
-- text
CALL q(3);
SELECT id FROM t ORDER BY id;
