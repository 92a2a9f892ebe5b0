//! What is to be done for a definition: which shards, which text, what the catalog becomes.

use weir_catalog::{Catalog, Change, DefinitionKind, Object, Progress, Sent, ShardId, Undo};
use weir_sql::ast::{ObjectName, StatementKind};
use weir_wire::Failure;
use weir_wire::error::not_supported;

use super::asked::Asked;
use super::names::{self, object};
use super::shards;

/// How much of a text is shown.
const SHOWN: usize = 200;

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub struct Intent {
    /// What kind of thing it is.
    pub kind: DefinitionKind,
    /// What it is about.
    pub objects: Vec<Object>,
    /// The shards, in the order in which they are asked: the first one alone.
    pub shards: Vec<ShardId>,
    /// What they are sent.
    pub text: Vec<u8>,
    /// What these of them are sent instead.
    pub own: Vec<(ShardId, Vec<u8>)>,
    /// The text holds a password.
    pub secret: bool,
    /// It makes something only if it is not there (IF NOT EXISTS): a first shard whose warnings say that has it, and it ends there.
    pub if_not_exists: bool,
    /// What the catalog becomes.
    pub changes: Vec<Change>,
    /// Those of the shards that have not the object whose rights are revoked. A table leaves the rights to it where it was, and they would be
    /// valid again with a table of its name.
    pub left_over: Vec<ShardId>,
    /// How it is taken back.
    pub undo: Undo,
    /// Tables that were sharded only by default, and have to become SINGLE before it.
    pub singles: Vec<Object>,
    /// Why they have to.
    pub because: Option<Failure>,
    /// What is to be said of it beside what servers say: a note.
    pub note: Option<String>,
}

impl Intent {
    /// An intent that sends the client's own text.
    pub(super) fn new(asked: &Asked<'_>, kind: DefinitionKind, objects: Vec<Object>, shards: Vec<ShardId>) -> Intent {
        Intent {
            kind,
            objects,
            shards,
            text: asked.text.to_vec(),
            own: Vec::new(),
            secret: false,
            if_not_exists: false,
            changes: Vec::new(),
            left_over: Vec::new(),
            undo: Undo::Impossible,
            singles: Vec::new(),
            because: None,
            note: None,
        }
    }

    pub(super) fn with(mut self, changes: Vec<Change>) -> Intent {
        self.changes = changes;
        self
    }

    /// The shards that have to be reached for it.
    pub fn reached(&self, catalog: &Catalog) -> Vec<ShardId> {
        let databases = self.singles.iter().map(|object| &object.database);
        let mut all: Vec<ShardId> = databases.flat_map(|name| shards::of_database(catalog, name)).collect();
        all.extend(&self.shards);
        all.sort_unstable();
        all.dedup();
        all
    }

    /// What a shard is sent.
    pub(super) fn text_for(&self, shard: ShardId) -> &[u8] {
        self.own.iter().find(|(of, _)| *of == shard).map_or(&self.text, |(_, text)| text)
    }

    /// The record of it, with all shards pending.
    ///
    /// # Errors
    /// 1235 for a text that is not UTF-8.
    pub fn record(&self, asked: &Asked<'_>) -> Result<weir_catalog::Definition, Failure> {
        let unreadable =
            || not_supported("Definitions in sharded databases must be UTF-8: run SET NAMES utf8mb4 first");
        let charset = asked.settings.get("character_set_client");
        if !self.text.is_ascii() && charset.is_some_and(|charset| !charset.to_ascii_lowercase().starts_with("utf8")) {
            return Err(unreadable());
        }
        let readable = |text: &[u8]| String::from_utf8(text.to_vec()).map_err(|_| unreadable());
        let text = readable(&self.text)?;
        let own = self.own.iter().map(|(shard, text)| Ok((*shard, readable(text)?))).collect::<Result<_, Failure>>()?;
        let shown = if self.secret { first_words(&text, 3) } else { text.chars().take(SHOWN).collect() };
        let database = asked.database.map(|name| names::utf8(name, false)).transpose()?;
        let definer = takes_rights(asked);
        let text = (!self.secret).then_some(text);
        let statement = Sent { text, own, shown, database, settings: asked.settings.clone(), definer };
        Ok(weir_catalog::Definition {
            id: 0,
            statement,
            kind: self.kind,
            objects: self.objects.clone(),
            shards: self.shards.iter().map(|shard| (*shard, Progress::Pending)).collect(),
            changes: self.changes.clone(),
            undo: self.undo.clone(),
        })
    }
}

/// Whether the statement gives an object the rights of who runs it.
fn takes_rights(asked: &Asked<'_>) -> bool {
    match asked.statement.kind {
        StatementKind::CreateView(view) => view.definer.is_none(),
        StatementKind::CreateRoutine(routine) => routine.definer.is_none(),
        StatementKind::CreateTrigger(trigger) => trigger.definer.is_none(),
        StatementKind::CreateEvent(event) => event.definer.is_none(),
        StatementKind::AlterEvent(event) => event.definer.is_none(),
        _ => false,
    }
}

fn first_words(text: &str, count: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().take(count).collect();
    format!("{} …", words.join(" "))
}

/// Something of a database that all of its shards have.
pub(super) fn whole_database(
    asked: &Asked<'_>,
    catalog: &Catalog,
    name: &ObjectName<'_>,
    kind: DefinitionKind,
) -> Result<Option<Intent>, Failure> {
    let Some(object) = object(asked, catalog, name)? else { return Ok(None) };
    let shards = shards::of_database(catalog, &object.database);
    Ok(Some(Intent::new(asked, kind, vec![object], shards)))
}
