//! Weights of forecasts by their recent losses.

use super::parameters::{Parameters, independent};
use super::state::{Pass, State};

/// Losses that a forecast is supposed to have had before its first, as those of the mixture; they are forgotten within ten.
const PRIOR: f64 = 2.0;

/// Largest squared error: beyond it numbers end.
const LARGEST: f64 = 1e300;

/// Share of the memory that the latest losses are averaged over. Where they have fallen by more than this factor, as those of a
/// model that has become exact, or of the one that is right after a change, they count alone.
const LATEST: f64 = 0.2;
const FALLEN: f64 = 2.0;

/// A loss larger by a factor r leaves less by `exp(-FAR n (r - 1) / sharpness)` too: beside an exact forecast nothing is left of
/// one whose errors are many times larger, however few were judged.
const FAR: f64 = 0.1;

/// How hard a row is, is the median loss of all kinds in it, but this share of the mixture's mean loss at least.
const HARD: f64 = 0.3;

/// Ways to weight: by squared errors, and by those relative to how hard the row was, so that a shock that no kind could
/// have forecast does not outweigh the rows that tell them apart.
pub const WAYS: usize = 2;

/// Mean losses of several forecasts.
#[derive(Clone, Debug, Default)]
struct Losses {
    means: Vec<f64>,
    /// The same of the latest alone.
    latest: Vec<f64>,
    masses: Vec<f64>,
}

impl Losses {
    fn new(kinds: usize) -> Self {
        Self { means: vec![0.0; kinds], latest: vec![0.0; kinds], masses: vec![0.0; kinds] }
    }

    /// Takes a loss of each, NaN of one that had no forecast.
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

    /// Weights of these forecasts, adding up to 1; none of one that is NaN. `usual`: the loss of the mixture.
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

/// What is known of the losses of each kind of forecasts over one horizon.
#[derive(Clone, Debug, Default)]
pub struct Weights {
    squared: Losses,
    relative: Losses,
    /// Squared errors of the mixture by each way.
    ways: Losses,
    /// The loss of the mixture, and its mass.
    mixed: f64,
    mass: f64,
    /// Rows whose forecasts were judged.
    rows: f64,
}

/// A mixture of forecasts.
#[derive(Clone, Debug, Default)]
pub struct Mixed {
    pub made: f64,
    /// What each way makes of the kinds.
    pub ways: Vec<f64>,
    pub weights: Vec<f64>,
}

impl Weights {
    pub fn new(kinds: usize) -> Self {
        let [squared, relative] = [0; 2].map(|_| Losses::new(kinds));
        Self { squared, relative, ways: Losses::new(WAYS), ..Self::default() }
    }

    /// Takes what came of these forecasts, of which these mixtures were made, over this many rows, one of `stride` that are
    /// judged.
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

    /// The mixture of these forecasts over this many rows, with weights that add up to 1.
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

    /// The root mean squared error of the mixture; infinite before one is known.
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

/// Whether this is finite and not below zero.
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
