# Statements of one shard.

## point statements on an integer key
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20), n INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 'one', 10);
INSERT INTO t (id, v, n) VALUES (2, 'two', 20);
INSERT INTO t SET id = 3, v = 'three', n = 30;
SELECT * FROM t WHERE id = 1;
SELECT * FROM t WHERE id = '2';
SELECT * FROM t WHERE id = 3.0;
SELECT * FROM t WHERE 3 = id;
SELECT v FROM t WHERE id = 5 - 4;
SELECT * FROM t WHERE id = 99;
SELECT * FROM t WHERE id = NULL;
SELECT * FROM t WHERE id IN (1);
SELECT * FROM t AS x WHERE x.id = 2 AND x.v = 'two';
-- params: 2
SELECT * FROM t WHERE id = ?;
-- params: '3'
SELECT * FROM t WHERE id = ?;
UPDATE t SET n = n + 1 WHERE id = 1;
UPDATE t SET n = n WHERE id = 1;
DELETE FROM t WHERE id = 2;
SELECT * FROM t WHERE id = 1;
SELECT * FROM t WHERE id = 2;
INSERT INTO t VALUES (1, 'again', 0);
SELECT * FROM nowhere WHERE id = 1;
SELECT nothing FROM t WHERE id = 1;
