//! The definitions of a move's tables, as texts.
//!
//! What must always hold: a new table has the definition of the old one, word for word, but for its name, and for the names of the tables
//! that it refers to: those that move with it are the new ones, the others are named with their database.

use weir_catalog::Object;
use weir_catalog::define::references;
use weir_shards::own::name;
use weir_sql::ast::Span;
use weir_sql::ast::{CreateTable, Statement, StatementKind};
use weir_sql::{Bump, Dialect, LexMode, splice};
use weir_wire::Failure;
use weir_wire::error::codes;

/// How a server's own texts are read on Weir's own connections.
pub fn mode(mariadb: bool) -> LexMode {
    let dialect = if mariadb { Dialect::MariaDb } else { Dialect::MySql };
    LexMode { dialect, ..LexMode::default() }
}

/// The CREATE TABLE of a new table in a schema, from what SHOW CREATE TABLE says of the old one. `moves`: whether a table moves with it.
///
/// # Errors
/// 1105 for a text that can't be read.
pub fn in_schema(
    create: &str,
    mode: LexMode,
    object: &Object,
    schema: &str,
    moves: impl Fn(&Object) -> bool,
) -> Result<String, Failure> {
    with_definition(create, mode, object, |definition| {
        let mut edits: Vec<(Span, String)> = vec![(
            definition.name.span,
            format!("{}.{}", name(schema), name(object.name.as_deref().unwrap_or_default())),
        )];
        let elements = definition.definition().map(|found| found.elements()).unwrap_or_default();
        for (_, reference) in references(elements) {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let database = reference.table.database.map_or_else(|| object.database.clone(), |found| text(found.name));
            let other = Object::within(database, text(reference.table.name.name));
            let database = if moves(&other) { schema } else { &other.database };
            let to = format!("{}.{}", name(database), name(other.name.as_deref().unwrap_or_default()));
            edits.push((reference.table.span, to));
        }
        edits.sort_by_key(|(span, _)| span.start);
        let edits: Vec<_> = edits.iter().map(|(span, text)| (span.range(), text.as_bytes())).collect();
        String::from_utf8_lossy(&splice(create.as_bytes(), &edits)).into_owned()
    })
}

/// Whether a table keeps the history of its rows. One that has the words elsewhere, in a comment, counts as well.
pub fn is_versioned(create: &str) -> bool {
    create.contains("WITH SYSTEM VERSIONING")
}

/// The definition with a clause of Weir's.
pub fn with_clause(create: &str, clause: &str) -> String {
    format!("{create} /*weir: {clause} */")
}

/// The next value of AUTO_INCREMENT, as SHOW CREATE TABLE has it among the options.
pub fn next_value(create: &str) -> Option<u64> {
    let options = create.rfind("\n)").map_or(create, |at| &create[at..]);
    let (_, rest) = options.split_once(" AUTO_INCREMENT=")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

fn with_definition<T>(
    create: &str,
    mode: LexMode,
    object: &Object,
    read: impl FnOnce(&CreateTable<'_>) -> T,
) -> Result<T, Failure> {
    let arena = Bump::new();
    let unread =
        || Failure::weir(codes::ER_UNKNOWN_ERROR, format!("The definition of '{object}' can't be read: {create}"));
    let parsed = weir_sql::parse(&arena, create.as_bytes(), mode).map_err(|_| unread())?;
    match parsed.statements {
        [Statement { kind: StatementKind::CreateTable(definition), .. }] => Ok(read(definition)),
        _ => Err(unread()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_moves_to_another_schema_with_its_references() {
        let create = "CREATE TABLE `lines` (\n  `id` int(11) NOT NULL AUTO_INCREMENT,\n  `order_id` int(11) DEFAULT NULL,\n  `p` int(11) \
                      DEFAULT NULL COMMENT 'CREATE TABLE `x`',\n  PRIMARY KEY (`id`),\n  CONSTRAINT `o` FOREIGN KEY (`order_id`) REFERENCES \
                      `orders` (`id`),\n  CONSTRAINT `p` FOREIGN KEY (`p`) REFERENCES `products` (`id`),\n  CONSTRAINT `q` FOREIGN KEY \
                      (`p`) REFERENCES `other`.`things` (`id`)\n) ENGINE=InnoDB AUTO_INCREMENT=17 DEFAULT CHARSET=utf8mb4";
        let object = Object::within("shop", "lines");
        let moved = in_schema(create, mode(true), &object, "weir_move_3", |other| {
            *other == object || *other == Object::within("shop", "orders")
        });
        let expected = create
            .replace("CREATE TABLE `lines`", "CREATE TABLE `weir_move_3`.`lines`")
            .replace("REFERENCES `orders`", "REFERENCES `weir_move_3`.`orders`")
            .replace("REFERENCES `products`", "REFERENCES `shop`.`products`");
        assert_eq!(moved, Ok(expected));
        assert_eq!(next_value(create), Some(17));
        assert_eq!(next_value("CREATE TABLE `t` (\n  `a` int COMMENT ' AUTO_INCREMENT=3'\n) ENGINE=InnoDB"), None);
    }
}
