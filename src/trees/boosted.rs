//! Boosted oblivious trees: all leaves of a level are cut by the same threshold.

use crate::error::{Error, Result};
use crate::persist::{Reader, Writer};

/// How trees are boosted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Boosting {
    /// Most trees.
    pub rounds: usize,
    /// Fewest rows for each tree.
    pub rows_of_round: usize,
    /// Levels of a tree.
    pub depth: usize,
    /// Learning rate: the share of a tree's fitted values that is added.
    pub rate: f64,
    /// Shrinkage of leaves: each counts as many rows of target 0 besides its own.
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

impl Boosting {
    /// Trees for as many rows and outputs: few rows are fitted by few trees, and trees of several outputs cost more each.
    pub fn rounds_for(&self, rows: usize, outputs: usize) -> usize {
        let most = (2 * self.rounds / (1 + outputs)).max(self.rounds / 4);
        most.min(rows / self.rows_of_round.max(1))
    }
}

/// A sum of trees that approaches the targets by squared errors (Friedman, "Stochastic gradient boosting", 2002), or signs by
/// Newton steps on the logarithmic loss (Friedman, Hastie and Tibshirani, "Additive logistic regression", 2000), with levels as
/// in the trees of Prokhorenkova, Gusev, Vorobev, Dorogush and Gulin ("Unbiased boosting with categorical features", 2018).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Boosted {
    pub(super) depth: usize,
    /// The prediction without trees.
    pub(super) base: Vec<f64>,
    /// Column and threshold of each level, one tree after the other.
    pub(super) columns: Vec<u32>,
    pub(super) thresholds: Vec<f64>,
    /// Values of the leaves (trees, 2^depth, outputs).
    pub(super) leaves: Vec<f64>,
    /// Weights of the rows of the leaves (trees, 2^depth). Empty for signs, and in former files: these learn no further rows.
    pub(super) weights: Vec<f64>,
}

impl Boosted {
    /// A tree of one level whose leaves are alike, of rows with this weight.
    #[cfg(test)]
    pub fn of_one_leaf(weight: f64) -> Self {
        Self {
            depth: 1,
            base: vec![0.0],
            columns: vec![0],
            thresholds: vec![f64::MAX],
            leaves: vec![0.0; 2],
            weights: vec![weight; 2],
        }
    }

    /// Trees.
    pub(super) fn len(&self) -> usize {
        self.columns.len() / self.depth
    }

    /// Whether its leaves learn further rows.
    pub fn learns(&self) -> bool {
        !self.weights.is_empty()
    }

    /// How often the first trees cut each column.
    pub fn cuts(&self, trees: usize, features: usize) -> Vec<usize> {
        let mut cuts = vec![0; features];
        self.columns.iter().take(trees * self.depth).for_each(|k| cuts[*k as usize] += 1);
        cuts
    }

    /// Predictions of a row by the first trees, for each of these rising numbers of them (stages, outputs).
    pub fn predict_into(&self, x: &[f64], stages: &[usize], out: &mut [f64]) {
        let p = self.base.len();
        let mut tree = 0;
        for (s, stage) in stages.iter().enumerate() {
            let (before, own) = out.split_at_mut(s * p);
            let own = &mut own[..p];
            own.copy_from_slice(if s > 0 { &before[(s - 1) * p..] } else { &self.base });
            while tree < self.len().min(*stage) {
                let values = &self.leaves[self.leaf(tree, x) * p..];
                own.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
                tree += 1;
            }
        }
    }

    /// Learns a row: a step of the values of all leaves that it falls in, as coordinates of a gradient learner.
    ///
    /// The factor of a leaf is `pace` over the weight of its rows and `shrinkage`; its step is this factor times the residual,
    /// over one plus the sum of the factors of all its leaves. Steps are the minimum of half the squared residual after them
    /// and half their squares over these factors (Kulis and Bartlett, "Implicit online learning", 2010): they cannot diverge,
    /// and fall as the rows become more. O(trees (depth + outputs)). `path` is memory.
    pub fn learn(
        &mut self,
        x: &[f64],
        y: &[f64],
        weight: f64,
        (pace, shrinkage): (f64, f64),
        path: &mut Vec<usize>,
    ) {
        if !self.learns() {
            return;
        }
        let p = self.base.len();
        path.clear();
        path.extend((0..self.len()).map(|tree| self.leaf(tree, x)));
        for leaf in &*path {
            self.weights[*leaf] += weight;
        }
        let factor = |weights: &[f64], leaf: usize| pace * weight / (weights[leaf] + shrinkage);
        let factors: f64 = path.iter().map(|leaf| factor(&self.weights, *leaf)).sum();
        for (c, y) in y.iter().enumerate() {
            let sum = path.iter().fold(self.base[c], |sum, leaf| sum + self.leaves[leaf * p + c]);
            let moved = (y - sum) / (1.0 + factors);
            if moved.is_finite() {
                for leaf in &*path {
                    self.leaves[leaf * p + c] += moved * factor(&self.weights, *leaf);
                }
            }
        }
    }

    /// The leaf of a tree that a row falls in, among those of all trees.
    fn leaf(&self, tree: usize, x: &[f64]) -> usize {
        let levels = tree * self.depth..(tree + 1) * self.depth;
        let cuts = self.columns[levels.clone()].iter().zip(&self.thresholds[levels]);
        (tree << self.depth) + cuts.fold(0, |leaf, (k, t)| 2 * leaf + usize::from(x[*k as usize] > *t))
    }

    pub fn write(&self, name: &str, out: &mut Writer) {
        let columns = self.columns.iter().map(|k| u64::from(*k));
        out.counts(&format!("{name}.columns"), &columns.collect::<Vec<_>>());
        out.counts(&format!("{name}.depth"), &[self.depth as u64]);
        out.vector(&format!("{name}.base"), &self.base);
        out.vector(&format!("{name}.thresholds"), &self.thresholds);
        out.vector(&format!("{name}.leaves"), &self.leaves);
        if !self.weights.is_empty() {
            out.vector(&format!("{name}.weights"), &self.weights);
        }
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
        let leaves = (columns.len() / depth) << depth;
        let weights = format!("{name}.weights");
        let weights = if from.has(&weights) { from.vector(&weights, leaves)? } else { Vec::new() };
        if weights.iter().any(|weight| *weight < 0.0) {
            return Err(Error::file(format!("{name} have leaves of negative weight")));
        }
        Ok(Self {
            depth,
            weights,
            base: from.vector(&format!("{name}.base"), outputs)?,
            thresholds: from.vector(&format!("{name}.thresholds"), columns.len())?,
            leaves: from.vector(&format!("{name}.leaves"), leaves * outputs)?,
            columns: columns.into_iter().map(|k| u32::try_from(k).unwrap_or(u32::MAX)).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_further_row_moves_its_leaves_to_the_minimum_of_residual_and_steps() {
        let trees = Boosted {
            depth: 2,
            base: vec![0.5, -3.0],
            columns: vec![0, 1, 1, 2],
            thresholds: vec![0.0, 1.0, -1.0, 0.5],
            leaves: (0..16).map(|i| f64::from(i) / 8.0).collect(),
            weights: (0..8).map(|i| f64::from(i * i)).collect(),
        };
        let (x, y, weight, pace, shrinkage) = ([0.7, 0.2, 0.9], [2.0, 5.0], 1.5, 0.3, 3.0);
        let mut next = trees.clone();
        next.learn(&x, &y, weight, (pace, shrinkage), &mut Vec::new());
        // Above and below; above and above.
        let own = [2, 4 + 3];
        for (leaf, (before, after)) in trees.weights.iter().zip(&next.weights).enumerate() {
            let more = if own.contains(&leaf) { weight } else { 0.0 };
            assert!((after - before - more).abs() < 1e-15);
        }
        for (c, y) in y.iter().enumerate() {
            let made = |trees: &Boosted| {
                trees.base[c] + own.iter().map(|leaf| trees.leaves[2 * leaf + c]).sum::<f64>()
            };
            let left = y - made(&next);
            for (leaf, (before, after)) in
                (0..8).map(|leaf| (leaf, (trees.leaves[2 * leaf + c], next.leaves[2 * leaf + c])))
            {
                // The slope of squared residual and steps is zero in each of its leaves; others stay.
                let slope = (after - before) * (next.weights[leaf] + shrinkage) / (pace * weight) - left;
                assert!(if own.contains(&leaf) {
                    slope.abs() < 1e-12
                } else {
                    after.to_bits() == before.to_bits()
                });
            }
            assert!(left.abs() < (y - made(&trees)).abs());
        }
        let frozen = Boosted { weights: Vec::new(), ..trees };
        let mut same = frozen.clone();
        same.learn(&x, &y, weight, (pace, shrinkage), &mut Vec::new());
        assert_eq!(same, frozen);
    }

    #[test]
    fn a_file_of_other_trees_is_refused() {
        let trees = Boosted {
            depth: 3,
            base: vec![0.5],
            columns: vec![0, 1, 2, 2, 2, 1],
            thresholds: vec![0.25; 6],
            leaves: (0..16).map(f64::from).collect(),
            weights: (0..16).map(f64::from).collect(),
        };
        let read = |trees: &Boosted, features: usize| {
            let mut out = Writer::default();
            trees.write("trees", &mut out);
            let bytes = out.finish("trees", serde_json::Value::Null, serde_json::Value::Null).unwrap();
            Boosted::read("trees", (features, 1), &Reader::open(&bytes).unwrap())
        };
        assert_eq!(read(&trees, 3).unwrap(), trees);
        assert!(read(&trees, 1).is_err());
        assert!(read(&Boosted { weights: vec![-1.0; 16], ..trees.clone() }, 3).is_err());
        assert!(read(&Boosted { weights: vec![1.0; 8], ..trees.clone() }, 3).is_err());
        let former = Boosted { weights: Vec::new(), ..trees.clone() };
        assert_eq!(read(&former, 3).unwrap(), former);
        for depth in [0, 2, 4, 60] {
            assert!(read(&Boosted { depth, ..trees.clone() }, 3).is_err());
        }
    }
}
