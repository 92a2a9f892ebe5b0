//! Where the body of a stored program ends.
//!
//! What must hold: a body ends exactly where the server ends it, because what follows in the same text is executed. Only
//! what decides about that is read: the words that open and close blocks, at places where a statement begins, and nothing
//! of the statements between the semicolons.
//!
//! Who asks for the pieces of a body ([`parse_body`](crate::parse_body)) is told all of them, or that it can't be read.

use crate::ast::{Control, DeclaredType, Handled, Piece, Span};
use crate::keyword::Keyword;
use crate::kw;
use crate::lexer::TokenKind;
use crate::parse::{Expected, Parser, Read};

/// Words that begin a statement, other than those that hold statements themselves.
const VERBS: &[Keyword] = &[
    kw::ALTER,
    kw::ANALYZE,
    kw::BACKUP,
    kw::BINLOG,
    kw::CACHE,
    kw::CALL,
    kw::CHANGE,
    kw::CHECK,
    kw::CHECKSUM,
    kw::CLONE,
    kw::CLOSE,
    kw::COMMIT,
    kw::CREATE,
    kw::DEALLOCATE,
    kw::DELETE,
    kw::DESC,
    kw::DESCRIBE,
    kw::DO,
    kw::DROP,
    kw::EXECUTE,
    kw::EXPLAIN,
    kw::FETCH,
    kw::FLUSH,
    kw::GET,
    kw::GRANT,
    kw::HANDLER,
    kw::HELP,
    kw::IMPORT,
    kw::INSERT,
    kw::INSTALL,
    kw::ITERATE,
    kw::KILL,
    kw::LEAVE,
    kw::LOAD,
    kw::LOCK,
    kw::OPEN,
    kw::OPTIMIZE,
    kw::PREPARE,
    kw::PURGE,
    kw::RELEASE,
    kw::RENAME,
    kw::REPAIR,
    kw::REPLACE,
    kw::RESET,
    kw::RESIGNAL,
    kw::RESTART,
    kw::RETURN,
    kw::REVOKE,
    kw::ROLLBACK,
    kw::SAVEPOINT,
    kw::SELECT,
    kw::SET,
    kw::SHOW,
    kw::SHUTDOWN,
    kw::SIGNAL,
    kw::SLAVE,
    kw::START,
    kw::STOP,
    kw::TABLE,
    kw::TRUNCATE,
    kw::UNINSTALL,
    kw::UNLOCK,
    kw::UPDATE,
    kw::USE,
    kw::VALUES,
    kw::WITH,
    kw::XA,
];

impl<'a> Parser<'a> {
    /// The body of a stored program, or a compound statement outside of one (MariaDB): one statement, which may be a block.
    pub(crate) fn body(&mut self) -> Read<Span> {
        let start = self.start();
        self.body_statement()?;
        Ok(self.span_from(start))
    }

    /// A statement of a body, without the semicolon after it.
    fn body_statement(&mut self) -> Read<()> {
        self.nested(|parser| {
            let labelled = parser.at_name() && parser.next_is_punct(b':') && !parser.at(kw::BEGIN);
            if labelled {
                let label = parser.ident()?;
                parser.control(Control::Label(label));
                parser.advance();
            }
            match parser.word() {
                kw::BEGIN => parser.block(labelled),
                kw::LOOP => {
                    parser.advance();
                    parser.control(Control::Loop);
                    parser.loop_to_end(kw::LOOP, labelled)
                }
                kw::WHILE => parser.while_or_for(kw::WHILE, labelled),
                kw::REPEAT => parser.repeat(labelled),
                kw::FOR => parser.while_or_for(kw::FOR, labelled),
                _ if labelled => parser.stop(Expected::Words(&[kw::BEGIN, kw::LOOP, kw::WHILE, kw::REPEAT, kw::FOR])),
                kw::IF => parser.if_statement(),
                kw::CASE => parser.case_statement(),
                _ => parser.statement_without_block(),
            }
        })
    }

    /// `BEGIN … END`.
    fn block(&mut self, labelled: bool) -> Read<()> {
        self.advance();
        self.eat_all(&[kw::NOT, kw::ATOMIC]);
        self.control(Control::Block);
        while self.at(kw::DECLARE) {
            self.declaration()?;
            self.end_of_body_statement()?;
        }
        while !self.at(kw::END) {
            self.body_statement()?;
            self.end_of_body_statement()?;
        }
        self.advance();
        self.label_after_end(labelled);
        self.control(Control::BlockEnd);
        Ok(())
    }

    /// The semicolon after a statement of a block.
    fn end_of_body_statement(&mut self) -> Read<()> {
        if self.kind() != TokenKind::Semicolon {
            return self.stop(Expected::Punct(b';'));
        }
        self.advance();
        Ok(())
    }

    fn label_after_end(&mut self, labelled: bool) {
        if labelled && self.at_name() {
            self.advance();
        }
    }

    /// Statements with their semicolons, at least one, up to one of these words.
    fn body_statements(&mut self, ends: &[Keyword]) -> Read<()> {
        loop {
            self.body_statement()?;
            self.end_of_body_statement()?;
            if self.at_any(ends) {
                return Ok(());
            }
        }
    }

    /// `… END LOOP [label]`, for LOOP and its like, from the first statement on.
    fn loop_to_end(&mut self, word: Keyword, labelled: bool) -> Read<()> {
        self.body_statements(&[kw::END])?;
        self.end_of(word)?;
        self.label_after_end(labelled);
        self.control(Control::LoopEnd);
        Ok(())
    }

    /// `END word`.
    fn end_of(&mut self, word: Keyword) -> Read<()> {
        self.expect(kw::END)?;
        self.expect(word)
    }

    /// `WHILE condition DO … END WHILE`, `FOR i IN … DO … END FOR`.
    fn while_or_for(&mut self, word: Keyword, labelled: bool) -> Read<()> {
        self.advance();
        if word == kw::FOR && self.pieces.is_some() {
            self.for_head()?;
        } else {
            self.control(Control::While);
            self.condition(&[kw::DO])?;
        }
        self.advance();
        self.control(Control::Do);
        self.loop_to_end(word, labelled)
    }

    /// `REPEAT … UNTIL condition END REPEAT`.
    fn repeat(&mut self, labelled: bool) -> Read<()> {
        self.advance();
        self.control(Control::Repeat);
        self.body_statements(&[kw::UNTIL])?;
        self.advance();
        self.control(Control::Until);
        self.condition(&[kw::END])?;
        self.end_of(kw::REPEAT)?;
        self.label_after_end(labelled);
        self.control(Control::LoopEnd);
        Ok(())
    }

    /// `IF condition THEN … ELSEIF condition THEN … ELSE … END IF`.
    fn if_statement(&mut self) -> Read<()> {
        let mut again = false;
        loop {
            self.advance();
            self.control(Control::If { again });
            again = true;
            self.condition(&[kw::THEN])?;
            self.advance();
            self.control(Control::Then);
            self.body_statements(&[kw::ELSEIF, kw::ELSE, kw::END])?;
            if !self.at(kw::ELSEIF) {
                break;
            }
        }
        self.otherwise()?;
        self.end_of(kw::IF)?;
        self.control(Control::IfEnd);
        Ok(())
    }

    /// `ELSE …`, if it is there.
    fn otherwise(&mut self) -> Read<()> {
        if !self.eat(kw::ELSE) {
            return Ok(());
        }
        self.control(Control::Else);
        self.body_statements(&[kw::END])
    }

    /// `CASE [value] WHEN … THEN … ELSE … END CASE`.
    fn case_statement(&mut self) -> Read<()> {
        self.advance();
        let value = !self.at(kw::WHEN);
        self.control(Control::Case { value });
        if value {
            self.condition(&[kw::WHEN])?;
        }
        while self.eat(kw::WHEN) {
            self.control(Control::When);
            self.condition(&[kw::THEN])?;
            self.advance();
            self.control(Control::Then);
            self.body_statements(&[kw::WHEN, kw::ELSE, kw::END])?;
        }
        self.otherwise()?;
        self.end_of(kw::CASE)?;
        self.control(Control::CaseEnd);
        Ok(())
    }

    /// An expression, or what stands in a FOR, up to one of these words. CASE expressions have some of them, too.
    fn condition(&mut self, ends: &'static [Keyword]) -> Read<()> {
        let start = self.start();
        let mut cases = 0_u32;
        loop {
            match self.kind() {
                TokenKind::Semicolon | TokenKind::End | TokenKind::Unterminated => {
                    return self.stop(Expected::Words(ends));
                }
                TokenKind::Punct(b'(') => {
                    self.skip_parentheses()?;
                    continue;
                }
                _ => {}
            }
            if cases == 0 && self.start() > start && self.at_any(ends) {
                let span = self.span_from(start);
                self.note(Piece::Expression(span));
                return Ok(());
            }
            match self.word() {
                kw::CASE => cases += 1,
                kw::END => cases = cases.saturating_sub(1),
                _ => {}
            }
            self.advance();
        }
    }

    /// `DECLARE …`: a handler has a statement of its own, the others end at the semicolon.
    fn declaration(&mut self) -> Read<()> {
        self.advance();
        let Some(word) = self.eat_any(&[kw::CONTINUE, kw::EXIT, kw::UNDO]) else {
            return if self.pieces.is_some() { self.declared() } else { self.skip_to_semicolon() };
        };
        self.expect_all(&[kw::HANDLER, kw::FOR])?;
        let handled = self.list(Self::handled)?;
        self.control(Control::Handler { exit: word == kw::EXIT });
        handled.iter().for_each(|handled| self.control(Control::Handles(*handled)));
        self.body_statement()?;
        self.control(Control::HandlerEnd);
        Ok(())
    }

    /// What a handler is for.
    fn handled(&mut self) -> Read<Handled<'a>> {
        match self.word() {
            kw::SQLSTATE => {
                self.advance();
                self.eat(kw::VALUE);
                Ok(Handled::State(self.expect_string()?))
            }
            kw::SQLWARNING => {
                self.advance();
                Ok(Handled::Warning)
            }
            kw::SQLEXCEPTION => {
                self.advance();
                Ok(Handled::Exception)
            }
            kw::NOT => {
                self.expect_all(&[kw::NOT, kw::FOUND])?;
                Ok(Handled::NotFound)
            }
            _ if self.kind() == TokenKind::Integer => Ok(Handled::Code(Self::span_of(self.take()))),
            _ => Ok(Handled::Named(self.ident()?)),
        }
    }

    /// A statement that holds no others, unless it makes a stored program.
    fn statement_without_block(&mut self) -> Read<()> {
        if !self.at_any(VERBS) && !self.at_punct(b'(') {
            // A name can only be a label here.
            if self.at_name() && !self.at(kw::END) {
                self.advance();
                return self.stop(Expected::Punct(b':'));
            }
            return self.stop(Expected::What("a statement"));
        }
        if self.pieces.is_some() {
            return self.piece();
        }
        if self.at_any(&[kw::CREATE, kw::ALTER]) && self.makes_program() {
            self.statement()?;
            return Ok(());
        }
        self.skip_to_semicolon()
    }

    pub(super) fn note(&mut self, piece: Piece<'a>) {
        if let Some(pieces) = &mut self.pieces {
            pieces.push(piece);
        }
    }

    pub(super) fn control(&mut self, control: Control<'a>) {
        self.note(Piece::Control(control));
    }

    /// A statement without others, for who asks what it is.
    fn piece(&mut self) -> Read<()> {
        match self.word() {
            word @ (kw::LEAVE | kw::ITERATE | kw::OPEN | kw::CLOSE) => {
                self.advance();
                let name = self.ident()?;
                self.control(match word {
                    kw::LEAVE => Control::Leave(name),
                    kw::ITERATE => Control::Iterate(name),
                    kw::OPEN => Control::Open(name),
                    _ => Control::Close(name),
                });
                if word == kw::OPEN {
                    self.arguments_of_cursor()?;
                }
                if self.at_end() { Ok(()) } else { self.stop(Expected::Punct(b';')) }
            }
            kw::RETURN => {
                self.advance();
                self.control(Control::Return);
                self.noted_expression()
            }
            kw::FETCH => self.fetched(),
            _ => {
                let start = self.start();
                self.skip_to_semicolon()?;
                let span = self.span_from(start);
                self.note(Piece::Statement(span));
                Ok(())
            }
        }
    }

    /// `FETCH [[NEXT] FROM] cursor INTO a, b`.
    fn fetched(&mut self) -> Read<()> {
        self.advance();
        if !(self.at(kw::FROM) || self.at(kw::NEXT) && self.next_is(kw::FROM)) {
            let cursor = self.ident()?;
            self.control(Control::Fetch(cursor));
        } else {
            self.eat(kw::NEXT);
            self.expect(kw::FROM)?;
            let cursor = self.ident()?;
            self.control(Control::Fetch(cursor));
        }
        self.expect(kw::INTO)?;
        for name in self.list(Self::ident)? {
            self.note(Piece::Assigned(*name));
        }
        Ok(())
    }

    pub(super) fn noted_expression(&mut self) -> Read<()> {
        let start = self.start();
        self.expr()?;
        let span = self.span_from(start);
        self.note(Piece::Expression(span));
        Ok(())
    }

    /// Behind DECLARE, but for a handler: variables with their default, a condition, a cursor.
    fn declared(&mut self) -> Read<()> {
        let names = self.list(Self::ident)?;
        if self.eat_all(&[kw::CONDITION, kw::FOR]) {
            let handled = self.handled()?;
            if let [name] = names {
                self.control(Control::Condition(*name, handled));
            }
            return Ok(());
        }
        if self.eat(kw::CURSOR) {
            if let [name] = names {
                self.control(Control::Cursor(*name));
            }
            self.parameters_of_cursor()?;
            self.expect(kw::FOR)?;
            let start = self.start();
            self.skip_to_semicolon()?;
            let span = self.span_from(start);
            self.note(Piece::Statement(span));
            return Ok(());
        }
        let start = self.start();
        match self.declared_type()? {
            DeclaredType::Type(_) => {}
            _ => return self.stop(Expected::What("a plain type")),
        }
        let span = self.span_from(start);
        for name in names {
            self.note(Piece::Variable(*name));
        }
        let default = self.at(kw::DEFAULT);
        self.control(Control::Type { span, default });
        if self.eat(kw::DEFAULT) { self.noted_expression() } else { Ok(()) }
    }

    fn skip_to_semicolon(&mut self) -> Read<()> {
        while !self.at_end() {
            if self.kind() == TokenKind::Unterminated {
                return self.stop(Expected::What("the end of what is quoted"));
            }
            self.advance();
        }
        Ok(())
    }
}
