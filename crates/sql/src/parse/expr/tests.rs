//! The shape of expressions, shown by the text with parentheses put around each node.

use bumpalo::Bump;

use crate::ast::{BinaryOp, Call, Expr, ExprKind, Literal};
use crate::mode::{Dialect, LexMode};
use crate::parse::parse_expression;
use crate::visit::{Flow, Node, walk};

fn mode(dialect: Dialect, sql_mode: &str) -> LexMode {
    LexMode { dialect, ..LexMode::from_sql_mode(sql_mode) }
}

/// The text with brackets around every expression that is made of others; `error` if it isn't read.
fn shape(sql: &str, mode: LexMode) -> String {
    let arena = Bump::new();
    let Ok(expr) = parse_expression(&arena, sql.as_bytes(), mode) else { return "error".to_owned() };
    let expr = arena.alloc(expr);
    let mut marks: Vec<(u32, bool, u32)> = Vec::new();
    let complete = walk(Node::Expr(expr), &mut |node: Node<'_>| {
        if let Node::Expr(expr) = node
            && !is_leaf(expr)
        {
            marks.push((expr.span.start, true, u32::MAX - expr.span.end));
            marks.push((expr.span.end, false, u32::MAX - expr.span.start));
        }
        Flow::Descend
    });
    assert!(complete);
    marks.sort_unstable();
    let (mut shown, mut done) = (String::new(), 0);
    for (at, opens, _) in marks {
        shown.push_str(&sql[done..at as usize]);
        shown.push(if opens { '[' } else { ']' });
        done = at as usize;
    }
    shown + &sql[done..]
}

fn is_leaf(expr: &Expr<'_>) -> bool {
    matches!(
        expr.kind,
        ExprKind::Literal(_)
            | ExprKind::Column(_)
            | ExprKind::Parameter(_)
            | ExprKind::UserVariable(_)
            | ExprKind::SystemVariable(_)
            | ExprKind::Paren(_)
            | ExprKind::Subquery(_)
    )
}

fn check(dialect: Dialect, sql_mode: &str, cases: &[(&str, &str)]) {
    for (sql, expected) in cases {
        assert_eq!(shape(sql, mode(dialect, sql_mode)), *expected, "{sql} ({dialect:?}, '{sql_mode}')");
    }
}

/// What both servers read alike under any mode.
const ALIKE: &[(&str, &str)] = &[
    ("a OR b XOR c AND d", "[a OR [b XOR [c AND d]]]"),
    ("a AND b OR c XOR d", "[[a AND b] OR [c XOR d]]"),
    ("a OR b OR c", "[[a OR b] OR c]"),
    ("a && b AND c", "[[a && b] AND c]"),
    ("a = b <=> c", "[[a = b] <=> c]"),
    ("a = b IS NULL", "[[a = b] IS NULL]"),
    ("a IS NULL = b", "[[a IS NULL] = b]"),
    ("a IS NOT NULL IS NULL", "[[a IS NOT NULL] IS NULL]"),
    ("a = b IN (1, 2)", "[a = [b IN (1, 2)]]"),
    ("a | b & c << d + e * f ^ g", "[a | [b & [c << [d + [e * [f ^ g]]]]]]"),
    ("a ^ b * c + d >> e & f | g", "[[[[[[a ^ b] * c] + d] >> e] & f] | g]"),
    ("a - b - c", "[[a - b] - c]"),
    ("a DIV b MOD c % d / e", "[[[[a DIV b] MOD c] % d] / e]"),
    ("-a ^ b", "[[-a] ^ b]"),
    ("- ~ ! + a", "[- [~ [! [+ a]]]]"),
    ("!a = b", "[[!a] = b]"),
    ("BINARY a = b", "[[BINARY a] = b]"),
    ("-a COLLATE x", "[-[a COLLATE x]]"),
    ("a + b COLLATE x", "[a + [b COLLATE x]]"),
    ("a LIKE b", "[a LIKE b]"),
    ("a NOT LIKE b ESCAPE 'x' OR c", "[[a NOT LIKE b ESCAPE 'x'] OR c]"),
    ("a REGEXP b + c", "[a REGEXP [b + c]]"),
    ("a NOT RLIKE b", "[a NOT RLIKE b]"),
    ("a SOUNDS LIKE b | c", "[a SOUNDS LIKE [b | c]]"),
    ("a BETWEEN b + 1 AND c AND d", "[[a BETWEEN [b + 1] AND c] AND d]"),
    ("a BETWEEN b AND c BETWEEN d AND e", "[a BETWEEN b AND [c BETWEEN d AND e]]"),
    ("a BETWEEN b AND c = d", "[[a BETWEEN b AND c] = d]"),
    ("a BETWEEN b AND c IN (d)", "[a BETWEEN b AND [c IN (d)]]"),
    ("@a := b OR c", "[@a := [b OR c]]"),
    ("1 + @a := b + c", "[1 + [@a := [b + c]]]"),
    ("a + INTERVAL b OR c DAY", "[a + [INTERVAL [b OR c] DAY]]"),
    ("a + INTERVAL b DAY * c", "[[a + [INTERVAL b DAY]] * c]"),
    ("a - INTERVAL (b) + 1 DAY_HOUR - c", "[[a - [INTERVAL [(b) + 1] DAY_HOUR]] - c]"),
    ("a + INTERVAL(b, c) * d", "[a + [[INTERVAL(b, c)] * d]]"),
    ("INTERVAL (b, c)", "[INTERVAL (b, c)]"),
    ("INTERVAL 1 DAY + a = b AND c", "[[[INTERVAL 1 DAY] + [a = b]] AND c]"),
    ("INTERVAL (1) DAY + a", "[[INTERVAL (1) DAY] + a]"),
    ("a > ALL (SELECT 1)", "[a > ALL (SELECT 1)]"),
    ("EXISTS (SELECT 1) + 1", "[[EXISTS (SELECT 1)] + 1]"),
    ("((SELECT 1) + 1)", "([(SELECT 1) + 1])"),
    ("((SELECT 1) UNION (SELECT 2)) + 1", "[((SELECT 1) UNION (SELECT 2)) + 1]"),
    ("a IN ((SELECT 1), 2)", "[a IN ((SELECT 1), 2)]"),
    ("a IN ((SELECT 1))", "[a IN ((SELECT 1))]"),
    ("(a, b) = ROW(c, d)", "[[(a, b)] = [ROW(c, d)]]"),
    ("CASE a WHEN b OR c THEN d ELSE e END + f", "[[CASE a WHEN [b OR c] THEN d ELSE e END] + f]"),
    ("{fn NOW()}", "[{fn [NOW()]}]"),
    ("a = NOT b", "error"),
    ("a + NOT b", "error"),
    ("a IN (b) + c", "error"),
    ("a BETWEEN b OR c AND d", "error"),
    ("a BETWEEN b = c AND d", "error"),
    ("a <=> ALL (SELECT 1)", "error"),
    ("a IN ()", "error"),
    ("ROW(a)", "error"),
    ("INTERVAL 1 DAY", "error"),
    ("INTERVAL 1 DAY - a", "error"),
    ("a NOT = b", "error"),
    ("a ! IN (b)", "error"),
    ("(a", "error"),
    ("a b", "error"),
    ("", "error"),
];

#[test]
fn operators_have_the_servers_precedences() {
    for dialect in [Dialect::Either, Dialect::MySql, Dialect::MariaDb] {
        for sql_mode in ["", "ANSI_QUOTES", "PIPES_AS_CONCAT", "IGNORE_SPACE"] {
            check(dialect, sql_mode, ALIKE);
        }
    }
}

#[test]
fn not_is_as_strong_as_the_mode_says() {
    for dialect in [Dialect::Either, Dialect::MySql, Dialect::MariaDb] {
        let usual = [
            ("NOT a = b", "[NOT [a = b]]"),
            ("NOT a BETWEEN b AND c", "[NOT [a BETWEEN b AND c]]"),
            ("NOT a IS NULL AND b", "[[NOT [a IS NULL]] AND b]"),
            ("NOT NOT a + b", "[NOT [NOT [a + b]]]"),
            ("a XOR NOT b AND c", "[a XOR [[NOT b] AND c]]"),
            ("! NOT a", "error"),
        ];
        check(dialect, "", &usual);
        let high = [
            ("NOT a = b", "[[NOT a] = b]"),
            ("NOT a BETWEEN b AND c", "[[NOT a] BETWEEN b AND c]"),
            ("a + NOT b", "[a + [NOT b]]"),
            ("! NOT a", "[! [NOT a]]"),
            ("a NOT IN (b)", "[a NOT IN (b)]"),
            ("a IS NOT TRUE", "[a IS NOT TRUE]"),
        ];
        check(dialect, "HIGH_NOT_PRECEDENCE", &high);
    }
}

#[test]
fn pipes_are_or_or_join_strings() {
    for dialect in [Dialect::Either, Dialect::MySql, Dialect::MariaDb] {
        check(dialect, "", &[("a || b AND c", "[a || [b AND c]]"), ("a || b = c", "[a || [b = c]]")]);
        let concat = [
            ("a || b = c", "[[a || b] = c]"),
            ("a ^ b || c", "[a ^ [b || c]]"),
            ("-a || b", "[[-a] || b]"),
            ("a || b COLLATE x", "[a || [b COLLATE x]]"),
            ("a LIKE b || c", "[a LIKE [b || c]]"),
        ];
        check(dialect, "PIPES_AS_CONCAT", &concat);
    }
}

#[test]
fn predicates_follow_one_another_on_mariadb_only() {
    let cases = [
        ("a IN (1) IN (2)", "[[a IN (1)] IN (2)]"),
        ("a LIKE b LIKE c", "[[a LIKE b] LIKE c]"),
        ("a LIKE b NOT LIKE c", "[a LIKE [b NOT LIKE c]]"),
        ("a LIKE b + c", "[a LIKE [b + c]]"),
        ("a BETWEEN b IN (1) AND c", "[a BETWEEN [b IN (1)] AND c]"),
        ("a IS TRUE = b", "[[a IS TRUE] = b]"),
        ("a IS TRUE IS FALSE", "[[a IS TRUE] IS FALSE]"),
    ];
    check(Dialect::MariaDb, "", &cases);
    for (sql, _) in cases {
        assert_eq!(shape(sql, mode(Dialect::MySql, "")), "error", "{sql}");
    }
    let of_mysql = [
        ("a MEMBER OF (b)", "[a MEMBER OF (b)]"),
        ("a MEMBER (b) AND c", "[[a MEMBER (b)] AND c]"),
        ("c->'$.x' = 1", "[[c->'$.x'] = 1]"),
        ("-INTERVAL 1 DAY + a", "[-[[INTERVAL 1 DAY] + a]]"),
    ];
    check(Dialect::MySql, "", &of_mysql);
    check(Dialect::MariaDb, "", &[("-INTERVAL 1 DAY + a", "[[-[INTERVAL 1 DAY]] + a]"), ("a MEMBER OF (b)", "error")]);
}

fn with_call(sql: &str, mode: LexMode, look: impl FnOnce(&Call<'_>)) {
    let arena = Bump::new();
    let expr = parse_expression(&arena, sql.as_bytes(), mode).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let ExprKind::Call(call) = expr.kind else { panic!("{sql}: no call but {expr:?}") };
    look(call);
}

#[test]
fn calls_with_a_grammar_of_their_own_have_their_parts() {
    let text = |span: crate::ast::Span, sql: &str| sql[span.range()].to_owned();
    let plain = LexMode::default();
    with_call("COUNT(*)", plain, |call| assert!(call.star && call.arguments.is_empty() && call.adjacent));
    with_call("COUNT(DISTINCT a, b)", plain, |call| assert!(call.distinct && call.arguments.len() == 2));
    with_call("SUBSTRING(a FROM 2 FOR 3)", plain, |call| assert_eq!(call.arguments.len(), 3));
    with_call("TRIM(LEADING FROM a)", plain, |call| {
        assert!(call.word.is_some_and(|word| word.is("leading")) && call.arguments.len() == 1);
    });
    with_call("EXTRACT(DAY_HOUR FROM a)", plain, |call| assert!(call.word.is_some_and(|word| word.is("day_hour"))));
    with_call("DATE_ADD(a, INTERVAL 1 DAY)", plain, |call| {
        assert!(matches!(call.arguments[1].kind, ExprKind::Interval(interval) if interval.unit.is("day")));
    });
    with_call("TIMESTAMPDIFF(MONTH, a, b)", plain, |call| assert_eq!(call.arguments.len(), 2));
    with_call("CHAR(65, 66 USING utf8mb4)", plain, |call| assert!(call.using.is_some_and(|name| name.is("utf8mb4"))));
    with_call("POSITION(a IN b)", plain, |call| assert_eq!(call.arguments.len(), 2));
    with_call("CURRENT_TIMESTAMP", plain, |call| assert!(call.arguments.is_empty()));
    with_call("d.f(1)", plain, |call| assert!(call.name.database.is_some_and(|name| name.is("d"))));
    with_call("f(a AS x, b y)", plain, |call| assert_eq!(call.arguments.len(), 2));
    let sql = "GROUP_CONCAT(DISTINCT a, b ORDER BY c DESC SEPARATOR '-' LIMIT 3)";
    with_call(sql, mode(Dialect::MariaDb, ""), |call| {
        assert!(call.distinct && call.order_by[0].descending && call.limit.is_some());
        assert_eq!(call.separator.map(|span| text(span, sql)).as_deref(), Some("'-'"));
    });
    let sql = "JSON_VALUE(a, '$' RETURNING SIGNED DEFAULT 1 ON EMPTY)";
    with_call(sql, mode(Dialect::MySql, ""), |call| {
        assert_eq!(call.clause.map(|span| text(span, sql)).as_deref(), Some("RETURNING SIGNED DEFAULT 1 ON EMPTY"));
    });
    let sql = "SUM(a) OVER (w PARTITION BY b ORDER BY c ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)";
    with_call(sql, plain, |call| {
        let Some(crate::ast::Over::Window(window)) = call.over else { panic!("no window") };
        assert!(window.base.is_some() && window.partition_by.len() == 1 && window.order_by.len() == 1);
        assert_eq!(window.frame.map(|frame| frame.bounds.len()), Some(1));
    });
}

#[test]
fn a_space_before_the_parenthesis_makes_a_stored_functions_name() {
    for (sql, ignored) in [("COUNT (*)", false), ("CAST (a AS CHAR)", false), ("TRIM (LEADING a FROM b)", false)] {
        assert_eq!(shape(sql, mode(Dialect::Either, "")) != "error", ignored, "{sql}");
        assert_ne!(shape(sql, mode(Dialect::Either, "IGNORE_SPACE")), "error", "{sql}");
    }
    with_call("COUNT (a)", LexMode::default(), |call| assert!(!call.adjacent));
    with_call("IF (a, b, c)", LexMode::default(), |call| assert_eq!(call.arguments.len(), 3));
}

#[test]
fn literals_are_what_they_look_like() {
    type IsKind = fn(Literal<'_>) -> bool;
    let cases: &[(&str, IsKind)] = &[
        ("NULL", |literal| literal == Literal::Null),
        ("\\N", |literal| literal == Literal::Null),
        ("true", |literal| literal == Literal::True),
        ("12", |literal| literal == Literal::Integer),
        ("1.", |literal| literal == Literal::Decimal),
        (".5e-3", |literal| literal == Literal::Float),
        ("0xAf", |literal| literal == Literal::Hex),
        ("b'01'", |literal| literal == Literal::Bit),
        ("'it''s'", |literal| literal == Literal::String),
        ("N'a'", |literal| matches!(literal, Literal::Text(text) if text.introducer.is_none())),
        ("'a' \"b\" 'c'", |literal| matches!(literal, Literal::Text(text) if text.parts.len() == 3)),
        (
            "_utf8mb4 'a' 'b'",
            |literal| matches!(literal, Literal::Text(text) if text.introducer.is_some() && text.parts.len() == 2),
        ),
        ("_latin1 x'41'", |literal| matches!(literal, Literal::Text(text) if text.introducer.is_some())),
        ("DATE '2020-01-01'", |literal| matches!(literal, Literal::Temporal(crate::ast::Temporal::Date))),
    ];
    for (sql, is_it) in cases {
        let arena = Bump::new();
        let expr = parse_expression(&arena, sql.as_bytes(), LexMode::default());
        let expr = expr.unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert!(matches!(expr.kind, ExprKind::Literal(literal) if is_it(literal)), "{sql}: {expr:?}");
        assert_eq!(expr.span.range(), 0..sql.len(), "{sql}");
    }
    for sql in ["_utf8mb4", "_utf8mb4 N'a'", "'a' N'b'", "_foo 'a'", "\\n"] {
        assert_eq!(shape(sql, LexMode::default()), "error", "{sql}");
    }
}

#[test]
fn words_that_are_reserved_are_no_names() {
    for (sql, mysql, mariadb) in [
        ("rank", false, true),
        ("offset", true, false),
        ("select", false, false),
        ("t.select", true, true),
        // A point directly behind a word makes it a name.
        ("from.a", true, true),
        ("from .a", false, false),
        ("`select`", true, true),
        ("value", true, true),
        ("current_role", true, true),
        ("left", false, false),
        (".t.c", true, true),
        (".c", false, false),
    ] {
        assert_eq!(shape(sql, mode(Dialect::MySql, "")) != "error", mysql, "{sql}");
        assert_eq!(shape(sql, mode(Dialect::MariaDb, "")) != "error", mariadb, "{sql}");
    }
}

#[test]
fn a_cast_has_its_type() {
    let arena = Bump::new();
    let sql = "CAST(a AS CHAR(10) CHARACTER SET latin1)";
    let expr = parse_expression(&arena, sql.as_bytes(), LexMode::default()).expect("a cast");
    let ExprKind::Cast(cast) = expr.kind else { panic!("{expr:?}") };
    assert_eq!(cast.data_type.name.text(sql.as_bytes()), b"CHAR");
    assert_eq!(cast.data_type.arguments.len(), 1);
    assert!(cast.data_type.charset.is_some_and(|charset| charset.is("latin1")));
    assert_eq!(cast.data_type.span.text(sql.as_bytes()), b"CHAR(10) CHARACTER SET latin1");
}

#[test]
fn deep_nesting_is_an_error_and_long_chains_are_not() {
    let deep = |open: &str, close: &str| open.repeat(1_000) + "1" + &close.repeat(1_000);
    for (open, close) in [
        ("(", ")"),
        ("NOT ", ""),
        ("- ", ""),
        ("f(", ")"),
        ("IF(1, 2, ", ")"),
        ("(SELECT ", ")"),
        ("(SELECT 1 FROM t WHERE a IN (", "))"),
        ("CASE WHEN 1 THEN ", " END"),
        ("1 BETWEEN 1 AND ", ""),
        ("@a := ", ""),
        ("1 + (2 * ", ")"),
        ("(1, ", ")"),
        ("INTERVAL 1 DAY + ", ""),
        ("CAST(", " AS CHAR)"),
        ("EXISTS (SELECT * FROM (SELECT ", ") t)"),
    ] {
        let sql = deep(open, close);
        let arena = Bump::new();
        let error = parse_expression(&arena, sql.as_bytes(), LexMode::default()).expect_err(open);
        assert!(error.expected().contains("nesting"), "{open}: {error}");
        let few = open.repeat(50) + "1" + &close.repeat(50);
        let read = parse_expression(&arena, few.as_bytes(), LexMode::default());
        assert!(read.is_ok(), "{open}: {:?}", read.err());
    }
    for op in [" OR ", " + ", " = ", " || "] {
        let sql = vec!["1"; 10_000].join(op);
        let arena = Bump::new();
        let expr = parse_expression(&arena, sql.as_bytes(), LexMode::default());
        assert!(
            matches!(expr.map(|expr| expr.kind), Ok(ExprKind::Binary(_, _, right)) if right.span.range().len() == 1)
        );
    }
    let sql = format!("a IN ({}2)", "1, ".repeat(100_000));
    let arena = Bump::new();
    let expr = parse_expression(&arena, sql.as_bytes(), LexMode::default()).expect("a long list");
    assert!(matches!(expr.kind, ExprKind::In(list)
        if matches!(list.list, crate::ast::InList::Values(values) if values.len() == 100_001)));
}

#[test]
fn nodes_know_their_operators() {
    let arena = Bump::new();
    for (sql, expected) in [
        ("a || b", BinaryOp::Or),
        ("a != b", BinaryOp::Ne),
        ("a <=> b", BinaryOp::NullSafeEq),
        ("a NOT RLIKE b", BinaryOp::NotRegexp),
        ("a->>'$'", BinaryOp::JsonUnquote),
        ("a MOD b", BinaryOp::Modulo),
    ] {
        let expr = parse_expression(&arena, sql.as_bytes(), LexMode::default());
        assert!(matches!(expr.map(|expr| expr.kind), Ok(ExprKind::Binary(op, ..)) if op == expected), "{sql}");
    }
}
