//! Replies that the session takes for itself: read from the bytes that a client would have got.
//!
//! What must always hold: a value becomes a literal of the same value, or the statement fails.

use bytes::BytesMut;
use weir_exec::read::{Column, ColumnKind, Format};
use weir_exec::workbench::Literal;
use weir_plan::Passed;
use weir_program::{Kind, Rows};
use weir_wire::codec::put_lenenc_bytes;
use weir_wire::error::not_supported;
use weir_wire::packets::ErrPacket;
use weir_wire::resultset::parse_text_row;
use weir_wire::{Capabilities, Failure, Fault, Malformed, Reader};

use super::super::super::stopped::malformed;

const HEADER: usize = 4;
const MAX_FRAME: usize = 0xff_ffff;
/// Names in a column's definition. Source: MySQL, `Protocol::ColumnDefinition41`: catalog, database, table, its own name, and then the column's
/// two.
const NAMES: usize = 6;
const OF_TABLE: std::ops::Range<usize> = 1..4;

/// A reply to one statement.
pub(super) enum Reply {
    /// It has no rows.
    Done,
    /// It has rows.
    Rows(Table),
    /// It is an error.
    Failed(Failure),
}

/// A result.
#[derive(Default)]
pub(super) struct Table {
    pub(super) definitions: Vec<Vec<u8>>,
    pub(super) rows: Vec<Vec<u8>>,
}

/// Reads a reply.
pub(super) fn read(bytes: &BytesMut, capabilities: Capabilities) -> Result<Reply, Failure> {
    let mut packets = packets(bytes)?.into_iter();
    let first = packets.next().unwrap_or_default();
    match first.first() {
        Some(0xff) => return failure(&first).map(Reply::Failed),
        Some(0x00) | None => return Ok(Reply::Done),
        Some(_) => {}
    }
    let deprecates = capabilities.contains(Capabilities::DEPRECATE_EOF);
    let columns = Reader::new(&first).lenenc("column count").map_err(malformed)?;
    let mut table = Table::default();
    table.definitions.extend(packets.by_ref().take(usize::try_from(columns).unwrap_or(usize::MAX)));
    if !deprecates {
        packets.next();
    }
    for packet in packets {
        match packet.first() {
            Some(0xff) => return failure(&packet).map(Reply::Failed),
            Some(0xfe) if packet.len() < if deprecates { MAX_FRAME } else { 9 } => break,
            _ => table.rows.push(packet),
        }
    }
    Ok(Reply::Rows(table))
}

fn packets(bytes: &[u8]) -> Result<Vec<Vec<u8>>, Failure> {
    let (mut packets, mut rest, mut goes_on) = (Vec::<Vec<u8>>::new(), bytes, false);
    while let Some((header, behind)) = rest.split_at_checked(HEADER) {
        let length = usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
        let (payload, next) = behind.split_at_checked(length).ok_or_else(|| malformed(Malformed("packet")))?;
        match packets.last_mut() {
            Some(last) if goes_on => last.extend_from_slice(payload),
            _ => packets.push(payload.to_vec()),
        }
        goes_on = length == MAX_FRAME;
        rest = next;
    }
    Ok(packets)
}

/// The failure that an error's packet tells.
pub(super) fn failure(packet: &[u8]) -> Result<Failure, Failure> {
    let error = ErrPacket::parse(packet).map_err(malformed)?;
    Ok(Failure::new(Fault::Server, error.code, &error.sqlstate, String::from_utf8_lossy(error.message)).maybe_done())
}

impl Table {
    /// Its rows as the text protocol has them.
    pub(super) fn cells(&self) -> Result<Vec<Vec<Option<Vec<u8>>>>, Failure> {
        self.rows.iter().map(|packet| parse_text_row(packet).map_err(malformed)).collect()
    }

    fn columns(&self, capabilities: Capabilities) -> Result<Vec<Column>, Failure> {
        let column = |definition: &Vec<u8>| Column::parse(definition, capabilities).map_err(malformed);
        self.definitions.iter().map(column).collect()
    }

    /// Its rows as literals of statements in the text protocol.
    pub(super) fn literals(&self, capabilities: Capabilities) -> Result<Rows, Failure> {
        let columns = self.columns(capabilities)?;
        let literals: Vec<Literal> = columns.iter().map(literal).collect();
        let row = |packet: &Vec<u8>| {
            let cells = parse_text_row(packet).map_err(malformed)?;
            let cell = |(literal, cell): (&Literal, Option<Vec<u8>>)| {
                let mut out = Vec::new();
                literal.put(cell.as_deref(), &mut out).map(|()| out).map_err(|_| strange())
            };
            literals.iter().zip(cells).map(cell).collect::<Result<Vec<_>, Failure>>()
        };
        let rows: Result<_, Failure> = self.rows.iter().map(row).collect();
        Ok(Rows { columns: columns.len(), names: Vec::new(), rows: rows? })
    }

    /// Its rows as values of the types that its columns have. `literal`: how a text, or something with a kind, is written.
    pub(super) fn fields(
        &self,
        capabilities: Capabilities,
        typed: impl Fn(Kind, Option<Vec<u8>>) -> Vec<u8>,
    ) -> Result<Rows, Failure> {
        let columns = self.columns(capabilities)?;
        let mut rows = Rows { columns: columns.len(), names: self.names()?, ..Rows::default() };
        for cells in self.cells()? {
            let value = |(column, cell): (&Column, Option<Vec<u8>>)| match kind_of(column) {
                Some(Kind::Text) => {
                    let hex =
                        cell.map(|cell| cell.iter().flat_map(|byte| format!("{byte:02X}").into_bytes()).collect());
                    Ok(typed(Kind::Text, hex))
                }
                Some(kind) => Ok(typed(kind, cell)),
                None => {
                    let mut out = Vec::new();
                    literal(column).put(cell.as_deref(), &mut out).map(|()| out).map_err(|_| strange())
                }
            };
            let row: Result<Vec<Vec<u8>>, Failure> = columns.iter().zip(cells).map(value).collect();
            rows.rows.push_back(row?);
        }
        Ok(rows)
    }

    /// The names of its columns.
    fn names(&self) -> Result<Vec<String>, Failure> {
        const NAME: usize = 4;
        let name = |definition: &Vec<u8>| {
            let mut r = Reader::new(definition);
            for _ in 0..NAME {
                r.lenenc_bytes("column definition").map_err(malformed)?;
            }
            let name = r.lenenc_bytes("column definition").map_err(malformed)?;
            Ok(String::from_utf8_lossy(name).into_owned())
        };
        self.definitions.iter().map(name).collect()
    }

    /// Its definitions as those of a query that reads no table.
    pub(super) fn without_table(&self) -> Result<Vec<Vec<u8>>, Failure> {
        let of = |definition: &Vec<u8>| {
            let mut r = Reader::new(definition);
            let mut out = Vec::with_capacity(definition.len());
            for place in 0..NAMES {
                let name = r.lenenc_bytes("column definition").map_err(malformed)?;
                put_lenenc_bytes(&mut out, if OF_TABLE.contains(&place) { b"" } else { name });
            }
            out.extend_from_slice(r.rest());
            Ok(out)
        };
        self.definitions.iter().map(of).collect()
    }
}

/// What the values of a column are, if variables have such.
fn kind_of(column: &Column) -> Option<Kind> {
    const DATE: u8 = 0x0a;
    const BIT: u8 = 0x10;
    const BINARY: u16 = 63;
    Some(match column.kind {
        ColumnKind::Integer { .. } => Kind::Integer,
        ColumnKind::Decimal => Kind::Decimal,
        ColumnKind::Double => Kind::Double,
        ColumnKind::Date if column.code == DATE => Kind::Date,
        ColumnKind::Date => Kind::DateTime,
        ColumnKind::Time => Kind::Time,
        ColumnKind::Bytes if column.code != BIT && column.collation != BINARY => Kind::Text,
        ColumnKind::Float | ColumnKind::Bytes => return None,
    })
}

/// How values of a column are written. A FLOAT's digits do not tell its value.
fn literal(column: &Column) -> Literal {
    const BIT: u8 = 0x10;
    const BINARY: u16 = 63;
    let passed = match column.kind {
        ColumnKind::Float => return Literal::Strange,
        ColumnKind::Integer { .. } | ColumnKind::Decimal | ColumnKind::Double => Passed::Number,
        ColumnKind::Date | ColumnKind::Time => Passed::Ascii,
        ColumnKind::Bytes if column.code == BIT => return Literal::Strange,
        ColumnKind::Bytes if column.collation == BINARY => Passed::Bytes,
        ColumnKind::Bytes => Passed::Utf8,
    };
    Literal::of(passed, column, Format::Text)
}

fn strange() -> Failure {
    not_supported(
        "A procedure that Weir runs statement by statement can't take values of FLOAT and BIT columns: CAST them in its query (AS DOUBLE, AS UNSIGNED)",
    )
}
