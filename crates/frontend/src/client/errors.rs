//! Errors for clients that take none of the client libraries' own codes from a server.
//!
//! libmariadb reads an error packet with a code from 2000 to 2999 as malformed, at least from MariaDB 10.11.19 on: its applications get 2027
//! in place of 2003 or 2013, and never see the text. What must always hold: such a client gets no packet with such a code.

use weir_wire::Failure;
use weir_wire::error::codes;
use weir_wire::handshake::Attributes;
use weir_wire::packets::encode_failure;

use super::Client;

/// The `_client_name` of such a library.
const LIBMARIADB: &[u8] = b"libmariadb";
/// An error packet's first byte.
const ERROR: u8 = 0xff;
/// Where its SQLSTATE begins, behind a `#`.
const SQLSTATE: usize = 4;

impl Client {
    /// Takes note of the library that the client says it is, by its connection attribute `_client_name`.
    pub(crate) fn note_library(&mut self, attributes: &Attributes) {
        self.takes_own_codes = attributes.iter().all(|(name, value)| name != b"_client_name" || value != LIBMARIADB);
    }

    /// Whether it is of such a library, which reads no rows behind the columns if it has asked for a cursor.
    pub(crate) fn needs_cursors(&self) -> bool {
        !self.takes_own_codes
    }

    /// Appends an error.
    pub fn put_failure(&mut self, failure: &Failure) {
        self.put(&encode_failure(failure));
    }

    /// Appends the error with which the session ends. That a server was lost, a client that does not take the code from a server says itself when
    /// the connection closes, with the code that its applications look for.
    pub async fn put_last_failure(&mut self, failure: &Failure) {
        let goes_on = self.answer_next().await.is_ok();
        if goes_on && (self.takes_own_codes || failure.code != codes::CR_SERVER_LOST) {
            self.put_failure(failure);
        }
    }

    /// What the client gets in place of an error packet, if it would not take that.
    pub(super) fn error_to_take(&self, payload: &[u8]) -> Option<Vec<u8>> {
        if self.takes_own_codes || self.capture.is_some() { None } else { as_of_a_server(payload) }
    }
}

/// An error with a client's own code as one with the nearest code of a server.
fn as_of_a_server(payload: &[u8]) -> Option<Vec<u8>> {
    let [ERROR, low, high, ..] = *payload else { return None };
    let (code, sqlstate) = taken_for(u16::from_le_bytes([low, high]))?;
    let mut error = payload.to_vec();
    error[1..3].copy_from_slice(&code.to_le_bytes());
    if let Some(place) = error.get_mut(SQLSTATE..SQLSTATE + sqlstate.len()) {
        place.copy_from_slice(sqlstate);
    }
    Some(error)
}

/// The server's code, with its SQLSTATE, that is nearest to a client's own.
fn taken_for(code: u16) -> Option<(u16, &'static [u8; 5])> {
    match code {
        codes::CR_CONN_HOST_ERROR => Some((codes::ER_CONNECT_TO_FOREIGN_DATA_SOURCE, b"HY000")),
        2000..=2999 => Some((codes::ER_NET_READ_ERROR, b"08S01")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_codes_of_clients_become_those_of_servers_and_texts_stay() {
        let as_taken = |failure: Failure| as_of_a_server(&encode_failure(&failure));
        for (code, taken, sqlstate) in [
            (codes::CR_CONN_HOST_ERROR, codes::ER_CONNECT_TO_FOREIGN_DATA_SOURCE, *b"HY000"),
            (codes::CR_SERVER_LOST, codes::ER_NET_READ_ERROR, *b"08S01"),
        ] {
            let expected = Failure { code: taken, sqlstate, ..Failure::weir(code, "why") };
            assert_eq!(as_taken(Failure::weir(code, "why")), Some(encode_failure(&expected)), "{code}");
        }
        assert_eq!(as_taken(Failure::weir(codes::ER_PARSE_ERROR, "why")), None);
        assert_eq!(as_of_a_server(b"\x04rows"), None);
        assert_eq!(as_of_a_server(b"\xff\xd3"), None);
    }
}
