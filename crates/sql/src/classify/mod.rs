//! What a text is, reads, changes and leaves on its connection: computed from its tree.
//!
//! What must hold: a flag may be set needlessly, but is never missing for anything that the text itself says; a
//! [`TextKind`] that Weir could act on by itself (BEGIN, COMMIT, KILL, SHOW WARNINGS, …) is given only to a text that means
//! exactly this on every server that the mode allows. What the parser does not read pins, writes, and does whatever any
//! of its words could mean: it may be a statement of a server that is newer than the parser.
//!
//! A text whose executable comments run on some servers only is read twice, with and without them, and both readings
//! count.

mod tree;

use std::ops::Range;

use bumpalo::Bump;

pub use crate::flags::{Effects, Pins};
pub use crate::names::is_servers_schema;
pub(crate) use tree::class_of_statement;

use crate::facts::programs::{NoPrograms, Programs};
use crate::lexer::{Conditional, Lexer};
use crate::mode::LexMode;

/// What is known of a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Class {
    /// What the one statement of the text is.
    pub kind: TextKind,
    /// What the text does, over all its statements.
    pub effects: Effects,
    /// What the text, when it succeeds, leaves on its connection.
    pub pins: Pins,
    /// What it gives back, when it succeeds. If the same text takes and gives, order is not told: what
    /// [`Class::pins`] has stays.
    pub releases: Pins,
    /// The session system variables that it assigns by SET, in lower case, each once, in order.
    ///
    /// SET NAMES stands for `character_set_client`, `character_set_connection`, `character_set_results` and
    /// `collation_connection`; SET CHARACTER SET for the same ones. Isolation and access mode are always
    /// `transaction_isolation` and `transaction_read_only`, whatever the statement or the server calls them.
    pub assigned: Vec<Box<str>>,
}

impl Class {
    /// Whether any session can run this text on any connection that has its profile: it leaves nothing, assigns
    /// nothing, and writes nothing.
    pub fn is_plain_read(&self) -> bool {
        self.kind == TextKind::Select
            && self.pins.is_empty()
            && self.assigned.is_empty()
            && !self.effects.intersects(
                Effects::WRITES
                    | Effects::CALC_FOUND_ROWS
                    | Effects::SETS_LAST_INSERT_ID
                    | Effects::SETS_USER_VARIABLES,
            )
    }

    /// Whether it holds for every text of the same [`shape`](crate::shape): it has no values or ranges of the text.
    pub fn follows_from_shape(&self) -> bool {
        !matches!(
            self.kind,
            TextKind::SetUserVariables(_) | TextKind::Kill(_) | TextKind::ShowWarnings(_) | TextKind::Weir(_)
        )
    }

    /// Says by flags what was said by the kind alone, before the kind is given up.
    fn demote(&mut self) {
        match self.kind {
            TextKind::SetUserVariables(_) => {
                self.effects |= Effects::SETS_USER_VARIABLES;
                self.pins |= Pins::COMPUTED_USER_VARIABLE;
                self.kind = TextKind::Set;
            }
            TextKind::Begin { .. } => self.effects |= Effects::STARTS_TRANSACTION_OTHER,
            _ => {}
        }
    }
}

/// What the one statement of a text is.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum TextKind {
    /// No statement: spaces and comments.
    #[default]
    Empty,
    /// Several statements.
    Multiple,
    /// Exactly `BEGIN [WORK]` or `START TRANSACTION [READ ONLY | READ WRITE]`.
    Begin {
        /// The access mode that it names.
        read_only: Option<bool>,
    },
    /// Exactly `COMMIT [WORK] [AND NO CHAIN] [NO RELEASE]`.
    Commit,
    /// Exactly `ROLLBACK [WORK] [AND NO CHAIN] [NO RELEASE]`.
    Rollback,
    /// SELECT, WITH … SELECT, VALUES, TABLE, or a parenthesised query.
    Select,
    /// SET of variables, names or transaction characteristics.
    Set,
    /// SET of user variables to plain literals and nothing else.
    SetUserVariables(Vec<UserVariable>),
    /// USE.
    Use,
    /// KILL.
    Kill(KillTarget),
    /// `SHOW [FULL] PROCESSLIST`.
    ShowProcesslist {
        /// With FULL.
        full: bool,
    },
    /// What asks for the diagnostics of the statement before, and nothing else.
    ShowWarnings(Diagnostics),
    /// Weir's own statement: the range of the text after the word WEIR, without spaces around it and without a semicolon at the end.
    Weir(Range<usize>),
    /// BATCH, Weir's own.
    Batch,
    /// Any other statement.
    Other,
}

/// An assignment of a plain literal to a user variable.
///
/// Plain is: an integer, decimal, float or hexadecimal number, NULL, TRUE, FALSE, or one quoted string of printable ASCII
/// without backslash, doubled quotes or introducer; a number may have one minus sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserVariable {
    /// The name in lower case, without `@` and quotes; ASCII.
    pub name: Box<str>,
    /// Where in the text the value stands, with its minus sign or quotes.
    pub literal: Range<usize>,
}

/// Whom a KILL names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KillTarget {
    /// `KILL [HARD | SOFT] [CONNECTION] n`.
    Connection(u64),
    /// `KILL [HARD | SOFT] QUERY n`.
    Query(u64),
    /// KILL USER, KILL QUERY ID, an expression.
    Other,
}

/// Which diagnostics a statement asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Diagnostics {
    /// `SHOW WARNINGS [LIMIT …]`.
    Warnings {
        /// Rows to leave out.
        offset: u64,
        /// Rows to show at most.
        limit: Option<u64>,
    },
    /// `SHOW ERRORS [LIMIT …]`.
    Errors {
        /// Rows to leave out.
        offset: u64,
        /// Rows to show at most.
        limit: Option<u64>,
    },
    /// SHOW COUNT(*) WARNINGS, or SELECT `@@warning_count`.
    CountWarnings,
    /// SHOW COUNT(*) ERRORS, or SELECT `@@error_count`.
    CountErrors,
}

/// Reads a text.
pub fn classify(sql: &[u8], mode: LexMode) -> Class {
    classify_with(sql, mode, &NoPrograms)
}

/// The same, by who knows stored programs.
pub fn classify_with(sql: &[u8], mode: LexMode, programs: &dyn Programs) -> Class {
    let arena = Bump::new();
    let lexer = Lexer::new(sql, mode);
    let (with, conditional) = tree::read(&arena, lexer, mode, programs);
    if conditional == Conditional::None {
        return with;
    }
    let (without, _) = tree::read(&arena, lexer.reading_otherwise(), mode, programs);
    let mut class = either(with, without);
    if conditional == Conditional::Mixed {
        class.kind = TextKind::Other;
        class.effects |= Effects::WRITES;
        class.pins |= Pins::UNKNOWN_STATEMENT;
    }
    class
}

/// A class that is safe whichever of two is right.
fn either(mut a: Class, mut b: Class) -> Class {
    let kind = match (&a.kind, &b.kind) {
        (one, other) if one == other && matches!(one, TextKind::Empty | TextKind::Select | TextKind::Set) => {
            one.clone()
        }
        (TextKind::Multiple, _) | (_, TextKind::Multiple) => TextKind::Multiple,
        _ => TextKind::Other,
    };
    a.demote();
    b.demote();
    for name in b.assigned {
        if !a.assigned.contains(&name) {
            a.assigned.push(name);
        }
    }
    Class {
        kind,
        effects: a.effects | b.effects,
        pins: a.pins | b.pins,
        releases: a.releases & b.releases,
        assigned: a.assigned,
    }
}

#[cfg(test)]
mod tests;
