use std::cmp::Ordering;

use weir_plan::{Compare, SortKey};

use super::*;
use crate::read::columns::{Column, ColumnKind};
use crate::read::testing::Random;

fn column(kind: ColumnKind) -> Column {
    Column { kind, code: 0, collation: 63, decimals: 0, length: 0, zerofill: false }
}

fn part(kind: ColumnKind, by: Compare, descending: bool, format: Format) -> KeyPart {
    let key = SortKey { column: 0, descending, by };
    KeyPart::new(&key, &[column(kind)], format, &weights()).expect("the column and the collation are there")
}

/// Collations whose spaces have one to four bytes, by that number.
fn weights() -> Rc<Weights> {
    let padded = (1..=4).map(|width| (width.to_string().into(), Space::new(&[0, 0, 0, 0x20][4 - width..])));
    Rc::new(padded.chain([("nopad".into(), None)]).collect())
}

fn key(part: &KeyPart, value: Option<&[u8]>) -> Vec<u8> {
    let (span, mut out) = (Span::new(0, value.map(<[u8]>::len)), Vec::new());
    part.clone().put(value.unwrap_or_default(), &[span], &mut out).expect("the value is one of the type");
    out
}

const INTEGER: ColumnKind = ColumnKind::Integer { width: 8, unsigned: false };

/// Checks that keys compare as the values do: upwards, downwards, and with a part behind them.
fn check<T: AsRef<[u8]>>(
    kind: ColumnKind,
    by: Compare,
    format: Format,
    values: &[T],
    order: impl Fn(&T, &T) -> Ordering,
) {
    let (up, down) = (part(kind, by.clone(), false, format), part(kind, by.clone(), true, format));
    for a in values {
        for b in values {
            let expected = order(a, b);
            let shown = || (String::from_utf8_lossy(a.as_ref()), String::from_utf8_lossy(b.as_ref()));
            let (key_a, key_b) = (key(&up, Some(a.as_ref())), key(&up, Some(b.as_ref())));
            assert_eq!(key_a.cmp(&key_b), expected, "{kind:?} {by:?} {:?}", shown());
            assert!(expected.is_eq() || !key_a.starts_with(&key_b), "one is the beginning of another: {:?}", shown());
            let (down_a, down_b) = (key(&down, Some(a.as_ref())), key(&down, Some(b.as_ref())));
            assert_eq!(down_a.cmp(&down_b), expected.reverse(), "descending {kind:?} {by:?} {:?}", shown());
        }
        assert!(key(&up, None) < key(&up, Some(a.as_ref())) && key(&down, None) > key(&down, Some(a.as_ref())));
    }
}

#[test]
fn integers_compare_as_numbers_in_both_formats() {
    let mut random = Random::new(1);
    let mut values = vec![0, 1, -1, 9, 10, -10, i64::MAX.into(), i64::MIN.into(), u64::MAX.into()];
    values.extend((0..40).map(|_| i128::from(random.next() as i64)));
    values.extend((0..20).map(|_| i128::from(random.next() % 100)));
    let texts: Vec<String> = values.iter().map(i128::to_string).collect();
    check(INTEGER, Compare::Value, Format::Text, &texts, |a, b| {
        a.parse::<i128>().expect("a number").cmp(&b.parse().expect("a number"))
    });
    for (width, unsigned) in
        [(1, false), (1, true), (2, false), (2, true), (4, false), (4, true), (8, false), (8, true)]
    {
        let kind = ColumnKind::Integer { width, unsigned };
        let values: Vec<Vec<u8>> = values.iter().map(|v| v.to_le_bytes()[..usize::from(width)].to_vec()).collect();
        let number = |bytes: &[u8]| {
            let negative = !unsigned && bytes[bytes.len() - 1] >= 0x80;
            let mut wide = [if negative { 0xff } else { 0 }; 16];
            wide[..bytes.len()].copy_from_slice(bytes);
            i128::from_le_bytes(wide)
        };
        check(kind, Compare::Value, Format::Binary, &values, |a, b| number(a).cmp(&number(b)));
    }
    assert_eq!(
        key(&part(INTEGER, Compare::Value, false, Format::Text), Some(b"00012")),
        key(&part(INTEGER, Compare::Value, false, Format::Text), Some(b"12")),
        "ZEROFILL"
    );
}

/// Compares by lengths and digits, after giving both as many digits.
fn compare_decimals(a: &str, b: &str) -> Ordering {
    let split = |text: &str| {
        let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let digits = format!("{whole:0>100}{fraction:0<100}");
        let zero = digits.bytes().all(|digit| digit == b'0');
        (negative && !zero, digits)
    };
    match (split(a), split(b)) {
        ((false, a), (false, b)) => a.cmp(&b),
        ((true, a), (true, b)) => b.cmp(&a),
        ((negative, _), _) => {
            if negative {
                Ordering::Less
            } else {
                Ordering::Greater
            }
        }
    }
}

#[test]
fn decimals_compare_exactly_whatever_their_length() {
    let mut random = Random::new(2);
    let mut values: Vec<String> =
        ["0", "-0", "0.0", "0.00", "1", "1.0", "-1", "10", "0.1", "0.10", "0.01", "-0.01", "100", "99.999", ".5"]
            .map(str::to_owned)
            .to_vec();
    for _ in 0..60 {
        let mut digits = |most: u64| {
            (0..random.next() % most).map(|_| char::from(b'0' + (random.next() % 3) as u8)).collect::<String>()
        };
        let (whole, fraction) = (digits(40), digits(30));
        let point = if fraction.is_empty() { "" } else { "." };
        let sign = if random.next().is_multiple_of(2) { "-" } else { "" };
        values.push(format!("{sign}0{whole}{point}{fraction}"));
    }
    check(ColumnKind::Decimal, Compare::Value, Format::Text, &values, |a, b| compare_decimals(a, b));
}

#[test]
fn approximate_numbers_compare_by_value() {
    let values = [0.0, -0.0, 1.0, -1.0, 1e300, -1e300, 1e-300, 0.1, 123.456, f64::MAX, f64::MIN, f64::MIN_POSITIVE];
    let texts: Vec<String> = values.iter().map(f64::to_string).collect();
    let number = |text: &String| text.parse::<f64>().expect("a number");
    check(ColumnKind::Double, Compare::Value, Format::Text, &texts, |a, b| {
        number(a).partial_cmp(&number(b)).expect("they compare")
    });
    let doubles: Vec<_> = values.iter().map(|value| value.to_le_bytes()).collect();
    check(ColumnKind::Double, Compare::Value, Format::Binary, &doubles, |a, b| {
        f64::from_le_bytes(*a).partial_cmp(&f64::from_le_bytes(*b)).expect("they compare")
    });
    let floats: Vec<_> = values.iter().map(|value| (value.clamp(-1e30, 1e30) as f32).to_le_bytes()).collect();
    check(ColumnKind::Float, Compare::Value, Format::Binary, &floats, |a, b| {
        f32::from_le_bytes(*a).partial_cmp(&f32::from_le_bytes(*b)).expect("they compare")
    });
}

#[test]
fn dates_and_times_compare_by_time() {
    let dates = [
        "0000-00-00",
        "1999-12-31",
        "2024-02-29",
        "2024-02-29 00:00:01",
        "2024-02-29 00:00:01.5",
        "2024-02-29 00:00:01.500001",
        "2024-02-29 12:00:00",
        "9999-12-31 23:59:59.999999",
    ];
    let place = |of: &&str| dates.iter().position(|date| date == of);
    check(ColumnKind::Date, Compare::Value, Format::Text, &dates, |a, b| place(a).cmp(&place(b)));
    let binary: [&[u8]; 5] = [
        &[],
        &[0xcf, 7, 12, 31],
        &[0xe8, 7, 2, 29],
        &[0xe8, 7, 2, 29, 0, 0, 1],
        &[0xe8, 7, 2, 29, 0, 0, 1, 0x20, 0xa1, 7, 0],
    ];
    let place = |of: &&[u8]| binary.iter().position(|date| date == of);
    check(ColumnKind::Date, Compare::Value, Format::Binary, &binary, |a, b| place(a).cmp(&place(b)));
    let times = [
        "-838:59:59.000001",
        "-838:59:59",
        "-00:00:01.5",
        "-00:00:01",
        "-00:00:00.5",
        "00:00:00",
        "00:00:00.5",
        "00:00:01",
        "01:00:00",
        "99:59:59",
        "100:00:00",
        "838:59:59",
    ];
    let place = |of: &&str| times.iter().position(|time| time == of);
    check(ColumnKind::Time, Compare::Value, Format::Text, &times, |a, b| place(a).cmp(&place(b)));
    let binary: [&[u8]; 6] = [
        &[1, 34, 0, 0, 0, 22, 59, 59],
        &[1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0],
        &[1, 0, 0, 0, 0, 0, 0, 1],
        &[],
        &[0, 0, 0, 0, 0, 0, 0, 1],
        &[0, 4, 0, 0, 0, 4, 0, 0, 1, 0, 0, 0],
    ];
    let place = |of: &&[u8]| binary.iter().position(|time| time == of);
    check(ColumnKind::Time, Compare::Value, Format::Binary, &binary, |a, b| place(a).cmp(&place(b)));
}

/// Strings of few different bytes, among them 0, spaces and what lies around.
fn strings(random: &mut Random, unit: usize) -> Vec<Vec<u8>> {
    let mut values: Vec<Vec<u8>> = vec![vec![]];
    for _ in 0..120 {
        let units = random.next() % 20;
        let mut value = Vec::new();
        for _ in 0..units {
            let byte = [0, 0x1f, 0x20, 0x20, 0x20, 0x21, 0xff][(random.next() % 7) as usize];
            value.extend(std::iter::repeat_n(0, unit - 1).chain([byte]));
        }
        values.push(value);
    }
    values
}

#[test]
fn binary_strings_compare_byte_by_byte() {
    let values = strings(&mut Random::new(3), 1);
    check(ColumnKind::Bytes, Compare::Weights { collation: "nopad".to_owned() }, Format::Text, &values, Ord::cmp);
    check(ColumnKind::Bytes, Compare::Bytes, Format::Text, &values, Ord::cmp);
    check(ColumnKind::Bytes, Compare::Value, Format::Binary, &values, Ord::cmp);
}

#[test]
fn padded_strings_compare_as_if_continued_with_spaces() {
    for width in [1_usize, 2, 3, 4] {
        let values = strings(&mut Random::new(4), width);
        let by = Compare::Weights { collation: width.to_string() };
        let padded = |value: &Vec<u8>| {
            let mut value = value.clone();
            while value.len() < 100 * width {
                value.extend(std::iter::repeat_n(0, width - 1).chain([0x20]));
            }
            value
        };
        check(ColumnKind::Bytes, by, Format::Text, &values, |a, b| padded(a).cmp(&padded(b)));
    }
}

#[test]
fn a_part_behind_decides_where_the_first_is_equal() {
    let columns = [column(ColumnKind::Bytes), column(INTEGER)];
    let keys = [(0, Compare::Bytes, true), (1, Compare::Value, false)];
    let mut parts = keys.map(|(column, by, descending)| {
        KeyPart::new(&SortKey { column, descending, by }, &columns, Format::Text, &weights())
            .expect("the columns are there")
    });
    let rows: [&[u8]; 5] = [b"\x02ab\x011", b"\x02ab\x019", b"\x01a\x0210", b"\x00\x012", b"\xfb\x011"];
    let keys: Vec<Vec<u8>> = rows
        .iter()
        .map(|row| {
            let (mut spans, mut out) = (Vec::new(), Vec::new());
            crate::read::row::locate(Format::Text, &[], 2, row, &mut spans).expect("it is well formed");
            encode(&mut parts, row, &spans, &mut out).expect("they are values of the types");
            out
        })
        .collect();
    assert!(keys.is_sorted(), "{keys:?}");
}

#[test]
fn what_is_no_value_of_the_type_is_malformed() {
    for (kind, format, value) in [
        (INTEGER, Format::Text, &b"12a"[..]),
        (INTEGER, Format::Text, b""),
        (INTEGER, Format::Text, b"99999999999999999999"),
        (INTEGER, Format::Binary, b"1234"),
        (ColumnKind::Decimal, Format::Text, b"1e5"),
        (ColumnKind::Double, Format::Text, b"x"),
        (ColumnKind::Date, Format::Text, b"2024-01"),
        (ColumnKind::Date, Format::Binary, b"123"),
        (ColumnKind::Time, Format::Text, b"1:2"),
    ] {
        let mut part = part(kind, Compare::Value, false, format);
        let span = Span::new(0, Some(value.len()));
        assert!(part.put(value, &[span], &mut Vec::new()).is_err(), "{kind:?} {value:?}");
    }
}

#[test]
fn a_row_says_by_its_collation_how_it_compares() {
    let columns = [column(ColumnKind::Bytes); 3];
    let key = SortKey { column: 0, descending: false, by: Compare::ByCollation { weight: 1, collation: 2 } };
    let made = |collation: &str, value: &str, weight: &str| {
        let row = format!("{value}{weight}{collation}");
        let ends = [value.len(), value.len() + weight.len(), row.len()];
        let spans =
            [(0, ends[0]), (ends[0], ends[1]), (ends[1], ends[2])].map(|(at, end)| Span::new(at, Some(end - at)));
        let mut part = KeyPart::new(&key, &columns, Format::Text, &weights()).ok()?;
        let mut out = Vec::new();
        part.put(row.as_bytes(), &spans, &mut out).map(|()| out).ok()
    };
    assert_eq!(made("1", "a", "A"), made("1", "b ", "A  "), "weights compare, padded");
    assert!(made("nopad", "a", "A") < made("nopad", "A", "A "));
    assert!(made("binary", "a", "2") < made("binary", "b", "1"), "values compare");
    assert!(made("unheard_of", "a", "a").is_none());
}
