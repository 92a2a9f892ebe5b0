//! What Weir counts, logs and tells of statements.

mod digests;
mod logs;
mod metrics;
mod rules;

use std::time::Duration;

use mysql::Row;

use crate::Collector;
use crate::lab::{APP, Endpoint, Lab, Site};
use libtest_mimic::Failed;
use weir_local::Flavor;

/// How long something may take that is waited for.
const BOUND: Duration = Duration::from_secs(20);
/// The tests' database.
const DATABASE: &str = "t_observe";

type Case = (&'static str, &'static [(&'static str, &'static str)], fn(&Site, &mut Endpoint) -> Result<(), Failed>);

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    for (word, settings, case) in [digests::CASES, metrics::CASES, logs::CASES, rules::CASES].concat() {
        tests.add_for_weir(&format!("observe::{word}"), move |lab: &Lab, flavor: Flavor| {
            let site = lab.site(flavor)?;
            fill(site)?;
            lab.with_endpoint(site, settings, |endpoint| case(site, endpoint))
        });
    }
    for &(word, rules, case) in rules::RULED {
        tests.add_for_weir(&format!("observe::{word}"), move |lab, flavor| rules::ruled(lab, flavor, rules, case));
    }
    tests.add_for_weir("observe::rules_see_what_is_hidden_in_a_text", rules::hidden);
    tests.add_for_weir("observe::rules_route_and_replicas_are_counted", rules::route);
    for (word, refuses) in [("a_full_disk_loses_lines", false), ("a_full_disk_refuses_statements", true)] {
        tests.add_for_weir(&format!("observe::{word}"), move |lab, flavor| logs::full_disk(lab, flavor, refuses));
    }
}

/// The tests' table.
fn fill(site: &Site) -> Result<(), Failed> {
    let table = "CREATE TABLE IF NOT EXISTS {db}.items (id INT PRIMARY KEY, name VARCHAR(40))";
    site.fill(DATABASE, &["CREATE DATABASE IF NOT EXISTS {db}", table])
}

fn app(endpoint: &Endpoint) -> mysql::Result<mysql::Conn> {
    crate::driver::connect(endpoint.port, APP, Some(DATABASE))
}

/// A field of a row, by its column's name.
fn field<T: mysql::prelude::FromValue>(row: &Row, name: &str) -> Result<T, Failed> {
    row.get_opt::<T, _>(name)
        .ok_or_else(|| format!("no column {name}: {row:?}"))?
        .map_err(|error| format!("{name}: {error}").into())
}
