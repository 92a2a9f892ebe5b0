# sysbench's own tables and statements (oltp_*), as its Lua scripts send them.

## oltp_read_write
-- each place
-- = shard by hash(id)
-- = shard by range(id) ({s1} values less than (20), {s2} values less than (40), {s3} values less than (60), {s4} values less than maxvalue)
-- = global
-- = single on shard '{s2}'
CREATE TABLE sbtest1 (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) /*weir: {place} */ /*! ENGINE = innodb */;
INSERT INTO sbtest1(k, c, pad) VALUES(50, '68487932199-96439406143-93774651418-41631865787', '67847967377-48000963322'),(51, '13241531885-45658403807-79170748828-69419634012', '34551750492-67990399350'),(49, '51185622598-89397522786-28007882305-52050087550', '00592560354-80393027097'),(50, '54133149494-75722987476-23015721680-47254589498', '37216201353-39109531021'),(17, '80488825110-13230945236-33443891340-09264990110', '26915624914-26215031322'),(50, '80488825110-13230945236-33443891340-09264990110', '26915624914-26215031322'),(3, 'aaa', 'b'),(98, 'bbb', 'c');
CREATE INDEX k_1 ON sbtest1(k);
INSERT INTO sbtest1(id, k, c, pad) VALUES(20, 40, 'twenty', 'x'), (39, 41, 'thirty-nine', 'x'), (40, 42, 'forty', 'x'), (59, 50, 'fifty-nine', 'x'), (60, 50, 'sixty', 'x'), (99, 50, 'ninety-nine', 'x');
-- params: 3
SELECT c FROM sbtest1 WHERE id=?;
-- params: 1000
SELECT c FROM sbtest1 WHERE id=?;
-- params: 2, 45
-- any order
SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ?;
-- params: 2, 45
SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN ? AND ?;
-- params: 1000, 1099
SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN ? AND ?;
-- params: 2, 99
SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c;
-- params: 2, 99
SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c;
BEGIN;
-- params: 3
UPDATE sbtest1 SET k=k+1 WHERE id=?;
-- params: 'changed', 5
UPDATE sbtest1 SET c=? WHERE id=?;
-- params: 5
DELETE FROM sbtest1 WHERE id=?;
-- params: 5, 77, 'put back', 'pad'
INSERT INTO sbtest1 (id, k, c, pad) VALUES (?, ?, ?, ?);
-- params: 1, 60
SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN ? AND ?;
COMMIT;
BEGIN;
-- params: 39
UPDATE sbtest1 SET k=k+1 WHERE id=?;
-- params: 40
DELETE FROM sbtest1 WHERE id=?;
-- params: 'both', 59
UPDATE sbtest1 SET c=? WHERE id=?;
ROLLBACK;
SELECT * FROM sbtest1 ORDER BY id;
-- params: 50, 50, 49, 50, 40, 41
-- any order
SELECT id, k, c, pad FROM sbtest1 WHERE k IN (?, ?, ?, ?, ?, ?);
-- params: 40, 41, 49, 50
SELECT count(k) FROM sbtest1 WHERE k BETWEEN ? AND ? OR k BETWEEN ? AND ?;
-- params: 40, 41, 49, 50, 3, 3
SELECT count(k) FROM sbtest1 WHERE (k BETWEEN ? AND ?) OR (k BETWEEN ? AND ?) OR (k BETWEEN ? AND ?);

## oltp_insert, bulk_insert, and deletes with inserts
-- each place
-- = shard by hash(id)
-- = shard by range(id) ({s1} values less than (4), {s2} values less than (8), {s3} values less than (100), {s4} values less than maxvalue)
-- = global
CREATE TABLE sbtest1 (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id), KEY k_1 (k)) /*weir: {place} */;
INSERT INTO sbtest1 (k, c, pad) VALUES (5, 'c-1', 'p-1');
INSERT INTO sbtest1 (id, k, c, pad) VALUES (0, 6, 'c-2', 'p-2');
SELECT LAST_INSERT_ID();
INSERT INTO sbtest1 VALUES (101,1,'x','y'),(102,2,'x','y'),(103,3,'x','y'),(104,4,'x','y'),(105,5,'x','y');
INSERT INTO sbtest1 (k, c, pad) VALUES (7, 'after', 'p');
SELECT id, k FROM sbtest1 ORDER BY id;
DELETE FROM sbtest1 WHERE id=1;
DELETE FROM sbtest1 WHERE id=103;
DELETE FROM sbtest1 WHERE id=103;
INSERT INTO sbtest1 (id, k, c, pad) VALUES (1, 9, 'again', 'p');
INSERT INTO sbtest1 (id, k, c, pad) VALUES (1, 9, 'again', 'p');
UPDATE sbtest1 SET k=k+1 WHERE id=102;
UPDATE sbtest1 SET c='c' WHERE id=102;
UPDATE sbtest1 SET k=k+1 WHERE k BETWEEN 4 AND 6;
SELECT k, COUNT(*) FROM sbtest1 GROUP BY k ORDER BY k;
SELECT * FROM sbtest1 ORDER BY id;
DROP INDEX k_1 ON sbtest1;
SELECT COUNT(*) FROM sbtest1 WHERE k > 0;
DROP TABLE IF EXISTS sbtest1;
CREATE TABLE sbtest1 (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER, PRIMARY KEY (id)) /*weir: {place} */;
INSERT INTO sbtest1 (k) VALUES (1), (2);
SELECT * FROM sbtest1 ORDER BY id;

## oltp tables without AUTO_INCREMENT and with a secondary key only
CREATE TABLE sbtest1 (id INTEGER NOT NULL, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, KEY xid (id)) /*weir: shard by hash(id) */;
INSERT INTO sbtest1 (id, k, c, pad) VALUES (1, 5, 'a', 'b'), (2, 6, 'c', 'd'), (2, 7, 'e', 'f'), (9, 8, 'g', 'h');
-- any order
SELECT * FROM sbtest1 WHERE id = 2;
SELECT COUNT(*), SUM(k) FROM sbtest1 WHERE id BETWEEN 1 AND 5;
UPDATE sbtest1 SET k = k + 1 WHERE id = 2;
DELETE FROM sbtest1 WHERE id = 1;
SELECT id, k FROM sbtest1 ORDER BY k;

## joins of sysbench's tables, and a table for each client
CREATE TABLE sbtest1 (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER NOT NULL, c CHAR(120) NOT NULL, PRIMARY KEY (id), KEY k_1 (k)) /*weir: shard by hash(id) */;
CREATE TABLE sbtest2 LIKE sbtest1;
INSERT INTO sbtest1 (k, c) VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd'), (5, 'e');
INSERT INTO sbtest2 (k, c) SELECT k, CONCAT(c, c) FROM sbtest1 ORDER BY id;
SELECT a.id, b.c FROM sbtest1 a JOIN sbtest2 b ON a.id = b.id WHERE a.id BETWEEN 2 AND 4 ORDER BY a.id;
SELECT COUNT(*) FROM sbtest1 a JOIN sbtest2 b USING (id) WHERE a.k = b.k;
SELECT a.c FROM sbtest1 a WHERE a.id IN (SELECT b.id FROM sbtest2 b WHERE b.k > 3) ORDER BY a.c;
