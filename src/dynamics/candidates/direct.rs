//! Direct least squares: one regression for each horizon.

use super::former::Former;
use super::history::History;
use super::nested::Sums;
use super::numbers::{Numbers, Pass};
use super::parameters::{CandidateParams, independent};
use super::residuals::Residuals;

/// The regression of one horizon and component.
#[derive(Clone, Debug, Default)]
pub struct Direct {
    sums: Sums,
    coefficients: Vec<f64>,
    due: usize,
    residuals: Residuals,
    /// Kept with inputs only.
    former: Former,
}

/// The values that features are computed from.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// All components.
    pub histories: &'a [History],
    /// Index of the component that is forecast.
    pub own: usize,
    pub periods: &'a [usize],
    pub logs: bool,
    /// Whether only the latest row and the inputs from then on are features: for histories of few rows.
    pub brief: bool,
    pub centers: &'a [f64],
    pub recent: usize,
    /// Control inputs, known beyond the row of a forecast.
    pub inputs: &'a [History],
}

/// Ridge where features are close to being dependent, as a share of their sums of squares.
const DAMPED: f64 = 1e-20;

/// Seasons before the target whose values are features.
const SEASONS: usize = 3;

/// Values of all inputs just before the target that are features, most of one, and of one before the forecast's row; means
/// of all inputs.
const INPUTS: usize = 12;
const MEANS: usize = 48;
const NEAREST: usize = 6;
const BEFORE: usize = 2;

impl Sources<'_> {
    fn value(&self, component: usize, at: usize, back: usize) -> f64 {
        self.histories[component].before(at, back, self.logs) - self.centers[component]
    }

    /// Features of a forecast `rows` after the row `from`, in order of importance.
    fn features(&self, from: usize, rows: usize, out: &mut Vec<f64>) {
        out.clear();
        out.push(1.0);
        out.push(self.value(self.own, from, 0));
        self.push_inputs(from, rows, out);
        for (place, period) in self.periods.iter().enumerate() {
            let first = rows.div_ceil(*period);
            let seasons = if place == 0 { SEASONS } else { 1 };
            for season in first..first + seasons {
                out.push(self.value(self.own, from, season * period - rows));
            }
            out.push(self.value(self.own, from, *period));
        }
        for back in 1..self.recent {
            out.push(self.value(self.own, from, back));
        }
        if !self.logs {
            for component in (0..self.histories.len()).filter(|component| *component != self.own) {
                out.push(self.value(component, from, 0));
            }
        }
    }

    /// Number of values of an input just before the target, of means over as many rows before these, twice as many before
    /// those, and so on, the last one up to the forecast's row, and of values before it.
    fn of_input(&self, rows: usize) -> [usize; 3] {
        let nearest = (INPUTS / self.inputs.len().max(1)).clamp(1, NEAREST);
        let doublings = rows.div_ceil(nearest).next_power_of_two().ilog2() as usize;
        let means = doublings.min((MEANS / self.inputs.len().max(1)).max(1));
        if self.brief { [nearest.min(rows), means, 0] } else { [nearest, means, BEFORE] }
    }

    fn push_inputs(&self, from: usize, rows: usize, out: &mut Vec<f64>) {
        let [nearest, means, before] = self.of_input(rows);
        let target = from + rows;
        for input in self.inputs {
            let value =
                |back: usize| target.checked_sub(back).map_or(f64::NAN, |at| input.before(at, 0, false));
            out.extend((1..=nearest).map(value));
            let mut covered = nearest;
            for mean in 1..=means {
                let next = if mean == means { rows } else { 2 * covered };
                out.push((covered + 1..=next).map(value).sum::<f64>() / (next - covered) as f64);
                covered = next;
            }
            out.extend((covered + 1..=covered + before).map(value));
        }
    }

    fn size(&self, rows: usize) -> usize {
        let seasons = |place: usize| if place == 0 { SEASONS + 1 } else { 2 };
        let seasonal: usize = (0..self.periods.len()).map(seasons).sum();
        let driven = self.inputs.len() * self.of_input(rows).iter().sum::<usize>();
        1 + self.recent + driven + seasonal + if self.logs { 0 } else { self.histories.len() - 1 }
    }
}

impl Direct {
    pub fn new(sources: &Sources<'_>, rows: usize) -> Self {
        Self {
            sums: Sums::new(sources.size(rows)),
            coefficients: Vec::new(),
            due: 6,
            residuals: Residuals::default(),
            former: Former::default(),
        }
    }

    /// Learns the value of the row `now`, forecast `rows` before it.
    pub fn learn(&mut self, sources: &Sources<'_>, now: usize, rows: usize, parameters: &CandidateParams) {
        let history = &sources.histories[sources.own];
        let first = history.start(now).max(history.dropped);
        let Some(from) = now.checked_sub(rows).filter(|from| *from >= first) else { return };
        let mut row = Vec::with_capacity(self.sums.size() + 1);
        sources.features(from, rows, &mut row);
        row.push(sources.value(sources.own, now, 0));
        if row.len() != self.sums.size() + 1 || !row.iter().all(|value| value.is_finite()) {
            return;
        }
        let weight = self.residuals.weight(&row, &self.coefficients);
        self.sums.add(&mut row, weight);
        if self.sums.count >= self.due {
            self.release(now, rows, parameters, !sources.inputs.is_empty());
        }
    }

    /// Postpones solutions for the coefficients until [`release`](Self::release).
    pub fn hold(&mut self) {
        self.due = usize::MAX >> 11;
    }

    /// Continues after another regression with the same features.
    pub fn follow(&mut self, other: Self) {
        if other.sums.size() == self.sums.size() {
            (self.coefficients, self.former) = (other.coefficients, other.former);
        }
    }

    /// Solves for the coefficients at row `now`. `keep`: whether the former ones are kept.
    pub fn release(&mut self, now: usize, rows: usize, parameters: &CandidateParams, keep: bool) {
        if keep {
            self.former.keep(now, self.coefficients.clone(), rows);
        }
        let count = self.sums.count;
        let damped = self.sums.is_close().then(|| self.sums.damped(DAMPED));
        let sums = damped.as_ref().unwrap_or(&self.sums);
        if let Some(found) = sums.solve(independent(count as f64, rows)) {
            self.coefficients = found.coefficients;
        }
        self.due = (count + ((parameters.refit * count as f64) as usize).max(1)).max(6);
    }

    /// Forecast from the row `now`; NaN if too few values are known.
    pub fn ahead(&self, sources: &Sources<'_>, now: usize, rows: usize) -> f64 {
        let coefficients = self.former.after(now, &self.coefficients);
        if coefficients.len() != sources.size(rows) {
            return f64::NAN;
        }
        let mut row = Vec::with_capacity(coefficients.len());
        sources.features(now, rows, &mut row);
        let products = row.iter().zip(coefficients);
        let used = products.filter(|(_, weight)| **weight != 0.0).map(|(value, weight)| value * weight);
        let made = used.sum::<f64>() + sources.centers[sources.own];
        if sources.logs { made.exp() } else { made }
    }
}

impl Numbers for Direct {
    fn pass(&mut self, pass: &mut dyn Pass) {
        self.sums.pass(pass);
        pass.list(&mut self.coefficients);
        pass.count(&mut self.due);
        self.residuals.pass(pass);
        self.former.pass(pass);
    }
}

impl Direct {
    pub fn is_sound(&self) -> bool {
        self.sums.is_sound()
            && self.residuals.is_sound()
            && self.former.is_sound(self.sums.size())
            && (self.coefficients.is_empty() || self.coefficients.len() == self.sums.size())
    }
}
