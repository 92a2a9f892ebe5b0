//! The sections of a report, one module for each kind.

pub(crate) mod contended;
pub(crate) mod hotrow;
pub(crate) mod kingshard;
pub(crate) mod load;
pub(crate) mod memory;
pub(crate) mod overview;
pub(crate) mod polardb;
pub(crate) mod radon;
pub(crate) mod sweep;
pub(crate) mod tpcc;

use std::borrow::Cow;

use super::document::{Block, Section};
use super::group;
use super::table::Table;
use crate::record::{Point, Record, Target};

/// The sections of the record's bench alone, if its report has a form of its own.
pub(crate) fn own(record: &Record) -> Vec<Section> {
    match record.name.as_str() {
        kingshard::NAME => kingshard::sections(record),
        polardb::NAME => polardb::sections(record),
        radon::NAME => radon::sections(record),
        hotrow::NAME => hotrow::sections(record),
        tpcc::NAME => tpcc::sections(record),
        _ => contended::sections(record),
    }
}

/// The record as the sections show it that all benches have.
pub(crate) fn common(record: &Record) -> Cow<'_, Record> {
    match record.name.as_str() {
        polardb::NAME => Cow::Owned(polardb::by_replicas(record)),
        radon::NAME => Cow::Owned(radon::by_sharding(record)),
        hotrow::NAME => Cow::Owned(hotrow::by_mode(record)),
        tpcc::NAME => Cow::Owned(tpcc::by_shards(record)),
        _ => Cow::Borrowed(record),
    }
}

/// The record with these points, their settings made targets: `name` makes of a setting what a target's key ends in, and the label.
fn settings_as_targets<'a>(
    record: &Record,
    points: impl Iterator<Item = &'a Point>,
    name: impl Fn(&str) -> Option<(String, String)>,
) -> Record {
    let mut shown = Record { points: Vec::new(), targets: Vec::new(), ..record.clone() };
    for point in points {
        let target = match point.variant.as_deref().and_then(&name) {
            Some((key, label)) => Target { key: format!("{}-{key}", point.target), label },
            None => Target { key: point.target.clone(), label: group::label(record, &point.target).to_owned() },
        };
        shown.points.push(Point { target: target.key.clone(), variant: None, ..point.clone() });
        if !shown.targets.contains(&target) {
            shown.targets.push(target);
        }
    }
    shown
}

/// A section of a text and tables; none if no table has a row.
fn tables_section(title: &str, text: &str, tables: Vec<Table>) -> Option<Section> {
    if tables.iter().all(|table| table.rows.is_empty()) {
        return None;
    }
    let mut section = Section::new(title);
    section.blocks.push(Block::Text(text.to_owned()));
    section.blocks.extend(tables.into_iter().map(Block::Table));
    Some(section)
}
