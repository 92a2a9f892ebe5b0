//! The input of a computation on a server: rows as a JSON document that JSON_TABLE turns into a table.
//!
//! What must always hold: the table's columns have the types and collations of the values, and numbers keep all of their digits. The document
//! is ASCII, so that it means the same in each client character set.

use std::fmt::Write as _;
use weir_wire::charset::is_wide;

use weir_backend::Connection;
use weir_backend::profile::charset_of;
use weir_catalog::converted;
use weir_plan::{Averaged, Computed, GIVEN_ROW, GIVEN_TABLE, GivenValue};
use weir_wire::Failure;
use weir_wire::stmt::{Execute, Picked};

use super::super::columns::{Column, ColumnKind};
use super::super::decimal::{Decimal, quotient_scale};
use super::super::failure::internal;
use super::super::row::{self, Format, Span};
use super::super::value::{float, integer};
use crate::Request;
use crate::values::{MOST_DOCUMENT, json};
use weir_wire::error::not_supported;

/// How rows are given.
pub(super) struct Types<'a> {
    computed: &'a Computed,
    columns: &'a [Column],
    kinds: Vec<ColumnKind>,
    format: Format,
}

/// Some rows.
pub(super) struct Batch {
    pub(super) rows: usize,
    pub(super) document: String,
}

impl<'a> Types<'a> {
    /// Of rows with these columns. `charset`: that in which texts come.
    ///
    /// # Errors
    /// A value whose type can't be given exactly.
    pub(super) fn new(
        computed: &'a Computed,
        columns: &'a [Column],
        format: Format,
        charset: Option<String>,
    ) -> Result<Types<'a>, Failure> {
        for given in &computed.given {
            let Some(column) = columns.get(given.column) else {
                return Err(internal("there is no column to compute from"));
            };
            let why = match (column.kind, type_given(given, columns)) {
                (ColumnKind::Bytes, Some(_)) => unfit_charset(charset.as_deref(), given.collation.as_deref()),
                (_, Some(_)) => None,
                (ColumnKind::Bytes, None) => Some("is not the text of a column"),
                (_, None) => Some("has a type that can't be passed to a server exactly"),
            };
            if let Some(why) = why {
                let text = &given.text;
                return Err(not_supported(format!(
                    "An expression over the groups of several shards is computed from {text}, which {why}"
                )));
            }
        }
        let kinds = columns.iter().map(|column| column.kind).collect();
        Ok(Types { computed, columns, kinds, format })
    }

    /// As many of the first of these rows as fit into a statement.
    ///
    /// # Errors
    /// A value that is not one of its column's type.
    pub(super) fn batch(&self, rows: &[Vec<u8>]) -> Result<Batch, Failure> {
        let mut batch = Batch { rows: 0, document: String::from("[") };
        let mut spans = Vec::new();
        for row in rows {
            let before = batch.document.len();
            if before > 1 {
                batch.document.push(',');
            }
            self.put(row, &mut spans, &mut batch.document)?;
            if batch.document.len() > MOST_DOCUMENT {
                if batch.rows == 0 {
                    return Err(super::too_many());
                }
                batch.document.truncate(before);
                break;
            }
            batch.rows += 1;
        }
        batch.document.push(']');
        Ok(batch)
    }

    /// What is NULL is left out.
    fn put(&self, row: &[u8], spans: &mut Vec<Span>, out: &mut String) -> Result<(), Failure> {
        row::locate(self.format, &self.kinds, self.kinds.len(), row, spans).map_err(malformed)?;
        out.push('{');
        let mut between = "";
        for (nth, given) in self.computed.given.iter().enumerate() {
            let Some(field) = spans.get(given.column).and_then(|span| span.of(row)) else { continue };
            let value = match given.average {
                None => json::value(&self.columns[given.column], self.format, field)?,
                Some(average) => {
                    let count = spans.get(average.count).and_then(|span| span.of(row));
                    self.average(given, average, field, count)?
                }
            };
            // Writing to a String does not fail.
            let _ = write!(out, "{between}\"c{nth}\":\"");
            json::put_escaped(&value, out);
            out.push('"');
            between = ",";
        }
        out.push('}');
        Ok(())
    }

    /// The quotient of a sum by a count.
    fn average(
        &self,
        given: &GivenValue,
        average: Averaged,
        sum: &[u8],
        count: Option<&[u8]>,
    ) -> Result<String, Failure> {
        let (Some(count), Some(counts)) = (count, self.columns.get(average.count)) else {
            return Err(internal("an average has no count"));
        };
        let count = u64::try_from(integer(counts, self.format, count)?).unwrap_or_default();
        let column = &self.columns[given.column];
        if column.kind == ColumnKind::Double {
            return Ok(format!("{:e}", float(column, self.format, sum)? / count as f64));
        }
        let scale = scale_of_average(column, self.columns.get(average.shown));
        let digits = Decimal::parse(sum).map_err(malformed)?.quotient(count, scale);
        Ok(String::from_utf8_lossy(&digits).into_owned())
    }

    /// The statement that computes.
    pub(super) fn text(&self, document: &Document, connection: &Connection) -> Vec<u8> {
        self.text_with(document, &|path| path_literal(path, connection))
    }

    fn text_with(&self, document: &Document, path: &dyn Fn(&str) -> String) -> Vec<u8> {
        let mut text = format!("WITH `{GIVEN_TABLE}` AS (SELECT * FROM JSON_TABLE(");
        match document {
            Document::Literal(document) => {
                text.push_str("_utf8mb4 x'");
                for byte in document.bytes() {
                    let _ = write!(text, "{byte:02X}");
                }
                text.push('\'');
            }
            Document::Parameter(_) => text.push('?'),
        }
        let _ = write!(text, ", {} COLUMNS (`{GIVEN_ROW}` FOR ORDINALITY", path("$[*]"));
        for (nth, given) in self.computed.given.iter().enumerate() {
            let kind = type_given(given, self.columns).unwrap_or_default();
            let path = path(&format!("$.c{nth}"));
            let _ = write!(text, ", `c{nth}` {kind} PATH {path} NULL ON EMPTY ERROR ON ERROR");
        }
        let _ = write!(text, ")) AS `{GIVEN_TABLE}`) ");
        let mut text = text.into_bytes();
        text.extend_from_slice(&self.computed.text);
        text
    }
}

/// A path that consists of ASCII. MariaDB reads a path in the connection's character set, whatever stands before it: in a wide one it has to
/// have that one's bytes.
fn path_literal(path: &str, connection: &Connection) -> String {
    let profile = connection.profile();
    let collation = profile.variable("collation_connection").or_else(|| profile.variable("character_set_connection"));
    let wide = collation.filter(|collation| connection.is_mariadb() && is_wide(collation));
    let bytes = wide.and_then(|collation| converted(path.as_bytes(), "utf8mb4", collation));
    match bytes.and_then(|bytes| String::from_utf8(bytes).ok()) {
        Some(bytes) => format!("'{bytes}'"),
        None => format!("_utf8mb4'{path}'"),
    }
}

/// The type under which something is given, as `type_of`.
fn type_given(given: &GivenValue, columns: &[Column]) -> Option<String> {
    let column = columns.get(given.column)?;
    match given.average {
        Some(average) if column.kind == ColumnKind::Decimal => {
            let scale = scale_of_average(column, columns.get(average.shown));
            (scale <= MOST_DECIMALS).then(|| format!("DECIMAL(65,{scale})"))
        }
        _ => json::type_of(column, given.collation.as_deref()),
    }
}

/// How many digits behind the point an average has.
fn scale_of_average(sum: &Column, shown: Option<&Column>) -> usize {
    quotient_scale(sum.decimals.into(), shown.map_or(0, |shown| shown.decimals).max(sum.decimals).into())
}

/// The most digits behind the point of a DECIMAL. Source: MySQL, `DECIMAL_MAX_SCALE`.
const MOST_DECIMALS: usize = 30;

/// Why texts of this collation don't come whole in a character set.
fn unfit_charset(charset: Option<&str>, collation: Option<&str>) -> Option<&'static str> {
    let own = charset_of(collation.unwrap_or_default());
    let fits = match charset {
        Some("utf8mb4") => true,
        Some("utf8mb3" | "utf8") => matches!(own, "utf8mb3" | "utf8" | "latin1" | "ascii"),
        _ => false,
    };
    (!fits).then_some("may lose characters in the character set of results: SET NAMES utf8mb4")
}

fn malformed(error: weir_wire::Malformed) -> Failure {
    internal(&error.to_string())
}

/// How a document gets into a statement.
pub(super) enum Document {
    /// In its text.
    Literal(String),
    /// As the first parameter of an execution, before the client's.
    Parameter(Picked),
}

impl Document {
    /// As the client's statement was asked, with these of its parameters. `named`: query attributes were negotiated with the server.
    ///
    /// # Errors
    /// When the execution can't be made.
    pub(super) fn new(
        request: &Request<'_>,
        parameters: &[u32],
        document: String,
        named: bool,
    ) -> Result<Document, Failure> {
        match request {
            Request::Text => Ok(Document::Literal(document)),
            Request::SqlPrepared { .. } => Err(not_supported(
                "EXECUTE … USING of expressions over the groups of several shards: send it as a text of its own",
            )),
            Request::Execute { execute, types, .. } => {
                let types = types.map_or(&[][..], |types| &types[..]);
                let picked = execute.pick(parameters, types, named).map_err(malformed)?;
                Ok(Document::Parameter(picked.behind_text(document.as_bytes(), named)))
            }
        }
    }

    /// How many parameters the statement has.
    pub(super) fn parameters(&self) -> u32 {
        match self {
            Document::Literal(_) => 0,
            Document::Parameter(picked) => picked.count(),
        }
    }

    /// The execution, if it is one.
    pub(super) fn execution(&self) -> Option<Execute<'_>> {
        match self {
            Document::Literal(_) => None,
            Document::Parameter(picked) => Some(picked.execute()),
        }
    }

    /// How the statement is asked.
    pub(super) fn request<'r>(&'r self, request: &Request<'r>, execution: Option<&'r Execute<'r>>) -> Request<'r> {
        match (self, request, execution) {
            (Document::Parameter(picked), Request::Execute { parsing, session, .. }, Some(execute)) => {
                Request::Execute { parsing, execute, types: Some(&picked.types), session: *session }
            }
            _ => *request,
        }
    }
}

#[cfg(test)]
mod tests;
