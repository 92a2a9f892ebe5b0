//! Columns of a text that shards get: the hidden ones, and which items mean the same.

use weir_sql::ast::{Query, QueryBody, Select};

use super::Obstacle;
use super::projection::{Ordered, Projection};
use crate::text::{Edits, Pieces};

pub(super) fn unknown_columns() -> Obstacle {
    Obstacle::Rows("the columns of * are not known".to_owned())
}

/// Adds the hidden columns to the text.
pub(super) fn extend<'a>(
    shown: &Projection<'_, '_, 'a>,
    query: &Query<'a>,
    select: Option<&Select<'a>>,
    edits: &mut Edits,
) -> Result<(), Obstacle> {
    if select.is_none() && shown.hidden() > 0 {
        let QueryBody::Table(table) = query.body else { return Err(unknown_columns()) };
        edits.replace(table.span.range(), shown.as_select(Pieces::own(table.name.span.range())));
        return Ok(());
    }
    shown.extend(select, edits);
    Ok(())
}

/// Whether two items mean the same.
pub(super) fn same_meaning<'a>(shown: &Projection<'_, '_, 'a>, one: &Ordered<'a>, other: &Ordered<'a>) -> bool {
    match (one, other) {
        (Ordered::Column(one), Ordered::Column(other)) => one == other,
        (Ordered::Expression(_, _, Some(one), _), Ordered::Expression(_, _, Some(other), _)) => one == other,
        (Ordered::Expression(_, _, _, one), Ordered::Expression(_, _, _, other)) => shown.same(one, other),
        _ => false,
    }
}
