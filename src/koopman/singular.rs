//! Singular values and functions of the operator, from the sums over the learned pairs.

use faer::{Mat, MatRef, Side};

use super::products::product;
use super::sums::PairSums;
use crate::error::{Error, Result};
use crate::linalg::{resolution, spanned};

/// Singular values by descending size, and the functions of `x` and of `x+` that belong to them.
///
/// The first are 1 and the constant function. The others have mean 0 and mean square 1 over the learned
/// pairs, but for regularization; the functions of `x` are uncorrelated, those of `x+` too, and the
/// correlation between the two that belong to one value is that value. They are the best predicted
/// functions and their predictors (canonical variates).
///
/// H. Wu, F. Noe, "Variational approach for learning Markov processes from time series data", Journal of
/// Nonlinear Science, 2020, section 2.2.
#[derive(Clone, Debug)]
pub(super) struct Singular {
    values: Vec<f64>,
    now: Variates,
    later: Variates,
}

/// The functions `vectors' (z - mean)` of one of the two states.
#[derive(Clone, Debug)]
struct Variates {
    vectors: Mat<f64>,
    mean: Mat<f64>,
}

impl Variates {
    /// Values of the first `k` functions, the constant one included, at the rows of `z`.
    fn at(&self, z: MatRef<'_, f64>, k: usize) -> Mat<f64> {
        let vectors = self.vectors.get(.., ..k - 1);
        let (values, mean) = (product(z, vectors), product(self.mean.as_ref(), vectors));
        Mat::from_fn(z.nrows(), k, |i, j| match j.checked_sub(1) {
            Some(j) => values[(i, j)] - mean[(0, j)],
            None => 1.0,
        })
    }
}

impl Singular {
    /// The singular vectors of `W' cov(z, s) W+`, where `W'z` and `W+'s` are white in the directions in which the states
    /// vary by more than rounding, but for the regularization of the operator. Rows of `points` are the coordinates of
    /// the stored states. O(m^3)
    pub fn of(sums: &PairSums, regularization: f64, points: MatRef<'_, f64>) -> Result<Self> {
        let (m, weight) = (points.nrows(), sums.weight());
        let totals = sums.totals(m);
        let covariance = |mut sum: Mat<f64>, left: usize, right: usize| {
            for j in 0..m {
                for i in 0..m {
                    let means = totals[(i, left)] / weight * (totals[(j, right)] / weight);
                    sum[(i, j)] = sum[(i, j)] / weight - means;
                }
            }
            sum
        };
        let functions = spanned(points);
        let white = |sum: Mat<f64>, which: usize| {
            let least = resolution(m) * sum.diagonal().column_vector().sum() / weight;
            let covariance = covariance(sum, which, which);
            whitening(covariance.as_ref(), functions.as_ref(), least, regularization / weight)
        };
        let (now, later) = (white(sums.gram(m), 0)?, white(sums.gram_next(m), 1)?);
        let across = covariance(sums.cross(m), 0, 1);
        let across = product(now.transpose(), product(across.as_ref(), later.as_ref()).as_ref());
        let svd = across.thin_svd().map_err(|_| failed("the iteration of the singular values failed"))?;
        let variates = |white: &Mat<f64>, vectors: MatRef<'_, f64>, j: usize| Variates {
            vectors: product(white.as_ref(), vectors),
            mean: Mat::from_fn(1, m, |_, i| totals[(i, j)] / weight),
        };
        let mut out = Self {
            values: std::iter::once(1.0)
                .chain(svd.S().column_vector().iter().map(|s| if *s > 1.0 { 1.0 } else { *s }))
                .collect(),
            now: variates(&now, svd.U(), 0),
            later: variates(&later, svd.V(), 1),
        };
        if out.values.iter().any(|value| !value.is_finite()) {
            return Err(failed("its sums over pairs overflow"));
        }
        out.fix_signs(points);
        Ok(out)
    }

    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Values (b, k) of the first `k` functions of `x`, or of `x+`, at the coordinates `z` (b, m).
    pub fn at(&self, z: MatRef<'_, f64>, k: usize, later: bool) -> Mat<f64> {
        if later { self.later.at(z, k) } else { self.now.at(z, k) }
    }

    /// The mean of each function of `x` over the stored states, with weights 1, 1/2, 1/4, ..., becomes
    /// positive: stored states stay, so that signs are constant along the stream.
    fn fix_signs(&mut self, points: MatRef<'_, f64>) {
        let values = self.now.at(points, self.values.len());
        for j in 0..self.now.vectors.ncols() {
            let mean = values.col(j + 1).iter().rev().fold(0.0, |sum, value| 0.5 * sum + value);
            if mean < 0.0 {
                for vectors in [&mut self.now.vectors, &mut self.later.vectors] {
                    vectors.col_mut(j).iter_mut().for_each(|v| *v = -*v);
                }
            }
        }
    }
}

fn failed(what: &str) -> Error {
    Error::Spectrum { reason: format!("{what}; use more regularization") }
}

/// The map `W` (m, r) to white coordinates, `W'(covariance + added I) W = I`, in the directions of `functions` (all, if
/// `None`) with a variance above `least`.
fn whitening(
    covariance: MatRef<'_, f64>,
    functions: Option<&Mat<f64>>,
    least: f64,
    added: f64,
) -> Result<Mat<f64>> {
    let inner = match functions {
        None => covariance.to_owned(),
        Some(basis) => product(basis.transpose(), product(covariance, basis.as_ref()).as_ref()),
    };
    let eigen = inner
        .self_adjoint_eigen(Side::Lower)
        .map_err(|_| failed("the iteration of the eigenvalues of a covariance failed"))?;
    let (values, vectors) = (eigen.S().column_vector(), eigen.U());
    // By rising value.
    let first = values.iter().take_while(|value| **value <= least).count();
    let white = Mat::from_fn(inner.nrows(), inner.nrows() - first, |i, j| {
        vectors[(i, first + j)] / (values[first + j] + added).sqrt()
    });
    Ok(match functions {
        None => white,
        Some(basis) => product(basis.as_ref(), white.as_ref()),
    })
}
