//! SHOW of logs and of replication, and of what only plugins know.

use super::Shown;
use crate::ast::{Limit, ShowKind, ShowLogEvents, ShowReplicaStatus, Span};
use crate::kw;
use crate::lexer::TokenKind;
use crate::parse::{Parser, Read};

impl<'a> Parser<'a> {
    /// Logs, replicas, or any other word.
    pub(super) fn show_replication(&mut self, limit: &mut Option<&'a Limit<'a>>) -> Shown<'a> {
        match self.word() {
            kw::BINARY => self.show_binary_logs(),
            kw::MASTER => self.show_master(),
            kw::BINLOG if self.next_is(kw::STATUS) => {
                self.advance();
                self.alone(ShowKind::BinaryLogStatus)
            }
            kw::BINLOG => self.show_log_events(false, limit),
            kw::RELAYLOG => self.show_log_events(true, limit),
            kw::ALL => self.show_replica_status(),
            kw::SLAVE | kw::REPLICA if self.next_is(kw::HOSTS) => {
                self.advance();
                self.alone(ShowKind::Replicas)
            }
            kw::SLAVE | kw::REPLICA => self.show_replica_status(),
            kw::REPLICAS => self.alone(ShowKind::Replicas),
            _ => self.ident().map(ShowKind::Other),
        }
    }

    /// `BINARY LOGS`, `BINARY LOG STATUS`.
    fn show_binary_logs(&mut self) -> Shown<'a> {
        self.advance();
        match self.expect_any(&[kw::LOGS, kw::LOG])? {
            kw::LOGS => Ok(ShowKind::BinaryLogs),
            _ => self.expect(kw::STATUS).map(|()| ShowKind::BinaryLogStatus),
        }
    }

    /// `MASTER LOGS`, `MASTER STATUS`.
    fn show_master(&mut self) -> Shown<'a> {
        self.advance();
        match self.expect_any(&[kw::LOGS, kw::STATUS])? {
            kw::LOGS => Ok(ShowKind::BinaryLogs),
            _ => Ok(ShowKind::BinaryLogStatus),
        }
    }

    /// `BINLOG EVENTS [IN 'log'] [FROM position] [LIMIT …]`; for RELAYLOG, with a connection or a channel.
    fn show_log_events(&mut self, relay: bool, limit: &mut Option<&'a Limit<'a>>) -> Shown<'a> {
        self.advance();
        let connection = if relay { self.maybe_string() } else { None };
        self.expect(kw::EVENTS)?;
        let log = if self.eat(kw::IN) { Some(self.expect_string()?) } else { None };
        let position = if self.eat(kw::FROM) { Some(self.expr()?) } else { None };
        *limit = self.limit()?;
        let channel = self.for_channel()?.or(connection);
        Ok(ShowKind::LogEvents(self.alloc(ShowLogEvents { relay, log, position, channel })))
    }

    /// `[ALL] REPLICA [connection] STATUS [FOR CHANNEL channel]`.
    fn show_replica_status(&mut self) -> Shown<'a> {
        let all = self.eat(kw::ALL);
        if all {
            self.expect_any(&[kw::SLAVES, kw::REPLICAS])?;
        } else {
            self.expect_any(&[kw::SLAVE, kw::REPLICA])?;
        }
        let connection = if all { None } else { self.maybe_string() };
        self.expect(kw::STATUS)?;
        let channel = self.for_channel()?.or(connection);
        Ok(ShowKind::ReplicaStatus(ShowReplicaStatus { all, channel }))
    }

    /// `FOR CHANNEL 'channel'`, if it is there.
    pub(in crate::parse) fn for_channel(&mut self) -> Read<Option<Span>> {
        if !self.eat_all(&[kw::FOR, kw::CHANNEL]) {
            return Ok(None);
        }
        self.ident_or_string().map(|channel| Some(channel.span))
    }

    /// A string, if one is there.
    pub(in crate::parse) fn maybe_string(&mut self) -> Option<Span> {
        (self.kind() == TokenKind::String).then(|| Self::span_of(self.take()))
    }
}
