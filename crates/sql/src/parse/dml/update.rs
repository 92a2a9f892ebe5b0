//! UPDATE.

use super::super::{Parser, Read};
use crate::ast::{StatementKind, Update, With};
use crate::kw;

impl<'a> Parser<'a> {
    /// UPDATE, after WITH if there is one.
    pub(in crate::parse) fn update(&mut self, with: Option<&'a With<'a>>) -> Read<StatementKind<'a>> {
        let start = with.map_or(self.start(), |with| with.span.start);
        let hint = self.hint_ahead();
        self.expect(kw::UPDATE)?;
        let low_priority = self.eat(kw::LOW_PRIORITY);
        let ignore = self.eat(kw::IGNORE);
        let tables = self.table_refs()?;
        self.expect(kw::SET)?;
        let assignments = self.assignments()?;
        let condition = self.where_clause()?;
        let order_by = self.order_by()?;
        let limit = self.plain_limit()?;
        let returning = self.returning()?;
        let update = Update {
            span: self.span_from(start),
            with,
            hint,
            low_priority,
            ignore,
            tables,
            assignments,
            condition,
            order_by,
            limit,
            returning,
        };
        Ok(StatementKind::Update(self.alloc(update)))
    }
}
