//! A round with one row, and the rounds of a block: basis first, then learner.

use ndarray::{ArrayView1, ArrayView2, s};

use super::Stream;
use super::head::Targets;
use super::schedule::Pace;
use crate::basis::{AsBasis, Basis as _, BasisBlocks as _, BasisGrowth as _};
use crate::error::Result;
use crate::learner::AsLearner;
use crate::model::Model as _;
use crate::uncertainty::Prequential;
use crate::validate::one_row;

/// Outcome of the latest rows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// One row of weight 0 was predicted.
    Predicted,
    /// One row was learned by itself.
    Row,
    /// This many rows were learned as a block.
    Block(usize),
}

impl Step {
    /// Number of rows processed.
    pub fn rows(self) -> usize {
        if let Self::Block(rows) = self { rows } else { 1 }
    }
}

/// The next rows, with targets and weights.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub x: ArrayView2<'a, f64>,
    pub y: ArrayView2<'a, f64>,
    pub weights: Option<ArrayView1<'a, f64>>,
}

impl<'a> Given<'a> {
    /// Some of them.
    pub fn rows(&self, start: usize, len: usize) -> Given<'a> {
        let rows = start..start + len;
        Given {
            x: self.x.slice_move(s![rows.clone(), ..]),
            y: self.y.slice_move(s![rows.clone(), ..]),
            weights: self.weights.map(|weights| weights.slice_move(s![rows])),
        }
    }

    /// Weight of row `i`.
    pub fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[i])
    }
}

impl<B: AsBasis, L: AsLearner> Stream<B, L> {
    /// Learns validated rows, in blocks where that is faster; returns how many. After an error the
    /// model contains the rows before the failing one, which the error names.
    pub(crate) fn learn_rows(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        mut prequential: Prequential<'_>,
        should_continue: &mut dyn FnMut(usize) -> bool,
    ) -> Result<usize> {
        // A call that ends at once has learned no widths either.
        if x.nrows() == 0 || !should_continue(0) {
            return Ok(0);
        }
        self.begin(x.ncols(), y.ncols())?;
        let (given, mut i, mut prefetched) = (Given { x, y, weights }, 0, 0);
        while i < x.nrows() && (i == 0 || should_continue(i)) {
            let pace = self.pace();
            let len = self.schedule.block_len(x.nrows() - i, self.basis.as_basis(), pace);
            let ahead = self.basis.as_basis().prefetch().min(x.nrows() - i);
            if len == 1 && ahead > 1 && i >= prefetched {
                prefetched = i + ahead;
                self.basis.as_basis_mut().prefetch_rows(x.slice(s![i..prefetched, ..]));
            }
            let step = self.step(given.rows(i, len), pace, &mut prequential.rows(i..i + len));
            i += step.map_err(|error| error.shifted(i))?.rows();
        }
        // The state for a later call must not depend on expectations of this one.
        self.basis.as_basis_mut().prefetch_rows(x.slice(s![..0, ..]));
        Ok(i)
    }

    /// Learns one row by itself, with its prequential answers. On an error nothing has changed.
    pub(super) fn learn_single(
        &mut self,
        x: &[f64],
        y: &[f64],
        mut prequential: Prequential<'_>,
    ) -> Result<()> {
        let (rows, targets) = (one_row(x), one_row(y));
        self.check(rows, targets, None)?;
        prequential.check(targets.dim())?;
        let before = self.snapshot(1, None);
        let learned = self.begin(x.len(), y.len()).and_then(|()| {
            self.seen.hold(rows.row(0), targets.row(0));
            self.learn_row(1.0, &mut prequential)
        });
        learned.map(|_| ()).inspect_err(|_| self.restore(before))
    }

    /// How the learner processes rows.
    pub(super) fn pace(&self) -> Pace {
        Pace::of(self.head.learner.as_learner())
    }

    /// Learns the next rows: one, or a block if that is possible.
    pub(super) fn step(
        &mut self,
        given: Given<'_>,
        pace: Pace,
        prequential: &mut Prequential<'_>,
    ) -> Result<Step> {
        let done = self.learn_block(given, pace, prequential);
        if done > 0 {
            return Ok(Step::Block(done));
        }
        self.seen.hold(given.x.row(0), given.y.row(0));
        self.learn_row(given.weight(0), prequential)
    }

    /// One round with the current row; its prequential answers go to the first row of `prequential`. On an
    /// error nothing has changed.
    pub(super) fn learn_row(&mut self, weight: f64, prequential: &mut Prequential<'_>) -> Result<Step> {
        if weight == 0.0 {
            let own = self.basis.as_basis().features(&self.seen.x, &mut self.seen.z);
            self.seen.settle(self.basis.as_basis(), own);
            self.head.predict_row(self.seen.row(), prequential);
            self.n_seen += 1;
            self.schedule.learned(1);
            return Ok(Step::Predicted);
        }
        let points = self.basis.as_basis().dim();
        let own = self.see_row();
        let (basis, row) = (self.basis.as_basis(), self.seen.row());
        let learned = self
            .seen
            .check_bound(basis)
            .and_then(|()| self.head.learn_row(basis, row, (&self.seen.y, weight), prequential));
        if let Err(error) = learned {
            self.basis.as_basis_mut().rollback(points);
            return Err(error);
        }
        if let Some(change) = self.basis.as_basis_mut().commit() {
            self.head.change_basis(&change);
        }
        self.n_seen += 1;
        self.schedule.counted(own > 0.0);
        Ok(Step::Row)
    }

    /// Projects the current row, and makes it a coordinate if it is novel and has a loss; returns
    /// its value there, or 0.
    fn see_row(&mut self) -> f64 {
        let (basis, seen) = (self.basis.as_basis_mut(), &mut self.seen);
        let residual = basis.project(&seen.x, &mut seen.z);
        let grows = residual > 0.0 && (!basis.loss_driven() || self.head.has_loss(&seen.z, &seen.y));
        if grows {
            basis.insert(&seen.x, &mut seen.z);
        }
        let own = if grows { residual } else { 0.0 };
        seen.settle(basis, own);
        own
    }

    /// Learns rows by matrix products, up to the first without weight or, if the basis does not
    /// grow by blocks, the first that enters it; returns how many. 0 if rows must be learned one by
    /// one.
    fn learn_block(&mut self, given: Given<'_>, pace: Pace, prequential: &mut Prequential<'_>) -> usize {
        let n = given.x.nrows();
        if n == 1 {
            return 0;
        }
        let weights = given.weights.map(|weights| weights.to_vec());
        let idle = |i: &usize| weights.as_ref().is_some_and(|weights| weights[*i] == 0.0);
        let end = (0..n).find(idle).unwrap_or(n);
        if end == 0 {
            return 0;
        }
        let x = given.x.slice(s![..end, ..]);
        let points = self.basis.as_basis().dim();
        self.see_block(x, pace);
        let targets = Targets { y: given.y, weights: weights.as_deref() };
        let (block, loss_driven) = (&mut self.seen.block, self.basis.as_basis().loss_driven());
        // A refused row is named when it is learned by itself.
        let is_bounded = block.is_bounded(self.basis.as_basis());
        let done =
            if is_bounded { self.head.learn_block(x, block, targets, loss_driven, prequential) } else { 0 };
        if done == 0 {
            if block.grew {
                self.basis.as_basis_mut().rollback(points);
            }
            return 0;
        }
        block.truncate(done);
        self.basis.as_basis_mut().commit_block(done);
        self.n_seen += done as u64;
        if block.grew {
            // Equal to row by row, so that the model does not depend on how a stream is split into
            // calls.
            block.own.iter().for_each(|own| self.schedule.counted(*own > 0.0));
        } else {
            self.schedule.learned(done);
        }
        done
    }

    /// Projects rows: all if they enter the basis as a block, else up to the first that does.
    fn see_block(&mut self, x: ArrayView2<'_, f64>, pace: Pace) {
        let block = &mut self.seen.block;
        let grows = self.schedule.expects_growth() && pace.grows_with(self.basis.as_basis());
        block.own = if grows {
            self.basis.as_basis_mut().extend_block(x, &mut block.z)
        } else {
            self.basis.as_basis().project_block(x, &mut block.z)
        };
        let basis = self.basis.as_basis();
        let enters = |own: &f64| !grows && !basis.loss_driven() && *own > 0.0;
        let len = block.own.iter().position(enters).unwrap_or(x.nrows());
        block.settle(basis, x, len, grows);
    }
}
