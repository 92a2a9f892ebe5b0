//! Who writes in a group that elects its writer, or has several: from the views of its members. Pure functions.
//!
//! What must always hold: only the word of a member that sees more than half of its group counts. A member of a minority calls itself PRIMARY,
//! and Synced, as well; writes that it is sent block, or are refused.

use weir_backend::standing::{GroupReplication, MemberState};

use crate::kind::GroupKind;
use crate::roles::Fact;

/// What a member is to its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// It may take writes.
    Primary,
    /// It takes part and reads may go there.
    Secondary,
    /// It takes no part now.
    Out,
}

/// What each server is to its group, by the majority's view. All are [`Part::Out`] while nobody sees a majority.
pub(crate) fn parts(kind: GroupKind, facts: &[Fact]) -> Vec<Part> {
    match kind {
        GroupKind::GroupReplication => by_view(facts),
        GroupKind::Galera => facts.iter().map(by_component).collect(),
        GroupKind::Static | GroupKind::Async => vec![Part::Secondary; facts.len()],
    }
}

/// Who writes: the present writer while it may, else the first in order of preference who may.
pub(crate) fn writer(parts: &[Part], present: usize, facts: &[Fact]) -> Option<usize> {
    if parts.get(present) == Some(&Part::Primary) {
        return Some(present);
    }
    let may = |index: &usize| parts[*index] == Part::Primary && facts[*index].promotion.allows();
    (0..parts.len()).filter(may).min_by_key(|index| (facts[*index].promotion, *index))
}

fn by_view(facts: &[Fact]) -> Vec<Part> {
    let Some(view) = majority_view(facts) else { return vec![Part::Out; facts.len()] };
    let part = |fact: &Fact| {
        let uuid = fact.standing.as_ref().and_then(|standing| standing.uuid.as_deref());
        let member = view.members.iter().find(|member| Some(member.uuid.as_str()) == uuid);
        match member {
            Some(member) if !fact.up || member.state != MemberState::Online => Part::Out,
            Some(member) if member.primary => Part::Primary,
            Some(_) => Part::Secondary,
            None => Part::Out,
        }
    };
    facts.iter().map(part).collect()
}

/// The view of a member that is ONLINE in it and sees more than half of its members; of several the latest.
fn majority_view(facts: &[Fact]) -> Option<&GroupReplication> {
    let view_of = |fact: &'_ Fact| -> bool {
        let Some(standing) = fact.standing.as_ref().filter(|_| fact.up) else { return false };
        let Some(view) = &standing.group_replication else { return false };
        standing.own_member().is_some_and(|own| own.state == MemberState::Online) && has_majority(view)
    };
    let latest = facts.iter().filter(|fact| view_of(fact)).filter_map(|fact| fact.standing.as_ref());
    latest.max_by_key(|standing| standing.asked)?.group_replication.as_ref()
}

/// Whether more than half of the members that a view has are heard of.
fn has_majority(view: &GroupReplication) -> bool {
    let heard_of = view.members.iter().filter(|member| member.state != MemberState::Unreachable).count();
    heard_of * 2 > view.members.len()
}

fn by_component(fact: &Fact) -> Part {
    let galera = fact.standing.as_ref().and_then(|standing| standing.galera.as_ref()).filter(|_| fact.up);
    match galera {
        Some(galera) if galera.primary_component && galera.ready && galera.state == "Synced" => Part::Primary,
        _ => Part::Out,
    }
}

#[cfg(test)]
mod tests;
