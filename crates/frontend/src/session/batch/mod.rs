//! BATCH: a large write, part by part, each in a transaction of its own.
//!
//! What must always hold: the parts take the way of the session's own statements, with its account and settings; a part and its record are
//! committed together or not at all. Whatever ends a batch early, its client is told what is done, and how it goes on.
//!
//! * `key`: the column along which a statement is split. `part`: running one part. `advice`: when a write should have been one.

mod advice;
mod key;
mod part;

use std::rc::Rc;

use weir_batches::{Course, NewBatch, Run};
use weir_plan::batch::{KeyColumn, Split, Splittable};
use weir_plan::write::literal::quoted_name;
use weir_sql::ast::{DryRun, StatementKind};
use weir_sql::{Bump, Pins};
use weir_wire::error::{codes, not_supported};
use weir_wire::resultset::{Column, ResultSet};
use weir_wire::{Failure, StatusFlags};

use super::Session;
use super::stopped::Stopped;

/// The session variable by which the time stands.
const CLOCK: &str = "timestamp";

/// The session variables that a batch has from its beginning to its end.
const SETTINGS: [&str; 10] = [
    "sql_mode",
    "character_set_client",
    "collation_connection",
    "time_zone",
    "lc_time_names",
    "default_week_format",
    "div_precision_increment",
    "foreign_key_checks",
    "unique_checks",
    "sql_safe_updates",
];

impl Session {
    /// Runs, or shows, a BATCH.
    pub(in crate::session) async fn run_batch(&mut self, text: &[u8]) -> Result<(), Stopped> {
        self.may_batch()?;
        let split = self.split_of(text).await?;
        match split.statement.dry_run {
            DryRun::Query => {
                self.answer_batch("query statement", vec![split.all_keys()]);
                Ok(())
            }
            DryRun::Parts => self.with_clock(&split, None, async |session, _| session.show_parts(&split).await).await,
            DryRun::No => {
                let settings = self.settings_of_batch().await?;
                self.with_clock(&split, None, async |session, clock| {
                    let Some(last) = session.last_key(&split).await? else {
                        session.answer_jobs(0);
                        return Ok(());
                    };
                    let table = &split.statement.table;
                    let database =
                        table.database.clone().or_else(|| Some(session.state.profile.database.as_deref()?.to_vec()));
                    let new = NewBatch {
                        user: session.user.clone(),
                        statement: text.to_vec(),
                        settings,
                        table: shown(&[&database.unwrap_or_default()[..], b".", &table.name].concat()),
                        column: shown(&split.column.name),
                        clock: clock.to_owned(),
                        last,
                    };
                    let run = session.endpoint.commands.batches()?.clone().begin(new).await?;
                    session.run_parts(&split, run).await
                })
                .await
            }
        }
    }

    /// The number of a batch that a `WEIR …` text wants to go on, if no session runs it any more.
    pub(in crate::session) fn to_resume(&self, statement: &str) -> Option<u64> {
        let words: Vec<&str> = statement.trim_end_matches(';').split_whitespace().collect();
        let [batch, resume, id] = &words[..] else { return None };
        let is = batch.eq_ignore_ascii_case("BATCH") && resume.eq_ignore_ascii_case("RESUME");
        let id = id.parse().ok().filter(|_| is)?;
        (!self.endpoint.commands.batches().is_ok_and(|batches| batches.is_running(id))).then_some(id)
    }

    /// Goes on with a batch of the session's user.
    pub(in crate::session) async fn resume_batch(&mut self, id: u64) -> Result<(), Stopped> {
        self.may_batch()?;
        let batches = self.endpoint.commands.batches()?.clone();
        let known = batches.shown(Some(&self.user)).await?.into_iter().find(|known| known.record.id == id);
        if let Some(known) = &known {
            self.has_settings(&known.record.batch.settings).await?;
        }
        let run = batches.take_up(id, &self.user).await?;
        let text = run.record.batch.statement.clone();
        let read = self.shared.read(&text, self.state.lex);
        self.admit_batch(&read).await?;
        let split = self.split_of(&text).await?;
        if shown(&split.column.name) != run.record.batch.column {
            let message =
                format!("Batch {id} was split along another column, {}: begin a new one", run.record.batch.column);
            return Err(Failure::client(codes::ER_UNKNOWN_ERROR, message).into());
        }
        let clock = run.record.batch.clock.clone();
        self.with_clock(&split, Some(clock), async |session, _| session.run_parts(&split, run).await).await
    }

    /// What a batch can't run in.
    fn may_batch(&self) -> Result<(), Failure> {
        let temporary = self.state.pins.contains(Pins::TEMPORARY_TABLE) || !self.state.temporary.is_empty();
        let why = if self.state.in_transaction() || self.transaction.is_multi_shard() {
            "within a transaction: its parts are transactions of their own"
        } else if !self.state.status.contains(StatusFlags::AUTOCOMMIT) {
            "with autocommit = 0: its parts are transactions of their own"
        } else if self.has_table_locks() {
            "under LOCK TABLES"
        } else if self.chosen_shard.is_some() {
            "with weir_shard set: it runs on all shards of its tables"
        } else if temporary {
            "in a session with temporary tables, which another session that resumes it would not have"
        } else {
            return Ok(());
        };
        Err(not_supported(format!("BATCH {why}")))
    }

    /// What the effect of a statement may depend on, a line each.
    async fn settings_of_batch(&mut self) -> Result<String, Stopped> {
        let variables = SETTINGS.map(|name| format!("@@SESSION.{name}")).join(", ");
        let row = self.run_apart(format!("SELECT {variables} LIMIT 1").as_bytes()).await?.rows.into_iter().next();
        let cells = row.unwrap_or_default().into_iter().map(|cell| shown(&cell.unwrap_or_default()));
        let database = shown(self.state.profile.database.as_deref().unwrap_or_default());
        let lines = SETTINGS.iter().zip(cells).map(|(name, value)| format!("{name} = '{value}'"));
        Ok(std::iter::once(format!("the database '{database}'")).chain(lines).collect::<Vec<_>>().join("\n"))
    }

    /// Whether the session has the settings that a batch began with.
    async fn has_settings(&mut self, wanted: &str) -> Result<(), Stopped> {
        let own = self.settings_of_batch().await?;
        let Some((_, wanted)) = own.lines().zip(wanted.lines()).find(|(own, wanted)| own != wanted) else {
            return Ok(());
        };
        let message =
            format!("The batch began with {wanted}, which this session has not: SET it so, and resume the batch again");
        Err(Failure::client(codes::ER_WRONG_ARGUMENTS, message).into())
    }

    /// The parts of a text.
    async fn split_of(&mut self, text: &[u8]) -> Result<Split, Stopped> {
        // A comment before it is a hint if it names a shard.
        let named = weir_sql::shard_hint(text, self.state.lex).map(|hint| String::from_utf8_lossy(hint.name));
        if named.zip(self.sharding()).is_some_and(|(name, sharding)| sharding.catalog().shard(&name).is_some()) {
            return Err(
                not_supported("BATCH with a hint that names a shard: it runs on all shards of its tables").into()
            );
        }
        let statement = {
            let arena = Bump::new();
            let parsed = weir_sql::parse(&arena, text, self.state.lex);
            let database = self.state.profile.database.as_deref().unwrap_or_default();
            match &parsed {
                Ok(parsed) => match parsed.statements {
                    [only] => match only.kind {
                        StatementKind::Batch(batch) => {
                            Splittable::of(batch, text, self.state.lex, database, parsed.conditional)
                        }
                        _ => Err(unreadable()),
                    },
                    _ => Err(unreadable()),
                },
                Err(_) => Err(unreadable()),
            }?
        };
        let column: KeyColumn = self.key_column(&statement).await?;
        Ok(statement.along(column)?)
    }

    /// The last key of all; none if there is nothing to do.
    async fn last_key(&mut self, split: &Split) -> Result<Option<String>, Stopped> {
        if split.is_empty() {
            return Ok(None);
        }
        if let Some(query) = split.last_of_limit()
            && let Some(key) = self.key(&query).await?
        {
            return Ok(Some(key));
        }
        self.key(&split.last()).await
    }

    /// The key that a query finds: a number.
    async fn key(&mut self, query: &[u8]) -> Result<Option<String>, Stopped> {
        let rows = self.run_apart(query).await?.rows;
        let Some(Some(key)) = rows.into_iter().next().and_then(|row| row.into_iter().next()) else { return Ok(None) };
        let key = String::from_utf8_lossy(&key).into_owned();
        match key.parse::<i128>() {
            Ok(_) => Ok(Some(key)),
            Err(_) => Err(not_supported("BATCH along a column whose values are no whole numbers").into()),
        }
    }

    /// Runs something for which the time stands, if the statement asks for it.
    async fn with_clock(
        &mut self,
        split: &Split,
        clock: Option<String>,
        run: impl AsyncFnOnce(&mut Session, &str) -> Result<(), Stopped>,
    ) -> Result<(), Stopped> {
        let own = self.state.profile.variable(CLOCK).map(str::to_owned);
        if !split.statement.asks_time {
            return run(self, "").await;
        }
        let clock = match clock.or_else(|| own.clone()) {
            Some(clock) => clock,
            None => {
                let reply = self.run_apart(b"SELECT UNIX_TIMESTAMP(NOW(6)) LIMIT 1").await?;
                let cell = reply.rows.into_iter().flatten().flatten().next().unwrap_or_default();
                String::from_utf8_lossy(&cell).into_owned()
            }
        };
        self.state.profile = Rc::new(self.state.profile.with_variables([(CLOCK, clock.as_str())]));
        let ran = run(self, &clock).await;
        self.state.profile = Rc::new(match own {
            Some(own) => self.state.profile.with_variables([(CLOCK, own.as_str())]),
            None => self.state.profile.without_variable(CLOCK),
        });
        ran
    }

    /// The first and the last part.
    async fn show_parts(&mut self, split: &Split) -> Result<(), Stopped> {
        let mut shown = Vec::new();
        if let Some(last) = self.last_key(split).await? {
            let mut after: Option<String> = None;
            while after.as_ref() != Some(&last) {
                self.stops_waiting()?;
                let edge = self.edge(split, after.as_deref(), &last).await?;
                shown.truncate(1);
                shown.push(split.part(after.as_deref().map(str::as_bytes), edge.as_bytes()));
                after = Some(edge);
            }
        }
        self.answer_batch("split statement examples", shown);
        Ok(())
    }

    /// The last key of the part behind `after`.
    async fn edge(&mut self, split: &Split, after: Option<&str>, last: &str) -> Result<String, Stopped> {
        let query = split.edge(after.map(str::as_bytes), last.as_bytes());
        Ok(self.key(&query).await?.unwrap_or_else(|| last.to_owned()))
    }

    /// Runs the parts that are left, and answers.
    async fn run_parts(&mut self, split: &Split, mut run: Run) -> Result<(), Stopped> {
        match self.parts_left(split, &mut run).await {
            Ok(()) => {
                let jobs = run.record.parts;
                run.end(None).await;
                self.answer_jobs(jobs);
                Ok(())
            }
            // Whoever resumes it finds it interrupted.
            Err(Stopped::Ended(end)) => Err(Stopped::Ended(end)),
            Err(stopped) => {
                let failure = stopped.failure().unwrap_or_else(|| self.behind());
                let told = told(split, &run, &failure);
                run.end(Some(&failure.message)).await;
                Err(told.into())
            }
        }
    }

    async fn parts_left(&mut self, split: &Split, run: &mut Run) -> Result<(), Stopped> {
        let last = run.record.batch.last.clone();
        while run.record.done.as_ref() != Some(&last) {
            self.between_parts(run).await?;
            let after = run.record.done.clone();
            let edge = self.edge(split, after.as_deref(), &last).await?;
            let part = split.part(after.as_deref().map(str::as_bytes), edge.as_bytes());
            let changed = self.run_part(run, &part, &edge).await?;
            run.note_done(edge, changed);
        }
        Ok(())
    }

    /// Waits for what a part may have to wait for.
    async fn between_parts(&mut self, run: &Run) -> Result<(), Stopped> {
        const LOOK: std::time::Duration = std::time::Duration::from_millis(200);
        loop {
            self.stops_waiting()?;
            let waits = run.waits_for_replicas();
            let (state, pause) = match run.course() {
                Course::Cancelled => return Err(cancelled().into()),
                Course::Paused => ("Batch is paused", LOOK),
                Course::Runs if waits => ("Batch waits for replicas", LOOK),
                Course::Runs => ("", std::time::Duration::ZERO),
            };
            self.handle.set_state(state);
            // Cancel-safe: `gone` keeps what was read, a bell keeps its ring.
            tokio::select! {
                biased;
                () = self.handle.bell.rung() => {}
                error = self.client.gone() => return Err(Stopped::Ended(error.into())),
                () = tokio::time::sleep(pause) => {
                    if pause.is_zero() {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// TiDB's answer.
    fn answer_jobs(&mut self, jobs: u64) {
        self.ran.error = None;
        let result = ResultSet {
            columns: vec![Column::integer("number of jobs"), Column::text("job status")],
            rows: vec![vec![Some(jobs.to_string().into_bytes()), Some(b"all succeeded".to_vec())]],
        };
        self.result_here(&result);
    }

    fn answer_batch(&mut self, column: &str, texts: Vec<Vec<u8>>) {
        self.ran.error = None;
        let rows = texts.into_iter().map(|text| vec![Some(text)]).collect();
        self.result_here(&ResultSet { columns: vec![Column::text(column)], rows });
    }
}

/// An error, with what is done and how it goes on.
fn told(split: &Split, run: &Run, failure: &Failure) -> Failure {
    let record = &run.record;
    let column = shown(&quoted_name(&split.column.name));
    let done = match &record.done {
        Some(key) => format!("has done {} parts, all rows with {column} <= {key}", record.parts),
        None => "has done no part".to_owned(),
    };
    let next = match run.course() {
        Course::Cancelled => String::new(),
        _ => format!("; WEIR BATCH RESUME {} goes on", record.id),
    };
    let message = format!("{}. Batch {} {done}{next}", failure.message.trim_end_matches('.'), record.id);
    Failure { message, ..failure.clone() }.maybe_done()
}

fn cancelled() -> Failure {
    let message = "Query execution was interrupted: the batch was cancelled";
    Failure::new(weir_wire::Fault::Client, codes::ER_QUERY_INTERRUPTED, b"70100", message)
}

fn unreadable() -> Failure {
    not_supported("BATCH of a statement that Weir can't read")
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
