//! The report as Markdown, and the short form for the terminal.
//!
//! Must always hold: text of the record can't become markup: it is escaped, or stands in a code block. Tables are padded, so
//! that they are as readable in a terminal as when rendered.

use std::fmt::Write as _;

use super::document::{Block, Document, Section};
use super::group::groups;
use super::sections::{self, kingshard, overview, polardb};
use super::table::{Cell, Row, Table, Tone};
use crate::record::Record;

/// The whole report.
pub(crate) fn report(document: &Document) -> String {
    let mut out = String::new();
    heading(&mut out, 1, &document.title);
    for warning in &document.warnings {
        paragraph(&mut out, &format!("**{}**", escape(warning)));
    }
    let mut facts = document.facts.clone();
    facts.insert(0, ("Bench".to_owned(), document.name.clone()));
    list(&mut out, facts.iter().map(|(name, value)| format!("{name}: {}", escape(value))));
    paragraph(&mut out, "To repeat it:");
    paragraph(&mut out, &format!("    {}", one_line(&document.command)));
    if !document.notes.is_empty() {
        paragraph(&mut out, "Notes:");
        list(&mut out, document.notes.iter().map(|note| escape(note)));
    }
    heading(&mut out, 2, "How to read it");
    list(&mut out, document.reading.iter().map(|line| escape(line)));
    for section in &document.sections {
        write_section(&mut out, section);
    }
    pairs(&mut out, "Versions", &document.versions);
    pairs(&mut out, "Settings", &document.settings);
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// What a terminal shows at the end of a run: the ratios, or the figures where there are none, and what is missing.
pub(crate) fn summary(record: &Record) -> String {
    let document = Document::of(record);
    let mut out = String::new();
    for warning in &document.warnings {
        paragraph(&mut out, &format!("**{}**", escape(warning)));
    }
    let common = sections::common(record);
    let overview = overview::section(&common);
    let mut own = sections::own(record);
    if own.is_empty() && overview.is_none() {
        own = kingshard::sections(record);
    }
    own.iter().for_each(|section| write_section(&mut out, section));
    overview.iter().for_each(|section| write_section(&mut out, section));
    let levels = (record.name == polardb::NAME).then(|| polardb::by_level(record));
    let groups: Vec<_> = std::iter::once(&*common).chain(&levels).flat_map(groups).collect();
    let missing: Vec<String> = groups
        .iter()
        .flat_map(|group| group.shortfalls().into_iter().map(|line| escape(&format!("{}: {line}", group.name()))))
        .collect();
    if !missing.is_empty() {
        paragraph(&mut out, "Missing:");
        list(&mut out, missing);
    }
    if !document.notes.is_empty() {
        paragraph(&mut out, "Notes:");
        list(&mut out, document.notes.iter().map(|note| escape(note)));
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

fn write_section(out: &mut String, section: &Section) {
    heading(out, if section.nested { 3 } else { 2 }, &section.title);
    for block in &section.blocks {
        match block {
            Block::Text(text) => paragraph(out, &escape(text)),
            Block::Missing(lines) => {
                paragraph(out, "Missing:");
                list(out, lines.iter().map(|line| escape(line)));
            }
            Block::Table(table) => write_table(out, table),
            Block::Charts(_) => {}
        }
    }
}

fn write_table(out: &mut String, table: &Table) {
    let mut lines = vec![table.columns.iter().map(|column| escape(column)).collect::<Vec<_>>()];
    lines.extend(table.rows.iter().map(|row| cells_of(row, table.columns.len())));
    let width = |column: usize| lines.iter().map(|cells| cells[column].chars().count()).max().unwrap_or(0).max(3);
    let widths: Vec<usize> = (0..table.columns.len()).map(width).collect();
    paragraph(out, &format!("{}:", escape(&table.caption)));
    for (number, cells) in lines.iter().enumerate() {
        for (column, cell) in cells.iter().enumerate() {
            let width = widths[column];
            let _ =
                if column < table.heads { write!(out, "| {cell:<width$} ") } else { write!(out, "| {cell:>width$} ") };
        }
        out.push_str("|\n");
        if number == 0 {
            for (column, width) in widths.iter().enumerate() {
                let (left, right) = if column < table.heads { (":", "-") } else { ("-", ":") };
                let _ = write!(out, "|{left}{}{right}", "-".repeat(*width));
            }
            out.push_str("|\n");
        }
    }
    out.push('\n');
}

fn cells_of(row: &Row, columns: usize) -> Vec<String> {
    let mut cells: Vec<String> = row.heads.iter().map(|head| escape(head)).collect();
    match &row.cells {
        Ok(figures) => cells.extend(figures.iter().map(write_cell)),
        Err(reason) => cells.push(format!("missing: {}", escape(reason))),
    }
    cells.resize(columns, String::new());
    cells
}

fn write_cell(cell: &Cell) -> String {
    let text = escape(&cell.text);
    let text = if cell.tone == Tone::Alarm { format!("**{text}**") } else { text };
    match &cell.spread {
        Some(spread) => format!("{text} ({spread}{})", if cell.wide { "!" } else { "" }),
        None => text,
    }
}

fn pairs(out: &mut String, title: &str, pairs: &[(String, String)]) {
    if pairs.is_empty() {
        return;
    }
    heading(out, 2, title);
    list(out, pairs.iter().map(|(name, value)| format!("{}: {}", escape(name), escape(value))));
}

fn heading(out: &mut String, level: usize, text: &str) {
    paragraph(out, &format!("{} {}", "#".repeat(level), escape(text)));
}

fn paragraph(out: &mut String, text: &str) {
    out.push_str(text);
    out.push_str("\n\n");
}

fn list(out: &mut String, items: impl IntoIterator<Item = String>) {
    let before = out.len();
    for item in items {
        let _ = writeln!(out, "- {item}");
    }
    if out.len() > before {
        out.push('\n');
    }
}

fn one_line(text: &str) -> String {
    text.split(['\n', '\r']).map(str::trim).collect::<Vec<_>>().join(" ")
}

/// Text that Markdown shows as it is.
fn escape(text: &str) -> String {
    let line = one_line(text);
    let mut out = String::with_capacity(line.len());
    for (place, character) in line.chars().enumerate() {
        match character {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '[' | ']' | '|' | '~' => out.extend(['\\', character]),
            '#' | '>' | '-' | '+' | '=' if place == 0 => out.extend(['\\', character]),
            _ => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_the_record_can_not_become_markup() {
        let cases = [
            ("<script>alert(1)</script>", "&lt;script>alert(1)&lt;/script>"),
            ("a | b\nc", "a \\| b c"),
            ("[x](y) `z` **w**", "\\[x\\](y) \\`z\\` \\*\\*w\\*\\*"),
            ("# no heading", "\\# no heading"),
            ("&lt;", "&amp;lt;"),
            ("oltp_point_select", "oltp_point_select"),
        ];
        for (text, escaped) in cases {
            assert_eq!(escape(text), escaped);
        }
    }

    #[test]
    fn columns_are_padded_and_numbers_stand_right() {
        let mut table = Table::new("t", &["clients"], ["QPS".to_owned(), "p95".to_owned()]);
        let wide = Cell { spread: Some("23%".to_owned()), wide: true, ..Cell::plain("1,234") };
        table.push("16".to_owned(), Ok(vec![wide, Cell::alarm("no")]));
        table.push("256".to_owned(), Err("it failed".to_owned()));
        let mut out = String::new();
        write_table(&mut out, &table);
        let expected = "\
t:

| clients |                QPS |    p95 |
|:--------|-------------------:|-------:|
| 16      |       1,234 (23%!) | **no** |
| 256     | missing: it failed |        |

";
        assert_eq!(out, expected);
    }
}
