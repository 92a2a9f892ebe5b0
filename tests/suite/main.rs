//! Proves that Weir can't be told from the servers behind it.
//!
//! `WEIR_TARGET=direct` points the suite at the servers themselves, which checks the suite. See `tests/README.md`.
#![forbid(unsafe_code)]

mod admin;
mod api;
mod batches;
mod bench;
mod catalog;
mod charsets;
mod client;
mod clients;
mod compare;
mod definitions;
mod driver;
mod dump;
mod faults;
mod groups;
mod held;
mod hostile;
mod hot_rows;
mod insert_ids;
mod interleave;
mod kills;
mod lab;
mod lanes;
mod leftovers;
mod limits;
mod login;
mod machine;
mod misuse;
mod moves;
mod observe;
mod own_questions;
mod pace;
mod packaging;
mod packets;
mod raw;
mod reads;
mod relay;
mod reload;
mod reply;
mod rights;
mod same;
mod script;
mod sequences;
mod shards;
mod show;
mod signals;
mod step;
mod stopping;
mod streams;
mod takeover;
mod transactions;
mod transport;
mod user_variables;
mod weir;
mod workbench;

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use weir_local::Flavor;

use crate::interleave::Protocol;
use crate::lab::{Holders, Lab, Shared, Target, name_of};

/// Set to anything: no test is run, but what the client programs need is made.
const MAKE: &str = "WEIR_TEST_MAKE";

/// Tests of one kind of server, being collected.
struct Collector {
    shared: Arc<Shared>,
    flavor: Flavor,
    trials: Vec<Trial>,
}

impl Collector {
    /// Adds a test that can also run on the server itself.
    fn add(&mut self, name: &str, test: impl FnOnce(&Lab, Flavor) -> Result<(), Failed> + Send + 'static) {
        let name = format!("{}::{name}", name_of(self.flavor));
        let (shared, flavor) = (self.shared.clone(), self.flavor);
        self.trials.push(Trial::test(name.clone(), move || {
            let result = shared.pace.time(&name, || test(&Lab::of_test(&shared, flavor), flavor));
            result.map_err(|failed| {
                let message = failed.message().unwrap_or("failed");
                let failed = format!("{name}: {message}\n---- {} ----", machine::state(shared.path()));
                // Also at once: what the harness prints at the end is lost if the end is not reached.
                eprintln!("{failed}");
                failed.into()
            })
        }));
    }

    /// Adds a test of what only Weir does: ignored when the servers are the target.
    fn add_for_weir(&mut self, name: &str, test: impl FnOnce(&Lab, Flavor) -> Result<(), Failed> + Send + 'static) {
        self.add(name, test);
        let trial = self.trials.pop().expect("just added");
        self.trials.push(trial.with_ignored_flag(self.shared.target == Target::Direct));
    }
}

fn collect(shared: &Arc<Shared>) -> Vec<Trial> {
    let mut all = Vec::new();
    for flavor in [Flavor::MariaDb, Flavor::MySql] {
        let mut tests = Collector { shared: shared.clone(), flavor, trials: Vec::new() };
        let protocols = [("text", Protocol::Text), ("binary", Protocol::Binary), ("mixed", Protocol::Mixed)];
        for (word, protocol) in protocols {
            tests.add(&format!("interleaving::{word}"), move |lab, flavor| {
                interleave::interleaved(lab, flavor, protocol)
            });
            tests.add(&format!("interleaving::riding_{word}"), move |lab, flavor| {
                interleave::riding(lab, flavor, protocol)
            });
        }
        tests.add("interleaving::concurrent", interleave::concurrent);
        rights::collect(&mut tests);
        same::collect(&mut tests);
        hostile::collect(&mut tests);
        hot_rows::collect(&mut tests);
        kills::collect(&mut tests);
        insert_ids::collect(&mut tests);
        leftovers::collect(&mut tests);
        limits::collect(&mut tests);
        transport::collect(&mut tests);
        charsets::collect(&mut tests);
        user_variables::collect(&mut tests);
        admin::collect(&mut tests);
        api::collect(&mut tests);
        clients::collect(&mut tests);
        misuse::collect(&mut tests);
        observe::collect(&mut tests);
        own_questions::collect(&mut tests);
        streams::collect(&mut tests);
        faults::collect(&mut tests);
        groups::collect(&mut tests);
        reads::collect(&mut tests);
        shards::collect(&mut tests);
        catalog::collect(&mut tests);
        definitions::collect(&mut tests);
        sequences::collect(&mut tests);
        dump::collect(&mut tests);
        stopping::collect(&mut tests);
        takeover::collect(&mut tests);
        transactions::collect(&mut tests);
        batches::collect(&mut tests);
        moves::collect(&mut tests);
        reload::collect(&mut tests);
        lanes::collect(&mut tests);
        packaging::collect(&mut tests);
        bench::collect(&mut tests);
        workbench::collect(&mut tests);
        all.append(&mut tests.trials);
    }
    all
}

fn main() -> ExitCode {
    if let Some(code) = sequences::taker() {
        return code;
    }
    if std::env::var_os(MAKE).is_some() {
        return clients::make();
    }
    let arguments = Arguments::from_args();
    let prepared = Target::from_environment().and_then(|target| Shared::new(target).map_err(|error| error.to_string()));
    let shared = match prepared {
        Ok(shared) => Arc::new(shared),
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let trials = collect(&shared);
    signals::end_with(shared.path());
    let wanted = |flavor: &Flavor| {
        let of_flavor = |trial: &&Trial| trial.name().starts_with(name_of(*flavor));
        !arguments.list && trials.iter().filter(of_flavor).any(|trial| !arguments.is_filtered_out(trial))
    };
    let flavors: Vec<Flavor> = [Flavor::MariaDb, Flavor::MySql].into_iter().filter(wanted).collect();
    let holders = Holders::start(&shared, &flavors);
    let passed = pace::run(&arguments, trials);
    shared.pace.report();
    drop(shared);
    holders.end();
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
