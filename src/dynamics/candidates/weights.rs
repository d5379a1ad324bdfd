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

/// Mean squared errors of each kind of forecasts over one horizon.
#[derive(Clone, Debug, Default)]
pub struct Weights {
    losses: Vec<f64>,
    /// The same of the latest alone.
    latest: Vec<f64>,
    masses: Vec<f64>,
    /// The loss of the mixture, and its mass.
    mixed: f64,
    mass: f64,
    /// Rows whose forecasts were judged.
    rows: f64,
}

impl Weights {
    pub fn new(kinds: usize) -> Self {
        Self {
            losses: vec![0.0; kinds],
            latest: vec![0.0; kinds],
            masses: vec![0.0; kinds],
            ..Self::default()
        }
    }

    /// Takes what came of these forecasts over so many rows, one of `stride` that are judged.
    pub fn learn(
        &mut self,
        made: &[f64],
        mixed: f64,
        truth: f64,
        (rows, stride): (usize, usize),
        parameters: &Parameters,
    ) {
        let memory = parameters.memory * parameters.losses * (1.0 + 0.25 * (rows as f64 - 1.0));
        self.rows += stride as f64;
        // The first losses are those of models that knew next to nothing.
        let keep = (-(stride as f64) / memory).exp() * (1.0 - stride as f64 / (rows as f64 + self.rows));
        let error = |made: f64| (made - truth).powi(2).min(LARGEST);
        let toward = |loss: &mut f64, mass: &mut f64, made: f64| {
            *mass *= keep;
            if made.is_finite() {
                *mass += 1.0;
                *loss += (error(made) - *loss) / *mass;
            }
        };
        let all = self.losses.iter_mut().zip(&mut self.masses).zip(&mut self.latest).zip(made);
        for (((loss, mass), latest), made) in all {
            toward(loss, mass, *made);
            if made.is_finite() {
                let share = (stride as f64 / (LATEST * memory)).max(mass.recip()).min(1.0);
                *latest += share * (error(*made) - *latest);
            }
        }
        toward(&mut self.mixed, &mut self.mass, mixed);
    }

    /// Weights of these forecasts over so many rows, adding up to 1; none of one that is NaN.
    pub fn of(&self, made: &[f64], rows: usize, first: usize, parameters: &Parameters) -> Vec<f64> {
        if self.mass == 0.0 {
            return (0..made.len()).map(|kind| f64::from(u8::from(kind == first))).collect();
        }
        let young = parameters.trust * (self.rows / rows as f64).min(1.0);
        let n = (independent(self.rows, rows) + young).min(parameters.losses);
        let loss = |(kind, made): (usize, &f64)| {
            if !made.is_finite() {
                return f64::INFINITY;
            }
            let mass = self.masses[kind];
            let loss = self.losses[kind].min(FALLEN * self.latest[kind]);
            let prior = PRIOR * (-0.25 * mass).exp();
            (mass * loss + prior * self.mixed) / (mass + prior)
        };
        let losses: Vec<f64> = made.iter().enumerate().map(loss).collect();
        let least = losses.iter().copied().fold(f64::INFINITY, f64::min);
        let floor = least + 1e-12 * self.mixed + f64::MIN_POSITIVE;
        let power = -n / parameters.sharpness;
        let mut weights: Vec<f64> = losses
            .iter()
            .map(|loss| if loss.is_finite() { (loss.max(floor) / floor).powf(power) } else { 0.0 })
            .collect();
        let sum: f64 = weights.iter().sum();
        for weight in &mut weights {
            *weight /= sum;
        }
        weights
    }

    /// The root mean squared error of the mixture; infinite before one is known.
    pub fn deviation(&self) -> f64 {
        if self.mass > 0.0 { self.mixed.sqrt() } else { f64::INFINITY }
    }

    pub fn is_sound(&self, kinds: usize) -> bool {
        let lists = [&self.losses, &self.latest, &self.masses];
        lists.iter().all(|list| list.len() == kinds)
            && lists
                .into_iter()
                .flatten()
                .chain([&self.mixed, &self.mass, &self.rows])
                .all(|value| is_size(*value))
    }
}

/// Whether this is finite and not below zero.
pub fn is_size(value: f64) -> bool {
    (0.0..=f64::MAX).contains(&value)
}

impl State for Weights {
    fn pass(&mut self, pass: &mut dyn Pass) {
        pass.list(&mut self.losses);
        pass.list(&mut self.latest);
        pass.list(&mut self.masses);
        pass.number(&mut self.mixed);
        pass.number(&mut self.mass);
        pass.number(&mut self.rows);
    }
}
