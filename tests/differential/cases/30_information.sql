# information_schema, and what else is told of logical tables.

## information_schema of sharded, GLOBAL and SINGLE tables
CREATE TABLE h (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(20), d DATE, KEY ka (a)) /*weir: shard by hash(id) */;
CREATE TABLE l (region INT, n INT, PRIMARY KEY (region, n)) /*weir: shard by hash(region) */;
CREATE TABLE g (id INT PRIMARY KEY, name VARCHAR(10) UNIQUE) /*weir: global */;
CREATE TABLE s1 (a INT, b TEXT) /*weir: single */;
CREATE TABLE s2 (a INT PRIMARY KEY, b TEXT, KEY (b(10))) /*weir: single on shard '{s2}' */;
CREATE TABLE s3 (a INT, CONSTRAINT positive CHECK (a > 0)) /*weir: single on shard '{s2}' */;
CREATE TABLE s4 (a INT PRIMARY KEY AUTO_INCREMENT, b ENUM('x', 'y') DEFAULT 'x' COMMENT 'it''s') /*weir: single on shard '{s2}' */;
CREATE VIEW v1 AS SELECT id, a FROM h;
CREATE VIEW v2 AS SELECT a FROM s2;
CREATE VIEW v4 AS SELECT a FROM s4;
INSERT INTO h (a) VALUES ('a'), ('b'), ('c'), ('d'), ('e'), ('f'), ('g'), ('h'), ('i'), ('j');
INSERT INTO g VALUES (1, 'x'), (2, 'y'), (3, 'z');
INSERT INTO l VALUES (1, 1), (2, 2), (3, 3);
INSERT INTO s4 (b) VALUES ('x'), ('y');
-- other types
-- no warnings
ANALYZE TABLE h, g, l, s1, s2, s3, s4;
-- other types
SELECT table_name, table_rows FROM information_schema.tables WHERE table_schema = 'd' ORDER BY table_name;
-- other types
SELECT TABLE_NAME, TABLE_ROWS, AUTO_INCREMENT, TABLE_TYPE, ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'd' AND TABLE_NAME IN ('h', 'g', 's4', 'v2') ORDER BY TABLE_NAME;
-- other types
SELECT COUNT(*), SUM(table_rows) FROM information_schema.tables WHERE table_schema = DATABASE();
-- other types
SELECT COUNT(*) AS n, MAX(t.table_rows) AS m FROM information_schema.tables AS t WHERE t.table_schema = 'd' AND t.table_type = 'BASE TABLE';
-- other types
SELECT information_schema.tables.table_name AS n FROM information_schema.tables WHERE information_schema.tables.table_schema = 'd' ORDER BY 1;
-- other types
SELECT TABLE_NAME, COLUMN_NAME, ORDINAL_POSITION, COLUMN_DEFAULT, IS_NULLABLE, DATA_TYPE, COLUMN_TYPE, COLUMN_KEY, EXTRA, COLUMN_COMMENT FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'd' ORDER BY TABLE_NAME, ORDINAL_POSITION;
-- other types
SELECT TABLE_NAME, COLUMN_NAME, IS_NULLABLE COLLATE utf8mb3_general_ci = 'no', IF (EXTRA COLLATE utf8mb3_general_ci LIKE '%AUTO_INCREMENT%', 'YES', 'NO') AS IS_AUTOINCREMENT, COLUMN_NAME = 'A' AS a FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'd' ORDER BY TABLE_NAME, ORDINAL_POSITION;
-- other types
SELECT TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX, COLUMN_NAME, NON_UNIQUE, SUB_PART FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = 'd' ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX;
-- other types
SELECT TABLE_NAME, COLUMN_NAME, CONSTRAINT_NAME, REFERENCED_TABLE_NAME FROM information_schema.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA = 'd' ORDER BY TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION;
-- other types
SELECT TABLE_NAME, CONSTRAINT_NAME, CONSTRAINT_TYPE FROM information_schema.TABLE_CONSTRAINTS WHERE TABLE_SCHEMA = 'd' ORDER BY TABLE_NAME, CONSTRAINT_NAME;
-- other types
SELECT CONSTRAINT_NAME, CHECK_CLAUSE FROM information_schema.CHECK_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = 'd' ORDER BY 1;
-- other types
SELECT TABLE_NAME, VIEW_DEFINITION, IS_UPDATABLE FROM information_schema.VIEWS WHERE TABLE_SCHEMA = 'd' ORDER BY TABLE_NAME;
SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'd';
-- other types
SELECT c.table_name, c.column_name, t.table_type FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name) WHERE c.table_schema = 'd' ORDER BY 1, 2;
-- other types
SELECT t.table_name AS name, (SELECT COUNT(*) FROM information_schema.columns c WHERE c.table_schema = t.table_schema AND c.table_name = t.table_name) AS columns FROM information_schema.tables t WHERE t.table_schema = 'd' ORDER BY 1;
-- other types
SELECT table_name FROM information_schema.tables WHERE table_schema = 'd' AND table_name LIKE 's%' UNION SELECT column_name FROM information_schema.columns WHERE table_schema = 'd' ORDER BY 1;
-- other types
SELECT table_type, COUNT(*) FROM information_schema.tables WHERE table_schema = 'd' GROUP BY table_type ORDER BY table_type;
-- params: 'd', 's4'
-- other types
SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION;
-- params: 'd', 'h'
-- other types
SELECT TABLE_ROWS FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?;
-- other types
SELECT table_name FROM information_schema.tables WHERE table_schema = 'D' OR table_name = 'H';
-- other types
SELECT COUNT(*) FROM information_schema.engines WHERE engine = 'InnoDB';
SHOW CREATE VIEW v2;
SHOW CREATE VIEW v4;
SHOW COLUMNS FROM v4;
BEGIN;
INSERT INTO h (a) VALUES ('k'), ('l');
-- other types
SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'd';
SELECT COUNT(*) FROM h;
ROLLBACK;
SELECT COUNT(*) FROM h;
USE information_schema;
-- other types
SELECT table_name FROM tables WHERE table_schema = 'd' ORDER BY table_name;
-- other types
SELECT tables.table_name FROM tables WHERE tables.table_schema = 'd' AND tables.table_rows > 2 ORDER BY table_name;
USE d;
SET NAMES utf8mb4 COLLATE utf8mb4_general_ci;
-- other types
SELECT engine, table_type, table_comment, create_options FROM information_schema.tables WHERE table_schema = 'd' AND table_name IN ('h', 's4') ORDER BY table_name;
SET NAMES latin1;
-- other types
SELECT table_name AS name, table_rows AS n FROM information_schema.tables WHERE table_schema = 'd' ORDER BY table_name;

## conditional migrations
CREATE TABLE h (id INT PRIMARY KEY, a INT, KEY ka (a)) /*weir: shard by hash(id) */;
CREATE TABLE s (id INT PRIMARY KEY, a INT) /*weir: single on shard '{s2}' */;
SET @there := (SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'h' AND index_name = 'ka');
SELECT @there;
SET @text = IF(@there > 0, 'ALTER TABLE h DROP INDEX ka', 'SELECT 1');
PREPARE p FROM @text;
EXECUTE p;
DEALLOCATE PREPARE p;
SET @text = (SELECT IF((SELECT COUNT(*) FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 's' AND COLUMN_NAME = 'b') > 0, 'SELECT 1', 'ALTER TABLE s ADD COLUMN b INT DEFAULT 3'));
PREPARE p FROM @text;
EXECUTE p;
DEALLOCATE PREPARE p;
SHOW COLUMNS FROM h;
SHOW COLUMNS FROM s;
SELECT COUNT(*) INTO @n FROM information_schema.tables WHERE table_schema = 'd';
SET @m = (SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'd') + 1, @k = 5;
SELECT @n, @m, @k;
DO (SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = 'd');
SET @name = (SELECT table_name FROM information_schema.tables WHERE table_schema = 'd' AND table_name LIKE 's%' LIMIT 1);
SELECT @name;
-- params: 's'
SET @one = (SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = 'd' AND table_name = ?);
SELECT @one;
-- refused: only by SELECT, SET and DO
SET @all = (SELECT COUNT(*) FROM h, information_schema.tables);

## upkeep of several tables: PERSISTENT FOR is about all of them, and none may be there twice
CREATE TABLE h (id INT PRIMARY KEY, v INT, KEY k (v)) /*weir: shard by hash(id) */;
CREATE TABLE g (id INT PRIMARY KEY, v INT, KEY k (v)) /*weir: global */;
CREATE TABLE s (id INT PRIMARY KEY, v INT, w INT, KEY k (v)) /*weir: single on shard '{s2}' */;
INSERT INTO h VALUES (1, 1), (2, 2);
-- mariadb
ANALYZE TABLE h, g, s PERSISTENT FOR ALL;
-- mariadb
ANALYZE TABLE s PERSISTENT FOR COLUMNS (w) INDEXES (), h, g;
-- mariadb
ANALYZE TABLE h PERSISTENT FOR COLUMNS (v) INDEXES (PRIMARY), g PERSISTENT FOR COLUMNS (w) INDEXES ALL, s;
-- mariadb
ANALYZE TABLE s PERSISTENT FOR ALL, g PERSISTENT FOR COLUMNS (id, v) INDEXES (k), h PERSISTENT FOR COLUMNS ALL INDEXES ALL;
ANALYZE TABLE h, g, h;
CHECK TABLE g, s, g QUICK;
CHECKSUM TABLE h, s, d.s;
FLUSH TABLES g, g;
FLUSH TABLES h, g;
