//! How often Weir allocates memory per query once it is warm: not at all, on lanes and on pooled connections, for texts
//! and for prepared statements.
//!
//! All allocations of the process are counted; the client side makes none ([`hot_path`]). What remains is what workers do
//! from time to time, however many queries there are: the bound is one allocation in 100 queries.
#![forbid(unsafe_code)]

mod hot_path;

use std::process::ExitCode;

use hot_path::{Client, Site, query};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

type Failed = Box<dyn std::error::Error>;

const WARM_UP: u64 = 3_000;
const QUERIES: u64 = 20_000;

/// Allocations that `QUERIES` runs of a packet make, asked by four clients at once so that lanes carry several.
fn count(clients: &mut [Client], packets: &[Vec<u8>]) -> Result<u64, Failed> {
    let mut run = |times: u64| -> Result<(), Failed> {
        for _ in 0..times / clients.len() as u64 {
            for (client, packet) in clients.iter_mut().zip(packets) {
                client.send(packet)?;
            }
            for client in clients.iter_mut() {
                let rows = client.receive(weir_wire::reply::ReplyKind::Results)?;
                if rows != 1 {
                    return Err(format!("one row expected, got {rows}").into());
                }
            }
        }
        Ok(())
    };
    run(WARM_UP)?;
    let before = dhat::HeapStats::get().total_blocks;
    run(QUERIES)?;
    Ok(dhat::HeapStats::get().total_blocks - before)
}

fn check(what: &str, site: &Site, lanes: bool, prepared: bool) -> Result<bool, Failed> {
    let mut clients = (0..4).map(|_| site.client()).collect::<Result<Vec<_>, _>>()?;
    let mut packets = Vec::new();
    for (n, client) in clients.iter_mut().enumerate() {
        client.exchange(&query("USE hot"))?;
        packets.push(if prepared {
            let [typed, untyped] = client.prepare("SELECT c FROM rows_ WHERE id = ?", n as u64 + 1)?;
            client.exchange(&typed)?;
            untyped
        } else {
            query(&format!("SELECT c FROM rows_ WHERE id = {}", n + 1))
        });
    }
    let carried = site.endpoint.backend_metrics.lane_rides.get();
    let allocations = count(&mut clients, &packets)?;
    let rode = site.endpoint.backend_metrics.lane_rides.get() - carried;
    if lanes != (rode > QUERIES) {
        return Err(format!("{what}: {rode} statements rode lanes").into());
    }
    let good = allocations <= QUERIES / 100;
    println!("{what}: {allocations} allocations in {QUERIES} queries{}", if good { "" } else { ": TOO MANY" });
    Ok(good)
}

fn run() -> Result<bool, Failed> {
    // WEIR_DHAT=1 keeps the places of all allocations in dhat-heap.json, for dhat's viewer.
    let builder = dhat::Profiler::builder();
    let _profiler = if std::env::var_os("WEIR_DHAT").is_some() { builder.build() } else { builder.testing().build() };
    let mut good = true;
    for lanes in [true, false] {
        let site = Site::start(lanes)?;
        let way = if lanes { "lanes" } else { "pooled connections" };
        for prepared in [false, true] {
            let form = if prepared { "prepared" } else { "text" };
            good &= check(&format!("{way}, {form}"), &site, lanes, prepared)?;
        }
    }
    Ok(good)
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
