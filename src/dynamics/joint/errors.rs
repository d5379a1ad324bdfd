//! Errors of the forecasts over one horizon.

use crate::error::{Error, Result};
use crate::online::forecast_scale::{ForecastScale, NOTHING};
use crate::online::quantiles::{Levels, Reaches};
use crate::online::scale_bias::ScaleBias;
use crate::persist::{Reader, Writer};
use crate::uncertainty::{is_exact, score};

/// Upper limit of sums, against overflow.
const LARGEST: f64 = 1e300;

/// For each component the deviation from the forecast, the expected [size](ForecastScale) of errors, its
/// recent [bias](ScaleBias), and the quantiles of errors in units of it; relearned where the size of
/// errors changes. Where it does not (molecules, particles), intervals are about two percent wider
/// than in units of the deviation; on the wake of a cylinder they are many times narrower.
#[derive(Clone, Debug, Default)]
pub struct Errors {
    /// Weighted sums of squared errors, with weight n of the n-th error, and sum of the weights.
    squares: Vec<f64>,
    weight: f64,
    sizes: Vec<ForecastScale>,
    /// Number of errors when those of each component last changed.
    begun: Vec<u64>,
    biases: Vec<ScaleBias>,
    levels: Levels,
    count: u64,
}

/// Issued with the forecast of a state, for each component, to be compared with the outcome.
#[derive(Clone, Debug)]
pub struct Issued {
    /// Log distance between the forecasts of several kinds; NaN if there is one only.
    pub disagreement: Vec<f64>,
    pub spreads: Vec<f64>,
    pub reaches: Vec<Reaches>,
    /// Number of errors known.
    pub count: u64,
}

impl Errors {
    /// Initial state for this number of components.
    pub fn new(width: usize) -> Self {
        Self {
            squares: vec![0.0; width],
            sizes: vec![ForecastScale::default(); width],
            begun: vec![0; width],
            biases: vec![ScaleBias::default(); width],
            levels: Levels::new(width),
            ..Self::default()
        }
    }

    /// Standard deviation about the forecast; infinite before the first error.
    pub fn deviation(&self, c: usize) -> f64 {
        if self.count > 0 { (self.squares[c] / self.weight).sqrt() } else { f64::INFINITY }
    }

    /// Scale of the interval of a forecast with this disagreement; infinite before the first error.
    pub fn spread(&self, c: usize, disagreement: f64) -> f64 {
        if self.count > 0 { self.sizes[c].expected(disagreement).exp() } else { f64::INFINITY }
    }

    /// Issued with a forecast of this disagreement in each component.
    pub fn issue(&self, disagreement: Vec<f64>) -> Issued {
        let spreads = disagreement.iter().enumerate().map(|(c, apart)| self.spread(c, *apart)).collect();
        let reaches = self.biases.iter().enumerate();
        let reaches = reaches.map(|(c, bias)| self.levels.issued(c).times(bias.factor())).collect();
        Issued { disagreement, spreads, reaches, count: self.count }
    }

    /// Quantile of the errors of a component, in spreads.
    pub fn reach(&self, c: usize, coverage: f64) -> f64 {
        self.levels.reach(c, coverage) * self.biases[c].factor()
    }

    /// Records a forecast, what was issued with it, and the outcome. `keep`: factor on the weight
    /// of past errors.
    pub fn meet(&mut self, forecast: &[f64], issued: &Issued, state: &[f64], keep: f64) {
        self.count += 1;
        let n = self.count as f64;
        let keep = keep * (n - 1.0).max(1.0) / (n + 1.0);
        self.weight = keep * self.weight + 1.0;
        for (c, (made, target)) in forecast.iter().zip(state).enumerate() {
            // Forecasts issued without an estimate of the size, or before it changed, do not update
            // the quantiles.
            let spread = issued.spreads[c];
            let known = issued.count >= self.begun[c] && spread < f64::INFINITY;
            if known {
                let score = score(*made, *target, spread * spread);
                self.levels.meet_issued(c, score, &issued.reaches[c]);
            }
            let error = (target - made).abs();
            self.squares[c] = (keep * self.squares[c] + error * error).min(LARGEST);
            // Rounded targets give many exact forecasts.
            if is_exact(*made, *target) {
                continue;
            }
            let error = error.ln().max(NOTHING);
            if known {
                self.biases[c].follow(error - spread.ln());
            }
            if self.sizes[c].follow(issued.disagreement[c], error) {
                self.begun[c] = self.count;
                self.levels.begin_again(c);
                self.biases[c] = ScaleBias::default();
            }
        }
    }

    pub fn write(&self, out: &mut Writer) {
        out.vector("errors.squares", &self.squares);
        out.vector("errors.weight", &[self.weight]);
        let sizes: Vec<f64> = self.sizes.iter().flat_map(ForecastScale::numbers).collect();
        out.matrix("errors.sizes", self.sizes.len(), ForecastScale::NUMBERS, &sizes);
        let met: Vec<u64> = self.sizes.iter().map(ForecastScale::met).collect();
        out.counts("errors.count", &[&[self.count], &met[..]].concat());
        out.counts("errors.begun", &self.begun);
        let biases: Vec<f64> = self.biases.iter().flat_map(ScaleBias::numbers).collect();
        out.matrix("errors.biases", self.biases.len(), ScaleBias::NUMBERS, &biases);
        self.levels.write("reaches", &[], out);
    }

    /// Reads what [`write`](Self::write) wrote.
    pub fn read(width: usize, from: &Reader<'_>) -> Result<Self> {
        let squares = from.vector("errors.squares", width)?;
        let weight = from.vector("errors.weight", 1)?[0];
        let counts = from.all_counts("errors.count")?;
        let (count, met) = match counts.split_first() {
            Some((count, met)) if met.len() == width => (*count, met.to_vec()),
            _ => return Err(Error::file("errors.count are not the counts of all numbers")),
        };
        let numbers = from.matrix_of("errors.sizes", width, ForecastScale::NUMBERS)?;
        let sizes = numbers.chunks_exact(ForecastScale::NUMBERS).zip(met);
        let sizes: Option<Vec<ForecastScale>> =
            sizes.map(|(numbers, met)| ForecastScale::of_numbers(numbers, met)).collect();
        let sizes = sizes.ok_or_else(|| Error::file("errors.sizes are no sizes of errors"))?;
        let begun = from.all_counts("errors.begun")?;
        if begun.len() != width || begun.iter().any(|begun| *begun > count) {
            return Err(Error::file("errors.begun are not the counts of all numbers"));
        }
        let numbers = from.matrix_of("errors.biases", width, ScaleBias::NUMBERS)?;
        let biases: Option<Vec<ScaleBias>> =
            numbers.chunks_exact(ScaleBias::NUMBERS).map(ScaleBias::of_numbers).collect();
        let biases = biases.ok_or_else(|| Error::file("errors.biases are no biases of errors"))?;
        if weight < 0.0 || (weight > 0.0) != (count > 0) || squares.iter().any(|sum| *sum < 0.0) {
            return Err(Error::file("errors.squares and errors.weight are no sums of squares"));
        }
        let (levels, _) = Levels::read("reaches", width, from)?;
        Ok(Self { squares, weight, sizes, begun, biases, levels, count })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::random::normal;

    /// Forecasts that are judged per horizon.
    const LATE: usize = 10;

    /// Share inside over the last 200 of `n` errors of this size each, and the mean width of
    /// intervals then, in sizes, over twenty streams.
    fn inside(count: u64, size: impl Fn(u64) -> f64) -> [f64; 2] {
        let [mut inside, mut width] = [0.0; 2];
        for stream in 0..20 {
            let (mut errors, mut waiting) = (Errors::new(1), VecDeque::new());
            for t in 0..count {
                let error = size(t) * normal(stream, t);
                if t >= count - 200 {
                    let reach = errors.spread(0, f64::NAN) * errors.reach(0, 0.9);
                    inside += f64::from(error.abs() <= reach) / 4000.0;
                    width += 2.0 * reach / size(t) / 4000.0;
                }
                waiting.push_back((error, errors.issue(vec![f64::NAN])));
                if waiting.len() > LATE {
                    let (error, issued) = waiting.pop_front().unwrap();
                    errors.meet(&[0.0], &issued, &[error], 1.0);
                }
            }
        }
        [inside, width]
    }

    #[test]
    fn falling_errors_that_are_known_late_are_followed() {
        let [inside, width] = inside(300, |t| (-0.03 * t as f64).exp());
        assert!((inside - 0.9).abs() < 0.02 && width < 4.5, "{inside}, {width}");
    }

    #[test]
    fn errors_that_stay_as_they_are_keep_their_intervals() {
        let [inside, width] = inside(1000, |_| 1.0);
        assert!((inside - 0.9).abs() < 0.01 && (width - 3.4).abs() < 0.1, "{inside}, {width}");
    }
}
