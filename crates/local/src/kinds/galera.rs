//! MariaDB Galera clusters, set for a quick failover.
//!
//! A node that has nothing gets a copy of another one's data directory: all of them are on this machine, so a script of our own copies it
//! (`wsrep_sst_method`), whoever the servers run as. A node that was killed starts from the position that its storage engine has, and gets what it
//! lacks from another node's cache of write sets.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use mysql::prelude::Queryable;

use crate::cluster::Group;
use crate::kind::galera_library;
use crate::layout::{make_private_dir, remove_if_there, write_private};
use crate::ports::peer_ports;
use crate::tool::run_logged;
use crate::{Kind, LocalError, PortChoice, Server};

/// How long a node may take to find out its position.
const RECOVER_BOUND: Duration = Duration::from_secs(90);
/// The method's name, and the script's behind `wsrep_sst_`.
const METHOD: &str = "weir_copy";
const SCRIPT: &str = include_str!("state_transfer.sh");
/// The argument with which a node starts a cluster, rather than to join it.
const NEW_CLUSTER: &str = "--wsrep-new-cluster";
/// A position of a node that has none.
const NO_STATE: &str = "00000000-0000-0000-0000-000000000000";
/// Timeouts of a local network. A node that is silent for a second is left out; survivors have three to agree on it.
const QUICK: &str = "evs.keepalive_period=PT0.3S;evs.join_retrans_period=PT0.3S;evs.inactive_check_period=PT0.3S;\
                     evs.suspect_timeout=PT1S;evs.inactive_timeout=PT3S;evs.install_timeout=PT3S;gcache.size=64M";

/// What a node says that it is.
pub(super) const ROLE: &str = "SELECT LOWER(IF(MAX(IF(variable_name = 'WSREP_CLUSTER_STATUS', variable_value, NULL)) = 'Primary', \
                               MAX(IF(variable_name = 'WSREP_LOCAL_STATE_COMMENT', variable_value, NULL)), 'no majority')) \
                               FROM information_schema.global_status WHERE variable_name LIKE 'WSREP%'";

/// For nodes of these names.
pub(super) fn options(names: &[String], ports: PortChoice) -> Result<Vec<Vec<String>>, LocalError> {
    let missing = || LocalError::Unsupported { kind: Kind::Galera.name(), reason: "its library is missing".to_owned() };
    let library = galera_library().ok_or_else(missing)?;
    let ports = peer_ports(ports, names.len() * 2)?;
    let (listen, receive) = ports.split_at(names.len());
    let addresses: Vec<String> = listen.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let cluster = format!("weir-{:016x}", rand::random::<u64>());
    let of_node = |(index, name): (usize, &String)| {
        vec![
            "wsrep-on=ON".to_owned(),
            format!("wsrep-provider=\"{}\"", library.display()),
            format!("wsrep-cluster-name={cluster}"),
            format!("wsrep-cluster-address=\"gcomm://{}\"", addresses.join(",")),
            format!("wsrep-node-name={name}"),
            "wsrep-node-address=127.0.0.1".to_owned(),
            format!(
                "wsrep-provider-options=\"gmcast.listen_addr=tcp://{};ist.recv_addr=127.0.0.1:{};{QUICK}\"",
                addresses[index], receive[index]
            ),
            format!("wsrep-sst-method={METHOD}"),
            "innodb-autoinc-lock-mode=2".to_owned(),
        ]
    };
    Ok(names.iter().enumerate().map(of_node).collect())
}

pub(super) fn before_first_start(node: &mut Server, is_first: bool) -> Result<(), LocalError> {
    let programs = node.files().programs();
    make_private_dir(&programs)?;
    let script = programs.join(format!("wsrep_sst_{METHOD}"));
    write_private(&script, SCRIPT)?;
    let executable = fs::Permissions::from_mode(0o700);
    fs::set_permissions(&script, executable).map_err(LocalError::io("make executable", &script))?;
    if is_first {
        node.set_start_arguments(vec![NEW_CLUSTER.to_owned()]);
    }
    Ok(())
}

/// Gives each node its position. If none is in operation, the one that has the most starts the cluster. The turns of the nodes: one after another,
/// but those that have to find each other first.
pub(super) fn before_start(group: &mut Group, asleep: &[usize]) -> Result<Vec<Vec<usize>>, LocalError> {
    let in_operation = group.servers().any(|node| node.is_running() && is_primary(node));
    let all_asleep = asleep.len() == group.servers().count();
    if !in_operation && !all_asleep && asleep.len() == 1 {
        let reason = "no node that runs has the majority: WEIR GROUP BOOT has one go on without it";
        return Err(LocalError::NoGroup { group: group.name.clone(), reason: reason.to_owned() });
    }
    let mut first: Option<(u64, usize)> = None;
    for (index, node) in group.servers_mut().enumerate().filter(|(index, _)| asleep.contains(index)) {
        let position = recovered(node)?;
        let seqno = position.as_deref().and_then(|position| position.rsplit_once(':')?.1.parse().ok());
        if first.is_none_or(|(most, _)| seqno > Some(most)) {
            first = Some((seqno.unwrap_or_default(), index));
        }
        let argument = position.map(|position| format!("--wsrep-start-position={position}"));
        node.set_start_arguments(argument.into_iter().collect());
    }
    if !all_asleep {
        return Ok(if in_operation { asleep.iter().map(|node| vec![*node]).collect() } else { vec![asleep.to_vec()] });
    }
    let first = first.map_or(0, |(_, first)| first);
    group.servers_mut().nth(first).map_or(Ok(()), start_cluster_with)?;
    let others = asleep.iter().filter(|node| **node != first);
    Ok(std::iter::once(&first).chain(others).map(|node| vec![*node]).collect())
}

/// Has a node start the cluster: that it has the most is known, which the server itself does not know after a crash.
fn start_cluster_with(node: &mut Server) -> Result<(), LocalError> {
    let state = node.data_directory().join("grastate.dat");
    let text = fs::read_to_string(&state).map_err(LocalError::io("read", &state))?;
    write_private(&state, &text.replace("safe_to_bootstrap: 0", "safe_to_bootstrap: 1"))?;
    // The members that it saw last are not waited for.
    remove_if_there(&node.data_directory().join("gvwstate.dat"))?;
    let mut arguments = node.start_arguments().to_vec();
    arguments.push(NEW_CLUSTER.to_owned());
    node.set_start_arguments(arguments);
    Ok(())
}

/// Waits until a node has applied what the others have committed.
pub(super) fn settle(node: &Server) -> Result<(), LocalError> {
    let failed = |error| LocalError::sql(node.name(), error);
    let mut root = node.admin()?;
    root.query_drop("SET SESSION wsrep_sync_wait = 15").map_err(failed)?;
    root.query_drop("SELECT COUNT(*) FROM mysql.global_priv").map_err(failed)
}

fn is_primary(node: &Server) -> bool {
    let status = node.query("SHOW GLOBAL STATUS LIKE 'wsrep_cluster_status'").ok();
    let value = status.and_then(|rows| rows.into_iter().next()?.into_iter().nth(1)?);
    value.as_deref() == Some("Primary")
}

/// The position of a node that does not run: `uuid:seqno`; `None` if it has none.
fn recovered(node: &Server) -> Result<Option<String>, LocalError> {
    let log = node.dir().join("recover.log");
    remove_if_there(&log)?;
    let arguments =
        [node.files().option_file_argument(), "--wsrep-recover".to_owned(), format!("--log-error={}", log.display())];
    let arguments: Vec<_> = arguments.into_iter().map(Into::into).collect();
    let output = node.dir().join("recover.out");
    run_logged(node.installation().binary(), &arguments, &output, RECOVER_BOUND, node.cancel())?;
    let text = fs::read_to_string(&log).map_err(LocalError::io("read", &log))?;
    [log, output].iter().try_for_each(|file| remove_if_there(file))?;
    Ok(position_in(&text))
}

/// What `--wsrep-recover` prints.
fn position_in(log: &str) -> Option<String> {
    let position = log.lines().rev().find_map(|line| line.split_once("Recovered position: "))?.1.trim();
    (!position.starts_with(NO_STATE)).then(|| position.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_position_is_the_last_one_that_is_told_unless_there_is_none() {
        let uuid = "215a9467-e878-11f1-af3c-7ac468c2c59f";
        let line = |position: &str| format!("2026-11-25 2:30:37 0 [Note] WSREP: Recovered position: {position}\n");
        let cases = [
            (line(&format!("{uuid}:6")), Some(format!("{uuid}:6"))),
            (line(&format!("{uuid}:6")) + &line(&format!("{uuid}:8")), Some(format!("{uuid}:8"))),
            (line(&format!("{NO_STATE}:-1")), None),
            ("nothing of it\n".to_owned(), None),
        ];
        for (log, position) in cases {
            assert_eq!(position_in(&log), position, "{log}");
        }
    }
}
