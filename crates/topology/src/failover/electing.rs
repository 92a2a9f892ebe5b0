//! Groups that elect their writer: asking for another one, and starting one that is down as a whole.
//!
//! What must always hold: a group is started anew only if none of its members that can be reached is in operation, and only from the one that has
//! the most.

use std::time::Duration;

use weir_backend::standing::MemberState;

use super::actions::{ActionError, Scene, drain, reach};
use super::hands::{Hands, Look};
use super::member::{self, START, START_BOUND};
use super::records::Progress;
use super::servers::Servers;
use crate::kind::GroupKind;

/// How long the group may take to have its new writer take writes.
const ELECTION_BOUND: Duration = Duration::from_secs(10);
/// How often a member is told to join.
const JOIN_ATTEMPTS: usize = 3;
/// Between two looks at it.
const PAUSE: Duration = Duration::from_millis(10);

fn refused<T>(why: impl Into<String>) -> Result<T, ActionError> {
    Err(ActionError::Refused(why.into()))
}

/// Has the group take its writes at another member.
pub(super) async fn switch_over(
    hands: &mut Servers,
    kind: GroupKind,
    scene: &Scene,
    new: usize,
    progress: &mut Progress,
) -> Result<(), ActionError> {
    reach(hands, scene, new).await?;
    reach(hands, scene, scene.writer).await?;
    drain(hands, scene, progress).await?;
    match kind {
        GroupKind::GroupReplication => elect_member(hands, scene, new, progress).await,
        GroupKind::Galera => wait_for_node(hands, scene, new, progress).await,
        GroupKind::Static | GroupKind::Async => refused("its servers do not elect a writer"),
    }
}

async fn elect_member(
    hands: &mut Servers,
    scene: &Scene,
    new: usize,
    progress: &mut Progress,
) -> Result<(), ActionError> {
    let standing = hands.standing(new).await.map_err(scene.step("asking for its state", new))?;
    let Some(uuid) = standing.uuid else { return refused("it has no server_uuid") };
    let view = standing.group_replication.unwrap_or_default();
    if view.members.iter().filter(|member| member.primary).count() > 1 {
        // All of them take writes: that the writer's are there before the new one's is all that is wanted.
        return wait_for_node(hands, scene, new, progress).await;
    }
    let sql = format!("SELECT group_replication_set_as_primary('{uuid}')");
    hands.run(new, &sql).await.map_err(scene.step("electing it", new))?;
    let mut waited = Duration::ZERO;
    while hands.look(new).await.map_err(scene.step("asking for its state", new))?.read_only {
        if waited >= ELECTION_BOUND {
            return refused(format!("'{}' was elected, but does not take writes yet", scene.names[new]));
        }
        hands.pause(PAUSE).await;
        waited += PAUSE;
    }
    progress.note(format!("'{}' was elected and takes writes", scene.names[new]));
    Ok(())
}

/// Every member takes writes: the new one has to have applied what the old one has committed.
async fn wait_for_node(
    hands: &mut Servers,
    scene: &Scene,
    new: usize,
    progress: &mut Progress,
) -> Result<(), ActionError> {
    let committed = |standing: &weir_backend::Standing| standing.galera.as_ref().map(|galera| galera.last_committed);
    let of_old = hands.standing(scene.writer).await.map_err(scene.step("asking for its state", scene.writer))?;
    let Some(wanted) = committed(&of_old) else {
        let Look { has, .. } =
            hands.look(scene.writer).await.map_err(scene.step("asking for its position", scene.writer))?;
        return match hands.wait_for(new, &has, ELECTION_BOUND).await.map_err(scene.step("catching up", new))? {
            true => Ok(()),
            false => refused(format!("'{}' has not caught up", scene.names[new])),
        };
    };
    let mut waited = Duration::ZERO;
    loop {
        let of_new = hands.standing(new).await.map_err(scene.step("asking for its state", new))?;
        if committed(&of_new).is_some_and(|committed| committed >= wanted) {
            progress.note(format!("'{}' has all that '{}' had", scene.names[new], scene.names[scene.writer]));
            return Ok(());
        }
        if waited >= ELECTION_BOUND {
            return refused(format!("'{}' has not caught up", scene.names[new]));
        }
        hands.pause(PAUSE).await;
        waited += PAUSE;
    }
}

/// Starts a Group Replication group from the member that has the most, and has the others join it.
pub(super) async fn boot(
    hands: &mut Servers,
    kind: GroupKind,
    scene: &Scene,
    there: &[usize],
    progress: &mut Progress,
) -> Result<(), ActionError> {
    match kind {
        GroupKind::GroupReplication => {}
        GroupKind::Galera => return boot_component(hands, scene, there, progress).await,
        GroupKind::Static | GroupKind::Async => {
            return refused("its servers need no start as a group; WEIR FAILOVER chooses a writer");
        }
    }
    let first = first_to_start(hands, scene, there, progress).await?;
    bootstrap(hands, scene, first).await?;
    progress.to(&scene.names[first]);
    progress.note(format!("the group was started from '{}'", scene.names[first]));
    for server in there.iter().copied().filter(|server| *server != first) {
        join(hands, scene, server, progress).await;
    }
    Ok(())
}

/// Has a member join the group. It gives up after a minute if it asked another one that was just joining itself: it is told to again.
async fn join(hands: &mut Servers, scene: &Scene, server: usize, progress: &mut Progress) {
    for _ in 0..JOIN_ATTEMPTS {
        match member::join(hands, scene, server).await {
            Ok(()) => return progress.note(format!("'{}' has joined it", scene.names[server])),
            Err(error) => progress.note(format!("'{}' has not joined: {error}", scene.names[server])),
        }
    }
}

/// Starts the group on one member. That it may start a group is taken back in any case: at its next start it would start another one.
async fn bootstrap(hands: &mut Servers, scene: &Scene, first: usize) -> Result<(), ActionError> {
    let on = "SET GLOBAL group_replication_bootstrap_group = ON";
    hands.run(first, on).await.map_err(scene.step("starting the group", first))?;
    let started = hands.run_within(first, START, START_BOUND).await;
    // The connection is gone if that took too long.
    reach(hands, scene, first).await?;
    let off = "SET GLOBAL group_replication_bootstrap_group = OFF";
    hands.run(first, off).await.map_err(scene.step("ending the start of the group", first))?;
    started.map(drop).map_err(scene.step("starting the group", first))
}

/// Has the node that has committed the most make its component the primary one.
async fn boot_component(
    hands: &mut Servers,
    scene: &Scene,
    there: &[usize],
    progress: &mut Progress,
) -> Result<(), ActionError> {
    let mut most = None;
    for server in there.iter().copied() {
        reach(hands, scene, server).await?;
        let standing = hands.standing(server).await.map_err(scene.step("asking for its state", server))?;
        let Some(galera) = standing.galera else { continue };
        if galera.primary_component {
            return refused(format!("'{}' is in operation: the group needs no start", scene.names[server]));
        }
        progress.note(format!("'{}' has committed {}", scene.names[server], galera.last_committed));
        most = most.max(Some((galera.last_committed, std::cmp::Reverse(server))));
    }
    let Some((_, std::cmp::Reverse(first))) = most else {
        return refused(
            "no node answers. Start mariadbd with --wsrep-new-cluster on the node whose grastate.dat has the highest seqno, then the others",
        );
    };
    let sql = "SET GLOBAL wsrep_provider_options = 'pc.bootstrap=YES'";
    hands.run(first, sql).await.map_err(scene.step("starting the group", first))?;
    progress.to(&scene.names[first]);
    progress.note(format!("the component of '{}' is the primary one now", scene.names[first]));
    Ok(())
}

/// The member that has all that the others have. None of them may be in operation.
async fn first_to_start(
    hands: &mut Servers,
    scene: &Scene,
    there: &[usize],
    progress: &mut Progress,
) -> Result<usize, ActionError> {
    if there.len() < scene.names.len() {
        let missing: Vec<_> = (0..scene.names.len()).filter(|server| !there.contains(server)).collect();
        let names: Vec<_> = missing.iter().map(|server| format!("'{}'", scene.names[*server])).collect();
        return refused(format!(
            "{} can't be reached, and might have more than the others: start the servers first",
            names.join(", ")
        ));
    }
    let mut looks = Vec::new();
    for server in there.iter().copied() {
        reach(hands, scene, server).await?;
        let standing = hands.standing(server).await.map_err(scene.step("asking for its state", server))?;
        let view = standing.group_replication.unwrap_or_default();
        let works = |state: MemberState| matches!(state, MemberState::Online | MemberState::Recovering);
        if view.members.iter().any(|member| works(member.state)) {
            return refused(format!("'{}' is in operation: the group needs no start", scene.names[server]));
        }
        let look = hands.look(server).await.map_err(scene.step("asking for its position", server))?;
        progress.note(format!("'{}' has {}", scene.names[server], look.received));
        looks.push((server, look.received));
    }
    let has_all = |own: &weir_backend::Position| looks.iter().all(|(_, other)| own.covers(other));
    match looks.iter().find(|(_, own)| has_all(own)) {
        Some((server, _)) => Ok(*server),
        None => {
            refused("no member has all that the others have: compare their gtid_executed, and start the group by hand")
        }
    }
}
