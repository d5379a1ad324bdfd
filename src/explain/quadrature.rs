//! Gauss-Legendre quadrature on the interval from 0 to 1.

/// Nodes and weights of the rule with `n` nodes, which integrates polynomials of degree `2 n - 1` exactly: the roots of
/// the Legendre polynomial, by Newton's method.
pub(super) fn gauss_legendre(n: usize) -> Vec<[f64; 2]> {
    (0..n)
        .map(|i| {
            let mut x = (std::f64::consts::PI * (i as f64 + 0.75) / (n as f64 + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..50 {
                let (value, derivative) = legendre(n, x);
                slope = derivative;
                let step = value / derivative;
                x -= step;
                if step.abs() < 1e-16 {
                    break;
                }
            }
            [0.5 * (1.0 + x), ((1.0 - x * x) * slope * slope).recip()]
        })
        .collect()
}

/// The Legendre polynomial of degree `n` at `x`, inside the interval from -1 to 1, and its derivative.
fn legendre(n: usize, x: f64) -> (f64, f64) {
    let (mut before, mut value) = (1.0, x);
    for k in 2..=n {
        let k = k as f64;
        (before, value) = (value, ((2.0 * k - 1.0) * x * value - (k - 1.0) * before) / k);
    }
    (value, n as f64 * (x * value - before) / (x * x - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_are_integrated_exactly() {
        for n in [1, 2, 3, 6, 13, 40] {
            let rule = gauss_legendre(n);
            for degree in 0..2 * n {
                let power = i32::try_from(degree).unwrap();
                let sum: f64 = rule.iter().map(|[t, weight]| weight * t.powi(power)).sum();
                assert!((sum * (degree + 1) as f64 - 1.0).abs() < 1e-13 * (n as f64), "{n} {degree} {sum}");
            }
        }
    }
}
