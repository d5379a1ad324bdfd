//! Accuracy of past decisions between classes, and prediction sets.

use ndarray::ArrayView1;

use crate::error::{Error, Result};
use crate::online::quantiles::Levels;
use crate::online::rise::RiseDetector;
use crate::online::tally::Tally;
use crate::persist::{Reader, Writer};
use crate::uncertainty::{Diagnostics, ENOUGH, LOOK};

/// Decay per row of the recent share of mistakes.
const RECENT: f64 = 1.0 - 1.0 / 128.0;

/// Smallest rise of the share of mistakes for a warning.
const RISE: f64 = 0.1;

/// Prequential decisions and those of the commonest class so far, and the margins of the right
/// class against the likeliest other, for prediction sets.
#[derive(Clone, Debug, Default)]
pub(super) struct Judged {
    rows: u64,
    /// Number of mistakes, of the model and of the commonest class.
    wrong: [Tally; 2],
    /// Recent share of mistakes, over about a hundred rows.
    recent: f64,
    watch: RiseDetector,
    useless: bool,
    sets: Levels,
}

/// Square of the odds of the likeliest other class against one, from log-odds: the score that
/// decides whether the class is in a prediction set.
fn strangeness(outputs: ArrayView1<'_, f64>, unit: f64, place: usize) -> f64 {
    (-2.0 * unit * lead(outputs, place)).exp()
}

/// By how much the output of a class exceeds those of all others. A single output is that of the
/// second of two classes.
fn lead(outputs: ArrayView1<'_, f64>, place: usize) -> f64 {
    if outputs.len() == 1 {
        return if place == 1 { outputs[0] } else { -outputs[0] };
    }
    let others = outputs.iter().enumerate().filter(|(other, _)| *other != place);
    outputs[place] - others.map(|(_, output)| *output).fold(f64::NEG_INFINITY, f64::max)
}

impl Judged {
    pub fn new() -> Self {
        Self { sets: Levels::new(1), ..Self::default() }
    }

    /// Records the outputs of a row, in units that make them log-odds, the decision, the commonest
    /// class, and the right class.
    pub fn meet(
        &mut self,
        (outputs, unit): (ArrayView1<'_, f64>, f64),
        (decided, commonest, right): (usize, usize, usize),
    ) {
        self.rows += 1;
        let wrong = [decided, commonest].map(|place| f64::from(u8::from(place != right)));
        self.wrong.iter_mut().zip(wrong).for_each(|(sum, wrong)| sum.add(wrong));
        let share = (self.rows as f64).recip().max(1.0 - RECENT);
        self.recent += share * (wrong[0] - self.recent);
        if self.rows.is_multiple_of(LOOK) {
            self.watch.look(self.recent, RISE);
            // Beyond chance: the deviation of a count is its root.
            let [model, commonest] = self.wrong.map(|wrong| wrong.late);
            self.useless |= self.rows >= ENOUGH && model > commonest + 3.0 * commonest.sqrt();
        }
        self.sets.meet(0, &[strangeness(outputs, unit, right)]);
    }

    /// Whether a class is in the set of this coverage. The likeliest always is.
    pub fn holds(outputs: ArrayView1<'_, f64>, unit: f64, place: usize, reach: f64) -> bool {
        lead(outputs, place) >= 0.0 || strangeness(outputs, unit, place) <= reach * reach
    }

    /// Thresholds of the sets of this coverage, between 0 and 1.
    pub fn reach(&self, coverage: f64) -> f64 {
        self.sets.reach(0, coverage)
    }

    /// Summary of the decisions.
    pub fn diagnostics(&self, inside: Diagnostics) -> Diagnostics {
        let [model, commonest] = self.wrong.map(|wrong| wrong.means(self.rows));
        let share = |share: f64| (self.rows > 0).then(|| vec![share]);
        let (coverage, late_coverage) = self.sets.coverage().map(|[all, late]| (all, late)).unzip();
        Diagnostics {
            rows: self.rows,
            error: share(model.all),
            late_error: share(model.late),
            baseline_error: share(commonest.all),
            late_baseline_error: share(commonest.late),
            coverage,
            late_coverage,
            error_rose: self.watch.has_risen(),
            was_useless: self.useless,
            ..inside
        }
    }

    /// Adds the statistics of later rows.
    pub fn follow(&mut self, later: &Self) {
        self.wrong.iter_mut().zip(later.wrong).for_each(|(sum, more)| sum.follow(more, later.rows));
        self.rows += later.rows;
        (self.recent, self.watch) = (later.recent, later.watch);
        self.useless |= later.useless;
        self.sets.follow(&later.sets, 1.0);
    }

    pub fn write(&self, out: &mut Writer) {
        if self.rows > 0 {
            out.counts("judged.counts", &[self.rows, u64::from(self.useless)]);
            let [model, commonest] = self.wrong;
            let sums = [model.all, commonest.all, model.late, commonest.late, self.recent];
            out.vector("judged.wrong", &sums);
            self.watch.write("judged", out);
            self.sets.write("judged", &[], out);
        }
    }

    /// Reads what [`write`](Self::write) wrote; empty statistics for older files.
    pub fn read(from: &Reader<'_>) -> Result<Self> {
        if !from.has("judged.counts") {
            return Ok(Self::new());
        }
        let [rows, useless] = from.counts("judged.counts")?;
        let wrong = from.vector("judged.wrong", 5)?;
        if wrong.iter().any(|sum| *sum < 0.0) {
            return Err(Error::file("judged.wrong are no counts"));
        }
        Ok(Self {
            rows,
            wrong: [0, 1].map(|k| Tally { all: wrong[k], late: wrong[k + 2] }),
            recent: wrong[4],
            watch: RiseDetector::read("judged", from)?,
            useless: useless != 0,
            sets: Levels::read("judged", 1, from)?.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::random::uniform;

    /// A class of three drawn with the odds `exp(outputs)`, which differ from those of `unit`.
    fn row(t: u64, share: f64) -> (ndarray::Array1<f64>, usize) {
        let outputs = array![uniform(1, t), 2.0 * uniform(2, t), 3.0 * uniform(3, t) - 1.0] * 2.0;
        let odds = outputs.mapv(|output| (share * output).exp());
        let mut left = uniform(4, t) * odds.sum();
        let right = odds.iter().position(|odds| {
            left -= odds;
            left <= 0.0
        });
        (outputs, right.unwrap_or(2))
    }

    #[test]
    fn sets_hold_the_right_class_as_often_as_asked_also_after_a_change() {
        for coverage in [0.8, 0.9, 0.95, 0.99] {
            let (mut judged, mut held) = (Judged::new(), 0.0);
            for t in 0..20_000 {
                let (outputs, right) = row(t, if t < 10_000 { 2.0 } else { 0.7 });
                let reach = judged.reach(coverage);
                held += f64::from(u8::from(Judged::holds(outputs.view(), 1.0, right, reach)));
                judged.meet((outputs.view(), 1.0), (0, 0, right));
            }
            assert!((held / 20_000.0 - coverage).abs() < 0.012, "{held} of {coverage}");
        }
    }

    #[test]
    fn more_mistakes_are_noticed_and_chance_is_not() {
        for (later, rises) in [(0.2, false), (0.5, true)] {
            let mut judged = Judged::new();
            for t in 0..12_000 {
                let wrong = uniform(5, t) < if t < 10_000 { 0.2 } else { later };
                judged.meet((array![1.0].view(), 1.0), (1, 0, usize::from(!wrong)));
            }
            assert_eq!(judged.diagnostics(Diagnostics::default()).error_rose, rises);
        }
    }
}
