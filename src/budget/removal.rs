//! Selection of the stored point that is removed for a new one.

use crate::random::below;

/// Index of the point to remove after `n_removed` others, of `n`, uniformly at random.
pub(super) fn draw(seed: u64, n_removed: u64, n: usize) -> usize {
    usize::try_from(below(seed, n_removed, n as u64)).unwrap_or(0)
}

/// Index of the oldest point: points are removed in the order of their arrival, and a new point
/// takes the freed place.
pub(super) fn oldest(n_removed: u64, n: usize) -> usize {
    usize::try_from(n_removed % n.max(1) as u64).unwrap_or(0)
}

/// Index of the point whose removal costs least after compensation by the new point, of similarity
/// `new` to itself and `k` to the stored ones: the first smallest `sum_c a_ic^2 (k_ii - k_i^2 /
/// new)` (Wang and Vucetic, 2010, BPA-S).
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
