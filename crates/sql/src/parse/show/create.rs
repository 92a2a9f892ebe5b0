//! SHOW CREATE.

use super::Shown;
use crate::ast::{ObjectName, ShowCreate, ShowKind};
use crate::kw;
use crate::parse::{Expected, Parser, Read};

impl<'a> Parser<'a> {
    /// At CREATE.
    pub(super) fn show_create(&mut self) -> Shown<'a> {
        self.advance();
        let create = self.show_create_what()?;
        Ok(ShowKind::Create(self.alloc(create)))
    }

    fn show_create_what(&mut self) -> Read<ShowCreate<'a>> {
        if let Some(kind) = self.routine_kind() {
            return Ok(ShowCreate::Routine(kind, self.object_name()?));
        }
        match self.word() {
            kw::TABLE => self.show_create_object(ShowCreate::Table),
            kw::VIEW => self.show_create_object(ShowCreate::View),
            kw::SEQUENCE => self.show_create_object(ShowCreate::Sequence),
            kw::TRIGGER => self.show_create_object(ShowCreate::Trigger),
            kw::EVENT => self.show_create_object(ShowCreate::Event),
            kw::DATABASE | kw::SCHEMA => {
                self.advance();
                self.if_not_exists()?;
                Ok(ShowCreate::Database(self.ident()?))
            }
            kw::USER => {
                self.advance();
                Ok(ShowCreate::User(if self.at_end() { None } else { Some(self.account()?) }))
            }
            _ => self.stop(Expected::What("a kind of object")),
        }
    }

    fn show_create_object(&mut self, create: impl FnOnce(ObjectName<'a>) -> ShowCreate<'a>) -> Read<ShowCreate<'a>> {
        self.advance();
        self.object_name().map(create)
    }
}
