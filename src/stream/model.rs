//! A stream learner.

use ndarray::{Array1, Array2, Array3, ArrayView1, ArrayView2, ArrayViewMut1, Axis};

use super::head::{HEAVY, Head};
use super::schedule::Schedule;
use super::seen::{Seen, projection};
use crate::basis::{
    AnyBasis, AsBasis, Basis as _, BasisBlocks as _, BasisGrowth as _, BasisPoints as _, Nested,
};
use crate::error::{Error, Result};
use crate::learner::{AnyLearner, AsLearner, Learner as _, LearnerLimits as _, LearnerUncertainty as _};
use crate::linalg::{BLOCK, Coordinates, Panel, with_scratch, write_array};
use crate::model::{InnerModel, Introspection, Model, Uncertainty, sizes};
use crate::threads::ask_each_block;
use crate::uncertainty::{Calibration, Diagnostics, Errors, Prequential, Spread};
use crate::validate::{check_labels, check_lengths, check_targets, check_weights, check_width, one_row};

/// A stream learner whose basis and learner are selected at run time.
pub type AnyStream = Stream<AnyBasis, AnyLearner>;

/// Rows per block and thread when rows are only predicted, for `dim` coordinates: enough for matrix
/// products to pay and for about a hundred microseconds of work, beside which starting a thread is
/// negligible; few enough to stay in the cache.
pub(super) fn prediction_block(dim: usize) -> usize {
    let row = dim * (dim + 80);
    (4_000_000 / row.max(1)).clamp(4 * BLOCK, 40 * BLOCK) / BLOCK * BLOCK
}

/// Learns a stream of rows `(x, y)` in one pass, in memory that depends on the basis alone.
///
/// Each row is predicted before it is learned. With `m` coordinates and `d` features a row costs
/// `O(m d + m^2)` for its coordinates, and the cost of the learner; nothing is allocated for a row
/// that does not enter the basis. The result does not depend on how a stream is split into calls.
///
/// ```
/// use kernelstream::basis::Nested;
/// use kernelstream::kernel::Kernel;
/// use kernelstream::learner::{Ridge, RidgeSpec};
/// use kernelstream::model::{Introspection as _, Model as _};
/// use kernelstream::stream::Stream;
/// use ndarray::{Array1, Array2};
///
/// # fn main() -> kernelstream::Result<()> {
/// let basis = Nested::ald(Kernel::gaussian(0.5)?, 1e-3)?;
/// let mut model = Stream::new(basis, Ridge::new(RidgeSpec::default())?);
///
/// let x = Array2::from_shape_fn((2000, 1), |(i, _)| (i as f64 * 0.618).fract() * 6.0);
/// let y = x.mapv(f64::sin);
/// let predictions = model.learn_and_predict(x.view(), y.view())?;   // each before it was learned
/// let error = (&predictions - &y).mapv(f64::abs);
/// assert!(error.slice(ndarray::s![1000.., ..]).iter().all(|e| *e < 1e-2));
/// assert!(model.n_stored() < 30);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Stream<B, L> {
    pub(super) basis: B,
    pub(super) head: Head<L>,
    pub(super) n_seen: u64,
    pub(super) n_outputs: Option<usize>,
    /// Whether rows cannot be refused by learners that never fail on finite rows.
    pub(super) bounded: bool,
    pub(super) schedule: Schedule,
    /// Scratch: coordinates of the latest rows.
    pub(super) seen: Seen,
}

impl<B: AsBasis, L: AsLearner> Stream<B, L> {
    /// Initial state.
    pub fn new(basis: B, learner: L) -> Self {
        Self {
            bounded: basis.as_basis().is_bounded(),
            basis,
            head: Head::new(learner),
            n_seen: 0,
            n_outputs: None,
            schedule: Schedule::default(),
            seen: Seen::default(),
        }
    }

    /// The basis.
    pub fn basis(&self) -> &B {
        &self.basis
    }

    /// The learner.
    pub fn learner(&self) -> &L {
        &self.head.learner
    }

    /// Fixes widths at the first row.
    pub(super) fn begin(&mut self, width: usize, outputs: usize) -> Result<()> {
        if self.n_outputs.is_none() {
            self.basis.as_basis_mut().begin(width)?;
            self.head.begin(self.basis.as_basis(), outputs)?;
            self.resume(outputs, Errors::new(outputs));
        }
        Ok(())
    }

    /// Continues with this many outputs, and their error statistics.
    pub(super) fn resume(&mut self, outputs: usize, errors: Errors) {
        self.n_outputs = Some(outputs);
        self.head.resume(outputs, errors);
    }

    pub(super) fn check_x(&self, x: ArrayView2<'_, f64>) -> Result<()> {
        check_width("X", self.basis.as_basis().width(), x.ncols())?;
        self.basis.as_basis().check(x)
    }
}

impl<B: AsBasis, L: AsLearner> Model for Stream<B, L> {
    fn check(
        &self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
    ) -> Result<()> {
        check_lengths(x, "y", y)?;
        check_weights(x, weights)?;
        self.check_x(x)?;
        check_targets(self.n_outputs, y)?;
        check_labels(y, self.head.learner.as_learner().largest_target())
    }

    fn can_refuse(&self, weights: Option<ArrayView1<'_, f64>>) -> bool {
        let heavy = |weights: ArrayView1<'_, f64>| weights.iter().any(|weight| *weight > HEAVY);
        self.n_outputs.is_none()
            || !self.bounded
            || self.head.heavy
            || self.head.learner.as_learner().can_diverge()
            || weights.is_some_and(heavy)
    }

    fn learn_prequential(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        prequential: Prequential<'_>,
        should_continue: &mut dyn FnMut(usize) -> bool,
    ) -> Result<usize> {
        self.check(x, y, weights)?;
        prequential.check(y.dim())?;
        let before = self.snapshot(x.nrows(), weights);
        let learned = self.learn_rows(x, y, weights, prequential, should_continue);
        learned.inspect_err(|_| self.restore(before))
    }

    fn learn_one(&mut self, x: &[f64], y: &[f64]) -> Result<()> {
        self.learn_single(x, y, Prequential::default())
    }

    fn predict_and_learn_one(&mut self, x: &[f64], y: &[f64], made: &mut [f64]) -> Result<()> {
        let made = ArrayViewMut1::from(made).insert_axis(Axis(0));
        self.learn_single(x, y, Prequential::predictions(Some(made)))
    }

    /// Predictions for rows `x` (n, d) in the current state (n, p).
    ///
    /// By blocks, as matrix products, on several threads (see [`threads`](crate::threads)); equal
    /// to one row at a time to rounding.
    fn predict(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        let mut out = Array2::zeros((x.nrows(), self.n_outputs.unwrap_or(0)));
        self.answer(x, Prequential::predictions(Some(out.view_mut())))?;
        Ok(out)
    }

    fn predict_one_into(&self, x: &[f64], out: &mut [f64]) -> Result<()> {
        check_width("out", Some(self.n_outputs.ok_or(Error::NothingLearned)?), out.len())?;
        self.check_x(one_row(x))?;
        self.answer_one(x, out, |_| ());
        Ok(())
    }

    fn n_seen(&self) -> u64 {
        self.n_seen
    }

    fn n_features(&self) -> Option<usize> {
        self.basis.as_basis().width()
    }

    fn n_outputs(&self) -> Option<usize> {
        self.n_outputs
    }
}

impl<B: AsBasis, L: AsLearner> Uncertainty for Stream<B, L> {
    /// By blocks, as [`predict`](Self::predict); O(m^2) more for each row.
    fn predict_with_spread(
        &self,
        x: ArrayView2<'_, f64>,
        spread: Spread,
    ) -> Result<(Array2<f64>, Array2<f64>)> {
        let shape = (x.nrows(), self.n_outputs.unwrap_or(0));
        let (mut out, mut spreads) = (Array2::zeros(shape), Array2::zeros(shape));
        self.answer(x, Prequential::with_spread(out.view_mut(), spreads.view_mut(), spread))?;
        Ok((out, spreads))
    }

    fn knows_deviation(&self) -> bool {
        self.head.learner.as_learner().covariance().is_some()
    }

    fn noise(&self) -> Option<Array1<f64>> {
        let outputs = self.n_outputs.filter(|_| self.knows_deviation())?;
        Some((0..outputs).map(|c| self.head.errors.noise(c)).collect())
    }

    fn calibration(&self) -> Option<&Calibration> {
        Some(self.head.errors.calibration())
    }
}

impl<B: AsBasis, L: AsLearner> Introspection for Stream<B, L> {
    fn novelty(&self, x: ArrayView2<'_, f64>) -> Result<Array1<f64>> {
        if self.n_outputs.is_none() {
            return Err(Error::NothingLearned);
        }
        self.check_x(x)?;
        let basis = self.basis.as_basis();
        let points = basis.points().ok_or(Error::NoNovelty)?;
        if points.is_empty() {
            return Ok(Array1::ones(x.nrows()));
        }
        if basis.similarity(points.point(0)).is_none() {
            return Err(Error::NoNovelty);
        }
        let mut out = Array1::zeros(x.nrows());
        self.answer(x, Prequential { novelties: Some(out.view_mut()), ..Prequential::default() })?;
        Ok(out)
    }

    fn quality(&self) -> Diagnostics {
        let basis = self.basis.as_basis();
        Diagnostics { n_stored: self.n_stored(), ..self.head.errors.diagnostics(basis.points().is_some()) }
    }

    /// Gradient of the prediction before it is shrunk or clipped. O(n m d + m^2).
    fn gradient(&self, x: ArrayView2<'_, f64>) -> Result<Array3<f64>> {
        if self.n_outputs.is_none() {
            return Err(Error::NothingLearned);
        }
        self.check_x(x)?;
        let slopes = self.head.learner.as_learner().slopes();
        self.basis.as_basis().gradient(x, &slopes).ok_or(Error::NoGradient)
    }

    /// Coordinates of rows `x` (n, d) in the current basis (n, m). Their inner products are the
    /// kernel of the rows' projections on the stored points.
    fn transform(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        if self.n_outputs.is_none() {
            return Err(Error::NothingLearned);
        }
        self.check_x(x)?;
        let mut out = Array2::zeros((x.nrows(), self.basis.as_basis().dim()));
        let size = prediction_block(self.basis.as_basis().dim());
        let blocks = x.axis_chunks_iter(Axis(0), size).zip(out.axis_chunks_iter_mut(Axis(0), size));
        ask_each_block(blocks, |(rows, out)| {
            let mut block = Panel::default();
            self.basis.as_basis().features_block(rows, &mut block);
            write_array(block.as_faer(), out);
        })?;
        Ok(out)
    }

    fn dictionary(&self) -> Array2<f64> {
        let Some(points) = self.basis.as_basis().points() else { return Array2::zeros((0, 0)) };
        points.panel().to_array()
    }

    fn n_stored(&self) -> usize {
        self.basis.as_basis().points().map_or(0, crate::kernel::PointSet::len)
    }

    fn condition(&self) -> Option<f64> {
        self.basis.as_basis().condition()
    }
}

impl<B: AsBasis, L: AsLearner> InnerModel for Stream<B, L> {}

impl<B: AsBasis, L: AsLearner> std::fmt::Debug for Stream<B, L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        sizes("Stream", self, f)
    }
}

impl<B: AsBasis, L: AsLearner> Stream<B, L> {
    /// Whether no further point can be stored.
    pub(crate) fn is_full(&self) -> bool {
        self.basis.as_basis().is_full()
    }

    /// Predicts one validated row, and passes its coordinates to a function.
    fn answer_one<T>(&self, x: &[f64], out: &mut [f64], look: impl FnOnce(&Coordinates) -> T) -> T {
        with_scratch(|z| {
            let residual = self.basis.as_basis().features(x, z);
            self.head.learner.as_learner().predict(z, residual, out);
            look(z)
        })
    }

    /// [`predict_one_into`](Model::predict_one_into) and the novelty of the row.
    pub(crate) fn predict_one_and_novelty(&self, x: &[f64], out: &mut [f64]) -> Result<f64> {
        check_width("out", Some(self.n_outputs.ok_or(Error::NothingLearned)?), out.len())?;
        self.check_x(one_row(x))?;
        let basis = self.basis.as_basis();
        Ok(self.answer_one(x, out, |z| projection(basis, x, z.squared_norm()).novelty()))
    }

    /// Gradients of the novelty of rows `x` (n, d), for a kernel with constant `k(x, x)` (n, d).
    /// O(n (m d + m^2)).
    pub(crate) fn novelty_gradient(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        let basis = self.basis.as_basis();
        let similarity = basis.common_similarity().ok_or(Error::NoGradient)?;
        let mut out = basis.squared_norm_gradient(x).ok_or(Error::NoGradient)?;
        out /= -similarity;
        Ok(out)
    }
}

impl<L: AsLearner> Stream<Nested, L> {
    /// The function learned, as one coefficient for each stored point and output (m, p):
    /// `f(x) = sum_i a_i k(s_i, x)` before centring and clipping.
    pub fn coefficients(&self) -> Array2<f64> {
        let weights = self.head.learner.as_learner().weights();
        let coefficients = self.basis.dictionary().map(|features| features.coefficients(weights));
        coefficients.unwrap_or_else(|| weights.clone()).to_array()
    }
}
