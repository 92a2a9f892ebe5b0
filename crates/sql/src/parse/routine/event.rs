//! CREATE EVENT, ALTER EVENT.

use crate::ast::{AlterEvent, CreateEvent, EventOptions, EventStatus, Interval, Schedule, StatementKind};
use crate::kw;
use crate::parse::{Expected, Parser, Read};

impl<'a> Parser<'a> {
    /// CREATE EVENT.
    pub(in crate::parse) fn create_event(&mut self) -> Read<StatementKind<'a>> {
        let head = self.head_of_program(kw::EVENT)?;
        self.expect_all(&[kw::ON, kw::SCHEDULE])?;
        let schedule = self.schedule()?;
        let preserve = self.on_completion()?;
        let options = self.event_options(preserve)?;
        self.expect(kw::DO)?;
        let body = self.body()?;
        Ok(StatementKind::CreateEvent(self.alloc(CreateEvent {
            or_replace: head.or_replace,
            definer: head.definer,
            if_not_exists: head.if_not_exists,
            name: head.name,
            schedule,
            options,
            body,
        })))
    }

    /// ALTER EVENT.
    pub(in crate::parse) fn alter_event(&mut self) -> Read<StatementKind<'a>> {
        self.expect(kw::ALTER)?;
        let definer = self.definer()?;
        self.expect(kw::EVENT)?;
        let name = self.program_name()?;
        let unchanged = self.start();
        let schedule = if self.eat_all(&[kw::ON, kw::SCHEDULE]) { Some(self.schedule()?) } else { None };
        let preserve = self.on_completion()?;
        let new_name = if self.eat_all(&[kw::RENAME, kw::TO]) { Some(self.program_name()?) } else { None };
        let options = self.event_options(preserve)?;
        let body = if self.eat(kw::DO) { Some(self.body()?) } else { None };
        if self.start() == unchanged {
            return self.stop(Expected::What("what to change"));
        }
        Ok(StatementKind::AlterEvent(self.alloc(AlterEvent { definer, name, schedule, new_name, options, body })))
    }

    /// `AT …`, `EVERY …`.
    fn schedule(&mut self) -> Read<Schedule<'a>> {
        if self.expect_any(&[kw::AT, kw::EVERY])? == kw::AT {
            return self.expr().map(Schedule::At);
        }
        let value = self.expr()?;
        let unit = self.interval_unit()?;
        let starts = if self.eat(kw::STARTS) { Some(self.expr()?) } else { None };
        let ends = if self.eat(kw::ENDS) { Some(self.expr()?) } else { None };
        Ok(Schedule::Every { every: Interval { value, unit }, starts, ends })
    }

    /// `ON COMPLETION [NOT] PRESERVE`, if it is there.
    fn on_completion(&mut self) -> Read<Option<bool>> {
        if !self.eat(kw::ON) {
            return Ok(None);
        }
        self.expect(kw::COMPLETION)?;
        let preserve = !self.eat(kw::NOT);
        self.expect(kw::PRESERVE)?;
        Ok(Some(preserve))
    }

    /// `ENABLE`, `DISABLE ON REPLICA`, `COMMENT …`, if they are there.
    fn event_options(&mut self, preserve: Option<bool>) -> Read<EventOptions> {
        let status = match self.eat_any(&[kw::ENABLE, kw::DISABLE]) {
            Some(kw::ENABLE) => Some(EventStatus::Enable),
            Some(_) if self.eat(kw::ON) => {
                self.expect_any(&[kw::REPLICA, kw::SLAVE])?;
                Some(EventStatus::DisableOnReplica)
            }
            Some(_) => Some(EventStatus::Disable),
            None => None,
        };
        let comment = if self.eat(kw::COMMENT) { Some(self.expect_string()?) } else { None };
        Ok(EventOptions { preserve, status, comment })
    }
}
