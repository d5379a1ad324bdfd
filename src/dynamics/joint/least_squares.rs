//! Forecasts by least squares beside the operator.

use ndarray::{Array2, ArrayView2, Axis, concatenate, s};

use super::modes::Modes;
use super::regression::{Regression, expected, learn};
use super::warm_up_states::WarmUpStates;
use crate::dynamics::states::delay_embedding::embedded;
use crate::dynamics::{DelaysSpec, DynamicsParams, Units};
use crate::error::{Error, Result};
use crate::koopman::Koopman;
use crate::learner::{Learner as _, LearnerFile as _, LearnerSpec, Ridge, RidgeSpec};
use crate::linalg::Coordinates;
use crate::persist::{Reader, Writer};

/// Most entries of the covariances of linear forecasts, over all horizons.
const MOST: usize = 1 << 18;

/// Least squares forecasts in the operator's coordinates, in the state with delays, and in leading
/// modes.
#[derive(Clone, Debug)]
pub struct LeastSquares {
    steps: Vec<usize>,
    /// Increments over all horizons, learned when the last state is known; one covariance for all
    /// horizons, because of its size.
    increments: Ridge,
    /// Increments from a constant and the state with delays, unless there are too many numbers.
    linear: Regression,
    /// Deviations from the mean, from a constant and coordinates in modes.
    leading: Regression,
    modes: Option<Modes>,
    /// The states, while they may have to be relearned.
    past: Option<WarmUpStates>,
}

/// An operator, and the map of states to its scale.
pub struct DelayEmbedding<'a> {
    pub operator: &'a Koopman,
    pub units: &'a Units,
    pub delays: &'a DelaysSpec,
}

impl DelayEmbedding<'_> {
    /// State of a trajectory by number, with its delays, on the operator's scale (1, D).
    fn scaled(&self, states: ArrayView2<'_, f64>, at: usize) -> Array2<f64> {
        let window = states.slice_move(s![at - self.delays.span()..=at, ..]);
        self.units.scaled(embedded(self.delays, window).view()).into_owned()
    }

    /// The same with all delays on the scale of the state, for least squares, which have their own regularization.
    fn even(&self, states: ArrayView2<'_, f64>, at: usize) -> Array2<f64> {
        let window = states.slice_move(s![at - self.delays.span()..=at, ..]);
        let window = embedded(self.delays, window);
        self.units.scaled_as_latest(window.view(), states.ncols()).into_owned()
    }
}

/// Features of forecasts from states, one row each.
pub struct Features {
    coordinates: Array2<f64>,
    linear: Array2<f64>,
    leading: Option<Leading>,
}

/// A constant and coordinates in modes, and the mean of the states of the modes, in the user's
/// units.
struct Leading {
    features: Array2<f64>,
    mean: Array2<f64>,
}

impl LeastSquares {
    /// Initial state for these horizons, beside an operator with this specification. `again`:
    /// whether states may have to be relearned.
    pub fn new(steps: Vec<usize>, learner: &LearnerSpec, again: bool) -> Result<Self> {
        Ok(Self {
            increments: Ridge::new(like(learner))?,
            linear: Regression::new(steps.len(), &linear_like(learner))?,
            leading: Regression::new(steps.len(), &linear_like(learner))?,
            modes: None,
            past: again.then(WarmUpStates::default),
            steps,
        })
    }

    /// Factor on the weight of past states.
    pub fn keep(&self) -> f64 {
        self.increments.spec().forgetting
    }

    /// Stores a state, if it may have to be relearned.
    pub fn remember(&mut self, state: &[f64], span: usize, lag: usize, continued: bool) {
        if let Some(past) = &mut self.past {
            past.keep(state, span, lag, continued);
        }
    }

    /// Drops the stored states.
    pub fn settle(&mut self) {
        self.past = None;
    }

    /// Learns the last of these states of a trajectory, `lag` states per step.
    pub fn learn(
        &mut self,
        embedding: &DelayEmbedding<'_>,
        states: ArrayView2<'_, f64>,
        lag: usize,
    ) -> Result<()> {
        let (width, now) = (states.ncols(), states.nrows() - 1);
        let before = |steps: usize| {
            now.checked_sub(steps.saturating_mul(lag)).filter(|from| *from >= embedding.delays.span())
        };
        for (k, steps) in self.steps.iter().enumerate() {
            let Some(from) = before(*steps) else { continue };
            let even = embedding.even(states, from);
            if self.is_linear(even.ncols()) {
                let difference = (&states.row(now) - &states.row(from)).to_vec();
                self.linear.learn(k, &first_row(&with_constant(even.view())), &difference)?;
            }
            if let Some(leading) = self.leading(embedding.units, even.view(), width) {
                let distance = (&states.row(now) - &leading.mean.row(0)).to_vec();
                self.leading.learn(k, &first_row(&leading.features), &distance)?;
            }
        }
        let longest = self.steps.iter().max().copied().unwrap_or(0);
        if let Some(from) = before(longest) {
            let coordinates =
                embedding.operator.coordinates_of(&embedding.scaled(states, from).row(0).to_vec())?;
            let difference = |steps: &usize| (&states.row(from + steps * lag) - &states.row(from)).to_vec();
            let differences: Vec<f64> = self.steps.iter().flat_map(difference).collect();
            learn(&mut self.increments, &coordinates, &differences)?;
        }
        Ok(())
    }

    /// Relearns the states so far, beside another operator and in the modes of all of them.
    pub fn learn_again(
        &mut self,
        embedding: &DelayEmbedding<'_>,
        width: usize,
        params: &DynamicsParams,
    ) -> Result<()> {
        let Some(past) = &self.past else { return Ok(()) };
        let mut again = Self::new(self.steps.clone(), &embedding.operator.spec().learner, false)?;
        let long = |states: &ArrayView2<'_, f64>| states.nrows() > embedding.delays.span();
        let windows: Vec<Array2<f64>> = past
            .trajectories(width)
            .filter(long)
            .map(|states| embedded(embedding.delays, states).into_owned())
            .collect();
        let windows: Vec<ArrayView2<'_, f64>> = windows.iter().map(|states| states.view()).collect();
        if let Ok(windows) = concatenate(Axis(0), &windows) {
            let even = embedding.units.scaled_as_latest(windows.view(), width);
            again.modes = Modes::of(even.view(), params);
        }
        let longest = again.steps.iter().max().copied().unwrap_or(0);
        let reach = longest.saturating_mul(past.lag()).saturating_add(embedding.delays.span());
        for states in past.trajectories(width) {
            for now in embedding.delays.span()..states.nrows() {
                again.learn(embedding, states.slice(s![now.saturating_sub(reach)..=now, ..]), past.lag())?;
            }
        }
        again.past = self.past.take();
        *self = again;
        Ok(())
    }

    /// Features of forecasts from states with their delays (n, D), of which the first `width` columns are the state,
    /// with these coordinates (n, m).
    pub fn features(
        &self,
        embedding: &DelayEmbedding<'_>,
        x: ArrayView2<'_, f64>,
        coordinates: Array2<f64>,
        width: usize,
    ) -> Features {
        let even = embedding.units.scaled_as_latest(x, width);
        Features {
            coordinates,
            linear: with_constant(even.view()),
            leading: self.leading(embedding.units, even.view(), width),
        }
    }

    /// Forecasts over a horizon from states (n, d) with these features, by increments, linear and
    /// in modes; NaN if untrained.
    pub fn forecasts(
        &self,
        horizon: usize,
        states: ArrayView2<'_, f64>,
        features: &Features,
    ) -> [Array2<f64>; 3] {
        let width = states.ncols();
        let unknown = || Array2::from_elem(states.dim(), f64::NAN);
        let own = horizon * width..(horizon + 1) * width;
        let increments = expected(&self.increments, features.coordinates.view(), own);
        let linear = self.linear.expected(horizon, features.linear.view());
        let leading = features.leading.as_ref().and_then(|leading| {
            Some(self.leading.expected(horizon, leading.features.view())? + &leading.mean)
        });
        [
            increments.map_or_else(unknown, |added| added + states),
            linear.map_or_else(unknown, |added| added + states),
            leading.unwrap_or_else(unknown),
        ]
    }

    fn is_linear(&self, numbers: usize) -> bool {
        self.steps.len().saturating_mul((numbers + 1).saturating_pow(2)) <= MOST
    }

    fn leading(&self, units: &Units, scaled: ArrayView2<'_, f64>, width: usize) -> Option<Leading> {
        let modes = self.modes.as_ref()?;
        let features = with_constant(modes.coordinates(scaled).view());
        let mean = units.given(modes.mean().to_owned()).slice_move(s![.., ..width]);
        Some(Leading { features, mean })
    }

    pub fn write(&self, width: usize, out: &mut Writer) -> Result<()> {
        self.increments.write(out);
        self.linear.write("linear", out)?;
        self.leading.write("leading", out)?;
        if let Some(modes) = &self.modes {
            modes.write(out);
        }
        if let Some(past) = &self.past {
            past.write(width, out);
        }
        Ok(())
    }

    /// Reads what [`write`](Self::write) wrote, beside this operator and for this number of
    /// components.
    pub fn read(&mut self, width: usize, operator: &Koopman, again: bool, from: &Reader<'_>) -> Result<()> {
        *self = Self::new(std::mem::take(&mut self.steps), &operator.spec().learner, false)?;
        let joint = operator.n_features().unwrap_or(0);
        self.increments.read(from)?;
        let fits = self.increments.dim() == 0
            || self.increments.n_outputs() == self.steps.len() * width
                && self.increments.dim() <= operator.n_stored().0;
        if !fits {
            return Err(Error::file("the arrays of its forecasts do not fit each other"));
        }
        self.linear.read("linear", (joint + 1, width), from)?;
        self.modes = Modes::read(joint, from)?;
        let modes = self.modes.as_ref().map_or(0, Modes::count);
        self.leading.read("leading", (modes + 1, width), from)?;
        self.past = again.then(|| WarmUpStates::read(width, from)).transpose()?;
        Ok(())
    }
}

fn first_row(features: &Array2<f64>) -> Coordinates {
    Coordinates::from_slice(&features.row(0).to_vec())
}

fn with_constant(rows: ArrayView2<'_, f64>) -> Array2<f64> {
    let mut out = Array2::ones((rows.nrows(), rows.ncols() + 1));
    out.slice_mut(s![.., 1..]).assign(&rows);
    out
}

/// The ridge learner of increments, with the operator's parameters.
fn like(learner: &LearnerSpec) -> RidgeSpec {
    match learner {
        LearnerSpec::Ridge(ridge) => ridge.clone(),
        _ => RidgeSpec { center: false, clip: false, ..RidgeSpec::default() },
    }
}

/// The ridge learner of linear forecasts, barely regularized, since small components may be
/// decisive in a system without noise.
fn linear_like(learner: &LearnerSpec) -> RidgeSpec {
    RidgeSpec {
        regularization: 1e-4,
        center: false,
        clip: false,
        forgetting: like(learner).forgetting,
        ..RidgeSpec::default()
    }
}
