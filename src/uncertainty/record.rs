//! How large errors were, over all rows and of late.

use crate::error::{Error, Result};
use crate::online::rise::Watch;
use crate::online::tally::{Tally, late_rows};
use crate::persist::{Reader, Writer};

/// Rows from one look at the errors to the next.
pub(crate) const LOOK: u64 = 64;

/// A rise of errors that is worth speaking of: to twice their size.
const TWICE: f64 = std::f64::consts::LN_2;

/// Rows without which it is too early to say that predictions are of no use.
pub(crate) const ENOUGH: u64 = 512;

/// Squared errors of this share of those of the mean, or more, are no better.
const NO_BETTER: f64 = 0.999;

/// Largest square: beyond it sums of numbers end.
const LARGEST: f64 = 1e290;

/// What the square of the usual error is multiplied by after a larger one, and after another: so that it is followed
/// within some 50 rows, and three of four errors are below.
const UP: f64 = 1.077_884_150_884_631_5; // exp(0.075)
const DOWN: f64 = 0.975_309_912_028_332_6; // exp(-0.025)

/// Errors of the predictions that were made of rows before they were learned, beside those of the running mean of the
/// targets, with sums of constant size.
#[derive(Clone, Debug, Default)]
pub struct Record {
    outputs: Vec<Output>,
    rows: u64,
    watch: Watch,
    useless: bool,
}

/// Errors of the predictions of one output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorSize {
    /// Root mean squared error.
    pub model: f64,
    /// The same of the mean of the targets before.
    pub mean: f64,
}

/// Of one output.
#[derive(Clone, Copy, Debug, Default)]
struct Output {
    /// Of the targets.
    mean: f64,
    /// Squared errors of the predictions, and of the mean.
    squares: [Tally; 2],
    /// Square of what three of four late errors are below.
    usual: f64,
}

impl Record {
    /// That of as many outputs, before the first row.
    pub(crate) fn new(outputs: usize) -> Self {
        Self { outputs: vec![Output::default(); outputs], ..Self::default() }
    }

    /// Rows met.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Errors over all rows, one an output; `None` before the second.
    #[must_use]
    pub fn all(&self) -> Option<Vec<ErrorSize>> {
        self.sizes(|mean| mean.all)
    }

    /// Errors over the late rows: their weights fall by a thousandth a row.
    #[must_use]
    pub fn late(&self) -> Option<Vec<ErrorSize>> {
        self.sizes(|mean| mean.late)
    }

    /// Rows with an error: before the first there was nothing to predict from.
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

    /// Whether errors have once been twice of what they were, and stayed so for a hundred rows or so.
    #[must_use]
    pub fn has_risen(&self) -> bool {
        self.watch.has_risen()
    }

    /// Whether the mean of the targets before has once been as good a prediction of the late rows, or better.
    #[must_use]
    pub fn was_useless(&self) -> bool {
        self.useless
    }

    /// Takes down a prediction and what was right; output after output.
    pub(crate) fn meet(&mut self, c: usize, made: f64, target: f64) {
        self.rows += u64::from(c == 0);
        self.outputs[c].meet(self.rows, made, target);
        if c + 1 == self.outputs.len() && self.rows.is_multiple_of(LOOK) {
            self.look();
        }
    }

    /// [`meet`](Self::meet) of as many rows, of which `at` gives both by row and output.
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
            // What is so little beside the targets is no error.
            output.usual = output.usual.max(1e-8 * output.squares[1].late / rows).max(f64::MIN_POSITIVE);
            usual += 0.5 * output.usual.ln() / outputs;
        }
        self.watch.look(usual, TWICE);
        let sum = |k: usize| self.outputs.iter().map(|output| output.squares[k].late).sum::<f64>();
        self.useless |= self.rows >= ENOUGH && sum(1) > 0.0 && sum(0) >= NO_BETTER * sum(1);
    }

    /// Adds what is known of later rows.
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

    /// What [`write`](Self::write) wrote; an empty one where it wrote nothing, as in older files.
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
        Ok(Self { outputs, rows, watch: Watch::read("record", from)?, useless: useless != 0 })
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
            self.usual *= if squares[0] > self.usual { UP } else { DOWN };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::normal;

    /// A record of errors, made by the row.
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
