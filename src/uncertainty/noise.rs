//! The noise of targets, estimated from prequential errors.

use super::calibration::is_exact;
use crate::error::{Error, Result};
use crate::online::error_scale::STILL;
use crate::persist::{Reader, Writer};

/// Largest sum: beyond it numbers end.
const LARGEST: f64 = 1e300;

/// The variance of the noise of each output: the mean of `e^2 / (1 + l)` over rows, with the error `e` of a
/// prediction made before its row was learned and its leverage `l`, the variance of that prediction in units of
/// the noise.
///
/// For a Gaussian process, with the ratio of noise and prior variance as it is, this is the estimate of maximum
/// likelihood. The first row, for which nothing is known, is left out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Noise {
    /// Sums of `e^2 / (1 + l)`, one an output.
    squares: Vec<f64>,
    /// Sum of the weights of these rows.
    count: f64,
    /// Rows met.
    rows: u64,
    /// The latest rows that were all predicted exactly: more than [`STILL`] say nothing of the noise.
    still: u64,
}

impl Noise {
    /// That of as many outputs, before the first row.
    pub fn new(outputs: usize) -> Self {
        Self { squares: vec![0.0; outputs], count: 0.0, rows: 0, still: 0 }
    }

    /// Variance of the noise of an output; infinite before there are errors to go by.
    pub fn variance(&self, c: usize) -> f64 {
        if self.count > 0.0 { self.squares[c] / self.count } else { f64::INFINITY }
    }

    /// Its root.
    pub fn deviation(&self, c: usize) -> f64 {
        self.variance(c).sqrt()
    }

    /// Takes down the errors of a row, of its predictions and targets.
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
            // As much noise as there was.
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

    /// Adds what was learned of other rows, which leave so much of the weight of those before.
    pub fn follow(&mut self, later: &Self, keep: f64) {
        self.squares.iter_mut().zip(&later.squares).for_each(|(sum, later)| *sum = keep * *sum + later);
        self.count = keep * self.count + later.count;
        self.rows += later.rows;
        self.still = later.still;
    }

    /// Sum of the weights of the rows met but the first.
    pub fn count(&self) -> f64 {
        self.count
    }

    /// Rows met.
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

    /// What [`write`](Self::write) wrote; nothing is known where it wrote nothing, as in older files.
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
