//! The metrics, and the dashboard that is made of them.

use std::collections::BTreeSet;

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use serde_json::Value as Json;

use super::{Case, app};
use crate::driver::{expect_equal, expect_error, run};
use crate::lab::{Endpoint, Site};

pub(super) const CASES: &[Case] = &[
    ("metrics_count_statements_errors_and_bytes", &[], counted),
    ("dashboard_and_docs_have_the_metrics_that_exist", &[], dashboard),
];

fn metrics(endpoint: &Endpoint) -> Result<String, Failed> {
    endpoint.weir.as_ref().ok_or("no Weir")?.metrics()
}

/// The value of a sample with these labels, in the order of the metrics page.
fn sample(text: &str, name: &str) -> Result<f64, Failed> {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    Ok(value.ok_or_else(|| format!("{name} is not in the metrics: {text}"))?.trim().parse()?)
}

fn counted(_: &Site, endpoint: &mut Endpoint) -> Result<(), Failed> {
    let before = metrics(endpoint)?;
    let mut client = app(endpoint)?;
    for id in 0..10 {
        client.query_drop(format!("REPLACE INTO items VALUES ({id}, 'x')"))?;
        client.query_drop("SELECT REPEAT('x', 1000) FROM items LIMIT 1")?;
    }
    expect_error("no such table", &run(&mut client, "DELETE FROM nowhere"), 1146, "42S02")?;
    expect_error("Weir's own", &run(&mut client, "KILL 4000000000"), 1094, "HY000")?;
    client.query_drop("BEGIN")?;
    let after = metrics(endpoint)?;
    let grown =
        |name: &str| -> Result<f64, Failed> { Ok(sample(&after, name)? - sample(&before, name).unwrap_or(0.0)) };
    let statements = |kind: &str, place: &str, lane: &str| {
        grown(&format!("weir_statements_total{{kind=\"{kind}\",place=\"{place}\",lane=\"{lane}\"}}"))
    };
    let selects = statements("select", "writer", "no")? + statements("select", "writer", "yes")?;
    expect_equal("selects", selects, 10.0)?;
    expect_equal("inserts", statements("insert", "writer", "no")?, 10.0)?;
    expect_equal("deletes", statements("delete", "writer", "no")?, 1.0)?;
    expect_equal("BEGIN", statements("transaction", "weir", "no")?, 1.0)?;
    for bucket in ["weir_statement_seconds_bucket{le=\"+Inf\",", "weir_statement_seconds_count{"] {
        expect_equal(bucket, grown(&format!("{bucket}kind=\"insert\"}}"))?, 10.0)?;
    }
    expect_equal("time", grown("weir_statement_seconds_sum{kind=\"insert\"}")? > 0.0, true)?;
    for code in ["1146", "1094"] {
        expect_equal(code, grown(&format!("weir_errors_total{{code=\"{code}\"}}"))?, 1.0)?;
    }
    for name in ["weir_client_sent_bytes_total", "weir_server_received_bytes_total{server=\"writer\",group=\"main\"}"] {
        expect_equal(name, grown(name)? > 10_000.0, true)?;
    }
    for name in ["weir_client_received_bytes_total", "weir_server_sent_bytes_total{server=\"writer\",group=\"main\"}"] {
        expect_equal(name, grown(name)? > 500.0, true)?;
    }
    for name in ["weir_server_usable", "weir_server_writer"] {
        expect_equal(name, sample(&after, &format!("{name}{{server=\"writer\",group=\"main\"}}"))?, 1.0)?;
    }
    Ok(())
}

/// The names of all samples that there can be.
fn exported(text: &str) -> BTreeSet<String> {
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let suffixes = |kind: &str| match kind {
        "counter" => vec!["_total"],
        "histogram" => vec!["_bucket", "_sum", "_count"],
        _ => vec![""],
    };
    types.flat_map(|(name, kind)| suffixes(kind).into_iter().map(move |suffix| format!("{name}{suffix}"))).collect()
}

/// The words of all queries in a dashboard that begin like metrics of Weir's.
fn queried(json: &Json, names: &mut BTreeSet<String>) {
    match json {
        Json::Object(fields) => {
            for (key, value) in fields {
                if let (true, Some(query)) = (["expr", "query"].contains(&key.as_str()), value.as_str()) {
                    let words = query.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                    names.extend(words.filter(|word| word.starts_with("weir_")).map(str::to_owned));
                }
                queried(value, names);
            }
        }
        Json::Array(values) => values.iter().for_each(|value| queried(value, names)),
        _ => {}
    }
}

fn dashboard(_: &Site, endpoint: &mut Endpoint) -> Result<(), Failed> {
    let path = repository().join("packaging/grafana/weir.json");
    let dashboard: Json = serde_json::from_str(&std::fs::read_to_string(path)?)?;
    let mut names = BTreeSet::new();
    queried(&dashboard, &mut names);
    expect_equal("metrics in the dashboard", names.len() > 20, true)?;
    let exported = exported(&metrics(endpoint)?);
    let unknown: Vec<_> = names.difference(&exported).collect();
    expect_equal("metrics that Weir does not export", unknown, vec![])?;
    let page = std::fs::read_to_string(repository().join("docs/operations.md"))?;
    let undocumented: Vec<_> = exported.iter().filter(|name| !page.contains(&format!("`{}`", family(name)))).collect();
    expect_equal("metrics that docs/operations.md does not tell", undocumented, vec![])
}

/// A histogram's samples are told under its own name.
fn family(sample: &str) -> &str {
    let suffix = ["_bucket", "_count", "_sum"].into_iter().find_map(|suffix| sample.strip_suffix(suffix));
    suffix.unwrap_or(sample)
}

fn repository() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
