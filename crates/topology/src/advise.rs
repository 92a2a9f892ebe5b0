//! Settings of a group's servers that cost safety, speed, or time without a writer: a pure function of what the servers say.
//!
//! What must always hold: a setting is named only if another value is better for the promise or the pace of its kind of group, and the statement that
//! goes with it can be run on the server as it is.

use std::collections::HashMap;

use crate::kind::GroupKind;

/// A server's variables, by their names in lower case; and [`FOLLOWS`].
pub(crate) type Variables = HashMap<String, String>;
/// Beside the variables: there if the server follows another one.
pub(crate) const FOLLOWS: &str = "weir follows";

/// What a setting costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// What was acknowledged may be lost, or be shown and lost.
    Safety,
    /// Replication is slower than it could be.
    Speed,
    /// It takes longer until another server takes writes.
    Availability,
}

impl Cost {
    /// The word of `WEIR ADVISE`.
    pub fn name(self) -> &'static str {
        match self {
            Cost::Safety => "safety",
            Cost::Speed => "speed",
            Cost::Availability => "availability",
        }
    }
}

/// See the module: one setting of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advice {
    /// The variable.
    pub setting: &'static str,
    /// Its value.
    pub value: String,
    /// What it costs.
    pub cost: Cost,
    /// Why.
    pub reason: &'static str,
    /// What changes it.
    pub statement: &'static str,
}

struct Rule {
    kinds: &'static [GroupKind],
    setting: &'static str,
    /// Whether the value, beside the others, is one to change.
    is_bad: fn(&str, &Variables) -> bool,
    cost: Cost,
    reason: &'static str,
    statement: &'static str,
}

const FOLLOWING: &[GroupKind] = &[GroupKind::Async, GroupKind::Static];
const GROUP_REPLICATION: &[GroupKind] = &[GroupKind::GroupReplication];
const DURABLE: &[GroupKind] = &[GroupKind::Async, GroupKind::Static, GroupKind::GroupReplication];
const GALERA: &[GroupKind] = &[GroupKind::Galera];

/// Milliseconds: commits that wait for longer wait for good, as far as a client is concerned.
const AN_HOUR: u64 = 3_600_000;

const RULES: &[Rule] = &[
    Rule {
        kinds: DURABLE,
        setting: "sync_binlog",
        is_bad: |value, _| value != "1",
        cost: Cost::Safety,
        reason: "A crash of the machine may lose the end of the binary log: acknowledged transactions that no other server has received",
        statement: "SET GLOBAL sync_binlog = 1",
    },
    Rule {
        kinds: DURABLE,
        setting: "innodb_flush_log_at_trx_commit",
        is_bad: |value, _| value != "1",
        cost: Cost::Safety,
        reason: "A crash of the machine, or with 0 of the server, may lose up to a second of acknowledged transactions",
        statement: "SET GLOBAL innodb_flush_log_at_trx_commit = 1",
    },
    Rule {
        kinds: FOLLOWING,
        setting: "rpl_semi_sync_source_timeout",
        is_bad: |value, others| is_on(others, "rpl_semi_sync_source_enabled") && below(value, AN_HOUR),
        cost: Cost::Safety,
        reason: FALLS_BACK,
        statement: "SET GLOBAL rpl_semi_sync_source_timeout = 4294967295",
    },
    Rule {
        kinds: FOLLOWING,
        setting: "rpl_semi_sync_master_timeout",
        is_bad: |value, others| is_on(others, "rpl_semi_sync_master_enabled") && below(value, AN_HOUR),
        cost: Cost::Safety,
        reason: FALLS_BACK,
        statement: "SET GLOBAL rpl_semi_sync_master_timeout = 4294967295",
    },
    Rule {
        kinds: FOLLOWING,
        setting: "rpl_semi_sync_source_wait_point",
        is_bad: |value, others| is_on(others, "rpl_semi_sync_source_enabled") && value != "AFTER_SYNC",
        cost: Cost::Safety,
        reason: SHOWN_TOO_EARLY,
        statement: "SET GLOBAL rpl_semi_sync_source_wait_point = 'AFTER_SYNC'",
    },
    Rule {
        kinds: FOLLOWING,
        setting: "rpl_semi_sync_master_wait_point",
        is_bad: |value, others| is_on(others, "rpl_semi_sync_master_enabled") && value != "AFTER_SYNC",
        cost: Cost::Safety,
        reason: SHOWN_TOO_EARLY,
        statement: "SET GLOBAL rpl_semi_sync_master_wait_point = 'AFTER_SYNC'",
    },
    Rule {
        kinds: FOLLOWING,
        setting: "gtid_strict_mode",
        is_bad: |value, _| value == "OFF",
        cost: Cost::Safety,
        reason: "A replica that was written to by mistake goes on with a history of its own, which is found out only when it becomes the writer",
        statement: "SET GLOBAL gtid_strict_mode = ON",
    },
    Rule {
        kinds: FOLLOWING,
        setting: "replica_preserve_commit_order",
        is_bad: |value, others| follows(others) && value == "OFF",
        cost: Cost::Safety,
        reason: "A replica may show transactions in another order than the writer, and lack some in the middle when it becomes the writer",
        statement: "STOP REPLICA SQL_THREAD; SET GLOBAL replica_preserve_commit_order = ON; START REPLICA SQL_THREAD",
    },
    Rule {
        kinds: FOLLOWING,
        setting: "replica_parallel_workers",
        is_bad: |value, others| follows(others) && below(value, 2),
        cost: Cost::Speed,
        reason: "A replica applies one transaction after the other: it falls behind a writer that has several clients, and a failover waits for it",
        statement: "STOP REPLICA SQL_THREAD; SET GLOBAL replica_parallel_workers = 4; START REPLICA SQL_THREAD",
    },
    Rule {
        kinds: FOLLOWING,
        setting: "slave_parallel_threads",
        is_bad: |value, others| follows(others) && below(value, 2),
        cost: Cost::Speed,
        reason: "A replica applies one transaction after the other: it falls behind a writer that has several clients, and a failover waits for it",
        statement: "STOP SLAVE SQL_THREAD; SET GLOBAL slave_parallel_threads = 4; START SLAVE SQL_THREAD",
    },
    Rule {
        kinds: GROUP_REPLICATION,
        setting: "group_replication_member_expel_timeout",
        is_bad: |value, _| value != "0",
        cost: Cost::Availability,
        reason: "So many seconds more pass before a primary that is not heard of, which takes 5 s to be noticed, is replaced",
        statement: "SET GLOBAL group_replication_member_expel_timeout = 0",
    },
    Rule {
        kinds: GROUP_REPLICATION,
        setting: "group_replication_consistency",
        is_bad: |value, _| value == "EVENTUAL",
        cost: Cost::Safety,
        reason: "A new primary answers before it has applied what the old one had acknowledged: clients may miss their own writes",
        statement: "SET GLOBAL group_replication_consistency = 'BEFORE_ON_PRIMARY_FAILOVER'",
    },
    Rule {
        kinds: GROUP_REPLICATION,
        setting: "group_replication_flow_control_mode",
        is_bad: |value, _| value == "QUOTA",
        cost: Cost::Speed,
        reason: "Writes are slowed down while a member has more than group_replication_flow_control_applier_threshold transactions to apply. \
                 Without it such a member falls behind, and takes the longer to become the primary",
        statement: "SET GLOBAL group_replication_flow_control_mode = 'DISABLED'",
    },
    Rule {
        kinds: GROUP_REPLICATION,
        setting: "group_replication_compression_threshold",
        is_bad: |value, _| value == "0",
        cost: Cost::Speed,
        reason: "Large transactions are sent to the members uncompressed",
        statement: "STOP GROUP_REPLICATION; SET GLOBAL group_replication_compression_threshold = 1000000; START GROUP_REPLICATION",
    },
    Rule {
        kinds: GALERA,
        setting: "wsrep_slave_threads",
        is_bad: |value, _| below(value, 2),
        cost: Cost::Speed,
        reason: "The node applies one transaction after the other, and flow control has all of the cluster wait for it",
        statement: "SET GLOBAL wsrep_slave_threads = 4",
    },
    Rule {
        kinds: GALERA,
        setting: "wsrep_provider_options",
        is_bad: |value, _| suspects_after(value).is_some_and(|seconds| seconds > 2.0),
        cost: Cost::Availability,
        reason: "evs.suspect_timeout: writes stop for so long when a node dies. A second is enough on a local network",
        statement: "SET GLOBAL wsrep_provider_options = 'evs.join_retrans_period=PT0.3S;evs.suspect_timeout=PT1S'",
    },
];

const FALLS_BACK: &str = "A commit that waits for longer is acknowledged without a replica having it, and so are all that follow: replication is asynchronous from \
                          then on, and nobody is told";
const SHOWN_TOO_EARLY: &str =
    "Others may see a transaction before a replica has it, which is lost if the writer dies then";

fn follows(variables: &Variables) -> bool {
    variables.contains_key(FOLLOWS)
}

fn is_on(variables: &Variables, name: &str) -> bool {
    variables.get(name).is_some_and(|value| value == "ON")
}

fn below(value: &str, bound: u64) -> bool {
    value.parse().is_ok_and(|value: u64| value < bound)
}

/// Seconds of `evs.suspect_timeout`, which is written as ISO 8601 does: `PT5S`.
fn suspects_after(options: &str) -> Option<f64> {
    let mut options = options.split(';').filter_map(|option| option.split_once('='));
    let (_, value) = options.find(|(name, _)| name.trim() == "evs.suspect_timeout")?;
    value.trim().strip_prefix("PT")?.strip_suffix('S')?.parse().ok()
}

/// What could be better on a server of such a group.
pub(crate) fn advise(kind: GroupKind, variables: &Variables) -> Vec<Advice> {
    let of_rule = |rule: &Rule| {
        let value = variables.get(rule.setting).filter(|value| (rule.is_bad)(value, variables))?;
        let shown = match rule.setting {
            // The others fill a screen.
            "wsrep_provider_options" => format!("evs.suspect_timeout = PT{}S", suspects_after(value)?),
            _ => value.clone(),
        };
        let Rule { setting, cost, reason, statement, .. } = *rule;
        Some(Advice { setting, value: shown, cost, reason, statement })
    };
    RULES.iter().filter(|rule| rule.kinds.contains(&kind)).filter_map(of_rule).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings_named(kind: GroupKind, variables: &[(&str, &str)]) -> Vec<&'static str> {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        advise(kind, &variables).into_iter().map(|advice| advice.setting).collect()
    }

    #[test]
    fn settings_are_named_where_they_cost_something_and_only_there() {
        use GroupKind::{Async, Galera, GroupReplication};
        type Case = (GroupKind, &'static [(&'static str, &'static str)], &'static [&'static str]);
        let cases: &[Case] = &[
            (Async, &[("sync_binlog", "1"), ("innodb_flush_log_at_trx_commit", "1")], &[]),
            (Async, &[("sync_binlog", "0")], &["sync_binlog"]),
            (Galera, &[("sync_binlog", "0"), ("innodb_flush_log_at_trx_commit", "2")], &[]),
            (Async, &[("rpl_semi_sync_source_enabled", "OFF"), ("rpl_semi_sync_source_timeout", "10000")], &[]),
            (
                Async,
                &[("rpl_semi_sync_source_enabled", "ON"), ("rpl_semi_sync_source_timeout", "10000")],
                &["rpl_semi_sync_source_timeout"],
            ),
            (Async, &[("rpl_semi_sync_master_enabled", "ON"), ("rpl_semi_sync_master_timeout", "4294967295")], &[]),
            (Async, &[("slave_parallel_threads", "0")], &[]),
            (Async, &[("slave_parallel_threads", "0"), (FOLLOWS, "")], &["slave_parallel_threads"]),
            (Async, &[("group_replication_member_expel_timeout", "5")], &[]),
            (
                GroupReplication,
                &[("group_replication_member_expel_timeout", "5"), ("group_replication_consistency", "EVENTUAL")],
                &["group_replication_member_expel_timeout", "group_replication_consistency"],
            ),
            (
                Galera,
                &[("wsrep_provider_options", "base_port = 4567; evs.suspect_timeout = PT5S; x = 1")],
                &["wsrep_provider_options"],
            ),
            (Galera, &[("wsrep_provider_options", "evs.suspect_timeout=PT1S")], &[]),
        ];
        for (kind, variables, expected) in cases {
            assert_eq!(settings_named(*kind, variables), *expected, "{kind:?} {variables:?}");
        }
    }
}
