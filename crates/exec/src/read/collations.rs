//! What a merge needs to know of collations: whether they pad with spaces, and the weight of a space.
//!
//! What must always hold: Weir learns both from a server, by comparing and weighing, and assumes nothing. All shards have servers of one
//! kind.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write;
use std::rc::Rc;

use tokio::sync::Mutex;
use weir_backend::Connection;
use weir_plan::{Compare, Fold, Merge, Read, SortKey};
use weir_wire::Failure;
use weir_wire::error::codes;

use super::failure::internal;

/// Collations that one query asks about.
const AT_A_TIME: usize = 250;

/// The weight of a space in a PAD SPACE collation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    bytes: [u8; 4],
    width: usize,
}

impl Space {
    /// A space of these bytes: one to four.
    pub fn new(weight: &[u8]) -> Option<Space> {
        let mut bytes = [0; 4];
        bytes.get_mut(..weight.len())?.copy_from_slice(weight);
        (!weight.is_empty()).then_some(Space { bytes, width: weight.len() })
    }

    /// Its bytes.
    pub fn weight(&self) -> &[u8] {
        &self.bytes[..self.width]
    }
}

/// Collations by name: `None` for those that do not pad.
pub type Weights = HashMap<Box<str>, Option<Space>>;

/// The collations of the servers, asked for once.
#[derive(Debug, Default)]
pub struct Collations {
    known: RefCell<Option<Rc<Weights>>>,
    /// Held by whoever asks: the others wait for the answer, instead of asking all the same at the same time.
    asking: Mutex<()>,
}

impl Collations {
    /// What was learnt before.
    pub fn of(weights: Weights) -> Collations {
        Collations { known: RefCell::new(Some(Rc::new(weights))), ..Collations::default() }
    }

    /// What a read needs of them, if any: they are learnt on this connection if nobody has yet.
    pub(super) async fn needed(&self, read: &Read, connection: &mut Connection) -> Result<Rc<Weights>, Failure> {
        if compares_weights(&read.merge) { self.learnt(connection).await } else { Ok(Rc::default()) }
    }

    /// What these keys need of them.
    pub(super) async fn needed_by(
        &self,
        keys: &[SortKey],
        connection: &mut Connection,
    ) -> Result<Rc<Weights>, Failure> {
        if keys.iter().any(weighs) { self.learnt(connection).await } else { Ok(Rc::default()) }
    }

    async fn learnt(&self, connection: &mut Connection) -> Result<Rc<Weights>, Failure> {
        if let Some(known) = self.known() {
            return Ok(known);
        }
        let _alone = self.asking.lock().await;
        if let Some(known) = self.known() {
            return Ok(known);
        }
        connection.flush().await?;
        connection.confirm_state().await?;
        let learnt = Rc::new(learn(connection).await?);
        *self.known.borrow_mut() = Some(learnt.clone());
        Ok(learnt)
    }

    fn known(&self) -> Option<Rc<Weights>> {
        self.known.borrow().clone()
    }
}

fn compares_weights(merge: &Merge) -> bool {
    let any = |keys: &[SortKey]| keys.iter().any(weighs);
    match merge {
        Merge::Concatenate => false,
        Merge::Sorted(keys) => any(keys),
        Merge::Grouped(grouped) => {
            any(&grouped.keys) || any(grouped.order.as_deref().unwrap_or_default()) || grouped.columns.iter().any(folds)
        }
    }
}

fn weighs(key: &SortKey) -> bool {
    matches!(key.by, Compare::Weights { .. } | Compare::ByCollation { .. })
}

fn folds(fold: &Fold) -> bool {
    match fold {
        Fold::Min { key, .. } | Fold::Max { key, .. } => weighs(key),
        Fold::Distinct { by, fold } | Fold::InOrder { by, fold } => by.iter().any(weighs) || folds(fold),
        _ => false,
    }
}

/// Asks a server about all of its collations.
async fn learn(connection: &mut Connection) -> Result<Weights, Failure> {
    let names = names(connection).await?;
    let mut weights = Weights::with_capacity(names.len());
    for some in names.chunks(AT_A_TIME) {
        let mut query = String::from("SELECT 1");
        for (collation, charset) in some {
            // Whether 'a ' is 'a' is what padding means.
            let text = |text| format!("CONVERT('{text}' USING {charset}) COLLATE {collation}");
            let _ = write!(query, ",{}={},HEX(WEIGHT_STRING({}))", text("a "), text("a"), text(" "));
        }
        let row = connection.query(&query).await?.rows.pop().unwrap_or_default();
        for ((collation, _), answer) in some.iter().zip(row.get(1..).unwrap_or_default().chunks(2)) {
            let [pads, weight] = answer else { continue };
            let space = weight.as_deref().and_then(unhex).and_then(|weight| Space::new(&weight));
            match pads.as_deref() {
                Some(b"1") if space.is_some() => weights.insert(collation.as_str().into(), space),
                Some(b"0") => weights.insert(collation.as_str().into(), None),
                // Text of this collation can't be merged: it is not known.
                _ => None,
            };
        }
    }
    Ok(weights)
}

/// Names of collations as COLLATION() tells them, each with its character set.
async fn names(connection: &mut Connection) -> Result<Vec<(String, String)>, Failure> {
    let table = "FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY WHERE CHARACTER_SET_NAME IS NOT NULL";
    // MariaDB's newer collations have a name for each of their character sets.
    let full = connection.ask(&format!("SELECT FULL_COLLATION_NAME,CHARACTER_SET_NAME {table}")).await;
    let reply = match full {
        Err(failure) if failure.code == codes::ER_BAD_FIELD_ERROR => {
            connection.ask(&format!("SELECT COLLATION_NAME,CHARACTER_SET_NAME {table}")).await?
        }
        other => other?,
    };
    let name = |cell: &Option<Vec<u8>>| {
        let name = String::from_utf8(cell.clone()?).ok()?;
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_').then_some(name)
    };
    let pair = |row: &Vec<Option<Vec<u8>>>| Some((name(row.first()?)?, name(row.get(1)?)?));
    Ok(reply.rows.iter().filter_map(pair).filter(|(collation, _)| collation != "binary").collect())
}

fn unhex(digits: &[u8]) -> Option<Vec<u8>> {
    let digits = std::str::from_utf8(digits).ok()?;
    (0..digits.len() / 2).map(|at| u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok()).collect()
}

/// Whether a collation pads, and with what.
pub(super) fn space_of(weights: &Weights, collation: &str) -> Result<Option<Space>, Failure> {
    weights.get(collation).copied().ok_or_else(|| {
        internal(&format!("collation '{collation}' is unknown; order by a binary form of the text, as HEX(…)"))
    })
}
