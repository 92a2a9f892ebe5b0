package weir;

import static weir.Check.refused;
import static weir.Check.same;

import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.Arrays;

/** Prepared statements, batches, transactions, several results, large rows, errors. */
final class Queries {
    private static final int BLOB = 20_000_000;

    private final Driver driver;
    private final Connection connection;

    Queries(Driver driver, Connection connection) {
        this.driver = driver;
        this.connection = connection;
    }

    static void run(Connection connection, String... texts) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String text : texts) {
                statement.execute(text);
            }
        }
    }

    /** The only value of a query, as text. */
    static String value(Connection connection, String query) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(query)) {
            same("a row of " + query, rows.next(), true);
            return rows.getString(1);
        }
    }

    private static String count(Connection connection) throws SQLException {
        return value(connection, "SELECT COUNT(*) FROM jdbc_items");
    }

    void prepared() throws SQLException {
        run(connection, "DROP TABLE IF EXISTS jdbc_items",
                "CREATE TABLE jdbc_items (id INT AUTO_INCREMENT PRIMARY KEY, v BIGINT, b LONGBLOB)");
        String insert = "INSERT INTO jdbc_items (v) VALUES (?)";
        try (PreparedStatement statement = connection.prepareStatement(insert, Statement.RETURN_GENERATED_KEYS)) {
            for (int value = 0; value < 100; value++) {
                statement.setLong(1, value);
                same("insert", statement.executeUpdate(), 1);
                try (ResultSet keys = statement.getGeneratedKeys()) {
                    keys.next();
                    same("generated key", keys.getInt(1), value + 1);
                }
            }
        }
        // No *: Connector/J keeps a server-side statement's columns.
        try (PreparedStatement statement = connection.prepareStatement("SELECT v, id FROM jdbc_items WHERE id = ?")) {
            statement.setInt(1, 7);
            same("before DDL", row(statement), "6 7");
            run(connection, "ALTER TABLE jdbc_items ADD COLUMN name VARCHAR(20) DEFAULT 'new' AFTER id, MODIFY v INT");
            same("after DDL", row(statement), "6 7");
        }
        try (PreparedStatement all = connection.prepareStatement("SELECT name FROM jdbc_items WHERE v = ?")) {
            for (int round = 0; round < 100; round++) {
                all.setLong(1, round);
                try (ResultSet rows = all.executeQuery()) {
                    rows.next();
                    same("the new column", rows.getString(1), "new");
                }
            }
        }
    }

    private static String row(PreparedStatement statement) throws SQLException {
        try (ResultSet rows = statement.executeQuery()) {
            rows.next();
            return rows.getString(1) + " " + rows.getString(2);
        }
    }

    void batches() throws SQLException {
        String insert = "INSERT INTO jdbc_items (v, name) VALUES (?, ?)";
        try (PreparedStatement statement = connection.prepareStatement(insert)) {
            for (int value = 100; value < 200; value++) {
                statement.setLong(1, value);
                statement.setString(2, value % 2 == 0 ? null : "it's " + value);
                statement.addBatch();
            }
            same("results of a batch", statement.executeBatch().length, 100);
        }
        same("rows of a batch", value(connection, "SELECT CONCAT(COUNT(*), ' ', SUM(name IS NULL), ' ', MAX(name)) "
                + "FROM jdbc_items WHERE v >= 100"), "100 50 it's 199");
        try (PreparedStatement statement = connection.prepareStatement("UPDATE jdbc_items SET v = v + ? WHERE id = ?")) {
            for (int id = 1; id <= 5; id++) {
                statement.setInt(1, 1000);
                statement.setInt(2, id);
                statement.addBatch();
            }
            statement.executeBatch();
        }
        same("rows of a batch of updates", value(connection, "SELECT COUNT(*) FROM jdbc_items WHERE v >= 1000"), "5");
    }

    void transactions() throws SQLException {
        try (Connection other = driver.connect("")) {
            connection.setAutoCommit(false);
            run(connection, "DELETE FROM jdbc_items WHERE id <= 10");
            same("seen inside, not outside", count(connection) + " " + count(other), "190 200");
            Savepoint savepoint = connection.setSavepoint("here");
            run(connection, "DELETE FROM jdbc_items");
            connection.rollback(savepoint);
            same("after the savepoint", count(connection), "190");
            connection.commit();
            same("committed", count(other), "190");
            run(connection, "DELETE FROM jdbc_items");
            connection.rollback();
            same("rolled back", count(connection), "190");
            connection.rollback();
            isolation(other, Connection.TRANSACTION_REPEATABLE_READ, "190");
            isolation(other, Connection.TRANSACTION_READ_COMMITTED, "191");
            connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            run(connection, "SET TRANSACTION READ ONLY");
            refused("a write in a read-only transaction", 1792, "25006", () -> run(connection, "DELETE FROM jdbc_items"));
            connection.rollback();
            if (driver == Driver.CONNECTOR_J) {
                // MariaDB's driver does nothing with a read-only connection.
                connection.setReadOnly(true);
                refused("a write of a read-only connection", 0, "S1009", () -> run(connection, "DELETE FROM jdbc_items"));
                if (!Driver.mariaDbServer()) {
                    // A server that calls itself 5.5.5 is not told.
                    same("what the server says", value(connection, "SELECT @@transaction_read_only"), "1");
                }
                connection.setReadOnly(false);
            }
            connection.setAutoCommit(true);
            run(connection, "UPDATE jdbc_items SET v = v + 1 WHERE id = 11");
        }
    }

    private void isolation(Connection other, int level, String seen) throws SQLException {
        connection.setTransactionIsolation(level);
        same("isolation", connection.getTransactionIsolation(), level);
        same("before the other's insert", count(connection), "190");
        run(other, "INSERT INTO jdbc_items (id) VALUES (1)");
        same("isolation " + level, count(connection), seen);
        connection.rollback();
        run(other, "DELETE FROM jdbc_items WHERE id = 1");
    }

    void procedures() throws SQLException {
        run(connection, "DROP PROCEDURE IF EXISTS jdbc_both", "CREATE PROCEDURE jdbc_both(IN a INT, OUT b INT) "
                + "BEGIN SELECT a; SET b = a + 1; SELECT a + 2 UNION ALL SELECT a + 3; END");
        try (CallableStatement call = connection.prepareCall("{CALL jdbc_both(?, ?)}")) {
            for (int round = 0; round < 3; round++) {
                call.setInt(1, round);
                call.registerOutParameter(2, java.sql.Types.INTEGER);
                boolean rows = call.execute();
                StringBuilder shape = new StringBuilder();
                for (; rows; rows = call.getMoreResults()) {
                    try (ResultSet result = call.getResultSet()) {
                        while (result.next()) {
                            shape.append(result.getInt(1) - round).append(' ');
                        }
                    }
                    shape.append("end ");
                }
                same("a procedure's results", shape.toString(), "0 end 2 3 end ");
                same("its OUT parameter", call.getInt(2), round + 1);
            }
        }
    }

    static void severalStatements(Driver driver) throws SQLException {
        try (Connection connection = driver.connect("allowMultiQueries=true");
                Statement statement = connection.createStatement()) {
            same("rows first", statement.execute("SELECT 1; UPDATE jdbc_items SET v = 7 WHERE id = 12; SELECT 2"), true);
            same("then a count", statement.getMoreResults(), false);
            same("of 1", statement.getUpdateCount(), 1);
            same("then rows", statement.getMoreResults(), true);
            try (ResultSet rows = statement.getResultSet()) {
                rows.next();
                same("the last result", rows.getInt(1), 2);
            }
        }
    }

    /** Rows that the driver fetches as they are read, whatever its way; another statement after them. */
    void streams() throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.setFetchSize(driver == Driver.CONNECTOR_J ? Integer.MIN_VALUE : 10);
            int seen = 0;
            String query = "SELECT a.id, REPEAT('x', 100) FROM jdbc_items a, jdbc_items b WHERE b.id <= 20";
            try (ResultSet rows = statement.executeQuery(query)) {
                while (rows.next()) {
                    seen += rows.getString(2).length();
                }
            }
            same("streamed", seen, 190 * 10 * 100);
        }
        try (PreparedStatement statement = connection.prepareStatement("SELECT id FROM jdbc_items WHERE id > ? ORDER BY id")) {
            statement.setInt(1, 50);
            try (ResultSet rows = statement.executeQuery()) {
                rows.next();
                same("the first of them", rows.getInt(1), 51);
            }
        }
        same("after a result that was not read to its end", value(connection, "SELECT 'next'"), "next");
    }

    void errors() throws SQLException {
        Object[][] wrong = {
            {"INSERT INTO jdbc_items (id) VALUES (11)", 1062, "23000"},
            {"SELEC 1", 1064, "42000"},
            {"SELECT * FROM jdbc_nowhere", 1146, "42S02"},
        };
        for (Object[] each : wrong) {
            String text = (String) each[0];
            refused(text, (int) each[1], (String) each[2], () -> run(connection, text));
            refused(text, (int) each[1], (String) each[2], () -> {
                try (PreparedStatement statement = connection.prepareStatement(text)) {
                    statement.execute();
                }
            });
        }
        same("still there", connection.isValid(10), true);
    }

    static void large(Driver driver) throws SQLException {
        byte[] blob = new byte[BLOB];
        for (int at = 0; at < BLOB; at++) {
            blob[at] = (byte) (at % 251);
        }
        for (String way : new String[] {"", "useServerPrepStmts=true"}) {
            try (Connection connection = driver.connect(way)) {
                try (PreparedStatement insert = connection.prepareStatement("INSERT INTO jdbc_items (id, b) VALUES (1000, ?)")) {
                    insert.setBytes(1, blob);
                    insert.execute();
                }
                try (PreparedStatement select = connection.prepareStatement("SELECT b FROM jdbc_items WHERE id = ?")) {
                    select.setInt(1, 1000);
                    try (ResultSet rows = select.executeQuery()) {
                        rows.next();
                        same("a blob of 20 MB there and back " + way, Arrays.equals(rows.getBytes(1), blob), true);
                    }
                }
                run(connection, "DELETE FROM jdbc_items WHERE id = 1000");
            }
        }
    }
}
