//! User variables: their values on one connection, as literals that make them on another.
//!
//! What must always hold: a variable that is set to its literal has the same value, type and collation as the one that was read; the reply
//! is read to its end, whatever is in it.

use weir_plan::Read;
use weir_wire::Failure;
use weir_wire::error::codes;

use crate::read::{self, Collations, ColumnKind};
use crate::values::{MOST_AT_ONCE, MOST_LITERAL, of_variable};
use crate::{Request, ShardLease};

/// So many variables are asked for at once: servers descend into the sum of their lengths, and their stacks have room for some hundreds.
const NAMES_AT_ONCE: usize = 100;

/// The values of variables; `None` is one that is too long to be sent on, or has no literal. `names`: in lower case, without backquotes.
///
/// # Errors
/// The server's, or its loss.
pub async fn values(
    part: &mut ShardLease,
    names: &[String],
    collations: &Collations,
) -> Result<Vec<Option<String>>, Failure> {
    let mut literals = Vec::with_capacity(names.len());
    for names in names.chunks(NAMES_AT_ONCE) {
        if let Some(together) = ask(part, names, MOST_AT_ONCE, collations).await? {
            literals.extend(together);
            continue;
        }
        for name in names {
            let literal = ask(part, std::slice::from_ref(name), MOST_LITERAL / 2, collations).await?;
            literals.push(literal.and_then(|mut only| only.pop()?));
        }
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
    let list = format!("SELECT {} FROM DUAL WHERE {}<={most} LIMIT 1", items.join(","), lengths.join("+")).into_bytes();
    let question = Read::of_one(part.shard, list, Vec::new(), String::new());
    let mut rows = read::open(std::slice::from_mut(part), &question, &Request::Text, collations).await?;
    let mut found = None;
    while let Some(row) = rows.next_row().await? {
        let literals = found.get_or_insert_with(|| Vec::with_capacity(names.len()));
        for nth in 0..names.len() {
            let [value, collation, digits] = [0, 1, 2].map(|more| row.field(nth * 3 + more).and_then(text));
            let kind = row.columns().get(nth * 3).map(|column| column.kind);
            literals.push(of_variable(kind.unwrap_or(ColumnKind::Bytes), value, collation, digits));
        }
    }
    Ok(found)
}

fn text(field: &[u8]) -> Option<&str> {
    // A string's own bytes may be no text: then only its digits count.
    Some(std::str::from_utf8(field).unwrap_or_default())
}

/// A statement needs the value of a variable elsewhere than where it is.
pub fn stays(name: &str) -> Failure {
    let message = format!(
        "The value of @{name} is on one connection, and too long to be sent to others, or no text of its character set: pass it as a parameter of a prepared statement, or make it binary (SET @{name} = _binary '...')"
    );
    Failure::client(codes::ER_NOT_SUPPORTED_YET, message)
}
