//! What is counted, logged and ruled of statements: from the checked configuration to what runs.

use weir_admin::Oversight;
use weir_admin::logs::{AuditLog, LogError, Logs, SlowLog, Writer};
use weir_admin::rules::{Action, Limit, Rule};

use crate::config::CheckedConfig;
use crate::config::checked::{self, RuleAction};

/// The rules, with counts from 0.
pub(super) fn rules(config: &CheckedConfig) -> Vec<Rule> {
    config.rules.iter().map(rule).collect()
}

fn rule(rule: &checked::Rule) -> Rule {
    let action = match &rule.action {
        RuleAction::Block => Action::Block,
        RuleAction::Rate { per_second, wait } => Action::Limit(Limit::rate(*per_second, *wait)),
        RuleAction::Concurrency { most, wait } => Action::Limit(Limit::concurrency(*most as usize, *wait)),
        RuleAction::Route(hint) => Action::Route(*hint),
        RuleAction::Rewrite(rewrite) => Action::Rewrite(rewrite.clone()),
        RuleAction::Timeout(time) => Action::Timeout(*time),
    };
    Rule::new(rule.name.clone(), rule.matches.clone(), action, rule.reason.clone())
}

/// Opens the logs, and makes the rules.
pub(super) fn open(config: &CheckedConfig) -> Result<Oversight, LogError> {
    let slow = match &config.slow_log {
        Some(log) => Some(SlowLog {
            min_time: log.min_time,
            literals: log.literals,
            writer: Writer::start("slow", log.file.clone(), false)?,
        }),
        None => None,
    };
    let audit = match &config.audit_log {
        Some(log) => Some(AuditLog {
            settings: log.settings.clone(),
            writer: Writer::start("audit", log.file.clone(), log.settings.refuses)?,
        }),
        None => None,
    };
    let oversight = Oversight::new(config.worker_threads.get(), Logs { slow, audit });
    oversight.set_read_only(config.clients.read_only);
    if !config.rules.is_empty() {
        oversight.rules.set(rules(config));
    }
    Ok(oversight)
}
