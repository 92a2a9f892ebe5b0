//! User variables: their values on one connection, as literals that make them on another.
//!
//! What must always hold: a variable that is set to its literal has the same value, type and collation as the one that was read; the reply
//! is read to its end, whatever is in it.

use weir_backend::profile::charset_of;
use weir_plan::Read;
use weir_wire::error::codes;
use weir_wire::{Failure, Fault};

use crate::read::{self, Collations, Kind};
use crate::{Request, ShardLease};

/// The longest literal that is sent to each connection again: of a string that is asked of a server, half a million bytes.
pub const MOST_LITERAL: usize = 1024 * 1024;

/// The longest values that are asked for at once.
const MOST_AT_ONCE: usize = 4 * 1024 * 1024;

/// The most bytes of all of a session's literals.
pub const MOST_LITERALS: usize = 8 * 1024 * 1024;

/// The values of variables; `None` is one that is too long to be sent on. `names`: in lower case, without backquotes.
///
/// # Errors
/// The server's, or its loss.
pub async fn values(
    part: &mut ShardLease,
    names: &[String],
    collations: &Collations,
) -> Result<Vec<Option<String>>, Failure> {
    if let Some(literals) = ask(part, names, MOST_AT_ONCE, collations).await? {
        return Ok(literals);
    }
    let mut literals = Vec::with_capacity(names.len());
    for name in names {
        let literal = ask(part, std::slice::from_ref(name), MOST_LITERAL / 2, collations).await?;
        literals.push(literal.and_then(|mut only| only.pop()?));
    }
    Ok(literals)
}

/// The values of variables, or `None` if they have more than `most` bytes together.
async fn ask(
    part: &mut ShardLease,
    names: &[String],
    most: usize,
    collations: &Collations,
) -> Result<Option<Vec<Option<String>>>, Failure> {
    let items: Vec<String> =
        names.iter().map(|name| format!("@`{name}`,COLLATION(@`{name}`),HEX(@`{name}`)")).collect();
    let lengths: Vec<String> = names.iter().map(|name| format!("COALESCE(LENGTH(@`{name}`),0)")).collect();
    let list = format!("SELECT {} FROM DUAL WHERE {}<={most}", items.join(","), lengths.join("+")).into_bytes();
    let question = Read::of_one(part.shard, list, Vec::new(), String::new());
    let mut rows = read::open(std::slice::from_mut(part), &question, &Request::Text, collations).await?;
    let mut found = None;
    while let Some(row) = rows.next_row().await? {
        let literals = found.get_or_insert_with(|| Vec::with_capacity(names.len()));
        for nth in 0..names.len() {
            let [value, collation, digits] = [0, 1, 2].map(|more| row.field(nth * 3 + more).and_then(text));
            let kind = row.columns().get(nth * 3).map(|column| column.kind);
            literals.push(literal(kind.unwrap_or(Kind::Bytes), value, collation, digits));
        }
    }
    Ok(found)
}

fn text(field: &[u8]) -> Option<&str> {
    // A string's own bytes may be no text: then only its digits count.
    Some(std::str::from_utf8(field).unwrap_or_default())
}

fn literal(kind: Kind, value: Option<&str>, collation: Option<&str>, digits: Option<&str>) -> Option<String> {
    let Some(value) = value else { return Some("NULL".to_owned()) };
    // What is longer than the server's own limit of a function's result has no digits.
    let digits = digits?;
    match kind {
        Kind::Integer { unsigned: true, .. } => Some(format!("CAST({value} AS UNSIGNED)")),
        Kind::Integer { .. } => Some(value.to_owned()),
        // What has no point or exponent would be an integer.
        Kind::Decimal if !value.contains('.') => Some(format!("{value}.")),
        Kind::Decimal => Some(value.to_owned()),
        Kind::Double | Kind::Float if value.contains(['e', 'E']) => Some(value.to_owned()),
        Kind::Double | Kind::Float => Some(format!("{value}e0")),
        _ if digits.len() > MOST_LITERAL => None,
        _ => match collation {
            Some("binary") | None => Some(format!("_binary x'{digits}'")),
            Some(collation) => Some(format!("_{} x'{digits}' COLLATE {collation}", charset_of(collation))),
        },
    }
}

/// A statement needs the value of a variable elsewhere than where it is.
pub fn too_long(name: &str) -> Failure {
    let message = format!(
        "The value of @{name} is on one connection and too long to be sent to others: pass it as a parameter of a prepared statement"
    );
    Failure::new(Fault::Client, codes::ER_NOT_SUPPORTED_YET, b"42000", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_literals_of_their_types() {
        let integer = |unsigned| Kind::Integer { width: 8, unsigned };
        let cases = [
            (integer(false), "-3", "binary", "FF", "-3"),
            (integer(true), "3", "binary", "3", "CAST(3 AS UNSIGNED)"),
            (Kind::Decimal, "1.50", "binary", "2", "1.50"),
            (Kind::Decimal, "12", "binary", "C", "12."),
            (Kind::Double, "0.1", "binary", "0", "0.1e0"),
            (Kind::Double, "1e100", "binary", "0", "1e100"),
            (Kind::Bytes, "ab", "utf8mb4_bin", "6162", "_utf8mb4 x'6162' COLLATE utf8mb4_bin"),
            (Kind::Bytes, "", "latin1_swedish_ci", "", "_latin1 x'' COLLATE latin1_swedish_ci"),
            (Kind::Bytes, "", "binary", "00FF", "_binary x'00FF'"),
        ];
        for (kind, value, collation, digits, wanted) in cases {
            assert_eq!(literal(kind, Some(value), Some(collation), Some(digits)).as_deref(), Some(wanted));
        }
        assert_eq!(literal(Kind::Bytes, None, Some("utf8mb4_bin"), None).as_deref(), Some("NULL"));
        assert_eq!(literal(Kind::Bytes, Some(""), Some("binary"), Some(&"0".repeat(MOST_LITERAL + 2))), None);
    }
}
