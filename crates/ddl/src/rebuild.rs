//! A catalog from the copies in the shards, when the store is lost.
//!
//! What must always hold: it is the newest version that any shard has; where shards disagree over what a version is, or one can't be
//! asked, a person decides.

use std::fmt;

use weir_catalog::ShardId;
use weir_meta::Document;
use weir_shards::copies;
use weir_shards::own::Own;

/// What a shard has.
#[derive(Debug)]
pub struct Copy {
    /// The shard's name.
    pub shard: String,
    /// Its newest version, `None` if it has none, or why it can't be asked.
    pub newest: Result<Option<Document>, String>,
}

impl fmt::Display for Copy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shard '{}': ", self.shard)?;
        match &self.newest {
            Ok(Some(document)) => write!(f, "version {}", document.version),
            Ok(None) => write!(f, "no copy"),
            Err(why) => write!(f, "can't be asked: {why}"),
        }
    }
}

/// Why the copies yield no catalog.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Undecided {
    /// A shard could not be asked.
    #[error(
        "shard '{0}' can't be asked, and may have a newer version. Bring it back; or, if it is lost for good, go on without it: --force"
    )]
    NotAsked(String),
    /// Different documents by the same version.
    #[error(
        "shards '{one}' and '{other}' have different documents for version {version}: two Weirs with catalogs of their own have used \
         these shards. Look at both (table weir.catalog), and load the right one with `weir catalog import`"
    )]
    Differ {
        /// A shard.
        one: String,
        /// Another one.
        other: String,
        /// The version.
        version: u64,
    },
    /// No shard has any.
    #[error("no shard has a copy of a catalog: there is nothing to rebuild. `weir serve` begins a new one")]
    None,
}

/// Asks every shard for its newest copy.
pub async fn survey(own: &Own) -> Vec<Copy> {
    let mut found = Vec::new();
    for shard in own.shards() {
        let newest = newest(own, shard).await.map_err(|failure| failure.message);
        found.push(Copy { shard: own.groups()[usize::from(shard.0)].settings().name.clone(), newest });
    }
    found
}

async fn newest(own: &Own, shard: ShardId) -> Result<Option<Document>, weir_wire::Failure> {
    match copies::newest(own, shard).await? {
        0 => Ok(None),
        version => copies::read(own, shard, version).await,
    }
}

/// The newest version of these. `force`: shards that can't be asked don't count.
///
/// # Errors
/// When it can't be said which one that is.
pub fn choose(copies: &[Copy], force: bool) -> Result<&Document, Undecided> {
    if let Some(missing) = copies.iter().find(|copy| copy.newest.is_err() && !force) {
        return Err(Undecided::NotAsked(missing.shard.clone()));
    }
    let mut best: Option<(&str, &Document)> = None;
    for copy in copies {
        let Ok(Some(document)) = &copy.newest else { continue };
        match best {
            Some((one, known)) if known.version == document.version && known != document => {
                return Err(Undecided::Differ {
                    one: one.to_owned(),
                    other: copy.shard.clone(),
                    version: document.version,
                });
            }
            Some((_, known)) if known.version >= document.version => {}
            _ => best = Some((&copy.shard, document)),
        }
    }
    best.map(|(_, document)| document).ok_or(Undecided::None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(shard: &str, newest: Result<Option<(u64, &str)>, &str>) -> Copy {
        let document = |(version, text): (u64, &str)| Document::new(version, text);
        Copy { shard: shard.to_owned(), newest: newest.map(|found| found.map(document)).map_err(str::to_owned) }
    }

    #[test]
    fn the_newest_copy_is_chosen_or_nobody_knows() {
        let chosen = |copies: &[Copy], force| choose(copies, force).map(|document| document.version);
        let old = || copy("a", Ok(Some((4, "four"))));
        let new = || copy("b", Ok(Some((5, "five"))));
        assert_eq!(chosen(&[old(), new(), copy("c", Ok(None))], false), Ok(5));
        assert_eq!(chosen(&[new(), old()], false), Ok(5));
        assert_eq!(chosen(&[new(), copy("c", Ok(Some((5, "five"))))], false), Ok(5));
        let other = copy("c", Ok(Some((5, "another"))));
        let differ = Undecided::Differ { one: "b".to_owned(), other: "c".to_owned(), version: 5 };
        assert_eq!(chosen(&[new(), other], false), Err(differ));
        let gone = || copy("c", Err("down"));
        assert_eq!(chosen(&[old(), gone()], false), Err(Undecided::NotAsked("c".to_owned())));
        assert_eq!(chosen(&[old(), gone()], true), Ok(4));
        assert_eq!(chosen(&[copy("a", Ok(None))], false), Err(Undecided::None));
    }
}
