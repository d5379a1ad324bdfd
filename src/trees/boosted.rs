//! Boosted oblivious trees: all leaves of a level are cut by the same threshold.

use super::Rows;
use super::cuts::Binned;
use crate::error::{Error, Result};
use crate::interrupt::check;
use crate::learner::{Loss, odds_of_linear};
use crate::persist::{Reader, Writer};
use crate::random::{below, bits, uniform};

/// Longest Newton step on the logarithmic loss.
const MOST: f64 = 8.0;

/// How trees are boosted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Boosting {
    pub rounds: usize,
    /// Levels of a tree.
    pub depth: usize,
    /// Share of each tree in what it was fitted to.
    pub rate: f64,
    /// Rows of mean 0 that each leaf has besides its own.
    pub shrinkage: f64,
    /// Quantiles of a column, at most 255, and how many of them are tried for a tree.
    pub quantiles: usize,
    pub tried_quantiles: usize,
    /// Columns that are tried for a tree, at most.
    pub tried_columns: usize,
    /// Share of the rows that a tree is fitted to.
    pub row_share: f64,
    /// Whether targets are signs, and the sum is the logarithm of the odds.
    pub logistic: bool,
}

/// A sum of trees that approaches the targets by squared errors (Friedman, "Stochastic gradient boosting", 2002), or signs by
/// Newton steps on the logarithmic loss (Friedman, Hastie and Tibshirani, "Additive logistic regression", 2000), with levels as
/// in the trees of Prokhorenkova, Gusev, Vorobev, Dorogush and Gulin ("Unbiased boosting with categorical features", 2018).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Boosted {
    depth: usize,
    /// What is predicted without trees.
    base: Vec<f64>,
    /// Column and threshold of each level, one tree after the other.
    columns: Vec<u32>,
    thresholds: Vec<f64>,
    /// Values of the leaves (trees, 2^depth, outputs).
    leaves: Vec<f64>,
}

impl Boosted {
    /// Fitted to rows whose targets have these units. Can be [broken off](crate::interrupt).
    pub fn fit(rows: &Rows<'_>, units: &[f64], how: &Boosting, seed: u64) -> Result<Self> {
        let binned = Binned::of(rows, how.quantiles);
        let mut base = rows.means();
        if how.logistic {
            for mean in &mut base {
                *mean = odds_of_linear(*mean);
            }
        }
        let mut new =
            Self { depth: how.depth, base, columns: Vec::new(), thresholds: Vec::new(), leaves: Vec::new() };
        let varying: Vec<usize> = (0..rows.features).filter(|k| !binned.thresholds[*k].is_empty()).collect();
        if varying.is_empty() {
            return Ok(new);
        }
        let (left, made) = if how.logistic {
            let made = new.base.iter().copied().cycle().take(rows.y.len());
            (vec![0.0; rows.y.len()], made.collect())
        } else {
            let unit = units.iter().zip(&new.base).cycle();
            let left = rows.y.iter().zip(unit).map(|(y, (unit, base))| (y - base) / unit);
            (left.collect(), Vec::new())
        };
        let mut round = Round {
            rows,
            binned: &binned,
            left,
            made,
            bends: Vec::new(),
            chosen: Vec::new(),
            leaf: Vec::new(),
            sums: Vec::new(),
        };
        for number in 0..how.rounds {
            check()?;
            let seed = bits(seed, number as u64);
            let mut values = round.fit(&varying, how, seed, &mut new)?;
            values.chunks_exact_mut(units.len()).for_each(|leaf| {
                leaf.iter_mut().zip(units).for_each(|(value, unit)| *value *= unit);
            });
            new.leaves.extend(values);
        }
        Ok(new)
    }

    /// Trees.
    fn len(&self) -> usize {
        self.columns.len() / self.depth
    }

    /// What the first trees predict for a row, up to each of these numbers, rising (stages, outputs).
    pub fn predict_into(&self, x: &[f64], stages: &[usize], out: &mut [f64]) {
        let p = self.base.len();
        let mut tree = 0;
        for (s, stage) in stages.iter().enumerate() {
            let (before, own) = out.split_at_mut(s * p);
            let own = &mut own[..p];
            own.copy_from_slice(if s > 0 { &before[(s - 1) * p..] } else { &self.base });
            while tree < self.len().min(*stage) {
                let levels = tree * self.depth..(tree + 1) * self.depth;
                let cuts = self.columns[levels.clone()].iter().zip(&self.thresholds[levels]);
                let leaf = cuts.fold(0, |leaf, (k, t)| 2 * leaf + usize::from(x[*k as usize] > *t));
                let values = &self.leaves[((tree << self.depth) + leaf) * p..];
                own.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
                tree += 1;
            }
        }
    }

    pub fn write(&self, name: &str, out: &mut Writer) {
        let columns = self.columns.iter().map(|k| u64::from(*k));
        out.counts(&format!("{name}.columns"), &columns.collect::<Vec<_>>());
        out.counts(&format!("{name}.depth"), &[self.depth as u64]);
        out.vector(&format!("{name}.base"), &self.base);
        out.vector(&format!("{name}.thresholds"), &self.thresholds);
        out.vector(&format!("{name}.leaves"), &self.leaves);
    }

    /// What [`write`](Self::write) wrote, of rows with as many numbers and targets.
    pub fn read(name: &str, (features, outputs): (usize, usize), from: &Reader<'_>) -> Result<Self> {
        let columns = from.all_counts(&format!("{name}.columns"))?;
        let [depth] = from.counts(&format!("{name}.depth"))?;
        let depth = usize::try_from(depth).unwrap_or(0);
        let known = columns.iter().all(|k| *k < features as u64);
        if !known || !(1..=16).contains(&depth) || columns.len() % depth > 0 {
            return Err(Error::file(format!("{name} are no trees of these rows")));
        }
        let leaves = (columns.len() / depth * outputs) << depth;
        Ok(Self {
            depth,
            base: from.vector(&format!("{name}.base"), outputs)?,
            thresholds: from.vector(&format!("{name}.thresholds"), columns.len())?,
            leaves: from.vector(&format!("{name}.leaves"), leaves)?,
            columns: columns.into_iter().map(|k| u32::try_from(k).unwrap_or(u32::MAX)).collect(),
        })
    }
}

/// At most `most` of some values, drawn by a seed, in their order.
fn sampled(mut values: Vec<usize>, most: usize, seed: u64) -> Vec<usize> {
    let n = values.len();
    for i in 0..most.min(n) {
        let other = below(seed, i as u64, (n - i) as u64);
        values.swap(i, i + usize::try_from(other).unwrap_or(0));
    }
    values.truncate(most);
    values.sort_unstable();
    values
}

/// What a round of boosting reads, and its memory.
struct Round<'a> {
    rows: &'a Rows<'a>,
    binned: &'a Binned,
    /// What the trees so far leave over of the targets, in units (n, outputs): the negative slope of the loss.
    left: Vec<f64>,
    /// Predictions so far, and second derivatives of the logarithmic loss in units of those at even odds (n, outputs); empty for
    /// squared errors.
    made: Vec<f64>,
    bends: Vec<f64>,
    /// The rows that the tree is fitted to, and the leaf of each.
    chosen: Vec<usize>,
    leaf: Vec<usize>,
    /// Sums of what is left over, then the weight or that of each output, of each leaf and step of a column.
    sums: Vec<f64>,
}

impl Round<'_> {
    /// Fits a tree: adds its levels to `trees`, takes it from what is left over, and returns the values of its leaves.
    fn fit(&mut self, varying: &[usize], how: &Boosting, seed: u64, trees: &mut Boosted) -> Result<Vec<f64>> {
        let (n, p) = (self.rows.len(), self.rows.outputs);
        self.take_slopes();
        self.chosen.clear();
        self.chosen
            .extend((0..n).filter(|i| how.row_share >= 1.0 || uniform(seed, *i as u64) < how.row_share));
        self.leaf.clear();
        self.leaf.resize(self.chosen.len(), 0);
        let tried: Vec<(usize, Vec<usize>)> = sampled(varying.to_vec(), how.tried_columns, bits(seed, 0))
            .into_iter()
            .map(|k| {
                let all = (0..self.binned.thresholds[k].len()).collect();
                (k, sampled(all, how.tried_quantiles, bits(seed, 1 + k as u64)))
            })
            .collect();
        let mut levels = Vec::with_capacity(how.depth);
        for _ in 0..how.depth {
            check()?;
            let (column, quantile) = self.best_cut(&tried, levels.len(), how.shrinkage);
            let bins = self.binned.column(column);
            for (leaf, i) in self.leaf.iter_mut().zip(&self.chosen) {
                *leaf = 2 * *leaf + usize::from(usize::from(bins[*i]) > quantile);
            }
            trees.columns.push(u32::try_from(column).unwrap_or(u32::MAX));
            trees.thresholds.push(self.binned.thresholds[column][quantile]);
            levels.push((bins, quantile));
        }
        let mut values = vec![0.0; p << how.depth];
        let weights_of_leaf = self.weights_of_row();
        let mut weights = vec![how.shrinkage; weights_of_leaf << how.depth];
        for (leaf, i) in self.leaf.iter().zip(&self.chosen) {
            let weight = self.rows.weights[*i];
            let left = &self.left[i * p..];
            values[leaf * p..][..p].iter_mut().zip(left).for_each(|(sum, left)| *sum += weight * left);
            let weights = &mut weights[leaf * weights_of_leaf..][..weights_of_leaf];
            self.add_weights(*i, weights);
        }
        let most = if how.logistic { MOST } else { f64::INFINITY };
        for (values, weights) in values.chunks_exact_mut(p).zip(weights.chunks_exact(weights_of_leaf)) {
            for (value, weight) in values.iter_mut().zip(weights.iter().cycle()) {
                *value = how.rate * (*value / weight).clamp(-most, most);
            }
        }
        let signed = if how.logistic { 1.0 } else { -1.0 };
        let moved = if how.logistic { &mut self.made } else { &mut self.left };
        for (i, moved) in moved.chunks_exact_mut(p).enumerate() {
            let leaf =
                levels.iter().fold(0, |leaf, (bins, q)| 2 * leaf + usize::from(usize::from(bins[i]) > *q));
            moved.iter_mut().zip(&values[leaf * p..]).for_each(|(moved, value)| *moved += signed * value);
        }
        Ok(values)
    }

    /// Slopes and second derivatives of the logarithmic loss at the predictions so far, over those at even odds.
    fn take_slopes(&mut self) {
        self.bends.clear();
        for ((made, y), left) in self.made.iter().zip(self.rows.y).zip(&mut self.left) {
            *left = -4.0 * Loss::Logistic.derivative(*made, *y);
            self.bends.push(4.0 * Loss::Logistic.curvature(*made, *y));
        }
    }

    /// Weights of a row: one, or one an output.
    fn weights_of_row(&self) -> usize {
        if self.bends.is_empty() { 1 } else { self.rows.outputs }
    }

    /// Adds the weights of a row.
    fn add_weights(&self, row: usize, sums: &mut [f64]) {
        let weight = self.rows.weights[row];
        if self.bends.is_empty() {
            sums[0] += weight;
        } else {
            let bends = &self.bends[row * self.rows.outputs..];
            sums.iter_mut().zip(bends).for_each(|(sum, bend)| *sum += weight * bend);
        }
    }

    /// The column and the number of its threshold with the largest sum, over leaves and outputs, of `sum^2 / (weight +
    /// shrinkage)` on both sides.
    fn best_cut(&mut self, tried: &[(usize, Vec<usize>)], level: usize, shrinkage: f64) -> (usize, usize) {
        let (p, weights) = (self.rows.outputs, self.weights_of_row());
        let width = p + weights;
        let mut best = (f64::NEG_INFINITY, tried[0].0, tried[0].1[0]);
        for (column, quantiles) in tried {
            let steps = quantiles.len() + 1;
            self.add_up(*column, quantiles, level);
            let mut scores = vec![0.0; quantiles.len()];
            for leaf in self.sums.chunks_exact(steps * width) {
                let total = |c: usize| -> f64 { leaf.iter().skip(c).step_by(width).sum() };
                for c in 0..p {
                    let own = p + c % weights;
                    let (total, total_weight) = (total(c), total(own));
                    if total_weight <= 0.0 {
                        continue;
                    }
                    let (mut sum, mut weight) = (0.0, 0.0);
                    for (score, step) in scores.iter_mut().zip(leaf.chunks_exact(width)) {
                        sum += step[c];
                        weight += step[own];
                        let (rest, other) = (total - sum, (total_weight - weight).max(0.0));
                        *score += sum * sum / (weight + shrinkage) + rest * rest / (other + shrinkage);
                    }
                }
            }
            for (score, quantile) in scores.iter().zip(quantiles) {
                if *score > best.0 {
                    best = (*score, *column, *quantile);
                }
            }
        }
        (best.1, best.2)
    }

    /// Sums of each leaf and step between these quantiles of a column.
    fn add_up(&mut self, column: usize, quantiles: &[usize], level: usize) {
        let p = self.rows.outputs;
        let (width, steps) = (p + self.weights_of_row(), quantiles.len() + 1);
        let mut place = [0; 256];
        for (bin, place) in place.iter_mut().enumerate() {
            *place = quantiles.partition_point(|quantile| *quantile < bin) * width;
        }
        let mut sums = std::mem::take(&mut self.sums);
        sums.clear();
        sums.resize((steps << level) * width, 0.0);
        let bins = self.binned.column(column);
        for (leaf, i) in self.leaf.iter().zip(&self.chosen) {
            let weight = self.rows.weights[*i];
            let sums = &mut sums[leaf * steps * width + place[usize::from(bins[*i])]..][..width];
            for (sum, left) in sums[..p].iter_mut().zip(&self.left[i * p..]) {
                *sum += weight * left;
            }
            self.add_weights(*i, &mut sums[p..]);
        }
        self.sums = sums;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Stream;
    use super::*;

    const HOW: Boosting = Boosting {
        rounds: 6,
        depth: 3,
        rate: 0.5,
        shrinkage: 2.0,
        quantiles: 20,
        tried_quantiles: 7,
        tried_columns: 2,
        row_share: 1.0,
        logistic: false,
    };

    #[test]
    fn trees_are_ridge_regressions_on_the_indicators_of_their_leaves() {
        let units = [0.5, 4.0];
        for outputs in [1, 2] {
            let stream = Stream::new(500, outputs);
            let rows = stream.rows();
            let trees = Boosted::fit(&rows, &units[..outputs], &HOW, 3).unwrap();
            assert_eq!(trees.len(), 6);
            let mut left: Vec<f64> = rows.y.to_vec();
            left.chunks_mut(outputs)
                .for_each(|y| y.iter_mut().zip(&trees.base).for_each(|(y, base)| *y -= base));
            for tree in 0..6 {
                let cut = |level: usize| {
                    let at = 3 * tree + level;
                    (trees.columns[at] as usize, trees.thresholds[at])
                };
                let leaf =
                    |x: &[f64]| (0..3).map(cut).fold(0, |leaf, (k, t)| 2 * leaf + usize::from(x[k] > t));
                let leaves: Vec<usize> = rows.x.chunks(3).map(leaf).collect();
                for (own, c) in (0..8).flat_map(|own| (0..outputs).map(move |c| (own, c))) {
                    let of_leaf = || (0..500).filter(|i| leaves[*i] == own);
                    let sum: f64 = of_leaf().map(|i| rows.weights[i] * left[i * outputs + c]).sum();
                    let weight: f64 = of_leaf().map(|i| rows.weights[i]).sum();
                    let found = trees.leaves[(8 * tree + own) * outputs + c];
                    assert!((found - 0.5 * sum / (weight + 2.0)).abs() < 1e-9 * units[c]);
                }
                for (i, left) in left.chunks_mut(outputs).enumerate() {
                    let values = &trees.leaves[(8 * tree + leaves[i]) * outputs..];
                    left.iter_mut().zip(values).for_each(|(left, value)| *left -= value);
                }
            }
            for (i, x) in rows.x.chunks(3).enumerate() {
                let mut made = vec![0.0; 2 * outputs];
                trees.predict_into(x, &[0, 90], &mut made);
                for c in 0..outputs {
                    assert!((made[c] - trees.base[c]).abs() < 1e-12);
                    let expected = rows.target(i, c) - left[i * outputs + c];
                    assert!((made[outputs + c] - expected).abs() < 1e-9);
                }
            }
        }
    }

    #[test]
    fn trees_of_signs_are_newton_steps_on_the_logarithmic_loss_of_each_leaf() {
        for outputs in [1, 2] {
            let mut stream = Stream::new(500, outputs);
            stream.y.iter_mut().for_each(|y| *y = if *y > 0.3 { 1.0 } else { -1.0 });
            let rows = stream.rows();
            let how = Boosting { logistic: true, ..HOW };
            let trees = Boosted::fit(&rows, &[1.0, 1.0][..outputs], &how, 3).unwrap();
            let mut made: Vec<f64> = trees.base.iter().copied().cycle().take(500 * outputs).collect();
            for tree in 0..6 {
                let cut = |level: usize| {
                    let at = 3 * tree + level;
                    (trees.columns[at] as usize, trees.thresholds[at])
                };
                let leaf =
                    |x: &[f64]| (0..3).map(cut).fold(0, |leaf, (k, t)| 2 * leaf + usize::from(x[k] > t));
                let leaves: Vec<usize> = rows.x.chunks(3).map(leaf).collect();
                let before = made.clone();
                for (own, c) in (0..8).flat_map(|own| (0..outputs).map(move |c| (own, c))) {
                    let (mut slope, mut bend) = (0.0, 2.0 / 4.0);
                    for i in (0..500).filter(|i| leaves[*i] == own) {
                        let share = (1.0 + (-before[i * outputs + c]).exp()).recip();
                        let target = 0.5 + 0.5 * rows.target(i, c);
                        slope += rows.weights[i] * (target - share);
                        bend += rows.weights[i] * share * (1.0 - share);
                    }
                    let expected = 0.5 * (slope / bend).clamp(-8.0, 8.0);
                    let found = trees.leaves[(8 * tree + own) * outputs + c];
                    assert!((found - expected).abs() < 1e-9, "{found} {expected}");
                    for i in (0..500).filter(|i| leaves[*i] == own) {
                        made[i * outputs + c] += found;
                    }
                }
            }
            let mut said = vec![0.0; outputs];
            for (i, x) in rows.x.chunks(3).enumerate() {
                trees.predict_into(x, &[6], &mut said);
                assert!(said.iter().zip(&made[i * outputs..]).all(|(a, b)| (a - b).abs() < 1e-9));
            }
        }
    }

    #[test]
    fn the_first_level_is_the_best_of_all_cuts() {
        let stream = Stream::new(300, 1);
        let rows = stream.rows();
        let how = Boosting { depth: 1, rounds: 1, tried_quantiles: 255, tried_columns: 3, ..HOW };
        let trees = Boosted::fit(&rows, &[1.0], &how, 3).unwrap();
        let binned = Binned::of(&rows, how.quantiles);
        let score = |k: usize, threshold: f64| {
            let side = |above: bool| {
                let own = || (0..300).filter(move |i| (rows.value(*i, k) > threshold) == above);
                let sum: f64 = own().map(|i| rows.weights[i] * (rows.y[i] - trees.base[0])).sum();
                sum * sum / (own().map(|i| rows.weights[i]).sum::<f64>() + how.shrinkage)
            };
            side(false) + side(true)
        };
        let all = binned.thresholds.iter().enumerate();
        let scores = all.flat_map(|(k, cuts)| cuts.iter().map(move |t| (k, *t))).map(|(k, t)| score(k, t));
        let best = scores.fold(0.0, f64::max);
        let found = score(trees.columns[0] as usize, trees.thresholds[0]);
        assert!((found - best).abs() < 1e-9 * best, "{found} {best}");
    }

    #[test]
    fn trees_learn_and_columns_without_cuts_leave_the_mean() {
        let stream = Stream::new(2000, 1);
        let how = Boosting { rounds: 60, depth: 5, row_share: 0.5, ..HOW };
        let trees = Boosted::fit(&stream.rows(), &[1.0], &how, 1).unwrap();
        let mut squares = [0.0; 2];
        for (x, y) in stream.x.chunks(3).zip(&stream.y) {
            let mut made = [0.0];
            trees.predict_into(x, &[60], &mut made);
            squares[0] += (made[0] - y).powi(2);
            squares[1] += y * y;
        }
        assert!(squares[0] < 0.1 * squares[1], "{squares:?}");
        let alike = Stream { x: [1.0, 2.0, 3.0].repeat(2000), ..Stream::new(2000, 1) };
        let trees = Boosted::fit(&alike.rows(), &[1.0], &how, 1).unwrap();
        assert_eq!((trees.len(), trees.base.clone()), (0, alike.rows().means()));
    }

    #[test]
    fn a_file_of_other_trees_is_refused() {
        let stream = Stream::new(300, 1);
        let trees = Boosted::fit(&stream.rows(), &[1.0], &HOW, 1).unwrap();
        let read = |trees: &Boosted, features: usize| {
            let mut out = Writer::default();
            trees.write("trees", &mut out);
            let bytes = out.finish("trees", serde_json::Value::Null, serde_json::Value::Null).unwrap();
            Boosted::read("trees", (features, 1), &Reader::open(&bytes).unwrap())
        };
        assert_eq!(read(&trees, 3).unwrap(), trees);
        assert!(read(&trees, 1).is_err());
        for depth in [0, 2, 4, 60] {
            assert!(read(&Boosted { depth, ..trees.clone() }, 3).is_err());
        }
    }
}
