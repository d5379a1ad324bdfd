//! How many spreads errors are, level by level.

use crate::error::{Error, Result, in_range};
use crate::persist::{Reader, Writer};

/// A coverage that is followed.
struct Level {
    coverage: f64,
    /// How many deviations as many Gaussian errors stay within: where the level begins.
    reach: f64,
    /// How far one error moves the logarithm of the reach: so that Gaussian errors correct a wrong reach within some
    /// 50 rows, up to 300 of the levels that few errors are beyond.
    step: f64,
}

const LEVELS: [Level; 14] = [
    Level { coverage: 0.1, reach: 0.1257, step: 0.2011 },
    Level { coverage: 0.2, reach: 0.2533, step: 0.1022 },
    Level { coverage: 0.3, reach: 0.3853, step: 0.0701 },
    Level { coverage: 0.4, reach: 0.5244, step: 0.0548 },
    Level { coverage: 0.5, reach: 0.6745, step: 0.0467 },
    Level { coverage: 0.6, reach: 0.8416, step: 0.0424 },
    Level { coverage: 0.7, reach: 1.0364, step: 0.0414 },
    Level { coverage: 0.8, reach: 1.2816, step: 0.0445 },
    Level { coverage: 0.9, reach: 1.6449, step: 0.0589 },
    Level { coverage: 0.95, reach: 1.9600, step: 0.0873 },
    Level { coverage: 0.975, reach: 2.2414, step: 0.0985 },
    Level { coverage: 0.99, reach: 2.5758, step: 0.1342 },
    Level { coverage: 0.995, reach: 2.8070, step: 0.1639 },
    Level { coverage: 0.999, reach: 3.2905, step: 0.2850 },
];

/// Largest size of the logarithm of a score: far beyond all that is of use, so that reaches find back.
const FARTHEST: f64 = 50.0;

/// How many of its spreads the errors of a model are: the reach of each of fourteen coverages, from 0.1 to 0.999, for
/// each output.
///
/// After every row each reach goes up if the error was beyond it, and down by little if not, in proportion to how often
/// either should be: adaptive conformal inference (Gibbs and Candes, 2021) on the quantile itself (Angelopoulos, Candes
/// and Tibshirani, 2023), in the logarithm. With scores, and a first reach, within a factor of `b` of each other the
/// share of errors within the reach of a level in `n` rows is the coverage up to `(ln(b) + step) / (n step)`, whatever
/// the stream. A row costs some tens of nanoseconds for each output.
#[derive(Clone, Debug, Default)]
pub struct Calibration {
    /// Logarithms of reaches, one for each level and output.
    reaches: Vec<[f64; LEVELS.len()]>,
    /// Errors met.
    rows: u64,
}

/// What the logarithm of reaches is about linear in, between levels: exactly so for exponential and Weibull scores.
fn position(coverage: f64) -> f64 {
    (-(-coverage).ln_1p()).ln()
}

impl Calibration {
    /// That of Gaussian errors, for as many outputs.
    pub(crate) fn new(outputs: usize) -> Self {
        Self { reaches: vec![LEVELS.map(|level| level.reach.ln()); outputs], rows: 0 }
    }

    /// Refuses what is no coverage.
    pub(crate) fn check(coverage: f64) -> Result<f64> {
        in_range("coverage", coverage, coverage > 0.0 && coverage < 1.0, "above 0 and below 1")
    }

    /// How many spreads this share of the errors of an output, above 0 and below 1, is within.
    #[must_use]
    pub fn reach(&self, output: usize, coverage: f64) -> f64 {
        // A larger coverage does not reach less far.
        let mut furthest = f64::NEG_INFINITY;
        let known = self.reaches[output].map(|reach| {
            furthest = reach.max(furthest);
            furthest
        });
        let next = LEVELS.iter().position(|level| level.coverage >= coverage).unwrap_or(LEVELS.len() - 1);
        if next == 0 {
            return known[0].exp() * coverage / LEVELS[0].coverage;
        }
        let [from, to] = [next - 1, next].map(|level| position(LEVELS[level].coverage));
        let share = (position(coverage) - from) / (to - from);
        (known[next - 1] + share * (known[next] - known[next - 1])).exp()
    }

    /// The interval of a prediction with this spread, of which the whole line is that of an infinite one.
    pub(crate) fn interval(&self, output: usize, coverage: f64, made: f64, spread: f64) -> (f64, f64) {
        let reach = if spread < f64::INFINITY { spread * self.reach(output, coverage) } else { spread };
        (made - reach, made + reach)
    }

    /// Takes down a prediction with this spread and what was right; nothing, if the former is not known yet.
    pub(crate) fn meet(&mut self, output: usize, made: f64, target: f64, spread: f64) {
        if spread == f64::INFINITY {
            return;
        }
        // What is made of rounding is no error, and within any spread, also none.
        let error = (target - made).abs();
        let none = error <= 1e-12 * target.abs();
        let score = if none { -FARTHEST } else { (error / spread).ln().clamp(-FARTHEST, FARTHEST) };
        for (reach, level) in self.reaches[output].iter_mut().zip(&LEVELS) {
            let up = level.step * level.coverage;
            *reach += if score > *reach { up } else { up - level.step };
        }
        self.rows += u64::from(output == 0);
    }

    /// Adds what is known of the errors on other rows, which leave so much of the weight of those before: the mean of
    /// the reaches, by the weight of the rows.
    pub(crate) fn follow(&mut self, later: &Self, keep: f64) {
        if later.rows == 0 {
            return;
        }
        let share = later.rows as f64 / (keep * self.rows as f64 + later.rows as f64);
        for (own, later) in self.reaches.iter_mut().flatten().zip(later.reaches.iter().flatten()) {
            *own += share * (later - *own);
        }
        self.rows += later.rows;
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        if self.rows > 0 {
            let reaches: Vec<f64> = self.reaches.iter().flatten().copied().collect();
            out.matrix("calibration.reaches", self.reaches.len(), LEVELS.len(), &reaches);
            out.counts("calibration.rows", &[self.rows]);
        }
    }

    /// What [`write`](Self::write) wrote; that of Gaussian errors where it wrote nothing, as in older files.
    pub(crate) fn read(outputs: usize, from: &Reader<'_>) -> Result<Self> {
        let mut calibration = Self::new(outputs);
        if !from.has("calibration.reaches") {
            return Ok(calibration);
        }
        let reaches = from.matrix_of("calibration.reaches", outputs, LEVELS.len())?;
        if reaches.iter().any(|reach| reach.abs() > FARTHEST + 1.0) {
            return Err(Error::file("calibration.reaches are no logarithms of reaches"));
        }
        calibration.reaches.iter_mut().flatten().zip(reaches).for_each(|(to, from)| *to = from);
        [calibration.rows] = from.counts("calibration.rows")?;
        Ok(calibration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::normal;

    /// The share of errors that are inside, of rows from `first` on.
    fn inside(errors: impl Fn(u64) -> f64, rows: u64, first: u64, coverage: f64) -> f64 {
        let mut calibration = Calibration::new(1);
        let mut within = 0.0;
        for t in 0..rows {
            let error = errors(t);
            let (low, high) = calibration.interval(0, coverage, 0.0, 1.0);
            within += f64::from(t >= first && (low..=high).contains(&error));
            calibration.meet(0, 0.0, error, 1.0);
        }
        within / (rows - first) as f64
    }

    #[test]
    fn coverage_holds_whatever_errors_are_and_between_levels() {
        for coverage in [0.15, 0.5, 0.73, 0.9, 0.93, 0.98, 0.997] {
            let laws: [&dyn Fn(u64) -> f64; 4] = [
                &|t| 7.0 * normal(1, t),
                &|t| normal(2, t).powi(3),
                &|t| (t as f64 / 4000.0).exp() * normal(3, t),
                &|t| if t < 3000 { 1.0 } else { 5.0 } * normal(4, t),
            ];
            for (i, law) in laws.iter().enumerate() {
                let found = inside(law, 6000, 1000, coverage);
                assert!((found - coverage).abs() < 0.015, "law {i}: {found} at {coverage}");
            }
        }
    }

    #[test]
    fn reaches_grow_with_coverage_and_begin_as_gaussian_ones() {
        let mut calibration = Calibration::new(2);
        for (coverage, reach) in [(0.05, 0.0627), (0.683, 1.0006), (0.9, 1.6449), (0.97, 2.17), (0.9999, 3.9)]
        {
            let found = calibration.reach(1, coverage);
            assert!((found - reach).abs() < 0.02 * reach, "{found} at {coverage}");
        }
        (0..500).for_each(|t| calibration.meet(1, 0.0, normal(5, t).powi(9), 1.0));
        let reaches: Vec<f64> = (1..1000).map(|c| calibration.reach(1, f64::from(c) / 1000.0)).collect();
        assert!(reaches.is_sorted());
    }

    #[test]
    fn errors_of_nothing_and_without_bounds_are_borne() {
        let mut calibration = Calibration::new(1);
        for _ in 0..10_000 {
            calibration.meet(0, 1.0, 1.0, 0.0);
        }
        assert!(calibration.reach(0, 0.9) < 1e-9);
        for _ in 0..10_000 {
            calibration.meet(0, 0.0, 1.0, 0.0);
        }
        assert!(calibration.reach(0, 0.9) > 1e9);
        assert_eq!(calibration.interval(0, 0.9, 1.0, f64::INFINITY), (f64::NEG_INFINITY, f64::INFINITY));
    }
}
