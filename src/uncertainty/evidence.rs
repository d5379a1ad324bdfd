//! The marginal likelihood of the targets, from prequential errors.

use std::f64::consts::TAU;

use crate::error::{Error, Result};
use crate::persist::{Reader, Writer};

/// Upper limit of sums, against overflow.
const LARGEST: f64 = 1e300;

/// Sums over rows of `e^2 / v` and `ln v`, with the prequential error `e` and its variance `v` in
/// units of the noise. By the chain rule, the density of all targets is the product of the
/// conditional densities given earlier targets. The first row is kept separately, since no mean is
/// available before it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Evidence {
    rows: f64,
    first: Sums,
    rest: Sums,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Sums {
    /// Sums of `e^2 / v`, one for each output.
    squares: Vec<f64>,
    /// Sum of `ln v`.
    logarithms: f64,
}

impl Sums {
    fn new(outputs: usize) -> Self {
        Self { squares: vec![0.0; outputs], logarithms: 0.0 }
    }

    fn add(&mut self, other: &Self) {
        self.squares.iter_mut().zip(&other.squares).for_each(|(sum, more)| *sum = (*sum + more).min(LARGEST));
        self.logarithms += other.logarithms;
    }
}

impl Evidence {
    /// Initial state, without rows.
    pub fn new(outputs: usize) -> Self {
        Self { rows: 0.0, first: Sums::new(outputs), rest: Sums::new(outputs) }
    }

    /// Records a row of this weight: its noise variance is divided by the weight.
    pub fn meet(&mut self, (made, y): (&[f64], &[f64]), leverage: f64, weight: f64) {
        let variance = leverage + weight.recip();
        if weight <= 0.0 || !variance.is_finite() {
            return;
        }
        self.rows += 1.0;
        let sums = if self.rows > 1.0 { &mut self.rest } else { &mut self.first };
        for ((sum, made), target) in sums.squares.iter_mut().zip(made).zip(y) {
            *sum = (*sum + (target - made) * (target - made) / variance).min(LARGEST);
        }
        sums.logarithms += variance.ln();
    }

    /// Log density of an output's targets with the maximum likelihood noise variance, without the
    /// first row if that is passed. `None` without other rows, or if all errors are zero.
    pub fn log_likelihood(&self, c: usize, given_first: bool) -> Option<f64> {
        let mut sums = self.rest.clone();
        let mut rows = self.rows - 1.0;
        if !given_first {
            sums.add(&self.first);
            rows += 1.0;
        }
        let noise = sums.squares.get(c)? / rows;
        (self.rows > 1.0 && noise > 0.0).then(|| -0.5 * (rows * ((TAU * noise).ln() + 1.0) + sums.logarithms))
    }

    /// Adds the sums of other rows.
    pub fn follow(&mut self, later: &Self) {
        self.rows += later.rows;
        self.rest.add(&later.first);
        self.rest.add(&later.rest);
    }

    pub fn write(&self, out: &mut Writer) {
        if self.rows > 0.0 {
            out.vector("evidence.sums", &[self.rows, self.first.logarithms, self.rest.logarithms]);
            out.vector("evidence.first", &self.first.squares);
            out.vector("evidence.rest", &self.rest.squares);
        }
    }

    /// Reads what [`write`](Self::write) wrote.
    pub fn read(outputs: usize, from: &Reader<'_>) -> Result<Self> {
        if !from.has("evidence.sums") {
            return Ok(Self::new(outputs));
        }
        let sums = from.vector("evidence.sums", 3)?;
        let first = Sums { squares: from.vector("evidence.first", outputs)?, logarithms: sums[1] };
        let rest = Sums { squares: from.vector("evidence.rest", outputs)?, logarithms: sums[2] };
        if sums[0] < 0.0 || first.squares.iter().chain(&rest.squares).any(|sum| *sum < 0.0) {
            return Err(Error::file("evidence.sums, evidence.first and evidence.rest are no sums over rows"));
        }
        Ok(Self { rows: sums[0], first, rest })
    }
}
