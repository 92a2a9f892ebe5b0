//! The keys of changed rows of a transaction, in order.
//!
//! What must always hold: however many there are, memory is bounded: beyond [`MOST`] they are in a file without a name, which ends with the
//! process. Its reads and writes are of the page cache: they are not awaited.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};

/// The most bytes of keys that are in memory, of one transaction.
const MOST: usize = 1024 * 1024;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct KeyLog {
    /// Each: the table's number, the length, the key.
    newest: Vec<u8>,
    spilled: Option<File>,
    count: u64,
}

impl KeyLog {
    /// Appends a key of a table.
    ///
    /// # Errors
    /// When there is no room for a file.
    pub(crate) fn push(&mut self, table: u16, key: &[u8]) -> io::Result<()> {
        self.newest.extend_from_slice(&table.to_le_bytes());
        self.newest.extend_from_slice(&(key.len() as u32).to_le_bytes());
        self.newest.extend_from_slice(key);
        self.count += 1;
        if self.newest.len() > MOST {
            let file = match &mut self.spilled {
                Some(file) => file,
                none => none.insert(tempfile::tempfile()?),
            };
            file.write_all(&self.newest)?;
            self.newest.clear();
        }
        Ok(())
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Bytes in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.newest.len()
    }

    /// Reads them from the first on.
    ///
    /// # Errors
    /// When the file can't be read.
    pub(crate) fn read(&mut self) -> io::Result<KeyReader<'_>> {
        let file = match &mut self.spilled {
            Some(file) => {
                file.seek(SeekFrom::Start(0))?;
                Some(BufReader::with_capacity(64 * 1024, file))
            }
            None => None,
        };
        Ok(KeyReader { file, newest: &self.newest, left: self.count })
    }
}

/// The keys of a log, one after the other.
pub(crate) struct KeyReader<'l> {
    file: Option<BufReader<&'l mut File>>,
    newest: &'l [u8],
    left: u64,
}

impl KeyReader<'_> {
    /// The next key, with its table's number.
    pub(crate) fn next(&mut self) -> io::Result<Option<(u16, Vec<u8>)>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let mut head = [0; 6];
        self.exactly(&mut head)?;
        let [t0, t1, l0, l1, l2, l3] = head;
        let mut key = vec![0; u32::from_le_bytes([l0, l1, l2, l3]) as usize];
        self.exactly(&mut key)?;
        Ok(Some((u16::from_le_bytes([t0, t1]), key)))
    }

    /// A key is wholly in the file, or wholly in memory.
    fn exactly(&mut self, into: &mut [u8]) -> io::Result<()> {
        if let Some(file) = &mut self.file {
            match file.read_exact(into) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => self.file = None,
                done => return done,
            }
        }
        self.newest.read_exact(into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(log: &mut KeyLog) -> Vec<(u16, Vec<u8>)> {
        let mut reader = log.read().expect("it can be read");
        std::iter::from_fn(|| reader.next().expect("it can be read")).collect()
    }

    #[test]
    fn keys_come_back_in_order_also_from_a_file() {
        let mut log = KeyLog::default();
        let key = |n: u32| [n.to_string().as_bytes(), &[b'x'; 100]].concat();
        for n in 0..30_000 {
            log.push((n % 3) as u16, &key(n)).expect("there is room");
        }
        assert!(log.spilled.is_some() && log.bytes() <= MOST);
        for _ in 0..2 {
            let found = all(&mut log);
            assert_eq!(found.len(), 30_000);
            assert!(found.iter().enumerate().all(|(n, (table, k))| *table == (n % 3) as u16 && *k == key(n as u32)));
        }
        assert_eq!(all(&mut KeyLog::default()), []);
    }
}
