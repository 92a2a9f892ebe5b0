//! Statements on hot rows, as the watched session and those beside it send them.

/// A statement with a place for a value, `{v}`.
pub(super) struct Shape {
    pub(super) text: &'static str,
    /// What the watched session puts there.
    pub(super) values: &'static [&'static str],
    /// What changes nothing and meets no error.
    pub(super) neutral: &'static str,
    /// The place can be a parameter.
    pub(super) takes_parameter: bool,
}

const fn shape(text: &'static str, values: &'static [&'static str]) -> Shape {
    Shape { text, values, neutral: "0", takes_parameter: true }
}

const fn words(text: &'static str, values: &'static [&'static str]) -> Shape {
    Shape { text, values, neutral: "", takes_parameter: false }
}

/// What can't be prepared, and what triggers that can't be undone have a part in.
const fn text(text: &'static str, values: &'static [&'static str]) -> Shape {
    Shape { text, values, neutral: "0", takes_parameter: false }
}

/// The tables of both sides.
pub(super) const TABLES: &[&str] = &[
    "DROP DATABASE IF EXISTS {db}",
    "CREATE DATABASE {db} CHARACTER SET utf8mb4",
    "CREATE TABLE {db}.seckill (id INT DEFAULT NULL, num BIGINT DEFAULT NULL)",
    "CREATE TABLE {db}.counters (id INT PRIMARY KEY, c BIGINT NOT NULL, u INT UNSIGNED NOT NULL, t TINYINT NOT NULL, \
     p INT NOT NULL, d DECIMAL(6, 2) NOT NULL, CHECK (p >= 0))",
    "CREATE TABLE {db}.words (id INT PRIMARY KEY, w VARCHAR(6) NOT NULL)",
    "CREATE TABLE {db}.slots (id INT PRIMARY KEY, holder INT UNIQUE)",
    "CREATE TABLE {db}.hits (k INT PRIMARY KEY, n BIGINT NOT NULL)",
    "CREATE TABLE {db}.names (id BIGINT AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL UNIQUE, n BIGINT NOT NULL)",
    "CREATE TABLE {db}.watched (id INT PRIMARY KEY, n INT NOT NULL, twice BIGINT)",
    "CREATE TABLE {db}.watched_log (id INT AUTO_INCREMENT PRIMARY KEY, n INT NOT NULL)",
    "CREATE TRIGGER {db}.watched_before BEFORE UPDATE ON {db}.watched FOR EACH ROW SET NEW.twice = 2 * NEW.n",
    "CREATE TRIGGER {db}.watched_after AFTER UPDATE ON {db}.watched FOR EACH ROW \
     INSERT INTO {db}.watched_log (n) SELECT NEW.n FROM DUAL WHERE NEW.n <> OLD.n",
    // What can't be rolled back: by itself, and behind a table that can be.
    "CREATE TABLE {db}.plain (id INT PRIMARY KEY, n TINYINT NOT NULL) ENGINE=MyISAM",
    "CREATE TABLE {db}.audited (id INT PRIMARY KEY, n TINYINT NOT NULL)",
    "CREATE TABLE {db}.audit (n INT NOT NULL) ENGINE=MyISAM",
    "CREATE TRIGGER {db}.audited_after AFTER UPDATE ON {db}.audited FOR EACH ROW \
     INSERT INTO {db}.audit SELECT NEW.n FROM DUAL WHERE NEW.n <> OLD.n",
    "CREATE FUNCTION {db}.own(n INT) RETURNS INT DETERMINISTIC RETURN COALESCE(@x, 0) + n",
    "CREATE VIEW {db}.counted AS SELECT id, c FROM {db}.counters",
];

pub(super) const CONTENT: &[&str] = &[
    "INSERT INTO {db}.seckill VALUES (1, 40), (2, 1), (2, 5), (NULL, 7)",
    "INSERT INTO {db}.counters VALUES (1, 0, 30, 100, 20, 1.5), (2, 10, 5, -100, 3, 9990), (3, 0, 0, 0, 0, 0)",
    "INSERT INTO {db}.words VALUES (1, ''), (2, 'abc')",
    "INSERT INTO {db}.slots VALUES (1, 10), (2, 12), (3, 14), (4, NULL)",
    "INSERT INTO {db}.hits VALUES (1, 1), (2, 2)",
    "INSERT INTO {db}.names VALUES (1, 1, 1), (2, 2, 1)",
    "INSERT INTO {db}.watched VALUES (1, 1, 2), (2, 2, 4)",
    "INSERT INTO {db}.plain VALUES (1, 1)",
    "INSERT INTO {db}.audited VALUES (1, 1)",
];

/// Statements that a batch may take.
pub(super) const SHAPES: &[Shape] = &[
    shape("UPDATE seckill SET num = num - {v} WHERE id = 1 AND num > 1", &["1", "1", "3", "9", "100"]),
    shape("UPDATE seckill SET num = num - {v} WHERE id = 2 AND num > 1", &["1", "0", "-1"]),
    shape("update seckill set num=num+{v} where id=3", &["1"]),
    shape("/* who */ UPDATE seckill SET num = num - {v} /* 'how' */ WHERE id = 1 AND num > 1 /* why */", &["1", "3"]),
    shape("UPDATE seckill SET num = num - {v} WHERE id IS NULL", &["1", "-1"]),
    shape("UPDATE counters SET c = c + {v} WHERE id = 1", &["1", "2", "-5", "9223372036854775807"]),
    shape("UPDATE counters SET c = LAST_INSERT_ID(c + {v}) WHERE id = 2", &["1", "2", "0", "-1"]),
    shape("UPDATE counters SET c = LAST_INSERT_ID(c + {v}) WHERE id = 99", &["1"]),
    shape("UPDATE counters SET u = u - {v} WHERE id = 1", &["1", "7", "40"]),
    shape("UPDATE counters SET u = u + {v} WHERE id = 2", &["1", "4294967295", "-3"]),
    shape("UPDATE counters SET t = t + {v} WHERE id = 1", &["1", "20", "-9", "300"]),
    shape("UPDATE counters SET p = p - {v} WHERE id = 2", &["1", "2", "-1", "9"]),
    shape("UPDATE counters SET c = c + NULLIF({v}, 7) WHERE id = 3", &["7", "1"]),
    shape("UPDATE counters SET d = d + {v} WHERE id = 1", &["0.25", "0.004", "0.005", "9999"]),
    shape("UPDATE counters SET c = c + {v}, t = t + 0, u = u WHERE id = 3", &["1", "2"]),
    shape("UPDATE counters SET c = c + 10 / {v} WHERE id = 1 AND c < -100", &["1"]),
    words("UPDATE words SET w = CONCAT(w, '{v}') WHERE id = 1", &["ab", "x", "abcdefgh", ""]),
    words("UPDATE words SET w = CONCAT('{v}', w) WHERE id = 2", &["é", "xyz", "'';--"]),
    shape("UPDATE slots SET holder = holder + {v} WHERE id = 1", &["1", "2", "-1", "4"]),
    shape("UPDATE slots SET holder = holder + {v} WHERE id = 4", &["1"]),
    shape("UPDATE watched SET n = n + {v} WHERE id = 1", &["1", "5", "2147483647"]),
    shape("INSERT INTO hits VALUES (1, 1) ON DUPLICATE KEY UPDATE n = n + {v}", &["1", "2", "0"]),
    shape("INSERT INTO hits VALUES (2, 1) ON DUPLICATE KEY UPDATE n = LAST_INSERT_ID(n + {v})", &["1", "5"]),
    shape("INSERT INTO hits (k, n) VALUES (1, 5) ON DUPLICATE KEY UPDATE n = n + NULLIF({v}, 7)", &["7", "1"]),
    shape(
        "INSERT INTO names VALUES (1, 1, 1) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), n = n + {v}",
        &["1", "3"],
    ),
    shape("INSERT INTO names (id, k, n) VALUES (2, 2, 1) ON DUPLICATE KEY UPDATE n = n + {v}", &["1", "0"]),
    shape("DELETE FROM hits WHERE k = 99 AND n > {v}", &["0"]),
    shape("DELETE FROM counters WHERE id = 1 AND c < -1000000 - {v}", &["0"]),
    shape("UPDATE plain SET n = n + {v} WHERE id = 1", &["1", "3", "100"]),
    shape("UPDATE counted SET c = c + {v} WHERE id = 1", &["1", "3"]),
    shape("UPDATE counters SET c = c + {v} * own(1) WHERE id = 1", &["1", "3"]),
    shape("UPDATE counters SET c = c + {v} * LAST_INSERT_ID() WHERE id = 1", &["1", "3"]),
    shape("UPDATE counters SET c = c + {v} * ROW_COUNT() WHERE id = 1", &["1", "3"]),
    shape("UPDATE counters SET c = c + {v} * COALESCE(@x, 1) WHERE id = 1", &["1", "3"]),
    shape("UPDATE counters SET c = c + {v} * (SELECT COUNT(*) FROM hits) WHERE id = 1", &["1"]),
    shape("UPDATE counters SET c = c + {v} * @@auto_increment_increment WHERE id = 1", &["1"]),
    shape("UPDATE IGNORE counters SET u = u - {v} WHERE id = 1", &["1", "40"]),
    shape("UPDATE seckill SET num = num - {v} WHERE id = 2 ORDER BY num DESC LIMIT 1", &["1", "-1"]),
    shape("UPDATE {db}.counters SET c = c + {v} WHERE id = 1", &["1"]),
    shape("UPDATE counters AS one SET one.c = one.c + {v} WHERE one.id = 1", &["1"]),
    shape("INSERT IGNORE INTO hits VALUES (1, 1) ON DUPLICATE KEY UPDATE n = n + {v}", &["1"]),
    text("INSERT INTO hits VALUES (1, 1) ON DUPLICATE KEY UPDATE n = n + {v} RETURNING n", &["1"]),
    shape("INSERT INTO hits SET k = 1, n = 1 ON DUPLICATE KEY UPDATE n = n + {v}", &["1", "2"]),
    shape("INSERT INTO hits VALUES (1, 1), (2, 1) ON DUPLICATE KEY UPDATE n = n + {v}", &["1", "2"]),
    text("UPDATE nowhere SET n = n + {v} WHERE id = 1", &["1"]),
    text("UPDATE counters SET nothing = nothing + {v} WHERE id = 1", &["1"]),
];

/// Statements that batches are known to answer otherwise: their trigger writes what can't be rolled back.
pub(super) const FAULTY: &[Shape] = &[shape("UPDATE audited SET n = n + {v} WHERE id = 1", &["1", "3", "100", "-50"])];

/// What asks about the statement before: first what asks about its warnings.
pub(super) const PROBES: &[&str] = &[
    "SHOW WARNINGS",
    "SHOW WARNINGS",
    "SHOW COUNT(*) WARNINGS",
    "SHOW ERRORS",
    "SELECT LAST_INSERT_ID()",
    "SELECT LAST_INSERT_ID()",
    "SELECT ROW_COUNT()",
    "SELECT ROW_COUNT(), LAST_INSERT_ID()",
];

/// Other statements of the watched session; `{n}` is 1 to 3.
pub(super) const SINGLES: &[&str] = &[
    "SELECT num FROM seckill WHERE id = {n}",
    "SELECT * FROM counters",
    "SELECT * FROM watched_log",
    "UPDATE seckill SET num = 40 WHERE id = 1",
    "UPDATE counters SET u = 30, t = 100, p = 20, d = 1.5 WHERE id = {n}",
    "UPDATE words SET w = '' WHERE id = {n}",
    "DELETE FROM hits WHERE k = 5{n}",
    "INSERT INTO hits VALUES (5{n}, 1) ON DUPLICATE KEY UPDATE n = n + 1",
    "INSERT INTO names (k, n) VALUES (7{n}, 1) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), n = n + 1",
    "DELETE FROM names WHERE k = 7{n}",
    "UPDATE counters SET c = c + 1",
    "SET @x = 5",
    "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SELECT LAST_INSERT_ID({n})",
    "SELECT * FROM audit",
    "UPDATE counters SET c = c + @x WHERE id = {n}",
];
