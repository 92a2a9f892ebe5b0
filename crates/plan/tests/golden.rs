//! Plans as golden files: each statement of `tests/golden/*.txt` is planned over the catalog of `tests/golden/catalog`, and the plan must
//! be the one that is written below it. `WEIR_BLESS=1` writes what there is now; read the difference before it is committed.
//!
//! `tests/refusals.txt` lists all refusals among them by what they would take; it is blessed with them.
//!
//! A file is: `# a remark`; `@ a setting` for the statement that follows; a statement; its plan, indented.

mod catalog;
mod settings;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use settings::{Settings, files};
use weir_catalog::{Catalog, Weights};
use weir_plan::{Need, Refusal, explain, plan};
use weir_sql::{Bump, parse};

/// Refusals by what they would take, as the client is told of them.
type Refusals = BTreeMap<Need, BTreeSet<String>>;

fn planned(text: &str, catalog: &Catalog, settings: &Settings, refusals: &mut Refusals) -> String {
    let session = settings.session();
    let arena = Bump::new();
    let parsed = parse(&arena, text.as_bytes(), session.mode).unwrap_or_else(|error| panic!("{text}: {error}"));
    let [statement] = parsed.statements else { panic!("{text}: {} statements", parsed.statements.len()) };
    let mut shown = String::new();
    let refusal = match plan(text.as_bytes(), statement, catalog, &Weights::default(), &session) {
        Ok(plan) => {
            for (what, how) in explain::rows(&plan, catalog) {
                writeln!(shown, "  {what}: {how}").expect("a String takes it");
            }
            return shown;
        }
        Err(refusal) => refusal,
    };
    let need = refusal.need();
    let told = match refusal {
        Refusal::NeedsWorkbench(reason) => {
            writeln!(shown, "  workbench: {reason}").expect("a String takes it");
            reason
        }
        refusal => match refusal.into_failure() {
            Ok(failure) => {
                writeln!(shown, "  refused: {failure}").expect("a String takes it");
                failure.message.clone()
            }
            Err((collation, characters)) => {
                writeln!(shown, "  weights: {collation} {characters:?}").expect("a String takes it");
                String::new()
            }
        },
    };
    if let Some(need) = need {
        refusals.entry(need).or_default().insert(told);
    }
    shown
}

fn listed(refusals: &Refusals) -> String {
    let mut list = "# What is refused in the golden files, by what it would take.\n".to_owned();
    for (need, told) in refusals {
        writeln!(list, "\n{}:", need.name()).expect("a String takes it");
        told.iter().for_each(|told| writeln!(list, "  {told}").expect("a String takes it"));
    }
    list
}

/// The file with the plans that there are now.
fn renewed(file: &str, catalog: &Catalog, refusals: &mut Refusals) -> String {
    let mut out = String::new();
    let mut settings = Settings::default();
    let mut statement = String::new();
    for line in file.lines().chain([""]) {
        let ends = line.is_empty() || line.starts_with(['#', '@', ' ']);
        if ends && !statement.is_empty() {
            out.push_str(&planned(statement.trim_end(), catalog, &settings, refusals));
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

#[test]
fn plans_are_as_written() {
    let catalog = catalog::catalog();
    let bless = std::env::var_os("WEIR_BLESS").is_some();
    let mut wrong = String::new();
    let mut refusals = Refusals::new();
    let mut files: Vec<(PathBuf, String)> = files()
        .into_iter()
        .map(|path| {
            let file = std::fs::read_to_string(&path).expect("a golden file can be read");
            let now = renewed(&file, &catalog, &mut refusals);
            (path, now)
        })
        .collect();
    files.push((Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/refusals.txt"), listed(&refusals)));
    for (path, now) in files {
        if bless {
            std::fs::write(&path, &now).expect("a golden file can be written");
            continue;
        }
        let file = std::fs::read_to_string(&path).expect("a golden file can be read");
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
