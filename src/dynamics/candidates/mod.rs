//! Forecasts of single components.
//!
//! For each component of the state and each horizon, candidates of several kinds are mixed by their
//! recent losses: persistence, that of the latest season too, the mean, autoregressions of values and
//! differences, exponential smoothing with trend and season, a line with the season, direct least
//! squares, and the Koopman operator. Seasons are detected along the stream. Memory and cost of a row
//! are bounded, and the state is a list of numbers.
//!
//! | files | contents |
//! |---|---|
//! | `kinds`, `parameters` | kinds of forecasts and their places in lists; numbers |
//! | `history` | recent values of a component, or of an input |
//! | `series/` | one component: calls the following for each row |
//! | `periods` | detection of seasons |
//! | `autoregression` | iterated regressions of `view`s (transforms) of the values |
//! | `direct` | a regression for each horizon |
//! | `smoothing`, `line` | forecasts by level, trend and season |
//! | `nested`, `residuals`, `former` | least squares of both regressions: sums, weights of rows, coefficients of earlier rows |
//! | `component_horizon` | one horizon: pending forecasts, their `weights`, and `intervals` |
//! | `numbers` | the state as numbers, for files |

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::default_trait_access,
    clippy::needless_range_loop,
    reason = "counts stay far below 2^52, and indices are those of matrices"
)]

mod autoregression;
mod component_horizon;
mod direct;
mod former;
mod history;
mod intervals;
mod kinds;
mod line;
mod nested;
mod numbers;
mod parameters;
mod periods;
mod residuals;
mod series;
mod smoothing;
mod view;
mod weights;

use super::judging::Ahead;
use super::states::constant_inputs::relative;
use component_horizon::ComponentHorizon;
use history::History;
use ndarray::{ArrayView2, s};
use numbers::{Numbers, NumbersRead, NumbersWritten, Pass, pass_all};
pub use parameters::{CandidateParams, LONGEST};
use series::{Series, Shared};
use weights::MixedForecast;

/// Kinds of forecasts, in the order of their weights: the latest value of the same phase is one of persistence, a line with the
/// season one of smoothing.
pub const CANDIDATES: [&str; 6] =
    ["persistence", "mean", "autoregression", "smoothing", "direct", "operator"];

/// Most components: the cost of a row is proportional to their number.
pub const WIDEST: usize = 64;

/// Most rows ahead.
pub const FURTHEST: usize = 1_000_000;

/// Forecasts of all components.
#[derive(Clone, Debug)]
pub struct Candidates {
    /// Rows of each horizon, and rows between two forecasts whose errors are learned.
    rows: Vec<usize>,
    strides: Vec<usize>,
    /// Period given by the user.
    given: Option<Vec<usize>>,
    /// Periods of the calendar of the rows, rising.
    pub calendar: Vec<usize>,
    pub parameters: CandidateParams,
    histories: Vec<History>,
    /// Control inputs relative to their references: that of a row acts until the next.
    inputs: Vec<History>,
    /// The first value of each, so that one that does not vary is no regressor; 0 in older files.
    references: Vec<f64>,
    series: Vec<Series>,
}

/// Most rows that are not known but estimated: without a season, and in lengths of the longest season.
const MOST_ESTIMATED: usize = 12;
const SEASONS_ESTIMATED: usize = 4;

/// One in as many rows kept may be estimated at once.
const SHARE_ESTIMATED: usize = 4;

impl Candidates {
    /// For states of `width` components with `inputs` control inputs, and horizons of `rows` rows, one in `strides` of
    /// whose forecasts is compared with its target; with the given season instead of detected ones.
    pub fn new(
        [width, inputs]: [usize; 2],
        rows: Vec<usize>,
        strides: Vec<usize>,
        period: Option<usize>,
    ) -> Self {
        let series = vec![Series::new(rows.len()); width];
        let given = period.map(|period| vec![period]);
        let [histories, inputs] = [width, inputs].map(|count| vec![History::default(); count]);
        Self {
            rows,
            strides,
            given,
            calendar: Vec::new(),
            parameters: CandidateParams::DEFAULT,
            histories,
            inputs,
            references: Vec::new(),
            series,
        }
    }

    /// Number of components.
    pub fn width(&self) -> usize {
        self.series.len()
    }

    /// Rows of each horizon.
    pub fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// Changes the horizons, as for another lag.
    pub fn resize(&mut self, rows: Vec<usize>) {
        self.rows = rows;
        for series in &mut self.series {
            series.begin();
            series.look_now();
        }
    }

    fn shared<'a>(&'a self, inputs: &'a [History], own: usize) -> Shared<'a> {
        let (histories, rows, strides, parameters) =
            (&self.histories, &self.rows, &self.strides, &self.parameters);
        let (given, calendar) = (self.given.as_deref(), &self.calendar[..]);
        Shared { histories, inputs, own, rows, strides, given, calendar, parameters }
    }

    /// Another trajectory begins.
    pub fn begin(&mut self) {
        for history in self.histories.iter_mut().chain(&mut self.inputs) {
            if history.len() > 0 {
                history.push(f64::NAN, self.parameters.kept);
            }
        }
        self.series.iter_mut().for_each(Series::begin);
    }

    /// The next row, which is `next`, comes after as many rows that are not known. They are estimated, so that seasons
    /// continue, and followed but not learned, until regressions are fitted again to all rows kept. Another trajectory begins
    /// where they are many, or there are inputs.
    pub fn pass_over(&mut self, missing: usize, next: &[f64]) {
        let season = self.series.iter().map(Series::season).max().unwrap_or(0);
        let most = self.parameters.kept / SHARE_ESTIMATED;
        let is_known = self.histories.iter().all(|history| history.len() > 0);
        if missing == 0 || missing > most || !is_known || !self.inputs.is_empty() {
            return self.begin();
        }
        let own = self.series.iter().zip(&self.histories).zip(next);
        let (are_seasonal, estimates): (Vec<bool>, Vec<Vec<f64>>) = own
            .map(|((series, history), next)| series.between(history, missing, *next, self.parameters.kept))
            .unzip();
        // On a line, a component without a season is estimated over one season of another.
        let on_a_line = MOST_ESTIMATED.max(season);
        let seasons = if are_seasonal.iter().all(|is| *is) { SEASONS_ESTIMATED * season } else { 0 };
        if missing > on_a_line.max(seasons) {
            return self.begin();
        }
        self.drop_pending();
        for i in 0..missing {
            self.advance(&estimates.iter().map(|of_component| of_component[i]).collect::<Vec<_>>());
        }
    }

    /// Learns the next row, a state and its inputs: compares its forecasts with it, updates the candidates, and forecasts
    /// over the horizons that are due. `operator`: forecasts of the operator over each horizon, from this row, or with
    /// inputs of this row; NaN if there are none.
    pub fn learn(&mut self, row: &[f64], operator: &Ahead, due: &[bool]) {
        self.push(row);
        let mut all = std::mem::take(&mut self.series);
        for (own, series) in all.iter_mut().enumerate() {
            let shared = self.shared(&self.inputs, own);
            let expected = expected(operator, own);
            series.learn(&shared, &expected);
            series.make(&shared, &expected, due);
        }
        self.series = all;
    }

    /// Appends a row, a state and its inputs: compares its forecasts with it, and learns nothing else from it.
    pub fn advance(&mut self, row: &[f64]) {
        self.push(row);
        let mut all = std::mem::take(&mut self.series);
        for (own, series) in all.iter_mut().enumerate() {
            series.advance(&self.shared(&self.inputs, own));
        }
        self.series = all;
    }

    fn push(&mut self, row: &[f64]) {
        let (states, acting) = row.split_at(self.histories.len().min(row.len()));
        if self.references.is_empty() {
            self.references = acting.to_vec();
        }
        for (history, value) in self.histories.iter_mut().zip(states) {
            history.push(*value, self.parameters.kept);
        }
        for ((history, value), reference) in self.inputs.iter_mut().zip(acting).zip(&self.references) {
            history.push(relative(*value, *reference), self.parameters.kept);
        }
    }

    /// Whether each input varies in the rows kept.
    pub fn inputs_vary(&self) -> impl Iterator<Item = bool> {
        let varies = |value: &f64| !value.is_nan() && *value != 0.0;
        self.inputs.iter().map(move |history| history.values().iter().any(varies))
    }

    /// What inputs are relative to; empty before the first row.
    pub fn references(&self) -> &[f64] {
        &self.references
    }

    /// Whether these states have occurred one after another before the latest ones.
    pub fn knows(&self, states: ArrayView2<'_, f64>) -> bool {
        let (count, kept) =
            (states.nrows(), self.histories.first().map_or(0, |history| history.values().len()));
        let alike = |first: usize| {
            let columns = self.histories.iter().zip(states.columns());
            columns.into_iter().all(|(history, own)| history.values()[first..first + count].iter().eq(own))
        };
        (0..kept.saturating_sub(count)).any(alike)
    }

    /// Replaces the inputs of the latest row by the first of these rows, and adds those that act afterwards.
    fn acting(&self, under: ArrayView2<'_, f64>) -> Vec<History> {
        let mut inputs = self.inputs.clone();
        for ((history, values), reference) in inputs.iter_mut().zip(under.columns()).zip(&self.references) {
            history.replace(values.iter().map(|value| relative(*value, *reference)));
        }
        inputs
    }

    /// The operator is another than before: its parameters were chosen again.
    pub fn renew_operator(&mut self) {
        let horizons = self.series.iter_mut().flat_map(|series| &mut series.horizons);
        horizons.for_each(|horizon| horizon.weights.renew(kinds::OPERATOR));
    }

    /// Replaces the inputs of the latest row.
    pub fn drive(&mut self, under: ArrayView2<'_, f64>) {
        self.inputs = self.acting(under.slice_move(s![..1, ..]));
    }

    /// Forecasts from the latest row under these inputs, and half-widths of their intervals with this coverage, zeros
    /// without one.
    pub fn forecasts(
        &self,
        operator: &Ahead,
        under: ArrayView2<'_, f64>,
        coverage: Option<f64>,
    ) -> [Ahead; 2] {
        let inputs = self.acting(under);
        let mut out = self.zeros();
        for (own, series) in self.series.iter().enumerate() {
            let shared = self.shared(&inputs, own);
            for (k, kinds) in series.forecasts(&shared, &expected(operator, own)).iter().enumerate() {
                self.put(&mut out, [k, own], series, &series.mix(k, &shared, kinds), coverage);
            }
        }
        out
    }

    /// The same if they are `asked` for, and forecasts over the horizons that are `due` are compared with the rows that
    /// follow.
    pub fn follow(
        &mut self,
        operator: &Ahead,
        under: ArrayView2<'_, f64>,
        due: &[bool],
        asked: bool,
        coverage: Option<f64>,
    ) -> Option<[Ahead; 2]> {
        let inputs = self.acting(under);
        let mut out = asked.then(|| self.zeros());
        let mut all = std::mem::take(&mut self.series);
        for (own, series) in all.iter_mut().enumerate() {
            let (shared, operator) = (self.shared(&inputs, own), expected(operator, own));
            let mixtures = series.follow(&shared, &operator, due, asked);
            let Some(out) = out.as_mut() else { continue };
            for (k, mixed) in mixtures.iter().flatten().enumerate() {
                self.put(out, [k, own], series, mixed, coverage);
            }
        }
        self.series = all;
        out
    }

    /// Places for forecasts and half-widths.
    fn zeros(&self) -> [Ahead; 2] {
        let zeros = vec![vec![0.0; self.histories.len()]; self.rows.len()];
        [zeros.clone(), zeros]
    }

    /// Puts a mixture over horizon `k` of the component `own`, and the half-width of its interval, in their places.
    fn put(
        &self,
        out: &mut [Ahead; 2],
        [k, own]: [usize; 2],
        series: &Series,
        mixed: &MixedForecast,
        coverage: Option<f64>,
    ) {
        let half_width = |coverage| mixed.wider * series.half_width(k, self.rows[k], mixed.made, coverage);
        out[0][k][own] = mixed.made;
        out[1][k][own] = coverage.map_or(0.0, half_width);
    }

    /// Drops forecasts that no row is to be compared with, or whose inputs are not known yet.
    pub fn drop_pending(&mut self) {
        self.series.iter_mut().flat_map(|series| &mut series.horizons).for_each(ComponentHorizon::clear);
    }

    /// Weights of these forecasts by [kind](CANDIDATES).
    pub fn weights(&self, operator: &Ahead, under: ArrayView2<'_, f64>) -> Vec<Ahead> {
        let empty = vec![vec![0.0; self.series.len()]; self.rows.len()];
        let mut out = vec![empty; CANDIDATES.len()];
        let inputs = self.acting(under);
        for (own, series) in self.series.iter().enumerate() {
            let shared = self.shared(&inputs, own);
            for (k, kinds) in series.forecasts(&shared, &expected(operator, own)).iter().enumerate() {
                for (place, weight) in series.mix(k, &shared, kinds).weights.iter().enumerate() {
                    out[kinds::kind(place)][k][own] += weight;
                }
            }
        }
        out
    }

    /// Root mean squared error of the forecasts of a component over a horizon, exponentially
    /// weighted.
    pub fn deviation(&self, k: usize, own: usize) -> f64 {
        self.series[own].horizons[k].weights.deviation()
    }

    /// Periods of each component, in order of importance.
    pub fn periods(&self) -> Vec<&[usize]> {
        self.series.iter().map(|series| series.periods.as_slice()).collect()
    }

    /// The state as numbers.
    pub fn numbers(&self) -> Vec<f64> {
        let mut collected = NumbersWritten::default();
        self.clone().pass(&mut collected);
        collected.0
    }

    /// Sets the state from [`numbers`](Self::numbers) and [`references`](Self::references), for horizons of these steps;
    /// returns whether they are valid.
    pub fn resume(&mut self, numbers: &[f64], references: Vec<f64>, steps: &[usize]) -> bool {
        let (width, horizons, inputs) = (self.series.len(), self.rows.len(), self.inputs.len());
        let mut given = NumbersRead { numbers, sound: true };
        self.pass(&mut given);
        self.references = references;
        let whole = given.sound && given.numbers.is_empty();
        let rows = self.histories.first().map_or(0, History::len);
        let dropped = self.histories.first().map_or(0, |history| history.dropped);
        let lag = self.rows.first().zip(steps.first()).map_or(0, |(rows, steps)| rows / steps);
        whole
            && self.histories.len() == width
            && self.series.len() == width
            && self.rows.len() == horizons
            && self
                .rows
                .iter()
                .zip(steps)
                .all(|(rows, steps)| (1..=FURTHEST).contains(rows) && *rows == steps * lag)
            && self.inputs.len() == inputs
            && self.references.len() == inputs
            && self.references.iter().all(|value| value.is_finite())
            && self
                .histories
                .iter()
                .chain(&self.inputs)
                .all(|history| history.is_sound() && history.len() == rows && history.dropped == dropped)
            && self.series.iter().all(|series| series.is_sound(horizons, inputs))
    }
}

fn expected(operator: &Ahead, own: usize) -> Vec<f64> {
    operator.iter().map(|of_horizon| of_horizon.get(own).copied().unwrap_or(f64::NAN)).collect()
}

impl Numbers for Candidates {
    fn pass(&mut self, pass: &mut dyn Pass) {
        self.rows.iter_mut().for_each(|rows| pass.count(rows));
        pass_all(&mut self.histories, pass);
        if !self.inputs.is_empty() {
            pass_all(&mut self.inputs, pass);
        }
        pass_all(&mut self.series, pass);
    }
}

/// At most two periods of a series, in order of importance.
#[must_use]
pub fn find_periods(values: &[f64]) -> Vec<usize> {
    periods::find(values, &[], &[], &CandidateParams::DEFAULT)
}
