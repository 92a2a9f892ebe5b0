//! Stores a version of a document as its changes against the version before, so that the entry of a small change is small.
//!
//! What must always hold: reading returns the text that was stored, or an error: each entry has the checksum of the whole text that it
//! results in. Each entry builds on the one before, back to an entry with the whole text (the *base*). Once the changes are larger than
//! their base, a new base is written, so that the size of the store is bounded by that of the document.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::document::{Document, DocumentError, FORMAT};

/// The most changes behind a base.
const MOST: u64 = 4096;
/// Changes may be this many times as large as their base, and so much larger.
const TIMES: usize = 4;
/// Beyond [`TIMES`]: so that a small document is not written whole all the time.
const ROOM: usize = 256 << 10;

/// A change of the version before.
#[derive(Debug, Serialize, Deserialize)]
struct Change {
    format: u32,
    /// The version that is whole, which all begins with.
    base: u64,
    /// Of the text that it leads to.
    sum: u64,
    edits: Arc<[Edit]>,
}

/// One difference. A path is made of keys and places.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Edit {
    /// This is there now.
    #[serde(rename = "set")]
    Set(Vec<Value>, Value),
    /// Nothing is there any more.
    #[serde(rename = "cut")]
    Cut(Vec<Value>),
    /// In a list, from this place on, so many are these now.
    #[serde(rename = "put")]
    Put(Vec<Value>, usize, usize, Vec<Value>),
}

/// Where a row of entries has got to.
#[derive(Debug, Clone)]
pub struct Chain {
    version: u64,
    base: u64,
    count: u64,
    whole: usize,
    changes: usize,
    text: Arc<str>,
}

impl Chain {
    /// A row that begins with a whole document.
    pub fn begin(document: &Document) -> Chain {
        let Document { version, ref text, .. } = *document;
        Chain { version, base: version, count: 0, whole: text.len(), changes: 0, text: text.clone() }
    }

    /// The version that it has got to.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The version that it begins with.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// The entry of the next version, and the row with it. `None`: it is to be written whole.
    pub fn next(&self, document: &Document) -> Option<(String, Chain)> {
        if self.count >= MOST {
            return None;
        }
        let step = document.step.as_ref().filter(|step| step.before == self.text);
        let (edits, sum) = match step {
            Some(step) => (step.edits.clone(), step.sum),
            None => (edits(&self.text, &document.text)?.into(), checksum(&document.text)),
        };
        let change = Change { format: FORMAT, base: self.base, sum, edits };
        let entry = serde_json::to_string(&change).ok()?;
        let changes = self.changes + entry.len();
        if entry.len() >= document.text.len() || changes > TIMES * self.whole + ROOM {
            return None;
        }
        let Chain { base, count, whole, .. } = *self;
        let chain =
            Chain { version: document.version, base, count: count + 1, whole, changes, text: document.text.clone() };
        Some((entry, chain))
    }

    /// The document of the last of these entries, which are in order and begin with a whole one.
    ///
    /// # Errors
    /// When they don't fit together.
    pub fn read(entries: impl IntoIterator<Item = (u64, String)>) -> Result<(Document, Chain), DocumentError> {
        let mut entries = entries.into_iter();
        let (version, text) = entries.next().ok_or(DocumentError::Broken(0))?;
        let document = Document::new(version, text);
        let mut chain = Chain::begin(&document);
        let (mut value, mut sum) = (Value::Null, None);
        for (version, entry) in entries {
            if sum.is_none() {
                value = serde_json::from_str(&document.text)?;
            }
            let change: Change = serde_json::from_str(&entry)?;
            if change.format > FORMAT {
                return Err(DocumentError::Newer(change.format));
            }
            if change.base != chain.base {
                return Err(DocumentError::Broken(version));
            }
            for edit in change.edits.iter().cloned() {
                apply(&mut value, edit).ok_or(DocumentError::Broken(version))?;
            }
            chain.version = version;
            chain.count += 1;
            chain.changes += entry.len();
            sum = Some(change.sum);
        }
        let Some(sum) = sum else { return Ok((document, chain)) };
        // Keys that came later stand at the end, if the library keeps their order.
        value.sort_all_objects();
        let document = Document::new(chain.version, value.to_string());
        if checksum(&document.text) != sum {
            return Err(DocumentError::Broken(document.version));
        }
        chain.text = document.text.clone();
        Ok((document, chain))
    }
}

/// The version that an entry builds on at the last; `None` if it is whole.
pub fn base(entry: &str) -> Option<u64> {
    #[derive(Deserialize)]
    struct Head {
        base: u64,
    }
    // The beginning of an entry tells whether it is a whole document.
    let starts = entry.starts_with("{\"format\":") && !entry.get(..64).unwrap_or(entry).contains("\"catalog\"");
    starts.then(|| serde_json::from_str::<Head>(entry).ok()).flatten().map(|head| head.base)
}

/// FNV-1a, 64 bits: detects corruption, not tampering.
pub fn checksum(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// What makes a text of another one. `None`: it is no JSON, or not in the form in which it would be read back.
fn edits(old: &str, new: &str) -> Option<Vec<Edit>> {
    let (old, mut value): (Value, Value) = (serde_json::from_str(old).ok()?, serde_json::from_str(new).ok()?);
    value.sort_all_objects();
    let written = value.to_string();
    if written != new {
        return None;
    }
    let mut edits = Vec::new();
    differ(&old, &value, &mut Vec::new(), &mut edits);
    Some(edits)
}

/// What makes `new` of `old`.
pub(crate) fn differ(old: &Value, new: &Value, path: &mut Vec<Value>, edits: &mut Vec<Edit>) {
    match (old, new) {
        _ if old == new => {}
        (Value::Object(before), Value::Object(after)) => {
            for key in before.keys().filter(|key| !after.contains_key(*key)) {
                path.push(Value::from(key.as_str()));
                edits.push(Edit::Cut(path.clone()));
                path.pop();
            }
            for (key, value) in after {
                path.push(Value::from(key.as_str()));
                match before.get(key) {
                    Some(known) => differ(known, value, path, edits),
                    None => edits.push(Edit::Set(path.clone(), value.clone())),
                }
                path.pop();
            }
        }
        (Value::Array(before), Value::Array(after)) => lists(before, after, path, edits),
        _ => edits.push(Edit::Set(path.clone(), new.clone())),
    }
}

fn lists(old: &[Value], new: &[Value], path: &mut Vec<Value>, edits: &mut Vec<Edit>) {
    let least = old.len().min(new.len());
    let start = (0..least).take_while(|at| old[*at] == new[*at]).count();
    let end = (0..least - start).take_while(|at| old[old.len() - 1 - at] == new[new.len() - 1 - at]).count();
    let (gone, come) = (&old[start..old.len() - end], &new[start..new.len() - end]);
    match (gone, come) {
        ([before], [after]) => {
            path.push(Value::from(start));
            differ(before, after, path, edits);
            path.pop();
        }
        _ => edits.push(Edit::Put(path.clone(), start, gone.len(), come.to_vec())),
    }
}

/// Does one edit; `None` if there is no such place.
fn apply(value: &mut Value, edit: Edit) -> Option<()> {
    match edit {
        Edit::Set(path, new) => match path.split_last() {
            None => *value = new,
            Some((last, path)) => match (at(value, path)?, last) {
                (Value::Object(map), Value::String(key)) => {
                    map.insert(key.clone(), new);
                }
                (Value::Array(list), place) => *list.get_mut(usize::try_from(place.as_u64()?).ok()?)? = new,
                _ => return None,
            },
        },
        Edit::Cut(path) => {
            let (last, path) = path.split_last()?;
            at(value, path)?.as_object_mut()?.remove(last.as_str()?)?;
        }
        Edit::Put(path, start, gone, come) => {
            let list = at(value, &path)?.as_array_mut()?;
            let end = start.checked_add(gone).filter(|end| *end <= list.len())?;
            list.splice(start..end, come);
        }
    }
    Some(())
}

fn at<'a>(value: &'a mut Value, path: &[Value]) -> Option<&'a mut Value> {
    path.iter().try_fold(value, |value, step| match step {
        Value::String(key) => value.get_mut(key),
        place => value.get_mut(usize::try_from(place.as_u64()?).ok()?),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document(version: u64, value: &Value) -> Document {
        let mut value = value.clone();
        value.sort_all_objects();
        Document::new(version, value.to_string())
    }

    /// Values that are one change apart, or many.
    fn values() -> Vec<Value> {
        vec![
            json!({"format": 2, "catalog": {"a": {}, "list": [1, 2, 3], "filler": "x".repeat(2000)}}),
            json!({"format": 2, "catalog": {"a": {"t": {"c": [1]}}, "list": [1, 3], "filler": "x".repeat(2000)}}),
            json!({"format": 2, "catalog": {"a": {"t": {"c": [2]}}, "list": [0, 1, 3, 4], "filler": "x".repeat(2000)}}),
            json!({"format": 2, "catalog": {"a": {"t": {"c": {"0": 1}}}, "list": [], "filler": "x".repeat(2000)}}),
            json!({"format": 2, "catalog": {"a": {}, "list": [[1], [2]], "filler": "x".repeat(2000), "new": null}}),
            json!({"format": 2, "catalog": {"a": {}, "list": [[1], [2, 3]], "filler": "x".repeat(2000)}}),
            json!({"format": 2, "catalog": {"0": 1, "a": {"b": 1}, "list": [[1]], "filler": "x".repeat(2000)}}),
            json!({"format": 2, "catalog": {"a": {"a": 1, "b": 1}, "list": [[1]], "filler": "x".repeat(2000)}}),
        ]
    }

    #[test]
    fn what_is_read_is_what_was_put() {
        let values = values();
        let first = document(1, &values[0]);
        let mut chain = Chain::begin(&first);
        let mut entries = vec![(1, first.text.to_string())];
        for (at, value) in values.iter().enumerate().skip(1) {
            // Versions may be missing: a shard that was away gets the newest only.
            let next = document(at as u64 * 2 + 1, value);
            let (entry, grown) = chain.next(&next).unwrap();
            assert!(entry.len() < 300, "{entry}");
            assert_eq!(base(&entry), Some(1));
            entries.push((next.version, entry));
            let (read, found) = Chain::read(entries.clone()).unwrap();
            assert_eq!(read, next);
            assert_eq!((found.version, found.count, found.changes), (grown.version, grown.count, grown.changes));
            chain = grown;
        }
        assert_eq!(base(&first.text), None);
    }

    #[test]
    fn a_missing_or_changed_entry_is_no_document() {
        let values = values();
        let mut chain = Chain::begin(&document(1, &values[0]));
        let mut entries = vec![(1, document(1, &values[0]).text.to_string())];
        for version in 2..=4 {
            let (entry, grown) = chain.next(&document(version, &values[version as usize - 1])).unwrap();
            entries.push((version, entry));
            chain = grown;
        }
        for missing in 1..3 {
            let mut left = entries.clone();
            left.remove(missing);
            assert!(Chain::read(left).is_err(), "without entry {missing}");
        }
        let mut turned = entries.clone();
        turned[3].1 = turned[3].1.replace("\"0\"", "\"1\"");
        assert!(Chain::read(turned).is_err());
        assert!(Chain::read(entries[1..].to_vec()).is_err());
        assert!(Chain::read(vec![]).is_err());
    }

    #[test]
    fn changes_end_in_a_new_base() {
        let value = |n: u64| json!({"format": 2, "catalog": {"n": n, "text": "x".repeat(1000)}});
        let mut chain = Chain::begin(&document(1, &value(1)));
        let mut n = 1;
        while let Some((_, grown)) = chain.next(&document(n + 1, &value(n + 1))) {
            chain = grown;
            n += 1;
        }
        assert!(n > 1000 && n <= MOST + 1, "{n}");
        assert!(chain.changes <= TIMES * 1200 + ROOM);
        // A text that is no JSON, or not in the form in which it would be read back, is written whole.
        assert!(Chain::begin(&Document::new(1, "x")).next(&document(2, &value(2))).is_none());
        assert!(chain.next(&Document::new(9999, " {}")).is_none());
    }
}
