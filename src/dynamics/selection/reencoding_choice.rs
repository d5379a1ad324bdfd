//! Whether, and how often, forecasts begin again from the state forecast.
//!
//! The operator selected learns one part of the rows, and forecasts the others over several steps, by powers and beginning
//! again after few to many of them. Powers, which alone are the expectation of a stochastic system, are kept unless
//! another way is clearly better.

use ndarray::{ArrayView2, s};

use super::held_out::{self, squared};
use crate::dynamics::params::OperatorSelectionParams;
use crate::dynamics::{DynamicsSpec, Reencoding, Units};
use crate::error::{Error, Result};
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
    let pairs = WayComparison {
        params,
        scales: [units, each],
        x,
        next,
        blocks,
        is_one_delay: is_one_delay(x, next, blocks),
    };
    let mut ways: Vec<Way> = Vec::new();
    for between in [false, true] {
        let [learned, others] = held_out::parted(&rows, params.blocks, between);
        let Some(model) = held_out::learned(operator, units, [x, next], &learned)? else {
            return Ok(Reencoding::default());
        };
        pairs.add_errors(&model, &others, &mut ways)?;
    }
    Ok(best(params, &ways, pairs.is_one_delay))
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
struct WayComparison<'a> {
    params: &'a OperatorSelectionParams,
    /// Those of the operator, and those of the errors.
    scales: [&'a Units; 2],
    x: ArrayView2<'a, f64>,
    next: ArrayView2<'a, f64>,
    blocks: usize,
    is_one_delay: bool,
}

impl WayComparison<'_> {
    /// Adds the errors over all horizons from some of these rows.
    fn add_errors(&self, model: &Koopman, rows: &[usize], ways: &mut Vec<Way>) -> Result<()> {
        let ([own, each], width) = (self.scales, self.next.ncols() / self.blocks);
        let all = [0].into_iter().chain(self.params.reencodings);
        if ways.is_empty() {
            ways.extend(all.map(|every| Way { every, errors: Vec::new() }));
        }
        for steps in self.params.reencoded_horizons {
            let whole = held_out::with_successors([self.x, self.next], rows, steps);
            let from: Vec<usize> = evenly_spaced(whole.len(), self.params.reencoded_rows)
                .into_iter()
                .map(|i| whole[i])
                .collect();
            let then: Vec<usize> = from.iter().map(|row| row + steps - 1).collect();
            let still = held_out::states(each, self.x, &from, width);
            let then = held_out::states(each, self.next, &then, width);
            let persistence = squared(&(&then - &still));
            // A horizon beyond all trajectories, or states at rest.
            if persistence == 0.0 {
                continue;
            }
            let start = held_out::scaled(own, self.x, &from);
            for way in &mut *ways {
                let by = Reencoding { every: way.every, is_one_delay: self.is_one_delay };
                let kept = |states: ArrayView2<'_, f64>, _: usize| vec![false; states.nrows()];
                let made =
                    by.forecast(model, self.blocks, start.view(), &[steps], Truncation::default(), kept);
                let ahead = made.and_then(|(ahead, lost)| {
                    let is_whole = !lost.iter().any(|lost| *lost);
                    is_whole.then_some(ahead).ok_or(Error::NothingLearned)
                });
                let error = held_out::share_of_persistence(ahead, self.scales, &then, persistence)?;
                way.errors.push(error);
            }
        }
        Ok(())
    }
}

/// Whether the delays of each next state are the state and its delays but for the last.
fn is_one_delay(x: ArrayView2<'_, f64>, next: ArrayView2<'_, f64>, blocks: usize) -> bool {
    let width = next.ncols() / blocks;
    let kept = next.ncols() - width;
    blocks > 1 && x.slice(s![.., ..kept]) == next.slice(s![.., width..])
}
