//! The conditions of consistency (clause 3.3.2 of the specification) that are cheap enough to be looked at after each run: 1 to
//! 4, 8 and 9.

use std::collections::BTreeMap;

use mysql::prelude::Queryable;
use mysql::{Conn, Row};

use super::client::number;
use super::{DISTRICTS, WAREHOUSES};

/// Warehouse and district (0 where it is of a warehouse) to a number.
type Numbers = BTreeMap<(i64, i64), i64>;

/// Condition, what is asked for its two sides, in numbers by warehouse and district. Money is in cents.
const CONDITIONS: [(&str, &str, &str); 6] = [
    (
        "1: a warehouse has what its districts have",
        "SELECT w_id, 0, w_ytd * 100 FROM warehouse",
        "SELECT d_w_id, 0, SUM(d_ytd) * 100 FROM district GROUP BY d_w_id",
    ),
    (
        "2: a district's next order follows its last one",
        "SELECT d_w_id, d_id, d_next_o_id - 1 FROM district",
        "SELECT o_w_id, o_d_id, MAX(o_id) FROM orders GROUP BY o_w_id, o_d_id",
    ),
    (
        "3: new orders have no gaps",
        "SELECT no_w_id, no_d_id, MAX(no_o_id) - MIN(no_o_id) + 1 FROM new_order GROUP BY no_w_id, no_d_id",
        "SELECT no_w_id, no_d_id, COUNT(*) FROM new_order GROUP BY no_w_id, no_d_id",
    ),
    (
        "4: orders have the lines that they say",
        "SELECT o_w_id, o_d_id, SUM(o_ol_cnt) FROM orders GROUP BY o_w_id, o_d_id",
        "SELECT ol_w_id, ol_d_id, COUNT(*) FROM order_line GROUP BY ol_w_id, ol_d_id",
    ),
    (
        "8: a warehouse has what was paid to it",
        "SELECT w_id, 0, w_ytd * 100 FROM warehouse",
        "SELECT h_w_id, 0, SUM(h_amount) * 100 FROM history GROUP BY h_w_id",
    ),
    (
        "9: a district has what was paid to it",
        "SELECT d_w_id, d_id, d_ytd * 100 FROM district",
        "SELECT h_w_id, h_d_id, SUM(h_amount) * 100 FROM history GROUP BY h_w_id, h_d_id",
    ),
];
/// The second part of condition 2: where there are new orders, the last of them is the last order.
const LAST_NEW_ORDER: &str = "SELECT no_w_id, no_d_id, MAX(no_o_id) FROM new_order GROUP BY no_w_id, no_d_id";

/// Looks at the conditions; `None` if all hold.
pub(crate) fn check(connection: &mut Conn) -> Result<Option<String>, mysql::Error> {
    for (name, one, other) in CONDITIONS {
        let (one, other) = (numbers(connection, one)?, numbers(connection, other)?);
        if let Some(difference) = difference(name, &one, &other) {
            return Ok(Some(difference));
        }
        if name.starts_with('2') {
            let newest = numbers(connection, LAST_NEW_ORDER)?;
            let last: Numbers = one.into_iter().filter(|(place, _)| newest.contains_key(place)).collect();
            if let Some(difference) = difference(name, &last, &newest) {
                return Ok(Some(difference));
            }
        }
    }
    let districts = numbers(connection, "SELECT d_w_id, d_id, 1 FROM district")?.len();
    let complete = (WAREHOUSES * DISTRICTS) as usize;
    Ok((districts != complete).then(|| format!("there are {districts} districts, not {complete}")))
}

fn numbers(connection: &mut Conn, query: &str) -> Result<Numbers, mysql::Error> {
    let rows: Vec<Row> = connection.query(query)?;
    // Sums of amounts come as decimals, with zeros behind the point.
    let value = |row: &Row| row.get_opt::<f64, _>(2).and_then(Result::ok).map_or(0, |value| value.round() as i64);
    Ok(rows.iter().map(|row| ((number(row, 0), number(row, 1)), value(row))).collect())
}

fn difference(name: &str, one: &Numbers, other: &Numbers) -> Option<String> {
    let places = one.keys().chain(other.keys());
    let mut wrong = places.filter(|place| one.get(place) != other.get(place));
    wrong.next().map(|place| {
        let (warehouse, district) = place;
        let told = |numbers: &Numbers| numbers.get(place).map_or("nothing".to_owned(), i64::to_string);
        format!("condition {name}: warehouse {warehouse}, district {district}: {} and {}", told(one), told(other))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_told_with_its_place() {
        let one = Numbers::from([((1, 1), 5), ((1, 2), 7)]);
        assert_eq!(difference("x", &one, &one), None);
        let other = Numbers::from([((1, 1), 5), ((1, 2), 8)]);
        let told = difference("4: lines", &one, &other).expect("they differ");
        assert_eq!(told, "condition 4: lines: warehouse 1, district 2: 7 and 8");
        assert!(difference("x", &one, &Numbers::from([((1, 1), 5)])).is_some(), "one lacks a place");
    }
}
