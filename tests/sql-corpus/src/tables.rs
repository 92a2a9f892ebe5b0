//! Whether the tables that the tree says a statement names are those that the server looks for.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use weir_sql::ast::{ObjectName, StatementKind};
use weir_sql::visit::{Flow, NameRole, Node, Visitor, walk};
use weir_sql::{Bump, Dialect, Parsed, parse};

use crate::class::Class;
use crate::corpus::Statement;
use crate::judge::Judge;
use crate::missing::{self, DEFAULT_DATABASE, Missing, as_text, is_servers_own};
use crate::report::{Report, shown};

const SEED: u64 = 20_261_122;

/// Errors that a server has while it reads a statement, or when it looks at its names and clauses, before it has opened all
/// tables. After the others it has opened all of them.
const EARLY: [(u16, &str); 36] = [
    (1064, "a name that can't be made again in its character set"),
    (1066, "two tables of one name"),
    (1102, "a name that no database can have"),
    (1103, "a name that no table can have"),
    (1109, "the targets of DELETE, tables of information_schema"),
    (1116, "too many tables"),
    (1210, "arguments of NAME_CONST"),
    (1221, "clauses that do not go together"),
    (1222, "numbers of columns in a UNION of values"),
    (1234, "words that do not go together"),
    (1235, "what the server has no code for"),
    (1238, "scopes of variables"),
    (1248, "derived tables without a name"),
    (1250, "tables of a UNION in its ORDER BY"),
    (1273, "collations"),
    (1288, "targets of UPDATE"),
    (1300, "strings in the character sets of their introducers"),
    (1327, "variables of routines"),
    (1367, "numbers that are too large"),
    (1425, "scales of types"),
    (1525, "literals of times"),
    (1582, "numbers of arguments"),
    (1584, "names of arguments"),
    (1747, "PARTITION on a table that has none"),
    (3554, "the server's own tables"),
    (3574, "recursion"),
    (3577, "recursion"),
    (3953, "two INTO"),
    (3954, "INTO in a subquery"),
    (4004, "names of common table expressions"),
    (4005, "recursion"),
    (4006, "recursion"),
    (4089, "sequences that are tables"),
    (4091, "sequences, of which the message leaves out the database"),
    (1253, "collations of character sets"),
    (1059, "names that are too long"),
];

/// Compares the statements of the classes that have tables, or as many of them, chosen at random.
pub(crate) fn compare(
    judge: &mut Judge,
    kept: &[&Statement],
    cache: &Path,
    sample: usize,
    show: usize,
) -> io::Result<Report> {
    let classes = [Class::Select, Class::Insert, Class::Update, Class::Delete];
    let mut asked: Vec<&Statement> = kept
        .iter()
        .filter(|statement| classes.contains(&Class::of(&statement.text, statement.setting.lex_mode(judge.dialect))))
        .copied()
        .collect();
    if sample < asked.len() {
        asked.shuffle(&mut StdRng::seed_from_u64(SEED));
        asked.truncate(sample);
        asked.sort_by_key(|statement| statement.setting);
    }
    let missing = missing::find(judge, &asked, cache)?;
    let mut arena = Bump::new();
    let mut report = Report::new(format!("{}: tables that statements name", judge.name()), show);
    for (statement, missing) in asked.iter().zip(&missing) {
        judge_one(&arena, statement, judge.dialect, missing, &mut report);
        arena.reset();
    }
    Ok(report)
}

fn judge_one(arena: &Bump, statement: &Statement, dialect: Dialect, missing: &Missing, report: &mut Report) {
    let Ok(parsed) = parse(arena, &statement.text, statement.setting.lex_mode(dialect)) else {
        return report.good("not read");
    };
    let [one] = parsed.statements else { return report.good("several statements") };
    if matches!(one.kind, StatementKind::Opaque(_)) {
        return report.good("opaque");
    }
    let ours = named(&parsed, dialect);
    let theirs: BTreeSet<Table> =
        missing.tables.iter().filter(|(database, _)| !is_servers_own(database)).cloned().collect();
    if ours.all == theirs {
        return report.good("the same");
    }
    let unread: Vec<_> = theirs.difference(&ours.all).collect();
    let unsaid: Vec<_> = ours.all.difference(&theirs).collect();
    match explained(&parsed, dialect, &ours, &unsaid, &unread, missing) {
        Some(reason) => report.good(&format!("explained: {reason}")),
        None => report.bad(&format!("the server's last word was {}", missing.last), || {
            format!("only ours {unsaid:?}, only the server's {unread:?}: {}", shown(&statement.text))
        }),
    }
}

/// Why the server did not come to look for all tables, although the tree is right.
fn explained(
    parsed: &Parsed<'_>,
    dialect: Dialect,
    ours: &Named,
    unsaid: &[&Table],
    unread: &[&Table],
    missing: &Missing,
) -> Option<String> {
    if parsed.conditional {
        return Some("comments that this version does not run".to_owned());
    }
    let is_beyond = |table: &&Table| table.1.contains('\u{f0}');
    if unsaid.len() == unread.len() && unsaid.iter().all(is_beyond) && unread.iter().all(|table| table.1.contains("??"))
    {
        return Some("characters that names can't have".to_owned());
    }
    if !unread.is_empty() {
        return None;
    }
    if unsaid.iter().all(|table| !ours.needed.contains(*table)) {
        return Some("common table expressions that nothing uses".to_owned());
    }
    if dialect == Dialect::MariaDb && unsaid.iter().all(|(_, table)| table.starts_with("seq_")) {
        return Some("tables of MariaDB's engine of sequences, which are always there".to_owned());
    }
    let (code, what) = EARLY.iter().find(|(code, _)| *code == missing.last)?;
    Some(format!("error {code} comes before tables: {what}"))
}

/// A database and a table.
type Table = (String, String);

/// The tables that a statement names: no common table expressions, and none that servers bring.
struct Named {
    all: BTreeSet<Table>,
    /// Those that are not just in common table expressions that nothing uses.
    needed: BTreeSet<Table>,
}

fn named(parsed: &Parsed<'_>, dialect: Dialect) -> Named {
    let mut names =
        Names { dialect, scopes: Vec::new(), within: vec![0], count: 1, tables: Vec::new(), uses: BTreeMap::new() };
    for statement in parsed.statements {
        walk(Node::Statement(statement), &mut names);
    }
    names.end()
}

/// Common table expressions by name.
type Visible = Vec<(Vec<u8>, Place)>;

/// A common table expression's number; 0 is the statement itself.
type Place = usize;

struct Names {
    dialect: Dialect,
    /// Common table expressions that are visible, by statement or query, and whether their WITH is recursive.
    scopes: Vec<(bool, Visible)>,
    /// The common table expressions that the walk is in.
    within: Vec<Place>,
    count: usize,
    tables: Vec<(Place, Table)>,
    /// Which common table expressions each one reads.
    uses: BTreeMap<Place, Vec<Place>>,
}

impl<'a> Visitor<'a> for Names {
    fn enter(&mut self, node: Node<'a>) -> Flow {
        match node {
            Node::Statement(_) | Node::Query(_) => self.scopes.push((false, Vec::new())),
            Node::With(with) => {
                if let Some(scope) = self.scopes.last_mut() {
                    scope.0 = with.recursive;
                }
                // In MariaDB those of one WITH RECURSIVE see each other; in MySQL only themselves and what comes before.
                if with.recursive && self.dialect == Dialect::MariaDb {
                    with.tables
                        .iter()
                        .enumerate()
                        .for_each(|(at, table)| self.declare(table.name.name, self.count + at));
                }
            }
            Node::CommonTable(table) => {
                let place = self.count;
                self.count += 1;
                if self.scopes.last().is_some_and(|scope| scope.0) {
                    self.declare(table.name.name, place);
                }
                self.within.push(place);
            }
            Node::Name(name, NameRole::Read | NameRole::Changed | NameRole::Written | NameRole::Sequence) => {
                self.name(name)
            }
            _ => {}
        }
        Flow::Descend
    }

    fn leave(&mut self, node: Node<'a>) {
        match node {
            Node::Statement(_) | Node::Query(_) => {
                self.scopes.pop();
            }
            Node::CommonTable(table) => {
                if let Some(place) = self.within.pop() {
                    self.declare(table.name.name, place);
                }
            }
            _ => {}
        }
    }
}

impl Names {
    fn declare(&mut self, name: &[u8], place: Place) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.1.push((name.to_vec(), place));
        }
    }

    fn name(&mut self, name: &ObjectName<'_>) {
        let here = self.within.last().copied().unwrap_or(0);
        let database = match name.database {
            Some(database) => as_text(database.name),
            None => {
                let mut visible = self.scopes.iter().rev().flat_map(|scope| scope.1.iter().rev());
                if let Some((_, place)) = visible.find(|(common, _)| common == name.name.name) {
                    self.uses.entry(here).or_default().push(*place);
                    return;
                }
                DEFAULT_DATABASE.to_owned()
            }
        };
        if !is_servers_own(&database) {
            self.tables.push((here, (database, as_text(name.name.name))));
        }
    }

    fn end(self) -> Named {
        let mut used = BTreeSet::from([0]);
        let mut open = vec![0];
        while let Some(place) = open.pop() {
            let further = self.uses.get(&place).into_iter().flatten();
            open.extend(further.filter(|place| used.insert(**place)));
        }
        let needed =
            self.tables.iter().filter(|(place, _)| used.contains(place)).map(|(_, table)| table.clone()).collect();
        Named { all: self.tables.into_iter().map(|(_, table)| table).collect(), needed }
    }
}
