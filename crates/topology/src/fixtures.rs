//! Facts for tests: of a server that answers, and has said nothing in particular.

use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_backend::standing::{Defaults, SemiSync};
use weir_backend::{Observation, Position, Standing};

use crate::follows::Follows;
use crate::roles::Fact;
use crate::settings::Promotion;

/// It is in no group.
pub(crate) fn standing(asked: Instant) -> Standing {
    Standing {
        asked,
        uuid: None,
        report_host: None,
        port: 0,
        source: None,
        source_unknown: None,
        semi_sync: SemiSync::default(),
        group_replication: None,
        galera: None,
        defaults: Defaults::default(),
    }
}

/// It is at this position, and others see all of it.
pub(crate) fn observation(asked: Instant, read_only: bool, position: Position) -> Observation {
    let position = Arc::new(position);
    Observation { asked, life: 1, start: 1, read_only, has_gtids: true, applied: position.clone(), visible: position }
}

/// It answers.
pub(crate) fn fact(observation: Option<Observation>, standing: Option<Standing>) -> Fact {
    Fact {
        weight: None,
        up: true,
        known: true,
        why_down: String::new(),
        down_for: Duration::ZERO,
        silent_for: Duration::ZERO,
        same_kind: true,
        as_of: observation.as_ref().map(|observation| observation.asked),
        observation: observation.map(Arc::new),
        standing: standing.map(Arc::new),
        promotion: Promotion::Neutral,
        follows: Follows::Unknown,
    }
}

/// With something else that it says of its part in the group.
pub(crate) fn with(fact: Fact, edit: impl FnOnce(&mut Standing)) -> Fact {
    let mut standing = fact.standing.as_deref().expect("it has one").clone();
    edit(&mut standing);
    Fact { standing: Some(Arc::new(standing)), ..fact }
}
