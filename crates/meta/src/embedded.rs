//! A store in one local file.
//!
//! What must always hold: one process writes ([`Embedded`]); others may read it meanwhile and follow its changes ([`Follower`]). Only the
//! owner can read the file. Each entry has a checksum, so that a corrupted one is never used. After a failure (a full disk, for example) the
//! store opens the file again before it answers: a temporary failure does no lasting harm. The store notices when the file is removed or
//! truncated while in use, and writes it again.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use redb::{
    Builder, ConcurrencyMode, Database, DatabaseError, ReadOnlyDatabase, ReadTransaction, ReadableDatabase,
    ReadableTable, StorageError, TableDefinition, TableError,
};
use tokio::sync::watch;

use crate::delta::{self, Chain, checksum};
use crate::document::{Document, DocumentError};
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
    open: Mutex<Open>,
    newest: watch::Sender<u64>,
}

/// What is known of the file.
#[derive(Debug)]
struct Open {
    /// `None` after a failure, until it can be opened again.
    database: Option<Database>,
    /// Which file it is, whatever bears its name by now.
    inode: (u64, u64),
    /// Its length after the last change: only this store changes it.
    length: u64,
    newest: Option<Document>,
    chain: Option<Chain>,
}

impl Embedded {
    /// Opens the file, or creates it with its directories.
    ///
    /// # Errors
    /// When another process writes it, when it is damaged, or the system refuses.
    pub fn open(path: &Path) -> Result<Embedded, StoreError> {
        let open = Place(path).open()?;
        let version = open.newest.as_ref().map_or(0, |document| document.version);
        Ok(Embedded { path: path.to_owned(), open: Mutex::new(open), newest: watch::Sender::new(version) })
    }

    /// Makes sure that the path still leads to this file. If it was removed or moved away, it is created again.
    ///
    /// # Errors
    /// When another file has the path, or the file can't be created.
    pub fn keep(&self) -> Result<(), StoreError> {
        self.with(|at, open| at.guarded(|| at.in_place(open)))
    }

    /// Works with the file, which is opened again if something failed before.
    fn with<T>(&self, work: impl FnOnce(Place<'_>, &mut Open) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let at = Place(&self.path);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.database.is_none() {
            // If the file was removed meanwhile, what is known goes into a new one. If it was replaced, the call fails.
            match at.inode() {
                None => at.anew(&mut open)?,
                Some(inode) if inode == open.inode => at.again(&mut open)?,
                Some(_) => return Err(StoreError::Replaced { path: self.path.clone() }),
            }
        }
        let outcome = work(at, &mut open);
        if !matches!(
            outcome,
            Ok(_) | Err(StoreError::Changed { .. } | StoreError::NotNewer { .. } | StoreError::Replaced { .. })
        ) {
            // The library does not recover from failures: what the file holds now has to be read again.
            let database = open.database.take();
            let _ = at.guarded(|| {
                drop(database);
                Ok(())
            });
            // Closing may give room back.
            open.length = at.length();
        }
        outcome
    }
}

impl Store for Embedded {
    fn newest(&self) -> Result<Option<Document>, StoreError> {
        self.with(|_, open| Ok(open.newest.clone()))
    }

    fn version(&self, version: u64) -> Result<Option<Document>, StoreError> {
        self.with(|at, open| {
            let Some(database) = &open.database else { return Ok(None) };
            at.guarded(|| at.version(database, version))
        })
    }

    fn put(&self, expected: u64, document: &Document) -> Result<(), StoreError> {
        self.with(|at, open| {
            at.guarded(|| at.in_place(open))?;
            let found = open.newest.as_ref().map_or(0, |newest| newest.version);
            if found != expected {
                return Err(StoreError::Changed { expected, found });
            }
            if document.version <= found {
                return Err(StoreError::NotNewer { new: document.version, newest: found });
            }
            at.guarded(|| at.put(open, document))
        })?;
        self.newest.send_replace(document.version);
        Ok(())
    }

    fn keep(&self) -> Result<(), StoreError> {
        Embedded::keep(self)
    }

    fn watch(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }
}

/// The file, read beside the process that writes it.
pub struct Follower {
    path: PathBuf,
    database: ReadOnlyDatabase,
    seen: Mutex<Option<Document>>,
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
            // Its writer was killed: opening the file for writing repairs it.
            drop(Embedded::open(path)?);
            opened = at.guarded(|| Ok(builder().open_read_only(path)))?;
        }
        match opened {
            Ok(database) => Ok(Follower { path: path.to_owned(), database, seen: Mutex::default() }),
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
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let last = at.guarded(|| at.last(&self.database))?;
        if last != seen.as_ref().map(|document| document.version) {
            *seen = at.guarded(|| at.newest(&self.database))?.map(|(document, _)| document);
        }
        Ok(seen.clone())
    }
}

/// A file's path, for errors.
#[derive(Clone, Copy)]
struct Place<'a>(&'a Path);

impl Place<'_> {
    /// Creates the file unless it exists, and lets only its owner read it.
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

    /// Opens the file to write, and reads what is newest.
    fn open(self) -> Result<Open, StoreError> {
        self.guarded(|| {
            self.make().map_err(|source| self.io(source))?;
            let inode = self.inode().unwrap_or_default();
            let database = builder().set_check_integrity_on_open(true).create(self.0).map_err(|e| self.database(e))?;
            if self.read(&database, |_| Ok(Some(())))?.is_none() {
                let write = database.begin_write().map_err(|e| self.any(e.into()))?;
                write.open_table(DOCUMENTS).map_err(|e| self.any(e.into()))?;
                write.commit().map_err(|e| self.any(e.into()))?;
            }
            let (newest, chain) = self.newest(&database)?.unzip();
            Ok(Open { database: Some(database), inode, length: self.length(), newest, chain })
        })
    }

    /// Which file bears the name.
    fn inode(self) -> Option<(u64, u64)> {
        fs::metadata(self.0).ok().map(|found| (found.dev(), found.ino()))
    }

    fn length(self) -> u64 {
        fs::metadata(self.0).map_or(0, |found| found.len())
    }

    /// See [`Embedded::keep`].
    fn in_place(self, open: &mut Open) -> Result<(), StoreError> {
        match self.inode() {
            Some(inode) if inode == open.inode && self.length() >= open.length => Ok(()),
            Some(inode) if inode == open.inode => self.cut_short(open),
            Some(_) => Err(StoreError::Replaced { path: self.0.to_owned() }),
            None => {
                tracing::error!(
                    path = %self.0.display(), "the catalog's file was removed or moved away: it is made anew from what Weir knows"
                );
                self.anew(open)
            }
        }
    }

    /// The file was truncated: what is left of it goes aside.
    fn cut_short(self, open: &mut Open) -> Result<(), StoreError> {
        let mut aside = self.0.as_os_str().to_owned();
        aside.push(".truncated");
        tracing::error!(
            path = %self.0.display(), "the catalog's file was truncated: what is left of it is moved aside, to a name that ends in \
             .truncated, and it is made anew from what Weir knows"
        );
        fs::rename(self.0, aside).map_err(|source| self.io(source))?;
        self.anew(open)
    }

    /// Opens the file again after a failure. It must have what it had.
    fn again(self, open: &mut Open) -> Result<(), StoreError> {
        if self.length() < open.length {
            return self.cut_short(open);
        }
        let new = self.open()?;
        let version = |open: &Open| open.newest.as_ref().map_or(0, |document| document.version);
        if version(&new) < version(open) {
            return Err(StoreError::Replaced { path: self.0.to_owned() });
        }
        *open = new;
        Ok(())
    }

    /// A new file with the newest version that is known.
    fn anew(self, open: &mut Open) -> Result<(), StoreError> {
        let mut new = self.open()?;
        if new.newest.is_some() {
            return Err(StoreError::Replaced { path: self.0.to_owned() });
        }
        if let Some(document) = &open.newest {
            self.guarded(|| self.put(&mut new, document))?;
        }
        *open = new;
        Ok(())
    }

    fn put(self, open: &mut Open, document: &Document) -> Result<(), StoreError> {
        let Some(database) = &open.database else {
            return Err(self.io(io::Error::other("it is not open")));
        };
        let changed = open.chain.as_ref().and_then(|chain| chain.next(document));
        let (entry, chain) = match changed {
            Some(changed) => changed,
            None => (document.text.to_string(), Chain::begin(document)),
        };
        let write = database.begin_write().map_err(|e| self.any(e.into()))?;
        {
            let mut table = write.open_table(DOCUMENTS).map_err(|e| self.any(e.into()))?;
            table.insert(document.version, (checksum(&entry), entry.as_str())).map_err(|e| self.any(e.into()))?;
            let oldest = (document.version + 1).saturating_sub(KEPT);
            // An old version can be read with its base only.
            let first = table.range(..=oldest).map_err(|e| self.any(e.into()))?.next_back().transpose();
            let first = first.map_err(|e| self.any(e.into()))?;
            let first = first.map(|(version, value)| delta::base(value.value().1).unwrap_or_else(|| version.value()));
            if let Some(first) = first {
                table.retain_in(..first, |_, _| false).map_err(|e| self.any(e.into()))?;
            }
        }
        // Durable: the default of the library, which returns from here after fsync.
        write.commit().map_err(|e| self.any(e.into()))?;
        (open.newest, open.chain, open.length) = (Some(document.clone()), Some(chain), self.length());
        Ok(())
    }

    fn last(self, database: &impl ReadableDatabase) -> Result<Option<u64>, StoreError> {
        self.read(database, |table| {
            Ok(table.last().map_err(|e| self.any(e.into()))?.map(|(version, _)| version.value()))
        })
    }

    fn newest(self, database: &impl ReadableDatabase) -> Result<Option<(Document, Chain)>, StoreError> {
        match self.last(database)? {
            Some(version) => self.entries(database, version),
            None => Ok(None),
        }
    }

    fn version(self, database: &impl ReadableDatabase, version: u64) -> Result<Option<Document>, StoreError> {
        Ok(self.entries(database, version)?.map(|(document, _)| document))
    }

    /// A version, put together of its entries.
    fn entries(self, database: &impl ReadableDatabase, version: u64) -> Result<Option<(Document, Chain)>, StoreError> {
        self.read(database, |table| {
            let Some(found) = table.get(version).map_err(|e| self.any(e.into()))? else { return Ok(None) };
            let base = delta::base(found.value().1).unwrap_or(version);
            let mut entries = Vec::new();
            for entry in table.range(base..=version).map_err(|e| self.any(e.into()))? {
                let (version, value) = entry.map_err(|e| self.any(e.into()))?;
                entries.push((version.value(), self.checked(version.value(), value.value())?));
            }
            let read = Chain::read(entries);
            read.map(Some).map_err(|source| match source {
                DocumentError::Newer(_) => StoreError::Document { path: self.0.to_owned(), source },
                source => self.damaged(source.to_string()),
            })
        })
    }

    fn read<T>(
        self,
        database: &impl ReadableDatabase,
        read: impl FnOnce(redb::ReadOnlyTable<u64, (u64, &'static str)>) -> Result<Option<T>, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let transaction: ReadTransaction = database.begin_read().map_err(|e| self.any(e.into()))?;
        match transaction.open_table(DOCUMENTS) {
            Ok(table) => read(table),
            Err(TableError::TableDoesNotExist(_)) => Ok(None),
            Err(error) => Err(self.any(error.into())),
        }
    }

    fn checked(self, version: u64, (sum, text): (u64, &str)) -> Result<String, StoreError> {
        match checksum(text) == sum {
            true => Ok(text.to_owned()),
            false => Err(self.damaged(format!("version {version} has a wrong checksum"))),
        }
    }

    /// The library panics on some damaged files: report the damage, and go on.
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
            redb::Error::PreviousIo => self.io(io::Error::other("it could not be read or written before")),
            other => self.damaged(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod trouble;
