use weir_catalog::ShardId;
use weir_plan::{Read, UnionPart};
use weir_wire::error::codes;

use super::*;

fn union(hows: &[Combine], take: Option<u64>) -> Union {
    let read = || Read::of_one(ShardId(0), Vec::new(), Vec::new(), String::new());
    let parts = hows.iter().map(|how| UnionPart { how: *how, read: read() }).collect();
    Union { head: read(), parts, keys: Vec::new(), skip: 0, take, pin_time: false, reason: String::new() }
}

/// What comes of queries with these rows, each row a letter.
fn combined(queries: &[(Combine, &str)]) -> String {
    let hows: Vec<Combine> = queries.iter().map(|(how, _)| *how).collect();
    let mut kept = Kept::new(&union(&hows, None), 1 << 20);
    for (how, rows) in queries {
        kept.begin(*how);
        rows.bytes().for_each(|row| kept.put(&[row.to_ascii_lowercase()], &[row]).expect("it is little"));
        kept.end();
    }
    kept.into_rows().map(|row| char::from(row[0])).collect()
}

#[test]
fn queries_are_combined_from_left_to_right() {
    use Combine::{All, Distinct, Except, Intersect};
    for (queries, expected) in [
        (&[(All, "ba"), (All, "ab")][..], "aabb"),
        // Of equal rows the first stays.
        (&[(All, "Ba"), (Distinct, "Abc")], "aBc"),
        (&[(All, "aa"), (Distinct, "b"), (All, "ab")], "aabb"),
        (&[(All, "aab"), (All, "b"), (Distinct, "")], "ab"),
        (&[(All, "aab"), (Intersect { all: false }, "abbc")], "ab"),
        (&[(All, "aaab"), (Intersect { all: true }, "aac")], "aa"),
        (&[(All, "aabc"), (Except { all: false }, "b")], "ac"),
        (&[(All, "aaab"), (Except { all: true }, "ab")], "aa"),
        (&[(All, "abc"), (Except { all: false }, "b"), (Distinct, "cd")], "acd"),
    ] {
        assert_eq!(combined(queries), expected, "{queries:?}");
    }
}

#[test]
fn only_what_can_be_wanted_is_kept() {
    let mut kept = Kept::new(&union(&[Combine::All], Some(2)), 128 << 10);
    for row in (0_u32..100_000).rev() {
        kept.put(&row.to_be_bytes(), &row.to_be_bytes()).expect("two rows are wanted");
    }
    let first: Vec<Vec<u8>> = kept.into_rows().take(2).collect();
    assert_eq!(first, [0_u32.to_be_bytes(), 1_u32.to_be_bytes()]);

    let mut kept = Kept::new(&union(&[Combine::All, Combine::Distinct], None), 16 << 10);
    kept.begin(Combine::Distinct);
    for row in 0_u32..100_000 {
        kept.put(&[(row % 7) as u8], &[]).expect("seven rows differ");
    }
    kept.end();
    assert_eq!(kept.into_rows().count(), 7);
    let mut kept = Kept::new(&union(&[Combine::All], None), 16 << 10);
    let failure = (0..100_000).find_map(|_| kept.put(b"k", b"row").err()).expect("it is too much");
    assert_eq!(failure.code, codes::ER_OUT_OF_SORTMEMORY);
}
