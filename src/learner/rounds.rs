//! Several rounds of gradient descent carried out together.

use faer::Mat;

use crate::error::{Error, Result};
use crate::linalg::{Coordinates, loops};

/// Rounds of gradient descent on the squared loss that have been worked out but not carried out.
///
/// A round adds `g_t z_t q_t'` to the weights and first shrinks them by `r_t`, so after some rounds they
/// are `keep W + sum_i carry_i z_i q_i'`, and the next error is that of these weights: it takes the
/// forecast of the old `W` and the inner products of `z` with those of the rounds before, which are
/// matrix products for a block of rows. The weights are touched once a block.
#[derive(Clone, Debug)]
pub struct Rounds {
    slope: f64,
    errors: Vec<Coordinates>,
    carry: Vec<f64>,
    keep: f64,
    /// Sums of `carry` and `keep` over the rounds so far, for the mean of the weights.
    carry_sum: Vec<f64>,
    keep_sum: f64,
    steepness: f64,
    largest: f64,
}

impl Rounds {
    /// No round yet, for a loss whose slope is `slope` times the error.
    pub(super) fn new(slope: f64) -> Self {
        Self {
            slope,
            errors: Vec::new(),
            carry: Vec::new(),
            keep: 1.0,
            carry_sum: Vec::new(),
            keep_sum: 0.0,
            steepness: 0.0,
            largest: 0.0,
        }
    }

    /// How many rounds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.errors.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    pub(super) fn slope(&self) -> f64 {
        self.slope
    }

    /// The error of the next round: its target less its forecast. `forecast` is that of the weights
    /// before all rounds (it may lack the outputs that came up since, which are zero), `inner` gives
    /// the inner product with the coordinates of an earlier round.
    #[must_use]
    pub fn error(&self, target: &[f64], forecast: &[f64], inner: impl Fn(usize) -> f64) -> Coordinates {
        let mut error = Coordinates::from_slice(target);
        for (error, forecast) in error.in_lanes_mut().iter_mut().zip(forecast) {
            *error -= self.keep * forecast;
        }
        for (i, (earlier, carry)) in self.errors.iter().zip(&self.carry).enumerate() {
            loops::add_scaled(-carry * inner(i), earlier.in_lanes(), error.in_lanes_mut());
        }
        error
    }

    pub(super) fn push(
        &mut self,
        error: Coordinates,
        step: f64,
        keep: f64,
        squared: f64,
        target: f64,
    ) -> Result<()> {
        let steepness = self.slope * self.slope * error.squared_norm() * squared;
        // As for one round: far beyond any sensible weight, far from overflow.
        let length = step * steepness.sqrt();
        if length.is_nan() || length > 1e90 {
            return Err(Error::Diverged { row: 0 });
        }
        self.keep *= keep;
        self.carry.iter_mut().for_each(|carry| *carry *= keep);
        self.carry.push(step * self.slope);
        self.carry_sum.push(0.0);
        self.keep_sum += self.keep;
        self.carry_sum.iter_mut().zip(&self.carry).for_each(|(sum, carry)| *sum += carry);
        self.steepness += steepness;
        self.largest = self.largest.max(target.sqrt());
        self.errors.push(error);
        Ok(())
    }

    pub(super) fn steepness(&self) -> f64 {
        self.steepness
    }

    pub(super) fn largest(&self) -> f64 {
        self.largest
    }

    /// Errors (rounds, outputs) times what is left of each after the last round, and what is left of the
    /// weights.
    pub(super) fn scaled(&self, outputs: usize) -> (Mat<f64>, f64) {
        (self.times(&self.carry, outputs), self.keep)
    }

    /// The same, summed over the rounds.
    pub(super) fn scaled_sum(&self, outputs: usize) -> (Mat<f64>, f64) {
        (self.times(&self.carry_sum, outputs), self.keep_sum)
    }

    fn times(&self, weights: &[f64], outputs: usize) -> Mat<f64> {
        Mat::from_fn(self.len(), outputs, |i, c| {
            self.errors[i].as_slice().get(c).map_or(0.0, |e| e * weights[i])
        })
    }
}
