//! Making a connection: its slot within the limits, login, and the session tracking that Weir needs.
//!
//! What must always hold: a connection that is lent has begun; one that could not begin gives its slot up.

use std::cell::Cell;
use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use bytes::BytesMut;
use lru::LruCache;
use weir_wire::Failure;
use weir_wire::auth::Password;
use weir_wire::error::codes;

use super::{Connection, Tracking};
use crate::connect::{self, Login};
use crate::limits::Permit;
use crate::pool_key::PoolKey;
use crate::profile::Profile;
use crate::server::Server;

/// A connection's slot within the limits; free again when it is dropped.
#[derive(Debug)]
pub struct ConnectionSlot {
    // Behind what counts it: whoever gets the permit finds this worker with one less.
    _counted: Counted,
    _permit: Permit,
}

/// One of the connections that a worker has to a server.
#[derive(Debug)]
struct Counted {
    server: Arc<Server>,
    worker: usize,
}

impl ConnectionSlot {
    /// Counts one more of `worker` for as long as the slot is taken.
    pub fn take(permit: Permit, server: &Arc<Server>, worker: usize) -> ConnectionSlot {
        server.limits.opened(worker);
        ConnectionSlot { _counted: Counted { server: server.clone(), worker }, _permit: permit }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.server.limits.closed(self.worker);
    }
}

/// What a new connection will be.
#[derive(Debug)]
pub struct Opening {
    /// Its id.
    pub id: u64,
    /// The server to connect to.
    pub server: Arc<Server>,
    /// The user, and what is asked of the server.
    pub key: PoolKey,
    /// The database that it starts in.
    pub database: Option<Box<[u8]>>,
    /// Prepared statements that it keeps.
    pub statements: NonZeroUsize,
    /// Its slot within the limits.
    pub slot: ConnectionSlot,
}

impl Connection {
    /// Connects, logs in, and switches on the session tracking that Weir needs.
    ///
    /// # Errors
    /// As [`connect::connect`].
    pub async fn open(opening: Opening, password: &Password) -> Result<Connection, Failure> {
        let mut connection = Self::log_in(opening, password).await?;
        match connection.begin().await {
            // The names of all variables are more than it takes. Whoever has lowered its limit could not raise it again through Weir.
            Err(failure) if failure.code == codes::ER_NET_PACKET_TOO_LARGE && !connection.server.takes_little() => {
                connection.server.note_takes_little();
                let mut again = Self::log_in(connection.reopening(), password).await?;
                again.begin().await?;
                Ok(again)
            }
            begun => begun.map(|()| connection),
        }
    }

    /// What makes the same connection once more, in its slot.
    fn reopening(self) -> Opening {
        let Connection { id, server, key, profile, most_statements, slot, .. } = self;
        Opening { id, server, key, database: profile.database.clone(), statements: most_statements, slot }
    }

    /// Switches session tracking on.
    async fn begin(&mut self) -> Result<(), Failure> {
        let profile = self.profile.clone();
        self.queue_state(&profile, true)?;
        self.flush().await?;
        self.confirm_state().await
    }

    async fn log_in(opening: Opening, password: &Password) -> Result<Connection, Failure> {
        let Opening { id, server, key, mut database, statements, slot } = opening;
        let (user, password, capabilities) = (key.user.clone(), password.clone(), key.capabilities);
        let mut login = Login { user, password, database: database.clone(), capabilities };
        let generation = server.generation();
        let rights = Cell::new(server.rights.now());
        let mut lacks_database = false;
        let connected = match connect::connect(&server, &login).await {
            // It begins in none, and whoever needs that one hears why it can't be entered.
            Err(Failure { code: codes::ER_BAD_DB_ERROR | codes::ER_DBACCESS_DENIED_ERROR, .. })
                if database.is_some() =>
            {
                (login.database, database) = (None, None);
                lacks_database = true;
                connect::connect(&server, &login).await?
            }
            connected => connected?,
        };
        let identity = server.facts().identity.clone();
        let collation = identity.as_ref().and_then(|i| i.handshake_collation(connect::HANDSHAKE_COLLATION));
        let profile = Rc::new(Profile::new(None, collation));
        // COM_RESET_CONNECTION goes back to the handshake's character set on MariaDB, to the global one on MySQL.
        let after_reset = if connected.greeting.is_mariadb() { profile.clone() } else { Rc::new(Profile::default()) };
        Ok(Connection {
            id,
            thread_id: connected.greeting.connection_id,
            capabilities: connected.capabilities,
            server,
            input: BytesMut::new(),
            statements: LruCache::new(statements),
            most_statements: statements,
            idle_since: Instant::now(),
            generation,
            rights,
            retired: false,
            untold_changes_of: None,
            temporary_made: 0,
            has_found_rows: false,
            told_of_next: false,
            ends_told: false,
            insert_id: Some(0),
            defined_before: 0,
            lacks_database,
            late: false,
            stream: connected.stream,
            output: BytesMut::new(),
            unanswered: 0,
            in_flight: 0,
            steps: VecDeque::new(),
            profile: Rc::new(profile.with_database(database.as_deref())),
            goal: None,
            after_reset,
            tracking: Tracking::Clients,
            goal_tracking: Tracking::Clients,
            key,
            slot,
        })
    }
}
