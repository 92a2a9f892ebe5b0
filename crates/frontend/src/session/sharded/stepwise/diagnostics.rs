//! GET DIAGNOSTICS of a body: about the condition that a handler is for.
//!
//! What must always hold: what is told of a condition is known of it; a SQLSTATE that no reply has told ends the CALL.

use weir_plan::write::literal::put_hex;
use weir_program::{Answer, DiagnosticsItem, GetDiagnostics, Level, Raised, Targets};
use weir_wire::Failure;
use weir_wire::error::not_supported;

use super::super::super::Session;
use super::super::super::latest::Diagnostics;
use super::super::super::stopped::Stopped;
use super::variables::{Variables, known_state, raised_by};
use super::{Kept, raised_of};

impl Session {
    /// All that the latest statement has left.
    pub(super) async fn all_conditions_left(&mut self) -> Result<Vec<Raised>, Stopped> {
        if self.state.latest.diagnostics == Diagnostics::OnConnection {
            self.learn_what_was_left(true).await?;
        }
        Ok(match &self.state.latest.diagnostics {
            Diagnostics::Learnt(conditions) => conditions.iter().map(raised_by).collect(),
            _ => Vec::new(),
        })
    }

    /// Gives what is asked of the condition that is being handled.
    pub(super) async fn give_diagnostics(
        &mut self,
        get: &GetDiagnostics,
        raised: Raised,
        variables: &mut Variables<'_>,
        kept: &Kept,
    ) -> Result<Answer, Stopped> {
        let row_count = self.state.latest.row_count;
        let values: Result<Vec<Vec<u8>>, Failure> =
            get.items.iter().map(|item| value(*item, &raised, &kept.handled, row_count)).collect();
        let values = values?;
        let failed = match &get.to {
            Targets::Variables(to) => variables.store(self, to, &values).await?.err(),
            Targets::User(names) => {
                let pairs = names.iter().zip(&values).map(|(name, value)| [&name[..], b" = ", value].concat());
                let text = [b"SET ", &pairs.collect::<Vec<_>>().join(&b", "[..])[..]].concat();
                self.quietly(&text).await?.err().map(|failure| raised_of(&failure))
            }
        };
        Ok(failed.map_or(Answer::Done(Vec::new()), Answer::Failed))
    }
}

/// The value of an item as a literal. `left`: what the statement before has left; if the condition is not among it, that is alone.
fn value(item: DiagnosticsItem, raised: &Raised, left: &[Raised], row_count: i64) -> Result<Vec<u8>, Failure> {
    let is_raised = |one: &Raised| one.code == raised.code && one.message == raised.message;
    let (first, count) = match left {
        [first, ..] if left.iter().any(is_raised) => (if is_raised(first) { raised } else { first }, left.len()),
        _ => (raised, 1),
    };
    // With these types: a user variable takes them.
    let text = |text: &[u8]| {
        let mut literal = b"_utf8mb3 ".to_vec();
        put_hex(&mut literal, text);
        literal
    };
    let unsigned = |number: usize| format!("CAST({number} AS UNSIGNED)").into_bytes();
    Ok(match item {
        DiagnosticsItem::Number => unsigned(count),
        DiagnosticsItem::RowCount => format!("({row_count})").into_bytes(),
        DiagnosticsItem::Code => unsigned(first.code.into()),
        DiagnosticsItem::Message => text(first.message.as_bytes()),
        // Of an error its reply has told it, and of a condition of the procedure's own the procedure.
        DiagnosticsItem::State if first.level == Level::Error && is_raised(first) => text(&first.state),
        DiagnosticsItem::State => match known_state(first.code) {
            Some(state) => text(&state),
            None => {
                let code = first.code;
                return Err(not_supported(format!(
                    "GET DIAGNOSTICS … RETURNED_SQLSTATE of a warning ({code}) in a procedure that Weir runs statement by statement: ask for MYSQL_ERRNO"
                )));
            }
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_condition_is_told() {
        let error = Raised::error(1062, b"23000", "it's there");
        let warning = Raised { level: Level::Warning, code: 1265, state: *b"01000", message: "cut".into() };
        let strange = Raised { code: 4242, ..warning.clone() };
        let told = |item, raised: &Raised, left: &[Raised]| {
            value(item, raised, left, -1).map(|value| String::from_utf8_lossy(&value).into_owned())
        };
        let both = [warning.clone(), error.clone()];
        assert_eq!(told(DiagnosticsItem::Message, &error, &[]).as_deref(), Ok("_utf8mb3 x'69742773207468657265'"));
        assert_eq!(told(DiagnosticsItem::State, &error, &[]).as_deref(), Ok("_utf8mb3 x'3233303030'"));
        assert_eq!(told(DiagnosticsItem::Code, &error, &both).as_deref(), Ok("CAST(1265 AS UNSIGNED)"));
        assert_eq!(told(DiagnosticsItem::State, &error, &both).as_deref(), Ok("_utf8mb3 x'3031303030'"));
        assert_eq!(told(DiagnosticsItem::Number, &error, &both).as_deref(), Ok("CAST(2 AS UNSIGNED)"));
        // What was left is about another statement.
        assert_eq!(
            told(DiagnosticsItem::Number, &error, std::slice::from_ref(&warning)).as_deref(),
            Ok("CAST(1 AS UNSIGNED)")
        );
        assert_eq!(told(DiagnosticsItem::RowCount, &error, &[]).as_deref(), Ok("(-1)"));
        assert!(told(DiagnosticsItem::State, &strange, &[]).is_err());
    }
}
