//! CREATE TRIGGER.

use crate::ast::{CreateTrigger, StatementKind, TriggerEvent, TriggerOrder, TriggerTime};
use crate::kw;
use crate::parse::{Parser, Read};

impl<'a> Parser<'a> {
    /// CREATE TRIGGER.
    pub(in crate::parse) fn create_trigger(&mut self) -> Read<StatementKind<'a>> {
        let head = self.head_of_program(kw::TRIGGER)?;
        let time = match self.expect_any(&[kw::BEFORE, kw::AFTER])? {
            kw::BEFORE => TriggerTime::Before,
            _ => TriggerTime::After,
        };
        let event = match self.expect_any(&[kw::INSERT, kw::UPDATE, kw::DELETE])? {
            kw::INSERT => TriggerEvent::Insert,
            kw::UPDATE => TriggerEvent::Update,
            _ => TriggerEvent::Delete,
        };
        self.expect(kw::ON)?;
        let table = self.object_name()?;
        self.expect_all(&[kw::FOR, kw::EACH, kw::ROW])?;
        let order = match self.eat_any(&[kw::FOLLOWS, kw::PRECEDES]) {
            Some(kw::FOLLOWS) => Some((TriggerOrder::Follows, self.ident_or_string()?)),
            Some(_) => Some((TriggerOrder::Precedes, self.ident_or_string()?)),
            None => None,
        };
        let body = self.body()?;
        Ok(StatementKind::CreateTrigger(self.alloc(CreateTrigger {
            or_replace: head.or_replace,
            definer: head.definer,
            if_not_exists: head.if_not_exists,
            name: head.name,
            time,
            event,
            table,
            order,
            body,
        })))
    }
}
