//! What holds for the accounts of a statement: REQUIRE, WITH, PASSWORD …, ACCOUNT …, COMMENT.

use crate::ast::{
    AccountOption, AccountOptionKind, CertificatePart, Encryption, PasswordExpiry, PasswordRequire, Span,
};
use crate::keyword::Keyword;
use crate::kw;
use crate::lexer::TokenKind;
use crate::parse::{Expected, Parser, Read};

/// Limits per account, after WITH.
const LIMITS: &[Keyword] = &[
    kw::MAX_QUERIES_PER_HOUR,
    kw::MAX_UPDATES_PER_HOUR,
    kw::MAX_CONNECTIONS_PER_HOUR,
    kw::MAX_USER_CONNECTIONS,
    kw::MAX_STATEMENT_TIME,
];

impl<'a> Parser<'a> {
    /// All options of CREATE USER and ALTER USER, in the servers' order.
    pub(super) fn account_options(&mut self) -> Read<&'a [AccountOption<'a>]> {
        let mut within_with = false;
        let mut last = 0;
        self.several(|parser| {
            let rank = match parser.word() {
                kw::REQUIRE => 1,
                kw::WITH => 2,
                word if within_with && LIMITS.contains(&word) => 2,
                kw::PASSWORD | kw::ACCOUNT | kw::FAILED_LOGIN_ATTEMPTS | kw::PASSWORD_LOCK_TIME => 3,
                kw::COMMENT | kw::ATTRIBUTE => 4,
                _ => return Ok(None),
            };
            let repeats = rank == 3 || (rank == 2 && !parser.at(kw::WITH));
            if rank < last || (rank == last && !repeats) {
                return Ok(None);
            }
            last = rank;
            within_with = rank == 2;
            parser.account_option().map(Some)
        })
    }

    /// REQUIRE and WITH of GRANT; GRANT OPTION may stand among the limits.
    pub(super) fn grant_options(&mut self) -> Read<&'a [AccountOption<'a>]> {
        let mut within_with = false;
        let mut first = true;
        self.several(|parser| {
            let fits = match parser.word() {
                kw::REQUIRE => first,
                kw::WITH => !within_with,
                kw::GRANT => within_with,
                word => within_with && LIMITS.contains(&word),
            };
            within_with |= parser.at(kw::WITH);
            first = false;
            if fits { parser.account_option().map(Some) } else { Ok(None) }
        })
    }

    fn account_option(&mut self) -> Read<AccountOption<'a>> {
        let start = self.start();
        let kind = match self.word() {
            kw::REQUIRE => AccountOptionKind::Require(self.encryption()?),
            kw::PASSWORD => self.password_option()?,
            kw::ACCOUNT => {
                self.advance();
                AccountOptionKind::AccountLock(self.expect_any(&[kw::LOCK, kw::UNLOCK])? == kw::LOCK)
            }
            kw::FAILED_LOGIN_ATTEMPTS => {
                self.advance();
                AccountOptionKind::FailedLoginAttempts(self.number()?)
            }
            kw::PASSWORD_LOCK_TIME => {
                self.advance();
                AccountOptionKind::PasswordLockTime(self.number_unless(kw::UNBOUNDED)?)
            }
            kw::COMMENT => {
                self.advance();
                AccountOptionKind::Comment(self.expect_string()?)
            }
            kw::ATTRIBUTE => {
                self.advance();
                AccountOptionKind::Attribute(self.expect_string()?)
            }
            _ => {
                self.eat(kw::WITH);
                self.limit_option()?
            }
        };
        Ok(AccountOption { span: self.span_from(start), kind })
    }

    /// After WITH, or further on in it.
    fn limit_option(&mut self) -> Read<AccountOptionKind<'a>> {
        if self.eat(kw::GRANT) {
            self.expect(kw::OPTION)?;
            return Ok(AccountOptionKind::GrantOption);
        }
        if !self.at_any(LIMITS) {
            return self.stop(Expected::Words(LIMITS));
        }
        let word = self.take_ident();
        let start = self.start();
        // MariaDB: -1 for no connections at all.
        self.eat_punct(b'-');
        self.number()?;
        Ok(AccountOptionKind::Limit(word, self.span_from(start)))
    }

    /// A number in any spelling.
    fn number(&mut self) -> Read<Span> {
        match self.kind() {
            TokenKind::Integer | TokenKind::Decimal | TokenKind::Float | TokenKind::Hex => {
                Ok(Self::span_of(self.take()))
            }
            _ => self.stop(Expected::What("a number")),
        }
    }

    /// A number, or this word instead.
    fn number_unless(&mut self, word: Keyword) -> Read<Option<Span>> {
        if self.eat(word) { Ok(None) } else { self.number().map(Some) }
    }

    fn encryption(&mut self) -> Read<Encryption<'a>> {
        self.advance();
        Ok(match self.eat_any(&[kw::NONE, kw::SSL, kw::X509]) {
            Some(kw::NONE) => Encryption::None,
            Some(kw::SSL) => Encryption::Ssl,
            Some(_) => Encryption::X509,
            None => Encryption::Certificate(self.certificate()?),
        })
    }

    /// `SUBJECT '…' [AND] ISSUER '…' …`
    fn certificate(&mut self) -> Read<&'a [(CertificatePart, Span)]> {
        let mut needed = true;
        self.several(|parser| {
            let part = match parser.word() {
                kw::SUBJECT => CertificatePart::Subject,
                kw::ISSUER => CertificatePart::Issuer,
                kw::CIPHER => CertificatePart::Cipher,
                _ if needed => return parser.stop(Expected::Words(&[kw::SUBJECT, kw::ISSUER, kw::CIPHER])),
                _ => return Ok(None),
            };
            parser.advance();
            let value = parser.expect_string()?;
            needed = parser.eat(kw::AND);
            Ok(Some((part, value)))
        })
    }

    /// `PASSWORD EXPIRE …`, `PASSWORD HISTORY …`, `PASSWORD REUSE INTERVAL …`, `PASSWORD REQUIRE CURRENT …`.
    fn password_option(&mut self) -> Read<AccountOptionKind<'a>> {
        self.advance();
        Ok(match self.expect_any(&[kw::EXPIRE, kw::HISTORY, kw::REUSE, kw::REQUIRE])? {
            kw::EXPIRE => AccountOptionKind::PasswordExpire(self.password_expiry()?),
            kw::HISTORY => AccountOptionKind::PasswordHistory(self.number_unless(kw::DEFAULT)?),
            kw::REUSE => {
                self.expect(kw::INTERVAL)?;
                let days = self.number_unless(kw::DEFAULT)?;
                if days.is_some() {
                    self.expect(kw::DAY)?;
                }
                AccountOptionKind::PasswordReuseInterval(days)
            }
            _ => {
                self.expect(kw::CURRENT)?;
                AccountOptionKind::PasswordRequireCurrent(match self.eat_any(&[kw::DEFAULT, kw::OPTIONAL]) {
                    Some(kw::DEFAULT) => PasswordRequire::Default,
                    Some(_) => PasswordRequire::Optional,
                    None => PasswordRequire::Always,
                })
            }
        })
    }

    fn password_expiry(&mut self) -> Read<PasswordExpiry> {
        Ok(match self.eat_any(&[kw::DEFAULT, kw::NEVER, kw::INTERVAL]) {
            Some(kw::DEFAULT) => PasswordExpiry::Default,
            Some(kw::NEVER) => PasswordExpiry::Never,
            Some(_) => {
                let days = self.number()?;
                self.expect(kw::DAY)?;
                PasswordExpiry::Days(days)
            }
            None => PasswordExpiry::Now,
        })
    }
}
