//! Records that come to rest: which of their rows still show the dynamics. Records that leave their
//! first states for good.

use ndarray::{ArrayView2, Axis};

use crate::dynamics::params::RestParams;

/// Mean squared distance of two rows.
fn squared_scale(x: ArrayView2<'_, f64>) -> f64 {
    2.0 * x.var_axis(Axis(0), 0.0).sum()
}

/// Whether most pairs of states (n, d) and next states (n, d) are at rest. `median`: median
/// distance of two states, if it is not 0.
pub(super) fn rests(
    x: ArrayView2<'_, f64>,
    next: ArrayView2<'_, f64>,
    median: Option<f64>,
    params: &RestParams,
) -> bool {
    let quarter = x.nrows() / 4;
    if quarter == 0 {
        return false;
    }
    let moved = |first: usize| -> f64 {
        let rows = (first..first + quarter).map(|i| {
            let pairs = x.row(i).into_iter().zip(next.row(i));
            pairs.map(|(now, then)| (then - now).powi(2)).sum::<f64>()
        });
        rows.sum()
    };
    let (early, late) = (moved(0), moved(x.nrows() - quarter));
    let scale = squared_scale(x);
    let crowded = median.is_none_or(|median| median * median < params.distance_ratio.powi(2) * scale);
    scale > 0.0 && (late < params.step_ratio * early || crowded)
}

/// Whether a component of all states (n, d) in the last quarter is beyond all in the first half, on one side.
pub(super) fn leaves(x: ArrayView2<'_, f64>) -> bool {
    let (half, quarter) = (x.nrows() / 2, x.nrows() / 4);
    if quarter == 0 {
        return false;
    }
    x.columns().into_iter().any(|column| {
        let early = column.iter().take(half);
        let late = column.iter().skip(x.nrows() - quarter);
        let least = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min);
        let beyond = |sign: f64| {
            least(&mut late.clone().map(|value| sign * value))
                > -least(&mut early.clone().map(|value| -sign * value))
        };
        beyond(1.0) || beyond(-1.0)
    })
}

/// The first `most` rows, in temporal order, that are distant from those before.
pub(super) fn distinct(x: ArrayView2<'_, f64>, most: usize, params: &RestParams) -> Vec<usize> {
    let radius = params.distinct.powi(2) * squared_scale(x);
    let mut kept: Vec<usize> = Vec::new();
    for i in 0..x.nrows() {
        let row = x.row(i);
        let near = |other: &usize| {
            let pairs = row.into_iter().zip(x.row(*other));
            pairs.map(|(a, b)| (a - b).powi(2)).sum::<f64>() <= radius
        };
        if !kept.iter().rev().any(near) {
            kept.push(i);
            if kept.len() == most {
                break;
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, s};

    use super::*;
    use crate::random::normal;

    fn pairs(states: &Array2<f64>) -> (ArrayView2<'_, f64>, ArrayView2<'_, f64>) {
        (states.slice(s![..-1, ..]), states.slice(s![1.., ..]))
    }

    #[test]
    fn decays_come_to_rest_and_oscillations_do_not() {
        let params = RestParams::default();
        for (modulus, noise) in [(0.95_f64, 0.0), (0.95, 1e-3), (0.9, 0.0), (0.8, 1e-3)] {
            let decay = |(t, _): (usize, usize)| modulus.powf(t as f64) + noise * normal(1, t as u64);
            let decay = Array2::from_shape_fn((400, 1), decay);
            let (x, next) = pairs(&decay);
            assert!(rests(x, next, Some(1.0), &params), "{modulus}, {noise}");
            let kept = distinct(x, 400, &params);
            // None of those at rest, but for noise at the end of the decay.
            assert!(kept.len() > 8 && kept.iter().all(|i| *i < 200), "{kept:?}");
        }
        let waves = Array2::from_shape_fn((400, 1), |(t, _)| (0.3 * t as f64).sin());
        let ramp = Array2::from_shape_fn((400, 1), |(t, _)| t as f64);
        let noise = Array2::from_shape_fn((400, 1), |(t, _)| normal(2, t as u64));
        for states in [waves, ramp, noise] {
            let (x, next) = pairs(&states);
            assert!(!rests(x, next, Some(squared_scale(x).sqrt() / 2.0), &params));
        }
    }

    #[test]
    fn ramps_leave_their_first_states_and_others_return() {
        // A number of the row and noise.
        let record = |of: &dyn Fn(f64, f64) -> f64| {
            let ramp = |t: usize| of(t as f64, normal(2, t as u64));
            Array2::from_shape_fn((100, 2), |(t, j)| if j == 0 { normal(1, t as u64) } else { ramp(t) })
        };
        let ramps: [&dyn Fn(f64, f64) -> f64; 4] =
            [&|t, _| t, &|t, _| -3.0 * t, &|t, _| 1.05_f64.powf(t), &|t, e| t + 3.0 * e];
        let others: [&dyn Fn(f64, f64) -> f64; 4] =
            [&|_, _| 1.0, &|t, _| (0.3 * t).sin(), &|_, e| e, &|t, e| t + 50.0 * e];
        assert!(ramps.iter().all(|of| leaves(record(of).view())));
        assert!(!others.iter().any(|of| leaves(record(of).view())));
        assert!(!leaves(record(&|t, _| t).slice(s![..3, ..])));
    }
}
