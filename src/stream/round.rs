//! A round with one row, and the rounds of a block of rows.

use ndarray::{ArrayView1, ArrayView2, ArrayViewMut2};

use super::Stream;
use super::model::HEAVY;
use crate::basis::{AsBasis, Basis as _};
use crate::error::Result;
use crate::learner::{AsLearner, Learner as _, Rows};
use crate::linalg::Panel;

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

    /// One round with the row in `self.x`, `self.y`; the prediction goes to `self.prediction`.
    /// On an error nothing has changed.
    pub(super) fn learn_row(&mut self, weight: f64) -> Result<()> {
        if weight == 0.0 {
            // The row is predicted and counted, no more.
            let residual = self.basis.as_basis().features(&self.x, &mut self.z);
            self.learner.as_learner_mut().grow(self.z.len());
            self.learner.as_learner().predict(&self.z, residual, &mut self.prediction);
            self.n_seen += 1;
            self.schedule.learned(1);
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

    /// Learns rows by matrix products, up to the first that enters the basis or has no weight; returns how
    /// many. 0 where only a single row will do.
    pub(super) fn learn_block(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        predictions: Option<&mut ArrayViewMut2<'_, f64>>,
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
        made.reset(y.ncols(), if predictions.is_some() { end } else { 0 });
        let rows = Rows {
            z: z.as_faer().subrows(0, end),
            y: targets.as_faer(),
            weights: weights.as_deref(),
            novel,
            loss_driven,
        };
        // What fails as a block may still go row by row, and if not, that names the row.
        let done = self
            .learner
            .as_learner_mut()
            .learn_block(&rows, predictions.is_some().then_some(&mut *made))
            .unwrap_or(0);
        self.heavy |= weights.as_ref().is_some_and(|weights| weights[..done].iter().any(|w| *w > HEAVY));
        if let Some(predictions) = predictions {
            for (mut to, j) in predictions.rows_mut().into_iter().zip(0..done) {
                to.iter_mut().zip(made.col(j)).for_each(|(to, from)| *to = *from);
            }
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
