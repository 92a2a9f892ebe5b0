//! Users, roles and what they may do.
//!
//! What must hold: every string that holds a password or its hash is the span of a [`Secret`] or of
//! [`Authentication::replace`], so that logs can hide it.

use super::{Ident, ObjectName, Span};

/// The account, or accounts, that a statement means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Account<'a> {
    /// All of it.
    pub span: Span,
    /// Whose it is.
    pub kind: AccountKind<'a>,
}

impl<'a> Account<'a> {
    /// The user's or role's name, if it stands in the text.
    pub fn user(&self) -> Option<Ident<'a>> {
        match self.kind {
            AccountKind::Named { user, .. } => Some(user),
            _ => None,
        }
    }

    /// The host, if it stands in the text.
    pub fn host(&self) -> Option<Ident<'a>> {
        match self.kind {
            AccountKind::Named { host, .. } => host,
            _ => None,
        }
    }
}

/// How an account is named.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AccountKind<'a> {
    /// `'u'@'h'`, `u@h`, and `u`, which is any host or a role.
    Named {
        /// The user's or role's name.
        user: Ident<'a>,
        /// After `@`; its span is without `@`. It may be empty: `u@`.
        host: Option<Ident<'a>>,
    },
    /// `CURRENT_USER`, `CURRENT_USER()`.
    CurrentUser,
    /// `USER()`, in ALTER USER (MySQL).
    SessionUser,
    /// `CURRENT_ROLE`, `CURRENT_ROLE()` (MariaDB).
    CurrentRole,
    /// PUBLIC, everybody (MariaDB; MySQL has a role of that name).
    Public,
    /// NONE, no role (MariaDB).
    None,
}

/// CREATE USER.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CreateUser<'a> {
    /// OR REPLACE (MariaDB).
    pub or_replace: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Who.
    pub users: &'a [UserSpec<'a>],
    /// DEFAULT ROLE (MySQL).
    pub default_roles: &'a [Account<'a>],
    /// What holds for all of them.
    pub options: &'a [AccountOption<'a>],
}

/// ALTER USER.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlterUser<'a> {
    /// IF EXISTS.
    pub if_exists: bool,
    /// Who.
    pub users: &'a [UserSpec<'a>],
    /// DEFAULT ROLE of one user (MySQL).
    pub default_roles: Option<DefaultRoles<'a>>,
    /// What holds for all of them.
    pub options: &'a [AccountOption<'a>],
}

/// Roles that are active from a login on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DefaultRoles<'a> {
    /// NONE.
    None,
    /// ALL that are granted.
    All,
    /// These.
    Roles(&'a [Account<'a>]),
}

/// DROP USER, DROP ROLE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropAccounts<'a> {
    /// Whether they are users or roles.
    pub role: bool,
    /// IF EXISTS.
    pub if_exists: bool,
    /// Who.
    pub accounts: &'a [Account<'a>],
}

/// RENAME USER.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RenameUser<'a> {
    /// Who, and what they become.
    pub pairs: &'a [(Account<'a>, Account<'a>)],
}

/// CREATE ROLE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CreateRole<'a> {
    /// OR REPLACE (MariaDB).
    pub or_replace: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Which.
    pub roles: &'a [Account<'a>],
    /// WITH ADMIN (MariaDB).
    pub admin: Option<Account<'a>>,
}

/// An account with how it proves itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UserSpec<'a> {
    /// All of it.
    pub span: Span,
    /// Who.
    pub account: Account<'a>,
    /// The ways to prove it: factors that are all needed (MySQL's AND, ADD, MODIFY, DROP), or alternatives (MariaDB's OR).
    pub authentication: &'a [Authentication<'a>],
}

/// A way to prove who one is, or what becomes of one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Authentication<'a> {
    /// All of it.
    pub span: Span,
    /// What is done with it.
    pub action: AuthenticationAction,
    /// `2 FACTOR`: the number (MySQL).
    pub factor: Option<Span>,
    /// The plugin's name.
    pub plugin: Option<Ident<'a>>,
    /// The password.
    pub secret: Option<Secret>,
    /// `REPLACE 'current password'`: the string (MySQL).
    pub replace: Option<Span>,
    /// RETAIN CURRENT PASSWORD (MySQL).
    pub retain_current: bool,
    /// INITIAL AUTHENTICATION, until the plugin has registered its device (MySQL).
    pub initial: Option<&'a Authentication<'a>>,
}

/// What is done with a way to prove who one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthenticationAction {
    /// IDENTIFIED: it is set.
    Set,
    /// DISCARD OLD PASSWORD.
    DiscardOldPassword,
    /// ADD … FACTOR.
    AddFactor,
    /// MODIFY … FACTOR.
    ModifyFactor,
    /// DROP … FACTOR.
    DropFactor,
    /// INITIATE REGISTRATION.
    InitiateRegistration,
    /// FINISH REGISTRATION.
    FinishRegistration,
    /// UNREGISTER.
    Unregister,
}

/// A password as it stands in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secret {
    /// `BY 'password'`, `USING PASSWORD('password')`: the string.
    Password(Span),
    /// `AS 'hash'`, `BY PASSWORD 'hash'`, `USING 'hash'`: the string or hexadecimal number. A plugin may take it for a
    /// password.
    Hash(Span),
    /// RANDOM PASSWORD (MySQL).
    Random,
}

/// What holds for the accounts of a statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AccountOption<'a> {
    /// All of it.
    pub span: Span,
    /// Which.
    pub kind: AccountOptionKind<'a>,
}

/// An account's option.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AccountOptionKind<'a> {
    /// REQUIRE.
    Require(Encryption<'a>),
    /// WITH `MAX_QUERIES_PER_HOUR` and the like: the word, and the number.
    Limit(Ident<'a>, Span),
    /// WITH GRANT OPTION.
    GrantOption,
    /// PASSWORD EXPIRE.
    PasswordExpire(PasswordExpiry),
    /// PASSWORD HISTORY; `None`: DEFAULT.
    PasswordHistory(Option<Span>),
    /// PASSWORD REUSE INTERVAL; `None`: DEFAULT.
    PasswordReuseInterval(Option<Span>),
    /// PASSWORD REQUIRE CURRENT.
    PasswordRequireCurrent(PasswordRequire),
    /// `FAILED_LOGIN_ATTEMPTS`.
    FailedLoginAttempts(Span),
    /// `PASSWORD_LOCK_TIME`; `None`: UNBOUNDED.
    PasswordLockTime(Option<Span>),
    /// ACCOUNT LOCK (true) or UNLOCK.
    AccountLock(bool),
    /// COMMENT: the string.
    Comment(Span),
    /// ATTRIBUTE: the string.
    Attribute(Span),
}

/// Which encryption a connection must have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Encryption<'a> {
    /// NONE.
    None,
    /// SSL.
    Ssl,
    /// X509.
    X509,
    /// SUBJECT, ISSUER, CIPHER with their strings.
    Certificate(&'a [(CertificatePart, Span)]),
}

/// What a certificate must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificatePart {
    /// SUBJECT.
    Subject,
    /// ISSUER.
    Issuer,
    /// CIPHER.
    Cipher,
}

/// When a password expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PasswordExpiry {
    /// PASSWORD EXPIRE.
    Now,
    /// DEFAULT.
    Default,
    /// NEVER.
    Never,
    /// INTERVAL … DAY: the number.
    Days(Span),
}

/// Whether changing a password takes the current one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PasswordRequire {
    /// PASSWORD REQUIRE CURRENT.
    Always,
    /// DEFAULT.
    Default,
    /// OPTIONAL.
    Optional,
}

/// GRANT.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grant<'a> {
    /// What.
    pub what: Granted<'a>,
    /// To whom; with passwords on MariaDB.
    pub to: &'a [UserSpec<'a>],
    /// WITH ADMIN OPTION, of roles.
    pub admin_option: bool,
    /// REQUIRE, WITH GRANT OPTION and limits.
    pub options: &'a [AccountOption<'a>],
    /// `AS user WITH ROLE …`: whose privileges limit it (MySQL).
    pub grantor: Option<&'a Grantor<'a>>,
}

/// REVOKE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Revoke<'a> {
    /// IF EXISTS (MySQL).
    pub if_exists: bool,
    /// ADMIN OPTION FOR (MariaDB): only the right to give the roles to others.
    pub admin_option: bool,
    /// What.
    pub what: Granted<'a>,
    /// From whom.
    pub from: &'a [Account<'a>],
    /// IGNORE UNKNOWN USER (MySQL).
    pub ignore_unknown_user: bool,
}

/// What is given or taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Granted<'a> {
    /// Privileges on something.
    Privileges(&'a [Privilege<'a>], GrantTarget<'a>),
    /// Roles.
    Roles(&'a [Account<'a>]),
    /// PROXY ON an account.
    Proxy(Account<'a>),
    /// REVOKE ALL PRIVILEGES, GRANT OPTION.
    Everything,
}

/// A privilege.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Privilege<'a> {
    /// All of it.
    pub span: Span,
    /// Its words: `SELECT`, `CREATE TEMPORARY TABLES`, `ALL PRIVILEGES`, `BINLOG_ADMIN`, `GRANT OPTION`.
    pub name: Span,
    /// The columns that it is restricted to.
    pub columns: &'a [Ident<'a>],
}

/// What a privilege is for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GrantTarget<'a> {
    /// All of it, after ON.
    pub span: Span,
    /// The kind of object, if it stands before the name.
    pub object: Option<GrantObject>,
    /// Which.
    pub level: GrantLevel<'a>,
}

/// Kinds of objects that have privileges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantObject {
    /// TABLE.
    Table,
    /// FUNCTION.
    Function,
    /// PROCEDURE.
    Procedure,
    /// LIBRARY (MySQL).
    Library,
    /// PACKAGE (MariaDB).
    Package,
    /// PACKAGE BODY (MariaDB).
    PackageBody,
}

/// How far a privilege reaches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GrantLevel<'a> {
    /// `*.*`.
    Global,
    /// `db.*`. The name may be a pattern.
    Database(Ident<'a>),
    /// `*`: the default database, or everything if there is none.
    DefaultDatabase,
    /// `db.t`, `t`.
    Object(ObjectName<'a>),
}

/// `AS user WITH ROLE …`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grantor<'a> {
    /// Who.
    pub account: Account<'a>,
    /// WITH ROLE.
    pub roles: Option<ActiveRoles<'a>>,
}

/// Which roles are active.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ActiveRoles<'a> {
    /// DEFAULT.
    Default,
    /// NONE.
    None,
    /// ALL.
    All,
    /// ALL EXCEPT these.
    AllExcept(&'a [Account<'a>]),
    /// These.
    Roles(&'a [Account<'a>]),
}
