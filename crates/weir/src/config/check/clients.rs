//! Checks of the sections about the clients' side: listening, TLS, limits, accounts.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use super::{Checker, at_least_one};
use crate::config::checked::{Accounts, ClientTls, ClientTlsCertificate, Clients, Listen, ListenSocket, User};
use crate::config::problem::KeyPlace;
use crate::config::raw::{RawAccounts, RawClients, RawListen, RawTls, RawUser, TlsMode};
use crate::config::units::{SizeText, parse_size};
use weir_admin::network::Network;

/// The longest path of a Unix socket that fits in a socket address, in bytes (Linux).
const MAX_SOCKET_PATH: usize = 107;
/// The bounds of `max_allowed_packet`, in bytes, as MySQL has them.
const PACKET_BOUNDS: std::ops::RangeInclusive<u64> = 1 << 10..=1 << 30;

impl Checker<'_> {
    pub(super) fn listen(&mut self, raw: &RawListen) -> Listen {
        let section = KeyPlace::section("listen");
        let mut addresses = Vec::new();
        for text in &raw.address {
            let address = self.socket_address(section.key("address"), text);
            if address.is_some_and(|a| a.port() != 0 && addresses.contains(&a)) {
                self.report.add(section.key("address"), format!("`{text}` is duplicated"));
            }
            addresses.extend(address);
        }
        if raw.address.is_empty() && raw.socket.is_none() {
            self.report.add(section, "needs an `address` or a `socket`");
        }
        Listen {
            addresses,
            socket: raw.socket.as_ref().map(|path| ListenSocket {
                path: self.socket_path(section.key("socket"), path),
                mode: self.octal_mode(section.key("socket_mode"), &raw.socket_mode),
            }),
            backlog: raw.backlog,
            proxy_protocol_networks: self
                .networks(section.key("proxy_protocol_networks"), &raw.proxy_protocol_networks),
            allow: self.networks(section.key("allow"), &raw.allow),
            instance: raw.instance,
        }
    }

    pub(super) fn networks(&mut self, place: KeyPlace<'_>, texts: &[String]) -> Vec<Network> {
        let parsed = texts.iter().map(|text| text.parse());
        let parsed: Vec<Result<Network, _>> = parsed.collect();
        let report_error = |result: Result<Network, _>| self.ok_or_report(place, result);
        parsed.into_iter().filter_map(report_error).collect()
    }

    pub(super) fn socket_path(&mut self, place: KeyPlace<'_>, path: &Path) -> PathBuf {
        let shown = path.display();
        if !path.is_absolute() {
            self.report.add(place, format!("`{shown}` is not an absolute path"));
        } else if path.as_os_str().len() > MAX_SOCKET_PATH {
            let message = format!("`{shown}` is longer than {MAX_SOCKET_PATH} bytes");
            self.report.add(place, message);
        }
        path.to_owned()
    }

    fn octal_mode(&mut self, place: KeyPlace<'_>, text: &str) -> u32 {
        let mode = u32::from_str_radix(text, 8).ok().filter(|m| *m <= 0o777);
        let mode = mode.ok_or_else(|| format!("`{text}` is not a file mode: write it in octal, such as \"0660\""));
        self.ok_or_report(place, mode).unwrap_or_default()
    }

    pub(super) fn tls(&mut self, raw: &RawTls) -> ClientTls {
        let section = KeyPlace::section("tls");
        if raw.mode == TlsMode::Off && raw.require {
            self.report.add(section.key("require"), "can't be true with mode = \"off\"");
        }
        let certificate = match raw.mode {
            TlsMode::Files => {
                for (key, path) in [("certificate", &raw.certificate), ("key", &raw.key)] {
                    if path.is_none() {
                        self.report.add(section, format!("mode = \"files\" needs `{key}`"));
                    }
                }
                self.identity(section, &raw.certificate, &raw.key)
                    .map_or(ClientTlsCertificate::Off, ClientTlsCertificate::Files)
            }
            TlsMode::Generate | TlsMode::Off => {
                for (key, path) in [("certificate", &raw.certificate), ("key", &raw.key)] {
                    if path.is_some() {
                        self.report.add(section.key(key), "is used with mode = \"files\" only");
                    }
                }
                match raw.mode {
                    TlsMode::Off => ClientTlsCertificate::Off,
                    _ => ClientTlsCertificate::Generate,
                }
            }
        };
        ClientTls { certificate, require: raw.require }
    }

    pub(super) fn clients(&mut self, raw: &RawClients) -> Clients {
        let section = KeyPlace::section("clients");
        self.user_limit_within(section, raw.max_user_connections, raw.max_connections);
        if raw.compression.is_empty() {
            self.report.add(section.key("compression"), "is empty: [\"uncompressed\"] turns compression off");
        }
        Clients {
            max_connections: at_least_one(raw.max_connections),
            max_user_connections: NonZeroU32::new(raw.max_user_connections),
            handshake_timeout: self.timeout(section.key("handshake_timeout"), &raw.handshake_timeout),
            wait_timeout: self.timeout(section.key("wait_timeout"), &raw.wait_timeout),
            write_timeout: self.timeout(section.key("write_timeout"), &raw.write_timeout),
            max_allowed_packet: self.packet_size(section.key("max_allowed_packet"), &raw.max_allowed_packet),
            compression: raw.compression.clone(),
            read_only: raw.read_only,
        }
    }

    fn packet_size(&mut self, place: KeyPlace<'_>, text: &SizeText) -> usize {
        let size = self.ok_or_report(place, parse_size(&text.0));
        if size.is_some_and(|size| !PACKET_BOUNDS.contains(&size)) {
            let message = format!("`{}` is not between \"1KiB\" and \"1GiB\"", text.0);
            self.report.add(place, message);
        }
        // Within the bounds, or a placeholder.
        size.and_then(|size| usize::try_from(size).ok()).unwrap_or_default()
    }

    pub(super) fn accounts(&mut self, raw: &RawAccounts, users: &[RawUser], clients: &RawClients) -> Accounts {
        if !raw.learn && users.is_empty() {
            self.report.add(
                KeyPlace::section("accounts").key("learn"),
                "nobody could log in: list [[users]], or set learn = true",
            );
        }
        self.all_different("users", "name", users.iter().map(|user| user.name.as_str()));
        let users = users
            .iter()
            .enumerate()
            .map(|(number, user)| self.user(KeyPlace::entry("users", number), user, raw, clients));
        Accounts { learn: raw.learn, default_plugin: raw.default_plugin, users: users.collect() }
    }

    fn user(&mut self, section: KeyPlace<'_>, raw: &RawUser, accounts: &RawAccounts, clients: &RawClients) -> User {
        self.user_name(section.key("name"), &raw.name);
        if raw.max_connections > clients.max_connections {
            let (own, in_all) = (raw.max_connections, clients.max_connections);
            self.report.add(
                section.key("max_connections"),
                format!("{own} is more than `max_connections` in [clients], {in_all}"),
            );
        }
        User {
            name: raw.name.clone(),
            password: self.password(
                section,
                raw.password.as_ref(),
                raw.password_file.as_deref(),
                raw.password_env.as_deref(),
            ),
            plugin: raw.plugin.or(accounts.default_plugin),
            admin: raw.admin,
            max_connections: NonZeroU32::new(raw.max_connections).or(NonZeroU32::new(clients.max_user_connections)),
            consistency: raw.consistency,
            transaction_replay: raw.transaction_replay,
            allow: self.networks(section.key("allow"), &raw.allow),
        }
    }
}
