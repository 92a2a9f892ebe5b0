//! The report of a bench run: Markdown and one self-contained HTML page with charts, from a [`Record`] alone.
//!
//! Must always hold: a report never hides what is missing or uncertain: incomplete runs, failed points and wide spreads say
//! so where they stand. Ratios are medians of the rounds' ratios ([`stats`]). The page works from a file, without network.
//!
//! A record becomes a [`document::Document`] (sections of texts, [`table`]s and [`chart`]s), and that is written out twice.

mod chart;
mod compose;
mod document;
mod format;
mod group;
mod html;
mod markdown;
mod metric;
mod sections;
pub mod stats;
mod table;

use std::path::{Path, PathBuf};

use crate::record::Record;

/// Why a report could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A file could not be written.
    #[error("can't write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// The charts' data could not be written as JSON: a defect of this program.
    #[error("can't write the charts' data: {0}")]
    Data(#[from] serde_json::Error),
    /// The page's template could not be filled: a defect of this program.
    #[error("can't fill the page's template: {0}")]
    Template(#[from] askama::Error),
}

/// Writes DIR/NAME.md and DIR/NAME.html, and returns their paths. DIR must exist; files that are there are replaced.
pub fn write(record: &Record, dir: &Path) -> Result<Vec<PathBuf>, ReportError> {
    let document = document::Document::of(record);
    let contents = [("md", markdown::report(&document)), ("html", html::page(&document)?)];
    let mut written = Vec::new();
    for (extension, content) in contents {
        let path = dir.join(format!("{}.{extension}", record.name));
        std::fs::write(&path, content).map_err(|source| ReportError::Write { path: path.clone(), source })?;
        written.push(path);
    }
    Ok(written)
}

/// What a terminal shows at the end of a run, in Markdown: the ratios (or the figures, where there is nothing to compare
/// with), what is missing, and the notes.
pub fn summary(record: &Record) -> String {
    markdown::summary(record)
}
