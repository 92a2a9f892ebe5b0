//! Names of a statement, as the catalog has them.

use weir_catalog::{Catalog, Object};
use weir_sql::ast::{Ident, ObjectName};
use weir_wire::Failure;
use weir_wire::error::not_supported;

use super::asked::Asked;

/// A name as the catalog writes it: that of a known thing, or of a new one.
pub(crate) fn utf8(name: &[u8], fold_case: bool) -> Result<String, Failure> {
    let name = std::str::from_utf8(name)
        .map_err(|_| not_supported("Names in sharded databases must be UTF-8: run SET NAMES utf8mb4 first"))?;
    Ok(if fold_case { name.to_lowercase() } else { name.to_owned() })
}

/// The sharded database of this name.
pub(crate) fn sharded(catalog: &Catalog, name: &[u8]) -> Option<String> {
    catalog.database(name).map(|(name, _)| name.to_owned())
}

/// The sharded database that an ident, or else the default, stands for.
pub(crate) fn database(asked: &Asked<'_>, catalog: &Catalog, name: Option<Ident<'_>>) -> Option<String> {
    sharded(catalog, name.map(|name| name.name).or(asked.database)?)
}

/// An object of a sharded database; `None` for one of another database.
pub(crate) fn object(asked: &Asked<'_>, catalog: &Catalog, name: &ObjectName<'_>) -> Result<Option<Object>, Failure> {
    let Some(database) = database(asked, catalog, name.database) else { return Ok(None) };
    let known = catalog.table(database.as_bytes(), name.name.name).map(|(name, _)| name.to_owned());
    let name = match known {
        Some(name) => name,
        None => utf8(name.name.name, catalog.fold_case)?,
    };
    Ok(Some(Object::within(database, name)))
}

/// Objects of sharded databases; `None` if all are of others.
///
/// # Errors
/// When some are and some are not.
pub(crate) fn objects<'a>(
    asked: &Asked<'_>,
    catalog: &Catalog,
    names: impl Iterator<Item = &'a ObjectName<'a>>,
) -> Result<Option<Vec<Object>>, Failure> {
    let (mut found, mut other) = (Vec::new(), false);
    for name in names {
        match object(asked, catalog, name)? {
            Some(object) => found.push(object),
            None => other = true,
        }
    }
    match (found.is_empty(), other) {
        (true, _) => Ok(None),
        (false, false) => Ok(Some(found)),
        (false, true) => Err(not_supported(
            "One statement can't define tables of sharded and of unsharded databases: use a statement for each",
        )),
    }
}

/// A name for a statement.
pub(crate) fn quoted(object: &Object) -> String {
    let quote = |name: &str| format!("`{}`", name.replace('`', "``"));
    match &object.name {
        Some(name) => format!("{}.{}", quote(&object.database), quote(name)),
        None => quote(&object.database),
    }
}
