//! The configuration: one TOML file, from its text to values that the rest of the program can rely
//! on.
//!
//! Three types, three steps: the raw configuration ([`raw`]: the keys, their docs and defaults, as
//! written), the checked one ([`checked`]: parsed, resolved, consistent), and the running one, which
//! is whatever `serve` makes of it. Must always hold: checking binds, connects and looks up nothing,
//! it reports all that is wrong and not only the first thing, and no password reaches an output.

pub(crate) mod address;
mod changes;
mod check;
pub(crate) mod checked;
mod docs;
mod files;
mod keys;
mod problem;
mod raw;
mod secret;
mod settings;
mod source;
#[cfg(test)]
pub(crate) mod tests;
mod units;

use std::net::SocketAddr;
use std::path::Path;

pub(crate) use changes::changes;
pub(crate) use checked::CheckedConfig;
pub(crate) use docs::{example, reference};
pub(crate) use files::read_password;
pub(crate) use problem::ConfigError;
pub(crate) use secret::Secret;
pub(crate) use settings::KeyValue;

use check::Environment;
use files::{Content, MAX_CONFIG_FILE};
use problem::{Problem, Report};
use raw::RawConfig;

/// Reads and checks the configuration file at `path`. Passwords are resolved, certificates are
/// loaded; nothing is bound or connected. The error holds all that is wrong.
pub(crate) fn load(path: &Path) -> Result<CheckedConfig, ConfigError> {
    read_and_check(path, &|name| std::env::var(name).ok()).map(|(_, checked)| checked)
}

/// A configuration file that was found to be right, and its keys as they are written.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// What the file says.
    pub(crate) checked: CheckedConfig,
    /// Every key with its value, passwords masked.
    pub(crate) keys: Vec<KeyValue>,
}

/// Reads and checks a file as [`load`] does, and tells its keys too.
pub(crate) fn load_with_keys(path: &Path) -> Result<Loaded, ConfigError> {
    let (raw, checked) = read_and_check(path, &|name| std::env::var(name).ok())?;
    let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
    Ok(Loaded { keys: settings::keys(&raw, &text, &checked), checked })
}

/// Address and token of the REST interface, from a configuration file of which nothing else is read.
pub(crate) fn api_of(path: &Path) -> Result<(SocketAddr, Secret), String> {
    let about = |message: &str| format!("{}: {message}", path.display());
    let content = Content::read(path, MAX_CONFIG_FILE).map_err(|error| about(&error.to_string()))?;
    let text = String::from_utf8(content.bytes).map_err(|_| about("is not UTF-8 text"))?;
    let file: toml::Table = text.parse().map_err(|error: toml::de::Error| about(error.message()))?;
    let key = |name: &str| file.get("api").and_then(|api| api.get(name)?.as_str());
    let address = key("address").ok_or_else(|| about("[api] has no `address`: this Weir has no REST interface"))?;
    let address = address.parse().map_err(|_| about("`address` in [api] is not an IP address and port"))?;
    let token = match (key("token"), key("token_file"), key("token_env")) {
        (Some(token), None, None) => token.to_owned(),
        (None, Some(file), None) => read_password(&path.parent().unwrap_or(Path::new("")).join(file))?,
        (None, None, Some(name)) => {
            std::env::var(name).map_err(|_| about(&format!("the environment variable `{name}` is not set")))?
        }
        _ => return Err(about("[api] needs exactly one of `token`, `token_file`, `token_env`")),
    };
    Ok((address, Secret::new(token)))
}

/// The configuration in effect, as TOML with the defaults filled in and the passwords masked.
pub(crate) fn show(path: &Path) -> Result<String, ConfigError> {
    read_and_check(path, &|name| std::env::var(name).ok()).map(|(raw, _)| effective(&raw))
}

fn effective(raw: &RawConfig) -> String {
    toml::to_string(raw).expect("the raw configuration was made of TOML values")
}

fn read_and_check(path: &Path, environment: Environment<'_>) -> Result<(RawConfig, CheckedConfig), ConfigError> {
    let cannot_read = |source| ConfigError::Read { path: path.to_owned(), source };
    let content = Content::read(path, MAX_CONFIG_FILE).map_err(cannot_read)?;
    let text =
        std::str::from_utf8(&content.bytes).map_err(|_| cannot_read(std::io::Error::other("is not UTF-8 text")))?;
    let mut report = Report::default();
    let raw = source::read(text, &mut report);
    let checked = raw.and_then(|raw| {
        if holds_password(&raw)
            && let Err(message) = content.refuse_group_and_others(path)
        {
            report.add_general(Problem::new("", None, message));
        }
        check::check(&raw, path, environment, &mut report).map(|checked| (raw, checked))
    });
    checked.ok_or_else(|| ConfigError::Invalid { path: path.to_owned(), problems: report.into_problems() })
}

/// True if the file itself contains a password.
fn holds_password(raw: &RawConfig) -> bool {
    raw.monitor.password.is_some() || raw.api.token.is_some() || raw.users.iter().any(|user| user.password.is_some())
}
