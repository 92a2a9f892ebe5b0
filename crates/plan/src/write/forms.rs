//! How a column's values are read so that they can be written again, and compared, without loss.
//!
//! What must always hold: the literal that comes of a form is equal to the stored value, and to no other value of the column.

use weir_catalog::Column;

use super::literal::{charset, put_name};
use crate::Form;

/// The form of a column's values. `None`: they have no text that stands for them alone.
pub(super) fn form(column: &Column) -> Option<Form> {
    match &*column.kind.base {
        // Four bytes are shown with six digits; times with a time zone stand for two when clocks go back; the rest has no plain text.
        "float" | "timestamp" | "bit" | "enum" | "set" => None,
        "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" => Some(Form::Hex(None)),
        _ => match &column.kind.collation {
            Some(collation) => Some(Form::Hex(Some(charset(collation).to_owned()))),
            None => Some(Form::Plain),
        },
    }
}

/// The expression that reads a column in a form. `of`: what qualifies it, quoted.
pub(super) fn put_read(out: &mut Vec<u8>, of: Option<&[u8]>, column: &Column, form: &Form) {
    if matches!(form, Form::Hex(_)) {
        out.extend_from_slice(b"HEX(");
    }
    if let Some(table) = of {
        out.extend_from_slice(table);
        out.push(b'.');
    }
    put_name(out, column.name.as_bytes());
    if matches!(form, Form::Hex(_)) {
        out.push(b')');
    }
}
