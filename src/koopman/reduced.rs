//! Operators of limited rank: reduced-rank regression and total least squares.

use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Mat, MatRef, Par, Side};

use super::model::{Koopman, kept};
use super::products::product;
use super::spec::RankSpec;
use super::sums::PairSums;
use crate::error::{Error, Result};
use crate::interrupt::aside;
use crate::learner::Learner as _;
use crate::linalg::Panel;

impl Koopman {
    /// The weights (stored, d + next) of the state and the coordinates of `x+`: the learner's, or those
    /// of limited [rank](super::KoopmanSpec::rank), which are cached until the operator changes. `O(m^3)`
    pub(super) fn estimate(&self) -> Result<&Panel> {
        let Some(rank) = self.spec.rank else { return Ok(self.operator.estimate()) };
        kept(&self.derived.reduced, || {
            let dictionaries = self.dictionaries.as_ref().ok_or(Error::NothingLearned)?;
            let width = dictionaries.width();
            let new = match rank {
                RankSpec::Reduced { rank } => {
                    let ridge = self.operator.least_squares()?;
                    let (inverse, weights) =
                        (ridge.whole_inverse().matrix(), ridge.weights().as_faer().to_owned());
                    let inverse = inverse.as_faer().to_owned();
                    aside(move || best_of_rank(inverse.as_ref(), weights, width, rank))??
                }
                RankSpec::TotalLeastSquares { rank } => {
                    let sums = self.operator.sums().ok_or(Error::NothingLearned)?.whole();
                    // A state as a function of its coordinates: as the kernel interpolates the stored ones.
                    let next = dictionaries.dictionary_next();
                    let mut states = next.points().panel().as_faer().to_owned();
                    next.factor().solve_block(states.as_mut());
                    aside(move || total_least_squares(&sums, states.as_ref(), rank))??
                }
            };
            let mut panel = Panel::zeros(new.nrows(), new.ncols());
            panel.as_faer_mut().copy_from(new);
            Ok(panel)
        })
    }
}

fn failed(what: &str) -> Error {
    Error::Spectrum { reason: format!("{what}; a larger regularization or a smaller rank may help") }
}

/// Weights of limited rank (m, d + m') that minimize the regularized squared error of the coordinates.
///
/// With `P = L L'` the inverse of the regularized Gram matrix and `W = P sum z s'` the full weights of
/// the coordinates, the error of other weights exceeds the least by `|L^-1 (W - other)|^2`, so the best
/// of rank r are `L U U' L^-1 W` with the leading left singular vectors `U` of `L^-1 W`. The same
/// projection applies to the weights of the state.
///
/// V. Kostic et al., "Learning dynamical systems via Koopman operator regression in reproducing kernel Hilbert
/// spaces", 2022, theorem 1.
fn best_of_rank(inverse: MatRef<'_, f64>, weights: Mat<f64>, width: usize, rank: usize) -> Result<Mat<f64>> {
    let m = weights.nrows();
    if rank >= m {
        return Ok(weights);
    }
    let factor = inverse
        .llt(Side::Lower)
        .map_err(|_| failed("the matrix of the stored states is indefinite by rounding"))?;
    let lower = factor.L();
    let mut whitened = weights;
    solve_lower_triangular_in_place(lower, whitened.as_mut(), Par::Seq);
    let coordinates = whitened.subcols(width, whitened.ncols() - width);
    let left = coordinates.thin_svd().map_err(|_| failed("the iteration of the singular values failed"))?;
    let left = left.U().subcols(0, rank);
    let inner = product(left.transpose(), whitened.as_ref());
    Ok(product(lower, product(left, inner.as_ref()).as_ref()))
}

/// Weights of limited rank (m, d + m) from `states` (m, d), the state as a function of its coordinates.
///
/// The leading `r` eigenvectors `U = [U0; U1]` of the Gram matrix of `[z; s]` are the directions in which
/// both states of the pairs vary together; noise of the observations, which moves both alike, is left out.
/// On the pairs projected to them `s = U1 U0^+ z` exactly.
///
/// M. Hemati, C. Rowley, E. Deem, L. Cattafesta, "De-biasing the dynamic mode decomposition for applied
/// Koopman spectral analysis of noisy datasets", Theoretical and Computational Fluid Dynamics, 2017.
fn total_least_squares(sums: &PairSums, states: MatRef<'_, f64>, rank: usize) -> Result<Mat<f64>> {
    let m = states.nrows();
    let rank = rank.min(m);
    let (now, across, later) = (sums.gram(m), sums.cross(m), sums.gram_next(m));
    let joint = Mat::from_fn(2 * m, 2 * m, |i, j| match (i < m, j < m) {
        (true, true) => now[(i, j)],
        (true, false) => across[(i, j - m)],
        (false, true) => across[(j, i - m)],
        (false, false) => later[(i - m, j - m)],
    });
    let eigen = joint
        .self_adjoint_eigen(Side::Lower)
        .map_err(|_| failed("the iteration of the eigenvalues failed"))?;
    // By rising eigenvalue.
    let leading = eigen.U().subcols(2 * m - rank, rank);
    let (here, there) = (leading.subrows(0, m), leading.subrows(m, m));
    let svd = here.thin_svd().map_err(|_| failed("the iteration of the singular values failed"))?;
    let sizes = svd.S().column_vector();
    if sizes[rank - 1] <= LEAST * sizes[0] {
        return Err(failed("the states vary in fewer directions than the rank"));
    }
    // (U1 U0^+)' = U0^+' U1'
    let scaled = Mat::from_fn(m, rank, |i, j| svd.U()[(i, j)] / sizes[j]);
    let inner = product(svd.V().transpose(), there.transpose());
    let coordinates = product(scaled.as_ref(), inner.as_ref());
    let of_states = product(coordinates.as_ref(), states);
    let width = states.ncols();
    Ok(Mat::from_fn(m, width + m, |i, j| match j.checked_sub(width) {
        Some(j) => coordinates[(i, j)],
        None => of_states[(i, j)],
    }))
}

/// Directions of the joint states that are less than this share of the largest in `z` are rounding.
const LEAST: f64 = 1e-10;
