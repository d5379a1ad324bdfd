//! A round with one row, and the rounds of a block of rows.

use ndarray::{ArrayView1, ArrayView2, s};

use super::Stream;
use super::model::{HEAVY, left_out, projection};
use super::schedule::grows_in_blocks;
use crate::basis::{AsBasis, Basis as _, Projection};
use crate::error::Result;
use crate::learner::{AsLearner, Learner, Rows};
use crate::linalg::Panel;
use crate::uncertainty::{LearnedRows, Prequential};

/// Scratch for a block of rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    z: Panel,
    targets: Panel,
    novel: Vec<bool>,
    made: Panel,
    leverages: Vec<f64>,
}

impl<B: AsBasis, L: AsLearner> Stream<B, L> {
    /// Gathers the row that comes next.
    pub(super) fn hold(&mut self, x: ArrayView1<'_, f64>, y: ArrayView1<'_, f64>) {
        self.x.clear();
        self.x.extend(x);
        self.y.clear();
        self.y.extend(y);
    }

    /// Learns rows that have been checked, by blocks where that pays; how many. An error leaves the model as the rows
    /// before have made it, and names its row.
    pub(crate) fn learn_rows(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        mut told: Prequential<'_>,
        go_on: &mut dyn FnMut(usize) -> bool,
    ) -> Result<usize> {
        if x.nrows() == 0 {
            return Ok(0);
        }
        self.begin(x.ncols(), y.ncols())?;
        let mut i = 0;
        while i < x.nrows() && go_on(i) {
            let left = x.nrows() - i;
            let len = self.schedule.block_len(left, self.basis.as_basis(), self.learner.as_learner());
            let rows = s![i..i + len, ..];
            let weights = weights.map(|weights| weights.slice_move(s![i..i + len]));
            let mut told = told.rows(i..i + len);
            let (x, y) = (x.slice(rows), y.slice(rows));
            let mut done = self.learn_block(x, y, weights, &mut told);
            if done == 0 {
                self.hold(x.row(0), y.row(0));
                let weight = weights.map_or(1.0, |weights| weights[0]);
                self.learn_row(weight, &mut told).map_err(|error| error.shifted(i))?;
                done = 1;
            }
            i += done;
        }
        Ok(i)
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
        let left = self.left_out();
        let added = if grows { residual * residual } else { 0.0 };
        let before = Projection { residual: left.residual + added, ..left };
        learned_leverages(self.learner.as_learner(), &[left], &mut self.block.leverages);
        let row = LearnedRows {
            predictions: &self.prediction,
            y: &self.y,
            stride: self.y.len(),
            leverages: &self.block.leverages,
            novel: &[is_novel(&before)],
            weights: Some(&[weight]),
            forgetting: forgetting(self.learner.as_learner()),
        };
        self.errors.meet(&row, told);
        told.tell_novelty(std::iter::once(before.novelty()));
        self.heavy |= weight > HEAVY;
        self.learner.as_learner_mut().store(&self.x, &self.z, &self.y, weight);
        if let Some(change) = self.basis.as_basis_mut().commit() {
            self.learner.as_learner_mut().change_basis(&change);
        }
        self.n_seen += 1;
        self.schedule.counted(grows);
        Ok(())
    }

    /// Predicts and counts the row in `self.x`, and no more.
    fn predict_row(&mut self, told: &mut Prequential<'_>) {
        let residual = self.basis.as_basis().features(&self.x, &mut self.z);
        self.learner.as_learner_mut().grow(self.z.len());
        let (learner, left) = (self.learner.as_learner(), self.left_out());
        learner.predict(&self.z, residual, &mut self.prediction);
        let leverage = match learner.covariance().filter(|_| told.wants_spreads()) {
            Some(covariance) => {
                let mut z = Panel::default();
                z.reshape(1, self.z.len());
                z.set_row(0, self.z.as_slice());
                covariance.leverages(&z, [left.residual])[0]
            }
            None => 0.0,
        };
        self.errors.tell(0, &self.prediction, leverage, told);
        told.tell_novelty(std::iter::once(left.novelty()));
        self.n_seen += 1;
        self.schedule.learned(1);
    }

    /// What the coordinates in `self.z` leave out of the row in `self.x`.
    fn left_out(&self) -> Projection {
        projection(self.basis.as_basis(), &self.x, self.z.squared_norm())
    }

    /// Learns rows by matrix products, up to the first that has no weight or, where the basis does not grow by blocks,
    /// that enters it; returns how many. 0 where only a single row will do.
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
        let weights = weights.map(|weights| weights.to_vec());
        let idle = |i: usize| weights.as_ref().is_some_and(|weights| weights[i] == 0.0);
        let end = (0..x.nrows()).find(|&i| idle(i)).unwrap_or(x.nrows());
        if end == 0 {
            return 0;
        }
        let x = x.slice(s![..end, ..]);
        let (points, dim) = (self.basis.as_basis().dim(), self.learner.as_learner().dim());
        let grows = self.schedule.expects_growth()
            && grows_in_blocks(self.basis.as_basis(), self.learner.as_learner());
        let residual = if grows {
            let own = self.basis.as_basis_mut().extend_block(x, &mut self.block.z);
            self.learner.as_learner_mut().grow(self.block.z.cols());
            own
        } else {
            self.basis.as_basis().project_block(x, &mut self.block.z)
        };
        let loss_driven = self.basis.as_basis().loss_driven();
        let enters = |i: &usize| !grows && !loss_driven && residual[*i] > 0.0;
        let end = (0..end).find(enters).unwrap_or(end);
        let Block { z, targets, novel, made, leverages } = &mut self.block;
        targets.reset(y.ncols(), end);
        for (j, row) in y.rows().into_iter().take(end).enumerate() {
            targets.col_mut(j).iter_mut().zip(row).for_each(|(to, from)| *to = *from);
        }
        novel.clear();
        novel.extend(residual[..end].iter().map(|value| !grows && *value > 0.0));
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
        if done == 0 && grows {
            self.basis.as_basis_mut().rollback(points);
            self.learner.as_learner_mut().shrink(dim);
            return 0;
        }
        self.heavy |= weights.as_ref().is_some_and(|weights| weights[..done].iter().any(|w| *w > HEAVY));
        let left = left_out(self.basis.as_basis(), x, z);
        learned_leverages(self.learner.as_learner(), &left[..done], leverages);
        novel.clear();
        // A row was as new as it was before it became a point itself.
        let before = |(left, own): (&Projection, &f64)| Projection {
            residual: left.residual + if grows { own * own } else { 0.0 },
            ..*left
        };
        let before = || left[..done].iter().zip(&residual).map(before);
        novel.extend(before().map(|left| is_novel(&left)));
        let rows = LearnedRows {
            predictions: made.data(),
            y: targets.data(),
            stride: targets.stride(),
            leverages,
            novel,
            weights: weights.as_deref(),
            forgetting: forgetting(self.learner.as_learner()),
        };
        self.errors.meet(&rows, told);
        told.tell_novelty(before().map(|left| left.novelty()));
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
        if grows {
            // As row by row: the model is the same however a stream is cut.
            residual[..done].iter().for_each(|own| self.schedule.counted(*own > 0.0));
        } else {
            self.schedule.learned(done);
        }
        done
    }
}

/// Whether predictions there are more of the prior than of rows.
fn is_novel(left: &Projection) -> bool {
    left.residual > 0.5 * left.similarity
}

/// The leverages of the rows that the learner learned last, from what their coordinates leave out; none where it does
/// not know.
fn learned_leverages<L: Learner + ?Sized>(learner: &L, left: &[Projection], leverages: &mut Vec<f64>) {
    leverages.clear();
    if let Some(covariance) = learner.covariance() {
        let rows = learner.learned_leverages().iter().zip(left);
        leverages.extend(rows.map(|(quadratic, left)| covariance.leverage(*quadratic, left.residual)));
    }
    leverages.resize(left.len(), 0.0);
}

/// What a row leaves of the weight of those before.
fn forgetting<L: Learner + ?Sized>(learner: &L) -> f64 {
    learner.covariance().map_or(1.0, |covariance| covariance.forgetting)
}
