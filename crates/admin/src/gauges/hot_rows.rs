//! Numbers of hot rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use weir_exec::hot_rows::{Counters, HotRows};

/// Reads them.
#[derive(Debug)]
pub(crate) struct HotRowNumbers(pub(crate) Arc<HotRows>);

/// What is counted: its name, its help, and where it is read.
type Counted = (&'static str, &'static str, fn(&Counters) -> &AtomicU64);

const COUNTED: [Counted; 5] = [
    ("weir_hot_row_batches", "Batches of changes of one row that were committed", |counters| &counters.batches),
    ("weir_hot_row_statements", "Statements that were committed in batches", |counters| &counters.statements),
    ("weir_hot_row_merged", "Statements whose change was made by one statement for several", |counters| {
        &counters.merged
    }),
    ("weir_hot_row_replays", "Statements that were rolled back with their batch and ran again", |counters| {
        &counters.replays
    }),
    ("weir_hot_row_alone", "Statements that left their batch and ran by themselves", |counters| &counters.alone),
];

impl Collector for HotRowNumbers {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        for (name, help, counter) in COUNTED {
            let metric = ConstCounter::new(counter(&self.0.counters).load(Ordering::Relaxed));
            metric.encode(encoder.encode_descriptor(name, help, None, MetricType::Counter)?)?;
        }
        let hot = self.0.queues.hot();
        let waiting: usize = hot.iter().map(|queue| queue.waiting()).sum();
        for (name, help, number) in [
            ("weir_hot_rows", "Rows that are hot", hot.len()),
            ("weir_hot_row_waiting", "Statements that wait for their batch", waiting),
        ] {
            let metric = ConstGauge::new(i64::try_from(number).unwrap_or(i64::MAX));
            metric.encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)?;
        }
        Ok(())
    }
}
