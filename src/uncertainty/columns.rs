//! Size of errors as a function of the columns of rows.

use super::profile::{Course, Mean, PARAMS};
use crate::error::{Error, Result};
use crate::persist::{Reader, Writer};

/// Most columns times outputs; with more, errors do not depend on columns.
const MOST: usize = 256;

/// Rows before the first use: until then intervals are at least Student's.
const FIRST_ROWS: f64 = 30.0;

/// Standard deviations by which the differences between knots have to exceed those by chance.
///
/// With 2, intervals on noise that does not depend on columns are as wide as without.
const DEVIATIONS: f64 = 2.0;

/// Least variance of the roots of errors in units of their mean, against division by 0.
const LEAST_VARIANCE: f64 = 1e-9;

/// One output.
#[derive(Clone, Debug, Default)]
struct Output {
    /// Roots of errors divided by the factors of all columns, and their variance over their mean.
    all: Mean,
    variance: f64,
    /// One for each column: roots of errors divided by the factors of the other columns and by the
    /// overall mean.
    courses: Vec<Course>,
    /// Scratch: logarithms of the factors on the roots of errors of a row.
    logs: Vec<f64>,
}

impl Output {
    /// Logarithm of the factor of a column on the root of errors at this value.
    ///
    /// It is shrunk by the positive part of James and Stein's estimate, given the sum of squares
    /// between knots and that expected by chance: columns on which errors do not depend have none.
    fn log(&self, column: usize, value: f64) -> f64 {
        let course = &self.courses[column];
        let (differences, knots) = course.differences();
        let free = knots.saturating_sub(1).max(1) as f64;
        let by_chance = self.variance.max(LEAST_VARIANCE) * (free + DEVIATIONS * (2.0 * free).sqrt());
        if differences <= by_chance {
            return 0.0;
        }
        (1.0 - by_chance / differences) * course.root_at(value).max(f64::MIN_POSITIVE).ln()
    }

    fn factor(&self, x: impl Iterator<Item = f64>) -> f64 {
        if self.all.rows < FIRST_ROWS {
            return 1.0;
        }
        (2.0 * x.enumerate().map(|(k, value)| self.log(k, value)).sum::<f64>()).exp()
    }

    fn meet(&mut self, x: impl Iterator<Item = f64> + Clone, error: f64) {
        let known = self.all.rows >= FIRST_ROWS;
        let mut logs = std::mem::take(&mut self.logs);
        logs.clear();
        logs.extend(x.clone().enumerate().map(|(k, value)| if known { self.log(k, value) } else { 0.0 }));
        let total: f64 = logs.iter().sum();
        let mut root = error.sqrt() / total.exp();
        if self.all.value > 0.0 {
            root = root.min(PARAMS.clip * self.all.value);
        }
        let share = self.all.meet(root, 1.0);
        if self.all.value > 0.0 {
            let relative = root / self.all.value;
            self.variance += share * ((relative - 1.0).powi(2) - self.variance);
            for ((course, log), value) in self.courses.iter_mut().zip(&logs).zip(x) {
                course.meet_root(value, relative * log.exp());
            }
        }
        self.logs = logs;
    }
}

/// Size of errors, in units of their spread, as a product of functions of the columns, for each
/// output: each piecewise linear, and estimated from errors divided by the other factors.
///
/// It costs about 50 nanoseconds for each column and output.
#[derive(Clone, Debug, Default)]
pub(crate) struct ColumnSpreads {
    outputs: Vec<Output>,
}

impl ColumnSpreads {
    /// Initial state; empty if there are too many columns and outputs.
    pub fn new(columns: usize, outputs: usize) -> Self {
        if columns.saturating_mul(outputs) > MOST {
            return Self::default();
        }
        let course = Course::relative();
        let output = Output { all: Mean::GAUSSIAN, courses: vec![course; columns], ..Output::default() };
        Self { outputs: vec![output; outputs] }
    }

    /// Whether errors do not depend on columns.
    pub fn is_empty(&self) -> bool {
        self.outputs.is_empty()
    }

    /// Ratio of the size of errors at such a row to the usual size.
    pub fn factor(&self, output: usize, x: impl Iterator<Item = f64>) -> f64 {
        self.outputs.get(output).map_or(1.0, |output| output.factor(x))
    }

    /// Records the error of a prediction, in units of its spread without this factor.
    pub fn meet(&mut self, output: usize, x: impl Iterator<Item = f64> + Clone, error: f64) {
        if let Some(output) = self.outputs.get_mut(output).filter(|_| error.is_finite()) {
            output.meet(x, error.abs());
        }
    }

    pub fn write(&self, out: &mut Writer) {
        if self.outputs.is_empty() {
            return;
        }
        let all: Vec<f64> = self.outputs.iter().flat_map(|o| [o.all.value, o.all.rows, o.variance]).collect();
        out.matrix("columns.spreads", self.outputs.len(), 3, &all);
        let courses = || self.outputs.iter().flat_map(|output| &output.courses);
        let numbers: Vec<f64> = courses().flat_map(Course::numbers).collect();
        out.matrix("columns.courses", courses().count(), Course::NUMBERS, &numbers);
    }

    /// Reads what [`write`](Self::write) wrote; the initial state if it is absent, as in older
    /// files.
    pub fn read(columns: usize, outputs: usize, from: &Reader<'_>) -> Result<Self> {
        let mut new = Self::new(columns, outputs);
        if new.outputs.is_empty() || !from.has("columns.spreads") {
            return Ok(new);
        }
        let all = from.matrix_of("columns.spreads", outputs, 3)?;
        let numbers = from.matrix_of("columns.courses", outputs * columns, Course::NUMBERS)?;
        let mut courses = numbers.chunks_exact(Course::NUMBERS).map(Course::of_numbers);
        for (output, all) in new.outputs.iter_mut().zip(all.chunks_exact(3)) {
            output.all = Mean { value: all[0], rows: all[1] };
            output.variance = all[2];
            output.courses = courses.by_ref().take(columns).collect();
            let sound = output.all.value >= 0.0
                && (0.0..=PARAMS.memory).contains(&output.all.rows)
                && output.variance >= 0.0
                && output.courses.iter().all(|c| c.is_sound() && c.all.value > 0.0);
            if !sound {
                return Err(Error::file("columns.spreads are none of errors"));
            }
        }
        Ok(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{normal, uniform};

    /// Spreads after errors whose deviation depends on a row of four columns.
    fn learned(deviation: impl Fn([f64; 4]) -> f64) -> ColumnSpreads {
        let mut spreads = ColumnSpreads::new(4, 1);
        for t in 0..5000 {
            let x: [f64; 4] = std::array::from_fn(|k| uniform(k as u64, t) - 0.5);
            spreads.meet(0, x.into_iter(), deviation(x) * normal(9, t));
        }
        spreads
    }

    fn ratio(spreads: &ColumnSpreads, one: [f64; 4], other: [f64; 4]) -> f64 {
        spreads.factor(0, one.into_iter()) / spreads.factor(0, other.into_iter())
    }

    #[test]
    fn errors_that_grow_with_columns_are_recognized() {
        let spreads = learned(|x| (2.0 * x[2] + x[1]).exp());
        let found = ratio(&spreads, [0.0, 0.4, 0.4, 0.0], [0.0, -0.4, -0.4, 0.0]);
        assert!((found / 2.4_f64.exp() - 1.0).abs() < 0.25, "{found}");
        let found = ratio(&spreads, [0.4, 0.0, 0.0, 0.4], [-0.4, 0.0, 0.0, -0.4]);
        assert!((found - 1.0).abs() < 0.05, "{found}");
        let spreads = learned(|x| 0.1 + x[3].abs());
        assert!(ratio(&spreads, [0.0, 0.0, 0.0, 0.45], [0.0; 4]) > 2.0);
    }

    #[test]
    fn errors_that_do_not_are_left_as_they_are() {
        let spreads = learned(|_| 3.0);
        for value in [-0.45, -0.1, 0.3, 1e9] {
            assert!((spreads.factor(0, [value; 4].into_iter()) - 1.0).abs() < 0.05);
        }
        assert!((ColumnSpreads::new(300, 1).factor(0, std::iter::empty()) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn rows_in_an_order_duplicates_and_outliers_leave_it_sound() {
        let mut spreads = ColumnSpreads::new(3, 2);
        for t in 0..3000_u64 {
            let x = [t as f64, 1.0, if t % 700 == 0 { 1e300 } else { normal(1, t / 4) }];
            let error = if t % 500 == 0 { 1e200 } else { normal(2, t) };
            spreads.meet(1, x.into_iter(), error);
            let factor = spreads.factor(1, x.into_iter());
            assert!(factor > 0.05 && factor < 20.0, "{factor} at {t}");
        }
        let mut out = Writer::default();
        spreads.write(&mut out);
        let bytes = out.finish("test", serde_json::Value::Null, serde_json::Value::Null).unwrap();
        let read = ColumnSpreads::read(3, 2, &Reader::open(&bytes).unwrap()).unwrap();
        let x = [3000.0, 1.0, 0.5];
        assert_eq!(read.factor(1, x.into_iter()).to_bits(), spreads.factor(1, x.into_iter()).to_bits());
    }
}
