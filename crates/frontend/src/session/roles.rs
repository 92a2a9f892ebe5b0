//! SET ROLE over several shards: the roles are part of the profile, and so each connection of the session has the same.
//!
//! What must always hold: the profile has the roles that the server of the SET ROLE has told, by their names, for what ALL or DEFAULT stands
//! for may be more by the time another connection sets them. Where a server refuses to set them the client is told, and the session goes on with
//! none.

use std::rc::Rc;

use weir_sql::{Class, Pins};
use weir_wire::Failure;
use weir_wire::error::not_supported;

use super::Session;

/// What SET ROLE takes for no roles.
const NONE: &str = "NONE";

impl Session {
    /// A text may have changed the roles: what the server says of them is the session's, on whichever connection it goes on.
    ///
    /// # Errors
    /// The session's end: the loss of the connection, and names that can't be set on other connections.
    pub(super) async fn learn_roles(&mut self, class: &Class) -> Result<(), Failure> {
        let set = class.pins.contains(Pins::ROLE) && self.state.pins.contains(Pins::ROLE);
        if !set || self.endpoint.sharding.is_none() || self.current.lease.is_none() {
            return Ok(());
        }
        self.learn_what_was_left(true).await?;
        let mariadb = self.identity.mariadb;
        let lease = self.connection();
        lease.has_found_rows = false;
        let reply = lease.query("SELECT CAST(CURRENT_ROLE() AS BINARY) LIMIT 1").await?;
        let Some(list) = list_of(reply.rows.into_iter().flatten().next().flatten(), mariadb) else {
            let message = "Roles whose names are not plain ASCII can't be set on the connections to other shards: the session ends";
            return Err(not_supported(message));
        };
        let mut profile = self.state.profile.with_role(&list);
        if self.stays_outside() {
            // The right to it may come from these, and does not come from those before.
            profile = profile.with_roles_to_enter();
            let lease = self.connection();
            lease.lacks_database = lease.profile().database.is_none();
        }
        let profile = Rc::new(profile);
        self.connection().set_profile(profile.clone());
        self.state.profile = profile;
        self.state.pins -= Pins::ROLE;
        Ok(())
    }

    /// The client is told of an error. If it is a server's that the user does not have the session's roles any more, the session has none from
    /// here on: else nothing could be run in it, not even the SET ROLE that it needs.
    pub(super) fn heed_refused_roles(&mut self, code: u16) {
        let Some(without) = self.state.profile.without_refused_roles() else { return };
        if weir_backend::profile::Role::NOT_GRANTED.contains(&code) {
            self.state.profile = Rc::new(without);
        }
    }
}

/// What SET ROLE takes for the roles that a server calls the current ones: MySQL tells a list of quoted names, MariaDB one name or NULL.
fn list_of(told: Option<Vec<u8>>, mariadb: bool) -> Option<String> {
    let Some(told) = told else { return Some(NONE.to_owned()) };
    let plain = |byte: &u8| {
        matches!(byte, b' '..=b'~') && !matches!(byte, b'[' | b'\\' | b']' | b'^' | b'{' | b'|' | b'}' | b'~')
    };
    let told = String::from_utf8(told).ok().filter(|told| told.as_bytes().iter().all(plain))?;
    Some(if mariadb { format!("`{}`", told.replace('`', "``")) } else { told })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_set_as_they_are_told() {
        let cases: [(Option<&str>, bool, Option<&str>); 7] = [
            (None, true, Some("NONE")),
            (Some("r"), true, Some("`r`")),
            (Some("NONE"), true, Some("`NONE`")),
            (Some("a`b"), true, Some("`a``b`")),
            (Some("NONE"), false, Some("NONE")),
            (Some("`r`@`%`,`s`@`%`"), false, Some("`r`@`%`,`s`@`%`")),
            (Some("`é`@`%`"), false, None),
        ];
        for (told, mariadb, list) in cases {
            assert_eq!(list_of(told.map(|told| told.as_bytes().to_vec()), mariadb).as_deref(), list, "{told:?}");
        }
    }
}
