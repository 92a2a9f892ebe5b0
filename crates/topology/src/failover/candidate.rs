//! Which replica becomes the writer: a pure function of what each has received.
//!
//! What must always hold: whoever is chosen has, or gets from the others before it takes writes, every transaction that any contender has
//! received.

use std::sync::Arc;

use weir_backend::Position;

use crate::settings::Promotion;

/// A replica that could become the writer.
#[derive(Debug, Clone)]
pub(super) struct Contender {
    /// Its place in the group.
    pub server: usize,
    /// Whether it may.
    pub promotion: Promotion,
    /// All that it has received from the writer, applied or not.
    pub received: Arc<Position>,
}

/// Who becomes the writer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    /// Its place in the group.
    pub server: usize,
    /// Those who have what it lacks: it follows each of them first.
    pub donors: Vec<usize>,
}

/// Chooses. Among those that are equally willing, the one that lacks the least; then the first of the configuration. `None`: none may.
pub(super) fn choose(contenders: &[Contender]) -> Option<Candidate> {
    let lacks = |own: &Contender| -> Vec<usize> {
        let ahead = |other: &&Contender| !own.received.covers(&other.received);
        contenders.iter().filter(ahead).map(|other| other.server).collect()
    };
    let willing = contenders.iter().filter(|contender| contender.promotion.allows());
    let ranked = willing.map(|contender| (contender.promotion, lacks(contender), contender.server));
    let (_, donors, server) = ranked.min_by_key(|(promotion, donors, server)| (*promotion, donors.len(), *server))?;
    Some(Candidate { server, donors })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contender(server: usize, promotion: Promotion, received: &str) -> Contender {
        let received = Arc::new(Position::parse(true, received).expect("a position"));
        Contender { server, promotion, received }
    }

    #[test]
    fn the_one_that_lacks_the_least_is_chosen_unless_another_is_preferred() {
        use Promotion::{Neutral, Never, Prefer};
        type Case<'a> = (&'a [(usize, Promotion, &'a str)], Option<(usize, Vec<usize>)>);
        let cases: [Case<'_>; 7] = [
            (&[], None),
            (&[(1, Never, "0-1-9")], None),
            (&[(1, Neutral, "0-1-9"), (2, Neutral, "0-1-9")], Some((1, vec![]))),
            (&[(1, Neutral, "0-1-8"), (2, Neutral, "0-1-9")], Some((2, vec![]))),
            (&[(1, Prefer, "0-1-8"), (2, Neutral, "0-1-9")], Some((1, vec![2]))),
            (&[(1, Neutral, "0-1-8"), (2, Never, "0-1-9")], Some((1, vec![2]))),
            (&[(1, Neutral, "0-1-8,5-1-3"), (2, Neutral, "0-1-9,5-1-2")], Some((1, vec![2]))),
        ];
        for (contenders, chosen) in cases {
            let of =
                |(server, promotion, received): &(usize, Promotion, &str)| contender(*server, *promotion, received);
            let contenders: Vec<_> = contenders.iter().map(of).collect();
            let expected = chosen.map(|(server, donors)| Candidate { server, donors });
            assert_eq!(choose(&contenders), expected, "{contenders:?}");
        }
    }
}
