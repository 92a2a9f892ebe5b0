//! Names in messages of a workbench's server: those of the tables, not of what stands in for them.

use weir_plan::Fragment;
use weir_wire::Failure;

/// A failure of the workbench as one server would tell it.
pub(crate) fn of_tables(failure: Failure, fragments: &[Fragment]) -> Failure {
    match with_tables(&failure.message, fragments) {
        Some(message) => Failure { message, ..failure },
        None => failure,
    }
}

/// A message with the tables' names; `None`: it names no fragment.
pub fn with_tables(message: &str, fragments: &[Fragment]) -> Option<String> {
    if !fragments.iter().any(|fragment| message.contains(&fragment.name)) {
        return None;
    }
    let mut told = message.to_owned();
    // A later one's name may begin with an earlier one's.
    for fragment in fragments.iter().rev() {
        let (table, quoted) = (&fragment.table.table, |name: &str| format!("`{}`", name.replace('`', "``")));
        let (full, own) = (format!("{}.{}", quoted(&fragment.table.database), quoted(&fragment.name)), quoted(table));
        // Within the statement's text, where the client has written the table alone.
        told = told.replace(&format!("{full} AS {own}"), table);
        told = told.replace(&format!("{full} AS "), &format!("{table} AS "));
        told = told.replace(&fragment.name, table);
    }
    Some(told)
}

#[cfg(test)]
mod tests {
    use weir_plan::{CatalogTableName, Fragment, Read};

    use super::with_tables;

    fn fragment(name: &str, table: &str) -> Fragment {
        let read = Read::of_one(weir_catalog::ShardId(0), Vec::new(), Vec::new(), String::new());
        Fragment {
            name: name.to_owned(),
            table: CatalogTableName { database: "e".to_owned(), table: table.to_owned() },
            columns: Vec::new(),
            primary_key: Vec::new(),
            unique_keys: Vec::new(),
            keys: Vec::new(),
            read,
            narrowed: Vec::new(),
        }
    }

    #[test]
    fn messages_name_the_tables() {
        let numbers: Vec<Fragment> =
            (1..=11).map(|at| fragment(&format!("weir fragment {at}"), &format!("t{at}"))).collect();
        let cases = [
            ("near 'INTO @x FROM `e`.`weir fragment 1` AS `t1`) t'", Some("near 'INTO @x FROM t1) t'")),
            ("near 'FROM `e`.`weir fragment 11` AS x'", Some("near 'FROM t11 AS x'")),
            (
                "value: 'x' for column `e`.`weir fragment 2`.`s` at row 1",
                Some("value: 'x' for column `e`.`t2`.`s` at row 1"),
            ),
            ("Table 'e.weir fragment 10' is full", Some("Table 'e.t10' is full")),
            ("Unknown column 'x'", None),
        ];
        for (message, told) in cases {
            assert_eq!(with_tables(message, &numbers).as_deref(), told);
        }
    }
}
