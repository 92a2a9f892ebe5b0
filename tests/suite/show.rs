//! Answers as text, for the person who reads a failure.

use std::fmt;

use crate::reply::{Column, Set};

/// At most this many bytes of a value are printed.
const SHOWN: usize = 120;

fn shown(bytes: &[u8]) -> String {
    let cut = &bytes[..bytes.len().min(SHOWN)];
    let more = if cut.len() < bytes.len() { format!("… ({} bytes)", bytes.len()) } else { String::new() };
    format!("{}{more}", cut.escape_ascii())
}

impl fmt::Debug for Set {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ok(ok) => {
                write!(
                    out,
                    "OK affected {} id {} status {:#06x} warnings {} info \"{}\"",
                    ok.affected,
                    ok.insert_id,
                    ok.status,
                    ok.warnings,
                    shown(&ok.info)
                )?;
                for (kind, data) in &ok.track {
                    write!(out, " track {kind} \"{}\"", shown(data))?;
                }
                Ok(())
            }
            Self::Rows(columns, rows, end) => {
                writeln!(out, "{} rows", rows.len())?;
                write_columns(out, columns)?;
                for row in rows.iter().take(20) {
                    let values: Vec<String> =
                        row.iter().map(|value| value.as_deref().map_or("NULL".into(), shown)).collect();
                    writeln!(out, "    | {}", values.join(" | "))?;
                }
                if rows.len() > 20 {
                    writeln!(out, "    | …")?;
                }
                write!(out, "    end: {end:?}")
            }
            Self::Error(code, state, message) => write!(out, "ERROR {code} ({state}): {}", shown(message)),
            Self::Prepared(parameters, columns, warnings) => {
                writeln!(out, "prepared: {} parameters, warnings {warnings}", parameters.len())?;
                write_columns(out, parameters)?;
                write_columns(out, columns)
            }
            Self::Lost(why) => write!(out, "LOST: {why}"),
        }
    }
}

fn write_columns(out: &mut fmt::Formatter<'_>, columns: &[Column]) -> fmt::Result {
    for column in columns.iter().take(20) {
        let names: Vec<String> = column.names[1..].iter().map(|name| shown(name)).collect();
        writeln!(
            out,
            "    column {} type {} flags {:#06x} charset {} length {} decimals {}",
            names.join("."),
            column.kind,
            column.flags,
            column.charset,
            column.length,
            column.decimals
        )?;
    }
    Ok(())
}
