//! What a server says of its part in a replication group, as facts with a time: whom it follows and how far it is, how its commits are
//! acknowledged, and what the protocol of its group (Group Replication, Galera) tells it of the members.
//!
//! What must always hold: these are the server's own words. A member of a minority calls itself PRIMARY as well; what follows from several
//! servers' words is decided in `weir_topology`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use crate::gtid::Position;

/// The replication that a server is set up for, as the one that follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The host that it connects to.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Its receiving thread is connected.
    pub receives: bool,
    /// Its applying thread runs.
    pub applies: bool,
    /// It follows by GTIDs (auto-position; MariaDB: `Using_Gtid`).
    pub by_gtid: bool,
    /// The last error of either thread.
    pub error: Option<String>,
    /// All that it has received, applied or not.
    pub received: Arc<Position>,
    /// Heartbeats that it has received. With [`Source::received`]: while neither grows, it hears nothing.
    pub heartbeats: u64,
}

/// How commits wait for replicas (semi-synchronous replication), seen on the server that commits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SemiSync {
    /// It is installed: it can be switched on.
    pub available: bool,
    /// It is switched on.
    pub enabled: bool,
    /// Commits wait now; `false` with `enabled`: it has fallen back to asynchronous replication, or no replica takes part.
    pub active: bool,
    /// Commits wait before others see them (AFTER_SYNC): a replica has what anybody was shown.
    pub after_sync: bool,
    /// Milliseconds after which it falls back.
    pub timeout_ms: u64,
    /// Replicas that acknowledge.
    pub replicas: u64,
    /// How many of them a commit waits for.
    pub wait_count: u64,
    /// As a replica, it acknowledges what it receives.
    pub acknowledges: bool,
}

/// The state of a member of Group Replication (`MEMBER_STATE`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberState {
    /// It takes part.
    Online,
    /// It joins and catches up.
    Recovering,
    /// It has no group.
    Offline,
    /// It has failed, or was expelled.
    Error,
    /// The one who tells does not hear of it.
    Unreachable,
}

impl MemberState {
    /// The state of this name.
    pub(crate) fn named(name: &str) -> MemberState {
        match name {
            "ONLINE" => MemberState::Online,
            "RECOVERING" => MemberState::Recovering,
            "ERROR" => MemberState::Error,
            "UNREACHABLE" => MemberState::Unreachable,
            _ => MemberState::Offline,
        }
    }

    /// MySQL's word.
    pub fn name(self) -> &'static str {
        match self {
            MemberState::Online => "ONLINE",
            MemberState::Recovering => "RECOVERING",
            MemberState::Offline => "OFFLINE",
            MemberState::Error => "ERROR",
            MemberState::Unreachable => "UNREACHABLE",
        }
    }
}

/// A member of Group Replication, as another one, or itself, sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupMember {
    /// Its `server_uuid`.
    pub uuid: String,
    /// Its host, as the group knows it.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Its state.
    pub state: MemberState,
    /// It is a PRIMARY.
    pub primary: bool,
}

/// What a member of Group Replication sees of its group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupReplication {
    /// The members in its view, itself among them; alone, with state OFFLINE, if it has left.
    pub members: Vec<GroupMember>,
    /// Transactions that wait for certification there.
    pub certification_queue: u64,
    /// Transactions of others that wait to be applied there.
    pub applier_queue: u64,
    /// Transactions that certification has refused.
    pub conflicts: u64,
}

/// What a Galera node says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Galera {
    /// It is in the component that has the majority (`wsrep_cluster_status` is Primary).
    pub primary_component: bool,
    /// It accepts statements (`wsrep_ready`).
    pub ready: bool,
    /// `wsrep_local_state_comment`: Synced, Donor/Desynced, Joined, Joining …
    pub state: String,
    /// Nodes in its component.
    pub size: u64,
    /// The sequence number of the last write set that it has committed.
    pub last_committed: u64,
    /// Write sets that wait to be applied.
    pub receive_queue: u64,
    /// Write sets of its own that certification has refused.
    pub conflicts: u64,
    /// The part of the time, in thousandths, that flow control held replication up.
    pub paused_permille: u64,
}

/// See the module.
#[derive(Debug, Clone)]
pub struct Standing {
    /// When it was asked.
    pub asked: Instant,
    /// MySQL's `server_uuid`.
    pub uuid: Option<String>,
    /// The host that it tells others to reach it by (`report_host`), if it is set.
    pub report_host: Option<String>,
    /// The port that it listens on.
    pub port: u16,
    /// Whom it follows, if it is set up to.
    pub source: Option<Source>,
    /// Why it is not known whom it follows: Weir's account may not ask.
    pub source_unknown: Option<String>,
    /// How its commits wait for replicas.
    pub semi_sync: SemiSync,
    /// Its view of a Group Replication group, if the plugin is there.
    pub group_replication: Option<GroupReplication>,
    /// Its part in a Galera cluster, if it is in one.
    pub galera: Option<Galera>,
    /// What sessions begin with there.
    pub defaults: Defaults,
}

/// Values that sessions begin with, by the names of the variables: of those that change what a query answers.
pub type Defaults = BTreeMap<String, String>;

impl Standing {
    /// What its own view of its Group Replication group says of it.
    pub fn own_member(&self) -> Option<&GroupMember> {
        let uuid = self.uuid.as_deref()?;
        self.group_replication.as_ref()?.members.iter().find(|member| member.uuid == uuid)
    }
}
