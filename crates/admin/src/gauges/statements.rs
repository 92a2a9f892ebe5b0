//! Metrics of statements: by kind and place, their times, errors by code, bytes.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

use crate::kind::StatementKind;
use crate::logs::Writer;
use crate::oversight::Oversight;
use crate::rules::Rule;
use crate::statistics::{AnsweredBy, BOUNDS, Counters, Totals, total};

/// Reads what workers have counted.
#[derive(Debug)]
pub(crate) struct Statements(pub(crate) Arc<Oversight>);

impl Collector for Statements {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let statistics = &self.0.statistics;
        let totals: Vec<_> = StatementKind::ALL.into_iter().map(|kind| (kind, total(statistics, kind))).collect();
        encode_places(&mut encoder, &totals)?;
        encode_times(&mut encoder, &totals)?;
        encode_errors(&mut encoder, statistics.errors.counts())?;
        encode_logs(&mut encoder, &self.0)?;
        encode_rules(&mut encoder, &self.0)?;
        let sum = |read: fn(&Counters) -> u64| statistics.counters().map(read).sum::<u64>();
        let bytes = [
            ("weir_client_received", "Bytes from clients", sum(Counters::received)),
            ("weir_client_sent", "Bytes to clients", sum(Counters::sent)),
        ];
        for (name, help, bytes) in bytes {
            let counter = ConstCounter::new(bytes);
            counter.encode(encoder.encode_descriptor(name, help, Some(&Unit::Bytes), MetricType::Counter)?)?;
        }
        Ok(())
    }
}

fn encode_places(encoder: &mut DescriptorEncoder<'_>, totals: &[(StatementKind, Totals)]) -> fmt::Result {
    let help = "Statements, by kind, by who answered, and whether they used a lane";
    let mut family = encoder.encode_descriptor("weir_statements", help, None, MetricType::Counter)?;
    for (kind, totals) in totals {
        for place in AnsweredBy::ALL {
            let [alone, riding] = totals.places[place as usize];
            let mut put = |lane: &str, count: u64| {
                let labels = [("kind", kind.name()), ("place", place.name()), ("lane", lane)];
                ConstCounter::new(count).encode(family.encode_family(&labels)?)
            };
            put("no", alone)?;
            if place != AnsweredBy::Weir {
                put("yes", riding)?;
            }
        }
    }
    Ok(())
}

fn encode_times(encoder: &mut DescriptorEncoder<'_>, totals: &[(StatementKind, Totals)]) -> fmt::Result {
    let help = "Time from a statement's arrival to the end of its reply";
    let unit = Some(&Unit::Seconds);
    let mut family = encoder.encode_descriptor("weir_statement", help, unit, MetricType::Histogram)?;
    for (kind, totals) in totals {
        let bounds = BOUNDS.iter().map(|bound| *bound as f64 / 1e9).chain([f64::INFINITY]);
        let buckets: Vec<(f64, u64)> = bounds.zip(totals.buckets).collect();
        let labels = [("kind", kind.name())];
        let mut metric = family.encode_family(&labels)?;
        metric.encode_histogram::<NoLabelSet>(totals.seconds, totals.count, &buckets, None)?;
    }
    Ok(())
}

/// What is read of a rule.
type RuleReading = (&'static str, &'static str, fn(&Rule) -> u64);

const RULE_READINGS: [RuleReading; 2] = [
    ("weir_rule_hits", "Statements that the rule was applied to", Rule::hits),
    ("weir_rule_refusals", "Statements that the rule has refused or ended", Rule::refusals),
];

fn encode_rules(encoder: &mut DescriptorEncoder<'_>, oversight: &Oversight) -> fmt::Result {
    let rules = oversight.rules.rules();
    for (name, help, read) in RULE_READINGS {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for rule in rules.iter() {
            ConstCounter::new(read(rule)).encode(family.encode_family(&[("rule", rule.name.as_str())])?)?;
        }
    }
    let read_only = ConstGauge::new(i64::from(oversight.is_read_only()));
    let help = "Whether statements that change data are refused";
    read_only.encode(encoder.encode_descriptor("weir_read_only", help, None, MetricType::Gauge)?)
}

/// What is read of a log's writer.
type LogReading = (&'static str, &'static str, fn(&Writer) -> u64);

const LOG_READINGS: [LogReading; 2] = [
    ("weir_log_lines", "Lines written to the slow log and the audit log", Writer::lines),
    ("weir_log_lost", "Lines that did not fit into the queue, or that could not be written", Writer::lost),
];

fn encode_logs(encoder: &mut DescriptorEncoder<'_>, oversight: &Oversight) -> fmt::Result {
    for (name, help, read) in LOG_READINGS {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (log, writer) in oversight.logs.writers() {
            ConstCounter::new(read(writer)).encode(family.encode_family(&[("log", log)])?)?;
        }
    }
    let help = "Whether the log cannot be written now";
    let mut family = encoder.encode_descriptor("weir_log_failing", help, None, MetricType::Gauge)?;
    for (log, writer) in oversight.logs.writers() {
        ConstGauge::new(i64::from(writer.failing().is_some())).encode(family.encode_family(&[("log", log)])?)?;
    }
    Ok(())
}

fn encode_errors(encoder: &mut DescriptorEncoder<'_>, (counts, other): (Vec<(u16, u64)>, u64)) -> fmt::Result {
    let help = "Statements that ended in an error, by MySQL's code: the servers' errors and Weir's own";
    let mut family = encoder.encode_descriptor("weir_errors", help, None, MetricType::Counter)?;
    let counts = counts.into_iter().map(|(code, count)| (code.to_string(), count));
    for (code, count) in counts.chain([("other".to_owned(), other)]) {
        ConstCounter::new(count).encode(family.encode_family(&[("code", code.as_str())])?)?;
    }
    Ok(())
}
