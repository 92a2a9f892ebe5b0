//! Checks of the rules.

use std::sync::Arc;
use std::time::Duration;

use regex::Regex;
use weir_admin::rules::{KindMatch, Matches, Rewrite, RewriteError};
use weir_sql::{Digest, RoutingHint};

use super::Checker;
use crate::config::checked::{Rule, RuleAction};
use crate::config::problem::KeyPlace;
use crate::config::raw::{self, RawRule, RuleKind, RuleTarget};
use crate::config::units::DurationText;

impl Checker<'_> {
    pub(super) fn rules(&mut self, raw: &[RawRule]) -> Vec<Rule> {
        self.all_different("rules", "name", raw.iter().map(|rule| rule.name.as_str()));
        raw.iter().enumerate().filter_map(|(number, rule)| self.rule(KeyPlace::entry("rules", number), rule)).collect()
    }

    fn rule(&mut self, section: KeyPlace<'_>, raw: &RawRule) -> Option<Rule> {
        if raw.name.trim().is_empty() {
            self.report.add(section.key("name"), "is empty");
        }
        self.keys_of_other_actions(section, raw);
        let is_for_all = raw.digest.is_none()
            && raw.pattern.is_none()
            && raw.kinds.is_empty()
            && [&raw.users, &raw.clients, &raw.databases].into_iter().all(Vec::is_empty);
        if is_for_all && matches!(raw.action, raw::RuleAction::Block | raw::RuleAction::Rewrite) {
            self.report.add(section, "applies to all statements: add a condition, such as `pattern`");
        }
        let matches = self.matches(section, raw);
        let action = self.rule_action(section, raw);
        Some(Rule { name: raw.name.clone(), matches: matches?, action: action?, reason: raw.reason.clone() })
    }

    fn matches(&mut self, section: KeyPlace<'_>, raw: &RawRule) -> Option<Matches> {
        let digest = raw.digest.as_deref().map(|text| {
            let is_digest = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
            let digest = is_digest.then(|| u128::from_str_radix(text, 16).ok().map(Digest)).flatten();
            let digest = digest.ok_or_else(|| format!("`{text}` is not a digest: it has 32 hexadecimal digits"));
            self.ok_or_report(section.key("digest"), digest)
        });
        let pattern = raw.pattern.as_deref().map(|text| {
            let regex = Regex::new(text).map_err(|error| last_line(&error.to_string()));
            self.ok_or_report(section.key("pattern"), regex)
        });
        let clients = self.networks(section.key("clients"), &raw.clients);
        Some(Matches {
            digest: digest.map_or(Some(None), |digest| digest.map(Some))?,
            pattern: pattern.map_or(Some(None), |pattern| pattern.map(Some))?,
            kinds: raw.kinds.iter().copied().map(kind).collect(),
            users: raw.users.clone(),
            clients,
            databases: raw.databases.clone(),
        })
    }

    fn rule_action(&mut self, section: KeyPlace<'_>, raw: &RawRule) -> Option<RuleAction> {
        match raw.action {
            raw::RuleAction::Block => Some(RuleAction::Block),
            raw::RuleAction::Limit => {
                let wait = raw.wait.as_ref().map_or(Duration::ZERO, |wait| self.duration(section.key("wait"), wait));
                match (raw.rate, raw.concurrency) {
                    (Some(rate), None) => Some(RuleAction::Rate { per_second: rate, wait }),
                    (None, Some(most)) => Some(RuleAction::Concurrency { most, wait }),
                    _ => {
                        self.report.add(section, "action = \"limit\" needs either `rate` or `concurrency`");
                        None
                    }
                }
            }
            raw::RuleAction::Route => match self.needed(section, "to", "route", raw.to)? {
                RuleTarget::Primary => Some(RuleAction::Route(RoutingHint::Primary)),
                RuleTarget::Replica => Some(RuleAction::Route(RoutingHint::Replica)),
            },
            raw::RuleAction::Rewrite => {
                let text = self.needed(section, "replace", "rewrite", raw.replace.as_deref())?;
                let rewrite = Rewrite::new(text).and_then(|rewrite| fits(rewrite, raw.pattern.as_deref()));
                self.ok_or_report(section.key("replace"), rewrite).map(|rewrite| RuleAction::Rewrite(Arc::new(rewrite)))
            }
            raw::RuleAction::Timeout => {
                let text: &DurationText = self.needed(section, "timeout", "timeout", raw.timeout.as_ref())?;
                Some(RuleAction::Timeout(self.timeout(section.key("timeout"), text)))
            }
        }
    }

    fn needed<T>(&mut self, section: KeyPlace<'_>, key: &str, action: &str, value: Option<T>) -> Option<T> {
        if value.is_none() {
            self.report.add(section, format!("action = \"{action}\" needs `{key}`"));
        }
        value
    }

    fn keys_of_other_actions(&mut self, section: KeyPlace<'_>, raw: &RawRule) {
        let keys = [
            ("rate", raw.rate.is_some(), raw::RuleAction::Limit, "limit"),
            ("concurrency", raw.concurrency.is_some(), raw::RuleAction::Limit, "limit"),
            ("wait", raw.wait.is_some(), raw::RuleAction::Limit, "limit"),
            ("to", raw.to.is_some(), raw::RuleAction::Route, "route"),
            ("replace", raw.replace.is_some(), raw::RuleAction::Rewrite, "rewrite"),
            ("timeout", raw.timeout.is_some(), raw::RuleAction::Timeout, "timeout"),
        ];
        for (key, is_set, action, name) in keys {
            if is_set && raw.action != action {
                self.report.add(section.key(key), format!("is used with action = \"{name}\" only"));
            }
        }
    }
}

/// Checks the numbers of literals where the pattern says how many there are: it is a whole text, without lists of literals.
fn fits(rewrite: Rewrite, pattern: Option<&str>) -> Result<Rewrite, RewriteError> {
    let whole =
        pattern.and_then(|pattern| pattern.strip_prefix('^')?.strip_suffix('$')).map(|text| text.replace("\\", ""));
    let plain = whole.filter(|text| pattern.is_some_and(|pattern| pattern == format!("^{}$", regex::escape(text))));
    let has = match plain {
        Some(text) if !text.contains("(...)") => text.matches('?').count(),
        _ => return Ok(rewrite),
    };
    match rewrite.literals() {
        wanted if wanted > has => Err(RewriteError::Missing { wanted, has }),
        _ => Ok(rewrite),
    }
}

/// What a regular expression's error says, without its drawing.
fn last_line(text: &str) -> String {
    let line = text.lines().last().unwrap_or_default();
    format!("is not a regular expression: {}", line.trim_start_matches("error: "))
}

fn kind(kind: RuleKind) -> KindMatch {
    let is = |kind| KindMatch::Is(super::logs::kind(kind));
    match kind {
        RuleKind::Read => KindMatch::Reads,
        RuleKind::Write => KindMatch::Writes,
        RuleKind::Select => is(raw::StatementKind::Select),
        RuleKind::Insert => is(raw::StatementKind::Insert),
        RuleKind::Update => is(raw::StatementKind::Update),
        RuleKind::Delete => is(raw::StatementKind::Delete),
        RuleKind::Ddl => is(raw::StatementKind::Ddl),
        RuleKind::Transaction => is(raw::StatementKind::Transaction),
        RuleKind::Other => is(raw::StatementKind::Other),
    }
}
