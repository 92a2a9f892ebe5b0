//! Each column type of `types.json`: read by text and by a prepared statement, written back through parameters.

use std::fmt::Debug;
use std::str::FromStr;

use bigdecimal::BigDecimal;
use chrono::{DateTime, NaiveDate, NaiveDateTime, Utc};
use sqlx::mysql::types::{MySqlTime, MySqlTimeSign};
use sqlx::mysql::{MySqlArguments, MySqlRow};
use sqlx::query::Query;
use sqlx::{Decode, MySql, MySqlConnection, Row, Type};

use crate::check::{Outcome, must, same};
use crate::queries::run;

/// A column, its value as SQL, and the value that a client must get.
struct Column {
    name: String,
    sql_type: String,
    literal: String,
    value: Value,
}

/// A value as SQLx has it, and binds it.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Signed(i64),
    Unsigned(u64),
    Decimal(BigDecimal),
    Float(f32),
    Double(f64),
    Date(NaiveDate),
    DateTime(NaiveDateTime),
    Timestamp(DateTime<Utc>),
    Time(MySqlTime),
    Text(String),
    Json(serde_json::Value),
    Bytes(Vec<u8>),
}

/// All types, as values and as NULL.
pub async fn all(connection: &mut MySqlConnection) -> Outcome {
    let columns = columns()?;
    run(connection, "SET time_zone = '+00:00'").await?;
    run(connection, "DROP TABLE IF EXISTS sqlx_types").await?;
    let definitions: Vec<_> = columns.iter().map(|c| format!("`{}` {} NULL", c.name, c.sql_type)).collect();
    run(connection, &format!("CREATE TABLE sqlx_types (id INT PRIMARY KEY, {})", definitions.join(", "))).await?;
    let literals: Vec<_> = columns.iter().map(|c| c.literal.as_str()).collect();
    run(connection, &format!("INSERT INTO sqlx_types VALUES (1, {})", literals.join(", "))).await?;
    run(connection, "INSERT INTO sqlx_types (id) VALUES (2)").await?;

    let select = "SELECT * FROM sqlx_types ORDER BY id";
    let text = must("types by text", sqlx::raw_sql(select).fetch_all(&mut *connection).await)?;
    let binary = must("types, prepared", sqlx::query(select).fetch_all(&mut *connection).await)?;
    for (way, rows, read) in [("text", &text, read_text as Reader), ("prepared", &binary, read)] {
        same("rows", rows.len(), 2)?;
        for column in &columns {
            same(&format!("{} by {way}", column.name), read(&rows[0], column)?, Some(column.value.clone()))?;
            same(&format!("NULL of {} by {way}", column.name), read(&rows[1], column)?, None)?;
        }
    }
    for (id, row) in [(3, &binary[0]), (4, &binary[1])] {
        write(connection, &columns, id, row).await?;
    }
    Ok(())
}

/// Inserts what was read through parameters; the server compares.
async fn write(connection: &mut MySqlConnection, columns: &[Column], id: i32, row: &MySqlRow) -> Outcome {
    let marks = vec!["?"; columns.len()].join(", ");
    let text = format!("INSERT INTO sqlx_types VALUES ({id}, {marks})");
    let mut insert = sqlx::query(&text);
    for column in columns {
        insert = bind(insert, read(row, column)?, column);
    }
    must("types as parameters", insert.execute(&mut *connection).await)?;
    let compared: Vec<_> = columns.iter().map(|c| format!("CAST(a.`{0}` <=> b.`{0}` AS SIGNED)", c.name)).collect();
    let text = format!(
        "SELECT {} FROM sqlx_types a, sqlx_types b WHERE a.id = {} AND b.id = {id}",
        compared.join(", "),
        id - 2
    );
    let row = must("comparison", sqlx::raw_sql(&text).fetch_one(connection).await)?;
    for (index, column) in columns.iter().enumerate() {
        same(&format!("{} as a parameter", column.name), must("comparison", row.try_get::<i64, _>(index))?, 1)?;
    }
    Ok(())
}

fn columns() -> Outcome<Vec<Column>> {
    let flavor = must("WEIR_TEST_FLAVOR", std::env::var("WEIR_TEST_FLAVOR"))?;
    let table: serde_json::Value =
        must("types.json", serde_json::from_str(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../types.json"))))?;
    let entries = table["columns"].as_array().ok_or("types.json has no columns")?;
    // SQLx 0.8 does not know MySQL's VECTOR.
    let there =
        entries.iter().filter(|e| e["only"].as_str().is_none_or(|only| only == flavor) && e["name"] != "vector");
    there.map(|entry| Column::new(entry, &flavor)).collect()
}

impl Column {
    fn new(entry: &serde_json::Value, flavor: &str) -> Outcome<Column> {
        let word = |key: &str| entry[key].as_str().map(str::to_owned);
        let needed = |key: &str| word(key).ok_or_else(|| format!("types.json: no {key} in {entry}"));
        let sql_type = needed("type")?;
        let value = match word("expected_hex") {
            Some(hex) => expected_bytes(&sql_type, &hex),
            None => {
                let text = word(flavor).or_else(|| word("expected")).ok_or_else(|| format!("no value: {entry}"))?;
                expected(&sql_type, &text, flavor)
            }
        };
        let value = value.map_err(|error| format!("types.json: {entry}: {error}"))?;
        Ok(Column { name: needed("name")?, sql_type, literal: needed("literal")?, value })
    }

    /// The type's first word.
    fn kind(&self) -> &str {
        kind(&self.sql_type)
    }
}

fn kind(sql_type: &str) -> &str {
    sql_type.split([' ', '(']).next().unwrap_or(sql_type)
}

fn expected_bytes(sql_type: &str, hex: &str) -> Outcome<Value> {
    if kind(sql_type) == "BIT" {
        return Ok(Value::Unsigned(must("hex", u64::from_str_radix(hex, 16))?));
    }
    let pairs = (0..hex.len()).step_by(2).map(|at| must("hex", u8::from_str_radix(&hex[at..at + 2], 16)));
    Ok(Value::Bytes(pairs.collect::<Outcome<_>>()?))
}

fn expected(sql_type: &str, text: &str, flavor: &str) -> Outcome<Value> {
    fn parsed<T: FromStr<Err: Debug>>(text: &str, make: fn(T) -> Value) -> Outcome<Value> {
        must("a value", text.parse().map(make))
    }
    match kind(sql_type) {
        _ if sql_type.contains("UNSIGNED") => parsed(text, Value::Unsigned),
        "YEAR" => parsed(text, Value::Unsigned),
        "TINYINT" | "BOOL" | "SMALLINT" | "MEDIUMINT" | "INT" | "BIGINT" => parsed(text, Value::Signed),
        "DECIMAL" => parsed(text, Value::Decimal),
        "FLOAT" => parsed(text, Value::Float),
        "DOUBLE" => parsed(text, Value::Double),
        "DATE" => parsed(text, Value::Date),
        "DATETIME" => date_time(text).map(Value::DateTime),
        "TIMESTAMP" => date_time(text).map(|time| Value::Timestamp(time.and_utc())),
        "TIME" => time(text).ok_or_else(|| text.to_owned()),
        // MariaDB's JSON is text.
        "JSON" if flavor == "mysql" => must("JSON", serde_json::from_str(text).map(Value::Json)),
        _ => Ok(Value::Text(text.to_owned())),
    }
}

fn date_time(text: &str) -> Outcome<NaiveDateTime> {
    must("a value", NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S%.f"))
}

fn time(text: &str) -> Option<Value> {
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (MySqlTimeSign::Negative, rest),
        None => (MySqlTimeSign::Positive, text),
    };
    let (clock, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let mut parts = clock.split(':');
    let (hours, minutes, seconds) = (parts.next()?, parts.next()?, parts.next()?);
    let (hours, minutes, seconds) = (hours.parse().ok()?, minutes.parse().ok()?, seconds.parse().ok()?);
    MySqlTime::new(sign, hours, minutes, seconds, fraction.parse().ok()?).ok().map(Value::Time)
}

type Reader = fn(&MySqlRow, &Column) -> Outcome<Option<Value>>;

/// SQLx 0.8 loses the sign of -00:00:00.000001 when it reads it as text.
fn read_text(row: &MySqlRow, column: &Column) -> Outcome<Option<Value>> {
    if column.name != "time_just_negative" {
        return read(row, column);
    }
    let text: Option<String> = must(&column.name, row.try_get_unchecked(column.name.as_str()))?;
    text.map(|text| time(&text).ok_or(text)).transpose()
}

fn read(row: &MySqlRow, column: &Column) -> Outcome<Option<Value>> {
    fn get<'r, T: Decode<'r, MySql> + Type<MySql>>(
        row: &'r MySqlRow,
        column: &'r Column,
        make: fn(T) -> Value,
    ) -> Outcome<Option<Value>> {
        let name = column.name.as_str();
        // SQLx has no Rust type for geometries, and takes MariaDB's own types that it sends as text for bytes.
        let got = match column.kind() {
            "GEOMETRY" | "JSON" | "UUID" | "INET6" => row.try_get_unchecked::<Option<T>, _>(name),
            _ => row.try_get(name),
        };
        must(name, got).map(|value| value.map(make))
    }
    match column.value {
        Value::Signed(_) => get(row, column, Value::Signed),
        Value::Unsigned(_) => get(row, column, Value::Unsigned),
        Value::Decimal(_) => get(row, column, Value::Decimal),
        Value::Float(_) => get(row, column, Value::Float),
        Value::Double(_) => get(row, column, Value::Double),
        Value::Date(_) => get(row, column, Value::Date),
        Value::DateTime(_) => get(row, column, Value::DateTime),
        Value::Timestamp(_) => get(row, column, Value::Timestamp),
        Value::Time(_) => get(row, column, Value::Time),
        Value::Text(_) => get(row, column, Value::Text),
        Value::Json(_) => get(row, column, Value::Json),
        Value::Bytes(_) => get(row, column, Value::Bytes),
    }
}

type Bound<'q> = Query<'q, MySql, MySqlArguments>;

fn bind<'q>(query: Bound<'q>, value: Option<Value>, column: &Column) -> Bound<'q> {
    match value {
        None => null(query, column),
        Some(Value::Signed(value)) => query.bind(value),
        Some(Value::Unsigned(value)) => query.bind(value),
        Some(Value::Decimal(value)) => query.bind(value),
        Some(Value::Float(value)) => query.bind(value),
        Some(Value::Double(value)) => query.bind(value),
        Some(Value::Date(value)) => query.bind(value),
        Some(Value::DateTime(value)) => query.bind(value),
        Some(Value::Timestamp(value)) => query.bind(value),
        Some(Value::Time(value)) => query.bind(value),
        Some(Value::Text(value)) => query.bind(value),
        Some(Value::Json(value)) => query.bind(value),
        Some(Value::Bytes(value)) => query.bind(value),
    }
}

/// A NULL of the type that SQLx would give the value.
fn null<'q>(query: Bound<'q>, column: &Column) -> Bound<'q> {
    match column.value {
        Value::Signed(_) => query.bind(None::<i64>),
        Value::Unsigned(_) => query.bind(None::<u64>),
        Value::DateTime(_) => query.bind(None::<NaiveDateTime>),
        Value::Bytes(_) => query.bind(None::<Vec<u8>>),
        _ => query.bind(None::<String>),
    }
}
