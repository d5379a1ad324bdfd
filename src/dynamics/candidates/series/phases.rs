//! Seasons of a component: means of their phases, which phase a row has, and rows estimated by them.

use super::Series;
use crate::dynamics::candidates::history::History;
use crate::dynamics::candidates::parameters::CandidateParams;
use crate::dynamics::candidates::periods;
use crate::dynamics::candidates::smoothing::Smoothing;

/// Periods of another trajectory after which only its own means of phases count.
const FOLLOWED: usize = 10;

impl Series {
    /// Longest period; 0 without one.
    pub fn season(&self) -> usize {
        self.periods.iter().max().copied().unwrap_or(0)
    }

    /// Whether the phase of the latest row is known. That of the first row of another trajectory is not, until it is found
    /// from the rows of one period.
    pub(super) fn is_phased(&self, history: &History) -> bool {
        history.latest_start() == 0 || history.latest().1.len() >= self.season()
    }

    /// Finds the phase of another trajectory at the end of its first period, before its row is learned; if no phase fits,
    /// means of the phases are computed again at the end of its second.
    pub(super) fn find_phases(&mut self, history: &History, parameters: &CandidateParams) {
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
    fn align(&mut self, history: &History, parameters: &CandidateParams) {
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

    /// Starts smoothing from row `first` with the mean of its first season, and learns these values of the rows from there on.
    pub(super) fn begin_smoothing(
        &mut self,
        history: &History,
        first: usize,
        values: &[f64],
        parameters: &CandidateParams,
    ) {
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

    /// Smoothing on values or on logarithms.
    pub(super) fn smoothing_of(&mut self, logs: bool) -> &mut Smoothing {
        let smoothing = &mut self.smoothing[usize::from(logs)];
        if smoothing.count() == 0 {
            *smoothing = Smoothing::new(self.periods.first().copied().unwrap_or(0));
        }
        smoothing
    }

    /// Computes seasonal profiles about a moving mean, in the latest trajectory if it has two seasons or known profiles are
    /// to be followed, else in the longest that is kept.
    pub(super) fn make_profiles(&mut self, history: &History, parameters: &CandidateParams) {
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
                let mut profile = periods::smooth_profile_of(&about, *period);
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
}

/// The values or their logarithms without those far off.
fn clipped(values: &[f64], logs: bool) -> Vec<f64> {
    periods::clipped(values.iter().map(|value| if logs { value.ln() } else { *value }).collect())
}

#[cfg(test)]
mod tests {
    use crate::dynamics::candidates::history::History;
    use crate::dynamics::candidates::series::Series;

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
