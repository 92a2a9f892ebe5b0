//! Who writes in each group, kept in a file from one process to the next.
//!
//! The configuration names the writer that a group begins with. After a failover or a switchover that is another server, and a Weir that starts
//! then must not send writes to the old one because it has come back first.
//!
//! What must always hold: a file that can't be written delays no failover, and one that can't be read stops no start. What the file says counts
//! only as long as the configuration names the same writer as when it was written: whoever changes that means it. What it says of groups that
//! this configuration does not have, or of servers that this process has not found, stays in it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use weir_topology::{Group, GroupKind};

use super::live::Live;
use crate::config::CheckedConfig;
use crate::config::checked::{self, Role};

/// The file's name.
const NAME: &str = "writers.json";
/// After a file could not be written, it is tried again.
const RETRY: Duration = Duration::from_secs(10);

/// A group's writer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    /// What the configuration says.
    configured: String,
    /// Who writes.
    writer: String,
    /// Where that one is: two configurations may call other servers the same.
    address: String,
    /// What the group is.
    kind: String,
}

/// By the group's name.
type Records = BTreeMap<String, Record>;

/// Where the file is: with the catalog, if the configuration says where that is; else where the service manager has made room
/// (`STATE_DIRECTORY`), or beside the configuration.
fn path(config: &CheckedConfig, state_directory: Option<&OsStr>) -> PathBuf {
    // systemd separates several with colons.
    let given = state_directory.and_then(OsStr::to_str).and_then(|all| all.split(':').find(|one| !one.is_empty()));
    match given {
        Some(given) if !config.sharding.wanted => Path::new(given).join(NAME),
        _ => config.sharding.directory.join(NAME),
    }
}

/// The file of this process.
fn file(config: &CheckedConfig) -> PathBuf {
    path(config, std::env::var_os("STATE_DIRECTORY").as_deref())
}

fn read(path: &Path) -> io::Result<Records> {
    match fs::read(path) {
        Ok(text) => serde_json::from_slice(&text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Records::default()),
        Err(error) => Err(error),
    }
}

/// Puts records in place of those of the same groups. The file is replaced as a whole, and only Weir's user may read it.
fn write(path: &Path, records: &Records) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory)?;
    let mut all = match read(path) {
        Ok(all) => all,
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            fs::rename(path, path.with_extension("json.bad"))?;
            Records::default()
        }
        Err(error) => return Err(error),
    };
    all.extend(records.clone());
    // Another process of this Weir, or another Weir, may be writing too.
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let partial = path.with_extension(format!("{}-{}.partial", std::process::id(), since.as_nanos()));
    let written = put(&partial, &all).and_then(|()| fs::rename(&partial, path));
    if written.is_err() {
        // It is the first error that is told.
        let _ = fs::remove_file(&partial);
    }
    written?;
    File::open(directory)?.sync_all()
}

fn put(partial: &Path, records: &Records) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(partial)?;
    file.write_all(&serde_json::to_vec_pretty(records)?)?;
    file.sync_all()
}

fn configured(group: &checked::Group) -> Option<&str> {
    let writer = group.servers.iter().find(|server| server.role == Role::Writer)?;
    Some(writer.name.as_str())
}

/// Has groups begin with the writers that an earlier process has left. Nothing is known of them yet.
pub(super) fn recall(config: &CheckedConfig, groups: &[Arc<Group>]) {
    let path = file(config);
    let records = read(&path).unwrap_or_else(|error| {
        tracing::warn!(file = %path.display(), %error, "it is not known who wrote last: groups begin with the writers of the configuration");
        Records::default()
    });
    for (checked, group) in config.groups.iter().zip(groups) {
        let Some(record) = records.get(&checked.name).filter(|_| checked.kind != checked::GroupKind::Static) else {
            continue;
        };
        let Record { configured: named, writer, kind, .. } = record;
        let (Some(kind), true) = (GroupKind::named(kind), configured(checked) == Some(named)) else { continue };
        match position(group, record) {
            Some(index) => {
                group.recall(index, kind);
                if writer != named {
                    tracing::info!(group = %checked.name, %writer, configured = %named, file = %path.display(), "the writer was changed in an earlier run");
                }
            }
            None => {
                tracing::warn!(group = %checked.name, %writer, file = %path.display(), "the server that wrote last is not known here: the group begins with the writer of the configuration");
            }
        }
    }
}

/// The recorded writer's place in its group.
fn position(group: &Group, record: &Record) -> Option<usize> {
    group.index_of(&record.writer).filter(|index| group.servers[*index].settings.address.to_string() == record.address)
}

/// What is to be kept: of groups whose writer has been another than the configured one.
fn present(config: &CheckedConfig, groups: &[Arc<Group>], kept: &Records) -> Records {
    let record = |(checked, group): (&checked::Group, &Arc<Group>)| {
        let configured = configured(checked)?.to_owned();
        let (writer, view) = (group.writer(), group.view());
        let (address, writer) = (writer.settings.address.to_string(), writer.settings.name.clone());
        let before = kept.get(&checked.name);
        // A member that has not been found, or a kind that has not been found out, may be so yet.
        let waits = before.is_some_and(|before| before.configured == configured && position(group, before).is_none());
        if view.kind == GroupKind::Static || writer == configured && (before.is_none() || waits) {
            return None;
        }
        let kind = view.kind.name().to_owned();
        Some((checked.name.clone(), Record { configured, writer, address, kind }))
    };
    config.groups.iter().zip(groups).filter_map(record).collect()
}

/// Keeps the file up to date, for as long as it is polled.
pub(super) async fn keep(live: Arc<Live>, groups: Vec<Arc<Group>>) {
    let path = file(&live.config());
    let changed = Arc::new(Notify::new());
    for group in &groups {
        let (mut changes, changed) = (group.changes(), changed.clone());
        tokio::spawn(async move {
            while changes.changed().await.is_ok() {
                changed.notify_one();
            }
        });
    }
    let mut kept = read(&path).unwrap_or_default();
    let mut told = None;
    loop {
        let records = present(&live.config(), &groups, &kept);
        if records.iter().all(|(group, record)| kept.get(group) == Some(record)) {
            changed.notified().await;
            continue;
        }
        let (place, stored) = (path.clone(), records.clone());
        // A disk that hangs keeps only this waiting.
        match tokio::task::spawn_blocking(move || write(&place, &stored)).await.unwrap_or_else(|end| Err(end.into())) {
            Ok(()) => {
                kept.extend(records);
                told = None;
            }
            Err(error) => {
                let error = error.to_string();
                if told.as_ref() != Some(&error) {
                    let file = path.display();
                    tracing::warn!(%file, error, "who writes can't be kept for the next start: let Weir write there, or name the new writer in the configuration");
                    told = Some(error);
                }
                let _ = tokio::time::timeout(RETRY, changed.notified()).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(group: &str, writer: &str) -> Records {
        let word = |word: &str| word.to_owned();
        let record = Record {
            configured: word("db1"),
            writer: word(writer),
            address: word("127.0.0.1:3306"),
            kind: word("async"),
        };
        Records::from([(group.to_owned(), record)])
    }

    #[test]
    fn what_is_written_is_read_again_and_replaced_as_a_whole() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("state").join(NAME);
        assert_eq!(read(&path).expect("none yet"), Records::default());
        for writer in ["db2", "db1"] {
            write(&path, &record("main", writer)).expect("written");
            assert_eq!(read(&path).expect("read"), record("main", writer));
        }
        write(&path, &record("other", "db3")).expect("written");
        let both = Records::from_iter(record("main", "db1").into_iter().chain(record("other", "db3")));
        assert_eq!(read(&path).expect("read"), both, "what is said of other groups stays");
        let names = || fs::read_dir(directory.path().join("state")).expect("a directory").count();
        assert_eq!(names(), 1, "nothing else is left");
        fs::write(&path, "{\"main\":").expect("written");
        assert!(read(&path).is_err(), "cut off");
        write(&path, &record("main", "db2")).expect("written");
        assert_eq!(read(&path).expect("read"), record("main", "db2"));
        assert_eq!(names(), 2, "the damaged one is kept");
    }
}
