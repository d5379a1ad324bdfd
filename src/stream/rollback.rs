//! What it takes to undo a call that fails.

use ndarray::ArrayView1;

use super::Stream;
use super::schedule::Schedule;
use crate::basis::{AsBasis, Basis as _};
use crate::learner::AsLearner;
use crate::model::Model as _;
use crate::uncertainty::Errors;

/// What a model was before a call that may fail.
pub(super) enum Before<B, L> {
    /// It had seen nothing.
    Fresh(Box<(B, L)>),
    /// It had learned rows, and its learner may refuse one.
    Learned {
        dim: usize,
        basis: Option<Box<B>>,
        learner: Box<L>,
        heavy: bool,
        n_seen: u64,
        schedule: Schedule,
        errors: Box<Errors>,
    },
    /// Nothing to put back.
    Same,
}

impl<B: AsBasis, L: AsLearner> Stream<B, L> {
    /// What an error in a call of `n` rows needs to put the model back. One row undoes itself, and
    /// learners that cannot fail on checked rows are not copied; a basis that only appends forgets what it
    /// appended.
    pub(super) fn snapshot(&self, n: usize, weights: Option<ArrayView1<'_, f64>>) -> Before<B, L> {
        let basis = self.basis.as_basis();
        if self.n_outputs.is_none() {
            Before::Fresh(Box::new((self.basis.clone(), self.learner.clone())))
        } else if n > 1 && self.can_refuse(weights) {
            let (dim, learner) = (basis.dim(), Box::new(self.learner.clone()));
            let basis = (!basis.appends_only()).then(|| Box::new(self.basis.clone()));
            let Self { heavy, n_seen, schedule, .. } = *self;
            let errors = Box::new(self.errors.clone());
            Before::Learned { dim, basis, learner, heavy, n_seen, schedule, errors }
        } else {
            Before::Same
        }
    }

    pub(super) fn restore(&mut self, before: Before<B, L>) {
        match before {
            Before::Fresh(parts) => *self = Self::new(parts.0, parts.1),
            Before::Learned { dim, basis, learner, heavy, n_seen, schedule, errors } => {
                match basis {
                    Some(basis) => self.basis = *basis,
                    None => self.basis.as_basis_mut().rollback(dim),
                }
                self.learner = *learner;
                (self.heavy, self.n_seen, self.schedule, self.errors) = (heavy, n_seen, schedule, *errors);
            }
            Before::Same => {}
        }
    }
}
