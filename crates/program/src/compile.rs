//! From a procedure's text to its steps.
//!
//! What must always hold: a name stands for the variable that servers take for it, the innermost one that is declared before; a body with
//! anything that this does not know is refused with the reason, as a clause: "has …".

use weir_sql::ast::{
    Characteristic, CharacteristicKind, Control, CreateRoutine, DeclaredType, Handled, Ident, ParameterMode, Piece,
    RoutineBody, Span, SqlSecurity, Statement, StatementKind,
};
use weir_sql::{Bump, Dialect, LexMode, parse, parse_body};

use crate::condition::Class;
use crate::flow::Label;
use crate::model::{Block, Handler, Kind, Parameter, Program, Security, Step, Variable, What};
use crate::template::Template;

/// A procedure, as the catalog has it.
pub struct Routine<'a> {
    /// The statement that makes it.
    pub text: &'a [u8],
    /// How it is read.
    pub mode: LexMode,
}

/// Compiles a procedure.
///
/// # Errors
/// What of it can't be run statement by statement.
pub fn compile(routine: &Routine<'_>) -> Result<Program, String> {
    let arena = Bump::new();
    let unread = || "has a body that Weir cannot read".to_owned();
    let parsed = parse(&arena, routine.text, routine.mode).map_err(|_| unread())?;
    let [Statement { kind: StatementKind::CreateRoutine(create), .. }] = parsed.statements else {
        return Err(unread());
    };
    let RoutineBody::Statement(span) = create.body else {
        return Err("is not written in SQL statements".to_owned());
    };
    let text = span.text(routine.text);
    let pieces = parse_body(&arena, text, routine.mode).map_err(|_| unread())?;
    let mut compiler = Compiler::new(text, routine.mode, pieces);
    compiler.first_line = lines(&routine.text[..span.range().start]) + 1;
    compiler.header(create, routine.text)?;
    compiler.statement(None)?;
    compiler.step(What::End);
    compiler.name_columns();
    Ok(compiler.program)
}

/// A cursor in scope.
pub(crate) struct CursorOf {
    pub(crate) name: String,
    pub(crate) cursor: usize,
    /// The variables that its query has for its parameters.
    pub(crate) parameters: Vec<usize>,
}

pub(crate) struct Compiler<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) mode: LexMode,
    pub(crate) pieces: &'a [Piece<'a>],
    pub(crate) at: usize,
    pub(crate) program: Program,
    /// The line in the procedure's text where the last piece ends, and that where the body begins.
    line: usize,
    first_line: usize,
    /// How many lines end before `counted`: counting them anew for each piece would take the square of a long text.
    newlines: usize,
    counted: usize,
    pub(crate) block: usize,
    /// Variables in scope, the innermost last: their names in lower case.
    pub(crate) scope: Vec<(String, usize)>,
    /// Rows of FOR loops in scope, the innermost last.
    pub(crate) rows: Vec<(String, usize)>,
    pub(crate) cursors: Vec<CursorOf>,
    conditions: Vec<(String, Class)>,
    pub(crate) labels: Vec<Label>,
    /// Labels from here on can be named: a handler's statement sees none around it.
    pub(crate) seen_labels: usize,
    /// Whether it is within a handler's statement, and whether what that handles is still what the current diagnostics area has.
    pub(crate) in_handler: bool,
    pub(crate) has_current: bool,
}

impl<'a> Compiler<'a> {
    fn new(text: &'a [u8], mode: LexMode, pieces: &'a [Piece<'a>]) -> Compiler<'a> {
        let (variables, parameters, steps) = Default::default();
        let (blocks, handlers, cursors) = Default::default();
        let (security, rows) = (Security::Invoker, Vec::new());
        let program = Program { variables, parameters, security, rows, steps, blocks, handlers, cursors };
        let (scope, named, conditions, labels) = Default::default();
        let rows = Vec::new();
        let mut compiler = Compiler {
            text,
            mode,
            pieces,
            at: 0,
            program,
            line: 1,
            first_line: 1,
            newlines: 0,
            counted: 0,
            block: 0,
            scope,
            rows,
            cursors: named,
            conditions,
            labels,
            seen_labels: 0,
            in_handler: false,
            has_current: false,
        };
        compiler.block = compiler.new_block(None, false);
        compiler
    }

    fn header(&mut self, create: &CreateRoutine<'_>, text: &[u8]) -> Result<(), String> {
        for parameter in create.parameters {
            let DeclaredType::Type(of) = parameter.data_type else {
                return Err("has a parameter of a type that Weir does not know".to_owned());
            };
            self.declare(parameter.name, of.span.text(text))?;
            let (takes, gives) = match parameter.mode {
                None | Some(ParameterMode::In) => (true, false),
                Some(ParameterMode::Out) => (false, true),
                Some(ParameterMode::InOut) => (true, true),
            };
            self.program.parameters.push(Parameter { takes, gives });
        }
        let invoker = |one: &Characteristic<'_>| matches!(one.kind, CharacteristicKind::Security(SqlSecurity::Invoker));
        if create.characteristics.iter().any(invoker) {
            return Ok(());
        }
        let account = create.definer.as_ref().and_then(crate::statement::account_name);
        // Nobody's name is empty: nobody has its rights.
        self.program.security = Security::Definer(account.unwrap_or_default());
        Ok(())
    }

    pub(crate) fn new_block(&mut self, parent: Option<usize>, of_handler: bool) -> usize {
        self.program.blocks.push(Block { parent, of_handler, handlers: Vec::new(), cursors: Vec::new() });
        self.program.blocks.len() - 1
    }

    /// Adds a step, behind which it goes on with the next one.
    pub(crate) fn step(&mut self, what: What) -> usize {
        let at = self.program.steps.len();
        self.has_current &= self.keeps_diagnostics(&what);
        self.program.steps.push(Step { what, block: self.block, behind: at + 1, line: self.line, early: false });
        at
    }

    pub(crate) fn here(&self) -> usize {
        self.program.steps.len()
    }

    pub(crate) fn lands(&mut self, jump: usize, at: usize) {
        match &mut self.program.steps[jump].what {
            What::Jump(to) | What::Test(_, to) | What::Found(_, to) => *to = at,
            _ => {}
        }
    }

    pub(crate) fn take(&mut self) -> Result<Piece<'a>, String> {
        let piece = self.pieces.get(self.at).copied().ok_or("has a body that Weir cannot read")?;
        self.at += 1;
        let end = match piece {
            Piece::Statement(span) | Piece::Expression(span) => Some(span.range().end),
            Piece::Control(Control::Open(name) | Control::Close(name) | Control::Fetch(name)) => {
                Some(name.span.range().end)
            }
            _ => None,
        };
        if let Some(end) = end {
            self.newlines += lines(self.text.get(self.counted..end).unwrap_or_default());
            self.counted = self.counted.max(end);
            self.line = self.first_line + self.newlines;
        }
        Ok(piece)
    }

    pub(crate) fn peek(&self) -> Option<Control<'a>> {
        match self.pieces.get(self.at) {
            Some(Piece::Control(control)) => Some(*control),
            _ => None,
        }
    }

    pub(crate) fn eat(&mut self, control: Control<'_>) -> bool {
        let found = self.peek().is_some_and(|next| next == control);
        self.at += usize::from(found);
        found
    }

    pub(crate) fn expression(&mut self) -> Result<Template, String> {
        match self.take()? {
            Piece::Expression(span) => self.value(span.text(self.text)),
            _ => Err("has a body that Weir cannot read".to_owned()),
        }
    }

    /// One statement, with those that it holds.
    fn statement(&mut self, label: Option<Ident<'a>>) -> Result<(), String> {
        match self.take()? {
            Piece::Statement(span) => self.plain(span.text(self.text)),
            Piece::Control(control) => match control {
                Control::Label(label) => self.statement(Some(label)),
                Control::Block => self.block(label),
                Control::If { .. } => self.conditional(),
                Control::Case { value } => self.case(value),
                Control::Loop | Control::While | Control::Repeat => self.looping(control, label),
                Control::Leave(name) => self.leave(name),
                Control::Iterate(name) => self.iterate(name),
                Control::For { reverse } => self.for_range(reverse, label),
                Control::ForRow(name) => self.for_rows(name, label),
                Control::Open(name) => self.open(name).map(|_| ()),
                Control::Close(name) => {
                    let cursor = self.find_cursor(&name)?.cursor;
                    self.step(What::Close(cursor));
                    Ok(())
                }
                Control::Fetch(name) => self.fetch(name),
                _ => Err("has a statement that no procedure has".to_owned()),
            },
            _ => Err("has a body that Weir cannot read".to_owned()),
        }
    }

    /// Statements up to one of these.
    pub(crate) fn statements(&mut self, ends: impl Fn(Control<'_>) -> bool) -> Result<(), String> {
        while !self.peek().is_some_and(&ends) {
            self.statement(None)?;
        }
        Ok(())
    }

    fn block(&mut self, label: Option<Ident<'a>>) -> Result<(), String> {
        let around = (self.block, self.scope.len(), self.cursors.len(), self.conditions.len());
        self.block = self.new_block(Some(self.block), false);
        let first = self.program.handlers.len();
        self.step(What::Enter);
        self.begin_label(label, None);
        while let Some(piece) = self.pieces.get(self.at) {
            match piece {
                Piece::Variable(_) => self.variables()?,
                Piece::Control(Control::Condition(name, handled)) => {
                    self.at += 1;
                    let class = self.class(handled)?;
                    self.conditions.push((lower(name), class));
                }
                Piece::Control(Control::Cursor(name)) => {
                    self.at += 1;
                    self.cursor(*name)?;
                }
                Piece::Control(Control::Handler { exit }) => {
                    self.at += 1;
                    self.handler(*exit)?;
                }
                _ => break,
            }
        }
        self.statements(|next| next == Control::BlockEnd)?;
        self.at += 1;
        let behind = self.here();
        let own = self.program.blocks[self.block].handlers.clone();
        own.into_iter().filter(|handler| *handler >= first).for_each(|handler| {
            self.program.handlers[handler].behind_block = behind;
        });
        self.end_label(label.is_some(), behind);
        self.block = around.0;
        self.scope.truncate(around.1);
        self.cursors.truncate(around.2);
        self.conditions.truncate(around.3);
        Ok(())
    }

    /// `DECLARE a, b type [DEFAULT value]`.
    fn variables(&mut self) -> Result<(), String> {
        let mut names = Vec::new();
        while let Some(Piece::Variable(name)) = self.pieces.get(self.at) {
            names.push(*name);
            self.at += 1;
        }
        let Piece::Control(Control::Type { span, default }) = self.take()? else {
            return Err("has a body that Weir cannot read".to_owned());
        };
        // The default sees what is declared before.
        let value = if default { Some(self.expression()?) } else { None };
        let data_type = span.text(self.text);
        let declared: Result<Vec<usize>, String> = names.iter().map(|name| self.declare(*name, data_type)).collect();
        let step = self.step(What::Set(declared?, value));
        self.program.steps[step].early = true;
        Ok(())
    }

    pub(crate) fn declare(&mut self, name: Ident<'_>, data_type: &[u8]) -> Result<usize, String> {
        let shown = String::from_utf8_lossy(name.name).into_owned();
        let data_type = String::from_utf8_lossy(data_type).into_owned();
        let kind = kind_of(data_type.as_bytes(), self.mode)
            .ok_or_else(|| format!("has the variable {shown} of the type {data_type}, which Weir does not keep"))?;
        let variable = self.new_variable(shown, data_type, kind);
        self.scope.push((lower(&name), variable));
        Ok(variable)
    }

    pub(crate) fn new_variable(&mut self, name: String, data_type: String, kind: Kind) -> usize {
        self.program.variables.push(Variable { column: name.clone(), name, data_type, kind, required: false });
        self.program.variables.len() - 1
    }

    /// Variables that hide each other have columns of different names.
    fn name_columns(&mut self) {
        let mut seen = std::collections::BTreeMap::new();
        for variable in &mut self.program.variables {
            let count = seen.entry(variable.name.to_lowercase()).or_insert(0_usize);
            if *count > 0 {
                variable.column = format!("{}#{count}", variable.name);
            }
            *count += 1;
        }
    }

    fn cursor(&mut self, name: Ident<'a>) -> Result<(), String> {
        let own = self.scope.len();
        let parameters = self.parameters_of_cursor()?;
        let Piece::Statement(span) = self.take()? else { return Err("has a body that Weir cannot read".to_owned()) };
        let cursor = self.new_cursor(span.text(self.text))?;
        // Its query alone sees them.
        self.scope.truncate(own);
        self.cursors.push(CursorOf { name: lower(&name), cursor, parameters });
        Ok(())
    }

    /// A cursor of the block at hand.
    pub(crate) fn new_cursor(&mut self, query: &[u8]) -> Result<usize, String> {
        let query = self.query_of_cursor(query)?;
        self.program.cursors.push(query);
        let cursor = self.program.cursors.len() - 1;
        self.program.blocks[self.block].cursors.push(cursor);
        Ok(cursor)
    }

    fn handler(&mut self, exit: bool) -> Result<(), String> {
        let mut classes = Vec::new();
        while let Some(Control::Handles(handled)) = self.peek() {
            self.at += 1;
            classes.push(self.class(&handled)?);
        }
        let declared_in = self.block;
        let jump = self.step(What::Jump(0));
        let handler = self.program.handlers.len();
        let at = self.here();
        self.program.handlers.push(Handler { exit, classes, block: declared_in, at, behind_block: 0 });
        self.block = self.new_block(Some(declared_in), true);
        let labels = std::mem::replace(&mut self.seen_labels, self.labels.len());
        let around = std::mem::replace(&mut self.in_handler, true);
        self.has_current = true;
        self.statement(None)?;
        (self.in_handler, self.has_current) = (around, false);
        self.seen_labels = labels;
        self.step(What::HandlerEnd);
        if !self.eat(Control::HandlerEnd) {
            return Err("has a body that Weir cannot read".to_owned());
        }
        self.block = declared_in;
        let here = self.here();
        self.lands(jump, here);
        self.program.blocks[declared_in].handlers.push(handler);
        Ok(())
    }

    fn class(&self, handled: &Handled<'_>) -> Result<Class, String> {
        let unread = || "has a condition that Weir does not know".to_owned();
        Ok(match handled {
            Handled::State(span) => Class::State(state(span.text(self.text)).ok_or_else(unread)?),
            Handled::Code(span) => Class::Code(digits(span.text(self.text)).ok_or_else(unread)?),
            Handled::Named(name) => self.condition(name).ok_or_else(unread)?,
            Handled::Warning => Class::Warning,
            Handled::NotFound => Class::NotFound,
            Handled::Exception => Class::Exception,
        })
    }

    pub(crate) fn condition(&self, name: &Ident<'_>) -> Option<Class> {
        let name = lower(name);
        self.conditions.iter().rev().find(|(known, _)| *known == name).map(|(_, class)| class.clone())
    }

    pub(crate) fn find_cursor(&self, name: &Ident<'_>) -> Result<&CursorOf, String> {
        let wanted = lower(name);
        let found = self.cursors.iter().rev().find(|known| known.name == wanted);
        found.ok_or_else(|| format!("has no cursor {wanted}"))
    }

    fn fetch(&mut self, name: Ident<'a>) -> Result<(), String> {
        let cursor = self.find_cursor(&name)?.cursor;
        let mut variables = Vec::new();
        while let Some(Piece::Assigned(name)) = self.pieces.get(self.at) {
            self.at += 1;
            variables.push(self.variable(name.name).ok_or("fetches into something that is not a variable of its own")?);
        }
        self.step(What::Fetch(cursor, variables));
        Ok(())
    }

    /// The variable that a name stands for.
    pub(crate) fn variable(&self, name: &[u8]) -> Option<usize> {
        let wanted = String::from_utf8_lossy(name).to_lowercase();
        self.scope.iter().rev().find(|(known, _)| *known == wanted).map(|(_, variable)| *variable)
    }

    pub(crate) fn kind(&self, variable: usize) -> Kind {
        self.program.variables[variable].kind
    }
}

fn lines(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte == b'\n').count()
}

pub(crate) fn lower(name: &Ident<'_>) -> String {
    String::from_utf8_lossy(name.name).to_lowercase()
}

/// The SQLSTATE in a string.
pub(crate) fn state(text: &[u8]) -> Option<[u8; 5]> {
    text.get(1..text.len().checked_sub(1)?)?.try_into().ok()
}

fn digits(text: &[u8]) -> Option<u16> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// What the values of a type are; `None`: Weir does not keep such.
fn kind_of(text: &[u8], mode: LexMode) -> Option<Kind> {
    let arena = Bump::new();
    let cast = [b"CREATE PROCEDURE p(a ", text, b") DO 1"].concat();
    let parsed = parse(&arena, &cast, mode).ok()?;
    let [Statement { kind: StatementKind::CreateRoutine(create), .. }] = parsed.statements else { return None };
    let [parameter] = create.parameters else { return None };
    let DeclaredType::Type(of) = parameter.data_type else { return None };
    if of.zerofill || of.charset.is_some() || of.collation.is_some() || of.binary {
        return None;
    }
    let name = String::from_utf8_lossy(Span::text(of.name, &cast)).to_ascii_uppercase();
    Some(match name.as_str() {
        "BOOL" | "BOOLEAN" | "TINYINT" | "SMALLINT" | "MEDIUMINT" | "INT" | "INTEGER" | "BIGINT" | "YEAR" => {
            Kind::Integer
        }
        "DECIMAL" | "DEC" | "NUMERIC" | "FIXED" => Kind::Decimal,
        "DOUBLE" | "DOUBLE PRECISION" | "REAL" => Kind::Double,
        "CHAR" | "CHARACTER" | "VARCHAR" | "CHARACTER VARYING" | "TEXT" | "TINYTEXT" | "MEDIUMTEXT" | "LONGTEXT" => {
            Kind::Text
        }
        "DATE" => Kind::Date,
        "DATETIME" | "TIMESTAMP" => Kind::DateTime,
        "TIME" => Kind::Time,
        "BINARY" | "VARBINARY" | "BLOB" | "TINYBLOB" | "MEDIUMBLOB" | "LONGBLOB" => Kind::Binary,
        "BIT" => Kind::Bits,
        "JSON" if mode.dialect == Dialect::MySql => Kind::Json,
        _ => return None,
    })
}
