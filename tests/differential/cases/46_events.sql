# Events: on the shard that has their tables, or on all of them where each changes its own rows.

## an event that each shard runs on its own rows
CREATE TABLE logs (id INT PRIMARY KEY, at DATETIME NOT NULL, state INT) /*weir: shard by hash(id) */;
CREATE EVENT wipe ON SCHEDULE EVERY 1 DAY STARTS '2035-01-01 00:00:00' DO DELETE FROM logs WHERE at < NOW() - INTERVAL 30 DAY;
CREATE EVENT mark ON SCHEDULE EVERY 1 DAY STARTS '2035-01-01 00:00:00' COMMENT 'marks' DO BEGIN UPDATE logs SET state = 1 WHERE state = 0; DELETE FROM logs WHERE state = 2; END;
CREATE EVENT wipe ON SCHEDULE EVERY 1 DAY DO DELETE FROM logs;
CREATE EVENT IF NOT EXISTS wipe ON SCHEDULE EVERY 1 DAY DO DELETE FROM logs;
-- other columns
SELECT event_name, event_definition, interval_value, status, event_comment FROM information_schema.events WHERE event_schema = DATABASE() ORDER BY event_name;
ALTER EVENT wipe DISABLE;
ALTER EVENT wipe RENAME TO cleanup;
ALTER EVENT wipe ENABLE;
ALTER EVENT CLEANUP DO DELETE FROM logs WHERE at < NOW() - INTERVAL 60 DAY;
-- other columns
SELECT event_name, event_definition, status FROM information_schema.events WHERE event_schema = DATABASE() ORDER BY event_name;
RENAME TABLE logs TO kept, kept TO logs;
DROP TABLE logs;
-- refused: may use 'd.logs'
CREATE TABLE logs (id INT PRIMARY KEY, at DATETIME NOT NULL, state INT) /*weir: global */;
-- refused: may use 'd.logs'
CREATE TABLE logs (id INT, at DATETIME NOT NULL, state INT, PRIMARY KEY (state, id)) /*weir: shard by hash(state) */;
CREATE TABLE logs (id INT PRIMARY KEY, at DATETIME NOT NULL, state INT) /*weir: shard by hash(id) */;
DROP EVENT cleanup;
DROP EVENT cleanup;
DROP EVENT IF EXISTS cleanup;
DROP EVENT mark;
SHOW EVENTS;

## an event of one shard's tables
-- each shard
-- = {s1}
-- = {s2}
CREATE TABLE t (id INT PRIMARY KEY, n INT) /*weir: single on shard '{shard}' */;
CREATE TABLE kinds (id INT PRIMARY KEY) /*weir: global */;
CREATE TABLE other (id INT PRIMARY KEY) /*weir: shard by hash(id) */;
CREATE EVENT count_up ON SCHEDULE EVERY 1 HOUR STARTS '2035-01-01 00:00:00' DO BEGIN DECLARE c INT; SELECT COUNT(*) INTO c FROM kinds; UPDATE t SET n = n + c ORDER BY id LIMIT 1; END;
CREATE EVENT count_up ON SCHEDULE EVERY 1 HOUR DO DELETE FROM t;
-- refused: An event in a sharded database can use SINGLE tables
CREATE EVENT bad ON SCHEDULE EVERY 1 HOUR DO DELETE FROM kinds;
-- refused: An event in a sharded database can use SINGLE tables
CREATE EVENT bad ON SCHEDULE EVERY 1 HOUR DO DELETE FROM other LIMIT 1;
-- refused: An event in a sharded database can use SINGLE tables
CREATE EVENT bad ON SCHEDULE EVERY 1 HOUR DO INSERT INTO t SELECT id, 1 FROM other;
-- refused: An event in a sharded database can use SINGLE tables
CREATE EVENT bad ON SCHEDULE EVERY 1 HOUR DO CREATE TABLE made (a INT);
-- refused: that uses tables of other shards
ALTER EVENT count_up DO DELETE FROM other WHERE id > 5;
CREATE EVENT each_one ON SCHEDULE EVERY 1 HOUR STARTS '2035-01-01 00:00:00' DO DELETE FROM other WHERE id > 5;
ALTER EVENT each_one RENAME TO count_up;
ALTER EVENT count_up RENAME TO each_one;
DROP EVENT each_one;
ALTER EVENT count_up DO DELETE FROM t WHERE n > 5;
-- other columns
SELECT event_name, event_definition FROM information_schema.events WHERE event_schema = DATABASE();
SHOW CREATE EVENT count_up;
-- mariadb
CREATE OR REPLACE EVENT count_up ON SCHEDULE EVERY 1 HOUR STARTS '2035-01-01 00:00:00' DO DELETE FROM other WHERE id > 5;
-- mariadb
CREATE OR REPLACE EVENT count_up ON SCHEDULE EVERY 1 HOUR STARTS '2035-01-01 00:00:00' DO DELETE FROM t WHERE n > 7;
-- other columns
SELECT event_name, COUNT(*) FROM information_schema.events WHERE event_schema = DATABASE() GROUP BY event_name;
DROP TABLE t;
-- refused: Event d.count_up may use 'd.t'
CREATE TABLE t (id INT PRIMARY KEY, n INT) /*weir: shard by hash(id) */;
CREATE TABLE t (id INT PRIMARY KEY, n INT) /*weir: single on shard '{shard}' */;
DROP EVENT count_up;
DROP TABLE t;
CREATE TABLE t (id INT PRIMARY KEY, n INT) /*weir: shard by hash(id) */;

## an event that calls a procedure
CREATE TABLE t (id INT PRIMARY KEY, n INT) /*weir: single */;
CREATE TABLE other (id INT PRIMARY KEY) /*weir: shard by hash(id) */;
CREATE PROCEDURE inner_one() DELETE FROM t WHERE n > 5;
CREATE PROCEDURE one() BEGIN CALL inner_one(); CALL one(); END;
CREATE PROCEDURE several() INSERT INTO t SELECT id, 1 FROM other;
CREATE EVENT ok ON SCHEDULE EVERY 1 HOUR STARTS '2035-01-01 00:00:00' DO CALL one();
-- text
-- refused: An event in a sharded database can use SINGLE tables
CREATE EVENT bad ON SCHEDULE EVERY 1 HOUR DO CALL several();
CREATE EVENT later ON SCHEDULE EVERY 1 HOUR STARTS '2035-01-01 00:00:00' DO CALL still_to_come();
-- text
-- refused: Event d.later may use 'd.still_to_come'
CREATE PROCEDURE still_to_come() DELETE FROM other;
CREATE PROCEDURE still_to_come() DELETE FROM t;
-- other columns
SELECT event_name, event_definition FROM information_schema.events WHERE event_schema = DATABASE() ORDER BY event_name;

## an event of no tables, and one of tables to come
CREATE EVENT nothing ON SCHEDULE EVERY 1 HOUR STARTS '2035-01-01 00:00:00' DO SET @a = 1;
CREATE EVENT to_come ON SCHEDULE EVERY 1 HOUR STARTS '2035-01-01 00:00:00' DO INSERT INTO lines_to_come VALUES (NOW());
-- other columns
SELECT event_name, event_definition FROM information_schema.events WHERE event_schema = DATABASE() ORDER BY event_name;
CREATE TABLE lines_to_come (at DATETIME);
ALTER EVENT nothing COMMENT 'none';
DROP EVENT nothing;
DROP EVENT to_come;

## tables that are sharded by default become SINGLE for an event
CREATE TABLE orders (id INT PRIMARY KEY, total INT);
CREATE TABLE sums (id INT PRIMARY KEY, total INT);
INSERT INTO orders VALUES (1, 10), (2, 20), (3, 30);
-- no warnings
CREATE EVENT add_up ON SCHEDULE EVERY 1 HOUR STARTS '2035-01-01 00:00:00' DO REPLACE INTO sums SELECT 1, SUM(total) FROM orders;
SELECT * FROM orders ORDER BY id;
SHOW CREATE EVENT add_up;
