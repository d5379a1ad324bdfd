//! Forecasts that keep up with the trivial ones.
//!
//! For each horizon a mixture of four: the operator's power; the state with what is expected to be added to it, learned by
//! least squares in the operator's coordinates; the state itself; and the mean of all states so far. Weights follow
//! the squared errors that each made in the stream, every forecast made before anything later was learned, each number
//! of a state in units of its own deviation.

use std::collections::VecDeque;

use ndarray::{Array2, Array3, ArrayView2, Axis, s};

use crate::error::Result;
use crate::experts::{Mixture, MixtureSpec};
use crate::koopman::Koopman;
use crate::learner::{Learner as _, LearnerSpec, Loss, Ridge, RidgeSpec};
use crate::linalg::{Coordinates, from_array, to_array};

/// What a forecast is a mixture of, in the order of its weights.
pub const FORECASTS: [&str; 4] = ["operator", "increments", "persistence", "mean"];
const KINDS: usize = FORECASTS.len();

/// Forecasts of overlapping times say the same: so many are judged of those that end while one lasts.
const JUDGED: usize = 4;

/// The mixtures and what they come from.
#[derive(Clone, Debug)]
pub(super) struct Forecaster {
    pub(super) horizons: Vec<usize>,
    pub(super) mixtures: Vec<Mixture>,
    /// From coordinates of a state to the difference of each of the states `horizons` later.
    pub(super) increments: Ridge,
    pub(super) seen: Running,
    /// Of each horizon the forecasts that wait for what comes, the earliest first; empty where none was made.
    pub(super) waiting: Vec<VecDeque<Vec<f64>>>,
    /// States with their delays and the differences, one after the other, while they may have to be learned again.
    pub(super) examples: Option<Vec<f64>>,
}

/// Mean, variance and range of each number of a state so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Running {
    pub(super) count: u64,
    pub(super) mean: Vec<f64>,
    /// Sums of squared distances from the mean.
    pub(super) squares: Vec<f64>,
    pub(super) low: Vec<f64>,
    pub(super) high: Vec<f64>,
}

impl Running {
    fn add(&mut self, state: &[f64]) {
        if self.count == 0 {
            (self.mean, self.squares) = (vec![0.0; state.len()], vec![0.0; state.len()]);
            (self.low, self.high) = (state.to_vec(), state.to_vec());
        }
        self.count += 1;
        for (c, value) in state.iter().enumerate() {
            let gap = value - self.mean[c];
            self.mean[c] += gap / self.count as f64;
            self.squares[c] += gap * (value - self.mean[c]);
            (self.low[c], self.high[c]) = (self.low[c].min(*value), self.high[c].max(*value));
        }
    }

    /// What the square of an error in each number of a state counts: in units of its own variance, but on the
    /// whole in those of the states, since variances grow while a stream is young.
    fn weights(&self) -> Vec<f64> {
        let mean = self.squares.iter().sum::<f64>() / self.squares.len().max(1) as f64;
        let weight = |square: &f64| if *square > 0.0 { mean / square } else { 0.0 };
        self.squares.iter().map(weight).collect()
    }

    /// A forecast no further from what was seen than half of its range; where it is no number, the state from which
    /// it was made.
    fn bound(&self, forecast: &mut [f64], state: &[f64]) {
        for (c, value) in forecast.iter_mut().enumerate() {
            let margin = 0.5 * (self.high[c] - self.low[c]);
            *value = if value.is_nan() { state[c] } else { *value }
                .clamp(self.low[c] - margin, self.high[c] + margin);
        }
    }
}

impl Forecaster {
    /// One for an operator learned like this that has seen nothing yet.
    pub fn new(horizons: &[usize], learner: &LearnerSpec, examples: bool) -> Result<Self> {
        Ok(Self {
            horizons: horizons.to_vec(),
            mixtures: horizons
                .iter()
                .map(|_| Mixture::new(MixtureSpec::Polynomial, Loss::Squared, KINDS))
                .collect(),
            increments: Ridge::new(like(learner))?,
            seen: Running::default(),
            waiting: vec![VecDeque::new(); horizons.len()],
            examples: examples.then(Vec::new),
        })
    }

    /// Steps of the longest forecast.
    pub fn longest(&self) -> usize {
        self.horizons.iter().copied().max().unwrap_or(0)
    }

    /// Another trajectory begins.
    pub fn begin(&mut self) {
        self.waiting.iter_mut().for_each(VecDeque::clear);
    }

    /// Judges the forecasts of the state that has come, `lag` states a step.
    pub fn judge(&mut self, state: &[f64], lag: usize) {
        for (k, waiting) in self.waiting.iter_mut().enumerate() {
            let steps = self.horizons[k] * lag;
            // With another lag than before, some may be too early.
            waiting.drain(..waiting.len().saturating_sub(steps));
            if waiting.len() < steps {
                continue;
            }
            let Some(made) = waiting.pop_front().filter(|made| !made.is_empty()) else { continue };
            let counts = self.seen.weights();
            let kinds: Vec<&[f64]> = made.chunks_exact(state.len()).collect();
            let weights = self.mixtures[k].weights().to_vec();
            // The slope of the loss towards each: a weighted sum over the numbers of the state, as one number.
            let mut slopes = [0.0; KINDS];
            for (c, truth) in state.iter().enumerate() {
                let mixed: f64 = weights.iter().zip(&kinds).map(|(weight, made)| weight * made[c]).sum();
                let error = counts[c] * (mixed - truth);
                for (slope, made) in slopes.iter_mut().zip(&kinds) {
                    *slope += error * (made[c] - mixed);
                }
            }
            self.mixtures[k].learn(&slopes, -1.0, 1.0);
        }
    }

    /// Takes in a state.
    pub fn count(&mut self, state: &[f64]) {
        self.seen.add(state);
    }

    /// Makes forecasts from the latest state with its delays (1, D), given on the operator's scale too, and keeps them.
    pub fn make(
        &mut self,
        operator: &Koopman,
        x: ArrayView2<'_, f64>,
        scaled: ArrayView2<'_, f64>,
        states: impl Fn(Array2<f64>) -> Array2<f64>,
    ) -> Result<()> {
        let due = |horizon: usize| self.seen.count.is_multiple_of((horizon / JUDGED).max(1) as u64);
        let steps: Vec<usize> = self.horizons.iter().copied().filter(|horizon| due(*horizon)).collect();
        let ahead = states(operator.forecast_one(scaled, &steps)?);
        let width = self.seen.mean.len();
        let state: Vec<f64> = x.row(0).iter().copied().take(width).collect();
        let added = self.added(operator, scaled)?;
        let mut ahead = ahead.rows().into_iter();
        for (k, waiting) in self.waiting.iter_mut().enumerate() {
            let mut made = Vec::new();
            if steps.contains(&self.horizons[k]) {
                made.extend(ahead.next().into_iter().flatten());
                let added = added.slice(s![0, k * width..(k + 1) * width]);
                made.extend(state.iter().zip(added).map(|(now, added)| now + added));
                made.extend(&state);
                made.extend(&self.seen.mean);
                for forecast in made.chunks_exact_mut(width) {
                    self.seen.bound(forecast, &state);
                }
            }
            waiting.push_back(made);
        }
        Ok(())
    }

    /// Learns the differences of the states `horizons` after one, this with its delays on the operator's scale (1, D).
    pub fn learn(
        &mut self,
        operator: &Koopman,
        scaled: ArrayView2<'_, f64>,
        differences: &[f64],
    ) -> Result<()> {
        let z = operator.transform(scaled)?;
        self.increments.grow_outputs(differences.len());
        self.increments.grow(z.ncols());
        let mut prediction = vec![0.0; differences.len()];
        let mut coordinates = Coordinates::default();
        coordinates.set(z.row(0).iter().copied());
        self.increments.learn(&coordinates, differences, 1.0, &mut prediction)
    }

    /// Keeps what was learned, for an operator that is not settled.
    pub fn keep(&mut self, x: ArrayView2<'_, f64>, differences: &[f64]) {
        if let Some(examples) = &mut self.examples {
            examples.extend(x);
            examples.extend(differences);
        }
    }

    /// Learns the differences again in the coordinates of another operator.
    pub fn learn_again(
        &mut self,
        operator: &Koopman,
        width: usize,
        scaled: impl Fn(ArrayView2<'_, f64>) -> Array2<f64>,
    ) -> Result<()> {
        self.increments = Ridge::new(like(&operator.spec().learner))?;
        let Some(examples) = self.examples.take() else { return Ok(()) };
        let joint = operator.n_features().unwrap_or(1);
        for example in examples.chunks_exact(joint + self.horizons.len() * width) {
            let (x, differences) = example.split_at(joint);
            self.learn(operator, scaled(crate::validate::one_row(x)).view(), differences)?;
        }
        self.examples = Some(examples);
        Ok(())
    }

    /// What is expected to be added to states on the operator's scale (n, D), horizon after horizon (n, horizons d).
    fn added(&self, operator: &Koopman, scaled: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        let width = self.seen.mean.len() * self.horizons.len();
        let weights = self.increments.weights().as_faer();
        if weights.ncols() != width {
            return Ok(Array2::zeros((scaled.nrows(), width)));
        }
        let z = from_array(operator.transform(scaled)?.slice(s![.., ..weights.nrows()]));
        Ok(to_array((z * weights).as_ref()))
    }

    /// The mixtures' forecasts (horizons, n, d) from states with their delays (n, D), given on the operator's scale
    /// too, and what the operator expects (horizons, n, d).
    pub fn mix(
        &self,
        operator: &Koopman,
        x: ArrayView2<'_, f64>,
        scaled: ArrayView2<'_, f64>,
        mut ahead: Array3<f64>,
    ) -> Result<Array3<f64>> {
        let width = self.seen.mean.len();
        let added = self.added(operator, scaled)?;
        for (k, mut of_horizon) in ahead.axis_iter_mut(Axis(0)).enumerate() {
            let weights = self.mixtures[k].weights();
            for (i, mut row) in of_horizon.rows_mut().into_iter().enumerate() {
                let state: Vec<f64> = x.row(i).iter().copied().take(width).collect();
                let mut expected = row.to_vec();
                self.seen.bound(&mut expected, &state);
                let mut moved: Vec<f64> = (0..width).map(|c| state[c] + added[[i, k * width + c]]).collect();
                self.seen.bound(&mut moved, &state);
                for c in 0..width {
                    let made = [expected[c], moved[c], state[c], self.seen.mean[c]];
                    row[c] = weights.iter().zip(made).map(|(weight, made)| weight * made).sum();
                }
            }
        }
        Ok(ahead)
    }

    /// Weights (horizons, kinds).
    pub fn weights(&self) -> Array2<f64> {
        Array2::from_shape_fn((self.horizons.len(), KINDS), |(k, j)| self.mixtures[k].weights()[j])
    }
}

/// The ridge that learns differences as an operator learned like this does states.
pub(super) fn like(learner: &LearnerSpec) -> RidgeSpec {
    match learner {
        LearnerSpec::Ridge(ridge) => ridge.clone(),
        _ => RidgeSpec { center: false, clip: false, ..RidgeSpec::default() },
    }
}
