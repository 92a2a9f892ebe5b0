//! Where a session enters a database.
//!
//! A right to a single table, view or routine is known to the servers that have it, and those alone let its user into the database. So
//! where the session's shard refuses, the others that have the database are asked.
//!
//! What must always hold: a session is in a database only if a server lets its user into it.

use weir_backend::Lease;
use weir_backend::pool::Request;
use weir_backend::profile::{Profile, SharedProfile};
use weir_plan::write::literal::quoted_name;
use weir_shards::ask::{ServerAnswer, ask};
use weir_wire::Failure;
use weir_wire::error::codes;

use super::Session;
use super::stopped::Stopped;
use crate::backends::{HOME, ServerId};

/// Users and databases that are remembered; beyond, each login asks the server.
const MOST_KNOWN_DATABASES: usize = 10_000;

impl Session {
    /// Makes `database` the default at a login; asks the servers whether the user may, unless the home shard's has said so before.
    pub(super) async fn enter_database(&mut self, database: &[u8]) -> Result<(), Failure> {
        let profile = self.shared.beginnings.in_database(&self.state.profile, database);
        let rights = self.rights_at_home();
        if !self.is_known_to_enter(database) {
            let (mut refusal, mut refused, mut unreached) = (None, Vec::new(), None);
            let mut entered = false;
            for shard in self.entrances(database) {
                match self.try_to_enter(shard, database, &profile).await {
                    Ok(Some(failure)) => {
                        refusal.get_or_insert(failure);
                        refused.push(shard);
                    }
                    Ok(None) => {
                        if shard == HOME {
                            self.note_entered(database, rights);
                        }
                        entered = true;
                        break;
                    }
                    // The first one says whether the password is right. Of the others, one more may let the user in.
                    Err(failure) if refusal.is_some() => drop(unreached.get_or_insert(failure)),
                    Err(failure) => return Err(failure),
                }
            }
            if let Some(refusal) = unreached.or(refusal).filter(|_| !entered) {
                return Err(refusal);
            }
            self.note_outside(database, refused);
        }
        self.state.profile = profile;
        self.handle.info().database = Some(String::from_utf8_lossy(database).into_owned());
        Ok(())
    }

    /// The shards to ask whether the user may enter a database: the session's own, if it has it, and then the others.
    fn entrances(&self, database: &[u8]) -> Vec<usize> {
        let own = self.shard_to_enter(database).unwrap_or(self.target.shard);
        let all =
            self.shards_of(database, |shards| shards.iter().map(|shard| usize::from(shard.0)).collect::<Vec<_>>());
        let others = all.into_iter().flatten().filter(|shard| *shard != own);
        std::iter::once(own).chain(others).collect()
    }

    /// Has a shard let the user in; its refusal if it does not.
    async fn try_to_enter(
        &self,
        shard: usize,
        database: &[u8],
        profile: &SharedProfile,
    ) -> Result<Option<Failure>, Failure> {
        let mut lease = match shard {
            HOME => self.lend_at_login(profile, &self.password.clone()).await?,
            shard => self.lend_of_shard(shard, profile).await?,
        };
        lease.queue_state(profile, true)?;
        lease.flush().await?;
        lease.confirm_state().await?;
        let is_inside = lease.profile().database.as_deref() == Some(database);
        Ok(if is_inside { None } else { Self::without_database(profile) })
    }

    /// A connection to a shard's writer at the login to a database.
    async fn lend_of_shard(&self, shard: usize, profile: &Profile) -> Result<Lease, Failure> {
        let place = ServerId { shard, index: self.shared.shards[shard].writer() };
        let (key, password) = (&self.key, &self.password);
        let request = Request { key, password, profile, patient: false, may_lack_database: false };
        self.shared.at(place).pool.lend(request).await
    }

    /// What the home shard has let the user into is known until rights change there.
    fn rights_at_home(&self) -> (usize, u64) {
        let writer = self.shared.home().writer();
        (writer, self.shared.home().at(writer).pool.server.rights.now())
    }

    fn is_known_to_enter(&self, database: &[u8]) -> bool {
        let entered = self.shared.known_databases.borrow().get(&self.known_as(database)).copied();
        let writer = self.shared.home().writer();
        let rights = &self.shared.home().at(writer).pool.server.rights;
        entered.is_some_and(|(at, since)| at == writer && rights.holds(self.user.as_bytes(), since))
    }

    fn note_entered(&self, database: &[u8], rights: (usize, u64)) {
        let known = self.known_as(database);
        let mut all = self.shared.known_databases.borrow_mut();
        if all.len() < MOST_KNOWN_DATABASES || all.contains_key(&known) {
            all.insert(known, rights);
        }
    }

    fn known_as(&self, database: &[u8]) -> Vec<u8> {
        [self.user.as_bytes(), b"\0", database].concat()
    }

    /// Before the session enters another database: turns to a shard that lets the user in, if there is one.
    pub(super) async fn aim_at_entrance(&mut self, database: &[u8]) -> Result<(), Stopped> {
        if let Some(shard) = self.shard_to_enter(database) {
            self.set_shard(shard);
        }
        let shards = self.entrances(database);
        let as_at_login = self.target.shard == HOME && !self.state.profile.has_role();
        let known = as_at_login && self.is_known_to_enter(database);
        if shards.len() == 1 || known || self.chosen_shard.is_some() || self.state.is_bound() {
            return Ok(());
        }
        let rights = self.rights_at_home();
        let mut refused = Vec::new();
        for shard in shards {
            match self.lets_in(shard, database).await? {
                Some(true) => {
                    if shard == HOME && as_at_login {
                        self.note_entered(database, rights);
                    }
                    if shard != self.target.shard {
                        self.set_shard(shard);
                        self.note_outside(database, refused);
                    }
                    break;
                }
                Some(false) => refused.push(shard),
                // Its own shard says what is to be said.
                None => break,
            }
        }
        Ok(())
    }

    /// Whether a shard would let the session into a database; none if it does not say so.
    async fn lets_in(&mut self, shard: usize, database: &[u8]) -> Result<Option<bool>, Stopped> {
        let question = [b"SHOW TABLES FROM ".as_slice(), &quoted_name(database), b" LIKE ''"].concat();
        let mut leased = match self.leases_outside(&[shard]).await {
            Err(Stopped::Refused(_)) => return Ok(None),
            leased => leased?,
        };
        let mut told = None;
        for part in &mut leased.parts {
            told = match ask(&mut part.lease, &question).await {
                ServerAnswer::Reply(_) => Some(true),
                ServerAnswer::Refused(failure) if failure.code == codes::ER_DBACCESS_DENIED_ERROR => Some(false),
                _ => None,
            };
        }
        self.end_leases(leased, None).await?;
        Ok(told)
    }
}
