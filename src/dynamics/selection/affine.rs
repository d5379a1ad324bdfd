//! Kernels with affine functions of the state.
//!
//! Between two samples of a finely sampled system without noise the state changes by less than the stored states of a
//! Gaussian kernel resolve, since the identity is not among its functions: forecasts are then worse than persistence.
//! An affine kernel represents the identity; in the sum of both kernels the Gaussian one represents only increments.
//! Each candidate is an operator that learns one part of the rows, as it would the stream, and forecasts the others,
//! which are blocks of rows or lie between the learned ones.

use ndarray::{ArrayView2, Axis};

use super::held_out::{self, squared};
use super::settings::median_distance;
use super::tolerance_of;
use crate::dynamics::params::OperatorSelectionParams;
use crate::dynamics::{DynamicsSpec, Units};
use crate::error::{Error, Result};
use crate::kernel::KernelSpec;
use crate::koopman::{KoopmanSpec, Truncation};
use crate::learner::LearnerSpec;
use crate::linalg::evenly_spaced;

/// The kernel of affine functions of the state.
pub(super) fn affine() -> KernelSpec {
    KernelSpec::Polynomial { degree: 1, scale: None, offset: 1.0 }
}

/// The sum of it and a Gaussian kernel.
fn affine_and_gaussian(weight: f64, bandwidth: f64) -> KernelSpec {
    let gaussian = KernelSpec::Gaussian { bandwidth: Some(bandwidth) };
    KernelSpec::Sum { weights: vec![weight, 1.0], kernels: vec![affine(), gaussian] }
}

/// The operator with this kernel, and where they are chosen this regularization, and at most this tolerance.
pub(super) fn with_kernel(
    spec: &DynamicsSpec,
    kernel: KernelSpec,
    regularization: f64,
    finest: f64,
) -> KoopmanSpec {
    let mut operator = KoopmanSpec { kernel, ..spec.operator.clone() };
    if let (true, LearnerSpec::Ridge(ridge)) = (spec.choice.regularization, &mut operator.learner) {
        ridge.regularization = regularization;
    }
    if let (true, Some(tolerance)) = (spec.choice.tolerance, tolerance_of(&mut operator.dictionaries)) {
        *tolerance = tolerance.min(finest);
    }
    operator
}

/// Whether operators of this kind are compared with one with an affine kernel.
pub(super) fn may_be_affine(spec: &DynamicsSpec) -> bool {
    spec.standardize
        && spec.operator.control.is_none()
        && spec.horizons.is_empty()
        && !spec.delays.fewer
        && matches!(spec.operator.learner, LearnerSpec::Ridge(_))
        && tolerance_of(&mut spec.operator.dictionaries.clone()).is_some()
}

/// Whether a kernel of states may have been selected.
pub(in crate::dynamics) fn may_be_selected(kernel: &KernelSpec) -> bool {
    let is_affine = |kernel: &KernelSpec| matches!(kernel, KernelSpec::Polynomial { degree: 1, .. });
    match kernel {
        KernelSpec::Sum { weights, kernels } => match (&weights[..], &kernels[..]) {
            ([_, _], [first, KernelSpec::Gaussian { .. }]) => is_affine(first),
            _ => false,
        },
        KernelSpec::Gaussian { .. } => true,
        other => is_affine(other),
    }
}

/// The operator with an affine kernel, or a sum with one, and the scale of each component, if the errors of its
/// forecasts are clearly less than those of the `gaussian` one selected on its scale.
pub(super) fn with_affine(
    spec: &DynamicsSpec,
    (gaussian, units): (&KoopmanSpec, &Units),
    each: &Units,
    x: ArrayView2<'_, f64>,
    next: ArrayView2<'_, f64>,
) -> Result<Option<KoopmanSpec>> {
    let params = &spec.params.selection;
    let Some(rows) = OperatorComparison::new(spec, each, x, next) else { return Ok(None) };
    let errors = rows.errors(gaussian, units)?;
    let largest = errors.iter().copied().fold(0.0, f64::max);
    let [no_affine, no_sum] = params.resolved;
    if largest < no_affine {
        return Ok(None);
    }
    let scaled = each.scaled(x.select(Axis(0), &rows.rows).view()).into_owned();
    let Some(typical) = median_distance(scaled.view()) else { return Ok(None) };
    let [of_affine, of_sum] = params.clearly;
    let mut candidates = vec![(affine(), params.linear_regularization, of_affine)];
    if largest >= no_sum {
        for weight in params.affine_weights {
            let kernel = |factor| affine_and_gaussian(weight, factor * typical);
            let sum = |factor| (kernel(factor), params.sum_tolerance, of_sum);
            candidates.extend(params.sum_bandwidths.map(sum));
        }
    }
    let mut best: Option<(KoopmanSpec, f64)> = None;
    for (kernel, finest, most) in candidates {
        let operator = with_kernel(spec, kernel, params.linear_regularization, finest);
        let theirs = rows.errors(&operator, each)?;
        if !theirs.iter().zip(&errors).all(|(error, of_gaussian)| *error < most * of_gaussian) {
            continue;
        }
        // Those of an exact map are rounding.
        let logs = theirs.iter().map(|error| error.max(params.exact * params.exact).ln());
        let mean = logs.sum::<f64>() / theirs.len() as f64;
        if best.as_ref().is_none_or(|(_, least)| mean + params.linear.ln() < *least) {
            best = Some((operator, mean));
        }
    }
    Ok(best.map(|(operator, _)| operator))
}

/// Whether held-out forecasts of an operator with an affine kernel are over no horizon clearly worse than those of the
/// `gaussian` one selected on its scale; also where they cannot be compared.
pub(super) fn is_not_clearly_worse(
    spec: &DynamicsSpec,
    linear: &KoopmanSpec,
    (gaussian, units): (&KoopmanSpec, &Units),
    each: &Units,
    x: ArrayView2<'_, f64>,
    next: ArrayView2<'_, f64>,
) -> Result<bool> {
    let params = &spec.params.selection;
    let Some(rows) = OperatorComparison::new(spec, each, x, next) else { return Ok(true) };
    let [own, other] =
        [(linear, each), (gaussian, units)].map(|(operator, units)| rows.errors(operator, units));
    // Errors of an exact map are rounding.
    let exact = params.exact * params.exact;
    let is_good = |(own, other): (&f64, &f64)| params.clearly[0] * own <= other.max(exact);
    Ok(own?.iter().zip(&other?).all(is_good))
}

/// Rows learned and forecast.
struct OperatorComparison<'a> {
    params: &'a OperatorSelectionParams,
    each: &'a Units,
    x: ArrayView2<'a, f64>,
    next: ArrayView2<'a, f64>,
    rows: Vec<usize>,
    /// Columns of the state without delays.
    width: usize,
}

impl<'a> OperatorComparison<'a> {
    /// `None` where the learned rows do not determine an affine map, or the operator is of another kind.
    fn new(
        spec: &'a DynamicsSpec,
        each: &'a Units,
        x: ArrayView2<'a, f64>,
        next: ArrayView2<'a, f64>,
    ) -> Option<Self> {
        let rows = evenly_spaced(x.nrows(), spec.params.max_rows);
        let determined = rows.len() / 2 >= spec.params.rows_per_unknown * (x.ncols() + 1);
        (may_be_affine(spec) && determined).then(|| Self {
            params: &spec.params.selection,
            each,
            x,
            next,
            rows,
            width: next.ncols() / spec.delays.blocks(),
        })
    }

    /// Squared errors of the operator over all horizons on both kinds of held-out rows, as shares of those of
    /// persistence.
    fn errors(&self, operator: &KoopmanSpec, units: &Units) -> Result<Vec<f64>> {
        let mut out = self.errors_of(operator, units, false)?;
        out.extend(self.errors_of(operator, units, true)?);
        Ok(out)
    }

    fn errors_of(&self, operator: &KoopmanSpec, units: &Units, between: bool) -> Result<Vec<f64>> {
        let pairs = [self.x, self.next];
        let [rows, others] = held_out::parted(&self.rows, self.params.blocks, between);
        let model = held_out::learned(operator, units, pairs, &rows)?;
        let mut out = Vec::new();
        for steps in self.params.horizons {
            let from = held_out::with_successors(pairs, &others, steps);
            let then: Vec<usize> = from.iter().map(|row| row + steps - 1).collect();
            let still = held_out::states(self.each, self.x, &from, self.width);
            let then = held_out::states(self.each, self.next, &then, self.width);
            let persistence = squared(&(&then - &still));
            // A horizon beyond all trajectories, or states at rest.
            if persistence == 0.0 {
                continue;
            }
            let ahead = model.as_ref().ok_or(Error::NothingLearned).and_then(|model| {
                let start = held_out::scaled(units, self.x, &from);
                model.forecast(start.view(), &[steps], Truncation::default())
            });
            out.push(held_out::share_of_persistence(ahead, [units, self.each], &then, persistence)?);
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::dynamics::Dynamics;
    use crate::persist::Persist as _;
    use crate::random::normal;

    /// A damped oscillator, x'' = -4 x - 0.2 x', or a pendulum, x'' = -sin(x) - 0.1 x', in steps of Runge and Kutta.
    fn trajectory(start: [f64; 2], step: f64, rows: usize, is_linear: bool) -> Array2<f64> {
        let field = |[x, v]: [f64; 2]| {
            if is_linear { [v, -4.0 * x - 0.2 * v] } else { [v, -x.sin() - 0.1 * v] }
        };
        let moved = |[x, v]: [f64; 2], [dx, dv]: [f64; 2], by: f64| [x + by * dx, v + by * dv];
        let mut state = start;
        let mut out = Array2::zeros((rows, 2));
        for mut row in out.rows_mut() {
            (row[0], row[1]) = (state[0], state[1]);
            let a = field(state);
            let b = field(moved(state, a, 0.5 * step));
            let c = field(moved(state, b, 0.5 * step));
            let d = field(moved(state, c, step));
            for (slope, weight) in [(a, 1.0), (b, 2.0), (c, 2.0), (d, 1.0)] {
                state = moved(state, slope, weight * step / 6.0);
            }
        }
        out
    }

    fn starts(count: usize, seed: u64) -> Vec<[f64; 2]> {
        let at = |i: usize, j: u64| normal(seed, 2 * i as u64 + j).clamp(-1.0, 1.0);
        (0..count).map(|i| [at(i, 0), at(i, 1)]).collect()
    }

    fn learned(trajectories: &[Array2<f64>]) -> Result<Dynamics> {
        let mut model = DynamicsSpec::automatic().build()?;
        trajectories.iter().try_for_each(|states| model.follow(states.view(), 1, false))?;
        model.flush()?;
        Ok(model)
    }

    /// Error one step ahead from other states, as a share of that of persistence.
    fn share(model: &Dynamics, step: f64, is_linear: bool) -> Result<f64> {
        let pairs = starts(20, 9).into_iter().map(|start| trajectory(start, step, 2, is_linear));
        let pairs: Vec<Array2<f64>> = pairs.collect();
        let of = |i: usize| Array2::from_shape_fn((pairs.len(), 2), |(row, j)| pairs[row][[i, j]]);
        let (x, next) = (of(0), of(1));
        let made = model.forecast(x.view(), &[1], Truncation::default())?;
        let made = made.index_axis_move(Axis(0), 0);
        Ok((squared(&(&made - &next)) / squared(&(&x - &next))).sqrt())
    }

    #[test]
    fn a_linear_system_is_learned_exactly_however_finely_sampled() -> Result<()> {
        for (step, rows, count) in [(0.001, 100, 30), (0.01, 100, 30), (0.01, 1000, 4), (0.1, 100, 10)] {
            let mut all: Vec<Array2<f64>> =
                starts(count, 1).into_iter().map(|start| trajectory(start, step, rows, true)).collect();
            for order in 0..3 {
                match order {
                    0 => {}
                    1 => all.reverse(),
                    _ => all.sort_by(|one, other| one[[0, 0]].total_cmp(&other[[0, 0]])),
                }
                let model = learned(&all)?;
                assert_eq!(model.operator().spec().kernel, affine(), "{step}, {rows}, {order}");
                let error = share(&model, step, true)?;
                assert!(error < 1e-4, "{step}, {rows}, {order}: {error}");
            }
        }
        Ok(())
    }

    #[test]
    fn forecasts_of_a_finely_sampled_pendulum_are_better_than_persistence() -> Result<()> {
        for step in [0.001, 0.01] {
            let all: Vec<Array2<f64>> =
                starts(30, 1).into_iter().map(|start| trajectory(start, step, 100, false)).collect();
            let model = learned(&all)?;
            assert!(matches!(model.operator().spec().kernel, KernelSpec::Sum { .. }), "{step}");
            let error = share(&model, step, false)?;
            assert!(error < 0.05, "{step}: {error}");
            // It resumes from a file of its warm-up.
            let (mut one, rest) = (learned(&all[..15])?, &all[15..]);
            let (mut other, _) = Dynamics::from_bytes(&one.to_bytes(serde_json::Value::Null)?)?;
            for states in rest {
                one.follow(states.view(), 1, false)?;
                other.follow(states.view(), 1, false)?;
            }
            let ask = |model: &Dynamics| model.forecast(all[0].view(), &[1, 9], Truncation::default());
            assert_eq!(ask(&one)?, ask(&other)?);
        }
        Ok(())
    }

    #[test]
    fn noise_keeps_the_gaussian_kernel() -> Result<()> {
        let walk = |i: usize| {
            let mut state = [0.0; 2];
            Array2::from_shape_fn((200, 2), |(t, j)| {
                state[j] = 0.9 * state[j] + normal(i as u64 + 1, 2 * t as u64 + j as u64);
                state[j]
            })
        };
        let model = learned(&(0..10).map(walk).collect::<Vec<_>>())?;
        assert!(matches!(model.operator().spec().kernel, KernelSpec::Gaussian { .. }));
        Ok(())
    }

    #[test]
    fn only_kernels_of_the_selection_may_be_selected() {
        assert!(may_be_selected(&affine()) && may_be_selected(&affine_and_gaussian(10.0, 1.0)));
        let KernelSpec::Sum { weights, mut kernels } = affine_and_gaussian(10.0, 1.0) else { unreachable!() };
        kernels.reverse();
        assert!(!may_be_selected(&KernelSpec::Sum { weights, kernels }));
        assert!(!may_be_selected(&KernelSpec::Laplacian { bandwidth: None }));
    }
}
