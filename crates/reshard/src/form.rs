//! How rows of a table are read from a source and written into a target, and their checksums.
//!
//! What must always hold: what is written is what was read, in the forms of [`weir_plan::passed`] and the literals of
//! [`weir_exec::workbench::Literal`]. Generated columns are left out: the target computes them.

use weir_catalog::Column;
use weir_exec::read::{Column as ResultColumn, Format};
use weir_exec::workbench::Literal;
use weir_plan::write::literal::put_name;
use weir_plan::{Passed, passed};
use weir_wire::{Failure, Reader};

use crate::MoveError;
use crate::key::KeyColumn;
use crate::link::malformed;
use crate::plan::{Site, TablePlan};

/// The forms of a table, on one kind of server.
#[derive(Debug, Clone)]
pub(crate) struct Form {
    /// Its name.
    pub(crate) name: String,
    /// What is selected: the columns that are written, and behind them those that only say where a row belongs.
    select: String,
    /// How the first of these are passed, and whether they are an ENUM.
    written: Vec<(Passed, bool)>,
    /// The columns that are written.
    columns: String,
    /// The key's columns: their quoted names, their places in the select list, their places in the table, their kinds.
    pub(crate) key_names: Vec<String>,
    key_at: Vec<usize>,
    pub(crate) key_places: Vec<usize>,
    pub(crate) key_columns: Vec<KeyColumn>,
    /// The places in the select list of the columns that say where a row belongs.
    placed_at: Vec<usize>,
    /// A row's place follows from its key.
    pub(crate) placed_by_key: bool,
    /// The key's columns as they are passed, and the checksum of a row.
    key_select: String,
    checksum: String,
}

/// What the rows of one result are written with.
pub(crate) struct Literals {
    fields: Vec<(Literal, bool)>,
}

/// A name in backticks.
pub(crate) fn quoted(name: &str) -> String {
    let mut out = Vec::new();
    put_name(&mut out, name.as_bytes());
    String::from_utf8_lossy(&out).into_owned()
}

/// A table's name with its schema.
pub(crate) fn table_of(site: &Site, name: &str) -> String {
    format!("{}.{}", quoted(&site.schema), quoted(name))
}

impl Form {
    /// The forms of a table.
    ///
    /// # Errors
    /// When a column's values can't be passed exactly, or be part of a key.
    pub(crate) fn of(plan: &TablePlan, mariadb: bool) -> Result<Form, MoveError> {
        let cannot = |column: &Column| {
            MoveError::refused(format!(
                "Column '{}' of table '{}' has the type {}, whose values can't be moved exactly: change the type, or move the table's rows \
                 with a dump",
                column.name, plan.name, column.kind.full
            ))
        };
        let (mut select, mut written, mut columns, mut at) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (place, column) in plan.columns.iter().enumerate().filter(|(_, column)| !column.generated) {
            let name = quoted(&column.name);
            let (form, expression) = passed(column, &name, mariadb).ok_or_else(|| cannot(column))?;
            at.push(place);
            select.push(expression);
            written.push((form, column.kind.base == "enum"));
            columns.push(name);
        }
        let mut placed_at = Vec::new();
        for place in plan.placement.columns() {
            let column =
                plan.columns.get(*place).ok_or_else(|| MoveError::internal("the placement has no such column"))?;
            let known = at.iter().position(|there| there == place);
            placed_at.push(match known {
                Some(known) => known,
                None => {
                    select.push(passed(column, &quoted(&column.name), mariadb).ok_or_else(|| cannot(column))?.1);
                    at.push(*place);
                    at.len() - 1
                }
            });
        }
        let key = |place: &usize| {
            let column = plan.columns.get(*place)?;
            let at = at.iter().position(|there| there == place).filter(|_| !column.generated && !column.nullable)?;
            Some((quoted(&column.name), at, KeyColumn::of(column)?))
        };
        let passed_at: Vec<String> = select.clone();
        let keys: Option<Vec<_>> = plan.key.iter().map(key).collect();
        let keys = keys.filter(|keys| !keys.is_empty()).ok_or_else(|| {
            MoveError::refused(format!(
                "Table '{}' has no key by which its rows can be moved: add a PRIMARY KEY",
                plan.name
            ))
        })?;
        Ok(Form {
            name: plan.name.clone(),
            select: select.join(","),
            written,
            columns: columns.join(","),
            key_select: keys.iter().map(|(_, at, _)| &*passed_at[*at]).collect::<Vec<_>>().join(","),
            key_names: keys.iter().map(|(name, ..)| name.clone()).collect(),
            key_at: keys.iter().map(|(_, at, _)| *at).collect(),
            key_places: plan.key.clone(),
            key_columns: keys.into_iter().map(|(_, _, column)| column).collect(),
            placed_by_key: plan.placement.columns().iter().all(|place| plan.key.contains(place)),
            placed_at,
            checksum: checksum(plan, mariadb).ok_or_else(|| MoveError::internal("a column has no checksum"))?,
        })
    }

    /// The query for rows; a condition follows.
    pub(crate) fn query(&self, site: &Site) -> String {
        format!("SELECT {} FROM {}", self.select, table_of(site, &self.name))
    }

    /// The query for how many rows there are, and their checksum; a condition follows.
    pub(crate) fn sums(&self, site: &Site) -> String {
        format!("SELECT COUNT(*),BIT_XOR({}) FROM {}", self.checksum, table_of(site, &self.name))
    }

    /// The query for keys; a condition follows.
    pub(crate) fn keys(&self, site: &Site) -> String {
        format!("SELECT {} FROM {}", self.key_select, table_of(site, &self.name))
    }

    /// The query for keys, each with its row's checksum; a condition follows.
    pub(crate) fn key_sums(&self, site: &Site) -> String {
        format!("SELECT {},{} FROM {}", self.key_select, self.checksum, table_of(site, &self.name))
    }

    /// The key in a row of [`Form::keys`], as literals.
    pub(crate) fn key_alone(&self, fields: &[Option<Vec<u8>>]) -> Vec<String> {
        let literal = |(column, field): (&KeyColumn, &Option<Vec<u8>>)| {
            let mut out = Vec::new();
            column.put(&mut out, field.as_deref().unwrap_or_default());
            String::from_utf8_lossy(&out).into_owned()
        };
        self.key_columns.iter().zip(fields).map(literal).collect()
    }

    /// The order of the key.
    pub(crate) fn order(&self) -> String {
        self.key_names.join(",")
    }

    /// The beginning of a statement that writes rows.
    pub(crate) fn replace(&self, site: &Site) -> String {
        format!("REPLACE INTO {} ({}) VALUES ", table_of(site, &self.name), self.columns)
    }

    /// The beginning of a statement that deletes rows; a condition follows.
    pub(crate) fn delete(&self, site: &Site) -> String {
        format!("DELETE FROM {} WHERE ", table_of(site, &self.name))
    }

    /// What the rows of a result of [`Form::query`] are written with.
    pub(crate) fn literals(&self, columns: &[ResultColumn]) -> Literals {
        let both = self.written.iter().zip(columns);
        let field = |((passed, is_enum), column): (&(Passed, bool), &ResultColumn)| {
            (Literal::of(*passed, column, Format::Text), *is_enum)
        };
        Literals { fields: both.map(field).collect() }
    }

    /// The key of a row, as literals.
    pub(crate) fn key_of(&self, fields: &[Option<&[u8]>]) -> Vec<String> {
        let both = self.key_at.iter().zip(&self.key_columns);
        let literal = |(at, column): (&usize, &KeyColumn)| {
            let mut out = Vec::new();
            column.put(&mut out, fields.get(*at).copied().flatten().unwrap_or_default());
            String::from_utf8_lossy(&out).into_owned()
        };
        both.map(literal).collect()
    }

    /// The values that say where a row belongs.
    pub(crate) fn placing<'r>(&self, fields: &[Option<&'r [u8]>]) -> Vec<Option<&'r [u8]>> {
        self.placed_at.iter().map(|at| fields.get(*at).copied().flatten()).collect()
    }
}

impl Literals {
    /// Appends a row. Returns how often the server warns when it stores it.
    ///
    /// # Errors
    /// When a value is not of its column's type.
    pub(crate) fn put(&self, fields: &[Option<&[u8]>], out: &mut Vec<u8>) -> Result<usize, Failure> {
        let (mut before, mut warnings) = (b'(', 0);
        for ((literal, is_enum), field) in self.fields.iter().zip(fields) {
            out.push(before);
            let start = out.len();
            literal.put(*field, out)?;
            // What is no member of an ENUM has the number 0.
            warnings += usize::from(*is_enum && out[start..] == *b"0");
            before = b',';
        }
        out.push(b')');
        Ok(warnings)
    }
}

/// The fields of a row's packet.
pub(crate) fn fields(packet: &[u8]) -> Result<Vec<Option<&[u8]>>, Failure> {
    let mut fields = Vec::with_capacity(16);
    let mut r = Reader::new(packet);
    while !r.is_empty() {
        fields.push(r.cell("row").map_err(malformed)?);
    }
    Ok(fields)
}

/// The checksum of a row: 64 bits of a hash over all its values and which of them are NULL. Bytes enter as digits, so that values
/// can't run into each other; long ones with a hash of their own, so that the whole stays below `max_allowed_packet`.
fn checksum(plan: &TablePlan, mariadb: bool) -> Option<String> {
    let (mut values, mut nulls) = (Vec::new(), Vec::new());
    for column in plan.columns.iter().filter(|column| !column.generated) {
        let name = quoted(&column.name);
        let (form, expression) = passed(column, &name, mariadb)?;
        let long = matches!(
            &*column.kind.base,
            "tinytext" | "text" | "mediumtext" | "longtext" | "tinyblob" | "blob" | "mediumblob" | "longblob" | "json"
        );
        match form {
            Passed::Bytes | Passed::Utf8 if long || column.kind.length.is_none() => {
                values.push(format!("SHA2({expression},256)"));
            }
            Passed::Bytes | Passed::Utf8 => values.push(format!("HEX({expression})")),
            _ => values.push(expression),
        }
        if column.nullable {
            nulls.push(format!("ISNULL({name})"));
        }
    }
    if !nulls.is_empty() {
        values.push(format!("CONCAT({})", nulls.join(",")));
    }
    Some(format!("CAST(CONV(LEFT(SHA2(CONCAT_WS('#',{}),256),16),16,10) AS UNSIGNED)", values.join(",")))
}
