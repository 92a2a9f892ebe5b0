//! Outcomes of a check, counted by kind, with a few examples of those that should not be.

use std::collections::BTreeMap;

/// Longer texts are cut when shown.
const SHOWN: usize = 500;

/// See the module.
pub(crate) struct Report {
    title: String,
    show: usize,
    good: BTreeMap<String, usize>,
    bad: BTreeMap<String, (usize, Vec<String>)>,
}

impl Report {
    /// An empty one, that will show so many examples of each kind.
    pub(crate) fn new(title: String, show: usize) -> Self {
        Self { title, show, good: BTreeMap::new(), bad: BTreeMap::new() }
    }

    /// Something that is as it should be, or whose reason is known.
    pub(crate) fn good(&mut self, kind: &str) {
        *self.good.entry(kind.to_owned()).or_default() += 1;
    }

    /// Something that should not be.
    pub(crate) fn bad(&mut self, kind: &str, example: impl FnOnce() -> String) {
        let (count, examples) = self.bad.entry(kind.to_owned()).or_default();
        *count += 1;
        if examples.len() < self.show {
            examples.push(example());
        }
    }

    /// Writes it. True: there is nothing that should not be.
    pub(crate) fn end(self, out: &mut String) -> bool {
        out.push_str(&format!("\n{}\n", self.title));
        for (kind, count) in &self.good {
            out.push_str(&format!("{count:>9}  {kind}\n"));
        }
        for (kind, (count, examples)) in &self.bad {
            out.push_str(&format!("{count:>9}  WRONG: {kind}\n"));
            examples.iter().for_each(|example| out.push_str(&format!("           {example}\n")));
        }
        self.bad.is_empty()
    }
}

/// A statement on one line, for people.
pub(crate) fn shown(sql: &[u8]) -> String {
    let text = String::from_utf8_lossy(sql).split_whitespace().collect::<Vec<_>>().join(" ");
    text.chars().take(SHOWN).collect()
}
