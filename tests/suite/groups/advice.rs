//! `WEIR ADVISE`: what it says can be done, and helps.

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use weir_local::Server;

use crate::driver::{connect, expect_equal};
use crate::lab::{APP, Endpoint};

/// The advice of one server: settings and statements.
fn of_server(endpoint: &Endpoint, server: &str) -> Result<Vec<(String, String)>, Failed> {
    let mut admin = connect(endpoint.port, APP, None)?;
    let rows: Vec<mysql::Row> = admin.query("WEIR ADVISE main")?;
    let word = |row: &mysql::Row, column: &str| row.get::<Option<String>, _>(column).flatten().unwrap_or_default();
    let own = rows.iter().filter(|row| word(row, "server") == server);
    Ok(own.map(|row| (word(row, "setting"), word(row, "statement"))).collect())
}

/// Runs the statements of all advice where they are for, after which there is none.
pub(super) fn follow<'a>(
    endpoint: &Endpoint,
    servers: impl Iterator<Item = (&'a str, &'a Server)>,
    among: &str,
) -> Result<(), Failed> {
    for (name, server) in servers {
        let advice = of_server(endpoint, name)?;
        let named = advice.iter().any(|(setting, _)| setting == among);
        expect_equal(&format!("{name}: {among} is among {advice:?}"), named, true)?;
        let mut root = server.admin()?;
        for (setting, statement) in &advice {
            for part in statement.split("; ") {
                root.query_drop(part).map_err(|error| format!("{name}: {setting}: {part}: {error}"))?;
            }
        }
        expect_equal(&format!("{name}: what is left"), of_server(endpoint, name)?, Vec::new())?;
    }
    Ok(())
}
