//! Where a table that is there would be by another clause.
//!
//! What must always hold: the rules are those of CREATE TABLE: its definition is read as if it were new.

use weir_catalog::define::{Setting, Unplaced, declare};
use weir_catalog::{Catalog, Object, Placed};
use weir_sql::ast::StatementKind;
use weir_sql::{Bump, LexMode};
use weir_wire::Failure;
use weir_wire::error::not_supported;

use super::collations::CollationFacts;
use super::records::Records;
use super::run::learn;
use super::shards;

/// How often something is learnt for one table.
const MOST_LESSONS: usize = 64;

/// The placement of a table by its definition, a CREATE TABLE with a clause of Weir's, as servers write it. `catalog`: what else there is.
///
/// # Errors
/// 1235 with the reason and the way out, when it can't be placed so; 1064 for a clause that can't be read.
pub async fn placed<R: Records>(
    records: &R,
    catalog: &Catalog,
    object: &Object,
    text: &str,
    mode: LexMode,
) -> Result<Placed, Failure> {
    let of_database = shards::of_database(catalog, &object.database);
    let first = of_database.first().copied().ok_or_else(|| not_supported("The database has no shard"))?;
    let mut known = CollationFacts::of(records, &object.database, first).await?;
    for _ in 0..MOST_LESSONS {
        let unplaced = match declared(catalog, object, text, mode, &known)? {
            Ok(placed) => return Ok(placed),
            Err(unplaced) => unplaced,
        };
        learn(&mut known, unplaced, records).await?;
    }
    Err(not_supported("The shard key's values have too many characters whose weights are not known"))
}

fn declared(
    catalog: &Catalog,
    object: &Object,
    text: &str,
    mode: LexMode,
    known: &CollationFacts,
) -> Result<Result<Placed, Unplaced>, Failure> {
    let arena = Bump::new();
    let unread = |why: String| {
        Failure::client(
            weir_wire::error::codes::ER_PARSE_ERROR,
            format!("The definition of '{object}' can't be read: {why}"),
        )
    };
    let parsed = weir_sql::parse(&arena, text.as_bytes(), mode).map_err(|error| unread(error.to_string()))?;
    let [statement] = parsed.statements else { return Err(unread("it is not one statement".to_owned())) };
    let StatementKind::CreateTable(create) = statement.kind else {
        return Err(unread("it is no CREATE TABLE".to_owned()));
    };
    let collation_of = |charset: &str| known.collations.get(&charset.to_ascii_lowercase()).cloned();
    let setting = Setting {
        catalog,
        database: &object.database,
        collation: known.collation.as_deref(),
        collation_of: &collation_of,
        weights: &known.weights,
        inexact: &known.inexact,
        text: text.as_bytes(),
        mode,
    };
    Ok(declare(&setting, create))
}
