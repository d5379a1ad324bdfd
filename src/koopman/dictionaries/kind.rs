//! What every kind of dictionaries does.

use faer::{Mat, MatRef};

use crate::basis::{Nested, NestedFeatures};
use crate::error::Result;
use crate::kernel::KernelSpec;
use crate::koopman::operator::Operator;
use crate::linalg::Coordinates;
use crate::persist::{Reader, Writer};

/// What the dictionary and the next one are called in model files.
pub(in crate::koopman) const FILED: [&str; 2] = ["inputs", "outputs"];

/// Nested features of the states `x` and of the states `x+`, which may be the same.
pub(in crate::koopman) trait Kind {
    /// That of the states `x`, each followed by the input that acts on it if there are inputs.
    fn dictionary(&self) -> &NestedFeatures;

    /// That of the states `x+`.
    fn dictionary_next(&self) -> &NestedFeatures;

    /// Numbers of points in the dictionary and in the next one.
    fn sizes(&self) -> (usize, usize) {
        (self.dictionary().dim(), self.dictionary_next().dim())
    }

    /// A round with one pair. On an error points may be stored already.
    fn learn_pair(&mut self, operator: &mut Operator, x: &[f64], next: &[f64]) -> Result<()>;

    /// Rounds with pairs `x, x+`, one after the other in `pairs`: the same as one by one to rounding, by
    /// matrix products. False, with nothing changed, where that cannot be done.
    ///
    /// Coordinates of all states of the block, their inner products and what the weights before it make of
    /// them are matrix products. Then the pairs are walked in order on numbers of the block alone: who is
    /// stored, what errors are made. Last, the weights receive the whole block.
    fn learn_block(&mut self, operator: &mut Operator, pairs: &[f64]) -> Result<bool>;

    /// Forgets what was stored beyond these sizes.
    fn truncate(&mut self, sizes: (usize, usize));

    /// See [`Dictionaries::matrix`](super::Dictionaries::matrix).
    fn matrix(&self, weights: MatRef<'_, f64>) -> Mat<f64> {
        weights.to_owned()
    }

    /// Writes what is stored.
    fn write(&self, out: &mut Writer);

    /// Reads what [`write`](Self::write) wrote.
    fn read(&mut self, from: &Reader<'_>, joint: &KernelSpec, states: &KernelSpec) -> Result<()>;
}

/// What the round of one pair works on, kept so that no pair allocates.
#[derive(Clone, Debug, Default)]
pub(in crate::koopman) struct RoundScratch {
    /// Coordinates of `x` and of `x+`.
    pub z: Coordinates,
    pub s: Coordinates,
    pub target: Vec<f64>,
    pub prediction: Vec<f64>,
}

impl RoundScratch {
    /// What the learner is to predict: the next state, then its coordinates.
    pub fn set_target(&mut self, next: &[f64]) {
        self.target.clear();
        self.target.extend_from_slice(next);
        self.target.extend_from_slice(self.s.as_slice());
        self.prediction.resize(self.target.len(), 0.0);
    }
}

/// The features of a dictionary that was begun when it was made.
pub(in crate::koopman) fn features_of(nested: &Nested) -> &NestedFeatures {
    nested.dictionary().unwrap_or_else(|| unreachable!("the width is known since it was made"))
}
