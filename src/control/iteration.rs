//! Value iteration on the stored next states.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};
use ndarray::ArrayView2;

use super::{Controller, Policy};
use crate::error::{Error, Result};
use crate::linalg::Panel;

/// How an improvement went.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Improvement {
    /// Sweeps made.
    pub sweeps: usize,
    /// Largest change of a value in the last one.
    pub change: f64,
    /// Whether that is within the tolerance.
    pub converged: bool,
    /// Smallest and largest value there can be: that of the smallest and of the largest cost for ever,
    /// or 0. Values are kept between them.
    pub bounds: (f64, f64),
}

impl Controller {
    /// The policy and the values after some sweeps of
    /// `v(x) <- min_u c(x, u) + discount E[v(x+) | x, u]`.
    ///
    /// The learned expectation is no average (its weights may be negative, and sum to more than 1), so
    /// that nothing but the bounds keeps sweeps from running away: they are what makes it work.
    pub(super) fn iterate(
        &self,
        costs: ArrayView2<'_, f64>,
        ends: Option<&[bool]>,
    ) -> Result<(Policy, Vec<f64>, Improvement)> {
        let transitions = self.model.transitions()?;
        let (m, n_actions) = (transitions.outputs.len(), self.actions.nrows());
        check_costs(costs, m, n_actions)?;
        if let Some(ends) = ends.filter(|ends| ends.len() != m) {
            return Err(Error::LengthMismatch {
                left: "ends",
                left_rows: ends.len(),
                right: "the stored next states",
                right_rows: m,
            });
        }
        let discount = self.spec.discount;
        let horizon = (1.0 - discount).recip();
        let low = horizon * costs.iter().copied().fold(0.0, f64::min);
        let high = horizon * costs.iter().copied().fold(0.0, f64::max);
        let enough = self.spec.tolerance * high.max(-low);

        let stored = transitions.states.len();
        let mut similar = Panel::default();
        transitions.kernel.block(&transitions.outputs, &transitions.states, &mut similar);
        let acting = transitions.control.similarities_of_rows(&transitions.inputs, self.actions.view());

        let mut values = Mat::from_fn(m, 1, |i, _| self.values.get(i).map_or(0.0, |v| v.clamp(low, high)));
        let mut weights = Mat::zeros(stored, 1);
        let mut of_actions = Mat::zeros(stored, n_actions);
        let mut expected = Mat::zeros(m, n_actions);
        let mut improvement = Improvement { sweeps: 0, change: 0.0, converged: false, bounds: (low, high) };
        loop {
            // Of the similarity to each stored state, for each action.
            matmul(weights.as_mut(), Accum::Replace, &transitions.weights, &values, 1.0, Par::Seq);
            for a in 0..n_actions {
                for j in 0..stored {
                    of_actions[(j, a)] = acting.get(a, j) * weights[(j, 0)];
                }
            }
            if improvement.sweeps == self.spec.sweeps || improvement.converged {
                break;
            }
            matmul(expected.as_mut(), Accum::Replace, similar.as_faer(), &of_actions, discount, Par::Seq);
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
            actions: self.actions.clone(),
            discount,
            bounds: (low, high),
        };
        Ok((policy, values.col(0).iter().copied().collect(), improvement))
    }
}

/// Refuses costs (n, actions) of another shape, or that are no numbers.
pub(super) fn check_costs(costs: ArrayView2<'_, f64>, n: usize, n_actions: usize) -> Result<()> {
    if costs.nrows() != n {
        let (left, right) = ("cost", "the states");
        return Err(Error::LengthMismatch { left, left_rows: costs.nrows(), right, right_rows: n });
    }
    if costs.ncols() != n_actions {
        return Err(Error::WrongWidth { what: "cost", expected: n_actions, found: costs.ncols() });
    }
    for ((row, column), &value) in costs.indexed_iter() {
        if !value.is_finite() {
            return Err(Error::NotFinite { what: "cost", row, column, value });
        }
        if value.abs() > crate::kernel::LARGEST {
            return Err(Error::TooLarge { what: "cost", row, magnitude: value.abs() });
        }
    }
    Ok(())
}
