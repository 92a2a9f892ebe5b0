//! The same statements directly and through the endpoint: every field of every answer must agree.
//!
//! The statements are in `tests/same/*.steps`, one step per line in the language of [`crate::step`], run as text and
//! again as prepared statements.

use libtest_mimic::Failed;
use weir_local::Flavor;

use crate::Collector;
use crate::compare::{self, Pair, Side};
use crate::lab::{APP, Endpoint, Lab, Site};
use crate::login::{self, Login, Opening, caps};
use crate::reply::Set;
use crate::script;
use crate::step::HABITS;

/// After this many differences a file is given up.
const ENOUGH: usize = 12;

const FILES: &[(&str, &str)] = &[
    ("numeric", include_str!("../same/numeric.steps")),
    ("temporal", include_str!("../same/temporal.steps")),
    ("strings", include_str!("../same/strings.steps")),
    ("charsets", include_str!("../same/charsets.steps")),
    ("results", include_str!("../same/results.steps")),
    ("writes", include_str!("../same/writes.steps")),
    ("errors", include_str!("../same/errors.steps")),
    ("several", include_str!("../same/several.steps")),
    ("cursors", include_str!("../same/cursors.steps")),
    ("show", include_str!("../same/show.steps")),
    ("ddl", include_str!("../same/ddl.steps")),
    ("session", include_str!("../same/session.steps")),
    ("large", include_str!("../same/large.steps")),
];

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    for (index, (word, steps)) in FILES.iter().enumerate() {
        for binary in [false, true] {
            let way = if binary { "binary" } else { "text" };
            tests.add(&format!("same::{word}::{way}"), move |lab, flavor| {
                let short = format!("{}s{index}{}", compare::letter(flavor), &way[..1]);
                compare_file(lab, flavor, &short, steps, binary)
            });
        }
    }
    for binary in [false, true] {
        let way = if binary { "binary" } else { "text" };
        tests.add(&format!("same::bodies::{way}"), move |lab, flavor| bodies(lab, flavor, binary));
    }
    tests.add("same::by_unix_socket", by_unix_socket);
    tests.add("same::greeting", same_greeting);
    tests.add("same::refused_logins", refused_logins);
    tests.add("same::found_rows_and_other_habits_of_drivers", habits);
    tests.add("same::collations_that_drivers_ask_for", collations);
    tests.add("same::what_holds_for_one_statement_only", for_one_statement);
    tests.add("same::a_database_that_the_server_does_not_tell_of", untold_database);
}

fn compare_file(lab: &Lab, flavor: Flavor, short: &str, steps: &'static str, binary: bool) -> Result<(), Failed> {
    let site = lab.site(flavor)?;
    lab.with_endpoint(site, &[], |endpoint| {
        let sides = compare::sides(site, endpoint, short);
        compare_steps(site, &sides, &Login::new(APP.0, APP.1), steps, binary)
    })
}

fn compare_steps(site: &Site, sides: &[Side; 2], login: &Login, steps: &str, binary: bool) -> Result<(), Failed> {
    compare::fill(site, sides, &script::content())?;
    let mut pair = Pair::new(sides, login, binary);
    let differences: Vec<String> =
        script::steps(steps, site.flavor).into_iter().filter_map(|step| pair.run(step).err()).take(ENOUGH).collect();
    if differences.is_empty() { Ok(()) } else { Err(differences.join("\n").into()) }
}

/// Unix sockets at both ends.
fn by_unix_socket(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let site = lab.site(flavor)?;
    lab.with_endpoint(site, &[], |endpoint| {
        let mut sides = compare::sides(site, endpoint, &format!("{}sock", compare::letter(flavor)));
        sides[0].address = site.socket();
        sides[1].address = crate::client::Address::Socket(endpoint.socket.clone());
        let steps = "SELECT 1\nSELECT DATABASE()\nINSERT INTO log (who) VALUES (5)\nSELECT LAST_INSERT_ID()";
        compare_steps(site, &sides, &Login::new(APP.0, APP.1), steps, false)
    })
}

/// All that a routine can send, packet by packet, to clients with and without EOF packets and tracked session state.
fn bodies(lab: &Lab, flavor: Flavor, binary: bool) -> Result<(), Failed> {
    let site = lab.site(flavor)?;
    lab.with_endpoint(site, &[], |endpoint| {
        let name = format!("{}bodies{}", compare::letter(flavor), if binary { "b" } else { "t" });
        let sides = compare::sides(site, endpoint, &name);
        for capabilities in [0, caps::DEPRECATE_EOF, caps::SESSION_TRACK, caps::DEPRECATE_EOF | caps::SESSION_TRACK] {
            let login = Login { capabilities: caps::BASE | capabilities, ..Login::new(APP.0, APP.1) };
            let steps = concat!(include_str!("../same/bodies.steps"), "\n", include_str!("../same/flags.steps"));
            compare_steps(site, &sides, &login, steps, binary).map_err(|failed| {
                format!("capabilities {capabilities:#x}\n{}", failed.message().unwrap_or_default())
            })?;
        }
        Ok(())
    })
}

/// A session that has the server not tell of its database leaves no other session in it.
fn untold_database(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let site = lab.site(flavor)?;
    // One connection, which the next session gets.
    lab.with_endpoint(site, &[("pool.max_connections", "1")], |endpoint| {
        let sides = compare::sides(site, endpoint, &format!("{}untold", compare::letter(flavor)));
        for change in
            ["!init {db}2", "USE {db}2", "SELECT 1; USE {db}2; SELECT DATABASE()", "SELECT 1; USE {db}2; USE nowhere"]
        {
            let steps = format!("SELECT 1\nSET session_track_schema = OFF\n{change}\nSHOW WARNINGS\nSELECT DATABASE()");
            let login = Login::new(APP.0, APP.1);
            compare_steps(site, &sides, &login, &steps, false)?;
            let steps = "SELECT DATABASE()\nSELECT * FROM shared";
            let mut next = Pair::new(&sides, &login, false);
            steps
                .lines()
                .try_for_each(|step| next.run(step))
                .map_err(|difference| format!("{change}\n{difference}"))?;
        }
        Ok(())
    })
}

/// Each way in which drivers log in, on the statements whose answers depend on it.
fn habits(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let steps = "UPDATE shared SET v = v\nUPDATE shared SET v = 1 WHERE id < 4\nSELECT COUNT (*) FROM shared\n\
        SELECT @@sql_mode, @@wait_timeout = @@interactive_timeout\nINSERT INTO log (who) VALUES (1)\nBEGIN\n\
        INSERT INTO words VALUES (1, 'a', 'b') ON DUPLICATE KEY UPDATE id = 1\nROLLBACK\nSELECT 1; SELECT 2\n\
        SET NAMES latin1\nUSE {db}2\nSELECT * FROM shared\nSET autocommit = 0\nSET autocommit = 1";
    // What MariaDB says at the end of these rows tells some of the sessions less than others, and binds none of them.
    let returning = "INSERT INTO log (who) VALUES (2) RETURNING who\nDELETE FROM log RETURNING who\n";
    let steps = format!("{}{steps}", if flavor == Flavor::MariaDb { returning } else { "" });
    let site = lab.site(flavor)?;
    // One connection, so that sessions of different habits meet on it.
    lab.with_endpoint(site, &[("pool.max_connections", "1")], |endpoint| {
        let sides = compare::sides(site, endpoint, &format!("{}habits", compare::letter(flavor)));
        compare::fill(site, &sides, &script::content())?;
        let mut pairs: Vec<Pair> = HABITS
            .iter()
            .map(|&capabilities| Pair::new(&sides, &Login { capabilities, ..Login::new(APP.0, APP.1) }, false))
            .collect();
        for step in steps.split('\n').filter(|step| !["BEGIN", "ROLLBACK", "SET autocommit = 0"].contains(step)) {
            for (pair, capabilities) in pairs.iter_mut().zip(HABITS) {
                pair.run(step).map_err(|difference| format!("capabilities {capabilities:#x}\n{difference}"))?;
            }
        }
        for (mut pair, capabilities) in pairs.into_iter().zip(HABITS) {
            for step in steps.split('\n') {
                pair.run(step).map_err(|difference| format!("capabilities {capabilities:#x}\n{difference}"))?;
            }
        }
        Ok(())
    })
}

/// Collations that drivers ask for when they log in: a character set's default on one kind of server or both (255 is one that
/// MariaDB doesn't have), and others.
const COLLATIONS: [u8; 9] = [8, 33, 45, 46, 47, 63, 83, 224, 255];

/// Each collation that drivers ask for, in sessions that meet on one connection.
fn collations(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let steps = "SELECT 'a', COLLATION('a'), w FROM words WHERE id = 1\nSELECT @@character_set_client, \
        @@character_set_connection, @@character_set_results, @@collation_connection\nSET sql_mode = 'ANSI'\n\
        SET character_set_results = NULL\nSELECT 'a', w FROM words WHERE id = 1\nSET NAMES utf8mb4\nSELECT 'a'";
    let site = lab.site(flavor)?;
    lab.with_endpoint(site, &[("pool.max_connections", "1")], |endpoint| {
        let sides = compare::sides(site, endpoint, &format!("{}coll", compare::letter(flavor)));
        compare::fill(site, &sides, &script::content())?;
        let login = |collation| Login { collation, ..Login::new(APP.0, APP.1) };
        let mut pairs = COLLATIONS.map(|collation| (collation, Pair::new(&sides, &login(collation), false)));
        for step in steps.split('\n') {
            for (collation, pair) in &mut pairs {
                pair.run(step).map_err(|difference| format!("collation {collation}\n{difference}"))?;
            }
        }
        Ok(())
    })
}

/// What a statement sets for itself does not go with its session to another connection, nor to another session: MariaDB reports it as if
/// it stayed.
fn for_one_statement(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let settings = "SELECT @@innodb_lock_wait_timeout, @@lock_wait_timeout, @@sql_mode";
    let locked = "SELECT COUNT(*) FROM shared FOR UPDATE";
    let steps = [
        "SET lock_wait_timeout = 70",
        // MySQL does not report a storage engine's variable: the session stays where it is.
        "mariadb|SET innodb_lock_wait_timeout = 7",
        &format!("{locked} NOWAIT"),
        settings,
        &format!("mariadb|{locked} WAIT 3"),
        settings,
        "mariadb|ALTER TABLE words WAIT 4 COMMENT 'x'",
        settings,
        "mariadb|SET STATEMENT sql_mode = 'ANSI', lock_wait_timeout = 5 FOR SELECT 1",
        settings,
        "SET lock_wait_timeout = 71",
        settings,
    ];
    let texts_of_several = [
        &format!("BEGIN; {locked} NOWAIT; COMMIT"),
        settings,
        &format!("SET innodb_lock_wait_timeout = 9; {locked} NOWAIT"),
        settings,
    ];
    let site = lab.site(flavor)?;
    lab.with_endpoint(site, &[("pool.max_connections", "1")], |endpoint| {
        let sides = compare::sides(site, endpoint, &format!("{}scoped", compare::letter(flavor)));
        compare::fill(site, &sides, &script::content())?;
        let pair = |capabilities| Pair::new(&sides, &Login { capabilities, ..Login::new(APP.0, APP.1) }, false);
        let mut pairs: Vec<Pair> = HABITS.iter().map(|&capabilities| pair(capabilities)).collect();
        for step in steps.iter().filter_map(|step| script::for_flavor(step, flavor)) {
            for (pair, capabilities) in pairs.iter_mut().zip(HABITS) {
                pair.run(step).map_err(|difference| format!("capabilities {capabilities:#x}\n{difference}"))?;
            }
        }
        // These may bind their session to its connection.
        for (mut pair, capabilities) in pairs.into_iter().zip(HABITS) {
            for step in texts_of_several {
                pair.run(step).map_err(|difference| format!("capabilities {capabilities:#x}\n{difference}"))?;
            }
        }
        Ok(())
    })
}

/// What can't be the same in a greeting: TLS, compression and the extensions that Weir doesn't have. All that the
/// suite's own sessions and common drivers use must be offered if the server offers it.
const MUST_BE_OFFERED: u32 = 0x01ff_f7ff;

fn same_greeting(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let site = lab.site(flavor)?;
    lab.with_endpoint(site, &[], |endpoint| {
        let greeting = |address| match login::open(address, &Login::new(APP.0, APP.1)) {
            Ok((_, Opening::Done(greeting, ..))) => Ok(greeting),
            Ok((_, Opening::Refused(why))) => Err(Failed::from(format!("{why:?}"))),
            Err(error) => Err(error.into()),
        };
        let (server, tested) = (greeting(&site.tcp())?, greeting(&endpoint.address)?);
        let numbers = |version: &str| version.split(['-', ' ']).next().unwrap_or("").to_owned();
        if numbers(&server.version) != numbers(&tested.version) {
            return Err(format!("version {} for {}", tested.version, server.version).into());
        }
        if server.version.contains("MariaDB") != tested.version.contains("MariaDB") {
            return Err(format!("version {} for {}", tested.version, server.version).into());
        }
        // Drivers choose how to log in, and what they can, by the version and the method together.
        if (server.collation, server.status, &server.plugin) != (tested.collation, tested.status, &tested.plugin) {
            return Err(format!("{tested:?} for {server:?}").into());
        }
        let missing = server.capabilities & MUST_BE_OFFERED & !tested.capabilities;
        if missing != 0 {
            return Err(format!("the server offers {missing:#x} too, the endpoint doesn't").into());
        }
        Ok(())
    })
}

/// Logins that must fail, and the error that each must give.
fn refused_logins(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let site = lab.site(flavor)?;
    let app = || Login::new(APP.0, APP.1);
    let cases = [
        ("wrong password", Login::new(APP.0, "wrong")),
        ("no password", Login::new(APP.0, "")),
        ("a password where there is none", Login::new("open", "some")),
        ("no such user", Login::new("nobody_known", "secret")),
        ("no such user, no password", Login::new("nobody_known", "")),
        ("no such database", app().database("t_no_such_database")),
        ("another's database", app().database("mysql")),
    ];
    lab.with_endpoint(site, &[], |endpoint| {
        for (what, login) in cases {
            let expected = refusal(site, &login, None)?;
            let got = refusal(site, &login, Some(endpoint))?;
            if expected != got {
                return Err(format!("{what}: the server says {expected:?}, the endpoint {got:?}").into());
            }
        }
        Ok(())
    })
}

/// Code, SQLSTATE and message of a refused login by unix socket; the site's own if there is no endpoint.
fn refusal(site: &Site, login: &Login, endpoint: Option<&Endpoint>) -> Result<(u16, String, String), Failed> {
    let address = endpoint.map_or(site.socket(), |endpoint| crate::client::Address::Socket(endpoint.socket.clone()));
    match login::open(&address, login)?.1 {
        Opening::Refused(Set::Error(code, state, message)) => {
            // Weir's clients by socket reach the server by TCP: the server may know another host name for them.
            let message = String::from_utf8_lossy(&message).replace("'127.0.0.1'", "'localhost'");
            Ok((code, state, message))
        }
        Opening::Refused(other) => Err(format!("refused with {other:?}").into()),
        Opening::Done(..) => Err(format!("{login:?} was let in").into()),
    }
}
