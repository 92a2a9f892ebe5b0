//! Data directories ready to start: initialised once per server version and user, then copied.
//!
//! Initialising takes seconds, a copy tenths of a second. A template in the cache folder is either absent or complete
//! (it is made under another name and renamed), is never changed afterwards, and is made by one process at a time.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::unistd::geteuid;

use crate::layout::{ServerFiles, copy_target, make_private_dir, remove_if_there};
use crate::server::{Server, ServerSpec};
use crate::tool::run_logged;
use crate::wait::{Cancel, wait_until};
use crate::{Flavor, Installation, LocalError, cache_dir};

/// Part of a template's name: raise it when what goes into one changes.
const FORMAT: u32 = 1;
const INITIALISE_BOUND: Duration = Duration::from_secs(180);
const COPY_BOUND: Duration = Duration::from_secs(120);

/// Makes `data` a fresh data directory: a copy of the template, which is made first where there is none.
///
/// An interrupted copy leaves no `data` behind.
pub(crate) fn copy_to(installation: &Installation, data: &Path, cancel: &Cancel) -> Result<(), LocalError> {
    let template = ensure(installation, cancel)?;
    let partial = copy_target(data);
    remove_dir_if_there(&partial)?;
    let mut arguments = ["-a", "--sparse=always", "--reflink=auto", "--"].map(OsString::from).to_vec();
    arguments.extend([template.into(), partial.clone().into()]);
    let output = data.with_extension("copy.log");
    run_logged(Path::new("cp"), &arguments, &output, COPY_BOUND, cancel)?;
    remove_if_there(&output)?;
    fs::rename(&partial, data).map_err(LocalError::io("create", data))
}

/// The template's data directory.
fn ensure(installation: &Installation, cancel: &Cancel) -> Result<PathBuf, LocalError> {
    let templates = cache_dir().join("templates");
    fs::create_dir_all(&templates).map_err(LocalError::io("create", &templates))?;
    let flavor = installation.flavor().to_string().to_lowercase();
    let version: String =
        installation.version().text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '.' }).collect();
    let name = format!("{flavor}-{version}-u{}-f{FORMAT}", geteuid());
    let finished = templates.join(&name);
    if finished.is_dir() {
        return Ok(finished);
    }
    let _lock = lock(&templates.join(format!("{name}.lock")), cancel)?;
    if !finished.is_dir() {
        let prefix = format!("{name}.making-");
        remove_abandoned(&templates, &prefix);
        make(installation, &templates.join(format!("{prefix}{}", std::process::id())), &finished, cancel)?;
    }
    Ok(finished)
}

/// Removes what killed makers left. Best effort: a helper of theirs may still be at work there, in its last moments,
/// which is why each maker has a place of its own.
fn remove_abandoned(templates: &Path, prefix: &str) {
    for entry in fs::read_dir(templates).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            let _left_for_the_next = fs::remove_dir_all(entry.path());
        }
    }
}

fn make(installation: &Installation, workspace: &Path, finished: &Path, cancel: &Cancel) -> Result<(), LocalError> {
    remove_dir_if_there(workspace)?;
    make_private_dir(workspace)?;
    let files = ServerFiles::new(workspace, "template")?;
    files.prepare()?;
    let made = initialise(installation, &files, cancel).and_then(|()| first_start(installation, workspace, cancel));
    let made = made.and_then(|()| {
        remove_if_there(&files.data().join("auto.cnf"))?; // MySQL's server_uuid: each copy makes its own.
        fs::rename(files.data(), finished).map_err(LocalError::io("create", finished))
    });
    files.remove_socket_dir();
    // What stays after a failure is removed by the next attempt.
    let _left_for_the_next = fs::remove_dir_all(workspace);
    made
}

fn initialise(installation: &Installation, files: &ServerFiles, cancel: &Cancel) -> Result<(), LocalError> {
    let (program, arguments) = match installation.flavor() {
        Flavor::MySql => {
            files.write_options(installation, 1, &[])?;
            let own = files.option_file_argument();
            let rest = ["--initialize-insecure", "--skip-log-bin", "--log-error=stderr"].map(str::to_owned);
            (installation.binary().to_path_buf(), [vec![own], rest.to_vec()].concat())
        }
        Flavor::MariaDb => {
            let script = installation.companion("mariadb-install-db").ok_or_else(|| LocalError::Unusable {
                binary: installation.binary().into(),
                reason: "its mariadb-install-db is missing".to_owned(),
            })?;
            (script, install_db_arguments(installation, files))
        }
    };
    let arguments: Vec<OsString> = arguments.into_iter().map(OsString::from).collect();
    run_logged(&program, &arguments, &files.dir().join("initialise.log"), INITIALISE_BOUND, cancel)
}

fn install_db_arguments(installation: &Installation, files: &ServerFiles) -> Vec<String> {
    let fixed =
        ["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db", "--innodb-log-file-size=32M"];
    let mut arguments = fixed.map(str::to_owned).to_vec();
    arguments.push(format!("--datadir={}", files.data().display()));
    for (_, base) in installation.base_options().into_iter().filter(|(option, _)| *option == "basedir") {
        arguments.push(format!("--basedir={}", base.display()));
    }
    if geteuid().is_root() {
        arguments.push("--user=root".to_owned());
    }
    arguments
}

/// Starts the new server once: what a first start makes (keys, undo and redo files of the wanted size) is made here,
/// and accounts that could be used over TCP without a password are dropped.
fn first_start(installation: &Installation, workspace: &Path, cancel: &Cancel) -> Result<(), LocalError> {
    let spec = ServerSpec {
        options: vec!["skip-log-bin".to_owned(), "skip-networking=ON".to_owned()],
        die_with_parent: true,
        cancel: cancel.clone(),
        ..ServerSpec::new("template")
    };
    let mut server = Server::prepare(installation, workspace, &spec)?;
    server.launch_on_data()?;
    server.wait_ready()?;
    let remote_roots = "SELECT host FROM mysql.user WHERE user = 'root' AND host <> 'localhost'";
    for host in server.query(remote_roots)?.into_iter().flatten().flatten() {
        server.execute(&format!("DROP USER 'root'@{}", crate::admin::quoted(&host)))?;
    }
    server.stop()
}

/// Waits for an exclusive lock on a file, which is made if it is not there; the lock ends with the value.
fn lock(path: &Path, cancel: &Cancel) -> Result<Flock<File>, LocalError> {
    let taken = wait_until(INITIALISE_BOUND * 2, cancel, || try_lock(path))?;
    taken.ok_or_else(|| LocalError::Busy { dir: path.to_path_buf() })
}

/// An exclusive lock on a file, which is made if it is not there; `None` while another process has it.
pub(crate) fn try_lock(path: &Path) -> Result<Option<Flock<File>>, LocalError> {
    let file = crate::process::open_log(path)?;
    match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(lock) => Ok(Some(lock)),
        Err((_, Errno::EWOULDBLOCK | Errno::EINTR)) => Ok(None),
        Err((_, errno)) => Err(LocalError::Io { action: "lock", path: path.to_path_buf(), source: errno.into() }),
    }
}

pub(crate) fn remove_dir_if_there(path: &Path) -> Result<(), LocalError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(LocalError::io("remove", path)),
    }
}
