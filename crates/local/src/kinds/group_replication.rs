//! MySQL Group Replication with one primary, set for a quick failover.
//!
//! A member recovers from another one with an account of its own, which every member has before the group is started: nothing of that is in a
//! binary log.

use std::time::Duration;

use mysql::prelude::Queryable;

use super::wait_or_fail;
use crate::accounts::random_password;
use crate::admin::quoted;
use crate::cluster::Group;
use crate::ports::peer_ports;
use crate::wait::Cancel;
use crate::{LocalError, PortChoice, Progress, Server};

/// How long a member may take to join, the time in which the others expel what it was before included.
const JOIN_BOUND: Duration = Duration::from_secs(120);
const RECOVERY_USER: &str = "group_recovery";
const START: &str = "START GROUP_REPLICATION";
/// ER_GROUP_REPLICATION_RUNNING.
const ALREADY_RUNNING: u16 = 3093;

/// What a member says that it is.
pub(super) const ROLE: &str = "SELECT IF(member_state = 'ONLINE', LOWER(member_role), LOWER(member_state)) \
                               FROM performance_schema.replication_group_members WHERE member_id IN (@@GLOBAL.server_uuid, '') LIMIT 1";
const STATE: &str =
    "SELECT member_state FROM performance_schema.replication_group_members WHERE member_id = @@GLOBAL.server_uuid";
/// Members that are heard of, less those that are not: more than zero with a majority.
const MAJORITY: &str = "SELECT COALESCE(SUM(IF(member_state = 'UNREACHABLE', -1, 1)), 0) > 0 \
                        FROM performance_schema.replication_group_members WHERE member_id <> ''";

/// For so many members.
pub(super) fn options(members: usize, ports: PortChoice) -> Result<Vec<Vec<String>>, LocalError> {
    let ports = peer_ports(ports, members)?;
    let addresses: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let name = uuid();
    let of_member = |own: &String| {
        let own_and_common = [
            format!("group_name={name}"),
            format!("local_address={own}"),
            format!("group_seeds={}", addresses.join(",")),
            "start_on_boot=OFF".to_owned(),
            "recovery_get_public_key=ON".to_owned(),
            // A member that finds no other to get its rows from asks again so soon, and not after a minute.
            "recovery_reconnect_interval=5".to_owned(),
            // A member that is not heard of for 5 s is expelled then, and not only after 5 s more.
            "member_expel_timeout=0".to_owned(),
            "message_cache_size=134217728".to_owned(),
        ];
        let plugin = "plugin-load-add=group_replication.so".to_owned();
        // Not known yet when the data directory is checked.
        let settings = own_and_common.into_iter().map(|setting| format!("loose-group_replication_{setting}"));
        std::iter::once(plugin).chain(settings).collect()
    };
    Ok(addresses.iter().map(of_member).collect())
}

/// A random UUID (RFC 9562, version 4).
fn uuid() -> String {
    let mut bytes: [u8; 16] = rand::random();
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// Starts the group on the first member, and has the others join.
pub(super) fn assemble(group: &Group, cancel: &Cancel, progress: &mut dyn Progress) -> Result<(), LocalError> {
    let password = random_password();
    group.servers().try_for_each(|member| prepare(member, &password))?;
    progress.step(&format!("Starting the group on {}", group.writer.name()));
    bootstrap(group, &group.writer, cancel)?;
    progress.done("it is the primary");
    let others: Vec<&Server> = group.replicas.iter().collect();
    join(group, &others, cancel, progress)
}

/// Makes the account for recovery, on this member alone.
fn prepare(member: &Server, password: &str) -> Result<(), LocalError> {
    let mut root = member.admin()?;
    let (user, password) = (quoted(RECOVERY_USER), quoted(password));
    for sql in [
        "SET SESSION sql_log_bin = 0".to_owned(),
        format!("CREATE USER {user}@'%' IDENTIFIED BY {password}"),
        format!(
            "GRANT REPLICATION SLAVE, CONNECTION_ADMIN, BACKUP_ADMIN, GROUP_REPLICATION_STREAM ON *.* TO {user}@'%'"
        ),
        "SET SESSION sql_log_bin = 1".to_owned(),
        format!(
            "CHANGE REPLICATION SOURCE TO SOURCE_USER = {user}, SOURCE_PASSWORD = {password} \
             FOR CHANNEL 'group_replication_recovery'"
        ),
    ] {
        root.query_drop(sql).map_err(|error| LocalError::sql(member.name(), error))?;
    }
    Ok(())
}

fn bootstrap(group: &Group, member: &Server, cancel: &Cancel) -> Result<(), LocalError> {
    member.execute("SET GLOBAL group_replication_bootstrap_group = ON")?;
    let started = member.execute(START);
    // In any case: at its next start it would start another group.
    member.execute("SET GLOBAL group_replication_bootstrap_group = OFF")?;
    started?;
    let writes = "SELECT NOT @@GLOBAL.super_read_only";
    wait_or_fail(&group.name, JOIN_BOUND, cancel, &format!("{} takes writes", member.name()), || {
        Ok(state(member)?.as_deref() == Some("ONLINE") && member.query_value(writes)?.as_deref() == Some("1"))
    })
}

fn state(member: &Server) -> Result<Option<String>, LocalError> {
    member.query_value(STATE)
}

/// Has members join a group that is in operation.
fn join(group: &Group, members: &[&Server], cancel: &Cancel, progress: &mut dyn Progress) -> Result<(), LocalError> {
    for member in members {
        progress.step(&format!("{} joins the group", member.name()));
        let mut last = None;
        let joined = wait_or_fail(&group.name, JOIN_BOUND, cancel, &format!("{} is ONLINE", member.name()), || {
            match state(member)?.as_deref() {
                Some("ONLINE") => return Ok(true),
                Some("RECOVERING") => return Ok(false),
                Some("ERROR") => member.execute("STOP GROUP_REPLICATION")?,
                _ => {}
            }
            // Refused while the group still has what it was before it died.
            match member.execute(START) {
                Err(LocalError::Sql { source, .. }) if is(&source, ALREADY_RUNNING) => {}
                Err(error) => last = Some(error.to_string()),
                Ok(()) => {}
            }
            Ok(false)
        });
        joined.map_err(|error| match (error, last) {
            (LocalError::NoGroup { group, reason }, Some(why)) => {
                LocalError::NoGroup { group, reason: format!("{reason} ({why})") }
            }
            (error, _) => error,
        })?;
        progress.done("");
    }
    Ok(())
}

fn is(error: &mysql::Error, code: u16) -> bool {
    matches!(error, mysql::Error::MySqlError(error) if error.code == code)
}

/// Has members that were started join; if none is in operation, the group is started from the one that has the most.
pub(super) fn go_on(
    group: &Group,
    started: &[usize],
    cancel: &Cancel,
    progress: &mut dyn Progress,
) -> Result<(), LocalError> {
    let members: Vec<&Server> = group.servers().collect();
    let mut started: Vec<&Server> = started.iter().map(|index| members[*index]).collect();
    if started.is_empty() {
        return Ok(());
    }
    let mut in_operation = false;
    for member in members.iter().filter(|member| !member.is_paused() && member.is_running()) {
        in_operation |= matches!(state(member)?.as_deref(), Some("ONLINE" | "RECOVERING"))
            && member.query_value(MAJORITY)?.as_deref() == Some("1");
    }
    if !in_operation {
        if started.len() < members.len() {
            let reason = "no member that runs is in operation; start all servers (`weir up`), and then WEIR GROUP BOOT";
            return Err(LocalError::NoGroup { group: group.name.clone(), reason: reason.to_owned() });
        }
        let first = most_advanced(group, &members)?;
        progress.step(&format!("Starting the group on {}", first.name()));
        bootstrap(group, first, cancel)?;
        progress.done("it has the most");
        started.retain(|member| member.name() != first.name());
    }
    join(group, &started, cancel, progress)
}

fn executed(member: &Server) -> Result<String, LocalError> {
    Ok(member.query_value("SELECT @@GLOBAL.gtid_executed")?.unwrap_or_default().replace('\n', ""))
}

/// The member that has all that the others have.
fn most_advanced<'a>(group: &Group, members: &[&'a Server]) -> Result<&'a Server, LocalError> {
    let sets: Vec<String> = members.iter().map(|member| executed(member)).collect::<Result<_, _>>()?;
    for (member, own) in members.iter().zip(&sets) {
        let lacking = sets.iter().map(|other| format!("GTID_SUBSET({}, {})", quoted(other), quoted(own)));
        let has_all = format!("SELECT {}", lacking.collect::<Vec<_>>().join(" AND "));
        if member.query_value(&has_all)?.as_deref() == Some("1") {
            return Ok(member);
        }
    }
    let reason = "no member has all that the others have; compare their gtid_executed, and start the group by hand";
    Err(LocalError::NoGroup { group: group.name.clone(), reason: reason.to_owned() })
}

/// Waits until all members have what the first one has.
pub(super) fn settle(group: &Group, bound: Duration, cancel: &Cancel) -> Result<(), LocalError> {
    let wanted = quoted(&executed(&group.writer)?);
    for member in &group.replicas {
        let reached = format!("SELECT GTID_SUBSET({wanted}, @@GLOBAL.gtid_executed)");
        wait_or_fail(&group.name, bound, cancel, &format!("{} has caught up", member.name()), || {
            Ok(member.query_value(&reached)?.as_deref() == Some("1"))
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_know_each_other_and_their_group() {
        let options = options(3, PortChoice::Any).expect("ports");
        let value = |member: usize, name: &str| {
            let prefix = format!("loose-group_replication_{name}=");
            options[member].iter().find_map(|line| line.strip_prefix(&prefix)).expect("the option").to_owned()
        };
        let seeds = value(0, "group_seeds");
        for member in 0..3 {
            assert_eq!(value(member, "group_name"), value(0, "group_name"));
            assert_eq!(value(member, "group_seeds"), seeds);
            assert!(seeds.split(',').any(|seed| seed == value(member, "local_address")));
        }
        assert_eq!(value(0, "group_name").len(), 36);
    }
}
