//! The settings of a body: the database, `sql_mode` and character sets that its procedure was made with.
//!
//! What must always hold: the body's statements run in them, as on a server, and the session has its own again when they have ended, with
//! all else that the statements have changed. What the client has written (arguments) is read in the client's settings.

use std::rc::Rc;

use weir_backend::profile::{Profile, charset_of};
use weir_plan::Stepwise;

use super::super::super::Session;

/// That of the catalog's texts.
const TEXTS: &str = "utf8mb4";

/// The settings that a session had.
pub(super) struct Before(Profile);

impl Session {
    /// Takes the settings of a procedure's body.
    pub(super) fn enter_body(&mut self, call: &Stepwise) -> Before {
        let own = self.state.profile.parsing();
        let collation = &call.connection_collation[..];
        let body = own.with_database(Some(call.database.as_bytes())).with_variables([
            ("sql_mode", &call.sql_mode[..]),
            ("character_set_client", TEXTS),
            ("character_set_connection", charset_of(collation)),
            ("collation_connection", collation),
        ]);
        self.have_settings(&body);
        Before(own)
    }

    /// Takes the client's settings again. A connection can't leave a database for none: one that is free is given back.
    pub(super) async fn leave_body(&mut self, before: &Before) {
        self.have_settings(&before.0);
        let has_one = self.current.lease.as_ref().is_some_and(|lease| lease.profile().database.is_some());
        if before.0.database.is_some() || !has_one || self.state.is_bound() {
            return;
        }
        match self.learn_what_was_left(true).await {
            Ok(()) => self.release().await,
            // The connection is gone, and what was left with it.
            Err(_) => self.lose_lease(),
        }
    }

    fn have_settings(&mut self, settings: &Profile) {
        self.state.profile = Rc::new(self.state.profile.parsed_as(settings));
        self.state.learn_lex_mode(&self.identity);
    }
}
