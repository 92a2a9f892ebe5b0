//! Files of the run that only its user may read, because they hold passwords.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::error::BenchError;

/// Writes a file of mode 0600; one that is there is replaced.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<(), BenchError> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(path).and_then(|mut file| file.write_all(text.as_bytes())).map_err(BenchError::io("write", path))
}
