//! The intercept of targets.

use super::second_order::Step;
use crate::error::{Error, Result};
use crate::persist::{Reader, Writer};

/// Weight of the mean of the targets, as a share of that of the rows: more than rounding. If
/// coordinates contain a constant themselves and there is no regularization, errors of the constant
/// target 1 vanish, and the mean remains.
const FAINT: f64 = 1e-15;

/// Largest sum, against overflow.
const LARGEST: f64 = 1e300;

/// The constant `b` of each output that minimizes `sum c (y - b - w'z)^2 + lambda |w|^2`: an
/// intercept without a penalty, also for ordered rows that have shown only some of the targets.
///
/// Errors are linear in the targets. If a row is predicted with the error `e`, and the constant
/// target 1 with the error `u`, targets less `b` would have had the error `e - b u`. The minimum of
/// the sum over `w` is that of squared prequential errors over `1 + c z'Pz`. So
/// ```text
/// b = sum c e u / (1 + c z'Pz)  /  sum c u^2 / (1 + c z'Pz)
/// ```
/// which is generalized least squares (Rasmussen and Williams, "Gaussian processes for machine
/// learning", 2006, section 2.7), in recursive sums, of which the denominator has no cancellation.
#[derive(Clone, Debug, Default)]
pub(super) struct Centre {
    /// Mean of the targets of each output.
    mean: Vec<f64>,
    /// Sum of the weights of the rows.
    seen: f64,
    /// Numerator of each output, and denominator.
    products: Vec<f64>,
    information: f64,
}

impl Centre {
    /// Fixes the number of outputs, or appends some.
    pub fn begin(&mut self, n_outputs: usize) {
        self.mean.resize(n_outputs, 0.0);
        self.products.resize(n_outputs, 0.0);
    }

    /// Forgets all outputs beyond the first `n_outputs`.
    pub fn truncate(&mut self, n_outputs: usize) {
        self.mean.truncate(n_outputs);
        self.products.truncate(n_outputs);
    }

    /// Sum of the weights of the rows.
    pub fn seen(&self) -> f64 {
        self.seen
    }

    /// Mean of the targets of output `c`.
    pub fn mean(&self, c: usize) -> f64 {
        self.mean[c]
    }

    /// The constant of output `c`; the mean until the rows determine it.
    pub fn value(&self, c: usize) -> f64 {
        let mean = self.mean[c];
        self.known().map_or(mean, |known| (self.products[c] + FAINT * self.seen * mean) / known)
    }

    /// Addition to the variance of a prediction due to the uncertainty of the constant, in units of
    /// the noise of a row of curvature 1, for this prediction of the target 1.
    pub fn variance(&self, of_one: f64) -> f64 {
        self.known().map_or(0.0, |known| (1.0 - of_one).powi(2) / known)
    }

    /// The denominator, which is the inverse of the variance of the constant; 0 until the rows
    /// determine it.
    pub fn information(&self) -> f64 {
        self.information
    }

    /// The denominator with the weight of the mean, if the rows determine anything.
    pub fn known(&self) -> Option<f64> {
        (self.information > 0.0).then_some(self.information + FAINT * self.seen)
    }

    /// Records the targets of a row.
    pub fn count(&mut self, y: &[f64], weight: f64, forgetting: f64) {
        self.seen = forgetting * self.seen + weight;
        if weight > 0.0 {
            for (mean, target) in self.mean.iter_mut().zip(y) {
                *mean += weight * (target - *mean) / self.seen;
            }
        }
    }

    /// Keeps means within `[-most, most]`.
    pub fn limit_means(&mut self, most: f64) {
        for mean in &mut self.mean {
            *mean = mean.clamp(-most, most);
        }
    }

    /// Records a row of curvature `c`: the error of each output and that of the target 1 by the
    /// weights before it, `z'Pz` before it, and the factor `keep` on earlier rows. An infinite
    /// `z'Pz` means a row that is fitted exactly.
    pub fn learn(
        &mut self,
        keep: f64,
        c: f64,
        errors: impl Iterator<Item = f64>,
        of_one: f64,
        quadratic: f64,
    ) {
        let share = keep * c / (keep + c * quadratic.max(0.0)) * of_one;
        for (sum, error) in self.products.iter_mut().zip(errors) {
            *sum = (keep * *sum + share * error).clamp(-LARGEST, LARGEST);
        }
        self.information = (keep * self.information + share * of_one).min(LARGEST);
    }

    /// [`learn`](Self::learn) of a step, whose lengths are errors times the curvature.
    pub fn learn_step(&mut self, keep: f64, step: &Step, quadratic: f64) {
        // 0 / 0 counts as no error.
        let c = step.curvature.max(f64::MIN_POSITIVE);
        self.learn(keep, c, step.lengths.iter().map(|far| far / c), step.intercept / c, quadratic);
    }

    /// Records an additional coordinate, which explains parts of earlier errors: products of the
    /// error of each output with that of the target 1, and the square of the latter.
    pub fn explain(&mut self, parts: &[f64], square: f64) {
        self.products.iter_mut().zip(parts).for_each(|(sum, part)| *sum -= part);
        self.information = (self.information - square).max(0.0);
    }

    /// Sets the sums.
    pub fn set_sums(&mut self, products: &[f64], information: f64) {
        self.products.copy_from_slice(products);
        self.information = information;
    }

    /// The numerator of output `c`.
    pub fn product(&self, c: usize) -> f64 {
        self.products[c]
    }

    /// Restarts the sums, when the weights of earlier errors no longer apply.
    pub fn restart(&mut self) {
        self.products.fill(0.0);
        self.information = 0.0;
    }

    /// Multiplies the weight of all rows so far by a factor.
    pub fn fade(&mut self, keep: f64) {
        self.seen *= keep;
    }

    /// Adds the targets of other rows, whose outputs are mapped to these.
    pub fn follow(&mut self, output: impl Fn(usize, &[f64]) -> f64, other: &Self) {
        self.seen += other.seen;
        for (c, mean) in self.mean.iter_mut().enumerate() {
            *mean += (output(c, &other.mean) - *mean) * other.seen / self.seen;
        }
    }

    pub fn write(&self, out: &mut Writer) {
        out.vector("learner.mean", &self.mean);
        out.vector("learner.products", &self.products);
        out.vector("learner.scalars", &[self.seen, self.information]);
    }

    /// Reads the output of [`write`](Self::write).
    pub fn read(from: &Reader<'_>, n_outputs: usize) -> Result<Self> {
        let mean = from.vector("learner.mean", n_outputs)?;
        let products = from.vector("learner.products", n_outputs)?;
        let scalars = from.vector("learner.scalars", 2)?;
        let (seen, information) = (scalars[0], scalars[1]);
        if seen < 0.0 || information < 0.0 {
            return Err(Error::file("learner.scalars holds a sum of squares or of weights below zero"));
        }
        Ok(Self { mean, seen, products, information })
    }
}
