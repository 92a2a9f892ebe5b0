//! Which tables a server looks for when it prepares a statement and none exists.
//!
//! The server names the first table that it misses. When that one has been made, it names the next, and so on; errors about
//! columns come after all tables are open, so that an empty shell of a table is enough. Statements that miss the same tables
//! in the same order are asked together, so that each table is made once for all of them.
//!
//! Names are bytes in the character set of the statement, which is the messages' too; here each byte is a character, so
//! that nothing is lost.
//!
//! What must hold: after each step the server is as it was before, with an empty default database.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use indicatif::ProgressBar;

use crate::client::{Client, Refusal};
use crate::corpus::{Key, Statement};
use crate::judge::{Judge, apply};
use crate::setting::Setting;

const NO_SUCH_TABLE: u16 = 1146;
const UNKNOWN_DATABASE: u16 = 1049;
const UNKNOWN_SEQUENCE: u16 = 4091;
/// The default database of the judges.
pub(crate) const DEFAULT_DATABASE: &str = "test";
/// Databases whose tables are there without anybody making them.
const SERVERS_OWN: [&str; 4] = ["information_schema", "mysql", "performance_schema", "sys"];
const SAVED_EVERY: usize = 20_000;
/// Between the parts of a line of the cache.
const SEPARATOR: char = '\u{1f}';

/// What a server looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Missing {
    /// Databases and tables, in the order in which they were missed.
    pub(crate) tables: Vec<(String, String)>,
    /// What the server said in the end: an error number, 0 if nothing.
    pub(crate) last: u16,
}

/// Something that a statement needs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Thing {
    Database(String),
    Table(String, String),
    Sequence(String, String),
}

impl Thing {
    /// What the server complains of, if it is a thing that is missing.
    fn missed(refusal: &Refusal) -> Option<Self> {
        if ![NO_SUCH_TABLE, UNKNOWN_DATABASE, UNKNOWN_SEQUENCE].contains(&refusal.code) {
            return None;
        }
        let message = as_text(&refusal.message);
        let quoted = message.get(message.find('\'')? + 1..message.rfind('\'')?)?;
        // Table 'a.b' doesn't exist.
        let quoted = quoted.strip_suffix("' doesn").unwrap_or(quoted);
        if refusal.code == UNKNOWN_DATABASE {
            return Some(Self::Database(quoted.to_owned()));
        }
        let (database, name) = quoted.split_once('.')?;
        let thing = if refusal.code == NO_SUCH_TABLE { Self::Table } else { Self::Sequence };
        Some(thing(database.to_owned(), name.to_owned()))
    }

    /// The database that it needs, as far as that may be missing.
    fn database(&self) -> Option<Self> {
        match self {
            Self::Table(database, _) | Self::Sequence(database, _) if database != DEFAULT_DATABASE => {
                Some(Self::Database(database.clone()))
            }
            _ => None,
        }
    }

    fn made(&self) -> Vec<u8> {
        as_bytes(&match self {
            Self::Database(name) => format!("CREATE DATABASE {}", quoted(name)),
            Self::Table(database, table) => format!("CREATE TABLE {}.{} (a INT)", quoted(database), quoted(table)),
            Self::Sequence(database, name) => format!("CREATE SEQUENCE {}.{}", quoted(database), quoted(name)),
        })
    }

    fn removed(&self) -> Vec<u8> {
        as_bytes(&match self {
            Self::Database(name) => format!("DROP DATABASE {}", quoted(name)),
            Self::Table(database, table) | Self::Sequence(database, table) => {
                format!("DROP TABLE {}.{}", quoted(database), quoted(table))
            }
        })
    }
}

/// Bytes as the characters that have their numbers.
pub(crate) fn as_text(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

fn as_bytes(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect()
}

/// Whether a database is there from the beginning, with tables of the server's.
pub(crate) fn is_servers_own(database: &str) -> bool {
    SERVERS_OWN.iter().any(|own| own.eq_ignore_ascii_case(database))
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// What the judge looks for in each of the statements, in their order. Kept on disk by server version.
pub(crate) fn find(judge: &mut Judge, statements: &[&Statement], cache: &Path) -> io::Result<Vec<Missing>> {
    let file = judge.cache_file(cache, "missing");
    let mut known = load(&file)?;
    let keys: Vec<Key> = statements.iter().map(|statement| statement.key()).collect();
    let open: Vec<usize> = (0..statements.len()).filter(|at| !known.contains_key(&keys[*at])).collect();
    if !open.is_empty() {
        let bar = judge.progress(open.len(), &format!("tables of {}", judge.name()));
        let client = judge.connect()?;
        let mut finder = Finder { client, statements, made: Vec::new(), found: Vec::new(), setting: None, bar };
        for part in open.chunks(SAVED_EVERY) {
            finder.ask(part)?;
            let fresh: Vec<(Key, Missing)> = finder.found.drain(..).map(|(at, missing)| (keys[at], missing)).collect();
            save(&file, &fresh)?;
            known.extend(fresh);
        }
        finder.bar.finish_and_clear();
    }
    Ok(keys.iter().map(|key| known.get(key).cloned().unwrap_or_default()).collect())
}

struct Finder<'a> {
    client: Client,
    statements: &'a [&'a Statement],
    /// What exists by now.
    made: Vec<Thing>,
    found: Vec<(usize, Missing)>,
    setting: Option<Setting>,
    bar: ProgressBar,
}

impl Finder<'_> {
    /// Asks about statements that have missed all that exists by now, and nothing else so far.
    fn ask(&mut self, which: &[usize]) -> io::Result<()> {
        let mut further: BTreeMap<Thing, Vec<usize>> = BTreeMap::new();
        let mut rest = which;
        while let Some(first) = rest.first() {
            let setting = self.statements[*first].setting;
            let count = rest.iter().take_while(|at| self.statements[**at].setting == setting).count();
            let (some, others) = rest.split_at(count);
            rest = others;
            self.use_setting(setting)?;
            let texts: Vec<&[u8]> = some.iter().map(|at| &self.statements[*at].text[..]).collect();
            let mut answers = Vec::with_capacity(texts.len());
            self.client.prepare_all(&texts, |at, answer| answers.push((some[at], answer)))?;
            for (at, answer) in answers {
                let missed = answer.as_ref().and_then(Thing::missed).filter(|thing| !self.made.contains(thing));
                match missed.map(|thing| self.before(thing)) {
                    Some(thing) => further.entry(thing).or_default().push(at),
                    None => self.end(at, answer.map_or(0, |answer| answer.code)),
                }
            }
        }
        further.into_iter().try_for_each(|(thing, which)| self.ask_with(thing, &which))
    }

    /// The database of a thing, if it has to be made first.
    fn before(&self, thing: Thing) -> Thing {
        let database = thing.database().filter(|database| !self.made.contains(database));
        let is_servers_own = |database: &Thing| matches!(database, Thing::Database(name) if is_servers_own(name));
        database.filter(|database| !is_servers_own(database)).unwrap_or(thing)
    }

    fn use_setting(&mut self, setting: Setting) -> io::Result<()> {
        if self.setting != Some(setting) {
            apply(&mut self.client, setting)?;
            self.setting = Some(setting);
        }
        Ok(())
    }

    fn ask_with(&mut self, thing: Thing, which: &[usize]) -> io::Result<()> {
        // The character set of its name.
        let Some(setting) = which.first().map(|at| self.statements[*at].setting) else { return Ok(()) };
        self.use_setting(setting)?;
        if let Err(refusal) = self.client.execute(&thing.made())? {
            self.made.push(thing);
            which.iter().for_each(|at| self.end(*at, refusal.code));
            self.made.pop();
            return Ok(());
        }
        self.made.push(thing);
        self.ask(which)?;
        if let Some(thing) = self.made.pop() {
            self.use_setting(setting)?;
            let removed = self.client.execute(&thing.removed())?;
            removed.map_err(|refusal| io::Error::other(refusal.to_string()))?;
        }
        Ok(())
    }

    fn end(&mut self, at: usize, last: u16) {
        let table = |thing: &Thing| match thing {
            Thing::Table(database, table) | Thing::Sequence(database, table) => Some((database.clone(), table.clone())),
            Thing::Database(_) => None,
        };
        self.found.push((at, Missing { tables: self.made.iter().filter_map(table).collect(), last }));
        self.bar.inc(1);
    }
}

fn load(file: &Path) -> io::Result<HashMap<Key, Missing>> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    Ok(text.lines().filter_map(entry).collect())
}

/// `key last database table database table …`
fn entry(line: &str) -> Option<(Key, Missing)> {
    let mut parts = line.split(SEPARATOR);
    let key = u128::from_str_radix(parts.next()?, 16).ok()?.to_be_bytes();
    let last = parts.next()?.parse().ok()?;
    let mut tables = Vec::new();
    while let (Some(database), Some(table)) = (parts.next(), parts.next()) {
        tables.push((database.to_owned(), table.to_owned()));
    }
    Some((key, Missing { tables, last }))
}

fn save(file: &Path, fresh: &[(Key, Missing)]) -> io::Result<()> {
    let mut text = String::new();
    for (key, missing) in fresh {
        let _ = write!(text, "{:032x}{SEPARATOR}{}", u128::from_be_bytes(*key), missing.last);
        for (database, table) in &missing.tables {
            let _ = write!(text, "{SEPARATOR}{}{SEPARATOR}{}", database.replace('\n', " "), table.replace('\n', " "));
        }
        text.push('\n');
    }
    fs::OpenOptions::new().create(true).append(true).open(file)?.write_all(text.as_bytes())
}
