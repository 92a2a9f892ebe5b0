# Writes that fail, and changes of keys.

## writes that fail
-- each place
-- = shard by hash(k)
-- = shard by range(k) ({s1} values less than (3), {s2} values less than (6), {s3} values less than maxvalue)
-- = shard by list(k) ({s1} values in (1, 2), {s2} values in (3), {s3} default)
-- = global
-- = single
-- = single on shard '{s2}'
CREATE TABLE t (k INT PRIMARY KEY, v VARCHAR(3) NOT NULL, n TINYINT, d DATE, e ENUM('a','b')) /*weir: {place} */;
INSERT INTO t VALUES (1, 'a', 1, '2024-01-01', 'a'), (2, 'b', 2, '2024-01-02', 'b'), (3, 'c', 3, NULL, NULL), (7, 'd', 4, NULL, 'a');
INSERT INTO t VALUES (4, 'e', 1, NULL, NULL), (1, 'dup', 1, NULL, NULL);
INSERT INTO t VALUES (4, 'too long', 1, NULL, NULL);
INSERT INTO t VALUES (4, NULL, 1, NULL, NULL);
INSERT INTO t VALUES (4, 'e', 1000, NULL, NULL);
INSERT INTO t VALUES (4, 'e', 1, '2024-13-01', NULL);
INSERT INTO t VALUES (4, 'e', 1, NULL, 'c');
INSERT INTO t VALUES (4, 'e', 'x', NULL, NULL);
INSERT INTO t VALUES (4, 'e');
INSERT INTO t (k, v, nothing) VALUES (4, 'e', 1);
INSERT INTO t (k) VALUES (4);
INSERT INTO nowhere VALUES (1);
INSERT INTO t VALUES (4, 'e', 1, NULL, NULL), (5, 'too long', 1, NULL, NULL), (6, 'f', 1, NULL, NULL);
INSERT INTO t VALUES (4, 'e', 1, NULL, NULL), (5, 'e', 1000, NULL, NULL), (6, 'f', 1, NULL, NULL);
SELECT * FROM t ORDER BY k;
UPDATE t SET v = 'too long';
UPDATE t SET v = 'too long' WHERE k = 1;
UPDATE t SET n = n + 125;
UPDATE t SET v = NULL WHERE k = 2;
UPDATE t SET nothing = 1 WHERE k = 1;
UPDATE t SET v = 'x' WHERE nothing = 1;
UPDATE nowhere SET v = 'x';
DELETE FROM nowhere;
DELETE FROM t WHERE nothing = 1;
SELECT nothing FROM t;
SELECT * FROM t WHERE nothing = 1;
SELECT k FROM t GROUP BY nothing;
BEGIN;
INSERT INTO t VALUES (10, 'x', 1, NULL, NULL);
INSERT INTO t VALUES (11, 'y', 1, NULL, NULL), (1, 'dup', 1, NULL, NULL), (12, 'z', 1, NULL, NULL);
SELECT k FROM t ORDER BY k;
UPDATE t SET v = 'too long' WHERE k > 1;
DELETE FROM t WHERE k = 2;
COMMIT;
SELECT * FROM t ORDER BY k;
INSERT IGNORE INTO t VALUES (20, 'x', 1, NULL, NULL), (1, 'dup', 1, NULL, NULL);
SELECT * FROM t ORDER BY k;

## a change of the key
-- each type; place; one; two; three
-- = INT; hash(k); 1; 2; 3
-- = DATE; year(k); '2021-01-01'; '2022-01-01'; '2023-01-01'
-- = INT; range(k) ({s1} values less than (2), {s2} values less than (3), {s3} values less than maxvalue); 1; 2; 3
-- = INT; list(k) ({s1} values in (1), {s2} values in (2), {s3} default); 1; 2; 3
CREATE TABLE t (k {type} NOT NULL, n INT NOT NULL, v VARCHAR(10), d DECIMAL(10,3), b VARBINARY(8), PRIMARY KEY (k, n)) /*weir: shard by {place} */;
INSERT INTO t VALUES ({one}, 1, 'x', 1.5, x'00ff'), ({one}, 2, NULL, NULL, NULL), ({two}, 1, 'it''s', -1, 'b');
UPDATE t SET k = {three} WHERE k = {one} AND n = 1;
SELECT * FROM t ORDER BY k, n;
UPDATE t SET k = {one} WHERE k = {one};
UPDATE t SET k = {two}, v = CONCAT(v, '!') WHERE k = {three};
SELECT * FROM t ORDER BY k, n;
UPDATE t SET k = {two}, n = n + 10 WHERE k = {one};
SELECT * FROM t ORDER BY k, n;
BEGIN;
UPDATE t SET k = {one} WHERE n = 12;
SELECT * FROM t ORDER BY k, n;
ROLLBACK;
SELECT * FROM t ORDER BY k, n;

