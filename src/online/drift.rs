//! Drift detection: errors of recent blocks compared with earlier ones.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::persist::{Reader, Writer};

/// Most blocks that are stored, which bounds memory.
const MAX_BLOCKS: usize = 64;

/// Numbers of the drift detector of the adaptive experts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DriftParams {
    /// Rows of a block.
    pub block_rows: u64,
    /// The stream has drifted if the mean error of a block is above the median of earlier blocks by this factor ...
    pub ratio: f64,
    /// ... and by this many standard errors: rare large errors, such as those of labels, are more in some blocks by chance.
    pub standard_errors: f64,
    /// Share of the rows of a block out of the range of a column, above which the column has drifted.
    pub range_share: f64,
}

impl Default for DriftParams {
    fn default() -> Self {
        Self { block_rows: 256, ratio: 1.6, standard_errors: 3.0, range_share: 0.1 }
    }
}

/// Mean absolute errors of blocks of rows.
#[derive(Clone, Debug)]
pub(crate) struct Drift {
    params: DriftParams,
    /// Mean absolute errors in units of their expectation, averaged over outputs, one for each
    /// complete block, the latest last.
    blocks: Vec<f64>,
    /// Rows of the current block: sum of the errors, and of their squares.
    sum: f64,
    squares: f64,
    /// For each column, how many of these rows are out of range.
    beyond: Vec<u64>,
}

/// Result of a complete block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// No change.
    Steady,
    /// Columns have left their ranges.
    Ranges,
    /// Errors have increased.
    Errors,
}

/// Upper limit of the error of a row, against overflow.
const LARGEST: f64 = 1e100;

impl Drift {
    /// Initial state for `columns` columns.
    pub fn new(features: usize, params: DriftParams) -> Self {
        Self { params, blocks: Vec::new(), sum: 0.0, squares: 0.0, beyond: vec![0; features] }
    }

    /// Continues with other ranges of columns.
    pub fn with_other_ranges(&mut self) {
        self.beyond.fill(0);
    }

    /// Records the error of a row.
    pub fn add(&mut self, error: f64) {
        // If targets were nearly constant, the next may be any number of deviations off.
        let error = if error < LARGEST { error.max(0.0) } else { LARGEST };
        self.sum += error;
        self.squares += error * error;
    }

    /// Records for each column whether the row is out of its range.
    pub fn add_beyond(&mut self, beyond: impl Iterator<Item = bool>) {
        self.beyond.iter_mut().zip(beyond).for_each(|(count, beyond)| *count += u64::from(beyond));
    }

    /// Ends a block. Errors have increased if they are `ratio` times those of earlier blocks.
    /// `counts`: whether it matters that this column is out of range.
    pub fn end(&mut self, ratio: f64, counts: impl Fn(usize) -> bool) -> Verdict {
        let DriftParams { standard_errors, range_share, .. } = self.params;
        let rows = self.params.block_rows as f64;
        let mean = self.sum / rows;
        let uncertain = ((self.squares / rows - mean * mean).max(0.0) / rows).sqrt();
        let left = |(k, count): (usize, &u64)| *count as f64 > range_share * rows && counts(k);
        let beyond = self.beyond.iter().enumerate().any(left);
        let mut before = self.blocks.clone();
        self.blocks.push(mean);
        if self.blocks.len() > MAX_BLOCKS {
            self.blocks.remove(0);
        }
        (self.sum, self.squares) = (0.0, 0.0);
        self.beyond.fill(0);
        before.sort_by(f64::total_cmp);
        let median = before.get(before.len() / 2).copied().unwrap_or(f64::INFINITY);
        if mean > ratio * median && mean > median + standard_errors * uncertain {
            Verdict::Errors
        } else if beyond {
            Verdict::Ranges
        } else {
            Verdict::Steady
        }
    }

    pub fn write(&self, out: &mut Writer) {
        out.vector("drift.blocks", &self.blocks);
        out.vector("drift.sums", &[self.sum, self.squares]);
        out.counts("drift.beyond", &self.beyond);
    }

    /// Reads what [`write`](Self::write) wrote, for this number of columns.
    pub fn read(features: usize, params: DriftParams, from: &Reader<'_>) -> Result<Self> {
        let beyond = from.all_counts("drift.beyond")?;
        let (_, _, blocks) = from.matrix("drift.blocks")?;
        let most = params.block_rows;
        let sums = from.vector("drift.sums", 2)?;
        let sound = |value: &f64, size: f64| (0.0..=1.01 * size).contains(value);
        if blocks.len() > MAX_BLOCKS
            || !blocks.iter().all(|mean| sound(mean, LARGEST))
            || !sound(&sums[0], most as f64 * LARGEST)
            || !sound(&sums[1], most as f64 * LARGEST * LARGEST)
            || beyond.len() != features
            || beyond.iter().any(|count| *count > most)
        {
            return Err(Error::file("what it knows of the latest rows does not fit them"));
        }
        Ok(Self { params, blocks, sum: sums[0], squares: sums[1], beyond })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::Loss;
    use crate::random::{normal, uniform};

    const BLOCK: usize = 256;

    /// The results of blocks in which errors are 1 with these probabilities, and 0 otherwise.
    fn verdicts(chances: &[f64]) -> Vec<Verdict> {
        let mut drift = Drift::new(2, DriftParams::default());
        let of_block = |(b, chance): (usize, &f64)| {
            for t in 0..BLOCK {
                let error = f64::from(u8::from(uniform(7, (b * BLOCK + t) as u64) < *chance));
                drift.add(error);
                drift.add_beyond([t % 20 == 0, t % 20 == b % 20].into_iter());
            }
            drift.end(1.6, |_| true)
        };
        chances.iter().enumerate().map(of_block).collect()
    }

    #[test]
    fn rare_errors_that_come_by_chance_are_no_change() {
        assert!(verdicts(&[0.02; 60]).iter().all(|verdict| *verdict == Verdict::Steady));
        assert_eq!(verdicts(&[0.02, 0.02, 0.02, 0.02, 0.2]).last(), Some(&Verdict::Errors));
    }

    #[test]
    fn labels_that_are_right_by_far_are_no_change() {
        for (loss, verdict) in [(Loss::SquaredHinge, Verdict::Steady), (Loss::Squared, Verdict::Errors)] {
            let mut drift = Drift::new(0, DriftParams::default());
            let mut end = |beyond: f64| {
                (0..BLOCK).for_each(|t| {
                    let (target, wrong) = (if t % 3 == 0 { 1.0 } else { -1.0 }, t % 40 == 0);
                    drift.add(loss.error(if wrong { -target } else { beyond * target }, target));
                });
                drift.end(1.6, |_| true)
            };
            assert!((0..5).all(|_| end(1.1) == Verdict::Steady));
            assert_eq!(end(2.0), verdict);
        }
    }

    #[test]
    fn a_column_leaves_its_range_by_itself() {
        let mut drift = Drift::new(40, DriftParams::default());
        for (share, verdict) in [(20, Verdict::Steady), (5, Verdict::Ranges)] {
            for t in 0..BLOCK {
                drift.add(0.5);
                // Few rows of each column, but some column in every row.
                drift.add_beyond((0..40).map(|k| (t + k) % 40 == 0 || k == 0 && t % share == 0));
            }
            assert_eq!(drift.end(1.6, |_| true), verdict);
        }
        (0..100).for_each(|_| drift.add_beyond((0..40).map(|k| k == 7)));
        assert_eq!(drift.end(1.6, |k| k != 7), Verdict::Steady);
    }

    /// First row at which Page and Hinkley's test reports a rise of the errors (E. S. Page, "Continuous inspection
    /// schemes", 1954): the sum of what they are above their mean has risen by `threshold` over its minimum.
    fn page_hinkley(errors: &[f64], tolerance: f64, threshold: f64) -> Option<usize> {
        let (mut mean, mut sum, mut least) = (0.0, 0.0, 0.0_f64);
        errors.iter().enumerate().position(|(t, error)| {
            mean += (error - mean) / (t + 1) as f64;
            sum += error - mean - tolerance;
            least = least.min(sum);
            sum - least > threshold
        })
    }

    /// First row at which ADWIN (A. Bifet and R. Gavalda, "Learning from time-changing data with adaptive windowing", 2007)
    /// reports a change: the means of two parts of the window differ by more than chance. Cuts are multiples of 32 rows.
    fn adwin(errors: &[f64], confidence: f64) -> Option<usize> {
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
        (64..=errors.len()).step_by(32).find(|end| {
            let window = &errors[..*end];
            let n = window.len() as f64;
            let variance = window.iter().map(|error| (error - mean(window)).powi(2)).sum::<f64>() / n;
            let level = (2.0 * n.ln() / confidence).ln();
            (32..window.len()).step_by(32).any(|cut| {
                let (old, new) = window.split_at(cut);
                let m = ((old.len() as f64).recip() + (new.len() as f64).recip()).recip();
                let bound = (2.0 / m * variance * level).sqrt() + 2.0 / (3.0 * m) * level;
                (mean(new) - mean(old)).abs() > bound
            })
        })
    }

    /// The row after the first block with larger errors.
    fn first_drift(errors: &[f64]) -> Option<usize> {
        let mut drift = Drift::new(0, DriftParams::default());
        let found = errors.chunks_exact(BLOCK).position(|block| {
            for error in block {
                drift.add(*error);
            }
            drift.end(1.6, |_| true) == Verdict::Errors
        });
        found.map(|block| (block + 1) * BLOCK)
    }

    /// Why there is a detector of its own: unlike Page and Hinkley's test it has no threshold in the unit of the errors, unlike
    /// ADWIN it ignores errors that become smaller, and unlike both it ignores a single outlier. The price is a delay of up to
    /// two blocks.
    #[test]
    fn it_differs_from_adwin_and_page_hinkley() {
        let change = 8 * BLOCK;
        let errors = |later: f64, unit: f64| {
            let error = |t: usize| unit * normal(3, t as u64).abs() * if t < change { 1.0 } else { later };
            (0..12 * BLOCK).map(error).collect::<Vec<f64>>()
        };
        // Doubled errors are found by all three.
        let doubled = errors(2.0, 1.0);
        let found = [first_drift(&doubled), page_hinkley(&doubled, 0.05, 50.0), adwin(&doubled, 0.002)];
        for row in found {
            assert!(row.is_some_and(|row| (change..=change + 2 * BLOCK).contains(&row)), "{found:?}");
        }
        // In other units it finds the same.
        for (unit, found) in [(1e3, true), (1e-3, false)] {
            let other = errors(2.0, unit);
            assert_eq!(first_drift(&other), first_drift(&doubled));
            let row = page_hinkley(&other, 0.05, 50.0);
            assert!(if found { row.is_some_and(|row| row < change) } else { row.is_none() }, "{row:?}");
        }
        // Errors that become smaller are no drift.
        let halved = errors(0.5, 1.0);
        assert_eq!(first_drift(&halved), None);
        assert!(adwin(&halved, 0.002).is_some());
        // One outlier is no drift.
        let mut outlier = errors(1.0, 1.0);
        outlier[2000] = 1e6;
        assert_eq!(first_drift(&outlier), None);
        assert!(page_hinkley(&outlier, 0.05, 50.0).is_some());
        assert!(adwin(&outlier, 0.002).is_some());
    }
}
