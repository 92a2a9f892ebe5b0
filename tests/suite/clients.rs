//! Real clients, unmodified (`tests/clients`): each program checks its own answers, at the server itself and then at the
//! endpoint, for each authentication method that Weir can offer to them.
//!
//! What the programs need (a virtual environment with PyMySQL, a built Go program) is made once in the target
//! directory; a machine without the tools fails, it does not skip.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use libtest_mimic::Failed;
use weir_local::{Flavor, Installation};

use crate::Collector;
use crate::driver::expect_equal;
use crate::lab::{APP, Endpoint, Lab, Site, Target};

const NATIVE: &[(&str, &str)] = &[("users.app.plugin", "\"mysql_native_password\"")];
const CACHING_SHA2: &[(&str, &str)] = &[("users.app.plugin", "\"caching_sha2_password\"")];

/// A client program.
#[derive(Clone, Copy, PartialEq)]
enum Program {
    PyMysql,
    Go,
    MariaDbShell,
    MySqlShell,
    Sysbench,
}

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    let programs = [
        ("pymysql", Program::PyMysql),
        ("go_sql_driver", Program::Go),
        ("mariadb_shell", Program::MariaDbShell),
        ("mysql_shell", Program::MySqlShell),
        ("sysbench", Program::Sysbench),
    ];
    for (word, program) in programs {
        for (method, settings) in [("caching_sha2", CACHING_SHA2), ("native", NATIVE)] {
            if program == Program::MySqlShell && method == "native" {
                continue; // MySQL 9's own client has no mysql_native_password.
            }
            let short = format!("t_client_{}_{}", word.chars().take(6).collect::<String>(), &method[..1]);
            tests.add(&format!("clients::{word}::{method}"), move |lab: &Lab, flavor| {
                let site = lab.site(flavor)?;
                run_at_both(lab, site, &short, program, settings)
            });
        }
    }
}

/// First at the server itself: what fails there says nothing about the endpoint.
fn run_at_both(
    lab: &Lab,
    site: &Site,
    database: &str,
    program: Program,
    settings: &[(&str, &str)],
) -> Result<(), Failed> {
    site.fill(database, &["DROP DATABASE IF EXISTS {db}", "CREATE DATABASE {db}"])?;
    let shell_without_the_method = program == Program::MySqlShell && site.flavor == Flavor::MariaDb;
    if !shell_without_the_method {
        let itself = Endpoint {
            address: site.tcp(),
            port: site.server.port(),
            socket: site.server.socket().to_path_buf(),
            pid: 0,
            weir: None,
        };
        run(lab, site, &itself, database, program)
            .map_err(|failed| format!("at the server itself: {}", failed.message().unwrap_or("failed")))?;
    }
    if lab.target == Target::Direct {
        return Ok(());
    }
    lab.with_endpoint(site, settings, |endpoint| run(lab, site, endpoint, database, program))
}

fn run(lab: &Lab, site: &Site, endpoint: &Endpoint, database: &str, program: Program) -> Result<(), Failed> {
    let mut command = command(lab, program)?;
    // MySQL has TLS from its first start, MariaDB 10.11 only with certificates, which the lab doesn't make.
    let through_weir = endpoint.weir.is_some();
    let tls = through_weir || site.flavor == Flavor::MySql;
    command
        .env("WEIR_TEST_HOST", "127.0.0.1")
        .env("WEIR_TEST_PORT", endpoint.port.to_string())
        .env("WEIR_TEST_SOCKET", &endpoint.socket)
        .env("WEIR_TEST_USER", APP.0)
        .env("WEIR_TEST_PASSWORD", APP.1)
        .env("WEIR_TEST_DATABASE", database)
        .env("WEIR_TEST_TLS", if tls { "1" } else { "0" })
        .env("WEIR_TEST_ZSTD", if tls { "1" } else { "0" });
    let output = command.output().map_err(|error| format!("{:?}: {error}", command.get_program()))?;
    if output.status.success() {
        return Ok(());
    }
    let printed = [output.stdout, output.stderr].concat();
    Err(format!("{}\n{}", output.status, String::from_utf8_lossy(&printed)).into())
}

/// Where the programs' sources are.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clients")
}

fn command(lab: &Lab, program: Program) -> Result<Command, Failed> {
    let shell = |kind: &str, client: PathBuf| {
        let mut command = Command::new(sources().join("shell.sh"));
        command.env("CLIENT_KIND", kind).env("CLIENT", client);
        command
    };
    Ok(match program {
        Program::PyMysql => {
            let mut command = Command::new(python(&lab.tools)?);
            command.arg(sources().join("pymysql_client.py"));
            command
        }
        Program::Go => Command::new(go_program(&lab.tools)?),
        Program::MariaDbShell => shell("mariadb", companion(Flavor::MariaDb, "mariadb")?),
        Program::MySqlShell => shell("mysql", companion(Flavor::MySql, "mysql")?),
        Program::Sysbench => Command::new(sources().join("sysbench.sh")),
    })
}

fn companion(flavor: Flavor, name: &str) -> Result<PathBuf, Failed> {
    let installation = Installation::find(flavor, None)?;
    installation.companion(name).ok_or_else(|| format!("{flavor} has no {name}").into())
}

/// The directory for what is made once; its lock is held while something is made.
pub(crate) type Tools = Mutex<PathBuf>;

/// In the target directory that this suite was built into.
pub(crate) fn tools() -> std::io::Result<Tools> {
    let suite = std::env::current_exe()?;
    let target = suite.ancestors().nth(3).unwrap_or(Path::new("target"));
    let dir = target.join("test-clients");
    std::fs::create_dir_all(&dir)?;
    Ok(Mutex::new(dir))
}

fn done(what: &str, command: &mut Command) -> Result<(), Failed> {
    let output = command.output().map_err(|error| format!("{what}: {error}"))?;
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    expect_equal(&format!("{what}: {printed}"), output.status.success(), true)
}

/// The Python that has the packages of `requirements.txt`.
fn python(tools: &Tools) -> Result<PathBuf, Failed> {
    let dir = tools.lock().map_err(|_| "another test failed while it made the tools")?;
    let (environment, wanted) = (dir.join("venv"), sources().join("requirements.txt"));
    let (python, installed) = (environment.join("bin/python"), environment.join("requirements.txt"));
    let text = std::fs::read_to_string(&wanted)?;
    if std::fs::read_to_string(&installed).is_ok_and(|there| there == text) {
        return Ok(python);
    }
    done("a virtual environment", Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"];
    done("pip", Command::new(&python).args(pip).arg(&wanted))?;
    std::fs::write(installed, text)?;
    Ok(python)
}

/// The Go program, built (Go's own cache makes this quick when nothing has changed).
fn go_program(tools: &Tools) -> Result<PathBuf, Failed> {
    let dir = tools.lock().map_err(|_| "another test failed while it made the tools")?;
    let program = dir.join("go_client");
    let mut build = Command::new("go");
    build.args(["build", "-o"]).arg(&program).arg(".").current_dir(sources().join("go_client"));
    done("go build", &mut build)?;
    Ok(program)
}
