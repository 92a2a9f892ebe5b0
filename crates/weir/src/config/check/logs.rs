//! Checks of the slow log and the audit log.

use std::path::Path;

use weir_admin::logs::{AuditSettings, Events, FileSettings};

use super::Checker;
use crate::config::checked::{AuditLog, SlowLog};
use crate::config::problem::KeyPlace;
use crate::config::raw::{AuditEvent, AuditFailure, RawAuditLog, RawSlowLog, StatementKind};
use crate::config::units::{SizeText, parse_size};

/// A file must have room for more than what is written at once.
const LEAST_SIZE: u64 = 64 << 10;

impl Checker<'_> {
    pub(super) fn slow_log(&mut self, raw: &RawSlowLog) -> Option<SlowLog> {
        let section = KeyPlace::section("slow_log");
        let min_time = self.duration(section.key("min_time"), &raw.min_time);
        let file = self.log_file(section, raw.file.as_deref(), &raw.max_size, raw.keep);
        Some(SlowLog { min_time, literals: raw.literals, file: file? })
    }

    pub(super) fn audit_log(&mut self, raw: &RawAuditLog) -> Option<AuditLog> {
        let section = KeyPlace::section("audit_log");
        for user in &raw.users {
            self.user_name(section.key("users"), user);
        }
        let has = |event| raw.events.contains(&event);
        let settings = AuditSettings {
            events: Events {
                connect: has(AuditEvent::Connect),
                disconnect: has(AuditEvent::Disconnect),
                failed_login: has(AuditEvent::FailedLogin),
                admin: has(AuditEvent::Admin),
                statements: has(AuditEvent::Statements),
            },
            users: raw.users.clone(),
            kinds: raw.kinds.iter().copied().map(kind).collect(),
            literals: raw.literals,
            refuses: raw.on_failure == AuditFailure::Refuse,
        };
        if raw.events.is_empty() {
            self.report.add(section.key("events"), "is empty: leave `file` out to have no audit log");
        }
        let file = self.log_file(section, raw.file.as_deref(), &raw.max_size, raw.keep);
        Some(AuditLog { settings, file: file? })
    }

    fn log_file(
        &mut self,
        section: KeyPlace<'_>,
        path: Option<&Path>,
        size: &SizeText,
        keep: u32,
    ) -> Option<FileSettings> {
        let max_size = self.ok_or_report(section.key("max_size"), parse_size(&size.0))?;
        if max_size < LEAST_SIZE {
            self.report.add(section.key("max_size"), format!("`{}` is less than \"64KiB\"", size.0));
        }
        let path = self.resolve(path?);
        self.existing_directory(section.key("file"), &path);
        Some(FileSettings { path, max_size, keep })
    }
}

/// The kind that the configuration names.
pub(super) fn kind(kind: StatementKind) -> weir_admin::StatementKind {
    match kind {
        StatementKind::Select => weir_admin::StatementKind::Select,
        StatementKind::Insert => weir_admin::StatementKind::Insert,
        StatementKind::Update => weir_admin::StatementKind::Update,
        StatementKind::Delete => weir_admin::StatementKind::Delete,
        StatementKind::Ddl => weir_admin::StatementKind::Ddl,
        StatementKind::Transaction => weir_admin::StatementKind::Transaction,
        StatementKind::Other => weir_admin::StatementKind::Other,
    }
}
