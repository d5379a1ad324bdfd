//! Views: transforms of a series for autoregressions.

use super::history::History;

/// Transform of the values, or of their logarithms if `logs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    pub kind: ViewKind,
    pub logs: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewKind {
    Value,
    Difference,
    /// Difference over the season with this place in the list of periods.
    SeasonalDifference(usize),
    /// Value minus the mean of its phase.
    Phase,
    /// Difference of that.
    PhaseDifference,
}

/// Data of a series that a view needs.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub history: &'a History,
    pub periods: &'a [usize],
    /// Means of the phases of each period.
    pub profiles: &'a [Vec<f64>],
    /// Control inputs, known beyond the series where a forecast is made.
    pub inputs: &'a [History],
    /// A value near the middle of the series, on the view's scale, so that sums of products stay
    /// small.
    pub center: f64,
}

impl Context<'_> {
    /// Mean of the phases of this row.
    pub fn profile(&self, at: usize) -> f64 {
        self.profiles.iter().map(|profile| profile[at % profile.len()]).sum()
    }
}

impl View {
    /// Whether values depend on the phase of their rows.
    pub fn has_phases(self) -> bool {
        matches!(self.kind, ViewKind::Phase | ViewKind::PhaseDifference)
    }

    /// Value this many rows before this one, on the view's scale.
    fn value(self, context: &Context<'_>, at: usize, back: usize) -> f64 {
        context.history.before(at, back, self.logs)
    }

    /// Value of the view at this row; NaN if it is unknown.
    pub fn at(self, context: &Context<'_>, at: usize) -> f64 {
        let value = |back: usize| self.value(context, at, back);
        match self.kind {
            ViewKind::Value => value(0) - context.center,
            ViewKind::Difference => value(0) - value(1),
            ViewKind::SeasonalDifference(place) => value(0) - value(context.periods[place]),
            ViewKind::Phase => value(0) - context.profile(at) - context.center,
            ViewKind::PhaseDifference => {
                let before = at.checked_sub(1).map_or(f64::NAN, |at| context.profile(at));
                value(0) - value(1) - (context.profile(at) - before)
            }
        }
    }

    /// An input at a row, differenced over the season where the values are: then it explains them by the same coefficients.
    /// Other differences of it are combinations of two of its lags.
    pub fn input(self, context: &Context<'_>, input: usize, at: usize) -> f64 {
        let value = |back: usize| context.inputs[input].before(at, back, false);
        match self.kind {
            ViewKind::SeasonalDifference(place) => value(0) - value(context.periods[place]),
            _ => value(0),
        }
    }

    /// Converts values of the view after the row `now` to values of the series.
    pub fn series(self, context: &Context<'_>, now: usize, ahead: &[f64], out: &mut Vec<f64>) {
        out.clear();
        let latest = self.value(context, now, 0);
        let mut sum = latest;
        for (step, value) in ahead.iter().enumerate() {
            let at = now + step + 1;
            let made = match self.kind {
                ViewKind::Value => value + context.center,
                ViewKind::Difference => {
                    sum += value;
                    sum
                }
                ViewKind::SeasonalDifference(place) => {
                    let period = context.periods[place];
                    let before =
                        if step >= period { out[step - period] } else { self.value(context, at, period) };
                    before + value
                }
                ViewKind::Phase => value + context.profile(at) + context.center,
                ViewKind::PhaseDifference => {
                    sum += value;
                    sum + context.profile(at) - context.profile(now)
                }
            };
            out.push(made);
        }
        if self.logs {
            for value in out.iter_mut() {
                *value = value.exp();
            }
        }
    }
}
