//! Half-widths of intervals: quantiles of recent errors, as they are or in units of the error scale.
//!
//! The quantile level is tracked, so that the share of targets inside equals the coverage over a
//! stream (I. Gibbs, E. Candes, "Adaptive conformal inference under distribution shift", 2021). Errors weigh as the square
//! of the number of errors before them (R. Barber et al., "Conformal prediction beyond exchangeability", 2023): the first are
//! those of forecasts by a model of few rows.

use super::parameters::{Parameters, independent};
use super::state::{Pass, State};
use super::weights::is_size;
use crate::uncertainty::student_quantile;

/// Coverages tracked; those between are interpolated.
const LEVELS: [f64; 6] = [0.5, 0.7, 0.8, 0.9, 0.95, 0.99];

/// Place of the level whose pinball loss decides between the two quantiles.
const DECIDES: usize = 3;

/// Half-widths are at most this multiple of the largest error: where the scale of errors rises from
/// nearly nothing, as at a change of level, scores in units of the former scale mean nothing in the
/// new one.
const BEYOND_LARGEST: f64 = 1.3;

/// Largest change of a level, as a share of its distance to 1 and of the level itself.
const FURTHEST: f64 = 0.8;

/// Weight of quantiles in units of the error scale before the first losses, and losses over which a ratio of the losses
/// becomes that of the weights: the scale of few errors is uncertain, and most series have one.
const SCALED: f64 = 0.2;
const DECIDED: f64 = 2.0;

/// An error of this multiple of the quantile of this level, of at least as many errors, may be that of a single event.
const SURPRISING: f64 = 2.0;
const USUAL: f64 = 0.99;
const ENOUGH: usize = 20;

/// Errors below this share of the next one are those of rounding.
const ROUNDING: f64 = 1e-9;

/// Usual errors in succession after which an event is over, and rows within which it must be.
const OVER: usize = 5;
const WITHIN: usize = 30;

/// Effective share of errors that weigh as the squares of their numbers.
const WEIGHTED: f64 = 5.0 / 9.0;

/// Above this number of errors, quantiles are as certain as any.
const MANY: f64 = 100.0;

/// Errors of forecasts over one horizon.
#[derive(Clone, Debug, Default)]
struct Errors {
    /// In units of the error scale, and signed, in order of arrival.
    scores: Vec<f64>,
    signed: Vec<f64>,
    /// Absolute errors and scores in order, with the numbers of their arrival.
    sorted: [Vec<(f64, f64)>; 2],
    size: f64,
    mass: f64,
    /// Largest error, which decreases over the errors kept.
    largest: f64,
    offsets: Vec<f64>,
    /// Number of errors so far.
    count: f64,
    /// Mean pinball losses of both quantiles, and their number.
    losses: [f64; 2],
    judged: f64,
    /// Factors of [`LEVELS`] for few errors, and the number of errors that they were computed for.
    few: (f64, [f64; LEVELS.len()]),
}

/// A run of surprising errors: those of overlapping forecasts are one event, as a change of level. Once it is over, it counts
/// as one error.
#[derive(Clone, Debug, Default)]
struct Event {
    /// Errors before it, and its errors.
    before: Errors,
    held: Vec<f64>,
    /// Row of its first target, the largest usual error, and the number of usual errors in succession.
    start: usize,
    usual: f64,
    calm: usize,
}

#[derive(Clone, Debug, Default)]
pub struct Widths {
    kept: Errors,
    event: Option<Box<Event>>,
    /// Number of errors from which another event can count as one: frequent ones do not.
    next: f64,
}

impl Widths {
    pub fn new() -> Self {
        let kept = Errors { offsets: vec![0.0; LEVELS.len()], ..Errors::default() };
        Self { kept, ..Self::default() }
    }

    /// Error scale; infinite before the first error.
    pub fn size(&self) -> f64 {
        self.kept.size()
    }

    /// Half-width that contains this share of the errors.
    pub fn half_width(&self, level: f64, rows: usize) -> f64 {
        let usual = self.kept.half_width(level, rows);
        // While an event lasts, the next error may be as large as the latest.
        let latest = self.event.as_deref().map_or(0.0, Event::latest);
        usual.max(level * latest)
    }

    /// Learns the error of a forecast of row `at` that was issued with this error scale.
    pub fn learn(&mut self, error: f64, given: f64, at: usize, rows: usize, parameters: &Parameters) {
        let most = f64::MAX.sqrt();
        let error = error.clamp(-most, most);
        if self.event.is_none() && self.kept.signed.len() >= ENOUGH && self.kept.count >= self.next {
            let usual = self.kept.quantile(0, USUAL);
            if usual > 0.0 && error.abs() > SURPRISING * usual {
                let before = self.kept.clone();
                self.event = Some(Box::new(Event { before, start: at, usual, ..Event::default() }));
            }
        }
        self.kept.learn(error, given, rows, parameters);
        // Errors that were forgotten are counted no longer.
        self.next = self.next.min(self.kept.count + parameters.errors as f64);
        let Some(mut event) = self.event.take() else { return };
        event.held.push(error);
        // In larger noise, several in succession are rarely below this quantile.
        let calm = event.before.quantile(0, LEVELS[DECIDES]);
        event.calm = if error.abs() <= calm { event.calm + 1 } else { 0 };
        // Forecasts issued before the event have their targets until then.
        let passed = at.saturating_sub(event.start);
        if event.calm >= OVER && passed >= rows + OVER - 1 {
            if let Some(kept) = event.after(rows, parameters) {
                self.kept = kept;
                self.next = self.kept.count + parameters.errors as f64;
            }
        } else if passed <= 2 * rows + WITHIN {
            self.event = Some(event);
        }
    }

    pub fn is_sound(&self) -> bool {
        let is_event = |event: &Event| {
            event.before.is_sound() && is_size(event.usual) && event.held.iter().all(|error| is_error(*error))
        };
        self.kept.is_sound() && self.event.as_deref().is_none_or(is_event) && is_size(self.next)
    }

    /// No run of errors is one event: of rows that are followed but not learned, all later ones may be as large.
    pub fn without_events(&mut self, parameters: &Parameters) {
        self.event = None;
        self.next = self.kept.count + parameters.errors as f64;
    }

    /// What former files do not have.
    pub fn pass_more(&mut self, pass: &mut dyn Pass) {
        self.kept.pass_more(pass);
        pass.number(&mut self.next);
        let mut there = usize::from(self.event.is_some());
        pass.count(&mut there);
        if pass.reads() {
            self.event = (there > 0).then(Box::default);
        }
        if let Some(event) = &mut self.event {
            event.before.pass(pass);
            event.before.pass_more(pass);
            pass.list(&mut event.held);
            pass.count(&mut event.start);
            pass.number(&mut event.usual);
            pass.count(&mut event.calm);
        }
    }

    /// Errors of a former file: their absolute values in units of their present scale.
    pub fn of_former(&mut self) {
        let kept = &mut self.kept;
        kept.signed = kept.scores.iter().map(|score| (score * kept.size).min(f64::MAX.sqrt())).collect();
        kept.count = kept.signed.len() as f64;
        kept.sort();
    }
}

impl Event {
    /// Size of the latest error; 0 if that was usual.
    fn latest(&self) -> f64 {
        self.held.last().map(|error| error.abs()).filter(|size| *size > self.usual).unwrap_or(0.0)
    }

    /// The errors before it, its largest, and its usual ones; `None` if there was only one that was not.
    fn after(self: Box<Self>, rows: usize, parameters: &Parameters) -> Option<Errors> {
        let Self { before: mut kept, held, usual, .. } = *self;
        let surprising = held.iter().filter(|error| error.abs() > usual).count();
        let sizes = held.iter().map(|error| error.abs()).enumerate();
        // One of several that are as large.
        let largest = sizes.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(place, _)| place);
        for (place, error) in held.into_iter().enumerate() {
            if error.abs() > usual && Some(place) != largest {
                continue;
            }
            let size = kept.size;
            kept.learn(error, size, rows, parameters);
            // The scale is that of usual errors.
            if error.abs() > usual {
                kept.size = size;
            }
        }
        (surprising > 1).then_some(kept)
    }
}

impl Errors {
    fn size(&self) -> f64 {
        if self.mass > 0.0 { self.size } else { f64::INFINITY }
    }

    fn learn(&mut self, error: f64, given: f64, rows: usize, parameters: &Parameters) {
        let size = error.abs();
        // While a series is constant, errors and their scale are zero, which is no information about later ones.
        if size > 0.0 || (given > 0.0 && given.is_finite()) {
            let score = match given {
                given if !given.is_finite() => 1.0,
                given if given > 0.0 => size / given,
                _ => f64::from(u8::from(size > 0.0)),
            };
            if size * ROUNDING > self.largest {
                self.forget();
            }
            self.judge(size, rows, parameters);
            self.count += 1.0;
            if self.signed.len() >= parameters.errors {
                let oldest = self.count - self.signed.len() as f64;
                let values = [self.signed.remove(0).abs(), self.scores.remove(0)];
                for (sorted, value) in self.sorted.iter_mut().zip(values) {
                    let at = sorted.partition_point(|other| *other < (value, oldest));
                    if at < sorted.len() {
                        sorted.remove(at);
                    }
                }
            }
            let score = score.min(f64::MAX.sqrt());
            for (sorted, value) in self.sorted.iter_mut().zip([size, score]) {
                let at = sorted.partition_point(|other| *other < (value, self.count));
                sorted.insert(at, (value, self.count));
            }
            self.signed.push(error);
            self.scores.push(score);
        }
        let memory = parameters.size * (1.0 + parameters.size_growth * (rows as f64 - 1.0));
        self.mass = (self.mass + 1.0).min(memory);
        self.size += (size - self.size) / self.mass;
        self.largest = size.max(self.largest * (1.0 - 1.0 / parameters.errors as f64));
    }

    /// Errors so far were those of rounding, and tell nothing about others.
    fn forget(&mut self) {
        self.scores.clear();
        self.signed.clear();
        self.sorted.iter_mut().for_each(Vec::clear);
        self.offsets.fill(0.0);
        (self.count, self.losses, self.judged) = (0.0, [0.0; 2], 0.0);
    }

    /// Compares an error with the half-widths before it.
    fn judge(&mut self, size: f64, rows: usize, parameters: &Parameters) {
        if self.signed.is_empty() {
            return;
        }
        let counted = self.counted(rows);
        if self.few.0.to_bits() != counted.to_bits() {
            self.few = (counted, LEVELS.map(|level| for_few(level, counted)));
        }
        let share = self.share_of_scaled(rows);
        let level = LEVELS[DECIDES];
        // Without corrections, which are those of their mixture.
        let each = [0, 1].map(|way| self.reach(way, level) * self.few.1[DECIDES]);
        for (place, level) in LEVELS.iter().enumerate() {
            let issued = self.mixed(level + self.offsets[place], share) * self.few.1[place];
            let miss = f64::from(u8::from(size > issued));
            let most = FURTHEST * level.min(1.0 - level);
            let step = (parameters.step * (1.0 - level) * 10.0).min(parameters.step);
            self.offsets[place] = (self.offsets[place] + step * (miss - (1.0 - level))).clamp(-most, most);
        }
        let memory = parameters.memory * parameters.losses * (1.0 + 0.25 * (rows as f64 - 1.0));
        self.judged = (self.judged + 1.0).min(memory);
        for (loss, reach) in self.losses.iter_mut().zip(each) {
            let own = (1.0 - level) * reach + (size - reach).max(0.0);
            *loss += (own.min(f64::MAX.sqrt()) - *loss) / self.judged;
        }
    }

    /// Weight of the quantile in units of the error scale.
    fn share_of_scaled(&self, rows: usize) -> f64 {
        let [plain, scaled] = self.losses.map(|loss| loss + f64::MIN_POSITIVE);
        let power = independent(self.judged, rows) / DECIDED;
        let odds = SCALED * (plain / scaled).powf(power).min(1e9);
        odds / (1.0 + odds)
    }

    fn half_width(&self, level: f64, rows: usize) -> f64 {
        if self.signed.is_empty() {
            return 3.0 * self.size();
        }
        let place = LEVELS.partition_point(|other| *other < level);
        let offset = if place == 0 {
            self.offsets[0] * level / LEVELS[0]
        } else if place == LEVELS.len() {
            self.offsets[place - 1] * (1.0 - level) / (1.0 - LEVELS[place - 1])
        } else {
            let share = (level - LEVELS[place - 1]) / (LEVELS[place] - LEVELS[place - 1]);
            (1.0 - share) * self.offsets[place - 1] + share * self.offsets[place]
        };
        self.mixed(level + offset, self.share_of_scaled(rows)) * for_few(level, self.counted(rows))
    }

    fn mixed(&self, level: f64, scaled: f64) -> f64 {
        (1.0 - scaled) * self.reach(0, level) + scaled * self.reach(1, level)
    }

    /// Quantile of absolute errors, or of those in units of the scale times its present value.
    fn reach(&self, way: usize, level: f64) -> f64 {
        let value = self.quantile(way, level);
        if way == 0 { value } else { (value * self.size).min(BEYOND_LARGEST * self.largest) }
    }

    /// Weighted quantile. That the next error may be beyond all is left to [`for_few`].
    fn quantile(&self, way: usize, level: f64) -> f64 {
        let sorted = &self.sorted[way];
        let Some((largest, _)) = sorted.last() else { return 0.0 };
        let weight = |arrived: f64| (arrived / self.count.max(1.0)).powi(2);
        // The sum of the weights of the latest errors.
        let (n, all) = (sorted.len() as f64, self.count.max(1.0));
        let sum = n - n * (n - 1.0) / all + (n - 1.0) * n * (2.0 * n - 1.0) / (6.0 * all * all);
        let position = level.max(0.0) * sum;
        if position >= sum {
            // Beyond the largest error: extrapolated like Gaussian tails.
            return largest * (1.0 + 0.3 * (position - sum).min(1.0));
        }
        let (mut before, mut last) = (0.0, 0.0);
        for (value, arrived) in sorted {
            let own = weight(*arrived);
            if before + own >= position {
                return last + (value - last) * (position - before) / own;
            }
            (before, last) = (before + own, *value);
        }
        *largest
    }

    /// Effective number of errors: those of forecasts that overlap count once per horizon, or more as far as they are
    /// uncorrelated.
    fn counted(&self, rows: usize) -> f64 {
        let (mut products, mut squares) = (0.0, f64::MIN_POSITIVE);
        // Relative to the largest, against overflow.
        let unit = self.largest.max(f64::MIN_POSITIVE);
        let mut last = 0.0;
        for error in &self.signed {
            let error = error / unit;
            products += last * error;
            squares += error * error;
            last = error;
        }
        let alike = (products / squares).clamp(0.0, 1.0);
        let all = self.signed.len() as f64;
        let fewest = (all / rows as f64).max(1.0);
        (all * WEIGHTED * (1.0 - alike) / (1.0 + alike)).max(fewest).min(MANY).floor()
    }

    fn sort(&mut self) {
        let first = self.count - self.signed.len() as f64;
        let values = [self.signed.iter().map(|error| error.abs()).collect(), self.scores.clone()];
        self.sorted = values.map(|values: Vec<f64>| {
            let numbered = values.into_iter().enumerate();
            let mut sorted: Vec<(f64, f64)> =
                numbered.map(|(place, value)| (value, first + place as f64 + 1.0)).collect();
            sorted.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
            sorted
        });
    }

    fn pass_more(&mut self, pass: &mut dyn Pass) {
        pass.list(&mut self.signed);
        pass.number(&mut self.count);
        self.losses.iter_mut().for_each(|loss| pass.number(loss));
        pass.number(&mut self.judged);
        if pass.reads() {
            self.sort();
        }
    }

    fn is_sound(&self) -> bool {
        let bounds = LEVELS.map(|level| FURTHEST * level.min(1.0 - level));
        let numbers = [self.size, self.mass, self.largest, self.losses[0], self.losses[1], self.judged];
        self.offsets.len() == LEVELS.len()
            && self.offsets.iter().zip(bounds).all(|(offset, most)| offset.abs() <= most)
            && self.scores.iter().chain(&numbers).all(|value| is_size(*value))
            && self.signed.iter().all(|error| is_error(*error))
            && self.signed.len() == self.scores.len()
            && self.count >= self.signed.len() as f64
            && self.count < 9e15
            && (self.scores.is_empty() || self.mass >= 1.0)
    }
}

/// Whether it may be an error that was learned.
fn is_error(error: f64) -> bool {
    error.abs() <= f64::MAX.sqrt()
}

/// With few errors, quantile and scale are themselves uncertain.
fn for_few(level: f64, counted: f64) -> f64 {
    student_quantile(level, counted.max(2.0)) / student_quantile(level, 1e6) * (1.0 + 1.0 / counted).sqrt()
}

impl State for Errors {
    fn pass(&mut self, pass: &mut dyn Pass) {
        pass.list(&mut self.scores);
        pass.number(&mut self.size);
        pass.number(&mut self.mass);
        pass.number(&mut self.largest);
        pass.list(&mut self.offsets);
    }
}

impl State for Widths {
    fn pass(&mut self, pass: &mut dyn Pass) {
        self.kept.pass(pass);
    }
}

#[cfg(test)]
mod tests {
    use super::super::state::{Collected, Given};
    use super::*;

    /// Widths after these errors over one row.
    fn learned(errors: impl IntoIterator<Item = f64>) -> Widths {
        let mut widths = Widths::new();
        for (at, error) in errors.into_iter().enumerate() {
            widths.learn(error, widths.size(), at, 1, &Parameters::DEFAULT);
        }
        assert!(widths.is_sound());
        widths
    }

    /// Errors between -1 and 1, evenly spread.
    fn even(t: usize) -> f64 {
        2.0 * (t as f64 * 0.618_033_988_749_895).fract() - 1.0
    }

    #[test]
    fn quantiles_are_those_of_errors_where_these_have_one_scale() {
        let widths = learned((0..400).map(even));
        assert!(widths.kept.share_of_scaled(1) < SCALED, "{}", widths.kept.share_of_scaled(1));
        for level in [0.5, 0.9] {
            let width = widths.half_width(level, 1);
            assert!((width - level).abs() < 0.1, "{level}: {width}");
        }
    }

    #[test]
    fn quantiles_are_in_units_of_the_scale_where_this_changes() {
        let scale = |t: usize| if (t / 50).is_multiple_of(2) { 0.02 } else { 1.0 };
        let widths = learned((0..400).map(|t| scale(t) * even(t)));
        assert!(widths.kept.share_of_scaled(1) > 2.0 * SCALED, "{}", widths.kept.share_of_scaled(1));
    }

    #[test]
    fn an_event_widens_intervals_while_it_lasts_and_counts_once() {
        let with = |large: usize, after: usize| {
            learned(
                (0..300 + large + after)
                    .map(|t| if (300..300 + large).contains(&t) { 20.0 } else { even(t) }),
            )
        };
        let during = with(3, 0).half_width(0.9, 1);
        assert!(during >= 18.0, "{during}");
        let after = with(3, 2 * WITHIN);
        assert!(after.event.is_none() && after.next > 0.0);
        assert!((0.8..1.1).contains(&after.half_width(0.9, 1)), "{}", after.half_width(0.9, 1));
        let large = |widths: &Widths| widths.kept.signed.iter().filter(|error| **error > 19.0).count();
        assert_eq!([1, 3].map(|errors| large(&with(errors, 2 * WITHIN))), [1, 1]);
    }

    #[test]
    fn errors_come_back_from_a_file_and_a_former_one_has_their_scores() {
        let mut widths = learned((0..301).map(|t| if t == 300 { 20.0 } else { even(t) }));
        assert!(widths.event.is_some());
        let (mut numbers, mut more) = (Collected::default(), Collected::default());
        widths.pass(&mut numbers);
        widths.pass_more(&mut more);
        let mut read = Widths::new();
        read.pass(&mut Given { numbers: &numbers.0, sound: true });
        let mut former = read.clone();
        let mut given = Given { numbers: &more.0, sound: true };
        read.pass_more(&mut given);
        assert!(given.sound && given.numbers.is_empty() && read.is_sound());
        former.of_former();
        assert!(former.is_sound());
        for level in [0.5, 0.9, 0.97] {
            let width = |widths: &Widths| widths.half_width(level, 1);
            assert_eq!(width(&read).to_bits(), width(&widths).to_bits());
            assert!(width(&former) > 0.0 && width(&former).is_finite());
        }
    }
}
