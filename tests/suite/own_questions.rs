//! What Weir asks on a session's connection for its own use (what the latest statement has left there) is answered under the
//! session's settings, of which some change or hide answers. The session must not notice.

use libtest_mimic::Failed;
use weir_local::Flavor;

use crate::Collector;
use crate::compare::{self, Pair};
use crate::lab::{APP, Lab};
use crate::login::Login;
use crate::script::{self, for_flavor};

/// One connection for two sessions: each statement of one takes it from the other.
const SETTINGS: [(&str, &str); 2] = [("pool.max_connections", "1"), ("workers.threads", "1")];

/// Variables, and values that matter to whoever reads an answer.
const HOSTILE: [&str; 19] = [
    "sql_select_limit = 0",
    "sql_select_limit = 1",
    "character_set_results = ucs2",
    "character_set_results = utf16",
    "character_set_results = utf32",
    "character_set_results = NULL",
    "character_set_results = binary",
    "collation_connection = utf16_general_ci",
    "max_error_count = 1",
    "sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES,HIGH_NOT_PRECEDENCE,IGNORE_SPACE'",
    "sql_big_selects = 0",
    "max_join_size = 1",
    "big_tables = 1",
    "sql_safe_updates = 1",
    "sql_warnings = 1",
    "sql_notes = 0",
    "mariadb|sql_mode = 'ORACLE'",
    "mariadb|optimizer_switch = 'derived_merge=off'",
    // Last: what MariaDB says of warnings in a later login is what this one has left.
    "max_error_count = 0",
];

/// Behind each, another session has the connection.
const STEPS: [&str; 17] = [
    "INSERT INTO log (who) VALUES (7)",
    "SET {name} = {value}",
    "SET {name} = DEFAULT",
    "SELECT LAST_INSERT_ID()",
    "SET {name} = {value}",
    "INSERT INTO log (who) VALUES (8)",
    "SET {name} = DEFAULT",
    "INSERT INTO log (who) SELECT 9",
    "SELECT LAST_INSERT_ID()",
    "SELECT SQL_CALC_FOUND_ROWS id FROM shared LIMIT 2",
    "SET {name} = {value}",
    "SELECT SQL_CALC_FOUND_ROWS 1 FROM shared LIMIT 3",
    "SET {name} = DEFAULT",
    "SELECT FOUND_ROWS()",
    "SET {name} = {value}",
    "INSERT IGNORE INTO log (id, who) VALUES (1, 9)",
    "SHOW WARNINGS",
];

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    tests.add("questions_of_weirs_own_are_answered_under_any_settings", under_any_settings);
}

fn under_any_settings(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let site = lab.site(flavor)?;
    lab.with_endpoint(site, &SETTINGS, |endpoint| {
        let sides = compare::sides(site, endpoint, &format!("{}own", compare::letter(flavor)));
        let mut differences = Vec::new();
        for setting in HOSTILE.iter().filter_map(|setting| for_flavor(setting, flavor)) {
            compare::fill(site, &sides, &script::content())?;
            let (name, value) = setting.split_once(" = ").ok_or("a setting has a name and a value")?;
            let login = Login::new(APP.0, APP.1);
            let [mut session, mut other] = [(); 2].map(|()| Pair::new(&sides, &login, false).decoded());
            for (at, step) in STEPS.iter().enumerate() {
                let step = step.replace("{name}", name).replace("{value}", value);
                let ran = session.run(&step).and_then(|()| other.run("SELECT 'other'"));
                if let Err(difference) = ran {
                    differences.push(format!("{setting}, step {at}\n{difference}"));
                    break;
                }
            }
        }
        if differences.is_empty() { Ok(()) } else { Err(differences.join("\n").into()) }
    })
}
