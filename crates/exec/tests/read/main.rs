//! Reads of two real shards, compared with what one server that has all rows answers, on both kinds of server.

mod bed;
mod faults;
mod groups;
mod order;
mod workbench;

use std::rc::Rc;

use bed::{Bed, Packets};
use weir_exec::Request;
use weir_local::Flavor;
use weir_plan::Read;
use weir_wire::stmt::Execute;

/// COM_STMT_EXECUTE of a statement without parameters.
const EXECUTION: [u8; 10] = [0x17, 0, 0, 0, 0, 0, 1, 0, 0, 0];

/// Runs a test's future on a worker's kind of runtime.
fn on_a_worker(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    tokio::task::LocalSet::new().block_on(&runtime, test);
}

/// Compares what the shards answer with what one server does, packet by packet, in the text and the binary protocol. `text` is the
/// client's.
async fn same(bed: &Bed, text: &str, read: &Read) {
    for binary in [false, true] {
        let parsing = Rc::new(bed.part(bed::WHOLE).await.lease.profile().parsing());
        let execute = Execute::parse(&EXECUTION, 0, bed.capabilities).expect("it is well formed");
        let request = match binary {
            false => Request::Text,
            true => Request::Execute { parsing: &parsing, execute: &execute, types: None, session: 1 },
        };
        let expected = bed.expected(text, &request).await;
        let mut parts = bed.shards().await;
        let (outcome, got) = bed.run(&mut parts, read, &request).await;
        assert_eq!(outcome.error, None, "{text}");
        // The end may tell other warnings and flags.
        let shown = |packets: &Packets| {
            let rows = &packets.packets[..packets.packets.len() - 1];
            rows.iter().map(|row| String::from_utf8_lossy(row).into_owned()).collect::<Vec<_>>()
        };
        let rows = |packets: &Packets| without_flags(&packets.packets[..packets.packets.len() - 1]);
        if rows(&got) != rows(&expected) {
            panic!(
                "{:?} binary={binary} {text}\n got {:#?}\n expected {:#?}",
                bed.flavor,
                shown(&got),
                shown(&expected)
            );
        }
        assert!(got.packets.len() > 3, "{text}: there is nothing to compare");
    }
}

/// Servers set other flags of a column (that it can't be NULL, or is a number) where they use a temporary table: that is not compared.
fn without_flags(packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut packets = packets.to_vec();
    for definition in packets.iter_mut().filter(|packet| packet.starts_with(b"\x03def")) {
        let flags = definition.len() - 5;
        definition[flags..flags + 2].fill(0);
    }
    packets
}

#[test]
fn shards_rows_come_in_the_servers_order_on_mariadb() {
    on_a_worker(order::all(Flavor::MariaDb));
}

#[test]
fn shards_rows_come_in_the_servers_order_on_mysql() {
    on_a_worker(order::all(Flavor::MySql));
}

#[test]
fn groups_of_shards_are_the_servers_groups_on_mariadb() {
    on_a_worker(groups::all(Flavor::MariaDb));
}

#[test]
fn groups_of_shards_are_the_servers_groups_on_mysql() {
    on_a_worker(groups::all(Flavor::MySql));
}

#[test]
fn reads_that_fail_leave_clean_or_closed_connections_on_mariadb() {
    on_a_worker(faults::all(Flavor::MariaDb));
}

#[test]
fn reads_that_fail_leave_clean_or_closed_connections_on_mysql() {
    on_a_worker(faults::all(Flavor::MySql));
}

#[test]
fn queries_on_a_workbench_are_the_servers_on_mariadb() {
    on_a_worker(workbench::all(Flavor::MariaDb));
}

#[test]
fn queries_on_a_workbench_are_the_servers_on_mysql() {
    on_a_worker(workbench::all(Flavor::MySql));
}
