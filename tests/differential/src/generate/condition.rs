//! Expressions and conditions over the columns of tables.

use super::random::Random;
use super::world::{Kind, Table};

/// A statement's text while it is made, with its parameters.
#[derive(Debug)]
pub(super) struct Words {
    pub(super) text: String,
    pub(super) params: Vec<String>,
    /// Some literals become parameters.
    pub(super) prepared: bool,
}

impl Words {
    pub(super) fn new(prepared: bool) -> Words {
        Words { text: String::new(), params: Vec::new(), prepared }
    }

    pub(super) fn put(&mut self, text: impl AsRef<str>) {
        self.text.push_str(text.as_ref());
    }

    /// A literal, or a parameter of its value.
    pub(super) fn literal(&mut self, literal: &str, random: &mut Random) {
        if self.prepared && random.chance(60) {
            self.text.push('?');
            self.params.push(literal.to_owned());
        } else {
            self.text.push_str(literal);
        }
    }
}

/// Tables that a statement reads, and by which names.
#[derive(Debug, Clone)]
pub(super) struct Source<'a> {
    pub(super) alias: String,
    pub(super) table: &'a Table,
}

impl Source<'_> {
    pub(super) fn column(&self, column: usize) -> String {
        format!("{}.{}", self.alias, self.table.columns[column].name)
    }

    pub(super) fn columns(&self, columns: &[usize]) -> String {
        columns.iter().map(|&column| self.column(column)).collect::<Vec<_>>().join(", ")
    }

    /// The columns that this is true of.
    pub(super) fn which(&self, wanted: impl Fn(Kind) -> bool) -> Vec<usize> {
        (0..self.table.columns.len()).filter(|&column| wanted(self.table.columns[column].kind)).collect()
    }

    pub(super) fn kind(&self, column: usize) -> Kind {
        self.table.columns[column].kind
    }
}

/// An expression that shows the same for equal rows.
pub(super) fn expression(source: &Source<'_>, random: &mut Random) -> String {
    let column = random.below(source.table.columns.len());
    let name = source.column(column);
    match source.kind(column) {
        kind if kind.is_number() => match random.below(9) {
            0 => format!("{name} + {}", random.between(0, 9)),
            1 => format!("{name} * 2"),
            2 if source.kind(column) != (Kind::Int { unsigned: true }) => format!("-{name}"),
            3 => format!("IFNULL({name}, 0)"),
            4 => format!("CASE WHEN {name} > 5 THEN 'more' ELSE 'less' END"),
            5 => format!("{name} IS NULL"),
            6 => format!("COALESCE({name}, 7)"),
            7 => format!("ABS({name})"),
            _ => name,
        },
        Kind::Text { .. } => match random.below(7) {
            0 => format!("UPPER({name})"),
            1 => format!("CONCAT({name}, '-')"),
            2 => format!("CHAR_LENGTH({name})"),
            3 => format!("IFNULL({name}, 'none')"),
            4 => format!("LEFT({name}, 1)"),
            _ => name,
        },
        Kind::Date | Kind::DateTime => match random.below(6) {
            0 => format!("YEAR({name})"),
            1 => format!("{name} + INTERVAL 1 DAY"),
            2 => format!("MONTH({name})"),
            3 => format!("DATE({name})"),
            _ => name,
        },
        _ => name,
    }
}

/// A condition, of some depth.
pub(super) fn condition(words: &mut Words, sources: &[Source<'_>], random: &mut Random, depth: usize) {
    if depth > 0 && random.chance(35) {
        let joined = if random.chance(60) { " AND " } else { " OR " };
        words.put("(");
        condition(words, sources, random, depth - 1);
        words.put(joined);
        condition(words, sources, random, depth - 1);
        words.put(")");
        return;
    }
    if depth > 0 && random.chance(8) {
        words.put("NOT (");
        condition(words, sources, random, depth - 1);
        words.put(")");
        return;
    }
    let source = random.pick(sources).clone();
    if random.chance(45) && !source.table.shard_key.is_empty() {
        return of_key(words, &source, random);
    }
    let column = random.below(source.table.columns.len());
    of_column(words, &source, column, random);
}

/// A condition on a table's shard key.
pub(super) fn of_key(words: &mut Words, source: &Source<'_>, random: &mut Random) {
    let key = source.table.shard_key.clone();
    let [only] = key[..] else {
        let names = source.columns(&key);
        let tuple = |words: &mut Words, random: &mut Random| {
            for (place, &column) in key.iter().enumerate() {
                words.put(if place == 0 { "(" } else { ", " });
                let literal = source.table.literal(column, random);
                words.literal(&literal, random);
            }
            words.put(")");
        };
        match random.below(3) {
            0 => {
                words.put(format!("({names}) = "));
                tuple(words, random);
            }
            1 => {
                words.put(format!("({names}) IN ("));
                for place in 0..1 + random.below(3) {
                    words.put(if place == 0 { "" } else { ", " });
                    tuple(words, random);
                }
                words.put(")");
            }
            _ => {
                for (place, &column) in key.iter().enumerate() {
                    words.put(if place == 0 { "" } else { " AND " });
                    words.put(format!("{} = ", source.column(column)));
                    let literal = source.table.literal(column, random);
                    words.literal(&literal, random);
                }
            }
        }
        return;
    };
    let (name, kind) = (source.column(only), source.kind(only));
    let literal = source.table.literal(only, random);
    match random.below(10) {
        0 if matches!(kind, Kind::Int { .. }) => {
            let spelled = match random.below(5) {
                0 => format!("'{literal}'"),
                1 => format!("{literal}.0"),
                2 => format!("{literal} + 1 - 1"),
                3 => format!("{literal}.5"),
                _ => format!("-(-({literal}))"),
            };
            words.put(format!("{name} = {spelled}"));
        }
        1 => {
            words.literal(&literal, random);
            words.put(format!(" = {name}"));
        }
        2 => words.put(format!("{name} <=> {}", random.pick(&[&literal[..], "NULL"]))),
        3 if kind.is_text() => words.put(format!("{name} = UPPER({literal})")),
        _ => of_column(words, source, only, random),
    }
}

/// A condition on a column.
fn of_column(words: &mut Words, source: &Source<'_>, column: usize, random: &mut Random) {
    let (name, kind) = (source.column(column), source.kind(column));
    let literal = |random: &mut Random| source.table.literal(column, random);
    match random.below(12) {
        0..=3 => {
            words.put(format!("{name} = "));
            let literal = literal(random);
            words.literal(&literal, random);
        }
        4 | 5 => {
            words.put(format!("{name} {} ", random.pick(&["<", "<=", ">", ">=", "<>"])));
            let literal = literal(random);
            words.literal(&literal, random);
        }
        6 | 7 => {
            words.put(format!("{name} {}IN (", if random.chance(20) { "NOT " } else { "" }));
            for place in 0..1 + random.below(4) {
                words.put(if place == 0 { "" } else { ", " });
                let literal = if random.chance(4) { "NULL".to_owned() } else { literal(random) };
                words.literal(&literal, random);
            }
            words.put(")");
        }
        8 => {
            words.put(format!("{name} BETWEEN "));
            let (one, other) = (literal(random), literal(random));
            words.literal(&one, random);
            words.put(" AND ");
            words.literal(&other, random);
        }
        9 => words.put(format!("{name} IS {}NULL", if random.chance(50) { "NOT " } else { "" })),
        10 if kind.is_text() => {
            words.put(format!("{name} LIKE '{}'", random.pick(&["%a%", "a%", "_", "%", "re_", "k%"])))
        }
        10 if kind.is_number() => words.put(format!("{name} % 3 = {}", random.below(3))),
        _ => {
            let alike = source.which(|other| other == kind || (other.is_number() && kind.is_number()));
            let other = source.column(*random.pick(&alike));
            words.put(format!("{name} {} {other}", random.pick(&["=", "<", "<>"])));
        }
    }
}
