"""Dump and restore with the servers' own tools or mydumper, unmodified: a database of all kinds of objects is dumped through the
endpoint, while others write, and restored through it into another database, which must be the same.

CLIENT_KIND is mariadb, mysql or mydumper; CLIENT is the folder of the programs."""

import os
import pathlib
import re
import subprocess
import threading

import pymysql

from checks import DATABASE, HOST, PASSWORD, PORT, SCRATCH, TLS, USER, check, context_that_trusts_all, fail
from checks import types_statements

KIND = os.environ["CLIENT_KIND"]
COPY = f"{DATABASE}_copy"
# mydumper 0.10 takes no other characters in names, writes these types wrongly, and breaks lines of routines after semicolons.
OLD_TYPES_ONLY = {"uuid", "inet6"} if KIND == "mydumper" else set()
ODD = "`odd name`" if KIND == "mydumper" else "`od``d \"näme\"`"

OBJECTS = [
    "CREATE TABLE parents (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
    " DEFAULT 'né' COMMENT 'it''s a \"name\"', born DATETIME(3) DEFAULT CURRENT_TIMESTAMP(3), UNIQUE KEY by_name (name(20)))"
    " AUTO_INCREMENT = 100 COMMENT = 'of all ; kinds'",
    "CREATE TABLE children (id BIGINT UNSIGNED PRIMARY KEY, parent INT, price DECIMAL(10,2) NOT NULL CHECK (price >= 0),"
    " amount INT NOT NULL, total DECIMAL(12,2) AS (price * amount) STORED, short VARCHAR(5) AS (LEFT(note, 5)) VIRTUAL,"
    " note TEXT, FULLTEXT KEY words (note), KEY by_total (total),"
    " CONSTRAINT of_parent FOREIGN KEY (parent) REFERENCES parents (id) ON DELETE CASCADE ON UPDATE SET NULL)",
    f"CREATE TABLE {ODD} (`a b` INT, `select` LONGBLOB, PRIMARY KEY (`a b`))",
    "CREATE TABLE parted (id INT, y INT, PRIMARY KEY (id, y)) /*!50100 PARTITION BY RANGE (y)"
    " (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN MAXVALUE) */",
    "CREATE TABLE empty_one (id INT)",
    "CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY, what TEXT)",
    "CREATE TRIGGER after_child AFTER INSERT ON children FOR EACH ROW BEGIN INSERT INTO log (what)"
    " VALUES (CONCAT('child; ', NEW.id)); END",
    "CREATE VIEW priced AS SELECT p.name, SUM(c.total) AS total FROM parents p JOIN children c ON c.parent = p.id GROUP BY p.name",
    "CREATE VIEW above AS SELECT * FROM priced WHERE total > 1",
    "CREATE FUNCTION twice(n INT) RETURNS INT DETERMINISTIC NO SQL RETURN n * 2",
    "CREATE PROCEDURE report(IN at_least INT, OUT n INT) READS SQL DATA BEGIN\n  -- A comment; with a semicolon\n"
    "  SELECT COUNT(*) INTO n FROM children WHERE amount >= at_least;\nEND",
    "CREATE EVENT cleaning ON SCHEDULE EVERY 1 DAY STARTS '2037-01-01 00:00:00' DISABLE COMMENT 'it''s'"
    " DO DELETE FROM log WHERE id < 0",
    "CREATE TABLE left_side (n BIGINT)",
    "CREATE TABLE right_side (n BIGINT)",
    "INSERT INTO left_side VALUES (1000)",
    "INSERT INTO right_side VALUES (0)",
]


def connect(database=None):
    return pymysql.connect(
        host=HOST,
        port=PORT,
        user=USER,
        password=PASSWORD,
        database=database,
        charset="utf8mb4",
        autocommit=True,
        ssl=context_that_trusts_all() if TLS else None,
        ssl_disabled=not TLS,
    )


def rows(connection, query, arguments=None):
    with connection.cursor() as cursor:
        cursor.execute(query, arguments)
        return cursor.fetchall()


def make(connection):
    for statement in types_statements("types", without=OLD_TYPES_ONLY) + OBJECTS:
        rows(connection, statement)
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO parents (name) VALUES (%s)", [(f"päré'nt\\ {n} 😀",) for n in range(50)])
        children = [(n, 100 + n % 50, n / 4, n % 7, f"words and {n} \n\t\0 lines") for n in range(3000)]
        cursor.executemany("INSERT INTO children (id, parent, price, amount, note) VALUES (%s, %s, %s, %s, %s)", children)
        cursor.executemany("INSERT INTO parted VALUES (%s, %s)", [(n, n % 20) for n in range(500)])
        odd = f"INSERT INTO {ODD} VALUES (%s, %s)"
        cursor.executemany(odd, [(n, bytes(range(256)) * 400 * n) for n in range(20)])


class Mover(threading.Thread):
    """Moves amounts between two tables until told to stop, each time in one transaction: their sum never changes."""

    def __init__(self):
        super().__init__(daemon=True)
        self.ended = threading.Event()
        self.moved = 0
        self.failed = None

    def run(self):
        try:
            connection = connect(DATABASE)
            while not self.ended.is_set():
                connection.begin()
                rows(connection, "UPDATE left_side SET n = n - 1")
                rows(connection, "UPDATE right_side SET n = n + 1")
                connection.commit()
                self.moved += 1
            connection.close()
        except pymysql.MySQLError as error:
            self.failed = error


def run(command, standard_input=None):
    done = subprocess.run(command, stdin=standard_input, capture_output=True, check=False)
    if done.returncode != 0:
        fail(f"{command[0]} {done.returncode}: {(done.stdout + done.stderr).decode(errors='replace')[-3000:]}")


def tool(name):
    return str(pathlib.Path(os.environ["CLIENT"]) / name)


def server_options():
    options = ["--no-defaults", f"--host={HOST}", f"--port={PORT}", "--protocol=tcp", f"--user={USER}", f"--password={PASSWORD}"]
    if KIND == "mysql":
        return [*options, *(["--ssl-mode=REQUIRED"] if TLS else ["--ssl-mode=DISABLED", "--get-server-public-key"])]
    return [*options, *(["--ssl", "--skip-ssl-verify-server-cert"] if TLS else ["--skip-ssl"])]


def copy_by_shell():
    wanted = ["--single-transaction", "--hex-blob", "--routines", "--triggers", "--events", "--no-tablespaces"]
    if KIND == "mysql":
        wanted += ["--set-gtid-purged=OFF", "--column-statistics=0"]
    dump = SCRATCH / "dump.sql"
    program = "mysqldump" if KIND == "mysql" else "mariadb-dump"
    run([tool(program), *server_options(), *wanted, f"--result-file={dump}", DATABASE])
    with dump.open("rb") as file:
        # MariaDB's shell takes comments out of routines, unless told not to.
        shell = [tool(KIND), *server_options(), "--default-character-set=utf8mb4", "--binary-mode", "--comments",
                 # The purge of MariaDB may hold a table that was just filled for longer than the tests' one second.
                 "--init-command=SET SESSION lock_wait_timeout = 60", COPY]
        run(shell, standard_input=file)


def copy_by_mydumper():
    options = [f"--host={HOST}", f"--port={PORT}", f"--user={USER}", f"--password={PASSWORD}", "--threads=3"]
    options += ["--ssl"] if TLS else []
    folder = SCRATCH / "mydumper"
    # Its locks (FLUSH TABLES WITH READ LOCK) would stop all other tests.
    objects = ["--triggers", "--events", "--routines", "--no-locks", "--rows=500", "--compress"]
    run([tool("mydumper"), *options, *objects, f"--database={DATABASE}", f"--outputdir={folder}"])
    run([tool("myloader"), *options, f"--database={COPY}", f"--source-db={DATABASE}", f"--directory={folder}"])


def description(connection, database):
    """All objects of a database and the checksums of its tables, with the database's name taken out."""
    found = {}
    rows(connection, f"USE `{database}`")

    def created(kind, name, column):
        text = rows(connection, f"SHOW CREATE {kind} `{name.replace('`', '``')}`")[0][column]
        found[kind, name] = re.sub(r"; *\n", ";\n", text.replace(f"`{database}`.", ""))

    for name, kind in rows(connection, "SHOW FULL TABLES"):
        created("TABLE" if kind == "BASE TABLE" else "VIEW", name, 1)
        if kind == "BASE TABLE" and not name.endswith("_side"):
            found["checksum", name] = rows(connection, f"CHECKSUM TABLE `{name.replace('`', '``')}`")[0][1]
    for trigger in rows(connection, "SHOW TRIGGERS"):
        created("TRIGGER", trigger[0], 2)
    for event in rows(connection, f"SHOW EVENTS FROM `{database}`"):
        created("EVENT", event[1], 3)
    for kind in ("PROCEDURE", "FUNCTION"):
        for routine in rows(connection, f"SHOW {kind} STATUS WHERE Db = %s", (database,)):
            created(kind, routine[1], 2)
    return found


def main():
    connection = connect(DATABASE)
    make(connection)
    rows(connection, f"DROP DATABASE IF EXISTS `{COPY}`")
    rows(connection, f"CREATE DATABASE `{COPY}`")
    mover = Mover()
    if KIND == "mydumper":
        copy_by_mydumper()
    else:
        mover.start()
        copy_by_shell()
        mover.ended.set()
        mover.join()
    check("the mover's error", mover.failed, None)
    before, after = description(connection, DATABASE), description(connection, COPY)
    check("objects", sorted(after), sorted(before))
    for what, text in before.items():
        check(f"{what[0]} {what[1]}", after[what], text)
    check("kinds of objects", len({kind for kind, _ in before}), 7)
    rows(connection, f"USE `{COPY}`")
    moved = rows(connection, "SELECT l.n + r.n, r.n <= %s FROM left_side l, right_side r", (mover.moved,))
    check("what is moved is seen on one side", moved, ((1000, 1),))
    check("a view", rows(connection, "SELECT COUNT(*) FROM above")[0][0], 50)
    check("a function", rows(connection, "SELECT twice(21)"), ((42,),))
    rows(connection, "CALL report(6, @n)")
    check("a procedure", rows(connection, "SELECT @n"), ((428,),))
    rows(connection, "INSERT INTO children (id, parent, price, amount) VALUES (9999, 100, 1, 1)")
    check("a trigger", rows(connection, "SELECT COUNT(*) FROM log WHERE what = 'child; 9999'"), ((1,),))
    rows(connection, "DELETE FROM parents WHERE id = 100")
    check("a foreign key", rows(connection, "SELECT COUNT(*) FROM children WHERE parent = 100"), ((0,),))
    rows(connection, f"DROP DATABASE `{COPY}`")
    connection.close()


main()
