//! The roles of a session that has chosen its own, and whether it may enter its default database with them.
//!
//! What must always hold: a connection on which roles were set never serves a session that has those of its login, for nothing takes it back
//! to them on both kinds of server, COM_RESET_CONNECTION included; and a session in a profile has the roles that the server has confirmed, or fewer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_wire::Failure;

use super::{Difference, Profile};

/// No roles at all.
const NONE: &str = "NONE";

/// Active roles.
#[derive(Debug)]
pub struct Role {
    /// What SET ROLE takes: a list of quoted names, or NONE.
    list: Box<str>,
    refused: AtomicBool,
}

impl Role {
    fn new(list: &str) -> Arc<Role> {
        Arc::new(Role { list: list.into(), refused: AtomicBool::new(false) })
    }

    /// What servers say of a role that the user does not have: MySQL, MariaDB.
    pub const NOT_GRANTED: [u16; 2] = [3530, 1959];

    /// The statement that makes them the active ones.
    pub fn statement(&self) -> String {
        format!("SET ROLE {}", self.list)
    }

    /// A server has refused to set them on another connection: the user does not have them any more.
    pub fn note_refused(&self) {
        self.refused.store(true, Ordering::Relaxed);
    }

    fn take_refused(&self) -> bool {
        self.refused.swap(false, Ordering::Relaxed)
    }
}

impl PartialEq for Role {
    fn eq(&self, other: &Self) -> bool {
        self.list == other.list
    }
}

impl Eq for Role {}

impl std::hash::Hash for Role {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.list.hash(state);
    }
}

/// Roles, and those that were active when the default database was entered: the right to it may have come from them. `None`: those of the
/// login.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Roles {
    active: Option<Arc<Role>>,
    entered: Option<Arc<Role>>,
}

/// Whether a server has refused, when it was last asked, to let the user into the default database. It is no part of what a profile is.
#[derive(Debug, Clone, Default)]
pub(super) struct Entrance {
    told: Arc<Mutex<Told>>,
}

#[derive(Debug, Default)]
enum Told {
    #[default]
    Allowed,
    /// Nobody has asked since the roles are other ones.
    Doubtful,
    Denied(Failure),
}

impl Entrance {
    fn doubtful() -> Entrance {
        Entrance { told: Arc::new(Mutex::new(Told::Doubtful)) }
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        // It is one value: whoever panicked has left it whole.
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Profile {
    /// A connection was to enter the default database: its server has refused it with this, or not.
    pub fn note_entrance(&self, denied: Option<&Failure>) {
        *self.entrance.told() = denied.cloned().map_or(Told::Allowed, Told::Denied);
    }

    /// Whether the user may have lost the right to the default database.
    pub fn is_denied_database(&self) -> bool {
        self.database.is_some() && !matches!(*self.entrance.told(), Told::Allowed)
    }

    /// What a server has said that has refused the default database to the user.
    pub fn denied_database(&self) -> Option<Failure> {
        match &*self.entrance.told() {
            Told::Denied(failure) if self.database.is_some() => Some(failure.clone()),
            _ => None,
        }
    }

    /// Whether the session has chosen its roles.
    pub fn has_role(&self) -> bool {
        self.roles.active.is_some()
    }

    /// The same, with these roles: what SET ROLE takes, in ASCII.
    pub fn with_role(&self, list: &str) -> Profile {
        let mut next = self.clone();
        next.roles.active = Some(Role::new(list));
        if next.database.is_none() {
            next.roles.entered = None;
        }
        next.rehash()
    }

    /// The same, as if the default database had been entered with these roles. Whether it can be is not known yet: what leaves it need not try.
    pub fn with_roles_to_enter(&self) -> Profile {
        let mut next = self.clone();
        next.note_entered();
        next.entrance = Entrance::doubtful();
        next.rehash()
    }

    /// The same with no roles, if a server has refused to set those that it has. Told once.
    pub fn without_refused_roles(&self) -> Option<Profile> {
        let take = |role: &Option<Arc<Role>>| role.as_ref().is_some_and(|role| role.take_refused());
        // Both may be one.
        let same = self.roles.active == self.roles.entered;
        let (active, entered) = (take(&self.roles.active), take(&self.roles.entered));
        if !active && !entered {
            return None;
        }
        let mut next = self.clone();
        if active || same {
            next.roles.active = Some(Role::new(NONE));
        }
        next.roles.entered = next.roles.active.clone();
        next.entrance = Entrance::doubtful();
        Some(next.rehash())
    }

    /// The same with the roles of another profile, as a reset leaves them.
    pub fn with_roles_of(&self, other: &Profile) -> Profile {
        Profile { roles: other.roles.clone(), ..self.clone() }.rehash()
    }

    /// Its default database is another one now.
    pub(super) fn note_entered(&mut self) {
        self.entrance = Entrance::default();
        self.roles.entered = self.database.as_ref().and(self.roles.active.clone());
    }

    /// Whether a connection with this profile has roles that were set, where `wanted` has those of the login.
    pub fn has_others_roles(&self, wanted: &Profile) -> bool {
        self.roles.active.is_some() && wanted.roles.active.is_none()
    }

    /// Adds the roles that a connection needs before it enters the database, and those behind that.
    pub(super) fn add_roles(&self, wanted: &Profile, difference: &mut Difference) {
        let (own, last) = (&self.roles.active, &wanted.roles.active);
        let entered = match &difference.database {
            // Those of the login are gone from a connection that has others: the database was entered with them, and may be with these.
            Some(_) if wanted.roles.entered.is_some() || own.is_none() => &wanted.roles.entered,
            _ => last,
        };
        difference.role = entered.clone().filter(|_| own != entered);
        difference.last_role = last.clone().filter(|_| entered != last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The statements before the default database, and behind it.
    fn roles(from: &Profile, to: &Profile) -> [Option<String>; 2] {
        let difference = from.difference(to, &Profile::default());
        assert!(!difference.impossible);
        [difference.role, difference.last_role].map(|role| Some(role?.statement()))
    }

    fn set(list: &str) -> Option<String> {
        Some(format!("SET ROLE {list}"))
    }

    #[test]
    fn a_database_is_entered_with_the_roles_that_it_was_entered_with() {
        let login = Profile::default();
        let reads = login.with_role("`r`");
        let in_database = reads.with_database(Some(b"d"));
        let later = in_database.with_role("`s`");
        assert_eq!(roles(&login, &reads), [set("`r`"), None]);
        assert_eq!(roles(&login, &in_database), [set("`r`"), None]);
        assert_eq!(roles(&login, &later), [set("`r`"), set("`s`")]);
        assert_eq!(roles(&reads, &later), [None, set("`s`")]);
        assert_eq!(roles(&in_database, &later), [set("`s`"), None]);
        assert_eq!(roles(&later, &later), [None, None]);
        let entered_at_login = Profile::new(Some(b"d"), None).with_role("`r`");
        assert_eq!(roles(&login, &entered_at_login), [None, set("`r`")]);
        assert_eq!(roles(&login.with_role("`s`"), &entered_at_login), [set("`r`"), None]);
    }

    #[test]
    fn nothing_goes_back_to_the_roles_of_the_login() {
        let (login, reads) = (Profile::default(), Profile::default().with_role("`r`"));
        assert!(reads.difference(&login, &Profile::default()).impossible);
        assert_ne!(login.with_role(NONE), login);
        assert_ne!(reads.parsing(), login.parsing());
    }

    #[test]
    fn a_database_that_was_not_entered_with_new_roles_can_be_left_without() {
        let inside = Profile::default().with_role("`r`").with_database(Some(b"d"));
        let refusal = Failure::client(1044, "Access denied");
        inside.note_entrance(Some(&refusal));
        assert_eq!(inside.clone().denied_database(), Some(refusal));
        let outside = inside.with_role(NONE).with_roles_to_enter();
        assert!(outside.is_denied_database());
        outside.note_entrance(None);
        assert!(!outside.is_denied_database());
        assert!(!outside.with_database(Some(b"e")).is_denied_database());
    }

    #[test]
    fn refused_roles_are_given_up_once() {
        let reads = Profile::default().with_role("`r`").with_database(Some(b"d"));
        assert!(reads.without_refused_roles().is_none());
        reads.roles.active.as_ref().expect("it has a role").note_refused();
        let without = reads.without_refused_roles().expect("it was refused");
        assert_eq!(without, Profile::default().with_role(NONE).with_database(Some(b"d")));
        assert!(reads.without_refused_roles().is_none());
    }
}
