# RETURNING (MariaDB): no row is lost. What is not returned is refused.

## rows that are put
CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v INT) /*weir: shard by hash(id) */;
CREATE TABLE g (id INT PRIMARY KEY, v INT) /*weir: global */;
CREATE TABLE s (id INT PRIMARY KEY AUTO_INCREMENT, v INT) /*weir: single on shard '{s2}' */;
-- mariadb
INSERT INTO t (id, v) VALUES (10, 1) RETURNING id, v + 1;
-- mariadb
-- session: 1
INSERT INTO s (v) VALUES (5), (6) RETURNING id, v;
-- mariadb
-- refused: RETURNING where a value is found out first
INSERT INTO t (v) VALUES (1) RETURNING id;
-- mariadb
-- refused: RETURNING of rows that are put into a GLOBAL table
INSERT INTO g VALUES (1, 1) RETURNING id;
-- mariadb
DELETE FROM t WHERE id = 10 RETURNING v;
