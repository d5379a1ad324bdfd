//! Intervals of the first rows, by Student's law.

use std::f64::consts::FRAC_PI_2;

use crate::error::{Error, Result};
use crate::persist::{Reader, Writer};

/// Most recent errors in the mean square.
const LATEST: usize = 10;

/// Factor on the weight of an error at each later one: a model improves over its first rows, and
/// errors of an ordered stream or a random walk are alike. With equal weights coverage of 90 %
/// intervals was .82 to .86 at rows 8 to 15 of random walks, with these .89 to .90.
const KEPT: f64 = 0.8;

/// Rows until which Student's law alone is used, and until which it is a lower limit of the
/// half-width.
///
/// Measured by `python benchmarks intervals first_rows`.
const ALONE: u64 = 12;
const AT_LEAST: u64 = 30;

/// The errors of the first rows of an output, without the first, which nothing predicts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FirstErrors {
    squares: [f64; LATEST],
    rows: u64,
}

impl FirstErrors {
    /// Records an error.
    #[inline]
    pub fn meet(&mut self, error: f64) {
        if (1..AT_LEAST).contains(&self.rows) {
            self.squares[Self::place(self.rows)] = error * error;
        }
        self.rows += 1;
    }

    /// Where the error of a row is kept.
    fn place(row: u64) -> usize {
        usize::try_from(row.saturating_sub(1)).unwrap_or(0) % LATEST
    }

    /// Half-width of an interval of this coverage, and whether it replaces any other; `None` before
    /// the first error, after the first rows, and if all errors are 0.
    pub fn half_width(&self, coverage: f64) -> Option<(f64, bool)> {
        if self.rows >= AT_LEAST {
            return None;
        }
        let (mut sum, mut weights, mut squared, mut weight) = (0.0, 0.0, 0.0, 1.0);
        for row in (1..self.rows).rev().take(LATEST) {
            sum += weight * self.squares[Self::place(row)];
            weights += weight;
            squared += weight * weight;
            weight *= KEPT;
        }
        if sum <= 0.0 {
            return None;
        }
        // As many errors of equal weight would have a mean square of the same variance.
        let errors = weights * weights / squared;
        let deviation = (sum / weights * (1.0 + (self.rows as f64).recip())).sqrt();
        Some((student_quantile(coverage, errors) * deviation, self.rows < ALONE))
    }

    /// Adds later errors.
    pub fn follow(&mut self, later: &Self) {
        self.rows += later.rows;
    }

    /// One for each output.
    pub fn write(all: &[Self], out: &mut Writer) {
        let numbers: Vec<f64> = all.iter().flat_map(|first| first.squares).collect();
        out.matrix("calibration.first", all.len(), LATEST, &numbers);
        let rows: Vec<u64> = all.iter().map(|first| first.rows).collect();
        out.counts("calibration.first.rows", &rows);
    }

    /// Reads what [`write`](Self::write) wrote; after the first rows if it is absent.
    pub fn read(outputs: usize, from: &Reader<'_>) -> Result<Vec<Self>> {
        if !from.has("calibration.first") {
            return Ok(vec![Self { rows: AT_LEAST, ..Self::default() }; outputs]);
        }
        let squares = from.matrix_of("calibration.first", outputs, LATEST)?;
        let rows = from.all_counts("calibration.first.rows")?;
        if rows.len() != outputs || squares.iter().any(|square| *square < 0.0) {
            return Err(Error::file("calibration.first is none of errors"));
        }
        let of = |(squares, rows): (&[f64], u64)| Self { squares: std::array::from_fn(|i| squares[i]), rows };
        Ok(squares.chunks_exact(LATEST).zip(rows).map(of).collect())
    }
}

/// Two-sided quantile of Student's law with `n` degrees of freedom, to a relative error of 1e-3 (G.
/// W. Hill, "Algorithm 396: Student's t-quantiles", Communications of the ACM, 1970).
pub(crate) fn student_quantile(coverage: f64, n: f64) -> f64 {
    let p = 1.0 - coverage;
    if n < 1.5 {
        return (p * FRAC_PI_2).tan().recip();
    }
    if n < 2.5 {
        return (2.0 / (p * (2.0 - p)) - 2.0).max(0.0).sqrt();
    }
    let a = (n - 0.5).recip();
    let b = 48.0 / (a * a);
    let mut c = ((20_700.0 * a / b - 98.0) * a - 16.0) * a + 96.36;
    let d = ((94.5 / (b + c) - 3.0) / b + 1.0) * (a * FRAC_PI_2).sqrt() * n;
    let y = (d * p).powf(2.0 / n);
    let square = if y > 0.05 + a {
        let x = normal_quantile(0.5 * p);
        let y = x * x;
        if n < 5.0 {
            c += 0.3 * (n - 4.5) * (x + 0.6);
        }
        c += (((0.05 * d * x - 5.0) * x - 7.0) * x - 2.0) * x + b;
        let y = (((((0.4 * y + 6.3) * y + 36.0) * y + 94.5) / c - y - 3.0) / b + 1.0) * x;
        (a * y * y).exp_m1()
    } else {
        let tail = ((n + 6.0) / (n * y) - 0.089 * d - 0.822) * (n + 2.0) * 3.0;
        ((tail.recip() + 0.5 / (n + 4.0)) * y - 1.0) * (n + 1.0) / (n + 2.0) + y.recip()
    };
    (n * square).max(0.0).sqrt()
}

/// Quantile of the standard normal distribution at `p` in (0, 1), to 5e-4: rational function
/// 26.2.23 of Abramowitz and Stegun.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    let t = (-2.0 * p.min(1.0 - p).ln()).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    (t - above / below).copysign(p - 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::normal;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (coverage, n, expected) in [
            (0.9, 1.0, 6.3138),
            (0.9, 2.0, 2.9200),
            (0.9, 3.0, 2.3534),
            (0.95, 5.0, 2.5706),
            (0.99, 10.0, 3.1693),
            (0.5, 8.0, 0.7064),
        ] {
            let found = student_quantile(coverage, n);
            assert!((found / expected - 1.0).abs() < 2e-3, "{found} for {expected}");
        }
        assert!((student_quantile(0.5, 1.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn coverage_holds_from_the_second_error_on() {
        let (streams, mut inside) = (4000, [0_u32; 12]);
        for stream in 0..streams {
            let mut first = FirstErrors::default();
            for (t, inside) in inside.iter_mut().enumerate() {
                let error = normal(stream, t as u64);
                let (width, alone) = first.half_width(0.9).unwrap_or((0.0, true));
                assert!(alone);
                *inside += u32::from(error.abs() < width);
                first.meet(error);
            }
        }
        for inside in &inside[2..] {
            let share = f64::from(*inside) / streams as f64;
            assert!((0.88..0.94).contains(&share), "{share}");
        }
    }

    #[test]
    fn the_first_error_is_left_out_and_recent_ones_count_more() {
        let mut first = FirstErrors::default();
        first.meet(1e6);
        assert!(first.half_width(0.9).is_none());
        first.meet(1.0);
        let (one, _) = first.half_width(0.9).unwrap();
        assert!((one / (6.3138 * 1.5_f64.sqrt()) - 1.0).abs() < 2e-3, "{one}");
        let after = |errors: [f64; 8]| {
            let mut first = first;
            for error in errors {
                first.meet(error);
            }
            first.half_width(0.9).unwrap().0
        };
        let rising = after([1.0, 1.0, 1.0, 1.0, 3.0, 3.0, 3.0, 3.0]);
        assert!(rising > 1.2 * after([3.0, 3.0, 3.0, 3.0, 1.0, 1.0, 1.0, 1.0]));
    }
}
