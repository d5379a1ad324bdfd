//! Singular values and functions of the operator, from the sums over the learned pairs.

use std::sync::Arc;

use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{Mat, MatRef, Par, Side};
use ndarray::{Array2, ArrayView2, Axis};

use super::blocks::{BLOCK, blocks_of, check_count};
use super::learned::no_sums;
use super::model::Koopman;
use super::products::product;
use crate::error::{Error, Result};
use crate::interrupt::aside;
use crate::linalg::write_array;
use crate::threads::ask_each_block;

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

impl Koopman {
    fn singular(&self) -> Result<Arc<Singular>> {
        let kept = &self.derived.singular;
        if let Some(known) = kept.get() {
            return Ok(Arc::clone(known));
        }
        let dictionaries = self.dictionaries.as_ref().ok_or(Error::NothingLearned)?;
        let whole = self.operator.sums().ok_or_else(no_sums)?.whole();
        let points = dictionaries.dictionary().factor().factor().as_faer().to_owned();
        let regularization = self.operator.least_squares()?.spec().regularization;
        let new = aside(move || {
            let (m, weight) = (points.nrows(), whole.weight());
            let totals = whole.totals(m);
            let mean = |j: usize| Mat::from_fn(1, m, |_, i| totals[(i, j)] / weight);
            let moments = Moments {
                means: [mean(0), mean(1)],
                now: whole.gram(m),
                across: whole.cross(m),
                later: whole.gram_next(m),
                weight,
                regularization,
            };
            Singular::of(moments, points.as_ref())
        })??;
        Ok(Arc::clone(kept.get_or_init(|| Arc::new(new))))
    }

    /// Singular values of the operator, as an operator from the functions of `x+` to those of `x`, square
    /// integrable over the learned pairs; by descending size, the first 1. Needs sums over the pairs
    /// ([`n_blocks`](super::KoopmanSpec::n_blocks)). `O(m^3)`, cached until the operator changes.
    pub fn singular_values(&self) -> Result<Vec<f64>> {
        self.singular().map(|found| found.values.clone())
    }

    /// Values of the first `k` singular functions at rows `x` (n, d): (n, k), those of the state that
    /// predict or, `later`, those of the next state that are predicted best.
    pub fn singular_functions(&self, x: ArrayView2<'_, f64>, k: usize, later: bool) -> Result<Array2<f64>> {
        let dictionaries = self.ready("X", x)?;
        let singular = self.singular()?;
        let k = check_count("k", k, singular.values.len())?;
        let side = if later { &singular.later } else { &singular.now };
        let mut out = Array2::zeros((x.nrows(), k));
        ask_each_block(blocks_of(x).zip(out.axis_chunks_iter_mut(Axis(0), BLOCK)), |(rows, out)| {
            let z = dictionaries.dictionary().coordinates(rows);
            write_array(side.at(z.as_faer(), k).as_ref(), out);
        })?;
        Ok(out)
    }
}

/// Sums over the pairs, as in [`PairSums`](super::sums::PairSums).
struct Moments {
    means: [Mat<f64>; 2],
    now: Mat<f64>,
    across: Mat<f64>,
    later: Mat<f64>,
    weight: f64,
    regularization: f64,
}

impl Singular {
    /// With the Cholesky factors `L L'` of the regularized covariances of both states, the singular
    /// vectors of `L^-1 cov(z, s) L+^-T`.
    fn of(mut moments: Moments, points: MatRef<'_, f64>) -> Result<Self> {
        let Moments { weight, regularization, .. } = moments;
        let [mean, mean_next] = &moments.means;
        for (sum, left, right, ridge) in [
            (&mut moments.now, mean, mean, regularization),
            (&mut moments.across, mean, mean_next, 0.0),
            (&mut moments.later, mean_next, mean_next, regularization),
        ] {
            for j in 0..sum.ncols() {
                for i in 0..sum.nrows() {
                    sum[(i, j)] = sum[(i, j)] / weight - left[(0, i)] * right[(0, j)];
                }
                sum[(j, j)] += ridge / weight;
            }
        }
        let failed = |what: &str| Error::Spectrum { reason: format!("{what}; use more regularization") };
        let factor = |of: &Mat<f64>| {
            of.llt(Side::Lower).map_err(|_| failed("the covariance of the stored states is singular"))
        };
        let (now, later) = (factor(&moments.now)?, factor(&moments.later)?);
        let mut across = moments.across;
        solve_lower_triangular_in_place(now.L(), across.as_mut(), Par::Seq);
        solve_lower_triangular_in_place(later.L(), across.as_mut().transpose_mut(), Par::Seq);
        let svd = across.svd().map_err(|_| failed("the iteration of the singular values failed"))?;
        let mut out = Self {
            values: std::iter::once(1.0).chain(svd.S().column_vector().iter().map(|s| s.min(1.0))).collect(),
            now: Variates { vectors: svd.U().to_owned(), mean: moments.means[0].clone() },
            later: Variates { vectors: svd.V().to_owned(), mean: moments.means[1].clone() },
        };
        for (side, factor) in [(&mut out.now, now), (&mut out.later, later)] {
            solve_upper_triangular_in_place(factor.L().transpose(), side.vectors.as_mut(), Par::Seq);
        }
        out.fix_signs(points);
        Ok(out)
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
