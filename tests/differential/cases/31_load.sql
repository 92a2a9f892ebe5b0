# LOAD DATA LOCAL: each line to the shard of its key. A file's name is what is in it.

## plain files
CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(20), n INT DEFAULT 7, d DATETIME DEFAULT '2020-01-01 00:00:00') /*weir: shard by hash(id) */;
-- text
LOAD DATA LOCAL INFILE '1\tone\t10\t2024-01-01\n2\ttwo\t20\t2024-01-02\n3\t\\N\t\\N\t\\N\n4\tfour\t40\t2024-01-04\n' INTO TABLE t;
SELECT * FROM t ORDER BY id;
-- text
LOAD DATA LOCAL INFILE '5,"a,b"\r\n6,"c""d"\r\n7,plain\r\n8,"x\r\ny"' INTO TABLE t FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '"' LINES TERMINATED BY '\r\n' (id, a);
SELECT * FROM t ORDER BY id;
-- text
LOAD DATA LOCAL INFILE 'id;a\n---\n9;nine\n10;ten\n' INTO TABLE t FIELDS TERMINATED BY ';' IGNORE 2 LINES (id, a) SET n = 3, d = '2021-02-03';
-- text
# MySQL forgets which warnings there were when the statement has ended.
-- no warnings
LOAD DATA LOCAL INFILE 'eleven|11|x|y\ntwelve|12\n' INTO TABLE t FIELDS TERMINATED BY '|' (a, id);
-- no warnings
-- text
LOAD DATA LOCAL INFILE '1\tagain\n13\tthirteen\n' INTO TABLE t (id, a);
-- text
LOAD DATA LOCAL INFILE '1\tagain\n14\tfourteen\n' REPLACE INTO TABLE t (id, a);
-- no warnings
-- text
LOAD DATA LOCAL INFILE '1\tignored\n15\tfifteen\n' IGNORE INTO TABLE t (id, a);
-- text
LOAD DATA LOCAL INFILE '' INTO TABLE t;
-- text
LOAD DATA LOCAL INFILE '16\tcaf\xc3\xa9' INTO TABLE t CHARACTER SET utf8mb4 (id, a);
-- text
LOAD DATA LOCAL INFILE '17\tsoon\n' INTO TABLE t LINES TERMINATED BY '\n' (id, a) SET n = id + 1;
SELECT id, a, n FROM t ORDER BY id;
SELECT COUNT(*) FROM t WHERE id = 12;
-- text
LOAD DATA LOCAL INFILE '18\tx\n' INTO TABLE t (id, nowhere);
-- text
LOAD DATA LOCAL INFILE '18\tx\n' INTO TABLE nowhere (id, a);

## within a transaction
CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(20)) /*weir: shard by hash(id) */;
BEGIN;
INSERT INTO t VALUES (100, 'x');
-- text
LOAD DATA LOCAL INFILE '1\ta\n2\tb\n3\tc\n4\td\n' INTO TABLE t;
-- text
SELECT COUNT(*), SUM(id) FROM t;
ROLLBACK;
SELECT COUNT(*) FROM t;
BEGIN;
-- text
LOAD DATA LOCAL INFILE '1\ta\n2\tb\n3\tc\n4\td\n' INTO TABLE t;
COMMIT;
-- text
SELECT * FROM t ORDER BY id;

## text keys, dates, several columns
CREATE TABLE t (name VARCHAR(20) COLLATE utf8mb4_general_ci, at DATE, v INT, PRIMARY KEY (name, at)) /*weir: shard by hash(name, at) */;
-- text
LOAD DATA LOCAL INFILE 'Anna\t2024-01-01\t1\nbob\t2024-01-02\t2\nÄrger\t2024-01-03\t3\n' INTO TABLE t;
-- text
SELECT * FROM t WHERE name = 'anna' AND at = '2024-01-01';
-- text
SELECT * FROM t WHERE name = 'ARGER' AND at = '2024-01-03';
-- text
SELECT * FROM t ORDER BY v;

## AUTO_INCREMENT from the sequence
CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(20)) /*weir: shard by hash(id) */;
-- text
LOAD DATA LOCAL INFILE 'a\nb\nc\n' INTO TABLE t (a);
-- text
SELECT LAST_INSERT_ID();
-- text
SELECT * FROM t ORDER BY id;
-- text
LOAD DATA LOCAL INFILE '\\N\td\n0\te\n20\tf\n' INTO TABLE t;
-- text
SELECT * FROM t ORDER BY id;
INSERT INTO t (a) VALUES ('g');
-- text
SELECT a FROM t WHERE id = 21;

## GLOBAL and SINGLE tables
CREATE TABLE g (id INT PRIMARY KEY, a VARCHAR(20)) /*weir: global */;
CREATE TABLE s (id INT PRIMARY KEY, a VARCHAR(20)) /*weir: single on shard '{s2}' */;
-- text
LOAD DATA LOCAL INFILE '1\ta\n2\tb\n' INTO TABLE g;
-- text
LOAD DATA LOCAL INFILE '1\ta\n2\tb\n' INTO TABLE s;
-- text
LOAD DATA LOCAL INFILE '3\tc\n' INTO TABLE s (id, @v) SET a = UPPER(@v);
SELECT * FROM g ORDER BY id;
SELECT * FROM s ORDER BY id;
CHECKSUM TABLE g, s;

## RANGE and LIST tables
CREATE TABLE r (id INT PRIMARY KEY, a INT) /*weir: shard by hash(id) */;
-- text
LOAD DATA LOCAL INFILE '1\t1\n2\t2\n300\t3\n' INTO TABLE r;
SELECT * FROM r ORDER BY id;

## user variables
CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(20), b VARCHAR(20), n INT) /*weir: shard by hash(id) */;
CREATE TABLE u (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(20), b VARCHAR(20)) /*weir: shard by hash(id) */;
CREATE TABLE g (id INT PRIMARY KEY, a VARCHAR(20)) /*weir: global */;
SET @last = 5;
-- text
LOAD DATA LOCAL INFILE '1\tone\tx\n2\ttwo\ty\n3\tthree\t\\N\n4\tfour\tz\n5\tfive\tw\n' INTO TABLE t (id, @last, b) SET a = UPPER(@last), n = LENGTH(@last);
-- text
SELECT @last, COLLATION(@last), @Last = 'FIVE';
SELECT * FROM t ORDER BY id;
-- text
LOAD DATA LOCAL INFILE '6,a,1,x\n7,b,2,y\n8,c,\\N,z\n' INTO TABLE t CHARACTER SET latin1 FIELDS TERMINATED BY ',' (id, @`skip`, @N, @skip) SET n = @n + 1, b = CONCAT(@skip, '!');
-- text
SELECT @n, @skip, COLLATION(@skip), @last;
SELECT * FROM t WHERE id > 5 ORDER BY id;
-- text
LOAD DATA LOCAL INFILE '' INTO TABLE t (id, @last, @never);
-- text
SELECT @last, @never;
-- no warnings
-- text
LOAD DATA LOCAL INFILE '9\tnine\n10\n' INTO TABLE t (id, @last) SET a = @last;
-- text
SELECT @last;
SELECT id, a FROM t WHERE id > 8 ORDER BY id;
-- text
LOAD DATA LOCAL INFILE 'a\tb\nc\td\ne\tf\n' INTO TABLE u (a, @b) SET b = CONCAT(@b, @b);
SELECT @b;
SELECT * FROM u ORDER BY id;
-- text
LOAD DATA LOCAL INFILE '1\tb\n2\td\n' INTO TABLE g (id, @c) SET a = CONCAT(@c, @c);
SELECT @c;
SELECT * FROM g ORDER BY id;
BEGIN;
-- text
LOAD DATA LOCAL INFILE '21\tb\n22\td\n23\te\n24\tf\n' INTO TABLE t (id, @c) SET a = @c;
SELECT @c, @b;
UPDATE t SET b = 'n' WHERE id BETWEEN 21 AND 24 AND a < @c;
SELECT id, a, b FROM t WHERE id > 20 ORDER BY id;
SELECT a FROM t WHERE id = 23 AND @c = 'f';
ROLLBACK;
SELECT COUNT(*) FROM t;
BEGIN;
INSERT INTO t (id) VALUES (31);
-- text
LOAD DATA LOCAL INFILE '32\tb\n33\tc\n' INTO TABLE t (id, @fails) SET a = REPEAT(@fails, 100);
-- text
SELECT COUNT(*) FROM t WHERE id > 30;
COMMIT;
SELECT COUNT(*) FROM t WHERE id > 30;
-- session: 1
SELECT @b, @c, @last;

## lines that begin with something
CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(20)) /*weir: shard by hash(id) */;
CREATE TABLE u (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(20)) /*weir: shard by hash(id) */;
-- text
LOAD DATA LOCAL INFILE 'xxx1,a\nnothing\nmore xxx2,b\nxx3,c xxx4,d\nx xxx5,e\nxxx' INTO TABLE t FIELDS TERMINATED BY ',' LINES STARTING BY 'xxx';
SELECT * FROM t ORDER BY id;
-- text
LOAD DATA LOCAL INFILE '>first\n>6;x>y\n7;no\n  >8;z' INTO TABLE t FIELDS TERMINATED BY ';' LINES STARTING BY '>' TERMINATED BY '\n' IGNORE 1 LINES (id, @a) SET a = CONCAT(@a, '.');
-- text
SELECT @a;
SELECT * FROM t WHERE id > 5 ORDER BY id;
-- text
LOAD DATA LOCAL INFILE '--a\nb\n--c\n-- d' INTO TABLE u LINES STARTING BY '--' (a);
SELECT * FROM u ORDER BY id;
-- text
LOAD DATA LOCAL INFILE 'nothing here\n' INTO TABLE t LINES STARTING BY '>';

## what is refused
CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(20)) /*weir: shard by hash(id) */;
-- text
-- refused: SET of 'id'
LOAD DATA LOCAL INFILE 'a\n' INTO TABLE t (a) SET id = 5;
-- text
-- refused: no field for 'id'
LOAD DATA LOCAL INFILE 'a\n' INTO TABLE t (a);
-- text
-- refused: LOCAL
LOAD DATA INFILE '/nowhere' INTO TABLE t;
-- text
-- refused: line 2
LOAD DATA LOCAL INFILE '1\ta\n2x\tb\n' INTO TABLE t;
-- text
-- refused: separators
LOAD DATA LOCAL INFILE '1a\n' INTO TABLE t FIELDS TERMINATED BY '' ENCLOSED BY '';
-- text
-- refused: gbk
LOAD DATA LOCAL INFILE '1\ta\n' INTO TABLE t CHARACTER SET gbk;
-- weir
DELETE FROM t;
SELECT COUNT(*) FROM t WHERE id = 2;

## what lines of a GLOBAL table are warned of
CREATE TABLE g (id INT PRIMARY KEY, a TINYINT) /*weir: global */;
SET sql_mode = '';
LOAD DATA LOCAL INFILE '1	1000
1	2
2	x
3	4	5
' INTO TABLE g;
SHOW WARNINGS;
LOAD DATA LOCAL INFILE '1	1000
1	2
2	x
3	4	5
' IGNORE INTO TABLE g;
SHOW WARNINGS;
