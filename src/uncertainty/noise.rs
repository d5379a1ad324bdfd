//! Noise of the targets, estimated from prequential errors.

use super::calibration::is_exact;
use crate::error::{Error, Result};
use crate::online::rescaling::STILL;
use crate::persist::{Reader, Writer};

/// Upper limit of sums, against overflow.
const LARGEST: f64 = 1e300;

/// Noise variance of each output: the mean of `e^2 / (1 + l)` over rows, with the prequential error
/// `e` and the leverage `l`, the variance of the prediction in units of the noise.
///
/// This is the maximum likelihood estimate for a Gaussian process with the given ratio of noise and
/// prior variance. The first row is left out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Noise {
    /// Sums of `e^2 / (1 + l)`, one for each output.
    squares: Vec<f64>,
    /// Sum of the weights of these rows.
    count: f64,
    /// Rows recorded.
    rows: u64,
    /// Consecutive zero errors: after [`STILL`] of them the noise is no longer updated.
    still: u64,
}

impl Noise {
    /// Initial state for `n` outputs.
    pub fn new(outputs: usize) -> Self {
        Self { squares: vec![0.0; outputs], count: 0.0, rows: 0, still: 0 }
    }

    /// Noise variance of an output; infinite before the first error.
    pub fn variance(&self, c: usize) -> f64 {
        if self.count > 0.0 { self.squares[c] / self.count } else { f64::INFINITY }
    }

    /// Its square root.
    pub fn deviation(&self, c: usize) -> f64 {
        self.variance(c).sqrt()
    }

    /// Records the errors of a row, from its predictions and targets.
    pub fn meet(&mut self, (made, y): (&[f64], &[f64]), leverage: f64, weight: f64, forgetting: f64) {
        self.rows += 1;
        if self.rows == 1 {
            return;
        }
        let exact = made.iter().zip(y).all(|(made, target)| is_exact(*made, *target));
        self.still = if exact { self.still + 1 } else { 0 };
        let before = self.count;
        self.count = forgetting * self.count + weight;
        if self.still > STILL && before > 0.0 {
            // Scales the sum so that the mean does not change.
            let keep = self.count / before;
            self.squares.iter_mut().for_each(|sum| *sum *= keep);
            return;
        }
        let share = weight / (1.0 + leverage);
        for ((sum, made), target) in self.squares.iter_mut().zip(made).zip(y) {
            let square = share * (target - made) * (target - made);
            *sum = (forgetting * *sum + square).min(LARGEST);
        }
    }

    /// Adds statistics of other rows, which multiply the weight of earlier ones by this factor.
    pub fn follow(&mut self, later: &Self, keep: f64) {
        self.squares.iter_mut().zip(&later.squares).for_each(|(sum, later)| *sum = keep * *sum + later);
        self.count = keep * self.count + later.count;
        self.rows += later.rows;
        self.still = later.still;
    }

    /// Sum of the weights of all rows but the first.
    pub fn count(&self) -> f64 {
        self.count
    }

    /// Rows recorded.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    pub fn write(&self, out: &mut Writer) {
        if self.rows > 0 {
            out.counts("noise.rows", &[self.rows, self.still]);
            out.vector("noise.squares", &self.squares);
            out.vector("noise.count", &[self.count]);
        }
    }

    /// Reads what [`write`](Self::write) wrote; the initial state if it is absent, as in older
    /// files.
    pub fn read(outputs: usize, from: &Reader<'_>) -> Result<Self> {
        if !from.has("noise.squares") {
            return Ok(Self::new(outputs));
        }
        let squares = from.vector("noise.squares", outputs)?;
        let count = from.vector("noise.count", 1)?[0];
        if count < 0.0 || squares.iter().any(|sum| *sum < 0.0) {
            return Err(Error::file("noise.squares and noise.count are no sums of squares"));
        }
        let (rows, still) = match from.all_counts("noise.rows")?[..] {
            [rows, still] => (rows, still),
            // As in older files.
            [rows] => (rows, 0),
            _ => return Err(Error::file("noise.rows are not two counts")),
        };
        Ok(Self { squares, count, rows, still })
    }
}
