//! From one profile to another.

use super::*;

const LATIN1: Option<&str> = Some("latin1_swedish_ci");

fn set(from: &Profile, to: &Profile) -> Option<String> {
    joined(&from.difference(to, &Profile::default()))
}

fn joined(difference: &Difference) -> Option<String> {
    set_texts(&difference.set, usize::MAX).pop()
}

#[test]
fn an_equal_profile_needs_nothing() {
    let a = Profile::new(Some(b"d"), LATIN1).with_variables([("sql_mode", "ANSI")]);
    let b = Profile::new(Some(b"d"), LATIN1).with_variables([("sql_mode", "ANSI")]);
    assert_eq!(a.difference(&b, &Profile::default()), Difference::default());
}

#[test]
fn a_text_is_prepared_with_the_types_that_its_user_variables_had() {
    let at_prepare = Profile::default().with_user_variables([
        ("i", "-17"),
        ("d", "12."),
        ("f", "1.5e0"),
        ("s", "_utf8mb4'it is' COLLATE utf8mb4_bin"),
        ("u", "CAST(3 AS UNSIGNED)"),
        ("big", "18446744073709551615"),
        ("other", "1"),
        ("n", "NULL"),
    ]);
    let names = ["i", "d", "f", "s", "u", "big", "n", "unset"].map(str::to_owned);
    let parsing = at_prepare.parsing_of(names.clone());
    let other = at_prepare.with_user_variables([("i", "5"), ("s", "_utf8mb4'' COLLATE utf8mb4_bin")]);
    assert_eq!(other.parsing_of(names.clone()), parsing, "values do not count");
    assert_ne!(at_prepare.with_user_variables([("i", "5.0")]).parsing_of(names), parsing);
    let now = Profile::default().with_user_variables([("i", "'a'"), ("s", "7"), ("unset", "8"), ("other", "9")]);
    assert_eq!(set(&now, &now.parsed_as(&parsing)).as_deref(), Some("SET @`i`=0,@`s`=_utf8mb4'' COLLATE utf8mb4_bin"));
}

#[test]
fn numbers_are_bare_strings_are_quoted_and_what_is_unset_goes_to_its_default() {
    let from = Profile::default().with_variables([("sql_select_limit", "5")]);
    let to =
        Profile::default().with_variables([("time_zone", "+02:00"), ("sort_buffer_size", "262144"), ("sql_mode", "")]);
    let expected = "SET @@SESSION.sql_select_limit=DEFAULT,@@SESSION.sort_buffer_size=262144,@@SESSION.sql_mode='',@@SESSION.time_zone='+02:00'";
    assert_eq!(set(&from, &to).as_deref(), Some(expected));
}

#[test]
fn a_collation_is_set_again_when_its_character_set_changes() {
    let from = Profile::default()
        .with_variables([("character_set_connection", "latin1"), ("collation_connection", "utf8mb4_bin")]);
    let to = from.with_variables([("character_set_connection", "utf8mb4")]);
    let expected = "SET @@SESSION.character_set_connection='utf8mb4',@@SESSION.collation_connection='utf8mb4_bin'";
    assert_eq!(set(&from, &to).as_deref(), Some(expected));
}

#[test]
fn a_handshakes_collation_is_set_by_names_and_what_differs_after_it() {
    let latin1 = Profile::new(None, LATIN1);
    let unicode = Profile::new(None, Some("utf8mb4_unicode_ci"));
    let names = "SET NAMES 'utf8mb4' COLLATE 'utf8mb4_unicode_ci'";
    assert_eq!(set(&latin1, &unicode).as_deref(), Some(names));
    assert_eq!(
        set(&unicode, &unicode.with_variables([("sql_mode", "")])).as_deref(),
        Some("SET @@SESSION.sql_mode=''")
    );
    let raw = unicode.with_variables([("character_set_results", ""), ("collation_connection", "utf8mb4_bin")]);
    let expected = format!("{names},@@SESSION.character_set_results=NULL,@@SESSION.collation_connection='utf8mb4_bin'");
    assert_eq!(set(&latin1, &raw), Some(expected));
    let expected = "SET @@SESSION.character_set_results=NULL,@@SESSION.collation_connection='utf8mb4_bin'";
    assert_eq!(set(&unicode, &raw).as_deref(), Some(expected));
    assert_eq!(charset_of("utf8mb4_unicode_ci"), "utf8mb4");
    assert_eq!(charset_of("binary"), "binary");
}

#[test]
fn what_decides_how_a_text_is_read_is_told_in_values_that_can_be_assigned() {
    let profile = Profile::new(None, Some("utf8mb4_general_ci")).with_variables([
        ("character_set_results", ""),
        ("sql_mode", "ANSI"),
        ("time_zone", "+02:00"),
    ]);
    let told: Vec<(String, String)> = profile.parsing_variables().into_iter().collect();
    let expected = [
        ("character_set_client", "utf8mb4"),
        ("character_set_connection", "utf8mb4"),
        ("collation_connection", "utf8mb4_general_ci"),
        ("sql_mode", "ANSI"),
    ];
    assert_eq!(told, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[test]
fn another_sessions_user_variable_needs_a_reset_and_then_everything_again() {
    let wide = Profile::default().with_variables([("collation_connection", "utf16_general_ci")]);
    let mode = wide.with_variables([("sql_mode", "ANSI"), ("sort_buffer_size", "262144")]);
    let expected = "SET @@SESSION.sort_buffer_size=262144,@@SESSION.sql_mode=_utf8mb4'ANSI'";
    assert_eq!(set(&wide, &mode).as_deref(), Some(expected));
    let names = mode.with_variables(["character_set_client", "collation_connection"].map(|name| (name, "utf8mb4_bin")));
    let set_all = set(&wide, &names).unwrap_or_default();
    assert!(set_all.starts_with("SET NAMES 'utf8mb4'") && set_all.contains("sql_mode=_utf8mb4'ANSI'"), "{set_all}");
    let from = Profile::default().with_variables([("sql_mode", "ANSI")]).with_user_variables([("x", "5")]);
    let to = Profile::default().with_variables([("sql_mode", "ANSI")]).with_user_variables([("y", "'a'")]);
    let difference = from.difference(&to, &Profile::default());
    assert!(difference.reset);
    assert_eq!(joined(&difference).as_deref(), Some("SET @@SESSION.sql_mode='ANSI',@`y`='a'"));
}

#[test]
fn what_is_set_is_cut_into_texts_that_a_server_takes() {
    let items: Vec<String> = ["a=1", "b=2", "c='long enough'", "d=4"].map(String::from).into();
    assert_eq!(set_texts(&items, 11), ["SET a=1,b=2", "SET c='long enough'", "SET d=4"]);
    assert_eq!(set_texts(&items, 10), ["SET a=1", "SET b=2", "SET c='long enough'", "SET d=4"]);
    assert_eq!(set_texts(&items, 1000), ["SET a=1,b=2,c='long enough',d=4"]);
    assert!(set_texts(&[], 10).is_empty());
}

#[test]
fn a_database_can_be_changed_but_not_left() {
    let with = Profile::default().with_database(Some(b"a"));
    let other = Profile::default().with_database(Some(b"b"));
    assert_eq!(with.difference(&other, &Profile::default()).database.as_deref(), Some(&b"b"[..]));
    assert!(with.difference(&Profile::default(), &Profile::default()).impossible);
}

#[test]
fn a_null_result_character_set_and_hostile_values() {
    assert_eq!(literal("character_set_results", ""), "NULL");
    assert_eq!(literal("sql_mode", ""), "''");
    assert_eq!(literal("timestamp", "5.000000"), "5.000000");
    assert_eq!(literal("long_query_time", "-"), "'-'");
    assert!(is_replayable("time_zone", "Europe/Berlin"));
    assert!(!is_replayable("time_zone", "a'b"));
    assert!(!is_replayable("a b", "1"));
}

#[test]
fn the_parsing_part_is_put_back_over_the_rest() {
    let at_prepare = Profile::new(Some(b"a"), LATIN1).with_variables([("sql_mode", "ANSI"), ("time_zone", "+01:00")]);
    let now = Profile::new(Some(b"b"), None).with_variables([("time_zone", "+02:00")]);
    let mixed = now.parsed_as(&at_prepare.parsing());
    assert_eq!(mixed.database.as_deref(), Some(&b"a"[..]));
    assert_eq!(mixed.variable("sql_mode"), Some("ANSI"));
    assert_eq!(mixed.variable("time_zone"), Some("+02:00"));
}

#[test]
fn many_items_are_set_in_several_texts() {
    let items: Vec<String> = (0..2500).map(|n| format!("@`v{n}`={n}")).collect();
    let texts = set_texts(&items, usize::MAX);
    assert_eq!(texts.len(), 3);
    let back: Vec<&str> =
        texts.iter().flat_map(|text| text.strip_prefix("SET ").unwrap_or_default().split(',')).collect();
    assert_eq!(back, items);
}

#[test]
fn short_user_variables_take_more_than_their_literals() {
    let profile = Profile::default().with_user_variables([("a", "1"), ("bc", "22")]);
    assert_eq!(profile.user_variable_bytes(), 206);
}
