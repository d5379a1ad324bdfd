//! Pairs that are held out while an operator learns the others, and the errors of its forecasts of them.

use ndarray::{Array2, Array3, ArrayView2, Axis, s};

use crate::dynamics::Units;
use crate::error::{Error, Result};
use crate::interrupt::check;
use crate::koopman::{Koopman, KoopmanSpec};

/// The rows that are learned and those that are held out: every other one of this number of blocks, or `between` the others
/// every other row.
pub(super) fn parted(rows: &[usize], blocks: usize, between: bool) -> [Vec<usize>; 2] {
    let is_held_out = |i: usize| if between { i % 2 == 1 } else { i * blocks / rows.len() % 2 == 1 };
    [false, true].map(|held_out| {
        let all = rows.iter().enumerate().filter(|(i, _)| is_held_out(*i) == held_out);
        all.map(|(_, row)| *row).collect()
    })
}

/// Kernel, dictionary and learner of the operator that have learned these rows of pairs on the scale `units`; `None` if
/// they cannot.
pub(super) fn learned(
    operator: &KoopmanSpec,
    units: &Units,
    [x, next]: [ArrayView2<'_, f64>; 2],
    rows: &[usize],
) -> Result<Option<Koopman>> {
    check()?;
    let mut model = KoopmanSpec {
        kernel: operator.kernel.clone(),
        dictionaries: operator.dictionaries.clone(),
        learner: operator.learner.clone(),
        ..KoopmanSpec::default()
    }
    .build()?;
    match model.learn(scaled(units, x, rows).view(), scaled(units, next, rows).view()) {
        Err(Error::Interrupted) => Err(Error::Interrupted),
        learned => Ok(learned.is_ok().then_some(model)),
    }
}

/// These rows on this scale.
pub(super) fn scaled(units: &Units, of: ArrayView2<'_, f64>, rows: &[usize]) -> Array2<f64> {
    units.scaled(of.select(Axis(0), rows).view()).into_owned()
}

/// The same of states without delays, which have this width.
pub(super) fn states(units: &Units, of: ArrayView2<'_, f64>, rows: &[usize], width: usize) -> Array2<f64> {
    scaled(units, of, rows).slice_move(s![.., ..width])
}

/// The squared error of forecasts (1, n, d with delays) on the scale `own` of the states `then` (n, d) on the scale `each`, as
/// a share of that of persistence: infinite where there are none.
pub(super) fn share_of_persistence(
    ahead: Result<Array3<f64>>,
    [own, each]: [&Units; 2],
    then: &Array2<f64>,
    persistence: f64,
) -> Result<f64> {
    let error = match ahead {
        Err(Error::Interrupted) => return Err(Error::Interrupted),
        Err(_) => f64::INFINITY,
        Ok(ahead) => {
            let ahead = own.given(ahead.index_axis_move(Axis(0), 0));
            let ahead = each.scaled(ahead.view());
            squared(&(&ahead.slice(s![.., ..then.ncols()]) - then)) / persistence
        }
    };
    Ok(if error.is_nan() { f64::INFINITY } else { error })
}

/// Those of these rows from which on this number of pairs follow each other in one trajectory.
pub(super) fn with_successors(
    [x, next]: [ArrayView2<'_, f64>; 2],
    rows: &[usize],
    steps: usize,
) -> Vec<usize> {
    let follow = |row: usize| {
        row + steps <= x.nrows()
            && (row..row + steps - 1).all(|i| {
                let (then, now) = (next.row(i), x.row(i + 1));
                then.iter().zip(now).all(|(then, now)| then.to_bits() == now.to_bits())
            })
    };
    rows.iter().copied().filter(|row| follow(*row)).collect()
}

pub(super) fn squared(values: &Array2<f64>) -> f64 {
    values.iter().map(|value| value * value).sum()
}
