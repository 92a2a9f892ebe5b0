//! Shards that fail or are slow, clients that do not read.

use weir_exec::{Request, Sink};
use weir_local::Flavor;
use weir_plan::{Compare, Merge, Read, SortKey};
use weir_wire::Failure;

use crate::bed::{Bed, Packets, plan};

pub(crate) async fn all(flavor: Flavor) {
    let mut bed = Bed::start(flavor);
    bed.everywhere("CREATE TABLE d.t (id INT PRIMARY KEY, c INT)");
    bed.insert("d.t", &(0..6).map(|id| format!("{id}, {id}")).collect::<Vec<_>>());
    a_shard_that_refuses(&bed).await;
    enough_rows_before_a_slow_shard(&bed).await;
    a_text_that_can_not_be_prepared(&bed).await;
    a_client_that_goes(&bed).await;
    a_server_that_dies(&mut bed).await;
}

/// Both connections still answer, each with its own reply.
async fn answer(parts: &mut [weir_exec::ShardLease]) {
    for (at, part) in parts.iter_mut().enumerate() {
        assert!(part.lease.is_clean(), "connection {at} is not clean");
        let reply = part.lease.query(&format!("SELECT {at} + 100")).await.expect("an answer");
        assert_eq!(reply.rows, [[Some((at + 100).to_string().into_bytes())]]);
    }
}

/// One shard's error is the client's; the other, which would take a minute, is killed, and both connections can be used on.
async fn a_shard_that_refuses(bed: &Bed) {
    let text = "SELECT id, CASE id WHEN 1 THEN (SELECT id FROM t) WHEN 0 THEN SLEEP(60) ELSE 0 END FROM t ORDER BY id";
    let keys = vec![SortKey { column: 0, descending: false, by: Compare::Value }];
    let mut parts = bed.shards().await;
    let (outcome, packets) = bed.run(&mut parts, &plan(text, Merge::Sorted(keys)), &Request::Text).await;
    let error = outcome.error.expect("a shard has failed");
    assert_eq!((error.code, &error.sqlstate), (1242, b"21000"));
    let last = packets.packets.last().expect("a packet");
    assert_eq!(last[..3], [0xff, (1242 & 0xff) as u8, (1242 >> 8) as u8]);
    assert_eq!(packets.packets.iter().filter(|packet| packet[0] == 0xff).count(), 1);
    answer(&mut parts).await;
    assert_eq!(bed.kills.take(), 1);
}

/// LIMIT is reached by the one shard's rows: the other is not waited for.
async fn enough_rows_before_a_slow_shard(bed: &Bed) {
    let text = "SELECT id, IF(id = 0, SLEEP(60), 0) FROM t LIMIT 2";
    let mut parts = bed.shards().await;
    let read = Read { take: Some(2), ..plan(text, Merge::Concatenate) };
    let (outcome, packets) = bed.run(&mut parts, &read, &Request::Text).await;
    assert_eq!((outcome.error, outcome.sent), (None, 2));
    assert_eq!(packets.packets[3..5], [b"\x011\x010".to_vec(), b"\x013\x010".to_vec()]);
    answer(&mut parts).await;
    assert_eq!(bed.kills.take(), 1);
}

async fn a_text_that_can_not_be_prepared(bed: &Bed) {
    let execute = weir_wire::stmt::Execute::parse(&crate::EXECUTION, 0, bed.capabilities).expect("it is well formed");
    let mut parts = bed.shards().await;
    let parsing = std::rc::Rc::new(parts[0].lease.profile().parsing());
    let request = Request::Execute { parsing: &parsing, execute: &execute, types: None, session: 1 };
    let (outcome, packets) = bed.run(&mut parts, &plan("SELECT nothing FROM t", Merge::Concatenate), &request).await;
    assert_eq!(outcome.error.map(|error| error.code), Some(1054));
    assert_eq!(packets.packets.len(), 1);
    answer(&mut parts).await;
}

/// Takes some rows, then does something.
struct After<F> {
    packets: Packets,
    rows: usize,
    then: F,
}

impl<F: FnMut() -> Result<(), Failure>> Sink for After<F> {
    fn put(&mut self, payload: &[u8]) {
        self.packets.put(payload);
    }

    fn is_full(&self) -> bool {
        self.packets.packets.len() >= self.rows
    }

    async fn flush(&mut self) -> Result<(), Failure> {
        // A client that is slow to take what is sent.
        tokio::task::yield_now().await;
        if self.packets.packets.len() >= self.rows { (self.then)() } else { Ok(()) }
    }
}

const LONG: &str = "SELECT a.id, REPEAT('x', 1000) FROM t a, t b, t c, t d, t e, t f, t g, t h, t i, t j";

/// The client goes in mid-result: the rest is killed, and the connections can be used on.
async fn a_client_that_goes(bed: &Bed) {
    let mut parts = bed.shards().await;
    let gone = || Err(Failure::new(weir_wire::Fault::Client, 1158, b"08S01", "the client is gone"));
    let mut sink = After { packets: Packets::default(), rows: 50, then: gone };
    let ended = bed.run_into(&mut parts, &plan(LONG, Merge::Concatenate), &Request::Text, &mut sink).await;
    assert_eq!(ended.expect_err("the client is gone").code, 1158);
    answer(&mut parts).await;
    assert_eq!(bed.kills.take(), 2);

    // A future that is dropped leaves connections that must not be lent again.
    let mut parts = bed.shards().await;
    let mut sink = Packets::default();
    let read = plan("SELECT SLEEP(60) FROM t", Merge::Concatenate);
    let running = bed.run_into(&mut parts, &read, &Request::Text, &mut sink);
    assert!(tokio::time::timeout(std::time::Duration::from_millis(50), running).await.is_err());
    assert!(parts.iter().all(|part| !part.lease.is_clean()));
}

/// A server dies in mid-result: the rows that came are followed by one error that names it.
async fn a_server_that_dies(bed: &mut Bed) {
    let mut parts = bed.shards().await;
    let mut victim = Some(bed.servers.remove(1));
    let kill = || {
        if let Some(mut server) = victim.take() {
            server.kill().expect("it is killed");
        }
        Ok(())
    };
    let mut sink = After { packets: Packets::default(), rows: 50, then: kill };
    let text = format!("{LONG} ORDER BY 1");
    let keys = vec![SortKey { column: 0, descending: false, by: Compare::Value }];
    let outcome = bed.run_into(&mut parts, &plan(&text, Merge::Sorted(keys)), &Request::Text, &mut sink).await;
    let error = outcome.expect("the client is there").error.expect("a server has died");
    assert_eq!(error.code, 2013, "{error}");
    assert!(error.message.contains("'s2'"), "{error}");
    assert_eq!(sink.packets.packets.iter().filter(|packet| packet[0] == 0xff).count(), 1);
    assert_eq!(sink.packets.packets.last().map(|packet| packet[0]), Some(0xff));
    assert!(!parts[1].lease.is_clean());
    answer(&mut parts[..1]).await;
}
