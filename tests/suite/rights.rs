//! Rights that were given or taken away count: through Weir at once, behind its back soon; on one server and over two shards.
//!
//! Each case makes its user, and says by turns what changes and what a new login then must meet. A statement behind Weir's back is
//! given on the shards themselves.

mod compared;

use std::time::Duration;

use libtest_mimic::Failed;
use mysql::Conn;
use mysql::prelude::Queryable;
use weir_local::{Flavor, Server, wait_for_replica};

use crate::Collector;
use crate::driver::{connect, expect_equal, expect_error, run, server_error, value};
use crate::lab::{APP, Endpoint, Lab, Site, eventually};
use crate::weir::Weir;

/// A generous bound of waiting; what is promised is 2 s.
const BOUND: Duration = Duration::from_secs(60);
const DATABASE: &str = "t_rights";
const USER: (&str, &str) = ("somebody", "a secret");

/// What a new login meets: in this order it logs in, reads, and reads again by a short statement that may ride.
#[derive(Clone, Copy)]
enum Meets {
    /// Rows.
    Rows,
    /// An error at the login or at the statement.
    Error(u16),
    /// The error's code on MariaDB, on MySQL.
    Errors(u16, u16),
}

use Meets::{Error, Errors, Rows};

/// Statements for one kind of server, or both.
struct Turn {
    mariadb: &'static str,
    mysql: &'static str,
    meets: Meets,
}

const fn turn(both: &'static str, meets: Meets) -> Turn {
    Turn { mariadb: both, mysql: both, meets }
}

/// Begins and ends with a user that may read.
const TURNS: [Turn; 21] = [
    turn("CREATE USER somebody@'%' IDENTIFIED BY 'a secret'; GRANT SELECT ON t_rights.* TO somebody@'%'", Rows),
    turn("REVOKE SELECT ON t_rights.* FROM somebody@'%'", Errors(1044, 1044)),
    turn("GRANT SELECT ON t_rights.own TO somebody@'%'", Rows),
    turn("REVOKE SELECT ON t_rights.own FROM somebody@'%'", Error(1044)),
    turn("GRANT SELECT ON *.* TO somebody@'%'", Rows),
    turn("REVOKE SELECT ON *.* FROM somebody@'%'", Error(1044)),
    turn("CREATE ROLE reading; GRANT SELECT ON t_rights.* TO reading; GRANT reading TO somebody@'%'", Error(1044)),
    Turn {
        mariadb: "SET DEFAULT ROLE reading FOR somebody@'%'",
        mysql: "SET DEFAULT ROLE reading TO somebody@'%'",
        meets: Rows,
    },
    turn("REVOKE SELECT ON t_rights.* FROM reading", Error(1044)),
    turn("GRANT SELECT ON t_rights.* TO reading", Rows),
    turn("REVOKE reading FROM somebody@'%'", Error(1044)),
    turn("DROP ROLE reading; GRANT SELECT ON t_rights.* TO somebody@'%'", Rows),
    turn("ALTER USER somebody@'%' ACCOUNT LOCK", Errors(4151, 3118)),
    turn("ALTER USER somebody@'%' ACCOUNT UNLOCK", Rows),
    Turn {
        mariadb: "SET PASSWORD FOR somebody@'%' = PASSWORD('another')",
        mysql: "SET PASSWORD FOR somebody@'%' = 'another'",
        meets: Error(1045),
    },
    turn("ALTER USER somebody@'%' IDENTIFIED BY 'a secret'", Rows),
    turn("ALTER USER somebody@'%' PASSWORD EXPIRE", Error(1862)),
    turn("ALTER USER somebody@'%' IDENTIFIED BY 'a secret'", Rows),
    turn("RENAME USER somebody@'%' TO nobody@'%'", Error(1045)),
    turn("RENAME USER nobody@'%' TO somebody@'%'", Rows),
    turn("DROP USER somebody@'%'", Error(1045)),
];

/// Two shards: the first has a replica, the second one server.
struct Shards {
    first: Site,
    replica: Server,
    second: Site,
}

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    compared::collect(tests);
    tests.add_for_weir("rights::what_is_taken_away_is_gone", |lab: &Lab, flavor| {
        let shards = Shards::start(flavor, lab)?;
        let one = Weir::start_before(&lab.directory()?, &[&shards.first.server, &shards.replica], &[])?;
        lab.judge(Endpoint::of(one), |endpoint| shards.judge(endpoint, &[&shards.first]))?;
        let servers = [("s1", vec![&shards.first.server, &shards.replica]), ("s2", vec![&shards.second.server])];
        let both = Weir::start_shards(&lab.directory()?, &servers, &[])?;
        lab.judge(Endpoint::of(both), |endpoint| shards.judge(endpoint, &[&shards.first, &shards.second]))
    });
}

/// What the user reads.
fn read(port: u16) -> mysql::Result<Option<u64>> {
    let mut session = connect(port, USER, Some(DATABASE))?;
    let read = session.query_first("/*weir: primary */ SELECT a FROM own WHERE a = 5")?;
    for _ in 0..4 {
        run(&mut session, "/*weir: primary */ SELECT a FROM own WHERE a = 5")?;
    }
    Ok(read)
}

impl Shards {
    fn start(flavor: Flavor, lab: &Lab) -> Result<Self, Failed> {
        let parent = lab.directory()?;
        let first = Site::start(flavor, &parent, "s1", &[])?;
        let second = Site::start(flavor, &parent, "s2", &[])?;
        let replica = first.start_replica(&parent, "s1r")?;
        for site in [&first, &second] {
            let table = "CREATE TABLE {db}.own (a INT PRIMARY KEY)";
            let all = format!("GRANT ALL ON *.* TO '{}'@'%' WITH GRANT OPTION", APP.0);
            site.fill(DATABASE, &["CREATE DATABASE {db}", table, "INSERT INTO {db}.own VALUES (5)", &all])?;
        }
        wait_for_replica(&first.server, &replica, BOUND)?;
        Ok(Self { first, replica, second })
    }

    fn judge(&self, endpoint: &Endpoint, sites: &[&Site]) -> Result<(), Failed> {
        let mut admin = connect(endpoint.port, APP, Some(DATABASE))?;
        eventually(BOUND, "the servers answer", || connect(endpoint.port, APP, Some(DATABASE)).is_ok())?;
        for through in [true, false] {
            for (number, turn) in TURNS.iter().enumerate() {
                let text = if self.first.flavor == Flavor::MariaDb { turn.mariadb } else { turn.mysql };
                let what = format!("{number}, through Weir: {through}: {text}");
                for statement in text.split("; ") {
                    if through {
                        admin.query_drop(statement).map_err(|error| format!("{what}: {error}"))?;
                    } else {
                        sites.iter().try_for_each(|site| site.server.execute(statement))?;
                    }
                }
                let meets = || self.meets(endpoint, turn.meets);
                if through {
                    // The next logins, not those some time later; but a replica has what it has been sent.
                    for round in 0..3 {
                        meets().map_err(|error| format!("{what}, login {round}: {error:?}"))?;
                    }
                    // All shards know it, but what is said of a table of the home shard. How a server itself refuses a client is another
                    // matter.
                    let of_home = text.contains("t_rights.own");
                    for site in sites.iter().take(if of_home { 1 } else { sites.len() }) {
                        let there = read(site.server.port());
                        let rows = matches!(turn.meets, Rows);
                        expect_equal(&format!("{what}, on a server: {there:?}"), there.is_ok(), rows)?;
                    }
                    wait_for_replica(&self.first.server, &self.replica, BOUND)?;
                } else {
                    let mut last = String::new();
                    let met = eventually(BOUND, &what, || meets().map_err(|error| last = format!("{error:?}")).is_ok());
                    met.map_err(|error| format!("{error:?}; last: {last}"))?;
                }
            }
        }
        self.demands(endpoint, &mut admin)
    }

    fn meets(&self, endpoint: &Endpoint, meets: Meets) -> Result<(), Failed> {
        let code = match meets {
            Rows => return expect_equal("rows", read(endpoint.port)?, Some(5)),
            Error(code) => code,
            Errors(mariadb, mysql) => {
                if self.first.flavor == Flavor::MariaDb {
                    mariadb
                } else {
                    mysql
                }
            }
        };
        let got = read(endpoint.port);
        expect_equal(&format!("the error in {got:?}"), server_error(&got).map(|(code, _)| code), Some(code))
    }

    /// What an account demands of its clients and Weir's own connections don't show.
    fn demands(&self, endpoint: &Endpoint, admin: &mut Conn) -> Result<(), Failed> {
        let login = || connect(endpoint.port, USER, None);
        admin.query_drop("CREATE USER somebody@'%' IDENTIFIED BY 'a secret'")?;
        let explained = run(&mut login()?, "WEIR EXPLAIN SELECT a FROM t_rights.own WHERE a = 5");
        let code = server_error(&explained).map(|(code, _)| code);
        // Over one shard there is nothing to tell.
        expect_equal(
            &format!("where a row is: {explained:?}"),
            code.is_some_and(|code| [1142, 1235].contains(&code)),
            true,
        )?;
        admin.query_drop("ALTER USER somebody@'%' WITH MAX_USER_CONNECTIONS 2")?;
        let mut two = [login()?, login()?];
        expect_error("the third at a time", &login(), 1226, "42000")?;
        for session in &mut two {
            expect_equal("it works", value(session, "SELECT 1")?, "1".into())?;
        }
        drop(two);
        eventually(BOUND, "one may come when others have gone", || login().is_ok())?;
        admin.query_drop("ALTER USER somebody@'%' WITH MAX_USER_CONNECTIONS 0 MAX_CONNECTIONS_PER_HOUR 3")?;
        for _ in 0..3 {
            login()?;
        }
        expect_error("the fourth in an hour", &login(), 1226, "42000")?;
        let guessed = connect(endpoint.port, (USER.0, "a guess"), None);
        expect_equal("with another password", guessed.is_err(), true)?;
        expect_error("a wrong password begins no new hour", &login(), 1226, "42000")?;
        admin.query_drop("ALTER USER somebody@'%' REQUIRE SSL WITH MAX_CONNECTIONS_PER_HOUR 0")?;
        expect_error("without TLS", &login(), 1045, "28000")?;
        admin.query_drop("ALTER USER somebody@'%' REQUIRE NONE")?;
        login()?;
        admin.query_drop("DROP USER somebody@'%'")?;
        expect_error("nobody", &login(), 1045, "28000")
    }
}
