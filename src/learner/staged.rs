//! One learner until the basis replaces its coordinates, another one after that.

use super::{
    AsLearner, Covariance, Learner, LearnerBlocks, LearnerFile, LearnerLimits, LearnerMemory,
    LearnerUncertainty, Memory, Rows,
};
use crate::error::{Error, Result};
use crate::linalg::{ChangeOfBasis, Coordinates, Panel};
use crate::persist::{Reader, Writer};

/// A first learner in the initial coordinates of a basis, and a second one, untrained, after the
/// basis has [replaced](ChangeOfBasis) them.
///
/// For bases of two stages, such as [`Sketched`](crate::basis::Sketched): first-order steps while
/// points are collected, second-order ones on the features computed from them.
#[derive(Clone, Debug)]
pub struct Staged<L> {
    pub(super) first: L,
    pub(super) then: L,
    second: bool,
}

impl<L: AsLearner> Staged<L> {
    /// Two learners that have not learned anything.
    #[must_use]
    pub fn new(first: L, then: L) -> Self {
        Self { first, then, second: false }
    }

    fn now(&self) -> &L::Target {
        if self.second { self.then.as_learner() } else { self.first.as_learner() }
    }

    fn now_mut(&mut self) -> &mut L::Target {
        if self.second { self.then.as_learner_mut() } else { self.first.as_learner_mut() }
    }
}

impl<L: AsLearner> Learner for Staged<L> {
    fn weights(&self) -> &Panel {
        self.now().weights()
    }

    fn begin(&mut self, n_outputs: usize) {
        self.first.as_learner_mut().begin(n_outputs);
        self.then.as_learner_mut().begin(n_outputs);
    }

    fn grow(&mut self, dim: usize) {
        self.now_mut().grow(dim);
    }

    fn shrink(&mut self, dim: usize) {
        self.now_mut().shrink(dim);
    }

    fn change_basis(&mut self, change: &ChangeOfBasis) {
        if self.second {
            self.then.as_learner_mut().change_basis(change);
            return;
        }
        self.second = true;
        self.first.as_learner_mut().change_basis(&ChangeOfBasis::Restart { dim: 0 });
        self.then.as_learner_mut().grow(change.dim());
    }

    fn predict(&self, z: &Coordinates, residual: f64, out: &mut [f64]) {
        self.now().predict(z, residual, out);
    }

    fn learn(&mut self, z: &Coordinates, y: &[f64], weight: f64, prediction: &mut [f64]) -> Result<()> {
        self.now_mut().learn(z, y, weight, prediction)
    }
}

impl<L: AsLearner> LearnerLimits for Staged<L> {
    fn expect(&mut self, most: usize) {
        self.first.as_learner_mut().expect(most);
        self.then.as_learner_mut().expect(most);
    }

    fn has_loss(&self, z: &Coordinates, y: &[f64], scratch: &mut [f64]) -> bool {
        self.now().has_loss(z, y, scratch)
    }

    fn check_size(&self, dim: usize, n_outputs: usize) -> Result<()> {
        self.now().check_size(dim, n_outputs)
    }

    fn largest_target(&self) -> f64 {
        self.first.as_learner().largest_target().min(self.then.as_learner().largest_target())
    }

    fn can_diverge(&self) -> bool {
        self.first.as_learner().can_diverge() || self.then.as_learner().can_diverge()
    }
}

impl<L: AsLearner> LearnerBlocks for Staged<L> {
    fn blocks_from(&self) -> usize {
        self.now().blocks_from()
    }

    fn grows_in_blocks(&self) -> bool {
        self.now().grows_in_blocks()
    }

    fn learn_block(&mut self, rows: &Rows<'_>, predictions: Option<&mut Panel>) -> Result<usize> {
        self.now_mut().learn_block(rows, predictions)
    }
}

impl<L: AsLearner> LearnerMemory for Staged<L> {
    fn memory(&self) -> Option<&Memory> {
        self.now().memory()
    }

    fn backfill(&mut self, newest: &[f64]) {
        self.now_mut().backfill(newest);
    }

    fn store(&mut self, x: &[f64], z: &Coordinates, y: &[f64], weight: f64) {
        self.now_mut().store(x, z, y, weight);
    }
}

impl<L: AsLearner> LearnerUncertainty for Staged<L> {
    fn slopes(&self) -> Panel {
        self.now().slopes()
    }

    fn covariance(&self) -> Option<Covariance<'_>> {
        self.now().covariance()
    }

    fn centers(&self) -> bool {
        self.now().centers()
    }

    fn learned_leverages(&self) -> &[f64] {
        self.now().learned_leverages()
    }
}

impl<L: AsLearner<Target: LearnerFile>> LearnerFile for Staged<L> {
    fn write(&self, out: &mut Writer) {
        // The first learner is not used after the second has started.
        out.counts("learner.stage", &[u64::from(self.second)]);
        self.now().write(out);
    }

    fn read(&mut self, from: &Reader<'_>) -> Result<()> {
        let [stage] = from.counts("learner.stage")?;
        if stage > 1 {
            return Err(Error::file("learner.stage is neither 0 nor 1"));
        }
        self.second = stage == 1;
        self.now_mut().read(from)?;
        let outputs = self.n_outputs();
        if outputs > 0 {
            self.first.as_learner_mut().begin(outputs);
            self.then.as_learner_mut().begin(outputs);
        }
        Ok(())
    }
}
