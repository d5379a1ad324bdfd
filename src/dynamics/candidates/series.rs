//! All forecasts of one component.

use super::autoregression::Autoregression;
use super::direct::{Direct, Sources};
use super::history::History;
use super::horizon::{Horizon, Made};
use super::line::Line;
use super::parameters::{LONGEST, Parameters};
use super::periods;
use super::smoothing::Smoothing;
use super::state::{Pass, State, pass_all};
use super::view::{Context, Kind, View};
use super::weights::{Mixed, Span, Standing};
use crate::dynamics::horizon::is_due;
use crate::kernel::LARGEST;

/// Views of autoregressions, on values and then on logarithms.
const VIEWS: [Kind; 6] = [
    Kind::Value,
    Kind::Difference,
    Kind::SeasonalDifference(0),
    Kind::SeasonalDifference(1),
    Kind::Phase,
    Kind::PhaseDifference,
];

/// Direct regressions: whether on logarithms, and whether on the latest row alone.
const REGRESSIONS: [(bool, bool); 3] = [(false, false), (true, false), (false, true)];

/// Places in the list of forecasts.
pub const PERSISTENCE: usize = 0;
pub const MEAN: usize = 1;
pub const VIEWED: usize = 2;
pub const SMOOTHED: usize = VIEWED + 2 * VIEWS.len();
pub const DIRECT: usize = SMOOTHED + 6;
const BRIEF: usize = DIRECT + REGRESSIONS.len() - 1;
pub const OPERATOR: usize = BRIEF + 1;
const SEASONAL: usize = OPERATOR + 1;
const ON_A_LINE: usize = SEASONAL + 1;
pub const KINDS: usize = ON_A_LINE + 1;

/// Kinds in former files, which have neither of the last two.
const FORMER_KINDS: usize = SEASONAL;

/// Kind of the forecast with this place, in the order of [`CANDIDATES`](super::CANDIDATES).
pub fn kind(place: usize) -> usize {
    match place {
        PERSISTENCE | MEAN => place,
        place if place < SMOOTHED => 2,
        place if place < DIRECT => 3,
        place if place < OPERATOR => 4,
        OPERATOR => 5,
        SEASONAL => PERSISTENCE,
        _ => 3,
    }
}

/// Weights before the first losses. Smoothing, which has the fewest unknowns, counts twice; direct least squares and the
/// operator, which have the most, half.
const PRIORS: [f64; KINDS] = {
    let mut priors = [1.0; KINDS];
    let mut scale = 0;
    while scale < 2 {
        priors[SMOOTHED + 3 * scale] = 2.0;
        priors[SMOOTHED + 3 * scale + 1] = 2.0;
        scale += 1;
    }
    let mut place = DIRECT;
    while place <= OPERATOR {
        priors[place] = 0.5;
        place += 1;
    }
    priors
};

/// Rows before the first detection of periods.
const FEWEST: usize = 10;

/// Periods of another trajectory after which only its own means of phases count.
const FOLLOWED: usize = 10;

/// Most rows, and seasons, whose forecasts are made again with the periods that are found in them. In more seasons kinds that
/// begin without losses are judged as soon by those to come, without those of their first rows.
const REPLAYED: usize = 512;
const SEASONS: usize = 3;

/// Ranges beyond the values seen up to which forecasts under inputs may go.
const DRIVEN: f64 = 10.0;

/// Half-widths below this share of the range are rounding errors.
const ROUNDING: f64 = 1e-6;

/// Candidates of one component.
#[derive(Clone, Debug, Default)]
pub struct Series {
    count: usize,
    mean: f64,
    low: f64,
    high: f64,
    pub periods: Vec<usize>,
    /// Seasonal profiles: means of the phases of each period, on values and on logarithms.
    profiles: [Vec<Vec<f64>>; 2],
    centers: [f64; 2],
    /// Rows at the next detection of periods, and at the next computation of profiles.
    search: usize,
    refresh: usize,
    views: Vec<Autoregression>,
    smoothing: [Smoothing; 2],
    pub horizons: Vec<Horizon>,
}

/// Data and parameters that all components share.
pub struct Common<'a> {
    pub histories: &'a [History],
    /// Control inputs, where a forecast is made known up to its longest horizon.
    pub inputs: &'a [History],
    pub own: usize,
    /// Rows of each horizon, and mean number of rows between two forecasts whose errors are
    /// learned.
    pub rows: &'a [usize],
    pub strides: &'a [usize],
    pub given: Option<&'a [usize]>,
    pub parameters: &'a Parameters,
}

impl Common<'_> {
    fn span(&self, k: usize) -> Span {
        (self.rows[k], self.strides[k])
    }
}

impl Series {
    pub fn new(horizons: usize) -> Self {
        Self {
            search: FEWEST,
            refresh: FEWEST,
            horizons: (0..horizons).map(|_| Horizon::new(KINDS)).collect(),
            ..Self::default()
        }
    }

    fn logs(&self, parameters: &Parameters) -> bool {
        self.count > 0 && self.low > 0.0 && self.high >= parameters.spread * self.low
    }

    /// Whether errors may be proportional to the forecast.
    fn may_be_proportional(&self) -> bool {
        self.low > 0.0 && self.high >= 3.0 * self.low
    }

    /// Starts another trajectory.
    pub fn begin(&mut self) {
        self.horizons.iter_mut().for_each(Horizon::clear);
        self.smoothing.iter_mut().for_each(Smoothing::forget);
    }

    /// Estimates of as many rows before the next one: the values whole seasons before, moved by a line that fits the rows at
    /// both ends, or without such values, of which at least `kept` are known, on a line; and whether they are seasonal. They
    /// are within the range of all values.
    pub fn between(&self, history: &History, missing: usize, next: f64, kept: usize) -> (bool, Vec<f64>) {
        let last = history.len() - 1;
        let after = last + missing + 1;
        let season = self.season();
        let back = if season > 0 { season * (missing + 1).div_ceil(season) } else { 0 };
        let before: Vec<f64> = (last..=after).map(|row| history.before(row, back, false)).collect();
        let is_seasonal = season > 0 && back < kept && before.iter().all(|value| !value.is_nan());
        let seasonal = |i: usize| if is_seasonal { before[i] } else { 0.0 };
        let (here, there) = (history.at(last) - seasonal(0), next - seasonal(missing + 1));
        let share = |i: usize| i as f64 / (missing + 1) as f64;
        let (low, high) = (self.low.min(next), self.high.max(next));
        let estimate = |i: usize| (seasonal(i) + here + share(i) * (there - here)).clamp(low, high);
        (is_seasonal, (1..=missing).map(estimate).collect())
    }

    /// Schedules a detection of periods and a refit for the next row.
    pub fn look_now(&mut self) {
        self.search = self.count.max(FEWEST);
    }

    /// Follows the latest row of the histories: forecasts of it are compared with it, so that weights and errors are those
    /// of these rows, but nothing else is learned from it.
    pub fn advance(&mut self, common: &Common<'_>) {
        self.compare(common, None);
        let (history, parameters) = (&common.histories[common.own], common.parameters);
        let now = history.len() - 1;
        self.count += 1;
        // Forecasts are bounded by all known values.
        let value = history.at(now);
        (self.low, self.high) = (self.low.min(value), self.high.max(value));
        self.find_phases(history, parameters);
        if self.count >= self.refresh {
            self.make_profiles(history, parameters);
        }
        for logs in [false, true].into_iter().take(1 + usize::from(self.logs(parameters))) {
            let value = history.at(now);
            let value = if logs { value.ln() } else { value };
            self.smoothing[usize::from(logs)].learn(now, value);
        }
    }

    /// Compares the forecasts of the latest row with it, and updates weights and errors. `operator`: with inputs that were
    /// not known when they were made, the operator's forecasts of this row over each horizon.
    fn compare(&mut self, common: &Common<'_>, operator: Option<&[f64]>) {
        let now = common.histories[common.own].len() - 1;
        let value = common.histories[common.own].at(now);
        let mut all: Vec<Option<Made>> = self.horizons.iter_mut().map(|horizon| horizon.due(now)).collect();
        if let Some(operator) = operator {
            // Before any of them is judged: weights of a longer horizon follow those of shorter ones.
            for (k, made) in all.iter_mut().enumerate() {
                if let Some(made) = made {
                    self.complete(k, common, operator, made);
                }
            }
        }
        for ((k, horizon), made) in self.horizons.iter_mut().enumerate().zip(&all) {
            if let Some(made) = made {
                horizon.judge(made, BRIEF, value, common.span(k), common.parameters);
            }
        }
    }

    /// Learns the latest row of the histories. `operator`: with inputs, the operator's forecasts of this row over each
    /// horizon.
    pub fn learn(&mut self, common: &Common<'_>, operator: &[f64]) {
        let now = common.histories[common.own].len() - 1;
        let value = common.histories[common.own].at(now);
        let parameters = common.parameters;
        self.compare(common, (!common.inputs.is_empty()).then_some(operator));
        if self.count == 0 {
            (self.low, self.high) = (value, value);
            self.periods = common.given.unwrap_or_default().to_vec();
        }
        self.count += 1;
        self.mean += (value - self.mean) / self.count as f64;
        (self.low, self.high) = (self.low.min(value), self.high.max(value));
        self.find_phases(&common.histories[common.own], parameters);
        if self.count >= self.search {
            self.look_again(common);
        } else {
            self.learn_row(common, now);
        }
    }

    /// Longest period; 0 without one.
    pub fn season(&self) -> usize {
        self.periods.iter().max().copied().unwrap_or(0)
    }

    /// Whether the phase of the latest row is known. That of the first row of another trajectory is not, until it is found
    /// from the rows of one period.
    fn is_phased(&self, history: &History) -> bool {
        history.latest_start() == 0 || history.latest().1.len() >= self.season()
    }

    /// Finds the phase of another trajectory at the end of its first period, before its row is learned; if no phase fits,
    /// means of the phases are computed again at the end of its second.
    fn find_phases(&mut self, history: &History, parameters: &Parameters) {
        let (first, latest) = history.latest();
        let season = self.season();
        if season == 0 || history.latest_start() == 0 {
            return;
        }
        if latest.len() == season {
            self.align(history, parameters);
        } else if latest.len() == 2 * season && self.profiles[0].is_empty() {
            self.make_profiles(history, parameters);
        } else {
            return;
        }
        self.begin_smoothing(history, first, &latest[..latest.len() - 1], parameters);
    }

    /// Shifts profiles to the phase of the latest trajectory; drops them if they do not fit.
    fn align(&mut self, history: &History, parameters: &Parameters) {
        let logs = self.logs(parameters);
        let (first, latest) = history.latest();
        for (scale, profiles) in self.profiles.iter_mut().enumerate() {
            let mut rest = clipped(latest, scale == 1);
            let fits = profiles.iter_mut().all(|profile| periods::align(profile, &mut rest, first));
            if !fits || (scale == 1 && !logs) {
                profiles.clear();
            }
        }
    }

    fn learn_row(&mut self, common: &Common<'_>, now: usize) {
        let parameters = common.parameters;
        let history = &common.histories[common.own];
        let value = history.at(now);
        for logs in [false, true] {
            if logs && !self.logs(parameters) {
                continue;
            }
            if self.count >= self.refresh && !logs {
                self.make_profiles(history, parameters);
            }
            let value = if logs { value.ln() } else { value };
            self.smoothing_of(logs).learn(now, value);
        }
        let steps = furthest(common);
        for place in 0..self.views.len() {
            let Some(view) = self.view(place, history, parameters) else { continue };
            // Phases are those of the latest trajectory.
            if view.has_phases() && now < history.latest_start() {
                continue;
            }
            let context = context(common, &self.periods, &self.profiles, self.centers, view);
            self.views[place].learn(view, &context, now, steps, parameters);
        }
        // With many horizons, each learns from a part of the rows.
        let every = (self.horizons.len() / parameters.horizons).max(1);
        for k in (0..self.horizons.len()).filter(|k| (now + k).is_multiple_of(every)) {
            for (place, logs, brief) in self.regressions(parameters) {
                let centers = self.centers_of(common, logs);
                let sources = sources(common, &self.periods, logs, brief, &centers);
                self.horizons[k].direct[place].learn(&sources, now, common.rows[k], parameters);
            }
        }
    }

    /// Values of other components are shifted only.
    fn centers_of(&self, common: &Common<'_>, logs: bool) -> Vec<f64> {
        let mut centers = vec![if logs { 0.0 } else { self.centers[0] }; common.histories.len()];
        centers[common.own] = self.centers[usize::from(logs)];
        centers
    }

    /// The view with this place, if it exists.
    fn view(&self, place: usize, history: &History, parameters: &Parameters) -> Option<View> {
        let (kind, logs) = (VIEWS[place % VIEWS.len()], place >= VIEWS.len());
        let needed = match kind {
            Kind::Value | Kind::Difference => 0,
            Kind::SeasonalDifference(place) => place + 1,
            Kind::Phase | Kind::PhaseDifference => 1,
        };
        let there = self.periods.len() >= needed && (!logs || self.logs(parameters));
        let view = View { kind, logs };
        let profiled = !view.has_phases()
            || (self.profiles[usize::from(logs)].len() == self.periods.len() && self.is_phased(history));
        (there && profiled).then_some(view)
    }

    /// Detects periods, and refits on the rows kept.
    fn look_again(&mut self, common: &Common<'_>) {
        let (parameters, history) = (common.parameters, &common.histories[common.own]);
        let (_, longest) = history.longest();
        let recent = &longest[longest.len().saturating_sub(parameters.kept)..];
        let found =
            common.given.map_or_else(|| periods::find(recent, &self.periods, parameters), <[usize]>::to_vec);
        let all_kept = history.len() == history.values().len() && history.len() <= parameters.kept;
        let changed = found != self.periods;
        self.search = periods::next_detection(self.count, &found, parameters);
        if !changed && !all_kept {
            return self.learn_row(common, history.len() - 1);
        }
        if changed && self.can_replay(common, &found) {
            return self.replay(common, found);
        }
        if changed {
            self.profiles.iter_mut().for_each(Vec::clear);
        }
        self.periods = found;
        let values = history.values();
        let known = || values.iter().copied().filter(|value| !value.is_nan());
        let n = known().count().max(1) as f64;
        let mean = known().sum::<f64>() / n;
        let centers = [mean, if self.logs(parameters) { known().map(f64::ln).sum::<f64>() / n } else { 0.0 }];
        // Centers only reduce rounding, and are kept while they are near the mean.
        let near = |(old, new): (&f64, f64)| (old - new).abs() <= 0.5 * (self.high - self.low);
        let kept_centers = self.count > 2 * FEWEST
            && (self.centers[1] == 0.0) == (centers[1] == 0.0)
            && near((&self.centers[0], centers[0]));
        if !kept_centers {
            self.centers = centers;
        }
        self.make_profiles(history, parameters);
        let order = ((parameters.order_share * n) as usize).clamp(1, parameters.order);
        let seasonal: Vec<usize> = self.periods.clone();
        let inputs = common.inputs.len();
        let views = (0..2 * VIEWS.len()).map(|_| Autoregression::new(order, &seasonal, inputs)).collect();
        let former = std::mem::replace(&mut self.views, views);
        self.views.iter_mut().for_each(Autoregression::hold);
        if !changed && kept_centers {
            self.views.iter_mut().zip(former).for_each(|(view, former)| view.follow(former));
        }
        for k in 0..self.horizons.len() {
            for (place, (logs, brief)) in REGRESSIONS.into_iter().enumerate() {
                let centers = self.centers_of(common, logs);
                let sources = sources(common, &self.periods, logs, brief, &centers);
                let mut direct = Direct::new(&sources, common.rows[k]);
                direct.hold();
                let former = std::mem::replace(&mut self.horizons[k].direct[place], direct);
                if !changed && kept_centers && !common.inputs.is_empty() {
                    self.horizons[k].direct[place].follow(former);
                }
            }
        }
        self.smoothing = Default::default();
        let first = history.dropped;
        let (start, _) = history.latest();
        let refresh = std::mem::replace(&mut self.refresh, usize::MAX);
        for now in first..history.len() {
            if history.at(now).is_nan() {
                self.smoothing.iter_mut().for_each(Smoothing::forget);
                continue;
            }
            if now == start {
                self.begin_smoothing(history, now, &[], parameters);
            }
            self.learn_row(common, now);
        }
        self.refresh = refresh;
        let (now, steps) = (history.len() - 1, furthest(common));
        for place in 0..self.views.len() {
            let Some(view) = self.view(place, history, parameters) else {
                self.views[place].plan(parameters);
                continue;
            };
            let context = context(common, &self.periods, &self.profiles, self.centers, view);
            self.views[place].release(view, &context, now, steps, parameters);
        }
        for (horizon, rows) in self.horizons.iter_mut().zip(common.rows) {
            let keep = !common.inputs.is_empty();
            horizon.direct.iter_mut().for_each(|direct| direct.release(now, *rows, parameters, keep));
        }
    }

    /// Whether all rows are kept, in one trajectory without inputs, of few seasons, and none was estimated.
    fn can_replay(&self, common: &Common<'_>, periods: &[usize]) -> bool {
        let season = periods.iter().max().copied().unwrap_or(0);
        let is_whole = |history: &History| {
            history.values().len() == self.count && history.values().iter().all(|value| !value.is_nan())
        };
        // The mean is that of the rows that were learned.
        let values = common.histories[common.own].values().iter().zip(1_u32..);
        let mean = values.fold(0.0, |mean, (value, count)| mean + (value - mean) / f64::from(count));
        let are_few = self.count <= REPLAYED.min(SEASONS * season);
        common.inputs.is_empty()
            && are_few
            && common.histories.iter().all(is_whole)
            && mean.to_bits() == self.mean.to_bits()
    }

    /// Learns all rows again with these periods from the first row on, so that weights and widths are those of forecasts
    /// that know them. The operator's forecasts and errors stay. Regressions are fitted again when the rows have doubled.
    fn replay(&mut self, common: &Common<'_>, periods: Vec<usize>) {
        let mut new = Self { periods, ..Self::new(self.horizons.len()) };
        let given = new.periods.clone();
        let mut histories = vec![History::default(); common.histories.len()];
        for now in 0..self.count {
            for (history, whole) in histories.iter_mut().zip(common.histories) {
                history.push(whole.at(now), common.parameters.kept);
            }
            let common = Common { histories: &histories, given: Some(&given), ..*common };
            if now + 1 == self.count {
                new.look_now();
                new.learn(&common, &[]);
                break;
            }
            let is_fitted = new.count + 1 >= new.search;
            new.learn(&common, &[]);
            if is_fitted {
                new.search = 2 * new.count;
            }
            let number = now as u64 + 1;
            let due: Vec<bool> = common.strides.iter().map(|stride| is_due(*stride, number)).collect();
            new.make(&common, &[], &due);
        }
        for (new, old) in new.horizons.iter_mut().zip(&self.horizons) {
            new.keep(OPERATOR, old);
        }
        *self = new;
    }

    /// Smoothing on values or on logarithms.
    fn smoothing_of(&mut self, logs: bool) -> &mut Smoothing {
        let smoothing = &mut self.smoothing[usize::from(logs)];
        if smoothing.count() == 0 {
            *smoothing = Smoothing::new(self.periods.first().copied().unwrap_or(0));
        }
        smoothing
    }

    /// Starts smoothing from row `first` with the mean of its first season, and learns these values of the rows from there on.
    fn begin_smoothing(&mut self, history: &History, first: usize, values: &[f64], parameters: &Parameters) {
        let period = self.periods.first().copied().unwrap_or(0);
        let phased = self.is_phased(history);
        for logs in [false, true] {
            if logs && !self.logs(parameters) {
                continue;
            }
            let on_scale = |value: f64| if logs { value.ln() } else { value };
            let of_season = (first..first + period.max(1)).map(|at| on_scale(history.at(at)));
            let (sum, count) = of_season
                .take_while(|value| !value.is_nan())
                .fold((0.0, 0.0_f64), |(sum, count), value| (sum + value, count + 1.0));
            let profile =
                self.profiles[usize::from(logs)].first().filter(|_| phased).cloned().unwrap_or_default();
            let values: Vec<f64> = values.iter().copied().map(on_scale).collect();
            self.smoothing_of(logs).restart(first, &values, sum / count.max(1.0), &profile);
        }
    }

    /// Computes seasonal profiles about a moving mean, in the latest trajectory if it has two seasons or known profiles are
    /// to be followed, else in the longest that is kept.
    fn make_profiles(&mut self, history: &History, parameters: &Parameters) {
        self.refresh = self.count + (self.count / 20).clamp(4, 200);
        let known = history.latest_start() > 0 && !self.profiles[0].is_empty();
        if known && !self.is_phased(history) {
            return;
        }
        let follows = known || history.latest().1.len() >= 2 * self.season();
        let (first, values) = if follows { history.latest() } else { history.longest() };
        let dropped = values.len().saturating_sub(parameters.kept);
        let (first, values) = (first + dropped, &values[dropped..]);
        let logs = self.logs(parameters);
        for (scale, profiles) in self.profiles.iter_mut().enumerate() {
            let former = if known { std::mem::take(profiles) } else { Vec::new() };
            profiles.clear();
            if scale == 1 && !logs {
                continue;
            }
            let mut rest = clipped(values, scale == 1);
            for (place, period) in self.periods.iter().enumerate() {
                let former = former.get(place);
                if rest.len() < 2 * period {
                    let Some(former) = former else { break };
                    profiles.push(former.clone());
                    continue;
                }
                let about = periods::deviations(&rest, *period);
                let mut profile = periods::profile_of(&about, *period);
                for (t, value) in rest.iter_mut().enumerate() {
                    *value -= profile[t % period];
                }
                // Phases refer to row numbers.
                profile.rotate_right(first % period);
                // A few periods of another trajectory add to what former ones have shown.
                let share = (rest.len() as f64 / (FOLLOWED * *period) as f64).min(1.0);
                for (mean, former) in profile.iter_mut().zip(former.into_iter().flatten()) {
                    *mean = former + share * (*mean - former);
                }
                profiles.push(profile);
            }
        }
        if first < history.latest().0 && self.is_phased(history) {
            self.align(history, parameters);
        }
    }

    /// Forecasts from the latest row, and keeps the forecasts whose errors will be learned; those that depend on inputs are
    /// added when these are known. `operator`: forecasts of the operator over each horizon, NaN if there are none.
    pub fn make(&mut self, common: &Common<'_>, operator: &[f64], due: &[bool]) {
        let now = common.histories[common.own].len() - 1;
        let (mut made, smoothed): (Vec<_>, Vec<_>) = self.unregressed(common, due).into_iter().unzip();
        if common.inputs.is_empty() {
            self.regress(common, now, operator, &mut made);
        }
        for (k, (kinds, smoothed)) in made.into_iter().zip(smoothed).enumerate() {
            if let Some(kinds) = kinds {
                self.wait(k, common, kinds, smoothed);
            }
        }
    }

    /// Keeps forecasts from the latest row until their target is known; returns their mixture.
    fn wait(&mut self, k: usize, common: &Common<'_>, kinds: Vec<f64>, smoothed: [Vec<f64>; 2]) -> Mixed {
        let target = common.histories[common.own].len() - 1 + common.rows[k];
        let mixture = self.mix(k, common, &kinds);
        let sizes = [0, 1].map(|way| self.horizons[k].widths[way].size());
        let (mixed, ways) = (mixture.made, mixture.ways.clone());
        self.horizons[k].wait(Made { target, kinds, mixed, ways, sizes, smoothed });
        mixture
    }

    /// The mixtures of forecasts from the latest row under inputs that are known, over the horizons that are due, which are
    /// kept until their target is known, or over all that are `asked`.
    pub fn follow(
        &mut self,
        common: &Common<'_>,
        operator: &[f64],
        due: &[bool],
        asked: bool,
    ) -> Vec<Option<Mixed>> {
        let now = common.histories[common.own].len() - 1;
        let wanted: Vec<bool> = due.iter().map(|due| *due || asked).collect();
        let (mut made, smoothed): (Vec<_>, Vec<_>) = self.unregressed(common, &wanted).into_iter().unzip();
        self.regress(common, now, operator, &mut made);
        let mixed = |(k, (kinds, smoothed)): (usize, (Option<Vec<f64>>, _))| {
            let kinds = kinds?;
            Some(if due[k] { self.wait(k, common, kinds, smoothed) } else { self.mix(k, common, &kinds) })
        };
        made.into_iter().zip(smoothed).enumerate().map(mixed).collect()
    }

    /// Adds the forecasts of a row that depend on inputs, which are known now, and mixes them: by what was learned before
    /// this row.
    fn complete(&self, k: usize, common: &Common<'_>, operator: &[f64], made: &mut Made) {
        let Some(from) = made.target.checked_sub(common.rows[k]) else { return };
        let mut all: Vec<Option<Vec<f64>>> = vec![None; common.rows.len()];
        all[k] = Some(std::mem::take(&mut made.kinds));
        self.regress(common, from, operator, &mut all);
        made.kinds = all[k].take().unwrap_or_default();
        let Mixed { made: mixed, ways, .. } = self.mix(k, common, &made.kinds);
        (made.mixed, made.ways) = (mixed, ways);
    }

    /// The forecasts of all kinds from the latest row over each horizon.
    pub fn forecasts(&self, common: &Common<'_>, operator: &[f64]) -> Vec<Vec<f64>> {
        let due = vec![true; common.rows.len()];
        let mut all: Vec<_> = self.unregressed(common, &due).into_iter().map(|(kinds, _)| kinds).collect();
        self.regress(common, common.histories[common.own].len() - 1, operator, &mut all);
        all.into_iter().flatten().collect()
    }

    /// The mixture over a horizon.
    pub fn mix(&self, k: usize, common: &Common<'_>, kinds: &[f64]) -> Mixed {
        let shorter = self.shorter(k, common);
        let first = if kinds[SEASONAL].is_nan() { PERSISTENCE } else { SEASONAL };
        let priors = (&PRIORS[..], first);
        // The latest row alone counts where there are not more.
        let mut kinds = kinds.to_vec();
        if !kinds[DIRECT].is_nan() {
            kinds[BRIEF] = f64::NAN;
        }
        self.horizons[k].weights.mix(&kinds, priors, shorter.as_ref(), common.span(k), common.parameters)
    }

    /// How the kinds stand at the longest horizon of at most half the rows, which has learned from that of half its rows.
    fn shorter(&self, k: usize, common: &Common<'_>) -> Option<Standing> {
        let most = common.rows[k] / 2;
        let below = (0..common.rows.len()).filter(|other| common.rows[*other] <= most);
        let other = below.max_by_key(|other| common.rows[*other])?;
        let shorter = self.shorter(other, common);
        self.horizons[other].weights.standing(shorter, common.span(other), common.parameters)
    }

    /// Half-width of the interval about a forecast; infinite before the first errors.
    pub fn half_width(&self, k: usize, rows: usize, mixed: f64, coverage: f64) -> f64 {
        let horizon = &self.horizons[k];
        let proportional = self.may_be_proportional() && horizon.is_proportional(rows) && mixed > 0.0;
        let widths = &horizon.widths[usize::from(proportional)];
        let scale = if proportional { mixed } else { 1.0 };
        let floor = ROUNDING * (self.high - self.low);
        (widths.half_width(widths.size(), coverage, rows) * scale).max(floor)
    }

    /// Forecasts from the latest row over each horizon that is due, of kinds that do not depend on inputs; and those of
    /// all smoothing constants.
    #[allow(clippy::type_complexity, reason = "forecasts, and those of smoothing")]
    fn unregressed(&self, common: &Common<'_>, due: &[bool]) -> Vec<(Option<Vec<f64>>, [Vec<f64>; 2])> {
        let (parameters, history) = (common.parameters, &common.histories[common.own]);
        let now = history.len() - 1;
        let best = [0, 1].map(|scale| self.smoothing[scale].best());
        let phased = self.is_phased(history);
        let (first, latest) = history.latest();
        let profiles = &self.profiles[0][..];
        let is_known = phased && profiles.len() == self.periods.len() || self.periods.is_empty();
        let line = (is_known && due.contains(&true)).then(|| Line::new(first, latest, profiles)).flatten();
        let of_horizon = |(k, rows): (usize, &usize)| {
            let mut smoothed: [Vec<f64>; 2] = Default::default();
            if !due[k] {
                return (None, smoothed);
            }
            let mut kinds = vec![f64::NAN; KINDS];
            (kinds[PERSISTENCE], kinds[MEAN]) = (history.at(now), self.mean);
            if let Some(line) = &line {
                kinds[ON_A_LINE] = line.at(now + rows);
            }
            let season = self.season();
            if season > 0 {
                // The latest value of the same phase.
                kinds[SEASONAL] = history.before(now, season * rows.div_ceil(season) - rows, false);
            }
            for logs in [false, true] {
                let scale = usize::from(logs);
                let smoothing = &self.smoothing[scale];
                if (logs && !self.logs(parameters)) || !smoothing.knows() {
                    continue;
                }
                let exponential = |value: f64| if logs { value.exp() } else { value };
                smoothed[scale] = smoothing.ahead(now, *rows, phased).map(exponential).collect();
                let chosen = self.horizons[k].best_smoothing(logs, smoothing.count());
                for (way, place) in best[scale].into_iter().chain([chosen]).enumerate() {
                    if let Some(place) = place {
                        kinds[SMOOTHED + 3 * scale + way] = smoothed[scale][place];
                    }
                }
            }
            self.bound(*rows, 0.0, &mut kinds);
            (Some(kinds), smoothed)
        };
        common.rows.iter().enumerate().map(of_horizon).collect()
    }

    /// Adds the forecasts from row `from` of regressions and of the operator, over the horizons of these lists.
    fn regress(&self, common: &Common<'_>, from: usize, operator: &[f64], all: &mut [Option<Vec<f64>>]) {
        let (parameters, history) = (common.parameters, &common.histories[common.own]);
        let due = all.iter().zip(common.rows).filter(|(kinds, _)| kinds.is_some());
        let Some(longest) = due.map(|(_, rows)| *rows).max() else { return };
        let mut series = Vec::new();
        for place in 0..self.views.len() {
            let Some(view) = self.view(place, history, parameters) else { continue };
            let context = context(common, &self.periods, &self.profiles, self.centers, view);
            let Some(ahead) = self.views[place].ahead(view, &context, from, longest) else { continue };
            view.series(&context, from, &ahead, &mut series);
            for (kinds, rows) in all.iter_mut().zip(common.rows) {
                if let Some(kinds) = kinds {
                    kinds[VIEWED + place] = series[rows - 1];
                }
            }
        }
        for (k, (kinds, rows)) in all.iter_mut().zip(common.rows).enumerate() {
            let Some(kinds) = kinds else { continue };
            kinds[OPERATOR] = operator.get(k).copied().unwrap_or(f64::NAN);
            for (place, logs, brief) in self.regressions(parameters) {
                let centers = self.centers_of(common, logs);
                let sources = sources(common, &self.periods, logs, brief, &centers);
                kinds[DIRECT + place] = self.horizons[k].direct[place].ahead(&sources, from, *rows);
            }
            // Inputs may be stronger, or act longer, than ever before.
            let most = if common.inputs.is_empty() { 0.0 } else { DRIVEN };
            self.bound(*rows, most, kinds);
        }
    }

    /// The direct regressions that exist: their places, whether on logarithms, and whether on the latest row alone.
    fn regressions(&self, parameters: &Parameters) -> impl Iterator<Item = (usize, bool, bool)> + use<> {
        let all = REGRESSIONS.into_iter().enumerate().map(|(place, (logs, brief))| (place, logs, brief));
        let positive = self.logs(parameters);
        all.filter(move |(_, logs, _)| positive || !logs)
    }

    /// Bounds forecasts by half of the range beyond the values seen, by a trend of its slope, or by this multiple; those on
    /// logarithms by growth of its rate.
    fn bound(&self, rows: usize, least: f64, kinds: &mut [f64]) {
        let range = self.high - self.low;
        let trend = 1.5 * rows as f64 / self.count.max(1) as f64;
        let share = trend.clamp(0.5, 3.0).max(least);
        let (low, high) = (self.low - share * range, self.high + share * range);
        let growth = if self.low > 0.0 { (self.high / self.low).powf(trend.min(1.0)) } else { 1.0 };
        let highest = high.max(self.high * growth);
        for (place, made) in kinds.iter_mut().enumerate().filter(|(_, made)| !made.is_nan()) {
            *made = made.clamp(low, if is_on_logs(place) { highest } else { high });
        }
    }
}

/// Whether the kind with this place forecasts on logarithms.
fn is_on_logs(place: usize) -> bool {
    match place {
        place if place < VIEWED => false,
        place if place < SMOOTHED => place >= VIEWED + VIEWS.len(),
        place if place < DIRECT => place >= SMOOTHED + 3,
        place if place < OPERATOR => REGRESSIONS[place - DIRECT].0,
        _ => false,
    }
}

/// The values or their logarithms without those far off.
fn clipped(values: &[f64], logs: bool) -> Vec<f64> {
    periods::clipped(values.iter().map(|value| if logs { value.ln() } else { *value }).collect())
}

fn context<'a>(
    common: &Common<'a>,
    periods: &'a [usize],
    profiles: &'a [Vec<Vec<f64>>; 2],
    centers: [f64; 2],
    view: View,
) -> Context<'a> {
    let scale = usize::from(view.logs);
    let (history, inputs) = (&common.histories[common.own], common.inputs);
    Context { history, periods, profiles: &profiles[scale], inputs, center: centers[scale] }
}

fn furthest(common: &Common<'_>) -> usize {
    common.rows.iter().max().copied().unwrap_or(1)
}

fn sources<'a>(
    common: &Common<'a>,
    periods: &'a [usize],
    logs: bool,
    brief: bool,
    centers: &'a [f64],
) -> Sources<'a> {
    Sources {
        histories: common.histories,
        own: common.own,
        periods: if brief { &[] } else { periods },
        logs,
        brief,
        centers,
        recent: if brief { 1 } else { common.parameters.recent },
        inputs: common.inputs,
    }
}

impl State for Series {
    fn pass(&mut self, pass: &mut dyn Pass) {
        pass.count(&mut self.count);
        for value in [&mut self.mean, &mut self.low, &mut self.high] {
            pass.number(value);
        }
        self.centers.iter_mut().for_each(|center| pass.number(center));
        pass.counts(&mut self.periods);
        pass.count(&mut self.search);
        pass.count(&mut self.refresh);
        for profiles in &mut self.profiles {
            let mut count = profiles.len();
            pass.count(&mut count);
            if pass.reads() {
                *profiles = vec![Vec::new(); if pass.allows(count) { count } else { 0 }];
            }
            for profile in profiles.iter_mut() {
                pass.list(profile);
            }
        }
        pass_all(&mut self.views, pass);
        self.smoothing.iter_mut().for_each(|smoothing| smoothing.pass(pass));
        pass_all(&mut self.horizons, pass);
        if pass.reads() {
            self.horizons.iter_mut().for_each(|horizon| horizon.resize(FORMER_KINDS, KINDS));
        }
    }
}

impl Series {
    /// Whether the parts of a model file agree.
    pub fn is_sound(&self, horizons: usize, inputs: usize) -> bool {
        let fits = |profiles: &Vec<Vec<f64>>| {
            profiles.len() <= self.periods.len()
                && profiles.iter().zip(&self.periods).all(|(profile, period)| profile.len() == *period)
        };
        let numbers = [self.mean, self.low, self.high, self.centers[0], self.centers[1]];
        let period = self.periods.first().copied().unwrap_or(0);
        self.horizons.len() == horizons
            && self.count > 0
            && numbers.iter().all(|number| number.abs() <= LARGEST)
            && self.low <= self.high
            && self.horizons.iter().all(|horizon| horizon.is_sound(KINDS))
            && self.periods.len() <= 2
            && self.periods.iter().all(|period| (2..=LONGEST).contains(period))
            && self.profiles.iter().all(fits)
            && (self.views.is_empty() || self.views.len() == 2 * VIEWS.len())
            && self.views.iter().all(|view| view.is_sound(inputs))
            && self.smoothing.iter().all(|smoothing| smoothing.count() == 0 || smoothing.is_sound(period))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_are_missing_are_estimated_by_the_season_before_and_a_line() {
        let season = [0.0, 3.0, -1.0, 5.0];
        let value = |row: usize| season[row % 4] + 0.5 * row as f64;
        let mut history = History::default();
        (0..12).for_each(|row| history.push(value(row), 100));
        for missing in [1, 3, 4, 7] {
            let next = value(12 + missing);
            let (low, high) = (-10.0, 30.0);
            let mut series = Series { periods: vec![2, 4], low, high, ..Series::new(1) };
            let (is_seasonal, found) = series.between(&history, missing, next, 100);
            assert!(is_seasonal);
            let expected: Vec<f64> = (12..12 + missing).map(value).collect();
            let pairs = found.iter().zip(&expected);
            assert!(found.len() == missing && pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-12));
            // Without a season, or rows one season before: on a line.
            for periods in [vec![], vec![13]] {
                series.periods = periods;
                let step = (next - value(11)) / (missing + 1) as f64;
                let (is_seasonal, found) = series.between(&history, missing, next, 100);
                assert!(!is_seasonal);
                let line = (1..=missing).map(|i| value(11) + step * i as f64);
                assert!(found.iter().zip(line).all(|(a, b)| (a - b).abs() < 1e-12));
            }
            // Rows that may have been dropped are not asked for, and estimates stay within the range.
            series.periods = vec![4];
            assert!(!series.between(&history, missing, next, 4).0);
            (series.low, series.high) = (0.0, 8.0);
            let (_, found) = series.between(&history, missing, 7.0, 100);
            assert!(found.iter().all(|value| (0.0..=8.0).contains(value)));
        }
    }
}
