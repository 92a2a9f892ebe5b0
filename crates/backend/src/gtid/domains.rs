//! MariaDB's positions: `domain-server-sequence`, one for each replication domain.
//!
//! What must always hold: within a domain sequence numbers rise (`gtid_strict_mode`), so that a later one covers all
//! before it.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::NoPosition;

/// The last GTID of each domain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Domains(BTreeMap<u32, Last>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Last {
    server: u32,
    sequence: u64,
}

impl Domains {
    /// Whether each domain is at least as far as in `other`.
    pub fn covers(&self, other: &Domains) -> bool {
        let reached =
            |(domain, wanted): (&u32, &Last)| self.0.get(domain).is_some_and(|last| last.sequence >= wanted.sequence);
        other.0.iter().all(reached)
    }

    /// Whether it has all domains of `other`.
    pub(super) fn has_domains_of(&self, other: &Domains) -> bool {
        other.0.keys().all(|domain| self.0.contains_key(domain))
    }

    /// How many transactions each domain is beyond `other`, with the last GTID of it.
    pub(super) fn beyond(&self, other: &Domains) -> Vec<(u64, String)> {
        let beyond = |(domain, last): (&u32, &Last)| {
            let has = other.0.get(domain).map_or(0, |other| other.sequence);
            let count = last.sequence.saturating_sub(has);
            (count > 0).then(|| (count, format!("{domain}-{}-{}", last.server, last.sequence)))
        };
        self.0.iter().filter_map(beyond).collect()
    }

    /// Takes the later GTID of each domain.
    pub fn add(&mut self, other: &Domains) {
        for (domain, last) in &other.0 {
            let own = self.0.entry(*domain).or_insert(*last);
            if own.sequence < last.sequence {
                *own = *last;
            }
        }
    }
}

impl FromStr for Domains {
    type Err = NoPosition;

    fn from_str(text: &str) -> Result<Domains, NoPosition> {
        let none = || NoPosition(text.to_owned());
        let mut domains = BTreeMap::new();
        for gtid in text.split(',').map(str::trim).filter(|gtid| !gtid.is_empty()) {
            let mut parts = gtid.splitn(3, '-');
            let mut next = || parts.next().ok_or_else(none);
            let domain = next()?.parse().map_err(|_| none())?;
            let server = next()?.parse().map_err(|_| none())?;
            let sequence = next()?.parse().map_err(|_| none())?;
            domains.insert(domain, Last { server, sequence });
        }
        Ok(Domains(domains))
    }
}

impl fmt::Display for Domains {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (domain, Last { server, sequence })) in self.0.iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            write!(f, "{comma}{domain}-{server}-{sequence}")?;
        }
        Ok(())
    }
}
