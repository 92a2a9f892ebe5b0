//! Cases: files of statements, in groups with a title.
//!
//! A file is read line by line. `# …` is a comment, `## …` begins a case of that title. A case has a database of its own, named `d`,
//! empty at its beginning. A statement ends with `;` at the end of a line. Lines `-- …` before a statement say something about it:
//!
//! * `-- refused: words`: Weir over several shards refuses it with 1235 and a message that has these words;
//! * `-- any order`: its ORDER BY does not say the order of all rows;
//! * `-- params: a, b`: it is a prepared statement with these parameters (literals of the mysql shell), in the text pass they are put in;
//! * `-- mysql`, `-- mariadb`: for this kind of server only;
//! * `-- text`, `-- binary`: in this protocol only;
//! * `-- session: n`: by this session of the case (0 if not said);
//! * `-- weir`: not for the plain server, only for Weir: any answer that is no error will do;
//! * `-- no warnings`: what it warns of is not compared;
//! * `-- other columns`: of its columns only names and types are compared: the server takes the rest from a temporary table.
//! * `-- other types`: of its columns only names are compared.
//! * `-- gathered`: its rows are gathered on a workbench. What columns say of defaults and AUTO_INCREMENT is not compared, which one server
//!   leaves out when it makes a temporary table on the way. In a case whose title ends with ` [gathered]`, that holds for all statements.
//!
//! The name of a file of LOAD DATA LOCAL is what is in it.
//! `{s2}` in a statement is the name of the second shard, or of one that is there. A case can be multiplied: behind its title, `-- each a; b`
//! names words, and each line `-- = x; y` that follows gives them values. For each of these lines the case is there once, with the values in
//! place of `{a}` and `{b}`.

use std::path::Path;

use weir_local::Flavor;

use crate::Error;

/// A case.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) file: String,
    pub(crate) title: String,
    pub(crate) steps: Vec<Step>,
}

/// A statement of a case.
#[derive(Debug, Clone, Default)]
pub(crate) struct Step {
    pub(crate) line: usize,
    pub(crate) text: String,
    pub(crate) refused: Option<String>,
    pub(crate) any_order: bool,
    pub(crate) params: Option<Vec<String>>,
    pub(crate) flavor: Option<Flavor>,
    pub(crate) binary: Option<bool>,
    pub(crate) session: usize,
    pub(crate) weir_only: bool,
    pub(crate) no_warnings: bool,
    pub(crate) other_columns: bool,
    pub(crate) other_types: bool,
    pub(crate) gathered: bool,
}

/// The cases of a folder's files, in order of their names.
pub(crate) fn load(folder: &Path, filter: &str) -> Result<Vec<Case>, Error> {
    let mut files: Vec<_> = std::fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    files.sort_by_key(std::fs::DirEntry::file_name);
    let mut cases = Vec::new();
    for file in files {
        let name = file.file_name().to_string_lossy().into_owned();
        if name.ends_with(".sql") {
            cases.extend(parse(&name, &std::fs::read_to_string(file.path())?)?);
        }
    }
    cases.retain(|case| case.file.contains(filter) || case.title.contains(filter));
    Ok(cases)
}

fn parse(file: &str, text: &str) -> Result<Vec<Case>, Error> {
    let mut cases: Vec<Case> = Vec::new();
    let mut step = Step::default();
    let mut matrix = Matrix::default();
    for (index, line) in text.lines().enumerate() {
        let at = || format!("{file}:{}", index + 1);
        if step.text.is_empty() {
            if let Some(title) = line.strip_prefix("## ") {
                matrix.multiply(&mut cases);
                cases.push(Case { file: file.to_owned(), title: title.to_owned(), steps: Vec::new() });
                step = Step::default();
                continue;
            }
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            if matrix.read(line).map_err(|error| format!("{}: {error}", at()))? {
                continue;
            }
            if let Some(said) = line.strip_prefix("-- ") {
                say(&mut step, said.trim()).map_err(|error| format!("{}: {error}", at()))?;
                continue;
            }
            step.line = index + 1;
        } else {
            step.text.push('\n');
        }
        step.text.push_str(line);
        if let Some(whole) = step.text.strip_suffix(';') {
            step.text = whole.to_owned();
            let case = cases.last_mut().ok_or_else(|| format!("{}: a statement before the first title", at()))?;
            step.gathered |= case.title.ends_with(" [gathered]");
            case.steps.push(std::mem::take(&mut step));
        }
    }
    matrix.multiply(&mut cases);
    if step.text.is_empty() { Ok(cases) } else { Err(format!("{file}:{}: it does not end", step.line).into()) }
}

/// What the case that is being read is multiplied by.
#[derive(Default)]
struct Matrix {
    words: Vec<String>,
    lines: Vec<Vec<String>>,
}

impl Matrix {
    /// Whether the line was one of it.
    fn read(&mut self, line: &str) -> Result<bool, String> {
        let split = |list: &str| list.split(';').map(|word| word.trim().to_owned()).collect::<Vec<_>>();
        if let Some(words) = line.strip_prefix("-- each ") {
            self.words = split(words);
        } else if let Some(values) = line.strip_prefix("-- = ") {
            let values = split(values);
            if values.len() != self.words.len() {
                return Err(format!("{} values for {} words", values.len(), self.words.len()));
            }
            self.lines.push(values);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Puts a case for each line in the place of the last one.
    fn multiply(&mut self, cases: &mut Vec<Case>) {
        let Matrix { words, lines } = std::mem::take(self);
        if lines.is_empty() {
            return;
        }
        let Some(model) = cases.pop() else { return };
        for values in lines {
            let fill = |text: &str| {
                let pairs = words.iter().zip(&values);
                pairs.fold(text.to_owned(), |text, (word, value)| text.replace(&format!("{{{word}}}"), value))
            };
            let steps = model.steps.iter().map(|step| Step {
                text: fill(&step.text),
                params: step.params.as_ref().map(|params| params.iter().map(|param| fill(param)).collect()),
                ..step.clone()
            });
            let title = format!("{} [{}]", model.title, values.join("; "));
            cases.push(Case { file: model.file.clone(), title, steps: steps.collect() });
        }
    }
}

fn say(step: &mut Step, said: &str) -> Result<(), String> {
    match said.split_once(':').map_or((said, ""), |(word, rest)| (word.trim(), rest.trim())) {
        ("refused", words) => step.refused = Some(words.to_owned()),
        ("any order", _) => step.any_order = true,
        ("params", list) => step.params = Some(split_params(list)),
        ("mysql", _) => step.flavor = Some(Flavor::MySql),
        ("mariadb", _) => step.flavor = Some(Flavor::MariaDb),
        ("text", _) => step.binary = Some(false),
        ("binary", _) => step.binary = Some(true),
        ("session", number) => step.session = number.parse().map_err(|_| format!("no number: {number}"))?,
        ("weir", _) => step.weir_only = true,
        ("no warnings", _) => step.no_warnings = true,
        ("gathered", _) => step.gathered = true,
        ("other columns", _) => step.other_columns = true,
        ("other types", _) => (step.other_columns, step.other_types) = (true, true),
        (other, _) => return Err(format!("unknown word '{other}'")),
    }
    Ok(())
}

/// Literals between commas; no commas in strings but between quotes.
fn split_params(list: &str) -> Vec<String> {
    let (mut params, mut quoted) = (vec![String::new()], false);
    for c in list.chars() {
        match c {
            ',' if !quoted => params.push(String::new()),
            _ => {
                quoted ^= c == '\'';
                if let Some(last) = params.last_mut() {
                    last.push(c);
                }
            }
        }
    }
    params.iter().map(|param| param.trim().to_owned()).collect()
}

impl Step {
    /// The statement with its parameters put in.
    pub(crate) fn whole_text(&self) -> String {
        let Some(params) = &self.params else { return self.text.clone() };
        let mut params = params.iter();
        let mut whole = String::new();
        for c in self.text.chars() {
            match c {
                '?' => whole.push_str(params.next().map_or("?", String::as_str)),
                _ => whole.push(c),
            }
        }
        whole
    }

    /// Whether it says in which order its rows come.
    pub(crate) fn is_ordered(&self) -> bool {
        !self.any_order && self.text.to_ascii_uppercase().contains("ORDER BY")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read() {
        let text =
            "# c\n## first\nSELECT 1;\n-- refused: no way\n-- params: 1, 'a,b'\nSELECT\n ?, ?;\n## second\nDO 1;\n";
        let cases = parse("f.sql", text).expect("cases");
        assert_eq!(cases.iter().map(|case| &case.title[..]).collect::<Vec<_>>(), ["first", "second"]);
        let step = &cases[0].steps[1];
        assert_eq!(step.refused.as_deref(), Some("no way"));
        assert_eq!(step.whole_text(), "SELECT\n 1, 'a,b'");
        let text =
            "## all\n-- each t; v\n-- = INT; 1\n-- = DATE; '2024-01-01'\n-- params: {v}\nSELECT {t}, ?;\n## one\nDO 1;";
        let cases = parse("f.sql", text).expect("cases");
        assert_eq!(
            cases.iter().map(|case| &case.title[..]).collect::<Vec<_>>(),
            ["all [INT; 1]", "all [DATE; '2024-01-01']", "one"]
        );
        assert_eq!(cases[1].steps[0].whole_text(), "SELECT DATE, '2024-01-01'");
        assert!(parse("f.sql", "## a\n-- each x; y\n-- = 1\nDO 1;").is_err());
        assert!(parse("f.sql", "## a\nSELECT 1").is_err());
        assert!(parse("f.sql", "## a\n-- nonsense\nSELECT 1;").is_err());
    }
}
