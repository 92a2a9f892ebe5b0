//! Moves while clients write: nothing is lost, doubled or stale, whatever they do.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use weir_local::Flavor;
use weir_local::mysql::Conn;
use weir_local::mysql::prelude::Queryable;
use weir_reshard::{Controls, DifferenceKind, Plan, VerifySettings};

use crate::lab::{ByRemainder, Lab, until};

/// Changes of each client after all is copied, at least.
const MORE: u64 = 400;

/// A generator of numbers that a seed repeats.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// A client that changes rows of its own ids, on the shards where they are.
struct Client {
    number: u64,
    random: Random,
    connections: Vec<Conn>,
    /// Where its rows are.
    rows: Vec<(u64, usize)>,
    next: u64,
    branches: u64,
}

/// So many clients share the ids.
const CLIENTS: u64 = 4;

impl Client {
    fn run(&mut self, shard: usize, sql: &str) -> bool {
        match self.connections[shard].query_drop(sql) {
            Ok(()) => true,
            // Gap locks of other clients.
            Err(weir_local::mysql::Error::MySqlError(error)) if matches!(error.code, 1213 | 1205) => false,
            Err(error) => panic!("{sql}: {error}"),
        }
    }

    fn values(&mut self, id: u64) -> String {
        let (home, n, length) = (self.random.below(100), self.random.below(1000), self.random.below(200));
        format!("({id},{home},{n},REPEAT('{}',{length}),'u{id}')", ["a", "ä", "\\\\"][self.random.below(3) as usize])
    }

    fn new_id(&mut self) -> u64 {
        self.next += CLIENTS;
        self.next
    }

    /// One change, or several in a transaction.
    fn change(&mut self) {
        let at = self.random.below(self.rows.len() as u64) as usize;
        let (id, shard) = self.rows[at];
        let n = self.random.below(1000);
        match self.random.below(12) {
            0 | 1 => {
                let (id, shard) = (self.new_id(), self.random.below(self.connections.len() as u64) as usize);
                let values = self.values(id);
                if self.run(shard, &format!("INSERT INTO d.t VALUES {values}")) {
                    self.rows.push((id, shard));
                }
            }
            2 => drop(self.run(shard, &format!("UPDATE d.t SET home = {n} WHERE id = {id}"))),
            3 => drop(self.run(shard, &format!("UPDATE d.t SET pad = REPEAT('x', {n} % 200) WHERE id = {id}"))),
            4 => {
                let new = self.new_id();
                if self.run(shard, &format!("UPDATE d.t SET id = {new}, u = 'u{new}' WHERE id = {id}")) {
                    self.rows[at].0 = new;
                }
            }
            5 if self.rows.len() > 200 => {
                if self.run(shard, &format!("DELETE FROM d.t WHERE id = {id}")) {
                    self.rows.swap_remove(at);
                }
            }
            6 => {
                let values = self.values(id);
                self.run(shard, &format!("REPLACE INTO d.t VALUES {values}"));
            }
            7 => {
                // Unique values of two rows are exchanged.
                let with = self.random.below(self.rows.len() as u64) as usize;
                let (other, there) = self.rows[with];
                if other != id && there == shard {
                    let swap = [
                        format!("UPDATE d.t SET u = 'swap{id}' WHERE id = {id}"),
                        format!("UPDATE d.t SET u = 'u{id}' WHERE id = {other}"),
                        format!("UPDATE d.t SET u = 'u{other}' WHERE id = {id}"),
                        format!("UPDATE d.t SET u = 'swap{other}' WHERE id = {id}"),
                        format!("UPDATE d.t SET u = 'u{other}' WHERE id = {other}"),
                        format!("UPDATE d.t SET u = 'u{id}' WHERE id = {id}"),
                    ];
                    self.transaction(shard, &swap, true);
                }
            }
            8 => {
                let changes =
                    [format!("UPDATE d.t SET n = n + 1 WHERE id = {id}"), format!("DELETE FROM d.t WHERE id = {id}")];
                self.transaction(shard, &changes, false);
            }
            9 => self.branch(at, n.is_multiple_of(2)),
            10 => self.move_row(at),
            _ => drop(self.run(shard, &format!("UPDATE d.t SET n = {n} WHERE id = {id}"))),
        }
    }

    fn transaction(&mut self, shard: usize, changes: &[String], commit: bool) {
        self.run(shard, "BEGIN");
        let done = changes.iter().all(|sql| self.run(shard, sql));
        self.run(shard, if commit && done { "COMMIT" } else { "ROLLBACK" });
    }

    /// A branch that is prepared, and ends after something else has happened.
    fn branch(&mut self, at: usize, commit: bool) {
        let (id, shard) = self.rows[at];
        self.branches += 1;
        let xid = format!("'c{},{}','b',1", self.number, self.branches);
        self.run(shard, &format!("XA START {xid}"));
        let done = self.run(shard, &format!("UPDATE d.t SET n = n + 7, home = home + 1 WHERE id = {id}"));
        if !done {
            return self.connections[shard].reset().expect("it is ended");
        }
        self.run(shard, &format!("XA END {xid}"));
        if self.branches.is_multiple_of(4) {
            self.run(shard, &format!("XA COMMIT {xid} ONE PHASE"));
            return;
        }
        self.run(shard, &format!("XA PREPARE {xid}"));
        if self.connections.len() > 1 {
            let other = 1 - shard;
            if let Some((id, _)) = self.rows.iter().find(|(_, there)| *there == other).copied() {
                self.run(other, &format!("UPDATE d.t SET n = n + 1 WHERE id = {id}"));
            }
        }
        self.run(shard, &format!("XA {} {xid}", if commit { "COMMIT" } else { "ROLLBACK" }));
    }

    /// A row goes to another shard, as a change of its shard key does.
    fn move_row(&mut self, at: usize) {
        if self.connections.len() < 2 {
            return;
        }
        let (id, from) = self.rows[at];
        let to = 1 - from;
        self.branches += 1;
        let xid = format!("'m{},{}','b',1", self.number, self.branches);
        let values = self.values(id);
        let changes =
            [(from, format!("DELETE FROM d.t WHERE id = {id}")), (to, format!("INSERT INTO d.t VALUES {values}"))];
        for (shard, sql) in &changes {
            self.run(*shard, &format!("XA START {xid}"));
            if !self.run(*shard, sql) {
                // Both branches go with their connections.
                return self.connections.iter_mut().for_each(|one| one.reset().expect("it is ended"));
            }
        }
        for step in ["END", "PREPARE", "COMMIT"] {
            for (shard, _) in &changes {
                self.run(*shard, &format!("XA {step} {xid}"));
            }
        }
        self.rows[at].1 = to;
    }
}

fn fill(lab: &Lab, sources: usize, rows: u64) {
    let definition = "CREATE TABLE t (id BIGINT UNSIGNED PRIMARY KEY, home INT NOT NULL, n INT, pad VARCHAR(200), u VARCHAR(40) NOT NULL, \
                      UNIQUE KEY (u)) ENGINE=InnoDB CHARACTER SET utf8mb4";
    lab.create(definition, &[0, 1][..sources], &[0, 1, 2]);
    for shard in 0..sources as u64 {
        let values: Vec<String> = (0..rows)
            .filter(|id| id / CLIENTS % sources as u64 == shard)
            .map(|id| format!("({id},{},{id},REPEAT('p',{}),'u{id}')", id % 7, id % 150))
            .collect();
        for values in values.chunks(5_000) {
            lab.run(shard as usize, &[&format!("INSERT INTO d.t VALUES {}", values.join(","))]);
        }
    }
}

/// Rows of one or two sources go to three shards while clients change them in every way.
fn moves_under_load(flavor: Flavor, sources: usize) {
    const ROWS: u64 = 12_000;
    let lab = Lab::new(flavor, 3, &[]);
    fill(&lab, sources, ROWS);
    let here = &[0, 1][..sources];
    let plan = Plan { tables: vec![lab.table_plan("t", here, &[0, 1, 2], ByRemainder::new(1, &[0, 1, 2]))] };
    let (copied, enough, done) = (AtomicBool::new(false), AtomicBool::new(false), AtomicU64::new(0));
    let handle = std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let (copied, enough, done) = (&copied, &enough, &done);
            let connections = (0..sources).map(|shard| lab.client(shard)).collect();
            let rows = (0..ROWS).filter(|id| id % CLIENTS == number);
            let rows = rows.map(|id| (id, (id / CLIENTS) as usize % sources)).collect();
            let random = Random(0x9e37_79b9 + number);
            scope.spawn(move || {
                let next = (ROWS / CLIENTS + 1) * CLIENTS + number;
                let mut client = Client { number, random, connections, rows, next, branches: 0 };
                let mut after = 0;
                while after < MORE || !enough.load(Relaxed) {
                    client.change();
                    after += u64::from(copied.load(Relaxed));
                    done.fetch_add(1, Relaxed);
                }
            });
        }
        // Whatever fails here, the clients end.
        let _enough = OnDrop(|| (copied.store(true, Relaxed), enough.store(true, Relaxed)));
        until("changes", || done.load(Relaxed) > 100);
        // Slow enough for changes between any two of many chunks.
        let controls = Controls::default();
        controls.set_rate(10_000 / sources as u64);
        let handle = lab.start_with(&plan, None, controls).expect("it starts");
        lab.copied(&handle);
        handle.controls().set_rate(0);
        copied.store(true, Relaxed);
        let verified = lab.runtime.block_on(handle.verify(VerifySettings::default())).expect("it is compared");
        assert_eq!((&verified.differences[..], verified.unsettled), (&[][..], 0));
        assert!(verified.rows > ROWS / 2, "{verified:?}");
        handle
    });
    lab.caught_up(&handle);
    lab.assert_equal("t", here, &[0, 1, 2]);
    plant_differences(&lab, &handle);
}

/// Differences that are planted are found, each by its key.
fn plant_differences(lab: &Lab, handle: &weir_reshard::Handle) {
    let id = |offset: u64| {
        let sql = format!("SELECT id FROM weir_move_1.t ORDER BY id LIMIT 1 OFFSET {offset}");
        lab.value(2, &sql)
    };
    let (missing, changed) = (id(3), id(30));
    lab.run(
        2,
        &[
            &format!("DELETE FROM weir_move_1.t WHERE id = {missing}"),
            &format!("UPDATE weir_move_1.t SET n = 123456 WHERE id = {changed}"),
        ],
    );
    lab.run(0, &["INSERT INTO weir_move_1.t VALUES (18446744073709551615, 0, 0, '', 'extra')"]);
    let verified = lab.runtime.block_on(handle.verify(VerifySettings::default())).expect("it is compared");
    let mut found: Vec<_> = verified.differences.iter().map(|one| (one.key.clone(), one.kind)).collect();
    found.sort_by(|one, two| one.0.cmp(&two.0));
    let mut expected = vec![
        (format!("`id`={missing}"), DifferenceKind::Missing),
        (format!("`id`={changed}"), DifferenceKind::Changed),
        ("`id`=18446744073709551615".to_owned(), DifferenceKind::Extra),
    ];
    expected.sort_by(|one, two| one.0.cmp(&two.0));
    assert_eq!(found, expected);
}

struct OnDrop<F: FnMut() -> T, T>(F);

impl<F: FnMut() -> T, T> Drop for OnDrop<F, T> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[test]
fn mariadb_rows_of_one_source_move_under_load() {
    moves_under_load(Flavor::MariaDb, 1);
}

#[test]
fn mariadb_rows_of_two_sources_move_under_load() {
    moves_under_load(Flavor::MariaDb, 2);
}

#[test]
fn mysql_rows_of_one_source_move_under_load() {
    moves_under_load(Flavor::MySql, 1);
}

#[test]
fn mysql_rows_of_two_sources_move_under_load() {
    moves_under_load(Flavor::MySql, 2);
}
