//! The accounts of a cluster: Weir's own, and the application's.

use crate::{Flavor, Kind, LocalError, Server};

/// A user name and its password.
#[derive(Clone)]
pub struct Account {
    /// User name.
    pub name: String,
    /// Password, in clear.
    pub password: String,
}

impl std::fmt::Debug for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Account").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Account {
    /// An account with a new random password.
    pub fn generated(name: &str) -> Self {
        Self { name: name.to_owned(), password: random_password() }
    }
}

/// 24 characters of 62: 142 bits. No character needs quoting, neither in SQL nor in TOML nor in a shell.
pub(crate) fn random_password() -> String {
    const ALPHABET: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    (0..24).map(|_| char::from(ALPHABET[rand::random_range(0..ALPHABET.len())])).collect()
}

/// What Weir's own account needs, as docs/operations.md says: to watch servers and their replication; and for databases that are
/// sharded to read all definitions, to keep records of its own in the schema `weir` and let users execute the procedures there,
/// and to recover distributed transactions.
pub fn own_grants(flavor: Flavor) -> Vec<&'static str> {
    let of_flavor = match flavor {
        // Prepared transactions are shown to everybody.
        Flavor::MariaDb => "SLAVE MONITOR, CONNECTION ADMIN, SET USER ON *.*",
        Flavor::MySql => "XA_RECOVER_ADMIN, CONNECTION_ADMIN, SET_ANY_DEFINER, ALLOW_NONEXISTENT_DEFINER ON *.*",
    };
    vec![
        "PROCESS, REPLICATION CLIENT ON *.*",
        "SELECT ON performance_schema.*",
        "SELECT, SHOW VIEW, SHOW DATABASES, TRIGGER, EVENT, RELOAD ON *.*",
        "REPLICATION SLAVE ON *.*",
        "ALL ON `weir\\_move\\_%`.*",
        "ALL ON `weir\\_old\\_%`.*",
        "ALL ON `weir`.*",
        "GRANT OPTION ON `weir`.*",
        of_flavor,
    ]
}

/// What it needs more on a database, by name or pattern, whose tables are to move between shards: to lock, rename and refer to them, and to
/// make its views and routines elsewhere. Not on all schemas: that of the servers' accounts is one of them.
pub fn move_grants(database: &str) -> String {
    format!(
        "INSERT, CREATE, DROP, ALTER, REFERENCES, LOCK TABLES, CREATE VIEW, CREATE ROUTINE, ALTER ROUTINE ON `{database}`.*"
    )
}

/// What Weir's own account needs more where it replaces writers, as docs/groups.md says.
pub fn failover_grants(flavor: Flavor) -> &'static str {
    match flavor {
        Flavor::MariaDb => {
            "SUPER, READ_ONLY ADMIN, REPLICATION SLAVE, REPLICATION SLAVE ADMIN, REPLICATION MASTER ADMIN, BINLOG MONITOR ON *.*"
        }
        Flavor::MySql => {
            "REPLICATION SLAVE, REPLICATION_SLAVE_ADMIN, SYSTEM_VARIABLES_ADMIN, CONNECTION_ADMIN, GROUP_REPLICATION_ADMIN ON *.*"
        }
    }
}

/// Makes Weir's own account on a writer: what docs/operations.md says of it, what a group of the kind takes, and no more. `moves`: tables may
/// move between shards, in all databases, which the application's account may make and change as well.
pub(crate) fn ensure_monitor(writer: &Server, account: &Account, kind: Kind, moves: bool) -> Result<(), LocalError> {
    let flavor = writer.installation().flavor();
    let of_moves = moves.then(|| move_grants("%"));
    let mut grants = own_grants(flavor);
    grants.extend(of_moves.as_deref());
    if kind.fails_over() {
        grants.push(failover_grants(flavor));
    }
    writer.create_user(&account.name, &account.password, &grants, None)
}

/// Makes the application's account and its database on a writer: all rights on all databases, to be passed on, so that whoever tries a
/// cluster can make databases and users as the documentation shows. Nothing that is about the server itself.
pub(crate) fn ensure_application(writer: &Server, account: &Account, database: &str) -> Result<(), LocalError> {
    crate::layout::check_name(database)?;
    writer.execute(&format!("CREATE DATABASE IF NOT EXISTS `{database}`"))?;
    // On a pattern, ALL is what belongs to databases.
    let grants = ["ALL ON `%`.*", "GRANT OPTION ON `%`.*", "CREATE USER, PROCESS, RELOAD, SHOW DATABASES ON *.*"];
    writer.create_user(&account.name, &account.password, &grants, None)
}
