//! How far off the forecasts over one horizon were.

use crate::error::{Error, Result};
use crate::persist::{Reader, Writer};
use crate::uncertainty::{Calibration, is_exact};

/// Errors whose size is the spread of the next, and the latest of them.
const RECENT: f64 = 50.0;
const LATEST: f64 = 10.0;

/// Factor between the sizes of these, as a logarithm, at which the latest alone are believed: chance hardly makes it.
const FAR: f64 = 1.5;

/// Errors that those before such a change count as.
const BEFORE: u64 = 5;

/// An error counts as that much smaller than usual, as a logarithm, at most: a lucky forecast says little.
const SMALLEST: f64 = 4.0;

/// The logarithm of a size of nothing.
const NOTHING: f64 = -700.0;

/// Largest sum: beyond it numbers end.
const LARGEST: f64 = 1e300;

/// Of each number of a state the deviation of what came from its forecast, the size of the latest errors, and how many of
/// these the next ones are.
///
/// Operators become better by orders of magnitude as a system shows what it does, and errors a fraction of a horizon apart
/// are alike, so that there are few to go by. The size of recent errors is therefore their geometric mean, which follows
/// such a change within ten of them; and how many of these the next ones are is then learned anew. On molecules and particles, whose errors stay as they are, intervals are some two percent
/// wider for it than in units of the deviation; on the wake of a cylinder they are several times narrower.
#[derive(Clone, Debug, Default)]
pub(super) struct Errors {
    /// Weighted sums of squared errors, in which the n-th error has about the weight n, and that of the weights.
    squares: Vec<f64>,
    weight: f64,
    /// Means of the logarithms of recent errors, and of the latest.
    sizes: Vec<f64>,
    latest: Vec<f64>,
    /// Errors of each number since it began, or became another.
    met: Vec<u64>,
    calibration: Calibration,
    count: u64,
}

impl Errors {
    /// Those of so many numbers, before the first forecast.
    pub fn new(width: usize) -> Self {
        Self {
            squares: vec![0.0; width],
            sizes: vec![NOTHING; width],
            latest: vec![NOTHING; width],
            met: vec![0; width],
            calibration: Calibration::new(width).of_late_sizes(),
            ..Self::default()
        }
    }

    /// Standard deviation of what comes about its forecast; infinite before there are errors to go by.
    pub fn deviation(&self, c: usize) -> f64 {
        if self.count > 0 { (self.squares[c] / self.weight).sqrt() } else { f64::INFINITY }
    }

    /// What intervals are in proportion to; infinite before there are errors to go by.
    pub fn spread(&self, c: usize) -> f64 {
        if self.count > 0 { self.sizes[c].exp() } else { f64::INFINITY }
    }

    pub fn calibration(&self) -> &Calibration {
        &self.calibration
    }

    /// Takes down a forecast, made while these were the spreads, and what came. `keep`: what is left of the weight of
    /// errors as old as the one before.
    pub fn meet(&mut self, forecast: &[f64], spreads: &[f64], state: &[f64], keep: f64) {
        self.count += 1;
        let n = self.count as f64;
        let keep = keep * (n - 1.0).max(1.0) / (n + 1.0);
        self.weight = keep * self.weight + 1.0;
        for (c, (made, target)) in forecast.iter().zip(state).enumerate() {
            self.calibration.meet(c, *made, *target, spreads[c]);
            let error = (target - made).abs();
            self.squares[c] = (keep * self.squares[c] + error * error).min(LARGEST);
            // Where what comes is rounded, many forecasts are exact.
            if !is_exact(*made, *target) {
                self.follow(c, error.ln().max(NOTHING));
            }
        }
    }

    /// Takes the logarithm of an error.
    fn follow(&mut self, c: usize, size: f64) {
        self.met[c] += 1;
        let size = size.max(self.sizes[c] - SMALLEST);
        let n = self.met[c] as f64;
        self.sizes[c] += RECENT.min(n).recip() * (size - self.sizes[c]);
        self.latest[c] += LATEST.min(n).recip() * (size - self.latest[c]);
        if (self.sizes[c] - self.latest[c]).abs() > FAR {
            (self.sizes[c], self.met[c]) = (self.latest[c], BEFORE);
            self.calibration.begin_again(c);
        }
    }

    pub fn write(&self, out: &mut Writer) {
        out.vector("errors.squares", &self.squares);
        out.vector("errors.weight", &[self.weight]);
        out.vector("errors.sizes", &self.sizes);
        out.vector("errors.latest", &self.latest);
        out.counts("errors.count", &[&[self.count], &self.met[..]].concat());
        self.calibration.write(out);
    }

    /// What [`write`](Self::write) wrote.
    pub fn read(width: usize, from: &Reader<'_>) -> Result<Self> {
        let squares = from.vector("errors.squares", width)?;
        let weight = from.vector("errors.weight", 1)?[0];
        let sizes = from.vector("errors.sizes", width)?;
        let latest = from.vector("errors.latest", width)?;
        let counts = from.all_counts("errors.count")?;
        let (count, met) = match counts.split_first() {
            Some((count, met)) if met.len() == width => (*count, met.to_vec()),
            // As in older files.
            Some((count, [])) => (*count, vec![*count; width]),
            _ => return Err(Error::file("errors.count are not the counts of all numbers")),
        };
        if weight < 0.0 || (weight > 0.0) != (count > 0) || squares.iter().any(|sum| *sum < 0.0) {
            return Err(Error::file("errors.squares and errors.weight are no sums of squares"));
        }
        let calibration = Calibration::read(width, from)?.of_late_sizes();
        Ok(Self { squares, weight, sizes, latest, met, calibration, count })
    }
}
