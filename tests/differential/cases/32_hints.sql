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

## SET STATEMENT before statements of several shards
CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
CREATE TABLE u (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */;
INSERT INTO u VALUES (1, 3), (2, 4);
-- mariadb
SET STATEMENT max_statement_time = 100 FOR INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4);
-- mariadb
SET STATEMENT max_statement_time = 100, lock_wait_timeout = 20 FOR SELECT * FROM t ORDER BY v DESC LIMIT 2;
-- mariadb
SET STATEMENT max_statement_time = 100 FOR SELECT v DIV 2 AS h, COUNT(*) FROM t GROUP BY h ORDER BY h;
-- mariadb
SET STATEMENT join_cache_level = 2 FOR SELECT t.id, u.v FROM t JOIN u ON t.v = u.v ORDER BY t.id;
-- mariadb
SET STATEMENT max_statement_time = 100 FOR UPDATE t SET v = v + 1 WHERE id > 1;
-- mariadb
SET STATEMENT max_statement_time = 100 FOR INSERT INTO t SELECT id + 10, v FROM u;
-- mariadb
SET STATEMENT max_statement_time = 100 FOR DELETE FROM t WHERE v = 3;
SELECT * FROM t ORDER BY id;
-- mariadb
-- refused: SET STATEMENT
SET STATEMENT sql_mode = 'ANSI' FOR SELECT * FROM t ORDER BY id;
