//! Prepared statements that idle connections keep, when the server has as many as it takes (`max_prepared_stmt_count`).
//!
//! What must always hold: a statement that has been closed is closed on the server when this says so.

use std::rc::Rc;

use super::Pool;
use crate::connection::Connection;

/// So many are closed for one that has no room.
const ENOUGH: usize = 16;
/// The most connections that are asked to close some.
const MOST_ASKED: usize = 64;

impl Pool {
    /// Has idle connections close the statements that were used longest ago.
    pub async fn close_old_statements(self: &Rc<Self>) {
        let mut closed = 0;
        for _ in 0..MOST_ASKED {
            let Some(mut connection) = self.take_with_statements() else { return };
            closed += connection.close_old_statements(&|_| false);
            // Its answer comes after they are closed. A connection that has none is lost, and its statements with it.
            let answered = connection.ping().await;
            if answered.is_ok() {
                self.give_back(connection);
            }
            if closed >= ENOUGH {
                return;
            }
        }
    }

    /// The idle connection that keeps the most statements.
    fn take_with_statements(&self) -> Option<Box<Connection>> {
        let mut state = self.state.borrow_mut();
        let kept = |list: &Vec<Box<Connection>>| list.iter().map(|connection| connection.statements.len()).max();
        let list = state.idle.values_mut().max_by_key(|list| kept(list).unwrap_or_default())?;
        let (at, most) =
            list.iter().map(|connection| connection.statements.len()).enumerate().max_by_key(|(_, n)| *n)?;
        (most > 0).then(|| list.swap_remove(at))
    }
}
