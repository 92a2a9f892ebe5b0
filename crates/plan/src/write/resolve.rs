//! What has to be known before an INSERT can be planned: values of its shard key, and of AUTO_INCREMENT.
//!
//! What must always hold: the text that comes out has a literal in place of each such value, and plans without another round of this.

use std::ops::Range;

use weir_catalog::{Constant, ShardId};
use weir_sql::ast::{Expr, ExprKind, Insert};
use weir_sql::facts::Facts;
use weir_sql::visit::{Flow, Node, walk};
use weir_sql::{Bump, LexMode, parse_expression};

use super::edits::{Edits, apart};
use super::literal::put_name;
use super::names::{Target, with_facts};
use super::nulls::{gets_zero, zero_text};
use super::on_duplicate::ReadFirst;
use super::rows::{Rows, is_default};
use super::select::{of_one, of_shards};
use super::stored_as;
use super::{Input, refuse_group_functions};
use crate::aggregate::is_group_function;
use crate::analysis::has_query;
use crate::{Generate, Need, Piece, Plan, Raise, Refusal, Resolve, RowSource, Run};

/// What is being found out.
pub(super) struct Settling<'i, 'a> {
    input: &'i Input<'a>,
    target: Target<'a>,
    edits: Edits,
    /// The text with its parameters' values: asked expressions are cut from it.
    parameters: Edits,
    asked: Vec<Vec<u8>>,
    /// Expressions that read tables.
    read: Vec<Vec<u8>>,
    /// A default is asked for: the table has to be named.
    of_table: bool,
    /// A default that is known is written into the text.
    known: bool,
    generated: usize,
    runs: Vec<Run>,
    greatest: Option<u64>,
    ignore: bool,
    /// A value that is read may be an error, or a warning, only if a server needs it.
    lazy: bool,
}

impl<'i, 'a> Settling<'i, 'a> {
    /// `ignore`: it is INSERT IGNORE.
    pub(super) fn new(input: &'i Input<'a>, target: Target<'a>, ignore: bool) -> Settling<'i, 'a> {
        let parameters = || {
            let mut edits = Edits::of_parameters(input.statement, input.text, input.session);
            edits.sort();
            edits
        };
        let (edits, parameters) = (parameters(), parameters());
        let (asked, read) = (Vec::new(), Vec::new());
        Settling {
            input,
            target,
            edits,
            parameters,
            asked,
            read,
            of_table: false,
            known: false,
            generated: 0,
            runs: Vec::new(),
            greatest: None,
            ignore,
            lazy: false,
        }
    }

    /// Looks at the values of the shard key and of AUTO_INCREMENT in all rows.
    pub(super) fn rows(&mut self, insert: &Insert<'a>, rows: &Rows<'a>) -> Result<(), Refusal> {
        let auto = self.target.table.auto_increment;
        let key = self.target.key().map_or(&[][..], |key| &key.columns);
        let mut columns: Vec<usize> = key.to_vec();
        columns.extend(auto.filter(|auto| !key.contains(auto)));
        let missing: Vec<usize> = columns.iter().copied().filter(|column| rows.place(*column).is_none()).collect();
        if missing.iter().any(|column| !self.is_auto(*column)) {
            rows.are_of_columns(insert)?;
        }
        for row in 0..rows.len() {
            let mut more = Vec::new();
            for &column in &columns {
                match rows.place(column).and_then(|place| rows.value(row, place)) {
                    Some(value) => self.value(column, value)?,
                    None => more.push((column, self.missing(column, row == 0)?)),
                }
            }
            if !more.is_empty() {
                self.add_values(rows, row, more)?;
            }
        }
        if !missing.is_empty() && !rows.is_set() {
            self.add_columns(insert, rows, &missing)?;
        }
        Ok(())
    }

    fn is_auto(&self, column: usize) -> bool {
        self.target.table.auto_increment == Some(column)
    }

    fn next(&mut self) -> Piece {
        match self.runs.last_mut() {
            Some(run) if run.behind == self.greatest => run.count += 1,
            _ => self.runs.push(Run { behind: self.greatest, count: 1 }),
        }
        self.generated += 1;
        Piece::Generated(self.generated - 1)
    }

    /// What a column gets that the row does not name. `first`: no row before it lacks the column.
    fn missing(&mut self, column: usize, first: bool) -> Result<Piece, Refusal> {
        if self.is_auto(column) {
            return Ok(self.next());
        }
        if self.gets_zero(column) {
            self.known = true;
            // The server warns of it, once for all rows.
            let zero = zero_text(self.target.table, column).filter(|_| !first);
            return Ok(Piece::Text(zero.unwrap_or(b"DEFAULT").to_vec()));
        }
        self.default(column)
    }

    fn gets_zero(&self, column: usize) -> bool {
        gets_zero(self.input.session, self.target.table, column, self.ignore)
    }

    fn default(&mut self, column: usize) -> Result<Piece, Refusal> {
        if let Some(text) = &self.target.table.columns[column].default {
            return self.known_default(column, text);
        }
        // Right for a column that may be NULL: a server takes that for the default of all others, as there is no row.
        let mut text = b"DEFAULT(".to_vec();
        put_name(&mut text, self.target.table.columns[column].name.as_bytes());
        text.push(b')');
        self.of_table = true;
        Ok(Piece::Answer(self.ask(text)))
    }

    /// A literal stands for itself. An expression is computed for each row.
    fn known_default(&mut self, column: usize, text: &str) -> Result<Piece, Refusal> {
        let text = text.as_bytes();
        let arena = Bump::new();
        let Ok(value) = parse_expression(&arena, text, LexMode::default()) else {
            return Err(self.depends(column, "a default that Weir cannot read"));
        };
        if matches!(value.kind, ExprKind::Literal(_) | ExprKind::Unary(_, Expr { kind: ExprKind::Literal(_), .. })) {
            self.known = true;
            return Ok(Piece::Text(text.to_vec()));
        }
        match self.obstacle(&value) {
            Some(obstacle) => Err(self.depends(column, obstacle)),
            None => Ok(Piece::Answer(self.ask([b"(", text, b")"].concat()))),
        }
    }

    fn ask(&mut self, text: Vec<u8>) -> usize {
        // A default is the same for all rows; expressions may be random, and are asked one by one.
        let same = text.starts_with(b"DEFAULT(").then(|| self.asked.iter().position(|asked| *asked == text)).flatten();
        same.unwrap_or_else(|| {
            self.asked.push(text);
            self.asked.len() - 1
        })
    }

    fn value(&mut self, column: usize, value: &Expr<'a>) -> Result<(), Refusal> {
        let auto = self.is_auto(column);
        if is_default(value) && self.gets_zero(column) {
            return Ok(());
        }
        if is_default(value) || self.is_default_of(column, value) {
            let piece = if auto { self.next() } else { self.default(column)? };
            self.replace(value, piece);
            return Ok(());
        }
        if !auto {
            let known = self.input.reads.is_constant(value);
            return if known { Ok(()) } else { self.ask_value(column, value) };
        }
        let Some(constant) = self.input.reads.explicit(value) else { return self.ask_value(column, value) };
        match self.automatic(&constant) {
            Automatic::Generate => {
                let piece = self.next();
                self.replace(value, piece);
            }
            Automatic::Explicit(explicit) => self.greatest = self.greatest.max(explicit),
        }
        Ok(())
    }

    /// `DEFAULT(column)`, of the column itself.
    fn is_default_of(&self, column: usize, value: &Expr<'_>) -> bool {
        let ExprKind::Call(call) = value.bare().kind else { return false };
        let [Expr { kind: ExprKind::Column(name), .. }] = call.arguments else { return false };
        call.name.name.is("DEFAULT") && name.name.is(&self.target.table.columns[column].name)
    }

    fn ask_value(&mut self, column: usize, value: &Expr<'a>) -> Result<(), Refusal> {
        if let Some(obstacle) = self.obstacle(value) {
            return Err(self.depends(column, obstacle));
        }
        let text = self.parameters.cut(self.input.text, value.span.range());
        let answer = if has_query(value) || self.input.reads.calls_placed(value) {
            self.read(text)
        } else {
            Piece::Answer(self.ask(text))
        };
        self.replace(value, answer);
        Ok(())
    }

    /// What a value depends on that cannot be asked for.
    fn obstacle(&self, value: &Expr<'_>) -> Option<&'static str> {
        let mut obstacle = None;
        walk(Node::Expr(value), &mut |node: Node<'_>| match node {
            Node::Expr(Expr { kind: ExprKind::Column(_), .. }) => {
                obstacle = Some("another column of the row");
                Flow::Stop
            }
            Node::Expr(Expr { kind: ExprKind::Parameter(_), .. }) if self.input.session.parameters.is_none() => {
                obstacle = Some("a parameter that was sent in pieces");
                Flow::Stop
            }
            Node::Expr(Expr { kind: ExprKind::Call(call), .. }) if is_group_function(call) => {
                obstacle = Some("other rows");
                Flow::Stop
            }
            Node::Query(_) => Flow::Skip,
            _ => Flow::Descend,
        });
        obstacle
    }

    fn depends(&self, column: usize, obstacle: &str) -> Refusal {
        let name = &self.target.table.columns[column].name;
        Need::Value.refused(format!(
            "The value of '{name}' decides the row's shard, and depends on {obstacle}. Compute it first and write it as a literal"
        ))
    }

    fn read(&mut self, text: Vec<u8>) -> Piece {
        self.read.push(text);
        Piece::Read(self.read.len() - 1)
    }

    /// Values with subqueries, or with stored functions that read tables, of any column, are read before the rows are written.
    pub(super) fn subqueries(&mut self, rows: &Rows<'a>) -> Result<(), Refusal> {
        let input = self.input;
        let is_read = |value: &Expr<'_>| has_query(value) || input.reads.calls_placed(value);
        if !(0..rows.len()).any(|row| rows.values(row).any(is_read)) {
            return Ok(());
        }
        refuse_group_functions((0..rows.len()).flat_map(|row| rows.values(row)).filter(|value| is_read(value)))?;
        with_facts(input, |facts| {
            for row in 0..rows.len() {
                for (place, value) in rows.values(row).enumerate().filter(|(_, value)| is_read(value)) {
                    if !self.edits.covers(&value.span.range()) {
                        self.subquery(facts, value, rows.columns().get(place).copied().flatten());
                    }
                }
            }
        });
        Ok(())
    }

    fn subquery(&mut self, facts: &Facts<'_>, value: &Expr<'a>, column: Option<usize>) {
        // MariaDB warns, and goes on with NULL.
        self.lazy |= self.ignore && self.input.session.mariadb && matches!(value.bare().kind, ExprKind::Subquery(_));
        let text = self.parameters.cut(self.input.text, value.span.range());
        let stored_in = column.map(|column| &self.target.table.columns[column]);
        let piece = self.read(stored_as::computed(self.input, facts, (value, text), stored_in));
        self.replace(value, piece);
    }

    /// Subqueries of ON DUPLICATE KEY UPDATE are read before the rows are written.
    pub(super) fn assigned(&mut self, subqueries: &[ReadFirst]) {
        for one in subqueries {
            let piece = self.read(self.parameters.cut(self.input.text, one.range()));
            self.lazy |= one.value;
            self.replace_range(one.range(), piece);
        }
    }

    fn replace(&mut self, value: &Expr<'_>, piece: Piece) {
        self.replace_range(value.span.range(), piece);
    }

    fn replace_range(&mut self, range: Range<usize>, piece: Piece) {
        self.edits.forget_within(&range);
        // In parentheses: nothing grows together with what stands around it.
        let open = apart(self.input.text, range.clone(), b"(".to_vec());
        self.edits.push(range, vec![Piece::Text(open), piece, Piece::Text(b")".to_vec())]);
    }

    /// A value of the text that is asked once and sent as a literal.
    pub(super) fn once(&mut self, range: Range<usize>) {
        // A value that says where the row is has been asked for in whole.
        if self.edits.covers(&range) {
            return;
        }
        let answer = Piece::Answer(self.ask(self.parameters.cut(self.input.text, range.clone())));
        self.replace_range(range, answer);
    }

    fn automatic(&self, constant: &Constant) -> Automatic {
        let zero = match constant {
            Constant::Null => return Automatic::Generate,
            Constant::Integer(value) if *value > 0 => return Automatic::Explicit(u64::try_from(*value).ok()),
            Constant::Integer(value) => *value == 0,
            Constant::Float(value) if *value >= 0.5 => return Automatic::Explicit(Some(value.round() as u64)),
            Constant::Float(value) => *value > -0.5,
            Constant::Decimal(digits) => return self.automatic_text(digits.as_bytes()),
            Constant::Text { bytes, .. } | Constant::Binary(bytes) => return self.automatic_text(bytes),
            Constant::Temporal(_) => false,
        };
        self.zero(zero)
    }

    fn automatic_text(&self, text: &[u8]) -> Automatic {
        let number: Option<f64> = std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok());
        match number {
            Some(number) => self.automatic(&Constant::Float(number)),
            None => self.zero(text.trim_ascii().is_empty()),
        }
    }

    fn zero(&self, zero: bool) -> Automatic {
        let mut modes = self.input.session.sql_mode.split(',');
        let kept = modes.any(|mode| mode.trim().eq_ignore_ascii_case("NO_AUTO_VALUE_ON_ZERO"));
        if zero && !kept { Automatic::Generate } else { Automatic::Explicit(None) }
    }

    fn add_values(&mut self, rows: &Rows<'_>, row: usize, more: Vec<(usize, Piece)>) -> Result<(), Refusal> {
        let (at, before) = rows.more_values(row).ok_or_else(no_place)?;
        let mut pieces = Vec::new();
        let mut between = before;
        for (column, piece) in more {
            let mut text = between.to_vec();
            if rows.is_set() {
                put_name(&mut text, self.target.table.columns[column].name.as_bytes());
                text.push(b'=');
            }
            pieces.extend([Piece::Text(text), piece]);
            between = b",";
        }
        self.edits.push(at..at, pieces);
        Ok(())
    }

    fn add_columns(&mut self, insert: &Insert<'_>, rows: &Rows<'_>, missing: &[usize]) -> Result<(), Refusal> {
        let place = rows.more_columns(insert, self.input.text, self.input.session.mode);
        let (at, before, after) = place.ok_or_else(no_place)?;
        // Without a list, the values that are there belong to the columns that are visible.
        let unnamed = if insert.columns.is_none() { rows.columns() } else { &[] };
        let mut text = before.to_vec();
        for (nth, column) in unnamed.iter().flatten().chain(missing).enumerate() {
            if nth > 0 {
                text.push(b',');
            }
            put_name(&mut text, self.target.table.columns[*column].name.as_bytes());
        }
        text.extend_from_slice(after);
        self.edits.push(at..at, vec![Piece::Text(text)]);
        Ok(())
    }

    /// The greatest explicit value of AUTO_INCREMENT.
    pub(super) fn raise(&self) -> Option<Raise> {
        let (database, table) = (self.target.database_name.to_owned(), self.target.name.to_owned());
        let keeper = self.target.keeper();
        self.greatest.map(|value| Raise { keeper, database, table, value })
    }

    /// What has to be found out; `None` if nothing has.
    ///
    /// # Errors
    /// What it reads can't be read.
    pub(super) fn needed(self, shard: ShardId) -> Result<Option<Resolve>, Refusal> {
        if self.asked.is_empty() && self.read.is_empty() && self.generated == 0 && !self.known {
            return Ok(None);
        }
        let lazy = self.lazy && self.read.len() == 1;
        let read = match &self.read[..] {
            [] => None,
            read => Some(row_source(self.input, [b"SELECT ", &read.join(&b", "[..])[..]].concat())?),
        };
        let ask = (!self.asked.is_empty()).then(|| {
            let mut text = b"SELECT ".to_vec();
            text.extend(self.asked.join(&b", "[..]));
            if self.of_table {
                // One row, whatever the table has.
                text.extend_from_slice(b" FROM (SELECT 1 AS `one`) AS `one` LEFT JOIN ");
                put_name(&mut text, self.target.database_name.as_bytes());
                text.push(b'.');
                put_name(&mut text, self.target.name.as_bytes());
                text.extend_from_slice(b" ON FALSE");
            }
            (shard, text)
        });
        let generate = (self.generated > 0).then(|| Generate {
            keeper: self.target.keeper(),
            database: self.target.database_name.to_owned(),
            table: self.target.name.to_owned(),
            runs: self.runs,
        });
        Ok(Some(Resolve {
            ask,
            read,
            lazy,
            none: None,
            rows: None,
            columns: None,
            ignore: self.ignore,
            generate,
            edits: self.edits.into_sorted(),
        }))
    }
}

/// What gives the rows of a query of Weir's own, for a write.
pub(super) fn row_source(input: &Input<'_>, question: Vec<u8>) -> Result<RowSource, Refusal> {
    Ok(match input.reads.rows(&question)? {
        Plan::Read(read) => of_shards(read),
        Plan::Route(route) => of_shards(of_one(route.shard, route.text.unwrap_or(question))),
        Plan::Home => of_shards(of_one(input.session.home, question)),
        Plan::Workbench(workbench) if workbench.returns => RowSource::Workbench(workbench),
        _ => {
            return Err(Need::RowsInOnePlace.refused(
                "The rows that this write needs can't be read by one query: read them first, in a transaction, and write values",
            ));
        }
    })
}

/// What becomes of a value of an AUTO_INCREMENT column.
enum Automatic {
    /// The next one of the sequence.
    Generate,
    /// It stays; a positive one raises the sequence.
    Explicit(Option<u64>),
}

fn no_place() -> Refusal {
    Need::OtherForm.refused("Weir cannot add values to this form of INSERT: name the columns")
}
