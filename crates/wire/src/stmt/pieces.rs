//! Values that came in pieces (COM_STMT_SEND_LONG_DATA), put where an execution leaves them out.

use std::collections::BTreeMap;

use super::{Execute, TYPE_VAR_STRING, skip_value};
use crate::codec::{Malformed, Reader, put_lenenc_bytes};

/// One piece: the number of its parameter, and the bytes.
///
/// # Errors
/// When the payload (command byte included) is cut short.
pub fn piece(payload: &[u8]) -> Result<(u16, &[u8]), Malformed> {
    let mut r = Reader::new(payload);
    r.u8("command")?;
    r.u32("statement id")?;
    let parameter = r.u16("parameter number")?;
    Ok((parameter, r.take_rest()))
}

impl Execute<'_> {
    /// The payload of the execution with these values, by the numbers of their parameters, as if they had come with it. Its own
    /// parameters have `types`, in the form of [`Execute::types`]. `named`: query attributes were negotiated.
    ///
    /// # Errors
    /// When the packet is cut short.
    pub fn joined(&self, types: &[u8], pieces: &BTreeMap<u16, Vec<u8>>, named: bool) -> Result<Vec<u8>, Malformed> {
        let (mut kinds, mut values, mut nulls) = (Reader::new(types), Reader::new(self.values), self.nulls.to_vec());
        let (mut all_types, mut all_values) = (Vec::with_capacity(types.len()), Vec::new());
        for at in 0..self.params as usize {
            let start = kinds.rest();
            let kind = kinds.u16("parameter type")? as u8;
            if named {
                kinds.lenenc_bytes("parameter name")?;
            }
            let told = &start[..start.len() - kinds.rest().len()];
            let piece = u16::try_from(at).ok().and_then(|at| pieces.get(&at));
            if let Some(piece) = piece {
                // Servers look at neither the bitmap nor a value of such a parameter.
                nulls[at / 8] &= !(1 << (at % 8));
                all_types.push(if has_length(kind) { kind } else { TYPE_VAR_STRING });
                all_types.extend_from_slice(&told[1..]);
                put_lenenc_bytes(&mut all_values, piece);
                continue;
            }
            all_types.extend_from_slice(told);
            let value = values.rest();
            if !self.is_null(at) {
                skip_value(&mut values, kind)?;
            }
            all_values.extend_from_slice(&value[..value.len() - values.rest().len()]);
        }
        Ok(Execute { nulls: &nulls, values: &all_values, ..*self }.encode(self.id, Some(&all_types)))
    }
}

/// Whether a value of this type is a text with its length before it.
fn has_length(kind: u8) -> bool {
    matches!(kind, 0x0f | 0x10 | 0xf5..=0xff | 0x00)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Capabilities;

    #[test]
    fn pieces_take_the_places_of_their_parameters() {
        // Four parameters: an INT, a LONG_BLOB in pieces, a NULL in pieces, a TINY. The second and third are NULL in the bitmap.
        let head = [0x17, 7, 0, 0, 0, 0, 1, 0, 0, 0];
        let types = [0x03, 0, 0xfb, 0, 0x06, 0, 0x01, 0x80];
        let values = [5, 0, 0, 0, 9];
        let packet = [&head[..], &[0b0110, 1], &types, &values].concat();
        let execute = Execute::parse(&packet, 4, Capabilities::empty()).expect("an execution");
        let pieces = BTreeMap::from([(1, b"abc".to_vec()), (2, b"".to_vec())]);
        let joined = execute.joined(&types, &pieces, false).expect("joined");
        let types = [0x03, 0, 0xfb, 0, 0xfd, 0, 0x01, 0x80];
        let values = [5, 0, 0, 0, 3, b'a', b'b', b'c', 0, 9];
        assert_eq!(joined, [&head[..], &[0, 1], &types, &values].concat());
    }

    #[test]
    fn names_of_attributes_stay() {
        let attributes = Capabilities::QUERY_ATTRIBUTES;
        let head = [0x17, 7, 0, 0, 0, 8, 1, 0, 0, 0, 2];
        let types = [0xfc, 0, 0, 0x03, 0, 1, b'n'];
        let packet = [&head[..], &[0, 1], &types, &[6, 0, 0, 0]].concat();
        let execute = Execute::parse(&packet, 1, attributes).expect("an execution");
        let joined = execute.joined(&types, &BTreeMap::from([(0, b"z".to_vec())]), true).expect("joined");
        assert_eq!(joined, [&head[..], &[0, 1], &types, &[1, b'z', 6, 0, 0, 0]].concat());
    }

    #[test]
    fn a_piece_has_its_number() {
        assert_eq!(piece(&[0x18, 1, 0, 0, 0, 2, 0, b'x']).expect("a piece"), (2, &b"x"[..]));
        assert!(piece(&[0x18, 1, 0, 0, 0, 2]).is_err());
    }
}
