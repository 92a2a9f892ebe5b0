//! One question of the monitor to a server, asked until there is an answer.
//!
//! An answer may be late because the connection is broken, or because the server is slow. So another connection is tried when none has come
//! for a while, and the earlier ones are still listened to: a server that takes three seconds for each answer has not stopped.
//!
//! A server that answers on a new connection only has gone on without the older ones: what has carried them (a firewall, a gateway) has
//! forgotten them. No other idle connection is lent then.
//!
//! What must always hold: a server is told hung when it has answered on none of them for the bound, and not before.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use weir_wire::Failure;
use weir_wire::error::codes;

use super::start::{Seen, Start};
use super::{MonitorSettings, Probe};
use crate::patience::STEP;
use crate::server::{Identity, Observation, Server};

/// The most connections on which an answer is awaited. A slow server gets so many times [`MonitorSettings::timeout`] for a login.
const MOST: usize = 4;

/// What a server has answered, and where.
pub(super) struct Answer {
    pub(super) probe: Probe,
    /// What the server is; on a new connection, as it may be another one.
    pub(super) identity: Option<Identity>,
    pub(super) observation: Observation,
}

enum Told {
    Answer(Box<Answer>),
    /// A kept connection that has broken says nothing of the server as it is now: it may have been restarted, or have closed this one
    /// connection. Only a fresh one tells.
    Nothing,
    /// Not on a fresh one.
    Refused(Failure),
}

type Attempt<'a> = Pin<Box<dyn Future<Output = Told> + Send + 'a>>;

/// See the module.
pub(super) struct Question<'a> {
    server: &'a Server,
    settings: &'a MonitorSettings,
    last_start: Start,
    attempts: Vec<Attempt<'a>>,
    /// The first of them is on the kept connection.
    awaits_kept: bool,
}

impl<'a> Question<'a> {
    /// `last_start` is the start that the server was last seen after.
    pub(super) fn new(server: &'a Server, settings: &'a MonitorSettings, last_start: Start) -> Self {
        Question { server, settings, last_start, attempts: Vec::new(), awaits_kept: false }
    }

    /// Asks, on the kept connection first. `silent`: for how long the server has not answered; `unanswered` is called with each attempt
    /// that follows, and once the bound has been passed, with whether it has.
    ///
    /// # Errors
    /// Why the server can't be reached.
    pub(super) async fn ask(
        mut self,
        kept: Option<Probe>,
        mut silent: Duration,
        mut unanswered: impl FnMut(bool),
    ) -> Result<Answer, Failure> {
        let MonitorSettings { timeout, hang_timeout, .. } = *self.settings;
        self.awaits_kept = kept.is_some();
        self.attempts.extend(kept.map(|kept| -> Attempt<'a> { Box::pin(ask_kept(self.server, kept)) }));
        let mut next_in = timeout;
        loop {
            if self.attempts.is_empty() {
                self.try_afresh();
            }
            match tokio::time::timeout(STEP, self.first()).await {
                Ok(Told::Answer(answer)) => {
                    if self.awaits_kept {
                        tracing::warn!(server = %self.server.settings.name, "connections from before are not used: it answers on a new one only");
                        self.server.retire_connections();
                    }
                    return Ok(*answer);
                }
                Ok(Told::Refused(failure)) => return Err(failure),
                Ok(Told::Nothing) => {}
                Err(_) => {
                    let was_hung = silent >= hang_timeout;
                    silent += STEP;
                    next_in = next_in.saturating_sub(STEP);
                    if next_in.is_zero() {
                        self.try_afresh();
                        next_in = timeout;
                        unanswered(silent >= hang_timeout);
                    } else if silent >= hang_timeout && !was_hung {
                        unanswered(true);
                    }
                }
            }
        }
    }

    fn try_afresh(&mut self) {
        if self.attempts.len() == MOST {
            // The oldest may be that of a slow server; the others have had their time.
            drop(self.attempts.remove(1));
        }
        self.attempts.push(Box::pin(ask_fresh(self.server, self.settings, self.last_start)));
    }

    /// What is told first on any of the connections. Cancel-safe.
    fn first(&mut self) -> impl Future<Output = Told> {
        poll_fn(|context| {
            let told =
                self.attempts.iter_mut().enumerate().find_map(|(at, attempt)| match attempt.as_mut().poll(context) {
                    Poll::Ready(told) => Some((at, told)),
                    Poll::Pending => None,
                });
            let Some((at, told)) = told else { return Poll::Pending };
            drop(self.attempts.remove(at));
            self.awaits_kept &= at > 0;
            Poll::Ready(told)
        })
    }
}

async fn ask_kept(server: &Server, mut probe: Probe) -> Told {
    server.pulse.sent(Instant::now());
    let answered = async {
        probe.pong().await?;
        probe.observe().await
    };
    match answered.await {
        Ok(observation) => Told::Answer(Box::new(Answer { probe, identity: None, observation })),
        Err(_) => Told::Nothing,
    }
}

async fn ask_fresh(server: &Server, settings: &MonitorSettings, last_start: Start) -> Told {
    let begun = Instant::now();
    let asked = async {
        let mut probe = Probe::open(server, settings).await?;
        probe.life = server.observation().map_or(0, |last| last.life + 1);
        let (asked, connection) = (Instant::now(), probe.connected.greeting.connection_id);
        let uptime = probe.uptime().await?;
        probe.start = last_start.after(Seen { asked, answered: Instant::now(), uptime, connection });
        let identity = Some(probe.identity().await?);
        let observation = probe.observe().await?;
        Ok::<_, Failure>(Box::new(Answer { probe, identity, observation }))
    };
    match asked.await {
        Ok(answer) => Told::Answer(answer),
        // Nobody has refused: nothing was heard for the bound on connecting.
        Err(failure) if failure.code == codes::CR_CONN_HOST_ERROR && begun.elapsed() >= settings.timeout => {
            Told::Nothing
        }
        Err(failure) => Told::Refused(failure),
    }
}
