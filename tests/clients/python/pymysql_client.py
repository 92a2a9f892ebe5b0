"""PyMySQL, unmodified: what all drivers must do, and arguments, warnings, several statements, server-side cursors, LOAD DATA
LOCAL, session state, the unix socket."""

import decimal
import ssl
import tempfile

import pymysql
import pymysql.cursors
from pymysql.constants import CLIENT

import dbapi
from checks import DATABASE, HOST, PASSWORD, PORT, SOCKET, TLS, USER, check, context_that_trusts_all, fail


def connect(**options):
    settings = {
        "host": HOST,
        "port": PORT,
        "user": USER,
        "password": PASSWORD,
        "database": DATABASE,
        "charset": "utf8mb4",
        "read_timeout": 300,
        "local_infile": True,
        "ssl": context_that_trusts_all() if TLS else None,
        "ssl_disabled": not TLS,
    }
    settings.update(options)
    connection = pymysql.connect(**settings)
    check("TLS is in use", isinstance(connection._sock, ssl.SSLSocket), not settings["ssl_disabled"])
    return connection


def check_error(what, code, action):
    try:
        action()
    except pymysql.MySQLError as error:
        check(what, error.args[0], code)
    else:
        fail(f"{what}: error {code} expected")


def rows(connection, query, arguments=None):
    with connection.cursor() as cursor:
        cursor.execute(query, arguments)
        return cursor.fetchall()


def queries(connection):
    check("arithmetic", rows(connection, "SELECT 1 + 1, NULL, 'ä', 1.5"), ((2, None, "ä", decimal.Decimal("1.5")),))
    check("arguments", rows(connection, "SELECT %s, %s, %s", ("it's", 5, None)), (("it's", 5, None),))
    rows(connection, "DROP TABLE IF EXISTS py_items")
    rows(connection, "CREATE TABLE py_items (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(50), b LONGBLOB)")
    with connection.cursor() as cursor:
        check("rows inserted", cursor.executemany("INSERT INTO py_items (name) VALUES (%s)", [("a",), ("b",), ("c",)]), 3)
        cursor.execute("INSERT INTO py_items (name) VALUES ('d')")
        check("insert id", cursor.lastrowid, 4)
        check("rows changed", cursor.execute("UPDATE py_items SET name = 'z' WHERE id < 3"), 2)
    connection.commit()
    check("names", rows(connection, "SELECT name FROM py_items ORDER BY id"), (("z",), ("z",), ("c",), ("d",)))
    blob = bytes(range(256)) * 80_000
    rows(connection, "INSERT INTO py_items (name, b) VALUES ('blob', %s)", (blob,))
    check("a blob of 20 MB", rows(connection, "SELECT b FROM py_items WHERE name = 'blob'")[0][0] == blob, True)
    connection.rollback()
    check("after the rollback", rows(connection, "SELECT COUNT(*) FROM py_items"), ((4,),))


def transactions(connection):
    connection.begin()
    rows(connection, "DELETE FROM py_items")
    other = connect(autocommit=True)
    check("seen by others", rows(other, "SELECT COUNT(*) FROM py_items"), ((4,),))
    connection.rollback()
    check("undone", rows(connection, "SELECT COUNT(*) FROM py_items"), ((4,),))
    connection.autocommit(True)
    check("autocommit", rows(connection, "SELECT @@autocommit"), ((1,),))
    connection.autocommit(False)
    rows(connection, "INSERT INTO py_items (name) VALUES ('lost')")
    connection.close()
    check("lost with its connection", rows(other, "SELECT COUNT(*) FROM py_items WHERE name = 'lost'"), ((0,),))
    other.close()


def errors_and_warnings(connection):
    check_error("a duplicate", 1062, lambda: rows(connection, "INSERT INTO py_items (id) VALUES (1)"))
    check_error("a syntax error", 1064, lambda: rows(connection, "SELEC"))
    check_error("an unknown table", 1146, lambda: rows(connection, "SELECT * FROM nowhere"))
    check_error("an unknown database", 1049, lambda: connection.select_db("t_no_such_database"))
    with connection.cursor() as cursor:
        cursor.execute("SELECT CAST('7x' AS SIGNED)")
        check("a warned value", cursor.fetchall(), ((7,),))
        warnings = connection.show_warnings()
        check("warnings", [warning[1] for warning in warnings], [1292])


def several_results():
    connection = connect(client_flag=CLIENT.MULTI_STATEMENTS, autocommit=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1; SET @a = 7; SELECT @a")
        got = [tuple(cursor.fetchall())]
        while cursor.nextset():
            got.append(tuple(cursor.fetchall()))
        check("several results", got, [((1,),), (), ((7,),)])
        cursor.execute("DROP PROCEDURE IF EXISTS py_both")
        cursor.execute("CREATE PROCEDURE py_both(IN a INT, OUT b INT) BEGIN SELECT a; SET b = a + 1; SELECT 'two'; END")
        cursor.callproc("py_both", (5, 0))
        got = [tuple(cursor.fetchall())]
        while cursor.nextset():
            got.append(tuple(cursor.fetchall()))
        check("a procedure's results", got[:2], [((5,),), (("two",),)])
        cursor.execute("SELECT @_py_both_1")
        check("its OUT parameter", cursor.fetchall(), ((6,),))
    connection.close()


def streams_and_files(connection):
    with connection.cursor(pymysql.cursors.SSCursor) as cursor:
        cursor.execute("SELECT a.id, REPEAT('x', 1000) FROM py_items a, py_items b, py_items c, py_items d")
        check("rows of an unbuffered cursor", sum(1 for _ in cursor), 256)
    with connection.cursor(pymysql.cursors.SSDictCursor) as cursor:
        cursor.execute("SELECT id FROM py_items ORDER BY id")
        check("the first of them", cursor.fetchone(), {"id": 1})
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as file:
        file.write("one\ntwo\n")
        file.flush()
        rows(connection, "LOAD DATA LOCAL INFILE %s INTO TABLE py_items (name)", (file.name,))
    check("loaded", rows(connection, "SELECT COUNT(*) FROM py_items WHERE name IN ('one', 'two')"), ((2,),))
    connection.rollback()


def session_state(connection):
    rows(connection, "SET @x = 'kept', time_zone = '+03:00'")
    rows(connection, "SET NAMES latin1")
    check("kept", rows(connection, "SELECT @x, @@time_zone, @@character_set_client"), (("kept", "+03:00", "latin1"),))
    connection.ping()
    check("connection id", rows(connection, "SELECT CONNECTION_ID()"), ((connection.thread_id(),),))


def refused():
    check_error("a wrong password", 1045, lambda: connect(password="wrong"))
    check_error("an unknown database", 1049, lambda: connect(database="t_no_such_database"))


def main():
    connection = connect()
    queries(connection)
    transactions(connection)
    connection = connect()
    errors_and_warnings(connection)
    several_results()
    streams_and_files(connection)
    session_state(connection)
    connection.close()
    by_socket = connect(unix_socket=SOCKET, ssl_disabled=True)
    check("by unix socket", rows(by_socket, "SELECT DATABASE()"), ((DATABASE,),))
    refused()
    # It takes a vector for text, and escapes a negative time with a fraction wrongly.
    wrong = {"reading text": {"vector"}, "writing text": {"time_just_negative"}}
    dbapi.all_checks(dbapi.Driver("PyMySQL", connect, pymysql.MySQLError, wrong))


main()
