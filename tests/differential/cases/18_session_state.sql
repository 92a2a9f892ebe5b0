# Functions and variables of the session's state, wherever Weir changes a text or takes a value itself.

## LAST_INSERT_ID() beside a generated key
CREATE TABLE rent (id INT AUTO_INCREMENT PRIMARY KEY, c INT) /*weir: shard by hash(id) */;
CREATE TABLE pay (id INT AUTO_INCREMENT PRIMARY KEY, c INT, rent_id INT) /*weir: shard by hash(id) */;
INSERT INTO rent (c) VALUES (3);
INSERT INTO pay (c, rent_id) VALUES (3, LAST_INSERT_ID());
SELECT LAST_INSERT_ID();
INSERT INTO rent (c) VALUES (1), (2), (3);
INSERT INTO rent (c) VALUES (4);
INSERT INTO pay (c, rent_id) VALUES (5, LAST_INSERT_ID()), (6, LAST_INSERT_ID()), (7, LAST_INSERT_ID());
SELECT * FROM pay ORDER BY id;
INSERT INTO rent (c) VALUES (8), (9);
INSERT INTO pay SET c = 1, rent_id = LAST_INSERT_ID();
INSERT INTO pay (c, rent_id) VALUES (@@last_insert_id, @@identity);
INSERT INTO pay (rent_id, c) VALUES (LAST_INSERT_ID() + 100, LAST_INSERT_ID());
INSERT INTO pay VALUES (NULL, 1, LAST_INSERT_ID()), (DEFAULT, 2, LAST_INSERT_ID() * 10);
REPLACE INTO pay (c, rent_id) VALUES (11, LAST_INSERT_ID());
INSERT IGNORE INTO pay (c, rent_id) VALUES (12, LAST_INSERT_ID());
SELECT * FROM pay ORDER BY id;
SELECT LAST_INSERT_ID(), @@last_insert_id, @@identity;
-- params: 13
INSERT INTO pay (c, rent_id) VALUES (?, LAST_INSERT_ID());
-- params: 14, 15
INSERT INTO pay (c, rent_id) VALUES (?, LAST_INSERT_ID()), (?, LAST_INSERT_ID());
SELECT * FROM pay ORDER BY id;

## LAST_INSERT_ID() in transactions
CREATE TABLE rent (id INT AUTO_INCREMENT PRIMARY KEY, c INT) /*weir: shard by hash(id) */;
CREATE TABLE pay (id INT AUTO_INCREMENT PRIMARY KEY, c INT, rent_id INT) /*weir: shard by hash(id) */;
CREATE TABLE one (id INT AUTO_INCREMENT PRIMARY KEY, c INT) /*weir: single on shard '{s2}' */;
BEGIN;
INSERT INTO rent (c) VALUES (1);
INSERT INTO pay (c, rent_id) VALUES (1, LAST_INSERT_ID());
INSERT INTO rent (c) VALUES (2);
INSERT INTO pay (c, rent_id) VALUES (2, LAST_INSERT_ID()), (3, LAST_INSERT_ID());
INSERT INTO one (c) VALUES (1), (2), (3), (4), (5), (6), (7);
INSERT INTO pay (c, rent_id) VALUES (4, LAST_INSERT_ID());
INSERT INTO one (c) VALUES (LAST_INSERT_ID() * 100);
SELECT LAST_INSERT_ID();
SELECT * FROM pay ORDER BY id;
SELECT * FROM one ORDER BY id;
COMMIT;
SELECT LAST_INSERT_ID();
SET autocommit = 0;
INSERT INTO one (c) VALUES (77), (78);
INSERT INTO pay (c, rent_id) VALUES (5, LAST_INSERT_ID());
INSERT INTO one (c) VALUES (LAST_INSERT_ID() * 100);
ROLLBACK;
SELECT LAST_INSERT_ID();
SET autocommit = 1;
INSERT INTO pay (c, rent_id) VALUES (6, LAST_INSERT_ID());
SELECT c, rent_id FROM pay ORDER BY c;

## LAST_INSERT_ID() of GLOBAL and SINGLE tables
CREATE TABLE rent (id INT AUTO_INCREMENT PRIMARY KEY, c INT) /*weir: shard by hash(id) */;
CREATE TABLE g (id INT AUTO_INCREMENT PRIMARY KEY, c INT, rent_id INT) /*weir: global */;
CREATE TABLE one (id INT AUTO_INCREMENT PRIMARY KEY, c INT, rent_id INT) /*weir: single on shard '{s2}' */;
INSERT INTO rent (c) VALUES (3), (4), (5);
INSERT INTO rent (c) VALUES (6);
INSERT INTO g (c, rent_id) VALUES (3, LAST_INSERT_ID());
SELECT LAST_INSERT_ID();
INSERT INTO g (c, rent_id) VALUES (4, LAST_INSERT_ID()), (5, LAST_INSERT_ID()), (6, 1);
INSERT INTO g (rent_id) VALUES (@@identity);
INSERT INTO g SET rent_id = LAST_INSERT_ID();
INSERT INTO g (id, c) VALUES (LAST_INSERT_ID() + 50, LAST_INSERT_ID());
INSERT INTO g (id, c) VALUES (LAST_INSERT_ID() + 60, LAST_INSERT_ID());
INSERT INTO g (id, c) VALUES (NULL, LAST_INSERT_ID());
INSERT INTO g VALUES (NULL, 1, LAST_INSERT_ID()), (DEFAULT, 2, LAST_INSERT_ID() * 10);
INSERT INTO one (c, rent_id) VALUES (1, LAST_INSERT_ID()), (2, LAST_INSERT_ID());
INSERT INTO g (c, rent_id) VALUES (9, LAST_INSERT_ID());
INSERT INTO g (c, rent_id) VALUES (1, 1) ON DUPLICATE KEY UPDATE rent_id = LAST_INSERT_ID();
INSERT INTO g (id, rent_id) VALUES (1, 1) ON DUPLICATE KEY UPDATE rent_id = LAST_INSERT_ID() + 1000;
UPDATE g SET c = LAST_INSERT_ID() WHERE id = 2;
SELECT * FROM g ORDER BY id;
SELECT * FROM one ORDER BY id;
-- params: 21, 22
INSERT INTO g (c, rent_id) VALUES (?, LAST_INSERT_ID()), (?, LAST_INSERT_ID() + 1);
SELECT * FROM g ORDER BY id;
DELETE FROM g WHERE id = LAST_INSERT_ID();
SELECT COUNT(*) FROM g;

## LAST_INSERT_ID() in reads and changes
CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a INT, b INT) /*weir: shard by hash(id) */;
CREATE TABLE u (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
INSERT INTO t (a) VALUES (1), (2), (3), (4), (5), (6);
INSERT INTO t (a) VALUES (7), (8);
SELECT id, a FROM t WHERE id = LAST_INSERT_ID();
SELECT id, a FROM t WHERE id < LAST_INSERT_ID() ORDER BY id;
SELECT id + LAST_INSERT_ID() FROM t WHERE id IN (LAST_INSERT_ID(), LAST_INSERT_ID() + 1) ORDER BY 1;
SELECT LAST_INSERT_ID(), COUNT(*), SUM(a) + LAST_INSERT_ID() FROM t;
SELECT a FROM t GROUP BY a HAVING a > LAST_INSERT_ID() ORDER BY a;
SELECT id FROM t WHERE id = @@last_insert_id;
SELECT id FROM t WHERE id = @@identity;
UPDATE t SET b = LAST_INSERT_ID() WHERE id = LAST_INSERT_ID();
UPDATE t SET b = LAST_INSERT_ID() WHERE id < LAST_INSERT_ID();
UPDATE t SET b = @@identity + 1 WHERE id = LAST_INSERT_ID() + 1;
UPDATE t SET b = LAST_INSERT_ID() * 10 ORDER BY id DESC LIMIT 3;
SELECT * FROM t ORDER BY id;
INSERT INTO u SELECT id, LAST_INSERT_ID() FROM t WHERE id < LAST_INSERT_ID();
INSERT INTO u VALUES (LAST_INSERT_ID() + 100, LAST_INSERT_ID());
INSERT INTO u VALUES (LAST_INSERT_ID() + 101, LAST_INSERT_ID()), (LAST_INSERT_ID() + 102, LAST_INSERT_ID() + 1);
INSERT INTO u VALUES (101, 1) ON DUPLICATE KEY UPDATE a = LAST_INSERT_ID() + 500;
UPDATE u SET id = LAST_INSERT_ID() + 300 WHERE id = 1;
SELECT * FROM u ORDER BY id;
DELETE FROM t WHERE id = LAST_INSERT_ID();
DELETE FROM t WHERE id >= LAST_INSERT_ID() - 2;
SELECT * FROM t ORDER BY id;
SET @l = LAST_INSERT_ID();
INSERT INTO u VALUES (1000 + @l, @l);
SELECT * FROM u WHERE id >= 1000;
DO LAST_INSERT_ID(77);
INSERT INTO t (a, b) VALUES (LAST_INSERT_ID(), 1);
SELECT LAST_INSERT_ID() <> 77;
SELECT a, b FROM t WHERE b = 1;

## LAST_INSERT_ID(expr) and after failures
CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a INT UNIQUE, b INT) /*weir: single on shard '{s2}' */;
CREATE TABLE s (id INT AUTO_INCREMENT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
INSERT INTO t (a, b) VALUES (1, 1), (2, 2);
INSERT INTO t (a, b) VALUES (1, 5) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), b = 6;
SELECT LAST_INSERT_ID();
INSERT INTO s (a) VALUES (LAST_INSERT_ID());
INSERT INTO t (a) VALUES (1);
SELECT LAST_INSERT_ID();
INSERT INTO s (a) VALUES (LAST_INSERT_ID() + 10);
UPDATE t SET b = LAST_INSERT_ID(b + 1) WHERE a = 2;
SELECT LAST_INSERT_ID();
INSERT INTO s (a) VALUES (LAST_INSERT_ID());
SELECT LAST_INSERT_ID(LAST_INSERT_ID() + 5);
INSERT INTO s (a) VALUES (LAST_INSERT_ID());
INSERT INTO s VALUES (500, LAST_INSERT_ID());
SELECT LAST_INSERT_ID();
SET last_insert_id = 33;
INSERT INTO s (a) VALUES (LAST_INSERT_ID());
SET @@identity = 44;
INSERT INTO s (a) VALUES (LAST_INSERT_ID());
SELECT a FROM s WHERE a > 30 ORDER BY a;
SELECT COUNT(*) FROM s;

## Other values of the session
CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(100), b BIGINT) /*weir: shard by hash(id) */;
CREATE TABLE g (id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(100), b BIGINT) /*weir: global */;
INSERT INTO t (b) VALUES (1), (2), (3);
INSERT INTO t (a, b) VALUES ('rows', ROW_COUNT());
INSERT INTO g (a, b) VALUES ('rows', ROW_COUNT()), ('rows', ROW_COUNT());
INSERT INTO t (a, b) VALUES ('rows', ROW_COUNT()), ('rows', ROW_COUNT());
INSERT INTO t (a, b) VALUES ('me', CONNECTION_ID() = (SELECT CONNECTION_ID()));
INSERT INTO t (a) VALUES (DATABASE()), (SCHEMA());
INSERT INTO g (a) VALUES (DATABASE()), (SCHEMA());
INSERT INTO t (a) VALUES (SUBSTRING_INDEX(CURRENT_USER(), '@', 1)), (SUBSTRING_INDEX(USER(), '@', 1));
INSERT INTO g (a) VALUES (SUBSTRING_INDEX(CURRENT_USER(), '@', 1)), (SUBSTRING_INDEX(USER(), '@', 1));
SET timestamp = 1700000000;
INSERT INTO t (a, b) VALUES (NOW(), UNIX_TIMESTAMP()), (CURRENT_TIMESTAMP, @@timestamp);
INSERT INTO g (a, b) VALUES (NOW(), UNIX_TIMESTAMP()), (CURRENT_TIMESTAMP, @@timestamp);
INSERT INTO t (a, b) VALUES (UTC_TIMESTAMP(), 0);
SET timestamp = DEFAULT;
SET @v = 'kept', @n = 7;
INSERT INTO t (a, b) VALUES (@v, @n), (CONCAT(@v, @n), @n * 2);
INSERT INTO g (a, b) VALUES (@v, @n), (CONCAT(@v, @n), @n * 2);
SET sql_mode = CONCAT(@@sql_mode, ',NO_BACKSLASH_ESCAPES');
INSERT INTO t (a) VALUES ('a\b'), (CONCAT('x\', @v));
INSERT INTO g (a) VALUES ('a\b'), (CONCAT('x\', @v));
SET sql_mode = REPLACE(@@sql_mode, 'NO_BACKSLASH_ESCAPES', '');
SET time_zone = '+05:00';
SET timestamp = 1700000000;
INSERT INTO t (a) VALUES (NOW());
INSERT INTO g (a) VALUES (NOW()), (FROM_UNIXTIME(0));
SET timestamp = DEFAULT, time_zone = DEFAULT;
INSERT INTO t (a, b) VALUES (@@sql_auto_is_null, @@autocommit), (@@lc_time_names, @@auto_increment_increment);
SELECT a, b FROM t ORDER BY id;
SELECT a, b FROM g ORDER BY id;

## What Ruby's libraries set on each connection leaves the session free
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
SET SQL_AUTO_IS_NULL=0;
SET @@SESSION.sql_auto_is_null = OFF, @@SESSION.wait_timeout = 2147483, completion_type = NO_CHAIN;
BEGIN;
INSERT INTO t VALUES (1, 1);
INSERT INTO t VALUES (2, 2), (3, 3), (4, 4), (5, 5);
UPDATE t SET a = a + 1 WHERE id = 1;
UPDATE t SET a = a + 1 WHERE id = 2;
UPDATE t SET a = a + 1 WHERE id = 3;
COMMIT;
SELECT @@sql_auto_is_null, @@completion_type;
SELECT * FROM t ORDER BY id;
SELECT a FROM t WHERE id IS NULL;

## insert_id of the session
CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a INT) /*weir: single on shard '{s1}' */;
SET insert_id = 50;
INSERT INTO t (a) VALUES (1);
INSERT INTO t (a) VALUES (2);
SELECT * FROM t ORDER BY id;

## Explicit values leave LAST_INSERT_ID() as it was
CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
CREATE TABLE g (id INT AUTO_INCREMENT PRIMARY KEY, a INT) /*weir: global */;
CREATE TABLE one (id INT AUTO_INCREMENT PRIMARY KEY, a INT) /*weir: single on shard '{s2}' */;
INSERT INTO t (a) VALUES (1), (2);
SELECT LAST_INSERT_ID();
INSERT INTO t VALUES (100, 1);
SELECT LAST_INSERT_ID();
INSERT INTO t VALUES (101, 1), (102, 2), (103, 3), (104, 4);
SELECT LAST_INSERT_ID();
INSERT INTO g VALUES (200, 1);
SELECT LAST_INSERT_ID();
INSERT INTO g VALUES (201, 1), (202, 2);
SELECT LAST_INSERT_ID();
BEGIN;
INSERT INTO t (a) VALUES (3);
INSERT INTO one VALUES (300, LAST_INSERT_ID());
SELECT LAST_INSERT_ID();
INSERT INTO one VALUES (301, LAST_INSERT_ID()), (302, 0);
SELECT LAST_INSERT_ID();
INSERT INTO one (a) VALUES (1), (2);
SELECT LAST_INSERT_ID();
UPDATE t SET a = LAST_INSERT_ID(a + 40) WHERE id = 101;
SELECT LAST_INSERT_ID();
UPDATE t SET a = LAST_INSERT_ID(77);
SELECT LAST_INSERT_ID();
COMMIT;
SELECT LAST_INSERT_ID();
SELECT * FROM one ORDER BY id;
INSERT INTO t (a) SELECT a FROM one;
SELECT LAST_INSERT_ID() > 100;
INSERT INTO t SELECT id + 1000, a FROM one;
SELECT LAST_INSERT_ID() > 1000;

## What one session left on a connection is not another's
CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
CREATE TABLE one (id INT AUTO_INCREMENT PRIMARY KEY, a INT) /*weir: single on shard '{s2}' */;
INSERT INTO t (a) VALUES (1), (2), (3);
-- session: 1
INSERT INTO one (a) VALUES (5), (6), (7);
-- session: 1
BEGIN;
-- session: 1
UPDATE t SET a = LAST_INSERT_ID(90);
-- session: 1
INSERT INTO one (a) VALUES (LAST_INSERT_ID());
-- session: 1
COMMIT;
INSERT INTO t (a) VALUES (LAST_INSERT_ID()), (LAST_INSERT_ID());
-- session: 1
INSERT INTO t (a) VALUES (LAST_INSERT_ID()), (LAST_INSERT_ID());
-- session: 2
INSERT INTO t (a) VALUES (LAST_INSERT_ID()), (LAST_INSERT_ID());
-- session: 2
INSERT INTO t VALUES (1000, LAST_INSERT_ID()), (1001, LAST_INSERT_ID()), (1002, LAST_INSERT_ID());
SELECT a FROM t WHERE id < 1000 ORDER BY id;
SELECT a FROM t WHERE id >= 1000 ORDER BY id;

## long values of user variables
CREATE TABLE t (id INT PRIMARY KEY, v LONGTEXT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'z'), (4, 'w');
SET @t = (SELECT REPEAT('a', 70000));
SELECT COUNT(*) FROM t;
UPDATE t SET v = @t WHERE id = 2;
SELECT id, LENGTH(v) FROM t WHERE LENGTH(v) = LENGTH(@t) OR id = 3 ORDER BY id;
SET @big = REPEAT('b', 900000);
SELECT COUNT(*) FROM t;
SELECT LENGTH(@big), LENGTH(@t);
-- refused: too long to be sent to others
SELECT COUNT(*) FROM t WHERE LENGTH(v) = LENGTH(@big);
SELECT COUNT(*) FROM t WHERE LENGTH(v) = LENGTH(@t);
SET @big = CONCAT('sm', 'all');
SELECT COUNT(*) FROM t WHERE LENGTH(v) <> LENGTH(@big);

## a transaction after rows of one shard have been returned
CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v INT) /*weir: shard by hash(id) */;
CREATE TABLE s (id INT PRIMARY KEY AUTO_INCREMENT, v INT) /*weir: single on shard '{s2}' */;
CREATE TABLE h (id INT PRIMARY KEY AUTO_INCREMENT, v INT) /*weir: single */;
-- mariadb
INSERT INTO s (id, v) VALUES (7, 1) RETURNING id, v;
-- mariadb
INSERT INTO h (id, v) VALUES (7, 1) RETURNING id;
BEGIN;
INSERT INTO s (v) VALUES (2);
INSERT INTO h (v) VALUES (3);
INSERT INTO t (id, v) VALUES (1, 1), (2, 2), (3, 3), (4, 4);
COMMIT;
SELECT COUNT(*) FROM t;
-- mariadb
CREATE TRIGGER tr BEFORE INSERT ON s FOR EACH ROW SET @seen = NEW.v;
-- mariadb
INSERT INTO s (id, v) VALUES (70, 5) RETURNING id, v;
-- mariadb
SELECT id, v + @seen FROM t ORDER BY id;
-- mariadb
SELECT @seen;

## SET NAMES in a transaction
CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(60)) /*weir: shard by hash(id) */;
BEGIN;
INSERT INTO t VALUES (1, COLLATION('a'));
SET NAMES latin1;
INSERT INTO t VALUES (2, COLLATION('a'));
INSERT INTO t VALUES (3, COLLATION('a'));
INSERT INTO t VALUES (4, COLLATION('a'));
INSERT INTO t VALUES (5, COLLATION('a'));
SET NAMES utf8mb4 COLLATE utf8mb4_bin;
INSERT INTO t VALUES (6, COLLATION('a'));
INSERT INTO t VALUES (7, COLLATION('a'));
INSERT INTO t VALUES (8, COLLATION('a'));
SELECT @@collation_connection;
COMMIT;
SET NAMES utf8mb4;
SELECT id, a FROM t ORDER BY id;

## Diagnostics of a session that is bound to a connection, after statements that ran elsewhere
CREATE TABLE far (id INT PRIMARY KEY, c INT) /*weir: shard by hash(id) */;
INSERT INTO far VALUES (1, 1), (2, 2), (3, 3), (4, 4);
SELECT GET_LOCK('weir differential diagnostics', 0);
SELECT * FROM nowhere;
SELECT COUNT(*) FROM far;
SHOW WARNINGS;
SELECT @@warning_count, @@error_count;
SELECT COUNT(*) FROM nowhere WHERE id = 1;
UPDATE far SET c = c + 1;
SHOW ERRORS;
SHOW COUNT(*) ERRORS;
SELECT id FROM far WHERE id = 2;
SHOW WARNINGS;
SELECT RELEASE_LOCK('weir differential diagnostics');

## FOUND_ROWS() after SHOW WARNINGS
CREATE TABLE far (id INT PRIMARY KEY, c INT) /*weir: shard by hash(id) */;
INSERT INTO far VALUES (1, 1), (2, 2), (3, 3), (4, 4);
SELECT * FROM far ORDER BY id;
SHOW WARNINGS;
SELECT FOUND_ROWS();
SELECT * FROM far WHERE id = 3;
SHOW ERRORS LIMIT 1;
SELECT FOUND_ROWS();
