//! Sums over stored points that can be removed: support vector learners on a budget.
//!
//! `f = sum_i a_i k(s_i, .)`, one column of coefficients per output. A row without loss costs only
//! the comparison with the stored points, so these are the cheapest learners here; they are
//! first-order, and the contribution of a removed point is lost. Every one is a cell of a table:
//!
//! ```text
//!                          none      random   unbiased   oldest      cheapest   project
//! perceptron               -         RBP                             -          Projectron, Projectron++
//! passive-aggressive       PA-I                                      BPA-S
//! functional gradient      KOGD               BOGD       NORMA
//! ```
//!
//! KOGD and NORMA: Kivinen, Smola and Williamson, 2004. RBP: Cavallanti, Cesa-Bianchi and Gentile, 2007.
//! BPA-S: Wang and Vucetic, 2010. Projectron, Projectron++: Orabona, Keshet and Caputo, 2009. BOGD: Zhao,
//! Wang, Wu, Jin and Hoi, 2012.

mod file;
pub mod presets;
mod removal;
mod rule;
mod spec;
mod sum;

use ndarray::{Array1, Array2, ArrayView1, ArrayView2};

pub(crate) use file::KIND;
pub use spec::{
    BudgetSpec, BudgetedGradientSpec, BudgetedPassiveAggressiveSpec, BudgetedPerceptronSpec, BudgetedSpec,
    Removal,
};

use crate::error::{Error, Result};
use crate::kernel::{Kernel, KernelSpec, PointSet};
use crate::linalg::Panel;
use crate::model::{Introspection, Model, Uncertainty, sizes};
use crate::uncertainty::{Calibration, Diagnostics, Errors, LearnedRows, Prequential, Spread};
use crate::validate::{check_lengths, check_rows, check_targets, check_weights, check_width, one_row};
use rule::StepRule;
use spec::Limits;
use sum::{Round, Sum};

/// Learns a stream of rows `(x, y)` in one pass with at most as many stored points as its budget.
///
/// Each row is predicted before it is learned. With `m` stored points, `d` features and `p` outputs
/// a row costs `O(m d + m p)`; projections add `O(m^2)` for a row with a loss. Nothing is allocated
/// once the dictionary is full. The result does not depend on how a stream is split into calls,
/// random removals included.
///
/// ```
/// use kernelstream::budget::{BudgetSpec, Budgeted, BudgetedPerceptronSpec, Removal};
/// use kernelstream::kernel::Kernel;
/// use kernelstream::model::{Introspection as _, Model as _};
/// use ndarray::Array2;
///
/// # fn main() -> kernelstream::Result<()> {
/// let rule = BudgetedPerceptronSpec { budget: Some(20), removal: Removal::Random, ..BudgetedPerceptronSpec::default() };
/// let mut model = Budgeted::new(Kernel::gaussian(0.5)?, BudgetSpec::BudgetedPerceptron(rule))?;
///
/// // Is a point of the line within 1 of the origin?
/// let x = Array2::from_shape_fn((2000, 1), |(i, _)| (i as f64 * 0.618).fract() * 4.0 - 2.0);
/// let y = x.mapv(|x| if x.abs() < 1.0 { 1.0 } else { -1.0 });
/// let predictions = model.learn_and_predict(x.view(), y.view())?;
/// let mistakes = (&predictions * &y).iter().filter(|margin| **margin <= 0.0).count();
/// assert!(mistakes < 200 && model.n_stored() <= 20);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Budgeted {
    kernel: KernelSpec,
    spec: BudgetSpec,
    rule: StepRule,
    limits: Limits,
    n_seen: u64,
    /// Rows learned, without those of weight 0.
    n_rounds: u64,
    n_removed: u64,
    errors: Errors,
    /// `None` before the first row.
    sum: Option<Sum>,
}

impl Budgeted {
    /// An untrained model, with validated parameters.
    pub fn new(kernel: impl Into<KernelSpec>, spec: BudgetSpec) -> Result<Self> {
        let kernel = kernel.into();
        kernel.resolve(0)?;
        let (rule, limits) = spec.parts()?;
        Ok(Self {
            kernel,
            spec,
            rule,
            limits,
            n_seen: 0,
            n_rounds: 0,
            n_removed: 0,
            errors: Errors::default(),
            sum: None,
        })
    }

    /// The specification.
    #[must_use]
    pub fn spec(&self) -> BudgetedSpec {
        BudgetedSpec { kernel: self.kernel.clone(), learner: self.spec.clone() }
    }

    /// Number of points that were stored and removed.
    #[must_use]
    pub fn n_removed(&self) -> u64 {
        self.n_removed
    }

    /// The coefficients of the stored points (m, p).
    #[must_use]
    pub fn coefficients(&self) -> Array2<f64> {
        self.sum.as_ref().map_or_else(|| Array2::zeros((0, 0)), |sum| sum.coefficients().to_array())
    }

    /// Kernel, stored points and their coefficients (m, p); `None` before the first row.
    pub(crate) fn sum_of_similarities(&self) -> Option<(&Kernel, &PointSet, &Panel)> {
        self.sum.as_ref().map(|sum| (sum.kernel(), sum.points(), sum.coefficients()))
    }

    /// Fixes widths at the first row.
    fn begin(&mut self, width: usize, outputs: usize) -> Result<()> {
        if self.sum.is_none() {
            self.sum = Some(Sum::new(self.kernel.resolve(width)?, width, outputs));
            self.errors = Errors::new(outputs);
        }
        Ok(())
    }

    /// Learns row `i` of the arrays. On an error nothing has changed.
    fn learn_row(
        &mut self,
        x: impl Iterator<Item = f64>,
        y: &[f64],
        weight: f64,
        (i, prequential): (usize, &mut Prequential<'_>),
    ) -> Result<()> {
        let Some(sum) = &mut self.sum else { return Ok(()) };
        sum.meet(x, y.iter().copied());
        if weight > 0.0 {
            let round = Round { t: self.n_rounds + 1, weight, n_removed: self.n_removed };
            self.n_removed += sum.round(round, &self.rule, self.limits)?;
            self.n_rounds += 1;
            let row = LearnedRows {
                predictions: sum.prediction(),
                y,
                stride: y.len(),
                leverages: &[0.0],
                novelties: &[f64::NAN],
                weights: Some(&[weight]),
                forgetting: 1.0,
            };
            self.errors.meet(&row, &mut prequential.rows(i..i + 1));
        } else {
            self.errors.record(i, sum.prediction(), (0.0, f64::NAN), prequential);
        }
        self.n_seen += 1;
        Ok(())
    }

    fn check_x(&self, x: ArrayView2<'_, f64>) -> Result<()> {
        check_width("X", self.n_features(), x.ncols())?;
        match &self.sum {
            Some(sum) => check_rows(sum.kernel(), "X", x),
            None => check_rows(&self.kernel.resolve(x.ncols())?, "X", x),
        }
    }
}

impl std::fmt::Debug for Budgeted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        sizes("Budgeted", self, f)
    }
}

impl Model for Budgeted {
    fn check(
        &self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
    ) -> Result<()> {
        check_lengths(x, "y", y)?;
        check_weights(x, weights)?;
        self.check_x(x)?;
        check_targets(self.n_outputs(), y)
    }

    fn can_refuse(&self, _weights: Option<ArrayView1<'_, f64>>) -> bool {
        true
    }

    fn learn_prequential(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        mut prequential: Prequential<'_>,
        should_continue: &mut dyn FnMut(usize) -> bool,
    ) -> Result<usize> {
        self.check(x, y, weights)?;
        prequential.check(y.dim())?;
        // A call that ends at once has learned no widths either.
        if x.nrows() == 0 || !should_continue(0) {
            return Ok(0);
        }
        // A single row rolls itself back.
        let before = (x.nrows() > 1 || self.sum.is_none()).then(|| self.clone());
        self.begin(x.ncols(), y.ncols())?;
        let mut targets = Vec::with_capacity(y.ncols());
        for (i, (x, y)) in x.rows().into_iter().zip(y.rows()).enumerate() {
            if i > 0 && !should_continue(i) {
                return Ok(i);
            }
            let weight = weights.map_or(1.0, |weights| weights[i]);
            targets.clear();
            targets.extend(y);
            if let Err(error) = self.learn_row(x.iter().copied(), &targets, weight, (i, &mut prequential)) {
                if let Some(before) = before {
                    *self = before;
                }
                return Err(error.shifted(i));
            }
        }
        Ok(x.nrows())
    }

    fn learn_one(&mut self, x: &[f64], y: &[f64]) -> Result<()> {
        self.check(one_row(x), one_row(y), None)?;
        let fresh = self.sum.is_none();
        self.begin(x.len(), y.len())?;
        let learned = self.learn_row(x.iter().copied(), y, 1.0, (0, &mut Prequential::default()));
        if learned.is_err() && fresh {
            self.sum = None;
        }
        learned
    }

    /// Predictions for rows `x` (n, d) in the current state (n, p).
    ///
    /// By blocks, as matrix products; equal to one row at a time to rounding.
    fn predict(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        let sum = self.sum.as_ref().ok_or(Error::NothingLearned)?;
        self.check_x(x)?;
        sum.predict(x)
    }

    fn predict_one_into(&self, x: &[f64], out: &mut [f64]) -> Result<()> {
        let sum = self.sum.as_ref().ok_or(Error::NothingLearned)?;
        check_width("out", Some(sum.coefficients().cols()), out.len())?;
        self.check_x(one_row(x))?;
        sum.predict_one(x, out);
        Ok(())
    }

    fn n_seen(&self) -> u64 {
        self.n_seen
    }

    fn n_features(&self) -> Option<usize> {
        self.sum.as_ref().map(|sum| sum.points().width())
    }

    fn n_outputs(&self) -> Option<usize> {
        self.sum.as_ref().map(|sum| sum.coefficients().cols())
    }
}

impl Uncertainty for Budgeted {
    fn predict_with_spread(
        &self,
        x: ArrayView2<'_, f64>,
        spread: Spread,
    ) -> Result<(Array2<f64>, Array2<f64>)> {
        let predictions = self.predict(x)?;
        let spreads = Array2::from_shape_fn(predictions.dim(), |(_, c)| self.errors.spread(c, 0.0, spread));
        Ok((predictions, spreads))
    }

    fn calibration(&self) -> Option<&Calibration> {
        Some(self.errors.calibration())
    }
}

impl Introspection for Budgeted {
    /// Factorizes the Gram matrix of the stored points first. O(m^3 + n m^2).
    fn novelty(&self, x: ArrayView2<'_, f64>) -> Result<Array1<f64>> {
        let sum = self.sum.as_ref().ok_or(Error::NothingLearned)?;
        self.check_x(x)?;
        Ok(sum.novelty(x))
    }

    fn quality(&self) -> Diagnostics {
        Diagnostics { n_stored: self.n_stored(), ..self.errors.diagnostics(false) }
    }

    /// Similarities of rows `x` (n, d) to the stored points (n, m), in which predictions are
    /// linear.
    fn transform(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        let sum = self.sum.as_ref().ok_or(Error::NothingLearned)?;
        self.check_x(x)?;
        sum.similarities(x)
    }

    fn dictionary(&self) -> Array2<f64> {
        self.sum.as_ref().map_or_else(|| Array2::zeros((0, 0)), |sum| sum.points().panel().to_array())
    }

    fn n_stored(&self) -> usize {
        self.sum.as_ref().map_or(0, |sum| sum.points().len())
    }
}
