//! Where a server keeps its files, and the option file that it runs with.
//!
//! Everything of a server is in one directory of mode 0700: data, temporary files, logs, option file, pid file and
//! socket. The socket moves to a short private directory when its path would not fit into `sockaddr_un`.

use std::fmt::Write as _;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

use crate::process::CommandMark;
use crate::{Flavor, Installation, LocalError};

/// `sun_path` has 108 bytes (unix(7)); MariaDB keeps some of them for itself.
const LONGEST_SOCKET_PATH: usize = 99;

/// The paths of one server.
#[derive(Debug, Clone)]
pub struct ServerFiles {
    dir: PathBuf,
    socket: PathBuf,
}

impl ServerFiles {
    /// The paths of the server `name` below `parent`; makes nothing.
    ///
    /// Errors: a path or a name that can't be written into an option file.
    pub fn new(parent: &Path, name: &str) -> Result<Self, LocalError> {
        check_name(name)?;
        let dir = std::path::absolute(parent).map_err(LocalError::io("resolve", parent))?.join(name);
        check_path(&dir)?;
        let socket = short_socket_path(&dir, "sock");
        Ok(Self { dir, socket })
    }

    /// The server's own directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The data directory.
    pub fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    /// The unix socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// The option file; with it alone the server can be started by hand.
    pub fn option_file(&self) -> PathBuf {
        self.dir.join("my.cnf")
    }

    /// The error log, with all that the process printed.
    pub fn error_log(&self) -> PathBuf {
        self.dir.join("error.log")
    }

    /// The server's pid file.
    pub fn pid_file(&self) -> PathBuf {
        self.dir.join("pid")
    }

    /// Programs that the server finds before those of the system, if the folder is there.
    pub(crate) fn programs(&self) -> PathBuf {
        self.dir.join("bin")
    }

    fn temporary(&self) -> PathBuf {
        self.dir.join("tmp")
    }

    fn exchange(&self) -> PathBuf {
        self.dir.join("files")
    }

    /// There while the server is to be read-only, also after a restart.
    fn read_only_marker(&self) -> PathBuf {
        self.dir.join("read-only")
    }

    /// The command line by which a server of this directory is recognised, however it was started.
    pub fn mark(&self, installation: &Installation) -> CommandMark {
        self.mark_of_program(installation.binary())
    }

    pub(crate) fn mark_of_program(&self, binary: &Path) -> CommandMark {
        let own_name = binary.file_name().map(|name| name.to_string_lossy().into_owned());
        let mut programs: Vec<String> = own_name.into_iter().collect();
        programs.extend(["mariadbd".to_owned(), "mysqld".to_owned()]);
        CommandMark { programs, words: vec![self.option_file_argument()] }
    }

    /// The command line of the copy that makes the data directory.
    pub(crate) fn copy_mark(&self) -> CommandMark {
        let target = copy_target(&self.data()).display().to_string();
        CommandMark { programs: vec!["cp".to_owned()], words: vec![target] }
    }

    pub(crate) fn option_file_argument(&self) -> String {
        format!("--defaults-file={}", self.option_file().display())
    }

    /// Makes the directories that a server needs before it starts, but for the data directory, and removes what a killed
    /// one left: MySQL refuses a socket whose lock file names a pid that lives, whoever has that pid by now.
    pub(crate) fn prepare(&self) -> Result<(), LocalError> {
        make_private_dir(&self.dir)?;
        make_private_dir(&self.temporary())?;
        make_private_dir(&self.exchange())?;
        let socket_dir = self.socket.parent().expect("an absolute file path has a parent");
        make_private_dir(socket_dir)?;
        let leftovers = [self.pid_file(), self.socket.clone(), self.socket.with_extension("lock")];
        leftovers.iter().try_for_each(|file| remove_if_there(file))
    }

    /// Removes the socket's directory where it is not below the server's own; the server must be gone.
    pub(crate) fn remove_socket_dir(&self) {
        remove_short_socket_dir(&self.dir, &self.socket);
    }

    /// Whether the server is to be read-only.
    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only_marker().exists()
    }

    /// Remembers, for later starts too, whether the server is read-only.
    pub(crate) fn set_read_only(&self, on: bool) -> Result<(), LocalError> {
        let marker = self.read_only_marker();
        if on { write_private(&marker, "") } else { remove_if_there(&marker) }
    }

    /// Writes the option file. `extra` comes last, so that it overrides the rest.
    pub(crate) fn write_options(
        &self,
        installation: &Installation,
        port: u16,
        extra: &[String],
    ) -> Result<(), LocalError> {
        if let Some(bad) = extra.iter().find(|option| option.is_empty() || option.contains(['\n', '\r'])) {
            return Err(LocalError::BadName(bad.clone()));
        }
        let mut text = format!(
            "# Written by Weir at each start of this server. By hand, when it is not running:\n#   {} {}\n[mysqld]\n",
            installation.binary().display(),
            self.option_file_argument()
        );
        self.render_paths(&mut text, installation);
        let _infallible = writeln!(text, "port={port}\nserver-id={port}\nreport-port={port}");
        if installation.flavor() == Flavor::MariaDb {
            // A Galera node tells the others `AUTO` otherwise. Servers that are none do not look at it.
            let _infallible = writeln!(text, "loose-wsrep-node-incoming-address=127.0.0.1:{port}");
        }
        text.push_str(COMMON_OPTIONS);
        text.push_str(match installation.flavor() {
            Flavor::MariaDb => MARIADB_OPTIONS,
            Flavor::MySql => MYSQL_OPTIONS,
        });
        if geteuid().is_root() {
            text.push_str("user=root\n");
        }
        if self.is_read_only() {
            text.push_str("read-only=ON\n");
            if installation.flavor() == Flavor::MySql {
                text.push_str("super-read-only=ON\n");
            }
        }
        for option in extra {
            text.push_str(option);
            text.push('\n');
        }
        write_private(&self.option_file(), &text)
    }

    fn render_paths(&self, text: &mut String, installation: &Installation) {
        let own = [
            ("datadir", self.data()),
            ("socket", self.socket.clone()),
            ("pid-file", self.pid_file()),
            ("log-error", self.error_log()),
            ("tmpdir", self.temporary()),
            ("secure-file-priv", self.exchange()),
        ];
        for (option, path) in installation.base_options().into_iter().chain(own) {
            let _infallible = writeln!(text, "{option}=\"{}\"", path.display());
        }
    }
}

/// Loopback only; a binary log with GTIDs, so that any server can have replicas; little memory. Whoever may make functions and triggers
/// may make all of them: without the option servers with a binary log want SUPER for it (1419), and rows are logged, not statements.
const COMMON_OPTIONS: &str = "\
bind-address=127.0.0.1
report-host=127.0.0.1
skip-name-resolve=ON
log-bin=binlog
log-bin-trust-function-creators=ON
relay-log=relay
max-connections=500
innodb-buffer-pool-size=64M
innodb-log-buffer-size=4M
table-open-cache=400
";

/// The character set is said because the program's own default is latin1 without a distribution's option files.
const MARIADB_OPTIONS: &str = "\
performance-schema=OFF
binlog-format=ROW
log-slave-updates=ON
gtid-strict-mode=ON
innodb-log-file-size=32M
character-set-server=utf8mb4
";

/// The performance schema without anything measured, which costs 17 MB instead of 140: `data_lock_waits` is there with it only, and that is how
/// Weir sees deadlocks over several shards. Native asynchronous requests are the kernel's: each server takes 2,305 of the 65,536 that all of
/// a machine's containers share (`fs.aio-max-nr`), and does not start where they are used up.
const MYSQL_OPTIONS: &str = "\
gtid-mode=ON
enforce-gtid-consistency=ON
innodb-redo-log-capacity=64M
innodb-use-native-aio=OFF
mysqlx=OFF
performance-schema=ON
performance-schema-instrument='%=OFF'
performance-schema-max-table-instances=0
performance-schema-max-table-handles=0
performance-schema-max-digest-sample-age=0
performance-schema-digests-size=0
performance-schema-events-statements-history-long-size=0
performance-schema-events-statements-history-size=0
performance-schema-events-stages-history-long-size=0
performance-schema-events-stages-history-size=0
performance-schema-events-waits-history-long-size=0
performance-schema-events-waits-history-size=0
performance-schema-events-transactions-history-long-size=0
performance-schema-events-transactions-history-size=0
performance-schema-error-size=0
performance-schema-max-mutex-instances=0
performance-schema-max-cond-instances=0
performance-schema-max-rwlock-instances=0
performance-schema-max-file-instances=0
performance-schema-max-statement-classes=0
performance-schema-max-prepared-statements-instances=0
performance-schema-max-program-instances=0
performance-schema-max-metadata-locks=0
performance-schema-max-index-stat=0
performance-schema-max-sql-text-length=0
performance-schema-max-digest-length=0
performance-schema-session-connect-attrs-size=0
performance-schema-setup-actors-size=1
performance-schema-setup-objects-size=1
performance-schema-accounts-size=0
performance-schema-hosts-size=0
performance-schema-users-size=0
";

/// A path for a unix socket called `file` that belongs to `dir`: in it, or, where that would be too long for a socket,
/// in a short directory of the system's temporary folder, always the same for the same `dir`.
pub fn short_socket_path(dir: &Path, file: &str) -> PathBuf {
    let inside = dir.join(file);
    if inside.as_os_str().len() <= LONGEST_SOCKET_PATH {
        return inside;
    }
    let short_dir = format!("weir-{}-{:016x}", geteuid(), fnv1a(dir.as_os_str().as_encoded_bytes()));
    let beside = std::env::temp_dir().join(&short_dir).join(file);
    if beside.as_os_str().len() <= LONGEST_SOCKET_PATH {
        return beside;
    }
    Path::new("/tmp").join(short_dir).join(file)
}

/// Removes the short directory of a socket that belongs to `dir`, if it has one.
pub(crate) fn remove_short_socket_dir(dir: &Path, socket: &Path) {
    if let Some(socket_dir) = socket.parent().filter(|socket_dir| *socket_dir != dir) {
        // Best effort: what remains is an empty private directory that the next start uses again.
        let _absent = fs::remove_file(socket);
        let _absent = fs::remove_file(socket.with_extension("lock"));
        let _in_use = fs::remove_dir(socket_dir);
    }
}

/// FNV-1a, 64 bits: a name that stays the same between runs and versions.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

pub(crate) fn check_name(name: &str) -> Result<(), LocalError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.len() <= 64 && name.chars().all(plain) {
        return Ok(());
    }
    Err(LocalError::BadName(name.to_owned()))
}

fn check_path(path: &Path) -> Result<(), LocalError> {
    let bad = |reason| Err(LocalError::BadPath { path: path.to_path_buf(), reason });
    match path.to_str() {
        None => bad("it is not UTF-8"),
        Some(text) if text.contains(['"', '\\', '\n', '\r']) => bad("it holds a quote, a backslash or a line end"),
        Some(_) => Ok(()),
    }
}

/// Makes a directory (and those above it) of mode 0700, or checks that the one that is there is ours alone.
pub(crate) fn make_private_dir(path: &Path) -> Result<(), LocalError> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(LocalError::io("create", parent))?;
    }
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => own_dir(path),
        other => other.map_err(LocalError::io("create", path)),
    }
}

fn own_dir(path: &Path) -> Result<(), LocalError> {
    let found = fs::symlink_metadata(path).map_err(LocalError::io("read", path))?;
    if !found.is_dir() || found.uid() != geteuid().as_raw() {
        return Err(LocalError::BadPath { path: path.to_path_buf(), reason: "it is not a directory of this user" });
    }
    if found.mode() & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(LocalError::io("protect", path))?;
    }
    Ok(())
}

/// Replaces a file whole (a reader sees the old one or the new one), with mode 0600.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<(), LocalError> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    remove_if_there(&partial)?;
    let mut options = OpenOptions::new();
    let mut file =
        options.write(true).create_new(true).mode(0o600).open(&partial).map_err(LocalError::io("create", &partial))?;
    file.write_all(text.as_bytes()).map_err(LocalError::io("write", &partial))?;
    file.sync_all().map_err(LocalError::io("write", &partial))?;
    fs::rename(&partial, path).map_err(LocalError::io("replace", path))
}

pub(crate) fn remove_if_there(path: &Path) -> Result<(), LocalError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(LocalError::io("remove", path)),
    }
}

/// Where a data directory is until its copy is complete.
pub(crate) fn copy_target(data: &Path) -> PathBuf {
    data.with_extension("partial")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_path_is_short_and_stable_however_deep_the_directory() {
        let shallow = Path::new("/var/tmp/c/writer");
        assert_eq!(short_socket_path(shallow, "sock"), shallow.join("sock"));
        let deep = PathBuf::from(format!("/{}", "directory/".repeat(20)));
        let path = short_socket_path(&deep, "sock");
        assert!(path.as_os_str().len() <= LONGEST_SOCKET_PATH);
        assert_eq!(path, short_socket_path(&deep, "sock"));
        assert_ne!(path, short_socket_path(&deep.join("other"), "sock"));
    }

    #[test]
    fn names_that_could_leave_the_directory_are_refused() {
        for name in ["", "..", "a/b", "a b", "a\nb"] {
            assert!(ServerFiles::new(Path::new("/var/tmp"), name).is_err(), "{name:?}");
        }
        assert!(ServerFiles::new(Path::new("/var/\"tmp"), "writer").is_err());
    }
}
