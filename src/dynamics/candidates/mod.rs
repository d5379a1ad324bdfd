//! Forecasts of single components.
//!
//! For each component of the state and each horizon, candidates of several kinds are mixed by their
//! recent losses: persistence, the mean, autoregressions of values and differences, exponential
//! smoothing with trend and season, direct least squares, and the Koopman operator. Seasons are
//! detected along the stream. Memory and cost of a row are bounded, and the state is a list of
//! numbers.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::default_trait_access,
    clippy::needless_range_loop,
    reason = "counts stay far below 2^52, and indices are those of matrices"
)]

mod autoregression;
mod direct;
mod history;
mod horizon;
mod intervals;
mod nested;
mod parameters;
mod periods;
mod residuals;
mod series;
mod smoothing;
mod state;
mod view;
mod weights;

use history::History;
pub use parameters::Parameters;
use series::{Common, Series};
use state::{Collected, Given, Pass, State, pass_all};
use weights::Mixed;

/// Kinds of forecasts, in the order of their weights.
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
    pub parameters: Parameters,
    histories: Vec<History>,
    series: Vec<Series>,
}

/// Forecasts from a row: (horizons, components).
pub type Ahead = Vec<Vec<f64>>;

impl Candidates {
    /// For states of `width` components and horizons of `rows` rows, one in `strides` of whose
    /// forecasts is compared with its target; with the given season instead of detected ones.
    pub fn new(width: usize, rows: Vec<usize>, strides: Vec<usize>, period: Option<usize>) -> Self {
        let series = vec![Series::new(rows.len()); width];
        let (given, histories) = (period.map(|period| vec![period]), vec![History::default(); width]);
        Self { rows, strides, given, parameters: Parameters::DEFAULT, histories, series }
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

    fn common<'a>(&'a self, histories: &'a [History], own: usize) -> Common<'a> {
        let (rows, strides, parameters) = (&self.rows, &self.strides, &self.parameters);
        Common { histories, own, rows, strides, given: self.given.as_deref(), parameters }
    }

    /// Another trajectory begins.
    pub fn begin(&mut self) {
        for (history, series) in self.histories.iter_mut().zip(&mut self.series) {
            if history.len() > 0 {
                history.push(f64::NAN, self.parameters.kept);
            }
            series.begin();
        }
    }

    /// Learns the next row: compares its forecasts with it, updates the candidates, and forecasts
    /// over the horizons that are due. `operator`: forecasts of the operator over each horizon, NaN
    /// if there are none.
    pub fn learn(&mut self, row: &[f64], operator: &Ahead, due: &[bool]) {
        self.push(row);
        let mut all = std::mem::take(&mut self.series);
        for (own, series) in all.iter_mut().enumerate() {
            let common = self.common(&self.histories, own);
            series.learn(&common);
            series.make(&common, &expected(operator, own), due);
        }
        self.series = all;
    }

    /// Appends a row without learning it.
    pub fn advance(&mut self, row: &[f64]) {
        self.push(row);
        let mut all = std::mem::take(&mut self.series);
        for (own, series) in all.iter_mut().enumerate() {
            series.advance(&self.common(&self.histories, own));
        }
        self.series = all;
    }

    fn push(&mut self, row: &[f64]) {
        for (history, value) in self.histories.iter_mut().zip(row) {
            history.push(*value, self.parameters.kept);
        }
    }

    /// Forecasts from the latest row, and factors by which their errors are expected to be larger than along the stream.
    pub fn forecasts(&self, operator: &Ahead) -> [Ahead; 2] {
        let empty = vec![vec![0.0; self.series.len()]; self.rows.len()];
        let [mut made, mut wider] = [empty.clone(), empty];
        self.each(operator, |k, own, mixed| (made[k][own], wider[k][own]) = (mixed.made, mixed.wider));
        [made, wider]
    }

    /// Weights of the forecasts by [kind](CANDIDATES).
    pub fn weights(&self, operator: &Ahead) -> Vec<Ahead> {
        let empty = vec![vec![0.0; self.series.len()]; self.rows.len()];
        let mut out = vec![empty; CANDIDATES.len()];
        self.each(operator, |k, own, mixed| {
            for (place, weight) in mixed.weights.iter().enumerate() {
                out[series::kind(place)][k][own] += weight;
            }
        });
        out
    }

    fn each(&self, operator: &Ahead, mut take: impl FnMut(usize, usize, &Mixed)) {
        for (own, series) in self.series.iter().enumerate() {
            let common = self.common(&self.histories, own);
            for (k, kinds) in series.forecasts(&common, &expected(operator, own)).iter().enumerate() {
                take(k, own, &series.mix(k, &common, kinds));
            }
        }
    }

    /// Half-width of the interval about a forecast; infinite before the first errors.
    pub fn half_width(&self, k: usize, own: usize, made: f64, coverage: f64) -> f64 {
        self.series[own].half_width(k, self.rows[k], made, coverage)
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
        let mut collected = Collected::default();
        self.clone().pass(&mut collected);
        collected.0
    }

    /// Sets the state from [`numbers`](Self::numbers), for horizons of these steps; returns whether
    /// they are valid.
    pub fn resume(&mut self, numbers: &[f64], steps: &[usize]) -> bool {
        let (width, horizons) = (self.series.len(), self.rows.len());
        let mut given = Given { numbers, sound: true };
        self.pass(&mut given);
        let whole = given.sound && given.numbers.is_empty();
        let rows = self.histories.first().map_or(0, History::len);
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
            && self.histories.iter().all(|history| history.is_sound() && history.len() == rows)
            && self.series.iter().all(|series| series.is_sound(horizons))
    }
}

fn expected(operator: &Ahead, own: usize) -> Vec<f64> {
    operator.iter().map(|of_horizon| of_horizon.get(own).copied().unwrap_or(f64::NAN)).collect()
}

impl State for Candidates {
    fn pass(&mut self, pass: &mut dyn Pass) {
        self.rows.iter_mut().for_each(|rows| pass.count(rows));
        pass_all(&mut self.histories, pass);
        pass_all(&mut self.series, pass);
    }
}

/// At most two periods of a series, in order of importance.
#[must_use]
pub fn find_periods(values: &[f64]) -> Vec<usize> {
    periods::find(values, &[], &Parameters::DEFAULT)
}
