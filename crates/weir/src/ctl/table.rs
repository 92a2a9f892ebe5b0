//! Tables as the shells of MySQL and MariaDB print them.

use serde_json::Value as Json;
use weir_admin::answer::{CellKind, Column};
use weir_admin::command::Shape;

/// An answer as a table.
pub(super) fn render(shape: Shape, answer: &Json) -> String {
    match shape {
        Shape::Done => String::new(),
        Shape::Record(columns) => {
            let rows = columns.iter().map(|column| vec![column.name.to_owned(), cell(&answer[column.name])]).collect();
            table(&[("name", false), ("value", false)], rows)
        }
        Shape::Rows(columns) => {
            let items = answer["items"].as_array().map(Vec::as_slice).unwrap_or_default();
            let row = |item: &Json| columns.iter().map(|column| cell(&item[column.name])).collect();
            let heads: Vec<_> =
                columns.iter().map(|column: &Column| (column.name, column.kind != CellKind::Text)).collect();
            table(&heads, items.iter().map(row).collect())
        }
    }
}

fn cell(value: &Json) -> String {
    match value {
        Json::Null => "NULL".to_owned(),
        // What would break the frame is escaped.
        Json::String(text) if text.contains(char::is_control) => text.escape_debug().to_string(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Columns with their names, and whether they are aligned to the right.
fn table(heads: &[(&str, bool)], rows: Vec<Vec<String>>) -> String {
    if rows.is_empty() {
        return "Empty set\n".to_owned();
    }
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<_> = heads.iter().enumerate().map(|(at, (name, _))| width(at).max(name.len())).collect();
    let rule = format!("+{}\n", widths.iter().map(|width| format!("{}+", "-".repeat(width + 2))).collect::<String>());
    let mut text = rule.clone();
    let names = heads.iter().zip(&widths).map(|((name, _), width)| format!(" {name:width$} |"));
    text.push_str(&format!("|{}\n{rule}", names.collect::<String>()));
    for row in &rows {
        let cells = row.iter().zip(heads).zip(&widths).map(|((cell, (_, right)), width)| match right {
            true => format!(" {cell:>width$} |"),
            false => format!(" {cell:width$} |"),
        });
        text.push_str(&format!("|{}\n", cells.collect::<String>()));
    }
    text.push_str(&rule);
    let noun = if rows.len() == 1 { "row" } else { "rows" };
    text.push_str(&format!("{} {noun} in set\n", rows.len()));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_look_as_in_the_shell() {
        const COLUMNS: &[Column] = &[Column::integer("id", "."), Column::text("user", ".").or_null()];
        let answer = serde_json::json!({ "items": [{ "id": 7, "user": "app" }, { "id": 12, "user": null }] });
        let expected = "\
+----+------+
| id | user |
+----+------+
|  7 | app  |
| 12 | NULL |
+----+------+
2 rows in set
";
        assert_eq!(render(Shape::Rows(COLUMNS), &answer), expected);
        assert_eq!(render(Shape::Rows(COLUMNS), &serde_json::json!({ "items": [] })), "Empty set\n");
        let record = render(Shape::Record(COLUMNS), &serde_json::json!({ "id": 7, "user": "a\nb" }));
        assert!(record.contains("| user | a\\nb  |\n"), "{record}");
    }
}
