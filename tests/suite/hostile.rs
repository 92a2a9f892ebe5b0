//! Texts that try to be read otherwise than the server reads them: what Weir runs of them is what the server runs, and read-only mode and
//! rules see all of it.
//!
//! Texts are drawn from a seed ([`texts`]). Each is sent in a session that is as new: COM_RESET_CONNECTION goes before it. What is compared
//! is every field of every reply, how the session reads texts afterwards, and the trace that its markers have left. A difference is repeated
//! in sessions that are new, cut down by dropping fragments, and printed as bytes.
//!
//! What may differ stands in [`verdict`]: above all, where the end of a statement is not certain, Weir runs neither it nor what follows, and
//! says that it is a syntax error. Few texts may be so.

mod texts;
mod verdict;

use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use weir_local::Flavor;

use self::texts::{CONTENT, MARKERS, Text, draw, shown};
use self::verdict::Verdict;
use crate::Collector;
use crate::client::{Address, Packets};
use crate::compare::{Side, difference, fill, letter, sides};
use crate::driver::connect;
use crate::lab::{APP, Endpoint, Lab, Site, number_from_environment};
use crate::login::{self, Login, Opening, caps};
use crate::reply::{Cell, Rows, Set, read_reply};
use crate::script::Dice;
use crate::weir::Weir;

/// Of a hundred texts, at most so many may be refused that the server runs: by Weir over one server, and over shards.
const REFUSED: u64 = 8;
const REFUSED_OVER_SHARDS: u64 = 35;
/// Texts between two looks at what has run where nothing may run.
const BETWEEN_LOOKS: u64 = 200;
/// The clients that take turns: half of the texts come from those of today, the others from clients that read EOF packets, and from those
/// that don't send several statements in a text, to whom all but the first is an error.
const CLIENTS: [u32; 4] = [
    caps::BASE | caps::DEPRECATE_EOF,
    caps::BASE,
    caps::BASE | caps::DEPRECATE_EOF,
    (caps::BASE | caps::DEPRECATE_EOF) & !caps::MULTI_STATEMENTS,
];

const RULE: &str = "[[rules]]\nname = \"reads only\"\naction = \"block\"\nkinds = [\"write\"]\n";

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    tests.add_for_weir("hostile::texts_are_read_as_the_server_reads_them", compared);
    tests.add_for_weir("hostile::texts_over_shards_run_what_the_server_runs", compared_over_shards);
    tests.add_for_weir("hostile::read_only_mode_lets_nothing_through", |lab, flavor| {
        guarded(lab, flavor, "read_only", &[("clients.read_only", "true")], "")
    });
    tests.add_for_weir("hostile::rules_let_nothing_through", |lab, flavor| guarded(lab, flavor, "rules", &[], RULE));
}

/// How many texts a run has, and what it has covered.
struct Run {
    seed: u64,
    texts: u64,
    end: Instant,
    /// After this many differences the run is given up.
    enough: u64,
    refused: u64,
    done: u64,
    bytes: usize,
    replies: usize,
    errors: usize,
    ran: usize,
}

impl Run {
    fn begin() -> Self {
        let seconds = number_from_environment("WEIR_HOSTILE_SECONDS", 60);
        Self {
            seed: number_from_environment("WEIR_SEED", 1),
            texts: number_from_environment("WEIR_HOSTILE_TEXTS", 2_000),
            end: Instant::now() + Duration::from_secs(seconds),
            enough: number_from_environment("WEIR_HOSTILE_DIFFERENCES", 5),
            refused: 0,
            done: 0,
            bytes: 0,
            replies: 0,
            errors: 0,
            ran: 0,
        }
    }

    /// The next text, or none if enough was tried.
    fn next(&mut self, flavor: Flavor) -> Option<Text> {
        if self.done >= self.texts || Instant::now() > self.end {
            return None;
        }
        let text = draw_of(self.seed, self.done, flavor);
        self.done += 1;
        self.bytes += text.bytes().len();
        Some(text)
    }

    fn note(&mut self, replies: &Answer) {
        self.replies += replies.sets.len();
        self.errors += replies.sets.iter().filter(|set| set.error_code().is_some()).count();
        self.ran += replies.markers().len();
    }

    /// Fails if the texts were such that nothing was proved. `markers`: some have to run.
    fn has_covered(&self, markers: bool) -> Result<(), Failed> {
        let some = self.replies > self.errors && self.errors > 0 && (self.ran > 0 || !markers);
        if some { Ok(()) } else { Err(format!("{} texts proved nothing", self.done).into()) }
    }

    fn tell(&self, what: &str) {
        let Self { seed, done, bytes, replies, errors, ran, refused, .. } = self;
        println!(
            "{what}: seed {seed}, {done} texts of {bytes} bytes, {replies} replies, {errors} errors, {ran} markers ran, {refused} texts refused"
        );
    }
}

/// The text of this number: each has a seed of its own, so that one can be repeated without those before it.
fn draw_of(seed: u64, number: u64, flavor: Flavor) -> Text {
    let mut dice = Dice::new(seed.wrapping_mul(0x1_0000_0000).wrapping_add(number));
    draw(&mut dice, flavor, (number + 1) * MARKERS)
}

/// What a server says to a text, and what it has left.
#[derive(Clone, PartialEq)]
struct Answer {
    sets: Vec<Set>,
    /// How the session reads texts afterwards, and its markers that have run.
    after: Vec<Set>,
}

impl Answer {
    /// The markers that have run, as rows.
    fn markers(&self) -> Vec<Vec<Cell>> {
        self.after.last().map_or(Vec::new(), Set::rows)
    }

    fn is_lost(&self) -> bool {
        self.loss().is_some()
    }

    /// How the session was lost.
    fn loss(&self) -> Option<&str> {
        self.sets.iter().chain(&self.after).find_map(|set| match set {
            Set::Lost(why) => Some(&why[..]),
            _ => None,
        })
    }
}

/// A session of one side.
struct Client {
    side: Side,
    capabilities: u32,
    connected: Option<(Packets, u32)>,
}

impl Client {
    fn new(side: &Side, capabilities: u32) -> Self {
        Self { side: side.clone(), capabilities, connected: None }
    }

    /// Makes the session as new.
    fn renew(&mut self) -> std::io::Result<()> {
        if let Some((packets, capabilities)) = &mut self.connected {
            packets.command(0x1f, &[])?;
            read_reply(packets, *capabilities, Rows::Text, &[])?;
            return Ok(());
        }
        let login = Login { capabilities: self.capabilities, ..Login::new(APP.0, APP.1) }.database(&self.side.database);
        match login::open(&self.side.address, &login)? {
            (packets, Opening::Done(_, capabilities, _)) => self.connected = Some((packets, capabilities)),
            (_, Opening::Refused(why)) => return Err(std::io::Error::other(format!("{why:?}"))),
        }
        Ok(())
    }

    fn query(&mut self, text: &[u8]) -> std::io::Result<Vec<Set>> {
        let (packets, capabilities) = self.connected.as_mut().ok_or_else(|| std::io::Error::other("not connected"))?;
        packets.command(0x03, text)?;
        let mut sets = read_reply(packets, *capabilities, Rows::Text, &[])?;
        let name = self.side.database.as_bytes();
        let placeholder = vec![b'#'; name.len()];
        sets.iter_mut().for_each(|set| set.rename(name, &placeholder));
        Ok(sets)
    }

    /// Runs a text in a session that is as new. What is lost is part of the answer, and the session is another one afterwards.
    fn run(&mut self, text: &[u8], markers: &str) -> Result<Answer, Failed> {
        if self.renew().is_err() {
            self.connected = None;
            self.renew()?;
        }
        let sets = self.or_lost(text);
        let mut after = Vec::new();
        for probe in ["SELECT @@sql_mode, @@character_set_client, @@character_set_connection", markers] {
            if self.connected.is_some() {
                after.extend(self.or_lost(probe.as_bytes()));
            }
        }
        Ok(Answer { sets, after })
    }

    fn or_lost(&mut self, text: &[u8]) -> Vec<Set> {
        self.query(text).unwrap_or_else(|error| {
            self.connected = None;
            vec![Set::Lost(error.to_string())]
        })
    }
}

/// The query for the markers of a text.
fn markers_of(number: u64) -> String {
    let first = number * MARKERS;
    format!("SELECT n FROM trace WHERE n >= {first} AND n < {} ORDER BY n", first + MARKERS)
}

fn compared(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let site = lab.site(flavor)?;
    lab.with_endpoint(site, &[], |endpoint| {
        let sides = sides(site, endpoint, &format!("{}hostile", letter(flavor)));
        fill(site, &sides, &CONTENT)?;
        let comparison = Comparison { sides, flavor, over_shards: false };
        comparison.run()
    })
}

fn compared_over_shards(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let site = lab.site(flavor)?;
    let name = format!("t_{}hostile_shards", letter(flavor));
    site.fill(&name, &CONTENT)?;
    lab.over_two(flavor, (&name, ""), |endpoint| {
        let mut session = connect(endpoint.port, APP, Some(&name))?;
        for line in CONTENT.iter().filter(|line| !line.contains("{db}")) {
            let clause = if line.starts_with("CREATE TABLE") { " SHARD BY HASH(n)" } else { "" };
            session.query_drop(format!("{line}{clause}"))?;
        }
        let sides = [site.tcp(), endpoint.address.clone()].map(|address| Side { address, database: name.clone() });
        let comparison = Comparison { sides, flavor, over_shards: true };
        comparison.run()
    })
}

/// The same texts at a server and at Weir.
struct Comparison {
    sides: [Side; 2],
    flavor: Flavor,
    over_shards: bool,
}

impl Comparison {
    fn run(&self) -> Result<(), Failed> {
        let mut run = Run::begin();
        let mut pairs = CLIENTS.map(|capabilities| self.sides.each_ref().map(|side| Client::new(side, capabilities)));
        let mut differences = Vec::new();
        while let Some(text) = run.next(self.flavor) {
            let [server, weir] = &mut pairs[run.done as usize % CLIENTS.len()];
            let (bytes, markers) = (text.bytes(), markers_of(run.done));
            let expected = server.run(&bytes, &markers)?;
            let got = weir.run(&bytes, &markers)?;
            if let Some(why) = got.loss().filter(|_| !expected.is_lost()) {
                return Err(format!("WEIR_SEED={} text {}: {why} for {}", run.seed, run.done, shown(&bytes)).into());
            }
            run.note(&expected);
            match self.verdict(&bytes, &expected, &got) {
                Verdict::Same => {}
                Verdict::Refused => {
                    run.refused += 1;
                    // What has run on one side only is not to be seen by later texts.
                    for client in [server, weir] {
                        client.run(b"DELETE FROM trace", &markers)?;
                    }
                }
                Verdict::Different => {
                    differences.push(self.explained(server.capabilities, &text, run.done, [expected, got])?);
                    if differences.len() as u64 >= run.enough {
                        break;
                    }
                }
            }
        }
        run.tell(&format!("hostile texts, {}{}", self.flavor, if self.over_shards { ", two shards" } else { "" }));
        if !differences.is_empty() {
            return Err(format!("WEIR_SEED={}\n{}", run.seed, differences.join("\n")).into());
        }
        let most = if self.over_shards { REFUSED_OVER_SHARDS } else { REFUSED };
        if run.refused * 100 > run.done * most {
            return Err(format!("{} of {} texts were refused that the server reads", run.refused, run.done).into());
        }
        run.has_covered(true)
    }

    fn verdict(&self, text: &[u8], server: &Answer, weir: &Answer) -> Verdict {
        verdict::of(text, server, weir, self.over_shards)
    }

    /// Repeats a difference in sessions that are new, cuts it down, and tells it.
    fn explained(&self, capabilities: u32, text: &Text, number: u64, seen: [Answer; 2]) -> Result<String, Failed> {
        let markers = markers_of(number);
        let differs = |text: &Text| -> Result<Option<[Answer; 2]>, Failed> {
            let bytes = text.bytes();
            let mut answers = Vec::new();
            for side in &self.sides {
                let mut client = Client::new(side, capabilities);
                client.run(b"DELETE FROM trace", &markers)?;
                answers.push(client.run(&bytes, &markers)?);
            }
            let answers: [Answer; 2] = answers.try_into().map_err(|_| "two answers")?;
            Ok((self.verdict(&bytes, &answers[0], &answers[1]) == Verdict::Different).then_some(answers))
        };
        let whole = shown(&text.bytes());
        let told = |[expected, got]: [Answer; 2]| {
            let replies = difference("the text", &expected.sets, &got.sets);
            replies + &difference("afterwards", &expected.after, &got.after)
        };
        let Some(mut answers) = differs(text)? else {
            return Ok(format!("text {number}, behind the texts before it only: {whole}\n{}", told(seen)));
        };
        let mut least = text.clone();
        let mut size = least.0.len().div_ceil(2);
        while size > 0 {
            let mut from = 0;
            while from + size <= least.0.len() {
                let shorter = least.without(from, size);
                match differs(&shorter)? {
                    Some(found) => (least, answers) = (shorter, found),
                    None => from += size,
                }
            }
            size /= 2;
        }
        Ok(format!("text {number}: {whole}\ncut down: {}\n{}", shown(&least.bytes()), told(answers)))
    }
}

/// Sends texts where nothing may be written, and finds out whether something was.
fn guarded(lab: &Lab, flavor: Flavor, word: &str, settings: &[(&str, &str)], rules: &str) -> Result<(), Failed> {
    let site = lab.site(flavor)?;
    let weir = Weir::start_with(&lab.directory()?, &[&site.server], settings, rules)?;
    lab.judge(Endpoint::of(weir), |endpoint| {
        let database = format!("t_{}hostile_{word}", letter(flavor));
        site.fill(&database, &CONTENT)?;
        // What ran and was rolled back leaves its trace too.
        site.fill(&database, &["ALTER TABLE {db}.trace ENGINE = MyISAM"])?;
        let side = Side { address: Address::Tcp(endpoint.port), database };
        let mut run = Run::begin();
        let mut client = Client::new(&side, caps::BASE | caps::DEPRECATE_EOF);
        let mut looked = 0;
        while let Some(text) = run.next(flavor) {
            let answer = client.run(&text.bytes(), &markers_of(run.done))?;
            run.note(&answer);
            if !answer.markers().is_empty() {
                return Err(format!(
                    "WEIR_SEED={}: a marker of text {} ran: {}",
                    run.seed,
                    run.done,
                    shown(&text.bytes())
                )
                .into());
            }
            if let Some(why) = answer.loss() {
                return Err(format!("WEIR_SEED={}: {why} for {}", run.seed, shown(&text.bytes())).into());
            }
            if run.done - looked == BETWEEN_LOOKS {
                looked = run.done;
                nothing_ran(site, &side, run.seed, flavor)?;
            }
        }
        run.tell(&format!("hostile texts, {flavor}, {settings:?} {rules:?}"));
        nothing_ran(site, &side, run.seed, flavor)?;
        run.has_covered(false)
    })
}

/// Fails if a marker has run in any session.
fn nothing_ran(site: &Site, side: &Side, seed: u64, flavor: Flavor) -> Result<(), Failed> {
    let Some(marker) = site.server.query_value(&format!("SELECT MIN(n) FROM {}.trace", side.database))? else {
        return Ok(());
    };
    let marker: u64 = marker.parse().map_err(|_| format!("marker {marker:?}"))?;
    let number = marker / MARKERS;
    let text = draw_of(seed, number - 1, flavor);
    Err(format!("WEIR_SEED={seed}: text {number} has written {marker}: {}", shown(&text.bytes())).into())
}
