//! The kinds of replication groups, and finding out which one a group is.

use weir_backend::standing::MemberState;

use crate::roles::Fact;

/// How a group's servers replicate, and so who decides where writes go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum GroupKind {
    /// One server, or servers that somebody else looks after: the writer is who was named, or who was seen to be promoted.
    #[default]
    Static,
    /// One writer, and replicas that follow it by GTIDs, also semi-synchronously. Weir decides.
    Async,
    /// Group Replication. The group elects; Weir follows the majority's view.
    GroupReplication,
    /// A Galera cluster. Weir sends writes to one node of the component that has the majority.
    Galera,
}

impl GroupKind {
    /// Whether the servers agree among themselves on who takes writes.
    pub fn elects(self) -> bool {
        matches!(self, GroupKind::GroupReplication | GroupKind::Galera)
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Option<GroupKind> {
        use GroupKind::{Async, Galera, GroupReplication, Static};
        [Static, Async, GroupReplication, Galera].into_iter().find(|kind| kind.name() == name)
    }

    /// The word of the configuration and of `WEIR SHOW GROUPS`.
    pub fn name(self) -> &'static str {
        match self {
            GroupKind::Static => "static",
            GroupKind::Async => "async",
            GroupKind::GroupReplication => "group_replication",
            GroupKind::Galera => "galera",
        }
    }
}

/// What the servers say that the group is; `None` while they say nothing that tells.
pub fn found(facts: &[Fact]) -> Option<GroupKind> {
    let standings = || facts.iter().filter_map(|fact| fact.standing.as_ref());
    let takes_part = |state: MemberState| !matches!(state, MemberState::Offline | MemberState::Error);
    if standings().any(|standing| standing.galera.as_ref().is_some_and(|galera| galera.size > 0)) {
        return Some(GroupKind::Galera);
    }
    let mut views = standings().filter_map(|standing| standing.group_replication.as_ref());
    if views.any(|view| view.members.iter().any(|member| takes_part(member.state))) {
        return Some(GroupKind::GroupReplication);
    }
    let follows = |fact: &Fact| {
        let source = fact.standing.as_ref().and_then(|standing| standing.source.as_ref());
        source.is_some_and(|source| source.by_gtid)
    };
    facts.iter().any(follows).then_some(GroupKind::Async)
}
