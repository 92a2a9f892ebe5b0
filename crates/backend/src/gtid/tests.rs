use super::*;

const A: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
const B: &str = "4e11fa47-71ca-11e1-9e33-c80aa9429562";

fn mysql(text: &str) -> Position {
    Position::parse(false, &text.replace('A', A).replace('B', B)).expect("a position")
}

fn mariadb(text: &str) -> Position {
    Position::parse(true, text).expect("a position")
}

#[test]
fn a_set_covers_what_is_in_it() {
    let cases = [
        ("A:1-5", "A:3", true),
        ("A:1-5", "A:1-5", true),
        ("A:1-5", "A:6", false),
        ("A:1-5:7-9", "A:4-8", false),
        ("A:1-5:7-9", "A:2:8", true),
        ("A:1-5", "B:1", false),
        ("A:1-5,B:1-2", "B:1,A:5", true),
        ("A:1-5", "", true),
        ("", "A:1", false),
        ("A:1-5", "A:tag:1", false),
        ("A:1-5:tag:1-3", "A:tag:2", true),
        ("A:1-5,\nB:1", "B:1", true),
    ];
    for (own, other, covers) in cases {
        assert_eq!(mysql(own).covers(&mysql(other)), covers, "{own} covers {other}");
    }
}

#[test]
fn intervals_that_touch_become_one() {
    let mut set = mysql("A:1-5:9");
    set.add(&mysql("A:6-8,B:1"));
    assert_eq!(set, mysql("B:1,A:1-9"));
    assert_eq!(set.to_string(), format!("{A}:1-9,{B}:1"));
    assert_eq!(mysql("A:4:2:3:9-10:1").to_string(), format!("{A}:1-4:9-10"));
    assert_eq!(mysql("A:1:tag:4-5").to_string(), format!("{A}:1,{A}:tag:4-5"));
}

#[test]
fn what_is_owned_reads_as_a_set() {
    assert_eq!(mysql("A:5#12:6#13"), mysql("A:5-6"));
}

#[test]
fn all_up_to_a_gtid_but_for_known_gaps() {
    let cases = [
        ("A:9", "A:1-5", "A:1-9"),
        ("A:9", "", "A:1-9"),
        ("A:9", "A:1-3:6-7", "A:1-3:6-9"),
        ("A:9", "A:1-3:6-20", "A:1-3:6-9"),
        ("A:9", "A:1-3:20-30", "A:1-3:9"),
        ("A:9", "A:1-20,B:1-4", "A:1-9"),
        ("A:tag:2", "A:1-20", "A:tag:1-2"),
    ];
    for (own, watched, expected) in cases {
        assert_eq!(mysql(own).up_to(Some(&mysql(watched))), mysql(expected), "{own} with {watched}");
    }
    assert_eq!(mariadb("0-1-7").up_to(Some(&mariadb("0-1-5"))), mariadb("0-1-7"));
}

#[test]
fn domains_cover_by_their_sequence() {
    let cases = [
        ("0-1-605", "0-1-605", true),
        ("0-1-605", "0-2-600", true),
        ("0-1-605", "0-1-606", false),
        ("0-1-605", "1-1-1", false),
        ("0-1-605,1-7-2", "1-7-1", true),
        ("", "0-1-1", false),
        ("0-1-1", "", true),
    ];
    for (own, other, covers) in cases {
        assert_eq!(mariadb(own).covers(&mariadb(other)), covers, "{own} covers {other}");
    }
    let mut position = mariadb("0-1-5,1-1-9");
    position.add(&mariadb("0-2-7,1-1-3,2-1-1"));
    assert_eq!(position.to_string(), "0-2-7,1-1-9,2-1-1");
}

#[test]
fn kinds_do_not_mix() {
    assert!(!mysql("A:1").covers(&mariadb("0-1-1")));
    assert!(!mariadb("0-1-1").covers(&mysql("A:1")));
}

#[test]
fn texts_that_are_no_positions_are_refused() {
    for text in ["x", "A", "3e11fa47:1", "0-1", "0-1-x", "0-1-1;"] {
        assert!(Position::parse(true, text).is_err(), "{text}");
    }
    let refused = ["x", "3e11fa47:1", ":1", "zz11fa47-71ca-11e1-9e33-c80aa9429562x:1"];
    for text in refused.map(str::to_owned).into_iter().chain([format!("{A}:5-3"), format!("{A}:0"), format!("{A}:T:1")])
    {
        assert!(Position::parse(false, &text).is_err(), "{text}");
    }
}

#[test]
fn the_query_that_waits() {
    assert_eq!(mysql("A:1-3").wait_query(0.1), format!("SELECT WAIT_FOR_EXECUTED_GTID_SET(_utf8mb4'{A}:1-3', 0.100)"));
    assert_eq!(mariadb("0-1-3").wait_query(1.0), "SELECT MASTER_GTID_WAIT(_utf8mb4'0-1-3', 1.000)");
}

#[test]
fn a_gtid_stands_for_what_was_before_it_only_in_its_own_domains() {
    assert!(mysql("A:9").spans(Some(&mysql("A:1-5,B:1-4"))));
    assert!(mariadb("0-1-9").spans(Some(&mariadb("0-1-5"))));
    assert!(!mariadb("0-1-9").spans(Some(&mariadb("0-1-5,1-1-5"))));
    assert!(!mariadb("0-1-9").spans(None));
}

#[test]
fn what_one_position_has_beyond_another_is_counted_and_named() {
    const SOURCE: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
    let mysql = |numbers: &str| Position::parse(false, &format!("{SOURCE}:{numbers}")).expect("a position");
    let mariadb = |text: &str| Position::parse(true, text).expect("a position");
    let cases = [
        (mysql("1-10"), mysql("1-10"), None),
        (mysql("1-10"), mysql("1-20"), None),
        (mysql("1-10"), mysql("1-7"), Some((3, format!("{SOURCE}:8-10")))),
        (mysql("1-10"), mysql("3-4:7:9-12"), Some((5, format!("{SOURCE}:1-2:5-6:8")))),
        (mysql("5"), Position::parse(false, "").expect("the empty one"), Some((1, format!("{SOURCE}:5")))),
        (mariadb("0-1-10"), mariadb("0-2-12"), None),
        (mariadb("0-1-10,7-1-3"), mariadb("0-2-8"), Some((5, "up to 0-1-10,7-1-3".to_owned()))),
        (mariadb("0-1-10"), mysql("1"), None),
    ];
    for (own, other, beyond) in cases {
        assert_eq!(own.beyond(&other), beyond, "{own} beyond {other}");
    }
}
