//! Whether the statements of a text all run in one place. If not, they run one by one (`statement::multi_statement`), each with its own plan.

use weir_plan::Plan;
use weir_sql::ast::{self, StatementKind};
use weir_sql::visit::{Flow, Node, walk};
use weir_sql::{Bump, Class, TextKind};
use weir_wire::Capabilities;

use super::super::Session;
use super::super::statement::{Form, Statement};

impl Session {
    /// Whether the statements of a text don't all run in one place.
    pub(in super::super) fn is_in_several_places(&mut self, class: &Class, text: &[u8]) -> bool {
        let several =
            class.kind == TextKind::Multiple && self.key.capabilities.contains(Capabilities::MULTI_STATEMENTS);
        several && (self.table_locks.on_several_shards() || self.have_several_places(class, text).unwrap_or(false))
    }

    fn have_several_places(&mut self, class: &Class, text: &[u8]) -> Option<bool> {
        let sharding = self.sharding()?;
        let catalog = sharding.catalog_now();
        if catalog.databases.is_empty() {
            return None;
        }
        let arena = Bump::new();
        let statement = &Statement::new(&arena, text, class, self.state.lex, Form::Resolved);
        let parsed = statement.parsed().ok()?;
        let names_sharded = |statement| {
            let mut found = false;
            walk(Node::Statement(statement), &mut |node: Node<'_>| {
                if let Node::Name(name, _) = node {
                    let database = name.database.map(|database| database.name);
                    let database = database.or(self.state.profile.database.as_deref());
                    found |= database.is_some_and(|database| catalog.database(database).is_some());
                }
                if found { Flow::Stop } else { Flow::Descend }
            });
            found
        };
        // What a name stands for is the session's.
        let by_name = |statement: &ast::Statement<'_>| {
            matches!(
                statement.kind,
                StatementKind::Prepare(_) | StatementKind::Execute(_) | StatementKind::Deallocate(_)
            )
        };
        let named = parsed.statements.iter().any(by_name);
        if parsed.statements.len() < 2 || !named && !parsed.statements.iter().any(names_sharded) {
            return Some(false);
        }
        // Which tables are temporary may change from one statement to the next.
        if self.names_temporary(statement, &catalog) {
            return Some(true);
        }
        let circumstances = self.circumstances();
        Some(match self.plan_with(&catalog, &sharding.weights(), &circumstances, statement, None) {
            Ok(Ok(Plan::Home | Plan::Route(_))) => named || self.transaction.is_multi_shard(),
            _ => true,
        })
    }
}
