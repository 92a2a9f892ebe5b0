//! The ways to the shards of a definition that is resumed: a session's connections, or Weir's own.
//!
//! What must always hold: what is resumed with Weir's own account does not become its property: who runs it must not matter.

use std::collections::BTreeMap;

use weir_catalog::{Definition, Object, ShardId};
use weir_exec::ShardLease;
use weir_shards::ask::{Reply, ServerAnswer, ask};
use weir_shards::own::{Own, name, quoted};
use weir_wire::Failure;
use weir_wire::error::{codes, not_supported};

use super::names;

/// A way to shards.
pub trait Reach {
    /// Asks a shard's writer.
    fn ask(&mut self, shard: ShardId, text: &str) -> impl Future<Output = ServerAnswer>;
}

impl Reach for [ShardLease] {
    async fn ask(&mut self, shard: ShardId, text: &str) -> ServerAnswer {
        match part_of(self, shard) {
            Some(part) => ask(&mut part.lease, text.as_bytes()).await,
            None => ServerAnswer::Lost(Failure::weir(codes::ER_UNKNOWN_ERROR, "there is no connection to the shard")),
        }
    }
}

/// Weir's own connections, with the settings that a definition was given under.
#[derive(Debug)]
pub struct WithOwnAccount {
    own: Own,
    database: Option<String>,
    settings: BTreeMap<String, String>,
}

impl WithOwnAccount {
    /// For a definition.
    ///
    /// # Errors
    /// 1235 for one that gets the rights of who runs it.
    pub fn new(own: &Own, definition: &Definition) -> Result<WithOwnAccount, Failure> {
        if definition.statement.definer {
            return Err(not_supported(format!(
                "Definition {0} gives an object the rights of its definer, which must not be Weir's own account: undo it where it ran, \
                 WEIR CANCEL DDL {0}, and give the statement again",
                definition.id
            )));
        }
        let Definition { statement, .. } = definition;
        Ok(WithOwnAccount {
            own: own.clone(),
            database: statement.database.clone(),
            settings: statement.settings.clone(),
        })
    }

    /// For taking a definition back, which gives nobody any rights: views and programs are dropped, or get the definer that they had.
    pub fn to_undo(own: &Own, definition: Option<&Definition>) -> WithOwnAccount {
        let settings = definition.map(|definition| definition.statement.settings.clone()).unwrap_or_default();
        let database = definition.and_then(|definition| definition.database_to_undo()).map(str::to_owned);
        WithOwnAccount { own: own.clone(), database, settings }
    }

    /// The statements around one: its settings before, those of Weir's own connections after.
    fn around(&self, text: &str) -> Vec<String> {
        let mut all: Vec<String> = self.database.iter().map(|database| format!("USE {}", name(database))).collect();
        let set: Vec<String> =
            self.settings.iter().map(|(variable, value)| format!("SESSION {variable} = {}", quoted(value))).collect();
        if !set.is_empty() {
            all.push(format!("SET {}", set.join(", ")));
        }
        all.push(text.to_owned());
        all.push("SET NAMES utf8mb4, SESSION sql_mode = 'STRICT_ALL_TABLES'".to_owned());
        all
    }
}

impl Reach for WithOwnAccount {
    async fn ask(&mut self, shard: ShardId, text: &str) -> ServerAnswer {
        match self.own.run_long(shard, self.around(text)).await {
            Ok(replies) => {
                // The last one is that of the settings.
                let rows = replies.into_iter().rev().nth(1).map(|reply| reply.rows).unwrap_or_default();
                ServerAnswer::Reply(Reply { rows, ..Reply::default() })
            }
            Err(failure) if [codes::CR_SERVER_LOST, codes::CR_CONN_HOST_ERROR].contains(&failure.code) => {
                ServerAnswer::Lost(failure)
            }
            Err(failure) => ServerAnswer::Refused(failure),
        }
    }
}

pub(super) fn part_of(parts: &mut [ShardLease], shard: ShardId) -> Option<&mut ShardLease> {
    parts.iter_mut().find(|part| part.shard == shard)
}

pub(super) async fn exists(object: &Object, shard: ShardId, shards: &mut (impl Reach + ?Sized)) -> Option<bool> {
    let text = format!("SHOW CREATE TABLE {}", names::quoted(object));
    match shards.ask(shard, &text).await {
        ServerAnswer::Reply(_) => Some(true),
        ServerAnswer::Refused(failure) if failure.code == codes::ER_NO_SUCH_TABLE => Some(false),
        _ => None,
    }
}
