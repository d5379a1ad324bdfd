//! Whether, and how often, forecasts begin again from the state forecast.
//!
//! The operator selected learns one part of the rows, and forecasts the others over several steps, by powers and beginning
//! again after few to many of them. Powers, which alone are the expectation of a stochastic system, are kept unless
//! another way is clearly better.

use ndarray::{Array2, ArrayView2, Axis, s};

use super::affine::{are_consecutive, squared};
use crate::dynamics::params::OperatorSelectionParams;
use crate::dynamics::{DynamicsSpec, Reencoding, Units};
use crate::error::{Error, Result};
use crate::interrupt::check;
use crate::kernel::KernelSpec;
use crate::koopman::{Koopman, KoopmanSpec, Truncation};
use crate::learner::LearnerSpec;
use crate::linalg::evenly_spaced;

/// The way of forecasting with this operator on the scale `units`, with errors on the scale `each`.
pub(super) fn reencoding(
    spec: &DynamicsSpec,
    (operator, units): (&KoopmanSpec, &Units),
    each: &Units,
    x: ArrayView2<'_, f64>,
    next: ArrayView2<'_, f64>,
) -> Result<Reencoding> {
    let params = &spec.params.selection;
    let rows = evenly_spaced(x.nrows(), params.reencoded_pairs);
    // Powers of a linear map are exact, and steps under inputs are single ones; mixtures judge powers themselves.
    let is_linear =
        matches!(operator.kernel, KernelSpec::Polynomial { degree: 1, .. } | KernelSpec::Linear {});
    let is_plain = !is_linear
        && operator.control.is_none()
        && operator.rank.is_none()
        && spec.horizons.is_empty()
        && matches!(operator.learner, LearnerSpec::Ridge(_))
        && rows.len() >= params.few_pairs;
    if !is_plain {
        return Ok(Reencoding::default());
    }
    let blocks = spec.delays.blocks();
    let held_out = HeldOut {
        params,
        scales: [units, each],
        x,
        next,
        blocks,
        is_one_delay: is_one_delay(x, next, blocks),
    };
    let count = rows.len();
    let mut ways: Vec<Way> = Vec::new();
    for between in [false, true] {
        let is_held_out = |i: usize| if between { i % 2 == 1 } else { i * params.blocks / count % 2 == 1 };
        let places = |held_out: bool| -> Vec<usize> {
            let all = rows.iter().enumerate().filter(|(i, _)| is_held_out(*i) == held_out);
            all.map(|(_, row)| *row).collect()
        };
        let Some(model) = held_out.learned(operator, &places(false))? else {
            return Ok(Reencoding::default());
        };
        held_out.add_errors(&model, &places(true), &mut ways)?;
    }
    Ok(best(params, &ways, held_out.is_one_delay))
}

/// Squared errors of one way of forecasting as shares of those of persistence, over all horizons.
struct Way {
    every: usize,
    errors: Vec<f64>,
}

/// The way with the least errors, if it is clearly better than powers, and over no horizon clearly worse.
fn best(params: &OperatorSelectionParams, ways: &[Way], is_one_delay: bool) -> Reencoding {
    let Some(powers) = ways.iter().find(|way| way.every == 0) else { return Reencoding::default() };
    let bounded = |error: f64| error.clamp(params.exact * params.exact, params.lost).ln();
    let mean = |way: &Way| way.errors.iter().copied().map(bounded).sum::<f64>() / way.errors.len() as f64;
    let is_not_worse = |way: &Way| {
        let pairs = way.errors.iter().zip(&powers.errors);
        pairs.into_iter().all(|(own, other)| bounded(*own) <= bounded(*other) + params.reencoded[1].ln())
    };
    let limit = mean(powers) + params.reencoded[0].ln();
    let found = ways.iter().filter(|way| way.every > 0 && !way.errors.is_empty() && is_not_worse(way));
    let found = found.min_by(|one, other| mean(one).total_cmp(&mean(other)));
    match found.filter(|way| mean(way) < limit) {
        Some(way) => Reencoding { every: way.every, is_one_delay },
        None => Reencoding::default(),
    }
}

/// Rows learned and forecast.
struct HeldOut<'a> {
    params: &'a OperatorSelectionParams,
    /// Those of the operator, and those of the errors.
    scales: [&'a Units; 2],
    x: ArrayView2<'a, f64>,
    next: ArrayView2<'a, f64>,
    blocks: usize,
    is_one_delay: bool,
}

impl HeldOut<'_> {
    /// Kernel, dictionary and learner that have learned these rows; `None` if they cannot.
    fn learned(&self, operator: &KoopmanSpec, rows: &[usize]) -> Result<Option<Koopman>> {
        check()?;
        let mut model = KoopmanSpec {
            kernel: operator.kernel.clone(),
            dictionaries: operator.dictionaries.clone(),
            learner: operator.learner.clone(),
            ..KoopmanSpec::default()
        }
        .build()?;
        let scaled =
            |of: ArrayView2<'_, f64>| self.scales[0].scaled(of.select(Axis(0), rows).view()).into_owned();
        match model.learn(scaled(self.x).view(), scaled(self.next).view()) {
            Err(Error::Interrupted) => Err(Error::Interrupted),
            learned => Ok(learned.is_ok().then_some(model)),
        }
    }

    /// Adds the errors over all horizons from some of these rows.
    fn add_errors(&self, model: &Koopman, rows: &[usize], ways: &mut Vec<Way>) -> Result<()> {
        let all = [0].into_iter().chain(self.params.reencodings);
        if ways.is_empty() {
            ways.extend(all.map(|every| Way { every, errors: Vec::new() }));
        }
        for steps in self.params.reencoded_horizons {
            let whole: Vec<usize> =
                rows.iter().copied().filter(|row| are_consecutive(self.x, self.next, *row, steps)).collect();
            let from: Vec<usize> = evenly_spaced(whole.len(), self.params.reencoded_rows)
                .into_iter()
                .map(|i| whole[i])
                .collect();
            let then: Vec<usize> = from.iter().map(|row| row + steps - 1).collect();
            let (still, then) = (self.states(self.x, &from), self.states(self.next, &then));
            let persistence = squared(&(&then - &still));
            // A horizon beyond all trajectories, or states at rest.
            if persistence == 0.0 {
                continue;
            }
            let start = self.scales[0].scaled(self.x.select(Axis(0), &from).view()).into_owned();
            for way in &mut *ways {
                let by = Reencoding { every: way.every, is_one_delay: self.is_one_delay };
                let kept = |states: ArrayView2<'_, f64>, _: usize| vec![false; states.nrows()];
                let made =
                    by.forecast(model, self.blocks, start.view(), &[steps], Truncation::default(), kept);
                let error = match made {
                    Err(Error::Interrupted) => return Err(Error::Interrupted),
                    Err(_) => f64::INFINITY,
                    Ok((_, lost)) if lost.iter().any(|lost| *lost) => f64::INFINITY,
                    Ok((ahead, _)) => {
                        let ahead = self.scales[0].given(ahead.index_axis_move(Axis(0), 0));
                        let ahead = self.scales[1].scaled(ahead.view());
                        squared(&(&ahead.slice(s![.., ..then.ncols()]) - &then)) / persistence
                    }
                };
                way.errors.push(if error.is_nan() { f64::INFINITY } else { error });
            }
        }
        Ok(())
    }

    /// These states without delays, each component on its own scale.
    fn states(&self, of: ArrayView2<'_, f64>, rows: &[usize]) -> Array2<f64> {
        let scaled = self.scales[1].scaled(of.select(Axis(0), rows).view()).into_owned();
        let width = scaled.ncols() / self.blocks;
        scaled.slice_move(s![.., ..width])
    }
}

/// Whether the delays of each next state are the state and its delays but for the last.
fn is_one_delay(x: ArrayView2<'_, f64>, next: ArrayView2<'_, f64>, blocks: usize) -> bool {
    let width = next.ncols() / blocks;
    let kept = next.ncols() - width;
    blocks > 1 && x.slice(s![.., ..kept]) == next.slice(s![.., width..])
}
