//! Every step with everything that can come of it.

use super::*;

const WROTE: Participation = Participation { role: Role::Branch, wrote: true };
const READ: Participation = Participation { role: Role::Branch, wrote: false };
const FIRST_WROTE: Participation = Participation { role: Role::First, wrote: true };
const FIRST_READ: Participation = Participation { role: Role::First, wrote: false };

#[test]
fn only_several_writers_need_a_decision() {
    let cases: [(&[Participation], CommitStep); 9] = [
        (&[FIRST_READ], CommitStep::Finish),
        (&[FIRST_READ, READ], CommitStep::Finish),
        (&[FIRST_WROTE], CommitStep::CommitOnly),
        (&[FIRST_WROTE, READ], CommitStep::Check),
        (&[FIRST_READ, WROTE], CommitStep::Check),
        (&[FIRST_WROTE, WROTE], CommitStep::Prepare),
        (&[FIRST_READ, WROTE, WROTE], CommitStep::Prepare),
        (&[FIRST_WROTE, READ, WROTE], CommitStep::Prepare),
        (&[FIRST_READ, READ, READ], CommitStep::Finish),
    ];
    for (parts, step) in cases {
        assert_eq!(begin(parts), step, "{parts:?}");
        assert_eq!(needs_decision(parts.iter().copied()), step == CommitStep::Prepare, "{parts:?}");
    }
}

#[test]
fn each_outcome_of_each_step_has_its_next() {
    use CommitStep::*;
    use StepResult::*;
    let unknown = Over(Verdict::Unknown);
    let cases = [
        (Prepare, [(Well, Decide), (Refused, RollBack), (Lost, RollBack)]),
        (Check, [(Well, CommitOnly), (Refused, RollBack), (Lost, RollBack)]),
        (Decide, [(Well, Finish), (Refused, LookUp), (Lost, LookUp)]),
        (LookUp, [(FoundCommitted, Finish), (FoundAborted, RollBack), (NotFound, unknown)]),
        (CommitOnly, [(Well, Finish), (Refused, RollBack), (Lost, unknown)]),
    ];
    for (step, outcomes) in cases {
        for (went, then) in outcomes {
            assert_eq!(next(step, went), then, "{step:?} {went:?}");
        }
    }
    for went in [Well, Refused, Lost] {
        assert_eq!(next(Finish, went), Over(Verdict::Committed));
        assert_eq!(next(RollBack, went), Over(Verdict::RolledBack));
    }
}

/// Walks all ways from a beginning; returns the ends, each with the steps before it.
fn walk(step: CommitStep, before: Vec<CommitStep>, ends: &mut Vec<(Vec<CommitStep>, Verdict)>) {
    assert!(before.len() < 8, "it ends: {before:?}");
    if let CommitStep::Over(verdict) = step {
        ends.push((before, verdict));
        return;
    }
    let outcomes: &[StepResult] = match step {
        CommitStep::LookUp => &[StepResult::FoundCommitted, StepResult::FoundAborted, StepResult::NotFound],
        _ => &[StepResult::Well, StepResult::Refused, StepResult::Lost],
    };
    for went in outcomes {
        let mut then = before.clone();
        then.push(step);
        walk(next(step, *went), then, ends);
    }
}

#[test]
fn whatever_happens_nothing_is_rolled_back_behind_a_decision_and_nothing_finished_before_one() {
    for first in [CommitStep::Prepare, CommitStep::Check, CommitStep::CommitOnly, CommitStep::Finish] {
        let mut ends = Vec::new();
        walk(first, Vec::new(), &mut ends);
        for (steps, verdict) in ends {
            let finished = steps.contains(&CommitStep::Finish);
            let rolled_back = steps.contains(&CommitStep::RollBack);
            assert!(!(finished && rolled_back), "{steps:?}");
            assert_eq!(verdict == Verdict::Committed, finished, "{steps:?}");
            assert_eq!(verdict == Verdict::RolledBack, rolled_back, "{steps:?}");
            if first == CommitStep::Prepare && finished {
                assert_eq!(steps[..2], [CommitStep::Prepare, CommitStep::Decide], "{steps:?}");
            }
        }
    }
}
