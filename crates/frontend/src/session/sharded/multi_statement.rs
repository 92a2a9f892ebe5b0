//! Texts of several statements that don't all run in one place: they run one by one (`statement::multi_statement`), each with its own plan.

use weir_plan::Plan;
use weir_sql::TextKind;
use weir_sql::ast::{self, StatementKind};
use weir_sql::visit::{Flow, Node, walk};
use weir_wire::Capabilities;

use super::super::Session;
use super::super::statement::Statement;

impl Session {
    /// Whether the statements of a text have to run one by one, because they don't all run in one place. Not while the session's
    /// connections take one statement only: such a text is what can't be taken further apart.
    pub(in super::super) fn runs_apart(&mut self, statement: &Statement<'_>) -> bool {
        statement.class.kind == TextKind::Multiple
            && self.key.capabilities.contains(Capabilities::MULTI_STATEMENTS)
            && self.is_in_several_places(statement).unwrap_or(false)
    }

    fn is_in_several_places(&mut self, statement: &Statement<'_>) -> Option<bool> {
        let sharding = self.sharding()?;
        let catalog = sharding.catalog_now();
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
        // A file that the client sends is part of the exchange of packets.
        let loads = parsed.statements.iter().any(|statement| matches!(statement.kind, StatementKind::Load(_)));
        // What a name stands for is the session's.
        let by_name = |statement: &ast::Statement<'_>| {
            let kinds = |kind| {
                matches!(kind, StatementKind::Prepare(_) | StatementKind::Execute(_) | StatementKind::Deallocate(_))
            };
            !catalog.databases.is_empty() && kinds(statement.kind)
        };
        let named = parsed.statements.iter().any(by_name);
        if loads || parsed.statements.len() < 2 || !named && !parsed.statements.iter().any(names_sharded) {
            return Some(false);
        }
        let circumstances = self.circumstances();
        Some(match self.plan_with(&catalog, &sharding.weights(), &circumstances, statement, None) {
            Ok(Ok(Plan::Home | Plan::Route(_))) => named || self.transaction.is_multi_shard(),
            _ => true,
        })
    }
}
