//! Statements that write.

use super::condition::{Source, Words, condition};
use super::gathered::{self, plain};
use super::random::Random;
use super::select::Made;
use super::world::{Kind, Table, World};

/// A write of some kind.
pub(super) fn write(world: &World, random: &mut Random) -> Made {
    let words = Words::new(random.chance(40));
    if random.chance(25) {
        return gathered::write(words, world, random);
    }
    let table = random.pick(&world.tables);
    match random.below(100) {
        0..=21 => insert(words, table, "insert", random),
        22..=28 => insert(words, table, "insert ignore", random),
        29..=35 => insert(words, table, "replace", random),
        36..=45 => insert_or_update(words, world, table, random),
        46..=53 => insert_select(words, world, random),
        54..=71 => update(words, table, random),
        72..=78 => key_change(words, table, random),
        79..=91 => delete(words, table, random),
        _ => several_tables(words, world, random),
    }
}

/// A row that is new, or has a key that is there.
fn row(table: &Table, random: &mut Random) -> Vec<String> {
    let mut row = table.row(random);
    if random.chance(25) {
        for &column in &table.primary {
            row[column] = table.literal(column, random);
        }
    }
    row
}

fn insert(mut words: Words, table: &Table, kind: &'static str, random: &mut Random) -> Made {
    words.put(match kind {
        "insert ignore" => "INSERT IGNORE INTO ",
        "replace" => "REPLACE INTO ",
        _ => "INSERT INTO ",
    });
    words.put(&table.name);
    let mut columns: Vec<usize> = (0..table.columns.len()).collect();
    if random.chance(40) {
        columns.retain(|&column| !table.columns[column].null || random.chance(60));
        columns.reverse();
        words.put(format!(" ({})", table.names(&columns)));
    }
    let count = *random.pick(&[1, 1, 2, 3, 5]);
    words.put(" VALUES ");
    for number in 0..count {
        words.put(if number == 0 { "(" } else { ", (" });
        let row = row(table, random);
        for (place, &column) in columns.iter().enumerate() {
            words.put(if place == 0 { "" } else { ", " });
            let value = &row[column];
            match table.columns[column].kind {
                Kind::Int { unsigned: false } if value != "NULL" && random.chance(8) => {
                    words.put(format!("{value} + {}", random.below(3)));
                }
                _ if table.columns[column].null && random.chance(4) => words.put("DEFAULT"),
                _ => words.literal(value, random),
            }
        }
        words.put(")");
    }
    Made::new(kind, words)
}

fn insert_or_update(words: Words, world: &World, table: &Table, random: &mut Random) -> Made {
    let Made { mut words, .. } = insert(words, table, "on duplicate key", random);
    let others: Vec<usize> = (0..table.columns.len()).filter(|column| !table.primary.contains(column)).collect();
    let changed = random.some(&others, 2);
    for (place, &column) in changed.iter().enumerate() {
        let (name, kind) = (&table.columns[column].name, table.columns[column].kind);
        words.put(if place == 0 { " ON DUPLICATE KEY UPDATE " } else { ", " });
        match random.below(5) {
            0 => words.put(format!("{name} = VALUES({name})")),
            1 if kind.is_number() => words.put(format!("{name} = {name} + 1")),
            2 if kind.is_number() => {
                let other = random.pick(&world.tables);
                words.put(format!(
                    "{name} = IFNULL({name}, 0) + (SELECT COUNT(*) FROM {} AS o WHERE o.k > 2)",
                    other.name
                ));
            }
            _ => {
                words.put(format!("{name} = "));
                words.literal(&kind.literal(random), random);
            }
        }
    }
    Made::new("on duplicate key", words)
}

/// Columns are selected from those of the same kind, else they are literals.
fn insert_select(mut words: Words, world: &World, random: &mut Random) -> Made {
    let table = random.pick(&world.tables);
    let from = Source { alias: "f".to_owned(), table: world.any(random) };
    let mut list = Vec::new();
    for (place, column) in table.columns.iter().enumerate() {
        let alike = from.which(|kind| kind == column.kind);
        let key = table.primary.contains(&place);
        list.push(match &alike[..] {
            [] => column.kind.literal(random),
            [first, ..] if key && column.kind.is_number() && random.chance(50) => {
                format!("{} + 100", from.column(*first))
            }
            [first, ..] if key => from.column(*first),
            some => from.column(*random.pick(some)),
        });
    }
    let verb = random.pick(&["INSERT INTO", "INSERT INTO", "REPLACE INTO"]);
    words.put(format!("{verb} {} SELECT {} FROM {} AS f", table.name, list.join(", "), from.table.name));
    if random.chance(60) {
        words.put(" WHERE ");
        condition(&mut words, std::slice::from_ref(&from), random, 1);
    }
    if !from.table.primary.is_empty() {
        words.put(format!(" ORDER BY {}", from.columns(&from.table.primary)));
    }
    Made::new("insert select", words)
}

/// ` WHERE …` of the only table, perhaps ` ORDER BY` its key and ` LIMIT`.
fn which(words: &mut Words, table: &Table, random: &mut Random) {
    let from = Source { alias: table.name.clone(), table };
    if random.chance(88) {
        words.put(" WHERE ");
        condition(words, std::slice::from_ref(&from), random, 1);
    }
    if !table.primary.is_empty() && random.chance(22) {
        let direction = random.pick(&["", " DESC"]);
        let keys: Vec<String> =
            table.primary.iter().map(|&column| format!("{}{direction}", from.column(column))).collect();
        words.put(format!(" ORDER BY {} LIMIT {}", keys.join(", "), random.below(6)));
    }
}

fn update(mut words: Words, table: &Table, random: &mut Random) -> Made {
    words.put(format!("UPDATE {}", table.name));
    let others: Vec<usize> = (0..table.columns.len())
        .filter(|column| !table.primary.contains(column) && !table.shard_key.contains(column))
        .collect();
    for (place, &column) in random.some(&others, 3).iter().enumerate() {
        let (name, kind) = (&table.columns[column].name, table.columns[column].kind);
        words.put(if place == 0 { " SET " } else { ", " });
        match random.below(6) {
            0 if kind.is_number() => words.put(format!("{name} = {name} + 1")),
            1 if kind.is_number() => words.put(format!("{name} = IFNULL({name}, 0) * 2")),
            2 if kind.is_text() => words.put(format!("{name} = LEFT(CONCAT({name}, 'x'), 5)")),
            3 if table.columns[column].null => words.put(format!("{name} = NULL")),
            _ => {
                words.put(format!("{name} = "));
                words.literal(&kind.literal(random), random);
            }
        }
    }
    which(&mut words, table, random);
    Made::new("update", words)
}

fn key_change(mut words: Words, table: &Table, random: &mut Random) -> Made {
    let kind = table.columns[0].kind;
    words.put(format!("UPDATE {} SET k = ", table.name));
    if kind.is_number() && !table.primary.is_empty() && random.chance(25) {
        // Rows get the keys of others, in an order that is known.
        let direction = random.pick(&["", " DESC"]);
        let names: Vec<String> = table.primary.iter().map(|column| table.columns[*column].name.clone()).collect();
        words.put("k + 1 WHERE ");
        condition(&mut words, &[Source { alias: table.name.clone(), table }], random, 1);
        words.put(format!(" ORDER BY {}{direction}", names.join(&format!("{direction}, "))));
        return Made::new("key change", words);
    }
    match kind.is_number() && random.chance(50) {
        true => words.put(format!("k + {}", random.pick(&[100, 200, 1000]))),
        false => words.literal(&kind.literal(random), random),
    }
    if random.chance(30) {
        words.put(", c0 = c0 + 1");
    }
    if random.chance(70) {
        words.put(" WHERE k = ");
        let literal = table.literal(0, random);
        words.literal(&literal, random);
    } else {
        which(&mut words, table, random);
    }
    Made::new("key change", words)
}

fn delete(mut words: Words, table: &Table, random: &mut Random) -> Made {
    words.put(format!("DELETE FROM {}", table.name));
    which(&mut words, table, random);
    Made::new("delete", words)
}

fn several_tables(mut words: Words, world: &World, random: &mut Random) -> Made {
    let grouped: Vec<&Table> = world.tables.iter().filter(|table| table.group.is_some() || table.global).collect();
    let one = *random.pick(&grouped);
    let mates: Vec<&Table> = world.tables.iter().filter(|table| table.global || table.group == one.group).collect();
    let other = *random.pick(&mates);
    let sources = [Source { alias: "x".to_owned(), table: one }, Source { alias: "y".to_owned(), table: other }];
    let on = if one.group == other.group { "x.k = y.k".to_owned() } else { "x.c0 = y.k".to_owned() };
    if random.chance(50) {
        let literal = Kind::Int { unsigned: false }.literal(random);
        words.put(format!("UPDATE {} AS x JOIN {} AS y ON {on} SET x.c0 = {literal}", one.name, other.name));
        if one.name != other.name && random.chance(50) {
            let column = *random.pick(&plain(other));
            let value = other.columns[column].kind.literal(random);
            words.put(format!(", {} = {value}", sources[1].column(column)));
        }
        words.put(" WHERE ");
    } else {
        let which = random.pick(&["x", "x, y"]);
        words.put(format!("DELETE {which} FROM {} AS x JOIN {} AS y ON {on} WHERE ", one.name, other.name));
    }
    condition(&mut words, &sources, random, 1);
    Made::new("several tables", words)
}
