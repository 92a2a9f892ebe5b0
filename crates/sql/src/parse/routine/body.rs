//! Where the body of a stored program ends.
//!
//! What must hold: a body ends exactly where the server ends it, because what follows in the same text is executed. Only
//! what decides about that is read: the words that open and close blocks, at places where a statement begins, and nothing
//! of the statements between the semicolons.
//!
//! Who asks for the pieces of a body ([`parse_body`](crate::parse_body)) is told all of them, or that it can't be read.

use crate::ast::{DeclaredType, Piece, Span};
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
                parser.advance();
                parser.advance();
            }
            match parser.word() {
                kw::BEGIN => parser.block(labelled),
                kw::LOOP => {
                    parser.advance();
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
        Ok(())
    }

    /// `END word`.
    fn end_of(&mut self, word: Keyword) -> Read<()> {
        self.expect(kw::END)?;
        self.expect(word)
    }

    /// `WHILE condition DO … END WHILE`, `FOR i IN … DO … END FOR`.
    fn while_or_for(&mut self, word: Keyword, labelled: bool) -> Read<()> {
        if word == kw::FOR && self.pieces.is_some() {
            return self.stop(Expected::What("a loop without a row of its own"));
        }
        self.advance();
        self.condition(&[kw::DO])?;
        self.advance();
        self.loop_to_end(word, labelled)
    }

    /// `REPEAT … UNTIL condition END REPEAT`.
    fn repeat(&mut self, labelled: bool) -> Read<()> {
        self.advance();
        self.body_statements(&[kw::UNTIL])?;
        self.advance();
        self.condition(&[kw::END])?;
        self.end_of(kw::REPEAT)?;
        self.label_after_end(labelled);
        Ok(())
    }

    /// `IF condition THEN … ELSEIF condition THEN … ELSE … END IF`.
    fn if_statement(&mut self) -> Read<()> {
        loop {
            self.advance();
            self.condition(&[kw::THEN])?;
            self.advance();
            self.body_statements(&[kw::ELSEIF, kw::ELSE, kw::END])?;
            if !self.at(kw::ELSEIF) {
                break;
            }
        }
        if self.eat(kw::ELSE) {
            self.body_statements(&[kw::END])?;
        }
        self.end_of(kw::IF)
    }

    /// `CASE [value] WHEN … THEN … ELSE … END CASE`.
    fn case_statement(&mut self) -> Read<()> {
        self.advance();
        if !self.at(kw::WHEN) {
            self.condition(&[kw::WHEN])?;
        }
        while self.eat(kw::WHEN) {
            self.condition(&[kw::THEN])?;
            self.advance();
            self.body_statements(&[kw::WHEN, kw::ELSE, kw::END])?;
        }
        if self.eat(kw::ELSE) {
            self.body_statements(&[kw::END])?;
        }
        self.end_of(kw::CASE)
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
        if self.eat_any(&[kw::CONTINUE, kw::EXIT, kw::UNDO]).is_none() {
            return if self.pieces.is_some() { self.declared() } else { self.skip_to_semicolon() };
        }
        self.expect_all(&[kw::HANDLER, kw::FOR])?;
        self.list(Self::handled)?;
        self.body_statement()
    }

    /// What a handler is for.
    fn handled(&mut self) -> Read<()> {
        match self.word() {
            kw::SQLSTATE => {
                self.advance();
                self.eat(kw::VALUE);
                self.expect_string()?;
            }
            kw::SQLWARNING | kw::SQLEXCEPTION => self.advance(),
            kw::NOT => self.expect_all(&[kw::NOT, kw::FOUND])?,
            _ if self.kind() == TokenKind::Integer => self.advance(),
            _ => {
                self.ident()?;
            }
        }
        Ok(())
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

    fn note(&mut self, piece: Piece<'a>) {
        if let Some(pieces) = &mut self.pieces {
            pieces.push(piece);
        }
    }

    /// A statement without others, for who asks what it is.
    fn piece(&mut self) -> Read<()> {
        match self.word() {
            kw::LEAVE | kw::ITERATE | kw::OPEN | kw::CLOSE => {
                self.advance();
                self.ident()?;
                if self.at_end() { Ok(()) } else { self.stop(Expected::Punct(b';')) }
            }
            kw::RETURN => {
                self.advance();
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
        while !self.at_end() && !self.eat(kw::INTO) {
            self.advance();
        }
        for name in self.list(Self::ident)? {
            self.note(Piece::Assigned(*name));
        }
        Ok(())
    }

    fn noted_expression(&mut self) -> Read<()> {
        let start = self.start();
        self.expr()?;
        let span = self.span_from(start);
        self.note(Piece::Expression(span));
        Ok(())
    }

    /// Behind DECLARE, but for a handler: variables with their default, a condition, a cursor.
    fn declared(&mut self) -> Read<()> {
        let names = self.list(Self::ident)?;
        if self.eat(kw::CONDITION) {
            return self.skip_to_semicolon();
        }
        if self.eat_all(&[kw::CURSOR, kw::FOR]) {
            let start = self.start();
            self.skip_to_semicolon()?;
            let span = self.span_from(start);
            self.note(Piece::Statement(span));
            return Ok(());
        }
        match self.declared_type()? {
            DeclaredType::Type(_) => {}
            _ => return self.stop(Expected::What("a plain type")),
        }
        for name in names {
            self.note(Piece::Variable(*name));
        }
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
