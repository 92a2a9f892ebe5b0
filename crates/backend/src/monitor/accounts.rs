//! Noticing that accounts have changed on a server without Weir: a GRANT that was given there, or has come by replication.
//!
//! A server counts the statements that change accounts, those of replication as well, and tells the counts to everybody. The counts
//! don't say whose accounts, and MariaDB counts SET PASSWORD and SET DEFAULT ROLE as any SET: with the right to read the tables of
//! accounts, sums over them by user say both. Tables that were changed by hand count from FLUSH PRIVILEGES on, so users whose rows
//! have changed are told of again after the next FLUSH.
//!
//! What must always hold: what can't be told of one user is told of all; so is what was counted and shows nowhere, for a right that is
//! given and taken away between two looks leaves no trace but the connections that were made meanwhile. A statement is counted before it has its effect, so
//! what it changes is looked for more than once.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use weir_wire::Failure;
use weir_wire::error::codes;

use super::{Probe, Row, text};
use crate::rights::Rights;

/// Time between two looks. Twice as much is promised.
const INTERVAL: Duration = Duration::from_millis(900);
/// Reading the tables may take this fraction of the time.
const SHARE: u32 = 20;
/// How often what a statement changes is looked for after it was counted.
const LOOKS: u32 = 3;

const COUNTS: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Com_alter_user', 'Com_alter_user_default_role', \
    'Com_create_role', 'Com_create_user', 'Com_drop_role', 'Com_drop_user', 'Com_flush', 'Com_grant', 'Com_grant_role', \
    'Com_grant_roles', 'Com_rename_user', 'Com_revoke', 'Com_revoke_all', 'Com_revoke_role', 'Com_revoke_roles', 'Com_set_password')";

/// The tables of accounts. `user` is a view where there is `global_priv`.
const TABLES: [&str; 10] = [
    "global_priv",
    "user",
    "db",
    "tables_priv",
    "columns_priv",
    "procs_priv",
    "roles_mapping",
    "role_edges",
    "default_roles",
    "global_grants",
];

/// Sums over the rows of a user, by user.
type Sums = HashMap<Vec<u8>, Vec<u8>>;

/// What was seen of a server's accounts.
#[derive(Debug, Default)]
pub(super) struct Accounts {
    due: Option<Instant>,
    counts: Option<Vec<(String, String)>>,
    /// Looks at the tables that are still to be taken because a statement was counted.
    looks: u32,
    /// Those of them that follow a FLUSH.
    looks_after_flush: u32,
    /// Statements that were counted, but for FLUSH, less the users who were seen to have changed since.
    unexplained: i64,
    tables: Tables,
    sums: Option<Sums>,
    /// When the tables are read again, if nothing is counted before.
    next_sums: Option<Instant>,
    /// Users whose rows have changed since the last FLUSH.
    not_flushed: HashSet<Vec<u8>>,
}

/// How the tables are read.
#[derive(Debug, Default)]
enum Tables {
    #[default]
    NotAsked,
    /// Weir's account lacks the right.
    Closed,
    Open {
        sums: String,
        roles: &'static str,
    },
}

impl Accounts {
    /// Weir's account may be another one, which may read what the one before could not.
    pub(super) fn ask_for_tables(&mut self) {
        self.tables = Tables::NotAsked;
    }

    /// Looks, if it is time to. `server` is its name.
    pub(super) async fn look(&mut self, probe: &mut Probe, server: &str, rights: &Rights) -> Result<(), Failure> {
        let now = Instant::now();
        if self.due.is_some_and(|due| now < due) {
            return Ok(());
        }
        self.due = Some(now + INTERVAL);
        self.count(probe).await?;
        self.learn_tables(probe, server).await?;
        match &self.tables {
            Tables::Open { sums, roles } => {
                let (sums, roles) = (sums.clone(), *roles);
                if self.looks > 0 || self.next_sums.is_none_or(|next| now >= next) {
                    self.compare(probe, &sums, roles, rights).await?;
                    self.next_sums = Some(Instant::now() + now.elapsed() * SHARE);
                }
                if self.unexplained > 0 {
                    rights.changed();
                }
                if self.looks == 1 {
                    self.unexplained = 0;
                }
                if self.looks_after_flush > 0 {
                    rights.changed_of(self.not_flushed.iter().map(Vec::as_slice));
                }
                if self.looks_after_flush == 1 {
                    self.not_flushed.clear();
                }
            }
            _ if self.looks > 0 => rights.changed(),
            _ => {}
        }
        self.looks = self.looks.saturating_sub(1);
        self.looks_after_flush = self.looks_after_flush.saturating_sub(1);
        Ok(())
    }

    /// Notes what was counted since.
    async fn count(&mut self, probe: &mut Probe) -> Result<(), Failure> {
        let rows = probe.query(COUNTS).await?;
        let pair = |row: Row| {
            let mut cells = row.into_iter().map(text);
            Some((cells.next()?, cells.next()?))
        };
        let counts: Vec<_> = rows.into_iter().filter_map(pair).collect();
        let Some(before) = self.counts.replace(counts.clone()) else { return Ok(()) };
        let sum = |counts: &[(String, String)], flushes: bool| -> i64 {
            let wanted = counts.iter().filter(|(name, _)| (name == "Com_flush") == flushes);
            wanted.filter_map(|(_, count)| count.parse::<i64>().ok()).sum()
        };
        if before != counts {
            self.looks = LOOKS;
            // Counts begin anew when the server does.
            self.unexplained += (sum(&counts, false) - sum(&before, false)).abs();
        }
        if sum(&before, true) != sum(&counts, true) {
            self.looks_after_flush = LOOKS;
        }
        Ok(())
    }

    async fn learn_tables(&mut self, probe: &mut Probe, server: &str) -> Result<(), Failure> {
        if !matches!(self.tables, Tables::NotAsked) {
            return Ok(());
        }
        self.tables = match tables_of(probe).await? {
            Some(tables) => tables,
            None => {
                tracing::warn!(
                    server,
                    "Weir's account may not read the tables of accounts: after a change that is not made through Weir all \
                     users' connections are made anew, and SET PASSWORD and SET DEFAULT ROLE on MariaDB are noticed at logins \
                     only; GRANT SELECT ON mysql.* to it"
                );
                Tables::Closed
            }
        };
        Ok(())
    }

    /// Tells of the users whose rows have changed since the last look.
    async fn compare(&mut self, probe: &mut Probe, sql: &str, roles: &str, rights: &Rights) -> Result<(), Failure> {
        let read = match probe.query(sql).await {
            Ok(rows) => rows,
            Err(failure) if failure.code != codes::CR_SERVER_LOST => {
                // The right to read them was taken away, or they are others after an upgrade.
                self.tables = Tables::NotAsked;
                self.sums = None;
                rights.changed();
                return Ok(());
            }
            Err(failure) => return Err(failure),
        };
        let pair = |row: Row| {
            let mut cells = row.into_iter().map(Option::unwrap_or_default);
            Some((cells.next()?, cells.next()?))
        };
        let sums: Sums = read.into_iter().filter_map(pair).collect();
        let Some(before) = self.sums.replace(sums.clone()) else { return Ok(()) };
        let users = before.keys().chain(sums.keys()).filter(|user| before.get(*user) != sums.get(*user));
        let changed: HashSet<Vec<u8>> = users.cloned().collect();
        if changed.is_empty() {
            return Ok(());
        }
        self.unexplained = self.unexplained.saturating_sub(i64::try_from(changed.len()).unwrap_or(i64::MAX)).max(0);
        let roles: HashSet<Vec<u8>> = probe.query(roles).await?.into_iter().flatten().flatten().collect();
        // Whoever has a role has changed with it; everybody has those of nobody.
        let is_common = |user: &Vec<u8>| user.is_empty() || *user == b"PUBLIC" || roles.contains(user);
        match changed.iter().any(is_common) {
            true => rights.changed(),
            false => rights.changed_of(changed.iter().map(Vec::as_slice)),
        }
        self.not_flushed.extend(changed);
        Ok(())
    }
}

/// The query for sums over the tables' rows by user, if all of them may be read. The columns are those of the server's version.
async fn tables_of(probe: &mut Probe) -> Result<Option<Tables>, Failure> {
    let names = TABLES.map(|table| format!("'{table}'")).join(",");
    let sql = format!(
        "SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'mysql' AND TABLE_NAME IN ({names}) \
         ORDER BY TABLE_NAME, ORDINAL_POSITION"
    );
    let mut columns: HashMap<String, Vec<String>> = HashMap::new();
    for row in probe.query(&sql).await? {
        let mut cells = row.into_iter().map(text);
        if let (Some(table), Some(column)) = (cells.next(), cells.next()) {
            columns.entry(table).or_default().push(column);
        }
    }
    if columns.contains_key("global_priv") {
        columns.remove("user");
    }
    let needed: &[&str] = match probe.is_mariadb() {
        true => &["db", "tables_priv", "columns_priv", "procs_priv", "roles_mapping"],
        false => {
            &["user", "db", "tables_priv", "columns_priv", "procs_priv", "role_edges", "default_roles", "global_grants"]
        }
    };
    if !needed.iter().all(|table| columns.contains_key(*table)) {
        return Ok(None);
    }
    let part = |(table, columns): (&String, &Vec<String>)| {
        let user = if table == "role_edges" { "TO_USER" } else { "USER" };
        let cells: Vec<String> = columns.iter().map(|column| format!("COALESCE(HEX(`{column}`), '-')")).collect();
        format!(
            "SELECT CAST({user} AS BINARY) AS u, CRC32(CONCAT_WS(',', '{table}', {})) AS c FROM mysql.`{table}`",
            cells.join(", ")
        )
    };
    let parts: Vec<String> = columns.iter().map(part).collect();
    let sums = format!("SELECT u, CONCAT(COUNT(*), ' ', SUM(c)) FROM ({}) AS a GROUP BY u", parts.join(" UNION ALL "));
    let roles = match probe.is_mariadb() {
        true => "SELECT CAST(Role AS BINARY) FROM mysql.roles_mapping",
        false => "SELECT CAST(FROM_USER AS BINARY) FROM mysql.role_edges",
    };
    // The rights may be on some columns only.
    match probe.query(&sums).await {
        Ok(_) => Ok(Some(Tables::Open { sums, roles })),
        Err(failure) if failure.code == codes::CR_SERVER_LOST => Err(failure),
        Err(_) => Ok(None),
    }
}
