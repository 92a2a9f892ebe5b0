//! The running configuration: what commands ask of it, and how a reload changes it.
//!
//! What must always hold: a reload reads, checks and prepares everything first; only then is anything changed, and
//! nothing of that can fail. No session is ended by it. What is told as applied is in effect for whatever begins then: a
//! login, a command, a server connection, a probe.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use tokio::runtime::Handle;
use weir_admin::rest;
use weir_admin::{Change, ChangeOutcome, Later, Operations, Setting};
use weir_backend::pool::PoolSettings;
use weir_backend::{ConnectSettings, Replaceable};
use weir_frontend::Endpoint;
use weir_wire::Failure;
use weir_wire::error::codes;

use super::{ServeError, backend_tls};
use crate::config::checked::{Api, CheckedConfig, ClientTlsCertificate, Group, Listen, Server, Takeover};
use crate::config::{self, ConfigError, KeyValue, Loaded};
use crate::logging::{LogControl, LogError, NewLog};

/// The running Weir, as commands and signals see it.
#[derive(Debug)]
pub(super) struct Live {
    file: PathBuf,
    /// Not owned: the endpoint has the commands, which have this.
    endpoint: Weak<Endpoint>,
    pool: Replaceable<PoolSettings>,
    log: LogControl,
    api: OnceLock<Arc<rest::Api>>,
    control: Handle,
    running: Mutex<Running>,
    /// Itself, for what runs elsewhere.
    itself: Weak<Live>,
}

#[derive(Debug)]
struct Running {
    config: Arc<CheckedConfig>,
    /// What is in effect: a key that needs a restart has its old value.
    keys: Vec<KeyValue>,
}

/// Why a reload has changed nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReloadError {
    /// The file is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The log can't be opened.
    #[error(transparent)]
    Log(#[from] LogError),
    /// TLS can't be set up.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// There is nothing to change any more.
    #[error("this Weir is stopping")]
    Stopping,
}

/// Everything that can fail in preparing a reload.
struct Prepared {
    tls: Option<Arc<rustls::ServerConfig>>,
    server_tls: weir_backend::server::Tls,
    log: NewLog,
}

impl Live {
    /// What runs with this configuration.
    pub(super) fn new(
        (file, loaded): (PathBuf, &Loaded),
        endpoint: &Arc<Endpoint>,
        pool: Replaceable<PoolSettings>,
        log: LogControl,
        control: Handle,
    ) -> Arc<Live> {
        let running = Running { config: Arc::new(loaded.checked.clone()), keys: loaded.keys.clone() };
        Arc::new_cyclic(|itself| Live {
            file,
            endpoint: Arc::downgrade(endpoint),
            pool,
            log,
            api: OnceLock::new(),
            control,
            running: Mutex::new(running),
            itself: itself.clone(),
        })
    }

    /// The REST interface follows this configuration too.
    pub(super) fn follow(&self, api: Arc<rest::Api>) {
        self.api.get_or_init(|| api);
    }

    /// The configuration, with what a reload has changed.
    pub(super) fn config(&self) -> Arc<CheckedConfig> {
        self.running().config.clone()
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the file again and applies what can be applied. Blocks while files are read. Tells the log too.
    pub(super) fn reload(&self) -> Result<Vec<Change>, ReloadError> {
        let reloaded = self.read_and_apply();
        match &reloaded {
            Ok(changes) => {
                tracing::info!(file = %self.file.display(), changes = changes.len(), "the configuration was read again");
                for Change { key, outcome, old, new } in changes {
                    let (outcome, unset) = (outcome.name(), "unset");
                    let (old, new) = (old.as_deref().unwrap_or(unset), new.as_deref().unwrap_or(unset));
                    tracing::info!(key, outcome, old, new, "changed");
                }
            }
            Err(error) => tracing::error!(%error, "the configuration was not changed"),
        }
        reloaded
    }

    fn read_and_apply(&self) -> Result<Vec<Change>, ReloadError> {
        // One at a time.
        let mut running = self.running();
        let loaded = config::load_with_keys(&self.file)?;
        let endpoint = self.endpoint.upgrade().ok_or(ReloadError::Stopping)?;
        let changes = config::changes(&running.keys, &loaded.keys);
        let config = config_in_effect(&running.config, loaded.checked);
        let prepared = Prepared {
            tls: client_tls(&endpoint, &running.config, &config)?,
            server_tls: backend_tls::policy(&config.server_tls)?,
            log: NewLog::open(&config.log)?,
        };
        self.apply(&endpoint, &config, prepared);
        if config.clients.read_only != running.config.clients.read_only {
            endpoint.oversight.set_read_only(config.clients.read_only);
        }
        // Patterns have no other comparison. Rules that stay keep their counts, and the turns that they have given.
        if format!("{:?}", config.rules) != format!("{:?}", running.config.rules) {
            endpoint.oversight.rules.set(super::oversight::rules(&config));
        }
        running.keys = keys_in_effect(&running.keys, loaded.keys, &changes);
        running.config = Arc::new(config);
        Ok(changes)
    }

    /// Applies what needs no restart. Must do so for each key that `config::changes` calls applied.
    fn apply(&self, endpoint: &Endpoint, config: &CheckedConfig, prepared: Prepared) {
        endpoint.settings.store(Arc::new(super::settings(config)));
        let (users, learns, plugin) = super::users(&config.accounts);
        endpoint.accounts.configure(users, learns, plugin);
        endpoint.tls.store(prepared.tls);
        let (max, max_user) = super::client_limits(config);
        endpoint.registry.set_limits(max, max_user);
        for (group, checked) in endpoint.groups.iter().zip(&config.groups) {
            let (settings, members) = super::group_settings(config.listen.instance, checked);
            group.configure(settings, members);
        }
        endpoint.monitor.store(Arc::new(super::monitor_settings(config)));
        endpoint.transactions.configure(super::transaction_settings(config));
        self.pool.store(Arc::new(super::pool_settings(config)));
        endpoint.hot_rows.settings.store(Arc::new(super::hot_row_settings(config)));
        let (max, max_user) = super::server_limits(config);
        endpoint.admission.set(max, max_user);
        for server in endpoint.servers() {
            server.limits.set(max, max_user);
            let connect_timeout = config.pool.connect_timeout;
            server.set_reach(ConnectSettings { tls: prepared.server_tls.clone(), connect_timeout });
        }
        if let (Some(api), Some(settings)) = (self.api.get(), &config.api) {
            api.set_token(settings.token.expose());
        }
        self.log.configure(prepared.log);
    }
}

/// TLS for clients. A certificate that was generated stays.
fn client_tls(
    endpoint: &Endpoint,
    old: &CheckedConfig,
    new: &CheckedConfig,
) -> Result<Option<Arc<rustls::ServerConfig>>, ServeError> {
    match (&old.tls.certificate, &new.tls.certificate) {
        (ClientTlsCertificate::Generate, ClientTlsCertificate::Generate) => Ok(endpoint.tls.load_full()),
        (_, certificate) => super::client_tls(certificate),
    }
}

/// The new configuration, but the old one where a restart is needed: what `config::changes` does not call applied.
fn config_in_effect(old: &CheckedConfig, new: CheckedConfig) -> CheckedConfig {
    let (old_takeover, old_api) = (old.takeover.clone(), old.api.clone());
    let api = match (old_api, new.api) {
        (Some(old), Some(new)) => Some(Api { address: old.address, ..new }),
        (old, _) => old,
    };
    let groups = old.groups.iter().map(|old| group_in_effect(old, &new.groups)).collect();
    CheckedConfig {
        listen: Listen { allow: new.listen.allow.clone(), ..old.listen.clone() },
        slow_log: old.slow_log.clone(),
        audit_log: old.audit_log.clone(),
        worker_threads: old.worker_threads,
        scheduling: old.scheduling,
        groups,
        sharding: old.sharding.clone(),
        lanes: old.lanes.clone(),
        metrics_address: old.metrics_address,
        api,
        takeover: Takeover { idle: new.takeover.idle, grace: new.takeover.grace, ..old_takeover },
        ..new
    }
}

/// A group with its servers, the new choices and the new weights.
fn group_in_effect(old: &Group, new: &[Group]) -> Group {
    let servers_of_new = || new.iter().flat_map(|group| &group.servers);
    let reweighed = |server: &Server| {
        let new = servers_of_new().find(|new| new.name == server.name);
        Server { weight: new.map_or(server.weight, |new| new.weight), ..server.clone() }
    };
    let choices = new.iter().find(|new| new.name == old.name).unwrap_or(old);
    Group { servers: old.servers.iter().map(reweighed).collect(), discover: old.discover, ..choices.clone() }
}

/// The new keys, but the old ones where a restart is needed.
fn keys_in_effect(old: &[KeyValue], new: Vec<KeyValue>, changes: &[Change]) -> Vec<KeyValue> {
    let waits =
        |name: &str| changes.iter().any(|change| change.key == name && change.outcome == ChangeOutcome::NeedsRestart);
    let find = |keys: &[KeyValue], name: &str| keys.iter().find(|key| key.key == name).cloned();
    let gone = old.iter().filter(|key| waits(&key.key) && find(&new, &key.key).is_none());
    let gone: Vec<_> = gone.cloned().collect();
    let kept = new.into_iter().filter_map(|key| if waits(&key.key) { find(old, &key.key) } else { Some(key) });
    kept.chain(gone).collect()
}

impl Operations for Live {
    fn settings(&self) -> Vec<Setting> {
        let level = self.log.level();
        let setting = |key: &KeyValue| match level.overridden_by {
            Some(source) if key.key == "log.level" => {
                Setting { key: key.key.clone(), value: Some(level.text.clone()), source }
            }
            _ => {
                let source = if key.in_file { "file" } else { "default" };
                Setting { key: key.key.clone(), value: key.value.clone(), source }
            }
        };
        self.running().keys.iter().map(setting).collect()
    }

    fn set_log_level(&self, level: &str) -> Result<(), Failure> {
        self.log.set_level(level).map_err(|why| {
            let message = format!("Variable 'log level' can't be set to the value of '{level}': {why}");
            Failure::client(codes::ER_WRONG_VALUE_FOR_VAR, message)
        })?;
        tracing::info!(level, "the log level was changed by a command");
        Ok(())
    }

    fn reload(&self) -> Later<Vec<Change>> {
        let failed = |why: String| {
            let message = format!("Incorrect arguments to RELOAD: nothing was changed: {}", why.replace('\n', "; "));
            Failure::client(codes::ER_WRONG_ARGUMENTS, message)
        };
        let (itself, control) = (self.itself.clone(), self.control.clone());
        Box::pin(async move {
            let reloading = control.spawn_blocking(move || itself.upgrade().ok_or(ReloadError::Stopping)?.reload());
            match reloading.await {
                Ok(reloaded) => reloaded.map_err(|error| failed(error.to_string())),
                Err(error) => Err(failed(error.to_string())),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load;
    use crate::config::tests::{MINIMAL, private_file};

    fn config(more: &str) -> CheckedConfig {
        let (_directory, path) = private_file("weir.toml", &format!("{MINIMAL}{more}"));
        load(&path).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn what_needs_a_restart_stays_and_the_rest_changes() {
        let old = config("[api]\naddress = \"127.0.0.1:1\"\ntoken = \"the-first-of-tokens\"\n");
        let new = config(
            "[listen]\naddress = [\"127.0.0.1:2\"]\n\
             [workers]\nthreads = 7\nscheduling = \"normal\"\n\
             [lanes]\nmax_depth = 3\n\
             [metrics]\naddress = \"127.0.0.1:4\"\n\
             [api]\naddress = \"127.0.0.1:5\"\ntoken = \"the-second-of-tokens\"\n\
             [pool]\nmax_queue = 6\n\
             [shutdown]\ngrace = \"7s\"\n\
             [takeover]\nsocket = \"/run/elsewhere.sock\"\nidle = \"8s\"\n",
        );
        let shown = |value: &dyn std::fmt::Debug| format!("{value:?}");
        let both = config_in_effect(&old, new.clone());
        assert_eq!(shown(&both.listen), shown(&old.listen));
        assert_eq!((both.worker_threads, both.scheduling), (old.worker_threads, old.scheduling));
        assert_eq!((shown(&both.lanes), shown(&both.groups)), (shown(&old.lanes), shown(&old.groups)));
        assert_eq!((both.metrics_address, &both.takeover.socket), (None, &old.takeover.socket));
        assert_eq!((both.pool.max_queue, both.shutdown_grace), (6, new.shutdown_grace));
        assert_eq!(both.takeover.idle, new.takeover.idle);
        let api = both.api.expect("it was there");
        assert_eq!(api.address, "127.0.0.1:1".parse().expect("an address"));
        assert_eq!(api.token.expose(), "the-second-of-tokens");
        // An interface that was not there, or is not wanted any more, takes a restart.
        assert!(config_in_effect(&config(""), new).api.is_none());
        assert!(config_in_effect(&old, config("")).api.is_some());
    }
}
