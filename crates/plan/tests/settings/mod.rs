//! The golden files, and what the settings in them say.

use std::path::{Path, PathBuf};

use weir_catalog::{Constant, ShardId};
use weir_plan::{SessionFacts, TemporaryNames};
use weir_sql::{Dialect, LexMode};

/// What the settings of a case say.
#[derive(Clone, Default)]
pub(crate) struct Settings {
    pub(crate) parameters: Option<Vec<Constant>>,
    pub(crate) temporary: TemporaryNames,
    pub(crate) transaction: bool,
    pub(crate) home: u16,
    pub(crate) hinted: Option<u16>,
    pub(crate) mariadb: bool,
    pub(crate) sql_mode: String,
}

impl Settings {
    pub(crate) fn set(&mut self, line: &str) {
        let (name, value) = line.split_once(' ').unwrap_or((line, ""));
        match name {
            "parameters" => self.parameters = Some(value.split(", ").map(constant).collect()),
            "temporary" => self.temporary.extend(value.split(", ").map(|name| (b"app".to_vec(), name.into()))),
            "transaction" => self.transaction = true,
            "home" => self.home = value.parse().expect("a shard's place"),
            "hinted" => self.hinted = Some(value.parse().expect("a shard's place")),
            "mariadb" => self.mariadb = true,
            "sql_mode" => self.sql_mode = value.to_owned(),
            _ => panic!("no such setting: {line}"),
        }
    }

    /// The session of the case.
    pub(crate) fn session(&self) -> SessionFacts<'_> {
        let dialect = if self.mariadb { Dialect::MariaDb } else { Dialect::MySql };
        SessionFacts {
            database: Some(b"app"),
            mode: LexMode { dialect, ..LexMode::from_sql_mode(&self.sql_mode) },
            sql_mode: &self.sql_mode,
            charset: "utf8mb4",
            collation: "utf8mb4_general_ci",
            default_collation: &|charset| Some(format!("{charset}_general_ci")),
            parameters: self.parameters.as_deref(),
            variable: &|name| (name == b"five").then_some(Constant::Integer(5)),
            temporary: &self.temporary,
            for_write: false,
            in_transaction: self.transaction,
            mariadb: self.mariadb,
            home: ShardId(self.home),
            hinted: self.hinted.map(ShardId),
            running: &[],
        }
    }
}

fn constant(text: &str) -> Constant {
    match text.strip_prefix('\'') {
        Some(text) => Constant::Text {
            bytes: text.trim_end_matches('\'').as_bytes().to_vec(),
            collation: "utf8mb4_general_ci".to_owned(),
            explicit: false,
        },
        None if text == "NULL" => Constant::Null,
        None => Constant::Integer(text.parse().expect("an integer")),
    }
}

/// The golden files, in order.
pub(crate) fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be read").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "txt"));
    files.sort();
    files
}
