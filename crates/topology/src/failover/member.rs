//! Members of Group Replication that take no part in their group: when one is told to join again, and how.
//!
//! What must always hold: only a member that has failed or was expelled (`MEMBER_STATE` is ERROR) is told to by Weir itself; one that is OFFLINE was
//! stopped by somebody, if not by Weir for that. Its group is in operation meanwhile, and decides whether it may join: one that has more transactions than the group may not.

use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_backend::standing::MemberState;

use super::Failover;
use super::actions::{ActionError, Scene, reach};
use super::decide::{Memory, Next, Sight};
use super::hands::Hands;
use super::records::{Action, Progress};
use super::servers::Servers;
use crate::roles::takes_writes;

/// Has a member take part in the group.
pub(super) const START: &str = "START GROUP_REPLICATION";
/// How long that may take: it gets what it lacks from another member.
pub(super) const START_BOUND: Duration = Duration::from_secs(300);
/// So long a member that was expelled may take to come back by itself. The server tries at once, and then only every five minutes
/// (`group_replication_autorejoin_tries`).
const BY_ITSELF: Duration = Duration::from_secs(15);
/// All of it ends within this time: leaving, joining and being watched.
const JOIN_BOUND: Duration = Duration::from_secs(900);
/// After a member has failed to join, it is left alone for so long.
const REST: Duration = Duration::from_secs(60);
/// How long it is watched while it catches up, after it was let in.
const WATCH_BOUND: Duration = Duration::from_secs(60);
/// Between two looks at it.
const PAUSE: Duration = Duration::from_millis(200);
/// With this exit action the server refuses applications (3032) after it has failed, and goes on so when it has joined again.
const LEAVE_OFFLINE_MODE: &str =
    "SELECT @@GLOBAL.offline_mode AND @@GLOBAL.group_replication_exit_state_action = 'OFFLINE_MODE'";

/// Decides whether a member is told to join again.
pub(super) fn decide(sight: &Sight<'_>, memory: &Memory) -> Next {
    let writer = &sight.facts[sight.writer];
    if !sight.settings.automatic_failover || !writer.known || !writer.up || !takes_writes(writer) {
        return Next::Nothing;
    }
    let idle = |server: &usize| memory.rests_until[*server].is_none_or(|until| sight.now >= until);
    let mut others = (0..sight.facts.len()).filter(|server| *server != sight.writer).filter(idle);
    let stays_out = |server: &usize| {
        let fact = &sight.facts[*server];
        let state = fact.standing.as_ref().and_then(|standing| standing.own_member()).map(|own| own.state);
        let long =
            memory.failed_since[*server].is_some_and(|since| sight.now.saturating_duration_since(since) >= BY_ITSELF);
        // It has been stopped to join, and has not been let in.
        let in_vain = memory.not_joined[*server].is_some();
        fact.up && (long || in_vain) && !matches!(state, Some(MemberState::Online | MemberState::Recovering))
    };
    others.find(stays_out).map_or(Next::Nothing, Next::Join)
}

/// Has a member join its group again. That may take minutes, in which the group is watched on.
pub(super) fn join_again(failover: Arc<Failover>, server: usize) {
    failover.memory().rests_until[server] = Some(Instant::now() + JOIN_BOUND);
    let control = failover.control.clone();
    control.spawn(async move {
        let (scene, mut hands) = (failover.scene(), failover.hands());
        let group = failover.group.settings().name.clone();
        let mut progress = Progress::begin(&group, Action::Rejoin, failover.name(server));
        progress.note("it has failed, or was expelled, and has not come back by itself");
        let joined = join(&mut hands, &scene, server).await;
        let why = joined.as_ref().err().map(ToString::to_string);
        let mut memory = failover.memory();
        memory.rests_until[server] = why.is_some().then(|| Instant::now() + REST);
        if matches!(joined, Err(ActionError::Refused(_))) {
            // Another Weir does it, and tells of it.
            return;
        }
        // What has failed in the same way before is told once.
        let repeated = why.is_some() && memory.not_joined[server] == why;
        memory.not_joined[server] = why;
        if !repeated {
            progress.end(&failover.records, &joined);
        }
    });
}

/// Has a member join its group, and watches it catch up.
///
/// # Errors
/// When the group does not let it in, or it fails again. One that still catches up after a while has joined.
pub(super) async fn join(hands: &mut Servers, scene: &Scene, server: usize) -> Result<(), ActionError> {
    // The connection is gone if a step took too long.
    reach(hands, scene, server).await?;
    if state(hands, scene, server).await? == MemberState::Error {
        let stopped = hands.run_within(server, "STOP GROUP_REPLICATION", START_BOUND).await;
        stopped.map_err(scene.step("leaving the group", server))?;
    }
    hands.run_within(server, START, START_BOUND).await.map_err(scene.step("joining the group", server))?;
    let mut waited = Duration::ZERO;
    loop {
        match state(hands, scene, server).await? {
            MemberState::Online => break,
            MemberState::Recovering | MemberState::Unreachable if waited < WATCH_BOUND => {}
            MemberState::Recovering => return Ok(()),
            other => {
                let why = format!("its state is {}; its error log tells why", other.name());
                return Err(ActionError::Step { step: "joining the group", server: scene.names[server].clone(), why });
            }
        }
        hands.pause(PAUSE).await;
        waited += PAUSE;
    }
    let asked = hands.value(server, LEAVE_OFFLINE_MODE).await.map_err(scene.step("asking for offline_mode", server))?;
    if asked == "1" {
        let online = hands.run(server, "SET GLOBAL offline_mode = OFF").await;
        online.map_err(scene.step("ending offline_mode", server))?;
    }
    Ok(())
}

async fn state(hands: &mut Servers, scene: &Scene, server: usize) -> Result<MemberState, ActionError> {
    let standing = hands.standing(server).await.map_err(scene.step("asking for its state", server))?;
    Ok(standing.own_member().map_or(MemberState::Offline, |own| own.state))
}
