//! Weir's own connections to the shards, with its own account: for tasks that users have no rights for, or that are not theirs.
//!
//! What must always hold: everything runs on the control runtime and is bounded in time; a caller that goes away does not stop what has
//! begun; a connection whose reply was not read to its end is closed.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use weir_backend::connect::{Connected, Login, connect};
use weir_backend::monitor::{MonitorSettings, Probe};
use weir_backend::patience;
use weir_backend::{OwnReply, Position, Replaceable, Server};
use weir_catalog::ShardId;
use weir_topology::Group;
use weir_wire::error::codes;
use weir_wire::{Capabilities, Failure};

/// Bound on one statement of Weir's own. Locks are waited for for less ([`BEGINNING`]): what takes so long is a slow disk, which a
/// client's own statement would wait for as well.
pub const TIMEOUT: Duration = Duration::from_secs(30);
/// A connection that nobody has used for so long is not used again.
const KEEP: Duration = Duration::from_secs(60);
/// The most connections to a shard that are kept.
const KEPT: usize = 4;

/// What such a connection begins with: nothing of the server's defaults may change what statements mean or whether they are durable.
const BEGINNING: &str = "SET NAMES utf8mb4, SESSION autocommit = 1, SESSION sql_mode = 'STRICT_ALL_TABLES', \
                         SESSION time_zone = '+00:00', SESSION lock_wait_timeout = 5, SESSION innodb_lock_wait_timeout = 5";

/// See the module. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Own {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    groups: Vec<Arc<Group>>,
    account: Replaceable<MonitorSettings>,
    control: Handle,
    kept: Vec<Mutex<Vec<Kept>>>,
}

/// A connection that nobody uses now.
#[derive(Debug)]
struct Kept {
    link: Link,
    since: Instant,
}

#[derive(Debug)]
struct Link {
    probe: Probe,
    server: Arc<Server>,
    /// The server's when it was made.
    generation: u64,
    account: Arc<MonitorSettings>,
}

impl Own {
    /// Connections to the writers of these groups; the n-th is that of shard n.
    pub fn new(groups: Vec<Arc<Group>>, account: Replaceable<MonitorSettings>, control: Handle) -> Own {
        let kept = groups.iter().map(|_| Mutex::default()).collect();
        Own { shared: Arc::new(Shared { groups, account, control, kept }) }
    }

    /// The shards' groups.
    pub fn groups(&self) -> &[Arc<Group>] {
        &self.shared.groups
    }

    /// All shards.
    pub fn shards(&self) -> impl Iterator<Item = ShardId> + use<> {
        (0..self.shared.groups.len()).filter_map(|at| u16::try_from(at).ok().map(ShardId))
    }

    /// The name of Weir's own account, as the configuration has it.
    pub fn user(&self) -> String {
        String::from_utf8_lossy(&self.shared.account.load().user).into_owned()
    }

    /// Runs something on the control runtime, and awaits it. It continues if the caller goes away.
    ///
    /// # Errors
    /// Its own, or 1053 when Weir ends.
    pub async fn apart<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Failure>> + Send + 'static,
    ) -> Result<T, Failure> {
        self.shared
            .control
            .spawn(work)
            .await
            .unwrap_or_else(|_| Err(Failure::weir(codes::ER_SERVER_SHUTDOWN, "Weir is ending").maybe_done()))
    }

    /// Runs something on the control runtime that nobody awaits.
    pub fn behind(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.shared.control.spawn(work);
    }

    /// Runs a statement on a shard's writer.
    ///
    /// **It may run twice**: a kept connection that turns out to be lost is replaced by a new one, once. So it must be one that does no
    /// harm when it is repeated.
    ///
    /// # Errors
    /// The server's error; 2003 or 2013 when it can't be reached, or does not answer in time.
    pub async fn run(&self, shard: ShardId, sql: impl Into<String>) -> Result<OwnReply, Failure> {
        let mut replies = self.run_all(shard, vec![sql.into()]).await?;
        Ok(replies.pop().unwrap_or_default())
    }

    /// Runs statements one after the other on one connection to a shard's writer, up to the first that fails: whatever transaction is
    /// open then is rolled back. Otherwise as [`Own::run`].
    ///
    /// # Errors
    /// As [`Own::run`].
    pub async fn run_all(&self, shard: ShardId, statements: Vec<String>) -> Result<Vec<OwnReply>, Failure> {
        let own = self.clone();
        self.apart(async move { own.run_here(shard, &statements).await }).await
    }

    /// The same, once, on a new connection, and as long as it takes while the server is up: a definition may have to copy a large table.
    ///
    /// # Errors
    /// The server's error; 2003 or 2013 when it can't be reached or goes down.
    pub async fn run_long(&self, shard: ShardId, statements: Vec<String>) -> Result<Vec<OwnReply>, Failure> {
        let own = self.clone();
        let work = async move {
            let mut link = own.link(shard).await?;
            let outcome = link.run_all(&statements, Patience::WhileUp).await;
            own.keep(shard, link, outcome)
        };
        self.apart(work).await
    }

    /// A connection of its own to a shard's writer, for what takes several statements: locks, above all. Whoever drops it closes it.
    ///
    /// # Errors
    /// 2003 when the shard can't be reached.
    pub async fn session(&self, shard: ShardId) -> Result<OwnSession, Failure> {
        self.link(shard).await.map(OwnSession)
    }

    /// Up to where the shard's writer has committed.
    ///
    /// # Errors
    /// As [`Own::session`]; or when the server tells no position.
    pub async fn position(&self, shard: ShardId) -> Result<Arc<Position>, Failure> {
        let (server, account) = (self.group(shard).writer(), self.shared.account.load_full());
        let mut probe = Probe::open(&server, &account).await?;
        within(&server, probe.observe()).await.map(|observation| observation.visible)
    }

    /// Runs a statement on every shard's writer at the same time. Otherwise as [`Own::run`].
    pub async fn run_everywhere(&self, sql: &str) -> Vec<(ShardId, Result<OwnReply, Failure>)> {
        let begun: Vec<_> = self
            .shards()
            .map(|shard| {
                let (own, sql) = (self.clone(), sql.to_owned());
                (shard, self.shared.control.spawn(async move { own.run_here(shard, &[sql]).await }))
            })
            .collect();
        let mut replies = Vec::with_capacity(begun.len());
        for (shard, reply) in begun {
            let ended = |_| Err(Failure::weir(codes::ER_SERVER_SHUTDOWN, "Weir is ending"));
            let reply = reply.await.unwrap_or_else(ended).map(|mut all| all.pop().unwrap_or_default());
            replies.push((shard, reply));
        }
        replies
    }

    async fn run_here(&self, shard: ShardId, statements: &[String]) -> Result<Vec<OwnReply>, Failure> {
        if let Some(mut link) = self.kept(shard) {
            match link.run_all(statements, Patience::Short).await {
                Err(failure) if was_lost(&failure) => {}
                outcome => return self.keep(shard, link, outcome),
            }
        }
        let mut link = self.link(shard).await?;
        let outcome = link.run_all(statements, Patience::Short).await;
        self.keep(shard, link, outcome)
    }

    /// A connection after its statements: kept if it can be used again.
    fn keep(
        &self,
        shard: ShardId,
        link: Link,
        outcome: Result<Vec<OwnReply>, Failure>,
    ) -> Result<Vec<OwnReply>, Failure> {
        // After an error there may be an open transaction, or a reply on its way.
        if outcome.is_ok() {
            let mut kept = self.kept_of(shard).lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() < KEPT {
                kept.push(Kept { link, since: Instant::now() });
            }
        }
        outcome
    }

    fn kept(&self, shard: ShardId) -> Option<Link> {
        let (writer, account) = (self.group(shard).writer(), self.shared.account.load_full());
        let mut kept = self.kept_of(shard).lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|kept| {
            let same = Arc::ptr_eq(&kept.link.server, &writer) && Arc::ptr_eq(&kept.link.account, &account);
            same && kept.link.generation == writer.generation() && kept.since.elapsed() < KEEP
        });
        kept.pop().map(|kept| kept.link)
    }

    /// A new connection to a shard's writer, for one who reads or writes much on it. Nothing is set on it yet.
    ///
    /// # Errors
    /// 2003 when the server can't be reached; its own error when it refuses the login.
    pub async fn connect(&self, shard: ShardId) -> Result<(Arc<Server>, Connected), Failure> {
        let (server, account) = (self.group(shard).writer(), self.shared.account.load_full());
        let (user, password) = (account.user.clone(), account.password.clone());
        let login = Login { user, password, database: None, capabilities: Capabilities::empty() };
        let connected = connect(&server, &login).await?;
        Ok((server, connected))
    }

    async fn link(&self, shard: ShardId) -> Result<Link, Failure> {
        let (server, account) = (self.group(shard).writer(), self.shared.account.load_full());
        let generation = server.generation();
        let mut probe = Probe::open(&server, &account).await?;
        within(&server, probe.run(BEGINNING)).await?;
        Ok(Link { probe, server, generation, account })
    }

    fn group(&self, shard: ShardId) -> &Arc<Group> {
        &self.shared.groups[usize::from(shard.0)]
    }

    fn kept_of(&self, shard: ShardId) -> &Mutex<Vec<Kept>> {
        &self.shared.kept[usize::from(shard.0)]
    }
}

/// See [`Own::session`].
#[derive(Debug)]
pub struct OwnSession(Link);

impl OwnSession {
    /// Runs a statement, within [`TIMEOUT`].
    ///
    /// # Errors
    /// The server's; 2013 when it does not answer in time. The statement may run on then.
    pub async fn run(&mut self, sql: &str) -> Result<OwnReply, Failure> {
        within(&self.0.server, self.0.probe.run(sql)).await
    }

    /// The same, for as long as the server is up.
    ///
    /// # Errors
    /// The server's; 2013 when it goes down.
    pub async fn run_long(&mut self, sql: &str) -> Result<OwnReply, Failure> {
        let reply = std::pin::pin!(self.0.probe.run(sql));
        while_up(&self.0.server, TIMEOUT, reply).await
    }
}

impl Link {
    async fn run_all(&mut self, statements: &[String], patience: Patience) -> Result<Vec<OwnReply>, Failure> {
        let mut replies = Vec::with_capacity(statements.len());
        for sql in statements {
            let reply = std::pin::pin!(self.probe.run(sql));
            replies.push(match patience {
                Patience::Short => within(&self.server, reply).await?,
                Patience::WhileUp => while_up(&self.server, TIMEOUT, reply).await?,
            });
        }
        Ok(replies)
    }
}

/// Whether a kept connection had been closed meanwhile, by the server or on the way. One that does not answer in time is another matter.
fn was_lost(failure: &Failure) -> bool {
    let closed = [codes::CR_SERVER_LOST, codes::ER_CLIENT_INTERACTION_TIMEOUT, codes::ER_CONNECTION_KILLED];
    closed.contains(&failure.code) && failure.retry_safe
}

/// How long a statement is waited for.
#[derive(Debug, Clone, Copy)]
enum Patience {
    /// [`TIMEOUT`].
    Short,
    /// Until the server is found to be down.
    WhileUp,
}

/// The reply, if it comes before the server is found to be down. That is looked at as often as `look`.
async fn while_up<T>(
    server: &Server,
    look: Duration,
    mut reply: Pin<&mut impl Future<Output = Result<T, Failure>>>,
) -> Result<T, Failure> {
    loop {
        if let Some(outcome) = patience::within(look, reply.as_mut()).await {
            return outcome;
        }
        if let Some(refusal) = server.refusal() {
            return Err(server.lost(&refusal.message).maybe_done());
        }
    }
}

/// The reply, if it comes in time. What takes too long may still be done.
async fn within<T>(server: &Server, reply: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let outcome = patience::within(TIMEOUT, reply).await;
    outcome.unwrap_or_else(|| Err(server.lost(&format!("no answer within {TIMEOUT:?}")).maybe_done()))
}

/// A text as a literal, under the sql_mode of Weir's own connections.
pub fn quoted(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('\'');
    for c in text.chars() {
        match c {
            '\'' => literal.push_str("''"),
            '\\' => literal.push_str("\\\\"),
            c => literal.push(c),
        }
    }
    literal.push('\'');
    literal
}

/// A name within backticks.
pub fn name(text: &str) -> String {
    format!("`{}`", text.replace('`', "``"))
}

/// A cell as text; NULL is empty.
pub fn text(cell: Option<&Option<Vec<u8>>>) -> String {
    cell.and_then(Option::as_deref).map(|bytes| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default()
}

/// A cell as a number.
pub fn number(cell: Option<&Option<Vec<u8>>>) -> Option<u64> {
    text(cell).parse().ok()
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use weir_backend::server::{ConnectSettings, Health, Tls};
    use weir_backend::{Address, ServerSettings};

    use super::*;

    const LOOK: Duration = Duration::from_millis(5);

    fn server() -> Server {
        let settings = ServerSettings {
            name: "s1-writer".to_owned(),
            address: Address::Tcp { host: "127.0.0.1".to_owned(), port: 3306 },
            max_connections: 1,
            max_user_connections: 0,
            track_gtids: false,
        };
        Server::new(settings, ConnectSettings { tls: Tls::Off, connect_timeout: TIMEOUT }, 1)
    }

    async fn reply_after(time: Duration) -> Result<&'static str, Failure> {
        tokio::time::sleep(time).await;
        Ok("done")
    }

    #[tokio::test]
    async fn a_long_statement_is_waited_for_while_its_server_is_up() {
        let server = server();
        assert_eq!(while_up(&server, LOOK, pin!(reply_after(LOOK * 20))).await, Ok("done"));
    }

    #[tokio::test]
    async fn a_server_that_goes_down_is_waited_for_no_longer() {
        let server = server();
        server.set_facts(Health::Down("no route".to_owned()), None);
        let lost = while_up(&server, LOOK, pin!(std::future::pending::<Result<(), Failure>>())).await;
        assert!(lost.is_err_and(|failure| failure.message.contains("no route") && !failure.retry_safe));
    }
}
