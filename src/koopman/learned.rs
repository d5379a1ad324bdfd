//! In-sample statistics: moments and residuals of the eigenpairs, influences of blocks, singular functions.

use std::sync::Arc;

use faer::{Mat, c64};
use ndarray::{Array1, Array2, ArrayView2, Axis};

use super::blocks::{BLOCK, blocks_of, check_count};
use super::model::{Koopman, kept};
use super::products::{complex_product, real_times_complex};
use super::singular::Singular;
use super::spectrum::Spectrum;
use super::sums::PairSums;
use crate::error::{Error, Result};
use crate::interrupt::aside;
use crate::linalg::{to_array, write_array};
use crate::threads::ask_each_block;

/// Means over the learned pairs of the first eigenfunctions `f` at `x` and at `x+`, and of their
/// products, the first factor conjugated, with weights that decay with forgetting.
#[derive(Clone, Debug)]
pub struct Moments {
    /// Means of `f(x)` and of `f(x+)`, one a row (2, k).
    pub means: Array2<c64>,
    /// Mean of `f(x)* f(x)` (k, k).
    pub now: Array2<c64>,
    /// Mean of `f(x)* f(x+)` (k, k).
    pub across: Array2<c64>,
    /// Mean of `f(x+)* f(x+)` (k, k).
    pub later: Array2<c64>,
}

/// Influence of blocks of the stream on the first eigenvalues.
#[derive(Clone, Debug)]
pub struct Influences {
    /// Decrease of each eigenvalue without a block, to first order, minus the mean over blocks
    /// (blocks, k).
    pub on_values: Array2<c64>,
    /// The share of each block in all pairs.
    pub shares: Array1<f64>,
    /// Increase of each eigenvalue without regularization, to first order (k,).
    pub of_regularization: Array1<c64>,
    /// Number of pairs, at most as many as count with forgetting.
    pub pairs: f64,
    /// Degrees of freedom that the regularized fit takes from them: the trace of its hat matrix.
    pub rank: f64,
}

impl Koopman {
    /// Means over the pairs learned of the first `k` eigenfunctions and their products. O(m^2 (k + blocks))
    ///
    /// In sample: residuals and scores derived from these means are better than on other pairs, by
    /// about the number of stored states over that of pairs.
    pub fn moments(&self, k: usize) -> Result<Moments> {
        let spectrum = self.spectrum()?;
        let k = check_count("k", k, spectrum.values().len())?;
        let whole = self.operator.sums().ok_or_else(no_sums)?.whole();
        let (m, v) = (spectrum.right().nrows(), spectrum.right().get(.., ..k));
        let weight = whole.weight();
        let mean = |sums: Mat<f64>| {
            let half = real_times_complex(sums.as_ref(), v);
            to_array(complex_product(v.adjoint().to_owned().as_ref(), half.as_ref()).as_ref())
                .mapv(|sum| sum / weight)
        };
        let means = real_times_complex(whole.totals(m).transpose(), v);
        let moments = Moments {
            means: to_array(means.as_ref()).mapv(|sum| sum / weight),
            now: mean(whole.gram(m)),
            across: mean(whole.cross(m)),
            later: mean(whole.gram_next(m)),
        };
        let Moments { means, now, across, later } = &moments;
        let sound = |all: &Array2<c64>| all.iter().all(|mean| mean.re.is_finite() && mean.im.is_finite());
        if [means, now, across, later].into_iter().all(sound) { Ok(moments) } else { Err(overflow()) }
    }

    /// Residuals of the first `k` eigenpairs on the pairs learned: the norm of `f(x+) - value f(x)`
    /// relative to that of `f(x)` (k,). For a stochastic system a true pair has `sqrt(1 -
    /// |value|^2)`.
    ///
    /// M. Colbrook, A. Townsend, "Rigorous data-driven computation of spectral properties of Koopman operators for dynamical
    /// systems", 2024, equation (3.7).
    pub fn learned_residuals(&self, k: usize) -> Result<Array1<f64>> {
        let moments = self.moments(k)?;
        let spectrum = self.spectrum()?;
        Ok(Array1::from_shape_fn(moments.now.nrows(), |j| {
            let value = spectrum.values()[j];
            let of = |mean: &Array2<c64>| mean[[j, j]];
            let size = of(&moments.now).re;
            let lost = of(&moments.later).re - 2.0 * (value.conj() * of(&moments.across)).re
                + value.norm_sqr() * size;
            (lost.max(0.0) / size).sqrt()
        }))
    }

    /// Influence of each block of the stream on the first `k` eigenvalues. O(m^2 k) per block.
    ///
    /// With the left and right eigenvectors `w` and `v` of a value it is `w' P (sum z s' - value
    /// sum z z') v / w'v`, over the pairs of the block, minus its share of that of all pairs: the
    /// infinitesimal jackknife (L. Jaeckel, 1972) over blocks, which accounts for the correlation
    /// of pairs close in time. That of all pairs is the effect of regularization on the value,
    /// since the eigenvectors are those of the regularized sums.
    pub fn influences(&self, k: usize) -> Result<Influences> {
        if self.spec.rank.is_some() {
            let reason = "errors of estimation are those of an operator of full rank".to_owned();
            return Err(Error::Spectrum { reason });
        }
        let spectrum = self.spectrum()?;
        let k = check_count("k", k, spectrum.values().len())?;
        let sums = self.operator.sums().ok_or_else(no_sums)?;
        let blocks = sums.blocks();
        if blocks.len() < FEWEST {
            let reason = format!(
                "errors of estimation need {FEWEST} blocks of the stream or more, and there are {}",
                blocks.len()
            );
            return Err(Error::Spectrum { reason });
        }
        let duals = self.duals_of_sums(&spectrum, k)?;
        let weight: f64 = blocks.iter().map(PairSums::weight).sum();
        let shares: Array1<f64> = blocks.iter().map(|block| block.weight() / weight).collect();
        let (m, v) = (duals.ncols(), spectrum.right().get(.., ..k));
        let mut on_values = Array2::from_elem((blocks.len(), k), c64::new(0.0, 0.0));
        for (block, mut row) in blocks.iter().zip(on_values.rows_mut()) {
            let now = real_times_complex(block.gram(m).as_ref(), v);
            let mut gap = real_times_complex(block.cross(m).as_ref(), v);
            for j in 0..k {
                for i in 0..m {
                    gap[(i, j)] -= spectrum.values()[j] * now[(i, j)];
                    row[j] += duals[(j, i)] * gap[(i, j)];
                }
            }
        }
        let of_all = on_values.sum_axis(ndarray::Axis(0));
        for (mut row, share) in on_values.rows_mut().into_iter().zip(&shares) {
            row.zip_mut_with(&of_all, |one, all| *one -= all * *share);
        }
        let (pairs, rank) = self.degrees(blocks, m)?;
        Ok(Influences { on_values, shares, of_regularization: of_all, pairs, rank })
    }

    /// Number of pairs, and the trace of the hat matrix, `P sum z z'`.
    fn degrees(&self, blocks: &[PairSums], m: usize) -> Result<(f64, f64)> {
        let ridge = self.operator.least_squares()?;
        let (inverse, keep) = (ridge.whole_inverse().matrix(), ridge.spec().forgetting);
        let inverse = inverse.as_faer();
        let mut rank = 0.0;
        for block in blocks {
            let gram = block.gram(m);
            rank += (0..m)
                .flat_map(|j| (0..m).map(move |i| (i, j)))
                .map(|at| inverse[at] * gram[at])
                .sum::<f64>();
        }
        let count = blocks.iter().map(PairSums::count).sum::<u64>() as f64;
        // Kish's number of pairs of equal weight.
        let remembered = if keep < 1.0 { (1.0 + keep) / (1.0 - keep) } else { f64::INFINITY };
        Ok((count.min(remembered), rank.clamp(0.0, m as f64)))
    }

    /// Duals of the first `k` eigenfunctions times `P`: derivative of the values with respect to
    /// the sums, as rows (k, m).
    fn duals_of_sums(&self, spectrum: &Arc<Spectrum>, k: usize) -> Result<Mat<c64>> {
        let duals = spectrum.duals(spectrum.whole(k))?;
        let ridge = self.operator.least_squares()?;
        let inverse = ridge.whole_inverse().matrix();
        Ok(real_times_complex(inverse.as_faer(), duals.transpose()).subcols(0, k).transpose().to_owned())
    }
}

impl Koopman {
    fn singular(&self) -> Result<Arc<Singular>> {
        let singular = kept(&self.derived.singular, || {
            let dictionaries = self.dictionaries.as_ref().ok_or(Error::NothingLearned)?;
            let whole = self.operator.sums().ok_or_else(no_sums)?.whole();
            let points = dictionaries.dictionary().factor().factor().as_faer().to_owned();
            let regularization = self.operator.least_squares()?.spec().regularization;
            Ok(Arc::new(aside(move || Singular::of(&whole, regularization, points.as_ref()))??))
        });
        singular.map(Arc::clone)
    }

    /// Singular values of the operator, as an operator from the functions of `x+` to those of `x`, square
    /// integrable over the learned pairs; by descending size, the first 1. Needs sums over the pairs
    /// ([`n_blocks`](super::KoopmanSpec::n_blocks)). `O(m^3)`, cached until the operator changes.
    pub fn singular_values(&self) -> Result<Vec<f64>> {
        self.singular().map(|found| found.values().to_vec())
    }

    /// Values of the first `k` singular functions at rows `x` (n, d): (n, k), those of the state that
    /// predict or, `later`, those of the next state that are predicted best.
    pub fn singular_functions(&self, x: ArrayView2<'_, f64>, k: usize, later: bool) -> Result<Array2<f64>> {
        let dictionaries = self.ready("X", x)?;
        let singular = self.singular()?;
        let k = check_count("k", k, singular.values().len())?;
        let mut out = Array2::zeros((x.nrows(), k));
        ask_each_block(blocks_of(x).zip(out.axis_chunks_iter_mut(Axis(0), BLOCK)), |(rows, out)| {
            let z = dictionaries.dictionary().coordinates(rows);
            write_array(singular.at(z.as_faer(), k, later).as_ref(), out);
        })?;
        if out.iter().all(|value| value.is_finite()) { Ok(out) } else { Err(overflow()) }
    }
}

/// Fewest blocks for standard errors.
const FEWEST: usize = 4;

fn overflow() -> Error {
    Error::Spectrum { reason: "its sums over pairs overflow".to_owned() }
}

fn no_sums() -> Error {
    Error::Spectrum { reason: "sums over the pairs learned are kept only with n_blocks above 0".to_owned() }
}
