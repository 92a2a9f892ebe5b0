package weir;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Objects;
import java.util.Properties;

/** A JDBC driver, and how its users write the URLs of the endpoint that the environment names. */
enum Driver {
    /** MySQL's: without TLS it asks for the server's public key only if it may. */
    CONNECTOR_J("jdbc:mysql", "sslMode=REQUIRED", "sslMode=DISABLED&allowPublicKeyRetrieval=true"),
    /** MariaDB's. */
    MARIADB("jdbc:mariadb", "sslMode=trust", "sslMode=disable&allowPublicKeyRetrieval=true");

    private final String scheme;
    private final String security;

    Driver(String scheme, String withTls, String without) {
        this.scheme = scheme;
        this.security = setting("WEIR_TEST_TLS").equals("1") ? withTls : without;
    }

    static String setting(String name) {
        return Objects.requireNonNull(System.getenv(name), name);
    }

    static boolean mariaDbServer() {
        return setting("WEIR_TEST_FLAVOR").equals("mariadb");
    }

    String url(String parameters) {
        String more = parameters.isEmpty() ? "" : "&" + parameters;
        return scheme + "://" + setting("WEIR_TEST_HOST") + ":" + setting("WEIR_TEST_PORT") + "/"
                + setting("WEIR_TEST_DATABASE") + "?" + security + more;
    }

    Connection connect(String parameters) throws SQLException {
        return connect(url(parameters), setting("WEIR_TEST_PASSWORD"));
    }

    Connection connect(String url, String password) throws SQLException {
        Properties account = new Properties();
        account.put("user", setting("WEIR_TEST_USER"));
        account.put("password", password);
        return DriverManager.getConnection(url, account);
    }
}
