//! The connection phase: greeting, TLS request, handshake response, COM_CHANGE_USER; both directions.
//!
//! Only protocol version 10 with 4.1 authentication is spoken. Before a client is authenticated a payload may be
//! at most [`MAX_HANDSHAKE`] bytes.

use crate::caps::{Capabilities, StatusFlags};
use crate::codec::{Malformed, Reader, put_lenenc_bytes, put_nul_bytes};

/// Connection attributes: names and values, in order. Kept as they are on the wire: clients that connect for each query
/// send a dozen that nobody asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Attributes(Vec<u8>);

impl Attributes {
    /// Their names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut rest = Reader::new(&self.0);
        std::iter::from_fn(move || read_attribute(&mut rest).ok())
    }

    fn read(r: &mut Reader<'_>, capabilities: Capabilities) -> Result<Attributes, Malformed> {
        if !capabilities.contains(Capabilities::CONNECT_ATTRS) || r.is_empty() {
            return Ok(Attributes::default());
        }
        let all = r.lenenc_bytes("connection attributes")?;
        let mut inner = Reader::new(all);
        while !inner.is_empty() {
            read_attribute(&mut inner)?;
        }
        Ok(Attributes(all.to_vec()))
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_lenenc_bytes(out, &self.0);
    }
}

impl<N: AsRef<[u8]>, V: AsRef<[u8]>> FromIterator<(N, V)> for Attributes {
    fn from_iter<T: IntoIterator<Item = (N, V)>>(attributes: T) -> Self {
        let mut all = Vec::new();
        for (name, value) in attributes {
            put_lenenc_bytes(&mut all, name.as_ref());
            put_lenenc_bytes(&mut all, value.as_ref());
        }
        Attributes(all)
    }
}

fn read_attribute<'a>(r: &mut Reader<'a>) -> Result<(&'a [u8], &'a [u8]), Malformed> {
    Ok((r.lenenc_bytes("attribute name")?, r.lenenc_bytes("attribute value")?))
}

/// The most bytes that a packet may have before its sender is authenticated.
pub const MAX_HANDSHAKE: usize = 64 * 1024;

/// A server's first packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    /// The server's version string, as it sends it (MariaDB's may begin with `5.5.5-`).
    pub version: Vec<u8>,
    /// The connection's id.
    pub connection_id: u32,
    /// The nonce, 20 bytes.
    pub nonce: [u8; 20],
    /// What the server can do.
    pub capabilities: Capabilities,
    /// The default collation's id.
    pub collation: u8,
    /// Server status.
    pub status: StatusFlags,
    /// The authentication plugin that the nonce is for.
    pub auth_plugin: Vec<u8>,
}

impl Greeting {
    /// Whether it is a MariaDB server's.
    pub fn is_mariadb(&self) -> bool {
        !self.capabilities.contains(Capabilities::LONG_PASSWORD)
    }

    /// Reads a greeting's payload.
    pub fn parse(payload: &[u8]) -> Result<Greeting, Malformed> {
        let mut r = Reader::new(payload);
        if r.u8("protocol version")? != 10 {
            return Err(Malformed("protocol version is not 10"));
        }
        let version = r.nul_bytes("server version")?.to_vec();
        let connection_id = r.u32("connection id")?;
        let mut nonce = [0; 20];
        nonce[..8].copy_from_slice(r.bytes(8, "nonce, first part")?);
        r.u8("filler")?;
        let low = r.u16("capabilities")?;
        let collation = r.u8("collation")?;
        let status = StatusFlags::from_bits_retain(r.u16("status")?);
        let high = r.u16("capabilities, upper")?;
        let nonce_len = r.u8("nonce length")?;
        r.bytes(6, "filler")?;
        let extended = r.u32("extended capabilities")?;
        let mut bits = u64::from(low) | u64::from(high) << 16;
        if bits & Capabilities::LONG_PASSWORD.bits() == 0 {
            bits |= u64::from(extended) << 32;
        }
        let capabilities = Capabilities::from_bits_truncate(bits);
        if !capabilities.contains(Capabilities::SECURE_CONNECTION | Capabilities::PROTOCOL_41) {
            return Err(Malformed("the server does not speak the 4.1 protocol"));
        }
        let second = r.bytes(usize::from(nonce_len).saturating_sub(8).max(13), "nonce, second part")?;
        nonce[8..].copy_from_slice(&second[..12]);
        let auth_plugin = if capabilities.contains(Capabilities::PLUGIN_AUTH) {
            r.nul_or_rest().to_vec()
        } else {
            b"mysql_native_password".to_vec()
        };
        Ok(Greeting { version, connection_id, nonce, capabilities, collation, status, auth_plugin })
    }

    /// The payload.
    pub fn encode(&self) -> Vec<u8> {
        let bits = self.capabilities.bits();
        let mut out = Vec::with_capacity(96 + self.version.len());
        out.push(10);
        put_nul_bytes(&mut out, &self.version);
        out.extend_from_slice(&self.connection_id.to_le_bytes());
        out.extend_from_slice(&self.nonce[..8]);
        out.push(0);
        out.extend_from_slice(&(bits as u16).to_le_bytes());
        out.push(self.collation);
        out.extend_from_slice(&self.status.bits().to_le_bytes());
        out.extend_from_slice(&((bits >> 16) as u16).to_le_bytes());
        out.push(21);
        out.extend_from_slice(&[0; 6]);
        out.extend_from_slice(&((bits >> 32) as u32).to_le_bytes());
        out.extend_from_slice(&self.nonce[8..]);
        out.push(0);
        put_nul_bytes(&mut out, &self.auth_plugin);
        out
    }
}

/// A client's answer to the greeting.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HandshakeResponse {
    /// What the client wants, within what was offered (or beyond: the caller masks).
    pub capabilities: Capabilities,
    /// The largest packet that the client says it will send.
    pub max_packet: u32,
    /// The collation's id; MySQL sends 16 bits of it in this byte's place and the filler.
    pub collation: u16,
    /// The user's name.
    pub user: Vec<u8>,
    /// The authentication plugin's answer.
    pub auth: Vec<u8>,
    /// The default database.
    pub database: Option<Vec<u8>>,
    /// The plugin that `auth` is for; empty when the client names none.
    pub auth_plugin: Vec<u8>,
    /// Connection attributes, in order.
    pub attributes: Attributes,
    /// The zstd level that the client asks for.
    pub zstd_level: u8,
}

/// Bytes of the part that a TLS request shares with the whole response.
const SSL_REQUEST_LEN: usize = 32;

/// Whether the payload is the short response that asks for TLS before it sends the rest.
pub fn is_ssl_request(payload: &[u8]) -> bool {
    payload.len() == SSL_REQUEST_LEN
        && Reader::new(payload).u16("capabilities").is_ok_and(|c| u64::from(c) & Capabilities::SSL.bits() != 0)
}

impl HandshakeResponse {
    /// Reads a response's payload. `mariadb` says that the greeting was a MariaDB server's, so that the extended
    /// capabilities mean something.
    pub fn parse(payload: &[u8], mariadb: bool) -> Result<HandshakeResponse, Malformed> {
        let mut r = Reader::new(payload);
        let mut bits = u64::from(r.u32("capabilities")?);
        if bits & Capabilities::PROTOCOL_41.bits() == 0 {
            return Err(Malformed("the client does not speak the 4.1 protocol"));
        }
        let max_packet = r.u32("maximum packet size")?;
        let collation = r.u16("collation")?;
        r.bytes(18, "filler")?;
        let extended = r.u32("extended capabilities")?;
        if mariadb && bits & Capabilities::LONG_PASSWORD.bits() == 0 {
            bits |= u64::from(extended) << 32;
        }
        let capabilities = Capabilities::from_bits_truncate(bits);
        let user = r.nul_bytes("user name")?.to_vec();
        let auth = read_auth(&mut r, capabilities)?;
        let mut database = None;
        if capabilities.contains(Capabilities::CONNECT_WITH_DB) && !r.is_empty() {
            database = Some(r.nul_or_rest()).filter(|db| !db.is_empty()).map(<[u8]>::to_vec);
        }
        let auth_plugin = match capabilities.contains(Capabilities::PLUGIN_AUTH) {
            true => r.nul_or_rest().to_vec(),
            false => Vec::new(),
        };
        let attributes = Attributes::read(&mut r, capabilities)?;
        let zstd_level = match capabilities.contains(Capabilities::ZSTD_COMPRESSION) && !r.is_empty() {
            true => r.u8("zstd level")?,
            false => 0,
        };
        Ok(HandshakeResponse {
            capabilities,
            max_packet,
            collation,
            user,
            auth,
            database,
            auth_plugin,
            attributes,
            zstd_level,
        })
    }

    /// The short form that asks for TLS.
    pub fn encode_ssl_request(&self) -> Vec<u8> {
        let bits = self.capabilities.bits();
        let mut out = Vec::with_capacity(SSL_REQUEST_LEN);
        out.extend_from_slice(&(bits as u32).to_le_bytes());
        out.extend_from_slice(&self.max_packet.to_le_bytes());
        out.extend_from_slice(&self.collation.to_le_bytes());
        out.extend_from_slice(&[0; 18]);
        out.extend_from_slice(&((bits >> 32) as u32).to_le_bytes());
        out
    }

    /// The whole payload. What `capabilities` does not announce is left out.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = self.encode_ssl_request();
        put_nul_bytes(&mut out, &self.user);
        if self.capabilities.contains(Capabilities::PLUGIN_AUTH_LENENC_DATA) {
            put_lenenc_bytes(&mut out, &self.auth);
        } else {
            let n = self.auth.len().min(255);
            out.push(n as u8);
            out.extend_from_slice(&self.auth[..n]);
        }
        if self.capabilities.contains(Capabilities::CONNECT_WITH_DB) {
            put_nul_bytes(&mut out, self.database.as_deref().unwrap_or_default());
        }
        if self.capabilities.contains(Capabilities::PLUGIN_AUTH) {
            put_nul_bytes(&mut out, &self.auth_plugin);
        }
        if self.capabilities.contains(Capabilities::CONNECT_ATTRS) {
            self.attributes.put(&mut out);
        }
        if self.capabilities.contains(Capabilities::ZSTD_COMPRESSION) {
            out.push(self.zstd_level);
        }
        out
    }
}

fn read_auth(r: &mut Reader<'_>, capabilities: Capabilities) -> Result<Vec<u8>, Malformed> {
    let auth = if capabilities.contains(Capabilities::PLUGIN_AUTH_LENENC_DATA) {
        r.lenenc_bytes("authentication response")?
    } else if capabilities.contains(Capabilities::SECURE_CONNECTION) {
        let n = r.u8("length of the authentication response")?;
        r.bytes(usize::from(n), "authentication response")?
    } else {
        r.nul_or_rest()
    };
    Ok(auth.to_vec())
}

/// COM_CHANGE_USER's payload, after the command byte.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangeUser {
    /// The user's name.
    pub user: Vec<u8>,
    /// The authentication plugin's answer, to the nonce of the greeting.
    pub auth: Vec<u8>,
    /// The default database.
    pub database: Option<Vec<u8>>,
    /// The collation's id, if sent.
    pub collation: Option<u16>,
    /// The plugin that `auth` is for; empty when the client names none.
    pub auth_plugin: Vec<u8>,
    /// Connection attributes.
    pub attributes: Attributes,
}

impl ChangeUser {
    /// Reads the payload after the command byte, from a client that negotiated `capabilities`.
    pub fn parse(payload: &[u8], capabilities: Capabilities) -> Result<ChangeUser, Malformed> {
        let mut r = Reader::new(payload);
        let user = r.nul_bytes("user name")?.to_vec();
        let auth = match capabilities.contains(Capabilities::SECURE_CONNECTION) {
            true => {
                let n = r.u8("length of the authentication response")?;
                r.bytes(usize::from(n), "authentication response")?
            }
            // Of a client that knows the old password protocol only.
            false => r.nul_bytes("authentication response")?,
        };
        let auth = auth.to_vec();
        let database = Some(r.nul_or_rest()).filter(|db| !db.is_empty()).map(<[u8]>::to_vec);
        let collation = if r.rest().len() < 2 { None } else { Some(r.u16("collation")?) };
        let auth_plugin = match capabilities.contains(Capabilities::PLUGIN_AUTH) {
            true => r.nul_or_rest().to_vec(),
            false => Vec::new(),
        };
        let attributes = Attributes::read(&mut r, capabilities)?;
        Ok(ChangeUser { user, auth, database, collation, auth_plugin, attributes })
    }

    /// The payload, with the command byte.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![crate::caps::Command::ChangeUser as u8];
        put_nul_bytes(&mut out, &self.user);
        let n = self.auth.len().min(255);
        out.push(n as u8);
        out.extend_from_slice(&self.auth[..n]);
        put_nul_bytes(&mut out, self.database.as_deref().unwrap_or_default());
        out.extend_from_slice(&self.collation.unwrap_or_default().to_le_bytes());
        put_nul_bytes(&mut out, &self.auth_plugin);
        self.attributes.put(&mut out);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_user_is_read_from_clients_of_any_age() {
        let old = ChangeUser::parse(b"bob\0scramble\0shop\0", Capabilities::PROTOCOL_41).expect("it is well formed");
        assert_eq!(
            (&old.user[..], &old.auth[..], old.database.as_deref()),
            (&b"bob"[..], &b"scramble"[..], Some(&b"shop"[..]))
        );
        assert_eq!((old.collation, &old.auth_plugin[..]), (None, &b""[..]));
        let new = Capabilities::PROTOCOL_41 | Capabilities::SECURE_CONNECTION;
        let read = ChangeUser::parse(b"bob\0\x03abcshop\0\x2d\0", new).expect("it is well formed");
        assert_eq!(
            (&read.auth[..], read.database.as_deref(), read.collation),
            (&b"abc"[..], Some(&b"shop"[..]), Some(45))
        );
        assert!(ChangeUser::parse(b"bob\0\x09abc", new).is_err());
    }

    fn greeting(capabilities: Capabilities) -> Greeting {
        Greeting {
            version: b"9.7.4".to_vec(),
            connection_id: 77,
            nonce: *b"abcdefghijklmnopqrst",
            capabilities,
            collation: 45,
            status: StatusFlags::AUTOCOMMIT,
            auth_plugin: b"caching_sha2_password".to_vec(),
        }
    }

    #[test]
    fn greetings_of_both_kinds_of_server_come_back() {
        let base = Capabilities::PROTOCOL_41 | Capabilities::SECURE_CONNECTION | Capabilities::PLUGIN_AUTH;
        let mysql = greeting(base | Capabilities::LONG_PASSWORD);
        assert_eq!(Greeting::parse(&mysql.encode()), Ok(mysql.clone()));
        assert!(!mysql.is_mariadb());
        let mariadb = greeting(base | Capabilities::MARIADB_EXTENDED_METADATA);
        assert_eq!(Greeting::parse(&mariadb.encode()), Ok(mariadb.clone()));
        assert!(mariadb.is_mariadb());
    }

    #[test]
    fn responses_come_back_with_and_without_each_part() {
        let base = Capabilities::PROTOCOL_41 | Capabilities::SECURE_CONNECTION;
        let optional = [
            Capabilities::empty(),
            Capabilities::CONNECT_WITH_DB,
            Capabilities::PLUGIN_AUTH,
            Capabilities::PLUGIN_AUTH_LENENC_DATA,
            Capabilities::CONNECT_ATTRS,
            Capabilities::ZSTD_COMPRESSION,
        ];
        for a in optional {
            for b in optional {
                let has = |c| (a | b).contains(c);
                let response = HandshakeResponse {
                    capabilities: base | a | b,
                    max_packet: 1 << 24,
                    collation: 255,
                    user: b"joe".to_vec(),
                    auth: vec![9; 32],
                    database: has(Capabilities::CONNECT_WITH_DB).then(|| b"shop".to_vec()),
                    auth_plugin: if has(Capabilities::PLUGIN_AUTH) { b"x".to_vec() } else { Vec::new() },
                    attributes: Attributes::from_iter(has(Capabilities::CONNECT_ATTRS).then_some(("k", "v"))),
                    zstd_level: if has(Capabilities::ZSTD_COMPRESSION) { 5 } else { 0 },
                };
                assert_eq!(HandshakeResponse::parse(&response.encode(), false), Ok(response));
            }
        }
    }

    #[test]
    fn a_response_cut_anywhere_is_an_error_or_a_shorter_response_never_a_panic() {
        let response = HandshakeResponse {
            capabilities: Capabilities::PROTOCOL_41 | Capabilities::SECURE_CONNECTION | Capabilities::CONNECT_ATTRS,
            user: b"joe".to_vec(),
            auth: vec![1; 20],
            attributes: Attributes::from_iter([("a", "b")]),
            ..HandshakeResponse::default()
        };
        let whole = response.encode();
        let shorter = (0..whole.len()).filter(|cut| HandshakeResponse::parse(&whole[..*cut], false).is_ok()).count();
        assert_eq!(shorter, 1, "only the cut right before the attributes leaves a whole response");
        assert!(is_ssl_request(
            &HandshakeResponse { capabilities: Capabilities::SSL, ..response }.encode_ssl_request()
        ));
    }

    #[test]
    fn a_change_of_user_comes_back() {
        let capabilities = Capabilities::SECURE_CONNECTION | Capabilities::PLUGIN_AUTH | Capabilities::CONNECT_ATTRS;
        let request = ChangeUser {
            user: b"joe".to_vec(),
            auth: vec![3; 20],
            database: Some(b"shop".to_vec()),
            collation: Some(45),
            auth_plugin: b"mysql_native_password".to_vec(),
            attributes: Attributes::from_iter([("a", "b")]),
        };
        assert_eq!(ChangeUser::parse(&request.encode()[1..], capabilities), Ok(request));
    }
}
