//! Additive exponential smoothing with damped trend and season, for a grid of constants.
//!
//! E. Gardner, "Exponential smoothing: the state of the art", 1985; P. Winters, "Forecasting sales by exponentially weighted
//! moving averages", 1960.

use super::numbers::{Numbers, Pass, pass_all};

/// Decay of the weight of a loss per row.
const KEEP: f64 = 0.99;

/// Rows before losses count.
const FIRST: usize = 5;

/// Largest share of an error in a trend that is one of the series rather than of its latest rows.
const LASTING: f64 = 0.01;

#[derive(Clone, Copy, Debug)]
struct Constants {
    level: f64,
    trend: f64,
    damping: f64,
    season: f64,
}

/// The grid, without season first.
fn grid(seasonal: bool) -> Vec<Constants> {
    let mut out = Vec::new();
    let seasons: &[f64] = if seasonal { &[0.0, 0.05, 0.3] } else { &[0.0] };
    for (place, season) in seasons.iter().enumerate() {
        for level in [0.03, 0.1, 0.3, 0.6, 0.95] {
            out.push(Constants { level, trend: 0.0, damping: 0.0, season: *season });
            for (trend, damping) in [(0.01, 1.0), (0.05, 0.98), (0.2, 0.98), (0.2, 0.9), (0.6, 0.9)] {
                if place == 0 || trend < 0.5 {
                    out.push(Constants { level, trend, damping, season: *season });
                }
            }
        }
    }
    out
}

#[derive(Clone, Debug, Default)]
struct One {
    level: f64,
    trend: f64,
    season: Vec<f64>,
    loss: f64,
}

/// All grid points.
#[derive(Clone, Debug, Default)]
pub struct Smoothing {
    period: usize,
    all: Vec<One>,
    met: usize,
    /// Whether levels have started, and the season is known.
    begun: bool,
    seasonal: bool,
}

impl Smoothing {
    /// Grid points with a season of this many rows; without one if it is 0.
    pub fn new(period: usize) -> Self {
        Self { period, all: vec![One::default(); grid(period > 0).len()], ..Self::default() }
    }

    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Starts at this level with these means of phases.
    pub fn begin(&mut self, level: f64, profile: &[f64]) {
        self.forget();
        for (one, constants) in self.all.iter_mut().zip(grid(self.period > 0)) {
            one.level = level;
            if constants.season > 0.0 {
                one.season.clear();
                one.season.extend(profile);
                one.season.resize(self.period, 0.0);
            }
        }
        self.seasonal = profile.len() == self.period;
        self.begun = true;
    }

    /// Starts another trajectory: levels and phases are unknown, and trends that change within a hundred rows.
    pub fn forget(&mut self) {
        for (one, constants) in self.all.iter_mut().zip(grid(self.period > 0)) {
            one.level = 0.0;
            if constants.level * constants.trend > LASTING {
                one.trend = 0.0;
            }
            one.season.iter_mut().for_each(|value| *value = 0.0);
        }
        (self.met, self.begun, self.seasonal) = (0, false, false);
    }

    /// Whether there are forecasts.
    pub fn knows(&self) -> bool {
        self.met >= FIRST
    }

    /// Records the value of a row.
    pub fn learn(&mut self, at: usize, value: f64) {
        if !self.begun {
            self.begin(value, &[]);
        }
        self.met += 1;
        self.seasonal |= self.met >= 2 * self.period;
        let count = self.met;
        let period = self.period.max(1);
        for (one, constants) in self.all.iter_mut().zip(grid(self.period > 0)) {
            let phase = at % period;
            let season = one.season.get(phase).copied().unwrap_or(0.0);
            let expected = one.level + constants.damping * one.trend + season;
            let error = value - expected;
            // Without its season a series has other trends and errors.
            let whole = constants.season == 0.0 || self.seasonal;
            if count > FIRST && whole {
                one.loss = KEEP * one.loss + (1.0 - KEEP) * error * error;
            }
            // Early levels are means.
            let share = constants.level.max(1.0 / (count as f64 + 1.0));
            one.level += constants.damping * one.trend + share * error;
            if whole {
                one.trend = constants.damping * one.trend + share * constants.trend * error;
            }
            if let Some(season) = one.season.get_mut(phase) {
                *season += constants.season * (1.0 - share) * error;
            }
        }
    }

    /// Learns these values of the rows from `first` on again, from a level and means of phases. Losses are kept.
    pub fn restart(&mut self, first: usize, values: &[f64], level: f64, profile: &[f64]) {
        let losses: Vec<f64> = self.all.iter().map(|one| one.loss).collect();
        self.begin(level, profile);
        for (at, value) in (first..).zip(values) {
            self.learn(at, *value);
        }
        self.all.iter_mut().zip(losses).for_each(|(one, loss)| one.loss = loss);
    }

    /// Forecast of each grid point, `steps` after row `now`; NaN for those with a season while its phase is unknown.
    pub fn ahead(&self, now: usize, steps: usize, phased: bool) -> impl Iterator<Item = f64> + '_ {
        let phase = (now + steps) % self.period.max(1);
        self.all.iter().zip(grid(self.period > 0)).map(move |(one, constants)| {
            let damping = constants.damping;
            let sum = if damping < 1.0 {
                damping * (1.0 - damping.powi(steps as i32)) / (1.0 - damping)
            } else {
                steps as f64
            };
            let season = one.season.get(phase).copied().unwrap_or(0.0);
            let known = constants.season == 0.0 || (self.seasonal && phased);
            if known { one.level + sum * one.trend + season } else { f64::NAN }
        })
    }

    /// Grid points with the least one-step loss, without season and with.
    pub fn best(&self) -> [Option<usize>; 2] {
        [false, true].map(|seasonal| {
            let all = self.all.iter().enumerate();
            let own = all.filter(|(_, one)| one.season.is_empty() != seasonal);
            own.min_by(|a, b| a.1.loss.total_cmp(&b.1.loss)).map(|(place, _)| place)
        })
    }
}

impl Numbers for One {
    fn pass(&mut self, pass: &mut dyn Pass) {
        pass.number(&mut self.level);
        pass.number(&mut self.trend);
        pass.number(&mut self.loss);
        pass.list(&mut self.season);
    }
}

impl Numbers for Smoothing {
    fn pass(&mut self, pass: &mut dyn Pass) {
        pass.count(&mut self.period);
        pass.count(&mut self.met);
        for flag in [&mut self.begun, &mut self.seasonal] {
            let mut number = f64::from(u8::from(*flag));
            pass.number(&mut number);
            *flag = number > 0.0;
        }
        pass_all(&mut self.all, pass);
    }
}

impl Smoothing {
    /// Whether the numbers read are valid for this grid.
    pub fn is_sound(&self, period: usize) -> bool {
        let fits = |(one, constants): (&One, Constants)| {
            one.season.is_empty() || (constants.season > 0.0 && one.season.len() == self.period)
        };
        let grid = grid(self.period > 0);
        self.period == period && self.all.len() == grid.len() && self.all.iter().zip(grid).all(fits)
    }
}
