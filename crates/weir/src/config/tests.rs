//! The configuration as a user sees it: what is accepted, the messages about the rest, and that no
//! password is ever shown.

mod errors;
mod groups;
mod rules;
mod secrets;
mod tls;
mod values;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::checked::{ClientTlsCertificate, Role, ServerTlsMode};
use super::*;

/// The smallest valid configuration, but for its password in plain text.
pub(crate) const MINIMAL: &str = r#"
[[servers]]
name = "db1"
address = "127.0.0.1:3306"
role = "writer"

[monitor]
password = "monitor's password"
"#;

/// Two shards with one server each.
pub(crate) const TWO_GROUPS: &str = r#"
[[groups]]
name = "s1"

[[groups]]
name = "s2"

[[servers]]
name = "db1"
address = "127.0.0.1:3306"
role = "writer"
group = "s1"

[[servers]]
name = "db2"
address = "127.0.0.1:3307"
role = "writer"
group = "s2"
"#;

/// A file of this name in a directory of its own, which goes with the first value; only its owner
/// has access to it.
pub(crate) fn private_file(name: &str, text: &str) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join(name);
    write_with_mode(&path, text, 0o600);
    (directory, path)
}

fn write_with_mode(path: &Path, text: &str, mode: u32) {
    fs::write(path, text).expect("the file is written");
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("the mode is set");
}

/// Reads a configuration from `text`, with no environment.
fn load_text(text: &str) -> Result<(RawConfig, CheckedConfig), ConfigError> {
    let (_directory, path) = private_file("weir.toml", text);
    read_and_check(&path, &|_| None)
}

/// The configuration that `text` stands for.
fn valid(text: &str) -> CheckedConfig {
    match load_text(text) {
        Ok((_, checked)) => checked,
        Err(error) => panic!("{error}"),
    }
}

/// The messages about `text`, a line per problem, without the file's name.
fn complaints(text: &str) -> Vec<String> {
    let (_directory, path) = private_file("weir.toml", text);
    complaints_about(&path)
}

/// The messages about a file, a line per problem, without the file's name.
fn complaints_about(path: &Path) -> Vec<String> {
    let prefix = format!("{}: ", path.display());
    let error = match read_and_check(path, &|_| None) {
        Ok(_) => return Vec::new(),
        Err(error) => error.to_string(),
    };
    let without_name = |line: &str| {
        let rest = line.strip_prefix(&prefix);
        rest.expect("each line begins with the file's name").to_owned()
    };
    error.lines().map(without_name).collect()
}

#[test]
fn the_smallest_configuration_has_the_documented_defaults() {
    let config = valid(MINIMAL);
    assert_eq!(config.listen.addresses, ["127.0.0.1:4406".parse().expect("an address")]);
    assert!(config.worker_threads.get() >= 1);
    assert!(matches!(config.tls.certificate, ClientTlsCertificate::Generate));
    assert_eq!(config.clients.max_connections.get(), 10_000);
    assert_eq!(config.clients.max_user_connections, None);
    assert_eq!(config.clients.wait_timeout.as_secs(), 8 * 3_600);
    assert_eq!(config.clients.max_allowed_packet, 64 << 20);
    assert!(config.accounts.learn && config.accounts.users.is_empty());
    assert_eq!(config.groups[0].servers[0].role, Role::Writer);
    assert_eq!(config.server_tls.mode, ServerTlsMode::Preferred);
    assert_eq!(config.pool.max_connections.get(), 100);
    assert_eq!(config.pool.idle_timeout.as_secs(), 300);
    assert_eq!(config.monitor.user, "weir");
    assert_eq!(config.metrics_address, None);
    assert_eq!(config.shutdown_grace.as_secs(), 30);
}

#[test]
fn the_example_is_valid_and_has_all_defaults_but_those_of_its_own_entries() {
    let (example, _) = load_text(&example()).expect("the example is valid");
    let (minimal, _) = load_text(MINIMAL).expect("the smallest configuration is valid");
    let without_entries = |raw: RawConfig| {
        let empty = RawConfig { users: Vec::new(), servers: Vec::new(), groups: Vec::new(), ..raw };
        effective(&empty)
    };
    assert_eq!(without_entries(example), without_entries(minimal));
}

#[test]
fn the_example_has_each_key_of_the_reference() {
    let example = example();
    for section in keys::sections() {
        let mark = if section.example_only { "# " } else { "" };
        let header = format!("\n{mark}{}\n", section.header());
        let (_, behind) = example.split_once(&header).expect("the section is there");
        for key in &section.keys {
            let assignment = format!("{} = ", key.name);
            let has_key = |line: &str| line.trim_start_matches("# ").starts_with(&assignment);
            let own_lines = behind.lines().take_while(|line| !line.trim_start_matches("# ").starts_with('['));
            assert!(own_lines.into_iter().any(has_key), "{header}{assignment}");
        }
    }
}

#[test]
fn docs_configuration_md_is_what_weir_config_docs_prints() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
    let page = fs::read_to_string(path).expect("docs/configuration.md is there");
    assert!(
        page == reference(),
        "docs/configuration.md is out of date: run `weir config docs > docs/configuration.md`"
    );
}

#[test]
fn every_key_and_section_is_documented() {
    for section in keys::sections() {
        assert!(!section.doc.is_empty(), "{}", section.name);
        for key in &section.keys {
            assert!(key.doc.ends_with('.'), "{} in {}", key.name, section.name);
        }
    }
}

#[test]
fn what_config_show_prints_is_read_as_the_same_configuration() {
    let text = format!("{MINIMAL}\n[pool]\nmax_connections = 7\n[listen]\nbacklog = 9\n");
    let (raw, _) = load_text(&text).expect("valid");
    let shown = effective(&raw);
    assert!(shown.contains("max_connections = 7") && shown.contains("backlog = 9"), "{shown}");
    let (again, _) = load_text(&shown).expect("what is shown is valid");
    assert_eq!(effective(&again), shown);
}

#[test]
fn a_users_own_settings_take_precedence_over_the_defaults() {
    let config = valid(&format!(
        "{MINIMAL}
        [clients]
        max_user_connections = 5
        [accounts]
        default_plugin = \"mysql_native_password\"
        [[users]]
        name = \"app\"
        password = \"\"
        [[users]]
        name = \"batch\"
        password = \"x\"
        max_connections = 7
        plugin = \"client_ed25519\"
        admin = true"
    ));
    let of = |number: usize| {
        let user = &config.accounts.users[number];
        let limit = user.max_connections.map_or(0, |limit| limit.get());
        (limit, user.plugin, user.admin)
    };
    assert_eq!(of(0), (5, Some(checked::AuthPlugin::MysqlNativePassword), false));
    assert_eq!(of(1), (7, Some(checked::AuthPlugin::ClientEd25519), true));
}

#[test]
fn a_directory_or_a_file_that_is_not_utf8_is_an_error_with_its_name() {
    let directory = tempfile::tempdir().expect("a directory");
    let error = load(directory.path()).expect_err("a directory");
    assert!(error.to_string().starts_with(&directory.path().display().to_string()));
    let path = directory.path().join("weir.toml");
    fs::write(&path, b"[listen]\naddress = [\"\xff\"]").expect("written");
    let error = load(&path).expect_err("not UTF-8");
    assert!(error.to_string().ends_with("is not UTF-8 text"), "{error}");
}
