//! How sure the weights are.

use std::borrow::Cow;

use crate::linalg::{Panel, SymmetricInverse};

/// The covariance of the weights, in units of the variance of the noise: that of a Gaussian process, seen through
/// the coordinates.
///
/// Least squares with the regularization `lambda` is Bayesian: the prior variance of each weight is the variance of
/// the noise divided by `lambda`, and `P` times the variance of the noise is what is left of it.
#[derive(Clone, Copy, Debug)]
pub struct Covariance<'a> {
    /// `P`
    pub inverse: &'a SymmetricInverse,
    /// Curvature of a row, of which `P` is the inverse.
    pub curvature: f64,
    /// `lambda`
    pub regularization: f64,
    /// What is left of the weight of all rows after a round, from above 0 to 1.
    pub forgetting: f64,
    /// Where predictions are differences to a constant that was learned too: the weights of the target 1 and the inverse of
    /// the variance of the constant.
    pub constant: Option<(&'a [f64], f64)>,
}

impl Covariance<'_> {
    /// The variance of a prediction in units of the noise, from `z'Pz` and what the coordinates leave out,
    /// `residual = k(x, x) - |z|^2`, of which the prior is all there is to know. Without regularization, with which
    /// the prior has no bounds, this part is left out.
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
            // Coordinates that no row had are known by their prior.
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
