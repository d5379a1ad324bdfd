//! From scores to the logarithms of odds, learned from how earlier predictions went.

use super::LogOdds;
use crate::error::{Error, Result};
use crate::persist::{Reader, Writer};

/// The weight of a past row falls by this factor each row: of some three thousand.
const MEMORY: f64 = 0.9997;

/// Rows that every model counts as having learned before the first.
const FIRST_ROWS: f64 = 16.0;

/// The factor by which the weight of a past row falls after this many: a prediction counts by how many rows it was made
/// from, since those of few rows are right less often than later ones of the same score.
fn memory_after(rows: f64) -> f64 {
    MEMORY.min(1.0 - (rows + FIRST_ROWS).recip())
}

/// Logarithms of odds beyond which the scale is another one, to either side: where a score says that a class is nearly
/// sure, labels are often wrong for another reason, and where it does not, models are shyer than need be.
const SURE: f64 = 2.0;

/// How sure it is of scale and offset before the first row, and of the scales beyond being the same, in rows of even odds.
const PRIOR: [f64; TERMS] = [16.0, 64.0, 64.0, 64.0];

/// The least scale: a larger score is always a larger probability.
const LEAST: f64 = 0.05;

/// Scale, offset, and what the scales above and below add to that between.
const TERMS: usize = 4;

/// Numbers of a calibration, and of one in an older file, which had one scale.
const NUMBERS: usize = LogOdds::<TERMS>::NUMBERS;
const FORMER: usize = 5;

/// The logarithm of the odds of a class, given what a score stands for: `a x + b` with the logarithm `x` of the odds by
/// the score, and `a` and `b` learned from how it went before; beyond odds of seven to one the slope may be another than
/// `a`.
///
/// Logistic recalibration (D. R. Cox, "Two further applications of a model for binary regression", Biometrika, 1958),
/// piecewise linear, learned by online Newton steps on the logarithmic loss.
#[derive(Clone, Debug)]
pub(crate) struct Recalibration(LogOdds<TERMS>);

impl Recalibration {
    pub fn new() -> Self {
        Self(LogOdds::new([1.0, 0.0, 0.0, 0.0], PRIOR))
    }

    /// Scale, offset, and what is added to the scale above and below.
    pub fn weights(&self) -> [f64; TERMS] {
        self.0.weights
    }

    /// The logarithm of the odds, given that by the score.
    pub fn apply(&self, odds: f64) -> f64 {
        self.0.apply(&terms(odds))
    }

    /// The derivative of [`apply`](Self::apply).
    pub fn slope(&self, odds: f64) -> f64 {
        let [scale, _, above, below] = self.0.weights;
        scale + if odds > SURE { above } else { 0.0 } + if odds < -SURE { below } else { 0.0 }
    }

    /// Learns the sign of a row, 1 if it is of the class and -1 if not, which counts `weight` times and comes after `rows`
    /// others: the logarithm of the odds before.
    pub fn learn(&mut self, odds: f64, sign: f64, weight: f64, rows: f64) -> f64 {
        let terms = terms(odds);
        let log_odds = self.0.apply(&terms);
        if weight > 0.0 {
            self.0.learn(&terms, sign, weight, memory_after(rows), PRIOR);
            let [scale, _, above, below] = &mut self.0.weights;
            *scale = scale.max(LEAST);
            (*above, *below) = (above.max(LEAST - *scale), below.max(LEAST - *scale));
        }
        log_odds
    }

    fn of_state(state: &[f64]) -> Self {
        let mut all = Self::new();
        if state.len() == FORMER {
            all.0.weights[..2].copy_from_slice(&state[..2]);
            all.0.set_triangle(&state[2..]);
        } else {
            all.0.resume(state);
        }
        all
    }

    fn is_sound(&self) -> bool {
        let [scale, _, above, below] = self.0.weights;
        // To rounding: `scale + (LEAST - scale)` may be a little less.
        let least = LEAST - 1e-9 * scale.abs();
        scale >= LEAST && scale + above >= least && scale + below >= least && self.0.is_sound()
    }

    /// Those of all outputs.
    pub fn write(name: &str, all: &[Self], out: &mut Writer) {
        let numbers: Vec<f64> = all.iter().flat_map(|one| one.0.numbers()).collect();
        out.matrix(name, all.len(), NUMBERS, &numbers);
    }

    /// What [`write`](Self::write) wrote of that many outputs.
    pub fn read(name: &str, outputs: usize, from: &Reader<'_>) -> Result<Vec<Self>> {
        let (n, cols, values) = from.matrix(name)?;
        let all: Vec<Self> = match cols {
            FORMER | NUMBERS if n == outputs => values.chunks_exact(cols).map(Self::of_state).collect(),
            _ => Vec::new(),
        };
        if all.len() == outputs && all.iter().all(Self::is_sound) {
            Ok(all)
        } else {
            Err(Error::file(format!("{name} is none")))
        }
    }
}

/// What the logarithm of the odds is linear in.
fn terms(x: f64) -> [f64; TERMS] {
    [x, 1.0, (x - SURE).max(0.0), (x + SURE).min(0.0)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::odds_of_linear;
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
        let mut calibration = Recalibration::new();
        for (scale, offset) in [(1.7, -0.8), (0.6, 0.5)] {
            stream(20_000, scale, offset).for_each(|(score, sign)| {
                calibration.learn(odds_of_linear(score), sign, 1.0, 1e9);
            });
            assert!((calibration.0.weights[0] - scale).abs() < 0.25, "{calibration:?}");
            assert!((calibration.0.weights[1] - offset).abs() < 0.15, "{calibration:?}");
        }
    }

    #[test]
    fn scales_where_scores_are_sure_are_found() {
        let mut calibration = Recalibration::new();
        for t in 0..20_000 {
            let x = 10.0 * uniform(5, t) - 5.0;
            let score = 2.0 / (1.0 + (-x).exp()) - 1.0;
            let right = x + 0.5 * (x - 2.0).max(0.0) - 0.8 * (x + 2.0).min(0.0);
            let p = (1.0 + (-right).exp()).recip();
            calibration.learn(odds_of_linear(score), if uniform(6, t) < p { 1.0 } else { -1.0 }, 1.0, 1e9);
        }
        let [scale, _, above, below] = calibration.0.weights;
        assert!((scale - 1.0).abs() < 0.2 && (above - 0.5).abs() < 0.3, "{calibration:?}");
        assert!((below + 0.8).abs() < 0.2, "{calibration:?}");
    }

    #[test]
    fn calibrations_of_older_files_have_one_scale() {
        let older = Recalibration::of_state(&[1.5, 0.3, 20.0, 2.0, 15.0]);
        assert!(older.is_sound());
        assert!((older.apply(odds_of_linear(0.999)) - 1.5 * odds_of_linear(0.999) - 0.3).abs() < 1e-12);
        let all = Recalibration::of_state(&older.0.numbers());
        assert_eq!(all.0.numbers(), older.0.numbers());
    }

    #[test]
    fn larger_scores_are_larger_odds_even_if_the_stream_says_otherwise() {
        let mut calibration = Recalibration::new();
        stream(5000, -2.0, 0.0).for_each(|(score, sign)| {
            calibration.learn(odds_of_linear(score), sign, 1.0, 1e9);
        });
        let odds: Vec<f64> =
            (-30..=30).map(|k| calibration.apply(odds_of_linear(f64::from(k) / 10.0))).collect();
        assert!(odds.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn a_row_of_a_large_weight_is_met_and_not_passed() {
        for weight in [1e3, 1e6, 1e12] {
            let mut calibration = Recalibration::new();
            stream(200, 1.0, 0.0).for_each(|(score, sign)| {
                calibration.learn(odds_of_linear(score), sign, 1.0, 1e9);
            });
            calibration.learn(odds_of_linear(0.9), -1.0, weight, 1e9);
            let met = calibration.apply(odds_of_linear(0.9));
            assert!((-40.0..0.0).contains(&met), "{weight}: {met}");
            calibration.learn(odds_of_linear(0.9), 1.0, weight, 1e9);
            assert!(
                calibration.apply(odds_of_linear(0.9)).abs() < 40.0 && calibration.is_sound(),
                "{weight}"
            );
        }
    }

    #[test]
    fn early_predictions_of_a_model_that_improves_count_little() {
        // Scores of a model that has learned few rows are right less often than they say.
        let mut scales = Vec::new();
        for of_model in [true, false] {
            let mut calibration = Recalibration::new();
            for (t, (score, sign)) in stream(1000, 2.0, 0.0).enumerate() {
                let x = odds_of_linear(score) * if t < 300 { 4.0 } else { 1.0 };
                calibration.learn(x, sign, 1.0, if of_model { t as f64 } else { 1e9 });
            }
            scales.push(calibration.0.weights[0]);
        }
        assert!((scales[0] - 2.0).abs() < (scales[1] - 2.0).abs(), "{scales:?}");
    }

    #[test]
    fn rows_without_weight_teach_nothing() {
        let (mut one, mut other) = (Recalibration::new(), Recalibration::new());
        for (i, (score, sign)) in stream(100, 2.0, 1.0).enumerate() {
            let before = one.apply(odds_of_linear(score));
            assert_eq!(one.learn(odds_of_linear(score), sign, 1.0, 1e9).to_bits(), before.to_bits());
            other.learn(odds_of_linear(score), sign, 1.0, 1e9);
            other.learn(odds_of_linear(i as f64), -sign, 0.0, 1e9);
        }
        assert_eq!(one.0.numbers(), other.0.numbers());
    }
}
