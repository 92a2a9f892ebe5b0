# The same statements for each kind of shard key and placement.

## statements by key
-- each type; place; one; two; three; four; none
-- = INT; hash(k); 1; 2; 3; 40; 99
-- = BIGINT; hash(k); -1; 2; 3000000000; 40; 99
-- = BIGINT UNSIGNED; hash(k); 1; 18446744073709551615; 3; 40; 99
-- = TINYINT; hash(k); -128; 127; 0; 40; 99
-- = DECIMAL(10,2); hash(k); 1.50; -2.25; 3.00; 40.10; 99
-- = VARCHAR(20); hash(k); 'one'; 'two'; 'three'; 'four'; 'none'
-- = CHAR(10); hash(k); 'one'; 'two'; ''; 'four'; 'none'
-- = VARCHAR(20) CHARACTER SET latin1; hash(k); 'one'; 'zwölf'; 'three'; 'four'; 'none'
-- = VARBINARY(20); hash(k); 'one'; 'ONE'; 'three'; 'four'; 'none'
-- = DATE; hash(k); '2024-01-01'; '2023-05-05'; '1999-12-31'; '2025-06-07'; '2000-01-01'
-- = DATETIME; hash(k); '2024-01-01 10:00:00'; '2023-05-05'; '1999-12-31 23:59:59'; '2025-06-07'; '2000-01-01'
-- = YEAR; hash(k); 1999; 2000; 2024; 2155; 1901
-- = INT; range(k) ({s1} values less than (2), {s2} values less than (3), {s3} values less than (10), {s4} values less than maxvalue); 1; 2; 3; 40; 99
-- = DATE; range(k) ({s1} values less than ('2020-01-01'), {s2} values less than ('2024-01-01'), {s3} values less than maxvalue); '2024-01-01'; '2023-05-05'; '1999-12-31'; '2025-06-07'; '2000-01-01'
-- = INT; list(k) ({s1} values in (1, 99), {s2} values in (2), {s3} values in (3), {s4} default); 1; 2; 3; 40; 99
-- = VARCHAR(20); list(k) ({s1} values in ('one'), {s2} values in ('two', 'none'), {s3} default); 'one'; 'two'; 'three'; 'four'; 'none'
-- = DATE; year(k); '2024-01-01'; '2023-05-05'; '1999-12-31'; '2025-06-07'; '2000-01-01'
-- = DATETIME; month(k); '2024-01-01 10:00:00'; '2023-05-05'; '1999-12-31 23:59:59'; '2025-06-07'; '2000-01-01'
-- = DATE; day(k); '2024-01-01'; '2023-05-05'; '1999-12-31'; '2025-06-07'; '2000-01-01'
CREATE TABLE t (k {type} NOT NULL PRIMARY KEY, v VARCHAR(20), n INT) /*weir: shard by {place} */;
INSERT INTO t VALUES ({one}, 'a', 1), ({two}, 'b', 2);
-- params: {three}, 'c', 3
INSERT INTO t VALUES (?, ?, ?);
INSERT INTO t SET k = {four}, v = 'd', n = 4;
SELECT * FROM t WHERE k = {one};
-- params: {two}
SELECT * FROM t WHERE k = ?;
SELECT n FROM t WHERE {three} = k;
SELECT * FROM t WHERE k = {none};
SELECT * FROM t WHERE k IN ({one}, {three}) ORDER BY n;
-- params: {one}, {four}, {none}
SELECT * FROM t WHERE k IN (?, ?, ?) ORDER BY n;
SELECT * FROM t WHERE k = {one} OR k = {two} ORDER BY n;
SELECT * FROM t WHERE k NOT IN ({one}, {two}) ORDER BY n;
SELECT * FROM t WHERE k <> {one} ORDER BY n;
SELECT n FROM t WHERE k >= {two} ORDER BY n;
SELECT n FROM t WHERE k < {three} ORDER BY n;
SELECT n FROM t WHERE k BETWEEN {two} AND {one} ORDER BY n;
SELECT n FROM t WHERE k = {one} AND n = 1;
SELECT n FROM t WHERE k = {one} AND k = {two};
SELECT * FROM t ORDER BY k;
SELECT * FROM t ORDER BY k DESC LIMIT 2;
SELECT * FROM t ORDER BY k LIMIT 1, 2;
SELECT COUNT(*), SUM(n), MIN(k), MAX(k) FROM t;
-- other columns
SELECT k, COUNT(*) FROM t GROUP BY k ORDER BY k;
SELECT DISTINCT k FROM t ORDER BY k;
INSERT INTO t VALUES ({one}, 'dup', 0);
# MySQL forgets which warnings there were when the time is set back.
-- no warnings
INSERT IGNORE INTO t VALUES ({one}, 'dup', 0), ({two}, 'dup', 0);
-- no warnings
INSERT INTO t VALUES ({one}, 'a', 1), ({none}, 'e', 5) ON DUPLICATE KEY UPDATE n = n + 10;
REPLACE INTO t VALUES ({two}, 'bb', 22), ({three}, 'cc', 33);
SELECT * FROM t ORDER BY k;
UPDATE t SET v = 'x' WHERE k = {one};
-- params: {two}
UPDATE t SET n = n + 1 WHERE k = ?;
UPDATE t SET n = n + 1 WHERE k IN ({one}, {four});
UPDATE t SET n = 0 WHERE k = {one} AND n = 12345;
UPDATE t SET n = n + 1 ORDER BY k LIMIT 2;
SELECT * FROM t ORDER BY k;
BEGIN;
UPDATE t SET v = 'in' WHERE k = {one};
SAVEPOINT a;
DELETE FROM t WHERE k = {two};
INSERT INTO t VALUES ({two}, 'again', 7);
ROLLBACK TO a;
SELECT * FROM t ORDER BY k;
SELECT * FROM t WHERE k = {three} FOR UPDATE;
COMMIT;
BEGIN;
DELETE FROM t;
ROLLBACK;
DELETE FROM t WHERE k = {none};
UPDATE t SET k = {none} WHERE k = {four};
SELECT * FROM t WHERE k = {none};
UPDATE t SET k = {one} WHERE k = {two};
SELECT * FROM t ORDER BY k;
DELETE FROM t WHERE k IN ({one}, {two});
DELETE FROM t ORDER BY k LIMIT 1;
SELECT * FROM t ORDER BY k;
DELETE FROM t;
SELECT COUNT(*) FROM t;

## joins and subqueries on the key
-- each type; place; one; two; three; four
-- = INT; hash(k); 1; 2; 3; 4
-- = BIGINT UNSIGNED; hash(k); 1; 2; 3; 18446744073709551615
-- = VARCHAR(20); hash(k); 'one'; 'two'; 'three'; 'four'
-- = DECIMAL(10,2); hash(k); 1.5; 2.5; -3.5; 4
-- = DATE; month(k); '2024-01-01'; '2023-05-05'; '1999-12-31'; '2025-06-07'
-- = DATETIME; hash(k); '2024-01-01 10:00:00'; '2023-05-05'; '1999-12-31'; '2025-06-07'
-- = INT; range(k) ({s1} values less than (2), {s2} values less than (3), {s3} values less than maxvalue); 1; 2; 3; 4
-- = INT; list(k) ({s1} values in (1), {s2} values in (2), {s3} default); 1; 2; 3; 4
CREATE TABLE o (k {type} NOT NULL PRIMARY KEY, c INT, note VARCHAR(10)) /*weir: shard by {place} */;
CREATE TABLE l (k {type} NOT NULL, n INT, p DECIMAL(8,2), PRIMARY KEY (k, n)) /*weir: shard by {place} */;
CREATE TABLE g (c INT PRIMARY KEY, name VARCHAR(10)) /*weir: global */;
INSERT INTO g VALUES (7, 'seven'), (8, 'eight'), (9, 'nine');
INSERT INTO o VALUES ({one}, 7, 'a'), ({two}, 8, 'b'), ({three}, 7, NULL), ({four}, NULL, 'd');
INSERT INTO l VALUES ({one}, 1, 10.50), ({one}, 2, 20), ({two}, 1, 5), ({three}, 1, 1), ({three}, 2, 2), ({three}, 3, 3);
SELECT o.k, l.n, l.p FROM o JOIN l ON o.k = l.k ORDER BY o.k, l.n;
SELECT o.k, l.n FROM o LEFT JOIN l ON o.k = l.k ORDER BY o.k, l.n;
SELECT o.c, l.n FROM l RIGHT JOIN o ON o.k = l.k ORDER BY o.k, l.n;
SELECT k, l.n FROM o JOIN l USING (k) ORDER BY k, l.n;
SELECT k, n FROM o NATURAL JOIN l ORDER BY k, n;
SELECT o.k, l.n FROM o, l WHERE o.k = l.k AND l.n > 1 ORDER BY o.k, l.n;
SELECT o.k, l.n FROM o JOIN l ON o.k = l.k WHERE o.k = {one} ORDER BY l.n;
-- params: {three}
SELECT o.k, l.n FROM o JOIN l ON o.k = l.k WHERE l.k = ? ORDER BY l.n;
SELECT o.k, g.name FROM o JOIN g ON g.c = o.c ORDER BY o.k;
SELECT o.k, g.name FROM o LEFT JOIN g ON g.c = o.c AND g.name <> 'seven' ORDER BY o.k;
SELECT g.name, l.n FROM g JOIN o ON o.c = g.c JOIN l ON l.k = o.k ORDER BY o.k, l.n;
SELECT k FROM o WHERE EXISTS (SELECT 1 FROM l WHERE l.k = o.k AND l.n = 2) ORDER BY k;
SELECT k FROM o WHERE NOT EXISTS (SELECT 1 FROM l WHERE l.k = o.k) ORDER BY k;
SELECT k FROM o WHERE k IN (SELECT k FROM l WHERE n > 1) ORDER BY k;
SELECT k FROM o WHERE k NOT IN (SELECT l.k FROM l) ORDER BY k;
SELECT k, (SELECT SUM(p) FROM l WHERE l.k = o.k) AS s FROM o ORDER BY k;
SELECT k, (SELECT name FROM g WHERE g.c = o.c) AS s FROM o ORDER BY k;
SELECT k FROM o WHERE c IN (SELECT c FROM g WHERE name LIKE 's%') ORDER BY k;
SELECT q.k, q.s FROM (SELECT k, SUM(p) AS s FROM l GROUP BY k) AS q ORDER BY q.k;
SELECT o.note, q.s FROM o JOIN (SELECT k, SUM(p) AS s FROM l GROUP BY k) AS q ON q.k = o.k ORDER BY o.k;
WITH q AS (SELECT k, COUNT(*) AS n FROM l GROUP BY k) SELECT o.k, q.n FROM o LEFT JOIN q ON q.k = o.k ORDER BY o.k;
-- other columns
SELECT o.k, COUNT(*), SUM(l.p) FROM o JOIN l ON o.k = l.k GROUP BY o.k ORDER BY o.k;
-- other columns
SELECT o.c, COUNT(*), SUM(l.p) FROM o JOIN l ON o.k = l.k GROUP BY o.c ORDER BY o.c;
-- other columns
SELECT g.name, COUNT(*) AS n FROM o JOIN g ON g.c = o.c GROUP BY g.name HAVING COUNT(*) > 1 ORDER BY g.name;
SELECT o.k FROM o JOIN l ON l.k = o.k AND l.n = 1 ORDER BY l.p DESC LIMIT 2;
SELECT a.k, b.c FROM o AS a JOIN o AS b ON a.k = b.k ORDER BY a.k;
UPDATE o JOIN l ON o.k = l.k SET o.note = 'upd' WHERE l.n = 2;
UPDATE o JOIN g ON g.c = o.c SET o.note = g.name WHERE g.c = 8;
UPDATE o SET note = 'sub' WHERE k IN (SELECT k FROM l WHERE n = 3);
DELETE FROM l WHERE k IN (SELECT k FROM o WHERE c = 8);
DELETE o, l FROM o JOIN l ON o.k = l.k WHERE l.n = 3;
DELETE FROM o WHERE NOT EXISTS (SELECT 1 FROM l WHERE l.k = o.k) AND c IS NULL;
SELECT * FROM o ORDER BY k;
SELECT * FROM l ORDER BY k, n;

## INSERT … SELECT by placement
-- each from; into
-- = shard by hash(k); shard by hash(k)
-- = shard by hash(k); shard by hash(n)
-- = shard by hash(n); single
-- = single; shard by hash(k)
-- = single on shard '{s2}'; shard by hash(n)
-- = global; shard by hash(k)
-- = shard by hash(k); global
-- = global; single
CREATE TABLE f (k INT NOT NULL, n INT NOT NULL, v VARCHAR(10), d DECIMAL(8,3), t DATETIME, PRIMARY KEY (k, n)) /*weir: {from} */;
CREATE TABLE i (k INT NOT NULL, n INT NOT NULL, v VARCHAR(10), d DECIMAL(8,3), t DATETIME, PRIMARY KEY (k, n)) /*weir: {into} */;
INSERT INTO i SELECT * FROM f;
INSERT INTO f VALUES (1, 1, 'a''b', 1.5, '2024-01-01'), (2, 7, NULL, -2.125, NULL), (3, 3, '\\', 0, '1999-12-31 23:59:59'), (4, 1, 'ä€', 99999.999, NULL);
INSERT INTO i SELECT * FROM f WHERE k < 3;
INSERT INTO i (n, k, v) SELECT n + 10, k, UPPER(v) FROM f WHERE k > 1;
INSERT INTO i SELECT * FROM f WHERE k = 1;
# As above.
-- no warnings
INSERT IGNORE INTO i SELECT * FROM f;
REPLACE INTO i SELECT k, n, 'rep', d, t FROM f WHERE k <> 2;
# Each shard warns of VALUES().
-- no warnings
INSERT INTO i SELECT k, n, 'odku', d, t FROM f ON DUPLICATE KEY UPDATE v = VALUES(v);
INSERT INTO i SELECT COUNT(*), 1000, 'n', SUM(d), MAX(t) FROM f;
BEGIN;
INSERT INTO i SELECT k + 1000, n, v, d, t FROM f;
SELECT COUNT(*) FROM i;
ROLLBACK;
SELECT * FROM i ORDER BY k, n;

## INSERT … SELECT from one shard into another
CREATE TABLE f (k INT PRIMARY KEY, v VARCHAR(10)) /*weir: single on shard '{s1}' */;
CREATE TABLE i (k INT PRIMARY KEY, v VARCHAR(10)) /*weir: single on shard '{s2}' */;
INSERT INTO f VALUES (1, 'a'), (2, NULL);
-- text
INSERT INTO i SELECT * FROM f;
-- text
INSERT INTO i SELECT * FROM f;
-- text
REPLACE INTO i SELECT k + 1, v FROM f;
-- text
SELECT * FROM i ORDER BY k;

## texts of the binary character set as keys
CREATE TABLE t (k VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci PRIMARY KEY, n INT) /*weir: shard by hash(k) */;
CREATE TABLE l (k VARCHAR(20) CHARACTER SET latin1 PRIMARY KEY, n INT) /*weir: shard by hash(k) */;
CREATE TABLE i (k INT PRIMARY KEY, n INT) /*weir: shard by hash(k) */;
SET NAMES binary;
INSERT INTO t VALUES ('eu', 1), ('us', 2), ('ü', 3), ('日本', 4), ('', 5);
INSERT INTO l VALUES ('eu', 1), ('us', 2);
INSERT INTO i VALUES ('1', 1), ('2', 2), (3, 3);
UPDATE t SET n = n + 10 WHERE k = 'ü';
SELECT n FROM t WHERE k = 'EU';
SELECT n FROM t WHERE k = 'eu';
SELECT n FROM t WHERE k IN ('日本', 'us') ORDER BY n;
SELECT n FROM i WHERE k = '2';
SET NAMES utf8mb4;
SELECT * FROM t ORDER BY n;
SELECT n FROM t WHERE k = 'EU';
SELECT n FROM t WHERE k = 'Ü';
SELECT * FROM l ORDER BY n;
SELECT n FROM l WHERE k = 'us';
SELECT COUNT(*) FROM t;

## what is wrong with a computed key
CREATE TABLE t (id INT PRIMARY KEY, v INT, s VARCHAR(20));
CREATE TABLE g (id INT PRIMARY KEY, v DOUBLE) /*weir: global */;
INSERT INTO t (id, v) VALUES (12, 1), (13, 2);
-- no warnings
INSERT INTO t (id, v) VALUES ('5x' + 0, 1);
-- no warnings
INSERT INTO t (id, v) VALUES (CONCAT('7', 'y') + 0, 1);
-- no warnings
INSERT INTO t (id, v) VALUES (1, 1), (CAST('16q' AS SIGNED), 1);
-- no warnings
REPLACE INTO t SET id = '15q' * 1, v = 2;
SET @x = '8z';
-- no warnings
INSERT INTO t (id, v) VALUES (@x + 0, 1);
-- no warnings
INSERT INTO t (id, v) VALUES (1 / 0, 1);
-- no warnings
INSERT INTO t (id, v) VALUES (IFNULL(1 / 0, 11), 1);
-- no warnings
INSERT INTO t (id, v) VALUES (IF('1x' = 1, 14, 15), 1);
-- no warnings
INSERT INTO t (id, v) VALUES (YEAR('bad'), 1);
-- no warnings
UPDATE t SET id = '30x' + 0 WHERE id = 12;
-- no warnings
UPDATE t SET id = '31x' + 0 WHERE v = 2;
-- no warnings
INSERT INTO g VALUES (1, UNIX_TIMESTAMP('2024-99-99') + 0 * UNIX_TIMESTAMP());
SELECT * FROM t ORDER BY id;
SELECT * FROM g ORDER BY id;

## literals of bits as keys
CREATE TABLE t (k BIGINT UNSIGNED PRIMARY KEY, v INT) /*weir: shard by hash(k) */;
INSERT INTO t VALUES (0x41, 1), (b'11', 2), (0xFFFFFFFFFFFFFFFD, 3), (0b101, 4);
# To MariaDB it is a text.
-- mysql
INSERT INTO t VALUES (x'42', 5), (x'43', 6), (X'00', 7);
INSERT INTO t VALUES (0x07, 8);
INSERT INTO t VALUES (7, 9);
REPLACE INTO t VALUES (0x07, 10), (8, 11);
SELECT * FROM t ORDER BY k;
SELECT v FROM t WHERE k = 0x41;
SELECT v FROM t WHERE k = 65;
UPDATE t SET v = 12 WHERE k = 18446744073709551613;
DELETE FROM t WHERE k IN (0b101, 3);
SELECT * FROM t ORDER BY k;
CREATE TABLE s (k TINYINT PRIMARY KEY) /*weir: shard by hash(k) */;
INSERT INTO s VALUES (0x7f), (0x01);
SELECT k FROM s ORDER BY k;
CREATE TABLE b (k BIT(8) PRIMARY KEY, v INT) /*weir: shard by hash(k) */;
INSERT INTO b VALUES (b'101', 1), (0x41, 2), (7, 3), (b'11111111', 4);
SELECT k + 0, v FROM b ORDER BY v;
SELECT v FROM b WHERE k = 5;
SELECT v FROM b WHERE k = b'111';

## rows with incomplete dates in their keys are found again in a strict session
CREATE TABLE k (d DATE NOT NULL, dt DATETIME(2) NOT NULL, id INT NOT NULL, v INT, PRIMARY KEY (d, dt, id)) /*weir: shard by hash(id) */;
SET sql_mode = '';
INSERT INTO k VALUES ('0000-00-00', '0000-00-00', 1, 1), ('2020-00-00', '2020-00-01 10:11:12.5', 2, 2), ('2020-01-01', '2020-01-00 00:00:00', 3, 3);
INSERT INTO k VALUES ('2020-01-01', '2020-01-01 00:00:00', 4, 4), ('0000-00-00', '2021-01-01 00:00:00', 5, 5);
SET sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE';
UPDATE k SET v = v + 10 ORDER BY id LIMIT 4;
SELECT * FROM k ORDER BY id;
DELETE FROM k WHERE v IN (SELECT v + 1 FROM (SELECT MIN(v) + 6 AS v FROM k) m);
DELETE FROM k ORDER BY id LIMIT 3;
SELECT * FROM k ORDER BY id;
