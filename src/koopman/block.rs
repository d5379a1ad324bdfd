//! Rounds for a block of pairs at once: the same as one by one to rounding, by matrix products.
//!
//! Coordinates of all states of the block, their inner products and the forecasts of the weights before
//! it are matrix products. Then the pairs are walked in order on numbers of the block alone: who is
//! stored, what errors are made. Last, the weights receive the whole block.

use faer::MatRef;
use ndarray::ArrayView2;

use super::admission::Candidate;
use super::dictionaries::{Controlled, Separate};
use super::operator::Operator;
use super::round::Recent;
use crate::basis::{Basis as _, Nested, NestedFeatures, Projection};
use crate::error::Result;
use crate::kernel::PointSet;
use crate::learner::{Learner as _, Rounds, Rows};
use crate::linalg::{Coordinates, Panel, Scratch, loops, padded};

/// Most pairs in a block: enough for matrix products to pay, few enough for the walk to be cheap.
pub(super) const PAIRS: usize = 48;

/// What blocks work on, kept so that they need no memory of their own. A copy of a model begins without.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    walks: [Walk; 2],
    /// Coordinates of what comes before (b, dim).
    z: Panel,
    /// What comes after, one a column.
    target: Panel,
    /// What the weights before the block make of it, one a column.
    forecasts: Panel,
    turned: Panel,
    within: Panel,
    rounds: Rounds,
}

impl Clone for Blocks {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// States of a block in the order in which they are looked at, each of which may be stored.
#[derive(Debug, Default)]
struct Walk {
    states: PointSet,
    /// Coordinates (states, dim before the block).
    old: Panel,
    /// Coordinates that were added on the way, one list for each; zero for states before it.
    fresh: Vec<Vec<f64>>,
    /// Where each state stands relative to what is stored by now.
    projections: Vec<Projection>,
    scratch: Scratch,
}

impl Walk {
    fn begin(&mut self, features: &NestedFeatures, states: ArrayView2<'_, f64>) {
        self.states.replace_all(states);
        self.fresh.clear();
        self.projections = features.project_block(&self.states, &mut self.old);
    }

    fn dim(&self) -> usize {
        self.old.cols() + self.fresh.len()
    }

    /// Makes state `i` a point of the dictionary. Those after it lose what it explains of them.
    fn store(&mut self, features: &mut NestedFeatures, i: usize) {
        let residual = self.projections[i].residual;
        let root = residual.sqrt();
        let n = self.states.len();
        let mut row = vec![0.0; padded(n)];
        features.kernel().row(&self.states, self.states.point(i), &mut row, &mut self.scratch);
        for known in self.columns() {
            loops::add_scaled(-known[i], known, &mut row);
        }
        for (j, value) in row.iter_mut().enumerate().take(n).skip(i + 1) {
            *value /= root;
            let left = &mut self.projections[j].residual;
            *left = (*left - *value * *value).max(0.0);
        }
        row[..i].fill(0.0);
        row[i] = root;
        let mut z = Coordinates::default();
        z.set(self.coordinates(i));
        features.append(self.states.point(i), &mut z, residual);
        self.projections[i].residual = 0.0;
        self.fresh.push(row);
    }

    fn coordinates(&self, i: usize) -> impl Iterator<Item = f64> {
        self.old.row(i).chain(self.fresh.iter().map(move |row| row[i]))
    }

    /// Coordinates of these states, into `out` (.., dim).
    fn matrix(&self, states: &[usize], out: &mut Panel) {
        out.reshape(states.len(), self.dim());
        for (k, values) in self.columns().enumerate() {
            out.col_mut(k).iter_mut().zip(states).for_each(|(to, i)| *to = values[*i]);
        }
    }

    /// One coordinate of all states after the other.
    fn columns(&self) -> impl Iterator<Item = &[f64]> {
        (0..self.old.cols()).map(|k| self.old.col(k)).chain(self.fresh.iter().map(Vec::as_slice))
    }

    /// These states as targets, one a column of `target`: themselves and their coordinates.
    fn targets(&self, states: &[usize], [matrix, turned, out]: [&mut Panel; 3]) {
        let width = self.states.width();
        self.matrix(states, matrix);
        matrix.transpose_into(turned);
        out.reshape(width + self.dim(), states.len());
        for (t, &i) in states.iter().enumerate() {
            let (own, coordinates) = out.col_mut(t).split_at_mut(width);
            own.copy_from_slice(self.states.point(i));
            coordinates.iter_mut().zip(turned.col(t)).for_each(|(to, from)| *to = *from);
        }
    }
}

/// Rounds on one dictionary with the pairs `x, x+` (one after the other in `pairs`). False, with nothing
/// changed, where this cannot be done by blocks.
pub(super) fn learn_shared(
    nested: &mut Nested,
    operator: &mut Operator,
    recent: &mut Recent,
    blocks: &mut Blocks,
    pairs: &[f64],
    width: usize,
) -> bool {
    if !operator.learns_blocks() {
        return false;
    }
    // Each state once: along a trajectory x is the x+ before.
    let mut states: Vec<f64> = Vec::with_capacity(pairs.len());
    let mut place = Vec::with_capacity(pairs.len() / width);
    for state in pairs.chunks_exact(width) {
        let known =
            states.len() >= width && same(&states[states.len() - width..], state) && place.len() % 2 == 0;
        if !known {
            states.extend_from_slice(state);
        }
        place.push(states.len() / width - 1);
    }
    let Some(features) = nested.dictionary() else { return false };
    let before = features.dim();
    let Blocks { walks: [walk, _], z, target, turned, .. } = blocks;
    walk.begin(features, rows(&states, width));
    for i in 0..walk.states.len() {
        if nested.admits(walk.dim(), &walk.projections[i])
            && let Some(features) = nested.dictionary_mut()
        {
            walk.store(features, i);
        }
    }
    let count = place.len() / 2;
    let from: Vec<usize> = place.iter().step_by(2).copied().collect();
    let to: Vec<usize> = place.iter().skip(1).step_by(2).copied().collect();
    walk.targets(&to, [z, turned, target]);
    walk.matrix(&from, z);
    operator.grow(walk.dim(), target.rows());
    if !carry_out(operator, z.as_faer(), target.as_faer()) {
        operator.shrink(before, width + before);
        nested.rollback(before);
        return false;
    }
    let last = to[count - 1];
    recent.point.clear();
    recent.point.extend_from_slice(&states[last * width..(last + 1) * width]);
    recent.coordinates.set(walk.coordinates(last));
    recent.valid = true;
    true
}

/// The rounds of an operator at the rows of `z` with these targets. False, with nothing changed,
/// where they cannot be carried out together: rows that are too large for it may still go one by one.
fn carry_out(operator: &mut Operator, z: MatRef<'_, f64>, y: MatRef<'_, f64>) -> bool {
    let rows = Rows { z, y, weights: None, novel: &[], loss_driven: false };
    operator.learner_mut().learn_block(&rows, None).is_ok_and(|done| done == z.nrows())
}

/// Rounds on a dictionary of states with inputs and one of states. False, with nothing changed, where
/// this cannot be done by blocks.
pub(super) fn learn_controlled(
    pair: &mut Controlled,
    operator: &mut Operator,
    blocks: &mut Blocks,
    pairs: &[f64],
) -> bool {
    if !operator.learns_blocks() {
        return false;
    }
    let (Some(inputs), Some(outputs)) = (pair.inputs.dictionary(), pair.outputs.dictionary()) else {
        return false;
    };
    let (joint, width) = (inputs.points().width(), outputs.points().width());
    let before = (inputs.dim(), outputs.dim());
    let (from, to) = apart(pairs, joint, width);
    let count = to.len() / width;
    let Blocks { walks, z, target, turned, .. } = blocks;
    walks[0].begin(inputs, rows(&from, joint));
    walks[1].begin(outputs, rows(&to, width));
    for (walk, nested) in walks.iter_mut().zip([&mut pair.inputs, &mut pair.outputs]) {
        for i in 0..count {
            if nested.admits(walk.dim(), &walk.projections[i])
                && let Some(features) = nested.dictionary_mut()
            {
                walk.store(features, i);
            }
        }
    }
    let every: Vec<usize> = (0..count).collect();
    walks[1].targets(&every, [z, turned, target]);
    walks[0].matrix(&every, z);
    operator.grow(z.cols(), target.rows());
    let learned = carry_out(operator, z.as_faer(), target.as_faer());
    if !learned {
        operator.shrink(before.0, width + before.1);
        pair.inputs.rollback(before.0);
        pair.outputs.rollback(before.1);
    }
    learned
}

/// Rounds on two dictionaries with the pairs `x, x+` (one after the other in `pairs`). False, with
/// nothing changed, where this cannot be done by blocks.
pub(super) fn learn_separate(
    pair: &mut Separate,
    operator: &mut Operator,
    blocks: &mut Blocks,
    pairs: &[f64],
) -> Result<bool> {
    let Operator::Descent(gradient) = operator else { return Ok(false) };
    let Blocks { walks: [inputs, outputs], z, target, forecasts, turned, within, rounds } = blocks;
    gradient.begin(rounds);
    let (mut made, mut wanted, mut slopes) = (Coordinates::default(), Vec::new(), Vec::new());
    let (joint, width) = (pair.inputs.points().width(), pair.outputs.points().width());
    let (from, to) = apart(pairs, joint, width);
    let count = to.len() / width;
    inputs.begin(&pair.inputs, rows(&from, joint));
    outputs.begin(&pair.outputs, rows(&to, width));
    let every: Vec<usize> = (0..count).collect();
    outputs.targets(&every, [z, turned, target]);
    inputs.old.times(inputs.old.as_faer().transpose(), within);
    inputs.old.times(gradient.weights().as_faer(), turned);
    turned.transpose_into(forecasts);
    for t in 0..count {
        wanted.clear();
        wanted.extend_from_slice(&target.col(t)[..target.rows()]);
        wanted.extend(outputs.fresh.iter().map(|row| row[t]));
        made.set(forecasts.col(t)[..forecasts.rows()].iter().copied());
        outputs.fresh.iter().for_each(|_| made.push(0.0));
        let inner = |i: usize| within.get(i, t) + inputs.fresh.iter().map(|row| row[i] * row[t]).sum::<f64>();
        rounds.predict(&mut made, inner);
        let mut squared = inner(t);
        slopes.clear();
        slopes.extend(made.as_slice().iter().zip(&wanted).skip(width).map(|(made, wanted)| wanted - made));
        let candidate = Candidate {
            step: gradient.gain_after(rounds),
            within: squared,
            error: loops::dot(&slopes, &slopes),
            input: inputs.projections[t],
            n_inputs: inputs.dim(),
            output: outputs.projections[t],
            n_outputs: outputs.dim(),
        };
        let (store_input, store_output) = pair.rule.decide(&candidate, pair.paired);
        if store_input {
            inputs.store(&mut pair.inputs, t);
            squared += candidate.input.residual;
        }
        if store_output {
            outputs.store(&mut pair.outputs, t);
            made.push(0.0);
            wanted.push(candidate.output.residual.sqrt());
        }
        slopes.resize(wanted.len(), 0.0);
        gradient
            .take(rounds, &wanted, 1.0, made.as_slice(), squared, &mut slopes)
            .map_err(|error| error.shifted(t))?;
    }
    inputs.matrix(&every, z);
    operator.grow(inputs.dim(), width + outputs.dim());
    if let Operator::Descent(gradient) = operator {
        gradient.carry_out(z.as_faer(), rounds);
    }
    Ok(true)
}

fn same(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
}

/// The first `joint` numbers of each pair and the other `width`, each one after the other.
fn apart(pairs: &[f64], joint: usize, width: usize) -> (Vec<f64>, Vec<f64>) {
    let each = || pairs.chunks_exact(joint + width);
    (
        each().flat_map(|pair| &pair[..joint]).copied().collect(),
        each().flat_map(|pair| &pair[joint..]).copied().collect(),
    )
}

/// States one after the other as the rows of a matrix.
fn rows(states: &[f64], width: usize) -> ArrayView2<'_, f64> {
    ArrayView2::from_shape((states.len() / width, width), states)
        .unwrap_or_else(|_| unreachable!("whole states"))
}
