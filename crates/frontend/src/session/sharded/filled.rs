//! CREATE TABLE … SELECT of rows of several shards: a server tells the definition, the table is made, and filled by INSERT … SELECT.
//!
//! What must always hold: a table that could not be filled is dropped again. It is no transaction: a Weir that dies between the steps leaves
//! a table without rows.

use std::sync::Arc;

use weir_ddl::define;
use weir_ddl::define::filled::{Filled, Told, apart};
use weir_exec::MultiShardResult;
use weir_shards::Sharding;
use weir_sql::hot_row::TransactionHints;
use weir_sql::{Bump, Effects, Pins, classify};
use weir_wire::error::not_supported;
use weir_wire::{Failure, StatusFlags};

use super::super::Session;
use super::super::statement::{Execution, Form, Statement};
use super::super::stopped::Stopped;
use crate::backends::places;

impl Session {
    /// A definition that could not be had as it is: if it is of a table with rows of several shards, in steps. `refusal`: of it as a whole.
    pub(super) async fn define_filled(
        &mut self,
        sharding: &Arc<Sharding>,
        asked: &Statement<'_>,
        wanted: &define::Asked<'_>,
        refusal: Failure,
    ) -> Result<(), Stopped> {
        let Some(filled) = apart(wanted, &sharding.catalog())? else { return Err(refusal.into()) };
        self.may_be_filled(asked, false)?;
        self.commit_for_definition().await?;
        let told = self.ask_definition(&filled).await?;
        self.define_text(sharding, &told.create).await?;
        let filling = self.fill_and_commit(&told.insert).await;
        let failed = filling.is_err() || self.state.latest.row_count < 0;
        if failed {
            let latest = self.state.latest.clone();
            let dropped = self.define_text(sharding, format!("DROP TABLE {}", filled.table).as_bytes()).await;
            if let Err(stopped) = dropped {
                let why = stopped.failure().map(|failure| failure.message);
                tracing::warn!(table = %filled.table, ?why, "a table that could not be filled is left without rows");
            }
            self.state.latest = latest;
        }
        filling
    }

    /// What the steps, which run on other connections, could not have.
    pub(super) fn may_be_filled(&self, asked: &Statement<'_>, temporary: bool) -> Result<(), Failure> {
        let class = asked.class;
        let variables = Effects::USES_USER_VARIABLES | Effects::SETS_USER_VARIABLES | Effects::USES_LAST_INSERT_ID;
        let why = if !matches!(asked.form, Form::Text(_) | Form::Prepared(Execution { params: 0, .. })) {
            "with parameters"
        } else if class.effects.intersects(variables) {
            "with values of the session"
        } else if temporary {
            return Ok(());
        } else if self.state.pins.contains(Pins::TEMPORARY_TABLE) {
            "in a session with temporary tables"
        } else {
            return Ok(());
        };
        Err(not_supported(format!(
            "CREATE TABLE … SELECT of rows of several shards {why}: make the table first, and fill it with INSERT … SELECT"
        )))
    }

    pub(super) async fn ask_definition(&mut self, filled: &Filled) -> Result<Told, Stopped> {
        let mut leased = self.leases_outside(&places(&[filled.shard])).await?;
        let told = match &mut leased.parts[..] {
            [part] => filled.ask(part).await,
            _ => Err(not_supported("CREATE TABLE … SELECT: no shard has all tables of the query")),
        };
        self.end_leases(leased, told.as_ref().err().cloned()).await?;
        Ok(told?)
    }

    /// Runs a definition that Weir has written.
    pub(super) async fn define_text(
        &mut self,
        sharding: &Arc<Sharding>,
        text: &[u8],
    ) -> Result<MultiShardResult, Stopped> {
        let (arena, class) = (Bump::new(), classify(text, self.state.lex));
        let made = Statement::new(&arena, text, &class, self.state.lex, Form::Resolved);
        let statement = self.only_statement(&made)?;
        let surroundings = self.surroundings();
        let wanted = surroundings.asked(text, statement);
        let intent = define::intend(&wanted, &sharding.catalog())?;
        let gone = || not_supported("CREATE TABLE … SELECT: the database has changed meanwhile: try again");
        let intent = intent.ok_or_else(gone)?;
        let outcome = Box::pin(self.define_as_intended(sharding, &made, &wanted, intent)).await?;
        Ok(outcome.ok_or_else(gone)?)
    }

    /// Fills a table as a transaction of its own, also with `autocommit = 0`: servers commit behind CREATE TABLE … SELECT.
    async fn fill_and_commit(&mut self, text: &[u8]) -> Result<(), Stopped> {
        if self.state.status.contains(StatusFlags::AUTOCOMMIT) {
            return self.fill(text).await;
        }
        let (arena, class) = (Bump::new(), classify(text, self.state.lex));
        let insert = Statement::new(&arena, text, &class, self.state.lex, Form::Resolved);
        let ends = TransactionHints { commit_on_success: true, rollback_on_fail: true, target_affect_row: None };
        Box::pin(self.run_hinted(&insert, ends)).await
    }

    /// Runs a statement that Weir has written, and answers the client.
    pub(super) async fn fill(&mut self, text: &[u8]) -> Result<(), Stopped> {
        let (arena, class) = (Bump::new(), classify(text, self.state.lex));
        let insert = Statement::new(&arena, text, &class, self.state.lex, Form::Resolved);
        Box::pin(self.run_statement(&insert)).await
    }
}
