# Hints that name a shard.

## hints
CREATE TABLE t (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
CREATE TABLE g (id INT PRIMARY KEY, a INT) /*weir: global */;
INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4);
INSERT INTO g VALUES (1, 1), (2, 2);
/*s1*/ SELECT 1;
/*nobody*/ SELECT COUNT(*) FROM t;
/* a remark */ SELECT COUNT(*) FROM t;
/*s1*/ SELECT * FROM g ORDER BY id;
-- mariadb
SELECT /*+ WEIR_SHARD(s1) */ * FROM g ORDER BY id;
-- weir
/*s1*/ SELECT COUNT(*) FROM t;
-- weir
SELECT /*+ WEIR_SHARD(s1) */ COUNT(*) FROM t;
-- weir
/*s1*/ UPDATE t SET a = a + 0;
-- refused: hint
/*s1*/ INSERT INTO t VALUES (5, 5);
-- refused: hint
/*s1*/ DELETE FROM g;
-- refused: hint
/*s1*/ UPDATE t SET id = 9 WHERE id = 1;
