//! Selection of scale, bandwidth and regularization by the first pairs.
//!
//! Candidates are judged by their purpose: kernel ridge regression on one part of the pairs
//! forecasts functions of the next states of the others. The functions are the same for all
//! candidates: the state, and Gaussian test functions at forty distant states, so that rare states
//! count as much as common ones. These functions keep noise from deciding where little of the next
//! state is predictable.
//!
//! In a record that comes to rest only distinct states are used; since maps are linear near a fixed
//! point, a linear kernel is a further candidate, judged by the state alone. It is one too where
//! pairs are few.

use faer::linalg::solvers::Solve as _;
use faer::{Mat, MatRef, Side};
use ndarray::{Array2, ArrayView1, ArrayView2, Axis, CowArray, s};

use super::params::{DynamicsParams, OperatorSelectionParams};
use super::{DynamicsSpec, Units, rest};
use crate::basis::BasisSpec;
use crate::error::Result;
use crate::interrupt::check;
use crate::kernel::{KernelSpec, PointSet};
use crate::koopman::{ControlSpec, DictionariesSpec, KoopmanSpec};
use crate::learner::LearnerSpec;
use crate::linalg::{Panel, evenly_spaced, from_array, loops};

/// Most inputs with a bandwidth each, a product of as many kernels; more have one in common.
const MOST_BANDWIDTHS: usize = 8;

/// Result of the selection.
pub(super) struct Choice {
    pub operator: KoopmanSpec,
    pub units: Units,
}

/// Operator and scale for such states, given pairs `x` (n, d + k) and `next` (n, d) with delays.
pub(super) fn choose(
    spec: &DynamicsSpec,
    x: ArrayView2<'_, f64>,
    next: ArrayView2<'_, f64>,
) -> Result<Choice> {
    let inputs = InputBandwidths::of(spec, x.slice(s![.., next.ncols()..]));
    let params = &spec.params.selection;
    let blocks = spec.delays.blocks();
    let width = next.ncols() / blocks;
    let states = ndarray::concatenate![Axis(0), x.slice(s![.., ..width]), next.slice(s![.., ..width])];
    let each = Units::each(states.view());
    let common = each.common().repeated(blocks);
    let each = each.repeated(blocks);
    let scales = match (spec.standardize, spec.choice.bandwidth) {
        (false, _) => vec![Units::default()],
        (true, false) => vec![each.clone()],
        (true, true) => vec![common, each.clone()],
    };
    let mut operator = spec.operator.clone();
    operator.control = inputs.first();
    let moving = if spec.choice.bandwidth { moving(&spec.params, x, next, width) } else { None };
    let (chosen_by, their_next) = match &moving {
        Some(rows) => (x.select(Axis(0), rows).into(), next.select(Axis(0), rows).into()),
        None => (CowArray::from(x), CowArray::from(next)),
    };
    let found = if spec.choice.bandwidth {
        best(spec, &inputs, (&scales, &each), chosen_by.view(), their_next.view())?
    } else {
        None
    };
    // Few pairs determine little more than a linear map.
    let few = spec.choice.bandwidth && x.nrows() < params.few_pairs;
    if let (true, Some(found)) = (moving.is_some() || few, &found) {
        let linear = linear(spec, &each, chosen_by.view(), their_next.view())?;
        if let Some((regularization, error)) =
            linear.filter(|(_, error)| *error <= params.linear * found.near)
        {
            operator.kernel = affine();
            if let (true, LearnerSpec::Ridge(ridge)) = (spec.choice.regularization, &mut operator.learner) {
                let determined = chosen_by.nrows() >= spec.params.rows_per_unknown * (chosen_by.ncols() + 1);
                let small = determined || error < params.exact;
                ridge.regularization = if small {
                    params.linear_regularization
                } else {
                    params.stream_regularization * regularization
                };
            }
            // d + 1 states span all functions of a linear kernel.
            if let (true, Some(tolerance)) = (spec.choice.tolerance, tolerance_of(&mut operator.dictionaries))
            {
                *tolerance = tolerance.min(params.linear_regularization);
            }
            return Ok(Choice { operator, units: each });
        }
    }
    let less = params.stream_regularization;
    let Some(found) = found else {
        let units = scales.into_iter().next_back().unwrap_or_default();
        return Ok(Choice { operator, units });
    };
    operator.kernel = KernelSpec::Gaussian { bandwidth: Some(found.bandwidth) };
    operator.control.clone_from(&found.control);
    if let (true, LearnerSpec::Ridge(ridge)) = (spec.choice.regularization, &mut operator.learner) {
        ridge.regularization = (less * found.regularization).max(params.regularizations[0]);
        if let (true, Some(tolerance)) = (spec.choice.tolerance, tolerance_of(&mut operator.dictionaries)) {
            *tolerance = tolerance.min(found.detail.max(params.regularizations[0] / less));
        }
    }
    Ok(Choice { operator, units: scales[found.scale].clone() })
}

/// Whether inputs have the default kernel, whose bandwidth is chosen.
pub(super) fn is_chosen(control: &KernelSpec) -> bool {
    matches!(control, KernelSpec::Gaussian { bandwidth: None })
}

/// Bandwidths of inputs with the default kernel, in units of their deviations. An input without effect, or with an
/// effect that is nearly linear, has a long one: the kernel then says little of it, or is nearly linear in it.
struct InputBandwidths {
    given: Option<ControlSpec>,
    /// One for each input, or for all; none if inputs have a kernel of their own.
    units: Vec<f64>,
    /// Those of them whose inputs vary.
    searched: Vec<usize>,
}

impl InputBandwidths {
    fn of(spec: &DynamicsSpec, inputs: ArrayView2<'_, f64>) -> Self {
        let given = spec.operator.control.clone();
        let units = match &given {
            Some(control) if is_chosen(&control.kernel) => {
                let units = Units::each(inputs);
                let own = control.width <= MOST_BANDWIDTHS;
                let root = (control.width as f64).sqrt();
                let units = if own { units.deviation() } else { vec![units.common().deviation()[0]] };
                units.into_iter().map(|deviation| root * deviation).collect()
            }
            _ => Vec::new(),
        };
        let vary = |k: usize| inputs.column(k).iter().any(|value| value.total_cmp(&inputs[(0, k)]).is_ne());
        let searched = if units.len() == inputs.ncols() {
            (0..units.len()).filter(|k| vary(*k)).collect()
        } else {
            (0..units.len()).filter(|_| (0..inputs.ncols()).any(vary)).collect()
        };
        Self { given, units, searched }
    }

    /// Inputs with these multiples of their units.
    fn with(&self, factors: &[f64]) -> Option<ControlSpec> {
        let of = |(unit, factor): (&f64, &f64)| KernelSpec::Gaussian { bandwidth: Some(unit * factor) };
        let joint = |first, second| KernelSpec::Product {
            first: Box::new(first),
            second: Box::new(second),
            second_width: Some(1),
        };
        let kernel = self.units.iter().zip(factors).map(of).reduce(joint);
        let width = self.given.as_ref()?.width;
        kernel.map(|kernel| ControlSpec { width, kernel }).or_else(|| self.given.clone())
    }

    /// Inputs before anything is selected.
    fn first(&self) -> Option<ControlSpec> {
        self.with(&vec![1.0; self.units.len()])
    }
}

/// The kernel of affine functions of the state.
fn affine() -> KernelSpec {
    KernelSpec::Polynomial { degree: 1, scale: None, offset: 1.0 }
}

/// Rows used for selection in a record that comes to rest; `None` if it does not, or if there are
/// too few.
fn moving(
    params: &DynamicsParams,
    x: ArrayView2<'_, f64>,
    next: ArrayView2<'_, f64>,
    width: usize,
) -> Option<Vec<usize>> {
    let rows = evenly_spaced(x.nrows(), params.max_rows);
    if rows.len() < params.selection.few_pairs {
        return None;
    }
    let (now, then) = (x.slice(s![.., ..width]), next.slice(s![.., ..width]));
    let median = median_distance(now.select(Axis(0), &rows).view());
    let rows = rest::rests(now, then, median, &params.rest)
        .then(|| rest::distinct(x, params.max_rows, &params.rest))?;
    (rows.len() >= params.selection.few_pairs).then_some(rows)
}

/// Best regularization of a linear kernel for the next state, and its error as a share of the
/// variance; `None` with inputs.
fn linear(
    spec: &DynamicsSpec,
    each: &Units,
    x: ArrayView2<'_, f64>,
    next: ArrayView2<'_, f64>,
) -> Result<Option<(f64, f64)>> {
    if spec.operator.control.is_some() {
        return Ok(None);
    }
    let params = &spec.params.selection;
    let judge = Judge::new(&each.scaled(next).into_owned(), |i| i % 2 == 1);
    let rows = each.scaled(x);
    let gram =
        affine().resolve(rows.ncols())?.similarities_of_rows(&PointSet::gather(rows.view()), rows.view());
    Ok(judge.least_error(gram.as_faer(), &params.regularizations))
}

/// The `ALD` tolerance that both dictionaries have in common, if any.
pub(super) fn tolerance_of(dictionaries: &mut DictionariesSpec) -> Option<&mut f64> {
    match dictionaries {
        DictionariesSpec::Shared(BasisSpec::Ald { tolerance, .. }) => Some(tolerance),
        _ => None,
    }
}

/// A candidate, and its mean squared error as a share of the variance.
#[derive(Clone)]
struct Candidate {
    control: Option<ControlSpec>,
    scale: usize,
    bandwidth: f64,
    regularization: f64,
    error: f64,
    /// Regularization of the best forecasts if held-out rows lie between learned ones.
    detail: f64,
    /// Their error.
    near: f64,
}

/// The best bandwidths of inputs, and the [best](Rows::best) scale and bandwidth of states with them.
fn best(
    spec: &DynamicsSpec,
    inputs: &InputBandwidths,
    scales: (&[Units], &Units),
    x: ArrayView2<'_, f64>,
    next: ArrayView2<'_, f64>,
) -> Result<Option<Candidate>> {
    let params = &spec.params.selection;
    if x.nrows() < params.min_pairs {
        return Ok(None);
    }
    let Some(rows) = Rows::new(spec, scales, x, next) else { return Ok(None) };
    let Some(mut found) = rows.best(inputs.first())? else { return Ok(None) };
    if !inputs.searched.is_empty() {
        found = with_longer_bandwidths(&rows, inputs, found)?;
    }
    rows.detail(&mut found)?;
    Ok(Some(found))
}

/// The candidate, or a better one with longer bandwidths of inputs: of all together, then of one after the other with
/// the bandwidth of states so far.
fn with_longer_bandwidths(
    rows: &Rows<'_>,
    inputs: &InputBandwidths,
    mut found: Candidate,
) -> Result<Candidate> {
    let params = rows.params;
    let half = rows.half();
    let worth = |errors: [f64; 2], least: [f64; 2]| {
        errors.iter().zip(least).all(|(error, least)| *error < (1.0 - params.equal) * least)
    };
    let mut factors = vec![1.0; inputs.units.len()];
    let mut least = rows.projected(&half, &found)?;
    for factor in params.input_bandwidths {
        let trial = vec![factor; factors.len()];
        let Some(other) = rows.best(inputs.with(&trial))? else { continue };
        let errors = rows.projected(&half, &other)?;
        if worth(errors, least) {
            (found, factors, least) = (other, trial, errors);
        }
    }
    if inputs.searched.len() < 2 {
        return Ok(found);
    }
    let together = least;
    for &input in &inputs.searched {
        for factor in [1.0].into_iter().chain(params.input_bandwidths) {
            let mut trial = factors.clone();
            trial[input] = factor;
            let other = Candidate { control: inputs.with(&trial), ..found.clone() };
            let errors = rows.projected(&half, &other)?;
            if worth(errors, least) {
                (factors, least) = (trial, errors);
            }
        }
    }
    if least[0] < together[0]
        && let Some(other) = rows.best(inputs.with(&factors))?
        && worth(rows.projected(&half, &other)?, together)
    {
        found = other;
    }
    Ok(found)
}

/// Rows that candidates are judged by.
struct Rows<'a> {
    params: &'a OperatorSelectionParams,
    /// On each scale, states and inputs, and the median distance of states.
    scaled: Vec<(Array2<f64>, f64)>,
    next: Array2<f64>,
    targets: Array2<f64>,
    judge: Judge,
    /// How many times as many pairs there will be as rows that are learned, in doublings.
    doublings: f64,
}

impl<'a> Rows<'a> {
    /// `None` if all states are equal.
    fn new(
        spec: &'a DynamicsSpec,
        (scales, each): (&[Units], &Units),
        x: ArrayView2<'_, f64>,
        next: ArrayView2<'_, f64>,
    ) -> Option<Self> {
        let params = &spec.params.selection;
        let rows = evenly_spaced(x.nrows(), spec.params.max_rows);
        // The next selection comes when there are twice as many.
        let (count, pairs) = (rows.len(), 2 * x.nrows());
        let (x, next) = (x.select(Axis(0), &rows), next.select(Axis(0), &rows));
        let width = next.ncols();
        let scaled = scales.iter().map(|units| {
            let rows = units.scaled(x.view()).into_owned();
            let typical = median_distance(rows.slice(s![.., ..width]))?;
            Some((rows, typical))
        });
        let scaled = scaled.collect::<Option<Vec<_>>>()?;
        let next = each.scaled(next.view()).into_owned();
        let targets = targets(next.view(), params);
        let judge = Judge::new(&targets, |i| i * params.blocks / count % 2 == 1);
        let doublings = (pairs as f64 / judge.learned.len().max(1) as f64).max(1.0).log2();
        Some(Self { params, scaled, next, targets, judge, doublings })
    }

    /// A judge of the same held-out rows that learns half of the others.
    fn half(&self) -> Judge {
        let learned = self.judge.learned.iter().copied().step_by(2).collect();
        Judge::of(&self.targets, learned, self.judge.held_out.clone())
    }

    /// The best regularization for this scale and bandwidth of states, and its error.
    fn error(
        &self,
        control: Option<&ControlSpec>,
        (scale, bandwidth): (usize, f64),
    ) -> Result<Option<(f64, f64)>> {
        check()?;
        let gram = gram(control, bandwidth, self.scaled[scale].0.view())?;
        Ok(self.judge.least_error(gram.as_faer(), &self.params.regularizations))
    }

    /// The error, and that expected until the next selection, if it falls as it did when the rows were doubled. A long
    /// bandwidth of an input has its least error early; a short one, which can learn any effect, needs more rows.
    fn projected(&self, half: &Judge, one: &Candidate) -> Result<[f64; 2]> {
        check()?;
        let gram = gram(one.control.as_ref(), one.bandwidth, self.scaled[one.scale].0.view())?;
        let least = |judge: &Judge| judge.least_error(gram.as_faer(), &self.params.regularizations);
        let Some((_, error)) = least(&self.judge) else { return Ok([f64::INFINITY; 2]) };
        let fall = least(half).map_or(1.0, |(_, before)| error / before.max(f64::MIN_POSITIVE));
        Ok([error, error * fall.min(1.0).powf(self.doublings)])
    }

    /// The best scale (the first unless another is better); on it the shortest bandwidth with the least
    /// error, since slow processes are distinguished by detail; and the best regularization for it.
    fn best(&self, control: Option<ControlSpec>) -> Result<Option<Candidate>> {
        let params = self.params;
        let mut found: Vec<Vec<Candidate>> = Vec::new();
        for (scale, (_, typical)) in self.scaled.iter().enumerate() {
            let mut of_scale = Vec::new();
            for factor in params.bandwidths {
                let bandwidth = factor * typical;
                if let Some((regularization, error)) = self.error(control.as_ref(), (scale, bandwidth))? {
                    of_scale.push(Candidate {
                        control: control.clone(),
                        scale,
                        bandwidth,
                        regularization,
                        error,
                        detail: regularization,
                        near: error,
                    });
                }
            }
            found.push(of_scale);
        }
        let least =
            |of_scale: &Vec<Candidate>| of_scale.iter().map(|one| one.error).fold(f64::INFINITY, f64::min);
        let of_all = found.iter().map(least).fold(f64::INFINITY, f64::min);
        let of_scale = found
            .into_iter()
            .find(|of_scale| least(of_scale) <= (1.0 + params.equal) * of_all + params.equal_share);
        let limit = of_scale.as_ref().map(|of_scale| (1.0 + params.equal) * least(of_scale));
        let chosen = of_scale.zip(limit);
        Ok(chosen.and_then(|(all, limit)| all.into_iter().find(|one| one.error <= limit)))
    }

    /// A held-out block may lie where no state was learned; interleaved rows show how much detail can be learned.
    fn detail(&self, chosen: &mut Candidate) -> Result<()> {
        let judge = Judge::new(&self.next, |i| i % 2 == 1);
        let rows = self.scaled[chosen.scale].0.view();
        let gram = gram(chosen.control.as_ref(), chosen.bandwidth, rows)?;
        if let Some((detail, near)) = judge.least_error(gram.as_faer(), &self.params.regularizations) {
            (chosen.detail, chosen.near) = (chosen.detail.min(detail), near);
        }
        Ok(())
    }
}

/// Gaussian similarities (n, n) of all rows (n, d + k), on their scale.
fn gram(control: Option<&ControlSpec>, bandwidth: f64, rows: ArrayView2<'_, f64>) -> Result<Panel> {
    let kernel = KernelSpec::Gaussian { bandwidth: Some(bandwidth) };
    let kernel = control.map_or(kernel.clone(), |control| control.joint(&kernel));
    Ok(kernel.resolve(rows.ncols())?.similarities_of_rows(&PointSet::gather(rows), rows))
}

/// Functions of next states to be forecast (n, p): state and test functions have equal weight.
fn targets(next: ArrayView2<'_, f64>, params: &OperatorSelectionParams) -> Array2<f64> {
    let typical = median_distance(next).unwrap_or(1.0);
    let rate = -0.5 / (params.test_width * typical).powi(2);
    let mut nearest = vec![f64::INFINITY; next.nrows()];
    let (mut gaussians, mut at) = (Vec::new(), 0);
    for _ in 0..params.test_functions.min(next.nrows()) {
        let distances = squared_distances(next, at);
        gaussians.push(distances.iter().map(|distance| (rate * distance).exp()).collect::<Vec<f64>>());
        nearest.iter_mut().zip(&distances).for_each(|(least, distance)| *least = least.min(*distance));
        at = (0..nearest.len()).max_by(|i, j| nearest[*i].total_cmp(&nearest[*j])).unwrap_or(0);
    }
    let gaussians = Array2::from_shape_fn((next.nrows(), gaussians.len()), |(i, j)| gaussians[j][i]);
    let states = next.var_axis(Axis(0), 0.0).sum();
    let mut out = ndarray::concatenate![Axis(1), next, gaussians];
    let n_gaussians = out.ncols() - next.ncols();
    for (j, mut column) in out.columns_mut().into_iter().enumerate() {
        let variance = if j < next.ncols() { states } else { column.var(0.0) * n_gaussians as f64 };
        let size = variance.sqrt();
        column.mapv_inplace(|value| if size > 0.0 { value / size } else { 0.0 });
    }
    out
}

/// Squared distances of all rows to one of them.
fn squared_distances(rows: ArrayView2<'_, f64>, of: usize) -> Vec<f64> {
    let one = rows.row(of);
    let one = one.as_standard_layout();
    let distance = |row: ArrayView1<'_, f64>| {
        let row = row.as_standard_layout();
        loops::squared_distance(row.as_slice().unwrap_or(&[]), one.as_slice().unwrap_or(&[]))
    };
    rows.rows().into_iter().map(distance).collect()
}

/// Median distance of two rows; `None` if it is zero.
fn median_distance(rows: ArrayView2<'_, f64>) -> Option<f64> {
    let mut all: Vec<f64> =
        (0..rows.nrows()).flat_map(|i| squared_distances(rows.slice(s![i.., ..]), 0).split_off(1)).collect();
    let middle = all.len() / 2;
    (!all.is_empty())
        .then(|| all.select_nth_unstable_by(middle, f64::total_cmp).1.sqrt())
        .filter(|distance| *distance > 0.0)
}

/// Forecasts of held-out rows, by inner products only, since states may be wide.
struct Judge {
    learned: Vec<usize>,
    held_out: Vec<usize>,
    /// Inner products of targets: among learned rows, and of learned with held-out rows.
    own: Mat<f64>,
    cross: Mat<f64>,
    /// Squared norms of held-out targets, and their squared distance from the mean of the others.
    total: f64,
    variance: f64,
}

impl Judge {
    fn new(targets: &Array2<f64>, is_held_out: impl Fn(usize) -> bool) -> Self {
        let (held_out, learned): (Vec<usize>, Vec<usize>) =
            (0..targets.nrows()).partition(|i| is_held_out(*i));
        Self::of(targets, learned, held_out)
    }

    fn of(targets: &Array2<f64>, learned: Vec<usize>, held_out: Vec<usize>) -> Self {
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
    fn least_error(&self, gram: MatRef<'_, f64>, regularizations: &[f64]) -> Option<(f64, f64)> {
        self.errors(gram, regularizations).into_iter().min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Errors for each regularization that can be computed, as shares of the variance.
    fn errors(&self, gram: MatRef<'_, f64>, regularizations: &[f64]) -> Vec<(f64, f64)> {
        let part = |rows: &[usize], cols: &[usize]| {
            Mat::from_fn(rows.len(), cols.len(), |i, j| gram[(rows[i], cols[j])])
        };
        let (own, cross) = (part(&self.learned, &self.learned), part(&self.learned, &self.held_out));
        let error = |regularization: f64| {
            let mut regular = own.clone();
            (0..regular.nrows()).for_each(|i| regular[(i, i)] += regularization);
            // Weights of the learned targets (learned, held out).
            let weights = regular.llt(Side::Lower).ok()?.solve(&cross);
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
