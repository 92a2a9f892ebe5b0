//! From the raw configuration to the checked one.
//!
//! Each function takes a section, reports all that is wrong with it, and returns it checked; after
//! a complaint it returns some value in place of the wrong one, so that the rest gets checked too.
//! Must always hold: such a placeholder never leaves this module, because [`check`] returns nothing
//! once anything was reported. Nothing is bound, connected or looked up here; files are only read.

mod clients;
mod logs;
mod rules;
mod servers;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::checked::{Api, CheckedConfig, Identity, Log, Takeover, Transactions, Workbench};
use super::files::{check_identity, read_certificates, read_password, read_private_key};
use super::problem::{KeyPlace, Report};
use super::raw::{RawApi, RawConfig, RawLog, RawMetrics, RawTakeover, RawTransactions, RawWorkbench, RawWorkers};
use super::secret::Secret;
use super::units::{DurationText, parse_duration, parse_size};

/// The longest name of a user, in characters (MariaDB's limit; MySQL's is 32).
const MAX_USER_NAME: usize = 128;
/// The length of a token: not to be guessed, and to fit in a header.
const TOKEN_LENGTH: std::ops::RangeInclusive<usize> = 16..=1_024;

/// Looks an environment variable up.
pub(crate) type Environment<'e> = &'e dyn Fn(&str) -> Option<String>;

/// Checks `raw`, which was read from the file at `path`. None when anything is wrong.
pub(crate) fn check(
    raw: &RawConfig,
    path: &Path,
    environment: Environment<'_>,
    report: &mut Report,
) -> Option<CheckedConfig> {
    let mut checker = Checker { directory: path.parent().unwrap_or(Path::new("")), environment, report };
    let listen = checker.listen(&raw.listen);
    let checked = CheckedConfig {
        worker_threads: worker_threads(&raw.workers),
        scheduling: raw.workers.scheduling,
        tls: checker.tls(&raw.tls),
        clients: checker.clients(&raw.clients),
        accounts: checker.accounts(&raw.accounts, &raw.users, &raw.clients),
        groups: checker.groups(&raw.groups, &raw.servers, &listen.addresses),
        sharding: checker.sharding(&raw.sharding),
        server_tls: checker.server_tls(&raw.server_tls),
        pool: checker.pool(&raw.pool),
        lanes: checker.lanes(&raw.lanes),
        hot_rows: checker.hot_rows(&raw.hot_rows),
        workbench: checker.workbench(&raw.workbench),
        monitor: checker.monitor(&raw.monitor),
        metrics_address: checker.metrics(&raw.metrics, &listen.addresses),
        api: checker.api(&raw.api, &raw.metrics, &listen.addresses),
        log: checker.log(&raw.log),
        slow_log: checker.slow_log(&raw.slow_log),
        audit_log: checker.audit_log(&raw.audit_log),
        rules: checker.rules(&raw.rules),
        shutdown_grace: checker.duration(KeyPlace::section("shutdown").key("grace"), &raw.shutdown.grace),
        takeover: checker.takeover(&raw.takeover, path),
        transactions: checker.transactions(&raw.transactions),
        listen,
    };
    report.is_clean().then_some(checked)
}

/// One thread per core when the file says 0.
fn worker_threads(raw: &RawWorkers) -> NonZeroUsize {
    NonZeroUsize::new(raw.threads as usize)
        .or_else(|| std::thread::available_parallelism().ok())
        .unwrap_or(NonZeroUsize::MIN)
}

/// What the checks of all sections need.
struct Checker<'c> {
    /// Where relative paths begin: the directory of the configuration file.
    directory: &'c Path,
    environment: Environment<'c>,
    report: &'c mut Report,
}

impl Checker<'_> {
    /// Reads a certificate and its key when both are given, and checks that they match.
    fn identity(
        &mut self,
        section: KeyPlace<'_>,
        certificate: &Option<PathBuf>,
        key: &Option<PathBuf>,
    ) -> Option<Identity> {
        let (certificate, key) = (certificate.as_ref()?, key.as_ref()?);
        let chain = read_certificates(&self.resolve(certificate));
        let chain = self.ok_or_report(section.key("certificate"), chain);
        let private_key = read_private_key(&self.resolve(key));
        let private_key = self.ok_or_report(section.key("key"), private_key);
        let identity = Identity { chain: chain?, key: private_key? };
        self.ok_or_report(section.key("key"), check_identity(&identity))?;
        Some(identity)
    }

    /// Complains about a limit per user that is beyond the limit for all users.
    fn user_limit_within(&mut self, section: KeyPlace<'_>, per_user: u32, in_all: u32) {
        if per_user > in_all {
            self.report.add(
                section.key("max_user_connections"),
                format!("{per_user} is more than `max_connections`, {in_all}"),
            );
        }
    }

    fn user_name(&mut self, place: KeyPlace<'_>, name: &str) {
        let length = name.chars().count();
        if length == 0 || length > MAX_USER_NAME {
            let message = format!("a user's name has 1 to {MAX_USER_NAME} characters");
            self.report.add(place, message);
        }
    }

    /// Finds the password by the one of three ways that is given.
    fn password(
        &mut self,
        section: KeyPlace<'_>,
        plain: Option<&Secret>,
        file: Option<&Path>,
        variable: Option<&str>,
    ) -> Secret {
        let keys = ["password", "password_file", "password_env"];
        self.secret(section, keys, (plain, file, variable), |password| match password.contains('\0') {
            true => Err("a password can't contain a NUL character".to_owned()),
            false => Ok(()),
        })
    }

    /// Finds a secret by the one of three ways, named by `keys`, that is given, and checks it.
    fn secret(
        &mut self,
        section: KeyPlace<'_>,
        keys: [&str; 3],
        ways: (Option<&Secret>, Option<&Path>, Option<&str>),
        check: impl Fn(&str) -> Result<(), String>,
    ) -> Secret {
        let (key, secret) = match ways {
            (Some(secret), None, None) => (keys[0], Ok(secret.expose().to_owned())),
            (None, Some(path), None) => (keys[1], read_password(&self.resolve(path))),
            (None, None, Some(name)) => (keys[2], self.variable(name)),
            _ => {
                self.report.add(section, format!("needs exactly one of `{}`", keys.join("`, `")));
                return Secret::new(String::new());
            }
        };
        let secret = secret.and_then(|secret| check(&secret).map(|()| secret));
        Secret::new(self.ok_or_report(section.key(key), secret).unwrap_or_default())
    }

    /// The value of an environment variable, which must not be empty.
    fn variable(&self, name: &str) -> Result<String, String> {
        (self.environment)(name)
            .filter(|value| !value.is_empty())
            .ok_or_else(|| format!("the environment variable `{name}` is not set, or empty"))
    }

    fn metrics(&mut self, raw: &RawMetrics, own: &[SocketAddr]) -> Option<SocketAddr> {
        let place = KeyPlace::section("metrics").key("address");
        let address = self.socket_address(place, raw.address.as_deref()?)?;
        if address.port() != 0 && own.contains(&address) {
            self.report.add(place, format!("`{address}` is an `address` in [listen] too"));
        }
        Some(address)
    }

    fn api(&mut self, raw: &RawApi, metrics: &RawMetrics, own: &[SocketAddr]) -> Option<Api> {
        let section = KeyPlace::section("api");
        let text = raw.address.as_deref()?;
        let address = self.socket_address(section.key("address"), text);
        if let Some(address) = address
            && address.port() != 0
        {
            if own.contains(&address) {
                self.report.add(section.key("address"), format!("`{address}` is an `address` in [listen] too"));
            }
            if metrics.address.as_deref() == Some(text) {
                self.report.add(section.key("address"), format!("`{address}` is the `address` in [metrics] too"));
            }
        }
        let keys = ["token", "token_file", "token_env"];
        let ways = (raw.token.as_ref(), raw.token_file.as_deref(), raw.token_env.as_deref());
        let token = self.secret(section, keys, ways, |token| {
            let is_fit = TOKEN_LENGTH.contains(&token.len()) && token.bytes().all(|byte| byte.is_ascii_graphic());
            let (min, max) = (TOKEN_LENGTH.start(), TOKEN_LENGTH.end());
            is_fit.then_some(()).ok_or_else(|| format!("a token has {min} to {max} visible ASCII characters"))
        });
        Some(Api { address: address?, token })
    }

    fn takeover(&mut self, raw: &RawTakeover, config_file: &Path) -> Takeover {
        let section = KeyPlace::section("takeover");
        let socket = raw.socket.as_ref().map(|path| self.socket_path(section.key("socket"), path));
        Takeover {
            named: socket.is_some(),
            socket: socket.unwrap_or_else(|| config_file.with_extension("takeover")),
            idle: self.timeout(section.key("idle"), &raw.idle),
            grace: self.duration(section.key("grace"), &raw.grace),
        }
    }

    fn workbench(&mut self, raw: &RawWorkbench) -> Workbench {
        let max_bytes =
            self.ok_or_report(KeyPlace::section("workbench").key("max_bytes"), parse_size(&raw.max_bytes.0));
        Workbench { max_bytes: max_bytes.unwrap_or_default(), max_rows: NonZeroU64::new(raw.max_rows) }
    }

    fn transactions(&mut self, raw: &RawTransactions) -> Transactions {
        let section = KeyPlace::section("transactions");
        Transactions {
            recovery_interval: self.timeout(section.key("recovery_interval"), &raw.recovery_interval),
            recovery_grace: self.timeout(section.key("recovery_grace"), &raw.recovery_grace),
            outcome_timeout: self.timeout(section.key("outcome_timeout"), &raw.outcome_timeout),
            keep_decisions: self.timeout(section.key("keep_decisions"), &raw.keep_decisions),
            deadlock_interval: self.duration(section.key("deadlock_interval"), &raw.deadlock_interval),
        }
    }

    fn log(&mut self, raw: &RawLog) -> Log {
        let file = raw.file.as_ref().map(|path| self.resolve(path));
        if let Some(path) = &file {
            self.existing_directory(KeyPlace::section("log").key("file"), path);
        }
        Log { level: raw.level, format: raw.format, file }
    }

    /// Complains about a file whose directory is not there.
    fn existing_directory(&mut self, place: KeyPlace<'_>, file: &Path) {
        if let Some(directory) = file.parent()
            && !directory.as_os_str().is_empty()
            && !directory.is_dir()
        {
            self.report.add(place, format!("there is no directory {}", directory.display()));
        }
    }

    /// Complains about each value of a key that an earlier section of the same name has too.
    fn all_different<'v>(&mut self, section: &str, key: &str, values: impl Iterator<Item = &'v str>) {
        let mut seen = HashMap::new();
        for (number, value) in values.enumerate() {
            if seen.insert(value, number).is_some() {
                self.report.add(KeyPlace::entry(section, number).key(key), format!("`{value}` is duplicated"));
            }
        }
    }

    /// An IP address and port to listen on.
    fn socket_address(&mut self, place: KeyPlace<'_>, text: &str) -> Option<SocketAddr> {
        let address = text.parse::<SocketAddr>().map_err(|_| {
            format!("`{text}` is not an IP address and port, such as \"127.0.0.1:4406\" or \"[::]:4406\"")
        });
        self.ok_or_report(place, address)
    }

    /// A duration that may be zero.
    fn duration(&mut self, place: KeyPlace<'_>, text: &DurationText) -> Duration {
        self.ok_or_report(place, parse_duration(&text.0)).unwrap_or_default()
    }

    /// A duration that must not be zero.
    fn timeout(&mut self, place: KeyPlace<'_>, text: &DurationText) -> Duration {
        let duration = self.ok_or_report(place, parse_duration(&text.0));
        if duration == Some(Duration::ZERO) {
            self.report.add(place, "must be more than zero");
        }
        duration.unwrap_or_default()
    }

    /// A path of the file, relative to the directory of the file.
    fn resolve(&self, path: &Path) -> PathBuf {
        self.directory.join(path)
    }

    /// The value, or None after reporting the error.
    fn ok_or_report<T, E: ToString>(&mut self, place: KeyPlace<'_>, result: Result<T, E>) -> Option<T> {
        result.map_err(|error| self.report.add(place, error.to_string())).ok()
    }
}

/// The schema's range excludes 0; a section that broke it was reported already.
fn at_least_one(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN)
}
