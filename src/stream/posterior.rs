//! Least squares as a Gaussian process: joint covariances of new targets, and the marginal
//! likelihood.

use faer::Accum;
use faer::linalg::matmul::matmul;
use ndarray::{Array1, Array2, ArrayView2};

use super::AnyStream;
use crate::basis::AnyBasis;
use crate::error::{Error, Result};
use crate::kernel::PointSet;
use crate::learner::{AsLearner as _, Covariance};
use crate::linalg::{Panel, from_array, to_array};
use crate::model::{Introspection as _, Model as _};

impl AnyStream {
    /// Covariance of the targets of rows `x` (n, d) in units of the noise variance (n, n), the same
    /// for all outputs: `I + Z P Z' + (K - Z Z') / lambda`, and the variance of the intercept. Its
    /// diagonal is the squared deviation of
    /// [`predict_with_deviation`](crate::model::Uncertainty::predict_with_deviation). An error for
    /// learners without deviations. O(n m^2 + n^2 (m + d)).
    pub fn posterior_covariance(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        let coordinates = self.transform(x)?;
        let Some(covariance) = self.learner().as_learner().covariance() else {
            return Err(Error::NoDeviation);
        };
        let Covariance { regularization, curvature, .. } = covariance;
        let mut inverse = covariance.inverse.clone();
        if coordinates.ncols() > inverse.dim() {
            // Coordinates in which all rows were zero have their prior.
            inverse
                .grow(coordinates.ncols(), if regularization > 0.0 { regularization } else { f64::INFINITY });
        }
        let z = from_array(coordinates.view());
        let mut products = Panel::default();
        inverse.multiply_rows(z.as_ref(), &mut products, &mut Panel::default());
        let n = x.nrows();
        let mut out = faer::Mat::<f64>::zeros(n, n);
        matmul(out.as_mut(), Accum::Replace, products.as_faer(), z.transpose(), curvature, faer::Par::Seq);
        if let Some((ones, known)) = covariance.constant {
            let beyond: Vec<f64> = coordinates
                .rows()
                .into_iter()
                .map(|z| 1.0 - z.iter().zip(ones).map(|(z, weight)| z * weight).sum::<f64>())
                .collect();
            let share = curvature / known;
            for (j, of_j) in beyond.iter().enumerate() {
                beyond.iter().enumerate().for_each(|(i, of_i)| out[(i, j)] += share * of_i * of_j);
            }
        }
        let basis = self.basis();
        // For random features only the residual of each row is known.
        let projects = !matches!(basis, AnyBasis::Fourier(_) | AnyBasis::Sketched(_));
        let has_kernel = n > 0 && basis.similarity(&x.row(0).to_vec()).is_some();
        if regularization > 0.0 && has_kernel {
            let share = curvature / regularization;
            if projects {
                matmul(out.as_mut(), Accum::Add, z.as_ref(), z.transpose(), -share, faer::Par::Seq);
                let kernel = basis.kernel().resolve(x.ncols())?;
                let similarities = kernel.similarities_of_rows(&PointSet::gather(x), x);
                out += faer::Scale(share) * similarities.as_faer();
            } else {
                for (i, (x, z)) in x.rows().into_iter().zip(coordinates.rows()).enumerate() {
                    let left = basis.similarity(&x.to_vec()).unwrap_or(0.0) - z.dot(&z);
                    out[(i, i)] += share * left.max(0.0);
                }
            }
        }
        let mut out = to_array(out.as_ref());
        // Symmetric to the bit, and with no less than the noise.
        for i in 0..n {
            for j in 0..i {
                let mean = 0.5 * (out[(i, j)] + out[(j, i)]);
                (out[(i, j)], out[(j, i)]) = (mean, mean);
            }
            out[(i, i)] = 1.0 + out[(i, i)].max(0.0);
        }
        Ok(out)
    }

    /// Logarithm of the marginal likelihood of the targets learned, for the noise that maximizes
    /// it, of each output (p): `sum_t log N(y_t; prediction, noise (1 / weight + leverage))` over
    /// the prequential predictions, by the chain rule. With centred targets it is conditional on
    /// the first row. `None` for learners without deviations or with forgetting, and before the
    /// second row.
    #[must_use]
    pub fn log_marginal_likelihood(&self) -> Option<Array1<f64>> {
        let learner = self.learner().as_learner();
        let outputs = self.n_outputs()?;
        learner.covariance().filter(|covariance| covariance.forgetting >= 1.0)?;
        let evidence = self.head.errors.evidence();
        (0..outputs).map(|c| evidence.log_likelihood(c, learner.centers())).collect()
    }
}
