//! Which rows of several tables are on one shard, so that each shard can answer its part.
//!
//! What must always hold: there is a *root*, a sharded table of which every row of the result has a row; and the rows of all other sharded
//! tables that matter to a row of the root are on the root's shard, because they follow it by equality of the whole shard key. Then each
//! row of the result is found by exactly one shard, and whole.

use std::collections::{BTreeSet, HashMap};

use weir_catalog::Placement;
use weir_sql::ast::{ExprKind, Grouping, OrderItem, Over, Select, WindowSpec};

use crate::analysis::values::Values;
use crate::analysis::{Analysis, Base, Branch, ColumnRef, InstanceKind, alike, calls, has_aggregates};
use crate::place::Shards;
use crate::planner::Planner;

/// A SELECT that shards can answer part by part.
pub(crate) struct Together {
    /// For each column of the root's key: the columns that are equal to it.
    pub(crate) equal: Vec<BTreeSet<ColumnRef>>,
    /// The root.
    pub(crate) root: usize,
}

/// What is asked about one statement.
pub(crate) struct Question<'p, 'a> {
    pub(crate) analysis: &'p Analysis<'a>,
    pub(crate) values: &'p Values<'p>,
    pub(crate) planner: &'p Planner<'a>,
    next: HashMap<ColumnRef, BTreeSet<ColumnRef>>,
    /// Of each block that is a derived table's: that table.
    tables_of: HashMap<usize, usize>,
}

impl<'p, 'a> Question<'p, 'a> {
    pub(crate) fn new(analysis: &'p Analysis<'a>, values: &'p Values<'p>, planner: &'p Planner<'a>) -> Self {
        let next = analysis.followers();
        let mut tables_of = HashMap::new();
        for (place, instance) in analysis.instances.iter().enumerate() {
            if let InstanceKind::Derived(derived) = &instance.kind {
                tables_of.extend(derived.outcome.branches.iter().map(|branch| (branch.block, place)));
            }
        }
        Question { analysis, values, planner, next, tables_of }
    }

    /// The instances within a block: its own, and those of queries in it.
    pub(crate) fn within(&self, block: usize) -> Vec<usize> {
        (0..self.analysis.instances.len()).filter(|instance| self.is_within(*instance, block)).collect()
    }

    fn is_within(&self, instance: usize, block: usize) -> bool {
        let mut at = Some(self.analysis.instances[instance].block);
        while let Some(here) = at {
            if here == block {
                return true;
            }
            let of_table = self.tables_of.get(&here).map(|table| self.analysis.instances[*table].block);
            at = of_table.or(self.analysis.blocks[here].parent);
        }
        false
    }

    /// Why shards can't answer a SELECT part by part, or how they can.
    pub(crate) fn together(&self, branch: &Branch<'a>) -> Result<Together, String> {
        let instances = self.within(branch.block);
        let sharded: Vec<usize> = instances.iter().copied().filter(|instance| self.is_sharded(*instance)).collect();
        let mut reason = None;
        for root in &sharded {
            match self.with_root(*root, branch.block, &sharded) {
                Ok(together) => {
                    self.others_fit(&together, &instances)?;
                    return Ok(together);
                }
                Err(why) => reason = reason.or(Some(why)),
            }
        }
        Err(reason.unwrap_or_else(|| "a part of it has no sharded table, and would come from each shard".to_owned()))
    }

    fn is_sharded(&self, instance: usize) -> bool {
        self.analysis.base(instance).is_some_and(|base| matches!(base.table.placement, Placement::Sharded(_)))
    }

    fn name(&self, instance: usize) -> String {
        String::from_utf8_lossy(self.analysis.instances[instance].name).into_owned()
    }

    fn with_root(&self, root: usize, top: usize, sharded: &[usize]) -> Result<Together, String> {
        let Some(base) = self.analysis.base(root) else { return Err(String::new()) };
        let Some(key) = base.table.shard_key() else { return Err(String::new()) };
        let equal: Vec<BTreeSet<ColumnRef>> =
            key.columns.iter().map(|column| self.reached(ColumnRef { instance: root, column: *column })).collect();
        let together = Together { equal, root };
        self.is_source(&together, root, top)?;
        for other in sharded {
            if *other != root {
                self.follows(&together, base, *other)?;
            }
        }
        Ok(together)
    }

    /// The columns that follow one.
    fn reached(&self, from: ColumnRef) -> BTreeSet<ColumnRef> {
        let mut reached = BTreeSet::from([from]);
        let mut fresh = vec![from];
        while let Some(column) = fresh.pop() {
            for next in self.next.get(&column).into_iter().flatten() {
                if reached.insert(*next) {
                    fresh.push(*next);
                }
            }
        }
        reached
    }

    fn follows(&self, together: &Together, root: &Base<'_>, other: usize) -> Result<(), String> {
        let apart = || {
            format!(
                "the rows of {} that belong to a row of {} may be on other shards: nothing says that their whole shard keys are equal",
                self.name(other),
                self.name(together.root)
            )
        };
        let base = self.analysis.base(other).ok_or_else(apart)?;
        if !same_places(root, base) {
            return Err(format!("{} and {} are not sharded alike", self.name(together.root), self.name(other)));
        }
        let (key, root_key) = (base.table.shard_key().ok_or_else(apart)?, root.table.shard_key().ok_or_else(apart)?);
        let columns = key.columns.iter().zip(&root_key.columns).zip(&together.equal);
        for ((column, root_column), equal) in columns {
            let column = ColumnRef { instance: other, column: *column };
            let of_root = ColumnRef { instance: together.root, column: *root_column };
            if !equal.contains(&column) && !self.values.one_value(of_root, column, &self.planner.places()) {
                return Err(apart());
            }
        }
        Ok(())
    }

    /// Whether each row of the top block has a row of the root, and each row of the root is in rows of one shard only.
    fn is_source(&self, together: &Together, root: usize, top: usize) -> Result<(), String> {
        let mut at = root;
        loop {
            let instance = &self.analysis.instances[at];
            if instance.nullable {
                return Err(format!(
                    "{} is on the side of an outer join that may have no row, and the other side's rows would come from each shard",
                    self.name(at)
                ));
            }
            if !self.analysis.blocks[instance.block].sources.contains(&at) {
                return Err(format!(
                    "{} is in a subquery, whose rows may be on other shards than those outside",
                    self.name(root)
                ));
            }
            if instance.block == top {
                return Ok(());
            }
            let Some(table) = self.tables_of.get(&instance.block) else {
                return Err(format!(
                    "{} is in a subquery, whose rows may be on other shards than those outside",
                    self.name(root)
                ));
            };
            let InstanceKind::Derived(derived) = &self.analysis.instances[*table].kind else {
                return Err(String::new());
            };
            let [branch] = &derived.outcome.branches[..] else {
                return Err("a UNION in place of a table".to_owned());
            };
            if branch.cut {
                return Err("LIMIT of a query in place of a table cuts the rows of all shards".to_owned());
            }
            if let Some(select) = self.analysis.blocks[branch.block].select {
                self.is_whole(together, branch, select)?;
            }
            at = *table;
        }
    }

    /// Whether what a SELECT makes of its rows is made of rows of one shard each.
    pub(crate) fn is_whole(
        &self,
        together: &Together,
        branch: &Branch<'a>,
        select: &'a Select<'a>,
    ) -> Result<(), String> {
        if select.grouping != Grouping::Plain {
            return Err("WITH ROLLUP makes rows of the groups of all shards".to_owned());
        }
        if select.group_by.is_empty() && has_aggregates(select) {
            return Err("an aggregate makes one row of the rows of all shards".to_owned());
        }
        if !select.group_by.is_empty() && !self.groups_by_key(together, branch, select.group_by) {
            return Err(
                "a group may have rows on several shards: GROUP BY does not have the whole shard key".to_owned()
            );
        }
        if select.options.distinct && !self.shows_key(together, branch) {
            return Err("equal rows may be on several shards: DISTINCT does not have the whole shard key".to_owned());
        }
        self.windows_fit(together, branch.block, select)
    }

    /// Whether GROUP BY has the whole shard key.
    pub(crate) fn groups_by_key(&self, together: &Together, branch: &Branch<'a>, keys: &'a [OrderItem<'a>]) -> bool {
        let columns: Vec<ColumnRef> = keys.iter().filter_map(|key| self.grouped_by(branch, key)).collect();
        self.have_key(together, &columns)
    }

    /// Whether rows with the same values of these columns have the same shard key.
    fn have_key(&self, together: &Together, columns: &[ColumnRef]) -> bool {
        let has = |equal: &BTreeSet<ColumnRef>| {
            columns.iter().any(|column| equal.contains(column) && self.has_rows(column.instance))
        };
        together.equal.iter().all(has)
    }

    /// Whether a table has a row in each row of its block: in the others its columns are NULL, on whichever shard.
    fn has_rows(&self, instance: usize) -> bool {
        let mut at = Some(instance);
        while let Some(here) = at {
            let instance = &self.analysis.instances[here];
            if instance.nullable {
                return false;
            }
            at = self.tables_of.get(&instance.block).copied();
        }
        true
    }

    /// The column that an item of GROUP BY is.
    pub(crate) fn grouped_by(&self, branch: &Branch<'a>, key: &OrderItem<'a>) -> Option<ColumnRef> {
        let fold_case = self.planner.catalog.fold_case;
        match &key.expr.bare().kind {
            ExprKind::Column(name) => self.analysis.lookup(branch.block, None, name, fold_case).or_else(|| {
                let columns = branch.columns.as_ref()?;
                columns.iter().find(|column| column.name.eq_ignore_ascii_case(name.name.name))?.column
            }),
            ExprKind::Literal(_) => {
                let place = usize::try_from(self.planner.folder().count(&key.expr)?).ok()?.checked_sub(1)?;
                branch.columns.as_ref()?.get(place)?.column
            }
            _ => None,
        }
    }

    /// Whether a SELECT's columns have the whole shard key.
    pub(crate) fn shows_key(&self, together: &Together, branch: &Branch<'a>) -> bool {
        let Some(columns) = &branch.columns else { return false };
        let columns: Vec<ColumnRef> = columns.iter().filter_map(|column| column.column).collect();
        self.have_key(together, &columns)
    }

    /// Whether each window function looks at rows of one shard.
    pub(crate) fn windows_fit(&self, together: &Together, block: usize, select: &'a Select<'a>) -> Result<(), String> {
        let mut fit = select.qualify.is_none();
        let mut windows: Vec<&WindowSpec<'a>> = select.windows.iter().map(|named| &named.window).collect();
        calls(select, |call| {
            if let Some(Over::Window(window)) = &call.over
                && window.base.is_none()
            {
                windows.push(window);
            }
        });
        for window in windows {
            let columns: Vec<ColumnRef> = window
                .partition_by
                .iter()
                .filter_map(|expr| match &expr.bare().kind {
                    ExprKind::Column(name) => self.analysis.lookup(block, None, name, self.planner.catalog.fold_case),
                    _ => None,
                })
                .collect();
            fit &= self.have_key(together, &columns);
        }
        if fit {
            Ok(())
        } else {
            Err("a window function looks at rows of several shards: PARTITION BY does not have the whole shard key"
                .to_owned())
        }
    }

    /// Whether all other tables are where the root's rows are.
    fn others_fit(&self, together: &Together, instances: &[usize]) -> Result<(), String> {
        let shards = self.shards(together)?;
        for instance in instances {
            match &self.analysis.instances[*instance].kind {
                InstanceKind::Base(base) => match &base.table.placement {
                    Placement::Sharded(_) => {}
                    Placement::Global => {
                        if !shards.list().iter().all(|shard| base.database.shards.contains(shard)) {
                            return Err(format!("not all of the shards have {}", base.name));
                        }
                    }
                    Placement::Single(shard) => {
                        return Err(format!("{} is on {} only", base.name, self.planner.catalog.shard_name(*shard)));
                    }
                },
                InstanceKind::Elsewhere(shard) => {
                    let name = self.planner.catalog.shard_name(*shard);
                    return Err(format!("{} is on {name} only", self.name(*instance)));
                }
                InstanceKind::System => {
                    return Err(format!("{} tells about one server only", self.name(*instance)));
                }
                InstanceKind::Derived(derived) => {
                    let of_globals = derived.outcome.branches.iter().all(|branch| {
                        branch.cut && !self.within(branch.block).iter().any(|inner| self.is_sharded(*inner))
                    });
                    if of_globals {
                        return Err("each shard could choose other rows of a query with LIMIT".to_owned());
                    }
                }
                InstanceKind::Computed => {}
            }
        }
        Ok(())
    }

    fn shards(&self, together: &Together) -> Result<Shards, String> {
        self.values
            .shards(together.root, &self.planner.places())
            .map_err(|_| "weights have to be learnt first".to_owned())
    }
}

/// Whether equal keys of two tables are on one shard.
fn same_places(one: &Base<'_>, other: &Base<'_>) -> bool {
    let (Some(key), Some(other_key)) = (one.table.shard_key(), other.table.shard_key()) else { return false };
    let same_database = one.database_name == other.database_name
        || one.database.slots == other.database.slots && one.database.shards == other.database.shards;
    let columns = key.columns.iter().zip(&other_key.columns);
    let kinds = || {
        columns.clone().all(|(a, b)| match (one.table.columns.get(*a), other.table.columns.get(*b)) {
            (Some(a), Some(b)) => alike(&a.kind, &b.kind),
            _ => false,
        })
    };
    same_database && key.method == other_key.method && key.columns.len() == other_key.columns.len() && kinds()
}
