//! Two configurations, and the report of their differences.

use super::*;
use crate::config::keys::sections;
use crate::config::load_with_keys;
use crate::config::tests::{MINIMAL, TWO_GROUPS, private_file};

fn keys(text: &str) -> Vec<KeyValue> {
    let (_directory, path) = private_file("weir.toml", text);
    load_with_keys(&path).unwrap_or_else(|error| panic!("{error}")).keys
}

fn said(old: &str, new: &str) -> Vec<String> {
    let shown = |value: Option<String>| value.unwrap_or("-".to_owned());
    let line = |change: Change| {
        format!("{} {}: {} -> {}", change.key, change.outcome.name(), shown(change.old), shown(change.new))
    };
    changes(&keys(old), &keys(new)).into_iter().map(line).collect()
}

#[test]
fn nothing_has_changed_between_equal_configurations() {
    let user = "\n[[users]]\nname = \"app\"\npassword = \"x\"\n";
    let text = format!("{MINIMAL}{user}");
    assert!(said(&text, &text).is_empty());
    assert!(said(&text, &format!("{text}\n[pool]\nmax_queue = 10_000\n")).is_empty(), "a default that is written out");
}

#[test]
fn each_change_is_told_with_what_becomes_of_it() {
    let old = format!("{MINIMAL}\n[pool]\nmax_queue = 5\n[[users]]\nname = \"gone\"\npassword = \"x\"\n");
    let new = MINIMAL.replace("monitor's password", "another").replace("127.0.0.1:3306", "127.0.0.1:3307");
    let new = format!("{new}\n[listen]\nbacklog = 7\n[shutdown]\ngrace = \"1s\"\n");
    assert_eq!(
        said(&old, &new),
        [
            "listen.backlog needs restart: 4096 -> 7",
            "servers.db1.address needs restart: 127.0.0.1:3306 -> 127.0.0.1:3307",
            "pool.max_queue applied: 5 -> 10000",
            "monitor.password applied: *** -> *** (new content)",
            "shutdown.grace applied: 30s -> 1s",
            "users.gone.name applied: gone -> -",
            "users.gone.password applied: *** -> -",
            "users.gone.admin applied: false -> -",
            "users.gone.max_connections applied: 0 -> -",
            "users.gone.allow applied: [] -> -",
        ]
    );
}

#[test]
fn a_groups_choices_are_applied_while_the_group_is_the_same() {
    let unnamed = format!("{MINIMAL}\n[[groups]]\nmax_lag = \"3s\"\n");
    let choices = said(MINIMAL, &unnamed);
    assert!(choices.contains(&"groups.main.max_lag applied: - -> 3s".to_owned()), "{choices:?}");
    assert!(choices.iter().all(|change| change.contains(" applied: ")), "{choices:?}");
    let renamed = said(&unnamed, &unnamed.replace("[[groups]]", "[[groups]]\nname = \"other\""));
    assert!(renamed.iter().all(|change| change.contains(" needs restart: ")), "{renamed:?}");
    let two = |more: &str| {
        let servers = TWO_GROUPS.replace("db2\"", &format!("db2\"{more}"));
        format!("{servers}\n[monitor]\npassword = \"x\"\n")
    };
    let more = said(
        &two(""),
        &format!(
            "{}\n[[groups]]\nname = \"s3\"\n[[servers]]\nname = \"db3\"\naddress = \"h3\"\nrole = \"writer\"\ngroup = \"s3\"\n",
            two("")
        ),
    );
    assert!(more.len() > 4 && more.iter().all(|change| change.contains(" needs restart: ")), "{more:?}");
    let weighed = said(&two(""), &two("\nweight = 2").replace("name = \"s2\"", "name = \"s2\"\nread_wait = \"1s\""));
    assert_eq!(weighed, ["servers.db2.weight applied: - -> 2", "groups.s2.read_wait applied: 100ms -> 1s"]);
}

#[test]
fn a_file_that_holds_another_password_is_a_change_of_its_key() {
    let text = MINIMAL.replace("password = \"monitor's password\"", "password_file = \"p\"");
    let (directory, path) = private_file("weir.toml", &text);
    let with = |password: &str| {
        let file = directory.path().join("p");
        std::fs::write(&file, password).expect("written");
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("set");
        load_with_keys(&path).expect("valid").keys
    };
    let found = changes(&with("one"), &with("two"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].key.as_str(), found[0].new.as_deref()), ("monitor.password_file", Some("p (new content)")));
    assert!(changes(&with("one"), &with("one\n")).is_empty());
}

#[test]
fn what_is_called_live_is_there() {
    let sections = sections();
    for live in LIVE {
        let (section, key) = live.split_once('.').expect("section and key");
        let section = sections.iter().find(|known| known.name == section).expect(live);
        assert!(key.is_empty() || section.key(key).is_some(), "{live}");
    }
}
