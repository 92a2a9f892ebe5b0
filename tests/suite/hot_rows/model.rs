//! The tables of the tests with many clients, and what each of their statements does and answers by itself: the model that an order of
//! the calls is searched with.
//!
//! Statements are made so that a reply tells as much as can be: the value after (`LAST_INSERT_ID(c + 1)`), whether a row was there (1 or 2
//! affected rows, a guard, 1062), or that a limit was met (1690, 1264, CHECK).

use weir_local::Flavor;

use super::order::Model;
use crate::reply::{Set, Summary};

/// The tables, without keys to shard them by.
pub(super) const TABLES: &[&str] = &[
    "CREATE TABLE seckill (id INT DEFAULT NULL, num BIGINT DEFAULT NULL)",
    "CREATE TABLE counters (id INT PRIMARY KEY, c BIGINT NOT NULL, u INT UNSIGNED NOT NULL, t TINYINT NOT NULL, \
     p INT NOT NULL, CHECK (p >= 0))",
    "CREATE TABLE hits (k INT PRIMARY KEY, n BIGINT NOT NULL)",
    "CREATE TABLE slots (id INT PRIMARY KEY, holder INT UNIQUE)",
    "CREATE TABLE names (id BIGINT AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL UNIQUE, n BIGINT NOT NULL)",
];
/// Their content at the start.
pub(super) const CONTENT: &[&str] = &[
    "INSERT INTO seckill VALUES (1, 900), (2, 300), (3, 10000000)",
    "INSERT INTO counters VALUES (1, 0, 500, 0, 100), (2, 0, 500, 0, 100)",
    "INSERT INTO slots VALUES (1, NULL), (2, NULL), (3, NULL)",
];
pub(super) const SLOTS: usize = 3;

/// What holds one state: the calls of different ones say nothing about each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Object {
    /// A row of `seckill`.
    Stock(i64),
    /// A column of a row of `counters`.
    Column(char, i64),
    /// A row of `hits`, there or not.
    Hits(i64),
    /// All of `slots`: holders are unique.
    Slots,
    /// A row of `names`, there or not.
    Name(i64),
}

impl Object {
    pub(super) fn start(self) -> State {
        match self {
            Self::Stock(1) => State::Number(900),
            Self::Stock(2) => State::Number(300),
            Self::Stock(_) => State::Number(10_000_000),
            Self::Column('u', _) => State::Number(500),
            Self::Column('p', _) => State::Number(100),
            Self::Column(..) => State::Number(0),
            Self::Hits(_) => State::Gone,
            Self::Slots => State::Slots([None; SLOTS]),
            Self::Name(_) => State::Gone,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum State {
    Number(i64),
    /// A row that isn't there.
    Gone,
    Slots([Option<i64>; SLOTS]),
    /// A row with an id that the server has given it.
    Named {
        id: u64,
        n: i64,
    },
}

/// What a statement does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Deed {
    /// Takes so many from a stock, if more than a limit are there.
    Sell(i64),
    /// Adds, and tells the sum.
    Count(i64),
    /// Takes from a number that can't be negative.
    Spend(i64),
    /// Adds to a number that must stay between -128 and 127.
    Swing(i64),
    /// Takes from a number that a CHECK keeps from being negative.
    Draw(i64),
    /// Adds to a row, or makes it with 1.
    Hit(i64),
    /// The same, and tells the sum.
    HitAndTell(i64),
    /// Deletes the row.
    Remove,
    /// Deletes the row if it has come to so much.
    RemoveFrom(i64),
    /// Gives a slot that is free to a holder.
    Claim { slot: usize, holder: i64 },
    /// Frees a slot of its holder.
    Free { slot: usize, holder: i64 },
    /// Adds to a row or makes it, and tells the id that the server has given it.
    Name(i64),
    /// What is there?
    Look,
}

/// A statement of a client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Op {
    pub(super) object: Object,
    pub(super) deed: Deed,
    /// Its transaction is rolled back: it sees, and changes nothing.
    pub(super) undone: bool,
    /// Its hints ask for one affected row.
    pub(super) hinted: bool,
}

/// What an answer tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Reply {
    pub(super) error: Option<u16>,
    affected: u64,
    insert_id: u64,
    info: String,
    warnings: u16,
    /// Of a read: the row's values.
    seen: Option<Vec<Option<i64>>>,
}

impl Reply {
    /// What the statement's own answer says.
    pub(super) fn of(set: &Set) -> Self {
        match set {
            Set::Ok(Summary { affected, insert_id, info, warnings, .. }) => Self {
                affected: *affected,
                insert_id: *insert_id,
                info: String::from_utf8_lossy(without_length(info)).into_owned(),
                warnings: *warnings,
                ..Self::default()
            },
            // Reads go as texts; slots are several rows of one value.
            Set::Rows(_, rows, _) => {
                let number = |cell: &Option<Vec<u8>>| {
                    Some(String::from_utf8_lossy(cell.as_deref()?).parse().unwrap_or(i64::MIN))
                };
                Self { seen: Some(rows.iter().flatten().map(number).collect()), ..Self::default() }
            }
            other => Self { error: other.error_code(), ..Self::default() },
        }
    }

    /// The same of a client that has matched rows counted, as others are told it. None if the numbers contradict each other.
    pub(super) fn of_changed_rows(mut self) -> Option<Self> {
        let number = |word: &str| self.info.split_once(word)?.1.split_whitespace().next()?.parse::<u64>().ok();
        if let (Some(found), Some(changed)) = (number("matched: "), number("Changed: ")) {
            if self.affected != found {
                return None;
            }
            self.affected = changed;
        }
        Some(self)
    }

    fn error(code: u16) -> Self {
        Self { error: Some(code), ..Self::default() }
    }

    /// Of an UPDATE that has found and changed so many rows.
    fn updated(found: u64, changed: u64) -> Self {
        Self {
            affected: changed,
            info: format!("Rows matched: {found}  Changed: {changed}  Warnings: 0"),
            ..Self::default()
        }
    }

    fn plain(affected: u64) -> Self {
        Self { affected, ..Self::default() }
    }

    fn seen(values: Vec<Option<i64>>) -> Self {
        Self { seen: Some(values), ..Self::default() }
    }
}

/// Without session tracking, servers write the length of the text before it, where the protocol has none.
fn without_length(info: &[u8]) -> &[u8] {
    match info {
        [length, text @ ..] if usize::from(*length) == text.len() => text,
        _ => info,
    }
}

/// What Weir answers when a statement affects other rows than its hints say.
pub(super) const WRONG_ROWS: u16 = 1105;

/// The server's code of a CHECK that doesn't hold.
pub(super) const BROKEN_CHECKS: [u16; 2] = [4025, 3819];

impl Op {
    /// The statement with a `?` for each value, and the values.
    pub(super) fn statement(&self) -> (&'static str, Vec<i64>) {
        match (self.object, self.deed) {
            (Object::Stock(id), Deed::Sell(by)) => {
                ("UPDATE seckill SET num = num - ? WHERE id = ? AND num > 1", vec![by, id])
            }
            (Object::Stock(id), _) => ("SELECT num FROM seckill WHERE id = ?", vec![id]),
            (Object::Column(_, id), Deed::Count(by)) => {
                ("UPDATE counters SET c = LAST_INSERT_ID(c + ?) WHERE id = ?", vec![by, id])
            }
            (Object::Column(_, id), Deed::Spend(by)) => ("UPDATE counters SET u = u - ? WHERE id = ?", vec![by, id]),
            (Object::Column(_, id), Deed::Swing(by)) => ("UPDATE counters SET t = t + ? WHERE id = ?", vec![by, id]),
            (Object::Column(_, id), Deed::Draw(by)) => ("UPDATE counters SET p = p - ? WHERE id = ?", vec![by, id]),
            (Object::Column(column, id), _) => {
                let text = match column {
                    'c' => "SELECT c FROM counters WHERE id = ?",
                    'u' => "SELECT u FROM counters WHERE id = ?",
                    't' => "SELECT t FROM counters WHERE id = ?",
                    _ => "SELECT p FROM counters WHERE id = ?",
                };
                (text, vec![id])
            }
            (Object::Hits(k), Deed::Hit(by)) => {
                ("INSERT INTO hits VALUES (?, 1) ON DUPLICATE KEY UPDATE n = n + ?", vec![k, by])
            }
            (Object::Hits(k), Deed::HitAndTell(by)) => {
                ("INSERT INTO hits VALUES (?, 1) ON DUPLICATE KEY UPDATE n = LAST_INSERT_ID(n + ?)", vec![k, by])
            }
            (Object::Hits(k), Deed::Remove) => ("DELETE FROM hits WHERE k = ?", vec![k]),
            (Object::Hits(k), Deed::RemoveFrom(least)) => ("DELETE FROM hits WHERE k = ? AND n >= ?", vec![k, least]),
            (Object::Hits(k), _) => ("SELECT n FROM hits WHERE k = ?", vec![k]),
            (Object::Slots, Deed::Claim { slot, holder }) => {
                ("UPDATE slots SET holder = ? WHERE id = ? AND holder IS NULL", vec![holder, slot as i64 + 1])
            }
            (Object::Slots, Deed::Free { slot, holder }) => {
                ("UPDATE slots SET holder = NULL WHERE id = ? AND holder = ?", vec![slot as i64 + 1, holder])
            }
            (Object::Slots, _) => ("SELECT holder FROM slots ORDER BY id", vec![]),
            (Object::Name(k), Deed::Name(by)) => (
                "INSERT INTO names (k, n) VALUES (?, 1) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), n = n + ?",
                vec![k, by],
            ),
            (Object::Name(k), Deed::Remove) => ("DELETE FROM names WHERE k = ?", vec![k]),
            (Object::Name(k), _) => ("SELECT id, n FROM names WHERE k = ?", vec![k]),
        }
    }

    /// What the statement answers in a state, and the state after it.
    fn run(&self, state: &State) -> (State, Reply) {
        let updated = |after: i64| (State::Number(after), Reply::updated(1, 1));
        let refused = |code| (state.clone(), Reply::error(code));
        match (state, self.deed) {
            (State::Number(num), Deed::Sell(by)) if *num > 1 => updated(num - by),
            (State::Number(_), Deed::Sell(_)) => (state.clone(), Reply::updated(0, 0)),
            (State::Number(c), Deed::Count(by)) => {
                let (after, reply) = updated(c + by);
                (after, Reply { insert_id: (c + by).unsigned_abs(), ..reply })
            }
            (State::Number(u), Deed::Spend(by)) if by > *u => refused(1690),
            (State::Number(t), Deed::Swing(by)) if !(-128..=127).contains(&(t + by)) => refused(1264),
            (State::Number(p), Deed::Draw(by)) if by > *p => refused(BROKEN_CHECKS[0]),
            (State::Number(number), Deed::Swing(by)) => updated(number + by),
            (State::Number(number), Deed::Spend(by) | Deed::Draw(by)) => updated(number - by),
            (State::Gone, Deed::Hit(_) | Deed::HitAndTell(_)) => (State::Number(1), Reply::plain(1)),
            (State::Number(n), Deed::Hit(by)) => (State::Number(n + by), Reply::plain(2)),
            (State::Number(n), Deed::HitAndTell(by)) => {
                (State::Number(n + by), Reply { insert_id: (n + by).unsigned_abs(), ..Reply::plain(2) })
            }
            (State::Number(n), Deed::RemoveFrom(least)) if *n < least => (state.clone(), Reply::plain(0)),
            (State::Number(_) | State::Named { .. }, Deed::Remove | Deed::RemoveFrom(_)) => {
                (State::Gone, Reply::plain(1))
            }
            (State::Gone, Deed::Remove | Deed::RemoveFrom(_)) => (State::Gone, Reply::plain(0)),
            (State::Slots(slots), deed) => self.run_on_slots(slots, deed),
            (State::Named { id, n }, Deed::Name(by)) => {
                (State::Named { id: *id, n: n + by }, Reply { insert_id: *id, ..Reply::plain(2) })
            }
            (State::Number(number), _) => (state.clone(), Reply::seen(vec![Some(*number)])),
            (State::Named { id, n }, _) => (state.clone(), Reply::seen(vec![Some(id.cast_signed()), Some(*n)])),
            (State::Gone, _) => (State::Gone, Reply::seen(vec![])),
        }
    }

    fn run_on_slots(&self, slots: &[Option<i64>; SLOTS], deed: Deed) -> (State, Reply) {
        let with = |slot: usize, holder| {
            let mut after = *slots;
            after[slot] = holder;
            (State::Slots(after), Reply::updated(1, 1))
        };
        let unchanged = |reply| (State::Slots(*slots), reply);
        match deed {
            Deed::Claim { slot, .. } if slots[slot].is_some() => unchanged(Reply::updated(0, 0)),
            Deed::Claim { holder, .. } if slots.contains(&Some(holder)) => unchanged(Reply::error(1062)),
            Deed::Claim { slot, holder } => with(slot, Some(holder)),
            Deed::Free { slot, holder } if slots[slot] == Some(holder) => with(slot, None),
            Deed::Free { .. } => unchanged(Reply::updated(0, 0)),
            _ => unchanged(Reply::seen(slots.to_vec())),
        }
    }
}

/// The tables as the search sees them.
pub(super) struct Tables;

impl Model for Tables {
    type State = State;
    type Op = Op;
    type Reply = Reply;

    fn step(state: &State, op: &Op, reply: Option<&Reply>) -> Option<State> {
        let (after, expected) = match (state, op.deed, reply) {
            // The server chooses the id; an unknown one is that of nobody.
            (State::Gone, Deed::Name(_), reply) => {
                let id = reply.map_or(0, |reply| reply.insert_id);
                (State::Named { id, n: 1 }, Reply { insert_id: id, ..Reply::plain(1) })
            }
            _ => op.run(state),
        };
        let wrong = op.hinted && expected.error.is_none() && expected.affected != 1;
        let (after, expected) = if wrong { (state.clone(), Reply::error(WRONG_ROWS)) } else { (after, expected) };
        let fits = reply.is_none_or(|reply| *reply == expected);
        fits.then(|| if op.undone { state.clone() } else { after })
    }
}

/// Errors of one kind of server as the model has them.
pub(super) fn settled(mut reply: Reply, flavor: Flavor) -> Reply {
    let own = if flavor == Flavor::MariaDb { BROKEN_CHECKS[0] } else { BROKEN_CHECKS[1] };
    if reply.error == Some(own) {
        reply.error = Some(BROKEN_CHECKS[0]);
    }
    reply
}
