//! Checks of the sections about the servers' side: addresses, TLS, pools, monitoring.

use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroUsize};

use weir_backend::Address;

use super::{Checker, at_least_one};
use crate::config::address::parse_server_address;
use crate::config::checked::{Group, Lanes, Monitor, Pool, Role, Server, ServerTls, ServerTlsMode};
use crate::config::files::read_certificates;
use crate::config::problem::Place;
use crate::config::raw::{RawGroup, RawLanes, RawMonitor, RawPool, RawServer, RawServerTls};

/// The longest name of a server or group, in bytes.
const MAX_NAME: usize = 64;
/// The most servers of a group.
const MOST_SERVERS: usize = 64;

impl Checker<'_> {
    pub(super) fn servers(&mut self, raw: &[RawServer], own: &[SocketAddr]) -> Vec<Server> {
        let writers = raw.iter().filter(|s| s.role == Role::Writer).count();
        if writers != 1 {
            self.report.add(Place::all("servers"), format!("exactly one needs role = \"writer\", found {writers}"));
        }
        if raw.len() > MOST_SERVERS {
            self.report.add(Place::all("servers"), format!("there can be {MOST_SERVERS} at most, found {}", raw.len()));
        }
        self.all_different("servers", "name", raw.iter().map(|s| s.name.as_str()));
        let servers: Vec<_> = raw
            .iter()
            .enumerate()
            .filter_map(|(number, server)| self.server(Place::entry("servers", number), server, own))
            .collect();
        let addresses: Vec<_> = servers.iter().map(|s| s.address.to_string()).collect();
        self.all_different("servers", "address", addresses.iter().map(String::as_str));
        servers
    }

    pub(super) fn group(&mut self, raw: &[RawGroup]) -> Group {
        if raw.len() > 1 {
            self.report
                .add(Place::all("groups"), "there can be one so far: several need sharding, which is not there yet");
        }
        let default = RawGroup::default();
        let raw = raw.first().unwrap_or(&default);
        let section = Place::entry("groups", 0);
        self.short_name(section.key("name"), "group", &raw.name);
        Group {
            name: raw.name.clone(),
            consistency: raw.consistency,
            max_lag: self.timeout(section.key("max_lag"), &raw.max_lag),
            read_wait: self.timeout(section.key("read_wait"), &raw.read_wait),
            writer_wait: self.duration(section.key("writer_wait"), &raw.writer_wait),
            position_interval: self.timeout(section.key("position_interval"), &raw.position_interval),
        }
    }

    fn short_name(&mut self, place: Place<'_>, of: &str, name: &str) {
        let is_name_byte = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
        if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(is_name_byte) {
            let message = format!("a {of}'s name has 1 to {MAX_NAME} of the characters a-z, A-Z, 0-9, `.`, `_`, `-`");
            self.report.add(place, message);
        }
    }

    fn server(&mut self, section: Place<'_>, raw: &RawServer, own: &[SocketAddr]) -> Option<Server> {
        self.short_name(section.key("name"), "server", &raw.name);
        let address = parse_server_address(&raw.address);
        let address = self.ok_or_report(section.key("address"), address)?;
        if own.iter().any(|own| is_at(&address, *own)) {
            self.report.add(section.key("address"), format!("`{address}` is Weir's own `address` in [listen]"));
        }
        Some(Server { name: raw.name.clone(), address, role: raw.role, weight: raw.weight })
    }

    pub(super) fn server_tls(&mut self, raw: &RawServerTls) -> ServerTls {
        let section = Place::section("server_tls");
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
        let section = Place::section("pool");
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
        let section = Place::section("lanes");
        Lanes {
            enabled: raw.enabled,
            max_lanes: at_least_one(raw.max_lanes),
            max_depth: at_least_one(raw.max_depth),
            stall_timeout: self.timeout(section.key("stall_timeout"), &raw.stall_timeout),
        }
    }

    pub(super) fn monitor(&mut self, raw: &RawMonitor) -> Monitor {
        let section = Place::section("monitor");
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
