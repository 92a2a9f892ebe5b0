//! The bytes of a server's answers, packet by packet: what decoding to values forgets (how a number is written, fillers,
//! bytes behind the last field, which packets there are at all) must agree as well.
//!
//! Masked is only what can't agree: the ids of statements, and the order of session-state records (their content is
//! compared decoded). The status flags that [`crate::reply`] leaves out, with reasons, are left out here.

use crate::client::{Fields, Packets};
use crate::login::caps;
use crate::reply::{NOT_OF_THE_ANSWER, SESSION_STATE_CHANGED, Summary};

/// Packets longer than this are data: they are compared decoded.
const LONGEST: usize = 100_000;

/// What a packet is compared as when its bytes hold a statement's id, whose digits change the lengths before them.
const HOLDS_ID: &[u8] = b"(holds the id of a statement)";

/// An OK packet, or one that ends rows as OK, as it is compared: the records of the session's state are left out.
pub(crate) fn keep_ok(packets: &mut Packets, capabilities: u32, decoded: &Summary) {
    packets.keep_as(|packet| {
        let mut fields = Fields(&packet[1..]);
        let (Ok(_), Ok(_)) = (fields.lenenc(), fields.lenenc()) else { return packet.to_vec() };
        let before = packet.len() - fields.0.len();
        let (Ok(status), Ok(warnings)) = (fields.int(2), fields.bytes(2)) else { return packet.to_vec() };
        let mut kept = packet[..before].to_vec();
        // Records that are compared nowhere raise the flag too.
        let untold = if decoded.track.is_empty() { SESSION_STATE_CHANGED } else { 0 };
        kept.extend_from_slice(&(status as u16 & !(untold | NOT_OF_THE_ANSWER)).to_le_bytes());
        kept.extend_from_slice(warnings);
        let told = status as u16 & SESSION_STATE_CHANGED != 0;
        // An empty text is written before records only.
        if capabilities & caps::SESSION_TRACK == 0 || !told {
            kept.extend_from_slice(fields.0);
        } else if !decoded.info.is_empty() {
            let info = fields.0;
            let _ = fields.lenenc_bytes();
            kept.extend_from_slice(&info[..info.len() - fields.0.len()]);
        }
        kept
    });
}

/// An EOF packet as it is compared.
pub(crate) fn keep_eof(packets: &mut Packets) {
    packets.keep_as(|packet| {
        let mut kept = packet.to_vec();
        if let Some([low, high]) = kept.get_mut(3..5) {
            let status = u16::from_le_bytes([*low, *high]) & !(SESSION_STATE_CHANGED | NOT_OF_THE_ANSWER);
            [*low, *high] = status.to_le_bytes();
        }
        kept
    });
}

/// The first packet of COM_STMT_PREPARE's answer as it is compared: without the id.
pub(crate) fn keep_prepared(packets: &mut Packets) {
    packets.keep_as(|packet| {
        let mut kept = packet.to_vec();
        kept[1..5].fill(0);
        kept
    });
}

/// What was kept of a step's answers, with the database's name (`from`) replaced by one of the same length.
pub(crate) fn taken(kept: Vec<Vec<u8>>, from: &[u8], to: &[u8]) -> Vec<Vec<u8>> {
    kept.into_iter()
        .filter(|packet| packet.len() < LONGEST)
        .map(|mut packet| {
            crate::reply::replace(&mut packet, from, to);
            let holds = |word: &[u8]| memchr::memmem::find(&packet, word).is_some();
            if holds(b"The statement (") || holds(b"statement handler (") { HOLDS_ID.to_vec() } else { packet }
        })
        .collect()
}

/// The first packet that differs, printed for a person.
pub(crate) fn difference(step: &str, expected: &[Vec<u8>], got: &[Vec<u8>]) -> Option<String> {
    if expected == got {
        return None;
    }
    let at = expected.iter().zip(got).position(|(a, b)| a != b).unwrap_or(expected.len().min(got.len()));
    let shown: String = step.chars().take(300).collect();
    let print = |packets: &[Vec<u8>]| {
        packets.get(at).map_or("nothing".into(), |packet| {
            format!(
                "{:02x?} {:?}",
                &packet[..packet.len().min(200)],
                String::from_utf8_lossy(&packet[..packet.len().min(200)])
            )
        })
    };
    Some(format!(
        "step: {shown}\n  {} packets from the server, {} from the endpoint; number {at} differs\n  server:   {}\n  endpoint: {}\n",
        expected.len(),
        got.len(),
        print(expected),
        print(got)
    ))
}
