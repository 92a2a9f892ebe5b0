//! Random expressions of all operators, mostly without parentheses, since the corpus has few where precedence matters.
//!
//! A server refuses many of them; then the parser may do as it likes. What a server reads, the parser has to read, too, and
//! with the same value when it is put in parentheses.

use std::io;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use weir_sql::{Bump, Dialect};

use crate::expressions::{Pair, SELECT, explicit, run};
use crate::judge::{Judge, is_in_the_grammar};
use crate::report::{Report, shown};
use crate::setting::Setting;

const OPERANDS: [&str; 21] = [
    "0",
    "1",
    "2",
    "3",
    "5",
    "7",
    "NULL",
    "TRUE",
    "FALSE",
    "'a'",
    "'1'",
    "'2b'",
    "'A'",
    "1.5",
    "-2",
    "0x41",
    "b'11'",
    "'%'",
    "1e1",
    "DATE '2020-02-29'",
    "'3'",
];
const PREFIXES: [&str; 6] = ["NOT ", "! ", "- ", "+ ", "~ ", "BINARY "];
const OPERATORS: [&str; 31] = [
    "OR",
    "||",
    "XOR",
    "AND",
    "&&",
    "=",
    "<=>",
    "<>",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "REGEXP",
    "RLIKE",
    "NOT REGEXP",
    "SOUNDS LIKE",
    "|",
    "&",
    "<<",
    ">>",
    "+",
    "-",
    "*",
    "/",
    "DIV",
    "%",
    "MOD",
    "^",
    "LIKE",
    "NOT LIKE",
];
const SUFFIXES: [&str; 14] = [
    "IS NULL",
    "IS NOT NULL",
    "IS TRUE",
    "IS NOT FALSE",
    "IS UNKNOWN",
    "IN (1, 2)",
    "NOT IN (0, NULL)",
    "IN (3)",
    "COLLATE utf8mb4_bin",
    "= ANY (SELECT 1)",
    "> ALL (SELECT 1 UNION SELECT 2)",
    "+ INTERVAL 1 DAY",
    "- INTERVAL 1 MONTH",
    "LIKE 'a' ESCAPE '|'",
];
const CALLS: [&str; 6] = ["ABS(", "IF(1, 2, ", "COALESCE(", "CONCAT('x', ", "(", "INTERVAL(2, "];
const MODES: [&[&str]; 4] = [
    &[],
    &["PIPES_AS_CONCAT"],
    &["HIGH_NOT_PRECEDENCE"],
    &["PIPES_AS_CONCAT", "HIGH_NOT_PRECEDENCE", "ANSI_QUOTES", "IGNORE_SPACE"],
];

/// Tries so many in each mode: all that the server reads has to be read, and to bind as in the server.
pub(crate) fn check(judge: &mut Judge, count: usize, seed: u64, show: usize) -> io::Result<Report> {
    let mut report = Report::new(format!("{}: random expressions in parentheses", judge.name()), show);
    let mut random = StdRng::seed_from_u64(seed);
    let mut arena = Bump::new();
    for modes in MODES {
        let setting = Setting::with_modes(modes);
        let mode = setting.lex_mode(judge.dialect);
        let (mut pairs, mut unread) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let mut text = SELECT.to_vec();
            put_expression(&mut text, 0, judge.dialect, &mut random);
            match explicit(&arena, &text, mode) {
                Some(explicit) => pairs.push((setting, Pair { plain: text, explicit })),
                None => unread.push(text),
            }
            arena.reset();
        }
        run(judge, pairs, &mut report)?;
        judge_unread(judge, setting, &unread, &mut report)?;
    }
    Ok(report)
}

fn judge_unread(judge: &mut Judge, setting: Setting, unread: &[Vec<u8>], report: &mut Report) -> io::Result<()> {
    let mut client = judge.connect()?;
    crate::judge::apply(&mut client, setting)?;
    let texts: Vec<&[u8]> = unread.iter().map(Vec::as_slice).collect();
    client.prepare_all(&texts, |at, refusal| {
        if is_in_the_grammar(refusal.map_or(0, |refusal| refusal.code)) {
            report.bad("not read", || format!("[{}] {}", setting.sql_mode(), shown(&unread[at])));
        } else {
            report.good("refused by the server, and not read");
        }
    })
}

/// Operands with operators between, before and after them.
fn put_expression(out: &mut Vec<u8>, depth: u32, dialect: Dialect, random: &mut StdRng) {
    for at in 0..random.random_range(1..=4) {
        if at > 0 {
            put(out, pick(&OPERATORS, random));
        }
        while random.random_bool(0.2) {
            put(out, pick(&PREFIXES, random));
        }
        put_operand(out, depth, dialect, random);
        while random.random_bool(0.15) {
            put_suffix(out, depth, dialect, random);
        }
    }
}

fn put_operand(out: &mut Vec<u8>, depth: u32, dialect: Dialect, random: &mut StdRng) {
    match random.random_range(0..20) {
        0 | 1 if depth < 2 => {
            put(out, pick(&CALLS, random));
            put_expression(out, depth + 1, dialect, random);
            put(out, ")");
        }
        2 if depth < 2 => {
            put(out, "CASE WHEN");
            put_expression(out, depth + 1, dialect, random);
            put(out, "THEN 1 ELSE 2 END");
        }
        3 if depth < 2 => {
            put(out, "(SELECT");
            put_expression(out, depth + 1, dialect, random);
            put(out, ")");
        }
        _ => put(out, pick(&OPERANDS, random)),
    }
}

fn put_suffix(out: &mut Vec<u8>, depth: u32, dialect: Dialect, random: &mut StdRng) {
    match random.random_range(0..10) {
        0..3 => {
            put(out, if random.random_bool(0.3) { "NOT BETWEEN" } else { "BETWEEN" });
            put_operand(out, depth + 1, dialect, random);
            put(out, "AND");
            put_operand(out, depth + 1, dialect, random);
        }
        3 if dialect == Dialect::MySql => put(out, "MEMBER OF ('[1, 2]')"),
        _ => put(out, pick(&SUFFIXES, random)),
    }
}

fn pick<'a>(from: &[&'a str], random: &mut StdRng) -> &'a str {
    from.choose(random).copied().unwrap_or_default()
}

fn put(out: &mut Vec<u8>, text: &str) {
    out.extend(text.as_bytes());
    out.push(b' ');
}
