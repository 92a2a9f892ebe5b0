//! Plans as golden files: each statement of `tests/golden/*.txt` is planned over the catalog of `tests/golden/catalog`, and the plan must
//! be the one that is written below it. `WEIR_BLESS=1` writes what there is now; read the difference before it is committed.
//!
//! A file is: `# a remark`; `@ a setting` for the statement that follows; a statement; its plan, indented.

mod catalog;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use weir_catalog::{Catalog, Constant, ShardId, Weights};
use weir_plan::{Refusal, SessionFacts, explain, plan};
use weir_sql::{Bump, Dialect, LexMode, parse};

/// What the settings of a case say.
#[derive(Default)]
struct Settings {
    parameters: Option<Vec<Constant>>,
    transaction: bool,
    home: u16,
    hinted: Option<u16>,
    mariadb: bool,
    sql_mode: String,
}

impl Settings {
    fn set(&mut self, line: &str) {
        let (name, value) = line.split_once(' ').unwrap_or((line, ""));
        match name {
            "parameters" => self.parameters = Some(value.split(", ").map(constant).collect()),
            "transaction" => self.transaction = true,
            "home" => self.home = value.parse().expect("a shard's place"),
            "hinted" => self.hinted = Some(value.parse().expect("a shard's place")),
            "mariadb" => self.mariadb = true,
            "sql_mode" => self.sql_mode = value.to_owned(),
            _ => panic!("no such setting: {line}"),
        }
    }
}

fn constant(text: &str) -> Constant {
    match text.strip_prefix('\'') {
        Some(text) => Constant::Text {
            bytes: text.trim_end_matches('\'').as_bytes().to_vec(),
            collation: "utf8mb4_general_ci".to_owned(),
            explicit: false,
        },
        None if text == "NULL" => Constant::Null,
        None => Constant::Integer(text.parse().expect("an integer")),
    }
}

fn planned(text: &str, catalog: &Catalog, settings: &Settings) -> String {
    let dialect = if settings.mariadb { Dialect::MariaDb } else { Dialect::MySql };
    let mode = LexMode { dialect, ..LexMode::from_sql_mode(&settings.sql_mode) };
    let session = SessionFacts {
        database: Some(b"app"),
        mode,
        sql_mode: &settings.sql_mode,
        charset: "utf8mb4",
        collation: "utf8mb4_general_ci",
        default_collation: &|charset| Some(format!("{charset}_general_ci")),
        parameters: settings.parameters.as_deref(),
        variable: &|name| (name == b"five").then_some(Constant::Integer(5)),
        in_transaction: settings.transaction,
        mariadb: settings.mariadb,
        home: ShardId(settings.home),
        hinted: settings.hinted.map(ShardId),
    };
    let arena = Bump::new();
    let parsed = parse(&arena, text.as_bytes(), mode).unwrap_or_else(|error| panic!("{text}: {error}"));
    let [statement] = parsed.statements else { panic!("{text}: {} statements", parsed.statements.len()) };
    let mut shown = String::new();
    match plan(text.as_bytes(), statement, catalog, &Weights::default(), &session) {
        Ok(plan) => {
            for (what, how) in explain::rows(&plan, catalog) {
                writeln!(shown, "  {what}: {how}").expect("a String takes it");
            }
        }
        Err(Refusal::Failure(failure)) => writeln!(shown, "  refused: {failure}").expect("a String takes it"),
        Err(Refusal::NeedsWorkbench(reason)) => writeln!(shown, "  workbench: {reason}").expect("a String takes it"),
        Err(Refusal::NeedsWeights(collation, characters)) => {
            writeln!(shown, "  weights: {collation} {characters:?}").expect("a String takes it");
        }
    }
    shown
}

/// The file with the plans that there are now.
fn renewed(file: &str, catalog: &Catalog) -> String {
    let mut out = String::new();
    let mut settings = Settings::default();
    let mut statement = String::new();
    for line in file.lines().chain([""]) {
        let ends = line.is_empty() || line.starts_with(['#', '@', ' ']);
        if ends && !statement.is_empty() {
            out.push_str(&planned(statement.trim_end(), catalog, &settings));
            settings = Settings::default();
            statement.clear();
        }
        if line.starts_with(' ') {
            continue;
        }
        if let Some(setting) = line.strip_prefix("@ ") {
            settings.set(setting);
        } else if !ends {
            statement.push_str(line);
            statement.push('\n');
        }
        out.push_str(line);
        out.push('\n');
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be read").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "txt"));
    files.sort();
    files
}

#[test]
fn plans_are_as_written() {
    let catalog = catalog::catalog();
    let bless = std::env::var_os("WEIR_BLESS").is_some();
    let mut wrong = String::new();
    for path in files() {
        let file = std::fs::read_to_string(&path).expect("a golden file can be read");
        let now = renewed(&file, &catalog);
        if bless {
            std::fs::write(&path, &now).expect("a golden file can be written");
            continue;
        }
        for (line, (written, planned)) in file.lines().zip(now.lines()).enumerate() {
            if written != planned {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                writeln!(wrong, "{name}:{}:\n  written {written}\n  planned {planned}", line + 1).expect("a String");
                break;
            }
        }
        if file.lines().count() != now.lines().count() && wrong.is_empty() {
            writeln!(wrong, "{}: other lines", path.display()).expect("a String takes it");
        }
    }
    assert!(wrong.is_empty(), "plans differ from the golden files (WEIR_BLESS=1 writes them anew):\n{wrong}");
}
