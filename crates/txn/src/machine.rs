//! How a distributed transaction ends: which steps there are, and what follows from how each went. Pure.
//!
//! What must always hold: the decision to commit is the commit of the deciding shard's own transaction, with the decision in it; it is
//! asked for only when every other shard that wrote has prepared and the decision is written. Before it, any failure rolls back
//! everywhere; after it, nothing does. When nobody knows whether it was made, it is looked up, and looking settles it.

/// How a shard takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The first shard that was touched: an ordinary transaction there. It decides.
    First,
    /// A later one: an XA branch.
    Branch,
}

/// A shard's part in a transaction that ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// How it takes part.
    pub role: Role,
    /// It may have changed something.
    pub wrote: bool,
}

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Branches that wrote are prepared and the decision is written; the others show that they are still there. All at once.
    Prepare,
    /// Parts that only read show that they are still there: what they have locked is still locked.
    Check,
    /// The deciding transaction is committed.
    Decide,
    /// What was decided is looked up.
    LookUp,
    /// The only part that wrote is committed: the first, or a branch, in one phase.
    CommitOnly,
    /// Prepared branches are committed, and the parts that only read are ended. All at once.
    Finish,
    /// All parts are rolled back.
    RollBack,
    /// It is over.
    Over(Verdict),
}

/// What came of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is committed, or will be on each shard.
    Committed,
    /// It is rolled back, or will be on each shard.
    RolledBack,
    /// It is one of the two everywhere; nobody could be asked which.
    Unknown,
}

/// How a step went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Went {
    /// On all parts.
    Well,
    /// A server has refused it.
    Refused,
    /// A connection was lost before the answer.
    Lost,
    /// What was looked up: it is committed.
    FoundCommitted,
    /// What was looked up: it is not, and never will be.
    FoundAborted,
    /// The deciding shard could not be asked.
    NotFound,
}

/// Whether a decision is needed: more than one shard wrote.
pub fn needs_decision(parts: impl IntoIterator<Item = Taken>) -> bool {
    parts.into_iter().filter(|part| part.wrote).count() > 1
}

/// The first step of a commit.
pub fn begin(parts: &[Taken]) -> Step {
    let writers = parts.iter().filter(|part| part.wrote).count();
    match writers {
        0 => Step::Finish,
        1 if parts.len() == 1 => Step::CommitOnly,
        1 => Step::Check,
        _ => Step::Prepare,
    }
}

/// What follows from how a step went.
pub fn next(step: Step, went: Went) -> Step {
    match (step, went) {
        (Step::Prepare, Went::Well) => Step::Decide,
        (Step::Check, Went::Well) => Step::CommitOnly,
        (Step::Prepare | Step::Check, _) => Step::RollBack,
        (Step::Decide, Went::Well) => Step::Finish,
        // An error's meaning for the transaction is the server's; the decision's presence is not open to doubt.
        (Step::Decide, _) => Step::LookUp,
        (Step::LookUp, Went::FoundCommitted) => Step::Finish,
        (Step::LookUp, Went::FoundAborted) => Step::RollBack,
        (Step::LookUp, _) => Step::Over(Verdict::Unknown),
        (Step::CommitOnly, Went::Well) => Step::Finish,
        (Step::CommitOnly, Went::Refused) => Step::RollBack,
        // As with one server: nobody can tell.
        (Step::CommitOnly, _) => Step::Over(Verdict::Unknown),
        // What is not done is recovery's: it is decided.
        (Step::Finish, _) => Step::Over(Verdict::Committed),
        (Step::RollBack, _) => Step::Over(Verdict::RolledBack),
        (Step::Over(verdict), _) => Step::Over(verdict),
    }
}

#[cfg(test)]
mod tests;
