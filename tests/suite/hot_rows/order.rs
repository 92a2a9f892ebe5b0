//! Searches one serial order of concurrent calls that explains every reply: what linearizability asks for.
//!
//! The search is Wing and Gong's, with the memory that Lowe added (the same set of calls in the same state is looked at once), and two rules
//! more. Of calls that are alike and have the same reply, only the one that ended first needs to be tried: the two could change places in any
//! order that has them the other way round. A call that fits and changes nothing is put where it is met: in any order that has it later, it could
//! stand here as well.
//!
//! Must always hold: an order that is found respects real time (a call that ended before another began comes first), has every call whose reply is
//! known, and may leave out those whose outcome nobody was told.

use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use std::hash::Hash;

use crate::script::Dice;

/// What one object does.
pub(super) trait Model {
    /// What it holds.
    type State: Clone + Eq + Hash + Debug;
    /// What is asked of it.
    type Op: Clone + Eq + Hash + Debug;
    /// What it answers.
    type Reply: Clone + Eq + Hash + Debug;

    /// The state after the call, if this reply (any, if it isn't known) can be the one that it gets in `state`.
    fn step(state: &Self::State, op: &Self::Op, reply: Option<&Self::Reply>) -> Option<Self::State>;
}

/// The moment of an end that nobody has seen.
pub(super) const NEVER: u64 = u64::MAX;

/// One call of a client.
pub(super) struct Call<M: Model> {
    /// When it was sent and when its reply was there, on a clock that all clients share.
    pub(super) sent: u64,
    pub(super) ended: u64,
    pub(super) op: M::Op,
    /// None if nobody knows whether it was done; it then ends `NEVER`.
    pub(super) reply: Option<M::Reply>,
}

/// Why there is no order.
#[derive(Debug, PartialEq)]
pub(super) enum Unexplained {
    /// All were tried. The text tells how far the best one came.
    NoOrder(String),
    /// There were too many to try.
    TooMany,
}

/// How many steps a search may take.
const MOST_STEPS: usize = 4_000_000;

/// An order of the calls (their numbers in `calls`) that begins in `start`.
pub(super) fn explain<M: Model>(start: M::State, mut calls: Vec<Call<M>>) -> Result<usize, Unexplained> {
    calls.sort_by_key(|call| call.sent);
    let mut search = Search::new(&calls);
    search.run(start).map(|()| search.known)
}

/// Two random numbers for each call: the numbers of a set's calls, combined, stand for the set.
fn marks(count: usize) -> Vec<u128> {
    let mut dice = Dice::new(0x5eed);
    (0..count).map(|_| (0..8).fold(0, |mark: u128, _| mark << 16 | dice.below(1 << 16) as u128)).collect()
}

/// A call that was put into the order, and what else could have been put there.
struct Frame<S> {
    state: S,
    candidates: Vec<usize>,
    tried: usize,
}

struct Search<'a, M: Model> {
    calls: &'a [Call<M>],
    /// Calls that are alike have the same number.
    likeness: Vec<usize>,
    marks: Vec<u128>,
    /// Those not in the order yet, as a list; the number behind the last is its head.
    next: Vec<usize>,
    previous: Vec<usize>,
    /// Calls that must be in the order.
    known: usize,
    set: u128,
    seen: HashSet<(u128, M::State)>,
    steps: usize,
    /// The farthest that it came: how many known calls were in the order, and what stood there.
    farthest: (usize, String),
}

impl<'a, M: Model> Search<'a, M> {
    fn new(calls: &'a [Call<M>]) -> Self {
        let mut kinds = HashMap::new();
        let likeness = calls
            .iter()
            .map(|call| {
                let number = kinds.len();
                *kinds.entry((call.op.clone(), call.reply.clone())).or_insert(number)
            })
            .collect();
        let count = calls.len();
        Self {
            calls,
            likeness,
            marks: marks(count),
            next: (1..=count).chain([0]).collect(),
            previous: std::iter::once(count).chain(0..count).collect(),
            known: calls.iter().filter(|call| call.reply.is_some()).count(),
            set: 0,
            seen: HashSet::new(),
            steps: 0,
            farthest: (0, String::new()),
        }
    }

    fn head(&self) -> usize {
        self.calls.len()
    }

    fn take(&mut self, call: usize) {
        let (before, after) = (self.previous[call], self.next[call]);
        self.next[before] = after;
        self.previous[after] = before;
        self.set ^= self.marks[call];
    }

    fn put_back(&mut self, call: usize) {
        let (before, after) = (self.previous[call], self.next[call]);
        self.next[before] = call;
        self.previous[after] = call;
        self.set ^= self.marks[call];
    }

    /// The calls that may come next: no other has ended before they began. Those that ended first come first.
    fn candidates(&self, state: &M::State) -> Vec<usize> {
        let mut found: Vec<usize> = Vec::new();
        let mut first_end = NEVER;
        let mut at = self.next[self.head()];
        while at != self.head() && self.calls[at].sent < first_end {
            first_end = first_end.min(self.calls[at].ended);
            found.push(at);
            at = self.next[at];
        }
        let changes_nothing = |call: &usize| {
            let Call { op, reply, .. } = &self.calls[*call];
            reply.is_some() && M::step(state, op, reply.as_ref()).is_some_and(|after| after == *state)
        };
        if let Some(idle) = found.iter().copied().find(changes_nothing) {
            return vec![idle];
        }
        found.sort_by_key(|&call| (self.calls[call].ended, call));
        let mut alike = HashSet::new();
        found.retain(|&call| alike.insert(self.likeness[call]));
        found
    }

    fn run(&mut self, start: M::State) -> Result<(), Unexplained> {
        let mut done = 0;
        let candidates = self.candidates(&start);
        let mut frames = vec![Frame { state: start, candidates, tried: 0 }];
        while done < self.known {
            let Some(frame) = frames.last_mut() else {
                return Err(Unexplained::NoOrder(std::mem::take(&mut self.farthest.1)));
            };
            let Some(&call) = frame.candidates.get(frame.tried) else {
                self.remember(done, frames.last().expect("there is one"));
                frames.pop();
                if let Some(before) = frames.last() {
                    let call = before.candidates[before.tried - 1];
                    self.put_back(call);
                    done -= usize::from(self.calls[call].reply.is_some());
                }
                continue;
            };
            frame.tried += 1;
            self.steps += 1;
            if self.steps > MOST_STEPS {
                return Err(Unexplained::TooMany);
            }
            let Some(state) = M::step(&frame.state, &self.calls[call].op, self.calls[call].reply.as_ref()) else {
                continue;
            };
            // One that may have been left out, and changes nothing, is left out.
            if self.calls[call].reply.is_none() && state == frame.state
                || !self.seen.insert((self.set ^ self.marks[call], state.clone()))
            {
                continue;
            }
            self.take(call);
            done += usize::from(self.calls[call].reply.is_some());
            let candidates = self.candidates(&state);
            frames.push(Frame { state, candidates, tried: 0 });
        }
        Ok(())
    }

    /// Keeps what a person needs to see of a dead end.
    fn remember(&mut self, done: usize, frame: &Frame<M::State>) {
        if done < self.farthest.0 || !self.farthest.1.is_empty() && done == self.farthest.0 {
            return;
        }
        let mut text =
            format!("{done} of {} calls explained; then {:?}, and none of these fits:", self.known, frame.state);
        for call in frame.candidates.iter().take(20).map(|&call| &self.calls[call]) {
            let end = if call.ended == NEVER { "never".into() } else { call.ended.to_string() };
            text.push_str(&format!("\n  {} to {end}: {:?} got {:?}", call.sent, call.op, call.reply));
        }
        self.farthest = (done, text);
    }
}
