//! Plans of writes on several shards.
//!
//! What must always hold: each part has a text of its own, without parameters, and says on which shards it runs; what has to be known
//! first is a step of its own ([`Resolve`]), after which the text is planned again.

use std::ops::Range;
use std::sync::Arc;

use weir_catalog::{Database, ShardId, Table, Weights};

use super::{Read, Workbench};

/// A write of several shards.
#[derive(Debug, Clone, PartialEq)]
pub struct Write {
    /// What is done.
    pub kind: WriteKind,
    /// What has to be alike on all parts while they run it.
    pub alike: SharedValues,
    /// An explicit value of the table's AUTO_INCREMENT column: its sequence goes on behind it.
    pub raise: Option<Raise>,
    /// The rows that it gives its client; `None`: none.
    pub returns: Option<Returns>,
    /// Why no cheaper kind, for EXPLAIN.
    pub reason: String,
}

/// Which of the rows that the shards return (RETURNING) the client gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Returns {
    /// All of them, in the order of the shards: the statement asks for no order.
    All,
    /// Those of one shard: the others return the same ones.
    OfOne,
    /// All of them, so that each row of the client's text has one: the next one of the text at this place ([`WriteKind::Split`]).
    InOrder(Vec<usize>),
}

/// What a write does. No text has parameters: they are literals there.
#[derive(Debug, Clone, PartialEq)]
pub enum WriteKind {
    /// Something in the text has to be known first: it is found out and put into the text, and that text is planned.
    Resolve(Resolve),
    /// Each shard gets its own text; affected rows add up.
    Split(Vec<(ShardId, Vec<u8>)>, Duplicates),
    /// These shards get one text; affected rows add up.
    Everywhere(Vec<ShardId>, Vec<u8>),
    /// A GLOBAL table: all of its shards get one text, and must agree; affected rows are those of one.
    Global(Vec<ShardId>, Vec<u8>),
    /// Which rows is found out first; affected rows add up.
    Gather(Gather),
    /// An UPDATE of a shard key: rows are read with their new values, taken away, and put where their new keys belong.
    Move(Move),
    /// LOAD DATA LOCAL: the client's file is asked for, and each line goes to its shard.
    Load(Box<LoadFile>),
}

/// A client's file, and where its lines go.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadFile {
    /// All shards of the table.
    pub shards: Vec<ShardId>,
    /// The name that the client knows it by.
    pub name: Vec<u8>,
    /// What each shard is told: it asks for its lines then.
    pub text: Vec<u8>,
    /// How it is written.
    pub format: FileFormat,
    /// How many fields of a line are read.
    pub fields: usize,
    /// The user variables that take fields, in lower case: each has that of the last line afterwards.
    pub variables: Vec<String>,
    /// The table has an AUTO_INCREMENT column, for which this field is; if none is, lines get one more at their beginning.
    pub generated: Option<Option<usize>>,
    /// A value of 0 stays (NO_AUTO_VALUE_ON_ZERO).
    pub keeps_zero: bool,
    /// Where the values of the shard key are.
    pub key: Vec<FileKey>,
    /// Each shard gets all lines: a GLOBAL table.
    pub copies: bool,
    /// The character set that the statement names; the database's if none.
    pub charset: Option<String>,
    /// The database's name.
    pub database_name: String,
    /// The table's name.
    pub table_name: String,
    /// What says where rows are.
    pub database: Database,
    /// The table.
    pub table: Table,
}

/// Where a value of the shard key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKey {
    /// In this field of the line.
    Field(usize),
    /// It is the AUTO_INCREMENT value, for which there is no field.
    Generated,
}

/// How a file is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFormat {
    /// What ends a field.
    pub fields: Vec<u8>,
    /// What may stand around one.
    pub enclosed: Option<u8>,
    /// What makes the next character another one.
    pub escaped: Option<u8>,
    /// What begins a line.
    pub starting: Vec<u8>,
    /// What ends a line.
    pub lines: Vec<u8>,
    /// How many lines are left out.
    pub skip: u64,
}

impl Default for FileFormat {
    fn default() -> FileFormat {
        let (fields, lines) = (b"\t".to_vec(), b"\n".to_vec());
        FileFormat { fields, enclosed: None, escaped: Some(b'\\'), starting: Vec::new(), lines, skip: 0 }
    }
}

/// Rows that move.
#[derive(Debug, Clone, PartialEq)]
pub struct Move {
    /// All shards of the table.
    pub shards: Vec<ShardId>,
    /// Reads and locks the rows: the primary key's columns, whether something changes, and the new values of all columns.
    pub rows: Box<Read>,
    /// How the primary key's values become literals.
    pub forms: Vec<Form>,
    /// The places of the new shard key's values.
    pub key: Vec<usize>,
    /// The DELETE up to the primary keys, which are followed by a parenthesis.
    pub delete: Vec<u8>,
    /// The INSERT up to its rows.
    pub insert: Vec<u8>,
    /// A query of one shard: if it has rows, a column changes by itself at an UPDATE, and the statement is refused.
    pub check: Option<Vec<u8>>,
    /// What says where rows are.
    pub database: Arc<Database>,
    /// The table.
    pub table: Arc<Table>,
    /// What is known of characters' weights.
    pub weights: Weights,
    /// The servers refuse NULL for what can't be NULL.
    pub strict: bool,
}

/// A change of rows that are found out first, by the values of their primary key.
#[derive(Debug, Clone, PartialEq)]
pub struct Gather {
    /// Finds and locks the rows.
    pub rows: RowSource,
    /// What is wrong with a value while rows are found is a warning, in a strict sql_mode too.
    pub ignore: bool,
    /// It is an UPDATE, whose counts are told also where no row was found.
    pub update: bool,
    /// The client gets the rows in the order in which they are found: each is changed by a text of its own.
    pub returns_in_order: bool,
    /// A query that describes the rows that the client gets, and has none.
    pub describes: Option<Vec<u8>>,
    /// What is changed then, table by table.
    pub changes: Vec<ByKey>,
}

/// A change of the rows of one table.
#[derive(Debug, Clone, PartialEq)]
pub struct ByKey {
    /// Which of the columns of the rows that were found is the first of the primary key's. Behind them are the values that are assigned.
    pub place: usize,
    /// The shards that run the change: all that may have a row of it.
    pub shards: Vec<ShardId>,
    /// Each shard has a copy of the table: all must change the same rows.
    pub global: bool,
    /// How the key's values become literals.
    pub forms: Vec<Form>,
    /// What each row is assigned, if that depends on other rows: behind the key, `rows` has the values. Then each row is changed by a text of
    /// its own.
    pub assigned: Vec<Assigned>,
    /// The change up to the values of keys, which are separated by commas; up to the first assignment, if rows are changed one by one.
    pub head: Vec<u8>,
    /// What follows the values.
    pub tail: Vec<u8>,
}

impl Gather {
    /// The only change, if one text is enough for all of its rows.
    pub fn of_one_text(&self) -> Option<&ByKey> {
        match &self.changes[..] {
            [change] if change.assigned.is_empty() => Some(change),
            _ => None,
        }
    }

    /// The shards that it reads and changes.
    fn all_shards(&self) -> Vec<ShardId> {
        let changed = self.changes.iter().flat_map(|change| change.shards.iter().copied());
        self.rows.shards().into_iter().chain(changed).collect()
    }
}

/// What is assigned to a column of each row that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assigned {
    /// The column, and the equals sign.
    pub column: Vec<u8>,
    /// The same for all rows; if not, it is the next of the row's values.
    pub fixed: Option<Vec<u8>>,
}

/// What gives the rows that a statement needs before it writes.
#[derive(Debug, Clone, PartialEq)]
pub enum RowSource {
    /// The shards, each its own.
    Shards(Box<Read>),
    /// A query over what is gathered on a workbench.
    Workbench(Box<Workbench>),
}

impl RowSource {
    /// The shards that are asked for rows, in order.
    pub fn shards(&self) -> Vec<ShardId> {
        match self {
            RowSource::Shards(read) => read.shards.clone(),
            RowSource::Workbench(workbench) => workbench.shards(),
        }
    }

    /// The shard whose server is the workbench, if it takes one.
    pub fn workbench(&self) -> Option<ShardId> {
        match self {
            RowSource::Shards(_) => None,
            RowSource::Workbench(workbench) => Some(workbench.home),
        }
    }

    /// It asks for the time: see [`Read::pin_time`].
    pub fn pin_time(&self) -> bool {
        match self {
            RowSource::Shards(read) => read.pin_time,
            // Fragments do not: one server has the time for the query.
            RowSource::Workbench(_) => false,
        }
    }
}

/// How values are read that become literals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// As they are.
    Plain,
    /// In hexadecimal: text of a character set, or (`None`) a binary string.
    Hex(Option<String>),
}

/// What is the same on all parts while a write runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SharedValues {
    /// The time of the statement's start: its text reads it, or a column may by its default.
    pub time: bool,
}

/// What an INSERT does about rows whose keys are there already: decides what its counts mean.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Duplicates {
    /// It fails.
    #[default]
    Error,
    /// IGNORE, with ON DUPLICATE KEY UPDATE, too: rows count that were left as they are.
    Ignore,
    /// REPLACE, ON DUPLICATE KEY UPDATE.
    Change,
}

/// What has to be known before a text can be planned, and where it goes.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolve {
    /// A query of one row, and a shard that it is asked on.
    pub ask: Option<(ShardId, Vec<u8>)>,
    /// A query of one row that reads tables, in the transaction that the statement will run in.
    pub read: Option<RowSource>,
    /// `read` has one value, a subquery, which is wrong only if a server needs it (ON DUPLICATE KEY UPDATE), or of which it warns: if it has
    /// several rows, another one with several rows stands for it.
    pub lazy: bool,
    /// With RETURNING: what a shard runs if `rows` has none, as it knows the columns.
    pub none: Option<(ShardId, Vec<u8>)>,
    /// A query whose rows are read, in the transaction that the statement will run in.
    pub rows: Option<RowSource>,
    /// How many columns these rows have to have.
    pub columns: Option<u16>,
    /// With IGNORE: what is wrong with a value while rows are read is a warning, in a strict sql_mode too.
    pub ignore: bool,
    /// Values of a sequence.
    pub generate: Option<Generate>,
    /// The changes of the text, in its order.
    pub edits: Vec<Edit>,
}

/// Values of an AUTO_INCREMENT column that are taken from its sequence, one after another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generate {
    /// The shard that keeps the sequence: the database's first.
    pub keeper: ShardId,
    /// The database.
    pub database: String,
    /// The table.
    pub table: String,
    /// How many, in the order of the rows.
    pub runs: Vec<Run>,
}

/// Values of a sequence for rows between which no explicit value is greater than those before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// The greatest explicit value of the rows before: the sequence goes on behind it.
    pub behind: Option<u64>,
    /// How many.
    pub count: u64,
}

/// An explicit value of an AUTO_INCREMENT column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raise {
    /// The shard that keeps the sequence: the database's first.
    pub keeper: ShardId,
    /// The database.
    pub database: String,
    /// The table.
    pub table: String,
    /// The value.
    pub value: u64,
}

/// A change of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// What is replaced.
    pub range: Range<usize>,
    /// By what: these, one after another.
    pub pieces: Vec<Piece>,
}

/// A part of what a text is changed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// This.
    Text(Vec<u8>),
    /// The value of a column of the answer, as a literal.
    Answer(usize),
    /// The value of a column of the row that is read, as a literal.
    Read(usize),
    /// The so manieth value of the sequence, from 0.
    Generated(usize),
    /// The query's rows, as rows of literals.
    Rows,
}

impl Write {
    /// The shards that it needs connections to, in order.
    pub fn shards(&self) -> Vec<ShardId> {
        let mut shards = match &self.kind {
            WriteKind::Resolve(settle) => {
                let rows = settle.rows.iter().chain(&settle.read).flat_map(RowSource::shards);
                settle.ask.iter().map(|(shard, _)| *shard).chain(rows).collect()
            }
            WriteKind::Split(texts, _) => texts.iter().map(|(shard, _)| *shard).collect(),
            WriteKind::Everywhere(shards, _) | WriteKind::Global(shards, _) => shards.clone(),
            WriteKind::Gather(gather) => gather.all_shards(),
            WriteKind::Move(moved) => moved.shards.clone(),
            WriteKind::Load(file) => file.shards.clone(),
        };
        shards.sort_unstable();
        shards.dedup();
        shards
    }

    /// The shard whose server is the workbench of the rows that it needs first, if it takes one.
    pub fn workbench(&self) -> Option<ShardId> {
        match &self.kind {
            WriteKind::Resolve(resolve) => resolve.rows.iter().chain(&resolve.read).find_map(RowSource::workbench),
            WriteKind::Gather(gather) => gather.rows.workbench(),
            _ => None,
        }
    }

    /// Whether it has to run within a transaction: it writes, or reads what it will write.
    pub fn is_transactional(&self) -> bool {
        !matches!(&self.kind, WriteKind::Resolve(settle) if settle.rows.is_none() && settle.read.is_none())
    }
}

impl Resolve {
    /// The text with what was found out: the columns of the answer and of the row that was read as literals, rows of literals
    /// (`(1, 2), (3, 4)`), and the sequence's values.
    pub fn text(&self, text: &[u8], answer: &[Vec<u8>], read: &[Vec<u8>], rows: &[u8], generated: &[u64]) -> Vec<u8> {
        let edits: Vec<(Range<usize>, Vec<u8>)> = self
            .edits
            .iter()
            .map(|edit| {
                let mut with = Vec::new();
                for piece in &edit.pieces {
                    match piece {
                        Piece::Text(text) => with.extend_from_slice(text),
                        Piece::Answer(at) => with.extend_from_slice(answer.get(*at).map_or(b"NULL", |value| value)),
                        Piece::Read(at) => with.extend_from_slice(read.get(*at).map_or(b"NULL", |value| value)),
                        Piece::Rows => with.extend_from_slice(rows),
                        Piece::Generated(nth) => {
                            let value = generated.get(*nth).map_or_else(|| "NULL".to_owned(), u64::to_string);
                            with.extend_from_slice(value.as_bytes());
                        }
                    }
                }
                (edit.range.clone(), with)
            })
            .collect();
        let edits: Vec<(Range<usize>, &[u8])> = edits.iter().map(|(range, with)| (range.clone(), &**with)).collect();
        weir_sql::splice(text, &edits)
    }
}
