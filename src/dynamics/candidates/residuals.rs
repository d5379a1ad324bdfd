//! Weights of rows in least squares by their residuals, so that outliers do not decide the coefficients.
//!
//! P. Huber, "Robust estimation of a location parameter", 1964: beyond a multiple of the mean absolute residual, a row counts
//! as if its residual were of that size. A spike is the target of one row and a regressor of many later ones, whose residuals
//! it enlarges as well.

use super::numbers::{Numbers, Pass};
use super::weights::is_size;

/// Multiple of the mean absolute residual from which rows weigh less; for Gaussian residuals, four deviations.
const FAR: f64 = 5.0;

/// Residuals over which the mean is taken, and first ones whose rows count in full.
const MEMORY: f64 = 50.0;
const FIRST: f64 = 10.0;

/// Residuals below this share of the mean absolute target count in full: after exact predictions, every residual would be an
/// outlier.
const EXACT: f64 = 0.01;

/// Mean absolute residual and target of a regression.
#[derive(Clone, Debug, Default)]
pub struct Residuals {
    residual: f64,
    target: f64,
    count: f64,
}

impl Residuals {
    /// Weight of this row, features followed by the target, and learns its residual; 1 before there are coefficients.
    pub fn weight(&mut self, row: &[f64], coefficients: &[f64]) -> f64 {
        let Some((target, features)) = row.split_last().filter(|_| row.len() == coefficients.len() + 1)
        else {
            return 1.0;
        };
        let made: f64 = features.iter().zip(coefficients).map(|(value, weight)| value * weight).sum();
        let residual = (target - made).abs();
        if !residual.is_finite() {
            return 1.0;
        }
        let most = (FAR * self.residual).max(EXACT * self.target);
        let most = if self.count < FIRST { f64::INFINITY } else { most };
        self.count = (self.count + 1.0).min(MEMORY);
        self.residual += (residual.min(most) - self.residual) / self.count;
        self.target += (target.abs() - self.target) / self.count;
        if residual > most && most > 0.0 { (most / residual).powi(2) } else { 1.0 }
    }

    pub fn is_sound(&self) -> bool {
        is_size(self.residual) && is_size(self.target) && (0.0..=MEMORY).contains(&self.count)
    }
}

impl Numbers for Residuals {
    fn pass(&mut self, pass: &mut dyn Pass) {
        pass.number(&mut self.residual);
        pass.number(&mut self.target);
        pass.number(&mut self.count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spike_has_the_influence_of_an_ordinary_residual_and_a_new_scale_is_followed() {
        let mut residuals = Residuals::default();
        let noise = |t: i32| f64::from((t * 7919) % 101 - 50) / 50.0;
        let weigh =
            |residuals: &mut Residuals, residual: f64| residuals.weight(&[1.0, 2.0 + residual], &[2.0]);
        (0..100).for_each(|t| assert!(weigh(&mut residuals, noise(t)) > 0.999));
        let weight = weigh(&mut residuals, 1000.0);
        // Its influence, weight times residual, is below that of an ordinary one.
        assert!(weight * 1000.0 < 0.1, "{weight}");
        assert!(weigh(&mut residuals, 0.9) > 0.999);
        let full = (0..300)
            .map(|t| weigh(&mut residuals, 100.0 * noise(t)))
            .filter(|weight| *weight > 0.999)
            .count();
        assert!(full > 200, "{full}");
    }

    #[test]
    fn rows_count_in_full_before_there_are_coefficients_and_small_residuals_after_exact_ones() {
        let mut residuals = Residuals::default();
        assert!(residuals.weight(&[1.0, 1e9], &[]) > 0.999);
        (0..50).for_each(|_| assert!(residuals.weight(&[1.0, 2.0], &[2.0]) > 0.999));
        assert!(residuals.weight(&[1.0, 2.01], &[2.0]) > 0.999);
        assert!(residuals.weight(&[1.0, 50.0], &[2.0]) < 0.001);
    }
}
