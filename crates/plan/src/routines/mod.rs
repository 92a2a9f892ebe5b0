//! Stored procedures and functions: what their bodies do, and on which shard a CALL can do it.
//!
//! What must always hold: a routine is understood only if all of its body is: each statement, and each routine that it calls. What is
//! understood is told by the catalog's text of it; whoever may have other tables under its names (a session with temporary tables) says
//! so ([`SessionFacts::temporary`](crate::SessionFacts)): a routine that names one of them in place of a table that it hides is not
//! understood, nor a function that names one at all.

mod body;
mod call;
mod function;
mod stepwise;
mod value;

use std::collections::BTreeSet;

use weir_catalog::{Catalog, Placement, Routine, RoutineKind};
use weir_sql::ast::{Call, CallProcedure, ObjectName, ParameterMode, Statement, StatementKind};
use weir_sql::facts::{Programs, Varies, facts_with};
use weir_sql::resolve::{Context, Roles, Table};
use weir_sql::{Bump, Class, Dialect, Effects, Pins};

use crate::TemporaryNames;

pub use body::is_definition;
pub(crate) use body::mode_of;
use body::{Asked, Body, BodyStatement};
pub(crate) use call::plan_call;
pub(crate) use function::{allow_changes, calls_placed, function_needs};

/// Routines within routines that are looked into.
const DEEPEST: usize = 8;

/// What a routine does, whatever its arguments are.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Understood {
    /// What of the session's state it reads and changes.
    pub effects: Effects,
    /// What its results depend on, apart from data and parameters.
    pub varies: Varies,
    /// User variables that it names, in lower case.
    pub variables: BTreeSet<String>,
    /// It begins or ends transactions, or sets savepoints.
    pub controls: bool,
    /// It names tables.
    pub tables: bool,
    /// It names tables other than GLOBAL ones.
    pub beyond_copies: bool,
    /// It changes or locks rows.
    pub changes: bool,
    /// Triggers may run, of which nothing is known.
    pub triggers: bool,
    /// It makes temporary tables, and drops them; after an error they may be left.
    pub temporary: bool,
    /// It names temporary tables of the session: it runs where these are.
    pub of_session: bool,
    /// It runs texts that are known only when it runs (PREPARE): what they do is not among the rest.
    pub dynamic: bool,
    /// It sets variables of the session.
    pub sets_session: bool,
    /// It makes, changes or drops tables, indexes or views: what its other statements do is known when they run.
    pub defines: bool,
    /// It tells about tables, or looks after them (SHOW, DESCRIBE, ANALYZE TABLE): of sharded ones no shard can.
    pub tells: bool,
    /// The procedures that it is and calls: their databases, and their names in lower case.
    pub procedures: BTreeSet<(String, String)>,
    /// It names a table of a sharded database that is not there, as a clause: "names …".
    pub missing: Option<String>,
}

/// Who knows the stored programs that a session's statements call.
#[derive(Clone, Copy)]
pub struct KnownPrograms<'a> {
    /// What is known of them.
    pub catalog: &'a Catalog,
    /// The default database.
    pub database: Option<&'a [u8]>,
    /// The kind of server.
    pub dialect: Dialect,
    /// The session's temporary tables.
    pub temporary: &'a TemporaryNames,
    /// It is in a transaction: what ends it has to be seen.
    pub in_transaction: bool,
    depth: usize,
    /// The routine that is looked into, with those around it.
    around: Option<&'a Around<'a>>,
}

/// A routine that is being looked into.
#[derive(Clone, Copy)]
struct Around<'a> {
    routine: &'a Routine,
    around: Option<&'a Around<'a>>,
}

impl<'a> KnownPrograms<'a> {
    /// Those of a catalog.
    pub fn new(
        catalog: &'a Catalog,
        database: Option<&'a [u8]>,
        dialect: Dialect,
        temporary: &'a TemporaryNames,
        in_transaction: bool,
    ) -> KnownPrograms<'a> {
        KnownPrograms { catalog, database, dialect, temporary, in_transaction, depth: 0, around: None }
    }

    /// A routine by its name.
    fn find(&self, kind: RoutineKind, name: &ObjectName<'_>) -> Option<(&'a str, &'a Routine)> {
        let database = name.database.map(|database| database.name).or(self.database)?;
        let (database, routine) = self.catalog.routine(database, kind, name.name.name)?;
        Some((database, routine))
    }

    /// What a procedure does.
    ///
    /// # Errors
    /// Why it isn't known, as a clause: "has …".
    pub fn procedure(&self, name: &ObjectName<'_>) -> Result<Understood, String> {
        let (database, routine) = self.find(RoutineKind::Procedure, name).ok_or_else(|| UNKNOWN.to_owned())?;
        let mut understood = self.understand(RoutineKind::Procedure, database, routine)?;
        understood.procedures.insert((database.to_owned(), body::lower(name.name.name)));
        Ok(understood)
    }

    /// Whether a routine is being looked into already: it calls itself, by others or not.
    fn is_around(&self, routine: &Routine) -> bool {
        std::iter::successors(self.around, |around| around.around).any(|around| std::ptr::eq(around.routine, routine))
    }

    /// What a routine of this database does.
    fn understand(&self, kind: RoutineKind, database: &str, routine: &Routine) -> Result<Understood, String> {
        if kind == RoutineKind::Procedure && self.is_around(routine) {
            // What it does is what is being looked for.
            return Ok(Understood::default());
        }
        if self.depth >= DEEPEST {
            return Err("calls procedures that are nested too deeply".to_owned());
        }
        let arena = Bump::new();
        let body = self.body(&arena, database, routine)?;
        let around = Around { routine, around: self.around };
        let within = KnownPrograms {
            database: Some(database.as_bytes()),
            depth: self.depth + 1,
            around: Some(&around),
            ..*self
        };
        if !self.temporary.is_empty() && (body.defines || body.tells) {
            // What these statements name is not among the parts.
            return Err(HIDDEN.to_owned());
        }
        let temporary = !body.temporary.is_empty();
        let mut all = Understood {
            controls: body.controls,
            changes: temporary,
            temporary,
            of_session: body.empties_temporary,
            dynamic: body.dynamic,
            sets_session: body.sets_session,
            defines: body.defines,
            tells: body.tells,
            ..Understood::default()
        };
        for name in &body.temporary {
            if within.check_table(within.database, name).is_ok() || within.is_of_session(within.database, name) {
                return Err(format!("makes a temporary table that hides the table {}", body::shown(name)));
            }
        }
        for called in &body.calls {
            let name = body::shown(called.name.name.name);
            let inner = within.procedure(&called.name).map_err(|why| format!("calls {name}, which {why}"))?;
            all.add(inner);
        }
        for part in &body.parts {
            within.part(part, routine, &body, &mut all)?;
        }
        all.variables.extend(body.variables);
        if body.assigns_variables {
            all.effects |= Effects::SETS_USER_VARIABLES;
        }
        match &all.missing {
            // A server says so when it comes there, which it does not for a part of a statement alone.
            Some(why) if kind == RoutineKind::Function => Err(why.clone()),
            _ if kind == RoutineKind::Function && all.of_session => Err(HIDDEN.to_owned()),
            _ => Ok(all),
        }
    }

    /// Whether it is a temporary table of the session.
    fn is_of_session(&self, database: Option<&[u8]>, name: &[u8]) -> bool {
        let folded = |name: &[u8]| if self.catalog.fold_case { name.to_ascii_lowercase() } else { name.to_vec() };
        let Some(database) = database.filter(|_| !self.temporary.is_empty()) else { return false };
        self.temporary.contains(&(folded(database), folded(name)))
    }

    /// A routine of this database, taken apart.
    fn body<'r>(&self, arena: &'r Bump, database: &str, routine: &'r Routine) -> Result<Body<'r>, String> {
        let within = KnownPrograms { database: Some(database.as_bytes()), ..*self };
        let asked = Asked {
            may_assign: &|name, place| within.may_assign(name, place),
            is_temporary: &|name| {
                let database = name.database.map_or(within.database, |database| Some(database.name));
                within.is_of_session(database, name.name.name) && within.check_table(database, name.name.name).is_err()
            },
        };
        Body::of(arena, routine, self.dialect, &asked)
    }

    /// Whether a procedure may assign what it is given as this argument.
    fn may_assign(&self, name: &ObjectName<'_>, place: usize) -> bool {
        let Some((_, routine)) = self.find(RoutineKind::Procedure, name) else { return true };
        let arena = Bump::new();
        let parsed = weir_sql::parse(&arena, routine.text.as_bytes(), mode_of(routine, self.dialect)).ok();
        let Some([Statement { kind: StatementKind::CreateRoutine(create), .. }]) = parsed.map(|all| all.statements)
        else {
            return true;
        };
        let mode = create.parameters.get(place).map(|parameter| parameter.mode);
        !matches!(mode, Some(None | Some(ParameterMode::In)))
    }

    /// Adds what a statement of a body does.
    fn part(
        &self,
        part: &BodyStatement<'_>,
        routine: &Routine,
        body: &Body<'_>,
        all: &mut Understood,
    ) -> Result<(), String> {
        let context =
            Context { database: self.database, dialect: self.dialect, fold_case: self.catalog.fold_case, columns: &() };
        let mode = mode_of(routine, self.dialect);
        let facts = facts_with(part.statement, part.text, mode, &context, self);
        check_class(&facts.class, part.text)?;
        let others = facts.names.tables().map(|(_, table)| table).filter(|table| !self.is_temporary(body, table));
        for table in others {
            if self.is_of_session(table.database, table.name) {
                if self.check_table(table.database, table.name).is_ok() {
                    return Err(HIDDEN.to_owned());
                }
                all.of_session = true;
                continue;
            }
            all.tables = true;
            all.beyond_copies |= !self.is_copy(table.database, table.name);
            let writes = !(table.roles - Roles::READ).is_empty();
            all.changes |= writes;
            // What a view may do is not looked at.
            let known = table.database.and_then(|database| self.catalog.table(database, table.name));
            all.triggers |= known.is_none_or(|(_, known)| writes && known.triggers);
            if !all.defines
                && let Err(why) = self.check_table(table.database, table.name)
            {
                all.missing.get_or_insert(why);
            }
        }
        // INTO may fill variables of the routine; what it fills is told by the body as a whole.
        all.effects |= facts.class.effects - Effects::SETS_USER_VARIABLES;
        all.varies |= facts.varies;
        all.changes |= facts.varies.contains(Varies::CHANGES);
        all.triggers |= facts.varies.contains(Varies::CHANGES);
        Ok(())
    }

    /// Whether it is one of the body's own temporary tables.
    fn is_temporary(&self, body: &Body<'_>, table: &Table<'_>) -> bool {
        table.database == self.database && body.temporary.contains(table.name)
    }

    fn is_copy(&self, database: Option<&[u8]>, name: &[u8]) -> bool {
        let table = database.and_then(|database| self.catalog.table(database, name));
        table.is_some_and(|(_, table)| table.placement == Placement::Global)
    }

    /// A name in a sharded database that is neither a table nor a view may be one of a temporary table.
    pub(super) fn check_table(&self, database: Option<&[u8]>, name: &[u8]) -> Result<(), String> {
        let Some((known, of)) = database.and_then(|database| self.catalog.database(database)) else { return Ok(()) };
        let is_view = std::str::from_utf8(name).is_ok_and(|name| of.views.contains_key(name));
        if is_view || self.catalog.table(known.as_bytes(), name).is_some() {
            return Ok(());
        }
        Err(format!("names '{}', which is not a table that Weir knows", String::from_utf8_lossy(name)))
    }

    /// A function whose results depend on nothing but its arguments, the time, and tables: with [`Varies::STORED`] if it reads others than those that
    /// each shard has all of. One that changes rows runs on one shard only: it may depend on what else is there.
    fn pure(&self, name: &ObjectName<'_>) -> Option<Varies> {
        let (database, routine) = self.find(RoutineKind::Function, name)?;
        let understood = self.understand(RoutineKind::Function, database, routine).ok()?;
        let changes = Effects::SETS_USER_VARIABLES | Effects::SETS_LAST_INSERT_ID;
        let reads = Effects::USES_ROW_COUNT | Effects::USES_FOUND_ROWS;
        let state = Effects::USES_WARNINGS | Effects::USES_USER_VARIABLES | Effects::SERVER_STATE;
        if understood.effects.intersects(changes | reads | state)
            || !understood.variables.is_empty()
            || understood.controls
            || understood.temporary
            || understood.dynamic
            || understood.sets_session
            || understood.defines
            || understood.tells
        {
            return None;
        }
        let stored = Varies::TABLES | Varies::STORED;
        if understood.changes || understood.effects.contains(Effects::WRITES) {
            return Some(stored | Varies::CHANGES);
        }
        let varies = understood.varies - stored - Varies::TIME;
        if understood.effects.contains(Effects::USES_LAST_INSERT_ID) || !varies.is_empty() {
            return None;
        }
        if understood.beyond_copies || understood.varies.contains(Varies::STORED) {
            return Some(understood.varies | stored);
        }
        let tables = if understood.tables { Varies::TABLES } else { Varies::empty() };
        // Statements run on shards of their tables' databases: it has to be on all of these.
        let (_, own) = self.catalog.database(database.as_bytes())?;
        let everywhere =
            self.catalog.databases.values().all(|other| other.shards.iter().all(|shard| own.shards.contains(shard)));
        everywhere.then_some(understood.varies | tables)
    }
}

/// Why a routine isn't understood in a session with temporary tables.
const HIDDEN: &str = "could see the session's temporary tables in place of others";

/// Why a routine isn't understood that the catalog does not have.
const UNKNOWN: &str = "has a body that Weir does not know: it was not created through Weir (ALTER PROCEDURE … COMMENT '' lets Weir read it), or is being \
                       defined just now";

/// Whether a body can have a statement of this class.
///
/// # Errors
/// What it leaves with a connection or needs of it, as a clause: "uses …".
pub fn check_class(class: &Class, text: &[u8]) -> Result<(), String> {
    const HARMLESS: Pins = Pins::COMPUTED_USER_VARIABLE.union(Pins::ROW_COUNT).union(Pins::FOUND_ROWS);
    const NEVER: Effects = Effects::IMPLICIT_COMMIT
        .union(Effects::CHANGES_DATABASE)
        .union(Effects::CHANGES_GLOBALS)
        .union(Effects::USES_CONNECTION_ID)
        .union(Effects::LOCAL_INFILE)
        .union(Effects::SETS_FOR_STATEMENT);
    let pins = class.pins - HARMLESS;
    if let Some(pin) = pins.names().next() {
        let what = if pins.contains(Pins::UNKNOWN_FUNCTION) { "a function that Weir does not know" } else { pin };
        return Err(format!("uses {what} ({})", body::shown(text)));
    }
    if class.effects.intersects(NEVER) {
        return Err(format!("depends on its connection ({})", body::shown(text)));
    }
    Ok(())
}

impl Understood {
    /// Whether it leaves nothing with a connection, whatever a server says of changes of the session's state.
    pub fn leaves_nothing(&self) -> bool {
        let leaves = self.triggers || self.temporary || self.dynamic || self.sets_session || self.defines || self.tells;
        !leaves && !self.effects.intersects(Effects::SETS_USER_VARIABLES)
    }

    fn add(&mut self, other: Understood) {
        self.effects |= other.effects;
        self.varies |= other.varies;
        self.variables.extend(other.variables);
        self.controls |= other.controls;
        self.tables |= other.tables;
        self.beyond_copies |= other.beyond_copies;
        self.changes |= other.changes;
        self.triggers |= other.triggers;
        self.temporary |= other.temporary;
        self.of_session |= other.of_session;
        self.dynamic |= other.dynamic;
        self.sets_session |= other.sets_session;
        self.defines |= other.defines;
        self.tells |= other.tells;
        self.procedures.extend(other.procedures);
        self.missing = self.missing.take().or(other.missing);
    }
}

impl Programs for KnownPrograms<'_> {
    fn function(&self, call: &Call<'_>) -> Option<Varies> {
        self.pure(&call.name)
    }

    fn procedure(&self, call: &CallProcedure<'_>) -> Option<Effects> {
        if call.package_database.is_some() {
            return None;
        }
        let understood = KnownPrograms::procedure(self, &call.name).ok()?;
        // Temporary tables that an error leaves are on the connection, and variables that it sets; what is in a text that it prepares
        // nobody knows.
        let stays = understood.temporary || understood.dynamic || understood.sets_session || understood.defines;
        if stays || understood.controls && self.in_transaction {
            return None;
        }
        let mut effects = understood.effects & (Effects::USES_LAST_INSERT_ID | Effects::SETS_USER_VARIABLES);
        if understood.effects.intersects(Effects::GENERATES_INSERT_ID | Effects::SETS_LAST_INSERT_ID) {
            effects |= Effects::SETS_LAST_INSERT_ID;
        }
        Some(effects)
    }
}
