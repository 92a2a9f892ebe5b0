package weir;

import java.sql.Connection;
import java.util.List;
import java.util.TimeZone;

/**
 * A JDBC driver (the argument: CONNECTOR_J or MARIADB) and HikariCP, unmodified: statements, server-side and client-side
 * preparing, batches, column types, transactions, several results, large rows, cursors, errors, the pool and its
 * switches. All with TLS or all without, as it is told. Checks its answers itself; a wrong one ends the program with a
 * message.
 */
public final class Main {
    private Main() {}

    public static void main(String[] arguments) {
        TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
        // Else HikariCP takes a connection that was used a moment ago for alive.
        System.setProperty("com.zaxxer.hikari.aliveBypassWindowMs", "-1");
        try {
            run(Driver.valueOf(arguments[0]));
        } catch (Throwable wrong) {
            System.err.print("jdbc_client: ");
            wrong.printStackTrace();
            System.exit(1);
        }
        System.exit(0);
    }

    private static void run(Driver driver) throws Exception {
        for (String way : ways(driver)) {
            try (Connection connection = driver.connect(way)) {
                Queries queries = new Queries(driver, connection);
                queries.prepared();
                queries.batches();
                queries.transactions();
                queries.procedures();
                queries.streams();
                queries.errors();
                Types.all(driver, connection);
            } catch (Throwable wrong) {
                throw new AssertionError("with " + way, wrong);
            }
        }
        Queries.severalStatements(driver);
        Queries.large(driver);
        Pools pools = new Pools(driver);
        pools.concurrent();
        pools.switches();
        pools.killed();
        pools.refusedLogins();
    }

    /** The parameters that change how a driver speaks. */
    private static List<String> ways(Driver driver) {
        String cached = "useServerPrepStmts=true&cachePrepStmts=true&rewriteBatchedStatements=true";
        return switch (driver) {
            case CONNECTOR_J -> List.of("", cached, "useCursorFetch=true&defaultFetchSize=7&useLocalSessionState=true",
                    "useCompression=true&cacheServerConfiguration=true&useAffectedRows=true");
            case MARIADB -> List.of("", "useServerPrepStmts=true&useBulkStmts=true", "useServerPrepStmts=true&defaultFetchSize=7",
                    "rewriteBatchedStatements=true&useCompression=true");
        };
    }
}
