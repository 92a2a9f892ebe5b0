"""What every driver with Python's database interface (PEP 249) must do, whichever it is: types, transactions, errors,
several results, large rows, lost connections. A driver's own program gives a `Driver` and adds what only it has."""

import array
import datetime
import decimal

from checks import DATABASE, check, columns, fail, types_statements

LARGE = bytes(range(256)) * 80_000


class Driver:
    """A driver under test. `connect` takes `autocommit`, `database` and `password`, and makes a new connection."""

    def __init__(self, name, connect, error, wrong=None):
        self.name, self.connect, self.error = name, connect, error
        self.refused_password = {1045}
        self.large_by_prepared = True
        self.wrong = wrong or {}

    def columns(self, action):
        """The columns of types.json, but for those that the driver itself gets wrong in "reading text", "reading prepared",
        "writing text" or "writing prepared"."""
        return [column for column in columns() if column.name not in self.wrong.get(action, ())]

    def code(self, error):
        """The server's error number."""
        return error.args[0]

    def state(self, _error):
        """SQLSTATE, or None if the driver doesn't tell."""
        return None

    def prepared_cursor(self, _connection):
        """A cursor that uses the protocol's prepared statements, or None if the driver has none."""
        return None

    def call(self, cursor, name, arguments):
        """The result sets of a procedure, each a list of rows."""
        cursor.callproc(name, arguments)
        sets = [tuple(cursor.fetchall())]
        while cursor.nextset():
            if cursor.description:
                sets.append(tuple(cursor.fetchall()))
        return sets


def rows(connection, query, arguments=None):
    cursor = connection.cursor()
    try:
        cursor.execute(query, arguments)
        return [tuple(row) for row in cursor.fetchall()] if cursor.description else []
    finally:
        cursor.close()


def expect_error(driver, what, code, state, action):
    try:
        action()
    except driver.error as error:
        check(what, driver.code(error), code)
        if driver.state(error) is not None:
            check(f"SQLSTATE of {what}", driver.state(error), state)
    else:
        fail(f"{driver.name}: {what}: error {code} expected")


def as_text(column, value):
    """A driver's value in the form of types.json."""
    fraction = "(6)" in column.type
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, float):
        return column.expected if value == float(column.expected) else repr(value)
    if isinstance(value, datetime.datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S").zfill(19) + (f".{value.microsecond:06}" if fraction else "")
    if isinstance(value, datetime.timedelta):
        micros = abs(value) // datetime.timedelta(microseconds=1)
        seconds = micros // 1_000_000
        text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        return ("-" if value < datetime.timedelta() else "") + text + (f".{micros % 1_000_000:06}" if fraction else "")
    if isinstance(value, set):
        return ",".join(sorted(value))
    if isinstance(value, array.array):
        return value.tobytes()
    if isinstance(value, (bytes, bytearray)):
        return bytes(value) if isinstance(column.expected, bytes) else bytes(value).decode()
    if isinstance(value, int) and isinstance(column.expected, bytes):
        return value.to_bytes(len(column.expected), "big")
    if isinstance(value, str) and isinstance(column.expected, bytes):
        return value.encode("latin1")
    return str(value)


def types(driver, connection):
    for statement in types_statements("types"):
        rows(connection, statement)
    read(driver, connection, "text", connection.cursor)
    if driver.prepared_cursor(connection) is not None:
        read(driver, connection, "prepared", lambda: driver.prepared_cursor(connection))
    names = ", ".join(f"`{column.name}`" for column in driver.columns("reading text"))
    rows(connection, f"PREPARE of_text FROM 'SELECT {names} FROM types WHERE id = ?'")
    rows(connection, "SET @id = 1")
    direct = rows(connection, f"SELECT {names} FROM types WHERE id = 1")
    check(f"{driver.name}: values by EXECUTE", rows(connection, "EXECUTE of_text USING @id"), direct)
    rows(connection, "DEALLOCATE PREPARE of_text")
    connection.commit()


def read(driver, connection, how, new_cursor):
    """Reads all values and all NULLs, and writes back what it got; the server compares that with the literals."""
    own = driver.columns(f"reading {how}")
    query = "SELECT " + ", ".join(f"`{column.name}`" for column in own) + " FROM types WHERE id = %s"
    cursor = new_cursor()
    cursor.execute(query, (1,))
    values = cursor.fetchall()[0]
    for column, value in zip(own, values):
        check(f"{driver.name}: {column.name} by {how}", as_text(column, value), column.expected)
    cursor.execute(query, (2,))
    check(f"{driver.name}: NULL by {how}", set(cursor.fetchall()[0]), {None})
    cursor.close()

    # These are read, but not written.
    bound = {
        column.name: as_text(column, value) if isinstance(value, (set, array.array)) else value
        for column, value in zip(own, values)
    }
    names = [column.name for column in driver.columns(f"writing {how}") if column.name in bound]
    rows(connection, "DELETE FROM types WHERE id = 3")
    listed = ", ".join(f"`{name}`" for name in names)
    cursor = new_cursor()
    insert = f"INSERT INTO types (id, {listed}) VALUES (3{', %s' * len(names)})"
    cursor.execute(insert, [bound[name] for name in names])
    cursor.close()
    same = ", ".join(f"a.`{name}` <=> b.`{name}`" for name in names)
    equal = rows(connection, f"SELECT {same} FROM types a, types b WHERE a.id = 1 AND b.id = 3")[0]
    different = [name for name, one in zip(names, equal) if one != 1]
    check(f"{driver.name}: different when written back by {how}", different, [])


def transactions(driver, connection):
    rows(connection, "DROP TABLE IF EXISTS items")
    rows(connection, "CREATE TABLE items (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(50) UNIQUE, b LONGBLOB)")
    count = "SELECT COUNT(*) FROM items"
    other = driver.connect(autocommit=True)
    rows(connection, "INSERT INTO items (name) VALUES (%s)", ("first",))
    check(f"{driver.name}: not yet seen", rows(other, count), [(0,)])
    connection.commit()
    check(f"{driver.name}: committed", rows(other, count), [(1,)])
    rows(connection, "INSERT INTO items (name) VALUES ('second')")
    rows(connection, "SAVEPOINT here")
    rows(connection, "INSERT INTO items (name) VALUES ('third')")
    rows(connection, "ROLLBACK TO SAVEPOINT here")
    check(f"{driver.name}: back at the savepoint", rows(connection, count), [(2,)])
    rows(connection, "RELEASE SAVEPOINT here")
    connection.rollback()
    check(f"{driver.name}: rolled back", rows(connection, count), [(1,)])
    # In the snapshot of the transaction nothing changes; each READ COMMITTED statement sees what is there.
    for level, seen in (("REPEATABLE READ", 1), ("READ COMMITTED", 2)):
        connection.commit()
        rows(connection, f"SET TRANSACTION ISOLATION LEVEL {level}")
        check(f"{driver.name}: before, {level}", rows(connection, count), [(1,)])
        rows(other, "INSERT INTO items (name) VALUES ('of another')")
        check(f"{driver.name}: after, {level}", rows(connection, count), [(seen,)])
        rows(other, "DELETE FROM items WHERE name = 'of another'")
    connection.commit()
    other.close()


def errors(driver, connection):
    rows(connection, "INSERT IGNORE INTO items (name) VALUES ('first')")
    refused = [
        ("a duplicate key", 1062, "23000", "INSERT INTO items (name) VALUES ('first')"),
        ("a syntax error", 1064, "42000", "SELEC 1"),
        ("a missing table", 1146, "42S02", "SELECT * FROM nowhere"),
        ("a missing column", 1054, "42S22", "SELECT nothing FROM items"),
        ("a division by 0", 1365, "22012", "INSERT INTO items (id) VALUES (1 / 0)"),
    ]
    for what, code, state, query in refused:
        expect_error(driver, what, code, state, lambda: rows(connection, query))
    rows(connection, "DROP PROCEDURE IF EXISTS signals")
    rows(
        connection,
        "CREATE PROCEDURE signals() SIGNAL SQLSTATE '45001' SET MYSQL_ERRNO = 31001, MESSAGE_TEXT = 'of our own: ä'",
    )
    expect_error(driver, "a signal", 31001, "45001", lambda: rows(connection, "CALL signals()"))
    connection.rollback()
    try:
        driver.connect(password="wrong")
    except driver.error as error:
        check(f"{driver.name}: error {driver.code(error)} is of a wrong password", driver.code(error) in driver.refused_password, True)
    expect_error(driver, "an unknown database", 1049, "42000", lambda: driver.connect(database="t_no_such_database"))


def several_results(driver, connection):
    rows(connection, "DROP PROCEDURE IF EXISTS three")
    rows(
        connection,
        "CREATE PROCEDURE three(IN a INT) BEGIN SELECT a; SELECT 'two', NULL; SELECT id FROM items WHERE FALSE; END",
    )
    cursor = connection.cursor()
    sets = driver.call(cursor, "three", (5,))
    cursor.close()
    check(f"{driver.name}: a procedure's results", sets, [((5,),), (("two", None),), ()])
    connection.commit()


def large_rows(driver, connection):
    rows(connection, "INSERT INTO items (name, b) VALUES ('large', %s)", (LARGE,))
    cursors = [("text", connection.cursor())]
    if driver.large_by_prepared and (prepared := driver.prepared_cursor(connection)):
        cursors.append(("prepared", prepared))
    for how, cursor in cursors:
        cursor.execute("SELECT b FROM items WHERE name = %s", ("large",))
        check(f"{driver.name}: 20 MB by {how} are the same", bytes(cursor.fetchall()[0][0]) == LARGE, True)
        cursor.close()
    connection.rollback()
    many = rows(connection, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT i FROM n")
    check(f"{driver.name}: many rows", many, [(number,) for number in range(1, 1001)])


def kill_itself(driver, connection):
    """The statement may fail or not; the one after it must."""
    for query in ("KILL CONNECTION_ID()", "SELECT 1"):
        try:
            rows(connection, query)
        except driver.error:
            continue
        if query == "SELECT 1":
            fail(f"{driver.name}: a killed connection still answers")


def lost_connections(driver):
    """A connection that kills itself is gone, with its transaction; the next one works."""
    connection = driver.connect(autocommit=False)
    rows(connection, "INSERT INTO items (name) VALUES ('lost')")
    kill_itself(driver, connection)
    connection = driver.connect(autocommit=True)
    check(f"{driver.name}: after KILL", rows(connection, "SELECT COUNT(*) FROM items WHERE name = 'lost'"), [(0,)])
    check(f"{driver.name}: its database", rows(connection, "SELECT DATABASE()"), [(DATABASE,)])
    connection.close()


def all_checks(driver):
    connection = driver.connect(autocommit=False)
    types(driver, connection)
    transactions(driver, connection)
    errors(driver, connection)
    several_results(driver, connection)
    large_rows(driver, connection)
    lost_connections(driver)
    connection.close()
