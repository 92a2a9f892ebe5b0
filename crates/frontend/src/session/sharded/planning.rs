//! Making a statement's plan.
//!
//! What must always hold: a plan is of one catalog, which is kept with it.

use std::sync::Arc;

use weir_backend::profile::Profile;
use weir_catalog::{Catalog, Constant, Placement, RoutineKind, ShardId, Weights};
use weir_plan::write::with_values;
use weir_plan::{Effort, Need, Plan, Refusal, Running, SessionFacts, TemporaryNames, views};
use weir_shards::Sharding;
use weir_shards::own::quoted;
use weir_sql::ast::{self, StatementKind};
use weir_sql::resolve::{Context, resolve};
use weir_sql::{Bump, LexMode, Parsed, SyntaxError};
use weir_wire::error::{codes, not_supported};
use weir_wire::{Failure, Malformed};

use super::super::Session;
use super::super::statement::Statement;
use super::super::stopped::{Stopped, malformed};
use super::super::syntax::syntax_error;
use crate::literals::{Literals, variable};
use crate::plans::{Circumstances, Wanted};

/// How often weights are learnt for one statement: once for each collation that it has, and not for ever.
const MOST_LESSONS: usize = 16;

/// Texts of so many bytes are planned on threads of their own.
const LONG: usize = 32 * 1024;

/// A plan, with the catalog that it was made from.
pub(super) struct Planned {
    pub(super) plan: Plan,
    pub(super) catalog: Arc<Catalog>,
}

/// Whether it is a CALL of a procedure that no shard of its database has.
async fn calls_nothing(sharding: &Sharding, catalog: &Catalog, database: Option<&[u8]>, asked: &Statement<'_>) -> bool {
    let Ok(Parsed { statements: [ast::Statement { kind: StatementKind::Call(call), .. }], .. }) = asked.parsed() else {
        return false;
    };
    let database = call.name.database.map(|database| database.name).or(database);
    let Some((database, known)) = database.and_then(|database| catalog.database(database)) else { return false };
    let procedure = call.name.name.name;
    let (false, Ok(procedure)) = (
        catalog.routine(database.as_bytes(), RoutineKind::Procedure, procedure).is_some(),
        std::str::from_utf8(procedure),
    ) else {
        return false;
    };
    let sql = format!(
        "SELECT 1 FROM information_schema.ROUTINES WHERE ROUTINE_TYPE = 'PROCEDURE' AND ROUTINE_SCHEMA = {} AND ROUTINE_NAME = {}",
        quoted(database),
        quoted(procedure)
    );
    for shard in &known.shards {
        if !matches!(sharding.own.run(*shard, sql.clone()).await, Ok(reply) if reply.rows.is_empty()) {
            return false;
        }
    }
    true
}

impl Session {
    /// Plans a statement. What has to be learnt first is.
    pub(super) async fn plan(&mut self, sharding: &Arc<Sharding>, asked: &Statement<'_>) -> Result<Planned, Stopped> {
        let circumstances = self.circumstances();
        for _ in 0..MOST_LESSONS {
            let (catalog, weights) = (sharding.catalog_now(), sharding.weights());
            let wanted = self.wanted(asked.text, &circumstances, &catalog, &weights);
            let planned = match asked.text.len() {
                0..LONG => self.plan_with(&catalog, &weights, &circumstances, asked, Some(&wanted)),
                _ => self.plan_elsewhere(&catalog, &weights, &circumstances, asked).await,
            };
            match planned? {
                Ok(plan) => return Ok(Planned { plan, catalog }),
                Err(refusal) => match refusal.into_failure() {
                    // Who has it says that, or that its account may not.
                    Ok(_) if calls_nothing(sharding, &catalog, self.state.profile.database.as_deref(), asked).await => {
                        return Ok(Planned { plan: Plan::Home, catalog });
                    }
                    Ok(failure) => return Err(failure.into()),
                    Err((collation, chars)) => sharding.learn(&collation, &chars).await?,
                },
            }
        }
        Err(not_supported(
            "The statement's texts have too many collations: write it in parts, or name the same COLLATE",
        )
        .into())
    }

    /// Plans with what is known. `kept`: what the plan is kept for, if it may be used again.
    pub(super) fn plan_with(
        &self,
        catalog: &Catalog,
        weights: &Weights,
        circumstances: &Circumstances,
        asked: &Statement<'_>,
        kept: Option<&Wanted<'_>>,
    ) -> Result<Result<Plan, Refusal>, Failure> {
        let own = self.own_facts(circumstances, asked)?;
        let learns = || self.learns(kept, asked).zip(kept);
        let parsed = asked.parsed().map_err(|error| self.syntax_error(error))?;
        own.plan(asked.text, parsed, catalog, weights, &self.state.profile, |statement, facts| {
            let (literals, kept) = learns()?;
            let (plan, template) = weir_plan::plan_traced(asked.text, &literals, statement, catalog, weights, facts);
            self.shared.plans.learn(kept, template);
            Some(plan)
        })
    }

    /// Plans a long text on a thread of its own: the worker's other sessions go on meanwhile.
    async fn plan_elsewhere(
        &self,
        catalog: &Arc<Catalog>,
        weights: &Arc<Weights>,
        circumstances: &Circumstances,
        asked: &Statement<'_>,
    ) -> Result<Result<Plan, Refusal>, Failure> {
        let own = self.own_facts(circumstances, asked)?;
        let (text, catalog, weights) = (asked.text.to_vec(), catalog.clone(), weights.clone());
        let profile = Profile::clone(&self.state.profile);
        let planned = tokio::task::spawn_blocking(move || {
            let arena = Bump::new();
            let parsed = weir_sql::parse(&arena, &text, own.mode);
            let parsed = parsed.map_err(|error| syntax_error(&error, own.mariadb))?;
            own.plan(&text, &parsed, &catalog, &weights, &profile, |_, _| None)
        });
        let planned = planned.await;
        planned.unwrap_or_else(|error| {
            let message = format!("The statement could not be planned: {error}");
            Err(Failure::weir(codes::ER_UNKNOWN_ERROR, message))
        })
    }

    /// What plans of the session's statements depend on.
    fn own_facts(&self, circumstances: &Circumstances, asked: &Statement<'_>) -> Result<OwnFacts, Failure> {
        let constants = self.constants(&circumstances.literals, asked);
        Ok(OwnFacts {
            database: circumstances.database.clone(),
            mode: self.state.lex,
            sql_mode: circumstances.sql_mode.clone(),
            literals: circumstances.literals.clone(),
            constants: constants.map_err(malformed)?,
            knows_unset: self.state.pins.is_empty(),
            temporary: self.state.temporary.clone(),
            in_transaction: self.state.in_transaction(),
            mariadb: self.identity.mariadb,
            home: self.home(),
            running: self.running.clone(),
        })
    }

    /// A text that can't be read, in the words of the kind of server that the session's is.
    pub(in crate::session) fn syntax_error(&self, error: &SyntaxError) -> Failure {
        syntax_error(error, self.identity.mariadb)
    }

    /// A shard that has all tables of a statement, as far as they are of sharded databases: this one, if it has them. `None` if it names none of them.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn shard_with_tables(
        &self,
        catalog: &Catalog,
        asked: &Statement<'_>,
        wanted: Option<ShardId>,
    ) -> Result<Option<ShardId>, Failure> {
        let Ok(parsed) = asked.parsed() else { return Ok(None) };
        let context = Context {
            database: self.state.profile.database.as_deref(),
            dialect: self.state.lex.dialect,
            fold_case: catalog.fold_case,
            columns: &(),
        };
        let mut common: Option<Vec<ShardId>> = None;
        let mut single: Option<(ShardId, String)> = None;
        for statement in parsed.statements {
            // Servers look at their tables when they run.
            let later = matches!(
                statement.kind,
                StatementKind::TableUpkeep(_)
                    | StatementKind::DropTables(_)
                    | StatementKind::RenameTables(_)
                    | StatementKind::AlterTable(_)
            );
            for (_, table) in resolve(statement, &context).tables() {
                let Some((name, database)) = table.database.and_then(|name| catalog.database(name)) else { continue };
                let known = catalog.table(name.as_bytes(), table.name);
                let has = match std::str::from_utf8(table.name) {
                    Ok(view) if known.is_none() => views::shards(catalog, name, view),
                    _ => Vec::new(),
                };
                let has = if has.is_empty() { &database.shards } else { &has };
                match known.map(|(_, table)| &table.placement) {
                    Some(Placement::Single(shard)) => match &single {
                        None => single = Some((*shard, String::from_utf8_lossy(table.name).into_owned())),
                        Some((other, before)) if other != shard && !later => {
                            let (one, two) = (catalog.shard_name(*other), catalog.shard_name(*shard));
                            return Err(not_supported(format!(
                                "A statement is prepared on one shard, and none has all of its SINGLE tables: '{before}' is on '{one}', '{}' \
                                 on '{two}'. Send it as text",
                                String::from_utf8_lossy(table.name)
                            )));
                        }
                        Some(_) => {}
                    },
                    // A view may be on some shards only.
                    _ => match &mut common {
                        None => common = Some(has.clone()),
                        Some(common) if has.iter().any(|shard| common.contains(shard)) => {
                            common.retain(|shard| has.contains(shard));
                        }
                        Some(_) => {}
                    },
                }
            }
        }
        let found = common.and_then(|has| wanted.filter(|wanted| has.contains(wanted)).or(has.first().copied()));
        Ok(single.map(|(shard, _)| shard).or(found))
    }

    /// A statement's text with the values of its parameters as literals, for shards that get it as a text.
    ///
    /// # Errors
    /// 1235 for values that have come in pieces.
    pub(in crate::session) fn text_with_values(&self, asked: &Statement<'_>) -> Result<Option<Vec<u8>>, Failure> {
        let parsed = asked.parsed().map_err(|error| self.syntax_error(error))?;
        let [statement] = parsed.statements else { return Ok(None) };
        if parsed.parameters == 0 {
            return Ok(None);
        }
        let literals = Literals::of(&self.state.profile, &self.identity);
        let values = self.constants(&literals, asked).map_err(malformed)?.ok_or_else(|| {
            not_supported(
                "Values sent in pieces (COM_STMT_SEND_LONG_DATA) to such a statement: send them with its execution",
            )
        })?;
        Ok(Some(with_values(statement, asked.text, &values, self.state.lex)))
    }

    /// The values of an execution's parameters.
    fn constants(&self, literals: &Literals, asked: &Statement<'_>) -> Result<Option<Vec<Constant>>, Malformed> {
        if let Some(values) = asked.values() {
            return Ok(Some(values.constants.clone()));
        }
        let Some(execution) = asked.execution().filter(|execution| !execution.long_data) else { return Ok(None) };
        let values = self.parameters(execution);
        values.map(|value| literals.constant(&value?)).collect::<Result<_, _>>().map(Some)
    }
}

/// What a plan depends on of a session, without the session.
struct OwnFacts {
    database: Option<Box<[u8]>>,
    mode: LexMode,
    sql_mode: String,
    literals: Literals,
    constants: Option<Vec<Constant>>,
    /// User variables that aren't known are NULL.
    knows_unset: bool,
    temporary: TemporaryNames,
    in_transaction: bool,
    mariadb: bool,
    home: ShardId,
    running: Vec<Running>,
}

impl OwnFacts {
    /// Plans a text that was parsed. `alone`: makes the plan of a text of one statement, if it wants to.
    fn plan(
        &self,
        text: &[u8],
        parsed: &Parsed<'_>,
        catalog: &Catalog,
        weights: &Weights,
        profile: &Profile,
        alone: impl FnOnce(&ast::Statement<'_>, &SessionFacts<'_>) -> Option<Result<Plan, Refusal>>,
    ) -> Result<Result<Plan, Refusal>, Failure> {
        let literals = &self.literals;
        let default_collation = |charset: &str| literals.default_of(charset);
        let variable = |name: &[u8]| {
            let name = std::str::from_utf8(name).ok()?;
            match profile.user_variable(&name.to_lowercase()) {
                Some(literal) => variable(literal),
                // Nobody has set it.
                None => self.knows_unset.then_some(Constant::Null),
            }
        };
        let facts = SessionFacts {
            database: self.database.as_deref(),
            mode: self.mode,
            sql_mode: &self.sql_mode,
            charset: &literals.charset,
            collation: &literals.collation,
            default_collation: &default_collation,
            parameters: self.constants.as_deref(),
            variable: &variable,
            temporary: &self.temporary,
            for_write: false,
            in_transaction: self.in_transaction,
            mariadb: self.mariadb,
            home: self.home,
            hinted: hinted(text, self.mode, catalog)?,
            running: &self.running,
        };
        let effort = Effort::of(text);
        let plan = |statement| weir_plan::plan_within(text, statement, catalog, weights, &facts, &effort);
        Ok(match parsed.statements {
            [] => Ok(Plan::Home),
            [statement] => alone(statement, &facts).unwrap_or_else(|| plan(statement)),
            [first, others @ ..] => plan(first).and_then(|first| others.iter().map(plan).try_fold(first, one_place)),
        })
    }
}

/// The shard that a text names by a hint. A comment at its beginning is one if there is a shard of that name.
fn hinted(text: &[u8], mode: LexMode, catalog: &Catalog) -> Result<Option<ShardId>, Failure> {
    let Some(hint) = weir_sql::shard_hint(text, mode) else { return Ok(None) };
    if hint.malformed {
        let shards = catalog.shards.join(", ");
        let message =
            format!("A hint names its shard in parentheses, /*+ WEIR_SHARD(name) */: the shards are {shards}");
        return Err(Failure::client(codes::ER_UNKNOWN_ERROR, message));
    }
    let name = String::from_utf8_lossy(hint.name);
    match catalog.shard(&name) {
        None if hint.blank.is_some() => {
            let message = format!("There is no shard '{name}': the shards are {}", catalog.shards.join(", "));
            Err(Failure::client(codes::ER_UNKNOWN_ERROR, message))
        }
        shard => Ok(shard),
    }
}

/// Several statements of one text: they have to run in one place.
fn one_place(first: Plan, next: Result<Plan, Refusal>) -> Result<Plan, Refusal> {
    match (first, next?) {
        (Plan::Home, Plan::Home) => Ok(Plan::Home),
        (Plan::Route(first), Plan::Route(next)) if first.shard == next.shard && next.text.is_none() => {
            Ok(Plan::Route(first))
        }
        _ => {
            let message =
                "The statements of this text are not all for one shard: send each in a text of its own".to_owned();
            Err(Refusal::NotSupported { need: Need::OtherForm, message })
        }
    }
}
