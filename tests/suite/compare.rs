//! Two sessions that do the same, one directly at the server and one at the endpoint, and the comparison of their
//! answers.

use weir_local::Flavor;

use libtest_mimic::Failed;

use crate::client::Address;
use crate::lab::{Endpoint, Site};
use crate::login::Login;
use crate::reply::Set;
use crate::step::Session;

/// Where a side of a comparison runs.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    pub(crate) address: Address,
    /// Names of both sides have the same length, so that they can be taken out of answers.
    pub(crate) database: String,
}

/// The server's own side and the endpoint's, with databases for the test of this short name.
pub(crate) fn sides(site: &Site, endpoint: &Endpoint, name: &str) -> [Side; 2] {
    [
        Side { address: site.tcp(), database: format!("t_{name}_a") },
        Side { address: endpoint.address.clone(), database: format!("t_{name}_b") },
    ]
}

/// Gives both sides the same content, by way of the server.
pub(crate) fn fill(site: &Site, sides: &[Side; 2], lines: &[&str]) -> Result<(), Failed> {
    std::thread::scope(|scope| {
        let [direct, tested] = sides;
        let filling = scope.spawn(|| site.fill(&direct.database, lines));
        site.fill(&tested.database, lines)?;
        filling.join().map_err(|_| Failed::from("filling a database panicked"))?
    })
}

/// The same session on both sides.
pub(crate) struct Pair {
    sessions: [Session; 2],
}

impl Pair {
    pub(crate) fn new(sides: &[Side; 2], login: &Login, binary: bool) -> Self {
        let open = |side: &Side| {
            let mut session = Session::new(&side.address, login, &side.database);
            session.binary = binary;
            session.raw = true;
            session
        };
        Self { sessions: [open(&sides[0]), open(&sides[1])] }
    }

    /// Has only what the answers say compared, not their bytes: of flags too, what depends on which connection has prepared a statement.
    pub(crate) fn decoded(mut self) -> Self {
        self.sessions.iter_mut().for_each(|session| session.raw = false);
        self
    }

    /// Runs a step on both sides; a difference is described. `WEIR_TRANSCRIPT=1` prints what the server says.
    pub(crate) fn run(&mut self, step: &str) -> Result<(), String> {
        let [direct, tested] = &mut self.sessions;
        let expected = direct.run(step);
        let got = tested.run(step);
        if std::env::var_os("WEIR_TRANSCRIPT").is_some() {
            eprintln!("{}", difference(step, &expected, &expected));
        }
        if expected.iter().any(|set| matches!(set, Set::Lost(_))) {
            return Err(format!("the server itself gave no answer\n{}", difference(step, &expected, &got)));
        }
        if expected != got {
            return Err(difference(step, &expected, &got));
        }
        match crate::raw::difference(step, &direct.take_packets(), &tested.take_packets()) {
            Some(difference) => Err(difference),
            None => Ok(()),
        }
    }
}

/// Both answers, printed for a person.
pub(crate) fn difference(step: &str, expected: &[Set], got: &[Set]) -> String {
    let shown: String = step.chars().take(300).collect();
    let mut text = format!("step: {shown}\n");
    for (index, pair) in pad(expected).zip(pad(got)).take(expected.len().max(got.len())).enumerate() {
        match pair {
            (Some(a), Some(b)) if a == b => text.push_str(&format!("  result {index}, the same: {a:?}\n")),
            (a, b) => text.push_str(&format!(
                "  result {index}, server:   {}\n  result {index}, endpoint: {}\n",
                a.map_or("nothing".into(), |set| format!("{set:?}")),
                b.map_or("nothing".into(), |set| format!("{set:?}")),
            )),
        }
    }
    text
}

fn pad(sets: &[Set]) -> impl Iterator<Item = Option<&Set>> {
    sets.iter().map(Some).chain(std::iter::repeat(None))
}

/// A short name for databases.
pub(crate) fn letter(flavor: Flavor) -> char {
    match flavor {
        Flavor::MariaDb => 'm',
        Flavor::MySql => 'y',
    }
}
