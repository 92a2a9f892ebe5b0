//! SET in all its forms.
//!
//! What must hold: every session variable that the statement assigns is in `assigned`, or a pin says why that is not
//! enough; a user variable's value is given as a literal only if it is one on every server and in every character set.

use std::ops::Range;

use super::scan::Reader;
use super::{Effects, Kind, Pins, UserVariable};
use crate::cursor::Item;
use crate::keyword::Keyword;
use crate::kw;
use crate::lexer::TokenKind;

/// To whom an assignment applies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Session,
    Global,
}

/// What the assignments of one SET amount to.
#[derive(Default)]
struct Assignments {
    literals: Vec<UserVariable>,
    /// A user variable got a value that is not a plain literal.
    computed: bool,
    /// Something other than user variables is assigned.
    others: bool,
}

const SCOPES: &[Keyword] = &[kw::GLOBAL, kw::SESSION, kw::LOCAL, kw::PERSIST, kw::PERSIST_ONLY];

/// Variables that have effect once, that SET … = DEFAULT does not undo, that session tracking may not report, or that
/// change what COMMIT or `IS NULL` mean.
const SPECIAL: &[&str] = &[
    "completion_type",
    "default_master_connection",
    "gtid_domain_id",
    "gtid_next",
    "gtid_seq_no",
    "identity",
    "immediate_server_version",
    "insert_id",
    "last_insert_id",
    "original_commit_timestamp",
    "original_server_version",
    "rand_seed1",
    "rand_seed2",
    "rbr_exec_mode",
    "require_row_format",
    "resultset_metadata",
    "server_id",
    "skip_replication",
    "sql_auto_is_null",
    "sql_log_bin",
    "timestamp",
    "wsrep_on",
];

/// See [`SPECIAL`].
const SPECIAL_PREFIXES: &[&str] = &["binlog_", "debug", "profiling", "pseudo_"];

/// More variables than this in one text are not told apart; no server has as many.
const MOST_NAMES: usize = 1024;

const CHARSET_VARIABLES: &[&str] =
    &["character_set_client", "character_set_connection", "character_set_results", "collation_connection"];

impl Reader<'_> {
    pub(super) fn set(&mut self) -> Kind {
        self.cursor.advance();
        let assigns = matches!(self.cursor.next().token.kind, TokenKind::Punct(b'=' | b'.') | TokenKind::Assign);
        if assigns && !self.cursor.at(kw::PASSWORD) {
            return self.assignments();
        }
        match self.cursor.current().word {
            kw::STATEMENT => self.set_statement(),
            kw::PASSWORD => self.set_password(),
            kw::ROLE => {
                self.pin(Pins::ROLE);
                self.names_only(Effects::empty())
            }
            kw::DEFAULT if self.cursor.next_is(kw::ROLE) => self.names_only(Effects::WRITES),
            kw::RESOURCE => self.unknown_form(),
            kw::TRANSACTION => self.set_transaction(None),
            word if SCOPES.contains(&word) && self.cursor.next_is(kw::TRANSACTION) => {
                self.cursor.advance();
                self.set_transaction(Some(word))
            }
            _ => self.assignments(),
        }
    }

    /// MariaDB: SET STATEMENT variable = value, … FOR statement. The values hold for that statement only.
    fn set_statement(&mut self) -> Kind {
        self.class.effects |= Effects::SETS_FOR_STATEMENT;
        self.cursor.advance();
        let mut depth = 0_u32;
        while !self.cursor.at_end() {
            match self.cursor.kind() {
                TokenKind::Punct(b'(') => depth += 1,
                TokenKind::Punct(b')') => depth = depth.saturating_sub(1),
                TokenKind::Word if depth == 0 && self.cursor.at(kw::FOR) => {
                    self.cursor.advance();
                    // Not again a SET: the depth of calls must not depend on the text.
                    if self.cursor.at(kw::SET) {
                        return self.unknown_form();
                    }
                    let kind = self.statement();
                    return if kind == Kind::Select { kind } else { Kind::Other };
                }
                _ => {}
            }
            self.visit();
        }
        self.unknown_form()
    }

    fn set_password(&mut self) -> Kind {
        self.effect(Effects::WRITES | Effects::IMPLICIT_COMMIT);
        let mut depth = 0_u32;
        while !self.cursor.at_end() {
            match self.cursor.kind() {
                TokenKind::Punct(b'(') => depth += 1,
                TokenKind::Punct(b')') => depth = depth.saturating_sub(1),
                // More assignments, which one kind of server may accept here.
                TokenKind::Punct(b',') if depth == 0 => return self.unknown_form(),
                _ => {}
            }
            self.cursor.advance();
        }
        Kind::Other
    }

    /// At TRANSACTION.
    fn set_transaction(&mut self, scope: Option<Keyword>) -> Kind {
        self.cursor.advance();
        let (mut isolation, mut access) = (false, false);
        while !self.cursor.at_end() {
            isolation |= self.cursor.at(kw::ISOLATION);
            access |= self.cursor.at(kw::READ) && (self.cursor.next_is(kw::ONLY) || self.cursor.next_is(kw::WRITE));
            self.cursor.advance();
        }
        match scope {
            None => self.set_transaction_once(),
            Some(kw::SESSION | kw::LOCAL) => {
                if isolation {
                    self.assign("transaction_isolation");
                }
                if access {
                    self.assign("transaction_read_only");
                }
            }
            Some(_) => self.changes_globals(),
        }
        if isolation || access { Kind::Set } else { self.unknown_form() }
    }

    fn set_transaction_once(&mut self) {
        self.effect(Effects::SET_TRANSACTION_ONCE);
        self.pin(Pins::SET_TRANSACTION);
    }

    fn changes_globals(&mut self) {
        self.effect(Effects::CHANGES_GLOBALS | Effects::WRITES);
    }

    fn assign(&mut self, name: &str) {
        if self.class.assigned.iter().any(|known| **known == *name) {
            return;
        }
        if self.class.assigned.len() == MOST_NAMES {
            return self.unknown_statement();
        }
        self.class.assigned.push(name.into());
    }

    fn assignments(&mut self) -> Kind {
        let mut done = Assignments::default();
        // A scope's keyword holds for the variables after it too; the servers agree on that.
        let mut scope = Scope::Session;
        loop {
            if self.assignment(&mut scope, &mut done).is_none() {
                self.unknown_statement();
                done.computed = true;
                self.rest();
                break;
            }
            if !self.cursor.eat_punct(b',') {
                break;
            }
        }
        if !done.computed && !done.others {
            return Kind::SetUserVariables(done.literals);
        }
        if done.computed || !done.literals.is_empty() {
            self.computed_user_variable();
        }
        if done.others { Kind::Set } else { Kind::Other }
    }

    /// One assignment up to its comma or the end; `None` if it is not understood.
    fn assignment(&mut self, scope: &mut Scope, done: &mut Assignments) -> Option<()> {
        let next = self.cursor.next();
        if self.cursor.at_any(SCOPES) && next.is_name() {
            let session = self.cursor.at_any(&[kw::SESSION, kw::LOCAL]);
            *scope = if session { Scope::Session } else { Scope::Global };
            self.cursor.advance();
        }
        match self.cursor.kind() {
            TokenKind::UserVariable => return self.assign_user_variable(done),
            TokenKind::SystemVariable => {
                done.others = true;
                self.assign_prefixed()?;
            }
            TokenKind::Word | TokenKind::QuotedIdent => {
                done.others = true;
                if self.charset_clause()? {
                    return Some(());
                }
                let name = self.cursor.name(self.cursor.current());
                self.cursor.advance();
                self.assign_variable(*scope, name)?;
            }
            _ => return None,
        }
        self.equals()?;
        self.value();
        Some(())
    }

    fn equals(&mut self) -> Option<()> {
        if self.cursor.kind() != TokenKind::Assign && !self.cursor.at_punct(b'=') {
            return None;
        }
        self.cursor.advance();
        (!self.cursor.at_end()).then_some(())
    }

    /// `SET @@x`, `SET @@scope.x`.
    fn assign_prefixed(&mut self) -> Option<()> {
        let (scope, name) = self.system_variable_name();
        match scope {
            Some(kw::SESSION | kw::LOCAL) => self.assign_variable(Scope::Session, name),
            Some(kw::GLOBAL | kw::PERSIST | kw::PERSIST_ONLY) => self.assign_variable(Scope::Global, name),
            Some(_) => None,
            None => {
                let once = matches!(
                    Keyword::of(name),
                    kw::TRANSACTION_ISOLATION | kw::TX_ISOLATION | kw::TRANSACTION_READ_ONLY | kw::TX_READ_ONLY
                );
                if once {
                    self.set_transaction_once();
                    return Some(());
                }
                self.assign_variable(Scope::Session, name)
            }
        }
    }

    fn assign_variable(&mut self, scope: Scope, name: &[u8]) -> Option<()> {
        let name = std::str::from_utf8(name).ok().filter(|name| name.is_ascii() && !name.is_empty())?;
        if scope == Scope::Global {
            self.changes_globals();
            return Some(());
        }
        let name = match name.to_ascii_lowercase() {
            name if name == "tx_isolation" => "transaction_isolation".to_owned(),
            name if name == "tx_read_only" => "transaction_read_only".to_owned(),
            name => name,
        };
        if name.starts_with("session_track") {
            self.pin(Pins::SESSION_TRACKING);
        }
        let special =
            SPECIAL.contains(&name.as_str()) || SPECIAL_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        if special {
            self.pin(Pins::SPECIAL_VARIABLE);
        }
        self.assign(&name);
        Some(())
    }

    /// NAMES, CHARACTER SET, CHAR SET or CHARSET with its value. `None`: begun, but not understood.
    fn charset_clause(&mut self) -> Option<bool> {
        let next = self.cursor.next();
        if matches!(next.token.kind, TokenKind::Punct(b'=' | b'.') | TokenKind::Assign) {
            return Some(false);
        }
        let names = self.cursor.at(kw::NAMES);
        let mut ahead = self.cursor;
        let found =
            ahead.eat_any(&[kw::NAMES, kw::CHARSET]) || ahead.eat_any(&[kw::CHARACTER, kw::CHAR]) && ahead.eat(kw::SET);
        if !found {
            return Some(false);
        }
        self.cursor = ahead;
        self.charset_value()?;
        if names && self.cursor.eat(kw::COLLATE) {
            self.charset_value()?;
        }
        for name in CHARSET_VARIABLES {
            self.assign(name);
        }
        Some(true)
    }

    fn charset_value(&mut self) -> Option<()> {
        let item = self.cursor.current();
        if !item.is_name() && item.token.kind != TokenKind::String {
            return None;
        }
        self.cursor.advance();
        Some(())
    }

    /// The value of an assignment, an expression.
    fn value(&mut self) {
        let mut depth = 0_u32;
        while !self.cursor.at_end() {
            match self.cursor.kind() {
                TokenKind::Punct(b'(') => depth += 1,
                TokenKind::Punct(b')') => depth = depth.saturating_sub(1),
                TokenKind::Punct(b',') if depth == 0 => return,
                _ => {}
            }
            self.visit();
        }
    }

    fn assign_user_variable(&mut self, done: &mut Assignments) -> Option<()> {
        let name = self.plain_name(self.cursor.current());
        self.cursor.advance();
        self.equals()?;
        let literal = self.plain_literal();
        self.value();
        match (name, literal) {
            (Some(name), Some(literal)) if done.literals.len() < MOST_NAMES => {
                done.literals.push(UserVariable { name, literal })
            }
            _ => done.computed = true,
        }
        Some(())
    }

    /// The variable's name, if its comparison with other names is that of ASCII.
    fn plain_name(&self, item: Item) -> Option<Box<str>> {
        let text = &self.cursor.text(item)[1..];
        let name = match text {
            [b'\'' | b'"' | b'`', name @ .., _] => name,
            name => name,
        };
        let plain = |byte: &u8| byte.is_ascii_graphic() && !matches!(byte, b'\'' | b'"' | b'`' | b'\\');
        if name.is_empty() || !name.iter().all(plain) {
            return None;
        }
        Some(std::str::from_utf8(name).ok()?.to_ascii_lowercase().into())
    }

    /// The range of the value at the cursor if it is a plain literal and nothing else. Does not move.
    fn plain_literal(&self) -> Option<Range<usize>> {
        let mut ahead = self.cursor;
        let start = ahead.current().token.start as usize;
        let minus = ahead.eat_punct(b'-');
        let item = ahead.current();
        let plain = match item.token.kind {
            TokenKind::Integer | TokenKind::Decimal | TokenKind::Float => true,
            TokenKind::Hex => !minus,
            TokenKind::Word => !minus && matches!(item.word, kw::NULL | kw::TRUE | kw::FALSE),
            TokenKind::String => !minus && is_plain_string(ahead.text(item)),
            _ => false,
        };
        ahead.advance();
        let ends = ahead.at_end() || ahead.at_punct(b',');
        (plain && ends).then_some(start..item.token.end as usize)
    }
}

/// One pair of quotes around printable ASCII, no backslash, no doubled quote, no introducer.
fn is_plain_string(text: &[u8]) -> bool {
    let [quote @ (b'\'' | b'"'), inner @ .., _] = text else { return false };
    inner.iter().all(|byte| matches!(byte, b' '..=b'~') && *byte != b'\\' && byte != quote)
}
