//! Weir's configuration file for a cluster: written once, then the user's to edit.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use weir_local::{Account, Cluster, Kind, PortChoice, free_port};

use super::ClusterError;
use crate::config::address::connectable;

/// What goes into the file.
pub(super) struct ConfigFile<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) port: u16,
    pub(super) application: &'a Account,
    pub(super) monitor: &'a Account,
}

impl ConfigFile<'_> {
    /// Writes the file, readable by its owner only; there must be none yet.
    pub(super) fn write(&self) -> Result<(), ClusterError> {
        let path = Cluster::config_file(self.cluster.dir());
        let metrics_port = free_port(PortChoice::From(self.port.saturating_add(1)))?;
        let api_port = free_port(PortChoice::From(metrics_port.saturating_add(1)))?;
        let text = self.text(metrics_port, api_port, &random_token()?);
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|error| ClusterError::Config { file: path, reason: error.to_string() })
    }

    fn text(&self, metrics_port: u16, api_port: u16, token: &str) -> String {
        let dir = self.cluster.dir();
        let mut text = format!(
            "# Written by `weir up`; yours to edit. It holds passwords: keep it readable by its owner only.\n\n\
             [listen]\naddress = [\"127.0.0.1:{}\"]\nsocket = {}\n\n\
             [metrics]\naddress = \"127.0.0.1:{metrics_port}\"\n\n\
             # For `weir ctl`.\n\
             [api]\naddress = \"127.0.0.1:{api_port}\"\ntoken = \"{token}\"\n\n\
             [monitor]\nuser = {}\npassword = {}\n\n\
             # The servers listen on 127.0.0.1 only, which is why this password may be simple.\n\
             [[users]]\nname = {}\npassword = {}\nadmin = true\n",
            self.port,
            quoted(&Cluster::front_socket(dir).to_string_lossy()),
            quoted(&self.monitor.name),
            quoted(&self.monitor.password),
            quoted(&self.application.name),
            quoted(&self.application.password),
        );
        let kind = self.cluster.state().kind.configured();
        for group in &self.cluster.groups {
            text.push_str(&format!("\n[[groups]]\nname = {}\nkind = \"{kind}\"\n", quoted(&group.name)));
            if self.cluster.state().kind == Kind::GroupReplication {
                // Its members take 5 s to miss one, which the default is too short for.
                text.push_str("writer_wait = \"15s\"\n");
            }
            let replicas = group.replicas.iter().map(|replica| (replica, "replica"));
            for (server, role) in std::iter::once((&group.writer, "writer")).chain(replicas) {
                text.push_str(&format!(
                    "\n[[servers]]\nname = {}\naddress = \"127.0.0.1:{}\"\nrole = \"{role}\"\ngroup = {}\n",
                    quoted(server.name()),
                    server.port(),
                    quoted(&group.name)
                ));
            }
        }
        text
    }
}

/// A token that nobody guesses, in hexadecimal digits.
fn random_token() -> Result<String, ClusterError> {
    let mut bytes = [0; 32];
    aws_lc_rs::rand::fill(&mut bytes)
        .map_err(|_| ClusterError::Io("make a token", std::io::Error::other("no random numbers")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// Where Weir listens by the cluster's configuration file, as an address that a client on this machine can connect to;
/// `None` if there is no file.
pub(super) fn listen_address(dir: &Path) -> Result<Option<SocketAddr>, ClusterError> {
    let file = Cluster::config_file(dir);
    let bad = |reason: String| ClusterError::Config { file: file.clone(), reason };
    let text = match fs::read_to_string(&file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(|error| bad(error.to_string()))?,
    };
    let config: toml::Table = text.parse().map_err(|error: toml::de::Error| bad(error.to_string()))?;
    let first = config.get("listen").and_then(|listen| listen.get("address")?.get(0)?.as_str());
    let first = first.ok_or_else(|| bad("[listen] has no address".to_owned()))?;
    let address: SocketAddr =
        first.parse().map_err(|_| bad(format!("[listen] address {first:?} is not an IP address and port")))?;
    Ok(Some(connectable(address)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_listening_address_is_the_one_that_a_client_can_use() {
        let dir = std::env::temp_dir().join(format!("weir-config-file-{}", std::process::id()));
        fs::create_dir(&dir).expect("directory");
        assert!(listen_address(&dir).expect("no file").is_none());
        let read = |text: &str| {
            fs::write(Cluster::config_file(&dir), text).expect("write");
            listen_address(&dir)
        };
        let cases = [("0.0.0.0:4406", "127.0.0.1:4406"), ("[::]:1", "[::1]:1"), ("127.0.0.2:5", "127.0.0.2:5")];
        for (listen, connect) in cases {
            let found = read(&format!("[listen]\naddress = [\"{listen}\"]\n")).expect(listen);
            assert_eq!(found, Some(connect.parse().expect("address")));
        }
        assert!(read("[listen]\n").is_err());
        assert!(read("not toml").is_err());
        fs::remove_dir_all(dir).expect("clean up");
    }

    #[test]
    fn text_is_quoted_for_toml() {
        let value: toml::Table = format!("a = {}", quoted("q\"u'o\\te\n")).parse().expect("toml");
        assert_eq!(value["a"].as_str(), Some("q\"u'o\\te\n"));
    }
}
