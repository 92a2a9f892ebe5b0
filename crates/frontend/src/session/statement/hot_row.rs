//! Statements that change a row which many clients change: they ride in batches ([`weir_exec::hot_rows`]).
//!
//! What must always hold: a statement rides only if it would do the same on any connection with its session's settings, and what comes
//! back is what a connection of its own would have sent. A statement that has left its queue has done nothing, and runs by itself.

mod merge;
mod reply;

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::OwnedSemaphorePermit;
use weir_backend::Profile;
use weir_catalog::Table;
use weir_exec::hot_rows::member::{Execution as Executed, Member, Order, Said, Verdict};
use weir_exec::hot_rows::queue::{About, Joined, Queue, Queues, RowKey};
use weir_exec::hot_rows::runner::Runner;
use weir_exec::hot_rows::table::{TableKey, askable};
use weir_plan::Plan;
use weir_sql::Effects;
use weir_sql::hot_row::{Framing, HotText, mixed};
use weir_wire::error::codes;
use weir_wire::params::Parameter;
use weir_wire::{Capabilities, Failure, Malformed, StatusFlags};

use super::super::Session;
use super::super::latest::Left;
use super::super::release::only_number;
use super::super::stopped::Stopped;
use super::{Execution, Form, Statement, Text};
use crate::backends::ServerId;

/// The most members that wait for one row: as many as there are clients, in practice.
const MOST_WAITING: usize = 65_536;
/// Bytes of a statement's shape, and of its row's values, that are shown.
const SHOWN: usize = 256;
/// Larger statements run by themselves.
const MOST_BYTES: usize = 16 * 1024;

/// The statement of a text or of an execution, if it may ride in a batch.
fn hot_text<'a>(statement: &Statement<'a>) -> Option<&'a HotText> {
    match &statement.form {
        Form::Text(Text { hot, .. }) => *hot,
        Form::Prepared(Execution { hot, .. }) => hot.map(|(hot, _)| hot),
        Form::SqlPrepared(_) | Form::Resolved => None,
    }
}

impl Session {
    /// A hash of the row that a statement changes, if it may ride in a batch: nobody looks at others, nor where hot rows are switched off.
    pub(super) fn hot_row(&self, statement: &Statement<'_>) -> Option<u64> {
        hot_text(statement).filter(|_| self.shared.hot_rows.settings.load().enabled)?;
        let row = match &statement.form {
            Form::Text(Text { hot: Some(hot), .. }) => hot.row(statement.text, statement.mode)?,
            Form::Prepared(execution) => {
                let (hot, row) = execution.hot?;
                self.with_parameters(row, hot, execution).ok()?
            }
            _ => return None,
        };
        Some(mixed(row, self.state.profile.database.as_deref().unwrap_or_default()))
    }

    /// The hash with the values of those parameters that name the row, and with the types of all.
    fn with_parameters(&self, row: u64, hot: &HotText, execution: &Execution<'_>) -> Result<u64, Malformed> {
        let mut row = execution.types.map_or(row, |types| mixed(row, types));
        for (at, value) in (0_u32..).zip(self.parameters(execution)) {
            let value = value?;
            if hot.parameters().contains(&at) {
                row = with_value(row, &value);
            }
        }
        Ok(row)
    }

    /// Whether a statement that may ride in a batch changes a row that is hot.
    pub(super) fn changes_hot_row(&self, statement: &Statement<'_>) -> bool {
        self.hot_row(statement).is_some_and(|row| self.is_hot(row))
    }

    pub(super) fn is_hot(&self, row: u64) -> bool {
        let rows = &self.shared.hot_rows;
        rows.heat.is_hot(row, rows.settings.load().threshold)
    }

    /// Lets a statement of a hot row ride in a batch. False: it has done nothing, and is to run by itself. `must_affect`: so many rows, or
    /// it is to have done nothing.
    pub(super) async fn run_in_batch(
        &mut self,
        statement: &Statement<'_>,
        must_affect: Option<u64>,
    ) -> Result<bool, Stopped> {
        let Some(hot) = hot_text(statement).filter(|hot| self.may_ride_in_batch(statement, hot)) else {
            return Ok(false);
        };
        let Some(member) = self.member(statement, hot, must_affect).await else { return Ok(false) };
        if !self.aim_batch(statement, hot).await? {
            self.target_writer();
            return Ok(false);
        }
        if !self.join_batch(statement, hot, &member) {
            self.target_writer();
            return Ok(false);
        }
        self.handle.set_state("Waiting for its batch");
        let verdict = self.end_of_batch(&member).await;
        self.handle.set_state("");
        match verdict? {
            // As on a direct connection the text's transaction would be open, where there is one.
            Verdict::Done(done) if hot.framing == Framing::Commit && matches!(done.said, Said::Error { .. }) => {
                self.target_writer();
                Ok(false)
            }
            Verdict::Done(done) => {
                self.take_batch_reply(statement, hot, &member, *done)?;
                Ok(true)
            }
            Verdict::Alone => {
                self.target_writer();
                Ok(false)
            }
            Verdict::Failed(failure) => Err(Stopped::Refused(failure)),
            Verdict::Unknown(failure) => {
                self.seen.of_mut(self.target.shard).saw_writer(Instant::now());
                Err(Stopped::Refused(failure))
            }
        }
    }

    /// Waits until a transaction that is about to begin with a change of a hot row may go to the server: as long as it could wait for the
    /// lock there.
    pub(super) async fn admit_to_row(&mut self, row: u64) -> Result<OwnedSemaphorePermit, Stopped> {
        let rows = self.endpoint.hot_rows.clone();
        let gate = rows.gates.of(row, rows.settings.load().admission);
        if let Ok(permit) = gate.clone().try_acquire_owned() {
            return Ok(permit);
        }
        let bound = self.lock_wait().await?;
        self.handle.set_state("Waiting for a hot row");
        let mut admitted = std::pin::pin!(tokio::time::timeout(bound, gate.acquire_owned()));
        let permit = loop {
            // Cancel-safe: whoever does not wait any more gives up its place, `gone` keeps what was read, a bell keeps its ring.
            tokio::select! {
                biased;
                permit = &mut admitted => break permit,
                () = self.handle.bell.rung() => self.stops_waiting()?,
                error = self.client.gone() => return Err(Stopped::Ended(error.into())),
            }
        };
        self.handle.set_state("");
        permit.ok().and_then(Result::ok).ok_or_else(|| {
            let message = "Lock wait timeout exceeded; try restarting transaction";
            Failure::client(codes::ER_LOCK_WAIT_TIMEOUT, message).into()
        })
    }

    /// How long the session's statements wait for a lock.
    async fn lock_wait(&mut self) -> Result<Duration, Stopped> {
        let own = self.state.profile.variable("innodb_lock_wait_timeout").and_then(|seconds| seconds.parse().ok());
        let server = self.shared.at(self.target.place()).pool.server.settings.name.clone();
        let gates = &self.endpoint.hot_rows.clone().gates;
        if let Some(known) = own.map(Duration::from_secs).or_else(|| gates.lock_wait(&server)) {
            return Ok(known);
        }
        let mut lease = self.lend(self.target.place()).await??;
        lease.has_found_rows = false;
        let told = only_number(lease.ask("SELECT @@GLOBAL.innodb_lock_wait_timeout LIMIT 1").await?);
        let wait = Duration::from_secs(told.unwrap_or(50));
        gates.learn_lock_wait(&server, wait);
        Ok(wait)
    }

    /// Whether nothing of the session keeps its statement from running on another connection.
    fn may_ride_in_batch(&self, statement: &Statement<'_>, hot: &HotText) -> bool {
        let state = &self.state;
        let autocommit = state.status.contains(StatusFlags::AUTOCOMMIT);
        let framing = match hot.framing {
            Framing::Alone => autocommit,
            Framing::Commit => !autocommit && self.client_has(Capabilities::MULTI_STATEMENTS),
            Framing::Transaction => self.client_has(Capabilities::MULTI_STATEMENTS),
        };
        framing
            && !state.is_bound()
            && state.begin.is_none()
            && !state.collation_unknown
            && !self.transaction.is_multi_shard()
            && !self.deadline.is_set()
            && statement.hint.is_none()
            && !self.transaction.unsent()
            && !state.transactions_are_read_only()
            // How COMMIT ends, and how much is kept of warnings.
            && ["completion_type", "max_error_count", "sql_select_limit"].iter().all(|name| state.profile.variable(name).is_none())
            && statement.text.len() <= MOST_BYTES
            && statement.execution().is_none_or(|execution| execution.packet.len() <= MOST_BYTES)
    }

    /// The statement as a member of a batch. What an earlier one has left on a connection is learnt first.
    async fn member(
        &mut self,
        statement: &Statement<'_>,
        hot: &HotText,
        must_affect: Option<u64>,
    ) -> Option<Arc<Member>> {
        if self.current.lease.is_some() {
            self.give_way().await;
        }
        let Left::Known(insert_id) = self.state.latest.last_insert_id else { return None };
        let order = match &statement.form {
            Form::Prepared(Execution { key, types, params, packet, session, since, .. }) => {
                if *key.parsing != self.state.profile.parsing() {
                    return None;
                }
                Order::Execute(Executed {
                    text: key.text.clone(),
                    packet: packet.to_vec(),
                    capabilities: self.client.capabilities,
                    params: *params,
                    types: types.map(|types| types[..].into()),
                    session: *session,
                    since: *since,
                })
            }
            _ => Order::Text(hot.statement(statement.text).to_vec()),
        };
        let sets = hot.class.effects.contains(Effects::SETS_LAST_INSERT_ID);
        let counter = self.counter_step(statement, hot);
        Some(Member::new(order, insert_id, sets, counter, must_affect))
    }

    /// Finds the server of the statement alone. False: it is not one shard's writer that runs the statement as it is.
    async fn aim_batch(&mut self, statement: &Statement<'_>, hot: &HotText) -> Result<bool, Stopped> {
        if self.endpoint.sharding.is_some() {
            let form = match statement.form {
                Form::Text(text) => Form::Text(Text { command: None, hot: None, ..text }),
                form => form,
            };
            let alone =
                Statement::new(statement.arena, hot.statement(statement.text), &hot.class, statement.mode, form);
            let shard = match self.plan_statement(&alone).await {
                Ok(Plan::Home) => None,
                Ok(Plan::Route(route)) if route.text.is_none() && route.raise.is_none() => {
                    Some(usize::from(route.shard.0))
                }
                // Whoever runs it says what is wrong with it.
                _ => return Ok(false),
            };
            if let Some(shard) = shard {
                self.set_shard(shard);
            }
        }
        self.route(&hot.class, None).await?;
        let place = self.target.place();
        Ok(!self.target.on_reader && place.index == self.shared.shards[place.shard].writer())
    }

    /// Puts a member into the queue of its row.
    fn join_batch(&mut self, statement: &Statement<'_>, hot: &HotText, member: &Arc<Member>) -> bool {
        let (Some(row), Some(table)) = (self.hot_row(statement), self.table_of(hot)) else { return false };
        let rows = self.endpoint.hot_rows.clone();
        // A user without a right on triggers does not see them; the catalog does.
        let triggers = self.in_catalog(&table.database, &table.name, |table| table.triggers);
        if triggers || rows.tables.known(&table).is_some_and(|facts| !facts.batched) {
            return false;
        }
        let place = self.target.place();
        let profile = self.batch_profile();
        let key =
            RowKey { row, shard: place.shard, index: place.index, settings: profile.key(), pool: self.key.clone() };
        let about = || self.about(statement, hot, &table, place);
        let queue = || Queue::new(key.clone(), Profile::clone(&profile), about(), hot.inserts);
        match Queues::join(&rows, &key, &profile, member, MOST_WAITING, queue) {
            Joined::Refused => false,
            Joined::Queue => true,
            Joined::New(queue) => {
                let shared = self.shared.clone();
                let runner = Runner {
                    pool: self.shared.at(place).pool.clone(),
                    password: self.password.clone(),
                    is_writer: Box::new(move || shared.shards[place.shard].writer() == place.index),
                    merges: member.counter.is_some(),
                    table,
                    rows,
                    queue,
                };
                tokio::task::spawn_local(runner.run());
                true
            }
        }
    }

    /// Whether the catalog of sharded databases says so of a table.
    fn in_catalog(&self, database: &str, table: &str, says: impl Fn(&Table) -> bool) -> bool {
        let Some(sharding) = &self.endpoint.sharding else { return false };
        let catalog = sharding.catalog();
        catalog.table(database.as_bytes(), table.as_bytes()).is_some_and(|(_, table)| says(table))
    }

    fn table_of(&self, hot: &HotText) -> Option<TableKey> {
        let database = hot.table.database.as_deref().or(self.state.profile.database.as_deref())?;
        Some(TableKey {
            shard: self.target.shard,
            user: self.key.user[..].into(),
            database: askable(database)?,
            name: askable(&hot.table.name)?,
        })
    }

    /// What is shown of the row.
    fn about(&self, statement: &Statement<'_>, hot: &HotText, table: &TableKey, place: ServerId) -> About {
        let text = hot.statement(statement.text);
        About {
            table: (table.database.clone(), table.name.clone()),
            shape: weir_sql::digest_text(text, statement.mode, SHOWN),
            values: self.values_of_row(statement, hot),
            user: self.user.clone(),
            server: self.shared.at(place).pool.server.settings.name.clone(),
        }
    }

    /// The values by which a statement names its row.
    fn values_of_row(&self, statement: &Statement<'_>, hot: &HotText) -> String {
        let mut values: Vec<String> = hot.values(statement.text, statement.mode);
        if let Some(execution) = statement.execution() {
            let parameters = (0_u32..).zip(self.parameters(execution).flatten());
            let named = parameters.filter(|(at, _)| hot.parameters().contains(at));
            values.extend(named.map(|(_, value)| shown(&value)));
        }
        values.join(", ").chars().take(SHOWN).collect()
    }

    /// The settings of batches: the session's, without user variables, which no member reads, and with autocommit, so that what runs
    /// outside of a transaction does not begin another one.
    fn batch_profile(&mut self) -> Rc<Profile> {
        if let Some((from, profile)) = &self.batch_profile
            && Rc::ptr_eq(from, &self.state.profile)
        {
            return profile.clone();
        }
        let mut profile = self.state.profile.without_user_variables();
        if !self.state.status.contains(StatusFlags::AUTOCOMMIT) {
            profile = profile.with_variables([("autocommit", "ON")]);
        }
        let profile = Rc::new(profile);
        self.batch_profile = Some((self.state.profile.clone(), profile.clone()));
        profile
    }

    /// Waits until a member has ended. A kill and the client's end take it away as long as no batch has it.
    async fn end_of_batch(&mut self, member: &Arc<Member>) -> Result<Verdict, Stopped> {
        loop {
            // Cancel-safe: a member only tells how it ended, a bell keeps its ring, `gone` keeps what was read.
            tokio::select! {
                biased;
                verdict = std::future::poll_fn(|cx| member.poll_end(cx)) => return Ok(verdict),
                () = self.handle.bell.rung() => {
                    if let Err(stopped) = self.stops_waiting()
                        && member.leave()
                    {
                        return Err(stopped);
                    }
                }
                error = self.client.gone() => {
                    if member.leave() {
                        return Err(Stopped::Ended(error.into()));
                    }
                    // As on a direct connection, what was sent is done; nobody hears of it.
                    self.client.discard = true;
                }
            }
        }
    }
}

/// The hash with a parameter's value.
fn with_value(row: u64, value: &Parameter<'_>) -> u64 {
    match value {
        Parameter::Null => mixed(row, b"NULL"),
        Parameter::Signed(number) => mixed(row, &number.to_le_bytes()),
        Parameter::Unsigned(number) => mixed(row, &number.to_le_bytes()),
        Parameter::Text(bytes) | Parameter::Decimal(bytes) => mixed(row, bytes),
        other => mixed(row, format!("{other:?}").as_bytes()),
    }
}

/// A parameter's value, for people.
fn shown(value: &Parameter<'_>) -> String {
    match value {
        Parameter::Null => "NULL".to_owned(),
        Parameter::Signed(number) => number.to_string(),
        Parameter::Unsigned(number) => number.to_string(),
        Parameter::Text(text) | Parameter::Decimal(text) => String::from_utf8_lossy(text).into_owned(),
        other => format!("{other:?}"),
    }
}
