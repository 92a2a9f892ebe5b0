//! Moves of one counter by many members, made by one statement: what each member finds is computed in order.
//!
//! What must always hold: a result is computed only if the server would have computed the same for each member alone: whole numbers and
//! decimals without rounding, within the column's range at each step. Everything else is not computed, and the members run one by one.

use weir_sql::hot_row::Compare;

/// A number with some digits behind the point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number {
    digits: i128,
    scale: u32,
}

/// More digits are not computed with.
const MOST_DIGITS: usize = 30;

impl Number {
    /// Reads `123`, `-1.50`.
    pub fn parse(text: &[u8]) -> Option<Number> {
        let text = std::str::from_utf8(text).ok()?;
        let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = [whole, fraction].concat();
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !plain || digits.len() > MOST_DIGITS {
            return None;
        }
        let value: i128 = digits.parse().ok()?;
        Some(Number { digits: if negative { -value } else { value }, scale: fraction.len() as u32 })
    }

    /// The number in units of the last of so many digits behind the point; `None` if it has more.
    fn in_units(self, scale: u32) -> Option<i128> {
        self.digits.checked_mul(10_i128.checked_pow(scale.checked_sub(self.scale)?)?)
    }
}

/// A move, as a member asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// By how much; always 0 or more.
    pub amount: Number,
    /// Down.
    pub down: bool,
    /// What the counter must be.
    pub guard: Option<(Compare, Number)>,
}

/// What numbers a column takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// Digits behind the point.
    pub scale: u32,
    /// The least, in units of the last digit.
    pub least: i128,
    /// The most.
    pub most: i128,
}

/// What became of the members, and of the counter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// For each member, whether it finds its row.
    pub found: Vec<bool>,
    /// By how much the counter moves, as SQL: with a sign; `None`: not at all.
    pub by: Option<String>,
}

impl Range {
    /// The range of a column by its type, as SHOW CREATE TABLE writes it: `int(11) unsigned`, `decimal(10,2)`.
    pub fn of_type(definition: &str) -> Option<Range> {
        let lower = definition.trim_start().to_ascii_lowercase();
        let (name, rest) = lower.split_at(lower.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(lower.len()));
        let behind = rest.strip_prefix('(').and_then(|rest| Some(rest.split_once(')')?.1)).unwrap_or(rest);
        let unsigned = behind.split_whitespace().next() == Some("unsigned");
        let bits = match name {
            "tinyint" => 8,
            "smallint" => 16,
            "mediumint" => 24,
            "int" => 32,
            "bigint" => 64,
            "decimal" => {
                let inner = lower.split_once('(')?.1.split_once(')')?.0;
                let (precision, scale) = inner.split_once(',').unwrap_or((inner, "0"));
                let (precision, scale): (u32, u32) = (precision.trim().parse().ok()?, scale.trim().parse().ok()?);
                let most = 10_i128.checked_pow(precision).filter(|_| precision as usize <= MOST_DIGITS)? - 1;
                return Some(Range { scale, least: if unsigned { 0 } else { -most }, most });
            }
            _ => return None,
        };
        let (least, most) = match unsigned {
            true => (0, (1_i128 << bits) - 1),
            false => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
        };
        Some(Range { scale: 0, least, most })
    }
}

/// Moves a counter by one step after another. `None`: some step is not certain to be what the server would do.
pub fn moved(value: Number, range: Range, steps: &[Step]) -> Option<Moved> {
    let start = value.in_units(range.scale)?;
    let mut now = start;
    let mut found = Vec::with_capacity(steps.len());
    for step in steps {
        let finds = match &step.guard {
            None => true,
            Some((compare, guard)) => holds(now, range.scale, *compare, *guard)?,
        };
        found.push(finds);
        if !finds {
            continue;
        }
        let amount = step.amount.in_units(range.scale).filter(|amount| *amount > 0)?;
        now = if step.down { now.checked_sub(amount)? } else { now.checked_add(amount)? };
        if now < range.least || now > range.most {
            return None;
        }
    }
    let by = (found.contains(&true)).then(|| shown(now - start, range.scale));
    Some(Moved { found, by })
}

fn holds(now: i128, scale: u32, compare: Compare, guard: Number) -> Option<bool> {
    let common = scale.max(guard.scale);
    let now = Number { digits: now, scale }.in_units(common)?;
    let guard = guard.in_units(common)?;
    Some(match compare {
        Compare::Equal => now == guard,
        Compare::Differs => now != guard,
        Compare::Less => now < guard,
        Compare::AtMost => now <= guard,
        Compare::More => now > guard,
        Compare::AtLeast => now >= guard,
    })
}

fn shown(units: i128, scale: u32) -> String {
    let sign = if units < 0 { '-' } else { '+' };
    let digits = format!("{:0width$}", units.unsigned_abs(), width = scale as usize + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale as usize);
    if fraction.is_empty() { format!("{sign} {whole}") } else { format!("{sign} {whole}.{fraction}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        Number::parse(text.as_bytes()).expect("a number")
    }

    fn step(amount: &str, guard: Option<(Compare, &str)>) -> Step {
        let (down, amount) = amount.strip_prefix('-').map_or((false, amount), |amount| (true, amount));
        Step { amount: number(amount), down, guard: guard.map(|(compare, text)| (compare, number(text))) }
    }

    #[test]
    fn types_have_their_ranges() {
        let range = |text: &str| Range::of_type(text).map(|range| (range.scale, range.least, range.most));
        assert_eq!(range("bigint(20) DEFAULT NULL"), Some((0, i64::MIN.into(), i64::MAX.into())));
        assert_eq!(range("bigint unsigned NOT NULL"), Some((0, 0, u64::MAX.into())));
        assert_eq!(range("tinyint(3) unsigned zerofill"), Some((0, 0, 255)));
        assert_eq!(range("decimal(6,2) NOT NULL"), Some((2, -999_999, 999_999)));
        assert_eq!(range("decimal(5,0) unsigned"), Some((0, 0, 99_999)));
        assert_eq!(range("tinyint(4) DEFAULT 5 COMMENT 'unsigned'"), Some((0, -128, 127)));
        for other in ["float", "double", "varchar(10)", "bit(4)", "decimal(65,30)", "int4range", ""] {
            assert_eq!(range(other), None, "{other}");
        }
    }

    #[test]
    fn each_member_finds_what_those_before_it_have_left() {
        let range = Range::of_type("int").expect("a type");
        let guarded = || step("-3", Some((Compare::AtLeast, "3")));
        let moved = |value, steps: &[Step]| moved(number(value), range, steps).map(|moved| (moved.found, moved.by));
        let by = |text: &str| Some(text.to_owned());
        assert_eq!(moved("7", &[guarded(), guarded(), guarded()]), Some((vec![true, true, false], by("- 6"))));
        assert_eq!(moved("2", &[guarded()]), Some((vec![false], None)));
        assert_eq!(moved("2", &[guarded(), step("5", None), guarded()]), Some((vec![false, true, true], by("+ 2"))));
        assert_eq!(moved("1", &[step("1", None), step("-1", None)]), Some((vec![true, true], by("+ 0"))));
        assert_eq!(moved("5", &[step("-1", Some((Compare::More, "4.5")))]), Some((vec![true], by("- 1"))));
    }

    #[test]
    fn what_would_round_overflow_or_change_nothing_is_not_computed() {
        let unsigned = Range::of_type("tinyint unsigned").expect("a type");
        for (value, steps) in [
            ("1", vec![step("-2", None)]),
            ("254", vec![step("1", None), step("1", None)]),
            // Out of range in between, although not at the end.
            ("0", vec![step("-1", None), step("1", None)]),
            ("5", vec![step("0.5", None)]),
            ("5", vec![step("0", None)]),
        ] {
            assert_eq!(moved(number(value), unsigned, &steps), None, "{value} {steps:?}");
        }
        let money = Range::of_type("decimal(4,2)").expect("a type");
        assert_eq!(
            moved(number("1.00"), money, &[step("-0.5", None)]).and_then(|moved| moved.by).as_deref(),
            Some("- 0.50")
        );
        assert_eq!(moved(number("1.00"), money, &[step("-0.555", None)]), None);
        assert_eq!(Number::parse(b"1e3"), None);
        assert_eq!(Number::parse(b""), None);
    }
}
