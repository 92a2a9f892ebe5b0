//! The words of a statement: all names that the statement, and the views and routines that it uses, can refer to.
//!
//! What must always hold: a name that a statement refers to is among its words, however it is quoted and in every `sql_mode`. A word too
//! many costs planning once more; a missing word would keep a wrong plan.

use crate::model::Catalog;

/// With more words than these, a statement is taken to mean everything.
const MOST: usize = 1024;
/// Schemas whose tables tell of all objects. Who names one of them means everything.
const TELL_OF_ALL: [&str; 4] = ["information_schema", "performance_schema", "mysql", "sys"];

/// See the module. Words are kept as hashes: two of the same hash are one word too many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// Sorted; `None`: it means everything.
    hashes: Option<Vec<u64>>,
}

impl Words {
    /// The words of a text that is run in `database`, and those of the views and routines that it may use.
    pub fn of(text: &[u8], database: Option<&[u8]>, catalog: &Catalog) -> Words {
        let mut all = Vec::new();
        let mut texts = vec![text.to_vec(), database.unwrap_or_default().to_vec()];
        loop {
            let before = all.len();
            for hash in texts.iter().flat_map(|text| hashes(&String::from_utf8_lossy(text)).collect::<Vec<_>>()) {
                if let Err(at) = all.binary_search(&hash) {
                    all.insert(at, hash);
                }
            }
            if all.len() > MOST {
                return Words { hashes: None };
            }
            if all.len() == before {
                break;
            }
            texts = programs(catalog, &all);
        }
        let tells_of_all = TELL_OF_ALL.iter().any(|name| has(&all, name));
        Words { hashes: (!tells_of_all).then_some(all) }
    }

    /// Whether something of this name may be meant.
    pub fn may_mean(&self, name: &Name) -> bool {
        self.hashes.as_ref().is_none_or(|all| name.0.iter().all(|hash| all.binary_search(hash).is_ok()))
    }
}

/// The name of a table, a view or a routine, as it is looked for among words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name(Box<[u64]>);

impl Name {
    /// This name, in whatever case.
    pub fn of(name: &str) -> Name {
        Name(hashes(name).collect())
    }

    /// This name of something in a database: a text that means it has both names, or is given within the database.
    pub fn within(database: &str, name: &str) -> Name {
        Name(hashes(database).chain(hashes(name)).collect())
    }
}

/// The texts of views and routines whose names are among the words.
fn programs(catalog: &Catalog, words: &[u64]) -> Vec<Vec<u8>> {
    let views = catalog.databases.values().flat_map(|database| &database.views);
    let views = views.filter(|(name, _)| has(words, name)).map(|(_, text)| text.as_bytes().to_vec());
    let routines = catalog.routines.values().flat_map(|of| of.procedures.iter().chain(&of.functions));
    let routines = routines.filter(|(name, _)| has(words, name)).map(|(_, known)| known.text.as_bytes().to_vec());
    views.chain(routines).collect()
}

fn has(words: &[u64], name: &str) -> bool {
    hashes(name).all(|hash| words.binary_search(&hash).is_ok())
}

/// Runs of characters that need no quotes, in lower case. Of a name that needs quotes, each run is a word.
fn hashes(text: &str) -> impl Iterator<Item = u64> {
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$' || !c.is_ascii();
    let words = text.split(move |c| !is_of_word(c)).filter(|word| !word.is_empty());
    // FNV-1a, over characters.
    let mix = |hash: u64, c: char| (hash ^ u64::from(c)).wrapping_mul(0x0000_0100_0000_01b3);
    words.map(move |word| {
        // Letter by letter: the lower case of a whole text depends on what is around a letter.
        let letters = word.chars().flat_map(char::to_lowercase).map(|c| if c == 'ς' { 'σ' } else { c });
        letters.fold(0xcbf2_9ce4_8422_2325, mix)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_however_they_are_written() {
        let words = |text: &str| Words::of(text.as_bytes(), Some(b"Shop"), &Catalog::default());
        let cases = [
            ("SELECT * FROM orders", "orders", true),
            ("SELECT * FROM shop.ORDERS", "Orders", true),
            ("SELECT * FROM `order``s`", "order`s", true),
            ("SELECT * FROM \"my orders\"", "my orders", true),
            ("SELECT * FROM/*! orders*/", "orders", true),
            ("SELECT * FROM größe", "GRÖSSE", false),
            ("SELECT * FROM GRÖßE", "größe", true),
            ("SELECT * FROM orders2", "orders", false),
            ("SELECT * FROM my_orders", "orders", false),
            ("SELECT 1", "shop", true),
            ("SELECT * FROM information_schema.tables", "orders", true),
            ("SELECT * FROM INFORMATION_SCHEMA.TABLES", "orders", true),
        ];
        for (text, name, is_meant) in cases {
            assert_eq!(words(text).may_mean(&Name::of(name)), is_meant, "{text}: {name}");
        }
        assert!(words("SELECT * FROM orders").may_mean(&Name::within("Shop", "orders")));
        assert!(words("SELECT * FROM other.orders").may_mean(&Name::within("other", "ORDERS")));
        assert!(!words("SELECT * FROM orders").may_mean(&Name::within("other", "orders")));
        assert!(words(&"x1 x2 ".repeat(9)).may_mean(&Name::of("x1")));
        let many: String = (0..=MOST).map(|n| format!("w{n} ")).collect();
        assert!(words(&many).may_mean(&Name::of("anything")));
    }
}
