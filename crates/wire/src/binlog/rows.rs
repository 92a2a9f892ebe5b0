//! The rows of an event, with the values of their keys.
//!
//! What must always hold: of an update, both images give a key; what the second leaves out has not changed.

use std::sync::Arc;

use crate::codec::Reader;

use super::BinlogError;
use super::table_map::{Field, TableMap, types};

/// What an event does to rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It writes or deletes them: one image each.
    Single,
    /// It updates them: two images each.
    Update,
    /// The same, where parts of JSON documents may stand for the whole.
    PartialUpdate,
}

/// The rows of an event of a table that is watched.
#[derive(Debug)]
pub struct Rows<'a> {
    /// Which of the watched tables.
    pub watched: usize,
    pub(super) kind: Kind,
    pub(super) table: Arc<TableMap>,
    pub(super) before: Vec<u8>,
    pub(super) after: Vec<u8>,
    pub(super) columns: usize,
    pub(super) rows: std::borrow::Cow<'a, [u8]>,
}

/// A key's values in an image of a row, each with its column in the log: `None` is NULL.
pub type Image<'a> = Vec<(Field, Option<&'a [u8]>)>;

/// The same, with `None` for what the image lacks.
type Partial<'a> = Vec<Option<(Field, Option<&'a [u8]>)>>;

/// What stands before the rows: how many columns there are, and which are in the images.
pub(super) struct Shape {
    pub(super) columns: usize,
    pub(super) before: Vec<u8>,
    pub(super) after: Vec<u8>,
}

impl Shape {
    /// Reads it. `extra`: the event has a part of its own before it (version 2).
    pub(super) fn parse(r: &mut Reader<'_>, extra: bool, kind: Kind) -> Result<Shape, BinlogError> {
        const WHAT: &str = "columns of rows";
        if extra {
            let length = usize::from(r.u16(WHAT)?).checked_sub(2).ok_or(BinlogError::Malformed(WHAT))?;
            r.bytes(length, WHAT)?;
        }
        let columns = usize::try_from(r.lenenc(WHAT)?).unwrap_or(usize::MAX);
        let bytes = columns.div_ceil(8);
        let before = r.bytes(bytes, WHAT)?.to_vec();
        let after = match kind {
            Kind::Single => Vec::new(),
            _ => r.bytes(bytes, WHAT)?.to_vec(),
        };
        Ok(Shape { columns, before, after })
    }
}

fn has(bits: &[u8], at: usize) -> bool {
    bits.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 != 0)
}

impl Rows<'_> {
    /// Gives the values of the columns with these places, of each image of each row, to `each`.
    ///
    /// # Errors
    /// When the rows can't be read, or lack a key's value; what `each` returns.
    pub fn keys<E: From<BinlogError>>(
        &self,
        places: &[usize],
        mut each: impl FnMut(Image<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.columns > self.table.fields.len() || places.iter().any(|place| *place >= self.columns) {
            return Err(BinlogError::OtherColumns.into());
        }
        let mut r = Reader::new(&self.rows);
        while !r.is_empty() {
            let left = r.rest().len();
            let before = self.image(&mut r, &self.before, places)?;
            if self.kind != Kind::Single {
                if self.kind == Kind::PartialUpdate {
                    self.skip_partial(&mut r)?;
                }
                let after = self.image(&mut r, &self.after, places)?;
                let both = before.iter().zip(after);
                let after: Vec<_> = both.map(|(before, after)| after.or(*before)).collect();
                each(whole(after)?)?;
            }
            each(whole(before)?)?;
            if r.rest().len() == left {
                return Err(BinlogError::Malformed("rows without bytes").into());
            }
        }
        Ok(())
    }

    /// What stands before the second image of a partial update: options, and which documents are given in part. Source: MySQL,
    /// `Rows_event`, `partial_bits`.
    fn skip_partial(&self, r: &mut Reader<'_>) -> Result<(), BinlogError> {
        const WHAT: &str = "partial update";
        if r.lenenc(WHAT)? & 1 != 0 {
            let documents = self.table.fields.iter().filter(|field| field.kind == types::JSON).count();
            r.bytes(documents.div_ceil(8), WHAT)?;
        }
        Ok(())
    }

    /// The values of these columns in the image at hand; `None` for those that it lacks.
    fn image<'r>(&self, r: &mut Reader<'r>, present: &[u8], places: &[usize]) -> Result<Partial<'r>, BinlogError> {
        let there = (0..self.columns).filter(|at| has(present, *at)).count();
        let nulls = r.bytes(there.div_ceil(8), "nulls of a row")?;
        let mut found = vec![None; places.len()];
        let mut nth = 0;
        for (at, field) in self.table.fields.iter().enumerate().take(self.columns) {
            if !has(present, at) {
                continue;
            }
            let value = match has(nulls, nth) {
                true => None,
                false => Some(field.take(r)?),
            };
            nth += 1;
            if let Some(place) = places.iter().position(|place| *place == at) {
                found[place] = Some((*field, value));
            }
        }
        Ok(found)
    }
}

fn whole(image: Partial<'_>) -> Result<Image<'_>, BinlogError> {
    image.into_iter().map(|value| value.ok_or(BinlogError::KeyMissing)).collect()
}
