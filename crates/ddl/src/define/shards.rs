//! Which shards a definition is for.

use weir_catalog::{Catalog, Object, Placement, ShardId, Table};
use weir_sql::{Lexer, TokenKind};
use weir_wire::Failure;
use weir_wire::error::codes;

use super::asked::Asked;
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

/// What comments of Weir's say of a database: `/*weir: shards (s1, s2) default single */`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Wishes {
    /// Its shards.
    pub(crate) shards: Option<Vec<ShardId>>,
    /// Whether tables without a clause are SINGLE.
    pub(crate) single: Option<bool>,
}

/// The forms of a database's clause.
const FORMS: &str =
    "of a database it is /*weir: shards (s1, s2) */, /*weir: default single */ or /*weir: default sharded */";

/// What the comments of the text say of a database.
///
/// # Errors
/// 1105 for an unknown shard; 1064 for a clause that does not belong to a database.
pub(crate) fn wishes(asked: &Asked<'_>, catalog: &Catalog) -> Result<Wishes, Failure> {
    let (mut found, mut end) = (Wishes::default(), 0);
    let mut lexer = Lexer::new(asked.text, asked.mode);
    loop {
        let token = lexer.next_token();
        for clause in clauses(&asked.text[end..token.start as usize]) {
            wish(clause, catalog, &mut found)?;
        }
        if token.kind == TokenKind::End {
            return Ok(found);
        }
        end = token.end as usize;
    }
}

fn wish(clause: &str, catalog: &Catalog, found: &mut Wishes) -> Result<(), Failure> {
    let mut rest = clause.trim();
    while !rest.is_empty() {
        let list = after_word(rest, "shards").and_then(|rest| rest.trim_start().strip_prefix('('));
        if let Some((names, after)) = list.and_then(|list| list.split_once(')')) {
            let names = names.split(',').map(|name| name.trim().trim_matches(['\'', '`', '"']));
            found.shards = Some(names.map(|name| shard(catalog, name)).collect::<Result<_, _>>()?);
            rest = after;
        } else if let Some(default) = after_word(rest, "default").map(str::trim_start) {
            let single = after_word(default, "single");
            found.single = Some(single.is_some());
            rest = single.or_else(|| after_word(default, "sharded")).ok_or_else(|| unread(clause))?;
        } else {
            return Err(unread(clause));
        }
        rest = rest.trim_start_matches(|char: char| char.is_whitespace() || char == ',');
    }
    Ok(())
}

fn unread(clause: &str) -> Failure {
    let message = format!("Weir does not know the clause '{}': {FORMS}", clause.trim());
    Failure::client(codes::ER_PARSE_ERROR, message)
}

fn shard(catalog: &Catalog, name: &str) -> Result<ShardId, Failure> {
    catalog.shard(name).ok_or_else(|| {
        let message = format!("There is no shard '{name}': the shards are {}", catalog.shards.join(", "));
        Failure::client(codes::ER_UNKNOWN_ERROR, message)
    })
}

/// The clauses of Weir's in comments among blanks and comments.
fn clauses(gap: &[u8]) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = std::str::from_utf8(gap).unwrap_or_default();
    while let Some((_, body)) = rest.split_once("/*") {
        let Some((body, after)) = body.split_once("*/") else { break };
        found.extend(after_word(body.trim(), "weir:"));
        rest = after;
    }
    found
}

fn after_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    text.get(..word.len()).filter(|start| start.eq_ignore_ascii_case(word)).map(|_| &text[word.len()..])
}
