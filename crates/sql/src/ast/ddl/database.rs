//! Databases, and objects that hold no rows of their own: servers, tablespaces and the like.

use super::NamedOption;
use crate::ast::{Ident, ObjectName, Span};

/// CREATE DATABASE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CreateDatabase<'a> {
    /// OR REPLACE (MariaDB).
    pub or_replace: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// The database.
    pub name: Ident<'a>,
    /// `CHARACTER SET`, `COLLATE`, `ENCRYPTION`, `COMMENT`.
    pub options: &'a [NamedOption],
}

/// ALTER DATABASE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlterDatabase<'a> {
    /// The database; none: the default one.
    pub name: Option<Ident<'a>>,
    /// As [`CreateDatabase::options`], and `READ ONLY`, `UPGRADE DATA DIRECTORY NAME`.
    pub options: &'a [NamedOption],
}

/// DROP DATABASE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropDatabase<'a> {
    /// IF EXISTS.
    pub if_exists: bool,
    /// The database.
    pub name: Ident<'a>,
}

/// CREATE, ALTER or DROP of an object that statements about rows don't name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServerObject<'a> {
    /// What is done.
    pub verb: Verb,
    /// Which kind of object.
    pub kind: ServerObjectKind,
    /// OR REPLACE.
    pub or_replace: bool,
    /// IF EXISTS or IF NOT EXISTS.
    pub conditional: bool,
    /// Its name; only a library's may have a database.
    pub name: ObjectName<'a>,
    /// What follows the name.
    pub options: Option<Span>,
}

/// What is done with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// CREATE.
    Create,
    /// ALTER.
    Alter,
    /// DROP.
    Drop,
}

/// Kinds of objects that statements about rows don't name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerObjectKind {
    /// TABLESPACE.
    Tablespace,
    /// UNDO TABLESPACE (MySQL).
    UndoTablespace,
    /// LOGFILE GROUP.
    LogfileGroup,
    /// SERVER.
    Server,
    /// SPATIAL REFERENCE SYSTEM (MySQL): its name is a number.
    SpatialReferenceSystem,
    /// RESOURCE GROUP (MySQL).
    ResourceGroup,
}
