//! Half-widths of intervals: quantiles of recent errors in units of the error scale.
//!
//! The quantile level is tracked, so that the share of targets inside equals the coverage over a
//! stream (I. Gibbs, E. Candes, "Adaptive conformal inference under distribution shift", 2021).

use super::numbers::{Numbers, Pass};
use super::parameters::CandidateParams;
use super::weights::is_size;
use crate::uncertainty::student_quantile;

/// Coverages tracked; those between are interpolated.
const LEVELS: [f64; 6] = [0.5, 0.7, 0.8, 0.9, 0.95, 0.99];

/// Half-widths are at most this multiple of the largest error: where the scale of errors rises from
/// nearly nothing, as at a change of level, scores in units of the former scale mean nothing in the
/// new one.
const BEYOND_LARGEST: f64 = 1.3;

/// Largest change of a level, as a share of its distance to 1 and of the level itself.
const FURTHEST: f64 = 0.8;

#[derive(Clone, Debug, Default)]
pub struct Widths {
    /// Errors in units of the error scale: in order of arrival, and sorted.
    scores: Vec<f64>,
    sorted: Vec<f64>,
    size: f64,
    mass: f64,
    /// Largest error, which decreases over the errors kept.
    largest: f64,
    offsets: Vec<f64>,
    /// Factors of [`LEVELS`] for few errors, and the number of errors that they were computed for.
    few: (f64, [f64; LEVELS.len()]),
}

impl Widths {
    pub fn new() -> Self {
        Self { offsets: vec![0.0; LEVELS.len()], ..Self::default() }
    }

    /// Error scale; infinite before the first error.
    pub fn size(&self) -> f64 {
        if self.mass > 0.0 { self.size } else { f64::INFINITY }
    }

    /// Learns the error of a forecast that was issued with this error scale.
    pub fn learn(&mut self, error: f64, given: f64, rows: usize, parameters: &CandidateParams) {
        let error = error.abs().min(f64::MAX.sqrt());
        // While a series is constant, errors and their scale are zero, which is no information about later ones.
        if given.is_finite() && (given > 0.0 || error > 0.0) {
            let score = if given > 0.0 { error / given } else { f64::from(u8::from(error > 0.0)) };
            let score = score.min(f64::MAX.sqrt());
            let counted = self.counted(rows);
            if self.few.0.to_bits() != counted.to_bits() {
                self.few = (counted, LEVELS.map(|level| for_few(level, counted)));
            }
            let issued: [f64; LEVELS.len()] = std::array::from_fn(|place| {
                self.half_width_of(given, LEVELS[place], self.few.1[place], counted)
            });
            for (place, level) in LEVELS.iter().enumerate() {
                let known = !self.sorted.is_empty();
                let inside = error <= issued[place];
                if known {
                    let miss = f64::from(u8::from(!inside));
                    let most = FURTHEST * level.min(1.0 - level);
                    let step = parameters.step * (1.0 - level) * 10.0;
                    let step = step.min(parameters.step);
                    self.offsets[place] =
                        (self.offsets[place] + step * (miss - (1.0 - level))).clamp(-most, most);
                }
            }
            if self.scores.len() >= parameters.errors {
                let oldest = self.scores.remove(0);
                let at = self.sorted.partition_point(|score| *score < oldest);
                self.sorted.remove(at);
            }
            let at = self.sorted.partition_point(|other| *other < score);
            self.sorted.insert(at, score);
            self.scores.push(score);
        }
        let memory = parameters.size * (1.0 + parameters.size_growth * (rows as f64 - 1.0));
        self.mass = (self.mass + 1.0).min(memory);
        self.size += (error - self.size) / self.mass;
        self.largest = error.max(self.largest * (1.0 - 1.0 / parameters.errors as f64));
    }

    /// Half-width that contains this share of the errors where their scale is `size`.
    pub fn half_width(&self, size: f64, level: f64, rows: usize) -> f64 {
        let counted = self.counted(rows);
        self.half_width_of(size, level, for_few(level, counted), counted)
    }

    /// Number of errors; those of forecasts that overlap count once per horizon.
    fn counted(&self, rows: usize) -> f64 {
        (self.sorted.len() as f64 / rows as f64).max(1.0)
    }

    /// Half-width, given its factor for as many errors.
    fn half_width_of(&self, size: f64, level: f64, few: f64, counted: f64) -> f64 {
        let n = self.sorted.len();
        if n == 0 {
            return 3.0 * size;
        }
        let place = LEVELS.partition_point(|other| *other < level);
        let offset = if place == 0 {
            self.offsets[0] * level / LEVELS[0]
        } else if place == LEVELS.len() {
            self.offsets[place - 1] * (1.0 - level) / (1.0 - LEVELS[place - 1])
        } else {
            let share = (level - LEVELS[place - 1]) / (LEVELS[place] - LEVELS[place - 1]);
            (1.0 - share) * self.offsets[place - 1] + share * self.offsets[place]
        };
        let position = (level + offset) * (n as f64 + 1.0) - 1.0;
        let last = (n - 1) as f64;
        let value = if position >= last {
            // Beyond the largest error: extrapolated like Gaussian tails.
            self.sorted[n - 1] * (1.0 + 0.3 * (position - last).min(1.0))
        } else {
            let low = position.max(0.0).floor();
            let share = position.max(0.0) - low;
            let at = low as usize;
            (1.0 - share) * self.sorted[at] + share * self.sorted[(at + 1).min(n - 1)]
        };
        // An infinite scale stays infinite.
        let most = if size < f64::INFINITY { BEYOND_LARGEST * self.largest } else { f64::INFINITY };
        (value * size).min(most) * few * (1.0 + 1.0 / counted).sqrt()
    }

    pub fn is_sound(&self) -> bool {
        let bounds = LEVELS.map(|level| FURTHEST * level.min(1.0 - level));
        self.offsets.len() == LEVELS.len()
            && self.offsets.iter().zip(bounds).all(|(offset, most)| offset.abs() <= most)
            && self.scores.iter().chain([&self.size, &self.mass, &self.largest]).all(|value| is_size(*value))
            && (self.scores.is_empty() || self.mass >= 1.0)
    }
}

/// With few errors, quantile and scale are themselves uncertain.
fn for_few(level: f64, counted: f64) -> f64 {
    student_quantile(level, counted.max(2.0)) / student_quantile(level, 1e6)
}

impl Numbers for Widths {
    fn pass(&mut self, pass: &mut dyn Pass) {
        pass.list(&mut self.scores);
        pass.number(&mut self.size);
        pass.number(&mut self.mass);
        pass.number(&mut self.largest);
        pass.list(&mut self.offsets);
        self.sorted.clone_from(&self.scores);
        self.sorted.sort_by(f64::total_cmp);
    }
}
