//! Autoregressions of all orders up to one, and around the season, averaged by `AICc` and iterated; with recent inputs as
//! further regressors if there are any (ARX models; L. Ljung, "System identification", 1999).

use std::cmp::Ordering;

use super::former::Former;
use super::nested::{Solution, Sums};
use super::numbers::{Numbers, Pass};
use super::parameters::{CandidateParams, LONGEST};
use super::residuals::Residuals;
use super::view::{Context, View};

/// Steps over which, and rows from which, a new solution is compared with the former one; it is
/// refused if its squared error is larger by this factor.
const FURTHEST: usize = 200;
const TRIALS: usize = 3;
const WORSE: f64 = 9.0;

/// Ridges tried where features are close to being dependent, as shares of their sums of squares.
const DAMPED: [f64; 4] = [1e-24, 1e-20, 1e-16, 1e-12];

/// Most regressors that are inputs, but at least one of each.
const INPUTS: usize = 24;

/// In a model file, an input and its lag are one number, above all lags of the series.
const CODE: usize = 1 << 20;

/// One view's autoregression.
#[derive(Clone, Debug, Default)]
pub struct Autoregression {
    /// Lags of the features after the constant.
    lags: Vec<usize>,
    /// Inputs among the features after these, and the rows from them to the value that they act on.
    inputs: Vec<(usize, usize)>,
    sums: Sums,
    coefficients: Vec<f64>,
    /// Number of samples at the next solution for the coefficients.
    due: usize,
    residuals: Residuals,
    /// Kept with inputs only.
    former: Former,
}

impl Autoregression {
    /// Orders up to `order`, and lags around each period beyond it; recent values of this many inputs.
    pub fn new(order: usize, periods: &[usize], inputs: usize) -> Self {
        let mut lags: Vec<usize> = (1..=order).collect();
        for period in periods {
            lags.extend([0, 1, 2].map(|near| period + near - 1).into_iter().filter(|lag| *lag > order));
        }
        lags.dedup();
        let most = (INPUTS / inputs.max(1)).clamp(1, order);
        let inputs: Vec<_> = (1..=most).flat_map(|lag| (0..inputs).map(move |input| (input, lag))).collect();
        Self {
            sums: Sums::new(lags.len() + inputs.len() + 1),
            lags,
            inputs,
            coefficients: Vec::new(),
            due: 8,
            residuals: Residuals::default(),
            former: Former::default(),
        }
    }

    /// Learns the value of the row `now`.
    pub fn learn(
        &mut self,
        view: View,
        context: &Context<'_>,
        now: usize,
        steps: usize,
        parameters: &CandidateParams,
    ) {
        let Some(mut row) = self.row(view, context, now) else { return };
        let weight = self.residuals.weight(&row, &self.coefficients);
        self.sums.add(&mut row, weight);
        if self.sums.count >= self.due {
            self.release(view, context, now, steps, parameters);
        }
    }

    /// Continues with the coefficients of another autoregression with the same lags.
    pub fn follow(&mut self, other: Self) {
        if other.lags == self.lags && other.inputs == self.inputs {
            (self.coefficients, self.former) = (other.coefficients, other.former);
        }
    }

    /// Postpones solutions for the coefficients until [`release`](Self::release).
    pub fn hold(&mut self) {
        self.due = usize::MAX >> 11;
    }

    /// Sets the number of samples at the next solution.
    pub fn plan(&mut self, parameters: &CandidateParams) {
        let count = self.sums.count;
        self.due = (count + ((parameters.refit * count as f64) as usize).max(1)).max(8);
    }

    /// Solves for the coefficients. `steps`: the number of steps over which they are iterated.
    pub fn release(
        &mut self,
        view: View,
        context: &Context<'_>,
        now: usize,
        steps: usize,
        parameters: &CandidateParams,
    ) {
        self.plan(parameters);
        if !self.inputs.is_empty() {
            self.former.keep(now, self.coefficients.clone(), steps);
        }
        let mut best = std::mem::take(&mut self.coefficients);
        let mut least = f64::NAN;
        // Solutions with equal errors one step ahead may diverge over many steps.
        let damped = if self.sums.is_close() { &DAMPED[..] } else { &[] };
        let damped = damped.iter().map(|share| self.sums.damped(*share));
        let all: Vec<Sums> = if damped.len() > 0 { damped.collect() } else { vec![self.sums.clone()] };
        let several = all.len() > 1 || !best.is_empty();
        if several && !best.is_empty() {
            self.coefficients = best;
            least = WORSE * self.iterated(view, context, now, steps);
            best = std::mem::take(&mut self.coefficients);
        }
        for sums in all {
            let Some(found) = self.solve(&sums) else { continue };
            self.coefficients = found;
            let error = if several { self.iterated(view, context, now, steps) } else { 0.0 };
            let found = std::mem::take(&mut self.coefficients);
            if best.is_empty() || error.partial_cmp(&least) != Some(Ordering::Greater) {
                (best, least) = (found, error);
            }
        }
        self.coefficients = best;
    }

    /// The squared error of forecasts over this many steps up to the row `now`.
    fn iterated(&self, view: View, context: &Context<'_>, now: usize, steps: usize) -> f64 {
        let steps = steps.min(FURTHEST);
        let error = |part: usize| {
            let from = now.checked_sub(steps + part * steps.div_ceil(TRIALS));
            let from = from.filter(|from| *from >= context.history.start(now))?;
            let ahead = self.iterate(&self.coefficients, view, context, from, steps)?;
            let errors = ahead.iter().zip(from + 1..).map(|(made, at)| (made - view.at(context, at)).powi(2));
            Some(errors.sum::<f64>())
        };
        (0..TRIALS).filter_map(error).sum()
    }

    fn row(&self, view: View, context: &Context<'_>, now: usize) -> Option<Vec<f64>> {
        let longest = self.lags.iter().max().copied().unwrap_or(0);
        if now < context.history.start(now) + longest {
            return None;
        }
        let mut row = Vec::with_capacity(self.sums.size() + 1);
        row.push(1.0);
        row.extend(self.lags.iter().map(|lag| view.at(context, now - lag)));
        row.extend(self.inputs.iter().map(|(input, lag)| view.input(context, *input, now - lag)));
        row.push(view.at(context, now));
        row.iter().all(|value| value.is_finite()).then_some(row)
    }

    fn solve(&self, sums: &Sums) -> Option<Vec<f64>> {
        let n = sums.count as f64;
        let order = self.lags.iter().zip(1..).take_while(|(lag, place)| **lag == *place).count();
        // Places of consecutive lags, each with the inputs of as many rows before.
        let near = |lags: std::ops::RangeInclusive<usize>| {
            lags.flat_map(|lag| {
                let all = self.inputs.iter().zip(self.lags.len() + 1..);
                let of_lag = all.filter(move |((_, its), _)| *its == lag).map(|(_, place)| place);
                (lag <= order).then_some(lag).into_iter().chain(of_lag)
            })
        };
        let last = order.max(self.inputs.last().map_or(0, |(_, lag)| *lag));
        let seasonal = order + 1..=self.lags.len();
        let mut chains: Vec<Vec<usize>> = Vec::new();
        if !self.inputs.is_empty() {
            chains.push([0].into_iter().chain(near(1..=last)).chain(seasonal.clone()).collect());
        }
        if order < self.lags.len() {
            // Seasonal lags first.
            let first = order.min(2);
            chains.push(
                [0].into_iter()
                    .chain(near(1..=first))
                    .chain(seasonal)
                    .chain(near(first + 1..=last))
                    .collect(),
            );
        }
        let others = chains.iter().map(|chain| Some(sums.reordered(chain).solve(n)?.restored(chain)));
        let found = [sums.solve(n)].into_iter().chain(others).flatten().reduce(Solution::average);
        Some(found?.coefficients)
    }

    /// Values of the view over the steps after the row `now`, by what was known then; `None` if too few values were.
    pub fn ahead(&self, view: View, context: &Context<'_>, now: usize, steps: usize) -> Option<Vec<f64>> {
        self.iterate(self.former.after(now, &self.coefficients), view, context, now, steps)
    }

    fn iterate(
        &self,
        coefficients: &[f64],
        view: View,
        context: &Context<'_>,
        now: usize,
        steps: usize,
    ) -> Option<Vec<f64>> {
        if coefficients.is_empty() {
            return None;
        }
        let used: Vec<(usize, f64)> = self
            .lags
            .iter()
            .zip(&coefficients[1..])
            .filter(|(_, weight)| **weight != 0.0)
            .map(|(lag, weight)| (*lag, *weight))
            .collect();
        let acting: Vec<(usize, usize, f64)> = self
            .inputs
            .iter()
            .zip(&coefficients[self.lags.len() + 1..])
            .filter(|(_, weight)| **weight != 0.0)
            .map(|((input, lag), weight)| (*input, *lag, *weight))
            .collect();
        let longest = used.iter().map(|(lag, _)| *lag).max().unwrap_or(0);
        let furthest = acting.iter().map(|(_, lag, _)| *lag).max().unwrap_or(0).max(longest);
        if now + 1 < context.history.start(now) + furthest {
            return None;
        }
        // Looks up only the lags in use.
        let mut values = vec![f64::NAN; longest];
        let dense = used.len() == longest;
        for (lag, _) in &used {
            // For step k, the lags 1 to k - 1 are forecasts and the others values of the past.
            let reach = if dense { 1 } else { steps.min(*lag) };
            for step in 0..reach {
                let back = lag - 1 - step;
                let place = longest - 1 - back;
                if values[place].is_nan() {
                    values[place] = view.at(context, now - back);
                }
            }
        }
        values.reserve(steps);
        // Consecutive lags in one pass, the others one by one.
        let order = used.iter().zip(1..).take_while(|((lag, _), place)| lag == place).count();
        let near: Vec<f64> = used[..order].iter().rev().map(|(_, weight)| *weight).collect();
        for step in 0..steps {
            let (len, at) = (values.len(), now + step + 1);
            let far: f64 = used[order..].iter().map(|(lag, weight)| weight * values[len - lag]).sum();
            let under: f64 = acting
                .iter()
                .map(|(input, lag, weight)| weight * view.input(context, *input, at - lag))
                .sum();
            values.push(coefficients[0] + far + under + product(&near, &values[len - order..]));
        }
        let ahead = values.split_off(longest);
        ahead.iter().all(|value| value.is_finite()).then_some(ahead)
    }
}

/// The scalar product, in four independent sums for instruction-level parallelism.
fn product(one: &[f64], other: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (ones, others) = (one.chunks_exact(4), other.chunks_exact(4));
    let rest: f64 = ones.remainder().iter().zip(others.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in ones.zip(others) {
        for lane in 0..4 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    rest + (sums[0] + sums[1]) + (sums[2] + sums[3])
}

impl Numbers for Autoregression {
    fn pass(&mut self, pass: &mut dyn Pass) {
        let of_inputs = self.inputs.iter().map(|(input, lag)| (input + 1) * CODE + lag);
        let mut all: Vec<usize> = self.lags.iter().copied().chain(of_inputs).collect();
        pass.counts(&mut all);
        if pass.reads() {
            let own = all.partition_point(|code| *code < CODE);
            self.inputs =
                all[own..].iter().map(|code| ((code / CODE).saturating_sub(1), code % CODE)).collect();
            all.truncate(own);
            self.lags = all;
        }
        self.sums.pass(pass);
        pass.list(&mut self.coefficients);
        pass.count(&mut self.due);
        self.residuals.pass(pass);
        self.former.pass(pass);
    }
}

impl Autoregression {
    /// Whether the parts of a model file agree.
    pub fn is_sound(&self, inputs: usize) -> bool {
        let width = self.lags.len() + self.inputs.len() + 1;
        let longest = self.lags.iter().max().copied().unwrap_or(0);
        // One more than the longest season.
        self.lags.iter().all(|lag| (1..=LONGEST + 1).contains(lag))
            && self.inputs.iter().all(|(input, lag)| *input < inputs && (1..=longest).contains(lag))
            && self.sums.is_sound()
            && self.residuals.is_sound()
            && self.sums.size() == width
            && self.former.is_sound(width)
            && (self.coefficients.is_empty() || self.coefficients.len() == width)
    }
}
