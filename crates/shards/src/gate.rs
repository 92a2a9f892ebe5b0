//! The gate before tables that move: which statements may use them, and who still does.
//!
//! What must always hold: a session says that it may use tables by the catalog as it is now ([`Pass::enter`]) before it looks at the gate's
//! stage, and the mover changes the stage before it looks at who is in. So one of the two sees the other: once the gate is
//! [`Stage::Sealed`] and nobody is in, no statement that was planned before uses its tables, and no one begins to.
//!
//! A session is *in* from the first statement that may mean the gate's tables to the end of its transaction. While the gate is open, any
//! statement is taken for such a one: that costs nothing. From [`Stage::Near`] on, its words decide.

use std::cell::Cell;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use arc_swap::ArcSwap;
use tokio::sync::watch;
use weir_catalog::{Name, Words};

/// How far the gate is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Stage {
    /// No table is about to change its place.
    Open = 0,
    /// Some will soon: it is noted which transactions use them.
    Near = 1,
    /// Statements that mean them wait, but for those of transactions that are open. So do new transactions.
    Holding = 2,
    /// All that mean them wait, but for those of transactions that use them already.
    Sealed = 3,
}

impl Stage {
    fn of(number: u8) -> Stage {
        match number {
            1 => Stage::Near,
            2 => Stage::Holding,
            3 => Stage::Sealed,
            _ => Stage::Open,
        }
    }
}

/// See the module.
#[derive(Debug)]
pub struct Gate {
    stage: AtomicU8,
    names: ArcSwap<Vec<Name>>,
    /// Counts marks and changes of the stage.
    changed: watch::Sender<u64>,
    /// The same count, to be read at each statement.
    count: AtomicU64,
    passes: Mutex<Vec<Weak<Slot>>>,
}

/// What others see of a session.
#[derive(Debug, Default)]
struct Slot {
    /// It is in: the gate's count when it came. 0: it is not.
    inside: AtomicU64,
    /// It has a transaction or a statement open: the gate's count when that began. 0: it has none.
    open: AtomicU64,
}

/// A session's way through the gate. Who drops it is out.
#[derive(Debug)]
pub struct Pass {
    slot: Arc<Slot>,
    /// The version of the catalog when its transaction or statement began.
    since: Cell<u64>,
}

impl Default for Gate {
    fn default() -> Gate {
        Gate {
            stage: AtomicU8::new(Stage::Open as u8),
            names: ArcSwap::default(),
            changed: watch::Sender::new(1),
            count: AtomicU64::new(1),
            passes: Mutex::default(),
        }
    }
}

impl Gate {
    /// A new session's way.
    pub fn pass(&self) -> Pass {
        let slot = Arc::new(Slot::default());
        let mut passes = self.passes.lock().unwrap_or_else(PoisonError::into_inner);
        // Those that are gone are cleared away now and then.
        if passes.len() == passes.capacity() {
            passes.retain(|pass| pass.strong_count() > 0);
        }
        passes.push(Arc::downgrade(&slot));
        Pass { slot, since: Cell::new(0) }
    }

    /// How far it is closed. To be asked after [`Pass::enter`].
    #[inline]
    pub fn stage(&self) -> Stage {
        Stage::of(self.stage.load(Ordering::SeqCst))
    }

    /// Whether a statement of these words may mean one of its tables.
    pub fn means(&self, words: &Words) -> bool {
        self.names.load().iter().any(|name| words.may_mean(name))
    }

    /// Told whenever the stage has changed.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// It is to be near: these are the names of what a statement may mean, in lower case.
    pub fn approach<'a>(&self, names: impl IntoIterator<Item = &'a str>) {
        self.names.store(Arc::new(names.into_iter().map(Name::of).collect()));
        self.turn_to(Stage::Near);
    }

    /// It is closed further, or opened.
    pub fn turn_to(&self, stage: Stage) {
        self.stage.store(stage as u8, Ordering::SeqCst);
        self.mark();
    }

    /// A number: who comes in or begins something from now on does it at this or a greater one.
    pub fn mark(&self) -> u64 {
        let count = self.count.fetch_add(1, Ordering::SeqCst) + 1;
        self.changed.send_replace(count);
        count
    }

    /// How many sessions are in.
    pub fn inside(&self) -> usize {
        self.count(|slot| slot.inside.load(Ordering::SeqCst) != 0)
    }

    /// How many have been in since before a mark.
    pub fn inside_before(&self, mark: u64) -> usize {
        self.count(|slot| (1..mark).contains(&slot.inside.load(Ordering::SeqCst)))
    }

    /// How many sessions have a transaction or statement open that began before a mark.
    pub fn open_before(&self, mark: u64) -> usize {
        self.count(|slot| (1..mark).contains(&slot.open.load(Ordering::SeqCst)))
    }

    fn count(&self, which: impl Fn(&Slot) -> bool) -> usize {
        let passes = self.passes.lock().unwrap_or_else(PoisonError::into_inner);
        passes.iter().filter_map(Weak::upgrade).filter(|slot| which(slot)).count()
    }
}

impl Pass {
    /// Comes in, with the catalog of this version. Returns whether it was in before.
    #[inline]
    pub fn enter(&self, gate: &Gate, version: u64) -> bool {
        let Slot { inside, open } = &*self.slot;
        let begun = open.load(Ordering::Relaxed) != 0;
        let before = inside.load(Ordering::Relaxed) != 0;
        if begun && before {
            return true;
        }
        let count = gate.count.load(Ordering::SeqCst);
        if !begun {
            self.since.set(version);
            open.store(count, Ordering::SeqCst);
        }
        if !before {
            inside.store(count, Ordering::SeqCst);
        }
        before
    }

    /// What came in does not mean the gate's tables, or waits: it is out again, but its transaction goes on.
    pub fn step_out(&self) {
        self.slot.inside.store(0, Ordering::SeqCst);
    }

    /// It waits before it begins anything.
    pub fn stay_out(&self) {
        self.slot.inside.store(0, Ordering::SeqCst);
        self.slot.open.store(0, Ordering::SeqCst);
    }

    /// The statement has ended, and no transaction is open.
    #[inline]
    pub fn leave(&self) {
        if self.slot.open.load(Ordering::Relaxed) != 0 {
            self.stay_out();
        }
    }

    /// The version of the catalog when what is open began.
    #[inline]
    pub fn since(&self) -> Option<u64> {
        (self.slot.open.load(Ordering::Relaxed) != 0).then(|| self.since.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_in_until_its_transaction_ends() {
        let gate = Gate::default();
        let (one, two) = (gate.pass(), gate.pass());
        assert!(!one.enter(&gate, 4) && one.enter(&gate, 5));
        let mark = gate.mark();
        assert_eq!(one.since(), Some(4));
        two.enter(&gate, 6);
        assert_eq!((gate.inside(), gate.inside_before(mark), gate.open_before(mark)), (2, 1, 1));
        two.step_out();
        assert_eq!((gate.inside(), gate.open_before(gate.mark())), (1, 2));
        one.leave();
        drop(two);
        assert_eq!((gate.inside(), gate.open_before(u64::MAX)), (0, 0));
        assert_eq!(one.since(), None);
    }

    #[test]
    fn a_gate_knows_its_tables_by_name() {
        let gate = Gate::default();
        let words = |text: &str| Words::of(text.as_bytes(), None, &weir_catalog::Catalog::default());
        let mut changes = gate.changes();
        gate.approach(["orders"]);
        assert!(changes.has_changed().expect("the gate is there"));
        changes.borrow_and_update();
        assert_eq!(gate.stage(), Stage::Near);
        assert!(gate.means(&words("SELECT * FROM Orders")) && !gate.means(&words("SELECT * FROM lines")));
    }
}
