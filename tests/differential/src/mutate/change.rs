//! Changes of one statement.

use std::ops::Range;

use weir_local::Flavor;
use weir_sql::ast::{Expr, ExprKind};
use weir_sql::visit::{Flow, Node, walk};
use weir_sql::{Bump, Dialect, LexMode, parse, splice};

use crate::case::Case;
use crate::generate::Random;

/// What odd values look like.
const ODD: [&str; 34] = [
    "NULL",
    "0",
    "1",
    "-1",
    "''",
    "'1'",
    "' 2'",
    "'1abc'",
    "1e3",
    "1.5",
    "-0.0",
    "99999999999",
    "18446744073709551615",
    "-9223372036854775808",
    "0x41",
    "b'101'",
    "TRUE",
    "'2024-02-30'",
    "DATE'2024-01-02'",
    "TIME'10:11:12'",
    "TIMESTAMP'2024-01-02 03:04:05.6'",
    "'0000-00-00'",
    "_latin1'a'",
    "_binary'a'",
    "_utf8mb4'ä' COLLATE utf8mb4_bin",
    "N'x'",
    "(SELECT 2)",
    "@nothing",
    "1e400",
    "0.1e0",
    "'a' 'b'",
    "(2)",
    "CAST('3' AS UNSIGNED)",
    "'A'",
];
/// Words that may take each other's place.
const WORDS: [&[&str]; 18] = [
    &["ASC", "DESC"],
    &["LEFT", "RIGHT", "INNER", "CROSS", "NATURAL", "NATURAL LEFT", "STRAIGHT_JOIN"],
    &["UNION", "UNION ALL", "EXCEPT", "INTERSECT"],
    &["SUM", "MIN", "MAX", "COUNT", "AVG", "GROUP_CONCAT", "BIT_OR", "STD", "ANY_VALUE", "JSON_ARRAYAGG"],
    &["AND", "OR", "XOR"],
    &["=", "<=>", "<>", "<", ">=", "IN", "LIKE", "REGEXP", "+", "||", "/", "DIV", "%", "&"],
    &[
        "SELECT",
        "SELECT DISTINCT",
        "SELECT ALL",
        "SELECT SQL_CALC_FOUND_ROWS",
        "SELECT STRAIGHT_JOIN",
        "SELECT HIGH_PRIORITY",
    ],
    &["INSERT", "REPLACE", "INSERT IGNORE"],
    &["UPDATE", "UPDATE IGNORE"],
    &["IN", "NOT IN"],
    &["EXISTS", "NOT EXISTS"],
    &["ANY", "ALL", "SOME"],
    &["WHERE", "HAVING", "WHERE NOT"],
    &["FOR UPDATE", "FOR SHARE", "LOCK IN SHARE MODE", ""],
    &["GROUP BY", "ORDER BY", "GROUP BY 1,"],
    &["DISTINCT", "ALL", ""],
    &["IS NULL", "IS NOT NULL", "IS TRUE", "IS NOT UNKNOWN"],
    &[
        "UPPER", "LOWER", "HEX", "LENGTH", "ABS", "ROUND", "DATE", "YEAR", "SOUNDEX", "MD5", "COALESCE", "CONCAT",
        "QUOTE",
    ],
];
/// What may be put around an expression.
const AROUND: [(&str, &str); 22] = [
    ("NOT (", ")"),
    ("-(", ")"),
    ("IF((", "), 1, NULL)"),
    ("COALESCE((", "), 'x')"),
    ("CAST((", ") AS CHAR)"),
    ("CAST((", ") AS SIGNED)"),
    ("CAST((", ") AS DECIMAL(20,4))"),
    ("(SELECT ", ")"),
    ("(", ") COLLATE utf8mb4_bin"),
    ("CONCAT('p', ", ")"),
    ("SUM(", ")"),
    ("MAX(", ")"),
    ("COUNT(DISTINCT ", ")"),
    ("(", ") IS NULL"),
    ("(", ") + 0"),
    ("CONVERT((", ") USING latin1)"),
    ("BINARY (", ")"),
    ("HEX(", ")"),
    ("ROW_NUMBER() OVER (ORDER BY ", ")"),
    ("CASE WHEN ", " THEN 1 END"),
    ("GROUP_CONCAT(", ")"),
    ("DATE_ADD(", ", INTERVAL 1 DAY)"),
];
/// Statements with these say something else on each run, or take time.
const SPARED: [&str; 20] = [
    "SLEEP",
    "RAND",
    "UUID",
    "NOW(",
    "CURRENT_",
    "SYSDATE",
    "CURDATE",
    "CURTIME",
    "UTC_",
    "CONNECTION_ID",
    "GET_LOCK",
    "@@",
    "VERSION",
    "BENCHMARK",
    "INFORMATION_SCHEMA",
    "PERFORMANCE_SCHEMA",
    "LOAD DATA",
    "UNIX_TIMESTAMP()",
    "LOCALTIME",
    "MYSQL.",
];

/// Changes the statements of one case.
pub(super) struct Changes {
    pub(super) random: Random,
    mode: LexMode,
    /// The expressions of its statements.
    pool: Vec<String>,
}

impl Changes {
    pub(super) fn new(random: Random, flavor: Flavor, case: &Case) -> Changes {
        let dialect = if flavor == Flavor::MySql { Dialect::MySql } else { Dialect::MariaDb };
        let mode = LexMode { dialect, ..LexMode::default() };
        let mut changes = Changes { random, mode, pool: Vec::new() };
        for step in case.steps.iter().filter(|step| may_change(&step.whole_text())) {
            let text = step.whole_text();
            changes.pool.extend(changes.exprs(&text).into_iter().map(|range| text[range].to_owned()));
        }
        changes
    }

    /// The statement with one to three changes; none for one that is better left alone.
    pub(super) fn changed(&mut self, text: &str) -> Option<String> {
        if !may_change(text) {
            return None;
        }
        let mut text = text.to_owned();
        for _ in 0..1 + self.random.below(3) {
            text = self.once(&text);
        }
        may_change(&text).then_some(text)
    }

    fn once(&mut self, text: &str) -> String {
        let exprs = self.exprs(text);
        if exprs.is_empty() || self.random.chance(25) {
            return self.word(text);
        }
        let range = self.random.pick(&exprs).clone();
        let old = text[range.clone()].to_owned();
        let new = match self.random.below(10) {
            0..5 if !self.pool.is_empty() => format!("({})", self.random.pick(&self.pool)),
            0..8 => (*self.random.pick(&ODD)).to_owned(),
            _ => {
                let (before, after) = *self.random.pick(&AROUND);
                format!("{before}{old}{after}")
            }
        };
        let new = format!(" {new} ");
        String::from_utf8_lossy(&splice(text.as_bytes(), &[(range, new.as_bytes())])).into_owned()
    }

    /// Another word, or a token less, or one twice.
    fn word(&mut self, text: &str) -> String {
        let tokens: Vec<&str> = text.split(' ').collect();
        let mut swaps: Vec<(usize, &[&str])> = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            let token = token.to_ascii_uppercase();
            swaps.extend(WORDS.iter().filter(|words| words.contains(&&*token)).map(|words| (at, *words)));
        }
        let mut new: Vec<String> = tokens.iter().map(|&token| token.to_owned()).collect();
        if swaps.is_empty() || self.random.chance(10) {
            let at = self.random.below(new.len());
            if self.random.chance(50) {
                new.remove(at);
            } else {
                let again = new[at].clone();
                new.insert(at, again);
            }
        } else {
            let (at, words) = *self.random.pick(&swaps);
            new[at] = (*self.random.pick(words)).to_owned();
        }
        new.join(" ")
    }

    /// Where the expressions of a statement are.
    fn exprs(&self, text: &str) -> Vec<Range<usize>> {
        let arena = Bump::new();
        let Ok(parsed) = parse(&arena, text.as_bytes(), self.mode) else { return Vec::new() };
        let mut found = Vec::new();
        for statement in parsed.statements {
            walk(Node::Statement(statement), &mut |node: Node<'_>| {
                match node {
                    Node::DataType(_) | Node::Into(_) | Node::Frame(_) => return Flow::Skip,
                    Node::Expr(Expr { kind: ExprKind::Interval(_) | ExprKind::Word(_), .. }) => {}
                    Node::Expr(expr) if text.get(expr.span.range()).is_some() => found.push(expr.span.range()),
                    _ => {}
                }
                Flow::Descend
            });
        }
        found
    }
}

/// Whether a statement is one that is changed.
fn may_change(text: &str) -> bool {
    let text = text.trim_start_matches(|c: char| c == '(' || c.is_whitespace()).to_ascii_uppercase();
    let kinds = ["SELECT", "WITH", "INSERT", "REPLACE", "UPDATE", "DELETE", "SET @", "DO", "VALUES", "TABLE"];
    kinds.iter().any(|kind| text.starts_with(kind)) && !SPARED.iter().any(|word| text.contains(word))
}
