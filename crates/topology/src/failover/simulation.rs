//! Groups of simulated servers whose machines die and whose links break, under the decisions and the sequences of steps that real groups get.
//!
//! Everything happens in one thread and in virtual time, from a seed: a history that fails can be run again (`WEIR_SEED`). Commits wait for one
//! replica (lossless semi-synchronous replication), and Weirs watch the group from several places.
//!
//! What must always hold: a transaction that a client was told of is never lost; two servers never both acknowledge; when all faults have ended,
//! there is a writer again, everybody follows it, and clients can write.

use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_backend::standing::{SemiSync, Source};
use weir_backend::{Observation, Position, Standing};
use weir_wire::Failure;

use super::actions::{self, Scene};
use super::decide::{Follows, Memory, Next, RETRY, Sight, decide, needed};
use super::hands::{Hands, Look};
use super::records::{Action, Progress};
use crate::kind::GroupKind;
use crate::roles::{self, Fact, State};
use crate::settings::{GroupSettings, Promotion};

/// Between two looks of a Weir.
const STEP: Duration = Duration::from_millis(100);

/// A source of chances (the multiplier of Knuth's MMIX).
struct Chance(u64);

impl Chance {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }

    fn one_in(&mut self, times: usize) -> bool {
        self.next(times) == 0
    }
}

fn empty() -> Position {
    Position::parse(false, "").expect("the empty position")
}

/// A server. Its transactions are in `executed` when others can see them; before, they wait for a replica's acknowledgement in `waiting`, and are in
/// its binary log.
struct Node {
    up: bool,
    read_only: bool,
    /// What it is after a restart.
    starts_read_only: bool,
    executed: Position,
    retrieved: Position,
    waiting: Vec<(Position, bool)>,
    source: Option<usize>,
    receives: bool,
    committing: bool,
    life: u64,
    sequence: u64,
    heartbeats: u64,
}

impl Node {
    fn log(&self) -> Position {
        let mut log = self.executed.clone();
        self.waiting.iter().for_each(|(transaction, _)| log.add(transaction));
        log
    }
}

struct World {
    chance: Chance,
    nodes: Vec<Node>,
    /// Which servers hear each other.
    links: Vec<Vec<bool>>,
    /// Which server each Weir reaches.
    reached: Vec<Vec<bool>>,
    /// What clients were told of, and where.
    acknowledged: Vec<(Position, usize)>,
    faults: bool,
    /// What happened, for a history that fails.
    story: Vec<String>,
}

impl World {
    fn new(seed: u64, servers: usize, weirs: usize) -> World {
        let node = |index: usize| Node {
            up: true,
            read_only: index != 0,
            starts_read_only: true,
            executed: empty(),
            retrieved: empty(),
            waiting: Vec::new(),
            source: (index != 0).then_some(0),
            receives: index != 0,
            committing: index == 0,
            life: 0,
            sequence: 0,
            heartbeats: 0,
        };
        World {
            chance: Chance(seed),
            nodes: (0..servers).map(node).collect(),
            links: vec![vec![true; servers]; servers],
            reached: vec![vec![true; servers]; weirs],
            acknowledged: Vec::new(),
            faults: true,
            story: Vec::new(),
        }
    }

    fn tell(&mut self, what: String) {
        self.story.push(what);
    }

    /// Something may break, or be mended.
    fn break_something(&mut self) {
        if !self.faults || !self.chance.one_in(12) {
            return;
        }
        let (server, other) = (self.chance.next(self.nodes.len()), self.chance.next(self.nodes.len()));
        let weir = self.chance.next(self.reached.len());
        match self.chance.next(8) {
            0 | 1 => self.kill(server),
            2 | 3 => self.restart(server),
            4 => {
                let to = !self.reached[weir][server];
                self.reached[weir][server] = to;
                self.tell(format!("weir {weir} to {server}: {to}"));
            }
            5 => {
                let to = !self.links[server][other];
                self.links[server][other] = to;
                self.links[other][server] = to;
                self.tell(format!("{server} to {other}: {to}"));
            }
            6 => self.links.iter_mut().flatten().for_each(|link| *link = true),
            _ => self.reached[weir].iter_mut().for_each(|link| *link = true),
        }
    }

    fn kill(&mut self, server: usize) {
        let node = &mut self.nodes[server];
        if node.up {
            node.up = false;
            self.tell(format!("{server} dies"));
        }
    }

    /// What was in its binary log is committed when it has recovered.
    fn restart(&mut self, server: usize) {
        let node = &mut self.nodes[server];
        if !node.up {
            node.executed = node.log();
            node.waiting.clear();
            node.up = true;
            node.life += 1;
            node.read_only = node.starts_read_only;
            self.tell(format!("{server} is back"));
        }
    }

    fn mend_all(&mut self) {
        self.faults = false;
        self.links.iter_mut().chain(&mut self.reached).flatten().for_each(|link| *link = true);
        (0..self.nodes.len()).for_each(|server| self.restart(server));
    }

    /// Transactions travel, are acknowledged, applied and committed.
    fn replicate(&mut self) {
        for replica in 0..self.nodes.len() {
            let Some(source) = self.nodes[replica].source else { continue };
            let hears = self.nodes[replica].up && self.nodes[replica].receives && self.nodes[source].up;
            if !hears || !self.links[replica][source] || self.chance.one_in(4) {
                continue;
            }
            let log = self.nodes[source].log();
            let node = &mut self.nodes[replica];
            node.heartbeats += 1;
            node.retrieved.add(&log);
            let received = node.retrieved.clone();
            for (transaction, is_acknowledged) in &mut self.nodes[source].waiting {
                *is_acknowledged |= received.covers(transaction);
            }
        }
        for server in 0..self.nodes.len() {
            let applies = self.nodes[server].up && self.nodes[server].source.is_some() && !self.chance.one_in(3);
            let node = &mut self.nodes[server];
            if applies {
                let retrieved = node.retrieved.clone();
                node.executed.add(&retrieved);
            }
            if node.up {
                let (done, waiting) = std::mem::take(&mut node.waiting).into_iter().partition(|(_, done)| *done);
                node.waiting = waiting;
                let done: Vec<(Position, bool)> = done;
                for (transaction, _) in done {
                    self.nodes[server].executed.add(&transaction);
                    self.acknowledged.push((transaction, server));
                }
            }
        }
    }

    /// A client that gets there writes, whoever is the writer.
    fn write(&mut self, server: usize) {
        let node = &mut self.nodes[server];
        if node.up && !node.read_only && node.committing {
            node.sequence += 1;
            let text = format!("3e11fa47-71ca-11e1-9e33-c80aa942956{server}:{}", node.sequence);
            node.waiting.push((Position::parse(false, &text).expect("a position"), false));
        }
    }
}

/// A Weir: what it remembers.
struct Weir {
    number: usize,
    state: State,
    memory: Memory,
    down_since: Vec<Option<Instant>>,
    last: Vec<Option<(Arc<Observation>, Arc<Standing>)>>,
}

impl Weir {
    fn new(number: usize, servers: usize) -> Weir {
        Weir {
            number,
            state: State::new(0, servers),
            memory: Memory::new(servers),
            down_since: vec![None; servers],
            last: vec![None; servers],
        }
    }

    fn facts(&mut self, world: &World, now: Instant) -> Vec<Fact> {
        (0..world.nodes.len()).map(|server| self.fact(world, server, now)).collect()
    }

    fn fact(&mut self, world: &World, server: usize, now: Instant) -> Fact {
        let node = &world.nodes[server];
        let up = node.up && world.reached[self.number][server];
        if up {
            let observation = Observation {
                asked: now,
                life: node.life,
                read_only: node.read_only,
                has_gtids: true,
                applied: Arc::new(node.executed.clone()),
                visible: Arc::new(node.executed.clone()),
            };
            self.last[server] = Some((Arc::new(observation), Arc::new(standing(world, server, now))));
            self.down_since[server] = None;
        } else {
            self.down_since[server].get_or_insert(now);
        }
        let last = self.last[server].clone();
        Fact {
            weight: None,
            up,
            known: true,
            why_down: String::new(),
            down_for: self.down_since[server].map_or(Duration::ZERO, |since| now - since),
            same_kind: true,
            observation: last.as_ref().map(|(observation, _)| observation.clone()),
            as_of: Some(now),
            standing: last.map(|(_, standing)| standing),
            promotion: Promotion::Neutral,
        }
    }

    /// Looks once, and does what has to be done.
    fn act(&mut self, world: &mut World, now: Instant, settings: &GroupSettings) {
        let facts = self.facts(world, now);
        let view = roles::decide(&facts, &mut self.state, settings, now);
        let follows = (0..facts.len()).map(|server| self.follows(server)).collect();
        let quarantined = self.state.quarantined.iter().map(Option::is_some).collect();
        let sight =
            Sight { facts: &facts, follows, quarantined, writer: view.writer, kind: GroupKind::Async, settings, now };
        let next = decide(&sight, &mut self.memory);
        let scene = Scene {
            names: (0..facts.len()).map(|server| server.to_string()).collect(),
            writer: view.writer,
            replicas: (0..facts.len())
                .filter(|server| *server != view.writer && facts[*server].up)
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
            Next::Fence(server) => {
                let done = at_once(hands.set_read_only(*server, true));
                self.memory.rests_until[*server] = done.is_err().then(|| now + RETRY);
            }
            Next::Rejoin(server) => {
                let done = at_once(actions::rejoin(&mut hands, scene, *server));
                self.state.quarantined[*server] = done.as_ref().err().map(ToString::to_string);
                self.memory.rests_until[*server] = done.is_err().then(|| now + RETRY);
            }
        }
    }
}

fn standing(world: &World, server: usize, now: Instant) -> Standing {
    let node = &world.nodes[server];
    let source = node.source.map(|source| {
        let mut received = node.retrieved.clone();
        received.add(&node.executed);
        Source {
            host: String::new(),
            // Its place in the group stands for its address.
            port: u16::try_from(source).expect("there are few"),
            receives: node.receives && world.nodes[source].up && world.links[server][source],
            applies: true,
            by_gtid: true,
            error: None,
            received: Arc::new(received),
            heartbeats: node.heartbeats,
        }
    });
    let semi_sync = SemiSync {
        available: true,
        enabled: node.committing,
        active: node.committing,
        after_sync: true,
        wait_count: 1,
        acknowledges: !node.committing,
        ..SemiSync::default()
    };
    Standing {
        asked: now,
        uuid: None,
        report_host: None,
        port: 0,
        source,
        source_unknown: None,
        semi_sync,
        group_replication: None,
        galera: None,
    }
}

/// A Weir's hands. The world goes on between the steps.
struct SimulatedHands<'a> {
    weir: usize,
    world: &'a mut World,
}

impl SimulatedHands<'_> {
    fn node(&mut self, server: usize) -> Result<&mut Node, Failure> {
        self.world.break_something();
        self.world.replicate();
        let reached = self.world.reached[self.weir][server] && self.world.nodes[server].up;
        if reached { Ok(&mut self.world.nodes[server]) } else { Err(Failure::server(2003, "it can't be reached")) }
    }
}

impl Hands for SimulatedHands<'_> {
    async fn reach(&mut self, server: usize) -> Result<bool, Failure> {
        self.node(server).map(|_| true)
    }

    async fn look(&mut self, server: usize) -> Result<Look, Failure> {
        let node = self.node(server)?;
        let mut received = node.executed.clone();
        received.add(&node.retrieved);
        Ok(Look { read_only: node.read_only, has: Arc::new(node.log()), received: Arc::new(received) })
    }

    async fn stop_receiving(&mut self, server: usize) -> Result<(), Failure> {
        self.node(server).map(|node| node.receives = false)
    }

    async fn start_receiving(&mut self, server: usize) -> Result<(), Failure> {
        self.node(server).map(|node| node.receives = true)
    }

    async fn wait_for(&mut self, server: usize, position: &Position, _: Duration) -> Result<bool, Failure> {
        self.node(server).map(|node| node.executed.covers(position))
    }

    async fn open_transactions(&mut self, server: usize) -> Result<Vec<String>, Failure> {
        self.node(server).map(|_| Vec::new())
    }

    async fn set_read_only(&mut self, server: usize, on: bool) -> Result<(), Failure> {
        self.node(server).map(|node| node.read_only = on)
    }

    async fn stop_following(&mut self, server: usize) -> Result<(), Failure> {
        self.node(server).map(|node| {
            (node.source, node.receives, node.committing) = (None, false, true);
            node.retrieved = node.executed.clone();
        })
    }

    async fn follow(&mut self, server: usize, source: usize) -> Result<(), Failure> {
        self.node(server).map(|node| {
            (node.source, node.receives, node.committing) = (Some(source), true, false);
            node.retrieved = node.executed.clone();
        })
    }

    async fn errant(&mut self, server: usize, of: usize) -> Result<Option<String>, Failure> {
        let own = self.node(server)?.log();
        let others = self.node(of)?.log();
        Ok(own.beyond(&others).map(|(_, what)| what))
    }

    async fn pause(&mut self, _: Duration) {
        self.world.replicate();
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
    let mut observers: Vec<_> = (0..weirs).map(|number| Weir::new(number, servers)).collect();
    let mut now = Instant::now() + Duration::from_secs(1000);
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
            observer.act(&mut world, now, &settings);
        }
        now += STEP;
    }
    let writers: Vec<_> = (0..servers).filter(|server| !world.nodes[*server].read_only).collect();
    let covers_all = |server: &Node| world.nodes.iter().all(|other| server.log().covers(&other.log()));
    if weirs > 1 && writers.is_empty() && !world.nodes.iter().any(covers_all) {
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
