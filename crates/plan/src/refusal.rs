//! Why a statement is not planned, by what it would take.
//!
//! What must always hold: each refusal names its [`Need`], so that what is refused for want of one thing is one list: `tests/refusals.txt` has
//! it, of all statements of the golden files. A client is told the reason and a way out.

use weir_wire::Failure;
use weir_wire::error::{codes, not_supported};

/// Why a statement can't be planned.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    /// An error that a server would report.
    Failure(Failure),
    /// It is not supported over several shards.
    NotSupported {
        /// What it would take.
        need: Need,
        /// What the client is told.
        message: String,
    },
    /// A query of which rows would have to be brought together; this names what stands in the way of a cheaper plan.
    NeedsWorkbench(String),
    /// Characters whose weights have to be learnt first: collation, characters.
    NeedsWeights(String, Vec<char>),
}

/// What a statement that is refused would take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// Rows of several shards in one place.
    RowsInOnePlace,
    /// A server that has all that the statement is about.
    OneServer,
    /// A value that is not known before a server computes it.
    Value,
    /// Another form of the statement, which the message names.
    OtherForm,
    /// Nothing can help.
    Nothing,
}

impl Need {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Need::RowsInOnePlace => "rows in one place",
            Need::OneServer => "one server",
            Need::Value => "a value",
            Need::OtherForm => "another form",
            Need::Nothing => "nothing can help",
        }
    }

    pub(crate) fn refused(self, message: impl Into<String>) -> Refusal {
        Refusal::NotSupported { need: self, message: message.into() }
    }
}

impl Refusal {
    /// What the statement would take, if it is no error and nothing has to be learnt first.
    pub fn need(&self) -> Option<Need> {
        match self {
            Refusal::NotSupported { need, .. } => Some(*need),
            Refusal::NeedsWorkbench(_) => Some(Need::RowsInOnePlace),
            Refusal::Failure(_) | Refusal::NeedsWeights(..) => None,
        }
    }

    /// What the client is told.
    ///
    /// # Errors
    /// The collation and the characters whose weights have to be learnt: then the statement can be planned.
    pub fn into_failure(self) -> Result<Failure, (String, Vec<char>)> {
        match self {
            Refusal::Failure(failure) => Ok(failure),
            Refusal::NotSupported { message, .. } => Ok(Failure::client(codes::ER_NOT_SUPPORTED_YET, message)),
            Refusal::NeedsWorkbench(reason) => Ok(not_supported(format!(
                "This statement needs rows of several shards in one place, which is not supported: {reason}. Name the shard keys in WHERE and ON, \
                 so that one shard has all of its rows (WEIR EXPLAIN tells where they are), make small tables that others are joined with GLOBAL, \
                 or read the rows with statements of one table each"
            ))),
            Refusal::NeedsWeights(collation, characters) => Err((collation, characters)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_whose_rows_are_apart_is_told_what_to_do() {
        let failure = Refusal::NeedsWorkbench("a UNION".to_owned()).into_failure().expect("nothing has to be learnt");
        assert_eq!((failure.code, &failure.sqlstate), (1235, b"42000"));
        for words in ["is not supported: a UNION. ", "Name the shard keys", "WEIR EXPLAIN", "GLOBAL", "one table each"]
        {
            assert!(failure.message.contains(words), "{}", failure.message);
        }
    }
}
