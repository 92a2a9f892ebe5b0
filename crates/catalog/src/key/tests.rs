//! Tables of constants and where they are.

mod parts;

use std::collections::BTreeMap;

use super::*;
use crate::placement::{Placement, SLOTS, SlotMap};
use crate::table::{Column, ColumnType};
use crate::weights::CollationWeights;

fn column_type(full: &str) -> ColumnType {
    let (text, collation) =
        full.split_once(" collate ").map_or((full, None), |(text, name)| (text, Some(name.to_owned())));
    let base: String = text.chars().take_while(|char| char.is_ascii_alphabetic()).collect();
    let numbers: Vec<u64> =
        text.split(|char: char| !char.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect();
    let temporal = matches!(&*base, "datetime" | "time");
    ColumnType {
        unsigned: text.contains("unsigned"),
        length: numbers.first().copied().filter(|_| !temporal),
        scale: if temporal { numbers.first() } else { numbers.get(1) }.map(|scale| *scale as u32),
        base,
        full: text.to_owned(),
        collation,
    }
}

/// A database over as many shards as there are slots, so that shards are slots.
fn database() -> Database {
    Database {
        shards: (0..SLOTS as u16).map(ShardId).collect(),
        slots: SlotMap((0..SLOTS as u16).map(ShardId).collect()),
        tables: BTreeMap::new(),
        views: BTreeMap::new(),
        default_single: false,
    }
}

fn table(types: &[&str], method: Method) -> Table {
    let column = |(place, full): (usize, &&str)| Column {
        name: format!("c{place}"),
        kind: column_type(full),
        nullable: true,
        default: None,
        generated: false,
        required: false,
        invisible: false,
    };
    Table {
        placement: Placement::Sharded(ShardKey { columns: (0..types.len()).collect(), method }),
        columns: types.iter().enumerate().map(column).collect(),
        primary_key: Vec::new(),
        unique_keys: Vec::new(),
        odd_unique: Vec::new(),
        unchecked: Vec::new(),
        foreign_keys: Vec::new(),
        triggers: false,
        auto_increment: None,
        clause: String::new(),
        hot_merge: false,
        by_default: false,
    }
}

fn text(text: &str) -> Constant {
    Constant::Text { bytes: text.as_bytes().to_vec(), collation: "utf8mb4_general_ci".to_owned(), explicit: false }
}

fn decimal(text: &str) -> Constant {
    Constant::Decimal(text.to_owned())
}

fn weights() -> Weights {
    let mut of: std::collections::HashMap<char, Box<[u8]>> = std::collections::HashMap::new();
    for char in ' '..='~' {
        of.insert(char, Box::new([char.to_ascii_uppercase() as u8]));
    }
    of.insert('\u{200d}', Box::new([]));
    let learnt = |pad| CollationWeights { pad, space: b" ".to_vec(), of: of.clone() };
    Weights::default().with("utf8mb4_general_ci", learnt(true)).with("utf8mb4_0900_ai_ci", learnt(false))
}

fn compare(kind: &str, constant: Constant) -> Located {
    locate(&database(), &table(&[kind], Method::Hash), &[constant], &weights())
}

fn store(kind: &str, constant: Constant) -> Located {
    locate_stored(&database(), &table(&[kind], Method::Hash), &[constant], &weights())
}

fn slot(located: Located) -> u16 {
    match located {
        Located::Shard(shard) => shard.0,
        other => panic!("{other:?}"),
    }
}

/// These never change: rows of all who use Weir are where they say.
#[test]
fn the_slots_of_values_are_for_ever() {
    let cases = [
        ("int", Constant::Integer(0), GOLDEN[0]),
        ("int", Constant::Integer(1), GOLDEN[1]),
        ("bigint", Constant::Integer(-1), GOLDEN[2]),
        ("bigint unsigned", Constant::Integer(u64::MAX.into()), GOLDEN[3]),
        ("decimal(30,10)", decimal("-12.3400"), GOLDEN[4]),
        ("decimal(30,10)", decimal("12345678901234567890.5"), GOLDEN[5]),
        ("varchar(20) collate utf8mb4_bin", text("abc"), GOLDEN[6]),
        ("varchar(20) collate utf8mb4_bin", text(""), GOLDEN[7]),
        ("varbinary(20)", Constant::Binary(vec![0, 255]), GOLDEN[8]),
        ("date", text("2024-02-29"), GOLDEN[9]),
        ("datetime(6)", text("2024-02-29 12:34:56.789"), GOLDEN[10]),
        ("time", text("-12:34:56"), GOLDEN[11]),
        ("year", Constant::Integer(2024), GOLDEN[12]),
    ];
    let found: Vec<u16> = cases.iter().map(|(kind, constant, _)| slot(store(kind, constant.clone()))).collect();
    assert_eq!(found, cases.iter().map(|case| case.2).collect::<Vec<_>>());
    assert_eq!(slot(store("int", Constant::Null)), GOLDEN[13]);
    let pair = table(&["int", "varchar(5) collate utf8mb4_bin"], Method::Hash);
    let values = [Constant::Integer(7), text("x")];
    assert_eq!(slot(locate(&database(), &pair, &values, &weights())), GOLDEN[14]);
}

const GOLDEN: [u16; 15] = [3068, 4074, 2297, 2559, 1573, 1173, 3406, 1643, 2794, 3838, 2992, 1972, 814, 2960, 846];

#[test]
fn bytes_are_stored_as_characters_of_the_column() {
    let stored = |bytes: &[u8]| {
        let constant = Constant::Text { bytes: bytes.to_vec(), collation: "binary".to_owned(), explicit: false };
        store("varchar(20) collate utf8mb4_bin", constant)
    };
    assert_eq!(slot(stored(b"abc")), GOLDEN[6]);
    assert_eq!(slot(stored("ü".as_bytes())), slot(store("varchar(20) collate utf8mb4_bin", text("ü"))));
    assert!(!matches!(stored(b"\xfc"), Located::Shard(_)), "{:?}", stored(b"\xfc"));
}

#[test]
fn hashes_spread_over_the_slots() {
    let mut counts = vec![0u32; SLOTS];
    let (database, table, weights) = (database(), table(&["bigint"], Method::Hash), weights());
    for id in 0..SLOTS as i128 * 16 {
        counts[usize::from(slot(locate(&database, &table, &[Constant::Integer(id)], &weights)))] += 1;
    }
    // Sixteen each on average; of a good hash hardly one slot is empty or has three times as many.
    let (least, most) = (counts.iter().min().copied(), counts.iter().max().copied());
    assert!(least >= Some(1) && most <= Some(48), "{least:?} {most:?}");
}

#[test]
fn integers_are_one_key_in_all_spellings() {
    let five = compare("int", Constant::Integer(5));
    for kind in ["tinyint", "int", "bigint unsigned", "decimal(10,2)", "bit(8)"] {
        assert_eq!(compare(kind, Constant::Integer(5)), five, "{kind}");
    }
    for same in [decimal("5.0"), decimal("05.00"), Constant::Float(5.0), text("5"), text("+5.0"), text("005")] {
        assert_eq!(compare("int", same.clone()), five, "{same:?}");
    }
    assert_ne!(compare("int", Constant::Integer(-5)), five);
    assert_eq!(compare("int", text("-0")), compare("int", Constant::Integer(0)));
}

#[test]
fn what_servers_compare_loosely_is_on_any_shard() {
    let bin = "varchar(9) collate utf8mb4_bin";
    let other = Constant::Text { bytes: b"a".to_vec(), collation: "utf8mb4_general_ci".to_owned(), explicit: true };
    let wide = |text: &[u8]| Constant::Text {
        bytes: text.iter().flat_map(|byte| [0, *byte]).collect(),
        collation: "utf16_bin".to_owned(),
        explicit: false,
    };
    for (kind, narrow) in [(bin, "a"), ("int", "5"), ("date", "2024-01-02")] {
        assert_eq!(compare(kind, wide(narrow.as_bytes())), compare(kind, text(narrow)), "{kind}");
    }
    assert_eq!(
        compare("varbinary(9)", wide(b"a")),
        compare("varbinary(9)", Constant::Binary(b"\0a".to_vec())),
        "it is compared as it is"
    );
    let sjis = Constant::Text { bytes: b"a".to_vec(), collation: "sjis_bin".to_owned(), explicit: false };
    let cases = [
        ("int", text("5abc")),
        ("int", text(" 5")),
        ("int", text("5e0")),
        ("int", text("5.4")),
        ("int", text("")),
        ("bigint", text("9007199254740993")),
        ("bigint", Constant::Float(9007199254740992.0)),
        ("bigint", Constant::Float(f64::NAN)),
        ("int", Constant::Binary(b"5".to_vec())),
        ("int", Constant::Temporal("2024-01-02".to_owned())),
        ("decimal(20,2)", text("1.5")),
        ("decimal(10,2)", Constant::Float(1.5)),
        ("year", Constant::Integer(24)),
        ("date", text("24-01-02")),
        ("date", text("2024-02-30")),
        ("date", text("0000-02-29")),
        ("date", text("2024-00-00")),
        ("date", text("2024-01-02 10:00:00")),
        ("date", Constant::Integer(20_240_102)),
        ("datetime", text("2024-01-02 10:00:00+01:00")),
        ("time", text("10")),
        ("time", text("-0:0:00.123456")),
        ("time(6)", text("-0:0:00.123456")),
        (bin, Constant::Integer(5)),
        (bin, Constant::Float(5.0)),
        (bin, Constant::Temporal("2024-01-02".to_owned())),
        (bin, other),
        (bin, sjis),
        ("varchar(9) collate latin1_bin", text("日")),
        ("varbinary(9)", Constant::Integer(5)),
    ];
    for (kind, constant) in cases {
        assert_eq!(compare(kind, constant.clone()), Located::Unsure, "{kind} {constant:?}");
    }
}

#[test]
fn what_nothing_equals_is_nowhere() {
    for (kind, constant) in [
        ("int", decimal("5.5")),
        ("int", Constant::Float(5.5)),
        ("int", Constant::Null),
        ("varchar(5) collate utf8mb4_bin", Constant::Null),
    ] {
        assert_eq!(compare(kind, constant.clone()), Located::Nowhere, "{kind} {constant:?}");
    }
}

#[test]
fn nulls_have_a_slot() {
    let (database, table) = (database(), table(&["int", "date"], Method::Hash));
    let values = [Constant::Null, text("2024-01-02")];
    let stored = locate_stored(&database, &table, &values, &weights());
    assert_eq!(locate_null_safe(&database, &table, &values, &weights()), stored);
    assert!(matches!(stored, Located::Shard(_)));
    assert_eq!(locate(&database, &table, &values, &weights()), Located::Nowhere);
}

#[test]
fn is_null_finds_zero_dates_and_the_last_insert_id_too() {
    let mut dates = table(&["date"], Method::Hash);
    dates.columns[0].nullable = false;
    let mut ids = table(&["int"], Method::Hash);
    ids.auto_increment = Some(0);
    for table in [dates, ids] {
        assert_eq!(locate_null_safe(&database(), &table, &[Constant::Null], &weights()), Located::Unsure);
    }
}

#[test]
fn stored_values_are_converted_first() {
    let bin = "varchar(5) collate utf8mb4_bin";
    let same = [
        ("int", text("5"), Constant::Integer(5)),
        ("int", decimal("5.4"), Constant::Integer(5)),
        ("int", decimal("5.5"), Constant::Integer(6)),
        ("int", decimal("-5.5"), Constant::Integer(-6)),
        ("int", Constant::Float(5.4), Constant::Integer(5)),
        ("int", Constant::Float(-5.6), Constant::Integer(-6)),
        ("decimal(5,2)", text("1.005"), decimal("1.01")),
        ("decimal(5,2)", decimal("9.999"), Constant::Integer(10)),
        ("decimal(5,2)", decimal("-0.001"), Constant::Integer(0)),
        ("date", text("2024-1-2"), text("2024-01-02")),
        ("date", text("2024-01-02 00:00:00"), text("2024-01-02")),
        ("datetime", text("2024-01-02"), Constant::Temporal("2024-01-02 00:00:00.000000".to_owned())),
        ("time(1)", text("1:02:03.5"), text("01:02:03.500")),
        (bin, Constant::Integer(15), text("15")),
        ("char(5) collate utf8mb4_bin", text("a  "), text("a")),
        ("binary(3)", Constant::Binary(vec![1]), Constant::Binary(vec![1, 0, 0])),
        ("year", text("2024"), Constant::Integer(2024)),
    ];
    for (kind, given, kept) in same {
        assert_eq!(slot(store(kind, given.clone())), slot(compare(kind, kept)), "{kind} {given:?}");
    }
    let unsure = [
        ("tinyint", Constant::Integer(128)),
        ("tinyint unsigned", Constant::Integer(-1)),
        ("bigint unsigned", Constant::Integer(1 << 64)),
        ("int", text("5.0")),
        ("int", text("5 ")),
        ("int", Constant::Float(2.5)),
        ("int", Constant::Binary(b"5".to_vec())),
        ("decimal(5,2)", decimal("1000")),
        ("decimal(5,2)", decimal("999.995")),
        ("decimal(5,2)", Constant::Float(1.5)),
        ("decimal(5,2) unsigned", decimal("-1")),
        ("datetime", text("2024-01-02 01:02:03.5")),
        ("date", text("2024-01-02 01:02:03")),
        ("year", Constant::Integer(0)),
        (bin, text("abcdef")),
        (bin, Constant::Float(1.5)),
        (bin, decimal("1.50")),
        ("varbinary(2)", Constant::Binary(vec![1, 2, 3])),
        ("bit(3)", Constant::Integer(8)),
    ];
    for (kind, constant) in unsure {
        assert_eq!(store(kind, constant.clone()), Located::Unsure, "{kind} {constant:?}");
    }
}

#[test]
fn texts_are_their_weights() {
    let general = "varchar(9) collate utf8mb4_general_ci";
    let nine = "varchar(9) collate utf8mb4_0900_ai_ci";
    assert_eq!(compare(general, text("abc")), compare(general, text("ABC  ")));
    assert_eq!(compare(general, text("a\u{200d}b")), compare(general, text("AB")));
    assert_eq!(compare(nine, text("abc")), compare(nine, text("ABC")));
    assert_ne!(compare(nine, text("abc")), compare(nine, text("abc ")));
    let char = "char(9) collate utf8mb4_0900_ai_ci";
    assert_eq!(compare(char, text("abc")), compare(char, text("abc ")), "PAD_CHAR_TO_FULL_LENGTH");
    let needs = |chars: &[char]| Located::NeedsWeights("utf8mb4_general_ci".to_owned(), chars.to_vec());
    assert_eq!(compare(general, text("aüxéü")), needs(&['é', 'ü']));
    let unknown = "varchar(9) collate latin1_swedish_ci";
    let none = Located::NeedsWeights("latin1_swedish_ci".to_owned(), vec!['a']);
    assert_eq!(compare(unknown, text("aa")), none);
    let bin = "varchar(9) collate latin1_bin";
    let latin = Constant::Text { bytes: vec![0x80], collation: "latin1_swedish_ci".to_owned(), explicit: false };
    assert_eq!(slot(compare(bin, latin)), slot(compare(bin, text("€"))));
    assert_eq!(slot(compare(bin, Constant::Binary(vec![0x80]))), slot(compare(bin, text("€"))));
}
