//! What statements use and do, gathered from single calls, variables and names.

use super::varies::Varies;
use crate::flags::{Effects, Pins};
use crate::keyword::Keyword;
use crate::kw;

/// What was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Uses {
    pub(crate) effects: Effects,
    pub(crate) pins: Pins,
    pub(crate) varies: Varies,
}

impl std::ops::BitOrAssign for Uses {
    fn bitor_assign(&mut self, other: Self) {
        self.effects |= other.effects;
        self.pins |= other.pins;
        self.varies |= other.varies;
    }
}

impl Uses {
    /// A call of something that may be a stored function.
    pub(crate) fn unknown_function(&mut self) {
        self.effects |= Effects::READS | Effects::WRITES;
        self.pins |= Pins::UNKNOWN_FUNCTION;
        self.varies |= Varies::STORED;
    }

    /// A statement of which nothing is certain.
    pub(crate) fn unknown_statement(&mut self) {
        self.effects |= Effects::READS | Effects::WRITES | Effects::GENERATES_INSERT_ID;
        self.pins |= Pins::UNKNOWN_STATEMENT;
        self.varies |= Varies::all() - Varies::CHANGES;
    }

    /// A function that reads or changes what belongs to the session or the server.
    pub(crate) fn known_function(&mut self, word: Keyword, without_arguments: bool) {
        match word {
            kw::GET_LOCK => self.pins |= Pins::USER_LOCK,
            kw::ROW_COUNT => {
                self.effects |= Effects::USES_ROW_COUNT;
                self.pins |= Pins::ROW_COUNT;
            }
            kw::FOUND_ROWS => {
                self.effects |= Effects::USES_FOUND_ROWS;
                self.pins |= Pins::FOUND_ROWS;
            }
            kw::CONNECTION_ID => self.effects |= Effects::USES_CONNECTION_ID,
            kw::LAST_INSERT_ID if without_arguments => self.effects |= Effects::USES_LAST_INSERT_ID,
            kw::LAST_INSERT_ID => self.effects |= Effects::SETS_LAST_INSERT_ID,
            kw::RELEASE_LOCK
            | kw::RELEASE_ALL_LOCKS
            | kw::IS_FREE_LOCK
            | kw::IS_USED_LOCK
            | kw::BINLOG_GTID_POS
            | kw::LOAD_FILE
            | kw::MASTER_POS_WAIT
            | kw::SOURCE_POS_WAIT
            | kw::MASTER_GTID_WAIT
            | kw::WAIT_FOR_EXECUTED_GTID_SET
            | kw::WSREP_SYNC_WAIT_UPTO_GTID => self.effects |= Effects::SERVER_STATE,
            kw::NEXTVAL | kw::SETVAL => self.sequence(Effects::WRITES),
            kw::LASTVAL => self.sequence(Effects::empty()),
            _ => {}
        }
    }

    pub(crate) fn sequence(&mut self, effects: Effects) {
        self.effects |= Effects::READS | effects;
        self.pins |= Pins::SEQUENCE;
        self.varies |= Varies::SEQUENCE;
    }

    /// A system variable that is read.
    pub(crate) fn system_variable(&mut self, name: &[u8], global: bool) {
        self.effects |= Effects::SERVER_STATE;
        self.varies |= Varies::of_system_variable(name, global);
        if Keyword::of(name) == kw::SOCKET {
            self.effects |= Effects::USES_CONNECTION_ID;
        }
        if global {
            return;
        }
        self.session_track(name);
        match Keyword::of(name) {
            kw::LAST_INSERT_ID | kw::IDENTITY => self.effects |= Effects::USES_LAST_INSERT_ID,
            kw::WARNING_COUNT | kw::ERROR_COUNT => self.effects |= Effects::USES_WARNINGS,
            kw::PSEUDO_THREAD_ID => self.effects |= Effects::USES_CONNECTION_ID,
            // The transaction id of this connection's last write.
            kw::LAST_GTID => self.pins |= Pins::SPECIAL_VARIABLE,
            _ => {}
        }
    }

    /// Weir sets these variables for itself.
    pub(crate) fn session_track(&mut self, name: &[u8]) {
        const NAME: &[u8] = b"session_track";
        if name.len() >= NAME.len() && name.windows(NAME.len()).any(|part| part.eq_ignore_ascii_case(NAME)) {
            self.effects |= Effects::SHOWS_SESSION_VARIABLES;
        }
    }

    /// Names of tables that show session variables.
    pub(crate) fn telling_name(&mut self, name: &[u8]) {
        const SHORTEST: usize = "user_variables".len();
        if name.len() < SHORTEST {
            return;
        }
        if matches!(
            Keyword::of(name),
            kw::SESSION_VARIABLES
                | kw::VARIABLES_INFO
                | kw::VARIABLES_BY_THREAD
                | kw::USER_VARIABLES
                | kw::USER_VARIABLES_BY_THREAD
        ) {
            self.effects |= Effects::SHOWS_SESSION_VARIABLES;
        }
    }
}
