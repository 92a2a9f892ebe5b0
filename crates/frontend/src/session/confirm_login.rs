//! Before a client is let in: a server's word that its user may log in now, and what the account demands of the client.
//!
//! What must always hold: nobody is let in whom the home shard's server would refuse at that moment, as far as Weir can
//! ask it: see [`crate::login_cache`]. While no server can be reached nothing is taken from a user either: each connection made
//! later is a login of its own.

use std::sync::Arc;

use weir_sql::{Class, Effects, Pins};
use weir_wire::Failure;
use weir_wire::auth::{Channel, Password};
use weir_wire::error::codes;

use super::Session;
use crate::client_login;
use crate::login_cache::Demands;

impl Session {
    /// Lets the session's user in, or not. `told`: the client has told the password, and nothing has proved it.
    pub(super) async fn verify(&mut self, told: bool) -> Result<(), Failure> {
        let password = self.password.clone();
        let demands = match self.word_of_a_server(&password, told).await {
            Ok(demands) => demands,
            Err(failure) if [codes::CR_CONN_HOST_ERROR, codes::CR_SERVER_LOST].contains(&failure.code) => {
                return Err(failure);
            }
            Err(failure) => {
                let endpoint = &self.endpoint;
                endpoint.accounts.verified.forget(&self.user, &password);
                if failure.code != codes::ER_ACCESS_DENIED_ERROR {
                    return Err(failure);
                }
                endpoint.metrics.denied.inc();
                endpoint.accounts.forget_if(&self.user, &password);
                return Err(client_login::access_denied(&self.user, &self.peer, !password.is_empty()));
            }
        };
        self.meet(&demands)?;
        if told {
            self.endpoint.accounts.learn(&self.user, password);
        }
        Ok(())
    }

    async fn word_of_a_server(&self, password: &Password, told: bool) -> Result<Arc<Demands>, Failure> {
        let verified = &self.endpoint.accounts.verified;
        let mut refusal = None;
        for backend in self.shared.home().entrances() {
            let server = &backend.pool.server;
            if let Some(demands) = verified.by(server, &self.user, password) {
                return Ok(demands);
            }
            let turn = verified.turn(&self.user);
            let _turn = turn.lock().await;
            if let Some(demands) = verified.by(server, &self.user, password) {
                return Ok(demands);
            }
            let rights = server.rights.now();
            let demands = match backend.pool.prove(&self.key, password).await {
                Ok(definition) => Arc::new(definition.as_deref().map(Demands::of).unwrap_or_default()),
                Err(failure) if weir_backend::pool::is_full(&failure) => {
                    verified.once(&self.user, password).ok_or(failure)?
                }
                // A server that dies while it is asked has said nothing.
                Err(failure) if [codes::CR_CONN_HOST_ERROR, codes::CR_SERVER_LOST].contains(&failure.code) => {
                    refusal = refusal.or(Some(failure));
                    continue;
                }
                Err(failure) => return Err(failure),
            };
            verified.note(server, &self.user, password, rights, demands.clone());
            for server in self.endpoint.servers() {
                server.limits.set_user(self.user.as_bytes(), demands.max_user_connections);
            }
            self.endpoint.admission.set_user(self.user.as_bytes(), demands.max_user_connections);
            return Ok(demands);
        }
        // What is known of the password is all that there is to go by; nothing can be read or written with it now.
        if !told {
            return Ok(verified.once(&self.user, password).unwrap_or_default());
        }
        Err(refusal.unwrap_or_else(|| self.endpoint.home().writer().unreachable("there is no server")))
    }

    /// What a server would demand of the client itself, and sees of Weir's connections only.
    fn meet(&self, demands: &Demands) -> Result<(), Failure> {
        if demands.tls && self.client.stream().channel() != Channel::Secure {
            self.endpoint.metrics.denied.inc();
            return Err(client_login::access_denied(&self.user, &self.peer, !self.password.is_empty()));
        }
        let most = demands.max_user_connections;
        if most > 0 && self.endpoint.registry.sessions_of(&self.user) > most {
            return Err(self.exceeds("max_user_connections", most));
        }
        let most = demands.max_connections_per_hour;
        if most > 0 && self.endpoint.accounts.verified.count(&self.user) > most {
            return Err(self.exceeds("max_connections_per_hour", most));
        }
        Ok(())
    }

    fn exceeds(&self, resource: &str, most: usize) -> Failure {
        self.endpoint.metrics.refused.inc();
        let message = format!("User '{}' has exceeded the '{resource}' resource (current value: {most})", self.user);
        Failure::client(codes::ER_USER_LIMIT_REACHED, message)
    }

    /// A text has run: if it may have changed accounts, nothing that was given before is given again, on any server.
    ///
    /// On replicas the change may still be on its way: their monitors see it arrive.
    pub(super) fn note_accounts(&mut self, class: &Class) {
        let prepared = class.pins.contains(Pins::TEXT_PREPARE);
        let changes = class.effects.contains(Effects::CHANGES_ACCOUNTS);
        self.prepares_for_accounts |= changes && prepared;
        if changes || prepared && self.prepares_for_accounts {
            self.endpoint.servers().for_each(|server| server.rights.changed());
        }
    }
}
