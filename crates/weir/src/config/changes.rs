//! What has changed between two configurations, and which of it a running Weir can apply.
//!
//! Must always hold: the comparison is a pure function of both; a key is only called applied if `serve` applies it; no
//! secret is in the result.

use std::collections::BTreeSet;

use weir_admin::{Change, ChangeOutcome};

use super::raw::UNNAMED_GROUP;
use super::settings::KeyValue;

/// Keys, and sections that end with a point, that are applied while Weir runs; those of a group only if the group is there
/// before and after. All others need a restart.
const LIVE: [&str; 20] = [
    "listen.allow",
    "tls.",
    "clients.",
    "accounts.",
    "users.",
    "groups.",
    "server_tls.",
    "pool.",
    "hot_rows.",
    "workbench.",
    "monitor.",
    "api.token",
    "api.token_file",
    "api.token_env",
    "log.",
    "rules.",
    "shutdown.",
    "transactions.",
    "takeover.idle",
    "takeover.grace",
];

/// The keys that differ, in the order of the configuration; keys that have gone come last.
pub(crate) fn changes(old: &[KeyValue], new: &[KeyValue]) -> Vec<Change> {
    let find = |keys: &'_ [KeyValue], name: &str| keys.iter().find(|key| key.key == name).cloned();
    let lasting: BTreeSet<_> = group_names(old).intersection(&group_names(new)).copied().collect();
    let now = new.iter().filter_map(|key| change(find(old, &key.key).as_ref(), Some(key), &lasting));
    let gone = old.iter().filter(|key| find(new, &key.key).is_none());
    now.chain(gone.filter_map(|key| change(Some(key), None, &lasting))).collect()
}

/// The names of the groups; without a section there is one all the same.
fn group_names(keys: &[KeyValue]) -> BTreeSet<&str> {
    let named = keys.iter().filter_map(|key| key.key.strip_prefix("groups.")?.strip_suffix(".name"));
    let names: BTreeSet<_> = named.collect();
    if names.is_empty() { BTreeSet::from([UNNAMED_GROUP]) } else { names }
}

/// `lasting`: the groups that are in both.
fn change(old: Option<&KeyValue>, new: Option<&KeyValue>, lasting: &BTreeSet<&str>) -> Option<Change> {
    let value = |key: Option<&KeyValue>| key.and_then(|key| key.value.clone());
    let content = |key: Option<&KeyValue>| key.and_then(|key| key.content);
    let key = new.or(old)?.key.clone();
    let (before, mut now) = (value(old), value(new));
    if before == now && content(old) == content(new) {
        return None;
    }
    if before == now
        && let Some(text) = &mut now
    {
        text.push_str(" (new content)");
    }
    // A section that only says what held without it changes nothing.
    let discovers = |value: &Option<String>| value.as_deref().is_some_and(|value| value != "false");
    let is_live = is_live(&key, lasting, discovers(&before) == discovers(&now));
    let outcome = if is_live { ChangeOutcome::Applied } else { ChangeOutcome::NeedsRestart };
    Some(Change { key, outcome, old: before, new: now })
}

/// Whether a change of the key is applied while Weir runs. `as_before`: its value means what the old one did to a group that looks for its members.
fn is_live(key: &str, lasting: &BTreeSet<&str>, as_before: bool) -> bool {
    if let Some((group, choice)) = key.strip_prefix("groups.").and_then(|rest| rest.rsplit_once('.')) {
        return lasting.contains(group) && (choice != "discover" || as_before);
    }
    let weight = key.starts_with("servers.") && key.ends_with(".weight");
    weight || LIVE.iter().any(|live| if live.ends_with('.') { key.starts_with(live) } else { key == *live })
}

#[cfg(test)]
mod tests;
