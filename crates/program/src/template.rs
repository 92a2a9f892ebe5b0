//! A statement or an expression of a body, with places for the values of variables.
//!
//! What must always hold: but for these places, the text is the body's own.

use std::ops::Range;

use weir_sql::splice;

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// As it stands in the body.
    pub text: Vec<u8>,
    /// It needs no rows and nothing of the session: it can be computed beside the variables' values.
    pub beside: bool,
    /// Values of variables are among what a query selects: then its columns would be told with other types than theirs.
    pub selects_variables: bool,
    pub(crate) edits: Vec<(Range<usize>, Part)>,
}

/// What a text is in its procedure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// An expression.
    Expression,
    /// A query whose rows the procedure takes.
    Query,
    /// A statement that is run for itself.
    Statement,
}

/// What takes the place of a part of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// The value of a variable.
    Value(usize),
    /// The same as a count of rows, which can only be digits.
    Count(usize),
    /// This.
    Text(Vec<u8>),
}

impl Template {
    /// A variable, what stands behind it, and another one.
    pub(crate) fn of_two(first: usize, between: &[u8], second: Option<usize>) -> Template {
        let end = between.len();
        let mut edits = vec![(0..0, Part::Value(first))];
        edits.extend(second.map(|second| (end..end, Part::Value(second))));
        Template { text: between.to_vec(), beside: false, selects_variables: false, edits }
    }

    pub(crate) fn plain(text: &[u8]) -> Template {
        Template { text: text.to_vec(), beside: false, selects_variables: false, edits: Vec::new() }
    }

    /// The variables whose values it takes.
    pub fn variables(&self) -> impl Iterator<Item = usize> + '_ {
        self.edits.iter().filter_map(|(_, part)| match part {
            Part::Value(variable) | Part::Count(variable) => Some(*variable),
            Part::Text(_) => None,
        })
    }

    /// Variables that stand where only a number of rows may.
    pub fn counts(&self) -> impl Iterator<Item = usize> + '_ {
        self.edits.iter().filter_map(|(_, part)| match part {
            Part::Count(variable) => Some(*variable),
            _ => None,
        })
    }

    /// The text with these values.
    pub fn render<'v>(&self, value: impl Fn(usize) -> &'v [u8]) -> Vec<u8> {
        let edits: Vec<(Range<usize>, &[u8])> = self
            .edits
            .iter()
            .map(|(range, part)| {
                let text = match part {
                    Part::Value(variable) | Part::Count(variable) => value(*variable),
                    Part::Text(text) => text,
                };
                (range.clone(), text)
            })
            .collect();
        splice(&self.text, &edits)
    }
}
