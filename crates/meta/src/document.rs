//! The catalog as text, with its version, and back.
//!
//! What must always hold: a document gives back the catalog that it was made from. A document of a format that this program does not know is
//! refused, and never read in part.

use std::sync::Arc;

use serde::Deserialize;
use weir_catalog::Catalog;

use crate::writer::{Step, Writer};

/// The format that this program writes.
///
/// Format 1 had slots one by one and nothing left out; format 2 has them as runs, and what has its usual value is left out. Stores keep
/// versions of format 2 as changes of the version before: see [`crate::delta`].
pub const FORMAT: u32 = 2;

/// One version of the catalog, as JSON.
#[derive(Debug, Clone)]
pub struct Document {
    /// The catalog's version.
    pub version: u64,
    /// The text.
    pub text: Arc<str>,
    /// How it comes from the one that was written before, if that is known.
    pub(crate) step: Option<Step>,
}

impl PartialEq for Document {
    fn eq(&self, other: &Document) -> bool {
        self.version == other.version && self.text == other.text
    }
}

impl Eq for Document {}

/// Why a document can't be read.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// It is no such document.
    #[error("this is no document of a catalog: {0}")]
    Malformed(#[from] serde_json::Error),
    /// A newer program has written it.
    #[error("the document has format {0}, and this Weir reads formats up to {FORMAT}: use a newer Weir")]
    Newer(u32),
    /// What it is told by does not fit together.
    #[error("version {0} can't be put together of the changes that are kept")]
    Broken(u64),
}

/// What all formats have in common.
#[derive(Deserialize)]
struct Head {
    format: u32,
}

#[derive(Deserialize)]
struct Read {
    catalog: Catalog,
}

impl Document {
    /// A document of this text.
    pub fn new(version: u64, text: impl Into<Arc<str>>) -> Document {
        Document { version, text: text.into(), step: None }
    }

    /// A catalog's document. A [`Writer`] makes those of successive versions in less time.
    ///
    /// # Errors
    /// When the catalog can't be written as JSON.
    pub fn of(catalog: &Catalog) -> Result<Document, DocumentError> {
        Writer::default().next(catalog)
    }

    /// Reads a text.
    ///
    /// # Errors
    /// When it is not a document of a format that this program knows.
    pub fn parse(text: String) -> Result<(Document, Catalog), DocumentError> {
        let head: Head = serde_json::from_str(&text)?;
        if head.format > FORMAT {
            return Err(DocumentError::Newer(head.format));
        }
        let catalog = serde_json::from_str::<Read>(&text)?.catalog;
        Ok((Document::new(catalog.version, text), catalog))
    }

    /// The catalog.
    ///
    /// # Errors
    /// As [`Document::parse`].
    pub fn catalog(&self) -> Result<Catalog, DocumentError> {
        Ok(Document::parse(self.text.to_string())?.1)
    }

    /// The same document, in lines for people.
    ///
    /// # Errors
    /// As [`Document::parse`].
    pub fn pretty(&self) -> Result<String, DocumentError> {
        let value: serde_json::Value = serde_json::from_str(&self.text)?;
        Ok(serde_json::to_string_pretty(&value)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_gives_back_its_catalog() {
        let catalog = Catalog {
            version: 7,
            shards: vec!["s1".to_owned(), "s2".to_owned()],
            fold_case: true,
            ..Catalog::default()
        };
        let document = Document::of(&catalog).unwrap();
        assert_eq!(document.version, 7);
        assert_eq!(document.catalog().unwrap(), catalog);
        let (pretty, same) = Document::parse(document.pretty().unwrap()).unwrap();
        assert_eq!((pretty.version, same), (7, catalog));
    }

    #[test]
    fn documents_of_the_first_format_are_read() {
        let column = r#"{"name":"id","kind":{"base":"int","full":"int(11)","unsigned":false,"length":null,"scale":null,"collation":null},
            "nullable":false,"has_default":false,"generated":false,"invisible":false}"#;
        let table = format!(
            r#"{{"placement":{{"Sharded":{{"columns":[0],"method":"Hash"}}}},"columns":[{column}],"primary_key":[0],"unique_keys":[],
            "odd_unique":[],"unchecked":[],"foreign_keys":[],"triggers":false,"auto_increment":null,"clause":"shard by hash(id)"}}"#
        );
        let slots: Vec<String> = (0..4096).map(|slot| (slot / 2048).to_string()).collect();
        let text = format!(
            r#"{{"format":1,"catalog":{{"version":5,"shards":["a","b"],"databases":{{"d":{{"shards":[0,1],"slots":[{}],
            "tables":{{"t":{table}}},"views":{{}}}}}},"fold_case":false,"definitions":[],"triggers":[],"routines":{{}},"last_definition":3}}}}"#,
            slots.join(",")
        );
        let (old, catalog) = Document::parse(text).unwrap();
        assert_eq!((old.version, catalog.last_definition), (5, 3));
        let (_, database) = catalog.database(b"d").unwrap();
        assert_eq!(database.slots, weir_catalog::SlotMap::even(&database.shards));
        assert_eq!(database.tables["t"].columns[0].name, "id");
        let new = Document::of(&catalog).unwrap();
        assert_eq!(new.catalog().unwrap(), catalog);
        assert!(new.text.len() < 700, "{}", new.text);
    }

    #[test]
    fn what_is_no_document_or_a_newer_one_is_refused() {
        let error = |text: &str| Document::parse(text.to_owned()).unwrap_err().to_string();
        assert!(error("").contains("no document"));
        assert!(error(r#"{"catalog":{}}"#).contains("no document"));
        assert!(error(r#"{"format":1,"catalog":{"version":"x"}}"#).contains("no document"));
        assert!(error(r#"{"format":3,"anything":"else"}"#).contains("format 3"));
    }
}
