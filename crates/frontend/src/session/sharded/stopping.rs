//! Definitions that are told to stop, or whose client goes away, while they run.
//!
//! What must always hold: what is killed is the definition's own text, or, when it is told once more, what takes it back; no other statement
//! can be hit, as nothing of the definition goes on while a KILL is on its way. A definition that nobody has recorded is dropped; any other
//! one comes to its end, which says what shards have of it.

use futures_util::future::join_all;
use weir_admin::sessions::{Interrupt, SessionHandle};
use weir_backend::kill::Kill;
use weir_ddl::define::{At, Stage};
use weir_wire::Failure;

use super::super::Session;
use super::super::kill_on_server::{KilledQuery, Killer, LOOK_INTERVAL};
use super::super::relay;
use super::super::stopped::{SessionEnd, Stopped};
use super::waiting::Running;
use crate::client::{Client, ClientError};

/// Who is to be told to stop, and how.
pub(super) struct Attending<'a> {
    pub(super) handle: &'a SessionHandle,
    pub(super) running: &'a [Running],
    pub(super) killer: Killer<'a>,
    pub(super) stage: &'a Stage,
    /// Whether the end of a client is the end of its waiting, as it is there.
    pub(super) mariadb: bool,
}

impl Attending<'_> {
    /// Waits for a definition. With its end: that of the session, if it has come meanwhile.
    ///
    /// # Errors
    /// It was stopped before anything was recorded of it; or the server that it waits for has stopped answering.
    pub(super) async fn attend<T>(
        &self,
        client: &mut Client,
        what: impl Future<Output = T>,
    ) -> Result<(T, Option<Stopped>), Stopped> {
        let mut what = std::pin::pin!(what);
        let (mut told, mut killed, mut gone) = (0_u32, KilledQuery::default(), None);
        loop {
            let mut looks = false;
            // Cancel-safe: what runs is polled on, a bell keeps its ring, and a pause begins anew where it was.
            tokio::select! {
                biased;
                ended = &mut what => return Ok((ended, self.session_end(gone))),
                () = self.handle.bell.rung() => {
                    self.lost_server()?;
                    told += u32::from(self.is_told());
                }
                () = killed.unheard() => {}
                error = client.gone(), if gone.is_none() => gone = Some(error),
                () = tokio::time::sleep(LOOK_INTERVAL), if gone.is_some() && self.mariadb => looks = true,
            }
            match self.stage.at() {
                At::Waiting if told > 0 || looks => return Err(self.dropped(gone)),
                At::Running if told > 0 => self.kill().await,
                At::Undoing if told > 1 => self.kill().await,
                At::Running if looks => self.end_waits().await,
                _ => {}
            }
            if told > 0 {
                // Looked at again, as it may just then have done something else.
                killed.first();
            }
        }
    }

    fn is_told(&self) -> bool {
        self.ends_session() || relay::ends_statement(self.handle)
    }

    fn ends_session(&self) -> bool {
        self.handle.has(Interrupt::Connection) || self.handle.has(Interrupt::ShutdownNow)
    }

    /// The end of a session whose definition has ended.
    fn session_end(&self, gone: Option<ClientError>) -> Option<Stopped> {
        match gone {
            Some(error) => Some(Stopped::Ended(error.into())),
            None if self.ends_session() => Some(Stopped::Ended(SessionEnd::Told(Session::interrupted_failure()))),
            None => None,
        }
    }

    /// Nothing has been done: it is not waited for any more, and what it reads there is not either.
    fn dropped(&self, gone: Option<ClientError>) -> Stopped {
        self.running.iter().for_each(|(server, thread)| self.killer.kill(server, *thread, Kill::Connection));
        self.session_end(gone).unwrap_or_else(|| Stopped::Refused(Session::interrupted_failure()))
    }

    fn lost_server(&self) -> Result<(), Stopped> {
        if !self.handle.has(Interrupt::ServerLost) {
            return Ok(());
        }
        self.handle.clear(Interrupt::ServerLost);
        let Some((server, _)) = self.running.iter().find(|(server, _)| server.refusal().is_some()) else {
            return Ok(());
        };
        let failure = server.lost("it has stopped answering");
        let message = format!("{}; WEIR SHOW DDL shows what is left of the definition", failure.message);
        Err(Stopped::Refused(match self.stage.at() {
            At::Waiting => failure,
            _ => Failure { message, ..failure }.maybe_done(),
        }))
    }

    async fn kill(&self) {
        join_all(self.running.iter().map(|(server, thread)| self.killer.killing(server.clone(), *thread))).await;
    }

    /// Nobody waits for the locks any more.
    async fn end_waits(&self) {
        join_all(self.running.iter().map(|(server, thread)| self.killer.end_lock_wait(server.clone(), *thread))).await;
    }
}
