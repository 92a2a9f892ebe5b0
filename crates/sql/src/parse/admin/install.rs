//! INSTALL, UNINSTALL and CLONE.

use crate::ast::{CloneServer, Install, ServerControl, StatementKind};
use crate::kw;
use crate::parse::{Parser, Read};

impl<'a> Parser<'a> {
    /// INSTALL.
    pub(in crate::parse) fn install(&mut self) -> Read<StatementKind<'a>> {
        self.advance();
        let install = match self.expect_any(&[kw::PLUGIN, kw::SONAME, kw::COMPONENT])? {
            kw::PLUGIN => {
                self.if_not_exists()?;
                let name = self.ident()?;
                self.expect(kw::SONAME)?;
                Install::Plugin(name, self.expect_string()?)
            }
            kw::SONAME => Install::Soname(self.expect_string()?),
            _ => {
                let components = self.list(Self::expect_string)?;
                let items = if self.eat(kw::SET) { self.set_items()? } else { &[] };
                Install::Components(components, items)
            }
        };
        Ok(StatementKind::Install(self.alloc(install)))
    }

    /// UNINSTALL.
    pub(in crate::parse) fn uninstall(&mut self) -> Read<StatementKind<'a>> {
        self.advance();
        let install = match self.expect_any(&[kw::PLUGIN, kw::SONAME, kw::COMPONENT])? {
            kw::PLUGIN => {
                self.if_exists()?;
                Install::RemovePlugin(self.ident()?)
            }
            kw::SONAME => {
                self.if_exists()?;
                Install::RemoveSoname(self.expect_string()?)
            }
            _ => Install::RemoveComponents(self.list(Self::expect_string)?),
        };
        Ok(StatementKind::Install(self.alloc(install)))
    }

    /// CLONE.
    pub(in crate::parse) fn clone_statement(&mut self) -> Read<StatementKind<'a>> {
        self.advance();
        let clone = if self.eat(kw::LOCAL) {
            self.expect_all(&[kw::DATA, kw::DIRECTORY])?;
            self.eat_punct(b'=');
            CloneServer::Local(self.expect_string()?)
        } else {
            self.expect_all(&[kw::INSTANCE, kw::FROM])?;
            let account = self.account()?;
            let start = self.start();
            self.clone_options()?;
            CloneServer::Instance(account, self.span_from(start))
        };
        Ok(StatementKind::Server(self.alloc(ServerControl::Clone(clone))))
    }

    /// `:port IDENTIFIED BY 'password' [DATA DIRECTORY = 'path'] [REQUIRE [NO] SSL]`.
    fn clone_options(&mut self) -> Read<()> {
        self.expect_punct(b':')?;
        self.expect_integer()?;
        self.expect_all(&[kw::IDENTIFIED, kw::BY])?;
        self.expect_string()?;
        if self.eat(kw::DATA) {
            self.expect(kw::DIRECTORY)?;
            self.eat_punct(b'=');
            self.expect_string()?;
        }
        if self.eat(kw::REQUIRE) {
            self.eat(kw::NO);
            self.expect(kw::SSL)?;
        }
        Ok(())
    }
}
