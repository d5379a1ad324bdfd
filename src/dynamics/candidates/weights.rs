//! Weights of forecasts by their recent losses.

use super::parameters::{Parameters, independent};
use super::state::{Pass, State};

/// Prior losses of each forecast, equal to the mixture's; their weight vanishes within ten losses.
const PRIOR: f64 = 2.0;

/// Largest squared error, against overflow.
const LARGEST: f64 = 1e300;

/// Share of the memory over which the latest losses are averaged. If they have fallen by more than
/// this factor, as for a model that has become exact, they count alone.
const LATEST: f64 = 0.2;
const FALLEN: f64 = 2.0;

/// A loss larger by a factor r also reduces the weight by `exp(-FAR n (r - 1) / sharpness)`, so
/// that forecasts with errors many times larger than an exact one have no weight, even after few
/// losses.
const FAR: f64 = 0.1;

/// Difficulty of a row: median loss of all kinds, and at least this share of the mixture's mean
/// loss.
const HARD: f64 = 0.3;

/// Ways of weighting: by squared errors, and by squared errors relative to the difficulty of the
/// row, so that a shock that no kind could forecast does not dominate.
pub const WAYS: usize = 2;

/// Mean losses of several forecasts.
#[derive(Clone, Debug, Default)]
struct Losses {
    means: Vec<f64>,
    /// Means of the latest losses.
    latest: Vec<f64>,
    masses: Vec<f64>,
}

impl Losses {
    fn new(kinds: usize) -> Self {
        Self { means: vec![0.0; kinds], latest: vec![0.0; kinds], masses: vec![0.0; kinds] }
    }

    /// Learns a loss of each forecast, NaN if there was none.
    fn learn(&mut self, losses: &[f64], keep: f64, share: f64) {
        let all = self.means.iter_mut().zip(&mut self.masses).zip(&mut self.latest).zip(losses);
        for (((mean, mass), latest), loss) in all {
            *mass *= keep;
            if loss.is_finite() {
                *mass += 1.0;
                *mean += (loss - *mean) / *mass;
                *latest += share.max(mass.recip()).min(1.0) * (loss - *latest);
            }
        }
    }

    /// Weights of these forecasts, with sum 1; 0 for NaN. `usual`: mean loss of the mixture.
    fn weights(&self, made: &[f64], usual: f64, power: f64) -> Vec<f64> {
        let loss = |(kind, made): (usize, &f64)| {
            if !made.is_finite() {
                return f64::INFINITY;
            }
            let mass = self.masses[kind];
            let loss = self.means[kind].min(FALLEN * self.latest[kind]);
            let prior = PRIOR * (-0.25 * mass).exp();
            (mass * loss + prior * usual) / (mass + prior)
        };
        let losses: Vec<f64> = made.iter().enumerate().map(loss).collect();
        let floor = losses.iter().copied().fold(f64::INFINITY, f64::min) + 1e-12 * usual + f64::MIN_POSITIVE;
        let weight = |loss: &f64| {
            let ratio = (loss / floor).max(1.0);
            (-power * ratio.ln() - FAR * power.max(1.0) * (ratio - 1.0)).exp()
        };
        let mut weights: Vec<f64> = losses.iter().map(weight).collect();
        let sum: f64 = weights.iter().sum();
        for weight in &mut weights {
            *weight /= sum;
        }
        weights
    }
}

/// Losses of each kind of forecast over one horizon.
#[derive(Clone, Debug, Default)]
pub struct Weights {
    squared: Losses,
    relative: Losses,
    /// Squared errors of the mixture by each way of weighting.
    ways: Losses,
    /// Mean loss of the mixture, and its effective number of losses.
    mixed: f64,
    mass: f64,
    /// Rows covered by forecasts whose errors were learned.
    rows: f64,
}

/// A mixture of forecasts.
#[derive(Clone, Debug, Default)]
pub struct Mixed {
    pub made: f64,
    /// Mixtures by each way of weighting.
    pub ways: Vec<f64>,
    pub weights: Vec<f64>,
}

impl Weights {
    pub fn new(kinds: usize) -> Self {
        let [squared, relative] = [0; 2].map(|_| Losses::new(kinds));
        Self { squared, relative, ways: Losses::new(WAYS), ..Self::default() }
    }

    /// Learns the target of these forecasts and mixtures over this many rows, one in `stride` of
    /// which is learned.
    pub fn learn(
        &mut self,
        made: &[f64],
        (mixed, ways): (f64, &[f64]),
        truth: f64,
        (rows, stride): (usize, usize),
        parameters: &Parameters,
    ) {
        let memory = parameters.memory * parameters.losses * (1.0 + 0.25 * (rows as f64 - 1.0));
        let stride = stride as f64;
        self.rows += stride;
        // The first losses are those of untrained models.
        let keep = (-stride / memory).exp() * (1.0 - stride / (rows as f64 + self.rows));
        let share = stride / (LATEST * memory);
        let squared = |made: &f64| {
            if made.is_finite() { (made - truth).powi(2).min(LARGEST) } else { f64::NAN }
        };
        let mut errors: Vec<f64> = made.iter().map(squared).collect();
        self.squared.learn(&errors, keep, share);
        let mut known: Vec<f64> = errors.iter().copied().filter(|error| error.is_finite()).collect();
        known.sort_by(f64::total_cmp);
        let median = known.get(known.len() / 2).copied().unwrap_or(0.0);
        let hard = median.max(HARD * self.mixed) + f64::MIN_POSITIVE;
        for error in &mut errors {
            *error /= hard;
        }
        self.relative.learn(&errors, keep, share);
        let errors: Vec<f64> = ways.iter().map(squared).collect();
        self.ways.learn(&errors, keep, share);
        if mixed.is_finite() {
            self.mass = self.mass * keep + 1.0;
            self.mixed += (squared(&mixed) - self.mixed) / self.mass;
        }
    }

    /// The mixture of these forecasts over this many rows, with weights of sum 1.
    pub fn mix(&self, made: &[f64], rows: usize, first: usize, parameters: &Parameters) -> Mixed {
        if self.mass == 0.0 {
            let weights = (0..made.len()).map(|kind| f64::from(u8::from(kind == first))).collect();
            return Mixed { made: made[first], ways: vec![made[first]; WAYS], weights };
        }
        let young = parameters.trust * (self.rows / rows as f64).min(1.0);
        let n = (independent(self.rows, rows) + young).min(parameters.losses);
        let power = n / parameters.sharpness;
        let average = |weights: &[f64]| -> f64 {
            let pairs = weights.iter().zip(made).filter(|(weight, _)| **weight > 0.0);
            pairs.map(|(weight, made)| weight * made).sum()
        };
        let squared = self.squared.weights(made, self.mixed, power);
        let relative = self.relative.weights(made, 1.0, power);
        let ways = vec![average(&squared), average(&relative)];
        let shares = self.ways.weights(&ways, self.mixed, power);
        let pairs = squared.iter().zip(&relative);
        let weights: Vec<f64> = pairs.map(|(one, other)| shares[0] * one + shares[1] * other).collect();
        Mixed { made: average(&weights), ways, weights }
    }

    /// Root mean squared error of the mixture; infinite before the first target.
    pub fn deviation(&self) -> f64 {
        if self.mass > 0.0 { self.mixed.sqrt() } else { f64::INFINITY }
    }

    pub fn is_sound(&self, kinds: usize) -> bool {
        let fits = |losses: &Losses, kinds: usize| {
            let lists = [&losses.means, &losses.latest, &losses.masses];
            lists.iter().all(|list| list.len() == kinds)
                && lists.into_iter().flatten().all(|value| is_size(*value))
        };
        fits(&self.squared, kinds)
            && fits(&self.relative, kinds)
            && fits(&self.ways, WAYS)
            && [self.mixed, self.mass, self.rows].into_iter().all(is_size)
    }
}

impl State for Losses {
    fn pass(&mut self, pass: &mut dyn Pass) {
        pass.list(&mut self.means);
        pass.list(&mut self.latest);
        pass.list(&mut self.masses);
    }
}

/// Whether a value is finite and not negative.
pub fn is_size(value: f64) -> bool {
    (0.0..=f64::MAX).contains(&value)
}

impl State for Weights {
    fn pass(&mut self, pass: &mut dyn Pass) {
        for losses in [&mut self.squared, &mut self.relative, &mut self.ways] {
            losses.pass(pass);
        }
        pass.number(&mut self.mixed);
        pass.number(&mut self.mass);
        pass.number(&mut self.rows);
    }
}
