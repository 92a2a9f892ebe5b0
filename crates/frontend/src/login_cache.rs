//! Which users a server has let in lately, with which password, and what it said of their accounts.
//!
//! What must always hold: a user is let in without a server's word only if a server has given it after the last change of the
//! user's account that Weir knows of, for the same password, and not long ago. One login per user asks at a time: a storm
//! of logins is one login at the server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use weir_backend::Server;
use weir_wire::auth::Password;

/// A server's word holds so long: it also ends what no statement tells of, such as a password that expires by time.
const HOLDS: Duration = Duration::from_secs(2);
/// The period of an account's limits.
const HOUR: Duration = Duration::from_secs(3600);
/// Users that are remembered; beyond, those longest ago are forgotten.
const MOST: usize = 10_000;

/// What an account demands of its clients, as `SHOW CREATE USER` tells it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Demands {
    /// TLS.
    pub(crate) tls: bool,
    /// The most sessions at a time; 0: no limit.
    pub(crate) max_user_connections: usize,
    /// The most logins in an hour; 0: no limit.
    pub(crate) max_connections_per_hour: usize,
    /// A login at the server uses up something that is limited per hour.
    pub(crate) counts_by_hour: bool,
}

impl Demands {
    /// From an account's definition. Quoted values are passed over: they may hold any words.
    pub(crate) fn of(definition: &[u8]) -> Demands {
        let mut demands = Demands::default();
        let words = words(definition);
        let mut words = words.iter().map(String::as_str).peekable();
        while let Some(word) = words.next() {
            let mut limit = || words.peek().and_then(|number| number.parse().ok()).unwrap_or(0);
            match word {
                "REQUIRE" => demands.tls = words.peek().is_some_and(|what| *what != "NONE"),
                "MAX_USER_CONNECTIONS" => demands.max_user_connections = limit(),
                "MAX_CONNECTIONS_PER_HOUR" => demands.max_connections_per_hour = limit(),
                "MAX_QUERIES_PER_HOUR" | "MAX_UPDATES_PER_HOUR" => demands.counts_by_hour |= limit() > 0,
                // The rest is about passwords: PASSWORD REQUIRE CURRENT.
                "PASSWORD" | "ACCOUNT" => break,
                _ => {}
            }
        }
        demands.counts_by_hour |= demands.max_connections_per_hour > 0;
        demands
    }
}

/// The words of a definition behind the way of authentication, in upper case, without what is quoted.
fn words(definition: &[u8]) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    let mut bytes = definition.iter();
    while let Some(&byte) = bytes.next() {
        match (quote, byte) {
            (Some(b'\'' | b'"'), b'\\') => drop(bytes.next()),
            (Some(open), _) if byte == open => quote = None,
            (Some(_), _) => {}
            (None, b'\'' | b'"' | b'`') => quote = Some(byte),
            (None, b' ') => words.push(String::new()),
            (None, _) => {
                words.last_mut().expect("there is one from the beginning").push(char::from(byte.to_ascii_uppercase()))
            }
        }
    }
    // MariaDB: IDENTIFIED BY PASSWORD '…'.
    let behind = words.iter().position(|word| word == "PASSWORD").filter(|at| *at > 0 && words[at - 1] == "BY");
    words.split_off(behind.map_or(0, |at| at + 1))
}

#[derive(Debug)]
struct Entry {
    password: Password,
    /// The server that was asked, and the number of its last change then.
    server: String,
    rights: u64,
    asked: Instant,
    demands: Arc<Demands>,
    /// When the hour began, and the logins since.
    hour: (Instant, usize),
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Verified {
    users: Mutex<HashMap<String, Entry>>,
    turns: Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Verified {
    /// The lock of the user's logins that ask a server.
    pub(crate) fn turn(&self, user: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = locked(&self.turns);
        if let Some(turn) = turns.get(user).and_then(Weak::upgrade) {
            return turn;
        }
        turns.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::default();
        turns.insert(user.to_owned(), Arc::downgrade(&turn));
        turn
    }

    /// What `server` has said, if that holds still.
    pub(crate) fn by(&self, server: &Server, user: &str, password: &Password) -> Option<Arc<Demands>> {
        let users = locked(&self.users);
        let entry = users.get(user)?;
        let lately = entry.demands.counts_by_hour || entry.asked.elapsed() < HOLDS;
        let holds = lately
            && entry.server == server.settings.name
            && entry.password == *password
            && server.rights.holds(user.as_bytes(), entry.rights);
        holds.then(|| entry.demands.clone())
    }

    /// What was said of the user at some time, for this password.
    pub(crate) fn once(&self, user: &str, password: &Password) -> Option<Arc<Demands>> {
        let users = locked(&self.users);
        users.get(user).filter(|entry| entry.password == *password).map(|entry| entry.demands.clone())
    }

    /// A server has let the user in; `rights` is the number of its last change before it was asked.
    pub(crate) fn note(&self, server: &Server, user: &str, password: &Password, rights: u64, demands: Arc<Demands>) {
        let mut users = locked(&self.users);
        let now = Instant::now();
        // A change of the account begins its hours anew.
        let hour = users.get(user).filter(|entry| entry.rights == rights && entry.server == server.settings.name);
        let hour = hour.map_or((now, 0), |entry| entry.hour);
        if users.len() >= MOST && !users.contains_key(user) {
            users.retain(|_, entry| entry.asked.elapsed() < HOLDS || entry.demands.counts_by_hour);
        }
        let server = server.settings.name.clone();
        let entry = Entry { password: password.clone(), server, rights, asked: now, demands, hour };
        users.insert(user.to_owned(), entry);
    }

    /// A server has refused the user with this password. What it has said for another one holds: a stranger's wrong password is no news of it.
    pub(crate) fn forget(&self, user: &str, password: &Password) {
        let mut users = locked(&self.users);
        if users.get(user).is_some_and(|entry| entry.password == *password) {
            users.remove(user);
        }
    }

    /// One more login. Returns how many there are in the running hour.
    pub(crate) fn count(&self, user: &str) -> usize {
        let mut users = locked(&self.users);
        let Some(entry) = users.get_mut(user) else { return 0 };
        if entry.hour.0.elapsed() >= HOUR {
            entry.hour = (Instant::now(), 0);
        }
        entry.hour.1 += 1;
        entry.hour.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demands_are_read_from_definitions() {
        let plain = "CREATE USER `u`@`%` IDENTIFIED WITH 'caching_sha2_password' AS 'REQUIRE SSL' REQUIRE NONE PASSWORD \
                     EXPIRE DEFAULT ACCOUNT UNLOCK PASSWORD REQUIRE CURRENT DEFAULT";
        assert_eq!(Demands::of(plain.as_bytes()), Demands::default());
        let own = "CREATE USER `REQUIRE SSL`@`%` IDENTIFIED BY PASSWORD '*7B9'";
        assert_eq!(Demands::of(own.as_bytes()), Demands::default());
        let all = "CREATE USER `u`@`%` IDENTIFIED BY PASSWORD '*3F' REQUIRE SUBJECT '/CN=a' WITH MAX_QUERIES_PER_HOUR 7 \
                   MAX_CONNECTIONS_PER_HOUR 9 MAX_USER_CONNECTIONS 3";
        let expected =
            Demands { tls: true, max_user_connections: 3, max_connections_per_hour: 9, counts_by_hour: true };
        assert_eq!(Demands::of(all.as_bytes()), expected);
        let mysql = "CREATE USER `u`@`%` IDENTIFIED WITH 'caching_sha2_password' AS 'x' DEFAULT ROLE `r1`@`%` REQUIRE SSL \
                     WITH MAX_USER_CONNECTIONS 2 PASSWORD EXPIRE DEFAULT";
        let expected = Demands { tls: true, max_user_connections: 2, ..Demands::default() };
        assert_eq!(Demands::of(mysql.as_bytes()), expected);
    }
}
