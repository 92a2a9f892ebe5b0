//! The groups and their servers as tables (`SHOW SERVERS`, `SHOW GROUPS`, `SHOW FAILOVERS`), and what the commands that change a group's writer
//! need.

use std::sync::Arc;
use std::time::Instant;

use weir_backend::server::Health;
use weir_backend::standing::{SemiSync, Standing};
use weir_topology::failover::FailoverError;
use weir_topology::{Failover, Group, GroupKind, Member, SetWriterError, View};
use weir_wire::error::codes;
use weir_wire::{Failure, Fault};

use crate::answer::{Table, Value};
use crate::columns;
use crate::shown::rfc3339;

/// `SHOW SERVERS`
pub(crate) fn servers(groups: &[Arc<Group>]) -> Table {
    let mut table = Table::new(columns::SERVERS);
    for group in groups {
        list_servers(&mut table, group);
    }
    table
}

fn list_servers(table: &mut Table, group: &Group) {
    let (view, now, findings) = (group.view(), Instant::now(), group.findings());
    for (index, server) in group.servers.iter().enumerate() {
        let facts = server.facts();
        let reason = match &facts.health {
            Health::Down(why) => why.as_str(),
            _ => "",
        };
        table.push(vec![
            server.settings.name.as_str().into(),
            server.settings.address.to_string().into(),
            view.role(index).name().into(),
            facts.health.name().into(),
            group.settings().name.as_str().into(),
            u64::from(view.members[index].weight).into(),
            reads(&view, index).into(),
            view.age(index, now).map(|age| (age.as_secs_f64() * 1000.0).round() / 1000.0).into(),
            view.members[index].applied.as_ref().map(|position| position.to_string()).into(),
            facts.identity.as_ref().map(|identity| identity.version.clone()).into(),
            reason.into(),
            facts.since.elapsed().as_secs().into(),
            findings.notices.get(index).cloned().flatten().into(),
        ]);
    }
    for (address, why) in &findings.unused {
        list_unused(table, group, address, why);
    }
}

/// A server that the group tells of, and that nothing is sent to.
fn list_unused(table: &mut Table, group: &Group, address: &str, why: &str) {
    let none = || None::<String>.into();
    table.push(vec![
        address.into(),
        address.into(),
        "unused".into(),
        Health::Unknown.name().into(),
        group.settings().name.as_str().into(),
        0_u64.into(),
        "no: it is not used".into(),
        none(),
        none(),
        none(),
        "".into(),
        0_u64.into(),
        why.to_owned().into(),
    ]);
}

/// Whether reads are sent to a server.
fn reads(view: &View, index: usize) -> String {
    match &view.members[index] {
        Member { unusable: Some(why), .. } => format!("no: {why}"),
        Member { weight: 0, .. } if index == view.writer && !view.has_readers => {
            "yes: no replica takes reads".to_owned()
        }
        Member { weight: 0, .. } => "no: its weight is 0".to_owned(),
        _ => "yes".to_owned(),
    }
}

/// `SHOW GROUPS`: a row for each server.
pub(crate) fn groups(failovers: &[Arc<Failover>]) -> Table {
    let mut table = Table::new(columns::GROUPS);
    for failover in failovers {
        list(&mut table, failover);
    }
    table
}

fn list(table: &mut Table, failover: &Failover) {
    let group = failover.group();
    let (view, settings, now) = (group.view(), group.settings(), Instant::now());
    let quarantined = group.quarantined();
    let notice = if failover.is_acting() { Some("its writer is being changed".to_owned()) } else { failover.notice() };
    let mode = if settings.automatic_failover { "automatic" } else { "manual" };
    for (index, server) in group.servers.iter().enumerate() {
        let standing = server.standing();
        let standing = standing.as_deref();
        let source = standing.and_then(|standing| standing.source.as_ref());
        let health = server.facts().health.clone();
        let (queue, conflicts, paused) = load(standing);
        let about = quarantined[index].clone().or_else(|| notice.clone().filter(|_| index == view.writer));
        let unknown = standing.and_then(|standing| standing.source_unknown.clone());
        table.push(vec![
            settings.name.as_str().into(),
            view.kind.name().into(),
            mode.into(),
            server.settings.name.as_str().into(),
            view.role(index).name().into(),
            state(view.kind, &health, standing, quarantined[index].is_some()).into(),
            source.map(|source| format!("{}:{}", source.host, source.port)).into(),
            source.and_then(|source| source.error.clone()).or(unknown).into(),
            view.age(index, now).map(|age| (age.as_secs_f64() * 1000.0).round() / 1000.0).into(),
            acknowledgement(view.kind, standing.map(|standing| standing.semi_sync), index == view.writer).into(),
            queue,
            conflicts,
            paused,
            about.or_else(|| view.members[index].unusable.clone()).into(),
        ]);
    }
}

/// One word for what a server is to its group now.
fn state(kind: GroupKind, health: &Health, standing: Option<&Standing>, quarantined: bool) -> String {
    if *health != Health::Up {
        return health.name().to_owned();
    }
    if quarantined {
        return "quarantined".to_owned();
    }
    let Some(standing) = standing else { return "up".to_owned() };
    if let Some(galera) = &standing.galera {
        let apart = if galera.primary_component { "" } else { ", non-Primary" };
        return format!("{}{apart}", galera.state);
    }
    if kind == GroupKind::GroupReplication {
        return standing.own_member().map_or("OFFLINE", |member| member.state.name()).to_owned();
    }
    match &standing.source {
        Some(source) if source.receives && source.applies => "replicating".to_owned(),
        Some(source) if source.applies => "not receiving".to_owned(),
        Some(source) if source.receives => "not applying".to_owned(),
        Some(_) => "stopped".to_owned(),
        None => "up".to_owned(),
    }
}

/// What a commit waits for.
fn acknowledgement(kind: GroupKind, semi_sync: Option<SemiSync>, is_writer: bool) -> Option<&'static str> {
    match kind {
        GroupKind::GroupReplication | GroupKind::Galera => Some("majority"),
        GroupKind::Static | GroupKind::Async if !is_writer => None,
        GroupKind::Static | GroupKind::Async => {
            let semi_sync = semi_sync?;
            Some(match (semi_sync.enabled, semi_sync.active, semi_sync.after_sync) {
                (true, true, true) => "lossless semi-sync",
                (true, true, false) => "semi-sync, after commit",
                (true, false, _) => "semi-sync has fallen back to asynchronous",
                (false, ..) => "asynchronous",
            })
        }
    }
}

/// Transactions that wait, conflicts, and the part of the time that flow control held replication up.
fn load(standing: Option<&Standing>) -> (Value, Value, Value) {
    let none = || None::<u64>.into();
    let Some(standing) = standing else { return (none(), none(), none()) };
    if let Some(galera) = &standing.galera {
        let paused = Some(galera.paused_permille as f64 / 1000.0);
        return (Some(galera.receive_queue).into(), Some(galera.conflicts).into(), paused.into());
    }
    match &standing.group_replication {
        Some(view) => {
            let queue = Some(view.certification_queue.saturating_add(view.applier_queue));
            (queue.into(), Some(view.conflicts).into(), none())
        }
        None => (none(), none(), none()),
    }
}

/// `SHOW FAILOVERS`: the latest first.
pub(crate) fn failovers(failovers: &[Arc<Failover>]) -> Table {
    let mut table = Table::new(columns::FAILOVERS);
    let of_group = |failover: &Arc<Failover>| {
        let name = failover.group().settings().name.clone();
        failover.history().into_iter().map(move |record| (name.clone(), record))
    };
    let mut records: Vec<_> = failovers.iter().flat_map(of_group).collect();
    records.sort_by_key(|(_, record)| std::cmp::Reverse(record.began));
    for (group, record) in records {
        let line = |(at, what): &(std::time::Duration, String)| format!("{:.3} s: {what}", at.as_secs_f64());
        let timeline: Vec<_> = record.timeline.iter().map(line).collect();
        table.push(vec![
            group.into(),
            rfc3339(record.began).into(),
            record.action.name().into(),
            record.from.as_str().into(),
            Some(record.to.as_str()).filter(|to| !to.is_empty()).into(),
            record.outcome.as_str().into(),
            ((record.took.as_secs_f64() * 1000.0).round() / 1000.0).into(),
            record.lost.as_deref().into(),
            timeline.join("\n").into(),
        ]);
    }
    table
}

/// `SWITCHOVER`
///
/// # Errors
/// 1210 for an unknown group or server; why it can't be done.
pub(crate) async fn switch_over(
    failovers: &[Arc<Failover>],
    group: Option<&str>,
    server: String,
) -> Result<(), Failure> {
    of_server(failovers, group, &server)?.switch_over(server).await.map_err(failure)
}

/// `FAILOVER`
///
/// # Errors
/// As [`switch_over`].
pub(crate) async fn fail_over(
    failovers: &[Arc<Failover>],
    group: Option<&str>,
    server: Option<String>,
) -> Result<(), Failure> {
    let failover = match &server {
        Some(server) => of_server(failovers, group, server)?,
        None => named(failovers, group)?,
    };
    failover.fail_over(server).await.map_err(failure)
}

/// `GROUP BOOT`
///
/// # Errors
/// As [`switch_over`].
pub(crate) async fn boot(failovers: &[Arc<Failover>], group: Option<&str>) -> Result<(), Failure> {
    named(failovers, group)?.boot().await.map_err(failure)
}

/// `ADVISE`: of this group, or of all.
///
/// # Errors
/// 1210 for an unknown group.
pub(crate) async fn advice(failovers: &[Arc<Failover>], group: Option<&str>) -> Result<Table, Failure> {
    let of_group = match group {
        Some(_) => std::slice::from_ref(named(failovers, group)?),
        None => failovers,
    };
    let mut table = Table::new(columns::ADVICE);
    for failover in of_group {
        let group = failover.group().settings().name.clone();
        for (server, advice) in failover.advise().await {
            let (group, server) = (group.as_str(), server.as_str());
            let none = || None::<String>.into();
            match advice {
                Ok(advice) => advice.into_iter().for_each(|one| {
                    let (setting, value) = (Some(one.setting.to_owned()).into(), Some(one.value).into());
                    let costs = Some(one.cost.name().to_owned()).into();
                    let statement = Some(one.statement.to_owned()).into();
                    table.push(vec![group.into(), server.into(), setting, value, costs, one.reason.into(), statement]);
                }),
                Err(why) => {
                    table.push(vec![group.into(), server.into(), none(), none(), none(), why.into(), none()]);
                }
            }
        }
    }
    Ok(table)
}

/// The group of this name; without a name, the only one.
///
/// # Errors
/// 1210 for an unknown group, or when there are several.
fn named<'a>(failovers: &'a [Arc<Failover>], name: Option<&str>) -> Result<&'a Arc<Failover>, Failure> {
    let is = |failover: &&Arc<Failover>, name: &str| failover.group().settings().name.eq_ignore_ascii_case(name);
    let found = match (name, failovers) {
        (Some(name), _) => failovers.iter().find(|failover| is(failover, name)),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    found.ok_or_else(|| {
        let message = match name {
            Some(name) => format!("there is no group '{name}'; WEIR SHOW GROUPS lists the groups"),
            None => "there are several groups; say GROUP name".to_owned(),
        };
        Failure::client(codes::ER_WRONG_ARGUMENTS, message)
    })
}

/// The group that a server belongs to, unless another one is named.
///
/// # Errors
/// As [`named`].
fn of_server<'a>(
    failovers: &'a [Arc<Failover>],
    group: Option<&str>,
    server: &str,
) -> Result<&'a Arc<Failover>, Failure> {
    match group {
        Some(_) => named(failovers, group),
        // In a group that lacks the server, it is refused as unknown.
        None => {
            let found = failovers.iter().find(|failover| failover.group().has(server));
            found
                .or_else(|| failovers.first())
                .ok_or_else(|| Failure::client(codes::ER_WRONG_ARGUMENTS, format!("there is no server '{server}'")))
        }
    }
}

/// The failure that a client is told.
fn failure(error: FailoverError) -> Failure {
    let code = match error {
        FailoverError::Unknown(_) => codes::ER_WRONG_ARGUMENTS,
        FailoverError::Busy | FailoverError::Action(_) => codes::ER_NOT_SUPPORTED_YET,
    };
    Failure::new(Fault::Client, code, b"HY000", error.to_string())
}

/// `SET WRITER`
///
/// # Errors
/// 1210 for an unknown server, 1235 for one that can't be the writer.
pub(crate) fn set_writer(groups: &[Arc<Group>], server: &str) -> Result<(), Failure> {
    // Names differ within a configuration. In a group that lacks the server, it is refused as unknown.
    let group = groups.iter().find(|group| group.has(server)).unwrap_or(&groups[0]);
    group.set_writer(server).map_err(|error| {
        let code = match error {
            SetWriterError::Unknown(_) => codes::ER_WRONG_ARGUMENTS,
            SetWriterError::Unfit { .. } => codes::ER_NOT_SUPPORTED_YET,
        };
        Failure::new(Fault::Client, code, b"HY000", error.to_string())
    })
}
