//! Types of columns, as far as keys are concerned.
//!
//! What must always hold: a type is listed here only if equality of its values can be hashed exactly.

use crate::charset::Charset;
use crate::table::ColumnType;

/// The type of a key's column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyKind<'a> {
    /// TINYINT to BIGINT: what it can hold.
    Integer {
        least: i128,
        most: i128,
    },
    /// BIT, with so many bits.
    Bits(usize),
    Decimal {
        precision: usize,
        scale: usize,
        unsigned: bool,
    },
    Year,
    Date,
    /// With so many digits of the second's fraction.
    Datetime(usize),
    /// See `Datetime`.
    Time(usize),
    Text {
        charset: Charset,
        collation: &'a str,
        /// CHAR, which loses trailing spaces.
        fixed: bool,
        length: usize,
    },
    Binary {
        /// BINARY, which is filled up with zero bytes.
        fixed: bool,
        length: usize,
    },
}

impl<'a> KeyKind<'a> {
    /// The kind of a column's type, or why it can't be a shard key's, with the way out.
    pub(crate) fn of(column: &'a ColumnType) -> Result<KeyKind<'a>, &'static str> {
        let length = column.length.map(|length| length as usize);
        let scale = column.scale.unwrap_or(0) as usize;
        let integer = |bits: u32| {
            let (least, most) = match column.unsigned {
                true => (0, (1i128 << bits) - 1),
                false => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
            };
            Ok(KeyKind::Integer { least, most })
        };
        match &*column.base {
            "tinyint" => integer(8),
            "smallint" => integer(16),
            "mediumint" => integer(24),
            "int" => integer(32),
            "bigint" => integer(64),
            "bit" => Ok(KeyKind::Bits(length.unwrap_or(1).min(64))),
            "decimal" => Ok(KeyKind::Decimal { precision: length.unwrap_or(10), scale, unsigned: column.unsigned }),
            "year" => Ok(KeyKind::Year),
            "date" => Ok(KeyKind::Date),
            "datetime" => Ok(KeyKind::Datetime(scale)),
            "time" => Ok(KeyKind::Time(scale)),
            "char" | "varchar" => text(column, length.unwrap_or(1)),
            "binary" | "varbinary" => {
                Ok(KeyKind::Binary { fixed: column.base == "binary", length: length.unwrap_or(1) })
            }
            "float" | "double" => Err("approximate numbers that look equal may differ; use DECIMAL or an integer"),
            "timestamp" => Err("its values depend on the session's time zone; use DATETIME"),
            "enum" | "set" => Err("its values compare as texts here and as numbers there; use VARCHAR or an integer"),
            "json" => Err("equal documents have many spellings; use a column of the value that matters"),
            "tinytext" | "text" | "mediumtext" | "longtext" => {
                Err("it is too long to be a key as a whole; use VARCHAR")
            }
            "tinyblob" | "blob" | "mediumblob" | "longblob" => {
                Err("it is too long to be a key as a whole; use VARBINARY")
            }
            "uuid" | "inet4" | "inet6" => {
                Err("equal values have many spellings; use BINARY(16), or CHAR(36) with a _bin collation")
            }
            _ => Err(
                "Weir can't tell its equal values apart from others; use an integer, DECIMAL, DATE, DATETIME, CHAR or VARCHAR",
            ),
        }
    }
}

fn text(column: &ColumnType, length: usize) -> Result<KeyKind<'_>, &'static str> {
    let fixed = column.base == "char";
    let Some(collation) = column.collation.as_deref() else {
        return Err("its collation isn't known; name one in the column's definition, such as utf8mb4_bin");
    };
    match Charset::of_collation(collation) {
        Some(Charset::Binary) => Ok(KeyKind::Binary { fixed, length }),
        Some(charset) => Ok(KeyKind::Text { charset, collation, fixed, length }),
        None => Err("Weir can't read its character set; use utf8mb4, utf8mb3, latin1 or ascii"),
    }
}
