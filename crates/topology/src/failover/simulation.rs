//! Groups of simulated servers whose machines die and whose links break, under the decisions and the sequences of steps that real groups get.
//!
//! Everything happens in one thread and in virtual time, from a seed: a history that fails can be run again (`WEIR_SEED`). Commits wait for one
//! replica (lossless semi-synchronous replication), and Weirs watch the group from several places, and start again, with what they have kept or
//! without.
//!
//! What must always hold: a transaction that a client was told of is never lost; two servers never both acknowledge; when all faults have ended,
//! there is a writer again, everybody follows it, and clients can write.

mod world;

use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_backend::{Observation, Position, Standing};

use super::actions::{self, ActionError, Scene};
use super::decide::{Memory, Next, RETRY, Sight, decide, needed};
use super::records::{Action, Progress};
use crate::fixtures;
use crate::follows::Follows;
use crate::kind::GroupKind;
use crate::roles::{self, Fact, State};
use crate::settings::{GroupSettings, Promotion};
use world::{Chance, Node, SimulatedHands, World, standing};

/// Between two looks of a Weir.
const STEP: Duration = Duration::from_millis(100);

/// A Weir: what it remembers.
struct Weir {
    number: usize,
    /// It has seen another writer than the configured one, and so keeps who writes.
    keeps: bool,
    state: State,
    memory: Memory,
    down_since: Vec<Option<Instant>>,
    last: Vec<Option<(Arc<Observation>, Arc<Standing>)>>,
    /// Its connections to each server that have ended.
    lives: Vec<u64>,
}

impl Weir {
    fn new(number: usize, servers: usize) -> Weir {
        Weir {
            number,
            keeps: false,
            state: State::new(0, servers),
            memory: Memory::new(servers),
            down_since: vec![None; servers],
            last: vec![None; servers],
            lives: vec![0; servers],
        }
    }

    /// Another process takes its place. What it has kept of the writer is there, unless its disk is lost as well.
    fn restart(&mut self, disk_is_lost: bool) {
        let (writer, servers, kept) = (self.state.writer(), self.last.len(), self.keeps && !disk_is_lost);
        *self = Weir { keeps: kept, ..Weir::new(self.number, servers) };
        if kept {
            self.state = State::remembering(writer, GroupKind::Async, servers);
            self.memory.recalled = Some(writer);
        }
    }

    fn facts(&mut self, world: &World, now: Instant) -> Vec<Fact> {
        (0..world.nodes.len()).map(|server| self.fact(world, server, now)).collect()
    }

    fn fact(&mut self, world: &World, server: usize, now: Instant) -> Fact {
        let node = &world.nodes[server];
        let up = node.up && world.reached[self.number][server];
        if up {
            let seen = fixtures::observation(now, node.read_only, node.executed.clone());
            let ended = self.last[server].as_ref().is_some_and(|(last, _)| last.start != node.starts)
                || self.down_since[server].is_some();
            self.lives[server] += u64::from(ended);
            let observation = Observation { life: self.lives[server], start: node.starts, ..seen };
            self.last[server] = Some((Arc::new(observation), Arc::new(standing(world, server, now))));
            self.down_since[server] = None;
        } else {
            self.down_since[server].get_or_insert(now);
        }
        let last = self.last[server].clone();
        let down_for = self.down_since[server].map_or(Duration::ZERO, |since| now - since);
        let (observation, standing) = last.unzip();
        let follows = self.follows(server);
        Fact { up, down_for, observation, standing, follows, as_of: Some(now), ..fixtures::fact(None, None) }
    }

    /// Looks once, and does what has to be done.
    fn act(&mut self, world: &mut World, now: Instant, settings: &GroupSettings) {
        let facts = self.facts(world, now);
        let view = roles::decide(&facts, &mut self.state, settings, now);
        self.keeps |= view.writer != 0;
        let quarantined = self.state.quarantined.iter().map(Option::is_some).collect();
        let sight = Sight { facts: &facts, quarantined, writer: view.writer, kind: GroupKind::Async, settings, now };
        let next = decide(&sight, &mut self.memory);
        let scene = Scene {
            names: (0..facts.len()).map(|server| server.to_string()).collect(),
            writer: view.writer,
            replicas: (0..facts.len())
                .filter(|server| {
                    *server != view.writer && facts[*server].up && self.state.quarantined[*server].is_none()
                })
                .map(|server| (server, Promotion::Neutral))
                .collect(),
            needed: needed(&sight),
            last_known: None,
            max_lost: None,
            drain: Duration::from_secs(1),
        };
        if matches!(next, Next::Nothing | Next::Watch(_)) {
            return;
        }
        world.tell(format!("weir {} ({} writes): {next:?}", self.number, view.writer));
        self.do_next(world, now, &next, &scene);
        self.memory.acted = Some(now);
    }

    fn follows(&self, server: usize) -> Follows {
        match &self.last[server] {
            None => Follows::Unknown,
            Some((_, standing)) => match &standing.source {
                Some(source) => Follows::Member(usize::from(source.port)),
                None => Follows::Nobody,
            },
        }
    }

    fn do_next(&mut self, world: &mut World, now: Instant, next: &Next, scene: &Scene) {
        let mut hands = SimulatedHands { weir: self.number, world };
        match next {
            Next::Nothing | Next::Watch(_) => {}
            Next::Join(_) => unreachable!("these servers elect nobody"),
            Next::Appoint(server) => self.state.set_writer(*server),
            Next::Failover => {
                let mut progress = Progress::begin("g", Action::Failover, "");
                match at_once(actions::fail_over(&mut hands, scene, None, &mut progress)) {
                    Ok(new) => {
                        self.memory.last_failover = Some(now);
                        self.memory.promoted(new);
                        self.state.set_writer(new);
                        at_once(actions::follow_all(&mut hands, scene, new, &mut progress));
                        hands.world.tell(format!("{new} was promoted"));
                    }
                    Err(error) => {
                        self.memory.rests_until[scene.writer] = Some(now + RETRY);
                        hands.world.tell(format!("failed: {error}"));
                    }
                }
            }
            Next::Resume => {
                let done = at_once(actions::resume(&mut hands, scene));
                self.memory.rests_until[scene.writer] = done.is_err().then(|| now + RETRY);
            }
            Next::Detach => {
                let done = at_once(actions::detach(&mut hands, scene));
                self.memory.rests_until[scene.writer] = done.is_err().then(|| now + RETRY);
            }
            Next::Fence(server) => {
                let done = at_once(actions::fence(&mut hands, scene, *server));
                self.memory.rests_until[*server] = done.is_err().then(|| now + RETRY);
            }
            Next::Rejoin(server) => {
                let done = at_once(actions::rejoin(&mut hands, scene, *server));
                match &done {
                    Ok(()) => self.state.quarantined[*server] = None,
                    Err(ActionError::Errant(what)) => self.state.quarantined[*server] = Some(what.clone()),
                    Err(_) => {}
                }
                self.memory.rests_until[*server] = done.is_err().then(|| now + RETRY);
            }
        }
    }
}

/// A future that never waits.
fn at_once<T>(future: impl Future<Output = T>) -> T {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(future).poll(&mut context) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => panic!("nothing here waits"),
    }
}

/// One history: faults for a while, then peace. Returns what is wrong.
fn run(seed: u64) -> Result<(), String> {
    let mut chance = Chance(seed ^ 0x5eed);
    let (servers, weirs) = (2 + chance.next(3), 1 + chance.next(2));
    let mut world = World::new(seed, servers, weirs);
    let settings = GroupSettings {
        failover_interval: Duration::from_secs(2),
        is_only_weir: weirs == 1,
        ..GroupSettings::default()
    };
    let mut restarts = Chance(seed ^ 0xfee1);
    world.nodes[0].starts_read_only = !restarts.one_in(3);
    let mut observers: Vec<_> = (0..weirs).map(|number| Weir::new(number, servers)).collect();
    let mut now = Instant::now() + Duration::from_secs(1000);
    let (mut restarted, mut forgot) = (false, false);
    for step in 0..900 {
        if step == 600 {
            world.mend_all();
        }
        world.break_something();
        for server in 0..servers {
            world.write(server);
        }
        let before = world.acknowledged.len();
        world.replicate();
        let told_by: std::collections::BTreeSet<_> =
            world.acknowledged[before..].iter().map(|(_, server)| *server).collect();
        if told_by.len() > 1 {
            return Err(format!("{told_by:?} acknowledged at once; {:#?}", world.story));
        }
        for observer in &mut observers {
            if world.faults && restarts.one_in(100) {
                let disk_is_lost = restarts.one_in(4);
                (restarted, forgot) = (true, forgot || disk_is_lost);
                observer.restart(disk_is_lost);
                world.tell(format!("weir {} restarts, and remembers {:?}", observer.number, observer.state.recalled()));
            }
            observer.act(&mut world, now, &settings);
        }
        now += STEP;
    }
    // A replica that does not refuse writes is nobody's writer, and neither is a server to which no Weir sends any.
    let writes = |server: &usize| {
        let node = &world.nodes[*server];
        let has_clients = observers.iter().any(|observer| observer.state.writer() == *server);
        !node.read_only && node.source.is_none() && has_clients
    };
    let writers: Vec<_> = (0..servers).filter(writes).collect();
    let covers_all = |server: &Node| world.nodes.iter().all(|other| server.log().covers(&other.log()));
    let unsure = forgot || (restarted || weirs > 1) && writers.is_empty();
    if unsure && !world.nodes.iter().any(covers_all) {
        // Histories have parted, and no Weir can be sure that it knows who wrote last: that is left to a person.
        return Ok(());
    }
    let [writer] = writers[..] else { return Err(format!("writers: {writers:?}; {:#?}", world.story)) };
    let log = world.nodes[writer].log();
    if let Some((lost, at)) = world.acknowledged.iter().find(|(transaction, _)| !log.covers(transaction)) {
        return Err(format!("{lost}, acknowledged by {at}, is lost; {:#?}", world.story));
    }
    Ok(())
}

#[test]
fn nothing_acknowledged_is_lost_and_there_is_always_one_writer_again() {
    let from_environment = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (first, count) =
        (from_environment("WEIR_SEED").unwrap_or(1), from_environment("WEIR_HISTORIES").unwrap_or(600));
    for seed in first..first + count {
        if let Err(why) = run(seed) {
            panic!("history {seed} (WEIR_SEED={seed} WEIR_HISTORIES=1): {why}");
        }
    }
}

/// A writer and two replicas, all of which can be reached; and what an action knows of them.
fn quiet_scene() -> (World, Scene) {
    let mut world = World::new(1, 3, 1);
    world.faults = false;
    world.write(0);
    (0..20).for_each(|_| world.replicate());
    let scene = Scene {
        names: ["a", "b", "c"].map(str::to_owned).into(),
        writer: 0,
        replicas: [1, 2].map(|server| (server, Promotion::Neutral)).into(),
        needed: 2,
        last_known: None,
        max_lost: None,
        drain: Duration::from_secs(1),
    };
    (world, scene)
}

#[test]
fn a_failover_that_is_given_up_leaves_a_writer_that_lives_as_it_was() {
    let (mut world, mut scene) = quiet_scene();
    let beyond = Position::parse(false, "3e11fa47-71ca-11e1-9e33-c80aa9429560:1-9").expect("a position");
    (scene.last_known, scene.max_lost) = (Some(Arc::new(beyond)), Some(0));
    let mut progress = Progress::begin("g", Action::Failover, "a");
    let mut hands = SimulatedHands { weir: 0, world: &mut world };
    let refused = at_once(actions::fail_over(&mut hands, &scene, None, &mut progress));
    assert!(matches!(&refused, Err(ActionError::Refused(why)) if why.contains("max_lost")), "{refused:?}");
    assert!(!world.nodes[0].read_only, "it takes writes");
    assert!(world.nodes[1].receives && world.nodes[2].receives, "it is followed");
    assert!(world.nodes[1].read_only && world.nodes[2].read_only, "nobody else takes writes");
}

#[test]
fn a_switchover_to_a_server_that_does_not_catch_up_leaves_the_writer_as_it_was() {
    let (mut world, scene) = quiet_scene();
    (world.links[0][1], world.links[1][0]) = (false, false);
    world.write(0);
    (0..20).for_each(|_| world.replicate());
    let mut progress = Progress::begin("g", Action::Switchover, "a");
    let switch = |world: &mut World, to: usize, progress: &mut Progress| {
        at_once(actions::switch_over(&mut SimulatedHands { weir: 0, world }, &scene, to, progress))
    };
    let refused = switch(&mut world, 1, &mut progress);
    assert!(matches!(&refused, Err(ActionError::Refused(why)) if why.contains("caught up")), "{refused:?}");
    let writes = |world: &World| world.nodes.iter().map(|node| !node.read_only).collect::<Vec<_>>();
    assert_eq!(writes(&world), [true, false, false]);
    assert_eq!(switch(&mut world, 2, &mut progress), Ok(()));
    assert_eq!(writes(&world), [false, false, true]);
}
