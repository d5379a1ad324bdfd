//! Statistics of the states so far.

/// Mean, variance and range of each component so far.
#[derive(Clone, Debug, Default)]
pub struct StateStatistics {
    pub count: u64,
    pub mean: Vec<f64>,
    /// Sums of squared deviations from the mean.
    pub squares: Vec<f64>,
    pub low: Vec<f64>,
    pub high: Vec<f64>,
}

impl StateStatistics {
    pub fn add(&mut self, state: &[f64]) {
        if self.count == 0 {
            (self.mean, self.squares) = (vec![0.0; state.len()], vec![0.0; state.len()]);
            (self.low, self.high) = (state.to_vec(), state.to_vec());
        }
        self.count += 1;
        for (c, value) in state.iter().enumerate() {
            let gap = value - self.mean[c];
            self.mean[c] += gap / self.count as f64;
            self.squares[c] += gap * (value - self.mean[c]);
            (self.low[c], self.high[c]) = (self.low[c].min(*value), self.high[c].max(*value));
        }
    }

    /// Weight of a squared error in each component: inverse to its variance, but with a total in
    /// units of the states, since variances grow while a stream is young.
    pub fn weights(&self) -> Vec<f64> {
        let mean = self.squares.iter().sum::<f64>() / self.squares.len().max(1) as f64;
        let weight = |square: &f64| if *square > 0.0 { mean / square } else { 0.0 };
        self.squares.iter().map(weight).collect()
    }

    /// Limits a forecast to the range seen, the current state included, extended by half of it; a
    /// forecast that is not finite becomes the current state.
    pub fn bound(&self, forecast: &mut [f64], state: &[f64]) {
        for (c, value) in forecast.iter_mut().enumerate() {
            let (low, high) = (self.low[c].min(state[c]), self.high[c].max(state[c]));
            let margin = 0.5 * (high - low);
            *value = if value.is_nan() { state[c] } else { *value }.clamp(low - margin, high + margin);
        }
    }

    /// Whether the lists have this length.
    pub fn is_sound(&self) -> bool {
        let width = self.mean.len();
        [&self.squares, &self.low, &self.high].iter().all(|list| list.len() == width)
            && (self.count > 0) == (width > 0)
            && self.low.iter().zip(&self.high).all(|(low, high)| low <= high)
            && self.squares.iter().all(|square| *square >= 0.0)
    }
}
