use super::KnownTexts;
use crate::random_texts::{RandomTexts, what_counts};
use crate::{LeadBytes, LexMode, shape};

fn is_known_by(kept: &str, asked: &str) -> bool {
    let mode = LexMode::default();
    let mut texts = KnownTexts::default();
    texts.keep(kept.as_bytes(), mode, ());
    texts.get(asked.as_bytes(), mode).is_some()
}

#[test]
fn a_text_is_known_by_another_that_differs_in_plain_literals() {
    for (kept, asked) in [
        ("SELECT 1", "SELECT 23456"),
        ("SELECT c FROM t1 WHERE id=5", "SELECT c FROM t1 WHERE id=123456789012345678"),
        ("SELECT c FROM t WHERE a = 'x' AND b < 7", "SELECT c FROM t WHERE a = '' AND b < 0"),
        ("INSERT INTO t VALUES (1, 'a', 'b')", "INSERT INTO t VALUES (22, 'äöü; -- ', '/*')"),
        ("UPDATE t SET k=k-1 WHERE id=1", "UPDATE t SET k=k-20 WHERE id=9"),
        ("COMMIT", "COMMIT"),
        ("SELECT 0x1f, 1.5, 3", "SELECT 0x1f, 1.5, 44"),
        ("UPDATE t SET a = a + 1.5 WHERE id=1", "UPDATE t SET a = a + 1234.56 WHERE id=9"),
        ("INSERT INTO t VALUES (1,-1.5,'a')", "INSERT INTO t VALUES (2,-0.00000001,'b')"),
    ] {
        assert!(is_known_by(kept, asked), "{kept} / {asked}");
    }
}

#[test]
fn a_text_is_not_known_by_one_that_may_read_otherwise() {
    for (kept, asked) in [
        ("SELECT 1", "SELECT 1;"),
        ("SELECT 1", "SELECT 1 "),
        ("SELECT 1", "select 1"),
        ("SELECT 1", "SELECT '1'"),
        ("SELECT 1", "SELECT 1.5"),
        ("SELECT 1", "SELECT 1e5"),
        ("SELECT 1", "SELECT 0x5"),
        ("SELECT 1", "SELECT 1234567890123456789"),
        ("SELECT 1", "SELECT "),
        ("SELECT t1", "SELECT t2"),
        ("SELECT 'a'", "SELECT 'it''s'"),
        ("SELECT 'a'", "SELECT 'a\\'"),
        ("SELECT 'a', 'b'", "SELECT 'a', 'b"),
        ("SELECT 'a' FROM t", "SELECT 'a' FROM 'b' FROM t"),
        ("SELECT N'a'", "SELECT N'b'"),
        ("SELECT x'41'", "SELECT x'42'"),
        ("SELECT \"a\"", "SELECT \"b\""),
        ("SELECT 1 -- 2", "SELECT 1 -- 3"),
        ("SELECT 1 /* 2 */", "SELECT 1 /* 3 */"),
        ("SELECT 1.5", "SELECT 1"),
        ("SELECT 1.5", "SELECT 1."),
        ("SELECT 1.5", "SELECT 1.5e3"),
        ("SELECT 1.5", "SELECT 1.5.5"),
        ("SELECT 1.5", "SELECT 1234567890.123456789"),
        ("SELECT .5", "SELECT .6"),
        ("SELECT 1.", "SELECT 2."),
        ("SELECT 1.5e3", "SELECT 2.5e3"),
        ("SELECT t.a1.5", "SELECT t.a1.6"),
    ] {
        assert!(!is_known_by(kept, asked), "{kept} / {asked}");
    }
}

#[test]
fn a_text_is_known_only_in_the_mode_that_it_was_read_in() {
    let text = b"SELECT 'a', \"b\"";
    let mut texts = KnownTexts::default();
    let ansi = LexMode { ansi_quotes: true, ..LexMode::default() };
    texts.keep(text, ansi, "ansi");
    assert_eq!(texts.get(text, LexMode::default()), None);
    texts.keep(text, LexMode::default(), "default");
    assert_eq!(texts.get(text, ansi), Some(&"ansi"));
    assert_eq!(texts.get(text, LexMode::default()), Some(&"default"));
    // Where a byte may swallow a quote, strings do not end at the next one.
    let sjis = LexMode { lead_bytes: LeadBytes::Sjis, ..LexMode::default() };
    texts.keep(text, sjis, "sjis");
    assert_eq!(texts.get(text, sjis), None);
}

#[test]
fn what_is_kept_is_bounded() {
    let mode = LexMode::default();
    let mut texts = KnownTexts::default();
    for n in 0..3 * super::MOST {
        texts.keep(format!("SELECT a{n} FROM t").as_bytes(), mode, n);
        texts.keep(format!("SELECT 1, a{n} FROM t").as_bytes(), mode, n);
        let kept: usize = texts.texts.values().map(Vec::len).sum();
        assert_eq!(kept, texts.kept);
        assert!(kept <= super::MOST);
        assert!(texts.texts.values().all(|alike| alike.len() <= super::ALIKE));
    }
    texts.keep(&[b' '; super::LONGEST + 1], mode, 0);
    assert_eq!(texts.get(&[b' '; super::LONGEST + 1], mode), None);
}

/// Texts that are known by another have its shape and its class.
#[test]
fn what_is_known_follows_from_the_shape() {
    let mode = LexMode::default();
    let mut texts = KnownTexts::default();
    let mut random = RandomTexts::new();
    let mut met_again = 0;
    for _ in 0..200_000 {
        let text = random.next().expect("random texts are endless");
        match texts.get(text.as_bytes(), mode) {
            Some((other, class, other_shape)) => {
                met_again += usize::from(*other != text);
                assert_eq!(what_counts(&text), *class, "{text:?} / {other:?}");
                assert_eq!(shape(text.as_bytes(), mode), *other_shape, "{text:?} / {other:?}");
            }
            None => {
                let known = (text.clone(), what_counts(&text), shape(text.as_bytes(), mode));
                texts.keep(text.as_bytes(), mode, known);
            }
        }
    }
    assert!(met_again > 1000, "{met_again}");
}

#[test]
fn the_places_of_literals_are_those_of_the_text_at_hand() {
    let mode = LexMode::default();
    let mut texts = KnownTexts::default();
    texts.keep(b"SELECT c FROM t WHERE a = 1.5 AND b = 'x' AND id=-5", mode, ());
    let mut literals: Vec<_> = std::iter::once(0..9).collect();
    let asked = b"SELECT c FROM t WHERE a = 10.25 AND b = 'longer' AND id=-77";
    assert!(texts.get_with(asked, mode, &mut literals).is_some());
    let found: Vec<&[u8]> = literals.iter().map(|literal| &asked[literal.clone()]).collect();
    assert_eq!(found, [&b"10.25"[..], b"'longer'", b"77"]);
}
