//! The locks that queries of Weir's own take on what a write reads, as one server does.

use std::ops::Range;

use weir_sql::ast::{TableRef, TableRefKind};

/// The lock clause of a query that reads these tables.
///
/// MySQL refuses a lock clause that is about a JSON_TABLE (3569), and about a derived table by its name: then it names the other tables.
pub(super) fn lock_clause(
    tables: &[TableRef<'_>],
    for_update: bool,
    mariadb: bool,
    cut: &dyn Fn(Range<usize>) -> Vec<u8>,
) -> Vec<u8> {
    let mut found = Found::default();
    found.gather(tables, cut);
    let clause: &[u8] = match (for_update, found.json_table && !mariadb) {
        (true, false) => return b" FOR UPDATE".to_vec(),
        (false, false) => return b" LOCK IN SHARE MODE".to_vec(),
        (_, true) if found.names.is_empty() => return Vec::new(),
        (true, true) => b" FOR UPDATE OF ",
        (false, true) => b" FOR SHARE OF ",
    };
    [clause, &found.names.join(&b","[..])].concat()
}

/// What stands in FROM.
#[derive(Default)]
struct Found {
    names: Vec<Vec<u8>>,
    json_table: bool,
}

impl Found {
    fn gather(&mut self, tables: &[TableRef<'_>], cut: &dyn Fn(Range<usize>) -> Vec<u8>) {
        for table in tables {
            match table.kind {
                TableRefKind::Table(named) => {
                    let span = named.alias.map_or(named.name.span, |alias| alias.span);
                    self.names.push(cut(span.range()));
                }
                TableRefKind::JsonTable(_) => self.json_table = true,
                TableRefKind::Join(join) => self.gather(&[join.left, join.right], cut),
                TableRefKind::Nested(tables) => self.gather(tables, cut),
                TableRefKind::Odbc(table) => self.gather(std::slice::from_ref(table), cut),
                TableRefKind::Derived(_) => {}
            }
        }
    }
}
