//! A round with one row, and the rounds of a block of rows.

use ndarray::{ArrayView1, ArrayView2};

use super::Stream;
use super::model::{HEAVY, left_out};
use crate::basis::{AsBasis, Basis as _};
use crate::error::Result;
use crate::learner::{AsLearner, Learner, Rows};
use crate::linalg::Panel;
use crate::uncertainty::{Learned, Prequential};

/// Scratch for a block of rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    z: Panel,
    targets: Panel,
    novel: Vec<bool>,
    made: Panel,
}

impl<B: AsBasis, L: AsLearner> Stream<B, L> {
    /// Gathers the row that comes next.
    pub(super) fn hold(&mut self, x: ArrayView1<'_, f64>, y: ArrayView1<'_, f64>) {
        self.x.clear();
        self.x.extend(x);
        self.y.clear();
        self.y.extend(y);
    }

    /// One round with the row in `self.x`, `self.y`; what is known of it beforehand goes to the first row of `told`.
    /// On an error nothing has changed.
    pub(super) fn learn_row(&mut self, weight: f64, told: &mut Prequential<'_>) -> Result<()> {
        if weight == 0.0 {
            self.predict_row(told);
            return Ok(());
        }
        let (points, dim) = (self.basis.as_basis().dim(), self.learner.as_learner().dim());
        let residual = self.basis.as_basis_mut().project(&self.x, &mut self.z);
        if self.z.len() > dim {
            // A basis of fixed size has all of its coordinates from the first row on.
            self.learner.as_learner_mut().grow(self.z.len());
        }
        let grows = residual > 0.0
            && (!self.basis.as_basis().loss_driven()
                || self.learner.as_learner().has_loss(&self.z, &self.y, &mut self.prediction));
        if grows {
            self.basis.as_basis_mut().insert(&self.x, &mut self.z);
            self.learner.as_learner_mut().grow(self.z.len());
            if let Some(memory) = self.learner.as_learner().memory() {
                self.basis.as_basis().newest_coordinate(&mut memory.rows(), &mut self.newest);
                self.learner.as_learner_mut().backfill(&self.newest);
            }
        }
        if let Err(error) =
            self.learner.as_learner_mut().learn(&self.z, &self.y, weight, &mut self.prediction)
        {
            self.basis.as_basis_mut().rollback(points);
            self.learner.as_learner_mut().shrink(dim);
            return Err(error);
        }
        let (leverage, forgetting) = learned_leverage(self.learner.as_learner(), 0, || self.left_out());
        let row = Learned { predictions: &self.prediction, y: &self.y, leverage, weight, forgetting };
        self.errors.meet(0, &row, told);
        self.heavy |= weight > HEAVY;
        self.learner.as_learner_mut().store(&self.x, &self.z, &self.y, weight);
        if let Some(change) = self.basis.as_basis_mut().commit() {
            self.learner.as_learner_mut().change_basis(&change);
        }
        self.n_seen += 1;
        if grows {
            self.schedule.grew();
        } else {
            self.schedule.learned(1);
        }
        Ok(())
    }
    /// Predicts and counts the row in `self.x`, and no more.
    fn predict_row(&mut self, told: &mut Prequential<'_>) {
        let residual = self.basis.as_basis().features(&self.x, &mut self.z);
        self.learner.as_learner_mut().grow(self.z.len());
        let learner = self.learner.as_learner();
        learner.predict(&self.z, residual, &mut self.prediction);
        let leverage = match learner.covariance().filter(|_| told.wants_spreads()) {
            Some(covariance) => {
                let mut z = Panel::default();
                z.reshape(1, self.z.len());
                z.set_row(0, self.z.as_slice());
                covariance.leverages(&z, &[self.left_out()])[0]
            }
            None => 0.0,
        };
        self.errors.tell(0, &self.prediction, leverage, told);
        self.n_seen += 1;
        self.schedule.learned(1);
    }

    /// What the coordinates in `self.z` leave out of the row in `self.x`.
    fn left_out(&self) -> f64 {
        let own = self.basis.as_basis().similarity(&self.x);
        own.map_or(0.0, |own| (own - self.z.squared_norm()).max(0.0))
    }

    /// Learns rows by matrix products, up to the first that enters the basis or has no weight; returns how
    /// many. 0 where only a single row will do.
    pub(super) fn learn_block(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        told: &mut Prequential<'_>,
    ) -> usize {
        if x.nrows() == 1 {
            return 0;
        }
        let residual = self.basis.as_basis().project_block(x, &mut self.block.z);
        let weights = weights.map(|weights| weights.to_vec());
        let idle = |i: usize| weights.as_ref().is_some_and(|weights| weights[i] == 0.0);
        let loss_driven = self.basis.as_basis().loss_driven();
        let end = (0..x.nrows()).find(|&i| idle(i) || !loss_driven && residual[i] > 0.0).unwrap_or(x.nrows());
        let Block { z, targets, novel, made } = &mut self.block;
        targets.reset(y.ncols(), end);
        for (j, row) in y.rows().into_iter().take(end).enumerate() {
            targets.col_mut(j).iter_mut().zip(row).for_each(|(to, from)| *to = *from);
        }
        novel.clear();
        novel.extend(residual[..end].iter().map(|value| *value > 0.0));
        made.reset(y.ncols(), end);
        let rows = Rows {
            z: z.as_faer().subrows(0, end),
            y: targets.as_faer(),
            weights: weights.as_deref(),
            novel,
            loss_driven,
        };
        // What fails as a block may still go row by row, and if not, that names the row.
        let done = self.learner.as_learner_mut().learn_block(&rows, Some(&mut *made)).unwrap_or(0);
        self.heavy |= weights.as_ref().is_some_and(|weights| weights[..done].iter().any(|w| *w > HEAVY));
        let left = left_out(self.basis.as_basis(), x, z);
        for i in 0..done {
            let (leverage, forgetting) = learned_leverage(self.learner.as_learner(), i, || left[i]);
            let weight = weights.as_ref().map_or(1.0, |weights| weights[i]);
            let (predictions, y) = (&made.col(i)[..y.ncols()], &targets.col(i)[..y.ncols()]);
            self.errors.meet(i, &Learned { predictions, y, leverage, weight, forgetting }, told);
        }
        if self.learner.as_learner().memory().is_some() {
            for (i, (x, y)) in x.rows().into_iter().zip(y.rows()).enumerate().take(done) {
                self.hold(x, y);
                self.z.set(self.block.z.row(i));
                let weight = weights.as_ref().map_or(1.0, |weights| weights[i]);
                self.learner.as_learner_mut().store(&self.x, &self.z, &self.y, weight);
            }
        }
        self.basis.as_basis_mut().commit_block(done);
        self.n_seen += done as u64;
        self.schedule.learned(done);
        done
    }
}

/// The leverage of row `i` of those that the learner learned last, from what its coordinates leave out, and what it
/// left of the weight of the rows before.
fn learned_leverage<L: Learner + ?Sized>(
    learner: &L,
    i: usize,
    left_out: impl FnOnce() -> f64,
) -> (f64, f64) {
    learner.covariance().map_or((0.0, 1.0), |covariance| {
        let quadratic = learner.learned_leverages().get(i).copied().unwrap_or(0.0);
        (covariance.leverage(quadratic, left_out()), covariance.forgetting)
    })
}
