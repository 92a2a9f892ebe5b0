//! Who writes when a process begins: from whom the servers follow. A pure function.
//!
//! The writer that the configuration names, or that this Weir remembers, may have been replaced since. If it has come back and takes writes, it
//! looks like the writer; what was written elsewhere meanwhile tells that it is not.
//!
//! What must always hold: another server is taken for the writer only if a server that replicates from it says so, no server follows the one that
//! was named, and that one is gone, refuses writes, or is not the only one of the two that has all data and takes writes.

use crate::follows::Follows;
use crate::roles::{Fact, takes_writes};

/// Who is the writer in place of `named`; `None`: that one, or nobody can tell.
pub(crate) fn witnessed(facts: &[Fact], named: usize) -> Option<usize> {
    if !facts.iter().all(|fact| fact.known) {
        return None;
    }
    let head = followed_by_all(facts).filter(|head| *head != named)?;
    let (own, other) = (&facts[named], &facts[head]);
    let stands_alone = |fact: &Fact| takes_writes(fact) && fact.follows == Follows::Nobody;
    let mut rest = facts.iter().enumerate().filter(|(index, _)| ![named, head].contains(index));
    let is_head = !other.up || other.follows == Follows::Nobody;
    if !other.same_kind || !is_head || rest.any(|(_, fact)| stands_alone(fact)) {
        return None;
    }
    let mut followers = facts.iter().filter(|fact| fact.up && fact.follows == Follows::Member(head));
    let replaced = match own.follows {
        // It is a replica, also if it does not refuse writes.
        Follows::Member(_) => true,
        _ if !takes_writes(own) || takes_writes(other) => true,
        _ => followers.any(|follower| was_asked_after(own, follower) && !own.covers(follower)),
    };
    replaced.then_some(head)
}

/// Whether a server was asked after all that another one has told: what it lacks of that, it really lacks.
fn was_asked_after(fact: &Fact, other: &Fact) -> bool {
    let asked = |fact: &Fact| fact.observation.as_ref().map(|observation| observation.asked);
    let told = asked(other).max(other.standing.as_ref().map(|standing| standing.asked));
    asked(fact) >= told
}

/// Whether nothing that is still unknown can tell that another server is the writer in place of `named`, which takes writes.
pub(crate) fn confirmed(facts: &[Fact], named: usize) -> bool {
    facts.iter().any(|fact| fact.up && fact.follows == Follows::Member(named)) || facts.iter().all(|fact| fact.up)
}

/// Whom all servers follow that follow one of the group.
fn followed_by_all(facts: &[Fact]) -> Option<usize> {
    let mut heads = facts.iter().filter(|fact| fact.up).filter_map(|fact| match fact.follows {
        Follows::Member(head) => Some(head),
        Follows::Nobody | Follows::Stranger | Follows::Unknown => None,
    });
    let first = heads.next()?;
    heads.all(|head| head == first).then_some(first)
}

#[cfg(test)]
mod tests;
