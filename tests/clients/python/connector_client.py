"""MySQL Connector/Python, unmodified, as C extension and as pure Python: what all drivers must do (with its prepared cursors),
and what is its own: pools, several statements, resetting a session, compression."""

import warnings

import mysql.connector
import mysql.connector.pooling

import dbapi
from checks import DATABASE, HOST, PASSWORD, PORT, TLS, USER, check
from dbapi import rows


# Its C extension reads the largest unsigned integer as -1 from a prepared statement, and text up to its first 0 byte; and
# it binds doubles as floats, times without their hours or not at all, large integers as negative ones.
C_WRONG = {
    "reading prepared": {"bigint_unsigned_max", "varchar_controls"},
    "writing prepared": {
        *("double_max", "double_least", "double_fraction", "bit_64"),
        *("time_min", "time_max", "time_past_a_day", "time_just_negative", "time_seconds"),
    },
    "writing text": {"vector"},
}
# In pure Python it reads negative times wrongly from a prepared statement, and years not at all.
PURE_WRONG = {
    "reading prepared": {"time_min", "time_just_negative", "year_first", "year_last"},
    "writing text": {"vector"},
}


class Connector(dbapi.Driver):
    def __init__(self, pure):
        self.settings = {
            "host": HOST,
            "port": PORT,
            "user": USER,
            "password": PASSWORD,
            "database": DATABASE,
            "use_pure": pure,
            "ssl_disabled": not TLS,
        }
        super().__init__("pure" if pure else "C", self.connect, mysql.connector.Error, PURE_WRONG if pure else C_WRONG)
        self.large_by_prepared = not pure  # Above 16 MB, it reads something else.
        if not TLS:
            self.refused_password = {1045, 2061}  # It doesn't ask for the key to send a password without TLS.

    def connect(self, **options):
        return mysql.connector.connect(**(self.settings | options))

    def code(self, error):
        return error.errno

    def state(self, error):
        return error.sqlstate

    def prepared_cursor(self, connection):
        return connection.cursor(prepared=True)

    def call(self, cursor, name, arguments):
        cursor.callproc(name, arguments)
        return [tuple(result.fetchall()) for result in cursor.stored_results()]

    def own_ways(self):
        connection = self.connect(autocommit=True, compress=True, get_warnings=True)
        cursor = connection.cursor()
        cursor.execute("SELECT 1; SET @a = 7; SELECT @a")
        got = [tuple(result) for _, result in cursor.fetchsets()]
        check("several results", got, [((1,),), (), ((7,),)])
        cursor.execute("SELECT CAST('7x' AS SIGNED)")
        cursor.fetchall()
        check("warnings", [warning[1] for warning in cursor.warnings], [1292])
        cursor.close()
        prepared = connection.cursor(prepared=True)
        for number in range(300):
            prepared.execute("SELECT %s + 1, %s", (number, f"it's {number}"))
            check("a prepared statement again", prepared.fetchall(), [(number + 1, f"it's {number}")])
        prepared.close()
        connection.cmd_reset_connection()
        check("reset", rows(connection, "SELECT @a, DATABASE()"), [(None, DATABASE)])
        self.change_user(connection)
        connection.close()

    def change_user(self, compressed):
        """In pure Python only without compression."""
        connection = self.connect() if self.name == "pure" else compressed
        rows(connection, "SET @a = 1")
        connection.cmd_change_user(USER, PASSWORD, DATABASE)
        check("after COM_CHANGE_USER", rows(connection, "SELECT @a, CURRENT_USER()"), [(None, f"{USER}@%")])

    def pool(self):
        """What a connection's user left is gone for the next; one that was killed connects again."""
        pool = mysql.connector.pooling.MySQLConnectionPool(pool_name=f"of_{self.name}", pool_size=2, **self.settings)
        for _ in range(6):
            connection = pool.get_connection()
            check("nothing left", rows(connection, "SELECT @left, @@autocommit, @@sql_mode = ''"), [(None, 0, 0)])
            rows(connection, "SET @left = 1, autocommit = 1, sql_mode = ''")
            connection.close()
        connection = pool.get_connection()
        dbapi.kill_itself(self, connection)
        connection.reconnect()  # It can't be given back dead.
        connection.close()
        for _ in range(4):
            connection = pool.get_connection()
            check("a pool after KILL", rows(connection, "SELECT 5"), [(5,)])
            connection.close()


def main():
    warnings.simplefilter("ignore")  # It gives the server's warnings to Python as well.
    check("the C extension is there", mysql.connector.HAVE_CEXT, True)
    for pure in (False, True):
        driver = Connector(pure)
        driver.own_ways()
        driver.pool()
        dbapi.all_checks(driver)


main()
