//! INSERT and REPLACE of rows that stand in the text.
//!
//! What must always hold: a row goes to the shard of its key, and rows of one shard keep their order.

use weir_catalog::{Constant, Located, Placement, ShardId, no_part};
use weir_sql::ast::{Assignment, Expr, ExprKind, Insert, InsertSource, Span};
use weir_sql::facts::Varies;

use super::Input;
use super::edits::Edits;
use super::literal::literal;
use super::lone;
use super::moving::place_of_assigned;
use super::names::{Target, with_facts};
use super::nulls::{place_of_default, place_of_null};
use super::on_duplicate;
use super::own_reads::refuse_own_reads;
use super::resolve::Settling;
use super::returning::Returning;
use super::rows::Rows;
use super::select::plan_select;
use super::varying::Varying;
use crate::{Duplicates, Need, Plan, Raise, Refusal, Returns, Route, SharedValues, Write, WriteKind};

/// The most bytes that stand around rows which have a text each.
const MOST_AROUND: usize = 12 << 20;

pub(super) fn plan_insert<'a>(input: &Input<'a>, insert: &'a Insert<'a>) -> Result<Plan, Refusal> {
    let target = Target::named(input, &insert.table)?;
    if let InsertSource::Query(query) = insert.source {
        keep_key(&target, insert.on_duplicate)?;
        return plan_select(input, insert, query, &target);
    }
    let Some(rows) = Rows::of(insert, target.table)? else {
        return Err(Need::Nothing.refused("An INSERT without rows"));
    };
    let end = (0..rows.len()).filter_map(|row| rows.span(row)).map(|span| span.end).max();
    let (varying, reads, assigned) = with_facts(input, |facts| {
        let others = || facts.names.tables().filter(|(source, _)| source.span != insert.table.span);
        let behind = |at: u32| end.is_some_and(|end| at as usize >= end);
        let assigned = on_duplicate::read_first(input, insert, &target, facts);
        let known = |span: Span| assigned.iter().any(|one| one.range().contains(&(span.start as usize)));
        let elsewhere = others().filter(|(source, _)| behind(source.span.start) && !known(source.span));
        on_duplicate::refuse_foreign_reads(input, &target, elsewhere.map(|(_, table)| table))?;
        let reads = on_duplicate::refuse_foreign_reads(input, &target, others().map(|(_, table)| table)).is_err();
        Ok((Varying::of(input, facts.varies), reads, assigned))
    })?;
    // What changes rows is not computed apart: the statement runs where the function does.
    let stored = varying.varies.contains(Varies::STORED) && !varying.varies.contains(Varies::CHANGES);
    let placed = stored && (0..rows.len()).any(|row| rows.values(row).any(|value| input.reads.calls_placed(value)));
    let reads = reads || placed;
    let single = match target.table.placement {
        Placement::Single(shard) if !reads => return Ok(route(shard, None, "the table is on one shard".to_owned())),
        Placement::Single(_) => true,
        _ => false,
    };
    let keeps_key = keep_key(&target, insert.on_duplicate);
    let returning = Returning::of(insert.returning);

    let mut settling = Settling::new(input, target, insert.ignore);
    if !single {
        settling.rows(insert, &rows)?;
    }
    if reads {
        refuse_own_reads(input, &[target], false)?;
        settling.subqueries(&rows)?;
        settling.assigned(&assigned);
    }
    if target.is_global() {
        once_for_copies(&mut settling, &varying, insert, &rows)?;
    }
    let raise = settling.raise();
    let changed = Changed { input, target, varying, raise, returning, keeps_key };
    if let Some(resolve) = settling.needed(target.keeper())? {
        if let Some(returning) = returning {
            returning.keep_columns(input)?;
        }
        let reason = "values are resolved first, and written into the text as literals".to_owned();
        return Ok(Plan::Write(Write {
            kind: WriteKind::Resolve(resolve),
            alike: SharedValues::default(),
            raise: None,
            returns: returning.map(|_| Returns::All),
            reason,
        }));
    }
    if target.is_global() { changed.global() } else { changed.by_key(insert, &rows) }
}

/// An INSERT whose values are all known.
struct Changed<'i, 'a> {
    input: &'i Input<'a>,
    target: Target<'a>,
    varying: Varying,
    raise: Option<Raise>,
    returning: Option<Returning<'a>>,
    /// Whether ON DUPLICATE KEY UPDATE leaves the shard key as it is.
    keeps_key: Result<(), Refusal>,
}

impl<'a> Changed<'_, 'a> {
    fn edits(&self) -> Edits {
        let mut edits = Edits::of_parameters(self.input.statement, self.input.text, self.input.session);
        edits.sort();
        edits
    }

    fn global(self) -> Result<Plan, Refusal> {
        let alike = self.varying.alike(&[self.target], true)?;
        let text = self.edits().apply(self.input.text);
        let kind = WriteKind::Global(self.target.database.shards.clone(), text);
        let reason = format!("each shard has a copy of {}", self.target.shown());
        let returns = self.returns(|| Returns::OfOne)?;
        Ok(Plan::Write(Write { kind, alike, raise: self.raise, returns, reason }))
    }

    fn by_key(self, insert: &Insert<'a>, rows: &Rows<'a>) -> Result<Plan, Refusal> {
        let shards = self.shards(insert, rows)?;
        let mut involved = shards.clone();
        involved.sort_unstable();
        involved.dedup();
        if let [shard] = involved[..] {
            if self.keeps_key.is_err()
                && place_of_assigned(self.input, &self.target, insert.on_duplicate)? != Some(shard)
            {
                self.keeps_key?;
            }
            return Ok(route(shard, self.raise, "all rows are of one shard".to_owned()));
        }
        self.keeps_key.clone()?;
        // Which rows were ignored is known only of rows that are inserted one by one.
        let one_by_one = insert.ignore && self.returning.is_some();
        if one_by_one && rows.len().saturating_mul(self.around(rows)) > MOST_AROUND {
            return Err(Need::OtherForm.refused(
                "RETURNING of INSERT IGNORE of so many rows that go to several shards: they are inserted one by one. Insert fewer at once",
            ));
        }
        let place = |shard| involved.iter().position(|known| known == shard);
        let returns = self.returns(|| match one_by_one {
            true => Returns::All,
            false => Returns::InOrder(shards.iter().filter_map(place).collect()),
        })?;
        let alike = self.varying.alike(&[self.target], true)?;
        let edits = self.edits();
        let texts = match one_by_one {
            true => {
                (0..rows.len()).map(|row| (shards[row], self.subset(insert, rows, |at| at == row, &edits))).collect()
            }
            false => {
                let subset = |shard: ShardId| self.subset(insert, rows, |row| shards[row] == shard, &edits);
                involved.iter().map(|shard| (*shard, subset(*shard))).collect()
            }
        };
        let duplicates = match (insert.ignore, insert.replace || !insert.on_duplicate.is_empty()) {
            (true, _) => Duplicates::Ignore,
            (false, true) => Duplicates::Change,
            (false, false) => Duplicates::Error,
        };
        let kind = WriteKind::Split(texts, duplicates);
        let reason = format!("{} rows by their keys", rows.len());
        Ok(Plan::Write(Write { kind, alike, raise: self.raise, returns, reason }))
    }

    /// The rows that the client gets, if it asks for any.
    fn returns(&self, which: impl FnOnce() -> Returns) -> Result<Option<Returns>, Refusal> {
        let Some(returning) = self.returning else { return Ok(None) };
        returning.keep_columns(self.input)?;
        returning.alike(&self.varying)?;
        Ok(Some(which()))
    }

    /// The shard of each row.
    fn shards(&self, insert: &Insert<'a>, rows: &Rows<'a>) -> Result<Vec<ShardId>, Refusal> {
        let key = self.target.key().map_or(&[][..], |key| &key.columns);
        let places: Vec<usize> = key.iter().filter_map(|column| rows.place(*column)).collect();
        let mut shards = Vec::with_capacity(rows.len());
        let mut values: Vec<&Expr<'_>> = Vec::with_capacity(places.len());
        let unknown = || Need::Value.refused("The value of a shard key is not known: write it as a literal");
        for row in 0..rows.len() {
            values.clear();
            for place in &places {
                values.push(rows.value(row, *place).ok_or_else(unknown)?);
            }
            let reads = self.input.reads;
            let columns = || key.iter().copied().zip(values.iter().copied()).collect::<Vec<_>>();
            let given = reads.stored(self.target.database, self.target.table, &values);
            let located = match given {
                None => place_of_default(self.input, &self.target, insert.ignore, &columns()).ok_or_else(unknown)?,
                Some(Located::Unsure) => {
                    place_of_null(self.input, &self.target, insert, &columns())?.unwrap_or(Located::Unsure)
                }
                Some(located) => located,
            };
            shards.push(placed(&self.target, located, || values.iter().filter_map(|value| reads.constant(value)))?);
        }
        Ok(shards)
    }

    /// How long the text is without its rows.
    fn around(&self, rows: &Rows<'a>) -> usize {
        let span = |row| rows.span(row).unwrap_or_default();
        self.input.text.len() + span(0).start - span(rows.len() - 1).end
    }

    /// The text with some of the rows only.
    fn subset(&self, insert: &Insert<'a>, rows: &Rows<'a>, has: impl Fn(usize) -> bool, edits: &Edits) -> Vec<u8> {
        let text = self.input.text;
        let span = |row| rows.span(row).unwrap_or_default();
        let (first, last) = (span(0), span(rows.len() - 1));
        let mut out = edits.cut(text, 0..first.start);
        if let Some(lone) = self.lone(insert, rows, &has, (&out, edits)) {
            out = lone;
            edits.put(&mut out, text, last.end..text.len());
            return out;
        }
        let mut between = &b""[..];
        for row in (0..rows.len()).filter(|row| has(*row)) {
            out.extend_from_slice(between);
            edits.put(&mut out, text, span(row));
            between = b",";
        }
        edits.put(&mut out, text, last.end..text.len());
        out
    }

    /// The text up to the end of the only one of these rows, if it is sent as that of a query. `head`: the text before the rows.
    fn lone(
        &self,
        insert: &Insert<'a>,
        rows: &Rows<'a>,
        has: impl Fn(usize) -> bool,
        (head, edits): (&[u8], &Edits),
    ) -> Option<Vec<u8>> {
        let mut own = (0..rows.len()).filter(|row| has(*row));
        let (Some(row), None) = (own.next(), own.next()) else { return None };
        if !lone::is_query(self.input, &self.target, insert, rows, row) {
            return None;
        }
        let mut text = Vec::new();
        edits.put(&mut text, self.input.text, rows.span(row)?);
        lone::as_query(head, &text)
    }
}

/// The shard of a row, or why there is none.
fn placed<V: Iterator<Item = Constant>>(
    target: &Target<'_>,
    located: Located,
    values: impl FnOnce() -> V,
) -> Result<ShardId, Refusal> {
    match located {
        Located::Shard(shard) => Ok(shard),
        Located::NeedsWeights(collation, characters) => Err(Refusal::NeedsWeights(collation, characters)),
        Located::Nowhere => {
            let shown = values().map(|value| String::from_utf8_lossy(&literal(&value)).into_owned());
            Err(Refusal::Failure(no_part(&shown.collect::<Vec<_>>().join(","))))
        }
        Located::Unsure => Err(Need::Value.refused(format!(
            "Weir cannot tell from the statement which value the server stores in the shard key of {}. Write it as a literal of the \
             column's type",
            target.shown()
        ))),
    }
}

fn route(shard: ShardId, raise: Option<Raise>, reason: String) -> Plan {
    Plan::Route(Route { shard, text: None, raise, reason })
}

/// Values that must be the same in all copies are asked once.
fn once_for_copies<'a>(
    settling: &mut Settling<'_, 'a>,
    varying: &Varying,
    insert: &Insert<'a>,
    rows: &Rows<'a>,
) -> Result<(), Refusal> {
    let last = (0..rows.len()).filter_map(|row| rows.span(row)).map(|span| span.end).max();
    let end = last.or(insert.on_duplicate.first().map(|one| one.span.range().start));
    let returned = Returning::of(insert.returning).map_or(usize::MAX, Returning::start);
    for (range, varies) in varying.values.iter().filter(|(range, _)| range.start < returned) {
        let behind = end.is_some_and(|end| range.start >= end);
        if behind && varies.contains(Varies::RANDOM) {
            return Err(Need::Value.refused(
                "A random value in ON DUPLICATE KEY UPDATE of a GLOBAL table: its copies would differ. Compute it first and write it as a \
                 literal",
            ));
        }
        settling.once(range.clone());
    }
    Ok(())
}

/// ON DUPLICATE KEY UPDATE must leave the row where it is.
fn keep_key(target: &Target<'_>, assignments: &[Assignment<'_>]) -> Result<(), Refusal> {
    let Some(key) = target.key() else { return Ok(()) };
    for one in assignments {
        let Some(column) = target.table.column(one.column.name.name) else { continue };
        if key.columns.contains(&column) && !stays(target, column, &one.value) {
            let name = &target.table.columns[column].name;
            return Err(Need::OtherForm.refused(format!(
                "ON DUPLICATE KEY UPDATE of '{name}', which is part of the shard key: the row could belong on another shard. UPDATE the row instead"
            )));
        }
    }
    Ok(())
}

/// Whether an assignment leaves a column's value as it is: `c = c`, `c = VALUES(c)`, `c = LAST_INSERT_ID(c)`.
fn stays(target: &Target<'_>, column: usize, value: &Expr<'_>) -> bool {
    let name = &target.table.columns[column].name;
    let is_column = |expr: &Expr<'_>| matches!(expr.bare().kind, ExprKind::Column(of) if of.name.is(name));
    match value.bare().kind {
        ExprKind::Column(_) => is_column(value),
        ExprKind::Call(call) => {
            let [argument] = call.arguments else { return false };
            // The new row's value is that of the row with the same key, unless the key lacks the shard key.
            let new = (call.name.name.is("VALUES") || call.name.name.is("VALUE")) && target.table.unchecked.is_empty();
            (new || call.name.name.is("LAST_INSERT_ID")) && is_column(argument)
        }
        _ => false,
    }
}
