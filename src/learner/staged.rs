//! One learner until the basis changes its coordinates, another from then on.

use super::{Learner, LearnerSpec, Memory, Rows};
use crate::error::{Error, Result};
use crate::linalg::{ChangeOfBasis, Coordinates, Panel};
use crate::persist::{Reader, Writer};

/// A first learner in the coordinates that a basis begins with, and another one, which starts from
/// nothing, once the basis has [replaced](ChangeOfBasis) them.
///
/// For bases of two stages, such as [`Sketched`](crate::basis::Sketched): first-order steps while
/// points are gathered, second-order ones on the few features made of them.
#[derive(Clone)]
pub struct Staged {
    first: Box<dyn Learner>,
    then: Box<dyn Learner>,
    second: bool,
}

impl Staged {
    /// Two learners whose parameters are checked; neither may be staged itself.
    pub fn new(first: &LearnerSpec, then: &LearnerSpec) -> Result<Self> {
        for spec in [first, then] {
            if matches!(spec, LearnerSpec::Staged { .. }) {
                return Err(Error::Specification {
                    part: "learner",
                    reason: "a stage cannot consist of stages".into(),
                });
            }
        }
        Ok(Self { first: first.build()?, then: then.build()?, second: false })
    }

    /// Whether the second learner is at work.
    #[must_use]
    pub fn in_second_stage(&self) -> bool {
        self.second
    }

    fn now(&self) -> &dyn Learner {
        if self.second { &*self.then } else { &*self.first }
    }

    fn now_mut(&mut self) -> &mut dyn Learner {
        if self.second { &mut *self.then } else { &mut *self.first }
    }
}

impl Learner for Staged {
    fn weights(&self) -> &Panel {
        self.now().weights()
    }

    fn begin(&mut self, n_outputs: usize) {
        self.first.begin(n_outputs);
        self.then.begin(n_outputs);
    }

    fn grow(&mut self, dim: usize) {
        self.now_mut().grow(dim);
    }

    fn shrink(&mut self, dim: usize) {
        self.now_mut().shrink(dim);
    }

    fn change_basis(&mut self, change: &ChangeOfBasis) {
        if self.second {
            self.then.change_basis(change);
            return;
        }
        self.second = true;
        let dim = match change {
            ChangeOfBasis::Restart { dim } => *dim,
            ChangeOfBasis::Map(map) => map.nrows(),
        };
        self.first.change_basis(&ChangeOfBasis::Restart { dim: 0 });
        self.then.grow(dim);
    }

    fn memory(&self) -> Option<&Memory> {
        self.now().memory()
    }

    fn backfill(&mut self, newest: &[f64]) {
        self.now_mut().backfill(newest);
    }

    fn store(&mut self, x: &[f64], z: &Coordinates, y: &[f64], weight: f64) {
        self.now_mut().store(x, z, y, weight);
    }

    fn predict(&self, z: &Coordinates, novelty: f64, out: &mut [f64]) {
        self.now().predict(z, novelty, out);
    }

    fn has_loss(&self, z: &Coordinates, y: &[f64], scratch: &mut [f64]) -> bool {
        self.now().has_loss(z, y, scratch)
    }

    fn learn(&mut self, z: &Coordinates, y: &[f64], weight: f64, prediction: &mut [f64]) -> Result<()> {
        self.now_mut().learn(z, y, weight, prediction)
    }

    fn blocks_from(&self) -> usize {
        self.now().blocks_from()
    }

    fn learn_block(&mut self, rows: &Rows<'_>, predictions: Option<&mut Panel>) -> Result<usize> {
        self.now_mut().learn_block(rows, predictions)
    }

    fn can_diverge(&self) -> bool {
        self.first.can_diverge() || self.then.can_diverge()
    }

    fn boxed(&self) -> Box<dyn Learner> {
        Box::new(self.clone())
    }

    fn spec(&self) -> LearnerSpec {
        LearnerSpec::Staged { first: Box::new(self.first.spec()), then: Box::new(self.then.spec()) }
    }

    fn write(&self, out: &mut Writer) {
        // The first learner is done with once the second is at work.
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
            self.first.begin(outputs);
            self.then.begin(outputs);
        }
        Ok(())
    }
}
