package weir;

import java.sql.SQLException;
import java.util.Arrays;

/** What is wrong ends the program: an exception that says what was asked. */
final class Check {
    private Check() {}

    interface Action {
        void run() throws SQLException;
    }

    static void same(String what, Object got, Object expected) {
        if (!Arrays.deepEquals(new Object[] {got}, new Object[] {expected})) {
            throw new AssertionError(what + ": " + shown(expected) + " expected, got " + shown(got));
        }
    }

    /** Passes if the action fails with this error of the server. */
    static void refused(String what, int code, String state, Action action) {
        try {
            action.run();
        } catch (SQLException error) {
            same(what + ": " + error.getMessage(), error.getErrorCode() + " " + error.getSQLState(), code + " " + state);
            return;
        }
        throw new AssertionError(what + ": error " + code + " expected");
    }

    private static String shown(Object value) {
        String text = Arrays.deepToString(new Object[] {value});
        return text.substring(0, Math.min(text.length(), 500));
    }
}
