//! The session's default database on servers that may not have it.
//!
//! A default database may be on some shards only, and another session may drop it. On one server, statements that name what is
//! there run all the same, and so they do here: on a shard without the database they get a connection that has no default database, as
//! there is no other way for it to leave the one that it has.
//!
//! What must always hold: a connection is in the session's default database or in none, never in another, and what is known of its
//! default database is what its server has said. That a server lacks a database is found out when a connection is to enter it, and asked
//! again with each statement there, as the database may be made again.

use std::rc::Rc;

use weir_backend::Lease;
use weir_backend::profile::{Profile, SharedProfile};
use weir_catalog::ShardId;
use weir_sql::ast::{self, StatementKind};
use weir_sql::{Class, Effects, Parsed, Pins, TextKind};
use weir_wire::Failure;
use weir_wire::error::codes;

use super::Session;
use super::statement::Statement;
use super::stopped::Stopped;
use crate::backends::shard_id;

/// Shards that lacked the session's default database when they were asked last.
#[derive(Debug, Default)]
pub(super) struct Lacking {
    database: Option<Box<[u8]>>,
    shards: Vec<usize>,
    /// The statement at hand runs without it.
    stays_outside: bool,
}

impl Session {
    /// Whether a shard may lack the session's default database: by the catalog, or because its server has said so.
    pub(super) fn may_lack_database(&self, shard: usize) -> bool {
        let Some(database) = self.state.profile.database.as_deref() else { return false };
        let said = self.lacking.database.as_deref() == Some(database) && self.lacking.shards.contains(&shard);
        self.lacking.stays_outside
            || said
            || self.shards_of(database, |shards| !shards.contains(&shard_id(shard))).unwrap_or(false)
    }

    /// What `about` says of the shards of a sharded database.
    pub(super) fn shards_of<T>(&self, database: &[u8], about: impl FnOnce(&[ShardId]) -> T) -> Option<T> {
        let catalog = self.sharding()?.catalog();
        let (_, known) = catalog.database(database)?;
        Some(about(&known.shards))
    }

    /// The shard to ask about a database that the home shard does not have.
    pub(super) fn shard_to_enter(&self, database: &[u8]) -> Option<usize> {
        let own = shard_id(self.target.shard);
        self.shards_of(database, |shards| {
            shards.first().filter(|_| !shards.contains(&own)).map(|shard| usize::from(shard.0))
        })?
    }

    /// A connection could not be brought into the session's state, because its server lacks the default database. Returns whether that
    /// is news: then it is worth another try, on a connection that has none.
    pub(super) fn learn_lack(&mut self, shard: usize, lease: &Lease) -> bool {
        let database = self.state.profile.database.clone();
        if !lease.lacks_database || database.is_none() {
            return false;
        }
        if self.lacking.database != database {
            self.lacking = Lacking { database, ..Lacking::default() };
        }
        let news = !self.lacking.shards.contains(&shard);
        if news {
            self.lacking.shards.push(shard);
        }
        news
    }

    /// The session enters a database into which these shards have not let it.
    pub(super) fn note_outside(&mut self, database: &[u8], shards: Vec<usize>) {
        if !shards.is_empty() {
            self.lacking = Lacking { database: Some(database.into()), shards, ..Lacking::default() };
        }
    }

    /// The session's profile as far as its connection can have it.
    pub(super) fn profile_here(&self, class: &Class) -> SharedProfile {
        let profile = &self.state.profile;
        let Some(lease) = &self.current.lease else { return profile.clone() };
        let own = lease.profile().database.as_deref();
        if own == profile.database.as_deref() || profile.database.is_none() {
            return profile.clone();
        }
        if self.lacking.stays_outside && own.is_none() {
            return Rc::new(profile.with_database(None));
        }
        // To try once more would add its error to what the statement before has left.
        let lacks = lease.lacks_database || profile.is_denied_database();
        let waits = own.is_none() && lacks && class.effects.contains(Effects::USES_WARNINGS);
        // The transaction is there, and the connection can't leave its database: what is sent there names other databases' tables.
        let stays = own.is_some() && self.state.is_bound() && self.may_lack_database(self.current.server.shard);
        if waits || stays { Rc::new(profile.with_database(own)) } else { profile.clone() }
    }

    /// A statement that takes the session elsewhere, or to other roles, runs without a default database to which the user has lost the right:
    /// else the session could never leave it.
    pub(super) fn stay_outside_for(&mut self, class: &Class) {
        let leaves = class.effects.contains(Effects::CHANGES_DATABASE) || class.pins == Pins::ROLE;
        let alone = leaves && class.kind != TextKind::Multiple;
        let is_outside = self.current.lease.as_ref().is_none_or(|lease| lease.profile().database.is_none());
        self.lacking.stays_outside = alone && is_outside && self.state.profile.is_denied_database();
    }

    /// Whether the statement at hand runs without the default database.
    pub(super) fn stays_outside(&self) -> bool {
        self.lacking.stays_outside
    }

    /// What is said in a session whose default database a connection could not enter, of which a statement takes the tables: the server's
    /// refusal, or that the database is gone.
    pub(super) fn without_database(profile: &Profile) -> Option<Failure> {
        let unknown = |database: &[u8]| {
            Failure::client(codes::ER_BAD_DB_ERROR, format!("Unknown database '{}'", String::from_utf8_lossy(database)))
        };
        profile.denied_database().or_else(|| profile.database.as_deref().map(unknown))
    }

    /// A statement that is prepared and names no tables may be about the default database.
    pub(super) fn aim_at_default_database(&mut self, bound: bool) {
        let Some(database) = self.state.profile.database.clone() else { return };
        if let Some(shard) = self.shard_to_enter(&database).filter(|_| !bound) {
            self.set_shard(shard);
        }
    }

    /// A statement for no shard runs where the session is in its default database, if its own shard has not let it in.
    pub(super) fn aim_inside(&mut self, class: &Class) {
        let stays = class.effects.intersects(Effects::CHANGES_DATABASE | Effects::USES_WARNINGS);
        if self.lacking.shards.is_empty() || stays || self.chosen_shard.is_some() || self.state.is_bound() {
            return;
        }
        let Some(database) = self.state.profile.database.clone() else { return };
        let is_outside =
            |shard: usize| self.lacking.database.as_deref() == Some(&*database) && self.lacking.shards.contains(&shard);
        if !is_outside(self.target.shard) {
            return;
        }
        let first =
            |shards: &[ShardId]| shards.iter().map(|shard| usize::from(shard.0)).find(|shard| !is_outside(*shard));
        if let Some(shard) = self.shards_of(&database, first).flatten() {
            self.set_shard(shard);
        }
    }

    /// USE of a sharded database that the shard at hand does not have runs on one that has it.
    pub(super) async fn aim_at_database(&mut self, statement: &Statement<'_>) -> Result<(), Stopped> {
        let Ok(Parsed { statements: [ast::Statement { kind: StatementKind::Use(name), .. }], .. }) = statement.parsed()
        else {
            return Ok(());
        };
        self.aim_at_entrance(name.name).await
    }
}
