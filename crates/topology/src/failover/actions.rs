//! The sequences of steps by which a writer is replaced and servers are put in their place, where replicas follow one writer.
//!
//! What must always hold: a server takes writes only after it has everything that a reachable replica has received, and after no replica that
//! can be reached receives from the old writer any more (so that with semi-synchronous replication an old writer that still lives can
//! acknowledge nothing). A switchover that fails before the new writer takes writes leaves the old one as it was.

use std::sync::Arc;
use std::time::Duration;

use weir_backend::Position;
use weir_wire::Failure;

use super::candidate::{self, Candidate, Contender};
use super::hands::{Hands, Look};
use super::records::Progress;
use crate::settings::Promotion;

/// The longest that a new writer may take to apply what it has received.
const APPLY_BOUND: Duration = Duration::from_secs(600);
/// How long each wait is, between two looks at whether to go on.
const SLICE: Duration = Duration::from_millis(500);
/// Between two looks at the open transactions of a writer that is to be changed. Servers keep what `INNODB_TRX` shows for as long as it is read
/// again within 100 ms (CACHE_MIN_IDLE_TIME in InnoDB's sources): who asks more often sees what was there at first.
const DRAIN_PAUSE: Duration = Duration::from_millis(120);

/// How often a writer is made to refuse writes in vain, because a transaction has begun at that moment.
const CLOSE_ATTEMPTS: usize = 3;

/// Why an action ended before its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ActionError {
    /// It is not done, and nothing was changed.
    #[error("{0}")]
    Refused(String),
    /// The server has transactions that the writer lacks: these.
    #[error("it has transactions that the group lacks: {0}")]
    Errant(String),
    /// A server has failed a step.
    #[error("{step} on '{server}': {why}")]
    Step {
        /// What was to be done.
        step: &'static str,
        /// Where.
        server: String,
        /// What happened.
        why: String,
    },
}

/// The servers of a group, and what an action must know of them.
#[derive(Debug, Clone)]
pub(super) struct Scene {
    /// Their names.
    pub names: Vec<String>,
    /// The present writer.
    pub writer: usize,
    /// The replicas that are there, and whether each may become the writer.
    pub replicas: Vec<(usize, Promotion)>,
    /// How many of them must be isolated from a writer that is gone.
    pub needed: usize,
    /// Where the writer was when it was last asked.
    pub last_known: Option<Arc<Position>>,
    /// How many transactions may be lost, as far as is known.
    pub max_lost: Option<u64>,
    /// How long clients' transactions may take to end before a switchover.
    pub drain: Duration,
}

impl Scene {
    pub(super) fn step(&self, step: &'static str, server: usize) -> impl FnOnce(Failure) -> ActionError {
        let server = self.names[server].clone();
        move |failure| ActionError::Step { step, server, why: failure.message }
    }
}

/// Makes sure that a server can be worked on.
pub(super) async fn reach<H: Hands>(hands: &mut H, scene: &Scene, server: usize) -> Result<(), ActionError> {
    match hands.reach(server).await.map_err(scene.step("connecting", server))? {
        true => Ok(()),
        false => Err(another_weir()),
    }
}

fn another_weir() -> ActionError {
    ActionError::Refused("another Weir is working on this group".to_owned())
}

/// Replaces the writer, which is gone. `wanted`: by this one. Returns the new writer, which takes writes.
///
/// # Errors
/// When no replica may or can become the writer, or too much would be lost: then replicas receive again, if the old writer comes back.
pub(super) async fn fail_over<H: Hands>(
    hands: &mut H,
    scene: &Scene,
    wanted: Option<usize>,
    progress: &mut Progress,
) -> Result<usize, ActionError> {
    let reached = reach_all(hands, scene, progress).await?;
    let stopped = stop_old_writer(hands, scene, progress).await;
    let new = match ready(hands, scene, (&reached, wanted), progress).await {
        Ok(new) => new,
        Err(error) => {
            give_up(hands, scene, &reached, stopped).await;
            return Err(error);
        }
    };
    promote(hands, scene, new, progress).await?;
    Ok(new)
}

/// Isolates the replicas from the old writer, chooses one, and has it get all that any of them has.
async fn ready<H: Hands>(
    hands: &mut H,
    scene: &Scene,
    (reached, wanted): (&[(usize, Promotion)], Option<usize>),
    progress: &mut Progress,
) -> Result<usize, ActionError> {
    let contenders = isolate(hands, scene, reached, progress).await?;
    let candidate = elect(scene, &contenders, wanted, progress)?;
    complete(hands, scene, &candidate, &contenders, progress).await?;
    Ok(candidate.server)
}

async fn reach_all<H: Hands>(
    hands: &mut H,
    scene: &Scene,
    progress: &mut Progress,
) -> Result<Vec<(usize, Promotion)>, ActionError> {
    let mut reached = Vec::new();
    for (server, promotion) in &scene.replicas {
        match hands.reach(*server).await {
            Ok(true) => reached.push((*server, *promotion)),
            Ok(false) => return Err(another_weir()),
            Err(failure) => {
                progress.note(format!("'{}' can't be reached: {}", scene.names[*server], failure.message));
            }
        }
    }
    match reached.len() {
        0 => Err(ActionError::Refused("no replica can be reached".to_owned())),
        few if few < scene.needed => {
            let message = format!("{few} replicas can be reached, and {} are needed", scene.needed);
            Err(ActionError::Refused(message))
        }
        _ => Ok(reached),
    }
}

/// A writer that can be reached after all is made to refuse writes; whether it did not refuse them before. One that can't is fenced when it
/// comes back.
async fn stop_old_writer<H: Hands>(hands: &mut H, scene: &Scene, progress: &mut Progress) -> bool {
    if !matches!(hands.reach(scene.writer).await, Ok(true)) {
        return false;
    }
    let refused = hands.look(scene.writer).await.is_ok_and(|look| look.read_only);
    let stopped = !refused && hands.set_read_only(scene.writer, true).await.is_ok();
    if stopped {
        progress.note(format!("'{}' was reached, and refuses writes", scene.names[scene.writer]));
    }
    stopped
}

/// From here on no replica receives anything from the old writer. Tells what each has received.
async fn isolate<H: Hands>(
    hands: &mut H,
    scene: &Scene,
    reached: &[(usize, Promotion)],
    progress: &mut Progress,
) -> Result<Vec<Contender>, ActionError> {
    let mut contenders = Vec::new();
    for (server, promotion) in reached {
        let server = *server;
        hands.stop_receiving(server).await.map_err(scene.step("stopping to receive", server))?;
        let Look { received, .. } = hands.look(server).await.map_err(scene.step("asking for its position", server))?;
        progress.note(format!("'{}' has received {received}", scene.names[server]));
        contenders.push(Contender { server, promotion: *promotion, received });
    }
    Ok(contenders)
}

/// Nobody was promoted: the old writer goes on, if it lives. Best effort: it is the reason why nothing is done that is told.
async fn give_up<H: Hands>(hands: &mut H, scene: &Scene, reached: &[(usize, Promotion)], stopped: bool) {
    for (server, _) in reached {
        let _ = hands.start_receiving(*server).await;
    }
    if stopped {
        let _ = hands.set_read_only(scene.writer, false).await;
    }
}

fn elect(
    scene: &Scene,
    contenders: &[Contender],
    wanted: Option<usize>,
    progress: &mut Progress,
) -> Result<Candidate, ActionError> {
    let willing = contenders.iter().map(|contender| match wanted {
        Some(wanted) if contender.server == wanted => Contender { promotion: Promotion::Prefer, ..contender.clone() },
        Some(_) => Contender { promotion: Promotion::Never, ..contender.clone() },
        None => contender.clone(),
    });
    let none = || ActionError::Refused("no replica may become the writer: all have promotion = \"never\"".to_owned());
    let candidate = candidate::choose(&willing.collect::<Vec<_>>()).ok_or_else(none)?;
    let mut received = contenders.iter().map(|contender| &contender.received);
    let all = received.next().map(|first| {
        let mut all = Position::clone(first);
        received.for_each(|more| all.add(more));
        all
    });
    if let Some((count, what)) = scene.last_known.as_ref().zip(all).and_then(|(known, all)| known.beyond(&all)) {
        if scene.max_lost.is_some_and(|most| count > most) {
            let message = format!(
                "{count} transactions that no replica has received would be lost ({what}), more than max_lost; WEIR FAILOVER accepts that"
            );
            return Err(ActionError::Refused(message));
        }
        progress.lost(format!("{count}: {what}"));
    }
    progress.note(format!("'{}' becomes the writer", scene.names[candidate.server]));
    Ok(candidate)
}

/// The new writer gets and applies all that any of the others has.
async fn complete<H: Hands>(
    hands: &mut H,
    scene: &Scene,
    candidate: &Candidate,
    contenders: &[Contender],
    progress: &mut Progress,
) -> Result<(), ActionError> {
    let new = candidate.server;
    let received = |server: usize| contenders.iter().find(|contender| contender.server == server);
    if let Some(own) = received(new) {
        apply(hands, scene, new, &own.received).await?;
        progress.note(format!("'{}' has applied what it had received", scene.names[new]));
    }
    for donor in &candidate.donors {
        let Some(of_donor) = received(*donor) else { continue };
        apply(hands, scene, *donor, &of_donor.received).await?;
        hands.follow(new, *donor).await.map_err(scene.step("following another replica", new))?;
        apply(hands, scene, new, &of_donor.received).await?;
        progress.note(format!("'{}' has what '{}' had more", scene.names[new], scene.names[*donor]));
    }
    Ok(())
}

async fn apply<H: Hands>(hands: &mut H, scene: &Scene, server: usize, position: &Position) -> Result<(), ActionError> {
    let mut waited = Duration::ZERO;
    while !hands.wait_for(server, position, SLICE).await.map_err(scene.step("applying what it has received", server))? {
        waited += SLICE;
        if waited >= APPLY_BOUND {
            let why = format!("it has not applied {position} within {APPLY_BOUND:?}");
            let server = scene.names[server].clone();
            return Err(ActionError::Step { step: "applying what it has received", server, why });
        }
    }
    Ok(())
}

async fn promote<H: Hands>(
    hands: &mut H,
    scene: &Scene,
    new: usize,
    progress: &mut Progress,
) -> Result<(), ActionError> {
    hands.stop_following(new).await.map_err(scene.step("ending its replication", new))?;
    take_writes(hands, scene, new, progress).await
}

async fn take_writes<H: Hands>(
    hands: &mut H,
    scene: &Scene,
    new: usize,
    progress: &mut Progress,
) -> Result<(), ActionError> {
    hands.set_read_only(new, false).await.map_err(scene.step("taking writes", new))?;
    progress.note(format!("'{}' takes writes", scene.names[new]));
    Ok(())
}

/// The others follow the new writer. What fails is tried again by [`super::decide`] later.
pub(super) async fn follow_all<H: Hands>(hands: &mut H, scene: &Scene, new: usize, progress: &mut Progress) {
    for (server, _) in scene.replicas.iter().filter(|(server, _)| *server != new) {
        let name = &scene.names[*server];
        let followed = match reach(hands, scene, *server).await {
            Ok(()) => demote(hands, scene, *server, new).await,
            Err(error) => Err(error),
        };
        match followed {
            Ok(()) => progress.note(format!("'{name}' follows '{}'", scene.names[new])),
            Err(error) => progress.note(format!("'{name}' does not follow yet: {error}")),
        }
    }
}

/// Has a server follow another one. One that takes writes was the writer for somebody, and refuses them first.
async fn demote<H: Hands>(hands: &mut H, scene: &Scene, server: usize, source: usize) -> Result<(), ActionError> {
    if !hands.look(server).await.map_err(scene.step("asking for its position", server))?.read_only {
        hands.set_read_only(server, true).await.map_err(scene.step("refusing writes", server))?;
    }
    hands.follow(server, source).await.map_err(scene.step("following", server))
}

/// Makes `new` the writer in place of one that is there: its open transactions end, it refuses writes, and `new` has all of its before it
/// takes writes itself. Clients' new statements have to be held by the caller, from before until after.
///
/// # Errors
/// When transactions stay open for too long, or `new` does not catch up: then the old writer takes writes again.
pub(super) async fn switch_over<H: Hands>(
    hands: &mut H,
    scene: &Scene,
    new: usize,
    progress: &mut Progress,
) -> Result<(), ActionError> {
    let old = scene.writer;
    reach(hands, scene, new).await?;
    reach(hands, scene, old).await?;
    close(hands, scene, progress).await?;
    progress.note(format!("'{}' refuses writes", scene.names[old]));
    if let Err(error) = take_over(hands, scene, new, progress).await {
        hands.set_read_only(old, false).await.map_err(scene.step("taking writes again", old))?;
        progress.note(format!("'{}' takes writes again", scene.names[old]));
        return Err(error);
    }
    // From here on the old one must not take writes any more, whatever becomes of this.
    take_writes(hands, scene, new, progress).await
}

/// Has the writer refuse writes, at a moment when no transaction is open there.
async fn close<H: Hands>(hands: &mut H, scene: &Scene, progress: &mut Progress) -> Result<(), ActionError> {
    let old = scene.writer;
    for _ in 0..CLOSE_ATTEMPTS {
        drain(hands, scene, progress).await?;
        hands.set_read_only(old, true).await.map_err(scene.step("refusing writes", old))?;
        hands.pause(DRAIN_PAUSE).await;
        // One that began in between could not be committed any more.
        let open = hands.open_transactions(old).await.map_err(scene.step("asking for open transactions", old));
        if open.as_ref().is_ok_and(Vec::is_empty) {
            return Ok(());
        }
        hands.set_read_only(old, false).await.map_err(scene.step("taking writes again", old))?;
        open?;
    }
    let message = format!("transactions keep beginning on '{}', past Weir perhaps; try again", scene.names[old]);
    Err(ActionError::Refused(message))
}

/// The writer refuses writes: `new` gets ready to take them.
async fn take_over<H: Hands>(
    hands: &mut H,
    scene: &Scene,
    new: usize,
    progress: &mut Progress,
) -> Result<(), ActionError> {
    catch_up(hands, scene, new).await?;
    progress.note(format!("'{}' has all that '{}' had", scene.names[new], scene.names[scene.writer]));
    hands.stop_following(new).await.map_err(scene.step("ending its replication", new))
}

/// Waits until no transaction is open on the writer.
pub(super) async fn drain<H: Hands>(hands: &mut H, scene: &Scene, progress: &mut Progress) -> Result<(), ActionError> {
    let old = scene.writer;
    let mut waited = Duration::ZERO;
    loop {
        let open = hands.open_transactions(old).await.map_err(scene.step("asking for open transactions", old))?;
        let Some(first) = open.first() else {
            progress.note(format!("no transaction is open on '{}'", scene.names[old]));
            return Ok(());
        };
        if waited >= scene.drain {
            return Err(ActionError::Refused(format!(
                "{} transactions are still open on '{}' after {:?} ({first}); try again, or end them there (KILL)",
                open.len(),
                scene.names[old],
                scene.drain
            )));
        }
        hands.pause(DRAIN_PAUSE).await;
        waited += DRAIN_PAUSE;
    }
}

async fn catch_up<H: Hands>(hands: &mut H, scene: &Scene, new: usize) -> Result<(), ActionError> {
    let Look { has, .. } =
        hands.look(scene.writer).await.map_err(scene.step("asking for its position", scene.writer))?;
    let mut waited = Duration::ZERO;
    while !hands.wait_for(new, &has, SLICE).await.map_err(scene.step("catching up", new))? {
        waited += SLICE;
        if waited >= scene.drain {
            let why = format!("it has not caught up with '{}' within {:?}", scene.names[scene.writer], scene.drain);
            return Err(ActionError::Refused(format!("'{}' can't become the writer: {why}", scene.names[new])));
        }
    }
    Ok(())
}

/// The writer takes writes again.
///
/// # Errors
/// When a step fails.
pub(super) async fn resume<H: Hands>(hands: &mut H, scene: &Scene) -> Result<(), ActionError> {
    let writer = scene.writer;
    reach(hands, scene, writer).await?;
    hands.stop_following(writer).await.map_err(scene.step("ending its replication", writer))?;
    hands.set_read_only(writer, false).await.map_err(scene.step("taking writes", writer))
}

/// Has a writer that takes writes follow nobody.
///
/// # Errors
/// When a step fails.
pub(super) async fn detach<H: Hands>(hands: &mut H, scene: &Scene) -> Result<(), ActionError> {
    let writer = scene.writer;
    reach(hands, scene, writer).await?;
    // Another Weir may have made it a replica just now.
    if hands.look(writer).await.map_err(scene.step("asking for its position", writer))?.read_only {
        return Ok(());
    }
    hands.stop_following(writer).await.map_err(scene.step("ending its replication", writer))
}

/// Makes a server that takes writes beside the writer refuse them.
///
/// # Errors
/// When a step fails.
pub(super) async fn fence<H: Hands>(hands: &mut H, scene: &Scene, server: usize) -> Result<(), ActionError> {
    reach(hands, scene, server).await?;
    hands.set_read_only(server, true).await.map_err(scene.step("refusing writes", server))
}

/// Makes a server follow the writer, if it has nothing that the writer lacks.
///
/// # Errors
/// [`ActionError::Errant`], with what it has more; or when a step fails.
pub(super) async fn rejoin<H: Hands>(hands: &mut H, scene: &Scene, server: usize) -> Result<(), ActionError> {
    reach(hands, scene, server).await?;
    reach(hands, scene, scene.writer).await?;
    let errant = hands.errant(server, scene.writer).await;
    if let Some(what) = errant.map_err(scene.step("comparing its transactions", server))? {
        return Err(ActionError::Errant(what));
    }
    hands.set_read_only(server, true).await.map_err(scene.step("refusing writes", server))?;
    hands.follow(server, scene.writer).await.map_err(scene.step("following", server))
}
