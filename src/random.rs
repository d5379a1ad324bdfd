//! Random numbers by their place in a sequence.
//!
//! There is no state but a count, so what is drawn does not depend on how a stream is cut, and nothing
//! but the count has to be saved.

use std::f64::consts::TAU;

/// Output `count + 1` of `SplitMix64` (Steele, Lea and Flood, 2014) with this seed.
pub(crate) fn bits(seed: u64, count: u64) -> u64 {
    let mut z = seed.wrapping_add(count.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A number from 0 to below 1, each of the multiples of 2^-53 as likely.
pub(crate) fn uniform(seed: u64, count: u64) -> f64 {
    (bits(seed, count) >> 11) as f64 * (-53.0_f64).exp2()
}

/// A number below `n`, each as likely to `n / 2^64` (Lemire, 2019, without the rejection).
pub(crate) fn below(seed: u64, count: u64, n: u64) -> u64 {
    u64::try_from((u128::from(bits(seed, count)) * u128::from(n)) >> 64).unwrap_or(0)
}

/// A standard normal number (Box and Muller, 1958), from the uniform ones at `2 count` and after it.
pub(crate) fn normal(seed: u64, count: u64) -> f64 {
    // 1 - u is above 0.
    let radius = (-2.0 * (1.0 - uniform(seed, 2 * count)).ln()).sqrt();
    radius * (TAU * uniform(seed, 2 * count + 1)).cos()
}

/// Rows in an order drawn by a seed (Fisher and Yates, 1938).
pub(crate) fn permutation(n: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        let other = below(seed, i as u64, i as u64 + 1);
        order.swap(i, usize::try_from(other).unwrap_or(i));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_published_and_spread_as_they_should() {
        // The first output for seed 0 is e220a8397b1dcdaf.
        assert_eq!(bits(0, 0), 0xe220_a839_7b1d_cdaf);
        let n = 40_000;
        let moments = |draw: &dyn Fn(u64) -> f64| {
            let mean = (0..n).map(draw).sum::<f64>() / n as f64;
            (mean, (0..n).map(|t| (draw(t) - mean).powi(2)).sum::<f64>() / n as f64)
        };
        let (mean, variance) = moments(&|t| uniform(7, t));
        assert!((mean - 0.5).abs() < 0.01 && (variance - 1.0 / 12.0).abs() < 2e-3);
        let (mean, variance) = moments(&|t| normal(7, t));
        assert!(mean.abs() < 0.025 && (variance - 1.0).abs() < 0.04);
        let fourth = (0..n).map(|t| normal(7, t).powi(4)).sum::<f64>() / n as f64;
        assert!((fourth - 3.0).abs() < 0.25);
        let mut counts = [0_u32; 7];
        (0..70_000).for_each(|t| counts[usize::try_from(below(3, t, 7)).unwrap_or(0)] += 1);
        assert!(counts.iter().all(|n| n.abs_diff(10_000) < 470), "{counts:?}");
    }
}
