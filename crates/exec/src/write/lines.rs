//! Reads the lines of a file as LOAD DATA reads them.
//!
//! What must always hold: a line ends where the server would end it, and a field has the value that the server would read. A line that has
//! not arrived completely is read again when more bytes have arrived. Source: `READ_INFO` in the servers' `sql_load.cc`.

use std::ops::Range;

use weir_plan::FileFormat;

/// A field of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Field {
    /// Where it stands, its quotes included.
    pub(super) range: Range<usize>,
    /// Its value; `None` for NULL. Only of fields that are wanted.
    pub(super) value: Option<Vec<u8>>,
}

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NextLine {
    /// A line, up to this place behind it. It may have fewer fields than there are columns.
    Whole(usize, Vec<Field>),
    /// More has to arrive.
    More,
    /// There is no other line.
    End,
}

/// Reads lines.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    format: &'a FileFormat,
    /// How many fields are read.
    fields: usize,
    /// Of which fields values are wanted.
    wanted: Vec<bool>,
}

/// How a field ended.
enum Ended {
    /// By what ends fields.
    Field,
    /// By what ends lines.
    Line,
    /// By the end of the file.
    File,
}

/// More has to arrive to decide.
struct More;

impl<'a> Lines<'a> {
    pub(super) fn new(format: &'a FileFormat, fields: usize, wanted: impl Iterator<Item = usize>) -> Lines<'a> {
        let mut of = vec![false; fields];
        for field in wanted.filter(|field| *field < fields) {
            of[field] = true;
        }
        Lines { format, fields, wanted: of }
    }

    /// Where the first line's fields begin: behind the next prefix, whatever stands before it. Source: `find_start_of_fields`.
    pub(super) fn start(&self, bytes: &[u8]) -> Option<usize> {
        let prefix = &self.format.starting;
        if prefix.is_empty() {
            return Some(0);
        }
        bytes.windows(prefix.len()).position(|here| here == prefix).map(|at| at + prefix.len())
    }

    /// The line at the beginning of these bytes. `last`: nothing follows them.
    pub(super) fn next(&self, bytes: &[u8], last: bool) -> NextLine {
        if bytes.is_empty() {
            return if last { NextLine::End } else { NextLine::More };
        }
        match self.line(bytes, last) {
            Ok(line) => line,
            Err(More) => NextLine::More,
        }
    }

    /// The end of a line that is left out.
    pub(super) fn skip(&self, bytes: &[u8], last: bool) -> NextLine {
        match self.rest(bytes, 0, last) {
            _ if bytes.is_empty() => {
                if last {
                    NextLine::End
                } else {
                    NextLine::More
                }
            }
            Ok(end) => NextLine::Whole(end, Vec::new()),
            Err(More) => NextLine::More,
        }
    }

    fn line(&self, bytes: &[u8], last: bool) -> Result<NextLine, More> {
        let mut fields = Vec::with_capacity(self.fields);
        let mut at = 0;
        for wanted in &self.wanted {
            // Where the file ends behind a separator there is no other field.
            if at == bytes.len() {
                return if last { Ok(NextLine::Whole(at, fields)) } else { Err(More) };
            }
            let (field, end, ended) = self.field(bytes, at, last, *wanted)?;
            fields.push(field);
            at = end;
            match ended {
                Ended::Field => {}
                Ended::Line | Ended::File => return Ok(NextLine::Whole(at, fields)),
            }
        }
        Ok(NextLine::Whole(self.rest(bytes, at, last)?, fields))
    }

    /// Behind the end of the line, from which nothing else is read: quotes mean nothing there.
    fn rest(&self, bytes: &[u8], mut at: usize, last: bool) -> Result<usize, More> {
        loop {
            let Some(byte) = bytes.get(at) else { return if last { Ok(bytes.len()) } else { Err(More) } };
            if Some(*byte) == self.format.escaped {
                if at + 1 >= bytes.len() {
                    return if last { Ok(bytes.len()) } else { Err(More) };
                }
                at += 2;
            } else if self.stands(bytes, at, &self.format.lines, last)? {
                return Ok(at + self.format.lines.len());
            } else {
                at += 1;
            }
        }
    }

    /// Whether a separator stands here.
    fn stands(&self, bytes: &[u8], at: usize, separator: &[u8], last: bool) -> Result<bool, More> {
        let here = &bytes[at.min(bytes.len())..];
        let common = here.len().min(separator.len());
        match here[..common] == separator[..common] {
            true if common == separator.len() => Ok(true),
            true if !last => Err(More),
            _ => Ok(false),
        }
    }

    /// The separator that begins here, if one does: where it ends, and what ends with it.
    fn separator(&self, bytes: &[u8], at: usize, last: bool) -> Result<Option<(usize, Ended)>, More> {
        for (separator, ended) in [(&self.format.lines, Ended::Line), (&self.format.fields, Ended::Field)] {
            if self.stands(bytes, at, separator, last)? {
                return Ok(Some((at + separator.len(), ended)));
            }
        }
        Ok(None)
    }

    /// The field that begins at `start`, where it ends with its separator, and what has ended it.
    fn field(&self, bytes: &[u8], start: usize, last: bool, wanted: bool) -> Result<(Field, usize, Ended), More> {
        let FileFormat { escaped, enclosed, .. } = *self.format;
        let quote = enclosed.filter(|quote| bytes.get(start) == Some(quote));
        let mut value = FieldValue { wanted, bytes: Vec::new(), null: false };
        let mut at = start + usize::from(quote.is_some());
        loop {
            let Some(&byte) = bytes.get(at) else {
                if !last {
                    return Err(More);
                }
                // A quote that is not closed was none.
                if let Some(quote) = quote {
                    value.bytes.insert(0, quote);
                }
                return Ok((value.ends(start..at, enclosed.is_some()), at, Ended::File));
            };
            if Some(byte) == escaped {
                match bytes.get(at + 1) {
                    None if !last => return Err(More),
                    None => {
                        value.push(byte);
                        at += 1;
                        continue;
                    }
                    Some(&next) if escaped != enclosed || next == byte => {
                        value.null |= next == b'N' && escaped != enclosed;
                        value.push(meant(next, byte));
                        at += 2;
                        continue;
                    }
                    Some(_) => {}
                }
            }
            if quote.is_none() {
                if let Some((end, ended)) = self.separator(bytes, at, last)? {
                    return Ok((value.ends(start..at, enclosed.is_some()), end, ended));
                }
            } else if quote == Some(byte) {
                let behind = at + 1;
                match bytes.get(behind) {
                    None if !last => return Err(More),
                    None => return Ok((value.ends(start..behind, false), behind, Ended::File)),
                    Some(&next) if next == byte => at += 1,
                    Some(_) => {
                        if let Some((end, ended)) = self.separator(bytes, behind, last)? {
                            return Ok((value.ends(start..behind, false), end, ended));
                        }
                    }
                }
            }
            value.push(byte);
            at += 1;
        }
    }
}

/// The value of a field, as far as it is read.
struct FieldValue {
    wanted: bool,
    bytes: Vec<u8>,
    /// An escaped N was read, which is NULL if nothing else is there.
    null: bool,
}

impl FieldValue {
    fn push(&mut self, byte: u8) {
        if self.wanted {
            self.bytes.push(byte);
        }
    }

    /// The field. `null_word`: the word NULL is NULL, as it is without quotes where fields may have quotes.
    fn ends(self, range: Range<usize>, null_word: bool) -> Field {
        let null = self.null && self.bytes.len() == 1 || null_word && self.bytes == b"NULL";
        Field { range, value: (self.wanted && !null).then_some(self.bytes) }
    }
}

/// What an escaped character stands for.
fn meant(byte: u8, escape: u8) -> u8 {
    match byte {
        _ if byte == escape => byte,
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 8,
        b'0' => 0,
        b'Z' => 26,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(fields: &str, enclosed: Option<u8>, lines: &str) -> FileFormat {
        FileFormat { fields: fields.into(), enclosed, lines: lines.into(), ..FileFormat::default() }
    }

    /// All lines: their texts and values.
    fn read(format: &FileFormat, fields: usize, text: &str) -> Vec<(String, Vec<Option<String>>)> {
        let lines = Lines::new(format, fields, 0..fields);
        let (mut at, mut found) = (0, Vec::new());
        while let NextLine::Whole(end, fields) = lines.next(&text.as_bytes()[at..], true) {
            let values =
                fields.into_iter().map(|field| field.value.map(|value| String::from_utf8(value).expect("text")));
            found.push((text[at..at + end].to_owned(), values.collect()));
            at += end;
        }
        found
    }

    #[test]
    fn fields_begin_behind_the_next_prefix() {
        let format = FileFormat { starting: b"xx>".to_vec(), ..FileFormat::default() };
        let lines = Lines::new(&format, 1, 0..1);
        for (text, start) in [
            ("xx>1\n", Some(3)),
            ("xxx>1\n", Some(4)),
            ("none\nof this: xx>1", Some(17)),
            ("xx>", Some(3)),
            ("xx", None),
            ("", None),
        ] {
            assert_eq!(lines.start(text.as_bytes()), start, "{text}");
        }
        assert_eq!(Lines::new(&FileFormat::default(), 1, 0..1).start(b""), Some(0));
    }

    fn values(format: &FileFormat, fields: usize, text: &str) -> Vec<Vec<Option<String>>> {
        read(format, fields, text).into_iter().map(|(_, values)| values).collect()
    }

    fn some(values: &[&str]) -> Vec<Option<String>> {
        values.iter().map(|value| (*value != "NULL").then(|| (*value).to_owned())).collect()
    }

    #[test]
    fn plain_lines_have_fields_between_tabs() {
        let plain = FileFormat::default();
        assert_eq!(values(&plain, 2, "1\ta\n2\tb\n"), [some(&["1", "a"]), some(&["2", "b"])]);
        assert_eq!(values(&plain, 2, "1\ta\n2\tb"), [some(&["1", "a"]), some(&["2", "b"])]);
        assert_eq!(values(&plain, 2, "1\n\n"), [some(&["1"]), some(&[""])]);
        assert_eq!(values(&plain, 1, "1\tx\ty\n2\tz\n"), [some(&["1"]), some(&["2"])]);
        assert_eq!(values(&plain, 2, "1\\t2\t\\N\n"), [some(&["1\t2", "NULL"])]);
        assert_eq!(values(&plain, 2, "a\\\nb\tNULL\n"), [vec![Some("a\nb".into()), Some("NULL".into())]]);
    }

    #[test]
    fn quotes_end_only_before_a_separator() {
        let csv = format(",", Some(b'"'), "\r\n");
        assert_eq!(values(&csv, 2, "\"a,b\",\"c\"\r\n"), [some(&["a,b", "c"])]);
        assert_eq!(values(&csv, 2, "\"a\"\"b\",x\r\n"), [some(&["a\"b", "x"])]);
        assert_eq!(values(&csv, 2, "\"a\"b\",x\r\n"), [some(&["a\"b", "x"])]);
        assert_eq!(values(&csv, 2, "\"a\r\nb\",x\r\n"), [some(&["a\r\nb", "x"])]);
        assert_eq!(values(&csv, 2, "NULL,\"NULL\"\r\n"), [vec![None, Some("NULL".into())]]);
        assert_eq!(values(&csv, 2, "\"open,x\r\n"), [some(&["\"open,x\r\n"])]);
        assert_eq!(values(&csv, 1, "1,\"a\r\n2,b\r\n"), [some(&["1"]), some(&["2"])]);
    }

    #[test]
    fn a_quote_that_is_the_escape_too_is_doubled() {
        let doubled = FileFormat { escaped: Some(b'"'), ..format(",", Some(b'"'), "\n") };
        assert_eq!(values(&doubled, 2, "\"a\"\"b\",\"\\N\"\n"), [some(&["a\"b", "\\N"])]);
    }

    #[test]
    fn a_line_is_the_same_however_it_arrives() {
        let csv = format(",", Some(b'"'), "\r\n");
        let text = "\"a\"\"b\",1\r\nx\\,y,\"2\"\r\n\"z\r\n\",3";
        let whole = read(&csv, 2, text);
        let lines = Lines::new(&csv, 2, 0..2);
        for (line, _) in &whole {
            for cut in 0..line.len() {
                // Whatever is decided before all is there would be decided otherwise later.
                if let NextLine::Whole(end, _) = lines.next(&line.as_bytes()[..cut], false) {
                    panic!("{line:?} ended at {end} of {cut}");
                }
            }
        }
        assert_eq!(whole.iter().map(|(line, _)| &line[..]).collect::<String>(), text);
    }
}
