//! Constants in all spellings, at random: near the ends of types' ranges, and where spellings of one value differ.

use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use weir_catalog::Constant;

/// A constant and how it is written.
pub(crate) type Written = (String, Constant);

pub(crate) fn text(value: &str) -> Written {
    let constant = Constant::Text {
        bytes: value.as_bytes().to_vec(),
        collation: "utf8mb4_general_ci".to_owned(),
        explicit: false,
    };
    (format!("'{}'", value.replace('\\', "\\\\").replace('\'', "''")), constant)
}

pub(crate) fn integer(value: i128) -> Written {
    // Beyond 64 bits a literal is a decimal to the servers; the planner says Integer for all that is written without a point.
    (value.to_string(), Constant::Integer(value))
}

fn decimal(value: &str) -> Written {
    (value.to_owned(), Constant::Decimal(value.to_owned()))
}

fn float(value: f64) -> Written {
    (format!("{value:e}"), Constant::Float(value))
}

fn binary(value: &[u8]) -> Written {
    let hex: String = value.iter().map(|byte| format!("{byte:02X}")).collect();
    (format!("x'{hex}'"), Constant::Binary(value.to_vec()))
}

pub(crate) fn number_of(random: &mut StdRng) -> Written {
    let near: [i128; 10] = [0, 5, 127, 255, 1 << 31, 1 << 32, 1 << 53, 1 << 63, 1 << 64, 2024];
    let base = *near.choose(random).expect("some") * [1, 1, -1].choose(random).expect("some");
    let value = base + random.random_range(-3..=3);
    let fraction =
        *["0", "00", "4", "5", "50", "49", "05", "995", "000000000000000000000001"].choose(random).expect("some");
    let sign = if value < 0 { "" } else { *["", "+"].choose(random).expect("some") };
    match random.random_range(0..12) {
        0..3 => integer(value),
        3..5 => decimal(&format!("{value}.{fraction}")),
        5 => float(value as f64),
        6 => float(value as f64 + 0.5),
        7 => text(&format!("{sign}{value}")),
        8 => text(&format!("{sign}{value}.{fraction}")),
        9 => text(&format!("{value}{}", *["abc", " ", "e0", "e1", "x", "-"].choose(random).expect("some"))),
        10 => text(&format!("{}{value}", *[" ", "0", "00", "x"].choose(random).expect("some"))),
        _ => binary(value.to_string().as_bytes()),
    }
}

pub(crate) fn date_of(random: &mut StdRng) -> Written {
    let year = *["2024", "2023", "24", "0000", "1999", "02024"].choose(random).expect("some");
    let month = *["1", "01", "2", "02", "12", "13", "00"].choose(random).expect("some");
    let day = *["1", "01", "28", "29", "30", "31", "00"].choose(random).expect("some");
    let delimiter = *["-", "-", "-", "-", "/", ".", ""].choose(random).expect("some");
    let time = *[
        "",
        "",
        "",
        " 00:00:00",
        " 0:0:0",
        "T00:00:00",
        " 12:34:56",
        " 12:34:56.5",
        " 12:34:56.500000",
        " 24:00:00",
        " 12:34",
        " ",
    ]
    .choose(random)
    .expect("some");
    let date = format!("{year}{delimiter}{month}{delimiter}{day}{time}");
    match random.random_range(0..8) {
        0 => {
            let digits = date.replace(delimiter, "");
            digits.parse().map(integer).unwrap_or_else(|_| text(&date))
        }
        1 if time.is_empty() && delimiter == "-" && year == "2024" => {
            let day = if day == "00" || day == "30" || day == "31" { "01" } else { day };
            let month = if month == "13" || month == "00" { "01" } else { month };
            let date = format!("{year}-{month}-{day}");
            (format!("DATE'{date}'"), Constant::Temporal(date))
        }
        _ => text(&date),
    }
}

pub(crate) fn time_of(random: &mut StdRng) -> Written {
    let hours = *["0", "00", "12", "23", "24", "100", "838", "839", "-12", "-0"].choose(random).expect("some");
    let minutes = *["0", "00", "34", "59", "60"].choose(random).expect("some");
    let seconds = *["0", "00", "56", "60"].choose(random).expect("some");
    let rest = *["", "", "", ".5", ".50", ".000", ".123456", ".1234567"].choose(random).expect("some");
    match random.random_range(0..6) {
        0 => text(&format!("{hours}:{minutes}{rest}")),
        1 => number_of(random),
        _ => text(&format!("{hours}:{minutes}:{seconds}{rest}")),
    }
}

pub(crate) fn bytes_of(random: &mut StdRng) -> Written {
    let alphabet: [&[u8]; 6] = [b"a", b"A", b"\0", b" ", b"5", b"\xff"];
    let length = random.random_range(0..4);
    let bytes: Vec<u8> = (0..length).flat_map(|_| alphabet.choose(random).expect("some").to_vec()).collect();
    match std::str::from_utf8(&bytes).ok().filter(|text| !text.contains('\0')) {
        Some(value) if random.random() => text(value),
        _ => binary(&bytes),
    }
}

const LETTERS: [&str; 46] = [
    "a", "A", "b", "B", "z", "ä", "Ä", "á", "ß", "s", "S", "ſ", "æ", "e", "E", "é", "ø", "o", "ñ", "n", "ı", "i", "I",
    "İ", "Ω", "ω", "я", "Я", "й", "и", "\u{306}", "\u{301}", "\u{200d}", "\u{a0}", " ", " ", "\t", "1", "１", "²", "2",
    "日", "か", "カ", "😀", "5",
];

pub(crate) fn letters_of(random: &mut StdRng) -> Written {
    let length = random.random_range(0..4);
    let value: String = (0..length).map(|_| *LETTERS.choose(random).expect("some")).collect();
    match random.random_range(0..20) {
        0 => number_of(random),
        1 => binary(value.as_bytes()),
        _ => text(&value),
    }
}
