//! Who may log in, and with which password Weir logs in to the servers as the same user.
//!
//! Passwords come from the configuration, or are learnt when a client tells one at a full authentication and a server
//! has accepted it. They are kept in memory only, and never shown.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use weir_wire::auth::{Account, AuthPlugin, Credential, Password, caching_sha2};

/// A user of the configuration.
#[derive(Debug, Clone)]
pub struct ConfiguredUser {
    /// The name.
    pub name: String,
    /// The password.
    pub password: Password,
    /// The plugin that the client must use.
    pub plugin: AuthPlugin,
    /// Whether the user may give `WEIR …` statements.
    pub admin: bool,
    /// The most sessions of this user; 0: the general limit.
    pub max_connections: usize,
}

/// All accounts.
#[derive(Debug)]
pub struct Accounts {
    configured: HashMap<String, ConfiguredUser>,
    learns: bool,
    default_plugin: AuthPlugin,
    learnt: RwLock<HashMap<String, Password>>,
}

/// The most learnt passwords that are kept; beyond, clients go through full authentication each time.
const MOST_LEARNT: usize = 100_000;

impl Accounts {
    /// The users of the configuration; with `learns`, others may log in as the servers know them.
    pub fn new(users: Vec<ConfiguredUser>, learns: bool, default_plugin: AuthPlugin) -> Accounts {
        let configured = users.into_iter().map(|user| (user.name.clone(), user)).collect();
        Accounts { configured, learns, default_plugin, learnt: RwLock::default() }
    }

    /// The plugin that the greeting names.
    pub fn default_plugin(&self) -> AuthPlugin {
        self.default_plugin
    }

    /// The configured user of this name.
    pub fn configured(&self, name: &str) -> Option<&ConfiguredUser> {
        self.configured.get(name)
    }

    fn learnt(&self, name: &str) -> Option<Password> {
        self.learnt.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// How a client that says it is `name` is authenticated.
    pub fn lookup(&self, name: &str) -> Account {
        if let Some(user) = self.configured.get(name) {
            return Account { plugin: user.plugin, credential: Credential::Password(user.password.clone()) };
        }
        let credential = match (self.learns, self.learnt(name)) {
            (true, Some(password)) => Credential::Sha2Stage2(caching_sha2::stage2(&password)),
            (true, None) => Credential::Unknown,
            (false, _) => Credential::NoAccount,
        };
        Account { plugin: AuthPlugin::CachingSha2, credential }
    }

    /// The password with which `name` logs in to the servers.
    pub fn password(&self, name: &str) -> Option<Password> {
        self.configured.get(name).map(|user| user.password.clone()).or_else(|| self.learnt(name))
    }

    /// A server has accepted this password of `name`.
    pub fn learn(&self, name: &str, password: Password) {
        let mut learnt = self.learnt.write().unwrap_or_else(PoisonError::into_inner);
        if learnt.len() < MOST_LEARNT || learnt.contains_key(name) {
            learnt.insert(name.to_owned(), password);
        }
    }

    /// A server has refused the learnt password of `name`: the next login has to tell it again.
    pub fn forget(&self, name: &str) {
        self.learnt.write().unwrap_or_else(PoisonError::into_inner).remove(name);
    }
}
