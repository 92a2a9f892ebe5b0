//! LOAD DATA LOCAL: each line of the client's file goes to the shard of its key.
//!
//! What must always hold: a line is read as the server would read it; what only a server can say about a line (a key that is computed,
//! a file in an encoding that Weir can't read) is refused.

use std::ops::Range;

use weir_catalog::{Constant, Placement};
use weir_sql::ast::{ExprKind, Load};
use weir_sql::facts::Varies;
use weir_sql::{LexMode, Lexer, TokenKind};
use weir_wire::error::codes;

use super::Input;
use super::edits::Edits;
use super::literal::put_name;
use super::names::{Target, with_facts};
use super::varying::Varying;
use crate::analysis::has_query;
use crate::constant::Folder;
use crate::session::SessionFacts;
use crate::{FileFormat, FileKey, LoadFile, Need, Plan, Refusal, Write, WriteKind};

pub(super) fn plan_load<'a>(input: &Input<'a>, load: &'a Load<'a>) -> Result<Plan, Refusal> {
    let target = Target::named(input, &load.table)?;
    if load.xml || !load.local {
        return Err(Need::OtherForm.refused(
            "A table of several shards is filled by LOAD DATA LOCAL only: each server would read a file of its own. Use LOAD DATA LOCAL \
             INFILE",
        ));
    }
    let (columns, variables) = columns(load, &target)?;
    let written = assigned(input, load, &target)?;
    let alike = with_facts(input, |facts| {
        let known = facts.varies & !(Varies::STORED | Varies::WAITS);
        // What SET reads of a line is on the line's shard.
        let of_line = |name: &[u8]| variables.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(name));
        let variable = |name: &[u8]| match of_line(name) {
            true => Some(Constant::Null),
            false => (input.session.variable)(name),
        };
        let session = SessionFacts { variable: &variable, ..*input.session };
        Varying::of(&Input { session: &session, ..*input }, known)
    })
    .alike(&[target], true)?;
    let place = |column: usize| columns.iter().position(|known| *known == Some(column));
    let auto = target.table.auto_increment;
    let key = key_fields(&target, &written, place)?;
    let format = Format::of(input, load)?;
    let folder = Folder { text: input.text, session: input.session, assigns: false, trace: None };
    let file = LoadFile {
        shards: target.database.shards.clone(),
        name: folder
            .contents(load.file.text(input.text))
            .ok_or_else(|| Need::OtherForm.refused("The file's name can't be read"))?,
        text: shards_text(input, load, &target, &format, &columns, auto.filter(|auto| place(*auto).is_none())),
        fields: columns.len(),
        variables,
        generated: auto.map(place),
        keeps_zero: input.session.sql_mode.contains("NO_AUTO_VALUE_ON_ZERO"),
        key,
        copies: target.table.placement == Placement::Global,
        charset: load.charset.map(|charset| String::from_utf8_lossy(charset.name).to_ascii_lowercase()),
        format: format.format,
        database_name: target.database_name.to_owned(),
        table_name: target.name.to_owned(),
        database: weir_catalog::Database::clone(target.database),
        table: weir_catalog::Table::clone(target.table),
    };
    let reason = match file.copies {
        true => format!("each shard has a copy of {}", target.shown()),
        false => "each line of the file goes to the shard of its key".to_owned(),
    };
    Ok(Plan::Write(Write { kind: WriteKind::Load(Box::new(file)), alike, raise: None, returns: None, reason }))
}

/// Where the file has the columns of the shard key. `written`: the columns that SET assigns; `place`: the field of a column.
fn key_fields(
    target: &Target<'_>,
    written: &[usize],
    place: impl Fn(usize) -> Option<usize>,
) -> Result<Vec<FileKey>, Refusal> {
    let auto = target.table.auto_increment;
    let columns = target.key().map_or(&[][..], |key| &key.columns);
    let name = |column: usize| &target.table.columns[column].name;
    if let Some(column) = written.iter().find(|column| columns.contains(column) || auto == Some(**column)) {
        let name = name(*column);
        return Err(Need::Value.refused(format!(
            "SET of '{name}', which decides the row's shard: Weir has to know it before a server computes it. Put the value into the file"
        )));
    }
    let field = |column: &usize| match place(*column) {
        Some(field) => Ok(FileKey::Field(field)),
        None if auto == Some(*column) => Ok(FileKey::Generated),
        None => {
            let name = name(*column);
            Err(Need::Value.refused(format!(
                "The file has no field for '{name}', which is part of the shard key: put it into the file, and name it among the columns"
            )))
        }
    };
    columns.iter().map(field).collect()
}

/// The columns that the file's fields are for, by place.
///
/// `None` stands for a user variable; their names come second.
fn columns(load: &Load<'_>, target: &Target<'_>) -> Result<(Vec<Option<usize>>, Vec<String>), Refusal> {
    let table = target.table;
    let Some(named) = load.columns.filter(|columns| !columns.is_empty()) else {
        if table.columns.iter().any(|column| column.generated) {
            return Err(Need::OtherForm
                .refused(format!("{} has generated columns: name the columns that the file has", target.shown())));
        }
        let visible = (0..table.columns.len()).filter(|at| !table.columns[*at].invisible);
        return Ok((visible.map(Some).collect(), Vec::new()));
    };
    let mut variables = Vec::new();
    let mut column = |expr: &weir_sql::ast::Expr<'_>| match &expr.kind {
        ExprKind::Column(name) => table.column(name.name.name).map(Some).ok_or_else(|| {
            let name = String::from_utf8_lossy(name.name.name);
            super::mistake(codes::ER_BAD_FIELD_ERROR, format!("Unknown column '{name}' in 'field list'"))
        }),
        ExprKind::UserVariable(name) if name.name.is_ascii() && !name.name.contains(&b'`') => {
            let name = String::from_utf8_lossy(name.name).to_ascii_lowercase();
            if !variables.contains(&name) {
                variables.push(name);
            }
            Ok(None)
        }
        _ => Err(Need::OtherForm.refused(
            "LOAD DATA into such a user variable, for a table of several shards: give it a name of plain letters",
        )),
    };
    let columns = named.iter().map(&mut column).collect::<Result<_, _>>()?;
    Ok((columns, variables))
}

/// The columns that SET gives values.
fn assigned(input: &Input<'_>, load: &Load<'_>, target: &Target<'_>) -> Result<Vec<usize>, Refusal> {
    let query = load.assignments.iter().any(|one| has_query(&one.value));
    let random = with_facts(input, |facts| facts.varies.intersects(Varies::RANDOM));
    if query || random && target.is_global() {
        return Err(Need::OtherForm.refused(
            "SET with a subquery, or with random values for a GLOBAL table, in LOAD DATA: UPDATE the rows afterwards",
        ));
    }
    Ok(load.assignments.iter().filter_map(|one| target.table.column(one.column.name.name)).collect())
}

/// The text that shards get: lines that are left out are Weir's business, and generated values come first in each line.
fn shards_text(
    input: &Input<'_>,
    load: &Load<'_>,
    target: &Target<'_>,
    format: &Format,
    columns: &[Option<usize>],
    generated: Option<usize>,
) -> Vec<u8> {
    let mut edits = Edits::default();
    if let Some(skipped) = &format.skipped {
        edits.replace(skipped.clone(), Vec::new());
    }
    if let Some(column) = generated {
        let mut names = Vec::new();
        put_name(&mut names, target.table.columns[column].name.as_bytes());
        for (field, column) in columns.iter().enumerate() {
            names.push(b',');
            match (column, load.columns.and_then(|named| named.get(field))) {
                (Some(column), _) => put_name(&mut names, target.table.columns[*column].name.as_bytes()),
                (None, Some(variable)) => names.extend_from_slice(variable.span.text(input.text)),
                (None, None) => {}
            }
        }
        match load.columns {
            Some([first, .., last]) => edits.replace(first.span.range().start..last.span.range().end, names),
            Some([only]) => edits.replace(only.span.range(), names),
            // Empty parentheses, which stand where the columns would.
            Some([]) | None => {
                let before = load.assignments.first().map(|one| one.span.range().start);
                let at = columns_place(input.text, input.session.mode, load, format, before);
                edits.replace(at, [b" (", &names[..], b") "].concat());
            }
        }
    }
    edits.sort();
    edits.apply(input.text)
}

/// Where the list of columns stands, or would stand.
fn columns_place(text: &[u8], mode: LexMode, load: &Load<'_>, format: &Format, set: Option<usize>) -> Range<usize> {
    let mut end = load.table.span.range().end;
    for partition in load.partitions {
        end = end.max(partition.span.range().end + 1);
    }
    end = end.max(load.charset.map_or(0, |charset| charset.span.range().end)).max(format.end);
    let mut found = end..end;
    let mut depth = None;
    for token in Lexer::new(&text[end..set.unwrap_or(load.span.range().end).max(end)], mode) {
        match (token.kind, depth) {
            (TokenKind::Punct(b'('), None) => depth = Some(end + token.range().start),
            (TokenKind::Punct(b')'), Some(start)) => {
                found = start..end + token.range().end;
                break;
            }
            _ => {}
        }
    }
    found
}

/// How the file is written, as its clauses say.
struct Format {
    format: FileFormat,
    /// `IGNORE n LINES` in the text.
    skipped: Option<Range<usize>>,
    /// Where the clauses end.
    end: usize,
}

impl Format {
    fn of(input: &Input<'_>, load: &Load<'_>) -> Result<Format, Refusal> {
        let mut read = Format { format: FileFormat::default(), skipped: None, end: 0 };
        if let Some(span) = load.format {
            read.end = span.range().end;
            read.clauses(input, span.range())?;
        }
        let format = &read.format;
        if format.fields.is_empty() || format.lines.is_empty() || format.fields.first() == format.lines.first() {
            return Err(Need::OtherForm.refused(
                "LOAD DATA of a file without separators, or whose fields and lines end with the same character: give both a TERMINATED BY of \
                 their own",
            ));
        }
        Ok(read)
    }

    /// Reads the clauses word by word.
    fn clauses(&mut self, input: &Input<'_>, range: Range<usize>) -> Result<(), Refusal> {
        let folder = Folder { text: input.text, session: input.session, assigns: false, trace: None };
        let text = &input.text[range.clone()];
        let (mut lines, mut option) = (false, Vec::new());
        let mut ignore = None;
        for token in Lexer::new(text, input.session.mode) {
            let word = token.text(text);
            match token.kind {
                TokenKind::Word if word.eq_ignore_ascii_case(b"IGNORE") => ignore = Some(token.range().start),
                TokenKind::Word if ignore.is_some() => {
                    let start = ignore.take().unwrap_or_default();
                    self.skipped = Some(range.start + start..range.start + token.range().end);
                }
                TokenKind::Word if word.eq_ignore_ascii_case(b"LINES") => lines = true,
                TokenKind::Word
                    if ["COMPRESSION", "ROWS"].iter().any(|odd| word.eq_ignore_ascii_case(odd.as_bytes())) =>
                {
                    return Err(Need::OtherForm
                        .refused("LOAD DATA of this kind of file, for a table of several shards: load plain lines"));
                }
                TokenKind::Word => {
                    if !word.eq_ignore_ascii_case(b"BY") {
                        option = word.to_ascii_uppercase();
                    }
                }
                TokenKind::Integer if ignore.is_some() => {
                    let number = std::str::from_utf8(word).ok().and_then(|number| number.parse().ok());
                    self.format.skip =
                        number.ok_or_else(|| Need::OtherForm.refused("The number of lines to ignore can't be read"))?;
                }
                _ => {
                    let value = folder.contents(word).filter(|_| matches!(word.first(), Some(b'\'' | b'"')));
                    let value = value.ok_or_else(|| {
                        Need::OtherForm
                            .refused("LOAD DATA for a table of several shards: write separators as strings in quotes")
                    })?;
                    self.option(lines, &option, value)?;
                }
            }
        }
        Ok(())
    }

    fn option(&mut self, lines: bool, option: &[u8], value: Vec<u8>) -> Result<(), Refusal> {
        let one = |value: &[u8]| match *value {
            [] => Ok(None),
            [byte] => Ok(Some(byte)),
            _ => Err(super::mistake(
                codes::ER_WRONG_FIELD_TERMINATORS,
                "Field separator argument is not what is expected; check the manual",
            )),
        };
        match (lines, option) {
            (true, b"TERMINATED") => self.format.lines = value,
            (true, _) => self.format.starting = value,
            (false, b"TERMINATED") => self.format.fields = value,
            (false, b"ESCAPED") => self.format.escaped = one(&value)?,
            (false, _) => self.format.enclosed = one(&value)?,
        }
        Ok(())
    }
}
