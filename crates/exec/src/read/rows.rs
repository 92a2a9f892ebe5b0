//! The rows of a read's result, one at a time: merged, folded, without those that OFFSET and LIMIT leave out.
//!
//! [`super::run`] pumps them into a client's sink; other callers use [`Rows::next_row`]. What must always hold: a caller that stops before
//! the end calls [`Rows::drain`]; otherwise the connections close when they are given back.

use std::rc::Rc;
use std::task::{Context, Poll};

use weir_plan::{Grouped, Merge as Plan, Read};
use weir_wire::{Failure, StatusFlags};

use super::collations::Weights;
use super::columns::Column;
use super::drain;
use super::failure::internal;
use super::feed::{FeedEnd, FeedStep, Head};
use super::groups::{Groups, Setting, merge_keys};
use super::link::Cancel;
use super::link::Link;
use super::merge::{Merge, Wants};
use super::row::{self, Format, Span};

/// What merging has to know apart from the plan.
#[derive(Debug, Clone)]
pub struct MergeSettings {
    /// The servers' collations.
    pub weights: Rc<Weights>,
    /// The most bytes of folded rows that are sorted.
    pub sort_limit: usize,
    /// The kind of servers: a ROLLUP of no rows has no row on MariaDB, and one on MySQL.
    pub mariadb: bool,
}

impl Default for MergeSettings {
    fn default() -> MergeSettings {
        MergeSettings { weights: Rc::default(), sort_limit: super::SORT_LIMIT, mariadb: false }
    }
}

/// What is done with merged rows.
#[derive(Debug)]
enum Fold {
    /// They are the result's.
    Not,
    /// They are folded, once it is known what they look like.
    Unknown(Box<(Grouped, Setting)>),
    /// They are folded.
    Groups { groups: Box<Groups>, ended: bool },
}

/// Rows of a read's result.
#[derive(Debug)]
pub struct Rows<L> {
    merge: Merge<L>,
    fold: Fold,
    skip: u64,
    left: u64,
    scratch: Vec<u8>,
    spans: Vec<Span>,
}

impl<L: Link> Rows<L> {
    /// The rows that come over `links`, on which what the plan says was sent.
    ///
    /// # Errors
    /// When the plan can't be run.
    pub fn new(links: Vec<L>, read: &Read, format: Format, known: &MergeSettings) -> Result<Rows<L>, Failure> {
        let (keys, fold) = match &read.merge {
            Plan::Concatenate => (Vec::new(), Fold::Not),
            Plan::Sorted(keys) => (keys.clone(), Fold::Not),
            Plan::Grouped(grouped) => {
                let most = read.take.map_or(u64::MAX, |take| take.saturating_add(read.skip));
                let setting = Setting {
                    format,
                    weights: known.weights.clone(),
                    hidden: read.hidden,
                    most: usize::try_from(most).unwrap_or(usize::MAX),
                    sort_limit: known.sort_limit,
                    total_of_none: !known.mariadb,
                };
                (merge_keys(grouped)?, Fold::Unknown(Box::new((grouped.clone(), setting))))
            }
        };
        let (columns, hidden, weights) = (read.columns, read.hidden, known.weights.clone());
        let fields = !matches!(fold, Fold::Not);
        Ok(Rows {
            merge: Merge::new(links, Wants { format, keys: &keys, columns, hidden, fields, weights }),
            fold,
            skip: read.skip,
            left: read.take.unwrap_or(u64::MAX),
            scratch: Vec::new(),
            spans: Vec::new(),
        })
    }

    /// Goes on to the next row, without waiting.
    ///
    /// # Errors
    /// As [`Merge::next`].
    pub fn step(&mut self) -> Result<FeedStep, Failure> {
        loop {
            if self.left == 0 && self.merge.shape().is_some() {
                return Ok(FeedStep::End);
            }
            let step = self.next()?;
            if step != FeedStep::Row || self.left == 0 {
                return Ok(if self.left == 0 && step == FeedStep::Row { FeedStep::End } else { step });
            }
            if self.skip == 0 {
                self.left -= 1;
                return Ok(FeedStep::Row);
            }
            self.skip -= 1;
        }
    }

    /// The next row, whether it is left out or not.
    fn next(&mut self) -> Result<FeedStep, Failure> {
        if matches!(self.fold, Fold::Not) {
            return self.merge.next();
        }
        loop {
            if let Fold::Groups { groups, ended } = &mut self.fold {
                if let Some(row) = groups.next() {
                    self.scratch = row;
                    return Ok(FeedStep::Row);
                }
                if *ended {
                    return Ok(FeedStep::End);
                }
            }
            let step = self.merge.next()?;
            let Some(shape) = self.merge.shape() else { return Ok(step) };
            if let Fold::Unknown(known) = &mut self.fold {
                let (plan, setting) = &**known;
                self.fold = Fold::Groups { groups: Box::new(Groups::new(plan, shape, setting.clone())?), ended: false };
            }
            let Fold::Groups { groups, ended } = &mut self.fold else { return Ok(step) };
            match step {
                FeedStep::Wait => return Ok(FeedStep::Wait),
                FeedStep::Row => {
                    let (row, spans) = self.merge.chosen();
                    groups.take(shape, row, spans)?;
                }
                FeedStep::End => {
                    groups.finish()?;
                    *ended = true;
                }
            }
        }
    }

    /// The format of the rows.
    pub(crate) fn format(&self) -> Format {
        self.merge.format()
    }

    /// The row at hand, as the client gets it.
    #[inline]
    pub fn payload(&mut self) -> &[u8] {
        match self.fold {
            Fold::Not => self.merge.payload(&mut self.scratch),
            _ => &self.scratch,
        }
    }

    /// Waits until [`Rows::step`] may get further. Cancel-safe.
    ///
    /// # Errors
    /// The loss of a connection.
    pub async fn fill(&mut self) -> Result<(), Failure> {
        std::future::poll_fn(|cx| self.poll_fill(cx)).await
    }

    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        self.merge.poll_fill(cx)
    }

    /// The next row.
    ///
    /// # Errors
    /// As [`Rows::step`] and [`Rows::fill`].
    pub async fn next_row(&mut self) -> Result<Option<Row<'_>>, Failure> {
        loop {
            match self.step()? {
                FeedStep::Row => break,
                FeedStep::Wait => self.fill().await?,
                FeedStep::End => return Ok(None),
            }
        }
        self.at_hand().map(Some)
    }

    /// The row that [`Rows::step`] has found.
    ///
    /// # Errors
    /// When it is cut short.
    #[inline]
    pub(crate) fn at_hand(&mut self) -> Result<Row<'_>, Failure> {
        let format = self.merge.format();
        let Rows { merge, fold, scratch, spans, .. } = self;
        let Some(shape) = merge.shape() else { return Err(internal("rows came before their columns")) };
        let payload = if matches!(fold, Fold::Not) { merge.payload(scratch) } else { scratch };
        let columns = &shape.columns()[..shape.columns().len() - merge.hidden()];
        row::locate(format, &shape.kinds[..columns.len()], columns.len(), payload, spans)
            .map_err(|error| internal(&error.to_string()))?;
        Ok(Row { payload, spans, columns, format })
    }

    /// The client's columns; known once there was a row, or the end.
    pub fn columns(&self) -> Option<&[Column]> {
        let columns = self.merge.shape()?.columns();
        Some(&columns[..columns.len() - self.merge.hidden()])
    }

    /// Their definitions, and the status flags behind them.
    pub(super) fn head(&self) -> Option<(&[Vec<u8>], StatusFlags)> {
        let Head { definitions, status, .. } = &self.merge.shape()?.head;
        Some((&definitions[..definitions.len() - self.merge.hidden()], *status))
    }

    /// What the ends of the shards' results say, as far as they were read.
    pub fn end(&self) -> FeedEnd {
        let end = self.merge.end();
        match &self.fold {
            Fold::Groups { groups, .. } => FeedEnd { warnings: end.warnings.saturating_add(groups.cut), ..end },
            _ => end,
        }
    }

    /// Reads what is left of the shards' replies, or ends them: see [`drain`].
    pub async fn drain(&mut self, cancel: &Cancel<'_>) {
        drain::drain(self.merge.feeds(), cancel).await;
    }
}

/// A row of a result.
#[derive(Debug)]
pub struct Row<'r> {
    payload: &'r [u8],
    spans: &'r [Span],
    columns: &'r [Column],
    format: Format,
}

impl<'r> Row<'r> {
    /// The row's bytes.
    pub fn payload(&self) -> &'r [u8] {
        self.payload
    }

    /// A field's bytes in the row's format, unless it is NULL.
    pub fn field(&self, column: usize) -> Option<&'r [u8]> {
        self.spans.get(column).and_then(|span| span.of(self.payload))
    }

    /// The columns.
    pub fn columns(&self) -> &'r [Column] {
        self.columns
    }

    /// The format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The fields of a text row, as they stand in it.
    pub fn fields(&self) -> impl Iterator<Item = Option<&'r [u8]>> + use<'r> {
        let payload = self.payload;
        self.spans.iter().map(move |span| span.of(payload))
    }
}

#[cfg(test)]
mod tests;
