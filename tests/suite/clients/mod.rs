//! Real clients, unmodified (`tests/clients`): each program checks its own answers, at the server itself and at Weir,
//! by each authentication method, with TLS and without.
//!
//! A program is an entry in [`programs::PROGRAMS`]. What fails at the server itself (`clients::NAME::server`) says nothing
//! about Weir.

mod programs;
mod sharded;
mod tools;

use std::process::{Command, ExitCode};
use std::time::Instant;

use libtest_mimic::Failed;
use weir_local::Flavor;

use crate::Collector;
use crate::lab::{APP, Endpoint, Lab, Site, name_of};
use programs::{Method, Program, Tls, Way};
pub(crate) use tools::{Tools, companion, output_with};

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    sharded::collect(tests);
    let flavor = tests.flavor;
    for (number, program) in programs::PROGRAMS.iter().enumerate() {
        let of_program = |way: &str| format!("clients::{}::{way}", program.name);
        if program.speaks_to(flavor) {
            tests.add(&of_program("server"), move |lab, flavor| {
                at_server(lab, lab.site(flavor)?, &format!("t_client{number}_server"), program)
            });
        }
        for way in program.ways.iter().filter(|_| program.works_with(flavor)) {
            let database = format!("t_client{number}_{}", way.name);
            tests.add_for_weir(&of_program(way.name), move |lab, flavor| {
                at_weir(lab, lab.site(flavor)?, &database, program, way)
            });
        }
    }
}

/// Makes what the programs need, all at once: they are other projects' packages, and wait for each other's downloads and compilers little.
/// A test makes what is missing itself.
pub(crate) fn make() -> ExitCode {
    let tools = match Tools::new() {
        Ok(tools) => tools,
        Err(error) => {
            eprintln!("the clients' folder: {error}");
            return ExitCode::FAILURE;
        }
    };
    let make = |program: &Program| {
        let began = Instant::now();
        let made = (program.command)(&tools).map(drop);
        let seconds = began.elapsed().as_secs();
        match made {
            Ok(()) => println!("{:>5} s  {}", seconds, program.name),
            Err(failed) => println!("{:>5} s  {}: {}", seconds, program.name, failed.message().unwrap_or("failed")),
        }
    };
    std::thread::scope(|scope| {
        for program in programs::PROGRAMS {
            scope.spawn(move || make(program));
        }
    });
    ExitCode::SUCCESS
}

fn at_server(lab: &Lab, site: &Site, database: &str, program: &Program) -> Result<(), Failed> {
    let itself = Endpoint {
        address: site.tcp(),
        port: site.server.port(),
        socket: site.server.socket().to_path_buf(),
        pid: site.server.pid().ok_or("the server has ended")?,
        weir: None,
    };
    // MySQL has TLS from its first start, MariaDB 10.11 only with certificates, which the lab doesn't make.
    run(lab, site, &itself, database, program, site.flavor == Flavor::MySql)
}

fn at_weir(lab: &Lab, site: &Site, database: &str, program: &Program, way: &Way) -> Result<(), Failed> {
    let settings: &[_] = match way.method {
        Method::CachingSha2 => &[("users.app.plugin", "\"caching_sha2_password\"")],
        Method::Native => &[("users.app.plugin", "\"mysql_native_password\"")],
        Method::AsServer => &[],
    };
    lab.with_endpoint(site, settings, |endpoint| run(lab, site, endpoint, database, program, way.tls != Tls::Never))
}

fn run(
    lab: &Lab,
    site: &Site,
    endpoint: &Endpoint,
    database: &str,
    program: &Program,
    tls: bool,
) -> Result<(), Failed> {
    site.fill(database, &["DROP DATABASE IF EXISTS {db}", "CREATE DATABASE {db}"])?;
    passes(lab, endpoint, database, site.flavor, tls, program.name, &(program.command)(&lab.tools)?)?;
    site.fill(database, &["DROP DATABASE {db}"])
}

/// Runs a program in a database that is there.
fn passes(
    lab: &Lab,
    endpoint: &Endpoint,
    database: &str,
    flavor: Flavor,
    tls: bool,
    name: &str,
    program: &Command,
) -> Result<(), Failed> {
    let mut command = ending_with_the_suite(program);
    let said = |yes: bool| if yes { "1" } else { "0" };
    // Weir offers compression by zstd, and so does MySQL; MariaDB 10.11 doesn't.
    let zstd = endpoint.weir.is_some() || flavor == Flavor::MySql;
    command
        .env("WEIR_TEST_HOST", "127.0.0.1")
        .env("WEIR_TEST_PORT", endpoint.port.to_string())
        .env("WEIR_TEST_SOCKET", &endpoint.socket)
        .env("WEIR_TEST_USER", APP.0)
        .env("WEIR_TEST_PASSWORD", APP.1)
        .env("WEIR_TEST_DATABASE", database)
        .env("WEIR_TEST_FLAVOR", name_of(flavor))
        .env("WEIR_TEST_TLS", said(tls))
        .env("WEIR_TEST_ZSTD", said(zstd))
        .env("WEIR_TEST_TYPES", tools::sources().join("types.json"))
        .env("WEIR_TEST_SCRATCH", lab.directory()?);
    let output = tools::output(&mut command).map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let printed = [output.stdout, output.stderr].concat();
    Err(format!("{}\n{}", output.status, String::from_utf8_lossy(&printed)).into())
}

/// The command, ended by the kernel when the thread ends that starts it (util-linux's setpriv).
fn ending_with_the_suite(command: &Command) -> Command {
    let mut wrapped = Command::new("setpriv");
    wrapped.args(["--pdeathsig", "TERM"]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => wrapped.env(name, value),
            None => wrapped.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        wrapped.current_dir(folder);
    }
    wrapped
}
