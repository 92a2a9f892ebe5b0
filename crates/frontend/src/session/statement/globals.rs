//! SET GLOBAL on all servers: what new sessions begin with, and what servers allow, is the same on each, as on one server.
//!
//! What must always hold: the other servers are asked first, and a writer's refusal is the statement's, so that a success is true of all
//! writers; what identifies one server, or its part in its group, is set on the session's own shard only.

use std::collections::BTreeSet;

use weir_sql::Pins;
use weir_sql::ast::{Set, SetItem, SetItemKind, SetValue, SetVariable, StatementKind, VariableScope};
use weir_wire::Failure;

use super::super::Session;
use super::super::stopped::Stopped;
use super::Statement;
use crate::backends::{Backends, ServerId};

/// Variables that are one server's own.
const OWN: [&str; 8] = [
    "auto_increment_increment",
    "auto_increment_offset",
    "default_master_connection",
    "offline_mode",
    "read_only",
    "server_id",
    "server_uuid",
    "super_read_only",
];

/// The same, by how they begin: replication, and groups that replicate themselves.
const OWN_BEGINNINGS: [&str; 8] =
    ["group_replication", "gtid", "relay", "replica", "rpl", "slave", "sql_slave", "wsrep"];

impl Session {
    /// Has all servers but the session's run the part of a SET that is about servers: the writers of all shards, and replicas that take
    /// reads.
    ///
    /// # Errors
    /// A writer's refusal; a replica's is logged.
    pub(super) async fn set_globals_elsewhere(&mut self, statement: &Statement<'_>) -> Result<(), Stopped> {
        if self.chosen_shard.is_some() {
            return Ok(());
        }
        let own = self.target.place();
        let others: Vec<ServerId> = self.servers_to_set().into_iter().filter(|place| *place != own).collect();
        if others.is_empty() {
            return Ok(());
        }
        let Some(text) = self.text_for_others(statement).await? else { return Ok(()) };
        for place in others {
            self.set_globals_at(place, &text).await?;
        }
        Ok(())
    }

    fn servers_to_set(&self) -> Vec<ServerId> {
        let servers_of = |(shard, backends): (usize, &Backends)| {
            let (view, writer) = (backends.group.view(), backends.writer());
            let set = |index: &usize| *index == writer || backends.splits && view.takes_reads(*index);
            (0..view.members.len()).filter(set).map(|index| ServerId { shard, index }).collect::<Vec<_>>()
        };
        self.shared.shards.iter().enumerate().flat_map(servers_of).collect()
    }

    /// What the others run. None: nothing of the statement is for them.
    async fn text_for_others(&mut self, statement: &Statement<'_>) -> Result<Option<Vec<u8>>, Stopped> {
        let Some(StatementKind::Set(set)) = statement.only().map(|only| only.kind) else { return Ok(None) };
        let Some(text) = of_all_servers(set, statement.text) else { return Ok(None) };
        let text = match self.text_with_values(statement)? {
            None => text,
            Some(whole) => {
                let whole = statement.with(&whole, statement.form);
                let Some(StatementKind::Set(set)) = whole.only().map(|only| only.kind) else { return Ok(None) };
                of_all_servers(set, whole.text).unwrap_or(text)
            }
        };
        if self.state.pins.contains(Pins::COMPUTED_USER_VARIABLE) && text.contains(&b'@') {
            self.learn_user_variables(&text, BTreeSet::new()).await?;
        }
        Ok(Some(text))
    }

    async fn set_globals_at(&mut self, place: ServerId, text: &[u8]) -> Result<(), Stopped> {
        if place.index == self.shared.shards[place.shard].writer() {
            let mut leased = self.leases_outside(&[place.shard]).await?;
            let Some(part) = leased.parts.first_mut() else { return Ok(()) };
            self.ask_attended(&mut part.lease, text).await??;
        } else if let Err(failure) = self.set_globals_on_replica(place, text).await? {
            let server = &self.shared.at(place).pool.server;
            tracing::warn!(server = %server.settings.name, error = %failure.message, "SET GLOBAL failed on a replica");
        }
        self.shared.at(place).pool.server.retire_connections();
        Ok(())
    }

    async fn set_globals_on_replica(&mut self, place: ServerId, text: &[u8]) -> Result<Result<(), Failure>, Stopped> {
        let mut lease = match self.lend(place).await? {
            Ok(lease) => lease,
            Err(failure) => return Ok(Err(failure)),
        };
        let profile = self.state.profile.clone();
        match self.bring_into_profile(&mut lease, &profile).await {
            Err(Stopped::Refused(failure)) => return Ok(Err(failure)),
            brought => brought?,
        }
        Ok(self.ask_attended(&mut lease, text).await?.map(drop))
    }
}

/// The items of a SET that are about all servers, as a statement.
fn of_all_servers(set: &Set<'_>, text: &[u8]) -> Option<Vec<u8>> {
    let items: Vec<Vec<u8>> = set.items.iter().filter_map(|item| for_all_servers(item, text)).collect();
    (!items.is_empty()).then(|| [b"SET ".as_slice(), &items.join(b", ".as_slice())].concat())
}

fn for_all_servers(item: &SetItem<'_>, text: &[u8]) -> Option<Vec<u8>> {
    match item.kind {
        SetItemKind::Variable(set) => variable_of_all(set, text),
        SetItemKind::Transaction(set) => {
            set.scope.is_some_and(|scope| scope != VariableScope::Session).then(|| item.span.text(text).to_vec())
        }
        _ => None,
    }
}

fn variable_of_all(set: &SetVariable<'_>, text: &[u8]) -> Option<Vec<u8>> {
    let scope: &[u8] = match set.variable.scope? {
        VariableScope::Session => return None,
        VariableScope::Global => b"GLOBAL ",
        VariableScope::Persist => b"PERSIST ",
        VariableScope::PersistOnly => b"PERSIST_ONLY ",
    };
    if set.variable.base.is_none() && is_own(set.variable.name.name) {
        return None;
    }
    let value = match set.value {
        SetValue::Expr(value) => value.span,
        SetValue::Default(span) => span,
        SetValue::Word(word) => word.span,
    };
    let scope = if set.at_signs { b"" } else { scope };
    Some([scope, set.name.text(text), b" = ", value.text(text)].concat())
}

/// Whether a variable is one server's own. Names of files are: servers may share a machine.
fn is_own(name: &[u8]) -> bool {
    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
    OWN.contains(&name.as_str())
        || OWN_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || name.ends_with("_file")
}
