//! Statements that may ride in a batch with others that change the same row: which texts have one, and which row it is about.
//!
//! What must hold: a text is taken only if its statement changes one table by what stands in it, reads nothing of its session, and leaves
//! nothing there but counts, warnings and an insert id. Two statements with one [`HotText::row`] need not be about one row; those that
//! are about one row have the same, if they have one shape and spell its values alike.

mod comments;
mod hints;
mod merge;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

use comments::Uncommented;
pub use hints::{MalformedHint, TransactionHints, transaction_hints};
pub use merge::{Compare, CounterMove, Operand, Part};

use bumpalo::Bump;

use crate::ast::{
    BinaryOp, ColumnName, Completion, Expr, ExprKind, Insert, InsertSource, Literal, StartTransaction, Statement,
    StatementKind, TableRefKind, Transaction,
};
use crate::classify::{Class, Effects, TextKind, classify};
use crate::known::Template;
use crate::mode::LexMode;
use crate::parse::parse;
use crate::visit::{Flow, Node, walk};

/// What stands around the statement in its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Nothing.
    Alone,
    /// `BEGIN; … ; COMMIT`.
    Transaction,
    /// `… ; COMMIT`.
    Commit,
}

/// Why a statement can't ride in a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfit {
    /// It is another kind of statement.
    Statement,
    /// It has a hint or an executable comment.
    Comment,
    /// It can't be read, is long, or is in a character set whose texts are not compared byte by byte.
    Text,
    /// It has a clause that batches don't have.
    Clause,
    /// It computes with more than its row and its own values.
    Computes,
    /// It reads or changes its session.
    Session,
}

impl Unfit {
    /// For people.
    pub fn reason(self) -> &'static str {
        match self {
            Unfit::Statement => {
                "it is no UPDATE or DELETE of one table, no INSERT of one row ON DUPLICATE KEY UPDATE, and no transaction of one of them in one text"
            }
            Unfit::Comment => "it has a hint or an executable comment",
            Unfit::Text => {
                "it can't be read, is longer than 2,048 bytes, or is in a multibyte character set other than UTF-8"
            }
            Unfit::Clause => {
                "it has WITH, RETURNING, a hint, several tables or rows, or another clause that batches don't have"
            }
            Unfit::Computes => "it uses a query, a variable, a stored function, or a function that waits",
            Unfit::Session => "it reads or changes the state of its session",
        }
    }
}

/// A table, as a statement names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HotTable {
    /// The database, if it is named.
    pub database: Option<Box<[u8]>>,
    /// The table.
    pub name: Box<[u8]>,
}

/// A text whose statement may ride in a batch. It holds for all texts that differ from it only in their plain literals and in comments.
#[derive(Debug)]
pub struct HotText {
    /// What stands around the statement.
    pub framing: Framing,
    /// What the statement alone is.
    pub class: Class,
    /// The table that it changes.
    pub table: HotTable,
    /// An INSERT, whose OK may tell of a generated value.
    pub inserts: bool,
    mode: LexMode,
    /// Of the text without comments.
    template: Template,
    before: usize,
    behind: usize,
    /// Of each plain literal, whether statements with another one may be about the same row.
    free: Box<[bool]>,
    /// The parameters by which a row is named.
    parameters: Box<[u32]>,
}

impl HotText {
    /// What there is in a text of this class for a batch.
    ///
    /// # Errors
    /// Why its statement can't ride in one.
    pub fn of(text: &[u8], mode: LexMode, class: &Class) -> Result<HotText, Unfit> {
        if !class.effects.contains(Effects::WRITES) {
            return Err(Unfit::Statement);
        }
        // What a server reads in executable comments, another one may not; and hints are for one statement.
        let plain = Uncommented::of(text, mode).ok_or(Unfit::Comment)?;
        HotText::of_plain(&plain.text, mode, class)
    }

    fn of_plain(text: &[u8], mode: LexMode, class: &Class) -> Result<HotText, Unfit> {
        let begins = |word: &[u8]| text.len() > word.len() && text[..word.len()].eq_ignore_ascii_case(word);
        let may = [&b"UPDATE"[..], b"DELETE", b"INSERT", b"BEGIN", b"START"].into_iter().any(begins);
        if !may {
            return Err(Unfit::Statement);
        }
        let template = Template::of(text, mode).ok_or(Unfit::Text)?;
        let arena = Bump::new();
        let parsed = parse(&arena, text, mode).map_err(|_| Unfit::Text)?;
        let (framing, statement) = match parsed.statements {
            [statement] => (Framing::Alone, statement),
            [begin, statement, commit] if begins_plainly(begin) && commits_plainly(commit) => {
                (Framing::Transaction, statement)
            }
            [statement, commit] if commits_plainly(commit) => (Framing::Commit, statement),
            _ => return Err(Unfit::Statement),
        };
        let class = match framing {
            Framing::Alone => class.clone(),
            _ => classify(statement.span.text(text), mode),
        };
        let rows = RowNames::of(statement)?;
        if !may_join(&class) {
            return Err(Unfit::Session);
        }
        let free = template.literals().map(|literal| rows.may_differ(&literal)).collect();
        let range = statement.span.range();
        Ok(HotText {
            framing,
            class,
            table: rows.table,
            inserts: rows.inserts,
            mode,
            before: range.start,
            behind: text.len() - range.end,
            free,
            parameters: rows.parameters.into(),
            template,
        })
    }

    /// The statement in a text of this shape, with the comments around it.
    pub fn statement<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        let within = |text: &[u8]| self.before..text.len().saturating_sub(self.behind).max(self.before);
        if self.template.matches(text, self.mode, |_| ()) {
            return &text[within(text)];
        }
        match Uncommented::of(text, self.mode) {
            Some(plain) if plain.text.len() >= self.before => &text[plain.original(within(&plain.text))],
            _ => text,
        }
    }

    /// The statement in a text of this shape, without comments.
    pub fn plain_statement<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        let statement = self.statement(text);
        Uncommented::of(statement, self.mode).map_or(Cow::Borrowed(statement), |plain| plain.text)
    }

    /// A hash of the statement with all that names its row in a text, but for parameters. `None`: the text is of another shape.
    pub fn row(&self, text: &[u8], mode: LexMode) -> Option<u64> {
        self.row_of_plain(text, mode).or_else(|| self.row_of_plain(&Uncommented::of(text, mode)?.text, mode))
    }

    fn row_of_plain(&self, text: &[u8], mode: LexMode) -> Option<u64> {
        let (mut hash, mut from, mut at) = (Mixed::default(), self.before, 0);
        let matches = self.template.matches(text, mode, |literal| {
            if self.free[at] && literal.start >= from {
                hash.add(&text[from..literal.start]);
                from = literal.end;
            }
            at += 1;
        });
        hash.add(text.get(from..text.len().checked_sub(self.behind)?)?);
        matches.then(|| hash.end())
    }

    /// The literals by which the statement of a text of this shape names its row.
    pub fn values(&self, text: &[u8], mode: LexMode) -> Vec<String> {
        let (mut values, mut at) = (Vec::new(), 0);
        let text = Uncommented::of(text, mode).map_or(Cow::Borrowed(text), |plain| plain.text);
        self.template.matches(&text, mode, |literal| {
            if !self.free[at] {
                values.push(String::from_utf8_lossy(&text[literal]).into_owned());
            }
            at += 1;
        });
        values
    }

    /// The parameters by which it names its row, from 0, in their order.
    pub fn parameters(&self) -> &[u32] {
        &self.parameters
    }
}

/// The text without its comments; `None` if it has none, or not only plain ones.
pub fn without_comments(text: &[u8], mode: LexMode) -> Option<Vec<u8>> {
    match Uncommented::of(text, mode)?.text {
        Cow::Owned(plain) => Some(plain),
        Cow::Borrowed(_) => None,
    }
}

/// Whether a statement of this class finds nothing of its session, and leaves nothing there but what a reply tells of.
fn may_join(class: &Class) -> bool {
    const MAY: Effects =
        Effects::READS.union(Effects::WRITES).union(Effects::GENERATES_INSERT_ID).union(Effects::SETS_LAST_INSERT_ID);
    class.kind == TextKind::Other
        && class.pins.is_empty()
        && class.releases.is_empty()
        && class.assigned.is_empty()
        && MAY.contains(class.effects)
}

fn begins_plainly(statement: &Statement<'_>) -> bool {
    const PLAIN: StartTransaction = StartTransaction { consistent_snapshot: false, read_only: None };
    match statement.kind {
        StatementKind::Transaction(Transaction::Begin) => true,
        StatementKind::Transaction(Transaction::Start(start)) => *start == PLAIN,
        _ => false,
    }
}

fn commits_plainly(statement: &Statement<'_>) -> bool {
    const PLAIN: Completion = Completion { chain: None, release: None };
    matches!(statement.kind, StatementKind::Transaction(Transaction::Commit(completion)) if *completion == PLAIN)
}

/// By what a statement names its row.
struct RowNames {
    table: HotTable,
    inserts: bool,
    /// Where literals stand that name no row: new values, and guards.
    free: Vec<Range<usize>>,
    parameters: Vec<u32>,
}

impl RowNames {
    fn of(statement: &Statement<'_>) -> Result<RowNames, Unfit> {
        let names = RowNames::of_kind(statement)?;
        if computes_by_itself(statement) { names.ok_or(Unfit::Clause) } else { Err(Unfit::Computes) }
    }

    fn of_kind(statement: &Statement<'_>) -> Result<Option<RowNames>, Unfit> {
        Ok(match statement.kind {
            StatementKind::Update(update) => {
                let plain = update.with.is_none() && update.hint.is_none() && update.returning.is_empty();
                let Some(mut names) = RowNames::in_table(update.tables).filter(|_| plain) else { return Ok(None) };
                let assigned: Vec<_> = update.assignments.iter().map(|one| one.column).collect();
                names.free.extend(update.assignments.iter().map(|one| one.value.span.range()));
                if let Some(condition) = &update.condition {
                    names.add_condition(condition, &assigned);
                }
                Some(names)
            }
            StatementKind::Delete(delete) => {
                let plain = delete.with.is_none()
                    && delete.hint.is_none()
                    && delete.returning.is_empty()
                    && delete.targets.is_empty()
                    && !delete.history;
                let Some(mut names) = RowNames::in_table(delete.tables).filter(|_| plain) else { return Ok(None) };
                if let Some(condition) = &delete.condition {
                    names.add_condition(condition, &[]);
                }
                Some(names)
            }
            StatementKind::Insert(insert) => RowNames::of_insert(insert),
            _ => return Err(Unfit::Statement),
        })
    }

    fn in_table(tables: &[crate::ast::TableRef<'_>]) -> Option<RowNames> {
        let [table] = tables else { return None };
        let TableRefKind::Table(named) = table.kind else { return None };
        (named.period.is_none() && named.sample.is_none()).then(|| RowNames {
            table: HotTable {
                database: named.name.database.map(|database| database.name.into()),
                name: named.name.name.name.into(),
            },
            inserts: false,
            free: Vec::new(),
            parameters: Vec::new(),
        })
    }

    /// An INSERT meets others where it goes on duplicate keys: the first value names its row.
    fn of_insert(insert: &Insert<'_>) -> Option<RowNames> {
        let InsertSource::Values([row]) = insert.source else { return None };
        let plain =
            !insert.replace && insert.hint.is_none() && insert.returning.is_empty() && insert.priority.is_none();
        let (first, others) = row.values.split_first()?;
        if !plain || insert.on_duplicate.is_empty() {
            return None;
        }
        let table = HotTable {
            database: insert.table.database.map(|database| database.name.into()),
            name: insert.table.name.name.into(),
        };
        let mut names = RowNames { table, inserts: true, free: Vec::new(), parameters: Vec::new() };
        names.add_parameters(first);
        names.free.extend(others.iter().map(|value| value.span.range()));
        names.free.extend(insert.on_duplicate.iter().map(|one| one.value.span.range()));
        Some(names)
    }

    /// What of a condition names the row: all of it but comparisons of what the statement assigns, which are guards.
    fn add_condition(&mut self, condition: &Expr<'_>, assigned: &[ColumnName<'_>]) {
        let mut conditions = vec![condition];
        while let Some(condition) = conditions.pop() {
            match condition.bare().kind {
                ExprKind::Binary(BinaryOp::And, left, right) => conditions.extend([left, right]),
                ExprKind::Binary(op, left, right)
                    if compares(op) && (is_one_of(left, assigned) || is_one_of(right, assigned)) =>
                {
                    self.free.push(condition.span.range());
                }
                _ => self.add_parameters(condition),
            }
        }
        self.parameters.sort_unstable();
    }

    fn add_parameters(&mut self, expr: &Expr<'_>) {
        walk(Node::Expr(expr), &mut |node: Node<'_>| {
            if let Node::Expr(Expr { kind: ExprKind::Parameter(number), .. }) = node {
                self.parameters.push(*number);
            }
            Flow::Descend
        });
    }

    fn may_differ(&self, literal: &Range<usize>) -> bool {
        self.free.iter().any(|free| free.start <= literal.start && literal.end <= free.end)
    }
}

fn compares(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge)
}

fn is_one_of(expr: &Expr<'_>, columns: &[ColumnName<'_>]) -> bool {
    let ExprKind::Column(column) = expr.bare().kind else { return false };
    columns.iter().any(|one| one.name.name.eq_ignore_ascii_case(column.name.name))
}

/// Whether all values of a statement follow from its text and the row: no queries, no variables, nothing that waits.
fn computes_by_itself(statement: &Statement<'_>) -> bool {
    walk(Node::Statement(statement), &mut |node: Node<'_>| match node {
        Node::Expr(expr) => match expr.kind {
            ExprKind::UserVariable(_)
            | ExprKind::Assign(_)
            | ExprKind::SystemVariable(_)
            | ExprKind::Exists(_)
            | ExprKind::Subquery(_)
            | ExprKind::Quantified(_)
            | ExprKind::Match(_)
            | ExprKind::Sequence(_)
            | ExprKind::Literal(Literal::Text(_)) => Flow::Stop,
            ExprKind::Call(call)
                if call.name.database.is_some() || call.over.is_some() || waits(call.name.name.name) =>
            {
                Flow::Stop
            }
            _ => Flow::Descend,
        },
        Node::Query(_) | Node::Compound(_) | Node::Select(_) | Node::With(_) => Flow::Stop,
        _ => Flow::Descend,
    })
}

/// Functions that take their time.
fn waits(function: &[u8]) -> bool {
    [&b"SLEEP"[..], b"BENCHMARK"].into_iter().any(|name| function.eq_ignore_ascii_case(name))
}

/// A hash of another one and of what stands beside it.
pub fn mixed(hash: u64, bytes: &[u8]) -> u64 {
    let mut mixed = Mixed(hash);
    mixed.add(bytes);
    mixed.end()
}

/// A hash for texts that come in pieces. Whoever makes two texts collide gains nothing: their statements run one after another in one
/// transaction, each as it was sent.
#[derive(Debug, Clone, Copy)]
struct Mixed(u64);

impl Default for Mixed {
    fn default() -> Mixed {
        Mixed(0x243F_6A88_85A3_08D3)
    }
}

impl Mixed {
    fn add(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            self.word(u64::from_le_bytes(word.try_into().expect("a chunk has eight bytes")));
        }
        let tail = words.remainder().iter().fold(1_u64, |tail, byte| tail << 8 | u64::from(*byte));
        self.word(tail);
    }

    fn word(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn end(self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}
