//! How many spreads errors are.

use super::Record;
use super::first::FirstErrors;
use super::profile::Profile;
use crate::error::{Result, in_range};
use crate::online::error_scale::Size;
use crate::online::quantiles::Levels;
use crate::online::quantiles::WITHIN;
use crate::persist::{Reader, Writer};

/// What is that small beside a target is made of rounding.
const ROUNDING: f64 = 1e-12;

/// The coverage whose intervals are counted.
const NINETY: f64 = 0.9;

/// How many of its spreads the errors of a model are, level by level from 0.1 to 0.999, for each output, and a
/// [`Record`] of how large they were.
///
/// Coverage follows from how the [reaches](Self::reach) move after every row, whatever the stream: adaptive conformal
/// inference (Gibbs and Candes, 2021; Angelopoulos, Candes and Tibshirani, 2023). Left out of it are the first thirty rows,
/// whose intervals are Student's, and rows after thirty exact predictions in a row. A row costs some tens of nanoseconds
/// for each output.
#[derive(Clone, Debug, Default)]
pub struct Calibration {
    levels: Levels,
    record: Record,
    sizes: Vec<Size>,
    /// Of no output where spreads are taken as they are.
    profile: Profile,
    first: Vec<FirstErrors>,
}

/// How far the intervals of an output go with some coverage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HalfWidth {
    /// In spreads.
    reach: f64,
    /// Of the first rows: in units of the target, and whether it replaces the other.
    first: Option<(f64, bool)>,
}

impl Calibration {
    /// That of Gaussian errors, for as many outputs.
    pub(crate) fn new(outputs: usize) -> Self {
        Self {
            levels: Levels::new(outputs),
            record: Record::new(outputs),
            sizes: vec![Size::default(); outputs],
            profile: Profile::default(),
            first: vec![FirstErrors::default(); outputs],
        }
    }

    /// The same, of spreads that are corrected for how large errors of such predictions are.
    pub(crate) fn by_prediction(outputs: usize) -> Self {
        Self { profile: Profile::new(outputs), ..Self::new(outputs) }
    }

    pub(super) fn outputs(&self) -> usize {
        self.levels.outputs()
    }

    /// How large the errors were.
    #[must_use]
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Shares of the targets inside their 90 % intervals, of all rows and of late, one an output; `None` before there
    /// are any.
    #[must_use]
    pub fn coverage(&self) -> Option<[Vec<f64>; 2]> {
        self.levels.coverage()
    }

    /// Refuses what is no coverage.
    pub(crate) fn check(coverage: f64) -> Result<f64> {
        in_range("coverage", coverage, coverage > 0.0 && coverage < 1.0, "above 0 and below 1")
    }

    /// How many spreads this share of the errors of an output, above 0 and below 1, is within.
    #[must_use]
    pub fn reach(&self, output: usize, coverage: f64) -> f64 {
        self.levels.reach(output, coverage)
    }

    /// The interval of a prediction with this spread, of which the whole line is that of an infinite one.
    pub(crate) fn interval(&self, output: usize, coverage: f64, made: f64, spread: f64) -> (f64, f64) {
        self.interval_within(output, self.half_width(output, coverage), made, spread)
    }

    /// What the intervals of a coverage have in common for all predictions of an output.
    pub(crate) fn half_width(&self, output: usize, coverage: f64) -> HalfWidth {
        let first = self.first.get(output).and_then(|first| first.half_width(coverage));
        HalfWidth { reach: self.reach(output, coverage), first }
    }

    /// The interval with this [half-width](Self::half_width).
    pub(crate) fn interval_within(
        &self,
        output: usize,
        width: HalfWidth,
        made: f64,
        spread: f64,
    ) -> (f64, f64) {
        let corrected = spread * self.profile.factor(output, made);
        // Of an infinite reach also where nothing is known to vary.
        let usual = if width.reach < f64::INFINITY { corrected * width.reach } else { f64::INFINITY };
        let far = match width.first {
            Some((first, true)) if usual < f64::INFINITY => first,
            Some((first, _)) => usual.max(first),
            None => usual,
        };
        around(made, far)
    }

    /// Takes down a prediction with this spread, what was right, and as what it was learned and is recorded, which may be
    /// nearer to the prediction; of an infinite spread, that of a prediction of which nothing is known yet, only the
    /// error.
    pub(crate) fn meet(&mut self, output: usize, made: f64, (target, limited): (f64, f64), spread: f64) {
        self.record.meet(output, made, limited);
        let errors = std::iter::once(target - made);
        if spread < f64::INFINITY {
            let corrected = spread * self.profile.factor(output, made);
            self.learn_errors(output, errors, &mut [score(made, target, corrected * corrected)]);
            self.profile.meet(output, made, (target - made) / spread);
        } else {
            self.learn_errors(output, errors, &mut []);
        }
    }

    /// Takes down as many rows, which `at` gives by row and output, and squares of their scores, that may be fewer than
    /// the rows, output by output.
    pub(super) fn meet_block(
        &mut self,
        rows: usize,
        at: impl Fn(usize, usize) -> (f64, f64),
        scores: &mut [Vec<f64>],
    ) {
        for (c, scores) in scores.iter_mut().enumerate() {
            let errors = (0..rows).map(|i| at(i, c)).map(|(made, target)| target - made);
            self.learn_errors(c, errors, scores);
        }
        self.record.meet_block(rows, at);
    }

    /// Takes down errors of an output, and squares of the scores of the last of them.
    fn learn_errors(
        &mut self,
        output: usize,
        errors: impl ExactSizeIterator<Item = f64>,
        scores: &mut [f64],
    ) {
        let (without, mut done) = (errors.len() - scores.len(), 0);
        for (i, error) in errors.enumerate() {
            let first = self.first[output].half_width(NINETY);
            self.first[output].meet(error);
            // The interval of a first row is another: what it held is counted.
            if let (Some((far, alone)), Some(k)) = (first, i.checked_sub(without)) {
                let before = self.levels.beyond(output);
                self.learn(output, &mut scores[k..=k]);
                let beyond = self.levels.beyond(output) - before;
                let outside = error.abs() > far && (alone || beyond > 0.0);
                self.levels.recount(output, f64::from(u8::from(outside)) - beyond);
                done = k + 1;
            }
        }
        self.learn(output, &mut scores[done..]);
    }

    /// Takes down squares of scores of an output, in their order.
    fn learn(&mut self, output: usize, scores: &mut [f64]) {
        let size = &mut self.sizes[output];
        let mut begin = 0;
        for i in 0..scores.len() {
            if size.is_still(scores[i] == 0.0) {
                scores[i] = WITHIN;
            }
            if let Some(factor) = size.meet(scores[i]) {
                self.levels.meet(output, &scores[begin..=i]);
                self.levels.scale(output, factor);
                begin = i + 1;
            }
        }
        self.levels.meet(output, &scores[begin..]);
    }

    /// Adds what is known of the errors on later rows, which leave so much of the weight of those before.
    pub(crate) fn follow(&mut self, later: &Self, keep: f64) {
        let share = self.levels.share(&later.levels, keep);
        if share > 0.0 {
            self.sizes.iter_mut().zip(&later.sizes).for_each(|(size, later)| size.add(later, share));
        }
        self.first.iter_mut().zip(&later.first).for_each(|(first, later)| first.follow(later));
        self.record.follow(&later.record);
        self.levels.follow(&later.levels, keep);
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        self.levels.write("calibration", &self.sizes, out);
        self.profile.write(out);
        FirstErrors::write(&self.first, out);
        self.record.write(out);
    }

    /// What [`write`](Self::write) wrote; that of Gaussian errors where it wrote nothing, as in older files.
    pub(crate) fn read(outputs: usize, from: &Reader<'_>) -> Result<Self> {
        let (levels, sizes) = Levels::read("calibration", outputs, from)?;
        let (record, profile) = (Record::read(outputs, from)?, Profile::read(outputs, from)?);
        let first = FirstErrors::read(outputs, from)?;
        Ok(Self { levels, record, sizes, profile, first })
    }
}

/// The interval that goes so far to both sides of a prediction.
pub(crate) fn around(made: f64, far: f64) -> (f64, f64) {
    // What counts as no error is inside.
    let far = far.max(1.001 * ROUNDING * made.abs());
    (made - far, made + far)
}

/// The square of an error in units of its spread, of which the square is given.
pub(crate) fn score(made: f64, target: f64, spread: f64) -> f64 {
    // What is no error is within any spread, also none.
    let square = (target - made) * (target - made);
    if square == 0.0 || is_exact(made, target) { 0.0 } else { square / spread }
}

/// Whether what a prediction is off by is made of rounding.
pub(crate) fn is_exact(made: f64, target: f64) -> bool {
    (target - made).abs() <= ROUNDING * target.abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::normal;

    fn both(target: f64) -> (f64, f64) {
        (target, target)
    }

    /// The share of errors that are inside, of rows from `first` on.
    fn inside(errors: impl Fn(u64) -> f64, rows: u64, first: u64, coverage: f64) -> f64 {
        let mut calibration = Calibration::new(1);
        let mut within = 0.0;
        for t in 0..rows {
            let error = errors(t);
            let (low, high) = calibration.interval(0, coverage, 0.0, 1.0);
            within += f64::from(t >= first && (low..=high).contains(&error));
            calibration.meet(0, 0.0, both(error), 1.0);
        }
        within / (rows - first) as f64
    }

    #[test]
    fn coverage_holds_whatever_errors_are_and_between_levels() {
        for coverage in [0.15, 0.5, 0.73, 0.9, 0.93, 0.98, 0.997] {
            let laws: [&dyn Fn(u64) -> f64; 4] = [
                &|t| 7.0 * normal(1, t),
                &|t| normal(2, t).powi(3),
                &|t| (t as f64 / 4000.0).exp() * normal(3, t),
                &|t| if t < 3000 { 1.0 } else { 5.0 } * normal(4, t),
            ];
            for (i, law) in laws.iter().enumerate() {
                let found = inside(law, 6000, 1000, coverage);
                assert!((found - coverage).abs() < 0.015, "law {i}: {found} at {coverage}");
            }
        }
    }

    /// The share inside of targets that an adversary chooses, knowing the interval, of as many rows; and that which is
    /// counted at a coverage of 0.9.
    fn inside_against(adversary: &dyn Fn(u64, f64) -> f64, rows: u64, coverage: f64) -> [f64; 2] {
        let mut calibration = Calibration::new(1);
        let mut within = 0.0;
        for t in 0..rows {
            let (low, high) = calibration.interval(0, coverage, 0.0, 1.0);
            let error = adversary(t, high);
            within += f64::from((low..=high).contains(&error));
            calibration.meet(0, 0.0, both(error), 1.0);
        }
        [within / rows as f64, calibration.coverage().unwrap()[0][0]]
    }

    #[test]
    fn coverage_holds_against_an_adversary_that_knows_the_interval() {
        let rows = 12_000;
        let just_outside = |far: f64| far * (1.0 + 1e-6) + f64::MIN_POSITIVE;
        let adversaries: [&dyn Fn(u64, f64) -> f64; 7] = [
            // Just outside, as far as targets go, or like any other.
            &|t, far| if far < 3.0 { just_outside(far) } else { normal(1, t) },
            // The same without an end.
            &|_, far| just_outside(far).min(1e200),
            &|_, far| (far * 1e3 + 1.0).min(1e200),
            // Just inside and just outside, to spread levels or to bring them together.
            &|t, far| if t % 2 == 0 { far * (1.0 - 1e-6) } else { just_outside(far).min(10.0) },
            &|t, far| if (t / 40) % 2 == 0 { 0.1 * normal(2, t) } else { just_outside(far).min(5.0) },
            // To make units small before errors are large.
            &|t, far| if t % 60 < 25 { 1e-9 * normal(3, t) } else { just_outside(far).min(1e3) },
            // All alike: levels come together.
            &|t, far| if t % 100 == 0 { just_outside(far).min(2.0) } else { 1.0 + 1e-9 * normal(4, t) },
        ];
        for coverage in [0.5, 0.8, 0.9, 0.95] {
            for (i, adversary) in adversaries.iter().enumerate() {
                let [found, counted] = inside_against(adversary, rows, coverage);
                assert!((found - coverage).abs() < 0.02, "adversary {i}: {found} at {coverage}");
                let off = if (coverage - 0.9).abs() < 1e-9 { counted - found } else { 0.0 };
                assert!(off.abs() < 1e-9, "adversary {i}: {counted} counted of {found}");
            }
        }
    }

    #[test]
    fn coverage_holds_after_exact_predictions_and_large_changes() {
        let laws: [&dyn Fn(u64) -> f64; 3] = [
            // A sensor that is stuck.
            &|t| if t < 5000 { 0.0 } else { normal(6, t) },
            // A model that understands, and another system after it.
            &|t| if t < 5000 { (-(t as f64) / 250.0).exp() } else { 1.0 } * normal(7, t),
            &|t| if t < 5000 { 1.0 } else { 1e-7 } * normal(8, t),
        ];
        for coverage in [0.5, 0.9, 0.99] {
            for (i, law) in laws.iter().enumerate() {
                let found = inside(law, 6000, 5000, coverage);
                assert!((found - coverage).abs() < 0.05, "law {i}: {found} at {coverage}");
            }
        }
    }

    #[test]
    fn what_is_made_of_rounding_is_inside() {
        let mut calibration = Calibration::new(1);
        for _ in 0..100 {
            let (low, high) = calibration.interval(0, 0.5, 3.0, 0.0);
            assert!((low..=high).contains(&(3.0 + 2e-12)) && high - low < 1e-11);
            calibration.meet(0, 3.0, both(3.0 + 2e-12), 0.0);
        }
    }

    #[test]
    fn reaches_grow_with_coverage_and_begin_as_gaussian_ones() {
        let mut calibration = Calibration::new(2);
        for (coverage, reach) in [(0.05, 0.0627), (0.683, 1.0006), (0.9, 1.6449), (0.97, 2.17), (0.9999, 3.9)]
        {
            let found = calibration.reach(1, coverage);
            assert!((found - reach).abs() < 0.02 * reach, "{found} at {coverage}");
        }
        (0..500).for_each(|t| calibration.meet(1, 0.0, both(normal(5, t).powi(9)), 1.0));
        let reaches: Vec<f64> = (1..1000).map(|c| calibration.reach(1, f64::from(c) / 1000.0)).collect();
        assert!(reaches.is_sorted());
    }

    #[test]
    fn errors_of_nothing_and_without_bounds_are_borne() {
        let mut calibration = Calibration::new(1);
        for _ in 0..10_000 {
            calibration.meet(0, 1.0, both(1.0), 0.0);
        }
        assert!(calibration.reach(0, 0.9) > 1.0);
        for _ in 0..10_000 {
            calibration.meet(0, 0.0, both(1.0), 0.0);
        }
        assert!(calibration.reach(0, 0.9) > 1e9);
        assert_eq!(calibration.interval(0, 0.9, 1.0, f64::INFINITY), (f64::NEG_INFINITY, f64::INFINITY));
    }
}
