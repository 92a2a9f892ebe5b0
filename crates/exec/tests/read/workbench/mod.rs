//! Queries over rows of two shards that are gathered on a workbench, compared with one server that has all rows, packet by packet.

mod faults;
mod labels;
mod types;

use std::rc::Rc;

use weir_catalog::ShardId;
use weir_exec::read::ReadContext;
use weir_exec::workbench::{self, Bounds, Gathering};
use weir_exec::{MultiShardResult, Request, ShardLease, Sink};
use weir_local::Flavor;
use weir_plan::{CatalogTableName, Fragment, FragmentColumn, Merge, Passed, Read, Workbench};
use weir_wire::Failure;
use weir_wire::stmt::Execute;

use crate::bed::{self, Bed, Packets, plan};

pub(crate) async fn all(flavor: Flavor) {
    let mut bed = Bed::start(flavor);
    types::all(&bed).await;
    labels::all(&bed).await;
    faults::all(&mut bed).await;
}

/// Bounds that nothing here reaches.
const ENOUGH: Bounds = Bounds { bytes: 1 << 30, rows: 1 << 20 };

/// A column as it is gathered: its name, its definition, what the fragment selects, and how that is passed.
type Column = (&'static str, &'static str, &'static str, Passed);

/// A fragment of a table of database `d`, from both shards.
fn fragment(name: &str, table: &str, columns: &[Column]) -> Fragment {
    let selected: Vec<&str> = columns.iter().map(|column| column.2).collect();
    let text = format!("SELECT {} FROM d.{table}", selected.join(", "));
    let column = |(name, definition, _, passed): &Column| FragmentColumn {
        name: (*name).to_owned(),
        definition: (*definition).to_owned(),
        passed: *passed,
        invisible: false,
    };
    Fragment {
        name: name.to_owned(),
        table: CatalogTableName { database: "d".to_owned(), table: table.to_owned() },
        columns: columns.iter().map(column).collect(),
        primary_key: Vec::new(),
        unique_keys: Vec::new(),
        keys: Vec::new(),
        read: plan(&text, Merge::Concatenate),
        narrowed: Vec::new(),
    }
}

/// A query over these on the first shard's server.
fn workbench(fragments: Vec<Fragment>, text: &str) -> Workbench {
    let query = Read { shards: vec![ShardId(0)], ..plan(text, Merge::Concatenate) };
    Workbench { home: ShardId(0), fragments, query, returns: true, reason: String::new() }
}

/// A session: its variables, and how it asks.
struct Client<'a> {
    bed: &'a Bed,
    variables: &'a [(&'a str, &'a str)],
    bounds: Bounds,
}

impl<'a> Client<'a> {
    fn new(bed: &'a Bed) -> Client<'a> {
        Client { bed, variables: &[], bounds: ENOUGH }
    }

    async fn parts(&self) -> (Vec<ShardLease>, ShardLease) {
        let parts = vec![self.bed.part_with(0, self.variables).await, self.bed.part_with(1, self.variables).await];
        (parts, self.bed.part_with(0, self.variables).await)
    }

    async fn run_into(
        &self,
        (parts, bench): (&mut [ShardLease], &mut ShardLease),
        plan: &Workbench,
        request: &Request<'_>,
        sink: &mut impl Sink,
    ) -> Result<MultiShardResult, Failure> {
        let cancel = self.bed.cancel();
        let (capabilities, collations) = (self.bed.capabilities, &self.bed.collations);
        let session = ReadContext { capabilities, collations, cancel: &cancel, transaction: None };
        workbench::run(parts, bench, plan, request, &session, &Gathering::new(self.bounds), sink).await
    }

    /// Runs a query. The connection to the workbench can be used on afterwards, and has no tables.
    async fn run(&self, plan: &Workbench, request: &Request<'_>) -> (MultiShardResult, Packets) {
        let (mut parts, mut bench) = self.parts().await;
        let mut sink = Packets::default();
        let ran = self.run_into((&mut parts, &mut bench), plan, request, &mut sink).await;
        let outcome = ran.expect("the sink takes all");
        assert!(bench.lease.retired, "the tables are still there");
        workbench::clear(&mut bench, plan).await;
        assert!(bench.lease.is_clean(), "the workbench can't be used on: {:?}", outcome.error);
        for fragment in &plan.fragments {
            let gone = bench.lease.query(&format!("SELECT 1 FROM d.`{}`", fragment.name)).await;
            assert!(gone.is_err_and(|failure| failure.code == 1146), "{} is still there", fragment.name);
        }
        if outcome.error.is_none() {
            parts.iter().for_each(|part| assert!(part.lease.is_clean(), "a shard's connection is not clean"));
        }
        (outcome, sink)
    }

    /// What the server that has all rows answers.
    async fn expected(&self, text: &str, request: &Request<'_>) -> Packets {
        let mut parts = [self.bed.part_with(bed::WHOLE, self.variables).await];
        let parameters = (0..text.matches('?').count() as u32).collect();
        let read = Read { parameters, ..bed::on_whole(text) };
        let (outcome, packets) = self.bed.run(&mut parts, &read, request).await;
        assert_eq!(outcome.error, None, "{text}");
        packets
    }

    /// Compares a query on the workbench with the client's text on one server, in the text and in the binary protocol.
    async fn same(&self, text: &str, plan: &Workbench) {
        self.alike(text, plan, 0).await;
    }

    /// The same, but for these flags of columns.
    async fn alike(&self, text: &str, plan: &Workbench, but: u16) {
        let (_, bench) = self.parts().await;
        let mut bench = bench;
        bench.lease.flush().await.expect("the state is sent");
        bench.lease.confirm_state().await.expect("the state is taken");
        let parsing = Rc::new(bench.lease.profile().parsing());
        let execute = Execute::parse(&crate::EXECUTION, 0, self.bed.capabilities).expect("it is well formed");
        let binary = Request::Execute { parsing: &parsing, execute: &execute, types: None, session: 1 };
        for request in [Request::Text, binary] {
            let expected = self.expected(text, &request).await;
            let (outcome, got) = self.run(plan, &request).await;
            assert_eq!(outcome.error, None, "{text} {:?}", self.variables);
            assert!(got.packets.len() > 3, "{text}: there is nothing to compare");
            let (got, expected) = (packets(&got), packets(&expected));
            for (nth, (got, expected)) in got.iter().zip(expected).enumerate() {
                assert!(
                    without_flags(got, but) == without_flags(expected, but),
                    "{:?} {text}, packet {nth} as {request:?}\n     got {}\nexpected {}",
                    self.bed.flavor,
                    shown(got),
                    shown(expected)
                );
            }
            assert_eq!(got.len(), expected.len(), "{text}");
        }
    }
}

/// A packet; if it is a definition, without these flags.
fn without_flags(packet: &[u8], flags: u16) -> Vec<u8> {
    let mut packet = packet.to_vec();
    if packet.starts_with(b"\x03def") {
        let at = packet.len() - 5;
        let kept = u16::from_le_bytes([packet[at], packet[at + 1]]) & !flags;
        packet[at..at + 2].copy_from_slice(&kept.to_le_bytes());
    }
    packet
}

/// All but the end, which may tell other flags.
fn packets(packets: &Packets) -> &[Vec<u8>] {
    &packets.packets[..packets.packets.len() - 1]
}

fn shown(packet: &[u8]) -> String {
    packet[..packet.len().min(1000)].escape_ascii().to_string()
}
