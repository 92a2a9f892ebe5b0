//! Whether a text can be changed at nodes: an expression put in parentheses, a literal replaced, the names of tables quoted,
//! and nothing else of the tree becomes different.
//!
//! Trees are compared as Rust shows them, without spans: a change in the text shifts all that follows.

use std::io;
use std::ops::Range;
use std::path::Path;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use weir_sql::ast::{Expr, ExprKind, Literal, Span, StatementKind};
use weir_sql::visit::{Flow, NameRole, Node, walk};
use weir_sql::{Bump, LeadBytes, LexMode, parse, splice};

use crate::corpus::Statement;
use crate::judge::{Judge, is_in_the_grammar};
use crate::report::{Report, shown};
use crate::spans::cuts_a_comment;

/// Trees of longer statements take too long to print.
const LONGEST: usize = 4 * 1024;
const SEED: u64 = 20_261_122;

/// A changed text, and the tree that it should have.
struct Change {
    kind: &'static str,
    text: Vec<u8>,
    expected: String,
}

/// Changes each statement in a few random ways: every text that a server reads has to be read, with the change only.
pub(crate) fn check(judge: &mut Judge, kept: &[&Statement], cache: &Path, show: usize) -> io::Result<Report> {
    let mut report = Report::new(format!("{}: texts changed at nodes", judge.name()), show);
    let mut random = StdRng::seed_from_u64(SEED);
    let mut unread = Vec::new();
    let mut arena = Bump::new();
    for statement in kept.iter().filter(|statement| statement.text.len() <= LONGEST) {
        let mode = statement.setting.lex_mode(judge.dialect);
        for change in changes(&arena, &statement.text, mode, &mut random) {
            match parse(&arena, &change.text, mode) {
                Ok(parsed) if without_spans(&format!("{:?}", parsed.statements)) == change.expected => {
                    report.good(change.kind);
                }
                Ok(_) => report.bad(&format!("{}: another tree", change.kind), || shown(&change.text)),
                Err(error) => {
                    unread.push((change.kind, error.expected(), Statement { text: change.text, ..**statement }));
                }
            }
        }
        arena.reset();
    }
    judge_unread(judge, unread, cache, &mut report)?;
    Ok(report)
}

/// What was not read has to be what the server does not read either: a place where it takes a name or a literal only.
fn judge_unread(
    judge: &mut Judge,
    unread: Vec<(&'static str, String, Statement)>,
    cache: &Path,
    report: &mut Report,
) -> io::Result<()> {
    let (reasons, texts): (Vec<_>, Vec<_>) =
        unread.into_iter().map(|(kind, expected, statement)| ((kind, expected), statement)).unzip();
    let verdicts = judge.verdicts(&texts, cache)?;
    for (((kind, expected), statement), code) in reasons.iter().zip(&texts).zip(verdicts) {
        if is_in_the_grammar(code) {
            report.bad(&format!("{kind}: not read, {expected} was expected"), || shown(&statement.text));
        } else {
            report.good("refused by the server, too");
        }
    }
    Ok(())
}

fn changes(arena: &Bump, sql: &[u8], mode: LexMode, random: &mut StdRng) -> Vec<Change> {
    let Ok(parsed) = parse(arena, sql, mode) else { return Vec::new() };
    let found = places(&parsed, sql);
    if found.exprs.is_empty() && found.names.is_empty() {
        return Vec::new();
    }
    let tree = format!("{:?}", parsed.statements);
    let mut all = Vec::new();
    for _ in 0..2.min(found.exprs.len()) {
        let expr = found.exprs[random.random_range(0..found.exprs.len())];
        all.extend(in_parentheses(sql, &tree, expr));
    }
    if !found.literals.is_empty() {
        let expr = found.literals[random.random_range(0..found.literals.len())];
        all.extend(another_literal(sql, &tree, expr));
    }
    if !found.names.is_empty() && mode.lead_bytes == LeadBytes::None {
        let quoted: Vec<(Range<usize>, Vec<u8>)> =
            found.names.iter().map(|(span, name)| (span.range(), quoted(name))).collect();
        let edits: Vec<(Range<usize>, &[u8])> = quoted.iter().map(|(range, text)| (range.clone(), &text[..])).collect();
        all.push(Change { kind: "names quoted", text: splice(sql, &edits), expected: without_spans(&tree) });
    }
    all
}

#[derive(Default)]
struct Places {
    exprs: Vec<Span>,
    literals: Vec<Span>,
    names: Vec<(Span, Vec<u8>)>,
}

fn places(parsed: &weir_sql::Parsed<'_>, sql: &[u8]) -> Places {
    let mut found = Places::default();
    let mut enter = |node: Node<'_>| {
        match node {
            // What stands in these is a number or a name, not any expression.
            Node::DataType(_) | Node::Limit(_) | Node::Into(_) | Node::Frame(_) => return Flow::Skip,
            Node::Expr(Expr { kind: ExprKind::Interval(_) | ExprKind::Word(_) | ExprKind::Subquery(_), .. }) => {}
            // Its columns are names in parentheses of its own.
            Node::Expr(Expr { kind: ExprKind::Match(_), .. }) => return Flow::Skip,
            // `SYSTEM_TIME AS OF TIMESTAMP x` is not `TIMESTAMP(x)`.
            Node::Expr(expr) if follows_timestamp(sql, expr.span) => {}
            Node::Expr(expr) if cuts_a_comment(expr.span.text(sql)) => {}
            Node::Expr(expr) => {
                found.exprs.push(expr.span);
                if matches!(expr.kind, ExprKind::Literal(kind) if kind != Literal::Null) {
                    found.literals.push(expr.span);
                }
            }
            Node::Name(name, NameRole::Read | NameRole::Changed | NameRole::Written) => {
                found.names.push((name.name.span, name.name.name.to_vec()));
            }
            _ => {}
        }
        Flow::Descend
    };
    for statement in parsed.statements {
        // What it assigns to is no expression, but is read as one after a condition's number.
        if matches!(statement.kind, StatementKind::GetDiagnostics(_)) {
            continue;
        }
        walk(Node::Statement(statement), &mut enter);
    }
    found
}

fn follows_timestamp(sql: &[u8], span: Span) -> bool {
    sql[..span.start as usize].trim_ascii_end().to_ascii_lowercase().ends_with(b"timestamp")
}

fn in_parentheses(sql: &[u8], tree: &str, span: Span) -> Option<Change> {
    let text = [gap(sql, span), b"(", span.text(sql), b") "].concat();
    let (before, node, after) = node_at(tree, span)?;
    let expected = format!("{before}Expr {{ span: , kind: Paren({node}) }}{after}");
    Some(Change {
        kind: "expressions in parentheses",
        text: splice(sql, &[(span.range(), &text)]),
        expected: without_spans(&expected),
    })
}

fn another_literal(sql: &[u8], tree: &str, span: Span) -> Option<Change> {
    let (before, _, after) = node_at(tree, span)?;
    let expected = format!("{before}Expr {{ span: , kind: Literal(Integer) }}{after}");
    Some(Change {
        kind: "literals replaced",
        text: splice(sql, &[(span.range(), &[gap(sql, span), b"42 "].concat())]),
        expected: without_spans(&expected),
    })
}

/// A space where the text before a span would swallow what is put there; not after a minus, which with another one and a
/// space begins a comment.
fn gap(sql: &[u8], span: Span) -> &'static [u8] {
    match sql[..span.start as usize].last() {
        Some(b'-') | None => b"",
        Some(_) => b" ",
    }
}

/// A tree as Rust shows it, cut at the expression with this span.
fn node_at(tree: &str, span: Span) -> Option<(&str, &str, &str)> {
    let head = format!("Expr {{ span: {span:?}, kind: ");
    let start = tree.find(&head)?;
    let mut depth = 0_usize;
    for (at, byte) in tree[start..].bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => {
                let end = start + at + 1;
                return Some((&tree[..start], &tree[start..end], &tree[end..]));
            }
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn without_spans(tree: &str) -> String {
    const HEAD: &str = "Span {";
    let mut parts = tree.split(HEAD);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(part.split_once('}').map_or("", |(_, rest)| rest));
    }
    out
}

fn quoted(name: &[u8]) -> Vec<u8> {
    let mut out = vec![b'`'];
    for byte in name {
        if *byte == b'`' {
            out.push(b'`');
        }
        out.push(*byte);
    }
    out.push(b'`');
    out
}
