//! Values of the population that several tables or transactions share.

use super::random::Random;

/// The syllables of last names.
const SYLLABLES: [&str; 10] = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
/// What a tenth of the items and of the stock has in its data.
const ORIGINAL: &str = "ORIGINAL";
/// The two kinds of credit.
pub(super) const GOOD: &str = "GC";
pub(super) const BAD: &str = "BC";

/// The last name of a number from 0 to 999: a syllable for each of its digits.
pub(super) fn last_name(number: u32) -> String {
    [number / 100 % 10, number / 10 % 10, number % 10].map(|digit| SYLLABLES[digit as usize]).concat()
}

/// Data of an item or of stock.
pub(super) fn data(random: &mut Random) -> String {
    let text = random.letters(26, 50);
    if !random.in_percent(10) {
        return text;
    }
    let room = text.len() - ORIGINAL.len();
    let place = random.uniform(0, u32::try_from(room).expect("50 letters at most")) as usize;
    format!("{}{ORIGINAL}{}", &text[..place], &text[place + ORIGINAL.len()..])
}

/// Street, second street, city, state and zip code, as SQL.
pub(super) fn address(random: &mut Random) -> String {
    let lines = [random.letters(10, 20), random.letters(10, 20), random.letters(10, 20), random.letters(2, 2)];
    format!("'{}','{}11111'", lines.join("','"), random.digits(4))
}

/// An amount of cents as SQL writes it.
pub(super) fn money(cents: u32) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}

/// A rate from 0 to 0.2, of tax.
pub(super) fn tax(random: &mut Random) -> String {
    format!("0.{:04}", random.uniform(0, 2_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_names_are_made_of_a_syllable_for_each_digit() {
        assert_eq!(last_name(371), "PRICALLYOUGHT");
        assert_eq!(last_name(40), "BARPRESBAR");
        assert_eq!(last_name(999), "EINGEINGEING");
    }

    #[test]
    fn a_tenth_of_the_data_is_original_and_no_longer_for_that() {
        let mut random = Random::new(4);
        let all: Vec<String> = (0..5_000).map(|_| data(&mut random)).collect();
        assert!(all.iter().all(|text| (26..=50).contains(&text.len())));
        let original = all.iter().filter(|text| text.contains(ORIGINAL)).count();
        assert!((400..600).contains(&original), "{original}");
    }

    #[test]
    fn cents_are_two_digits() {
        assert_eq!([5, 100, 123_456].map(money), ["0.05", "1.00", "1234.56"]);
    }
}
