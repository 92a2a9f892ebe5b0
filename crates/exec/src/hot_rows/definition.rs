//! What a table's definition says about moves of one of its counters that are made together.
//!
//! What must always hold: when in doubt, they are not made together. The definition is SHOW CREATE TABLE's text, read under the lock that
//! the batch's transaction has on the table.

use super::counter::Range;

/// Words of a definition after which a change of a row may do more than the change, or other than the sum of several.
const MORE: [&str; 7] =
    [" CHECK ", " GENERATED ", " ON UPDATE ", "PARTITION BY", "SYSTEM VERSIONING", "PERIOD FOR", " CHECK("];

/// The range of a counter, if its moves can be made together.
///
/// # Errors
/// Why they can't.
pub(super) fn counter_range(definition: &str, column: &str) -> Result<Range, &'static str> {
    if !definition.starts_with("CREATE TABLE `") {
        return Err("its definition is not written with backquotes");
    }
    let Some((body, options)) = definition.rsplit_once("\n)") else { return Err("its definition can't be read") };
    if !options.to_ascii_uppercase().contains("ENGINE=INNODB") {
        return Err("it is no InnoDB table");
    }
    let upper = definition.to_ascii_uppercase();
    if MORE.iter().any(|word| upper.contains(word)) {
        return Err("it has checks, generated columns, ON UPDATE, partitions, or versions of rows");
    }
    let quoted = format!("`{}`", column.to_lowercase());
    let mut range = None;
    for line in body.lines().skip(1) {
        let line = line.trim_start();
        let lower = line.to_lowercase();
        match lower.strip_prefix(&quoted) {
            Some(rest) => range = Range::of_type(rest),
            None if !line.starts_with('`') && lower.contains(&quoted) => return Err("the counter is in a key"),
            None => {}
        }
    }
    range.ok_or("the counter is no whole number or decimal")
}

/// Whether a column holds whole numbers, by a definition that can be read.
pub(super) fn is_whole(definition: &str, column: &str) -> bool {
    const WHOLE: [&str; 5] = ["tinyint", "smallint", "mediumint", "int", "bigint"];
    let quoted = format!("`{}` ", column.to_lowercase());
    let mut types = definition.lines().skip(1).filter_map(|line| {
        let line = line.trim_start().to_lowercase();
        let rest = line.strip_prefix(&quoted)?;
        Some(WHOLE.contains(&rest.split(|c: char| !c.is_ascii_alphanumeric()).next()?))
    });
    types.next() == Some(true) && types.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "CREATE TABLE `seckill` (\n  `id` int(11) DEFAULT NULL,\n  `num` bigint(20) unsigned DEFAULT NULL,\n  `price` \
                         decimal(8,2) NOT NULL,\n  `name` varchar(9),\n  KEY `price` (`id`)\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4";

    #[test]
    fn counters_of_plain_tables_can_be_moved_together() {
        assert_eq!(counter_range(TABLE, "NUM").map(|range| (range.least, range.scale)), Ok((0, 0)));
        assert_eq!(
            counter_range(&TABLE.replace("KEY `price` (`id`)", "PRIMARY KEY (`id`)"), "price").map(|range| range.scale),
            Ok(2)
        );
    }

    #[test]
    fn columns_of_whole_numbers_are_known() {
        assert!(is_whole(TABLE, "id") && is_whole(TABLE, "NUM"));
        assert!(["price", "name", "nobody", "i", ""].iter().all(|column| !is_whole(TABLE, column)));
    }

    #[test]
    fn what_may_do_more_is_refused() {
        for (from, to, column) in [
            ("KEY `price` (`id`)", "KEY `price` (`id`,`num`)", "num"),
            ("KEY `price` (`id`)", "CONSTRAINT `x` FOREIGN KEY (`num`) REFERENCES `y` (`z`)", "num"),
            ("KEY `price` (`id`)", "CONSTRAINT `c` CHECK (`num` > 1)", "num"),
            ("  `name` varchar(9)", "  `name` bigint GENERATED ALWAYS AS (`num`) VIRTUAL", "num"),
            ("  `name` varchar(9)", "  `at` timestamp NULL ON UPDATE current_timestamp()", "num"),
            ("ENGINE=InnoDB", "ENGINE=MyISAM", "num"),
            ("utf8mb4", "utf8mb4 WITH SYSTEM VERSIONING", "num"),
            ("utf8mb4", "utf8mb4\n PARTITION BY HASH (`id`)", "num"),
            ("CREATE TABLE `seckill`", "CREATE TABLE \"seckill\"", "num"),
            ("", "", "name"),
            ("", "", "nobody"),
        ] {
            assert!(counter_range(&TABLE.replacen(from, to, 1), column).is_err(), "{to} {column}");
        }
    }
}
