//! A report before it is written out: the same parts for Markdown, HTML and the terminal.
//!
//! Must always hold: all of it is computed from the record alone; text of the record is kept as it is, and is escaped where
//! it is written out.

use super::chart::Chart;
use super::table::Table;

/// A report.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Document {
    /// The bench's name.
    pub name: String,
    /// Its question.
    pub title: String,
    /// What to know before anything else: the run was stopped, single rounds.
    pub warnings: Vec<String>,
    /// Date, duration, machine.
    pub facts: Vec<(String, String)>,
    /// The command line that repeats it.
    pub command: String,
    /// The record's notes.
    pub notes: Vec<String>,
    /// How to read the figures.
    pub reading: Vec<String>,
    /// Programs and their versions.
    pub versions: Vec<(String, String)>,
    /// Settings and their values.
    pub settings: Vec<(String, String)>,
    /// What was measured.
    pub sections: Vec<Section>,
}

/// A part of the report under a heading.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Section {
    /// The heading.
    pub title: String,
    /// Whether it is a part of the section before it.
    pub nested: bool,
    /// What stands under it.
    pub blocks: Vec<Block>,
}

/// A piece of a section.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Block {
    /// A paragraph.
    Text(String),
    /// What is missing, and why.
    Missing(Vec<String>),
    /// Charts side by side. The Markdown has their figures in the section's tables.
    Charts(Vec<Chart>),
    /// A table.
    Table(Table),
}

impl Document {
    /// All charts, in the page's order.
    pub(crate) fn charts(&self) -> impl Iterator<Item = &Chart> {
        self.sections.iter().flat_map(|section| &section.blocks).flat_map(|block| match block {
            Block::Charts(charts) => charts.as_slice(),
            Block::Text(_) | Block::Missing(_) | Block::Table(_) => &[],
        })
    }
}

impl Section {
    /// A top section.
    pub(crate) fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), nested: false, blocks: Vec::new() }
    }

    /// A part of the section before it.
    pub(crate) fn nested(title: impl Into<String>) -> Self {
        Self { nested: true, ..Self::new(title) }
    }

    /// Adds charts, if there are any.
    pub(crate) fn charts(&mut self, charts: Vec<Chart>) {
        if !charts.is_empty() {
            self.blocks.push(Block::Charts(charts));
        }
    }

    /// Adds what is missing, if anything is.
    pub(crate) fn missing(&mut self, lines: Vec<String>) {
        if !lines.is_empty() {
            self.blocks.push(Block::Missing(lines));
        }
    }
}
