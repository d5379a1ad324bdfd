//! From scores to the logarithms of odds.

use crate::error::{Error, Result};
use crate::learner::Loss;
use crate::persist::{Reader, Writer};

/// Shares nearer to 0 and 1 than this differ as much in the logarithm of their odds as they do at one half.
const EDGE: f64 = 0.01;

/// The weight of a past row falls by this factor each row: of some three thousand.
const MEMORY: f64 = 0.9997;

/// Logarithms of odds beyond which the scale is another one, to either side: where a score says that a class is nearly
/// sure, labels are often wrong for another reason, and where it does not, models are shyer than need be.
const SURE: f64 = 2.0;

/// How sure it is of scale and offset before the first row, and of the scales beyond being the same, in rows of even odds.
const PRIOR: [f64; TERMS] = [16.0, 16.0, 64.0, 64.0];

/// The least scale: a larger score is always a larger probability.
const LEAST: f64 = 0.05;

/// Scale, offset, and what the scales above and below add to that between.
const TERMS: usize = 4;

/// Numbers of a symmetric matrix of that size.
const PAIRS: usize = TERMS * (TERMS + 1) / 2;

/// Numbers of a calibration, and of one in an older file, which had one scale.
const NUMBERS: usize = TERMS + PAIRS;
const FORMER: usize = 5;

/// The logarithm of the odds of a class, given what a score stands for: `a x + b` with the logarithm `x` of the odds by
/// the score, and `a` and `b` learned from how it went before; beyond odds of seven to one the slope may be another than
/// `a`.
///
/// Logistic recalibration (D. R. Cox, "Two further applications of a model for binary regression", Biometrika, 1958),
/// piecewise linear, learned by online Newton steps on the logarithmic loss.
#[derive(Clone, Debug)]
pub(super) struct Calibration {
    weights: [f64; TERMS],
    /// Second derivatives of the losses so far: the lower triangle, by rows.
    curvature: [f64; PAIRS],
}

impl Calibration {
    pub fn new() -> Self {
        let mut curvature = [0.0; PAIRS];
        diagonal(&mut curvature).zip(PRIOR).for_each(|(sum, prior)| *sum = 0.25 * prior);
        Self { weights: [1.0, 0.0, 0.0, 0.0], curvature }
    }

    /// The logarithm of the odds, given that by the score.
    pub fn apply(&self, odds: f64) -> f64 {
        self.weights.iter().zip(terms(odds)).map(|(weight, term)| weight * term).sum()
    }

    /// Learns the sign of a row, 1 if it is of the class and -1 if not, which counts `weight` times: the logarithm of
    /// the odds before.
    pub fn learn(&mut self, odds: f64, sign: f64, weight: f64) -> f64 {
        let (terms, log_odds) = (terms(odds), self.apply(odds));
        if weight > 0.0 {
            self.curvature.iter_mut().for_each(|sum| *sum *= MEMORY);
            diagonal(&mut self.curvature)
                .zip(PRIOR)
                .for_each(|(sum, prior)| *sum += 0.25 * prior * (1.0 - MEMORY));
            // An implicit step: one row of a large weight passes no minimum.
            if let Some(step) = solve(&self.curvature, terms) {
                let scale = weight * step.iter().zip(terms).map(|(step, term)| step * term).sum::<f64>();
                let slope = Loss::Logistic.proximal_slope(log_odds, sign, scale);
                let bend = weight * Loss::Logistic.curvature(log_odds - scale * slope, sign);
                let pairs = (0..TERMS).flat_map(|i| (0..=i).map(move |j| terms[i] * terms[j]));
                self.curvature.iter_mut().zip(pairs).for_each(|(sum, pair)| *sum += bend * pair);
                self.weights.iter_mut().zip(step).for_each(|(to, step)| *to -= weight * slope * step);
            }
            let [scale, _, above, below] = &mut self.weights;
            *scale = scale.max(LEAST);
            (*above, *below) = (above.max(LEAST - *scale), below.max(LEAST - *scale));
        }
        log_odds
    }

    fn state(&self) -> [f64; NUMBERS] {
        let mut numbers = [0.0; NUMBERS];
        numbers[..TERMS].copy_from_slice(&self.weights);
        numbers[TERMS..].copy_from_slice(&self.curvature);
        numbers
    }

    fn of_state(state: &[f64]) -> Self {
        let mut all = Self::new();
        if state.len() == FORMER {
            all.weights[..2].copy_from_slice(&state[..2]);
            all.curvature[..3].copy_from_slice(&state[2..]);
        } else {
            all.weights.copy_from_slice(&state[..TERMS]);
            all.curvature.copy_from_slice(&state[TERMS..]);
        }
        all
    }

    fn is_sound(&self) -> bool {
        let [scale, _, above, below] = self.weights;
        // To rounding: `scale + (LEAST - scale)` may be a little less.
        let least = LEAST - 1e-9 * scale.abs();
        scale >= LEAST
            && scale + above >= least
            && scale + below >= least
            && solve(&self.curvature, [0.0; TERMS]).is_some()
    }

    /// Those of all outputs.
    pub fn write(all: &[Self], out: &mut Writer) {
        let numbers: Vec<f64> = all.iter().flat_map(Self::state).collect();
        out.matrix("labels.calibration", all.len(), NUMBERS, &numbers);
    }

    /// What [`write`](Self::write) wrote of that many outputs.
    pub fn read(outputs: usize, from: &Reader<'_>) -> Result<Vec<Self>> {
        let (n, cols, values) = from.matrix("labels.calibration")?;
        let all: Vec<Self> = match cols {
            FORMER | NUMBERS if n == outputs => values.chunks_exact(cols).map(Self::of_state).collect(),
            _ => Vec::new(),
        };
        if all.len() == outputs && all.iter().all(Self::is_sound) {
            Ok(all)
        } else {
            Err(Error::file("labels.calibration is none"))
        }
    }
}

/// What the logarithm of the odds is linear in.
fn terms(x: f64) -> [f64; TERMS] {
    [x, 1.0, (x - SURE).max(0.0), (x + SURE).min(0.0)]
}

/// The diagonal of a lower triangle.
fn diagonal(matrix: &mut [f64; PAIRS]) -> impl Iterator<Item = &mut f64> {
    matrix.iter_mut().enumerate().filter(|(k, _)| [0, 2, 5, 9].contains(k)).map(|(_, value)| value)
}

/// What a positive definite matrix, given by its lower triangle, takes to `right`: by its Cholesky factor; `None` where it
/// is none.
fn solve(matrix: &[f64; PAIRS], right: [f64; TERMS]) -> Option<[f64; TERMS]> {
    let at = |i: usize, j: usize| i * (i + 1) / 2 + j;
    let (mut factor, mut x) = (*matrix, right);
    for i in 0..TERMS {
        for j in 0..=i {
            let inner: f64 = (0..j).map(|k| factor[at(i, k)] * factor[at(j, k)]).sum();
            let rest = factor[at(i, j)] - inner;
            factor[at(i, j)] = if i > j { rest / factor[at(j, j)] } else { rest.sqrt() };
        }
        if !(factor[at(i, i)] > 0.0 && factor[at(i, i)].is_finite()) {
            return None;
        }
        x[i] = (x[i] - (0..i).map(|k| factor[at(i, k)] * x[k]).sum::<f64>()) / factor[at(i, i)];
    }
    for i in (0..TERMS).rev() {
        let above: f64 = (i + 1..TERMS).map(|k| factor[at(k, i)] * x[k]).sum();
        x[i] = (x[i] - above) / factor[at(i, i)];
    }
    Some(x)
}

/// The logarithm of the odds of the share `(1 + score) / 2`, which a score of `2 p - 1` stands for; straight on beyond the
/// edges.
pub(super) fn odds_of_linear(score: f64) -> f64 {
    let share = 0.5 + 0.5 * score;
    let inner = share.clamp(EDGE, 1.0 - EDGE);
    (inner / (1.0 - inner)).ln() + 4.0 * (share - inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::uniform;

    /// Scores, and signs whose log-odds are `scale odds_of_linear(score) + offset`.
    fn stream(n: u64, scale: f64, offset: f64) -> impl Iterator<Item = (f64, f64)> {
        (0..n).map(move |t| {
            let score = 2.4 * uniform(3, t) - 1.2;
            let p = (1.0 + (-scale * odds_of_linear(score) - offset).exp()).recip();
            (score, if uniform(4, t) < p { 1.0 } else { -1.0 })
        })
    }

    #[test]
    fn scale_and_offset_are_found_and_followed() {
        let mut calibration = Calibration::new();
        for (scale, offset) in [(1.7, -0.8), (0.6, 0.5)] {
            stream(20_000, scale, offset).for_each(|(score, sign)| {
                calibration.learn(odds_of_linear(score), sign, 1.0);
            });
            assert!((calibration.weights[0] - scale).abs() < 0.25, "{calibration:?}");
            assert!((calibration.weights[1] - offset).abs() < 0.15, "{calibration:?}");
        }
    }

    #[test]
    fn scales_where_scores_are_sure_are_found() {
        let mut calibration = Calibration::new();
        for t in 0..20_000 {
            let x = 10.0 * uniform(5, t) - 5.0;
            let score = 2.0 / (1.0 + (-x).exp()) - 1.0;
            let right = x + 0.5 * (x - 2.0).max(0.0) - 0.8 * (x + 2.0).min(0.0);
            let p = (1.0 + (-right).exp()).recip();
            calibration.learn(odds_of_linear(score), if uniform(6, t) < p { 1.0 } else { -1.0 }, 1.0);
        }
        let [scale, _, above, below] = calibration.weights;
        assert!((scale - 1.0).abs() < 0.2 && (above - 0.5).abs() < 0.3, "{calibration:?}");
        assert!((below + 0.8).abs() < 0.2, "{calibration:?}");
    }

    #[test]
    fn systems_are_solved() {
        let matrix = [4.0, 1.0, 3.0, 0.5, -0.2, 2.0, 0.1, 0.3, -0.4, 1.5];
        let x = solve(&matrix, [1.0, -2.0, 0.5, 3.0]).unwrap();
        let at = |i: usize, j: usize| matrix[i.max(j) * (i.max(j) + 1) / 2 + i.min(j)];
        for (i, right) in [1.0, -2.0, 0.5, 3.0].into_iter().enumerate() {
            assert!(((0..4).map(|j| at(i, j) * x[j]).sum::<f64>() - right).abs() < 1e-12);
        }
        assert!(solve(&[1.0, 2.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0], [0.0; 4]).is_none());
    }

    #[test]
    fn calibrations_of_older_files_have_one_scale() {
        let older = Calibration::of_state(&[1.5, 0.3, 20.0, 2.0, 15.0]);
        assert!(older.is_sound());
        assert!((older.apply(odds_of_linear(0.999)) - 1.5 * odds_of_linear(0.999) - 0.3).abs() < 1e-12);
        let all = Calibration::of_state(&older.state());
        assert_eq!(all.state().map(f64::to_bits), older.state().map(f64::to_bits));
    }

    #[test]
    fn larger_scores_are_larger_odds_even_if_the_stream_says_otherwise() {
        let mut calibration = Calibration::new();
        stream(5000, -2.0, 0.0).for_each(|(score, sign)| {
            calibration.learn(odds_of_linear(score), sign, 1.0);
        });
        let odds: Vec<f64> =
            (-30..=30).map(|k| calibration.apply(odds_of_linear(f64::from(k) / 10.0))).collect();
        assert!(odds.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn a_row_of_a_large_weight_is_met_and_not_passed() {
        for weight in [1e3, 1e6, 1e12] {
            let mut calibration = Calibration::new();
            stream(200, 1.0, 0.0).for_each(|(score, sign)| {
                calibration.learn(odds_of_linear(score), sign, 1.0);
            });
            calibration.learn(odds_of_linear(0.9), -1.0, weight);
            let met = calibration.apply(odds_of_linear(0.9));
            assert!((-40.0..0.0).contains(&met), "{weight}: {met}");
            calibration.learn(odds_of_linear(0.9), 1.0, weight);
            assert!(
                calibration.apply(odds_of_linear(0.9)).abs() < 40.0 && calibration.is_sound(),
                "{weight}"
            );
        }
    }

    #[test]
    fn rows_without_weight_teach_nothing() {
        let (mut one, mut other) = (Calibration::new(), Calibration::new());
        for (i, (score, sign)) in stream(100, 2.0, 1.0).enumerate() {
            let before = one.apply(odds_of_linear(score));
            assert_eq!(one.learn(odds_of_linear(score), sign, 1.0).to_bits(), before.to_bits());
            other.learn(odds_of_linear(score), sign, 1.0);
            other.learn(odds_of_linear(i as f64), -sign, 0.0);
        }
        assert_eq!(one.state().map(f64::to_bits), other.state().map(f64::to_bits));
    }
}
