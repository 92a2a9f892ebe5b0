//! The columns of a SELECT that shards run, the client's and hidden ones, and how they sort.
//!
//! What must always hold: a sort key orders rows exactly as the servers' ORDER BY of the expression does; where that isn't known before the
//! server tells the type, the key says what to go by.

use std::cell::OnceCell;
use std::collections::HashMap;

use weir_catalog::ColumnType;
use weir_sql::ast::{BinaryOp, Call, ColumnName, Expr, ExprKind, Literal, Select, SelectItem, UnaryOp};
use weir_sql::visit::{Flow, Node, walk};

use super::colocation::Question;
use super::expressions::{has_aggregate, has_window};
use super::index::{Index, meaning};
use super::place;
use crate::analysis::{AFTER_TEXT, Branch, ColumnRef, OutColumn};
use crate::text::{Edits, Pieces};
use crate::{Compare, SortKey};

/// How values of a column sort.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Sorts {
    /// By value.
    Value,
    /// By bytes.
    Bytes,
    /// By the weights of a collation.
    Text(String),
    /// By number: ENUM and SET.
    Number,
    /// It is not known before the server says.
    Unknown,
    /// In a way that isn't known here.
    Oddly,
}

/// How values of a type sort.
pub(crate) fn sorts(kind: &ColumnType) -> Sorts {
    match kind.base.as_str() {
        "enum" | "set" => Sorts::Number,
        "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" => match &kind.collation {
            Some(collation) => Sorts::Text(collation.clone()),
            None => Sorts::Oddly,
        },
        "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" | "bit" => Sorts::Bytes,
        "tinyint" | "smallint" | "mediumint" | "int" | "integer" | "bigint" | "decimal" | "numeric" | "float"
        | "double" | "date" | "datetime" | "timestamp" | "time" | "year" => Sorts::Value,
        _ => Sorts::Oddly,
    }
}

/// Functions whose values are integers, whatever they are given.
pub(crate) const INTEGER_FUNCTIONS: &[&str] = &[
    "ASCII",
    "BIT_COUNT",
    "BIT_LENGTH",
    "CHARACTER_LENGTH",
    "CHAR_LENGTH",
    "CRC32",
    "DATEDIFF",
    "DAY",
    "DAYOFMONTH",
    "DAYOFWEEK",
    "DAYOFYEAR",
    "EXTRACT",
    "FIELD",
    "FIND_IN_SET",
    "HOUR",
    "INSTR",
    "LENGTH",
    "LOCATE",
    "MICROSECOND",
    "MINUTE",
    "MONTH",
    "OCTET_LENGTH",
    "ORD",
    "PERIOD_DIFF",
    "POSITION",
    "QUARTER",
    "SECOND",
    "SIGN",
    "STRCMP",
    "TIMESTAMPDIFF",
    "TO_DAYS",
    "WEEK",
    "WEEKDAY",
    "WEEKOFYEAR",
    "YEAR",
    "YEARWEEK",
];

/// What rows are sorted by.
#[derive(Debug, Clone)]
pub(crate) enum Ordered<'a> {
    /// One of the client's columns.
    Column(usize),
    /// Something else.
    Expression(Pieces, Sorts, Option<ColumnRef>, &'a Expr<'a>),
    /// Nothing: it is the same for all rows.
    Constant,
}

/// A SELECT that is being extended.
pub(crate) struct Projection<'q, 'p, 'a> {
    pub(crate) question: &'q Question<'p, 'a>,
    pub(crate) branch: &'q Branch<'a>,
    /// The client's columns.
    pub(crate) columns: &'q [OutColumn<'a>],
    hidden: Vec<Pieces>,
    /// The places of the hidden ones by their texts, not to have any twice.
    texts: HashMap<Vec<u8>, usize>,
    index: OnceCell<Index>,
    /// Each hidden column has a place of its own: those of several SELECTs have to stand side by side.
    apart: bool,
    /// Rows are groups: what is made of a grouped expression is not seen by all servers to be the same for all of a group.
    grouped: bool,
}

impl<'q, 'p, 'a> Projection<'q, 'p, 'a> {
    /// The columns of a SELECT, if they are known.
    pub(crate) fn of(question: &'q Question<'p, 'a>, branch: &'q Branch<'a>) -> Option<Self> {
        let columns = branch.columns.as_deref()?;
        Some(Projection {
            question,
            branch,
            columns,
            hidden: Vec::new(),
            texts: HashMap::new(),
            index: OnceCell::new(),
            apart: false,
            grouped: false,
        })
    }

    /// With a place for each hidden column.
    pub(crate) fn side_by_side(mut self) -> Self {
        self.apart = true;
        self
    }

    /// With rows that are groups.
    pub(crate) fn of_groups(mut self) -> Self {
        self.grouped = true;
        self
    }

    pub(crate) fn text(&self) -> &'a [u8] {
        self.question.planner.text
    }

    /// The place of a hidden column, made if it is new.
    pub(crate) fn hide(&mut self, pieces: Pieces) -> usize {
        let text = pieces.shown(self.text());
        let known = self.texts.get(&text).copied();
        let place = match known.filter(|_| !self.apart) {
            Some(place) => place,
            None => {
                let place = self.hidden.len();
                self.hidden.push(pieces);
                self.texts.entry(text).or_insert(place);
                place
            }
        };
        self.columns.len() + place
    }

    /// How many columns are hidden.
    pub(crate) fn hidden(&self) -> usize {
        self.hidden.len()
    }

    /// Adds the hidden columns to the text of the select list, or of TABLE.
    pub(crate) fn extend(&self, select: Option<&Select<'a>>, edits: &mut Edits) {
        if self.hidden.is_empty() {
            return;
        }
        let mut list = Pieces::default();
        for hidden in &self.hidden {
            list = list.then(", ").and(hidden);
        }
        if let Some(last) = select.and_then(|select| select.items.last()) {
            edits.insert(last.span.range().end, list);
        }
    }

    /// `SELECT *` with the hidden columns, of a table: what stands for TABLE.
    pub(crate) fn as_select(&self, table: Pieces) -> Pieces {
        let mut text = Pieces::new("SELECT *");
        for hidden in &self.hidden {
            text = text.then(", ").and(hidden);
        }
        text.then(" FROM ").and(&table)
    }

    /// What a column's values are, as far as that decides about the type of a UNION's column.
    pub(crate) fn family(&self, place: usize) -> Option<&'a str> {
        let column = &self.columns[place];
        match (column.column.and_then(|at| self.question.analysis.kind(at)), column.expr) {
            (Some(kind), _) => Some(match kind.base.as_str() {
                "tinyint" | "smallint" | "mediumint" | "int" | "integer" | "bigint" | "decimal" | "numeric"
                | "float" | "double" => "number",
                "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" => "text",
                "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" => "bytes",
                base => base,
            }),
            (None, Some(expr)) if self.expression_sorts(expr) == Sorts::Value => Some("number"),
            _ => None,
        }
    }

    /// The text of one of the client's columns, as an expression.
    pub(crate) fn expression(&self, place: usize) -> Result<Pieces, String> {
        let column = &self.columns[place];
        Ok(match (column.expr, column.column) {
            (Some(expr), _) => Pieces::own(expr.span.range()),
            (None, Some(_)) if column.name == AFTER_TEXT => {
                return Err(format!("column {} is a derived table's that has no name of its own", place + 1));
            }
            (None, Some(at)) => self.qualified(at, column.name),
            (None, None) => Pieces::default(),
        })
    }

    /// How one of the client's columns sorts.
    pub(crate) fn column_sorts(&self, place: usize) -> Sorts {
        let column = &self.columns[place];
        match (column.column.and_then(|at| self.question.analysis.kind(at)), column.expr) {
            (Some(kind), _) => sorts(kind),
            (None, Some(expr)) => self.expression_sorts(expr),
            (None, None) => Sorts::Unknown,
        }
    }

    pub(crate) fn expression_sorts(&self, expr: &Expr<'a>) -> Sorts {
        let bare = expr.bare();
        match &bare.kind {
            ExprKind::Column(name) => {
                let at = self.lookup(name).and_then(|at| self.question.analysis.kind(at));
                at.map_or(Sorts::Unknown, sorts)
            }
            ExprKind::Call(call) if call.over.is_none() => self.aggregate_sorts(call),
            _ if is_number(bare) => Sorts::Value,
            _ => Sorts::Unknown,
        }
    }

    fn aggregate_sorts(&self, call: &Call<'a>) -> Sorts {
        const NUMBERS: &[&str] = &[
            "COUNT",
            "SUM",
            "AVG",
            "BIT_AND",
            "BIT_OR",
            "BIT_XOR",
            "STD",
            "STDDEV",
            "STDDEV_POP",
            "STDDEV_SAMP",
            "VARIANCE",
            "VAR_POP",
            "VAR_SAMP",
        ];
        let named = |names: &[&str]| names.iter().any(|name| call.name.name.is(name));
        match call.arguments {
            _ if call.name.database.is_some() => Sorts::Unknown,
            _ if named(NUMBERS) || named(INTEGER_FUNCTIONS) => Sorts::Value,
            [of] if named(&["MIN", "MAX"]) => match self.expression_sorts(of) {
                // They compare them as texts.
                Sorts::Number => Sorts::Oddly,
                sorts => sorts,
            },
            _ => Sorts::Unknown,
        }
    }

    /// Whether one of the client's columns is this one.
    pub(super) fn shows(&self, at: ColumnRef) -> bool {
        self.index().shows(at).is_some()
    }

    pub(crate) fn lookup(&self, name: &ColumnName<'_>) -> Option<ColumnRef> {
        self.question.analysis.lookup(self.branch.block, None, name, self.question.planner.catalog.fold_case)
    }

    // --- Keys ---

    /// A key of one of the client's columns.
    pub(crate) fn key_of_column(&mut self, place: usize, descending: bool) -> Result<SortKey, String> {
        let (sorts, text) = (self.column_sorts(place), self.expression(place)?);
        let simple = self.columns[place].expr.is_none_or(is_simple);
        self.key(Some(place), text, simple, sorts, descending)
    }

    /// A key of an expression, which is shown at a place or hidden. `simple`: it is a column or an aggregate.
    pub(crate) fn key(
        &mut self,
        place: Option<usize>,
        text: Pieces,
        simple: bool,
        sorts: Sorts,
        descending: bool,
    ) -> Result<SortKey, String> {
        let wrap = |pieces: Pieces| if self.grouped && !simple { pieces.within("MIN") } else { pieces };
        let (value, weight) = (wrap(text.clone()), wrap(text.clone().within("WEIGHT_STRING")));
        let (number, collation) = (wrap(text.clone().within("").then("+0")), wrap(text.clone().within("COLLATION")));
        let (column, by) = match sorts {
            Sorts::Value => (self.placed(place, value), Compare::Value),
            Sorts::Bytes => (self.placed(place, value), Compare::Bytes),
            Sorts::Text(collation) => (self.hide(weight), Compare::Weights { collation }),
            Sorts::Number => (self.hide(number), Compare::Value),
            Sorts::Unknown => {
                let column = self.placed(place, value);
                (column, Compare::ByCollation { weight: self.hide(weight), collation: self.hide(collation) })
            }
            Sorts::Oddly => {
                let text = String::from_utf8_lossy(&text.shown(self.text())).into_owned();
                return Err(format!("values of the type of {text} are not compared here"));
            }
        };
        Ok(SortKey { column, descending, by })
    }

    fn placed(&mut self, place: Option<usize>, value: Pieces) -> usize {
        place.unwrap_or_else(|| self.hide(value))
    }

    // --- ORDER BY ---

    /// What an item of ORDER BY (or GROUP BY, if columns come before aliases there) means.
    pub(crate) fn ordered(&self, expr: &'a Expr<'a>, columns_first: bool) -> Result<Ordered<'a>, String> {
        let bare = expr.bare();
        if let Some(place) = place::named(self.question.planner, bare)? {
            return match place.checked_sub(1).filter(|place| *place < self.columns.len()) {
                Some(place) => Ok(Ordered::Column(place)),
                None => Err("ORDER BY names a column by a place that isn't there".to_owned()),
            };
        }
        match &bare.kind {
            _ if self.question.planner.folder().fold(bare).is_some() => Ok(Ordered::Constant),
            ExprKind::Column(name) => self.ordered_by_name(name, bare, columns_first),
            _ => {
                let text = bare.span.text(self.text());
                let same = self.index().written(text);
                // Calls of chance are other values each time.
                match same.filter(|_| self.names_only_columns(bare)) {
                    Some(place) => Ok(Ordered::Column(place)),
                    None => Ok(Ordered::Expression(self.unaliased(bare)?, self.expression_sorts(bare), None, bare)),
                }
            }
        }
    }

    fn ordered_by_name(
        &self,
        name: &ColumnName<'a>,
        bare: &'a Expr<'a>,
        columns_first: bool,
    ) -> Result<Ordered<'a>, String> {
        let alias = self.index().named(name.name.name).filter(|_| name.table.is_none());
        let found = self.lookup(name);
        if let Some(place) = alias.filter(|_| !columns_first || found.is_none()) {
            return Ok(Ordered::Column(place));
        }
        let Some(at) = found else {
            return match alias {
                Some(place) => Ok(Ordered::Column(place)),
                None => Ok(Ordered::Expression(Pieces::own(bare.span.range()), Sorts::Unknown, None, bare)),
            };
        };
        if let Some(place) = self.index().shows(at) {
            return Ok(Ordered::Column(place));
        }
        let sorts = self.question.analysis.kind(at).map_or(Sorts::Unknown, sorts);
        Ok(Ordered::Expression(Pieces::own(bare.span.range()), sorts, Some(at), bare))
    }

    fn names_only_columns(&self, expr: &'a Expr<'a>) -> bool {
        column_names(expr).iter().all(|name| self.lookup(name).is_some() || self.aliased(name).is_none())
    }

    /// The place of one of the client's columns that is written as this expression, or is the same column of a table.
    pub(super) fn place_of(&self, expr: &Expr<'a>) -> Option<usize> {
        let at = match &expr.bare().kind {
            ExprKind::Column(name) => self.lookup(name),
            _ => None,
        };
        let place = match at {
            Some(at) => self.index().shows(at),
            None => self.index().written(expr.bare().span.text(self.text())),
        };
        place.filter(|place| self.columns[*place].expr.is_some())
    }

    pub(super) fn items(&self) -> &'a [SelectItem<'a>] {
        self.question.analysis.blocks[self.branch.block].select.map_or(&[], |select| select.items)
    }

    pub(super) fn index(&self) -> &Index {
        self.index.get_or_init(|| Index::of(self.columns, self.items(), self.text()))
    }

    /// Counts steps; see [`crate::Effort`].
    pub(super) fn spend(&self, steps: usize) -> bool {
        self.question.planner.effort.spend(steps)
    }
}

/// The columns that an expression names, in order.
pub(crate) fn column_names<'a>(expr: &'a Expr<'a>) -> Vec<&'a ColumnName<'a>> {
    let mut names = Vec::new();
    walk(Node::Expr(expr), &mut |node: Node<'a>| {
        if let Node::Expr(Expr { kind: ExprKind::Column(name), .. }) = node {
            names.push(*name);
        }
        Flow::Descend
    });
    names
}

/// Expressions that are numbers, whatever they are made of.
fn is_number(expr: &Expr<'_>) -> bool {
    let interval = |side: &Expr<'_>| matches!(side.bare().kind, ExprKind::Interval(_));
    match &expr.bare().kind {
        ExprKind::Literal(Literal::Integer | Literal::Decimal | Literal::Float | Literal::True | Literal::False) => {
            true
        }
        ExprKind::Unary(UnaryOp::Minus | UnaryOp::BitNot | UnaryOp::Bang | UnaryOp::Not, _) => true,
        ExprKind::Binary(BinaryOp::Concat | BinaryOp::JsonExtract | BinaryOp::JsonUnquote, ..) => false,
        // MySQL's bits of binary strings are binary strings.
        ExprKind::Binary(
            BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor | BinaryOp::ShiftLeft | BinaryOp::ShiftRight,
            ..,
        ) => false,
        ExprKind::Binary(_, left, right) => !interval(left) && !interval(right),
        ExprKind::Is(_) | ExprKind::Between(_) | ExprKind::In(_) | ExprKind::Like(_) | ExprKind::Exists(_) => true,
        _ => false,
    }
}

/// Whether two texts are the same expression: case matters in strings and quoted names.
pub(crate) fn same_text(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && meaning(one) == meaning(other)
}

/// A column, or what is made of aggregates: a server sees that it is the same for all of a group.
pub(crate) fn is_simple<'a>(expr: &'a Expr<'a>) -> bool {
    matches!(expr.bare().kind, ExprKind::Column(_)) || has_aggregate(expr) || has_window(expr)
}
