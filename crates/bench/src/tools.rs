//! The load tools: where they are, and what they call themselves.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Folders with programs: `PATH`, and where an ordinary user's `PATH` does not look.
pub(crate) fn folders() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect();
    folders.extend(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    folders
}

/// The first of these programs that is installed.
pub(crate) fn find(names: &[&str]) -> Option<PathBuf> {
    let in_folder = |folder: PathBuf| names.iter().map(move |name| folder.join(name)).find(|program| program.is_file());
    folders().into_iter().find_map(in_folder)
}

/// sysbench.
pub(crate) fn sysbench() -> Option<PathBuf> {
    find(&["sysbench"])
}

/// MariaDB's or MySQL's load emulation client.
pub(crate) fn slap() -> Option<PathBuf> {
    find(&["mariadb-slap"]).or_else(|| find(&["mysqlslap"]))
}

/// The first line that a program prints when asked for its version; `unknown` if it can't be asked.
pub(crate) fn version(program: &Path) -> String {
    // HAProxy takes -v only, and the others take --version only.
    let flag = if program.ends_with("haproxy") { "-v" } else { "--version" };
    let output = Command::new(program).arg(flag).stdin(Stdio::null()).output();
    let first_line = |output: std::process::Output| {
        let printed = [output.stdout, output.stderr].concat();
        String::from_utf8_lossy(&printed).lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
    };
    output.ok().and_then(first_line).unwrap_or_else(|| "unknown".to_owned())
}
