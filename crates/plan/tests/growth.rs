//! How the work for a statement grows with its length: no list of the grammar may make it grow faster than the text.
//!
//! Each list is written at three lengths, each twice the one before. Counted are the bytes allocated while the text is read, classified,
//! digested, and planned over one shard and over several, and the planner's own steps (`Effort`): nothing is timed.
//! What is held at a time is bounded too: by [`FACTOR`] times the text, so that `max_allowed_packet` bounds what one statement can cost.
//! `WEIR_GROWTH=print` prints the figures of all lists; `WEIR_GROWTH=time` counts no bytes and prints what each pass takes instead, for whoever
//! looks for the slow ones: then a part of a list's text and a length can be given as arguments.

mod catalog;
mod lists;
#[expect(dead_code, reason = "the golden files themselves are not read here")]
mod settings;

use std::time::Instant;

use lists::LISTS;
use settings::Settings;
use weir_catalog::{Catalog, Weights};
use weir_plan::{Effort, Refusal, plan_within};
use weir_sql::{Bump, LexMode, classify, digest, digest_text, parse};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// So many bytes may be held at a time for each byte of a text: docs/sql.md states it.
const FACTOR: usize = 512;
/// What any statement may take.
const LEAST: usize = 256 * 1024;

/// What a text costs.
#[derive(Clone, Copy)]
struct Cost {
    bytes: u64,
    /// The most bytes that were held at a time.
    peak: usize,
    length: usize,
    steps: u64,
    refused: bool,
}

fn cost(text: &[u8], catalog: &Catalog, mariadb: bool) -> Cost {
    let settings = Settings { mariadb, ..Settings::default() };
    let session = settings.session();
    let _profiler = (!is_timed()).then(|| dhat::Profiler::builder().testing().build());
    let (steps, refused) = of_text(text, session.mode, catalog, &session);
    let (bytes, peak) = match is_timed() {
        true => (0, 0),
        false => {
            let stats = dhat::HeapStats::get();
            (stats.total_bytes, stats.max_bytes)
        }
    };
    Cost { bytes, peak, length: text.len(), steps, refused }
}

fn is_timed() -> bool {
    std::env::var_os("WEIR_GROWTH").is_some_and(|how| how == "time")
}

fn of_text(text: &[u8], mode: LexMode, catalog: &Catalog, session: &weir_plan::SessionFacts<'_>) -> (u64, bool) {
    let began = Instant::now();
    let class = classify(text, mode);
    let classified = began.elapsed();
    let _digest = (digest(text, mode), digest_text(text, mode, 1024));
    let digested = began.elapsed();
    let arena = Bump::new();
    let Ok(parsed) = parse(&arena, text, mode) else { return (0, true) };
    let read = began.elapsed();
    let effort = Effort::of(text);
    let mut refused = false;
    for statement in parsed.statements {
        let planned = plan_within(text, statement, catalog, &Weights::default(), session, &effort);
        refused |= matches!(planned, Err(Refusal::Failure(_) | Refusal::NotSupported { .. }));
    }
    if is_timed() {
        println!(
            "  classify {classified:?} digest {digested:?} parse {read:?} plan {:?} {:?}",
            began.elapsed(),
            class.kind
        );
    }
    (effort.spent(), refused)
}

fn main() {
    let print = std::env::var_os("WEIR_GROWTH").is_some();
    let only = std::env::args().nth(1).unwrap_or_default();
    let least: usize = std::env::args().nth(2).and_then(|number| number.parse().ok()).unwrap_or(100);
    let catalog = catalog::catalog();
    let mut failed = 0;
    for list in LISTS.iter().filter(|list| format!("{}{}{}{}", list.0, list.1, list.2, list.3).contains(&only)) {
        for mariadb in [false, true] {
            let costs = [1, 2, 4].map(|times| cost(&list.text(least * times), &catalog, mariadb));
            // What allocators and vectors round up, and what a statement costs at all, is not growth.
            let grown = |less: u64, more: u64, least: u64| more as f64 > 2.6 * less.max(least) as f64;
            let bad = costs
                .windows(2)
                .any(|of| grown(of[0].bytes, of[1].bytes, 32_768) || grown(of[0].steps, of[1].steps, 1_000));
            let bad = bad || costs.iter().any(|cost| cost.peak > LEAST + FACTOR * cost.length);
            failed += usize::from(bad);
            if print || bad {
                let figures: Vec<String> = costs
                    .iter()
                    .map(|cost| {
                        format!(
                            "{} KiB, {} KiB at a time ({} times the text), {} steps{}",
                            cost.bytes >> 10,
                            cost.peak >> 10,
                            cost.peak / cost.length,
                            cost.steps,
                            if cost.refused { ", refused" } else { "" }
                        )
                    })
                    .collect();
                println!(
                    "{} {}{}{}{}: {}",
                    if bad { "TOO MUCH" } else { "" },
                    list.0,
                    list.1,
                    list.2,
                    list.3,
                    figures.join("; ")
                );
            }
        }
    }
    println!(
        "{} lists, each at three lengths on both kinds of server: {failed} cost more than their length",
        LISTS.len()
    );
    assert_eq!(failed, 0, "lists that cost more than their length: see above");
}
