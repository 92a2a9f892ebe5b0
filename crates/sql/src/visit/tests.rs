//! Walks over trees.

use bumpalo::Bump;

use super::{Flow, Node, Visitor, walk};
use crate::ast::{BinaryOp, Expr, ExprKind, Literal, Span};

/// `1 OR 1 OR …`, nested to the left.
fn chain(arena: &Bump, length: u32) -> Expr<'_> {
    let literal = |at| Expr { span: Span { start: at, end: at + 1 }, kind: ExprKind::Literal(Literal::Integer) };
    let mut expr = literal(0);
    for at in (1..length).map(|n| n * 5) {
        let (left, right) = (&*arena.alloc(expr), &*arena.alloc(literal(at)));
        expr = Expr { span: left.span.to(right.span), kind: ExprKind::Binary(BinaryOp::Or, left, right) };
    }
    expr
}

#[derive(Default)]
struct Record {
    starts: Vec<u32>,
    open: usize,
    left: usize,
}

impl<'a> Visitor<'a> for Record {
    fn enter(&mut self, node: Node<'a>) -> Flow {
        self.open += 1;
        if let Node::Expr(Expr { kind: ExprKind::Literal(_), span }) = node {
            self.starts.push(span.start);
        }
        Flow::Descend
    }

    fn leave(&mut self, _: Node<'a>) {
        self.left += 1;
        assert!(self.left <= self.open, "more nodes were left than entered");
    }
}

#[test]
fn long_chains_are_walked_in_the_order_of_the_text() {
    let arena = Bump::new();
    let expr = chain(&arena, 100_000);
    let mut record = Record::default();
    assert!(walk(Node::Expr(&expr), &mut record));
    assert_eq!(record.starts.len(), 100_000);
    assert!(record.starts.is_sorted());
    assert_eq!((record.open, record.left), (199_999, 199_999));
}

#[test]
fn a_visitor_can_skip_and_stop() {
    let arena = Bump::new();
    let expr = chain(&arena, 3);
    let mut seen = 0;
    let mut skipping = |_: Node<'_>| {
        seen += 1;
        Flow::Skip
    };
    assert!(walk(Node::Expr(&expr), &mut skipping));
    assert_eq!(seen, 1);
    let mut seen = 0;
    let mut stopping = |_: Node<'_>| {
        seen += 1;
        if seen == 3 { Flow::Stop } else { Flow::Descend }
    };
    assert!(!walk(Node::Expr(&expr), &mut stopping));
    assert_eq!(seen, 3);
}
