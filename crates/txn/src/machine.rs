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
pub struct Participation {
    /// How it takes part.
    pub role: Role,
    /// It may have changed something.
    pub wrote: bool,
}

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitStep {
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
    /// It is one of the two everywhere; no server could be asked which.
    Unknown,
}

/// How a step went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepResult {
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
pub fn needs_decision(parts: impl IntoIterator<Item = Participation>) -> bool {
    parts.into_iter().filter(|part| part.wrote).count() > 1
}

/// The first step of a commit.
pub fn begin(parts: &[Participation]) -> CommitStep {
    let writers = parts.iter().filter(|part| part.wrote).count();
    match writers {
        0 => CommitStep::Finish,
        1 if parts.len() == 1 => CommitStep::CommitOnly,
        1 => CommitStep::Check,
        _ => CommitStep::Prepare,
    }
}

/// What follows from how a step went.
pub fn next(step: CommitStep, went: StepResult) -> CommitStep {
    match (step, went) {
        (CommitStep::Prepare, StepResult::Well) => CommitStep::Decide,
        (CommitStep::Check, StepResult::Well) => CommitStep::CommitOnly,
        (CommitStep::Prepare | CommitStep::Check, _) => CommitStep::RollBack,
        (CommitStep::Decide, StepResult::Well) => CommitStep::Finish,
        // An error's meaning for the transaction is the server's; the decision's presence is not open to doubt.
        (CommitStep::Decide, _) => CommitStep::LookUp,
        (CommitStep::LookUp, StepResult::FoundCommitted) => CommitStep::Finish,
        (CommitStep::LookUp, StepResult::FoundAborted) => CommitStep::RollBack,
        (CommitStep::LookUp, _) => CommitStep::Over(Verdict::Unknown),
        (CommitStep::CommitOnly, StepResult::Well) => CommitStep::Finish,
        (CommitStep::CommitOnly, StepResult::Refused) => CommitStep::RollBack,
        // As with one server: nobody can tell.
        (CommitStep::CommitOnly, _) => CommitStep::Over(Verdict::Unknown),
        // What is not done is recovery's: it is decided.
        (CommitStep::Finish, _) => CommitStep::Over(Verdict::Committed),
        (CommitStep::RollBack, _) => CommitStep::Over(Verdict::RolledBack),
        (CommitStep::Over(verdict), _) => CommitStep::Over(verdict),
    }
}

#[cfg(test)]
mod tests;
