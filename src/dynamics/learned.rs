//! Forecasts learned by least squares beside the operator.

use ndarray::{Array2, ArrayView2, Axis, concatenate, s};

use super::delays::embedded;
use super::modes::Modes;
use super::past::Past;
use super::regression::{Regression, expected, learn};
use super::{DelaysSpec, Units};
use crate::error::{Error, Result};
use crate::koopman::Koopman;
use crate::learner::{Learner as _, LearnerFile as _, LearnerSpec, Ridge, RidgeSpec};
use crate::linalg::Coordinates;
use crate::persist::{Reader, Writer};

/// Most numbers of the covariances of linear forecasts, of all horizons together.
const MOST: usize = 1 << 18;

/// What least squares expect to come: of the operator's coordinates, of the state and its delays, and of these in leading
/// modes.
#[derive(Clone, Debug)]
pub(super) struct Learned {
    steps: Vec<usize>,
    /// To the differences of the states all `steps` later, learned when the last of them has come: in so many coordinates
    /// one covariance has to do.
    increments: Ridge,
    /// To the differences from a constant and the state with its delays, unless these are too many numbers.
    linear: Regression,
    /// To the distances from the mean from a constant and coordinates in modes.
    leading: Regression,
    modes: Option<Modes>,
    /// The states, while they may have to be learned again.
    past: Option<Past>,
}

/// An operator and how states become its own.
pub(super) struct Lens<'a> {
    pub operator: &'a Koopman,
    pub units: &'a Units,
    pub delays: &'a DelaysSpec,
}

impl Lens<'_> {
    /// The state of a trajectory with this number and its delays, on the operator's scale (1, D).
    fn scaled(&self, states: ArrayView2<'_, f64>, at: usize) -> Array2<f64> {
        let window = states.slice_move(s![at - self.delays.span()..=at, ..]);
        self.units.scaled(embedded(self.delays, window).view()).into_owned()
    }
}

/// What the forecasts from states are made of, a row each.
pub(super) struct Features {
    coordinates: Array2<f64>,
    linear: Array2<f64>,
    leading: Option<Leading>,
}

/// A constant and coordinates in modes, and the mean of states from which these are, in the units given.
struct Leading {
    features: Array2<f64>,
    mean: Array2<f64>,
}

impl Learned {
    /// Those over so many steps, beside an operator learned like this. `again`: whether they may have to be learned
    /// again.
    pub fn new(steps: Vec<usize>, learner: &LearnerSpec, again: bool) -> Result<Self> {
        Ok(Self {
            increments: Ridge::new(like(learner))?,
            linear: Regression::new(steps.len(), &linear_like(learner))?,
            leading: Regression::new(steps.len(), &linear_like(learner))?,
            modes: None,
            past: again.then(Past::default),
            steps,
        })
    }

    /// What is left of the weight of a state after another.
    pub fn keep(&self) -> f64 {
        self.increments.spec().forgetting
    }

    /// Keeps a state, if it may have to be learned again.
    pub fn remember(&mut self, state: &[f64], lag: usize, continued: bool) {
        if let Some(past) = &mut self.past {
            past.keep(state, lag, continued);
        }
    }

    /// Nothing has to be learned again.
    pub fn settle(&mut self) {
        self.past = None;
    }

    /// Learns that the last of these states of a trajectory has come, `lag` states a step.
    pub fn learn(&mut self, lens: &Lens<'_>, states: ArrayView2<'_, f64>, lag: usize) -> Result<()> {
        let (width, now) = (states.ncols(), states.nrows() - 1);
        let before = |steps: usize| {
            now.checked_sub(steps.saturating_mul(lag)).filter(|from| *from >= lens.delays.span())
        };
        for (k, steps) in self.steps.iter().enumerate() {
            let Some(from) = before(*steps) else { continue };
            let scaled = lens.scaled(states, from);
            if self.is_linear(scaled.ncols()) {
                let difference = (&states.row(now) - &states.row(from)).to_vec();
                self.linear.learn(k, &first_row(&with_constant(scaled.view())), &difference)?;
            }
            if let Some(leading) = self.leading(lens.units, scaled.view(), width) {
                let distance = (&states.row(now) - &leading.mean.row(0)).to_vec();
                self.leading.learn(k, &first_row(&leading.features), &distance)?;
            }
        }
        let longest = self.steps.iter().max().copied().unwrap_or(0);
        if let Some(from) = before(longest) {
            let coordinates = lens.operator.coordinates_of(&lens.scaled(states, from).row(0).to_vec())?;
            let difference = |steps: &usize| (&states.row(from + steps * lag) - &states.row(from)).to_vec();
            let differences: Vec<f64> = self.steps.iter().flat_map(difference).collect();
            learn(&mut self.increments, &coordinates, &differences)?;
        }
        Ok(())
    }

    /// Learns the states so far again, of so many numbers, beside another operator and in the modes of all of them.
    pub fn learn_again(&mut self, lens: &Lens<'_>, width: usize) -> Result<()> {
        let Some(past) = self.past.take() else { return Ok(()) };
        let mut again = Self::new(self.steps.clone(), &lens.operator.spec().learner, false)?;
        let long = |states: &ArrayView2<'_, f64>| states.nrows() > lens.delays.span();
        let windows: Vec<Array2<f64>> = past
            .trajectories(width)
            .filter(long)
            .map(|states| embedded(lens.delays, states).into_owned())
            .collect();
        let windows: Vec<ArrayView2<'_, f64>> = windows.iter().map(|states| states.view()).collect();
        if let Ok(windows) = concatenate(Axis(0), &windows) {
            again.modes = Modes::of(lens.units.scaled(windows.view()).view());
        }
        let longest = again.steps.iter().max().copied().unwrap_or(0);
        let reach = longest.saturating_mul(past.lag()).saturating_add(lens.delays.span());
        for states in past.trajectories(width) {
            for now in lens.delays.span()..states.nrows() {
                again.learn(lens, states.slice(s![now.saturating_sub(reach)..=now, ..]), past.lag())?;
            }
        }
        again.past = Some(past);
        *self = again;
        Ok(())
    }

    /// What forecasts from states on the operator's scale (n, D) are made of, of which `width` numbers are the state,
    /// with these coordinates in it (n, m).
    pub fn features(
        &self,
        lens: &Lens<'_>,
        scaled: ArrayView2<'_, f64>,
        coordinates: Array2<f64>,
        width: usize,
    ) -> Features {
        Features {
            coordinates,
            linear: with_constant(scaled),
            leading: self.leading(lens.units, scaled, width),
        }
    }

    /// Forecasts over a horizon from states (n, d) with these features, by increments, linear and in modes; NaN where
    /// nothing is known.
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

    /// Reads what [`write`](Self::write) wrote, beside this operator and of states of so many numbers.
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
        self.past = again.then(|| Past::read(width, from)).transpose()?;
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

/// The ridge that learns differences as an operator learned like this does states.
fn like(learner: &LearnerSpec) -> RidgeSpec {
    match learner {
        LearnerSpec::Ridge(ridge) => ridge.clone(),
        _ => RidgeSpec { center: false, clip: false, ..RidgeSpec::default() },
    }
}

/// The ridge that learns linearly beside it: hardly regularized, since small numbers may decide in a system without
/// noise.
fn linear_like(learner: &LearnerSpec) -> RidgeSpec {
    RidgeSpec {
        regularization: 1e-4,
        center: false,
        clip: false,
        forgetting: like(learner).forgetting,
        ..RidgeSpec::default()
    }
}
