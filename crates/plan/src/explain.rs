//! Plans as text for people: WEIR EXPLAIN.

use weir_catalog::{Catalog, ShardId};

use crate::{
    Combine, Compare, Comparison, Computed, ComputedColumn, Condition, Fold, Grouped, InformationQuery, Merge, Plan,
    Read, Resolve, Returns, Route, RowSource, ShardLocks, SortKey, Union, Workbench, Write, WriteKind,
};

/// A row: what, and how it is.
pub type Row = (String, String);

/// The rows of WEIR EXPLAIN.
pub fn rows(plan: &Plan, catalog: &Catalog) -> Vec<Row> {
    let mut rows = Rows { catalog, rows: Vec::new() };
    match plan {
        Plan::Home => {
            rows.add("kind", "home");
            rows.add("why", "it names no table of a sharded database");
        }
        Plan::Route(route) => rows.route(route),
        Plan::Read(read) => rows.read(read),
        Plan::Union(union) => rows.union(union),
        Plan::Computed(computed) => rows.computed(computed),
        Plan::Workbench(workbench) => rows.workbench(workbench),
        Plan::Write(write) => rows.write(write),
        Plan::Define => rows.add("kind", "definition"),
        Plan::Show => rows.add("kind", "about logical tables"),
        Plan::Lock(locks) => rows.locks(locks),
        Plan::InformationSchema(inform) => rows.inform(inform),
        Plan::Stepwise(call) => {
            rows.add("kind", "statement by statement");
            rows.add("variables on shard", catalog.shard_name(call.home));
            rows.add("why", &call.reason);
        }
    }
    rows.rows
}

struct Rows<'a> {
    catalog: &'a Catalog,
    rows: Vec<Row>,
}

impl Rows<'_> {
    fn add(&mut self, what: &str, how: impl Into<String>) {
        self.rows.push((what.to_owned(), how.into()));
    }

    fn shards(&self, shards: &[ShardId]) -> String {
        let names: Vec<&str> = shards.iter().map(|shard| self.catalog.shard_name(*shard)).collect();
        names.join(", ")
    }

    fn inform(&mut self, inform: &InformationQuery) {
        self.add("kind", "information_schema");
        self.add("shards", self.shards(&[inform.home]));
        for table in &inform.tables {
            for (shard, text) in &table.asks {
                self.add("asked first", String::from_utf8_lossy(text));
                self.add("on shard", self.shards(&[*shard]));
            }
            if let Some(replaced) = &table.replaced {
                self.add("replaced", format!("in {}: {replaced}", table.name));
            }
            if table.adds {
                self.add("counts", format!("in {}: sums", table.name));
            }
            for known in &table.sequences {
                self.add("sequence", format!("the next value of {}.{}", known.database, known.table));
            }
        }
        self.add("why", &*inform.reason);
    }

    fn locks(&mut self, locks: &ShardLocks) {
        self.add("kind", "locks");
        for (shard, text) in &locks.texts {
            self.add("shards", self.shards(&[*shard]));
            self.add("text", String::from_utf8_lossy(text));
        }
        self.add("why", "what it locks is on these shards, locked one after another");
    }

    fn route(&mut self, route: &Route) {
        self.add("kind", "route");
        self.add("shards", self.shards(&[route.shard]));
        if let Some(text) = &route.text {
            self.add("text", String::from_utf8_lossy(text));
        }
        self.add("why", &*route.reason);
    }

    fn read(&mut self, read: &Read) {
        self.add("kind", "scatter");
        self.add("shards", self.shards(&read.shards));
        self.add("text", String::from_utf8_lossy(&read.text));
        if read.hidden > 0 {
            self.add("hidden columns", read.hidden.to_string());
        }
        match &read.merge {
            Merge::Concatenate => self.add("merge", "rows as they come"),
            Merge::Sorted(keys) => self.add("merge", format!("sorted by {}", sorted(keys))),
            Merge::Grouped(grouped) => self.grouped(grouped),
        }
        self.cut(read.skip, read.take);
        if read.locks {
            self.add("locks", "rows are locked on each shard, in the session's transaction");
        }
        if read.pin_time {
            self.add("time", "the same on all shards");
        }
        self.add("why", &*read.reason);
    }

    fn union(&mut self, union: &Union) {
        self.add("kind", if union.parts.len() == 1 { "distinct" } else { "union" });
        self.add("shards", self.shards(&union.shards()));
        for (nth, part) in union.parts.iter().enumerate() {
            let how = match part.how {
                Combine::Distinct if nth == 0 => "equal rows are one",
                _ if nth == 0 => "the first",
                Combine::All => "all rows, too",
                Combine::Distinct => "too; equal rows are one",
                Combine::Intersect { .. } => "no rows but these",
                Combine::Except { .. } => "without these rows",
            };
            self.add("query", format!("{}: {how}", nth + 1));
            self.read(&part.read);
        }
        self.add("columns", format!("as {} says", self.shards(&union.head.shards)));
        if !union.keys.is_empty() {
            self.add("order", sorted(&union.keys));
        }
        self.cut(union.skip, union.take);
        self.add("why", &*union.reason);
    }

    fn computed(&mut self, computed: &Computed) {
        self.add("kind", "groups, and expressions over them");
        self.read(&computed.groups);
        let given = computed.given.iter().enumerate().map(|(nth, given)| match given.average {
            None => format!("c{nth} is {}", given.column + 1),
            Some(average) => format!("c{nth} is {} by {}, not rounded", given.column + 1, average.count + 1),
        });
        self.add("given", given.collect::<Vec<_>>().join(", "));
        self.add("computed", String::from_utf8_lossy(&computed.text));
        let on = computed.computes().map(|shard| self.shards(&[shard])).unwrap_or_default();
        self.add("on shard", if computed.whole { format!("{on}, all groups at once") } else { on });
        let column = |column: &ComputedColumn| match column {
            ComputedColumn::Own(place) => format!("{} of the groups", place + 1),
            ComputedColumn::Computed(nth) => format!("{} of what is computed", nth + 2),
        };
        self.add("result", computed.columns.iter().map(column).collect::<Vec<_>>().join(", "));
        self.cut(computed.skip, computed.take);
        self.add("why", &*computed.reason);
    }

    fn source(&mut self, rows: &RowSource) {
        match rows {
            RowSource::Shards(read) => self.read(read),
            RowSource::Workbench(workbench) => self.workbench(workbench),
        }
    }

    fn workbench(&mut self, workbench: &Workbench) {
        self.add("kind", "workbench");
        for fragment in &workbench.fragments {
            self.add("fragment", format!("{} of {}.{}", fragment.name, fragment.table.database, fragment.table.table));
            self.read(&fragment.read);
            for narrowing in &fragment.narrowed {
                let by = &workbench.fragments[narrowing.by];
                let values = format!("{} of {}", by.columns[narrowing.column].name, by.name);
                let compared = String::from_utf8_lossy(&narrowing.compared);
                self.add("narrowed", format!("{compared} is one of {values}, if these are few"));
            }
        }
        self.add("workbench", self.shards(&[workbench.home]));
        self.add("text", String::from_utf8_lossy(&workbench.query.text));
        self.add("why", &*workbench.reason);
    }

    fn cut(&mut self, skip: u64, take: Option<u64>) {
        if skip > 0 {
            self.add("skip", skip.to_string());
        }
        if let Some(take) = take {
            self.add("take", take.to_string());
        }
    }

    fn grouped(&mut self, grouped: &Grouped) {
        let keys = if grouped.keys.is_empty() { "all rows".to_owned() } else { sorted(&grouped.keys) };
        self.add("merge", format!("grouped by {keys}"));
        let columns: Vec<String> = grouped.columns.iter().map(folded).collect();
        self.add("columns", columns.join(", "));
        if let Some(having) = &grouped.having {
            self.add("having", condition(having));
        }
        if let Some(order) = &grouped.order {
            self.add("order", sorted(order));
        }
        if let Some(keys) = &grouped.rollup {
            self.add("rollup", rollup(keys));
        }
    }

    fn write(&mut self, write: &Write) {
        self.add("kind", "write");
        match &write.kind {
            WriteKind::Resolve(resolve) => self.resolve(resolve),
            WriteKind::Split(texts, _) => {
                for (shard, text) in texts {
                    self.add("shard", self.shards(&[*shard]));
                    self.add("text", String::from_utf8_lossy(text));
                }
            }
            WriteKind::Everywhere(shards, text) | WriteKind::Global(shards, text) => {
                self.add("shards", self.shards(shards));
                self.add("text", String::from_utf8_lossy(text));
            }
            WriteKind::Load(file) => {
                self.add("shards", self.shards(&file.shards));
                self.add("text", String::from_utf8_lossy(&file.text));
                self.add("lines", if file.copies { "to each shard" } else { "to the shard of their key" });
            }
            WriteKind::Move(moved) => {
                self.read(&moved.rows);
                self.add("then", String::from_utf8_lossy(&[&moved.delete[..], b"...)"].concat()));
                self.add("then", String::from_utf8_lossy(&[&moved.insert[..], b"..."].concat()));
            }
            WriteKind::Gather(gather) => {
                self.source(&gather.rows);
                for change in &gather.changes {
                    self.add("then", String::from_utf8_lossy(&[&change.head[..], b"...", &change.tail].concat()));
                }
            }
        }
        if matches!(write.kind, WriteKind::Global(..)) {
            self.add("copies", "all shards must affect the same number of rows");
        }
        if write.alike.time {
            self.add("time", "the same on all shards");
        }
        if let Some(returns) = &write.returns
            && !matches!(write.kind, WriteKind::Resolve(_))
        {
            let returned = match returns {
                Returns::All => "rows as they come",
                Returns::OfOne => "the rows of one shard",
                Returns::InOrder(_) => "rows in the order of the text",
            };
            self.add("returns", returned);
        }
        if let Some(raise) = &write.raise {
            self.add("sequence", format!("goes on behind {}", raise.value));
        }
        self.add("why", &*write.reason);
    }

    fn resolve(&mut self, resolve: &Resolve) {
        if let Some((shard, text)) = &resolve.ask {
            self.add("asked first", String::from_utf8_lossy(text));
            self.add("on shard", self.shards(&[*shard]));
        }
        for rows in resolve.rows.iter().chain(&resolve.read) {
            self.source(rows);
        }
        if let Some(generate) = &resolve.generate {
            let count: u64 = generate.runs.iter().map(|run| run.count).sum();
            self.add("sequence", format!("{count} values of {}.{}", generate.database, generate.table));
        }
    }
}

fn sorted(keys: &[SortKey]) -> String {
    let one = |key: &SortKey| {
        let direction = if key.descending { " descending" } else { "" };
        format!("{}{}{direction}", key.column + 1, compare(&key.by))
    };
    keys.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn compare(by: &Compare) -> String {
    match by {
        Compare::Value => String::new(),
        Compare::Bytes => " (bytes)".to_owned(),
        Compare::Weights { collation } => format!(" (weights of {collation})"),
        Compare::ByCollation { weight, collation } => {
            format!(" (weights in {} if {} is a collation)", weight + 1, collation + 1)
        }
    }
}

/// What a column of a folded row is made of. Columns are counted from 1, as those of the text are.
fn folded(fold: &Fold) -> String {
    let at = |column: &usize| column + 1;
    match fold {
        Fold::First(column) => format!("{} as it is", at(column)),
        Fold::Sum(column) => format!("sum of {}", at(column)),
        Fold::Count(column) => format!("sum of the counts {}", at(column)),
        Fold::SumFloat(column) => format!("approximate sum of {}", at(column)),
        Fold::Min { value, key } => extreme("least", *value, key),
        Fold::Max { value, key } => extreme("greatest", *value, key),
        Fold::Average { sum, count, float: false } => format!("sum {} by count {}", at(sum), at(count)),
        Fold::Average { sum, count, float: true } => format!("approximate sum {} by count {}", at(sum), at(count)),
        Fold::BitAnd(column) => format!("{} by AND", at(column)),
        Fold::BitOr(column) => format!("{} by OR", at(column)),
        Fold::BitXor(column) => format!("{} by XOR", at(column)),
        Fold::Variance { count, mean, variance, sample, root } => {
            let what = if *root { "standard deviation" } else { "variance" };
            let of = if *sample { " of a sample" } else { "" };
            format!("{what}{of} of parts (counts {}, means {}, variances {})", at(count), at(mean), at(variance))
        }
        Fold::Concat { column, separator, limit } => {
            let separator = String::from_utf8_lossy(separator);
            format!("texts {} with '{separator}' between, at most as many bytes as {} says", at(column), at(limit))
        }
        Fold::Distinct { by, fold: of } if matches!(**of, Fold::Count(_)) => {
            format!("number of distinct {}", sorted(by))
        }
        Fold::Distinct { by, fold: of } => format!("{} of each distinct {}", folded(of), sorted(by)),
        Fold::InOrder { by, fold: of } => format!("{} in the order of {}", folded(of), sorted(by)),
    }
}

fn extreme(which: &str, value: usize, key: &SortKey) -> String {
    let key = SortKey { descending: false, ..key.clone() };
    let by = sorted(std::slice::from_ref(&key));
    if key.column == value { format!("{which} of {by}") } else { format!("{} of the {which} {by}", value + 1) }
}

/// A condition of HAVING; columns are those of the folded row.
fn condition(condition: &Condition) -> String {
    let several = |all: &[Condition], between: &str| {
        let each = all.iter().map(|one| match one {
            Condition::Compare { .. } => self::condition(one),
            Condition::And(_) | Condition::Or(_) => format!("({})", self::condition(one)),
        });
        each.collect::<Vec<_>>().join(between)
    };
    match condition {
        Condition::Compare { column, operator, number } => {
            let operator = match operator {
                Comparison::Less => "<",
                Comparison::LessOrEqual => "<=",
                Comparison::Equal => "=",
                Comparison::NotEqual => "<>",
                Comparison::GreaterOrEqual => ">=",
                Comparison::Greater => ">",
            };
            format!("column {} {operator} {number}", column + 1)
        }
        Condition::And(all) => several(all, " and "),
        Condition::Or(any) => several(any, " or "),
    }
}

/// Which of the client's columns are NULL when a key is left out.
fn rollup(keys: &[Vec<usize>]) -> String {
    let one = |(nth, columns): (usize, &Vec<usize>)| {
        let columns: Vec<String> = columns.iter().map(|column| (column + 1).to_string()).collect();
        match &columns[..] {
            [] => format!("key {} is not shown", nth + 1),
            columns => format!("key {} is in {}", nth + 1, columns.join(" and ")),
        }
    };
    keys.iter().enumerate().map(one).collect::<Vec<_>>().join(", ")
}
