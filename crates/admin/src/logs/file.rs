//! A log file that is rotated when it gets large.
//!
//! What must always hold: the file has whole lines only, as far as the system lets it: what was written in part is taken
//! back. Only its owner can read it. A file that can't be written is tried again with the next write.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

/// Which file, and how large.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSettings {
    /// Where it is.
    pub path: PathBuf,
    /// The most bytes; then it is renamed to `path.1`.
    pub max_size: u64,
    /// How many renamed files are kept.
    pub keep: u32,
}

/// See the module.
#[derive(Debug)]
pub(super) struct LogFile {
    settings: FileSettings,
    file: Option<File>,
    length: u64,
}

impl LogFile {
    /// Opens the file, to go on behind what is there.
    pub(super) fn open(settings: FileSettings) -> io::Result<LogFile> {
        let mut log = LogFile { settings, file: None, length: 0 };
        log.file()?;
        Ok(log)
    }

    fn file(&mut self) -> io::Result<&mut File> {
        let file = match self.file.take() {
            Some(file) => file,
            None => {
                let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&self.settings.path)?;
                self.length = file.metadata()?.len();
                file
            }
        };
        Ok(self.file.insert(file))
    }

    /// Appends lines, in a new file if the old one would get too large.
    pub(super) fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        self.file()?;
        if self.length > 0 && self.length + lines.len() as u64 > self.settings.max_size {
            self.rotate()?;
        }
        let length = self.length;
        let file = self.file()?;
        if let Err(error) = file.write_all(lines) {
            let _ = file.set_len(length);
            self.file = None;
            return Err(error);
        }
        self.length += lines.len() as u64;
        Ok(())
    }

    /// Begins a new file. One that somebody else has renamed or removed stays as it is, and so does what is no file: a pipe, a
    /// device.
    pub(super) fn rotate(&mut self) -> io::Result<()> {
        self.file = None;
        let numbered = |number: u32| {
            let mut path = self.settings.path.clone().into_os_string();
            path.push(format!(".{number}"));
            PathBuf::from(path)
        };
        let gone_already = |result: io::Result<()>| match result {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        };
        if std::fs::symlink_metadata(&self.settings.path).is_ok_and(|found| found.is_file()) {
            for number in (1..self.settings.keep).rev() {
                gone_already(std::fs::rename(numbered(number), numbered(number + 1)))?;
            }
            match self.settings.keep {
                0 => gone_already(std::fs::remove_file(&self.settings.path))?,
                _ => gone_already(std::fs::rename(&self.settings.path, numbered(1)))?,
            }
        }
        self.file().map(drop)
    }
}
