//! A race of settings on a sample of the stream: transforms, kernels, metrics, bandwidths, regularizations.
//!
//! Kernel ridge regression on some of the rows predicts others. Metrics are learned from the average gradient outer
//! product of predictions (AGOP; Radhakrishnan, Beaglehole, Pandit and Belkin, "Mechanism for feature learning in
//! neural networks and backpropagation-free machine learning models", Science, 2024): with `M` the mean of
//! `grad f grad f'`, points are compared after `M^(1/2)`, or after the root of its diagonal. There are two of them: that
//! of the generation before, which has learned more rows than a race could, and that of a smooth function of the sample,
//! in case the former began badly. All settings run on few rows, the best few again on more.

use faer::linalg::matmul::matmul;
use faer::linalg::solvers::Solve as _;
use faer::{Accum, Mat, Par, Side};
#[cfg(test)]
use ndarray::ArrayView2;
use ndarray::{Array1, Array2, Array3, Axis, s};

use super::buffer::{Sample, spread};
use super::lens::{Column, Lens, Transform, columns, transformed};
use super::limits::tamed;
use crate::error::Result;
use crate::kernel::{Kernel, KernelSpec, Map, Metric, PointSet};
use crate::linalg::from_array;

/// Rows that are learned in the first heat, and in the second, for each point of a cell.
const ROWS: [usize; 2] = [1, 4];

/// Rows that are predicted, at most.
const PREDICTED: usize = 1200;

/// Settings that run in the second heat.
const SECOND: usize = 4;

/// Rows at which gradients are taken.
pub(super) const GRADIENTS: usize = 300;

/// Rows from which gradients are learned, for each point of a cell, and the regularization for it: smooth functions
/// have the clearest ones.
const SMOOTH_ROWS: usize = 7;
const SMOOTH: f64 = 0.1;

/// Fewer of them where those of the generation before are in the race, too.
const KNOWN_ROWS: usize = 3;

/// Rounds of it where there is no generation before.
const ROUNDS: usize = 2;

/// Rows of which gradients say so little that columns are compared as they are, too.
const FEW_ROWS: usize = 400;

/// Directions of a metric that compares columns together, at most.
const DIRECTIONS: usize = 64;

/// Of wider rows: rows from which gradients are learned, for each point of a cell, and rounds. Each leaves less to the
/// columns that say nothing, which together are much of any gradient; directions are looked for after the last.
const WIDE_ROWS: usize = 4;
const WIDE_ROUNDS: usize = 5;

/// How many times larger the error of directions across many columns is taken to be: so many numbers fit any few rows.
const WIDE_HANDICAP: f64 = 1.2;

/// Bandwidths, as shares of what the width of rows makes of them, and regularizations: in the first heat all pairs,
/// in the second factors of what was best.
const BANDWIDTHS: [f64; 3] = [0.5, 1.0, 2.0];
const REGULARIZATIONS: [f64; 3] = [0.01, 0.1, 1.0];
const NEARBY: [(f64, f64); 3] = [(1.0, 1.0), (1.0, 0.3), (1.6, 1.0)];

/// How points are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Manhattan,
    Laplacian,
    Gaussian,
}

impl Family {
    fn kernel(self, share: f64, width: usize) -> KernelSpec {
        let d = width as f64;
        match self {
            Self::Manhattan => KernelSpec::ManhattanLaplacian { bandwidth: Some(share * d) },
            Self::Laplacian => KernelSpec::Laplacian { bandwidth: Some(share * d.sqrt()) },
            Self::Gaussian => KernelSpec::Gaussian { bandwidth: Some(share * d.sqrt()) },
        }
    }
}

/// A kernel, and whether its metric compares columns together.
const FAMILIES: [(Family, bool); 5] = [
    (Family::Manhattan, false),
    (Family::Laplacian, false),
    (Family::Laplacian, true),
    (Family::Gaussian, false),
    (Family::Gaussian, true),
];

/// What a member is made with.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub lens: Lens,
    pub kernel: KernelSpec,
    pub regularization: f64,
}

/// One that runs.
struct Runner<'a> {
    columns: &'a [Column],
    family: Family,
    metric: Metric,
    share: f64,
    regularization: f64,
    error: f64,
}

/// Gradients of predictions with respect to raw rows (n, outputs, d), in units of the targets' deviations.
pub(super) struct Gradients {
    pub x: Array2<f64>,
    pub slopes: Array3<f64>,
}

/// The settings of a sample: the best, the best with another kernel, then the others as they came in. None of a sample
/// that is too small.
pub(super) fn race(sample: &Sample, gradients: Option<&Gradients>, size: usize) -> Result<Vec<Setting>> {
    let n = sample.x.nrows();
    let width = sample.x.ncols();
    if n < 8 {
        return Ok(Vec::new());
    }
    let ordinary = tamed(&sample.x);
    let transforms = Transform::ALL.map(|transform| columns(transform, ordinary.view()));
    let wide = width > DIRECTIONS;
    let rows = match gradients {
        _ if wide => WIDE_ROWS,
        Some(_) => KNOWN_ROWS,
        None => SMOOTH_ROWS,
    };
    let smooth = Heat::new(sample, rows * size);
    let mut runners: Vec<Runner<'_>> = Vec::new();
    for columns in &transforms {
        let known = gradients.map(|gradients| agop_seen(gradients, columns));
        let mut metrics = if wide {
            smooth.wide_metrics(columns)?
        } else {
            smooth.metrics(columns, if known.is_some() { 1 } else { ROUNDS })?
        };
        if let Some(agop) = known {
            metrics.extend(kinds(columns.len()).map(|full| (full, learned(full, &agop))));
        }
        if sample.x.nrows() <= FEW_ROWS {
            metrics.push((false, Metric::Diagonal(vec![1.0; width])));
        }
        for (full, metric) in metrics {
            let families = FAMILIES.into_iter().filter(|(_, both)| *both == full);
            runners.extend(families.map(|(family, _)| Runner {
                columns,
                family,
                metric: metric.clone(),
                share: 1.0,
                regularization: 0.1,
                error: f64::INFINITY,
            }));
        }
    }
    let (first, second) = (Heat::new(sample, ROWS[0] * size), Heat::new(sample, ROWS[1] * size));
    for runner in &mut runners {
        let pairs = BANDWIDTHS
            .iter()
            .flat_map(|share| REGULARIZATIONS.map(|regularization| (*share, regularization)));
        runner.run(&first, &pairs.collect::<Vec<_>>())?;
    }
    runners.sort_by(|a, b| a.error.total_cmp(&b.error));
    if second.learned.0.nrows() > first.learned.0.nrows() {
        // Others with the same kernel and metric of another transform may be all that is left without this.
        let other = runners.iter().position(|runner| runner.family != runners[0].family);
        if let Some(other) = other.filter(|other| *other >= SECOND) {
            runners.swap(SECOND - 1, other);
        }
        runners.truncate(SECOND);
        for runner in &mut runners {
            let pairs = NEARBY.map(|(share, factor)| (share * runner.share, factor * runner.regularization));
            runner.run(&second, &pairs)?;
        }
        runners.sort_by(|a, b| a.error.total_cmp(&b.error));
    }
    if let Some(other) = runners.iter().position(|runner| runner.family != runners[0].family) {
        runners[1..=other].rotate_right(1);
    }
    let setting = |runner: Runner<'_>| {
        Ok(Setting {
            kernel: runner.family.kernel(runner.share, width),
            lens: Lens::new(runner.columns.to_vec(), runner.metric)?,
            regularization: runner.regularization,
        })
    };
    runners.into_iter().filter(|runner| runner.error.is_finite()).map(setting).collect()
}

/// The mean of `grad f grad f'` with respect to transformed columns, summed over outputs.
fn agop_seen(gradients: &Gradients, columns: &[Column]) -> Mat<f64> {
    let (n, outputs, d) = gradients.slopes.dim();
    let mut seen = Mat::zeros(d, n * outputs);
    for i in 0..n {
        for (k, column) in columns.iter().enumerate() {
            let slope = column.slope(gradients.x[(i, k)]);
            for c in 0..outputs {
                // Where a transform is flat nothing is known of what the column would do.
                let value = if slope > 0.0 { gradients.slopes[(i, c, k)] / slope } else { 0.0 };
                seen[(k, c * n + i)] = value;
            }
        }
    }
    outer(&seen, n)
}

/// `G G' / n`
fn outer(gradients: &Mat<f64>, n: usize) -> Mat<f64> {
    let mut mean = Mat::zeros(gradients.nrows(), gradients.nrows());
    let scale = (n as f64).recip();
    matmul(mean.as_mut(), Accum::Replace, gradients.as_ref(), gradients.transpose(), scale, Par::Seq);
    mean
}

/// Rows that are learned and rows that are predicted, targets standardized.
struct Heat {
    learned: (Array2<f64>, Array2<f64>),
    predicted: (Array2<f64>, Array2<f64>),
}

impl Heat {
    /// Of rows spread over a sample: three in four, at most `n`, are learned, others are predicted.
    fn new(sample: &Sample, n: usize) -> Self {
        let all = sample.x.nrows();
        let end = n.min(all * 3 / 4);
        let learned = spread(end, all);
        let others: Vec<usize> = (0..all).filter(|i| learned.binary_search(i).is_err()).collect();
        let others = spread(others.len().min(PREDICTED), others.len()).into_iter().map(|i| others[i]);
        let chosen: Vec<usize> = learned.into_iter().chain(others).collect();
        let n = chosen.len();
        let (x, mut y) = (sample.x.select(Axis(0), &chosen), sample.y.select(Axis(0), &chosen));
        let weights: Array1<f64> = sample.weights.select(Axis(0), &chosen);
        let total = weights.sum();
        for mut column in y.columns_mut() {
            let mean = if total > 0.0 { column.dot(&weights) / total } else { 0.0 };
            column -= mean;
            let deviation = column.fold(0.0, |sum, v| sum + v * v / n as f64).sqrt();
            if deviation > 0.0 {
                column /= deviation;
            }
        }
        let cut = |a: &Array2<f64>| (a.slice(s![..end, ..]).to_owned(), a.slice(s![end.., ..]).to_owned());
        let ((x, x_later), (y, y_later)) = (cut(&x), cut(&y));
        Self { learned: (x, y), predicted: (x_later, y_later) }
    }

    /// The metrics of a smooth function of transformed columns, learned again after each round, and whether each
    /// compares columns together.
    fn metrics(&self, columns: &[Column], rounds: usize) -> Result<Vec<(bool, Metric)>> {
        let x = transformed(columns, self.learned.0.view());
        let plain = self.agop(&x, false, no_agop(&x), 1)?;
        let again = |full: bool| Ok((full, learned(full, &self.agop(&x, full, plain.clone(), rounds - 1)?)));
        kinds(columns.len()).map(again).collect()
    }

    /// The same of many columns: directions are those of the function that is learned after the factors of columns. Few
    /// rounds stay a choice, for columns that each say a little.
    fn wide_metrics(&self, columns: &[Column]) -> Result<Vec<(bool, Metric)>> {
        let x = transformed(columns, self.learned.0.view());
        let few = self.agop(&x, false, no_agop(&x), ROUNDS)?;
        let many = self.agop(&x, false, few.clone(), WIDE_ROUNDS - ROUNDS)?;
        Ok(vec![(false, learned(false, &few)), (false, learned(false, &many)), (true, learned(true, &many))])
    }

    /// The AGOP of a smooth function of rows, after as many more rounds, each with the metric of the one before.
    fn agop(&self, x: &Array2<f64>, full: bool, mut agop: Mat<f64>, rounds: usize) -> Result<Mat<f64>> {
        let d = x.ncols();
        let kernel = Family::Gaussian.kernel(1.0, d).resolve(d)?;
        for _ in 0..rounds {
            let map = Map::new(&learned(full, &agop))?;
            let rows = mapped(&map, x);
            match Fit::new(&kernel, &rows, &self.learned.1, SMOOTH) {
                Some(fit) => agop = fit.agop(&rows, &map, d),
                None => break,
            }
        }
        Ok(agop)
    }
}

/// The AGOP of what is not known yet, whose metric leaves columns as they are.
fn no_agop(x: &Array2<f64>) -> Mat<f64> {
    Mat::zeros(x.ncols(), x.ncols())
}

impl Runner<'_> {
    /// Looks for the best of pairs of bandwidth and regularization.
    fn run(&mut self, heat: &Heat, pairs: &[(f64, f64)]) -> Result<()> {
        let (x, later) = (self.see_columns(&heat.learned.0), self.see_columns(&heat.predicted.0));
        let map = Map::new(&self.metric)?;
        let (rows, later) = (mapped(&map, &x), mapped(&map, &later));
        self.error = f64::INFINITY;
        let wide = matches!(self.metric, Metric::Full(_)) && x.ncols() > DIRECTIONS;
        let handicap = if wide { WIDE_HANDICAP } else { 1.0 };
        let mut known: Option<(f64, Mat<f64>, Mat<f64>)> = None;
        for &(share, regularization) in pairs {
            if known.as_ref().is_none_or(|known| known.0.to_bits() != share.to_bits()) {
                let kernel = self.family.kernel(share, self.columns.len()).resolve(rows.ncols())?;
                known =
                    Some((share, similarities(&kernel, &rows, &rows), similarities(&kernel, &later, &rows)));
            }
            let Some((_, gram, across)) = &known else { continue };
            let Some(a) = solve(gram, &heat.learned.1, regularization) else { continue };
            let mut errors = from_array(heat.predicted.1.view());
            matmul(errors.as_mut(), Accum::Add, across.as_ref(), a.as_ref(), -1.0, Par::Seq);
            let error = handicap * errors.squared_norm_l2() / (errors.nrows() * errors.ncols()) as f64;
            if error < self.error {
                (self.error, self.share, self.regularization) = (error, share, regularization);
            }
        }
        Ok(())
    }

    fn see_columns(&self, x: &Array2<f64>) -> Array2<f64> {
        transformed(self.columns, x.view())
    }
}

/// Whether a metric compares columns together: those that there are for so many columns.
fn kinds(columns: usize) -> impl Iterator<Item = bool> {
    [false, true].into_iter().filter(move |full| columns > 1 || !full)
}

/// Rows after a map.
fn mapped(map: &Map, x: &Array2<f64>) -> Array2<f64> {
    let mut out = Vec::new();
    let mut all = Vec::with_capacity(x.nrows() * map.width());
    for row in x.rows() {
        map.apply(&row.to_vec(), &mut out);
        all.extend_from_slice(&out);
    }
    Array2::from_shape_vec((x.nrows(), map.width()), all).unwrap_or_else(|_| unreachable!("rows are whole"))
}

fn similarities(kernel: &Kernel, x: &Array2<f64>, points: &Array2<f64>) -> Mat<f64> {
    kernel.similarities_of_rows(&PointSet::gather(points.view()), x.view()).as_faer().to_owned()
}

/// `(K + lambda I)^-1 Y`
fn solve(gram: &Mat<f64>, y: &Array2<f64>, regularization: f64) -> Option<Mat<f64>> {
    let mut system = gram.clone();
    for i in 0..system.nrows() {
        system[(i, i)] += regularization;
    }
    Some(system.llt(Side::Lower).ok()?.solve(from_array(y.view())))
}

/// A function learned by kernel ridge regression.
struct Fit {
    kernel: Kernel,
    points: PointSet,
    coefficients: Mat<f64>,
}

impl Fit {
    fn new(kernel: &Kernel, rows: &Array2<f64>, y: &Array2<f64>, regularization: f64) -> Option<Self> {
        let coefficients = solve(&similarities(kernel, rows, rows), y, regularization)?;
        Some(Self { kernel: kernel.clone(), points: PointSet::gather(rows.view()), coefficients })
    }

    /// The mean of `grad f grad f'` over rows, which are mapped, with respect to the `d` columns before the map; summed
    /// over outputs.
    fn agop(&self, rows: &Array2<f64>, map: &Map, d: usize) -> Mat<f64> {
        let n = rows.nrows();
        let count = n.min(GRADIENTS);
        let mut gradients = Mat::zeros(d, count * self.coefficients.ncols());
        let (mut inner, mut before) = (vec![0.0; rows.ncols()], vec![0.0; d]);
        for (c, column) in self.coefficients.col_iter().enumerate() {
            let a: Vec<f64> = column.iter().copied().collect();
            for i in 0..count {
                inner.fill(0.0);
                before.fill(0.0);
                self.kernel.add_gradient(&self.points, &rows.row(i * n / count).to_vec(), &a, &mut inner);
                map.add_transposed(&inner, &mut before);
                for (k, value) in before.iter().enumerate() {
                    gradients[(k, c * count + i)] = *value;
                }
            }
        }
        outer(&gradients, count)
    }
}

/// The metric of an AGOP: its root, turned to the axes of its largest directions, or that of its diagonal, scaled so
/// that squared factors add up to the number of columns. Columns as they are where it says nothing.
fn learned(full: bool, agop: &Mat<f64>) -> Metric {
    let d = agop.nrows();
    let total: f64 = (0..d).map(|k| agop[(k, k)].max(0.0)).sum();
    let scale = Some((d as f64 / total).sqrt()).filter(|scale| scale.is_finite());
    if !full {
        let factor = |k: usize| scale.map_or(1.0, |scale| scale * agop[(k, k)].max(0.0).sqrt());
        return Metric::Diagonal((0..d).map(factor).collect());
    }
    let directions = scale.and_then(|scale| {
        let eigen = agop.self_adjoint_eigen(Side::Lower).ok()?;
        let (vectors, values) = (eigen.U(), eigen.S().column_vector());
        let factor = |j: usize| scale * values[j].max(0.0).sqrt();
        let row = |j: usize| (0..d).map(|k| factor(j) * vectors[(k, j)]).collect();
        // The eigenvalues rise.
        Some((0..d).rev().take(DIRECTIONS).map(row).collect())
    });
    directions.map_or_else(|| Metric::Diagonal(vec![1.0; d]), Metric::Full)
}

/// Rows as a heat takes them, for tests.
#[cfg(test)]
pub(super) fn agop_of(
    kernel: &Kernel,
    rows: ArrayView2<'_, f64>,
    y: ArrayView2<'_, f64>,
    regularization: f64,
) -> Option<Mat<f64>> {
    Fit::new(kernel, &rows.to_owned(), &y.to_owned(), regularization).map(|fit| {
        let plain = Map::Diagonal(vec![1.0; rows.ncols()]);
        fit.agop(&rows.to_owned(), &plain, rows.ncols())
    })
}
