//! All forecasts of one component, which learn row by row.
//!
//! A row is compared with its forecasts, and learned by smoothing and regressions (this file); when rows have grown, periods are
//! detected and all is fitted again (`refits`); means of phases are computed more often (`phases`); then forecasts are made
//! (`forecasts`).

mod forecasts;
mod phases;
mod refits;

use super::autoregression::Autoregression;
use super::component_horizon::{ComponentHorizon, PendingKinds};
use super::direct::Sources;
use super::history::History;
use super::kinds::{BRIEF, FORMER_KINDS, KINDS, REGRESSIONS, VIEWS};
use super::numbers::{Numbers, Pass, pass_all};
use super::parameters::{CandidateParams, LONGEST};
use super::smoothing::Smoothing;
use super::view::{Context, View, ViewKind};
use super::weights::Span;
use crate::kernel::LARGEST;

/// Rows before the first detection of periods.
const FEWEST: usize = 10;

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
    pub horizons: Vec<ComponentHorizon>,
}

/// Data and parameters that all components share.
pub struct Shared<'a> {
    pub histories: &'a [History],
    /// Control inputs, where a forecast is made known up to its longest horizon.
    pub inputs: &'a [History],
    pub own: usize,
    /// Rows of each horizon, and mean number of rows between two forecasts whose errors are
    /// learned.
    pub rows: &'a [usize],
    pub strides: &'a [usize],
    pub given: Option<&'a [usize]>,
    /// Periods of the calendar of the rows.
    pub calendar: &'a [usize],
    pub parameters: &'a CandidateParams,
}

impl Shared<'_> {
    fn span(&self, k: usize) -> Span {
        (self.rows[k], self.strides[k])
    }
}

impl Series {
    pub fn new(horizons: usize) -> Self {
        Self {
            search: FEWEST,
            refresh: FEWEST,
            horizons: (0..horizons).map(|_| ComponentHorizon::new(KINDS)).collect(),
            ..Self::default()
        }
    }

    fn logs(&self, parameters: &CandidateParams) -> bool {
        self.count > 0 && self.low > 0.0 && self.high >= parameters.spread * self.low
    }

    /// Starts another trajectory.
    pub fn begin(&mut self) {
        self.horizons.iter_mut().for_each(ComponentHorizon::clear);
        self.smoothing.iter_mut().for_each(Smoothing::forget);
    }

    /// Follows the latest row of the histories: forecasts of it are compared with it, so that weights and errors are those
    /// of these rows, but nothing else is learned from it.
    pub fn advance(&mut self, shared: &Shared<'_>) {
        self.compare(shared, None);
        let (history, parameters) = (&shared.histories[shared.own], shared.parameters);
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
    fn compare(&mut self, shared: &Shared<'_>, operator: Option<&[f64]>) {
        let now = shared.histories[shared.own].len() - 1;
        let value = shared.histories[shared.own].at(now);
        let mut all: Vec<Option<PendingKinds>> =
            self.horizons.iter_mut().map(|horizon| horizon.due(now)).collect();
        if let Some(operator) = operator {
            // Before any of them is judged: weights of a longer horizon follow those of shorter ones.
            for (k, made) in all.iter_mut().enumerate() {
                if let Some(made) = made {
                    self.complete(k, shared, operator, made);
                }
            }
        }
        for ((k, horizon), made) in self.horizons.iter_mut().enumerate().zip(&all) {
            if let Some(made) = made {
                horizon.judge(made, BRIEF, value, shared.span(k), shared.parameters);
            }
        }
    }

    /// Learns the latest row of the histories. `operator`: with inputs, the operator's forecasts of this row over each
    /// horizon.
    pub fn learn(&mut self, shared: &Shared<'_>, operator: &[f64]) {
        let now = shared.histories[shared.own].len() - 1;
        let value = shared.histories[shared.own].at(now);
        let parameters = shared.parameters;
        self.compare(shared, (!shared.inputs.is_empty()).then_some(operator));
        if self.count == 0 {
            (self.low, self.high) = (value, value);
            self.periods = shared.given.unwrap_or_default().to_vec();
        }
        self.count += 1;
        self.mean += (value - self.mean) / self.count as f64;
        (self.low, self.high) = (self.low.min(value), self.high.max(value));
        self.find_phases(&shared.histories[shared.own], parameters);
        if self.count >= self.search {
            self.look_again(shared);
        } else {
            self.learn_row(shared, now);
        }
    }

    fn learn_row(&mut self, shared: &Shared<'_>, now: usize) {
        let parameters = shared.parameters;
        let history = &shared.histories[shared.own];
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
        let steps = furthest(shared);
        for place in 0..self.views.len() {
            let Some(view) = self.view(place, history, parameters) else { continue };
            // Phases are those of the latest trajectory.
            if view.has_phases() && now < history.latest_start() {
                continue;
            }
            let context = context(shared, &self.periods, &self.profiles, self.centers, view);
            self.views[place].learn(view, &context, now, steps, parameters);
        }
        // With many horizons, each learns from a part of the rows.
        let every = (self.horizons.len() / parameters.horizons).max(1);
        for k in (0..self.horizons.len()).filter(|k| (now + k).is_multiple_of(every)) {
            for (place, logs, brief) in self.regressions(parameters) {
                let centers = self.centers_of(shared, logs);
                let sources = sources(shared, &self.periods, logs, brief, &centers);
                self.horizons[k].direct[place].learn(&sources, now, shared.rows[k], parameters);
            }
        }
    }

    /// Values of other components are shifted only.
    fn centers_of(&self, shared: &Shared<'_>, logs: bool) -> Vec<f64> {
        let mut centers = vec![if logs { 0.0 } else { self.centers[0] }; shared.histories.len()];
        centers[shared.own] = self.centers[usize::from(logs)];
        centers
    }

    /// The view with this place, if it exists.
    fn view(&self, place: usize, history: &History, parameters: &CandidateParams) -> Option<View> {
        let (kind, logs) = (VIEWS[place % VIEWS.len()], place >= VIEWS.len());
        let needed = match kind {
            ViewKind::Value | ViewKind::Difference => 0,
            ViewKind::SeasonalDifference(place) => place + 1,
            ViewKind::Phase | ViewKind::PhaseDifference => 1,
        };
        let there = self.periods.len() >= needed && (!logs || self.logs(parameters));
        let view = View { kind, logs };
        let profiled = !view.has_phases()
            || (self.profiles[usize::from(logs)].len() == self.periods.len() && self.is_phased(history));
        (there && profiled).then_some(view)
    }

    /// The direct regressions that exist: their places, whether on logarithms, and whether on the latest row alone.
    fn regressions(&self, parameters: &CandidateParams) -> impl Iterator<Item = (usize, bool, bool)> + use<> {
        let all = REGRESSIONS.into_iter().enumerate().map(|(place, (logs, brief))| (place, logs, brief));
        let positive = self.logs(parameters);
        all.filter(move |(_, logs, _)| positive || !logs)
    }
}

fn context<'a>(
    shared: &Shared<'a>,
    periods: &'a [usize],
    profiles: &'a [Vec<Vec<f64>>; 2],
    centers: [f64; 2],
    view: View,
) -> Context<'a> {
    let scale = usize::from(view.logs);
    let (history, inputs) = (&shared.histories[shared.own], shared.inputs);
    Context { history, periods, profiles: &profiles[scale], inputs, center: centers[scale] }
}

fn furthest(shared: &Shared<'_>) -> usize {
    shared.rows.iter().max().copied().unwrap_or(1)
}

fn sources<'a>(
    shared: &Shared<'a>,
    periods: &'a [usize],
    logs: bool,
    brief: bool,
    centers: &'a [f64],
) -> Sources<'a> {
    Sources {
        histories: shared.histories,
        own: shared.own,
        periods: if brief { &[] } else { periods },
        logs,
        brief,
        centers,
        recent: if brief { 1 } else { shared.parameters.recent },
        inputs: shared.inputs,
    }
}

impl Numbers for Series {
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
