//! The consistency levels of reads.

use std::str::FromStr;

/// A level of read consistency (design, section 8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Level {
    /// A reader within the lag bound.
    Eventual,
    /// What the session has written and seen, and nothing older.
    #[default]
    Session,
    /// Every commit that was acknowledged to anybody before the read was asked for.
    Strong,
    /// Reads go to the writer.
    Primary,
}

impl Level {
    /// All of them.
    pub const ALL: [Level; 4] = [Level::Eventual, Level::Session, Level::Strong, Level::Primary];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Level::Eventual => "eventual",
            Level::Session => "session",
            Level::Strong => "strong",
            Level::Primary => "primary",
        }
    }
}

impl FromStr for Level {
    type Err = ();

    fn from_str(word: &str) -> Result<Level, ()> {
        Level::ALL.into_iter().find(|level| word.eq_ignore_ascii_case(level.name())).ok_or(())
    }
}
