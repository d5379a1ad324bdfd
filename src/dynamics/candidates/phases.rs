//! Half-widths that depend on the phase of a season, as where days are noisier than nights.

use super::intervals::Widths;
use super::parameters::{Parameters, independent};
use super::state::{Pass, State};
use super::weights::is_size;

/// Errors over which the mean of a phase is taken, and errors as large as those of all phases that it begins with.
const MEMORY: f64 = 20.0;
const SHRUNKEN: f64 = 3.0;

/// Decay of a difference of log likelihoods per error, its largest size, and their sum from which phases are distinguished, in
/// terms of the root of the number of forecasts that overlap.
const REMEMBER: f64 = 0.99;
const FARTHEST: f64 = 3.0;
const CLEAR: f64 = 2.0;

/// Smallest mean of a phase, and largest: those of learned errors are at most a few times that of all.
const SMALLEST: f64 = 1e-3;
const LARGEST: f64 = 1e3;

/// Longest season: a longer one repeats too rarely.
const LONGEST: usize = 512;

/// Errors by phase, and the widths of intervals in units of their means.
#[derive(Clone, Debug, Default)]
pub struct Phases {
    /// Mean absolute error of each phase, in units of that of all, and their number.
    means: Vec<f64>,
    counts: Vec<f64>,
    /// Mean absolute error of all phases, and its number of errors.
    mean: f64,
    count: f64,
    /// Sum of recent differences of log likelihoods: that of errors by phase less that of errors of one scale.
    gain: f64,
    widths: Option<Box<Widths>>,
}

impl Phases {
    /// Another trajectory begins, whose phases are not known.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// The next rows are followed, but not learned.
    pub fn without_events(&mut self, parameters: &Parameters) {
        if let Some(widths) = &mut self.widths {
            widths.without_events(parameters);
        }
    }

    /// Learns the error of a forecast of row `at`, in a series with a season of this length.
    pub fn learn(&mut self, error: f64, at: usize, season: usize, rows: usize, parameters: &Parameters) {
        if !(2..=LONGEST).contains(&season) {
            return self.forget();
        }
        if self.means.len() != season {
            let [means, counts] = [1.0, 0.0].map(|value| vec![value; season]);
            *self = Self { means, counts, widths: Some(Box::new(Widths::new())), ..Self::default() };
        }
        let size = error.abs();
        let Some(widths) = self.widths.as_deref_mut().filter(|_| size.is_finite() && size < 1e150) else {
            return;
        };
        let (place, factor) = (at % season, factor(&self.means, &self.counts, at));
        // One error decides little, however large: as after a change of level.
        let most = if self.mean > 0.0 { 2.0 * FARTHEST * self.mean } else { f64::INFINITY };
        let usual = size.min(most);
        // Laplace's distribution, whose scale is the mean absolute error.
        let gain = usual / self.mean * (1.0 - factor.recip()) - factor.ln();
        if gain.is_finite() && self.count >= season as f64 {
            self.gain = REMEMBER * self.gain + gain.clamp(-FARTHEST, FARTHEST);
        }
        let given = widths.size();
        widths.learn(error / factor, given, at, rows, parameters);
        self.count = (self.count + 1.0).min(MEMORY * season as f64);
        self.mean += (usual - self.mean) / self.count;
        if self.mean > 0.0 {
            self.counts[place] = (self.counts[place] + 1.0).min(MEMORY);
            let relative = usual / self.mean;
            self.means[place] += (relative - self.means[place]) / self.counts[place];
        }
    }

    /// Half-width of the interval of row `at`, where errors clearly depend on the phase, more than a sum of log likelihoods
    /// of other intervals.
    pub fn half_width(&self, coverage: f64, at: usize, rows: usize, other: f64) -> Option<f64> {
        let widths = self.widths.as_deref()?;
        let is_clear =
            independent(self.gain.powi(2), rows) >= CLEAR * CLEAR && self.gain > 0.0 && self.gain > other;
        is_clear.then(|| widths.half_width(coverage, rows) * factor(&self.means, &self.counts, at))
    }

    pub fn is_sound(&self) -> bool {
        let numbers = self.means.iter().chain(&self.counts).chain([&self.mean, &self.count]);
        let is_whole = self.widths.as_deref().is_none_or(Widths::is_sound);
        is_whole
            && self.means.len() == self.counts.len()
            && self.widths.is_some() != self.means.is_empty()
            && numbers.into_iter().all(|value| is_size(*value))
            && self.means.iter().all(|mean| *mean <= LARGEST)
            && self.gain.abs() <= FARTHEST / (1.0 - REMEMBER) + 1.0
    }
}

/// Size of errors of this row's phase in units of the mean of all phases.
fn factor(means: &[f64], counts: &[f64], at: usize) -> f64 {
    // Scales are shrunk by their logarithms: a mean that leaves quiet phases as they are leaves the others too narrow.
    let shrunken = |(mean, count): (&f64, &f64)| mean.max(SMALLEST).powf(count / (count + SHRUNKEN));
    let sum: f64 = means.iter().zip(counts).map(shrunken).sum();
    let place = at % means.len();
    shrunken((&means[place], &counts[place])) * means.len() as f64 / sum
}

impl State for Phases {
    fn pass(&mut self, pass: &mut dyn Pass) {
        pass.list(&mut self.means);
        pass.list(&mut self.counts);
        pass.number(&mut self.mean);
        pass.number(&mut self.count);
        pass.number(&mut self.gain);
        let mut there = usize::from(self.widths.is_some());
        pass.count(&mut there);
        if pass.reads() {
            self.widths = (there > 0).then(Box::default);
        }
        if let Some(widths) = &mut self.widths {
            widths.pass(pass);
            widths.pass_more(pass);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEASON: usize = 6;

    /// Half-widths by phase after errors of these sizes, of which the one in row `outlier` is far larger.
    fn half_widths(sizes: [f64; SEASON], outlier: Option<usize>) -> [Option<f64>; SEASON] {
        let mut phases = Phases::default();
        for t in 0..60 * SEASON {
            let error = sizes[t % SEASON] * (0.7 * t as f64).sin();
            let error = if outlier == Some(t) { 1e3 } else { error };
            phases.learn(error, t, SEASON, 1, &Parameters::DEFAULT);
        }
        assert!(phases.is_sound());
        std::array::from_fn(|at| phases.half_width(0.9, at, 1, 0.0))
    }

    #[test]
    fn intervals_follow_the_phase_only_where_errors_clearly_depend_on_it() {
        let of_phases = [0.2, 0.2, 1.0, 1.0, 1.0, 1.0];
        let widths = half_widths(of_phases, None).map(|width| width.expect("errors depend on the phase"));
        assert!(widths[..2].iter().all(|width| (0.15..0.4).contains(width)), "{widths:?}");
        assert!(widths[2..].iter().all(|width| (0.8..1.3).contains(width)), "{widths:?}");
        assert_eq!(half_widths([1.0; SEASON], None), [None; SEASON]);
    }

    #[test]
    fn one_large_error_does_not_tell_phases_apart() {
        assert_eq!(half_widths([1.0; SEASON], Some(30 * SEASON)), [None; SEASON]);
    }

    #[test]
    fn another_season_and_another_trajectory_begin_without_errors() {
        let mut phases = Phases::default();
        for (season, first) in [(SEASON, 0), (4, 100)] {
            for t in first..first + 50 {
                phases.learn(1.0, t, season, 1, &Parameters::DEFAULT);
            }
            assert_eq!((phases.means.len(), phases.count), (season, 50.0));
        }
        phases.learn(1.0, 150, 0, 1, &Parameters::DEFAULT);
        assert!(phases.means.is_empty() && phases.is_sound());
    }
}
