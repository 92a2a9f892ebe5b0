//! A routine's body, taken apart: the statements that it may run, and what becomes of its variables.
//!
//! What must always hold: every statement and every expression of a body is among its parts, or the body is not read. A variable that
//! anything in the body may assign counts as assigned everywhere.

use std::collections::BTreeSet;

use weir_catalog::Routine;
use weir_program::tells;
use weir_sql::ast::{
    CallProcedure, Control, CreateRoutine, CreateTable, DeclaredType, DropKind, DropTables, ExecuteSource, Expr,
    ExprKind, IntoTarget, ObjectName, ParameterMode, Piece, RoutineBody, SelectItemKind, SetItemKind, SetValue, Span,
    Statement, StatementKind, TableBody, UpkeepVerb, VariableScope,
};
use weir_sql::visit::{Flow, Node, walk};
use weir_sql::{Bump, Dialect, LexMode, parse, parse_body};

/// What is asked about a body's names.
pub(super) struct Asked<'f> {
    /// Whether a procedure may assign what it is given at a place.
    pub(super) may_assign: &'f dyn Fn(&ObjectName<'_>, usize) -> bool,
    /// Whether a table is a temporary one of the session that hides no other.
    pub(super) is_temporary: &'f dyn Fn(&ObjectName<'_>) -> bool,
}

/// What a text is, for messages, up to so many characters.
const SHOWN: usize = 60;

/// A statement of a body; an expression is one as `SELECT (expression)`.
#[derive(Clone, Copy)]
pub(super) struct BodyStatement<'a> {
    pub(super) text: &'a [u8],
    pub(super) statement: &'a Statement<'a>,
}

/// A parameter.
pub(super) struct Parameter<'a> {
    pub(super) name: String,
    /// Its value comes from outside, and only from there.
    pub(super) only_in: bool,
    pub(super) data_type: &'a DeclaredType<'a>,
}

/// A CALL within a body.
pub(super) struct Called<'a> {
    pub(super) name: ObjectName<'a>,
    /// Each argument as a part.
    pub(super) arguments: Vec<BodyStatement<'a>>,
}

/// See the module.
pub(super) struct Body<'a> {
    /// The text that the parameters' types are spans of.
    pub(super) text: &'a [u8],
    pub(super) parameters: Vec<Parameter<'a>>,
    /// Names of all parameters and variables, in lower case.
    pub(super) locals: BTreeSet<String>,
    /// Names of the rows of FOR loops, in lower case.
    pub(super) rows: BTreeSet<String>,
    /// Those that something assigns.
    pub(super) assigned: BTreeSet<String>,
    pub(super) parts: Vec<BodyStatement<'a>>,
    pub(super) calls: Vec<Called<'a>>,
    /// User variables that it names, in lower case.
    pub(super) variables: BTreeSet<String>,
    /// It assigns user variables.
    pub(super) assigns_variables: bool,
    /// It begins or ends transactions, or sets savepoints.
    pub(super) controls: bool,
    /// It runs texts that are known only then (PREPARE).
    pub(super) dynamic: bool,
    /// It sets variables of the session.
    pub(super) sets_session: bool,
    /// It makes, changes or drops tables, indexes or views.
    pub(super) defines: bool,
    /// It empties temporary tables of the session (TRUNCATE).
    pub(super) empties_temporary: bool,
    /// It has statements that tell about tables, or look after them.
    pub(super) tells: bool,
    /// Temporary tables of its database that it makes, and drops at the end.
    pub(super) temporary: BTreeSet<Vec<u8>>,
}

/// How a routine's text is read.
pub(crate) fn mode_of(routine: &Routine, dialect: Dialect) -> LexMode {
    LexMode { dialect, ..LexMode::from_sql_mode(&routine.sql_mode) }
}

/// The beginning of a text.
pub(super) fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text,
    }
}

pub(super) fn lower(name: &[u8]) -> String {
    String::from_utf8_lossy(name).to_lowercase()
}

impl<'a> Body<'a> {
    /// Takes a routine apart.
    ///
    /// # Errors
    /// What of it can't be read, as a clause that says so of it: "has …".
    pub(super) fn of(
        arena: &'a Bump,
        routine: &'a Routine,
        dialect: Dialect,
        asked: &Asked<'_>,
    ) -> Result<Body<'a>, String> {
        if routine.sql_mode.contains("ORACLE") {
            return Err("is written in sql_mode ORACLE".to_owned());
        }
        let (text, mode) = (routine.text.as_bytes(), mode_of(routine, dialect));
        let unread = || "has a body that Weir cannot read".to_owned();
        let parsed = parse(arena, text, mode).map_err(|_| unread())?;
        let [Statement { kind: StatementKind::CreateRoutine(create), .. }] = parsed.statements else {
            return Err(unread());
        };
        if parsed.conditional || parsed.dollars {
            return Err(unread());
        }
        let (RoutineBody::Statement(span), false) = (create.body, create.aggregate) else {
            return Err("is not written in SQL statements".to_owned());
        };
        let mut body = Body::with_parameters(text, create);
        let text = span.text(text);
        let pieces =
            parse_body(arena, text, mode).map_err(|error| format!("has a body that Weir cannot read ({error})"))?;
        for piece in pieces {
            if let Piece::Variable(name) = piece {
                // It hides a parameter of its name, within its block.
                let name = lower(name.name);
                if !body.locals.insert(name.clone()) {
                    body.assigned.insert(name);
                }
            }
        }
        body.rows.extend(pieces.iter().filter_map(|piece| match piece {
            Piece::Control(Control::ForRow(name)) => Some(lower(name.name)),
            _ => None,
        }));
        body.temporary = temporary_tables(arena, text, pieces, mode)?;
        for piece in pieces {
            match piece {
                Piece::Variable(_) | Piece::Control(_) => {}
                Piece::Assigned(name) => body.assign(name.name),
                Piece::Expression(span) => body.expression(arena, span.text(text), mode)?,
                Piece::Statement(span) => body.statement(arena, span.text(text), mode, asked)?,
            }
        }
        Ok(body)
    }

    fn with_parameters(text: &'a [u8], create: &'a CreateRoutine<'a>) -> Body<'a> {
        let of = |parameter: &'a weir_sql::ast::RoutineParameter<'a>| Parameter {
            name: lower(parameter.name.name),
            only_in: matches!(parameter.mode, None | Some(ParameterMode::In)),
            data_type: &parameter.data_type,
        };
        let parameters: Vec<Parameter<'a>> = create.parameters.iter().map(of).collect();
        let outs = parameters.iter().filter(|parameter| !parameter.only_in).map(|parameter| parameter.name.clone());
        Body {
            text,
            locals: parameters.iter().map(|parameter| parameter.name.clone()).collect(),
            rows: BTreeSet::new(),
            assigned: outs.collect(),
            parameters,
            parts: Vec::new(),
            calls: Vec::new(),
            variables: BTreeSet::new(),
            assigns_variables: false,
            controls: false,
            dynamic: false,
            sets_session: false,
            defines: false,
            empties_temporary: false,
            tells: false,
            temporary: BTreeSet::new(),
        }
    }

    /// Whether an expression is one of the routine's own variables.
    pub(super) fn local(&self, expr: &Expr<'_>) -> Option<String> {
        let ExprKind::Column(column) = &expr.kind else { return None };
        let name = lower(column.name.name);
        if let (Some(table), None) = (&column.table, &column.database) {
            let row = lower(table.name);
            return self.rows.contains(&row).then(|| format!("{row}.{name}"));
        }
        (column.table.is_none() && self.locals.contains(&name)).then_some(name)
    }

    fn assign(&mut self, name: &[u8]) {
        self.assigned.insert(lower(name));
    }

    /// Something is put there.
    fn target(&mut self, target: &Expr<'_>) -> Result<(), String> {
        match &target.kind {
            ExprKind::UserVariable(name) => {
                self.variables.insert(lower(name.name));
                self.assigns_variables = true;
                Ok(())
            }
            ExprKind::Column(column) if column.table.is_none() => {
                self.assign(column.name.name);
                Ok(())
            }
            _ => Err("assigns something that is neither a variable of its own nor a user variable".to_owned()),
        }
    }

    fn expression(&mut self, arena: &'a Bump, expression: &'a [u8], mode: LexMode) -> Result<(), String> {
        let part = as_query(arena, expression, mode)?;
        self.part(part)
    }

    fn part(&mut self, part: BodyStatement<'a>) -> Result<(), String> {
        let mut targets = Vec::new();
        let mut refused = None;
        walk(Node::Statement(part.statement), &mut |node: Node<'a>| {
            match node {
                Node::Into(into) => {
                    match into.target {
                        IntoTarget::Variables(into) => targets.extend(into),
                        _ => refused = Some("writes a file".to_owned()),
                    }
                    return Flow::Skip;
                }
                Node::Expr(Expr { kind: ExprKind::Parameter(_), .. }) => refused = Some("has a '?'".to_owned()),
                Node::Expr(Expr { kind: ExprKind::UserVariable(name), .. }) => {
                    self.variables.insert(lower(name.name));
                }
                Node::Expr(Expr { kind: ExprKind::Assign(assign), .. }) => {
                    self.variables.insert(lower(assign.variable.name));
                    self.assigns_variables = true;
                }
                _ => {}
            }
            Flow::Descend
        });
        if let Some(refused) = refused {
            return Err(refused);
        }
        targets.into_iter().try_for_each(|target| self.target(target))?;
        self.parts.push(part);
        Ok(())
    }

    fn statement(&mut self, arena: &'a Bump, text: &'a [u8], mode: LexMode, asked: &Asked<'_>) -> Result<(), String> {
        let cannot = || format!("has a statement that Weir cannot analyze ({})", shown(text));
        let parsed = parse(arena, text, mode).map_err(|_| cannot())?;
        let [statement] = parsed.statements else { return Err(cannot()) };
        if parsed.conditional || parsed.dollars {
            return Err(cannot());
        }
        let of = |span: Span| span.text(text);
        match statement.kind {
            StatementKind::Query(_)
            | StatementKind::Insert(_)
            | StatementKind::Update(_)
            | StatementKind::Delete(_) => self.part(BodyStatement { text, statement }),
            StatementKind::Do(list) => list.items.iter().try_for_each(|item| match &item.kind {
                SelectItemKind::Expr(expr, _) => self.expression(arena, of(expr.span), mode),
                _ => Err(cannot()),
            }),
            StatementKind::Set(set) => {
                set.items.iter().try_for_each(|item| self.set_item(arena, text, mode, &item.kind))
            }
            StatementKind::Call(call) if call.package_database.is_none() => self.call(arena, text, mode, call, asked),
            StatementKind::Signal(_) => Ok(()),
            StatementKind::GetDiagnostics(get) => get.items.iter().try_for_each(|item| self.target(&item.target)),
            StatementKind::Transaction(_) => {
                self.controls = true;
                Ok(())
            }
            StatementKind::Prepare(prepare) => {
                self.dynamic = true;
                self.expression(arena, of(prepare.text.span), mode)
            }
            StatementKind::Execute(execute) => {
                self.dynamic = true;
                let source = match &execute.source {
                    ExecuteSource::Immediate(source) => Some(source),
                    ExecuteSource::Prepared(_) => None,
                };
                source.into_iter().chain(execute.using).try_for_each(|expr| self.expression(arena, of(expr.span), mode))
            }
            StatementKind::Deallocate(_) => {
                self.dynamic = true;
                Ok(())
            }
            StatementKind::CreateTable(create) if makes_temporary(create).is_some() => Ok(()),
            StatementKind::DropTables(drop) if self.drops_temporary(drop) => {
                // Without TEMPORARY it commits.
                self.controls |= !drop.temporary;
                Ok(())
            }
            StatementKind::Truncate(truncate) if (asked.is_temporary)(&truncate.table) => {
                (self.empties_temporary, self.controls) = (true, true);
                Ok(())
            }
            _ if tells(statement) && self.temporary.is_empty() => {
                self.tells = true;
                // Servers commit before they look after tables, but not to read them.
                self.controls |= match &statement.kind {
                    StatementKind::Show(_) | StatementKind::DescribeTable(_) => false,
                    StatementKind::TableUpkeep(upkeep) => upkeep.verb != UpkeepVerb::Checksum,
                    _ => true,
                };
                Ok(())
            }
            // It may name one of them.
            _ if is_definition(statement) && self.temporary.is_empty() => {
                (self.defines, self.controls) = (true, true);
                Ok(())
            }
            _ => Err(cannot()),
        }
    }

    fn drops_temporary(&self, drop: &DropTables<'_>) -> bool {
        let own = |name: &ObjectName<'_>| name.database.is_none() && self.temporary.contains(name.name.name);
        drop.kind == DropKind::Table && drop.names.iter().all(own)
    }

    fn set_item(
        &mut self,
        arena: &'a Bump,
        text: &'a [u8],
        mode: LexMode,
        item: &'a SetItemKind<'a>,
    ) -> Result<(), String> {
        match item {
            SetItemKind::UserVariable(name, expr) => {
                self.variables.insert(lower(name.name));
                self.assigns_variables = true;
                self.expression(arena, expr.span.text(text), mode)
            }
            SetItemKind::Variable(set) => {
                let own = matches!(set.variable.scope, None | Some(VariableScope::Session));
                if !own || set.variable.base.is_some() {
                    return Err(format!("sets variables of the server ({})", shown(text)));
                }
                let plain = set.variable.scope.is_none() && !set.at_signs;
                match plain && self.locals.contains(&lower(set.variable.name.name)) {
                    true => self.assign(set.variable.name.name),
                    false => self.sets_session = true,
                }
                match &set.value {
                    SetValue::Expr(expr) => self.expression(arena, expr.span.text(text), mode),
                    SetValue::Default(_) | SetValue::Word(_) => Ok(()),
                }
            }
            _ => Err(format!("sets variables of the session ({})", shown(text))),
        }
    }

    fn call(
        &mut self,
        arena: &'a Bump,
        text: &'a [u8],
        mode: LexMode,
        call: &'a CallProcedure<'a>,
        asked: &Asked<'_>,
    ) -> Result<(), String> {
        let mut arguments = Vec::new();
        for (place, argument) in call.arguments.iter().enumerate() {
            if matches!(argument.bare().kind, ExprKind::UserVariable(_) | ExprKind::Column(_))
                && (asked.may_assign)(&call.name, place)
            {
                self.target(argument.bare())?;
            }
            let part = as_query(arena, argument.span.text(text), mode)?;
            arguments.push(part);
            self.part(part)?;
        }
        self.calls.push(Called { name: call.name, arguments });
        Ok(())
    }
}

/// An expression as a query.
fn as_query<'a>(arena: &'a Bump, expression: &'a [u8], mode: LexMode) -> Result<BodyStatement<'a>, String> {
    let text: &'a [u8] = arena.alloc_slice_copy(&[b"SELECT (", expression, b")"].concat());
    let parsed = parse(arena, text, mode).ok();
    match parsed.map(|parsed| parsed.statements) {
        Some([statement]) => Ok(BodyStatement { text, statement }),
        _ => Err(format!("has an expression that Weir cannot analyze ({})", shown(expression))),
    }
}

/// The temporary tables that a body makes.
///
/// # Errors
/// It leaves one of them, as a clause that says so of it.
fn temporary_tables<'a>(
    arena: &'a Bump,
    text: &'a [u8],
    pieces: &[Piece<'a>],
    mode: LexMode,
) -> Result<BTreeSet<Vec<u8>>, String> {
    let (mut made, mut left) = (BTreeSet::new(), BTreeSet::new());
    for piece in pieces {
        let Piece::Statement(span) = piece else { continue };
        let parsed = parse(arena, span.text(text), mode);
        let Ok([statement]) = parsed.as_ref().map(|parsed| parsed.statements) else { continue };
        match statement.kind {
            StatementKind::CreateTable(create) => {
                if let Some(name) = makes_temporary(create) {
                    made.insert(name.to_vec());
                    left.insert(name.to_vec());
                }
            }
            StatementKind::DropTables(drop) if drop.kind == DropKind::Table => {
                drop.names.iter().for_each(|name| {
                    left.remove(name.name.name);
                });
            }
            _ => {}
        }
    }
    match left.first() {
        Some(name) => Err(format!("leaves the temporary table {}: DROP it at the end of the body", shown(name))),
        None => Ok(made),
    }
}

/// The name of a temporary table of the routine's database that is made of columns alone.
fn makes_temporary<'a>(create: &CreateTable<'a>) -> Option<&'a [u8]> {
    let TableBody::Definition(definition) = create.body else { return None };
    let plain = create.temporary && definition.query.is_none() && create.name.database.is_none();
    plain.then_some(create.name.name.name)
}

/// Whether a statement makes, changes or drops a table that is not temporary, an index or a view.
pub fn is_definition(statement: &Statement<'_>) -> bool {
    match &statement.kind {
        StatementKind::CreateTable(create) => !create.temporary,
        StatementKind::DropTables(drop) => !drop.temporary && matches!(drop.kind, DropKind::Table | DropKind::View),
        StatementKind::AlterTable(_)
        | StatementKind::Truncate(_)
        | StatementKind::RenameTables(_)
        | StatementKind::CreateIndex(_)
        | StatementKind::DropIndex(_)
        | StatementKind::CreateView(_) => true,
        _ => false,
    }
}
