//! What the client programs need (a virtual environment with drivers, built programs): made once in the target
//! directory, and again when what it is made of has changed. A machine without the tools fails, it does not skip.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use libtest_mimic::Failed;
use weir_local::{Flavor, Installation};

use crate::driver::expect_equal;
use crate::signals;

/// The file in a folder that says of what the folder was made.
const STAMP: &str = ".made-of";

/// Where the programs' sources are.
pub(super) fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clients")
}

/// A program that comes with a server.
pub(crate) fn companion(flavor: Flavor, name: &str) -> Result<PathBuf, Failed> {
    let installation = Installation::find(flavor, None)?;
    installation.companion(name).ok_or_else(|| format!("{flavor} has no {name}").into())
}

/// Runs a program to its end, without input. It can be ended by signals, which the suite itself blocks.
pub(super) fn output(command: &mut Command) -> io::Result<Output> {
    output_with(command, Stdio::null())
}

/// Runs a program to its end with this as its standard input.
pub(crate) fn output_with(command: &mut Command, input: Stdio) -> io::Result<Output> {
    command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
    signals::unblocked(|| command.spawn())?.wait_with_output()
}

/// Runs a step of making something; a failure says what it printed.
pub(super) fn done(what: &str, command: &mut Command) -> Result<(), Failed> {
    let output = output(command).map_err(|error| format!("{what}: {error}"))?;
    let printed = [output.stdout, output.stderr].concat();
    expect_equal(&format!("{what}: {}", String::from_utf8_lossy(&printed)), output.status.success(), true)
}

/// The folder for what is made once.
pub(crate) struct Tools {
    dir: PathBuf,
    /// One lock for each thing, held while it is made.
    making: Mutex<HashMap<String, Arc<Mutex<()>>>>,
}

impl Tools {
    /// In the target directory that this suite was built into.
    pub(crate) fn new() -> io::Result<Self> {
        let suite = std::env::current_exe()?;
        let target = suite.ancestors().nth(3).unwrap_or(Path::new("target"));
        let dir = target.join("test-clients");
        std::fs::create_dir_all(&dir)?;
        Ok(Self { dir, making: Mutex::default() })
    }

    /// The path of `name`, after `make` has made it there. One thread at a time makes one thing.
    pub(super) fn made(&self, name: &str, make: impl FnOnce(&Path) -> Result<(), Failed>) -> Result<PathBuf, Failed> {
        let lock =
            self.making.lock().unwrap_or_else(PoisonError::into_inner).entry(name.to_owned()).or_default().clone();
        let _held = lock.lock().map_err(|_| format!("another test failed while it made {name}"))?;
        let path = self.dir.join(name);
        make(&path)?;
        Ok(path)
    }

    /// The folder `name`, which `make` fills, emptied first, unless it is complete and was made of the same `files`
    /// (relative to the sources).
    pub(super) fn folder(
        &self,
        name: &str,
        files: &[&str],
        make: impl FnOnce(&Path) -> Result<(), Failed>,
    ) -> Result<PathBuf, Failed> {
        let mut wanted = Vec::new();
        for file in files {
            wanted.append(&mut std::fs::read(sources().join(file)).map_err(|error| format!("{file}: {error}"))?);
        }
        self.made(name, |folder| {
            let stamp = folder.join(STAMP);
            if std::fs::read(&stamp).is_ok_and(|there| there == wanted) {
                return Ok(());
            }
            if folder.exists() {
                std::fs::remove_dir_all(folder)?;
            }
            std::fs::create_dir_all(folder)?;
            make(folder)?;
            Ok(std::fs::write(stamp, wanted)?)
        })
    }

    /// A program of the `python` folder, run by the Python that has the packages of `requirements.txt` there.
    pub(super) fn python(&self, script: &str) -> Result<Command, Failed> {
        let environment = self.folder("venv", &["python/requirements.txt"], |folder| {
            done("a virtual environment", Command::new("python3").args(["-m", "venv"]).arg(folder))?;
            let mut pip = Command::new(folder.join("bin/python"));
            pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]);
            done("pip", pip.arg(sources().join("python/requirements.txt")))
        })?;
        let mut command = Command::new(environment.join("bin/python"));
        command.arg(sources().join("python").join(script)).env("PYTHONDONTWRITEBYTECODE", "1");
        Ok(command)
    }

    /// A Go program from its module's folder (Go's own cache makes building it quick when nothing has changed).
    pub(super) fn go(&self, module: &str) -> Result<Command, Failed> {
        let program = self.made(module, |program| {
            let mut build = Command::new("go");
            build.args(["build", "-o"]).arg(program).arg(".").current_dir(sources().join(module));
            done("go build", &mut build)
        })?;
        Ok(Command::new(program))
    }

    /// A Rust program, built in a workspace of its own (Cargo sees whether anything has changed).
    pub(super) fn rust(&self, package: &str) -> Result<Command, Failed> {
        let target = self.made(package, |target| {
            let mut build = Command::new("cargo");
            build.args(["build", "--locked", "--manifest-path"]).arg(sources().join(package).join("Cargo.toml"));
            done("cargo build", build.arg("--target-dir").arg(target))
        })?;
        Ok(Command::new(target.join("debug").join(package)))
    }

    /// A program for Node.js with the packages of its `package-lock.json`.
    pub(super) fn node(&self, name: &str) -> Result<Command, Failed> {
        let files = ["package.json", "package-lock.json"];
        let paths = files.map(|file| format!("{name}/{file}"));
        let folder = self.folder(name, &paths.each_ref().map(String::as_str), |folder| {
            for file in files {
                std::fs::copy(sources().join(name).join(file), folder.join(file))?;
            }
            let mut npm = Command::new("npm");
            npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(folder);
            done("npm ci", &mut npm)
        })?;
        let mut command = Command::new("node");
        command.arg(sources().join(name).join("main.js")).env("NODE_PATH", folder.join("node_modules"));
        Ok(command)
    }

    /// A Java program (the class `weir.Main`), built by Maven, with this argument.
    pub(super) fn java(&self, project: &str, argument: &str) -> Result<Command, Failed> {
        let files = files_in(project)?;
        let folder = self.folder(project, &files.iter().map(String::as_str).collect::<Vec<_>>(), |folder| {
            let mut maven = Command::new("mvn");
            maven.args(["--quiet", "--batch-mode", "compile", "--file"]).arg(sources().join(project).join("pom.xml"));
            done("mvn compile", maven.arg(format!("-Dmade={}", folder.display())))
        })?;
        let mut command = Command::new("java");
        command
            .args(["-Xmx1g", "-XX:+UseSerialGC"])
            .arg("-classpath")
            .arg(format!("{0}/classes:{0}/lib/*", folder.display()))
            .args(["weir.Main", argument]);
        Ok(command)
    }
}

/// All files of a folder among the sources, relative to them, in order.
fn files_in(folder: &str) -> std::io::Result<Vec<String>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(sources().join(folder))? {
        let entry = entry?;
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        match entry.file_type()?.is_dir() {
            true => files.append(&mut files_in(&path)?),
            false => files.push(path),
        }
    }
    files.sort();
    Ok(files)
}
