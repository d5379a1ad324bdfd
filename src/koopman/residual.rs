//! Residuals of eigenpairs on held-out pairs.

use faer::linalg::solvers::Solve as _;
use faer::{Mat, Side};
use ndarray::{Array1, ArrayView2, s};

use super::blocks::{check_count, for_blocks};
use super::model::Koopman;
use super::products::{add_product, product, real_times_complex};
use crate::error::{Error, Result};
use crate::interrupt::aside;
use crate::kernel::PointSet;
use crate::linalg::Panel;
use crate::validate::check_lengths;

/// Kind of residual.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Residual {
    /// Norm of `K phi - value phi`: the part of `phi(x+) - value phi(x)` that the state explains.
    #[default]
    Projected,
    /// Norm of `phi(x+) - value phi(x)` itself: for deterministic systems; with noise a true
    /// eigenfunction has `sqrt(1 - |value|^2)`.
    Raw,
}

impl Koopman {
    /// Residuals of the first `k` eigenpairs on pairs `x`, `next` (n, d) that were not learned, relative
    /// to the root mean square of the eigenfunction there: 0 is perfect. (k,)
    ///
    /// The projected one regresses `phi(x+) - value phi(x)` on the coordinates of `x` and subtracts
    /// the explained variance expected by chance, so it is 0 for eigenfunctions that these pairs
    /// cannot distinguish from true ones; use several times more pairs than stored points.
    pub fn residuals(
        &self,
        x: ArrayView2<'_, f64>,
        next: ArrayView2<'_, f64>,
        k: usize,
        kind: Residual,
    ) -> Result<Array1<f64>> {
        check_lengths(x, "X_next", next)?;
        let dictionaries = self.ready("X", x)?;
        let spectrum = self.spectrum()?;
        self.ready("X_next", next)?;
        let k = check_count("k", k, spectrum.values().len())?;
        let (m, n) = (dictionaries.sizes().0, x.nrows() as f64);
        let mut gram = Mat::<f64>::zeros(m, m);
        let (mut cross_re, mut cross_im) = (Mat::<f64>::zeros(m, k), Mat::<f64>::zeros(m, k));
        let (mut size, mut lost) = (Array1::<f64>::zeros(k), Array1::<f64>::zeros(k));
        for_blocks(x, |at, rows| {
            let after = next.slice(s![at..at + rows.nrows(), ..]);
            let z = dictionaries.dictionary().coordinates(rows);
            let z_next = dictionaries.dictionary().coordinates(after);
            let now = spectrum.at(z.as_faer(), k);
            let mut gap = spectrum.at(z_next.as_faer(), k);
            for j in 0..k {
                for i in 0..rows.nrows() {
                    gap[(i, j)] -= spectrum.values()[j] * now[(i, j)];
                    size[j] += now[(i, j)].norm_sqr();
                    lost[j] += gap[(i, j)].norm_sqr();
                }
            }
            if kind == Residual::Projected {
                let z = z.as_faer().transpose();
                add_product(&mut gram, z, z.transpose());
                let cross = real_times_complex(z, gap.as_ref());
                for j in 0..k {
                    for i in 0..m {
                        cross_re[(i, j)] += cross[(i, j)].re;
                        cross_im[(i, j)] += cross[(i, j)].im;
                    }
                }
            }
            Ok(())
        })?;
        if let Some(j) = size.iter().position(|&size| size <= 0.0 || size.is_nan()) {
            let reason = format!("eigenfunction {j} is zero at every one of the {n} rows");
            return Err(Error::Spectrum { reason });
        }
        if kind == Residual::Raw {
            return Ok((lost / size).mapv(f64::sqrt));
        }
        let (freedom, explained) = aside(move || explained(gram, &cross_re, &cross_im))??;
        Ok(Array1::from_shape_fn(k, |j| {
            let by_chance = freedom / n * (lost[j] - explained[j]).max(0.0);
            ((explained[j] - by_chance).max(0.0) / size[j]).sqrt()
        }))
    }
}

impl Koopman {
    /// Mean of `|phi(x+) - E[phi(x+) | x]|^2` over pairs `x`, `next` (n, d), where `phi` are the features of the
    /// kernel, of which stored states explain a part: the risk of the operator as a regression. From 0 to, for a
    /// kernel with `k(x, x) = 1` and no prediction at all, 1; 0 without pairs.
    ///
    /// V. Kostic et al., "Learning dynamical systems via Koopman operator regression in reproducing kernel
    /// Hilbert spaces", 2022, equation (6).
    pub fn risk(&self, x: ArrayView2<'_, f64>, next: ArrayView2<'_, f64>) -> Result<f64> {
        check_lengths(x, "X_next", next)?;
        let dictionaries = self.ready("X", x)?;
        self.check_states("X_next", next, Some(dictionaries.width()))?;
        let c = self.coordinate_weights(dictionaries)?;
        let mut sum = 0.0;
        for_blocks(x, |at, rows| {
            let after = PointSet::gather(next.slice(s![at..at + rows.nrows(), ..]));
            let z = dictionaries.dictionary().coordinates(rows);
            let expected = product(z.as_faer(), c);
            let mut there = Panel::default();
            let seen = dictionaries.dictionary_next().project_block(&after, &mut there);
            for (i, seen) in seen.iter().enumerate() {
                sum += seen.residual.max(0.0);
                sum += (0..there.cols()).map(|j| (there.get(i, j) - expected[(i, j)]).powi(2)).sum::<f64>();
            }
            Ok(())
        })?;
        Ok(sum / x.nrows().max(1) as f64)
    }
}

/// Degrees of freedom of the regression on coordinates, and for each function (a column of `cross`)
/// the explained part of its square. O(m^3)
fn explained(gram: Mat<f64>, cross_re: &Mat<f64>, cross_im: &Mat<f64>) -> Result<(f64, Vec<f64>)> {
    let (m, k) = (gram.nrows(), cross_re.ncols());
    let small = 1e-6 * (0..m).map(|i| gram[(i, i)]).sum::<f64>() / m as f64;
    let mut regular = gram.clone();
    (0..m).for_each(|i| regular[(i, i)] += small);
    let factor = regular
        .llt(Side::Lower)
        .map_err(|_| Error::Spectrum { reason: "the held-out rows are too few or too alike".to_owned() })?;
    let hat = factor.solve(&gram);
    let freedom = (0..m).map(|i| hat[(i, i)]).sum();
    let (solved_re, solved_im) = (factor.solve(cross_re), factor.solve(cross_im));
    let explained =
        |j| (0..m).map(|i| cross_re[(i, j)] * solved_re[(i, j)] + cross_im[(i, j)] * solved_im[(i, j)]).sum();
    Ok((freedom, (0..k).map(explained).collect()))
}
