//! Plans as golden files: each statement of `tests/golden/*.txt` is planned over the catalog of `tests/golden/catalog`, and the plan must
//! be the one that is written below it. `WEIR_BLESS=1` writes what there is now; read the difference before it is committed.
//!
//! A file is: `# a remark`; `@ a setting` for the statement that follows; a statement; its plan, indented.

mod catalog;
mod settings;

use std::fmt::Write as _;

use settings::{Settings, files};
use weir_catalog::{Catalog, Weights};
use weir_plan::{Refusal, explain, plan};
use weir_sql::{Bump, parse};

fn planned(text: &str, catalog: &Catalog, settings: &Settings) -> String {
    let session = settings.session();
    let arena = Bump::new();
    let parsed = parse(&arena, text.as_bytes(), session.mode).unwrap_or_else(|error| panic!("{text}: {error}"));
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
