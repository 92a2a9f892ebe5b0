//! Plans that are used again: for a text that differs from one that was planned in the values of literals and parameters only.
//!
//! What must always hold: the plan that comes out is the one that the planner would make. What it depends on was noted while it was made
//! (see `trace`): a template answers for a statement only if all of that is the same: pinned values, the kinds of parameters, where
//! the session is if that was looked at, and the answer to each question where rows are. Whoever keeps templates keeps them apart by all
//! else: the text without its literals, the catalog, the mode and what [`SessionFacts`] says besides.

use std::mem::discriminant;
use std::ops::Range;
use std::sync::Arc;

use weir_catalog::{Bound, Catalog, Constant, Finder, Located, ShardId, Weights};
use weir_sql::ast::{Statement, StatementKind};

use crate::effort::Effort;
use crate::known::{Slot, Source};
use crate::piece::Piece;
use crate::statement::planned;
use crate::trace::{Asking, Noted, Notes, Operand, RangeEnd, RoutingAnswer, Trace};
use crate::{Plan, Raise, Read, Refusal, Route, SessionFacts};

/// Templates that are kept of texts of one shape.
const MOST: usize = 64;
/// So often a plan is made anew because no template fits, before it is given up that any does.
const MOST_MISSES: u32 = 256;

/// The values of an execution.
#[derive(Debug, Clone, Copy)]
pub struct Given<'a> {
    /// The text.
    pub text: &'a [u8],
    /// Where its plain literals stand: integers and decimals of at most 18 digits, and strings without quotes and backslashes within.
    pub literals: &'a [Range<usize>],
    /// The values of its parameters.
    pub parameters: &'a [Constant],
    /// The collation of literals.
    pub collation: &'a str,
    /// See [`SessionFacts::home`].
    pub home: ShardId,
}

/// Room for working out a plan, to be used again.
#[derive(Debug, Default)]
pub struct Scratch {
    constants: Vec<Constant>,
    answers: Vec<RoutingAnswer>,
}

/// Plans a statement as [`plan`](crate::plan) does, and says for which other values the plan is the same. `literals` are the text's plain
/// ones, in order. `None`: for none that could be told.
pub fn plan_traced(
    text: &[u8],
    literals: &[Range<usize>],
    statement: &Statement<'_>,
    catalog: &Catalog,
    weights: &Weights,
    session: &SessionFacts<'_>,
) -> (Result<Plan, Refusal>, Option<Template>) {
    use StatementKind as Kind;
    let trace = Trace::new(text, literals);
    let rows = matches!(statement.kind, Kind::Query(_) | Kind::Insert(_) | Kind::Update(_) | Kind::Delete(_));
    if rows {
        trace.look_through(statement);
    }
    let plan = planned(text, statement, catalog, weights, session, &Effort::of(text), Some(&trace), true);
    let cacheable = session.hinted.is_none() && (rows || plan == Ok(Plan::Home));
    let template = plan.as_ref().ok().filter(|_| cacheable).and_then(|plan| {
        let parameters = session.parameters.unwrap_or_default();
        let given = Given { text, literals, parameters, collation: session.collation, home: session.home };
        Template::of(plan, trace.into_notes(), &given, weights)
    });
    (plan, template)
}

/// A plan, and what it depends on.
#[derive(Debug)]
pub struct Template {
    pinned: Vec<(Slot, Pinned)>,
    /// The kinds of the parameters.
    kinds: Vec<ParameterKind>,
    home: Option<ShardId>,
    questions: Arc<[Question]>,
    answers: Vec<RoutingAnswer>,
    outcome: TemplatePlan,
}

#[derive(Debug, PartialEq)]
enum Pinned {
    Literal(Vec<u8>),
    Parameter(Constant),
}

/// What is the same of two parameters that are read alike.
#[derive(Debug, PartialEq)]
struct ParameterKind {
    kind: std::mem::Discriminant<Constant>,
    collation: Option<String>,
    explicit: bool,
}

/// Where rows are.
#[derive(Debug)]
struct Question {
    finder: Finder,
    asking: Asking,
}

#[derive(Debug)]
enum TemplatePlan {
    Home,
    Route { route: Route, explicit: Vec<Slot> },
    Read { read: Box<Read>, text: Vec<TextPart> },
}

/// A part of the text that shards get.
#[derive(Debug)]
enum TextPart {
    Text(Vec<u8>),
    Literal(Slot),
}

impl ParameterKind {
    fn of(constant: &Constant) -> ParameterKind {
        let (collation, explicit) = match constant {
            Constant::Text { collation, explicit, .. } => (Some(collation.clone()), *explicit),
            _ => (None, false),
        };
        ParameterKind { kind: discriminant(constant), collation, explicit }
    }

    fn is_of(&self, constant: &Constant) -> bool {
        let (of_constant, explicit) = match constant {
            Constant::Text { collation, explicit, .. } => (Some(&**collation), *explicit),
            _ => (None, false),
        };
        self.kind == discriminant(constant) && self.collation.as_deref() == of_constant && self.explicit == explicit
    }
}

impl Given<'_> {
    fn literal(&self, slot: Slot) -> Option<&[u8]> {
        self.literals.get(slot).map(|range| &self.text[range.clone()])
    }

    fn parameter(&self, slot: Slot) -> Option<&Constant> {
        self.parameters.get(slot.checked_sub(self.literals.len())?)
    }

    fn pinned(&self, slot: Slot) -> Option<Pinned> {
        let literal = self.literal(slot).map(|literal| Pinned::Literal(literal.to_vec()));
        literal.or_else(|| self.parameter(slot).map(|constant| Pinned::Parameter(constant.clone())))
    }

    fn has(&self, slot: Slot, pinned: &Pinned) -> bool {
        match pinned {
            Pinned::Literal(literal) => self.literal(slot) == Some(&**literal),
            Pinned::Parameter(constant) => self.parameter(slot) == Some(constant),
        }
    }

    fn integer(&self, slot: Slot) -> Option<i128> {
        match self.literal(slot) {
            Some(literal) => integer(literal),
            None => match self.parameter(slot)? {
                Constant::Integer(value) => Some(*value),
                _ => None,
            },
        }
    }

    /// Puts a value where another one was, in the room that it had.
    fn put(&self, operand: &Operand, into: &mut Constant) {
        let Source { slot, negated } = match operand {
            Operand::Source(source) => *source,
            Operand::Fixed(constant) => return put_constant(constant, into),
        };
        match self.literal(slot) {
            Some([b'\'', inner @ .., b'\'']) => put_text(inner, self.collation, false, into),
            Some(digits) => put_number(digits, negated, into),
            None => put_constant(self.parameter(slot).unwrap_or(&Constant::Null), into),
        }
    }
}

/// The value of at most 18 digits.
fn integer(digits: &[u8]) -> Option<i128> {
    let mut value: u64 = 0;
    for digit in digits {
        value = value.checked_mul(10)?.checked_add(u64::from(digit.checked_sub(b'0').filter(|digit| *digit < 10)?))?;
    }
    Some(i128::from(value))
}

/// An integer, or a decimal as it stands.
fn put_number(digits: &[u8], negated: bool, into: &mut Constant) {
    *into = match integer(digits) {
        Some(value) => Constant::Integer(if negated { -value } else { value }),
        None => {
            let sign = if negated { "-" } else { "" };
            Constant::Decimal(format!("{sign}{}", String::from_utf8_lossy(digits)))
        }
    };
}

fn put_constant(constant: &Constant, into: &mut Constant) {
    match constant {
        Constant::Text { bytes, collation, explicit } => put_text(bytes, collation, *explicit, into),
        other => into.clone_from(other),
    }
}

fn put_text(text: &[u8], collation: &str, explicit: bool, into: &mut Constant) {
    if let Constant::Text { bytes, collation: known, explicit: stronger } = into {
        bytes.clear();
        bytes.extend_from_slice(text);
        if known != collation {
            collation.clone_into(known);
        }
        *stronger = explicit;
        return;
    }
    *into = Constant::Text { bytes: text.to_vec(), collation: collation.to_owned(), explicit };
}

impl Question {
    fn of(noted: Noted, weights: &Weights) -> (Question, RoutingAnswer) {
        let finder = Finder::new(&noted.database, &noted.table, weights);
        (Question { finder, asking: noted.asking }, noted.answer)
    }

    fn is(&self, other: &Question) -> bool {
        self.finder.is_like(&other.finder) && self.asking == other.asking
    }

    fn answer(&self, given: &Given<'_>, weights: &Weights, constants: &mut Vec<Constant>) -> RoutingAnswer {
        let mut values = |operands: &[Operand]| {
            if constants.len() < operands.len() {
                constants.resize(operands.len(), Constant::Null);
            }
            for (operand, into) in operands.iter().zip(&mut *constants) {
                given.put(operand, into);
            }
            operands.len()
        };
        match &self.asking {
            Asking::NullSafe(operands) => {
                let count = values(operands);
                RoutingAnswer::Located(self.finder.null_safe(&constants[..count], weights))
            }
            Asking::Stored(operands) => {
                let count = values(operands);
                RoutingAnswer::Located(self.finder.stored(&constants[..count], weights))
            }
            Asking::Range(low, high) => {
                RoutingAnswer::Reach(self.finder.range(&bound(low, given), &bound(high, given)))
            }
        }
    }
}

fn bound(end: &RangeEnd, given: &Given<'_>) -> Bound {
    let Some((operand, included)) = end else { return Bound::Open };
    let mut constant = Constant::Null;
    given.put(operand, &mut constant);
    if *included { Bound::Including(constant) } else { Bound::Excluding(constant) }
}

impl Template {
    fn of(plan: &Plan, notes: Notes, given: &Given<'_>, weights: &Weights) -> Option<Template> {
        // That is so by the names of its tables alone.
        let notes = if *plan == Plan::Home { Notes { more: notes.more, ..Notes::default() } } else { notes };
        let unsettled = |noted: &Noted| matches!(noted.answer, RoutingAnswer::Located(Located::NeedsWeights(..)));
        if notes.more || notes.asked.iter().any(unsettled) {
            return None;
        }
        let outcome = match plan {
            Plan::Home => TemplatePlan::Home,
            Plan::Route(route) if route.text.is_none() && route.raise.is_some() != notes.explicit.is_empty() => {
                TemplatePlan::Route { route: route.clone(), explicit: notes.explicit }
            }
            Plan::Read(read) if !notes.pieces.is_empty() => {
                let text = parts(&notes.pieces, given)?;
                TemplatePlan::Read { read: Box::new(Read { text: Vec::new(), ..read.clone() }), text }
            }
            _ => return None,
        };
        let pinned = notes.pinned.iter().map(|slot| Some((*slot, given.pinned(*slot)?))).collect::<Option<_>>()?;
        let kinds = given.parameters.iter().map(ParameterKind::of).collect();
        let (questions, answers): (Vec<_>, Vec<_>) =
            notes.asked.into_iter().map(|noted| Question::of(noted, weights)).unzip();
        let home = notes.home.then_some(given.home);
        Some(Template { pinned, kinds, home, questions: questions.into(), answers, outcome })
    }

    /// Whether all but the answers is the same.
    fn may_fit(&self, given: &Given<'_>) -> bool {
        self.kinds.len() == given.parameters.len()
            && self.home.is_none_or(|home| home == given.home)
            && self.kinds.iter().zip(given.parameters).all(|(kind, parameter)| kind.is_of(parameter))
            && self.pinned.iter().all(|(slot, pinned)| given.has(*slot, pinned))
            && match &self.outcome {
                TemplatePlan::Route { explicit, .. } => {
                    explicit.iter().all(|slot| given.integer(*slot).is_some_and(|value| value > 0))
                }
                _ => true,
            }
    }

    fn plan(&self, given: &Given<'_>) -> Plan {
        match &self.outcome {
            TemplatePlan::Home => Plan::Home,
            TemplatePlan::Route { route, explicit } => {
                let greatest = explicit.iter().filter_map(|slot| u64::try_from(given.integer(*slot)?).ok()).max();
                let raise = route.raise.as_ref().zip(greatest).map(|(raise, value)| Raise { value, ..raise.clone() });
                Plan::Route(Route { shard: route.shard, text: None, raise, reason: String::new() })
            }
            TemplatePlan::Read { read, text } => {
                let mut out = Vec::with_capacity(given.text.len() * 2);
                for part in text {
                    match part {
                        TextPart::Text(text) => out.extend_from_slice(text),
                        TextPart::Literal(slot) => out.extend_from_slice(given.literal(*slot).unwrap_or_default()),
                    }
                }
                Plan::Read(Read { text: out, ..Read::clone(read) })
            }
        }
    }
}

/// The text that shards get, with places for literals.
fn parts(pieces: &[Piece], given: &Given<'_>) -> Option<Vec<TextPart>> {
    let mut parts: Vec<TextPart> = Vec::new();
    for piece in pieces {
        let range = match piece {
            Piece::New(text) => {
                push_text(&mut parts, text);
                continue;
            }
            Piece::Own(range) => range,
        };
        let mut from = range.start;
        for (slot, literal) in given.literals.iter().enumerate() {
            if literal.end <= range.start || literal.start >= range.end {
                continue;
            }
            if literal.start < range.start || literal.end > range.end {
                return None;
            }
            push_text(&mut parts, &given.text[from..literal.start]);
            parts.push(TextPart::Literal(slot));
            from = literal.end;
        }
        push_text(&mut parts, &given.text[from..range.end]);
    }
    Some(parts)
}

fn push_text(parts: &mut Vec<TextPart>, text: &[u8]) {
    match parts.last_mut() {
        Some(TextPart::Text(last)) => last.extend_from_slice(text),
        _ => parts.push(TextPart::Text(text.to_vec())),
    }
}

/// The templates of texts of one shape, planned under the same circumstances.
#[derive(Debug, Default)]
pub struct Templates {
    all: Vec<Template>,
    misses: u32,
}

impl Templates {
    /// The plan of an execution, if it follows from an earlier one. Its reason is not told again.
    pub fn plan(&mut self, given: &Given<'_>, weights: &Weights, scratch: &mut Scratch) -> Option<Plan> {
        let mut asked: Option<&Arc<[Question]>> = None;
        let mut found = None;
        for (at, template) in self.all.iter().enumerate() {
            if !template.may_fit(given) {
                continue;
            }
            if !asked.is_some_and(|asked| Arc::ptr_eq(asked, &template.questions)) {
                asked = Some(&template.questions);
                scratch.answers.clear();
                for question in &*template.questions {
                    scratch.answers.push(question.answer(given, weights, &mut scratch.constants));
                }
            }
            if scratch.answers == template.answers {
                found = Some(at);
                break;
            }
        }
        let at = found?;
        self.misses = 0;
        Some(self.all[at].plan(given))
    }

    /// Whether templates of such texts are worth their making: they are not if none ever fits.
    pub fn are_useful(&self) -> bool {
        self.misses < MOST_MISSES
    }

    /// A plan had to be made. Its template is kept, if it has one.
    pub fn learn(&mut self, template: Option<Template>) {
        self.misses = self.misses.saturating_add(1);
        let Some(mut template) = template else { return };
        let alike = |other: &&Template| {
            other.questions.len() == template.questions.len()
                && other.questions.iter().zip(&*template.questions).all(|(one, other)| one.is(other))
        };
        if let Some(other) = self.all.iter().find(alike) {
            template.questions = other.questions.clone();
        }
        if self.all.len() >= MOST {
            self.all.remove(0);
        }
        self.all.push(template);
    }
}
