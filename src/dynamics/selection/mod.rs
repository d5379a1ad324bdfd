//! Selection of scale, bandwidth and regularization by the first pairs.
//!
//! Settings are judged by their purpose: kernel ridge regression on one part of the pairs
//! forecasts functions of the next states of the others. The functions are the same for all
//! settings: the state, and Gaussian test functions at forty distant states, so that rare states
//! count as much as common ones. These functions keep noise from deciding where little of the next
//! state is predictable.
//!
//! In a record that comes to rest only distinct states are used; since maps are linear near a fixed
//! point, a linear kernel is a further candidate, judged by the state alone. It is one too where
//! pairs are few, and where the record leaves its first states for good, as a line or a ramp does:
//! similarities to stored states cannot extrapolate such a record. Elsewhere [kernels with affine functions](affine)
//! are selected where a Gaussian one does not resolve the steps from one state to the next, and the affine kernel where
//! noise is in all errors and its own are [less beyond chance](paired).
//!
//! Held-out forecasts over several steps then select [how such forecasts are made](reencoding_choice).
//!
//! On request fewer [delays](delay_count) than there are may be selected.
//!
//! The steps are in this file. First a Gaussian kernel: `settings` that are compared by a `judge`, of `input_bandwidths` and
//! `delay_count`; `rest` shows which rows count. Then operators that have learned a part of the pairs (`held_out`) are compared
//! with it: `affine`, `paired`, `reencoding_choice`.

mod affine;
mod delay_count;
mod held_out;
mod input_bandwidths;
mod judge;
mod paired;
mod reencoding_choice;
mod rest;
mod settings;

use ndarray::{ArrayView2, Axis, CowArray, s};

pub(super) use affine::may_be_selected;
use affine::{affine, is_not_clearly_worse, with_affine, with_kernel};
pub(super) use input_bandwidths::is_chosen;
use input_bandwidths::{InputBandwidths, with_longer_bandwidths};
use judge::Judge;
use reencoding_choice::reencoding;
use settings::{Rows, Setting, median_distance};

use super::params::DynamicsParams;
use super::{DynamicsSpec, Reencoding, Units};
use crate::basis::BasisSpec;
use crate::error::Result;
use crate::kernel::{KernelSpec, PointSet};
use crate::koopman::{DictionariesSpec, KoopmanSpec};
use crate::learner::LearnerSpec;
use crate::linalg::evenly_spaced;

/// Result of the selection.
pub(super) struct Choice {
    pub operator: KoopmanSpec,
    pub units: Units,
    pub reencoding: Reencoding,
}

/// Operator and scale for such states, and the way of forecasting, given pairs `x` (n, d + k) and `next` (n, d) with
/// delays.
pub(super) fn choose(
    spec: &DynamicsSpec,
    x: ArrayView2<'_, f64>,
    next: ArrayView2<'_, f64>,
) -> Result<Choice> {
    let blocks = spec.delays.blocks();
    let width = next.ncols() / blocks;
    let states = ndarray::concatenate![Axis(0), x.slice(s![.., ..width]), next.slice(s![.., ..width])];
    let each = Units::each(states.view());
    let scales = [each.common(), each].map(|units| units.repeated(blocks));
    let (operator, units) = choose_operator(spec, &scales, x, next)?;
    let [_, each] = scales;
    let reencoding = reencoding(spec, (&operator, &units), &each, x, next)?;
    Ok(Choice { operator, units, reencoding })
}

/// Operator and scale, given those of all components and of each.
fn choose_operator(
    spec: &DynamicsSpec,
    [common, each]: &[Units; 2],
    x: ArrayView2<'_, f64>,
    next: ArrayView2<'_, f64>,
) -> Result<(KoopmanSpec, Units)> {
    let inputs = InputBandwidths::of(spec, x.slice(s![.., next.ncols()..]));
    let width = next.ncols() / spec.delays.blocks();
    let scales = match (spec.standardize, spec.choice.bandwidth) {
        (false, _) => vec![Units::default()],
        (true, false) => vec![each.clone()],
        // A single component has one scale.
        (true, true) if width == 1 => vec![common.clone()],
        (true, true) => vec![common.clone(), each.clone()],
    };
    let mut operator = spec.operator.clone();
    operator.control = inputs.first();
    let moving = if spec.choice.bandwidth { moving(&spec.params, x, next, width) } else { None };
    let (chosen_by, their_next) = match &moving {
        Some(rows) => (x.select(Axis(0), rows).into(), next.select(Axis(0), rows).into()),
        None => (CowArray::from(x), CowArray::from(next)),
    };
    let pairs = [chosen_by.view(), their_next.view()];
    let found =
        if spec.choice.bandwidth { best(spec, &inputs, (&scales, each), pairs[0], pairs[1])? } else { None };
    let Some(mut found) = found else {
        let units = scales.into_iter().next_back().unwrap_or_default();
        return Ok((operator, units));
    };
    // Few pairs determine little more than a linear map.
    let is_nearly_linear = x.nrows() < spec.params.selection.few_pairs || moving.is_some();
    let may_be_linear = is_nearly_linear || rest::leaves(next.slice(s![.., ..width]));
    if may_be_linear && let Some(linear) = linear_operator(spec, each, pairs, &found)? {
        // Records that leave their first states may return: what is good one step ahead need not be many.
        let is_trusted = is_nearly_linear || {
            let gaussian = (&gaussian(spec, operator.clone(), &found), &scales[found.scale]);
            is_not_clearly_worse(spec, &linear, gaussian, each, pairs[0], pairs[1])?
        };
        if is_trusted {
            return Ok((linear, each.clone()));
        }
    }
    let mut units = scales[found.scale].clone();
    if spec.delays.fewer && !may_be_linear {
        let fewer = delay_count::with_fewer(spec, (&units, each), pairs[0], pairs[1], &found)?;
        (found, units) = fewer.unwrap_or((found, units));
    }
    gaussian_or_affine(spec, (gaussian(spec, operator, &found), units), each, pairs)
}

/// The operator with an affine kernel, if that forecasts the next state about as well as what was found.
fn linear_operator(
    spec: &DynamicsSpec,
    each: &Units,
    [x, next]: [ArrayView2<'_, f64>; 2],
    found: &Setting,
) -> Result<Option<KoopmanSpec>> {
    let params = &spec.params.selection;
    let linear = linear(spec, each, x, next)?;
    let Some((regularization, error)) = linear.filter(|(_, error)| *error <= params.linear * found.near)
    else {
        return Ok(None);
    };
    let determined = x.nrows() >= spec.params.rows_per_unknown * (x.ncols() + 1);
    let regularization = if determined || error < params.exact {
        params.linear_regularization
    } else {
        params.stream_regularization * regularization
    };
    // d + 1 states span all functions of a linear kernel.
    Ok(Some(with_kernel(spec, affine(), regularization, params.linear_regularization)))
}

/// The operator with a Gaussian kernel and its scale, or one with affine functions that is better.
fn gaussian_or_affine(
    spec: &DynamicsSpec,
    (operator, units): (KoopmanSpec, Units),
    each: &Units,
    [x, next]: [ArrayView2<'_, f64>; 2],
) -> Result<(KoopmanSpec, Units)> {
    if let Some(other) = with_affine(spec, (&operator, &units), each, x, next)? {
        return Ok((other, each.clone()));
    }
    let regularization = spec.params.selection.linear_regularization;
    let linear = with_kernel(spec, affine(), regularization, regularization);
    let both = [(&linear, each), (&operator, &units)];
    if paired::is_better_beyond_chance(spec, both, x, next)? {
        return Ok((linear, each.clone()));
    }
    Ok((operator, units))
}

/// The operator with the Gaussian kernel, regularization and tolerance found.
fn gaussian(spec: &DynamicsSpec, mut operator: KoopmanSpec, found: &Setting) -> KoopmanSpec {
    let params = &spec.params.selection;
    let less = params.stream_regularization;
    operator.kernel = KernelSpec::Gaussian { bandwidth: Some(found.bandwidth) };
    operator.control.clone_from(&found.control);
    if let (true, LearnerSpec::Ridge(ridge)) = (spec.choice.regularization, &mut operator.learner) {
        ridge.regularization = (less * found.regularization).max(params.regularizations[0]);
        if let (true, Some(tolerance)) = (spec.choice.tolerance, tolerance_of(&mut operator.dictionaries)) {
            *tolerance = tolerance.min(found.detail.max(params.regularizations[0] / less));
        }
    }
    operator
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

/// The best bandwidths of inputs, and the [best](Rows::best) scale and bandwidth of states with them.
fn best(
    spec: &DynamicsSpec,
    inputs: &InputBandwidths,
    scales: (&[Units], &Units),
    x: ArrayView2<'_, f64>,
    next: ArrayView2<'_, f64>,
) -> Result<Option<Setting>> {
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
