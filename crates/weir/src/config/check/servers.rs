//! Checks of the sections about the servers' side: addresses, TLS, pools, monitoring.

use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;

use weir_backend::Address;

use super::{Checker, at_least_one};
use crate::config::address::parse_server_address;
use crate::config::checked::{Group, HotRows, Lanes, Monitor, Pool, Role, Server, ServerTls, ServerTlsMode, Sharding};
use crate::config::files::read_certificates;
use crate::config::problem::KeyPlace;
use crate::config::raw::{RawGroup, RawHotRows, RawLanes, RawMonitor, RawPool, RawServer, RawServerTls, RawSharding};
use crate::config::source::suggestion;
use crate::config::units::{SizeText, parse_size};

/// The longest name of a server or group, in bytes.
const MAX_NAME: usize = 64;
/// The most servers of a group.
const MOST_SERVERS: usize = 64;
/// The most groups.
const MOST_GROUPS: usize = 64;
/// The most that may be kept of a transaction to run it again.
const MOST_REPLAYED: u64 = 1 << 30;
/// The default place of the catalog, in the directory of the configuration file.
const CATALOG: &str = "weir-catalog";

impl Checker<'_> {
    pub(super) fn groups(&mut self, raw: &[RawGroup], raw_servers: &[RawServer], own: &[SocketAddr]) -> Vec<Group> {
        if raw.len() > MOST_GROUPS {
            self.report
                .add(KeyPlace::all("groups"), format!("at most {MOST_GROUPS} are supported, found {}", raw.len()));
        }
        self.all_different("groups", "name", raw.iter().map(|group| group.name.as_str()));
        let default = [RawGroup::default()];
        let raw = if raw.is_empty() { &default } else { raw };
        let mut groups: Vec<_> = raw.iter().enumerate().map(|(number, raw)| self.group(number, raw)).collect();
        let members = self.members(&groups, raw_servers);
        self.all_different("servers", "name", raw_servers.iter().map(|s| s.name.as_str()));
        let mut addresses = Vec::new();
        for (number, (raw, group)) in raw_servers.iter().zip(&members).enumerate() {
            let Some(server) = self.server(KeyPlace::entry("servers", number), raw, own) else { continue };
            addresses.push(server.address.to_string());
            if let Some(group) = group {
                groups[*group].servers.push(server);
            }
        }
        self.all_different("servers", "address", addresses.iter().map(String::as_str));
        groups
    }

    /// Which group each server belongs to, as far as it can be told. Complains about groups whose servers aren't right.
    fn members(&mut self, groups: &[Group], servers: &[RawServer]) -> Vec<Option<usize>> {
        let numbered = servers.iter().enumerate();
        let members: Vec<_> = numbered.map(|(number, server)| self.group_of(groups, number, server)).collect();
        if members.iter().any(Option::is_none) {
            // Said already; what its group lacks without the server is not worth telling.
            return members;
        }
        for (number, group) in groups.iter().enumerate() {
            let name = &group.name;
            let own: Vec<_> = servers.iter().zip(&members).filter(|(_, of)| **of == Some(number)).collect();
            let writers = own.iter().filter(|(server, _)| server.role == Role::Writer).count();
            let of_group = if groups.len() > 1 { format!("of group `{name}`, ") } else { String::new() };
            if own.is_empty() && groups.len() > 1 {
                let message =
                    format!("no server is in group `{name}`: in [[servers]], `group = \"{name}\"` puts one there");
                self.report.add(KeyPlace::entry("groups", number).key("name"), message);
            } else if writers != 1 {
                let message = format!("{of_group}exactly one needs role = \"writer\", found {writers}");
                self.report.add(KeyPlace::all("servers"), message);
            }
            if own.len() > MOST_SERVERS {
                let message = format!("{of_group}at most {MOST_SERVERS} are supported, found {}", own.len());
                self.report.add(KeyPlace::all("servers"), message);
            }
        }
        members
    }

    fn group_of(&mut self, groups: &[Group], number: usize, server: &RawServer) -> Option<usize> {
        let section = KeyPlace::entry("servers", number);
        let Some(name) = &server.group else {
            if groups.len() > 1 {
                self.report.add(section, "needs `group`: there are several [[groups]]");
            }
            return (groups.len() == 1).then_some(0);
        };
        let found = groups.iter().position(|group| group.name == *name);
        if found.is_none() {
            let names = groups.iter().map(|group| group.name.as_str());
            let advice = suggestion(name, names).unwrap_or_else(|| "no such name in [[groups]]".to_owned());
            self.report.add(section.key("group"), format!("there is no group `{name}`; {advice}"));
        }
        found
    }

    fn group(&mut self, number: usize, raw: &RawGroup) -> Group {
        let section = KeyPlace::entry("groups", number);
        self.short_name(section.key("name"), "group", &raw.name);
        Group {
            name: raw.name.clone(),
            servers: Vec::new(),
            consistency: raw.consistency,
            max_lag: self.timeout(section.key("max_lag"), &raw.max_lag),
            read_wait: self.timeout(section.key("read_wait"), &raw.read_wait),
            writer_wait: self.duration(section.key("writer_wait"), &raw.writer_wait),
            transaction_replay: raw.transaction_replay,
            transaction_replay_size: self
                .replay_size(section.key("transaction_replay_size"), &raw.transaction_replay_size),
            position_interval: self.timeout(section.key("position_interval"), &raw.position_interval),
            discover: raw.discover,
            kind: raw.kind,
            failover: raw.failover,
            failover_after: self.duration(section.key("failover_after"), &raw.failover_after),
            failover_interval: self.duration(section.key("failover_interval"), &raw.failover_interval),
            max_lost: raw.max_lost,
        }
    }

    fn replay_size(&mut self, place: KeyPlace<'_>, text: &SizeText) -> usize {
        let size = self.ok_or_report(place, parse_size(&text.0));
        if size.is_some_and(|size| size > MOST_REPLAYED) {
            self.report.add(place, format!("`{}` is more than \"1GiB\"", text.0));
        }
        size.and_then(|size| usize::try_from(size).ok()).unwrap_or_default()
    }

    pub(super) fn sharding(&self, raw: &RawSharding) -> Sharding {
        let directory = raw.directory.as_deref().unwrap_or(Path::new(CATALOG));
        Sharding { directory: self.resolve(directory), wanted: raw.directory.is_some() }
    }

    fn short_name(&mut self, place: KeyPlace<'_>, of: &str, name: &str) {
        let is_name_byte = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
        if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(is_name_byte) {
            let message = format!("a {of}'s name has 1 to {MAX_NAME} of the characters a-z, A-Z, 0-9, `.`, `_`, `-`");
            self.report.add(place, message);
        }
    }

    fn server(&mut self, section: KeyPlace<'_>, raw: &RawServer, own: &[SocketAddr]) -> Option<Server> {
        self.short_name(section.key("name"), "server", &raw.name);
        let address = parse_server_address(&raw.address);
        let address = self.ok_or_report(section.key("address"), address)?;
        if own.iter().any(|own| is_at(&address, *own)) {
            self.report.add(section.key("address"), format!("`{address}` is Weir's own `address` in [listen]"));
        }
        Some(Server { name: raw.name.clone(), address, role: raw.role, weight: raw.weight, promotion: raw.promotion })
    }

    pub(super) fn server_tls(&mut self, raw: &RawServerTls) -> ServerTls {
        let section = KeyPlace::section("server_tls");
        let verifies = matches!(raw.mode, ServerTlsMode::VerifyCa | ServerTlsMode::VerifyIdentity);
        let authorities = match (&raw.ca, verifies) {
            (Some(path), true) => {
                let certificates = read_certificates(&self.resolve(path));
                self.ok_or_report(section.key("ca"), certificates).unwrap_or_default()
            }
            (Some(_), false) => {
                let message = "is used with modes \"verify-ca\" and \"verify-identity\" only";
                self.report.add(section.key("ca"), message);
                Vec::new()
            }
            (None, true) => {
                self.report.add(section.key("mode"), "needs `ca`");
                Vec::new()
            }
            (None, false) => Vec::new(),
        };
        if raw.mode == ServerTlsMode::Off && raw.certificate.is_some() {
            let message = "can't be used with mode = \"off\"";
            self.report.add(section.key("certificate"), message);
        }
        if raw.certificate.is_some() != raw.key.is_some() {
            self.report.add(section, "needs both or none of `certificate` and `key`");
        }
        ServerTls { mode: raw.mode, authorities, identity: self.identity(section, &raw.certificate, &raw.key) }
    }

    pub(super) fn pool(&mut self, raw: &RawPool) -> Pool {
        let section = KeyPlace::section("pool");
        self.user_limit_within(section, raw.max_user_connections, raw.max_connections);
        Pool {
            max_connections: at_least_one(raw.max_connections),
            max_user_connections: NonZeroU32::new(raw.max_user_connections),
            max_queue: raw.max_queue as usize,
            queue_timeout: self.timeout(section.key("queue_timeout"), &raw.queue_timeout),
            idle_timeout: self.timeout(section.key("idle_timeout"), &raw.idle_timeout),
            connect_timeout: self.timeout(section.key("connect_timeout"), &raw.connect_timeout),
            prepared_statements: NonZeroUsize::new(raw.prepared_statements as usize).unwrap_or(NonZeroUsize::MIN),
        }
    }

    pub(super) fn lanes(&mut self, raw: &RawLanes) -> Lanes {
        let section = KeyPlace::section("lanes");
        Lanes {
            enabled: raw.enabled,
            max_lanes: at_least_one(raw.max_lanes),
            max_depth: at_least_one(raw.max_depth),
            stall_timeout: self.timeout(section.key("stall_timeout"), &raw.stall_timeout),
        }
    }

    pub(super) fn hot_rows(&mut self, raw: &RawHotRows) -> HotRows {
        let section = KeyPlace::section("hot_rows");
        let mut merge = Vec::new();
        for table in &raw.merge {
            match table.split_once('.') {
                Some((database, name)) if !database.is_empty() && !name.is_empty() => {
                    merge.push((database.to_owned(), name.to_owned()));
                }
                _ => {
                    self.report.add(section.key("merge"), format!("\"{table}\" is not of the form \"database.table\""))
                }
            }
        }
        HotRows {
            merge,
            enabled: raw.enabled,
            threshold: at_least_one(raw.threshold),
            max_batch: at_least_one(raw.max_batch),
            max_hold: self.timeout(section.key("max_hold"), &raw.max_hold),
            admission: at_least_one(raw.admission),
        }
    }

    pub(super) fn monitor(&mut self, raw: &RawMonitor) -> Monitor {
        let section = KeyPlace::section("monitor");
        self.user_name(section.key("user"), &raw.user);
        let timeout = self.timeout(section.key("timeout"), &raw.timeout);
        let hang_timeout = self.timeout(section.key("hang_timeout"), &raw.hang_timeout);
        if hang_timeout < timeout {
            self.report.add(
                section.key("hang_timeout"),
                format!("{} is less than `timeout`, {}", raw.hang_timeout.0, raw.timeout.0),
            );
        }
        Monitor {
            user: raw.user.clone(),
            password: self.password(
                section,
                raw.password.as_ref(),
                raw.password_file.as_deref(),
                raw.password_env.as_deref(),
            ),
            interval: self.timeout(section.key("interval"), &raw.interval),
            timeout,
            hang_timeout,
        }
    }
}

/// True when connecting to `server` reaches the listener at `own`, as far as the texts tell.
fn is_at(server: &Address, own: SocketAddr) -> bool {
    let Address::Tcp { host, port } = server else {
        return false;
    };
    *port == own.port()
        && match host.parse::<std::net::IpAddr>() {
            Ok(ip) => ip == own.ip() || (own.ip().is_unspecified() && ip.is_loopback()),
            Err(_) => host == "localhost" && (own.ip().is_loopback() || own.ip().is_unspecified()),
        }
}
