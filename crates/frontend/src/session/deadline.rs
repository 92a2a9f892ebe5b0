//! When a rule ends a statement.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use weir_admin::rules::Rule;
use weir_wire::Failure;
use weir_wire::error::codes;

/// Ends a statement that takes too long: the rule says so, and whether it has.
#[derive(Debug, Default, Clone)]
pub(in crate::session) struct Deadline(Option<Rc<(Arc<Rule>, Cell<bool>)>>);

impl Deadline {
    /// Of a rule, and whether it has passed.
    pub(in crate::session) fn of(rule: Rc<(Arc<Rule>, Cell<bool>)>) -> Deadline {
        Deadline(Some(rule))
    }

    /// Whether there is one.
    pub(in crate::session) fn is_set(&self) -> bool {
        self.0.is_some()
    }

    /// What the client hears in place of this error, if the deadline is what caused it.
    pub(in crate::session) fn in_place_of(&self, code: u16) -> Option<Failure> {
        let (rule, passed) = self.0.as_deref()?;
        (code == codes::ER_QUERY_INTERRUPTED && passed.get()).then(|| rule.timed_out())
    }
}
