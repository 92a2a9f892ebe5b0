//! Rows that the parts return of what they have written (RETURNING), and how they become the client's.
//!
//! What must always hold: the bytes kept are bounded, whatever the parts return; the client gets rows only after all parts have succeeded;
//! they are in the format that it wants, as the servers made them.

use bytes::BytesMut;
use weir_plan::Returns;
use weir_wire::codec::put_lenenc;
use weir_wire::frame::PacketReader;
use weir_wire::packets::{EofPacket, OkPacket};
use weir_wire::{Capabilities, Failure, Reader, StatusFlags};

use super::internal;
use crate::Sink;
use weir_wire::error::{codes, not_supported};

/// The most bytes that all parts of a statement may return.
pub(super) const MOST: usize = 64 * 1024 * 1024;

/// A result: payloads, in the format of the client's protocol.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Returned {
    /// The definitions of the columns.
    pub columns: Vec<BytesMut>,
    /// The rows.
    pub rows: Vec<BytesMut>,
}

/// Bytes of a reply, kept as they come.
#[derive(Debug)]
pub(super) struct Keeper {
    bytes: BytesMut,
    /// So many may still be kept; `None`: nothing is.
    room: Option<usize>,
    /// More came.
    over: bool,
}

impl Keeper {
    /// Keeps nothing: the statement returns nothing, or the rows of another part are taken.
    pub(super) fn of_nothing() -> Keeper {
        Keeper { bytes: BytesMut::new(), room: None, over: false }
    }

    /// Keeps at most so many bytes.
    pub(super) fn of(room: usize) -> Keeper {
        Keeper { bytes: BytesMut::new(), room: Some(room), over: false }
    }

    pub(super) fn keep(&mut self, bytes: &[u8]) {
        let Some(room) = &mut self.room else { return };
        self.over |= bytes.len() > *room;
        if self.over {
            self.bytes = BytesMut::new();
            return;
        }
        *room -= bytes.len();
        self.bytes.extend_from_slice(bytes);
    }

    /// How much more could be kept, of `before` that could be.
    pub(super) fn room(&self, before: usize) -> usize {
        self.room.unwrap_or(before)
    }

    /// The packets of one result: the column count, the definitions, perhaps an EOF, the rows.
    pub(super) fn result(&mut self, capabilities: Capabilities) -> Result<Returned, Failure> {
        if self.over {
            return Err(too_many());
        }
        let malformed = |_| internal("a server returned rows that can't be read");
        let mut bytes = std::mem::take(&mut self.bytes);
        let (mut reader, mut returned) = (PacketReader::new(), Returned::default());
        // The statement was the packet with number 0.
        reader.set_next_seq(1);
        let Some(count) = reader.next(&mut bytes, MOST).map_err(malformed)? else { return Ok(returned) };
        let count = Reader::new(&count).lenenc("column count").map_err(|e| internal(&e.to_string()))?;
        let mut eof = !capabilities.contains(Capabilities::DEPRECATE_EOF);
        while let Some(packet) = reader.next(&mut bytes, MOST).map_err(malformed)? {
            if (returned.columns.len() as u64) < count {
                returned.columns.push(packet);
            } else if std::mem::take(&mut eof) {
                // What ends the definitions.
            } else {
                returned.rows.push(packet);
            }
        }
        Ok(returned)
    }
}

/// The client's rows, of what the texts have returned.
pub(super) fn together(returns: &Returns, mut results: Vec<Returned>) -> Result<Returned, Failure> {
    let described = results.iter_mut().find(|result| !result.columns.is_empty());
    let columns = described.map(|result| std::mem::take(&mut result.columns)).unwrap_or_default();
    let rows = match returns {
        Returns::OfOne => results.into_iter().next().map(|result| result.rows).unwrap_or_default(),
        Returns::All => results.into_iter().flat_map(|result| result.rows).collect(),
        Returns::InOrder(places) => in_order(places, results)?,
    };
    Ok(Returned { columns, rows })
}

fn in_order(places: &[usize], results: Vec<Returned>) -> Result<Vec<BytesMut>, Failure> {
    let mut results: Vec<_> = results.into_iter().map(|result| result.rows.into_iter()).collect();
    let next = |place: &usize| results.get_mut(*place)?.next();
    let rows: Option<Vec<BytesMut>> = places.iter().map(next).collect();
    match rows {
        Some(rows) if results.iter().all(|rest| rest.len() == 0) => Ok(rows),
        _ => Err(not_supported(
            "RETURNING of rows that go to several shards: not each of them was returned once, so their order is not known. Write them one \
             by one",
        )),
    }
}

pub(super) fn too_many() -> Failure {
    let message = format!(
        "Out of sort memory: the rows that RETURNING gives have more than {MOST} bytes, which are kept until all shards have written \
         theirs. Return fewer columns, or write fewer rows at once"
    );
    Failure::client(codes::ER_OUT_OF_SORTMEMORY, message)
}

impl Returned {
    /// Hands the result to the client.
    ///
    /// # Errors
    /// When it is gone, or does not read.
    pub async fn tell(
        &self,
        warnings: u16,
        status: StatusFlags,
        capabilities: Capabilities,
        sink: &mut impl Sink,
    ) -> Result<(), Failure> {
        let mut count = Vec::with_capacity(3);
        put_lenenc(&mut count, self.columns.len() as u64);
        sink.put(&count);
        self.columns.iter().for_each(|definition| sink.put(definition));
        let deprecates_eof = capabilities.contains(Capabilities::DEPRECATE_EOF);
        if !deprecates_eof {
            sink.put(&EofPacket { warnings: 0, status }.encode());
        }
        for row in &self.rows {
            sink.put(row);
            if sink.is_full() {
                sink.flush().await?;
            }
        }
        if deprecates_eof {
            sink.put(&OkPacket { header: 0xfe, warnings, ..OkPacket::plain(status) }.encode(capabilities));
        } else {
            sink.put(&EofPacket { warnings, status }.encode());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use weir_wire::frame::put_packet;

    use super::*;

    /// What comes before the end of a result.
    fn reply(columns: u8, rows: &[&[u8]], eof: bool) -> BytesMut {
        let mut bytes = BytesMut::new();
        let mut seq = put_packet(&mut bytes, 1, &[columns]);
        for column in 0..columns {
            seq = put_packet(&mut bytes, seq, &[b'c', column]);
        }
        if eof {
            seq = put_packet(&mut bytes, seq, &EofPacket { warnings: 0, status: StatusFlags::empty() }.encode());
        }
        for row in rows {
            seq = put_packet(&mut bytes, seq, row);
        }
        bytes
    }

    fn result(rows: &[&[u8]]) -> Returned {
        let mut keeper = Keeper::of(MOST);
        keeper.keep(&reply(1, rows, false));
        keeper.result(Capabilities::DEPRECATE_EOF).expect("it is a result")
    }

    fn told(returns: &Returns, results: &[Returned]) -> Result<Vec<String>, u16> {
        let returned = together(returns, results.to_vec()).map_err(|failure| failure.code)?;
        assert_eq!(returned.columns.len(), 1);
        Ok(returned.rows.iter().map(|row| String::from_utf8_lossy(row).into_owned()).collect())
    }

    #[test]
    fn a_result_is_read_with_the_eof_of_its_columns_and_without() {
        for (eof, capabilities) in [(true, Capabilities::empty()), (false, Capabilities::DEPRECATE_EOF)] {
            for rows in [&[][..], &[&b"one"[..]], &[b"\xfe", b""]] {
                let mut keeper = Keeper::of(MOST);
                // However it was cut.
                reply(2, rows, eof).chunks(3).for_each(|bytes| keeper.keep(bytes));
                let returned = keeper.result(capabilities).expect("it is a result");
                assert_eq!(returned.columns, [&b"c\0"[..], b"c\x01"]);
                assert_eq!(returned.rows, rows);
            }
        }
    }

    #[test]
    fn a_row_of_several_frames_is_one() {
        let long = vec![b'x'; weir_wire::frame::MAX_FRAME + 5];
        let mut keeper = Keeper::of(MOST);
        keeper.keep(&reply(1, &[&long, b"short"], false));
        let returned = keeper.result(Capabilities::DEPRECATE_EOF).expect("it is a result");
        assert_eq!(returned.rows.iter().map(|row| row.len()).collect::<Vec<_>>(), [long.len(), 5]);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut keeper = Keeper::of(10);
        keeper.keep(b"123456");
        assert_eq!(keeper.room(10), 4);
        keeper.keep(b"12345");
        keeper.keep(b"1");
        assert!(keeper.bytes.is_empty());
        assert_eq!(
            keeper.result(Capabilities::empty()).map_err(|failure| failure.code),
            Err(codes::ER_OUT_OF_SORTMEMORY)
        );
        let mut nothing = Keeper::of_nothing();
        nothing.keep(b"whatever it is");
        assert_eq!((nothing.room(10), nothing.result(Capabilities::empty())), (10, Ok(Returned::default())));
    }

    #[test]
    fn rows_of_several_texts_come_in_the_order_of_the_clients() {
        let both = || [result(&[b"a", b"c"]), result(&[b"b", b"d", b"e"])];
        let told = |returns| told(&returns, &both());
        assert_eq!(told(Returns::InOrder(vec![0, 1, 0, 1, 1])), Ok(["a", "b", "c", "d", "e"].map(String::from).into()));
        assert_eq!(told(Returns::All), Ok(["a", "c", "b", "d", "e"].map(String::from).into()));
        assert_eq!(told(Returns::OfOne), Ok(["a", "c"].map(String::from).into()));
    }

    #[test]
    fn rows_that_are_not_those_of_the_text_are_refused() {
        for places in [vec![0, 1], vec![0, 0, 0], vec![0, 0, 1, 1], vec![0, 2, 0]] {
            let results = [result(&[b"a", b"c"]), result(&[b"b"])];
            assert_eq!(told(&Returns::InOrder(places), &results), Err(1235));
        }
    }
}
