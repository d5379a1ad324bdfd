//! Covariance of the weights.

use std::borrow::Cow;

use crate::linalg::{Panel, SymmetricInverse};

/// Covariance of the weights, in units of the noise variance: that of a Gaussian process in the
/// coordinates.
///
/// Least squares with regularization `lambda` is Bayesian: the prior variance of each weight is the
/// noise variance divided by `lambda`, and the posterior covariance is `P` times the noise
/// variance.
#[derive(Clone, Copy, Debug)]
pub struct Covariance<'a> {
    /// `P`
    pub inverse: &'a SymmetricInverse,
    /// Curvature of a row in the inverse of `P`.
    pub curvature: f64,
    /// `lambda`
    pub regularization: f64,
    /// Factor on the weight of all rows after a round, above 0 and at most 1.
    pub forgetting: f64,
    /// With an intercept: the weights of the target 1 and the inverse of the variance of the
    /// intercept.
    pub constant: Option<(&'a [f64], f64)>,
}

impl Covariance<'_> {
    /// Variance of a prediction in units of the noise, from `z'Pz` and the residual of the
    /// coordinates, `k(x, x) - |z|^2`, which has its prior variance. Without regularization the
    /// prior is unbounded, and the residual is left out.
    #[must_use]
    pub fn leverage(&self, quadratic: f64, residual: f64) -> f64 {
        let beyond = if self.regularization > 0.0 { residual / self.regularization } else { 0.0 };
        self.curvature * (quadratic.max(0.0) + beyond)
    }

    /// [`leverage`](Self::leverage) of each row of coordinates `z` (b, dim) with these residuals, by matrix products.
    #[must_use]
    pub fn leverages(&self, z: &Panel, residuals: impl IntoIterator<Item = f64>) -> Vec<f64> {
        let mut inverse = Cow::Borrowed(self.inverse);
        if z.cols() > inverse.dim() {
            // Coordinates in which all rows were zero have their prior variance.
            let unknown = if self.regularization > 0.0 { self.regularization } else { f64::INFINITY };
            inverse.to_mut().grow(z.cols(), unknown);
        }
        let mut products = Panel::default();
        inverse.multiply_rows(z.as_faer(), &mut products, &mut Panel::default());
        let mut quadratics = vec![0.0; z.rows()];
        for j in 0..z.cols() {
            for ((sum, z), product) in quadratics.iter_mut().zip(z.col(j)).zip(products.col(j)) {
                *sum += z * product;
            }
        }
        if let Some((ones, known)) = self.constant {
            let mut of_one = vec![0.0; z.rows()];
            for (j, weight) in (0..z.cols()).zip(ones) {
                of_one.iter_mut().zip(z.col(j)).for_each(|(sum, z)| *sum += weight * z);
            }
            quadratics.iter_mut().zip(&of_one).for_each(|(sum, one)| *sum += (1.0 - one).powi(2) / known);
        }
        quadratics
            .into_iter()
            .zip(residuals)
            .map(|(quadratic, left)| self.leverage(quadratic, left))
            .collect()
    }
}
