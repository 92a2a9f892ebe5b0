use super::*;
use crate::read::testing::Random;

fn sum(texts: &[&str]) -> Decimal {
    let mut sum = Decimal::default();
    for text in texts {
        sum.add(text.as_bytes()).expect("they are decimals");
    }
    sum
}

fn text(value: &Decimal, decimals: usize) -> String {
    String::from_utf8(value.text(decimals)).expect("digits")
}

#[test]
fn sums_are_exact_beyond_128_bits() {
    let nines = "9".repeat(65);
    let cases: [(&[&str], usize, &str); 12] = [
        (&[], 0, "0"),
        (&[], 2, "0.00"),
        (&["1", "2.5", "-0.25"], 2, "3.25"),
        (&["-1", "1"], 0, "0"),
        (&["-0.05", "0.01"], 2, "-0.04"),
        (&["99999999999999999999999999999999999999", "1"], 0, "100000000000000000000000000000000000000"),
        (
            &["170141183460469231731687303715884105727", "170141183460469231731687303715884105727"],
            0,
            "340282366920938463463374607431768211454",
        ),
        (&[&nines, "1"], 0, &format!("1{}", "0".repeat(65))),
        (&[&nines, &format!("-{nines}"), "-7"], 0, "-7"),
        (
            &["99999999999999999999999999999999999", "0.000000000000000000000000000001"],
            30,
            "99999999999999999999999999999999999.000000000000000000000000000001",
        ),
        (&["0.5", "1"], 4, "1.5000"),
        (&["00012", ".5"], 1, "12.5"),
    ];
    for (texts, decimals, expected) in cases {
        assert_eq!(text(&sum(texts), decimals), expected, "{texts:?}");
    }
    let mut wide = sum(&["0.000000000000000000000000000001"]);
    wide.add_integer(u64::MAX.into());
    wide.add_integer(i64::MIN.into());
    assert_eq!(text(&wide, 30), "9223372036854775807.000000000000000000000000000001");
    for bad in ["", "-", "1e5", "1.2.3", "x"] {
        assert!(Decimal::parse(bad.as_bytes()).is_err(), "{bad}");
    }
}

#[test]
fn random_sums_agree_with_small_arithmetic() {
    let mut random = Random::new(5);
    for _ in 0..200 {
        let (mut exact, mut expected) = (Decimal::default(), 0_i128);
        for _ in 0..20 {
            // Of a few digits, and of so many that they take the long way with their scale.
            let value = i128::from(random.next() as i64 >> (random.next() % 60));
            let decimals = (random.next() % 20) as usize;
            let unit = 10_i128.pow(decimals as u32);
            let sign = if value < 0 { "-" } else { "" };
            let (whole, rest) = (value.abs() / unit, value.abs() % unit);
            let shown =
                if decimals == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{rest:0decimals$}") };
            exact.add(shown.as_bytes()).expect("a decimal");
            expected += value * 10_i128.pow(19 - decimals as u32);
        }
        let digits = text(&exact, 19).replace('.', "");
        assert_eq!(digits.parse::<i128>().expect("digits"), expected);
    }
}

#[test]
fn averages_are_cut_and_rounded_as_the_servers_do() {
    let average =
        |texts: &[&str], count, decimals| String::from_utf8(sum(texts).average(count, decimals)).expect("digits");
    assert_eq!(average(&["2"], 3, 4), "0.6667");
    assert_eq!(average(&["-2"], 3, 4), "-0.6667");
    assert_eq!(average(&["1"], 3, 4), "0.3333");
    assert_eq!(average(&["1.00"], 8, 6), "0.125000");
    // Nine digits are one limb of MySQL's: what comes behind is cut off, not rounded.
    assert_eq!(average(&["0.00002"], 3, 9), "0.000006666");
    assert_eq!(average(&["0.00000000000002"], 3, 18), "0.000000000000006666");
    assert_eq!(average(&["0.000002"], 3, 10), "0.0000006667");
}

#[test]
fn decimals_compare_by_value() {
    let ordered = [
        "-100000000000000000000000000000000000000000",
        "-1.5",
        "-1.49",
        "0",
        "0.001",
        "1",
        "1.0001",
        "99999999999999999999999999999999999999999999.5",
    ];
    for (a, left) in ordered.iter().enumerate() {
        for (b, right) in ordered.iter().enumerate() {
            assert_eq!(sum(&[left]).partial_cmp(&sum(&[right])), Some(a.cmp(&b)), "{left} {right}");
        }
    }
    assert_eq!(sum(&["1.50"]), sum(&["1.5"]));
    assert_eq!(sum(&["-0.0"]), sum(&["0"]));
}
