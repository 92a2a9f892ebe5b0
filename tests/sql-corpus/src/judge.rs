//! The servers that say what belongs to their grammar.
//!
//! A statement belongs to it unless the server answers COM_STMT_PREPARE of it with a syntax error; nothing of the corpus is
//! ever run. Verdicts are kept on disk by server version, so that servers are asked once only.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use weir_local::{Flavor, Installation, Server, ServerSpec};
use weir_sql::Dialect;

use crate::client::Client;
use crate::corpus::{Key, Statement};
use crate::setting::Setting;

/// The server was lost while it read the statement.
pub(crate) const LOST: u16 = u16::MAX;
/// Errors that say that the text is not a statement: a parse error, the same without a place, an empty statement.
const SYNTAX_ERRORS: [u16; 3] = [1064, 1149, 1065];
const SAVED_EVERY: usize = 20_000;
const AT_ONCE: usize = 512;

/// A kind of server, and the server when it is needed.
pub(crate) struct Judge {
    pub(crate) dialect: Dialect,
    installation: Installation,
    folder: PathBuf,
    server: Option<Server>,
    bars: MultiProgress,
}

impl Judge {
    /// The installed server of this kind. Its directory will be in `folder`.
    pub(crate) fn of(flavor: Flavor, folder: &Path, bars: MultiProgress) -> io::Result<Self> {
        let installation = Installation::find(flavor, None).map_err(io::Error::other)?;
        let dialect = match flavor {
            Flavor::MySql => Dialect::MySql,
            Flavor::MariaDb => Dialect::MariaDb,
        };
        Ok(Self { dialect, installation, folder: folder.into(), server: None, bars })
    }

    /// `MySQL 9.7.1`.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.installation.flavor(), self.installation.version())
    }

    /// Where what it said about a matter is kept.
    pub(crate) fn cache_file(&self, cache: &Path, matter: &str) -> PathBuf {
        cache.join(format!("{matter}-{}-{}", self.installation.flavor(), self.installation.version()))
    }

    /// Its error numbers for the statements, in their order; 0 where it had no objection.
    pub(crate) fn verdicts(&mut self, statements: &[Statement], cache: &Path) -> io::Result<Vec<u16>> {
        let file = self.cache_file(cache, "verdicts");
        let mut known = load(&file)?;
        let keys: Vec<Key> = statements.iter().map(Statement::key).collect();
        let open: Vec<usize> = (0..statements.len()).filter(|at| !known.contains_key(&keys[*at])).collect();
        if !open.is_empty() {
            let bar = self.progress(open.len(), &format!("asking {}", self.name()));
            let mut asker = Asker { judge: self, client: None, setting: None };
            for part in open.chunks(SAVED_EVERY) {
                let mut fresh = Vec::with_capacity(part.len());
                for some in part.chunks(AT_ONCE) {
                    for (at, code) in asker.ask(statements, some)? {
                        known.insert(keys[at], code);
                        fresh.push((keys[at], code));
                    }
                    bar.inc(some.len() as u64);
                }
                save(&file, &fresh)?;
            }
            bar.finish_and_clear();
        }
        Ok(keys.iter().map(|key| known[key]).collect())
    }

    /// A bar with a message before it, among those of other servers.
    pub(crate) fn progress(&self, length: usize, message: &str) -> ProgressBar {
        let bar = self.bars.add(ProgressBar::new(length as u64));
        if let Ok(style) = ProgressStyle::with_template("{msg:32} {wide_bar} {human_pos}/{human_len} {eta}") {
            bar.set_style(style);
        }
        bar.with_message(message.to_owned())
    }

    /// A connection to the running server, whose default database is empty. The server is started if need be.
    pub(crate) fn connect(&mut self) -> io::Result<Client> {
        if !self.server.as_ref().is_some_and(Server::is_running) {
            self.server = None;
            let mut spec = ServerSpec::new(&format!("judge-{}", self.installation.flavor()).to_ascii_lowercase());
            spec.die_with_parent = true;
            spec.options = vec!["max_allowed_packet=64M".to_owned(), "lower_case_table_names=0".to_owned()];
            spec.options.extend(["innodb-flush-log-at-trx-commit=0", "skip-log-bin"].map(str::to_owned));
            if self.dialect == Dialect::MySql {
                spec.options.push("performance-schema=OFF".to_owned());
            }
            self.server = Some(Server::start(&self.installation, &self.folder, &spec).map_err(io::Error::other)?);
        }
        let Some(server) = &self.server else { return Err(io::Error::other("no server")) };
        let mut client = Client::connect(server.socket())?;
        let prepared = [&b"CREATE DATABASE IF NOT EXISTS test"[..], b"SET lock_wait_timeout = 5"];
        for statement in prepared {
            client.execute(statement)?.map_err(|refusal| io::Error::other(refusal.to_string()))?;
        }
        let _ = client.use_database("test")?;
        Ok(client)
    }
}

/// Whether a server's answer says that it could read the statement.
pub(crate) fn is_in_the_grammar(code: u16) -> bool {
    !SYNTAX_ERRORS.contains(&code) && code != LOST
}

/// Has a client read statements as they are meant to be read. False if the server does not have the setting.
pub(crate) fn apply(client: &mut Client, setting: Setting) -> io::Result<bool> {
    let mut all = true;
    for statement in setting.statements() {
        all &= client.execute(statement.as_bytes())?.is_ok();
    }
    Ok(all)
}

struct Asker<'a> {
    judge: &'a mut Judge,
    client: Option<Client>,
    setting: Option<Setting>,
}

impl Asker<'_> {
    /// The verdicts of these statements.
    fn ask(&mut self, statements: &[Statement], which: &[usize]) -> io::Result<Vec<(usize, u16)>> {
        let mut verdicts = Vec::with_capacity(which.len());
        let mut alone = false;
        while verdicts.len() < which.len() {
            let rest = &which[verdicts.len()..];
            let setting = statements[rest[0]].setting;
            let alike = rest.iter().take_while(|at| statements[**at].setting == setting);
            let some = &rest[..if alone { 1 } else { alike.count() }];
            let before = verdicts.len();
            let client = match &mut self.client {
                Some(client) => client,
                none => none.insert(self.judge.connect()?),
            };
            if self.setting != Some(setting) {
                apply(client, setting)?;
                self.setting = Some(setting);
            }
            let texts: Vec<&[u8]> = some.iter().map(|at| &statements[*at].text[..]).collect();
            let asked = client.prepare_all(&texts, |at, refusal| {
                verdicts.push((some[at], refusal.map_or(0, |refusal| refusal.code)));
            });
            if let Err(error) = asked {
                // A statement that loses the server twice, the second time alone, is to blame.
                if alone && verdicts.len() == before {
                    let text = String::from_utf8_lossy(&statements[some[0]].text).into_owned();
                    eprintln!("{} was lost ({error}) while it read: {text}", self.judge.name());
                    verdicts.push((some[0], LOST));
                }
                (self.client, self.setting) = (None, None);
                alone = true;
            }
        }
        Ok(verdicts)
    }
}

const ENTRY: usize = 18;

fn load(file: &Path) -> io::Result<HashMap<Key, u16>> {
    let bytes = match fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    let (entries, _) = bytes.as_chunks::<ENTRY>();
    let entry = |entry: &[u8; ENTRY]| {
        let mut key = [0; 16];
        key.copy_from_slice(&entry[..16]);
        (key, u16::from_le_bytes([entry[16], entry[17]]))
    };
    Ok(entries.iter().map(entry).collect())
}

fn save(file: &Path, fresh: &[(Key, u16)]) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut bytes = Vec::with_capacity(fresh.len() * ENTRY);
    for (key, code) in fresh {
        bytes.extend(key);
        bytes.extend(code.to_le_bytes());
    }
    fs::OpenOptions::new().create(true).append(true).open(file)?.write_all(&bytes)
}
