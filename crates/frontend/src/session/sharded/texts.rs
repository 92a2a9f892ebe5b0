//! Texts of several statements that don't all run in one place: one statement after another, each with its own plan.
//!
//! What must always hold: to the client it is what one server does with such a text: the replies in their order, up to the first error;
//! what ran before that stays done.

use std::ops::Range;

use weir_plan::Plan;
use weir_sql::ast::{Statement, StatementKind};
use weir_sql::visit::{Flow, Node, walk};
use weir_sql::{Bump, Class, Kind};
use weir_wire::Capabilities;

use super::super::{End, Session};
use super::Asked;

impl Session {
    /// The statements of a text, if they have to run one by one.
    pub(in super::super) fn statements_apart(&mut self, class: &Class, text: &[u8]) -> Option<Vec<Range<usize>>> {
        if class.kind != Kind::Multiple || !self.client.capabilities.contains(Capabilities::MULTI_STATEMENTS) {
            return None;
        }
        let sharding = self.sharding()?;
        let catalog = sharding.catalog_now();
        let arena = Bump::new();
        let parsed = weir_sql::parse(&arena, text, self.state.lex).ok()?;
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
        let by_name = |statement: &Statement<'_>| {
            let kinds = |kind| {
                matches!(kind, StatementKind::Prepare(_) | StatementKind::Execute(_) | StatementKind::Deallocate(_))
            };
            !catalog.databases.is_empty() && kinds(statement.kind)
        };
        let named = parsed.statements.iter().any(by_name);
        if loads || parsed.statements.len() < 2 || !named && !parsed.statements.iter().any(names_sharded) {
            return None;
        }
        let asked = Asked { class, text, execution: None, values: None };
        let circumstances = self.circumstances();
        match self.plan_with(&catalog, &sharding.weights(), &circumstances, asked, None) {
            Ok(Ok(Plan::Home | Plan::Route(_))) if !named && !self.branches.are_several() => None,
            _ => Some(parsed.statements.iter().map(|statement| statement.span.range()).collect()),
        }
    }

    /// Runs the statements of a text one by one. `at`: where the text begins in the command.
    pub(in super::super) async fn run_one_by_one(
        &mut self,
        payload: &[u8],
        at: usize,
        statements: Vec<Range<usize>>,
    ) -> Result<(), End> {
        self.client.begin_replies();
        let ended = self.run_each(payload, at, statements).await;
        self.client.end_replies();
        ended
    }

    async fn run_each(&mut self, payload: &[u8], at: usize, statements: Vec<Range<usize>>) -> Result<(), End> {
        let count = statements.len();
        for (nth, range) in statements.into_iter().enumerate() {
            let text = &payload[at..][range];
            let command = [&payload[..at], text].concat();
            let read = self.shared.read(text, self.state.lex);
            self.run_text(&command, at, &read, None).await?;
            let more = nth + 1 < count;
            if !self.client.end_reply(more) || !more {
                break;
            }
            self.settle().await?;
            self.target_writer();
        }
        Ok(())
    }
}
