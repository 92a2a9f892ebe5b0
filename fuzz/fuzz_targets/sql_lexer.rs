//! The lexer: tokens come in order, within the text, and each takes at least one byte; nothing follows the end.
//!
//! Input: mode, text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_fuzz::Input;
use weir_sql::{Lexer, TokenKind};

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let mode = input.lex_mode();
    let sql = input.0;

    let mut lexer = Lexer::new(sql, mode);
    let (mut end, mut tokens) = (0, 0);
    loop {
        let token = lexer.next_token();
        assert!(end <= token.start && token.start <= token.end, "{token:?} after {end}");
        assert!(token.end as usize <= sql.len(), "{token:?} past the end");
        if token.kind == TokenKind::End {
            break;
        }
        // An executable comment may be open at the very end of the text.
        if token.kind == TokenKind::Unterminated {
            assert_eq!(token.end as usize, sql.len(), "{token:?} does not cover the rest");
        } else {
            assert!(token.start < token.end, "{token:?} takes nothing");
        }
        end = token.end;
        tokens += 1;
        assert!(tokens <= sql.len() + 1, "the text has no end");
    }
    assert_eq!(lexer.next_token().kind, TokenKind::End, "something after the end");
});
