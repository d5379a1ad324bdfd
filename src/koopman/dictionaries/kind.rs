//! Interface of all kinds of dictionaries.

use faer::{Mat, MatRef};

use crate::basis::{Nested, NestedFeatures};
use crate::error::Result;
use crate::kernel::KernelSpec;
use crate::koopman::operator::Operator;
use crate::koopman::sums::Weights;
use crate::linalg::Coordinates;
use crate::persist::{Reader, Writer};

/// Names of the dictionary and of the next one in model files.
pub(in crate::koopman) const FILED: [&str; 2] = ["inputs", "outputs"];

/// Nested features of the states `x` and of the states `x+`, which may be the same.
pub(in crate::koopman) trait Kind {
    /// Features of the states `x`, each followed by its input if there are inputs.
    fn dictionary(&self) -> &NestedFeatures;

    /// Features of the states `x+`.
    fn dictionary_next(&self) -> &NestedFeatures;

    /// Numbers of points in the dictionary and in the next one.
    fn sizes(&self) -> (usize, usize) {
        (self.dictionary().dim(), self.dictionary_next().dim())
    }

    /// A round with one pair. On an error points may be stored already.
    fn learn_pair(&mut self, operator: &mut Operator, x: &[f64], next: &[f64], weight: f64) -> Result<()>;

    /// Rounds with consecutive pairs `x, x+` of `pairs`: equal to one by one to rounding, by matrix
    /// products. False, with nothing changed, if that is not possible.
    ///
    /// Coordinates of all states of the block, their inner products and the predictions by the
    /// weights before it are matrix products. Then the pairs are processed in order on numbers of
    /// the block alone: admission and errors. Last, the weights receive the whole block.
    fn learn_block(&mut self, operator: &mut Operator, pairs: &[f64], weights: Weights<'_>) -> Result<bool>;

    /// Drops the points beyond these sizes.
    fn truncate(&mut self, sizes: (usize, usize));

    /// See [`Dictionaries::matrix`](super::Dictionaries::matrix).
    fn matrix(&self, weights: MatRef<'_, f64>) -> Mat<f64> {
        weights.to_owned()
    }

    /// Writes the stored points.
    fn write(&self, out: &mut Writer);

    /// Reads the output of [`write`](Self::write).
    fn read(&mut self, from: &Reader<'_>, joint: &KernelSpec, states: &KernelSpec) -> Result<()>;
}

/// Scratch of a round, kept so that no pair allocates.
#[derive(Clone, Debug, Default)]
pub(in crate::koopman) struct RoundScratch {
    /// Coordinates of `x` and of `x+`.
    pub z: Coordinates,
    pub s: Coordinates,
    pub target: Vec<f64>,
    pub prediction: Vec<f64>,
}

impl RoundScratch {
    /// Targets of the learner: the next state, then its coordinates.
    pub fn set_target(&mut self, next: &[f64]) {
        self.target.clear();
        self.target.extend_from_slice(next);
        self.target.extend_from_slice(self.s.as_slice());
        self.prediction.resize(self.target.len(), 0.0);
    }
}

/// The features of a dictionary after its creation.
pub(in crate::koopman) fn features_of(nested: &Nested) -> &NestedFeatures {
    nested.dictionary().unwrap_or_else(|| unreachable!("the width is known since it was made"))
}
