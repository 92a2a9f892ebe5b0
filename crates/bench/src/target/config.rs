//! The proxies' configuration files.
//!
//! Each is as plain as it can be: one listener on loopback, one server, as many threads as there are cores, limits out of
//! the way of the largest number of clients, no TLS between the bench's processes.

use std::path::Path;

use super::{Launcher, TargetKind, Upstream, WeirPorts, router_plugins};
use crate::plan::{HOT_TABLES, Level, Variation};

/// Weir's `pool.max_connections` where it is not varied: its default.
const WEIR_POOL: u32 = 100;
/// The same over shards: a transaction of several shards that has a connection of one must not wait for another's of the next, which waits
/// for its own.
const WEIR_POOL_OF_SHARDS: u32 = 1_000;
/// More clients than any bench has.
const MANY: u32 = 20_000;

/// Connections that HAProxy may have with this many open files. It refuses to start when it can't have two for each.
fn haproxy_connections(files: u64) -> u64 {
    (files.saturating_sub(200) / 2).clamp(100, u64::from(MANY))
}

pub(super) fn haproxy(launcher: &Launcher, port: u16) -> String {
    let (cores, connections) = (launcher.cores, haproxy_connections(launcher.files));
    let (host, server_port) = (&launcher.upstream.host, launcher.upstream.port);
    // Without noreuseport another HAProxy on the same port would share its clients with this one, unnoticed.
    format!(
        "global\n    maxconn {connections}\n    noreuseport\n    nbthread {cores}\n\
         defaults\n    mode tcp\n    maxconn {connections}\n    backlog 4096\n    timeout connect 10s\n    timeout client 1h\n    timeout server 1h\n\
         listen mysql\n    bind 127.0.0.1:{port}\n    server writer {host}:{server_port}\n"
    )
}

pub(super) fn router(launcher: &Launcher, port: u16, program: Option<&Path>) -> String {
    let dir = launcher.dir.display();
    let plugins = program.and_then(router_plugins);
    let plugins = plugins.map_or(String::new(), |folder| format!("plugin_folder={}\n", folder.display()));
    let (host, server_port) = (&launcher.upstream.host, launcher.upstream.port);
    // A client that gives up counts as an error, and after max_connect_errors its host would be locked out.
    format!(
        "[DEFAULT]\nlogging_folder=\nruntime_folder={dir}\ndata_folder={dir}\n{plugins}max_total_connections={MANY}\n\
         [logger]\nlevel=WARNING\n[io]\nthreads={}\n\
         [routing:bench]\nbind_address=127.0.0.1\nbind_port={port}\ndestinations={host}:{server_port}\n\
         routing_strategy=first-available\nprotocol=classic\nclient_ssl_mode=DISABLED\nserver_ssl_mode=DISABLED\n\
         max_connections={MANY}\nmax_connect_errors=4294967295\n",
        launcher.cores,
    )
}

pub(super) fn weir(launcher: &Launcher, ports: WeirPorts, kind: TargetKind, variation: Option<Variation>) -> String {
    let upstream = &launcher.upstream;
    let limit = variation.and_then(Variation::pool_limit).unwrap_or_else(|| weir_pool(upstream));
    let port = ports.clients;
    let mut text = format!(
        "[listen]\naddress = [\"127.0.0.1:{port}\"]\n\n\
         [clients]\nmax_connections = {MANY}\n\n\
         [monitor]\nuser = {}\npassword = {}\n\n\
         [[users]]\nname = {}\npassword = {}\nadmin = true\n\n\
         [pool]\nmax_connections = {limit}\n",
        quoted(&upstream.monitor.name),
        quoted(&upstream.monitor.password),
        quoted(&upstream.account.name),
        quoted(&upstream.account.password),
    );
    if upstream.shards.is_empty() {
        let address = quoted(&format!("{}:{}", upstream.host, upstream.port));
        text.push_str(&format!("\n[[servers]]\nname = \"writer\"\naddress = {address}\nrole = \"writer\"\n"));
    }
    for (number, port) in (1..).zip(&upstream.shards) {
        let (name, address) = (quoted(&shard_name(number)), quoted(&format!("{}:{port}", upstream.host)));
        text.push_str(&format!(
            "\n[[groups]]\nname = {name}\n\n[[servers]]\nname = {name}\naddress = {address}\nrole = \"writer\"\ngroup = {name}\n"
        ));
    }
    if let (Some(Variation::Splitting { replicas, level }), Some(metrics)) = (variation, ports.metrics) {
        text.push_str(&splitting(upstream, replicas, level, metrics));
    }
    text.push_str(&hot_rows(kind, &upstream.database));
    text
}

/// What a target differs in from Weir as it is by default.
fn hot_rows(kind: TargetKind, database: &str) -> String {
    match kind {
        TargetKind::WeirOff => "\n[hot_rows]\nenabled = false\n".to_owned(),
        TargetKind::WeirMerge => {
            let tables = HOT_TABLES.map(|table| quoted(&format!("{database}.{table}")));
            format!("\n[hot_rows]\nmerge = [{}]\n", tables.join(", "))
        }
        _ => String::new(),
    }
}

/// Weir's `pool.max_connections` where it is not varied.
pub(super) fn weir_pool(upstream: &Upstream) -> u32 {
    if upstream.shards.is_empty() { WEIR_POOL } else { WEIR_POOL_OF_SHARDS }
}

/// The name of a shard in Weir's configuration, from 1.
pub(crate) fn shard_name(number: u32) -> String {
    format!("s{number}")
}

/// The replicas, their level, and where the reads on them are counted.
fn splitting(upstream: &Upstream, replicas: u32, level: Level, metrics: u16) -> String {
    let mut text = format!(
        "\n[metrics]\naddress = \"127.0.0.1:{metrics}\"\n\n[[groups]]\nconsistency = {}\n",
        quoted(level.key())
    );
    for (number, port) in (1..=replicas).zip(&upstream.replicas) {
        let address = quoted(&format!("{}:{port}", upstream.host));
        text.push_str(&format!("\n[[servers]]\nname = \"replica{number}\"\naddress = {address}\nrole = \"replica\"\n"));
    }
    text
}

/// A TOML string. JSON's escapes are a part of TOML's.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::{TargetKind, haproxy_connections, hot_rows};

    #[test]
    fn haproxy_gets_no_more_connections_than_its_open_files_allow() {
        for (files, connections) in [(1_024, 412), (20_000, 9_900), (1 << 20, 20_000), (100, 100)] {
            assert_eq!(haproxy_connections(files), connections, "{files} files");
        }
    }

    #[test]
    fn only_the_targets_of_hot_rows_have_settings_of_their_own() {
        assert_eq!(hot_rows(TargetKind::Weir, "app"), "");
        assert_eq!(hot_rows(TargetKind::WeirOff, "app"), "\n[hot_rows]\nenabled = false\n");
        let merging = hot_rows(TargetKind::WeirMerge, "app");
        assert_eq!(merging, "\n[hot_rows]\nmerge = [\"app.seckill\", \"app.seckill_key\"]\n");
    }
}
