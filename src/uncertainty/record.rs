//! Size of errors, over all rows and over recent rows.

use crate::error::{Error, Result};
use crate::online::rise::RiseDetector;
use crate::online::tally::{Tally, late_rows};
use crate::persist::{Reader, Writer};

/// Parameters of a [`Record`].
struct RecordParams {
    /// Smallest rise of the errors that causes a warning: a factor of two.
    min_rise: f64,
    /// Predictions count as no better than the mean from this ratio of squared errors on.
    useless_ratio: f64,
    /// Factor on the square of the usual error after a larger one, exp(0.075): with the next, the
    /// 75 % quantile, followed within about 50 rows.
    rise_factor: f64,
    /// Factor on the square of the usual error after a smaller one, exp(-0.025).
    fall_factor: f64,
}

const PARAMS: RecordParams = RecordParams {
    min_rise: std::f64::consts::LN_2,
    useless_ratio: 0.999,
    rise_factor: 1.077_884_150_884_631_5,
    fall_factor: 0.975_309_912_028_332_6,
};

/// Rows between two checks of the errors.
pub(crate) const LOOK: u64 = 64;

/// Fewest rows before the warning that predictions are no better than the baseline.
pub(crate) const ENOUGH: u64 = 512;

/// Upper limit of squares, against overflow.
const LARGEST: f64 = 1e290;

/// Prequential errors beside those of the running mean of the targets, in sums of constant size.
#[derive(Clone, Debug, Default)]
pub struct Record {
    outputs: Vec<Output>,
    rows: u64,
    watch: RiseDetector,
    useless: bool,
}

/// Errors of one output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorSize {
    /// Root mean squared error.
    pub model: f64,
    /// The same of the running mean of the targets.
    pub mean: f64,
}

/// One output.
#[derive(Clone, Copy, Debug, Default)]
struct Output {
    /// Sums of the targets.
    mean: f64,
    /// Sums of squared errors of the predictions, and of the running mean.
    squares: [Tally; 2],
    /// Square of the 75 % quantile of recent absolute errors.
    usual: f64,
}

impl Record {
    /// Initial state for `n` outputs.
    pub(crate) fn new(outputs: usize) -> Self {
        Self { outputs: vec![Output::default(); outputs], ..Self::default() }
    }

    /// Rows recorded.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Errors over all rows, one for each output; `None` before the second.
    #[must_use]
    pub fn all(&self) -> Option<Vec<ErrorSize>> {
        self.sizes(|mean| mean.all)
    }

    /// Errors over recent rows, with weights of 0.999 per row.
    #[must_use]
    pub fn late(&self) -> Option<Vec<ErrorSize>> {
        self.sizes(|mean| mean.late)
    }

    /// Root mean squared distance of recent targets of an output from their running mean; NaN before
    /// the second.
    pub(super) fn late_deviation(&self, c: usize) -> f64 {
        self.outputs[c].squares[1].means(self.judged()).late.sqrt()
    }

    /// Rows with an error: for the first there is no prediction.
    fn judged(&self) -> u64 {
        self.rows.saturating_sub(1)
    }

    fn sizes(&self, of: impl Fn(Tally) -> f64) -> Option<Vec<ErrorSize>> {
        let size = |output: &Output| {
            let [model, mean] = output.squares.map(|squares| of(squares.means(self.judged())).sqrt());
            ErrorSize { model, mean }
        };
        (self.judged() > 0).then(|| self.outputs.iter().map(size).collect())
    }

    /// Whether errors were at any time twice the usual, for about a hundred rows.
    #[must_use]
    pub fn has_risen(&self) -> bool {
        self.watch.has_risen()
    }

    /// Whether the running mean was at any time as good over recent rows, or better.
    #[must_use]
    pub fn was_useless(&self) -> bool {
        self.useless
    }

    /// Records a prediction and its target, output by output.
    pub(crate) fn meet(&mut self, c: usize, made: f64, target: f64) {
        self.rows += u64::from(c == 0);
        self.outputs[c].meet(self.rows, made, target);
        if c + 1 == self.outputs.len() && self.rows.is_multiple_of(LOOK) {
            self.look();
        }
    }

    /// [`meet`](Self::meet) for `n` rows, which `at` returns by row and output.
    pub(super) fn meet_block(&mut self, n: usize, at: impl Fn(usize, usize) -> (f64, f64)) {
        let mut done = 0;
        while done < n {
            let left = usize::try_from(LOOK - self.rows % LOOK).unwrap_or(n);
            let end = n.min(done + left);
            for (c, kept) in self.outputs.iter_mut().enumerate() {
                // A copy, so that it stays in registers.
                let mut output = *kept;
                for i in done..end {
                    let (made, target) = at(i, c);
                    output.meet(self.rows + 1 + (i - done) as u64, made, target);
                }
                *kept = output;
            }
            self.rows += (end - done) as u64;
            if self.rows.is_multiple_of(LOOK) {
                self.look();
            }
            done = end;
        }
    }

    fn look(&mut self) {
        let (outputs, rows) = (self.outputs.len() as f64, late_rows(self.judged()));
        let mut usual = 0.0;
        for output in &mut self.outputs {
            // Differences of rounding size are no errors.
            output.usual = output.usual.max(1e-8 * output.squares[1].late / rows).max(f64::MIN_POSITIVE);
            usual += 0.5 * output.usual.ln() / outputs;
        }
        self.watch.look(usual, PARAMS.min_rise);
        let sum = |k: usize| self.outputs.iter().map(|output| output.squares[k].late).sum::<f64>();
        self.useless |= self.rows >= ENOUGH && sum(1) > 0.0 && sum(0) >= PARAMS.useless_ratio * sum(1);
    }

    /// Adds statistics of later rows.
    pub(super) fn follow(&mut self, later: &Self) {
        if later.rows == 0 {
            return;
        }
        let share = later.rows as f64 / (self.rows + later.rows) as f64;
        for (own, more) in self.outputs.iter_mut().zip(&later.outputs) {
            own.mean += share * (more.mean - own.mean);
            own.squares.iter_mut().zip(more.squares).for_each(|(sum, more)| sum.follow(more, later.rows));
            own.usual = more.usual;
        }
        self.rows += later.rows;
        self.watch = later.watch;
        self.useless |= later.useless;
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        if self.rows == 0 {
            return;
        }
        let numbers = |output: &Output| {
            let [model, mean] = output.squares;
            [output.mean, model.all, mean.all, model.late, mean.late, output.usual]
        };
        let numbers: Vec<f64> = self.outputs.iter().flat_map(numbers).collect();
        out.matrix("record.outputs", self.outputs.len(), 6, &numbers);
        out.counts("record.counts", &[self.rows, u64::from(self.useless)]);
        self.watch.write("record", out);
    }

    /// Reads what [`write`](Self::write) wrote; an empty record if it is absent, as in older files.
    pub(crate) fn read(outputs: usize, from: &Reader<'_>) -> Result<Self> {
        if !from.has("record.outputs") {
            return Ok(Self::new(outputs));
        }
        let numbers = from.matrix_of("record.outputs", outputs, 6)?;
        let squares = |n: &[f64]| [1, 2].map(|k| Tally { all: n[k], late: n[k + 2] });
        let output = |n: &[f64]| Output { mean: n[0], squares: squares(n), usual: n[5] };
        let sound = |output: &Output| output.squares.iter().all(|sum| sum.is_sound()) && output.usual >= 0.0;
        let outputs: Vec<Output> = numbers.chunks_exact(6).map(output).collect();
        if !outputs.iter().all(sound) {
            return Err(Error::file("record.outputs are no sums of errors"));
        }
        let [rows, useless] = from.counts("record.counts")?;
        Ok(Self { outputs, rows, watch: RiseDetector::read("record", from)?, useless: useless != 0 })
    }
}

impl Output {
    #[inline]
    fn meet(&mut self, row: u64, made: f64, target: f64) {
        if row == 1 {
            self.mean = target;
            return;
        }
        let (error, from_mean) = (target - made, target - self.mean);
        let squares = [error * error, from_mean * from_mean].map(|square| square.min(LARGEST));
        self.squares.iter_mut().zip(squares).for_each(|(sum, square)| sum.add(square));
        self.mean += from_mean / row as f64;
        if row <= LOOK {
            self.usual = self.squares[0].all / row as f64;
        } else {
            self.usual *= if squares[0] > self.usual { PARAMS.rise_factor } else { PARAMS.fall_factor };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::normal;

    /// A record of errors, row by row.
    fn record(rows: u64, error: impl Fn(u64) -> f64) -> Record {
        let mut record = Record::new(1);
        (0..rows).for_each(|t| record.meet(0, 0.0, error(t)));
        record
    }

    #[test]
    fn sums_are_those_of_the_formulas() {
        let error = |t| 3.0 + normal(1, t);
        let errors: Vec<f64> = (0..300).map(error).collect();
        let record = record(300, error);
        let weight = |t: usize| 0.999_f64.powf((299 - t) as f64);
        let (mut squares, mut weights, mut mean) = (0.0, 0.0, 0.0);
        for t in 1..300 {
            squares += weight(t) * errors[t] * errors[t];
            weights += weight(t);
            let before = errors[..t].iter().sum::<f64>() / t as f64;
            mean += (errors[t] - before).powi(2) / 299.0;
        }
        let (all, late) = (record.all().unwrap()[0], record.late().unwrap()[0]);
        assert!((late.model - (squares / weights).sqrt()).abs() < 1e-12);
        assert!((all.mean - mean.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn noise_of_any_kind_is_no_rise_and_larger_noise_is() {
        let laws: [fn(u64) -> f64; 3] = [
            |t| normal(1, t),
            |t| normal(2, t) / normal(3, t),
            |t| normal(4, t) * (t as f64 / 500.0).sin().exp(),
        ];
        for (i, law) in laws.into_iter().enumerate() {
            assert!(!record(20_000, law).has_risen(), "law {i}");
        }
        let steps = |t: u64| if t < 5000 { 1.0 } else { 3.0 } * normal(5, t);
        assert!(!record(5000, steps).has_risen());
        assert!(record(5300, steps).has_risen());
    }

    #[test]
    fn predictions_worse_than_the_mean_are_useless() {
        assert!(record(600, |t| 1.0 + normal(6, t)).was_useless());
        let mut useful = Record::new(1);
        (0..600).for_each(|t| useful.meet(0, normal(7, t), normal(7, t) + 0.5 * normal(8, t)));
        assert!(!useful.was_useless());
    }
}
