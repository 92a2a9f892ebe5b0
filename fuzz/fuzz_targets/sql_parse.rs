//! The parser: spans lie within the text and within their parents, in the text's order; a tree costs no more than the
//! text allows; a text is read the same after white space.
//!
//! Input: mode, text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_fuzz::Input;
use weir_sql::ast::Span;
use weir_sql::visit::{Flow, Node, Visitor, walk};
use weir_sql::{Bump, parse};

/// Arena bytes that a byte of text may cost: a token is a byte at least, and a handful of nodes.
const BYTES_PER_BYTE: usize = 2048;

/// The spans of the nodes on the way down, the text's own first.
struct Spans {
    open: Vec<Span>,
    nodes: usize,
}

impl<'a> Visitor<'a> for Spans {
    fn enter(&mut self, node: Node<'a>) -> Flow {
        let span = node.span();
        let parent = self.open.last().expect("the text is never left");
        assert!(span.start <= span.end, "{span:?} of {node:?}");
        assert!(parent.start <= span.start && span.end <= parent.end, "{span:?} outside of {parent:?}: {node:?}");
        self.open.push(span);
        self.nodes += 1;
        Flow::Descend
    }

    fn leave(&mut self, _: Node<'a>) {
        self.open.pop();
    }
}

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let mode = input.lex_mode();
    let sql = input.0;

    let arena = Bump::new();
    let shifted = [b"\n", sql].concat();
    let again = Bump::new();
    match (parse(&arena, sql, mode), parse(&again, &shifted, mode)) {
        (Ok(parsed), Ok(after)) => {
            assert_eq!(parsed.statements.len(), after.statements.len());
            assert_eq!(parsed.parameters, after.parameters);
            let mut end = 0;
            for statement in parsed.statements {
                assert!(end <= statement.span.start, "{statement:?} before {end}");
                end = statement.span.end;
                let text = Span { start: 0, end: u32::try_from(sql.len()).expect("inputs are short") };
                let mut spans = Spans { open: vec![text], nodes: 0 };
                walk(Node::Statement(statement), &mut spans);
                assert!(spans.nodes <= 16 * sql.len() + 16, "{} nodes", spans.nodes);
            }
        }
        (Err(error), Err(after)) => {
            assert_eq!((error.span.start + 1, error.span.end + 1), (after.span.start, after.span.end), "{error}");
            assert!(error.span.end as usize <= sql.len(), "{error}");
        }
        (one, other) => panic!("{one:?}, and after white space {other:?}"),
    }
    assert!(arena.allocated_bytes() <= BYTES_PER_BYTE * (sql.len() + 64), "{} bytes", arena.allocated_bytes());
});
