//! Where rows belong by a catalog's placement.
//!
//! What must always hold: a row's place is that which the planner finds for its key ([`weir_catalog::locate_stored`]).

use std::sync::Arc;

use weir_catalog::{Constant, Database, Located, Placement, ShardId, Table, locate_stored, no_part};
use weir_shards::Sharding;
use weir_wire::Failure;
use weir_wire::error::codes;

use crate::plan::{Later, Placed, RowPlacement};

/// The placement of a table of a catalog.
pub struct CatalogPlacement {
    sharding: Arc<Sharding>,
    database: Arc<Database>,
    table: Arc<Table>,
    columns: Vec<usize>,
}

impl CatalogPlacement {
    /// Rows are placed as in this table (its placement is the one to come) of this database (whose slots are those to come).
    pub fn new(sharding: Arc<Sharding>, database: Arc<Database>, table: Arc<Table>) -> CatalogPlacement {
        let columns = table.shard_key().map(|key| key.columns.clone()).unwrap_or_default();
        CatalogPlacement { sharding, database, table, columns }
    }
}

impl RowPlacement for CatalogPlacement {
    fn columns(&self) -> &[usize] {
        &self.columns
    }

    fn place(&self, values: &[Option<&[u8]>]) -> Result<Placed, Failure> {
        match &self.table.placement {
            Placement::Global => return Ok(Placed::Everywhere),
            Placement::Single(shard) => return Ok(Placed::On(*shard)),
            Placement::Sharded(_) => {}
        }
        let key = self.columns.iter().zip(values).map(|(place, value)| constant(&self.table, *place, *value));
        let key: Vec<Constant> = key.collect::<Option<_>>().ok_or_else(unsure)?;
        match locate_stored(&self.database, &self.table, &key, &self.sharding.weights()) {
            Located::Shard(shard) => Ok(Placed::On(shard)),
            Located::Nowhere => Err(no_part("of a row that is moved")),
            Located::NeedsWeights(collation, chars) => Ok(Placed::NeedsWeights(collation, chars)),
            Located::Unsure => Err(unsure()),
        }
    }

    fn learn<'a>(&'a self, collation: &'a str, chars: &'a [char]) -> Later<'a, Result<(), Failure>> {
        Box::pin(self.sharding.learn(collation, chars))
    }
}

/// All rows belong to these shards, whatever their values: to one, or to every target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fixed {
    /// As a SINGLE table.
    On(ShardId),
    /// As a GLOBAL table.
    Everywhere,
}

impl RowPlacement for Fixed {
    fn columns(&self) -> &[usize] {
        &[]
    }

    fn place(&self, _: &[Option<&[u8]>]) -> Result<Placed, Failure> {
        Ok(match self {
            Fixed::On(shard) => Placed::On(*shard),
            Fixed::Everywhere => Placed::Everywhere,
        })
    }

    fn learn<'a>(&'a self, _: &'a str, _: &'a [char]) -> Later<'a, Result<(), Failure>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A value of a row as the catalog reads it.
fn constant(table: &Table, place: usize, value: Option<&[u8]>) -> Option<Constant> {
    let Some(bytes) = value else { return Some(Constant::Null) };
    let column = table.columns.get(place)?;
    let text = || std::str::from_utf8(bytes).ok();
    Some(match &*column.kind.base {
        "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "bit" | "year" => {
            Constant::Integer(text()?.parse().ok()?)
        }
        "decimal" => Constant::Decimal(text()?.to_owned()),
        "date" | "datetime" | "time" => Constant::Temporal(text()?.to_owned()),
        "char" | "varchar" => match column.kind.collation.as_deref() {
            Some(collation) if collation != "binary" => {
                Constant::Text { bytes: bytes.to_vec(), collation: collation.to_owned(), explicit: false }
            }
            _ => Constant::Binary(bytes.to_vec()),
        },
        "binary" | "varbinary" => Constant::Binary(bytes.to_vec()),
        _ => return None,
    })
}

fn unsure() -> Failure {
    Failure::client(
        codes::ER_NOT_SUPPORTED_YET,
        "Where a row belongs by the new placement can't be told from its value: choose another shard key",
    )
}
