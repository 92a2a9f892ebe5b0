//! Names of distributed transactions.
//!
//! What must always hold: no two transactions of any Weirs have one name, and a name says by itself which shard decides. It is made of
//! letters, digits and dashes only, and fits the 64 bytes that XA allows. Its bytes are the same whatever a connection's character set is.

use std::fmt;
use std::str::FromStr;

use weir_catalog::ShardId;

/// What the name of each transaction of a Weir begins with.
const PREFIX: &str = "weir1";

/// The format number of Weir's XA ids: `WEIR` in ASCII.
pub const FORMAT: u32 = 0x5745_4952;

/// The name of a distributed transaction: XA's `gtrid`, and the key of its decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TransactionId {
    /// The shard that decides.
    pub decider: ShardId,
    /// Which Weir: a random number, different for each process.
    pub instance: u64,
    /// Its transactions are counted.
    pub counter: u64,
    /// When it became distributed, in seconds since 1970.
    pub time: u64,
}

impl TransactionId {
    /// XA's whole name of the transaction's branch on a shard, as it is written in an XA statement: in hexadecimal, as it is sent on
    /// clients' connections, where a literal of characters is converted to `character_set_connection` (utf16 would double its bytes).
    pub fn branch(&self, shard: ShardId) -> String {
        format!("{},{},{FORMAT}", self.literal(), hexadecimal(&shard.0.to_string()))
    }

    /// Whether these bytes could be the name of a transaction of Weir's, to which only Weirs say what becomes of it.
    pub fn is_kept_for(name: &[u8]) -> bool {
        name.strip_prefix(PREFIX.as_bytes()).is_some_and(|rest| rest.starts_with(b"-"))
    }

    /// The name as a literal of the same bytes on any connection.
    pub fn literal(&self) -> String {
        hexadecimal(&self.to_string())
    }
}

impl fmt::Display for TransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TransactionId { decider, instance, counter, time } = self;
        write!(f, "{PREFIX}-{}-{instance:016x}-{counter:x}-{time:x}", decider.0)
    }
}

fn hexadecimal(text: &str) -> String {
    let digits: String = text.bytes().map(|byte| format!("{byte:02X}")).collect();
    format!("X'{digits}'")
}

/// A text that is not the name of a transaction of Weir.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the name of one of Weir's transactions")]
pub struct NotOurs;

impl FromStr for TransactionId {
    type Err = NotOurs;

    fn from_str(text: &str) -> Result<TransactionId, NotOurs> {
        let mut parts = text.split('-');
        let mut part = || parts.next().ok_or(NotOurs);
        if part()? != PREFIX {
            return Err(NotOurs);
        }
        let decider = ShardId(part()?.parse().map_err(|_| NotOurs)?);
        let mut hex = || u64::from_str_radix(part()?, 16).map_err(|_| NotOurs);
        let id = TransactionId { decider, instance: hex()?, counter: hex()?, time: hex()? };
        // The one way to write it: what else looks like it is somebody else's.
        if id.to_string() == text { Ok(id) } else { Err(NotOurs) }
    }
}

/// A branch as XA RECOVER lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BranchId {
    /// The transaction.
    pub transaction: TransactionId,
    /// The shard that the branch is on.
    pub shard: ShardId,
}

impl BranchId {
    /// Reads a row of XA RECOVER: `formatID`, `gtrid_length`, `bqual_length`, `data`. `None`: not one of Weir's.
    pub fn of_row(row: &[Option<Vec<u8>>]) -> Option<BranchId> {
        let text = |at: usize| std::str::from_utf8(row.get(at)?.as_deref()?).ok();
        if text(0)?.parse() != Ok(FORMAT) {
            return None;
        }
        let (gtrid, rest) = text(3)?.split_at_checked(text(1)?.parse().ok()?)?;
        let bqual = rest.get(..text(2)?.parse().ok()?)?;
        Some(BranchId { transaction: gtrid.parse().ok()?, shard: ShardId(bqual.parse().ok()?) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: TransactionId = TransactionId { decider: ShardId(3), instance: 0xabc, counter: 17, time: 1_700_000_000 };

    #[test]
    fn a_name_is_read_as_it_was_written_and_nothing_else_is() {
        let text = ID.to_string();
        assert_eq!(text, "weir1-3-0000000000000abc-11-6553f100");
        assert_eq!(text.parse(), Ok(ID));
        assert!(ID.branch(ShardId(12)).ends_with(",X'3132',1464158546"), "{}", ID.branch(ShardId(12)));
        for other in ["", "weir1", "weir1-3-abc-11-6553f100", "weir2-3-0000000000000abc-11-6553f100", "x1-3-1-1-1"] {
            assert_eq!(other.parse::<TransactionId>(), Err(NotOurs), "{other}");
        }
        assert_eq!(format!("{text}-1").parse::<TransactionId>(), Err(NotOurs));
    }

    #[test]
    fn the_longest_name_fits_xa() {
        let all = TransactionId { decider: ShardId(u16::MAX), instance: u64::MAX, counter: u64::MAX, time: u64::MAX };
        assert!(all.to_string().len() <= 64);
        assert_eq!(all.to_string().parse(), Ok(all));
    }

    #[test]
    fn only_our_rows_of_xa_recover_are_ours() {
        let row = |cells: [&str; 4]| cells.map(|cell| Some(cell.as_bytes().to_vec()));
        let name = ID.to_string();
        let (length, data) = (name.len().to_string(), format!("{name}12"));
        let ours = row(["1464158546", &length, "2", &data]);
        assert_eq!(BranchId::of_row(&ours), Some(BranchId { transaction: ID, shard: ShardId(12) }));
        assert_eq!(BranchId::of_row(&row(["1", &length, "2", &data])), None);
        assert_eq!(BranchId::of_row(&row(["1464158546", "99", "2", &data])), None);
        assert_eq!(BranchId::of_row(&row(["1464158546", "2", "2", "gbxx"])), None);
        assert_eq!(BranchId::of_row(&[]), None);
    }
}
