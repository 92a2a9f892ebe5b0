//! BATCH: a large write as parts, each of which is a statement of its own.
//!
//! What must always hold: the parts of a split have no row in common, together they are about the rows that the statement is about, and
//! none reads what another has written: what can't be split so is refused. All here is pure: keys come from who asks the servers for them.
//!
//! Traded: rows that others write meanwhile, between the first key and the last, belong to a part if their keys come after those done.

use std::ops::Range;

use weir_sql::ast::{
    Batch, Delete, DryRun, Expr, ExprKind, Insert, InsertSource, Limit, Literal, NamedTable, ObjectName, QueryBody,
    Span, StatementKind, TableRef, TableRefKind, Update,
};
use weir_sql::facts::{Varies, varies};
use weir_sql::visit::{Flow, Node, walk};
use weir_sql::{LexMode, splice};
use weir_wire::Failure;
use weir_wire::error::{codes, not_supported};

use crate::analysis::is_mergeable;
use crate::write::literal::quoted_name;

/// A table by its name, in the client's character set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableName {
    /// Its database, if it is named.
    pub database: Option<Vec<u8>>,
    /// The table.
    pub name: Vec<u8>,
}

impl TableName {
    fn of(name: &ObjectName<'_>) -> TableName {
        TableName { database: name.database.map(|database| database.name.to_vec()), name: name.name.name.to_vec() }
    }

    /// As a statement names it.
    pub fn quoted(&self) -> Vec<u8> {
        let name = quoted_name(&self.name);
        match &self.database {
            Some(database) => [&quoted_name(database)[..], b".", &name].concat(),
            None => name,
        }
    }

    /// Whether both may be the same table, with `database` the default one: whether case matters is not asked.
    fn may_be(&self, other: &TableName, database: &[u8]) -> bool {
        let of = |table: &TableName| table.database.clone().unwrap_or_else(|| database.to_vec()).to_ascii_lowercase();
        self.name.eq_ignore_ascii_case(&other.name) && of(self) == of(other)
    }
}

/// A statement that can be split, along a column that is not known yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splittable {
    /// The table whose rows are split.
    pub table: TableName,
    /// The table that gets rows, if it is another one.
    pub target: Option<TableName>,
    /// The column that the client has named.
    pub column: Option<Vec<u8>>,
    /// The rows of a part.
    pub rows: u64,
    /// What is only shown.
    pub dry_run: DryRun,
    /// It asks for the time, which has to be the same for all parts.
    pub asks_time: bool,
    /// The statement.
    text: Vec<u8>,
    /// The table as FROM has it.
    from: Range<usize>,
    condition: Option<Range<usize>>,
    /// Where a WHERE goes if there is none.
    behind: usize,
    limit: Option<(u64, Range<usize>)>,
    assigned: Vec<Vec<u8>>,
}

/// The column along which a statement is split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyColumn {
    /// Its name.
    pub name: Vec<u8>,
    /// No two rows have the same value.
    pub unique: bool,
}

/// A statement and the column along which it is split. Keys are literals; a range is from behind its first key up to its last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// The statement.
    pub statement: Splittable,
    /// The column.
    pub column: KeyColumn,
}

impl Splittable {
    /// Reads a BATCH of a text. `database`: the default one; `conditional`: parts of the text are for some versions of servers only.
    ///
    /// # Errors
    /// 1235 with the reason if it can't be split exactly; 1210 for parts of no rows.
    pub fn of(
        batch: &Batch<'_>,
        sql: &[u8],
        lex: LexMode,
        database: &[u8],
        conditional: bool,
    ) -> Result<Splittable, Failure> {
        let span = batch.statement.span;
        if conditional || weir_sql::shard_hint(sql, lex).is_some_and(|hint| hint.blank.is_some()) {
            return refuse("with comments that some servers run, or that name a shard");
        }
        let shape = match batch.statement.kind {
            StatementKind::Delete(delete) => Shape::of_delete(delete)?,
            StatementKind::Update(update) => Shape::of_update(update)?,
            StatementKind::Insert(insert) => Shape::of_insert(insert)?,
            _ => return refuse("of this statement: it takes DELETE, UPDATE, INSERT … SELECT and REPLACE … SELECT"),
        };
        may_be_in_parts(batch, sql, lex)?;
        let within = |span: Span| relative(span, batch.statement.span);
        let table = TableName::of(&shape.table.name);
        let target = shape.target.map(TableName::of);
        if target.as_ref().is_some_and(|target| target.may_be(&table, database)) {
            return refuse("of an INSERT into the table that is read: later parts would read what earlier ones wrote");
        }
        if let Some(column) = batch.column
            && let Some(of) = column.table
            && !names_table(&column.database.map(|name| name.name), of.name, shape.table)
        {
            return refuse("ON a column of another table than the one whose rows are changed, or copied");
        }
        let limit = match shape.limit {
            Some(limit) => Some((limit_count(limit, sql)?, within(limit.span))),
            None => None,
        };
        let rows = number(&sql[batch.rows.range()]).filter(|rows| *rows > 0).ok_or_else(|| {
            Failure::client(
                codes::ER_WRONG_ARGUMENTS,
                "Incorrect arguments to BATCH: LIMIT takes a number of rows from 1",
            )
        })?;
        Ok(Splittable {
            table,
            target,
            column: batch.column.map(|column| column.name.name.to_vec()),
            rows,
            dry_run: batch.dry_run,
            asks_time: varies(batch.statement, sql, lex).contains(Varies::TIME),
            text: sql[span.range()].to_vec(),
            from: within(shape.from),
            condition: shape.condition.map(|condition| within(condition.span)),
            behind: within(shape.behind).end,
            limit,
            assigned: shape.assigned.iter().map(|name| name.to_vec()).collect(),
        })
    }

    /// The same along a column.
    ///
    /// # Errors
    /// 1235 if rows would change their part.
    pub fn along(self, column: KeyColumn) -> Result<Split, Failure> {
        if self.assigned.iter().any(|name| name.eq_ignore_ascii_case(&column.name)) {
            return refuse(
                "of an UPDATE that changes the column along which it is split: rows would come into later parts",
            );
        }
        if self.limit.is_some() && !column.unique {
            return refuse(
                "of a statement with LIMIT along a column that is not unique: name a column with a unique key",
            );
        }
        Ok(Split { statement: self, column })
    }
}

impl Split {
    /// The part for a range of keys.
    pub fn part(&self, after: Option<&[u8]>, up_to: &[u8]) -> Vec<u8> {
        let Splittable { text, condition, behind, limit, .. } = &self.statement;
        let range = self.range(after, Some(up_to));
        let mut edits: Vec<(Range<usize>, Vec<u8>)> = match condition {
            Some(condition) => vec![
                (condition.start..condition.start, [&range[..], b" AND ("].concat()),
                (condition.end..condition.end, b")".to_vec()),
            ],
            None => vec![(*behind..*behind, [b" WHERE ", &range[..]].concat())],
        };
        if let Some((_, limit)) = limit {
            edits.push((limit.clone(), Vec::new()));
        }
        let edits: Vec<(Range<usize>, &[u8])> = edits.iter().map(|(range, new)| (range.clone(), &new[..])).collect();
        splice(text, &edits).trim_ascii_end().to_vec()
    }

    /// Asks for the last key of the part behind `after`. No row: the rest is less than a part.
    pub fn edge(&self, after: Option<&[u8]>, up_to: &[u8]) -> Vec<u8> {
        self.keys(after, Some(up_to), &format!(" ORDER BY {{}} LIMIT {}, 1", self.statement.rows - 1))
    }

    /// Asks for the last key of all. No row: there is nothing to do.
    pub fn last(&self) -> Vec<u8> {
        self.keys(None, None, " ORDER BY {} DESC LIMIT 1")
    }

    /// Asks for the last key that the statement's LIMIT leaves, if it has one. No row: there are fewer rows.
    pub fn last_of_limit(&self) -> Option<Vec<u8>> {
        let (count, _) = self.statement.limit.as_ref()?;
        Some(self.keys(None, None, &format!(" ORDER BY {{}} LIMIT {}, 1", count.saturating_sub(1))))
    }

    /// Whether it is about no rows, whatever there is.
    pub fn is_empty(&self) -> bool {
        matches!(self.statement.limit, Some((0, _)))
    }

    /// The query that finds all keys.
    pub fn all_keys(&self) -> Vec<u8> {
        let limit = self.statement.limit.as_ref().map(|(count, _)| format!(" LIMIT {count}")).unwrap_or_default();
        self.keys(None, None, &format!(" ORDER BY {{}}{limit}"))
    }

    fn keys(&self, after: Option<&[u8]>, up_to: Option<&[u8]>, rest: &str) -> Vec<u8> {
        let Splittable { text, from, condition, .. } = &self.statement;
        let column = quoted_name(&self.column.name);
        let mut asked = [b"SELECT ", &column[..], b" FROM ", &text[from.clone()]].concat();
        let mut conditions = Vec::new();
        if after.is_some() || up_to.is_some() {
            conditions.push(self.range(after, up_to));
        }
        if let Some(condition) = condition {
            conditions.push([b"(", &text[condition.clone()], b")"].concat());
        }
        if !conditions.is_empty() {
            asked.extend_from_slice(b" WHERE ");
            asked.extend_from_slice(&conditions.join(&b" AND "[..]));
        }
        match rest.split_once("{}") {
            Some((before, behind)) => {
                asked.extend_from_slice(before.as_bytes());
                asked.extend_from_slice(&column);
                asked.extend_from_slice(behind.as_bytes());
            }
            None => asked.extend_from_slice(rest.as_bytes()),
        }
        asked
    }

    fn range(&self, after: Option<&[u8]>, up_to: Option<&[u8]>) -> Vec<u8> {
        let column = quoted_name(&self.column.name);
        let after = after.map(|key| [&column[..], b" > ", key].concat());
        let up_to = up_to.map(|key| [&column[..], b" <= ", key].concat());
        after.into_iter().chain(up_to).collect::<Vec<_>>().join(&b" AND "[..])
    }
}

/// What the kinds of statements have in common.
struct Shape<'a> {
    table: &'a NamedTable<'a>,
    /// The table as FROM has it.
    from: Span,
    target: Option<&'a ObjectName<'a>>,
    condition: Option<Expr<'a>>,
    /// What stands before a WHERE.
    behind: Span,
    limit: Option<&'a Limit<'a>>,
    assigned: Vec<&'a [u8]>,
}

impl<'a> Shape<'a> {
    fn of_delete(delete: &Delete<'a>) -> Result<Shape<'a>, Failure> {
        if delete.with.is_some() || !delete.targets.is_empty() || delete.history {
            return refuse("of a DELETE of joined tables, with WITH or of HISTORY");
        }
        sorted(delete.order_by)?;
        returning(delete.returning)?;
        let (table, from) = one_table(delete.tables)?;
        Ok(Shape {
            table,
            from,
            target: None,
            condition: delete.condition,
            behind: from,
            limit: delete.limit,
            assigned: Vec::new(),
        })
    }

    fn of_update(update: &Update<'a>) -> Result<Shape<'a>, Failure> {
        if update.with.is_some() {
            return refuse("of an UPDATE with WITH");
        }
        sorted(update.order_by)?;
        returning(update.returning)?;
        let (table, from) = one_table(update.tables)?;
        let behind = update.assignments.last().map_or(from, |last| last.span);
        let assigned = update.assignments.iter().map(|assignment| assignment.column.name.name).collect();
        Ok(Shape { table, from, target: None, condition: update.condition, behind, limit: update.limit, assigned })
    }

    fn of_insert(insert: &'a Insert<'a>) -> Result<Shape<'a>, Failure> {
        returning(insert.returning)?;
        let InsertSource::Query(query) = insert.source else {
            return refuse("of an INSERT of VALUES: send them in several statements");
        };
        let QueryBody::Select(select) = query.body else {
            return refuse("of an INSERT of another query than a plain SELECT");
        };
        sorted(query.order_by)?;
        let plain = query.with.is_none() && query.locks.is_empty() && query.into.is_none() && query.procedure.is_none();
        if !plain || select.into.is_some() || select.options.calc_found_rows {
            return refuse("of a SELECT with WITH, INTO, locks or SQL_CALC_FOUND_ROWS");
        }
        if !is_mergeable(select) {
            return refuse(
                "of a SELECT with DISTINCT, GROUP BY, HAVING, aggregates or windows: they are about all rows at once",
            );
        }
        let (table, from) = one_table(select.from)?;
        Ok(Shape {
            table,
            from,
            target: Some(&insert.table),
            condition: select.condition,
            behind: from,
            limit: query.limit,
            assigned: Vec::new(),
        })
    }
}

fn one_table<'a>(tables: &[TableRef<'a>]) -> Result<(&'a NamedTable<'a>, Span), Failure> {
    match tables {
        [TableRef { span, kind: TableRefKind::Table(table), .. }]
            if table.period.is_none() && table.sample.is_none() =>
        {
            Ok((table, *span))
        }
        [] => refuse("of a statement that reads no table"),
        _ => refuse("of a statement over other than one table: joins and derived tables are not split"),
    }
}

fn sorted<T>(order_by: &[T]) -> Result<(), Failure> {
    match order_by {
        [] => Ok(()),
        _ => refuse("of a statement with ORDER BY: its parts come in the order of the column along which it is split"),
    }
}

fn returning<T>(items: &[T]) -> Result<(), Failure> {
    if items.is_empty() { Ok(()) } else { refuse("of a statement with RETURNING") }
}

/// Whether its parts can do what the whole would do.
fn may_be_in_parts(batch: &Batch<'_>, sql: &[u8], lex: LexMode) -> Result<(), Failure> {
    let StatementKind::Insert(_) = batch.statement.kind else {
        return within_a_row(batch, sql, lex, 0);
    };
    // The query that is inserted.
    within_a_row(batch, sql, lex, 1)
}

fn within_a_row(batch: &Batch<'_>, sql: &[u8], lex: LexMode, queries: usize) -> Result<(), Failure> {
    let mut found = 0;
    walk(Node::Statement(batch.statement), &mut |node: Node<'_>| {
        found += usize::from(matches!(node, Node::Query(_)));
        Flow::Descend
    });
    if found > queries {
        return refuse("of a statement with subqueries: parts could find what others have changed");
    }
    const REASONS: [(Varies, &str); 8] = [
        (Varies::CLOCK, "that asks for the time of the call (SYSDATE()): write NOW(), or the time"),
        (Varies::RANDOM, "that depends on chance (RAND(), UUID()): its parts would differ from the whole"),
        (Varies::WAITS, "that waits (SLEEP(), GET_LOCK())"),
        (
            Varies::USER_VARIABLES,
            "with user variables, which another session that resumes it would not have: write their values",
        ),
        (Varies::SESSION, "that asks for something of the session (LAST_INSERT_ID(), USER()): write the value"),
        (Varies::SERVER.union(Varies::SETTING), "that asks for something of the server: write the value"),
        (Varies::SEQUENCE, "that takes a sequence's values"),
        (Varies::STORED, "with stored functions, which may read what other parts have changed"),
    ];
    let varies = varies(batch.statement, sql, lex);
    match REASONS.iter().find(|(flag, _)| varies.intersects(*flag)) {
        Some((_, reason)) => refuse(&format!("of a statement {reason}")),
        None => Ok(()),
    }
}

/// Whether `ON table.column` names this table.
fn names_table(database: &Option<&[u8]>, name: &[u8], table: &NamedTable<'_>) -> bool {
    let own = table.alias.map_or(table.name.name.name, |alias| alias.name);
    let is = |given: &[u8]| given.eq_ignore_ascii_case(own) || given.eq_ignore_ascii_case(table.name.name.name);
    let same = match (database, table.name.database) {
        (Some(given), Some(known)) => given.eq_ignore_ascii_case(known.name),
        _ => true,
    };
    same && is(name)
}

fn limit_count(limit: &Limit<'_>, sql: &[u8]) -> Result<u64, Failure> {
    let plain = limit.offset.is_none() && !limit.with_ties && limit.rows_examined.is_none();
    match limit.count {
        Some(Expr { span, kind: ExprKind::Literal(Literal::Integer), .. }) if plain => {
            number(&sql[span.range()]).ok_or_else(|| not_supported("BATCH of a statement with such a LIMIT"))
        }
        _ => refuse("of a statement with OFFSET, or with another LIMIT than a number of rows"),
    }
}

fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn relative(span: Span, within: Span) -> Range<usize> {
    let (span, start) = (span.range(), within.range().start);
    span.start.saturating_sub(start)..span.end.saturating_sub(start)
}

fn refuse<T>(what: &str) -> Result<T, Failure> {
    Err(not_supported(format!("BATCH {what}")))
}

#[cfg(test)]
mod tests;
