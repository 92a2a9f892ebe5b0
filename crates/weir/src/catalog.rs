//! `weir catalog`: inspects and repairs the catalog's file and its copies in the shards while no Weir writes it.
//!
//! What must always hold: nothing that is there is overwritten without a new version; what changes the file has it for itself, so a Weir
//! that runs is never surprised.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwap;
use clap::{Args, Subcommand};
use tokio::runtime::Runtime;
use weir_catalog::Catalog;
use weir_ddl::check;
use weir_ddl::rebuild::{self, Undecided};
use weir_meta::{Document, DocumentError, Embedded, Follower, Store, StoreError};
use weir_shards::Own;

use crate::config::{self, CheckedConfig};
use crate::serve;

/// What can be done with the catalog.
#[derive(Debug, Subcommand)]
pub(crate) enum CatalogCommand {
    /// Print the catalog as JSON, also while Weir runs
    #[command(after_help = "\
Example:
  weir catalog export --config weir.toml > catalog.json")]
    Export(FileArgs),
    /// Store a document that `export` has printed as the newest version; Weir must not run
    ///
    /// The shards get their copies when Weir is started.
    #[command(after_help = "\
Example:
  weir catalog import --config weir.toml catalog.json")]
    Import(ImportArgs),
    /// Rebuild the catalog from the newest copy in the shards; Weir must not run
    ///
    /// For a file that was lost, or that is damaged and was moved away. Reports what it found where.
    Rebuild(RebuildArgs),
    /// Compare the catalog with what the servers have, also while Weir runs
    ///
    /// Tables that are missing or more, other columns, copies of other versions. Exit code 1 if there is any difference.
    Check(FileArgs),
}

/// Where the catalog and the shards are.
#[derive(Debug, Args)]
pub(crate) struct FileArgs {
    /// The configuration file
    #[arg(short, long, value_name = "FILE")]
    config: PathBuf,
}

/// What to import.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    #[command(flatten)]
    file: FileArgs,
    /// The document; `-` reads standard input
    #[arg(value_name = "DOCUMENT")]
    document: PathBuf,
}

/// How to rebuild.
#[derive(Debug, Args)]
pub(crate) struct RebuildArgs {
    #[command(flatten)]
    file: FileArgs,
    /// Go on although a shard can't be asked: it may have a newer version
    #[arg(long)]
    force: bool,
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CatalogError {
    #[error(transparent)]
    Config(#[from] config::ConfigError),
    #[error(transparent)]
    Serve(#[from] serve::ServeError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{}: {source}", path.display())]
    Document { path: PathBuf, source: DocumentError },
    #[error("{}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Undecided(#[from] Undecided),
    #[error("the document describes the shards {}, but the configuration has the groups {}", known.join(", "), configured.join(", "))]
    OtherShards { known: Vec<String>, configured: Vec<String> },
    #[error("the catalog {} is there, with version {version}: nothing is lost. To rebuild it anyway, move the file away first", path.display())]
    There { path: PathBuf, version: u64 },
    #[error("the catalog {} is empty", path.display())]
    Empty { path: PathBuf },
    #[error("the catalog and the servers differ ({0} differences)")]
    Differs(usize),
    #[error("{0}")]
    Output(#[from] io::Error),
}

/// Runs a command.
pub(crate) fn run(command: &CatalogCommand, out: &mut dyn Write) -> Result<(), CatalogError> {
    match command {
        CatalogCommand::Export(file) => export(file, out),
        CatalogCommand::Import(arguments) => import(arguments, out),
        CatalogCommand::Rebuild(arguments) => rebuild(arguments, out),
        CatalogCommand::Check(file) => compare(file, out),
    }
}

/// What a command works with.
struct Site {
    config: CheckedConfig,
    path: PathBuf,
    runtime: Runtime,
}

impl Site {
    fn open(file: &FileArgs) -> Result<Site, CatalogError> {
        let config = config::load(&file.config)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        Ok(Site { path: serve::catalog_file(&config), config, runtime })
    }

    fn own(&self) -> Result<Own, CatalogError> {
        let account = Arc::new(ArcSwap::from_pointee(serve::monitor_settings(&self.config)));
        Ok(Own::new(serve::groups(&self.config)?, account, self.runtime.handle().clone()))
    }

    fn newest(&self) -> Result<Document, CatalogError> {
        let newest = Follower::open(&self.path)?.newest()?;
        newest.ok_or_else(|| CatalogError::Empty { path: self.path.clone() })
    }

    fn check_shards(&self, catalog: &Catalog) -> Result<(), CatalogError> {
        let configured: Vec<String> = self.config.groups.iter().map(|group| group.name.clone()).collect();
        match catalog.membership(&configured) {
            Ok(_) => Ok(()),
            Err(_) => Err(CatalogError::OtherShards { known: catalog.shards.clone(), configured }),
        }
    }

    fn malformed(&self, source: DocumentError) -> CatalogError {
        CatalogError::Document { path: self.path.clone(), source }
    }
}

fn export(file: &FileArgs, out: &mut dyn Write) -> Result<(), CatalogError> {
    let site = Site::open(file)?;
    let text = site.newest()?.pretty().map_err(|source| site.malformed(source))?;
    Ok(writeln!(out, "{text}")?)
}

fn import(arguments: &ImportArgs, out: &mut dyn Write) -> Result<(), CatalogError> {
    let site = Site::open(&arguments.file)?;
    let path = arguments.document.clone();
    let text = read(&path).map_err(|source| CatalogError::Read { path: path.clone(), source })?;
    let unreadable = |source| CatalogError::Document { path: path.clone(), source };
    let (_, mut catalog) = Document::parse(text).map_err(unreadable)?;
    site.check_shards(&catalog)?;
    let store = Embedded::open(&site.path)?;
    let stored = store.newest()?.map_or(0, |document| document.version);
    // Versions go on from what the shards have, so that no copy is ever mistaken for another.
    let copies = site.runtime.block_on(rebuild::survey(&site.own()?));
    for copy in copies.iter().filter(|copy| copy.newest.is_err()) {
        writeln!(out, "{copy}")?;
    }
    let copied = copies.iter().filter_map(|copy| copy.newest.as_ref().ok()?.as_ref()).map(|copy| copy.version).max();
    catalog.version = stored.max(copied.unwrap_or(0)) + 1;
    store.put(stored, &Document::of(&catalog).map_err(unreadable)?)?;
    Ok(writeln!(out, "stored as version {} in {}", catalog.version, site.path.display())?)
}

fn read(path: &PathBuf) -> io::Result<String> {
    if path.as_os_str() != "-" {
        return std::fs::read_to_string(path);
    }
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    Ok(text)
}

fn rebuild(arguments: &RebuildArgs, out: &mut dyn Write) -> Result<(), CatalogError> {
    let site = Site::open(&arguments.file)?;
    let store = Embedded::open(&site.path)?;
    if let Some(document) = store.newest()? {
        return Err(CatalogError::There { path: site.path, version: document.version });
    }
    let copies = site.runtime.block_on(rebuild::survey(&site.own()?));
    for copy in &copies {
        writeln!(out, "{copy}")?;
    }
    let document = rebuild::choose(&copies, arguments.force)?;
    let catalog = document.catalog().map_err(|source| site.malformed(source))?;
    site.check_shards(&catalog)?;
    store.put(0, document)?;
    Ok(writeln!(out, "version {} is in {}", document.version, site.path.display())?)
}

fn compare(file: &FileArgs, out: &mut dyn Write) -> Result<(), CatalogError> {
    let site = Site::open(file)?;
    let catalog = site.newest()?.catalog().map_err(|source| site.malformed(source))?;
    site.check_shards(&catalog)?;
    let own = site.own()?;
    let differences = site.runtime.block_on(check::check(&own, &catalog));
    for difference in &differences {
        writeln!(out, "{difference}")?;
    }
    match differences.len() {
        0 => Ok(writeln!(out, "version {} of the catalog is what the servers have", catalog.version)?),
        n => Err(CatalogError::Differs(n)),
    }
}
