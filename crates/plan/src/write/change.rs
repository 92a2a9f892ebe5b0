//! UPDATE and DELETE.
//!
//! What must always hold: each shard decides about its own rows alone, and no row is left on a shard that its key does not say.

use weir_catalog::ShardId;
use weir_sql::ast::{
    Assignment, ColumnName, Expr, ExprKind, Limit, OrderItem, StatementKind, TableRef, TableRefKind, Update,
};
use weir_sql::facts::{Facts, Varies};
use weir_sql::resolve::{ColumnRole, ColumnUse, Roles, Source, SourceKind};
use weir_wire::Failure;
use weir_wire::error::codes;

use super::edits::Edits;
use super::gather::plan_gather;
use super::moving::{place_of_assigned, plan_move};
use super::names::{Target, with_facts};
use super::own_reads::refuse_own_reads;
use super::portion::{is_of_portion, refuse_found_first, refuse_numbered};
use super::returning::Returning;
use super::varying::Varying;
use super::{Input, refuse_group_functions};
use crate::analysis::has_query;
use crate::{Gather, Need, Plan, Refusal, Returns, Route, Write, WriteKind};

/// What UPDATE and DELETE have in common.
struct Change<'a> {
    assignments: &'a [Assignment<'a>],
    order_by: &'a [OrderItem<'a>],
    limit: Option<&'a Limit<'a>>,
    returning: Option<Returning<'a>>,
    /// The tables that are written.
    targets: Vec<Target<'a>>,
    /// Which of the statement's tables each is.
    sources: Vec<usize>,
    /// Which of the statement's tables each assignment changes, if that is certain.
    assigned: Vec<Option<usize>>,
    /// All tables that are named have a copy on each shard.
    all_global: bool,
    /// MariaDB's FOR PORTION OF.
    of_portion: bool,
    varying: Varying,
}

pub(super) fn plan_change(input: &Input<'_>) -> Result<Plan, Refusal> {
    if let StatementKind::Update(update) = input.statement.kind {
        refuse_order_of_several(input, update)?;
    }
    let change = Change::of(input)?;
    if change.of_portion {
        refuse_numbered(&change.targets)?;
    }
    match change.targets.iter().filter(|target| target.is_global()).count() {
        0 => change.sharded(input),
        global if global == change.targets.len() => change.global(input),
        _ => change.with_copies(input),
    }
}

/// MySQL takes neither ORDER BY nor LIMIT in an UPDATE of several tables; MariaDB does.
fn refuse_order_of_several(input: &Input<'_>, update: &Update<'_>) -> Result<(), Refusal> {
    let several = !matches!(update.tables, [TableRef { kind: TableRefKind::Table(_), .. }]);
    let clause = match (update.order_by, update.limit) {
        ([], None) => return Ok(()),
        ([], Some(_)) => "LIMIT",
        _ => "ORDER BY",
    };
    if !several || input.session.mariadb {
        return Ok(());
    }
    let message = format!("Incorrect usage of UPDATE and {clause}");
    Err(Refusal::Failure(Failure::client(codes::ER_WRONG_USAGE, message)))
}

impl<'a> Change<'a> {
    fn of(input: &Input<'a>) -> Result<Change<'a>, Refusal> {
        let (assignments, condition, order_by, limit, returning) = match input.statement.kind {
            StatementKind::Update(update) => {
                (update.assignments, update.condition, update.order_by, update.limit, update.returning)
            }
            StatementKind::Delete(delete) => {
                (&[][..], delete.condition, delete.order_by, delete.limit, delete.returning)
            }
            _ => return Err(Need::Nothing.refused("This statement is neither UPDATE nor DELETE")),
        };
        let values = assignments.iter().map(|one| &one.value);
        refuse_group_functions(values.chain(&condition).chain(order_by.iter().map(|item| &item.expr)))?;
        with_facts(input, |facts| {
            let (sources, targets) = targets(input, facts)?.into_iter().unzip();
            let assigned = assignments.iter().map(|one| assigned_source(one, facts)).collect();
            let varying = Varying::of(input, facts.varies);
            let all_global = facts.names.tables().all(|(_, table)| {
                let known = Target::of(input.catalog, table.database.unwrap_or_default(), table.name);
                known.is_some_and(|known| known.is_global())
            });
            let returning = Returning::of(returning);
            let of_portion = is_of_portion(input.statement);
            Ok(Change {
                assignments,
                order_by,
                limit,
                returning,
                targets,
                sources,
                assigned,
                all_global,
                of_portion,
                varying,
            })
        })
    }

    fn is_update(&self) -> bool {
        !self.assignments.is_empty()
    }

    fn text(input: &Input<'_>) -> Vec<u8> {
        let mut edits = Edits::of_parameters(input.statement, input.text, input.session);
        edits.sort();
        edits.apply(input.text)
    }

    fn global(&self, input: &Input<'_>) -> Result<Plan, Refusal> {
        if !self.all_global {
            return self.by_keys(input, "each copy of the GLOBAL table would be changed by other rows".to_owned());
        }
        if self.limit.is_some() && !self.is_ordered_by_key() {
            return Err(Need::OtherForm.refused(
                "LIMIT in a change of a GLOBAL table: each copy could take other rows. Add ORDER BY of the whole primary key",
            ));
        }
        if let Some(varies) = self.varies() {
            let what = if varies.contains(Varies::RANDOM) {
                "a random value"
            } else {
                "a value that differs from server to server"
            };
            return Err(Need::Value.refused(format!(
                "A change of a GLOBAL table by {what}: its copies would differ. Compute it first and write it as a literal"
            )));
        }
        let returns = self.returns(input, Returns::OfOne)?;
        let alike = self.varying.alike(&self.targets, self.is_update())?;
        let Some(target) = self.targets.first() else { return Err(Need::Nothing.refused("A change of no table")) };
        let kind = WriteKind::Global(target.database.shards.clone(), Self::text(input));
        let reason = format!("each shard has a copy of {}", target.shown());
        Ok(Plan::Write(Write { kind, alike, raise: None, returns, reason }))
    }

    /// What would differ from copy to copy. The session's own values are brought to each copy's connection.
    fn varies(&self) -> Option<Varies> {
        let mut values = self.varying.values.iter().map(|(_, varies)| *varies);
        values.find(|varies| *varies != Varies::SESSION)
    }

    /// Of GLOBAL tables and others: a row is on one shard, and its copies are on all.
    fn with_copies(&self, input: &Input<'_>) -> Result<Plan, Refusal> {
        if self.moved_key().is_some() {
            return Err(moves_with_others());
        }
        self.by_keys(input, "it changes rows of one shard, and rows that all shards have copies of".to_owned())
    }

    /// Whether ORDER BY names all columns of the primary key: then it is total.
    fn is_ordered_by_key(&self) -> bool {
        let [target] = &self.targets[..] else { return false };
        let key = &target.table.primary_key;
        let ordered = |column: &usize| {
            let name = &target.table.columns[*column].name;
            self.order_by.iter().any(|item| matches!(item.expr.bare().kind, ExprKind::Column(of) if of.name.is(name)))
        };
        !key.is_empty() && key.iter().all(ordered)
    }

    fn sharded(&self, input: &Input<'_>) -> Result<Plan, Refusal> {
        let shards = match input.reads.alone() {
            Err(Refusal::NeedsWorkbench(why)) if self.moved_key().is_none() => return self.by_keys(input, why),
            shards => shards?,
        };
        if let [shard] = shards[..]
            && (self.moved_key().is_none() || self.stays_on(input, shard)?)
        {
            let reason = "all rows that it can change are on one shard".to_owned();
            return Ok(Plan::Route(Route { shard, text: None, raise: None, reason }));
        }
        if let Some(column) = self.moved_key() {
            let [target] = &self.targets[..] else {
                return Err(moves_with_others());
            };
            if self.of_portion {
                return Err(refuse_found_first(&format!("'{column}' is part of the shard key")));
            }
            let alike = self.varying.alike(&self.targets, true)?;
            let kind = WriteKind::Move(plan_move(input, target)?);
            let reason = format!("'{column}' is part of the shard key: rows move to the shards of their new keys");
            return Ok(Plan::Write(Write { kind, alike, raise: None, returns: None, reason }));
        }
        if self.returning.is_some() && !self.order_by.is_empty() && !shards.is_empty() {
            return self.by_keys(input, "RETURNING has the order of rows of all shards".to_owned());
        }
        if self.limit.is_some() {
            return self.by_keys(input, "LIMIT is meant over all shards".to_owned());
        }
        let returns = self.returns(input, Returns::All)?;
        let alike = self.varying.alike(&self.targets, self.is_update())?;
        let shards = if shards.is_empty() { self.any_shard() } else { shards };
        let kind = WriteKind::Everywhere(shards, Self::text(input));
        let reason = "each shard changes its own rows".to_owned();
        Ok(Plan::Write(Write { kind, alike, raise: None, returns, reason }))
    }

    /// The rows are found first, and changed by their keys. `why`: what stands in the way of anything cheaper.
    fn by_keys(&self, input: &Input<'_>, why: String) -> Result<Plan, Refusal> {
        if self.of_portion {
            return Err(refuse_found_first(&why));
        }
        refuse_own_reads(input, &self.targets, true)?;
        let mut read = self.assignments.iter().map(|one| &one.value).chain(self.order_by.iter().map(|item| &item.expr));
        if read.any(has_query) && input.reads.has_outer_aggregate() {
            // A change has it for each row; the query that finds the rows would have one row of all.
            return Err(Need::OtherForm.refused(
                "An aggregate of the changed table's own columns, in a subquery, is not supported over several shards: leave the aggregate out, \
                 as it is of one row",
            ));
        }
        let all_copies = self.targets.iter().all(Target::is_global);
        let returns = self.returns(input, if all_copies { Returns::OfOne } else { Returns::All })?;
        let alike = self.varying.alike(&self.targets, self.is_update())?;
        let gather = match &self.targets[..] {
            [target] => plan_gather(input, &[(target, None)], self.varies().is_some())?,
            targets => self.of_several(input, targets)?,
        };
        let kind = WriteKind::Gather(gather);
        let reason = format!("{why}: the rows are found first, and changed by their keys");
        Ok(Plan::Write(Write { kind, alike, raise: None, returns, reason }))
    }

    /// Several tables, or one by several names.
    fn of_several(&self, input: &Input<'_>, targets: &[Target<'_>]) -> Result<Gather, Refusal> {
        let unfit = |why: &str| {
            Need::OtherForm.refused(format!(
                "A change of several tables by rows of several shards is not supported {why}: change each in a statement of its own, in a transaction"
            ))
        };
        let same = |one: &Target<'_>, other: &Target<'_>| one.is_same(other);
        let again = |(at, one): (usize, &Target<'_>)| targets[..at].iter().any(|other| same(one, other));
        if self.is_update() && targets.iter().enumerate().any(again) {
            return Err(unfit("if it names one of them twice"));
        }
        let named: Vec<_> = targets.iter().zip(self.sources.iter().copied().map(Some)).collect();
        plan_gather(input, &named, self.varies().is_some())
    }

    /// The rows that the client gets, if it asks for any.
    fn returns(&self, input: &Input<'_>, which: Returns) -> Result<Option<Returns>, Refusal> {
        let Some(returning) = self.returning else { return Ok(None) };
        if self.is_update() {
            return Err(Need::RowsInOnePlace
                .refused("RETURNING of an UPDATE of several shards: read the rows first, in a transaction"));
        }
        returning.keep_columns(input)?;
        returning.alike(&self.varying)?;
        Ok(Some(which))
    }

    /// No row can be meant: one shard says what there is to say.
    fn any_shard(&self) -> Vec<ShardId> {
        self.targets.first().map(|target| target.database.shards[..1].to_vec()).unwrap_or_default()
    }

    /// Whether rows of a shard belong there with their new keys, too: `SET id = 1 WHERE id = 1`.
    fn stays_on(&self, input: &Input<'_>, shard: ShardId) -> Result<bool, Refusal> {
        let [target] = &self.targets[..] else { return Ok(false) };
        Ok(place_of_assigned(input, target, self.assignments)? == Some(shard))
    }

    /// The first column of a shard key that is assigned something else than itself.
    fn moved_key(&self) -> Option<&str> {
        self.assignments.iter().zip(&self.assigned).find_map(|(one, source)| {
            let mut targets = self.targets.iter().zip(&self.sources);
            let (target, _) = targets.find(|(target, of)| {
                let column = target.table.column(one.column.name.name);
                source.is_none_or(|source| source == **of)
                    && column.is_some_and(|column| target.key().is_some_and(|key| key.columns.contains(&column)))
            })?;
            let same = |expr: &Expr<'_>| matches!(expr.bare().kind, ExprKind::Column(of) if is_same(of, &one.column));
            let column = target.table.column(one.column.name.name)?;
            (!same(&one.value)).then_some(&*target.table.columns[column].name)
        })
    }
}

fn moves_with_others() -> Refusal {
    Need::RowsInOnePlace
        .refused("A change of a shard key, of several tables: change each in a statement of its own, in a transaction")
}

fn is_same(one: &ColumnName<'_>, other: &ColumnName<'_>) -> bool {
    one.name.name.eq_ignore_ascii_case(other.name.name)
        && one.table.map(|table| table.name) == other.table.map(|table| table.name)
}

/// Which of the statement's tables an assignment changes, if that is certain.
pub(super) fn assigned_source(one: &Assignment<'_>, facts: &Facts<'_>) -> Option<usize> {
    let is_it = |column: &&ColumnUse<'_>| column.name.span() == one.column.span();
    facts.names.columns.iter().find(is_it).and_then(ColumnUse::only)
}

/// Whether a source is only named among the tables of a DELETE, none of which goes by that name.
fn names_unread(input: &Input<'_>, source: &Source<'_>) -> bool {
    match input.statement.kind {
        StatementKind::Delete(delete) => delete.targets.iter().any(|target| target.span == source.span),
        _ => false,
    }
}

/// The tables that a statement writes, and which of its sources they are.
fn targets<'a>(input: &Input<'a>, facts: &Facts<'_>) -> Result<Vec<(usize, Target<'a>)>, Refusal> {
    let mut written: Vec<usize> = Vec::new();
    for (at, source) in facts.names.sources.iter().enumerate() {
        if names_unread(input, source) {
            return Err(Need::OtherForm.refused(
                "DELETE names a table that it does not read: name it as FROM or USING does, by its alias if it has one",
            ));
        }
        if let SourceKind::Table(table) = &source.kind
            && table.roles.contains(Roles::WRITTEN)
        {
            written.push(at);
        }
    }
    for column in facts.names.columns.iter().filter(|column| column.role == ColumnRole::Written) {
        written.extend(&column.sources);
    }
    written.sort_unstable();
    written.dedup();
    let mut targets = Vec::new();
    for at in written {
        let SourceKind::Table(table) = &facts.names.sources[at].kind else {
            return Err(Need::OtherForm.refused(
                "Only tables can be changed on several shards, no views or queries: name the table that has the rows",
            ));
        };
        let known = Target::of(input.catalog, table.database.unwrap_or_default(), table.name);
        let known = known.ok_or_else(|| {
            let name = String::from_utf8_lossy(table.name);
            Need::OtherForm.refused(format!("'{name}' is not a sharded table that Weir knows, and cannot be changed together with one. Change each in a statement of its own, in a transaction"))
        })?;
        targets.push((at, known));
    }
    Ok(targets)
}
