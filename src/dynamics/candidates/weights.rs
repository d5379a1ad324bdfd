//! Weights of forecasts by their recent losses.
//!
//! A forecast whose mean loss is r times the least has the weight `r^(-n / sharpness)` after n losses. Forecasts over many
//! rows overlap, so that n grows slowly; before, the relative losses at a shorter horizon count as some of its own.

use super::numbers::{Numbers, Pass};
use super::parameters::{CandidateParams, independent};

/// First losses of each forecast, equal to the mixture's; their weight vanishes within ten losses.
const FIRST: f64 = 2.0;

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

/// Bounds of a loss relative to the mixture's as a prior of a longer horizon.
const SMALLEST: f64 = 1e-9;
const WORST: f64 = 20.0;

/// Ways of weighting: by squared errors, and by squared errors relative to the difficulty of the
/// row, so that a shock that no kind could forecast does not dominate.
pub const WAYS: usize = 2;

/// Share of the mass of its losses that a kind keeps when it is another than before.
const RENEWED: f64 = 0.1;

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

    /// Takes the losses of a forecast from others, in this unit.
    fn keep(&mut self, kind: usize, from: &Self, unit: f64) {
        self.means[kind] = (from.means[kind] / unit).min(LARGEST);
        self.latest[kind] = (from.latest[kind] / unit).min(LARGEST);
        self.masses[kind] = from.masses[kind];
    }

    /// Expected loss of each forecast. `usual`: mean loss of the mixture; `prior`: losses relative to it at a shorter
    /// horizon, and the number of losses that they count as.
    fn expected(&self, usual: f64, prior: Option<(&[f64], f64)>) -> Vec<f64> {
        let expected = |kind: usize| {
            let mass = self.masses[kind];
            let loss = self.means[kind].min(FALLEN * self.latest[kind]);
            let first = FIRST * (-0.25 * mass).exp();
            let loss = (mass * loss + first * usual) / (mass + first);
            prior
                .map_or(loss, |(ratios, count)| (mass * loss + count * usual * ratios[kind]) / (mass + count))
        };
        (0..self.means.len()).map(expected).collect()
    }
}

/// Weights of these forecasts by their expected losses and prior weights, with sum 1; 0 for NaN.
fn weigh(made: &[f64], losses: &[f64], priors: &[f64], usual: f64, power: f64) -> Vec<f64> {
    let known = |(made, loss): (&f64, &f64)| if made.is_finite() { *loss } else { f64::INFINITY };
    let losses: Vec<f64> = made.iter().zip(losses).map(known).collect();
    let floor = losses.iter().copied().fold(f64::INFINITY, f64::min) + 1e-12 * usual + f64::MIN_POSITIVE;
    let weight = |(loss, prior): (&f64, &f64)| {
        let ratio = (loss / floor).max(1.0);
        prior * (-power * ratio.ln() - FAR * power.max(1.0) * (ratio - 1.0)).exp()
    };
    let mut weights: Vec<f64> = losses.iter().zip(priors).map(weight).collect();
    let sum: f64 = weights.iter().sum();
    for weight in &mut weights {
        *weight /= sum;
    }
    weights
}

/// Expected losses of each kind over one horizon relative to the mixture's, by each way of weighting, and the number of
/// losses, of forecasts that do not overlap, that they are from.
#[derive(Clone, Debug)]
pub struct Standing([Vec<f64>; WAYS], f64);

/// Rows of a horizon, and mean number of rows between two of its forecasts that are learned.
pub type Span = (usize, usize);

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
pub struct MixedForecast {
    pub made: f64,
    /// Mixtures by each way of weighting.
    pub ways: Vec<f64>,
    pub weights: Vec<f64>,
    /// Factor by which errors are expected to be larger than along the stream, where the best kinds are left out; at least 1.
    pub wider: f64,
}

impl Weights {
    pub fn new(kinds: usize) -> Self {
        let [squared, relative] = [0; 2].map(|_| Losses::new(kinds));
        Self { squared, relative, ways: Losses::new(WAYS), ..Self::default() }
    }

    /// Learns the target of these forecasts and mixtures over this many rows, one in `stride` of
    /// which is learned. The forecast with the place `spare` does not tell how difficult the row is.
    pub fn learn(
        &mut self,
        (made, spare): (&[f64], usize),
        (mixed, ways): (f64, &[f64]),
        truth: f64,
        (rows, stride): Span,
        parameters: &CandidateParams,
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
        let usual = errors.iter().enumerate().filter(|(place, _)| *place != spare);
        let mut known: Vec<f64> = usual.map(|(_, error)| *error).filter(|error| error.is_finite()).collect();
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

    /// Doubts the losses of a kind that is now another than before.
    pub fn renew(&mut self, kind: usize) {
        self.squared.masses[kind] *= RENEWED;
        self.relative.masses[kind] *= RENEWED;
    }

    /// Takes the losses of a kind from others of the same rows.
    pub fn keep(&mut self, kind: usize, from: &Self) {
        self.squared.keep(kind, &from.squared, 1.0);
        // The difficulty of the rows has changed.
        self.relative.keep(kind, &from.squared, self.mixed + f64::MIN_POSITIVE);
    }

    /// Whether there are losses of as many kinds.
    pub fn has_kinds(&self, kinds: usize) -> bool {
        let lists = [&self.squared, &self.relative].map(|own| [&own.means, &own.latest, &own.masses]);
        lists.into_iter().flatten().all(|list| list.len() == kinds)
    }

    /// Makes room for as many kinds, of which those that were not there have no losses.
    pub fn resize(&mut self, kinds: usize) {
        for losses in [&mut self.squared, &mut self.relative] {
            for list in [&mut losses.means, &mut losses.latest, &mut losses.masses] {
                list.resize(kinds, 0.0);
            }
        }
    }

    /// Expected losses of each kind, squared and relative. `shorter`: those at a shorter horizon, which has more losses that
    /// do not overlap, and after which losses over this one are expected.
    fn expected(
        &self,
        shorter: Option<&Standing>,
        span: Span,
        parameters: &CandidateParams,
    ) -> [Vec<f64>; WAYS] {
        // Losses of forecasts that overlap count in part.
        let count = parameters.prior / (independent(1.0, span.0) * span.1 as f64);
        let prior = |way: usize| shorter.map(|standing| (standing.0[way].as_slice(), count));
        [self.squared.expected(self.mixed, prior(0)), self.relative.expected(1.0, prior(1))]
    }

    /// Effective number of losses; those at the shorter horizon count as some of this one.
    fn losses(&self, shorter: Option<&Standing>, span: Span, parameters: &CandidateParams) -> f64 {
        let passed_on = shorter.map_or(0.0, |standing| standing.1.min(parameters.prior));
        independent(self.rows, span.0) + passed_on
    }

    /// How the kinds stand over this horizon; as over the shorter one before the first target.
    pub fn standing(
        &self,
        shorter: Option<Standing>,
        span: Span,
        parameters: &CandidateParams,
    ) -> Option<Standing> {
        if self.mass == 0.0 {
            return shorter;
        }
        let mut losses = self.expected(shorter.as_ref(), span, parameters);
        let units = [self.mixed + f64::MIN_POSITIVE, 1.0];
        for (losses, unit) in losses.iter_mut().zip(units) {
            for loss in losses.iter_mut() {
                *loss = (*loss / unit).clamp(SMALLEST, WORST);
            }
        }
        Some(Standing(losses, self.losses(shorter.as_ref(), span, parameters)))
    }

    /// The mixture of these forecasts, with weights of sum 1. `priors`: weights of the kinds before the first losses;
    /// `first`: the kind that forecasts before there are losses, at this horizon or the shorter one.
    pub fn mix(
        &self,
        made: &[f64],
        (priors, first): (&[f64], usize),
        shorter: Option<&Standing>,
        span: Span,
        parameters: &CandidateParams,
    ) -> MixedForecast {
        if self.mass == 0.0 && shorter.is_none() {
            let weights = (0..made.len()).map(|kind| f64::from(u8::from(kind == first))).collect();
            return MixedForecast { made: made[first], ways: vec![made[first]; WAYS], weights, wider: 1.0 };
        }
        let average = |weights: &[f64]| -> f64 {
            let pairs = weights.iter().zip(made).filter(|(weight, _)| **weight > 0.0);
            pairs.map(|(weight, made)| weight * made).sum()
        };
        let [squared, relative] = self.expected(shorter, span, parameters);
        let power = |losses: f64| losses.min(parameters.losses) / parameters.sharpness;
        let own = power(independent(self.rows, span.0));
        let power = power(self.losses(shorter, span, parameters));
        if self.mass == 0.0 {
            let weights = weigh(made, &relative, priors, 1.0, power);
            return MixedForecast {
                made: average(&weights),
                ways: vec![average(&weights); WAYS],
                weights,
                wider: 1.0,
            };
        }
        let least = |among: &dyn Fn(usize) -> bool| {
            let losses = squared.iter().enumerate().filter(|(kind, _)| among(*kind));
            losses.fold(f64::INFINITY, |least, (_, loss)| least.min(*loss))
        };
        // Kinds that were left out for long stand for other rows.
        let usual = 0.5 * self.squared.masses.iter().copied().fold(0.0, f64::max);
        let best = least(&|kind| self.squared.masses[kind] > usual);
        let available = least(&|kind| made[kind].is_finite());
        let floor = 1e-12 * self.mixed + f64::MIN_POSITIVE;
        let wider = ((available + floor) / (best + floor)).max(1.0).sqrt();
        let squared = weigh(made, &squared, priors, self.mixed, power);
        let relative = weigh(made, &relative, priors, 1.0, power);
        let ways = vec![average(&squared), average(&relative)];
        let losses = self.ways.expected(self.mixed, None);
        let shares = weigh(&ways, &losses, &[1.0; WAYS], self.mixed, own);
        let pairs = squared.iter().zip(&relative);
        let weights: Vec<f64> = pairs.map(|(one, other)| shares[0] * one + shares[1] * other).collect();
        MixedForecast { made: average(&weights), ways, weights, wider }
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

impl Numbers for Losses {
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

impl Numbers for Weights {
    fn pass(&mut self, pass: &mut dyn Pass) {
        for losses in [&mut self.squared, &mut self.relative, &mut self.ways] {
            losses.pass(pass);
        }
        pass.number(&mut self.mixed);
        pass.number(&mut self.mass);
        pass.number(&mut self.rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Span = (1, 1);
    const LONG: Span = (20, 2);

    /// Weights of two kinds after this many targets of these errors.
    fn learned(span: Span, targets: usize, errors: [f64; 2]) -> Weights {
        let mut weights = Weights::new(2);
        for t in 0..targets {
            let truth = (t as f64).sin();
            let made = errors.map(|error| truth + error);
            let mixed = 0.5 * (made[0] + made[1]);
            weights.learn((&made, 2), (mixed, &[mixed; WAYS]), truth, span, &CandidateParams::DEFAULT);
        }
        weights
    }

    fn weight_of_the_second(weights: &Weights, shorter: Option<&Standing>) -> f64 {
        weights.mix(&[1.0, 2.0], (&[1.0; 2], 0), shorter, LONG, &CandidateParams::DEFAULT).weights[1]
    }

    #[test]
    fn losses_over_a_long_horizon_are_first_expected_from_a_shorter_one() {
        let short = learned(SHORT, 200, [1.0, 0.1]);
        let standing = short.standing(None, SHORT, &CandidateParams::DEFAULT).expect("there were targets");
        let new = Weights::new(2);
        assert!(weight_of_the_second(&new, None) < 1e-12, "persistence before any loss");
        assert!(weight_of_the_second(&new, Some(&standing)) > 0.8);
        let passed_on = new
            .standing(Some(standing.clone()), LONG, &CandidateParams::DEFAULT)
            .expect("that of the shorter");
        assert!(weight_of_the_second(&new, Some(&passed_on)) > 0.8);

        // A few losses to the contrary are doubted; of the many that the memory holds, the prior stays about a quarter.
        let few = learned(LONG, 4, [0.5, 1.0]);
        let many = learned(LONG, 2000, [0.5, 1.0]);
        let shares = [few, many].map(|weights| weight_of_the_second(&weights, Some(&standing)));
        assert!(shares[0] > 0.8 && shares[1] < 0.3, "{shares:?}");
    }

    #[test]
    fn kinds_that_a_former_file_does_not_have_begin_without_losses() {
        let mut former = learned(SHORT, 20, [0.1, 1.0]);
        assert!(former.has_kinds(2) && !former.has_kinds(3));
        former.resize(4);
        assert!(former.is_sound(4) && former.squared.masses[2..] == [0.0; 2]);
        // They are expected to be as good as the mixture.
        let made = [1.0, 2.0, 3.0, f64::NAN];
        let weights = former.mix(&made, (&[1.0; 4], 0), None, SHORT, &CandidateParams::DEFAULT).weights;
        assert!(weights[0] > weights[2] && weights[2] > weights[1] && weights[3] == 0.0, "{weights:?}");
        former.squared.masses.pop();
        assert!(!former.has_kinds(4) && !former.is_sound(4));
    }

    #[test]
    fn prior_weights_vanish_with_losses() {
        let weights = |targets| {
            let learned = learned(SHORT, targets, [0.1, 1.0]);
            learned.mix(&[1.0, 2.0], (&[0.5, 2.0], 0), None, SHORT, &CandidateParams::DEFAULT).weights[1]
        };
        assert!(weights(1) > weights(10) && weights(10) > weights(200) && weights(200) < 1e-6);
    }
}
