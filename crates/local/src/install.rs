//! Finds server programs on this machine and says what they are.
//!
//! An [`Installation`] was run once with `--version`: its flavor and version come from the program itself, never from
//! its name (Debian's `mysqld` is a link to `mariadbd`).

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::LocalError;
use crate::tool::version_text;

/// The two kinds of server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flavor {
    /// MariaDB.
    MariaDb,
    /// MySQL, and servers that name themselves so.
    MySql,
}

impl Flavor {
    fn programs(self) -> &'static [&'static str] {
        match self {
            Self::MariaDb => &["mariadbd", "mysqld"],
            Self::MySql => &["mysqld"],
        }
    }

    /// The oldest version whose statements this crate speaks.
    fn oldest(self) -> (u16, u16) {
        match self {
            Self::MariaDb => (10, 6),
            Self::MySql => (8, 4),
        }
    }

    fn advice(self) -> &'static str {
        match self {
            Self::MariaDb => "run scripts/install-deps, or give the path of a mariadbd",
            Self::MySql => {
                "run scripts/get-mysql, or set WEIR_MYSQL_TREE to an unpacked MySQL, or give the path of a mysqld"
            }
        }
    }
}

impl fmt::Display for Flavor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MariaDb => "MariaDB",
            Self::MySql => "MySQL",
        })
    }
}

/// A server's version; ordered by its numbers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// 10 of 10.11.19.
    pub major: u16,
    /// 11 of 10.11.19.
    pub minor: u16,
    /// 19 of 10.11.19.
    pub patch: u16,
    /// As the program says it: `10.11.19-MariaDB-0+deb12u1`.
    pub text: String,
}

impl Version {
    /// Reads what `--version` prints: `mysqld  Ver 9.7.4-2 for Linux on x86_64`.
    fn parse(printed: &str) -> Option<Self> {
        let text = printed.split_whitespace().skip_while(|word| *word != "Ver").nth(1)?;
        let numbers = text.split(|c: char| !c.is_ascii_digit() && c != '.').next()?;
        let mut numbers = numbers.split('.').map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some(Self { major: next()?, minor: next()?, patch: next()?, text: text.to_owned() })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// A server program that runs on this machine.
#[derive(Debug, Clone)]
pub struct Installation {
    flavor: Flavor,
    version: Version,
    binary: PathBuf,
    /// `basedir`, where the program can't find it by itself.
    base: Option<PathBuf>,
}

impl Installation {
    /// Finds a server of this kind: at `hint` (a server program, or a tree that holds one) and nowhere else if given;
    /// else in the tree that `WEIR_MYSQL_TREE` names (MySQL), on `PATH` and in `/usr/sbin`, and in the cache folder's
    /// `mysql` tree, which `scripts/get-mysql` fills.
    ///
    /// Errors: [`LocalError::NotFound`] with what to do, [`LocalError::Unusable`] for a hint of another kind.
    pub fn find(flavor: Flavor, hint: Option<&Path>) -> Result<Self, LocalError> {
        if let Some(hint) = hint {
            let found = Self::at(hint)?;
            if found.flavor != flavor {
                let reason = format!("is {}, not {flavor}", found.flavor);
                return Err(LocalError::Unusable { binary: found.binary, reason });
            }
            return Ok(found);
        }
        let candidates = search_places(flavor);
        for candidate in candidates.iter().flat_map(|place| programs_in(place, flavor.programs())) {
            match Self::inspect(&candidate) {
                Ok(found) if found.flavor == flavor => return Ok(found),
                Ok(_) => {}
                Err(error) => tracing::debug!(%error, "passed over"),
            }
        }
        let looked: Vec<_> = candidates.iter().map(|place| place.display().to_string()).collect();
        let advice = flavor.advice().to_owned();
        Err(LocalError::NotFound { flavor, looked: looked.join(", "), advice })
    }

    /// The server at `path` (a server program, or a tree that holds one), of whichever kind it is.
    pub fn at(path: &Path) -> Result<Self, LocalError> {
        let path = std::path::absolute(path).map_err(LocalError::io("resolve", path))?;
        if path.is_file() {
            return Self::inspect(&path);
        }
        let found = programs_in(&path, Flavor::MariaDb.programs()).next();
        let reason = if path.is_dir() { "holds no mariadbd or mysqld" } else { "is not there" };
        found
            .map(|binary| Self::inspect(&binary))
            .unwrap_or_else(|| Err(LocalError::Unusable { binary: path, reason: reason.to_owned() }))
    }

    fn inspect(binary: &Path) -> Result<Self, LocalError> {
        let printed = version_text(binary)?;
        let unusable = |reason: String| LocalError::Unusable { binary: binary.into(), reason };
        let version = Version::parse(&printed)
            .ok_or_else(|| unusable(format!("printed no readable version: {:?}", printed.trim_end())))?;
        let flavor = if printed.contains("MariaDB") { Flavor::MariaDb } else { Flavor::MySql };
        let (major, minor) = flavor.oldest();
        if (version.major, version.minor) < (major, minor) {
            return Err(unusable(format!("is {flavor} {version}; {major}.{minor} or later is needed")));
        }
        Ok(Self { flavor, version, binary: binary.into(), base: base_of(binary) })
    }

    /// MySQL or MariaDB.
    pub fn flavor(&self) -> Flavor {
        self.flavor
    }

    /// The program's version.
    pub fn version(&self) -> &Version {
        &self.version
    }

    /// The server program.
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// Options without which an unpacked tree's server does not find its own files.
    pub(crate) fn base_options(&self) -> Vec<(&'static str, PathBuf)> {
        let Some(base) = &self.base else { return Vec::new() };
        let mut options = vec![("basedir", base.clone())];
        let share = base.join("share/mysql");
        if share.is_dir() {
            // Debian's packages keep these where their own basedir (/usr) would lead to.
            options.push(("lc-messages-dir", share.clone()));
            options.push(("character-sets-dir", share.join("charsets")));
        }
        let plugins = base.join("lib/mysql/plugin");
        if plugins.is_dir() {
            options.push(("plugin-dir", plugins));
        }
        options
    }

    /// A program that belongs to this server (`mariadb-install-db`, `mysql`): beside it, or on `PATH`.
    pub fn companion(&self, name: &str) -> Option<PathBuf> {
        let tree = self.binary.parent().and_then(Path::parent);
        let beside = tree.into_iter().flat_map(|tree| ["bin", "sbin", "scripts"].map(|folder| tree.join(folder)));
        beside.chain(path_folders()).map(|folder| folder.join(name)).find(|program| program.is_file())
    }
}

/// The project's cache folder: `$WEIR_CACHE`, else `weir` in the user's cache folder. Not made by this call.
pub fn cache_dir() -> PathBuf {
    if let Some(dir) = std::env::var_os("WEIR_CACHE").filter(|dir| !dir.is_empty()) {
        return dir.into();
    }
    let user_cache = std::env::var_os("XDG_CACHE_HOME").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let home = || std::env::home_dir().unwrap_or_else(std::env::temp_dir).join(".cache");
    user_cache.unwrap_or_else(home).join("weir")
}

fn path_folders() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect()
}

fn search_places(flavor: Flavor) -> Vec<PathBuf> {
    let named = std::env::var_os("WEIR_MYSQL_TREE").filter(|tree| !tree.is_empty() && flavor == Flavor::MySql);
    let mut places: Vec<PathBuf> = named.into_iter().map(PathBuf::from).collect();
    places.extend(path_folders());
    places.push("/usr/sbin".into());
    if flavor == Flavor::MySql {
        places.push(cache_dir().join("mysql"));
    }
    let mut seen = std::collections::HashSet::new();
    places.retain(|place| seen.insert(place.clone()));
    places
}

/// The programs of these names in a folder of programs or in a tree.
fn programs_in<'a>(place: &'a Path, names: &'a [&str]) -> impl Iterator<Item = PathBuf> + 'a {
    let folders = ["", "bin", "sbin", "libexec", "usr/sbin"];
    let programs =
        folders.into_iter().flat_map(move |folder| names.iter().map(move |name| place.join(folder).join(name)));
    programs.filter(|program| program.is_file())
}

/// `basedir` of an unpacked tree; none for a server that is installed where it was built to be.
fn base_of(binary: &Path) -> Option<PathBuf> {
    let tree = binary.parent()?.parent()?;
    let unpacked_packages = tree.join("root/usr");
    if unpacked_packages.join("share/mysql").is_dir() {
        return Some(unpacked_packages);
    }
    let system = ["/", "/usr", "/usr/local"].iter().any(|place| tree == Path::new(place));
    (!system && tree.join("share").is_dir()).then(|| tree.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::Version;

    #[test]
    fn versions_are_read_from_what_the_programs_print() {
        let cases = [
            ("mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)", (10, 11, 19)),
            ("/opt/mysql/bin/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))", (9, 7, 4)),
            ("mysqld  Ver 8.4.0 for Linux on x86_64 (MySQL Community Server - GPL)", (8, 4, 0)),
        ];
        for (printed, numbers) in cases {
            let version = Version::parse(printed).expect(printed);
            assert_eq!((version.major, version.minor, version.patch), numbers, "{printed}");
        }
        assert_eq!(Version::parse("GNU bash, version 5.2.15"), None);
        assert_eq!(Version::parse("x Ver beta"), None);
    }
}
