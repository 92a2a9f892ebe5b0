//! SQL as `root` over a server's unix socket.
//!
//! Each call opens a connection of its own (tenths of a millisecond on a socket): nothing is stale after a restart,
//! and nothing of a session leaks from one call to the next.

use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder, Row, Value};

use crate::{Flavor, LocalError, Server};

/// How long one statement may take before the connection is given up.
const STATEMENT_BOUND: Duration = Duration::from_secs(300);

impl Server {
    /// A connection as `root`; each of its reads and writes may take up to 300 s.
    pub fn admin(&self) -> Result<Conn, LocalError> {
        self.admin_within(STATEMENT_BOUND).map_err(|error| LocalError::sql(self.name(), error))
    }

    /// A connection as `root` whose reads and writes may each take up to `bound`.
    pub(crate) fn admin_within(&self, bound: Duration) -> Result<Conn, mysql::Error> {
        let options = OptsBuilder::new()
            .socket(Some(self.socket().to_string_lossy()))
            .user(Some("root"))
            .read_timeout(Some(bound))
            .write_timeout(Some(bound));
        Conn::new(options)
    }

    /// Runs one statement as `root`, without its result.
    pub fn execute(&self, sql: &str) -> Result<(), LocalError> {
        self.admin()?.query_drop(sql).map_err(|error| LocalError::sql(self.name(), error))
    }

    /// Runs one query as `root`: its rows, each value as the server's text for it (other bytes than UTF-8 replaced),
    /// `None` for NULL. The whole result is kept in memory.
    pub fn query(&self, sql: &str) -> Result<Vec<Vec<Option<String>>>, LocalError> {
        let mut connection = self.admin()?;
        let rows: Vec<Row> = connection.query(sql).map_err(|error| LocalError::sql(self.name(), error))?;
        Ok(rows
            .into_iter()
            .map(|row| row.unwrap_raw().into_iter().map(|value| value.and_then(text)).collect())
            .collect())
    }

    /// The first value of the first row of a query; `None` for NULL and for no row.
    pub fn query_value(&self, sql: &str) -> Result<Option<String>, LocalError> {
        Ok(self.query(sql)?.into_iter().next().and_then(|row| row.into_iter().next().flatten()))
    }

    /// Makes the account `name`@`%` have this password and these grants, whether or not it was there before.
    ///
    /// A grant is what stands between GRANT and TO: `SELECT ON shop.*`. `plugin` is the authentication plugin, the
    /// server's default if `None`; MariaDB's `ed25519` is loaded if need be.
    pub fn create_user(
        &self,
        name: &str,
        password: &str,
        grants: &[&str],
        plugin: Option<&str>,
    ) -> Result<(), LocalError> {
        let account = format!("{}@'%'", quoted(name));
        let identified = match (self.installation().flavor(), plugin) {
            (_, None) => format!("IDENTIFIED BY {}", quoted(password)),
            (Flavor::MySql, Some(plugin)) => format!("IDENTIFIED WITH {} BY {}", quoted(plugin), quoted(password)),
            (Flavor::MariaDb, Some(plugin)) => {
                self.load_auth_plugin(plugin)?;
                format!("IDENTIFIED VIA {plugin} USING PASSWORD({})", quoted(password))
            }
        };
        self.execute(&format!("CREATE USER IF NOT EXISTS {account} {identified}"))?;
        self.execute(&format!("ALTER USER {account} {identified}"))?;
        for grant in grants {
            self.execute(&format!("GRANT {grant} TO {account}"))?;
        }
        Ok(())
    }

    fn load_auth_plugin(&self, plugin: &str) -> Result<(), LocalError> {
        crate::layout::check_name(plugin)?;
        let known = format!("SELECT 1 FROM information_schema.plugins WHERE plugin_name = {}", quoted(plugin));
        if self.query_value(&known)?.is_some() {
            return Ok(());
        }
        self.execute(&format!("INSTALL SONAME 'auth_{plugin}'"))
    }
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::NULL => None,
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        other => Some(other.as_sql(true)), // Not in the text protocol.
    }
}

/// A string literal in the default sql_mode.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn quotes_and_backslashes_stay_inside_a_literal() {
        assert_eq!(super::quoted(r"a'b\'c"), r"'a''b\\''c'");
    }
}
