//! Affected rows, warnings and infos of several shards as those of one statement.
//!
//! What must always hold: the counts are those that one server would report for all rows together.

use weir_plan::Duplicates;

use super::send::Done;
use crate::MultiShardResult;
use crate::hot_rows::member::WarningRow;

/// The sum of all parts. `duplicates`: they inserted rows that were split.
pub(super) fn total(parts: &[&Done], duplicates: Option<Duplicates>) -> MultiShardResult {
    let warnings = parts.iter().fold(0, |sum: u16, done| sum.saturating_add(done.warnings));
    let affected = parts.iter().map(|done| done.affected).sum();
    let conditions = conditions(parts);
    MultiShardResult { affected, warnings, conditions, info: info(parts, duplicates), ..MultiShardResult::default() }
}

/// What the parts warn of, if they were asked.
pub(super) fn conditions(parts: &[&Done]) -> Option<Vec<WarningRow>> {
    let asked = parts.iter().any(|done| done.conditions.is_some());
    asked.then(|| parts.iter().filter_map(|done| done.conditions.clone()).flatten().collect())
}

/// The parts' infos with their numbers summed. A server that inserts one row tells none, and the statement had more.
fn info(parts: &[&Done], duplicates: Option<Duplicates>) -> Vec<u8> {
    let mut sums: Option<Vec<(String, u64)>> = None;
    for done in parts {
        let counts = match (counts_of(&done.info), duplicates) {
            (Some(counts), _) => counts,
            (None, Some(duplicates)) => of_one_row(done, duplicates),
            (None, None) => return Vec::new(),
        };
        match &mut sums {
            None => sums = Some(counts),
            Some(sums) => sums.iter_mut().zip(counts).for_each(|(sum, (_, count))| sum.1 += count),
        }
    }
    let told = sums.unwrap_or_default().into_iter().map(|(name, count)| format!("{name}: {count}"));
    told.collect::<Vec<_>>().join("  ").into_bytes()
}

/// The infos of servers that have each done the same to rows of their own, with their numbers summed.
pub fn infos_added(infos: &[&[u8]]) -> Vec<u8> {
    let parts: Vec<Done> = infos.iter().map(|info| Done { info: info.to_vec(), ..Done::default() }).collect();
    info(&parts.iter().collect::<Vec<_>>(), None)
}

/// `Records: 3  Duplicates: 0  Warnings: 0`, whatever the words.
fn counts_of(info: &[u8]) -> Option<Vec<(String, u64)>> {
    let info = std::str::from_utf8(info).ok().filter(|info| !info.is_empty())?;
    let count = |part: &str| {
        let (name, count) = part.rsplit_once(": ")?;
        Some((name.to_owned(), count.parse().ok()?))
    };
    info.split("  ").map(count).collect()
}

/// The info of an INSERT … SELECT whose query has one row, which a server was sent as a row of values.
pub fn info_of_one(outcome: &MultiShardResult, duplicates: Duplicates) -> Vec<u8> {
    let done = Done { affected: outcome.affected, warnings: outcome.warnings, ..Done::default() };
    info(&[&done], Some(duplicates))
}

/// The info that a server would have sent for one row of several.
fn of_one_row(done: &Done, duplicates: Duplicates) -> Vec<(String, u64)> {
    let duplicate = match duplicates {
        Duplicates::Error => 0,
        Duplicates::Ignore => 1_u64.saturating_sub(done.affected),
        // A row that was replaced or updated counts twice.
        Duplicates::Change => done.affected.saturating_sub(1),
    };
    let counts = [("Records", 1), ("Duplicates", duplicate), ("Warnings", u64::from(done.warnings))];
    counts.map(|(name, count)| (name.to_owned(), count)).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(affected: u64, warnings: u16, info: &str) -> Done {
        Done { affected, warnings, info: info.as_bytes().to_vec(), ..Done::default() }
    }

    fn told(parts: &[Done], duplicates: Option<Duplicates>) -> (u64, String) {
        let parts: Vec<&Done> = parts.iter().collect();
        let outcome = total(&parts, duplicates);
        (outcome.affected, String::from_utf8(outcome.info).expect("it is text"))
    }

    #[test]
    fn counts_of_parts_add_up() {
        let rows = [
            done(2, 0, "Records: 2  Duplicates: 0  Warnings: 0"),
            done(3, 1, "Records: 4  Duplicates: 1  Warnings: 1"),
        ];
        let expected = (5, "Records: 6  Duplicates: 1  Warnings: 1".to_owned());
        assert_eq!(told(&rows, Some(Duplicates::Ignore)), expected);
        let changed = [
            done(1, 0, "Rows matched: 2  Changed: 1  Warnings: 0"),
            done(0, 0, "Rows matched: 0  Changed: 0  Warnings: 0"),
        ];
        assert_eq!(told(&changed, None), (1, "Rows matched: 2  Changed: 1  Warnings: 0".to_owned()));
        assert_eq!(told(&[done(1, 0, ""), done(2, 0, "")], None), (3, String::new()));
    }

    #[test]
    fn a_part_with_one_row_tells_no_info_of_its_own() {
        for (duplicates, affected, expected) in [
            (Duplicates::Error, 1, "Records: 3  Duplicates: 0  Warnings: 0"),
            (Duplicates::Ignore, 1, "Records: 3  Duplicates: 0  Warnings: 0"),
            (Duplicates::Ignore, 0, "Records: 3  Duplicates: 1  Warnings: 0"),
            (Duplicates::Change, 2, "Records: 3  Duplicates: 1  Warnings: 0"),
        ] {
            let parts = [done(2, 0, "Records: 2  Duplicates: 0  Warnings: 0"), done(affected, 0, "")];
            assert_eq!(told(&parts, Some(duplicates)), (2 + affected, expected.to_owned()), "{duplicates:?}");
        }
        let alone = [done(1, 0, ""), done(0, 1, "")];
        assert_eq!(told(&alone, Some(Duplicates::Ignore)).1, "Records: 2  Duplicates: 1  Warnings: 1");
    }
}
