//! What a write asks for that may differ from shard to shard: time, chance, the session, the server.
//!
//! What must always hold: copies of a GLOBAL table stay equal, and a statement's time is one on all shards. A value that differs from
//! row to row on one server (`RAND()`, `UUID()` of an UPDATE) may differ so on several shards too, as each row is on one of them.

use std::ops::Range;

use weir_sql::ast::{Call, Expr, ExprKind, Query, VariableScope};
use weir_sql::facts::Varies;
use weir_sql::visit::{Flow, Node, walk};

use super::Input;
use super::names::Target;
use crate::{Need, Refusal, SharedValues};

/// What was found in a statement.
#[derive(Debug, Default)]
pub(super) struct Varying {
    /// All of it.
    pub(super) varies: Varies,
    /// Calls and system variables whose value is one for the statement, or would have to be one for the copies of a GLOBAL table.
    pub(super) values: Vec<(Range<usize>, Varies)>,
    /// A subquery takes some rows of many: `LIMIT` without `ORDER BY`.
    unordered: bool,
    /// User variables that are assigned, or whose values aren't known.
    variable: Option<String>,
    /// A function that is not known, or one that waits for something on a server.
    function: Option<String>,
    /// All stored functions of the statement are known.
    understood: bool,
    /// A MariaDB sequence.
    sequence: bool,
}

impl Varying {
    /// Looks through a statement. `known`: what is known of the functions of the whole.
    pub(super) fn of(input: &Input<'_>, known: Varies) -> Varying {
        let understood = !known.contains(Varies::STORED);
        let mut found = Varying { varies: known, understood, ..Varying::default() };
        walk(Node::Statement(input.statement), &mut |node: Node<'_>| match node {
            Node::Expr(expr) => found.expr(input, expr),
            Node::Query(query) => found.query(query),
            _ => Flow::Descend,
        });
        if known.intersects(Varies::STORED | Varies::TABLES) && found.function.is_none() {
            found.function =
                Some("a stored function that reads tables, or whose body Weir does not fully know,".to_owned());
        }
        found.sequence |= known.contains(Varies::SEQUENCE);
        found
    }

    fn expr(&mut self, input: &Input<'_>, expr: &Expr<'_>) -> Flow {
        match &expr.kind {
            ExprKind::Call(call) => return self.call(call, expr),
            ExprKind::SystemVariable(variable) => {
                let varies =
                    Varies::of_system_variable(variable.name.name, variable.scope == Some(VariableScope::Global));
                self.values.push((expr.span.range(), varies));
            }
            ExprKind::UserVariable(name) if (input.session.variable)(name.name).is_none() => {
                self.variable = Some(String::from_utf8_lossy(name.name).into_owned());
            }
            ExprKind::Assign(assign) => {
                self.variable = Some(String::from_utf8_lossy(assign.variable.name).into_owned());
            }
            _ => {}
        }
        Flow::Descend
    }

    fn call(&mut self, call: &Call<'_>, expr: &Expr<'_>) -> Flow {
        // What is known of a stored function is among what is known of the whole.
        if call.name.database.is_some() && self.understood {
            return Flow::Descend;
        }
        let varies = Varies::of_call(call);
        let name = || String::from_utf8_lossy(call.name.name.name).to_uppercase();
        if varies.contains(Varies::WAITS | Varies::SERVER) || varies.contains(Varies::STORED) || is_lock(call) {
            self.function = Some(format!("{}()", name()));
            return Flow::Skip;
        }
        // It gives its argument back; what it leaves is the session's.
        if call.name.name.is("LAST_INSERT_ID") && !call.arguments.is_empty() {
            return Flow::Descend;
        }
        let once = varies & (Varies::CLOCK | Varies::RANDOM | Varies::SESSION | Varies::SERVER | Varies::SETTING);
        if once.is_empty() {
            return Flow::Descend;
        }
        self.values.push((expr.span.range(), once));
        Flow::Skip
    }

    fn query(&mut self, query: &Query<'_>) -> Flow {
        self.unordered |= query.limit.is_some() && query.order_by.is_empty();
        Flow::Descend
    }

    /// What has to be alike on the shards that get the text.
    ///
    /// # Errors
    /// When that can't be had.
    pub(super) fn alike(&self, targets: &[Target<'_>], changes_rows: bool) -> Result<SharedValues, Refusal> {
        if let Some(name) = &self.function {
            return Err(Need::Value.refused(format!(
                "{name} in a write of several shards: it would run on each of them. Compute the value first and write it as a literal"
            )));
        }
        if let Some(name) = &self.variable {
            return Err(Need::Value.refused(format!(
                "The user variable @{name} in a write of several shards: its value is known on one connection only. SET it to a literal \
                 first"
            )));
        }
        if self.sequence {
            return Err(Need::Value.refused(
                "A SEQUENCE in a write of several shards: each has its own. Take the value first and write it as a literal",
            ));
        }
        if self.unordered {
            return Err(Need::OtherForm.refused(
                "A subquery with LIMIT and without ORDER BY in a write of several shards: each could take other rows. Give it an order",
            ));
        }
        let defaults = changes_rows && targets.iter().any(Target::may_take_time);
        Ok(SharedValues { time: defaults || self.varies.contains(Varies::TIME) })
    }
}

fn is_lock(call: &Call<'_>) -> bool {
    const LOCKS: [&str; 6] =
        ["RELEASE_LOCK", "RELEASE_ALL_LOCKS", "IS_FREE_LOCK", "IS_USED_LOCK", "LOAD_FILE", "GET_LOCK"];
    call.name.database.is_none() && LOCKS.iter().any(|name| call.name.name.is(name))
}
