//! Quantiles of errors in units of their spread.

use super::Record;
use super::first::FirstErrors;
use super::profile::Profile;
use crate::error::{Error, Result, in_range};
use crate::online::quantiles::Levels;
use crate::online::quantiles::WITHIN;
use crate::online::rescaling::Rescaling;
use crate::persist::{Reader, Writer};

/// Errors below this share of the target are rounding.
const ROUNDING: f64 = 1e-12;

/// Coverage of the intervals that `diagnostics` counts.
const NINETY: f64 = 0.9;

/// Share of Gaussian errors within their deviation.
const DEVIATION: f64 = 0.683;

/// Rows over which the usual novelty decreases to that of recent rows.
const NOVELTY_MEMORY: f64 = 1000.0;

/// Half-widths of intervals in units of the spread, at 14 quantile levels from 0.1 to 0.999, for
/// each output, with a [`Record`] of the size of errors.
///
/// Coverage follows from the update of the [half-widths](Self::half_width) after every row, for any
/// stream: adaptive conformal inference (Gibbs and Candes, 2021; Angelopoulos, Candes and
/// Tibshirani, 2023). Excepted are the first 30 rows, whose intervals are Student's, and rows after
/// 30 consecutive zero errors. A row costs tens of nanoseconds for each output.
#[derive(Clone, Debug, Default)]
pub struct Calibration {
    levels: Levels,
    record: Record,
    sizes: Vec<Rescaling>,
    /// Empty where spreads are used without correction.
    profile: Profile,
    first: Vec<FirstErrors>,
    /// Usual largest novelty of rows, by output: their maximum, which decays to recent novelty.
    novelty: Vec<f64>,
}

/// Half-width of the intervals of an output at one coverage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HalfWidth {
    /// In units of the spread.
    reach: f64,
    /// For the first rows: in units of the target, and whether it replaces `spreads`.
    first: Option<(f64, bool)>,
}

impl Calibration {
    /// Initial state for `n` outputs: quantiles of Gaussian errors.
    pub(crate) fn new(outputs: usize) -> Self {
        Self {
            levels: Levels::new(outputs),
            record: Record::new(outputs),
            sizes: vec![Rescaling::default(); outputs],
            profile: Profile::default(),
            first: vec![FirstErrors::default(); outputs],
            novelty: vec![1.0; outputs],
        }
    }

    /// The same, with spreads corrected for the size of errors near each prediction.
    pub(crate) fn by_prediction(outputs: usize) -> Self {
        Self { profile: Profile::new(outputs), ..Self::new(outputs) }
    }

    pub(super) fn outputs(&self) -> usize {
        self.levels.outputs()
    }

    /// Statistics of the size of errors.
    #[must_use]
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Shares of the targets inside their 90 % intervals, over all rows and over recent rows, one
    /// for each output; `None` before the first.
    #[must_use]
    pub fn coverage(&self) -> Option<[Vec<f64>; 2]> {
        self.levels.coverage()
    }

    /// Checks that coverage is between 0 and 1.
    pub(crate) fn check(coverage: f64) -> Result<f64> {
        in_range("coverage", coverage, coverage > 0.0 && coverage < 1.0, "above 0 and below 1")
    }

    /// Half-width, in spreads, of the interval that contains this share of the errors of an output, above 0 and below 1;
    /// infinite where too many errors were outside all intervals.
    pub fn half_width(&self, output: usize, coverage: f64) -> Result<f64> {
        in_range("output", output, output < self.outputs(), "an index below the number of targets")?;
        Ok(self.reach(output, Self::check(coverage)?))
    }

    /// [`half_width`](Self::half_width) of an output that there is.
    pub(crate) fn reach(&self, output: usize, coverage: f64) -> f64 {
        self.levels.reach(output, coverage)
    }

    /// The interval of a prediction with this spread; the whole line if the spread is infinite.
    pub(crate) fn interval(&self, output: usize, coverage: f64, made: f64, spread: f64) -> (f64, f64) {
        self.interval_within(output, self.half_width_of(output, coverage), made, spread)
    }

    /// The part of the intervals of a coverage that is the same for all predictions of an output.
    pub(crate) fn half_width_of(&self, output: usize, coverage: f64) -> HalfWidth {
        let first = self.first.get(output).and_then(|first| first.half_width(coverage));
        HalfWidth { reach: self.reach(output, coverage), first }
    }

    /// The interval with this [half-width](Self::half_width_of).
    pub(crate) fn interval_within(
        &self,
        output: usize,
        width: HalfWidth,
        made: f64,
        spread: f64,
    ) -> (f64, f64) {
        let corrected = spread * self.profile.factor(output, made);
        // An infinite half-width times a spread of 0 is infinite.
        let usual = if width.reach < f64::INFINITY { corrected * width.reach } else { f64::INFINITY };
        let far = match width.first {
            Some((first, true)) if usual < f64::INFINITY => first,
            Some((first, _)) => usual.max(first),
            None => usual,
        };
        around(made, far)
    }

    /// The spread of the prediction for a row of this novelty; NaN where that is unknown.
    ///
    /// Errors of rows like those learned indicate nothing about a row far from them, where a model
    /// knows only the targets' mean: its half-width is at least that of the targets about their
    /// running mean, times the share of the novelty above the usual. No interval of a row of usual
    /// novelty changes, and since others only become wider, coverage is at least as large.
    pub(crate) fn widened(&self, output: usize, made: f64, spread: f64, novelty: f64) -> f64 {
        match self.novelty.get(output) {
            Some(usual) if novelty > *usual => {
                let unit = self.reach(output, DEVIATION) * self.factor(output, made);
                let targets = self.record.late_deviation(output);
                let least = (novelty - usual) / (1.0 - usual) * targets / unit;
                if least.is_finite() { spread.max(least) } else { spread }
            }
            _ => spread,
        }
    }

    /// Records the novelty of a row that is learned; NaN where it is unknown.
    #[inline]
    pub(crate) fn meet_novelty(&mut self, output: usize, novelty: f64) {
        let usual = &mut self.novelty[output];
        if novelty > *usual {
            *usual = novelty;
        } else if novelty <= *usual {
            *usual += (novelty - *usual) / NOVELTY_MEMORY;
        }
    }

    /// Ratio of the size of errors near such a prediction to the usual size.
    pub(crate) fn factor(&self, output: usize, made: f64) -> f64 {
        self.profile.factor(output, made)
    }

    /// Records a prediction with this spread, the target, and the (possibly winsorized) target that
    /// was learned. With an infinite spread only the error is recorded.
    pub(crate) fn meet(&mut self, output: usize, made: f64, (target, limited): (f64, f64), spread: f64) {
        self.record.meet(output, made, limited);
        let errors = std::iter::once(target - made);
        if spread < f64::INFINITY {
            let corrected = spread * self.profile.meet(output, made, (target - made) / spread);
            self.learn_errors(output, errors, &mut [score(made, target, corrected * corrected)]);
        } else {
            self.learn_errors(output, errors, &mut []);
        }
    }

    /// The squared error in units of its spread, corrected for the size of errors near the
    /// prediction, which learns it; given the square of the spread.
    #[inline]
    pub(super) fn corrected_score(&mut self, (output, made, target): (usize, f64, f64), spread: f64) -> f64 {
        let factor = self.profile.meet(output, made, (target - made) / spread.sqrt());
        score(made, target, spread * factor * factor)
    }

    /// Records `n` rows, which `at` returns by row and output, and the squares of their scores,
    /// output by output; there may be fewer scores than rows.
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

    /// Records errors of an output, and the squares of the scores of the last of them.
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
            // The interval issued for a first row is Student's: its coverage is counted.
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

    /// Records squares of scores of an output, in order.
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

    /// Adds statistics of later rows, which multiply the weight of earlier ones by this factor.
    pub(crate) fn follow(&mut self, later: &Self, keep: f64) {
        let share = self.levels.share(&later.levels, keep);
        if share > 0.0 {
            self.sizes.iter_mut().zip(&later.sizes).for_each(|(size, later)| size.add(later, share));
            self.novelty.iter_mut().zip(&later.novelty).for_each(|(own, later)| *own = own.max(*later));
        }
        self.first.iter_mut().zip(&later.first).for_each(|(first, later)| first.follow(later));
        self.record.follow(&later.record);
        self.profile.follow(&later.profile, keep);
        self.levels.follow(&later.levels, keep);
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        self.levels.write("calibration", &self.sizes, out);
        self.profile.write(out);
        FirstErrors::write(&self.first, out);
        out.vector("calibration.novelty", &self.novelty);
        self.record.write(out);
    }

    /// Reads what [`write`](Self::write) wrote; Gaussian quantiles if it is absent, as in older
    /// files.
    pub(crate) fn read(outputs: usize, from: &Reader<'_>) -> Result<Self> {
        let (levels, sizes) = Levels::read("calibration", outputs, from)?;
        let (record, profile) = (Record::read(outputs, from)?, Profile::read(outputs, from)?);
        let first = FirstErrors::read(outputs, from)?;
        let novelty = if from.has("calibration.novelty") {
            from.vector("calibration.novelty", outputs)?
        } else {
            vec![1.0; outputs]
        };
        if !novelty.iter().all(|novelty| (0.0..=1.0).contains(novelty)) {
            return Err(Error::file("calibration.novelty is not between 0 and 1"));
        }
        Ok(Self { levels, record, sizes, profile, first, novelty })
    }
}

/// The interval with this half-width about a prediction.
pub(crate) fn around(made: f64, far: f64) -> (f64, f64) {
    // Differences of rounding size are inside.
    let far = far.max(1.001 * ROUNDING * made.abs());
    (made - far, made + far)
}

/// The squared error in units of its spread, given the square of the spread.
pub(crate) fn score(made: f64, target: f64, spread: f64) -> f64 {
    // Differences of rounding size are within any spread, also zero.
    let square = (target - made) * (target - made);
    if square == 0.0 || is_exact(made, target) { 0.0 } else { square / spread }
}

/// Whether the error of a prediction is of rounding size.
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

    /// Share of errors inside, over rows from `first` on.
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

    /// Share of targets inside when an adversary chooses each target knowing its interval, and the
    /// share counted at a coverage of 0.9.
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
            // Just outside if within the limit, else an ordinary target.
            &|t, far| if far < 3.0 { just_outside(far) } else { normal(1, t) },
            // The same without a limit.
            &|_, far| just_outside(far).min(1e200),
            &|_, far| (far * 1e3 + 1.0).min(1e200),
            // Alternately just inside and just outside, to separate levels or to merge them.
            &|t, far| if t % 2 == 0 { far * (1.0 - 1e-6) } else { just_outside(far).min(10.0) },
            &|t, far| if (t / 40) % 2 == 0 { 0.1 * normal(2, t) } else { just_outside(far).min(5.0) },
            // Decreases units before errors become large.
            &|t, far| if t % 60 < 25 { 1e-9 * normal(3, t) } else { just_outside(far).min(1e3) },
            // Equal errors: levels merge.
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
            // A stuck sensor.
            &|t| if t < 5000 { 0.0 } else { normal(6, t) },
            // Errors that fall suddenly, then another system.
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
    fn rows_newer_than_usual_have_spreads_of_the_targets() {
        let mut calibration = Calibration::new(1);
        for t in 0..4000 {
            // Targets of deviation 3 about 7, predicted to 0.1 in spreads of 1.
            let target = 7.0 + 3.0 * normal(1, t);
            calibration.meet(0, target + 0.1 * normal(2, t), both(target), 1.0);
            calibration.meet_novelty(0, if t < 20 { 1.0 } else { 0.1 });
        }
        let half = |novelty| {
            let (low, high) = calibration.interval(0, 0.9, 0.0, calibration.widened(0, 0.0, 1.0, novelty));
            0.5 * (high - low)
        };
        let usual = calibration.reach(0, 0.9);
        assert!((usual / 0.1645 - 1.0).abs() < 0.25, "{usual}");
        for novelty in [f64::NAN, 0.0, 0.1] {
            assert!((half(novelty) - usual).abs() < 1e-12);
        }
        assert!((half(1.0) / (1.645 * 3.0) - 1.0).abs() < 0.25, "{}", half(1.0));
        assert!((half(0.55) / (0.5 * 1.645 * 3.0) - 1.0).abs() < 0.3, "{}", half(0.55));
        // Before the first error nothing is known, and of targets that do not vary all is.
        assert!((Calibration::new(1).widened(0, 0.0, 2.0, 1.0) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn zero_and_unbounded_errors_are_accepted() {
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
