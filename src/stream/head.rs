//! The part of a stream after the basis: the learner in its coordinates.

use ndarray::ArrayView2;

use super::seen::{SeenBlock, SeenRow};
use crate::basis::{Projection, StreamBasis};
use crate::error::Result;
use crate::learner::{
    AnyLearner, AsLearner, Learner as _, LearnerBlocks as _, LearnerLimits as _, LearnerMemory as _,
    LearnerUncertainty as _, Rows, StreamLearner,
};
use crate::linalg::{ChangeOfBasis, Coordinates, Panel};
use crate::uncertainty::{Errors, LearnedRows, Prequential};

/// Rows of a larger weight may expose rounding in learners that otherwise never fail.
pub(super) const HEAVY: f64 = 100.0;

/// A learner, and its error statistics.
#[derive(Clone, Debug)]
pub(super) struct Head<L> {
    pub learner: L,
    pub errors: Errors,
    /// Whether a row of large weight was learned, whose rounding may appear in later rows.
    pub heavy: bool,
    /// Scratch, so that no row allocates.
    prediction: Vec<f64>,
    /// The coordinate just added, for rows that the learner stores.
    newest: Vec<f64>,
    targets: Panel,
    made: Panel,
    novel: Vec<bool>,
    leverages: Vec<f64>,
    novelties: Vec<f64>,
    held: Held,
}

/// A row that a learner stores.
#[derive(Clone, Debug, Default)]
struct Held {
    x: Vec<f64>,
    y: Vec<f64>,
    z: Coordinates,
}

/// Targets and weights of a block of rows to be learned.
#[derive(Clone, Copy)]
pub(super) struct Targets<'a> {
    pub y: ArrayView2<'a, f64>,
    /// `None`: 1.
    pub weights: Option<&'a [f64]>,
}

impl Targets<'_> {
    fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[i])
    }
}

impl<L: AsLearner> Head<L> {
    /// Initial state.
    pub fn new(learner: L) -> Self {
        Self {
            learner,
            errors: Errors::default(),
            heavy: false,
            prediction: Vec::new(),
            newest: Vec::new(),
            targets: Panel::default(),
            made: Panel::default(),
            novel: Vec::new(),
            leverages: Vec::new(),
            novelties: Vec::new(),
            held: Held::default(),
        }
    }

    /// The same with a learner whose type is selected at run time.
    pub fn into_any(self) -> Head<AnyLearner>
    where
        L: Into<AnyLearner>,
    {
        let Self { errors, heavy, prediction, .. } = self;
        Head { errors, heavy, prediction, ..Head::new(self.learner.into()) }
    }

    /// Continues with the error statistics of this many outputs.
    pub fn resume(&mut self, outputs: usize, errors: Errors) {
        self.prediction = vec![0.0; outputs];
        self.errors = errors;
    }

    /// Fixes widths at the first row, after the basis.
    pub fn begin<B: StreamBasis + ?Sized>(&mut self, basis: &B, outputs: usize) -> Result<()> {
        // All coordinates, if the functions are fixed.
        self.learner.as_learner().check_size(basis.dim(), outputs)?;
        self.learner.as_learner_mut().begin(outputs);
        if let Some(most) = basis.most() {
            self.learner.as_learner_mut().expect(most);
        }
        Ok(())
    }

    /// Whether the target at `z` would change anything.
    pub fn has_loss(&mut self, z: &Coordinates, y: &[f64]) -> bool {
        self.learner.as_learner().has_loss(z, y, &mut self.prediction)
    }

    /// Learns one row. On an error nothing has changed.
    pub fn learn_row<B: StreamBasis + ?Sized>(
        &mut self,
        basis: &B,
        row: SeenRow<'_>,
        (y, weight): (&[f64], f64),
        prequential: &mut Prequential<'_>,
    ) -> Result<()> {
        let dim = self.learner.as_learner().dim();
        if row.z.len() > dim {
            // A basis of fixed size has all of its coordinates from the first row on.
            self.learner.as_learner_mut().grow(row.z.len());
        }
        if row.own > 0.0
            && let Some(memory) = self.learner.as_learner().memory()
        {
            basis.newest_coordinate(&mut memory.rows(), &mut self.newest);
            self.learner.as_learner_mut().backfill(&self.newest);
        }
        if let Err(error) = self.learner.as_learner_mut().learn(row.z, y, weight, &mut self.prediction) {
            self.learner.as_learner_mut().shrink(dim);
            return Err(error);
        }
        let before = row.before();
        learned_leverages(self.learner.as_learner(), &[row.left], &mut self.leverages);
        let learned = LearnedRows {
            predictions: &self.prediction,
            y,
            stride: y.len(),
            leverages: &self.leverages,
            novelties: &[before.novelty()],
            weights: Some(&[weight]),
            forgetting: forgetting(self.learner.as_learner()),
        };
        self.errors.meet(&learned, prequential);
        prequential.record_novelty(std::iter::once(before.novelty()));
        self.heavy |= weight > HEAVY;
        self.learner.as_learner_mut().store(row.x, row.z, y, weight);
        Ok(())
    }

    /// Predicts one row without learning.
    pub fn predict_row(&mut self, row: SeenRow<'_>, prequential: &mut Prequential<'_>) {
        self.learner.as_learner_mut().grow(row.z.len());
        let learner = self.learner.as_learner();
        learner.predict(row.z, row.own, &mut self.prediction);
        let leverage = match learner.covariance().filter(|_| prequential.wants_spreads()) {
            Some(covariance) => {
                let mut z = Panel::default();
                z.reshape(1, row.z.len());
                z.set_row(0, row.z.as_slice());
                covariance.leverages(&z, [row.left.residual])[0]
            }
            None => 0.0,
        };
        self.errors.record(0, &self.prediction, (leverage, row.left.novelty()), prequential);
        prequential.record_novelty(std::iter::once(row.left.novelty()));
    }

    /// Learns a block of rows by matrix products; returns how many of the first, possibly none.
    pub fn learn_block(
        &mut self,
        x: ArrayView2<'_, f64>,
        seen: &SeenBlock,
        to: Targets<'_>,
        loss_driven: bool,
        prequential: &mut Prequential<'_>,
    ) -> usize {
        let (len, dim) = (seen.len(), self.learner.as_learner().dim());
        let outputs = to.y.ncols();
        let Self { targets, made, novel, leverages, novelties, .. } = self;
        targets.reset(outputs, len);
        for (j, row) in to.y.rows().into_iter().take(len).enumerate() {
            targets.col_mut(j).iter_mut().zip(row).for_each(|(to, from)| *to = *from);
        }
        novel.clear();
        novel.extend(seen.own.iter().map(|own| !seen.grew && *own > 0.0));
        made.reset(outputs, len);
        if seen.grew {
            self.learner.as_learner_mut().grow(seen.z.cols());
        }
        let rows = Rows {
            z: seen.z.as_faer().subrows(0, len),
            y: targets.as_faer(),
            weights: to.weights,
            novel,
            loss_driven,
            whole: seen.grew,
        };
        // Rows that fail as a block may still succeed one by one; otherwise the error names the
        // row.
        let done = self.learner.as_learner_mut().learn_block(&rows, Some(made)).unwrap_or(0);
        if done == 0 {
            if seen.grew {
                self.learner.as_learner_mut().shrink(dim);
            }
            return 0;
        }
        self.heavy |= to.weights.is_some_and(|weights| weights[..done].iter().any(|w| *w > HEAVY));
        learned_leverages(self.learner.as_learner(), &seen.left[..done], leverages);
        novelties.clear();
        novelties.extend(seen.before().take(done).map(|left| left.novelty()));
        let learned = LearnedRows {
            predictions: made.data(),
            y: targets.data(),
            stride: targets.stride(),
            leverages,
            novelties,
            weights: to.weights,
            forgetting: forgetting(self.learner.as_learner()),
        };
        self.errors.meet(&learned, prequential);
        prequential.record_novelty(self.novelties.iter().copied());
        self.store(x, seen, to, done);
        done
    }

    /// Passes the first of a block to a learner that stores rows.
    fn store(&mut self, x: ArrayView2<'_, f64>, seen: &SeenBlock, to: Targets<'_>, done: usize) {
        if self.learner.as_learner().memory().is_none() {
            return;
        }
        let Held { x: row, y, z } = &mut self.held;
        for (i, (x, target)) in x.rows().into_iter().zip(to.y.rows()).enumerate().take(done) {
            row.clear();
            row.extend(x);
            y.clear();
            y.extend(target);
            z.set(seen.z.row(i));
            self.learner.as_learner_mut().store(row, z, y, to.weight(i));
        }
    }

    /// Outputs the requested quantities of rows with coordinates `z` (b, dim), in the current
    /// state: each has the value `own` in an additional coordinate, and the unexplained part
    /// `left`, if [requested](Prequential::wants_novelty).
    pub fn answer(&self, z: &Panel, own: &[f64], left: &[Projection], prequential: &mut Prequential<'_>) {
        prequential.record_novelty(left.iter().map(Projection::novelty));
        if !prequential.wants_outputs() {
            return;
        }
        let learner = self.learner.as_learner();
        let covariance = learner.covariance().filter(|_| prequential.wants_spreads());
        let leverages =
            covariance.map(|covariance| covariance.leverages(z, left.iter().map(|left| left.residual)));
        let (mut row, mut prediction) = (Coordinates::default(), vec![0.0; learner.n_outputs()]);
        for (i, own) in own.iter().enumerate() {
            row.set(z.row(i));
            learner.predict(&row, *own, &mut prediction);
            let leverage = leverages.as_ref().map_or(0.0, |leverages| leverages[i]);
            let novelty = left.get(i).map_or(f64::NAN, Projection::novelty);
            self.errors.record(i, &prediction, (leverage, novelty), prequential);
        }
    }

    /// Follows a change of the basis.
    pub fn change_basis(&mut self, change: &ChangeOfBasis) {
        self.learner.as_learner_mut().change_basis(change);
    }
}

/// Leverages of the rows learned last, from their unexplained parts; empty if not available.
fn learned_leverages<L: StreamLearner + ?Sized>(learner: &L, left: &[Projection], leverages: &mut Vec<f64>) {
    leverages.clear();
    if let Some(covariance) = learner.covariance() {
        let rows = learner.learned_leverages().iter().zip(left);
        leverages.extend(rows.map(|(quadratic, left)| covariance.leverage(*quadratic, left.residual)));
    }
    leverages.resize(left.len(), 0.0);
}

/// Factor on the weight of earlier rows at each row.
fn forgetting<L: StreamLearner + ?Sized>(learner: &L) -> f64 {
    learner.covariance().map_or(1.0, |covariance| covariance.forgetting)
}
