//! The statements: found in the test files, each distinct one once.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::script;
use crate::setting::Setting;

/// Statements longer than this are data, not grammar.
const LONGEST: usize = 256 * 1024;

/// A statement with the settings that it is read with.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) text: Vec<u8>,
    pub(crate) setting: Setting,
}

impl Statement {
    /// What tells it from all others.
    pub(crate) fn key(&self) -> Key {
        let mut hash = Sha256::new();
        hash.update(self.setting.tag());
        hash.update(&self.text);
        let mut key = [0; 16];
        key.copy_from_slice(&hash.finalize()[..16]);
        key
    }
}

/// See [`Statement::key`].
pub(crate) type Key = [u8; 16];

/// All statements below a folder, in an order that depends on nothing but the files, those of ORACLE mode left out.
pub(crate) fn read(folder: &Path) -> io::Result<Vec<Statement>> {
    if !folder.join(".complete").exists() {
        let advice = "run scripts/get-sql-corpus, which unpacks Debian's package mariadb-test-data there";
        return Err(io::Error::other(format!("{}: there is no corpus: {advice}", folder.display())));
    }
    let mut files = Vec::new();
    collect_files(folder, &mut files)?;
    files.sort();
    let mut seen = HashSet::new();
    let mut all = Vec::new();
    for file in &files {
        script::statements(&fs::read(file)?, |text, setting| {
            if setting.oracle || text.len() > LONGEST {
                return;
            }
            let statement = Statement { text: text.to_vec(), setting };
            if seen.insert(statement.key()) {
                all.push(statement);
            }
        });
    }
    // Statements of one setting together: a connection changes its settings seldom.
    all.sort_by_key(|statement| statement.setting);
    Ok(all)
}

fn collect_files(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            collect_files(&entry.path(), files)?;
        } else if entry.file_name().to_string_lossy().ends_with(".test")
            || entry.file_name().to_string_lossy().ends_with(".inc")
        {
            files.push(entry.path());
        }
    }
    Ok(())
}
