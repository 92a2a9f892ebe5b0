//! What single tokens of a statement say: functions, variables, locking clauses.
//!
//! What must hold: a name followed by a parenthesis is a call of an unknown function unless the server is certain not to
//! look for a stored function there, or the place can't hold an expression. [`Reader::visit`] is called for every token of
//! a statement that may evaluate expressions.

use super::{Class, Effects, Kind, Pins};
use crate::cursor::{Cursor, Item};
use crate::keyword::Keyword;
use crate::kw;
use crate::lexer::{Conditional, TokenKind};
use crate::mode::LexMode;

/// Parentheses within the arguments of JSON_TABLE that are looked through.
const DEEPEST: u32 = 32;

/// Reads the statements of a text into a [`Class`].
pub(super) struct Reader<'a> {
    pub(super) cursor: Cursor<'a>,
    pub(super) class: Class,
    /// User variables at this place are assigned, not read.
    pub(super) into: bool,
    mode: LexMode,
}

impl<'a> Reader<'a> {
    pub(super) fn new(cursor: Cursor<'a>, mode: LexMode) -> Self {
        Self { cursor, class: Class::default(), into: false, mode }
    }

    /// All statements of the text, and which executable comments were seen.
    pub(super) fn read_text(mut self) -> (Class, Conditional) {
        let mut statements = 0;
        while self.cursor.kind() != TokenKind::End {
            let mut kind = Kind::Empty;
            if !self.cursor.at_end() {
                self.into = false;
                kind = self.statement();
            }
            // A handler that knows the whole form has arrived here; for others the rest counts too.
            if !self.cursor.at_end() {
                self.rest();
                kind = Kind::Other;
            }
            self.cursor.advance();
            statements += 1;
            if statements > 1 {
                self.class.demote();
            }
            self.class.kind = kind;
        }
        if statements > 1 {
            self.class.demote();
            self.class.kind = Kind::Multiple;
        }
        if self.cursor.unreadable() {
            self.unknown_statement();
            self.class.demote();
            if self.class.kind != Kind::Multiple {
                self.class.kind = Kind::Other;
            }
        }
        (self.class, self.cursor.conditional())
    }

    /// Everything up to the statement's end.
    pub(super) fn rest(&mut self) {
        while !self.cursor.at_end() {
            self.visit();
        }
    }

    pub(super) fn effect(&mut self, effects: Effects) {
        self.class.effects |= effects;
    }

    pub(super) fn pin(&mut self, pins: Pins) {
        self.class.pins |= pins;
    }

    pub(super) fn unknown_statement(&mut self) {
        self.effect(Effects::READS | Effects::WRITES | Effects::GENERATES_INSERT_ID);
        self.pin(Pins::UNKNOWN_STATEMENT);
    }

    pub(super) fn computed_user_variable(&mut self) {
        self.effect(Effects::SETS_USER_VARIABLES);
        self.pin(Pins::COMPUTED_USER_VARIABLE);
    }

    /// Reads the current token, and those that belong to it.
    pub(super) fn visit(&mut self) {
        match self.cursor.kind() {
            TokenKind::Word => self.word(),
            TokenKind::QuotedIdent => self.quoted_name(),
            TokenKind::UserVariable => self.user_variable(),
            TokenKind::SystemVariable => return self.system_variable(),
            // MySQL allows a space between @ and the name.
            TokenKind::Punct(b'@') if !self.names_an_account() => {
                self.effect(Effects::USES_USER_VARIABLES);
                self.computed_user_variable();
            }
            _ => {}
        }
        self.cursor.advance();
    }

    fn word(&mut self) {
        let word = self.cursor.current().word;
        self.into &= word == Keyword::NONE;
        if self.cursor.next_is_punct(b'(') {
            self.call(word, false);
        }
        match word {
            Keyword::NONE => self.unknown_word(),
            kw::FROM | kw::JOIN | kw::TABLE => self.effect(Effects::READS),
            kw::FOR if self.cursor.next_is(kw::UPDATE) || self.cursor.next_is(kw::SHARE) => {
                self.effect(Effects::LOCKING_READ | Effects::WRITES);
            }
            kw::LOCK => self.effect(Effects::LOCKING_READ | Effects::WRITES),
            kw::INTO => {
                self.into = true;
                if self.cursor.next_is(kw::OUTFILE) || self.cursor.next_is(kw::DUMPFILE) {
                    self.effect(Effects::WRITES);
                }
            }
            kw::SQL_CALC_FOUND_ROWS => {
                self.effect(Effects::CALC_FOUND_ROWS);
                self.pin(Pins::FOUND_ROWS);
            }
            kw::NEXT if self.cursor.next_is(kw::VALUE) => self.sequence(Effects::WRITES),
            kw::PREVIOUS if self.cursor.next_is(kw::VALUE) => self.sequence(Effects::empty()),
            _ => self.telling_name(word),
        }
    }

    /// Names of tables that show session variables.
    fn telling_name(&mut self, word: Keyword) {
        if matches!(
            word,
            kw::SESSION_VARIABLES
                | kw::VARIABLES_INFO
                | kw::VARIABLES_BY_THREAD
                | kw::USER_VARIABLES
                | kw::USER_VARIABLES_BY_THREAD
        ) {
            self.effect(Effects::SHOWS_SESSION_VARIABLES);
        }
    }

    /// A word that is not in the table, or a word after a point, which is only a name.
    fn unknown_word(&mut self) {
        let text = self.cursor.text(self.cursor.current());
        if self.cursor.previous().token.kind == TokenKind::Punct(b'.') {
            self.qualified_name(text);
        }
        self.session_track(text);
    }

    fn qualified_name(&mut self, name: &[u8]) {
        match Keyword::of(name) {
            kw::NEXTVAL => self.sequence(Effects::WRITES),
            kw::CURRVAL | kw::LASTVAL => self.sequence(Effects::empty()),
            word => self.telling_name(word),
        }
    }

    fn session_track(&mut self, name: &[u8]) {
        const NAME: &[u8] = b"session_track";
        if name.len() >= NAME.len() && name.windows(NAME.len()).any(|part| part.eq_ignore_ascii_case(NAME)) {
            self.effect(Effects::SHOWS_SESSION_VARIABLES);
        }
    }

    fn sequence(&mut self, effects: Effects) {
        self.effect(Effects::READS | effects);
        self.pin(Pins::SEQUENCE);
    }

    fn quoted_name(&mut self) {
        let name = self.cursor.name(self.cursor.current());
        let word = Keyword::of(name);
        if self.cursor.next_is_punct(b'(') {
            self.call(word, true);
        }
        self.qualified_name(name);
        self.session_track(name);
    }

    /// A variable-like token that is the host part of `user@host`.
    fn names_an_account(&self) -> bool {
        let before = self.cursor.previous();
        let adjacent = before.token.end == self.cursor.current().token.start;
        match before.token.kind {
            TokenKind::String | TokenKind::QuotedIdent => true,
            TokenKind::Word => adjacent && before.word == Keyword::NONE,
            _ => false,
        }
    }

    fn user_variable(&mut self) {
        if self.names_an_account() {
            return;
        }
        if self.into || self.cursor.next().token.kind == TokenKind::Assign {
            self.computed_user_variable();
        } else {
            self.effect(Effects::USES_USER_VARIABLES);
        }
    }

    /// `@@name`, `@@scope.name`, `@@component.name`.
    fn system_variable(&mut self) {
        let (scope, name) = self.system_variable_name();
        if matches!(scope, Some(kw::GLOBAL | kw::PERSIST | kw::PERSIST_ONLY)) {
            return;
        }
        self.session_track(name);
        match Keyword::of(name) {
            kw::LAST_INSERT_ID | kw::IDENTITY => self.effect(Effects::USES_LAST_INSERT_ID),
            kw::WARNING_COUNT | kw::ERROR_COUNT => self.effect(Effects::USES_WARNINGS),
            kw::PSEUDO_THREAD_ID => self.effect(Effects::USES_CONNECTION_ID),
            // The transaction id of this connection's last write.
            kw::LAST_GTID => self.pin(Pins::SPECIAL_VARIABLE),
            _ => {}
        }
    }

    /// Moves past a system variable. The scope is what stands before the first point.
    pub(super) fn system_variable_name(&mut self) -> (Option<Keyword>, &'a [u8]) {
        let unquoted = |text: &'a [u8]| match text {
            [b'`', name @ .., b'`'] => name,
            name => name,
        };
        let text = self.cursor.text(self.cursor.current());
        let mut name = unquoted(&text[2..]);
        let mut scope = None;
        self.cursor.advance();
        while self.cursor.at_punct(b'.') && self.cursor.next().is_name() {
            scope = Some(Keyword::of(name));
            self.cursor.advance();
            name = self.cursor.name(self.cursor.current());
            self.cursor.advance();
        }
        (scope, name)
    }

    /// At a name that a parenthesis follows.
    fn call(&mut self, word: Keyword, quoted: bool) {
        let before = self.cursor.previous();
        if !may_precede_call(before) {
            return;
        }
        let adjacent = self.cursor.current().token.end == self.cursor.next().token.start;
        let qualified = before.token.kind == TokenKind::Punct(b'.');
        if !qualified {
            self.known_function(word);
        }
        let known = !qualified && (word.is_known_call(self.mode, quoted, adjacent) || self.is_clause(word));
        if !known {
            self.effect(Effects::READS | Effects::WRITES);
            self.pin(Pins::UNKNOWN_FUNCTION);
        }
    }

    fn known_function(&mut self, word: Keyword) {
        match word {
            kw::GET_LOCK => self.pin(Pins::USER_LOCK),
            kw::ROW_COUNT => {
                self.effect(Effects::USES_ROW_COUNT);
                self.pin(Pins::ROW_COUNT);
            }
            kw::FOUND_ROWS => {
                self.effect(Effects::USES_FOUND_ROWS);
                self.pin(Pins::FOUND_ROWS);
            }
            kw::CONNECTION_ID => self.effect(Effects::USES_CONNECTION_ID),
            kw::LAST_INSERT_ID => {
                let mut ahead = self.cursor;
                ahead.advance();
                let reads = ahead.next_is_punct(b')');
                self.effect(if reads { Effects::USES_LAST_INSERT_ID } else { Effects::SETS_LAST_INSERT_ID });
            }
            kw::NEXTVAL | kw::SETVAL => self.sequence(Effects::WRITES),
            kw::LASTVAL => self.sequence(Effects::empty()),
            _ => {}
        }
    }

    /// Words that open a parenthesis in a clause of one kind of server, where the other would see a function's name, and
    /// lists of columns after a name.
    fn is_clause(&self, word: Keyword) -> bool {
        if self.class.pins.contains(Pins::UNKNOWN_FUNCTION) {
            // Nothing more can be learnt, and looking ahead again and again would take quadratic time.
            return false;
        }
        let before = self.cursor.previous();
        let after_operand = before.token.kind == TokenKind::Word && before.word == Keyword::NONE;
        let in_from = matches!(before.word, kw::FROM | kw::JOIN | kw::STRAIGHT_JOIN)
            || matches!(before.token.kind, TokenKind::Punct(b',' | b'('));
        match word {
            // MATCH a, b AGAINST (…), x LIKE y ESCAPE (…)
            kw::AGAINST | kw::ESCAPE if after_operand => return true,
            // x MEMBER OF (…)
            kw::OF if before.word == kw::MEMBER => return true,
            kw::JSON_TABLE if in_from => return self.has_columns_clause(),
            kw::LATERAL if in_from => {
                let mut ahead = self.cursor;
                ahead.advance();
                ahead.advance();
                return ahead.at_any(&[kw::SELECT, kw::WITH, kw::VALUES, kw::TABLE]);
            }
            _ => {}
        }
        let may_name_cte =
            matches!(before.word, kw::WITH | kw::RECURSIVE) || before.token.kind == TokenKind::Punct(b',');
        may_name_cte && self.heads_cte()
    }

    /// `JSON_TABLE(doc, path COLUMNS (…))`: COLUMNS follows an operand within the parentheses.
    fn has_columns_clause(&self) -> bool {
        let mut ahead = self.cursor;
        let mut depth = 0_u32;
        loop {
            ahead.advance();
            match ahead.kind() {
                TokenKind::Semicolon | TokenKind::End => return false,
                // Nested in each other, these would be searched in quadratic time.
                _ if depth > DEEPEST => return false,
                TokenKind::Punct(b'(') => depth += 1,
                TokenKind::Punct(b')') if depth <= 1 => return false,
                TokenKind::Punct(b')') => depth -= 1,
                TokenKind::Word if depth == 1 && ahead.at(kw::COLUMNS) => {
                    return matches!(ahead.previous().token.kind, TokenKind::String | TokenKind::Parameter);
                }
                _ => {}
            }
        }
    }

    /// `name (a, b) AS (`: a common table expression with its columns.
    fn heads_cte(&self) -> bool {
        let mut ahead = self.cursor;
        ahead.advance();
        loop {
            ahead.advance();
            if !ahead.current().is_name() {
                return false;
            }
            ahead.advance();
            if !ahead.at_punct(b',') {
                break;
            }
        }
        ahead.eat_punct(b')') && ahead.eat(kw::AS) && ahead.at_punct(b'(')
    }
}

/// Whether an expression may begin after this token. After an operand it can't, and after AS stands an alias or a type.
fn may_precede_call(before: Item) -> bool {
    match before.token.kind {
        TokenKind::Punct(b')')
        | TokenKind::QuotedIdent
        | TokenKind::String
        | TokenKind::Integer
        | TokenKind::Decimal
        | TokenKind::Float
        | TokenKind::Hex
        | TokenKind::Bit
        | TokenKind::UserVariable
        | TokenKind::Parameter => false,
        _ => before.word != kw::AS,
    }
}
