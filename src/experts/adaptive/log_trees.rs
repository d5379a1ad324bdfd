//! Boosted trees on the logarithms of targets that are positive and skewed: prices, counts, durations.
//!
//! Squared errors of the logarithm are relative errors, so that small targets count as much as large ones. The mean of a target
//! is more than the exponential of its mean logarithm, by a factor that is estimated from earlier predictions (Duan, "Smearing
//! estimate: a nonparametric retransformation method", 1983, with prequential predictions in the place of the fitted ones).

use crate::error::{Error, Result};
use crate::persist::{Reader, Writer};
use crate::trees::{Boosted, Fitting, Gradual};

/// Experts: as many stages of boosted trees.
pub(super) const STAGES: usize = 3;

/// Rows without error that the factor of an expert has seen before the first.
const PRIOR_ROWS: f64 = 30.0;

/// The weight of a past row in that factor falls by this factor each row.
const MEMORY: f64 = 0.9997;

/// One target in this many, or a single one, may be negative: it counts as zero.
const RARE: usize = 400;

/// Bounds of logarithms that are not known.
const UNBOUNDED: [f64; 2] = [-f64::MAX, f64::MAX];

/// Largest logarithm of a target over the mean.
const LARGEST_LOGARITHM: f64 = 20.0;

/// A target of which there are logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LogTarget {
    pub output: usize,
    /// What is added before: 0, or the least positive one where some are zero.
    pub offset: f64,
    /// Its mean, with the offset.
    pub mean: f64,
    /// The least and the largest logarithm that trees are fitted to, and learn.
    pub bounds: [f64; 2],
}

impl LogTarget {
    /// How to take logarithms of targets, if that makes them less skewed. The skewness has to be at least `skewness`, and half
    /// of it gone, or some of it where there were logarithms before. `tame` winsorizes.
    pub fn new(
        output: usize,
        targets: &[f64],
        skewness: f64,
        before: bool,
        tame: impl Fn(Vec<f64>) -> Vec<f64>,
    ) -> Option<Self> {
        let least = targets.iter().copied().fold(f64::INFINITY, f64::min);
        let negative = targets.iter().filter(|y| **y < 0.0).count();
        if negative > (targets.len() / RARE).max(1) {
            return None;
        }
        let positive = || targets.iter().copied().filter(|y| *y > 0.0);
        let offset = if least > 0.0 { 0.0 } else { positive().fold(f64::INFINITY, f64::min) };
        if !offset.is_finite() {
            return None;
        }
        let plain = tame(targets.to_vec());
        let before_logarithms = skewness_of(&plain);
        let mean = plain.iter().map(|y| y / plain.len() as f64).sum::<f64>() + offset;
        let target = Self { output, offset, mean, bounds: UNBOUNDED };
        let of_logarithms = skewness_of(&tame(targets.iter().map(|y| target.logarithm(*y)).collect())).abs();
        let most = if before { before_logarithms } else { before_logarithms / 2.0 };
        (before_logarithms >= skewness && of_logarithms <= most && mean.is_finite()).then_some(target)
    }

    /// That of a target over the mean; of a negative one, that of zero.
    pub fn logarithm(&self, y: f64) -> f64 {
        ((y.max(0.0) + self.offset) / self.mean).max(f64::MIN_POSITIVE).ln()
    }

    /// The target of a logarithm, with the offset.
    fn exponential(&self, logarithm: f64) -> f64 {
        self.mean * logarithm.min(LARGEST_LOGARITHM).exp()
    }
}

/// Third central moment over the cube of the standard deviation; NaN for constants.
fn skewness_of(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let unit = values.iter().fold(f64::MIN_POSITIVE, |most, value| value.abs().max(most));
    let mean = values.iter().map(|value| value / unit).sum::<f64>() / n;
    let moment = |power| values.iter().map(|value| (value / unit - mean).powi(power)).sum::<f64>() / n;
    moment(3) / moment(2).powf(1.5)
}

/// An output with experts, and sums over past rows, for each of them, of the target with its offset and of the exponential.
#[derive(Clone, Debug)]
struct Smeared {
    target: LogTarget,
    sums: [[f64; 2]; STAGES],
}

impl Smeared {
    fn new(target: LogTarget) -> Self {
        let sum = PRIOR_ROWS * target.mean;
        Self { target, sums: [[sum; 2]; STAGES] }
    }

    fn factor(&self, stage: usize) -> f64 {
        let [targets, exponentials] = self.sums[stage];
        targets / exponentials
    }
}

/// Experts on logarithms, of the outputs that have them.
#[derive(Clone, Debug, Default)]
pub(super) struct LogTrees {
    outputs: Vec<Smeared>,
    /// One output for each of these.
    trees: Option<Boosted>,
    fitting: Option<(Vec<LogTarget>, Gradual<Fitting>)>,
    /// Memory for those of a row.
    logarithms: Vec<f64>,
}

impl LogTrees {
    /// Whether there are any.
    pub fn are_there(&self) -> bool {
        self.trees.is_some()
    }

    /// Whether an output has them.
    pub fn have(&self, output: usize) -> bool {
        self.outputs.iter().any(|own| own.target.output == output)
    }

    /// Whether some are being fitted.
    pub fn are_fitted(&self) -> bool {
        self.fitting.is_some()
    }

    pub fn fit(&mut self, targets: Vec<LogTarget>, fitting: Gradual<Fitting>) {
        self.fitting = Some((targets, fitting));
    }

    /// Does a row's part of the fitting. If this was the last, returns those that were there before, without their trees.
    pub fn advance(&mut self) -> Option<Self> {
        let (targets, fitting) = self.fitting.take()?;
        let mut fitting = Some(fitting);
        let Some(made) = Gradual::advance(&mut fitting) else {
            self.fitting = fitting.map(|fitting| (targets, fitting));
            return None;
        };
        let before = std::mem::take(self);
        let known = |target: LogTarget| {
            let same = |own: &&Smeared| {
                own.target.output == target.output && own.target.offset.to_bits() == target.offset.to_bits()
            };
            let sums = before.outputs.iter().find(same).map(|own| own.sums);
            sums.map_or_else(|| Smeared::new(target), |sums| Smeared { target, sums })
        };
        let outputs = targets.into_iter().map(known).collect();
        *self = Self { outputs, trees: Some(made), ..Self::default() };
        Some(Self { trees: None, ..before })
    }

    /// Numbers of [`predict_into`](Self::predict_into)'s memory.
    pub fn length(&self) -> usize {
        STAGES * self.outputs.len()
    }

    /// Predicts a row: output, stage and value go to `say`.
    pub fn predict_into(
        &self,
        x: &[f64],
        rounds: &[usize],
        memory: &mut [f64],
        mut say: impl FnMut(usize, usize, f64),
    ) {
        let Some(trees) = &self.trees else { return };
        trees.predict_into(x, rounds, memory);
        for (stage, values) in memory.chunks_exact(self.outputs.len()).enumerate() {
            for (own, value) in self.outputs.iter().zip(values) {
                let exponential = own.target.exponential(*value);
                say(own.target.output, stage, own.factor(stage) * exponential - own.target.offset);
            }
        }
    }

    /// Learns the factors of an output from its predictions.
    pub fn learn(&mut self, output: usize, predicted: &[f64], target: f64, weight: f64) {
        let Some(own) = self.outputs.iter_mut().find(|own| own.target.output == output) else { return };
        for (stage, made) in predicted.iter().enumerate() {
            let exponential = (made + own.target.offset) / own.factor(stage);
            let [targets, exponentials] = &mut own.sums[stage];
            let next = [
                MEMORY * *targets + weight * (target + own.target.offset).max(0.0),
                MEMORY * *exponentials + weight * exponential,
            ];
            if next.iter().all(|sum| *sum > 0.0 && sum.is_finite()) {
                [*targets, *exponentials] = next;
            }
        }
    }
}

impl LogTrees {
    /// Its trees learn a row, within the bounds of the logarithms that they were fitted to: that of zero is far beyond all.
    pub fn learn_row(
        &mut self,
        x: &[f64],
        targets: &[f64],
        weight: f64,
        how: (f64, f64),
        path: &mut Vec<usize>,
    ) {
        if let Some(trees) = &mut self.trees {
            let logarithm = |own: &Smeared| {
                let [low, high] = own.target.bounds;
                own.target.logarithm(targets[own.target.output]).clamp(low, high)
            };
            self.logarithms.clear();
            self.logarithms.extend(self.outputs.iter().map(logarithm));
            trees.learn(x, &self.logarithms, weight, how, path);
        }
    }

    pub fn write(&self, out: &mut Writer) {
        if let Some(trees) = &self.trees {
            write_targets("trees.logs", self.outputs.iter().map(|own| own.target), out);
            let sums = self.outputs.iter().flat_map(|own| own.sums).flatten();
            out.vector("trees.logs.sums", &sums.collect::<Vec<_>>());
            trees.write("trees.logs.boosted", out);
        }
        if let Some((targets, fitting)) = &self.fitting {
            let (boosted, rows) = fitting.rest();
            out.counts("trees.logs.fitting", &[rows]);
            write_targets("trees.logs.fitting", targets.iter().copied(), out);
            boosted.write("trees.logs.fitting", out);
        }
    }

    pub fn read((features, outputs): (usize, usize), from: &Reader<'_>) -> Result<Self> {
        let mut new = Self::default();
        if from.has("trees.logs.outputs") {
            let targets = read_targets("trees.logs", outputs, from)?;
            new.trees = Some(Boosted::read("trees.logs.boosted", (features, targets.len()), from)?);
            let sums = from.vector("trees.logs.sums", 2 * STAGES * targets.len())?;
            if !sums.iter().all(|sum| *sum > 0.0) {
                return Err(Error::file("trees.logs.sums are not positive"));
            }
            new.outputs = targets.into_iter().map(Smeared::new).collect();
            let own = new.outputs.iter_mut().flat_map(|own| own.sums.iter_mut().flatten());
            own.zip(sums).for_each(|(own, sum)| *own = sum);
        }
        if from.has("trees.logs.fitting") {
            let [rows] = from.counts("trees.logs.fitting")?;
            if rows == 0 {
                return Err(Error::file("trees.logs.fitting are none that are made after its rows"));
            }
            let targets = read_targets("trees.logs.fitting", outputs, from)?;
            let boosted = Boosted::read("trees.logs.fitting", (features, targets.len()), from)?;
            new.fitting = Some((targets, Gradual::Made(boosted, rows)));
        }
        Ok(new)
    }
}

fn write_targets(name: &str, targets: impl Iterator<Item = LogTarget> + Clone, out: &mut Writer) {
    out.counts(&format!("{name}.outputs"), &targets.clone().map(|own| own.output as u64).collect::<Vec<_>>());
    let bounds = targets.clone().flat_map(|own| own.bounds);
    let numbers = targets.flat_map(|own| [own.offset, own.mean]);
    out.vector(&format!("{name}.targets"), &numbers.collect::<Vec<_>>());
    out.vector(&format!("{name}.bounds"), &bounds.collect::<Vec<_>>());
}

fn read_targets(name: &str, outputs: usize, from: &Reader<'_>) -> Result<Vec<LogTarget>> {
    let own = from.all_counts(&format!("{name}.outputs"))?;
    let numbers = from.vector(&format!("{name}.targets"), 2 * own.len())?;
    // Trees of former files have none, and learn no further rows.
    let bounds = format!("{name}.bounds");
    let bounds =
        if from.has(&bounds) { from.vector(&bounds, 2 * own.len())? } else { UNBOUNDED.repeat(own.len()) };
    let is_rising = own.windows(2).all(|pair| pair[0] < pair[1]);
    let sound = is_rising
        && own.last().is_some_and(|last| *last < outputs as u64)
        && numbers.chunks_exact(2).all(|pair| pair[0] >= 0.0 && pair[1] > 0.0)
        && bounds.chunks_exact(2).all(|pair| pair[0] <= pair[1]);
    if !sound {
        return Err(Error::file(format!("{name} are no logarithms of these targets")));
    }
    let target = |((output, numbers), bounds): ((&u64, &[f64]), &[f64])| LogTarget {
        output: usize::try_from(*output).unwrap_or(usize::MAX),
        offset: numbers[0],
        mean: numbers[1],
        bounds: [bounds[0], bounds[1]],
    };
    Ok(own.iter().zip(numbers.chunks_exact(2)).zip(bounds.chunks_exact(2)).map(target).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::normal;

    fn found(targets: &[f64], before: bool) -> Option<LogTarget> {
        LogTarget::new(0, targets, 0.5, before, |targets| targets)
    }

    fn lognormal(n: usize, unit: f64) -> Vec<f64> {
        (0..n as u64).map(|i| unit * normal(5, i).exp()).collect()
    }

    #[test]
    fn targets_that_are_positive_and_skewed_have_logarithms_in_any_unit() {
        for unit in [1e-300, 1e-3, 1.0, 1e300] {
            let mut prices = lognormal(500, unit);
            let target = found(&prices, false).unwrap();
            assert!(target.offset.to_bits() == 0 && target.mean > unit && target.mean < 3.0 * unit);
            // Zeros are moved by the least positive target.
            let least = prices.iter().copied().fold(f64::INFINITY, f64::min);
            prices.push(0.0);
            assert_eq!(found(&prices, false).unwrap().offset.to_bits(), least.to_bits());
            // A single negative one counts as zero.
            prices.push(-least);
            assert!(found(&prices, false).is_some());
            prices.push(-least);
            assert_eq!(found(&prices, false), None);
        }
    }

    #[test]
    fn others_have_none() {
        let normal: Vec<f64> = (0..500).map(|i| 20.0 + normal(6, i)).collect();
        assert_eq!(found(&normal, false), None);
        assert_eq!(found(&[], false), None);
        assert_eq!(found(&[0.0; 20], false), None);
        assert_eq!(found(&[3.0; 20], false), None);
        // Less skewed in logarithms, but by less than half: kept, not begun.
        let bent: Vec<f64> = lognormal(500, 1.0).into_iter().map(|y| 5.0 + y.sqrt()).collect();
        assert_eq!((found(&bent, false), found(&bent, true).is_some()), (None, true));
    }

    #[test]
    fn a_target_of_zero_is_learned_as_the_least_that_trees_were_fitted_to() {
        let target = LogTarget { bounds: [-1.5, 2.0], ..found(&lognormal(500, 1.0), false).unwrap() };
        let trees = || Boosted::of_one_leaf(10.0);
        let learned = |y: f64| {
            let mut logs =
                LogTrees { outputs: vec![Smeared::new(target)], trees: Some(trees()), ..LogTrees::default() };
            logs.learn_row(&[0.0], &[y], 1.0, (0.1, 3.0), &mut Vec::new());
            logs.trees.unwrap()
        };
        assert_ne!(learned(0.0), trees());
        assert_eq!(learned(0.0), learned(target.exponential(-1.5)));
        assert_eq!(learned(1e30), learned(target.exponential(2.5)));
    }

    #[test]
    fn the_factor_of_exponentials_is_that_of_the_means() {
        let target = found(&lognormal(500, 1.0), false).unwrap();
        let mut logs = LogTrees { outputs: vec![Smeared::new(target)], ..LogTrees::default() };
        for (i, y) in lognormal(20_000, 1.0).into_iter().enumerate() {
            let factor = logs.outputs[0].factor(0);
            logs.learn(0, &[factor; STAGES], y, 1.0 + (i % 3) as f64);
        }
        // The mean of a lognormal target over its median.
        let factor = logs.outputs[0].factor(0);
        assert!((factor / 0.5_f64.exp() - 1.0).abs() < 0.05, "{factor}");
        logs.learn(0, &[f64::INFINITY; STAGES], f64::MAX, 1.0);
        assert_eq!(logs.outputs[0].factor(0).to_bits(), factor.to_bits());
    }
}
