//! Taking compressed events and transactions apart.
//!
//! What must always hold: no more memory is taken than what has been unpacked, whatever length an event claims; a bound ends that.

use std::io::Read;

use crate::codec::Reader;

use super::BinlogError;
use super::event::{HEADER, u64_of};

/// The most bytes of one event that is unpacked: MariaDB's and MySQL's largest packet.
const MOST: u64 = 1 << 30;

/// Unpacks what MariaDB has compressed within an event. Source: MariaDB, `binlog_buf_uncompress`.
pub(super) fn mariadb(bytes: &[u8]) -> Result<Vec<u8>, BinlogError> {
    const WHAT: &str = "compressed part";
    let mut r = Reader::new(bytes);
    let head = r.u8(WHAT)?;
    // The algorithm: zlib is the only one.
    if head & 0x70 != 0 {
        return Err(BinlogError::Malformed("compression of an unknown kind"));
    }
    let mut length = 0_u64;
    for byte in r.bytes(usize::from(head & 0x07), WHAT)? {
        length = length << 8 | u64::from(*byte);
    }
    if length > MOST {
        return Err(BinlogError::Malformed("compressed part of too many bytes"));
    }
    let mut out = Vec::new();
    let unpacked = flate2::read::ZlibDecoder::new(r.take_rest()).take(length + 1).read_to_end(&mut out);
    match unpacked {
        Ok(read) if read as u64 == length => Ok(out),
        _ => Err(BinlogError::Malformed("compressed part that can't be unpacked")),
    }
}

/// The events of a transaction that MySQL has compressed, one after the other. Source: MySQL, `Transaction_payload_event`.
pub(super) struct Payload<'a> {
    stream: Box<dyn Read + Send + 'a>,
}

impl<'a> Payload<'a> {
    pub(super) fn open(body: &'a [u8]) -> Result<Payload<'a>, BinlogError> {
        const WHAT: &str = "transaction payload";
        let mut r = Reader::new(body);
        // ZSTD, unless a field says otherwise.
        let mut compression = 0;
        loop {
            let field = r.lenenc(WHAT)?;
            if field == 0 {
                break;
            }
            let value = r.lenenc_bytes(WHAT)?;
            if field == 2 {
                compression = Reader::new(value).lenenc(WHAT)?;
            }
        }
        let rest = r.take_rest();
        let stream: Box<dyn Read + Send + 'a> = match compression {
            0 => Box::new(zstd::Decoder::with_buffer(rest).map_err(|_| BinlogError::Malformed(WHAT))?),
            255 => Box::new(rest),
            _ => return Err(BinlogError::Malformed("transaction payload of an unknown compression")),
        };
        Ok(Payload { stream })
    }

    /// Reads the next event into `event`; `false` at the end.
    pub(super) fn next(&mut self, event: &mut Vec<u8>) -> Result<bool, BinlogError> {
        const WHAT: &str = "event of a transaction payload";
        event.clear();
        let broken = |_| BinlogError::Malformed(WHAT);
        self.stream.by_ref().take(HEADER as u64).read_to_end(event).map_err(broken)?;
        if event.is_empty() {
            return Ok(false);
        }
        let mut r = Reader::new(event);
        let timestamp_and_more = u64_of(&mut r, WHAT)?;
        let _ = (timestamp_and_more, r.u8(WHAT)?);
        let size = u64::from(r.u32(WHAT)?);
        if size < HEADER as u64 || size > MOST {
            return Err(BinlogError::Malformed(WHAT));
        }
        let rest = size - HEADER as u64;
        let read = self.stream.by_ref().take(rest).read_to_end(event).map_err(broken)?;
        if read as u64 != rest {
            return Err(BinlogError::Malformed(WHAT));
        }
        Ok(true)
    }
}
