//! Members that groups with `discover = true` know of themselves: at the start they are taken in, later they are told.
//!
//! What must always hold: a group's servers are the same from the start of a process to its end, since all that is kept of them goes by their places;
//! what is found later waits for the next process.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::runtime::Runtime;
use weir_backend::monitor::MonitorSettings;
use weir_backend::{Address, ConnectSettings, Server, ServerSettings};
use weir_topology::Group;
use weir_topology::discover::{Findings, survey};

use super::{ServeError, backend_tls, monitor_settings};
use crate::config::CheckedConfig;
use crate::config::checked::{self, Promotion, Role};

/// Between two looks.
const INTERVAL: Duration = Duration::from_secs(5);

/// The configuration with the members that its groups tell of.
pub(super) fn with_members(config: &CheckedConfig, control: &Runtime) -> Result<CheckedConfig, ServeError> {
    let mut config = config.clone();
    if !config.groups.iter().any(|group| group.discover) {
        return Ok(config);
    }
    let (account, reach) = (monitor_settings(&config), reach(&config)?);
    let mut taken: Vec<String> =
        config.groups.iter().flat_map(|group| &group.servers).map(|server| server.address.to_string()).collect();
    for group in config.groups.iter_mut().filter(|group| group.discover) {
        let named = group.servers.iter().map(|server| Arc::new(server_at(server.address.clone(), &reach)));
        let named: Vec<_> = named.collect();
        let findings = control.block_on(survey(&named, &account, |address| server_at(address, &reach)));
        tell((&group.name, &named), &Findings::default(), &findings, "is used");
        // Two groups of the configuration may name parts of one.
        let found = findings.found.into_iter().filter(|address| !taken.contains(&address.to_string()));
        let found: Vec<checked::Server> = found.map(server_of).collect();
        taken.extend(found.iter().map(|server| server.name.clone()));
        group.servers.extend(found);
    }
    Ok(config)
}

/// Looks now and then whether the groups know others than those that are used.
pub(super) fn watch(
    control: &Runtime,
    config: &CheckedConfig,
    groups: &[Arc<Group>],
    account: &Arc<ArcSwap<MonitorSettings>>,
) {
    for (group, _) in groups.iter().zip(&config.groups).filter(|(_, checked)| checked.discover) {
        let (group, account) = (group.clone(), account.clone());
        control.spawn(async move {
            let mut known = Findings::default();
            loop {
                let reach = group.writer().reach();
                let findings = survey(&group.servers, &account.load_full(), |address| server_at(address, &reach)).await;
                tell((&group.settings().name, &group.servers), &known, &findings, LATER);
                group.note_findings(with_later(findings.clone()));
                known = findings;
                tokio::time::sleep(INTERVAL).await;
            }
        });
    }
}

const LATER: &str = "has joined since this process began: it is used from the next start or takeover on";

/// What was found later is not used yet.
fn with_later(mut findings: Findings) -> Findings {
    let later = findings.found.drain(..).map(|address| (address.to_string(), LATER.to_owned()));
    findings.unused.extend(later);
    findings
}

/// Tells the log what was not known before.
fn tell((group, servers): (&str, &[Arc<Server>]), before: &Findings, now: &Findings, found: &str) {
    for address in now.found.iter().filter(|address| !before.found.contains(address)) {
        tracing::info!(group, %address, "a member that the group tells of {found}");
    }
    for (address, why) in now.unused.iter().filter(|unused| !before.unused.contains(unused)) {
        tracing::warn!(group, address, why, "a server that the group tells of is not used");
    }
    for (index, (server, notice)) in servers.iter().zip(&now.notices).enumerate() {
        if let Some(notice) = notice.as_ref().filter(|_| before.notices.get(index) != Some(notice)) {
            tracing::warn!(
                group,
                server = server.settings.name,
                notice,
                "what its group says of a server of the configuration"
            );
        }
    }
}

fn reach(config: &CheckedConfig) -> Result<ConnectSettings, ServeError> {
    Ok(ConnectSettings { tls: backend_tls::policy(&config.server_tls)?, connect_timeout: config.pool.connect_timeout })
}

/// A server without connections of its own, to be asked.
fn server_at(address: Address, reach: &ConnectSettings) -> Server {
    let settings = ServerSettings {
        name: address.to_string(),
        address,
        max_connections: 1,
        max_user_connections: 0,
        track_gtids: false,
    };
    Server::new(settings, reach.clone(), 1)
}

fn server_of(address: Address) -> checked::Server {
    checked::Server {
        name: address.to_string(),
        address,
        role: Role::Replica,
        weight: None,
        promotion: Promotion::default(),
    }
}
