//! Logarithms of odds: of scores, and learned as linear functions of few numbers.

use super::Loss;
use super::loss::proximal_shares;

/// Shares nearer to 0 and 1 than this differ as much in the logarithm of their odds as they do at one half.
const EDGE: f64 = 0.01;

/// Largest weight.
const LARGEST: f64 = 1e100;

/// The logarithm of the odds of the share `(1 + score) / 2`, which a score of `2 p - 1` stands for; linear beyond the edges.
pub(crate) fn odds_of_linear(score: f64) -> f64 {
    let share = 0.5 + 0.5 * score;
    let inner = share.clamp(EDGE, 1.0 - EDGE);
    (inner / (1.0 - inner)).ln() + 4.0 * (share - inner)
}

/// The score that [`odds_of_linear`] takes to this.
pub(crate) fn linear_of_odds(odds: f64) -> f64 {
    let edge = ((1.0 - EDGE) / EDGE).ln();
    let inner = odds.clamp(-edge, edge);
    let share = (1.0 + (-inner).exp()).recip() + 0.25 * (odds - inner);
    2.0 * share - 1.0
}

/// The derivative of [`linear_of_odds`].
pub(crate) fn slope_of_linear(odds: f64) -> f64 {
    let edge = ((1.0 - EDGE) / EDGE).ln();
    if odds.abs() < edge { 2.0 * Loss::Logistic.curvature(odds, 1.0) } else { 0.5 }
}

/// The logarithm of the odds of a class as a linear function of `N` terms, whose weights follow the latest rows: online Newton
/// steps on the logarithmic loss.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LogOdds<const N: usize> {
    pub weights: [f64; N],
    /// Second derivatives of the losses so far: the lower triangle.
    pub curvature: [[f64; N]; N],
}

impl<const N: usize> LogOdds<N> {
    /// Initial state: a prior that counts as this many rows of even odds.
    pub fn new(weights: [f64; N], prior: [f64; N]) -> Self {
        let mut curvature = [[0.0; N]; N];
        prior.into_iter().enumerate().for_each(|(i, prior)| curvature[i][i] = 0.25 * prior);
        Self { weights, curvature }
    }

    /// The logarithm of the odds.
    pub fn apply(&self, terms: &[f64; N]) -> f64 {
        self.weights.iter().zip(terms).map(|(weight, term)| weight * term).sum()
    }

    /// Learns the sign of a row, 1 if it is of the class and -1 if not, of positive weight. That of a past row falls by the
    /// factor `memory`, down to the prior. O(N^3), without allocation: 75 ns with 4 terms once the
    /// curvature is that of about a hundred rows.
    pub fn learn(&mut self, terms: &[f64; N], sign: f64, weight: f64, memory: f64, prior: [f64; N]) {
        let log_odds = self.apply(terms);
        self.curvature.iter_mut().flatten().for_each(|sum| *sum *= memory);
        for (i, prior) in prior.into_iter().enumerate() {
            self.curvature[i][i] += 0.25 * prior * (1.0 - memory);
        }
        // An implicit step: one row of a large weight passes no minimum.
        let Some((step, square)) = solve(&self.curvature, *terms) else { return };
        let scale = weight * square;
        if !(scale.is_finite() && log_odds.is_finite()) {
            return;
        }
        let [right, wrong] = proximal_shares(sign * log_odds, scale);
        let (slope, bend) = (-sign * wrong, weight * (right * wrong));
        for i in 0..N {
            for j in 0..=i {
                self.curvature[i][j] += bend * (terms[i] * terms[j]);
            }
        }
        self.weights.iter_mut().zip(step).for_each(|(to, step)| *to -= weight * slope * step);
    }

    /// Whether learning can reach this state.
    pub fn is_sound(&self) -> bool {
        self.weights.iter().all(|weight| weight.abs() <= LARGEST)
            && solve(&self.curvature, [0.0; N]).is_some()
    }

    /// Numbers of its state.
    pub const NUMBERS: usize = N + N * (N + 1) / 2;

    /// Its state: the weights, then the lower triangle, by rows.
    pub fn numbers(&self) -> Vec<f64> {
        let triangle = self.curvature.iter().enumerate().flat_map(|(i, row)| &row[..=i]);
        self.weights.iter().chain(triangle).copied().collect()
    }

    /// Resumes from such a state.
    pub fn resume(&mut self, numbers: &[f64]) {
        self.weights.iter_mut().zip(numbers).for_each(|(to, from)| *to = *from);
        self.set_triangle(numbers.get(N..).unwrap_or_default());
    }

    /// Sets the triangle from the values.
    pub fn set_triangle(&mut self, values: &[f64]) {
        let places = self.curvature.iter_mut().enumerate().flat_map(|(i, row)| row[..=i].iter_mut());
        places.zip(values).for_each(|(to, from)| *to = *from);
    }
}

/// Solves `A x = right` with a positive definite matrix, given by its lower triangle, by its factors `L D L'`: `x`, and
/// `right' x`. `None` if it is not positive definite. As stable as Cholesky's factor, without roots and with `N` divisions.
fn solve<const N: usize>(matrix: &[[f64; N]; N], right: [f64; N]) -> Option<([f64; N], f64)> {
    let (mut rest, mut x, mut square) = (*matrix, right, 0.0);
    let mut inverse = [0.0; N];
    for j in 0..N {
        inverse[j] = rest[j][j].recip();
        if !(inverse[j] > 0.0 && inverse[j].is_finite()) {
            return None;
        }
        let column = rest.map(|row| row[j]);
        for i in j + 1..N {
            let factor = column[i] * inverse[j];
            let row = rest[i][j + 1..=i].iter_mut().zip(&column[j + 1..]);
            row.for_each(|(to, from)| *to -= factor * from);
            x[i] -= factor * x[j];
        }
        square += x[j] * (x[j] * inverse[j]);
    }
    for i in (0..N).rev() {
        let above: f64 = (i + 1..N).map(|k| rest[k][i] * x[k]).sum();
        x[i] = (x[i] - above) * inverse[i];
    }
    Some((x, square))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_and_odds_are_each_others_inverse() {
        for k in -300..=300 {
            let score = f64::from(k) / 100.0;
            assert!((linear_of_odds(odds_of_linear(score)) - score).abs() < 1e-12);
            let h = 1e-6;
            let odds = f64::from(k) / 40.0;
            let slope = (linear_of_odds(odds + h) - linear_of_odds(odds - h)) / (2.0 * h);
            assert!((slope - slope_of_linear(odds)).abs() < 1e-6, "{odds}");
        }
    }

    #[test]
    fn systems_are_solved() {
        let lower = [4.0, 1.0, 3.0, 0.5, -0.2, 2.0, 0.1, 0.3, -0.4, 1.5];
        let mut all = LogOdds::new([0.0; 4], [0.0; 4]);
        all.set_triangle(&lower);
        assert_eq!(all.numbers()[4..], lower);
        let right = [1.0, -2.0, 0.5, 3.0];
        let (x, square) = solve(&all.curvature, right).unwrap();
        assert!((square - right.iter().zip(x).map(|(right, x)| right * x).sum::<f64>()).abs() < 1e-12);
        let at = |i: usize, j: usize| all.curvature[i.max(j)][i.min(j)];
        for (i, right) in right.into_iter().enumerate() {
            assert!(((0..4).map(|j| at(i, j) * x[j]).sum::<f64>() - right).abs() < 1e-12);
        }
        all.set_triangle(&[1.0, 2.0, 1.0]);
        assert!(!all.is_sound());
    }
}
