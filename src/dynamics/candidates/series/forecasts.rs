//! Forecasts of a component: of all kinds, their mixture, and its interval.

use super::{Series, Shared, context, sources};
use crate::dynamics::candidates::component_horizon::PendingKinds;
use crate::dynamics::candidates::kinds::{
    BRIEF, DIRECT, KINDS, MEAN, ON_A_LINE, OPERATOR, PERSISTENCE, PRIORS, SEASONAL, SMOOTHED, VIEWED,
    is_on_logs,
};
use crate::dynamics::candidates::line::Line;
use crate::dynamics::candidates::weights::{MixedForecast, Standing};

/// Ranges beyond the values seen up to which forecasts under inputs may go.
const DRIVEN: f64 = 10.0;

/// Half-widths below this share of the range are rounding errors.
const ROUNDING: f64 = 1e-6;

impl Series {
    /// Forecasts from the latest row, and keeps the forecasts whose errors will be learned; those that depend on inputs are
    /// added when these are known. `operator`: forecasts of the operator over each horizon, NaN if there are none.
    pub fn make(&mut self, shared: &Shared<'_>, operator: &[f64], due: &[bool]) {
        let now = shared.histories[shared.own].len() - 1;
        let (mut made, smoothed): (Vec<_>, Vec<_>) = self.unregressed(shared, due).into_iter().unzip();
        if shared.inputs.is_empty() {
            self.regress(shared, now, operator, &mut made);
        }
        for (k, (kinds, smoothed)) in made.into_iter().zip(smoothed).enumerate() {
            if let Some(kinds) = kinds {
                self.wait(k, shared, kinds, smoothed);
            }
        }
    }

    /// Keeps forecasts from the latest row until their target is known; returns their mixture.
    fn wait(
        &mut self,
        k: usize,
        shared: &Shared<'_>,
        kinds: Vec<f64>,
        smoothed: [Vec<f64>; 2],
    ) -> MixedForecast {
        let target = shared.histories[shared.own].len() - 1 + shared.rows[k];
        let mixture = self.mix(k, shared, &kinds);
        let sizes = [0, 1].map(|way| self.horizons[k].widths[way].size());
        let (mixed, ways) = (mixture.made, mixture.ways.clone());
        self.horizons[k].wait(PendingKinds { target, kinds, mixed, ways, sizes, smoothed });
        mixture
    }

    /// The mixtures of forecasts from the latest row under inputs that are known, over the horizons that are due, which are
    /// kept until their target is known, or over all that are `asked`.
    pub fn follow(
        &mut self,
        shared: &Shared<'_>,
        operator: &[f64],
        due: &[bool],
        asked: bool,
    ) -> Vec<Option<MixedForecast>> {
        let now = shared.histories[shared.own].len() - 1;
        let wanted: Vec<bool> = due.iter().map(|due| *due || asked).collect();
        let (mut made, smoothed): (Vec<_>, Vec<_>) = self.unregressed(shared, &wanted).into_iter().unzip();
        self.regress(shared, now, operator, &mut made);
        let mixed = |(k, (kinds, smoothed)): (usize, (Option<Vec<f64>>, _))| {
            let kinds = kinds?;
            Some(if due[k] { self.wait(k, shared, kinds, smoothed) } else { self.mix(k, shared, &kinds) })
        };
        made.into_iter().zip(smoothed).enumerate().map(mixed).collect()
    }

    /// Adds the forecasts of a row that depend on inputs, which are known now, and mixes them: by what was learned before
    /// this row.
    pub(super) fn complete(&self, k: usize, shared: &Shared<'_>, operator: &[f64], made: &mut PendingKinds) {
        let Some(from) = made.target.checked_sub(shared.rows[k]) else { return };
        let mut all: Vec<Option<Vec<f64>>> = vec![None; shared.rows.len()];
        all[k] = Some(std::mem::take(&mut made.kinds));
        self.regress(shared, from, operator, &mut all);
        made.kinds = all[k].take().unwrap_or_default();
        let MixedForecast { made: mixed, ways, .. } = self.mix(k, shared, &made.kinds);
        (made.mixed, made.ways) = (mixed, ways);
    }

    /// The forecasts of all kinds from the latest row over each horizon.
    pub fn forecasts(&self, shared: &Shared<'_>, operator: &[f64]) -> Vec<Vec<f64>> {
        let due = vec![true; shared.rows.len()];
        let mut all: Vec<_> = self.unregressed(shared, &due).into_iter().map(|(kinds, _)| kinds).collect();
        self.regress(shared, shared.histories[shared.own].len() - 1, operator, &mut all);
        all.into_iter().flatten().collect()
    }

    /// The mixture over a horizon.
    pub fn mix(&self, k: usize, shared: &Shared<'_>, kinds: &[f64]) -> MixedForecast {
        let shorter = self.shorter(k, shared);
        let first = if kinds[SEASONAL].is_nan() { PERSISTENCE } else { SEASONAL };
        let priors = (&PRIORS[..], first);
        // The latest row alone counts where there are not more.
        let mut kinds = kinds.to_vec();
        if !kinds[DIRECT].is_nan() {
            kinds[BRIEF] = f64::NAN;
        }
        self.horizons[k].weights.mix(&kinds, priors, shorter.as_ref(), shared.span(k), shared.parameters)
    }

    /// How the kinds stand at the longest horizon of at most half the rows, which has learned from that of half its rows.
    fn shorter(&self, k: usize, shared: &Shared<'_>) -> Option<Standing> {
        let most = shared.rows[k] / 2;
        let below = (0..shared.rows.len()).filter(|other| shared.rows[*other] <= most);
        let other = below.max_by_key(|other| shared.rows[*other])?;
        let shorter = self.shorter(other, shared);
        self.horizons[other].weights.standing(shorter, shared.span(other), shared.parameters)
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

    /// Whether errors may be proportional to the forecast.
    fn may_be_proportional(&self) -> bool {
        self.low > 0.0 && self.high >= 3.0 * self.low
    }

    /// Forecasts from the latest row over each horizon that is due, of kinds that do not depend on inputs; and those of
    /// all smoothing constants.
    #[allow(clippy::type_complexity, reason = "forecasts, and those of smoothing")]
    fn unregressed(&self, shared: &Shared<'_>, due: &[bool]) -> Vec<(Option<Vec<f64>>, [Vec<f64>; 2])> {
        let (parameters, history) = (shared.parameters, &shared.histories[shared.own]);
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
        shared.rows.iter().enumerate().map(of_horizon).collect()
    }

    /// Adds the forecasts from row `from` of regressions and of the operator, over the horizons of these lists.
    fn regress(&self, shared: &Shared<'_>, from: usize, operator: &[f64], all: &mut [Option<Vec<f64>>]) {
        let (parameters, history) = (shared.parameters, &shared.histories[shared.own]);
        let due = all.iter().zip(shared.rows).filter(|(kinds, _)| kinds.is_some());
        let Some(longest) = due.map(|(_, rows)| *rows).max() else { return };
        let mut series = Vec::new();
        for place in 0..self.views.len() {
            let Some(view) = self.view(place, history, parameters) else { continue };
            let context = context(shared, &self.periods, &self.profiles, self.centers, view);
            let Some(ahead) = self.views[place].ahead(view, &context, from, longest) else { continue };
            view.series(&context, from, &ahead, &mut series);
            for (kinds, rows) in all.iter_mut().zip(shared.rows) {
                if let Some(kinds) = kinds {
                    kinds[VIEWED + place] = series[rows - 1];
                }
            }
        }
        for (k, (kinds, rows)) in all.iter_mut().zip(shared.rows).enumerate() {
            let Some(kinds) = kinds else { continue };
            kinds[OPERATOR] = operator.get(k).copied().unwrap_or(f64::NAN);
            for (place, logs, brief) in self.regressions(parameters) {
                let centers = self.centers_of(shared, logs);
                let sources = sources(shared, &self.periods, logs, brief, &centers);
                kinds[DIRECT + place] = self.horizons[k].direct[place].ahead(&sources, from, *rows);
            }
            // Inputs may be stronger, or act longer, than ever before.
            let most = if shared.inputs.is_empty() { 0.0 } else { DRIVEN };
            self.bound(*rows, most, kinds);
        }
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
