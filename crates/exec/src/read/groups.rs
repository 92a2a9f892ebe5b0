//! Groups of sorted rows, folded one after another; HAVING, ROLLUP, and an ORDER BY that differs from GROUP BY.
//!
//! What must always hold: only the current group is in memory (with ROLLUP, one for each prefix of the keys). Only if folded rows need
//! another order than the groups', all of them are, up to a limit.

use std::collections::VecDeque;
use std::rc::Rc;

use weir_plan::{Comparison, Condition, Fold, Grouped, SortKey};
use weir_wire::Failure;
use weir_wire::error::codes;

use super::collations::Weights;
use super::columns::{Column, ColumnKind};
use super::decimal::Decimal;
use super::failure::internal;
use super::fold::{FoldState, Folder, Input};
use super::key::{self, KeyPart};
use super::merge::Shape;
use super::row::{self, Format, Span};
use super::value::{self, Value};

/// Folds rows into groups.
#[derive(Debug)]
pub(super) struct Groups {
    plan: Grouped,
    format: Format,
    /// How many of the folded row's columns the client gets.
    client: usize,
    /// The columns of the folded row.
    columns: Vec<Column>,
    having: Option<Having>,
    folders: Vec<Folder>,
    parts: Vec<KeyPart>,
    /// The present row's key, and where each prefix of it ends.
    key: Vec<u8>,
    ends: Vec<usize>,
    /// The groups in progress, by how many of the keys they have: only the last, unless there is a ROLLUP.
    levels: Vec<Vec<FoldState>>,
    /// Their key.
    of: Option<Vec<u8>>,
    ready: VecDeque<Vec<u8>>,
    sort: Option<Sort>,
    /// There is a group of all rows even if there are none.
    always_total: bool,
    /// Texts of GROUP_CONCAT that were cut.
    pub(super) cut: u16,
}

/// By what folded rows are sorted, and within which bounds.
#[derive(Debug)]
struct Sort {
    parts: Vec<KeyPart>,
    rows: Vec<(Vec<u8>, Vec<u8>)>,
    bytes: usize,
    /// No more than these first rows are wanted.
    most: usize,
    limit: usize,
}

/// A condition whose numbers are read.
#[derive(Debug)]
enum Having {
    Compare(usize, Comparison, Decimal),
    And(Vec<Having>),
    Or(Vec<Having>),
}

/// What folding needs apart from the plan.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    pub(super) format: Format,
    pub(super) weights: Rc<Weights>,
    /// How many hidden columns shards' rows have.
    pub(super) hidden: usize,
    /// How many rows at most are wanted.
    pub(super) most: usize,
    /// The most bytes of rows that are sorted.
    pub(super) sort_limit: usize,
    /// ROLLUP of no rows has a row for all of them.
    pub(super) total_of_none: bool,
}

/// The keys by which rows have to come: those of the groups, then those of their sub-groups.
///
/// # Errors
/// When distinct values of different things are wanted that no one order brings together.
pub(super) fn merge_keys(plan: &Grouped) -> Result<Vec<SortKey>, Failure> {
    let mut longest: &[SortKey] = &[];
    for fold in &plan.columns {
        if let Fold::Distinct { by, .. } | Fold::InOrder { by, .. } = fold {
            if plan.rollup.is_some() {
                return Err(internal("distinct values are not counted WITH ROLLUP"));
            }
            let (short, long) = if by.len() < longest.len() { (&by[..], longest) } else { (longest, &by[..]) };
            if !long.starts_with(short) {
                return Err(internal("distinct values of several things have no common order"));
            }
            longest = long;
        }
    }
    Ok([&plan.keys[..], longest].concat())
}

impl Groups {
    /// Folds rows of this shape.
    ///
    /// # Errors
    /// When the plan does not fit the shape.
    pub(super) fn new(plan: &Grouped, shape: &Shape, setting: Setting) -> Result<Groups, Failure> {
        let Setting { format, weights, hidden, most, sort_limit, total_of_none } = setting;
        let (all, folded) = (shape.columns(), plan.columns.len());
        let client = all.len() - hidden;
        if folded < client || folded > all.len() {
            return Err(internal("the plan folds another number of columns than the shards send"));
        }
        let columns = all[..folded].to_vec();
        let parts = |keys: &[SortKey], columns: &[Column]| {
            keys.iter().map(|key| KeyPart::new(key, columns, format, &weights)).collect::<Result<Vec<_>, _>>()
        };
        let sort = match &plan.order {
            Some(order) => {
                Some(Sort { parts: parts(order, &columns)?, rows: Vec::new(), bytes: 0, most, limit: sort_limit })
            }
            None => None,
        };
        let folder = |(fold, column): (&Fold, &Column)| Folder::new(fold, all, format, &weights, column.decimals);
        Ok(Groups {
            format,
            client,
            having: plan.having.as_ref().map(read_condition).transpose()?,
            folders: plan.columns.iter().zip(&columns).map(folder).collect::<Result<_, _>>()?,
            parts: parts(&plan.keys, all)?,
            key: Vec::new(),
            ends: Vec::new(),
            levels: Vec::new(),
            of: None,
            ready: VecDeque::new(),
            sort,
            cut: 0,
            always_total: plan.keys.is_empty() || total_of_none && plan.rollup.is_some(),
            columns,
            plan: plan.clone(),
        })
    }

    /// Takes the next row: the groups that end before it are ready.
    ///
    /// # Errors
    /// A value that is not one of its column's type; too much to sort.
    pub(super) fn take(&mut self, shape: &Shape, row: &[u8], spans: &[Span]) -> Result<(), Failure> {
        self.key.clear();
        self.ends.clear();
        self.ends.push(0);
        for part in &mut self.parts {
            part.put(row, spans, &mut self.key)?;
            self.ends.push(self.key.len());
        }
        let keys = self.parts.len();
        if let Some(of) = &self.of {
            // No part of a key is the beginning of another: prefixes that end at the same place are compared as bytes.
            let same = (0..=keys).rev().find(|at| of.get(..self.ends[*at]) == Some(&self.key[..self.ends[*at]]));
            self.end_groups(same.unwrap_or(0) + 1)?;
        }
        match &mut self.of {
            Some(of) => of.clone_from(&self.key),
            none => *none = Some(self.key.clone()),
        }
        let levels = if self.plan.rollup.is_some() { keys + 1 } else { 1 };
        while self.levels.len() < levels {
            self.levels.push(self.folders.iter().map(Folder::start).collect());
        }
        let input = Input { row, spans, columns: shape.columns(), format: self.format };
        for level in &mut self.levels {
            for (folder, state) in self.folders.iter_mut().zip(level) {
                folder.fold(state, input)?;
            }
        }
        Ok(())
    }

    /// No more rows come: all groups are ready.
    ///
    /// # Errors
    /// As [`Groups::take`].
    pub(super) fn finish(&mut self) -> Result<(), Failure> {
        if self.of.take().is_some() {
            self.end_groups(0)?;
        } else if self.always_total {
            self.levels = vec![self.folders.iter().map(Folder::start).collect()];
            self.end_groups(0)?;
        }
        if let Some(sort) = &mut self.sort {
            sort.rows.sort();
            sort.rows.truncate(sort.most);
            self.ready.extend(sort.rows.drain(..).map(|(_, row)| row));
        }
        Ok(())
    }

    /// The next folded row that is ready.
    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        self.ready.pop_front()
    }

    /// Ends the groups with so many keys and more, those with the most first.
    fn end_groups(&mut self, keys: usize) -> Result<(), Failure> {
        let all = self.parts.len();
        let rollup = self.plan.rollup.is_some();
        if !rollup {
            if keys <= all
                && let Some(level) = self.levels.pop()
            {
                self.end_group(&level, all)?;
            }
            return Ok(());
        }
        while self.levels.len() > keys
            && let Some(level) = self.levels.pop()
        {
            let kept = self.levels.len();
            self.end_group(&level, kept)?;
        }
        Ok(())
    }

    /// A group of which `kept` keys are told is complete.
    fn end_group(&mut self, states: &[FoldState], kept: usize) -> Result<(), Failure> {
        let mut values: Vec<Value> =
            self.folders.iter().zip(states).map(|(folder, state)| folder.value(state)).collect();
        for column in self.plan.rollup.iter().flatten().skip(kept).flatten() {
            if let Some(value) = values.get_mut(*column) {
                *value = Value::Null;
            }
        }
        if let Some(having) = &self.having
            && !self.holds(having, &values)?
        {
            return Ok(());
        }
        let cut = states.iter().filter(|state| state.was_cut()).count();
        self.cut = self.cut.saturating_add(u16::try_from(cut).unwrap_or(u16::MAX));
        let mut payload = Vec::new();
        value::put_row(&values[..self.client], &self.columns[..self.client], self.format, &mut payload)?;
        let Some(sort) = &mut self.sort else {
            self.ready.push_back(payload);
            return Ok(());
        };
        let (mut whole, mut spans, mut key) = (Vec::new(), Vec::new(), Vec::new());
        value::put_row(&values, &self.columns, self.format, &mut whole)?;
        let kinds: Vec<ColumnKind> = self.columns.iter().map(|column| column.kind).collect();
        row::locate(self.format, &kinds, kinds.len(), &whole, &mut spans).map_err(|e| internal(&e.to_string()))?;
        key::encode(&mut sort.parts, &whole, &spans, &mut key)?;
        sort.put(key, payload)
    }

    fn holds(&self, having: &Having, values: &[Value]) -> Result<bool, Failure> {
        Ok(match having {
            Having::And(all) => {
                for one in all {
                    if !self.holds(one, values)? {
                        return Ok(false);
                    }
                }
                true
            }
            Having::Or(any) => {
                for one in any {
                    if self.holds(one, values)? {
                        return Ok(true);
                    }
                }
                false
            }
            Having::Compare(column, operator, number) => {
                let (Some(value), Some(definition)) = (values.get(*column), self.columns.get(*column)) else {
                    return Err(internal("HAVING names a column that is not there"));
                };
                // NULL is neither.
                value.compare(definition, self.format, number)?.is_some_and(|order| match operator {
                    Comparison::Less => order.is_lt(),
                    Comparison::LessOrEqual => order.is_le(),
                    Comparison::Equal => order.is_eq(),
                    Comparison::NotEqual => order.is_ne(),
                    Comparison::GreaterOrEqual => order.is_ge(),
                    Comparison::Greater => order.is_gt(),
                })
            }
        })
    }
}

fn read_condition(condition: &Condition) -> Result<Having, Failure> {
    Ok(match condition {
        Condition::Compare { column, operator, number } => {
            let number = Decimal::parse(number.as_bytes()).map_err(|error| internal(&error.to_string()))?;
            Having::Compare(*column, *operator, number)
        }
        Condition::And(all) => Having::And(all.iter().map(read_condition).collect::<Result<_, _>>()?),
        Condition::Or(any) => Having::Or(any.iter().map(read_condition).collect::<Result<_, _>>()?),
    })
}

impl Sort {
    fn put(&mut self, key: Vec<u8>, row: Vec<u8>) -> Result<(), Failure> {
        self.bytes += size_of::<(Vec<u8>, Vec<u8>)>() + key.capacity() + row.capacity();
        self.rows.push((key, row));
        if self.rows.len() > self.most.saturating_mul(2).saturating_add(1024) || self.bytes > self.limit {
            self.keep_first();
        }
        if self.bytes <= self.limit {
            return Ok(());
        }
        let message = format!(
            "Out of sort memory: the groups to be sorted by something else than their keys have more than {} bytes. Ask for fewer \
             with LIMIT or HAVING, or order by the columns that are grouped by",
            self.limit
        );
        Err(Failure::client(codes::ER_OUT_OF_SORTMEMORY, message))
    }

    /// Forgets what comes behind the rows that are wanted.
    fn keep_first(&mut self) {
        if self.rows.len() > self.most {
            self.rows.sort();
            self.rows.truncate(self.most);
            let size =
                |(key, row): &(Vec<u8>, Vec<u8>)| size_of::<(Vec<u8>, Vec<u8>)>() + key.capacity() + row.capacity();
            self.bytes = self.rows.iter().map(size).sum();
        }
    }
}

#[cfg(test)]
mod tests;
