//! The plans that a worker knows, by the shapes of texts.
//!
//! What must always hold: a plan is found only for a text of the same shape, in the same mode, of a session under the same circumstances,
//! with a catalog that is the same as far as the text's [`Words`] mean something of it; that it is right then is what `plan`'s templates
//! and [`Difference`] promise. The number of shapes is bounded by
//! [`KnownTexts`], that of plans of one shape by [`Templates`], that of circumstances of one shape here.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use weir_catalog::{Catalog, Constant, Difference, ShardId, Weights, Words};
use weir_plan::{Given, Plan, Scratch, Template, Templates};
use weir_sql::{KnownTexts, LexMode};

use crate::literals::Literals;

/// Circumstances that are kept for one shape.
const MOST_OF_SHAPE: usize = 16;
/// Circumstances that are known in all. Sessions keep their own.
const MOST: usize = 64;

/// What a plan depends on besides the statement, the catalog, and what templates look at themselves.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Circumstances {
    pub(crate) database: Option<Box<[u8]>>,
    pub(crate) sql_mode: String,
    pub(crate) literals: Literals,
}

/// A statement that a plan is looked up for.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) mode: LexMode,
    pub(crate) circumstances: &'a Rc<Circumstances>,
    pub(crate) catalog: &'a Arc<Catalog>,
    pub(crate) weights: &'a Weights,
    pub(crate) home: ShardId,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Plans(RefCell<KnownPlans>);

#[derive(Debug, Default)]
struct KnownPlans {
    catalog: Option<Arc<Catalog>>,
    shapes: KnownTexts<Shape>,
    circumstances: Vec<Rc<Circumstances>>,
    literals: Vec<Range<usize>>,
    parameters: Vec<Constant>,
    scratch: Scratch,
}

/// What is known of texts of one shape. Of one that has come once: nothing.
#[derive(Debug, Default)]
struct Shape(Vec<PlansOfShape>);

/// The plans of one shape, under the same circumstances.
#[derive(Debug)]
struct PlansOfShape {
    circumstances: Rc<Circumstances>,
    words: Words,
    templates: Templates,
}

impl Shape {
    fn templates(&mut self, circumstances: &Rc<Circumstances>) -> Option<&mut Templates> {
        let known = self.0.iter_mut().find(|known| Rc::ptr_eq(&known.circumstances, circumstances));
        known.map(|known| &mut known.templates)
    }
}

impl KnownPlans {
    /// Plans are of one catalog. Those that are others with this one are forgotten.
    fn turn_to(&mut self, catalog: &Arc<Catalog>) {
        let Some(before) = &self.catalog else {
            self.catalog = Some(catalog.clone());
            return;
        };
        if Arc::ptr_eq(before, catalog) {
            return;
        }
        let difference = Difference::between(before, catalog);
        for shape in self.shapes.known_mut() {
            shape.0.retain(|known| !difference.touches(&known.words));
        }
        self.catalog = Some(catalog.clone());
    }
}

impl Plans {
    /// Circumstances, the same for all sessions that have them.
    pub(crate) fn share(&self, circumstances: Circumstances) -> Rc<Circumstances> {
        let mut known = self.0.borrow_mut();
        if let Some(shared) = known.circumstances.iter().find(|shared| ***shared == circumstances) {
            return shared.clone();
        }
        if known.circumstances.len() >= MOST {
            known.circumstances.remove(0);
        }
        let shared = Rc::new(circumstances);
        known.circumstances.push(shared.clone());
        shared
    }

    /// The plan of a statement, if it is known. `parameters` puts the values of its parameters there, and says whether it could.
    pub(crate) fn plan(
        &self,
        wanted: &Wanted<'_>,
        parameters: impl FnOnce(&mut Vec<Constant>) -> bool,
    ) -> Option<Plan> {
        let known = &mut *self.0.borrow_mut();
        known.turn_to(wanted.catalog);
        let shape = known.shapes.get_with(wanted.text, wanted.mode, &mut known.literals)?;
        let templates = shape.templates(wanted.circumstances)?;
        known.parameters.clear();
        if !parameters(&mut known.parameters) {
            return None;
        }
        let given = Given {
            text: wanted.text,
            literals: &known.literals,
            parameters: &known.parameters,
            collation: &wanted.circumstances.literals.collation,
            home: wanted.home,
        };
        templates.plan(&given, wanted.weights, &mut known.scratch)
    }

    /// A statement has to be planned: where its literals stand, if the plan is worth keeping.
    pub(crate) fn may_learn(&self, wanted: &Wanted<'_>) -> Option<Vec<Range<usize>>> {
        let known = &mut *self.0.borrow_mut();
        known.turn_to(wanted.catalog);
        let Some(shape) = known.shapes.get_with(wanted.text, wanted.mode, &mut known.literals) else {
            known.shapes.keep(wanted.text, wanted.mode, Shape::default());
            return None;
        };
        let useful = shape.templates(wanted.circumstances).is_none_or(|templates| templates.are_useful());
        useful.then(|| known.literals.clone())
    }

    /// A statement was planned. No template: nothing can be said of others like it.
    pub(crate) fn learn(&self, wanted: &Wanted<'_>, template: Option<Template>) {
        let known = &mut *self.0.borrow_mut();
        known.turn_to(wanted.catalog);
        let Some(shape) = known.shapes.get_with(wanted.text, wanted.mode, &mut known.literals) else { return };
        if shape.templates(wanted.circumstances).is_none() {
            if shape.0.len() >= MOST_OF_SHAPE {
                shape.0.remove(0);
            }
            let circumstances = wanted.circumstances.clone();
            let words = Words::of(wanted.text, circumstances.database.as_deref(), wanted.catalog);
            shape.0.push(PlansOfShape { circumstances, words, templates: Templates::default() });
        }
        if let Some(templates) = shape.templates(wanted.circumstances) {
            templates.learn(template);
        }
    }
}
