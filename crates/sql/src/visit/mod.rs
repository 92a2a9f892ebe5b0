//! Going through a tree: every node in the order of the text, from the outside in.
//!
//! What must hold: no recursion, since a chain of operators nests as deep as the text is long; children come in the
//! order of the text; a node's children lie within its span; every name of an object comes as a [`Node::Name`] that says
//! what the statement does with it.
//!
//! Each file of `ast` has a file here with one function per kind of node, which pushes that node's children in the order
//! of the text. A statement of its own that is added to [`StatementKind`](crate::ast::StatementKind) needs a line in
//! `dml::statement` (or one in a file of its own), and a [`Node`] only if others should stop at its parts.

mod account;
mod ddl;
mod dml;
mod expr;
mod query;
mod routine;
mod session;
#[cfg(test)]
mod tests;

use crate::ast::{
    Assignment, ColumnName, CommonTable, Compound, DataType, Expr, Frame, IndexHint, Into, JsonColumn, Limit, Lock,
    NamedWindow, ObjectName, OrderItem, Query, RowAlias, Select, SelectItem, Span, Statement, TableRef, ValuesRow,
    WindowSpec, With,
};

/// A node of the tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Node<'a> {
    /// A statement.
    Statement(&'a Statement<'a>),
    /// A query with all that surrounds it.
    Query(&'a Query<'a>),
    /// Queries combined by UNION and the like.
    Compound(&'a Compound<'a>),
    /// SELECT.
    Select(&'a Select<'a>),
    /// One of the things selected, or of RETURNING.
    SelectItem(&'a SelectItem<'a>),
    /// INTO.
    Into(&'a Into<'a>),
    /// WITH.
    With(&'a With<'a>),
    /// One of WITH's tables.
    CommonTable(&'a CommonTable<'a>),
    /// A row of VALUES.
    ValuesRow(&'a ValuesRow<'a>),
    /// What stands in FROM, or as the tables of an UPDATE or DELETE.
    TableRef(&'a TableRef<'a>, TableUse),
    /// A column of JSON_TABLE.
    JsonColumn(&'a JsonColumn<'a>),
    /// `USE INDEX …`.
    IndexHint(&'a IndexHint<'a>),
    /// One of ORDER BY's or GROUP BY's.
    OrderItem(&'a OrderItem<'a>),
    /// LIMIT.
    Limit(&'a Limit<'a>),
    /// FOR UPDATE and the like.
    Lock(&'a Lock<'a>),
    /// `w AS (…)`.
    NamedWindow(&'a NamedWindow<'a>),
    /// A window's parentheses.
    Window(&'a WindowSpec<'a>),
    /// A window's frame.
    Frame(&'a Frame<'a>),
    /// An expression.
    Expr(&'a Expr<'a>),
    /// A type.
    DataType(&'a DataType<'a>),
    /// `column = value`.
    Assignment(&'a Assignment<'a>),
    /// A column that an INSERT or an assignment names as what is written. Columns that are read are expressions.
    WrittenColumn(&'a ColumnName<'a>),
    /// INSERT's `AS new(a, b)`.
    RowAlias(&'a RowAlias<'a>),
    /// The name of an object, and what is done with it.
    Name(&'a ObjectName<'a>, NameRole),
}

/// What becomes of the rows of a table in a list of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableUse {
    /// They are read.
    Read,
    /// They are read, and changed if the assignments of the UPDATE, or the targets of the DELETE, say so.
    Changed,
}

/// What a statement does with the object that a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRole {
    /// Reads it: a table, a view, or a common table expression, which only scopes can tell
    /// ([`resolve`](crate::resolve) does).
    Read,
    /// Reads it, and changes it if the assignments of the UPDATE, or the targets of the DELETE, say so.
    Changed,
    /// Writes it: INSERT's table.
    Written,
    /// Deletes from it: a target of a DELETE of several tables; a table, or an alias of one that is read.
    Deleted,
    /// Locks it: OF in a locking clause; a table, or an alias of one that is read.
    Locked,
    /// Selects all its columns: `t.*`; a table or an alias.
    Star,
    /// Calls it: a function, built in or stored, or a procedure.
    Routine,
    /// Takes a value of it.
    Sequence,
    /// Makes it.
    Created(Object),
    /// Changes its definition, or administers it.
    Altered(Object),
    /// Removes it.
    Dropped(Object),
    /// Tells about it, without reading its rows: SHOW, DESCRIBE.
    Shown(Object),
    /// Refers to it in a definition: a foreign key's table, LIKE's.
    Referred(Object),
    /// Not known: a name in a statement that has no grammar here.
    Unknown,
}

/// The kinds of objects that have names with databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    /// A table, or whatever shares its names.
    Table,
    /// A view.
    View,
    /// A sequence (MariaDB).
    Sequence,
    /// A procedure, a function or a package.
    Routine,
    /// A trigger.
    Trigger,
    /// An event.
    Event,
    /// An index.
    Index,
    /// Something else.
    Other,
}

impl Node<'_> {
    /// The bytes that it covers.
    pub fn span(&self) -> Span {
        match self {
            Self::Statement(node) => node.span,
            Self::Query(node) => node.span,
            Self::Compound(node) => node.span,
            Self::Select(node) => node.span,
            Self::SelectItem(node) => node.span,
            Self::Into(node) => node.span,
            Self::With(node) => node.span,
            Self::CommonTable(node) => node.span,
            Self::ValuesRow(node) => node.span,
            Self::TableRef(node, _) => node.span,
            Self::JsonColumn(node) => node.span,
            Self::IndexHint(node) => node.span,
            Self::OrderItem(node) => node.span,
            Self::Limit(node) => node.span,
            Self::Lock(node) => node.span,
            Self::NamedWindow(node) => node.name.span.to(node.window.span),
            Self::Window(node) => node.span,
            Self::Frame(node) => node.span,
            Self::Expr(node) => node.span,
            Self::DataType(node) => node.span,
            Self::Assignment(node) => node.span,
            Self::WrittenColumn(node) => node.span(),
            Self::RowAlias(node) => node.span,
            Self::Name(node, _) => node.span,
        }
    }
}

/// How to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// To the node's children.
    Descend,
    /// Past the node.
    Skip,
    /// Not at all.
    Stop,
}

/// What is done with each node.
pub trait Visitor<'a> {
    /// Whether [`Visitor::leave`] does anything; without it, a walk is faster.
    const LEAVES: bool = true;

    /// Before the node's children.
    fn enter(&mut self, node: Node<'a>) -> Flow;

    /// After the children of a node for which [`Visitor::enter`] said [`Flow::Descend`].
    fn leave(&mut self, _node: Node<'a>) {}
}

/// A function that looks at nodes on their way down.
impl<'a, F: FnMut(Node<'a>) -> Flow> Visitor<'a> for F {
    const LEAVES: bool = false;

    fn enter(&mut self, node: Node<'a>) -> Flow {
        self(node)
    }
}

/// Goes through the tree below a node, the node included. False: the visitor stopped.
pub fn walk<'a, V: Visitor<'a>>(root: Node<'a>, visitor: &mut V) -> bool {
    let mut stack = Vec::with_capacity(16);
    stack.push(Step::Enter(root));
    while let Some(step) = stack.pop() {
        let node = match step {
            Step::Leave(node) => {
                visitor.leave(node);
                continue;
            }
            Step::Enter(node) => node,
        };
        match visitor.enter(node) {
            Flow::Descend => {}
            Flow::Skip => continue,
            Flow::Stop => return false,
        }
        if V::LEAVES {
            stack.push(Step::Leave(node));
        }
        let first = stack.len();
        children(node, &mut Children { stack: &mut stack, first });
        if stack.len() > first + 1 {
            stack[first..].reverse();
        }
    }
    true
}

/// What is still to do, the next at the end.
#[derive(Clone, Copy)]
enum Step<'a> {
    Enter(Node<'a>),
    Leave(Node<'a>),
}

/// Takes a node's children in the order of the text.
struct Children<'s, 'a> {
    stack: &'s mut Vec<Step<'a>>,
    first: usize,
}

impl<'a> Children<'_, 'a> {
    fn push(&mut self, node: Node<'a>) {
        self.stack.push(Step::Enter(node));
    }

    fn each<T>(&mut self, list: &'a [T], node: impl Fn(&'a T) -> Node<'a>) {
        self.stack.extend(list.iter().map(|one| Step::Enter(node(one))));
    }

    fn exprs(&mut self, list: &'a [Expr<'a>]) {
        self.each(list, Node::Expr);
    }

    fn maybe_expr(&mut self, expr: &'a Option<Expr<'a>>) {
        if let Some(expr) = expr {
            self.push(Node::Expr(expr));
        }
    }

    /// Puts what was pushed into the order of the text, where clauses may stand in several orders.
    fn in_order(&mut self) {
        self.stack[self.first..].sort_by_key(|step| match step {
            Step::Enter(node) | Step::Leave(node) => node.span().start,
        });
    }
}

fn children<'a>(node: Node<'a>, to: &mut Children<'_, 'a>) {
    match node {
        Node::Statement(node) => dml::statement(node, to),
        Node::Query(node) => query::query(node, to),
        Node::Compound(node) => query::compound(node, to),
        Node::Select(node) => query::select(node, to),
        Node::SelectItem(node) => query::select_item(node, to),
        Node::Into(node) => query::into(node, to),
        Node::With(node) => to.each(node.tables, Node::CommonTable),
        Node::CommonTable(node) => to.push(Node::Query(node.query)),
        Node::ValuesRow(node) => to.exprs(node.values),
        Node::TableRef(node, table_use) => query::table_ref(node, table_use, to),
        Node::JsonColumn(node) => query::json_column(node, to),
        Node::OrderItem(node) => to.push(Node::Expr(&node.expr)),
        Node::Limit(node) => query::limit(node, to),
        Node::Lock(node) => to.each(node.tables, |name| Node::Name(name, NameRole::Locked)),
        Node::NamedWindow(node) => to.push(Node::Window(&node.window)),
        Node::Window(node) => expr::window(node, to),
        Node::Frame(node) => to.exprs(node.bounds),
        Node::Expr(node) => expr::expr(node, to),
        Node::DataType(node) => to.exprs(node.arguments),
        Node::Assignment(node) => {
            to.push(Node::WrittenColumn(&node.column));
            to.push(Node::Expr(&node.value));
        }
        Node::IndexHint(_) | Node::WrittenColumn(_) | Node::RowAlias(_) | Node::Name(..) => {}
    }
}
