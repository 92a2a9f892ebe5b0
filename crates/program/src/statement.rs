//! Statements of a body that hold no others, and expressions: which step each is, and where it names variables.
//!
//! What must always hold: a name without a table is a variable wherever an expression may stand, as for servers; a statement that is no
//! step known here is refused.

use weir_sql::ast::{
    Account, Execute, Expr, ExprKind, GetDiagnostics as GetStatement, Ident, Into, IntoTarget, Limit, Query, QueryBody,
    SelectItem, SelectItemKind, SetItem, SetItemKind, SetValue, ShowCreate, ShowKind, Signal as SignalStatement,
    SignalCondition, Statement, StatementKind, VariableScope,
};
use weir_sql::visit::{Flow, Node, walk};
use weir_sql::{Bump, parse};

use crate::compile::{Compiler, state};
use crate::condition::Class;
use crate::model::{DiagnosticsItem, GetDiagnostics, Kind, Signal, Targets, What};
use crate::template::{Part, Template};

/// What a text is, for messages, up to so many characters.
const SHOWN: usize = 60;

/// Variables of the session that a body may set. Others change what expressions over the procedure's variables are, which are computed on
/// another connection, or are as before when the procedure ends (`sql_mode`, the character sets);
/// what MariaDB does with `autocommit` in a procedure is not what it does with a client's.
const SESSION: [&str; 7] = [
    "foreign_key_checks",
    "unique_checks",
    "sql_safe_updates",
    "lock_wait_timeout",
    "innodb_lock_wait_timeout",
    "group_concat_max_len",
    "max_sp_recursion_depth",
];

impl Compiler<'_> {
    /// An expression.
    pub(crate) fn value(&self, expression: &[u8]) -> Result<Template, String> {
        const HEAD: &[u8] = b"SELECT (";
        let text = [HEAD, expression, b")"].concat();
        let mut template = self.template(&text)?;
        for (range, _) in &mut template.edits {
            *range = range.start - HEAD.len()..range.end - HEAD.len();
        }
        // It is named by what is around it.
        template.edits.retain(|(_, part)| !matches!(part, Part::Text(_)));
        Ok(Template { text: expression.to_vec(), ..template })
    }

    /// The query of a cursor.
    pub(crate) fn query_of_cursor(&self, text: &[u8]) -> Result<Template, String> {
        let arena = Bump::new();
        match parse(&arena, text, self.mode).map(|parsed| parsed.statements) {
            Ok([Statement { kind: StatementKind::Query(_), .. }]) => self.template(text),
            _ => Err(cannot(text)),
        }
    }

    /// Whether an expression has the same value however often it is computed.
    pub(crate) fn is_steady(&self, expression: &[u8]) -> bool {
        let arena = Bump::new();
        let text = [b"SELECT (", expression, b")"].concat();
        let Ok(parsed) = parse(&arena, &text, self.mode) else { return false };
        let Some(item) = parsed.statements.first().and_then(only_item) else { return false };
        match &item.bare().kind {
            ExprKind::Literal(_) | ExprKind::UserVariable(_) => true,
            ExprKind::Column(column) => column.table.is_none() && self.variable(column.name.name).is_some(),
            _ => false,
        }
    }

    /// A text with the places of variables. What INTO names is left out.
    fn template(&self, text: &[u8]) -> Result<Template, String> {
        let arena = Bump::new();
        let parsed = parse(&arena, text, self.mode).map_err(|_| cannot(text))?;
        let [statement] = parsed.statements else { return Err(cannot(text)) };
        if parsed.conditional || parsed.dollars {
            return Err(cannot(text));
        }
        let (mut edits, mut counts, mut refused) = (Vec::new(), Vec::new(), None);
        let mut selected = Vec::new();
        walk(Node::Statement(statement), &mut |node: Node<'_>| {
            match node {
                Node::Into(into) if self.locals_of(into).is_some() => {
                    edits.push((into.span.range(), Part::Text(b" ".to_vec())));
                    return Flow::Skip;
                }
                Node::Limit(Limit { count, offset, rows_examined, .. }) => {
                    counts.extend([count, offset, rows_examined].into_iter().flatten().map(|expr| expr.span));
                }
                Node::SelectItem(item) => selected.push(item.span.range()),
                Node::ValuesRow(row) => selected.push(row.span.range()),
                Node::OrderItem(item) if self.is_variable(&item.expr) => {
                    refused = Some("sorts or groups by a variable, which has no effect: leave it out".to_owned());
                }
                Node::Expr(expr) => match &expr.kind {
                    ExprKind::Column(column) if column.table.is_some() => {
                        let row = column.table.as_ref().filter(|_| column.database.is_none());
                        if let Some(field) = row.and_then(|row| self.field(row.name, column.name.name)) {
                            edits.push((expr.span.range(), Part::Value(field)));
                        }
                    }
                    ExprKind::Column(column) => {
                        if let Some(variable) = self.variable(column.name.name) {
                            let count = counts.contains(&expr.span);
                            if count && self.kind(variable) != Kind::Integer {
                                refused = Some("has a LIMIT that is not an integer".to_owned());
                            }
                            let part = if count { Part::Count(variable) } else { Part::Value(variable) };
                            edits.push((expr.span.range(), part));
                        }
                    }
                    ExprKind::Parameter(_) => refused = Some("has a '?'".to_owned()),
                    _ => {}
                },
                _ => {}
            }
            Flow::Descend
        });
        if let Some(refused) = refused {
            return Err(refused);
        }
        let is_selected = |(edit, part): &(std::ops::Range<usize>, Part)| {
            !matches!(part, Part::Text(_))
                && selected.iter().any(|range| range.start <= edit.start && edit.end <= range.end)
        };
        let selects_variables = edits.iter().any(is_selected);
        self.name_items(statement, text, &mut edits);
        edits.sort_by_key(|(range, _)| (range.start, range.end));
        Ok(Template { edits, selects_variables, ..Template::plain(text) })
    }

    /// Whether an expression is a variable and nothing else: as a number it would name a column where rows are sorted.
    fn is_variable(&self, expression: &Expr<'_>) -> bool {
        match &expression.bare().kind {
            ExprKind::Column(column) => column.table.is_none() && self.variable(column.name.name).is_some(),
            _ => false,
        }
    }

    /// What is selected and has no name of its own is named by its text, with the variables' names in it.
    fn name_items(&self, statement: &Statement<'_>, text: &[u8], edits: &mut Vec<(std::ops::Range<usize>, Part)>) {
        let StatementKind::Query(Query { body: QueryBody::Select(select), .. }) = &statement.kind else { return };
        for item in select.items {
            let SelectItemKind::Expr(expr, None) = &item.kind else { continue };
            let range = item.span.range();
            let within =
                |(edit, _): &(std::ops::Range<usize>, Part)| range.start <= edit.start && edit.end <= range.end;
            if !edits.iter().any(within) {
                continue;
            }
            let name = match &expr.kind {
                ExprKind::Column(column) => column.name.name,
                _ => item.span.text(text),
            };
            let quoted: Vec<u8> =
                name.iter().flat_map(|byte| if *byte == b'`' { vec![b'`', b'`'] } else { vec![*byte] }).collect();
            edits.push((range.end..range.end, Part::Text([b" AS `", &quoted[..], b"`"].concat())));
        }
    }

    /// The variables that an INTO fills, if all of them are the procedure's own.
    fn locals_of(&self, into: &Into<'_>) -> Option<Vec<usize>> {
        match into.target {
            IntoTarget::Variables(targets) => self.locals(targets.iter()),
            _ => None,
        }
    }

    /// The procedure's variables that are named, if all of them are such.
    fn locals<'t>(&self, targets: impl Iterator<Item = &'t Expr<'t>>) -> Option<Vec<usize>> {
        let local = |target: &Expr<'_>| match &target.kind {
            ExprKind::Column(column) if column.table.is_none() => self.variable(column.name.name),
            _ => None,
        };
        targets.map(local).collect()
    }

    /// A statement that holds no others.
    pub(crate) fn plain(&mut self, text: &[u8]) -> Result<(), String> {
        let arena = Bump::new();
        let parsed = parse(&arena, text, self.mode).map_err(|_| cannot(text))?;
        let [statement] = parsed.statements else { return Err(cannot(text)) };
        let what = match &statement.kind {
            StatementKind::Query(query) => return self.query(query, text),
            StatementKind::Insert(_)
            | StatementKind::Update(_)
            | StatementKind::Delete(_)
            | StatementKind::Do(_)
            | StatementKind::Call(_) => What::Run(self.template(text)?),
            StatementKind::Transaction(_) | StatementKind::Deallocate(_) => What::Run(Template::plain(text)),
            // Of MySQL's, the text is a literal or a user variable; MariaDB's is any expression.
            StatementKind::Prepare(_) => What::Run(self.template(text)?),
            StatementKind::Execute(execute) if takes_user_variables(execute) => What::Run(self.template(text)?),
            StatementKind::Set(set) => return self.set(set.items, text),
            StatementKind::Signal(signal) => self.signal(signal, text)?,
            StatementKind::GetDiagnostics(get) => self.get_diagnostics(get, text)?,
            StatementKind::CreateTable(create) if !create.temporary => What::Run(self.definition(text)?),
            StatementKind::DropTables(drop) if !drop.temporary => What::Run(self.definition(text)?),
            _ if tells(statement) => What::Run(self.definition(text)?),
            StatementKind::AlterTable(_)
            | StatementKind::Truncate(_)
            | StatementKind::RenameTables(_)
            | StatementKind::CreateIndex(_)
            | StatementKind::DropIndex(_)
            | StatementKind::CreateView(_) => What::Run(self.definition(text)?),
            _ => return Err(cannot(text)),
        };
        self.step(what);
        Ok(())
    }

    /// A definition. What servers make of a variable's name in it depends on where it stands: none is read.
    fn definition(&self, text: &[u8]) -> Result<Template, String> {
        let template = self.template(text)?;
        match template.edits.is_empty() {
            true => Ok(template),
            false => Err(format!("{}: it names a variable; rename that", cannot(text))),
        }
    }

    fn query(&mut self, query: &Query<'_>, text: &[u8]) -> Result<(), String> {
        let within = match &query.body {
            QueryBody::Select(select) => select.into,
            _ => None,
        };
        let what = match query.into.or(within) {
            None => What::Run(self.template(text)?),
            Some(into) => match (self.locals_of(into), &into.target) {
                (Some(variables), _) => What::Into(self.template(text)?, variables),
                (None, IntoTarget::Variables(targets))
                    if targets.iter().all(|target| matches!(target.kind, ExprKind::UserVariable(_))) =>
                {
                    What::Run(self.template(text)?)
                }
                _ => return Err("has an INTO of other things than variables of one kind".to_owned()),
            },
        };
        self.step(what);
        Ok(())
    }

    fn set(&mut self, items: &[SetItem<'_>], text: &[u8]) -> Result<(), String> {
        let of_user = items.iter().all(|item| matches!(item.kind, SetItemKind::UserVariable(..)));
        if of_user || items.iter().all(|item| self.is_of_session(item)) {
            let what = What::Run(self.template(text)?);
            self.step(what);
            return Ok(());
        }
        for item in items {
            let SetItemKind::Variable(set) = &item.kind else { return Err(cannot(text)) };
            let own = !set.at_signs && set.variable.scope.is_none() && set.variable.base.is_none();
            let variable = self.variable(set.variable.name.name).filter(|_| own).ok_or_else(|| cannot(text))?;
            let SetValue::Expr(value) = &set.value else { return Err(cannot(text)) };
            let value = self.value(value.span.text(text))?;
            self.step(What::Set(vec![variable], Some(value)));
        }
        Ok(())
    }

    /// Whether it sets a variable of the session that stays as it is after the CALL, and on which no expression depends.
    fn is_of_session(&self, item: &SetItem<'_>) -> bool {
        let SetItemKind::Variable(set) = &item.kind else { return false };
        let variable = &set.variable;
        let scoped = matches!(variable.scope, Some(VariableScope::Session));
        let local = !set.at_signs && !scoped && self.variable(variable.name.name).is_some();
        (scoped || variable.scope.is_none())
            && !local
            && variable.base.is_none()
            && SESSION.iter().any(|name| variable.name.is(name))
    }

    /// GET DIAGNOSTICS is about what is handled: at the beginning of a handler, or STACKED. The count of rows can be had everywhere.
    fn get_diagnostics(&self, get: &GetStatement<'_>, text: &[u8]) -> Result<What, String> {
        let first = match &get.condition {
            None => false,
            Some(number) if number.span.text(text) == b"1" => true,
            Some(_) => return Err(cannot(text)),
        };
        let item = |name: &Ident<'_>| match first {
            false if name.is("NUMBER") => Some(DiagnosticsItem::Number),
            false if name.is("ROW_COUNT") => Some(DiagnosticsItem::RowCount),
            true if name.is("RETURNED_SQLSTATE") => Some(DiagnosticsItem::State),
            true if name.is("MYSQL_ERRNO") => Some(DiagnosticsItem::Code),
            true if name.is("MESSAGE_TEXT") => Some(DiagnosticsItem::Message),
            _ => None,
        };
        let items: Option<Vec<DiagnosticsItem>> = get.items.iter().map(|one| item(&one.name)).collect();
        let items = items.ok_or_else(|| cannot(text))?;
        let targets = || get.items.iter().map(|one| &one.target);
        let to = match targets().all(|target| matches!(target.kind, ExprKind::UserVariable(_))) {
            true => Targets::User(targets().map(|target| target.span.text(text).to_vec()).collect()),
            false => Targets::Variables(self.locals(targets()).ok_or_else(|| cannot(text))?),
        };
        if let ([DiagnosticsItem::RowCount], Targets::Variables(variables), false) = (&items[..], &to, get.stacked) {
            return Ok(What::Set(variables.clone(), Some(self.value(b"ROW_COUNT()")?)));
        }
        if !self.in_handler || !get.stacked && !self.has_current {
            return Err(format!("{}: it can stand at the beginning of a handler", cannot(text)));
        }
        Ok(What::Diagnostics(GetDiagnostics { items, to }))
    }

    /// Whether a step leaves the current diagnostics area as it is. MySQL clears it for assignments, and MariaDB for what reads tables.
    pub(crate) fn keeps_diagnostics(&self, what: &What) -> bool {
        match what {
            What::Enter | What::Diagnostics(_) => true,
            What::Set(_, value) => {
                let plain = value.as_ref().is_none_or(|value| !value.text.contains(&b'('));
                plain && self.mode.dialect == weir_sql::Dialect::MariaDb
            }
            _ => false,
        }
    }

    fn signal(&self, signal: &SignalStatement<'_>, text: &[u8]) -> Result<What, String> {
        let state = match &signal.condition {
            None if signal.again && signal.items.is_empty() => return Ok(What::Resignal),
            Some(SignalCondition::State(span)) if !signal.again => state(span.text(text)),
            Some(SignalCondition::Named(name)) if !signal.again => match self.condition(name) {
                Some(Class::State(state)) => Some(state),
                _ => None,
            },
            _ => None,
        };
        let mut raised = Signal { state: state.ok_or_else(|| cannot(text))?, code: None, message: None };
        for item in signal.items {
            let value = item.value.span.text(text);
            if item.name.is("MESSAGE_TEXT") {
                raised.message = Some(self.value(value)?);
            } else if item.name.is("MYSQL_ERRNO") {
                let code = std::str::from_utf8(value).ok().and_then(|code| code.parse().ok());
                raised.code = Some(code.ok_or_else(|| cannot(text))?);
            } else {
                return Err(cannot(text));
            }
        }
        Ok(What::Signal(raised))
    }
}

/// Whether a statement tells about tables, or looks after them.
pub fn tells(statement: &Statement<'_>) -> bool {
    match &statement.kind {
        StatementKind::Show(show) => matches!(
            show.kind,
            ShowKind::Tables(_)
                | ShowKind::TableStatus(_)
                | ShowKind::Triggers(_)
                | ShowKind::Columns(_)
                | ShowKind::Index(_)
                | ShowKind::Databases
                | ShowKind::Variables(_)
                | ShowKind::Create(ShowCreate::Table(_) | ShowCreate::View(_))
        ),
        StatementKind::DescribeTable(_) | StatementKind::TableUpkeep(_) => true,
        StatementKind::AlterTable(alter) => alter.partition_upkeep().is_some(),
        _ => false,
    }
}

/// Whether the values of an EXECUTE are user variables: those of others would have the types of literals.
fn takes_user_variables(execute: &Execute<'_>) -> bool {
    execute.using.iter().all(|value| matches!(value.kind, ExprKind::UserVariable(_)))
}

/// The only expression of a query without tables.
fn only_item<'a>(statement: &'a Statement<'a>) -> Option<&'a Expr<'a>> {
    let StatementKind::Query(Query { body: QueryBody::Select(select), .. }) = &statement.kind else { return None };
    match select.items {
        [SelectItem { kind: SelectItemKind::Expr(expr, _), .. }] => Some(expr),
        _ => None,
    }
}

fn cannot(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    let shown = match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text,
    };
    format!("has a statement that Weir does not run by itself ({shown})")
}

/// `user@host`, as CURRENT_USER() names it.
pub(crate) fn account_name(account: &Account<'_>) -> Option<Vec<u8>> {
    Some([account.user()?.name, b"@", account.host()?.name].concat())
}
