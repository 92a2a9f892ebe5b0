//! Values of keys as SQL: as they come in rows, and as they come in the binary log.
//!
//! What must always hold: a literal means the same in a condition on its column, whatever the column's collation: texts have the column's
//! character set and give way to its collation. There is no comma in a literal, so that a key is its literals with commas between them.

use weir_catalog::Column;

/// What the values of a key's column are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeyColumn {
    /// An integer.
    Integer {
        /// It has no sign.
        unsigned: bool,
    },
    /// A number that is written with its digits: DECIMAL, BIT, YEAR, the numbers of ENUM and SET.
    Digits,
    /// A FLOAT or DOUBLE.
    Approximate,
    /// A date or a time.
    Temporal,
    /// A TIMESTAMP: seconds since 1970.
    Timestamp,
    /// A text of this character set.
    Text {
        /// The character set.
        charset: String,
    },
    /// A binary string.
    Binary {
        /// BINARY, which has always so many bytes.
        fixed: Option<usize>,
    },
}

impl KeyColumn {
    /// The kind of a column; `None` if it can't be part of a key by which rows are moved.
    pub(crate) fn of(column: &Column) -> Option<KeyColumn> {
        let kind = &column.kind;
        Some(match &*kind.base {
            "tinyint" | "smallint" | "mediumint" | "int" | "bigint" => KeyColumn::Integer { unsigned: kind.unsigned },
            "decimal" | "bit" | "year" | "enum" | "set" => KeyColumn::Digits,
            "double" | "float" => KeyColumn::Approximate,
            "date" | "datetime" | "time" => KeyColumn::Temporal,
            "timestamp" => KeyColumn::Timestamp,
            "char" | "varchar" => match weir_backend::profile::charset_of(kind.collation.as_deref()?) {
                "binary" => KeyColumn::Binary { fixed: None },
                charset => KeyColumn::Text { charset: charset.to_owned() },
            },
            "binary" => KeyColumn::Binary { fixed: Some(usize::try_from(kind.length.unwrap_or(1)).ok()?) },
            "varbinary" => KeyColumn::Binary { fixed: None },
            _ => return None,
        })
    }

    /// Appends a value as a row of [`weir_plan::passed`]'s form has it.
    pub(crate) fn put(&self, out: &mut Vec<u8>, bytes: &[u8]) {
        match self {
            KeyColumn::Integer { .. } | KeyColumn::Digits => out.extend_from_slice(bytes),
            KeyColumn::Approximate => {
                out.extend_from_slice(bytes);
                if !bytes.contains(&b'e') {
                    out.extend_from_slice(b"e0");
                }
            }
            KeyColumn::Temporal => put_quoted(out, bytes),
            KeyColumn::Timestamp => put_epoch(out, bytes),
            KeyColumn::Text { charset } => put_text(out, bytes, charset),
            KeyColumn::Binary { .. } => put_text(out, bytes, "binary"),
        }
    }
}

/// Whether a column may be part of a key by which rows are moved.
pub(crate) fn is_usable(column: &Column) -> bool {
    KeyColumn::of(column).is_some()
}

pub(crate) fn put_digits(out: &mut Vec<u8>, digits: &str) {
    out.extend_from_slice(digits.as_bytes());
}

pub(crate) fn put_quoted(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'\'');
    out.extend_from_slice(text);
    out.push(b'\'');
}

/// Seconds since 1970; zero is the zero date.
pub(crate) fn put_epoch(out: &mut Vec<u8>, digits: &[u8]) {
    if digits.iter().all(|digit| matches!(digit, b'0' | b'.')) {
        return put_quoted(out, b"0000-00-00 00:00:00");
    }
    out.extend_from_slice(b"FROM_UNIXTIME(");
    out.extend_from_slice(digits);
    out.push(b')');
}

/// As [`weir_plan::write::literal::put_text`] where that has no quotes: these might hold a comma.
pub(crate) fn put_text(out: &mut Vec<u8>, bytes: &[u8], charset: &str) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    out.push(b'_');
    out.extend_from_slice(charset.as_bytes());
    out.extend_from_slice(b" x'");
    for byte in bytes {
        out.extend([HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
    }
    out.push(b'\'');
}

/// A condition that a row has one of these keys. `names`: the columns, quoted.
pub(crate) fn put_is_one_of<'k>(out: &mut Vec<u8>, names: &[String], keys: impl Iterator<Item = &'k [u8]>) {
    if let [name] = names {
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b" IN ");
        let mut before = b'(';
        for key in keys {
            out.push(before);
            out.extend_from_slice(key);
            before = b',';
        }
        out.push(b')');
        return;
    }
    // Not every server uses an index for `(a, b) IN ((1, 2), …)`.
    let mut between: &[u8] = b"(";
    for key in keys {
        out.extend_from_slice(between);
        out.push(b'(');
        put_is(out, names, key.split(|byte| *byte == b','));
        out.push(b')');
        between = b" OR ";
    }
    out.push(b')');
}

/// A condition that a row has this key.
pub(crate) fn put_is<'k>(out: &mut Vec<u8>, names: &[String], values: impl Iterator<Item = &'k [u8]>) {
    let mut between: &[u8] = b"";
    for (name, value) in names.iter().zip(values) {
        out.extend_from_slice(between);
        out.extend_from_slice(name.as_bytes());
        out.push(b'=');
        out.extend_from_slice(value);
        between = b" AND ";
    }
}

/// Which rows are beyond a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beyond {
    /// Those behind it.
    After,
    /// It, and those before it.
    UpTo,
}

/// A condition that a row's key is beyond this one in the order of the key's columns, in a form for which servers use an index.
pub(crate) fn put_beyond(out: &mut Vec<u8>, names: &[String], key: &[String], side: Beyond) {
    let (operator, last) = match side {
        Beyond::After => (">", ">"),
        Beyond::UpTo => ("<", "<="),
    };
    out.push(b'(');
    for depth in 0..names.len().min(key.len()) {
        if depth > 0 {
            out.extend_from_slice(b" OR ");
        }
        out.push(b'(');
        put_is(out, &names[..depth], key[..depth].iter().map(String::as_bytes));
        if depth > 0 {
            out.extend_from_slice(b" AND ");
        }
        let operator = if depth + 1 == names.len() { last } else { operator };
        out.extend([names[depth].as_bytes(), operator.as_bytes(), key[depth].as_bytes()].concat());
        out.push(b')');
    }
    out.push(b')');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(put: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        put(&mut out);
        String::from_utf8(out).expect("it is ASCII")
    }

    #[test]
    fn conditions_name_keys_of_one_and_of_several_columns() {
        let (one, two) = (["`a`".to_owned()], ["`a`".to_owned(), "`b`".to_owned()]);
        let keys = || [b"1".as_slice(), b"2"].into_iter();
        assert_eq!(text(|out| put_is_one_of(out, &one, keys())), "`a` IN (1,2)");
        let keys = || [b"1,_latin1 x'41'".as_slice(), b"2,_latin1 x''"].into_iter();
        let expected = "((`a`=1 AND `b`=_latin1 x'41') OR (`a`=2 AND `b`=_latin1 x''))";
        assert_eq!(text(|out| put_is_one_of(out, &two, keys())), expected);
    }

    #[test]
    fn a_range_begins_behind_a_key_and_ends_with_one() {
        let names = ["`a`".to_owned(), "`b`".to_owned()];
        let key = ["1".to_owned(), "2".to_owned()];
        assert_eq!(text(|out| put_beyond(out, &names, &key, Beyond::After)), "((`a`>1) OR (`a`=1 AND `b`>2))");
        assert_eq!(text(|out| put_beyond(out, &names, &key, Beyond::UpTo)), "((`a`<1) OR (`a`=1 AND `b`<=2))");
        assert_eq!(text(|out| put_beyond(out, &names[..1], &key[..1], Beyond::UpTo)), "((`a`<=1))");
    }

    #[test]
    fn values_of_rows_become_literals_without_commas() {
        let put = |column: KeyColumn, value: &str| text(|out| column.put(out, value.as_bytes()));
        assert_eq!(put(KeyColumn::Integer { unsigned: true }, "5"), "5");
        assert_eq!(put(KeyColumn::Approximate, "-0.5"), "-0.5e0");
        assert_eq!(put(KeyColumn::Temporal, "2020-01-02"), "'2020-01-02'");
        assert_eq!(put(KeyColumn::Timestamp, "1.5"), "FROM_UNIXTIME(1.5)");
        assert_eq!(put(KeyColumn::Timestamp, "0.00"), "'0000-00-00 00:00:00'");
        assert_eq!(put(KeyColumn::Text { charset: "latin1".to_owned() }, "a,"), "_latin1 x'612C'");
        assert_eq!(put(KeyColumn::Binary { fixed: None }, ""), "_binary x''");
    }
}
