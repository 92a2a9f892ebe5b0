//! Plans of texts that are made of the client's.
//!
//! What must always hold: parameters of such a plan are named as the client's own.

use weir_catalog::Constant;
use weir_sql::Bump;

use crate::planner::{PlanText, Planner};
use crate::{Plan, Read, Refusal, SessionFacts};

/// The plan of a text; `places`: which of the client's parameters those of the text are. None if it is not one statement.
pub(crate) fn plan(planner: &Planner<'_>, text: &[u8], places: &[u32], how: PlanText) -> Option<Result<Plan, Refusal>> {
    let arena = Bump::new();
    let session = planner.session;
    let constants: Option<Vec<Constant>> = match session.parameters {
        None => None,
        Some(all) => places.iter().map(|place| all.get(*place as usize).cloned()).collect(),
    };
    let facts = SessionFacts { parameters: constants.as_deref(), hinted: None, ..*session };
    let parsed = weir_sql::parse(&arena, text, session.mode);
    let Ok([statement]) = parsed.as_ref().map(|parsed| parsed.statements) else { return None };
    let own = |parameters: &[u32]| parameters.iter().filter_map(|own| places.get(*own as usize).copied()).collect();
    Some(match how(text, statement, planner.catalog, planner.weights, &facts, planner.effort) {
        Ok(Plan::Read(read)) => Ok(Plan::Read(Read { parameters: own(&read.parameters), ..read })),
        planned => planned,
    })
}
