//! From what a table was and what it is, as SHOW CREATE TABLE tells, to the ALTER TABLE that leads back.
//!
//! What must always hold: no way back loses what rows hold. A column that is gone has none, and one whose values were converted to another
//! type only where the server told of no value that it changed.

use std::ops::Range;

/// A table, line by line.
struct Lines<'a> {
    /// Name with its quotes, and the line without its comma.
    columns: Vec<(&'a str, &'a str)>,
    /// Keys, constraints, periods.
    others: Vec<&'a str>,
    options: &'a str,
}

impl<'a> Lines<'a> {
    fn of(create: &'a str) -> Option<Lines<'a>> {
        let start = create.find("(\n")? + 2;
        let end = create.rfind("\n)")?;
        let (mut columns, mut others) = (Vec::new(), Vec::new());
        for line in create.get(start..end)?.lines() {
            let line = line.trim();
            let line = line.strip_suffix(',').unwrap_or(line);
            match quoted_name(line) {
                Some(name) if name.start == 0 => columns.push((&line[name], line)),
                _ => others.push(line),
            }
        }
        Some(Lines { columns, others, options: &create[end + 2..] })
    }

    fn column(&self, name: &str) -> Option<&'a str> {
        self.columns.iter().find(|(known, _)| *known == name).map(|(_, line)| *line)
    }
}

/// The first name in backticks.
fn quoted_name(line: &str) -> Option<Range<usize>> {
    let start = line.find('`')?;
    let mut end = start + 1;
    loop {
        end += line.get(end..)?.find('`')? + 1;
        if !line[end..].starts_with('`') {
            return Some(start..end);
        }
        end += 1;
    }
}

/// The actions of an ALTER TABLE that makes `before` of `after`; `None` if there are none that lose nothing. `kept`: what led there gave no
/// warning, so that narrower types hold all values.
pub(super) fn way_back(before: &str, after: &str, kept: bool) -> Option<Vec<String>> {
    let (old, new) = (Lines::of(before)?, Lines::of(after)?);
    if old.options != new.options {
        return None;
    }
    let mut actions = Vec::new();
    for line in new.others.iter().filter(|line| !old.others.contains(line)) {
        actions.push(dropped(line)?);
    }
    columns(&old, &new, kept, &mut actions)?;
    for line in old.others.iter().filter(|line| !new.others.contains(line)) {
        actions.push(format!("ADD {line}"));
    }
    Some(actions)
}

/// What drops a key or a constraint.
fn dropped(line: &str) -> Option<String> {
    if line.starts_with("PRIMARY KEY") {
        return Some("DROP PRIMARY KEY".to_owned());
    }
    let name = quoted_name(line)?;
    let (before, name, after) = (&line[..name.start], &line[name.clone()], &line[name.end..]);
    let is_key = ["KEY ", "UNIQUE KEY ", "FULLTEXT KEY ", "SPATIAL KEY "].contains(&before);
    match before {
        _ if is_key => Some(format!("DROP KEY {name}")),
        "CONSTRAINT " if after.starts_with(" FOREIGN KEY") => Some(format!("DROP FOREIGN KEY {name}")),
        "CONSTRAINT " if after.starts_with(" CHECK") => Some(format!("DROP CONSTRAINT {name}")),
        _ => None,
    }
}

fn columns(old: &Lines<'_>, new: &Lines<'_>, kept: bool, actions: &mut Vec<String>) -> Option<()> {
    for (name, line) in &old.columns {
        if let Some(now) = new.column(name) {
            if now != *line {
                let (was, is) = (values(line), values(now));
                if !(widened(was, is) || kept && warns_of_losses(was.0, is.0)) {
                    return None;
                }
                actions.push(format!("MODIFY COLUMN {line}"));
            }
            continue;
        }
        // Another name in the same place, and nothing else: it was renamed.
        let place = old.columns.iter().position(|(known, _)| known == name)?;
        let (other, now) = new.columns.get(place)?;
        if old.column(other).is_some() || now[other.len()..] != line[name.len()..] {
            return None;
        }
        actions.push(format!("CHANGE COLUMN {other} {line}"));
    }
    let renamed = |name: &str| actions.iter().any(|action| action.starts_with(&format!("CHANGE COLUMN {name} ")));
    let added = new.columns.iter().filter(|(name, _)| old.column(name).is_none() && !renamed(name));
    let added: Vec<String> = added.map(|(name, _)| format!("DROP COLUMN {name}")).collect();
    actions.extend(added);
    Some(())
}

/// What a column's line says of the values that it holds: the type, and whether NULL is one of them.
fn values(line: &str) -> (&str, bool) {
    let kind = quoted_name(line).map_or(line, |name| line[name.end..].trim_start());
    let ends =
        [" DEFAULT ", " COMMENT ", " NULL", " NOT NULL", " CHECK ", " ON UPDATE ", " INVISIBLE", " AUTO_INCREMENT"];
    let end = ends.iter().filter_map(|end| kind.find(end)).min().unwrap_or(kind.len());
    (&kind[..end], !kind.contains(" NOT NULL"))
}

const INTEGERS: [&str; 5] = ["tinyint", "smallint", "mediumint", "int", "bigint"];

/// Among these no value is converted: what does not fit is an error.
const SPATIAL: [&str; 9] = [
    "geometry",
    "point",
    "linestring",
    "polygon",
    "multipoint",
    "multilinestring",
    "multipolygon",
    "geometrycollection",
    "geomcollection",
];

fn base(kind: &str) -> &str {
    kind.find(|c: char| !c.is_ascii_alphabetic()).map_or(kind, |end| &kind[..end])
}

fn is_integer(kind: &str) -> bool {
    INTEGERS.contains(&base(kind))
}

/// The length of a string type, and the type without it.
fn length(kind: &str) -> Option<(u32, String)> {
    let (name, rest) = kind.split_once('(')?;
    let (digits, rest) = rest.split_once(')')?;
    ["varchar", "varbinary"].contains(&name).then_some(())?;
    Some((digits.parse().ok()?, format!("{name}{rest}")))
}

/// Whether servers tell of each value of the old type that the new one can't hold. They round dates, times and numbers silently.
fn warns_of_losses(old: &str, new: &str) -> bool {
    // Behind the values: the character set.
    let members = |kind: &str| {
        let end = kind.rfind(')')?;
        ["enum", "set"].contains(&base(kind)).then(|| format!("{}{}", base(kind), &kind[end + 1..]))
    };
    let strings = || match (length(old), length(new)) {
        (Some((_, one)), Some((_, other))) => one == other,
        _ => members(old).is_some() && members(old) == members(new),
    };
    old == new
        || is_integer(old) && is_integer(new)
        || SPATIAL.contains(&base(old)) && SPATIAL.contains(&base(new))
        || strings()
}

/// Whether every value of the old type is kept by the new one. What became NOT NULL has lost its NULLs.
fn widened((old, was_null): (&str, bool), (new, is_null): (&str, bool)) -> bool {
    if was_null && !is_null {
        return false;
    }
    let integer = |kind: &str| INTEGERS.iter().position(|known| *known == base(kind));
    if let (Some(from), Some(to)) = (integer(old), integer(new)) {
        return from <= to && old.contains("unsigned") == new.contains("unsigned");
    }
    match (length(old), length(new)) {
        (Some((from, one)), Some((to, other))) => from <= to && one == other,
        _ => old == new,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "CREATE TABLE `t` (\n  `id` int(11) NOT NULL,\n  `a` varchar(20) DEFAULT NULL,\n  PRIMARY KEY (`id`),\n  KEY \
                         `by_a` (`a`)\n) ENGINE=InnoDB";

    fn back(change: impl Fn(&str) -> String) -> Option<String> {
        way_back(TABLE, &change(TABLE), false).map(|actions| actions.join(", "))
    }

    fn replaced(from: &'static str, to: &'static str) -> impl Fn(&str) -> String {
        move |table| {
            assert!(table.contains(from), "{from}");
            table.replacen(from, to, 1)
        }
    }

    #[test]
    fn what_loses_no_value_is_taken_back() {
        for (from, to, expected) in [
            ("`)\n) E", "`),\n  UNIQUE KEY `u``q` (`a`)\n) E", "DROP KEY `u``q`"),
            (",\n  KEY `by_a` (`a`)", "", "ADD KEY `by_a` (`a`)"),
            ("KEY `by_a` (`a`)", "KEY `by_a` (`a`,`id`)", "DROP KEY `by_a`, ADD KEY `by_a` (`a`)"),
            ("  PRIMARY", "  `c` text DEFAULT NULL,\n  PRIMARY", "DROP COLUMN `c`"),
            ("`a` varchar(20)", "`b` varchar(20)", "CHANGE COLUMN `b` `a` varchar(20) DEFAULT NULL"),
            ("varchar(20) DEFAULT NULL", "varchar(30) DEFAULT 'x'", "MODIFY COLUMN `a` varchar(20) DEFAULT NULL"),
            ("`id` int(11) NOT", "`id` bigint(20) NOT", "MODIFY COLUMN `id` int(11) NOT NULL"),
            (
                "`)\n) E",
                "`),\n  KEY `f` (`a`),\n  CONSTRAINT `f` FOREIGN KEY (`a`) REFERENCES `p` (`a`)\n) E",
                "DROP KEY `f`, DROP FOREIGN KEY `f`",
            ),
            ("`)\n) E", "`),\n  CONSTRAINT `c` CHECK (`id` > 0)\n) E", "DROP CONSTRAINT `c`"),
        ] {
            assert_eq!(back(replaced(from, to)).as_deref(), Some(expected), "{to}");
        }
    }

    #[test]
    fn narrower_types_are_taken_back_if_no_value_was_changed() {
        for (from, to, expected) in [
            ("varchar(20)", "varchar(10)", true),
            ("varchar(20) DEFAULT NULL", "varchar(20) NOT NULL", true),
            ("int(11)", "smallint(6)", true),
            ("int(11)", "int(11) unsigned", true),
            ("int(11)", "double", false),
            ("int(11)", "varchar(11)", false),
            ("varchar(20)", "varchar(20) CHARACTER SET latin1", false),
        ] {
            assert_eq!(way_back(TABLE, &replaced(from, to)(TABLE), true).is_some(), expected, "{to}");
        }
        assert!(warns_of_losses("enum('a','b)')", "enum('a')"));
        assert!(!warns_of_losses("enum('a')", "enum('a') CHARACTER SET latin1"));
        assert!(!warns_of_losses("enum('a')", "set('a')"));
        assert!(warns_of_losses("point /*!80003 SRID 4326 */", "linestring /*!80003 SRID 4326 */"));
        assert!(!warns_of_losses("point", "longblob"));
        assert!(!warns_of_losses("datetime(6)", "datetime"));
    }

    #[test]
    fn what_has_lost_values_is_not() {
        for (from, to) in [
            ("  `a` varchar(20) DEFAULT NULL,\n", ""),
            ("varchar(20)", "varchar(10)"),
            ("varchar(20)", "varchar(20) CHARACTER SET latin1"),
            ("varchar(20) DEFAULT NULL", "varchar(20) NOT NULL"),
            ("int(11)", "smallint(6)"),
            ("int(11)", "int(11) unsigned"),
            ("int(11)", "double"),
            ("InnoDB", "MyISAM"),
        ] {
            assert_eq!(back(replaced(from, to)), None, "{to}");
        }
    }
}
