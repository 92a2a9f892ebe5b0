//! FOR loops of MariaDB, and the parameters of cursors.
//!
//! What must always hold: a range's bounds are computed once, in the names outside of the loop; a loop over a cursor opens it and closes it
//! again, however the loop ends, and its end is no condition.

use weir_sql::ast::{Control, ExprKind, Ident, Piece};
use weir_sql::visit::{Flow, Node, walk};
use weir_sql::{Bump, parse};

use crate::compile::{Compiler, lower};
use crate::model::{Kind, What};
use crate::template::Template;

/// The type of what counts, and of its bound, which no name of a body can be.
const COUNTS: &str = "BIGINT";
const BOUND: &str = "[target_bound]";

impl<'a> Compiler<'a> {
    /// `FOR i IN [REVERSE] lower..upper DO … END FOR`, behind its FOR.
    pub(crate) fn for_range(&mut self, reverse: bool, label: Option<Ident<'a>>) -> Result<(), String> {
        let Piece::Variable(name) = self.take()? else { return Err(unread()) };
        self.at += 1;
        let (lower_bound, upper_bound) = (self.expression()?, self.expression()?);
        // DO.
        self.at += 1;
        let (first, last) = if reverse { (upper_bound, lower_bound) } else { (lower_bound, upper_bound) };
        let own = self.scope.len();
        let shown = String::from_utf8_lossy(name.name).into_owned();
        let counter = self.counter(shown);
        let bound = self.counter(BOUND.to_owned());
        self.step(What::Set(vec![counter], Some(first)));
        self.step(What::Set(vec![bound], Some(last)));
        self.scope.push((lower(&name), counter));
        let compare: &[u8] = if reverse { b" >= " } else { b" <= " };
        let again = self.here();
        self.has_current = false;
        let test = self.step(What::Test(Template::of_two(counter, compare, Some(bound)), 0));
        // ITERATE goes on with the next number.
        self.begin_label(label, None);
        self.loop_body()?;
        let next = self.here();
        self.iterate_at(label.is_some(), next);
        let step: &[u8] = if reverse { b" - 1" } else { b" + 1" };
        self.step(What::Set(vec![counter], Some(Template::of_two(counter, step, None))));
        self.step(What::Jump(again));
        let here = self.here();
        self.lands(test, here);
        self.program.steps[test].behind = here;
        self.end_label(label.is_some(), here);
        self.scope.truncate(own);
        Ok(())
    }

    fn counter(&mut self, name: String) -> usize {
        let variable = self.new_variable(name, COUNTS.to_owned(), Kind::Integer);
        self.program.variables[variable].required = true;
        variable
    }

    /// `FOR r IN cursor DO … END FOR`, or IN a query in parentheses, behind its FOR.
    pub(crate) fn for_rows(&mut self, name: Ident<'a>, label: Option<Ident<'a>>) -> Result<(), String> {
        let around = self.block;
        self.block = self.new_block(Some(around), false);
        let cursor = match self.take()? {
            Piece::Statement(span) => {
                let cursor = self.new_cursor(span.text(self.text))?;
                self.step(What::Enter);
                self.step(What::Open(cursor));
                cursor
            }
            Piece::Control(Control::Open(of)) => self.open(of)?,
            _ => return Err(unread()),
        };
        self.at += 1;
        let row = self.new_row(&name);
        self.step(What::FetchRow(cursor, row));
        let again = self.here();
        self.has_current = false;
        let test = self.step(What::Found(cursor, 0));
        self.rows.push((lower(&name), row));
        self.begin_label(label, None);
        self.statements(|next| next == Control::LoopEnd)?;
        self.at += 1;
        let next = self.here();
        self.iterate_at(label.is_some(), next);
        self.rows.pop();
        self.step(What::FetchRow(cursor, row));
        self.step(What::Jump(again));
        let here = self.here();
        self.lands(test, here);
        self.program.steps[test].behind = here;
        self.end_label(label.is_some(), here);
        self.step(What::Close(cursor));
        self.block = around;
        Ok(())
    }

    /// From DO to the end of the loop.
    fn loop_body(&mut self) -> Result<(), String> {
        self.statements(|next| next == Control::LoopEnd)?;
        self.at += 1;
        Ok(())
    }

    /// A row, with the fields that the pieces of its loop name.
    fn new_row(&mut self, name: &Ident<'_>) -> usize {
        let mut fields: Vec<(String, usize)> = Vec::new();
        let mut depth = 0_usize;
        for piece in &self.pieces[self.at..] {
            let text = match piece {
                Piece::Statement(span) => span.text(self.text).to_vec(),
                Piece::Expression(span) => [b"SELECT (", span.text(self.text), b")"].concat(),
                Piece::Control(Control::LoopEnd) if depth == 0 => break,
                Piece::Control(Control::LoopEnd) => {
                    depth -= 1;
                    continue;
                }
                Piece::Control(control) => {
                    depth += usize::from(begins_loop(*control));
                    continue;
                }
                _ => continue,
            };
            for field in fields_of(&text, name, self.mode) {
                if fields.iter().all(|(known, _)| *known != field.to_lowercase()) {
                    let variables = &mut self.program.variables;
                    variables.push(crate::Variable {
                        name: field.clone(),
                        column: field.clone(),
                        data_type: String::new(),
                        kind: Kind::Field,
                        required: false,
                    });
                    fields.push((field.to_lowercase(), variables.len() - 1));
                }
            }
        }
        self.program.rows.push(fields);
        self.program.rows.len() - 1
    }

    /// The variable of a row's field.
    pub(crate) fn field(&self, row: &[u8], field: &[u8]) -> Option<usize> {
        let (row, field) = (String::from_utf8_lossy(row).to_lowercase(), String::from_utf8_lossy(field).to_lowercase());
        let (_, row) = self.rows.iter().rev().find(|(known, _)| *known == row)?;
        self.program.rows[*row].iter().find(|(known, _)| *known == field).map(|(_, variable)| *variable)
    }

    /// `OPEN cursor [(value, …)]`. Returns the cursor.
    pub(crate) fn open(&mut self, name: Ident<'a>) -> Result<usize, String> {
        let found = self.find_cursor(&name)?;
        let (cursor, parameters) = (found.cursor, found.parameters.clone());
        for parameter in parameters {
            let value = self.expression()?;
            self.step(What::Set(vec![parameter], Some(value)));
        }
        self.step(What::Open(cursor));
        Ok(cursor)
    }

    /// Behind `DECLARE name CURSOR`.
    pub(crate) fn parameters_of_cursor(&mut self) -> Result<Vec<usize>, String> {
        let mut parameters = Vec::new();
        while let Some(Piece::Variable(name)) = self.pieces.get(self.at) {
            self.at += 1;
            let Piece::Control(Control::Type { span, .. }) = self.take()? else { return Err(unread()) };
            parameters.push(self.declare(*name, span.text(self.text))?);
        }
        Ok(parameters)
    }
}

fn begins_loop(control: Control<'_>) -> bool {
    matches!(control, Control::Loop | Control::While | Control::Repeat | Control::For { .. } | Control::ForRow(_))
}

/// The fields of a row that a text names.
fn fields_of(text: &[u8], row: &Ident<'_>, mode: weir_sql::LexMode) -> Vec<String> {
    let arena = Bump::new();
    let mut fields = Vec::new();
    let Ok(parsed) = parse(&arena, text, mode) else { return fields };
    for statement in parsed.statements {
        walk(Node::Statement(statement), &mut |node: Node<'_>| {
            if let Node::Expr(expr) = node
                && let ExprKind::Column(column) = &expr.kind
                && column.database.is_none()
                && column.table.as_ref().is_some_and(|table| lower(table) == lower(row))
            {
                fields.push(String::from_utf8_lossy(column.name.name).into_owned());
            }
            Flow::Descend
        });
    }
    fields
}

fn unread() -> String {
    "has a body that Weir cannot read".to_owned()
}
