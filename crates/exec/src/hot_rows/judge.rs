//! What the replies of a batch mean for its members: a pure decision.
//!
//! A server that ends a transaction for a deadlock rolls back all of it, and runs what was already sent behind the victim in autocommit:
//! that is durable at once. An OK tells by its status flags which of the two it was; an error tells nothing.

/// What the server said to a member's statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// OK; and whether the transaction was open then.
    Ok {
        /// The status flags say that a transaction is open.
        in_transaction: bool,
    },
    /// An error.
    Error,
}

/// What becomes of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// What was said is so once the batch is committed.
    WithBatch,
    /// It ran outside of the transaction: what was said is so already.
    Stands,
    /// It was rolled back, or has failed in what was rolled back: it has done nothing.
    Undone,
    /// Nobody knows whether it was committed.
    Unknown,
}

/// What becomes of the members of a batch that began with BEGIN. `open`: a transaction is open after the last of them.
pub fn judge(heard: &[Heard], open: bool) -> Vec<Fate> {
    let outside = heard.iter().position(|heard| *heard == Heard::Ok { in_transaction: false });
    let end = match outside {
        Some(outside) => outside,
        None if open => return vec![Fate::WithBatch; heard.len()],
        None => heard.len(),
    };
    // One of the errors before has ended the transaction: the last one at the latest. An error that came after that one has done nothing
    // either.
    let broken = heard[..end].iter().rposition(|heard| *heard == Heard::Error);
    let fate = |at| match broken {
        Some(broken) if at <= broken => Fate::Undone,
        Some(_) => Fate::Stands,
        None if outside.is_some_and(|outside| at >= outside) => Fate::Stands,
        None => Fate::Unknown,
    };
    (0..heard.len()).map(fate).collect()
}

#[cfg(test)]
mod tests {
    use super::Fate::{Stands, Undone, Unknown, WithBatch};
    use super::*;

    const IN: Heard = Heard::Ok { in_transaction: true };
    const OUT: Heard = Heard::Ok { in_transaction: false };
    const ERR: Heard = Heard::Error;

    #[test]
    fn replies_tell_who_was_rolled_back_and_who_is_durable() {
        let cases = [
            (&[IN, IN][..], true, vec![WithBatch, WithBatch]),
            // A statement's own error.
            (&[IN, ERR, IN], true, vec![WithBatch, WithBatch, WithBatch]),
            (&[IN, ERR], true, vec![WithBatch, WithBatch]),
            // A deadlock in the middle: what follows has run in autocommit.
            (&[IN, ERR, OUT, OUT], false, vec![Undone, Undone, Stands, Stands]),
            (&[IN, ERR, OUT, ERR], false, vec![Undone, Undone, Stands, Stands]),
            // The first error or the second was the deadlock: neither has done anything.
            (&[IN, ERR, ERR, OUT], false, vec![Undone, Undone, Undone, Stands]),
            (&[IN, ERR, IN, ERR, OUT], false, vec![Undone, Undone, Undone, Undone, Stands]),
            // A deadlock at the end.
            (&[IN, IN, ERR], false, vec![Undone, Undone, Undone]),
            // No error explains it.
            (&[IN, OUT], false, vec![Unknown, Stands]),
            (&[IN, IN], false, vec![Unknown, Unknown]),
        ];
        for (heard, open, fates) in cases {
            assert_eq!(judge(heard, open), fates, "{heard:?} {open}");
        }
    }
}
