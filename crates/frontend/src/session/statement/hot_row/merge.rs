//! Which statements move a counter, so that one statement may do it for several.
//!
//! What must always hold: a parameter is taken for what it would be as a number of the text only if it is bound as one that a text could
//! have there: a whole number or a decimal without a sign. Of all others the server decides what they are.

use weir_exec::hot_rows::counter::{Number, Step};
use weir_exec::hot_rows::merged::{CounterForm, CounterStep};
use weir_exec::hot_rows::table::askable;
use weir_sql::hot_row::{CounterMove, HotText, Operand, Part};
use weir_wire::params::Parameter;

use super::super::super::Session;
use super::{Form, Statement};

/// A parameter's value as a text could have it.
struct Bound {
    digits: String,
    whole: bool,
}

impl Bound {
    fn of(value: &Parameter<'_>) -> Option<Bound> {
        let (digits, whole) = match value {
            Parameter::Signed(number) => (number.to_string(), true),
            Parameter::Unsigned(number) => (number.to_string(), true),
            Parameter::Decimal(digits) => (std::str::from_utf8(digits).ok()?.to_owned(), false),
            _ => return None,
        };
        digits.starts_with(|first: char| first.is_ascii_digit()).then_some(Bound { digits, whole })
    }
}

impl Session {
    /// The move of a counter that a statement is, if the table's counters may be moved by one statement for several.
    pub(super) fn counter_step(&self, statement: &Statement<'_>, hot: &HotText) -> Option<CounterStep> {
        if !self.merges(hot) {
            return None;
        }
        let bound: Vec<Bound> = match &statement.form {
            Form::Text(_) => Vec::new(),
            Form::Prepared(execution) => {
                self.parameters(execution).map(|value| Bound::of(&value.ok()?)).collect::<Option<_>>()?
            }
            Form::SqlPrepared(_) | Form::Resolved => return None,
        };
        let text = &hot.plain_statement(statement.text)[..];
        let found = CounterMove::of(text, statement.mode)?;
        let mut decimal = false;
        let mut number = |operand: Operand| match operand {
            Operand::Written(range) => Number::parse(&text[range]),
            Operand::Bound(at) => {
                let value = bound.get(at as usize)?;
                decimal |= !value.whole;
                Number::parse(value.digits.as_bytes())
            }
        };
        let amount = number(found.amount)?;
        let guard = match found.guard {
            Some((compare, operand)) => Some((compare, number(operand)?)),
            None => None,
        };
        let (mut parts, mut whole) = (Vec::new(), Vec::new());
        for part in found.condition {
            parts.push(match part {
                Part::Written(range) => [b"(", &text[range], b")"].concat(),
                Part::Bound { written, column, parameter } => {
                    let value = bound.get(parameter as usize).filter(|value| value.whole)?;
                    whole.push(askable(&column)?);
                    [b"(", &text[written], b" = ", value.digits.as_bytes(), b")"].concat()
                }
            });
        }
        Some(CounterStep {
            form: CounterForm {
                table: text[found.table].to_vec(),
                column: text[found.written].to_vec(),
                name: askable(&found.column)?,
                condition: parts.join(&b" AND "[..]),
                whole,
                decimal,
            },
            step: Step { amount, down: found.down, guard },
        })
    }

    /// Whether moves of counters of a statement's table may be made together.
    pub(in crate::session) fn merges(&self, hot: &HotText) -> bool {
        let database = hot.table.database.as_deref().or(self.state.profile.database.as_deref());
        let Some((database, table)) = database.and_then(askable).zip(askable(&hot.table.name)) else { return false };
        let opted = || self.in_catalog(&database, &table, |table| table.hot_merge);
        self.shared.hot_rows.settings.load().merges(&database, &table) || opted()
    }
}
