//! Forecasts that keep up with the trivial ones.
//!
//! For each horizon a mixture: the operator's power; the state with what is expected to be added to it, learned by
//! least squares in the operator's coordinates, or linear in the state and its delays; the state itself; the mean of all
//! states so far; and, where a period is given, the state at the same phase of the last period. Weights follow the squared errors that each made in the stream, every
//! forecast made before anything later was learned, each number of a state in units of its own deviation; intervals
//! follow the errors of the mixture itself.

use ndarray::{Array2, Array3, ArrayView1, ArrayView2, Axis, concatenate, s};

use super::horizon::{FORECASTS, Horizon};
use super::seen::Seen;
use crate::error::Result;
use crate::koopman::Koopman;
use crate::learner::{Learner as _, LearnerSpec, Ridge, RidgeSpec};
use crate::linalg::{Coordinates, from_array, to_array};

/// The mixtures and what they come from.
#[derive(Clone, Debug)]
pub(super) struct Forecaster {
    pub horizons: Vec<Horizon>,
    /// From coordinates of a state to the difference of each of the states `horizons` later.
    pub increments: Ridge,
    /// The same from a constant and the state with its delays, on the operator's scale, unless these are too many numbers.
    pub linear: Ridge,
    pub seen: Seen,
    /// States in a period.
    pub period: Option<usize>,
    /// States with their delays and the differences, one after the other, while they may have to be learned again.
    pub examples: Option<Vec<f64>>,
}

impl Forecaster {
    /// One for an operator learned like this that has seen nothing yet.
    pub fn new(
        horizons: &[usize],
        period: Option<usize>,
        learner: &LearnerSpec,
        examples: bool,
    ) -> Result<Self> {
        let kinds = kinds(period);
        Ok(Self {
            horizons: horizons.iter().map(|steps| Horizon::new(*steps, kinds)).collect(),
            increments: Ridge::new(like(learner))?,
            linear: Ridge::new(linear_like(learner))?,
            seen: Seen::default(),
            period,
            examples: examples.then(Vec::new),
        })
    }

    /// How many kinds of forecasts there are.
    pub fn kinds(&self) -> usize {
        kinds(self.period)
    }

    /// Steps of each horizon.
    pub fn steps(&self) -> Vec<usize> {
        self.horizons.iter().map(|horizon| horizon.steps).collect()
    }

    /// Steps of the longest forecast.
    pub fn longest(&self) -> usize {
        self.horizons.iter().map(|horizon| horizon.steps).max().unwrap_or(0)
    }

    /// Another trajectory begins.
    pub fn begin(&mut self) {
        self.horizons.iter_mut().for_each(Horizon::end_trajectory);
    }

    /// Judges the forecasts of the state that has come, `lag` states a step, and takes it in.
    pub fn meet(&mut self, state: &[f64], lag: usize) {
        let counts = self.seen.weights();
        let keep = self.increments.spec().forgetting;
        for horizon in &mut self.horizons {
            horizon.judge(state, lag, &counts, keep);
        }
        self.seen.add(state);
        if self.seen.count == 1 {
            self.horizons.iter_mut().for_each(|horizon| horizon.begin(state.len()));
        }
    }

    /// Makes forecasts from the latest state with its delays (1, D), given on the operator's scale too, and keeps them.
    /// `periods`: what was there the last period before each horizon.
    pub fn make(
        &mut self,
        operator: &Koopman,
        x: ArrayView2<'_, f64>,
        scaled: ArrayView2<'_, f64>,
        periods: &[f64],
        states: impl Fn(Array2<f64>) -> Array2<f64>,
    ) -> Result<()> {
        let width = self.seen.mean.len();
        let due: Vec<bool> = self.horizons.iter().map(|horizon| horizon.is_due(self.seen.count)).collect();
        let steps: Vec<usize> =
            self.steps().into_iter().zip(&due).filter(|(_, due)| **due).map(|(steps, _)| steps).collect();
        let ahead = states(operator.forecast_one(scaled, &steps)?);
        let added = self.added(operator, scaled, |k| due[k])?;
        let mut ahead = ahead.rows().into_iter();
        for (k, due) in due.iter().enumerate() {
            let part = |all: &[f64]| all.get(k * width..(k + 1) * width).map(<[f64]>::to_vec);
            let kinds = due.then(|| {
                let expected =
                    ahead.next().unwrap_or_else(|| unreachable!("there is one for each that is due"));
                let added = added.each_ref().map(|added| added.slice(s![0, k * width..(k + 1) * width]));
                self.of_all_kinds(expected, x.row(0), added, part(periods))
            });
            self.horizons[k].wait(kinds);
        }
        Ok(())
    }

    /// The forecasts of all kinds from a state with its delays.
    fn of_all_kinds(
        &self,
        expected: ArrayView1<'_, f64>,
        x: ArrayView1<'_, f64>,
        added: [ArrayView1<'_, f64>; 2],
        period: Option<Vec<f64>>,
    ) -> Vec<f64> {
        let width = self.seen.mean.len();
        let state: Vec<f64> = x.iter().copied().take(width).collect();
        let mut made = expected.to_vec();
        self.seen.bound(&mut made, &state);
        for added in added {
            // One that knows nothing yet has no forecast.
            let silent = added.iter().all(|value| value.is_nan());
            let mut moved: Vec<f64> = state.iter().zip(added).map(|(now, added)| now + added).collect();
            if !silent {
                self.seen.bound(&mut moved, &state);
            }
            made.extend(moved);
        }
        made.extend(&state);
        made.extend(&self.seen.mean);
        if self.period.is_some() {
            made.extend(period.unwrap_or_else(|| vec![f64::NAN; width]));
        }
        made
    }

    /// Learns the differences of the states `horizons` after one, this with its delays on the operator's scale (1, D).
    pub fn learn(
        &mut self,
        operator: &Koopman,
        scaled: ArrayView2<'_, f64>,
        differences: &[f64],
    ) -> Result<()> {
        learn(&mut self.increments, operator.transform(scaled)?.row(0).iter(), differences)?;
        if scaled.ncols() <= WIDEST {
            learn(&mut self.linear, [1.0].iter().chain(scaled.row(0)), differences)?;
        }
        Ok(())
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
        self.linear = Ridge::new(linear_like(&operator.spec().learner))?;
        let Some(examples) = self.examples.take() else { return Ok(()) };
        let joint = operator.n_features().unwrap_or(1);
        for example in examples.chunks_exact(joint + self.horizons.len() * width) {
            let (x, differences) = example.split_at(joint);
            self.learn(operator, scaled(crate::validate::one_row(x)).view(), differences)?;
        }
        self.examples = Some(examples);
        Ok(())
    }

    /// What is expected to be added to states on the operator's scale (n, D), horizon after horizon (n, horizons d), of
    /// those that are due: by the operator's coordinates, and linearly. NaN where nothing is known.
    fn added(
        &self,
        operator: &Koopman,
        scaled: ArrayView2<'_, f64>,
        due: impl Fn(usize) -> bool,
    ) -> Result<[Array2<f64>; 2]> {
        let width = self.seen.mean.len();
        let added = |learner: &Ridge, z: ArrayView2<'_, f64>| {
            let weights = learner.weights().as_faer();
            let mut out = Array2::from_elem((scaled.nrows(), self.horizons.len() * width), f64::NAN);
            if weights.ncols() == out.ncols() {
                let z = from_array(z.slice(s![.., ..weights.nrows()]));
                for k in (0..self.horizons.len()).filter(|k| due(*k)) {
                    let own = &z * weights.subcols(k * width, width);
                    out.slice_mut(s![.., k * width..(k + 1) * width]).assign(&to_array(own.as_ref()));
                }
            }
            out
        };
        let ones = Array2::ones((scaled.nrows(), 1));
        let linear = added(&self.linear, concatenate![Axis(1), ones, scaled].view());
        Ok([added(&self.increments, operator.transform(scaled)?.view()), linear])
    }

    /// The mixtures' forecasts (horizons, n, d) from states with their delays (n, D), given on the operator's scale
    /// too, what the operator expects (horizons, n, d), and what was there a period before (n, horizons d), or nothing (n, 0).
    pub fn mix(
        &self,
        operator: &Koopman,
        x: ArrayView2<'_, f64>,
        scaled: ArrayView2<'_, f64>,
        periods: ArrayView2<'_, f64>,
        mut ahead: Array3<f64>,
    ) -> Result<Array3<f64>> {
        let width = self.seen.mean.len();
        let added = self.added(operator, scaled, |_| true)?;
        for (k, mut of_horizon) in ahead.axis_iter_mut(Axis(0)).enumerate() {
            let part = s![k * width..(k + 1) * width];
            for (i, mut row) in of_horizon.rows_mut().into_iter().enumerate() {
                let period = (periods.ncols() > 0).then(|| periods.row(i).slice_move(part).to_vec());
                let added = added.each_ref().map(|added| added.row(i).slice_move(part));
                let mixed =
                    self.horizons[k].blend.mix(&self.of_all_kinds(row.view(), x.row(i), added, period));
                row.iter_mut().zip(mixed).for_each(|(to, value)| *to = value);
            }
        }
        Ok(ahead)
    }
}

fn kinds(period: Option<usize>) -> usize {
    FORECASTS.len() - usize::from(period.is_none())
}

/// One round of a learner of differences.
fn learn<'a>(learner: &mut Ridge, z: impl Iterator<Item = &'a f64>, differences: &[f64]) -> Result<()> {
    let z: Vec<f64> = z.copied().collect();
    learner.grow_outputs(differences.len());
    learner.grow(z.len());
    let mut prediction = vec![0.0; differences.len()];
    let mut coordinates = Coordinates::default();
    coordinates.set(z);
    learner.learn(&coordinates, differences, 1.0, &mut prediction)
}

/// Most numbers of a state with its delays of which linear forecasts are made: they take the square of them.
const WIDEST: usize = 300;

/// The ridge that learns differences linearly beside an operator learned like this.
pub(super) fn linear_like(learner: &LearnerSpec) -> RidgeSpec {
    RidgeSpec {
        regularization: 1e-3,
        center: false,
        clip: false,
        forgetting: like(learner).forgetting,
        ..RidgeSpec::default()
    }
}

/// The ridge that learns differences as an operator learned like this does states.
pub(super) fn like(learner: &LearnerSpec) -> RidgeSpec {
    match learner {
        LearnerSpec::Ridge(ridge) => ridge.clone(),
        _ => RidgeSpec { center: false, clip: false, ..RidgeSpec::default() },
    }
}
