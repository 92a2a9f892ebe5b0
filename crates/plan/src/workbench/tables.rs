//! The fragments: which columns of which tables are gathered, with which conditions, and with which keys.
//!
//! What must always hold: a fragment has each column that the statement can name, under the column's own name, and the unique keys over
//! these, by which servers decide whether what is not grouped by depends on what is. A table all of whose columns are asked for (`*`,
//! NATURAL) has all that `*` shows, and what else it has is as invisible there.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::ops::Range;
use std::sync::Arc;

use weir_catalog::{Column, Database, Placement, ShardId, Table};
use weir_sql::ast::NamedTable;
use weir_sql::resolve::Roles;

use super::asked::Asked;
use super::columns::{can_be_key, gathered, with_default};
use super::filters::{Condition, converts_nothing};
use super::narrow::{Link, written};
use super::rewrite::{Place, behind_partitions};
use crate::again;
use crate::planner::Planner;
use crate::text::{Pieces, made_with, parameters};
use crate::write::literal::quoted_name;
use crate::{CatalogTableName, Fragment, FragmentColumn, Narrowing, Passed, Plan, Read, Refusal, Route};

/// More fragments are not gathered for one statement: as many as tables may be named in one, which common tables that are written again
/// count in anew.
const MOST: usize = 512;
/// Columns whose values narrow one fragment.
const MOST_NARROWINGS: usize = 2;
/// Keys of a fragment besides the unique ones.
const MOST_KEYS: usize = 4;

/// MariaDB's JSON is a LONGTEXT with a CHECK.
fn may_be_json(column: &Column) -> bool {
    &*column.kind.base == "longtext" && column.kind.collation.as_deref() == Some("utf8mb4_bin")
}

/// A reference to a table of a sharded database.
pub(super) struct Reference<'r, 'a> {
    pub(super) database_name: &'a str,
    pub(super) database: &'a Arc<Database>,
    pub(super) name: &'a str,
    pub(super) table: &'a Arc<Table>,
    pub(super) roles: Roles,
    pub(super) named: &'r NamedTable<'a>,
}

/// A fragment whose query has not been planned.
struct Wanted<'a> {
    database: &'a str,
    table: &'a str,
    columns: Vec<FragmentColumn>,
    primary_key: Vec<usize>,
    unique_keys: Vec<Vec<usize>>,
    keys: Vec<Vec<usize>>,
    query: Query,
    /// The query's text, with the client's literals.
    shown: Vec<u8>,
    known: &'a Arc<Table>,
    /// The texts and places where it is named.
    named: Vec<(usize, u32)>,
    links: Vec<Link>,
    /// The name that it goes by.
    called: Vec<u8>,
}

/// A fragment's query.
struct Query {
    pieces: Pieces,
    conditions: usize,
    /// How many bytes follow its conditions.
    behind: usize,
}

/// All fragments of a statement.
pub(super) struct Tables<'a> {
    mariadb: bool,
    wanted: Vec<Wanted<'a>>,
    /// Shards that have all of the databases so far; none before the first.
    homes: Option<Vec<ShardId>>,
    /// A shard that has a table for itself.
    single: Option<ShardId>,
}

impl<'a> Tables<'a> {
    pub(super) fn new(mariadb: bool) -> Self {
        Tables { mariadb, wanted: Vec::new(), homes: None, single: None }
    }

    /// The name of the temporary table that stands for a reference.
    pub(super) fn fragment(&mut self, place: &Place<'a>, reference: &Reference<'_, 'a>) -> Result<String, Refusal> {
        let shards = &reference.database.shards;
        match &mut self.homes {
            None => self.homes = Some(shards.clone()),
            Some(homes) => homes.retain(|shard| shards.contains(shard)),
        }
        if let Placement::Single(shard) = reference.table.placement {
            self.single = self.single.or(Some(shard));
        }
        let wanted = self.wanted(place, reference)?;
        // MariaDB opens a temporary table as often as it is named.
        let same = |known: &Wanted<'_>| {
            known.database == wanted.database && known.columns == wanted.columns && known.shown == wanted.shown
        };
        let known = self.mariadb.then(|| self.wanted.iter().position(same)).flatten();
        let at = known.unwrap_or(self.wanted.len());
        match known {
            Some(at) => self.wanted[at].named.extend(wanted.named),
            None if self.wanted.len() >= MOST => {
                return Err(Refusal::NeedsWorkbench(format!("it names more than {MOST} tables")));
            }
            None => self.wanted.push(wanted),
        }
        Ok(name(at))
    }

    fn wanted(&self, place: &Place<'a>, reference: &Reference<'_, 'a>) -> Result<Wanted<'a>, Refusal> {
        let table = reference.table;
        let start = reference.named.name.span.start;
        let chosen = chosen(&place.asked, start, table);
        let (mut columns, mut pieces) = (Vec::with_capacity(chosen.len()), Pieces::new("SELECT "));
        for (nth, column) in chosen.iter().enumerate() {
            let column = &table.columns[*column];
            if self.mariadb && place.asked.makes_json && may_be_json(column) {
                return Err(Refusal::NeedsWorkbench(format!(
                    "{}.{} may be JSON, which functions that make JSON take otherwise than text",
                    reference.name, column.name
                )));
            }
            let name = quoted_name(column.name.as_bytes());
            let passed = gathered(column, &String::from_utf8_lossy(&name), self.mariadb).ok_or_else(|| {
                Refusal::NeedsWorkbench(format!("values of {}.{} can't be passed exactly", reference.name, column.name))
            })?;
            pieces = pieces.then(if nth > 0 { ", " } else { "" }).then(passed.expression);
            // There is a visible one then, which a table has to have.
            let invisible = column.invisible && place.asked.whole.contains(&start);
            let definition = match invisible && self.mariadb {
                true => with_default(passed.definition),
                false => passed.definition,
            };
            columns.push(FragmentColumn { name: column.name.clone(), definition, passed: passed.passed, invisible });
        }
        if columns.is_empty() {
            pieces = pieces.then("1");
            columns.push(no_column());
        }
        let query = from(place, reference, pieces);
        let place_of = |column: &usize| chosen.iter().position(|known| known == column);
        let whole = |key: &[usize]| -> Option<Vec<usize>> {
            let fits = |column: &usize| table.columns.get(*column).is_some_and(can_be_key);
            key.iter().map(|column| place_of(column).filter(|_| fits(column))).collect()
        };
        // With FOR SYSTEM_TIME, a row is there once for each state that it has had.
        let once = reference.named.period.is_none();
        let checked = |name: &str| once && !table.unchecked.iter().any(|unchecked| unchecked == name);
        let primary = Some(&table.primary_key).filter(|key| !key.is_empty() && checked("PRIMARY"));
        let primary_key = primary.and_then(|key| whole(key)).unwrap_or_default();
        let others = table.unique_keys.iter().filter(|(name, _)| checked(name));
        let unique_keys: Vec<Vec<usize>> = others.filter_map(|(_, key)| whole(key)).collect();
        let mut keys: Vec<Vec<usize>> = Vec::new();
        for (_, name) in place.asked.compared.iter().filter(|(of, _)| *of == start) {
            let Some(column) = table.column(name) else { continue };
            // Where a key of BIT is compared with a text, MySQL looks for its bytes, and without one for its number.
            if table.columns.get(column).is_some_and(|column| &*column.kind.base == "bit") {
                continue;
            }
            let Some(key) = whole(&[column]) else { continue };
            let known = [&keys[..], &unique_keys].concat().iter().any(|known| known.first() == key.first());
            if keys.len() < MOST_KEYS && !known && primary_key.first() != key.first() {
                keys.push(key);
            }
        }
        Ok(Wanted {
            database: reference.database_name,
            table: reference.name,
            columns,
            primary_key,
            unique_keys,
            keys,
            shown: place.shown(&query.pieces),
            query,
            known: table,
            named: vec![(place.text.as_ptr().addr(), start)],
            links: place.asked.found.links.iter().filter(|link| link.narrowed.0 == start).cloned().collect(),
            called: reference.named.alias.map_or(reference.named.name.name.name, |alias| alias.name).to_vec(),
        })
    }

    /// The shard whose server is the workbench.
    pub(super) fn home(&self) -> Option<ShardId> {
        let homes = self.homes.as_deref()?;
        let single = self.single.filter(|shard| homes.contains(shard));
        single.or_else(|| {
            // Which one does not matter for the result: statements of other tables have other ones.
            let names = self.wanted.iter().flat_map(|one| one.table.bytes());
            let sum = names.fold(0_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(byte)));
            homes.get(sum.checked_rem(homes.len())?).copied()
        })
    }

    /// Plans what is read: what is likely to be small first, and then what it narrows.
    pub(super) fn plan(self, planner: &Planner<'_>) -> Result<Vec<Fragment>, Refusal> {
        let known = parameters(planner.statement);
        let mut left = Vec::with_capacity(self.wanted.len());
        for (at, wanted) in self.wanted.iter().enumerate() {
            let (fragment, as_it_is) = wanted.plan(planner, name(at), &known)?;
            left.push((at, fragment, as_it_is));
        }
        let narrowable = self.narrowable();
        let mut gathered = Gathered::default();
        // What of the fragments so far narrows each of the others.
        let mut narrowed: Vec<Vec<Narrowing>> = vec![Vec::new(); left.len()];
        while !left.is_empty() {
            let best = (0..left.len()).min_by_key(|place| {
                let (at, fragment, _) = &left[*place];
                let first = !narrowed[*at].is_empty() || self.wanted[*at].query.conditions > 0;
                (!first, fragment.read.shards.len(), *at)
            });
            let (at, mut fragment, as_it_is) = left.remove(best.unwrap_or_default());
            // What the planner has changed has its conditions elsewhere.
            if as_it_is {
                fragment.narrowed = mem::take(&mut narrowed[at]);
            }
            gathered.add(at, &self.wanted[at], fragment);
            for place in &self.wanted[at].named {
                for other in narrowable.get(place).into_iter().flatten() {
                    narrowed[*other] = self.narrowings(*other, &gathered);
                }
            }
        }
        Ok(gathered.fragments)
    }

    /// Which fragments each place where a table is named may narrow.
    fn narrowable(&self) -> BTreeMap<(usize, u32), BTreeSet<usize>> {
        let mut narrowable = BTreeMap::<_, BTreeSet<usize>>::new();
        for (at, wanted) in self.wanted.iter().enumerate() {
            let [(text, _)] = wanted.named[..] else { continue };
            for link in &wanted.links {
                narrowable.entry((text, link.by.0)).or_default().insert(at);
            }
        }
        narrowable
    }

    /// What of the fragments so far narrows one.
    fn narrowings(&self, at: usize, gathered: &Gathered) -> Vec<Narrowing> {
        let wanted = &self.wanted[at];
        let [(text, _)] = wanted.named[..] else { return Vec::new() };
        let mut narrowings = Vec::new();
        for link in &wanted.links {
            if narrowings.len() == MOST_NARROWINGS {
                break;
            }
            // A common table expression that is written again has several tables at one place.
            let Some(&[(place, by)]) = gathered.places.get(&(text, link.by.0)).map(Vec::as_slice) else { continue };
            let (by, fragment) = (&self.wanted[by], &gathered.fragments[place]);
            let (Some(own), Some(other)) = (wanted.column(&link.narrowed.1), by.column(&link.by.1)) else { continue };
            let selective = by.query.conditions > 0 || !fragment.narrowed.is_empty();
            let column = fragment.columns.iter().position(|column| column.name == other.name);
            let (Some(charset), Some(column), true) = (written(own, other), column, selective) else { continue };
            narrowings.push(Narrowing {
                by: place,
                column,
                charset,
                compared: [quoted_name(&wanted.called), quoted_name(own.name.as_bytes())].join(&b'.'),
                behind: wanted.query.behind,
                has_condition: wanted.query.conditions > 0,
            });
        }
        narrowings
    }
}

/// The fragments that are planned, in the order in which they are gathered.
#[derive(Default)]
struct Gathered {
    fragments: Vec<Fragment>,
    /// Of each place where a table is named: where its fragments stand, and which of the wanted ones they are.
    places: BTreeMap<(usize, u32), Vec<(usize, usize)>>,
}

impl Gathered {
    fn add(&mut self, at: usize, wanted: &Wanted<'_>, fragment: Fragment) {
        for place in &wanted.named {
            self.places.entry(*place).or_default().push((self.fragments.len(), at));
        }
        self.fragments.push(fragment);
    }
}

/// The name of a temporary table. Nothing else has it: MySQL's and MariaDB's tools make no names with spaces.
fn name(at: usize) -> String {
    format!("weir fragment {}", at + 1)
}

impl Wanted<'_> {
    fn column(&self, name: &[u8]) -> Option<&Column> {
        self.known.columns.get(self.known.column(name)?)
    }

    /// Its plan, and whether its shards get its query as it is. `known`: the client's parameters.
    fn plan(&self, planner: &Planner<'_>, name: String, known: &[(usize, u32)]) -> Result<(Fragment, bool), Refusal> {
        let (text, order) = made_with(&self.query.pieces.0, planner.text, known);
        let unplanned = || Refusal::NeedsWorkbench(format!("the rows of {} can't be gathered", self.table));
        let read = match again::plan(planner, &text, &order, planner.plan_groups).ok_or_else(unplanned)?? {
            Plan::Read(read) => read,
            Plan::Route(Route { shard, text: None, reason, .. }) => {
                let locks = planner.facts.class.effects.contains(weir_sql::Effects::LOCKING_READ);
                Read { locks, ..Read::of_one(shard, text.clone(), order, reason) }
            }
            _ => return Err(unplanned()),
        };
        let as_it_is = read.text == text;
        let fragment = Fragment {
            name,
            table: CatalogTableName { database: self.database.to_owned(), table: self.table.to_owned() },
            columns: self.columns.clone(),
            primary_key: self.primary_key.clone(),
            unique_keys: self.unique_keys.clone(),
            keys: self.keys.clone(),
            read,
            narrowed: Vec::new(),
        };
        Ok((fragment, as_it_is))
    }
}

/// The columns that are gathered, by place.
fn chosen(asked: &Asked<'_>, start: u32, table: &Table) -> Vec<usize> {
    let whole = asked.whole.contains(&start);
    let named = |name: &str| {
        let name = name.to_ascii_lowercase().into_bytes();
        asked.unknown.contains(&name) || asked.names.contains(&(start, name))
    };
    let columns = table.columns.iter().enumerate();
    let wanted = columns.filter(|(_, column)| whole && !column.invisible || named(&column.name)).map(|(at, _)| at);
    wanted.collect()
}

/// What stands for rows of which no column is asked for: the user may have the right to any of them.
fn no_column() -> FragmentColumn {
    let (name, definition) = ("weir no column".to_owned(), "tinyint NULL".to_owned());
    FragmentColumn { name, definition, passed: Passed::Number, invisible: false }
}

/// A fragment's query: behind its columns come FROM, WHERE and locks.
fn from<'a>(place: &Place<'a>, reference: &Reference<'_, 'a>, columns: Pieces) -> Query {
    let named = reference.named;
    let own = |range: Range<usize>| place.own(range);
    let alias = named.alias.map_or(named.name.name.name, |alias| alias.name);
    let mut query = columns
        .then(" FROM ")
        .then([quoted_name(reference.database_name.as_bytes()), quoted_name(reference.name.as_bytes())].join(&b'.'))
        .and(&own(named.name.span.end as usize..behind_partitions(place.text, named)));
    if let Some(period) = named.period {
        query = query.then(" ").and(&own(period.span.range()));
    }
    query = query.then(" AS ").then(quoted_name(alias));
    let conditions = place.asked.found.conditions.iter().filter(|one| one.table == named.name.span.start);
    let number = |name: &[u8]| {
        let column = &reference.table.columns[reference.table.column(name)?];
        match &*column.kind.base {
            "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "decimal" => Some(true),
            "char" | "varchar" => Some(false),
            _ => None,
        }
    };
    let fits = |one: &&Condition<'_>| !place.for_write || one.is_match || converts_nothing(one.expr, &number);
    let conditions = conditions.filter(fits);
    let mut count = 0;
    for condition in conditions {
        let joined = if count == 0 { " WHERE (" } else { " AND (" };
        count += 1;
        query = query.then(joined).and(&own(condition.range.clone())).then(")");
    }
    let lock = match reference.roles {
        roles if roles.contains(Roles::LOCKED_UPDATE) => " FOR UPDATE",
        roles if roles.contains(Roles::LOCKED_SHARE) || place.for_write => " LOCK IN SHARE MODE",
        _ => return Query { pieces: query, conditions: count, behind: 0 },
    };
    // MySQL's older form takes neither NOWAIT nor SKIP LOCKED.
    let waits = place.asked.skips_locked;
    let lock = match (lock, waits) {
        (" LOCK IN SHARE MODE", Some(_)) if !place.mariadb => " FOR SHARE",
        (lock, _) => lock,
    };
    let mut locks = Pieces::new(lock).then(waits.unwrap_or_default());
    if let Some(range) = &place.asked.wait {
        locks = locks.then(" WAIT ").and(&own(range.clone()));
    }
    let behind = place.shown(&locks).len();
    Query { pieces: query.and(&locks), conditions: count, behind }
}
