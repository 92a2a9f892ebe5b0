//! Column definitions of a result over temporary tables, told as those of the tables that these stand for; so are errors.
//!
//! What must always hold: a definition keeps its layout, and all but the names of the table and the flags of keys and defaults, which the
//! temporary table does not have; what it says otherwise (the type, NOT NULL, the character set) is the query's own.

use weir_plan::Fragment;
use weir_wire::codec::put_lenenc_bytes;
use weir_wire::packets::ErrPacket;
use weir_wire::{Capabilities, Failure, Malformed, Reader};

use super::names::with_tables;
use super::tables;
use crate::Sink;

/// Flags of a definition. Source: MySQL, `mysql_com.h`.
mod flags {
    const PRI_KEY: u16 = 0x2;
    const UNIQUE_KEY: u16 = 0x4;
    const MULTIPLE_KEY: u16 = 0x8;
    const AUTO_INCREMENT: u16 = 0x200;
    const TIMESTAMP: u16 = 0x400;
    const ON_UPDATE_NOW: u16 = 0x2000;
    pub(super) const PART_KEY: u16 = 0x4000;
    /// Those that a column has as long as no table of the server's own (to group or to sort in) is between it and the result.
    pub(super) const DIRECT: u16 =
        PRI_KEY | UNIQUE_KEY | MULTIPLE_KEY | AUTO_INCREMENT | TIMESTAMP | ON_UPDATE_NOW | PART_KEY;
    /// Those that come from the table, and not from the query.
    pub(super) const OF_TABLE: u16 = DIRECT | NO_DEFAULT_VALUE;
    const NO_DEFAULT_VALUE: u16 = 0x1000;
}

/// A column definition in its parts.
#[derive(Debug, Clone, Copy)]
struct Definition<'d> {
    /// Catalog, database, alias, table, name, the column's own name.
    names: [&'d [u8]; 6],
    /// MariaDB's name of a type that is none of the protocol's.
    extended: Option<&'d [u8]>,
    /// What follows, of a fixed size.
    rest: &'d [u8],
}

/// Places in [`Definition::names`].
const TABLE: usize = 3;
const COLUMN: usize = 5;
/// The place of the flags in [`Definition::rest`]: behind its length, the collation, the length of values, and the type.
const FLAGS: usize = 1 + 2 + 4 + 1;

impl<'d> Definition<'d> {
    fn parse(payload: &'d [u8], capabilities: Capabilities) -> Result<Definition<'d>, Malformed> {
        let mut r = Reader::new(payload);
        let mut names = [&b""[..]; 6];
        for name in &mut names {
            *name = r.lenenc_bytes("column definition")?;
        }
        let extended = match capabilities.contains(Capabilities::MARIADB_EXTENDED_METADATA) {
            true => Some(r.lenenc_bytes("extended type")?),
            false => None,
        };
        let rest = r.rest();
        if rest.len() < FLAGS + 2 {
            return Err(Malformed("column definition"));
        }
        Ok(Definition { names, extended, rest })
    }

    fn flags(&self) -> u16 {
        u16::from_le_bytes([self.rest[FLAGS], self.rest[FLAGS + 1]])
    }

    fn encode(&self, flags: u16) -> Vec<u8> {
        let mut out = Vec::new();
        for name in self.names.iter().copied().chain(self.extended) {
            put_lenenc_bytes(&mut out, name);
        }
        let rest = out.len();
        out.extend_from_slice(self.rest);
        out[rest + FLAGS..rest + FLAGS + 2].copy_from_slice(&flags.to_le_bytes());
        out
    }
}

/// A table that a temporary one stands for.
#[derive(Debug)]
pub(super) struct Original {
    /// The name of the temporary table.
    stands_in: String,
    table: Vec<u8>,
    columns: Vec<OriginalColumn>,
}

#[derive(Debug)]
struct OriginalColumn {
    name: Vec<u8>,
    flags: u16,
    extended: Option<Vec<u8>>,
    /// It is in a key of the temporary table.
    in_key: bool,
}

impl Original {
    /// The table of a fragment, whose columns have these definitions; none: nothing is known of them but their names.
    pub(super) fn new(fragment: &Fragment, head: &[Vec<u8>], capabilities: Capabilities) -> Original {
        let parsed = head.iter().map(|definition| Definition::parse(definition, capabilities));
        let definitions: Vec<Definition<'_>> = parsed.filter_map(Result::ok).collect();
        let table = definitions.first().map_or(fragment.table.table.as_bytes(), |first| first.names[TABLE]);
        let column = |(place, definition): (usize, &Definition<'_>)| OriginalColumn {
            name: definition.names[COLUMN].to_vec(),
            flags: definition.flags() & flags::OF_TABLE,
            extended: definition.extended.map(<[u8]>::to_vec),
            in_key: tables::keys(fragment).any(|(_, key)| key.contains(&place)),
        };
        let columns = match definitions.len() == fragment.columns.len() {
            true => definitions.iter().enumerate().map(column).collect(),
            false => Vec::new(),
        };
        Original { stands_in: fragment.name.clone(), table: table.to_vec(), columns }
    }

    fn column(&self, name: &[u8]) -> Option<&OriginalColumn> {
        self.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Passing {
    /// The column count.
    Count,
    /// So many definitions.
    Definitions(u64),
    /// What follows.
    Rest,
}

/// The client's sink, which gets the definitions as those of the tables that are stood for.
#[derive(Debug)]
pub(super) struct Relabelling<'a, S> {
    sink: &'a mut S,
    originals: &'a [Original],
    fragments: &'a [Fragment],
    capabilities: Capabilities,
    passing: Passing,
    /// Definitions, until all have come.
    kept: Vec<Vec<u8>>,
}

impl<'a, S: Sink> Relabelling<'a, S> {
    pub(super) fn new(
        (originals, fragments): (&'a [Original], &'a [Fragment]),
        capabilities: Capabilities,
        sink: &'a mut S,
    ) -> Relabelling<'a, S> {
        Relabelling { sink, originals, fragments, capabilities, passing: Passing::Count, kept: Vec::new() }
    }

    /// All definitions have come.
    fn tell(&mut self) {
        let kept = std::mem::take(&mut self.kept);
        let indirect = kept.iter().any(|definition| self.is_indirect(definition));
        for definition in kept {
            let relabelled = self.relabelled(&definition, indirect);
            self.sink.put(relabelled.as_ref().unwrap_or(&definition));
        }
    }

    fn find<'d>(&self, definition: &'d [u8]) -> Option<(Definition<'d>, &'a Original)> {
        let parsed = Definition::parse(definition, self.capabilities).ok()?;
        let original = self.originals.iter().find(|original| original.stands_in.as_bytes() == parsed.names[TABLE])?;
        Some((parsed, original))
    }

    /// Whether a column is in a key of the temporary table and not told so: the server has a table of its own in between, and would over
    /// the original, too, as far as that can be known. (It may choose another way there.)
    fn is_indirect(&self, definition: &[u8]) -> bool {
        let Some((parsed, original)) = self.find(definition) else { return false };
        let in_key = original.column(parsed.names[COLUMN]).is_some_and(|column| column.in_key);
        in_key && parsed.flags() & flags::PART_KEY == 0
    }

    /// The definition as that of the original; `None`: it is of no temporary table.
    fn relabelled(&self, definition: &[u8], indirect: bool) -> Option<Vec<u8>> {
        let (mut parsed, original) = self.find(definition)?;
        let column = original.column(parsed.names[COLUMN]);
        // Its database is the same, where it is told: MariaDB tells none of columns of a derived table.
        parsed.names[TABLE] = &original.table;
        if let (Some(extended), Some(_)) = (column.and_then(|column| column.extended.as_deref()), parsed.extended) {
            parsed.extended = Some(extended);
        }
        let flags = match column {
            None => parsed.flags(),
            Some(column) => {
                let gone = if indirect { flags::DIRECT } else { 0 };
                parsed.flags() & !flags::OF_TABLE | column.flags & !gone
            }
        };
        Some(parsed.encode(flags))
    }
}

impl<S: Sink> Sink for Relabelling<'_, S> {
    fn put(&mut self, payload: &[u8]) {
        // No row and no definition begins like it.
        if let Ok(error) = ErrPacket::parse(payload) {
            let told = with_tables(&String::from_utf8_lossy(error.message), self.fragments);
            let told = told.map(|message| ErrPacket { message: message.as_bytes(), ..error }.encode());
            self.passing = Passing::Rest;
            return self.sink.put(told.as_deref().unwrap_or(payload));
        }
        match self.passing {
            Passing::Count => {
                let count = Reader::new(payload).lenenc("column count").unwrap_or(0);
                self.passing = if count > 0 { Passing::Definitions(count) } else { Passing::Rest };
                self.sink.put(payload);
            }
            Passing::Definitions(left) => {
                self.kept.push(payload.to_vec());
                self.passing = Passing::Definitions(left - 1);
                if left == 1 {
                    self.passing = Passing::Rest;
                    self.tell();
                }
            }
            Passing::Rest => self.sink.put(payload),
        }
    }

    fn is_full(&self) -> bool {
        self.sink.is_full()
    }

    async fn flush(&mut self) -> Result<(), Failure> {
        self.sink.flush().await
    }

    async fn gone(&mut self) -> Failure {
        self.sink.gone().await
    }
}

#[cfg(test)]
mod tests;
