//! A round with a single pair, on one dictionary or on two.

use super::admission::Candidate;
use super::dictionaries::{Controlled, Separate};
use super::operator::Operator;
use crate::basis::{Basis as _, Nested};
use crate::error::Result;
use crate::linalg::Coordinates;

/// The output of the latest pair, which is the input of the next one along a trajectory: its
/// coordinates need not be computed again.
#[derive(Clone, Debug, Default)]
pub(super) struct Recent {
    pub(super) point: Vec<f64>,
    /// Coordinates of `point` in a shared dictionary; as many as there are, or it is not valid.
    pub(super) coordinates: Coordinates,
    pub(super) valid: bool,
}

impl Recent {
    pub(super) fn is(&self, x: &[f64]) -> bool {
        self.valid
            && self.point.len() == x.len()
            && self.point.iter().zip(x).all(|(a, b)| a.to_bits() == b.to_bits())
    }
}

/// Scratch, so that no pair allocates.
#[derive(Clone, Debug, Default)]
pub(super) struct Work {
    pub(super) pairs: Vec<f64>,
    z: Coordinates,
    s: Coordinates,
    target: Vec<f64>,
    forecast: Vec<f64>,
}

/// A round on one dictionary. `x` is looked at before `x+`, and what `x+` adds is zero for `x`.
pub(super) fn learn_shared(
    nested: &mut Nested,
    operator: &mut Operator,
    recent: &mut Recent,
    work: &mut Work,
    x: &[f64],
    next: &[f64],
) -> Result<()> {
    let Work { z, s, target, forecast, .. } = work;
    if recent.is(x) {
        // Along a trajectory: x was the last to be looked at, so its coordinates are all there.
        z.set(recent.coordinates.as_slice().iter().copied());
    } else {
        nested.take(x, z);
    }
    nested.take(next, s);
    if z.len() < nested.dim() {
        // x+ became a coordinate. The part that x has of it counts as zero, as for all earlier
        // inputs: a small part, alone against a small ridge, would blow the new weights up.
        z.push(0.0);
    }
    set_target(target, next, s);
    operator.grow(nested.dim(), target.len());
    forecast.resize(target.len(), 0.0);
    operator.learner_mut().learn(z, target, 1.0, forecast)?;
    recent.point.clear();
    recent.point.extend_from_slice(next);
    std::mem::swap(s, &mut recent.coordinates);
    recent.valid = true;
    Ok(())
}

/// A round on a dictionary of states with inputs and one of states, each filled point by point.
pub(super) fn learn_controlled(
    pair: &mut Controlled,
    operator: &mut Operator,
    work: &mut Work,
    x: &[f64],
    next: &[f64],
) -> Result<()> {
    let Work { z, s, target, forecast, .. } = work;
    pair.inputs.take(x, z);
    pair.outputs.take(next, s);
    set_target(target, next, s);
    operator.grow(pair.inputs.dim(), target.len());
    forecast.resize(target.len(), 0.0);
    operator.learner_mut().learn(z, target, 1.0, forecast)
}

/// A round on two dictionaries (Hou et al., Algorithm 1, in nested coordinates).
pub(super) fn learn_separate(
    pair: &mut Separate,
    operator: &mut Operator,
    work: &mut Work,
    x: &[f64],
    next: &[f64],
) -> Result<()> {
    let Work { z, s, target, forecast, .. } = work;
    let input = pair.inputs.project(x, z);
    let output = pair.outputs.project(next, s);
    set_target(target, next, s);
    forecast.resize(target.len(), 0.0);
    operator.apply(z, forecast);
    let error = s.as_slice().iter().zip(&forecast[next.len()..]).map(|(s, f)| (s - f) * (s - f)).sum();
    let candidate = Candidate {
        step: operator.step(),
        within: z.squared_norm(),
        error,
        input,
        n_inputs: pair.inputs.dim(),
        output,
        n_outputs: pair.outputs.dim(),
    };
    let (store_input, store_output) = pair.rule.decide(&candidate, pair.paired);
    if store_input {
        pair.inputs.append(x, z, input.residual);
    }
    if store_output {
        pair.outputs.append(next, s, output.residual);
        target.push(output.residual.sqrt());
        forecast.push(0.0);
    }
    operator.grow(pair.inputs.dim(), target.len());
    operator.learn_from(z, target, forecast)
}

/// What the learner is to forecast: the next state, then its coordinates.
fn set_target(target: &mut Vec<f64>, next: &[f64], s: &Coordinates) {
    target.clear();
    target.extend_from_slice(next);
    target.extend_from_slice(s.as_slice());
}
