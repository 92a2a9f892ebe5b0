# Stored procedures and functions whose bodies Weir looks through.

## procedures by the key
CREATE TABLE acc (id INT PRIMARY KEY, balance INT NOT NULL) /*weir: shard by hash(id) */;
CREATE TABLE moves (acc INT, n INT, what INT, PRIMARY KEY (acc, n)) /*weir: shard by hash(acc) */;
CREATE TABLE kinds (id INT PRIMARY KEY, name VARCHAR(10)) /*weir: global */;
INSERT INTO acc VALUES (1, 10), (2, 20), (3, 30), (4, 40), (5, 50), (6, 60);
INSERT INTO kinds VALUES (1, 'one'), (2, 'two');
CREATE PROCEDURE pay(IN who INT, IN what INT) BEGIN DECLARE last INT DEFAULT 0; UPDATE acc SET balance = balance + what WHERE id = who; SELECT COALESCE(MAX(n), 0) INTO last FROM moves WHERE acc = who; INSERT INTO moves (acc, n, what) VALUES (who, last + 1, what); END;
CREATE PROCEDURE show_acc(IN who INT) BEGIN SELECT * FROM acc WHERE id = who; SELECT moves.n, moves.what, kinds.name FROM moves LEFT JOIN kinds ON kinds.id = moves.n WHERE moves.acc = who ORDER BY n; END;
CREATE PROCEDURE balance_of(IN who INT, OUT what INT) SELECT balance INTO what FROM acc WHERE id = who;
CREATE PROCEDURE add_to(IN who INT, INOUT total INT) BEGIN DECLARE b INT; SELECT balance INTO b FROM acc WHERE id = who; SET total = total + b; END;
CALL pay(1, 5);
CALL pay(2, 5);
CALL pay(3, 5);
CALL pay(4, -5);
-- params: 5, 7
CALL pay(?, ?);
-- params: 6, 7
CALL pay(?, ?);
SELECT * FROM acc ORDER BY id;
SELECT * FROM moves ORDER BY acc, n;
CALL show_acc(1);
CALL show_acc(2);
CALL show_acc(77);
CALL balance_of(3, @b);
SELECT @b;
CALL balance_of(4, @c);
SELECT @b, @c;
SELECT id, balance, @b, @c FROM acc WHERE id = 4;
SELECT id FROM acc WHERE balance > @b ORDER BY id;
SET @total = 0;
CALL add_to(1, @total);
CALL add_to(2, @total);
CALL add_to(5, @total);
SELECT @total;
SET @who = 6;
CALL pay(@who, 1);
CALL balance_of(@who, @b);
SELECT @b;
-- text
CALL nobody(1);
CALL pay(1);
CALL pay(1, 5);
SELECT ROW_COUNT();

## procedures in transactions
CREATE TABLE acc (id INT PRIMARY KEY, balance INT NOT NULL) /*weir: shard by hash(id) */;
CREATE TABLE s (id INT PRIMARY KEY AUTO_INCREMENT, v INT) /*weir: single on shard '{s2}' */;
INSERT INTO acc VALUES (1, 10), (2, 20), (3, 30), (4, 40);
CREATE PROCEDURE pay(IN who INT, IN what INT) UPDATE acc SET balance = balance + what WHERE id = who;
CREATE PROCEDURE put(IN what INT) INSERT INTO s (v) VALUES (what);
CREATE PROCEDURE ends() BEGIN START TRANSACTION; UPDATE s SET v = v + 1; COMMIT; END;
BEGIN;
CALL pay(1, -5);
CALL pay(2, 5);
CALL pay(3, 1);
CALL pay(4, 1);
CALL put(9);
SELECT LAST_INSERT_ID();
SELECT * FROM acc ORDER BY id;
ROLLBACK;
SELECT * FROM acc ORDER BY id;
SELECT COUNT(*) FROM s;
BEGIN;
CALL pay(1, -5);
CALL pay(2, 5);
CALL pay(3, 5);
CALL pay(4, 5);
COMMIT;
SELECT * FROM acc ORDER BY id;
CALL put(7);
SELECT LAST_INSERT_ID();
CALL put(8);
SELECT LAST_INSERT_ID(), id FROM acc WHERE id = 1;
SELECT id, v FROM s ORDER BY id;
CALL ends();
SELECT v FROM s ORDER BY id;
CALL pay(1, NULL);
CALL pay(1, 1);
SELECT * FROM acc ORDER BY id;

## what procedures leave in user variables
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40), (5, 50);
CREATE PROCEDURE remember(IN k INT) BEGIN SET @last = k; SELECT v INTO @seen FROM t WHERE id = k; END;
CREATE PROCEDURE recall(IN k INT) SELECT v, @last, @seen FROM t WHERE id = k;
CALL remember(1);
CALL recall(2);
CALL recall(3);
CALL remember(4);
CALL recall(5);
SELECT @last, @seen;
SELECT id FROM t WHERE v > @seen ORDER BY id;
# Servers keep the type that a variable had when the procedure ran first.
SET @last = 99;
CALL recall(1);
CALL recall(2);

## procedures of single and global tables
CREATE TABLE s (id INT PRIMARY KEY, v INT) /*weir: single on shard '{s2}' */;
CREATE TABLE log (id INT PRIMARY KEY AUTO_INCREMENT, what VARCHAR(20)) /*weir: single on shard '{s2}' */;
CREATE TABLE g (id INT PRIMARY KEY, name VARCHAR(10)) /*weir: global */;
INSERT INTO g VALUES (1, 'one'), (2, 'two');
CREATE TRIGGER noted AFTER INSERT ON s FOR EACH ROW INSERT INTO log (what) VALUES (CONCAT('put ', NEW.id));
CREATE PROCEDURE put(IN a INT, IN b INT) BEGIN DECLARE EXIT HANDLER FOR 1062 SELECT 'there is one' AS answer; INSERT INTO s VALUES (a, b); SELECT s.id, g.name FROM s JOIN g ON g.id = s.id ORDER BY s.id; END;
CREATE PROCEDURE names_of() SELECT * FROM g ORDER BY id;
CREATE PROCEDURE computes(IN a INT) BEGIN DECLARE i INT DEFAULT 0; DECLARE sum INT DEFAULT 0; WHILE i < a DO SET i = i + 1, sum = sum + i; END WHILE; SELECT sum; END;
CREATE PROCEDURE fails(IN a INT) BEGIN IF a > 1 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'too many'; END IF; SELECT 'fine'; END;
CREATE PROCEDURE warns() BEGIN INSERT IGNORE INTO s VALUES (1, 1); END;
CALL put(1, 1);
CALL put(2, 2);
CALL put(2, 2);
CALL names_of();
CALL computes(4);
CALL fails(1);
CALL fails(2);
CALL warns();
SHOW WARNINGS;
SELECT * FROM s ORDER BY id;
SELECT what FROM log ORDER BY id;
DROP PROCEDURE computes;
-- text
CALL computes(4);
CREATE PROCEDURE computes(IN a INT) SELECT a * 2 AS twice;
CALL computes(4);
ALTER PROCEDURE computes COMMENT 'twice';
CALL computes(5);

## cursors, loops and procedures that call others
CREATE TABLE o (who INT, id INT, v INT, PRIMARY KEY (who, id)) /*weir: shard by hash(who) */;
INSERT INTO o VALUES (1, 1, 1), (1, 2, 2), (1, 3, 3), (2, 1, 1), (2, 2, 2), (3, 1, 5), (4, 1, 6);
CREATE PROCEDURE one(IN w INT, IN i INT) UPDATE o SET v = v * 10 WHERE who = w AND id = i;
CREATE PROCEDURE all_of(IN w INT) BEGIN DECLARE done INT DEFAULT 0; DECLARE i INT; DECLARE c CURSOR FOR SELECT id FROM o WHERE who = w ORDER BY id; DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = 1; OPEN c; l: LOOP FETCH c INTO i; IF done THEN LEAVE l; END IF; CALL one(w, i); END LOOP; CLOSE c; END;
CREATE PROCEDURE top(IN w INT, IN n INT) SELECT id, v FROM o WHERE who = w ORDER BY id DESC LIMIT n;
CALL all_of(1);
CALL all_of(2);
CALL all_of(3);
SELECT * FROM o ORDER BY who, id;
CALL top(1, 2);
CALL top(2, 1);
CALL top(2, 0);

## functions that compute
CREATE TABLE t (id INT PRIMARY KEY, v INT, name VARCHAR(20)) /*weir: shard by hash(id) */;
CREATE TABLE g (id INT PRIMARY KEY, name VARCHAR(10)) /*weir: global */;
INSERT INTO g VALUES (1, 'one'), (2, 'two'), (3, 'three');
CREATE FUNCTION plus(a INT, b INT) RETURNS INT DETERMINISTIC RETURN a + b;
CREATE FUNCTION wrapped(a VARCHAR(20)) RETURNS VARCHAR(40) DETERMINISTIC BEGIN DECLARE b VARCHAR(40); SET b = CONCAT('<', a, '>'); IF a IS NULL THEN SET b = 'none'; END IF; RETURN b; END;
CREATE FUNCTION name_of(i INT) RETURNS VARCHAR(10) READS SQL DATA BEGIN DECLARE n VARCHAR(10); SELECT name INTO n FROM g WHERE id = i; RETURN n; END;
CREATE FUNCTION doubled(a INT) RETURNS INT DETERMINISTIC RETURN plus(a, plus(a, 1));
INSERT INTO t VALUES (1, plus(1, 1), 'a'), (2, plus(2, 2), wrapped('b')), (3, 3, NULL), (4, 1, 'd'), (5, 2, 'e'), (6, 3, 'f');
SELECT id, plus(v, 1), wrapped(name) FROM t ORDER BY id;
SELECT id, plus(v, 1) AS p FROM t ORDER BY p, id;
SELECT plus(v, 1) AS p, COUNT(*) FROM t GROUP BY p ORDER BY p;
SELECT SUM(plus(v, id)), MAX(plus(v, id)) FROM t;
SELECT id FROM t WHERE plus(v, id) > 5 ORDER BY id;
SELECT id, name_of(v) FROM t ORDER BY id;
SELECT id, name_of(v) FROM t WHERE id = 3;
SELECT id, doubled(v) FROM t ORDER BY id;
SELECT t.id, name_of(t.v), g.name FROM t JOIN g ON g.id = t.v WHERE wrapped(g.name) <> '<two>' ORDER BY t.id;
UPDATE t SET v = plus(v, 100) WHERE plus(id, 1) > 3;
UPDATE t SET name = wrapped(name);
SELECT * FROM t ORDER BY id;
DELETE FROM t WHERE plus(v, 0) > 102;
SELECT * FROM t ORDER BY id;
BEGIN;
SELECT plus(v, 1) FROM t WHERE id = 1;
UPDATE t SET v = doubled(v) WHERE id = 2;
UPDATE t SET v = doubled(v) WHERE id = 3;
UPDATE t SET v = doubled(v) WHERE id = 1;
ROLLBACK;
SELECT * FROM t ORDER BY id;
-- text
-- refused: stored function
UPDATE t SET name = name_of(v);
UPDATE g SET name = wrapped(name) WHERE id = 1;
SELECT * FROM g ORDER BY id;

## functions that read tables of one shard
CREATE TABLE t (id INT PRIMARY KEY, v INT, name VARCHAR(20)) /*weir: shard by hash(id) */;
CREATE TABLE s (k INT PRIMARY KEY, v VARCHAR(20)) /*weir: single */;
CREATE TABLE o (k INT PRIMARY KEY, v VARCHAR(20)) /*weir: single on shard '{s2}' */;
INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c');
INSERT INTO s VALUES (1, 'one'), (2, 'two');
INSERT INTO o VALUES (1, 'uno'), (3, 'tres');
CREATE FUNCTION name_of(i INT) RETURNS VARCHAR(20) READS SQL DATA BEGIN DECLARE n VARCHAR(20); DECLARE EXIT HANDLER FOR NOT FOUND RETURN 'none'; SELECT v INTO n FROM s WHERE k = i; RETURN REPLACE(n, 'o', '0'); END;
CREATE FUNCTION other_name(i INT) RETURNS VARCHAR(20) READS SQL DATA RETURN (SELECT v FROM o WHERE k = i);
CREATE FUNCTION how_many() RETURNS INT READS SQL DATA RETURN (SELECT COUNT(*) FROM s WHERE name_of(k) <> 'none');
CREATE FUNCTION dashed(t VARCHAR(20)) RETURNS VARCHAR(20) DETERMINISTIC RETURN INSERT(REPLACE(t, ' ', '-'), 1, 1, 'x');
SELECT name_of(1), name_of(9), how_many(), dashed('a b');
SELECT other_name(1), other_name(2);
SELECT k, name_of(k) FROM s ORDER BY k;
SELECT k, other_name(k) FROM o WHERE other_name(k) LIKE '%u%' ORDER BY k;
SELECT id, dashed(name) FROM t ORDER BY id;
-- params: 2
SELECT name_of(?);
DO other_name(3);
INSERT INTO s VALUES (3, name_of(1)), (4, CONCAT(name_of(2), '!'));
INSERT INTO o VALUES (4, name_of(2));
INSERT INTO t VALUES (4, how_many(), name_of(1)), (6, 1, 'f');
INSERT INTO t VALUES (5, 0, other_name(3));
-- text
-- refused: function that is not built in
INSERT INTO t VALUES (7, 0, CONCAT(name_of(1), other_name(3)));
-- text
-- refused: function that is not built in
SELECT id, name_of(v) FROM t;
INSERT INTO t SELECT k + 10, k, name_of(k) FROM s;
SELECT * FROM s ORDER BY k;
SELECT * FROM o ORDER BY k;
SELECT * FROM t ORDER BY id;
UPDATE s SET v = name_of(k) WHERE k = 1;
DELETE FROM o WHERE other_name(k) = 'tres';
BEGIN;
UPDATE s SET v = 'new' WHERE k = 2;
INSERT INTO t VALUES (20, 0, name_of(2));
SELECT name_of(2), how_many();
ROLLBACK;
SELECT name_of(2);
SELECT * FROM s ORDER BY k;
SELECT * FROM o ORDER BY k;
SELECT COUNT(*) FROM t;
SET @a = name_of(2);
SELECT @a;

## procedures with temporary tables of their own
CREATE TABLE pay (id INT PRIMARY KEY, who INT, amount INT) /*weir: single */;
CREATE TABLE acc (id INT PRIMARY KEY, name VARCHAR(20)) /*weir: single */;
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO pay VALUES (1, 1, 5), (2, 1, 6), (3, 2, 1);
INSERT INTO acc VALUES (1, 'Ann'), (2, 'Bob');
INSERT INTO t VALUES (1, 1), (2, 2);
CREATE PROCEDURE best(IN least INT, OUT n INT) BEGIN DROP TEMPORARY TABLE IF EXISTS found; CREATE TEMPORARY TABLE found (id INT NOT NULL PRIMARY KEY); INSERT INTO found SELECT who FROM pay GROUP BY who HAVING SUM(amount) > least; SELECT COUNT(*) INTO n FROM found; SELECT acc.* FROM found JOIN acc USING (id) ORDER BY id; DROP TEMPORARY TABLE found; END;
CREATE PROCEDURE scratch(IN i INT) BEGIN CREATE TEMPORARY TABLE own (v INT); INSERT INTO own SELECT v FROM t WHERE id = i; SELECT * FROM own; DROP TEMPORARY TABLE own; END;
CALL best(5, @n);
SELECT @n;
CALL best(0, @n);
SELECT @n;
-- session: 1
CALL scratch(1);
SELECT * FROM t ORDER BY id;
BEGIN;
INSERT INTO pay VALUES (4, 2, 100);
CALL best(50, @n);
ROLLBACK;
SELECT COUNT(*) FROM pay;

## Functions whose bodies have words of statements and of tables, and touch no table
CREATE TABLE title (id INT PRIMARY KEY, name VARCHAR(40)) /*weir: shard by hash(id) */;
CREATE TABLE total (id INT PRIMARY KEY, name VARCHAR(40)) /*weir: single */;
INSERT INTO title VALUES (1, 'A b C'), (2, 'd  e'), (3, NULL);
CREATE FUNCTION slug(title VARCHAR(40)) RETURNS VARCHAR(40) DETERMINISTIC RETURN REPLACE(LOWER(title), ' ', '-');
CREATE FUNCTION cut(a DECIMAL(10,3)) RETURNS DECIMAL(10,3) DETERMINISTIC RETURN CASE WHEN a > 1 THEN TRUNCATE(a, 1) ELSE a END;
CREATE FUNCTION counted(a INT) RETURNS INT DETERMINISTIC BEGIN DECLARE total INT DEFAULT 0; WHILE a > 0 DO SET total = total + a; SET a = a - 1; END WHILE; RETURN total; END;
CREATE FUNCTION mark(a VARCHAR(40)) RETURNS VARCHAR(40) DETERMINISTIC BEGIN IF a LIKE '%update%' THEN RETURN INSERT(a, 1, 1, 'delete'); END IF; RETURN a; END;
SELECT id, slug(name), cut(id * 1.55), counted(id), mark('update') FROM title ORDER BY id;
SELECT slug(name) AS s, COUNT(*) FROM title GROUP BY s ORDER BY s;
-- text
-- refused: GLOBAL tables, and read and change SINGLE
CREATE FUNCTION bad() RETURNS INT READS SQL DATA RETURN (SELECT COUNT(*) FROM title);
CREATE FUNCTION totals() RETURNS INT READS SQL DATA BEGIN DECLARE n INT; SELECT COUNT(*) INTO n FROM total; RETURN n; END;
SELECT totals();
-- text
-- refused: GLOBAL tables, and read and change SINGLE
CREATE FUNCTION bad() RETURNS INT MODIFIES SQL DATA BEGIN DELETE FROM title WHERE id = 9; RETURN 1; END;

## functions that change rows, on connections that have had temporary tables
CREATE TABLE counter (id INT PRIMARY KEY, n INT NOT NULL) /*weir: single on shard s1 */;
CREATE TABLE spread (id INT PRIMARY KEY, n INT) /*weir: shard by hash(id) */;
INSERT INTO counter VALUES (1, 0), (2, 10);
INSERT INTO spread VALUES (1, 1), (2, 2), (3, 3);
CREATE FUNCTION counted(i INT) RETURNS INT NOT DETERMINISTIC MODIFIES SQL DATA BEGIN UPDATE counter SET n = n + 1 WHERE id = i; RETURN (SELECT n FROM counter WHERE id = i); END;
SELECT a.id, b.n FROM spread a JOIN spread b ON a.id = b.n ORDER BY 1;
SELECT counted(1);
BEGIN;
SELECT counted(1);
UPDATE spread SET n = n + 1;
COMMIT;
CREATE TEMPORARY TABLE tt (i INT);
DROP TEMPORARY TABLE tt;
SELECT counted(1);
BEGIN;
SELECT counted(1);
UPDATE spread SET n = n + 1;
COMMIT;
CREATE TEMPORARY TABLE kept (i INT);
INSERT INTO kept VALUES (7);
SELECT counted(2), i FROM kept;
BEGIN;
SELECT counted(2);
UPDATE spread SET n = n + 1;
COMMIT;
SELECT * FROM spread ORDER BY id;
SELECT * FROM counter ORDER BY id;

## functions that change rows of SINGLE tables
CREATE TABLE packet (id INT AUTO_INCREMENT PRIMARY KEY, mark INT, who VARCHAR(10)) /*weir: single on shard s2 */;
CREATE TABLE counter (id INT PRIMARY KEY, n INT NOT NULL) /*weir: single on shard s2 */;
CREATE TABLE other (id INT PRIMARY KEY, n INT) /*weir: single on shard s1 */;
CREATE TABLE kind (id INT PRIMARY KEY, name VARCHAR(10)) /*weir: global */;
CREATE TABLE spread (id INT PRIMARY KEY, n INT) /*weir: shard by hash(id) */;
INSERT INTO counter VALUES (1, 0), (2, 10);
INSERT INTO other VALUES (1, 1);
INSERT INTO kind VALUES (1, 'one'), (2, 'two');
INSERT INTO spread VALUES (1, 1), (2, 2), (3, 3);
CREATE FUNCTION insert_packet(m INT, k INT) RETURNS INT NOT DETERMINISTIC MODIFIES SQL DATA BEGIN DECLARE w VARCHAR(10); SELECT name INTO w FROM kind WHERE id = k; INSERT INTO packet (mark, who) VALUES (m, w); RETURN LAST_INSERT_ID(); END;
CREATE FUNCTION next_of(i INT) RETURNS INT NOT DETERMINISTIC MODIFIES SQL DATA BEGIN UPDATE counter SET n = LAST_INSERT_ID(n + 1) WHERE id = i; RETURN LAST_INSERT_ID(); END;
CREATE FUNCTION counted(i INT) RETURNS INT NOT DETERMINISTIC MODIFIES SQL DATA BEGIN UPDATE counter SET n = n + 1 WHERE id = i; RETURN (SELECT n FROM counter WHERE id = i); END;
CREATE FUNCTION twice(i INT) RETURNS INT NOT DETERMINISTIC MODIFIES SQL DATA RETURN counted(i) + counted(i);
CREATE FUNCTION latest() RETURNS INT NOT DETERMINISTIC MODIFIES SQL DATA BEGIN DECLARE l INT DEFAULT LAST_INSERT_ID(); INSERT INTO packet (mark) VALUES (0); RETURN l; END;
SELECT insert_packet(5, 1);
SELECT LAST_INSERT_ID();
SELECT insert_packet(6, 2) AS a, insert_packet(7, 3) AS b;
INSERT INTO packet (mark) VALUES (8);
SELECT latest(), LAST_INSERT_ID();
SELECT LAST_INSERT_ID(), ROW_COUNT();
DO counted(1);
SELECT counted(1), counted(2), twice(1);
SELECT id, counted(id) FROM counter ORDER BY id;
SELECT id, counted(1) FROM kind ORDER BY id;
UPDATE counter SET n = n + 100 WHERE id = 2 AND insert_packet(9, 1) > 0;
INSERT INTO packet (mark, who) VALUES (counted(1), 'in');
INSERT INTO packet (mark) SELECT counted(id) FROM counter;
SELECT counted(1) INTO @c;
SELECT @c;
-- params: 2
SELECT counted(?);
BEGIN;
SELECT insert_packet(10, 1) > 0, counted(1);
UPDATE spread SET n = n + 1;
ROLLBACK;
SELECT counted(1);
BEGIN;
SELECT counted(1);
UPDATE spread SET n = n + 1;
COMMIT;
START TRANSACTION READ ONLY;
SELECT counted(1);
COMMIT;
CREATE PROCEDURE through(IN i INT) BEGIN DECLARE c INT; SELECT counted(i) INTO c; SELECT c; UPDATE counter SET n = 0 WHERE id = i; END;
CALL through(2);
SELECT * FROM packet ORDER BY id;
SELECT * FROM counter ORDER BY id;
SELECT * FROM spread ORDER BY id;
-- text
-- refused: function
SELECT id, counted(1) FROM spread ORDER BY id;
-- text
-- refused: function
INSERT INTO spread VALUES (9, counted(1)), (10, 1), (11, 1), (12, counted(1)), (13, 1);
-- text
-- refused: function
UPDATE spread SET n = counted(1);
-- text
-- refused: function
SELECT n FROM other WHERE n = counted(1);
SET @d = counted(1);
SELECT @d;
DO counted(2), counted(1);
SELECT * FROM counter ORDER BY id;

## made and called in texts of several statements
CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(20)) /*weir: shard by hash(id) */;
-- text
DROP PROCEDURE IF EXISTS p; CREATE PROCEDURE p() BEGIN DO 1; SELECT 2; SELECT 'a;b'; END;
-- text
CALL p();
-- text
INSERT INTO t VALUES (1, 'a;b'); INSERT INTO t VALUES (2, 'c;d'), (3, 'e;f');
-- text
CALL p(); UPDATE t SET s = CONCAT(s, ';'); SELECT ROW_COUNT(), ';';
-- text
SELECT * FROM t ORDER BY id; SELECT * FROM t WHERE s = 'a;b;';
-- text
DROP PROCEDURE p; CREATE FUNCTION f(a INT) RETURNS INT DETERMINISTIC BEGIN DECLARE b INT DEFAULT 1; RETURN a + b; END;
-- text
SELECT f(1); CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW BEGIN SET NEW.s = CONCAT(NEW.s, ';'); SET @n = 1; END;
-- text
INSERT INTO t VALUES (4, 'x'); SELECT s FROM t WHERE id = 4;

## files and temporary tables in texts of several statements
CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(20)) /*weir: shard by hash(id) */;
-- text
SELECT COUNT(*) FROM t; LOAD DATA LOCAL INFILE '1\ta\n2\tb\n3\tc\n4\td\n' INTO TABLE t; SELECT * FROM t ORDER BY id;
-- text
CREATE TEMPORARY TABLE tmp (id INT PRIMARY KEY, s VARCHAR(20)); INSERT INTO tmp VALUES (1, 'x'), (2, 'y'); SELECT * FROM tmp ORDER BY id;
-- text
SELECT 1; SELECT id, s FROM tmp WHERE 1 = 2; DO 42; SELECT COUNT(*) FROM t;
-- text
SELECT COUNT(*) FROM tmp; LOAD DATA LOCAL INFILE '5\te\n' INTO TABLE tmp; LOAD DATA LOCAL INFILE '6\tf\n' INTO TABLE tmp; SELECT * FROM tmp ORDER BY id;
-- text
INSERT INTO t SELECT * FROM tmp WHERE id > 2; UPDATE t JOIN tmp USING (id) SET t.s = tmp.s; SELECT * FROM t ORDER BY id;
-- text
DROP TEMPORARY TABLE IF EXISTS t; CREATE TEMPORARY TABLE t (a INT); INSERT INTO t VALUES (7); SELECT * FROM t; DROP TEMPORARY TABLE t; SELECT COUNT(*) FROM t;
-- text
SELECT * FROM t WHERE id = 1; DROP TEMPORARY TABLE tmp; SELECT * FROM tmp; SELECT 1;

## A procedure that is not there
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
CALL nowhere();
CALL nowhere(1, @a);
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3);
CREATE PROCEDURE somewhere() SELECT COUNT(*) FROM t WHERE id = 1;
DROP PROCEDURE somewhere;
CALL somewhere();
BEGIN;
INSERT INTO t VALUES (11, 1);
INSERT INTO t VALUES (12, 1), (13, 2), (14, 3), (15, 4);
UPDATE t SET v = v + 1 WHERE id > 10;
COMMIT;
CALL nowhere(1, @b);
BEGIN;
UPDATE t SET v = v + 1 WHERE id = 11;
UPDATE t SET v = v + 1 WHERE id = 12;
UPDATE t SET v = v + 1 WHERE id = 13;
SELECT * FROM t ORDER BY id;
COMMIT;

## stored functions with the names of aggregates
# Servers warn of such a name (1585), each shard for itself.
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30);
-- no warnings
CREATE FUNCTION `sum`(x INT) RETURNS INT DETERMINISTIC NO SQL RETURN x + 1;
-- no warnings
CREATE FUNCTION `max`(x INT) RETURNS INT DETERMINISTIC NO SQL RETURN x + 2;
SELECT id, `sum`(a) FROM t ORDER BY id;
SELECT id, sum (a) FROM t ORDER BY id;
UPDATE t SET a = `sum`(a) WHERE a > 10;
-- no warnings
UPDATE t SET a = max (a);
INSERT INTO t VALUES (`sum`(3), 1), (`max`(3), 2);
SELECT id, a FROM t ORDER BY id;
SELECT SUM(a), MAX(a) FROM t;
