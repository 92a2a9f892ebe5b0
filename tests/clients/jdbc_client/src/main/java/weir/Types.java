package weir;

import static weir.Check.same;
import static weir.Queries.run;

import com.google.gson.Gson;
import com.google.gson.annotations.SerializedName;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Collectors;

/** Each column type of types.json: read by text and by prepared statements, written back through parameters. */
final class Types {
    private static final String TABLE = "jdbc_types";

    private Types() {}

    private static final class Table {
        List<Column> columns;
    }

    /** A column, its value as SQL, and the value that a client must get. */
    private static final class Column {
        String name;
        String type;
        String literal;
        String expected;
        @SerializedName("expected_hex")
        String hex;
        String mariadb;
        String mysql;
        String only;

        /** Whether the server has the type. MySQL's VECTOR breaks MariaDB's driver, and prepared statements of MySQL's. */
        boolean isThere() {
            return (only == null || only.equals(Driver.setting("WEIR_TEST_FLAVOR"))) && !kind().equals("VECTOR");
        }

        String kind() {
            return type.contains("UNSIGNED") ? "UNSIGNED" : type.split("[ (]")[0];
        }

        Object expected() {
            if (hex != null) {
                return HexFormat.of().parseHex(hex);
            }
            String own = Driver.mariaDbServer() ? mariadb : mysql;
            String text = own == null ? expected : own;
            return switch (kind()) {
                case "TINYINT", "BOOL", "SMALLINT", "MEDIUMINT", "INT", "BIGINT", "YEAR" -> Long.valueOf(text);
                case "UNSIGNED" -> new BigInteger(text);
                case "DECIMAL" -> new BigDecimal(text);
                case "FLOAT" -> Float.valueOf(text);
                case "DOUBLE" -> Double.valueOf(text);
                case "DATE" -> LocalDate.parse(text);
                case "DATETIME", "TIMESTAMP" -> LocalDateTime.parse(text.replace(' ', 'T'));
                case "TIME" -> seconds(text);
                default -> text;
            };
        }

        Object read(ResultSet row) throws SQLException {
            Object value = hex != null ? row.getBytes(name) : switch (kind()) {
                case "TINYINT", "BOOL", "SMALLINT", "MEDIUMINT", "INT", "BIGINT", "YEAR" -> row.getLong(name);
                case "UNSIGNED" -> row.getObject(name, BigInteger.class);
                case "DECIMAL" -> row.getBigDecimal(name);
                case "FLOAT" -> row.getFloat(name);
                case "DOUBLE" -> row.getDouble(name);
                case "DATE" -> row.getObject(name, LocalDate.class);
                case "DATETIME", "TIMESTAMP" -> row.getObject(name, LocalDateTime.class);
                case "TIME" -> seconds(row.getString(name));
                default -> row.getString(name);
            };
            return row.wasNull() ? null : value;
        }

        /** A TIME as text, without a fraction of 0, which drivers leave away here and there. */
        private static String seconds(String time) {
            return time == null ? null : time.replaceFirst("\\.0+$", "");
        }
    }

    static void all(Driver driver, Connection connection) throws SQLException, IOException {
        List<Column> columns = new Gson().fromJson(Files.readString(Path.of(Driver.setting("WEIR_TEST_TYPES"))), Table.class)
                .columns.stream().filter(Column::isThere).toList();
        run(connection, "SET time_zone = '+00:00'", "DROP TABLE IF EXISTS " + TABLE,
                "CREATE TABLE " + TABLE + " (id INT PRIMARY KEY, " + list(columns, "`%1$s` %2$s NULL") + ")",
                "INSERT INTO " + TABLE + " VALUES (1, " + list(columns, "%3$s") + ")",
                "INSERT INTO " + TABLE + " (id) VALUES (2)");
        String select = "SELECT * FROM " + TABLE + " WHERE id <= 2 ORDER BY id";
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(select)) {
            check(rows, columns, "a statement");
        }
        try (PreparedStatement statement = connection.prepareStatement(select); ResultSet rows = statement.executeQuery()) {
            check(rows, columns, "a prepared statement");
        }
        write(driver, connection, columns, 1);
        write(driver, connection, columns, 2);
    }

    private static String list(List<Column> columns, String form) {
        return columns.stream().map(column -> String.format(form, column.name, column.type, column.literal))
                .collect(Collectors.joining(", "));
    }

    private static void check(ResultSet rows, List<Column> columns, String how) throws SQLException {
        rows.next();
        for (Column column : columns) {
            same(column.name + " by " + how, column.read(rows), column.expected());
        }
        rows.next();
        for (Column column : columns) {
            same("NULL of " + column.name + " by " + how, column.read(rows), null);
        }
    }

    /**
     * A value as this driver can write it to this kind of server. Connector/J takes a server whose version begins with
     * MariaDB's "5.5.5-" for an old one: it leaves fractions of seconds away, and writes large unsigned numbers as negative
     * ones. MariaDB's driver gives a DATE of a server-side statement a time, which MySQL refuses.
     */
    private static Object parameter(Driver driver, Object value) {
        boolean asText = switch (driver) {
            case CONNECTOR_J -> Driver.mariaDbServer() && (value instanceof LocalDateTime || value instanceof BigInteger);
            case MARIADB -> !Driver.mariaDbServer() && value instanceof LocalDate;
        };
        return asText ? value.toString().replace('T', ' ') : value;
    }

    /** Inserts what is read of a row through parameters; the server compares. */
    private static void write(Driver driver, Connection connection, List<Column> columns, int id) throws SQLException {
        String marks = String.join(", ", Collections.nCopies(columns.size(), "?"));
        String insert = "INSERT INTO " + TABLE + " VALUES (" + (id + 2) + ", " + marks + ")";
        try (Statement select = connection.createStatement();
                PreparedStatement statement = connection.prepareStatement(insert)) {
            try (ResultSet row = select.executeQuery("SELECT * FROM " + TABLE + " WHERE id = " + id)) {
                row.next();
                for (int at = 0; at < columns.size(); at++) {
                    statement.setObject(at + 1, parameter(driver, columns.get(at).read(row)));
                }
            }
            statement.execute();
        }
        String compare = "SELECT " + list(columns, "a.`%1$s` <=> b.`%1$s`") + " FROM " + TABLE + " a, " + TABLE
                + " b WHERE a.id = " + id + " AND b.id = " + (id + 2);
        try (Statement statement = connection.createStatement(); ResultSet agree = statement.executeQuery(compare)) {
            agree.next();
            for (int at = 0; at < columns.size(); at++) {
                same(columns.get(at).name + " as a parameter", agree.getInt(at + 1), 1);
            }
        }
    }
}
