//! What servers say of views.
//!
//! What must always hold: the query that is kept of a view has the columns that the view has. Servers write out each `*` when they make a view,
//! and columns that its tables get later are not the view's; nor does a view change with the `sql_mode` of who reads it.

use std::collections::BTreeMap;

use weir_catalog::{Object, ShardId};
use weir_shards::ask::Row;
use weir_shards::own::{Own, name, quoted, text};
use weir_sql::ast::{Statement, StatementKind};
use weir_sql::{Bump, LexMode, parse};
use weir_wire::{Failure, Fault};

/// What MySQL writes in the query of a view WITH ROLLUP for functions of its own, which no statement can have. In SHOW CREATE VIEW it does not.
const OF_ROLLUP: [&str; 2] = ["rollup_group_item(", "rollup_sum_switcher("];

/// Asks for the query of a view.
pub(crate) fn question(view: &Object) -> String {
    let of = view.name.as_deref().unwrap_or_default();
    format!(
        "SELECT VIEW_DEFINITION FROM information_schema.VIEWS WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}",
        quoted(&view.database),
        quoted(of)
    )
}

/// Asks for the names of a view's columns, which MySQL keeps beside the query.
pub(crate) fn columns_question(view: &Object) -> String {
    format!("SHOW CREATE VIEW {}.{}", name(&view.database), name(view.name.as_deref().unwrap_or_default()))
}

/// The query of a view as it is kept, from what a server says to both questions; `None`: it does not tell, or Weir can't read it.
pub(crate) fn query(view: &Object, definition: &[Row], create: &[Row]) -> Option<String> {
    let definition = text(definition.first().and_then(|row| row.first()));
    let create = text(create.first().and_then(|row| row.get(1)));
    let arena = Bump::new();
    if definition.is_empty() || parse(&arena, definition.as_bytes(), LexMode::default()).is_err() {
        return None;
    }
    let made = match parse(&arena, create.as_bytes(), LexMode::default()).ok()?.statements {
        [Statement { kind: StatementKind::CreateView(made), .. }] => made,
        _ => return None,
    };
    let definition = match OF_ROLLUP.iter().any(|word| definition.contains(word)) {
        true => create.get(made.query.span.range())?.to_owned(),
        false => definition,
    };
    let columns = made.columns;
    let columns = columns.iter().map(|column| std::str::from_utf8(column.name)).collect::<Result<Vec<&str>, _>>();
    Some(with_columns(view.name.as_deref().unwrap_or_default(), &columns.ok()?, definition))
}

/// A view's query with the names that its columns have in the view's definition: both kinds of servers know these of a common table
/// expression.
pub(crate) fn with_columns(view: &str, columns: &[&str], query: String) -> String {
    if columns.is_empty() {
        return query;
    }
    let columns: Vec<String> = columns.iter().map(|column| name(column)).collect();
    let view = name(view);
    format!("WITH {view} ({}) AS ({query}) SELECT * FROM {view}", columns.join(", "))
}

/// The names of a database's views on a shard.
///
/// # Errors
/// The server's.
pub async fn names(own: &Own, shard: ShardId, database: &str) -> Result<Vec<String>, Failure> {
    let sql = format!("SELECT TABLE_NAME FROM information_schema.VIEWS WHERE TABLE_SCHEMA = {}", quoted(database));
    let reply = own.run(shard, sql).await?;
    Ok(reply.rows.iter().map(|row| text(row.first())).collect())
}

/// The views of a database on a shard: name and query. The query of one that Weir can't read is the server's text of it.
///
/// # Errors
/// The server's.
pub async fn views(own: &Own, shard: ShardId, database: &str) -> Result<BTreeMap<String, String>, Failure> {
    let mut views = BTreeMap::new();
    for view in names(own, shard, database).await? {
        let object = Object::within(database, view.clone());
        let definition = own.run(shard, question(&object)).await?.rows;
        let create = told(own.run(shard, columns_question(&object)).await.map(|reply| reply.rows))?;
        let kept = query(&object, &definition, &create);
        views.insert(view, kept.unwrap_or_else(|| text(definition.first().and_then(|row| row.first()))));
    }
    Ok(views)
}

/// A view that is invalid can't be shown; a server that can't be asked is an error.
pub(crate) fn told(reply: Result<Vec<Row>, Failure>) -> Result<Vec<Row>, Failure> {
    match reply {
        Err(failure) if failure.fault == Fault::Server && !(2000..3000).contains(&failure.code) => Ok(Vec::new()),
        reply => reply,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(definition: &str, create: &str) -> Option<String> {
        let row = |cells: &[&str]| cells.iter().map(|cell| Some(cell.as_bytes().to_vec())).collect::<Row>();
        query(&Object::within("e", "v"), &[row(&[definition])], &[row(&["v", create])])
    }

    #[test]
    fn names_of_columns_are_taken_from_where_the_server_keeps_them() {
        let of_mysql = kept(
            "select `e`.`a`.`id` AS `id` from `e`.`a`",
            "CREATE ALGORITHM=UNDEFINED DEFINER=`root`@`%` SQL SECURITY DEFINER VIEW `v` (`x`) AS select `e`.`a`.`id` AS `id` from `e`.`a`",
        );
        assert_eq!(
            of_mysql.as_deref(),
            Some("WITH `v` (`x`) AS (select `e`.`a`.`id` AS `id` from `e`.`a`) SELECT * FROM `v`")
        );
        let plain = "select `e`.`a`.`id` AS `x` from `e`.`a`";
        let of_mariadb = kept(
            plain,
            &format!("CREATE ALGORITHM=UNDEFINED DEFINER=`root`@`%` SQL SECURITY DEFINER VIEW `v` AS {plain}"),
        );
        assert_eq!(of_mariadb.as_deref(), Some(plain));
    }

    #[test]
    fn rollup_is_kept_as_statements_have_it() {
        let query = "select `e`.`r`.`a` AS `a`,sum(`e`.`r`.`v`) AS `s` from `e`.`r` group by `e`.`r`.`a` with rollup";
        let of_mysql = kept(
            "select rollup_group_item(`e`.`r`.`a`,0) AS `a`,rollup_sum_switcher(sum(`e`.`r`.`v`)) AS `s` from `e`.`r` \
             group by `e`.`r`.`a` with rollup",
            &format!("CREATE ALGORITHM=UNDEFINED DEFINER=`root`@`%` SQL SECURITY DEFINER VIEW `e`.`v` AS {query}"),
        );
        assert_eq!(of_mysql.as_deref(), Some(query));
    }

    #[test]
    fn what_a_server_does_not_tell_is_not_known() {
        assert_eq!(kept("", "CREATE VIEW `v` AS select 1 AS `1`"), None);
        assert_eq!(kept("select 1 AS `1`", ""), None);
    }
}
