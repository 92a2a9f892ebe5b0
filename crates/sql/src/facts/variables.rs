//! Which variables a statement reads and assigns.

use std::collections::HashSet;

use crate::ast::{
    Expr, ExprKind, Ident, Into, IntoTarget, Load, SetItem, SetItemKind, Statement, StatementKind, SystemVariable,
};
use crate::visit::{Flow, Node, Visitor, walk};

/// A variable where it is named.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum VariableUse<'a> {
    /// `@x`, read. The name's span has the `@`.
    User(Ident<'a>),
    /// `@x`, assigned: by `:=`, SET, INTO, LOAD, GET DIAGNOSTICS, or perhaps by a procedure as an OUT parameter.
    AssignedUser(Ident<'a>),
    /// `@@x`, read.
    System(SystemVariable<'a>),
    /// A system variable that SET assigns; those of SET STATEMENT too.
    AssignedSystem(SystemVariable<'a>),
}

/// All of them; the order is that of the text within each clause.
pub(super) fn of_statement<'a>(statement: &'a Statement<'a>) -> Vec<VariableUse<'a>> {
    let mut finder = Variables { found: Vec::new(), targets: HashSet::new() };
    walk(Node::Statement(statement), &mut finder);
    finder.found
}

struct Variables<'a> {
    found: Vec<VariableUse<'a>>,
    /// Where what is only assigned begins, though it looks like an expression.
    targets: HashSet<u32>,
}

impl<'a> Variables<'a> {
    fn targets(&mut self, targets: &'a [Expr<'a>]) {
        for target in targets {
            if let ExprKind::UserVariable(name) = target.bare().kind {
                self.found.push(VariableUse::AssignedUser(*name));
            }
        }
    }

    /// What is assigned and not read.
    fn only_targets(&mut self, targets: &'a [Expr<'a>]) {
        self.targets(targets);
        self.targets.extend(targets.iter().map(|target| target.span.start));
    }

    fn set(&mut self, items: &'a [SetItem<'a>]) {
        for item in items {
            match &item.kind {
                SetItemKind::UserVariable(name, _) => self.found.push(VariableUse::AssignedUser(*name)),
                SetItemKind::Variable(set) => self.found.push(VariableUse::AssignedSystem(set.variable)),
                _ => {}
            }
        }
    }

    fn statement(&mut self, statement: &'a Statement<'a>) {
        match &statement.kind {
            StatementKind::Set(set) => self.set(set.items),
            StatementKind::SetStatement(set) => self.set(set.items),
            StatementKind::Load(Load { columns: Some(columns), .. }) => self.only_targets(columns),
            StatementKind::GetDiagnostics(get) => {
                get.items.iter().for_each(|item| self.only_targets(std::slice::from_ref(&item.target)));
            }
            StatementKind::Call(call) => self.targets(call.arguments),
            StatementKind::Explain(explain) => {
                self.found.extend(explain.into.map(VariableUse::AssignedUser));
            }
            _ => {}
        }
    }

    fn into(&mut self, into: &Into<'a>) {
        if let IntoTarget::Variables(variables) = into.target {
            self.targets(variables);
        }
    }
}

impl<'a> Visitor<'a> for Variables<'a> {
    const LEAVES: bool = false;

    fn enter(&mut self, node: Node<'a>) -> Flow {
        match node {
            Node::Statement(statement) => self.statement(statement),
            Node::Into(into) => {
                self.into(into);
                return Flow::Skip;
            }
            Node::Expr(expr) => match &expr.kind {
                ExprKind::UserVariable(_) if self.targets.contains(&expr.span.start) => {}
                ExprKind::UserVariable(name) => self.found.push(VariableUse::User(**name)),
                ExprKind::Assign(assign) => self.found.push(VariableUse::AssignedUser(assign.variable)),
                ExprKind::SystemVariable(variable) => self.found.push(VariableUse::System(**variable)),
                _ => {}
            },
            _ => {}
        }
        Flow::Descend
    }
}
