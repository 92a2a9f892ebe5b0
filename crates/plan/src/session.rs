//! What a plan depends on, apart from the statement and the catalog.

use std::collections::BTreeSet;

use weir_catalog::{Constant, ShardId};
use weir_sql::LexMode;

/// Names of temporary tables: the database and the table, in lower case where the server's names are.
pub type TemporaryNames = BTreeSet<(Vec<u8>, Vec<u8>)>;

/// A procedure that runs, statement by statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    /// Its database.
    pub database: String,
    /// Its name, in lower case.
    pub name: String,
}

/// What is known of a session when one of its statements is planned.
#[derive(Clone, Copy)]
pub struct SessionFacts<'a> {
    /// The default database.
    pub database: Option<&'a [u8]>,
    /// How the server reads the text.
    pub mode: LexMode,
    /// `sql_mode`, as the server shows it.
    pub sql_mode: &'a str,
    /// `character_set_client`: that of the text.
    pub charset: &'a str,
    /// `collation_connection`: that of literals.
    pub collation: &'a str,
    /// Collations of the charset that `_charset'…'` literals have: charset to default collation.
    pub default_collation: &'a dyn Fn(&str) -> Option<String>,
    /// The values of the statement's parameters; `None` when it is being prepared: then nothing is known of them.
    pub parameters: Option<&'a [Constant]>,
    /// The value of a user variable, if it is known.
    pub variable: &'a dyn Fn(&[u8]) -> Option<Constant>,
    /// The session is in a transaction, or autocommit is off.
    pub in_transaction: bool,
    /// Rows are read for a write: what is gathered for it is locked, as one server locks what it reads then.
    pub for_write: bool,
    /// The session's temporary tables of sharded databases: stored programs see them in place of others.
    pub temporary: &'a TemporaryNames,
    /// The kind of server.
    pub mariadb: bool,
    /// Where statements run that name no sharded table: the shard that the session is bound to, or the home shard.
    pub home: ShardId,
    /// A shard that the statement was told to go to by a hint.
    pub hinted: Option<ShardId>,
    /// The procedures of whose bodies the statement is one, the outermost first: they may call themselves again.
    pub running: &'a [Running],
}
