//! The sections of a report, one module for each kind.

pub(crate) mod kingshard;
pub(crate) mod load;
pub(crate) mod memory;
pub(crate) mod overview;
pub(crate) mod polardb;
pub(crate) mod sweep;

use std::borrow::Cow;

use super::document::Section;
use crate::record::Record;

/// The sections of the record's bench alone, if its report has a form of its own.
pub(crate) fn own(record: &Record) -> Vec<Section> {
    match record.name.as_str() {
        kingshard::NAME => kingshard::sections(record),
        polardb::NAME => polardb::sections(record),
        _ => Vec::new(),
    }
}

/// The record as the sections show it that all benches have.
pub(crate) fn common(record: &Record) -> Cow<'_, Record> {
    match record.name.as_str() {
        polardb::NAME => Cow::Owned(polardb::by_replicas(record)),
        _ => Cow::Borrowed(record),
    }
}
