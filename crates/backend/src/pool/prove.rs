//! Verifies a user with a server: a separate login, whatever connections the pool has.
//!
//! What must always hold: nothing that was given before counts. A limit of concurrent connections that a server has for
//! the account is no refusal, for the pool's connections are what fills it, and it is looked at after the password.

use std::rc::Rc;

use weir_wire::auth::Password;
use weir_wire::{Capabilities, Failure, Fault, error::codes};

use super::{Pool, Request};
use crate::connect::{Login, connect};
use crate::monitor::Probe;
use crate::patience::within;
use crate::pool_key::PoolKey;
use crate::profile::Profile;

/// Tells an account's own definition to whoever is logged in to it, without any right.
const DEFINITION: &str = "SHOW CREATE USER CURRENT_USER()";

impl Pool {
    /// Logs in as the user with this password. Returns the definition of the account that the server has found, if it tells it.
    ///
    /// # Errors
    /// As [`Pool::lend`]; 1862 for a password that has expired.
    pub async fn prove(self: &Rc<Self>, key: &PoolKey, password: &Password) -> Result<Option<Vec<u8>>, Failure> {
        if let Some(refusal) = self.server.refusal() {
            return Err(refusal);
        }
        let asked = match self.server.limits.try_permit(&key.user) {
            Ok(permit) => {
                let profile = &Profile::default();
                let request = Request { key, password, profile, patient: false, may_lack_database: false };
                let mut lease = self.make(request, permit).await?;
                let asked = lease.query(DEFINITION).await;
                // One connection more for each proof would fill the pool.
                if asked.is_err() || self.has_idle(key) {
                    lease.close();
                }
                asked
            }
            // All connections are busy: nobody waits for one only to be let in.
            Err(_) => {
                let capabilities = Capabilities::empty();
                let login = Login { user: key.user.clone(), password: password.clone(), database: None, capabilities };
                let mut probe = Probe::new(connect(&self.server, &login).await?);
                let bound = self.server.reach().connect_timeout;
                let asked = within(bound, probe.run(DEFINITION)).await;
                asked.ok_or_else(|| self.server.unreachable("it does not tell of an account"))?
            }
        };
        match asked {
            Ok(reply) => Ok(reply.rows.into_iter().flatten().next().flatten()),
            Err(failure) if failure.code == codes::ER_MUST_CHANGE_PASSWORD => Err(expired()),
            Err(failure) if failure.code == codes::CR_SERVER_LOST => Err(failure),
            Err(_) => Ok(None),
        }
    }

    fn has_idle(&self, key: &PoolKey) -> bool {
        self.state.borrow().idle.get(key).is_some_and(|list| !list.is_empty())
    }
}

/// Whether a login failed only because the account has as many connections as it may have at a time.
pub fn is_full(failure: &Failure) -> bool {
    failure.code == codes::ER_TOO_MANY_USER_CONNECTIONS && failure.fault == Fault::Server
        || failure.code == codes::ER_USER_LIMIT_REACHED && failure.message.contains("'max_user_connections'")
}

fn expired() -> Failure {
    let message = "Your password has expired. To log in you must change it using a client that supports expired \
                   passwords, on a connection to the server itself: Weir does not serve such logins";
    Failure::client(codes::ER_MUST_CHANGE_PASSWORD_LOGIN, message)
}
