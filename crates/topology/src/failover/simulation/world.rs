//! The simulated servers and the links between them.
//!
//! What must always hold: a server is only seen and touched over a link that works, and commits only what a replica has acknowledged.

use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_backend::standing::{SemiSync, Source};
use weir_backend::{Position, Standing};
use weir_wire::Failure;

use crate::failover::hands::{Hands, Look};
use crate::fixtures;

/// A source of chances (the multiplier of Knuth's MMIX).
pub(super) struct Chance(pub(super) u64);

impl Chance {
    pub(super) fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }

    pub(super) fn one_in(&mut self, times: usize) -> bool {
        self.next(times) == 0
    }
}

pub(super) fn empty() -> Position {
    Position::parse(false, "").expect("the empty position")
}

/// A server. Its transactions are in `executed` when others can see them; before, they wait for a replica's acknowledgement in `waiting`, and are in
/// its binary log.
pub(super) struct Node {
    pub(super) up: bool,
    pub(super) read_only: bool,
    /// What it is after a restart.
    pub(super) starts_read_only: bool,
    pub(super) executed: Position,
    pub(super) retrieved: Position,
    pub(super) waiting: Vec<(Position, bool)>,
    pub(super) source: Option<usize>,
    pub(super) receives: bool,
    pub(super) committing: bool,
    pub(super) starts: u64,
    pub(super) sequence: u64,
    pub(super) heartbeats: u64,
}

impl Node {
    pub(super) fn log(&self) -> Position {
        let mut log = self.executed.clone();
        self.waiting.iter().for_each(|(transaction, _)| log.add(transaction));
        log
    }
}

pub(super) struct World {
    pub(super) chance: Chance,
    pub(super) nodes: Vec<Node>,
    /// Which servers hear each other.
    pub(super) links: Vec<Vec<bool>>,
    /// Which server each Weir reaches.
    pub(super) reached: Vec<Vec<bool>>,
    /// What clients were told of, and where.
    pub(super) acknowledged: Vec<(Position, usize)>,
    pub(super) faults: bool,
    /// What happened, for a history that fails.
    pub(super) story: Vec<String>,
}

impl World {
    pub(super) fn new(seed: u64, servers: usize, weirs: usize) -> World {
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
            starts: 0,
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

    pub(super) fn tell(&mut self, what: String) {
        self.story.push(what);
    }

    /// Something may break, or be mended.
    pub(super) fn break_something(&mut self) {
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

    pub(super) fn kill(&mut self, server: usize) {
        let node = &mut self.nodes[server];
        if node.up {
            node.up = false;
            self.tell(format!("{server} dies"));
        }
    }

    /// What was in its binary log is committed when it has recovered.
    pub(super) fn restart(&mut self, server: usize) {
        let node = &mut self.nodes[server];
        if !node.up {
            node.executed = node.log();
            node.waiting.clear();
            node.up = true;
            node.starts += 1;
            node.read_only = node.starts_read_only;
            self.tell(format!("{server} is back"));
        }
    }

    pub(super) fn mend_all(&mut self) {
        self.faults = false;
        self.links.iter_mut().chain(&mut self.reached).flatten().for_each(|link| *link = true);
        (0..self.nodes.len()).for_each(|server| self.restart(server));
    }

    /// Transactions travel, are acknowledged, applied and committed.
    pub(super) fn replicate(&mut self) {
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
    pub(super) fn write(&mut self, server: usize) {
        let node = &mut self.nodes[server];
        if node.up && !node.read_only && node.committing {
            node.sequence += 1;
            let text = format!("3e11fa47-71ca-11e1-9e33-c80aa942956{server}:{}", node.sequence);
            node.waiting.push((Position::parse(false, &text).expect("a position"), false));
        }
    }
}

pub(super) fn standing(world: &World, server: usize, now: Instant) -> Standing {
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
    Standing { source, semi_sync, ..fixtures::standing(now) }
}

/// A Weir's hands. The world goes on between the steps.
pub(super) struct SimulatedHands<'a> {
    pub(super) weir: usize,
    pub(super) world: &'a mut World,
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
