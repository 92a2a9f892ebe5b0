//! What Weir must know of the servers' collations before it can place a table: the defaults, and how those of shard keys compare.
//!
//! What must always hold: a collation's weights are learnt only when it has passed the check, on the server where they are asked for.

use std::collections::BTreeMap;

use weir_catalog::collation::{MOST_CHARS, check_query, learn_query, learnt, refusal};
use weir_catalog::define::{Unplaced, check_column};
use weir_catalog::{ShardId, Table, Weights, reading};
use weir_wire::Failure;
use weir_wire::error::not_supported;

use super::records::Records;

/// What is known.
#[derive(Debug, Clone, Default)]
pub(super) struct CollationFacts {
    /// Of collations' weights.
    pub weights: Weights,
    /// Collations that have not passed the check.
    pub inexact: Vec<String>,
    /// The database's default collation.
    pub collation: Option<String>,
    /// The default collation of each character set.
    pub collations: BTreeMap<String, String>,
}

impl CollationFacts {
    /// Of a database: asked of a shard that has it.
    ///
    /// # Errors
    /// When the shard can't be asked.
    pub(super) async fn of<R: Records>(records: &R, database: &str, shard: ShardId) -> Result<CollationFacts, Failure> {
        let schemata = format!(
            "SELECT default_collation_name FROM information_schema.schemata WHERE schema_name = {}",
            reading::literal(database)
        );
        let collation = first_text(&records.ask(shard, schemata).await?);
        let charsets = "SELECT character_set_name, default_collate_name FROM information_schema.character_sets";
        let rows = records.ask(shard, charsets.to_owned()).await?;
        let text = |cell: &Option<Vec<u8>>| cell.as_ref().map(|text| String::from_utf8_lossy(text).into_owned());
        let pair = |row: &Vec<Option<Vec<u8>>>| Some((text(row.first()?)?, text(row.get(1)?)?));
        let collations = rows.iter().filter_map(pair).collect();
        Ok(CollationFacts { weights: records.weights(), inexact: Vec::new(), collation, collations })
    }

    /// Checks a collation, and learns that it is exact.
    ///
    /// # Errors
    /// 1235 for one that is not exact.
    pub(super) async fn check<R: Records>(
        &mut self,
        records: &R,
        column: &str,
        collation: &str,
    ) -> Result<(), Failure> {
        let differing = match check_query(collation) {
            Some(query) => first_text(&records.ask(ShardId(0), query).await?),
            None => None,
        };
        if differing.as_deref() != Some("0") {
            self.inexact.push(collation.to_owned());
            return Err(refusal(column, collation));
        }
        self.learn(records, collation, &[]).await
    }

    /// Learns the weights of characters.
    ///
    /// # Errors
    /// When the server can't be asked, or tells none.
    pub(super) async fn learn<R: Records>(
        &mut self,
        records: &R,
        collation: &str,
        chars: &[char],
    ) -> Result<(), Failure> {
        let mut rest = chars;
        loop {
            let (some, more) = rest.split_at(rest.len().min(MOST_CHARS));
            let rows = records.ask(ShardId(0), learn_query(collation, some)).await?;
            let told = rows.first().and_then(|row| learnt(some, row));
            let told = told.ok_or_else(|| not_supported(format!("The server returns no weights for {collation}")))?;
            records.learnt(collation, &told);
            self.weights = self.weights.with(collation, told);
            rest = more;
            if rest.is_empty() {
                return Ok(());
            }
        }
    }
}

/// Checks the columns of a table's shard key as the servers have made them.
///
/// # Errors
/// 1235 when one can't be in a shard key; or when servers can't be asked.
pub(super) async fn check_key<R: Records>(records: &R, table: &Table) -> Result<(), Failure> {
    let Some(key) = table.shard_key() else { return Ok(()) };
    for column in key.columns.iter().filter_map(|at| table.columns.get(*at)) {
        match check_column(column, &records.weights()) {
            Ok(()) | Err(Unplaced::NeedsWeights(..)) => {}
            Err(Unplaced::Refused(failure)) => return Err(failure),
            Err(Unplaced::NeedsCheck { column, collation }) => {
                CollationFacts::default().check(records, &column, &collation).await?;
            }
        }
    }
    Ok(())
}

pub(super) fn first_text(rows: &[Vec<Option<Vec<u8>>>]) -> Option<String> {
    let cell = rows.first()?.first()?.as_ref()?;
    Some(String::from_utf8_lossy(cell).into_owned())
}
