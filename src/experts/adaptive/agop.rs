//! Metrics from the average gradient outer product of predictions.
//!
//! AGOP; Radhakrishnan, Beaglehole, Pandit and Belkin, "Mechanism for feature learning in neural networks and
//! backpropagation-free machine learning models", Science, 2024: with `M` the mean of `grad f grad f'`, points are
//! compared after `M^(1/2)`, or after the root of its diagonal.

use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, Mat, MatRef, Par, Scale, Side};
#[cfg(test)]
use ndarray::ArrayView2;
use ndarray::{Array2, Array3, Axis};

use super::buffer::spread;
use super::params::MetricParams;
use super::preprocessing::{Column, Transform};
use crate::error::Result;
use crate::interrupt::check;
use crate::kernel::{Kernel, KernelSpec, Map, Metric, PointSet};
use crate::linalg::{Panel, Systems, from_array};

/// Number of gradients for `n` rows of this many columns.
pub(super) fn gradient_rows(n: usize, columns: usize, params: &MetricParams) -> Vec<usize> {
    let most = (params.gradient_numbers / columns.max(1)).min(params.max_gradient_rows);
    spread(n.min(most.max(params.min_rows)), n)
}

/// Added to the diagonal of normal equations, relative to its largest entry, since points may be
/// close together.
const ROUNDING: f64 = 1e-9;

/// Gradients of predictions with respect to raw rows (n, outputs, d), in units of the targets'
/// deviations.
#[derive(Clone, Debug)]
pub(super) struct Gradients {
    pub x: Array2<f64>,
    pub slopes: Array3<f64>,
    /// Transform of the experts with most of the weight; selection then tries the others less.
    pub leading: Option<Transform>,
}

/// Number of columns, and of gradients, from which on their products are not formed.
const MANY: usize = 512;

/// The mean `M` of `grad f grad f'`: formed for few columns; for many, the gradients themselves,
/// which are few.
#[derive(Clone, Debug)]
pub(super) enum Agop {
    /// `M` (d, d).
    Product(Mat<f64>),
    /// `G` (d, n) with `M = G G'`.
    Gradients(Mat<f64>),
}

impl Agop {
    /// Without information: the identity metric.
    pub fn none(columns: usize) -> Self {
        Self::Gradients(Mat::zeros(columns, 0))
    }

    /// `G G' / n`. For many columns some of the gradients are left out.
    fn of(gradients: Mat<f64>, n: usize) -> Self {
        let (d, count) = (gradients.nrows(), gradients.ncols());
        let scale = (n.max(1) as f64).recip();
        if d <= MANY {
            let mut mean = Mat::zeros(d, d);
            matmul(mean.as_mut(), Accum::Replace, gradients.as_ref(), gradients.transpose(), scale, Par::Seq);
            return Self::Product(mean);
        }
        let kept = spread(count.min(MANY), count);
        let scale = (scale * count as f64 / kept.len().max(1) as f64).sqrt();
        Self::Gradients(Mat::from_fn(d, kept.len(), |k, j| scale * gradients[(k, kept[j])]))
    }

    /// Number of columns.
    fn columns(&self) -> usize {
        match self {
            Self::Product(mean) => mean.nrows(),
            Self::Gradients(gradients) => gradients.nrows(),
        }
    }

    /// The mean square of the derivative with respect to each column.
    fn diagonal(&self) -> Vec<f64> {
        match self {
            Self::Product(mean) => (0..mean.nrows()).map(|k| mean[(k, k)].max(0.0)).collect(),
            Self::Gradients(gradients) => {
                (0..gradients.nrows()).map(|k| gradients.row(k).squared_norm_l2()).collect()
            }
        }
    }

    /// Largest eigenvectors, each times the root of its eigenvalue.
    fn directions(&self, most: usize) -> Option<Vec<Vec<f64>>> {
        let d = self.columns();
        match self {
            Self::Product(mean) => {
                let eigen = mean.self_adjoint_eigen(Side::Lower).ok()?;
                let (vectors, values) = (eigen.U(), eigen.S().column_vector());
                let row = |j: usize| (0..d).map(|k| values[j].max(0.0).sqrt() * vectors[(k, j)]).collect();
                // Eigenvalues are in ascending order.
                Some((0..d).rev().take(most).map(row).collect())
            }
            Self::Gradients(gradients) => {
                // If `G' G u = l u`, then `G u` over the root of `l` is an eigenvector of `G G'`.
                let eigen = (gradients.transpose() * gradients).self_adjoint_eigen(Side::Lower).ok()?;
                let rank = gradients.ncols();
                let first = rank - rank.min(most);
                let products = gradients * eigen.U().subcols(first, rank - first);
                let row = |j: usize| products.col(j).iter().copied().collect();
                Some((0..rank - first).rev().map(row).collect())
            }
        }
    }
}

/// The AGOP of predictions with respect to transformed columns, summed over outputs.
pub(super) fn agop_seen(gradients: &Gradients, columns: &[Column]) -> Agop {
    let (n, outputs, d) = gradients.slopes.dim();
    let mut seen = Mat::zeros(d, n * outputs);
    for i in 0..n {
        for (k, column) in columns.iter().enumerate() {
            let slope = column.slope(gradients.x[(i, k)]);
            for c in 0..outputs {
                // Where a transform is constant the derivative is unknown.
                let value = if slope > 0.0 { gradients.slopes[(i, c, k)] / slope } else { 0.0 };
                seen[(k, c * n + i)] = value;
            }
        }
    }
    Agop::of(seen, n)
}

/// AGOP of a smooth function of rows at some of them, after this many further rounds, each with the
/// metric of the one before.
pub(super) fn smooth_agop(
    (x, y): (&Array2<f64>, &Array2<f64>),
    points: usize,
    full: bool,
    mut agop: Agop,
    rounds: usize,
    params: &MetricParams,
) -> Result<Agop> {
    let d = x.ncols();
    let kernel = KernelSpec::Gaussian { bandwidth: None }.resolve(d)?;
    for _ in 0..rounds {
        check()?;
        let map = Map::new(&learned(full, &agop, params))?;
        let rows = mapped(&map, x);
        match Fit::new(&kernel, (&rows, y), points, params.smooth_regularization) {
            Some(fit) => agop = fit.agop(&rows, &map, d, params)?,
            None => break,
        }
    }
    Ok(agop)
}

/// Whether the map combines columns: only with at most this many columns.
pub(super) fn kinds(columns: usize) -> impl Iterator<Item = bool> {
    [false, true].into_iter().filter(move |full| columns > 1 || !full)
}

/// Rows after a map.
pub(super) fn mapped(map: &Map, x: &Array2<f64>) -> Array2<f64> {
    let mut out = Vec::new();
    let mut all = Vec::with_capacity(x.nrows() * map.width());
    for row in x.rows() {
        map.apply(&row.to_vec(), &mut out);
        all.extend_from_slice(&out);
    }
    Array2::from_shape_vec((x.nrows(), map.width()), all).unwrap_or_else(|_| unreachable!("rows are whole"))
}

/// Rows per block of similarities, which fits into the cache.
const ROWS_AT_ONCE: usize = 256;

/// `(C' C + lambda G)^-1 C' Y` with the similarities `C` of rows and points, and `G` of the points.
fn solve_on_some(
    kernel: &Kernel,
    (rows, y): (&Array2<f64>, &Array2<f64>),
    points: &PointSet,
    gram: MatRef<'_, f64>,
    regularization: f64,
) -> Option<Mat<f64>> {
    let mut system = gram * Scale(regularization);
    let mut right = Mat::zeros(points.len(), y.ncols());
    let mut across = Panel::default();
    let [rows, y] = [rows, y].map(|all| all.axis_chunks_iter(Axis(0), ROWS_AT_ONCE));
    for (rows, y) in rows.zip(y) {
        kernel.block(&PointSet::gather(rows), points, &mut across);
        let (across, y) = (across.as_faer(), from_array(y));
        triangular::matmul(
            system.as_mut(),
            BlockStructure::TriangularLower,
            Accum::Add,
            across.transpose(),
            BlockStructure::Rectangular,
            across,
            BlockStructure::Rectangular,
            1.0,
            Par::Seq,
        );
        matmul(right.as_mut(), Accum::Add, across.transpose(), y.as_ref(), 1.0, Par::Seq);
    }
    let most = (0..system.nrows()).map(|i| system[(i, i)]).fold(0.0, f64::max);
    Systems::default().solve(system.as_ref(), ROUNDING * most, right.as_ref()).map(|a| a.to_owned())
}

/// Kernel ridge regression on inducing points.
struct Fit {
    kernel: Kernel,
    points: PointSet,
    coefficients: Mat<f64>,
}

impl Fit {
    /// With this many points, spread over the rows.
    fn new(
        kernel: &Kernel,
        (rows, y): (&Array2<f64>, &Array2<f64>),
        points: usize,
        regularization: f64,
    ) -> Option<Self> {
        let n = rows.nrows();
        let chosen = rows.select(Axis(0), &spread(points.min(n), n));
        let set = PointSet::gather(chosen.view());
        let gram = kernel.similarities_of_rows(&set, chosen.view());
        let coefficients = if points < n {
            solve_on_some(kernel, (rows, y), &set, gram.as_faer(), regularization)?
        } else {
            let y = from_array(y.view());
            Systems::default().solve(gram.as_faer(), regularization, y.as_ref())?.to_owned()
        };
        Some(Self { kernel: kernel.clone(), points: set, coefficients })
    }

    /// Mean of `grad f grad f'` over mapped rows, with respect to the `d` columns before the map;
    /// summed over outputs.
    fn agop(&self, rows: &Array2<f64>, map: &Map, d: usize, params: &MetricParams) -> Result<Agop> {
        let places = gradient_rows(rows.nrows(), d, params);
        let count = places.len();
        let mut gradients = Mat::zeros(d, count * self.coefficients.ncols());
        let (mut inner, mut before) = (vec![0.0; rows.ncols()], vec![0.0; d]);
        for (c, column) in self.coefficients.col_iter().enumerate() {
            let a: Vec<f64> = column.iter().copied().collect();
            for (i, place) in places.iter().enumerate() {
                check()?;
                inner.fill(0.0);
                before.fill(0.0);
                self.kernel.add_gradient(&self.points, &rows.row(*place).to_vec(), &a, &mut inner);
                map.add_transposed(&inner, &mut before);
                for (k, value) in before.iter().enumerate() {
                    gradients[(k, c * count + i)] = *value;
                }
            }
        }
        Ok(Agop::of(gradients, count))
    }
}

/// The metric of an AGOP: its root, rotated to its leading eigenvectors, or that of its diagonal,
/// scaled so that squared factors add up to the number of columns. The identity without
/// information.
pub(super) fn learned(full: bool, agop: &Agop, params: &MetricParams) -> Metric {
    let diagonal = agop.diagonal();
    if !full {
        return of_diagonal(&diagonal);
    }
    let directions = scale(&diagonal).and_then(|scale| {
        let scaled = |row: Vec<f64>| row.into_iter().map(|value| scale * value).collect();
        Some(agop.directions(params.max_directions)?.into_iter().map(scaled).collect())
    });
    directions.map_or_else(|| Metric::Diagonal(vec![1.0; diagonal.len()]), Metric::Full)
}

/// The metric whose squared factors are proportional to these shares.
pub(super) fn of_diagonal(shares: &[f64]) -> Metric {
    let scale = scale(shares);
    Metric::Diagonal(shares.iter().map(|share| scale.map_or(1.0, |scale| scale * share.sqrt())).collect())
}

/// Factor on the roots of shares for their squares to add up to their number; `None` if all are
/// zero.
fn scale(shares: &[f64]) -> Option<f64> {
    let total: f64 = shares.iter().sum();
    Some((shares.len() as f64 / total).sqrt()).filter(|scale| scale.is_finite())
}

/// Rows as selection uses them, for tests.
#[cfg(test)]
pub(super) fn agop_of(
    kernel: &Kernel,
    rows: ArrayView2<'_, f64>,
    y: ArrayView2<'_, f64>,
    points: usize,
    regularization: f64,
) -> Option<Mat<f64>> {
    let fit = Fit::new(kernel, (&rows.to_owned(), &y.to_owned()), points, regularization)?;
    let plain = Map::Diagonal(vec![1.0; rows.ncols()]);
    match fit.agop(&rows.to_owned(), &plain, rows.ncols(), &MetricParams::default()).ok()? {
        Agop::Product(mean) => Some(mean),
        Agop::Gradients(gradients) => Some(&gradients * gradients.transpose()),
    }
}
