//! Autoregressions of all orders up to one, and around the season, averaged by `AICc` and iterated.

use super::nested::{Solution, Sums};
use super::parameters::{LONGEST, Parameters};
use super::state::{Pass, State};
use super::view::{Context, View};

/// One view's autoregression.
#[derive(Clone, Debug, Default)]
pub struct Autoregression {
    /// Lags of the features behind the constant.
    lags: Vec<usize>,
    sums: Sums,
    coefficients: Vec<f64>,
    /// Samples at which coefficients are solved for next.
    due: usize,
}

impl Autoregression {
    /// One of orders up to `order`, and of lags around each of the periods beyond it.
    pub fn new(order: usize, periods: &[usize]) -> Self {
        let mut lags: Vec<usize> = (1..=order).collect();
        for period in periods {
            lags.extend([0, 1, 2].map(|near| period + near - 1).into_iter().filter(|lag| *lag > order));
        }
        lags.dedup();
        Self { sums: Sums::new(lags.len() + 1), lags, coefficients: Vec::new(), due: 8 }
    }

    /// Takes the value of the row `now`.
    pub fn learn(&mut self, view: View, context: &Context<'_>, now: usize, parameters: &Parameters) {
        let Some(row) = self.row(view, context, now) else { return };
        self.sums.add(&row);
        if self.sums.count >= self.due {
            self.solve();
            let count = self.sums.count;
            self.due = count + ((parameters.refit * count as f64) as usize).max(1);
        }
    }

    /// Until it is released coefficients are not solved for.
    pub fn hold(&mut self) {
        self.due = usize::MAX >> 11;
    }

    pub fn release(&mut self, parameters: &Parameters) {
        self.solve();
        let count = self.sums.count;
        self.due = (count + ((parameters.refit * count as f64) as usize).max(1)).max(8);
    }

    fn row(&self, view: View, context: &Context<'_>, now: usize) -> Option<Vec<f64>> {
        let longest = self.lags.iter().max().copied().unwrap_or(0);
        if now < longest {
            return None;
        }
        let mut row = Vec::with_capacity(self.lags.len() + 2);
        row.push(1.0);
        row.extend(self.lags.iter().map(|lag| view.at(context, now - lag)));
        row.push(view.at(context, now));
        row.iter().all(|value| value.is_finite()).then_some(row)
    }

    fn solve(&mut self) {
        let n = self.sums.count as f64;
        let plain: Vec<usize> = (0..=self.lags.len()).collect();
        let order = self.lags.iter().zip(1..).take_while(|(lag, place)| **lag == *place).count();
        let found = self.sums.solve(&plain, n);
        let seasonal = (order < self.lags.len()).then(|| {
            // The season first.
            let near = order.min(2);
            let chain: Vec<usize> =
                (0..=near).chain(order + 1..=self.lags.len()).chain(near + 1..=order).collect();
            self.sums.solve(&chain, n)
        });
        let found = match (found, seasonal.flatten()) {
            (Some(one), Some(other)) => Some(Solution::average(one, other)),
            (one, other) => one.or(other),
        };
        if let Some(found) = found {
            self.coefficients = found.coefficients;
        }
    }

    /// Values of the view over the steps after the row `now`; `None` if too little is known.
    pub fn ahead(&self, view: View, context: &Context<'_>, now: usize, steps: usize) -> Option<Vec<f64>> {
        if self.coefficients.is_empty() {
            return None;
        }
        let used: Vec<(usize, f64)> = self
            .lags
            .iter()
            .zip(&self.coefficients[1..])
            .filter(|(_, weight)| **weight != 0.0)
            .map(|(lag, weight)| (*lag, *weight))
            .collect();
        let longest = used.iter().map(|(lag, _)| *lag).max().unwrap_or(0);
        if now + 1 < longest {
            return None;
        }
        // Only the lags that are used are looked up.
        let mut values = vec![f64::NAN; longest];
        let dense = used.len() == longest;
        for (lag, _) in &used {
            // Lag k of steps 1 to k - 1 ahead are rows now + 1 - k, ... of the past.
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
        for _ in 0..steps {
            let len = values.len();
            let sum: f64 = used.iter().map(|(lag, weight)| weight * values[len - lag]).sum();
            values.push(self.coefficients[0] + sum);
        }
        let ahead = values.split_off(longest);
        ahead.iter().all(|value| value.is_finite()).then_some(ahead)
    }
}

impl State for Autoregression {
    fn pass(&mut self, pass: &mut dyn Pass) {
        pass.counts(&mut self.lags);
        self.sums.pass(pass);
        pass.list(&mut self.coefficients);
        pass.count(&mut self.due);
    }
}

impl Autoregression {
    /// Whether the parts that were read fit each other.
    pub fn is_sound(&self) -> bool {
        let width = self.lags.len() + 1;
        // One more than the longest season.
        self.lags.iter().all(|lag| (1..=LONGEST + 1).contains(lag))
            && self.sums.is_sound()
            && self.sums.size() == width
            && (self.coefficients.is_empty() || self.coefficients.len() == width)
    }
}
