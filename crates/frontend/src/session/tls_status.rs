//! What the status of a session tells of TLS (`Ssl_cipher`, `Ssl_version`, …): the server answers for Weir's connection to it, and the
//! client asks for its own.
//!
//! What must always hold: everything else of the reply is as the server made it; what is held back until it has come is bounded.

use bytes::BytesMut;
use weir_sql::{Class, Effects};
use weir_wire::codec::put_lenenc_bytes;
use weir_wire::frame::{PacketReader, put_packet};
use weir_wire::{Capabilities, Reader};

use super::Session;

/// Types of columns that hold text: VARCHAR, the BLOBs, VARCHAR and CHAR of tables. Source: MySQL, `enum_field_types`.
const TEXTS: [u8; 7] = [0x0f, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe];

/// A client's TLS: the suite and the version by their names in OpenSSL, which servers tell.
type Tls = Option<(String, &'static str)>;

impl Session {
    /// A statement begins. Where its reply may tell of TLS it is held back; returns where it begins then.
    pub(super) fn hold_status(&mut self, class: &Class, text: &[u8]) -> Option<usize> {
        let asks = class.effects.contains(Effects::READS)
            && asks_for_status(text, class.effects.contains(Effects::SERVER_STATE));
        asks.then(|| self.client.hold_output())
    }

    /// The statement has ended: its reply tells of the client's TLS. `from`: where it begins, if it is held back.
    pub(super) fn tell_own_tls(&mut self, from: Option<usize>, binary: bool) {
        let Some(from) = from else { return };
        // Too much has come to be this.
        if !self.client.let_output_go() {
            return;
        }
        let tls = self.client.stream().tls();
        let eof = !self.client.capabilities.contains(Capabilities::DEPRECATE_EOF);
        let reply = self.client.output.split_off(from.min(self.client.output.len()));
        let corrected = corrected(&reply, &tls, eof, binary);
        self.client.output.extend_from_slice(corrected.as_deref().unwrap_or(&reply));
    }
}

/// Whether a text may ask for the session's status, by any of its names. `tables`: it reads tables of the server's own.
fn asks_for_status(text: &[u8], tables: bool) -> bool {
    const LONGEST: usize = 16 * 1024;
    let text = &text[..text.len().min(LONGEST)];
    let has = |word: &[u8]| text.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    let begins = text.trim_ascii_start().get(..4).is_some_and(|word| word.eq_ignore_ascii_case(b"SHOW"));
    begins && has(b"STATUS")
        || tables && [&b"session_status"[..], b"global_status", b"status_by_thread"].iter().any(|table| has(table))
}

/// The value of a status variable that is about the session's TLS, unless the server's may stay.
fn value<'t>(name: &[u8], tls: &'t Tls) -> Option<&'t str> {
    let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
    match tls {
        Some((cipher, _)) if is("Ssl_cipher") => Some(cipher),
        Some((_, version)) if is("Ssl_version") => Some(version),
        // What Weir's own TLS library does not tell of a connection is what it is without TLS, or the server's.
        Some(_) => None,
        None if ["Ssl_cipher", "Ssl_version", "Ssl_cipher_list", "Ssl_server_not_after", "Ssl_server_not_before"]
            .into_iter()
            .any(is) =>
        {
            Some("")
        }
        None if ["Ssl_verify_mode", "Ssl_verify_depth", "Ssl_default_timeout", "Ssl_session_reused"]
            .into_iter()
            .any(is) =>
        {
            Some("0")
        }
        None => None,
    }
}

/// A reply with the client's TLS in it; `None` if there is nothing to change, or what it is made of is not known.
fn corrected(reply: &[u8], tls: &Tls, eof: bool, binary: bool) -> Option<BytesMut> {
    let mut input = BytesMut::from(reply);
    let mut packets = PacketReader::new();
    packets.set_next_seq(*reply.get(3)?);
    let mut next = || packets.next(&mut input, usize::MAX).ok().flatten();
    let (mut out, mut seq, mut changed) = (BytesMut::with_capacity(reply.len() + 64), *reply.get(3)?, false);
    let head = next()?;
    let columns = match head.first()? {
        0x00 | 0xfb | 0xff => return None,
        _ => usize::try_from(Reader::new(&head).lenenc("column count").ok()?).ok()?,
    };
    seq = put_packet(&mut out, seq, &head);
    for _ in 0..columns {
        let definition = next()?;
        if binary && !is_text(&definition)? {
            return None;
        }
        seq = put_packet(&mut out, seq, &definition);
    }
    if eof {
        seq = put_packet(&mut out, seq, &next()?);
    }
    while let Some(packet) = next() {
        let is_end = matches!(packet.first(), Some(0xfe | 0xff)) && packet.len() < 0xff_ffff;
        let row = if is_end { None } else { with_own(&packet, columns, tls, binary) };
        changed |= row.is_some();
        seq = put_packet(&mut out, seq, row.as_deref().unwrap_or(&packet));
        if is_end {
            break;
        }
    }
    // Of another result behind this one nothing is known: it stays as it is.
    let rest = reply.len().checked_sub(input.len())?;
    out.extend_from_slice(&reply[rest..]);
    changed.then_some(out)
}

/// Whether a column's definition is one of text.
fn is_text(definition: &[u8]) -> Option<bool> {
    // Behind the names and the length of the rest: character set, length, type, flags, decimals, and two bytes more.
    const BEHIND: usize = 1 + 2 + 1 + 2;
    let at = definition.len().checked_sub(BEHIND)?;
    Some(TEXTS.contains(definition.get(at)?))
}

/// A row in which the value behind a variable's name is the client's own; `None` if there is no such name in it.
fn with_own(row: &[u8], columns: usize, tls: &Tls, binary: bool) -> Option<Vec<u8>> {
    // A binary row begins with a byte that is 0, and a bit for each NULL.
    let head = if binary { 1 + (columns + 7 + 2) / 8 } else { 0 };
    let is_null = |column: usize| {
        let bit = column + 2;
        binary && row.get(1 + bit / 8).is_some_and(|byte| byte & (1 << (bit % 8)) != 0)
    };
    let mut out = row.get(..head)?.to_vec();
    let mut reader = Reader::new(&row[head..]);
    let mut own: Option<&str> = None;
    let mut changed = false;
    for column in 0..columns {
        if is_null(column) {
            own = None;
            continue;
        }
        let Some(cell) = reader.cell("status").ok()? else {
            out.push(0xfb);
            own = None;
            continue;
        };
        changed |= own.is_some();
        put_lenenc_bytes(&mut out, own.map_or(cell, str::as_bytes));
        own = value(cell, tls);
    }
    changed.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(rows: &[&[&[u8]]], eof: bool) -> BytesMut {
        let mut out = BytesMut::new();
        let mut seq = put_packet(&mut out, 1, &[2]);
        for _ in 0..2 {
            seq = put_packet(&mut out, seq, b"\x03def\0\0\0\x01a\0\x0c\x2d\0\0\x01\0\0\xfd\0\0\0\0\0");
        }
        if eof {
            seq = put_packet(&mut out, seq, b"\xfe\0\0\x02\0");
        }
        for row in rows {
            let mut cells = Vec::new();
            row.iter().for_each(|cell| put_lenenc_bytes(&mut cells, cell));
            seq = put_packet(&mut out, seq, &cells);
        }
        put_packet(&mut out, seq, if eof { b"\xfe\0\0\x02\0" } else { b"\xfe\0\0\x02\0\0\0" });
        out
    }

    #[test]
    fn the_values_behind_the_names_are_the_clients() {
        let tls = Some(("TLS_AES_256_GCM_SHA384".to_owned(), "TLSv1.3"));
        for eof in [false, true] {
            let server = reply(&[&[b"Ssl_cipher", b""], &[b"Threads", b"5"], &[b"ssl_version", b"x"]], eof);
            let own = reply(
                &[&[b"Ssl_cipher", b"TLS_AES_256_GCM_SHA384"], &[b"Threads", b"5"], &[b"ssl_version", b"TLSv1.3"]],
                eof,
            );
            assert_eq!(corrected(&server, &tls, eof, false).as_deref(), Some(&own[..]));
            let none = reply(&[&[b"Ssl_cipher", b""], &[b"Threads", b"5"], &[b"ssl_version", b""]], eof);
            assert_eq!(corrected(&server, &None, eof, false).as_deref(), Some(&none[..]));
            let others = reply(&[&[b"Threads", b"5"]], eof);
            assert!(corrected(&others, &None, eof, false).is_none());
            for cut in 0..server.len() {
                // What is cut short is no reason to panic.
                let _ = corrected(&server[..cut], &tls, eof, false);
            }
        }
    }

    #[test]
    fn a_binary_row_has_its_nulls_in_front() {
        let row = |value: &[u8]| [b"\0\0\x0aSsl_cipher", &[value.len() as u8][..], value].concat();
        assert_eq!(with_own(&row(b"AES"), 2, &None, true), Some(row(b"")));
        assert_eq!(with_own(b"\0\x08\x0aSsl_cipher", 2, &None, true), None);
    }

    #[test]
    fn texts_that_ask_for_the_status_are_known() {
        let asks =
            ["SHOW STATUS", "show session status like 'ssl%'", "SELECT * FROM performance_schema.session_status"];
        assert!(asks.iter().all(|text| asks_for_status(text.as_bytes(), true)));
        assert!(!asks_for_status(b"SELECT a_b FROM t", true) && !asks_for_status(b"SHOW TABLES", false));
    }
}
