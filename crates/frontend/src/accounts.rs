//! Who may log in, and with which password Weir logs in to the servers as the same user.
//!
//! Passwords come from the configuration, or are learnt when a client tells one at a full authentication and a server
//! has accepted it. They are kept in memory only, and never shown.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use arc_swap::ArcSwap;
use weir_admin::network::Network;
use weir_topology::Level;
use weir_wire::auth::{Account, AuthPlugin, Credential, Password, caching_sha2};

use crate::login_cache::Verified;

/// A user of the configuration.
#[derive(Debug, Clone)]
pub struct ConfiguredUser {
    /// The name.
    pub name: String,
    /// The password.
    pub password: Password,
    /// The plugin that the client must use; None: as the server does.
    pub plugin: Option<AuthPlugin>,
    /// Whether the user may give `WEIR …` statements.
    pub admin: bool,
    /// The most sessions of this user; 0: the general limit.
    pub max_connections: usize,
    /// Where the user may log in from; empty: from anywhere.
    pub allow: Vec<Network>,
    /// How fresh this user's reads have to be; `None`: as the group says.
    pub level: Option<Level>,
    /// Whether this user's transactions are run again when their server is lost; `None`: as the group says.
    pub transaction_replay: Option<bool>,
}

/// What the configuration says of accounts.
#[derive(Debug)]
struct Configured {
    users: HashMap<String, Arc<ConfiguredUser>>,
    learns: bool,
    default_plugin: Option<AuthPlugin>,
}

impl Configured {
    fn new(users: Vec<ConfiguredUser>, learns: bool, default_plugin: Option<AuthPlugin>) -> Configured {
        let users = users.into_iter().map(|user| (user.name.clone(), Arc::new(user))).collect();
        Configured { users, learns, default_plugin }
    }

    /// Clients choose by what they take the server for: Connector/J can't use `caching_sha2_password` with a MariaDB.
    fn greeting_plugin(&self, mariadb: bool) -> AuthPlugin {
        self.default_plugin.unwrap_or(if mariadb { AuthPlugin::NativePassword } else { AuthPlugin::CachingSha2 })
    }
}

/// All accounts.
#[derive(Debug)]
pub struct Accounts {
    configured: ArcSwap<Configured>,
    learnt: RwLock<HashMap<String, Password>>,
    /// Whom a server has let in lately.
    pub(crate) verified: Verified,
}

/// The most learnt passwords that are kept; beyond, clients go through full authentication each time.
const MOST_LEARNT: usize = 100_000;

impl Accounts {
    /// The users of the configuration; with `learns`, others may log in as the servers know them. `default_plugin` is the
    /// greeting's; None: as the server does.
    pub fn new(users: Vec<ConfiguredUser>, learns: bool, default_plugin: Option<AuthPlugin>) -> Accounts {
        let configured = Configured::new(users, learns, default_plugin);
        Accounts {
            configured: ArcSwap::from_pointee(configured),
            learnt: RwLock::default(),
            verified: Verified::default(),
        }
    }

    /// The configuration has changed. Logins from now on follow it, and the admin right of all sessions.
    pub fn configure(&self, users: Vec<ConfiguredUser>, learns: bool, default_plugin: Option<AuthPlugin>) {
        self.configured.store(Arc::new(Configured::new(users, learns, default_plugin)));
    }

    /// The plugin that the greeting names.
    pub fn greeting_plugin(&self, mariadb: bool) -> AuthPlugin {
        self.configured.load().greeting_plugin(mariadb)
    }

    /// The configured user of this name.
    pub fn configured(&self, name: &str) -> Option<Arc<ConfiguredUser>> {
        self.configured.load().users.get(name).cloned()
    }

    /// Whether the user may give `WEIR …` statements now.
    pub fn is_admin(&self, name: &str) -> bool {
        self.configured.load().users.get(name).is_some_and(|user| user.admin)
    }

    fn learnt(&self, name: &str) -> Option<Password> {
        self.learnt.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// How a client that says it is `name` is authenticated, in front of a server of this kind. `offered` is the plugin that
    /// the client has named, if any.
    pub fn lookup(&self, name: &str, mariadb: bool, offered: Option<&[u8]>) -> Account {
        let configured = self.configured.load();
        if let Some(user) = configured.users.get(name) {
            let newer_client = offered == Some(AuthPlugin::CachingSha2.name().as_bytes());
            let plugin = user.plugin.unwrap_or_else(|| configured.greeting_plugin(mariadb && !newer_client));
            return Account { plugin, credential: Credential::Password(user.password.clone()) };
        }
        let credential = match (configured.learns, self.learnt(name)) {
            (true, Some(password)) => Credential::Sha2Stage2(caching_sha2::stage2(&password)),
            (true, None) => Credential::Unknown,
            (false, _) => Credential::NoAccount,
        };
        Account { plugin: AuthPlugin::CachingSha2, credential }
    }

    /// The password with which `name` logs in to the servers.
    pub fn password(&self, name: &str) -> Option<Password> {
        self.configured(name).map(|user| user.password.clone()).or_else(|| self.learnt(name))
    }

    /// A server has accepted this password of `name`.
    pub fn learn(&self, name: &str, password: Password) {
        let mut learnt = self.learnt.write().unwrap_or_else(PoisonError::into_inner);
        if learnt.len() < MOST_LEARNT || learnt.contains_key(name) {
            learnt.insert(name.to_owned(), password);
        }
    }

    /// A server has refused this password of `name`: if it is the learnt one, the next login has to tell it again.
    pub fn forget_if(&self, name: &str, password: &Password) {
        if self.learnt(name).is_some_and(|learnt| learnt == *password) {
            self.forget(name);
        }
    }

    /// A server has refused the learnt password of `name`: the next login has to tell it again.
    pub fn forget(&self, name: &str) {
        self.learnt.write().unwrap_or_else(PoisonError::into_inner).remove(name);
    }
}
