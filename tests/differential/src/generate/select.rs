//! Queries.

use super::condition::{Source, Words, condition, expression, of_key};
use super::gathered;
use super::random::Random;
use super::world::{Kind, Table, World};

/// A statement that was made.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) kind: &'static str,
    pub(super) words: Words,
    /// Its ORDER BY says the order of all rows.
    pub(super) ordered: bool,
    /// Its columns may differ in more than names and types.
    pub(super) other_columns: bool,
    /// They may differ in their types too.
    pub(super) other_types: bool,
}

impl Made {
    pub(super) fn new(kind: &'static str, words: Words) -> Made {
        Made { kind, words, ordered: false, other_columns: false, other_types: false }
    }
}

/// A query of some kind.
pub(super) fn query(world: &World, random: &mut Random) -> Made {
    let prepared = random.chance(40);
    let words = Words::new(prepared);
    if random.chance(25) {
        return gathered::query(words, world, random);
    }
    match random.below(100) {
        0..=17 => of_one_table(words, world, random),
        18..=23 => distinct(words, world, random),
        24..=43 => join(words, world, random),
        44..=56 => subquery(words, world, random),
        57..=63 => union(words, world, random),
        64..=84 => grouped(words, world, random),
        85..=93 => aggregates(words, world, random),
        _ => rollup(words, world, random),
    }
}

fn source<'a>(table: &'a Table, alias: &str) -> Source<'a> {
    Source { alias: alias.to_owned(), table }
}

/// ` WHERE …`, most often.
fn filter(words: &mut Words, sources: &[Source<'_>], random: &mut Random) {
    if random.chance(65) {
        words.put(" WHERE ");
        condition(words, sources, random, 2);
    }
}

/// ` ORDER BY` what tells all rows, and perhaps ` LIMIT`. Whether it does.
fn order(words: &mut Words, sources: &[Source<'_>], first: &[String], random: &mut Random) -> bool {
    if random.chance(25) {
        return false;
    }
    let total = sources.iter().all(|source| !source.table.primary.is_empty());
    let mut keys: Vec<String> = first.to_vec();
    if random.chance(60) {
        let source = random.pick(sources);
        keys.extend(
            random.some(&(0..source.table.columns.len()).collect::<Vec<_>>(), 2).iter().map(|&c| source.column(c)),
        );
    }
    for source in sources {
        keys.extend(source.table.primary.iter().map(|&column| source.column(column)));
    }
    if keys.is_empty() {
        return false;
    }
    let keys: Vec<String> = keys.iter().map(|key| format!("{key}{}", random.pick(&["", "", " DESC"]))).collect();
    words.put(format!(" ORDER BY {}", keys.join(", ")));
    if total {
        limit(words, random);
    }
    total
}

fn limit(words: &mut Words, random: &mut Random) {
    let (most, skipped) = (random.below(9).to_string(), random.below(6).to_string());
    match random.below(8) {
        0 | 1 => {
            words.put(" LIMIT ");
            words.literal(&most, random);
        }
        2 => {
            words.put(" LIMIT ");
            words.literal(&skipped, random);
            words.put(", ");
            words.literal(&most, random);
        }
        3 => words.put(format!(" LIMIT {most} OFFSET {skipped}")),
        _ => {}
    }
}

fn of_one_table(mut words: Words, world: &World, random: &mut Random) -> Made {
    let from = source(world.any(random), random.pick::<&str>(&["x", "y"]));
    let list = match random.below(4) {
        0 => "*".to_owned(),
        1 => format!("{}.*", from.alias),
        2 => from.columns(&random.some(&(0..from.table.columns.len()).collect::<Vec<_>>(), 4)),
        _ => (0..1 + random.below(4)).map(|_| expression(&from, random)).collect::<Vec<_>>().join(", "),
    };
    words.put(format!("SELECT {list} FROM {} AS {}", from.table.name, from.alias));
    let point = !from.table.shard_key.is_empty() && random.chance(35);
    if point {
        words.put(" WHERE ");
        of_key(&mut words, &from, random);
    } else {
        filter(&mut words, std::slice::from_ref(&from), random);
    }
    let first = if random.chance(20) { vec![expression(&from, random)] } else { Vec::new() };
    let ordered = order(&mut words, std::slice::from_ref(&from), &first, random);
    if random.chance(5) {
        words.put(" FOR UPDATE");
    }
    let kind = if point { "by key" } else { "one table" };
    Made { ordered, ..Made::new(kind, words) }
}

/// Expressions that tell equal rows apart by their spelling.
fn exact(from: &Source<'_>, random: &mut Random) -> Vec<String> {
    let columns = from.which(Kind::is_exact);
    random.some(&columns, 3).iter().map(|&column| from.column(column)).collect()
}

fn distinct(mut words: Words, world: &World, random: &mut Random) -> Made {
    let from = source(world.any(random), "x");
    let list = exact(&from, random);
    words.put(format!("SELECT DISTINCT {} FROM {} AS x", list.join(", "), from.table.name));
    filter(&mut words, std::slice::from_ref(&from), random);
    let ordered = random.chance(70);
    if ordered {
        words.put(format!(" ORDER BY {}", list.join(", ")));
        limit(&mut words, random);
    }
    Made { ordered, ..Made::new("distinct", words) }
}

/// Two tables or three, and FROM of them: co-located, with GLOBAL or SINGLE ones, or not together at all.
fn joined<'a>(words: &mut Words, world: &'a World, random: &mut Random) -> Vec<Source<'a>> {
    let first = source(world.any(random), "x");
    let mut sources = vec![first.clone()];
    words.put(format!(" FROM {} AS x", first.table.name));
    for alias in ["y", "z"].into_iter().take(1 + random.below(2)) {
        let base = random.pick(&sources).clone();
        let mates: Vec<&Table> =
            world.all().filter(|table| table.group.is_some() && table.group == base.table.group).collect();
        let globals: Vec<&Table> = world.all().filter(|table| table.global).collect();
        let (table, by_key) = match random.below(10) {
            0..=4 if !mates.is_empty() => (*random.pick(&mates), true),
            5..=8 => (*random.pick(&globals), false),
            _ => (world.any(random), false),
        };
        let with = source(table, alias);
        let on = if by_key || (random.chance(20) && base.table.group.is_some() && base.table.group == table.group) {
            format!("{} = {}", base.column(0), with.column(0))
        } else {
            let numbers = base.which(|kind| matches!(kind, Kind::Int { .. }));
            let mine = with.which(|kind| matches!(kind, Kind::Int { .. }));
            format!("{} = {}", base.column(*random.pick(&numbers)), with.column(*random.pick(&mine)))
        };
        words.put(format!(
            " {} {} AS {alias} ON {on}",
            random.pick(&["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN"]),
            table.name
        ));
        if random.chance(20) {
            words.put(" AND ");
            condition(words, std::slice::from_ref(&with), random, 0);
        }
        sources.push(with);
    }
    sources
}

fn join(mut words: Words, world: &World, random: &mut Random) -> Made {
    let mut tail = Words::new(words.prepared);
    let sources = joined(&mut tail, world, random);
    let list: Vec<String> = (0..1 + random.below(4)).map(|_| expression(random.pick(&sources), random)).collect();
    let list = if random.chance(12) { "*".to_owned() } else { list.join(", ") };
    words.put(format!("SELECT {list}"));
    words.put(&tail.text);
    words.params.append(&mut tail.params);
    filter(&mut words, &sources, random);
    let ordered = order(&mut words, &sources, &[], random);
    // Whether a server sorts in a temporary table shows in its columns.
    Made { ordered, other_columns: ordered, ..Made::new("join", words) }
}

fn subquery(mut words: Words, world: &World, random: &mut Random) -> Made {
    let outer = source(world.any(random), "x");
    let mates: Vec<&Table> = world
        .tables
        .iter()
        .filter(|table| table.global || (table.group.is_some() && table.group == outer.table.group))
        .collect();
    let inner: &Table = if random.chance(88) { random.pick::<&Table>(&mates) } else { world.any(random) };
    let inner = source(inner, "i");
    let number = |from: &Source<'_>, random: &mut Random| {
        let numbers = from.which(|kind| matches!(kind, Kind::Int { .. }));
        *random.pick(&numbers)
    };
    let colocated = inner.table.group.is_some() && inner.table.group == outer.table.group;
    let (mine, its) = if colocated { (0, 0) } else { (number(&outer, random), number(&inner, random)) };
    let (mine, its) = (outer.column(mine), inner.column(its));
    let shown = outer.columns(&random.some(&(0..outer.table.columns.len()).collect::<Vec<_>>(), 3));
    let (from, name) = (&outer.table.name, &inner.table.name);
    let mut sources = vec![outer.clone()];
    match random.below(7) {
        0 | 1 => {
            let not = random.pick(&["", "NOT "]);
            words.put(format!(
                "SELECT {shown} FROM {from} AS x WHERE {not}EXISTS (SELECT 1 FROM {name} AS i WHERE {mine} = {its} AND "
            ));
            condition(&mut words, std::slice::from_ref(&inner), random, 1);
            words.put(")");
        }
        2 => {
            let not = random.pick(&["", "NOT "]);
            words.put(format!("SELECT {shown} FROM {from} AS x WHERE {mine} {not}IN (SELECT {its} FROM {name} AS i"));
            filter(&mut words, std::slice::from_ref(&inner), random);
            words.put(")");
        }
        3 => {
            let of = inner.column(number(&inner, random));
            let what = random.pick(&["COUNT(*)", "SUM", "MAX", "MIN"]);
            let call = if *what == "COUNT(*)" { (*what).to_owned() } else { format!("{what}({of})") };
            words.put(format!(
                "SELECT {shown}, (SELECT {call} FROM {name} AS i WHERE {mine} = {its}) AS q FROM {from} AS x"
            ));
            filter(&mut words, &sources, random);
        }
        4 => {
            words.put(format!(
                "SELECT {shown}, q.n FROM {from} AS x JOIN (SELECT {its} AS v, COUNT(*) AS n FROM {name} AS i GROUP BY {its}) AS q ON {mine} = q.v"
            ));
            filter(&mut words, &sources, random);
            if inner.kind(0).is_exact() && !outer.table.primary.is_empty() {
                let ordered = order(&mut words, &sources, &[], random);
                return Made { ordered, ..Made::new("subquery", words) };
            }
            return Made::new("subquery", words);
        }
        5 => {
            words.put("SELECT x.* FROM (SELECT * FROM ");
            words.put(format!("{from} AS f"));
            filter(&mut words, &[source(outer.table, "f")], random);
            words.put(") AS x");
            filter(&mut words, &sources, random);
        }
        _ => {
            words.put("WITH x AS (SELECT * FROM ");
            words.put(format!("{from} AS f"));
            filter(&mut words, &[source(outer.table, "f")], random);
            words.put(format!(") SELECT {shown} FROM x"));
            filter(&mut words, &sources, random);
        }
    }
    sources.truncate(1);
    let ordered = order(&mut words, &sources, &[], random);
    Made { ordered, ..Made::new("subquery", words) }
}

fn union(mut words: Words, world: &World, random: &mut Random) -> Made {
    let wide = random.chance(50);
    let all = random.chance(50);
    for part in 0..2 + random.below(2) {
        if part > 0 {
            words.put(if all { " UNION ALL " } else { " UNION " });
        }
        let from = source(world.any(random), "x");
        let numbers = from.which(|kind| matches!(kind, Kind::Int { unsigned: false }));
        let column = from.column(*random.pick(&numbers));
        let second = if wide { format!(", {} AS w", from.column(*random.pick(&numbers))) } else { String::new() };
        words.put(format!("SELECT {column} AS v{second} FROM {} AS x", from.table.name));
        filter(&mut words, std::slice::from_ref(&from), random);
    }
    let ordered = random.chance(70);
    if ordered {
        words.put(if wide { " ORDER BY v, w" } else { " ORDER BY v" });
        limit(&mut words, random);
    }
    Made { ordered, ..Made::new("union", words) }
}

/// An aggregate whose value is exact.
fn aggregate(sources: &[Source<'_>], random: &mut Random) -> String {
    let from = random.pick(sources);
    let of = |wanted: fn(Kind) -> bool, random: &mut Random| {
        let columns = from.which(wanted);
        from.column(*random.pick(&columns))
    };
    let number = |random: &mut Random| of(Kind::is_number, random);
    match random.below(14) {
        0 | 1 => "COUNT(*)".to_owned(),
        2 => format!("COUNT({})", of(|_| true, random)),
        3 | 4 => format!("SUM({})", number(random)),
        5 => format!("AVG({})", number(random)),
        6 => format!("MIN({})", of(Kind::is_exact, random)),
        7 => format!("MAX({})", of(Kind::is_exact, random)),
        8 => format!("COUNT(DISTINCT {})", of(|_| true, random)),
        9 => format!("SUM(DISTINCT {})", of(|kind| matches!(kind, Kind::Int { .. }), random)),
        10 => format!(
            "{}({})",
            random.pick(&["BIT_AND", "BIT_OR", "BIT_XOR"]),
            of(|kind| matches!(kind, Kind::Int { .. }), random)
        ),
        11 => {
            let column = of(|kind| kind.is_exact() && kind != Kind::Double, random);
            format!("GROUP_CONCAT({0} ORDER BY {0}{1})", column, random.pick(&["", " DESC", " SEPARATOR '|'"]))
        }
        12 => format!("SUM({} + 1)", number(random)),
        _ => format!("MAX({} * 2)", of(|kind| matches!(kind, Kind::Int { unsigned: false }), random)),
    }
}

fn grouped(mut words: Words, world: &World, random: &mut Random) -> Made {
    let mut tail = Words::new(words.prepared);
    let sources = if random.chance(30) {
        joined(&mut tail, world, random)
    } else {
        let from = source(world.any(random), "x");
        tail.put(format!(" FROM {} AS x", from.table.name));
        vec![from]
    };
    let keys = exact(random.pick(&sources), random);
    let keys = &keys[..keys.len().min(2)];
    let mut list: Vec<String> = keys.iter().enumerate().map(|(n, key)| format!("{key} AS g{n}")).collect();
    let mut shown = Vec::new();
    for n in 0..random.below(4) {
        let call = aggregate(&sources, random);
        list.push(if random.chance(50) { format!("{call} AS a{n}") } else { call.clone() });
        shown.push(call);
    }
    words.put(format!("SELECT {}", list.join(", ")));
    words.put(&tail.text);
    words.params.append(&mut tail.params);
    filter(&mut words, &sources, random);
    words.put(format!(" GROUP BY {}", keys.join(", ")));
    let mut kind = "group";
    if random.chance(30) {
        kind = "having";
        let call = random
            .pick(&["COUNT(*)".to_owned(), format!("SUM({})", sources[0].column(sources[0].which(Kind::is_number)[0]))])
            .clone();
        words.put(format!(" HAVING {call} {} ", random.pick(&[">", "<=", "=", "<>"])));
        let number = random.between(0, 12).to_string();
        words.literal(&number, random);
    }
    let ordered = random.chance(60);
    let mut other_types = false;
    if ordered {
        let mut order: Vec<String> = Vec::new();
        if !shown.is_empty() && random.chance(35) {
            order.push(random.pick(&shown).clone());
        }
        // MySQL makes a temporary table for it, with columns of other types than those that it is made of.
        other_types = order.iter().any(|by| by.starts_with("GROUP_CONCAT"));
        order.extend(keys.iter().map(|key| format!("{key}{}", random.pick(&["", " DESC"]))));
        words.put(format!(" ORDER BY {}", order.join(", ")));
        limit(&mut words, random);
    }
    // Whether a server makes a temporary table on its way shows in its columns.
    Made { ordered, other_columns: true, other_types, ..Made::new(kind, words) }
}

fn aggregates(mut words: Words, world: &World, random: &mut Random) -> Made {
    let from = source(world.any(random), "x");
    let sources = [from];
    let list: Vec<String> = (0..1 + random.below(4)).map(|_| aggregate(&sources, random)).collect();
    words.put(format!("SELECT {} FROM {} AS x", list.join(", "), sources[0].table.name));
    filter(&mut words, &sources, random);
    Made::new("aggregate", words)
}

fn rollup(mut words: Words, world: &World, random: &mut Random) -> Made {
    let from = source(world.any(random), "x");
    let keys = exact(&from, random);
    let keys = &keys[..keys.len().min(2)];
    let sources = [from];
    let list: Vec<String> = (0..1 + random.below(2)).map(|_| aggregate(&sources, random)).collect();
    words.put(format!("SELECT {}, {} FROM {} AS x", keys.join(", "), list.join(", "), sources[0].table.name));
    filter(&mut words, &sources, random);
    words.put(format!(" GROUP BY {} WITH ROLLUP", keys.join(", ")));
    Made { other_columns: true, other_types: true, ..Made::new("rollup", words) }
}
