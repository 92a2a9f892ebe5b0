//! Which shards a definition is for.

use weir_catalog::{Catalog, Object, Placement, ShardId, Table};
use weir_sql::{Lexer, TokenKind};
use weir_wire::{Failure, Fault};

use super::intent::Asked;
/// All shards of the cluster.
pub(crate) fn all(catalog: &Catalog) -> Vec<ShardId> {
    catalog.all_shards().collect()
}

/// The shards of a sharded database.
pub(crate) fn of_database(catalog: &Catalog, name: &str) -> Vec<ShardId> {
    catalog.database(name.as_bytes()).map(|(_, database)| database.shards.clone()).unwrap_or_default()
}

/// The shards that have a table of this placement, in a database of these shards.
pub(crate) fn of_placement(database: &[ShardId], placement: &Placement) -> Vec<ShardId> {
    match placement {
        Placement::Single(shard) => vec![*shard],
        Placement::Global | Placement::Sharded(_) => database.to_vec(),
    }
}

/// The shards of a table or a view, or of all the database for what is known as neither.
pub(crate) fn of_object(catalog: &Catalog, object: &Object) -> Vec<ShardId> {
    home(catalog, object).unwrap_or_else(|| of_database(catalog, &object.database))
}

/// The shards of a table or a view; `None` for what is known as neither.
pub(crate) fn home(catalog: &Catalog, object: &Object) -> Option<Vec<ShardId>> {
    if let Some(table) = table(catalog, object) {
        return Some(of_placement(&of_database(catalog, &object.database), &table.placement));
    }
    let database = || of_database(catalog, &object.database);
    // Tables that were made anew may have left a view no shard that has all of them: it is somewhere all the same.
    is_view(catalog, object).then(|| view(catalog, object).unwrap_or_else(database))
}

fn is_view(catalog: &Catalog, object: &Object) -> bool {
    let views = catalog.database(object.database.as_bytes()).map(|(_, database)| &database.views);
    views.zip(object.name.as_ref()).is_some_and(|(views, name)| views.contains_key(name))
}

/// The shards of a view; `None` for what is known as none.
pub(crate) fn view(catalog: &Catalog, object: &Object) -> Option<Vec<ShardId>> {
    let shards = weir_plan::views::shards(catalog, &object.database, object.name.as_deref()?);
    Some(shards).filter(|shards| !shards.is_empty())
}

/// What is known of a table.
pub(crate) fn table<'a>(catalog: &'a Catalog, object: &Object) -> Option<&'a Table> {
    let name = object.name.as_ref()?;
    catalog.table(object.database.as_bytes(), name.as_bytes()).map(|(_, table)| &**table)
}

/// The shards that a comment of the text names: `/*weir: shards (s1, s2) */`.
///
/// # Errors
/// 1105 for a shard that there is not.
pub(crate) fn named_in_comment(asked: &Asked<'_>, catalog: &Catalog) -> Result<Option<Vec<ShardId>>, Failure> {
    let mut end = 0;
    let mut lexer = Lexer::new(asked.text, asked.mode);
    loop {
        let token = lexer.next_token();
        let gap = &asked.text[end..token.start as usize];
        if let Some(names) = names_of_shards(gap) {
            return names.iter().map(|name| shard(catalog, name)).collect::<Result<Vec<_>, _>>().map(Some);
        }
        if token.kind == TokenKind::End {
            return Ok(None);
        }
        end = token.end as usize;
    }
}

fn shard(catalog: &Catalog, name: &str) -> Result<ShardId, Failure> {
    catalog.shard(name).ok_or_else(|| {
        let message = format!("There is no shard '{name}': the shards are {}", catalog.shards.join(", "));
        Failure::new(Fault::Client, 1105, b"HY000", message)
    })
}

/// The names in `/*weir: shards (…) */` among blanks and comments.
fn names_of_shards(gap: &[u8]) -> Option<Vec<String>> {
    let gap = std::str::from_utf8(gap).ok()?;
    let mut rest = gap;
    while let Some(start) = rest.find("/*") {
        let body = &rest[start + 2..];
        let length = body.find("*/")?;
        if let Some(names) = names_of_comment(&body[..length]) {
            return Some(names);
        }
        rest = &body[length + 2..];
    }
    None
}

fn names_of_comment(body: &str) -> Option<Vec<String>> {
    let body = after_word(body.trim(), "weir:")?;
    let list = after_word(body.trim(), "shards")?.trim().strip_prefix('(')?.strip_suffix(')')?;
    Some(list.split(',').map(|name| name.trim().trim_matches(['\'', '`', '"']).to_owned()).collect())
}

fn after_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    text.get(..word.len()).filter(|start| start.eq_ignore_ascii_case(word)).map(|_| &text[word.len()..])
}
