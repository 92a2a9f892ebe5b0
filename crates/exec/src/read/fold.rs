//! Folds the rows of a group into one row: sums, counts, minima and maxima.
//!
//! What must always hold: sums of exact numbers are exact. A group's memory does not grow with its rows, except for the text of GROUP_CONCAT,
//! which has a limit of its own.

use std::rc::Rc;

use weir_plan::{Fold, SortKey};
use weir_wire::Failure;

use super::collations::Weights;
use super::columns::{Column, ColumnKind};
use super::decimal::Decimal;
use super::failure::internal;
use super::key::{self, KeyPart};
use super::row::{Format, Span};
use super::value::{Value, add, float, integer};

/// A shard's row, and how to read it.
#[derive(Clone, Copy)]
pub(super) struct Input<'a> {
    pub(super) row: &'a [u8],
    pub(super) spans: &'a [Span],
    pub(super) columns: &'a [Column],
    pub(super) format: Format,
}

impl<'a> Input<'a> {
    fn field(&self, column: usize) -> Option<&'a [u8]> {
        self.spans.get(column).and_then(|span| span.of(self.row))
    }

    fn column(&self, column: usize) -> Result<&'a Column, Failure> {
        self.columns.get(column).ok_or_else(|| internal("there is no column to fold"))
    }
}

/// How one column is folded: what stays the same for all groups.
#[derive(Debug)]
pub(super) struct Folder {
    fold: Fold,
    /// What is compared: MIN, MAX, and what makes sub-groups equal.
    parts: Vec<KeyPart>,
    key: Vec<u8>,
    inner: Option<Box<Folder>>,
    /// The decimals of the result.
    decimals: usize,
}

/// What has come of a group's rows so far.
#[derive(Debug, Clone)]
pub(super) enum FoldState {
    First(Option<Option<Vec<u8>>>),
    Sum(Option<Decimal>),
    Count(i128),
    Float(Option<f64>),
    Extreme { key: Vec<u8>, value: Option<Vec<u8>> },
    Average { sum: Decimal, count: u64 },
    AverageFloat { sum: f64, count: u64 },
    Bits(u64),
    Variance { count: f64, mean: f64, squares: f64 },
    Concat { text: Option<Vec<u8>>, cut: bool },
    Distinct { last: Option<Vec<u8>>, inner: Box<FoldState> },
}

impl Folder {
    /// How `fold` makes a column of these decimals from rows of these columns.
    ///
    /// # Errors
    /// When it names what is not there.
    pub(super) fn new(
        fold: &Fold,
        columns: &[Column],
        format: Format,
        weights: &Rc<Weights>,
        decimals: u8,
    ) -> Result<Folder, Failure> {
        if places(fold).into_iter().any(|column| column >= columns.len()) {
            return Err(internal("there is no column to fold"));
        }
        let part =
            |key: &SortKey| KeyPart::new(&SortKey { descending: false, ..key.clone() }, columns, format, weights);
        let fold = &by_type(fold, columns);
        let (keys, inner) = match fold {
            Fold::Min { key, .. } | Fold::Max { key, .. } => (std::slice::from_ref(key), None),
            Fold::Distinct { by, fold } => {
                if !matches!(
                    **fold,
                    Fold::First(_)
                        | Fold::Count(_)
                        | Fold::Sum(_)
                        | Fold::SumFloat(_)
                        | Fold::Average { .. }
                        | Fold::Concat { .. }
                ) {
                    return Err(internal("only counts, sums, averages and texts are folded of distinct values"));
                }
                (&by[..], Some(Box::new(Folder::new(fold, columns, format, weights, decimals)?)))
            }
            _ => (&[][..], None),
        };
        let parts = keys.iter().map(part).collect::<Result<_, _>>()?;
        Ok(Folder { fold: fold.clone(), parts, key: Vec::new(), inner, decimals: decimals.into() })
    }

    /// A group without rows.
    pub(super) fn start(&self) -> FoldState {
        match &self.fold {
            Fold::First(_) => FoldState::First(None),
            Fold::Sum(_) => FoldState::Sum(None),
            Fold::Count(_) => FoldState::Count(0),
            Fold::SumFloat(_) => FoldState::Float(None),
            Fold::Min { .. } | Fold::Max { .. } => FoldState::Extreme { key: Vec::new(), value: None },
            Fold::Average { float: false, .. } => FoldState::Average { sum: Decimal::default(), count: 0 },
            Fold::Average { float: true, .. } => FoldState::AverageFloat { sum: 0.0, count: 0 },
            Fold::BitAnd(_) => FoldState::Bits(u64::MAX),
            Fold::BitOr(_) | Fold::BitXor(_) => FoldState::Bits(0),
            Fold::Variance { .. } => FoldState::Variance { count: 0.0, mean: 0.0, squares: 0.0 },
            Fold::Concat { .. } => FoldState::Concat { text: None, cut: false },
            Fold::Distinct { .. } | Fold::InOrder { .. } => {
                let inner = self.inner.as_ref().map_or(FoldState::Count(0), |inner| inner.start());
                FoldState::Distinct { last: None, inner: Box::new(inner) }
            }
        }
    }

    /// Folds a row.
    ///
    /// # Errors
    /// When a value is not one of its column's type.
    pub(super) fn fold(&mut self, state: &mut FoldState, input: Input<'_>) -> Result<(), Failure> {
        match (&self.fold, state) {
            (Fold::Min { value, key }, FoldState::Extreme { key: best, value: shown }) => {
                if input.field(key.column).is_some() {
                    key::encode(&mut self.parts, input.row, input.spans, &mut self.key)?;
                    if shown.is_none() || self.key < *best {
                        take_extreme(&self.key, best, shown, input.field(*value));
                    }
                }
            }
            (Fold::Max { value, key }, FoldState::Extreme { key: best, value: shown }) => {
                if input.field(key.column).is_some() {
                    key::encode(&mut self.parts, input.row, input.spans, &mut self.key)?;
                    if shown.is_none() || self.key > *best {
                        take_extreme(&self.key, best, shown, input.field(*value));
                    }
                }
            }
            (Fold::Distinct { by, .. }, FoldState::Distinct { last, inner }) => {
                key::encode(&mut self.parts, input.row, input.spans, &mut self.key)?;
                if last.as_ref() == Some(&self.key) {
                    return Ok(());
                }
                last.get_or_insert_default().clone_from(&self.key);
                let has_null = by.iter().any(|key| input.field(key.column).is_none());
                let folder = self.inner.as_mut().ok_or_else(|| internal("nothing is folded of distinct values"))?;
                folder.fold_distinct(inner, input, has_null)?;
            }
            (fold, state) => fold_simple(fold, state, input)?,
        }
        Ok(())
    }

    /// Folds the first of equal sub-groups.
    fn fold_distinct(&mut self, state: &mut FoldState, input: Input<'_>, has_null: bool) -> Result<(), Failure> {
        match (&self.fold, state) {
            (Fold::Count(_), FoldState::Count(count)) => *count += i128::from(!has_null),
            (Fold::Average { sum: column, .. }, FoldState::Average { sum, count }) => {
                if let Some(field) = input.field(*column) {
                    add(sum, input.column(*column)?, input.format, field)?;
                    *count += 1;
                }
            }
            (Fold::Average { sum: column, .. }, FoldState::AverageFloat { sum, count }) => {
                if let Some(field) = input.field(*column) {
                    *sum += float(input.column(*column)?, input.format, field)?;
                    *count += 1;
                }
            }
            (_, state) => self.fold(state, input)?,
        }
        Ok(())
    }

    /// The group's value.
    pub(super) fn value(&self, state: &FoldState) -> Value {
        match (&self.fold, state) {
            (_, FoldState::First(value)) => value.clone().flatten().map_or(Value::Null, Value::Field),
            (_, FoldState::Extreme { value, .. }) => value.clone().map_or(Value::Null, Value::Field),
            (_, FoldState::Sum(sum)) => sum.clone().map_or(Value::Null, Value::Decimal),
            (_, FoldState::Count(count)) => Value::Integer(*count),
            (_, FoldState::Float(sum)) => sum.map_or(Value::Null, Value::Float),
            (_, FoldState::Average { count: 0, .. } | FoldState::AverageFloat { count: 0, .. }) => Value::Null,
            (_, FoldState::Average { sum, count }) => Value::Digits(sum.average(*count, self.decimals)),
            (_, FoldState::AverageFloat { sum, count }) => Value::Float(sum / *count as f64),
            (_, FoldState::Bits(bits)) => Value::Integer(i128::from(*bits)),
            (_, FoldState::Concat { text, .. }) => text.clone().map_or(Value::Null, Value::Text),
            (Fold::Variance { sample, root, .. }, FoldState::Variance { count, squares, .. }) => {
                let divisor = if *sample { count - 1.0 } else { *count };
                if divisor <= 0.0 {
                    return Value::Null;
                }
                let variance = squares / divisor;
                Value::Float(if *root { variance.sqrt() } else { variance })
            }
            (_, FoldState::Distinct { inner, .. }) => {
                self.inner.as_ref().map_or(Value::Null, |folder| folder.value(inner))
            }
            (_, FoldState::Variance { .. }) => Value::Null,
        }
    }
}

impl FoldState {
    /// Whether GROUP_CONCAT has left something out.
    pub(super) fn was_cut(&self) -> bool {
        matches!(self, FoldState::Concat { cut: true, .. })
    }
}

/// The columns that a fold reads, apart from those that it compares.
fn places(fold: &Fold) -> [usize; 3] {
    match fold {
        Fold::First(column)
        | Fold::Sum(column)
        | Fold::Count(column)
        | Fold::SumFloat(column)
        | Fold::BitAnd(column)
        | Fold::BitOr(column)
        | Fold::BitXor(column) => [*column; 3],
        Fold::Min { value, key } | Fold::Max { value, key } => [*value, *value, key.column],
        Fold::Average { sum, count, .. } => [*sum, *sum, *count],
        Fold::Variance { count, mean, variance, .. } => [*count, *mean, *variance],
        Fold::Concat { column, limit, .. } => [*column, *column, *limit],
        Fold::Distinct { fold, .. } | Fold::InOrder { fold, .. } => places(fold),
    }
}

/// Sums of what the server takes for approximate are approximate.
fn by_type(fold: &Fold, columns: &[Column]) -> Fold {
    let approximate = |column: &usize| {
        columns.get(*column).is_some_and(|column| matches!(column.kind, ColumnKind::Float | ColumnKind::Double))
    };
    match fold {
        Fold::Sum(column) if approximate(column) => Fold::SumFloat(*column),
        Fold::Average { sum, count, .. } if approximate(sum) => Fold::Average { sum: *sum, count: *count, float: true },
        // Rows come in the order that the merge was asked for.
        Fold::InOrder { fold, .. } => by_type(fold, columns),
        other => other.clone(),
    }
}

fn take_extreme(key: &[u8], best: &mut Vec<u8>, shown: &mut Option<Vec<u8>>, value: Option<&[u8]>) {
    best.clear();
    best.extend_from_slice(key);
    let shown = shown.get_or_insert_default();
    shown.clear();
    shown.extend_from_slice(value.unwrap_or_default());
}

fn fold_simple(fold: &Fold, state: &mut FoldState, input: Input<'_>) -> Result<(), Failure> {
    let format = input.format;
    match (fold, state) {
        (Fold::First(column), FoldState::First(value)) => {
            if value.is_none() {
                *value = Some(input.field(*column).map(<[u8]>::to_vec));
            }
        }
        (Fold::Sum(column), FoldState::Sum(sum)) => {
            if let Some(field) = input.field(*column) {
                add(sum.get_or_insert_default(), input.column(*column)?, format, field)?;
            }
        }
        (Fold::Count(column), FoldState::Count(count)) => {
            if let Some(field) = input.field(*column) {
                *count += integer(input.column(*column)?, format, field)?;
            }
        }
        (Fold::SumFloat(column), FoldState::Float(sum)) => {
            if let Some(field) = input.field(*column) {
                *sum.get_or_insert_default() += float(input.column(*column)?, format, field)?;
            }
        }
        (Fold::Average { sum: from, count: counts, .. }, FoldState::Average { sum, count }) => {
            if let Some(field) = input.field(*from) {
                add(sum, input.column(*from)?, format, field)?;
                *count += count_of(input, *counts)?;
            }
        }
        (Fold::Average { sum: from, count: counts, .. }, FoldState::AverageFloat { sum, count }) => {
            if let Some(field) = input.field(*from) {
                *sum += float(input.column(*from)?, format, field)?;
                *count += count_of(input, *counts)?;
            }
        }
        (Fold::BitAnd(column) | Fold::BitOr(column) | Fold::BitXor(column), FoldState::Bits(bits)) => {
            if let Some(field) = input.field(*column) {
                let value = integer(input.column(*column)?, format, field)? as u64;
                match fold {
                    Fold::BitAnd(_) => *bits &= value,
                    Fold::BitOr(_) => *bits |= value,
                    _ => *bits ^= value,
                }
            }
        }
        (Fold::Variance { count, mean, variance, .. }, FoldState::Variance { count: all, mean: middle, squares }) => {
            add_variance(input, [*count, *mean, *variance], [all, middle, squares])?;
        }
        (Fold::Concat { column, separator, limit }, FoldState::Concat { text, cut }) => {
            if let Some(field) = input.field(*column) {
                let most = count_of(input, *limit)?;
                append(text, field, separator, usize::try_from(most).unwrap_or(usize::MAX), cut);
            }
        }
        _ => return Err(internal("a fold and its state do not belong together")),
    }
    Ok(())
}

/// Adds a shard's rows, of which it tells count, mean and variance, to those so far: Chan's way of combining parts.
fn add_variance(input: Input<'_>, columns: [usize; 3], [all, middle, squares]: [&mut f64; 3]) -> Result<(), Failure> {
    let number = |at: usize| match input.field(at) {
        Some(field) => float(input.column(at)?, input.format, field).map(Some),
        None => Ok(None),
    };
    let [count, mean, variance] = columns;
    if let (Some(count), Some(mean), Some(variance)) = (number(count)?, number(mean)?, number(variance)?)
        && count > 0.0
    {
        let (difference, total) = (mean - *middle, *all + count);
        *squares += variance * count + difference * difference * *all * count / total;
        *middle += difference * count / total;
        *all = total;
    }
    Ok(())
}

fn count_of(input: Input<'_>, column: usize) -> Result<u64, Failure> {
    let Some(field) = input.field(column) else { return Ok(0) };
    let count = integer(input.column(column)?, input.format, field)?;
    u64::try_from(count).map_err(|_| internal("a count is negative"))
}

/// Appends a part's text, up to a number of bytes, at the end of a character.
fn append(text: &mut Option<Vec<u8>>, part: &[u8], separator: &[u8], most: usize, cut: &mut bool) {
    if *cut {
        return;
    }
    let text = match text {
        Some(text) => {
            text.extend_from_slice(separator);
            text
        }
        None => text.insert(Vec::new()),
    };
    text.extend_from_slice(part);
    if text.len() > most {
        *cut = true;
        text.truncate(most);
        // Of a charset other than utf8 nothing is known: there the last byte stands.
        if let Err(error) = std::str::from_utf8(text)
            && error.error_len().is_none()
        {
            text.truncate(error.valid_up_to());
        }
    }
}
