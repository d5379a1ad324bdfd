//! Rollback of a call that fails.

use ndarray::ArrayView1;

use super::Stream;
use super::head::Head;
use super::schedule::Schedule;
use crate::basis::{AsBasis, Basis as _, BasisGrowth as _};
use crate::learner::AsLearner;
use crate::model::Model as _;

/// State before a call that may fail.
pub(super) enum Before<B, L> {
    /// Empty.
    Fresh(Box<(B, L)>),
    /// Not empty, and the learner may refuse a row.
    Learned { dim: usize, basis: Option<Box<B>>, head: Box<Head<L>>, n_seen: u64, schedule: Schedule },
    /// Nothing to restore.
    Same,
}

impl<B: AsBasis, L: AsLearner> Stream<B, L> {
    /// What is needed to restore the model after an error in a call of `n` rows. Single rows roll
    /// back themselves; learners that cannot fail on validated rows are not copied; a basis that
    /// only appends drops what it appended.
    pub(super) fn snapshot(&self, n: usize, weights: Option<ArrayView1<'_, f64>>) -> Before<B, L> {
        let basis = self.basis.as_basis();
        if self.n_outputs.is_none() {
            Before::Fresh(Box::new((self.basis.clone(), self.head.learner.clone())))
        } else if n > 1 && self.can_refuse(weights) {
            let dim = basis.dim();
            let basis = (!basis.appends_only()).then(|| Box::new(self.basis.clone()));
            let Self { n_seen, schedule, .. } = *self;
            Before::Learned { dim, basis, head: Box::new(self.head.clone()), n_seen, schedule }
        } else {
            Before::Same
        }
    }

    pub(super) fn restore(&mut self, before: Before<B, L>) {
        match before {
            Before::Fresh(parts) => *self = Self::new(parts.0, parts.1),
            Before::Learned { dim, basis, head, n_seen, schedule } => {
                match basis {
                    Some(basis) => self.basis = *basis,
                    None => self.basis.as_basis_mut().rollback(dim),
                }
                (self.head, self.n_seen, self.schedule) = (*head, n_seen, schedule);
            }
            Before::Same => {}
        }
    }
}
