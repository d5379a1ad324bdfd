//! Selection of settings by successive halving: transforms, kernels, metrics, bandwidths,
//! regularizations.
//!
//! Kernel ridge regression on some rows of a sample predicts others. All candidates are fitted on
//! few rows, the best few on more.

use std::sync::Arc;

use faer::linalg::matmul::matmul;
use faer::{Accum, Par};
use ndarray::{Array2, s};

use super::AdaptiveSpec;
use super::agop::{Gradients, mapped};
use super::buffer::{Sample, spread};
use super::first_rows::regularization_of_line;
use super::metrics::{Candidate, Kind, Metrics};
use super::params::{AdaptiveParams, SelectionParams};
use super::preprocessing::{Column, Preprocessing, Transform, columns, transformed};
use super::spec::of_loss;
use crate::error::Result;
use crate::interrupt::check;
use crate::kernel::{KernelSpec, Map, Metric, PointSet};
use crate::linalg::{Panel, Systems, from_array};
use crate::online::winsorizer::tamed;

/// Kernel families.
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
            Self::Manhattan => KernelSpec::ManhattanLaplacian { bandwidth: Some(share * d), exponent: 1.0 },
            Self::Laplacian => KernelSpec::Laplacian { bandwidth: Some(share * d.sqrt()) },
            Self::Gaussian => KernelSpec::Gaussian { bandwidth: Some(share * d.sqrt()) },
        }
    }
}

/// A kernel, and whether its metric is full.
const FAMILIES: [(Family, bool); 5] = [
    (Family::Manhattan, false),
    (Family::Laplacian, false),
    (Family::Laplacian, true),
    (Family::Gaussian, false),
    (Family::Gaussian, true),
];

/// A bandwidth at which all rows are equal: transformed values are of order 1.
const ALIKE: f64 = 1e9;

/// Setting of an expert.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub preprocessing: Arc<Preprocessing>,
    pub kernel: KernelSpec,
    pub regularization: f64,
}

impl Setting {
    /// The setting of the constant expert.
    pub fn constant(&self, params: &SelectionParams) -> Self {
        let kernel = KernelSpec::Gaussian { bandwidth: Some(ALIKE) };
        Self {
            preprocessing: Arc::clone(&self.preprocessing),
            kernel,
            regularization: params.regularizations[0],
        }
    }
}

/// A candidate.
struct Trial<'a> {
    columns: &'a [Column],
    family: Family,
    metric: Metric,
    kind: Kind,
    /// Penalty: factor on its held-out error.
    penalty: f64,
    share: f64,
    regularization: f64,
    error: f64,
}

/// Selected settings of a sample: the best of each family of kernels, then the others by rank. None
/// if the sample is too small.
pub(super) fn select(
    sample: &Sample,
    gradients: Option<&Gradients>,
    spec: &AdaptiveSpec,
) -> Result<Vec<Setting>> {
    if sample.x.nrows() < 8 {
        return Ok(Vec::new());
    }
    let ordinary = tamed(&sample.x, &spec.params.winsorizer);
    let transforms =
        Transform::ALL.map(|transform| columns(transform, ordinary.view(), &spec.params.preprocessing));
    let metrics = Metrics::new(sample, gradients, spec);
    let trials = ranked_by_halving(trials(&transforms, &metrics)?, sample, spec)?;
    let setting = |trial: Trial<'_>| {
        Ok(Setting {
            kernel: trial.family.kernel(trial.share, sample.x.ncols()),
            preprocessing: Arc::new(Preprocessing::new(trial.columns.to_vec(), trial.metric)?),
            regularization: trial.regularization,
        })
    };
    trials.into_iter().filter(|trial| trial.error.is_finite()).map(setting).collect()
}

/// All candidates: of each transform the metrics, with the kernels that suit these.
fn trials<'a>(transforms: &'a [Vec<Column>], metrics: &Metrics<'_>) -> Result<Vec<Trial<'a>>> {
    let mut trials = Vec::new();
    for (columns, transform) in transforms.iter().zip(Transform::ALL) {
        for Candidate { metric, kind, penalty } in metrics.of(transform, columns)? {
            let families = FAMILIES.into_iter().filter(|(_, both)| *both == (kind == Kind::Full));
            trials.extend(families.map(|(family, _)| Trial {
                columns,
                family,
                metric: metric.clone(),
                kind,
                penalty,
                share: 1.0,
                regularization: 0.1,
                error: f64::INFINITY,
            }));
        }
    }
    Ok(trials)
}

/// Two rungs of successive halving: all candidates on few rows with all bandwidths and regularizations, the best few on more
/// rows with those near the best.
fn ranked_by_halving<'a>(
    mut trials: Vec<Trial<'a>>,
    sample: &Sample,
    spec: &AdaptiveSpec,
) -> Result<Vec<Trial<'a>>> {
    let (size, loss, params) = (spec.size, spec.loss, &spec.params.selection);
    let rung = |rows, held_out| Rung::new(sample, of_loss(loss, rows) * size, held_out, params.held_out_part);
    let first = rung(params.first_rows, params.held_out_rows[0]);
    let second = rung(params.second_rows, params.held_out_rows[1]);
    let mut scratch = Scratch::default();
    for trial in &mut trials {
        let pairs = params
            .bandwidths
            .iter()
            .flat_map(|share| params.regularizations.map(|regularization| (*share, regularization)));
        trial.run(&first, &pairs.collect::<Vec<_>>(), &mut scratch)?;
    }
    trials = ranked(trials);
    if second.learned.0.nrows() > first.learned.0.nrows() {
        trials.truncate(of_loss(loss, params.second_settings));
        for trial in &mut trials {
            let factors = params.second_bandwidths.iter().zip(params.second_regularizations);
            let pair = |(share, factor): (&f64, f64)| (share * trial.share, factor * trial.regularization);
            trial.run(&second, &factors.map(pair).collect::<Vec<_>>(), &mut scratch)?;
        }
        trials = ranked(trials);
    }
    Ok(trials)
}

/// Settings for few rows, which cannot rank candidates, and whose relevant directions may change:
/// all columns have equal weight, and apparent noise may be drift.
pub(super) fn without_selection(sample: &Sample, params: &AdaptiveParams) -> Result<Vec<Setting>> {
    let preprocessing = of_equal_weight(Transform::Standard, sample, params)?;
    let setting = |share: &f64| Setting {
        kernel: Family::Gaussian.kernel(*share, sample.x.ncols()),
        preprocessing: Arc::clone(&preprocessing),
        regularization: params.selection.regularizations[0],
    };
    Ok(params.selection.bandwidths[..2].iter().map(setting).collect())
}

/// Transforms of the columns of a sample, and the identity metric.
pub(super) fn of_equal_weight(
    transform: Transform,
    sample: &Sample,
    params: &AdaptiveParams,
) -> Result<Arc<Preprocessing>> {
    let ordinary = tamed(&sample.x, &params.winsorizer);
    let columns = columns(transform, ordinary.view(), &params.preprocessing);
    let metric = Metric::Diagonal(vec![1.0; columns.len()]);
    Ok(Arc::new(Preprocessing::new(columns, metric)?))
}

/// Setting of the linear expert: all columns have equal weight. Few rows choose its regularization, which matters little for
/// many.
pub(super) fn linear_setting(sample: &Sample, params: &AdaptiveParams) -> Result<Setting> {
    let scale = Some(1.0 / sample.x.ncols() as f64);
    let chosen =
        (sample.x.nrows() < params.metrics.min_rows).then(|| regularization_of_line(sample)).flatten();
    Ok(Setting {
        preprocessing: of_equal_weight(Transform::Standard, sample, params)?,
        kernel: KernelSpec::Polynomial { degree: 1, scale, offset: 1.0 },
        regularization: chosen.unwrap_or(params.selection.regularizations[0]),
    })
}

/// Setting of an exact expert: a rough kernel, which needs many points and suits any table, with
/// the identity metric.
pub(super) fn rough_setting(sample: &Sample, params: &AdaptiveParams) -> Result<Setting> {
    Ok(Setting {
        preprocessing: of_equal_weight(Transform::Scores, sample, params)?,
        kernel: KernelSpec::ManhattanLaplacian {
            bandwidth: Some(sample.x.ncols() as f64),
            exponent: params.selection.exact_exponent,
        },
        regularization: params.selection.regularizations[1],
    })
}

/// The best of each family, with and without a metric, by error, then the others: a short run
/// cannot rank families, and a mixture gains by diverse experts.
fn ranked(mut trials: Vec<Trial<'_>>) -> Vec<Trial<'_>> {
    trials.sort_by(|a, b| a.error.total_cmp(&b.error));
    let mut families = Vec::new();
    let (mut firsts, others): (Vec<_>, Vec<_>) = trials.into_iter().partition(|trial| {
        let family = (trial.family, trial.kind == Kind::Plain);
        let first = !families.contains(&family);
        families.extend(first.then_some(family));
        first
    });
    firsts.extend(others);
    firsts
}

/// Rows for fitting and held-out rows, with standardized targets.
struct Rung {
    learned: (Array2<f64>, Array2<f64>),
    predicted: (Array2<f64>, Array2<f64>),
}

impl Rung {
    /// From rows spread over a sample: all but one in `part`, at most `n`, are fitted, others held
    /// out, at most this many.
    fn new(sample: &Sample, n: usize, predicted: usize, part: usize) -> Self {
        let all = sample.x.nrows();
        let end = n.min(all - all.div_ceil(part));
        let learned = spread(end, all);
        let others: Vec<usize> = (0..all).filter(|i| learned.binary_search(i).is_err()).collect();
        let others = spread(others.len().min(predicted), others.len()).into_iter().map(|i| others[i]);
        let chosen: Vec<usize> = learned.into_iter().chain(others).collect();
        let (x, y) = sample.standardized(&chosen);
        let cut = |a: &Array2<f64>| (a.slice(s![..end, ..]).to_owned(), a.slice(s![end.., ..]).to_owned());
        let ((x, x_later), (y, y_later)) = (cut(&x), cut(&y));
        Self { learned: (x, y), predicted: (x_later, y_later) }
    }
}

/// Scratch memory of candidates; allocation would cost as much as the computation.
#[derive(Default)]
struct Scratch {
    /// Similarities of the rows among themselves, and with held-out ones.
    compared: [Panel; 2],
    gram: Panel,
    across: Panel,
    systems: Systems,
}

impl Trial<'_> {
    /// Best pair of bandwidth and regularization.
    fn run(&mut self, rung: &Rung, pairs: &[(f64, f64)], scratch: &mut Scratch) -> Result<()> {
        check()?;
        let Scratch { compared: [among, beyond], gram, across, systems } = scratch;
        let (x, later) = (self.see_columns(&rung.learned.0), self.see_columns(&rung.predicted.0));
        let map = Map::new(&self.metric)?;
        let (rows, later) = (mapped(&map, &x), mapped(&map, &later));
        self.error = f64::INFINITY;
        let (points, later) = (PointSet::gather(rows.view()), PointSet::gather(later.view()));
        let [y, y_later] = [&rung.learned.1, &rung.predicted.1].map(|y| from_array(y.view()));
        // Kernels of a family differ only in bandwidth.
        let family = self.family.kernel(1.0, self.columns.len()).resolve(rows.ncols())?;
        for (rows, compared) in [(&points, &mut *among), (&later, &mut *beyond)] {
            if !family.compare_block(rows, &points, compared) {
                return Ok(());
            }
        }
        let mut known = None;
        for &(share, regularization) in pairs {
            if known != Some(share.to_bits()) {
                known = Some(share.to_bits());
                let kernel = self.family.kernel(share, self.columns.len()).resolve(rows.ncols())?;
                kernel.of_comparisons(among, true, gram);
                kernel.of_comparisons(beyond, false, across);
            }
            let Some(a) = systems.solve(gram.as_faer(), regularization, y.as_ref()) else { continue };
            let mut errors = y_later.clone();
            matmul(errors.as_mut(), Accum::Add, across.as_faer(), a, -1.0, Par::Seq);
            let error = self.penalty * errors.squared_norm_l2() / (errors.nrows() * errors.ncols()) as f64;
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
