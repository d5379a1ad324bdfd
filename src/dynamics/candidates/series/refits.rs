//! Periods that are detected along the stream, after which regressions and smoothing are fitted again.

use super::{FEWEST, Series, Shared, context, furthest, sources};
use crate::dynamics::candidates::autoregression::Autoregression;
use crate::dynamics::candidates::direct::Direct;
use crate::dynamics::candidates::history::History;
use crate::dynamics::candidates::kinds::{OPERATOR, REGRESSIONS, VIEWS};
use crate::dynamics::candidates::parameters::CandidateParams;
use crate::dynamics::candidates::periods;
use crate::dynamics::candidates::smoothing::Smoothing;
use crate::dynamics::judging::is_due;

/// Most rows, and seasons, whose forecasts are made again with the periods that are found in them. In more seasons kinds that
/// begin without losses are judged as soon by those to come, without those of their first rows.
const REPLAYED: usize = 1100;

const SEASONS: usize = 3;

impl Series {
    /// Schedules a detection of periods and a refit for the next row.
    pub fn look_now(&mut self) {
        self.search = self.count.max(FEWEST);
    }

    /// Detects periods, and fits regressions and smoothing again: to all rows from the first on if they are few, else to the
    /// rows kept.
    pub(super) fn look_again(&mut self, shared: &Shared<'_>) {
        let (parameters, history) = (shared.parameters, &shared.histories[shared.own]);
        let (_, longest) = history.longest();
        let recent = &longest[longest.len().saturating_sub(parameters.kept)..];
        let find = || periods::find(recent, &self.periods, shared.calendar, parameters);
        let found = shared.given.map_or_else(find, <[usize]>::to_vec);
        let all_kept = history.len() == history.values().len() && history.len() <= parameters.kept;
        let changed = found != self.periods;
        self.search = periods::next_detection(self.count, &found, shared.calendar, parameters);
        if !changed && !all_kept {
            return self.learn_row(shared, history.len() - 1);
        }
        if changed && self.can_replay(shared, &found) {
            return self.replay(shared, found);
        }
        if changed {
            self.profiles.iter_mut().for_each(Vec::clear);
        }
        self.periods = found;
        let are_centers_kept = self.renew_centers(history, parameters);
        self.make_profiles(history, parameters);
        self.renew_regressions(shared, !changed && are_centers_kept);
        self.learn_rows_kept(shared);
        self.release_regressions(shared);
    }

    /// Sets the centers to the means of the rows kept. They only reduce rounding, and are kept while they are near the mean:
    /// returns whether they are.
    fn renew_centers(&mut self, history: &History, parameters: &CandidateParams) -> bool {
        let known = || history.values().iter().copied().filter(|value| !value.is_nan());
        let n = known().count().max(1) as f64;
        let mean = known().sum::<f64>() / n;
        let centers = [mean, if self.logs(parameters) { known().map(f64::ln).sum::<f64>() / n } else { 0.0 }];
        let near = |(old, new): (&f64, f64)| (old - new).abs() <= 0.5 * (self.high - self.low);
        let are_kept = self.count > 2 * FEWEST
            && (self.centers[1] == 0.0) == (centers[1] == 0.0)
            && near((&self.centers[0], centers[0]));
        if !are_kept {
            self.centers = centers;
        }
        are_kept
    }

    /// Regressions without rows, which solve for no coefficients until they are released. `continues`: they begin with the
    /// coefficients of the former ones, which have the same features.
    fn renew_regressions(&mut self, shared: &Shared<'_>, continues: bool) {
        let (parameters, inputs) = (shared.parameters, shared.inputs.len());
        let values = shared.histories[shared.own].values();
        let n = values.iter().filter(|value| !value.is_nan()).count().max(1) as f64;
        let order = ((parameters.order_share * n) as usize).clamp(1, parameters.order);
        let views = (0..2 * VIEWS.len()).map(|_| Autoregression::new(order, &self.periods, inputs)).collect();
        let former = std::mem::replace(&mut self.views, views);
        self.views.iter_mut().for_each(Autoregression::hold);
        if continues {
            self.views.iter_mut().zip(former).for_each(|(view, former)| view.follow(former));
        }
        for k in 0..self.horizons.len() {
            for (place, (logs, brief)) in REGRESSIONS.into_iter().enumerate() {
                let centers = self.centers_of(shared, logs);
                let sources = sources(shared, &self.periods, logs, brief, &centers);
                let mut direct = Direct::new(&sources, shared.rows[k]);
                direct.hold();
                let former = std::mem::replace(&mut self.horizons[k].direct[place], direct);
                if continues && inputs > 0 {
                    self.horizons[k].direct[place].follow(former);
                }
            }
        }
    }

    /// Learns the rows kept, from the earliest on.
    fn learn_rows_kept(&mut self, shared: &Shared<'_>) {
        let (parameters, history) = (shared.parameters, &shared.histories[shared.own]);
        self.smoothing = Default::default();
        let (start, _) = history.latest();
        // Profiles are those of all these rows already.
        let refresh = std::mem::replace(&mut self.refresh, usize::MAX);
        for now in history.dropped..history.len() {
            if history.at(now).is_nan() {
                self.smoothing.iter_mut().for_each(Smoothing::forget);
                continue;
            }
            if now == start {
                self.begin_smoothing(history, now, &[], parameters);
            }
            self.learn_row(shared, now);
        }
        self.refresh = refresh;
    }

    /// Solves the regressions for their coefficients.
    fn release_regressions(&mut self, shared: &Shared<'_>) {
        let (parameters, history) = (shared.parameters, &shared.histories[shared.own]);
        let (now, steps) = (history.len() - 1, furthest(shared));
        for place in 0..self.views.len() {
            let Some(view) = self.view(place, history, parameters) else {
                self.views[place].plan(parameters);
                continue;
            };
            let context = context(shared, &self.periods, &self.profiles, self.centers, view);
            self.views[place].release(view, &context, now, steps, parameters);
        }
        for (horizon, rows) in self.horizons.iter_mut().zip(shared.rows) {
            let keep = !shared.inputs.is_empty();
            horizon.direct.iter_mut().for_each(|direct| direct.release(now, *rows, parameters, keep));
        }
    }

    /// Whether all rows are kept, in one trajectory without inputs, of few seasons, and none was estimated.
    fn can_replay(&self, shared: &Shared<'_>, periods: &[usize]) -> bool {
        let season = periods.iter().max().copied().unwrap_or(0);
        let is_whole = |history: &History| {
            history.values().len() == self.count && history.values().iter().all(|value| !value.is_nan())
        };
        // The mean is that of the rows that were learned.
        let values = shared.histories[shared.own].values().iter().zip(1_u32..);
        let mean = values.fold(0.0, |mean, (value, count)| mean + (value - mean) / f64::from(count));
        let are_few = self.count <= REPLAYED.min(SEASONS * season);
        shared.inputs.is_empty()
            && are_few
            && shared.histories.iter().all(is_whole)
            && mean.to_bits() == self.mean.to_bits()
    }

    /// Learns all rows again with these periods from the first row on, so that weights and widths are those of forecasts
    /// that know them. The operator's forecasts and errors stay. Regressions are fitted again when the rows have doubled.
    fn replay(&mut self, shared: &Shared<'_>, periods: Vec<usize>) {
        let mut new = Self { periods, ..Self::new(self.horizons.len()) };
        let given = new.periods.clone();
        let mut histories = vec![History::default(); shared.histories.len()];
        for now in 0..self.count {
            for (history, whole) in histories.iter_mut().zip(shared.histories) {
                history.push(whole.at(now), shared.parameters.kept);
            }
            let shared = Shared { histories: &histories, given: Some(&given), ..*shared };
            if now + 1 == self.count {
                new.look_now();
                new.learn(&shared, &[]);
                break;
            }
            let is_fitted = new.count + 1 >= new.search;
            new.learn(&shared, &[]);
            if is_fitted {
                new.search = 2 * new.count;
            }
            let number = now as u64 + 1;
            let due: Vec<bool> = shared.strides.iter().map(|stride| is_due(*stride, number)).collect();
            new.make(&shared, &[], &due);
        }
        for (new, old) in new.horizons.iter_mut().zip(&self.horizons) {
            new.keep(OPERATOR, old);
        }
        *self = new;
    }
}
