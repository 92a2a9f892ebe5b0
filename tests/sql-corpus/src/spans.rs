//! Whether what a node's span covers is the node: cut out of the text and read alone, it gives the same.

use weir_sql::ast::{Expr, ExprKind};
use weir_sql::visit::{Flow, Node, walk};
use weir_sql::{Bump, Dialect, LexMode, parse, parse_expression, parse_query, parse_table_reference};

use crate::corpus::Statement;
use crate::judge::Judge;
use crate::report::{Report, shown};

/// In statements with more nodes than would take this many bytes to read, only some are tried.
const MOST_BYTES: usize = 4 << 20;

/// Tries all nodes of all statements.
pub(crate) fn check(judge: &Judge, kept: &[&Statement], show: usize) -> Report {
    let mut report = Report::new(format!("{}: nodes cut out and read alone", judge.name()), show);
    let (mut whole, mut alone) = (Bump::new(), Bump::new());
    for statement in kept {
        let mode = statement.setting.lex_mode(judge.dialect);
        check_statement(&whole, &mut alone, &statement.text, mode, &mut report);
        whole.reset();
    }
    report
}

fn check_statement<'a>(whole: &'a Bump, alone: &mut Bump, sql: &'a [u8], mode: LexMode, report: &mut Report) {
    let Ok(parsed) = parse(whole, sql, mode) else { return };
    let mut nodes = Vec::new();
    for statement in parsed.statements {
        walk(Node::Statement(statement), &mut |node: Node<'a>| {
            if matches!(node, Node::Expr(_) | Node::Query(_) | Node::TableRef(..)) {
                nodes.push(node);
            }
            Flow::Descend
        });
    }
    let stride = 1 + nodes.len() * sql.len() / MOST_BYTES;
    let mut text = vec![b' '; sql.len()];
    for node in nodes.iter().step_by(stride) {
        let span = node.span().range();
        if cuts_a_comment(&sql[span.clone()]) {
            report.good("passed over: begins or ends in a comment");
            continue;
        }
        text[span.clone()].copy_from_slice(&sql[span.clone()]);
        let outcome = same(alone, *node, &text[..span.end], mode);
        text[span.clone()].fill(b' ');
        alone.reset();
        match outcome {
            Outcome::Same => report.good(kind_of(*node)),
            Outcome::NoExpression => report.good("passed over: no expression by itself"),
            Outcome::Different(how) => {
                report.bad(&format!("{}: {how}", kind_of(*node)), || {
                    format!("{}  of  {}", shown(&sql[span]), shown(sql))
                });
            }
        }
    }
}

enum Outcome {
    Same,
    NoExpression,
    Different(String),
}

fn same(arena: &Bump, node: Node<'_>, text: &[u8], mode: LexMode) -> Outcome {
    let read = match node {
        Node::Expr(Expr { kind: ExprKind::Interval(_) | ExprKind::Word(_), .. }) => return Outcome::NoExpression,
        // Its sign belongs to an interval.
        Node::Expr(Expr { kind: ExprKind::Unary(_, Expr { kind: ExprKind::Interval(_), .. }), .. }) => {
            return Outcome::NoExpression;
        }
        Node::Expr(expr) => parse_expression(arena, text, mode).map(|found| found == *expr || alike(&found, expr)),
        Node::Query(query) => parse_query(arena, text, mode).map(|found| found == *query || alike(&found, query)),
        Node::TableRef(table, _) => {
            parse_table_reference(arena, text, mode).map(|found| found == *table || alike(&found, table))
        }
        _ => return Outcome::NoExpression,
    };
    match read {
        Ok(true) => Outcome::Same,
        Ok(false) => Outcome::Different("another node".to_owned()),
        // MariaDB's VALUES(c) is a call in ON DUPLICATE KEY UPDATE only, else a query.
        Err(_) if mode.dialect == Dialect::MariaDb && matches!(node, Node::Expr(_)) && has_values(text) => {
            Outcome::NoExpression
        }
        Err(error) => Outcome::Different(format!("not read, {} was expected", error.expected())),
    }
}

fn has_values(text: &[u8]) -> bool {
    text.windows(6).any(|word| word.eq_ignore_ascii_case(b"values"))
}

/// Whether nodes are the same but for the numbers of their parameters, which begin anew in a part of a text.
fn alike(one: &impl std::fmt::Debug, other: &impl std::fmt::Debug) -> bool {
    let unnumbered = |text: String| {
        let mut parts = text.split("Parameter(");
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            out.push_str("Parameter(");
            out.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
        }
        out
    };
    let one = format!("{one:?}");
    one.contains("Parameter(") && unnumbered(one) == unnumbered(format!("{other:?}"))
}

/// Whether a part of a text holds only one end of a comment.
pub(crate) fn cuts_a_comment(part: &[u8]) -> bool {
    let mut depth = 0_i32;
    let mut at = 0;
    while at + 1 < part.len() {
        depth += match &part[at..at + 2] {
            b"/*" => 1,
            b"*/" => -1,
            _ => 0,
        };
        if depth < 0 {
            return true;
        }
        at += if matches!(&part[at..at + 2], b"/*" | b"*/") { 2 } else { 1 };
    }
    depth != 0
}

fn kind_of(node: Node<'_>) -> &'static str {
    match node {
        Node::Expr(_) => "expressions",
        Node::Query(_) => "queries",
        _ => "table references",
    }
}
