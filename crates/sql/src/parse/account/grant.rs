//! GRANT and REVOKE.

use crate::ast::{Account, AccountOption, ActiveRoles, Grant, Granted, Grantor, Revoke, StatementKind};
use crate::kw;
use crate::parse::{Parser, Read};

impl<'a> Parser<'a> {
    /// GRANT.
    pub(in crate::parse) fn grant(&mut self) -> Read<StatementKind<'a>> {
        self.expect(kw::GRANT)?;
        let what = self.granted(kw::TO)?;
        self.expect(kw::TO)?;
        let to = self.list(Self::new_user)?;
        let admin_option = matches!(what, Granted::Roles(_)) && self.eat(kw::WITH);
        if admin_option {
            self.expect_all(&[kw::ADMIN, kw::OPTION])?;
        }
        let options: &[AccountOption<'_>] = if matches!(what, Granted::Roles(_)) { &[] } else { self.grant_options()? };
        let grantor = if matches!(what, Granted::Privileges(..)) { self.grantor()? } else { None };
        Ok(StatementKind::Grant(self.alloc(Grant { what, to, admin_option, options, grantor })))
    }

    /// `AS user [WITH ROLE …]`, if it is there.
    fn grantor(&mut self) -> Read<Option<&'a Grantor<'a>>> {
        if !self.eat(kw::AS) {
            return Ok(None);
        }
        let account = self.account()?;
        let roles = if self.eat(kw::WITH) {
            self.expect(kw::ROLE)?;
            Some(self.active_roles()?)
        } else {
            None
        };
        Ok(Some(self.alloc(Grantor { account, roles })))
    }

    /// `DEFAULT`, `NONE`, `ALL`, `ALL EXCEPT role, …`, `role, …`: what SET ROLE takes.
    pub(crate) fn active_roles(&mut self) -> Read<ActiveRoles<'a>> {
        Ok(match self.eat_any(&[kw::DEFAULT, kw::NONE, kw::ALL]) {
            Some(kw::DEFAULT) => ActiveRoles::Default,
            Some(kw::NONE) => ActiveRoles::None,
            Some(_) if self.eat(kw::EXCEPT) => ActiveRoles::AllExcept(self.accounts()?),
            Some(_) => ActiveRoles::All,
            None => ActiveRoles::Roles(self.accounts()?),
        })
    }

    /// REVOKE.
    pub(in crate::parse) fn revoke(&mut self) -> Read<StatementKind<'a>> {
        self.expect(kw::REVOKE)?;
        let if_exists = self.if_exists()?;
        let admin_option = self.eat_all(&[kw::ADMIN, kw::OPTION, kw::FOR]);
        let what = if admin_option {
            let roles: &[Account<'_>] = self.list(Self::grantee)?;
            Granted::Roles(roles)
        } else {
            self.granted(kw::FROM)?
        };
        self.expect(kw::FROM)?;
        let from = self.list(Self::grantee)?;
        let ignore_unknown_user = self.eat(kw::IGNORE);
        if ignore_unknown_user {
            self.expect_all(&[kw::UNKNOWN, kw::USER])?;
        }
        Ok(StatementKind::Revoke(self.alloc(Revoke { if_exists, admin_option, what, from, ignore_unknown_user })))
    }
}
