//! Collation weights of characters, learnt from the servers.
//!
//! What must always hold: texts that are equal in a collation have the same encoding here. This requires that the collation has passed the
//! check of `collation`: the weight of a text is then that of its characters in sequence. Collations that compare code points need no
//! learning. Snapshots are immutable: learning more makes a new one, in which known weights stay the same.

use std::collections::HashMap;
use std::sync::Arc;

/// The weights that are known. Cheap to clone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Weights {
    learnt: Arc<HashMap<String, Arc<CollationWeights>>>,
}

/// What is known of one collation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollationWeights {
    /// Trailing spaces don't count.
    pub pad: bool,
    /// The weight of a space.
    pub space: Vec<u8>,
    /// The weights of characters. That of characters that don't count is empty.
    pub of: HashMap<char, Box<[u8]>>,
}

/// A collation that compares code points.
fn code_points(collation: &str) -> Option<bool> {
    match collation {
        "utf8mb4_0900_bin" => Some(false),
        _ if collation.ends_with("_nopad_bin") => Some(false),
        _ if collation.ends_with("_bin") => Some(true),
        _ => None,
    }
}

/// Whether its weights need not be learnt.
pub(crate) fn is_built_in(collation: &str) -> bool {
    code_points(collation).is_some()
}

impl Weights {
    /// What is known of a collation.
    pub fn of(&self, collation: &str) -> Option<&CollationWeights> {
        self.learnt.get(collation).map(|learnt| &**learnt)
    }

    /// With what was learnt in addition. `pad` and `space` of a collation that is known already stay.
    pub fn with(&self, collation: &str, more: CollationWeights) -> Weights {
        let mut all = HashMap::clone(&self.learnt);
        let joined = match all.get(collation) {
            None => more,
            Some(known) => {
                let mut joined = CollationWeights::clone(known);
                for (char, weight) in more.of {
                    joined.of.entry(char).or_insert(weight);
                }
                joined
            }
        };
        all.insert(collation.to_owned(), Arc::new(joined));
        Weights { learnt: Arc::new(all) }
    }

    /// Appends a text's weights, without those of trailing spaces where they don't count: where the collation pads, and if `trim` says so.
    /// (Other characters may weigh the same as a space: they don't count there either.) `Err`: the characters whose weights aren't known.
    pub(crate) fn encode(&self, collation: &str, text: &str, trim: bool, out: &mut Vec<u8>) -> Result<(), Vec<char>> {
        if let Some(pad) = code_points(collation) {
            let text = if pad || trim { text.trim_end_matches(' ') } else { text };
            out.extend_from_slice(text.as_bytes());
            return Ok(());
        }
        let Some(learnt) = self.learnt.get(collation) else {
            return Err(distinct(text.chars()));
        };
        let start = out.len();
        for char in text.chars() {
            match learnt.of.get(&char) {
                Some(weight) => out.extend_from_slice(weight),
                None => return Err(distinct(text.chars().filter(|char| !learnt.of.contains_key(char)))),
            }
        }
        if (learnt.pad || trim) && !learnt.space.is_empty() {
            while out[start..].ends_with(&learnt.space) {
                out.truncate(out.len() - learnt.space.len());
            }
        }
        Ok(())
    }
}

fn distinct(chars: impl Iterator<Item = char>) -> Vec<char> {
    let mut all: Vec<char> = chars.collect();
    all.sort_unstable();
    all.dedup();
    all
}
