//! The interface of all models.

use std::fmt::{self, Formatter};

use ndarray::{Array1, Array2, Array3, ArrayView1, ArrayView2, ArrayViewMut1, ArrayViewMut2, Axis};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::uncertainty::{Calibration, Diagnostics, Prequential, Spread};
use crate::validate::one_row;

/// What the evidence of the first rows chooses of ridge regression: the regularization.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Evidence {
    /// Whether it chooses the kernel's bandwidth too, if it has one.
    pub bandwidth: bool,
}

/// A model that learns rows `x` with targets `y`.
///
/// All rows are checked before the first is learned, on an error nothing has changed, and any way of cutting
/// a stream into calls gives the same model.
///
/// The first seven methods are required; the others are built on them. Further queries are in
/// [`Uncertainty`] and [`Introspection`].
pub trait Model: Send + Sync {
    /// Refuses rows that cannot be learned, naming the row; learning begins with it.
    fn check(
        &self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
    ) -> Result<()>;

    /// Learns rows `x` (n, d) with targets `y` (n, p), whose losses count `weights` (n) times; `None` is
    /// once. `should_continue` is called periodically with how many are done, and ends the call by returning false; a call with
    /// the rest of the rows then gives the same model as one with all, to the last bit. Returns how many rows
    /// were learned. Quantities of each row before it is learned are written to `prequential`.
    fn learn_prequential(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        prequential: Prequential<'_>,
        should_continue: &mut dyn FnMut(usize) -> bool,
    ) -> Result<usize>;

    /// Predictions for rows `x` (n, d), in the current state (n, p).
    fn predict(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>>;

    /// The prediction for one row, written to `out`, which has a place for each output. Allocates nothing; any
    /// number of threads may call it at once.
    fn predict_one_into(&self, x: &[f64], out: &mut [f64]) -> Result<()>;

    /// Rows learned so far.
    fn n_seen(&self) -> u64;

    /// Features of a row; `None` before the first.
    fn n_features(&self) -> Option<usize>;

    /// Outputs; `None` before the first row.
    fn n_outputs(&self) -> Option<usize>;

    /// Whether a row that passed [`check`](Self::check) with these weights may still be refused.
    fn can_refuse(&self, _weights: Option<ArrayView1<'_, f64>>) -> bool {
        true
    }

    /// [`learn_prequential`](Self::learn_prequential) with at most predictions (n, p) as output.
    fn learn_while(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        predictions: Option<ArrayViewMut2<'_, f64>>,
        should_continue: &mut dyn FnMut(usize) -> bool,
    ) -> Result<usize> {
        self.learn_prequential(x, y, weights, Prequential::predictions(predictions), should_continue)
    }

    /// Learns one row.
    fn learn_one(&mut self, x: &[f64], y: &[f64]) -> Result<()> {
        self.learn_while(one_row(x), one_row(y), None, None, &mut |_| true).map(|_| ())
    }

    /// [`learn_one`](Self::learn_one), with its prediction before it is learned, written to `made`, which has a place
    /// for each output.
    fn predict_and_learn_one(&mut self, x: &[f64], y: &[f64], made: &mut [f64]) -> Result<()> {
        let made = ArrayViewMut1::from(made).insert_axis(Axis(0));
        self.learn_while(one_row(x), one_row(y), None, Some(made), &mut |_| true).map(|_| ())
    }

    /// The prediction for one row (p).
    fn predict_one(&self, x: &[f64]) -> Result<Vec<f64>> {
        let mut out = vec![0.0; self.n_outputs().ok_or(Error::NothingLearned)?];
        self.predict_one_into(x, &mut out)?;
        Ok(out)
    }

    /// Learns rows `x` (n, d) with targets `y` (n, p).
    ///
    /// All rows are checked before the first is learned. On an error the model is as before.
    fn learn(&mut self, x: ArrayView2<'_, f64>, y: ArrayView2<'_, f64>) -> Result<()> {
        self.learn_while(x, y, None, None, &mut |_| true).map(|_| ())
    }

    /// Learns rows, and returns each one's prediction made before it was learned (n, p).
    fn learn_and_predict(&mut self, x: ArrayView2<'_, f64>, y: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        let mut predictions = Array2::zeros(y.raw_dim());
        self.learn_while(x, y, None, Some(predictions.view_mut()), &mut |_| true)?;
        Ok(predictions)
    }
}

/// Uncertainty of the predictions of a [`Model`]. By default it is not available.
pub trait Uncertainty: Model {
    /// Predictions for rows `x`, and the spread of their errors (n, p each): where the model does not
    /// [know](Self::knows_deviation) more, the root mean squared prequential error, the same for all rows. Infinite
    /// where nothing is known yet.
    fn predict_with_spread(
        &self,
        _x: ArrayView2<'_, f64>,
        _spread: Spread,
    ) -> Result<(Array2<f64>, Array2<f64>)> {
        Err(Error::NoDeviation)
    }

    /// Whether the model knows where its predictions are surer than elsewhere.
    fn knows_deviation(&self) -> bool {
        false
    }

    /// Standard deviation of the noise of each output, as far as it is known (p); `None` where the model does not know.
    fn noise(&self) -> Option<Array1<f64>> {
        None
    }

    /// How many of its deviations the errors of this model are, by prequential errors; `None` where it does not know.
    fn calibration(&self) -> Option<&Calibration> {
        None
    }

    /// Predictions for rows `x`, and the standard deviations of targets about them (n, p each), as the model stands:
    /// of the noise, and of what is not known of the function. An error where the model does not know.
    fn predict_with_deviation(&self, x: ArrayView2<'_, f64>) -> Result<(Array2<f64>, Array2<f64>)> {
        if self.n_outputs().is_none() {
            return Err(Error::NothingLearned);
        }
        if self.knows_deviation() {
            self.predict_with_spread(x, Spread::Deviation)
        } else {
            Err(Error::NoDeviation)
        }
    }

    /// Intervals for the targets of rows `x`, lower and upper ends (n, p, 2), that this share of the targets, above 0
    /// and below 1, is within.
    fn interval(&self, x: ArrayView2<'_, f64>, coverage: f64) -> Result<Array3<f64>> {
        Calibration::check(coverage)?;
        let (predictions, spreads) = self.predict_with_spread(x, Spread::Interval)?;
        let calibration = self.calibration().ok_or(Error::NoDeviation)?;
        let (n, p) = predictions.dim();
        let widths: Vec<_> = (0..p).map(|c| calibration.half_width_of(c, coverage)).collect();
        let mut out = Array3::zeros((n, p, 2));
        for ((i, c), prediction) in predictions.indexed_iter() {
            let (low, high) = calibration.interval_within(c, widths[c], *prediction, spreads[(i, c)]);
            (out[(i, c, 0)], out[(i, c, 1)]) = (low, high);
        }
        Ok(out)
    }
}

/// Queries of a [`Model`] about its state: stored points, slopes, errors.
pub trait Introspection: Model {
    /// The features in which predictions are linear, for rows `x` (n, m): coordinates, or similarities to the
    /// stored points.
    fn transform(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>>;

    /// The stored points, one a row (m, d).
    fn dictionary(&self) -> Array2<f64>;

    /// Points stored.
    fn n_stored(&self) -> usize;

    /// Quality of the model: errors, also over recent rows, coverage, novelty; all of its
    /// [diagnostics](Self::diagnostics) but the condition, and as cheap as a row.
    fn quality(&self) -> Diagnostics;

    /// [Quality](Self::quality) of the model, and its [condition](Self::condition). O(m^2).
    fn diagnostics(&self) -> Diagnostics {
        Diagnostics { condition: self.condition(), ..self.quality() }
    }

    /// Condition number of the coordinates, by which an inversion may magnify rounding. O(m^2).
    fn condition(&self) -> Option<f64> {
        None
    }

    /// Weights of the models of a mixture (outputs, models); `None` for other models, and before the first
    /// row.
    fn mixture(&self) -> Option<Array2<f64>> {
        None
    }

    /// Novelty of rows `x` (n), from 0 to 1: the share of each, in the feature space, that the stored points do not
    /// explain, `(k(x, x) - |z|^2) / k(x, x)`. An error if no points are stored.
    fn novelty(&self, _x: ArrayView2<'_, f64>) -> Result<Array1<f64>> {
        Err(Error::NoNovelty)
    }

    /// Gradients of the predictions with respect to rows `x` (n, d), in the current state (n, p, d). An error for
    /// models without gradients.
    fn gradient(&self, _x: ArrayView2<'_, f64>) -> Result<Array3<f64>> {
        Err(Error::NoGradient)
    }

    /// Importance of each column (d), summing to 1: the mean squared derivative of the predictions with respect
    /// to it, times its variance, at the stored points.
    fn importances(&self) -> Result<Array1<f64>> {
        // The error of a model without gradients comes first: it may have no stored points either.
        let d = self.n_features().ok_or(Error::NothingLearned)?;
        self.gradient(Array2::zeros((0, d)).view())?;
        self.importances_at(self.dictionary().view())
    }

    /// [`importances`](Self::importances) at rows `x` (n, d), with their variances.
    fn importances_at(&self, x: ArrayView2<'_, f64>) -> Result<Array1<f64>> {
        Ok(shares_of(&self.gradient(x)?, x))
    }
}

/// A [`Model`] with all queries.
pub trait CompleteModel: Uncertainty + Introspection {}

impl<M: Uncertainty + Introspection + ?Sized> CompleteModel for M {}

/// A model that is determined by sums over its rows, so that models learned in several places can be merged.
///
/// With coordinates `z` of a dictionary, least squares is `sum z z'` and `sum z y`. For models that have the same
/// dictionary these add, and the result is that of one model which learned all rows, in any order. Where
/// dictionaries differ, the sums are first mapped to a joint one, without the part of each row that its own
/// dictionary did not explain.
///
/// Rows in many places are therefore learned exactly in two rounds: a model learns a sample of them, and its
/// dictionary is [frozen](Self::freeze_dictionary); copies of it learn the rows of each place, and are merged.
///
/// ```
/// use kernelstream::model::{Merge as _, Model as _};
/// use kernelstream::{AnyModel, Result};
/// use ndarray::{Array2, s};
///
/// # fn main() -> Result<()> {
/// let x = Array2::from_shape_fn((3000, 1), |(i, _)| (i as f64 * 0.618).fract() * 6.0);
/// let y = x.mapv(f64::sin);
/// let mut model = AnyModel::from_json("{}")?;
/// model.learn(x.slice(s![..200, ..]), y.slice(s![..200, ..]))?;
/// model.freeze_dictionary()?;
/// let (mut here, mut there) = (model.clone(), model);
/// here.learn(x.slice(s![..2000, ..]), y.slice(s![..2000, ..]))?;
/// there.learn(x.slice(s![2000.., ..]), y.slice(s![2000.., ..]))?;
/// here.merge(&[&there])?;
/// assert_eq!(here.n_seen(), 3000);
/// # Ok(())
/// # }
/// ```
pub trait Merge: Clone {
    /// Whether it has learned any row. Models without rows are ignored by merges.
    fn has_begun(&self) -> bool;

    /// Refuses a model of another kind, specification or width, and any that is not determined by sums.
    fn check_merge(&self, other: &Self, order: PartOrder) -> Result<()>;

    /// The model of the rows of all parts. There are at least two; they have [begun](Self::has_begun) and are
    /// [alike](Self::check_merge).
    fn sum(parts: &[&Self], order: PartOrder) -> Result<Self>;

    /// Adds the rows of `others`, models of the same specification; those without rows are
    /// ignored. On an error the model is as before.
    fn join(&mut self, others: &[&Self], order: PartOrder) -> Result<()> {
        let all: Vec<&Self> = std::iter::once(&*self).chain(others.iter().copied()).collect();
        let parts: Vec<&Self> = all.iter().copied().filter(|part| part.has_begun()).collect();
        let like = parts.first().copied().unwrap_or(self);
        all.iter().try_for_each(|part| like.check_merge(part, order))?;
        *self = match parts[..] {
            [] => return Ok(()),
            [one] => one.clone(),
            _ => Self::sum(&parts, order)?,
        };
        Ok(())
    }

    /// [`join`](Self::join) in [any order](PartOrder::Any).
    fn merge(&mut self, others: &[&Self]) -> Result<()> {
        self.join(others, PartOrder::Any)
    }

    /// Stores no further point from now on, and forgets the rows learned so far: the model is untrained, in
    /// fixed coordinates. On an error it is as before.
    fn freeze_dictionary(&mut self) -> Result<()>;
}

/// Order in time of the rows of models to be merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PartOrder {
    /// Irrelevant, as is the order of the models, to rounding. Not for learners with forgetting.
    #[default]
    Any,
    /// Those of each model came after those of the models before it, which determines the weights of learners with forgetting.
    Successive,
}

/// A model inside of others: of [`Experts`](crate::experts::Experts), of a [`Table`](crate::table::Table) or of
/// [`TargetModels`](crate::targets::TargetModels). For a model of your own, `impl InnerModel for YourModel {}`.
pub trait InnerModel: CompleteModel + Clone {
    /// This model without rows, with what the evidence of targets `y` (n, p) of rows `x` (n, d) of
    /// these weights (n) chooses; an error for models other than streams of ridge regression.
    fn chosen(
        &self,
        _by: Evidence,
        _x: ArrayView2<'_, f64>,
        _y: ArrayView2<'_, f64>,
        _weights: ArrayView1<'_, f64>,
    ) -> Result<Self> {
        Err(no_evidence())
    }

    /// Whether one outlying target would spoil this model, so that a [`Table`](crate::table::Table)
    /// winsorizes it: squares of errors are minimized, and outliers are not winsorized inside.
    fn is_spoiled_by_outliers(&self) -> bool {
        false
    }

    /// Whether its predictions of labels, `2 p - 1` of the probability or thereabouts, are calibrated by itself.
    fn gives_odds(&self) -> bool {
        false
    }
}

/// The `Debug` output of a model: its sizes, not its arrays.
pub(crate) fn sizes<M: Introspection + ?Sized>(name: &str, model: &M, f: &mut Formatter<'_>) -> fmt::Result {
    f.debug_struct(name)
        .field("n_seen", &model.n_seen())
        .field("n_features", &model.n_features())
        .field("n_outputs", &model.n_outputs())
        .field("n_stored", &model.n_stored())
        .finish_non_exhaustive()
}

/// The error of models that the evidence cannot choose for.
pub(crate) fn no_evidence() -> Error {
    let reason = "it chooses for a single model of ridge regression, not for others or several";
    Error::Specification { part: "evidence", reason: reason.into() }
}

/// The mean squared slope along each column (n, outputs, d) times its variance at rows `x` (n, d), as shares of 1.
pub(crate) fn shares_of(gradient: &Array3<f64>, x: ArrayView2<'_, f64>) -> Array1<f64> {
    // In units of the largest, so that no square is beyond double precision.
    let slopes = gradient.axis_iter(Axis(2)).map(|slopes| root_of_squares(slopes.iter().copied()));
    let deviations = x.columns().into_iter().map(|column| {
        let mean = column.iter().map(|value| value / column.len() as f64).sum::<f64>();
        root_of_squares(column.iter().map(|value| value - mean))
    });
    let [slopes, deviations] = [slopes.collect::<Array1<f64>>(), deviations.collect()].map(in_units);
    let mut shares = slopes * deviations;
    shares.mapv_inplace(|share| share * share);
    let total = shares.sum();
    if total > 0.0 {
        shares /= total;
    }
    shares
}

/// The root of the sum of squares, also of numbers whose squares are beyond double precision.
fn root_of_squares(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = values.clone().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    if largest > 0.0 {
        largest * values.map(|value| (value / largest).powi(2)).sum::<f64>().sqrt()
    } else {
        0.0
    }
}

/// Numbers from 0 up in units of the largest.
fn in_units(values: Array1<f64>) -> Array1<f64> {
    let largest = values.iter().copied().fold(0.0, f64::max);
    if largest > 0.0 { values / largest } else { values }
}
