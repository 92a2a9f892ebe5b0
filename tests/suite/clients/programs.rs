//! The table of client programs: an entry each.
//!
//! A program lives in `tests/clients`, finds what it needs in the environment (`tests/clients/README.md`), and ends with a message
//! and a status other than 0 at the first wrong answer.

use std::path::PathBuf;
use std::process::Command;

use libtest_mimic::Failed;
use weir_local::Flavor;

use super::tools::{Tools, companion, sources};

/// How Weir asks its clients for their password.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Method {
    CachingSha2,
    Native,
    /// As it does unless it is configured: by the first with MySQL, by the second with MariaDB, if the client has it.
    AsServer,
}

/// What a program is told of TLS by `WEIR_TEST_TLS`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Tls {
    /// `1`: the program chooses; what it checks without TLS it checks again, at least in part, with it.
    Chosen,
    /// `1`: all connections with TLS.
    Always,
    /// `0`: none with TLS.
    Never,
}

/// One way of running a program against Weir.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    pub(super) name: &'static str,
    pub(super) method: Method,
    pub(super) tls: Tls,
}

/// A client program.
pub(super) struct Program {
    pub(super) name: &'static str,
    /// Makes the command, and first what it is built of.
    pub(super) command: fn(&Tools) -> Result<Command, Failed>,
    pub(super) ways: &'static [Way],
    /// The only kind of server that it can log in to by itself, if it can't log in to both. At Weir it meets both.
    only_server: Option<Flavor>,
    /// The only kind of server that it can be used with at all, if it can't with both.
    only_flavor: Option<Flavor>,
}

impl Program {
    /// A program for both kinds of server.
    const fn new(name: &'static str, ways: &'static [Way], command: fn(&Tools) -> Result<Command, Failed>) -> Self {
        Self { name, command, ways, only_server: None, only_flavor: None }
    }

    /// The same, without a run at the other kind of server itself.
    const fn only_at(mut self, flavor: Flavor) -> Self {
        self.only_server = Some(flavor);
        self
    }

    /// The same, without any run with the other kind of server.
    const fn only_for(mut self, flavor: Flavor) -> Self {
        self.only_flavor = Some(flavor);
        self
    }

    /// Whether it can log in to such a server itself.
    pub(super) fn speaks_to(&self, flavor: Flavor) -> bool {
        self.works_with(flavor) && self.only_server.is_none_or(|only| only == flavor)
    }

    /// Whether it can be used with such a server, when Weir is between.
    pub(super) fn works_with(&self, flavor: Flavor) -> bool {
        self.only_flavor.is_none_or(|only| only == flavor)
    }
}

const fn way(name: &'static str, method: Method, tls: Tls) -> Way {
    Way { name, method, tls }
}

/// For programs that choose by themselves when to use TLS.
const CHOOSES: &[Way] =
    &[way("caching_sha2", Method::CachingSha2, Tls::Chosen), way("native", Method::Native, Tls::Chosen)];
/// The same, for clients that don't have `mysql_native_password` any more.
const CHOOSES_WITHOUT_NATIVE: &[Way] =
    &[way("caching_sha2", Method::CachingSha2, Tls::Chosen), way("as_server", Method::AsServer, Tls::Chosen)];
/// For programs that do all they do with TLS, or all without, as they are told.
const TOLD: &[Way] = &[SHA2_TLS, NATIVE_PLAIN];
/// The same, for drivers that have their own ways of sending a password without TLS.
const TOLD_ALL: &[Way] = &[SHA2_TLS, SHA2_PLAIN, NATIVE_PLAIN];
/// The same, for clients that don't have `mysql_native_password` any more.
const TOLD_WITHOUT_NATIVE: &[Way] = &[SHA2_TLS, SHA2_PLAIN];
/// For clients that can use `caching_sha2_password` with MySQL only.
const TOLD_AS_SERVER: &[Way] =
    &[way("as_server_tls", Method::AsServer, Tls::Always), way("as_server_plain", Method::AsServer, Tls::Never)];
const SHA2_TLS: Way = way("caching_sha2_tls", Method::CachingSha2, Tls::Always);
const SHA2_PLAIN: Way = way("caching_sha2_plain", Method::CachingSha2, Tls::Never);
const NATIVE_PLAIN: Way = way("native_plain", Method::Native, Tls::Never);

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[
    Program::new("mariadb_shell", CHOOSES, |_| shell("shell.sh", Flavor::MariaDb, "mariadb")),
    Program::new("mysql_shell", CHOOSES_WITHOUT_NATIVE, |_| shell("shell.sh", Flavor::MySql, "mysql"))
        .only_at(Flavor::MySql),
    Program::new("sysbench", CHOOSES, |_| Ok(Command::new(sources().join("sysbench.sh")))),
    Program::new("pymysql", TOLD_ALL, |tools| tools.python("pymysql_client.py")),
    Program::new("mysqlclient", TOLD, |tools| tools.python("mysqlclient_client.py")),
    Program::new("connector_python", TOLD, |tools| tools.python("connector_client.py")),
    Program::new("sqlalchemy", TOLD, |tools| tools.python("sqlalchemy_client.py")),
    Program::new("django", TOLD, |tools| tools.python("django_client.py")),
    Program::new("wordpress", TOLD, wordpress),
    // MariaDB's dump leaves the values of generated columns in, which MySQL refuses.
    Program::new("mariadb_dump", TOLD, |tools| dump(tools, "mariadb", companion(Flavor::MariaDb, "mariadb-dump")?))
        .only_for(Flavor::MariaDb),
    Program::new("mysqldump", TOLD_WITHOUT_NATIVE, |tools| {
        dump(tools, "mysql", companion(Flavor::MySql, "mysqldump")?)
    })
    .only_at(Flavor::MySql),
    // The distribution's mydumper is too old for MySQL 9.
    Program::new("mydumper", TOLD, |tools| dump(tools, "mydumper", companion(Flavor::MariaDb, "mydumper")?))
        .only_for(Flavor::MariaDb),
    Program::new("go_sql_driver", TOLD_ALL, |tools| tools.go("go_client")),
    Program::new("connector_j", TOLD_AS_SERVER, |tools| tools.java("jdbc_client", "CONNECTOR_J")),
    Program::new("mariadb_connector_j", TOLD_ALL, |tools| tools.java("jdbc_client", "MARIADB")),
    Program::new("mysql2", TOLD_ALL, |tools| tools.node("mysql2_client")),
    Program::new("sqlx", TOLD_ALL, |tools| tools.rust("sqlx_client")),
];

/// WordPress, as `scripts/install-deps --test` has unpacked it.
pub(super) fn wordpress(tools: &Tools) -> Result<Command, Failed> {
    let code = weir_local::cache_dir().join("wordpress/usr/share/wordpress");
    if !code.exists() {
        return Err(format!("WordPress is not in {}: scripts/install-deps --test unpacks it", code.display()).into());
    }
    let mut command = tools.python("wordpress_site.py")?;
    command.env("WORDPRESS", code);
    Ok(command)
}

/// A dump and restore by the programs in the folder of this one.
fn dump(tools: &Tools, kind: &str, program: PathBuf) -> Result<Command, Failed> {
    let folder = program.parent().ok_or("the program is in no folder")?;
    let mut command = tools.python("dump.py")?;
    command.env("CLIENT_KIND", kind).env("CLIENT", folder);
    Ok(command)
}

/// A script that drives a program that comes with a server.
fn shell(script: &str, flavor: Flavor, program: &str) -> Result<Command, Failed> {
    let mut command = Command::new(sources().join(script));
    command.env("CLIENT_KIND", program).env("CLIENT", companion(flavor, program)?);
    Ok(command)
}
