//! Shapley values of any function by sampled orders of the players.

use std::ops::Range;

use ndarray::{Array2, Array3, ArrayView2, ArrayViewMut1, Axis, s};

use crate::error::Result;
use crate::random;
use crate::uncertainty::student_quantile;

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
        let mut spreads = Array2::from_elem((shape.1, shape.2), Spread::default());
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
                // What each player adds in each order (orders, p, players); an order and its reverse are neighbours.
                let mut single = Array3::zeros((2 * pairs, shape.1, shape.2));
                for k in 0..pairs {
                    let first = (b * pairs + k) * between;
                    for (half, reversed) in [false, true].into_iter().enumerate() {
                        let first = first + half * (between / 2);
                        for c in 0..shape.1 {
                            let path =
                                (0..between / 2).map(|step| made[(first + step, c)]).chain([ends[(i, c)]]);
                            set_gains(
                                single.slice_mut(s![2 * k + half, c, ..]),
                                in_turn(&orders[b * pairs + k], reversed),
                                starts[(part * at_once + b, c)],
                                path,
                            );
                        }
                    }
                }
                let each = (&single.slice(s![..;2, .., ..]) + &single.slice(s![1..;2, .., ..])) * 0.5;
                let n = background.nrows() as f64;
                let average = each.mean_axis(Axis(0)).unwrap_or_default();
                values.slice_mut(s![i, .., ..]).scaled_add(1.0 / n, &average);
                let shares = 1.0 / (n * n * pairs as f64);
                let (of_pairs, of_orders) = (each.var_axis(Axis(0), 1.0), single.var_axis(Axis(0), 1.0));
                for ((c, player), spread) in spreads.indexed_iter_mut() {
                    let of_pairs = shares * of_pairs[(c, player)];
                    spread.add(of_pairs, shares * 0.5 * of_orders[(c, player)]);
                }
            }
        }
        for ((c, player), spread) in spreads.indexed_iter() {
            errors[(i, c, player)] = spread.standard_error((pairs - 1) as f64);
        }
    }
    Ok(Sampled { values, errors })
}

/// Estimates of the variance of a value, summed over the rows of the background.
#[derive(Clone, Copy, Debug, Default)]
struct Spread {
    /// By the variance of pairs, which are independent.
    of_pairs: f64,
    squares: f64,
    /// By the variance of single orders, as if these were independent.
    of_orders: f64,
}

impl Spread {
    fn add(&mut self, of_pairs: f64, of_orders: f64) {
        self.of_pairs += of_pairs;
        self.squares += of_pairs * of_pairs;
        self.of_orders += of_orders;
    }

    /// The standard error, for which two of it hold as much as two deviations of a normal distribution.
    ///
    /// The variance of pairs, each row's with `degrees` of freedom, has those of F. E. Satterthwaite, "An approximate
    /// distribution of estimates of variance components", 1946. That of single orders counts as one more: a few
    /// pairs may be equal by chance. The factor is the ratio of Student's quantile to the normal one.
    fn standard_error(self, degrees: f64) -> f64 {
        if self.of_pairs <= 0.0 {
            return (self.of_orders / (degrees + 1.0)).sqrt() * factor(degrees);
        }
        let degrees = degrees * self.of_pairs * self.of_pairs / self.squares;
        ((degrees * self.of_pairs + self.of_orders) / (degrees + 1.0)).sqrt() * factor(degrees)
    }
}

/// Student's quantile over the normal one, where this is 2.
fn factor(degrees: f64) -> f64 {
    0.5 * student_quantile(0.954_499_736_103_642, degrees)
}

/// Contribution of each player along a path that ends with all players.
fn set_gains(
    mut gains: ArrayViewMut1<'_, f64>,
    players: impl Iterator<Item = usize>,
    start: f64,
    path: impl Iterator<Item = f64>,
) {
    let mut before = start;
    for (player, after) in players.zip(path) {
        gains[player] = after - before;
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
