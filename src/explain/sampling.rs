//! Shapley values of any function by sampled orders of the players.

use std::ops::Range;

use ndarray::{Array2, Array3, ArrayView2, ArrayViewMut1, Axis, s};

use crate::error::Result;
use crate::random;

/// Rows that are predicted at once.
const ROWS: usize = 4096;

/// Gives the outputs (n, p) of rows (n, d).
pub(super) type Function<'a> = dyn Fn(ArrayView2<'_, f64>) -> Result<Array2<f64>> + 'a;

/// Values and their standard errors (n, p, players).
pub(super) struct Sampled {
    pub values: Array3<f64>,
    pub errors: Array3<f64>,
}

/// Shapley values of rows `x` against the mean over `background`, each of whose rows has `pairs` random orders of the players
/// and as many reversed ones (antithetic sampling: Mitchell, Cooper, Frank and Holmes, "Sampling permutations for Shapley
/// value estimation", 2022). The orders depend on the seed alone. They add up to `f(x) - mean f(b)` whatever the orders.
pub(super) fn sampled(
    function: &Function<'_>,
    x: ArrayView2<'_, f64>,
    background: ArrayView2<'_, f64>,
    players: &[Range<usize>],
    pairs: usize,
    seed: u64,
) -> Result<Sampled> {
    let (ends, starts) = (function(x)?, function(background)?);
    let shape = (x.nrows(), ends.ncols(), players.len());
    let (mut values, mut errors) = (Array3::zeros(shape), Array3::zeros(shape));
    let orders: Vec<Vec<usize>> =
        (0..background.nrows() * pairs).map(|i| order(players.len(), seed, i)).collect();
    // Rows between the first and the last of a pair of orders.
    let between = 2 * players.len().saturating_sub(1);
    let at_once = (ROWS / (between * pairs).max(1)).max(1);
    for (i, row) in x.rows().into_iter().enumerate() {
        for (part, some) in background.axis_chunks_iter(Axis(0), at_once).enumerate() {
            let mut mixed = Array2::zeros((some.nrows() * pairs * between, x.ncols()));
            let mut rows = mixed.rows_mut().into_iter();
            let orders = &orders[part * at_once * pairs..][..some.nrows() * pairs];
            for (k, order) in orders.iter().enumerate() {
                let before = some.row(k / pairs);
                for reversed in [false, true] {
                    for taken in 1..players.len() {
                        let Some(mut to) = rows.next() else { break };
                        to.assign(&before);
                        for player in in_turn(order, reversed).take(taken) {
                            let columns = s![players[player].clone()];
                            to.slice_mut(columns).assign(&row.slice(columns));
                        }
                    }
                }
            }
            let made = if between > 0 { function(mixed.view())? } else { Array2::zeros((0, shape.1)) };
            for b in 0..some.nrows() {
                let mut each = Array3::zeros((pairs, shape.1, shape.2));
                for k in 0..pairs {
                    let first = (b * pairs + k) * between;
                    for (half, reversed) in [false, true].into_iter().enumerate() {
                        let first = first + half * (between / 2);
                        for c in 0..shape.1 {
                            let path =
                                (0..between / 2).map(|step| made[(first + step, c)]).chain([ends[(i, c)]]);
                            let gains = each.slice_mut(s![k, c, ..]);
                            add_gains(
                                gains,
                                in_turn(&orders[b * pairs + k], reversed),
                                starts[(part * at_once + b, c)],
                                path,
                            );
                        }
                    }
                }
                let n = background.nrows() as f64;
                let average = each.mean_axis(Axis(0)).unwrap_or_default();
                values.slice_mut(s![i, .., ..]).scaled_add(1.0 / n, &average);
                let spread = each.var_axis(Axis(0), 1.0) / pairs as f64;
                errors.slice_mut(s![i, .., ..]).scaled_add(1.0 / (n * n), &spread);
            }
        }
    }
    errors.mapv_inplace(f64::sqrt);
    Ok(Sampled { values, errors })
}

/// Half of the contribution of each player along a path that ends with all players.
fn add_gains(
    mut gains: ArrayViewMut1<'_, f64>,
    players: impl Iterator<Item = usize>,
    start: f64,
    path: impl Iterator<Item = f64>,
) {
    let mut before = start;
    for (player, after) in players.zip(path) {
        gains[player] += 0.5 * (after - before);
        before = after;
    }
}

fn in_turn(order: &[usize], reversed: bool) -> impl Iterator<Item = usize> + '_ {
    (0..order.len()).map(move |i| order[if reversed { order.len() - 1 - i } else { i }])
}

/// A random order of the players (Fisher and Yates), the `number`-th of a seed.
fn order(players: usize, seed: u64, number: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..players).collect();
    let seed = random::bits(seed, number as u64);
    for i in (1..players).rev() {
        let j = random::below(seed, i as u64, i as u64 + 1);
        order.swap(i, usize::try_from(j).unwrap_or(i));
    }
    order
}
