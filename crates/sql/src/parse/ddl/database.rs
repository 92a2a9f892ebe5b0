//! Databases, servers, tablespaces and the like.

use super::super::{Expected, Parser, Read};
use crate::ast::{
    AlterDatabase, CreateDatabase, DropDatabase, ObjectName, ServerObject, ServerObjectKind, StatementKind, Verb,
};
use crate::kw;

impl<'a> Parser<'a> {
    /// CREATE DATABASE.
    pub(in crate::parse) fn create_database(&mut self) -> Read<StatementKind<'a>> {
        self.expect(kw::CREATE)?;
        let or_replace = self.or_replace();
        self.expect_any(&[kw::DATABASE, kw::SCHEMA])?;
        let if_not_exists = self.if_not_exists()?;
        let name = self.ident()?;
        let options = self.database_options()?;
        let node = CreateDatabase { or_replace, if_not_exists, name, options };
        Ok(StatementKind::CreateDatabase(self.alloc(node)))
    }

    /// ALTER DATABASE.
    pub(in crate::parse) fn alter_database(&mut self) -> Read<StatementKind<'a>> {
        self.expect(kw::ALTER)?;
        self.expect_any(&[kw::DATABASE, kw::SCHEMA])?;
        // A word that begins an option is one here only if it does not stand alone as the name.
        let options_first = self.attempt(|parser| {
            let options = parser.database_options()?;
            if options.is_empty() || !parser.at_end() { parser.stop(Expected::What("an option")) } else { Ok(options) }
        });
        let node = match options_first {
            Some(options) => AlterDatabase { name: None, options },
            None => AlterDatabase { name: Some(self.ident()?), options: self.some_database_options()? },
        };
        Ok(StatementKind::AlterDatabase(self.alloc(node)))
    }

    fn some_database_options(&mut self) -> Read<&'a [crate::ast::NamedOption]> {
        let options = self.database_options()?;
        if options.is_empty() && !self.at_comment_of_weir() {
            self.stop(Expected::What("an option of the database"))
        } else {
            Ok(options)
        }
    }

    /// DROP DATABASE.
    pub(in crate::parse) fn drop_database(&mut self) -> Read<StatementKind<'a>> {
        self.expect(kw::DROP)?;
        self.expect_any(&[kw::DATABASE, kw::SCHEMA])?;
        let if_exists = self.if_exists()?;
        let name = self.ident()?;
        Ok(StatementKind::DropDatabase(self.alloc(DropDatabase { if_exists, name })))
    }

    /// CREATE, ALTER or DROP of a tablespace, a logfile group, a server, a reference system or a resource group.
    pub(in crate::parse) fn server_object(&mut self) -> Read<StatementKind<'a>> {
        let verb = match self.expect_any(&[kw::CREATE, kw::ALTER, kw::DROP])? {
            kw::CREATE => Verb::Create,
            kw::ALTER => Verb::Alter,
            _ => Verb::Drop,
        };
        let or_replace = self.or_replace();
        let kind = self.server_object_kind()?;
        let conditional = if verb == Verb::Create { self.if_not_exists()? } else { self.if_exists()? };
        let name = self.server_object_name(kind)?;
        let options = self.rest_of_statement()?;
        let node = ServerObject { verb, kind, or_replace, conditional, name, options };
        Ok(StatementKind::ServerObject(self.alloc(node)))
    }

    fn server_object_kind(&mut self) -> Read<ServerObjectKind> {
        let word = self.word();
        self.advance();
        match word {
            kw::TABLESPACE => Ok(ServerObjectKind::Tablespace),
            kw::SERVER => Ok(ServerObjectKind::Server),
            kw::UNDO => self.expect(kw::TABLESPACE).map(|()| ServerObjectKind::UndoTablespace),
            kw::LOGFILE => self.expect(kw::GROUP).map(|()| ServerObjectKind::LogfileGroup),
            kw::RESOURCE => self.expect(kw::GROUP).map(|()| ServerObjectKind::ResourceGroup),
            _ => {
                self.expect_all(&[kw::REFERENCE, kw::SYSTEM])?;
                Ok(ServerObjectKind::SpatialReferenceSystem)
            }
        }
    }

    fn server_object_name(&mut self, kind: ServerObjectKind) -> Read<ObjectName<'a>> {
        match kind {
            ServerObjectKind::SpatialReferenceSystem => {
                let span = self.any_number()?;
                Ok(Self::unqualified(crate::ast::Ident { name: self.text_of(span), span }))
            }
            _ => Ok(Self::unqualified(self.ident_or_string()?)),
        }
    }
}
