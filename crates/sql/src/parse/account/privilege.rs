//! What stands between GRANT or REVOKE and TO or FROM: privileges, or roles.
//!
//! What must hold: whether a word is a privilege or a role is only known at the ON, TO or FROM that ends the list, since
//! `EVENT` may be either and MySQL's privileges of plugins are ordinary names.

use bumpalo::collections::Vec as ArenaVec;

use crate::ast::{Account, GrantLevel, GrantObject, GrantTarget, Granted, Ident, Privilege};
use crate::keyword::Keyword;
use crate::kw;
use crate::lexer::TokenKind;
use crate::parse::{Expected, Parser, Read};

/// Privileges of several words. Where one begins like another, the longer stands first.
const OF_SEVERAL_WORDS: &[&[Keyword]] = &[
    &[kw::ALTER, kw::ROUTINE],
    &[kw::BINLOG, kw::ADMIN],
    &[kw::BINLOG, kw::MONITOR],
    &[kw::BINLOG, kw::REPLAY],
    &[kw::CONNECTION, kw::ADMIN],
    &[kw::CREATE, kw::ROLE],
    &[kw::CREATE, kw::ROUTINE],
    &[kw::CREATE, kw::TABLESPACE],
    &[kw::CREATE, kw::TEMPORARY, kw::TABLES],
    &[kw::CREATE, kw::USER],
    &[kw::CREATE, kw::VIEW],
    &[kw::DELETE, kw::HISTORY],
    &[kw::DROP, kw::ROLE],
    &[kw::FEDERATED, kw::ADMIN],
    &[kw::GRANT, kw::OPTION],
    &[kw::LOCK, kw::TABLES],
    &[kw::READ_ONLY, kw::ADMIN],
    &[kw::READ, kw::ONLY, kw::ADMIN],
    &[kw::REPLICA, kw::MONITOR],
    &[kw::REPLICATION, kw::CLIENT],
    &[kw::REPLICATION, kw::MASTER, kw::ADMIN],
    &[kw::REPLICATION, kw::REPLICA, kw::ADMIN],
    &[kw::REPLICATION, kw::REPLICA],
    &[kw::REPLICATION, kw::SLAVE, kw::ADMIN],
    &[kw::REPLICATION, kw::SLAVE],
    &[kw::SET, kw::USER],
    &[kw::SHOW, kw::DATABASES],
    &[kw::SHOW, kw::VIEW],
    &[kw::SLAVE, kw::MONITOR],
];

/// Privileges of one word that no role can have as its name.
const RESERVED: &[Keyword] = &[
    kw::ALTER,
    kw::CREATE,
    kw::DELETE,
    kw::DROP,
    kw::INDEX,
    kw::INSERT,
    kw::REFERENCES,
    kw::SELECT,
    kw::TRIGGER,
    kw::UPDATE,
    kw::USAGE,
];

/// A privilege or a role.
#[derive(Clone, Copy)]
struct Item<'a> {
    privilege: Privilege<'a>,
    /// What it is if it is a role.
    role: Option<Account<'a>>,
}

impl<'a> Parser<'a> {
    /// Privileges with ON and what they are for, or roles, up to this word, which is left to the caller.
    pub(super) fn granted(&mut self, end: Keyword) -> Read<Granted<'a>> {
        if self.at(kw::PROXY) && self.next_is(kw::ON) {
            self.advance();
            self.advance();
            return Ok(Granted::Proxy(self.account()?));
        }
        if let Some(all) = self.all_privileges() {
            if end == kw::FROM && self.eat_punct(b',') {
                self.expect_all(&[kw::GRANT, kw::OPTION])?;
                return Ok(Granted::Everything);
            }
            let privileges = std::slice::from_ref(self.alloc(all));
            return Ok(Granted::Privileges(privileges, self.grant_target()?));
        }
        let items = self.list(Self::privilege_or_role)?;
        if self.at(kw::ON) {
            return self.privileges_of(items);
        }
        let mut roles = ArenaVec::with_capacity_in(items.len(), self.arena);
        for item in items {
            match item.role {
                Some(role) => roles.push(role),
                None => return self.stop(Expected::Word(kw::ON)),
            }
        }
        Ok(Granted::Roles(roles.into_bump_slice()))
    }

    fn privileges_of(&mut self, items: &[Item<'a>]) -> Read<Granted<'a>> {
        let mut privileges = ArenaVec::with_capacity_in(items.len(), self.arena);
        for item in items {
            if item.role.is_some_and(|role| role.host().is_some()) {
                return self.stop(Expected::Words(&[kw::TO, kw::FROM]));
            }
            privileges.push(item.privilege);
        }
        let privileges = privileges.into_bump_slice();
        Ok(Granted::Privileges(privileges, self.grant_target()?))
    }

    /// `ALL`, `ALL PRIVILEGES`.
    fn all_privileges(&mut self) -> Option<Privilege<'a>> {
        let start = self.start();
        if !self.eat(kw::ALL) {
            return None;
        }
        self.eat(kw::PRIVILEGES);
        let name = self.span_from(start);
        Some(Privilege { span: name, name, columns: &[] })
    }

    fn privilege_or_role(&mut self) -> Read<Item<'a>> {
        let start = self.start();
        let role = self.privilege_words()?;
        let name = role.map_or_else(|| self.span_from(start), |role| role.span);
        let has_columns = self.at_punct(b'(');
        let columns: &[Ident<'_>] = if has_columns { self.parenthesised(Self::ident)? } else { &[] };
        let role = role.filter(|_| !has_columns);
        Ok(Item { privilege: Privilege { span: self.span_from(start), name, columns }, role })
    }

    /// The words of a privilege; the account, if they may be a role's name.
    fn privilege_words(&mut self) -> Read<Option<Account<'a>>> {
        if OF_SEVERAL_WORDS.iter().any(|words| self.eat_all(words)) {
            return Ok(None);
        }
        if self.at_any(RESERVED) {
            self.advance();
            return Ok(None);
        }
        if !(self.at_name() || self.kind() == TokenKind::String || self.at(kw::CURRENT_ROLE)) {
            return self.stop(Expected::What("a privilege or a role"));
        }
        self.grantee().map(Some)
    }

    /// ON and what follows it.
    fn grant_target(&mut self) -> Read<GrantTarget<'a>> {
        self.expect(kw::ON)?;
        let start = self.start();
        let object = self.grant_object();
        let level = self.grant_level()?;
        Ok(GrantTarget { span: self.span_from(start), object, level })
    }

    fn grant_object(&mut self) -> Option<GrantObject> {
        let object = match self.word() {
            kw::TABLE => GrantObject::Table,
            kw::FUNCTION => GrantObject::Function,
            kw::PROCEDURE => GrantObject::Procedure,
            kw::LIBRARY => GrantObject::Library,
            kw::PACKAGE => GrantObject::Package,
            _ => return None,
        };
        // FUNCTION, LIBRARY and PACKAGE may be names.
        if self.next_is_punct(b'.') || self.next_is(kw::TO) || self.next_is(kw::FROM) {
            return None;
        }
        self.advance();
        let body = object == GrantObject::Package && self.eat(kw::BODY);
        Some(if body { GrantObject::PackageBody } else { object })
    }

    /// `*.*`, `*`, `db.*`, `db.t`, `t`.
    fn grant_level(&mut self) -> Read<GrantLevel<'a>> {
        if self.eat_punct(b'*') {
            if !self.eat_punct(b'.') {
                return Ok(GrantLevel::DefaultDatabase);
            }
            self.expect_punct(b'*')?;
            return Ok(GrantLevel::Global);
        }
        if self.at_name() && self.next_is_punct(b'.') {
            let mut ahead = self.cursor;
            ahead.advance();
            if ahead.next_is_punct(b'*') {
                let database = self.take_ident();
                self.advance();
                self.advance();
                return Ok(GrantLevel::Database(database));
            }
        }
        self.object_name().map(GrantLevel::Object)
    }
}
