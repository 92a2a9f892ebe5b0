//! CREATE, ALTER, DROP and RENAME of users and roles.

use crate::ast::{
    Account, AccountKind, AccountOption, AlterUser, CreateRole, CreateUser, DefaultRoles, DropAccounts, RenameUser,
    StatementKind, UserSpec,
};
use crate::kw;
use crate::parse::{Parser, Read};

impl<'a> Parser<'a> {
    /// CREATE USER.
    pub(in crate::parse) fn create_user(&mut self) -> Read<StatementKind<'a>> {
        self.expect(kw::CREATE)?;
        let or_replace = self.or_replace();
        self.expect(kw::USER)?;
        let if_not_exists = self.if_not_exists()?;
        let users = self.list(Self::new_user)?;
        let default_roles = if self.eat_all(&[kw::DEFAULT, kw::ROLE]) { self.accounts()? } else { &[] };
        let options = self.account_options()?;
        Ok(StatementKind::CreateUser(self.alloc(CreateUser {
            or_replace,
            if_not_exists,
            users,
            default_roles,
            options,
        })))
    }

    /// An account with a way to prove it.
    pub(super) fn new_user(&mut self) -> Read<UserSpec<'a>> {
        let start = self.start();
        let account = self.grantee()?;
        let authentication = self.new_authentication()?;
        Ok(UserSpec { span: self.span_from(start), account, authentication })
    }

    /// ALTER USER.
    pub(in crate::parse) fn alter_user(&mut self) -> Read<StatementKind<'a>> {
        self.expect_all(&[kw::ALTER, kw::USER])?;
        let if_exists = self.if_exists()?;
        let users = self.list(Self::altered_user)?;
        let default_roles = match users {
            [one] if one.authentication.is_empty() && self.at(kw::DEFAULT) => Some(self.default_roles()?),
            _ => None,
        };
        let options: &[AccountOption<'_>] = if default_roles.is_some() { &[] } else { self.account_options()? };
        Ok(StatementKind::AlterUser(self.alloc(AlterUser { if_exists, users, default_roles, options })))
    }

    fn altered_user(&mut self) -> Read<UserSpec<'a>> {
        let start = self.start();
        let account = if self.at(kw::USER) && self.next_is_punct(b'(') {
            self.advance();
            self.advance();
            self.expect_punct(b')')?;
            Account { span: self.span_from(start), kind: AccountKind::SessionUser }
        } else {
            self.account_or_role()?
        };
        let authentication = self.changed_authentication()?;
        Ok(UserSpec { span: self.span_from(start), account, authentication })
    }

    /// `DEFAULT ROLE NONE | ALL | role, …`
    fn default_roles(&mut self) -> Read<DefaultRoles<'a>> {
        self.expect_all(&[kw::DEFAULT, kw::ROLE])?;
        Ok(match self.eat_any(&[kw::NONE, kw::ALL]) {
            Some(kw::NONE) => DefaultRoles::None,
            Some(_) => DefaultRoles::All,
            None => DefaultRoles::Roles(self.accounts()?),
        })
    }

    /// RENAME USER.
    pub(in crate::parse) fn rename_user(&mut self) -> Read<StatementKind<'a>> {
        self.expect_all(&[kw::RENAME, kw::USER])?;
        let pairs = self.list(|parser| {
            let from = parser.account()?;
            parser.expect(kw::TO)?;
            Ok((from, parser.account()?))
        })?;
        Ok(StatementKind::RenameUser(self.alloc(RenameUser { pairs })))
    }

    /// DROP USER, DROP ROLE.
    pub(in crate::parse) fn drop_accounts(&mut self) -> Read<StatementKind<'a>> {
        self.expect(kw::DROP)?;
        let role = self.expect_any(&[kw::USER, kw::ROLE])? == kw::ROLE;
        let if_exists = self.if_exists()?;
        let accounts = self.list(Self::grantee)?;
        Ok(StatementKind::DropAccounts(self.alloc(DropAccounts { role, if_exists, accounts })))
    }

    /// CREATE ROLE.
    pub(in crate::parse) fn create_role(&mut self) -> Read<StatementKind<'a>> {
        self.expect(kw::CREATE)?;
        let or_replace = self.or_replace();
        self.expect(kw::ROLE)?;
        let if_not_exists = self.if_not_exists()?;
        let roles = self.list(Self::grantee)?;
        let admin = match self.eat(kw::WITH) {
            true => {
                self.expect(kw::ADMIN)?;
                Some(self.account_or_role()?)
            }
            false => None,
        };
        Ok(StatementKind::CreateRole(self.alloc(CreateRole { or_replace, if_not_exists, roles, admin })))
    }
}
