//! Regularization and bandwidth by the evidence of rows: the marginal likelihood of their targets.

use faer::{Mat, Side};
use ndarray::{Array2, ArrayView1, ArrayView2, Axis};

use super::AnyStream;
use crate::error::Result;
use crate::interrupt;
use crate::kernel::{KernelSpec, PointSet};
use crate::learner::LearnerSpec;
use crate::linalg::{Panel, evenly_spaced, from_array};
use crate::model::{Evidence, no_evidence};

/// Most rows that decide; the eigenvalues of their similarities cost the cube of their number.
const MAX_ROWS: usize = 256;
/// Fewer decide nothing.
const MIN_ROWS: usize = 8;
/// Bandwidths are tried from an eighth to eight times the default, in steps of `sqrt(2)`.
const BANDWIDTH_STEPS: i32 = 6;
/// Regularizations are tried from `1e-8` to `1e2`, eight a decade.
const REGULARIZATION_STEPS: std::ops::RangeInclusive<i32> = -64..=16;

impl AnyStream {
    /// This stream without rows, with the regularization, and the bandwidth if `by` says so, of the
    /// largest evidence for targets `y` (n, p) of rows `x` (n, d) of these weights (n).
    ///
    /// Targets are those of a Gaussian process about their mean: normal, with the covariance
    /// `noise (K / lambda + W^-1)` and the noise that maximizes it, in which only `lambda` and the
    /// bandwidth are left. The evidence is summed over the targets, each with its own noise. At
    /// most 256 rows decide, evenly spaced; fewer than 8, or constant targets, leave both as they
    /// are. `O(n^3)` for each of 13 bandwidths.
    pub fn chosen(
        &self,
        by: Evidence,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: ArrayView1<'_, f64>,
    ) -> Result<Self> {
        let mut spec = self.spec();
        let LearnerSpec::Ridge(ridge) = &mut spec.learner else {
            return Err(no_evidence());
        };
        let counted: Vec<usize> = (0..x.nrows()).filter(|row| weights[*row] > 0.0).collect();
        if counted.len() < MIN_ROWS {
            return spec.build();
        }
        let rows: Vec<usize> =
            evenly_spaced(counted.len(), MAX_ROWS).into_iter().map(|i| counted[i]).collect();
        let x = x.select(Axis(0), &rows);
        let roots: Vec<f64> = rows.iter().map(|row| weights[*row].sqrt()).collect();
        let targets = from_array(weighed(y.select(Axis(0), &rows), &roots, ridge.center).view());
        let points = PointSet::gather(x.view());
        let mut best = (f64::NEG_INFINITY, spec.kernel.clone(), ridge.regularization);
        for kernel in candidates(&spec.kernel, by, x.ncols()) {
            interrupt::check()?;
            let similarities = kernel.resolve(x.ncols())?.similarities_of_rows(&points, x.view());
            if let Some((evidence, regularization)) = of_gram(&similarities, &roots, &targets)
                && evidence > best.0
            {
                best = (evidence, kernel, regularization);
            }
        }
        (_, spec.kernel, ridge.regularization) = best;
        spec.build()
    }
}

/// The kernel with each bandwidth to be tried; the kernel itself if it has none or keeps it.
fn candidates(kernel: &KernelSpec, by: Evidence, width: usize) -> Vec<KernelSpec> {
    let of = |step: i32| kernel.with_bandwidth_of(width, 2.0_f64.powf(0.5 * f64::from(step)));
    let all: Vec<_> = (-BANDWIDTH_STEPS..=BANDWIDTH_STEPS).filter_map(of).collect();
    if by.bandwidth && !all.is_empty() { all } else { vec![kernel.clone()] }
}

/// Targets less their weighted mean if there is an intercept, times the roots of the weights (n, p).
fn weighed(mut targets: Array2<f64>, roots: &[f64], center: bool) -> Array2<f64> {
    let roots = ArrayView1::from(roots);
    let total = roots.dot(&roots);
    for mut column in targets.columns_mut() {
        let mean = if center { column.dot(&(&roots * &roots)) / total } else { 0.0 };
        column.zip_mut_with(&roots, |value, root| *value = root * (*value - mean));
    }
    targets
}

/// The largest evidence for targets (n, p) with these similarities, up to a constant, and its
/// regularization; `None` if no eigenvalues are found or all targets are zero.
fn of_gram(similarities: &Panel, roots: &[f64], targets: &Mat<f64>) -> Option<(f64, f64)> {
    let n = roots.len();
    let similarities = similarities.as_faer();
    let gram = Mat::from_fn(n, n, |i, j| roots[i] * similarities[(i, j)] * roots[j]);
    let eigen = gram.self_adjoint_eigen(Side::Lower).ok()?;
    let values: Vec<f64> = eigen.S().column_vector().iter().map(|value| value.max(0.0)).collect();
    let parts = eigen.U().transpose() * targets;
    let evidence = |regularization: f64| {
        let spread: f64 = values.iter().map(|value| (value + regularization).ln()).sum();
        let fits = parts.col_iter().filter_map(|part| {
            let squares =
                part.iter().zip(&values).map(|(part, value)| part * part / (value + regularization));
            let square: f64 = squares.sum();
            (square > 0.0).then(|| -0.5 * (n as f64 * (square / n as f64).ln() + spread))
        });
        fits.reduce(|a, b| a + b).filter(|evidence| evidence.is_finite())
    };
    REGULARIZATION_STEPS
        .map(|step| 10.0_f64.powf(0.125 * f64::from(step)))
        .filter_map(|regularization| Some((evidence(regularization)?, regularization)))
        .max_by(|a, b| a.0.total_cmp(&b.0))
}
