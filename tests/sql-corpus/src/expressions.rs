//! Whether operators bind in the tree as they do in the server: a query without tables is run as it is, and with each
//! expression of its tree in parentheses; both have to give the same.

use std::io;

use weir_sql::ast::{Expr, ExprKind, Span, StatementKind, TableRef, TableRefKind};
use weir_sql::visit::{Flow, NameRole, Node, walk};
use weir_sql::{Bump, Dialect, LexMode, Parsed, parse, parse_expression};

use crate::client::{Answer, Client, Rows};
use crate::corpus::Statement;
use crate::judge::{Judge, apply};
use crate::report::{Report, shown};
use crate::setting::Setting;

/// Functions that wait, or do more than have a value.
const NOT_TO_BE_CALLED: [&str; 16] = [
    "SLEEP",
    "BENCHMARK",
    "GET_LOCK",
    "RELEASE_LOCK",
    "RELEASE_ALL_LOCKS",
    "LOAD_FILE",
    "MASTER_POS_WAIT",
    "SOURCE_POS_WAIT",
    "MASTER_GTID_WAIT",
    "WAIT_FOR_EXECUTED_GTID_SET",
    "WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS",
    "LAST_INSERT_ID",
    "SETVAL",
    "NEXTVAL",
    "LASTVAL",
    "REPEAT",
];
/// What random expressions are asked with.
pub(crate) const SELECT: &[u8] = b"SELECT ";
const SYNTAX_ERROR: u16 = 1064;
const AT_ONCE: usize = 32;

/// A query, and the same with parentheses.
pub(crate) struct Pair {
    pub(crate) plain: Vec<u8>,
    pub(crate) explicit: Vec<u8>,
}

/// Runs the queries of the corpus that have no tables: parentheses have to change none of them.
pub(crate) fn check(judge: &mut Judge, kept: &[&Statement], show: usize) -> io::Result<Report> {
    let mut report = Report::new(format!("{}: expressions of the corpus in parentheses", judge.name()), show);
    let mut arena = Bump::new();
    let mut pairs: Vec<(Setting, Pair)> = Vec::new();
    for statement in kept {
        let mode = statement.setting.lex_mode(judge.dialect);
        if let Ok(parsed) = parse(&arena, &statement.text, mode)
            && !parsed.conditional
            && has_only_values(&parsed)
            && let Some(explicit) = in_parentheses(&statement.text, &parsed)
        {
            pairs.push((statement.setting, Pair { plain: statement.text.clone(), explicit }));
        }
        arena.reset();
    }
    run(judge, pairs, &mut report)?;
    Ok(report)
}

/// Runs pairs of queries, and says whether they agree.
pub(crate) fn run(judge: &mut Judge, pairs: Vec<(Setting, Pair)>, report: &mut Report) -> io::Result<()> {
    let bar = judge.progress(pairs.len(), &format!("expressions on {}", judge.name()));
    let mut asker: Option<(Client, Option<Setting>)> = None;
    for some in pairs.chunk_by(|one, other| one.0 == other.0).flat_map(|alike| alike.chunks(AT_ONCE)) {
        let setting = some[0].0;
        let (client, current) = match &mut asker {
            Some(asker) => asker,
            none => none.insert((connect(judge)?, None)),
        };
        if *current != Some(setting) {
            apply(client, setting)?;
            *current = Some(setting);
        }
        // Once more at the end, to find those that are never the same.
        let texts = |which: fn(&Pair) -> &Vec<u8>| some.iter().map(|(_, pair)| which(pair).clone()).collect::<Vec<_>>();
        let plain = client.query_all(&texts(|pair| &pair.plain))?;
        let explicit = client.query_all(&texts(|pair| &pair.explicit))?;
        let again = client.query_all(&texts(|pair| &pair.plain))?;
        for (((pair, plain), explicit), again) in some.iter().zip(&plain).zip(&explicit).zip(&again) {
            compare(pair, [plain, explicit, again], report);
        }
        bar.inc(some.len() as u64);
    }
    bar.finish_and_clear();
    Ok(())
}

fn connect(judge: &mut Judge) -> io::Result<Client> {
    let limit = match judge.dialect {
        Dialect::MariaDb => "SET max_statement_time = 3",
        _ => "SET max_execution_time = 3000",
    };
    let mut client = judge.connect()?;
    for statement in [limit, "SET timestamp = 1700000000"] {
        let done = client.execute(statement.as_bytes())?;
        done.map_err(|refusal| io::Error::other(refusal.to_string()))?;
    }
    Ok(client)
}

fn compare((setting, pair): &(Setting, Pair), [plain, explicit, again]: [&Answer<Rows>; 3], report: &mut Report) {
    // Messages quote the text, which is another one.
    let outcome = |answer: &Answer<Rows>| answer.as_ref().map(|rows| rows.rows.clone()).map_err(|refusal| refusal.code);
    let example = || format!("[{}] {}\n           {}", setting.sql_mode(), shown(&pair.plain), shown(&pair.explicit));
    match (outcome(plain), outcome(explicit)) {
        (Err(SYNTAX_ERROR), _) => report.good("refused by the server"),
        (_, Err(SYNTAX_ERROR)) => report.bad("not read by the server with parentheses", example),
        (one, other) if one == other && one.is_err() => report.good("the same error"),
        (one, other) if one == other => report.good("the same value"),
        (one, _) if one != outcome(again) => report.good("never the same"),
        _ => report.bad("another value", example),
    }
}

/// Whether a text is one query of values, without tables, variables that it changes, or calls that do something.
fn has_only_values(parsed: &Parsed<'_>) -> bool {
    let [statement] = parsed.statements else { return false };
    if !matches!(statement.kind, StatementKind::Query(_)) || parsed.parameters > 0 {
        return false;
    }
    walk(Node::Statement(statement), &mut |node: Node<'_>| match node {
        Node::Into(_) | Node::Lock(_) => Flow::Stop,
        Node::Expr(Expr { kind: ExprKind::Assign(_) | ExprKind::Sequence(..), .. }) => Flow::Stop,
        Node::Name(name, NameRole::Routine) if NOT_TO_BE_CALLED.iter().any(|call| name.name.is(call)) => Flow::Stop,
        // A stored function can do anything; there is none on the judges.
        Node::Name(_, NameRole::Routine | NameRole::Star) => Flow::Descend,
        Node::Name(..) => Flow::Stop,
        _ => Flow::Descend,
    })
}

/// The text with parentheses around all that has operands, if there is any.
fn in_parentheses(sql: &[u8], parsed: &Parsed<'_>) -> Option<Vec<u8>> {
    let mut spans = Vec::new();
    parsed.statements.iter().for_each(|statement| collect_operators(Node::Statement(statement), &mut spans));
    (!spans.is_empty()).then(|| with_parentheses(sql, &spans))
}

fn collect_operators(node: Node<'_>, spans: &mut Vec<Span>) {
    walk(node, &mut |node: Node<'_>| match node {
        Node::DataType(_) | Node::Limit(_) | Node::Frame(_) => Flow::Skip,
        // The defaults of its columns are literals, signs included.
        Node::TableRef(TableRef { kind: TableRefKind::JsonTable(_), .. }, _) => Flow::Skip,
        Node::Expr(expr) => {
            if has_operands(expr) {
                spans.push(expr.span);
            }
            Flow::Descend
        }
        _ => Flow::Descend,
    });
}

/// The text with parentheses around each of these spans, which nest.
fn with_parentheses(sql: &[u8], spans: &[Span]) -> Vec<u8> {
    let (mut opened, mut closed) = (vec![0_u32; sql.len() + 1], vec![0_u32; sql.len() + 1]);
    for span in spans {
        opened[span.start as usize] += 1;
        closed[span.end as usize] += 1;
    }
    let mut out = Vec::with_capacity(sql.len() + spans.len() * 4);
    for at in 0..=sql.len() {
        (0..closed[at]).for_each(|_| out.extend(b") "));
        (0..opened[at]).for_each(|_| out.extend(b" ("));
        out.extend(sql.get(at));
    }
    out
}

fn has_operands(expr: &Expr<'_>) -> bool {
    // Its sign belongs to an interval.
    if matches!(expr.kind, ExprKind::Unary(_, Expr { kind: ExprKind::Interval(_), .. })) {
        return false;
    }
    matches!(
        expr.kind,
        ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Is(_)
            | ExprKind::Between(_)
            | ExprKind::In(_)
            | ExprKind::Like(_)
            | ExprKind::Case(_)
            | ExprKind::Collate(..)
            | ExprKind::Quantified(_)
    )
}

/// Reads `SELECT` and one expression, and puts the expression in parentheses. `None`: it could not be read.
pub(crate) fn explicit(arena: &Bump, sql: &[u8], mode: LexMode) -> Option<Vec<u8>> {
    let mut alone = sql.to_vec();
    alone[..SELECT.len()].fill(b' ');
    let expr = parse_expression(arena, arena.alloc_slice_copy(&alone), mode).ok()?;
    let mut spans = Vec::new();
    collect_operators(Node::Expr(arena.alloc(expr)), &mut spans);
    Some(with_parentheses(sql, &spans))
}
