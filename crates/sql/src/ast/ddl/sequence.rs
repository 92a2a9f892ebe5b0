//! Sequences (MariaDB).

use super::TableOption;
use crate::ast::{ObjectName, Span};

/// CREATE SEQUENCE and ALTER SEQUENCE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DefineSequence<'a> {
    /// ALTER, rather than CREATE.
    pub alter: bool,
    /// OR REPLACE.
    pub or_replace: bool,
    /// TEMPORARY.
    pub temporary: bool,
    /// IF NOT EXISTS, or IF EXISTS of ALTER.
    pub conditional: bool,
    /// The sequence.
    pub name: ObjectName<'a>,
    /// START, INCREMENT and the like, in order.
    pub settings: &'a [SequenceSetting],
    /// A table's options after them.
    pub options: &'a [TableOption<'a>],
}

/// `INCREMENT BY 2` and the like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequenceSetting {
    /// All of it.
    pub span: Span,
    /// What is set.
    pub kind: SequenceSettingKind,
    /// The number, with its sign.
    pub value: Option<Span>,
}

/// What is set of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceSettingKind {
    /// START.
    Start,
    /// RESTART.
    Restart,
    /// INCREMENT.
    Increment,
    /// MINVALUE.
    MinValue,
    /// NO MINVALUE, NOMINVALUE.
    NoMinValue,
    /// MAXVALUE.
    MaxValue,
    /// NO MAXVALUE, NOMAXVALUE.
    NoMaxValue,
    /// CACHE.
    Cache,
    /// NOCACHE.
    NoCache,
    /// CYCLE.
    Cycle,
    /// NO CYCLE, NOCYCLE.
    NoCycle,
}
