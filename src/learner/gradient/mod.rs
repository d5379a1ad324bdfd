//! Online gradient descent.

mod block;
mod rounds;

use serde::{Deserialize, Serialize};

use super::weights::{apply, read_panel, write_panel};
use super::{
    Learner, LearnerBlocks, LearnerFile, LearnerLimits, LearnerMemory, LearnerUncertainty, Loss, Rows,
    Schedule,
};
use crate::error::{Error, Result, not_negative, positive};
use crate::linalg::{ChangeOfBasis, Coordinates, Panel, loops};
use crate::persist::{Reader, Writer};

use rounds::Progress;
pub use rounds::Rounds;

/// The first step where none is given.
const DEFAULT_STEP: f64 = 0.1;

/// Parameters of [`Gradient`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GradientSpec {
    /// What is minimized.
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
    /// Prediction with the mean of all weights so far (Polyak) rather than the latest.
    pub averaging: bool,
}

impl Default for GradientSpec {
    fn default() -> Self {
        Self {
            loss: Loss::Squared,
            step: Some(DEFAULT_STEP),
            schedule: Schedule::Constant,
            radius: None,
            regularization: 0.0,
            averaging: false,
        }
    }
}

impl GradientSpec {
    /// Norm of the ball, if there is one, when the largest `|y|` is this.
    fn radius(&self, largest: f64) -> Option<f64> {
        match (self.radius, self.schedule) {
            (Some(radius), _) => Some(radius),
            (None, Schedule::Adaptive) => Some(2.0 * largest),
            (None, _) => None,
        }
    }

    /// What a step leaves of the weights.
    fn keep(&self, step: f64) -> f64 {
        (1.0 - step * self.regularization).max(0.0)
    }

    /// Works out the slopes of a row whose prediction by the latest weights is known, and returns the step
    /// to go along them. On an error `progress` has not changed.
    fn next_step(
        &self,
        progress: &mut Progress,
        y: &[f64],
        weight: f64,
        prediction: &[f64],
        squared: f64,
        slopes: &mut [f64],
    ) -> Result<f64> {
        self.loss.derivatives(prediction, y, slopes);
        if weight.to_bits() != 1.0_f64.to_bits() {
            for slope in &mut *slopes {
                *slope *= weight;
            }
        }
        let gradient = loops::dot(slopes, slopes) * squared;
        let largest = progress.largest.max(loops::dot(y, y).sqrt());
        let rounds = progress.rounds + 1;
        let sum = progress.sum + gradient;
        let radius = self.radius.unwrap_or(2.0 * largest);
        let mut step = self.schedule.at(rounds, self.step.unwrap_or(DEFAULT_STEP), radius, sum);
        if self.schedule == Schedule::Adaptive && self.radius.is_none() {
            // The default ball suits kernels with `k(x, x)` of about 1. Raw powers of large columns reach 1e24; there
            // a step that would enlarge the row's error ends at the minimum of its loss instead (Kaczmarz).
            let curvatures =
                prediction.iter().zip(y).map(|(prediction, y)| self.loss.curvature(*prediction, *y));
            let gain = step * weight * squared * curvatures.fold(0.0, f64::max);
            if gain > 2.0 {
                step /= gain;
            }
        }
        // Far beyond any sensible weight, far from overflow.
        let length = step * gradient.sqrt();
        if length.is_nan() || length > 1e90 {
            return Err(Error::Diverged { row: 0 });
        }
        *progress = Progress { rounds, sum, largest };
        Ok(step)
    }

    /// Whether any output has a slope.
    fn changes(&self, prediction: &[f64], y: &[f64]) -> bool {
        prediction.iter().zip(y).any(|(prediction, y)| self.loss.derivative(*prediction, *y) != 0.0)
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
    progress: Progress,
    slopes: Vec<f64>,
    /// Scratch of blocks.
    waiting: Rounds,
    scratch: Scratch,
}

/// Kept so that blocks do not allocate. A copy of a learner begins without.
#[derive(Debug, Default)]
struct Scratch {
    /// `Z'Z` of a block.
    inner: Panel,
    /// Predictions by the weights before a block, and by their mean.
    raw: Panel,
    mean: Panel,
    turned: Panel,
    /// That of the row at hand, by the weights that it meets.
    made: Coordinates,
    /// That by the sum of the weights after each row of the block.
    summed: Coordinates,
    slopes: Vec<f64>,
    /// Slopes of the rounds of a block as applied to the weights, and their negatives.
    scaled: [Panel; 2],
}

impl Clone for Scratch {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Gradient {
    /// Its parameters.
    #[must_use]
    pub fn spec(&self) -> &GradientSpec {
        &self.spec
    }

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
            progress: Progress::default(),
            slopes: Vec::new(),
            waiting: Rounds::default(),
            scratch: Scratch::default(),
        })
    }

    /// The weights that predictions are made with: the mean of all rounds with averaging, else the
    /// latest.
    #[must_use]
    pub fn estimate(&self) -> &Panel {
        if self.spec.averaging { &self.mean } else { &self.weights }
    }

    /// What multiplies the error of the next round, with a squared loss and a step that does not depend
    /// on the row.
    #[must_use]
    pub fn next_gain(&self) -> f64 {
        self.gain_of_round(self.progress.rounds + 1)
    }

    fn gain_of_round(&self, round: u64) -> f64 {
        let step = self.spec.step.unwrap_or(DEFAULT_STEP);
        self.spec.schedule.at(round, step, 0.0, 0.0) * self.spec.loss.derivative(1.0, 0.0)
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

    /// [`learn`](Learner::learn) for a caller who knows the latest weights' prediction `W'z` already.
    pub fn learn_from(&mut self, z: &Coordinates, y: &[f64], prediction: &[f64]) -> Result<()> {
        let (progress, squared) = (&mut self.progress, z.squared_norm());
        let step = self.spec.next_step(progress, y, 1.0, prediction, squared, &mut self.slopes)?;
        self.advance(z, step);
        Ok(())
    }

    /// `|W|^2`, where a ball depends on it.
    fn size(&self) -> f64 {
        if self.spec.radius(0.0).is_none() {
            return 0.0;
        }
        (0..self.weights.cols()).map(|c| loops::dot(self.weights.col(c), self.weights.col(c))).sum()
    }

    /// Takes one step along the recorded slopes.
    fn advance(&mut self, z: &Coordinates, step: f64) {
        self.weights.scale(self.spec.keep(step));
        for (c, slope) in self.slopes.iter().enumerate() {
            loops::add_scaled(-step * slope, z.in_lanes(), self.weights.col_mut(c));
        }
        if let Some(radius) = self.spec.radius(self.progress.largest) {
            self.project(radius);
        }
        if self.spec.averaging {
            let share = (self.progress.rounds as f64).recip();
            for c in 0..self.weights.cols() {
                for (mean, w) in self.mean.col_mut(c).iter_mut().zip(self.weights.col(c)) {
                    *mean += share * (w - *mean);
                }
            }
        }
    }

    /// Keeps the weights in the ball.
    fn project(&mut self, radius: f64) {
        let size = self.size();
        if size > radius * radius {
            self.weights.scale(radius / size.sqrt());
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

    fn predict(&self, z: &Coordinates, _novelty: f64, out: &mut [f64]) {
        apply(self.estimate(), z, out);
    }

    fn change_basis(&mut self, change: &ChangeOfBasis) {
        for panel in [&mut self.weights, &mut self.mean] {
            match change {
                ChangeOfBasis::Restart { dim } => {
                    panel.truncate(0, panel.cols());
                    panel.grow_rows(*dim);
                }
                ChangeOfBasis::Map(map) => *panel = panel.mapped(map.as_ref()),
            }
        }
        if let ChangeOfBasis::Restart { .. } = change {
            (self.progress.rounds, self.progress.sum) = (0, 0.0);
        }
    }

    fn learn(&mut self, z: &Coordinates, y: &[f64], weight: f64, prediction: &mut [f64]) -> Result<()> {
        apply(&self.weights, z, prediction);
        let (progress, squared) = (&mut self.progress, z.squared_norm());
        let step = self.spec.next_step(progress, y, weight, prediction, squared, &mut self.slopes)?;
        if self.spec.averaging {
            apply(&self.mean, z, prediction);
        }
        self.advance(z, step);
        Ok(())
    }
}

impl LearnerLimits for Gradient {
    fn has_loss(&self, z: &Coordinates, y: &[f64], scratch: &mut [f64]) -> bool {
        apply(&self.weights, z, scratch);
        self.spec.changes(scratch, y)
    }

    fn can_diverge(&self) -> bool {
        true
    }
}

impl LearnerBlocks for Gradient {
    fn blocks_from(&self) -> usize {
        // Only the coordinates gain: see benches/stream.rs.
        16
    }

    fn learn_block(&mut self, rows: &Rows<'_>, predictions: Option<&mut Panel>) -> Result<usize> {
        let mut waiting = std::mem::take(&mut self.waiting);
        let mut scratch = std::mem::take(&mut self.scratch);
        waiting.begin(self.progress, self.size());
        let done = self.collect(rows, predictions, &mut waiting, &mut scratch);
        self.scratch = scratch;
        if let Ok(done) = done {
            self.carry_out(rows.z.subrows(0, done), &waiting);
        }
        self.waiting = waiting;
        done
    }
}

impl LearnerMemory for Gradient {}

impl LearnerUncertainty for Gradient {}

impl LearnerFile for Gradient {
    fn write(&self, out: &mut Writer) {
        write_panel(out, "learner.weights", &self.weights);
        if self.spec.averaging {
            write_panel(out, "learner.mean", &self.mean);
        }
        out.vector("learner.scalars", &[self.progress.sum, self.progress.largest]);
        out.counts("learner.counts", &[self.progress.rounds]);
    }

    fn read(&mut self, from: &Reader<'_>) -> Result<()> {
        self.weights = read_panel(from, "learner.weights")?;
        let (rows, cols) = (self.weights.rows(), self.weights.cols());
        if self.spec.averaging {
            let entries = from.matrix_of("learner.mean", rows, cols)?;
            self.mean = Panel::from_row_major(&entries, rows, cols);
        }
        let scalars = from.vector("learner.scalars", 2)?;
        (self.progress.sum, self.progress.largest) = (scalars[0], scalars[1]);
        if scalars.iter().any(|value| *value < 0.0) {
            return Err(Error::file("learner.scalars holds a number below zero"));
        }
        [self.progress.rounds] = from.counts("learner.counts")?;
        self.slopes = vec![0.0; cols];
        Ok(())
    }
}
