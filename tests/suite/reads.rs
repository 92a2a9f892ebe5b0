//! Reads spread over replicas: what each level of consistency promises, where statements run, and what happens when a
//! server lags, dies or is replaced.

mod failures;
mod lacking;
mod levels;
mod routing;
mod scattered;
mod site;

use libtest_mimic::Failed;
use weir_local::Flavor;

use crate::Collector;
use crate::held::Held;
use crate::lab::{Endpoint, Lab, Site};
use crate::weir::Weir;
pub(crate) use site::{BOUND, DATABASE, GroupSite, shown};

/// A test on the group that the tests of one kind of server share, one at a time.
type SharedCase = fn(&GroupSite, &Endpoint) -> Result<(), Failed>;
/// A test that may harm its servers.
type PrivateCase = fn(&mut GroupSite, &Endpoint) -> Result<(), Failed>;
/// A test of two shards: of the group, and of the server that is the second one.
type ScatteredCase = fn(&mut GroupSite, &Site, &Endpoint) -> Result<(), Failed>;

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    let shared = std::sync::Arc::new(Held::new(GroupSite::start));
    for (word, settings, case) in levels::CASES.iter().chain(routing::CASES).chain(lacking::CASES) {
        let shared = shared.clone();
        tests.add_for_weir(&format!("reads::{word}"), move |lab: &Lab, flavor| {
            shared.with(lab, flavor, |site| in_front(lab, site, settings, |endpoint| case(site, endpoint)))
        });
    }
    for (word, settings, case) in scattered::CASES.iter().chain(lacking::SCATTERED) {
        tests.add_for_weir(&format!("reads::{word}"), move |lab: &Lab, flavor: Flavor| {
            let mut site = GroupSite::start(flavor, &lab.directory()?)?;
            let other = Site::start(flavor, &lab.directory()?, "other", &[])?;
            let shards = [("s1", site.servers()), ("s2", vec![&other.server])];
            let weir = Weir::start_shards(&lab.directory()?, &shards, settings)?;
            lab.judge(Endpoint::of(weir), |endpoint| case(&mut site, &other, endpoint))
        });
    }
    for (word, settings, case) in failures::CASES {
        tests.add_for_weir(&format!("reads::{word}"), move |lab: &Lab, flavor: Flavor| {
            let mut site = GroupSite::start(flavor, &lab.directory()?)?;
            let weir = Weir::start_before(&lab.directory()?, &site.servers(), settings)?;
            lab.judge(Endpoint::of(weir), |endpoint| case(&mut site, endpoint))
        });
    }
}

fn in_front(
    lab: &Lab,
    site: &GroupSite,
    settings: &[(&str, &str)],
    test: impl FnOnce(&Endpoint) -> Result<(), Failed>,
) -> Result<(), Failed> {
    let weir = Weir::start_before(&lab.directory()?, &site.servers(), settings)?;
    lab.judge(Endpoint::of(weir), |endpoint| {
        site.all_take_reads(endpoint)?;
        test(endpoint)
    })
}
