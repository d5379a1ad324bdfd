//! Which stored point makes room for a new one.

use crate::random::below;

/// The place of the point that leaves after `n_removed` others, of `n`, each as likely.
pub(super) fn draw(seed: u64, n_removed: u64, n: usize) -> usize {
    usize::try_from(below(seed, n_removed, n as u64)).unwrap_or(0)
}

/// The place of the point stored longest: points leave in the order in which they came, each new one
/// taking the place that got free.
pub(super) fn oldest(n_removed: u64, n: usize) -> usize {
    usize::try_from(n_removed % n.max(1) as u64).unwrap_or(0)
}

/// The place of the point whose removal costs least once the new point, of similarity `new` to itself
/// and `k` to the stored ones, stands in for it as well as it can: the first smallest
/// `sum_c a_ic^2 (k_ii - k_i^2 / new)` (Wang and Vucetic, 2010, BPA-S).
pub(super) fn cheapest(own: &[f64], k: &[f64], new: f64, squared: impl Fn(usize) -> f64) -> usize {
    let mut best = (0, f64::INFINITY);
    for (i, (own, k)) in own.iter().zip(k).enumerate() {
        let cost = squared(i) * (own - k * (k / new)).max(0.0);
        if cost < best.1 {
            best = (i, cost);
        }
    }
    best.0
}
