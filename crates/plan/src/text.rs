//! Changing the client's text at spans, with its parameters counted.
//!
//! What must always hold: what no edit covers stays byte for byte, and each parameter that the new text has is known as one of the client's.

use std::ops::Range;

use weir_sql::ast::{Expr, ExprKind, Statement};
use weir_sql::visit::{Flow, Node, walk};

use crate::piece::Piece;

/// Pieces, one after another.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pieces(pub(crate) Vec<Piece>);

impl Pieces {
    pub(crate) fn own(range: Range<usize>) -> Self {
        Pieces(vec![Piece::Own(range)])
    }

    pub(crate) fn new(text: impl Into<Vec<u8>>) -> Self {
        Pieces(vec![Piece::New(text.into())])
    }

    pub(crate) fn then(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.0.push(Piece::New(text.into()));
        self
    }

    pub(crate) fn and(mut self, others: &Pieces) -> Self {
        self.0.extend(others.0.iter().cloned());
        self
    }

    /// As text.
    pub(crate) fn shown(&self, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        for piece in &self.0 {
            match piece {
                Piece::Own(range) => out.extend_from_slice(&text[range.clone()]),
                Piece::New(new) => out.extend_from_slice(new),
            }
        }
        out
    }

    /// `name(these)`.
    pub(crate) fn within(self, name: &str) -> Self {
        Pieces::new(format!("{name}(")).and(&self).then(")")
    }
}

/// Changes of a text.
#[derive(Debug, Default)]
pub(crate) struct Edits {
    edits: Vec<(Range<usize>, Pieces)>,
}

impl Edits {
    pub(crate) fn replace(&mut self, range: Range<usize>, pieces: Pieces) {
        self.edits.push((range, pieces));
    }

    pub(crate) fn insert(&mut self, at: usize, pieces: Pieces) {
        self.replace(at..at, pieces);
    }

    /// The new text in pieces.
    pub(crate) fn into_pieces(mut self, text: &[u8]) -> Vec<Piece> {
        self.edits.sort_by_key(|(range, _)| (range.start, range.end));
        let mut all = Vec::new();
        let mut done = 0;
        for (range, pieces) in self.edits {
            all.push(Piece::Own(done..range.start));
            all.extend(pieces.0);
            done = range.end;
        }
        all.push(Piece::Own(done..text.len()));
        all
    }
}

/// The new text, and which of the client's parameters its parameters are.
pub(crate) fn made_of(pieces: &[Piece], text: &[u8], statement: &Statement<'_>) -> (Vec<u8>, Vec<u32>) {
    made_with(pieces, text, &parameters(statement))
}

/// The same, with what [`parameters`] gives: for a statement of which many texts are made.
pub(crate) fn made_with(pieces: &[Piece], text: &[u8], known: &[(usize, u32)]) -> (Vec<u8>, Vec<u32>) {
    let length = |piece: &Piece| match piece {
        Piece::New(new) => new.len(),
        Piece::Own(range) => range.len(),
    };
    let (mut out, mut order) = (Vec::with_capacity(pieces.iter().map(length).sum()), Vec::new());
    for piece in pieces {
        match piece {
            Piece::New(new) => out.extend_from_slice(new),
            Piece::Own(range) => {
                let first = known.partition_point(|(at, _)| *at < range.start);
                let within = known[first..].iter().take_while(|(at, _)| *at < range.end);
                order.extend(within.map(|(_, place)| *place));
                out.extend_from_slice(&text[range.clone()]);
            }
        }
    }
    (out, order)
}

/// Where parameters stand, in order.
pub(crate) fn parameters<'a>(statement: &'a Statement<'a>) -> Vec<(usize, u32)> {
    let mut found = Vec::new();
    walk(Node::Statement(statement), &mut |node: Node<'a>| {
        if let Node::Expr(Expr { kind: ExprKind::Parameter(place), span }) = node {
            found.push((span.start as usize, *place));
        }
        Flow::Descend
    });
    found.sort_unstable();
    found
}
