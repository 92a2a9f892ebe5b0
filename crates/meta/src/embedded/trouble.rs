//! What becomes of a store when its disk is full, and when its file goes away.

use std::process::Command;

use super::*;

fn large(version: u64) -> Document {
    Document::new(version, format!("version {version}: {}", "x".repeat(200_000)))
}

fn small(version: u64) -> Document {
    let tables: Vec<String> =
        (0..500).map(|table| format!("\"t{table}\":{{\"columns\":[{}]}}", "1,2,3,4,5,6,7,8")).collect();
    let text = format!("{{\"catalog\":{{{},\"version\":{version}}},\"format\":2}}", tables.join(","));
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    value.sort_all_objects();
    Document::new(version, value.to_string())
}

#[test]
fn a_change_is_written_as_one_and_read_back_whole() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("catalog");
    let mut store = Embedded::open(&path).unwrap();
    for version in 1..=KEPT * 3 {
        store.put(version - 1, &small(version)).unwrap();
        if version % 70 == 0 {
            drop(store);
            store = Embedded::open(&path).unwrap();
        }
        assert_eq!(store.newest().unwrap(), Some(small(version)));
    }
    for version in KEPT * 2 + 1..=KEPT * 3 {
        assert_eq!(store.version(version).unwrap(), Some(small(version)));
    }
    let length = |open: &Open| {
        let transaction = open.database.as_ref().unwrap().begin_read().unwrap();
        let table = transaction.open_table(DOCUMENTS).unwrap();
        table.iter().unwrap().map(|entry| entry.unwrap().1.value().1.len()).collect::<Vec<_>>()
    };
    let lengths = length(&store.open.lock().unwrap());
    assert!(lengths.iter().skip(1).all(|length| *length < 200), "{lengths:?}");
    drop(store);
    let follower = Follower::open(&path).unwrap();
    assert_eq!(follower.newest().unwrap(), Some(small(KEPT * 3)));
}

#[test]
fn a_file_that_is_removed_is_made_anew_and_one_in_its_place_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let (path, aside) = (directory.path().join("in/catalog"), directory.path().join("aside"));
    let store = Embedded::open(&path).unwrap();
    store.put(0, &small(1)).unwrap();
    fs::remove_file(&path).unwrap();
    store.keep().unwrap();
    assert!(path.exists());
    fs::remove_dir_all(path.parent().unwrap()).unwrap();
    store.put(1, &small(2)).unwrap();
    assert_eq!(Follower::open(&path).unwrap().newest().unwrap(), Some(small(2)));
    fs::rename(&path, &aside).unwrap();
    store.put(2, &small(3)).unwrap();
    // Another file in its place is none of this store's: it is not written, and nothing goes to a file that nobody will find.
    fs::remove_file(&path).unwrap();
    fs::copy(&aside, &path).unwrap();
    assert!(matches!(store.keep(), Err(StoreError::Replaced { .. })));
    assert!(matches!(store.put(3, &small(4)), Err(StoreError::Replaced { .. })));
    assert_eq!(store.newest().unwrap(), Some(small(3)));
    fs::remove_file(&path).unwrap();
    store.put(3, &small(4)).unwrap();
    drop(store);
    assert_eq!(Embedded::open(&path).unwrap().newest().unwrap(), Some(small(4)));
}

#[test]
fn a_file_that_is_truncated_is_made_anew() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("catalog");
    let store = Embedded::open(&path).unwrap();
    store.put(0, &small(1)).unwrap();
    let whole = fs::metadata(&path).unwrap().len();
    for (version, left) in [(1, 0), (2, whole / 2), (3, 100)] {
        OpenOptions::new().write(true).open(&path).unwrap().set_len(left).unwrap();
        if version % 2 == 0 {
            store.keep().unwrap();
        }
        store.put(version, &small(version + 1)).unwrap();
        assert_eq!(Follower::open(&path).unwrap().newest().unwrap(), Some(small(version + 1)));
        assert!(directory.path().join("catalog.truncated").exists());
    }
    drop(store);
    assert_eq!(Embedded::open(&path).unwrap().newest().unwrap(), Some(small(4)));
}

const CHILD: &str = "WEIR_META_TEST_FULL";

/// Not a test of its own: what the next one runs in a process whose files may not grow.
#[test]
fn child_whose_files_may_not_grow() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let path = Path::new(&path);
    let allow = |bytes: &str| {
        let pid = std::process::id().to_string();
        let status = Command::new("prlimit").args(["--pid", &pid, &format!("--fsize={bytes}:")]).status();
        assert!(status.unwrap().success());
    };
    let store = Embedded::open(path).unwrap();
    store.put(0, &large(1)).unwrap();
    allow(&fs::metadata(path).unwrap().len().to_string());
    let mut version = 1;
    let refused = loop {
        match store.put(version, &large(version + 1)) {
            Ok(()) => version += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, StoreError::Io { .. }) && refused.to_string().contains("make room"), "{refused}");
    for _ in 0..3 {
        assert!(matches!(store.put(version, &large(version + 1)), Err(StoreError::Io { .. })));
        if let Ok(found) = store.newest() {
            assert_eq!(found, Some(large(version)));
        }
    }
    allow("unlimited");
    assert_eq!(store.newest().unwrap(), Some(large(version)));
    store.put(version, &large(version + 1)).unwrap();
    drop(store);
    assert_eq!(Embedded::open(path).unwrap().newest().unwrap(), Some(large(version + 1)));
    println!("went well");
}

#[test]
fn a_full_disk_is_no_damage_and_there_is_room_again() {
    let directory = tempfile::tempdir().unwrap();
    // The signal for files that grow beyond the limit would end the process; ignored, writing fails as on a full disk.
    let child = Command::new("sh")
        .args(["-c", "trap '' XFSZ; exec \"$0\" --exact embedded::trouble::child_whose_files_may_not_grow --nocapture"])
        .arg(std::env::current_exe().unwrap())
        .env(CHILD, directory.path().join("catalog"))
        .output()
        .unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&child.stdout), String::from_utf8_lossy(&child.stderr));
    assert!(child.status.success() && said.contains("went well"), "{said}");
}
