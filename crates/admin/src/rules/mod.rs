//! Rules about statements: which are blocked, limited, sent elsewhere, rewritten or ended after a time.
//!
//! What must always hold: rules are tried in their order, and the first one that matches is the only one that counts. What
//! follows from a statement's shape is found out once for each digest; without rules a statement costs a comparison.

mod limit;
mod rewrite;

use std::cell::{Cell, RefCell};
use std::fmt;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use regex::Regex;
use weir_sql::{Digest, RoutingHint};
use weir_wire::Failure;
use weir_wire::error::codes;

use crate::kind::StatementKind;
use crate::network::{Network, allows};
pub use limit::{Limit, LimitBy, Turn};
pub use rewrite::{Rewrite, RewriteError};

/// A kind of statement, as rules name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KindMatch {
    /// Exactly this one.
    Is(StatementKind),
    /// Whatever changes nothing.
    Reads,
    /// Whatever may change something.
    Writes,
}

/// Which statements a rule is for: all that is given must be so.
#[derive(Debug, Clone, Default)]
pub struct Matches {
    /// They have this digest.
    pub digest: Option<Digest>,
    /// Their text without literals has a match of this.
    pub pattern: Option<Regex>,
    /// They are of one of these kinds; empty: of any.
    pub kinds: Vec<KindMatch>,
    /// They are of one of these users; empty: of any.
    pub users: Vec<String>,
    /// Their client has an address in one of these networks; empty: any.
    pub clients: Vec<Network>,
    /// Their session has one of these default databases; empty: any.
    pub databases: Vec<String>,
}

/// What rules look at of a statement, whoever sends it: all statements of one digest have it in common.
#[derive(Debug, Clone, Copy)]
pub struct Shape<'a> {
    /// The digest.
    pub digest: Digest,
    /// The text without its literals.
    pub text: &'a str,
    /// What kind of statement it is.
    pub kind: StatementKind,
    /// It may change something.
    pub writes: bool,
}

impl Matches {
    fn shape(&self, of: &Shape<'_>) -> bool {
        let of_kind = |kind: &KindMatch| match kind {
            KindMatch::Is(kind) => *kind == of.kind,
            KindMatch::Reads => !of.writes,
            KindMatch::Writes => of.writes,
        };
        self.digest.is_none_or(|digest| digest == of.digest)
            && (self.kinds.is_empty() || self.kinds.iter().any(of_kind))
            && self.pattern.as_ref().is_none_or(|pattern| pattern.is_match(of.text))
    }

    fn session(&self, from: &From<'_>) -> bool {
        let database = |name: &String| from.database == Some(name.as_bytes());
        let address = self.clients.is_empty() || from.address.is_some() && allows(&self.clients, from.address);
        address
            && (self.users.is_empty() || self.users.iter().any(|user| user == from.user))
            && (self.databases.is_empty() || self.databases.iter().any(database))
    }
}

impl fmt::Display for KindMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KindMatch::Is(kind) => kind.name(),
            KindMatch::Reads => "read",
            KindMatch::Writes => "write",
        })
    }
}

impl fmt::Display for Matches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list =
            |name: &str, values: Vec<String>| (!values.is_empty()).then(|| format!("{name} {}", values.join(" or ")));
        let parts = [
            self.digest.map(|digest| format!("digest {digest}")),
            self.pattern.as_ref().map(|pattern| format!("pattern {pattern}")),
            list("kind", self.kinds.iter().map(ToString::to_string).collect()),
            list("user", self.users.clone()),
            list("client", self.clients.iter().map(ToString::to_string).collect()),
            list("database", self.databases.clone()),
        ];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

/// Whose statement it is.
#[derive(Debug, Clone, Copy)]
pub struct From<'a> {
    /// The user.
    pub user: &'a str,
    /// The client's address; `None` on a unix socket.
    pub address: Option<IpAddr>,
    /// The default database.
    pub database: Option<&'a [u8]>,
}

/// What a rule does.
#[derive(Debug)]
pub enum Action {
    /// The statement is refused.
    Block,
    /// So many at a time, or in a second.
    Limit(Limit),
    /// It runs there, if it may.
    Route(RoutingHint),
    /// Another text is run.
    Rewrite(Arc<Rewrite>),
    /// It is ended after this time.
    Timeout(Duration),
}

impl Action {
    /// Its name in the configuration.
    pub fn name(&self) -> &'static str {
        match self {
            Action::Block => "block",
            Action::Limit(_) => "limit",
            Action::Route(_) => "route",
            Action::Rewrite(_) => "rewrite",
            Action::Timeout(_) => "timeout",
        }
    }
}

/// A rule.
#[derive(Debug)]
pub struct Rule {
    /// Its name.
    pub name: String,
    /// Which statements it is for.
    pub matches: Matches,
    /// What it does with them.
    pub action: Action,
    /// Why, for those whose statement is refused.
    pub reason: Option<String>,
    hits: AtomicU64,
    refusals: AtomicU64,
}

impl Rule {
    /// A rule that has not been used yet.
    pub fn new(name: String, matches: Matches, action: Action, reason: Option<String>) -> Rule {
        Rule { name, matches, action, reason, hits: AtomicU64::new(0), refusals: AtomicU64::new(0) }
    }

    /// It is applied to a statement.
    pub fn applied(&self) {
        self.hits.fetch_add(1, Ordering::Relaxed);
    }

    /// Statements that it was applied to.
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// Statements that it has refused or ended.
    pub fn refusals(&self) -> u64 {
        self.refusals.load(Ordering::Relaxed)
    }

    fn refuse(&self, code: u16, what: &str) -> Failure {
        self.refusals.fetch_add(1, Ordering::Relaxed);
        let reason = self.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let message = format!("{what} by rule '{}' of Weir{reason}", self.name);
        Failure::client(code, message)
    }

    /// The statement is blocked.
    pub fn blocked(&self) -> Failure {
        self.refuse(codes::ER_NOT_ALLOWED_COMMAND, "The statement was blocked")
    }

    /// There are too many of its like.
    pub fn limited(&self) -> Failure {
        self.refuse(codes::ER_USER_LIMIT_REACHED, "Too many statements of this kind: limited")
    }

    /// It took too long.
    pub fn timed_out(&self) -> Failure {
        let what = "Query execution was interrupted, maximum statement execution time exceeded: limited";
        self.refuse(codes::ER_QUERY_TIMEOUT, what)
    }

    /// Its rewrite does not fit.
    pub fn unfit(&self, error: &RewriteError) -> Failure {
        self.refuse(codes::ER_NOT_ALLOWED_COMMAND, &format!("The statement cannot be rewritten ({error}), as required"))
    }
}

/// The rules in effect; they may be replaced while statements run.
#[derive(Debug, Default)]
pub struct RuleBook {
    rules: ArcSwap<Vec<Arc<Rule>>>,
    /// Changes with the rules; 0 while there have never been any.
    generation: AtomicU64,
}

impl RuleBook {
    /// From now on these are the rules.
    pub fn set(&self, rules: Vec<Rule>) {
        self.rules.store(Arc::new(rules.into_iter().map(Arc::new).collect()));
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// The rules, in their order.
    pub fn rules(&self) -> Arc<Vec<Arc<Rule>>> {
        self.rules.load_full()
    }

    /// Whether there are any.
    pub fn has_some(&self) -> bool {
        !self.rules.load().is_empty()
    }

    /// The rule for a statement of this shape, if there is one. `candidates`: those of its digest.
    #[inline]
    pub fn rule_for(&self, candidates: &Candidates, shape: Shape<'_>, from: From<'_>) -> Option<Arc<Rule>> {
        let generation = self.generation.load(Ordering::Acquire);
        if candidates.generation.get() != generation {
            candidates.learn(generation, &self.rules.load(), shape);
        }
        if candidates.none.get() { None } else { candidates.choose(&from) }
    }
}

/// The rules that may be meant for statements of a digest, by all that follows from their text.
#[derive(Debug)]
pub struct Candidates {
    generation: Cell<u64>,
    none: Cell<bool>,
    rules: RefCell<Rc<[Arc<Rule>]>>,
}

impl Default for Candidates {
    fn default() -> Candidates {
        Candidates { generation: Cell::new(0), none: Cell::new(true), rules: RefCell::new(Rc::from([])) }
    }
}

impl Candidates {
    #[cold]
    fn learn(&self, generation: u64, rules: &[Arc<Rule>], shape: Shape<'_>) {
        let fitting: Rc<[Arc<Rule>]> = rules.iter().filter(|rule| rule.matches.shape(&shape)).cloned().collect();
        self.none.set(fitting.is_empty());
        *self.rules.borrow_mut() = fitting;
        self.generation.set(generation);
    }

    fn choose(&self, from: &From<'_>) -> Option<Arc<Rule>> {
        let rules = self.rules.borrow();
        rules.iter().find(|rule| rule.matches.session(from)).cloned()
    }
}

#[cfg(test)]
mod tests;
