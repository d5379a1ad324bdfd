//! Online gradient descent.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatRef, Par};
use serde::{Deserialize, Serialize};

use super::{Learner, LearnerSpec, Loss, Rounds, Schedule, apply, read_panel, write_panel};
use crate::basis::Rebase;
use crate::error::{Error, Result, not_negative, positive};
use crate::linalg::{Coordinates, Panel, loops};
use crate::persist::{Reader, Writer};

/// The first step where none is given.
const DEFAULT_STEP: f64 = 0.1;

/// Parameters of [`Gradient`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GradientSpec {
    /// What is minimised.
    pub loss: Loss,
    /// Size of the first step, positive; 0.1 if `None`. Not used by the adaptive schedule.
    pub step: Option<f64>,
    /// How the step changes.
    pub schedule: Schedule,
    /// Norm of the ball that weights are kept in (Frobenius norm over outputs), positive. `None` is
    /// no ball, but for the adaptive schedule twice the largest `|y|` seen so far.
    pub radius: Option<f64>,
    /// Shrinks the weights by `1 - step * regularization` in each round; zero or positive.
    pub regularization: f64,
    /// Forecast with the mean of all weights so far (Polyak) rather than the latest.
    pub averaging: bool,
}

impl Default for GradientSpec {
    fn default() -> Self {
        Self {
            loss: Loss::Squared,
            step: None,
            schedule: Schedule::Adaptive,
            radius: None,
            regularization: 0.0,
            averaging: false,
        }
    }
}

/// Online gradient descent, `w <- w - step_t l'(w'z, y) z`, then back into a norm ball.
///
/// In nested coordinates `|w|` is the norm of the function, so this is functional gradient
/// descent (Kivinen, Smola and Williamson, 2004), and with the adaptive schedule AOGD-ALD
/// (Li and Liao, 2023, Algorithm 1). O(m) a row and output after the coordinates.
#[derive(Clone, Debug)]
pub struct Gradient {
    spec: GradientSpec,
    weights: Panel,
    /// Mean of the weights of all rounds; empty without averaging.
    mean: Panel,
    rounds: u64,
    /// Sum of squared gradient norms.
    sum: f64,
    /// Largest `|y|` seen.
    largest: f64,
    slopes: Vec<f64>,
}

impl Gradient {
    /// A learner with checked parameters.
    pub fn new(spec: GradientSpec) -> Result<Self> {
        spec.loss.checked()?;
        spec.schedule.checked()?;
        if let Some(step) = spec.step {
            positive("step", step)?;
        }
        if let Some(radius) = spec.radius {
            positive("radius", radius)?;
        }
        not_negative("regularization", spec.regularization)?;
        Ok(Self {
            spec,
            weights: Panel::default(),
            mean: Panel::default(),
            rounds: 0,
            sum: 0.0,
            largest: 0.0,
            slopes: Vec::new(),
        })
    }

    /// Norm of the ball, if there is one.
    fn radius(&self) -> Option<f64> {
        match (self.spec.radius, self.spec.schedule) {
            (Some(radius), _) => Some(radius),
            (None, Schedule::Adaptive) => Some(2.0 * self.largest),
            (None, _) => None,
        }
    }

    /// The weights that forecasts are made with: the mean of all rounds with averaging, else the
    /// latest.
    #[must_use]
    pub fn estimate(&self) -> &Panel {
        if self.spec.averaging { &self.mean } else { &self.weights }
    }

    /// The step of the next round, if it does not depend on what that round brings (as the
    /// adaptive schedule's does).
    #[must_use]
    pub fn next_step(&self) -> Option<f64> {
        match self.spec.schedule {
            Schedule::Adaptive => None,
            schedule => {
                let first = self.spec.step.unwrap_or(DEFAULT_STEP);
                Some(schedule.at(self.rounds + 1, first, 0.0, 0.0))
            }
        }
    }

    /// Appends outputs whose targets were all zero so far, until there are `n_outputs`.
    pub fn grow_outputs(&mut self, n_outputs: usize) {
        self.begin(n_outputs);
    }

    /// Forgets all coordinates beyond the first `dim` and all outputs beyond the first `n_outputs`.
    pub fn truncate(&mut self, dim: usize, n_outputs: usize) {
        self.weights.truncate(dim, n_outputs);
        self.mean.truncate(dim, n_outputs);
        self.slopes.truncate(n_outputs);
    }

    /// [`learn`](Learner::learn) for a caller who knows the latest weights' forecast `W'z` already.
    pub fn learn_from(&mut self, z: &Coordinates, y: &[f64], forecast: &[f64]) -> Result<()> {
        let step = self.prepare(z, y, 1.0, forecast)?;
        self.advance(z, step);
        Ok(())
    }

    /// Rounds that are carried out together; see [`Rounds`]. `None` where a round depends on more than
    /// the errors before it: with a loss other than the squared ones, a ball, or the adaptive schedule.
    #[must_use]
    pub fn rounds(&self) -> Option<Rounds> {
        let slope = match self.spec.loss {
            Loss::Squared => 2.0,
            Loss::HalfSquared => 1.0,
            _ => return None,
        };
        let adaptive = matches!(self.spec.schedule, Schedule::Adaptive);
        (!adaptive && self.spec.radius.is_none()).then(|| Rounds::new(slope))
    }

    /// The step of the next of `rounds`, and what it leaves of the weights.
    fn step_of(&self, rounds: &Rounds) -> (f64, f64) {
        let first = self.spec.step.unwrap_or(DEFAULT_STEP);
        let t = self.rounds + 1 + rounds.len() as u64;
        let step = self.spec.schedule.at(t, first, 0.0, 0.0);
        (step, (1.0 - step * self.spec.regularization).max(0.0))
    }

    /// What multiplies `error z'` in the next of `rounds`.
    #[must_use]
    pub fn gain_of(&self, rounds: &Rounds) -> f64 {
        self.step_of(rounds).0 * rounds.slope()
    }

    /// Takes the next round into `rounds`: its error, `|z|^2`, and `|y|^2` of its target.
    pub fn take(&self, rounds: &mut Rounds, error: Coordinates, squared: f64, target: f64) -> Result<()> {
        let (step, keep) = self.step_of(rounds);
        rounds.push(error, step, keep, squared, target)
    }

    /// Carries out `rounds` at the columns of `z` (dim, rounds), by one matrix product (two with
    /// averaging). Equals the rounds one by one to rounding. There are as many outputs as the last
    /// error has entries.
    pub fn carry_out(&mut self, z: MatRef<'_, f64>, rounds: &Rounds) {
        let (first, total) = (self.rounds as f64, self.rounds as f64 + rounds.len() as f64);
        if self.spec.averaging {
            // The sum of the weights after each of the rounds, from the weights before them.
            let (errors, keep) = rounds.scaled_sum(self.n_outputs());
            for c in 0..self.mean.cols() {
                for (mean, w) in self.mean.col_mut(c).iter_mut().zip(self.weights.col(c)) {
                    *mean = (*mean * first + keep * w) / total;
                }
            }
            matmul(self.mean.as_faer_mut(), Accum::Add, z, errors.as_ref(), total.recip(), Par::Seq);
        }
        let (errors, keep) = rounds.scaled(self.n_outputs());
        self.weights.scale(keep);
        matmul(self.weights.as_faer_mut(), Accum::Add, z, errors.as_ref(), 1.0, Par::Seq);
        self.rounds += rounds.len() as u64;
        self.sum += rounds.steepness();
        self.largest = self.largest.max(rounds.largest());
    }

    /// Takes down the slopes of a row whose forecast by the latest weights is known, and returns
    /// the step to go along them. On an error nothing has changed.
    fn prepare(&mut self, z: &Coordinates, y: &[f64], weight: f64, forecast: &[f64]) -> Result<f64> {
        let mut steepness = 0.0;
        let mut length = 0.0;
        for ((slope, &target), &forecast) in self.slopes.iter_mut().zip(y).zip(forecast) {
            *slope = weight * self.spec.loss.derivative(forecast, target);
            steepness += *slope * *slope;
            length += target * target;
        }
        let gradient = steepness * z.squared_norm();
        let largest = self.largest.max(length.sqrt());
        let rounds = self.rounds + 1;
        let sum = self.sum + gradient;
        let radius = self.spec.radius.unwrap_or(2.0 * largest);
        let step = self.spec.schedule.at(rounds, self.spec.step.unwrap_or(DEFAULT_STEP), radius, sum);
        // Far beyond any sensible weight, far from overflow.
        let length = step * gradient.sqrt();
        if length.is_nan() || length > 1e90 {
            return Err(Error::Diverged { row: 0 });
        }
        (self.largest, self.rounds, self.sum) = (largest, rounds, sum);
        Ok(step)
    }

    /// Goes one step along the slopes taken down.
    fn advance(&mut self, z: &Coordinates, step: f64) {
        let keep = (1.0 - step * self.spec.regularization).max(0.0);
        self.weights.scale(keep);
        for (c, slope) in self.slopes.iter().enumerate() {
            loops::add_scaled(-step * slope, z.in_lanes(), self.weights.col_mut(c));
        }
        if let Some(radius) = self.radius() {
            self.project(radius);
        }
        if self.spec.averaging {
            let share = (self.rounds as f64).recip();
            for c in 0..self.weights.cols() {
                for (mean, w) in self.mean.col_mut(c).iter_mut().zip(self.weights.col(c)) {
                    *mean += share * (w - *mean);
                }
            }
        }
    }

    /// Keeps the weights in the ball.
    fn project(&mut self, radius: f64) {
        let squared: f64 =
            (0..self.weights.cols()).map(|c| loops::dot(self.weights.col(c), self.weights.col(c))).sum();
        if squared > radius * radius {
            self.weights.scale(radius / squared.sqrt());
        }
    }
}

impl Learner for Gradient {
    fn weights(&self) -> &Panel {
        &self.weights
    }

    fn begin(&mut self, n_outputs: usize) {
        self.weights.grow_cols(n_outputs);
        if self.spec.averaging {
            self.mean.grow_cols(n_outputs);
        }
        self.slopes.resize(n_outputs, 0.0);
    }

    fn grow(&mut self, dim: usize) {
        self.weights.grow_rows(dim);
        if self.spec.averaging {
            self.mean.grow_rows(dim);
        }
    }

    fn shrink(&mut self, dim: usize) {
        self.truncate(dim, self.weights.cols());
    }

    fn forecast(&self, z: &Coordinates, _novelty: f64, out: &mut [f64]) {
        apply(self.estimate(), z, out);
    }

    fn rebase(&mut self, rebase: &Rebase) {
        for panel in [&mut self.weights, &mut self.mean] {
            match rebase {
                Rebase::Restart { dim } => {
                    panel.truncate(0, panel.cols());
                    panel.grow_rows(*dim);
                }
                Rebase::Map(map) => *panel = panel.mapped(map.as_ref()),
            }
        }
        if let Rebase::Restart { .. } = rebase {
            (self.rounds, self.sum) = (0, 0.0);
        }
    }

    fn moves(&self, z: &Coordinates, y: &[f64], scratch: &mut [f64]) -> bool {
        apply(&self.weights, z, scratch);
        scratch.iter().zip(y).any(|(raw, y)| self.spec.loss.derivative(*raw, *y) != 0.0)
    }

    fn learn(&mut self, z: &Coordinates, y: &[f64], weight: f64, forecast: &mut [f64]) -> Result<()> {
        apply(&self.weights, z, forecast);
        let step = self.prepare(z, y, weight, forecast)?;
        if self.spec.averaging {
            apply(&self.mean, z, forecast);
        }
        self.advance(z, step);
        Ok(())
    }

    fn can_diverge(&self) -> bool {
        true
    }

    fn boxed(&self) -> Box<dyn Learner> {
        Box::new(self.clone())
    }

    fn spec(&self) -> LearnerSpec {
        LearnerSpec::Gradient(self.spec.clone())
    }

    fn write(&self, out: &mut Writer) {
        write_panel(out, "learner.weights", &self.weights);
        if self.spec.averaging {
            write_panel(out, "learner.mean", &self.mean);
        }
        out.vector("learner.scalars", &[self.sum, self.largest]);
        out.counts("learner.counts", &[self.rounds]);
    }

    fn read(&mut self, from: &Reader<'_>) -> Result<()> {
        self.weights = read_panel(from, "learner.weights")?;
        let (rows, cols) = (self.weights.rows(), self.weights.cols());
        if self.spec.averaging {
            let entries = from.matrix_of("learner.mean", rows, cols)?;
            self.mean = Panel::from_row_major(&entries, rows, cols);
        }
        let scalars = from.vector("learner.scalars", 2)?;
        (self.sum, self.largest) = (scalars[0], scalars[1]);
        [self.rounds] = from.counts("learner.counts")?;
        self.slopes = vec![0.0; cols];
        Ok(())
    }
}
