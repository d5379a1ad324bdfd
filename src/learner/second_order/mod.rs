//! Second-order learners: weights, and the inverse of the curvature of all rows.

mod backfill;
mod block;
mod gauss_newton;
mod memory;
mod online_newton;
mod ridge;
mod rule;
mod sums;

pub use gauss_newton::{Curvature, GaussNewton, GaussNewtonSpec};
pub use memory::{History, Memory};
pub use online_newton::{Growth, NewtonStep, OnlineNewton, OnlineNewtonSpec};
pub use ridge::{LeastSquares, Prediction, Ridge, RidgeSpec};
pub use rule::{Observation, RuleFile, SecondOrderRule, Step};
pub(crate) use sums::Addend;

use super::weights::{apply, beyond_bounds, read_panel, write_panel};
use super::{
    Covariance, Learner, LearnerBlocks, LearnerFile, LearnerLimits, LearnerMemory, LearnerUncertainty, Rows,
};
use crate::error::{Error, Result};
use crate::linalg::{ChangeOfBasis, Coordinates, Lanes, Panel, SymmetricInverse, loops};
use crate::memory::affordable;
use crate::persist::{Reader, Writer};
use block::BlockUpdate;
use memory::Added;

/// Least regularization with which coordinates get their prior before the first rows that have
/// them: with a larger prior variance rounding would leave too few digits.
const FAINTEST: f64 = 1e-5;

/// Fewest coordinates with which blocks are faster for rows that add coordinates: with fewer,
/// everything stays in the cache.
const GROWS_FROM: usize = 256;

/// A second-order learner: the curvature `A` of all rows, its inverse `P` and weights that follow a
/// [`SecondOrderRule`].
///
/// With `forgetting` below 1 the sums are weighted by `gamma^age`. The textbook recursion also
/// forgets the regularization, and `P` explodes in directions that the data stop visiting. Here
/// each round restores the loss of `m` coordinates, `(1 - gamma) lambda m`, to one of them, all
/// equally often, which keeps `lambda I` on average and costs one more rank-one update (more if
/// `gamma` is below `1 - 1 / m`). O(m^2) a row, O(m) more for each output.
#[derive(Clone, Debug)]
pub struct SecondOrder<R> {
    pub(super) rule: R,
    pub(super) weights: Panel,
    pub(super) inverse: SymmetricInverse,
    /// Weights of the constant target 1 (one column or none).
    pub(super) intercept: Panel,
    pub(super) rounds: u64,
    /// `P z` of the current row.
    pub(super) pz: Lanes,
    pub(super) step: Step,
    /// `z'Pz` of the rows learned last.
    pub(super) leverages: Vec<f64>,
    block: BlockUpdate,
    /// The rule in a block that may fail.
    trial: R,
    memory: Option<Memory>,
    /// Sums over past rows for the latest coordinate, until its row is learned.
    added: Option<Added>,
}

impl<R: SecondOrderRule> SecondOrder<R> {
    /// A learner with a rule of validated parameters.
    #[must_use]
    pub fn following(rule: R) -> Self {
        let mut intercept = Panel::default();
        intercept.grow_cols(usize::from(rule.centers()));
        Self {
            trial: rule.clone(),
            memory: rule.memory(),
            added: None,
            rule,
            weights: Panel::default(),
            inverse: SymmetricInverse::default(),
            intercept,
            rounds: 0,
            pz: Lanes::default(),
            step: Step::default(),
            leverages: Vec::new(),
            block: BlockUpdate::default(),
        }
    }

    /// The rule.
    #[must_use]
    pub fn rule(&self) -> &R {
        &self.rule
    }

    /// `P = A^{-1}`, of the coordinates in which some row was not zero.
    #[must_use]
    pub fn inverse(&self) -> &SymmetricInverse {
        &self.inverse
    }

    /// Appends outputs whose targets were all zero so far, until there are `n_outputs`. Only
    /// meaningful without centring and clipping.
    pub fn grow_outputs(&mut self, n_outputs: usize) {
        self.begin(n_outputs);
    }

    /// Removes coordinates beyond the first `dim`, before any row was learned with them, and
    /// outputs beyond the first `n_outputs`.
    pub fn truncate(&mut self, dim: usize, n_outputs: usize) {
        self.weights.truncate(dim, n_outputs);
        self.inverse.truncate(dim);
        self.intercept.truncate(dim, self.intercept.cols());
        self.pz.resize(dim);
        self.rule.truncate(n_outputs);
        self.step.lengths.truncate(n_outputs);
    }

    pub(super) fn predict_intercept(&self, z: &Coordinates) -> f64 {
        if self.intercept.cols() > 0 { loops::dot(self.intercept.col(0), z.in_lanes()) } else { 0.0 }
    }

    /// Records a learned row, whose prediction had this variance.
    fn learned(&mut self, leverage: f64, y: &[f64], weight: f64) {
        self.leverages.clear();
        self.leverages.push(leverage);
        self.rule.update_statistics(y, weight);
        self.rounds += 1;
    }

    /// Restores the regularization that forgetting took from all coordinates, `(1 - gamma) lambda`
    /// each, to some of them: to more if much is forgotten.
    fn restore_regularization(&mut self) {
        let m = self.dim() as u64;
        let lost = (1.0 - self.rule.forgetting()) * m as f64;
        let turns = (1..=m).find(|turns| *turns as f64 >= lost).unwrap_or(m);
        let share = self.rule.regularization() * lost / turns as f64;
        let first = one_of(self.rounds, m) as u64;
        for turn in 0..turns {
            let Ok(i) = usize::try_from((first + turn) % m) else { continue };
            // Learns the row sqrt(share) e_i with target 0.
            self.inverse.column(i, &mut self.pz);
            // A negative value, the rounding error of a row of an enormous weight, would grow with
            // forgetting.
            if !(-1e-6..SymmetricInverse::LARGEST).contains(&(share * self.pz[i])) {
                self.inverse.reset_coordinate(i, self.rule.regularization());
                continue;
            }
            let quadratic = self.pz[i];
            let gain = self.inverse.add(1.0, share, &self.pz, quadratic);
            self.step.curvature = share;
            self.step.intercept = 0.0;
            for (c, far) in self.step.lengths.iter_mut().enumerate() {
                *far = -share * self.weights.get(i, c);
                loops::add_scaled(gain * *far, &self.pz, self.weights.col_mut(c));
            }
            if self.intercept.cols() > 0 {
                self.step.intercept = -share * self.intercept.get(i, 0);
                loops::add_scaled(gain * self.step.intercept, &self.pz, self.intercept.col_mut(0));
            }
            self.rule.update_centre(1.0, &self.step, quadratic);
        }
    }
}

/// The coordinate of `m` at a time: by multiples of the golden section modulo 1, which visit all
/// equally often also while `m` grows. The remainder of the time by `m` would not: where every tenth
/// round adds a coordinate, it is always one of the first ten.
#[expect(clippy::cast_possible_truncation, reason = "below m")]
fn one_of(time: u64, m: u64) -> usize {
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    ((u128::from(time.wrapping_mul(GOLDEN)) * u128::from(m)) >> 64) as usize
}

impl<R: SecondOrderRule> SecondOrder<R> {
    /// Whether the current step, along `P z` in `pz`, keeps predictions finite.
    fn is_bounded(&self, keep: f64, taken: f64) -> bool {
        let furthest =
            self.step.lengths.iter().fold(self.step.intercept.abs(), |most, far| most.max(far.abs()));
        let length = loops::dot(&self.pz, &self.pz).sqrt();
        !beyond_bounds(&[furthest / (keep * (1.0 + taken)) * length])
    }
}

impl<R: SecondOrderRule> Learner for SecondOrder<R> {
    fn weights(&self) -> &Panel {
        &self.weights
    }

    fn begin(&mut self, n_outputs: usize) {
        self.weights.grow_cols(n_outputs);
        self.step.lengths.resize(n_outputs, 0.0);
        self.rule.begin(n_outputs);
    }

    fn grow(&mut self, dim: usize) {
        if dim <= self.dim() {
            return;
        }
        self.weights.grow_rows(dim);
        self.intercept.grow_rows(dim);
        self.pz.resize(dim);
    }

    fn shrink(&mut self, dim: usize) {
        self.added = None;
        if let Some(memory) = &mut self.memory {
            memory.truncate(dim);
        }
        self.truncate(dim, self.weights.cols());
    }

    fn change_basis(&mut self, change: &ChangeOfBasis) {
        // Coordinates of past rows in another basis are unknown.
        if let Some(memory) = &mut self.memory {
            memory.clear();
        }
        let dim = match change {
            ChangeOfBasis::Restart { dim } => *dim,
            ChangeOfBasis::Map(map) => {
                // Coordinates in which all rows were zero have their prior.
                self.inverse.grow(self.dim(), self.rule.regularization());
                if let Some(back) = self.inverse.map(map.as_ref(), self.rule.regularization()) {
                    self.weights = self.weights.mapped(back.as_ref());
                    self.intercept = self.intercept.mapped(back.as_ref());
                    self.pz = Lanes::zeros(self.dim());
                    return;
                }
                // A curvature that is rounding error is not kept.
                map.nrows()
            }
        };
        self.truncate(0, self.weights.cols());
        self.inverse = SymmetricInverse::default();
        self.rule.restart_centre();
        self.grow(dim);
    }

    fn predict(&self, z: &Coordinates, residual: f64, out: &mut [f64]) {
        if residual > 0.0 && self.rule.restarts() {
            // This point would extend the basis and thereby restart the learner.
            out.fill(0.0);
            self.rule.finalize_prediction(out, 0.0, 0.0);
            return;
        }
        apply(&self.weights, z, out);
        let quadratic = if self.rule.needs_quadratic() {
            let mut pz = Lanes::zeros(z.len());
            let regularization = self.rule.regularization();
            self.inverse.leverage(regularization, z.in_lanes(), &mut pz)
                + residual * residual / regularization
        } else {
            0.0
        };
        self.rule.finalize_prediction(out, self.predict_intercept(z), quadratic);
    }

    fn learn(&mut self, z: &Coordinates, y: &[f64], weight: f64, prediction: &mut [f64]) -> Result<()> {
        if let Some(added) = self.added.take() {
            return self.learn_with_memory(added, z, y, weight, prediction);
        }
        let (regularization, keep) = (self.rule.regularization(), self.rule.forgetting());
        let grows = z.len() > self.inverse.dim();
        let restarts = self.rule.restarts() && grows;
        let (one, quadratic) = if restarts {
            prediction.fill(0.0);
            (0.0, z.squared_norm() / regularization)
        } else {
            apply(&self.weights, z, prediction);
            let one = self.predict_intercept(z);
            // For most rows of a margin loss the products with `P` would change nothing.
            if keep >= 1.0 && !grows && self.rule.is_idle(prediction, one, y) && !beyond_bounds(prediction) {
                self.rule.finalize_prediction(prediction, one, 0.0);
                self.learned(0.0, y, weight);
                return Ok(());
            }
            (one, self.inverse.leverage(regularization, z.in_lanes(), &mut self.pz))
        };
        self.rule.update_step(
            &Observation { raw: prediction, intercept: one, quadratic, y, weight, grows },
            &mut self.step,
        );
        let taken = self.step.curvature * quadratic / keep;
        let sound = !beyond_bounds(prediction)
            && taken < SymmetricInverse::LARGEST
            && (restarts || self.is_bounded(keep, taken));
        if sound && restarts {
            self.weights.clear();
            self.inverse.reset(regularization);
            self.inverse.leverage(regularization, z.in_lanes(), &mut self.pz);
        }
        let curvature = self.step.curvature;
        // Without a prior, a row with a new coordinate is fitted exactly.
        let met = regularization == 0.0 && z.as_slice().iter().skip(self.inverse.dim()).any(|v| *v != 0.0);
        if !sound || !self.inverse.learn(keep, curvature, regularization, z.in_lanes(), z.len(), &mut self.pz)
        {
            return Err(Error::Unstable { row: 0 });
        }
        // The gain in `pz` is P z with this round in P.
        for (c, far) in self.step.lengths.iter().enumerate() {
            loops::add_scaled(*far, &self.pz, self.weights.col_mut(c));
        }
        if self.intercept.cols() > 0 {
            loops::add_scaled(self.step.intercept, &self.pz, self.intercept.col_mut(0));
        }
        self.rule.finalize_prediction(prediction, one, quadratic);
        let leverage = quadratic + self.rule.centre_variance(one);
        self.rule.update_centre(keep, &self.step, if met { f64::INFINITY } else { quadratic });
        if keep < 1.0 {
            self.restore_regularization();
        }
        self.learned(leverage, y, weight);
        Ok(())
    }
}

impl<R: SecondOrderRule> LearnerLimits for SecondOrder<R> {
    fn expect(&mut self, most: usize) {
        self.inverse.expect(most);
    }

    fn has_loss(&self, z: &Coordinates, y: &[f64], raw: &mut [f64]) -> bool {
        apply(&self.weights, z, raw);
        self.rule.has_loss(raw, self.predict_intercept(z), y)
    }

    fn check_size(&self, dim: usize, n_outputs: usize) -> Result<()> {
        affordable("the curvature of all coordinates", dim, dim.saturating_add(n_outputs))
    }

    fn largest_target(&self) -> f64 {
        self.rule.largest_target()
    }

    fn can_diverge(&self) -> bool {
        self.rule.can_diverge()
    }
}

impl<R: SecondOrderRule> LearnerBlocks for SecondOrder<R> {
    fn blocks_from(&self) -> usize {
        // The regularization is restored one row at a time.
        if self.rule.forgetting() < 1.0 { usize::MAX } else { 10 }
    }

    fn grows_in_blocks(&self) -> bool {
        // With a larger prior variance, its remainder after a row would be rounding error.
        self.dim() >= GROWS_FROM
            && self.rule.regularization() >= FAINTEST
            && !self.rule.notices_growth()
            && self.memory.is_none()
            && self.blocks_from() < usize::MAX
    }

    fn learn_block(&mut self, rows: &Rows<'_>, predictions: Option<&mut Panel>) -> Result<usize> {
        let new = self.inverse.dim() < self.dim();
        if self.blocks_from() == usize::MAX
            || new && (self.rule.restarts() || self.rule.regularization() == 0.0)
        {
            return Ok(0);
        }
        self.inverse.grow(self.dim(), self.rule.regularization());
        self.trial.clone_from(&self.rule);
        let weights = (&mut self.weights, &mut self.intercept);
        let Self { trial, step, inverse, .. } = self;
        let done = self.block.learn(rows, trial, step, weights, inverse, predictions)?;
        self.leverages.clear();
        self.leverages.extend_from_slice(self.block.leverages());
        std::mem::swap(&mut self.rule, &mut self.trial);
        self.rounds += done as u64;
        Ok(done)
    }
}

impl<R: SecondOrderRule> LearnerMemory for SecondOrder<R> {
    fn memory(&self) -> Option<&Memory> {
        self.memory.as_ref()
    }

    fn backfill(&mut self, newest: &[f64]) {
        if let (Some(memory), Some(m)) = (&mut self.memory, self.weights.rows().checked_sub(1)) {
            self.added = memory.extend(newest, m, self.rule.regularization());
        }
    }

    fn store(&mut self, x: &[f64], z: &Coordinates, y: &[f64], weight: f64) {
        if let Some(memory) = &mut self.memory {
            memory.push(x, z, y, weight);
        }
    }
}

impl<R: SecondOrderRule> LearnerUncertainty for SecondOrder<R> {
    fn slopes(&self) -> Panel {
        let mut slopes = self.weights.clone();
        if self.intercept.cols() > 0 {
            for c in 0..slopes.cols() {
                loops::add_scaled(-self.rule.centre(c), self.intercept.col(0), slopes.col_mut(c));
            }
        }
        slopes
    }

    fn covariance(&self) -> Option<Covariance<'_>> {
        Some(Covariance {
            inverse: &self.inverse,
            curvature: self.rule.constant_curvature()?,
            regularization: self.rule.regularization(),
            forgetting: self.rule.forgetting(),
            constant: self.rule.centre_information().map(|known| (self.intercept.col(0), known)),
        })
    }

    fn centers(&self) -> bool {
        self.rule.centers()
    }

    fn learned_leverages(&self) -> &[f64] {
        &self.leverages
    }
}

impl<R: RuleFile> LearnerFile for SecondOrder<R> {
    fn write(&self, out: &mut Writer) {
        write_panel(out, "learner.weights", &self.weights);
        out.lower("learner.inverse", self.inverse.dim(), &self.inverse.matrix().to_row_major());
        write_panel(out, "learner.ones", &self.intercept);
        out.counts("learner.counts", &[self.rounds]);
        self.rule.write(out);
        if let Some(memory) = &self.memory {
            memory.write(out);
        }
    }

    fn read(&mut self, from: &Reader<'_>) -> Result<()> {
        self.weights = read_panel(from, "learner.weights")?;
        let (dim, outputs) = (self.weights.rows(), self.weights.cols());
        let (known, entries) = from.lower("learner.inverse", true)?;
        self.inverse = (known <= dim)
            .then(|| SymmetricInverse::from_row_major(&entries, known))
            .flatten()
            .ok_or_else(|| Error::file("learner.inverse is not a symmetric inverse"))?;
        let centred = self.intercept.cols();
        let intercept = from.matrix_of("learner.ones", dim, centred)?;
        self.intercept = Panel::from_row_major(&intercept, dim, centred);
        [self.rounds] = from.counts("learner.counts")?;
        self.rule.read(from, outputs)?;
        if centred == 0 && self.rule.centre_information().is_some() {
            return Err(Error::file(
                "learner.scalars determines an intercept that the learner does not have",
            ));
        }
        if let Some(memory) = &mut self.memory {
            memory.read(from, dim, outputs)?;
        }
        self.pz = Lanes::zeros(dim);
        self.step.lengths = vec![0.0; outputs];
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_coordinates_are_visited_equally_often_however_their_number_grows() {
        for rounds_per_coordinate in [u64::MAX, 1, 3, 10, 64] {
            let mut visits = vec![0_u64; 64];
            for time in 0..64 * 200 {
                // From 8 coordinates on.
                let m = (8 + time / rounds_per_coordinate).min(64);
                visits[one_of(time, m)] += 1;
            }
            let known = if rounds_per_coordinate == u64::MAX { &visits[..8] } else { &visits[..] };
            let mean = known.iter().sum::<u64>() / known.len() as u64;
            assert!(known.iter().all(|n| *n > mean / 2), "{visits:?}");
            assert!(rounds_per_coordinate > 3 || known.iter().all(|n| *n < mean + mean / 2), "{visits:?}");
        }
    }
}
