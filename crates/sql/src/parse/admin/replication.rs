//! CHANGE MASTER, CHANGE REPLICATION SOURCE and FILTER, START and STOP of replicas.

use crate::ast::{Ident, Replication, ReplicationOption, ReplicationVerb, Span, StatementKind};
use crate::kw;
use crate::lexer::TokenKind;
use crate::parse::{Expected, Parser, Read};

impl<'a> Parser<'a> {
    /// CHANGE.
    pub(in crate::parse) fn change_replication(&mut self) -> Read<StatementKind<'a>> {
        self.advance();
        let mut verb = ReplicationVerb::ChangeSource;
        let mut connection = None;
        match self.expect_any(&[kw::MASTER, kw::REPLICATION])? {
            kw::MASTER => {
                connection = self.maybe_string();
                self.expect(kw::TO)?;
            }
            _ => match self.expect_any(&[kw::SOURCE, kw::FILTER])? {
                kw::FILTER => verb = ReplicationVerb::ChangeFilter,
                _ => self.expect(kw::TO)?,
            },
        }
        let options = self.list(Self::replication_option)?;
        let channel = self.for_channel()?.or(connection);
        Ok(self.replication(Replication { verb, all: false, channel, threads: &[], options }))
    }

    fn replication(&self, replication: Replication<'a>) -> StatementKind<'a> {
        StatementKind::Replication(self.alloc(replication))
    }

    /// START or STOP.
    pub(in crate::parse) fn start_or_stop_replication(&mut self) -> Read<StatementKind<'a>> {
        let starts = self.expect_any(&[kw::START, kw::STOP])? == kw::START;
        if self.eat(kw::GROUP_REPLICATION) {
            let verb = if starts { ReplicationVerb::StartGroup } else { ReplicationVerb::StopGroup };
            let options = if self.at_end() { &[] } else { self.list(Self::replication_option)? };
            return Ok(self.replication(Replication { verb, all: false, channel: None, threads: &[], options }));
        }
        let all = self.eat(kw::ALL);
        match all {
            true => self.expect_any(&[kw::SLAVES, kw::REPLICAS])?,
            false => self.expect_any(&[kw::SLAVE, kw::REPLICA])?,
        };
        let connection = if all { None } else { self.maybe_string() };
        let threads = self.replication_threads()?;
        let options = self.start_options()?;
        let channel = self.for_channel()?.or(connection);
        let verb = if starts { ReplicationVerb::Start } else { ReplicationVerb::Stop };
        Ok(self.replication(Replication { verb, all, channel, threads, options }))
    }

    fn replication_threads(&mut self) -> Read<&'a [Ident<'a>]> {
        if !self.at_any(&[kw::IO_THREAD, kw::RELAY_THREAD, kw::SQL_THREAD]) {
            return Ok(&[]);
        }
        self.list(Self::ident)
    }

    /// `UNTIL a = 1, b = 2`, then `USER = 'u' PASSWORD = 'p' …`.
    fn start_options(&mut self) -> Read<&'a [ReplicationOption<'a>]> {
        let mut listed = self.eat(kw::UNTIL);
        self.several(|parser| {
            let option = std::mem::take(&mut listed) || (parser.kind() == TokenKind::Word && !parser.at(kw::FOR));
            if !option {
                return Ok(None);
            }
            let option = parser.replication_option()?;
            listed = parser.eat_punct(b',');
            Ok(Some(option))
        })
    }

    /// `NAME = value`, or a name alone.
    fn replication_option(&mut self) -> Read<ReplicationOption<'a>> {
        let start = self.start();
        let name = match self.kind() {
            // MariaDB reserves some of these names.
            TokenKind::Word => self.take_ident(),
            _ => return self.stop(Expected::What("an option")),
        };
        let value = if self.eat_punct(b'=') { Some(self.replication_value()?) } else { None };
        Ok(ReplicationOption { span: self.span_from(start), name, value })
    }

    /// A literal, a word, an account, or a list in parentheses.
    fn replication_value(&mut self) -> Read<Span> {
        if self.at_punct(b'(') {
            return self.skip_parentheses();
        }
        let start = self.start();
        let has_host = |kind| matches!(kind, TokenKind::UserVariable | TokenKind::Punct(b'@'));
        match self.kind() {
            _ if has_host(self.cursor.next().token.kind) || self.at(kw::CURRENT_USER) => {
                self.account()?;
            }
            kind if kind.is_literal() || kind == TokenKind::Word => self.advance(),
            TokenKind::UserVariable => self.advance(),
            TokenKind::Punct(b'-') => {
                self.advance();
                self.expect_integer()?;
            }
            _ => return self.stop(Expected::What("a value")),
        }
        Ok(self.span_from(start))
    }
}
