package weir;

import static weir.Check.refused;
import static weir.Check.same;
import static weir.Queries.run;
import static weir.Queries.value;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** HikariCP: many tasks over few connections, what it resets between them, connections that are killed. */
final class Pools {
    private static final int TASKS = 50;

    private final Driver driver;

    Pools(Driver driver) {
        this.driver = driver;
    }

    private HikariConfig config(int connections) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(driver.url(""));
        config.setUsername(Driver.setting("WEIR_TEST_USER"));
        config.setPassword(Driver.setting("WEIR_TEST_PASSWORD"));
        config.setMaximumPoolSize(connections);
        config.setMinimumIdle(1);
        config.setMaxLifetime(30_000);
        return config;
    }

    void concurrent() throws Exception {
        try (HikariDataSource pool = new HikariDataSource(config(10))) {
            try (Connection connection = pool.getConnection()) {
                run(connection, "DROP TABLE IF EXISTS jdbc_tasks", "CREATE TABLE jdbc_tasks (task INT, round INT)");
            }
            ExecutorService threads = Executors.newFixedThreadPool(TASKS);
            List<Future<?>> tasks = new ArrayList<>();
            for (int task = 0; task < TASKS; task++) {
                int number = task;
                tasks.add(threads.submit(() -> work(pool, number)));
            }
            for (Future<?> task : tasks) {
                task.get();
            }
            threads.shutdown();
            try (Connection connection = pool.getConnection()) {
                same("rows of all tasks", value(connection, "SELECT COUNT(DISTINCT task, round) FROM jdbc_tasks"),
                        String.valueOf(TASKS * 4));
            }
        }
    }

    private static Void work(HikariDataSource pool, int task) throws SQLException {
        for (int round = 0; round < 4; round++) {
            try (Connection connection = pool.getConnection()) {
                connection.setAutoCommit(round % 2 == 0);
                run(connection, "SET @task = " + task);
                same("a task's session", value(connection, "SELECT @task"), String.valueOf(task));
                try (PreparedStatement insert = connection.prepareStatement("INSERT INTO jdbc_tasks VALUES (@task, ?)")) {
                    insert.setInt(1, round);
                    insert.execute();
                }
                if (round % 2 == 1) {
                    connection.commit();
                }
            }
        }
        return null;
    }

    /** What a task changes is as the pool was told to have it when the next one gets the connection. */
    void switches() throws SQLException {
        String database = Driver.setting("WEIR_TEST_DATABASE");
        String second = database + "_b";
        HikariConfig config = config(1);
        config.setTransactionIsolation("TRANSACTION_READ_COMMITTED");
        config.setCatalog(database);
        config.setAutoCommit(false);
        config.setConnectionTestQuery("SELECT 1");
        config.setConnectionInitSql("SET time_zone = '+02:00'");
        try (HikariDataSource pool = new HikariDataSource(config)) {
            String expected = Connection.TRANSACTION_READ_COMMITTED + " false false " + database + " +02:00 0";
            for (int round = 0; round < 3; round++) {
                try (Connection connection = pool.getConnection()) {
                    same("a connection of the pool", state(connection), expected);
                    connection.rollback();
                    run(connection, "CREATE DATABASE IF NOT EXISTS " + second);
                    connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
                    connection.setReadOnly(true);
                    connection.setCatalog(second);
                    connection.setAutoCommit(true);
                    same("a changed connection", state(connection),
                            Connection.TRANSACTION_SERIALIZABLE + " true true " + second + " +02:00 1");
                }
            }
            try (Connection connection = pool.getConnection()) {
                run(connection, "DROP DATABASE " + second);
                connection.rollback();
            }
        }
    }

    /** What the driver believes, and what the server says. */
    private static String state(Connection connection) throws SQLException {
        String said = value(connection, "SELECT CONCAT(DATABASE(), ' ', @@time_zone, ' ', @@autocommit + 0)");
        same("the driver's catalog", said.startsWith(connection.getCatalog() + " "), true);
        return connection.getTransactionIsolation() + " " + connection.isReadOnly() + " " + connection.getAutoCommit() + " " + said;
    }

    /** A connection that is killed is not given to anyone again. */
    void killed() throws Exception {
        try (HikariDataSource pool = new HikariDataSource(config(1)); Connection other = driver.connect("")) {
            Connection killed = pool.getConnection();
            String first = value(killed, "SELECT CONNECTION_ID()");
            run(other, "KILL " + first);
            // The server ends it some time after its answer.
            for (int tries = 0; isAlive(killed); tries++) {
                same("killed", tries < 1000, true);
                Thread.sleep(10);
            }
            try {
                killed.close();
            } catch (SQLException closed) {
                // MariaDB's driver says so, MySQL's doesn't.
            }
            try (Connection connection = pool.getConnection()) {
                same("another connection", value(connection, "SELECT CONNECTION_ID()").equals(first), false);
            }
        }
    }

    private static boolean isAlive(Connection connection) {
        try {
            return connection.isValid(10);
        } catch (SQLException closed) {
            return false;
        }
    }

    void refusedLogins() {
        refused("a wrong password", 1045, "28000", () -> driver.connect(driver.url(""), "wrong").close());
    }
}
