//! Applications' frameworks in a database over two shards: migrations, models, and what they ask of `information_schema`.

use std::time::Duration;

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use weir_local::Flavor;

use super::passes;
use crate::Collector;
use crate::driver::connect;
use crate::lab::{APP, Endpoint, Lab, MONITOR, Site, eventually};
use crate::weir::Weir;

const BOUND: Duration = Duration::from_secs(60);

/// Adds this module's tests.
pub(super) fn collect(tests: &mut Collector) {
    // With MariaDB, Django reads the ids of new rows by INSERT … RETURNING.
    tests.add_for_weir("clients::django_and_sqlalchemy::over_shards", over_shards);
}

fn over_shards(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let parent = lab.directory()?;
    let sites = [Site::start(flavor, &parent, "s1", &[])?, Site::start(flavor, &parent, "s2", &[])?];
    for site in &sites {
        site.server.execute(&format!("GRANT ALL ON *.* TO '{}'@'%' WITH GRANT OPTION", MONITOR.0))?;
    }
    let servers = [("s1", vec![&sites[0].server]), ("s2", vec![&sites[1].server])];
    let weir = Weir::start_shards(&lab.directory()?, &servers, &[])?;
    lab.judge(Endpoint::of(weir), |endpoint| {
        eventually(BOUND, "a sharded database can be made", || {
            connect(endpoint.port, APP, None)
                .is_ok_and(|mut session| session.query_drop("CREATE DATABASE t_app").is_ok())
        })?;
        passes(lab, endpoint, "t_app", flavor, false, "sharded", &lab.tools.python("sharded_client.py")?)
    })
}
