//! IF, CASE and loops, and the labels that LEAVE and ITERATE name.
//!
//! What must always hold: a CONTINUE handler of what a condition raises goes on behind the whole statement that it is the condition of.

use weir_sql::ast::{Control, Ident, Piece};

use crate::compile::{Compiler, lower};
use crate::model::What;

/// A label that LEAVE and ITERATE may name.
pub(crate) struct Label {
    name: String,
    /// Where a loop begins.
    again: Option<usize>,
    /// Jumps that go to the next turn of a FOR loop, which is not known yet.
    iterates: Vec<usize>,
    /// Jumps that go behind it.
    leaves: Vec<usize>,
}

impl<'a> Compiler<'a> {
    /// `IF … THEN … ELSEIF … ELSE … END IF`, behind its IF.
    pub(crate) fn conditional(&mut self) -> Result<(), String> {
        let (mut ends, mut tests) = (Vec::new(), Vec::new());
        loop {
            let test = self.test()?;
            tests.push(test);
            self.statements(|next| matches!(next, Control::If { again: true } | Control::Else | Control::IfEnd))?;
            ends.push(self.step(What::Jump(0)));
            let here = self.here();
            self.lands(test, here);
            if !self.eat(Control::If { again: true }) {
                break;
            }
        }
        if self.eat(Control::Else) {
            self.statements(|next| next == Control::IfEnd)?;
        }
        self.at += 1;
        self.ends_at(&ends, &tests);
        Ok(())
    }

    /// A condition, and what stands behind it.
    fn test(&mut self) -> Result<usize, String> {
        let condition = self.expression()?;
        self.at += 1;
        Ok(self.step(What::Test(condition, 0)))
    }

    /// These jumps go to what follows, and so do CONTINUE handlers of what these tests raise.
    fn ends_at(&mut self, jumps: &[usize], tests: &[usize]) {
        let here = self.here();
        jumps.iter().for_each(|jump| self.lands(*jump, here));
        tests.iter().for_each(|test| self.program.steps[*test].behind = here);
    }

    /// `CASE … END CASE`, behind its CASE.
    pub(crate) fn case(&mut self, has_value: bool) -> Result<(), String> {
        let value = match has_value {
            true => match self.take()? {
                Piece::Expression(span) => Some(span.text(self.text)),
                _ => return Err("has a body that Weir cannot read".to_owned()),
            },
            false => None,
        };
        if let Some(value) = value
            && !self.is_steady(value)
        {
            return Err("has a CASE of an expression: assign it to a variable, and use that".to_owned());
        }
        let (mut ends, mut tests) = (Vec::new(), Vec::new());
        while self.eat(Control::When) {
            let Piece::Expression(span) = self.take()? else {
                return Err("has a body that Weir cannot read".to_owned());
            };
            let when = span.text(self.text);
            let condition = match value {
                Some(value) => [b"(", value, b") = (", when, b")"].concat(),
                None => when.to_vec(),
            };
            let condition = self.value(&condition)?;
            self.at += 1;
            let test = self.step(What::Test(condition, 0));
            tests.push(test);
            self.statements(|next| matches!(next, Control::When | Control::Else | Control::CaseEnd))?;
            ends.push(self.step(What::Jump(0)));
            let here = self.here();
            self.lands(test, here);
        }
        match self.eat(Control::Else) {
            true => self.statements(|next| next == Control::CaseEnd)?,
            false => {
                self.step(What::NoCase);
            }
        }
        self.at += 1;
        self.ends_at(&ends, &tests);
        Ok(())
    }

    pub(crate) fn looping(&mut self, control: Control<'_>, label: Option<Ident<'a>>) -> Result<(), String> {
        let again = self.here();
        // It is come to again behind other statements.
        self.has_current = false;
        self.begin_label(label, Some(again));
        let mut tests = Vec::new();
        if control == Control::While {
            tests.push(self.test()?);
        }
        self.statements(|next| matches!(next, Control::LoopEnd | Control::Until))?;
        if self.eat(Control::Until) {
            let condition = self.expression()?;
            tests.push(self.step(What::Test(condition, again)));
        } else {
            self.step(What::Jump(again));
        }
        self.at += 1;
        let here = self.here();
        for test in tests {
            if control == Control::While {
                self.lands(test, here);
            }
            self.program.steps[test].behind = here;
        }
        self.end_label(label.is_some(), here);
        Ok(())
    }

    pub(crate) fn begin_label(&mut self, label: Option<Ident<'a>>, again: Option<usize>) {
        if let Some(name) = label {
            self.labels.push(Label { name: lower(&name), again, iterates: Vec::new(), leaves: Vec::new() });
        }
    }

    /// Where ITERATE of the innermost label goes, if it is that of a FOR loop.
    pub(crate) fn iterate_at(&mut self, labelled: bool, next: usize) {
        if labelled && let Some(label) = self.labels.last_mut() {
            let iterates = std::mem::take(&mut label.iterates);
            iterates.iter().for_each(|jump| self.lands(*jump, next));
        }
    }

    pub(crate) fn end_label(&mut self, labelled: bool, behind: usize) {
        if labelled && let Some(label) = self.labels.pop() {
            label.leaves.iter().for_each(|jump| self.lands(*jump, behind));
        }
    }

    fn label(&mut self, name: &Ident<'_>) -> Result<usize, String> {
        let wanted = lower(name);
        let seen = &self.labels[self.seen_labels..];
        let found = seen.iter().rposition(|label| label.name == wanted).map(|at| at + self.seen_labels);
        found.ok_or_else(|| format!("has no label {wanted}"))
    }

    pub(crate) fn leave(&mut self, name: Ident<'a>) -> Result<(), String> {
        let label = self.label(&name)?;
        let jump = self.step(What::Jump(0));
        self.labels[label].leaves.push(jump);
        Ok(())
    }

    pub(crate) fn iterate(&mut self, name: Ident<'a>) -> Result<(), String> {
        let label = self.label(&name)?;
        let again = self.labels[label].again;
        let jump = self.step(What::Jump(again.unwrap_or(0)));
        if again.is_none() {
            self.labels[label].iterates.push(jump);
        }
        Ok(())
    }
}
