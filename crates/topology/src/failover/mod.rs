//! Replacing a group's writer: when it dies, and when somebody asks for it; and putting servers that come back in their place.
//!
//! [`decide`] says what is to be done, a pure function of facts; [`actions`] are the sequences of steps, over [`hands::Hands`], which are real
//! servers or a simulation; [`Failover`] does it, one action at a time, and keeps [`records`] of it. Groups that elect their writer are
//! only followed ([`crate::elected`]), and asked to elect another one ([`electing`]).
//!
//! What must always hold: no two servers of a group are made to take writes; nothing that the group's kind promises to keep is given up by
//! itself; while the writer is changed by a command, clients' statements wait, and what is open ends first.

mod actions;
mod ask;
mod candidate;
mod decide;
mod electing;
mod hands;
mod member;
mod records;
mod servers;
#[cfg(test)]
mod simulation;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use weir_backend::Replaceable;
use weir_backend::monitor::MonitorSettings;
use weir_backend::server::Health;

use crate::follows::Follows;
use crate::group::Group;
use crate::kind::GroupKind;
use crate::roles::{Fact, takes_writes};
pub use actions::ActionError;
use actions::Scene;
use decide::{Memory, Next, RETRY, Sight};
use hands::Hands;
use records::Progress;
pub use records::{Action, Record, Records};
use servers::Servers;

/// Why a command about a group's writer was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FailoverError {
    /// There is no such server.
    #[error("there is no server '{0}'; WEIR SHOW SERVERS lists the servers")]
    Unknown(String),
    /// Something is going on already.
    #[error("the group's writer is being changed already; WEIR SHOW FAILOVERS tells of it")]
    Busy,
    /// It can't be done, or was not done to its end.
    #[error(transparent)]
    Action(#[from] ActionError),
}

/// Why nothing is done about a group whose servers do not follow one another, as far as Weir knows.
const UNKNOWN_KIND: &str = "Weir does not know how the group replicates: its servers do not follow one another by GTIDs, or Weir's account may not \
                            ask (docs/groups.md). Change the writer by hand, and use WEIR SET WRITER";
/// How long a command waits for what is being done already.
const BUSY_BOUND: Duration = Duration::from_secs(10);

/// Something is being done. When it has ended, what the servers had said before does not count any more.
struct Acting<'a> {
    _lock: tokio::sync::MutexGuard<'a, ()>,
    failover: &'a Failover,
}

impl Drop for Acting<'_> {
    fn drop(&mut self) {
        self.failover.memory().acted = Some(Instant::now());
    }
}

/// See the module: of one group.
#[derive(Debug)]
pub struct Failover {
    group: Arc<Group>,
    account: Replaceable<MonitorSettings>,
    control: Handle,
    acting: tokio::sync::Mutex<()>,
    memory: Mutex<Memory>,
    notice: Mutex<Option<String>>,
    /// What was done to the group.
    pub records: Records,
}

impl Failover {
    /// Of a group, with Weir's own account. What commands begin runs on `control`, to its end.
    pub fn new(group: Arc<Group>, account: Replaceable<MonitorSettings>, control: Handle) -> Failover {
        let mut memory = Memory::new(group.servers.len());
        memory.recalled = group.recalled();
        Failover {
            group,
            account,
            control,
            acting: tokio::sync::Mutex::default(),
            memory: Mutex::new(memory),
            notice: Mutex::default(),
            records: Records::default(),
        }
    }

    /// The group.
    pub fn group(&self) -> &Arc<Group> {
        &self.group
    }

    /// What is wrong with the writer, or with another server, and is waited for or has to be seen to.
    pub fn notice(&self) -> Option<String> {
        self.notice.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether an action is under way.
    pub fn is_acting(&self) -> bool {
        self.acting.try_lock().is_err()
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn name(&self, server: usize) -> &str {
        &self.group.servers[server].settings.name
    }

    fn hands(&self) -> Servers {
        let group = self.group.settings().name.clone();
        Servers::new(&group, self.group.servers.clone(), self.account.load_full())
    }

    /// Looks at the facts again and again, and does what has to be done, for as long as it is polled. `lost` is told the name of
    /// a writer that was replaced without its consent: what runs there will not be answered.
    pub async fn watch(self: Arc<Self>, lost: impl Fn(&str)) {
        let mut writer = self.group.view().writer;
        loop {
            tokio::time::sleep(Duration::from_millis(50)).await;
            let view = self.group.view();
            if view.writer != writer {
                if view.kind.elects() && !self.is_acting() {
                    self.note_election(writer, view.writer);
                    lost(self.name(writer));
                }
                writer = view.writer;
            }
            let Ok(_lock) = self.acting.try_lock() else { continue };
            let next = self.next();
            let watched = if let Next::Watch(why) = &next { Some(why.clone()) } else { None };
            *self.notice.lock().unwrap_or_else(PoisonError::into_inner) = watched;
            if matches!(next, Next::Nothing | Next::Watch(_)) {
                continue;
            }
            if let Next::Join(server) = next {
                member::join_again(self.clone(), server);
                continue;
            }
            let _acting = Acting { _lock, failover: &self };
            match next {
                Next::Nothing | Next::Watch(_) | Next::Join(_) => {}
                Next::Failover => {
                    let old = self.group.view().writer;
                    let done = self.replace(None, true).await;
                    if done.is_ok() {
                        lost(self.name(old));
                    }
                }
                Next::Appoint(server) => {
                    tracing::info!(group = %self.group.settings().name, server = %self.name(server), "all others follow it: it is the writer");
                    self.group.install_writer(server);
                }
                Next::Resume => drop(self.resume("it came back, and has all that the others have").await),
                Next::Detach => self.detach().await,
                Next::Fence(server) => self.fence(server).await,
                Next::Rejoin(server) => self.rejoin(server).await,
            }
        }
    }

    fn note_election(&self, old: usize, new: usize) {
        let group = self.group.settings().name.clone();
        let mut progress = Progress::begin(&group, Action::Elected, self.name(old));
        progress.to(self.name(new));
        progress.note(format!("the group has '{}' take writes in place of '{}'", self.name(new), self.name(old)));
        progress.end(&self.records, &Ok::<(), String>(()));
    }

    fn next(&self) -> Next {
        self.with_sight(|sight| decide::decide(sight, &mut self.memory()))
    }

    fn with_sight<T>(&self, look: impl FnOnce(&Sight<'_>) -> T) -> T {
        let now = Instant::now();
        let facts = self.group.present_facts(now);
        let view = self.group.view();
        let settings = self.group.settings();
        let quarantined = self.group.quarantined().iter().map(Option::is_some).collect();
        let (writer, kind) = (view.writer, view.kind);
        look(&Sight { facts: &facts, quarantined, writer, kind, settings: &settings, now })
    }

    fn scene(&self) -> Scene {
        let (view, settings) = (self.group.view(), self.group.settings());
        let up = |server: &usize| self.group.servers[*server].facts().health == Health::Up;
        let quarantined = self.group.quarantined();
        let replicas = (0..self.group.servers.len()).filter(|server| *server != view.writer).filter(up);
        let replicas = replicas.filter(|server| quarantined[*server].is_none());
        Scene {
            names: self.group.servers.iter().map(|server| server.settings.name.clone()).collect(),
            writer: view.writer,
            replicas: replicas.map(|server| (server, self.group.promotion(server))).collect(),
            needed: self.with_sight(decide::needed),
            last_known: view.writer_position.as_ref().map(|position| position.position.clone()),
            max_lost: settings.max_lost,
            // What is held meanwhile must not fail if nothing comes of it.
            drain: settings.writer_wait / 2,
        }
    }

    /// Replaces the writer, which is gone. The caller acts alone.
    async fn replace(&self, wanted: Option<usize>, by_itself: bool) -> Result<(), ActionError> {
        let (mut scene, mut hands) = (self.scene(), self.hands());
        if !by_itself {
            // Whoever asks for it accepts what it costs.
            (scene.needed, scene.max_lost) = (1, None);
        }
        let group = self.group.settings().name.clone();
        let mut progress = Progress::begin(&group, Action::Failover, &scene.names[scene.writer]);
        progress.note(self.what_is_seen(scene.writer));
        let replaced = actions::fail_over(&mut hands, &scene, wanted, &mut progress).await;
        {
            let (mut memory, now) = (self.memory(), Instant::now());
            match &replaced {
                Ok(new) => {
                    memory.promoted(*new);
                    memory.rests_until[scene.writer] = None;
                    memory.last_failover = if by_itself { Some(now) } else { memory.last_failover };
                }
                Err(_) => memory.rests_until[scene.writer] = Some(now + RETRY),
            }
        }
        if let Ok(new) = replaced {
            progress.to(&scene.names[new]);
            self.group.install_writer(new);
            actions::follow_all(&mut hands, &scene, new, &mut progress).await;
        }
        let outcome = replaced.map(drop);
        progress.end(&self.records, &outcome);
        outcome
    }

    /// What led to the decision.
    fn what_is_seen(&self, writer: usize) -> String {
        let facts = self.group.servers[writer].facts();
        let why = match &facts.health {
            Health::Down(why) => why.clone(),
            other => other.name().to_owned(),
        };
        format!("'{}' can't be used for {:.1} s: {why}", self.name(writer), facts.since.elapsed().as_secs_f64())
    }

    /// Has the writer take writes, and follow nobody.
    async fn resume(&self, why: &str) -> Result<(), ActionError> {
        let (scene, mut hands) = (self.scene(), self.hands());
        let group = self.group.settings().name.clone();
        let mut progress = Progress::begin(&group, Action::Resume, &scene.names[scene.writer]);
        progress.note(why);
        let resumed = actions::resume(&mut hands, &scene).await;
        self.rest_if_failed(scene.writer, resumed.is_err());
        progress.end(&self.records, &resumed);
        resumed
    }

    async fn detach(&self) {
        let (scene, mut hands) = (self.scene(), self.hands());
        let group = self.group.settings().name.clone();
        let mut progress = Progress::begin(&group, Action::Resume, &scene.names[scene.writer]);
        progress.note("it has all that the others have, takes writes, and is a replica yet");
        let detached = actions::detach(&mut hands, &scene).await;
        self.rest_if_failed(scene.writer, detached.is_err());
        progress.end(&self.records, &detached);
    }

    async fn fence(&self, server: usize) {
        let group = self.group.settings().name.clone();
        let mut progress = Progress::begin(&group, Action::Fence, self.name(server));
        progress.note("it takes writes, and is not the writer");
        let fenced = actions::fence(&mut self.hands(), &self.scene(), server).await;
        self.rest_if_failed(server, fenced.is_err());
        progress.end(&self.records, &fenced);
    }

    async fn rejoin(&self, server: usize) {
        let (scene, mut hands) = (self.scene(), self.hands());
        let group = self.group.settings().name.clone();
        let mut progress = Progress::begin(&group, Action::Rejoin, self.name(server));
        progress.to(self.name(scene.writer));
        let rejoined = actions::rejoin(&mut hands, &scene, server).await;
        let before = self.group.quarantined()[server].clone();
        let quarantine = match &rejoined {
            Ok(()) => None,
            Err(error @ ActionError::Errant(_)) => Some(error.to_string()),
            Err(_) => before.clone(),
        };
        let repeated = rejoined.is_err() && quarantine.is_some() && quarantine == before;
        self.group.quarantine(server, quarantine);
        self.rest_if_failed(server, rejoined.is_err());
        if !repeated {
            progress.end(&self.records, &rejoined);
        }
    }

    fn rest_if_failed(&self, server: usize, failed: bool) {
        self.memory().rests_until[server] = failed.then(|| Instant::now() + RETRY);
    }

    /// `WEIR FAILOVER`: replaces a writer that is gone, by `wanted` or by who is best, whatever is lost.
    ///
    /// # Errors
    /// When the writer is there, or none can take its place.
    pub async fn fail_over(self: &Arc<Self>, wanted: Option<String>) -> Result<(), FailoverError> {
        let itself = self.clone();
        self.to_its_end(async move { itself.replace_by_command(wanted.as_deref()).await }).await
    }

    /// One thing is done at a time. What Weir does by itself is short, and waited for.
    async fn act(&self) -> Result<Acting<'_>, FailoverError> {
        let lock = tokio::time::timeout(BUSY_BOUND, self.acting.lock()).await.map_err(|_| FailoverError::Busy)?;
        Ok(Acting { _lock: lock, failover: self })
    }

    /// Whoever asks may be gone before it is done.
    async fn to_its_end(
        &self,
        action: impl Future<Output = Result<(), FailoverError>> + Send + 'static,
    ) -> Result<(), FailoverError> {
        let stopped = || FailoverError::Action(ActionError::Refused("Weir is stopping".to_owned()));
        self.control.spawn(action).await.unwrap_or_else(|_| Err(stopped()))
    }

    /// A server that takes writes and is not the writer, nor a replica.
    fn writes_beside(&self) -> Option<String> {
        let facts = self.group.present_facts(Instant::now());
        let stands_alone = |fact: &Fact| takes_writes(fact) && !matches!(fact.follows, Follows::Member(_));
        let writer = self.group.view().writer;
        let mut others = facts.iter().enumerate().filter(|(server, fact)| *server != writer && stands_alone(fact));
        others.next().map(|(server, _)| self.name(server).to_owned())
    }

    async fn replace_by_command(&self, wanted: Option<&str>) -> Result<(), FailoverError> {
        let wanted = wanted.map(|name| self.server(name)).transpose()?;
        let _acting = self.act().await?;
        let view = self.group.view();
        let refused = |why: String| Err(FailoverError::Action(ActionError::Refused(why)));
        match view.kind {
            GroupKind::Async => {}
            GroupKind::Static => return refused(UNKNOWN_KIND.to_owned()),
            elects => return refused(format!("a group of kind {} chooses its writer itself", elects.name())),
        }
        let writer = view.writer;
        let is_up = self.group.servers[writer].facts().health == Health::Up;
        let refuses = self.group.servers[writer].observation().is_some_and(|observation| observation.read_only);
        let name = self.name(writer);
        let follows = |wanted: usize| self.group.follows(wanted) == Follows::Member(writer);
        match wanted {
            // They can't agree who wrote last, or somebody has made it read-only: whoever asks has decided.
            Some(wanted) if wanted == writer && is_up && refuses => match self.writes_beside() {
                Some(other) => refused(format!("'{other}' takes writes; SET GLOBAL read_only = 1 there first")),
                None => Ok(self.resume("it is to take writes again").await?),
            },
            Some(wanted) if is_up && refuses && follows(wanted) => {
                refused(format!("the writer, '{name}', is there; use WEIR SWITCHOVER TO server"))
            }
            None if is_up && refuses => refused(format!(
                "the writer, '{name}', is there, and refuses writes: name the server that is to take them (WEIR FAILOVER TO server)"
            )),
            Some(wanted) if wanted == writer => refused(format!("'{name}' is the writer")),
            _ if is_up && !refuses => refused(format!("the writer, '{name}', is there; use WEIR SWITCHOVER TO server")),
            _ => Ok(self.replace(wanted, false).await?),
        }
    }

    /// `WEIR SWITCHOVER TO`: makes a server the writer in place of one that is there. Nothing is lost, and clients wait meanwhile.
    ///
    /// # Errors
    /// When it can't become the writer, or is not ready in time: then the old one goes on.
    pub async fn switch_over(self: &Arc<Self>, wanted: String) -> Result<(), FailoverError> {
        let itself = self.clone();
        self.to_its_end(async move { itself.switch(&wanted).await }).await
    }

    async fn switch(&self, wanted: &str) -> Result<(), FailoverError> {
        let new = self.server(wanted)?;
        let _acting = self.act().await?;
        let (scene, mut hands) = (self.scene(), self.hands());
        // What it has said may be from before the last change.
        self.ask(&mut hands, new).await;
        self.may_switch_to(new, &scene)?;
        let group = self.group.settings().name.clone();
        let mut progress = Progress::begin(&group, Action::Switchover, &scene.names[scene.writer]);
        progress.to(&scene.names[new]);
        let old = self.group.servers[scene.writer].clone();
        old.hold(Some("its writer is being changed".to_owned()));
        progress.note("new statements are held");
        let kind = self.group.view().kind;
        let switched = match kind {
            GroupKind::Async => actions::switch_over(&mut hands, &scene, new, &mut progress).await,
            _ => electing::switch_over(&mut hands, kind, &scene, new, &mut progress).await,
        };
        if switched.is_ok() {
            // By what was said before the election, the old one still writes.
            self.ask(&mut hands, new).await;
            self.group.install_writer(new);
        }
        old.hold(None);
        progress.note("held statements go on");
        if switched.is_ok() && kind == GroupKind::Async {
            let old_too = Scene {
                replicas: scene.replicas.iter().copied().chain([(scene.writer, Default::default())]).collect(),
                ..scene
            };
            actions::follow_all(&mut hands, &old_too, new, &mut progress).await;
        }
        progress.end(&self.records, &switched);
        Ok(switched?)
    }

    /// Asks a server for its part in the group now.
    async fn ask(&self, hands: &mut Servers, server: usize) {
        if let Ok(true) = hands.reach(server).await
            && let Ok(standing) = hands.standing(server).await
        {
            self.group.servers[server].set_standing(standing);
        }
    }

    /// `WEIR GROUP BOOT`: starts a group of which no member is in operation, from the one that has the most.
    ///
    /// # Errors
    /// When the group is in operation, or is of a kind that is started in another way.
    pub async fn boot(self: &Arc<Self>) -> Result<(), FailoverError> {
        let itself = self.clone();
        self.to_its_end(async move { itself.start_group().await }).await
    }

    async fn start_group(&self) -> Result<(), FailoverError> {
        let _acting = self.act().await?;
        let group = self.group.settings().name.clone();
        let scene = self.scene();
        let mut progress = Progress::begin(&group, Action::Boot, &scene.names[scene.writer]);
        let up = |server: &usize| self.group.servers[*server].facts().health == Health::Up;
        let there: Vec<_> = (0..self.group.servers.len()).filter(up).collect();
        let booted = electing::boot(&mut self.hands(), self.group.view().kind, &scene, &there, &mut progress).await;
        progress.end(&self.records, &booted);
        Ok(booted?)
    }

    fn server(&self, name: &str) -> Result<usize, FailoverError> {
        self.group.index_of(name).ok_or_else(|| FailoverError::Unknown(name.to_owned()))
    }

    fn may_switch_to(&self, new: usize, scene: &Scene) -> Result<(), ActionError> {
        let view = self.group.view();
        let name = self.name(new);
        let why = if new == scene.writer {
            "it is the writer".to_owned()
        } else if self.group.servers[new].facts().health != Health::Up {
            "it does not answer".to_owned()
        } else if self.group.servers[scene.writer].facts().health != Health::Up {
            "the present writer does not answer; use WEIR FAILOVER".to_owned()
        } else if let Some(why) = &self.group.quarantined()[new] {
            why.clone()
        } else if view.kind == GroupKind::Static {
            UNKNOWN_KIND.to_owned()
        } else if view.kind == GroupKind::Async && self.group.follows(new) != Follows::Member(scene.writer) {
            "it does not follow the writer".to_owned()
        } else {
            return Ok(());
        };
        Err(ActionError::Refused(format!("'{name}' can't become the writer: {why}")))
    }

    /// The records of what was done.
    pub fn history(&self) -> Vec<Arc<Record>> {
        self.records.all()
    }
}
