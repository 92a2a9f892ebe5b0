//! What the audit log takes, and what becomes of statements that it can't take.

use weir_wire::Failure;
use weir_wire::error::codes;

use super::line::{Event, LogLine, Who};
use super::writer::{Slot, Writer};
use crate::kind::StatementKind;

/// Which events are logged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Events {
    /// Logins.
    pub connect: bool,
    /// Ends of sessions.
    pub disconnect: bool,
    /// Logins that were refused.
    pub failed_login: bool,
    /// Commands of Weir's own.
    pub admin: bool,
    /// Statements.
    pub statements: bool,
}

impl Events {
    fn has(self, event: Event) -> bool {
        match event {
            Event::Connect => self.connect,
            Event::Disconnect => self.disconnect,
            Event::FailedLogin => self.failed_login,
            Event::Admin => self.admin,
            Event::Statement => self.statements,
        }
    }
}

/// Choices of the audit log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditSettings {
    /// Which events are logged.
    pub events: Events,
    /// Of which users; empty: of all.
    pub users: Vec<String>,
    /// Statements of which kinds; empty: of all.
    pub kinds: Vec<StatementKind>,
    /// Whether literals are shown.
    pub literals: bool,
    /// Statements that can't be logged are refused.
    pub refuses: bool,
}

/// See the module.
#[derive(Debug)]
pub struct AuditLog {
    /// What it takes.
    pub settings: AuditSettings,
    /// Where it is written.
    pub writer: Writer,
}

impl AuditLog {
    fn is_of(&self, user: &str) -> bool {
        self.settings.users.is_empty() || self.settings.users.iter().any(|known| known == user)
    }

    /// Whether statements of this user are logged.
    pub fn takes_statements_of(&self, user: &str) -> bool {
        self.settings.events.statements && self.is_of(user)
    }

    /// Whether statements of this kind are logged.
    pub fn takes_kind(&self, kind: StatementKind) -> bool {
        self.settings.kinds.is_empty() || self.settings.kinds.contains(&kind)
    }

    /// Before a statement that will be logged: a place for its line, if there must be one.
    ///
    /// # Errors
    /// When the statement is to be refused because it could not be logged: 3164, as MySQL's audit plugins do.
    pub fn place(&self) -> Result<Option<Slot>, Failure> {
        if !self.settings.refuses {
            return Ok(None);
        }
        self.writer.reserve().map(Some).map_err(|why| {
            let message = format!("The statement was not run: the audit log can't be written ({why})");
            Failure::weir(codes::ER_AUDIT_API_ABORT, message)
        })
    }

    /// Something other than a statement has happened.
    pub fn event(&self, event: Event, who: impl FnOnce() -> Who, add: impl FnOnce(LogLine) -> LogLine) {
        if !self.settings.events.has(event) {
            return;
        }
        let who = who();
        if self.is_of(&who.user) {
            self.writer.log(add(LogLine::new(event, who)));
        }
    }
}
