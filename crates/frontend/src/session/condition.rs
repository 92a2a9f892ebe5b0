//! Conditions: what statements warn of.

use weir_backend::connection::Connection;
use weir_wire::Failure;

/// The most characters of SIGNAL's MESSAGE_TEXT.
const SIGNAL_MESSAGE: usize = 128;

/// A condition, as SHOW WARNINGS tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) level: Vec<u8>,
    pub(crate) code: Vec<u8>,
    pub(crate) message: Vec<u8>,
    /// Known only of Weir's own errors: SHOW WARNINGS does not tell it.
    pub(crate) sqlstate: Option<[u8; 5]>,
}

impl Condition {
    /// What the latest statement has left on a connection.
    ///
    /// # Errors
    /// The connection's loss.
    pub(crate) async fn all_on(connection: &mut Connection) -> Result<Vec<Condition>, Failure> {
        let rows = connection.ask("SHOW WARNINGS").await?.rows;
        Ok(rows.into_iter().filter_map(Condition::of_row).collect())
    }

    /// What SHOW WARNINGS showed behind a statement that has ended in this error: of that one more is known.
    pub(crate) fn with_error(mut conditions: Vec<Condition>, error: Option<(u16, [u8; 5])>) -> Vec<Condition> {
        if let (Some((code, sqlstate)), [only]) = (error, &mut conditions[..])
            && only.level == b"Error"
            && only.code == code.to_string().into_bytes()
        {
            only.sqlstate = Some(sqlstate);
        }
        conditions
    }

    /// A row of SHOW WARNINGS.
    pub(crate) fn of_row(row: Vec<Option<Vec<u8>>>) -> Option<Condition> {
        let [level, code, message] = row.try_into().ok()?;
        Some(Condition { level: level?, code: code?, message: message?, sqlstate: None })
    }

    /// An error, as SHOW WARNINGS tells it.
    pub(crate) fn error(failure: &Failure) -> Condition {
        let code = failure.code.to_string().into_bytes();
        Condition { level: b"Error".to_vec(), code, message: failure.message.clone().into_bytes(), sqlstate: None }
    }

    /// A note of Weir's own.
    pub(crate) fn note(message: &str) -> Condition {
        Condition { level: b"Note".to_vec(), code: b"1105".to_vec(), message: message.into(), sqlstate: None }
    }

    /// The statement that raises it again, if there is one. `exactly`: its SQLSTATE will be looked at too.
    pub(super) fn signal(&self, exactly: bool) -> Option<String> {
        let sqlstate = match (self.sqlstate, &self.level[..]) {
            // SIGNAL makes a warning of it, whatever it was.
            (Some([b'0', b'1', ..]), b"Error") if !exactly => "HY000".to_owned(),
            (Some([b'0', b'1', ..]), b"Error") => return None,
            (Some(sqlstate), _) => String::from_utf8(sqlstate.to_vec()).ok()?,
            (None, b"Error") if !exactly => "HY000".to_owned(),
            (None, b"Warning") if !exactly => "01000".to_owned(),
            _ => return None,
        };
        let plain = |b: &u8| (b' '..=b'~').contains(b) && *b != b'\\';
        if self.message.len() > SIGNAL_MESSAGE || !self.message.iter().all(plain) {
            return None;
        }
        let message = std::str::from_utf8(&self.message).ok()?.replace('\'', "''");
        let code: u16 = std::str::from_utf8(&self.code).ok()?.parse().ok()?;
        Some(format!("SIGNAL SQLSTATE '{sqlstate}' SET MYSQL_ERRNO = {code}, MESSAGE_TEXT = '{message}'"))
    }
}
