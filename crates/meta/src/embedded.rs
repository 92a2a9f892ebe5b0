//! A store in one file of this machine.
//!
//! What must always hold: one process writes ([`Embedded`]), others may read beside it and follow ([`Follower`]); the file can be
//! read by its owner only; each document has a checksum of its own, so that no bit that has turned is ever taken for the truth.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use redb::{
    Builder, ConcurrencyMode, Database, DatabaseError, ReadOnlyDatabase, ReadTransaction, ReadableDatabase,
    ReadableTable, StorageError, TableDefinition, TableError,
};
use tokio::sync::watch;

use crate::document::Document;
use crate::store::{KEPT, Store, StoreError};

/// Version to checksum and text.
const DOCUMENTS: TableDefinition<'_, u64, (u64, &str)> = TableDefinition::new("documents");
/// How much of the file is kept in memory, in bytes.
const CACHE: usize = 16 << 20;

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE).set_concurrency_mode(ConcurrencyMode::SingleWriter);
    builder
}

/// The file, open for writing.
#[derive(Debug)]
pub struct Embedded {
    path: PathBuf,
    database: Database,
    newest: watch::Sender<u64>,
}

impl Embedded {
    /// Opens the file, or makes it, with the directories that it is in.
    ///
    /// # Errors
    /// When another process writes it, when it is damaged, or the system refuses.
    pub fn open(path: &Path) -> Result<Embedded, StoreError> {
        let at = Place(path);
        at.guarded(|| {
            at.make().map_err(|source| at.io(source))?;
            let database = builder().set_check_integrity_on_open(true).create(path).map_err(|e| at.database(e))?;
            let write = database.begin_write().map_err(|e| at.any(e.into()))?;
            write.open_table(DOCUMENTS).map_err(|e| at.any(e.into()))?;
            write.commit().map_err(|e| at.any(e.into()))?;
            let store = Embedded { path: path.to_owned(), database, newest: watch::Sender::new(0) };
            let version = store.newest()?.map_or(0, |document| document.version);
            store.newest.send_replace(version);
            Ok(store)
        })
    }

    fn at(&self) -> Place<'_> {
        Place(&self.path)
    }
}

impl Store for Embedded {
    fn newest(&self) -> Result<Option<Document>, StoreError> {
        self.at().guarded(|| self.at().newest(&self.database))
    }

    fn version(&self, version: u64) -> Result<Option<Document>, StoreError> {
        self.at().guarded(|| self.at().version(&self.database, version))
    }

    fn put(&self, expected: u64, document: &Document) -> Result<(), StoreError> {
        let at = self.at();
        at.guarded(|| {
            let write = self.database.begin_write().map_err(|e| at.any(e.into()))?;
            {
                let mut table = write.open_table(DOCUMENTS).map_err(|e| at.any(e.into()))?;
                let found = table.last().map_err(|e| at.any(e.into()))?.map_or(0, |(version, _)| version.value());
                if found != expected {
                    return Err(StoreError::Changed { expected, found });
                }
                if document.version <= found {
                    return Err(StoreError::NotNewer { new: document.version, newest: found });
                }
                table
                    .insert(document.version, (checksum(&document.text), document.text.as_str()))
                    .map_err(|e| at.any(e.into()))?;
                let oldest = (document.version + 1).saturating_sub(KEPT);
                table.retain_in(..oldest, |_, _| false).map_err(|e| at.any(e.into()))?;
            }
            // Durable: the default of the library, which returns from here after fsync.
            write.commit().map_err(|e| at.any(e.into()))
        })?;
        self.newest.send_replace(document.version);
        Ok(())
    }

    fn watch(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }
}

/// The file, read beside the process that writes it.
pub struct Follower {
    path: PathBuf,
    database: ReadOnlyDatabase,
}

impl fmt::Debug for Follower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follower").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Follower {
    /// Opens the file for reading.
    ///
    /// # Errors
    /// When there is none, when it is damaged, or the system refuses.
    pub fn open(path: &Path) -> Result<Follower, StoreError> {
        let at = Place(path);
        let mut opened = at.guarded(|| Ok(builder().open_read_only(path)))?;
        if let Err(DatabaseError::RepairAborted) = opened {
            // Its writer was killed: what it left is tidied by opening the file to write.
            drop(Embedded::open(path)?);
            opened = at.guarded(|| Ok(builder().open_read_only(path)))?;
        }
        match opened {
            Ok(database) => Ok(Follower { path: path.to_owned(), database }),
            Err(DatabaseError::Storage(StorageError::Io(e))) if e.kind() == io::ErrorKind::NotFound => {
                Err(StoreError::Missing { path: path.to_owned() })
            }
            Err(error) => Err(at.database(error)),
        }
    }

    /// The newest version; `None` when nothing was stored yet.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn newest(&self) -> Result<Option<Document>, StoreError> {
        let at = Place(&self.path);
        at.guarded(|| at.newest(&self.database))
    }
}

/// A file's path, for errors.
#[derive(Clone, Copy)]
struct Place<'a>(&'a Path);

impl Place<'_> {
    /// Sees to it that the file is there, and that nobody else may read it.
    fn make(self) -> io::Result<()> {
        let directory = self.0.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(directory)?;
        match OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(self.0) {
            // Its name is to be there after a crash too.
            Ok(file) => file.sync_all().and_then(|()| File::open(directory)?.sync_all()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                fs::set_permissions(self.0, fs::Permissions::from_mode(0o600))
            }
            Err(error) => Err(error),
        }
    }

    fn newest(self, database: &impl ReadableDatabase) -> Result<Option<Document>, StoreError> {
        self.read(database, |table| {
            let last = table.last().map_err(|e| self.any(e.into()))?;
            last.map(|(version, value)| self.checked(version.value(), value.value())).transpose()
        })
    }

    fn version(self, database: &impl ReadableDatabase, version: u64) -> Result<Option<Document>, StoreError> {
        self.read(database, |table| {
            let found = table.get(version).map_err(|e| self.any(e.into()))?;
            found.map(|value| self.checked(version, value.value())).transpose()
        })
    }

    fn read(
        self,
        database: &impl ReadableDatabase,
        read: impl FnOnce(redb::ReadOnlyTable<u64, (u64, &'static str)>) -> Result<Option<Document>, StoreError>,
    ) -> Result<Option<Document>, StoreError> {
        let transaction: ReadTransaction = database.begin_read().map_err(|e| self.any(e.into()))?;
        match transaction.open_table(DOCUMENTS) {
            Ok(table) => read(table),
            Err(TableError::TableDoesNotExist(_)) => Ok(None),
            Err(error) => Err(self.any(error.into())),
        }
    }

    fn checked(self, version: u64, (sum, text): (u64, &str)) -> Result<Document, StoreError> {
        match checksum(text) == sum {
            true => Ok(Document { version, text: text.to_owned() }),
            false => Err(self.damaged(format!("version {version} has a wrong checksum"))),
        }
    }

    /// The library panics on some files that it has not written so: that is a damaged file, not the end of a process.
    fn guarded<T>(self, work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(outcome) => outcome,
            Err(_) => Err(self.damaged("it does not hold together".to_owned())),
        }
    }

    fn damaged(self, why: String) -> StoreError {
        StoreError::Damaged { path: self.0.to_owned(), why }
    }

    fn io(self, source: io::Error) -> StoreError {
        StoreError::Io { path: self.0.to_owned(), source }
    }

    fn database(self, error: DatabaseError) -> StoreError {
        match error {
            DatabaseError::DatabaseAlreadyOpen | DatabaseError::LockProtocolMismatch => {
                StoreError::InUse { path: self.0.to_owned() }
            }
            DatabaseError::Storage(error) => self.any(error.into()),
            other => self.damaged(other.to_string()),
        }
    }

    fn any(self, error: redb::Error) -> StoreError {
        match error {
            // What is no file of the library's is told so.
            redb::Error::Io(e) if matches!(e.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) => {
                self.damaged(e.to_string())
            }
            redb::Error::Io(e) => self.io(e),
            other => self.damaged(other.to_string()),
        }
    }
}

/// FNV-1a, 64 bits: against turned bits, not against people.
fn checksum(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests;
