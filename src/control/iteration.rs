//! Value iteration on the stored next states.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};
use ndarray::ArrayView2;

use super::policy::{Policy, check_costs};
use super::spec::ControllerSpec;
use crate::error::{Error, Result};
use crate::interrupt::check;
use crate::koopman::Transitions;
use crate::linalg::Panel;

/// Result of an improvement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Improvement {
    /// Number of sweeps.
    pub sweeps: usize,
    /// Largest change of a value in the last one.
    pub change: f64,
    /// Whether that is within the tolerance.
    pub converged: bool,
    /// Bounds of values: those of the smallest and of the largest cost at every step, or 0. Values
    /// are clipped to them.
    pub bounds: (f64, f64),
}

/// The policy and the values after some sweeps of
/// `v(x) <- min_u c(x, u) + discount E[v(x+) | x, u]`, starting from `values`.
///
/// The learned expectation is not an average (its weights may be negative, and sum to more than 1), so
/// sweeps may diverge without the bounds.
pub(super) fn iterate(
    transitions: Transitions,
    actions: ArrayView2<'_, f64>,
    spec: &ControllerSpec,
    values: &[f64],
    costs: ArrayView2<'_, f64>,
    ends: Option<&[bool]>,
) -> Result<(Policy, Vec<f64>, Improvement)> {
    let (m, n_actions) = (transitions.next.len(), actions.nrows());
    check_costs(costs, m, n_actions)?;
    if let Some(ends) = ends.filter(|ends| ends.len() != m) {
        return Err(Error::LengthMismatch {
            left: "ends",
            left_rows: ends.len(),
            right: "the stored next states",
            right_rows: m,
        });
    }
    let discount = spec.discount;
    let horizon = (1.0 - discount).recip();
    let low = horizon * costs.iter().copied().fold(0.0, f64::min);
    let high = horizon * costs.iter().copied().fold(0.0, f64::max);
    let enough = spec.tolerance * high.max(-low);

    let stored = transitions.states.len();
    let mut similar = Panel::default();
    transitions.kernel.block(&transitions.next, &transitions.states, &mut similar);
    let acting = transitions.control.similarities_of_rows(&transitions.inputs, actions);

    let mut values = Mat::from_fn(m, 1, |i, _| values.get(i).map_or(0.0, |v| v.clamp(low, high)));
    let mut weights = Mat::zeros(stored, 1);
    let mut of_actions = Mat::zeros(stored, n_actions);
    let mut expected = Mat::zeros(m, n_actions);
    let mut improvement = Improvement { sweeps: 0, change: 0.0, converged: false, bounds: (low, high) };
    loop {
        // Values of the similarity to each stored state, for each action.
        matmul(weights.as_mut(), Accum::Replace, &transitions.weights, &values, 1.0, Par::Seq);
        for a in 0..n_actions {
            for j in 0..stored {
                of_actions[(j, a)] = acting.get(a, j) * weights[(j, 0)];
            }
        }
        if improvement.sweeps == spec.sweeps || improvement.converged {
            break;
        }
        matmul(expected.as_mut(), Accum::Replace, similar.as_faer(), &of_actions, discount, Par::Seq);
        check()?;
        improvement.change = 0.0;
        for i in 0..m {
            let least =
                (0..n_actions).map(|a| costs[[i, a]] + expected[(i, a)]).fold(f64::INFINITY, f64::min);
            let ended = ends.is_some_and(|ends| ends[i]);
            let value = if ended { 0.0 } else { least.clamp(low, high) };
            improvement.change = improvement.change.max((value - values[(i, 0)]).abs());
            values[(i, 0)] = value;
        }
        improvement.sweeps += 1;
        improvement.converged = improvement.change <= enough;
    }
    if of_actions.col_iter().any(|column| column.iter().any(|v| !v.is_finite())) {
        return Err(Error::Unstable { row: 0 });
    }
    let mut coefficients = Panel::zeros(stored, n_actions);
    for a in 0..n_actions {
        for j in 0..stored {
            coefficients.set(j, a, of_actions[(j, a)]);
        }
    }
    let policy = Policy {
        kernel: transitions.kernel,
        states: transitions.states,
        coefficients,
        actions: actions.to_owned(),
        discount,
        bounds: (low, high),
    };
    Ok((policy, values.col(0).iter().copied().collect(), improvement))
}
