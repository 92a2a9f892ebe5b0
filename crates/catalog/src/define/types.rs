//! Types of columns as CREATE TABLE declares them.
//!
//! What must always hold: a type read from a declaration is what `information_schema.columns` will report for the column, as far as keys are
//! concerned.

use weir_sql::ast::{ColumnAttributeKind, ColumnDefinition, KeyKind, KeyPart, TableDefinition, TableOptionKind};

use super::Setting;
use crate::table::{Column, ColumnType};

/// The columns, in order.
pub(super) fn columns(setting: &Setting<'_>, definition: &TableDefinition<'_>) -> Vec<Column> {
    let of_table = table_collation(setting, definition);
    let primary: Vec<String> = definition
        .keys()
        .filter(|key| key.kind == KeyKind::Primary)
        .flat_map(|key| key.parts.iter().filter_map(KeyPart::column))
        .map(|name| super::text(name.name))
        .collect();
    let never_null = |column: &ColumnDefinition<'_>| {
        let name = super::text(column.name.name);
        column.is_not_null()
            || column.is_primary_key()
            || column.data_type.name.text(setting.text).eq_ignore_ascii_case(b"serial")
            || primary.iter().any(|known| known.eq_ignore_ascii_case(&name))
    };
    definition
        .columns()
        .map(|column| Column {
            name: super::text(column.name.name),
            kind: column_type(setting, column, of_table.as_deref()),
            nullable: !never_null(column),
            // Read from the server that has made the table.
            default: None,
            generated: is_generated(column),
            required: false,
            invisible: false,
        })
        .collect()
}

fn is_generated(column: &ColumnDefinition<'_>) -> bool {
    let generated = |kind| {
        matches!(kind, ColumnAttributeKind::Generated(_) | ColumnAttributeKind::RowStart | ColumnAttributeKind::RowEnd)
    };
    column.attributes.iter().any(|attribute| generated(attribute.kind))
}

fn table_collation(setting: &Setting<'_>, definition: &TableDefinition<'_>) -> Option<String> {
    let mut found = setting.collation.map(str::to_owned);
    let mut named = false;
    for option in definition.options {
        match option.kind {
            TableOptionKind::Collate(Some(name)) => {
                found = Some(super::text(name.name).to_lowercase());
                named = true;
            }
            TableOptionKind::Charset(Some(name)) if !named => found = default_collation(setting, name.name),
            _ => {}
        }
    }
    found
}

fn default_collation(setting: &Setting<'_>, charset: &[u8]) -> Option<String> {
    let charset = super::text(charset).to_lowercase();
    (setting.collation_of)(&charset).or_else(|| {
        Some(
            match &*charset {
                "latin1" | "ascii" if charset == "latin1" => "latin1_swedish_ci",
                "ascii" => "ascii_general_ci",
                "utf8" | "utf8mb3" => "utf8mb3_general_ci",
                "binary" | "byte" => "binary",
                _ => return None,
            }
            .to_owned(),
        )
    })
}

fn column_type(setting: &Setting<'_>, column: &ColumnDefinition<'_>, of_table: Option<&str>) -> ColumnType {
    let declared = &column.data_type;
    let words = super::text(declared.name.text(setting.text)).to_lowercase();
    let words: Vec<&str> = words.split_whitespace().collect();
    let base = base_type(&words);
    let number = |at: usize| {
        let argument = declared.arguments.get(at)?;
        std::str::from_utf8(argument.span.text(setting.text)).ok()?.parse::<u64>().ok()
    };
    let is_bytes = declared.charset.is_some_and(|charset| charset.is("byte") || charset.is("binary"));
    let base = match base {
        "char" if is_bytes => "binary",
        "varchar" if is_bytes => "varbinary",
        other => other,
    };
    let temporal = matches!(base, "datetime" | "time" | "timestamp");
    let is_text = matches!(base, "char" | "varchar");
    ColumnType {
        base: base.to_owned(),
        full: super::text(declared.span.text(setting.text)).to_lowercase(),
        unsigned: declared.unsigned || declared.zerofill || words == ["serial"],
        length: if temporal { None } else { number(0) },
        scale: if temporal { number(0) } else { number(1) }.and_then(|scale| u32::try_from(scale).ok()),
        collation: is_text.then(|| collation(setting, column, &words, of_table)).flatten(),
    }
}

fn collation(
    setting: &Setting<'_>,
    column: &ColumnDefinition<'_>,
    words: &[&str],
    of_table: Option<&str>,
) -> Option<String> {
    let named = column.attributes.iter().rev().find_map(|attribute| match attribute.kind {
        ColumnAttributeKind::Collate(Some(name)) => Some(super::text(name.name).to_lowercase()),
        _ => None,
    });
    if named.is_some() {
        return named;
    }
    let charset = match column.data_type.charset {
        Some(charset)
            if charset.is("ascii")
                && !super::text(column.data_type.span.text(setting.text)).to_lowercase().contains("set") =>
        {
            Some(&b"latin1"[..])
        }
        Some(charset) => Some(charset.name),
        None if matches!(words, ["national", ..] | ["nchar" | "nvarchar", ..]) => Some(&b"utf8mb3"[..]),
        None => None,
    };
    let of_charset = match charset {
        Some(charset) => default_collation(setting, charset),
        None => of_table.map(str::to_owned),
    };
    match column.data_type.binary {
        true => of_charset.map(|collation| format!("{}_bin", collation.split('_').next().unwrap_or_default())),
        false => of_charset,
    }
}

/// `DATA_TYPE` of a type's words.
fn base_type<'a>(words: &[&'a str]) -> &'a str {
    let varying = words.iter().any(|word| word.starts_with("var") || matches!(*word, "nvarchar"));
    match words.first().copied().unwrap_or_default() {
        "integer" | "int4" | "int" => "int",
        "bool" | "boolean" | "int1" => "tinyint",
        "int2" => "smallint",
        "int3" | "middleint" => "mediumint",
        "int8" | "serial" => "bigint",
        "dec" | "numeric" | "fixed" | "number" => "decimal",
        "float4" => "float",
        "float8" | "real" | "double" => "double",
        "character" | "char" | "national" | "nchar" | "nvarchar" | "varchar" | "varchar2" | "varcharacter" => {
            if varying { "varchar" } else { "char" }
        }
        other => other,
    }
}
