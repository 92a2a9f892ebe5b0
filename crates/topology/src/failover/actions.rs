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

/// Why an action ended before its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ActionError {
    /// It is not done, and nothing was changed.
    #[error("{0}")]
    Refused(String),
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
    fn step(&self, step: &'static str, server: usize) -> impl FnOnce(Failure) -> ActionError {
        let server = self.names[server].clone();
        move |failure| ActionError::Step { step, server, why: failure.message }
    }
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
    stop_old_writer(hands, scene, progress).await;
    let contenders = match isolate(hands, scene, &reached, progress).await {
        Ok(contenders) => contenders,
        Err(error) => return Err(give_up(hands, &reached, error).await),
    };
    let candidate = match elect(scene, &contenders, wanted, progress) {
        Ok(candidate) => candidate,
        Err(error) => return Err(give_up(hands, &reached, error).await),
    };
    let new = candidate.server;
    complete(hands, scene, &candidate, &contenders, progress).await?;
    promote(hands, scene, new, progress).await?;
    Ok(new)
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
            Ok(false) => {
                return Err(ActionError::Refused("another Weir is changing this group's writer".to_owned()));
            }
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

/// A writer that can be reached after all is made to refuse writes. One that can't is fenced when it comes back.
async fn stop_old_writer<H: Hands>(hands: &mut H, scene: &Scene, progress: &mut Progress) {
    if hands.reach(scene.writer).await.is_ok() && hands.set_read_only(scene.writer, true).await.is_ok() {
        progress.note(format!("'{}' was reached, and refuses writes", scene.names[scene.writer]));
    }
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

async fn give_up<H: Hands>(hands: &mut H, reached: &[(usize, Promotion)], error: ActionError) -> ActionError {
    for (server, _) in reached {
        // Best effort: it is the reason why nothing is done that is told.
        let _ = hands.start_receiving(*server).await;
    }
    error
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
    let lost = scene.last_known.as_ref().and_then(|last_known| {
        let mut all = Position::clone(last_known);
        if let Some(first) = contenders.first() {
            all = Position::clone(&first.received);
        }
        contenders.iter().for_each(|contender| all.add(&contender.received));
        last_known.beyond(&all)
    });
    if let Some((count, what)) = lost {
        if wanted.is_none() && scene.max_lost.is_some_and(|most| count > most) {
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
    hands.set_read_only(new, false).await.map_err(scene.step("taking writes", new))?;
    progress.note(format!("'{}' takes writes", scene.names[new]));
    Ok(())
}

/// The others follow the new writer. What fails is tried again by [`super::decide`] later.
pub(super) async fn follow_all<H: Hands>(hands: &mut H, scene: &Scene, new: usize, progress: &mut Progress) {
    for (server, _) in scene.replicas.iter().filter(|(server, _)| *server != new) {
        let name = &scene.names[*server];
        let followed = match hands.reach(*server).await {
            Ok(true) => hands.follow(*server, new).await,
            Ok(false) => continue,
            Err(failure) => Err(failure),
        };
        match followed {
            Ok(()) => progress.note(format!("'{name}' follows '{}'", scene.names[new])),
            Err(failure) => progress.note(format!("'{name}' does not follow yet: {}", failure.message)),
        }
    }
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
    for server in [new, old] {
        if !hands.reach(server).await.map_err(scene.step("connecting", server))? {
            return Err(ActionError::Refused("another Weir is changing this group's writer".to_owned()));
        }
    }
    loop {
        drain(hands, scene, progress).await?;
        hands.set_read_only(old, true).await.map_err(scene.step("refusing writes", old))?;
        // One that began in between could not be committed any more.
        hands.pause(DRAIN_PAUSE).await;
        let open = hands.open_transactions(old).await.map_err(scene.step("asking for open transactions", old))?;
        if open.is_empty() {
            break;
        }
        hands.set_read_only(old, false).await.map_err(scene.step("taking writes again", old))?;
    }
    progress.note(format!("'{}' refuses writes", scene.names[old]));
    match catch_up(hands, scene, new).await {
        Ok(()) => progress.note(format!("'{}' has all that '{}' had", scene.names[new], scene.names[old])),
        Err(error) => {
            hands.set_read_only(old, false).await.map_err(scene.step("taking writes again", old))?;
            progress.note(format!("'{}' takes writes again", scene.names[old]));
            return Err(error);
        }
    }
    promote(hands, scene, new, progress).await
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
    if !hands.reach(writer).await.map_err(scene.step("connecting", writer))? {
        return Err(ActionError::Refused("another Weir is working on this group".to_owned()));
    }
    hands.stop_following(writer).await.map_err(scene.step("ending its replication", writer))?;
    hands.set_read_only(writer, false).await.map_err(scene.step("taking writes", writer))
}

/// Makes a server follow the writer, if it has nothing that the writer lacks.
///
/// # Errors
/// [`ActionError::Refused`] with the transactions that it has more.
pub(super) async fn rejoin<H: Hands>(hands: &mut H, scene: &Scene, server: usize) -> Result<(), ActionError> {
    let errant = errant(hands, scene, server).await?;
    if let Some(what) = errant {
        return Err(ActionError::Refused(format!("it has transactions that the group lacks: {what}")));
    }
    hands.set_read_only(server, true).await.map_err(scene.step("refusing writes", server))?;
    hands.follow(server, scene.writer).await.map_err(scene.step("following", server))
}

async fn errant<H: Hands>(hands: &mut H, scene: &Scene, server: usize) -> Result<Option<String>, ActionError> {
    for wanted in [server, scene.writer] {
        if !hands.reach(wanted).await.map_err(scene.step("connecting", wanted))? {
            return Err(ActionError::Refused("another Weir is working on this group".to_owned()));
        }
    }
    hands.errant(server, scene.writer).await.map_err(scene.step("comparing its transactions", server))
}
