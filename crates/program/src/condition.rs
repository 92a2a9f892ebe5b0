//! Conditions: errors, warnings and notes, and what handlers are for.
//!
//! What must always hold: which handler is for a condition is what servers say: in the innermost block that has one for it, the one that
//! names its code, else its SQLSTATE, else its class.

/// How bad a condition is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// It ends the statement.
    Error,
    /// A warning.
    Warning,
    /// A note.
    Note,
}

/// Something that a statement has raised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raised {
    /// Error, warning or note.
    pub level: Level,
    /// The code.
    pub code: u16,
    /// The SQLSTATE.
    pub state: [u8; 5],
    /// The message.
    pub message: String,
}

impl Raised {
    /// An error.
    pub fn error(code: u16, state: &[u8; 5], message: impl Into<String>) -> Raised {
        Raised { level: Level::Error, code, state: *state, message: message.into() }
    }

    /// No row was found: an error of FETCH, a warning of SELECT … INTO.
    pub(crate) fn no_data(level: Level) -> Raised {
        let message = "No data - zero rows fetched, selected, or processed".to_owned();
        Raised { level, code: 1329, state: *b"02000", message }
    }
}

/// What a handler is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Class {
    Code(u16),
    State([u8; 5]),
    Warning,
    NotFound,
    Exception,
}

impl Class {
    /// How closely it describes a condition; `None`: it is not for that.
    pub(crate) fn fits(&self, raised: &Raised) -> Option<u8> {
        let fits = match self {
            Class::Code(code) => *code == raised.code,
            Class::State(state) => *state == raised.state,
            Class::Warning => raised.state.starts_with(b"01") || raised.level == Level::Warning,
            Class::NotFound => raised.state.starts_with(b"02"),
            Class::Exception => {
                let other = [b"00", b"01", b"02"].iter().all(|class| !raised.state.starts_with(&class[..]));
                other && raised.level == Level::Error
            }
        };
        fits.then_some(match self {
            Class::Code(_) => 2,
            Class::State(_) => 1,
            _ => 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_fit_as_on_servers() {
        let error = Raised::error(1062, b"23000", "");
        let truncated = Raised { level: Level::Warning, code: 1265, state: *b"01000", message: String::new() };
        let note = Raised { level: Level::Note, code: 1051, state: *b"42S02", message: String::new() };
        let none = Raised::no_data(Level::Error);
        for (class, raised, fits) in [
            (Class::Code(1062), &error, Some(2)),
            (Class::State(*b"23000"), &error, Some(1)),
            (Class::Exception, &error, Some(0)),
            (Class::Warning, &error, None),
            (Class::Warning, &truncated, Some(0)),
            (Class::Exception, &truncated, None),
            (Class::Warning, &note, None),
            (Class::Exception, &note, None),
            (Class::NotFound, &none, Some(0)),
            (Class::Exception, &none, None),
        ] {
            assert_eq!(class.fits(raised), fits, "{class:?} {raised:?}");
        }
    }
}
