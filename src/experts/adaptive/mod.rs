//! Experts that select transforms, kernels, metrics, bandwidths and regularizations along the
//! stream, and refit when it has grown or changed.
//!
//! A bounded buffer of rows is kept. When the number of rows since the last change is 12, 36, 108,
//! 324, ..., successive halving on it selects settings by held-out error, and the best few become
//! experts: some with one dictionary, some with a partition of the space, three with forgetting,
//! and the constant expert; for labels, with few rows, one exact expert. They learn the buffer,
//! then the stream; earlier experts are dropped when their mixture weight stays near zero. A rise
//! of the errors, or columns out of range, cause a refit on the latest rows. Under lasting drift,
//! more experts with forgetting are added. Isolated outliers are winsorized. Trees
//! and regression on the nearest rows stand beside the kernel experts. Scheduled refits are prepared ahead on another thread.
//!
//! In the order in which a row, a refit and a query pass them:
//!
//! | files | contents |
//! |---|---|
//! | `spec`, `params` | the specification, and its numbers |
//! | `mod` | the model: checks rows, and passes them on in steps; weights of rows are in `row_weights` |
//! | `state` | the state that rows change, and which mixture answers |
//! | `learning` | a row is predicted, judged and learned |
//! | `target_statistics`, `buffer`, `order` | statistics of the targets, a sample of the rows, rows in an order and means that move |
//! | `first_rows` | predictions before there are experts |
//! | `decisions` | after rows and blocks: whether to refit, and which experts to drop |
//! | `refit` | experts of a refit beside those that stay, and their weights |
//! | `preparation` | a refit that begins some rows before it is due |
//! | `training` | experts of a refit: settings with shapes, which learn the sample |
//! | `selection` | settings by successive halving |
//! | `metrics` | metrics that are compared, from `agop` and `main_effects` |
//! | `preprocessing` | column transforms and a metric |
//! | `member`, `partition` | an expert, and the cells of its streams |
//! | `odds_stage` | odds of labels, calibrated and combined with those of logistic regression |
//! | `tree_stage/` | the mixture with trees, also on logarithms (`log_trees`), and with the `nearest` rows (found by `neighbours`) |
//! | `answering` | queries |
//! | `file` | the model in a file |

mod agop;
mod answering;
mod buffer;
mod decisions;
mod file;
mod first_rows;
mod learning;
mod log_trees;
mod main_effects;
mod member;
mod metrics;
mod nearest;
mod neighbours;
mod odds_stage;
mod order;
mod params;
mod partition;
mod preparation;
mod preprocessing;
mod refit;
mod row_weights;
mod selection;
mod spec;
mod state;
mod target_statistics;
#[cfg(test)]
mod tests;
mod training;
mod tree_stage;

use std::sync::Arc;

use ndarray::{Array1, Array2, Array3, ArrayView1, ArrayView2, Axis, s};

pub(crate) use file::KIND;
pub use member::MemberReport;
pub use params::{
    AdaptiveParams, Mechanism, MemberParams, MetricParams, OrderParams, PreprocessingParams, RefitParams,
    SelectionParams, TreeParams,
};
pub use spec::{AdaptiveSpec, Effort};

pub use crate::online::drift::DriftParams;
pub use crate::online::winsorizer::WinsorizerParams;

use super::blend::{side_by_side, stacked, weights};
use crate::error::{Error, Result};
use crate::model::{InnerModel, Introspection, Model, Uncertainty};
use crate::online::winsorizer::tamed;
use crate::uncertainty::{Calibration, Diagnostics, Prequential, Spread};
use crate::validate::{check_finite, check_lengths, check_targets, check_weights, check_width, one_row};
use buffer::spread;
use member::Member;
use row_weights::Weighing;
use state::State;

/// Experts that select their settings themselves.
///
/// Raw rows of any units are accepted. Each row is predicted before it is learned, and the model
/// does not depend on how a stream is split into calls. Between refits a row costs the sum over
/// experts, about `8 m^2` operations for each of five with `m` points in a cell; a refit costs
/// about 5,000 rows, and is prepared ahead on another thread where its time is known. Memory is that of
/// two refits: at most about 350 MB with 300 points and 20 columns, and at most 84 MB for trees.
///
/// Trees join the prediction from 256 rows on: a forest on the residuals of the kernel experts (for
/// labels, on the labels), and boosted trees on the targets. [`members`](Self::members),
/// [`mixture`](crate::model::Introspection::mixture), [`transform`](crate::model::Introspection::transform) and
/// importances are those of the kernel experts alone.
///
/// Between refits the mixture's regret is bounded as in [`MixtureSpec`](super::MixtureSpec); each
/// refit restarts it, so the bounds add up.
///
/// ```
/// use kernelstream::experts::adaptive::AdaptiveSpec;
/// use kernelstream::model::{Introspection as _, Model as _};
/// use ndarray::{Array2, s};
///
/// # fn main() -> kernelstream::Result<()> {
/// // Three columns in different units, the last irrelevant.
/// let x = Array2::from_shape_fn((1500, 3), |(i, k)| (i as f64 * [0.618, 0.414, 0.732][k]).fract() * [1.0, 1e6, 3.0][k]);
/// let y = x.map_axis(ndarray::Axis(1), |x| (6.0 * x[0]).sin() + x[1] / 1e6).insert_axis(ndarray::Axis(1));
/// let mut model = AdaptiveSpec::default().build()?;
/// let predictions = model.learn_and_predict(x.view(), y.view())?;
/// let late = s![1100.., ..];
/// assert!((&predictions - &y).slice(late).iter().all(|error| error.abs() < 0.2));
/// assert!(model.importances()?[2] < 0.05);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct AdaptiveExperts {
    spec: Arc<AdaptiveSpec>,
    n_seen: u64,
    weighing: Weighing,
    /// `None` before the first row.
    state: Option<State>,
}

impl AdaptiveExperts {
    pub(super) fn new(spec: AdaptiveSpec) -> Self {
        Self { spec: Arc::new(spec), n_seen: 0, weighing: Weighing::default(), state: None }
    }

    /// Its parameters.
    #[must_use]
    pub fn spec(&self) -> &AdaptiveSpec {
        &self.spec
    }

    /// Descriptions of its experts, in the order of the mixture's weights.
    #[must_use]
    pub fn members(&self) -> Vec<MemberReport> {
        self.state.iter().flat_map(|state| &state.members).map(Member::report).collect()
    }

    /// Number of refits.
    #[must_use]
    pub fn n_refits(&self) -> u64 {
        self.state.as_ref().map_or(0, |state| state.n_refits)
    }

    /// Number of rows whose target was winsorized.
    #[must_use]
    pub fn n_limited(&self) -> u64 {
        self.state.as_ref().map_or(0, |state| state.limits.limited)
    }

    /// Outputs and targets, as they came, of the latest of these rows since the model was loaded, each once, the latest
    /// last.
    #[must_use]
    pub fn latest_limited(&self) -> Vec<(usize, f64)> {
        self.state.as_ref().map_or_else(Vec::new, |state| state.limits.latest.clone())
    }

    /// Rows in the buffer (n, d), spread over the stream; `None` before the first.
    pub(crate) fn remembered_rows(&self) -> Option<Array2<f64>> {
        self.state.as_ref().map(|state| state.buffer.sample().x)
    }

    fn known(&self) -> Result<&State> {
        self.state.as_ref().ok_or(Error::NothingLearned)
    }

    fn check_x(&self, x: ArrayView2<'_, f64>) -> Result<()> {
        check_width("X", self.n_features(), x.ncols())?;
        check_finite("X", x)
    }
}

impl Model for AdaptiveExperts {
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

    /// An expert that refuses a row is dropped; the others continue.
    fn can_refuse(&self, _weights: Option<ArrayView1<'_, f64>>) -> bool {
        false
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
        let mut done = 0;
        let relative = self.weighing.clone().relative(weights, x.nrows());
        while done < x.nrows() && should_continue(done) {
            let state = self.state.get_or_insert_with(|| State::new(x.ncols(), y.ncols(), &self.spec));
            if state.resume(x.nrows() - done).is_err() {
                break;
            }
            let end = x.nrows().min(done + state.rows_of_step());
            let of = |end: usize| relative.as_ref().map(|weights| weights.slice(s![done..end]));
            let end = done + state.rows_at_once(y.slice(s![done..end, ..]), of(end));
            let raw = |start: usize, end: usize| weights.map(|weights| weights.slice_move(s![start..end]));
            let (rows, weights) = (s![done..end, ..], of(end));
            let part = prequential.rows(done..end);
            let before = state.met;
            state.learn_part(x.slice(rows), y.slice(rows), weights, part);
            self.n_seen += (end - done) as u64;
            self.weighing.meet_rows(raw(done, end), end - done);
            done = end;
            // Rows stay learned if a refit is interrupted, which is repeated before the next row.
            if state.met > before && state.turn(x.nrows() - done).is_err() {
                break;
            }
        }
        Ok(done)
    }

    /// For the next row, or, if rows so far came in an order such as that of a sorted table, for
    /// any row: by the mixture of lasting experts.
    fn predict(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        let state = self.known()?;
        self.check_x(x)?;
        state.predict(x)
    }

    /// For the next row of the stream.
    fn predict_one_into(&self, x: &[f64], out: &mut [f64]) -> Result<()> {
        let state = self.known()?;
        check_width("out", Some(state.outputs()), out.len())?;
        self.check_x(one_row(x))?;
        state.predict_one_into(x, out)
    }

    fn n_seen(&self) -> u64 {
        self.n_seen
    }

    fn n_features(&self) -> Option<usize> {
        self.state.as_ref().map(|state| state.buffer.n_features())
    }

    fn n_outputs(&self) -> Option<usize> {
        self.state.as_ref().map(State::outputs)
    }
}

impl InnerModel for AdaptiveExperts {
    /// Not of labels from a former file.
    fn gives_odds(&self) -> bool {
        self.spec.loss.is_margin() && self.state.as_ref().is_none_or(|state| state.odds.is_some())
    }
}

impl Uncertainty for AdaptiveExperts {
    fn predict_with_spread(
        &self,
        x: ArrayView2<'_, f64>,
        spread: Spread,
    ) -> Result<(Array2<f64>, Array2<f64>)> {
        let state = self.known()?;
        self.check_x(x)?;
        state.predict_with_spread(x, spread)
    }

    fn knows_deviation(&self) -> bool {
        true
    }

    /// Weights of the mixture in use: see [`predict`](Model::predict).
    fn calibration(&self) -> Option<&Calibration> {
        self.state.as_ref().map(|state| state.answering(state.answers_any_row()).1)
    }
}

impl Introspection for AdaptiveExperts {
    /// Novelty with respect to the experts, by their shares in the prediction; 1 before the first
    /// refit.
    fn novelty(&self, x: ArrayView2<'_, f64>) -> Result<Array1<f64>> {
        let state = self.known()?;
        self.check_x(x)?;
        state.novelty(x)
    }

    /// Errors are those of the next row.
    fn quality(&self) -> Diagnostics {
        let known = self.state.as_ref().map(|state| Diagnostics::of(&state.calibration));
        Diagnostics { n_stored: self.n_stored(), ..known.unwrap_or_default() }
    }

    fn gradient(&self, x: ArrayView2<'_, f64>) -> Result<Array3<f64>> {
        let state = self.known()?;
        self.check_x(x)?;
        state.gradient(x)
    }

    /// Those of the kernel experts, along transformed columns: trees are constant almost everywhere.
    fn importances_at(&self, x: ArrayView2<'_, f64>) -> Result<Array1<f64>> {
        let state = self.known()?;
        self.check_x(x)?;
        state.importances_at(x)
    }

    /// At rows spread over the buffer, winsorized.
    fn importances(&self) -> Result<Array1<f64>> {
        let x = tamed(&self.known()?.buffer.sample().x, &self.spec.params.winsorizer);
        self.importances_at(x.select(Axis(0), &spread(x.nrows().min(500), x.nrows())).view())
    }

    /// Predictions of the experts, side by side (n, experts x outputs).
    fn transform(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        let state = self.known()?;
        self.check_x(x)?;
        let shape = (x.nrows(), state.outputs());
        side_by_side(state.members.iter(), shape, |member| member.predict(x, state.outputs()))
    }

    /// Stored points of all experts, one after the other, after preprocessing.
    fn dictionary(&self) -> Array2<f64> {
        let dictionaries = self.state.iter().flat_map(|state| &state.members).flat_map(Member::dictionaries);
        stacked(dictionaries, self.n_features().unwrap_or(0))
    }

    fn n_stored(&self) -> usize {
        self.state.iter().flat_map(|state| &state.members).map(Member::n_stored).sum()
    }

    fn mixture(&self) -> Option<Array2<f64>> {
        self.state.as_ref().map(|state| {
            weights(state.answering(state.answers_any_row()).0, (state.outputs(), state.members.len()))
        })
    }
}
