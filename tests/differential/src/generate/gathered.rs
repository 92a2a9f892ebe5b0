//! Statements over any tables, whose rows have to be brought together: joins on any columns, subqueries, windows, common table expressions,
//! derived tables, set operations, and writes by them.
//!
//! What must always hold: as in all generated statements, the answer does not depend on which of equal rows a server comes across first:
//! windows order by primary keys, LIMIT is behind the order of one, and what a write assigns is one value whatever row it is joined with.

use super::condition::{Source, Words, condition, expression};
use super::random::Random;
use super::select::Made;
use super::world::{Kind, Table, World};

/// A query of some kind.
pub(super) fn query(mut words: Words, world: &World, random: &mut Random) -> Made {
    let kind = match random.below(7) {
        0 | 1 => joined(&mut words, world, random),
        2 => subquery(&mut words, world, random),
        3 => window(&mut words, world, random),
        4 => common(&mut words, world, random),
        5 => derived(&mut words, world, random),
        _ => set(&mut words, world, random),
    };
    Made::new(kind, words)
}

/// A write of some kind.
pub(super) fn write(mut words: Words, world: &World, random: &mut Random) -> Made {
    let kind = match random.below(5) {
        0 => update_by_subquery(&mut words, world, random),
        1 => update_by_join(&mut words, world, random),
        2 => delete(&mut words, world, random),
        3 => insert_select(&mut words, world, random),
        _ => insert_values(&mut words, world, random),
    };
    Made::new(kind, words)
}

fn source<'a>(table: &'a Table, alias: &str) -> Source<'a> {
    Source { alias: alias.to_owned(), table }
}

/// An integer column.
fn number(from: &Source<'_>, random: &mut Random) -> String {
    let numbers = from.which(|kind| matches!(kind, Kind::Int { .. }));
    from.column(*random.pick(&numbers))
}

/// Two columns of two tables that can be equal.
fn pair(one: &Source<'_>, other: &Source<'_>, random: &mut Random) -> (String, String) {
    if random.chance(35) {
        let columns: Vec<(usize, usize)> = (0..one.table.columns.len())
            .flat_map(|mine| (0..other.table.columns.len()).map(move |its| (mine, its)))
            .filter(|(mine, its)| one.kind(*mine) == other.kind(*its) && one.kind(*mine).is_exact())
            .filter(|(mine, _)| !one.kind(*mine).is_text())
            .collect();
        if !columns.is_empty() {
            let (mine, its) = *random.pick(&columns);
            return (one.column(mine), other.column(its));
        }
    }
    (number(one, random), number(other, random))
}

fn filter(words: &mut Words, sources: &[Source<'_>], random: &mut Random) {
    if random.chance(60) {
        words.put(" WHERE ");
        condition(words, sources, random, 2);
    }
}

fn some_columns(from: &Source<'_>, random: &mut Random) -> String {
    from.columns(&random.some(&(0..from.table.columns.len()).collect::<Vec<_>>(), 3))
}

fn joined(words: &mut Words, world: &World, random: &mut Random) -> &'static str {
    let mut sources = vec![source(world.any(random), "x")];
    let mut tail = Words::new(words.prepared);
    tail.put(format!(" FROM {} AS x", sources[0].table.name));
    for alias in ["y", "z"].into_iter().take(1 + random.below(2)) {
        let with = source(world.any(random), alias);
        let (mine, its) = pair(random.pick(&sources), &with, random);
        let how = random.pick(&["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN"]);
        tail.put(format!(" {how} {} AS {alias} ON {mine} = {its}", with.table.name));
        if random.chance(35) {
            tail.put(" AND ");
            condition(&mut tail, std::slice::from_ref(if random.chance(50) { &with } else { &sources[0] }), random, 1);
        }
        sources.push(with);
    }
    match random.below(4) {
        0 => words.put(format!(
            "SELECT COUNT(*), SUM({}), MIN({})",
            number(&sources[0], random),
            number(&sources[1], random)
        )),
        1 => words.put("SELECT *"),
        _ => {
            let list: Vec<String> =
                (0..1 + random.below(4)).map(|_| expression(random.pick(&sources), random)).collect();
            words.put(format!("SELECT {}", list.join(", ")));
        }
    }
    words.put(&tail.text);
    words.params.append(&mut tail.params);
    filter(words, &sources, random);
    "any join"
}

fn subquery(words: &mut Words, world: &World, random: &mut Random) -> &'static str {
    let (outer, inner) = (source(world.any(random), "x"), source(world.any(random), "i"));
    let (mine, its) = pair(&outer, &inner, random);
    let (from, name) = (&outer.table.name, &inner.table.name);
    let shown = some_columns(&outer, random);
    match random.below(6) {
        0 | 1 => {
            let not = random.pick(&["", "NOT "]);
            words.put(format!(
                "SELECT {shown} FROM {from} AS x WHERE {not}EXISTS (SELECT * FROM {name} AS i WHERE {mine} = {its} AND "
            ));
            condition(words, std::slice::from_ref(&inner), random, 1);
            words.put(")");
        }
        2 | 3 => {
            let not = random.pick(&["", "NOT "]);
            words.put(format!("SELECT {shown} FROM {from} AS x WHERE {mine} {not}IN (SELECT {its} FROM {name} AS i"));
            filter(words, std::slice::from_ref(&inner), random);
            words.put(")");
        }
        4 => {
            let call = random.pick(&["MAX", "MIN", "COUNT", "SUM"]);
            let what = number(&inner, random);
            words.put(format!(
                "SELECT {shown}, (SELECT {call}({what}) FROM {name} AS i WHERE {mine} = {its}) FROM {from} AS x"
            ));
            filter(words, std::slice::from_ref(&outer), random);
        }
        _ => {
            let (op, how) = (random.pick(&[">", "<=", "="]), random.pick(&["ANY", "ALL"]));
            let (mine, its) = (number(&outer, random), number(&inner, random));
            words.put(format!(
                "SELECT {shown} FROM {from} AS x WHERE {mine} {op} {how} (SELECT {its} FROM {name} AS i WHERE "
            ));
            condition(words, std::slice::from_ref(&inner), random, 1);
            words.put(format!(" AND {its} IS NOT NULL)"));
        }
    }
    "any subquery"
}

fn keyed<'a>(world: &'a World, random: &mut Random) -> &'a Table {
    let tables: Vec<&Table> = world.all().filter(|table| !table.primary.is_empty()).collect();
    random.pick::<&Table>(&tables)
}

fn window(words: &mut Words, world: &World, random: &mut Random) -> &'static str {
    let from = source(keyed(world, random), "x");
    let key = from.columns(&from.table.primary);
    let number = number(&from, random);
    let call = match random.below(6) {
        0 => format!("ROW_NUMBER() OVER (ORDER BY {key})"),
        1 => format!("RANK() OVER (ORDER BY {number})"),
        2 => format!("SUM({number}) OVER (PARTITION BY {} ORDER BY {key})", from.column(from.table.columns.len() - 1)),
        3 => format!("LAG({number}) OVER (ORDER BY {key} DESC)"),
        4 => format!("COUNT(*) OVER (PARTITION BY {number})"),
        _ => format!("SUM({number}) OVER (ORDER BY {key} ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)"),
    };
    words.put(format!("SELECT {key}, {call} FROM {} AS x", from.table.name));
    filter(words, std::slice::from_ref(&from), random);
    "any window"
}

fn common(words: &mut Words, world: &World, random: &mut Random) -> &'static str {
    let (from, with) = (source(world.any(random), "f"), source(world.any(random), "y"));
    let (v, other) = (number(&from, random), number(&with, random));
    words.put(format!("WITH w (v, n) AS (SELECT {v}, COUNT(*) FROM {} AS f", from.table.name));
    filter(words, std::slice::from_ref(&from), random);
    words.put(format!(" GROUP BY {v})"));
    if random.chance(50) {
        words.put(format!(
            " SELECT a.v, a.n, b.n FROM w AS a {} w AS b ON a.v = b.n",
            random.pick(&["JOIN", "LEFT JOIN"])
        ));
    } else {
        words.put(format!(" SELECT w.v, w.n, {other} FROM w LEFT JOIN {} AS y ON w.v = {other}", with.table.name));
        if random.chance(40) {
            words.put(" WHERE w.n > (SELECT MIN(n) FROM w AS m)");
        }
    }
    "any common table"
}

fn derived(words: &mut Words, world: &World, random: &mut Random) -> &'static str {
    let (from, with) = (source(keyed(world, random), "f"), source(world.any(random), "y"));
    let other = number(&with, random);
    let number = number(&from, random);
    let key = from.columns(&from.table.primary);
    if random.chance(50) {
        words.put(format!("SELECT d.v, {other} FROM (SELECT {number} AS v FROM {} AS f", from.table.name));
        filter(words, std::slice::from_ref(&from), random);
        words.put(format!(" ORDER BY {key} LIMIT {}) AS d", random.below(7)));
    } else {
        words.put(format!("SELECT d.v, {other} FROM (SELECT DISTINCT {number} AS v FROM {} AS f", from.table.name));
        filter(words, std::slice::from_ref(&from), random);
        words.put(") AS d");
    }
    words.put(format!(" {} {} AS y ON {other} = d.v", random.pick(&["JOIN", "LEFT JOIN"]), with.table.name));
    if random.chance(40) {
        words.put(" WHERE ");
        condition(words, std::slice::from_ref(&with), random, 1);
    }
    "any derived table"
}

fn set(words: &mut Words, world: &World, random: &mut Random) -> &'static str {
    let part = |words: &mut Words, random: &mut Random| {
        let from = source(world.any(random), "x");
        // MySQL takes a NULL for some value where the first operand of EXCEPT or INTERSECT has none.
        words.put(format!("SELECT NULLIF({}, 99) AS v FROM {} AS x", number(&from, random), from.table.name));
        filter(words, std::slice::from_ref(&from), random);
    };
    part(words, random);
    words.put(*random.pick(&[" UNION (", " UNION ALL (", " EXCEPT (", " INTERSECT ("]));
    part(words, random);
    words.put(*random.pick(&[" UNION ", " INTERSECT ", " EXCEPT "]));
    part(words, random);
    words.put(")");
    "any set operation"
}

/// Columns of no key.
pub(super) fn plain(table: &Table) -> Vec<usize> {
    let is_key = |column: &usize| table.primary.contains(column) || table.shard_key.contains(column);
    (0..table.columns.len()).filter(|column| !is_key(column)).collect()
}

fn update_by_subquery(words: &mut Words, world: &World, random: &mut Random) -> &'static str {
    let (target, inner) = (source(random.pick(&world.tables), "x"), source(world.any(random), "i"));
    let (mine, its) = pair(&target, &inner, random);
    let call = random.pick(&["COUNT", "MIN", "MAX"]);
    let what = number(&inner, random);
    words.put(format!(
        "UPDATE {} AS x SET c0 = (SELECT {call}({what}) FROM {} AS i WHERE {mine} = {its})",
        target.table.name, inner.table.name
    ));
    if random.chance(70) {
        words.put(" WHERE ");
        condition(words, std::slice::from_ref(&target), random, 1);
    }
    "update by subquery"
}

fn update_by_join(words: &mut Words, world: &World, random: &mut Random) -> &'static str {
    let (target, with) = (source(random.pick(&world.tables), "x"), source(world.any(random), "y"));
    let (mine, its) = pair(&target, &with, random);
    let column = *random.pick(&plain(target.table));
    let value = target.kind(column).literal(random);
    words.put(format!("UPDATE {} AS x JOIN {} AS y ON {mine} = {its} SET ", target.table.name, with.table.name));
    words.put(format!("{} = ", target.column(column)));
    words.literal(&value, random);
    words.put(" WHERE ");
    condition(words, &[target, with], random, 1);
    "update by join"
}

fn delete(words: &mut Words, world: &World, random: &mut Random) -> &'static str {
    let (target, with) = (source(random.pick(&world.tables), "x"), source(world.any(random), "y"));
    let (mine, its) = pair(&target, &with, random);
    let (name, other) = (&target.table.name, &with.table.name);
    if random.chance(50) {
        words.put(format!("DELETE x FROM {name} AS x JOIN {other} AS y ON {mine} = {its} WHERE "));
        condition(words, &[target.clone(), with.clone()], random, 1);
    } else {
        let mine = mine.replacen("x.", &format!("{name}."), 1);
        words.put(format!("DELETE FROM {name} WHERE {mine} IN (SELECT {its} FROM {other} AS y"));
        filter(words, std::slice::from_ref(&with), random);
        words.put(")");
    }
    "delete by others"
}

fn insert_select(words: &mut Words, world: &World, random: &mut Random) -> &'static str {
    let table = random.pick(&world.tables);
    let (from, with) = (source(world.any(random), "f"), source(world.any(random), "y"));
    let (mine, its) = pair(&from, &with, random);
    let value = |column: usize, random: &mut Random| match table.columns[column].kind {
        Kind::Int { unsigned: false } if table.primary.contains(&column) => {
            format!("1000 + COUNT(*) + {}", random.below(50))
        }
        Kind::Int { .. } => "COUNT(*)".to_owned(),
        kind => kind.literal(random),
    };
    let list: Vec<String> = (0..table.columns.len()).map(|column| value(column, random)).collect();
    words.put(format!(
        "REPLACE INTO {} SELECT {} FROM {} AS f JOIN {} AS y ON {mine} = {its}",
        table.name,
        list.join(", "),
        from.table.name,
        with.table.name
    ));
    filter(words, &[from, with], random);
    "insert any select"
}

fn insert_values(words: &mut Words, world: &World, random: &mut Random) -> &'static str {
    let table = random.pick(&world.tables);
    let inner = source(world.any(random), "i");
    let place = table.columns.iter().position(|column| column.name == "c0").unwrap_or(0);
    let mut row = table.row(random);
    row[place] = format!(
        "(SELECT {}({}) FROM {} AS i)",
        random.pick(&["COUNT", "MAX"]),
        number(&inner, random),
        inner.table.name
    );
    words.put(format!("REPLACE INTO {} VALUES ({})", table.name, row.join(", ")));
    "insert a subquery"
}
