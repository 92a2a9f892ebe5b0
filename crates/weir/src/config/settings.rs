//! The configuration as a flat list of keys and values, for `WEIR SHOW CONFIG` and for comparing two configurations.
//!
//! Must always hold: every key of the reference is in the list, whether it is set or not, and no password is.

use std::collections::BTreeSet;

use aws_lc_rs::digest;
use serde_json::Value;

use super::checked::{CheckedConfig, ClientTlsCertificate, Identity};
use super::keys::{Section, sections};
use super::raw::RawConfig;
use super::secret::{MASK, Secret};

/// A key and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyValue {
    /// Section and name: `pool.max_queue`; with the entry's name where a section repeats: `users.app.admin`.
    pub(crate) key: String,
    /// The value, strings without quotes, passwords masked; None when it is unset.
    pub(crate) value: Option<String>,
    /// Whether the file sets it; else it is the default.
    pub(crate) in_file: bool,
    /// What the value stands for where it must not be shown, or is in a file of its own: only good for comparing.
    pub(crate) content: Option<Content>,
}

/// The hash of a password, a token or a certificate.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Content([u8; 32]);

impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(MASK)
    }
}

impl Content {
    fn of<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> Content {
        let mut hash = digest::Context::new(&digest::SHA256);
        for part in parts {
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let mut content = [0; 32];
        content.copy_from_slice(hash.finish().as_ref());
        Content(content)
    }
}

/// What a key that is set stands for beyond its text.
fn content(checked: &CheckedConfig, key: &str) -> Option<Content> {
    let secret = |secret: &Secret| Content::of([secret.expose().as_bytes()]);
    let identity = |identity: &Identity| {
        let chain = identity.chain.iter().map(|certificate| certificate.as_ref());
        Content::of(chain.chain([identity.key.secret_der()]))
    };
    if let Some((name, "password" | "password_file" | "password_env")) =
        key.strip_prefix("users.").and_then(|rest| rest.rsplit_once('.'))
    {
        let user = checked.accounts.users.iter().find(|user| user.name == name);
        return user.map(|user| secret(&user.password));
    }
    match key {
        "monitor.password" | "monitor.password_file" | "monitor.password_env" => {
            Some(secret(&checked.monitor.password))
        }
        "api.token" | "api.token_file" | "api.token_env" => checked.api.as_ref().map(|api| secret(&api.token)),
        "tls.certificate" | "tls.key" => match &checked.tls.certificate {
            ClientTlsCertificate::Files(files) => Some(identity(files)),
            ClientTlsCertificate::Off | ClientTlsCertificate::Generate => None,
        },
        "server_tls.certificate" | "server_tls.key" => checked.server_tls.identity.as_ref().map(identity),
        "server_tls.ca" => Some(Content::of(checked.server_tls.authorities.iter().map(|authority| authority.as_ref()))),
        _ => None,
    }
}

/// All keys of a configuration, which was read from `text`.
pub(super) fn keys(raw: &RawConfig, text: &str, checked: &CheckedConfig) -> Vec<KeyValue> {
    let raw = serde_json::to_value(raw).expect("the raw configuration was made of TOML values");
    let written: toml::Table = text.parse().unwrap_or_default();
    let mut all = Vec::new();
    for section in sections() {
        let (values, written) = (&raw[&section.name], written.get(&section.name));
        if !section.repeated {
            add(&mut all, &section, &section.name, values, written);
            continue;
        }
        for (number, entry) in values.as_array().into_iter().flatten().enumerate() {
            let name = entry["name"].as_str().map_or_else(|| number.to_string(), str::to_owned);
            let written = written.and_then(|written| written.get(number));
            add(&mut all, &section, &format!("{}.{name}", section.name), entry, written);
        }
    }
    for key in all.iter_mut().filter(|key| key.value.is_some()) {
        key.content = content(checked, &key.key);
    }
    all
}

fn add(all: &mut Vec<KeyValue>, section: &Section, prefix: &str, values: &Value, written: Option<&toml::Value>) {
    let written: BTreeSet<&str> =
        written.and_then(toml::Value::as_table).into_iter().flatten().map(|(key, _)| key.as_str()).collect();
    all.extend(section.keys.iter().map(|key| KeyValue {
        key: format!("{prefix}.{}", key.name),
        value: shown(&values[&key.name]),
        in_file: written.contains(key.name.as_str()),
        content: None,
    }));
}

fn shown(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use crate::config::load_with_keys;
    use crate::config::tests::{MINIMAL, private_file};

    #[test]
    fn every_key_is_listed_with_its_source_and_no_password() {
        let text = format!("{MINIMAL}\n[pool]\nmax_queue = 7\n[[users]]\nname = \"app\"\npassword = \"hunter2\"\n");
        let (_directory, path) = private_file("weir.toml", &text);
        let keys = load_with_keys(&path).expect("valid").keys;
        let of = |key: &str| keys.iter().find(|found| found.key == key).unwrap_or_else(|| panic!("{key}"));
        let expect = |key: &str, value: Option<&str>, in_file| {
            assert_eq!((of(key).value.as_deref(), of(key).in_file), (value, in_file), "{key}");
        };
        expect("pool.max_queue", Some("7"), true);
        expect("pool.queue_timeout", Some("10s"), false);
        expect("listen.address", Some("[\"127.0.0.1:4406\"]"), false);
        expect("listen.socket", None, false);
        expect("servers.db1.role", Some("writer"), true);
        expect("users.app.password", Some("***"), true);
        expect("users.app.admin", Some("false"), false);
        expect("monitor.password", Some("***"), true);
        assert!(!format!("{keys:?}").contains("hunter2"));
    }
}
