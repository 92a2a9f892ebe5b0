//! CREATE VIEW and ALTER VIEW.

use super::super::{Parser, Read};
use crate::ast::{CreateView, Ident, Span, StatementKind, ViewKind};
use crate::kw;

impl<'a> Parser<'a> {
    /// CREATE VIEW or ALTER VIEW.
    pub(in crate::parse) fn define_view(&mut self) -> Read<StatementKind<'a>> {
        let alter = self.expect_any(&[kw::CREATE, kw::ALTER])? == kw::ALTER;
        let or_replace = self.or_replace();
        let algorithm = self.view_algorithm()?;
        let definer = self.definer()?;
        let security = self.view_security()?;
        let kind = self.view_kind()?;
        self.expect(kw::VIEW)?;
        let conditional = if alter { self.if_exists()? } else { self.if_not_exists()? };
        let name = self.object_name()?;
        let columns = if self.at_punct(b'(') { self.names_in_parentheses()? } else { &[] };
        self.expect(kw::AS)?;
        let query = self.query()?;
        let check_option = self.check_option_of_view()?;
        Ok(StatementKind::CreateView(self.alloc(CreateView {
            alter,
            or_replace,
            algorithm,
            definer,
            security,
            kind,
            conditional,
            name,
            columns,
            query,
            check_option,
        })))
    }

    fn view_algorithm(&mut self) -> Read<Option<Ident<'a>>> {
        if !self.eat(kw::ALGORITHM) {
            return Ok(None);
        }
        self.expect_punct(b'=')?;
        Ok(Some(self.any_word()?))
    }

    fn view_security(&mut self) -> Read<Option<Ident<'a>>> {
        if !self.eat(kw::SQL) {
            return Ok(None);
        }
        self.expect(kw::SECURITY)?;
        Ok(Some(self.any_word()?))
    }

    fn view_kind(&mut self) -> Read<ViewKind> {
        if self.eat(kw::MATERIALIZED) {
            return Ok(ViewKind::Materialized);
        }
        if !self.eat(kw::JSON) {
            return Ok(ViewKind::Plain);
        }
        self.eat(kw::RELATIONAL);
        self.expect(kw::DUALITY)?;
        Ok(ViewKind::Duality)
    }

    /// `WITH [CASCADED | LOCAL] CHECK OPTION`, if it is there.
    fn check_option_of_view(&mut self) -> Read<Option<Span>> {
        let start = self.start();
        if !self.eat(kw::WITH) {
            return Ok(None);
        }
        self.eat_any(&[kw::CASCADED, kw::LOCAL]);
        self.expect_all(&[kw::CHECK, kw::OPTION])?;
        Ok(Some(self.span_from(start)))
    }
}
