//! From scores to the logarithms of odds.

use crate::error::{Error, Result};
use crate::learner::Loss;
use crate::persist::{Reader, Writer};

/// Shares nearer to 0 and 1 than this differ as much in the logarithm of their odds as they do at one half.
const EDGE: f64 = 0.01;

/// The weight of a past row falls by this factor each row: of some three thousand.
const MEMORY: f64 = 0.9997;

/// How sure it is of scale and offset before the first row, in rows of even odds.
const PRIOR: f64 = 16.0;

/// The least scale: a larger score is always a larger probability.
const LEAST: f64 = 0.05;

/// The logarithm of the odds of a class, given a score that is best where it is `2 p - 1`: `a x + b` with the
/// logarithm `x` of the odds of the share `(1 + score) / 2`, and `a` and `b` learned from how it went before.
///
/// Logistic recalibration (D. R. Cox, "Two further applications of a model for binary regression", Biometrika, 1958),
/// learned by online Newton steps on the logarithmic loss.
#[derive(Clone, Debug)]
pub(super) struct Calibration {
    scale: f64,
    offset: f64,
    /// Second derivatives of the losses so far: of the scale, of both, of the offset.
    curvature: [f64; 3],
}

impl Calibration {
    pub fn new() -> Self {
        Self { scale: 1.0, offset: 0.0, curvature: [0.25 * PRIOR, 0.0, 0.25 * PRIOR] }
    }

    /// The logarithm of the odds that a score stands for.
    pub fn apply(&self, score: f64) -> f64 {
        self.scale * raw(score) + self.offset
    }

    /// Learns the sign of a row, 1 if it is of the class and -1 if not, which counts `weight` times: the logarithm of
    /// the odds before.
    pub fn learn(&mut self, score: f64, sign: f64, weight: f64) -> f64 {
        let (x, log_odds) = (raw(score), self.apply(score));
        if weight > 0.0 {
            let bend = weight * Loss::Logistic.curvature(log_odds, sign);
            let prior = 0.25 * PRIOR * (1.0 - MEMORY);
            let added = [bend * x * x + prior, bend * x, bend + prior];
            self.curvature.iter_mut().zip(added).for_each(|(sum, added)| *sum = MEMORY * *sum + added);
            let slope = weight * Loss::Logistic.derivative(log_odds, sign);
            let [a, b, c] = self.curvature;
            let step = slope / (a * c - b * b);
            self.scale = (self.scale - step * (c * x - b)).max(LEAST);
            self.offset -= step * (a - b * x);
        }
        log_odds
    }

    fn state(&self) -> [f64; 5] {
        let [a, b, c] = self.curvature;
        [self.scale, self.offset, a, b, c]
    }

    /// Those of all outputs.
    pub fn write(all: &[Self], out: &mut Writer) {
        out.matrix("labels.calibration", all.len(), 5, &all.iter().flat_map(Self::state).collect::<Vec<_>>());
    }

    /// What [`write`](Self::write) wrote of that many outputs.
    pub fn read(outputs: usize, from: &Reader<'_>) -> Result<Vec<Self>> {
        let values = from.matrix_of("labels.calibration", outputs, 5)?;
        let one = |state: &[f64]| Self {
            scale: state[0],
            offset: state[1],
            curvature: [state[2], state[3], state[4]],
        };
        let all: Vec<Self> = values.chunks_exact(5).map(one).collect();
        let sound = |one: &Self| {
            let [a, b, c] = one.curvature;
            one.scale >= LEAST && a > 0.0 && c > 0.0 && a * c > b * b
        };
        if all.iter().all(sound) { Ok(all) } else { Err(Error::file("labels.calibration is none")) }
    }
}

/// The logarithm of the odds of the share that a score is; straight on beyond the edges.
fn raw(score: f64) -> f64 {
    let share = 0.5 + 0.5 * score;
    let inner = share.clamp(EDGE, 1.0 - EDGE);
    (inner / (1.0 - inner)).ln() + 4.0 * (share - inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::uniform;

    /// Scores, and signs whose log-odds are `scale raw(score) + offset`.
    fn stream(n: u64, scale: f64, offset: f64) -> impl Iterator<Item = (f64, f64)> {
        (0..n).map(move |t| {
            let score = 2.4 * uniform(3, t) - 1.2;
            let p = (1.0 + (-scale * raw(score) - offset).exp()).recip();
            (score, if uniform(4, t) < p { 1.0 } else { -1.0 })
        })
    }

    #[test]
    fn scale_and_offset_are_found_and_followed() {
        let mut calibration = Calibration::new();
        for (scale, offset) in [(1.7, -0.8), (0.6, 0.5)] {
            stream(20_000, scale, offset).for_each(|(score, sign)| {
                calibration.learn(score, sign, 1.0);
            });
            assert!((calibration.scale - scale).abs() < 0.15, "{calibration:?}");
            assert!((calibration.offset - offset).abs() < 0.15, "{calibration:?}");
        }
    }

    #[test]
    fn larger_scores_are_larger_odds_even_if_the_stream_says_otherwise() {
        let mut calibration = Calibration::new();
        stream(5000, -2.0, 0.0).for_each(|(score, sign)| {
            calibration.learn(score, sign, 1.0);
        });
        let odds: Vec<f64> = (-30..=30).map(|k| calibration.apply(f64::from(k) / 10.0)).collect();
        assert!(odds.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn rows_without_weight_teach_nothing() {
        let (mut one, mut other) = (Calibration::new(), Calibration::new());
        for (i, (score, sign)) in stream(100, 2.0, 1.0).enumerate() {
            let before = one.apply(score);
            assert_eq!(one.learn(score, sign, 1.0).to_bits(), before.to_bits());
            other.learn(score, sign, 1.0);
            other.learn(i as f64, -sign, 0.0);
        }
        assert_eq!(one.state().map(f64::to_bits), other.state().map(f64::to_bits));
    }
}
