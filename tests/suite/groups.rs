//! Groups whose writer dies, or is changed: who takes its place, what clients see, and what is kept.

mod advice;
mod discovery;
mod elected;
mod follow;
mod open;
mod replay;
mod restarts;

pub(crate) use follow::{AUTOMATIC, lossless_between};

use libtest_mimic::Failed;
use weir_local::Flavor;

use crate::Collector;
use crate::lab::{Endpoint, Lab};
use crate::reads::GroupSite;
use crate::weir::Weir;

/// A test of a writer and two replicas, which it may harm.
type Case = fn(&mut GroupSite, &Endpoint) -> Result<(), Failed>;

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    tests.add_for_weir("groups::a_group_that_elects_its_writer_is_followed_through_deaths_and_outages", elected::all);
    discovery::collect(tests);
    restarts::collect(tests);
    for (word, settings, case) in follow::CASES {
        tests.add_for_weir(&format!("groups::{word}"), move |lab: &Lab, flavor: Flavor| {
            let mut site = GroupSite::start(flavor, &lab.directory()?)?;
            follow::prepare(&site)?;
            let weir = Weir::start_before(&lab.directory()?, &site.servers(), settings)?;
            lab.judge(Endpoint::of(weir), |endpoint| case(&mut site, endpoint))
        });
    }
}
