use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use super::*;

fn document(version: u64) -> Document {
    Document::new(version, format!("version {version}: {}", "x".repeat(5_000)))
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn what_was_put_is_the_newest_also_after_it_is_opened_again() {
    let directory = directory();
    let path = directory.path().join("a/b/catalog");
    let store = Embedded::open(&path).unwrap();
    assert_eq!(store.newest().unwrap(), None);
    let watch = store.watch();
    store.put(0, &document(1)).unwrap();
    store.put(1, &document(2)).unwrap();
    assert_eq!(*watch.borrow(), 2);
    drop(store);
    let store = Embedded::open(&path).unwrap();
    assert_eq!(store.newest().unwrap(), Some(document(2)));
    assert_eq!(store.version(1).unwrap(), Some(document(1)));
    assert_eq!(*store.watch().borrow(), 2);
}

#[test]
fn a_put_over_another_version_changes_nothing() {
    let directory = directory();
    let store = Embedded::open(&directory.path().join("catalog")).unwrap();
    store.put(0, &document(1)).unwrap();
    assert!(matches!(store.put(0, &document(2)), Err(StoreError::Changed { expected: 0, found: 1 })));
    assert!(matches!(store.put(1, &document(1)), Err(StoreError::NotNewer { new: 1, newest: 1 })));
    assert_eq!(store.newest().unwrap(), Some(document(1)));
}

#[test]
fn the_last_hundred_versions_are_kept() {
    let directory = directory();
    let store = Embedded::open(&directory.path().join("catalog")).unwrap();
    for version in 1..=KEPT + 5 {
        store.put(version - 1, &document(version)).unwrap();
    }
    assert_eq!(store.version(5).unwrap(), None);
    assert_eq!(store.version(6).unwrap(), Some(document(6)));
    assert_eq!(store.newest().unwrap(), Some(document(KEPT + 5)));
}

#[test]
fn the_file_is_its_owners_alone() {
    let directory = directory();
    let path = directory.path().join("catalog");
    let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    drop(Embedded::open(&path).unwrap());
    assert_eq!(mode(), 0o600);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    drop(Embedded::open(&path).unwrap());
    assert_eq!(mode(), 0o600);
}

#[test]
fn one_writes_and_others_follow() {
    let directory = directory();
    let path = directory.path().join("catalog");
    assert!(matches!(Follower::open(&path), Err(StoreError::Missing { .. })));
    let store = Embedded::open(&path).unwrap();
    let second = Embedded::open(&path).unwrap_err();
    assert!(second.to_string().contains("in use by another process"), "{second}");
    let follower = Follower::open(&path).unwrap();
    assert_eq!(follower.newest().unwrap(), None);
    store.put(0, &document(1)).unwrap();
    assert_eq!(follower.newest().unwrap(), Some(document(1)));
    store.put(1, &document(2)).unwrap();
    assert_eq!(follower.newest().unwrap(), Some(document(2)));
}

#[test]
fn a_file_of_something_else_is_damaged_and_says_the_way_out() {
    let directory = directory();
    let path = directory.path().join("catalog");
    fs::write(&path, "this is no catalog".repeat(1000)).unwrap();
    let error = Embedded::open(&path).unwrap_err().to_string();
    assert!(error.contains("weir catalog rebuild"), "{error}");
    assert!(fs::read_to_string(&path).unwrap().starts_with("this is no catalog"), "it is left as it is");
}

/// A file with turned bits gives what was put, or an error that says so; never another text, never the end of the process.
#[test]
fn turned_bits_and_missing_ends_are_seen() {
    let directory = directory();
    let whole = directory.path().join("whole");
    let store = Embedded::open(&whole).unwrap();
    for version in 1..=5 {
        store.put(version - 1, &document(version)).unwrap();
    }
    drop(store);
    let length = fs::metadata(&whole).unwrap().len();
    let mut damaged = 0;
    for round in 0..60_u64 {
        let path = directory.path().join(format!("damaged-{round}"));
        fs::copy(&whole, &path).unwrap();
        let mut file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        if round % 6 == 0 {
            file.set_len(length * (round / 6) / 10).unwrap();
        } else {
            // Within the head and the pages that are in use, and all over.
            let end = if round % 2 == 0 { 16_384 } else { length };
            file.seek(SeekFrom::Start(rand::random_range(0..end))).unwrap();
            file.write_all(&rand::random::<[u8; 32]>()).unwrap();
        }
        drop(file);
        match Embedded::open(&path).and_then(|store| store.newest()) {
            // An older version is what a torn last write leaves; an empty file is a new one.
            Ok(found) => assert!(found.is_none() || found.as_ref().is_some_and(|f| *f == document(f.version))),
            Err(StoreError::Damaged { .. }) => damaged += 1,
            Err(other) => panic!("{other}"),
        }
        fs::remove_file(&path).unwrap();
    }
    assert!(damaged > 0, "no damage was seen at all");
}

const CHILD: &str = "WEIR_META_TEST_CHILD";

/// Not a test of its own: the process that the next one kills.
#[test]
fn child_that_puts_until_it_is_killed() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let store = Embedded::open(Path::new(&path)).unwrap();
    let mut version = store.newest().unwrap().map_or(0, |document| document.version);
    loop {
        store.put(version, &document(version + 1)).unwrap();
        version += 1;
        eprintln!("stored {version}");
    }
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    use std::io::{BufRead, BufReader};
    let directory = directory();
    let path = directory.path().join("catalog");
    let mut acknowledged = 0;
    for round in 0..8 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "embedded::tests::child_that_puts_until_it_is_killed", "--nocapture"])
            .env(CHILD, &path)
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut stored = |line: String| {
            if let Some(version) = line.strip_prefix("stored ") {
                acknowledged = version.parse().unwrap();
            }
        };
        lines.by_ref().take(3 + round * 2).for_each(|line| stored(line.unwrap()));
        child.kill().unwrap();
        child.wait().unwrap();
        lines.for_each(|line| stored(line.unwrap()));
        // Who reads first after a kill finds it too.
        let read = (round % 2 == 0).then(|| Follower::open(&path).unwrap().newest().unwrap().unwrap());
        let newest = Embedded::open(&path).unwrap().newest().unwrap().unwrap();
        assert_eq!(read.as_ref().unwrap_or(&newest), &newest);
        assert!(newest.version == acknowledged || newest.version == acknowledged + 1, "{newest:?} {acknowledged}");
        assert_eq!(newest, document(newest.version));
    }
}
