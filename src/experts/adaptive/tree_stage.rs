//! Trees beside the mixture of the kernel experts: on its residuals, and on the targets.
//!
//! The prediction of the kernel experts is one expert of a second mixture; the others are trees. A forest splits on the columns
//! and on that prediction, and adds the mean residual of the node of a row: nodes of at least 64, 8 and 1 rows are three
//! experts. Boosted trees are fitted to the targets: the first 40, 120 and 250 of them are three more. Nodes of the forest
//! learn each row; one tree after another is grown again, each once while the number of rows doubles, and so are the
//! boosted trees. All are fitted to a bounded reservoir of rows with their prequential predictions.

use ndarray::Array2;

use super::AdaptiveSpec;
use super::params::TreeParams;
use crate::error::{Error, Result};
use crate::experts::answers::Mixed;
use crate::experts::{Mixture, MixtureSpec};
use crate::learner::Loss;
use crate::online::mixture::Said;
use crate::online::reservoir::Rows as Reservoir;
use crate::online::winsorizer::{WinsorizerParams, tamed};
use crate::persist::{Reader, Writer};
use crate::trees::{Boosted, Boosting, Growing, Rows, Tree};

/// Bounds of the memory: numbers of the reservoir, 16 MB, and the fewest rows with which trees are grown. The trees take at
/// most three times as much.
const MAX_NUMBERS: usize = 1 << 21;
const MIN_ROWS: usize = 1024;

/// Experts of the forest, and of the boosted trees.
const LEVELS: usize = 3;
const STAGES: usize = 3;

/// The kernel experts, then these.
const EXPERTS: usize = 1 + LEVELS + STAGES;

/// The trees, and the mixture of them and the kernel experts.
#[derive(Clone, Debug)]
pub(super) struct TreeStage {
    params: TreeParams,
    winsorizer: WinsorizerParams,
    mixture: MixtureSpec,
    features: usize,
    outputs: usize,
    /// Rows that the reservoir holds at most; 0 where there are no trees.
    capacity: usize,
    /// Columns, predictions of the kernel experts, targets and weight of each row.
    rows: Reservoir,
    /// Rows since the last change.
    age: u64,
    forest: Vec<Tree>,
    /// Trees grown since the last change.
    grown: u64,
    boosted: Option<Boosted>,
    /// Rows when they were fitted.
    fitted: u64,
    /// One an output.
    mixtures: Vec<Mixture>,
}

/// A row, the predictions of the kernel experts, and those of all experts for it (outputs, experts).
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Predicted(Vec<f64>);

impl TreeStage {
    pub fn new(features: usize, outputs: usize, spec: &AdaptiveSpec) -> Self {
        let params = spec.params.trees;
        // Numbers of a row, and of about eight nodes.
        let width = features + 8 * (outputs + 1);
        let capacity = (MAX_NUMBERS / width).min(params.max_rows);
        // Labels: on codrna and ijcnn1 trees cause 1 % more mistakes, on spambase 2 % fewer.
        let worth = capacity >= MIN_ROWS.min(params.max_rows) && !spec.loss.is_margin();
        Self {
            params,
            winsorizer: spec.params.winsorizer,
            mixture: spec.mixture,
            features,
            outputs,
            capacity: if worth { capacity } else { 0 },
            rows: Reservoir::default(),
            age: 0,
            forest: Vec::new(),
            grown: 0,
            boosted: None,
            fitted: 0,
            mixtures: Vec::new(),
        }
    }

    /// Whether there are trees.
    pub fn is_grown(&self) -> bool {
        !self.mixtures.is_empty()
    }

    fn row_width(&self) -> usize {
        self.features + self.outputs
    }

    /// Numbers of [`predict_into`](Self::predict_into): row, predictions, and memory.
    pub fn length(&self) -> usize {
        self.row_width() + (EXPERTS + 1 + LEVELS.max(STAGES)) * self.outputs
    }

    /// Predicts a row by all experts, given the predictions of the kernel experts.
    pub fn predict(&self, x: impl Iterator<Item = f64>, made: &[f64], predicted: &mut Predicted) {
        predicted.0.resize(self.length(), 0.0);
        self.predict_into(x, made, &mut predicted.0);
    }

    fn predict_into(&self, x: impl Iterator<Item = f64>, kernels: &[f64], predicted: &mut [f64]) {
        let p = self.outputs;
        let (row, rest) = predicted.split_at_mut(self.row_width());
        let (made, rest) = rest.split_at_mut(EXPERTS * p);
        let (mean, values) = rest.split_at_mut(p);
        row.iter_mut().zip(x.chain(kernels.iter().copied())).for_each(|(to, from)| *to = from);
        made.chunks_exact_mut(EXPERTS).zip(kernels).for_each(|(made, kernels)| made.fill(*kernels));
        if !self.is_grown() {
            return;
        }
        let levels = &mut values[..LEVELS * p];
        levels.fill(0.0);
        for tree in &self.forest {
            tree.add_means(row, &self.params.node_rows, self.params.shrinkage, mean, levels);
        }
        for (level, values) in levels.chunks_exact(p).enumerate() {
            for (c, value) in values.iter().enumerate() {
                made[c * EXPERTS + 1 + level] += value / self.forest.len() as f64;
            }
        }
        if let Some(boosted) = &self.boosted {
            let stages = &mut values[..STAGES * p];
            boosted.predict_into(&row[..self.features], &self.params.rounds, stages);
            for (stage, values) in stages.chunks_exact(p).enumerate() {
                for (c, value) in values.iter().enumerate() {
                    made[c * EXPERTS + 1 + LEVELS + stage] = *value;
                }
            }
        }
    }

    /// The predictions of the experts for an output.
    fn made<'a>(&self, predicted: &'a [f64], output: usize) -> &'a [f64] {
        &predicted[self.row_width() + output * EXPERTS..][..EXPERTS]
    }

    /// The mixture of all experts for an output, given that of the kernel experts.
    pub fn refined(&self, output: usize, mixed: Mixed, predicted: &Predicted) -> Mixed {
        match self.mixtures.get(output) {
            Some(mixture) => mixed.refined(self.made(&predicted.0, output), mixture.weights()),
            None => mixed,
        }
    }

    /// The weight of the experts that contain the prediction of the kernel experts.
    pub fn share_of_kernels(&self, output: usize) -> f64 {
        self.mixtures[output].weights()[..=LEVELS].iter().sum()
    }

    /// Replaces the predictions of the kernel experts for a row by those of all; `predicted` has this [length](Self::length).
    pub fn refine_one(&self, x: &[f64], out: &mut [f64], predicted: &mut [f64]) {
        self.predict_into(x.iter().copied(), out, predicted);
        for (c, (out, mixture)) in out.iter_mut().zip(&self.mixtures).enumerate() {
            *out = mixture.mixed(self.made(predicted, c));
        }
    }

    /// Learns row `number` of the stream, with a positive weight, after it was predicted.
    pub fn learn(&mut self, number: u64, predicted: &Predicted, targets: &[f64], weight: f64) {
        if self.capacity == 0 {
            return;
        }
        let (width, features) = (self.row_width(), self.features);
        for (c, target) in targets.iter().enumerate().take(self.mixtures.len()) {
            let made = &predicted.0[width + c * EXPERTS..][..EXPERTS];
            let mixed = self.mixtures[c].mixed(made);
            self.mixtures[c].learn_from(Said { made, sure: &[] }, mixed, *target, weight);
        }
        let row = &predicted.0[..width];
        let left: Vec<f64> =
            targets.iter().zip(&row[features..]).map(|(target, made)| target - made).collect();
        for tree in &mut self.forest {
            tree.learn(row, &left, weight);
        }
        let numbers = row.iter().chain(targets).copied().chain(std::iter::once(weight));
        self.rows.sample(self.age, self.capacity, number, numbers, width + self.outputs + 1);
        self.age += 1;
    }

    /// Forgets all rows but those from `number` on.
    pub fn forget_before(&mut self, number: u64) {
        let width = self.row_width() + self.outputs + 1;
        let old = std::mem::take(&mut self.rows);
        let kept =
            || old.numbers.iter().zip(old.values.chunks_exact(width)).filter(|(own, _)| **own >= number);
        self.rows.numbers = kept().map(|(own, _)| *own).collect();
        self.rows.values = kept().flat_map(|(_, row)| row).copied().collect();
        if self.rows.numbers.len() < old.numbers.len() {
            self.age = self.rows.numbers.len() as u64;
            (self.grown, self.fitted) = (0, 0);
            (self.boosted, self.forest, self.mixtures) = (None, Vec::new(), Vec::new());
        }
    }

    /// Trees of the forest that there should be by now, those grown again included: all of them at first, then again as many
    /// while the rows double.
    fn due(&self) -> u64 {
        let TreeParams { first_rows, forest_trees, .. } = self.params;
        let Some(doublings) = (self.age / first_rows.max(1)).checked_ilog2() else { return 0 };
        let from = first_rows << doublings;
        forest_trees * u64::from(1 + doublings) + (self.age - from) * forest_trees / from
    }

    /// Grows the trees that are due, for targets with these deviations. After an interrupt it resumes.
    pub fn grow(&mut self, deviations: &[f64]) -> Result<()> {
        let (due, trees) = (self.due(), self.params.forest_trees);
        let fits = due > 0 && (self.boosted.is_none() || self.age >= 2 * self.fitted);
        if self.capacity == 0 || !fits && self.grown >= due {
            return Ok(());
        }
        let unit = |deviation: &f64| if *deviation > 0.0 { *deviation } else { 1.0 };
        let units: Vec<f64> = deviations.iter().map(unit).collect();
        let (features, p, width) = (self.features, self.outputs, self.row_width());
        let stored = || self.rows.values.chunks_exact(width + p + 1);
        let winsorized = |numbers: Vec<f64>| {
            let numbers = Array2::from_shape_vec((self.rows.numbers.len(), p), numbers).unwrap_or_default();
            tamed(&numbers, &self.winsorizer).into_raw_vec_and_offset().0
        };
        let targets = winsorized(stored().flat_map(|row| &row[width..width + p]).copied().collect());
        let weights: Vec<f64> = stored().map(|row| row[width + p]).collect();
        let weights = &weights;
        if fits {
            let x: Vec<f64> = stored().flat_map(|row| &row[..features]).copied().collect();
            let rows = Rows { x: &x, y: &targets, weights, features, outputs: p };
            self.boosted = Some(Boosted::fit(&rows, &units, &self.params.boosting(), self.age)?);
            self.fitted = self.age;
        }
        let stored = || self.rows.values.chunks_exact(width + p + 1);
        let x: Vec<f64> = stored().flat_map(|row| &row[..width]).copied().collect();
        let made = stored().flat_map(|row| &row[features..width]);
        // The first residual is the target itself.
        let left = winsorized(targets.iter().zip(made).map(|(target, made)| target - made).collect());
        let rows = Rows { x: &x, y: &left, weights, features: width, outputs: p };
        while self.grown < due {
            let tree = Tree::grow(&rows, &units, &self.params.growing(), self.grown)?;
            let place = usize::try_from(self.grown % trees).unwrap_or(0);
            if place < self.forest.len() {
                self.forest[place] = tree;
            } else {
                self.forest.push(tree);
            }
            self.grown += 1;
            if self.grown == trees {
                self.mixtures = vec![Mixture::new(self.mixture, Loss::Squared, EXPERTS); p];
            }
        }
        Ok(())
    }
}

impl TreeParams {
    fn growing(&self) -> Growing {
        let Self { tried_columns, shrinkage, min_rows, .. } = *self;
        Growing { tried_columns, shrinkage, min_rows }
    }

    fn boosting(&self) -> Boosting {
        Boosting {
            rounds: self.rounds[STAGES - 1],
            depth: self.depth.min(10),
            rate: self.rate,
            shrinkage: self.leaf_shrinkage,
            quantiles: self.quantiles,
            tried_quantiles: self.tried_quantiles,
            tried_columns: self.boosted_columns,
            row_share: self.row_share,
        }
    }
}

impl TreeStage {
    pub fn write(&self, out: &mut Writer) {
        if self.capacity == 0 {
            return;
        }
        out.counts("trees.counts", &[self.age, self.grown, self.fitted, self.forest.len() as u64]);
        out.counts("trees.numbers", &self.rows.numbers);
        let width = self.row_width() + self.outputs + 1;
        out.matrix("trees.rows", self.rows.numbers.len(), width, &self.rows.values);
        for (t, tree) in self.forest.iter().enumerate() {
            tree.write(&format!("trees.forest.{t}"), out);
        }
        if let Some(boosted) = &self.boosted {
            boosted.write("trees.boosted", out);
        }
        for (c, mixture) in self.mixtures.iter().enumerate() {
            out.vector(&format!("trees.mixture.{c}"), &mixture.numbers());
        }
    }

    /// What [`write`](Self::write) wrote, for a stream of `met` rows that count.
    pub fn read(
        (features, outputs): (usize, usize),
        met: u64,
        spec: &AdaptiveSpec,
        from: &Reader<'_>,
    ) -> Result<Self> {
        let mut new = Self::new(features, outputs, spec);
        if new.capacity == 0 {
            return Ok(new);
        }
        let [age, grown, fitted, trees] = from.counts("trees.counts")?;
        (new.age, new.grown, new.fitted) = (age, grown, fitted);
        new.rows.numbers = from.all_counts("trees.numbers")?;
        let (n, width) = (new.rows.numbers.len(), new.row_width() + outputs + 1);
        new.rows.values = from.matrix_of("trees.rows", n, width)?;
        let forest = spec.params.trees.forest_trees.min(grown);
        let sound = age <= met
            && age.min(new.capacity as u64) == n as u64
            && fitted <= age
            && grown <= new.due()
            && trees == forest
            && new.rows.numbers.iter().all(|number| *number < met)
            && new.rows.values.chunks_exact(width).all(|row| row[width - 1] >= 0.0);
        if !sound {
            return Err(Error::file("trees.counts are not those of its rows"));
        }
        for t in 0..trees {
            new.forest.push(Tree::read(&format!("trees.forest.{t}"), (new.row_width(), outputs), from)?);
        }
        if fitted > 0 {
            new.boosted = Some(Boosted::read("trees.boosted", (features, outputs), from)?);
        }
        if grown >= spec.params.trees.forest_trees {
            if new.boosted.is_none() {
                return Err(Error::file("trees.counts have a forest without boosted trees"));
            }
            for c in 0..outputs {
                let mut mixture = Mixture::new(new.mixture, Loss::Squared, EXPERTS);
                mixture.resume(&from.vector(&format!("trees.mixture.{c}"), mixture.numbers().len())?)?;
                new.mixtures.push(mixture);
            }
        }
        Ok(new)
    }
}
