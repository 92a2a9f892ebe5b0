"""mysqlclient (MySQLdb over MariaDB's C library), unmodified: what all drivers must do, and what is its own: several
statements, unbuffered cursors, many rows at once, compression, ping."""

import MySQLdb
import MySQLdb.cursors
from MySQLdb.constants import CLIENT

import dbapi
from checks import DATABASE, HOST, PASSWORD, PORT, TLS, USER, check
from dbapi import rows


def connect(**options):
    settings = {
        "host": HOST,
        "port": PORT,
        "user": USER,
        "password": PASSWORD,
        "database": DATABASE,
        "charset": "utf8mb4",
        "read_timeout": 300,
        "ssl_mode": "REQUIRED" if TLS else "DISABLED",
    }
    return MySQLdb.connect(**(settings | options))


def several_statements():
    connection = connect(client_flag=CLIENT.MULTI_STATEMENTS, compress=True, autocommit=True)
    cursor = connection.cursor()
    cursor.execute("SELECT 1; SET @a = 7; SELECT @a")
    got = [cursor.fetchall()]
    while cursor.nextset() is not None:
        got.append(cursor.fetchall())
    check("several results", got, [((1,),), (), ((7,),)])
    cursor.close()
    connection.close()


def own_ways():
    connection = connect(autocommit=True)
    rows(connection, "CREATE TABLE own_ways (id INT PRIMARY KEY, name TEXT)")
    cursor = connection.cursor()
    many = [(number, f"it's {number}") for number in range(2000)]
    check("executemany", cursor.executemany("INSERT INTO own_ways VALUES (%s, %s)", many), 2000)
    cursor.close()
    unbuffered = connection.cursor(MySQLdb.cursors.SSDictCursor)
    unbuffered.execute("SELECT * FROM own_ways ORDER BY id")
    check("the first row unbuffered", unbuffered.fetchone(), {"id": 0, "name": "it's 0"})
    check("the other rows unbuffered", sum(1 for _ in unbuffered), 1999)
    unbuffered.close()
    connection.ping()
    connection.select_db(DATABASE)
    rows(connection, "SELECT CAST('7x' AS SIGNED)")
    check("warnings", [warning[1] for warning in connection.show_warnings()], [1292])
    check("its connection id", rows(connection, "SELECT CONNECTION_ID()"), [(connection.thread_id(),)])
    connection.close()


def main():
    several_statements()
    own_ways()
    # A vector needs bytes that are marked as such.
    dbapi.all_checks(dbapi.Driver("mysqlclient", connect, MySQLdb.MySQLError, {"writing text": {"vector"}}))


main()
