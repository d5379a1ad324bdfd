//! Kernel ridge regression that forecasts held-out rows.

use faer::linalg::solvers::{Llt, Solve as _};
use faer::{Mat, MatRef, Side};
use ndarray::{Array2, Axis};

use crate::linalg::from_array;

/// Forecasts of held-out rows, by inner products only, since states may be wide.
pub(super) struct Judge {
    pub learned: Vec<usize>,
    pub held_out: Vec<usize>,
    /// Inner products of targets: among learned rows, and of learned with held-out rows.
    own: Mat<f64>,
    cross: Mat<f64>,
    /// Squared norms of held-out targets, and their squared distance from the mean of the others.
    total: f64,
    variance: f64,
}

impl Judge {
    pub fn new(targets: &Array2<f64>, is_held_out: impl Fn(usize) -> bool) -> Self {
        let (held_out, learned): (Vec<usize>, Vec<usize>) =
            (0..targets.nrows()).partition(|i| is_held_out(*i));
        Self::of(targets, learned, held_out)
    }

    pub fn of(targets: &Array2<f64>, learned: Vec<usize>, held_out: Vec<usize>) -> Self {
        let (one, other) = (targets.select(Axis(0), &learned), targets.select(Axis(0), &held_out));
        let mean = one.mean_axis(Axis(0)).unwrap_or_default();
        let inner = |a: &Array2<f64>, b: &Array2<f64>| from_array(a.dot(&b.t()).view());
        let square = |values: &Array2<f64>| values.iter().map(|value| value * value).sum::<f64>();
        let variance = square(&(&other - &mean));
        Self {
            learned,
            held_out,
            own: inner(&one, &one),
            cross: inner(&one, &other),
            total: square(&other),
            variance,
        }
    }

    /// Regularization with the least error, and that error as a share of the variance.
    pub fn least_error(&self, gram: MatRef<'_, f64>, regularizations: &[f64]) -> Option<(f64, f64)> {
        self.errors(gram, regularizations).into_iter().min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Errors for each regularization that can be computed, as shares of the variance.
    fn errors(&self, gram: MatRef<'_, f64>, regularizations: &[f64]) -> Vec<(f64, f64)> {
        let (own, cross) =
            (part(gram, &self.learned, &self.learned), part(gram, &self.learned, &self.held_out));
        let error = |regularization: f64| {
            // Weights of the learned targets (learned, held out).
            let weights = regularized(&own, regularization)?.solve(&cross);
            let mut gap = &self.own * &weights;
            for j in 0..gap.ncols() {
                for i in 0..gap.nrows() {
                    gap[(i, j)] -= 2.0 * self.cross[(i, j)];
                }
            }
            let explained: f64 = (0..gap.ncols())
                .map(|j| (0..gap.nrows()).map(|i| gap[(i, j)] * weights[(i, j)]).sum::<f64>())
                .sum();
            let error = (self.total + explained) / self.variance;
            error.is_finite().then_some((regularization, error.max(0.0)))
        };
        regularizations.iter().copied().filter_map(error).collect()
    }
}

/// These rows and columns of a Gram matrix.
fn part(gram: MatRef<'_, f64>, rows: &[usize], cols: &[usize]) -> Mat<f64> {
    Mat::from_fn(rows.len(), cols.len(), |i, j| gram[(rows[i], cols[j])])
}

/// The factor of a Gram matrix with this regularization on its diagonal, if it has one.
pub(super) fn regularized(gram: &Mat<f64>, regularization: f64) -> Option<Llt<f64>> {
    let mut regular = gram.clone();
    (0..regular.nrows()).for_each(|i| regular[(i, i)] += regularization);
    regular.llt(Side::Lower).ok()
}

/// Kernel ridge regression of few targets, which forecasts those of held-out rows.
pub(super) struct NarrowJudge<'a> {
    learned: &'a [usize],
    held_out: &'a [usize],
    /// Targets of learned and of held-out rows, states first.
    own: Mat<f64>,
    other: Mat<f64>,
    width: usize,
}

impl<'a> NarrowJudge<'a> {
    /// For the rows of another judge; the first `width` of the targets are the state.
    pub fn new(judge: &'a Judge, targets: &Array2<f64>, width: usize) -> Self {
        let (learned, held_out) = (&judge.learned[..], &judge.held_out[..]);
        let of = |rows: &[usize]| Mat::from_fn(rows.len(), targets.ncols(), |i, j| targets[(rows[i], j)]);
        Self { learned, held_out, own: of(learned), other: of(held_out), width }
    }

    /// Least errors of the state and of all targets over regularizations, and that with the least of all targets.
    pub fn least_errors(&self, gram: MatRef<'_, f64>, regularizations: &[f64]) -> Option<(f64, [f64; 2])> {
        let (own, cross) = (part(gram, self.learned, self.learned), part(gram, self.held_out, self.learned));
        let mut least: Option<(f64, [f64; 2])> = None;
        for regularization in regularizations {
            let Some(factor) = regularized(&own, *regularization) else { continue };
            let made = &cross * factor.solve(&self.own);
            let square = |j: usize| {
                (0..made.nrows()).map(|i| (made[(i, j)] - self.other[(i, j)]).powi(2)).sum::<f64>()
            };
            let state: f64 = (0..self.width).map(square).sum();
            let all = state + (self.width..made.ncols()).map(square).sum::<f64>();
            if !all.is_finite() {
                continue;
            }
            least = Some(match least {
                Some((best, [one, other])) => {
                    (if all < other { *regularization } else { best }, [one.min(state), other.min(all)])
                }
                None => (*regularization, [state, all]),
            });
        }
        least
    }
}
