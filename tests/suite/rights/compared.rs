//! Rights over two shards: what sessions may do, and what they hear, is what it is on one server.
//!
//! A file of steps runs on a plain server and through Weir over two shards. A step is `session: statement`; `session? statement` prepares and
//! executes it; `+session user` logs in, `!session` resets the session. `mysql|` and `mariadb|` begin a step for that server only.
//! Rows are compared in any order, errors with their messages. `^code` before a step: Weir has this error, whatever the server says;
//! `^code|word` with this word in its message, `^code|!word` without it. `=word`: Weir's rows have it, and the server is not asked.

use std::collections::BTreeMap;
use std::time::Duration;

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use mysql::{Conn, Row, Value};
use weir_local::Flavor;

use super::DATABASE;
use crate::Collector;
use crate::driver::connect;
use crate::lab::{APP, Endpoint, Lab, Site, eventually};
use crate::script;
use crate::weir::Weir;

const PASSWORD: &str = "a secret";

/// Tests and their steps.
const FILES: [(&str, &str); 6] = [
    ("rights::roles", include_str!("roles.steps")),
    ("rights::errors", include_str!("errors.steps")),
    ("rights::changes", include_str!("changes.steps")),
    ("rights::columns", include_str!("columns.steps")),
    ("rights::views", include_str!("views.steps")),
    ("rights::objects", include_str!("objects.steps")),
];

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    for (name, steps) in FILES {
        tests.add_for_weir(name, move |lab: &Lab, flavor| compare(lab, flavor, steps));
    }
}

fn compare(lab: &Lab, flavor: Flavor, steps: &str) -> Result<(), Failed> {
    let parent = lab.directory()?;
    let sites = ["plain", "s1", "s2"].map(|name| Site::start(flavor, &parent, name, &[]));
    let [plain, first, second] = sites;
    let (plain, first, second) = (plain?, first?, second?);
    for site in [&plain, &first, &second] {
        site.fill(DATABASE, &[&format!("GRANT ALL ON *.* TO '{}'@'%' WITH GRANT OPTION", APP.0)])?;
    }
    let servers = [("s1", vec![&first.server]), ("s2", vec![&second.server])];
    let weir = Weir::start_shards(&lab.directory()?, &servers, &[])?;
    lab.judge(Endpoint::of(weir), |endpoint| {
        let begin = format!("CREATE DATABASE {DATABASE}");
        eventually(Duration::from_secs(60), "a sharded database can be made", || {
            connect(endpoint.port, APP, None).is_ok_and(|mut session| session.query_drop(&begin).is_ok())
        })?;
        connect(plain.server.port(), APP, None)?.query_drop(&begin)?;
        let mut sides = [Side::new(plain.server.port()), Side::new(endpoint.port)];
        let steps = script::steps(steps, flavor);
        let different: Vec<String> = steps.into_iter().filter_map(|step| different(&mut sides, step)).collect();
        if different.is_empty() { Ok(()) } else { Err(different.join("\n").into()) }
    })
}

/// Whether an answer is an error as it was expected.
fn is_error(answer: &str, expected: &str) -> bool {
    let (code, word) = expected.split_once('|').unwrap_or((expected, ""));
    let says = match word.strip_prefix('!') {
        Some(word) => !answer.contains(word),
        None => answer.contains(word),
    };
    says && answer.starts_with(&format!("ERROR {code} "))
}

/// What a step's answers are, if they are not alike.
fn different(sides: &mut [Side; 2], step: &str) -> Option<String> {
    if let Some((word, step)) = step.strip_prefix('=').and_then(|rest| rest.split_once(' ')) {
        let weir = sides[1].run(step);
        return (!weir.contains(word) || weir.starts_with("ERROR")).then(|| format!("{step}\n  Weir: {weir}"));
    }
    let (code, step) = match step.strip_prefix('^').and_then(|rest| rest.split_once(' ')) {
        Some((code, step)) => (Some(code), step),
        None => (None, step),
    };
    let [plain, weir] = sides.each_mut().map(|side| side.run(step));
    let alike = match code {
        Some(expected) => is_error(&weir, expected),
        None => plain == weir,
    };
    (!alike).then(|| format!("{step}\n  the server: {plain}\n  Weir: {weir}"))
}

struct Side {
    port: u16,
    sessions: BTreeMap<String, Conn>,
}

impl Side {
    fn new(port: u16) -> Self {
        Self { port, sessions: BTreeMap::new() }
    }

    fn run(&mut self, step: &str) -> String {
        told(self.answer(step))
    }

    fn answer(&mut self, step: &str) -> mysql::Result<Vec<Row>> {
        if let Some(login) = step.strip_prefix('+') {
            let mut words = login.split_whitespace();
            let name = words.next().unwrap_or_default();
            let account = words.next().map_or(APP, |user| if user == APP.0 { APP } else { (user, PASSWORD) });
            let session = connect(self.port, account, words.next())?;
            self.sessions.insert(name.to_owned(), session);
            return Ok(Vec::new());
        }
        if let Some(name) = step.strip_prefix('!') {
            self.session(name).reset()?;
            return Ok(Vec::new());
        }
        let at = step.find([':', '?']).unwrap_or_else(|| panic!("no step: {step}"));
        let (name, text) = (&step[..at], step[at + 1..].trim());
        match step.as_bytes()[at] {
            b'?' => self.session(name).exec(text, ()),
            _ => self.session(name).query(text),
        }
    }

    fn session(&mut self, name: &str) -> &mut Conn {
        self.sessions.get_mut(name).unwrap_or_else(|| panic!("session {name} has not logged in"))
    }
}

/// An answer as it is compared.
fn told(answer: mysql::Result<Vec<Row>>) -> String {
    match answer {
        Ok(rows) => {
            let cells = |row: Row| row.unwrap().iter().map(|cell: &Value| cell.as_sql(true)).collect::<Vec<_>>();
            let mut rows: Vec<String> = rows.into_iter().map(|row| cells(row).join(", ")).collect();
            rows.sort();
            rows.join("; ")
        }
        Err(mysql::Error::MySqlError(error)) => error.to_string(),
        Err(other) => format!("lost: {other}"),
    }
}
