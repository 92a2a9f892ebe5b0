//! ALTER TABLE.

use super::{
    Check, ColumnDefinition, ForeignKey, KeyDefinition, PartitionDefinition, Partitioning, PeriodDefinition, Placement,
    TableElement, TableOption,
};
use crate::ast::{Expr, Ident, ObjectName, OrderItem, Span, UpkeepVerb};

/// ALTER TABLE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlterTable<'a> {
    /// ONLINE (MariaDB).
    pub online: bool,
    /// IGNORE (MariaDB).
    pub ignore: bool,
    /// IF EXISTS (MariaDB).
    pub if_exists: bool,
    /// The table.
    pub table: ObjectName<'a>,
    /// `WAIT n`, NOWAIT (MariaDB).
    pub wait: Option<Span>,
    /// What is done, in order; may be nothing.
    pub actions: &'a [AlterAction<'a>],
}

impl AlterTable<'_> {
    /// What is done to partitions as [`TableUpkeep`](crate::ast::TableUpkeep) does it to tables: servers answer with rows.
    pub fn partition_upkeep(&self) -> Option<UpkeepVerb> {
        let [AlterAction { kind: AlterActionKind::Partitions(operation), .. }] = self.actions else { return None };
        match operation {
            PartitionOperation::Analyze(_) => Some(UpkeepVerb::Analyze),
            PartitionOperation::Check(_) => Some(UpkeepVerb::Check),
            PartitionOperation::Optimize(_) => Some(UpkeepVerb::Optimize),
            PartitionOperation::Repair(_) => Some(UpkeepVerb::Repair),
            _ => None,
        }
    }
}

/// One thing that is done to a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlterAction<'a> {
    /// All of it, without a comma.
    pub span: Span,
    /// What it is.
    pub kind: AlterActionKind<'a>,
}

/// What is done to a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AlterActionKind<'a> {
    /// `ADD [COLUMN] [IF NOT EXISTS] definition [FIRST | AFTER c]`.
    AddColumn(&'a AlterColumn<'a>),
    /// `ADD [COLUMN] (a INT, b INT, KEY (a))`.
    AddElements(&'a [TableElement<'a>]),
    /// ADD of a key.
    AddKey(&'a KeyDefinition<'a>),
    /// ADD FOREIGN KEY.
    AddForeignKey(&'a ForeignKey<'a>),
    /// ADD CHECK.
    AddCheck(&'a Check<'a>),
    /// ADD PERIOD (MariaDB).
    AddPeriod(&'a PeriodDefinition<'a>),
    /// ADD SYSTEM VERSIONING (MariaDB).
    AddSystemVersioning,
    /// `DROP [COLUMN] [IF EXISTS] c [RESTRICT | CASCADE]`.
    DropColumn(Dropped<'a>),
    /// DROP PRIMARY KEY.
    DropPrimaryKey,
    /// `DROP {INDEX | KEY} [IF EXISTS] k`.
    DropKey(Dropped<'a>),
    /// `DROP FOREIGN KEY [IF EXISTS] k`.
    DropForeignKey(Dropped<'a>),
    /// `DROP CONSTRAINT [IF EXISTS] k`.
    DropConstraint(Dropped<'a>),
    /// `DROP CHECK k` (MySQL).
    DropCheck(Dropped<'a>),
    /// `DROP PERIOD FOR p` (MariaDB).
    DropPeriod(Dropped<'a>),
    /// DROP SYSTEM VERSIONING (MariaDB).
    DropSystemVersioning,
    /// `MODIFY [COLUMN] [IF EXISTS] definition [FIRST | AFTER c]`.
    ModifyColumn(&'a AlterColumn<'a>),
    /// `CHANGE [COLUMN] [IF EXISTS] c definition [FIRST | AFTER c]`.
    ChangeColumn(Ident<'a>, &'a AlterColumn<'a>),
    /// `ALTER [COLUMN] [IF EXISTS] c SET DEFAULT …` and the like.
    AlterColumn(&'a AlterColumnSetting<'a>),
    /// `ALTER {INDEX | KEY} [IF EXISTS] k …`: true for VISIBLE and NOT IGNORED.
    AlterKey(Ident<'a>, bool),
    /// `ALTER {CHECK | CONSTRAINT} k [NOT] ENFORCED` (MySQL): true for ENFORCED.
    AlterConstraint(Ident<'a>, bool),
    /// `RENAME [TO | AS | =] t`.
    RenameTable(ObjectName<'a>),
    /// `RENAME COLUMN [IF EXISTS] a TO b`.
    RenameColumn(Ident<'a>, Ident<'a>),
    /// `RENAME {INDEX | KEY} [IF EXISTS] a TO b`.
    RenameKey(Ident<'a>, Ident<'a>),
    /// ORDER BY.
    OrderBy(&'a [OrderItem<'a>]),
    /// `CONVERT TO CHARACTER SET x [COLLATE y]`; DEFAULT in place of x: none.
    ConvertCharset(Option<Ident<'a>>, Option<Ident<'a>>),
    /// ENABLE KEYS.
    EnableKeys,
    /// DISABLE KEYS.
    DisableKeys,
    /// DISCARD TABLESPACE.
    DiscardTablespace,
    /// IMPORT TABLESPACE.
    ImportTablespace,
    /// FORCE.
    Force,
    /// `ALGORITHM [=] x`.
    Algorithm(Ident<'a>),
    /// `LOCK [=] x`.
    Lock(Ident<'a>),
    /// WITH VALIDATION (true), WITHOUT VALIDATION (MySQL).
    Validation(bool),
    /// `SECONDARY_LOAD` (true), `SECONDARY_UNLOAD` (MySQL), of the table.
    SecondaryLoad(bool),
    /// A table's option.
    Option(&'a TableOption<'a>),
    /// PARTITION BY.
    PartitionBy(&'a Partitioning<'a>),
    /// REMOVE PARTITIONING.
    RemovePartitioning,
    /// Something that is done to partitions.
    Partitions(&'a PartitionOperation<'a>),
    /// Weir's own clause.
    Place(&'a Placement<'a>),
}

/// A column that is added or changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlterColumn<'a> {
    /// IF EXISTS or IF NOT EXISTS (MariaDB).
    pub conditional: bool,
    /// What it is to be.
    pub definition: ColumnDefinition<'a>,
    /// Where it is to stand.
    pub position: Option<ColumnPosition<'a>>,
}

/// Where a column stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnPosition<'a> {
    /// FIRST.
    First,
    /// `AFTER c`.
    After(Ident<'a>),
}

/// Something that is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped<'a> {
    /// IF EXISTS (MariaDB).
    pub if_exists: bool,
    /// Its name.
    pub name: Ident<'a>,
}

/// `ALTER [COLUMN] [IF EXISTS] c change`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlterColumnSetting<'a> {
    /// IF EXISTS (MariaDB).
    pub if_exists: bool,
    /// The column.
    pub column: Ident<'a>,
    /// What is changed.
    pub change: ColumnSetting<'a>,
}

/// What ALTER COLUMN changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ColumnSetting<'a> {
    /// SET DEFAULT.
    SetDefault(Expr<'a>),
    /// DROP DEFAULT.
    DropDefault,
    /// SET VISIBLE.
    SetVisible,
    /// SET INVISIBLE.
    SetInvisible,
}

/// Something that is done to partitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PartitionOperation<'a> {
    /// `ADD PARTITION [IF NOT EXISTS] (definitions)`.
    Add(&'a [PartitionDefinition<'a>]),
    /// `ADD PARTITION PARTITIONS n`: the number.
    AddCount(Span),
    /// `DROP PARTITION [IF EXISTS] names`.
    Drop(&'a [Ident<'a>]),
    /// `COALESCE PARTITION n`: the number.
    Coalesce(Span),
    /// `REORGANIZE PARTITION [names INTO (definitions)]`.
    Reorganize(&'a [Ident<'a>], &'a [PartitionDefinition<'a>]),
    /// `EXCHANGE PARTITION p WITH TABLE t [{WITH | WITHOUT} VALIDATION]`.
    Exchange(&'a ExchangePartition<'a>),
    /// `CONVERT PARTITION p TO TABLE t` (MariaDB).
    ToTable(Ident<'a>, ObjectName<'a>),
    /// `CONVERT TABLE t TO definition [{WITH | WITHOUT} VALIDATION]` (MariaDB).
    FromTable(ObjectName<'a>, &'a PartitionDefinition<'a>),
    /// TRUNCATE PARTITION.
    Truncate(PartitionSet<'a>),
    /// DISCARD PARTITION … TABLESPACE.
    DiscardTablespace(PartitionSet<'a>),
    /// IMPORT PARTITION … TABLESPACE.
    ImportTablespace(PartitionSet<'a>),
    /// REBUILD PARTITION.
    Rebuild(PartitionSet<'a>),
    /// OPTIMIZE PARTITION.
    Optimize(PartitionSet<'a>),
    /// ANALYZE PARTITION.
    Analyze(PartitionSet<'a>),
    /// CHECK PARTITION, with options.
    Check(PartitionSet<'a>),
    /// REPAIR PARTITION, with options.
    Repair(PartitionSet<'a>),
    /// `SECONDARY_LOAD` (true) or `SECONDARY_UNLOAD` of partitions (MySQL).
    SecondaryLoad(bool, &'a [Ident<'a>]),
}

/// Partitions by name, or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionSet<'a> {
    /// ALL.
    All,
    /// By name.
    Named(&'a [Ident<'a>]),
}

/// `EXCHANGE PARTITION p WITH TABLE t`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExchangePartition<'a> {
    /// The partition.
    pub partition: Ident<'a>,
    /// The table.
    pub table: ObjectName<'a>,
    /// WITH VALIDATION (true), WITHOUT VALIDATION.
    pub validation: Option<bool>,
}
