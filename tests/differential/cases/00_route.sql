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

## executable comments of versions
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5);
SELECT id /*!99999 , a */ FROM t ORDER BY id;
SELECT id /*!999998 , a */ FROM t ORDER BY id;
SELECT id /*!099999 , a */ FROM t ORDER BY id;
SELECT id /*!100600 , a */ FROM t ORDER BY id;
SELECT id /*!50000 , a */ FROM t ORDER BY id;
SELECT id /*!80000 , a */ FROM t ORDER BY id;
SELECT id /*!090000 , a */ FROM t ORDER BY id;
SELECT id /*!5 , a */ FROM t ORDER BY id;
SELECT id /*M!100600 , a */ FROM t ORDER BY id;
SELECT id /*M!999998 , a */ FROM t ORDER BY id;
SELECT id /*M!99999 , a */ FROM t ORDER BY id;
SELECT a FROM t /*!99999 WHERE id = 1 */ ORDER BY id;
SELECT a FROM t WHERE id IN (1, 2) /*!99999 AND id = 1 */ ORDER BY id;
SELECT a FROM t WHERE id = 1 /*!99999 OR id = 2 */ ORDER BY id;
UPDATE t SET a = a + 1 WHERE id = 1 /*!99999 OR id > 1 */;
INSERT INTO t VALUES (6, 6) /*!99999 , (7, 7) */;
DELETE FROM t /*!99999 WHERE id = 1 */;
SELECT * FROM t ORDER BY id;
