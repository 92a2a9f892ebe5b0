//! What the words of a text may mean, whatever its grammar: for texts that the parser does not read, and for blocks that
//! the tree keeps as spans.
//!
//! What must hold: every call, variable and word that could mean something to Weir counts, wherever it stands.

use super::uses::Uses;
use crate::cursor::{Cursor, Item};
use crate::flags::{Effects, Pins};
use crate::keyword::Keyword;
use crate::kw;
use crate::lexer::{Conditional, Lexer, TokenKind};
use crate::mode::LexMode;
use crate::names::is_servers_schema;

/// What a text of unknown statements may use and do, whether there are several, and which executable comments it has.
pub(crate) fn uses_of_text(lexer: Lexer<'_>, mode: LexMode) -> (Uses, bool, Conditional) {
    let mut cursor = Cursor::over(lexer);
    let mut uses = Uses::default();
    uses.unknown_statement();
    if may_run_others(&cursor) {
        uses.effects |= Effects::RUNS_OTHERS;
    }
    let mut several = false;
    while cursor.kind() != TokenKind::End {
        let item = cursor.current();
        match item.token.kind {
            TokenKind::Word | TokenKind::QuotedIdent => name(&cursor, item, mode, &mut uses),
            // It may be assigned; MySQL allows a space between @ and the name.
            TokenKind::UserVariable | TokenKind::Punct(b'@') => {
                uses.effects |= Effects::USES_USER_VARIABLES | Effects::SETS_USER_VARIABLES;
                uses.pins |= Pins::COMPUTED_USER_VARIABLE;
            }
            // What follows a point is looked at as a name.
            TokenKind::SystemVariable => uses.system_variable(unprefixed(cursor.text(item)), false),
            TokenKind::Semicolon => several |= cursor.next().token.kind != TokenKind::End,
            _ => {}
        }
        cursor.advance();
    }
    (uses, several, cursor.conditional())
}

/// Whether a text is no query, change, definition or the like by its first word.
fn may_run_others(cursor: &Cursor<'_>) -> bool {
    const PLAIN: &[Keyword] = &[
        kw::SELECT,
        kw::WITH,
        kw::VALUES,
        kw::TABLE,
        kw::INSERT,
        kw::REPLACE,
        kw::UPDATE,
        kw::DELETE,
        kw::LOAD,
        kw::SHOW,
        kw::CREATE,
        kw::ALTER,
        kw::DROP,
        kw::TRUNCATE,
        kw::RENAME,
        kw::GRANT,
        kw::REVOKE,
        kw::EXPLAIN,
        kw::DESCRIBE,
        kw::DESC,
        kw::USE,
        kw::DO,
    ];
    let sets = cursor.at(kw::SET) && !cursor.next_is(kw::STATEMENT);
    !(sets || cursor.at_punct(b'(') || cursor.at_any(PLAIN))
}

/// `@@x` without what is not the name.
fn unprefixed(text: &[u8]) -> &[u8] {
    match text.get(2..).unwrap_or_default() {
        [b'`', name @ .., b'`'] => name,
        name => name,
    }
}

fn name(cursor: &Cursor<'_>, item: Item, mode: LexMode, uses: &mut Uses) {
    let text = cursor.name(item);
    let word = Keyword::of(text);
    if cursor.next_is_punct(b'(') {
        call(cursor, item, word, mode, uses);
    }
    if cursor.next_is_punct(b'.') && is_servers_schema(text) {
        uses.effects |= Effects::SERVER_STATE;
    }
    if cursor.previous().token.kind == TokenKind::Punct(b'.') {
        // Perhaps the name of a system variable, or a sequence's value.
        let server_state = uses.effects & Effects::SERVER_STATE;
        uses.system_variable(text, false);
        uses.effects = (uses.effects - Effects::SERVER_STATE) | server_state;
        if matches!(word, kw::NEXTVAL | kw::CURRVAL | kw::LASTVAL) {
            uses.sequence(Effects::WRITES);
        }
    }
    uses.session_track(text);
    uses.telling_name(text);
    meaning(item.word, uses);
}

fn call(cursor: &Cursor<'_>, item: Item, word: Keyword, mode: LexMode, uses: &mut Uses) {
    let mut arguments = *cursor;
    arguments.advance();
    uses.known_function(word, arguments.next_is_punct(b')'));
    let adjacent = item.token.end == arguments.current().token.start;
    let quoted = item.token.kind == TokenKind::QuotedIdent;
    let qualified = cursor.previous().token.kind == TokenKind::Punct(b'.');
    if qualified || !word.is_known_call(mode, quoted, adjacent) {
        uses.unknown_function();
    }
}

/// Words that change how a statement must be handled, if they mean what they mean elsewhere.
fn meaning(word: Keyword, uses: &mut Uses) {
    uses.effects |= match word {
        kw::FROM | kw::JOIN | kw::TABLE => Effects::READS,
        kw::UPDATE | kw::SHARE | kw::LOCK => Effects::READS | Effects::WRITES | Effects::LOCKING_READ,
        kw::OUTFILE | kw::DUMPFILE => Effects::WRITES,
        kw::SQL_CALC_FOUND_ROWS => {
            uses.pins |= Pins::FOUND_ROWS;
            Effects::CALC_FOUND_ROWS
        }
        kw::NEXT | kw::PREVIOUS => {
            uses.pins |= Pins::SEQUENCE;
            Effects::READS | Effects::WRITES
        }
        kw::INTO => Effects::WRITES,
        kw::WARNINGS | kw::ERRORS | kw::DIAGNOSTICS => Effects::USES_WARNINGS,
        kw::VARIABLES => Effects::SHOWS_SESSION_VARIABLES,
        kw::GLOBAL | kw::PERSIST | kw::PERSIST_ONLY => Effects::CHANGES_GLOBALS | Effects::WRITES,
        kw::USE | kw::DATABASE | kw::SCHEMA => Effects::CHANGES_DATABASE,
        kw::XA | kw::CHAIN | kw::SNAPSHOT | kw::TRANSACTION => Effects::STARTS_TRANSACTION_OTHER,
        kw::INFILE => Effects::LOCAL_INFILE,
        kw::RETURNING => Effects::RETURNING,
        kw::STATEMENT => Effects::SETS_FOR_STATEMENT,
        kw::GRANT | kw::REVOKE => Effects::WRITES | Effects::IMPLICIT_COMMIT | Effects::CHANGES_ACCOUNTS,
        kw::USER | kw::ROLE | kw::PASSWORD | kw::PRIVILEGES => Effects::CHANGES_ACCOUNTS,
        kw::CREATE | kw::ALTER | kw::DROP | kw::RENAME | kw::TRUNCATE | kw::TABLES => {
            Effects::WRITES | Effects::IMPLICIT_COMMIT
        }
        _ => return,
    };
}
