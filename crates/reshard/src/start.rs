//! Setting an engine up: connections, checks, positions, and the tasks.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::watch;
use weir_backend::Server;
use weir_catalog::ShardId;

use crate::check;
use crate::checkpoint::{Checkpoint, SourceCheckpoint, table_name};
use crate::connector::Connector;
use crate::controls::Controls;
use crate::copy::Pace;
use crate::facts::{Facts, gtids_of, source_error};
use crate::follow::{Followed, Follower};
use crate::form::Form;
use crate::link::Link;
use crate::plan::{Plan, TablePlan};
use crate::position::Positions;
use crate::progress::Counters;
use crate::shared::{Shared, SharedTable};
use crate::source::{Source, SourceTable};
use crate::target::Targets;
use crate::{MoveError, Trouble};
use weir_wire::binlog::Watched;

/// What an engine runs.
pub(crate) struct Setup {
    pub(crate) shared: Arc<Shared>,
    pub(crate) parts: Vec<Part>,
    pub(crate) facts: BTreeMap<ShardId, Facts>,
    pub(crate) servers: BTreeMap<ShardId, Arc<Server>>,
}

/// What it runs for a source.
pub(crate) struct Part {
    pub(crate) source: Source,
    pub(crate) follower: Follower,
    pub(crate) groups: tokio::sync::mpsc::Sender<crate::follow::Group>,
}

/// A source whose server was asked.
struct Asked {
    link: Link,
    facts: Facts,
    checkpoint: SourceCheckpoint,
}

/// Sets everything up. Nothing runs yet.
///
/// # Errors
/// As [`crate::Engine::start`].
pub(crate) async fn set_up(
    plan: Plan,
    connector: Arc<dyn Connector>,
    checkpoint: Option<Checkpoint>,
    controls: Arc<Controls>,
) -> Result<Setup, MoveError> {
    if plan.tables.iter().any(|table| table.sources.is_empty() || table.targets.is_empty()) || plan.tables.is_empty() {
        return Err(MoveError::internal("a move without tables, sources or targets"));
    }
    let checkpoint = checkpoint.unwrap_or_default();
    let mut asked = BTreeMap::new();
    let mut servers = BTreeMap::new();
    for shard in plan.sources() {
        let mut link = Link::open(&*connector, shard).await.map_err(source_error(shard))?;
        let facts = Facts::ask(&mut link).await?;
        check::source(&mut link, &plan).await?;
        let known = checkpoint.sources.get(&shard).cloned();
        let checkpoint = match known {
            Some(known)
                if facts
                    .position(&mut link)
                    .await
                    .map_err(source_error(shard))?
                    .has(&known.position, facts.mariadb) =>
            {
                known
            }
            Some(_) => return Err(rewritten(&link)),
            None => {
                let position = facts.position(&mut link).await.map_err(source_error(shard))?;
                SourceCheckpoint { position, rows: 0, tables: BTreeMap::new() }
            }
        };
        servers.insert(shard, link.server().clone());
        asked.insert(shard, Asked { link, facts, checkpoint });
    }
    let mariadb = asked.values().any(|one| one.facts.mariadb);
    for shard in plan.targets() {
        let failed = |failure| MoveError::of_target(shard, failure);
        let mut link = Link::open(&*connector, shard).await.map_err(failed)?;
        if link.mariadb != mariadb || asked.values().any(|one| one.facts.mariadb != mariadb) {
            return Err(MoveError::refused("Rows can't be moved between MariaDB and MySQL: use shards of one kind"));
        }
        check::target(&mut link, &plan).await?;
        servers.insert(shard, link.server().clone());
    }
    let tables = plan.tables.iter().map(|table| {
        let form = Arc::new(Form::of(table, mariadb)?);
        Ok(SharedTable { form, writing: tokio::sync::RwLock::new(()) })
    });
    let tables: Vec<SharedTable> = tables.collect::<Result<_, MoveError>>()?;
    let sources = asked.iter().map(|(shard, one)| (*shard, one.checkpoint.clone())).collect();
    let applied: Positions = asked.iter().map(|(shard, one)| (*shard, one.checkpoint.position.clone())).collect();
    let shared = Arc::new(Shared {
        plan,
        tables,
        connector,
        controls,
        checkpoint: watch::Sender::new(Checkpoint { sources }),
        applied: watch::Sender::new(applied),
        copied: watch::Sender::new(asked.keys().map(|shard| (*shard, false)).collect()),
        stop: watch::Sender::new(false),
    });
    let facts = asked.iter().map(|(shard, one)| (*shard, one.facts.clone())).collect();
    let mut parts = Vec::new();
    for (shard, one) in asked {
        parts.push(part(&shared, shard, one).await?);
    }
    Ok(Setup { shared, parts, facts, servers })
}

/// The binary log ends before the place from which it is to be read.
fn rewritten(link: &Link) -> MoveError {
    let message = format!(
        "server '{}' does not have all that it had: its binary logs were reset, or it lacks transactions of the writer before it",
        link.server_name()
    );
    MoveError::new(Trouble::LogsPurged(link.shard), message)
}

/// The tasks of a source.
async fn part(shared: &Arc<Shared>, shard: ShardId, asked: Asked) -> Result<Part, MoveError> {
    let Asked { mut link, facts, checkpoint } = asked;
    let counters = Arc::new(Counters::default());
    let mut tables = Vec::new();
    let mut watched = Vec::new();
    let mut forms = Vec::new();
    let mut estimated = 0;
    for (nth, table) in shared.plan.tables.iter().enumerate() {
        let Some(site) = table.sources.iter().find(|site| site.shard == shard) else { continue };
        let copied = checkpoint.tables.get(&table_name(&site.schema, &table.name)).cloned().unwrap_or_default();
        let (rows, average) = check::estimate(&mut link, table, site).await?;
        estimated += rows;
        let index = check::index(&mut link, table, site).await?;
        watched.push(Watched { schema: site.schema.clone(), table: table.name.clone() });
        forms.push(shared.tables[nth].form.clone());
        tables.push(SourceTable { table: nth, site: site.clone(), index, average, copied });
    }
    counters.rows.store(checkpoint.rows, std::sync::atomic::Ordering::Relaxed);
    counters.estimated.store(estimated, std::sync::atomic::Ordering::Relaxed);
    let followed = Followed { shard, watched, forms, ignore_case: facts.ignore_case, checksums: facts.checksums };
    let stream = Link::open(&*shared.connector, shard).await.map_err(source_error(shard))?;
    let follower = Follower::begin(stream, &checkpoint.position, &facts.server, followed).await?;
    let (groups, received) = Follower::channel();
    let targets = Targets::open(&*shared.connector, &targets_of(shared, &tables)).await?;
    let gtids = gtids_of(facts.mariadb, &checkpoint.position.gtids);
    let source = Source {
        shard,
        shared: shared.clone(),
        facts,
        link,
        others: BTreeMap::new(),
        targets,
        groups: received,
        tables,
        pace: Pace::new(),
        counters,
        position: checkpoint.position,
        gtids,
        prepared: BTreeMap::new(),
        told: Instant::now(),
    };
    Ok(Part { source, follower, groups })
}

/// The shards that rows of these tables go to.
fn targets_of(shared: &Shared, tables: &[SourceTable]) -> Vec<ShardId> {
    let of = |table: &SourceTable| -> &TablePlan { &shared.plan.tables[table.table] };
    let all: std::collections::BTreeSet<ShardId> =
        tables.iter().flat_map(|table| &of(table).targets).map(|site| site.shard).collect();
    all.into_iter().collect()
}
