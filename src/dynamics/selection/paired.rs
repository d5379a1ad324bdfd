//! The affine kernel beside the Gaussian one where noise is in the errors of both.
//!
//! With a linear system under noise no error is a small multiple of another: a Gaussian kernel, which spends its
//! coordinates on a line, loses a share of the noise. Both operators learn every other block of the pairs and forecast the
//! others, then the reverse, so that each block has an error of each; errors of blocks are compared in pairs, since those of
//! neighbouring times depend on each other.
//!
//! The affine kernel must also leave nothing to the Gaussian one: a short record of a nonlinear system may be forecast
//! better by a line until there are more pairs. Two statistics are zero in the mean where the system is linear: the
//! correlation of the held-out errors of the affine kernel with the difference of both forecasts (forecast encompassing,
//! Harvey, Leybourne and Newbold, 1998), and that with the errors of learned pairs, smoothed by the Gaussian kernel (a
//! conditional moment test, Bierens, 1990), which is not hidden by the noise that the Gaussian kernel has learned.

use faer::linalg::solvers::Solve as _;
use ndarray::{Array2, ArrayView2, Axis, s};

use super::affine::may_be_affine;
use super::held_out;
use super::judge::regularized;
use crate::dynamics::params::OperatorSelectionParams;
use crate::dynamics::{DynamicsSpec, Units};
use crate::error::{Error, Result};
use crate::kernel::PointSet;
use crate::koopman::{Koopman, KoopmanSpec, Truncation};
use crate::linalg::{from_array, to_array};

/// Whether held-out forecasts one step ahead of the operator with an affine kernel are better than those of the Gaussian one
/// beyond chance, and over no horizon worse beyond chance, and leave nothing to it. Each operator has its scale, that of the
/// affine one is that of the errors.
pub(super) fn is_better_beyond_chance(
    spec: &DynamicsSpec,
    operators: [(&KoopmanSpec, &Units); 2],
    x: ArrayView2<'_, f64>,
    next: ArrayView2<'_, f64>,
) -> Result<bool> {
    let params = &spec.params.selection;
    // Half of the pairs determine an affine map.
    if !may_be_affine(spec) || x.nrows() / 2 <= x.ncols() + 1 {
        return Ok(false);
    }
    let width = next.ncols() / spec.delays.blocks();
    let pairs = Pairs { operators, x, next, width, blocks: params.blocks };
    Ok(pairs.are_better(params, false)? && pairs.are_better(params, true)?)
}

/// Logarithms of the ratios of squared errors of the Gaussian kernel to those of the affine one, of blocks that have errors.
fn log_ratios(blocks: &[Block]) -> impl Iterator<Item = f64> {
    let known = blocks.iter().filter(|block| block.persistence > 0.0);
    known.map(|block| (block.errors[1] / block.errors[0]).ln())
}

/// Columns of values (n, k) without the affine functions of the states (n, d) nearest to them, which an affine map of other
/// pairs has missed by chance.
fn without_affine_part(states: &Array2<f64>, values: Array2<f64>) -> Option<Array2<f64>> {
    let functions = ndarray::concatenate![Axis(1), Array2::ones((states.nrows(), 1)), states.view()];
    let gram = from_array(functions.t().dot(&functions).view());
    let factor = regularized(&gram, f64::EPSILON * states.nrows() as f64)?;
    let coefficients = factor.solve(&from_array(functions.t().dot(&values).view()));
    Some(values - functions.dot(&to_array(coefficients.as_ref())))
}

/// The mean of values, of which there are at least two, in units of its standard error.
fn in_standard_errors(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let t = mean / (variance / count).sqrt();
    (!t.is_nan()).then_some(t)
}

/// Held-out forecasts of a block of pairs.
#[derive(Clone, Copy, Default)]
struct Block {
    /// Squared errors of the affine and of the Gaussian kernel, and of persistence.
    errors: [f64; 2],
    persistence: f64,
}

/// Operators that learned one half of the blocks, and the pairs of the other.
struct Fold<'a> {
    models: [Koopman; 2],
    learned: &'a [usize],
    held_out: &'a [usize],
}

/// Pairs, and the operators compared: the affine and the Gaussian one.
struct Pairs<'a> {
    operators: [(&'a KoopmanSpec, &'a Units); 2],
    x: ArrayView2<'a, f64>,
    next: ArrayView2<'a, f64>,
    /// Columns of the state without delays.
    width: usize,
    blocks: usize,
}

impl Pairs<'_> {
    /// Whether forecasts of held-out blocks, or `between` learned pairs, are better.
    fn are_better(&self, params: &OperatorSelectionParams, between: bool) -> Result<bool> {
        let rows: Vec<usize> = (0..self.x.nrows()).collect();
        let [one, other] = held_out::parted(&rows, self.blocks, between);
        let mut folds = Vec::new();
        let mut blocks = vec![Block::default(); self.blocks];
        for [learned, held_out] in [[&one, &other], [&other, &one]] {
            let Some(fold) = self.fold(learned, held_out)? else { return Ok(false) };
            if !self.add_errors(&fold, 1, &mut blocks)? {
                return Ok(false);
            }
            let [mut linear, mut gaussian, mut steps] = [0.0; 3];
            for block in &blocks {
                linear += block.errors[0];
                gaussian += block.errors[1];
                steps += block.persistence;
            }
            // What is as good keeps the Gaussian kernel, whose spectrum has more, and so do errors that it resolves.
            if gaussian < params.resolved[0] * steps || gaussian < params.linear * linear {
                return Ok(false);
            }
            folds.push(fold);
        }
        let chance = params.beyond_chance;
        if in_standard_errors(log_ratios(&blocks)).is_none_or(|t| t <= chance) {
            return Ok(false);
        }
        // The other fold has the same pairs of states, and would count them twice.
        let Some(correlations) = self.correlations(&folds[0], params.correlation_groups)? else {
            return Ok(false);
        };
        let is_nonlinear =
            |values: Vec<f64>| in_standard_errors(values.into_iter()).is_some_and(|t| t > chance);
        if correlations.into_iter().any(is_nonlinear) {
            return Ok(false);
        }
        for steps in params.horizons.into_iter().filter(|steps| *steps > 1) {
            let mut blocks = vec![Block::default(); self.blocks];
            for fold in &folds {
                if !self.add_errors(fold, steps, &mut blocks)? {
                    return Ok(false);
                }
            }
            if in_standard_errors(log_ratios(&blocks)).is_some_and(|t| t < -chance) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn fold<'a>(&self, learned: &'a [usize], held_out: &'a [usize]) -> Result<Option<Fold<'a>>> {
        let [linear, gaussian] = self.operators;
        let model = |(operator, units)| held_out::learned(operator, units, [self.x, self.next], learned);
        let (Some(linear), Some(gaussian)) = (model(linear)?, model(gaussian)?) else { return Ok(None) };
        Ok(Some(Fold { models: [linear, gaussian], learned, held_out }))
    }

    /// Forecasts of the states this number of steps after these, on the scale of errors; `None` if they are not finite.
    fn forecast(
        &self,
        fold: &Fold<'_>,
        place: usize,
        rows: &[usize],
        steps: usize,
    ) -> Result<Option<Array2<f64>>> {
        let (_, own) = self.operators[place];
        let [(_, each), _] = self.operators;
        let start = held_out::scaled(own, self.x, rows);
        match fold.models[place].forecast(start.view(), &[steps], Truncation::default()) {
            Err(Error::Interrupted) => Err(Error::Interrupted),
            Err(_) => Ok(None),
            Ok(ahead) => {
                let ahead = own.given(ahead.index_axis_move(Axis(0), 0));
                Ok(Some(each.scaled(ahead.view()).into_owned().slice_move(s![.., ..self.width])))
            }
        }
    }

    /// Adds the squared errors over a horizon to blocks; whether there are forecasts.
    fn add_errors(&self, fold: &Fold<'_>, steps: usize, blocks: &mut [Block]) -> Result<bool> {
        let from = held_out::with_successors([self.x, self.next], fold.held_out, steps);
        if from.is_empty() {
            return Ok(true);
        }
        let [(_, each), _] = self.operators;
        let then: Vec<usize> = from.iter().map(|row| row + steps - 1).collect();
        let then = held_out::states(each, self.next, &then, self.width);
        let still = held_out::states(each, self.x, &from, self.width);
        let made = [self.forecast(fold, 0, &from, steps)?, self.forecast(fold, 1, &from, steps)?];
        let [Some(linear), Some(gaussian)] = made else { return Ok(false) };
        let gaps = [linear, gaussian, still].map(|made| made - &then);
        for (i, row) in from.iter().enumerate() {
            let block = &mut blocks[row * self.blocks / self.x.nrows()];
            let [linear, gaussian, still] = gaps.each_ref().map(|gap| gap.row(i).dot(&gap.row(i)));
            block.errors[0] += linear;
            block.errors[1] += gaussian;
            block.persistence += still;
        }
        Ok(true)
    }

    /// Correlations, one step ahead, of the held-out errors of the affine kernel with the two functions that the Gaussian
    /// kernel could add, all without their affine part, in consecutive groups of the held-out pairs.
    fn correlations(&self, fold: &Fold<'_>, groups: usize) -> Result<Option<[Vec<f64>; 2]>> {
        let [(_, each), (gaussian, units)] = self.operators;
        let made = [
            self.forecast(fold, 0, fold.learned, 1)?,
            self.forecast(fold, 0, fold.held_out, 1)?,
            self.forecast(fold, 1, fold.held_out, 1)?,
        ];
        let [Some(learned), Some(linear), Some(other)] = made else { return Ok(None) };
        let residuals = held_out::states(each, self.next, fold.learned, self.width) - learned;
        let errors = held_out::states(each, self.next, fold.held_out, self.width) - &linear;
        let [learned, held_out] =
            [fold.learned, fold.held_out].map(|rows| held_out::scaled(units, self.x, rows));
        let similarities = gaussian
            .kernel
            .resolve(learned.ncols())?
            .similarities_of_rows(&PointSet::gather(learned.view()), held_out.view());
        let smoothed = similarities.to_array().dot(&residuals);
        let values = ndarray::concatenate![Axis(1), errors, other - linear, smoothed];
        let states = held_out::scaled(each, self.x, fold.held_out);
        let Some(values) = without_affine_part(&states, values) else { return Ok(None) };
        // Errors of a linear system do not depend on those before, so that groups may be short.
        let groups = groups.min(values.nrows() / 2);
        let of = |group: usize, place: usize| {
            let [from, to] = [group, group + 1].map(|group| group * values.nrows() / groups);
            values.slice(s![from..to, place * self.width..(place + 1) * self.width])
        };
        let correlation = |group: usize, place: usize| {
            let (errors, added) = (of(group, 0), of(group, place));
            let product = |one: &ArrayView2<'_, f64>, other: &ArrayView2<'_, f64>| (one * other).sum();
            product(&errors, &added) / (product(&errors, &errors) * product(&added, &added)).sqrt()
        };
        Ok(Some([1, 2].map(|place| (0..groups).map(|group| correlation(group, place)).collect())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dynamics::Dynamics;
    use crate::kernel::KernelSpec;
    use crate::random::normal;

    /// Trajectories of a linear or nonlinear system of this many components under noise, in these units.
    fn learned(
        width: usize,
        count: usize,
        seed: u64,
        unit: f64,
        field: impl Fn(f64) -> f64,
    ) -> Result<Dynamics> {
        let mut model = DynamicsSpec::automatic().build()?;
        for trajectory in 0..count as u64 {
            let noise = |t: usize, j: usize| normal(100 * seed + trajectory, (t * width + j) as u64);
            let mut state: Vec<f64> = (0..width).map(|j| noise(0, j)).collect();
            let mut states = Array2::zeros((600 / count, width));
            for (t, mut row) in states.rows_mut().into_iter().enumerate() {
                for (j, value) in state.iter().enumerate() {
                    row[j] = 1e3 + unit * value;
                }
                // A rotation of neighbours.
                let turned = |j: usize| {
                    0.8 * state[j] + 0.5 * (state[(j + 1) % width] - state[(j + width - 1) % width])
                };
                state = (0..width).map(|j| field(turned(j)) + 0.3 * noise(t + 1, j)).collect();
            }
            model.follow(states.view(), 1, false)?;
        }
        model.flush()?;
        Ok(model)
    }

    #[test]
    fn a_linear_system_under_noise_has_an_affine_kernel_in_any_units() -> Result<()> {
        for (width, count, seed) in [(10, 1, 1), (10, 6, 5), (20, 1, 3), (20, 3, 4)] {
            for unit in [1.0, 1e-3, 1e4] {
                let model = learned(width, count, seed, unit, |x| 0.7 * x)?;
                let kernel = &model.operator().spec().kernel;
                assert!(
                    matches!(kernel, KernelSpec::Polynomial { degree: 1, .. }),
                    "{width}, {seed}: {kernel:?}"
                );
            }
        }
        Ok(())
    }

    #[test]
    fn a_nonlinear_system_under_noise_keeps_the_gaussian_kernel() -> Result<()> {
        for (width, count, seed) in [(1, 1, 1), (2, 3, 2), (4, 1, 3), (10, 1, 4)] {
            let model = learned(width, count, seed, 1.0, |x| (2.0 * x).sin())?;
            let kernel = &model.operator().spec().kernel;
            assert!(matches!(kernel, KernelSpec::Gaussian { .. }), "{width}, {seed}: {kernel:?}");
        }
        Ok(())
    }

    #[test]
    fn means_are_in_units_of_their_standard_errors() {
        let t = in_standard_errors([1.0, 2.0, 3.0].into_iter());
        assert!((t.unwrap() - 2.0 * 3f64.sqrt()).abs() < 1e-12);
        assert_eq!(in_standard_errors(std::iter::once(1.0)), None);
        assert_eq!(in_standard_errors([0.0; 3].into_iter()), None);
    }
}
