//! The class of a text from its tree.
//!
//! What must hold: it depends on the tree and on the names in it, never on a literal's value, but for the values that a
//! [`TextKind`] carries; so texts of one shape have one class.

mod session;
mod set;

use bumpalo::Bump;

use super::{Class, Diagnostics, Effects, Pins, TextKind};
use crate::ast::{
    Call, Expr, ExprKind, Load, Query, QueryBody, Schedule, Select, SelectItem, SelectItemKind, SelectOptions,
    Statement, StatementKind, SystemVariable, UpkeepVerb, VariableScope,
};
use crate::facts::finder::Finder;
use crate::facts::programs::Programs;
use crate::facts::varies::Varies;
use crate::facts::words;
use crate::keyword::Keyword;
use crate::kw;
use crate::lexer::{Conditional, Lexer};
use crate::mode::LexMode;
use crate::parse::{Parsed, parse_tokens};
use crate::visit::Node;

const DEFINITION: Effects = Effects::WRITES.union(Effects::IMPLICIT_COMMIT);
const ADMINISTRATION: Effects = Effects::READS.union(DEFINITION);

/// The class of the text of a lexer that stands at its beginning, and which executable comments it has.
pub(super) fn read(arena: &Bump, lexer: Lexer<'_>, mode: LexMode, programs: &dyn Programs) -> (Class, Conditional) {
    let read = parse_tokens(arena, lexer, mode).ok().filter(|(parsed, _)| !parsed.dollars);
    let known =
        read.and_then(|(parsed, conditional)| Some((class_of(lexer.sql, mode, &parsed, programs)?, conditional)));
    known.unwrap_or_else(|| unknown(lexer, mode))
}

/// The class of a text of which nothing is certain.
fn unknown(lexer: Lexer<'_>, mode: LexMode) -> (Class, Conditional) {
    let (uses, several, conditional) = words::uses_of_text(lexer, mode);
    let kind = if several { TextKind::Multiple } else { TextKind::Other };
    (Class { kind, effects: uses.effects, pins: uses.pins, ..Class::default() }, conditional)
}

/// The class of a text that was read; `None` if one of its statements has no tree.
pub(super) fn class_of<'a>(
    sql: &'a [u8],
    mode: LexMode,
    parsed: &Parsed<'a>,
    programs: &dyn Programs,
) -> Option<Class> {
    let mut reader = TreeReader { finder: Finder::new(sql, mode, programs), class: Class::default() };
    for (number, statement) in parsed.statements.iter().enumerate() {
        if number > 0 {
            reader.class.demote();
        }
        reader.class.kind = reader.statement(statement)?;
    }
    let mut class = reader.class;
    class.effects |= reader.finder.uses.effects;
    class.pins |= reader.finder.uses.pins;
    if parsed.parts > 1 {
        class.demote();
        class.kind = TextKind::Multiple;
    }
    Some(class)
}

/// The class of one statement, and what its results depend on.
pub(crate) fn class_of_statement<'a>(
    statement: &'a Statement<'a>,
    sql: &'a [u8],
    mode: LexMode,
    programs: &dyn Programs,
) -> (Class, Varies) {
    let mut reader = TreeReader { finder: Finder::new(sql, mode, programs), class: Class::default() };
    match reader.statement(statement) {
        Some(kind) => reader.class.kind = kind,
        None => {
            let text = statement.span.text(sql);
            reader.class.kind = TextKind::Other;
            reader.finder.uses |= words::uses_of_text(Lexer::new(text, mode), mode).0;
        }
    }
    let (mut class, uses) = (reader.class, reader.finder.uses);
    class.effects |= uses.effects;
    class.pins |= uses.pins;
    (class, uses.varies)
}

/// The effect of what stands behind RETURNING.
fn returned<T>(items: &[T]) -> Effects {
    if items.is_empty() { Effects::empty() } else { Effects::RETURNING }
}

/// Gathers what the statements of a text do.
pub(super) struct TreeReader<'a, 'p> {
    pub(super) finder: Finder<'a, 'p>,
    pub(super) class: Class,
}

impl<'a> TreeReader<'a, '_> {
    pub(super) fn statement(&mut self, statement: &'a Statement<'a>) -> Option<TextKind> {
        let node = Node::Statement(statement);
        match &statement.kind {
            StatementKind::Query(query) => return Some(self.query(query)),
            StatementKind::Insert(insert) => {
                let returned = returned(insert.returning);
                let untold = if returned.is_empty() { returned } else { Effects::INSERT_ID_UNTOLD };
                self.with_effects(node, Effects::WRITES | Effects::GENERATES_INSERT_ID | returned | untold);
            }
            StatementKind::Update(update) => {
                self.with_effects(node, Effects::READS | Effects::WRITES | returned(update.returning));
            }
            StatementKind::Delete(delete) => {
                self.with_effects(node, Effects::READS | Effects::WRITES | returned(delete.returning));
            }
            StatementKind::Load(load) => self.load(load),
            StatementKind::Set(set) => return Some(self.set(set)),
            StatementKind::SetStatement(set) => return self.set_statement(set),
            StatementKind::Show(show) => return Some(self.show(node, show)),
            StatementKind::Explain(explain) => return self.explain(explain),
            StatementKind::DescribeTable(_) => self.with_effects(node, Effects::READS),
            StatementKind::Transaction(transaction) => return Some(self.transaction(transaction, statement.span)),
            StatementKind::Kill(kill) => return Some(self.kill(node, kill)),
            StatementKind::Use(_) => {
                self.finder.effect(Effects::CHANGES_DATABASE);
                return Some(TextKind::Use);
            }
            StatementKind::Weir(span) => return Some(TextKind::Weir(span.range())),
            StatementKind::Batch(_) => {
                self.with_effects(node, Effects::READS | Effects::WRITES);
                return Some(TextKind::Batch);
            }
            StatementKind::Compound(_) => return Some(self.compound(statement)),
            StatementKind::Opaque(_) => return None,
            _ => self.other(statement),
        }
        Some(TextKind::Other)
    }

    /// Statements that are nothing but [`TextKind::Other`].
    fn other(&mut self, statement: &'a Statement<'a>) {
        let node = Node::Statement(statement);
        match &statement.kind {
            StatementKind::Help(_) => self.finder.effect(Effects::READS),
            StatementKind::Xa(xa) => self.xa(xa),
            StatementKind::LockTables(_) => {
                self.finder.pin(Pins::LOCK_TABLES);
                self.finder.effect(DEFINITION);
            }
            StatementKind::UnlockTables => {
                self.class.releases |= Pins::LOCK_TABLES | Pins::GLOBAL_READ_LOCK;
                self.finder.effect(DEFINITION);
            }
            StatementKind::Backup(backup) => self.backup(backup),
            StatementKind::Prepare(prepare) => {
                self.finder.pin(Pins::TEXT_PREPARE);
                self.text_to_run(&prepare.text);
                self.with_effects(node, Effects::READS);
            }
            StatementKind::Execute(execute) => self.execute(node, execute),
            StatementKind::Deallocate(_) => {}
            StatementKind::Call(call) => self.call_procedure(call),
            StatementKind::Do(expressions) => self.do_expressions(node, statement, expressions),
            StatementKind::Handler(_) => {
                self.finder.pin(Pins::HANDLER);
                self.with_effects(node, Effects::READS);
            }
            StatementKind::Signal(_) => self.finder.look(node),
            StatementKind::GetDiagnostics(get) => self.get_diagnostics(get),
            StatementKind::Flush(flush) => self.flush(node, flush),
            StatementKind::Replication(replication) => self.replication(replication),
            StatementKind::Server(control) => self.server(node, control),
            StatementKind::TableUpkeep(upkeep) if upkeep.verb == UpkeepVerb::Checksum => {
                self.with_effects(node, Effects::READS | Effects::SERVER_STATE);
            }
            StatementKind::Reset(_)
            | StatementKind::TableUpkeep(_)
            | StatementKind::KeyCache(_)
            | StatementKind::Install(_) => self.with_effects(node, ADMINISTRATION),
            StatementKind::Grant(_) | StatementKind::Revoke(_) | StatementKind::RenameUser(_) => {
                self.with_effects(node, ADMINISTRATION | Effects::CHANGES_ACCOUNTS);
            }
            StatementKind::CreateUser(_)
            | StatementKind::AlterUser(_)
            | StatementKind::CreateRole(_)
            | StatementKind::DropAccounts(_) => self.finder.effect(DEFINITION | Effects::CHANGES_ACCOUNTS),
            _ => self.definition(statement),
        }
    }

    /// Definitions are not executed, so their expressions say nothing; but the query of CREATE TABLE … SELECT is, and so is
    /// ALTER TABLE.
    fn definition(&mut self, statement: &'a Statement<'a>) {
        self.finder.effect(DEFINITION);
        match &statement.kind {
            StatementKind::CreateTable(create) => {
                if create.temporary {
                    self.finder.pin(Pins::TEMPORARY_TABLE);
                }
                if let Some(query) = create.definition().and_then(|definition| definition.query) {
                    self.with_effects(Node::Query(query), Effects::READS | Effects::GENERATES_INSERT_ID);
                }
            }
            StatementKind::DefineSequence(sequence) if sequence.temporary => self.finder.pin(Pins::TEMPORARY_TABLE),
            StatementKind::DropDatabase(_) => self.finder.effect(Effects::CHANGES_DATABASE),
            StatementKind::Truncate(_) | StatementKind::RenameTables(_) => self.finder.effect(ADMINISTRATION),
            // Defaults of columns that are added are evaluated for the rows that there are.
            StatementKind::AlterTable(_) => self.finder.look(Node::Statement(statement)),
            StatementKind::DefineSequence(_)
            | StatementKind::DropTables(_)
            | StatementKind::CreateIndex(_)
            | StatementKind::DropIndex(_)
            | StatementKind::CreateView(_)
            | StatementKind::CreateDatabase(_)
            | StatementKind::AlterDatabase(_)
            | StatementKind::ServerObject(_)
            | StatementKind::CreateRoutine(_)
            | StatementKind::CreateLoadableFunction(_)
            | StatementKind::CreateLibrary(_)
            | StatementKind::CreateTrigger(_)
            | StatementKind::AlterRoutine(_)
            | StatementKind::DropProgram(_) => {}
            StatementKind::CreateEvent(event) => self.schedule(&event.schedule),
            StatementKind::AlterEvent(event) => event.schedule.iter().for_each(|schedule| self.schedule(schedule)),
            _ => self.finder.uses.unknown_statement(),
        }
    }

    fn with_effects(&mut self, node: Node<'a>, effects: Effects) {
        self.finder.effect(effects);
        self.finder.look(node);
    }

    /// When an event takes place is evaluated as it is defined.
    fn schedule(&mut self, schedule: &'a Schedule<'a>) {
        match schedule {
            Schedule::At(time) => self.finder.look(Node::Expr(time)),
            Schedule::Every { every, starts, ends } => {
                self.finder.exprs(std::iter::once(&every.value).chain(starts).chain(ends));
            }
        }
    }

    fn load(&mut self, load: &'a Load<'a>) {
        let generates = Effects::GENERATES_INSERT_ID | Effects::INSERT_ID_UNTOLD;
        self.finder.effect(Effects::READS | Effects::WRITES | generates);
        if load.local {
            self.finder.effect(Effects::LOCAL_INFILE);
        }
        if load.columns.unwrap_or_default().iter().any(|target| matches!(target.kind, ExprKind::UserVariable(_))) {
            self.finder.computed_user_variable();
        }
        load.assignments.iter().for_each(|assignment| self.finder.look(Node::Assignment(assignment)));
    }

    fn query(&mut self, query: &'a Query<'a>) -> TextKind {
        if let Some(item) = only_item(query) {
            if let Some(diagnostics) = counted_diagnostics(item) {
                self.finder.effect(Effects::USES_WARNINGS);
                return TextKind::ShowWarnings(diagnostics);
            }
            self.releases_all_locks(item);
        }
        self.finder.look(Node::Query(query));
        TextKind::Select
    }

    /// Exactly `RELEASE_ALL_LOCKS()`. As a part of more it might not be evaluated.
    fn releases_all_locks(&mut self, item: &SelectItem<'a>) {
        let SelectItemKind::Expr(Expr { kind: ExprKind::Call(call), .. }, _) = item.kind else { return };
        let Call { name, arguments, .. } = call;
        let named = name.database.is_none() && Keyword::of(name.name.name) == kw::RELEASE_ALL_LOCKS;
        if named && arguments.is_empty() {
            self.class.releases |= Pins::USER_LOCK;
        }
    }
}

/// The item of `SELECT item` and nothing else.
fn only_item<'a>(query: &'a Query<'a>) -> Option<&'a SelectItem<'a>> {
    let QueryBody::Select(select) = query.body else { return None };
    let Select { items: [item], options, hint: None, .. } = select else { return None };
    let plain = *options == SelectOptions::default();
    // Everything else, WITH and parentheses too, would stand before or behind.
    let alone = query.span == select.span && item.span.end == select.span.end;
    (plain && alone).then_some(item)
}

/// Exactly `@@warning_count` or `@@error_count`.
fn counted_diagnostics(item: &SelectItem<'_>) -> Option<Diagnostics> {
    let SelectItemKind::Expr(Expr { kind: ExprKind::SystemVariable(variable), .. }, None) = item.kind else {
        return None;
    };
    let SystemVariable { scope: None | Some(VariableScope::Session), base: None, name } = variable else { return None };
    match Keyword::of(name.name) {
        kw::WARNING_COUNT => Some(Diagnostics::CountWarnings),
        kw::ERROR_COUNT => Some(Diagnostics::CountErrors),
        _ => None,
    }
}
