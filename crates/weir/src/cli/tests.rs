//! What a user gets from the command line: output, errors and exit codes.

use clap::CommandFactory;

use super::*;
use crate::config::tests::{MINIMAL, private_file};

/// What a command line gives: exit code, standard output, standard error.
fn weir(args: &[&str]) -> (u8, String, String) {
    let args = std::iter::once("weir").chain(args.iter().copied());
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = run(args.map(OsString::from), &mut out, &mut err);
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (code, text(out), text(err))
}

#[test]
fn the_definition_of_the_command_line_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn a_wrong_command_line_is_a_usage_error_on_standard_error() {
    for (args, expected) in [
        (&[][..], "MySQL middleware"),
        (&["config"], "Check, show or document the configuration"),
        (&["serv"], "weir: unrecognized subcommand 'serv'"),
        (&["serve"], "weir: the following required arguments were not provided"),
        (&["config", "check"], "weir: the following required arguments were not provided"),
        (&["version", "--loud"], "weir: unexpected argument '--loud'"),
        (&["ctl"], "Look at a running Weir"),
        (&["ctl", "staus"], "weir: `staus` is not a command here: expected add, advise, attach, batch"),
        (&["bench"], "Measure Weir"),
        (&["bench", "run", "speed"], "weir: invalid value 'speed' for '<NAME>': unknown bench"),
        (&["bench", "run", "overhead", "--target", "weir,x"], "weir: invalid value 'x' for '--target <NAME,…>'"),
        (
            &["bench", "run", "overhead", "--server", "db:3306"],
            "weir: the following required arguments were not provided",
        ),
    ] {
        let (code, out, err) = weir(args);
        assert_eq!((code, out.as_str()), (USAGE, ""), "{args:?}");
        assert!(err.starts_with(expected), "{args:?}: {err}");
    }
}

#[test]
fn help_and_version_succeed_on_standard_output() {
    for (args, expected) in [
        (&["--help"][..], "Examples:\n  weir config example"),
        (&["serve", "--help"], "WEIR_LOG"),
        (&["--version"], VERSION),
        (&["version"], VERSION),
        (&["config", "example"], "[listen]"),
        (&["config", "docs"], "# Configuration"),
        (&["ctl", "--help"], "weir ctl --dir weir-cluster status"),
        (&["bench", "list"], "overhead"),
        (&["bench", "run", "--help"], "weir bench run overhead --quick"),
    ] {
        let (code, out, err) = weir(args);
        assert_eq!((code, err.as_str()), (SUCCESS, ""), "{args:?}");
        assert!(out.contains(expected), "{args:?}: {out}");
    }
}

#[test]
fn a_valid_file_passes_both_checks() {
    let (_directory, path) = private_file("weir.toml", MINIMAL);
    let path = path.to_str().expect("UTF-8");
    let expected = format!("{path}: the configuration is valid\n");
    for args in [&["config", "check", path][..], &["serve", "--check", "-c", path]] {
        assert_eq!(weir(args), (SUCCESS, expected.clone(), String::new()));
    }
}

#[test]
fn each_problem_of_a_file_is_a_line_of_its_own() {
    let (_directory, path) = private_file("weir.toml", "[pool]\nmax = 1\nidle_timeout = 5\n");
    let path = path.to_str().expect("UTF-8");
    let (code, out, err) = weir(&["config", "check", path]);
    assert_eq!((code, out.as_str()), (FAILURE, ""));
    assert!(err.lines().count() >= 3, "{err}");
    for line in err.lines() {
        assert!(line.starts_with(&format!("weir: {path}: ")), "{line}");
    }
}

#[test]
fn a_file_that_is_not_there_is_a_failure_with_its_name() {
    let (code, _, err) = weir(&["config", "show", "/nonexistent/weir.toml"]);
    assert_eq!(code, FAILURE);
    assert!(err.starts_with("weir: /nonexistent/weir.toml: No such file"), "{err}");
}

#[test]
fn a_closed_pipe_behind_the_output_is_no_failure() {
    struct Closed;
    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut err = Vec::new();
    let args = ["weir", "config", "docs"].map(OsString::from);
    assert_eq!(run(args, &mut Closed, &mut err), SUCCESS);
    assert_eq!(err, b"");
}
