//! What an autoregression is of: a series seen in one of several ways.

use super::history::History;

/// How values become those of a view; on logarithms where `logs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    pub kind: Kind,
    pub logs: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Value,
    Difference,
    /// Over the season with this place in the list of periods.
    SeasonalDifference(usize),
    /// Less the mean of its phase.
    Phase,
    /// Differences of that.
    PhaseDifference,
}

/// What a view needs to know of its series.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub history: &'a History,
    pub periods: &'a [usize],
    /// Means of phases of each period.
    pub profiles: &'a [Vec<f64>],
    /// Near the middle of the series, on the view's scale: sums of products stay small.
    pub center: f64,
}

impl Context<'_> {
    /// The mean of the phases of this row.
    pub fn profile(&self, at: usize) -> f64 {
        self.profiles.iter().map(|profile| profile[at % profile.len()]).sum()
    }
}

impl View {
    /// The value this many rows before this one, on the view's scale.
    fn value(self, context: &Context<'_>, at: usize, back: usize) -> f64 {
        at.checked_sub(back).map_or(f64::NAN, |at| context.history.on_scale(at, self.logs))
    }

    /// The value of the view at this row; NaN if it is not known.
    pub fn at(self, context: &Context<'_>, at: usize) -> f64 {
        let value = |back: usize| self.value(context, at, back);
        match self.kind {
            Kind::Value => value(0) - context.center,
            Kind::Difference => value(0) - value(1),
            Kind::SeasonalDifference(place) => value(0) - value(context.periods[place]),
            Kind::Phase => value(0) - context.profile(at) - context.center,
            Kind::PhaseDifference => {
                let before = at.checked_sub(1).map_or(f64::NAN, |at| context.profile(at));
                value(0) - value(1) - (context.profile(at) - before)
            }
        }
    }

    /// The series after the row `now` from these values of the view there.
    pub fn series(self, context: &Context<'_>, now: usize, ahead: &[f64], out: &mut Vec<f64>) {
        out.clear();
        let latest = self.value(context, now, 0);
        let mut sum = latest;
        for (step, value) in ahead.iter().enumerate() {
            let at = now + step + 1;
            let made = match self.kind {
                Kind::Value => value + context.center,
                Kind::Difference => {
                    sum += value;
                    sum
                }
                Kind::SeasonalDifference(place) => {
                    let period = context.periods[place];
                    let before =
                        if step >= period { out[step - period] } else { self.value(context, at, period) };
                    before + value
                }
                Kind::Phase => value + context.profile(at) + context.center,
                Kind::PhaseDifference => {
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
