//! What sessions leave on connections, out of a reset's reach or on connections of a statement's own: the next one has nothing of it.

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use weir_local::Flavor;

use crate::Collector;
use crate::driver::{connect, expect_equal};
use crate::lab::{APP, Lab};

/// One connection for all sessions.
const SETTINGS: [(&str, &str); 2] = [("pool.max_connections", "1"), ("workers.threads", "1")];

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    tests.add_for_weir("nobody_sees_what_a_connection_has_recorded_of_others", records_of_others);
}

/// Neither COM_RESET_CONNECTION clears MySQL's traces of the optimizer, nor MariaDB's profiles.
fn records_of_others(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let site = lab.site(flavor)?;
    let ask = ["SHOW PROFILES", "SELECT query FROM information_schema.optimizer_trace"];
    let mut begun = vec!["SET optimizer_trace = 'enabled=on'", "SET profiling = 1"];
    if flavor == Flavor::MariaDb {
        begun.push("SET STATEMENT optimizer_trace = 'enabled=on' FOR SELECT 'secret'");
    }
    lab.with_endpoint(site, &SETTINGS, |endpoint| {
        for begin in &begun {
            for resets in [false, true] {
                let mut session = connect(endpoint.port, APP, None)?;
                for text in [*begin, "SELECT 'secret' FROM information_schema.ENGINES"] {
                    session.query_drop(text)?;
                }
                let mut other = match resets {
                    true => {
                        session.reset()?;
                        session
                    }
                    false => {
                        drop(session);
                        connect(endpoint.port, APP, None)?
                    }
                };
                for question in ask {
                    let rows: Vec<mysql::Row> = other.query(question)?;
                    expect_equal(&format!("{begin}, {question}"), rows.len(), 0)?;
                }
            }
        }
        Ok(())
    })
}
