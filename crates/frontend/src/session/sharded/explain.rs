//! `WEIR EXPLAIN statement`: how a statement would run.
//!
//! What must hold: where a row is gets to know only who has a right on its table, which the servers say; what is in a view or a procedure,
//! who may see its definition.

use weir_catalog::{Catalog, ShardId};
use weir_plan::write::literal::quoted_name;
use weir_plan::{Plan, explain};
use weir_sql::ast::{self, StatementKind};
use weir_sql::facts::facts;
use weir_sql::hot_row::{CounterMove, HotText};
use weir_sql::resolve::Context;
use weir_sql::{Bump, Class, Effects, LexMode, TextKind, classify, parse};
use weir_wire::Failure;
use weir_wire::error::{codes, not_supported};
use weir_wire::resultset::{Column, ResultSet};

use super::super::Session;
use super::super::statement::{Form, Statement};
use super::super::stopped::Stopped;
use super::planning::Planned;
use super::questions::{Question, of_body};
use super::views::view_of;
use crate::backends::HOME;

impl Session {
    /// The statement that a `WEIR …` text wants to be explained, if it does.
    pub(in super::super) fn to_explain<'t>(&self, statement: &'t str) -> Option<&'t str> {
        let statement = statement.trim_start();
        let (word, rest) = statement.split_at_checked("EXPLAIN".len())?;
        (word.eq_ignore_ascii_case("EXPLAIN") && rest.starts_with(char::is_whitespace)).then(|| rest.trim_start())
    }

    /// Answers with the plan of a statement.
    pub(in super::super) async fn explain(&mut self, statement: &str) -> Result<(), Stopped> {
        let class = classify(statement.as_bytes(), self.state.lex);
        if class.kind == TextKind::Batch {
            return Err(
                not_supported("WEIR EXPLAIN of BATCH: BATCH … DRY RUN shows its first and its last part").into()
            );
        }
        let hot_row = self.explain_hot_row(statement.as_bytes(), &class);
        let Some(sharding) = self.sharding() else {
            let Some(hot_row) = hot_row else {
                let message = "There is one shard, or the session has chosen one (weir_shard): every statement runs there as it is";
                return Err(Failure::client(codes::ER_NOT_SUPPORTED_YET, message).into());
            };
            let shard = self.chosen_shard.unwrap_or(HOME);
            self.answer_explain(&[("Shard".to_owned(), self.name_of_shard(shard)), hot_row]);
            return Ok(());
        };
        let arena = Bump::new();
        let asked = &Statement::new(&arena, statement.as_bytes(), &class, self.state.lex, Form::Resolved);
        self.may_know_of_tables(asked, &sharding.catalog_now()).await?;
        let planned = match self.plan_with_temporary(&sharding, asked).await? {
            Some(plan) => {
                let catalog = self.temporary_catalog.take().unwrap_or_else(|| sharding.catalog_now());
                Planned { plan, catalog }
            }
            None => self.plan(&sharding, asked).await?,
        };
        let mut rows = explain::rows(&planned.plan, &planned.catalog);
        rows.extend(hot_row.filter(|_| matches!(planned.plan, Plan::Home | Plan::Route(_))));
        self.answer_explain(&rows);
        Ok(())
    }

    fn answer_explain(&mut self, rows: &[(String, String)]) {
        let cell = |text: &str| Some(text.as_bytes().to_vec());
        let result = ResultSet {
            columns: vec![Column::text("Item"), Column::text("Value")],
            rows: rows.iter().map(|(item, value)| vec![cell(item), cell(value)]).collect(),
        };
        self.result_here(&result);
    }

    /// What becomes of a change of rows when many clients change the same one.
    fn explain_hot_row(&self, text: &[u8], class: &Class) -> Option<(String, String)> {
        let changes = class.effects.contains(Effects::WRITES) && !class.effects.contains(Effects::IMPLICIT_COMMIT);
        let value = || {
            if !self.shared.hot_rows.settings.load().enabled {
                return "not batched: hot_rows.enabled is false".to_owned();
            }
            match HotText::of(text, self.state.lex, class) {
                Ok(hot) => {
                    let batched = "batched with statements of other clients for the same row, while the row is hot";
                    let merges = self.merges(&hot) && CounterMove::of(hot.statement(text), self.state.lex).is_some();
                    let merged = ", and merged with them into one change where the table's definition and the row's value allow it";
                    if merges { [batched, merged].concat() } else { batched.to_owned() }
                }
                Err(unfit) => format!("not batched: {}", unfit.reason()),
            }
        };
        changes.then(|| ("Hot row".to_owned(), value()))
    }

    /// Asks all shards about the tables that a statement names: SHOW COLUMNS needs any right on the table. What views and procedures have in
    /// them is for those who may see that.
    async fn may_know_of_tables(&mut self, asked: &Statement<'_>, catalog: &Catalog) -> Result<(), Stopped> {
        let questions = self.questions_about_tables(asked, catalog);
        if !questions.is_empty() {
            for shard in 0..self.shared.shards.len() {
                // In the session's profile: a pooled connection may have other roles.
                let mut part = self.lease_shard(shard).await?;
                for question in &questions {
                    match part.lease.query(question).await {
                        Err(failure) if failure.code == codes::CR_SERVER_LOST || is_denied(failure.code) => {
                            return Err(failure.into());
                        }
                        // A table of another shard.
                        Err(_) | Ok(_) => {}
                    }
                }
            }
        }
        for (shard, question) in self.questions_about_procedures(asked, catalog) {
            if let Some(failure) = self.told_by(shard, &[question]).await? {
                return Err(failure.into());
            }
        }
        Ok(())
    }

    fn questions_about_tables(&self, asked: &Statement<'_>, catalog: &Catalog) -> Vec<Vec<u8>> {
        // The planner refuses what can't be read.
        let Ok(parsed) = asked.parsed() else { return Vec::new() };
        let context = self.context_of_names(catalog);
        let mut questions = Questions { catalog, asked: Vec::new() };
        for statement in parsed.statements {
            questions.about(statement, asked.text, self.state.lex, &context);
        }
        questions.asked
    }

    /// The procedures of sharded databases that are called, and a shard that has them.
    fn questions_about_procedures(&self, asked: &Statement<'_>, catalog: &Catalog) -> Vec<(ShardId, Question)> {
        let Ok(parsed) = asked.parsed() else { return Vec::new() };
        let default = self.state.profile.database.as_deref();
        let question = |statement: &ast::Statement<'_>| {
            let StatementKind::Call(call) = statement.kind else { return None };
            let database = call.name.database.map_or(default, |database| Some(database.name))?;
            let shard = catalog.database(database)?.1.shards.first().copied()?;
            Some((shard, of_body(database, call.name.name.name)))
        };
        parsed.statements.iter().filter_map(question).collect()
    }

    fn context_of_names(&self, catalog: &Catalog) -> Context<'_> {
        let database = self.state.profile.database.as_deref();
        Context { database, dialect: self.state.lex.dialect, fold_case: catalog.fold_case, columns: &() }
    }
}

/// What is asked about the names of a statement.
struct Questions<'c> {
    catalog: &'c Catalog,
    asked: Vec<Vec<u8>>,
}

impl Questions<'_> {
    /// Asks about the tables that a statement names, and those of the views among them.
    fn about(&mut self, statement: &ast::Statement<'_>, text: &[u8], mode: LexMode, context: &Context<'_>) {
        let facts = facts(statement, text, mode, context);
        for (_, table) in facts.names.tables() {
            let Some(database) = table.database else { continue };
            let name = [&quoted_name(database)[..], b".", &quoted_name(table.name)].concat();
            let view = view_of(self.catalog, database, table.name);
            let question = match view {
                Some(_) => [b"SHOW CREATE VIEW ", &name[..]].concat(),
                None => [b"SHOW COLUMNS FROM ", &name[..], b" LIKE ''"].concat(),
            };
            if self.asked.contains(&question) {
                continue;
            }
            self.asked.push(question);
            let Some(view) = view else { continue };
            let (arena, plain) = (Bump::new(), LexMode { dialect: mode.dialect, ..LexMode::default() });
            if let Ok(parsed) = parse(&arena, view.query.as_bytes(), plain) {
                for statement in parsed.statements {
                    self.about(statement, view.query.as_bytes(), plain, context);
                }
            }
        }
    }
}

/// Access to a database, a table, a column denied.
fn is_denied(code: u16) -> bool {
    matches!(
        code,
        codes::ER_DBACCESS_DENIED_ERROR | codes::ER_TABLEACCESS_DENIED_ERROR | codes::ER_COLUMNACCESS_DENIED_ERROR
    )
}
