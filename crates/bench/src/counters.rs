//! The database's status counters: which are kept, and how they change over a run.

use std::collections::BTreeMap;

/// Counter to value.
pub(crate) type Counters = BTreeMap<String, i64>;

/// The counters that are kept, of either kind of server: what was asked, what reached the disk, what waited.
const KEPT: [&str; 30] = [
    "Aborted_clients",
    "Aborted_connects",
    "Binlog_commits",
    "Binlog_group_commits",
    "Bytes_received",
    "Bytes_sent",
    "Com_begin",
    "Com_commit",
    "Com_delete",
    "Com_insert",
    "Com_rollback",
    "Com_select",
    "Com_set_option",
    "Com_stmt_execute",
    "Com_stmt_prepare",
    "Com_update",
    "Com_xa_commit",
    "Com_xa_prepare",
    "Connection_errors_max_connections",
    "Connections",
    "Innodb_data_fsyncs",
    "Innodb_deadlocks",
    "Innodb_log_writes",
    "Innodb_os_log_fsyncs",
    "Innodb_os_log_written",
    "Innodb_row_lock_time",
    "Innodb_row_lock_waits",
    "Queries",
    "Questions",
    "Threads_created",
];

/// Of replicas only what tells their share of the work.
const KEPT_OF_REPLICAS: [&str; 3] = ["Com_select", "Com_stmt_execute", "Questions"];

/// Of shards: what Weir has sent them.
const KEPT_OF_SHARDS: [&str; 11] = [
    "Com_begin",
    "Com_commit",
    "Com_delete",
    "Com_insert",
    "Com_select",
    "Com_set_option",
    "Com_stmt_execute",
    "Com_update",
    "Com_xa_commit",
    "Com_xa_prepare",
    "Questions",
];

/// The statement that reads them.
pub(crate) fn query() -> String {
    let names: Vec<String> = KEPT.iter().map(|name| format!("'{name}'")).collect();
    format!("SHOW GLOBAL STATUS WHERE Variable_name IN ({})", names.join(", "))
}

/// The counters among the rows of [`query`]'s result; what is no number is left out.
pub(crate) fn read(rows: impl IntoIterator<Item = (String, String)>) -> Counters {
    rows.into_iter().filter_map(|(name, value)| Some((name, value.parse().ok()?))).collect()
}

/// The counters of replica `number` that are kept, under names of their own: `replica1.Com_select`.
pub(crate) fn of_replica(number: usize, counters: Counters) -> Counters {
    named(&format!("replica{number}"), &KEPT_OF_REPLICAS, counters)
}

/// The same of shard `number`: `shard1.Questions`.
pub(crate) fn of_shard(number: usize, counters: Counters) -> Counters {
    named(&format!("shard{number}"), &KEPT_OF_SHARDS, counters)
}

fn named(server: &str, kept: &[&str], counters: Counters) -> Counters {
    let kept = counters.into_iter().filter(|(name, _)| kept.contains(&name.as_str()));
    kept.map(|(name, value)| (format!("{server}.{name}"), value)).collect()
}

/// How much each counter has grown.
pub(crate) fn difference(before: &Counters, after: &Counters) -> Counters {
    let grown = |(name, value): (&String, &i64)| Some((name.clone(), value - before.get(name)?));
    after.iter().filter_map(grown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(values: &[(&str, &str)]) -> Counters {
        read(values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
    }

    #[test]
    fn differences_are_of_counters_that_both_readings_have() {
        let before = counters(&[("Questions", "100"), ("Com_select", "40"), ("Gone", "3"), ("Text", "ON")]);
        let after = counters(&[("Questions", "175"), ("Com_select", "40"), ("New", "9")]);
        assert_eq!(difference(&before, &after), counters(&[("Questions", "75"), ("Com_select", "0")]));
    }
}
