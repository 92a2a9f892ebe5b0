//! Rows in the text and the binary format: where their fields are, and how hidden columns are cut off.
//!
//! What must always hold: a row's bytes are copied, never decoded and encoded again, unless its values are folded.

use weir_wire::{Malformed, Reader};

use super::columns::ColumnKind;

/// The format of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Of a text: all values as text.
    Text,
    /// Of an execution of a prepared statement.
    Binary,
}

/// A field's value in its row: without its length. `end` is the field's end also if it is NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    start: u32,
    end: u32,
    null: bool,
}

impl Span {
    /// So many bytes from `at` on, or NULL.
    #[cfg(test)]
    pub(super) fn new(at: usize, len: Option<usize>) -> Span {
        Span { start: at as u32, end: (at + len.unwrap_or(0)) as u32, null: len.is_none() }
    }

    /// The value, unless it is NULL.
    #[inline]
    pub(super) fn of<'r>(&self, row: &'r [u8]) -> Option<&'r [u8]> {
        if self.null { None } else { row.get(self.start as usize..self.end as usize) }
    }
}

/// Bytes of a binary row's NULL bitmap, whose first two bits are not used.
fn bitmap(columns: usize) -> usize {
    (columns + 9) / 8
}

/// Finds the first fields of a row, at least `count` of them if it has so many.
///
/// # Errors
/// When the row is cut short.
#[inline]
pub(super) fn locate(
    format: Format,
    kinds: &[ColumnKind],
    count: usize,
    row: &[u8],
    spans: &mut Vec<Span>,
) -> Result<(), Malformed> {
    spans.clear();
    match format {
        Format::Text => locate_text(count, row, spans),
        Format::Binary => locate_binary(kinds, count, row, spans),
    }
}

fn locate_text(count: usize, row: &[u8], spans: &mut Vec<Span>) -> Result<(), Malformed> {
    let mut at = 0;
    for _ in 0..count {
        // Most values are short.
        let (start, end, null) = match row.get(at) {
            Some(&short @ 0..=0xfa) => (at + 1, at + 1 + usize::from(short), false),
            Some(0xfb) => (at + 1, at + 1, true),
            _ => {
                let mut r = Reader::new(row.get(at..).unwrap_or_default());
                let value = r.lenenc_bytes("text row")?;
                let end = row.len() - r.rest().len();
                (end - value.len(), end, false)
            }
        };
        if end > row.len() {
            return Err(Malformed("text row"));
        }
        spans.push(Span { start: start as u32, end: end as u32, null });
        at = end;
    }
    Ok(())
}

fn locate_binary(kinds: &[ColumnKind], count: usize, row: &[u8], spans: &mut Vec<Span>) -> Result<(), Malformed> {
    let bits = bitmap(kinds.len());
    let mut at = 1 + bits;
    if row.len() < at {
        return Err(Malformed("binary row"));
    }
    for (column, kind) in kinds.iter().enumerate().take(count) {
        let bit = column + 2;
        if row[1 + bit / 8] & (1 << (bit % 8)) != 0 {
            spans.push(Span { start: at as u32, end: at as u32, null: true });
            continue;
        }
        let (start, end) = match kind {
            ColumnKind::Integer { width, .. } => (at, at + usize::from(*width)),
            ColumnKind::Float => (at, at + 4),
            ColumnKind::Double => (at, at + 8),
            // Dates and times have a length of one byte, strings one of several forms.
            ColumnKind::Date | ColumnKind::Time | ColumnKind::Decimal | ColumnKind::Bytes => {
                let mut r = Reader::new(row.get(at..).unwrap_or_default());
                let value = r.lenenc_bytes("binary row")?;
                let end = row.len() - r.rest().len();
                (end - value.len(), end)
            }
        };
        if end > row.len() {
            return Err(Malformed("binary row"));
        }
        spans.push(Span { start: start as u32, end: end as u32, null: false });
        at = end;
    }
    Ok(())
}

/// A row without the columns behind the first `keep` of `columns`, whose fields were found by [`locate`]. `out` is used if its bytes
/// have to change.
pub(super) fn cut<'r>(
    format: Format,
    columns: usize,
    keep: usize,
    row: &'r [u8],
    spans: &[Span],
    out: &'r mut Vec<u8>,
) -> &'r [u8] {
    let end = keep.checked_sub(1).and_then(|last| spans.get(last)).map(|span| span.end as usize);
    match format {
        Format::Text => &row[..end.unwrap_or(0)],
        Format::Binary => {
            let values = 1 + bitmap(columns);
            out.clear();
            out.extend_from_slice(&row[..=bitmap(keep)]);
            let used = (keep + 2) % 8;
            if used != 0
                && let Some(last) = out.last_mut()
            {
                *last &= (1 << used) - 1;
            }
            out.extend_from_slice(&row[values..end.unwrap_or(values)]);
            out
        }
    }
}

#[cfg(test)]
mod tests;
