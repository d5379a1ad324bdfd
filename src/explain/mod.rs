//! Explanations: how much each column of a row contributes to its prediction, as Shapley values.
//!
//! The players are the columns of a row; what they contribute is measured against a background: the value of a set of
//! columns is the mean prediction where these are the row's and the others are those of a background row (interventional
//! values: Lundberg and Lee, "A unified approach to interpreting model predictions", 2017). The values of a row add up to its
//! prediction minus the mean prediction of the background.
//!
//! Predictions by a kernel that is a product over the columns are explained exactly, in `O(m d^2)` for a row and a background
//! row; those of any other model by sampled orders of the columns, with standard errors.

mod products;
mod quadrature;
mod sampling;
mod sums;
#[cfg(test)]
mod tests;

use std::ops::Range;

use ndarray::{Array1, Array2, Array3, ArrayView2, Axis};

use crate::any::AnyModel;
use crate::basis::AnyBasis;
use crate::error::{Error, Result, in_range};
use crate::kernel::{Kernel, PointSet};
use crate::learner::{AsLearner as _, StreamLearner};
use crate::linalg::{Coordinates, Panel, to_array};
use crate::model::Merge as _;
use crate::stream::AnyStream;
use crate::table::Labels;
use crate::targets::TargetModels;
use products::ProductSum;
use sampling::{Function, Sampled, sampled};
pub use sums::{KernelSum, kernel_sums};

/// Most stored points of the default background: for exact values, and for sampled ones.
const BACKGROUND: [usize; 2] = [100, 25];

/// Method of computation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Exactly where that is possible, by sampling elsewhere.
    #[default]
    Auto,
    /// Exactly, or an error.
    Exact,
    /// By sampled orders of the columns.
    Sampling,
}

impl Method {
    /// The method of this name: "auto", "exact" or "sampling".
    pub fn of_name(name: &str) -> Result<Self> {
        match name {
            "auto" => Ok(Self::Auto),
            "exact" => Ok(Self::Exact),
            "sampling" => Ok(Self::Sampling),
            other => Err(Error::InvalidParameter {
                name: "method",
                value: format!("{other:?}"),
                requirement: "\"auto\", \"exact\" or \"sampling\"",
            }),
        }
    }
}

/// How an explanation is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExplainSpec {
    /// Method of computation.
    pub method: Method,
    /// Sampled orders of the columns for each background row: even, at least 4.
    pub n_permutations: usize,
    /// Seed of the orders.
    pub random_state: u64,
}

impl Default for ExplainSpec {
    fn default() -> Self {
        Self { method: Method::Auto, n_permutations: 4, random_state: 0 }
    }
}

/// Contributions of columns to predictions.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// Contribution of each column to each output of each row (n, p, columns).
    pub values: Array3<f64>,
    /// Standard errors of the values, widened by Student's quantile where there are few orders, so that two of them
    /// cover 95 %; `None` where they are exact.
    pub errors: Option<Array3<f64>>,
    /// The mean prediction of the background (p): with the values of a row it adds up to its prediction.
    pub base_values: Array1<f64>,
}

/// Explains the predictions of rows `x` (n, d) against `background` (b, d); `None`: stored points of the model.
///
/// For classes the outputs that distinguish them are explained. Exact values explain what was learned, before a
/// learner shrinks a prediction or keeps it within the range of targets, and before logarithms of odds are calibrated;
/// sampled ones explain predictions as they are.
///
/// ```
/// use kernelstream::explain::{ExplainSpec, explain};
/// use kernelstream::{AnyModel, Model as _, Result};
/// use ndarray::{Array2, Axis};
///
/// # fn main() -> Result<()> {
/// let x = Array2::from_shape_fn((500, 3), |(i, k)| (i as f64 * [0.618, 0.414, 0.732][k]).fract());
/// let y = x.map_axis(Axis(1), |x| x[0] + 2.0 * x[1]).insert_axis(Axis(1));
/// let mut model = AnyModel::from_json("{}")?;
/// model.learn(x.view(), y.view())?;
/// let found = explain(&model, x.view(), Some(x.view()), ExplainSpec::default())?;
/// assert!(found.errors.is_none());
/// let sum = found.values.slice(ndarray::s![0, 0, ..]).sum() + found.base_values[0];
/// assert!((sum - model.predict(x.view())?[(0, 0)]).abs() < 1e-9);
/// assert!(found.values.slice(ndarray::s![.., 0, 2]).iter().all(|value| value.abs() < 0.05));
/// # Ok(())
/// # }
/// ```
pub fn explain(
    model: &AnyModel,
    x: ArrayView2<'_, f64>,
    background: Option<ArrayView2<'_, f64>>,
    spec: ExplainSpec,
) -> Result<Explanation> {
    let pairs = spec.n_permutations / 2;
    let sound = spec.n_permutations.is_multiple_of(2) && pairs > 1;
    in_range("n_permutations", spec.n_permutations, sound, "even, at least 4")?;
    if let Some(targets) = model.as_targets() {
        return of_targets(targets, x, background, spec);
    }
    let subject = Subject::of(model)?;
    let x = Subject::features(model, x)?;
    let players = subject.players(x.ncols());
    let exact = match spec.method {
        Method::Sampling => None,
        Method::Auto | Method::Exact => subject.parts(&players),
    };
    if exact.is_none() && spec.method == Method::Exact {
        return Err(Error::InvalidParameter {
            name: "method",
            value: "\"exact\"".into(),
            requirement: "\"sampling\" for this model: values are exact where the kernel is a product over the \
                          columns (gaussian, manhattan_laplacian with exponent 1, linear, their sums, all with diagonal \
                          metrics), points are stored by ald or all_points or a budgeted learner, and the shares of \
                          experts do not depend on the row",
        });
    }
    let background = match background {
        Some(rows) => Subject::features(model, rows).map_err(of_background)?,
        None => subject.stored(BACKGROUND[usize::from(exact.is_none())])?,
    };
    if background.is_empty() {
        return Err(Error::InvalidParameter {
            name: "background",
            value: "none".into(),
            requirement: "rows, which this model needs since it has no stored points of its own",
        });
    }
    let background = background.view();
    // Rows are checked by these, and named: sums of products are computed of numbers as they are.
    let outputs = subject.outputs(background).map_err(of_background)?;
    subject.outputs(x.view())?;
    if let Some(parts) = exact {
        let n_outputs = subject.inner.n_outputs().ok_or(Error::NothingLearned)?;
        let mut values = Array3::zeros((x.nrows(), n_outputs, players.len()));
        let mut base_values = Array1::zeros(n_outputs);
        for part in parts {
            part.sum.add_values(x.view(), background, &part.weights, values.view_mut())?;
            base_values += &part.mean(background);
        }
        return Ok(Explanation { values, errors: None, base_values });
    }
    let function: &Function<'_> = &|rows| subject.outputs(rows);
    let base_values = outputs.mean_axis(Axis(0)).unwrap_or_default();
    let Sampled { values, errors } =
        sampled(function, x.view(), background, &players, pairs, spec.random_state)?;
    Ok(Explanation { values, errors: Some(errors), base_values })
}

/// The error of a model that was given a background as its rows, with the name that the caller knows.
fn of_background(error: Error) -> Error {
    let what = "background";
    match error {
        Error::WrongWidth { expected, found, .. } => Error::WrongWidth { what, expected, found },
        Error::NotFinite { row, column, value, .. } => Error::NotFinite { what, row, column, value },
        Error::TooLarge { row, column, magnitude, .. } => Error::TooLarge { what, row, column, magnitude },
        // A cell is always one of X.
        Error::Cell { row, column, reason } => Error::InvalidParameter {
            name: what,
            value: format!("row {row}, of which column {column} {reason}"),
            requirement: "rows that the model can predict",
        },
        other => other,
    }
}

/// Explains each target by its model, by stored points of its own if there is no background.
fn of_targets(
    targets: &TargetModels<AnyModel>,
    x: ArrayView2<'_, f64>,
    background: Option<ArrayView2<'_, f64>>,
    spec: ExplainSpec,
) -> Result<Explanation> {
    let count = targets.models().len();
    let mut values = Array3::zeros((x.nrows(), count, x.ncols()));
    let (mut errors, mut base_values) = (None, Array1::zeros(count));
    for (c, model) in targets.models().iter().enumerate().filter(|(_, model)| model.has_begun()) {
        let (found, output) = (explain(model, x, background, spec)?, targets.output(c));
        values.index_axis_mut(Axis(1), c).assign(&found.values.index_axis(Axis(1), output));
        base_values[c] = found.base_values[output];
        if let Some(own) = found.errors {
            let all = errors.get_or_insert_with(|| Array3::zeros(values.raw_dim()));
            all.index_axis_mut(Axis(1), c).assign(&own.index_axis(Axis(1), output));
        }
    }
    Ok(Explanation { values, errors, base_values })
}

/// The explained model of features, and the map from columns to features.
struct Subject<'a> {
    inner: &'a AnyModel,
    /// The first feature of each column; `None`: each feature is a column.
    firsts: Option<Vec<usize>>,
    labels: Option<&'a Labels>,
}

/// A sum of products, its coefficient in each output, and the constant of each output.
struct Part<'a> {
    kernel: &'a Kernel,
    points: &'a PointSet,
    coefficients: Panel,
    sum: ProductSum<'a>,
    weights: Vec<f64>,
    constants: Vec<f64>,
}

impl Part<'_> {
    /// The mean of the sum over rows, by output.
    fn mean(&self, rows: ArrayView2<'_, f64>) -> Array1<f64> {
        let similarities = to_array(self.kernel.similarities_of_rows(self.points, rows).as_faer());
        let coefficients = self.coefficients.to_array();
        let coefficients = coefficients.slice(ndarray::s![..self.points.len(), ..]);
        let mean = similarities.dot(&coefficients).mean_axis(Axis(0)).unwrap_or_default();
        let weights = self.weights.iter().zip(&self.constants);
        mean.iter().zip(weights).map(|(mean, (weight, constant))| weight * (mean + constant)).collect()
    }
}

impl<'a> Subject<'a> {
    fn of(model: &'a AnyModel) -> Result<Self> {
        model.n_outputs().ok_or(Error::NothingLearned)?;
        Ok(match model.as_table() {
            Some(table) => Self {
                inner: table.model(),
                firsts: table.encoder().map(crate::table::Encoder::first_features),
                labels: table.labels(),
            },
            None => Self { inner: model, firsts: None, labels: None },
        })
    }

    fn features(model: &AnyModel, rows: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        model.as_table().map_or_else(|| Ok(rows.to_owned()), |table| table.features(rows))
    }

    /// The features of each column.
    fn players(&self, width: usize) -> Vec<Range<usize>> {
        match &self.firsts {
            None => (0..width).map(|column| column..column + 1).collect(),
            Some(firsts) => {
                let ends = firsts.iter().skip(1).copied().chain([width]);
                firsts.iter().zip(ends).map(|(first, end)| *first..end).collect()
            }
        }
    }

    /// The outputs that are explained, of rows of features.
    fn outputs(&self, rows: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        let mut outputs = self.inner.predict(rows)?;
        if let Some(labels) = self.labels {
            outputs.rows_mut().into_iter().for_each(|row| labels.calibrate(row));
        }
        Ok(outputs)
    }

    /// At most this many rows of features that the model has stored, spread over them.
    fn stored(&self, most: usize) -> Result<Array2<f64>> {
        let rows = match self.inner.as_adaptive() {
            Some(experts) => experts.remembered_rows().ok_or(Error::NothingLearned)?,
            None => self.inner.dictionary(),
        };
        let (n, most) = (rows.nrows(), most.min(rows.nrows()));
        let chosen: Vec<usize> = (0..most).map(|i| (2 * i + 1) * n / (2 * most)).collect();
        Ok(rows.select(Axis(0), &chosen))
    }

    /// The model as sums of products of functions of the players' columns; `None` if it is none.
    fn parts(&self, players: &[Range<usize>]) -> Option<Vec<Part<'a>>> {
        if self.labels.is_some_and(|labels| labels.are_calibrated() && !labels.follow_odds()) {
            return None;
        }
        match self.inner {
            AnyModel::Experts(experts) => {
                let shares = self.inner.mixture()?;
                let models = experts.models().enumerate();
                let counting = models.filter(|(e, _)| shares.column(*e).iter().any(|share| *share > 0.0));
                counting.map(|(e, model)| part(model, players, shares.column(e).to_vec())).collect()
            }
            model => Some(vec![part(model, players, vec![1.0; model.n_outputs()?])?]),
        }
    }
}

/// A model as a sum of products.
fn part<'a>(model: &'a AnyModel, players: &[Range<usize>], weights: Vec<f64>) -> Option<Part<'a>> {
    let (kernel, points, coefficients, constants) = match model {
        AnyModel::Stream(stream) => of_stream(stream)?,
        AnyModel::Budgeted(model) => {
            let (kernel, points, coefficients) = model.sum_of_similarities()?;
            (kernel, points, coefficients.clone(), vec![0.0; coefficients.cols()])
        }
        _ => return None,
    };
    let sum = ProductSum::of(kernel, points, coefficients.clone(), players)?;
    Some(Part { kernel, points, coefficients, sum, weights, constants })
}

/// Kernel, points and coefficients of a stream's function, and its value where there are no similarities.
fn of_stream(stream: &AnyStream) -> Option<(&Kernel, &PointSet, Panel, Vec<f64>)> {
    let AnyBasis::Nested(basis) = stream.basis() else { return None };
    let features = basis.dictionary()?;
    let learner = stream.learner().as_learner();
    let slopes = learner.slopes();
    let coefficients = features.coefficients(&slopes);
    let constants = (0..learner.n_outputs()).map(|c| constant(learner, &slopes, c)).collect();
    Some((features.kernel(), features.points(), coefficients, constants))
}

/// The value of output `c` where there are no similarities, before predictions are clipped.
fn constant<L: StreamLearner + ?Sized>(learner: &L, slopes: &Panel, c: usize) -> f64 {
    let squares = squares(slopes, c);
    let there = at(learner, slopes, c, 0.0);
    let far = 1e9 * (1.0 + there.abs()) / squares;
    let (low, high) = (at(learner, slopes, c, -far), at(learner, slopes, c, far));
    if !(squares > 0.0 && far.is_finite() && low < high) || low < there && there < high {
        return there;
    }
    // Along its slopes the output rises by `squares`, and reaches the middle of its bounds.
    let (mut least, mut most) = (-far, far);
    while least < most {
        let by = f64::midpoint(least, most);
        let value = at(learner, slopes, c, by);
        if low < value && value < high {
            return value - by * squares;
        }
        if by <= least || by >= most {
            break;
        }
        if value <= low { least = by } else { most = by }
    }
    there
}

/// By how much output `c` rises along its slopes.
fn squares(slopes: &Panel, c: usize) -> f64 {
    slopes.col(c)[..slopes.rows()].iter().map(|slope| slope * slope).sum()
}

/// The prediction of output `c` at the coordinates that are `by` times its slopes.
fn at<L: StreamLearner + ?Sized>(learner: &L, slopes: &Panel, c: usize, by: f64) -> f64 {
    let mut z = Coordinates::default();
    z.set(slopes.col(c)[..slopes.rows()].iter().map(|slope| by * slope));
    let mut out = vec![0.0; learner.n_outputs()];
    learner.predict(&z, 0.0, &mut out);
    out[c]
}
