//! Reduced-rank regression: the operator of limited rank that fits the learned pairs best.

use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Mat, MatRef, Par, Side};

use super::model::Koopman;
use super::products::product;
use super::spec::KoopmanSpec;
use crate::error::{Error, Result, in_range};
use crate::interrupt::aside;
use crate::learner::Learner as _;
use crate::linalg::Panel;

impl KoopmanSpec {
    pub(super) fn check_rank(&self, is_least_squares: bool) -> Result<()> {
        let Some(rank) = self.reduced_rank else { return Ok(()) };
        in_range("reduced_rank", rank, rank > 0, "at least 1")?;
        in_range("reduced_rank", rank, is_least_squares, "None for gradient descent; take ridge")?;
        Ok(())
    }
}

impl Koopman {
    /// The weights (stored, d + next) of the state and the coordinates of `x+`: the learner's, or with
    /// [`reduced_rank`](KoopmanSpec::reduced_rank) those of the best operator of that rank, which are
    /// cached until the operator changes. `O(m^3)`
    pub(super) fn estimate(&self) -> Result<&Panel> {
        let Some(rank) = self.spec.reduced_rank else { return Ok(self.operator.estimate()) };
        let kept = &self.derived.reduced;
        if let Some(known) = kept.get() {
            return Ok(known);
        }
        let ridge = self.operator.least_squares()?;
        let mut inverse = ridge.inverse().clone();
        inverse.grow(ridge.dim(), ridge.spec().regularization);
        let (inverse, weights) = (inverse.matrix(), ridge.weights().as_faer().to_owned());
        let inverse = inverse.as_faer().to_owned();
        let width = self.n_features().unwrap_or(0);
        let new = aside(move || {
            let best = best_of_rank(inverse.as_ref(), weights, width, rank)?;
            let mut panel = Panel::zeros(best.nrows(), best.ncols());
            panel.as_faer_mut().copy_from(best);
            Ok::<_, Error>(panel)
        })??;
        Ok(kept.get_or_init(|| new))
    }
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
    let failed = |what: &str| Error::Spectrum { reason: format!("{what}; a larger regularization may help") };
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
