//! The commands that are neither a text nor a prepared statement.

use weir_admin::logs::Event;
use weir_backend::patience;
use weir_sql::{Class, Effects, Pins};
use weir_wire::Failure;
use weir_wire::auth::{Greeted, Offer, Scramble};
use weir_wire::caps::Capabilities;
use weir_wire::error::codes;
use weir_wire::handshake::ChangeUser;
use weir_wire::packets::{EofPacket, OkPacket};
use weir_wire::reply::ReplyKind;

use super::Session;
use super::state::SessionState;
use super::stopped::SessionEnd;
use crate::client_login::{self, LoggedIn, LoginError, PASSED};

impl Session {
    /// COM_INIT_DB.
    pub(super) async fn init_db(&mut self, payload: &[u8]) -> Result<(), SessionEnd> {
        let class = Class { effects: Effects::CHANGES_DATABASE, ..Class::default() };
        let own = self.target.shard;
        if let Err(stopped) = Box::pin(self.aim_at_entrance(&payload[1..])).await {
            return self.stopped(stopped);
        }
        if self.target.shard != own
            && let Err(stopped) = self.route(&class, None).await
        {
            return self.stopped(stopped);
        }
        if let Some(outcome) = self.run_command(&class, payload, ReplyKind::Results, None).await? {
            self.learn_database(&class, &outcome).await.map_err(SessionEnd::Told)?;
        }
        Ok(())
    }

    /// COM_FIELD_LIST.
    pub(super) async fn field_list(&mut self, payload: &[u8]) -> Result<(), SessionEnd> {
        let class = Class { effects: Effects::READS, ..Class::default() };
        self.run_command(&class, payload, ReplyKind::Rows, None).await.map(drop)
    }

    /// COM_STATISTICS.
    pub(super) async fn statistics(&mut self, payload: &[u8]) -> Result<(), SessionEnd> {
        self.run_command(&Class::default(), payload, ReplyKind::Text, None).await.map(drop)
    }

    /// COM_SET_OPTION: several statements in one text, or not.
    pub(super) async fn set_option(&mut self, payload: &[u8]) -> Result<(), SessionEnd> {
        let on = match payload.get(1..3) {
            Some([0, 0]) => true,
            Some([1, 0]) => false,
            _ => {
                self.refuse(&Failure::client(codes::ER_UNKNOWN_COM_ERROR, "Unknown command"));
                return Ok(());
            }
        };
        self.client.capabilities.set(Capabilities::MULTI_STATEMENTS, on);
        self.key.capabilities = self.client.capabilities & PASSED;
        self.riding.forget_lanes();
        if self.current.lease.is_some() {
            self.run_command(&Class::default(), payload, ReplyKind::Rows, None).await?;
            let key = self.key.clone();
            if let Some(lease) = &mut self.current.lease {
                lease.key = key;
            }
            return Ok(());
        }
        let status = self.state.own_status();
        if self.client_has(Capabilities::DEPRECATE_EOF) {
            self.client.put_ok(&OkPacket { header: 0xfe, ..OkPacket::plain(status) });
        } else {
            self.client.put(&EofPacket { warnings: 0, status }.encode());
        }
        Ok(())
    }

    /// COM_RESET_CONNECTION.
    pub(super) async fn reset_connection(&mut self) -> Result<(), SessionEnd> {
        if self.state.pins.contains(Pins::ROLE) && self.keep_role_through_reset().await.is_ok() {
            let found_rows = self.state.latest.found_rows;
            self.state.reset(&self.identity);
            (self.state.pins, self.state.latest.found_rows) = (Pins::ROLE, found_rows);
        } else {
            self.leave_server_cleared().await;
            self.state.reset(&self.identity);
        }
        self.reset_own_variables();
        self.done_here();
        Ok(())
    }

    /// A reset leaves the role as it is, so the session stays on its connection, and leaves the others.
    async fn keep_role_through_reset(&mut self) -> Result<(), Failure> {
        self.leave_branches_cleared().await;
        self.have_connection().await.map_err(|_| Self::interrupted_failure())?;
        self.connection().reset().await
    }

    /// COM_CHANGE_USER: a new login on the same connection.
    pub(super) async fn change_user(&mut self, payload: &[u8]) -> Result<(), SessionEnd> {
        let request = match ChangeUser::parse(&payload[1..], self.client.capabilities) {
            Ok(request) => request,
            Err(error) => {
                let failure = Failure::client(codes::ER_MALFORMED_PACKET, error.to_string());
                return Err(SessionEnd::Told(failure));
            }
        };
        self.leave_server_cleared().await;
        let bound = self.endpoint.settings.load().handshake_timeout;
        let changing = self.change_to(request);
        match patience::within(bound, Box::pin(changing)).await {
            Some(Ok(())) => {
                self.state.answered_here();
                self.learn_audited();
                self.audit(Event::Connect);
                self.login_ok();
                Ok(())
            }
            Some(Err(LoginError::Refused(failure))) => Err(SessionEnd::Told(failure)),
            Some(Err(LoginError::Client(error))) => Err(error.into()),
            None => {
                let message = "The new login took longer than clients.handshake_timeout";
                Err(SessionEnd::Told(Failure::client(codes::ER_HANDSHAKE_ERROR, message)))
            }
        }
    }

    async fn change_to(&mut self, request: ChangeUser) -> Result<(), LoginError> {
        let plugin = self.client_has(Capabilities::PLUGIN_AUTH).then_some(&request.auth_plugin[..]);
        let offer = Offer { plugin, response: &request.auth };
        let endpoint = self.endpoint.clone();
        let peer = self.peer;
        // A client that can be asked to switch answers a new challenge, another one that of the greeting.
        let nonce = match plugin {
            Some(_) => Scramble::generate().unwrap_or(self.nonce),
            None => self.nonce,
        };
        let greeted = Greeted { nonce, plugin: None };
        let (user, unproved) = client_login::prove(
            &endpoint,
            &mut self.client,
            client_login::Origin { session: self.handle.id, peer: &peer },
            &request.user,
            greeted,
            offer,
        )
        .await?;
        let configured = endpoint.accounts.configured(&user);
        let limit = configured.as_ref().map_or(0, |user| user.max_connections);
        if user != self.user {
            self._user_entry = endpoint.registry.enter_user(&user, limit).map_err(|_| {
                let message = format!("User {user} already has more than 'max_user_connections' active connections");
                Failure::client(codes::ER_TOO_MANY_USER_CONNECTIONS, message)
            })?;
        }
        let password = unproved.clone().or_else(|| endpoint.accounts.password(&user));
        self.password = password.ok_or_else(|| client_login::access_denied(&user, &peer, true))?;
        self.key.user = user.as_bytes().into();
        self.own_replay = configured.and_then(|user| user.transaction_replay);
        self.riding.forget_lanes();
        self.collation = request.collation.unwrap_or(self.collation);
        // A new login forgets the client's flag on MariaDB.
        let forgotten = if self.identity.mariadb { Capabilities::IGNORE_SPACE } else { Capabilities::empty() };
        let flags = self.client.capabilities - forgotten;
        self.state = SessionState::new(self.shared.beginnings.of(&self.identity, flags, self.collation));
        {
            let mut info = self.handle.info();
            info.user.clone_from(&user);
            info.database = None;
        }
        self.user = user.clone();
        self.reset_own_variables();
        let logged_in =
            LoggedIn { user, database: request.database, collation: self.collation, unproved, nonce: self.nonce };
        self.enter(&logged_in).await?;
        Ok(())
    }
}
